#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The part of test.sh that runs in the guest.
#
# usage: test-guest.sh STAGE [PART/PARTS]
#
# Stages: selftests, perf, perf-long, regression, regression-long, faults, kunit, readme.
#
# Only the shell tests of perf can be split into parts.

top=$(realpath "$(dirname "$0")/..")
# shellcheck source=scripts/base-lib.sh
. "$top/scripts/base-lib.sh"
PATH=$base_perf:$PATH

# perf's own tests that open, parse, map, record or read events. These are left out, as
# they do not pass on the unpatched tree either:
#   Use a dummy software event to keep tracking, Event groups: no hardware PMU
#   Number of exit events of a simple workload: fails in an emulated guest
#   Software clock events period values: fails on a busy host
# and these, as they take too long:
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
Sample parsing
Parse with no sample_id_all bit set
Times of day
What namespaces leave out of records
Track with sched_switch
Filter fds with revents mask in a fdarray
Add fd to a fdarray, making it autogrow
Synthesize attr update
Event times
Read backward ring buffer
Event expansion for cgroups
'
# Tests that take long, but are run in 'make test-long'
regression_long='
Setup struct perf_event_attr
perf record tests
perf record sideband tests
'

# The shell tests of the series that 'make test' runs: to create, read and delete, and what
# the kernel does by itself. 'make test-long' runs the tests of all other commands.
quick=' creator_killed delete errors names nosupport options read record record_join'
quick+=' record_memory trigger unpatched narrow '
# The ones of these where the number of CPUs makes little difference: in a guest of four
# CPUs they run only in 'make test-long'.
one_cpu=' errors names narrow nosupport trigger unpatched '

# program NAME COMMAND...: run COMMAND between two marks. They show test.sh that a program
# has died, and people which one takes long.
program()
{
	local name=$1 start=$SECONDS status
	shift
	echo "### begin $name"
	timeout -k 5 "${TEST_LIMIT:-1800}" "$@"
	status=$?
	echo "### end $name $status $((SECONDS - start)) s"
}

# perf_tests NAME DESCRIPTION ...: run these tests of perf, which looks for its scripts
# below the current directory.
perf_tests()
{
	cd "$base_perf_linux/tools/perf" || exit
	while [ $# -gt 0 ]; do
		program "$1" perf test -S -v "$2"
		shift 2
	done
}

# check_names NAME...: fail if perf lacks one of these tests, as it runs the others then.
check_names()
{
	local known missing='' name

	known=$(perf test list 2>&1)
	for name; do
		grep -qiF -- "$name" <<<"$known" || missing+=", but not '$name'"
	done
	echo "### begin names"
	echo "${missing:+not }ok 1 - perf has these tests$missing"
	echo "### end names 0 0 s"
}

case $1 in
selftests)
	export TEST_MODULES=${KERNEL:-$arch_build/kernel}/test_modules
	[ ! -e "$TEST_MODULES/aux_pmu.ko" ] || insmod "$TEST_MODULES/aux_pmu.ko"
	cd "$arch_build/selftests" || exit
	dir=$base_build/linux/tools/testing/selftests/perf_events/persistent
	while read -r prog; do
		[ -e "$prog" ] || prog=$dir/$prog
		program "${prog##*/}" "$(realpath "$prog")"
	done <list
	;;
faults)
	# This runs in its own guest, as it may damage files of perf.
	dir=$base_build/linux/tools/testing/selftests/perf_events/persistent
	cd "$arch_build/selftests" || exit
	program fault_perf.sh env PERF="$base_perf/perf" "$dir/fault_perf.sh"
	;;
kunit)
	# The tests ran when the kernel booted. Their results are TAP within TAP.
	mount -t debugfs none /sys/kernel/debug 2>/dev/null
	for suite in perf_output perf_persistent_spec perf_persistent_copy; do
		program "kunit-$suite" sed 's/^    //' "/sys/kernel/debug/kunit/$suite/results"
	done
	;;
readme)
	program README "$top/scripts/test-readme.sh"
	;;
perf | perf-long)
	# The second line of a script is its name. persistent_creator_killed kills perf at
	# more places on more CPUs, so it runs only in guests of one CPU.
	part=${2:-1/1}
	args=() nr=0
	# The directory also has tests of other parts of 'perf record', which are not run.
	for script in "$base_perf_linux"/tools/perf/tests/shell/{*persistent*,record_*memory*,record_daemon*,record_join,record_torn}.sh; do
		name=$(basename "$script" .sh)
		stage=perf-long
		[[ $quick != *" ${name#persistent_} "* ]] || stage=perf
		[ "$(nproc)" -eq 1 ] || [[ $one_cpu != *" ${name#persistent_} "* ]] ||
			stage=perf-long
		[ $stage = "$1" ] || continue
		[ "$name" != persistent_creator_killed ] || [ "$(nproc)" -eq 1 ] || continue
		[ $((nr++ % ${part#*/} + 1)) -eq "${part%/*}" ] || continue
		args+=("$name" "$(sed -n '2{s/^# *//; s/ (exclusive)$//; p}' "$script")")
	done
	[ ${#args[@]} -gt 0 ] || exit 1
	perf_tests "${args[@]}"
	;;
regression | regression-long)
	[ "$1" = regression ] || regression=$regression_long
	# Newer versions of this test filter by user, which a perf without BPF refuses.
	if grep -q -- --uid "$base_perf_linux/tools/perf/tests/shell/record.sh" &&
	   ! perf check -q feature bpf_skeletons; then
		regression=${regression/perf record tests}
	fi
	[ "$1" != regression ] || program tracepoint "$arch_build/selftests/tracepoint"
	[ "$1" != regression ] || program nested "$arch_build/selftests/nested"
	[ "$1" != regression ] || program paths "$arch_build/selftests/paths"
	mapfile -t names < <(grep . <<<"$regression")
	cd "$base_perf_linux/tools/perf" || exit
	check_names "${names[@]}"
	program perf perf test -S -v "${names[@]}"
	;;
esac 2>&1
exit 0
