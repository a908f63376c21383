#!/bin/bash
# units for systemd that make, read and delete a namespace of events
# SPDX-License-Identifier: GPL-2.0

# shellcheck disable=SC2154 # the library sets them
# shellcheck source=lib/persistent.sh
. "$(dirname "$0")"/lib/persistent.sh

units=$(dirname "$0")/../../scripts/systemd
[ -d "$units" ] || skip "no units at $units"

# Without perf where they say it is, the commands are all that is not there.
if type -P systemd-analyze > /dev/null; then
	cp "$units"/perf-flight*.service "$tmp"
	sed -i "s|/usr/bin/perf|$(type -P true)|" "$tmp"/*.service
	check "the units" systemd-analyze verify "$tmp/perf-flight.service" \
	      "$tmp/perf-flight-save@.service"
	same "complaints" "" "$(cat "$tmp/out")"
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

# command UNIT KEY: as systemd would run it for the instance "unit"
command() {
	sed -n "s|^$2=||p" "$units/$1" |
		sed "s|/usr/bin/perf|perf|; s|\$\\$|\$|g; s|%i|unit|g; s|%%|%|g"
}

export STATE_DIRECTORY=$tmp
check "ExecStart" sh -c "$(command perf-flight.service ExecStart | sed 's/-m 16M/-m 256K/')"
check "it is there" exists "$recorder"
check "save" sh -c "$(command perf-flight-save@.service ExecStart)"
saved=$(echo "$tmp"/unit-*.data)
check "it was saved" sh -c "perf script -i $saved | grep -q sched:sched_switch:"
check "ExecStop" sh -c "$(command perf-flight.service ExecStop)"
check "it is gone" gone "$recorder"
exit "$failed"
