#!/bin/bash
# perf record -P leaves all or nothing when it is killed
# SPDX-License-Identifier: GPL-2.0

# shellcheck disable=SC2154 # the library sets them
# shellcheck source=lib/persistent.sh
. "$(dirname "$0")"/lib/persistent.sh

persistent_require
type -P strace > /dev/null || skip "no strace"

create=(perf record -P "$ns" -e cpu-clock -e page-faults -a -m 1)

trace=(strace -qq -o)

# Kill perf at the first two and at the last ioctl of each kind, from the one that labels
# the first event to the one that publishes the namespace. There are as many more of each
# as there are CPUs. Before the first label, the kernel knows nothing of the namespace.
"${trace[@]}" "$tmp/strace" -e trace=ioctl "${create[@]}" > "$tmp/out" 2>&1 ||
	{ cat "$tmp/out"; skip "strace does not work"; }
grep '^ioctl(' "$tmp/strace" |
	sed 's/^ioctl([0-9]*, \(_IOC([^)]*)\|[^,)]*\).*/\1/' > "$tmp/kinds"
places=$(awk '/0x24, 0xc,|PERF_EVENT_IOC_SET_NAME/ { joining = 1 }
	      joining && ++seen[$0] <= 2 { print NR; next }
	      joining { last[$0] = NR }
	      END { for (kind in last) print last[kind] }' "$tmp/kinds" | sort -n)
# At least: label, join, label, join, enable, enable, publish
check "the trace shows how it is published" test "$(echo "$places" | wc -w)" -ge 7
check "list" perf ctl -l "$ns"
same "events" "cpu-clock,page-faults" "$(column EVENTS)"
whole="$(column EVENTS) $(column CPUS) on"
check "delete" perf ctl -d "$ns"

# kill_at SYSCALL N: kill perf before its Nth SYSCALL; all events or none must be left
nr_all=0
nr_nothing=0
kill_at() {
	{ "${trace[@]}" /dev/null -e trace="$1" -e inject="$1:signal=KILL:when=$2" \
		"${create[@]}"; } > "$tmp/out" 2>&1
	if gone "$ns"; then
		nr_nothing=$((nr_nothing + 1))
		return
	fi
	nr_all=$((nr_all + 1))
	perf ctl -l "$ns" > "$tmp/out" 2>&1
	if [ "$(column EVENTS) $(column CPUS) $(column STATE)" != "$whole" ]; then
		fail "killed at $1 number $2:"
		cat "$tmp/out"
	fi
	perf ctl -d "$ns"
}

kill_at perf_event_open 2
for place in $places; do
	kill_at ioctl "$place"
done
check "nothing was left by one killed before it publishes" test "$nr_nothing" -gt 0
before=$nr_all
kill_at exit_group 1
same "left by one killed after it published" $((before + 1)) "$nr_all"

pass "killed $((nr_all + nr_nothing)) times: all was left $nr_all times, nothing $nr_nothing times"
check "the name is free" "${create[@]}"
exit "$failed"
