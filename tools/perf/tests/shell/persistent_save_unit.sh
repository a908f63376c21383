#!/bin/bash
# a systemd unit saves snapshots with the capabilities it declares (exclusive)
# SPDX-License-Identifier: GPL-2.0

# shellcheck disable=SC2154 # the library sets them
# shellcheck source=lib/persistent.sh
. "$(dirname "$0")"/lib/persistent.sh

units=$(dirname "$0")/../../scripts/systemd
unit=$units/perf-flight-snapshots.service
[ -e "$unit" ] || skip "no unit at $unit"

# Replace the path of perf: it may not exist. Everything else must.
if type -P systemd-analyze > /dev/null; then
	cp "$units"/perf-flight*.service "$tmp"
	sed -i "s|/usr/bin/perf|$(type -P true)|" "$tmp"/*.service
	# systemd-analyze finds required units there.
	SYSTEMD_UNIT_PATH=$tmp: check "the unit" \
		systemd-analyze verify "$tmp/perf-flight-snapshots.service"
	same "complaints" "" "$(cat "$tmp/out")"
	systemd-analyze security --help 2> /dev/null | grep -q -- --offline &&
		check "its exposure is small" systemd-analyze security --offline=yes \
		      --threshold=30 "$tmp/perf-flight-snapshots.service"
else
	echo "no systemd-analyze: the unit is not verified"
fi

persistent_require
require_numbers
recorder=flight
exists "$recorder" && skip "there is a namespace '$recorder'"
type -P setpriv > /dev/null || skip "no setpriv"

saver=
# shellcheck disable=SC2317 # at_end calls it
delete_flight() {
	[ -z "$saver" ] || kill -9 "$saver"
	gone "$recorder" || perf ctl delete "$recorder" "$recorder.*"
}
at_end delete_flight

# shellcheck disable=SC2317 # eventually calls it
is_saved() {
	[ -e "$(echo "$tmp"/perf-flight/flight.*.1.*.data)" ]
}

# The sandbox of the unit needs a running systemd, so only its capabilities are tested.
echo "the sandbox of the unit is not tested: its capabilities are"
caps=$(sed -n 's/^CapabilityBoundingSet=//p' "$unit" | tr 'A-Z ' 'a-z,' | sed 's/cap_/+/g')
command=$(sed -n 's/^ExecStart=//p' "$unit" | sed "s|/usr/bin/perf|perf|; s|%S|$tmp|")
keep_numbers "$recorder" -a -m 64K
number 1
check "take a snapshot" perf ctl snapshot "$recorder"
# shellcheck disable=SC2086 # several words
setpriv --bounding-set="-all,$caps" --inh-caps=-all --no-new-privs $command > "$tmp/saves" 2>&1 &
saver=$!
eventually "it is saved with the rights of the unit" is_saved || cat "$tmp/saves"
file=$(echo "$tmp"/perf-flight/flight.*.1.*.data)
same "what it says" 2 "$(grep -c "^\[ perf ctl: " "$tmp/saves")"
same "and nothing else" 2 "$(wc -l < "$tmp/saves")"
same "numbers" 1 "$(numbers "$file")"
check "with the names of tasks" sh -c "perf script -i $file --show-task-events |
	grep -q 'PERF_RECORD_COMM: '"
exit "$failed"
