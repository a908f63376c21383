// SPDX-License-Identifier: GPL-2.0
/*
 * Changes how an event of a tracepoint records while it records: the very next hit must
 * follow the change. Each test records system calls of its own task, and counts the
 * samples of getppid().
 */

#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "busy.h"
#include "tracing.h"

#define PAGES	64

#define EVENT	"raw_syscalls/sys_enter"

#define MANY	12

/* struct trace_entry, then the number of the system call. */
struct raw {
	uint16_t	type;
	uint8_t		flags;
	uint8_t		preempt_count;
	int32_t		pid;
	long		nr;
};

static int event_open(struct perf_event_attr *attr)
{
	return syscall(SYS_perf_event_open, attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

FIXTURE(tracepoint)
{
	struct perf_event_attr attr;
	int fd;
	void *base;
	size_t size;
};

FIXTURE_VARIANT(tracepoint)
{
	bool backward;
	unsigned long long sample_type;
};

#define COMMON	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | \
		 PERF_SAMPLE_RAW)

/* The format of perf record --overwrite, and a forward one */
#define OVERWRITE						\
	.backward = true,					\
	.sample_type = COMMON | PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_PERIOD
#define FORWARD							\
	.backward = false,					\
	.sample_type = COMMON

FIXTURE_VARIANT_ADD(tracepoint, overwrite)
{
	OVERWRITE,
};

FIXTURE_VARIANT_ADD(tracepoint, narrow)
{
	.backward = true,
	.sample_type = NARROW,
};

FIXTURE_VARIANT_ADD(tracepoint, forward)
{
	FORWARD,
};

FIXTURE_SETUP(tracepoint)
{
	long id = event_id(EVENT);

	if (id < 0)
		SKIP(return, "no " EVENT ": this takes root, and CONFIG_FTRACE_SYSCALLS");

	self->attr = (struct perf_event_attr) {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(self->attr),
		.config = id,
		.sample_period = 1,
		.sample_type = variant->sample_type,
		.write_backward = variant->backward,
		.disabled = 1,
		/* Wake nobody. */
		.watermark = 1,
		.wakeup_watermark = 1 << 30,
	};
	self->size = (1 + PAGES) * sysconf(_SC_PAGESIZE);
	self->fd = event_open(&self->attr);
	ASSERT_LE(0, self->fd);
	self->base = mmap(NULL, self->size, PROT_READ | (variant->backward ? 0 : PROT_WRITE),
			  MAP_SHARED, self->fd, 0);
	ASSERT_NE(MAP_FAILED, self->base);
	ASSERT_EQ(0, ioctl(self->fd, PERF_EVENT_IOC_ENABLE, 0));
}

FIXTURE_TEARDOWN(tracepoint)
{
	if (self->base && self->base != MAP_FAILED)
		munmap(self->base, self->size);
	if (self->fd > 0)
		close(self->fd);
}

static void hit(int times)
{
	while (times--)
		syscall(SYS_getppid);
}

/* Returns the number of samples of system call @nr in the buffer, which is not full yet. */
static int samples(struct perf_event_attr *attr, void *base, long nr)
{
	struct perf_event_mmap_page *page = base;
	size_t data_size = PAGES * sysconf(_SC_PAGESIZE);
	char *data = (char *)base + sysconf(_SC_PAGESIZE);
	unsigned long long begin = 0, end = page->data_head;
	/* Each field before the raw data has eight bytes. */
	size_t raw_at = sizeof(struct perf_event_header) + sizeof(uint32_t) +
		8 * __builtin_popcountll(attr->sample_type & ~PERF_SAMPLE_RAW);
	struct perf_event_header header;
	struct raw raw;
	int n = 0;

	__sync_synchronize();
	if (attr->write_backward) {
		begin = end;
		end = 0;
	}
	while (begin != end) {
		memcpy(&header, data + begin % data_size, sizeof(header));
		if (header.type == PERF_RECORD_SAMPLE) {
			/* A record may wrap around, but not in this test. */
			memcpy(&raw, data + begin % data_size + raw_at, sizeof(raw));
			if (raw.nr == nr)
				n++;
		}
		begin += header.size;
	}
	return n;
}

/* Each hit is one sample. */
TEST_F(tracepoint, all_are_recorded)
{
	hit(100);
	EXPECT_EQ(100, samples(&self->attr, self->base, SYS_getppid));
}

/* A disabled event records nothing, and an enabled one loses nothing. */
TEST_F(tracepoint, disable)
{
	hit(10);
	ASSERT_EQ(0, ioctl(self->fd, PERF_EVENT_IOC_DISABLE, 0));
	hit(10);
	EXPECT_EQ(10, samples(&self->attr, self->base, SYS_getppid));
	ASSERT_EQ(0, ioctl(self->fd, PERF_EVENT_IOC_ENABLE, 0));
	hit(10);
	EXPECT_EQ(20, samples(&self->attr, self->base, SYS_getppid));
}

/* A filter that is set while the event records is applied to the next hit. */
TEST_F(tracepoint, filter)
{
	char filter[100];

	hit(10);
	snprintf(filter, sizeof(filter), "id == %d", (int)SYS_getuid);
	ASSERT_EQ(0, ioctl(self->fd, PERF_EVENT_IOC_SET_FILTER, filter));
	hit(10);
	syscall(SYS_getuid);
	EXPECT_EQ(10, samples(&self->attr, self->base, SYS_getppid));
	EXPECT_EQ(1, samples(&self->attr, self->base, SYS_getuid));
}

/* PERF_EVENT_IOC_REFRESH disables the event after this many hits. */
TEST_F(tracepoint, refresh)
{
	hit(10);
	ASSERT_EQ(0, ioctl(self->fd, PERF_EVENT_IOC_REFRESH, 3));
	hit(10);
	EXPECT_EQ(13, samples(&self->attr, self->base, SYS_getppid));
}

/* With O_ASYNC, the next hit sends SIGIO and is recorded as well. */
TEST_F(tracepoint, signal)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGIO);
	ASSERT_EQ(0, sigprocmask(SIG_BLOCK, &set, NULL));
	hit(10);
	ASSERT_EQ(0, sigpending(&set));
	EXPECT_EQ(0, sigismember(&set, SIGIO));

	ASSERT_EQ(0, fcntl(self->fd, F_SETOWN, getpid()));
	ASSERT_EQ(0, fcntl(self->fd, F_SETFL, O_ASYNC));
	hit(1);
	ASSERT_EQ(0, sigpending(&set));
	EXPECT_EQ(1, sigismember(&set, SIGIO));
	EXPECT_EQ(11, samples(&self->attr, self->base, SYS_getppid));
}

