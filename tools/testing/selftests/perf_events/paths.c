// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel writes samples of tracepoints in place, copies them at once, or uses the
 * long way, perf_swevent_event(). The records must be the same. Here two events are on each
 * tracepoint: the samples of one can be written in place; the other asks for wakeups by
 * the number of records, and so goes the long way. While processes start, talk and end on
 * all CPUs, both must record the same.
 */

#define _GNU_SOURCE
#include <glob.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "tracing.h"

#define MAX_CPUS	16
#define MAX_EVENTS	200
#define PAGES		2048

/* Hit before and after the work on each CPU. The records in between are compared. */
#define MARKER		"raw_syscalls/sys_enter"
#define BEGIN		0x5ca1ab00UL
#define END		0x0ddba100UL
#define MARKERS		10

/* Tracepoints that processes and interrupts hit */
static const char * const systems[] = {
	"raw_syscalls", "sched", "task", "signal", "irq", "timer", "workqueue", "rcu",
};

enum { USUAL, OTHER, PATHS };

struct ring {
	int nr_fds;
	int fds[MAX_EVENTS];
	void *base;
};

struct sample {
	struct perf_event_header header;
	uint64_t id, ip;
	uint32_t pid, tid;
	uint64_t time;
	uint32_t size;
	uint8_t raw[];
};

FIXTURE(paths)
{
	int cpus[MAX_CPUS];
	int nr_cpus;
	int ids[MAX_EVENTS];
	int nr_ids;
	int marker;
	struct ring rings[MAX_CPUS][PATHS];
};

FIXTURE_VARIANT(paths)
{
	/* With a filter, samples are copied that would be written in place without. */
	const char *filter;
};

FIXTURE_VARIANT_ADD(paths, in_place)
{
	.filter = NULL,
};

FIXTURE_VARIANT_ADD(paths, copied)
{
	.filter = "common_pid >= 0",
};

static bool ring_open(struct ring *ring, const int *ids, int nr, int cpu, bool usual)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.sample_period = 1,
		.sample_type = NARROW,
		.write_backward = 1,
		.disabled = 1,
		.watermark = usual,
	};
	int i, fd;

	/* These limits are never reached: nobody is woken. */
	if (usual)
		attr.wakeup_watermark = 1 << 30;
	else
		attr.wakeup_events = 1 << 30;
	for (i = 0; i < nr; i++) {
		attr.config = ids[i];
		fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
		if (fd < 0)
			return false;
		ring->fds[ring->nr_fds++] = fd;
		if (i) {
			if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fds[0]))
				return false;
			continue;
		}
		ring->base = mmap(NULL, (1 + PAGES) * sysconf(_SC_PAGESIZE), PROT_READ,
				  MAP_SHARED, fd, 0);
		if (ring->base == MAP_FAILED)
			return false;
	}
	return true;
}

static bool ring_ioctl(struct ring *ring, unsigned long cmd, const char *arg)
{
	int i;

	for (i = 0; i < ring->nr_fds; i++) {
		if (ioctl(ring->fds[i], cmd, arg))
			return false;
	}
	return true;
}

