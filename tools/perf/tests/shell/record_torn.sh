#!/bin/bash
# perf record --daemon writes no torn records while all CPUs are busy
# SPDX-License-Identifier: GPL-2.0
#
# RECORD_DUMPS sets the number of files.

# shellcheck disable=SC2154 # the libraries set them
# shellcheck source=lib/persistent.sh
. "$(dirname "$0")"/lib/persistent.sh
# shellcheck source=lib/record_daemon.sh
. "$(dirname "$0")"/lib/record_daemon.sh
# shellcheck source=lib/numbered_writers.sh
. "$(dirname "$0")"/lib/numbered_writers.sh

dumps=${RECORD_DUMPS:-50}
each=$((128 << 10))
kernel_maps=

# wrote N: true if at least N files are written
wrote() {
	[ "$(grep -c 'wrote ' "$log")" -ge "$1" ]
}

# data_size FILE: bytes of the records of samples and of the maps of the kernel
data_size() {
	od -An -t u8 -j 48 -N 8 "$1" | xargs
}

is_full() {
	[ "$(data_size "$1")" -ge $((kernel_maps + size * 8 / 10)) ]
}

# dump_now N: ask for file N and wait for it. Sets $asked to the uptime of the request
dump_now() {
	asked=$(cut -d ' ' -f 1 /proc/uptime)
	kill -USR1 "$pid"
	for _ in $(seq 1000); do
		! wrote "$1" || return
		sleep 0.1
	done
	fail "file $1 is not written"
	exit 1
}

# Set kernel_maps to the bytes of records in a file without samples
find_kernel_maps() {
	start -a -M "$size" # of numbers, which nobody writes
	dump 1
	kernel_maps=$(data_size "$(sample 1)")
	stop TERM
	clean
}

# check_file FILE: write what check_records counts, and the newest record's time, to FILE.counts
check_file() {
	if ! perf script -i "$1" -F pid,time,event,trace > "$1.script" 2> "$1.said"; then
		cat "$1.said"
		echo "perf script fails" >> "$1.script"
	fi
	{
		sed -E 's/ +[0-9.]+: +/ /' "$1.script" | check_records
		awk 'END { sub(":", "", $2); print $2 }' "$1.script"
	} > "$1.counts"
}

test_dumps() {
	local i left nr file newest full=0 late=0 records=0 ticks=0 torn=0 gaps=0 r t x g
	local -a files requests

	export -f check_file check_records
	for ((left = dumps; left > 0; left -= nr)); do
		nr=$((left < 10 ? left : 10))
		: > "$log"
		requests=()
		for ((i = 1; i <= nr; i++)); do
			dump_now "$i"
			requests+=("$asked")
		done

		# The writers would make the checks take longer than the dumps.
		kill -STOP "${writers[@]}"
		mapfile -t files < <(samples)
		if [ "${#files[@]}" -ne "$nr" ]; then
			fail "${#files[@]} instead of $nr files"
			exit 1
		fi
		printf '%s\0' "${files[@]}" | xargs -0 -P 4 -I {} bash -c 'check_file {}'
		for ((i = 0; i < nr; i++)); do
			file=${files[i]}
			{ read -r r t x g; read -r newest; } < "$file.counts"
			((records += r, ticks += t, torn += x, gaps += g))
			! is_full "$file" || ((full++))
			awk -v a="$newest" -v b="${requests[i]}" 'BEGIN { exit !(a > b) }' ||
				((late++))
			rm "$file" "$file".{counts,said,script}
		done
		kill -CONT "${writers[@]}"
	done

	echo "torn: $dumps files of ${#writers[@]} CPUs," \
	     "$records records and $ticks of interrupts checked, $torn torn, $gaps gaps"
	check "there are records" test "$records" -gt "$dumps"
	same "torn" 0 "$torn"
	same "files with 80 % of the memory" "$dumps" "$full"
	same "files without a record that is later than the signal" 0 "$late"
	# If recording pauses for a copy, events during the pause are missing in the next file.
	if grep -q "recording goes on while memory is copied" "$tmp/said_at_start"; then
		same "gaps" 0 "$gaps"
	else
		echo "recording pauses: $gaps gaps are none too many"
	fi
}

size=$((each * $(getconf _NPROCESSORS_ONLN)))
find_kernel_maps
start_writers
# Interrupts write to the same buffers, at any point of the writers' records.
check "a daemon" perf record -o "$base" --daemon --pid-file "$tmp/pid" -a -M "$size" \
	-e raw_syscalls:sys_enter --filter "$(writers_filter)" -e cpu-clock/freq=5000,name=tick/
cp "$tmp/out" "$tmp/said_at_start"
pid=$(cat "$tmp/pid")
dump_now 1
for _ in $(seq 600); do
	! is_full "$(sample 1)" || break
	rm "$(sample 1)"
	sleep 0.5
	: > "$log"
	dump_now 1
done
rm "$(sample 1)"
: > "$log"
test_dumps
stop TERM
exit "$failed"
