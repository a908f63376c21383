#!/bin/bash
# several namespaces, other events and some CPUs are read into one file
# SPDX-License-Identifier: GPL-2.0

# shellcheck disable=SC2154 # the library sets them
# shellcheck source=lib/persistent.sh
. "$(dirname "$0")"/lib/persistent.sh

persistent_require

exit_event=sched:sched_process_exit
last=$(($(getconf _NPROCESSORS_ONLN) - 1))

# exits FILE: the number of exits of the marker in FILE
exits() {
	perf script -i "$1" -F comm,event 2> /dev/null |
		grep -c "^ *$(basename "$marker" | cut -c 1-15) .*$exit_event" || true
}

# in_order FILE: check that the times of its records do not go back
in_order() {
	perf script -i "$1" -F time 2> /dev/null | tr -d ' :' > "$tmp/times"
	check "there are records" test -s "$tmp/times"
	check "in the order of time" sort -C -g "$tmp/times"
}

test_two() {
	mark 4
	check "read both" perf record -e "persistent/$ns/" -e "persistent/${ns}2/" -a -o "$data"
	same "execs, of the one" 4 "$(marks "$data")"
	same "exits, of the other" 4 "$(exits "$data")"
	in_order "$data"
	check "read both, given as one word" \
	      perf record -e "persistent/$ns/,persistent/${ns}2/" -o "$data" "$marker"
	same "execs, of the one" 5 "$(marks "$data")"
	same "exits, of the other" 5 "$(exits "$data")"
	in_order "$data"
}

test_mixed() {
	check "with an event of the command alone" \
	      perf record -e "persistent/$ns/" -e page-faults -c 1 -e "persistent/${ns}2/" \
	      -o "$data" "$marker"
	same "execs" 6 "$(marks "$data")"
	same "exits" 6 "$(exits "$data")"
	perf script -i "$data" -F comm,event 2> /dev/null | grep page-faults > "$tmp/script"
	check "page faults" test -s "$tmp/script"
	in_order "$data"
}

# An event without call chains must not get the call chains of another one.
test_chains() {
	check "create with call chains" perf record -P "${ns}3" -e cpu-clock -g -a
	check "read with an event that has none" \
	      perf record -e "persistent/${ns}3/" -e page-faults -c 1 -o "$data" "$marker"
	perf report -i "$data" --stdio --children -g none -s sym 2> /dev/null |
		awk '/^# Samples/ { on = /page-faults/ }
		     on && /^ +[0-9.]+%/ { print $1, $2 }' > "$tmp/faults"
	check "page faults in the report" test -s "$tmp/faults"
	same "of functions that had none" "" "$(awk '$1 != $2' "$tmp/faults" | head -n 1)"
	check "delete" perf ctl -d "${ns}3"
}

test_cpus() {
	local list=0,$last

	if [ "$last" -lt 2 ]; then
		echo "less than three CPUs: reading some of them is not tested"
		return
	fi
	taskset -c 0 "$marker"
	taskset -c 1 "$marker"
	taskset -c "$last" "$marker"
	check "read CPUs $list" perf record -e "persistent/$ns/" -C "$list" -o "$data"
	same "CPUs" "[000] [00$last]" \
	     "$(perf script -i "$data" -F cpu 2> /dev/null | sort -u | xargs)"
	# The exec of taskset does not count, and the marker stays on its CPU.
	perf record -e "persistent/$ns/" -C 1 -o "$data.1" > /dev/null 2>&1
	perf record -e "persistent/$ns/" -o "$data.all" > /dev/null 2>&1
	if [ "$last" = 2 ]; then
		same "execs of these and of the others" "$(marks "$data.all")" \
		     "$(($(marks "$data") + $(marks "$data.1")))"
	fi
}

test_kill() {
	check "read and delete both" \
	      perf record -e "persistent/$ns/" -e "persistent/${ns}2/" -o "$data" -k
	check "the one is gone" gone "$ns"
	check "the other is gone" gone "${ns}2"
}

check "create" perf record -P "$ns" -a -m 64 -e "$exec_event"
check "create another" perf record -P "${ns}2" -a -m 64 -e "$exit_event"
test_two
test_mixed
test_chains
test_cpus
test_kill
exit "$failed"
