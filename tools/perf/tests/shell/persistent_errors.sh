#!/bin/bash
# what perf record -P, -k and perf ctl refuse, and what they say
# SPDX-License-Identifier: GPL-2.0

# shellcheck disable=SC2154 # the library sets them
# shellcheck source=lib/persistent.sh
. "$(dirname "$0")"/lib/persistent.sh

persistent_require

period_hint="use --period"

test_names() {
	local name

	for name in Foo 1st foo.bar "$(printf 'x%.0s' {1..48})"; do
		refuse "name '$name'" "it takes up to 47 of a-z, 0-9, '_'" \
		       perf record -P "$name" -e cpu-clock -a
	done
	refuse "a word of the parser" "means" perf record -P period -e cpu-clock -a
}

# What -P meant before
test_old_meaning() {
	refuse "a program" "$period_hint" perf record -P ./prog
	refuse "an option after it" "$period_hint" perf record -P -a
	refuse "at the end" "$period_hint" perf record -a -P
	refuse "a command" "leave out 'true'" perf record -P "$ns" -a true
	refuse "no target" "-a for all, or -C LIST" perf record -P "$ns" -e cpu-clock
	refuse "no target" "$period_hint" perf record -P "$ns" -e cpu-clock
}

# Those that make no sense for what has no process and no file
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

# What was made is not made anew for who reads it.
test_read_options() {
	local option

	for option in "-F 99" -g "--call-graph fp" "-m 1M" "-D 10"; do
		# shellcheck disable=SC2086 # two words
		refuse "$option" "${option%% *} says how to make events" \
		       perf record -e "persistent/$ns/" -o "$data" $option
	done
	refuse "--max-size with a command" "use it without a command" \
	       perf record -e "persistent/$ns/" -o "$data" --max-size 1M true
	refuse "--max-size beside others" "use it without a command and other events" \
	       perf record -e "persistent/$ns/" -e cpu-clock -o "$data" --max-size 1M
	refuse "--max-size with many files" "not with --timestamp-filename" \
	       perf record -e "persistent/$ns/" -o "$data" --max-size 1M --timestamp-filename
	refuse "--switch-output of the past" "is for what goes on" \
	       perf record -e "persistent/$ns/" -o "$data" --switch-output=1M
	check "no file" test ! -e "$data"
	refuse "perf top -F" "leave out -F and -c" perf top --stdio -F 99 -e "persistent/$ns/"
}

test_groups() {
	refuse "a group" "groups" perf record -P "$ns" -e '{cpu-clock,page-faults}' -a
	check "nothing is left of it" gone "$ns"
}

test_taken() {
	check "create" perf record -P "$ns" -e cpu-clock -C 0 -m 1
	refuse "the name is taken" "There is a namespace called '$ns' already" \
	       perf record -P "$ns" -e cpu-clock -C 0 -m 1
	refuse "-k of an event" "there is no -e persistent" perf record -e cpu-clock -o "$data" -k
	refuse "-k with many files" "cannot be used with --switch-output" \
	       perf record -e "persistent/$ns/" -o "$data" -k --timestamp-filename
	refuse "-k with many files" "cannot be used with --switch-output" \
	       perf record -e "persistent/$ns/" -o "$data" -k --switch-output=1G
	check "it is still there" exists "$ns"
	refuse "a namespace with a modifier" "is read as it is" \
	       perf record -e "persistent/$ns/u" -o "$data"
	refuse "a namespace of a process" "select processes in the report" \
	       perf record -e "persistent/$ns/" -p $$ -o "$data"
}

# The namespaces that exist are named.
test_missing() {
	refuse "no such namespace to read" "no namespace called '${ns}_not'" \
	       perf record -e "persistent/${ns}_not/" -o "$data"
	check "those that exist" grep -q "Those that exist: .*$ns" "$tmp/said"
	refuse "no such namespace to list" "no namespace called '${ns}_not'" perf ctl -l "${ns}_not"
	check "those that exist" grep -q "Those that exist: .*$ns" "$tmp/said"
	refuse "no such namespace for -r" "no namespace called" perf ctl -r "${ns}_not" -o "$data"
	refuse "no such namespace to delete" "no namespace called" perf ctl -d Not.A.Name
}

test_nobody() {
	require_nobody || return 0
	local as=("${nobody[@]}" "$tmp/perf")

	refuse "create as nobody" "needs CAP_PERFMON" "${as[@]}" record -P "${ns}2" -e cpu-clock -a
	refuse "delete as nobody" "No permission to open the namespace '$ns'" "${as[@]}" ctl -d "$ns"
	check "it is still there" exists "$ns"
	refuse "-k as nobody" "No permission to open the namespace '$ns'" \
	       "${as[@]}" record -e "persistent/$ns/" -k -o /dev/null
	check "names are for all to see" sh -c "${as[*]} ctl -l | grep -q '^$ns '"
}

max=
max_persistent=/proc/sys/kernel/perf_event_max_persistent
# shellcheck disable=SC2317 # at_end calls it
max_back() {
	[ -z "$max" ] || echo "$max" > "$max_persistent"
	max=
}

test_limit() {
	at_end max_back
	max=$(cat "$max_persistent")
	echo 1 > "$max_persistent"
	refuse "more than may be kept" "as kernel.perf_event_max_persistent allows" \
	       perf record -P "${ns}2" -e cpu-clock -e page-faults -C 0 -m 1
	max_back
	check "nothing is left of it" gone "${ns}2"
}

test_no_sysfs() {
	refuse "no sysfs" "mount -t sysfs" unshare -m sh -c \
	       'umount -R -l /sys && mount -t tmpfs none /sys && perf ctl -l'
}

test_names
test_old_meaning
test_options
test_groups
test_taken
test_read_options
test_missing
test_limit
test_no_sysfs
test_nobody
exit "$failed"
