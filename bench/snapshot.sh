#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The part of scripts/bench.sh about snapshots that runs in the guest.
#
# usage: snapshot.sh SNAPSHOT LOAD PERF
#
# Compares snapshots of a namespace, of one with spare buffers, of an ftrace instance, and
# of a running perf record --overwrite, each of 1 MiB, with no snapshot. Prints lines of
#   cost WHAT [output of SNAPSHOT]           buffers full of system calls, no timer
#   timer WHAT RECORDS [output of SNAPSHOT]  records of interrupts every 20 us
set -u -o pipefail

snapshot=$(realpath "$1") load=$(realpath "$2") perf=$(realpath "$3")
tracing=/sys/kernel/tracing
instance=$tracing/instances/snapshot
# Record only the timer of SNAPSHOT.
timer=timer:hrtimer_expire_entry
function=$(awk '$3 == "perf_swevent_hrtimer" { print "0x" $1 }' /proc/kallsyms)
pages=256
mkdir /tmp/snapshot && cd /tmp/snapshot || exit

die()
{
	echo "snapshot.sh: $*" >&2
	cat log >&2
	exit 1
}

# start_HOW, stop_HOW, and records_HOW, which prints the number of all records. start_HOW
# sets args[] to the arguments of SNAPSHOT.
start_nothing() { args=(nothing); }
stop_nothing() { :; }
records_nothing() { echo 0; }

start_namespace()
{
	"$perf" record -q -P bench -m $pages -e "$event" \
		--filter "$filter" -a >log 2>&1 || die 'record -P'
	args=(namespace bench)
}

stop_namespace()
{
	"$perf" ctl -d bench "bench.*" >log 2>&1 || die 'ctl -d'
}

records_namespace()
{
	local name

	for name in bench $(cd /sys/bus/event_source/devices/persistent/events && ls -d bench.*); do
		"$perf" record -q -o data -e "persistent/$name/" >log 2>&1 || die "record -e persistent/$name/"
		"$perf" script -F event -i data 2>>log || die 'script'
	done | wc -l
}

start_spare()
{
	start_namespace
	args=(spare bench)
}

stop_spare() { stop_namespace; }
records_spare() { records_namespace; }

start_ftrace()
{
	mkdir $instance
	echo $((pages * 4)) >$instance/buffer_size_kb
	echo "$filter" >"$instance/events/${event/://}/filter"
	echo 1 >"$instance/events/${event/://}/enable"
	# Allocate the snapshot buffer here, so that all measured snapshots are alike.
	echo 1 >$instance/snapshot
	args=(file "$instance/snapshot")
}

stop_ftrace()
{
	echo 0 >"$instance/events/${event/://}/enable"
	rmdir $instance
}

# A record that is swapped out comes back with the next snapshot, so count each one once.
records_ftrace()
{
	cat $instance/trace >>entries
	awk '!/^#/ { print $4 }' entries | sort -u | wc -l
}

start_dump()
{
	mkfifo said
	"$perf" record --overwrite --switch-output=signal -o dump -m $pages -e "$event" \
		--filter "$filter" -a >/dev/null 2>said &
	recorder=$!
	exec 5<>said
	# Wait until it has opened its events and handles the signal.
	while [ "$(awk '{ print $3 }' /proc/$recorder/stat)" != S ] ||
	      ! grep -q perf_event /proc/$recorder/maps; do
		kill -0 "$recorder" || die 'perf record'
	done
	args=(dump "$recorder" said)
}

stop_dump()
{
	kill -INT "$recorder" 2>log
	wait "$recorder"
	exec 5<&-
	rm -f said dump*
}

records_dump()
{
	local file

	kill -INT "$recorder" 2>log
	wait "$recorder"
	for file in dump.*; do
		"$perf" script -F event -i "$file" 2>>log || die 'script'
	done | wc -l
}

for how in nothing namespace spare ftrace dump; do
	event=raw_syscalls:sys_enter filter='id >= 0'
	start_$how
	fill="$load -n 30000 -r 1 getppid >/dev/null"
	sh -c "$fill"
	said=$("$snapshot" -r 30 -x "$fill" "${args[@]}" 5<&-) || die "$how"
	echo "cost $how $said"
	stop_$how

	event=$timer filter="function == $function"
	start_$how
	after=true
	[ $how != ftrace ] || after="cat $instance/snapshot >>entries"
	said=$("$snapshot" -g 20000 -k 100 -r 30 -x "$after" "${args[@]}" 5<&-) || die "$how"
	records=$(records_$how) || die "records of $how"
	echo "timer $how $records $said"
	stop_$how
done
