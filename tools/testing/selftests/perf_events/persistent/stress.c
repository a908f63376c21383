// SPDX-License-Identifier: GPL-2.0
/*
 * Processes do at random whatever can be done to persistent events, on the same names, while
 * the events fire. Now and then one is killed, wherever it is, and another takes its place.
 * H3, H4, H12, H13, H15
 *
 * Bugs show in the kernel's log. The test itself checks that everything is given back in the
 * end: namespaces, events, BPF programs, locked memory.
 *
 * usage: stress [-r ROUNDS] [-m MINUTES] [-s SEED] [-w WORKER] [-v]
 *
 * The seed, the number of a worker and how often it was killed before determine its acts.
 * -w runs one worker alone.
 */
#define PERSISTENT_NO_HARNESS
#include <assert.h>
#include <pthread.h>
#include <time.h>

#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "balance.h"

#define WORKERS		8
#define SLOTS		8
#define NAMES		4
#define MAX_PAGES	8
#define REGION_PAGES	16
#define MAX_ACTS	64

/*
 * A descriptor of a worker. Its mapping has a place of its own, so that no act can hit
 * memory that is used otherwise.
 */
struct slot {
	int	fd;
	int	cpu;
	int	pages;		/* of data that are mapped, -1: none */
	int	place;		/* which of the two is used */
	char	*places[2];
};

struct worker {
	unsigned int	nr;
	unsigned int	seed;
	bool		alone;		/* nobody else uses the slots */
	bool		nested;		/* is itself part of an act */
	struct slot	*slots;
	__u64		id;		/* of the namespace that was seen last */
	int		pipe[2];
};

struct shared {
	unsigned int	stop;
	unsigned int	wrong;
	unsigned int	rounds[WORKERS];
	unsigned int	tried[MAX_ACTS];
	unsigned int	done[MAX_ACTS];
};

static struct shared *shared;
static int cpus[CPU_SETSIZE], nr_cpus;
static int request[2];		/* numbers of workers that must be killed */
static int exchange[2];		/* descriptors on their way to anyone */
static int prog = -1;
static __u64 tracepoint;	/* 0: there is none */
static unsigned int rounds = 300, minutes, base_seed;
static int only = -1;
static bool verbose, has_perffs;

#define count(counter)	__atomic_add_fetch(&(counter), 1, __ATOMIC_RELAXED)

static __printf(2, 3) void wrong(struct worker *w, const char *fmt, ...)
{
	char text[128];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	count(shared->wrong);
	printf("# worker %u, round %u: %s\n", w->nr, shared->rounds[w->nr], text);
	fflush(stdout);
}

#define PATH_ROOM	(sizeof(PERFFS_DIR) + NAME_ROOM + 32)

/* Helpers of the acts */

/* The act could not be tried. */
#define NOT_NOW	1

static unsigned int pick(struct worker *w, unsigned int n)
{
	return rand_r(&w->seed) / 7 % n;
}

static bool one_in(struct worker *w, unsigned int n)
{
	return !pick(w, n);
}

static struct slot *any_slot(struct worker *w)
{
	return &w->slots[pick(w, SLOTS)];
}

static struct slot *open_slot(struct worker *w)
{
	unsigned int i, first = pick(w, SLOTS);

	for (i = 0; i < SLOTS; i++) {
		struct slot *s = &w->slots[(first + i) % SLOTS];

		if (s->fd >= 0)
			return s;
	}
	return &w->slots[first];
}

static struct slot *mapped_slot(struct worker *w)
{
	unsigned int i, first = pick(w, SLOTS);

	for (i = 0; i < SLOTS; i++) {
		struct slot *s = &w->slots[(first + i) % SLOTS];

		if (s->pages >= 0)
			return s;
	}
	return NULL;
}

static int any_cpu(struct worker *w)
{
	return cpus[pick(w, nr_cpus)];
}

static const char *any_name(struct worker *w, char *name)
{
	snprintf(name, NAME_ROOM, "%s%u", persist_prefix, pick(w, NAMES));
	return name;
}

/* Sometimes one of the last snapshots */
static __u64 any_ns(struct worker *w)
{
	char name[NAME_ROOM];
	__u64 id;

	if (one_in(w, 4))
		return w->id;
	any_name(w, name);
	if (one_in(w, 4))
		sprintf(name + strlen(name), ".%u", 1 + pick(w, 12));
	id = ns_lookup(name);
	if (id)
		w->id = id;
	return w->id;
}

static char *region(struct slot *s)
{
	return s->places[s->place];
}

static void *reserve(void *addr)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (addr ? MAP_FIXED : 0);

	return mmap(addr, REGION_PAGES * page_size(), PROT_NONE, flags, -1, 0);
}

static void slot_unmap(struct slot *s)
{
	if (s->pages >= 0)
		reserve(region(s));
	s->pages = -1;
}

/* The mapping goes first or last. */
static void slot_close(struct worker *w, struct slot *s)
{
	int fd = s->fd;

	s->fd = -1;
	if (fd >= 0 && one_in(w, 2)) {
		close(fd);
		fd = -1;
	}
	slot_unmap(s);
	if (fd >= 0)
		close(fd);
}

static int slot_fill(struct worker *w, struct slot *s, int fd, int cpu)
{
	if (fd < 0)
		return fd;
	slot_close(w, s);
	s->fd = fd;
	s->cpu = cpu;
	return 0;
}

/* Events, all of which fire while the workers work */

