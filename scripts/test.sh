#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Run the tests in guests of one and of four CPUs: the kernel's selftests, the shell tests
# of perf that the series adds, and perf's own tests of the code that the series changes.
#
# usage: test.sh [-u | -l]
#
#   -l  run the long tests instead: perf's tests of all other commands, in a guest
#       of four CPUs
#   -u  run only the tests of the series, on the unpatched kernel. None may pass, as
#       it would not need the series then
#
# Environment:
#   KERNEL     O= directory of the kernel (build/kernel)
#   TEST_CPUS  sizes of the guests ("1 4")
#   TEST_STAGES  what to run, see test-guest.sh ("perf selftests regression readme")
#   TEST_JOBS  guests at the same time (one more than there are processors)
#
# The logs are in build/test/. The last line is the summary.

set -uo pipefail

top=$(realpath "$(dirname "$0")/..")
# shellcheck source=scripts/base-lib.sh
. "$top/scripts/base-lib.sh"
kernel=$(realpath "${KERNEL:-$arch_build/kernel}")
logs=$arch_build/test
stages=${TEST_STAGES:-perf selftests regression readme}

# If the kernel can make any allocation fail, test that perf copes with that, too.
if grep -q '^CONFIG_FAULT_INJECTION=y' "$kernel/.config"; then
	stages+=' faults'
fi

# A kernel with KUnit runs the kernel's own tests when it boots.
if grep -q '^CONFIG_PERF_OUTPUT_KUNIT_TEST=y' "$kernel/.config"; then
	stages+=' kunit'
fi

# These tests may pass without the series: the one of the messages on such a kernel, and
# those of perf record -M, which works on any kernel.
unpatched_ok='perf record -P and perf ctl say that the kernel has no persistent events
perf record -M
perf record --daemon
perf data join makes one file'

unpatched=0
if [ "${1-}" = -l ]; then
	stages='perf-long regression-long'
	logs=$arch_build/test-long
	TEST_CPUS=${TEST_CPUS:-4}
fi
if [ "${1-}" = -u ]; then
	unpatched=1
	stages='perf selftests'
	logs=$arch_build/test-unpatched
	kernel=$arch_build/kernel-base
	base=$base_build/linux-base
	if [ ! -e "$base/Makefile" ]; then
		git -C "$base_build/linux" worktree prune
		git -C "$base_build/linux" worktree add -f -q --detach "$base" base || exit
	fi
	LINUX=$base KERNEL=$kernel "$top/scripts/build.sh" kernel || exit
fi
# The guest finds the modules by this.
export KERNEL=$kernel
rm -rf "$logs"
mkdir -p "$logs"

# results LOG: print "ok NAME", "failed NAME" or "skipped NAME" for each result in the log
# of a stage, and a failure for each program that began and did not end.
results()
{
	awk '
	function end_program(status)
	{
		# perf succeeds, too, if it has no such test.
		if (!seen)
			print (status == 4 ? "skipped " : "failed ") name (status == 0 ? ": no result" : "")
		else if (plan > seen)
			print "failed", name ": only " seen " of " plan " tests ran"
		else if (status != 0 && !failed)
			print "failed", name ": exit status " status
		name = ""
	}
	/^### begin / { name = $3; seen = failed = plan = 0; next }
	/^### end /   { end_program($4); next }

	# kselftest: TAP.
	/^1\.\.[0-9]+/ {
		# + 0 makes it a number: as a string, "9" is more than "10".
		plan = substr($1, 4) + 0
		if (/# SKIP/) {
			seen++
			print "skipped", name
		}
	}
	/^(not )?ok [0-9]+/ {
		seen++
		what = $0
		sub(/^(not )?ok [0-9]+ (- )?/, "", what)
		if (/^not/)
			failed++
		print (/^not/ ? "failed" : /# (SKIP|XFAIL)/ ? "skipped" : "ok"), name ": " what
	}

	# perf test.
	/: (Ok|FAILED!|Skip.*)$/ && !/Running/ {
		what = $0
		sub(/^[: ]*[0-9.]+: /, "", what)
		sub(/ *: (Ok|FAILED!|Skip.*)$/, "", what)
		seen++
		if (/FAILED!$/)
			failed++
		print (/Ok$/ ? "ok" : /FAILED!$/ ? "failed" : "skipped"), what
	}
	END {
		if (name != "")
			print "failed", name ": no end"
	}' "$1"
}

# complaints LOG: print the output of the tests that failed, as the log may be out of reach.
complaints()
{
	awk '
	/^not ok [0-9]+/ || /: FAILED!$/ {
		print "  " $0 ", after:"
		for (i = n > 20 ? n - 20 : 0; i < n; i++)
			print "    " said[i]
	}
	/^(not )?ok [0-9]+/ || /^### / || /: (Ok|FAILED!|Skip.*)$/ {
		n = 0
		next
	}
	{ said[n++] = $0 }' "$1"
}

