// SPDX-License-Identifier: GPL-2.0
/*
 * Copies a live recorder while it is written to, as documented: read data_head, copy, ask
 * GET_MEMBER how far writers have reserved, and keep the records that end at or below that
 * position plus the size. H19
 *
 * A writer on each CPU makes system calls as fast as it can. Their arguments tell the number
 * of the call, and carry a checksum. A second event writes to the same buffer from
 * interrupts, which may hit while the first one writes. No record may be torn, invented or
 * missing between two others.
 *
 * TORN_READS in the environment says how often each buffer is read.
 */
#include "persistent.h"

#define READS		200
#define MAX_READS	1000000
#define MAX_CPUS	64
#define RING_PAGES	8
#define CLOCK_NS	200000	/* between two interrupts */

/* The arguments of a system call, which ignores them */
struct said {
	__u64	nr;
	__u64	cpu;
	__u64	mixed[3];
	__u64	sum;
};

/* The samples of the two events, without their headers */
struct call {
	__u64	id;
	__u32	pid, tid;
	__u32	raw_size;
	char	common[8];
	char	syscall[8];
	struct said said;
	__u32	padding;
} __attribute__((packed));

struct tick {
	__u64	id;
	__u32	pid, tid;
};

struct writer {
	pid_t	pid;
	int	cpu;
	struct member call, tick;
	__u64	call_id, tick_id;
};

/* Shared by the writers and the reader */
struct shared {
	int	stop;
	__u64	done[MAX_CPUS];		/* the last call that is complete */
};

struct figures {
	unsigned long	records, ticks, torn, gaps;
};

static __u64 mix(__u64 x)
{
	x ^= x >> 31;
	x *= 0x9e3779b97f4a7c15ULL;
	return x ^ x >> 29;
}

static struct said say_nr(__u64 nr, int cpu)
{
	struct said s = { .nr = nr, .cpu = cpu };
	int i;

	s.sum = mix(nr + cpu);
	for (i = 0; i < 3; i++) {
		s.mixed[i] = mix(nr + i + 1);
		s.sum = mix(s.sum ^ s.mixed[i]);
	}
	return s;
}

static void write_calls(struct shared *shared, int i, int cpu)
{
	__u64 nr = 0;

	pin(cpu);
	while (!__atomic_load_n(&shared->stop, __ATOMIC_RELAXED)) {
		struct said s = say_nr(++nr, cpu);

		syscall(SYS_getppid, s.nr, s.cpu, s.mixed[0], s.mixed[1], s.mixed[2], s.sum);
		__atomic_store_n(&shared->done[i], nr, __ATOMIC_RELEASE);
	}
	_exit(0);
}

FIXTURE(torn)
{
	char	ns[NS_ROOM];
	int	cpu, cpu2;
	unsigned int reads;
	int	nr_writers;
	struct writer writers[MAX_CPUS];
	struct shared *shared;
	char	*copy;
};

FIXTURE_SETUP(torn)
{
	const char *missing, *reads = getenv("TORN_READS");
	cpu_set_t set;
	int i;

	/* Use all CPUs: persist_begin() binds this process to the first. */
	ASSERT_EQ(0, sched_getaffinity(0, sizeof(set), &set));
	missing = persist_begin(self->ns, &self->cpu, &self->cpu2);
	if (missing)
		SKIP(return, "%s", missing);
	ASSERT_EQ(0, sched_setaffinity(0, sizeof(set), &set));
	self->reads = reads ? strtoul(reads, NULL, 0) : READS;
	ASSERT_NE(0, self->reads);

	self->copy = malloc(RING_PAGES * page_size());
	ASSERT_NE(NULL, self->copy);
	self->shared = mmap(NULL, sizeof(*self->shared), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->shared);
	for (i = 0; i < CPU_SETSIZE && self->nr_writers < MAX_CPUS; i++) {
		if (CPU_ISSET(i, &set))
			self->writers[self->nr_writers++].cpu = i;
	}
}

