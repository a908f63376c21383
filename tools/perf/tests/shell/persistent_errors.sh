#!/bin/bash
# perf record -P, -k and perf ctl: refusals and error messages (exclusive)
# SPDX-License-Identifier: GPL-2.0

# shellcheck disable=SC2154 # the library sets them
# shellcheck source=lib/persistent.sh
. "$(dirname "$0")"/lib/persistent.sh

persistent_require

period_hint="use --period"

test_names() {
	local name

	for name in Foo 1st foo.bar "$(printf 'x%.0s' {1..48})"; do
		refuse "name '$name'" "a name has up to 47 of a-z, 0-9, '_'" \
		       perf record -P "$name" -e cpu-clock -a
	done
	refuse "a word of the parser" "means" perf record -P period -e cpu-clock -a
	refuse "a name of the kernel" "the kernel has reserved it" \
	       perf record -P error_log -e cpu-clock -a
}

# Users of the old meaning of -P (--period) are told to use --period.
test_old_meaning() {
	refuse "a program" "$period_hint" perf record -P ./prog
	refuse "an option after it" "$period_hint" perf record -P -a
	refuse "at the end" "$period_hint" perf record -a -P
	refuse "a command" "leave out 'true'" perf record -P "$ns" -a true
	refuse "no target" "-a for all, or -C LIST" perf record -P "$ns" -e cpu-clock
	refuse "no list of CPUs" "-C takes a list of CPUs, as in -C 0-3,8: not 'foo'" \
	       perf record -P "$ns" -e cpu-clock -C foo
	refuse "an empty list of CPUs" "-C takes a list of CPUs, as in -C 0-3,8: not ''" \
	       perf record -P "$ns" -e cpu-clock -C ""
	refuse "no target" "$period_hint" perf record -P "$ns" -e cpu-clock
	perf record -a -P ls --dry-run > "$tmp/out" 2>&1 || :
	says "a command without events" "$period_hint"
	perf record -a -P ls -e cpu-clock --dry-run > "$tmp/out" 2>&1 || :
	same "nothing of a command with events" 0 "$(grep -c -- "$period_hint" "$tmp/out")"
}

# Options that make no sense for events without a process and without a file
test_options() {
	local option

	for option in "-p $$" "-t $$" "-u root" "-o $data" "-D 10" -k "--last 1s" \
		      "--max-size 1M" -N "--mmap-flush 1" --exclude-perf "--synth no"; do
		# shellcheck disable=SC2086 # two words
		refuse "$option" "${option%% *} cannot be used with -P" \
		       perf record -P "$ns" -e "$exec_event" -a $option
	done
	refuse "-m with two sizes" "one size with -P" perf record -P "$ns" -a -m 1M,1M
	check "nothing is left of it" gone "$ns"
}

# Readers cannot change how existing events were made.
test_read_options() {
	local option

	for option in "-F 99" -g "--call-graph fp" "-m 1M" "-D 10"; do
		# shellcheck disable=SC2086 # two words
		refuse "$option" "${option%% *} sets up new events" \
		       perf record -e "persistent/$ns/" -o "$data" $option
	done
	refuse "--max-size with a command" "use it without a command" \
	       perf record -e "persistent/$ns/" -o "$data" --max-size 1M true
	refuse "--max-size beside others" "use it without a command and other events" \
	       perf record -e "persistent/$ns/" -e cpu-clock -o "$data" --max-size 1M
	refuse "--max-size with many files" "leave out --timestamp-filename" \
	       perf record -e "persistent/$ns/" -o "$data" --max-size 1M --timestamp-filename
	refuse "--switch-output of the past" "is for ongoing recording" \
	       perf record -e "persistent/$ns/" -o "$data" --switch-output=1M
	check "no file" test ! -e "$data"
	refuse "perf top -F" "leave out -F and -c" perf top --stdio -F 99 -e "persistent/$ns/"
}

