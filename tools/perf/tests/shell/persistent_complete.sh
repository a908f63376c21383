#!/bin/bash
# perf list and shell completion know namespaces
# SPDX-License-Identifier: GPL-2.0

# shellcheck disable=SC2154 # the library sets them
# shellcheck source=lib/persistent.sh
. "$(dirname "$0")"/lib/persistent.sh
# shellcheck source=lib/persistent_complete.sh
. "$(dirname "$0")"/lib/persistent_complete.sh

persistent_require

test_list() {
	check "perf list" perf list persistent
	says "a namespace" "persistent/$ns/  *\[Persistent events\]"
	says "what it holds" "\[$exec_event,clock\. Unit: persistent\]"
	same "not side-band" 0 "$(grep -c dummy "$tmp/out")"
	check "among all events" sh -c "perf list --no-desc | grep 'persistent/$ns/'"
	check "in JSON" sh -c "perf list --json pmu |
		grep -A3 '\"EventName\": \"persistent/$ns/\"' |
		grep '\"BriefDescription\": \"$exec_event,clock\"'"
}

test_completion() {
	local option

	persistent_completion || return 0

	complete_words "ctl" perf ct
	for option in -l -r -d -s -t --list --read --delete --snapshot --clear --resize \
		      --trigger --wait; do
		complete_words "$ns ${ns}2" perf ctl "$option" "$prefix"
	done
	complete_words "${ns}2" perf ctl -d "$ns" "${ns}2"
	for option in -o -C -m --output --cpu --last --from --to --max-size --mmap-pages \
		      --keep --spares --note --filter --count --after --cool-down --times \
		      --remove --arm \
		      --timeout; do
		complete_words "" perf ctl "$option" "$prefix"
		complete_words "$ns ${ns}2" perf ctl "$option" 1 -r "$prefix"
	done
	complete_words "snapshot" perf ctl -t "$ns" --when panic --do sn
	complete_words "$exec_event" perf ctl -t "$ns" --when "${exec_event%c}"
	complete_words "$exec_event" perf ctl add "$ns" -e "${exec_event%c}"
	complete_words "" perf ctl add "$ns" -e "$exec_event" --label "$prefix"
	complete_words "" perf ctl save "$ns" --to / --compress "$prefix"
	complete_words "--last" perf ctl --la
	complete_words "--from" perf ctl -r "$ns" --last 5s --fr
	complete_words "--max-size" perf ctl -r "$ns" --ma
	complete_words "--json" perf ctl -l --j
	complete_words "--verbose" perf ctl -l --v
	for option in record stat top; do
		complete_words "persistent/$ns/ persistent/${ns}2/" \
			       perf "$option" -e "persistent/$prefix"
	done
}

check "create" perf record -P "$ns" -C 0 -m 1 -e "$exec_event" -e cpu-clock/name=clock/
check "create another" perf record -P "${ns}2" -C 0 -m 1 -e cpu-clock
test_list
test_completion
exit "$failed"
