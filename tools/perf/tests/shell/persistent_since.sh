#!/bin/bash
# perf ctl wait --since reports each snapshot once
# SPDX-License-Identifier: GPL-2.0

# shellcheck disable=SC2154 # the library sets them
# shellcheck source=lib/persistent.sh
. "$(dirname "$0")"/lib/persistent.sh

persistent_require
require_numbers

# waits EXPECTED OPTION...: check the name that perf ctl wait prints
waits() {
	local expected=$1

	shift
	same "wait $*" "$expected" "$(perf ctl wait "$ns" --timeout 5m "$@" 2> "$tmp/said")"
}

take() {
	perf ctl -s "$ns" > "$tmp/out" 2>&1 || fail "take one: $(cat "$tmp/out")"
}

# shellcheck disable=SC2317 # eventually calls it
waiting() {
	grep -qs "waiting for" "$tmp/said"
}

test_since() {
	take
	take
	waits "$ns.1" --since 0
	waits "$ns.2" --since 1
	waits "$ns.2" --since 1 -q
	same "what -q says" "" "$(cat "$tmp/said")"
	waits "$ns.1 by hand" --since 0 -- sh -c "echo \$PERF_SNAPSHOT by hand\$PERF_NOTE"
	check "attach a note" perf ctl note "$ns.1" --text "web1 slow"
	waits "$ns.1 web1 slow" --since 0 -- sh -c "echo \$PERF_SNAPSHOT \$PERF_NOTE"
	perf ctl wait "$ns" --since 2 > "$tmp/name" 2> "$tmp/said" &
	eventually "wait for what there is not" waiting
	take
	wait $!
	same "the next one" "$ns.3" "$(cat "$tmp/name")"
}

# A loop sees each snapshot, even if several are taken between two calls.
test_loop() {
	local name n=3 seen=()

	check "keep many" perf ctl keep "$ns" -n 64
	for _ in 1 2 3 4 5 6 7 8; do
		take
	done &
	while ((n < 11)); do
		name=$(perf ctl wait "$ns" --since "$n" --timeout 5m 2> "$tmp/said") || break
		n=${name##*.}
		seen+=("$n")
	done
	wait $!
	same "each of them, once" "4 5 6 7 8 9 10 11" "${seen[*]}"
}

test_missing() {
	check "keep two" perf ctl keep "$ns" -n 2
	waits "$ns.10" --since 5
	check "what is missing" \
	      grep -q "WARNING: '$ns.6' to '$ns.9' were deleted before they were reported" \
	      "$tmp/said"
	refuse "a number from another one" "fewer than --since 12" perf ctl wait "$ns" --since 12
	refuse "no number" "--since takes a number" perf ctl wait "$ns" --since "$ns.3"
	status=0
	perf ctl wait "$ns" --since 11 --timeout 100ms > "$tmp/out" 2>&1 || status=$?
	same "exit status when nothing comes" 124 "$status"
}

# A snapshot that is deleted before perf ctl wait sees it is reported, too.
test_late() {
	perf ctl wait "$ns" --since 11 > "$tmp/name" 2> "$tmp/said" &
	eventually "wait" waiting
	kill -STOP $!
	check "keep one" perf ctl keep "$ns" -n 1
	take
	take
	kill -CONT $!
	wait $!
	same "the one that is there" "$ns.13" "$(cat "$tmp/name")"
	check "what is missing" \
	      grep -q "WARNING: '$ns.12' was deleted before it was reported" "$tmp/said"
}

# Snapshots that remain from an earlier namespace of this name use up their numbers: the
# new namespace skips these, and perf ctl wait must not report them as missing.
test_anew() {
	local last=$ns.13 twelve=()

	check "delete it" perf ctl delete "$ns" -q
	check "its snapshot is there" perf ctl list "$last"
	keep_numbers "$ns" -a -m 64K
	for _ in {1..12}; do
		twelve+=("$ns")
	done
	check "up to that number" perf ctl snapshot "${twelve[@]}"
	waits "$ns.5" --since 4
	check "keep two" perf ctl keep "$ns" -n 2
	take
	waits "$ns.12" --since 11
	waits "$ns.14" --since 12
	same "what is missing" 0 "$(grep -c WARNING "$tmp/said")"
}

keep_numbers "$ns" -a -m 64K
test_since
test_loop
test_missing
test_late
test_anew
exit "$failed"