static void attr_faults(struct perf_event_attr *attr)
{
	attr->config = PERF_COUNT_SW_PAGE_FAULTS;
	attr->sample_period = 1;
}

static void attr_clock(struct perf_event_attr *attr)
{
	attr->config = PERF_COUNT_SW_CPU_CLOCK;
	attr->sample_period = 200000;
}

static void attr_switches(struct perf_event_attr *attr)
{
	attr->config = PERF_COUNT_SW_CONTEXT_SWITCHES;
	attr->sample_period = 1;
	attr->context_switch = 1;
}

static void attr_tracepoint(struct perf_event_attr *attr)
{
	if (!tracepoint)
		return attr_switches(attr);
	attr->type = PERF_TYPE_TRACEPOINT;
	attr->config = tracepoint;
	attr->sample_period = 1;
	attr->sample_type |= PERF_SAMPLE_RAW;
}

static void attr_records(struct perf_event_attr *attr)
{
	attr->config = PERF_COUNT_SW_DUMMY;
	attr->comm = 1;
	attr->task = 1;
	attr->mmap = 1;
	attr->mmap2 = 1;
}

static void attr_counter(struct perf_event_attr *attr)
{
	attr->config = PERF_COUNT_SW_PAGE_FAULTS;
}

static void (* const kinds[])(struct perf_event_attr *attr) = {
	attr_faults, attr_clock, attr_switches, attr_tracepoint, attr_records, attr_counter,
};

static struct perf_event_attr any_attr(struct worker *w)
{
	struct perf_event_attr attr = {
		.type			= PERF_TYPE_SOFTWARE,
		.size			= sizeof(attr),
		.sample_type		= PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID |
					  PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
		.read_format		= PERF_FORMAT_ID | PERF_FORMAT_LOST |
					  PERF_FORMAT_TOTAL_TIME_ENABLED,
		.sample_id_all		= 1,
		.disabled		= one_in(w, 4),
		.inherit		= one_in(w, 2),
		.write_backward		= !one_in(w, 4),
		.watermark		= 1,
		.wakeup_watermark	= 1 << pick(w, 12),
	};

	if (one_in(w, 3))
		attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
	kinds[pick(w, ARRAY_SIZE(kinds))](&attr);
	return attr;
}

/* Makes the events fire. The faults are in memory of its own: see reserve(). */
char noise[1 << 16];

static void make_noise(struct worker *w)
{
	madvise((void *)(((unsigned long)noise + page_size()) & -page_size()),
		sizeof(noise) - 2 * page_size(), MADV_DONTNEED);
	memset(noise, 1, sizeof(noise));
	sched_yield();
	say(one_in(w, 2) ? "stress" : "noise");
}

/* The acts. Each returns 0, NOT_NOW, or a negative errno. */

static int open_event(struct worker *w)
{
	struct perf_event_attr attr = any_attr(w);
	int cpu = any_cpu(w);

	return slot_fill(w, any_slot(w), event_open(&attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC), cpu);
}

/* Opens a sibling, which a member cannot have. H13 */
static int open_sibling(struct worker *w)
{
	struct perf_event_attr attr = any_attr(w);
	struct slot *leader = open_slot(w);

	return slot_fill(w, any_slot(w),
			 event_open(&attr, -1, leader->cpu, leader->fd, PERF_FLAG_FD_CLOEXEC),
			 leader->cpu);
}

static int close_fd(struct worker *w)
{
	slot_close(w, any_slot(w));
	return 0;
}

static int map(struct worker *w)
{
	struct slot *s = open_slot(w);
	int pages = one_in(w, 6) ? 0 : MAX_PAGES >> pick(w, 2);
	int prot = PROT_READ | (one_in(w, 2) ? PROT_WRITE : 0);

	/* Map to the other place. The old mapping goes first or last. */
	if (one_in(w, 2))
		slot_unmap(s);
	if (mmap(s->places[!s->place], ring_len(pages), prot, MAP_SHARED | MAP_FIXED,
		 s->fd, 0) == MAP_FAILED) {
		int err = -errno;

		reserve(s->places[!s->place]);
		return err;
	}
	slot_unmap(s);
	s->place = !s->place;
	s->pages = pages;
	return 0;
}

static int unmap(struct worker *w)
{
	struct slot *s = mapped_slot(w);
	int err;

	if (!s)
		return NOT_NOW;
	err = neg_errno(munmap(region(s), ring_len(s->pages)));
	if (err)
		return err;
	reserve(region(s));
	s->pages = -1;
	return 0;
}