# refuse_filter FILTER TEXT
refuse_filter() {
	refuse "the filter '$1'" "does not accept the filter '$1' for $exec_event: $2" \
	       perf record -P "${ns}2" -e "$exec_event" --filter "$1" -a
	check "nothing is left of it" gone "${ns}2"
}

test_filters() {
	refuse_filter "((" "a ')' is missing."
	refuse_filter "pid == 1)" "a '(' is missing."
	refuse_filter "filename == \"a)" "the end of a quoted text is missing."
	refuse_filter "nothing == 1" "a filter compares"
	check "which there are" \
	      grep -q "^Fields of $exec_event are: filename pid old_pid$" "$tmp/said"
	refuse_filter "pid = 1" "a filter compares"
	refuse "a filter of perf stat" "a filter compares" \
	       perf stat -e "$exec_event" --filter "nothing == 1" true
	refuse "a filter of a trigger" "a ')' is missing." \
	       perf ctl trigger "$ns" --when "$exec_event" --filter "(pid == 1" --do stop
	refuse "a filter of what is added" "a ')' is missing." \
	       perf ctl add "$ns" -e "$exec_event" --filter "(pid == 1"
}

# Sizes above the limit of a buffer: nothing is created, and the error names the size.
test_large() {
	local size

	for size in 2G 4G 16G 128G; do
		refuse "-m $size" "at most 1G, not $size: choose a smaller size with -m" \
		       perf record -P "$ns" -e cpu-clock -a -m "$size"
		check "nothing is left of it" gone "$ns"
		refuse "-m $size without -P" "failed to mmap" \
		       perf record -e cpu-clock -a -m "$size" -o "$tmp/large" true
	done
}

# A size must not wrap around and become one page.
test_no_size() {
	local size

	for size in -1 -1M foo 18446744073709551615 99999999999999999999; do
		refuse "-m '$size'" "Invalid argument for --mmap_pages" \
		       perf record -P "$ns" -e cpu-clock -a -m "$size"
	done
	check "nothing is left of it" gone "$ns"
}

# perf prints the sizes that the kernel chose, and --dry-run prints the same in advance.
test_sizes() {
	local sizes

	check "try" perf record -P "$ns" -e "$exec_event" -e cpu-clock -a -m 32 --dry-run
	says "what would be" "'$ns' would keep 2 events on CPU .*: $exec_event cpu-clock"
	says "that it is not" "nothing was created"
	sizes=$(grep "buffers of" "$tmp/out")
	check "nothing was created" gone "$ns"
	check "create" perf record -P "$ns" -e "$exec_event" -e cpu-clock -a -m 32
	same "the sizes" "$sizes" "$(grep "buffers of" "$tmp/out")"
	check "list" perf ctl -l "$ns"
	same "what is listed" "$(column BUFFER) in all ]" "${sizes##*; }"
	check "delete" perf ctl -d "$ns"
}

test_no_such_cpu() {
	local cpu

	cpu=$(getconf _NPROCESSORS_CONF)
	refuse "a CPU that is not there" "CPU $cpu does not exist or is offline" \
	       perf record -P "$ns" -e cpu-clock -C "$cpu"
	check "nothing is left of it" gone "$ns"
}

test_groups() {
	refuse "a group" "groups" perf record -P "$ns" -e '{cpu-clock,page-faults}' -a
	check "nothing is left of it" gone "$ns"
}

# Without overwrite, a full buffer stops until a reader empties it: -P refuses that.
test_no_overwrite() {
	refuse "an event that does not overwrite" "only keeps buffers that overwrite" \
	       perf record -P "$ns" -e cpu-clock -e "$exec_event/no-overwrite/" -a
	check "nothing is left of it" gone "$ns"
	check "what -P does anyway" \
	      perf record -P "$ns" -e "$exec_event/overwrite/" -C 0 -m 1
	check "delete" perf ctl -d "$ns"
}

# Root of a container lacks some of root's capabilities.
test_root_without_perfmon() {
	local as=(setpriv "--bounding-set=-cap_38,-sys_admin")

	"${as[@]}" true 2> /dev/null || { echo "no setpriv: not tested"; return; }
	refuse "create as root without CAP_PERFMON" "you are root, but without" \
	       "${as[@]}" perf record -P "$ns" -e cpu-clock -C 0 -m 1
	check "nothing is left of it" gone "$ns"
}