/* With PERF_SAMPLE_PERIOD each hit is a sample, whatever the period is. */
TEST_F(tracepoint, period)
{
	__u64 period = 4;
	int before, after;

	hit(10);
	EXPECT_EQ(10, samples(&self->attr, self->base, SYS_getppid));
	ASSERT_EQ(0, ioctl(self->fd, PERF_EVENT_IOC_PERIOD, &period));
	hit(40);
	before = samples(&self->attr, self->base, SYS_getppid);
	if (self->attr.sample_type & PERF_SAMPLE_PERIOD) {
		EXPECT_EQ(50, before);
	} else {
		/* The rest of the old period adds some samples at first. */
		EXPECT_LE(20, before);
		EXPECT_GE(25, before);
	}

	period = 1;
	ASSERT_EQ(0, ioctl(self->fd, PERF_EVENT_IOC_PERIOD, &period));
	hit(10);
	after = samples(&self->attr, self->base, SYS_getppid);
	EXPECT_EQ(before + 10, after);
}

/* A paused buffer takes no records until it is resumed. */
TEST_F(tracepoint, pause)
{
	hit(10);
	ASSERT_EQ(0, ioctl(self->fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1));
	hit(10);
	EXPECT_EQ(10, samples(&self->attr, self->base, SYS_getppid));
	ASSERT_EQ(0, ioctl(self->fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 0));
	hit(10);
	EXPECT_EQ(20, samples(&self->attr, self->base, SYS_getppid));
}