/* A mapping cannot be split. H4 */
static int split(struct worker *w)
{
	struct slot *s = mapped_slot(w);
	size_t page = page_size();
	void *ret = NULL;
	const char *what;
	char *addr;
	int err = 0;

	if (!s || s->pages < 1)
		return NOT_NOW;
	addr = region(s) + page * pick(w, s->pages + 1);

	switch (pick(w, 4)) {
	case 0:
		what = "unmapped";
		err = munmap(addr, page);
		break;
	case 1:
		what = "mapped over";
		ret = mmap(addr, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		break;
	case 2:
		what = "shrunk";
		ret = mremap(region(s), ring_len(s->pages), page, 0);
		break;
	default:
		what = "moved";
		ret = mremap(addr, page, page, MREMAP_MAYMOVE | MREMAP_FIXED, s->places[!s->place]);
		reserve(s->places[!s->place]);
		break;
	}
	if (!err && ret != MAP_FAILED && w->alone)
		wrong(w, "part of a mapping of %d + 1 pages was %s", s->pages, what);
	return 0;
}

/* A mapping cannot grow, or be mapped twice. H4 */
static int grow(struct worker *w)
{
	struct slot *s = mapped_slot(w);
	size_t len;
	void *ret;

	if (!s)
		return NOT_NOW;
	len = ring_len(s->pages);
	ret = mremap(region(s), one_in(w, 2) ? len : 0, len + page_size(),
		     MREMAP_MAYMOVE | MREMAP_FIXED, s->places[!s->place]);
	if (ret != MAP_FAILED && w->alone)
		wrong(w, "a mapping of %d + 1 pages grew", s->pages);
	reserve(s->places[!s->place]);
	return 0;
}

static int move(struct worker *w)
{
	struct slot *s = mapped_slot(w);
	size_t len;

	if (!s)
		return NOT_NOW;
	len = ring_len(s->pages);
	if (mremap(region(s), len, len, MREMAP_MAYMOVE | MREMAP_FIXED,
		   s->places[!s->place]) == MAP_FAILED)
		return -errno;
	reserve(region(s));
	s->place = !s->place;
	return 0;
}

static int protect(struct worker *w)
{
	static const int prots[] = { PROT_NONE, PROT_READ, PROT_READ | PROT_WRITE };
	struct slot *s = mapped_slot(w);

	if (!s)
		return NOT_NOW;
	return neg_errno(mprotect(region(s), one_in(w, 3) ? page_size() : ring_len(s->pages),
				  prots[pick(w, ARRAY_SIZE(prots))]));
}

/* Reads a mapping through a pipe, as it may have become unreadable. */
static int look(struct worker *w)
{
	struct slot *s = mapped_slot(w);
	char data[4096];
	ssize_t len;

	if (!s)
		return NOT_NOW;
	len = neg_errno(write(w->pipe[1], region(s), ring_len(s->pages)));
	while (read(w->pipe[0], data, sizeof(data)) > 0)
		;
	return len < 0 ? len : 0;
}

/* Writes data_tail, as the reader of a forward buffer does, and as others must not. */
static int scribble(struct worker *w)
{
	struct slot *s = mapped_slot(w);
	ssize_t len = 0;
	__u64 tail;

	if (!s)
		return NOT_NOW;
	tail = pick(w, 2 * MAX_PAGES * page_size()) & ~7U;
	if (write(w->pipe[1], &tail, sizeof(tail)) > 0)
		len = neg_errno(read(w->pipe[0],
				     region(s) + offsetof(struct perf_event_mmap_page, data_tail),
				     sizeof(tail)));
	/* Drain what that read did not take. */
	while (read(w->pipe[0], &tail, sizeof(tail)) > 0)
		;
	return len < 0 ? len : 0;
}

static int get_value(struct worker *w)
{
	__u64 values[64];
	ssize_t len = neg_errno(read(open_slot(w)->fd, values, sizeof(values)));

	return len < 0 ? len : 0;
}

static int watch(struct worker *w)
{
	return poll_now(open_slot(w)->fd) & POLLNVAL ? -EBADF : 0;
}

static int name(struct worker *w)
{
	struct slot *s = open_slot(w);
	char name[NAME_ROOM];

	switch (pick(w, 3)) {
	case 0:
		return set_name_str(s->fd, any_name(w, name));
	case 1:
		return set_name(s->fd, "%s/label-%u", any_name(w, name), pick(w, 100));
	default:
		return set_name(s->fd, "/label-%u", pick(w, 100));
	}
}

static int new(struct worker *w)
{
	__u64 id;
	int err;

	err = persist_new(open_slot(w)->fd, &id);
	if (!err)
		w->id = id;
	return err;
}

static int join(struct worker *w)
{
	return persist_join(open_slot(w)->fd, any_ns(w));
}

/* Name last: publishes members of different kinds, all at once. */
static int create(struct worker *w)
{
	unsigned int i, n = 1 + pick(w, 3), first = pick(w, SLOTS);
	__u64 id = PERF_PERSIST_NEW;
	struct slot *s = NULL;
	char name[NAME_ROOM];
	int err, cpu;

	for (i = 0; i < n; i++) {
		struct perf_event_attr attr = any_attr(w);

		attr.write_backward = 1;
		s = &w->slots[(first + i) % SLOTS];
		cpu = any_cpu(w);
		err = slot_fill(w, s, event_open(&attr, -1, cpu, -1, 0), cpu);
		if (err)
			return err;
		if (mmap(region(s), ring_len(1), PROT_READ, MAP_SHARED | MAP_FIXED,
			 s->fd, 0) == MAP_FAILED)
			reserve(region(s));
		else
			s->pages = 1;
		if (one_in(w, 2))
			event_ioctl(s->fd, PERF_EVENT_IOC_SET_BPF, prog);
		err = set_persist(s->fd, &id);
		if (err)
			return err;
	}
	w->id = id;
	return set_name_str(s->fd, any_name(w, name));
}

/* Name first: a member is published when it joins. */
static int create_named(struct worker *w)
{
	struct perf_event_attr attr = any_attr(w);
	struct slot *s = any_slot(w);
	int err, cpu = any_cpu(w);
	char name[NAME_ROOM];
	__u64 id;

	err = slot_fill(w, s, event_open(&attr, -1, cpu, -1, 0), cpu);
	if (!err)
		err = set_name_str(s->fd, any_name(w, name));
	if (!err)
		err = persist_new(s->fd, &id);
	if (!err)
		w->id = id;
	return err;
}

static int claim(struct worker *w)
{
	return persist_claim(open_slot(w)->fd);
}

static int set_flags(struct worker *w)
{
	return persist_set_flags(open_slot(w)->fd, pick(w, 2) ? PERF_PERSIST_ALL_CPUS : 0);
}

static int ask(struct worker *w)
{
	struct perf_event_persist_member p = {};
	struct perf_event_attr attr;

	p.size = sizeof(p);
	p.attr = (unsigned long)&attr;
	p.attr_size = sizeof(attr);
	return event_ioctl(open_slot(w)->fd, PERF_EVENT_IOC_GET_MEMBER, (unsigned long)&p);
}

static int ask_ns(struct worker *w)
{
	struct perf_event_persist info;

	return get_persist(open_slot(w)->fd, &info);
}

static int list(struct worker *w)
{
	int n = ns_count(any_ns(w));

	return n < 0 ? n : 0;
}

static int open_ns(struct worker *w)
{
	char name[NAME_ROOM];
	int fd, err;

	if (one_in(w, 2))
		return slot_fill(w, any_slot(w), ns_open(any_ns(w), pick(w, 2)), any_cpu(w));

	fd = ns_open(~0ULL, pick(w, 2));
	if (fd < 0)
		return fd;
	err = set_name_str(fd, any_name(w, name));
	if (err) {
		close(fd);
		return err;
	}
	return slot_fill(w, any_slot(w), fd, any_cpu(w));
}

static int open_member(struct worker *w)
{
	struct perf_event_persist_member p = {};
	__u64 id = any_ns(w);
	int fd, cpu = any_cpu(w);

	if (one_in(w, 2))
		return slot_fill(w, any_slot(w), member_reopen(id, 0, cpu, pick(w, 2)), cpu);

	fd = ns_open(id, 0);
	if (fd < 0)
		return fd;
	while (!next_member(fd, &p) && !one_in(w, 3))
		;
	close(fd);
	if (!p.event_id)
		return -ENOENT;
	return slot_fill(w, any_slot(w), member_reopen(id, p.event_id, -1, pick(w, 2)), p.cpu);
}

static int delete(struct worker *w)
{
	return one_in(w, 2) ? ns_delete(open_slot(w)->fd) : ns_kill(any_ns(w));
}

static unsigned long any_switch(struct worker *w)
{
	static const unsigned long cmds[] = {
		PERF_EVENT_IOC_ENABLE, PERF_EVENT_IOC_DISABLE, PERF_EVENT_IOC_ENABLE,
		PERF_EVENT_IOC_REFRESH, PERF_EVENT_IOC_RESET,
	};

	return cmds[pick(w, ARRAY_SIZE(cmds))];
}

static int switch_fd(struct worker *w)
{
	return event_ioctl(open_slot(w)->fd, any_switch(w), pick(w, 2));
}

static int on_any_ns(struct worker *w, int (*func)(struct worker *w, int fd))
{
	int err, fd = ns_open(any_ns(w), PERF_PERSIST_OPEN_WRITE);

	if (fd < 0)
		return fd;
	err = func(w, fd);
	close(fd);
	return err;
}

static int switch_ns(struct worker *w, int fd)
{
	return event_ioctl(fd, pick(w, 2) ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

static int snapshot(struct worker *w, int fd)
{
	__u64 id;
	int err;

	err = ns_snapshot(fd, &id);
	if (!err && one_in(w, 4))
		w->id = id;
	return err;
}

static int clear(struct worker *w, int fd)
{
	return event_ioctl(fd, PERF_EVENT_IOC_CLEAR, 0);
}

static int spares(struct worker *w, int fd)
{
	return ns_spares(fd, pick(w, 3));
}

static int keep(struct worker *w, int fd)
{
	return ns_keep(fd, 1 + pick(w, 4));
}

static int stop(struct worker *w, int fd)
{
	return one_in(w, 3) ? ns_stop(fd) : ns_resume(fd);
}

static int note(struct worker *w, int fd)
{
	return ns_note(fd, one_in(w, 4) ? "" : "noted");
}

static int resize(struct worker *w, int fd)
{
	struct perf_event_buffer_size size = { .size = page_size() << pick(w, 3) };
	struct perf_event_snapshot s = {
		.size = sizeof(s), .nr_sizes = 1, .sizes = (unsigned long)&size,
	};
	struct perf_event_persist_member p = {};
	int err;

	err = next_member(fd, &p);
	size.event_id = p.output_id;
	if (!err)
		err = event_ioctl(fd, PERF_EVENT_IOC_RESIZE, (unsigned long)&s);
	return err;
}

/* Adds a trigger that fires all the time, or one that a panic fires. */
static int arm(struct worker *w)
{
	struct perf_event_attr attr = fault_attr(1 + pick(w, 100));
	struct perf_event_trigger t = {
		.when = one_in(w, 4) ? PERF_TRIGGER_WHEN_PANIC : 0,
		.cool_down_ns = pick(w, 3) * 10000000ULL,
		.times = pick(w, 3),
	};
	int event, err, fd = ns_open(any_ns(w), PERF_PERSIST_OPEN_WRITE);
	__u32 number = pick(w, 3);

	if (fd < 0)
		return fd;
	attr.disabled = 1;
	if (!t.when) {
		t.action = pick(w, 4) ? PERF_TRIGGER_DO_SNAPSHOT : PERF_TRIGGER_DO_STOP;
		t.after_ns = pick(w, 3) * 1000000ULL;
	}
	/* Or have one more event fire a trigger that exists. */
	err = t.when || !number ? trigger_add(fd, &t) : 0;
	if (!err && !t.when) {
		event = event_open(&attr, -1, any_cpu(w), -1, 0);
		err = event < 0 ? event : trigger_add_event(fd, number ? number : t.number, event);
		if (event >= 0)
			close(event);
	}
	close(fd);
	return err;
}

/* Lets a trigger act again. */
static int rearm(struct worker *w)
{
	struct perf_event_trigger_state st;
	struct perf_event_trigger t;
	int err, fd = ns_open(any_ns(w), PERF_PERSIST_OPEN_WRITE);

	if (fd < 0)
		return fd;
	err = trigger_get(fd, 1, &t);
	if (!err)
		err = trigger_state(fd, t.number, &st);
	if (!err)
		err = trigger_arm(fd, t.number);
	close(fd);
	return err;
}

static int disarm(struct worker *w)
{
	struct perf_event_trigger t;
	int err, fd = ns_open(any_ns(w), PERF_PERSIST_OPEN_WRITE);

	if (fd < 0)
		return fd;
	err = trigger_get(fd, 1, &t);
	if (!err)
		err = trigger_del(fd, t.number);
	close(fd);
	return err;
}

/* prctl() switches events that are not published yet. */
static int switch_own(struct worker *w)
{
	int err = neg_errno(prctl(PR_TASK_PERF_EVENTS_DISABLE));

	return err ? err : neg_errno(prctl(PR_TASK_PERF_EVENTS_ENABLE));
}

static int period(struct worker *w)
{
	__u64 value = 1 + pick(w, 1000000);

	return event_ioctl(open_slot(w)->fd, PERF_EVENT_IOC_PERIOD, (unsigned long)&value);
}

static int redirect(struct worker *w)
{
	return event_ioctl(open_slot(w)->fd, PERF_EVENT_IOC_SET_OUTPUT,
			   one_in(w, 4) ? -1 : open_slot(w)->fd);
}

static int pause_output(struct worker *w)
{
	return event_ioctl(open_slot(w)->fd, PERF_EVENT_IOC_PAUSE_OUTPUT, pick(w, 2));
}

static int filter(struct worker *w)
{
	return event_ioctl(open_slot(w)->fd, PERF_EVENT_IOC_SET_FILTER,
			   (unsigned long)(pick(w, 2) ? "prev_pid > 0" : "next_prio < 200"));
}

/* Programs and their events are freed late. H12 */
static int attach(struct worker *w)
{
	return event_ioctl(open_slot(w)->fd, PERF_EVENT_IOC_SET_BPF, prog);
}

static int pin_cpu(struct worker *w)
{
	return pin(any_cpu(w));
}

static int wait_noise(struct worker *w)
{
	make_noise(w);
	return 0;
}

/* Sends a descriptor, with its rights, to whoever takes it. */
static int give(struct worker *w)
{
	char byte = open_slot(w)->cpu, control[CMSG_SPACE(sizeof(int))] = {};
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov	= &iov,
		.msg_iovlen	= 1,
		.msg_control	= control,
		.msg_controllen	= sizeof(control),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);
	int fd = open_slot(w)->fd;

	if (fd < 0)
		return NOT_NOW;
	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
	return neg_errno(sendmsg(exchange[0], &msg, MSG_DONTWAIT)) < 0 ? -EAGAIN : 0;
}

static int take_fd(int *cpu)
{
	char byte, control[CMSG_SPACE(sizeof(int))];
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov	= &iov,
		.msg_iovlen	= 1,
		.msg_control	= control,
		.msg_controllen	= sizeof(control),
	};
	struct cmsghdr *cmsg;
	int fd;

	if (recvmsg(exchange[1], &msg, MSG_DONTWAIT) < 0)
		return -errno;
	cmsg = CMSG_FIRSTHDR(&msg);
	if (!cmsg)
		return -EMFILE;
	memcpy(&fd, CMSG_DATA(cmsg), sizeof(fd));
	*cpu = (unsigned char)byte;
	return fd;
}

static int take(struct worker *w)
{
	int cpu = 0, fd = take_fd(&cpu);

	return slot_fill(w, any_slot(w), fd, cpu);
}

static void act_once(struct worker *w);

/* Acts in a child that has the descriptors, and those mappings that fork() may copy. */
static int fork_off(struct worker *w)
{
	struct worker child;
	unsigned int i, n = 1 + pick(w, 4), child_seed = rand_r(&w->seed);
	bool die = one_in(w, 3);
	pid_t pid;

	if (w->nested)
		return NOT_NOW;
	for (i = 0; i < SLOTS; i++) {
		struct slot *s = &w->slots[i];

		if (s->pages >= 0 && one_in(w, 2))
			madvise(region(s), ring_len(s->pages), MADV_DOFORK);
	}
	pid = fork_child();
	if (pid) {
		if (pid > 0)
			waitpid(pid, NULL, 0);
		return pid < 0 ? -errno : 0;
	}
	child = *w;
	child.seed = child_seed;
	child.nested = true;
	/* A mapping that was not copied cannot be split. */
	child.alone = false;
	while (n--)
		act_once(&child);
	if (die)
		kill(getpid(), SIGKILL);
	_exit(0);
}

static void *twin_main(void *arg)
{
	struct worker *w = arg;
	int n = 8;

	while (n--)
		act_once(w);
	return NULL;
}

/* Two threads act with the same descriptors, places and memory. */
static int twins(struct worker *w)
{
	struct worker twin = *w;
	pthread_t thread;
	int err;

	if (w->nested)
		return NOT_NOW;
	w->alone = false;
	w->nested = true;
	twin.seed = rand_r(&w->seed);
	twin.alone = false;
	twin.nested = true;
	err = pthread_create(&thread, NULL, twin_main, &twin);
	if (!err) {
		twin_main(w);
		pthread_join(thread, NULL);
	}
	/* They may have left each other's mappings and descriptors behind. */
	for (int i = 0; i < SLOTS; i++) {
		struct slot *s = &w->slots[i];

		s->pages = -1;
		reserve(s->places[0]);
		reserve(s->places[1]);
	}
	w->alone = true;
	w->nested = false;
	return -err;
}

/* Acts of a shell in perffs, whoever made the namespace */
static const char *any_file(struct worker *w, char *path, const char *file)
{
	char name[NAME_ROOM];

	snprintf(path, PATH_ROOM, PERFFS_DIR "/%s/%s", any_name(w, name), file);
	return path;
}

static int make_dir(struct worker *w)
{
	char path[PATH_ROOM];

	return neg_errno(mkdir(any_file(w, path, ""), 0755));
}

static int remove_dir(struct worker *w)
{
	char path[PATH_ROOM], name[NAME_ROOM];

	if (one_in(w, 4))
		snprintf(path, sizeof(path), PERFFS_DIR "/%s.%u", any_name(w, name),
			 1 + pick(w, 12));
	else
		any_file(w, path, "");
	return neg_errno(rmdir(path));
}

static int write_fs(struct worker *w)
{
	static const struct {
		const char *file, *text;
	} writes[] = {
		{ "events", "page-faults/period=1/" },
		{ "events", "cpu-clock/freq=999,callchain/" },
		{ "events", "sched:sched_w* if pid > 1" },
		{ "events", "!page-faults/period=1/" },
		{ "buffer_size", "4K" },
		{ "buffer_size", "64K" },
		{ "enabled", "1" },
		{ "enabled", "1" },
		{ "enabled", "0" },
		{ "snapshot", "1" },
		{ "snapshot", "0" },
		{ "keep", "2" },
		{ "spares", "1" },
		{ "spares", "0" },
		{ "triggers", "context-switches/period=100/ : stop cool_down=1ms" },
		{ "triggers", "sched:sched_process_exit : snapshot after=1ms" },
		{ "triggers", "!sched:sched_process_exit : snapshot after=1ms" },
		{ "events", "what is/that" },
	};
	unsigned int i = pick(w, ARRAY_SIZE(writes));
	char path[PATH_ROOM];

	return write_file(any_file(w, path, writes[i].file), writes[i].text);
}

static int read_fs(struct worker *w)
{
	static const char *const files[] = {
		"events", "buffer_size", "enabled", "snapshot", "keep", "spares", "triggers",
		"status",
	};
	char path[PATH_ROOM], text[4096];
	int ret;

	ret = read_file(any_file(w, path, files[pick(w, ARRAY_SIZE(files))]), text, sizeof(text));
	return ret < 0 ? ret : 0;
}

static int poll_fs(struct worker *w)
{
	struct pollfd pfd = { .events = POLLPRI };
	char path[PATH_ROOM], text[4096];
	int err = 0;

	pfd.fd = open(any_file(w, path, "status"), O_RDONLY | O_CLOEXEC);
	if (pfd.fd < 0)
		return -errno;
	if (read(pfd.fd, text, sizeof(text)) < 0 || poll(&pfd, 1, pick(w, 5)) < 0)
		err = -errno;
	close(pfd.fd);
	return err;
}

/* Mounts the one tree once more, each worker in a place of its own. */
static int mount_fs(struct worker *w)
{
	char path[PATH_ROOM];
	int err;

	snprintf(path, sizeof(path), "/tmp/%s%u", persist_prefix, w->nr);
	mkdir(path, 0700);
	err = neg_errno(mount("perffs", path, "perffs", 0, one_in(w, 4) ? "mode=0755" : NULL));
	umount2(path, MNT_DETACH);
	rmdir(path);
	return err;
}

/* Asks for the end of some worker, wherever it is, perhaps of this one. */
static int murder(struct worker *w)
{
	unsigned char victim = pick(w, WORKERS);

	return neg_errno(write(request[1], &victim, 1)) < 0 ? -EAGAIN : 0;
}

/* Has the last CPU come or go. Rarely, as it takes so long. H14 */
static int hotplug(struct worker *w)
{
	char path[64];

	if (nr_cpus < 2 || !one_in(w, 16))
		return 0;
	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", cpus[nr_cpus - 1]);
	if (access(path, W_OK))
		return 0;
	return write_file(path, one_in(w, 2) ? "1" : "0");
}

/* The weight is how often an act is done, compared with the others. */
static const struct act {
	const char	*what;
	int		(*func)(struct worker *w);
	unsigned int	weight;
	int		(*on_ns)(struct worker *w, int fd); /* instead of func: on any namespace */
} acts[] = {
	{ "open event",		open_event,	12 },
	{ "open sibling",	open_sibling,	3 },
	{ "close",		close_fd,	4 },
	{ "map",		map,		16 },
	{ "unmap",		unmap,		4 },
	{ "split",		split,		6 },
	{ "grow",		grow,		2 },
	{ "move",		move,		4 },
	{ "protect",		protect,	4 },
	{ "look",		look,		6 },
	{ "scribble",		scribble,	3 },
	{ "get value",		get_value,	4 },
	{ "watch",		watch,		3 },
	{ "name",		name,		10 },
	{ "new",		new,		5 },
	{ "join",		join,		10 },
	{ "create",		create,		6 },
	{ "create named",	create_named,	3 },
	{ "claim",		claim,		4 },
	{ "set flags",		set_flags,	2 },
	{ "ask",		ask,		5 },
	{ "ask namespace",	ask_ns,		3 },
	{ "list",		list,		4 },
	{ "open namespace",	open_ns,	6 },
	{ "open member",	open_member,	12 },
	{ "delete",		delete,		8 },
	{ "switch",		switch_fd,	6 },
	{ "switch namespace",	NULL,		4, switch_ns },
	{ "switch own",		switch_own,	1 },
	{ "snapshot",		NULL,		6, snapshot },
	{ "clear",		NULL,		1, clear },
	{ "spares",		NULL,		2, spares },
	{ "keep",		NULL,		2, keep },
	{ "stop",		NULL,		3, stop },
	{ "note",		NULL,		1, note },
	{ "resize",		NULL,		1, resize },
	{ "arm",		arm,		3 },
	{ "arm again",		rearm,		2 },
	{ "disarm",		disarm,		3 },
	{ "period",		period,		2 },
	{ "redirect",		redirect,	8 },
	{ "pause",		pause_output,	2 },
	{ "filter",		filter,		4 },
	{ "attach",		attach,		4 },
	{ "pin",		pin_cpu,	2 },
	{ "noise",		wait_noise,	10 },
	{ "give",		give,		6 },
	{ "take",		take,		6 },
	{ "fork",		fork_off,	2 },
	{ "twins",		twins,		1 },
	{ "mkdir",		make_dir,	6 },
	{ "rmdir",		remove_dir,	4 },
	{ "write perffs",	write_fs,	20 },
	{ "read perffs",	read_fs,	8 },
	{ "poll perffs",	poll_fs,	2 },
	{ "mount perffs",	mount_fs,	1 },
	{ "murder",		murder,		1 },
	{ "hotplug",		hotplug,	1 },
};

static_assert(ARRAY_SIZE(acts) <= MAX_ACTS, "acts");

static unsigned int choose(struct worker *w)
{
	unsigned int i, n = 0;

	for (i = 0; i < ARRAY_SIZE(acts); i++)
		n += acts[i].weight;
	n = pick(w, n);
	for (i = 0; n >= acts[i].weight; i++)
		n -= acts[i].weight;
	return i;
}

static void act_once(struct worker *w)
{
	unsigned int act = choose(w);
	int ret = acts[act].on_ns ? on_any_ns(w, acts[act].on_ns) : acts[act].func(w);

	if (ret != NOT_NOW)
		count(shared->tried[act]);
	if (!ret)
		count(shared->done[act]);
	else if (ret == -EFAULT && w->alone && acts[act].func != look && acts[act].func != scribble)
		wrong(w, "%s: %d", acts[act].what, ret);
}

static bool worker_done(unsigned int nr)
{
	return __atomic_load_n(&shared->stop, __ATOMIC_RELAXED) ||
	       (!minutes && shared->rounds[nr] >= rounds);
}

static void work(unsigned int nr, unsigned int life)
{
	static struct slot slots[SLOTS];
	struct worker w = {
		.nr	= nr,
		.seed	= base_seed + nr * 1000003 + life * 7919,
		.alone	= true,
		.slots	= slots,
	};
	int i;

	if (pipe2(w.pipe, O_NONBLOCK | O_CLOEXEC))
		_exit(1);
	for (i = 0; i < SLOTS; i++) {
		slots[i] = (struct slot){ .fd = -1, .pages = -1 };
		slots[i].places[0] = reserve(NULL);
		slots[i].places[1] = reserve(NULL);
	}
	while (!worker_done(nr)) {
		act_once(&w);
		count(shared->rounds[nr]);
	}
	_exit(0);
}

/* The parent starts the workers, kills them as they ask for it, and starts others. */

struct post {
	pid_t		pid;
	int		pidfd;
	unsigned int	life;
};

static void post_start(struct post *post, unsigned int nr)
{
	post->pid = fork_child();
	if (!post->pid)
		work(nr, post->life);
	if (post->pid < 0)
		ksft_exit_fail_msg("fork: %s\n", strerror(errno));
	post->pidfd = syscall(SYS_pidfd_open, post->pid, 0);
	if (post->pidfd < 0)
		ksft_exit_fail_msg("pidfd_open: %s\n", strerror(errno));
	post->life++;
}

/* Returns true if the worker ended as it should. */
static bool post_end(struct post *post, unsigned int nr)
{
	int status = 0;

	waitpid(post->pid, &status, 0);
	close(post->pidfd);
	post->pidfd = -1;
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return true;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
		if (!worker_done(nr))
			post_start(post, nr);
		return true;
	}
	ksft_print_msg("worker %u, life %u, round %u: status %#x\n", nr, post->life,
		       shared->rounds[nr], status);
	return false;
}

