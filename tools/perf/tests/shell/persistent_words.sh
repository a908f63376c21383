#!/bin/bash
# perf ctl takes commands as words, and patterns for namespaces
# SPDX-License-Identifier: GPL-2.0

# shellcheck disable=SC2154 # the library sets them
# shellcheck source=lib/persistent.sh
. "$(dirname "$0")"/lib/persistent.sh
# shellcheck source=lib/persistent_complete.sh
. "$(dirname "$0")"/lib/persistent_complete.sh

persistent_require
require_numbers

# state NS: the state that is listed
state() {
	perf ctl -l "$1" > "$tmp/out" 2>&1
	column STATE
}

# names PATTERN: the names that perf ctl list shows for it
names() {
	perf ctl list "$@" 2> /dev/null | awk '$1 ~ /^'"$prefix"'/ { print $1 }' | paste -s -d ' '
}

# output COMMAND...: print only its stdout, which is no terminal
output() {
	"$@" 2> "$tmp/said"
}

# word_usage WHAT TEXT perf ctl WORD...: check that the usage is only that of WORD
word_usage() {
	usage "$@"
	check "how to call $1" grep -q "Usage: perf ctl $5" "$tmp/said"
}

test_words() {
	number 1 2 3
	check "list" perf ctl list
	says "it is in the table" "^$ns  *on "
	check "list two" perf ctl list "$ns" "${ns}2"
	same "both are in the table" 2 "$(grep -c "^$ns" "$tmp/out")"
	check "in detail" perf ctl list -v "$ns"
	says "its events" "^$number_event  *on "
	check "in JSON" sh -c "perf ctl list --json $ns | grep -q '\"name\": \"$ns\"'"
	check "read" perf ctl read "$ns" -o "$data"
	same "numbers" "1 2 3" "$(numbers "$data")"
	check "read into a pipe" sh -c "perf ctl read $ns -o - | perf script -i - -F event |
		grep -q $number_event"
	check "a pipe needs no -o" sh -c "perf ctl read $ns | perf script -i - -F event |
		grep -q $number_event"
	check "an option makes a file" sh -c "cd $tmp && rm -f perf.data && perf ctl -r $ns | cat"
	same "numbers" "1 2 3" "$(numbers "$data")"
	check "a file is no pipe" sh -c "cd $tmp && rm perf.data && perf ctl read $ns > $tmp/none"
	same "numbers" "1 2 3" "$(numbers "$data")"
	same "nothing is on stdout" 0 "$(wc -c < "$tmp/none")"
	check "disable" perf ctl disable "$ns"
	same "state" off "$(state "$ns")"
	check "enable" perf ctl enable "$ns"
	same "state" on "$(state "$ns")"
	check "stop" perf ctl stop "$ns" "${ns}2"
	same "state" "stopped stopped" "$(state "$ns") $(state "${ns}2")"
	check "resume" perf ctl resume "$ns" "${ns}2"
	same "state" "on on" "$(state "$ns") $(state "${ns}2")"
	check "keep" perf ctl keep "$ns" -n 3
	check "spares" perf ctl spares "$ns" -n 0
	check "note" perf ctl note "$ns" --text "a note"
	check "list" perf ctl list --json "$ns"
	says "how many are kept" '"keep": 3'
	says "its note" '"note": "a note"'
	check "clear" perf ctl clear "$ns"
	number 4
	check "resize" perf ctl resize "$ns" -m 128K
	says "it says so" "'$ns' has buffers of 128K per CPU now"
	holds "$ns.1" "4"
}

