/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Makes system calls on all CPUs at full speed. Tests use it to check that a call that
 * ends recording is exact: after it returns, no record appears.
 *
 * BUSY_ROUNDS in the environment sets how often a test does that, BUSY_CALLS how many
 * records each CPU writes before and after.
 */
#ifndef BUSY_H
#define BUSY_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define BUSY_CPUS	16

/* One counter per CPU, each in a cache line of its own. */
struct busy_calls {
	unsigned long	nr;
	char		rest[64 - sizeof(unsigned long)];
};

struct busy {
	unsigned int		rounds, calls;
	int			nr;
	int			cpus[BUSY_CPUS];
	pid_t			pids[BUSY_CPUS];
	struct busy_calls	*done;
};

static inline unsigned int busy_env(const char *name, unsigned int usual)
{
	const char *text = getenv(name);

	return text ? strtoul(text, NULL, 0) : usual;
}

static inline void busy_write(int cpu, pid_t parent, unsigned long *done)
{
	cpu_set_t set;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	/* The parent may be dead by now. */
	if (getppid() != parent || sched_setaffinity(0, sizeof(set), &set))
		_exit(1);
	for (;;) {
		syscall(SYS_getppid);
		__atomic_fetch_add(done, 1, __ATOMIC_RELAXED);
	}
}

/* Starts one process on each CPU of @set. Returns false on failure. */
static inline int busy_start(struct busy *busy, const cpu_set_t *set)
{
	pid_t pid, parent = getpid();
	unsigned long *done;
	void *shared;
	int cpu;

	busy->rounds = busy_env("BUSY_ROUNDS", 25);
	busy->calls = busy_env("BUSY_CALLS", 100);
	busy->nr = 0;
	shared = mmap(NULL, BUSY_CPUS * sizeof(*busy->done), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return 0;
	busy->done = shared;
	for (cpu = 0; cpu < CPU_SETSIZE && busy->nr < BUSY_CPUS; cpu++) {
		if (!CPU_ISSET(cpu, set))
			continue;
		/*
		 * Read @nr before fork(): if @busy is in shared memory, the parent may
		 * change it meanwhile.
		 */
		done = &busy->done[busy->nr].nr;
		pid = fork();
		if (pid < 0)
			return 0;
		if (!pid)
			busy_write(cpu, parent, done);
		busy->pids[busy->nr] = pid;
		busy->cpus[busy->nr++] = cpu;
	}
	return 1;
}

static inline void busy_end(struct busy *busy)
{
	int i;

	for (i = 0; i < busy->nr; i++) {
		kill(busy->pids[i], SIGKILL);
		waitpid(busy->pids[i], NULL, 0);
	}
	busy->nr = 0;
}

/* Waits until each CPU has made @busy->calls more calls. */
static inline void busy_wait(struct busy *busy)
{
	unsigned long begin[BUSY_CPUS];
	int i;

	for (i = 0; i < busy->nr; i++)
		begin[i] = __atomic_load_n(&busy->done[i].nr, __ATOMIC_RELAXED);
	for (i = 0; i < busy->nr; i++)
		while (__atomic_load_n(&busy->done[i].nr, __ATOMIC_RELAXED) - begin[i] <
		       busy->calls)
			sched_yield();
}

static inline __u64 busy_head(const void *map)
{
	const struct perf_event_mmap_page *page = map;

	return __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
}

/* Whether the head has moved since @before by enough bytes for a record of each call. */
static inline int busy_recorded(const struct busy *busy, __u64 before, __u64 head)
{
	__u64 bytes = (__s64)(head - before) < 0 ? before - head : head - before;

	return bytes >= busy->calls * sizeof(struct perf_event_header);
}

#endif /* BUSY_H */