/* A BPF program that returns 0 drops the samples. */
TEST_F(tracepoint, bpf)
{
	struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_TRACEPOINT,
		.insns = (unsigned long)insns,
		.insn_cnt = 2,
		.license = (unsigned long)"GPL",
	};
	int prog;

	prog = syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
	if (prog < 0)
		SKIP(return, "this takes CONFIG_BPF_SYSCALL");
	hit(10);
	ASSERT_EQ(0, ioctl(self->fd, PERF_EVENT_IOC_SET_BPF, prog));
	hit(10);
	EXPECT_EQ(10, samples(&self->attr, self->base, SYS_getppid));
	close(prog);
}

/* Two events on one tracepoint both record each hit. When one is closed, the other goes on. */
TEST_F(tracepoint, another)
{
	struct perf_event_attr attr = self->attr;
	void *base;
	int fd;

	hit(10);
	attr.disabled = 0;
	fd = event_open(&attr);
	ASSERT_LE(0, fd);
	base = mmap(NULL, self->size, PROT_READ, MAP_SHARED, fd, 0);
	ASSERT_NE(MAP_FAILED, base);
	hit(10);
	EXPECT_EQ(10, samples(&attr, base, SYS_getppid));
	EXPECT_EQ(20, samples(&self->attr, self->base, SYS_getppid));
	munmap(base, self->size);
	close(fd);
	hit(10);
	EXPECT_EQ(30, samples(&self->attr, self->base, SYS_getppid));
}

/* The same with more events than TP_MAX_COPIES in kernel/events/tracepoint.c, some filtered. */
TEST_F(tracepoint, many)
{
	struct perf_event_attr attr = self->attr;
	void *bases[MANY];
	int i, fds[MANY];

	attr.disabled = 0;
	for (i = 0; i < MANY; i++) {
		fds[i] = event_open(&attr);
		ASSERT_LE(0, fds[i]);
		bases[i] = mmap(NULL, self->size, PROT_READ, MAP_SHARED, fds[i], 0);
		ASSERT_NE(MAP_FAILED, bases[i]);
		if (i % 3 == 0)
			ASSERT_EQ(0, ioctl(fds[i], PERF_EVENT_IOC_SET_FILTER, "common_pid >= 0"));
	}
	hit(10);
	for (i = 0; i < MANY; i++) {
		EXPECT_EQ(10, samples(&attr, bases[i], SYS_getppid));
		munmap(bases[i], self->size);
		close(fds[i]);
	}
	hit(10);
	EXPECT_EQ(20, samples(&self->attr, self->base, SYS_getppid));
}

/* The count includes every hit: ten getppid(), and the second read() itself. */
TEST_F(tracepoint, count)
{
	__u64 before, after;

	ASSERT_EQ(sizeof(before), read(self->fd, &before, sizeof(before)));
	hit(10);
	ASSERT_EQ(sizeof(after), read(self->fd, &after, sizeof(after)));
	EXPECT_EQ(11, after - before);
	EXPECT_EQ(10, samples(&self->attr, self->base, SYS_getppid));
}

/* An event that is redirected to another buffer writes there from the next hit on. */
TEST_F(tracepoint, output)
{
	struct perf_event_attr attr = self->attr;
	int fd;

	fd = event_open(&attr);
	ASSERT_LE(0, fd);
	hit(10);
	ASSERT_EQ(0, ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, self->fd));
	ASSERT_EQ(0, ioctl(fd, PERF_EVENT_IOC_ENABLE, 0));
	hit(10);
	EXPECT_EQ(30, samples(&self->attr, self->base, SYS_getppid));
	/* The owner of the buffer is disabled. The redirected event still records. */
	ASSERT_EQ(0, ioctl(self->fd, PERF_EVENT_IOC_DISABLE, 0));
	hit(10);
	EXPECT_EQ(40, samples(&self->attr, self->base, SYS_getppid));
	ASSERT_EQ(0, ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, -1L));
	hit(10);
	EXPECT_EQ(40, samples(&self->attr, self->base, SYS_getppid));
	close(fd);
}

