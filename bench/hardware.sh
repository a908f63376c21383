#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Measure the cost of a record on this machine, with the counters of its processor:
# without a recorder, with an ftrace instance, perf record --overwrite and a namespace,
# under the same loads. Run it as root on your own machine, with the kernel and perf of
# the series. Without counters, as in a guest, it measures time. It leaves nothing behind.
#
# usage: hardware.sh [-p PERF] [-r ROUNDS] [-n TIMES] [ROW...]
#
#   -p  the perf to use (perf)
#   -r  how often each recorder is measured, in turn; the median is printed (5)
#   -n  rounds of the load in each measurement, with 1000 system calls or 50 switches
#       there and back (1000)
#
# ROW is a row of bench/README.md that is not about time: getppid, pipe (the default is
# these two), kprobe, two, filter, chain.

set -euo pipefail

here=$(realpath "$(dirname "$0")")
perf=perf rounds=5 times=1000
while getopts p:r:n: opt; do
	case $opt in
	p) perf=$OPTARG ;;
	r) rounds=$OPTARG ;;
	n) times=$OPTARG ;;
	*)
		sed -n '8,13s/^# \{0,1\}//p' "$0" >&2
		exit 2
		;;
	esac
done
shift $((OPTIND - 1))
rows=("$@")
[ $# -gt 0 ] || rows=(getppid pipe)

say()
{
	echo "hardware.sh: $*" >&2
}

if [ "$(id -u)" -ne 0 ]; then
	say 'has to be run by root'
	exit 1
fi
perf=$(command -v "$perf") || { say "there is no $perf"; exit 1; }
perf=$(realpath "$perf")
if ! grep -qs ' /sys/kernel/tracing tracefs' /proc/mounts; then
	say "mount tracefs first: mount -t tracefs tracefs /sys/kernel/tracing"
	exit 1
fi

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
gcc -O2 -fno-omit-frame-pointer -fno-optimize-sibling-calls -o "$tmp/load" "$here/load.c"

configs=none,ftrace,overwrite
if [ -e /sys/bus/event_source/devices/persistent ]; then
	configs+=,persistent
else
	say 'this kernel keeps no events (CONFIG_PERF_EVENTS_PERSISTENT): no namespace'
fi

# Find the counters that this processor has.
counters=()
for counter in cycles instructions cache-misses; do
	if "$perf" stat -x ' ' -o "$tmp/stat" -e $counter -a true 2>/dev/null &&
	   ! grep -q '^<not' "$tmp/stat"; then
		counters+=("$counter")
	else
		say "this machine has no counter of $counter"
	fi
done
if [ ${#counters[@]} -eq 0 ]; then
	say 'it has no PMU that perf can use: nanoseconds instead, which only say what comes first'
	counters=(cpu-clock)
fi

for ((i = 0; i < rounds; i++)); do
	for row in "${rows[@]}"; do
		"$here/guest.sh" -l "$tmp/load" -p "$perf" -r "$times" \
			-e "$(IFS=,; echo "${counters[*]}")" "$configs" "$row"
	done
done >"$tmp/counted"

processor=$(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -n 1)
echo "$(uname -m), Linux $(uname -r), $processor"
echo 'An event: of nothing what the load itself takes, of others what they add'
"$here/table.py" hardware "$tmp/counted" "${counters[@]}"
