#!/bin/bash
# reading a namespace shows progress, and Ctrl-C leaves a valid file
# SPDX-License-Identifier: GPL-2.0

# shellcheck disable=SC2154 # the library sets them
# shellcheck source=lib/persistent.sh
. "$(dirname "$0")"/lib/persistent.sh

persistent_require
require_fill

nr=20000

test_pipe() {
	local status

	start_reading "$half" perf ctl -r "$ns" -o -
	kill -INT "$reader"
	finish_reading
	status=$?
	same "status" $((128 + $(kill -l INT))) "$status"
	check "it says so" grep -q "interrupted" "$tmp/said"
	check "it is shorter" test "$(stat -c %s "$tmp/part")" -lt "$size"
	check "perf script" perf script -i "$tmp/part"
	says "what is in there" "$fill_event"
}

# Find the ioctl() that asks how far the writers of the first CPU are, before perf reads
# the second CPU
second_ioctl() {
	strace -qq -o "$tmp/trace" -e trace=ioctl perf ctl -r "$ns" -o "$data" > "$tmp/out" 2>&1 ||
		return
	# perf first lists the members of the namespace until ENOENT, then asks the events.
	awk -F '[(,]' '
		/_IOC\(_IOC_READ\|_IOC_WRITE, 0x24, 0xf, / {
			if (/ENOENT/)
				listed = 1
			else if (listed && ++nr == 1)
				print NR
		}' "$tmp/trace"
}

test_file() {
	local when

	type -P strace > /dev/null || { echo "no strace: a file is not tested"; return; }
	if [ "$(getconf _NPROCESSORS_ONLN)" -lt 2 ]; then
		echo "one CPU: a file is not tested"
		return
	fi
	when=$(second_ioctl)
	check "where it reads" test "$when"
	refuse "Ctrl-C" "interrupted" strace -qq -o /dev/null -e trace=ioctl \
	       -e inject=ioctl:signal=SIGINT:when="$when" perf ctl -r "$ns" -o "$data"
	check "perf script" perf script -i "$data"
	same "CPUs" 0 "$(perf script -i "$data" -F cpu 2> /dev/null | tr -d '[] ' | sort -un |
			 sed 's/^0*\(.\)/\1/')"
	# Do not check the task: its name is in the buffers that were not read.
	check "all of the first CPU" test "$nr" -le \
	      "$(perf script -i "$data" -F event 2> /dev/null | grep -c "$fill_event")"

	# With --max-size, perf holds records back until it knows the newest. It writes
	# them on Ctrl-C as well.
	refuse "Ctrl-C with --max-size" "interrupted" strace -qq -o /dev/null -e trace=ioctl \
	       -e inject=ioctl:signal=SIGINT:when="$when" \
	       perf ctl -r "$ns" -o "$data" --max-size 64M
	check "all of the first CPU" test "$nr" -le \
	      "$(perf script -i "$data" -F event 2> /dev/null | grep -c "$fill_event")"

	# With a command, the first Ctrl-C only ends the recording; a second one would interrupt.
	refuse "with a command" "Captured" strace -qq -o /dev/null -e trace=ioctl \
	       -e inject=ioctl:signal=SIGINT:when="$when" \
	       perf record -e "persistent/$ns/" -o "$data" sleep 1000
	check "not interrupted" sh -c "! grep interrupted $tmp/said"
	same "all of it" "$nr" "$(filled "$data")"

	refuse "-k" "'$ns' is not deleted" strace -qq -o /dev/null -e trace=ioctl \
	       -e inject=ioctl:signal=SIGINT:when="$when" \
	       perf record -e "persistent/$ns/" -o "$data" -k
	check "it is still there" exists "$ns"

	# SIGHUP, as when the connection is lost
	refuse "-k and a hangup" "'$ns' is not deleted" env --default-signal=HUP \
	       strace -qq -o /dev/null -e trace=ioctl \
	       -e inject=ioctl:signal=SIGHUP:when="$when" \
	       perf record -e "persistent/$ns/" -o "$data" -k
	check "list" perf ctl -l "$ns"
	same "state" on "$(column STATE)"
}

test_nothing_lost() {
	check "read all" perf ctl -r "$ns" -o "$data"
	same "everything" "$nr" "$(filled "$data")"
}

# on_terminal COMMAND: run it on a terminal, whose output goes to $tmp/terminal
on_terminal() {
	script -qec "$1" /dev/null < /dev/null > "$tmp/terminal"
}

test_progress() {
	type -P script > /dev/null || { echo "no script: progress is not tested"; return; }
	on_terminal "perf ctl -r $ns -o - | { head -c $half; sleep 1.1; cat; } > $tmp/part"
	check "progress on a slow one" grep -q 'Reading\.\.\. *[0-9]*% \[' "$tmp/terminal"
	same "everything" "$nr" "$(filled "$tmp/part")"
	on_terminal "perf record -q -e persistent/$ns/ -o - | { head -c $half; sleep 1.1; cat; } > $tmp/part"
	check "not with -q" sh -c "! grep Reading $tmp/terminal"
}

test_no_terminal() {
	start_reading "$half" perf ctl -r "$ns" -o -
	sleep 1.1
	finish_reading
	check "no progress without a terminal" sh -c "! grep Reading $tmp/said"
	same "everything" "$nr" "$(filled "$tmp/part")"
}

# Progress is shown after the first CPU; the reader goes away during the second.
test_error_line() {
	if [ "$(getconf _NPROCESSORS_ONLN)" -lt 2 ]; then
		echo "one CPU: an error after progress is not tested"
		return
	fi
	fill "$nr" 1
	on_terminal "perf ctl -r $ns -o - | { head -c $half; sleep 1.1; head -c $size; } > $tmp/part"
	tr '\r' '\n' < "$tmp/terminal" > "$tmp/lines"
	check "progress" grep -q 'Reading\.\.\.' "$tmp/lines"
	check "an error has its own line" grep -q '^failed to write' "$tmp/lines"
}

check "create" perf record -P "$ns" -e "$fill_event" --filter "$fill_filter" -m 1024 -a
fill "$nr"
check "read all" perf ctl -r "$ns" -o - > /dev/null
size=$(stat -c %s "$tmp/out")
half=$((size / 2))
test_pipe
test_file
test_nothing_lost
test_progress
test_no_terminal
test_error_line
exit "$failed"
