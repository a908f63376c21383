#!/bin/bash
# perf ctl -r reads parts of a namespace: by time, CPU, size, to a pipe
# SPDX-License-Identifier: GPL-2.0

# shellcheck disable=SC2154 # the library sets them
# shellcheck source=lib/persistent.sh
. "$(dirname "$0")"/lib/persistent.sh

persistent_require
# perf ctl show needs it.
perffs=$(grep -w perffs /proc/filesystems)

# mark_times FILE: the time of each run of the marker, sorted by time
mark_times() {
	perf script --ns -i "$1" -F time,event,trace 2> /dev/null |
		sed -n "s|^ *\([0-9.]*\): *sched:sched_process_exec: filename=$marker .*|\1|p"
}

samples() {
	perf script -i "$1" -F time 2> /dev/null | wc -l
}

size_of() {
	stat -c %s "$1"
}

test_bounds() {
	local times

	mark 6
	check "read all" perf ctl -r "$ns" -o "$data"
	mapfile -t times < <(mark_times "$data")
	same "execs" 6 "${#times[@]}"

	check "--from" perf ctl -r "$ns" -o "$data" --from "${times[2]}"
	same "execs from the third on" "${times[*]:2}" "$(mark_times "$data" | xargs)"
	check "--to" perf ctl -r "$ns" -o "$data" --to "${times[2]}"
	same "execs up to the third" "${times[*]:0:3}" "$(mark_times "$data" | xargs)"
	check "both" perf ctl -r "$ns" -o "$data" --from "${times[1]}" --to "${times[4]}"
	same "execs in between" "${times[*]:1:4}" "$(mark_times "$data" | xargs)"
	check "perf record" perf record -e "persistent/$ns/" -o "$data" --from "${times[1]}" \
	      --to "${times[4]}"
	same "execs in between" "${times[*]:1:4}" "$(mark_times "$data" | xargs)"

	# perf script --time selects the same samples for the same times.
	perf script -i "$data" --time "${times[1]},${times[4]}" > "$tmp/by_script" 2> /dev/null
	perf script -i "$data" > "$tmp/by_ctl" 2> /dev/null
	check "as perf script --time" cmp "$tmp/by_script" "$tmp/by_ctl"
}

# A task that has exited is known, although its records are older than the slice.
test_names_before() {
	local start

	perf test -w noploop > /dev/null 2>&1 &
	wait $!
	check "read all" perf ctl -r "$ns" -o "$data"
	start=$(perf script --ns -i "$data" -F comm,time,event,ip,sym 2> /dev/null |
		sed -n 's/^ *perf[^ ]* *\([0-9.]*\): *clock: *[0-9a-f]* noploop$/\1/p' |
		sed -n '$p')
	check "a late sample of it" test "$start"
	check "from there on" perf ctl -r "$ns" -o "$data" --from "$start"
	check "its name and function" sh -c "perf script --ns -i $data -F comm,time,event,ip,sym |
		grep '^ *perf[^ ]* *$start: *clock: *[0-9a-f]* noploop$'"
}

test_last() {
	check "an hour" perf ctl -r "$ns" -o "$data" --last 1h
	same "execs" 6 "$(marks "$data")"
	check "60 minutes" perf ctl -r "$ns" -o "$data" --last 60m
	same "execs" 6 "$(marks "$data")"
	# So short that only events during the read can be in the slice
	check "a nanosecond" perf ctl -r "$ns" -o "$data" --last 1ns
	same "execs" 0 "$(marks "$data")"
	check "a microsecond" perf ctl -r "$ns" -o "$data" --last 1us
	same "execs" 0 "$(marks "$data")"
}

# shown NAME TIME: how many marks perf ctl show --last TIME prints
shown() {
	perf ctl show "$1" --last "$2" | grep -c ": filename=$marker "
}

