#!/bin/bash
# perf ctl -s takes snapshots of namespaces and loses no records (exclusive)
# SPDX-License-Identifier: GPL-2.0

# shellcheck disable=SC2154 # the library sets them
# shellcheck source=lib/persistent.sh
. "$(dirname "$0")"/lib/persistent.sh

persistent_require
require_numbers

# snapshots NS: the numbers of the existing snapshots
snapshots() {
	find "$persistent_pmu/events/" -name "$1.*" | sed "s/.*\.//" | sort -n | paste -s -d ' '
}

# state NS EXPECTED: check the state that perf ctl -l shows
state() {
	check "list $1" perf ctl -l "$1"
	same "state of $1" "$2" "$(column STATE)"
}

test_snapshot() {
	number 1 2 3
	check "take one" perf ctl -s "$ns"
	says "it says what" "'$ns.1' holds what '$ns' recorded; 1 of at most 8 snapshots kept"
	number 4
	holds "$ns.1" "1 2 3"
	holds "$ns" "4"
	state "$ns.1" snapshot
	says "whose" "^This is snapshot 1 of '$ns', taken by hand\.$"
	state "$ns" on
	says "the last one" "the last one was '$ns.1', at most 8 are kept, 0 spares"
	check "it is in the list" sh -c "perf ctl -l | grep '^$ns\.1  *snapshot'"
	check "perf record reads it" perf record -e "persistent/$ns.1/" -a -o "$data"
	same "numbers" "1 2 3" "$(numbers "$data")"
	check "perf report" sh -c "perf report -i $data --stdio 2>&1 | grep -q '100.00%'"
}

# A task that ran before the snapshot was taken has its name in the snapshot.
test_sideband() {
	local said=$tmp/side_$$

	cp "$BASH" "$said"
	"$said" -c "kill -0 $((number_base + 5)) 2> /dev/null; :"
	check "take one" perf ctl -s "$ns"
	holds "$ns.2" "4 5"
	check "who it was" sh -c "perf script -i $data -F comm,event 2> /dev/null |
		grep -q '^ *${said##*/} *$number_event'"
	holds "$ns" ""
}

# When a namespace and its snapshots are read into one file, each record is there once,
# and their common event is one event.
test_several() {
	number 6
	check "read all" perf record -e "persistent/$ns/" -e "persistent/$ns.1/" \
	      -e "persistent/$ns.2/" -o "$data"
	same "numbers" "1 2 3 4 5 6" "$(numbers "$data")"
	same "events" 1 "$(perf evlist -i "$data" | grep -c "$number_event")"
}

test_keep() {
	check "keep two" perf ctl -s --keep 2 "$ns"
	says "it says so" "'$ns.3' holds .*; 2 of at most 2 snapshots kept"
	same "snapshots" "2 3" "$(snapshots "$ns")"
	number 7
	check "another" perf ctl -s "$ns"
	says "what comes next" "the next one deletes '$ns.3'"
	same "snapshots" "3 4" "$(snapshots "$ns")"
	holds "$ns.4" "7"
	check "keep more" perf ctl -s --keep 3 "$ns"
	same "snapshots" "3 4 5" "$(snapshots "$ns")"
}

test_keep_and_note() {
	local other=${ns}_note

	check "create" perf record -P "$other" -e context-switches -a -m 16
	check "three" perf ctl -s "$other" "$other"
	check "one with a note" perf ctl -s --note "incident 4711" "$other"
	check "list it" perf ctl -l --json "$other.3"
	says "its note" '"note": "incident 4711"'
	check "keep fewer" perf ctl --keep 2 "$other"
	same "snapshots" "2 3" "$(snapshots "$other")"
	check "delete" perf ctl -d "$other" "$other.*"
}

# shellcheck disable=SC2317 # eventually calls it
has_spares() {
	perf ctl -l "$ns" | grep -q ", $1 spares\?\.$"
}

test_spares() {
	check "two spares" perf ctl --spares 2 "$ns"
	eventually "they are listed" has_spares 2
	number 8
	check "take one" perf ctl -s "$ns"
	holds "$ns.6" "8"
	eventually "there are two again" has_spares 2
	check "none" perf ctl --spares 0 "$ns"
	eventually "there are none" has_spares 0
}

test_clear() {
	number 9
	check "clear" perf ctl --clear "$ns"
	number 10
	holds "$ns" "10"
	same "no snapshot comes of it" "4 5 6" "$(snapshots "$ns")"
}

# buffers NS: the sizes of its buffers; --resize does not change those for tasks
buffers() {
	perf ctl -l -v "$1" | awk '$1 == "0" && $2 ~ /^(events|tasks)$/ { print $2, $3 }' |
		sort -u | paste -s -d ' '
}