# On stdout, perf ctl prints only the name or number of the result.
test_results() {
	same "name of a snapshot" "$ns.2" "$(output perf ctl snapshot "$ns" --note incident)"
	check "what is said of it" grep -q "'$ns.2' holds what '$ns' recorded" "$tmp/said"
	same "names of two" "$ns.3 ${ns}2.1" \
	     "$(output perf ctl snapshot "$ns" "${ns}2" -q | paste -s -d ' ')"
	same "what is said" "" "$(cat "$tmp/said")"
	same "the option prints none" "" "$(output perf ctl -s "$ns")"
	same "number of a trigger" 1 \
	     "$(output perf ctl trigger "$ns" --when panic --do stop)"
	check "what is said of it" grep -q "trigger 1 of '$ns': stop when panic" "$tmp/said"
	check "remove it" perf ctl trigger "$ns" --remove 1
	if type -P script > /dev/null; then
		script -qec "perf ctl snapshot $ns" /dev/null | tr -d '\r' > "$tmp/out"
		says "on a terminal it is a sentence" "'$ns.5' holds what '$ns' recorded"
		same "and that alone" 0 "$(grep -c "^$ns.5$" "$tmp/out")"
		script -qec "perf ctl" /dev/null > "$tmp/out"
		# A name that is too long for its column has a line of its own.
		says "no word at all lists" "^${ns}[[:space:]]"
	else
		check "another one" perf ctl snapshot "$ns"
	fi
	(output perf ctl wait "$ns" --timeout 5m > "$tmp/name") &
	eventually "wait" grep -qs "waiting for" "$tmp/said"
	check "take one" perf ctl -s "$ns"
	wait $!
	same "name of what was waited for" "$ns.6" "$(cat "$tmp/name")"
}

# fake_sysfs NAMES COMMAND...: run COMMAND where sysfs shows these namespaces instead
fake_sysfs() {
	# shellcheck disable=SC2016 # for the other shell
	unshare -m sh -c 'mount -t tmpfs none "$1" || exit
		for name in $2; do echo config=0x0 > "$1/$name"; done
		shift 2
		exec "$@"' sh "$persistent_pmu/events" "$@"
}

# sysfs may show what is gone already, and does not show a snapshot at once.
test_sysfs_late() {
	unshare -m true 2> /dev/null || { echo "no unshare: not tested"; return; }
	check "read what sysfs does not show yet" fake_sysfs "" perf ctl read "$ns.5" -o "$data"
	check "a list with what is gone" fake_sysfs "$ns ${ns}9" perf ctl list "$ns*"
	says "what is there" "^$ns "
	check "reading that" fake_sysfs "${ns}9 $ns" perf ctl read "$ns*" -o "$data"
	refuse "nothing is left" "All namespaces that matched are gone" \
	       fake_sysfs "${ns}9" perf ctl read "$ns*" -o "$data"
	refuse "a name that was given" "There is no namespace called '${ns}9'" \
	       fake_sysfs "${ns}9 $ns" perf ctl list "$ns*" "${ns}9"
}

test_patterns() {
	local all="$ns $ns.4 $ns.5 $ns.6 ${ns}2 ${ns}2.1"

	same "snapshots of one" "$ns.4 $ns.5 $ns.6" "$(names "$ns.*")"
	same "all of them" "$all" "$(names "$prefix*")"
	same "with an option" "$all" "$(perf ctl -l "$prefix*" | awk '
		$1 == "NAME" { getline; print $1 }' | paste -s -d ' ')"
	check "stop all, which no snapshot is" perf ctl stop "$prefix*"
	same "state" "stopped stopped" "$(state "$ns") $(state "${ns}2")"
	check "resume all, with an option" perf ctl --resume "$prefix*"
	same "state" "on on" "$(state "$ns") $(state "${ns}2")"
	check "a trigger for all" perf ctl trigger "$prefix*" --when panic --do stop
	same "how many" 2 "$(grep -c "stop when panic" "$tmp/out")"
	number 5
	check "snapshots of all" perf ctl snapshot "$prefix*"
	number 6
	check "read all into one file" perf ctl read "$ns*" -o "$data"
	same "numbers" "1 2 3 4 5 5 6 6" "$(numbers "$data")"
	refuse "to wait for two" "matches 2 namespaces, but wait takes one" \
	       perf ctl wait "$prefix*"
	refuse "to read what is not there" "There are no snapshots of '${ns}3'" \
	       perf ctl read "${ns}3.*" -o "$data"
	refuse "to stop what is not there" "No namespace matches '${ns}3*'" \
	       perf ctl stop "${ns}3*"
	refuse "to stop snapshots" "No namespace matches '$ns.*' (snapshots are not considered)" \
	       perf ctl stop "$ns.*"
	check "delete some" perf ctl delete "${ns}2*"
	same "the others are there" "$ns $ns.5 $ns.6 $ns.7" "$(names "$prefix*")"
}

