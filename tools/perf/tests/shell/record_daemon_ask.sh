#!/bin/bash
# perf record --daemon writes a file on an event or on a control command
# SPDX-License-Identifier: GPL-2.0

# shellcheck disable=SC2154 # the libraries set them
# shellcheck source=lib/persistent.sh
. "$(dirname "$0")"/lib/persistent.sh
# shellcheck source=lib/record_daemon.sh
. "$(dirname "$0")"/lib/record_daemon.sh
# shellcheck source=lib/bpf_trigger.sh
. "$(dirname "$0")"/lib/bpf_trigger.sh

sync_event=syscalls:sys_enter_fsync

# An event of --trigger causes a file, and is not recorded itself.
test_trigger() {
	local many=() i

	start -a -M 1M --trigger "$exec_event" --max-files 100
	number 1
	# The test itself calls exec all the time, so look for the first file with the sample.
	mark 1
	eventually "a file for an event" sh -c "ls '$base'.sample.*"
	mark 1
	eventually "with what was before it" grep -q "wrote .*(1 samples)" "$log"
	stop TERM
	same "samples of the newest" 1 "$(numbers "$(samples | tail -n 1)")"
	clean

	refuse "no such event" "event syntax error" \
		perf record -o "$base" --daemon -M 1M -a -e dummy --trigger "no:such"
	# No CPU has debug registers for so many breakpoints.
	for i in $(seq 33); do
		many+=(--trigger "mem:$((i * 4096)):w")
	done
	refuse "one that cannot be opened" "Cannot open the event of --trigger" \
		perf record -o "$base" --daemon -M 1M -a -e "$number_event" "${many[@]}"
	refuse "without -M" "set the size of memory with -M" \
		perf record -a -e "$number_event" --trigger "$exec_event" true
	refuse "no map" "Cannot open the BPF map /sys/fs/bpf/none/$$" \
		perf record -o "$base" --daemon -M 1M -a -e "$number_event" \
		--trigger "bpf:/sys/fs/bpf/none/$$"
	refuse "a map and an event" "one BPF map, or other events" \
		perf record -M 1M -a -e "$number_event" --trigger bpf:/x --trigger "$exec_event"
	same "nothing is left" "" "$(parts)"
}

# The fsync() of perf itself causes no other file. Those of other processes cause at most
# one file a second.
test_often() {
	local begin others

	start -a -M 1M --trigger "$sync_event"
	# Record who calls fsync() meanwhile: others would be another reason for a file.
	check "a file" perf record -q -o "$tmp/synced_by" -a -e "$sync_event" sh -c "kill -USR1 $pid
		until ls '$base'.sample.* > /dev/null 2>&1; do sleep 0.1; done; sleep 3"
	perf script -i "$tmp/synced_by" -F pid > "$tmp/out" 2> /dev/null
	says "perf itself calls it" "^ *$pid *$"
	others=$(grep -vc "^ *$pid *$" "$tmp/out")
	if [ "$others" = 0 ]; then
		same "files" 1 "$(samples | wc -l)"
	else
		echo "others called fsync() $others times: that of perf alone is not tested"
	fi
	begin=$SECONDS
	for _ in $(seq 30); do
		dd if=/dev/null of="$tmp/synced" conv=fsync status=none
		sleep 0.1
	done
	eventually "files for others" sh -c "[ \"\$(ls '$base'.sample.* | wc -l)\" -gt 2 ]"
	sleep 2
	check "one a second" test "$(samples | wc -l)" -le $((SECONDS - begin + 2))
	stop TERM
	rm "$tmp/synced" "$tmp/synced_by"
	clean
}

test_bpf() {
	start_bpf || return
	start -a -M 1M --trigger "bpf:$bpf_pin" --max-files 100
	number 1
	mark 1
	eventually "a file for it" sh -c "ls '$base'.sample.*"
	eventually "with what was before it" grep -q "wrote .*(1 samples)" "$log"
	stop TERM
	refuse "a map of another kind" "it is not a map of type PERF_EVENT_ARRAY" \
		perf record -o "$base" --daemon -M 1M -a -e "$number_event" \
		--trigger "bpf:${bpf_pin}_other"
	stop_bpf
	clean
}

# answer: print the answer of the daemon to the last command
answer() {
	read -r -t 60 -u 4 answered
	echo "$answered" | tr -d '\0'
}

test_control() {
	mkfifo "$tmp/ctl" "$tmp/ack"
	start -a -M 1M --control "fifo:$tmp/ctl,$tmp/ack"
	exec 3> "$tmp/ctl" 4<> "$tmp/ack"
	number 1
	echo dump >&3
	same "answer to dump" ack "$(answer)"
	same "number" 1 "$(numbers "$(sample 1)")"
	echo status >&3
	same "answer to status" ack "$(answer)"
	check "what it says" grep -q "1 files of samples written, [0-9]* bytes of tasks" "$log"
	number 2
	echo dump >&3
	same "answer to another dump" ack "$(answer)"
	echo combine >&3
	same "answer to combine" ack "$(answer)"
	same "numbers" "1 2" "$(numbers "$base")"
	eventually "it ends" ended
	pid=
	exec 3>&- 4>&-
	rm "$tmp/ctl" "$tmp/ack"
	clean
}

test_trigger
test_often
test_bpf
test_control
exit "$failed"
