// SPDX-License-Identifier: GPL-2.0
/*
 * Records inside records: NMIs, timers and a probe hit while the record of a system call,
 * or of an inode, is being written to the same buffer. No record may be torn, and no
 * interrupted record may be missing.
 *
 * NESTED_ROUNDS in the environment sets the number of rounds.
 */

#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../kselftest_harness.h"

#define PAGES	512
#define CPUS	16
#define WAIT_SECONDS	60

enum { SYSCALL, NMI, TIMER, INODE, PROBE, EVENTS };

static const char * const names[] = {
	"raw_syscalls/sys_enter", "nmi/nmi_handler", "timer/hrtimer_expire_entry",
	"writeback/writeback_mark_inode_dirty",
};

struct sample {
	struct perf_event_header header;
	uint64_t	id, ip;
	uint32_t	pid, tid;
	uint64_t	time;
	uint32_t	cpu, reserved;
	uint64_t	period;
	uint32_t	raw_size;
	/* struct trace_entry, then the fields of raw_syscalls/sys_enter */
	uint16_t	type;
	uint8_t		flags, preempt_count;
	int32_t		entry_pid;
	uint64_t	nr, args[6];
} __attribute__((packed));

#define RAW_AT	offsetof(struct sample, type)

FIXTURE(nested)
{
	int nr, cpus[CPUS];
	pid_t writers[CPUS], sysrq;
	int fds[CPUS][EVENTS];
	uint64_t ids[CPUS][EVENTS];
	uint16_t types[EVENTS];
	void *maps[CPUS];
	char dir[32];
};

static long number_in(const char *fmt, const char *name)
{
	char path[128];
	long nr = -1;
	FILE *f;

	snprintf(path, sizeof(path), fmt, name);
	f = fopen(path, "r");
	if (!f)
		return -1;
	if (fscanf(f, "%ld", &nr) != 1)
		nr = -1;
	fclose(f);
	return nr;
}

/* Argument i of the n-th system call is n * factors[i], except for the first two. */
static const uint64_t factors[] = { 0, 0, 3, 5, 7, 11 };

/* Number the calls, so that a torn or missing record shows. */
static void writer(int cpu, const char *dir)
{
	unsigned long n;
	char path[64];
	cpu_set_t set;
	int fd;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		_exit(1);
	snprintf(path, sizeof(path), "%s/file", dir);
	fd = open(path, O_RDWR | O_CREAT, 0600);
	for (n = 1; ; n++) {
		syscall(SYS_getppid, n, ~n, n * 3, n * 5, n * 7, n * 11);
		/*
		 * Dirty the inode: filling in this record calls bdi_dev_name(), where the
		 * probe is.
		 */
		if (fd >= 0 && !(n % 16))
			fchmod(fd, n & 16 ? 0600 : 0644);
	}
}

static void backtraces(void)
{
	int fd = open("/proc/sysrq-trigger", O_WRONLY);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* Pause: each backtrace is printed to the console. */
	while (write(fd, "l", 1) == 1)
		usleep(10000);
	_exit(1);
}

/*
 * Opens a kprobe that hits through a breakpoint. A probe that ftrace calls as a function
 * would count as part of the event that is recording already, and be dropped. The address
 * must be the start of an instruction behind the function entry that ftrace uses: try
 * offsets.
 */
