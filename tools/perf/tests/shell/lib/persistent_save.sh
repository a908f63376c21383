#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What the tests of perf ctl save have in common, after persistent.sh: a perf that saves
# snapshots of $ns to $dir, of which each has a number of its own.

# shellcheck disable=SC2154 # persistent.sh sets them

dir=$tmp/saved
saver=

# shellcheck disable=SC2317 # at_end calls it
stop_saving() {
	[ -z "$saver" ] || kill -9 "$saver"
	saver=
}
at_end stop_saving

# save OPTION...: in the background, what it says is in $tmp/saves, and of all in all_saves
# shellcheck disable=SC2120 # not all tests have options
save() {
	cat "$tmp/saves" >> "$tmp/all_saves" 2> /dev/null
	: > "$tmp/saves"
	"${run[@]}" perf ctl save "$ns" --to "$dir" "$@" >> "$tmp/saves" 2>&1 &
	saver=$!
}
run=()

# ended EXPECTED: with what exit status
ended() {
	local status=0

	wait "$saver" || status=$?
	saver=
	same "exit status" "$1" "$status"
	cp "$tmp/saves" "$tmp/out"
}

finish_saving() {
	kill "$saver"
	ended 0
}

# saved: the numbers of the snapshots that there are files of
saved() {
	find "$dir" -name "$ns.*.data" | sed 's/.*Z\.\([0-9]*\)\.[^.]*\.data/\1/' | sort -n |
		paste -s -d ' '
}

# How many those are, without a process for that: somebody else is to come forward
count_saved() {
	local files=("$dir/$ns".*.data)

	count=0
	[ ! -e "${files[0]}" ] || count=${#files[@]}
}

# shellcheck disable=SC2317 # eventually calls it
has_saved() {
	local count numbers

	read -ra numbers <<< "$1"
	count_saved
	[ "$count" = ${#numbers[@]} ] && [ "$(saved)" = "$1" ]
}

# file_of NUMBER
file_of() {
	echo "$dir/$ns".*Z."$1".*.data
}

# take N...: a snapshot of each number alone
take() {
	local n

	for n; do
		number "$n"
		perf ctl -s "$ns" > "$tmp/took" 2>&1 || fail "take one: $(cat "$tmp/took")"
	done
}

# shellcheck disable=SC2317 # eventually calls it
writes() {
	compgen -G "$dir/.$ns.*.data.tmp" > /dev/null
}

# freeze_reader: stops the only child of the one that saves, while it writes; that is $reader
freeze_reader() {
	local end=$((SECONDS + 120))

	reader=
	while ((SECONDS < end)); do
		writes || continue
		# A line without an end is an error to read.
		read -r reader < "/proc/$saver/task/$saver/children" || :
		[ -n "$reader" ] && kill -STOP "$reader"
		if [ -n "$reader" ] && writes; then
			pass "the reader is stopped while it writes"
			return
		fi
		# It had not begun: that was left behind by another one.
		[ -z "$reader" ] || kill -CONT "$reader"
	done
	fail "the reader is not seen while it writes"
} 2> /dev/null

# whole NUMBER: the file can be read to its end, and has what was taken then
whole() {
	local pid

	pid=$(printf 'pid: 0x%x,' $((number_base + $1)))
	perf script -i "$(file_of "$1")" -F trace > "$tmp/out" 2> "$tmp/said" ||
		fail "file $1 is not whole: $(cat "$tmp/said")"
	same "number in file $1" "1 of 1" \
	     "$(grep -c "$pid" "$tmp/out") of $(grep -c "pid: " "$tmp/out")"
}
