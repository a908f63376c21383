#!/bin/bash
# perf record -P leaves all or nothing, wherever it is killed
# SPDX-License-Identifier: GPL-2.0

# shellcheck disable=SC2154 # the library sets them
# shellcheck source=lib/persistent.sh
. "$(dirname "$0")"/lib/persistent.sh

persistent_require
type -P strace > /dev/null || skip "no strace"

# In this many seconds as many places as there is time for are tried.
seconds=${PERSISTENT_KILL_SECONDS:-15}
create=(perf record -P "$ns" -e cpu-clock -e page-faults -C 0 -m 1)

trace=(strace -qq -o)

# How often each system call is made that has to do with events
"${trace[@]}" "$tmp/strace" -e trace=perf_event_open,ioctl "${create[@]}" > "$tmp/out" 2>&1 ||
	{ cat "$tmp/out"; skip "strace does not work"; }
nr_ioctls=$(grep -c '^ioctl(' "$tmp/strace")
nr_opens=$(grep -c '^perf_event_open(' "$tmp/strace")
check "list" perf ctl -l "$ns"
whole=$(column EVENTS)
same "events" "cpu-clock,page-faults" "$whole"
check "delete" perf ctl -d "$ns"

# kill_at SYSCALL N: before the Nth such call. What is left is all or nothing.
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
	if [ "$(column EVENTS)" != "$whole" ] || [ "$(column STATE)" != on ]; then
		fail "killed at $1 number $2:"
		cat "$tmp/out"
	fi
	perf ctl -d "$ns"
}

# The last ioctl publishes: from then on, and not before, there is something.
end=$((SECONDS + seconds))
kill_at ioctl "$nr_ioctls"
same "left by one killed before it publishes" 0 "$nr_all"
kill_at exit_group 1
same "left by one killed after it published" 1 "$nr_all"
kill_at ioctl $((nr_ioctls / 2))
kill_at perf_event_open $((nr_opens / 2))
while [ "$SECONDS" -lt "$end" ]; do
	kill_at ioctl $((RANDOM % nr_ioctls + 1))
done

pass "killed $((nr_all + nr_nothing)) times: all was left $nr_all times, nothing $nr_nothing times"
check "the name is free" "${create[@]}"
exit "$failed"
