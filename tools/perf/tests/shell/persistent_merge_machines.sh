#!/bin/bash
# perf data merge makes one timeline of the files of several machines
# SPDX-License-Identifier: GPL-2.0

# shellcheck disable=SC2154 # the library sets them
# shellcheck source=lib/persistent.sh
. "$(dirname "$0")"/lib/persistent.sh

persistent_require
require_numbers
type -P unshare > /dev/null || skip "no unshare"

# The machines are this host under several names. alpha records the numbers from 1 on, beta
# from 101 on, and gamma from 201 on, with a plain perf record. delta records the same as
# alpha.
alpha=$tmp/alpha.data
beta=$tmp/beta.data
gamma=$tmp/gamma.data
delta=$tmp/delta.data

# on_host NAME COMMAND...: run it with NAME as the host name
on_host() {
	# shellcheck disable=SC2016 # of the inner shell
	unshare --uts sh -c 'echo "$0" > /proc/sys/kernel/hostname && exec "$@"' "$@"
}

# below LIMIT: the filter for the hundred numbers below LIMIT, which one machine records
below() {
	echo "sig == 0 && pid < $((number_base + $1)) && pid >= $((number_base + $1 - 100))"
}

# number_on_cpus N...: use one CPU after the other, so that the files are not in time order
number_on_cpus() {
	local n cpus

	cpus=$(nproc)
	for n; do
		! type -P taskset > /dev/null || taskset -pc $((n % cpus)) $$ > /dev/null
		number "$n"
	done
}

record_machines() {
	local recorder i

	check "create alpha's" perf record -P "${ns}_alpha" -e "$number_event" \
	      --filter "$(below 100)" -a -m 64K --clockid monotonic
	check "create beta's" perf record -P "${ns}_beta" -e "$number_event" \
	      --filter "$(below 200)" -a -m 64K --clockid monotonic_raw
	check "create delta's" perf record -P "${ns}_delta" -e "$number_event" \
	      --filter "$(below 100)" -a -m 64K

	mkfifo "$tmp/control" "$tmp/ack"
	on_host gamma perf record -e "$number_event" --filter "$(below 300)" -a \
		--clockid monotonic -o "$gamma" --control "fifo:$tmp/control,$tmp/ack" -D -1 \
		> "$tmp/said" 2>&1 &
	recorder=$!
	exec 4> "$tmp/control" 5< "$tmp/ack"
	echo enable >&4
	read -r -t 60 _ <&5 || fail "gamma does not record: $(cat "$tmp/said")"

	for i in 1 2 3 4 5 6 7 8; do
		number_on_cpus "$i" $((100 + i)) $((200 + i))
	done
	echo stop >&4
	wait "$recorder" || fail "gamma did not record: $(cat "$tmp/said")"
	exec 4>&- 5<&-

	check "read alpha's" on_host alpha perf ctl -r "${ns}_alpha" -o "$alpha"
	check "read beta's" on_host beta perf ctl -r "${ns}_beta" -o "$beta"
	check "read delta's" on_host delta perf ctl -r "${ns}_delta" -o "$delta"
}

# merge OPTION...: run perf data merge, with stdout in $tmp/merged and stderr in $tmp/said
merge() {
	perf data merge "$@" > "$tmp/merged" 2> "$tmp/said"
}

