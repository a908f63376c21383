#!/bin/bash
# perf record --daemon keeps samples in memory, writes a file per incident (exclusive)
# SPDX-License-Identifier: GPL-2.0

# shellcheck disable=SC2154 # the libraries set them
# shellcheck source=lib/persistent.sh
. "$(dirname "$0")"/lib/persistent.sh
# shellcheck source=lib/record_daemon.sh
. "$(dirname "$0")"/lib/record_daemon.sh

test_incidents() {
	start -a -M 1M
	says "what to do" "memory of .* is written on 'kill -USR1 $pid'"
	number 1 2 3
	dump 1
	number 4
	dump 2
	dump 3
	number 5
	same "all that is in memory" "1 2 3" "$(numbers "$(sample 1)")"
	same "again, and what is new" "1 2 3 4" "$(numbers "$(sample 2)")"
	same "and again" "1 2 3 4" "$(numbers "$(sample 3)")"
	same "while it runs" "$all_parts perf.data.sample perf.data.sample" "$(parts)"
	same "mode of files" 600 "$(stat -c %a "$base"* | sort -u)"
	same "the log has each" 3 "$(grep -c 'wrote .*perf.data.sample' "$log")"
	cp "$aux" "$tmp/copy.auxiliary"
	for i in 1 2 3; do
		cp "$(sample "$i")" "$tmp/copy.$i"
	done
	stop USR2
	same "one file of all of them, each once" "1 2 3 4" "$(numbers "$base")"
	same "what is left" "perf.data perf.data.log" "$(parts)"
	check "the same later" perf data join -o "$tmp/joined" "$tmp"/copy.*
	same "samples of that" "1 2 3 4" "$(numbers "$tmp/joined")"
	rm "$tmp/joined"
	check "no pid file is left" test ! -e "$tmp/pid"
	clean
}

test_ends() {
	start -a -M 1M
	number 1
	dump 1
	number 2
	stop TERM
	same "SIGTERM keeps all" "$all_parts" "$(parts)"
	check "what joins them" perf data join -o "$tmp/joined" "$aux" "$(sample 1)"
	same "numbers of it" 1 "$(numbers "$tmp/joined")"
	rm "$tmp/joined"
	clean

	start -a -M 1M --keep-parts
	number 1
	dump 1
	stop USR2
	same "parts stay" "perf.data $all_parts" "$(parts)"
	start -a -M 1M
	stop USR2
	same "the one before" 1 "$(numbers "$base.old")"
	check "one without samples" perf script -i "$base"
	clean

	start -a -M 1M
	number 1
	kill -USR1 "$pid"
	stop USR2
	same "what is asked for just before" 1 "$(numbers "$base")"
	clean
}

# Parts that cannot be read to their end are not removed, as only they have the rest.
test_damaged() {
	local at

	start -a -M 1M
	number 1
	dump 1
	number 2
	dump 2
	chown 65534 "$(sample 2)"
	# Set the size of the first record to 0.
	at=$(od -An -t u8 -j 40 -N 8 "$(sample 1)" | xargs)
	printf '\0\0' | dd of="$(sample 1)" bs=1 seek=$((at + 6)) conv=notrunc status=none
	stop USR2
	same "all that can be read" "1 2" "$(numbers "$base")"
	same "parts stay" "perf.data $all_parts perf.data.sample" "$(parts)"
	check "it is said" grep -q "$base lacks what is left out of its parts" "$log"
	clean

	start -a -M 1M
	number 1
	dump 1
	number 2
	dump 2
	make_unknown "$(sample 1)"
	stop USR2
	same "all with a known event" "1 2" "$(numbers "$base")"
	same "parts stay" "perf.data $all_parts perf.data.sample" "$(parts)"
	check "it is said" grep -q "$base lacks what is left out of its parts" "$log"
	clean

	start -a -M 1M
	number 1
	dump 1
	number 2
	dump 2
	truncate -s 50 "$(sample 1)"
	stop USR2
	same "all without the one that has no header" "1 2" "$(numbers "$base")"
	same "parts stay" "perf.data $all_parts perf.data.sample" "$(parts)"
	check "it is said" grep -q "$base lacks what is left out of its parts" "$log"
	clean
}

