#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Common parts of the tests of namespaces: a temporary directory, a prefix for the names
# of namespaces, a cleanup that removes both, checks that print what they saw, and events
# whose samples can be counted.

# shellcheck disable=SC2034 # used by those that source this

persistent_pmu=/sys/bus/event_source/devices/persistent
tmp=$(mktemp -d /tmp/__perf_test.persistent.XXXXX)
data=$tmp/perf.data
prefix=perf_test_$$
ns=${prefix}_ns
failed=0
undo=()

# at_end FUNCTION: call it however the test ends, when its namespaces are gone, the last one first
at_end() {
	undo+=("$1")
}

# The limit of events, for tests that set $max to the old one before they change it
max=
max_persistent=/proc/sys/kernel/perf_event_max_persistent

# shellcheck disable=SC2317 # at_end calls it
max_back() {
	[ -z "$max" ] || echo "$max" > "$max_persistent"
	max=
}
at_end max_back

delete_namespaces() {
	local names=("$persistent_pmu"/events/"$prefix"*)

	[ ! -e "${names[0]}" ] || perf ctl -d "${names[@]##*/}"
}

# A probe or a cgroup cannot be removed while a namespace records it, and what undo[] ends
# may have taken another snapshot until then.
persistent_cleanup() {
	local status=$? i

	trap - EXIT HUP TERM INT
	delete_namespaces
	for ((i = ${#undo[@]} - 1; i >= 0; i--)); do
		"${undo[i]}"
	done
	delete_namespaces
	rm -rf "$tmp"
	exit "$status"
}
trap persistent_cleanup EXIT
trap 'exit 1' HUP TERM INT

skip() {
	echo "Skip: $1"
	exit 2
}

persistent_require() {
	[ -e "$persistent_pmu/type" ] || skip "the kernel has no persistent events"
	[ "$(id -u)" = 0 ] || skip "not root"
}

fail() {
	echo "FAIL: $*"
	failed=1
}

pass() {
	echo "ok: $*"
}

# check WHAT COMMAND...: check that the command succeeds, with its output in $tmp/out
check() {
	local what=$1

	shift
	if "$@" > "$tmp/out" 2>&1; then
		pass "$what"
	else
		fail "$what: '$*' returned $?"
		cat "$tmp/out"
	fi
}

# refuse WHAT TEXT COMMAND...: check that the command fails and prints TEXT. Output in $tmp/said
refuse() {
	local what=$1 text=$2

	shift 2
	if "$@" > "$tmp/said" 2>&1; then
		fail "$what: '$*' succeeded"
	elif ! grep -qF -- "$text" "$tmp/said"; then
		fail "$what: '$*' does not say '$text':"
		cat "$tmp/said"
	else
		pass "$what"
	fi
}

# usage WHAT TEXT COMMAND...: check that it exits with 2, and prints only TEXT and a short usage
usage() {
	local what=$1 text=$2 status=0

	shift 2
	"$@" > "$tmp/said" 2>&1 || status=$?
	same "exit status of $what" 2 "$status"
	check "what is wrong with $what" grep -qF -- "$text" "$tmp/said"
	same "lines of usage for $what" 1 "$(grep -c "Usage:" "$tmp/said")"
	check "no more of it" test "$(wc -l < "$tmp/said")" -le 3
}

# says WHAT PATTERN: check that the output of the last check has a line with PATTERN
says() {
	if grep -q -- "$2" "$tmp/out"; then
		pass "$1"
	else
		fail "$1: no line like '$2' in:"
		cat "$tmp/out"
	fi
}

# same WHAT EXPECTED SEEN: check that both are equal
same() {
	if [ "$2" = "$3" ]; then
		pass "$1: $3"
	else
		fail "$1: '$3' instead of '$2'"
	fi
}

exists() {
	[ -e "$persistent_pmu/events/$1" ]
}

gone() {
	! exists "$1"
}

# require_nobody: set nobody[] to a prefix that runs a command as the user nobody without
# capabilities, and copy perf to $tmp/perf, where nobody can run it. If that is not
# possible, it says why and fails.
require_nobody() {
	nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all)
	type -P setpriv > /dev/null || { echo "no setpriv: not tested"; return 1; }
	# The user nobody may have no access to the directory of perf.
	chmod 755 "$tmp"
	cp "$(type -P perf)" "$tmp/perf"
	"${nobody[@]}" "$tmp/perf" version > "$tmp/out" 2>&1 ||
		{ echo "nobody cannot run perf: not tested"; return 1; }
}

# Print tables with the width for files, wherever the test runs.
unset COLUMNS

# column NAME: the value in the output of the last 'perf ctl -l NS'; all but OWNER are one word
column() {
	awk -v name="$1" '
		NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) nr = i }
		NR == 2 { print $nr }' "$tmp/out"
}

