#!/bin/bash
# perf record -M keeps samples in memory, and writes them when it gets SIGUSR2
# SPDX-License-Identifier: GPL-2.0

# shellcheck disable=SC2154 # the library sets them
# shellcheck source=lib/persistent.sh
. "$(dirname "$0")"/lib/persistent.sh

[ "$(id -u)" = 0 ] || skip "not root"
perf record -h 2>&1 | grep -q -- '-M, --memory' || skip "perf has no -M"
require_numbers

cpus=$(getconf _NPROCESSORS_ONLN)
cpu=$(sed -n 's/^Cpus_allowed_list:\t\([0-9]*\).*/\1/p' /proc/self/status)
page=$(getconf PAGE_SIZE)
pid=

# start OPTION...: numbers, until stop
start() {
	perf record -o "$data" -e "$number_event" --filter "$number_filter" "$@" 2> "$tmp/log" &
	pid=$!
	eventually "perf record $* records" grep -q 'is written on' "$tmp/log"
}

stop() {
	[ -n "$pid" ] || return
	kill -INT "$pid"
	wait "$pid"
	pid=
}
at_end stop

# dump N: the Nth one
dump() {
	kill -USR2 "$pid"
	eventually "dump $1" grep -q "dump $1 written" "$tmp/log"
}

test_nothing() {
	start -a -M 10000000
	number 1 2 3
	stop
	check "a valid file" perf script -i "$data"
	same "samples" "" "$(numbers "$data")"
}

test_dumps() {
	start -a -M 1M
	number 1 2 3
	dump 1
	number 4
	dump 2
	dump 3
	number 5
	stop
	same "each once, and none after the last dump" "1 2 3 4" "$(numbers "$data")"
	same "what it says" 6 "$(grep -c '^\[ perf record: ' "$tmp/log")"
	same "and nothing else" "" "$(grep -v '^\[ perf record: ' "$tmp/log")"
	same "said to be unordered" "" \
		"$(perf report -i "$data" --stdio 2>&1 | grep -i 'out of order')"
}

# A page for each CPU. Programs are gone when it is written, and have a name.
test_overwritten() {
	local shell all

	shell=$(type -P bash)
	cp "$shell" "$tmp/first"
	cp "$shell" "$tmp/last"
	start -a -M $((cpus * page))
	# shellcheck disable=SC2016 # for the other shell
	"$tmp/first" -c 'for ((i = 1; i <= 1000; i++)); do
			kill -0 $(($1 + i)); done' - "$number_base" 2> /dev/null
	# shellcheck disable=SC2016 # for the other shell
	taskset -c "$cpu" "$tmp/last" -c 'for ((i = 1001; i <= 1400; i++)); do
			kill -0 $(($1 + i)); done' - "$number_base" 2> /dev/null
	dump 1
	stop
	all=" $(numbers "$data") "
	check "the newest is there" test "${all% 1400 }" != "$all"
	check "older ones are overwritten" test "${all/ 1001 /}" = "$all"
	same "names of tasks on that CPU" last \
		"$(perf script -i "$data" -C "$cpu" -F comm 2> /dev/null | sort -u | xargs)"
	check "the first one is known, too" sh -c "perf script -i $data --show-task-events |
		grep -q 'PERF_RECORD_COMM.* first:'"
}

# A command needs no -a, and ends it.
test_command() {
	# shellcheck disable=SC2016 # for the other shell
	check "perf record -M of a command" perf record -o "$data" -M 1M -e "$number_event" \
		--filter "$number_filter" bash -c 'kill -0 $(($1 + 1)); kill -USR2 $PPID; sleep 1
			kill -0 $(($1 + 2)); true' - "$number_base"
	same "numbers" 1 "$(numbers "$data")"
}

test_control() {
	mkfifo "$tmp/ctl" "$tmp/ack"
	start -a -M 1M --control "fifo:$tmp/ctl,$tmp/ack"
	number 7
	echo snapshot > "$tmp/ctl"
	eventually "a dump by a command" grep -q "dump 1 written" "$tmp/log"
	stop
	same "numbers" 7 "$(numbers "$data")"
}

# An event does the same as a signal.
test_trigger() {
	start -a -M 1M --trigger "$exec_event"
	number 8
	mark 1
	eventually "a dump by an event" grep -q "dump 1 written" "$tmp/log"
	stop
	same "the first one" 8 "$(numbers "$data")"
}

test_words() {
	refuse "nonsense" "-M takes a size as in 64M, or bytes: not 'much'" \
		perf record -M much -a true
	refuse "nothing" "-M takes a size as in 64M, or bytes: not '0'" perf record -M 0 -a true
	refuse "less than a page" "-M is less than a page for each of $cpus buffers: give it" \
		perf record -M 1 -a true
	refuse "too much" "1G for each of $cpus buffers: give it ${cpus}G or less" \
		perf record -M $((cpus + 1))G -a true
	refuse "below nothing" "not ' -5'" perf record -M " -5" -a true
	refuse "no samples" "-M has nothing to keep" perf record -M 1M -e dummy -a true
	refuse "an event of its own" "leave out 'no-overwrite'" \
		perf record -M 1M -e cpu-clock/no-overwrite/ -a -o "$data" true
	refuse "two ways" "not with --switch-output" \
		perf record -M 1M --switch-output -a -o "$data" true
}

test_nothing
test_dumps
test_overwritten
test_command
test_control
test_trigger
test_words
exit "$failed"
