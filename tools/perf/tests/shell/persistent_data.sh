#!/bin/bash
# perffs shows the records of namespaces (exclusive)
# SPDX-License-Identifier: GPL-2.0

# shellcheck disable=SC2154 # the library sets them
# shellcheck source=lib/persistent.sh
. "$(dirname "$0")"/lib/persistent.sh

perffs=/sys/kernel/perf

persistent_require
grep -qw perffs /proc/filesystems || skip "the kernel has no perffs"
[ -e "$perffs/$ns" ] || [ -e "$perffs/README" ] || {
	mount -t perffs perffs "$perffs" || skip "cannot mount perffs"
	at_end unmount
}

# shellcheck disable=SC2317 # at_end calls it
unmount() {
	umount "$perffs"
}

# shown FILE: the samples, sorted, so that their order in the file does not matter. Names
# of kworkers are cut: /proc adds a suffix to them.
shown() {
	perf script -i "$1" --ns -F comm,tid,cpu,time,event,period,trace 2> /dev/null |
		sed 's/^ *//; s/^\(kworker[^ -]*\)-[^ ]*/\1/; s/  */ /g' | sort
}

# chains FILE: all addresses of the call chains, sorted
chains() {
	perf script -i "$1" -F ip,sym 2> /dev/null | grep . | sort
}

# samples FILE: the bytes of each sample, in hexadecimal
samples() {
	python3 "$(dirname "$0")"/lib/persistent_samples.py "$1" | sort
}

compare_bytes() {
	if ! python3 --version > /dev/null 2>&1; then
		echo "There is no python3, so the bytes of samples are not compared."
		return
	fi
	samples "$data" > "$tmp/shown"
	samples "$tmp/stream" > "$tmp/shown_stream"
	[ -s "$tmp/shown" ] || fail "there are no samples to compare"
	check "the same bytes" cmp "$tmp/shown" "$tmp/shown_stream"
}

keep() {
	check "create $1" perf record -P "$1" -a -m 256K -e "$exec_event" -e page-faults/period=1/ \
	      -e cpu-clock/freq=499,call-graph=fp/
	mark 7
	check "stop it" perf ctl --stop "$1"
}

# The data file has the same samples as perf reads, and any perf can read it.
test_data() {
	# Use the pipe format here as well: with the file format, perf keeps names of tasks
	# that have exited.
	check "read $ns" sh -c "perf ctl -r '$ns' -o - > '$data'"
	check "copy its data" cp "$perffs/$ns/data" "$tmp/stream"
	# The file has no size, so cp may have taken it for empty.
	[ -s "$tmp/stream" ] || check "with cat" sh -c "cat '$perffs/$ns/data' > '$tmp/stream'"
	same "marks" 7 "$(marks "$tmp/stream")"
	shown "$data" > "$tmp/shown"
	shown "$tmp/stream" > "$tmp/shown_stream"
	[ -s "$tmp/shown" ] || fail "there are no samples"
	check "the same samples" diff "$tmp/shown" "$tmp/shown_stream"
	compare_bytes
	chains "$data" > "$tmp/shown"
	chains "$tmp/stream" > "$tmp/shown_stream"
	check "the same call chains" diff "$tmp/shown" "$tmp/shown_stream"
}

# Read the file of each CPU through a pipe
test_cpus() {
	local cpu marks=0

	for cpu in "$perffs/$ns"/per_cpu/cpu*; do
		# shellcheck disable=SC2002 # it is a pipe that is tested
		cat "$cpu/data" | perf script -i - -F event,trace > "$tmp/cpu" 2> "$tmp/said" ||
			cat "$tmp/said"
		marks=$((marks + $(grep -c "sched_process_exec: filename=$marker " "$tmp/cpu")))
	done
	same "marks of all CPUs" 7 "$marks"
}

# The text has one line for each sample.
test_text() {
	same "lines of text" "$(shown "$tmp/stream" | wc -l)" \
	     "$(grep -vc '^ =>' "$perffs/$ns/text")"
	same "marks in the text" 7 \
	     "$(grep -c "^ *mark_.* $exec_event: filename=$marker " "$perffs/$ns/text")"
}

keep "$ns"
test_data
test_cpus
test_text
exit "$failed"
