#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Measure the cost of a record, compared with other recorders. See bench/README.md.
#
# usage: bench.sh [-c | -s | -S | -t | -p CONFIG ROW]
#
#   -c  only the cost of the recording path, compared with bench/stored.json
#   -s  the same, but store the result there
#   -S  only the cost of a snapshot
#   -t  measure time instead of instructions, in guests of four CPUs
#   -p  a profile of the instructions by function; CONFIG is none, ftrace, overwrite,
#       persistent, or plain for the unpatched kernel
#
# Environment:
#   BENCH_ROWS    what to record ("getppid pipe kprobe two filter chain clock")
#   BENCH_ROUNDS  with -t: how often each kernel is booted (5)

set -euo pipefail

top=$(realpath "$(dirname "$0")/..")
# shellcheck source=scripts/base-lib.sh
. "$top/scripts/base-lib.sh"
out=$base_build/bench
kernel=$base_build/kernel-bench
base=$base_build/kernel-bench-base
configs="$top/configs/vm.config $top/configs/bench.config"
snapshot=$base_build/kernel-snapshot
perf=$base_perf/perf
snapshot_configs="$configs $top/configs/snapshot.config"
rows=${BENCH_ROWS:-getppid pipe kprobe two filter chain clock}
load=$out/load
accel=icount

build_kernel()
{
	KERNEL=$1 CONFIGS=$2 "$top/scripts/build.sh" kernel
}

build_base()
{
	local linux=$base_build/linux-base

	if [ ! -e "$linux/Makefile" ]; then
		git -C "$base_build/linux" worktree prune
		git -C "$base_build/linux" worktree add -f -q --detach "$linux" base
	fi
	LINUX=$linux build_kernel "$base" "$configs"
}

# guest KERNEL CONFIGS [OPTIONS]: print the results of a guest
guest()
{
	local k=$1 configs=$2
	shift 2
	# shellcheck disable=SC2086 # a list
	env ${accel:+"VM_ACCEL=$accel"} VM_LOG="$out/vm.log" "$top/scripts/vm.sh" \
		-s "${cpus:-1}" -k "$k" -t 900 "$top/bench/guest.sh" \
		-l "$load" -p "$perf" "$@" "$configs" $rows
}

# Get the results of LTTng, if it is available for this kernel.
lttng()
{
	rm -f "$out/lttng" "$out/lttng-version"
	if ! KERNEL=$kernel "$top/scripts/lttng.sh" "$top/build/lttng" >&2; then
		echo 'bench: without LTTng' >&2
		return
	fi
	guest "$kernel" none,lttng -L "$top/build/lttng" >"$out/lttng.new"
	cp "$top/build/lttng/version" "$out/lttng-version"
	mv "$out/lttng.new" "$out/lttng"
}

# Measure the cost of a snapshot, on a kernel where ftrace can take snapshots, too.
snapshots()
{
	build_kernel "$snapshot" "$snapshot_configs" >&2
	VM_ACCEL=icount VM_LOG="$out/vm.log" "$top/scripts/vm.sh" -s 1 -k "$snapshot" -t 900 \
		"$top/bench/snapshot.sh" "$out/snapshot" "$load" "$perf"
}

about()
{
	local config=$kernel/.config

	printf '%s\n' "compiler $(gcc -dumpfullversion)" \
		"kernel $(sed -n 's/^# Linux\/x86 \([^ ]*\).*/\1/p' "$config")" \
		"optimization $(grep -q '^CONFIG_CC_OPTIMIZE_FOR_PERFORMANCE=y' "$config" && echo O2)" \
		"branches $(grep -q '^CONFIG_JUMP_LABEL=y' "$config" && echo patched || echo tested)" \
		"mitigations $(grep -q '^CONFIG_CPU_MITIGATIONS=y' "$config" && echo on || echo off)" \
		"debug $(grep -qE '^CONFIG_(KASAN|PROVE_LOCKING|DEBUG_PREEMPT|KCSAN|DEBUG_OBJECTS)=y' "$config" && echo on || echo none)"
}

case ${1-} in
'' | -p) ;;
-c | -s)
	if [ -n "$base_name" ]; then
		echo "bench: figures are stored for the usual base alone, not for $base_name" >&2
		exit 2
	fi
	;;
-S)
	kernel=$snapshot configs=$snapshot_configs
	;;
-t)
	# QEMU does not emulate well that code is patched while other CPUs run it: a guest
	# oopses now and then. So these kernels have no patched branches (JUMP_LABEL).
	kernel=$base_build/kernel
	base=$base_build/kernel-base
	configs=$top/configs/vm.config
	;;
*)
	sed -n '5,14s/^# \{0,1\}//p' "$0" >&2
	exit 2
	;;
esac
mkdir -p "$out"
build_kernel "$kernel" "$configs"
KERNEL=$kernel "$top/scripts/build.sh" bench

case ${1-} in
'')
	build_base
	about >"$out/about"
	guest "$kernel" none,ftrace,overwrite,persistent >"$out/ours"
	guest "$base" none,overwrite >"$out/base"
	rm -f "$out/snapshots"
	# LTTng's modules do not fit newer kernels, and the snapshot kernel takes long to build.
	if [ -z "$base_name" ]; then
		lttng
		snapshots >"$out/snapshots"
	fi
	"$top/bench/table.py" table "$out" "$base_build/bench.json"
	if [ -n "$base_name" ] && [ -e "$top/build/bench.json" ]; then
		"$top/bench/table.py" beside "$top/build/bench.json" "$base_build/bench.json"
	fi
	;;
-c | -s)
	about >"$out/about"
	guest "$kernel" none,overwrite,persistent >"$out/check"
	case $1 in
	-c) "$top/bench/table.py" check "$out" "$top/bench/stored.json" ;;
	-s) "$top/bench/table.py" store "$out" "$top/bench/stored.json" ;;
	esac
	;;
-S)
	snapshots >"$out/snapshots"
	"$top/bench/table.py" snapshots "$out"
	;;
-t)
	build_base
	# Use the accelerator that vm.sh finds, or the caller's VM_ACCEL
	accel='' cpus=4
	# No rows with timers: an emulated timer is late when the host is busy.
	rows=${BENCH_ROWS:-getppid pipe kprobe}
	: >"$out/times"
	for round in $(seq "${BENCH_ROUNDS:-5}"); do
		guest "$kernel" none,ftrace,overwrite,persistent -t |
			sed "s/^/$round ours /" >>"$out/times"
		guest "$base" none,overwrite -t | sed "s/^/$round base /" >>"$out/times"
	done
	"$top/bench/table.py" times "$out"
	;;
-p)
	config=${2:?} row=${3:?}
	unit=__x64_sys_getppid
	case $row in
	pipe | filter) unit=__x64_sys_write ;;
	clock) unit=perf_swevent_hrtimer ;;
	esac
	if [ "$config" = plain ]; then
		build_base
		kernel=$base config=overwrite
	fi
	VM_LOG=$out/vm.log "$top/bench/profile.py" --map "$kernel/System.map" --unit $unit \
		--json "$out/profile-$2-$row.json" -- \
		"$top/scripts/vm.sh" -s 1 -a nokaslr -k "$kernel" -t 300 \
		"$top/bench/guest.sh" -w -l "$load" -p "$perf" "$config" "$row"
	;;
esac
