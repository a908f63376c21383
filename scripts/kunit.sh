#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Boot the kernel of configs/kunit.config, and check the results of its KUnit tests.
#
# usage: kunit.sh

set -uo pipefail

top=$(realpath "$(dirname "$0")/..")
suites='perf_output perf_persistent_spec perf_persistent_copy'

# shellcheck disable=SC2016,SC2086 # expanded in the guest; a list
"$top/scripts/vm.sh" -s 2 -t 300 sh -c \
	'mount -t debugfs none /sys/kernel/debug 2>/dev/null
	 for suite; do cat "/sys/kernel/debug/kunit/$suite/results"; done' \
	sh $suites >"$top/build/kunit.log"
status=$?
cat "$top/build/kunit.log"
passed=$(grep -cE '^ +ok ' "$top/build/kunit.log")
failed=$(grep -cE '^ +not ok ' "$top/build/kunit.log")
echo "kunit: $passed passed, $failed failed"
for suite in $suites; do
	grep -q "^ok .*$suite" "$top/build/kunit.log" || failed=1
done
[ $status -eq 0 ] && [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
