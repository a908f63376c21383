#!/bin/bash
# perf ctl save writes each snapshot of a namespace of events to one file
# SPDX-License-Identifier: GPL-2.0

# shellcheck disable=SC2154 # the library sets them
# shellcheck source=lib/persistent.sh
. "$(dirname "$0")"/lib/persistent.sh
# shellcheck source=lib/persistent_save.sh
. "$(dirname "$0")"/lib/persistent_save.sh

persistent_require
require_numbers

# shellcheck disable=SC2317 # eventually calls it
has_more() {
	count_saved
	[ "$count" -gt "$before" ]
}

# Killed anywhere, it goes on where it was.
test_killed() {
	local i n=0 last=24 before all count

	all=$(seq $last | paste -s -d ' ')
	check "keep many" perf ctl --keep 64 "$ns"
	mkdir "$dir"
	echo "half of it" > "$dir/.$ns.20261122T031407Z.1.0000000000000000-1.data.tmp"
	for ((i = 0; i < 10; i++)); do
		take $((n + 1)) $((n + 2))
		n=$((n + 2))
		count_saved
		before=$count
		save
		case $((i % 3)) in
		0)	freeze_reader ;;
		1)	eventually "kill it when it has written" has_more ;;
		2)	echo "kill it at once" ;;
		esac
		kill -9 "$saver"
		wait "$saver" 2> /dev/null || :
		saver=
	done
	save
	while ((n < last)); do
		take $((++n))
	done
	eventually "all are saved, each once" has_saved "$all"
	finish_saving
	same "what is missing" 0 "$(cat "$tmp/all_saves" "$tmp/out" | grep -c "saved\.$")"
	for ((i = 1; i <= last; i++)); do
		whole "$i"
	done
	same "what is left behind" "" "$(find "$dir" -name "*.tmp*")"
}

# The oldest go, and are not saved again. Nor is what somebody takes away.
test_limits() {
	local file size

	save --max-files 3
	eventually "the newest three are left" has_saved "22 23 24"
	take 25
	eventually "one goes for one that comes" has_saved "23 24 25"
	finish_saving
	size=$(stat -c %s "$(file_of 25)")
	save --max-total "$((size / 1024 + 1))K"
	eventually "the newest is left" has_saved "25"
	finish_saving
	save --max-total 1K
	take 26
	eventually "however large it is" has_saved "26"
	finish_saving
	for file in "$dir/$ns".*.data; do
		rm "$file"
	done
	take 27
	save
	eventually "what was taken away is not saved again" has_saved "27"
	finish_saving
}

# What the kernel could not keep is reported by number.
test_missing() {
	check "keep two" perf ctl --keep 2 "$ns"
	take 28 29 30 31
	save
	eventually "those that there are" has_saved "27 30 31"
	finish_saving
	says "what is missing" "WARNING: '$ns.28' to '$ns.29' were deleted before they were saved"
	take 32
	check "delete one" perf ctl -d "$ns.32"
	take 33
	save
	eventually "the next one" has_saved "27 30 31 33"
	finish_saving
	says "what is missing" "WARNING: '$ns.32' was deleted before it was saved"
	same "what was said before" 0 "$(grep -c "$ns.28" "$tmp/out")"
}

# shellcheck disable=SC2317 # eventually calls it
ran() {
	[ "$(cat "$tmp/ran" 2> /dev/null)" = "$1" ]
}

