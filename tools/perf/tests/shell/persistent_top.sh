#!/bin/bash
# perf top shows old and new records of namespaces
# SPDX-License-Identifier: GPL-2.0

# shellcheck disable=SC2154 # the library sets them
# shellcheck source=lib/persistent.sh
. "$(dirname "$0")"/lib/persistent.sh

persistent_require

# run_busy NAME: run a process called NAME that gets samples, until it has exited
run_busy() {
	cp "$(type -P bash)" "$tmp/$1"
	"$tmp/$1" -c 'for ((i = 0; i < 50000; i++)); do :; done'
}

top=
# shellcheck disable=SC2317 # at_end calls it
stop_top() {
	[ -z "$top" ] || kill "$top" 2> /dev/null
}
at_end stop_top

# A command in front of perf top, if any
before_top=()

# start_top OPTION...: start perf top with a keyboard where nobody types
start_top() {
	mkfifo "$tmp/keys"
	exec 3<> "$tmp/keys"
	# Job control: without it, a process in the background ignores SIGINT.
	set -m
	"${before_top[@]}" perf top --stdio -d 1 -E 1000 "$@" <&3 > "$tmp/top" 2>&1 3>&- &
	top=$!
	set +m
}

# shows WHAT PATTERN: check that perf top prints PATTERN within half a minute, before it ends
shows() {
	local i

	for ((i = 0; i < 300; i++)); do
		if grep -q -- "$2" "$tmp/top"; then
			pass "$1"
			return
		fi
		kill -0 "$top" 2> /dev/null || break
		sleep 0.1
	done
	fail "$1: no line like '$2' in:"
	tail -n 50 "$tmp/top"
}

# ends COMMAND...: end perf top with COMMAND, and check its exit status
ends() {
	check "end it: $*" "$@"
	check "it ends well" wait "$top"
	top=
	exec 3>&-
	rm "$tmp/keys"
}

interrupt_top() {
	kill -INT "$top"
}

press() {
	echo "$1" >&3
}

test_live() {
	start_top -s comm -e "persistent/$ns/"
	first_screen "who was dead before it started" "% *before"
	run_busy during
	shows "who came later" "% *during"
	shows "the event" "clock\]"
	ends interrupt_top
}

test_quit() {
	start_top -s comm -e "persistent/$ns/"
	shows "what is in the buffers, again" "% *before"
	ends press q
}

# Other events beside a namespace are live as usual.
test_mixed() {
	start_top -s comm -e "page-faults" -e "persistent/$ns/"
	shows "another event" "page-faults\]"
	ends press q
}

test_unchanged() {
	check "list" perf ctl -l "$ns"
	same "state" on "$(column STATE)"
	mark 2
	check "read" perf record -e "persistent/$ns/" -o "$data"
	same "execs, before and after" 5 "$(marks "$data")"
}

test_refused() {
	refuse "a process" "select processes in the report" \
	       perf top --stdio -e "persistent/$ns/" -p $$
	refuse "a modifier" "is read as it was created" perf top --stdio -e "persistent/$ns/u"
	refuse "no such namespace" "no namespace called" perf top --stdio -e "persistent/${ns}_not/"
}

# After a snapshot, perf top continues with the new buffers.
test_snapshot() {
	start_top -s comm -e "persistent/$ns/"
	shows "what is in the buffers" "% *before"
	check "take a snapshot" perf ctl -s "$ns"
	run_busy after
	shows "who came after it" "% *after"
	ends press q
}

# first_screen WHAT PATTERN: check that PATTERN is on the first screen
first_screen() {
	shows "$1" "$2"
	# shellcheck disable=SC2016 # awk expands it
	check "on the first screen" awk -v wanted="$2" '
		$0 ~ wanted { found = 1; exit }
		/PerfTop:/ && ++screens > 1 { exit }
		END { exit !found }' "$tmp/top"
}

on_first_cpu() {
	taskset -c 0 "$@"
}

# The buffers are overwritten while perf reads /proc, where a fifo in place of a task's
# maps blocks it.
test_oldest() {
	local maps=$tmp/maps sleeper

	type -P unshare > /dev/null || { echo "no unshare: not tested"; return; }
	sleep 1000 &
	sleeper=$!
	mkfifo "$maps"
	check "create a small one" perf record -P "${ns}_small" -a -m 1 -e "$exec_event"
	cp "$marker" "$tmp/oldest"
	on_first_cpu "$tmp/oldest"
	# shellcheck disable=SC2016 # the other shell expands them
	before_top=(unshare -m sh -c 'mount --bind "$1" "$2"; shift 2; exec "$@"' sh
		    "$maps" "/proc/$sleeper/task/$sleeper/maps")
	start_top -s comm -e "persistent/${ns}_small/"
	before_top=()
	# The writer blocks until perf opens the fifo; perf then reads until the writer
	# ends.
	# shellcheck disable=SC2016 # the other shell expands them
	check "perf reads /proc" on_first_cpu timeout 120 \
	      sh -c 'exec > "$1"; for _ in $(seq 80); do "$2"; done' sh "$maps" "$marker"
	first_screen "what was overwritten meanwhile" "% *oldest"
	ends press q
	kill "$sleeper"
	check "delete the small one" perf ctl -d "${ns}_small"
}

check "create" perf record -P "$ns" -a -m 1024 -e cpu-clock/freq=100,name=clock/ -e "$exec_event"
mark 3
run_busy before
test_live
test_quit
test_mixed
test_unchanged
test_refused
test_snapshot
test_oldest
exit "$failed"
