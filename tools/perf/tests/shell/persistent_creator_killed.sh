#!/bin/bash
# perf leaves all or nothing in the kernel when it is killed or interrupted
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

# each_interrupted WHAT LEFT REVERT COMMAND...: Ctrl-C at each of its last ioctls. LEFT prints what
# is there then: nothing, or what there is without Ctrl-C.
each_interrupted() {
	local what=$1 left=$2 revert=$3 whole now nr wholes=0

	shift 3
	"${trace[@]}" "$tmp/strace" -e trace=ioctl "$@" > "$tmp/out" 2>&1
	nr=$(grep -c '^ioctl(' "$tmp/strace")
	whole=$($left)
	check "$what leaves something" test -n "$whole"
	$revert
	for ((i = nr > 12 ? nr - 11 : 1; i <= nr; i++)); do
		"${trace[@]}" /dev/null -e trace=ioctl -e inject="ioctl:signal=INT:when=$i" \
			"$@" > "$tmp/out" 2>&1
		now=$($left)
		[ -n "$now" ] || continue
		[ "$now" = "$whole" ] || fail "$what, interrupted at ioctl $i: '$now', not '$whole'"
		wholes=$((wholes + 1))
		$revert
	done
	check "$what: all was left at least once" test "$wholes" -gt 0
}

# shellcheck disable=SC2317 # each_interrupted() calls these
left_by_record() {
	gone "$ns" || perf ctl -l "$ns" | sed -n "s/^\(Note\|$ns .*K\).*/\1/p"
}

# shellcheck disable=SC2317
left_by_trigger() {
	perf ctl -l --json "$ns" | sed -n '/"triggers"/,$s/.*\("events": [0-9]*\),*$/\1/p'
}

# shellcheck disable=SC2317
undo_trigger() {
	local nr

	for nr in $(perf ctl -l --json "$ns" |
		    sed -n '/"triggers"/,$s/.*"number": \([0-9]*\),*$/\1/p'); do
		perf ctl -t "$ns" --remove "$nr"
	done
}

# shellcheck disable=SC2317
left_by_add() {
	perf ctl -l "$ns" | awk '$1 == "context-switches" && NF == 5'
}

# shellcheck disable=SC2317
undo_add() {
	undo_record
	"${create[@]}" > /dev/null 2>&1
}

# shellcheck disable=SC2317
undo_record() {
	perf ctl -d "$ns"
}

each_interrupted "perf record -P" left_by_record undo_record "${create[@]}"
check "create" "${create[@]}"
each_interrupted "perf ctl trigger" left_by_trigger undo_trigger \
		 perf ctl -t "$ns" --when context-switches --do stop
# The trigger has stopped it.
check "delete" perf ctl -d "$ns"
check "create" "${create[@]}"
each_interrupted "perf ctl add" left_by_add undo_add perf ctl add "$ns" -e context-switches
check "delete" perf ctl -d "$ns"

pass "killed $((nr_all + nr_nothing)) times: all was left $nr_all times, nothing $nr_nothing times"
check "the name is free" "${create[@]}"
exit "$failed"
