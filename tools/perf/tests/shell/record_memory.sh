#!/bin/bash
# perf record -M keeps samples in memory and writes them on SIGUSR2
# SPDX-License-Identifier: GPL-2.0

# shellcheck disable=SC2154 # the library sets them
# shellcheck source=lib/persistent.sh
. "$(dirname "$0")"/lib/persistent.sh
# shellcheck source=lib/bpf_trigger.sh
. "$(dirname "$0")"/lib/bpf_trigger.sh
# shellcheck source=lib/record_memory.sh
. "$(dirname "$0")"/lib/record_memory.sh

[ "$(id -u)" = 0 ] || skip "not root"
perf record -h 2>&1 | grep -q -- '-M, --memory' || skip "perf has no -M"
require_numbers

cpus=$(getconf _NPROCESSORS_ONLN)
cpu=$(sed -n 's/^Cpus_allowed_list:\t\([0-9]*\).*/\1/p' /proc/self/status)
page=$(getconf PAGE_SIZE)

# A mount to undo when the test ends
undo_mount=
umount_small() {
	[ -z "$undo_mount" ] || umount -l "$undo_mount"
}
at_end umount_small

test_nothing() {
	start -a -M 10000000
	number 1 2 3
	stop
	check "a valid file" perf script -i "$data"
	same "samples" "" "$(numbers "$data")"
}

# With 1, 2 or 4 CPUs, the size is rounded up to the same total.
test_rounding() {
	case $cpus in 1 | 2 | 4) ;; *) return ;; esac
	start -a -M 10000000
	stop
	check "rounding is said" grep -q "memory of 16M, $((16 / cpus))M in each of $cpus buffers" \
		"$log"
}

# pauses WHY: check that perf says it pauses because of WHY, or if WHY is empty, that it does not
pauses() {
	if [ -n "$1" ]; then
		check "it pauses: $1" grep -q "recording pauses while memory is copied: .*$1" "$log"
	else
		check "it does not pause" grep -q "recording goes on while memory is copied" "$log"
	fi
}

test_targets() {
	local why="CONFIG_PERF_EVENTS_PERSISTENT" target task

	[ ! -e "$persistent_pmu/type" ] || why=
	start -a -M 1M
	pauses "$why"
	stop
	start -C "$cpu" -M 1M
	pauses "$why"
	# shellcheck disable=SC2016 # for the other shell
	taskset -c "$cpu" bash -c 'kill -0 $(($1 + 1)); true' - "$number_base" 2> /dev/null
	dump 1
	stop
	same "of a CPU" 1 "$(numbers "$data")"

	for target in -p -t; do
		mkfifo "$tmp/go"
		# shellcheck disable=SC2016 # for the other shell
		bash -c 'while read -r n; do kill -0 $(($1 + n)); echo "$n" > "$3"
			done < "$2"' - "$number_base" "$tmp/go" "$tmp/wrote" 2> /dev/null &
		task=$!
		start "$target" "$task" -M 1M
		exec 5> "$tmp/go"
		pauses "of tasks"
		echo 1 >&5
		number 2
		eventually "the task has written" grep -qsx 1 "$tmp/wrote"
		dump 1
		echo 3 >&5
		exec 5>&-
		wait "$task"
		stop
		same "of a task with $target" 1 "$(numbers "$data")"
		rm "$tmp/go" "$tmp/wrote"
	done
}

# A dump that is requested while another one is written follows it.
test_at_once() {
	local i

	start -a -M 4M
	for i in 1 2 3 4 5 6 7 8 9 10; do
		number "$i"
		kill -USR2 "$pid"
	done
	# This dump begins after the last number, so it has all of them.
	eventually "the last one" sh -c "
		kill -USR2 $pid; sleep 0.2; grep -q 'dump 2 written' '$log'"
	stop
	same "each once" "1 2 3 4 5 6 7 8 9 10" "$(numbers "$data")"
}

# The example command of the first proposal
test_clock() {
	check "-M of a sleep" perf record -o "$data" -M 1M -e cpu-clock -g -F 100 -a sleep 1
	check "a valid file" perf script -i "$data"
}

# perf tries to write a last time when it ends. If that fails, so does perf.
test_lost() {
	local status=0

	start -a -M 1M
	number "$@"
	head -c 64M /dev/zero > "$tmp/small/full" 2> /dev/null
	kill -USR2 "$pid"
	eventually "it can be tried again" grep -q "Cannot write dump 1: .*stay in memory" "$log"
	kill "$pid"
	wait "$pid" || status=$?
	pid=
	check "samples are lost" grep -q "Cannot write dump 1: .*The samples in memory are lost" "$log"
	# 143 is the exit status of perf after this signal without an error.
	check "it fails" test "$status" -ne 0 -a "$status" -ne 143
	rm "$tmp/small/full"
}

# A full disk loses no number, and none is written twice.
test_full_disk() {
	local before

	mkdir "$tmp/small"
	mount -t tmpfs -o size=16m small "$tmp/small" || return
	undo_mount=$tmp/small
	data=$tmp/small/perf.data
	start -a -M 1M
	# Many samples: a single one might fit into the last page of the file.
	mapfile -t before < <(seq 1 200)
	number "${before[@]}"
	head -c 64M /dev/zero > "$tmp/small/full" 2> /dev/null
	kill -USR2 "$pid"
	eventually "it says so" grep -q "Cannot write dump 1: No space left.*stay in memory" "$log"
	number 201
	rm "$tmp/small/full"
	dump 1
	number 202
	dump 2
	stop
	same "numbers" "${before[*]} 201 202" "$(numbers "$data")"
	check "with names" sh -c "perf script -i '$data' -F comm 2> /dev/null |
		grep -q 'record_memory\|bash'"
	test_lost "${before[@]}"
	umount_small
	undo_mount=
	data=$tmp/perf.data
}

