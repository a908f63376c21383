#!/bin/bash
# many readers read a namespace repeatedly while it is written
# SPDX-License-Identifier: GPL-2.0

# shellcheck disable=SC2154 # the library sets them
# shellcheck source=lib/persistent.sh
. "$(dirname "$0")"/lib/persistent.sh

persistent_require

# The namespace outlives the shell that created it.
test_creator_killed() {
	sh -c "perf record -P $ns -e $exec_event -e cpu-clock/freq=99,name=clock/ -g -m 1024 -a;
	       echo made; exec sleep 1000" > "$tmp/creator" 2>&1 &
	creator=$!
	for _ in $(seq 300); do
		grep -q made "$tmp/creator" && break
		sleep 0.1
	done
	kill -9 "$creator"
	wait "$creator" 2> /dev/null
	check "it outlives its creator" exists "$ns"
}

test_two_readers() {
	local one two

	mark 20
	perf record -e "persistent/$ns/" -o "$data.1" > "$tmp/out.1" 2>&1 &
	one=$!
	perf record -e "persistent/$ns/" -o "$data.2" > "$tmp/out.2" 2>&1 &
	two=$!
	check "one reader" wait "$one"
	check "another at the same time" wait "$two"
	same "execs seen by one" 20 "$(marks "$data.1")"
	same "execs seen by the other" 20 "$(marks "$data.2")"
}

# The file has all records from before and during the command, none twice.
test_command() {
	check "read with a command" \
	      perf record -e "persistent/$ns/" -o "$data" -k \
	      sh -c "perf test -w noploop; for i in 1 2 3 4 5; do $marker; done"
	perf script -i "$data" -F comm,pid,cpu,time,event,trace,ip,sym > "$tmp/script" 2> "$tmp/said"
	same "execs" 25 "$(grep -c "sched_process_exec: filename=$marker " "$tmp/script")"
	same "execs twice" "" "$(grep "filename=$marker " "$tmp/script" | sort | uniq -d)"
	grep -o ' [0-9]*\.[0-9]*: ' "$tmp/script" > "$tmp/times"
	check "they have times" test "$(wc -l < "$tmp/times")" -ge 25
	check "in the order of time" sort -C -g "$tmp/times"
	same "records in the wrong round" "" "$(grep -i 'out of order' "$tmp/said")"
}

# Samples of a process that has exited have its name and the names of its functions.
test_dead_process() {
	# Newer versions of perf call the workload perf-noploop.
	awk '/^ *[^ ]/ && !/^\t/ { comm = $1; sub(/-noploop$/, "", comm) }
	     / noploop$/ { print comm }' "$tmp/script" | sort -u > "$tmp/comms"
	same "who ran a function of a dead process" perf "$(cat "$tmp/comms")"
	check "the name of a short one" grep -q "^ *${marker##*/} .*$exec_event" "$tmp/script"
}

# perf raises its limit of open files if there are many events, but not that of the command.
test_limit() {
	local events="" limit i

	for ((i = 0; i < 100; i++)); do
		events+=,$exec_event
	done
	check "create" perf record -P "$ns" -e "${events#,}" -C 0
	limit="ulimit -Sn 60; perf"
	check "read with a command" sh -c \
	      "$limit record -e persistent/$ns/ -o '$data' sh -c 'ulimit -Sn > $tmp/limit'"
	same "its limit of open files" 60 "$(cat "$tmp/limit")"
	check "count with a command" sh -c \
	      "$limit stat -e persistent/$ns/ sh -c 'ulimit -Sn > $tmp/limit'"
	same "its limit of open files" 60 "$(cat "$tmp/limit")"
	check "delete" perf ctl -d "$ns"
}

build_ids() {
	perf buildid-list -i "$data" | sort
}

# The build ids of programs in the samples are in the file, also if it is compressed.
test_build_ids() {
	local ids options

	check "create" perf record -P "$ns" -e cpu-clock -C 0 -m 1024
	taskset -c 0 perf test -w noploop 2> /dev/null
	check "read" perf record -e "persistent/$ns/" -o "$data" -C 0
	ids=$(build_ids | grep perf)
	check "there are build ids" test "$ids"
	for options in --buildid-mmap -z; do
		if [ $options = -z ] && ! perf version --build-options | grep -q 'zstd: .*on'; then
			continue
		fi
		check "read with $options" perf record $options -e "persistent/$ns/" -o "$data"
		same "build ids with $options" "$ids" "$(build_ids | grep perf)"
	done
	check "delete" perf ctl -d "$ns"
}

test_creator_killed
test_two_readers
test_command
test_dead_process
test_limit
test_build_ids
exit "$failed"
