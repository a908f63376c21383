#!/bin/bash
# perf copies the buffers of a namespace before it looks at tasks
# SPDX-License-Identifier: GPL-2.0

# shellcheck disable=SC2154 # the library sets them
# shellcheck source=lib/persistent.sh
. "$(dirname "$0")"/lib/persistent.sh

persistent_require
require_numbers
type -P taskset > /dev/null || skip "no taskset"

sleepers=()

stop_sleepers() {
	kill "${sleepers[@]}" 2> /dev/null
}

# The records that describe so many tasks do not fit into a pipe.
start_sleepers() {
	at_end stop_sleepers
	for _ in $(seq 100); do
		sleep 1000 &
		sleepers+=($!)
	done
}

on_first_cpu() {
	(taskset -pc 0 "$BASHPID" > /dev/null; number "$@")
}

# While perf waits, the buffer of one page is overwritten several times.
test_oldest() {
	on_first_cpu 1 2 3
	start_reading 1 "$@" -o -
	# shellcheck disable=SC2046 # one word each
	on_first_cpu $(seq 10 300)
	check "read" finish_reading
	same "the oldest ones" "1 2 3" "$(numbers "$tmp/part" | tr ' ' '\n' | head -n 3 | xargs)"
}

# --last counts from the start of the command, not from the time of writing.
test_last() {
	on_first_cpu 4
	start_reading 1 perf ctl -r "$ns" -o - --last 10s
	sleep 11
	check "read" finish_reading
	same "less than ten seconds old" 4 "$(numbers "$tmp/part" | tr ' ' '\n' | tail -n 1)"
}


start_sleepers
keep_numbers "$ns" -a -m 1
test_oldest perf ctl -r "$ns"
check "clear" perf ctl --clear "$ns"
test_oldest perf record -e "persistent/$ns/" -a
test_last
exit "$failed"
