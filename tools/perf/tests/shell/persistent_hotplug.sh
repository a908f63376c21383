#!/bin/bash
# namespaces of events keep what CPUs recorded that are offline
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

# lists TEXT: the line of the namespace says so
lists() {
	check "list" perf ctl -l "$ns"
	says "it says '$1'" "^$ns  *$1  "
}

# add_trigger FILTER ACTION
add_trigger() {
	check "trigger" perf ctl -t "$ns" --when "$exec_event" --filter "$1" --do "$2"
}

# triggers_are_on_all N: there are N triggers, each with an event on each CPU
# shellcheck disable=SC2317 # eventually calls it
triggers_are_on_all() {
	[ "$(perf ctl -l --json "$ns" | tr -d ' \n' |
		grep -o "\"do\":\"[a-z]*\",\"events\":$nr_cpus," | wc -l)" = "$1" ]
}

# Execs are on the CPU that they are meant to be on, so each counts.
test_back() {
	check "create" perf record -P "$ns" -e "$exec_event" -a -m 64
	add_trigger "pid == 1" snapshot
	mark_on_last
	echo 0 > "$online"
	lists "on, partly offline"
	check "read" perf record -e "persistent/$ns/" -o "$data"
	same "execs, those on the offline CPU among them" 1 "$(marks "$data")"
	# It can have no event of its own there yet. That of the first trigger differs in its
	# filter alone.
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

# What fires it is the last record, and no other event has that.
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

# Whoever chose the CPUs is told what is not covered.
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

# Its events are there a little later than the CPU.
come_online() {
	echo 1 > "$online"
	for _ in $(seq 300); do
		perf ctl -l "$ns" > "$tmp/out"
		[ "$(column BUFFER)" = "$before" ] || break
		sleep 0.1
	done
}

# -a is for CPUs that come later as well, and so are triggers.
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

# What came after perf had opened the others is not deleted unread.
test_late() {
	create_offline
	export -f come_online column
	export online before ns tmp
	refuse "-k" "'$ns' is not deleted, and goes on as before" \
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
