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

# With room for the event on some CPUs, but not on all, nothing may be added. What counts is at
# least what is listed, and spares and triggers of other namespaces.
test_all_or_none() {
	local limit first

	[ "$(nproc)" -gt 1 ] || return 0
	before=$(members "$ns")
	first=$(perf ctl list --json | grep -o '"output_id"' | wc -l)
	check "there are some" test "$first" -ge "$before"
	max=$(cat "$max_persistent")
	for ((limit = first; limit < first + 1000; limit++)); do
		echo "$limit" > "$max_persistent"
		# The first limit with room for more has room on one CPU, not on all.
		perf ctl add "$ns" -e "$added" > "$tmp/said" 2>&1 && break
		grep -q "kernel.perf_event_max_persistent" "$tmp/said" &&
			[ "$(members "$ns")" = "$before" ] && continue
		fail "events below a limit of $limit: $(members "$ns") instead of $before"
		cat "$tmp/said"
		break
	done
	max_back
	check "the limits below $limit were too low" test "$limit" -ge $((first + $(nproc)))
	same "events on all CPUs" $((before + $(nproc))) "$(members "$ns")"
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

# as_owner COMMAND...: run it as the user nobody, who owns a namespace and may not lock more
# than the limit that was set before
# shellcheck disable=SC2317 # check calls it
as_owner() {
	"${nobody[@]/=-all/=-all,+perfmon}" --ambient-caps=+perfmon "$@"
}

# The limit of locked memory applies to buffers of added events.
test_locked_memory() {
	local own=${ns}_own kib=1024 page free size cpus

	require_nobody || return 0
	cpus=$(getconf _NPROCESSORS_ONLN)
	page=$(($(getconf PAGE_SIZE) / 1024))
	# What the kernel does not count, in KiB. The first buffer is larger.
	free=$(($(cat /proc/sys/kernel/perf_event_mlock_kb) * cpus))
	while [ $kib -lt $((free + 1024)) ]; do
		kib=$((kib * 2))
	done
	# The buffer, and buffers for tasks on all CPUs
	size=$((kib + page + (kib / 4 + page) * cpus))
	(
		ulimit -l $((size - free + 128))
		check "create as nobody" \
		      as_owner "$tmp/perf" record -P "$own" -e cpu-clock -C 0 -m "${kib}K"
		before=$(members "$own")
		refuse "more than one may map" \
		       "A buffer of 1G on each CPU is more than you may lock" \
		       as_owner "$tmp/perf" ctl add "$own" -e page-faults -m 1G
		refuse "more than one may keep" \
		       "the buffers of '$own' would exceed what its owner may lock" \
		       as_owner "$tmp/perf" ctl add "$own" -e page-faults -m 256K
		same "events after these" "$before" "$(members "$own")"
		check "what needs no buffer" as_owner "$tmp/perf" ctl add "$own" -e page-faults
		same "events after that" $((before + 1)) "$(members "$own")"
		check "it still records" perf ctl read "$own" -o "$data"
		exit "$failed"
	) || failed=1
	check "delete it" perf ctl delete "$own"
}

online=/sys/devices/system/cpu/cpu1/online
# shellcheck disable=SC2317 # at_end calls it
cpu_returns() {
	[ ! -w "$online" ] || echo 1 > "$online"
}
at_end cpu_returns

test_hotplug() {
	[ -w "$online" ] || return 0
	before=$(members "$ns")
	echo 0 > "$online"
	check "add with a CPU offline" perf ctl add "$ns" -e "$exec_event" --label late
	says "it says which" "not on CPU 1: offline; when it is back the kernel adds"
	cpu_returns
	eventually "that CPU has it" one_more_on_all
	refuse "all have it" "another name with --label" \
	       perf ctl add "$ns" -e "$exec_event" --label late
}

test_all_offline() {
	local other=${ns}_one

	[ -w "$online" ] || return 0
	keep_numbers "$other" -C 1 -m 64K
	(taskset -pc 1 "$BASHPID" > /dev/null; number 3)
	before=$(members "$other")
	echo 0 > "$online"
	refuse "add with no CPU online" "All CPUs that '$other' records on are offline" \
	       perf ctl add "$other" -e "$exec_event"
	same "events after that" "$before" "$(members "$other")"
	holds "$other" 3
	cpu_returns
	check "add when it is back" perf ctl add "$other" -e "$exec_event"
	same "events on that CPU" $((before + 1)) "$(members "$other")"
	check "delete" perf ctl delete "$other"
}

keep_numbers "$ns" -a
exists "$ns" || exit 1
test_shared_buffer
test_own_buffer
test_off
test_refusals
test_rights
test_locked_memory
test_hotplug
test_all_offline
test_all_or_none
exit "$failed"
