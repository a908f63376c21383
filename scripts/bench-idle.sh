#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Measure what a recorder costs while nobody reads it: tasks, wake-ups, switches, CPU time,
# work items, irq_work. Fails if a namespace has any of these. See bench/README.md.
#
# usage: bench-idle.sh
#
# Environment:
#   IDLE_SECONDS  for how long each recorder is watched (60)

set -euo pipefail

top=$(realpath "$(dirname "$0")/..")
out=$top/build/bench
seconds=${IDLE_SECONDS:-60}

mkdir -p "$out"
"$top/scripts/build.sh" bench
VM_LOG=$out/idle.log "$top/scripts/vm.sh" -s 4 -m 3072 -t $((seconds * 20 + 600)) \
	"$top/bench/idle.sh" "$out/load" "$top/build/perf/perf" "$seconds" \
	none persistent overwrite daemon >"$out/idle"
"$top/bench/idle.py" "$out/idle" "$seconds"
