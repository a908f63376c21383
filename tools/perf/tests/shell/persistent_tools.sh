#!/bin/bash
# perf trace, timechart, sched and scripts work with files of namespaces
# SPDX-License-Identifier: GPL-2.0

# shellcheck disable=SC2154 # the library sets them
# shellcheck source=lib/persistent.sh
. "$(dirname "$0")"/lib/persistent.sh

persistent_require

# The name of the marker as the kernel cuts it
comm=$(basename "$marker" | cut -c 1-15)

# read_file OPTION...: record a run of the marker with these events, and read it into $data
read_file() {
	check "create: $*" perf record -P "$ns" -a -m 512 "$@"
	mark 1
	check "read" perf record -e "persistent/$ns/" -o "$data" -k
}

test_trace() {
	if [ ! -d /sys/kernel/tracing/events/raw_syscalls ]; then
		echo "no raw_syscalls: perf trace is not tested"
		return
	fi
	read_file -e raw_syscalls:sys_enter -e raw_syscalls:sys_exit
	check "perf trace" perf trace -i "$data"
	says "the last call of the marker" " $comm/[0-9].* exit_group("
	check "perf trace -s" perf trace -s -i "$data"
	says "the marker" "^ $comm ([0-9]*), [0-9]* events"
}

test_sched() {
	read_file -e sched:sched_switch -e sched:sched_wakeup -e "$exec_event" \
		  -e sched:sched_process_exit
	check "perf timechart" perf timechart -i "$data" -o "$tmp/chart.svg"
	check "a picture" grep -q "</svg>" "$tmp/chart.svg"
	check "perf sched latency" perf sched latency -i "$data"
	says "tasks" "perf.*:"
	check "perf sched timehist" perf sched timehist -i "$data"
	says "the marker" " $comm\["
}

test_scripts() {
	local dir

	dir=$(dirname "$0")/../../scripts/python
	if ! perf check feature -q libpython || ! [ -e "$dir/flamegraph.py" ]; then
		echo "no scripts in Python: not tested"
		return
	fi
	# The scripts find their common modules there.
	PERF_EXEC_PATH=$(realpath "$dir/../..")
	export PERF_EXEC_PATH
	read_file -e page-faults -c 1 -g
	check "flamegraph" perf script -i "$data" -s "$dir/flamegraph.py" -- \
	      --format json -o "$tmp/flames.json"
	check "the marker burns" grep -q "$comm" "$tmp/flames.json"
	check "gecko" perf script -i "$data" -s "$dir/gecko.py" -- --save-only "$tmp/gecko.json"
	check "the marker is in there" grep -q "$comm" "$tmp/gecko.json"

	# perf script report NAME reads perf.data, or a pipe on stdin.
	check "report gecko" sh -c "cd $tmp && perf script report gecko --save-only report.json < /dev/null"
	check "the same" cmp "$tmp/gecko.json" "$tmp/report.json"
	check "create" perf record -P "$ns" -a -m 512 -e page-faults -c 1 -g
	mark 1
	check "report stackcollapse" sh -c "perf ctl -r $ns -o - |
		perf script report stackcollapse > $tmp/stacks"
	check "the marker is there" grep -q "^$comm;" "$tmp/stacks"
	check "delete" perf ctl -d "$ns"
}

test_trace
test_sched
test_scripts
exit "$failed"
