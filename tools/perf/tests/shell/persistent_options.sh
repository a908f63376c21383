#!/bin/bash
# options of perf record mean the same with -P
# SPDX-License-Identifier: GPL-2.0

# shellcheck disable=SC2154 # the library sets them
# shellcheck source=lib/persistent.sh
. "$(dirname "$0")"/lib/persistent.sh

persistent_require
cgroups=/sys/fs/cgroup

# sampling EVENT: its frequency or period, from the output of perf evlist -v
sampling() {
	sed -n "s/^$1:.* { sample_period, sample_freq }: \([0-9]*\),.*/\1/p" "$tmp/evlist"
}

# -C, --filter, -F, -g
test_one_cpu() {
	check "create on one CPU" perf record -P "$ns" -C 0 -m 16M -g -F 250 \
	      -e "$exec_event" --filter "filename ~ \"$tmp/*\"" -e cpu-clock
	mark 1
	taskset -c 0 sh -c 'true; ls > /dev/null'
	for _ in 1 2 3; do
		taskset -c 0 "$marker"
	done
	check "list" perf ctl -l "$ns"
	same "CPUs" 0 "$(column CPUS)"
	check "read" perf record -e "persistent/$ns/" -o "$data" -k
	perf script -i "$data" -F comm,cpu,event,trace,ip,sym > "$tmp/script" 2> /dev/null
	perf evlist -v -i "$data" > "$tmp/evlist"
	check "execs that pass, on that CPU" \
	      test "$(grep -c "filename=$marker" "$tmp/script")" -ge 3
	same "execs that do not pass" 0 "$(grep "$exec_event" "$tmp/script" | grep -vc "$marker")"
	same "CPUs of samples" "[000]" "$(grep -o '\[00[0-9]\]' "$tmp/script" | sort -u)"
	same "frequency" 250 "$(sampling cpu-clock)"
	check "call chains" sh -c "grep -A2 '$exec_event' $tmp/script | grep -q '^	'"
}

# Tasks move between CPUs: a reader of one CPU needs the side-band records of all.
test_read_one_cpu() {
	local mover=$tmp/mover_$$

	if [ "$(getconf _NPROCESSORS_ONLN)" = 1 ]; then
		echo "one CPU: reading some of them is not tested"
		return
	fi
	cp "$(type -P bash)" "$mover"
	check "create" perf record -P "$ns" -a -e cpu-clock -F 250 -m 4M
	# shellcheck disable=SC2016 # the other shell is to expand it
	taskset -c 1 "$mover" -c 'taskset -cp 0 $$ > /dev/null
				  for ((i = 0; i < 30000; i++)); do :; done'
	check "read one CPU" perf record -e "persistent/$ns/" -C 0 -o "$data"
	perf script -i "$data" -F comm,cpu > "$tmp/script" 2> /dev/null
	same "CPUs of samples" "[000]" "$(grep -o '\[00[0-9]\]' "$tmp/script" | sort -u)"
	check "who came from another has its name" grep -q "^ *${mover##*/} " "$tmp/script"
	refuse "-k of one CPU" "unread: -C leaves out their CPU" \
	       perf record -e "persistent/$ns/" -C 0 -o "$data" -k
	check "list" perf ctl -l "$ns"
	same "state" on "$(column STATE)"
	check "-k of all CPUs" perf record -e "persistent/$ns/" -o "$data" \
	      -C "$(cat /sys/devices/system/cpu/online)" -k
	check "it is gone" gone "$ns"
}

# -c, -G
test_cgroup() {
	at_end leave_cgroup
	if ! mkdir "$cgroups/$prefix" || ! [ -e "$cgroups/cgroup.subtree_control" ]; then
		leave_cgroup
		echo "no cgroup2 at $cgroups: -G is not tested"
		return
	fi
	# Until a controller is enabled below the root, perf_event is not enabled either.
	if ! grep -q . "$cgroups/cgroup.subtree_control"; then
		enabled=y
		echo +pids > "$cgroups/cgroup.subtree_control"
	fi

	check "create for a cgroup" perf record -P "$ns" -c 1 -e "$exec_event" -e page-faults \
	      -G "$prefix,$prefix" -a
	same "no other tasks are of interest" 0 \
	     "$(grep -c "for the list of tasks that already run" "$tmp/out")"
	mark 2
	(echo "$BASHPID" > "$cgroups/$prefix/cgroup.procs" && mark 4)
	check "read" perf record -e "persistent/$ns/" -o "$data" -k
	perf evlist -v -i "$data" > "$tmp/evlist"
	same "execs in the cgroup" 4 "$(marks "$data")"
	same "period" 1 "$(sampling page-faults)"

	check "the cgroup is not in use any more" rmdir "$cgroups/$prefix"
	leave_cgroup
}

enabled=
leave_cgroup() {
	[ ! -d "$cgroups/$prefix" ] || rmdir "$cgroups/$prefix"
	[ -z "$enabled" ] || echo -pids > "$cgroups/cgroup.subtree_control"
	enabled=
}

test_one_cpu
test_read_one_cpu
test_cgroup
exit "$failed"
