#!/bin/bash
# samples have names of tasks older than the namespace or its snapshots
# SPDX-License-Identifier: GPL-2.0

# shellcheck disable=SC2154 # the library sets them
# shellcheck source=lib/persistent.sh
. "$(dirname "$0")"/lib/persistent.sh

persistent_require
type -P gcc > /dev/null || skip "no gcc"

# A program that works for 100 ms for each line of input
build() {
	gcc -O1 -o "$1" -x c - <<-EOC
	#include <stdio.h>
	#include <time.h>
	static volatile unsigned long sum;
	__attribute__((noinline)) void ancient_work(void)
	{
		for (int i = 0; i < 1000000; i++)
			sum += i;
	}
	int main(int argc, char **argv)
	{
		if (argc > 1 && !fopen(argv[1], "w"))
			return 1;
		/* Each line on the input is 100 ms of work. */
		while (getchar() != EOF) {
			clock_t until = clock() + CLOCKS_PER_SEC / 10;

			while (clock() < until)
				ancient_work();
			putchar('.');
			fflush(stdout);
		}
		return 0;
	}
	EOC
}

prog=$tmp/old_$$
build "$prog" > "$tmp/out" 2>&1 || { cat "$tmp/out"; skip "gcc cannot build a program"; }

# shellcheck disable=SC2317 # eventually calls it
worked() {
	[ "$(wc -c < "$tmp/dots_$1")" -ge "$2" ]
}

# old_start N: start a program that waits for work
old_start() {
	mkfifo "$tmp/work_$1"
	: > "$tmp/dots_$1"
	"$prog" "$tmp/started_$1" < "$tmp/work_$1" >> "$tmp/dots_$1" &
	old=$!
	exec {work}> "$tmp/work_$1"
	eventually "it runs" test -e "$tmp/started_$1"
}

# old_work N DOTS: give it work, and wait until it has worked DOTS times
old_work() {
	echo >&"$work"
	eventually "it works" worked "$1" "$2"
}

# shellcheck disable=SC2317 # check calls it
gone_task() {
	[ ! -e "/proc/$old" ]
}

old_end() {
	exec {work}>&-
	wait "$old"
	check "it has ended" gone_task
}

# named WHAT FILE: check that all samples of the program have its name, and most its
# function. Skip samples between fork and exec, when it is still the shell.
named() {
	local all comms work_samples

	perf script -i "$2" -F comm,pid,ip,sym 2> /dev/null |
		awk -v pid="$old" -v comm="${prog##*/}" -v shell="$(cat /proc/$$/comm)" '
		$2 != pid || ($1 == shell && $4 != "ancient_work") { next }
		{ all++ }
		$1 == comm { comms++ }
		$1 == comm && $4 == "ancient_work" { work++ }
		END { print all + 0, comms + 0, work + 0 }' > "$tmp/named"
	read -r all comms work_samples < "$tmp/named"
	check "$1: $all samples, $comms with the name, $work_samples of the function" \
	      test "$work_samples" -gt 0 -a "$comms" -eq "$all" -a "$((work_samples * 2))" -gt "$all"
}

nr_execs() {
	perf script -i "$1" --show-task-events 2> /dev/null |
		grep -c "PERF_RECORD_COMM exec: ${exec_prog##*/}:"
}