# start_reading BYTES COMMAND...: start COMMAND and read BYTES of its output. COMMAND then
# blocks if the rest does not fit into a pipe, until finish_reading reads that from
# descriptor 3.
start_reading() {
	local bytes=$1

	shift
	mkfifo "$tmp/fifo"
	"$@" > "$tmp/fifo" 2> "$tmp/said" &
	reader=$!
	exec 3< "$tmp/fifo"
	rm "$tmp/fifo"
	head -c "$bytes" <&3 > "$tmp/part"
}

finish_reading() {
	cat <&3 >> "$tmp/part"
	exec 3<&-
	wait "$reader"
}

# fill N [CPU]: make N records on this CPU, or CPU 0, one for each byte that a copy of dd writes.
# Its name is unique, as other tests may fill their namespaces at the same time.
filler=$tmp/fill_$$
fill_event=syscalls:sys_enter_write
fill_filter="count == 1 && comm == \"${filler##*/}\""

fill() {
	taskset -c "${2:-0}" "$filler" if=/dev/zero of=/dev/null bs=1 count="$1" status=none
}

require_fill() {
	type -P taskset > /dev/null || skip "no taskset"
	perf list tracepoint 2> /dev/null | grep -q "$fill_event" ||
		skip "no tracepoint $fill_event"
	cp "$(type -P dd)" "$filler"
}

# filled FILE: the number of these records in FILE
filled() {
	perf script -i "$1" -F comm,event 2> /dev/null |
		grep -c "^ *${filler##*/} *$fill_event: *$" || true
}

# A program with a unique name, so that its execs can be counted: mark N runs it N times.
exec_event=sched:sched_process_exec
marker=$tmp/mark_$$
cp "$(type -P true)" "$marker"

mark() {
	local i

	for ((i = 0; i < $1; i++)); do
		"$marker"
	done
}

uptime_ms() {
	awk '{ print int($1 * 1000) }' /proc/uptime
}

# marks FILE: the number of its runs in FILE
marks() {
	perf script -i "$1" -F event,trace 2> /dev/null |
		grep -c "sched_process_exec: filename=$marker " || true
}

# Records with a number below 0x4000 that occurs only in samples, so that a test can tell them
# apart. Tests that run at the same time have different ranges, which no pid reaches. is_in cannot
# find what has a 0 and a newline: only the last byte of these can be one of them.
number_event=syscalls:sys_enter_kill
number_base=$(((0x41 + $$ / 245 % 62 << 24) + (11 + $$ % 245 << 16) + 0x4000))
number_filter="sig == 0 && pid >= $number_base && pid < $((number_base + 0x4000))"

require_numbers() {
	perf list tracepoint 2> /dev/null | grep -q "$number_event" ||
		skip "no tracepoint $number_event"
}

# keep_numbers NS OPTION...: create a namespace that records numbers
keep_numbers() {
	local name=$1

	shift
	check "create $name" \
	      perf record -P "$name" -e "$number_event" --filter "$number_filter" "$@"
}

# number N...: record these numbers
number() {
	local n

	for n; do
		kill -0 $((number_base + n)) 2> /dev/null || true
	done
}

# numbers FILE: the numbers in FILE, in their order
numbers() {
	local hex

	perf script -i "$1" -F trace 2> /dev/null | sed -n 's/.*pid: 0x\([0-9a-f]*\),.*/\1/p' |
		while read -r hex; do
			echo $((16#$hex - number_base))
		done | paste -s -d ' '
}

# holds NS EXPECTED: check the numbers that a namespace holds
holds() {
	check "read $1" perf ctl -r "$1" -o "$data"
	same "numbers in $1" "$2" "$(numbers "$data")"
}

# is_in FILE N: true if FILE has the bytes of a sample with number N
is_in() {
	local n=$((number_base + $2)) bytes lines=

	bytes=$(printf '\\x%02x' $((n & 255)) $((n >> 8 & 255)) $((n >> 16 & 255)) $((n >> 24)))
	# grep cannot match a newline within a line.
	[[ $bytes != *0a* ]] || lines=-z
	LC_ALL=C grep -qaP $lines "$bytes" "$1"
}

# make_unknown FILE: give the first sample in FILE the id of an event that FILE does not have
make_unknown() {
	local begin size at

	read -r begin size < <(od -An -t u8 -j 40 -N 16 "$1")
	# The upper half of the second number is the size of the record, which begins with its type.
	at=$(od -An -v -t u4 -w8 -j "$begin" -N "$size" "$1" | awk -v at="$begin" '
		!left { if ($1 == 9) { print at + 8; exit } left = int($2 / 65536) }
		{ left -= 8; at += 8 }')
	printf '\377\377\377\377\377\377\377\377' |
		dd of="$1" bs=1 seek="$at" conv=notrunc status=none
}

# eventually WHAT COMMAND...: check that COMMAND succeeds within a minute
eventually() {
	local what=$1

	shift
	for _ in $(seq 600); do
		if "$@"; then
			pass "$what"
			return
		fi
		sleep 0.1
	done
	fail "$what: '$*' does not succeed"
	return 1
}