# run_guest CPUS STAGE [PART]: run a stage of test-guest.sh in a guest
run_guest()
{
	local log start=$SECONDS vm

	log=$logs/${2}${3:+-${3%/*}}-$1
	trap 'kill "$vm"; exit 143' TERM
	VM_LOG=$log.vm.log "$top/scripts/vm.sh" -k "$kernel" \
		-a "kunit.enable=$([ "$2" = kunit ] && echo 1 || echo 0)" -s "$1" -m 3072 -t "${TEST_TIMEOUT:-3600}" \
		"$top/scripts/test-guest.sh" "$2" "${3-}" >"$log.log" 2>&1 </dev/null &
	vm=$!
	wait "$vm"
	echo $? $((SECONDS - start)) >"$log.log.status"
}

# The longest stages come first, so that none of them runs alone at the end. Guests wait a
# lot, so one more than there are processors runs at a time. They must not go on when this
# script is stopped.
trap 'kill $(jobs -p); exit 143' INT TERM HUP
at_once=${TEST_JOBS:-$(($(nproc) + 1))}
guests=()
for stage in $stages; do
	for cpus in $(xargs -n1 <<<"${TEST_CPUS:-1 4}" | sort -rn); do
		if [[ $stage = perf* ]] && [ "$cpus" -gt 1 ]; then
			guests+=("$cpus $stage 1/2" "$cpus $stage 2/2")
		else
			guests+=("$cpus $stage")
		fi
	done
done
for guest in "${guests[@]}"; do
	while [ "$(jobs -pr | wc -l)" -ge "$at_once" ]; do
		wait -n
	done
	# shellcheck disable=SC2086 # three words
	run_guest $guest &
done
wait

passed=0 failed=0 skipped=0 wrong=0
for guest in "${guests[@]}"; do
	read -r cpus stage part <<<"$guest"
	log=$logs/$stage${part:+-${part%/*}}-$cpus.log
	read -r status seconds <"$log.status" || status=1 seconds=0
	results "$log" | sort -u >"$log.results"
	# Failed tests are in the results. Another exit status means that the guest died
	# or that its kernel complained.
	[ "$status" -eq 0 ] ||
		echo "failed $stage: the guest's exit status is $status" >>"$log.results"

	p=$(grep -c '^ok ' "$log.results")
	f=$(grep -c '^failed ' "$log.results")
	s=$(grep -c '^skipped ' "$log.results")
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
	printf '%-15s  %s CPUs  %3d passed %3d failed %3d skipped  %4d s\n' \
		"$stage${part:+ $part}" "$cpus" "$p" "$f" "$s" "$seconds"
	if [ $unpatched = 1 ]; then
		if grep '^ok ' "$log.results" | grep -vF "$unpatched_ok" |
		   sed 's/^ok /  passed without the series: /' | grep .; then
			wrong=1
		fi
		# If no test ran, the result is meaningless.
		if [ "$status" -ne 0 ] || [ $((f + s)) -eq 0 ]; then
			echo "  the tests did not run; log: ${log#"$top"/}"
			wrong=1
		fi
	elif [ "$f" -gt 0 ]; then
		sed -n 's/^failed /  FAILED: /p' "$log.results"
		complaints "$log"
		grep -A 20 '^vm.sh: ' "$log"
		echo "  log: ${log#"$top"/}"
	fi
done

echo "$passed passed, $failed failed, $skipped skipped"
if [ $unpatched = 1 ]; then
	exit $wrong
fi
[ $failed -eq 0 ] && [ $passed -gt 0 ]
