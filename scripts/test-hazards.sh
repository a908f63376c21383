#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Show that there is a test for each known way in which code like this breaks, and that
# the test fails if the guard in the kernel is missing. One kernel has all guards, and
# leaves out the one that perf_hazard=N on its command line selects.
#
# usage: test-hazards.sh [HAZARD...]
#
# If all hazards were run, and no row is wrong, this writes the table
# Documentation/userspace-api/perf_persistent_tests.rst.

set -uo pipefail

top=$(realpath "$(dirname "$0")/..")
linux=$top/build/linux
src=$top/build/linux-hazards
kernel=$top/build/kernel-hazards
logs=$top/build/test-hazards
doc=Documentation/userspace-api/perf_persistent_tests.rst
list=$top/scripts/hazards.list

# The same source, with switches for the guards
if [ ! -e "$src/Makefile" ]; then
	git -C "$linux" worktree prune
	git -C "$linux" worktree add -f -q --detach "$src" HEAD || exit
fi
git -C "$src" checkout -q -f --detach "$(git -C "$linux" rev-parse HEAD)" || exit
patch -d "$src" -p1 -s -F0 --no-backup-if-mismatch <"$top/scripts/hazards.patch" || exit
LINUX=$src KERNEL=$kernel CONFIGS=$top/configs/vm.config "$top/scripts/build.sh" kernel || exit
LINUX=$src KERNEL=$kernel "$top/scripts/build.sh" module || exit

mkdir -p "$logs"
export TEST_MODULES=$kernel/test_modules

# run NUMBER PROGRAM FIXTURE TEST: print "passed", or how it failed
run()
{
	local log=$logs/$1-$2-$4.log status result

	# shellcheck disable=SC2016 # for the guest
	VM_LOG=$log.vm "$top/scripts/vm.sh" -k "$kernel" -s 4 -t 90 -a "perf_hazard=$1" \
		sh -c 'insmod "$TEST_MODULES/aux_pmu.ko"; exec "$@"' sh \
		"$top/build/selftests/$2" -t "$4" >"$log" 2>&1
	status=$?
	# A test may have several variants. It fails if any of them fails.
	result=$(grep -E "^(not )?ok [0-9]+ $3\\.(.*\\.)?$4( |\$)" "$log")
	if grep -q '^not ok' <<<"$result"; then
		echo 'the test fails'
	elif [ $status = 124 ]; then
		echo 'the kernel hangs'
	elif [ $status = 125 ]; then
		echo 'the kernel complains'
	elif [ -z "$result" ] || [ $status != 0 ]; then
		echo 'the test dies'
	elif ! grep -qv '# SKIP' <<<"$result"; then
		echo 'skipped'
	else
		echo 'passed'
	fi
}

failed=0
rows=$logs/rows
: >"$rows"
# shellcheck disable=SC2034 # the words are for the table
while IFS='|' read -r name number program test what guard; do
	case $name in
	'' | \#*) continue ;;
	esac
	[ $# -eq 0 ] || [[ " $* " == *" $name "* ]] || continue
	fixture=${test%%.*} short=${test##*.}
	# A guest that outlives an interrupted run has the old file.
	rm -f "$logs/with"
	run 0 "$program" "$fixture" "$short" >"$logs/with" &
	without=$(run "$number" "$program" "$fixture" "$short")
	wait
	with=$(<"$logs/with")
	# A race may not happen while another guest takes the time.
	[ "$without" != passed ] || without=$(run "$number" "$program" "$fixture" "$short")
	printf '%-5s %-34s %-8s without %s: %s\n' "$name" "$test" "$with" "$guard" "$without"
	printf '   * - %s\n     - %s\n     - %s\n     - %s\n     - %s\n     - %s\n' "$name" "$what" \
		"\`\`$test\`\`" "$with" "$guard" "$without" >>"$rows"
	# A test is skipped if the machine lacks the hardware.
	case $with/$without in
	'passed/the '* | skipped/*) ;;
	*) failed=1 ;;
	esac
done <"$list"

if [ $# -eq 0 ] && [ $failed = 0 ]; then
	{
		cat <<-EOT
		.. SPDX-License-Identifier: GPL-2.0

		:orphan:

		===============================
		Persistent perf events: hazards
		===============================

		How code like this is known to break, the test in
		\`\`tools/testing/selftests/perf_events/\`\` that notices, and the result of
		that test on a kernel without the guard.

		.. list-table::
		   :header-rows: 1

		   * - #
		     - hazard
		     - test
		     - result
		     - guard
		     - without guard
		EOT
		cat "$rows"
	} >"$linux/$doc"
fi
exit $failed
