#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Common parts of the tests of perf record --daemon: start and stop a daemon, ask it for
# files, and look at these. Source this after persistent.sh.

# shellcheck disable=SC2034,SC2154 # used by those that source this, and set by persistent.sh

[ "$(id -u)" = 0 ] || skip "not root"
perf record -h 2>&1 | grep -q -- '--daemon' || skip "perf has no --daemon"
require_numbers

base=$tmp/perf.data
log=$base.log
aux=$base.auxiliary
no_samples="perf.data.auxiliary perf.data.log"
all_parts="$no_samples perf.data.sample"
time_pattern='[0-9]*T[0-9]*.[0-9]*Z'
pid=

# start OPTION...: start a daemon that records numbers until stop
start() {
	rm -f "$log" "$tmp/pid"
	check "a daemon" perf record -o "$base" --daemon --pid-file "$tmp/pid" \
		-e "$number_event" --filter "$number_filter" "$@"
	pid=$(cat "$tmp/pid")
}

ended() {
	! kill -0 "$pid" 2> /dev/null
}

# stop [SIGNAL]: end the daemon with SIGNAL, or SIGTERM
stop() {
	[ -n "$pid" ] || return
	kill "-${1:-TERM}" "$pid"
	eventually "it ends" ended
	pid=
}
at_end stop

samples() {
	find "$tmp" -name "perf.data.sample.$time_pattern" | sort
}

# has_samples N: true if there are N files of samples
has_samples() {
	[ "$(samples | wc -l)" -eq "$1" ]
}

# dump N: ask for the Nth file, and wait for it
dump() {
	kill -USR1 "$pid"
	eventually "file $1" has_samples "$1"
}

# sample N: the path of the Nth file
sample() {
	samples | sed -n "$1p"
}

# parts: the names of all files of the recording, without the times in them
parts() {
	find "$tmp" -name '*perf.data*' -printf '%f\n' |
		sed "s/sample\..*/sample/; s/auxiliary\.[0-9].*/auxiliary.TIME/" | sort | xargs
}

clean() {
	rm -rf "$base"* "$tmp"/.perf.data*
}

# comms FILE: the names of the tasks of its samples
comms() {
	perf script -i "$1" -F comm 2> /dev/null | sort -u | xargs
}

# A mount to undo when the test ends
undo_mount=
umount_small() {
	[ -z "$undo_mount" ] || umount -l "$undo_mount"
}
at_end umount_small
