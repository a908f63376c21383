#!/bin/bash
# namespaces are written in time order and short rounds, in little memory
# SPDX-License-Identifier: GPL-2.0

# shellcheck disable=SC2154 # the library sets them
# shellcheck source=lib/persistent.sh
. "$(dirname "$0")"/lib/persistent.sh

persistent_require
require_fill

cpus=$(getconf _NPROCESSORS_ONLN)
small=("${ns}_a" "${ns}_b" "${ns}_c")
large=()

# write_all NR: make NR writes on all CPUs at once; each makes a sample in each namespace
write_all() {
	local cpu

	for ((cpu = 0; cpu < cpus; cpu++)); do
		fill "$1" "$cpu" &
	done
	wait
}

# read_all NS...: set events[] to the options that read these namespaces
read_all() {
	local name

	events=()
	for name; do
		events+=(-e "persistent/$name/")
	done
}

# dump FILE: its records in the order of the file, not of time
dump() {
	perf report -D --disable-order -i "$1" 2> /dev/null | grep PERF_RECORD_
}

# times FILE: the times of the samples in the output of dump
times() {
	sed -n 's/^[0-9-]* \([0-9]*\) 0x[0-9a-f]* \[0x[0-9a-f]*\]: PERF_RECORD_SAMPLE.*/\1/p' "$1"
}

# in_order WHAT FILE: check that samples are sorted, with a round for each few MiB
in_order() {
	local size rounds

	dump "$2" > "$tmp/dump"
	times "$tmp/dump" > "$tmp/times"
	check "$1: samples" test -s "$tmp/times"
	check "$1: in the order of time" sort -n -c "$tmp/times"
	size=$(stat -c %s "$2")
	rounds=$(grep -c PERF_RECORD_FINISHED_ROUND "$tmp/dump")
	check "$1: $rounds rounds in $((size >> 10))K" test "$rounds" -gt $((size >> 22))
}

test_order() {
	local name nr=$((12000 / cpus))

	for name in "${small[@]}"; do
		check "create" perf record -P "$name" -m 2M -a \
		      -e "$fill_event" --filter "$fill_filter"
	done
	write_all "$nr"
	read_all "${small[@]}"

	perf record -q "${events[@]}" -o - > "$tmp/pipe" 2> /dev/null
	in_order "pipe" "$tmp/pipe"
	same "all samples" $((3 * cpus * nr)) "$(wc -l < "$tmp/times")"
	check "perf script of a pipe" sh -c "perf script -i - -F time < $tmp/pipe > $tmp/piped"
	same "samples" "$(wc -l < "$tmp/times")" "$(grep -c : "$tmp/piped")"

	perf record -q "${events[@]}" -o "$data"
	in_order "file" "$data"
	same "all samples" $((3 * cpus * nr)) "$(wc -l < "$tmp/times")"

	perf record -q "${events[@]}" -o "$data" --max-size 2M
	in_order "--max-size" "$data"
	check "it is not larger" test "$(stat -c %s "$data")" -le $((2 << 20))
	check "it is not much smaller" test "$(stat -c %s "$data")" -gt $((18 * (2 << 20) / 20))
}

# The limit of the memory in KiB: two of the buffers, and 64M
mib=8
limit=$(((2 * mib + 64) * 1024))

# Each write makes a sample of more than 32K in each namespace: a buffer cannot hold 280.
test_memory() {
	local nr_ns=$((14 / cpus + 1)) i name
	local stack="call-graph=dwarf,stack-size=32768"

	if [ "$(awk '/^MemAvailable/ { print int($2 / 1024) }' /proc/meminfo)" -lt \
	     $((4 * nr_ns * cpus * mib)) ]; then
		echo "less than $((4 * nr_ns * cpus * mib))M of memory: the peak is not tested"
		return
	fi

	for ((i = 0; i < nr_ns; i++)); do
		name=${ns}_large$i
		large+=("$name")
		check "create" perf record -P "$name" -m ${mib}M -a \
		      -e "$fill_event/$stack/" --filter "$fill_filter"
	done
	write_all 280
	check "stop" perf ctl --disable "${large[@]}"
	read_all "${large[@]}"
	test_memory_pipe
	test_memory_file
	test_no_room
}

# When perf only waits for the reader of the last bytes, its memory has reached the peak.
test_memory_pipe() {
	local size pid peak

	perf record -q "${events[@]}" -o - 2> /dev/null | wc -c > "$tmp/size"
	size=$(< "$tmp/size")
	check "it is more than that" test $((size / 1024)) -gt "$limit"

	mkfifo "$tmp/fifo"
	perf record -q "${events[@]}" -o - > "$tmp/fifo" 2> /dev/null &
	pid=$!
	exec 3< "$tmp/fifo"
	head -c $((size - (256 << 10))) <&3 > /dev/null
	peak=$(awk '/^VmHWM/ { print $2 }' "/proc/$pid/status")
	check "peak of ${peak}K into a pipe" test "$peak" -lt "$limit"
	cat <&3 > /dev/null
	exec 3<&-
	check "it ends well" wait "$pid"
}

# With a file, perf reads all samples again to find build ids.
test_memory_file() {
	local peak

	type -P python3 > /dev/null || { echo "no python3: a file is not tested"; return; }
	peak=$(python3 - perf record -q "${events[@]}" -o "$data" << 'END'
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
END
	)
	check "peak of ${peak}K into a file" test "$peak" -lt "$limit"
}

# samples COMMAND...: the number of samples that the command writes to its output
samples() {
	"$@" 2> "$tmp/said" | perf script -i - -F event 2> /dev/null | grep -c "$fill_event:"
}

# There is room for a copy of the first 32M only: nothing is missing, but it is not in order.
test_no_room() {
	local whole parts

	unshare -m true 2> /dev/null || { echo "no unshare: a full disk is not tested"; return; }
	whole=$(samples perf record -q "${events[@]}" -o -)
	check "there are samples" test "$whole" -gt 0
	# shellcheck disable=SC2016 # for the other shell
	parts=$(samples unshare -m sh -c 'for dir in /tmp /var/tmp; do
			mount -t tmpfs -o size=1M none $dir || exit; done
		TMPDIR= exec "$@"' sh perf record "${events[@]}" -o -)
	check "a warning" grep -q 'there was no space for a copy of all buffers' "$tmp/said"
	same "nothing is missing" "$whole" "$parts"

	# The directory of the output has room, and the output is not there yet.
	# shellcheck disable=SC2016 # for the other shell
	check "room beside the output" unshare -m sh -c 'mount -t tmpfs none /mnt || exit
		for dir in /tmp /var/tmp; do mount -t tmpfs -o size=1M none $dir || exit; done
		TMPDIR= "$@" && test -s /mnt/new' sh perf record "${events[@]}" -o /mnt/new
	same "warnings" 0 "$(grep -c 'there was no space for a copy' "$tmp/out")"

	# shellcheck disable=SC2016 # for the other shell
	refuse "--max-size without room" "A copy needs as much space as the buffers" \
		unshare -m sh -c 'for dir in /tmp /var/tmp; do
			mount -t tmpfs -o size=1M none $dir || exit; done
		TMPDIR= exec "$@"' sh perf record "${events[@]}" -o - --max-size 4M
}

test_order
check "delete" perf ctl -d "${small[@]}"
test_memory
exit "$failed"
