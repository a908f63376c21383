#!/bin/bash
# what is oldest in the buffers is read, however many threads /proc has
# SPDX-License-Identifier: GPL-2.0
#
# perf opens a file for each thread that it finds in /proc. The namespace records that, so that
# perf itself overwrites the buffer several times while it looks. What a test wrote before
# the command has to be in the file each time.
#
# THREADS=20000 ROUNDS=20 takes long in an emulated guest; there is less by default.

# shellcheck disable=SC2154 # the library sets them
# shellcheck source=lib/persistent.sh
. "$(dirname "$0")"/lib/persistent.sh

threads=${THREADS:-3000}
rounds=${ROUNDS:-3}

persistent_require
require_numbers
type -P taskset > /dev/null || skip "no taskset"
python=$(type -P python3) || skip "no python3"

# A sample of an open takes 96 bytes.
per_page=$(($(getconf PAGESIZE) / 96))
# As many as a quarter of the threads fill; and more than those of a perf that starts, which
# are fewer than 500.
pages=16
while [ $((pages * 2 * per_page)) -le $((threads / 4)) ]; do
	pages=$((pages * 2))
done
[ $((pages * per_page * 2)) -le "$threads" ] || skip "too few THREADS to overwrite the buffer"

holder=
# shellcheck disable=SC2317 # at_end calls it
stop_threads() {
	[ -z "$holder" ] || kill "$holder" 2> /dev/null
}
at_end stop_threads

# What the limits were before, as "FILE VALUE"
limits=()

# raise FILE VALUE: where the limit is lower, until the test ends
raise() {
	local old

	old=$(cat "/proc/sys/$1") || return
	[ "$old" -lt "$2" ] || return
	limits+=("$1 $old")
	echo "$2" 2> /dev/null > "/proc/sys/$1" || echo "cannot raise $1 from $old to $2"
}

# shellcheck disable=SC2317 # at_end calls it
restore_limits() {
	local limit

	for limit in "${limits[@]}"; do
		echo "${limit#* }" 2> /dev/null > "/proc/sys/${limit% *}"
	done
}
at_end restore_limits

# A thread has a stack, and a page that guards it.
raise_limits() {
	raise kernel/threads-max $((threads + 10000))
	raise kernel/pid_max $((threads + 20000))
	raise vm/max_map_count $((threads * 2 + 10000))
	ulimit -u unlimited
}

start_threads() {
	mkfifo "$tmp/ready"
	"$python" -c '
import signal, sys, threading
threading.stack_size(64 << 10)
end = threading.Event()
for _ in range(int(sys.argv[1])):
    threading.Thread(target=end.wait, daemon=True).start()
print("ready", flush=True)
signal.pause()' "$threads" > "$tmp/ready" 2> "$tmp/said" &
	holder=$!
	# It ends with the process that writes.
	grep -q ready < "$tmp/ready" || {
		cat "$tmp/said"
		skip "no $threads threads"
	}
}

# All on the CPU whose buffer it is
on_first_cpu() {
	(taskset -pc 0 "$BASHPID" > /dev/null; "$@")
}

read_it() {
	on_first_cpu perf ctl -r "$ns" -o "$data"
}

# What reads these threads has overwritten the last number, and does not have it.
overwritten() {
	check "read again" read_it
	! is_in "$data" "$1"
}

raise_limits
start_threads
keep_numbers "$ns" -C 0 -m "$pages" -e syscalls:sys_enter_openat
# The files that perf and its libraries are in come from the disk the first time.
check "read once" read_it
found=0
for ((i = 1; i <= rounds; i++)); do
	on_first_cpu number "$i"
	check "read" read_it
	! is_in "$data" "$i" || found=$((found + 1))
done
same "numbers that are in the file" "$rounds" "$found"
check "the buffer is overwritten by now" overwritten "$rounds"
exit "$failed"