# Without a sample and without a kernel map, a file is empty, but not one of a perf that was killed.
test_empty() {
	rm -f "$tmp/pid"
	check "only user space" perf record -o "$base" --daemon --pid-file "$tmp/pid" -a -M 1M \
		-e "$number_event:u" --filter "$number_filter"
	pid=$(cat "$tmp/pid")
	dump 1
	stop TERM
	check "join" perf data join -o "$tmp/joined" "$aux" "$(sample 1)"
	says "what is in it" "^\[ perf data: joined 2 files as $tmp/joined: 0 samples"
	same "other messages" 1 "$(wc -l < "$tmp/out")"
	mv "$(sample 1)" "$tmp/alone"
	check "read it alone" perf script -i "$tmp/alone"
	same "messages of that" "" "$(cat "$tmp/out")"
	rm "$tmp/joined" "$tmp/alone"
	clean
}

# Samples of programs that have exited have names as long as the auxiliary file exists.
test_names() {
	local bash

	bash=$(type -P bash)
	cp "$bash" "$tmp/program"
	start -a -M 1M
	# shellcheck disable=SC2016 # for the other shell
	"$tmp/program" -c 'kill -0 $(($1 + 1)); true' - "$number_base" 2> /dev/null
	dump 1
	perf script -i "$(sample 1)" -F comm > "$tmp/comm" 2> "$tmp/said"
	same "its name" program "$(xargs < "$tmp/comm")"
	# On a slow machine it also says that /proc took too long.
	check "said where it is from" grep -qxF "[ perf: read with the names in $aux ]" "$tmp/said"
	check "report" sh -c "perf report -i '$(sample 1)' --stdio 2>&1 | grep -q program"
	touch -d "2001-02-03 04:05:06" "$(sample 1)"
	perf report -i "$(sample 1)" --header-only > "$tmp/out" 2>&1
	says "the time of the samples, not of joining" "captured on *: Sat Feb *3 04:05:06 2001"
	mv "$aux" "$tmp/away"
	perf script -i "$(sample 1)" -F comm,trace > "$tmp/comm" 2> "$tmp/said"
	check "without it: no name, no failure" grep -q "^ *:.*pid: 0x" "$tmp/comm"
	check "that is said" grep -q "$aux is not there" "$tmp/said"
	mv "$tmp/away" "$aux"
	stop TERM
	start -a -M 1M
	perf script -i "$(sample 1)" -F comm > "$tmp/comm" 2> /dev/null
	same "its name after the next start" program "$(xargs < "$tmp/comm")"
	stop TERM
	clean
}

test_one() {
	start -a -M 1M
	refuse "a second one" "Another 'perf record --daemon' writes to $aux" \
		perf record -o "$base" --daemon -a -M 1M -e dummy -e "$number_event"
	refuse "a second one of that pid file" "has written $tmp/pid" \
		perf record -o "$tmp/other" --daemon --pid-file "$tmp/pid" -a -M 1M \
		-e "$number_event"
	check "it left nothing" test ! -e "$tmp/other.auxiliary"
	same "the pid file is still that of the first" "$pid" "$(cat "$tmp/pid")"
	echo 1 > "$tmp/new"
	mv "$tmp/new" "$tmp/pid"
	stop TERM
	same "the pid file of somebody else stays" 1 "$(cat "$tmp/pid")"
	clean

	ln -s "$tmp/elsewhere" "$aux"
	refuse "a link" "Cannot open $aux" \
		perf record -o "$base" --daemon -a -M 1M -e "$number_event"
	check "it is not followed" test ! -e "$tmp/elsewhere"
	clean

	start -a -M 1M
	dump 1
	stop TERM
	mount --bind "$aux" "$aux" || return
	undo_mount=$aux
	refuse "a file that cannot be renamed" "Cannot rename $aux" \
		perf record -o "$base" --daemon -a -M 1M -e "$number_event"
	umount "$aux"
	undo_mount=
	check "it is still there" test -s "$aux"
	check "and has the names of its samples" sh -c \
		"perf script -i '$(sample 1)' 2>&1 | grep -qxF '[ perf: read with the names in $aux ]'"
	clean
}