# A namespace that records no more ends with its newest record, however long ago that was.
test_ended() {
	local stopped=${ns}_stopped off=${ns}_off start last name

	check "create" perf record -P "$stopped" -e "$exec_event" -m 8 -a
	check "create another one" perf record -P "$off" -e "$exec_event" -m 8 -a
	start=$(uptime_ms)
	mark 2
	check "stop" perf ctl stop "$stopped"
	check "disable" perf ctl disable "$off"
	last=$(($(uptime_ms) - start + 1000))
	start=$(uptime_ms)
	until (($(uptime_ms) > start + last)); do
		sleep 0.1
	done
	for name in "$stopped" "$off"; do
		check "read the end of $name" perf ctl -r "$name" -o "$data" --last ${last}ms
		same "execs" 2 "$(marks "$data")"
		# The perf that ended it was an exec after the marks.
		check "read its last nanosecond" perf ctl -r "$name" -o "$data" --last 1ns
		same "execs" 0 "$(marks "$data")"
		[ "$perffs" ] || continue
		same "shown" 2 "$(shown "$name" ${last}ms)"
		same "shown of its last microsecond" 0 "$(shown "$name" 1us)"
	done
	# A snapshot that is taken much later ends there as well.
	check "snapshot" perf ctl snapshot "$stopped"
	check "read the end of the snapshot" perf ctl -r "$stopped.1" -o "$data" --last ${last}ms
	same "execs" 2 "$(marks "$data")"
	[ -z "$perffs" ] || same "shown" 2 "$(shown "$stopped.1" ${last}ms)"
	check "delete" perf ctl -d "$stopped" "$stopped.1" "$off"
}

# A library that moves CLOCK_BOOTTIME, and not the clock of the records, a day ahead for
# perf, as if the machine had been suspended for a day
build_suspend() {
	cat > "$tmp/suspend.c" <<- "EOF"
	#define _GNU_SOURCE
	#include <sys/syscall.h>
	#include <time.h>
	#include <unistd.h>

	int clock_gettime(clockid_t clock, struct timespec *now)
	{
		int ret = syscall(SYS_clock_gettime, clock, now);

		if (!ret && clock == CLOCK_BOOTTIME)
			now->tv_sec += 24 * 3600;
		return ret;
	}
	EOF
	cc -shared -fPIC -o "$tmp/suspend.so" "$tmp/suspend.c" 2> /dev/null
}

test_suspend() {
	local past=${ns}_past

	build_suspend || { echo "no compiler: a suspend is not tested"; return; }

	check "create" perf record -P "$past" -e "$exec_event" -m 8 -a
	mark 2
	check "snapshot" perf ctl -s "$past"
	check "an hour, a day later" env LD_PRELOAD="$tmp/suspend.so" \
	      perf ctl -r "$past.1" -o "$data" --last 1h
	same "execs" 2 "$(marks "$data")"
	[ -z "$perffs" ] || same "shown" 2 "$(LD_PRELOAD=$tmp/suspend.so shown "$past.1" 1h)"
	# The perf that took the snapshot was an exec after the marks.
	check "a nanosecond" env LD_PRELOAD="$tmp/suspend.so" \
	      perf ctl -r "$past.1" -o "$data" --last 1ns
	same "execs" 0 "$(marks "$data")"
}

# --last works with the clock of the namespace, here CLOCK_MONOTONIC.
test_clock() {
	check "CLOCK_MONOTONIC" \
	      perf record -P "${ns}_mono" -e "$exec_event" -m 8 -a --clockid monotonic
	mark 2
	check "an hour" perf ctl -r "${ns}_mono" -o "$data" --last 1h
	same "execs" 2 "$(marks "$data")"
	check "a nanosecond" perf ctl -r "${ns}_mono" -o "$data" --last 1ns
	same "execs" 0 "$(marks "$data")"
}

test_cpus() {
	check "-C" perf ctl -r "$ns" -o "$data" -C 0
	same "CPUs" 0 "$(perf script -i "$data" -F cpu 2> /dev/null | tr -d '[] ' | sort -un |
			 sed 's/^0*\(.\)/\1/')"
}

test_size() {
	local all size first last file

	check "read all" perf ctl -r "$ns" -o "$data"
	all=$(samples "$data")
	size=$(size_of "$data")

	# The limit is lower by more than the records that are added during a read.
	size=$((size - 30000))
	check "--max-size" perf ctl -r "$ns" -o "$data" --max-size ${size}B
	says "what it does" 'max-size leaves out [0-9]* older records'
	check "it is not larger" test "$(size_of "$data")" -le "$size"
	check "fewer samples" test "$(samples "$data")" -lt "$all"
	check "some samples" test "$(samples "$data")" -gt 0

	# The file has the newest samples, without gaps.
	perf script --ns -i "$data" -F cpu,time,event > "$tmp/newest" 2> /dev/null
	check "read all" perf ctl -r "$ns" -o "$data"
	perf script --ns -i "$data" -F cpu,time,event > "$tmp/all" 2> /dev/null
	# perf reads one CPU after the other, so compare only up to the end of the first one.
	first=$(sed -n '1s/.* \([0-9.]*\): .*/\1/p' "$tmp/newest")
	last=$(awk '{ last[$1] = $2 } END { for (cpu in last) print last[cpu] + 0 }' \
		CONVFMT=%.9f OFMT=%.9f "$tmp/newest" | sort -g | head -n 1)
	for file in "$tmp/newest" "$tmp/all"; do
		awk -v first="$first" -v last="$last" \
			'$2 + 0 >= first + 0 && $2 + 0 <= last + 0' "$file" > "$file.common"
	done
	check "samples in common" test -s "$tmp/all.common"
	check "the same ones" cmp "$tmp/newest.common" "$tmp/all.common"

	check "much room" perf ctl -r "$ns" -o "$data" --max-size 1G
	same "execs" 8 "$(marks "$data")"
	refuse "too small" "too small for any sample" perf ctl -r "$ns" -o "$data" --max-size 1K
	check "--max-size to a pipe" sh -c "perf ctl -r $ns -o - --max-size ${size}B > $tmp/pipe"
	check "it is not larger" test "$(size_of "$tmp/pipe")" -le "$size"
	check "some samples" test "$(samples "$tmp/pipe")" -gt 0
}

