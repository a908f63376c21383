/* SPDX-License-Identifier: GPL-2.0 */
/* Helpers for the programs of the benchmark. They end the program on any error. */
#ifndef BENCH_H
#define BENCH_H

#include <err.h>
#include <time.h>
#include <unistd.h>

#include <sys/ioctl.h>
#include <sys/syscall.h>

#include <linux/perf_event.h>

static inline unsigned long long nsecs(clockid_t clock)
{
	struct timespec ts;

	if (clock_gettime(clock, &ts))
		err(1, "clock_gettime");
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

/* @cpu: the CPU, or -1 to open a namespace or a member by its id */
static inline int event_open(struct perf_event_attr *attr, int cpu)
{
	int fd;

	attr->size = sizeof(*attr);
	fd = syscall(SYS_perf_event_open, attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		err(1, "perf_event_open on CPU %d", cpu);
	return fd;
}

static inline void do_ioctl(int fd, unsigned long cmd, const void *arg, const char *what)
{
	if (ioctl(fd, cmd, arg))
		err(1, "%s", what);
}

#endif /* BENCH_H */
