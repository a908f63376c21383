/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counts what the kernel holds because of persistent events, as far as a user can see it.
 * Numbers from before and after a test show what was not freed.
 */
#ifndef BALANCE_H
#define BALANCE_H

#include <time.h>

#include <sys/resource.h>

#include "persistent.h"

/* Seconds to wait for RCU and other deferred frees */
#define BALANCE_SECONDS	60

#define EVENT_SLAB	"/sys/kernel/slab/perf_event"

/* -1: the number is not known */
struct balance {
	long	spaces;		/* namespaces, whoever made them */
	long	events;		/* objects of struct perf_event */
	long	progs;		/* BPF programs, which events hold */
	long	pinned;		/* kB of VmPin, of this process */
	long	available;	/* kB of memory, for information */
	long	percpu;		/* kB, for information */
	long	vmalloc;	/* kB, for information */
};

static inline long balance_field(const char *path, const char *field)
{
	static char text[1 << 16];
	char *line;

	if (read_file(path, text, sizeof(text)) <= 0)
		return -1;
	line = strstr(text, field);
	return line ? strtol(line + strlen(field), NULL, 10) : -1;
}

/*
 * Shrinking returns the objects that CPUs cache, so that the count is exact. If the slab
 * was merged with others of its size, their objects are counted as well.
 */
static inline long balance_events(void)
{
	char text[64];

	if (write_file(EVENT_SLAB "/shrink", "1") ||
	    read_file(EVENT_SLAB "/objects", text, sizeof(text)) <= 0)
		return -1;
	return strtol(text, NULL, 10);
}

static inline long balance_progs(void)
{
	union bpf_attr attr = {};
	long n = 0;

	while (!sys_bpf(BPF_PROG_GET_NEXT_ID, &attr)) {
		attr.start_id = attr.next_id;
		n++;
	}
	return n;
}

static inline long balance_spaces(void)
{
	struct dirent *dent;
	long n = 0;
	DIR *dir;

	dir = opendir(NS_DIR);
	if (!dir)
		return -1;
	while ((dent = readdir(dir)))
		n += dent->d_name[0] != '.';
	closedir(dir);
	return n;
}

static inline void balance_take(struct balance *b)
{
	b->spaces = balance_spaces();
	b->events = balance_events();
	b->progs = balance_progs();
	b->pinned = balance_field("/proc/self/status", "VmPin:");
	b->available = balance_field("/proc/meminfo", "MemAvailable:");
	b->percpu = balance_field("/proc/meminfo", "Percpu:");
	b->vmalloc = balance_field("/proc/meminfo", "VmallocUsed:");
}

static inline void balance_print(const char *when, const struct balance *b)
{
	ksft_print_msg("%s: %ld namespaces, %ld events, %ld programs, %ld kB pinned, ",
		       when, b->spaces, b->events, b->progs, b->pinned);
	printf("%ld kB available, %ld kB percpu, %ld kB vmalloc\n",
	       b->available, b->percpu, b->vmalloc);
}

static inline bool balance_is_back(const struct balance *before, const struct balance *now)
{
	return now->spaces <= before->spaces && now->events <= before->events &&
	       now->progs <= before->progs && now->pinned <= before->pinned;
}

/* Takes the numbers before a test, without events that others have yet to free. */
static inline void balance_settle(struct balance *b)
{
	const struct timespec pause = { .tv_nsec = 20000000 };
	int tries;
	long low;

	balance_take(b);
	low = b->events;
	for (tries = 0; tries < 10; tries++) {
		nanosleep(&pause, NULL);
		balance_take(b);
		if (b->events < low)
			low = b->events;
	}
	b->events = low;
}

/* Waits for deferred frees, but not forever. */
static inline bool balance_back(const struct balance *before, struct balance *now)
{
	const struct timespec pause = { .tv_nsec = 100000000 };
	int tries;

	for (tries = 0; tries < BALANCE_SECONDS * 10; tries++) {
		balance_take(now);
		if (balance_is_back(before, now))
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

/*
 * Whether one user can lock all that perf_event_mlock_kb allows, for all CPUs. It fails
 * if a buffer of the past is still charged.
 */
static inline bool balance_allowance(int cpu)
{
	long kb = balance_field("/proc/sys/kernel/perf_event_mlock_kb", "");
	long left = kb / (page_size() / 1024) * sysconf(_SC_NPROCESSORS_ONLN);
	const struct rlimit none = { 0, 0 };
	pid_t pid;

	pid = fork_child();
	if (pid)
		return pid > 0 && !child_status(pid);

	setrlimit(RLIMIT_MEMLOCK, &none);
	drop_caps(cap_bit(CAP_IPC_LOCK));
	while (left > 0) {
		struct perf_event_attr attr = say_attr();
		struct member m;
		int pages = 1;

		while (2 * pages + 1 <= left)
			pages *= 2;
		if (left == 1)
			pages = 0;
		m.fd = event_open(&attr, -1, cpu, -1, 0);
		if (m.fd < 0 || ring_map(m.fd, pages, PROT_READ) == MAP_FAILED)
			_exit(1);
		left -= pages + 1;
	}
	_exit(0);
}

#endif /* BALANCE_H */