test_pipe() {
	check "read all" perf ctl -r "$ns" -o "$data"
	check "-o - to perf script" \
	      sh -c "perf ctl -r $ns -o - | perf script -i - -F comm,time,event,trace > $tmp/piped"
	same "execs" 8 "$(grep -c "filename=$marker " "$tmp/piped")"
	check "-o - to perf inject" \
	      sh -c "perf ctl -r $ns -o - | perf inject -b -i - -o $tmp/injected"
	same "execs" 8 "$(marks "$tmp/injected")"
	check "-o - through perf inject" \
	      sh -c "perf ctl -r $ns -o - | perf inject -b | perf script -i - > $tmp/piped"
	same "execs" 8 "$(grep -c "filename=$marker " "$tmp/piped")"
}

test_refusals() {
	local bad

	for bad in 30 s 1.5 1.s 1s5 -1s 30sec 99999999999999999999x ""; do
		refuse "--last '$bad'" "as in --last 30s" perf ctl -r "$ns" -o "$data" --last "$bad"
	done
	for bad in 213504d 99999999999999999999h 213503d1d; do
		refuse "--last '$bad'" "--last takes a time of at most 213503d: not '$bad'" \
		       perf ctl -r "$ns" -o "$data" --last "$bad"
	done
	refuse "--last 0s" "longer than 0" perf ctl -r "$ns" -o "$data" --last 0s
	check "a fraction" perf ctl -r "$ns" -o "$data" --last 1.5h
	check "a sum" perf ctl -r "$ns" -o "$data" --last 1h30m
	for bad in yesterday 1.1234567890 -5 1,2 10% 21139589601; do
		refuse "--from $bad" "--from takes a time as perf script shows it" \
		       perf ctl -r "$ns" -o "$data" "--from=$bad"
		refuse "--to $bad" "--to takes a time as perf script shows it" \
		       perf ctl -r "$ns" -o "$data" "--to=$bad"
	done
	refuse "an end before the start" "swap them" \
	       perf ctl -r "$ns" -o "$data" --from 2 --to 1.5
	refuse "two starts" "use only one of them" perf ctl -r "$ns" -o "$data" --from 2 --last 1s
	for bad in 10 M 0K much 1T; do
		refuse "--max-size $bad" "as in --max-size 10M" \
		       perf ctl -r "$ns" -o "$data" --max-size "$bad"
	done
	refuse "-C" "-C takes a list of CPUs" perf ctl -r "$ns" -o "$data" -C one
	refuse "a CPU without events" "you may open no event on these CPUs" \
	       perf ctl -r "$ns" -o "$data" -C 4095
	refuse "without -r" "belong to -r" perf ctl -l "$ns" --last 30s
	refuse "-k of a part" "would delete records that are not in the file" \
	       perf record -e "persistent/$ns/" -o "$data" -k --last 30s
	refuse "-k of a part" "would delete records that are not in the file" \
	       perf record -e "persistent/$ns/" -o "$data" -k --max-size 1M
	check "it is still there" exists "$ns"
	refuse "other events" "name it with -e persistent/NS/" \
	       perf record -e cpu-clock -o "$data" --last 30s true

	check "a slice from before" perf ctl -r "$ns" -o "$data" --to 0.000000001
	says "there is none" "no sample is in this time range: the samples are from [0-9.]* to "
}

check "create" perf record -P "$ns" -e "$exec_event" -e cpu-clock/freq=49,name=clock/ -m 1024 -a
test_bounds
test_names_before
test_last
test_clock
test_cpus
test_size
test_pipe
test_suspend
test_ended
test_refusals
exit "$failed"
