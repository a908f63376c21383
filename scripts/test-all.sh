#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Run all tests, one after the other, on all kernels.
#
# usage: test-all.sh [STEP...]
#
# Without a STEP, all steps are run. The output of each is in build/test-all/. The last
# line is the summary.

set -uo pipefail
# make exports these, and each step sets its own.
unset KERNEL CONFIGS ARCH BASE MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES

top=$(realpath "$(dirname "$0")/..")
logs=$top/build/test-all
mkdir -p "$logs"
cd "$top" || exit
passed=0 failed=0
wanted=" $* "
steps=$(sed -n 's/^step \([^ ]*\) make.*/\1/p' "$0" | xargs)

for name in "$@"; do
	if [[ " $steps " != *" $name "* ]]; then
		echo "test-all: no step '$name'; they are: $steps" >&2
		exit 2
	fi
done

# step NAME COMMAND...
step()
{
	local name=$1 start=$SECONDS result=ok

	shift
	[ "$wanted" = "  " ] || [[ "$wanted" = *" $name "* ]] || return 0
	if "$@" >"$logs/$name.log" 2>&1; then
		passed=$((passed + 1))
	else
		result="FAILED, see ${logs#"$top"/}/$name.log"
		failed=$((failed + 1))
	fi
	printf '%-16s %5d s  %s; %s\n' "$name" $((SECONDS - start)) "$result" \
		"$(tail -n 1 "$logs/$name.log")"
}

step test make -s test
step kunit make -s kunit
step test-long make -s test-long
step check-readers make -s check-readers
step readers make -s test-readers KERNEL=debug
step check-triggers make -s check-triggers
step daemon make -s test-daemon
step test-unpatched make -s test-unpatched
step arm64 make -s test ARCH=arm64 TEST_CPUS=4
step arm64-demo make -s demo ARCH=arm64
step s390 make -s test ARCH=s390 KERNEL=kunit TEST_CPUS=4
step s390-demo make -s demo ARCH=s390 KERNEL=kunit
step 7.3 make -s test BASE=7.3
step 7.3-demo make -s demo BASE=7.3
step 7.3-debug make -s test BASE=7.3 KERNEL=debug
step 7.3-series make -s check-series BASE=7.3
step 7.3-bench make -s bench BASE=7.3
step debug make -s test KERNEL=debug
step kmemleak make -s test KERNEL=kmemleak
step rounds make -s test-rounds KERNEL=kmemleak
step fault make -s test KERNEL=fault
step kcsan make -s test-kcsan
step exact make -s test-exact
step stress make -s stress KERNEL=debug
step fuzz make -s fuzz KERNEL=debug SECONDS=300
step ends make -s test-ends
step ends-debug make -s test-ends KERNEL=debug
step boot make -s test-boot
step fleet make -s test-fleet
step hazards make -s test-hazards
step builds make -s check-builds
step whole make -s check-whole
step series make -s check-series
step apply make -s test-apply
step deb make -s test-deb
step bench-snapshot make -s bench-snapshot
step scale make -s bench-scale
step idle make -s bench-idle
step read make -s bench-read
step fastpath make -s check-fastpath
step size make -s check-size
step bench make -s bench-check

echo "$passed passed, $failed failed"
[ $failed = 0 ]
