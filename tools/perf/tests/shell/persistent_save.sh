#!/bin/bash
# perf ctl save writes each snapshot of a namespace to one file
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

# Wherever perf ctl save is killed, the next one continues from there.
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

# Limits remove the oldest files. A file that is gone is not saved again, whoever removed it.
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

# A file that cannot be removed costs no other its limit.
test_stuck() {
	local ns=${prefix}_stuck dir=$tmp/stuck

	keep_numbers "$ns" -a -m 64K
	save
	take 1 2
	eventually "both are saved" has_saved "1 2"
	finish_saving
	stuck=$(file_of 1)
	if ! mount --bind "$stuck" "$stuck" 2> /dev/null; then
		echo "no bind mount: a file that cannot be removed is not tested"
		return
	fi
	at_end umount_stuck
	save --max-files 1
	take 3
	eventually "the next one goes" has_saved "1 3"
	take 4
	eventually "and the next one" has_saved "1 4"
	finish_saving
	same "how often it is said" 1 "$(grep -c "cannot remove $stuck: " "$tmp/out")"
	umount_stuck
}

# shellcheck disable=SC2317 # at_end calls it
umount_stuck() {
	! mountpoint -q "$stuck" || umount "$stuck"
}

# Nobody finds files in a directory that has another name now.
test_moved() {
	local ns=${prefix}_moved dir=$tmp/moved

	keep_numbers "$ns" -a -m 64K
	save
	eventually "it waits" is_saving
	mv "$dir" "$dir.old"
	mkdir "$dir"
	take 1
	ended 1
	says "what to do" "$dir was removed, or is another directory now: run the command again"
	save
	eventually "it is saved there" has_saved 1
	finish_saving
}

# Snapshots that were deleted before they were saved are reported by number.
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

# The command runs once for each file, even if it is slow or fails.
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
	# Let the command that outlived its perf ctl save go on.
	echo >&9
	eventually "it ran for the other" ran "$hand"$'\n'"$trigger"
	rm "$tmp/ran"
	# perf ctl save was killed, so the next one does not know that the command has run.
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

# A full disk is reported once, and the snapshots are saved when there is room.
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

fill_small() {
	head -c 8M /dev/zero >> "$tmp/small/filler" 2> /dev/null
}

# shellcheck disable=SC2317 # eventually calls it
is_saved() {
	compgen -G "$(file_of "$1")" > /dev/null
}

# If the disk is full before a limit is reached, the oldest files make room for new ones.
test_full_limit() {
	local ns=${prefix}_full dir=$tmp/small
	local gone="WARNING: the disk is full: .*/$ns\..*"

	mkdir -p "$dir"
	if ! mount -t tmpfs -o size=4M none "$dir" 2> /dev/null; then
		echo "cannot mount a tmpfs: limits on a full disk are not tested"
		return
	fi
	at_end umount_small
	keep_numbers "$ns" -a -m 64K
	save
	take 1 2 3 4
	eventually "they are saved" has_saved "1 2 3 4"
	fill_small
	take 5
	eventually "there is no room" grep -q "Cannot save '$ns.5' yet" "$tmp/saves"
	finish_saving
	same "what is there without a limit" "1 2 3 4" "$(saved)"

	# The oldest file may be a bit smaller than the new one; then a second one goes, too.
	save --max-total 1G
	eventually "the new one is saved" is_saved 5
	finish_saving
	says "which is gone" "${gone}Z\.1\..* was removed to make room"
	check "the newest before it stays" is_saved 4
	fill_small
	take 6
	save --max-files 50
	eventually "the same with another limit" is_saved 6
	finish_saving
	says "which is gone" "${gone}Z\.[23]\..* was removed to make room"
	check "the newest before it stays" is_saved 5
	umount_small
}

