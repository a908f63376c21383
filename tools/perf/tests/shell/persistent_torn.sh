#!/bin/bash
# no record is torn or missing when a namespace is read at full speed
# SPDX-License-Identifier: GPL-2.0
#
# PERSISTENT_TORN_READS sets how often the namespace is read.

# shellcheck disable=SC2154 # the library sets them
# shellcheck source=lib/persistent.sh
. "$(dirname "$0")"/lib/persistent.sh

persistent_require
# shellcheck source=lib/numbered_writers.sh
. "$(dirname "$0")"/lib/numbered_writers.sh

reads=${PERSISTENT_TORN_READS:-6}

read_it() {
	case $(($1 % 3)) in
	0)	perf ctl -r "$ns" -o "$data" ;;
	1)	perf record -e "persistent/$ns/" -o "$data" ;;
	2)	perf ctl -r "$ns" -o - > "$data" ;;
	esac
}

test_reads() {
	local i records=0 ticks=0 torn=0 gaps=0 r t x g

	for ((i = 0; i < reads; i++)); do
		if ! read_it "$i" 2> "$tmp/said"; then
			fail "read $i"
			cat "$tmp/said"
			continue
		fi
		grep WARNING "$tmp/said"
		perf script -i "$data" -F pid,event,trace > "$tmp/script" 2> "$tmp/said" ||
			fail "perf script of read $i"
		read -r r t x g < <(check_records < "$tmp/script")
		[ "$r" -gt 0 ] || fail "no records in read $i"
		((records += r, ticks += t, torn += x, gaps += g))
	done

	echo "torn: $reads reads by perf of ${#writers[@]} CPUs," \
	     "$records records and $ticks of interrupts checked, $torn torn, $gaps gaps"
	same "torn" 0 "$torn"
	same "gaps" 0 "$gaps"
}

start_writers
# Interrupts write to the same buffers, at any point of the writers' records.
check "create" perf record -P "$ns" -a -m 128 -e raw_syscalls:sys_enter \
      --filter "$(writers_filter)" -e cpu-clock/freq=5000,name=tick/
test_reads
exit "$failed"
