#!/bin/bash
# /proc shows the buffers of perf record --overwrite and leaves them as is
# SPDX-License-Identifier: GPL-2.0

# shellcheck disable=SC2154 # the library sets them
# shellcheck source=lib/persistent.sh
. "$(dirname "$0")"/lib/persistent.sh

persistent_require
[ -e /proc/self/perf/ring-buffers ] || skip "the kernel does not show ring buffers in /proc"

# has_buffers: true if perf record has a buffer for each CPU
has_buffers() {
	[ "$(find "/proc/$pid/perf/ring-buffers" -name '*.txt' 2> /dev/null | wc -l)" -ge \
	  "$(getconf _NPROCESSORS_ONLN)" ]
}

# records: true if perf record has begun to record
records() {
	mark 1
	grep -qsh "filename=$marker " "/proc/$pid/perf/ring-buffers/"*.txt
}

start() {
	perf record --overwrite -a -m 2M -e "$exec_event" -o "$data" > "$tmp/said" 2>&1 &
	pid=$!
	at_end stop
	eventually "it has buffers" has_buffers
	eventually "it records" records
}

stop() {
	[ -z "$pid" ] || kill -INT "$pid" 2> /dev/null
	[ -z "$pid" ] || wait "$pid"
	pid=
}

# read_all NUMBER: read at least NUMBER files, each equally often
read_all() {
	local files

	files=$(find "/proc/$pid/perf/ring-buffers" -type f | wc -l)
	[ "$files" -gt 0 ] || return
	for _ in $(seq $((($1 + files - 1) / files))); do
		cat "/proc/$pid/perf/ring-buffers/"* > /dev/null || return
	done
}

test_reading() {
	local before shown

	before=$(cat "/proc/$pid/perf/ring-buffers/"*.txt | grep -c "filename=$marker ")
	for _ in 1 2 3 4 5; do
		mark 10
		read_all 200 || fail "a file cannot be read"
	done
	shown=$(cat "/proc/$pid/perf/ring-buffers/"*.txt | grep -c "filename=$marker ")
	same "marks in /proc" $((before + 50)) "$shown"
	stop
	same "marks that perf wrote" "$shown" "$(marks "$data")"
	same "lost records" 0 "$(perf script -i "$data" --show-lost-events 2> /dev/null |
		grep -c PERF_RECORD_LOST)"
}

# Each CPU has a .trace file, which perf reads like its own files.
test_streams() {
	local file n=0

	for file in "/proc/$pid/perf/ring-buffers/"*.trace; do
		cat "$file" > "$tmp/stream"
		n=$((n + $(marks "$tmp/stream")))
	done
	same "marks in the streams" "$(cat "/proc/$pid/perf/ring-buffers/"*.txt |
		grep -c "filename=$marker ")" "$n"
}

start
test_streams
test_reading
exit "$failed"
