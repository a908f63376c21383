#!/bin/bash
# perf ctl --disable, --enable, --stop and --resume switch namespaces (exclusive)
# SPDX-License-Identifier: GPL-2.0

# shellcheck disable=SC2154 # the library sets them
# shellcheck source=lib/persistent.sh
. "$(dirname "$0")"/lib/persistent.sh

persistent_require
mnt=$tmp/perffs

# lists TEXT: check that perf ctl -l shows TEXT as the state of the namespace
lists() {
	check "list" perf ctl -l "$ns"
	says "it says '$1'" "^$ns  *$1  "
}

# recorded NR: check that it can be read in any state, and holds NR execs
recorded() {
	check "read" perf record -e "persistent/$ns/" -o "$data"
	same "execs" "$1" "$(marks "$data")"
}

test_toggle() {
	mark 1
	check "disable" perf ctl --disable "$ns"
	lists off
	mark 1
	recorded 1
	check "disable what is disabled" perf ctl --disable "$ns"
	check "enable" perf ctl --enable "$ns"
	lists on
	mark 1
	recorded 2
	check "enable what is enabled" perf ctl --enable "$ns"
}

test_stop() {
	check "stop" perf ctl --stop "$ns"
	lists stopped
	mark 1
	recorded 2
	check "stop what is stopped" perf ctl --stop "$ns"
	check "enable does not resume" perf ctl --enable "$ns"
	lists stopped
	mark 1
	recorded 2
	check "resume" perf ctl --resume "$ns"
	lists on
	mark 1
	recorded 3
	check "resume what goes on" perf ctl --resume "$ns"
}

test_note() {
	check "note" perf ctl --note "disk 3 is slow" "$ns"
	check "list" perf ctl -l "$ns"
	says "it is there" "^Note: disk 3 is slow$"
	check "list" perf ctl -l --json "$ns"
	says "it is there" '"note": "disk 3 is slow"'
	refuse "a long note" "at most 63 bytes" perf ctl --note "$(printf '%064d' 0)" "$ns"
	check "no note" perf ctl --note "" "$ns"
	check "list" perf ctl -l --json "$ns"
	says "it is gone" '"note": null'
}

# shellcheck disable=SC2317 # at_end calls it
unmount() {
	umount "$mnt"
}

# states NS...: the contents of their "enabled" files
states() {
	local name words=

	for name in "$@"; do
		words+=" $(cat "$mnt/$name/enabled")"
	done
	echo "${words# }"
}

test_file() {
	check "disable" eval "echo 0 > $mnt/$ns/enabled"
	same "state" 0 "$(cat "$mnt/$ns/enabled")"
	lists off
	mark 1
	recorded 3
	check "enable" perf ctl --enable "$ns"
	same "state" 1 "$(cat "$mnt/$ns/enabled")"
	refuse "not a word" "Invalid argument" bash -c "echo maybe > $mnt/$ns/enabled"
	mark 1
	recorded 4
}

test_several() {
	check "create" perf record -P "${ns}2" -e cpu-clock -m 1 -C 0
	refuse "one of them is not there" "There is no namespace called '${ns}3'" \
	       perf ctl --disable "${ns}3" "$ns" "${ns}2"
	same "the others are off" "0 0" "$(states "$ns" "${ns}2")"
	check "enable" perf ctl --enable "$ns" "${ns}2"
	same "the others are on" "1 1" "$(states "$ns" "${ns}2")"
	refuse "both" "Usage" perf ctl --enable --disable "$ns"
	refuse "none" "Usage" perf ctl --disable
}

test_nobody() {
	require_nobody || return 0
	refuse "the file as nobody" "Permission denied" \
	       "${nobody[@]}" sh -c "echo 0 > $mnt/$ns/enabled"
	refuse "as nobody" "No permission" "${nobody[@]}" "$tmp/perf" ctl --disable "$ns"
	lists on
}

# shellcheck disable=SC2317 # at_end calls it
back_online() {
	echo 1 > "$online"
}

# Events of a disabled namespace stay off on a CPU that comes back, and on a new one.
test_hotplug() {
	local last=$(($(getconf _NPROCESSORS_ONLN) - 1))
	local cpus

	online=/sys/devices/system/cpu/cpu$last/online
	if [ "$last" = 0 ] || [ ! -w "$online" ]; then
		echo "no CPU can be taken offline: not tested"
		return
	fi
	at_end back_online
	cpus=$(cat /sys/devices/system/cpu/online)
	echo 0 > "$online"
	check "create" perf record -P "${ns}4" -e "$exec_event" -a -m 16
	check "disable" perf ctl --disable "$ns" "${ns}4"
	echo 1 > "$online"
	for _ in $(seq 300); do
		perf ctl -l "${ns}4" > "$tmp/out"
		[ "$(column CPUS)" != "$cpus" ] || break
		sleep 0.1
	done
	same "CPUs" "$cpus" "$(column CPUS)"
	same "both are off" "0 0" "$(states "$ns" "${ns}4")"
	taskset -c "$last" "$marker"
	recorded 4
	check "enable" perf ctl --enable "$ns"
	taskset -c "$last" "$marker"
	recorded 5
}

mkdir "$mnt"
check "mount" mount -t perffs perffs "$mnt"
at_end unmount
check "create" perf record -P "$ns" -e "$exec_event" -a -m 64
# The note of a new namespace is the command line that created it.
check "list" perf ctl -l --json "$ns"
says "its command line" '"note": "[^"]*perf record -P '"$ns"' -e'
test_toggle
test_stop
test_note
test_file
test_several
test_nobody
test_hotplug
exit "$failed"