static bool run_workers(struct post *posts)
{
	time_t end = time(NULL) + 60 * minutes;
	struct pollfd pfd[WORKERS + 1];
	unsigned int i, alive;
	unsigned char victim;
	bool good = true;

	for (i = 0; i < WORKERS; i++) {
		posts[i].pidfd = -1;
		if (only < 0 || only == (int)i)
			post_start(&posts[i], i);
	}

	for (;;) {
		for (i = 0, alive = 0; i < WORKERS; i++) {
			pfd[i] = (struct pollfd){ .fd = posts[i].pidfd, .events = POLLIN };
			alive += posts[i].pidfd >= 0;
		}
		if (!alive)
			return good;
		pfd[WORKERS] = (struct pollfd){ .fd = request[0], .events = POLLIN };
		poll(pfd, ARRAY_SIZE(pfd), 1000);

		if (minutes && time(NULL) >= end)
			__atomic_store_n(&shared->stop, 1, __ATOMIC_RELAXED);
		for (i = 0; i < WORKERS; i++) {
			if (pfd[i].revents)
				good &= post_end(&posts[i], i);
		}
		while (read(request[0], &victim, 1) == 1) {
			int pidfd = posts[victim].pidfd;

			if (pidfd >= 0)
				syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
		}
	}
}

