#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Read namespaces while four CPUs write as fast as they can, and check every record. Let
# processes exit before their samples are read, and check that these have symbols.
#
# usage: check-readers.sh
#
# Environment:
#   READS  how often the buffers are read (10000), one time in a hundred by perf
#
# The logs are in build/check-readers/.

set -uo pipefail

top=$(realpath "$(dirname "$0")/..")
logs=$top/build/check-readers
reads=${READS:-10000}
tests=$top/build/linux/tools/perf/tests/shell
mkdir -p "$logs"
export PATH=$top/build/perf:$PATH
export TORN_READS=$reads PERSISTENT_TORN_READS=$((reads / 100 + 1))
cd "$top/build/linux/tools/perf" || exit
failed=0

# guest NAME PATTERN COMMAND...: run COMMAND in a guest, and print the figure, from PATTERN on
guest()
{
	local log=$logs/$1 pattern=$2

	shift 2
	if ! VM_LOG=$log.vm.log "$top/scripts/vm.sh" -s 4 -m 3072 -t 3000 "$@" >"$log.log" 2>&1 ||
	   grep -qE '^not ok|FAILED!' "$log.log"; then
		echo "FAILED, log: ${log#"$top"/}.log"
		failed=1
	fi
	if ! grep -oE "$pattern.*" "$log.log"; then
		echo "there is no figure, log: ${log#"$top"/}.log"
		failed=1
	fi
}

# test_name TEST: its name for perf test, which is the second line of the script
test_name()
{
	sed -n '2{s/^# *//; s/ (exclusive)$//; p}' "$tests/$1.sh"
}

guest copy 'torn: [0-9]+ reads' "$top/build/selftests/torn"
guest perf 'torn: [0-9]+ reads' perf test -vv "$(test_name persistent_torn)"
guest symbols 'symbols: [0-9]+ of' perf test -vv "$(test_name persistent_symbols)"
exit $failed