test_usage() {
	word_usage "a word alone" "read needs the name of a namespace" perf ctl read
	word_usage "two names" "'b' is one too many" perf ctl read a b
	word_usage "keep without a number" "keep needs a number" perf ctl keep "$ns"
	word_usage "note without a text" "note needs a text" perf ctl note "$ns"
	word_usage "resize without a size" "resize needs a size" perf ctl resize "$ns"
	word_usage "trigger without an event" "trigger needs --when and --do" perf ctl trigger "$ns"
	word_usage "a command" "Only wait and save take a command" perf ctl stop "$ns" -- true
	exists lst || usage "a mistyped word" "'lst' is not a command. Did you mean 'list'?" \
			    perf ctl lst "$ns"
	exists snap || usage "half a word" "Did you mean 'snapshot'?" perf ctl snap "$ns"
	exists list || usage "a word behind an option" "write 'list' before all options" \
			     perf ctl -v list "$ns"
	usage "no word" "Nothing to do with '$ns': give a command" perf ctl "$ns"
	refuse "a command of an option" "Only --wait takes a command" perf ctl --stop "$ns" -- true
	refuse "no snapshots" "-n takes a number from 1" perf ctl keep "$ns" -n 0
	refuse "no number of spares" "-n takes a number from 0" perf ctl spares "$ns" -n x
	refuse "a long text" "--text takes at most 63 bytes" \
	       perf ctl note "$ns" --text "$(printf %064d 0)"
	refuse "lines as a text" "--text takes printable characters only: byte 3 is not" \
	       perf ctl note "$ns" --text $'ab\ncd'
	names "$prefix*" > "$tmp/before"
	refuse "a tab as a note" "--note takes printable characters only" \
	       perf ctl snapshot "$ns" --note $'a\tb'
	refuse "U+009B as a note" "--note takes printable characters only" \
	       perf ctl snapshot "$ns" --note $'a\302\233b'
	same "no snapshot is taken" "$(cat "$tmp/before")" "$(names "$prefix*")"
	refuse "to show a CPU that it has not" "no event of '$ns' is on these CPUs" \
	       perf ctl show "$ns" -C "$(getconf _NPROCESSORS_CONF)"
	exists stop || refuse "a word and an option" "unknown option \`list'" perf ctl stop --list
	exists keep || refuse "the same twice" "unknown option \`keep'" perf ctl keep "$ns" --keep 7
	check "nothing is done" sh -c "! perf ctl list $ns --json | grep -q '\"keep\": 7'"
	refuse "an option of another word" "unknown option \`when'" perf ctl stop "$ns" --when cs
	refuse "help" "perf ctl snapshot <namespace>..." perf ctl snapshot -h
	same "of this word alone" 0 "$(grep -c "perf ctl stop" "$tmp/said")"
	refuse "help for all" "perf ctl stop <namespace>..." perf ctl -h
}

test_completion() {
	local word

	persistent_completion || return 0

	complete_words "snapshot" perf ctl sn
	complete_words "resume resize" perf ctl res
	# "list" is also a command of perf.
	for word in list show read snapshot trigger wait stop delete; do
		complete_words "${ns}2" perf ctl "$word" "${ns}2"
	done
	complete_words "${ns}2" perf ctl stop "$ns" "${ns}2"
	complete_words "--json" perf ctl list --js
	complete_words "--last" perf ctl read "$ns" --la
	complete_words "--number" perf ctl keep "$ns" --nu
	complete_words "" perf ctl keep "$ns" -n "$prefix"
	complete_words "" perf ctl stop "$ns" --la
}

keep_numbers "$ns" -a -m 64K
keep_numbers "${ns}2" -a -m 64K
test_completion
test_words
test_results
test_sysfs_late
test_patterns
test_usage
exit "$failed"