static __u64 find_tracepoint(void)
{
	static const char path[] = "/sys/kernel/tracing/events/sched/sched_switch/id";
	char text[32];

	if (access(path, R_OK))
		mount("tracefs", "/sys/kernel/tracing", "tracefs", 0, NULL);
	return read_file(path, text, sizeof(text)) > 0 ? strtoull(text, NULL, 0) : 0;
}

static void set_up(void)
{
	struct rlimit core = { 0, 0 };
	cpu_set_t set;
	int i;

	if (access(PMU_DIR "/persistent/type", R_OK))
		ksft_exit_skip("the kernel has no persistent perf events\n");
	if (!may_create())
		ksft_exit_skip("needs CAP_PERFMON\n");
	has_perffs = !mount_perffs();

	sched_getaffinity(0, sizeof(set), &set);
	for (i = 0; i < CPU_SETSIZE; i++) {
		if (CPU_ISSET(i, &set))
			cpus[nr_cpus++] = i;
	}
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED || pipe2(request, O_NONBLOCK | O_CLOEXEC) ||
	    socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, exchange))
		ksft_exit_fail_msg("set up: %s\n", strerror(errno));
	setrlimit(RLIMIT_CORE, &core);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	tracepoint = find_tracepoint();
	prog = bpf_prog_open(1);
	ksft_print_msg("%d CPUs, tracepoint %llu, BPF %s\n", nr_cpus, tracepoint,
		       prog < 0 ? strerror(-prog) : "yes");
}

