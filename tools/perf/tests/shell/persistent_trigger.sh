#!/bin/bash
# perf ctl -t: triggers stop namespaces and take snapshots of them
# SPDX-License-Identifier: GPL-2.0

# shellcheck disable=SC2154 # the library sets them
# shellcheck source=lib/persistent.sh
. "$(dirname "$0")"/lib/persistent.sh

persistent_require
require_numbers

# trigger N OPTION...: add one that fires on number N
trigger() {
	local n=$1

	shift
	check "add a trigger" perf ctl -t "$ns" --when "$number_event" \
	      --filter "sig == 0 && pid == $((number_base + n))" --cool-down 0 "$@"
}

# cell N COLUMN: what the listing shows for trigger N; only cells of WHEN have blanks
cell() {
	perf ctl -l "$ns" | awk -v nr="$1" -v name="$2" '
		$1 == "NR" && $2 == "WHEN" {
			for (i = 1; i <= NF; i++)
				at[$i] = NF - i
			listed = 1
			next
		}
		listed && $1 == nr { print $(NF - at[name]); exit }'
}

# shellcheck disable=SC2317 # eventually calls it
cell_is() {
	[ "$(cell "$1" "$2")" = "$3" ]
}

# comes_to N COLUMN VALUE: wait until the listing shows it. The row of a trigger counts
# events before it shows their result.
comes_to() {
	eventually "$2 of trigger $1 is $3" cell_is "$@" ||
		{ perf ctl -l "$ns"; return 1; }
}

remove() {
	check "remove trigger $1" perf ctl -t "$ns" --remove "$1"
}

test_snapshot() {
	trigger 3 --do snapshot
	says "it says its number" "trigger 1 of '$ns': snapshot when $number_event"
	number 1 2 3
	comes_to 1 RESULT "$ns.1"
	number 4
	holds "$ns.1" "1 2 3"
	holds "$ns" "4"
	same "fired" 1 "$(cell 1 FIRED)"
	same "done" 1 "$(cell 1 DONE)"
	check "list" perf ctl -l "$ns.1"
	says "by whom" "This is snapshot 1 of '$ns', taken by trigger 1\.$"
	number 3
	comes_to 1 RESULT "$ns.2"
	holds "$ns.2" "4 3"
	remove 1
	number 3
	check "list" perf ctl -l "$ns"
	same "triggers" 0 "$(grep -c WHEN "$tmp/out")"
	holds "$ns" "3"
}

# With --after, the snapshot also has records from after the event.
test_after() {
	trigger 10 --do snapshot --after 10s
	number 10 11
	comes_to 2 RESULT "$ns.3"
	holds "$ns.3" "3 10 11"
	same "after" 10s "$(cell 2 AFTER)"
	remove 2
}

test_times() {
	trigger 12 --do snapshot --times 1
	number 12
	comes_to 3 DONE 1/1
	number 12
	comes_to 3 FIRED 2
	same "no more often" 1/1 "$(cell 3 DONE)"
	same "result" "$ns.4" "$(cell 3 RESULT)"
	remove 3
}

# state_is WHAT STATE: check the state of the namespace of test_arm()
state_is() {
	check "list" perf ctl -l "${ns}_arm"
	same "$1" "$2" "$(column STATE)"
}

test_arm() {
	check "create" perf record -P "${ns}_arm" -e "$number_event" -a -m 16
	check "add one that acts once" perf ctl -t "${ns}_arm" --when "$number_event" \
	      --filter "sig == 0 && pid == $((number_base + 50))" --do stop --times 1
	number 50
	state_is "it acted" stopped
	check "resume" perf ctl --resume "${ns}_arm"
	number 50
	state_is "it is spent" on
	check "arm" perf ctl -t "${ns}_arm" --arm 1
	number 50
	state_is "it acted again" stopped
	refuse "to arm none" "has no trigger 2" perf ctl -t "${ns}_arm" --arm 2
	refuse "to arm and more" "take no other option" \
	       perf ctl -t "${ns}_arm" --arm 1 --do stop
	check "delete" perf ctl -d "${ns}_arm"
}