FIXTURE_SETUP(paths)
{
	struct rlimit files = { 65536, 65536 };
	char pattern[100];
	cpu_set_t set;
	glob_t found;
	size_t i, n;
	int cpu, dir, id;

	self->marker = event_id(MARKER);
	if (self->marker < 0 || setrlimit(RLIMIT_NOFILE, &files))
		SKIP(return, "no " MARKER ": this takes root, and CONFIG_FTRACE_SYSCALLS");
	for (i = 0; i < ARRAY_SIZE(systems); i++) {
		dir = snprintf(pattern, sizeof(pattern), "%s/events/", tracefs_dir());
		snprintf(pattern + dir, sizeof(pattern) - dir, "%s/*/", systems[i]);
		if (glob(pattern, 0, NULL, &found))
			continue;
		for (n = 0; n < found.gl_pathc && self->nr_ids < MAX_EVENTS; n++) {
			/* These count nanoseconds, so that one hit throttles the event. */
			if (strstr(found.gl_pathv[n], "/sched_stat_"))
				continue;
			id = event_id(found.gl_pathv[n] + dir);
			if (id > 0)
				self->ids[self->nr_ids++] = id;
		}
		globfree(&found);
	}
	ASSERT_EQ(0, sched_getaffinity(0, sizeof(set), &set));
	for (cpu = 0; cpu < CPU_SETSIZE && self->nr_cpus < MAX_CPUS; cpu++) {
		if (CPU_ISSET(cpu, &set))
			self->cpus[self->nr_cpus++] = cpu;
	}
	for (cpu = 0; cpu < self->nr_cpus; cpu++) {
		for (n = 0; n < PATHS; n++)
			ASSERT_TRUE(ring_open(&self->rings[cpu][n], self->ids, self->nr_ids,
					      self->cpus[cpu], n == USUAL));
	}
}

FIXTURE_TEARDOWN(paths)
{
}

static void mark(const int *cpus, int nr_cpus, unsigned long nr)
{
	int i, n;

	for (i = 0; i < nr_cpus; i++) {
		pin(cpus[i]);
		for (n = 0; n < MARKERS; n++)
			syscall(SYS_getppid, nr + n);
	}
}

/* Starts children that read from this process, touch memory, exec and end. */
static void work(void)
{
	int i, j, fds[2], status;
	char byte;

	for (i = 0; i < 3; i++) {
		if (pipe(fds))
			exit(1);
		if (!fork()) {
			close(fds[1]);
			while (read(fds[0], &byte, 1) == 1)
				free(calloc(1, 1 << 16));
			execl("/bin/true", "true", NULL);
			exit(0);
		}
		close(fds[0]);
		for (j = 0; j < 50; j++) {
			if (write(fds[1], &byte, 1) != 1)
				exit(1);
			if (j % 10 == 0)
				usleep(100);
		}
		close(fds[1]);
		wait(&status);
	}
}

/* Compares all fields but the id and the time, which differ between the two events. */
static int compare(const void *left, const void *right)
{
	const struct sample *a = *(const struct sample * const *)left;
	const struct sample *b = *(const struct sample * const *)right;

	if (a->header.size != b->header.size)
		return a->header.size < b->header.size ? -1 : 1;
	if (a->header.misc != b->header.misc)
		return a->header.misc < b->header.misc ? -1 : 1;
	if (a->ip != b->ip)
		return a->ip < b->ip ? -1 : 1;
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return memcmp(&a->size, &b->size, a->header.size - offsetof(struct sample, size));
}

static bool is_marker(const struct sample *sample, int marker, unsigned long nr)
{
	/* struct trace_entry, the number of the call, its arguments */
	uint16_t type;
	long words[2];

	memcpy(&type, sample->raw, sizeof(type));
	memcpy(words, sample->raw + 8, sizeof(words));
	return type == marker && words[0] == SYS_getppid && (unsigned long)words[1] == nr;
}

/* Returns the samples of a buffer, newest first, or NULL if some are missing. */
static struct sample **ring_samples(struct ring *ring, int *nr)
{
	struct perf_event_mmap_page *page = ring->base;
	size_t size = PAGES * sysconf(_SC_PAGESIZE);
	char *data = (char *)ring->base + sysconf(_SC_PAGESIZE);
	struct sample **samples = calloc(size / sizeof(struct sample), sizeof(*samples));
	struct sample *sample;
	uint64_t pos;

	*nr = 0;
	/* The buffer never filled up, so no record was overwritten or wraps around. */
	if (!samples || page->data_head < -size + 65536)
		return NULL;
	for (pos = page->data_head; pos; pos += sample->header.size) {
		sample = (struct sample *)(data + pos % size);
		if (sample->header.type != PERF_RECORD_SAMPLE)
			return NULL;
		samples[(*nr)++] = sample;
	}
	return samples;
}