/* Hits of a child are in the buffer of the event that it inherited. */
TEST_F(tracepoint, inherit)
{
	struct perf_event_attr attr = self->attr;
	int fd, cpu = sched_getcpu(), status;
	void *base;
	pid_t pid;

	pin(cpu);
	attr.inherit = 1;
	attr.disabled = 0;
	fd = syscall(SYS_perf_event_open, &attr, 0, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	ASSERT_LE(0, fd);
	base = mmap(NULL, self->size, PROT_READ, MAP_SHARED, fd, 0);
	ASSERT_NE(MAP_FAILED, base);
	hit(10);
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		hit(20);
		_exit(0);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	hit(10);
	EXPECT_EQ(40, samples(&attr, base, SYS_getppid));
	/* The other event counts this task only. */
	EXPECT_EQ(20, samples(&self->attr, self->base, SYS_getppid));
	munmap(base, self->size);
	close(fd);
}

/* Between the number and the result there may be padding. */
struct exit_raw {
	uint16_t	type;
	uint8_t		flags;
	uint8_t		preempt_count;
	int32_t		pid;
	int32_t		nr;
	uint32_t	padding;
	long		ret;
};

/* No record shows what another had at the same place of a buffer. */
TEST(padding)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.sample_period = 1,
		.sample_type = COMMON,
		.write_backward = 1,
	};
	/* Each field before the raw data has eight bytes. */
	size_t at, raw_at = sizeof(struct perf_event_header) + sizeof(uint32_t) +
			    8 * __builtin_popcountl(COMMON & ~PERF_SAMPLE_RAW);
	size_t page = sysconf(_SC_PAGESIZE);
	long exit_id = event_id("syscalls/sys_exit_getppid"), name_id = event_id("task/task_rename");
	struct perf_event_header header = {};
	int fd, name_fd, i, nr = 0;
	struct exit_raw raw;
	uint64_t head;
	char *base;

	if (exit_id < 0 || name_id < 0)
		SKIP(return, "this takes root, and CONFIG_FTRACE_SYSCALLS");
	if (sizeof(long) != 8)
		SKIP(return, "there is no padding on 32 bit");

	attr.config = exit_id;
	fd = event_open(&attr);
	ASSERT_LE(0, fd);
	base = mmap(NULL, 2 * page, PROT_READ, MAP_SHARED, fd, 0);
	ASSERT_NE(MAP_FAILED, base);
	attr.config = name_id;
	name_fd = event_open(&attr);
	ASSERT_LE(0, name_fd);
	ASSERT_EQ(0, ioctl(name_fd, PERF_EVENT_IOC_SET_OUTPUT, fd));

	/* The name is where the padding is in the other record. */
	for (i = 0; i < 1000; i++) {
		prctl(PR_SET_NAME, i % 2 ? "AAAAAAAAAAAAAAA" : "BBBBBBBBBBBBBBB");
		hit(1);
	}
	ASSERT_EQ(0, ioctl(fd, PERF_EVENT_IOC_DISABLE, 0));

	head = ((struct perf_event_mmap_page *)base)->data_head;
	/* Sizes are multiples of eight bytes: no header goes around the end of the buffer. */
	for (at = 0; at + sizeof(header) <= page; at += header.size) {
		memcpy(&header, base + page + (head + at) % page, sizeof(header));
		ASSERT_LT(0, header.size);
		if (at + header.size > page)
			break;
		for (i = 0; i < sizeof(raw); i++)
			((char *)&raw)[i] = base[page + (head + at + raw_at + i) % page];
		if (raw.type != exit_id)
			continue;
		EXPECT_EQ(0, raw.padding);
		nr++;
	}
	EXPECT_LT(0, nr);

	close(name_fd);
	munmap(base, 2 * page);
	close(fd);
}

/*
 * Three events with one small buffer, which has no room for all three records of a hit. These
 * have the path of a program that is executed: as long a one as it takes.
 */
FIXTURE(small)
{
	struct perf_event_attr attr;
	char path[4096];
};

FIXTURE_VARIANT(small)
{
	bool backward;
	unsigned long long sample_type;
};

FIXTURE_VARIANT_ADD(small, overwrite)
{
	OVERWRITE,
};

FIXTURE_VARIANT_ADD(small, narrow)
{
	.backward = true,
	.sample_type = NARROW,
};

FIXTURE_VARIANT_ADD(small, forward)
{
	FORWARD,
};