test_cool_down() {
	trigger 13 --do snapshot --cool-down 1h
	number 13
	comes_to 4 DONE 1
	number 13 13
	comes_to 4 FIRED 3
	same "too early" 1 "$(cell 4 DONE)"
	same "result" "$ns.5" "$(cell 4 RESULT)"
	same "cool-down" 3600s "$(cell 4 COOL-DOWN)"
	remove 4
	# The time can be a sum, and have a fraction.
	trigger 13 --do snapshot --cool-down 1h1m1.5s
	same "cool-down" 3661500ms "$(cell 5 COOL-DOWN)"
	remove 5
	# Without --cool-down there is a default, and perf says so.
	check "add one without --cool-down" perf ctl -t "$ns" --when "$number_event" \
	      --filter "sig == 0 && pid == $((number_base + 13))" --do snapshot
	says "how often" "one snapshot in 1s at most"
	says "which ones are kept" "newest 8 are kept.*--keep.*--times 8"
	same "cool-down" 1s "$(cell 6 COOL-DOWN)"
	remove 6
	check "add one that stops" perf ctl -t "$ns" --when panic --do stop
	same "no cool-down" - "$(cell 7 COOL-DOWN)"
	remove 7
	check "add one of many events" perf ctl -t "$ns" --when 'sched:sched_process_*' --do stop \
	      --count 4000000000
	says "how many" "stop when sched:sched_process_\*, any of [0-9]* events"
	remove 8
}

# kept: the number of snapshots that the namespace keeps
kept() {
	perf ctl -l --json "${ns}_keep" | sed -n 's/.*"keep": \([0-9]*\),*$/\1/p' | head -n 1
}

# takes N: cause snapshot N. A trigger rests after it has acted, so one event may not be
# enough.
# shellcheck disable=SC2317 # eventually calls it
takes() {
	number 60
	exists "${ns}_keep.$1"
}

# exact BYTES: the size as perf prints it
exact() {
	if [ $(($1 % (1 << 20))) -eq 0 ]; then
		echo "$(($1 >> 20))M"
	else
		echo "$(($1 >> 10))K"
	fi
}

# --keep is set with the trigger, and perf says how much memory the snapshots may need.
test_keep() {
	local add=(perf ctl trigger "${ns}_keep" --when "$number_event" --do snapshot
		   --filter "sig == 0 && pid == $((number_base + 60))" --cool-down 0)
	local bytes

	check "create" perf record -P "${ns}_keep" -e "$number_event" -a -m 16
	bytes=$(perf ctl -l --json "${ns}_keep" | sed -n 's/.*"buffer_bytes": \([0-9]*\),*$/\1/p')
	check "fewer" "${add[@]}" --keep 2
	same "kept" 2 "$(kept)"
	says "what is kept" "newest 2 are kept"
	says "how much memory that is" "buffers of $(exact "$bytes"),\
 $(exact $((3 * bytes))) with 2 snapshots and 0 spares"
	says "and how much it can be" "$(exact $((5 * bytes))) at most, with what readers"
	eventually "take three" takes 3
	eventually "no more than 2" gone "${ns}_keep.1"
	check "more" "${add[@]}" --keep 3 -q
	check "nothing is said with -q" test "$(wc -l < "$tmp/out")" -le 1
	same "kept" 3 "$(kept)"
	refuse "no such event" "perf list" perf ctl trigger "${ns}_keep" --when nothing:at_all \
	       --do snapshot --keep 5
	same "kept as before" 3 "$(kept)"
	refuse "to stop" "only with '--do snapshot'" \
	       perf ctl trigger "${ns}_keep" --when panic --do stop --keep 5
	refuse "to remove" "take no other option" perf ctl trigger "${ns}_keep" --remove 1 --keep 5
	same "kept as before" 3 "$(kept)"
	check "delete" perf ctl delete "${ns}_keep" "${ns}_keep.*"
}

# --count counts per CPU, so cause all events on one CPU.
test_count() {
	check "clear" perf ctl --clear "$ns"
	trigger 14 --do snapshot --count 3
	taskset -c 0 "$BASH" -c "
		for i in 1 2 3 4; do kill -0 $((number_base + 14)) 2> /dev/null; done; :"
	comes_to 9 RESULT "$ns.6"
	same "the third" 1 "$(cell 9 FIRED)"
	remove 9
}