/*
 * An interrupt between the two samples of a marker has its own samples before the marker
 * in one buffer and after it in the other. Find a marker that was not interrupted.
 */
static bool find_marker(struct sample **a, int nr_a, struct sample **b, int nr_b, int marker,
			unsigned long nr, int *at_a, int *at_b)
{
	int n, i, j;

	for (n = 0; n < MARKERS; n++) {
		for (i = 1; i < nr_a - 1 && !is_marker(a[i], marker, nr + n); i++)
			;
		for (j = 1; j < nr_b - 1 && !is_marker(b[j], marker, nr + n); j++)
			;
		if (i < nr_a - 1 && j < nr_b - 1 && !compare(&a[i - 1], &b[j - 1]) &&
		    !compare(&a[i + 1], &b[j + 1])) {
			*at_a = i;
			*at_b = j;
			return true;
		}
	}
	return false;
}

/* Both events record the same, whichever path their samples take. */
TEST_F_TIMEOUT(paths, record_the_same, 300)
{
	int cpu, i, nr, nr_other, total = 0;
	int begin, end, begin_other, end_other;
	struct sample **usual, **other;
	pid_t pids[MAX_CPUS];
	int status;

	for (cpu = 0; cpu < self->nr_cpus; cpu++) {
		if (variant->filter)
			ASSERT_TRUE(ring_ioctl(&self->rings[cpu][USUAL], PERF_EVENT_IOC_SET_FILTER,
					       variant->filter));
		ASSERT_TRUE(ring_ioctl(&self->rings[cpu][USUAL], PERF_EVENT_IOC_ENABLE, NULL));
		ASSERT_TRUE(ring_ioctl(&self->rings[cpu][OTHER], PERF_EVENT_IOC_ENABLE, NULL));
	}
	mark(self->cpus, self->nr_cpus, BEGIN);
	for (cpu = 0; cpu < self->nr_cpus; cpu++) {
		pids[cpu] = fork();
		ASSERT_LE(0, pids[cpu]);
		if (!pids[cpu]) {
			pin(self->cpus[cpu]);
			work();
			exit(0);
		}
	}
	for (cpu = 0; cpu < self->nr_cpus; cpu++) {
		ASSERT_EQ(pids[cpu], waitpid(pids[cpu], &status, 0));
		EXPECT_EQ(0, status);
	}
	mark(self->cpus, self->nr_cpus, END);
	for (cpu = 0; cpu < self->nr_cpus; cpu++) {
		ASSERT_TRUE(ring_ioctl(&self->rings[cpu][USUAL], PERF_EVENT_IOC_DISABLE, NULL));
		ASSERT_TRUE(ring_ioctl(&self->rings[cpu][OTHER], PERF_EVENT_IOC_DISABLE, NULL));
	}

	for (cpu = 0; cpu < self->nr_cpus; cpu++) {
		usual = ring_samples(&self->rings[cpu][USUAL], &nr);
		ASSERT_NE(NULL, usual);
		other = ring_samples(&self->rings[cpu][OTHER], &nr_other);
		ASSERT_NE(NULL, other);
		ASSERT_TRUE(find_marker(usual, nr, other, nr_other, self->marker, BEGIN,
					&begin, &begin_other));
		ASSERT_TRUE(find_marker(usual, nr, other, nr_other, self->marker, END,
					&end, &end_other));
		/*
		 * Records of interrupts in the middle of a hit come in either order:
		 * sort.
		 */
		nr = begin - end;
		ASSERT_EQ(nr, begin_other - end_other);
		qsort(usual + end, nr, sizeof(*usual), compare);
		qsort(other + end_other, nr, sizeof(*other), compare);
		for (i = 0; i < nr && !compare(&usual[end + i], &other[end_other + i]); i++)
			total++;
		EXPECT_EQ(nr, i);
	}
	TH_LOG("%d samples of %d tracepoints are the same", total, self->nr_ids);
	EXPECT_LT(1000, total);
}

TEST_HARNESS_MAIN