# The header needs room, too. Without the formats of tracepoints, nobody can read the file.
test_header() {
	local status=0 end features

	type -P prlimit > /dev/null || { echo "no prlimit: no lack of room for a header"; return; }
	start -a -M 1M
	stop
	end=$(od -An -t u8 -j 40 -N 16 "$data" | awk '{ print $1 + $2 }')
	features=$(($(stat -c %s "$data") - end))
	start -a -M 1M
	number 1
	dump 1
	check "no room for all of the header" prlimit --pid "$pid" \
		--fsize=$(($(stat -c %s "$data") + features / 2)):
	kill -INT "$pid"
	wait "$pid" || status=$?
	pid=
	# 130 is the exit status of perf after this signal without an error.
	check "it fails" test "$status" -ne 0 -a "$status" -ne 130
	check "it says so" grep -q "failed to write the header of $data, .*: File too large" "$log"
	check "it says what to do" grep -q "$data lacks .*: make room, and record again" "$log"
}

# perf ends when the reader of the pipe is gone, and says why.
test_pipe() {
	local reader status

	mkfifo "$tmp/pipe"
	cat "$tmp/pipe" > /dev/null &
	reader=$!
	perf record -o - -e "$number_event" --filter "$number_filter" -a -M 1M \
		2> "$log" > "$tmp/pipe" &
	pid=$!
	eventually "it records" grep -q 'is written on' "$log"
	kill "$reader"
	wait "$reader" 2> /dev/null
	kill -USR2 "$pid"
	wait "$pid"
	status=$?
	pid=
	check "it fails" test "$status" -ne 0
	check "it says so" grep -q "Cannot write .*Broken pipe" "$log"
	rm "$tmp/pipe"
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
	same "what it says" 7 "$(grep -c '^\[ perf record: ' "$log")"
	same "and nothing else" "" "$(grep -v '^\[ perf record: ' "$log")"
	same "said to be unordered" "" \
		"$(perf report -i "$data" --stdio 2>&1 | grep -i 'out of order')"
}

# Each buffer has one page. The programs have exited before the dump, but have names in it.
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

# With a command, -M needs no -a, and perf ends with the command.
test_command() {
	# The command waits for the dump, which perf reports in the output of check.
	# shellcheck disable=SC2016 # for the other shell
	check "perf record -M of a command" perf record -o "$data" -M 1M -e "$number_event" \
		--filter "$number_filter" bash -c 'kill -0 $(($1 + 1)); kill -USR2 $PPID
			for _ in $(seq 600); do
				grep -q "dump 1 written" "$2" && break; sleep 0.1
			done
			kill -0 $(($1 + 2)); true' - "$number_base" "$tmp/out"
	says "there was a dump" "dump 1 written"
	same "numbers" 1 "$(numbers "$data")"
}

test_control() {
	mkfifo "$tmp/ctl" "$tmp/ack"
	start -a -M 1M --control "fifo:$tmp/ctl,$tmp/ack"
	number 7
	echo snapshot > "$tmp/ctl"
	eventually "a dump by a command" grep -q "dump 1 written" "$log"
	number 8
	echo dump > "$tmp/ctl"
	eventually "another one" grep -q "dump 2 written" "$log"
	echo status > "$tmp/ctl"
	eventually "what there is" grep -q "2 dumps written" "$log"
	echo combine > "$tmp/ctl"
	eventually "what it cannot do" grep -q "'combine' needs --daemon" "$log"
	stop
	same "numbers" "7 8" "$(numbers "$data")"

	perf record -o "$data" -e "$number_event" -a --control "fifo:$tmp/ctl,$tmp/ack" \
		2> "$log" &
	pid=$!
	echo dump > "$tmp/ctl"
	eventually "without -M it cannot do that" grep -q "'dump' needs -M SIZE" "$log"
	echo status > "$tmp/ctl"
	eventually "nor that" grep -q "'status' needs -M SIZE" "$log"
	stop
}

# An event of --trigger causes a dump like a signal does.
test_trigger() {
	start -a -M 1M --trigger "$exec_event"
	number 8
	mark 1
	eventually "a dump by an event" grep -q "dump 1 written" "$log"
	stop
	same "the first one" 8 "$(numbers "$data")"
}

# A BPF program can cause a dump, too.
test_bpf() {
	start_bpf || return
	start -a -M 1M --trigger "bpf:$bpf_pin"
	number 9
	mark 1
	eventually "a dump by a BPF program" grep -q "dump 1 written" "$log"
	stop
	same "the first one of it" 9 "$(numbers "$data")"
	stop_bpf
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
	refuse "more after the unit" "not '64M9'" perf record -M 64M9 -a true
	refuse "no samples" "-M has nothing to keep" perf record -M 1M -e dummy -a true
	refuse "an event of its own" "leave out 'no-overwrite'" \
		perf record -M 1M -e cpu-clock/no-overwrite/ -a -o "$data" true
	refuse "two ways" "cannot be used with --switch-output" \
		perf record -M 1M --switch-output -a -o "$data" true
}

test_nothing
test_rounding
test_targets
test_dumps
test_at_once
test_overwritten
test_command
test_control
test_trigger
test_bpf
test_clock
test_full_disk
test_header
test_pipe
test_words
exit "$failed"
