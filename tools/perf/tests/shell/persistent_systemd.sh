#!/bin/bash
# systemd units create, read and delete a namespace (exclusive)
# SPDX-License-Identifier: GPL-2.0

# shellcheck disable=SC2154 # the library sets them
# shellcheck source=lib/persistent.sh
. "$(dirname "$0")"/lib/persistent.sh

units=$(dirname "$0")/../../scripts/systemd
[ -d "$units" ] || skip "no units at $units"

# Replace the path of perf: it may not exist. Everything else must.
if type -P systemd-analyze > /dev/null; then
	cp "$units"/perf-flight*.service "$tmp"
	sed -i "s|/usr/bin/perf|$(type -P true)|" "$tmp"/*.service
	check "the units" systemd-analyze verify "$tmp/perf-flight.service" \
	      "$tmp/perf-flight-save@.service"
	same "complaints" "" "$(cat "$tmp/out")"
	if systemd-analyze security --help 2> /dev/null | grep -q -- --offline; then
		for unit in perf-flight perf-flight-save@; do
			check "exposure of $unit is small" systemd-analyze security \
			      --offline=yes --threshold=30 "$tmp/$unit.service"
		done
	fi
else
	echo "no systemd-analyze: the units are not verified"
fi

persistent_require
recorder=flight
exists "$recorder" && skip "there is a namespace '$recorder'"

# shellcheck disable=SC2317 # at_end calls it
delete_flight() {
	gone "$recorder" || perf ctl -d "$recorder"
}
at_end delete_flight

type -P setpriv > /dev/null || skip "no setpriv"

# run UNIT KEY: run the command of KEY as systemd would for the instance "unit", with the
# capabilities of the unit
# shellcheck disable=SC2317 # check calls it
run() {
	local caps command

	caps=$(sed -n 's/^CapabilityBoundingSet=//p' "$units/$1" | tr 'A-Z ' 'a-z,' |
		sed 's/cap_/+/g')
	command=$(sed -n "s|^$2=-\{0,1\}||p" "$units/$1" |
		sed "s|/usr/bin/perf|perf|; s|-m 16M|-m 256K|; s|\$\\$|\$|g; s|%i|unit|g; s|%%|%|g")
	setpriv --bounding-set="-all,$caps" --inh-caps=-all --no-new-privs sh -c "$command"
}

# shellcheck disable=SC2012 # the names are ours
files() {
	ls "$tmp/failed" | wc -l
}

export STATE_DIRECTORY=$tmp/failed TRIGGERS=
check "ExecStart" run perf-flight.service ExecStart
check "it is there" exists "$recorder"
check "no triggers" run perf-flight.service ExecStartPost
check "list" perf ctl -l "$recorder"
same "there are none" 0 "$(grep -c WHEN "$tmp/out")"
blank=" "
TRIGGERS="# what is wrong costs no other
--when panic --do stop$blank
--when nothing:at_all --do stop

  --when sched:sched_process_exit --filter 'comm == \"no such task\"' --do snapshot --keep 3"
refuse "one is wrong" "nothing:at_all" run perf-flight.service ExecStartPost
check "list" perf ctl -l "$recorder"
says "the first one" "^1  *panic  *stop "
says "the last one" "^2  *sched:sched_process_exit if comm == \"no such task\"  *snapshot "
check "what it keeps" sh -c "perf ctl -l --json $recorder | grep -q '\"keep\": 3'"

mkdir "$tmp/failed"
for i in {1..30}; do
	touch -d "-$i min" "$tmp/failed/other-$i.data"
done
check "make room" run perf-flight-save@.service ExecStartPre
check "save" run perf-flight-save@.service ExecStart
saved=$(echo "$tmp"/failed/unit-*.data)
check "it was saved" sh -c "perf script -i $saved | grep -q sched:sched_switch:"
check "with the names of tasks" sh -c "perf script -i $saved --show-task-events |
	grep -q 'PERF_RECORD_COMM: '"
same "files" 20 "$(files)"
check "the newest stay" test -e "$tmp/failed/other-19.data" -a ! -e "$tmp/failed/other-20.data"
check "make room again" run perf-flight-save@.service ExecStartPre
same "files" 19 "$(files)"
same "of a unit that fails each second" "1h 5" \
     "$(sed -n 's/^StartLimit.*=//p' "$units/perf-flight-save@.service" | paste -s -d ' ')"
check "a file is limited" grep -q "^ExecStart=.* --max-size 100M " \
      "$units/perf-flight-save@.service"
check "ExecStop" run perf-flight.service ExecStop
check "it is gone" gone "$recorder"
exit "$failed"
