#!/bin/bash
# perf ctl add: events join a namespace that records already (exclusive)
# SPDX-License-Identifier: GPL-2.0

# shellcheck disable=SC2154 # the library sets them
# shellcheck source=lib/persistent.sh
. "$(dirname "$0")"/lib/persistent.sh

persistent_require
require_numbers

added=syscalls:sys_enter_tgkill

# events FILE EVENT: the number of samples of EVENT in FILE
events() {
	perf script -i "$1" -F event 2> /dev/null | grep -c "$2" || true
}

# members NS: the number of its events, summed over all CPUs
members() {
	perf ctl list --json "$1" | grep -o '"output_id"' | wc -l
}

# as_before WHAT: check that a refusal left nothing behind
as_before() {
	same "events after $1" "$before" "$(members "$ns")"
}

test_shared_buffer() {
	number 1
	check "add" perf ctl add "$ns" -e "$exec_event" --filter "filename ~ \"*/${marker##*/}\"" -g
	says "it says so" "'$ns' records $exec_event, too, on CPU"
	mark 3
	"$(type -P true)"
	number 2
	holds "$ns" "1 2"
	same "samples of the event that was added" 3 "$(marks "$data")"
	same "the filter holds" 3 "$(events "$data" "$exec_event")"
	check "call chains" sh -c "perf evlist -v -i $data | grep $exec_event | grep -q CALLCHAIN"
	check "list" perf ctl list -v "$ns"
	says "it is listed" "$exec_event"
	check "snapshot" perf ctl snapshot "$ns"
	mark 1
	holds "$ns.1" "1 2"
	same "samples in the snapshot" 3 "$(marks "$data")"
	check "read" perf ctl read "$ns" -o "$data"
	same "samples after it" 1 "$(marks "$data")"
}

test_own_buffer() {
	check "add with a label" perf ctl add "$ns" -e "$exec_event" --label again -m 64K \
	      --filter "filename ~ \"*/${marker##*/}\""
	check "list" perf ctl list -v "$ns"
	says "it has a buffer of its own" "^again  *on .* 64K"
	mark 2
	check "read" perf ctl read "$ns" -o "$data"
	same "samples by that name" 2 "$(events "$data" "again:")"
}

test_off() {
	check "disable" perf ctl disable "$ns"
	check "add" perf ctl add "$ns" -e "$exec_event" --label off
	says "it says so" "once it is enabled"
	check "list" perf ctl list "$ns"
	same "nothing records" 0 "$(grep -c "  on  " "$tmp/out")"
	check "enable" perf ctl enable "$ns"
}

test_refusals() {
	before=$(members "$ns")
	refuse "a label that exists" "another name with --label" perf ctl add "$ns" -e "$exec_event"
	refuse "the same twice" "another name with --label" \
	       perf ctl add "$ns" -e task-clock,task-clock
	refuse "one that exists behind one that does not" "another name with --label" \
	       perf ctl add "$ns" -e task-clock -e "$exec_event"
	refuse "a label that is no label" "--label takes no ':'" \
	       perf ctl add "$ns" -e "$exec_event" --label boot:phase
	refuse "one label for two" "--label names one event" \
	       perf ctl add "$ns" -e task-clock,page-faults --label both
	refuse "a group" "leave out the braces" perf ctl add "$ns" -e '{task-clock,page-faults}'
	refuse "a namespace" "is a namespace" perf ctl add "$ns" -e "persistent/$ns/"
	refuse "no event" "bad:event" perf ctl add "$ns" -e bad:event
	refuse "a bad filter" "does not accept the filter" \
	       perf ctl add "$ns" -e "$added" --filter "nothing == 1"
	refuse "a filter before its event" "write it after -e" \
	       perf ctl add "$ns" --filter "sig == 1" -e "$added"
	refuse "a filter of no tracepoint" "--filter is for tracepoints" \
	       perf ctl add "$ns" -e page-faults --filter "ip > 0"
	refuse "no size" "as in -m 2M" perf ctl add "$ns" -e "$added" -m none
	refuse "a snapshot" "is a snapshot" perf ctl add "$ns.1" -e "$added"
	refuse "no such namespace" "$ns" perf ctl add "${ns}x" -e "$added"
	usage "add without an event" "needs an event: -e" perf ctl add "$ns"
	usage "add without a name" "needs the name of a namespace" perf ctl add -e "$added"
	check "stop" perf ctl stop "$ns"
	refuse "one that is stopped" "perf ctl resume" perf ctl add "$ns" -e "$added"
	check "resume" perf ctl resume "$ns"
	as_before "all of these"
}

# The limit has room for the event on the first CPU only: nothing may be added.
test_all_or_none() {
	local sysctl=/proc/sys/kernel/perf_event_max_persistent max all

	[ "$(nproc)" -gt 1 ] || return 0
	before=$(members "$ns")
	read -r max < "$sysctl"
	for ((all = 1; all < 256; all++)); do
		echo "$all" > "$sysctl"
		# The first limit with room for more has room on one CPU, not on all.
		perf ctl add "$ns" -e "$added" > "$tmp/said" 2>&1 && break
		same "events below a limit of $all" "$before" "$(members "$ns")" > "$tmp/out" ||:
		grep -q ^FAIL "$tmp/out" && { cat "$tmp/out"; break; }
	done
	echo "$max" > "$sysctl"
	check "the limit was said" test "$all" -gt 1
	as_now=$(members "$ns")
	same "events on all CPUs" $((before + $(nproc))) "$as_now"
}

test_rights() {
	require_nobody || return 0
	before=$(members "$ns")
	refuse "somebody without rights" CAP_PERFMON \
	       "${nobody[@]}" "$tmp/perf" ctl add "$ns" -e page-faults
	refuse "somebody else" "belongs to user id 0" \
	       "${nobody[@]/=-all/=-all,+perfmon}" --ambient-caps=+perfmon "$tmp/perf" \
	       ctl add "$ns" -e page-faults
	as_before "these"
}

# shellcheck disable=SC2317 # eventually calls it
one_more_on_all() {
	[ "$(members "$ns")" = $((before + $(grep -c "^cpu[0-9]" /proc/stat))) ]
}

test_hotplug() {
	local online=/sys/devices/system/cpu/cpu1/online

	[ -w $online ] || return 0
	before=$(members "$ns")
	echo 0 > $online
	check "add with a CPU offline" perf ctl add "$ns" -e "$exec_event" --label late
	says "it says which" "not on CPU 1: offline; when it is back the kernel adds"
	echo 1 > $online
	eventually "that CPU has it" one_more_on_all
	refuse "all have it" "another name with --label" \
	       perf ctl add "$ns" -e "$exec_event" --label late
}

keep_numbers "$ns" -a
exists "$ns" || exit 1
test_shared_buffer
test_own_buffer
test_off
test_refusals
test_rights
test_hotplug
test_all_or_none
exit "$failed"
