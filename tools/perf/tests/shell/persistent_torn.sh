#!/bin/bash
# no record of a namespace is torn or missing when it is read at full speed
# SPDX-License-Identifier: GPL-2.0
#
# PERSISTENT_TORN_READS is how often it is read.

# shellcheck disable=SC2154 # the library sets them
# shellcheck source=lib/persistent.sh
. "$(dirname "$0")"/lib/persistent.sh

persistent_require
type -P taskset > /dev/null || skip "no taskset"
perf list tracepoint 2> /dev/null | grep -q raw_syscalls:sys_enter ||
	skip "no tracepoint raw_syscalls:sys_enter"

reads=${PERSISTENT_TORN_READS:-6}
writers=()

# shellcheck disable=SC2317 # called at the end
stop_writers() {
	kill "${writers[@]}" 2> /dev/null
	wait "${writers[@]}" 2> /dev/null
}

# One on each CPU that this may run on
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

	# What they do before they count is not to be recorded.
	for _ in $(seq 600); do
		[ "$(wc -l < "$tmp/counting")" = "${#writers[@]}" ] && return
		sleep 0.1
	done
	fail "writers do not start"
	exit 1
}

# In their order, a writer's records have the same number six times, and from
# one to the next it goes up by one.
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
filter=$(printf ' || common_pid == %d' "${writers[@]}")
# Interrupts write into the same buffers, wherever they land on the others.
check "create" perf record -P "$ns" -a -m 128 -e raw_syscalls:sys_enter --filter "${filter# || }" \
      -e cpu-clock/freq=5000,name=tick/
test_reads
exit "$failed"