# refuse_file WHAT WHY FILE OPTION...: FILE is not written to, for this reason, and stays as it is
refuse_file() {
	local what=$1 why=$2 file=$3 before

	shift 3
	before=$(stat -c %i "$file" && cat "$file")
	refuse "$what" "Cannot write to $file: $why" \
		perf record -o "$base" --daemon -a -M 1M -e "$number_event" "$@"
	same "$what is as before" "$before" "$(stat -c %i "$file" && cat "$file")"
	rm "$file"
	same "others of $what" "" "$(parts)"
}

# A file of somebody else, or that a user has named by mistake, is neither written nor removed.
test_foreign() {
	local file

	mknod "$tmp/device" c 1 3
	refuse "a device as pid file" "Cannot write to $tmp/device: it is not a regular file" \
		perf record -o "$base" --daemon -a -M 1M -e "$number_event" --pid-file "$tmp/device"
	check "it is still there" test -c "$tmp/device"
	rm "$tmp/device"
	echo "not a number" > "$tmp/notes"
	refuse_file "a pid file with other contents" "it has something else than a process id" \
		"$tmp/notes" --pid-file "$tmp/notes"
	for file in "$aux" "$log" "$tmp/pid"; do
		echo 1 > "$file"
		chown 65534 "$file"
		refuse_file "${file##*/} of another user" "it belongs to another user" "$file" \
			--pid-file "$tmp/pid"
	done
	echo 1 > "$tmp/precious"
	ln "$tmp/precious" "$tmp/pid2"
	refuse_file "a pid file with another name" "it has something else than a process id, or" \
		"$tmp/pid2" --pid-file "$tmp/pid2"
	ln "$tmp/precious" "$log"
	refuse_file "a log with another name" "it has another name" "$log"
	for file in "$tmp/precious" "$tmp/empty"; do
		touch "$file"
		ln "$file" "$aux"
		start -a -M 1M
		stop TERM
		rm "$aux" "$log"
	done
	same "other names of the auxiliary file are as before" 1 "$(cat "$tmp/precious" "$tmp/empty")"
	rm "$tmp/precious" "$tmp/empty"

	touch "$base.sample.99991231T235959.999999Z"
	chown 65534 "$base.sample.99991231T235959.999999Z"
	start -a -M 1M --max-files 1
	number 1
	dump 2
	same "a file of this year" 1 "$(numbers "$(sample 1)")"
	number 2
	kill -USR1 "$pid"
	eventually "the older file of the same user is removed" grep -q "removed .*sample" "$log"
	same "the newer one" "1 2" "$(numbers "$(sample 1)")"
	check "that of the other user stays" test -e "$base.sample.99991231T235959.999999Z"
	stop TERM
	clean
}

names_of() {
	perf script -f -i "$1" -F comm 2> /dev/null | xargs
}

# Samples keep their names as long as they are there, however often recording began since, and if
# it failed to. A file of names goes when its samples are gone.
test_restarts() {
	local nr samples=perf.data.sample

	for nr in 1 2; do
		cp "$(type -P bash)" "$tmp/program$nr"
		start -a -M 1M
		# shellcheck disable=SC2016 # for the other shell
		"$tmp/program$nr" -c 'kill -0 $(($1 + 1)); true' - "$number_base" 2> /dev/null
		dump "$nr"
		stop TERM
	done
	refuse "a start that fails" "" \
		perf record -o "$base" --daemon -M 1M -C 9999 -e "$number_event"
	same "it changed nothing" \
		"perf.data.auxiliary perf.data.auxiliary.TIME perf.data.log $samples $samples" "$(parts)"
	start -a -M 1M
	same "of the first" program1 "$(names_of "$(sample 1)")"
	same "of the second" program2 "$(names_of "$(sample 2)")"
	stop TERM
	rm "$(sample 1)"
	# Somebody who is to look at it owns it now.
	chown 65534 "$(sample 1)"
	start -a -M 1M
	same "names of the first" 1 "$(find "$tmp" -name "perf.data.auxiliary.*" | wc -l)"
	same "of the second" program2 "$(names_of "$(sample 1)")"
	stop TERM
	rm "$(sample 1)"
	start -a -M 1M
	same "none is needed" "$no_samples" "$(parts)"
	stop TERM
	clean
}

