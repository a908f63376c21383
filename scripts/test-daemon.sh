#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The tests of perf record --daemon in their long form: 1,000 files while all CPUs write,
# 200 programs that exit, and a daemon that is stopped after each write().
#
# usage: test-daemon.sh
#
# Environment: see the tests
#   RECORD_DUMPS, RECORD_PROGRAMS, RECORD_WRITES

set -uo pipefail

top=$(realpath "$(dirname "$0")/..")
export RECORD_DUMPS=${RECORD_DUMPS:-1000} RECORD_PROGRAMS=${RECORD_PROGRAMS:-200}
export RECORD_WRITES=${RECORD_WRITES:-1}
failed=0

cd "$top/build/linux/tools/perf" || exit
for name in record_daemon_kill record_daemon_symbols record_torn; do
	if PATH=$top/build/perf:$PATH "$top/scripts/vm.sh" -s 4 -m 3072 -t 7200 \
	   "tests/shell/$name.sh"; then
		echo "passed: $name"
	else
		echo "FAILED: $name"
		failed=$((failed + 1))
	fi
done
echo "$failed failed"
[ $failed = 0 ]