test_taken() {
	check "create" perf record -P "$ns" -e cpu-clock -C 0 -m 1
	refuse "the name is taken" "There is a namespace called '$ns' already" \
	       perf record -P "$ns" -e cpu-clock -C 0 -m 1
	refuse "-k of an event" "name it with -e persistent" perf record -e cpu-clock -o "$data" -k
	for verb in show read; do
		refuse "$verb, with an empty list of CPUs" "-C takes a list of CPUs" \
		       perf ctl "$verb" "$ns" -C ""
	done
	refuse "no time at all" "--last takes a time that is longer than 0: not '0s'" \
	       perf ctl read "$ns" -o "$data" --last 0s
	refuse "-k with many files" "cannot be used with --switch-output" \
	       perf record -e "persistent/$ns/" -o "$data" -k --timestamp-filename
	refuse "-k with many files" "cannot be used with --switch-output" \
	       perf record -e "persistent/$ns/" -o "$data" -k --switch-output=1G
	check "it is still there" exists "$ns"
	refuse "to keep a namespace" "is a namespace, and -P creates a new one" \
	       perf record -P "${ns}2" -e "persistent/$ns/" -a
	refuse "a namespace with a modifier" "is read as it was created" \
	       perf record -e "persistent/$ns/u" -o "$data"
	refuse "a namespace of a process" "select processes in the report" \
	       perf record -e "persistent/$ns/" -p $$ -o "$data"
}

test_usage() {
	usage "-r alone" "-r needs the name of a namespace" perf ctl -r
	usage "-r of two" "'b' is one too many" perf ctl -r a b
	usage "two verbs" "--enable and --disable cannot be used together" \
	      perf ctl --enable --disable "$ns"
	usage "two things to do" "--keep and --clear cannot be used together" \
	      perf ctl --clear --keep 3 "$ns"
	usage "--timeout alone" "--timeout belongs to --wait" perf ctl --timeout 1s
	usage "nothing" "Nothing to do" perf ctl
	usage "a name" "Nothing to do" perf ctl "$ns"
}

# fails WHAT COMMAND...: check that COMMAND fails with the documented exit status
fails() {
	local what=$1 status=0

	shift
	"$@" > "$tmp/said" 2>&1 || status=$?
	same "exit status of $what" 1 "$status"
}

test_status() {
	fails "to list what is not there" perf ctl -l "${ns}_not"
	fails "to read what is not there" perf ctl -r "${ns}_not" -o "$data"
	fails "to delete what is not there" perf ctl -d "${ns}_not"
	fails "a bad number" perf ctl -s "$ns" --keep x
	fails "a bad time" perf ctl --wait "$ns" --timeout 5
	fails "a name that is taken" perf record -P "$ns" -e cpu-clock -a
	fails "-P with a command" perf record -P "${ns}2" -e cpu-clock -a true
	fails "options of the past" perf record -e "persistent/$ns/" -o "$data" -F 99
}

# perf reports a broken pipe once, however many writes fail.
test_broken_pipe() {
	local bytes

	for bytes in 1 1000 10000; do
		{ perf ctl -r "$ns" -o - 2> "$tmp/said"; echo $? > "$tmp/status"; } |
			head -c "$bytes" > /dev/null
		[ "$(cat "$tmp/status")" = 1 ] || continue
		same "how often that the pipe broke" 1 "$(grep -c "Broken pipe" "$tmp/said")"
	done
	check "it broke" grep -q "Broken pipe" "$tmp/said"
}