FIXTURE_SETUP(small)
{
	static const char program[] = "/bin/true";
	/* With the rest of a record, this is more than a third of a page, and less than half. */
	size_t i, len = 3 * sysconf(_SC_PAGESIZE) / 8;
	long id = event_id("sched/sched_process_exec");

	if (id < 0)
		SKIP(return, "no sched/sched_process_exec: this takes root");
	if (len >= sizeof(self->path))
		SKIP(return, "paths cannot be so long that records fill a page");
	self->attr = (struct perf_event_attr) {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(self->attr),
		.config = id,
		.sample_period = 1,
		.sample_type = variant->sample_type,
		.read_format = PERF_FORMAT_LOST,
		.write_backward = variant->backward,
		.watermark = 1,
		.wakeup_watermark = 1 << 30,
	};
	for (i = 0; i + sizeof(program) < len; i += 2)
		memcpy(self->path + i, "/.", 2);
	memcpy(self->path + i, program, sizeof(program));
}

FIXTURE_TEARDOWN(small)
{
}

/* Starts a child that executes @path when it gets a byte. */
static pid_t exec_later(const char *path, int *go)
{
	int fds[2];
	pid_t pid;
	char byte;

	if (pipe(fds))
		return -1;
	pid = fork();
	if (!pid) {
		close(fds[1]);
		if (read(fds[0], &byte, 1) == 1)
			execl(path, path, NULL);
		_exit(1);
	}
	close(fds[0]);
	*go = fds[1];
	return pid;
}

/*
 * The later records are copies of the first one, which must stay until then. They overwrite
 * it afterwards: none is lost.
 */
TEST_F(small, all_are_recorded)
{
	size_t i, k, page_size = sysconf(_SC_PAGESIZE), size;
	struct perf_event_header header;
	struct perf_event_mmap_page *page;
	int go, status, fds[3];
	unsigned long long pos;
	struct {
		__u64 value, lost;
	} now;
	char record[8192], *data;
	pid_t pid;

	pid = exec_later(self->path, &go);
	ASSERT_LT(0, pid);
	for (i = 0; i < ARRAY_SIZE(fds); i++) {
		fds[i] = syscall(SYS_perf_event_open, &self->attr, pid, -1, -1,
				 PERF_FLAG_FD_CLOEXEC);
		ASSERT_LE(0, fds[i]);
	}
	page = mmap(NULL, 2 * page_size, PROT_READ, MAP_SHARED, fds[0], 0);
	ASSERT_NE(MAP_FAILED, (void *)page);
	ASSERT_EQ(0, ioctl(fds[1], PERF_EVENT_IOC_SET_OUTPUT, fds[0]));
	ASSERT_EQ(0, ioctl(fds[2], PERF_EVENT_IOC_SET_OUTPUT, fds[0]));
	ASSERT_EQ(1, write(go, "", 1));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_EQ(0, status);

	for (i = 0; i < ARRAY_SIZE(fds); i++) {
		ASSERT_EQ((ssize_t)sizeof(now), read(fds[i], &now, sizeof(now)));
		EXPECT_EQ(1, now.value) TH_LOG("event %zu", i);
		EXPECT_EQ(0, now.lost) TH_LOG("event %zu", i);
	}
	/* The records of three events have the same size. Two of them fit. */
	pos = page->data_head;
	size = (variant->backward ? -pos : pos) / 3;
	ASSERT_LE(2 * size, page_size);
	ASSERT_GT(3 * size, page_size);
	data = (char *)page + page_size;
	for (i = 1; i < 3; i++) {
		pos = variant->backward ? -(i + 1) * size : i * size;
		for (k = 0; k < size; k++)
			record[k] = data[(pos + k) % page_size];
		memcpy(&header, record, sizeof(header));
		EXPECT_EQ(PERF_RECORD_SAMPLE, header.type);
		EXPECT_EQ(size, header.size);
		EXPECT_NE(NULL, memmem(record, size, self->path, strlen(self->path) + 1));
	}
	munmap(page, 2 * page_size);
	for (i = 0; i < ARRAY_SIZE(fds); i++)
		close(fds[i]);
	close(go);
}

