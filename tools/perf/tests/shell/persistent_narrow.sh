#!/bin/bash
# fields that perf record -P leaves out of records are there when read
# SPDX-License-Identifier: GPL-2.0

# shellcheck disable=SC2154 # the library sets them
# shellcheck source=lib/persistent.sh
. "$(dirname "$0")"/lib/persistent.sh

narrow=${prefix}_narrow

persistent_require
require_fill

# shown FILE FIELDS: the samples of the marked program without their times, sorted
shown() {
	perf script -i "$1" -F "comm,pid,tid,cpu,event,period,trace$2" 2> /dev/null |
		grep -a "^ *${marker##*/} " | sed 's/^ *//; s/  */ /g' | sort
}

# times FILE: the number of samples without a time, or with an earlier one than the sample before
times() {
	perf script -i "$1" -F time,event 2> /dev/null |
		awk '{ if ($1 + 0 < last || !($1 + 0)) nr++; last = $1 + 0 } END { print nr + 0 }'
}

# sample_types FILE: those of all events except the side-band events
sample_types() {
	perf evlist -v -i "$1" | grep -v '^#\|^dummy' |
		sed 's/.*sample_type: \([^,]*\),.*/\1/' | sort -u
}

# held NS: set $held to the number of records of fill() that NS has room for
held() {
	check "read $1" perf ctl -r "$1" -o "$data.$1"
	held=$(filled "$data.$1")
}

# left_out NS EVENT: which of CPU and PERIOD (0x180) and IP (0x1) the samples lack
left_out() {
	perf ctl -l "$1" --json | python3 -c "
import json, sys
for event in json.load(sys.stdin)['namespaces'][0]['events']:
	if event['name'] == '$2':
		print(hex(0x181 & ~event['attr']['sample_type']))" | sort -u
}

test_same() {
	local exit_event=sched:sched_process_exit name

	check "leave CPU and period out" \
	      perf record -P "$ns" -e "$exec_event" -e "$exit_event" -a -m 64K
	check "and IP" perf record -P "$narrow" --narrow -e "$exec_event" -e "$exit_event" -a -m 64K
	# shellcheck disable=SC2016 # for the other shell
	check "and nothing" perf record -e "$exec_event" -e "$exit_event" -a -o "$data.wide" -- \
	      sh -c 'for i in 1 2 3 4 5; do "$0"; done' "$marker"
	same "what $ns leaves out" 0x180 "$(left_out "$ns" "$exec_event")"
	same "what $narrow leaves out" 0x181 "$(left_out "$narrow" "$exec_event")"
	for name in wide "$ns" "$narrow"; do
		[ "$name" = wide ] || check "read $name" perf ctl -r "$name" -o "$data.$name"
		same "runs" 5 "$(marks "$data.$name")"
		same "times that are missing or too early" 0 "$(times "$data.$name")"
		same "sample types" "IP|TID|TIME|CPU|PERIOD|RAW|IDENTIFIER" \
		     "$(sample_types "$data.$name")"
		shown "$data.$name" > "$tmp/shown.$name"
		shown "$data.$name" ,ip,sym > "$tmp/places.$name"
	done
	same "samples" 10 "$(wc -l < "$tmp/shown.wide")"
	check "the same as with all in the buffer" diff "$tmp/shown.wide" "$tmp/shown.$ns"
	check "also where they are" diff "$tmp/places.wide" "$tmp/places.$ns"
	check "the same without IP" diff "$tmp/shown.wide" "$tmp/shown.$narrow"
	same "places without IP" 0 \
	     "$(perf script -i "$data.$narrow" -F ip 2> /dev/null | sort -u | tr -d ' \n')"
	perf ctl -d "$ns" "$narrow"
}

# A buffer has room for more records if fields are left out.
test_room() {
	local ns_held held

	check "leave CPU and period out" \
	      perf record -P "$ns" -e "$fill_event" --filter "$fill_filter" -a -m 16K
	check "and IP" \
	      perf record -P "$narrow" --narrow -e "$fill_event" --filter "$fill_filter" -a -m 16K
	fill 1000
	held "$ns"
	ns_held=$held
	held "$narrow"
	check "$held records instead of $ns_held" test "$held" -gt "$ns_held"
	same "CPU" "[000]" "$(perf script -i "$data.$ns" -F event,cpu | awk -v e="$fill_event:" \
			      '$2 == e { print $1 }' | sort -u)"
	perf ctl -d "$ns" "$narrow"
}

# The event counts by the run time, so the period differs and must stay in the records.
test_count() {
	local stat=sched:sched_stat_runtime

	perf list tracepoint 2> /dev/null | grep -q $stat || { echo "no $stat"; return; }
	check "keep the period" perf record -P "$ns" -e $stat -a -m 64K
	mark 3
	check "read" perf ctl -r "$ns" -o "$data"
	perf script -i "$data" -F event,period,trace 2> /dev/null | grep -a $stat |
		sed "s/^ *\([0-9]*\) .*runtime=\([0-9]*\) .*/\1 \2/" > "$tmp/shown"
	[ -s "$tmp/shown" ] || fail "nothing ran"
	same "periods that are not the time it ran" 0 \
	     "$(awk '$1 != $2' "$tmp/shown" | grep -c .)"
	perf ctl -d "$ns"
}

# A record with a stack may have the maximum size already, so no field can be added to it.
test_stack() {
	check "stacks" perf record -P "$ns" -e "$exec_event" --call-graph dwarf,16384 -a -m 1M
	mark 2
	check "read" perf ctl -r "$ns" -o "$data"
	same "runs" 2 "$(marks "$data")"
	perf ctl -d "$ns"
}

test_errors() {
	refuse "narrow without -P" "use it with -P" perf record --narrow -a -o "$data" true
}

test_same
test_room
test_count
test_stack
test_errors
exit $failed