# After a power failure a file may be shorter than its header says.
test_cut() {
	start -a -M 1M
	# shellcheck disable=SC2119 # no more options
	mark 50
	number 1
	dump 1
	stop KILL
	truncate -s -100 "$aux"
	refuse "join" "WARNING: some of $aux is damaged or missing" \
		perf data join -o "$tmp/joined" "$aux" "$(sample 1)"
	same "number" 1 "$(numbers "$tmp/joined")"
	rm "$tmp/joined"
	start -a -M 1M
	check "the next start keeps its names" sh -c "perf script -i '$(sample 1)' 2>&1 |
		grep -qx '.* names in $aux\.$time_pattern ]'"
	stop TERM
	# Nobody knows what it belongs to.
	truncate -s 50 "$(sample 1)"
	start -a -M 1M
	nr_aux=$(find "$tmp" -name "perf.data.auxiliary.*" | wc -l)
	same "files of names while a file of samples cannot be read" 2 "$nr_aux"
	stop TERM
	clean
}

# Processes in the background, to end when the test does
helpers=()
end_helpers() {
	[ ${#helpers[@]} -ne 0 ] || return
	kill -KILL "${helpers[@]}" 2> /dev/null
	wait "${helpers[@]}" 2> /dev/null
	helpers=()
}
at_end end_helpers

# The unfinished files of a perf that was killed are removed, other files are not.
test_unfinished() {
	local time=20261124T130502.123456Z

	touch "$tmp/.perf.data.sample.$time.abcdef.tmp" "$tmp/.perf.data.auxiliary.abcdef.tmp" \
		"$tmp/.perf.data.sample.$time.mine.tmpx" "$tmp/.perf.data.sample.today.abcdef.tmp" \
		"$tmp/.perf.data.other.abcdef.tmp" "$tmp/.perf.data.abcdef.tmp"
	# 'perf data join' holds such a lock while it writes the file.
	flock -F "$tmp/.perf.data.locked.tmp" sleep 600 &
	helpers+=($!)
	eventually "it is locked" sh -c "! flock -n '$tmp/.perf.data.locked.tmp' true"
	start -a -M 1M
	end_helpers
	check "nobody holds the lock now" flock -n "$tmp/.perf.data.locked.tmp" true
	same "what is left" ".perf.data.locked.tmp .perf.data.other.abcdef.tmp .perf.data.sample .perf.data.sample $no_samples" \
		"$(parts)"
	kill -KILL "$pid"
	eventually "it is killed" ended
	pid=
	start -a -M 1M
	number 1
	dump 1
	kill -KILL "$pid"
	eventually "it is killed again" ended
	pid=
	same "what was written is whole" 1 "$(numbers "$(sample 1)")"
	check "and can be joined" perf data join -o "$base" "$aux" "$(sample 1)"
	clean
}

# The name of an existing file is later than now, as after the clock was set back.
test_clock() {
	start -a -M 1M
	touch "$base.sample.29991231T235959.999999Z"
	number 1
	dump 2
	same "after it" "$base.sample.30000101T000000.000000Z" "$(sample 2)"
	same "numbers" 1 "$(numbers "$(sample 2)")"
	stop TERM
	clean
}

online=/sys/devices/system/cpu/cpu1/online
# shellcheck disable=SC2317 # called at the end
cpu_returns() {
	[ ! -w "$online" ] || echo 1 > "$online"
}
at_end cpu_returns

# perf cannot record on a CPU that was offline, and says so.
test_offline() {
	if ! [ -w "$online" ]; then
		echo "CPU 1 cannot go offline: not tested"
		return
	fi
	start -a -M 1M
	dump 1
	check "no CPU is missing" test "$(grep -c "is not recorded any more" "$log")" = 0
	echo 0 > "$online"
	cpu_returns
	dump 2
	check "CPU 1 is" grep -q "WARNING: CPU 1 was offline since perf began" "$log"
	stop TERM
	clean
}

# When the recorded tasks end, perf writes what is in memory, even if nobody asked for a file.
test_tasks() {
	mkfifo "$tmp/go"
	# shellcheck disable=SC2016 # for the other shell
	bash -c 'read -r _ < "$2"; kill -0 $(($1 + 1)); true' - "$number_base" "$tmp/go" \
		2> /dev/null &
	start -M 1M -p $!
	echo > "$tmp/go"
	eventually "it ends with the task" ended
	pid=
	same "what was in memory" 1 "$(numbers "$(sample 1)")"
	rm "$tmp/go"
	clean
}

test_command() {
	# shellcheck disable=SC2016 # for the other shell
	start -a -M 1M bash -c 'kill -0 $(($1 + 1)); kill -USR1 $PPID; sleep 1000' - "$number_base"
	eventually "a file for the command" has_samples 1
	same "number" 1 "$(numbers "$(sample 1)")"
	stop TERM
	clean
	refuse "no such command" "for the '$tmp/none' workload: No such file" \
		perf record -o "$base" --daemon -M 1M -e "$number_event" "$tmp/none"
	same "nothing is left" "" "$(parts)"
}

# A signal does not end the wait for a command that ends slowly.
test_slow_command() {
	local perf status=0

	# shellcheck disable=SC2016 # for the other shell
	NOTIFY_SOCKET=$tmp/none perf record -o "$base" --daemon -a -M 1M -e "$number_event" \
		bash -c 'trap ": > \"$1/told\"" TERM; : > "$1/runs"
			until [ -e "$1/go" ] || [ ! -d "$1" ]; do sleep 0.1; done
			exit 7' - "$tmp" 2> "$tmp/said" &
	perf=$!
	helpers+=("$perf")
	eventually "it runs" test -e "$tmp/runs"
	kill -USR2 "$perf"
	eventually "it is told to end" test -e "$tmp/told"
	eventually "perf waits for it" grep -qx do_wait "/proc/$perf/wchan"
	check "the file does not" perf script -i "$base"
	kill -USR1 "$perf"
	touch "$tmp/go"
	wait "$perf" || status=$?
	helpers=()
	same "exit status of the command" 7 "$status"
	rm "$tmp"/{runs,told,go}
	clean
}

# shellcheck disable=SC2317 # called by eventually
dump_has_samples() {
	kill -USR1 "$pid"
	grep -q 'wrote .*([1-9][0-9]* samples)' "$log"
}

# The example command of the first proposal
test_sampling() {
	local file

	rm -f "$tmp/pid"
	check "-M of a command" perf record -o "$base" --daemon --pid-file "$tmp/pid" \
		-M 1M -e cpu-clock -g -F 100 -a sleep 1000
	pid=$(cat "$tmp/pid")
	eventually "a file with samples" dump_has_samples
	stop TERM
	file=$(sed -n 's/.*wrote \(.*\) ([1-9][0-9]* samples).*/\1/p' "$log" | head -n 1)
	check "it can be read" perf script -i "$file" -F comm,time,event
	says "samples are of its event" "cpu-clock"
	check "its frequency and call chains" sh -c "perf evlist -v -i '$file' 2> /dev/null |
		grep -q 'cpu-clock.*sample_freq }: 100,.*CALLCHAIN'"
	perf script -i "$file" -F comm,time,event > "$tmp/script" 2> /dev/null
	check "join" perf data join -o "$tmp/joined" "$aux" "$file"
	same "samples of both" "$(wc -l < "$tmp/script")" \
		"$(perf script -i "$tmp/joined" -F comm,time,event 2> /dev/null | wc -l)"
	rm -f "$tmp/joined"
	clean
}

test_notify() {
	local perf socket

	socket=$(type -P python3) || { echo "no python3: \$NOTIFY_SOCKET is not tested"; return; }
	"$socket" -c 'import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
s.settimeout(120)
print("bound", flush=True)
print(s.recv(100).decode(), flush=True)' "$tmp/socket" > "$tmp/notified" &
	helpers+=($!)
	eventually "a socket" grep -q bound "$tmp/notified"
	NOTIFY_SOCKET=$tmp/socket perf record -o "$base" --daemon -a -M 1M -e "$number_event" \
		2> "$tmp/said" &
	perf=$!
	helpers+=("$perf")
	eventually "it tells the socket" grep -q READY=1 "$tmp/notified"
	check "it is in the foreground" kill -0 "$perf"
	kill -TERM "$perf"
	wait "$perf"
	end_helpers
	check "no log" test ! -e "$log"
	clean
}

# The systemd unit: its commands work, and systemd-analyze has no complaints.
test_unit() {
	local unit options

	unit=$(dirname "$0")/../../scripts/systemd/perf-record.service
	[ -e "$unit" ] || { echo "no unit at $unit: it is not tested"; return; }
	if type -P systemd-analyze > /dev/null; then
		sed "s|/usr/bin/perf|$(type -P true)|" "$unit" > "$tmp/perf-record.service"
		check "the unit" systemd-analyze verify "$tmp/perf-record.service"
		same "complaints" "" "$(cat "$tmp/out")"
	else
		echo "no systemd-analyze: the unit is not verified"
	fi
	options=$(sed -n 's|^ExecStart=/usr/bin/perf record||p' "$unit")
	options=${options//%S\/perf-record/$tmp}
	# shellcheck disable=SC2086 # many words
	check "ExecStart" perf record $options --pid-file "$tmp/pid"
	pid=$(cat "$tmp/pid")
	sh -c "MAINPID=$pid; $(sed -n 's/^ExecReload=//p' "$unit")"
	eventually "a file for ExecReload" has_samples 1
	check "it has both events" sh -c "perf evlist -i '$(sample 1)' 2> /dev/null | sort | xargs |
		grep -q 'clock.*sched:sched_switch'"
	stop TERM
	clean
}

# --exclude-perf must exclude the process in the background, not the one that started it.
test_exclude() {
	rm -f "$tmp/pid"
	check "--exclude-perf" perf record -o "$base" --daemon --pid-file "$tmp/pid" -a -M 1M \
		-e "$fill_event" --exclude-perf
	pid=$(cat "$tmp/pid")
	dump 1
	dump 2
	same "samples of its own" "" "$(perf script -i "$(sample 2)" --tid "$pid" 2> /dev/null)"
	stop TERM
	clean
}

# Whoever starts it may have closed standard files, whose numbers others would get.
test_closed() {
	start -a -M 1M <&-
	number 1
	dump 1
	check "no error" sh -c "! grep -q Cannot '$log'"
	check "what joins them" perf data join -o "$tmp/joined" "$aux" "$(sample 1)"
	same "numbers" 1 "$(numbers "$tmp/joined")"
	check "the names of tasks" test -n "$(comms "$tmp/joined")"
	rm "$tmp/joined"
	stop TERM
	clean
}

# Without the auxiliary file, samples have few names: perf must say so.
test_moved() {
	start -a -M 1M
	mv "$aux" "$tmp/moved"
	number 1
	dump 1
	check "it is said" grep -q "WARNING: $aux was removed, renamed or replaced" "$log"
	echo foreign > "$aux"
	stop USR2
	same "numbers" 1 "$(numbers "$base")"
	same "the file of somebody else" foreign "$(cat "$aux")"
	rm "$tmp/moved"
	clean
}

test_refused() {
	local option

	refuse "without -M" "set the size with -M" perf record --daemon -a -e dummy
	for option in --pid-file=x --keep-parts --max-files=1 --max-total=1M; do
		refuse "$option without it" "${option%=*} needs --daemon" \
			perf record -M 1M "$option" -a -e "$number_event" true
	done
	for option in "-o -" --max-size=1M --timestamp-filename --kcore --tail-synthesize \
		      --switch-events --no-timestamp --switch-output; do
		# shellcheck disable=SC2086 # two words
		refuse "with $option" "cannot be used with ${option%%=*}" \
			perf record -o "$base" --daemon -M 1M -a -e "$number_event" $option
	done
	refuse "an event without times" "has the term 'time=0'" \
		perf record -o "$base" --daemon -M 1M -a -e "$number_event" -e page-faults/time=0/
	refuse "a directory that is not there" "Cannot open $tmp/none/perf.data.auxiliary" \
		perf record -o "$tmp/none/perf.data" --daemon -M 1M -a -e "$number_event"
	refuse "no right to it" "" perf record -o "$base" --daemon -M 1M -C 9999 -e "$number_event"
	same "nothing is left" "" "$(parts)"
}

test_incidents
test_ends
test_damaged
test_empty
test_names
test_one
test_foreign
test_restarts
test_cut
test_unfinished
test_clock
test_offline
test_tasks
test_command
test_slow_command
test_sampling
test_notify
test_unit
test_exclude
test_closed
test_moved
test_refused
exit "$failed"