# A user who may read events, but not the formats of tracepoints in tracefs
test_no_tracefs() {
	local status as=(setpriv --reuid 65534 --regid 65534 --clear-groups
		  --inh-caps=+perfmon --ambient-caps=+perfmon)

	require_nobody || return 0
	"${as[@]}" true 2> /dev/null || { echo "no setpriv for CAP_PERFMON: not tested"; return; }
	check "create" perf record -P "${ns}2" -e "$exec_event" -C 0 -m 1
	if "${as[@]}" test -r /sys/kernel/tracing/events/header_page; then
		echo "tracefs is for all to read: not tested"
	else
		refuse "no right to tracefs" "tracing/events/header_page: Permission denied" \
		       "${as[@]}" "$tmp/perf" ctl -r "${ns}2" -o "$tmp/no_tracefs"
		check "nothing was written" test ! -e "$tmp/no_tracefs"
		status=0
		"${as[@]}" "$tmp/perf" ctl -r "${ns}2" -o "$tmp/no_tracefs" 2> /dev/null ||
			status=$?
		same "exit status" 3 "$status"
		check "take a snapshot" perf ctl -s "${ns}2"
		mkdir -m 777 "$tmp/saved"
		# perf ctl save must end: waiting does not help.
		status=0
		"${as[@]}" timeout 120 "$tmp/perf" ctl save "${ns}2" --to "$tmp/saved" \
			> "$tmp/said" 2>&1 || status=$?
		same "save, no right to tracefs" 1 "$status"
		check "that it ends" \
		      grep -qF "No snapshot of '${ns}2' can be saved until" "$tmp/said"
		check "why" grep -q "tracing/events/header_page: Permission denied" "$tmp/said"
		same "what is saved" "" "$(ls "$tmp/saved")"
	fi
	check "delete" perf ctl -d "${ns}2"
}

cgroups=/sys/fs/cgroup
# shellcheck disable=SC2317 # at_end calls it
cgroups_back() {
	echo -pids > "$cgroups/cgroup.subtree_control"
	rmdir "$cgroups/$ns"
}

# Cgroups have events as soon as any controller is enabled for them.
test_cgroup() {
	if [ "$(cat $cgroups/cgroup.subtree_control 2> /dev/null || echo none)" ] ||
	   ! grep -qw pids $cgroups/cgroup.controllers; then
		echo "there is no cgroup v2, or it has controllers: not tested"
		return
	fi
	mkdir "$cgroups/$ns"
	at_end cgroups_back
	if perf record -e cpu-clock -G "$ns" -a -o "$tmp/cgroup" true > /dev/null 2>&1; then
		echo "this cgroup has events: not tested"
	else
		refuse "a cgroup without events" "cgroup $ns has no events" \
		       perf record -P "${ns}2" -e cpu-clock -G "$ns" -a
	fi
	echo +pids > "$cgroups/cgroup.subtree_control"
	check "a cgroup with events" perf record -P "${ns}2" -e cpu-clock/freq=99/ -G "$ns" -a
	check "delete" perf ctl -d "${ns}2"
}

# The error names similar namespaces, not all of them.
test_missing() {
	refuse "no such namespace to read" "no namespace called '${ns}_not'" \
	       perf record -e "persistent/${ns}_not/" -o "$data"
	check "what may be meant" grep -q "Did you mean '$ns'" "$tmp/said"
	refuse "no such namespace to list" "no namespace called '${ns}_not'" perf ctl -l "${ns}_not"
	check "what may be meant" grep -q "Did you mean '$ns'" "$tmp/said"
	check "how to see them" grep -q "'perf ctl -l' lists" "$tmp/said"
	check "create another one" perf record -P "${prefix}_of_another_name" -e cpu-clock -C 0 -m 1
	refuse "no such namespace to list" "no namespace called" perf ctl -l "${ns}_not"
	same "names of others" 0 "$(grep -c "of_another_name" "$tmp/said")"
	check "delete it" perf ctl -d "${prefix}_of_another_name"
	refuse "no such namespace for -r" "no namespace called" perf ctl -r "${ns}_not" -o "$data"
	refuse "no such namespace to delete" "no namespace called" perf ctl -d Not.A.Name
}

