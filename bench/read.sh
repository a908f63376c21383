#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The part of scripts/bench-read.sh that runs in the guest.
#
# usage: read.sh LOAD READ PERF ROUNDS
#
# Each CPU has buffers of 16 MiB: of a namespace, an ftrace instance, and a running perf
# record --overwrite, all full of raw_syscalls:sys_enter. Only the readers run while they
# are read. Prints lines of
#   ROUND WHAT BYTES NANOSECONDS
set -u

load=$(realpath "$1") read=$(realpath "$2") perf=$(realpath "$3") rounds=$4
tracing=/sys/kernel/tracing
instance=$tracing/instances/read
pages=4096
cpus=$(nproc)
event=raw_syscalls:sys_enter
cd /tmp || exit

die()
{
	echo "read.sh: $*" >&2
	exit 1
}

# Make more records than fit.
fill()
{
	local cpu pids=()

	echo 1 >$instance/tracing_on
	for ((cpu = 0; cpu < cpus; cpu++)); do
		taskset -c "$cpu" "$load" -r 300 getppid >/dev/null &
		pids+=($!)
	done
	wait "${pids[@]}"
	echo 0 >$instance/tracing_on
}

now()
{
	date +%s%N
}

read_memory() { "$read" memory $((cpus * pages * 4096)); }
read_namespace() { "$read" namespace read; }
read_ftrace() { "$read" file $instance/per_cpu/cpu*/trace_pipe_raw; }

# This and read_sigusr2() write a perf.data to memory.
read_perf-ctl()
{
	local start

	start=$(now)
	"$perf" ctl -r read -o ns.data >/tmp/log 2>&1 || { cat /tmp/log >&2; die 'perf ctl -r'; }
	echo "$(stat -c %s ns.data) $(($(now) - start))"
	rm ns.data
}

# Measure the time until perf record says that it has written the file.
read_sigusr2()
{
	local start before i

	before=$(grep -c 'Dump perf.data' record.log)
	start=$(now)
	kill -USR2 "$recorder"
	for ((i = 0; ; i++)); do
		[ "$(grep -c 'Dump perf.data' record.log)" = "$before" ] || break
		[ $i -lt 20000 ] || { cat record.log >&2; die 'perf record does not dump'; }
		sleep 0.001
	done
	echo "$(stat -c %s perf.data.*) $(($(now) - start))"
	rm perf.data.*
}

mkdir $instance
echo $((pages * 4)) >$instance/buffer_size_kb
echo 1 >$instance/events/raw_syscalls/sys_enter/enable
"$perf" record -q -P read -m $pages -e $event -a >/tmp/log 2>&1 ||
	{ cat /tmp/log >&2; die 'perf record -P'; }
"$perf" record --overwrite --switch-output=signal -m $pages -e $event -a >record.log 2>&1 &
recorder=$!

for ((round = 0; round <= rounds; round++)); do
	fill
	for what in memory namespace ftrace perf-ctl sigusr2; do
		result=$("read_$what") || exit
		# Skip the first round, as some things are done only once.
		[ $round = 0 ] || echo "$round $what $result"
	done
done
kill -INT $recorder
wait $recorder
"$perf" ctl -d read
