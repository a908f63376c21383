#!/bin/bash
# perf ctl show prints the records of a namespace and follows new ones (exclusive)
# SPDX-License-Identifier: GPL-2.0

# shellcheck disable=SC2154 # the library sets them
# shellcheck source=lib/persistent.sh
. "$(dirname "$0")"/lib/persistent.sh

perffs=/sys/kernel/perf

persistent_require
grep -qw perffs /proc/filesystems || skip "the kernel has no perffs"

# marks_in FILE: how often the marked program ran
marks_in() {
	grep -c "^ *mark_.* $exec_event: filename=$marker " "$1"
}

# is_mounted: true if perffs is mounted where perf would mount it
is_mounted() {
	[ -e "$perffs/README" ]
}

# shellcheck disable=SC2317 # check calls it
not_mounted() {
	! is_mounted
}

# The mount of this test, to undo when it ends
own_mount=
unmount() {
	[ -z "$own_mount" ] || umount "$own_mount"
	own_mount=
}
at_end unmount

mount_own() {
	mount -t perffs perffs "$perffs" && own_mount=$perffs
}

# perf ctl show works without a mounted perffs, and leaves no mount behind.
test_mounts() {
	local was=is_mounted

	is_mounted || was=not_mounted
	check "show" sh -c "perf ctl show '$ns' > '$tmp/shown'"
	same "marks" 7 "$(marks_in "$tmp/shown")"
	check "as before: $was" "$was"
	is_mounted || mount_own || return
	check "as it is in perffs" diff "$tmp/shown" "$perffs/$ns/text"
	check "show, while it is mounted" sh -c "perf ctl show '$ns' > '$tmp/again'"
	check "the same" diff "$tmp/shown" "$tmp/again"
	unmount
}

# A user who may read namespaces, but has no right to perffs, is told why nothing is shown.
test_no_right() {
	local as=(setpriv --reuid 65534 --regid 65534 --clear-groups
		  --inh-caps=+perfmon --ambient-caps=+perfmon)

	require_nobody || return 0
	"${as[@]}" true 2> /dev/null || { echo "no setpriv for CAP_PERFMON: not tested"; return; }
	if grep -q ' perffs ' /proc/mounts; then
		echo "perffs is mounted: what is said without it is not tested"
	else
		refuse "nobody, without a mount" "perffs, which only root may mount" \
		       "${as[@]}" "$tmp/perf" ctl show "$ns"
		check "what root can do" grep -qF \
		      "'mount -t perffs perffs $perffs', with '-o uid='" "$tmp/said"
		mount_own || return
		same "mode of a new mount" 700 "$(stat -c %a "$perffs")"
		refuse "nobody, with it" "perffs, which only root may mount" \
		       "${as[@]}" "$tmp/perf" ctl show "$ns"
		unmount
	fi
	check "root can" sh -c "perf ctl show '$ns' > '$tmp/again'"
	check "nothing is lost" diff "$tmp/shown" "$tmp/again"
}

test_parts() {
	local cpu lines=0

	for cpu in /sys/devices/system/cpu/cpu[0-9]*; do
		perf ctl show "$ns" -C "${cpu##*cpu}" > "$tmp/part" 2> "$tmp/said" || cat "$tmp/said"
		lines=$((lines + $(wc -l < "$tmp/part")))
	done
	same "lines of all CPUs" "$(wc -l < "$tmp/shown")" "$lines"
	check "the last hour" sh -c "perf ctl show '$ns' --last 1h > '$tmp/part'"
	check "is all of it" diff "$tmp/shown" "$tmp/part"
	same "marks of the last moment" 0 "$(perf ctl show "$ns" --last 1us | marks_in -)"
	check "a snapshot" perf ctl -s "$ns"
	same "marks of the last hour of a snapshot" 7 \
	     "$(perf ctl show "$ns.1" --last 1h | marks_in -)"
}

# A task cannot hide its records with a name that looks like another line.
test_names() {
	local as_function="$tmp/=> one_function" as_time=$tmp/$'\1\1\1\1-1 [9] 1.1:'

	cp "$(type -P true)" "$as_function"
	cp "$as_function" "$as_time"
	check "create another one" perf record -P "${ns}_names" -a -m 64K -e "$exec_event"
	"$as_function"
	"$as_time"
	check "show" sh -c "perf ctl show '${ns}_names' > '$tmp/names'"
	same "records of a name like a function" 1 "$(grep -c "^ => one_function-" "$tmp/names")"
	check "show all CPUs" sh -c "perf ctl show '${ns}_names' \
		-C '$(cat /sys/devices/system/cpu/possible)' > '$tmp/names'"
	same "records of a name like a time" 1 \
	     "$(grep -c '^\\001\\001\\001\\001-1 \[9\] 1\.1:-' "$tmp/names")"
	check "delete it" perf ctl -d "${ns}_names"
}

# followed NUMBER: true if at least NUMBER marks were printed
# shellcheck disable=SC2317 # eventually calls it
followed() {
	[ "$(marks_in "$tmp/followed")" -ge "$1" ]
}

test_follow() {
	local pid status=0

	check "go on" perf ctl --resume "$ns"
	mark 2
	perf ctl show "$ns" -f > "$tmp/followed" 2> "$tmp/said" &
	pid=$!
	eventually "two marks" followed 2
	mark 3
	eventually "three more" followed 5
	kill -STOP "$pid"
	check "delete it" perf ctl -d "$ns"
	check "create another one" perf record -P "$ns" -a -m 64K -e "$exec_event"
	mark 2
	kill -CONT "$pid"
	wait "$pid" || status=$?
	same "exit status" 0 "$status"
	check "it says why it ends" grep -q "'$ns' was deleted" "$tmp/said"
	same "marks, each of them once" 5 "$(marks_in "$tmp/followed")"
}

test_errors() {
	refuse "no such namespace" "${ns}x" perf ctl show "${ns}x"
	refuse "no CPU" "-C takes a list of CPUs" perf ctl show "$ns" -C x
	refuse "no time" "--last takes" perf ctl show "$ns" --last x
	refuse "what belongs to list" "unknown option \`json'" perf ctl show "$ns" --json
}

check "create $ns" perf record -P "$ns" -a -m 256K -e "$exec_event" \
      -e cpu-clock/freq=499,call-graph=fp/
mark 7
check "stop it" perf ctl --stop "$ns"
test_mounts
test_no_right
test_errors
test_names
test_parts
test_follow
exit "$failed"