# merged: the numbers in $tmp/merged, in their order
merged() {
	local hex

	sed -n 's/.*pid: 0x\([0-9a-f]*\),.*/\1/p' "$tmp/merged" | while read -r hex; do
		echo $((16#$hex - number_base))
	done | paste -s -d ' '
}

# told PATTERN: check that the last merge said so
told() {
	if grep -q -- "$1" "$tmp/said"; then
		pass "it says '$1'"
	else
		fail "it does not say '$1', but:"
		cat "$tmp/said"
	fi
}

all_alpha="1 2 3 4 5 6 7 8"
all_beta="101 102 103 104 105 106 107 108"
all_gamma="201 202 203 204 205 206 207 208"
one_by_one="1 101 201 2 102 202 3 103 203 4 104 204 5 105 205 6 106 206 7 107 207 8 108 208"

test_order() {
	local form host

	check "merge" merge "$alpha" "$beta" "$gamma"
	same "numbers" "$one_by_one" "$(merged)"
	told "^alpha: 8 samples, up to .* (monotonic)"
	told "^beta: 8 samples, up to .* (monotonic_raw).*give or take"
	told "^gamma: 8 samples"
	told "Files do not show how far apart the clocks"
	form="^%-5s $(date +%Y)-[0-9-]* [0-9:]*\.[0-9]\{6\} .* $$/$$ .*\[[0-9]*\] $number_event: "
	for host in alpha beta gamma; do
		# shellcheck disable=SC2059 # the form is one
		same "lines of $host" 8 "$(grep -c "$(printf "$form" "$host")" "$tmp/merged")"
	done
	check "merge in another order" merge "$gamma" "$beta" "$alpha"
	same "numbers" "$one_by_one" "$(merged)"
	check "merge with the clock of perf" merge "$beta" "$delta" "$gamma"
	same "numbers" "$one_by_one" "$(merged)"
	told "^delta: 8 samples, up to .* (perf).*give or take"
	check "merge one" merge "$gamma"
	same "numbers" "$all_gamma" "$(merged)"
}

# The name of a host does not control the terminal.
test_controls() {
	check "read on a host with U+009B" \
	      on_host $'a\302\233b' perf ctl -r "${ns}_alpha" -o "$tmp/controls.data"
	check "merge" merge "$tmp/controls.data"
	same "lines of the host" 8 "$(grep -c '^a??b ' "$tmp/merged")"
}

# The times are the same as those that perf script prints.
test_time() {
	TZ=UTC merge "$alpha"
	TZ=UTC perf script -F tod,event -i "$alpha" 2> /dev/null |
		sed -n 's/^ *\([0-9-]* [0-9:.]*\) .*/\1/p' > "$tmp/script"
	sed -n 's/^alpha \([0-9-]* [0-9:.]*\) .*/\1/p' "$tmp/merged" > "$tmp/times"
	same "times" 8 "$(sort -u "$tmp/times" | wc -l)"
	check "times are those of perf script" diff "$tmp/script" "$tmp/times"
}

test_offsets() {
	local bad

	check "beta earlier" merge --offset beta=-3600 "$alpha" "$beta"
	same "numbers" "$all_beta $all_alpha" "$(merged)"
	told "^beta: .* -3600 s added"
	check "alpha later, gamma earlier" \
	      merge --offset alpha=+86400.5 --offset gamma=-7200 "$alpha" "$beta" "$gamma"
	same "numbers" "$all_gamma $all_beta $all_alpha" "$(merged)"
	told "^alpha: .* +86400.5 s added"
	for bad in alpha alpha= =5 alpha=x alpha=1s alpha=nan alpha=0x10 alpha=1e3 alpha=1.2.3 \
		   alpha=99999999999; do
		refuse "--offset $bad" "as in --offset web1=-1.5: not '$bad'" \
		       perf data merge --offset "$bad" "$alpha" "$beta"
	done
	refuse "an offset of no machine" \
	       "no file is from machine 'omega', only from 'alpha' 'beta'." \
	       perf data merge --offset omega=1 "$alpha" "$beta"
}

# move FILE SECONDS TO: copy FILE to TO, with the wall-clock time of its machine moved by SECONDS
move() {
	python3 - "$@" << 'END'
import struct, sys, time
file, seconds, to = sys.argv[1:]
data = bytearray(open(file, "rb").read())
now = time.time_ns()
found = []
for clock in 1, 4:
    head = struct.pack("<II", 1, clock)
    at = data.find(head)
    while at >= 0:
        tod, = struct.unpack_from("<Q", data, at + 8)
        if abs(tod - now) < 3600 * 10**9:
            found.append((at + 8, tod))
        at = data.find(head, at + 1)
(at, tod), = found
struct.pack_into("<Q", data, at, tod + int(seconds) * 10**9)
open(to, "wb").write(data)
END
}

# A machine whose clock is known to be ahead, and two files of one machine
test_clock_set() {
	check "beta's clock is ahead" move "$beta" 100 "$tmp/ahead.data"
	check "merge" merge "$alpha" "$tmp/ahead.data"
	same "numbers" "$all_alpha $all_beta" "$(merged)"
	check "merge with an offset" merge --offset beta=-100 "$alpha" "$tmp/ahead.data" "$gamma"
	same "numbers" "$one_by_one" "$(merged)"

	check "merge two files of a machine" merge "$beta" "$tmp/ahead.data"
	same "numbers" "$all_beta $all_beta" "$(merged)"
	same "lines of the second file" 8 "$(grep -c "^beta:$tmp/ahead.data " "$tmp/merged")"
	told "^beta: .* is +100.000 s in '$tmp/ahead.data' compared with '$beta': the clock was set"
	check "an offset of one file" merge --offset "beta:$beta=200" "$beta" "$tmp/ahead.data"
	same "lines of the second file come first" 8 \
	     "$(head -n 8 "$tmp/merged" | grep -c "^beta:$tmp/ahead.data ")"
	check "an offset of both files" merge --offset beta=-5 "$beta" "$tmp/ahead.data"
	same "files with an offset" 2 "$(grep -c "^beta:.* -5 s added" "$tmp/said")"
	refuse "a file twice" "give each file once" perf data merge "$beta" "$beta"
}

test_json() {
	check "merge --json" merge --json "$alpha" "$beta" "$gamma"
	check "parse it" python3 - "$tmp/merged" "$number_base" << 'END'
import datetime, json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
times = [line["time_ns"] for line in lines]
assert times == sorted(times), times
assert [line["time"] for line in lines] == sorted(line["time"] for line in lines)
machines = {"alpha": 0, "beta": 100, "gamma": 200}
seen = []
for line in lines:
    assert line["event"] == "syscalls:sys_enter_kill", line
    assert line["pid"] == line["tid"] > 0 and line["comm"] and line["cpu"] >= 0, line
    day = datetime.datetime.strptime(line["time"][:19] + "+0000", "%Y-%m-%dT%H:%M:%S%z")
    assert line["time_ns"] // 10**9 == int(day.timestamp()), line
    assert line["time"].endswith(".%09dZ" % (line["time_ns"] % 10**9)), line
    number = int(line["fields"]["pid"], 0) - int(sys.argv[2])
    assert "pid: 0x%08x" % (number + int(sys.argv[2])) in line["trace"], line
    assert 0 < number - machines[line["machine"]] <= 8, line
    seen.append(number)
assert seen == [100 * m + n for n in range(1, 9) for m in range(3)], seen
END
}

test_output() {
	merge "$alpha" "$beta"
	check "merge -o" perf data merge -o "$tmp/timeline" "$alpha" "$beta"
	check "the same" diff "$tmp/merged" "$tmp/timeline"
	cp "$alpha" "$tmp/kept"
	refuse "no name for -o" "'$alpha' exists: remove it" perf data merge -o "$alpha" "$beta"
	check "the file is as it was" cmp "$tmp/kept" "$alpha"
	refuse "-o where nothing can be" "give -o another name" \
	       perf data merge -o "$tmp/nowhere/timeline" "$alpha" "$beta"
	if [ -c /dev/full ]; then
		refuse "no room" "is the disk full?" perf data merge -o /dev/full "$alpha"
	fi
}

# A file in the format that perf record writes to a pipe
test_stream() {
	perf record -e "$number_event" --filter "$(below 400)" -a --clockid monotonic -o - \
		bash -c "for i in 301 302 303; do kill -0 \$(($number_base + i)); done" \
		2> "$tmp/said" > "$tmp/stream.data"
	check "merge with a stream" merge "$tmp/stream.data" "$alpha"
	same "numbers" "$all_alpha 301 302 303" "$(merged)"
}

# If any file cannot be merged, perf names each such file and prints no samples.
test_refused() {
	local file size

	size=$(stat -c %s "$alpha")
	head -c $((size / 2)) "$alpha" > "$tmp/cut.data"
	head -c $((size - 16)) "$alpha" > "$tmp/end.data"
	head -c 5000 /dev/urandom > "$tmp/noise.data"
	: > "$tmp/empty.data"

	perf record -e dummy -o "$tmp/none.data" true > "$tmp/said" 2>&1
	refuse "a file without a clock" "'perf record --clockid monotonic', 'perf ctl read'" \
	       perf data merge -o "$tmp/no" "$alpha" "$tmp/none.data"
	check "it is named" grep -q "^'$tmp/none.data' does not contain" "$tmp/said"
	# perf may find out already when it reads the headers, and then it cannot read the file.
	refuse "a file without its end" ": copy it again" \
	       perf data merge -o "$tmp/no" "$alpha" "$tmp/end.data"
	check "it is named" grep -q "'$tmp/end.data'.*: copy it again" "$tmp/said"
	for file in cut noise empty missing; do
		refuse "$file.data" "Cannot read '$tmp/$file.data': copy it again" \
		       perf data merge -o "$tmp/no" "$alpha" "$tmp/$file.data" "$beta"
	done
	refuse "both of two" "Cannot read '$tmp/noise.data'" \
	       perf data merge "$tmp/noise.data" "$tmp/missing.data" "$beta"
	check "the other one as well" grep -q "Cannot read '$tmp/missing.data'" "$tmp/said"
	refuse "no files" "Name the files to merge." perf data merge
	[ ! -e "$tmp/no" ] || fail "there is output although a file was refused"
}

record_machines
test_order
test_controls
test_time
test_offsets
test_output
test_stream
test_refused
if type -P python3 > /dev/null; then
	test_clock_set
	test_json
else
	echo "no python3: JSON and a clock that was set are not tested"
fi
exit "$failed"
