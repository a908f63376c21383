#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Run perf record -M in the background to record numbers, and ask it for dumps. Source
# this after persistent.sh.

# shellcheck disable=SC2154 # persistent.sh sets them

pid=
log=$tmp/log

# start OPTION...: record numbers until stop
start() {
	perf record -o "$data" -e "$number_event" --filter "$number_filter" "$@" 2> "$log" &
	pid=$!
	eventually "perf record $* records" grep -q 'is written on' "$log"
}

stop() {
	[ -n "$pid" ] || return
	kill -INT "$pid"
	wait "$pid"
	pid=
}
at_end stop

# dump N: ask for the Nth dump, and wait for it
dump() {
	kill -USR2 "$pid"
	eventually "dump $1" grep -q "dump $1 written" "$log"
}