static void parse(int argc, char **argv)
{
	int opt;

	base_seed = time(NULL) ^ getpid();
	while ((opt = getopt(argc, argv, "r:m:s:w:v")) != -1) {
		switch (opt) {
		case 'r':
			rounds = strtoul(optarg, NULL, 0);
			break;
		case 'm':
			minutes = strtoul(optarg, NULL, 0);
			break;
		case 's':
			base_seed = strtoul(optarg, NULL, 0);
			break;
		case 'w':
			only = strtoul(optarg, NULL, 0) % WORKERS;
			break;
		case 'v':
			verbose = true;
			break;
		default:
			exit(KSFT_FAIL);
		}
	}
}

static bool is_of_perffs(int (*func)(struct worker *w))
{
	return func == make_dir || func == remove_dir || func == write_fs || func == read_fs ||
	       func == poll_fs || func == mount_fs;
}

/* An act that never succeeds tests nothing. */
static bool acts_worked(void)
{
	bool good = true;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(acts); i++) {
		bool missing = (acts[i].func == filter && !tracepoint) ||
			       (acts[i].func == attach && prog < 0) ||
			       (is_of_perffs(acts[i].func) && !has_perffs);

		if (verbose || (!missing && !shared->done[i]))
			ksft_print_msg("%-18s %u of %u\n", acts[i].what, shared->done[i],
				       shared->tried[i]);
		if (!missing && shared->tried[i] > 100 && !shared->done[i])
			good = false;
	}
	return good;
}

