// SPDX-License-Identifier: GPL-2.0
/*
 * Loads for the benchmark: each repeats one operation, and prints the cost of one
 * operation.
 *
 * usage: load [-t] [-n TIMES] [-r ROUNDS] getppid|pipe|spin
 *
 *   getppid  a system call that does almost nothing
 *   pipe     send a byte to another process on the same CPU and back: two switches
 *   spin     user code, 16 calls deep
 *
 *   -n  operations in a round
 *   -r  rounds; the cost is that of the median round. There are several rounds between
 *       ticks of the timer, so the median round has no tick in it
 *   -t  print nanoseconds of the clock instead of counts of the time stamp counter,
 *       which are instructions with QEMU's -icount shift=0
 *
 * Prints the cost of one operation: of the median round, the least and the largest;
 * then the total counts of the counter and of the clock.
 */
#define _GNU_SOURCE
#include <err.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

static int by_clock;
static int there[2], back[2];

static unsigned long long now(void)
{
	return by_clock ? nsecs(CLOCK_MONOTONIC) : __builtin_ia32_rdtsc();
}

static void do_getppid(unsigned long n)
{
	while (n--)
		syscall(SYS_getppid);
}

/* One of two processes: the one that has the byte sends it and waits for it to come back. */
static void do_pipe(unsigned long n)
{
	char c = 0;

	while (n--) {
		if (write(there[1], &c, 1) != 1 || read(back[0], &c, 1) != 1)
			err(1, "pipe");
	}
}

static void start_pipe(void)
{
	char c;

	if (pipe(there) || pipe(back))
		err(1, "pipe");
	switch (fork()) {
	case -1:
		err(1, "fork");
	case 0:
		close(there[1]);
		while (read(there[0], &c, 1) == 1 && write(back[1], &c, 1) == 1)
			;
		_exit(0);
	}
	close(there[0]);
}

/* Make frames for call chains; the compiler must not turn a call into a jump. */
static __attribute__((noipa)) void deep(int depth, unsigned long n)
{
	if (depth) {
		deep(depth - 1, n);
		asm volatile("");
		return;
	}
	while (n--)
		asm volatile("");
}

static void do_spin(unsigned long n)
{
	deep(15, n);
}

static int compare(const void *a, const void *b)
{
	double d = *(const double *)a - *(const double *)b;

	return d < 0 ? -1 : d > 0;
}

int main(int argc, char **argv)
{
	unsigned long n = 1000, rounds = 100, i;
	unsigned long long start, clock, all;
	void (*load)(unsigned long n);
	cpu_set_t cpu;
	double *cost;
	int opt;

	while ((opt = getopt(argc, argv, "tn:r:")) != -1) {
		switch (opt) {
		case 't':
			by_clock = 1;
			break;
		case 'n':
			n = strtoul(optarg, NULL, 0);
			break;
		case 'r':
			rounds = strtoul(optarg, NULL, 0);
			break;
		default:
			return 2;
		}
	}
	if (optind + 1 != argc || !n || !rounds)
		errx(2, "usage: load [-t] [-n TIMES] [-r ROUNDS] getppid|pipe|spin");

	CPU_ZERO(&cpu);
	CPU_SET(sched_getcpu(), &cpu);
	if (sched_setaffinity(0, sizeof(cpu), &cpu))
		err(1, "sched_setaffinity");

	if (!strcmp(argv[optind], "getppid")) {
		load = do_getppid;
	} else if (!strcmp(argv[optind], "pipe")) {
		load = do_pipe;
		start_pipe();
	} else if (!strcmp(argv[optind], "spin")) {
		load = do_spin;
	} else {
		errx(2, "no load '%s'", argv[optind]);
	}

	cost = calloc(rounds, sizeof(*cost));
	if (!cost)
		err(1, "calloc");
	/* Touch all memory and run the load before, as the first time costs more. */
	memset(cost, 1, rounds * sizeof(*cost));
	load(n);
	load(n);

	clock = nsecs(CLOCK_MONOTONIC);
	all = now();
	for (i = 0; i < rounds; i++) {
		start = now();
		load(n);
		cost[i] = (double)(now() - start) / n;
	}
	all = now() - all;
	clock = nsecs(CLOCK_MONOTONIC) - clock;
	qsort(cost, rounds, sizeof(*cost), compare);
	printf("%.3f %.3f %.3f %llu %llu\n", cost[rounds / 2], cost[0],
	       cost[rounds - 1], all, clock);
	return 0;
}
