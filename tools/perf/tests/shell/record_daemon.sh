#!/bin/bash
# perf record --daemon keeps samples in memory, writes a file per incident
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
	# Set the size of the first record to 0.
	at=$(od -An -t u8 -j 40 -N 8 "$(sample 1)" | xargs)
	printf '\0\0' | dd of="$(sample 1)" bs=1 seek=$((at + 6)) conv=notrunc status=none
	stop USR2
	same "all that can be read" "1 2" "$(numbers "$base")"
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
	mkdir "$aux.old"
	refuse "a directory of the name for the old file" "Cannot rename $aux" \
		perf record -o "$base" --daemon -a -M 1M -e "$number_event"
	check "the old file is still there" test -s "$aux"
	clean
}

# The unfinished files of a perf that was killed are removed, other files are not.
test_unfinished() {
	local time=20261124T130502.123456Z

	touch "$tmp/.perf.data.sample.$time.abcdef.tmp" "$tmp/.perf.data.auxiliary.abcdef.tmp" \
		"$tmp/.perf.data.sample.$time.mine.tmpx" "$tmp/.perf.data.sample.today.abcdef.tmp" \
		"$tmp/.perf.data.other.abcdef.tmp" "$tmp/.perf.data.abcdef.tmp"
	# 'perf data join' holds such a lock while it writes the file.
	flock "$tmp/.perf.data.locked.tmp" sleep 600 &
	eventually "it is locked" sh -c "! flock -n '$tmp/.perf.data.locked.tmp' true"
	start -a -M 1M
	kill $!
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
			until [ -e "$1/go" ]; do sleep 0.1; done; exit 7' - "$tmp" 2> "$tmp/said" &
	perf=$!
	eventually "it runs" test -e "$tmp/runs"
	kill -USR2 "$perf"
	eventually "it is told to end" test -e "$tmp/told"
	eventually "perf waits for it" grep -qx do_wait "/proc/$perf/wchan"
	kill -USR1 "$perf"
	touch "$tmp/go"
	wait "$perf" || status=$?
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
print("bound", flush=True)
print(s.recv(100).decode(), flush=True)' "$tmp/socket" > "$tmp/notified" &
	eventually "a socket" grep -q bound "$tmp/notified"
	NOTIFY_SOCKET=$tmp/socket perf record -o "$base" --daemon -a -M 1M -e "$number_event" \
		2> "$tmp/said" &
	perf=$!
	eventually "it tells the socket" grep -q READY=1 "$tmp/notified"
	check "it is in the foreground" kill -0 "$perf"
	kill -TERM "$perf"
	wait "$perf"
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
test_unfinished
test_clock
test_tasks
test_command
test_slow_command
test_sampling
test_notify
test_unit
test_exclude
test_refused
exit "$failed"
