#!/bin/bash
# the oldest records are read, however many threads /proc has
# SPDX-License-Identifier: GPL-2.0
#
# perf opens a file for each thread that it finds in /proc. The namespace records these
# opens, so perf itself overwrites the buffer several times while it reads /proc. The
# records from before the command must be in the file each time.
#
# THREADS=20000 ROUNDS=20 takes long in an emulated guest, so the defaults are smaller.

# shellcheck disable=SC2154 # the library sets them
# shellcheck source=lib/persistent.sh
. "$(dirname "$0")"/lib/persistent.sh

threads=${THREADS:-3000}
rounds=${ROUNDS:-3}

persistent_require
require_numbers
type -P taskset > /dev/null || skip "no taskset"
python=$(type -P python3) || skip "no python3"

# A sample of an open has 96 bytes.
per_page=$(($(getconf PAGESIZE) / 96))
# As many pages as a quarter of the threads fill, but enough for the opens of a perf that
# starts, which are fewer than 500.
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

# The limits as they were before, each as "FILE VALUE"
limits=()

# raise FILE VALUE: raise a limit that is lower, until the test ends
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

# Each thread needs two mappings: a stack and a guard page.
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
	# grep ends when the python process exits, too.
	grep -q ready < "$tmp/ready" || {
		cat "$tmp/said"
		skip "no $threads threads"
	}
}

# Only CPU 0 has a buffer, so everything runs there.
on_first_cpu() {
	(taskset -pc 0 "$BASHPID" > /dev/null; "$@")
}

read_it() {
	on_first_cpu perf ctl -r "$ns" -o "$data"
}

# The last read of all threads has overwritten number N in the buffer, so another read misses it.
overwritten() {
	check "read again" read_it
	! is_in "$data" "$1"
}

raise_limits
start_threads
keep_numbers "$ns" -C 0 -m "$pages" -e syscalls:sys_enter_openat
# The first run loads perf and its libraries from the disk.
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
