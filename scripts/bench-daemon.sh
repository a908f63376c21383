#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Measure what perf record --daemon loses while it writes a file, and for how long it
# delays the recorded tasks: with an unnamed namespace, and with overwrite buffers that
# pause. Also measure the cost of recording the names of many short tasks. See
# bench/README.md.
#
# usage: bench-daemon.sh
#
# Environment:
#   DAEMON_DUMPS  files of each kind (5)
#   DAEMON_TASKS  short tasks (3000)

set -euo pipefail

top=$(realpath "$(dirname "$0")/..")
out=$top/build/bench
dumps=${DAEMON_DUMPS:-5}
tasks=${DAEMON_TASKS:-3000}

mkdir -p "$out"
"$top/scripts/build.sh" bench
rm -rf "$top/build/out/daemon"
# With icount, a nanosecond is an instruction, however busy this machine is.
VM_ACCEL=icount VM_LOG=$out/daemon.log "$top/scripts/vm.sh" -s 2 -m 2048 -t 3600 \
	"$top/bench/daemon.sh" "$out/daemon" "$top/build/perf/perf" "$dumps" "$tasks" \
	/tmp/out/daemon
"$top/bench/daemon.py" "$top/build/perf/perf" "$top/build/out/daemon"
rm -rf "$top/build/out/daemon"
