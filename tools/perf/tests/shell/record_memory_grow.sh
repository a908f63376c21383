#!/bin/bash
# perf record -M --grow-to enlarges buffers that hold too little
# SPDX-License-Identifier: GPL-2.0

# shellcheck disable=SC2154 # the library sets them
# shellcheck source=lib/persistent.sh
. "$(dirname "$0")"/lib/persistent.sh
# shellcheck source=lib/record_memory.sh
. "$(dirname "$0")"/lib/record_memory.sh

[ "$(id -u)" = 0 ] || skip "not root"
perf record -h 2>&1 | grep -q -- '--grow-to' || skip "perf has no --grow-to"
type -P taskset > /dev/null || skip "no taskset"
require_numbers

cpus=$(getconf _NPROCESSORS_ONLN)
cpu=$(sed -n 's/^Cpus_allowed_list:\t\([0-9]*\).*/\1/p' /proc/self/status)
page=$(getconf PAGE_SIZE)
writer=

# Start a task that records the numbers it gets from a fifo, on one CPU
start_writer() {
	mkfifo "$tmp/go"
	# shellcheck disable=SC2016 # for the other shell
	taskset -c "$cpu" bash -c 'while read -r n; do kill -0 $(($1 + n)); echo "$n" > "$3"
		done < "$2"' - "$number_base" "$tmp/go" "$tmp/wrote" 2> /dev/null &
	writer=$!
	exec 5> "$tmp/go"
	last=0
}

# shellcheck disable=SC2317 # called at the end, too
stop_writer() {
	[ -n "$writer" ] || return
	exec 5>&-
	wait "$writer"
	writer=
	rm "$tmp/go"
}
at_end stop_writer

# start_growing OPTION...: record with buffers that may grow until they hold an hour
start_growing() {
	start --hold 1h "$@" || { cat "$log"; exit 1; }
}

grown_to() {
	grep -q "held less than 1h: it is $1 now" "$log"
}

write_some() {
	local i

	for ((i = 0; i < 10; i++)); do
		echo $((++last)) >&5
	done
	sleep 0.1
}

# write_until SIZE: write numbers until the buffer has grown to SIZE
write_until() {
	for _ in $(seq 600); do
		! grown_to "$1" || break
		write_some
	done
	check "a buffer of $1" grown_to "$1"
}

# ends_whole WHAT MIN: check that the file ends with the last number, in a run of at least MIN
# numbers without a gap. Older ones may have been overwritten before a buffer was replaced.
ends_whole() {
	local run newest

	read -r run newest < <(numbers "$data" | tr ' ' '\n' |
		awk '{ run = $1 == newest + 1 ? run + 1 : 1; newest = $1 }
			END { print run + 0, newest + 0 }')
	same "$1: the newest" "$last" "$newest"
	check "$1: $run in a row are there" test "$run" -ge "$2"
}

# shellcheck disable=SC2317 # called by eventually
has_written() {
	[ "$(cat "$tmp/wrote")" = "$last" ]
}

# test_target WHAT OPTION...: test buffers that grow for one kind of target
test_target() {
	local what=$1 i

	shift
	# The old page had room for more than 30 numbers, and the new buffer has only few
	# yet: a longer run shows that the records of the old one are kept.
	start_growing "$@" --grow-to $((cpus * 64 * page))
	write_until $((2 * page / 1024))K
	eventually "all are written" has_written
	dump 1
	stop
	ends_whole "$what, replaced" 31

	# One page would not have room for these numbers.
	start_growing "$@" --grow-to $((cpus * 64 * page))
	write_until $((8 * page / 1024))K
	for ((i = 0; i < 100; i++)); do
		echo $((++last)) >&5
	done
	eventually "all of them are written" has_written
	dump 1
	stop
	ends_whole "$what, larger" 100
}

test_limit() {
	start_growing -a -M $((cpus * page)) --grow-to $((cpus * 2 * page))
	write_until $((2 * page / 1024))K
	for _ in $(seq 600); do
		! grep -q -e "--grow-to does not allow a larger one" "$log" || break
		write_some
	done
	stop
	check "where it ends is said" grep -q -e "--grow-to does not allow a larger one" "$log"
	same "once for a buffer" 1 "$(grep -c 'allow a larger one' "$log")"
	same "buffers that are larger" 1 "$(grep -c 'held less than' "$log")"
}

# Each file has the records of the buffer that was replaced.
test_daemon() {
	local i file

	check "a daemon" perf record -o "$tmp/daemon" --daemon --pid-file "$tmp/pid" \
		-e "$number_event" --filter "$number_filter" -a -M $((cpus * page)) \
		--grow-to $((cpus * 64 * page)) --hold 1h
	pid=$(cat "$tmp/pid")
	log=$tmp/daemon.log
	write_until $((2 * page / 1024))K
	eventually "all are written" has_written
	for i in 1 2; do
		kill -USR1 "$pid"
		eventually "file $i" sh -c "[ \"\$(grep -c 'wrote ' '$log')\" -eq $i ]"
	done
	for file in "$tmp"/daemon.sample.*; do
		data=$file
		ends_whole "$(basename "$file")" 31
	done
	kill "$pid"
	eventually "it ends" sh -c "! kill -0 $pid 2> /dev/null"
	pid=
	data=$tmp/perf.data
	log=$tmp/log
}

# Buffers that hold enough do not grow.
test_enough() {
	start_growing -a -M 1M --grow-to 64M
	number 1 2 3
	dump 1
	stop
	same "buffers that are larger" 0 "$(grep -c 'held less than' "$log")"
	same "numbers" "1 2 3" "$(numbers "$data")"
}

test_words() {
	refuse "no -M" "--grow-to needs -M SIZE" perf record --grow-to 64M --hold 1s -a true
	refuse "no time" "--grow-to SIZE and --hold TIME go together" \
		perf record -M 1M --grow-to 64M -a -o "$data" true
	refuse "no size" "--grow-to SIZE and --hold TIME go together" \
		perf record -M 1M --hold 1s -a -o "$data" true
	refuse "nonsense" "--grow-to takes a size as in 64M, or bytes: not 'much'" \
		perf record -M 1M --grow-to much --hold 1s -a -o "$data" true
	refuse "no such time" "--hold" perf record -M 1M --grow-to 2M --hold soon -a -o "$data" true
	refuse "less" "--grow-to is less than -M" \
		perf record -M 2M --grow-to 1M --hold 1s -a -o "$data" true
}

start_writer
test_target "all CPUs" -a -M $((cpus * page))
test_target "a task" -p "$writer" -M $((cpus * page))
# There is one thread, so one buffer.
test_target "a thread" --per-thread -t "$writer" -M "$page"
test_limit
test_daemon
stop_writer
test_enough
test_words
exit "$failed"