# The task is older than the namespace, and has exited when the namespace is read.
test_older() {
	old_start older
	check "create" perf record -P "$ns" -e cpu-clock:u -F 499 -a
	says "what is kept of tasks" "and [0-9]*[BKM] for the list of tasks that already run"
	# A plain perf record, for comparison
	perf record -e cpu-clock:u -F 499 -a -o "$tmp/plain" \
		sh -c "echo > $tmp/work_older; until [ -s $tmp/dots_older ]; do sleep 0.1; done" \
		> /dev/null 2>&1
	check "take a snapshot" perf ctl -s "$ns"
	old_work older 2
	old_end
	named "plain perf record" "$tmp/plain"
	check "read" perf record -e "persistent/$ns/" -o "$data"
	named "the namespace" "$data"
	check "read the snapshot" perf ctl -r "$ns.1" -o "$data"
	named "the snapshot" "$data"
	check "read both" perf record -e "persistent/$ns/" -e "persistent/$ns.1/" -o "$data"
	named "both" "$data"
	same "how often it is said what it is called" 1 \
	     "$(perf script -i "$data" --show-task-events 2> /dev/null |
		grep -c "PERF_RECORD_COMM: ${prog##*/}:$old/$old")"
	check "read by a pipe" sh -c "perf ctl -r $ns -o - | cat > $tmp/pipe"
	named "the pipe" "$tmp/pipe"
	# perf top needs a keyboard on stdin: one where nobody types
	mkfifo "$tmp/keys"
	exec 3<> "$tmp/keys"
	perf top --stdio -e "persistent/$ns/" --sort comm,sym -d 1 <&3 > "$tmp/top" 2>&1 &
	top=$!
	eventually "perf top shows it" grep -q "${prog##*/}.*ancient_work" "$tmp/top"
	kill "$top"
	wait "$top" || true
	exec 3>&-
	check "a snapshot without its namespace" perf ctl -d "$ns"
	check "read the snapshot" perf ctl -r "$ns.1" -o "$data"
	named "the snapshot" "$data"
	check "delete" perf ctl -d "$ns.*"
}

# The task starts before three snapshots, and its end triggers a fourth one.
test_snapshots() {
	local i

	check "create" perf record -P "$ns" -e cpu-clock:u -F 499 -a
	old_start snapshots
	check "add a trigger" perf ctl -t "$ns" --when sched:sched_process_exit \
	      --filter "comm == \"${prog##*/}\" && pid == $old" --do snapshot --cool-down 0
	for i in 1 2 3; do
		old_work snapshots "$i"
		check "take snapshot $i" perf ctl -s "$ns"
	done
	check "clear" perf ctl --clear "$ns"
	old_work snapshots 4
	old_end
	eventually "the fourth snapshot" exists "$ns.4"
	for i in 4 2; do
		check "read" perf ctl -r "$ns.$i" -o "$data"
		named "snapshot $i" "$data"
	done
	check "read all" perf record -e "persistent/$ns.2/" -e "persistent/$ns/" \
	      -e "persistent/$ns.4/" -e "persistent/$ns.1/" -o "$data"
	exec_prog=$prog
	same "execs in all of them" 1 "$(nr_execs "$data")"
	named "all" "$data"
	check "delete" perf ctl -d "$ns" "$ns.*"
}

# A reader that follows sees each task once, whatever snapshots are taken meanwhile.
test_follow() {
	exec_prog=$tmp/child_$$
	cp "$(type -P true)" "$exec_prog"
	check "create" perf record -P "$ns" -e cpu-clock:u -F 499 -a
	"$exec_prog"
	cat > "$tmp/script" <<-EOF
		for i in 1 2 3; do
			"$exec_prog"
			perf ctl -s "$ns"
			"$exec_prog"
		done
		perf ctl --clear "$ns"
	EOF
	check "read on" perf record -e "persistent/$ns/" -o "$data" sh "$tmp/script"
	same "execs" 7 "$(nr_execs "$data")"
	check "read again" perf record -e "persistent/$ns/" -o "$data"
	same "execs after all" 7 "$(nr_execs "$data")"
	check "delete" perf ctl -d "$ns" "$ns.*"
}