static void all_online(void)
{
	int i;

	for (i = 0; i < nr_cpus; i++)
		set_online(cpus[i], true);
}

int main(int argc, char **argv)
{
	static struct post posts[WORKERS];
	struct balance before, after;
	unsigned int i, lives = 0;
	bool good, allowance, back;
	int fd, cpu;

	parse(argc, argv);
	ksft_print_header();
	set_up();
	ksft_set_plan(4);
	ksft_print_msg("seed %u\n", base_seed);
	fflush(stdout);

	allowance = balance_allowance(cpus[0]);
	balance_settle(&before);
	balance_print("before", &before);
	fflush(stdout);

	good = run_workers(posts);
	/* A child of a dead worker may be about to publish something before it dies. */
	while (waitpid(-1, NULL, 0) > 0)
		;
	for (i = 0; i < WORKERS; i++)
		lives += posts[i].life;
	ksft_print_msg("%u lives of %u workers\n", lives, WORKERS);
	ksft_test_result(good && !shared->wrong, "nothing but SIGKILL ends a worker\n");
	ksft_test_result(acts_worked(), "every act succeeds at times\n");

	all_online();
	while ((fd = take_fd(&cpu)) >= 0)
		close(fd);
	persist_sweep();
	back = balance_back(&before, &after);
	balance_print("after", &after);
	ksft_test_result(back, "namespaces, events, programs and pinned memory are back\n");

	/* Others may have buffers, with the same user. */
	if (allowance)
		ksft_test_result(balance_allowance(cpus[0]), "nothing is charged for buffers\n");
	else
		ksft_test_result_skip("others have buffers too\n");
	ksft_finished();
}
