#!/bin/bash
# what perf record -P leaves out of records is there when they are read
# SPDX-License-Identifier: GPL-2.0

# shellcheck disable=SC2154 # the library sets them
# shellcheck source=lib/persistent.sh
. "$(dirname "$0")"/lib/persistent.sh

narrow=${prefix}_narrow

persistent_require
require_fill

# shown FILE FIELDS: what is said of the marked program, without the moment of each
shown() {
	perf script -i "$1" -F "comm,pid,tid,cpu,event,period,trace$2" 2> /dev/null |
		grep -a "^ *${marker##*/} " | sed 's/^ *//; s/  */ /g' | sort
}

# times FILE: how many samples have none, or one before that of the last sample
times() {
	perf script -i "$1" -F time,event 2> /dev/null |
		awk '{ if ($1 + 0 < last || !($1 + 0)) nr++; last = $1 + 0 } END { print nr + 0 }'
}

# sample_types FILE: of all events but those that tell of tasks
sample_types() {
	perf evlist -v -i "$1" | grep -v '^#\|^dummy' |
		sed 's/.*sample_type: \([^,]*\),.*/\1/' | sort -u
}

# held NS: how many records of fill() there were room for
held() {
	check "read $1" perf ctl -r "$1" -o "$data.$1"
	held=$(filled "$data.$1")
}

# left_out NS EVENT: of CPU and PERIOD, of IP, whose bits are 0x180 and 0x1
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

# Which is why they are left out
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

# A count is not the same in all records.
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

# With stacks a record may be as large as it can say, so that there is no room for more.
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
