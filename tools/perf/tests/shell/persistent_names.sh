#!/bin/bash
# names of namespaces, and -P and -k beside --period and clocks
# SPDX-License-Identifier: GPL-2.0

# shellcheck disable=SC2154 # the library sets them
# shellcheck source=lib/persistent.sh
. "$(dirname "$0")"/lib/persistent.sh

persistent_require

# Names that are also events: in persistent/.../ they mean the namespace.
test_words() {
	local name

	at_end delete_word
	for name in cycles r1a; do
		if exists "$name"; then
			fail "there is a namespace '$name' that is not of this test: delete it"
			continue
		fi
		word=$name
		check "create $name" perf record -P "$name" -e cpu-clock -C 0 -m 1
		check "read $name" perf record -e "persistent/$name/" -o "$data" -k
		check "$name is gone" gone "$name"
		delete_word
	done
}

word=
# shellcheck disable=SC2317 # at_end calls it
delete_word() {
	[ -z "$word" ] || gone "$word" || perf ctl -d "$word"
	word=
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
	refuse "a command is no clock" "name it with -e persistent" \
	       perf record -e cpu-clock -o "$data" -k sh -c true
}

# All times in a file must be of one clock.
test_clock_of_namespace() {
	check "create" perf record -P "$ns" -e cpu-clock -C 0 -m 1
	check "create by a clock" perf record -P "${ns}2" -e cpu-clock -C 0 -m 1 -k mono
	refuse "a clock for what has none" "was created with another clock" \
	       perf record -e "persistent/$ns/" -k mono -o "$data"
	refuse "another clock" "was created with another clock" \
	       perf record -e "persistent/${ns}2/" -k boottime -o "$data"
	refuse "two clocks" "was created with another clock" \
	       perf record -e "persistent/$ns/" -e "persistent/${ns}2/" -o "$data"
	check "the same clock" perf record -e "persistent/${ns}2/" -k mono -o "$data"
	check "the clock it has" perf record -e "persistent/${ns}2/" -o "$data"
	check "it is used" sh -c "perf evlist -v -i $data | grep -q 'use_clockid: 1'"
	check "its header" perf report --header-only -i "$data"
	says "the frequency of the clock" "clockid frequency: [1-9]"
	check "delete" perf ctl -d "$ns" "${ns}2"
}

test_period() {
	check "--period" perf record --period -e cpu-clock -c 100000 -o "$data" true
	check "it is recorded" sh -c "perf evlist -v -i $data | grep -q 'sample_type:.*PERIOD'"
}

probes=/sys/kernel/tracing/kprobe_events
probe=
# shellcheck disable=SC2317 # at_end calls it
delete_probe() {
	[ -z "$probe" ] || echo "-:$probe" >> "$probes"
	probe=
}

# The kernel keeps a part of a long name only, but the event can be read.
test_long_name() {
	local long

	[ -w "$probes" ] || { echo "no $probes: not tested"; return; }
	at_end delete_probe
	long=perf_test_$$/$(printf 'p%055d' 0)
	echo "p:$long schedule" >> "$probes" || { echo "no kprobe: not tested"; return; }
	probe=$long
	check "create" perf record -P "$ns" -e "${probe/\//:}" -C 0 -m 1
	check "read" perf ctl read "$ns" -o "$data"
	same "name of the event" "${probe/\//:}" "$(perf evlist -i "$data" | head -n 1)"
	check "delete" perf ctl -d "$ns"
	check "create another" perf record -P "$ns" -e cpu-clock -C 0 -m 1
	check "a trigger" perf ctl trigger "$ns" --when "${probe/\//:}" --do stop
	check "read that" perf ctl read "$ns" -o "$data"
	check "delete" perf ctl -d "$ns"
	delete_probe
}

test_words
test_bare_name
test_long_name
test_clock
test_clock_of_namespace
test_period
exit "$failed"