# It runs once for each file, also if it is slow, or fails.
test_command() {
	local hand trigger n

	check "a trigger" perf ctl -t "$ns" --when "$number_event" --do snapshot --cool-down 0 \
	      --filter "sig == 0 && pid == $((number_base + 35))"
	mkfifo "$tmp/go"
	exec 9<> "$tmp/go"
	# shellcheck disable=SC2016 # for the other shell
	save -- sh -c 'read -r line < '"$tmp/go"'
		echo "$PERF_NAMESPACE,$PERF_SNAPSHOT,$PERF_TRIGGER,$PERF_NOTE,$PERF_FILE" \
			>> '"$tmp/ran"'
		exit 3'
	take 34
	number 35
	eventually "saving does not wait for it" has_saved "27 30 31 33 34 35"
	check "it has not run" test ! -e "$tmp/ran"
	hand="$ns,$ns.34,,,$(file_of 34)"
	trigger="$ns,$ns.35,1,web1 slow,$(file_of 35)"
	check "attach a note" perf ctl note "$ns.35" --text "web1 slow"
	echo >&9
	eventually "it ran for one" ran "$hand"
	eventually "its exit status is said" grep -q "'sh' of '$ns.34' ended with exit status 3" \
		   "$tmp/saves"
	kill -9 "$saver"
	wait "$saver" 2> /dev/null || :
	# The one that is left behind
	echo >&9
	eventually "it ran for the other" ran "$hand"$'\n'"$trigger"
	rm "$tmp/ran"
	# Nobody knows that it did.
	# shellcheck disable=SC2016 # for the other shell
	save -- sh -c 'echo "$PERF_NAMESPACE,$PERF_SNAPSHOT,$PERF_TRIGGER,$PERF_NOTE,$PERF_FILE" \
			>> '"$tmp/ran"
	eventually "it runs again for that one" ran "$trigger"
	finish_saving
	save -- sh -c "echo again >> $tmp/ran"
	take 36
	eventually "it runs for a new one" ran "$trigger"$'\nagain'
	finish_saving
	exec 9>&-
	check "remove the trigger" perf ctl -t "$ns" --remove 1
}

# A full disk: it is said once, and saved when there is room.
test_full() {
	local saved=$dir

	dir=$tmp/small
	mkdir "$dir"
	if ! mount -t tmpfs -o size=4M none "$dir" 2> /dev/null; then
		echo "cannot mount a tmpfs: a full disk is not tested"
		dir=$saved
		return
	fi
	at_end umount_small
	head -c 8M /dev/zero > "$dir/filler" 2> /dev/null
	take 37
	save
	eventually "it is said" grep -q "Cannot save '$ns.3[0-9]' yet" "$tmp/saves"
	says_why=$(grep -c "No space left on device" "$tmp/saves")
	check "why is said" test "$says_why" -ge 1
	same "what is not for the user to do" 0 "$(grep -c "read them again" "$tmp/saves")"
	take 38
	rm "$dir/filler"
	eventually "all that are there are saved" has_saved "37 38"
	finish_saving
	same "how often it was said" 1 "$(grep -c "Cannot save" "$tmp/out")"
	umount_small
	dir=$saved
}

# shellcheck disable=SC2317 # at_end calls it
umount_small() {
	! mountpoint -q "$tmp/small" || umount "$tmp/small"
}

test_refused() {
	refuse "no directory" "save needs a directory: --to" perf ctl save "$ns"
	refuse "no such namespace" "no namespace called '${ns}_not'" \
	       perf ctl save "${ns}_not" --to "$dir"
	refuse "no files at all" "--max-files takes a number from 1" \
	       perf ctl save "$ns" --to "$dir" --max-files 0
	refuse "a size without a unit" "--max-total takes a number with a unit" \
	       perf ctl save "$ns" --to "$dir" --max-total 10
	refuse "a time without a unit" "--last takes a number with a unit" \
	       perf ctl save "$ns" --to "$dir" --last 10
	refuse "a snapshot" "is a snapshot" perf ctl save "$ns.38" --to "$dir"
	refuse "no place for it" "Cannot create" perf ctl save "$ns" --to "$tmp/not/there"
	save
	eventually "save" grep -q "saving snapshots of '$ns'" "$tmp/saves"
	refuse "two at once" "Another 'perf ctl save' of '$ns'" perf ctl save "$ns" --to "$dir"
}

# What there is of a namespace that is deleted is saved, in any case.
test_deleted() {
	local names

	take 39
	check "delete it" perf ctl -d "$ns"
	ended 1
	says "that it was deleted" "'$ns' was deleted"
	check "the last one is saved" test -e "$(file_of 39)"
	names=$(saved)
	keep_numbers "$ns" -a -m 64K
	number 41
	check "take one of a new one" perf ctl snapshot "$ns" -q
	same "its number" "$ns.1" "$(cat "$tmp/out")"
	save --last 1h
	eventually "it is saved beside the others" has_saved "1 $names"
	finish_saving
}

keep_numbers "$ns" -a -m 64K
test_killed
test_limits
test_missing
test_command
test_full
test_refused
test_deleted
exit "$failed"
