#!/bin/bash
# names of namespaces, and -P and -k beside --period and clocks
# SPDX-License-Identifier: GPL-2.0

# shellcheck disable=SC2154 # the library sets them
# shellcheck source=lib/persistent.sh
. "$(dirname "$0")"/lib/persistent.sh

persistent_require

# Words that are events of other PMUs, but namespaces in persistent/.../
test_words() {
	local name

	for name in cycles r1a; do
		exists "$name" && continue
		check "create $name" perf record -P "$name" -e cpu-clock -C 0 -m 1
		check "read $name" perf record -e "persistent/$name/" -o "$data" -k
		check "$name is gone" gone "$name"
	done
}

# Without persistent/.../ a name means an event, or nothing.
test_bare_name() {
	check "create" perf record -P "$ns" -e cpu-clock -C 0 -m 1
	refuse "a bare name" "Bad event name" perf record -e "$ns" -o "$data" true
	refuse "a wildcard for the PMU" "Bad event or PMU" perf record -e "p*/$ns/" -o "$data" true
	check "delete" perf ctl -d "$ns"
}

test_clock() {
	local clock

	for clock in "-k mono" "-k CLOCK_MONOTONIC" "--clockid mono" "-k 1"; do
		# shellcheck disable=SC2086 # it may be two words
		check "a clock: $clock" perf record $clock -e cpu-clock --dry-run true
	done
	check "a clock: -kmono" perf record -kmono -e cpu-clock -o "$data" true
	check "the clock is used" sh -c "perf evlist -v -i $data | grep -q 'use_clockid: 1'"
	refuse "a command is no clock" "there is no -e persistent" \
	       perf record -e cpu-clock -o "$data" -k sh -c true
}

test_period() {
	check "--period" perf record --period -e cpu-clock -c 100000 -o "$data" true
	check "it is recorded" sh -c "perf evlist -v -i $data | grep -q 'sample_type:.*PERIOD'"
}

test_words
test_bare_name
test_clock
test_period
exit "$failed"