FIXTURE_TEARDOWN_PARENT(torn)
{
	persist_sweep();
}

static int filter_calls_of(int fd, pid_t pid)
{
	char filter[64];

	/* No records of others, so that each one must be right */
	snprintf(filter, sizeof(filter), "id == %d && common_pid == %d", SYS_getppid, pid);
	return neg_errno(ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter));
}

static struct perf_event_attr tick_attr(void)
{
	struct perf_event_attr attr = {
		.type		= PERF_TYPE_SOFTWARE,
		.size		= sizeof(attr),
		.config		= PERF_COUNT_SW_CPU_CLOCK,
		.sample_period	= CLOCK_NS,
		.sample_type	= PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID,
		.write_backward	= 1,
	};

	return attr;
}

/* Adds the two events of a CPU, which share a buffer, to the namespace. */
static int add_events(struct writer *w, struct perf_event_attr *attr, const char *ns, __u64 *id)
{
	struct perf_event_attr tick = tick_attr();
	int err;

	/* Enabled when the filter is set, or calls of others are recorded too. */
	attr->disabled = 1;
	err = member_open(&w->call, attr, w->cpu, RING_PAGES);
	if (!err)
		err = filter_calls_of(w->call.fd, w->pid);
	if (!err)
		err = event_ioctl(w->call.fd, PERF_EVENT_IOC_ENABLE, 0);
	if (!err)
		err = member_open(&w->tick, &tick, w->cpu, 0);
	if (!err)
		err = event_ioctl(w->tick.fd, PERF_EVENT_IOC_SET_OUTPUT, w->call.fd);
	if (!err)
		err = set_name(w->call.fd, "%s/calls-%d", ns, w->cpu);
	if (!err)
		err = set_name(w->tick.fd, "%s/ticks-%d", ns, w->cpu);
	if (!err)
		err = *id == PERF_PERSIST_NEW ? persist_new(w->call.fd, id) :
						persist_join(w->call.fd, *id);
	if (!err)
		err = persist_join(w->tick.fd, *id);
	w->call_id = event_id(w->call.fd);
	w->tick_id = event_id(w->tick.fd);
	return err;
}

/* Reads as anyone may: opened again, read-only. */
static int reopen(struct writer *w, __u64 id)
{
	member_close(&w->tick);
	member_close(&w->call);
	w->call.fd = member_reopen(id, w->call_id, -1, 0);
	if (w->call.fd < 0)
		return w->call.fd;
	w->call.map = ring_map(w->call.fd, RING_PAGES, PROT_READ);
	return w->call.map == MAP_FAILED ? -errno : 0;
}

static bool is_call(const struct writer *w, const struct call *call, __u64 *nr)
{
	struct said s, expected;

	memcpy(&s, &call->said, sizeof(s));
	expected = say_nr(s.nr, w->cpu);
	*nr = s.nr;
	return call->id == w->call_id && call->pid == w->pid && call->tid == w->pid &&
	       call->raw_size == sizeof(*call) - offsetof(struct call, common) &&
	       !memcmp(&s, &expected, sizeof(s));
}

/* On a slow machine the clock is throttled, which makes records of its own. */
static bool is_throttle(const struct perf_event_header *hdr)
{
	return (hdr->type == PERF_RECORD_THROTTLE || hdr->type == PERF_RECORD_UNTHROTTLE) &&
	       hdr->size == sizeof(*hdr) + 3 * sizeof(__u64);
}

static void copy_ring(char *to, const char *data, __u64 size, __u64 pos, __u64 len)
{
	__u64 start = pos & (size - 1), first = len < size - start ? len : size - start;

	memcpy(to, data + start, first);
	memcpy(to + first, data, len - first);
}