# Several triggers have their own numbers and act independently.
test_several() {
	trigger 15 --do snapshot
	trigger 16 --do snapshot
	number 16
	comes_to 11 RESULT "$ns.7"
	same "the other one" 0 "$(cell 10 FIRED)"
	remove 10
	number 15 16
	comes_to 11 RESULT "$ns.8"
	remove 11
}

# held NUMBERS: check what the namespace holds. Number 18 stops it, and may be recorded
# twice: by the trigger, and by the event of the namespace if that fires before the trigger
held() {
	check "read" perf ctl -r "$ns" -o "$data"
	same "numbers" "$1" "$(numbers "$data" | sed 's/18 18/18/')"
}

# missed: the number of records not taken while the namespace was stopped. The first such
# key in the JSON is that of the namespace.
missed() {
	perf ctl -l --json "$ns" | sed -n 's/.*"missed": \([0-9]*\),*$/\1/p' | head -n 1
}

# Records that are not taken while stopped do not count as lost. perf reports them
# separately if the kernel counts them.
test_missed() {
	local before listed

	check "there is a number" test -n "$(missed)"
	if [ "$(missed)" = 0 ]; then
		echo "this kernel does not count what is not taken: not tested"
		return
	fi
	check "read" perf ctl -r "$ns" -o "$data"
	same "how often it is said" 1 "$(grep -c "not taken while it was stopped" "$tmp/out")"
	# These commands cause more events that are not taken.
	before=$(missed)
	check "list" perf ctl -l "$ns"
	listed=$(sed -n 's/^Not taken while it was stopped: \([0-9]*\) records\.$/\1/p' "$tmp/out")
	check "it is listed: $listed" test "$before" -le "$listed" -a "$listed" -le "$(missed)"
	same "lost" 0 "$(perf report -i "$data" --stdio 2>&1 | grep -c "and lost")"
}

test_stop() {
	check "clear" perf ctl --clear "$ns"
	trigger 18 --do stop
	number 17 18
	comes_to 12 RESULT stopped
	number 19
	held "17 18"
	test_missed

	# A trigger takes no snapshot of a stopped namespace, which would replace its
	# records. A snapshot by hand is allowed.
	trigger 16 --do snapshot
	number 16
	comes_to 13 RESULT stopped
	same "what it has done" 0 "$(cell 13 DONE)"
	check "list for programs" perf ctl -l --json "$ns"
	says "the number is that of ECANCELED" '"error": 125,'
	held "17 18"
	remove 13

	check "list" perf ctl -l "$ns"
	same "state" stopped "$(column STATE)"

	# When -k cannot write, it enables what it disabled, but must not resume what was
	# stopped.
	refuse "-k to a full disk" "'$ns' is not deleted, and records as before" \
	       sh -c "perf record -e persistent/$ns/ -o - -k > /dev/full"
	check "list" perf ctl -l "$ns"
	same "state" stopped "$(column STATE)"
	number 19
	held "17 18"
	check "let it go on" perf ctl --resume "$ns"
	number 20
	held "17 18 20"
	check "list" perf ctl -l "$ns"
	same "state" on "$(column STATE)"
	number 18
	comes_to 12 DONE 2
	check "let it go on" perf ctl --resume "$ns"
	remove 12
	# The record of the trigger's event outlives it.
	check "read what it left" perf ctl read "$ns" -o "$tmp/left"
	says "what is missing" "records of events that have left the namespace"
	# As in held(), the namespace has an 18 only if its event came before the trigger's.
	same "nothing else is" "17 20" "$(numbers "$tmp/left" | sed 's/ 18//g')"
	check "the file is good" perf script -i "$tmp/left"
}

# shellcheck disable=SC2317
waiting() {
	grep -q "waiting for" "$tmp/waits"
}

# start_waiting OPTION...: wait in the background; no later event can be missed
start_waiting() {
	: > "$tmp/waits"
	perf ctl --wait "$ns" --timeout 5m "$@" > "$tmp/waits" 2>&1 &
	waiter=$!
	eventually "wait" waiting
}