# A program whose processes map the file of the first argument 19,200 times in all
build_hog() {
	gcc -O1 -o "$1" -x c - <<-EOC
	#include <fcntl.h>
	#include <stdio.h>
	#include <sys/mman.h>
	#include <unistd.h>
	int main(int argc, char **argv)
	{
		int fd = open(argv[1], O_RDONLY);

		for (int i = 0; i < 400; i++) {
			if (mmap(NULL, 1, PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
				return 1;
		}
		for (int i = 1; i < 48; i++) {
			if (!fork())
				return getchar() == EOF;
		}
		fopen(argv[2], "w");
		return getchar() == EOF;
	}
	EOC
}

# The maps of some tasks do not push out the names of later ones.
test_many_maps() {
	local dir=$tmp hog

	build_hog "$tmp/hog" > "$tmp/out" 2>&1 || { cat "$tmp/out"; return; }
	while [ ${#dir} -lt 3600 ]; do
		dir+=/$(printf '%0200d' 0)
	done
	mkdir -p "$dir"
	echo > "$dir/file"
	mkfifo "$tmp/hog_ends"
	"$tmp/hog" "$dir/file" "$tmp/hog_runs" < "$tmp/hog_ends" &
	hog=$!
	exec 3> "$tmp/hog_ends"
	eventually "tasks with many maps" test -e "$tmp/hog_runs"
	old_start many_maps
	check "create" perf record -P "$ns" -e cpu-clock:u -F 499 -a
	says "it says what is missing" "does not keep all names and maps of the existing tasks"
	says "and why" "there are too many"
	old_work many_maps 1
	old_end
	exec 3>&-
	wait "$hog"
	check "read" perf record -e "persistent/$ns/" -o "$data" -k
	same "names of the later task" "${prog##*/}" \
	     "$(perf script -i "$data" -F comm --pid "$old" 2> /dev/null | sort -u | xargs)"
}

# If there is no room for the names of tasks, the namespace is still created.
test_not_kept() {
	local cpus limit

	require_nobody || return 0
	cpus=$(getconf _NPROCESSORS_ONLN)
	# The KiB that the buffers need, plus one
	limit=$((1028 + 260 * cpus - cpus * $(cat /proc/sys/kernel/perf_event_mlock_kb) + 1))
	[ "$limit" -gt 0 ] || { echo "too many CPUs: not tested"; return; }
	check "create" sh -c "ulimit -l $limit; ${nobody[*]/=-all/=-all,+perfmon} \
		--ambient-caps=+perfmon $tmp/perf record -P $ns -e cpu-clock -C 0 -m 1M"
	says "it says what is missing" "does not keep the names of the existing tasks"
	says "and why" "more than you may lock"
	check "it is there" exists "$ns"
	check "read" perf record -e "persistent/$ns/" -o "$data" -k
}

# Whoever made the namespace may give the kernel any records: readers leave out wrong ones.
test_untrusted() {
	local pmu=/sys/bus/event_source/devices/persistent

	gcc -o "$tmp/set_tasks" -x c - > "$tmp/out" 2>&1 <<-EOC
	#include <stdint.h>
	#include <stdlib.h>
	#include <unistd.h>
	#include <linux/perf_event.h>
	#include <sys/ioctl.h>
	#include <sys/syscall.h>
	int main(int argc, char **argv)
	{
		struct perf_event_attr attr = {
			.size = sizeof(attr), .type = atoi(argv[1]), .config = atoll(argv[2]),
			.config2 = 1, /* PERF_PERSIST_OPEN_WRITE */
		};
		struct {
			struct perf_event_header header;
			uint32_t pid, tid;
			uint64_t nr_namespaces, rest[16];
		} record = {
			{ PERF_RECORD_NAMESPACES, 0, sizeof(record) }, 1, 1, 1 << 22,
		};
		struct {
			uint32_t size, flags;
			uint64_t offset, len, addr, total;
		} tasks = {
			.size = sizeof(tasks), .len = sizeof(record), .addr = (uintptr_t)&record,
		};
		int fd = syscall(SYS_perf_event_open, &attr, -1, -1, -1, 0);

		return ioctl(fd, _IOW('$', 19, tasks), &tasks) != 0;
	}
	EOC
	check "create" perf record -P "$ns" -e cpu-clock -a
	check "give it a record with too many namespaces" "$tmp/set_tasks" "$(cat $pmu/type)" \
	      "$(perf ctl -l --json "$ns" | sed -n 's/.*"id": \([0-9]*\),*$/\1/p' | head -n 1)"
	check "read" perf ctl -r "$ns" -o "$data"
	check "the record is not there" sh -c \
	      "! perf script -i $data --show-namespace-events 2> /dev/null | grep PERF_RECORD_NAMES"
	mkfifo "$tmp/no_keys"
	exec 3<> "$tmp/no_keys"
	perf top --stdio -e "persistent/$ns/" -d 1 <&3 > "$tmp/top" 2>&1 &
	top=$!
	eventually "perf top runs" grep -q PerfTop: "$tmp/top"
	echo q >&3
	wait "$top"
	exec 3>&-
	check "delete" perf ctl -d "$ns"
}

test_older
test_snapshots
test_untrusted
test_follow
test_many_maps
test_not_kept
exit "$failed"