/* Checks what one read of a buffer gives, newest record first. */
static void check_read(struct __test_metadata *_metadata, const struct writer *w, char *copy,
		       const __u64 *done, struct figures *f)
{
	const struct perf_event_mmap_page *page = w->call.map;
	__u64 size = page->data_size, head, before, len, overwritten, pos, nr, last = 0;
	struct perf_event_persist_member p;

	before = __atomic_load_n(done, __ATOMIC_ACQUIRE);
	head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	len = -head < size ? -head : size;
	copy_ring(copy, w->call.map + page->data_offset, size, head, len);
	ASSERT_EQ(0, get_member(w->call.fd, &p));
	overwritten = head - p.head;
	if (overwritten >= size)
		return;
	if (len > size - overwritten)
		len = size - overwritten;

	for (pos = 0; pos + sizeof(struct perf_event_header) <= len; ) {
		const struct perf_event_header *hdr = (void *)(copy + pos);
		const void *body = hdr + 1;
		bool call = hdr->size == sizeof(*hdr) + sizeof(struct call);
		bool tick = hdr->size == sizeof(*hdr) + sizeof(struct tick);

		/* From here on, nobody knows where records start. */
		if (hdr->type == PERF_RECORD_SAMPLE ? !call && !tick : !is_throttle(hdr)) {
			f->torn++;
			return;
		}
		if (pos + hdr->size > len)
			return;
		pos += hdr->size;

		if (hdr->type != PERF_RECORD_SAMPLE)
			continue;
		if (tick) {
			f->ticks++;
			f->torn += ((const struct tick *)body)->id != w->tick_id;
			continue;
		}

		f->records++;
		if (!is_call(w, body, &nr)) {
			f->torn++;
			continue;
		}
		/* The newest record is no older than the last call that was complete before. */
		if (last ? nr + 1 != last : nr < before)
			f->gaps++;
		last = nr;
	}
}

/* Whole records, and all of them, are in a copy of a live buffer. */
TEST_F_TIMEOUT(torn, live, 7200)
{
	struct figures f = { .records = 0 };
	struct perf_event_attr attr;
	__u64 id = PERF_PERSIST_NEW;
	unsigned int n;
	pid_t pid;
	int i;

	if (sizeof(long) != sizeof(__u64))
		SKIP(return, "arguments of system calls have 32 bits");
	if (!syscall_attr(&attr))
		SKIP(return, "no tracepoints of system calls");

	for (i = 0; i < self->nr_writers; i++) {
		struct writer *w = &self->writers[i];

		/* Not w->pid: parent and child share @self. */
		pid = fork_child();
		ASSERT_LE(0, pid);
		if (!pid)
			write_calls(self->shared, i, w->cpu);
		w->pid = pid;
		/* fork_child() calls getppid() as well, with stray arguments. */
		while (!__atomic_load_n(&self->shared->done[i], __ATOMIC_ACQUIRE))
			sched_yield();
		ASSERT_EQ(0, add_events(w, &attr, self->ns, &id)) TH_LOG("CPU %d", w->cpu);
	}
	for (i = 0; i < self->nr_writers; i++)
		ASSERT_EQ(0, reopen(&self->writers[i], id));

	/* Go on until there are records of both kinds: the writers need CPUs too. */
	for (n = 0; n < self->reads || ((!f.records || !f.ticks) && n < MAX_READS); n++) {
		sched_yield();
		for (i = 0; i < self->nr_writers; i++)
			check_read(_metadata, &self->writers[i], self->copy,
				   &self->shared->done[i], &f);
	}

	self->shared->stop = 1;
	for (i = 0; i < self->nr_writers; i++)
		EXPECT_EQ(0, child_status(self->writers[i].pid));

	ksft_print_msg("torn: %u reads of %d CPUs, %lu records and %lu of interrupts checked, %lu torn, %lu gaps\n",
		       n, self->nr_writers, f.records, f.ticks, f.torn, f.gaps);
	EXPECT_LT(0, f.records);
	EXPECT_LT(0, f.ticks);
	EXPECT_EQ(0, f.torn);
	EXPECT_EQ(0, f.gaps);
}

TEST_HARNESS_MAIN
