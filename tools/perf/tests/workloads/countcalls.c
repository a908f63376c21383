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
 * System calls as fast as can be, each with its number in all arguments, which
 * it ignores: what is recorded of them can be checked.
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

	/* From here on there are no other calls. */
	puts("counting");
	fflush(stdout);

	while (!done) {
		nr++;
		syscall(SYS_getppid, nr, nr, nr, nr, nr, nr);
	}

	return 0;
}

DEFINE_WORKLOAD(countcalls);