# The same if there is room for the records, but not for what describes them.
test_full_header() {
	local ns=${prefix}_header dir=$tmp/small end size

	mkdir -p "$dir"
	if ! mount -t tmpfs -o size=8M none "$dir" 2> /dev/null; then
		echo "cannot mount a tmpfs: no lack of room for a header"
		return
	fi
	at_end umount_small
	# The formats of many events, which record nothing, are larger than the records.
	keep_numbers "$ns" -e 'syscalls:sys_exit_*' --filter "common_pid < 0" -a -m 64K
	save
	take 1 2 3
	eventually "they are saved" has_saved "1 2 3"
	finish_saving
	end=$(od -An -t u8 -j 40 -N 16 "$(file_of 3)" | awk '{ print $1 + $2 }')
	size=$(stat -c %s "$(file_of 3)")
	fill_small
	truncate -s "-$(((end + size) / 8192 * 4096))" "$dir/filler"
	take 4
	save --max-total 1G
	eventually "the new one is saved" is_saved 4
	finish_saving
	says "which is gone" "WARNING: the disk is full: .*/$ns\..*Z\.1\..* was removed to make room"
	check "the newest before it stays" is_saved 3
	umount_small
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

# When a namespace is deleted, snapshots that it still has are saved.
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

# shellcheck disable=SC2317 # eventually calls it
is_saving() {
	grep -q "saving snapshots of '$ns'" "$tmp/saves"
}

# shellcheck disable=SC2317 # at_end calls it
delete_tmpfs() {
	gone tmpfs || perf ctl delete tmpfs "tmpfs.*"
}

# For a namespace called "tmpfs", its files must not be taken for temporary ones (.tmp).
test_name() {
	local ns=tmpfs dir=$tmp/tmpfs

	if exists "$ns"; then
		echo "there is a namespace '$ns': what one of that name leaves is not tested"
		return
	fi
	at_end delete_tmpfs
	keep_numbers "$ns" -a -m 64K
	save
	take 1
	eventually "one is saved" has_saved 1
	check "the lock is there" test -e "$dir/.$ns.lock"
	refuse "two at once" "Another 'perf ctl save' of '$ns'" \
	       timeout 60 perf ctl save "$ns" --to "$dir"
	finish_saving
	rm "$(file_of 1)"
	save
	eventually "save again" is_saving
	check "the marks are there" test -e "$dir/.$ns.marks"
	kill -9 "$saver"
	wait "$saver" 2> /dev/null || :
	save
	take 2
	eventually "what was taken away is not saved again" has_saved 2
	finish_saving
}

# Links and FIFOs that others put into the directory are neither written to nor waited for.
test_links() {
	local ns=${prefix}_links dir=$tmp/links victim=$tmp/victim

	keep_numbers "$ns" -a -m 64K
	mkdir "$dir"
	echo precious > "$victim"
	mkfifo "$dir/.$ns.marks"
	ln -s "$victim" "$dir/.$ns.lock"
	refuse "a lock that is a link" "Cannot create a lock" \
	       timeout 60 perf ctl save "$ns" --to "$dir"
	rm "$dir/.$ns.lock"
	save
	eventually "nobody waits for a FIFO" is_saving
	# Plant this link after the start, which would have removed it.
	ln -s "$victim" "$dir/.$ns.marks.tmp"
	take 1
	eventually "it is saved" has_saved 1
	finish_saving
	says "what is not used" "WARNING: .*/\.$ns\.marks is ignored: it is not a regular file"
	same "where the link leads" precious "$(cat "$victim")"
	same "the marks" "regular file" "$(stat -c %F "$dir/.$ns.marks")"
	whole 1
}

# Somebody else has put files with names of saved snapshots into the directory.
test_foreign() {
	local ns=${prefix}_foreign dir=$tmp/foreign name

	keep_numbers "$ns" -a -m 64K
	mkdir "$dir"
	save
	take 1
	eventually "it is saved" has_saved 1
	finish_saving
	name=$(file_of 1)
	cp "$name" "${name/.1./.7.}"
	chown 65534 "${name/.1./.7.}"
	ln -s /etc/passwd "${name/.1./.8.}"
	rm -f "$tmp/ran" "$dir/.$ns.marks"
	# shellcheck disable=SC2016 # for the other shell
	save -- sh -c 'echo "$PERF_SNAPSHOT" >> '"$tmp/ran"
	eventually "it runs for the own file" ran "$ns.1"
	take 2
	eventually "and for the next one" grep -qx "$ns.2" "$tmp/ran"
	finish_saving
	same "the others" "" "$(grep -e "\.[78]$" "$tmp/ran")"
	check "they are still there" test -e "${name/.1./.7.}" -a -L "${name/.1./.8.}"

	# As if all snapshots had been saved
	sed -i "s/ .*/ 9 9/" "$dir/.$ns.marks"
	chown 65534 "$dir/.$ns.marks"
	save
	take 3
	eventually "nobody else says what was saved" has_saved "1 2 3 7 8"
	finish_saving
	says "whose marks are not used" "WARNING: .*/\.$ns\.marks is ignored: it belongs to another user"
	chown 65534 "$dir/.$ns.lock"
	refuse "a lock of somebody else" "$dir/.$ns.lock: it belongs to the user " \
	       timeout 60 perf ctl save "$ns" --to "$dir"
}

# A limit of files with room for the descriptor of a snapshot, but not for a pipe as well
second_free_fd() {
	local nr=0 free=0

	while [ $free -lt 2 ]; do
		[ -e "/proc/$saver/fd/$nr" ] || free=$((free + 1))
		nr=$((nr + 1))
	done
	echo "$nr"
}

# A temporary lack of files does not end perf ctl save.
test_passing() {
	local ns=${prefix}_passing dir=$tmp/passing nr before=-1

	type -P prlimit > /dev/null || { echo "no prlimit: no lack of files"; return; }
	keep_numbers "$ns" -a -m 64K
	save
	eventually "save" is_saving
	# Wait until it has stopped opening files at its start.
	until nr=$(second_free_fd) && [ "$nr" = "$before" ]; do
		before=$nr
		sleep 1
	done
	check "let it have no more files" prlimit --pid "$saver" --nofile="$nr:"
	take 1
	eventually "it is said" grep -q "cannot save snapshots of '$ns' yet.*Too many open files" \
		   "$tmp/saves"
	check "let it have more" prlimit --pid "$saver" --nofile=256:
	eventually "it is saved" has_saved 1
	finish_saving
	same "how often it was said" 1 "$(grep -c "trying again" "$tmp/out")"
}

# A command that cannot run costs no file, and the next one can run.
test_typo() {
	local ns=${prefix}_typo dir=$tmp/typo

	keep_numbers "$ns" -a -m 64K
	save -- "$tmp/no_such"
	take 1
	eventually "there is no such command" \
		   grep -q "'$tmp/no_such' of '$ns.1' ended with exit status 127" "$tmp/saves"
	check "why" grep -q "^Cannot run '$tmp/no_such': No such file or directory$" "$tmp/saves"
	finish_saving
	touch "$tmp/no_program"
	save -- "$tmp/no_program"
	take 2
	eventually "there is no right to run it" \
		   grep -q "'$tmp/no_program' of '$ns.2' ended with exit status 126" "$tmp/saves"
	check "why" grep -q "^Cannot run '$tmp/no_program': Permission denied$" "$tmp/saves"
	finish_saving
	same "files" "1 2" "$(saved)"
	whole 1
	whole 2
}

keep_numbers "$ns" -a -m 64K
test_killed
test_limits
test_stuck
test_moved
test_missing
test_command
test_full
test_full_limit
test_full_header
test_refused
test_deleted
test_name
test_links
test_foreign
test_passing
test_typo
exit "$failed"
