#!/bin/bash
# The part of test.sh that runs in the guest.
#
# usage: test-guest.sh selftests|perf|regression

top=$(realpath "$(dirname "$0")/..")
PATH=$top/build/perf:$PATH

# Of perf's own tests those that open, parse, map, record or read events. Not
# here, as they do not pass on the unpatched tree either:
#   Use a dummy software event to keep tracking, Event groups: no hardware PMU
#   Number of exit events of a simple workload: fails in an emulated guest
# and for their time:
#   perf script tests, perf pipe recording and injection test
regression='
Read samples using the mmap interface
Test event parsing
Parsing of all PMU events from sysfs
Parsing of given PMU events from sysfs
Parsing of aliased events
Parsing of terms
PERF_RECORD_* events & perf_sample fields
Roundtrip evsel->name
Parse sched tracepoints fields
syscalls:sys_enter_openat event fields
Software clock events period values
Sample parsing
Parse with no sample_id_all bit set
Track with sched_switch
Filter fds with revents mask in a fdarray
Add fd to a fdarray, making it autogrow
Synthesize attr update
Event times
Read backward ring buffer
Event expansion for cgroups
'
# These take long and are run in one guest only.
regression_long='
Setup struct perf_event_attr
perf record tests
perf record sideband tests
'

# program NAME COMMAND...: the lines around it let test.sh see one that died.
program()
{
	local name=$1
	shift
	echo "### begin $name"
	timeout -k 5 "${TEST_LIMIT:-600}" "$@"
	echo "### end $name $?"
}

# perf looks for its scripts below the current directory.
perf_test()
{
	cd "$top/build/linux/tools/perf" || exit
	program perf perf test -S -v "$@"
}

case $1 in
selftests)
	cd "$top/build/selftests" || exit
	dir=$top/build/linux/tools/testing/selftests/perf_events/persistent
	while read -r prog; do
		[ -e "$prog" ] || prog=$dir/$prog
		program "${prog##*/}" "$(realpath "$prog")"
	done <list
	;;
perf)
	# The second line of a script is its name. Without names perf would
	# run all it has.
	mapfile -t names < <(sed -s -n '2s/^# *//p' \
		"$top"/build/linux/tools/perf/tests/shell/*persistent*.sh)
	[ ${#names[@]} -gt 0 ] || exit 1
	perf_test "${names[@]}"
	;;
regression)
	[ "$(nproc)" -eq 1 ] || regression+=$regression_long
	mapfile -t names < <(grep . <<<"$regression")
	perf_test "${names[@]}"
	;;
esac 2>&1
exit 0
