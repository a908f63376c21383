#!/bin/bash
# a namespace keeps its records if they cannot be written or read
# SPDX-License-Identifier: GPL-2.0

# shellcheck disable=SC2154 # the library sets them
# shellcheck source=lib/persistent.sh
. "$(dirname "$0")"/lib/persistent.sh

persistent_require
require_fill

nr=20000
lost="The namespaces are still there"

nothing_lost() {
	check "$1: read all" perf ctl -r "$ns" -o "$data"
	same "$1: everything" "$nr" "$(filled "$data")"
}

# shellcheck disable=SC2317 # called at the end
leave_small() {
	mountpoint -q "$tmp/small" && umount "$tmp/small"
}

# The disk gets full among the records, before the header is complete, or behind the records
test_full_disk() {
	local page size of

	page=$(getconf PAGE_SIZE)
	size=$(stat -c %s "$data")
	mkdir "$tmp/small"
	at_end leave_small
	for of in $((size / 2)) $((size / 10)) $((size - page)) $((size - 3 * page)); do
		if ! mount -t tmpfs -o size=$((of / page * page)) small "$tmp/small"; then
			echo "no tmpfs: not tested"
			return
		fi
		refuse "room for $of of $size" "$lost" perf ctl -r "$ns" -o "$tmp/small/perf.data"
		check "nothing is in the way" test ! -e "$tmp/small/perf.data"
		check "what went wrong" grep -Eq "failed to write|No space left" "$tmp/said"
		refuse "-k" "'$ns' is not deleted" \
		       perf record -e "persistent/$ns/" -o "$tmp/small/perf.data" -k
		check "nothing is in the way" test ! -e "$tmp/small/perf.data"
		umount "$tmp/small"
	done
	check "it is still there" exists "$ns"
	nothing_lost "full disk"

	refuse "/dev/full" "$lost" sh -c "perf ctl -r $ns -o - > /dev/full"
	same "said once" 1 "$(grep -c "No space left on device" "$tmp/said")"
	nothing_lost "/dev/full"
}

# The last good file is not lost, however often perf tries to write a new one.
test_again() {
	local full=$tmp/small/perf.data i

	mountpoint -q "$tmp/small" || mount -t tmpfs -o size=64K small "$tmp/small" || return
	echo good > "$full"
	for i in 1 2; do
		refuse "try $i" "$lost" perf ctl -r "$ns" -o "$full"
		same "what was there before try $i" good "$(cat "$full.old")"
	done
	# A link, as /dev/stdout is one
	ln -s "$tmp/small/target" "$tmp/link"
	refuse "a link" "$lost" perf ctl -r "$ns" -o "$tmp/link"
	check "the link stays" test -L "$tmp/link"
	same "what it leads to" 0 "$(stat -c %s "$tmp/small/target")"
}

test_broken_pipe() {
	perf ctl -r "$ns" -o - 2> "$tmp/said" | head -c 1 > /dev/null
	check "status of a broken pipe" test "${PIPESTATUS[0]}" -ne 0
	check "it is named" grep -q "Broken pipe" "$tmp/said"
	check "and not all" grep -q "$lost" "$tmp/said"
	nothing_lost "broken pipe"
}

test_nowhere() {
	refuse "no directory" "No such file" perf ctl -r "$ns" -o "$tmp/none/perf.data"
	nothing_lost "nowhere"
}

test_nobody() {
	local paranoid

	require_nobody || return 0
	local as=("${nobody[@]}" "$tmp/perf")

	paranoid=$(cat /proc/sys/kernel/perf_event_paranoid)
	if [ "$paranoid" -lt 1 ]; then
		echo "perf_event_paranoid is $paranoid: not tested"
		return
	fi
	refuse "read as nobody" "No permission to open the namespace '$ns'" \
	       "${as[@]}" ctl -r "$ns" -o /dev/null
	refuse "read a part as nobody" "No permission to open the namespace '$ns'" \
	       "${as[@]}" ctl -r "$ns" -o - --last 30s
	nothing_lost "nobody"
}

check "create" perf record -P "$ns" -e "$fill_event" --filter "$fill_filter" -m 1024 -a
fill "$nr"
nothing_lost "at first"
test_full_disk
test_again
test_broken_pipe
test_nowhere
test_nobody
exit "$failed"
