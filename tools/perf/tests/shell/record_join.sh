#!/bin/bash
# perf data join makes one file of the parts that a recording left
# SPDX-License-Identifier: GPL-2.0

# shellcheck disable=SC2154 # the library sets them
# shellcheck source=lib/persistent.sh
. "$(dirname "$0")"/lib/persistent.sh

[ "$(id -u)" = 0 ] || skip "not root"
require_numbers

out=$tmp/out.data

# record FILE [OPTION...]: record the numbers 1 to 5 of a task with a name
record() {
	local file=$1

	shift
	# shellcheck disable=SC2016 # for the other shell
	perf record -q -o "$file" -e "$number_event" --filter "$number_filter" "$@" -a \
		bash -c 'for i in 1 2 3 4 5; do kill -0 $(($1 + i)); done; true' - "$number_base" \
		2> /dev/null
}

# lines FILE: its samples and its records of tasks and maps
lines() {
	perf script -i "$1" --show-task-events --show-mmap-events -F comm,pid,time,event,trace \
		2> /dev/null
}

left() {
	find "$tmp" -name '.*.tmp'
}

test_doubles() {
	check "a file and its copy" perf data join -o "$out" "$data" "$tmp/copy"
	says "what it did" "joined 2 files as $out: 5 samples, and 5 that were there before"
	same "samples" "1 2 3 4 5" "$(numbers "$out")"
	lines "$data" > "$tmp/lines"
	check "something is there" test -s "$tmp/lines"
	lines "$out" > "$tmp/joined"
	check "the same in the same order" cmp "$tmp/lines" "$tmp/joined"
	same "mode of the file" 600 "$(stat -c %a "$out")"
	check "what is said of the machine" sh -c "perf report --header-only -i $out | grep -q hostname"
	rm "$out"
}

# A perf that was killed leaves no data size in the header, and its last record may be cut off.
test_killed() {
	local end

	end=$(od -An -t u8 -j 40 -N 16 "$data" | awk '{ print $1 + $2 }')
	head -c $((end - 3)) "$data" > "$tmp/killed"
	printf '\0\0\0\0\0\0\0\0' |
		dd of="$tmp/killed" bs=1 seek=48 conv=notrunc status=none
	refuse "a file of a perf that was killed" "WARNING: some of $tmp/killed is damaged or missing" \
		perf data join -o "$out" "$tmp/killed" "$data"
	same "samples" "1 2 3 4 5" "$(numbers "$out")"
	rm "$out"
}

# No perf can print a record whose event the file does not describe.
test_unknown() {
	record "$tmp/unknown" -e dummy
	make_unknown "$tmp/unknown"
	refuse "an unknown event" "WARNING: some of $tmp/unknown is damaged or missing" \
		perf data join -o "$out" "$tmp/unknown"
	same "samples" "2 3 4 5" "$(numbers "$out")"
	rm "$out"
}

# perf must not trust the offsets in the table of features behind the data.
test_crafted() {
	local end features at i

	end=$(od -An -t u8 -j 40 -N 16 "$data" | awk '{ print $1 + $2 }')
	features=$(od -An -t u8 -j 72 -N 8 "$data" | xargs)
	# The times of samples are feature 21; each feature before it has an entry of 16 bytes.
	for ((at = end, i = 0; i < 21; i++)); do
		((at += 16 * (features >> i & 1)))
	done
	cp "$data" "$tmp/crafted"
	for ((i = 0; i < 8; i++)); do
		# shellcheck disable=SC2059 # the byte
		printf "\\x$(printf %02x $((end >> 8 * i & 255)))"
	done | dd of="$tmp/crafted" bs=1 seek="$at" conv=notrunc status=none
	check "a section within the table" perf data join -o "$out" "$tmp/crafted"
	says "all samples" ": 5 samples"
	rm -f "$out"
}

test_refused() {
	refuse "no output" "Name the file to write with -o" perf data join "$data"
	refuse "no files" "Name the files to join" perf data join -o "$out"
	refuse "another recording" "$tmp/other: it belongs to another recording than $data" \
		perf data join -o "$out" "$data" "$tmp/other"
	refuse "no such file" "Cannot open $tmp/none: No such file" \
		perf data join -o "$out" "$data" "$tmp/none"
	refuse "a directory" "it is not a regular file" perf data join -o "$out" "$tmp"
	head -c 50 "$data" > "$tmp/short"
	refuse "a piece" "was not written by 'perf record'" perf data join -o "$out" "$tmp/short"
	head -c 200 "$data" > "$tmp/short"
	refuse "less than its header" "its end is missing" perf data join -o "$out" "$tmp/short"
	perf record -q -o - -e dummy true > "$tmp/stream" 2> /dev/null
	refuse "a stream" "it was written to a pipe" perf data join -o "$out" "$tmp/stream"
	check "nothing was written" test ! -e "$out"
}

test_output() {
	echo mine > "$out"
	refuse "a file that is there" "Cannot write $out: File exists" \
		perf data join -o "$out" "$data"
	same "it stays" mine "$(cat "$out")"
	refuse "the same before files are read" "Cannot write $out: File exists" \
		perf data join -o "$out" "$tmp/none"
	rm "$out"
	ln -s "$tmp/elsewhere" "$out"
	refuse "a link" "Cannot write $out: File exists" perf data join -o "$out" "$data"
	check "it is not followed" test ! -e "$tmp/elsewhere"
	rm "$out"
	refuse "a full disk" "Cannot write /dev/full/out" perf data join -o /dev/full/out "$data"
	same "unfinished files" "" "$(left)"
}

# A limit of the file size acts as a full disk.
test_no_room() {
	refuse "no room" "Cannot write $out: File too large" \
		bash -c "trap '' XFSZ; ulimit -f 1; exec perf data join -o $out $data"
	same "unfinished files" "" "$(left)"
	same "status when a signal ends it" 153 "$(
		(ulimit -f 1; exec perf data join -o "$out" "$data") > /dev/null 2>&1
		echo $?)"
	same "unfinished files of that one" "" "$(left)"
	check "no file" test ! -e "$out"
}

record "$data"
cp "$data" "$tmp/copy"
record "$tmp/other"
[ "$(numbers "$data")" = "1 2 3 4 5" ] || skip "perf record does not record numbers"

test_doubles
test_killed
test_unknown
test_crafted
test_refused
test_output
test_no_room
exit "$failed"
