#!/bin/bash
# perf record -M -o - waits for the reader of the pipe and loses nothing
# SPDX-License-Identifier: GPL-2.0

# shellcheck disable=SC2154 # the library sets them
# shellcheck source=lib/persistent.sh
. "$(dirname "$0")"/lib/persistent.sh

[ "$(id -u)" = 0 ] || skip "not root"
perf record -h 2>&1 | grep -q -- '-M, --memory' || skip "perf has no -M"
require_numbers

shell=$(type -P bash)
cp "$shell" "$tmp/writer"
pid=
reader=

# Start perf and stop the reader as soon as perf records: nobody reads the pipe from then on.
start() {
	mkfifo "$tmp/pipe"
	cat "$tmp/pipe" > "$data" &
	reader=$!
	perf record -o - -e "$number_event" --filter "$number_filter" -a -M 4M \
		2> "$tmp/log" > "$tmp/pipe" &
	pid=$!
	eventually "it records" grep -q 'is written on' "$tmp/log"
	kill -STOP "$reader"
}

stop() {
	[ -n "$pid" ] || return
	kill -CONT "$reader"
	kill -INT "$pid"
	wait "$pid" "$reader"
	rm "$tmp/pipe"
	pid=
}
at_end stop

# dump N: ask for dump N until it is written
dump() {
	for _ in $(seq 100); do
		kill -USR2 "$pid"
		sleep 0.2
		! grep -q "dump $1 written" "$tmp/log" || break
	done
	check "dump $1" grep -q "dump $1 written" "$tmp/log"
}

# write_numbers FIRST LAST: record them with a program that has exited afterwards
write_numbers() {
	# shellcheck disable=SC2016 # for the other shell
	"$tmp/writer" -c 'for ((i = $2; i <= $3; i++)); do
			kill -0 $(($1 + i)); done; true' - "$number_base" "$1" "$2" 2> /dev/null
}

# shellcheck disable=SC2317 # called by eventually
says_times() {
	[ "$(grep -c "$1" "$tmp/log")" -ge "$2" ]
}

# The pipe has no room for the records of tasks, which come first.
test_full() {
	local full="Cannot write dump 1: nobody reads the pipe. The samples stay in memory"

	start
	write_numbers 1 3
	mark 300
	kill -USR2 "$pid"
	eventually "it says that it is full" says_times "$full" 1
	write_numbers 4 4
	kill -USR2 "$pid"
	eventually "and again" says_times "$full" 2
	kill -CONT "$reader"
	dump 1
	write_numbers 5 5
	dump 2
	stop
	same "each once" "1 2 3 4 5" "$(numbers "$data")"
	same "with a name" writer "$(perf script -i "$data" -F comm 2> /dev/null | sort -u | xargs)"
	same "all tasks are known" 300 "$(perf script -i "$data" --show-task-events 2> /dev/null |
		grep -c "COMM exec: ${marker##*/}")"
}

# The pipe has room for a part of the dump.
test_part() {
	start
	write_numbers 1 3000
	kill -USR2 "$pid"
	eventually "it says that it waits" \
		grep -q "the rest of a dump waits for the reader" "$tmp/log"
	write_numbers 3001 3003
	kill -CONT "$reader"
	eventually "it goes on" grep -q "dump 1 written" "$tmp/log"
	dump 2
	stop
	numbers "$data" | tr ' ' '\n' > "$tmp/numbers"
	check "each of $(wc -l < "$tmp/numbers") once" cmp "$tmp/numbers" <(seq 3003)
}

test_full
test_part
exit "$failed"