# waited EXPECTED: check the exit status of the command in the background
waited() {
	local status=0

	wait "$waiter" || status=$?
	same "exit status" "$1" "$status"
	cp "$tmp/waits" "$tmp/out"
}

test_wait() {
	# shellcheck disable=SC2016 # for the other shell
	local command='echo "$PERF_NAMESPACE,$PERF_SNAPSHOT,$PERF_TRIGGER"; exit 7'

	trigger 21 --do snapshot
	trigger 22 --do stop
	start_waiting
	number 21
	waited 0
	says "what it was" "trigger 14 has taken '$ns.9'"

	start_waiting -- sh -c "$command"
	number 21
	waited 7
	says "what the command knows" "^$ns,$ns.10,14$"

	start_waiting -- sh -c "$command"
	number 22
	waited 7
	says "what the command knows" "^$ns,,15$"
	check "let it go on" perf ctl --resume "$ns"

	start_waiting -- sh -c "$command"
	check "take one by hand" perf ctl -s "$ns"
	waited 7
	says "what the command knows" "^$ns,$ns.11,$"

	start_waiting --timeout 100ms -- sh -c "$command"
	waited 124
	says "that it was in vain" "within 100ms"

	start_waiting -- "$tmp/nothing"
	check "take one by hand" perf ctl -s "$ns"
	waited 127
	remove 14
	remove 15
}

test_wait_deleted() {
	start_waiting
	check "delete it" perf ctl -d "$ns" "$ns.*"
	waited 1
	says "that it is gone" "it was deleted"
}

# shellcheck disable=SC2317 # eventually calls it
waits() {
	grep -q '^State:.*[DRS] (' "/proc/$waiter/status"
}

# A trigger rests for a moment after it has failed, so one event may not be enough.
# shellcheck disable=SC2317 # eventually calls it
takes_first() {
	number 23
	exists "$ns.1"
}

# perf ctl wait says when a trigger cannot act, and goes on waiting.
test_wait_failed() {
	keep_numbers "$ns" -a -m 64K
	trigger 23 --do snapshot
	number 24
	check "stop it" perf ctl --stop "$ns"
	start_waiting
	number 23
	eventually "it says why there is none" grep -q \
		"^WARNING: trigger 1 fired and could not take a snapshot of '$ns': stopped$" \
		"$tmp/waits"
	check "it goes on waiting" waits
	holds "$ns" 24
	check "let it go on" perf ctl --resume "$ns"
	eventually "there is one" takes_first
	waited 0
	says "what it was" "trigger 1 has taken '$ns.1'"
	check "read" perf ctl -r "$ns.1" -o "$data"
	same "nothing is lost" 24 "$(numbers "$data" | sed 's/\( 23\)*$//')"
	check "delete" perf ctl -d "$ns" "$ns.*"
}

# Triggers on a counter, and on words for kernel failures, which this test does not cause
test_words() {
	local word n=16

	check "a counter" perf ctl -t "$ns" --when context-switches --do snapshot --times 1
	comes_to $n DONE 1/1
	remove $n
	for word in panic oops softlockup warn warning hung-task rcu-stall oom; do
		case $word in
		warn*)		needs=error_report:error_report_end ;;
		hung-task)	needs=sched:sched_process_hang ;;
		rcu-stall)	needs=rcu:rcu_stall_warning ;;
		oom)		needs=oom:mark_victim ;;
		*)		needs= ;;
		esac
		[ -z "$needs" ] || perf list tracepoint | grep -q "$needs" || continue
		((n++))
		check "$word" perf ctl -t "$ns" --when "$word" --do stop
		says "it is trigger $n" "trigger $n of '$ns': stop when $word"
		check "list" sh -c "perf ctl -l $ns | grep '^$n  *$word  *stop  *- .* 0  *0  *-  *-$'"
		remove "$n"
	done
}

