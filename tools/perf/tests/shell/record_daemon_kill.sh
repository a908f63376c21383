#!/bin/bash
# perf record --daemon leaves whole files whenever it is killed
# SPDX-License-Identifier: GPL-2.0
#
# The test stops the daemon after each call that changes a file. The files at that moment are
# those that a kill would leave, and all of them must be whole. Twice the daemon is really
# killed. With RECORD_WRITES it is also stopped after each of hundreds of calls of write().

# shellcheck disable=SC2154 # the libraries set them
# shellcheck source=lib/persistent.sh
. "$(dirname "$0")"/lib/persistent.sh
# shellcheck source=lib/record_daemon.sh
. "$(dirname "$0")"/lib/record_daemon.sh

type -P strace > /dev/null || skip "no strace"

# Not all architectures have all of these calls. perf calls flock() on a new file, still empty.
calls=fsync,ftruncate,flock${RECORD_WRITES:+,write}
for call in link linkat unlink unlinkat rename renameat renameat2; do
	calls+=",?$call"
done
old=${PERF_UNPATCHED:-/usr/bin/perf}
tracer=
declare -A stops

copies=$(mktemp -d /tmp/__perf_test.copies.XXXXX)
# shellcheck disable=SC2317 # called at the end
remove_copies() {
	rm -rf "$copies"
}
at_end remove_copies

# shellcheck disable=SC2317 # called at the end, too
end_trace() {
	[ -n "$tracer" ] || return
	kill "$tracer" 2> /dev/null
	wait "$tracer"
	tracer=
	# The daemon must not stay stopped: it could not handle the signal that ends it.
	[ -z "$pid" ] || kill -CONT "$pid" 2> /dev/null
}
at_end end_trace

# shellcheck disable=SC2317 # called by eventually
is_traced() {
	grep -q 'TracerPid:.[1-9]' "/proc/$pid/status"
}

# trace CALLS WHAT: make strace inject WHAT when the daemon makes one of the calls
trace() {
	: > "$tmp/strace"
	stops=()
	strace -f -qq -o "$tmp/strace" -e trace="$1" -e inject="$1:$2" -p "$pid" \
		2> "$tmp/strace_said" &
	tracer=$!
	eventually "it is traced" is_traced > "$tmp/out" || { cat "$tmp/strace_said"; exit 1; }
}

# stops_of THREAD: how often the thread was stopped
stops_of() {
	grep -c "^$1 .*--- stopped by SIGSTOP" "$tmp/strace"
}

