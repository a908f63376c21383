#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The part of scripts/bench-idle.sh that runs in the guest.
#
# usage: idle.sh LOAD PERF SECONDS CONFIG...
#
# CONFIG is the recorder: none, persistent (a namespace, its creator has exited),
# overwrite (perf record --overwrite) or daemon (the same under perf daemon). Prints
# these lines, each after CONFIG:
#   task NAME NUMBER WAKEUPS SWITCHES NANOSECONDS   tasks of the recorder
#   work FUNCTION TIMES     work items that ran, by function
#   count switches TIMES    context switches of the whole system
#   count wakeup TIMES      calls of perf_event_wakeup() by irq_work
#   count bytes NUMBER      bytes that were written to the buffers
set -u

load=$(realpath "$1") perf=$(realpath "$2") seconds=$3
shift 3
tracing=/sys/kernel/tracing
# Watch with a separate ftrace instance, so that this is not recorded.
watch=$tracing/instances/idle
works=$watch/events/workqueue/workqueue_execute_start
events=(raw_syscalls:sys_enter sched:sched_switch sched:sched_wakeup
	sched:sched_process_fork sched:sched_process_exec sched:sched_process_exit
	irq:softirq_entry timer:timer_start cpu-clock/freq=99/ page-faults)
list=$(IFS=,; echo "${events[*]}")
daemon_base=/tmp/daemon

die()
{
	echo "idle.sh: $*" >&2
	exit 1
}

tasks()
{
	local dir

	for dir in /proc/[0-9]*/task/[0-9]*; do
		echo "${dir##*/}"
	done | sort
}

# stats TID...: TID NAME WAKEUPS SWITCHES NANOSECONDS of each task
stats()
{
	local tid dir

	for tid; do
		dir=/proc/$tid
		[ -e "$dir" ] || dir=$(echo /proc/[0-9]*/task/"$tid")
		[ -e "$dir/sched" ] || continue
		echo "$tid $(tr ' ' _ <"$dir/comm") $(awk '
			$1 == "nr_wakeups" { wakeups = $3 }
			$1 == "nr_switches" { switches = $3 }
			END { print wakeups + 0, switches + 0 }' "$dir/sched") $(
			cut -d' ' -f1 "$dir/schedstat")"
	done
}

# A new histogram starts empty.
hist()
{
	echo "$1:keys=function.sym" >$works/trigger || die 'no histogram'
}

all_wakeups()
{
	awk '$1 == "idle_wakeup" { print $2 + $3 }' $tracing/kprobe_profile
}

all_switches()
{
	awk '$1 == "ctxt" { print $2 }' /proc/stat
}

start_none() { :; }
stop_none() { :; }

start_persistent()
{
	"$perf" record -q -P idle -m 256 -e "$list" -a >/tmp/log 2>&1 ||
		{ cat /tmp/log >&2; die "perf record -P"; }
}

stop_persistent()
{
	"$perf" ctl -d idle || die "perf ctl -d"
}

start_overwrite()
{
	(cd /tmp && exec "$perf" record -q --overwrite --switch-output=signal -m 256 \
		-e "$list" -a) >/tmp/log 2>&1 &
	recorder=$!
}

stop_overwrite()
{
	kill -INT "$recorder"
	wait "$recorder"
	rm -f /tmp/perf.data*
}

start_daemon()
{
	mkdir -p $daemon_base
	cat >/tmp/daemon.config <<-END
		[daemon]
		base=$daemon_base
		[session-idle]
		run = -q --overwrite --switch-output=signal -m 256 -e $list -a
	END
	"$perf" daemon --config /tmp/daemon.config start -f >/tmp/log 2>&1 &
	recorder=$!
}

stop_daemon()
{
	"$perf" daemon --config /tmp/daemon.config stop >/tmp/log 2>&1
	wait "$recorder"
	rm -rf $daemon_base
}

# running CONFIG: check that the recorder is running
running()
{
	case $1 in
	none) return ;;
	persistent) [ -n "$("$perf" ctl -l idle 2>/dev/null)" ] ;;
	overwrite) kill -0 "$recorder" ;;
	daemon) "$perf" daemon --config /tmp/daemon.config ping | grep -q '^OK' ;;
	esac || { cat /tmp/log >&2; die "$1 does not record"; }
}

measure()
{
	local config=$1 before after new

	before=$(tasks)
	"start_$config"
	# Wait until it has opened and mapped all it needs.
	sleep 5
	running "$config"
	after=$(tasks)
	# Kernel workers come and go; their work is counted below.
	mapfile -t new < <(comm -13 <(echo "$before") <(echo "$after"))
	mapfile -t new < <(for tid in "${new[@]}"; do
		case $(cat "/proc/$tid/comm" 2>/dev/null) in
		'' | kworker/* | bash | idle.sh | sleep | load) ;;
		*) echo "$tid" ;;
		esac
	done)

	hist hist
	switches=$(all_switches) wakes=$(all_wakeups)
	stats "${new[@]}" >/tmp/before
	sleep "$seconds"
	stats "${new[@]}" >/tmp/after
	echo "$config count switches $(($(all_switches) - switches))"
	echo "$config count wakeup $(($(all_wakeups) - wakes))"
	cp $works/hist /tmp/works
	hist '!hist'

	join /tmp/before /tmp/after | awk -v c="$config" '{
		name = $6; n[name]++; w[name] += $7 - $3; s[name] += $8 - $4; t[name] += $9 - $5
	} END { for (i in n) printf "%s task %s %d %d %d %d\n", c, i, n[i], w[i], s[i], t[i] }'
	sed -n 's/^{ function: \[[0-9a-f]*\] \([^ ]*\) *} hitcount: *\([0-9]*\).*/\1 \2/p' \
		/tmp/works | sed "s/^/$config work /"
	[ "$config" != persistent ] ||
		echo "$config count bytes $("$perf" ctl -l idle --json |
			grep -o '"written_bytes": [0-9]*' |
			awk '{ n += $2 } END { printf "%d\n", n }')"
	"stop_$config"
	sleep 3
}

echo 'p:kprobes/idle_wakeup perf_event_wakeup' >>$tracing/kprobe_events || die 'no kprobe'
mkdir $watch
# The probe stays on all the time, so that no code is patched while others run it.
echo 1 >$watch/events/kprobes/idle_wakeup/enable
# Without this, /proc/PID/sched has no wake-ups.
echo 1 >/proc/sys/kernel/sched_schedstats

# Load the system with system calls, switches, and programs that come and go.
again()
{
	while :; do
		"$@" >/dev/null
	done
}
again "$load" -r 10000 getppid &
loads=$!
again "$load" -r 10000 pipe &
loads+=" $!"
again sleep 0.05 &
loads+=" $!"

for config; do
	measure "$config"
done
# shellcheck disable=SC2086 # a list
kill $loads
