#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The part of scripts/bench.sh that runs in the guest. hardware.sh uses it, too, to record.
#
# usage: guest.sh -l LOAD -p PERF [-L LTTNG] [-r ROUNDS] [-t | -e COUNTERS] [-w]
#                 CONFIG[,CONFIG...] ROW...
#
#   -l  the program load
#   -p  the perf to record with
#   -L  the directory that scripts/lttng.sh has made
#   -r  rounds of each load
#   -t  measure time instead of instructions
#   -e  measure these counters of the CPU with perf stat
#   -w  print READY and run the load forever, for the profile by function
#
# CONFIG is the recorder: none, ftrace (an instance), lttng (a snapshot session),
# overwrite (a running perf) or persistent (a namespace). Prints a line for each ROW that
# the recorder supports:
#   CONFIG ROW COST-OF-ONE-TIME LEAST LARGEST COUNTED NANOSECONDS BYTES-AN-EVENT
# or with -e
#   CONFIG ROW TIMES COUNTED... BYTES-AN-EVENT

set -u

load='' perf=perf lttng='' rounds=200 by_clock='' counters='' forever=0
while getopts l:p:L:r:te:w opt; do
	case $opt in
	l) load=$OPTARG ;;
	p) perf=$OPTARG ;;
	L) lttng=$(realpath "$OPTARG") ;;
	r) rounds=$OPTARG ;;
	t) by_clock=-t ;;
	e) counters=$OPTARG ;;
	w) forever=1 ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
IFS=, read -r -a configs <<<"$1"
shift

tracing=/sys/kernel/tracing
tmp=$(mktemp -d) || exit
data=$tmp/data log=$tmp/log
# What cleanup() has to stop: namespaces, processes, and the probe
names=() pids=() probe=''

# shellcheck disable=SC2317 # called by trap
cleanup()
{
	local instance

	[ ${#names[@]} -eq 0 ] || "$perf" ctl -d "${names[@]}" >/dev/null 2>&1
	[ ${#pids[@]} -eq 0 ] || kill "${pids[@]}" 2>/dev/null
	for instance in "$tracing"/instances/bench[01]; do
		[ ! -d "$instance" ] || rmdir "$instance"
	done
	[ -z "$probe" ] || echo "-:$probe" >>$tracing/kprobe_events
	rm -rf --one-file-system "$tmp"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

die()
{
	echo "guest.sh: $*" >&2
	exit 1
}

# row ROW: set the event, the number of recorders and the load. A round of the load is
# shorter than the time between two ticks.
row()
{
	event=raw_syscalls:sys_enter do=getppid times=1000
	filter='' chain='' recorders=1
	args=()
	case $1 in
	getppid)
		;;
	two)
		recorders=2 times=500
		;;
	chain)
		# Only chains of the kernel, as in ftrace and LTTng: they have a few
		# frames here.
		chain=1 times=300
		args=(-g --kernel-callchains)
		;;
	pipe)
		event=sched:sched_switch do=pipe times=50
		;;
	filter)
		event=sched:sched_switch do=pipe times=50
		# All events pass this filter.
		filter='prev_prio > 0'
		args=(--filter "$filter")
		;;
	kprobe)
		event=kprobes:bench times=500
		;;
	clock)
		# Every 100 us: a round has many samples, and also ticks.
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
		# A first run does all that is done only once.
		"$load" -n "$times" -r 5 "$do" >/dev/null
		echo READY >&2
		n=3 times=1000000000
	fi
	if [ -n "$counters" ]; then
		# Count on the CPU: counters of a task would make each switch more
		# expensive.
		taskset -c "$cpu" "$perf" stat -C "$cpu" -x ' ' -o "$tmp/stat" -e "$counters" \
			"$load" -n "$times" -r "$n" "$do" >/dev/null || die 'perf stat'
		# The load runs two more rounds before the ones that it measures.
		awk -v times=$((times * (n + 2))) '
			/^[0-9<]/ { line = line " " ($1 ~ /^</ ? "-" : $1) }
			END { print times line }' "$tmp/stat"
		return
	fi
	# shellcheck disable=SC2086 # nothing, or a word
	"$load" $by_clock -n "$times" -r "$n" "$do"
}

# While there is an event of a task, and for a second after the last one is closed, the
# kernel does more in each switch of tasks. perf ctl and perf stat open such events.
measure()
{
	[ "$do" != pipe ] || sleep 2
	result=$(run_load) || die "load $do"
}

# The bytes in the buffers for each event, from the perf.data of each recorder, to which
# perf writes the samples as they are in the buffers
sample_size()
{
	local i

	for ((i = 0; i < recorders; i++)); do
		"$perf" script -D -i "$data.$i" 2>/dev/null |
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
		END { print n ? sum / n : 0 }'
		rm -f "$data.$i"
	done | awk '{ sum += $1 } END { printf "%.1f\n", sum }'
}

# The same for namespaces, where perf writes larger samples than there are in the buffers
kept_size()
{
	local i

	for ((i = 0; i < recorders; i++)); do
		"$perf" ctl -l "bench$i" --json --contents >"$tmp/list" 2>"$log" || {
			cat "$log" >&2
			return 1
		}
		sed 's/[,{}]/\n/g' "$tmp/list" | awk '
		/"sideband":/ { sideband = /true/ }
		sideband { next }
		/"held_bytes":/ { bytes += $NF }
		/"records":/ { n += $NF }
		END { if (!n) exit 1; print bytes / n }' || return
	done >"$tmp/sizes" && awk '{ sum += $1 } END { printf "%.1f\n", sum }' "$tmp/sizes"
}

record_none()
{
	measure
	result+=' 0'
}

