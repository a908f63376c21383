#!/bin/bash
# namespaces keep the records of CPUs that are offline (exclusive)
# SPDX-License-Identifier: GPL-2.0

# shellcheck disable=SC2154 # the library sets them
# shellcheck source=lib/persistent.sh
. "$(dirname "$0")"/lib/persistent.sh

persistent_require
nr_cpus=$(getconf _NPROCESSORS_ONLN)
[ "$nr_cpus" -gt 1 ] || skip "one CPU"
last=$((nr_cpus - 1))
online=/sys/devices/system/cpu/cpu$last/online
[ -w "$online" ] || skip "CPU $last cannot be taken offline"

# shellcheck disable=SC2317 # at_end calls it
back_online() {
	echo 1 > "$online"
}
at_end back_online

mark_on_last() {
	taskset -c "$last" "$marker"
}

# lists TEXT: check that perf ctl -l shows TEXT as the state of the namespace
lists() {
	check "list" perf ctl -l "$ns"
	says "it says '$1'" "^$ns  *$1  "
}

# add_trigger FILTER ACTION
add_trigger() {
	check "trigger" perf ctl -t "$ns" --when "$exec_event" --filter "$1" --do "$2"
}

# triggers_are_on_all N: true if there are N triggers, each with an event on each CPU
# shellcheck disable=SC2317 # eventually calls it
triggers_are_on_all() {
	[ "$(perf ctl -l --json "$ns" | tr -d ' \n' |
		grep -o "\"do\":\"[a-z]*\",\"events\":$nr_cpus," | wc -l)" = "$1" ]
}

# Each exec is pinned to a CPU, so every record counts.
test_back() {
	check "create" perf record -P "$ns" -e "$exec_event" -a -m 64
	add_trigger "pid == 1" snapshot
	mark_on_last
	echo 0 > "$online"
	lists "on, partly offline"
	check "read" perf record -e "persistent/$ns/" -o "$data"
	same "execs, those on the offline CPU among them" 1 "$(marks "$data")"
	# The second trigger cannot have an event on the offline CPU yet. The event of the
	# first trigger differs in its filter only.
	add_trigger "filename == \"$marker\"" snapshot
	check "count" perf stat -x, -A -e "persistent/$ns/"
	says "the offline CPU by its number" "^CPU$last,[1-9][0-9]*,,$exec_event,"
	echo 1 > "$online"
	eventually "both triggers on all CPUs" triggers_are_on_all 2
	lists "on"
	mark_on_last
	eventually "the second one fires there" exists "$ns.1"
	check "read" perf record -e "persistent/$ns.1/" -o "$data" -k
	same "execs" 2 "$(marks "$data")"
	check "delete" perf ctl -d "$ns"
}

# The event that fires the trigger is the last record, and no other event records it.
test_back_stop() {
	check "create" perf record -P "$ns" -e sched:sched_process_exit -a -m 64
	echo 0 > "$online"
	add_trigger "filename == \"$marker\"" stop
	echo 1 > "$online"
	eventually "trigger on all CPUs" triggers_are_on_all 1
	mark_on_last
	lists "stopped"
	check "read" perf record -e "persistent/$ns/" -o "$data" -k
	same "execs" 1 "$(marks "$data")"
}

# With a list of CPUs (-C), perf says which of them the trigger does not watch.
test_back_chosen() {
	check "create" perf record -P "$ns" -e "$exec_event" -C "0,$last" -m 64
	echo 0 > "$online"
	add_trigger "pid == 1" snapshot
	says "what it does not watch" "not on CPU $last, which is offline"
	echo 1 > "$online"
	check "delete" perf ctl -d "$ns"
}

create_offline() {
	echo 0 > "$online"
	check "create" perf record -P "$ns" -e "$exec_event" \
	      -e cpu-clock/freq=100,name=clock/ -a -m 64
	check "list" perf ctl -l "$ns"
	before="$(column BUFFER)"
}

# The kernel adds the events a little after the CPU is online.
come_online() {
	echo 1 > "$online"
	for _ in $(seq 300); do
		perf ctl -l "$ns" > "$tmp/out"
		[ "$(column BUFFER)" = "$before" ] || break
		sleep 0.1
	done
}

# With -a, events and triggers are added on CPUs that come online later, too.
test_new() {
	create_offline
	add_trigger "pid == 1" snapshot
	come_online
	eventually "trigger on all CPUs" triggers_are_on_all 1
	same "CPUs" "$(cat /sys/devices/system/cpu/online)" "$(column CPUS)"
	mark_on_last
	check "read" perf record -e "persistent/$ns/" -o "$data" -k
	same "execs" 1 "$(marks "$data")"
}

# -k must not delete events that the kernel added after perf had opened the others.
test_late() {
	create_offline
	export -f come_online column
	export online before ns tmp
	refuse "-k" "'$ns' is not deleted, and records as before" \
	       perf record -e "persistent/$ns/" -o "$data" -k bash -c come_online
	check "why" grep -q "'$ns' got [1-9][0-9]* more events while it was read" "$tmp/said"
	lists "on"
	mark_on_last
	check "read" perf record -e "persistent/$ns/" -o "$data" -k
	same "execs" 1 "$(marks "$data")"
	check "deleted" gone "$ns"
}

test_back
test_back_stop
test_back_chosen
test_new
test_late
exit "$failed"
