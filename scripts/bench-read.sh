#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Measure how fast full buffers are read, compared with memcpy(), ftrace and the dumps of
# perf record: in time, as ratios. Also measure the time per record when perf merges up to
# 256 buffers, and the memory that perf needs on 4 and on 32 CPUs. See bench/README.md.
#
# usage: bench-read.sh
#
# Environment:
#   READ_ROUNDS  how often each of them reads, in turn (5)

set -euo pipefail

top=$(realpath "$(dirname "$0")/..")
out=$top/build/bench

mkdir -p "$out"
"$top/scripts/build.sh" bench
VM_LOG=$out/read.log "$top/scripts/vm.sh" -s 4 -m 3072 -t 1800 \
	"$top/bench/read.sh" "$out/load" "$out/read" "$top/build/perf/perf" \
	"${READ_ROUNDS:-5}" >"$out/read.times"
"$top/bench/read.py" "$out/read.times"

# merge WHERE RINGS [OPTION...]: print WHERE RINGS MIB RECORDS NS PEAK of the fastest round
merge()
{
	local where=$1 rings=$2 i
	shift 2
	for ((i = 0; i < ${READ_ROUNDS:-5}; i++)); do
		echo "$where $("$top/build/perf/perf" bench -f simple internals persistent-merge \
			-r "$rings" -m 16 "$@" | tail -n 1)"
	done | sort -k5,5n | head -n 1
}

printf '\n%s\n%-8s %8s %10s %12s %8s %10s\n' 'Merging buffers of 16 MiB by time, as perf ctl -r does' \
	copies buffers records 'ns a record' ratio 'peak, MiB'
for rings in 4 16 64 256; do
	merge memory $rings
	merge file $rings -d "$out"
done | sort -s -k1,1r | awk '
	$1 != last { last = $1; first = $5 }
	{ printf "%-8s %8d %10d %12.1f %8.2f %10.1f\n", $1, $2, $4, $5, $5 / first, $6 }'

printf '\n%s\n%-6s %-12s %10s %12s %10s\n' 'On CPUs of a guest, 1 MiB on each' \
	CPUs command samples 'file, MiB' 'peak, MiB'
for cpus in 4 32; do
	VM_LOG=$out/cpus.log "$top/scripts/vm.sh" -s $cpus -a cpuhp.parallel=off -m 3072 -t 1800 \
		"$top/bench/cpus.py" "$out/load" "$top/build/perf/perf"
done | awk '{ sub("-", " ", $2); printf "%-6d %-12s %10s %12s %10s\n", $1, $2, $3 ? $3 : "-", $4, $5 }'
