#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Run the tests on a kernel that looks for data races, and compare its reports with those
# of the unpatched kernel under perf's own tests.
#
# usage: test-kcsan.sh
#
# Fails if a race is found in a function of kernel/events/persistent*.c, or if a test
# fails. Prints all races that the unpatched kernel did not show. Races in functions that
# the series does not touch only mean that the tests reach code that perf's own tests do
# not reach.

set -uo pipefail

top=$(realpath "$(dirname "$0")/..")
linux=$top/build/linux
base=$top/build/linux-base
logs=$top/build/test-kcsan
configs="$top/configs/vm.config $top/configs/kcsan.config"

if [ ! -e "$base/Makefile" ]; then
	git -C "$linux" worktree prune
	git -C "$linux" worktree add -f -q --detach "$base" base || exit
fi
CONFIGS=$configs KERNEL=$top/build/kernel-kcsan "$top/scripts/build.sh" kernel || exit
CONFIGS=$configs KERNEL=$top/build/kernel-kcsan-base LINUX=$base \
	"$top/scripts/build.sh" kernel || exit
mkdir -p "$logs"

# races LOG...: the pairs of functions that race, each pair in sorted order
races()
{
	sed -n 's/.*BUG: KCSAN: data-race in //p' "$@" |
		awk '{ print ($1 < $3 || $3 == "") ? $0 : $3 " / " $1 }' | sort -u
}

# run KERNEL STAGE: run a stage of test-guest.sh on a kernel
run()
{
	VM_ALLOW=KCSAN VM_LOG=$logs/$1-$2.vm.log "$top/scripts/vm.sh" \
		-k "$top/build/kernel-$1" -s 4 -m 3072 -t 1800 \
		"$top/scripts/test-guest.sh" "$2" >"$logs/$1-$2.log" 2>&1
}

failed=0
for kernel in kcsan kcsan-base; do
	for stage in selftests perf regression; do
		[ $kernel = kcsan ] || [ $stage = regression ] || continue
		if ! run $kernel $stage || grep -qE '^not ok|FAILED!' "$logs/$kernel-$stage.log"; then
			echo "FAILED: $stage on $kernel, log: ${logs#"$top"/}/$kernel-$stage.log"
			[ $kernel = kcsan-base ] || failed=1
		fi
	done
done

races "$logs"/kcsan-base-*.vm.log >"$logs/base"
races "$logs"/kcsan-selftests.vm.log "$logs"/kcsan-perf.vm.log \
	"$logs"/kcsan-regression.vm.log >"$logs/ours"
nm "$top"/build/kernel-kcsan/kernel/events/persistent*.o |
	awk '$2 ~ /^[tT]$/ { sub(/\..*/, "", $3); print $3 }' | sort -u >"$logs/functions"

echo "$(wc -l <"$logs/base") races in the unpatched kernel, $(wc -l <"$logs/ours") in this one;" \
	"only in this one:"
comm -13 "$logs/base" "$logs/ours" | sed 's/^/  /'
if grep -wFf "$logs/functions" "$logs/ours"; then
	echo 'FAILED: races in functions of persistent*.c'
	failed=1
fi
exit $failed