test_resize() {
	same "buffers" "events 64K tasks 256K" "$(buffers "$ns")"
	check "resize" perf ctl --resize "$ns" -m 128K
	says "it says so" "'$ns' has buffers of 128K per CPU now"
	says "and where the rest is" "'$ns.7' holds what '$ns' recorded"
	same "buffers" "events 128K tasks 256K" "$(buffers "$ns")"
	same "buffers of the old ones" "events 64K tasks 256K" "$(buffers "$ns.7")"
	number 11
	holds "$ns.7" "10"
	holds "$ns" "11"
}

# The script that perf record runs while it reads. It calls the function that is its argument.
write_reader_script() {
	cat > "$tmp/script" <<-EOF
		. "$tmp/functions"
		\$1
	EOF
	{
		echo "number_base=$number_base ns=$ns data=$tmp/live tmp=$tmp failed=0"
		declare -f number is_in eventually pass fail stopped read_slowly read_on
	} > "$tmp/functions"
}

# shellcheck disable=SC2317 # the script calls them
read_on() {
	local i

	for i in 21 22 23 24; do
		number "$i"
		eventually "$i is read" is_in "$data" "$i"
		if [ "$i" = 23 ]; then
			perf ctl --resize "$ns" -m 64K
		else
			perf ctl -s "$ns"
		fi
	done
	# The last snapshot comes without waiting for the reader.
	number 25
	perf ctl -s "$ns"
	number 26
}

# shellcheck disable=SC2317
stopped() {
	grep -q "^State:.*T" "/proc/$1/status"
}

# The reader is stopped while two snapshots are taken, so it never sees the first one.
# shellcheck disable=SC2317
read_slowly() {
	number 31
	eventually "31 is read" is_in "$data" 31
	kill -STOP "$PPID"
	eventually "the reader is stopped" stopped "$PPID"
	number 32
	perf ctl -s "$ns"
	number 33
	perf ctl -s "$ns"
	number 34
	kill -CONT "$PPID"
}

test_follow() {
	write_reader_script
	check "read on" \
	      perf record -e "persistent/$ns/" -o "$tmp/live" "$BASH" "$tmp/script" read_on
	same "nothing is said to be missing" 0 "$(grep -c WARNING "$tmp/out")"
	same "numbers" "11 21 22 23 24 25 26" "$(numbers "$tmp/live")"
	check "read slowly" perf record -e "persistent/$ns/" -o "$tmp/live" \
	      "$BASH" "$tmp/script" read_slowly
	says "it says so" "WARNING: 1 snapshot was taken before it could be read"
	same "numbers" "26 31 32 34" "$(numbers "$tmp/live")"
}

# Each record is in exactly one snapshot, whenever the snapshots are taken.
test_all() {
	local i last

	keep_numbers "${ns}_all" -a -m 1M
	for ((i = 1; i <= 2000; i++)); do
		number "$i"
	done &
	for ((i = 1; i <= 5; i++)); do
		perf ctl -s --keep 6 "${ns}_all" > "$tmp/out" 2>&1 ||
			fail "take one: $(cat "$tmp/out")"
	done
	wait $!
	check "the last one" perf ctl -s "${ns}_all"
	for ((i = 1; i <= 6; i++)); do
		perf ctl -r "${ns}_all.$i" -o "$data" > "$tmp/out" 2>&1 ||
			fail "read $i: $(cat "$tmp/out")"
		last=$(numbers "$data")
		[ -z "$last" ] || echo "$last"
	done > "$tmp/all"
	# Sort the numbers: the writer may move to a CPU whose buffer is replaced later.
	same "numbers" "$(seq 2000 | paste -s -d ' ')" \
	     "$(tr ' ' '\n' < "$tmp/all" | sort -n | paste -s -d ' ')" > "$tmp/said"
	sed 's/\(.\{,60\}\).*/\1/' "$tmp/said"
}

# For --last, a snapshot ends when it was taken, however long ago that is.
test_last() {
	local start last

	keep_numbers "${ns}_last" -a -m 64K
	start=$(uptime_ms)
	number 1 2
	check "take one" perf ctl -s "${ns}_last"
	last=$(($(uptime_ms) - start + 1000))
	number 3
	start=$(uptime_ms)
	until (($(uptime_ms) > start + last)); do
		sleep 0.1
	done
	check "read the end of it" perf ctl -r "${ns}_last.1" -o "$data" --last ${last}ms
	same "numbers" "1 2" "$(numbers "$data")"
	check "read its last nanosecond" perf ctl -r "${ns}_last.1" -o "$data" --last 1ns
	same "numbers" "" "$(numbers "$data")"
	check "beside one that records the end is now" \
	      perf record -e "persistent/${ns}_last/" -e "persistent/${ns}_last.1/" -a \
	      -o "$data" --last ${last}ms
	same "numbers" "" "$(numbers "$data")"
}