# is_stopped: true if all threads were stopped once more than before
is_stopped() {
	local task

	for task in "/proc/$pid/task/"*; do
		[ "$(stops_of "${task##*/}")" -gt "${stops[${task##*/}]:-0}" ] || return
	done
}

# until_stopped: wait until the daemon is stopped or has ended
until_stopped() {
	local task

	for _ in $(seq 3000); do
		! ended || return
		if is_stopped; then
			for task in "/proc/$pid/task/"*; do
				stops[${task##*/}]=$(stops_of "${task##*/}")
			done
			return
		fi
		sleep 0.02
	done
	fail "it is not stopped"
	exit 1
}

# files_in DIRECTORY: the files of the recording, the auxiliary file first
files_in() {
	find "$1" -maxdepth 1 -name "perf.data.auxiliary"
	find "$1" -maxdepth 1 \( -name perf.data -o -name "perf.data.sample.$time_pattern" \) | sort
}

# keep_copy DIRECTORY: copy the files there, unless only the auxiliary file has changed
last_seen=
keep_copy() {
	local seen

	seen=$(cd "$tmp" && files_in . && { files_in . | grep -v auxiliary | xargs -r cksum; })
	[ "$seen" != "$last_seen" ] || return
	last_seen=$seen
	mkdir "$1"
	files_in "$tmp" | xargs -r cp -t "$1"
}

# shellcheck disable=SC2317 # called by stop_often
wrote_second() {
	[ "$(grep -c "wrote $base.sample" "$log")" -ge 2 ]
}

# stop_often NAME SIGNAL END: send SIGNAL, and copy the files at each stop, until END is true
stop_often() {
	local nr=0

	trace "$calls" signal=STOP
	kill "-$2" "$pid"
	while until_stopped && ! ended; do
		((++nr))
		keep_copy "$copies/$1.$(printf %03d "$nr")"
		! "$3" || break
		kill -CONT "$pid"
	done
	end_trace
	echo "$1: stopped $nr times, $(find "$copies" -name "$1.*" | wc -l) states"
}

# check_left WHAT DIRECTORY NUMBERS: check that each file is whole, where only the
# auxiliary file may be cut off, and that together they have NUMBERS
check_left() {
	local file files

	mapfile -t files < <(files_in "$2")
	for file in "${files[@]}"; do
		perf script -i "$file" --show-task-events > "$tmp/script" 2> "$tmp/said" ||
			{ fail "$1: $file cannot be read"; cat "$tmp/said"; }
	done
	rm -f "$tmp/joined"
	perf data join -o "$tmp/joined" "${files[@]}" > "$tmp/out" 2>&1 ||
		grep -q "is damaged or missing" "$tmp/out" ||
		{ fail "$1: join ${#files[@]}"; cat "$tmp/out"; }
	check "$1: no more than the auxiliary file is cut off" test -z \
		"$(grep "is damaged or missing" "$tmp/out" | grep -v auxiliary)"
	same "$1: numbers" "$3" "$(numbers "$tmp/joined")"
	rm -f "$tmp/joined"
}

# check_states NAME MIN: check all copies of NAME, at least MIN
check_states() {
	local dir expected nr=0

	for dir in "$copies/$1".*; do
		((nr++))
		expected=$before
		# A second file, or perf.data, has the number from after the first file, too.
		[ "$(files_in "$dir" | grep -vc auxiliary)" -lt 2 ] && [ ! -e "$dir/perf.data" ] ||
			expected=$after
		check_left "${dir##*/}" "$dir" "$expected"
	done
	check "there are states of a $1: $nr" test "$nr" -ge "$2"
}

before="1 2 3"
after="1 2 3 4"

# begin: start a daemon that has written a file, and has one more number in memory
begin() {
	start -a -M 1M
	number 1 2 3
	dump 1
	number 4
}

test_stopped() {
	begin
	stop_often dump USR1 wrote_second
	stop_often combine USR2 ended
	eventually "it ends" ended
	pid=
	same "what is left" "perf.data perf.data.log" "$(parts)"
	same "numbers" "$after" "$(numbers "$base")"
	clean
	# Before the new file has its final name, and after
	check_states dump 2
	# With perf.data, without the auxiliary file, and without each of the two samples
	check_states combine 4
}

# kill_at CALLS WHEN SIGNAL: send SIGNAL, and kill the daemon at call number WHEN
kill_at() {
	trace "$1" "signal=KILL:when=$2"
	kill "-$3" "$pid"
	eventually "it is killed" ended
	wait "$tracer"
	tracer=
	pid=
}

# The next daemon removes unfinished files.
test_killed() {
	begin
	kill_at "?link,?linkat" 1 USR1
	check_left "killed when it links a file" "$tmp" "$before"
	check "there is an unfinished one" test -n "$(find "$tmp" -name '.*tmp')"
	check "the auxiliary file can be read" perf script -i "$aux" --show-task-events
	says "a task in it" "PERF_RECORD_COMM"
	if [ -x "$old" ]; then
		check "by an unpatched perf" "$old" script -i "$aux" --show-task-events
		says "a task that it finds" "PERF_RECORD_COMM"
	fi
	start -a -M 1M
	same "what was not finished" "" "$(find "$tmp" -name '.*tmp')"
	same "numbers of the file before" "$before" "$(numbers "$(sample 1)")"
	check "it finds its names" sh -c "perf script -i '$(sample 1)' 2>&1 |
		grep -qx '.* names in $aux\.$time_pattern ]'"
	stop TERM
	clean

	begin
	dump 2
	# The first unlink removes the temporary name of perf.data.
	kill_at "?unlink,?unlinkat" 2 USR2
	check_left "killed when it removes parts" "$tmp" "$after"
	same "what is left" "perf.data $all_parts perf.data.sample" "$(parts)"
	clean
}

test_stopped
test_killed
exit "$failed"
