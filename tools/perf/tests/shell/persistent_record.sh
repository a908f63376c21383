#!/bin/bash
# perf record -P keeps events in the kernel, perf ctl manages them
# SPDX-License-Identifier: GPL-2.0

# shellcheck disable=SC2154 # the library sets them
# shellcheck source=lib/persistent.sh
. "$(dirname "$0")"/lib/persistent.sh

persistent_require
cd "$tmp" || exit 1

# kib SIZE: a size such as 3M or 1088K in KiB
kib() {
	case $1 in
	*G)	echo $((${1%G} * 1024 * 1024)) ;;
	*M)	echo $((${1%M} * 1024)) ;;
	*)	echo "${1%K}" ;;
	esac
}

test_create() {
	local nr_cpus online page_kib

	nr_cpus=$(getconf _NPROCESSORS_ONLN)
	online=$(cat /sys/devices/system/cpu/online)
	page_kib=$(($(getconf PAGE_SIZE) / 1024))

	check "create" perf record -P "$ns" -e "$exec_event" -e cpu-clock/freq=100,name=clock/ \
	      -m 256 -a
	check "nothing is written" test ! -e perf.data
	check "it is in sysfs" grep -q '^config=0x' "$persistent_pmu/events/$ns"
	check "list" perf ctl -l "$ns"
	same "name" "$ns" "$(column NAME)"
	same "state" on "$(column STATE)"
	same "events" "$exec_event,clock" "$(column EVENTS)"
	same "CPUs" "$online" "$(column CPUS)"
	# Both events of a CPU share 256 pages. The buffer for tasks and maps has a
	# quarter of that, but at least 256K.
	same "buffers in KiB" $(((256 * page_kib + 256) * nr_cpus)) "$(kib "$(column BUFFER)")"
	same "owner" root "$(column OWNER)"
}

test_read() {
	mark 7
	check "read" perf record -e "persistent/$ns/" -a -o "$data"
	same "execs" 7 "$(marks "$data")"
	check "the other event" sh -c "perf script -i $data -F event | grep -q clock:"
}

test_read_again() {
	mark 2
	check "perf ctl -r" perf ctl -r "$ns"
	same "execs since it was made" 9 "$(marks perf.data)"
}

test_kill() {
	check "read and delete, given twice" \
	      perf record -e "persistent/$ns/" -e "persistent/$ns/" -a -o "$data" -k
	# Seven, two, and the two of test_mixed
	same "execs" 11 "$(marks "$data")"
	check "it is gone" gone "$ns"
	check "an empty list" perf ctl -l
	same "lines that name it" 0 "$(grep -c "$ns" "$tmp/out")"
}

# Events beside a namespace follow their tasks, whichever comes first.
test_mixed() {
	local events

	for events in "-e persistent/$ns/ -e page-faults" "-e page-faults -e persistent/$ns/"; do
		# shellcheck disable=SC2086 # it is four words
		check "read: $events" perf record $events -o "$data" "$marker"
		check "tasks are tracked" \
		      sh -c "perf evlist -v -i $data | grep -q '^page-faults:.* mmap: 1, comm: 1,.* task: 1'"
	done
}

# If a namespace is given several times, each record is still read once.
test_twice() {
	local config

	config=$(cat "$persistent_pmu/events/$ns")
	check "read it twice" perf record -e "persistent/$ns/" -e "persistent/$config/" \
	      -e "persistent/$ns/" -o "$data"
	same "execs" 9 "$(marks "$data")"
}

test_create
test_read
test_read_again
test_twice
test_mixed
test_kill
exit "$failed"
