// SPDX-License-Identifier: GPL-2.0
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <linux/compiler.h>
#include <sys/syscall.h>
#include "../tests.h"

static volatile sig_atomic_t done;

static void sighandler(int sig __maybe_unused)
{
	done = 1;
}

/*
 * Make system calls in a tight loop. Call number N has N in all its arguments,
 * which getppid() ignores. A test can check that all calls were recorded.
 */
static int countcalls(int argc, const char **argv)
{
	unsigned long nr = 0;
	int sec = 1;

	if (argc > 0)
		sec = atoi(argv[0]);

	signal(SIGINT, sighandler);
	signal(SIGALRM, sighandler);
	alarm(sec);

	/* The process makes no other calls from here on. */
	puts("counting");
	fflush(stdout);

	while (!done) {
		nr++;
		syscall(SYS_getppid, nr, nr, nr, nr, nr, nr);
	}

	return 0;
}

DEFINE_WORKLOAD(countcalls);
