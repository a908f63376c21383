#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Read the files that show buffers for a long time, while others write to the buffers:
# those in perffs, and those in /proc/PID/perf/ring-buffers. On a kernel with KASAN (make
# test-readers KERNEL=debug) this also shows that random bytes in a buffer cannot make the
# kernel read invalid memory.
#
# usage: test-readers.sh
#
# Environment:
#   KERNEL        O= directory of the kernel (build/kernel)
#   DATA_READS    how often "data" is read while 4 CPUs write as fast as they can (1000)
#   TEXT_READS    the same for "text" (200)
#   RING_MINUTES  for how many minutes buffers of random bytes are read (10)
#
# The logs are in build/test-readers/. The last line is the summary.

set -uo pipefail

top=$(realpath "$(dirname "$0")/..")
kernel=$(realpath "${KERNEL:-$top/build/kernel}")
logs=$top/build/test-readers
tests=$top/build/selftests
mkdir -p "$logs"
passed=0 failed=0

# run NAME COMMAND...: check that its tests pass, none of them is skipped, and the kernel
# does not complain
run()
{
	local name=$1 start=$SECONDS log=$logs/$1.log result=FAILED

	shift
	if VM_LOG=$logs/$name.vm.log "$top/scripts/vm.sh" -k "$kernel" -s 4 -m 3072 -t 14400 \
	   "$@" >"$log" 2>&1 && grep -q '^ok ' "$log" && ! grep -q '# SKIP' "$log"; then
		result=ok
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
	fi
	printf '%-10s %5d s  %s; %s\n' "$name" $((SECONDS - start)) "$result" \
		"$(grep -E '^# .*(reads of|rounds)' "$log" | tail -n 1 | cut -c 3-)"
	[ $result = ok ] || tail -n 20 "$log"
}

run data env TEXT_READS="${DATA_READS:-1000}" "$tests/text" -t torn_data
run text env TEXT_READS="${TEXT_READS:-200}" "$tests/text" -t torn
run hits "$tests/ring_buffers" -t reading_costs_no_record
# shellcheck disable=SC2016 # for the guest
run nonsense bash -c '
	end=$((SECONDS + $1 * 60)) rounds=0
	while [ $SECONDS -lt $end ]; do
		RING_ROUNDS=1000 "$0" -t nonsense || exit
		rounds=$((rounds + 1000))
	done
	echo "# $rounds rounds in $SECONDS s"
' "$tests/ring_buffers" "${RING_MINUTES:-10}"

echo "$passed passed, $failed failed"
[ $failed = 0 ]
