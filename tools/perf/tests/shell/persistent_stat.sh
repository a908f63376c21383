#!/bin/bash
# perf stat counts the events of namespaces
# SPDX-License-Identifier: GPL-2.0

# shellcheck disable=SC2154 # the library sets them
# shellcheck source=lib/persistent.sh
. "$(dirname "$0")"/lib/persistent.sh

persistent_require

# counted EVENT: the sum of all its counts in the output of the last command. The times of
# -I and the CPUs of -A come before the count.
counted() {
	awk -F, -v event="$1" '
		{ for (i = 3; i <= NF; i++) if ($i == event) { sum += $(i - 2); seen = 1 } }
		END { print seen ? sum : "nothing" }' "$tmp/out"
}

# totals WHAT COUNT [OPTION...]: check the number of execs that perf stat counts
totals() {
	local what=$1 count=$2

	shift 2
	check "$what" perf stat -x, -e "persistent/$ns/" "$@"
	same "$what" "$count" "$(counted "$exec_event")"
}

# marks_command COUNT: a command with COUNT execs of the marker
marks_command() {
	echo "for i in $(seq -s ' ' "$1"); do $marker; done"
}

test_totals() {
	check "create" perf record -P "$ns" -a -m 1 \
	      -e "$exec_event" --filter "filename ~ \"$tmp/*\"" -e page-faults/name=faults/
	totals "nothing yet" 0 -a
	mark 5
	totals "since it was made" 5 -a
	same "events, by their labels" "$exec_event faults" \
	     "$(awk -F, '{ printf "%s%s", sep, $3; sep = " " }' "$tmp/out")"
	totals "the same again" 5
}

# With a command, earlier counts are left out; they are not reset.
test_command() {
	totals "a command" 3 -a sh -c "$(marks_command 3)"
	totals "a command without -a" 2 sh -c "$(marks_command 2)"
	totals "all since it was made" 10 -a
}

test_interval() {
	totals "intervals" 4 -I 10 sh -c "$(marks_command 4)"
	check "intervals and their sum" perf stat -x, -e "persistent/$ns/" -I 10 --summary \
	      -o "$tmp/intervals" sh -c "$(marks_command 6)"
	grep summary "$tmp/intervals" > "$tmp/out"
	same "the sum" 6 "$(counted "$exec_event")"
	totals "a time-out" 0 --timeout 10
	totals "all since it was made" 20
}

test_cpus() {
	local cpu one sum=0

	for cpu in /sys/devices/system/cpu/cpu[0-9]*/topology; do
		cpu=${cpu%/topology}
		cpu=${cpu##*cpu}
		check "CPU $cpu" perf stat -x, -e "persistent/$ns/" -C "$cpu"
		one=$(counted "$exec_event")
		sum=$((sum + one))
		check "each CPU" perf stat -x, -A -e "persistent/$ns/"
		same "CPU $cpu of all" "$one" "$(awk -F, -v event="$exec_event" -v cpu="CPU$cpu" \
			'$1 == cpu && $4 == event { print $2 }' "$tmp/out")"
	done
	same "all CPUs" 20 "$sum"
}

# Other events beside a namespace count for the command only.
test_mixed() {
	local word last faults others

	last=$(($(getconf _NPROCESSORS_ONLN) - 1))
	for word in "" "-a"; do
		# shellcheck disable=SC2086 # it may be no word
		totals "with other events $word" 2 -e page-faults $word \
		       taskset -c "$last" sh -c "$(marks_command 2)"
		faults=$(counted faults)
		others=$(counted page-faults)
		check "the others count" test "$others" -gt 0
		# With -a both count the same faults, but do not start at the same instant.
		[ "$word" ] ||
			check "those of all tasks are no less" test "$faults" -ge "$others"
	done
}

# perf stat record cannot store tracepoints, so use page faults.
test_file() {
	local said

	check "create" perf record -P "${ns}2" -a -m 1 -e page-faults/name=faults/
	check "perf stat record" perf stat record -o "$data" -e "persistent/${ns}2/" true
	said=$(grep -o '[0-9,.]* *faults' "$tmp/out")
	check "perf stat report" perf stat report -i "$data"
	same "what it reports" "$said" "$(grep -o '[0-9,.]* *faults' "$tmp/out")"
	check "delete" perf ctl -d "${ns}2"
}

# refuse_option WHY OPTION...: check that perf stat refuses OPTION and says WHY
refuse_option() {
	local why=$1

	shift
	refuse "$1" "$1 cannot be used with a namespace, which $why" \
	       perf stat -e "persistent/$ns/" "$@" true
}

test_refused() {
	refuse_option "is counted as a whole" -p $$
	refuse_option "is counted as a whole" -t $$
	refuse_option "is counted as a whole" --per-thread
	refuse_option "counts as it was set up to" --for-each-cgroup /
	refuse_option "counts as it was set up to" --all-user
	refuse_option "counts as it was set up to" --all-kernel
	refuse_option "cannot be switched or reset here" -r 2
	refuse_option "cannot be switched or reset here" -D 1
	refuse_option "cannot be switched or reset here" --control fd:0
	refuse "a modifier" "is read as it was created" perf stat -e "persistent/$ns/u" true
	refuse "a group" "is read as it was created" \
	       perf stat -e "{persistent/$ns/,page-faults}" true
	if [ -e /sys/fs/cgroup/cgroup.procs ]; then
		refuse "a cgroup" "is read as it was created" \
		       perf stat -e "persistent/$ns/" -a -G / true
	fi
	refuse "totals of what did not count yet" "count both while a command runs" \
	       perf stat -e "persistent/$ns/" -e page-faults -a
	refuse "a CPU where it is not" "Nothing to read" perf stat -e "persistent/$ns/" -C 4095
	refuse "no such namespace" "no namespace called" perf stat -e "persistent/${ns}_not/"
}

test_unchanged() {
	check "list" perf ctl -l "$ns"
	same "state" on "$(column STATE)"
	totals "all since it was made" 24
}

# The user nobody may not count events of a namespace.
test_nobody() {
	local plain=0 status=0

	require_nobody || return 0
	[ "$(cat /proc/sys/kernel/perf_event_paranoid)" -ge 0 ] ||
		{ echo "all may count: not tested"; return; }
	refuse "as nobody" "for how to grant CAP_PERFMON" \
	       "${nobody[@]}" "$tmp/perf" stat -e "persistent/$ns/"
	"${nobody[@]}" "$tmp/perf" stat -e "persistent/$ns/" > "$tmp/said" 2>&1 || status=$?
	"${nobody[@]}" "$tmp/perf" stat -a -e cpu-clock true > "$tmp/said" 2>&1 || plain=$?
	check "a plain perf stat may not count" test "$plain" -ne 0
	same "exit status, as of perf stat" "$plain" "$status"
}

test_totals
test_command
test_interval
test_cpus
test_mixed
test_file
test_refused
test_unchanged
test_nobody
exit "$failed"