record_ftrace()
{
	local i instance

	case $event in
	*:*) ;;
	*) return ;;
	esac
	for ((i = 0; i < recorders; i++)); do
		instance=$tracing/instances/bench$i
		mkdir "$instance" || die 'no instance of ftrace'
		[ -z "$filter" ] || echo "$filter" >"$instance/events/${event/://}/filter"
		[ -z "$chain" ] || echo 1 >"$instance/options/stacktrace"
		echo 1 >"$instance/events/${event/://}/enable"
	done
	measure
	for instance in "$tracing"/instances/bench[01]; do
		echo 0 >"$instance/events/${event/://}/enable"
	done
	# The call chain is an entry of its own.
	result+=" $(cat $tracing/instances/bench[01]/per_cpu/cpu*/stats |
		awk -v of="$((recorders * (chain ? 2 : 1)))" '
		/^entries:/ { entries += $2 }
		/^bytes:/ { bytes += $2 }
		END { printf "%.1f\n", entries ? bytes / entries * of : 0 }')"
	rmdir $tracing/instances/bench[01]
}

run_lttng()
{
	LD_LIBRARY_PATH=$lttng/lib LTTNG_HOME=$tmp LTTNG_SESSION_CONFIG_XSD_PATH=$lttng/share \
		"$lttng/bin/$1" "${@:2}" >"$log" 2>&1 || { cat "$log" >&2; die "$*"; }
}

# The modules and the daemon of LTTng stay, so other recorders need another guest. The
# daemon looks for modules in /usr/lib, where the host has none: cover /usr/lib with a
# directory of links to all that is there, and to the modules. Do this only in a guest
# that cannot write to the host's files, and not below a directory that cleanup() removes.
start_lttng()
{
	local old=/run/lttng-old new=/run/lttng-new

	[ ! -e /proc/lttng ] || return
	grep -q '^root / 9p ro,' /proc/mounts || die 'LTTng is for the guest only'
	mkdir $old $new || die 'no /run'
	mount --bind /usr/lib $old || die 'no mount'
	ln -s $old/* $new/
	ln -sfn "$lttng/modules" $new/modules
	mount --bind $new /usr/lib || die 'no mount'
	run_lttng lttng-sessiond --daemonize --kmod-probes=sched \
		--consumerd64-path="$lttng/bin/lttng-consumerd"
	[ -e /proc/lttng ] || { cat "$log" >&2; die 'no modules of LTTng'; }
}

record_lttng()
{
	local i what

	case $event in
	# LTTng always records both the entry and the exit of a system call.
	raw_syscalls:*) what=(--syscall --all) ;;
	kprobes:*) what=(--probe=__x64_sys_getppid bench) ;;
	*:*) what=("${event#*:}") ;;
	*) return ;;
	esac
	[ -z "$filter" ] || what+=(--filter "$filter")
	start_lttng
	for ((i = 0; i < recorders; i++)); do
		run_lttng lttng create --snapshot bench$i
		run_lttng lttng enable-channel -k -s bench$i channel
		run_lttng lttng enable-event -k -s bench$i -c channel "${what[@]}"
		[ -z "$chain" ] ||
			run_lttng lttng add-context -k -s bench$i -c channel -t callstack-kernel
		run_lttng lttng start bench$i
	done
	measure
	result+=' 0'
	run_lttng lttng destroy --all
}

# perf record answers when it has opened its events.
record_overwrite()
{
	local i fd answer ctl=() ack=()

	pids=()
	for ((i = 0; i < recorders; i++)); do
		mkfifo "$tmp/ctl" "$tmp/ack"
		"$perf" record --overwrite -o "$data.$i" -D -1 --control "fifo:$tmp/ctl,$tmp/ack" \
			-e "$event" "${args[@]}" -a >"$log" 2>&1 &
		pids+=($!)
		exec {fd}>"$tmp/ctl"
		ctl+=("$fd")
		exec {fd}<"$tmp/ack"
		ack+=("$fd")
		rm -f "$tmp/ctl" "$tmp/ack"
		echo enable >&"${ctl[i]}"
		read -r answer <&"${ack[i]}" ||
			{ cat "$log" >&2; die "perf record does not answer"; }
		[ "$answer" = ack ] || die "perf record answers '$answer'"
	done
	measure
	for ((i = 0; i < recorders; i++)); do
		kill -INT "${pids[i]}"
		wait "${pids[i]}"
		fd=${ctl[i]}
		exec {fd}>&-
		fd=${ack[i]}
		exec {fd}<&-
	done
	pids=()
	result+=" $(sample_size)"
}

record_persistent()
{
	local i

	for ((i = 0; i < recorders; i++)); do
		"$perf" record -P bench$i -e "$event" "${args[@]}" -a >"$log" 2>&1 ||
			{ cat "$log" >&2; die "perf record -P"; }
		names+=("bench$i")
	done
	measure
	size=$(kept_size) || exit
	result+=" $size"
	"$perf" ctl -d "${names[@]}" >"$log" 2>&1 || { cat "$log" >&2; die "perf ctl -d"; }
	names=()
}

case " $* " in
*' kprobe '*)
	# All recorders use the same probe. With none it exists, but is not used.
	echo 'p:kprobes/bench __x64_sys_getppid' >>$tracing/kprobe_events || die 'no kprobe'
	probe=kprobes/bench
	;;
esac
# The CPU that the load stays on
cpu=$(awk '/^Cpus_allowed_list/ { sub(/.*[-,\t]/, ""); print }' /proc/self/status)

for config in "${configs[@]}"; do
	for row in "$@"; do
		row "$row"
		result=''
		"record_$config"
		[ -z "$result" ] || echo "$config $row $result"
	done
done