/* System calls and probes, which are hit in the kernel or in user space. */
FIXTURE(probe)
{
	struct perf_event_attr attr;
};

FIXTURE_VARIANT(probe)
{
	/* Type and arguments for dynamic_events; probe_make_kernel() or _user() adds the place */
	const char *make;
	const char *suffix;
	const char *event;
	bool user;
};

FIXTURE_VARIANT_ADD(probe, syscall_enter)
{
	.event = "syscalls/sys_enter_getpgid",
	.user = true,
};

FIXTURE_VARIANT_ADD(probe, syscall_exit)
{
	.event = "syscalls/sys_exit_getpgid",
	.user = true,
};

FIXTURE_VARIANT_ADD(probe, kprobe)
{
	.make = "p",
	.suffix = "",
};

FIXTURE_VARIANT_ADD(probe, kretprobe)
{
	.make = "r",
	.suffix = " ret=$retval",
};

FIXTURE_VARIANT_ADD(probe, fprobe)
{
	.make = "f",
	.suffix = "",
};

FIXTURE_VARIANT_ADD(probe, fprobe_return)
{
	.make = "f",
	.suffix = "%return ret=$retval",
};

FIXTURE_VARIANT_ADD(probe, uprobe)
{
	.make = "p",
	.suffix = "",
	.user = true,
};

FIXTURE_VARIANT_ADD(probe, uretprobe)
{
	.make = "r",
	.suffix = " ret=$retval",
	.user = true,
};

#define PROBE	"tracepoint_test/hit"

/* All probes of this test are in here. */
static long probed(long pid)
{
	return syscall(SYS_getpgid, pid);
}

/* The only caller of probed(), so that it always returns to the same place */
static __attribute_noinline__ void probe_hit(long pid)
{
	long (*call)(long pid) = probed;

	/* Keeps the compiler from inlining probed() here. */
	asm volatile("" : "+r" (call));
	if (call(pid) < 0)
		abort();
}

static bool probe_write(const char *line)
{
	int fd = tracefs_open("dynamic_events", O_WRONLY | O_APPEND);
	bool ok;

	if (fd < 0)
		return false;
	ok = write(fd, line, strlen(line)) > 0;
	close(fd);
	return ok;
}

static bool probe_make_kernel(const char *make, const char *suffix)
{
	static const char * const functions[] = {
		"__x64_sys_getpgid", "__arm64_sys_getpgid", "__s390x_sys_getpgid",
		"__riscv_sys_getpgid", "sys_getpgid",
	};
	char line[200];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(functions); i++) {
		snprintf(line, sizeof(line), "%s:" PROBE " %s%s\n", make, functions[i], suffix);
		if (probe_write(line))
			return true;
	}
	return false;
}

/* Puts the probe at probed() in the file of this program. */
static bool probe_make_user(const char *make, const char *suffix)
{
	unsigned long start, end, offset, at = (unsigned long)probed;
	FILE *f = fopen("/proc/self/maps", "r");
	char line[600], path[400];
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f))
		found = sscanf(line, "%lx-%lx %*s %lx %*s %*s %399s", &start, &end, &offset,
			       path) == 4 && at >= start && at < end;
	if (f)
		fclose(f);
	if (!found)
		return false;
	snprintf(line, sizeof(line), "%s:" PROBE " %s:%#lx%s\n", make, path,
		 at - start + offset, suffix);
	return probe_write(line);
}

FIXTURE_SETUP(probe)
{
	const char *event = variant->event ?: PROBE;
	long id;

	/* Remove the probe of a run that was killed. */
	probe_write("-:" PROBE "\n");
	if (variant->make &&
	    !(variant->user ? probe_make_user : probe_make_kernel)(variant->make, variant->suffix))
		SKIP(return, "no such probes: this takes root, and CONFIG_[KFU]PROBE_EVENTS");
	id = event_id(event);
	if (id < 0)
		SKIP(return, "no %s: this takes root, and CONFIG_FTRACE_SYSCALLS", event);
	self->attr = (struct perf_event_attr) {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(self->attr),
		.config = id,
		.sample_period = 1,
		.sample_type = NARROW,
		.write_backward = true,
		.disabled = 1,
		.watermark = 1,
		.wakeup_watermark = 1 << 30,
	};
}

