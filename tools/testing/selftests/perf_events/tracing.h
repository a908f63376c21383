/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Helpers for tests of tracepoints
 */
#ifndef TRACING_H
#define TRACING_H

#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <unistd.h>

#include <linux/perf_event.h>

/* The fields that perf record -P samples: a buffer of one CPU needs no more. */
#define NARROW	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | \
		 PERF_SAMPLE_RAW)

static inline const char *tracefs_dir(void)
{
	static const char *dir;

	if (dir)
		return dir;
	mount("tracefs", "/sys/kernel/tracing", "tracefs", 0, NULL);
	if (!access("/sys/kernel/tracing/events", F_OK))
		dir = "/sys/kernel/tracing";
	else
		dir = "/sys/kernel/debug/tracing";
	return dir;
}

static inline int tracefs_open(const char *file, int flags)
{
	char path[200];

	snprintf(path, sizeof(path), "%s/%s", tracefs_dir(), file);
	return open(path, flags);
}

/* @event: SYSTEM/NAME. Returns -1 when there is none, or it may not be read. */
static inline long event_id(const char *event)
{
	char path[100], id[20] = "";
	ssize_t size;
	int fd;

	snprintf(path, sizeof(path), "events/%s/id", event);
	fd = tracefs_open(path, O_RDONLY);
	if (fd < 0)
		return -1;
	size = read(fd, id, sizeof(id) - 1);
	close(fd);
	return size > 0 ? atol(id) : -1;
}

static inline bool pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return !sched_setaffinity(0, sizeof(set), &set);
}

#endif