test_nobody() {
	require_nobody || return 0
	local as=("${nobody[@]}" "$tmp/perf")

	refuse "create as nobody" "needs CAP_PERFMON" "${as[@]}" record -P "${ns}2" -e cpu-clock -a
	refuse "delete what is not there as nobody" "no namespace called '${ns}_not'" \
	       "${as[@]}" ctl -d "${ns}_not"
	refuse "delete as nobody" "No permission to open the namespace '$ns'" "${as[@]}" ctl -d "$ns"
	check "it is still there" exists "$ns"
	refuse "-k as nobody" "No permission to open the namespace '$ns'" \
	       "${as[@]}" record -e "persistent/$ns/" -k -o /dev/null
	check "names are for all to see" sh -c "${as[*]} ctl -l | grep -q '^$ns '"
}

# Root of a user namespace has CAP_PERFMON there, but not in the initial user namespace.
test_root_of_container() {
	local as=(unshare -U -r) verb

	"${as[@]}" true 2> /dev/null || { echo "no unshare -U: not tested"; return; }
	for verb in -r -d; do
		refuse "root of a container, $verb" "you are root, but without" \
		       "${as[@]}" perf ctl "$verb" "$ns"
		check "why" grep -q "CAP_PERFMON in the initial user namespace, as in a container" \
		      "$tmp/said"
	done
	check "it is still there" exists "$ns"
}

test_limit() {
	max=$(cat "$max_persistent")
	echo 1 > "$max_persistent"
	refuse "more than may be kept" "the limit kernel.perf_event_max_persistent is reached" \
	       perf record -P "${ns}2" -e cpu-clock -e page-faults -C 0 -m 1
	max_back
	check "nothing is left of it" gone "${ns}2"
}

# inject CALL PATTERN ERROR COMMAND...: run COMMAND, and let its first CALL like PATTERN fail. Where
# that is, another run tells, whose namespace is deleted.
# shellcheck disable=SC2317 # refuse calls it
inject() {
	local call=$1 pattern=$2 error=$3 nr

	shift 3
	strace -qq -o "$tmp/trace" -e trace="$call" "$@" > "$tmp/said" 2>&1 || return 0
	nr=$(grep "^$call(" "$tmp/trace" | grep -n -e "$pattern" | head -n 1 | cut -d : -f 1)
	[ -n "$nr" ] && perf ctl -d "${ns}2" || return 0
	strace -qq -o "$tmp/trace" -e trace="$call" -e inject="$call:error=$error:when=$nr" "$@"
}

# The kernel may kill other tasks when perf maps buffers that are really too large, so fake that.
test_no_memory() {
	local keep=(perf record -P "${ns}2" -e "$exec_event" -a -m 64K) bytes

	bytes=$((65536 + $(getconf PAGE_SIZE)))
	strace -qq -o "$tmp/trace" true 2> /dev/null || { echo "no strace: not tested"; return; }
	refuse "no memory to map" "There is no memory for a buffer of 64K on each CPU" \
	       inject mmap "NULL, $bytes, PROT_READ.*, MAP_SHARED, [0-9]" ENOMEM "${keep[@]}"
	check "nothing is left of it" gone "${ns}2"
	refuse "no memory to keep it" \
	       "Cannot keep '$exec_event': there is not enough memory available" \
	       inject ioctl "_IOC_READ|_IOC_WRITE, 0x24, 0xd, " ENOMEM "${keep[@]}"
	check "nothing is left of it" gone "${ns}2"
}

test_no_sysfs() {
	refuse "no sysfs" "mount -t sysfs" unshare -m sh -c \
	       'umount -R -l /sys && mount -t tmpfs none /sys && perf ctl -l'
}

test_names
test_old_meaning
test_options
test_large
test_no_size
test_sizes
test_no_such_cpu
test_groups
test_no_overwrite
test_root_without_perfmon
test_taken
test_filters
test_read_options
test_missing
test_usage
test_status
test_broken_pipe
test_no_tracefs
test_cgroup
test_limit
test_no_memory
test_no_sysfs
test_nobody
test_root_of_container
exit "$failed"