FIXTURE_TEARDOWN(probe)
{
	if (variant->make)
		probe_write("-:" PROBE "\n");
}

/* An event, and the last record in its buffer */
struct recorder {
	int fd;
	void *base;
	__u64 head;
	struct {
		struct perf_event_header header;
		__u64 id, ip;
		__u32 pid, tid;
		__u64 time;
		__u32 size;
		unsigned char raw[200];
	} record;
};

static bool recorder_open(struct recorder *recorder, struct perf_event_attr *attr)
{
	recorder->fd = event_open(attr);
	if (recorder->fd < 0)
		return false;
	recorder->base = mmap(NULL, (1 + PAGES) * sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED,
			      recorder->fd, 0);
	recorder->head = 0;
	return recorder->base != MAP_FAILED;
}

/* Takes the last record, and clears fields that differ between hits. */
static bool recorder_take(struct recorder *recorder)
{
	/* TRACE_FLAG_NEED_RESCHED and its kin */
	const __u8 resched = 0x02 | 0x04 | 0x20;
	struct perf_event_mmap_page *page = recorder->base;
	size_t page_size = sysconf(_SC_PAGESIZE);
	__u64 head = page->data_head;

	__sync_synchronize();
	memset(&recorder->record, 0, sizeof(recorder->record));
	memcpy(&recorder->record, (char *)page + page_size + head % (PAGES * page_size),
	       recorder->head - head < sizeof(recorder->record) ? recorder->head - head :
	       sizeof(recorder->record));
	if (recorder->head - head != recorder->record.header.size)
		return false;
	recorder->head = head;
	recorder->record.id = 0;
	recorder->record.time = 0;
	recorder->record.raw[offsetof(struct raw, flags)] &= ~resched;
	return true;
}

/*
 * The samples are the same whether the kernel writes them in place, for an event that is
 * alone or the first of several, or the long way, for an event that asks for more.
 */
TEST_F(probe, same_samples)
{
	struct perf_event_attr attr = self->attr;
	struct recorder usual, other, many[MANY];
	typeof(usual.record) first;
	const __u16 mode = variant->user ? PERF_RECORD_MISC_USER : PERF_RECORD_MISC_KERNEL;
	long pid = getpid();
	int step, i;

	ASSERT_TRUE(recorder_open(&usual, &attr));
	attr.watermark = 0;
	attr.wakeup_events = 1000;
	ASSERT_TRUE(recorder_open(&other, &attr));

	for (step = 0; step < 4; step++) {
		switch (step) {
		case 0: /* alone */
			ASSERT_EQ(0, ioctl(usual.fd, PERF_EVENT_IOC_ENABLE, 0));
			break;
		case 1: /* the long way, alone */
			ASSERT_EQ(0, ioctl(usual.fd, PERF_EVENT_IOC_DISABLE, 0));
			ASSERT_EQ(0, ioctl(other.fd, PERF_EVENT_IOC_ENABLE, 0));
			break;
		case 2: /* both, @usual first */
			ASSERT_EQ(0, ioctl(usual.fd, PERF_EVENT_IOC_ENABLE, 0));
			break;
		case 3: /* neither in place: a filter needs a record to look at */
			ASSERT_EQ(0, ioctl(usual.fd, PERF_EVENT_IOC_SET_FILTER,
					   "common_pid >= 0"));
			break;
		}
		/* All hits return to the same place, which is part of the samples. */
		probe_hit(pid);
		if (step != 1)
			ASSERT_TRUE(recorder_take(&usual));
		if (step > 0)
			ASSERT_TRUE(recorder_take(&other));
		if (step == 0)
			first = usual.record;
		if (step != 1)
			EXPECT_EQ(0, memcmp(&first, &usual.record, sizeof(first)));
		if (step > 0)
			EXPECT_EQ(0, memcmp(&first, &other.record, sizeof(first)));
	}

	/*
	 * With this many events, the last ones copy from a buffer that held another
	 * record before.
	 */
	probe_hit(0);
	for (i = 0; i < MANY; i++) {
		ASSERT_TRUE(recorder_open(&many[i], i % 2 ? &attr : &self->attr));
		ASSERT_EQ(0, ioctl(many[i].fd, PERF_EVENT_IOC_ENABLE, 0));
	}
	probe_hit(pid);
	for (i = 0; i < MANY; i++) {
		ASSERT_TRUE(recorder_take(&many[i]));
		EXPECT_EQ(0, memcmp(&first, &many[i].record, sizeof(first)));
		munmap(many[i].base, (1 + PAGES) * sysconf(_SC_PAGESIZE));
		close(many[i].fd);
	}
	EXPECT_EQ(PERF_RECORD_SAMPLE, first.header.type);
	EXPECT_EQ(mode, first.header.misc & PERF_RECORD_MISC_CPUMODE_MASK);
	EXPECT_EQ(pid, first.pid);

	munmap(usual.base, (1 + PAGES) * sysconf(_SC_PAGESIZE));
	munmap(other.base, (1 + PAGES) * sysconf(_SC_PAGESIZE));
	close(usual.fd);
	close(other.fd);
}