test_refused() {
	local add=(perf ctl -t "$ns" --do snapshot) snapshot

	refuse "no event" "-t needs --when and --do" "${add[@]}"
	refuse "nothing to do" "-t needs --when and --do" perf ctl -t "$ns" --when cs
	refuse "something else to do" "'stop' or 'snapshot'" perf ctl -t "$ns" --when cs --do run
	refuse "no such event" "perf list" "${add[@]}" --when nothing:at_all
	check "words are said there" grep -q "rcu-stall and oom" "$tmp/said"
	refuse "a namespace" "is a namespace" "${add[@]}" --when "persistent/$ns/"
	refuse "a group" "is a group" "${add[@]}" --when "{cs,faults}"
	refuse "a period of its own" "use --count" "${add[@]}" --when cpu-clock/period=3/
	refuse "no such field" "the filter 'pit == 3'" \
	       "${add[@]}" --when "$number_event" --filter "pit == 3"
	refuse "a filter of a counter" "'cs' is not one" "${add[@]}" --when cs --filter "pid == 3"
	refuse "a filter of a panic" "'panic' is not one" \
	       perf ctl -t "$ns" --when panic --do stop --filter "pid == 3"
	refuse "a snapshot in a panic" "--when panic --do stop" "${add[@]}" --when panic
	refuse "a snapshot in a soft lockup" "--when softlockup --do stop" \
	       "${add[@]}" --when softlockup
	refuse "what comes after a panic" "leave out --after" \
	       perf ctl -t "$ns" --when panic --do stop --after 1s
	refuse "a count of none" "--count takes a number" "${add[@]}" --when cs --count 0
	refuse "a time without a unit" "--after takes a number with a unit" \
	       "${add[@]}" --when cs --after 3
	refuse "no such trigger" "has no trigger 99" perf ctl -t "$ns" --remove 99
	refuse "to add and to remove" "take no other option" \
	       perf ctl -t "$ns" --remove 99 --when cs --do stop
	refuse "an option and no verb" "belong to -t" perf ctl -l --when cs
	refuse "a command and no verb" "Only --wait takes a command" perf ctl -l "$ns" -- true
	refuse "a time-out and no verb" "belongs to --wait" perf ctl -l "$ns" --timeout 3s
	refuse "to wait for what is not there" "no namespace called" perf ctl --wait "${ns}_not"
	check "a snapshot" perf ctl -s "$ns"
	snapshot=$(sed -n "s/.*'\($ns\.[0-9]*\)' holds.*/\1/p" "$tmp/out")
	refuse "a trigger of a snapshot" "is a snapshot" \
	       perf ctl -t "$snapshot" --when panic --do stop
	refuse "to wait for a snapshot" "is a snapshot" perf ctl --wait "$snapshot"
	check "list" perf ctl -l "$ns"
	same "triggers of all of these" 0 "$(grep -c WHEN "$tmp/out")"
}

test_nobody() {
	require_nobody || return 0
	refuse "to add one as nobody" "No permission" \
	       "${nobody[@]}" "$tmp/perf" ctl -t "$ns" --when panic --do stop
	refuse "to remove one as nobody" "No permission" \
	       "${nobody[@]}" "$tmp/perf" ctl -t "$ns" --remove 1
}

# If the record of the trigger itself cannot be written, perf says so.
test_no_record() {
	local add=(perf ctl -t "$ns" --when "$number_event" --do stop) nr

	keep_numbers "$ns" -a -m 64K
	nr=$(strace -qq -o "$tmp/trace" -e trace=ioctl "${add[@]}" > "$tmp/out" 2>&1 &&
		grep '^ioctl(' "$tmp/trace" | grep -n SET_OUTPUT | head -n 1 | cut -d : -f 1)
	[ "$nr" ] || { echo "strace does not work: not tested"; return; }
	remove 1
	check "add one" strace -qq -o "$tmp/trace" -e trace=ioctl \
	      -e inject=ioctl:error=EINVAL:when="$nr" "${add[@]}"
	says "what is missing" "WARNING: when '$ns' stops, it will lack the record"
	check "delete" perf ctl -d "$ns"
}

keep_numbers "$ns" -a -m 64K
test_snapshot
test_after
test_times
test_arm
test_cool_down
test_keep
test_count
test_several
test_stop
test_wait
test_words
test_refused
test_nobody
test_wait_deleted
test_wait_failed
test_no_record
exit "$failed"
