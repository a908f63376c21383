// SPDX-License-Identifier: GPL-2.0
/*
 * Loads that perf record --daemon records while it writes files.
 *
 * usage: daemon CPU
 *        daemon tasks NUMBER COMMAND
 *
 * With a CPU: make system calls on it, with some user code in between. Each call has its number
 * in all arguments, which getppid() ignores, so missing records can be detected.
 *
 * With tasks: run COMMAND NUMBER times, if possible 1,000 times a second.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <sched.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SPIN 10000

static int run_tasks(long nr, char **command)
{
	struct timespec next;
	int status;
	pid_t pid;

	clock_gettime(CLOCK_MONOTONIC, &next);
	while (nr--) {
		errno = posix_spawn(&pid, command[0], NULL, NULL, command, environ);
		if (errno)
			err(1, "%s", command[0]);
		if (waitpid(pid, &status, 0) != pid || status)
			errx(1, "%s failed", command[0]);
		next.tv_nsec += 1000000;
		if (next.tv_nsec >= 1000000000) {
			next.tv_nsec -= 1000000000;
			next.tv_sec++;
		}
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
	}
	return 0;
}

int main(int argc, char **argv)
{
	unsigned long nr;
	cpu_set_t cpus;
	int i;

	if (argc == 4 && !strcmp(argv[1], "tasks"))
		return run_tasks(atol(argv[2]), argv + 3);
	if (argc != 2)
		errx(2, "usage: daemon CPU | daemon tasks NUMBER COMMAND");
	CPU_ZERO(&cpus);
	CPU_SET(atoi(argv[1]), &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		err(1, "CPU %s", argv[1]);

	for (nr = 1;; nr++) {
		syscall(SYS_getppid, nr, nr, nr, nr, nr, nr);
		for (i = 0; i < SPIN; i++)
			asm volatile("" : : : "memory");
	}
}
