#!/bin/bash
# samples of dead processes have names of their libraries and functions
# SPDX-License-Identifier: GPL-2.0
#
# PERSISTENT_SYMBOLS_PROCESSES sets the number of processes.

# shellcheck disable=SC2154 # the library sets them
# shellcheck source=lib/persistent.sh
. "$(dirname "$0")"/lib/persistent.sh

persistent_require
type -P gcc > /dev/null || skip "no gcc"

processes=${PERSISTENT_SYMBOLS_PROCESSES:-200}
variants=4
prog=$tmp/symbols

build() {
	local i

	cat > "$tmp/lib.c" <<-EOC
	#include <time.h>
	static volatile unsigned long sum;
	void WORK(void);
	void WORK(void)
	{
		struct timespec start, now;
		int rounds = 0;

		/* The clock goes on while a machine that is emulated waits for its turn. */
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
		do {
			for (int i = 0; i < 100000; i++)
				sum += i;
			clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
			now.tv_sec -= start.tv_sec;
		} while (++rounds < 20 ||
			 now.tv_sec * 1000000000 + now.tv_nsec < start.tv_nsec + 10000000);
	}
	EOC
	cat > "$prog.c" <<-EOC
	#include <dlfcn.h>
	#include <stdio.h>
	#include <unistd.h>
	int main(int argc, char **argv)
	{
		void *lib = dlopen(argv[1], RTLD_NOW);
		void (*work)(void) = lib ? (void (*)(void))dlsym(lib, argv[2]) : NULL;

		if (argc != 3 || !work)
			return 1;
		printf("%d %s %s\n", getpid(), argv[1], argv[2]);
		fflush(stdout);
		work();
		return 0;
	}
	EOC
	gcc -O1 -o "$prog" "$prog.c" -ldl || return 1
	for ((i = 0; i < variants; i++)); do
		gcc -O1 -shared -fPIC -DWORK="work_$i" -o "$tmp/variant_$i.so" "$tmp/lib.c" ||
			return 1
	done
	for ((i = 0; i < processes; i++)); do
		cp "$tmp/variant_$((i % variants)).so" "$tmp/lib_$i.so" || return 1
	done
}

# shellcheck disable=SC2317 # called by check
run() {
	local i

	for ((i = 0; i < processes; i++)); do
		"$prog" "$tmp/lib_$i.so" "work_$((i % variants))" >> "$tmp/ran" || return 1
	done
}

# A sample in a test library is right if it is the library of its process, and the
# function is that of the process or one that the compiler adds. Elsewhere, any function
# is right. Skip samples between fork and exec, when the process is still the shell.
count_samples() {
	awk -v shell="$(cat /proc/$$/comm)" -v tmp="$tmp" '
		NR == FNR { lib[$1] = $2; work[$1] = $3; next }
		!($2 in lib) || $1 == shell { next }
		{
			dso = $NF
			gsub("[()]", "", dso)
			all++
			seen[$2] = 1
			right = dso ~ "^/|^\\[vdso\\]" && $5 != "[unknown]"
			if (index(dso, tmp "/lib_") == 1 && dso != lib[$2] ||
			    $5 ~ "^work_" && $5 != work[$2])
				right = 0
			if ($5 == work[$2] && dso == lib[$2])
				own++
			if (right)
				good++
			else
				wrong[$1 " " $5 " " dso]++
			if (!first || $3 + 0 < first)
				first = $3 + 0
			if ($3 + 0 > last)
				last = $3 + 0
		}
		END {
			for (i in seen)
				nr++
			for (i in wrong)
				print wrong[i], i > "/dev/stderr"
			print good + 0, all + 0, own + 0, nr + 0, last - first
		}' "$tmp/ran" -
}

test_symbols() {
	local good all own nr secs percent

	check "read" perf record -e "persistent/$ns/" -o "$data"
	perf script --ns -i "$data" -F comm,pid,time,ip,sym,dso > "$tmp/script" 2> "$tmp/said" ||
		fail "perf script"
	read -r good all own nr secs < <(count_samples < "$tmp/script" 2> "$tmp/wrong")
	if [ "$all" = 0 ]; then
		fail "no samples"
		return
	fi

	percent=$(awk "BEGIN { printf \"%.2f\", 100 * $good / $all }")
	echo "symbols: $good of $all samples resolved ($percent %), of $nr processes in $secs s"
	[ $((good * 100)) -ge $((all * 99)) ] || fail "less than 99 %"
	[ -s "$tmp/wrong" ] && sort -rn "$tmp/wrong" | head
	# The file may be another one when somebody reads this.
	check "build ids of mapped files" sh -c "perf script -i '$data' --show-mmap-events |
		grep -a 'PERF_RECORD_MMAP2.*$tmp/' | grep -aq '<[0-9a-f]\{8,\}>'"
	check "samples in the libraries: $own" test "$own" -ge "$processes"
	check "all processes were sampled" test "$nr" = "$processes"
}

build > "$tmp/out" 2>&1 || { cat "$tmp/out"; skip "gcc cannot build a library"; }
# The frequency is low enough that the buffers hold all samples, even on a slow machine.
check "create" perf record -P "$ns" -e cpu-clock:u -F 499 -a
echo "default sizes: $(sed -n 's/.*perf record: \(buffers of.*\) \]/\1/p' "$tmp/out")"
check "run $processes processes" run
test_symbols
exit "$failed"
