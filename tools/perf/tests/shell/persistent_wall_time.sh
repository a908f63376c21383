#!/bin/bash
# perf ctl -r --from and --to take wall-clock times
# SPDX-License-Identifier: GPL-2.0

# shellcheck disable=SC2154 # the library sets them
# shellcheck source=lib/persistent.sh
. "$(dirname "$0")"/lib/persistent.sh

persistent_require
require_numbers

# another_second: wait until the clock is more than two seconds later
another_second() {
	local now

	now=$(date +%s)
	until (($(date +%s) > now + 2)); do
		sleep 0.1
	done
}

# reads EXPECTED OPTION...: check the numbers that are read
reads() {
	local expected=$1

	shift
	check "read $*" perf ctl read "$ns" -o "$data" "$@"
	same "numbers" "$expected" "$(numbers "$data")"
}

test_times() {
	local between zone

	number 1
	another_second
	between=$(date +%s)
	another_second
	number 2
	# Zones that need no zone files; 'perf test "Times of day"' tests changes of clocks.
	for zone in UTC0 NST3:30NDT,M3.2.0,M11.1.0 NPT-5:45; do
		export TZ=$zone
		reads 2 --from "$(date -d "@$between" '+%Y-%m-%d %H:%M:%S')"
		reads 1 --to "$(date -d "@$between" '+%Y-%m-%dT%H:%M:%S.5')"
	done
	export TZ=UTC0
	reads "1 2" --from "$(date -d "@$((between - 86400))" '+%Y-%m-%d %H:%M')"
	reads "1 2" --from "$(date -d "@$((between - 3600))" '+%H:%M')"
	reads "1 2" --from "$(date -d "@$((between - 3600))" '+%H:%M:%S')" \
	      --to "$(date -d "@$((between + 86400))" '+%Y-%m-%d %H:%M')"
	# A time of day in the future means yesterday's.
	reads "" --to "$(date -d "@$((between + 7200))" '+%H:%M')"
	reads "1 2" --last 1d
	reads "1 2" --last 0.5d1h
}

test_refused() {
	local bad

	for bad in 25:00 3:61 2026-02-30\ 12:00 2026-11-22 2026-11-22\ 03:14:07.1234567890 \
		   03:14:07. 03:14x; do
		refuse "--from $bad" "or a local time as in --from '2026-11-22 03:14:07'" \
		       perf ctl read "$ns" -o "$data" --from "$bad"
	done
	refuse "an end before the start" "swap them" perf ctl read "$ns" -o "$data" \
	       --from "2026-11-22 03:14" --to "2026-11-22 03:13"
}

keep_numbers "$ns" -a -m 64K
test_times
test_refused
exit "$failed"
