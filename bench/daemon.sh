#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The part of scripts/bench-daemon.sh that runs in the guest.
#
# usage: daemon.sh DAEMON PERF DUMPS TASKS OUT
#
# Writes the files of perf record --daemon to OUT/MODE.N. MODE is
#   live   perf copies memory while the kernel writes to it
#   pause  perf lacks the capability for that, so recording pauses for the copy
#   none   nobody asks for a file, until the end
# perf has CPU 0 for itself, and system calls keep the other CPUs busy.
#
# OUT/tasks has the results of running TASKS short tasks, see daemon.py.
set -u -o pipefail

daemon=$(realpath "$1") perf=$(realpath "$2") dumps=$3 tasks=$4 out=$5
mkdir -p "$out" /tmp/daemon && cd /tmp/daemon || exit
log=perf.data.log
writers=()

die()
{
	echo "daemon.sh: $*" >&2
	cat said "$log" >&2
	exit 1
}

# until_there COMMAND...: try COMMAND until it succeeds, for a minute
until_there()
{
	local i

	for ((i = 0; i < 3000; i++)); do
		! "$@" || return 0
		sleep 0.02
	done
	die "not seen: $*"
}

wrote()
{
	[ "$(grep -c 'wrote ' "$log")" -ge "$1" ]
}

# start SAYS COMMAND...: start a daemon with COMMAND, which must print SAYS
start()
{
	local says=$1

	shift
	rm -f perf.data*
	taskset -c 0 "$@" >said 2>&1 || die "start"
	grep -q "$says" said || die "it does not say '$says'"
	pid=$(<pid)
}

stop()
{
	kill "$pid"
	until_there test ! -e pid
}

# record MODE SAYS DUMPS [COMMAND...]: record with a perf that COMMAND runs
record()
{
	local mode=$1 says=$2 dumps=$3 filter='' cpu i

	shift 3
	for ((cpu = 1; cpu < cpus; cpu++)); do
		"$daemon" "$cpu" &
		writers+=($!)
		filter+=${filter:+ || }"common_pid == $!"
	done
	start "$says" "$@" "$perf" record -o perf.data --daemon --pid-file pid -a \
		-M "$((8 * cpus))M" -e raw_syscalls:sys_enter --filter "$filter"
	# Wait until memory is full
	sleep 4
	for ((i = 1; i <= dumps; i++)); do
		kill -USR1 "$pid"
		until_there wrote "$i"
	done
	kill "${writers[@]}"
	wait "${writers[@]}" 2>/dev/null
	writers=()
	stop
	i=0
	for file in perf.data.sample.*; do
		cp "$file" "$out/$mode.$((++i))" || die "copy $file"
	done
	echo "$mode: $i files" >&2
}

aux_size()
{
	stat -c %s perf.data.auxiliary
}

# Run the tasks with little memory, so that perf rewrites the auxiliary file several times.
run_tasks()
{
	start 'is written on' "$perf" record -o perf.data --daemon --pid-file pid -a \
		-M "$((256 * cpus))K" -e syscalls:sys_enter_kill
	sleep 1
	{
		echo "tasks $tasks"
		echo "size $(aux_size)"
		# This counts all threads of perf, including those that end.
		"$perf" stat -e task-clock -x, -o stat -p "$pid" \
			"$daemon" tasks "$tasks" /bin/true || die "tasks"
		awk -F, '/task-clock/ { print "cpu", $1 * 1000000 }' stat
		sleep 1
		echo "size $(aux_size)"
		sed -n 's/.*perf record: \([0-9]*\) of \([0-9]*\) bytes in .* were still of use.*/trim \2 \1/p' \
			"$log"
	} >"$out/tasks"
	stop
}

cpus=$(nproc)
[ "$cpus" -gt 1 ] || die "one CPU"
echo -1 >/proc/sys/kernel/perf_event_paranoid

run_tasks
record none 'recording goes on' 1
record live 'recording goes on' $((dumps + 1))
record pause 'has no CAP_PERFMON' $((dumps + 1)) \
	setpriv --bounding-set -perfmon,-sys_admin --inh-caps -perfmon,-sys_admin
