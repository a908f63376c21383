#!/bin/bash
# perf ctl save ends on a signal and tells what it did not save
# SPDX-License-Identifier: GPL-2.0

# shellcheck disable=SC2154 # the library sets them
# shellcheck source=lib/persistent.sh
. "$(dirname "$0")"/lib/persistent.sh
# shellcheck source=lib/persistent_save.sh
. "$(dirname "$0")"/lib/persistent_save.sh

persistent_require
require_numbers
[ -e "/proc/$$/task/$$/children" ] || skip "the kernel does not list children"

# perf ctl save finishes the current file, even if its child gets signals, too.
test_reader() {
	take 1
	save
	freeze_reader
	kill -INT "$reader"
	kill -TERM "$reader"
	kill "$saver"
	eventually "it waits for the reader" grep -q "'$ns.1' is still being saved" "$tmp/saves"
	kill -CONT "$reader"
	ended 0
	says "it is saved" "'$ns.1' saved as"
	whole 1
}

# A second signal ends it at once.
test_twice() {
	take 2
	save
	freeze_reader
	kill "$saver"
	eventually "it waits for the reader" grep -q "'$ns.2' is still being saved" "$tmp/saves"
	kill "$saver"
	ended 0
	says "it is not saved" "'$ns.2' is not saved"
	same "what is left behind" "" "$(find "$dir" -name "*.tmp*")"
	# Start it with SIGCHLD ignored, as some parents do
	! env --ignore-signal=CHLD true 2> /dev/null || run=(env --ignore-signal=CHLD)
	save
	run=()
	take 3
	eventually "they are saved the next time" has_saved "1 2 3"
	finish_saving
}

# shellcheck disable=SC2317 # eventually calls it
ran() {
	[ "$(paste -s -d ' ' "$tmp/ran" 2> /dev/null)" = "$1" ]
}

# A command that is stopped runs again the next time, even if it catches the signal.
test_command() {
	# shellcheck disable=SC2016 # for the other shell
	save -- sh -c 'trap "kill \$!; exit 20" TERM
		sleep 1000 &
		echo "${PERF_SNAPSHOT##*.}" >> '"$tmp/ran"'
		wait'
	take 4
	eventually "it runs" ran 4
	kill "$saver"
	ended 0
	says "how it ended" "'sh' of '$ns.4' ended with exit status 20"
	# shellcheck disable=SC2016 # for the other shell
	save -- sh -c 'trap "" TERM
		echo "${PERF_SNAPSHOT##*.}" >> '"$tmp/ran"'
		exec sleep 1000'
	eventually "it runs again" ran "4 4"
	kill "$saver"
	ended 0
	says "it is killed if it does not end" "'sh' of '$ns.4' ended with signal 9"
}

# Limits remove files, but not the one that the command is using.
test_prune() {
	mkfifo "$tmp/go"
	exec 9<> "$tmp/go"
	# shellcheck disable=SC2016 # for the other shell
	save --max-files 2 -- sh -c 'echo "${PERF_SNAPSHOT##*.}" >> '"$tmp/ran"'
		read -r line < '"$tmp/go"'
		[ -e "$PERF_FILE" ]'
	eventually "it runs for the first one" ran "4 4 4"
	take 5 6 7
	eventually "the one in use is there, and the newest" has_saved "4 7"
	check "that one is gone is said" \
	      grep -q "WARNING: .*/$ns.*Z.6.*.data is removed before the command ran" "$tmp/saves"
	take 8
	eventually "the newest is another one" has_saved "4 8"
	rm "$(file_of 8)"
	take 9
	eventually "somebody took one away" has_saved "4 9"
	echo >&9
	eventually "it runs for what is there" ran "4 4 4 9"
	echo >&9
	take 10
	eventually "and for the next one" ran "4 4 4 9 10"
	echo >&9
	eventually "it has none" has_saved "9 10"
	finish_saving
	exec 9>&-
	same "how often it failed" 0 "$(grep -c "exit status" "$tmp/out")"
}

# said COUNT TEXT: has perf ctl save said that so often?
# shellcheck disable=SC2317 # eventually calls it
said() {
	[ "$(grep -c "$2" "$tmp/saves")" = "$1" ]
}

# A namespace that a trigger has stopped takes no snapshots, so perf ctl save tells it.
test_stopped() {
	local ns=${prefix}_stopped dir=$tmp/stopped

	keep_numbers "$ns" -a -m 64K
	check "a trigger that stops" perf ctl trigger "$ns" --when "$number_event" --do stop \
	      --filter "sig == 0 && pid == $((number_base + 91))"
	check "one that takes snapshots" perf ctl trigger "$ns" --when "$number_event" \
	      --filter "sig == 0 && pid == $((number_base + 92))" --do snapshot --cool-down 0
	save
	# It has looked at the triggers then.
	take 90
	eventually "it saves" grep -q "saved as" "$tmp/saves"
	number 91
	eventually "it is said" said 1 "WARNING: trigger 1 has stopped '$ns'.*ctl resume $ns'"
	number 92
	eventually "so is what that prevents" \
		   said 1 "WARNING: trigger 2 fired and could not take a snapshot of '$ns'"
	check "resume it" perf ctl resume "$ns"
	number 91
	eventually "it is said each time" said 2 "WARNING: trigger 1 has stopped '$ns'"
	finish_saving
	save
	eventually "and at the start" said 1 "WARNING: '$ns' is stopped.*ctl resume $ns'"
	same "what was said before" 0 "$(grep -c "trigger [12]" "$tmp/saves")"
	check "resume it" perf ctl resume "$ns"
	finish_saving
	check "remove the first" perf ctl trigger "$ns" --remove 1
	check "and the second" perf ctl trigger "$ns" --remove 2
	check "stop it by hand" perf ctl stop "$ns"
	save
	eventually "that is said, too" said 1 "WARNING: '$ns' is stopped.*ctl resume $ns'"
	eventually "and how to keep what it holds" said 1 "run 'perf ctl snapshot $ns' first"
	check "do so" perf ctl snapshot "$ns"
	eventually "that is saved" grep -q "saved as" "$tmp/saves"
	check "resume it" perf ctl resume "$ns"
	finish_saving
}

# Any number of snapshots may have been taken and deleted since it looked the last time.
test_deleted() {
	local many=()

	check "keep one" perf ctl keep "$ns" -n 1
	take 11
	save
	freeze_reader
	for _ in {1..70}; do
		many+=("$ns")
	done
	check "take many" perf ctl snapshot "${many[@]}"
	take 82
	check "delete it" perf ctl delete "$ns" -q
	kill -CONT "$reader"
	ended 1
	says "what is missing" \
	     "WARNING: '$ns.1[12]' to '$ns.81' were deleted before they were saved"
	says "that it was deleted" "'$ns' was deleted. The snapshots that it left are saved"
	whole 82
}

keep_numbers "$ns" -a -m 64K
test_reader
test_twice
test_command
test_prune
test_deleted
test_stopped
exit "$failed"
