#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The part of scripts/bench.sh that runs in the guest.
#
# usage: guest.sh -l LOAD -p PERF [-r ROUNDS] [-t] [-w] CONFIG[,CONFIG...] ROW...
#
#   -l  the program load
#   -p  the perf to record with
#   -r  rounds of each load
#   -t  by the clock instead of by instructions
#   -w  do the load for ever, after READY, for the profile by function
#
# CONFIG is what records: none, ftrace (an instance), overwrite (a perf that is
# alive) or persistent (a namespace). Prints a line for each ROW:
#   CONFIG ROW COST-OF-ONE-TIME LEAST LARGEST COUNTED NANOSECONDS BYTES-AN-EVENT

set -u

load='' perf=perf rounds=200 by_clock='' forever=0
while getopts l:p:r:tw opt; do
	case $opt in
	l) load=$OPTARG ;;
	p) perf=$OPTARG ;;
	r) rounds=$OPTARG ;;
	t) by_clock=-t ;;
	w) forever=1 ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
IFS=, read -r -a configs <<<"$1"
shift

tracing=/sys/kernel/tracing
instance=$tracing/instances/bench
data=/tmp/bench.data

die()
{
	echo "guest.sh: $*" >&2
	exit 1
}

# What is recorded, and under which load. A round is shorter than the time from
# tick to tick.
row()
{
	args=() times=300
	case $1 in
	getppid)
		event=raw_syscalls:sys_enter do=getppid times=1000
		;;
	pipe)
		event=sched:sched_switch do=pipe times=50
		;;
	kprobe)
		event=kprobes:bench do=getppid times=500
		;;
	clock)
		# Every 100 us: a round has many of them, and the ticks, too.
		event=cpu-clock do=spin times=10000000
		args=(-c 100000 -g)
		;;
	*)
		die "no row '$1'"
		;;
	esac
}

run_load()
{
	local n=$rounds

	[ "$do" != spin ] || n=15
	if [ $forever = 1 ]; then
		# Once before: all that is done only once is over.
		"$load" -n "$times" -r 5 "$do" >/dev/null
		echo READY >&2
		n=3 times=1000000000
	fi
	# shellcheck disable=SC2086 # nothing, or a word
	"$load" $by_clock -n "$times" -r "$n" "$do"
}

# Bytes in the buffer for each sample, from perf.data.
sample_size()
{
	"$perf" script -D -i $data 2>/dev/null |
		awk -v hex="0123456789abcdef" '
		/PERF_RECORD_SAMPLE/ && match($0, /\[0x[0-9a-f]+\]: PERF_RECORD_SAMPLE/) {
			s = substr($0, RSTART + 3)
			sub(/\].*/, "", s)
			size = 0
			for (i = 1; i <= length(s); i++)
				size = size * 16 + index(hex, substr(s, i, 1)) - 1
			sum += size
			if (++n == 1000)
				exit
		}
		END { printf "%.1f\n", n ? sum / n : 0 }'
}

record_none()
{
	result="$(run_load) 0"
}

record_ftrace()
{
	local path=${event/://}

	case $event in
	*:*) ;;
	*) result=''; return ;;
	esac
	mkdir $instance
	echo 1 >"$instance/events/$path/enable"
	result=$(run_load)
	echo 0 >"$instance/events/$path/enable"
	result+=" $(cat $instance/per_cpu/cpu*/stats | awk '
		/^entries:/ { entries += $2 }
		/^bytes:/ { bytes += $2 }
		END { printf "%.1f\n", entries ? bytes / entries : 0 }')"
	rmdir $instance
}

# Ready when it has opened its events: then it has a line with READY on stderr.
record_overwrite()
{
	local pid i

	mkfifo /tmp/ctl /tmp/ack
	"$perf" record --overwrite -o $data -D -1 --control fifo:/tmp/ctl,/tmp/ack \
		-e "$event" "${args[@]}" -a >/tmp/record.log 2>&1 &
	pid=$!
	exec 5>/tmp/ctl 6</tmp/ack
	echo enable >&5
	read -r i <&6 || { cat /tmp/record.log >&2; die "perf record does not answer"; }
	[ "$i" = ack ] || die "perf record answers '$i'"
	result=$(run_load)
	kill -INT $pid
	wait $pid
	exec 5>&- 6<&-
	rm -f /tmp/ctl /tmp/ack
	result+=" $(sample_size)"
	rm -f $data
}

record_persistent()
{
	"$perf" record -P bench -e "$event" "${args[@]}" -a >/tmp/record.log 2>&1 ||
		{ cat /tmp/record.log >&2; die "perf record -P"; }
	result=$(run_load)
	"$perf" record -o $data -e persistent/bench/ -a -k >/tmp/record.log 2>&1 ||
		{ cat /tmp/record.log >&2; die "perf record -e persistent/bench/"; }
	result+=" $(sample_size)"
	rm -f $data
}

# The probe is the same for all, and there for none only when nobody uses it.
echo 'p:kprobes/bench __x64_sys_getppid' >>$tracing/kprobe_events || die 'no kprobe'

for config in "${configs[@]}"; do
	for row in "$@"; do
		row "$row"
		result=''
		"record_$config"
		[ -z "$result" ] || echo "$config $row $result"
	done
done