/* A tracepoint that is hit all the time on all CPUs. */
FIXTURE(busy)
{
	struct busy busy;
	int fds[BUSY_CPUS];
	void *maps[BUSY_CPUS];
};

FIXTURE_VARIANT(busy)
{
	bool backward;
	unsigned long long sample_type;
};

FIXTURE_VARIANT_ADD(busy, overwrite)
{
	OVERWRITE,
};

FIXTURE_VARIANT_ADD(busy, narrow)
{
	.backward = true,
	.sample_type = NARROW,
};

FIXTURE_VARIANT_ADD(busy, forward)
{
	FORWARD,
};

FIXTURE_SETUP(busy)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.config = event_id(EVENT),
		.sample_period = 1,
		.sample_type = variant->sample_type,
		.write_backward = variant->backward,
		.disabled = 1,
	};
	struct busy *busy = &self->busy;
	cpu_set_t set;
	int i;

	if ((long)attr.config < 0)
		SKIP(return, "no " EVENT ": this takes root, and CONFIG_FTRACE_SYSCALLS");
	ASSERT_EQ(0, sched_getaffinity(0, sizeof(set), &set));
	if (CPU_COUNT(&set) < 2)
		SKIP(return, "this takes two CPUs");
	ASSERT_TRUE(busy_start(busy, &set));
	for (i = 0; i < busy->nr; i++) {
		self->fds[i] = syscall(SYS_perf_event_open, &attr, -1, busy->cpus[i], -1,
				       PERF_FLAG_FD_CLOEXEC);
		ASSERT_LE(0, self->fds[i]);
		self->maps[i] = mmap(NULL, (1 + PAGES) * sysconf(_SC_PAGESIZE), PROT_READ,
				     MAP_SHARED, self->fds[i], 0);
		ASSERT_NE(MAP_FAILED, self->maps[i]);
	}
}

FIXTURE_TEARDOWN(busy)
{
	busy_end(&self->busy);
}

/* When PERF_EVENT_IOC_DISABLE returns, the record in progress is written and no more come. */
TEST_F_TIMEOUT(busy, disable, 1800)
{
	struct busy *busy = &self->busy;
	__u64 before[BUSY_CPUS], head[BUSY_CPUS];
	unsigned int round;
	int i;

	for (round = 0; round < busy->rounds; round++) {
		for (i = 0; i < busy->nr; i++) {
			before[i] = busy_head(self->maps[i]);
			ASSERT_EQ(0, ioctl(self->fds[i], PERF_EVENT_IOC_ENABLE, 0));
		}
		busy_wait(busy);
		for (i = 0; i < busy->nr; i++) {
			ASSERT_EQ(0, ioctl(self->fds[i], PERF_EVENT_IOC_DISABLE, 0));
			head[i] = busy_head(self->maps[i]);
			ASSERT_TRUE(busy_recorded(busy, before[i], head[i]));
		}
		busy_wait(busy);
		for (i = 0; i < busy->nr; i++)
			ASSERT_EQ(head[i], busy_head(self->maps[i]));
	}
}

TEST_HARNESS_MAIN