static int open_probe(struct perf_event_attr *attr, int cpu)
{
	int fd = -1;

	attr->type = number_in("/sys/bus/event_source/devices/%s/type", "kprobe");
	attr->config = 0;
	attr->config1 = (unsigned long)"bdi_dev_name";
	for (attr->config2 = 5; attr->config2 < 32 && fd < 0; attr->config2++)
		fd = syscall(SYS_perf_event_open, attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	attr->config1 = 0;
	attr->config2 = 0;
	return fd;
}

static int open_tracepoint(struct perf_event_attr *attr, int cpu, const char *name)
{
	long id = number_in("/sys/kernel/tracing/events/%s/id", name);

	attr->type = PERF_TYPE_TRACEPOINT;
	attr->config = id;
	return id < 0 ? -1 : syscall(SYS_perf_event_open, attr, -1, cpu, -1,
				     PERF_FLAG_FD_CLOEXEC);
}

FIXTURE_SETUP(nested)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			       PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
			       PERF_SAMPLE_RAW,
		.write_backward = 1,
		.disabled = 1,
	};
	int cpu, i, e, fd;
	cpu_set_t set;

	/* The mounts disappear with this process. */
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    access("/proc/sysrq-trigger", W_OK))
		SKIP(return, "this takes root, and CONFIG_MAGIC_SYSRQ");
	mount("tracefs", "/sys/kernel/tracing", "tracefs", 0, NULL);

	ASSERT_EQ(0, sched_getaffinity(0, sizeof(set), &set));
	for (cpu = 0; cpu < CPU_SETSIZE && self->nr < CPUS; cpu++)
		if (CPU_ISSET(cpu, &set))
			self->cpus[self->nr++] = cpu;
	if (self->nr < 2)
		SKIP(return, "this takes two CPUs: the one that asks has no NMI");

	for (i = 0; i < self->nr; i++) {
		for (e = 0; e < EVENTS; e++) {
			if (e == PROBE)
				fd = open_probe(&attr, self->cpus[i]);
			else
				fd = open_tracepoint(&attr, self->cpus[i], names[e]);
			self->types[e] = attr.config;
			self->fds[i][e] = fd;
			if (fd < 0 && e <= NMI)
				SKIP(return, "no tracepoint %s", names[e]);
			if (fd < 0)
				continue;
			ASSERT_EQ(0, ioctl(fd, PERF_EVENT_IOC_ID, &self->ids[i][e]));
			if (e) {
				ASSERT_EQ(0, ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT,
						   self->fds[i][SYSCALL]));
				continue;
			}
			self->maps[i] = mmap(NULL, (1 + PAGES) * sysconf(_SC_PAGESIZE), PROT_READ,
					     MAP_SHARED, fd, 0);
			ASSERT_NE(MAP_FAILED, self->maps[i]);
		}
	}

	snprintf(self->dir, sizeof(self->dir), "/tmp/perf_nested.XXXXXX");
	ASSERT_NE(NULL, mkdtemp(self->dir));
	EXPECT_EQ(0, mount("none", self->dir, "ramfs", 0, NULL));
	for (i = 0; i < self->nr; i++) {
		self->writers[i] = fork();
		if (!self->writers[i])
			writer(self->cpus[i], self->dir);
		EXPECT_LT(0, self->writers[i]);
	}
	self->sysrq = fork();
	if (!self->sysrq)
		backtraces();
	EXPECT_LT(0, self->sysrq);
}

FIXTURE_TEARDOWN(nested)
{
	int i;

	if (self->sysrq > 0) {
		kill(self->sysrq, SIGKILL);
		waitpid(self->sysrq, NULL, 0);
	}
	for (i = 0; i < self->nr && self->writers[i] > 0; i++) {
		kill(self->writers[i], SIGKILL);
		waitpid(self->writers[i], NULL, 0);
	}
	umount2(self->dir, MNT_DETACH);
	rmdir(self->dir);
}

static void all(FIXTURE_DATA(nested) *self, unsigned long cmd)
{
	int i, e;

	for (i = 0; i < self->nr; i++)
		for (e = 0; e < EVENTS; e++)
			if (self->fds[i][e] >= 0)
				ioctl(self->fds[i][e], cmd, 0);
}

static uint64_t nmis(FIXTURE_DATA(nested) *self)
{
	uint64_t count, sum = 0;
	int i;

	for (i = 0; i < self->nr; i++)
		if (read(self->fds[i][NMI], &count, sizeof(count)) == sizeof(count))
			sum += count;
	return sum;
}

