#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Common parts of the tests of perf ctl save: start it to save snapshots of $ns to $dir,
# where each snapshot has its own number as a record, stop it, and check the files. Source
# this after persistent.sh.

# shellcheck disable=SC2154 # persistent.sh sets them

dir=$tmp/saved
saver=

# shellcheck disable=SC2317 # at_end calls it
stop_saving() {
	# It may have ended already, as its namespace is gone.
	[ -z "$saver" ] || kill -9 "$saver" 2> /dev/null
	saver=
}
at_end stop_saving

# save OPTION...: start perf ctl save in the background, with its output in $tmp/saves.
# The output of earlier ones is in $tmp/all_saves.
# shellcheck disable=SC2120 # not all tests have options
save() {
	cat "$tmp/saves" >> "$tmp/all_saves" 2> /dev/null
	: > "$tmp/saves"
	"${run[@]}" perf ctl save "$ns" --to "$dir" "$@" >> "$tmp/saves" 2>&1 &
	saver=$!
}
run=()

# ended EXPECTED: wait for perf ctl save, and check its exit status
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

# saved: the numbers of the snapshots that have a file
saved() {
	find "$dir" -name "$ns.*.data" | sed 's/.*Z\.\([0-9]*\)\.[^.]*\.data/\1/' | sort -n |
		paste -s -d ' '
}

# Set count to the number of files. No process is started for it: those that poll with it
# leave the CPU time to perf.
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

# file_of NUMBER: the path of the file of a snapshot
file_of() {
	echo "$dir/$ns".*Z."$1".*.data
}

# take N...: take a snapshot for each number, which holds only this number
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

# freeze_reader: stop the only child of perf ctl save while it writes, and set $reader to its pid
freeze_reader() {
	local end=$((SECONDS + 120))

	reader=
	while ((SECONDS < end)); do
		writes || continue
		# read fails as the line has no newline.
		read -r reader < "/proc/$saver/task/$saver/children" || :
		[ -n "$reader" ] && kill -STOP "$reader"
		if [ -n "$reader" ] && writes; then
			pass "the reader is stopped while it writes"
			return
		fi
		# The child had not begun to write: the file was from an earlier one.
		[ -z "$reader" ] || kill -CONT "$reader"
	done
	fail "the reader is not seen while it writes"
} 2> /dev/null

# whole NUMBER: check that the file can be read to its end, and has this number and no other
whole() {
	local pid

	pid=$(printf 'pid: 0x%x,' $((number_base + $1)))
	perf script -i "$(file_of "$1")" -F trace > "$tmp/out" 2> "$tmp/said" ||
		fail "file $1 is not whole: $(cat "$tmp/said")"
	same "number in file $1" "1 of 1" \
	     "$(grep -c "$pid" "$tmp/out") of $(grep -c "pid: " "$tmp/out")"
}
