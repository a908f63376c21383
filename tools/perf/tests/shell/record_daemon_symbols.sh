#!/bin/bash
# perf record --daemon has symbols for programs that have exited
# SPDX-License-Identifier: GPL-2.0
#
# RECORD_PROGRAMS sets how many programs run between two incidents. 200 of them take
# minutes in an emulated guest.

# shellcheck disable=SC2034,SC2154 # the libraries set and use them
# shellcheck source=lib/persistent.sh
. "$(dirname "$0")"/lib/persistent.sh
# shellcheck source=lib/record_daemon.sh
. "$(dirname "$0")"/lib/record_daemon.sh

type -P cc > /dev/null || skip "no cc"
nr=${RECORD_PROGRAMS:-20}
before=5

cat > "$tmp/library.c" << 'END'
void spin_in_library(long n);
void spin_in_library(long n)
{
	while (n--)
		__asm__ volatile("" : : : "memory");
}
END
cat > "$tmp/program.c" << 'END'
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>

static volatile long ticks;

static void count_tick(int sig)
{
	(void)sig;
	ticks++;
}

__attribute__((noinline)) static void spin_in_program(long n)
{
	while (n--)
		__asm__ volatile("" : : : "memory");
}

/* Where CPUs stand still for a while, timers fire less often, and samples are fewer, too. */
int main(int argc, char **argv)
{
	const struct itimerval ms = { { 0, 1000 }, { 0, 1000 } };
	void *library = argc > 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
	void (*spin)(long) = library ? (void (*)(long))dlsym(library, "spin_in_library") : NULL;

	signal(SIGALRM, count_tick);
	setitimer(ITIMER_REAL, &ms, NULL);
	while (spin && ticks < atol(argv[2])) {
		spin_in_program(20000);
		spin(20000);
	}
	return !spin;
}
END
cc -O1 -shared -fPIC -o "$tmp/library.so" "$tmp/library.c" 2> "$tmp/out" ||
	skip "cc makes no library: $(cat "$tmp/out")"
cc -O1 -o "$tmp/program" "$tmp/program.c" -ldl 2> "$tmp/out" ||
	skip "cc makes no program: $(cat "$tmp/out")"
"$tmp/program" "$tmp/library.so" 1 || skip "a library cannot be loaded"

# run FIRST LAST: run these programs, each from its own file with its own library
run() {
	local i

	for ((i = $1; i <= $2; i++)); do
		cp "$tmp/program" "$tmp/program_$i"
		cp "$tmp/library.so" "$tmp/library_$i.so"
	done
	# xargs replaces {} in arguments only, so env is the command.
	seq "$1" "$2" | xargs -P "$(getconf _NPROCESSORS_ONLN)" -I '{}' \
		env "$tmp/program_{}" "$tmp/library_{}.so" 150
	same "programs that failed" 0 "$?"
}

# check_symbols WHAT FILE PROGRAMS: check the number of programs, that each has 50 samples
# with a symbol, and that 99 % of all samples resolve. For the C library and the loader,
# which may have no symbols, it is enough that the file is known.
check_symbols() {
	local samples known system programs few

	perf script -i "$2" -F comm,ip,sym,dso > "$tmp/script" 2> /dev/null
	read -r samples known system programs few < <(awk -v tmp="$tmp/" '
		/^ *program_[0-9]+ / {
			all++
			seen[$1] += 0
			if (!index($0, "(" tmp))
				system_files += /\(\/[^)]*\)$/
			else if (/ spin_in_program / && index($0, "(" tmp $1 ")") ||
				 / spin_in_library / &&
				 index($0, "(" tmp "library_" substr($1, 9) ".so)") ||
				 !/ \[unknown\] /) {
				symbols++
				seen[$1]++
			}
		}
		END {
			for (comm in seen) {
				comms++
				less += seen[comm] < 50
			}
			print all + 0, symbols + 0, system_files + 0, comms + 0, less + 0
		}' "$tmp/script")
	echo "$1: $samples samples, $known with a symbol, $system in files of the system"
	same "$1: programs" "$3" "$programs"
	same "$1: with less than 50 symbols" 0 "$few"
	check "$1: 99 % of samples resolve" test $((known + system)) -ge $((samples * 99 / 100))
	[ "$failed" = 0 ] ||
		grep -v ' spin_in_' "$tmp/script" | sort | uniq -c | sort -rn | head -n 20
}

rm -f "$tmp/pid"
check "a daemon" perf record -o "$base" --daemon --pid-file "$tmp/pid" -a -M 64M \
	-e cpu-clock:u -c 500000 --keep-parts
pid=$(cat "$tmp/pid")
run 1 "$before"
dump 1
run $((before + 1)) $((before + nr))
same "programs that are left" "" "$(pgrep -x 'program_[0-9]*')"
dump 2
stop USR2
check_symbols "the first incident" "$(sample 1)" "$before"
check_symbols "the second one" "$(sample 2)" $((before + nr))
check_symbols "both" "$base" $((before + nr))
exit "$failed"
