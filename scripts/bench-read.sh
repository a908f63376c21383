#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# How fast full buffers are read, beside memcpy(), ftrace and perf record that is
# told to dump: by the clock, as ratios. See bench/README.md.
#
# usage: bench-read.sh
#
# Environment:
#   READ_ROUNDS  how often each reads, in turn (5)

set -euo pipefail

top=$(realpath "$(dirname "$0")/..")
out=$top/build/bench

mkdir -p "$out"
gcc -O2 -Wall -o "$out/load" "$top/bench/load.c"
gcc -O2 -Wall -isystem "$KERNEL/usr/include" -o "$out/read" "$top/bench/read.c"
VM_LOG=$out/read.log "$top/scripts/vm.sh" -s 4 -m 3072 -t 1800 \
	"$top/bench/read.sh" "$out/load" "$out/read" "$top/build/perf/perf" \
	"${READ_ROUNDS:-5}" >"$out/read.times"
"$top/bench/read.py" "$out/read.times"
