#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Writers of numbered records, so that a test can detect torn and missing ones. Source
# this after persistent.sh.

# shellcheck disable=SC2034,SC2154 # used by those that source this, and set by persistent.sh

type -P taskset > /dev/null || skip "no taskset"
perf list tracepoint 2> /dev/null | grep -q raw_syscalls:sys_enter ||
	skip "no tracepoint raw_syscalls:sys_enter"

writers=()

# shellcheck disable=SC2317 # called at the end
stop_writers() {
	kill "${writers[@]}" 2> /dev/null
	kill -CONT "${writers[@]}" 2> /dev/null
	wait "${writers[@]}" 2> /dev/null
}

# start_writers: start a writer on each CPU that the test may run on
start_writers() {
	local cpu range

	for range in $(taskset -cp $$ | sed 's/.*: //; s/,/ /g'); do
		for ((cpu = ${range%-*}; cpu <= ${range#*-}; cpu++)); do
			nice -n 19 taskset -c "$cpu" perf test -w countcalls 100000 \
				>> "$tmp/counting" &
			writers+=($!)
		done
	done
	at_end stop_writers

	# Do not record what the writers do before they count.
	for _ in $(seq 600); do
		[ "$(wc -l < "$tmp/counting")" = "${#writers[@]}" ] && return
		sleep 0.1
	done
	fail "writers do not start"
	exit 1
}

# check_records: count records, ticks, torn records and gaps in the output of perf script
# on stdin. Each record of a writer has one number six times, and the number goes up by
# one from record to record.
check_records() {
	awk '
		function number(hex,    i, n) {
			for (i = 1; i <= length(hex); i++)
				n = 16 * n + index("123456789abcdef", substr(hex, i, 1))
			return n
		}
		$2 == "raw_syscalls:sys_enter:" {
			nr++
			gsub("[(),]", "")
			if (NF != 10 || $3 != "NR" || call && $4 != call ||
			    $5 != $6 || $5 != $7 || $5 != $8 || $5 != $9 || $5 != $10) {
				torn++
				print > "/dev/stderr"
				next
			}
			call = $4
			this = number($5)
			if (last[$1] && this != last[$1] + 1)
				gaps++
			last[$1] = this
			next
		}
		$2 == "tick:" { ticks++; next }
		{ torn++; print > "/dev/stderr" }
		END { print nr + 0, ticks + 0, torn + 0, gaps + 0 }'
}

# writers_filter: the filter of raw_syscalls:sys_enter for the writers
writers_filter() {
	local filter

	filter=$(printf ' || common_pid == %d' "${writers[@]}")
	echo "${filter# || }"
}