test_refused() {
	local verb last

	last=$(snapshots "$ns")
	last=${last##* }
	refuse "no such namespace" "no namespace called '${ns}_not'" \
	       perf ctl -s "${ns}_not"
	refuse "none to keep" "from 1 to 1024" perf ctl -s --keep 0 "$ns"
	refuse "too many to keep" "from 1 to 1024" perf ctl -s --keep 1025 "$ns"
	refuse "too many spares" "from 0 to 64" perf ctl --spares 65 "$ns"
	refuse "a size that is none" "as in -m 2M" perf ctl --resize "$ns" -m much
	same "lines about it" 1 "$(wc -l < "$tmp/said")"
	refuse "a size and no verb" "-m belongs to --resize" perf ctl -s "$ns" -m 2M
	refuse "no size" "needs a size" perf ctl --resize "$ns"
	refuse "keep and another verb" "cannot be used together" perf ctl --clear --keep 3 "$ns"
	refuse "two verbs" "Usage" perf ctl -s --clear "$ns"
	for verb in -s --clear --enable --disable "--spares 1" "--resize -m 64K"; do
		# shellcheck disable=SC2086 # several words
		refuse "$verb of a snapshot" "is a snapshot" perf ctl $verb "$ns.$last"
	done
	refuse "to count it" "no counts" perf stat -e "persistent/$ns.$last/" -a true

	number 41
	refuse "a size that cannot be read" "at most 1G, not 2G" perf ctl --resize "$ns" -m 2G
	if [ -w "$max_persistent" ]; then
		max=$(cat "$max_persistent")
		echo 1 > "$max_persistent"
		refuse "too many events" "kernel.perf_event_max_persistent" perf ctl -s "$ns"
		max_back
	fi
	check "read" perf ctl -r "$ns" -o "$data"
	check "nothing is lost" is_in "$data" 41
}

# Readers that hold deleted snapshots cannot make the kernel keep more of them without a
# limit.
# shellcheck disable=SC2317 # eventually calls it
has_mapped() {
	[ -e "$tmp/mapped_$1" ]
}

test_too_many_mapped() {
	local n=0 pids=()

	keep_numbers "${ns}_held" -C 0 -m 1
	# Readers hold the snapshot open until their command ends.
	mkfifo "$tmp/go"
	exec 9<> "$tmp/go"
	while ((++n < 10)) && perf ctl -s --keep 1 "${ns}_held" > "$tmp/said" 2>&1; do
		perf record -e "persistent/${ns}_held.$n/" -o "$tmp/held_$n" \
			sh -c "touch $tmp/mapped_$n; read -r line < $tmp/go" > /dev/null 2>&1 &
		pids+=($!)
		eventually "a reader has $n" has_mapped "$n" || break
	done
	# Three sets of buffers: one in use, one kept, and one that a reader holds
	same "taken, with one kept and readers of all" 2 $((n - 1))
	check "it says why" grep -q "readers have too many deleted snapshots mapped" "$tmp/said"
	check "the log says who" sh -c "dmesg | grep -q 'persistent/${ns}_held/.*perf'"
	refuse "to resize it" "readers have too many" perf ctl --resize "${ns}_held" -m 2
	refuse "to clear it" "readers have too many" perf ctl --clear "${ns}_held"
	for n in "${pids[@]}"; do
		echo >&9
	done
	wait "${pids[@]}"
	exec 9>&-
	check "take one when they are gone" perf ctl -s "${ns}_held"
	check "delete" perf ctl -d "${ns}_held" "${ns}_held.*"
}

mib_available() {
	awk '/^MemAvailable/ { print int($2 / 1024) }' /proc/meminfo
}

# The kernel refuses buffers that need more than half of the available memory, so this leaves
# enough for others. Do it only where that is not much.
test_no_memory() {
	local n=0 mib=1 all

	all=$(mib_available)
	if [ "$all" -gt 2560 ]; then
		echo "${all}M of memory: the lack of it is not tested"
		return
	fi
	# With buffers for tasks, one snapshot needs at most a quarter.
	while [ $((mib * 2 * (4 + $(getconf _NPROCESSORS_ONLN)))) -le "$all" ]; do
		mib=$((mib * 2))
	done
	keep_numbers "${ns}_large" -C 0 -m ${mib}M
	(taskset -pc 0 "$BASHPID" > /dev/null; number 42)
	refuse "to resize it to what is not there" "buffers of '${ns}_large': not enough memory" \
	       perf ctl --resize "${ns}_large" -m 1G
	same "snapshots" "" "$(snapshots "${ns}_large")"
	holds "${ns}_large" 42
	while ((++n < 20)) && perf ctl -s --keep 20 "${ns}_large" > "$tmp/said" 2>&1; do
		(taskset -pc 0 "$BASHPID" > /dev/null; number $((42 + n)))
	done
	check "there is memory for $((n - 1))" test "$n" -gt 1 -a "$n" -lt 20
	check "it says so" grep -q \
	      "take a snapshot of '${ns}_large': not enough memory available. Nothing is lost" \
	      "$tmp/said"
	holds "${ns}_large" $((41 + n))
	holds "${ns}_large.1" 42
	check "delete" perf ctl -d "${ns}_large" "${ns}_large.*"
}

# The limit of locked memory of a user covers all namespaces and snapshots of that user.
test_locked_memory() {
	local size user=() n=0

	require_nobody || return 0
	user=("${nobody[@]/=-all/=-all,+perfmon}" --ambient-caps=+perfmon "$tmp/perf")
	# The KiB that one namespace needs: its buffer, and buffers for tasks on all CPUs
	size=$((1028 + 260 * $(getconf _NPROCESSORS_ONLN)))
	(
		ulimit -l $((2 * size))
		while ((++n < 10)) && "${user[@]}" record -P "${ns}_user$n" -e cpu-clock -C 0 \
				      -m 1M > "$tmp/said" 2>&1; do
			:
		done
		check "there is a limit to how many" test "$n" -lt 10
		check "it says so" grep -q "exceed what you may lock" "$tmp/said"
		check "nothing is left of it" gone "${ns}_user$n"
		refuse "a snapshot" "exceed what its owner may lock" \
		       "${user[@]}" ctl -s "${ns}_user1"
		refuse "a snapshot, by root" "exceed what its owner may lock" \
		       perf ctl -s "${ns}_user1"
		exit "$failed"
	) || failed=1
	check "delete" sh -c "perf ctl -d \$(cd $persistent_pmu/events && ls -d ${ns}_user*)"
}

test_nobody() {
	local verb

	require_nobody || return 0
	for verb in -s --clear "--spares 1" "--resize -m 64K"; do
		# shellcheck disable=SC2086
		refuse "$verb as nobody" "No permission" "${nobody[@]}" "$tmp/perf" ctl $verb "$ns"
	done
	refuse "others' memory" "so only the owner, or a" \
	       "${nobody[@]/=-all/=-all,+perfmon}" --ambient-caps=+perfmon \
	       "$tmp/perf" ctl --spares 9 "$ns"
}

# Snapshots outlive their namespace.
test_delete() {
	local last

	last=$(snapshots "$ns")
	last=${last##* }
	check "take the last one" perf ctl -s --keep 3 "$ns"
	((last++))
	check "delete one" perf ctl -d "$ns.$((last - 2))"
	same "snapshots" "$((last - 1)) $last" "$(snapshots "$ns")"
	check "delete what they are of" perf ctl -d "$ns"
	says "it says that they remain" "remain: $ns.$((last - 1)) $ns.$last"
	check "it is gone" gone "$ns"
	check "read one and delete it" perf record -e "persistent/$ns.$last/" -o "$data" -k
	check "41 is in there" is_in "$data" 41
	same "snapshots" "$((last - 1))" "$(snapshots "$ns")"
	check "delete the others" perf ctl -d "$ns.*"
	same "snapshots" "" "$(snapshots "$ns")"
	refuse "none are left" "There are no snapshots of '$ns'" perf ctl -d "$ns.*"
}

# If one snapshot is gone already, the others are still deleted.
test_delete_many() {
	type -P strace > /dev/null || { echo "no strace: not tested"; return; }
	check "create" perf record -P "${ns}2" -e cpu-clock -C 0 -m 1
	check "take one" perf ctl -s --keep 3 "${ns}2"
	check "take another" perf ctl -s "${ns}2"
	check "delete, and one is gone" strace -qq -o /dev/null -e trace=perf_event_open \
	      -e inject=perf_event_open:error=ENOENT:when=1 perf ctl -d "${ns}2.*"
	check "one is left" test "$(snapshots "${ns}2" | wc -w)" = 1
	refuse "delete, and one cannot be" "Cannot open" strace -qq -o /dev/null \
	       -e trace=perf_event_open -e inject=perf_event_open:error=EIO:when=1 \
	       perf ctl -d "${ns}2.*"
	check "delete" perf ctl -d "${ns}2.*" "${ns}2"
}

keep_numbers "$ns" -a -m 64K
test_snapshot
test_sideband
test_several
test_keep
test_keep_and_note
test_spares
test_clear
test_resize
test_follow
test_all
test_last
test_refused
test_too_many_mapped
test_no_memory
test_locked_memory
test_nobody
test_delete
test_delete_many
exit "$failed"
