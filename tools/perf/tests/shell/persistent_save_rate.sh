#!/bin/bash
# perf ctl save at half of its rate loses nothing, at twice reports losses
# SPDX-License-Identifier: GPL-2.0

# shellcheck disable=SC2119,SC2154 # save has options; the library sets them
# shellcheck source=lib/persistent.sh
. "$(dirname "$0")"/lib/persistent.sh
# shellcheck source=lib/persistent_save.sh
. "$(dirname "$0")"/lib/persistent_save.sh

persistent_require
require_numbers
[ -e "/proc/$$/task/$$/children" ] || skip "the kernel does not list children"

# The rate counts files, not time. At half of the rate, perf ctl save has written all but
# one of the snapshots when the next is taken. At twice the rate, two snapshots are taken
# for each file that it writes.

# take_next: take snapshot number $taken, which has this number as its record
taken=0
take_next() {
	take $((++taken))
}

# count_is COUNT: true if there are at least COUNT files
# shellcheck disable=SC2317 # eventually calls it
count_is() {
	local count

	count_saved
	[ "$count" -ge "$1" ]
}

# soon COMMAND...: retry without a pause until it succeeds, as its condition holds only briefly
soon() {
	local end=$((SECONDS + 120))

	until "$@"; do
		[ $SECONDS -lt $end ] || { fail "'$*' does not succeed"; break; }
	done
}

# shellcheck disable=SC2317 # soon calls it
is_locked() {
	[ -e "$dir/.$ns.lock" ] && ! flock -n "$dir/.$ns.lock" true
}

# kill_saver PLACE: kill perf ctl save at one of five places
kill_saver() {
	local count before

	count_saved
	before=$count
	case $1 in
	0)	echo "kill it at once" ;;
	1)	soon is_locked && echo "kill it when it begins" ;;
	2)	take_next
		freeze_reader ;;
	3)	take_next
		soon writes && echo "kill it while it writes" ;;
	4)	take_next
		soon count_is $((before + 1)) && echo "kill it when it has written" ;;
	esac
	kill -9 "$saver"
	wait "$saver" 2> /dev/null || :
	saver=
}

# said_missing: the numbers of the snapshots that perf ctl save has reported as deleted
said_missing() {
	sed -n "s/^WARNING: '$ns\.\([0-9]*\)' was deleted .*/\1 \1/p
		s/^WARNING: '$ns\.\([0-9]*\)' to '$ns\.\([0-9]*\)' were deleted .*/\1 \2/p" \
		"$tmp/all_saves" "$tmp/out" |
		while read -r first last; do
			seq "$first" "$last"
		done
}

# Each snapshot is in one file and none is missing, although perf ctl save is killed ten times.
test_half() {
	local kills=0 i

	save
	while [ $kills -lt 10 ]; do
		take_next
		eventually "all but one of $taken are written" count_is $((taken - 1)) || return
		kill_saver $((kills++ % 5))
		save
	done
	eventually "all are saved, each once" has_saved "$(seq -s ' ' $taken)"
	finish_saving
	same "what is missing" "" "$(said_missing)"
	same "what was saved twice" "" \
	     "$(cat "$tmp/all_saves" "$tmp/out" | grep -o "^\[ perf ctl: '.*' saved as" |
		sort | uniq -d)"
	for ((i = 1; i <= taken; i++)); do
		whole "$i"
	done
	same "what is left behind" "" "$(find "$dir" -name "*.tmp*")"
}

# shellcheck disable=SC2317 # soon calls it
is_stopped() {
	local stat

	read -r stat < "/proc/$saver/stat"
	[[ $stat = *") T "* ]]
}

# Each snapshot that is not in a file is reported once. perf ctl save is stopped while two
# snapshots are taken for each file, so more of them wait than the kernel keeps.
test_twice() {
	local keep=4 written=0 first=$((taken + 1)) count before i lost

	count_saved
	before=$count
	check "keep few" perf ctl keep "$ns" -n $keep
	save
	while [ $written -lt 8 ]; do
		take_next
		eventually "one more than $written is written" \
			   count_is $((before + written + 1)) || break
		kill -STOP "$saver"
		soon is_stopped
		count_saved
		written=$((count - before))
		while [ $((taken - first + 1)) -lt $((2 * written)) ]; do
			take_next
		done
		kill -CONT "$saver"
	done
	eventually "the last one is saved" count_of $taken
	finish_saving
	said_missing > "$tmp/missing"
	lost=$(wc -l < "$tmp/missing")
	# In addition to the snapshots that are kept, the one that is being written can be saved.
	check "$lost of $((taken - first + 1)) are missing" test "$lost" -ge $((written - keep - 1))
	for i in $(saved); do
		[ "$i" -lt "$first" ] || { echo "$i" >> "$tmp/missing"; whole "$i"; }
	done
	same "saved or missing, each once" "$(seq -s ' ' "$first" $taken)" \
	     "$(sort -n "$tmp/missing" | paste -s -d ' ')"
}

# shellcheck disable=SC2317 # eventually calls it
count_of() {
	compgen -G "$(file_of "$1")" > /dev/null
}

keep_numbers "$ns" -a -m 64K
test_half
test_twice
exit "$failed"