static uint64_t head_of(const void *map)
{
	const struct perf_event_mmap_page *page = map;

	return __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
}

/* Waits until more NMIs than @before were recorded. */
static bool wait_for_nmi(FIXTURE_DATA(nested) *self, uint64_t before)
{
	time_t until = time(NULL) + WAIT_SECONDS;

	/* Do not sleep: the records of the NMI would be overwritten before check() looks. */
	while (nmis(self) == before) {
		if (time(NULL) > until)
			return false;
		sched_yield();
	}
	return true;
}

/*
 * Checks the records of CPU number @i since its head was at @begin, newest first, while
 * nobody writes. Older records have gaps, because the events were off.
 */
static void check(struct __test_metadata *_metadata, FIXTURE_DATA(nested) *self, int i,
		  uint64_t begin, unsigned long *seen, unsigned long *calls)
{
	struct perf_event_mmap_page *page = self->maps[i];
	uint64_t size = PAGES * sysconf(_SC_PAGESIZE), pos, end, at, last = 0;
	char *data = (char *)page + sysconf(_SC_PAGESIZE);
	struct sample s;
	unsigned int b;
	int e, a;

	pos = head_of(page);
	end = begin - pos < size ? begin : pos + size;
	while (pos != end) {
		memset(&s, 0, sizeof(s));
		for (b = 0; b < sizeof(s) && pos + b != end; b++) {
			at = (pos + b) % size;
			((char *)&s)[b] = data[at];
		}
		/* The oldest record may be overwritten in part. */
		if (end - pos < sizeof(s.header) || end - pos < s.header.size)
			break;
		ASSERT_EQ(PERF_RECORD_SAMPLE, s.header.type);
		ASSERT_EQ(s.header.size, RAW_AT + s.raw_size);
		ASSERT_EQ(self->cpus[i], s.cpu);
		ASSERT_EQ(1, s.period);
		for (e = 0; e < EVENTS && self->ids[i][e] != s.id; e++)
			;
		ASSERT_GT(EVENTS, e);
		ASSERT_EQ(s.tid, s.entry_pid);
		if (e != PROBE)
			ASSERT_EQ(self->types[e], s.type);
		seen[e]++;
		if (e == SYSCALL && s.nr == SYS_getppid && s.pid == self->writers[i]) {
			++*calls;
			if (last)
				ASSERT_EQ(last - 1, s.args[0]);
			last = s.args[0];
			ASSERT_EQ(~last, s.args[1]);
			for (a = 2; a < 6; a++)
				ASSERT_EQ(last * factors[a], s.args[a]);
		}
		pos += s.header.size;
	}
}

/* Events that interrupt each other leave whole records, and no system call is missing. */
TEST_F_TIMEOUT(nested, whole, 1800)
{
	const char *text = getenv("NESTED_ROUNDS");
	unsigned long seen[EVENTS] = {}, calls = 0;
	int i, rounds = text ? atoi(text) : 20;
	uint64_t before, begin[CPUS];

	while (rounds--) {
		before = nmis(self);
		for (i = 0; i < self->nr; i++)
			begin[i] = head_of(self->maps[i]);
		all(self, PERF_EVENT_IOC_ENABLE);
		ASSERT_TRUE(wait_for_nmi(self, before));
		all(self, PERF_EVENT_IOC_DISABLE);
		for (i = 0; i < self->nr; i++)
			check(_metadata, self, i, begin[i], seen, &calls);
	}
	TH_LOG("%lu system calls, %lu NMIs, %lu timers, %lu inodes, %lu probes", seen[SYSCALL],
	       seen[NMI], seen[TIMER], seen[INODE], seen[PROBE]);
	EXPECT_NE(0, calls);
	EXPECT_NE(0, seen[NMI]);
	if (self->fds[0][INODE] >= 0)
		EXPECT_NE(0, seen[INODE]);
	if (self->fds[0][PROBE] >= 0)
		EXPECT_NE(0, seen[PROBE]);
}

TEST_HARNESS_MAIN
