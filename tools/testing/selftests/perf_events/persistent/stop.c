// SPDX-License-Identifier: GPL-2.0
/*
 * Ioctls for a whole namespace: STOP freezes its buffers, RESUME lets them go on, and
 * SET_NOTE attaches a text.
 */
#include "persistent.h"
#include "../busy.h"

#define ROUNDS	100

FIXTURE(stop)
{
	char	ns[NS_ROOM];
	char	snap[NS_ROOM + 8];
	int	cpu, cpu2;
	__u64	id;
	struct member m;
	int	fd, reader;
};

FIXTURE_SETUP(stop)
{
	struct perf_event_attr attr = say_attr();
	const char *missing;

	missing = persist_begin(self->ns, &self->cpu, &self->cpu2);
	if (missing)
		SKIP(return, "%s", missing);
	attr.read_format = PERF_FORMAT_LOST;
	ASSERT_EQ(0, ns_create(&self->m, &attr, self->cpu, PAGES, self->ns, &self->id));
	self->fd = ns_open(self->id, PERF_PERSIST_OPEN_WRITE);
	ASSERT_LE(0, self->fd);
	self->reader = ns_open(self->id, 0);
	ASSERT_LE(0, self->reader);
	snprintf(self->snap, sizeof(self->snap), "%s.1", self->ns);
}

FIXTURE_TEARDOWN_PARENT(stop)
{
	persist_sweep();
}

static __u64 snapshot(int ns_fd)
{
	__u64 id;

	return ns_snapshot(ns_fd, &id) ? 0 : id;
}

/* Returns the flags of the namespace, and stores those of its first member. */
static __u32 flags_of(int ns_fd, __u32 *member)
{
	struct perf_event_persist_member p = {};
	struct perf_event_persist info;

	*member = next_member(ns_fd, &p) ? ~0U : p.flags;
	return get_persist(ns_fd, &info) ? ~0U : info.flags;
}

#define EXPECT_STOPPED(_expected)							\
	do {										\
		__u32 _flags = (_expected) ? PERF_PERSIST_STOPPED : 0;			\
		__u32 _member, _ns = flags_of(self->fd, &_member);			\
											\
		EXPECT_EQ(_flags, _ns);							\
		EXPECT_EQ(_flags, _member);						\
	} while (0)

static int pause_output(int fd, int pause)
{
	return event_ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, pause);
}

/* Whether the namespace is stopped and whether the member is paused are separate flags. */
#define EXPECT_FLAGS(_expected)								\
	do {										\
		__u32 _member, _ns = flags_of(self->fd, &_member);			\
		__u32 _flags = (_expected);						\
											\
		EXPECT_EQ(_flags & PERF_PERSIST_STOPPED, _ns);				\
		EXPECT_EQ(_flags, _member);						\
	} while (0)

/* PAUSE_OUTPUT does not end a stop, and RESUME does not end a pause. */
TEST_F(stop, pause)
{
	ASSERT_EQ(0, pause_output(self->m.fd, 1));
	EXPECT_FLAGS(PERF_PERSIST_PAUSED);
	ASSERT_EQ(0, ns_stop(self->fd));
	EXPECT_FLAGS(PERF_PERSIST_STOPPED | PERF_PERSIST_PAUSED);
	say("stopped");
	ASSERT_EQ(0, ns_resume(self->fd));
	EXPECT_FLAGS(PERF_PERSIST_PAUSED);
	say("paused");
	EXPECT_EQ(0, heard_in(self->id, 0, self->cpu, "stopped"));
	EXPECT_EQ(0, heard_in(self->id, 0, self->cpu, "paused"));
	ASSERT_EQ(0, pause_output(self->m.fd, 0));
	EXPECT_STOPPED(false);
	say("again");
	EXPECT_EQ(1, heard_in(self->id, 0, self->cpu, "again"));
}

/* PAUSE_OUTPUT that began before the event was published does not end a stop. H30e */
TEST_F(stop, pause_race)
{
	struct perf_event_attr attr = say_attr();
	struct member m;
	unsigned int *calls, before;
	char name[NS_ROOM + 8];
	int round, fd;
	pid_t pid;
	__u64 id;

	if (self->cpu2 < 0)
		SKIP(return, "one CPU");
	calls = mmap(NULL, page_size(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, calls);
	snprintf(name, sizeof(name), "%s-p", self->ns);
	for (round = 0; round < 50; round++) {
		ASSERT_EQ(0, member_open(&m, &attr, self->cpu, PAGES));
		*calls = 0;
		pid = fork_child();
		ASSERT_LE(0, pid);
		if (!pid) {
			for (pin(self->cpu2); ; __atomic_add_fetch(calls, 1, __ATOMIC_RELEASE))
				pause_output(m.fd, 0);
		}
		while (!__atomic_load_n(calls, __ATOMIC_ACQUIRE))
			sched_yield();
		ASSERT_EQ(0, set_name_str(m.fd, name));
		ASSERT_EQ(0, persist_new(m.fd, &id));
		fd = ns_open(id, PERF_PERSIST_OPEN_WRITE);
		ASSERT_LE(0, fd);
		ASSERT_EQ(0, ns_stop(fd));
		/* The call that runs now ends, and so does another one. */
		before = __atomic_load_n(calls, __ATOMIC_ACQUIRE);
		while (__atomic_load_n(calls, __ATOMIC_ACQUIRE) - before < 2)
			sched_yield();
		say("stopped");
		ASSERT_EQ(0, heard_in(id, 0, self->cpu, "stopped")) TH_LOG("round %d", round);
		kill(pid, SIGKILL);
		child_status(pid);
		close(fd);
		ASSERT_EQ(0, ns_kill(id));
		member_close(&m);
	}
}

/* In a stopped namespace, PAUSE_OUTPUT takes effect after the stop. */
TEST_F(stop, pause_meanwhile)
{
	ASSERT_EQ(0, ns_stop(self->fd));
	EXPECT_EQ(0, pause_output(self->m.fd, 1));
	EXPECT_FLAGS(PERF_PERSIST_STOPPED | PERF_PERSIST_PAUSED);
	ASSERT_EQ(0, ns_resume(self->fd));
	EXPECT_FLAGS(PERF_PERSIST_PAUSED);
	say("paused");
	EXPECT_EQ(0, heard_in(self->id, 0, self->cpu, "paused"));

	ASSERT_EQ(0, ns_stop(self->fd));
	EXPECT_EQ(-EBUSY, pause_output(self->m.fd, 0));
	EXPECT_STOPPED(true);
	say("stopped");
	EXPECT_EQ(0, heard_in(self->id, 0, self->cpu, "stopped"));
	ASSERT_EQ(0, ns_resume(self->fd));
	EXPECT_STOPPED(false);
	say("again");
	EXPECT_EQ(1, heard_in(self->id, 0, self->cpu, "again"));
}

/* After a snapshot, the new buffer is paused if the old one was, stopped or not. */
TEST_F(stop, pause_snapshot)
{
	ASSERT_EQ(0, pause_output(self->m.fd, 1));
	ASSERT_NE(0, snapshot(self->fd));
	EXPECT_FLAGS(PERF_PERSIST_PAUSED);
	ASSERT_EQ(0, ns_stop(self->fd));
	ASSERT_NE(0, snapshot(self->fd));
	EXPECT_FLAGS(PERF_PERSIST_STOPPED | PERF_PERSIST_PAUSED);
	ASSERT_EQ(0, ns_resume(self->fd));
	EXPECT_FLAGS(PERF_PERSIST_PAUSED);
	say("paused");
	EXPECT_EQ(0, heard_in(self->id, 0, self->cpu, "paused"));

	ASSERT_EQ(0, pause_output(self->m.fd, 0));
	ASSERT_EQ(0, ns_stop(self->fd));
	ASSERT_NE(0, snapshot(self->fd));
	ASSERT_EQ(0, ns_resume(self->fd));
	EXPECT_STOPPED(false);
	say("again");
	EXPECT_EQ(1, heard_in(self->id, 0, self->cpu, "again"));
}

/* An event that leaves a stopped namespace is paused only if it was on its own. */
TEST_F(stop, pause_claim)
{
	struct perf_event_attr attr = say_attr();
	struct member other;
	int paused;

	for (paused = 0; paused <= 1; paused++) {
		ASSERT_EQ(0, member_open(&other, &attr, self->cpu, PAGES));
		ASSERT_EQ(0, pause_output(other.fd, paused));
		ASSERT_EQ(0, ns_join(self->fd, other.fd));
		ASSERT_EQ(0, ns_stop(self->fd));
		ASSERT_EQ(0, persist_claim(other.fd));
		say("claimed");
		EXPECT_EQ(!paused, heard(-1, other.map, "claimed"));
		ASSERT_EQ(0, ns_resume(self->fd));
		member_close(&other);
	}
}

/* An event that is claimed from a stopped namespace records again. */
TEST_F(stop, claim)
{
	struct perf_event_attr attr = say_attr();
	struct member other;

	ASSERT_EQ(0, member_open(&other, &attr, self->cpu, PAGES));
	ASSERT_EQ(0, ns_join(self->fd, other.fd));
	ASSERT_EQ(0, ns_stop(self->fd));
	say("stopped");
	ASSERT_EQ(0, persist_claim(other.fd));
	EXPECT_STOPPED(true);
	say("claimed");
	EXPECT_EQ(0, heard(-1, other.map, "stopped"));
	EXPECT_EQ(1, heard(-1, other.map, "claimed"));
	EXPECT_EQ(0, heard(-1, self->m.map, "claimed"));
	member_close(&other);
}

/* After STOP no record is written, after RESUME all are. Those in between are missed. */
TEST_F(stop, exact)
{
	struct perf_event_persist_member p;
	__u64 missed;
	__s64 head;
	int i;

	EXPECT_STOPPED(false);
	say("before");
	ASSERT_EQ(0, ns_stop(self->fd));
	EXPECT_STOPPED(true);
	ASSERT_EQ(0, get_member(self->m.fd, &p));
	head = p.head;
	for (i = 1; i <= 5; i++) {
		say("stopped");
		ASSERT_EQ(0, get_member(self->m.fd, &p));
		EXPECT_EQ(head, p.head);
		EXPECT_LE(i, p.missed);
		EXPECT_EQ(0, p.lost);
	}
	EXPECT_EQ(1, heard_in(self->id, 0, self->cpu, "before"));
	EXPECT_EQ(0, heard_in(self->id, 0, self->cpu, "stopped"));
	EXPECT_EQ(0, heard(-1, self->m.map, "stopped"));

	ASSERT_EQ(0, ns_resume(self->fd));
	EXPECT_STOPPED(false);
	say("again");
	EXPECT_EQ(1, heard_in(self->id, 0, self->cpu, "before"));
	EXPECT_EQ(0, heard_in(self->id, 0, self->cpu, "stopped"));
	EXPECT_EQ(1, heard_in(self->id, 0, self->cpu, "again"));
	ASSERT_EQ(0, get_member(self->m.fd, &p));
	EXPECT_NE(head, p.head);
	missed = p.missed;
	EXPECT_LE(5, missed);
	EXPECT_EQ(0, p.lost);
	say("again");
	ASSERT_EQ(0, get_member(self->m.fd, &p));
	EXPECT_EQ(missed, p.missed);

	ASSERT_EQ(0, ns_stop(self->fd));
	say("stopped");
	ASSERT_EQ(0, get_member(self->m.fd, &p));
	EXPECT_LT(missed, p.missed);
	EXPECT_EQ(0, heard_in(self->id, 0, self->cpu, "stopped"));
}

/* A record that was not written because of a stop is missed, and not lost. */
TEST_F(stop, missed)
{
	struct perf_event_persist_member p;
	struct perf_event_attr attr;
	struct {
		__u64	count, lost;
	} value;
	char filter[64];
	struct member m;
	int i;

	if (!syscall_attr(&attr))
		SKIP(return, "no tracepoints");
	attr.read_format = PERF_FORMAT_LOST;
	attr.disabled = 1;
	ASSERT_EQ(0, member_open(&m, &attr, self->cpu, PAGES));
	snprintf(filter, sizeof(filter), "id == %d && common_pid == %d", (int)SYS_getppid,
		 getpid());
	ASSERT_EQ(0, neg_errno(ioctl(m.fd, PERF_EVENT_IOC_SET_FILTER, filter)));
	ASSERT_EQ(0, persist_join(m.fd, self->id));
	ASSERT_EQ(0, event_ioctl(m.fd, PERF_EVENT_IOC_ENABLE, 0));
	for (i = 0; i < 3; i++) {
		call_getppid(2);
		ASSERT_EQ(0, get_member(m.fd, &p));
		EXPECT_EQ(5 * i, p.missed);
		ASSERT_EQ(0, ns_stop(self->fd));
		call_getppid(5);
		ASSERT_EQ(0, get_member(m.fd, &p));
		EXPECT_EQ(5 * (i + 1), p.missed);
		EXPECT_EQ(0, p.lost);
		ASSERT_EQ(0, ns_resume(self->fd));
		ASSERT_EQ(0, get_member(m.fd, &p));
		EXPECT_EQ(5 * (i + 1), p.missed);
		EXPECT_EQ(0, p.lost);
	}
	EXPECT_EQ(6, sampled(m.fd, m.map));
	/* read() counts all records that are not there. */
	ASSERT_EQ(sizeof(value), read(m.fd, &value, sizeof(value)));
	EXPECT_EQ(15, value.lost);
}

/* Stopping or resuming twice is the same as once. */
TEST_F(stop, twice)
{
	struct perf_event_persist_member p;

	ASSERT_EQ(0, ns_resume(self->fd));
	EXPECT_STOPPED(false);
	say("taken");
	ASSERT_EQ(0, ns_stop(self->fd));
	say("missed");
	ASSERT_EQ(0, ns_stop(self->fd));
	say("missed");
	EXPECT_STOPPED(true);
	ASSERT_EQ(0, ns_resume(self->fd));
	ASSERT_EQ(0, ns_resume(self->fd));
	EXPECT_STOPPED(false);
	say("taken");
	ASSERT_EQ(0, get_member(self->m.fd, &p));
	EXPECT_LE(2, p.missed);
	EXPECT_EQ(2, heard(self->m.fd, self->m.map, "taken"));
	EXPECT_EQ(0, heard(self->m.fd, self->m.map, "missed"));
}

/* poll() reports that the namespace stops, and that it goes on. */
TEST_F(stop, poll)
{
	struct perf_event_persist info;

	ASSERT_EQ(0, get_persist(self->reader, &info));
	EXPECT_EQ(0, poll_now(self->reader));
	ASSERT_EQ(0, ns_stop(self->fd));
	EXPECT_EQ(POLLPRI, poll_now(self->reader));
	ASSERT_EQ(0, get_persist(self->reader, &info));
	EXPECT_EQ(0, poll_now(self->reader));
	ASSERT_EQ(0, ns_resume(self->fd));
	EXPECT_EQ(POLLPRI, poll_now(self->reader));
}

/* Enabling does not end a stop, and RESUME does not enable. */
TEST_F(stop, enable)
{
	struct perf_event_persist_member p;

	ASSERT_EQ(0, ns_stop(self->fd));
	ASSERT_EQ(0, event_ioctl(self->fd, PERF_EVENT_IOC_ENABLE, 0));
	EXPECT_STOPPED(true);
	say("enabled");
	ASSERT_EQ(0, event_ioctl(self->m.fd, PERF_EVENT_IOC_ENABLE, 0));
	say("enabled");
	EXPECT_EQ(0, heard(self->m.fd, self->m.map, "enabled"));
	EXPECT_STOPPED(true);

	ASSERT_EQ(0, event_ioctl(self->fd, PERF_EVENT_IOC_DISABLE, 0));
	ASSERT_EQ(0, get_member(self->m.fd, &p));
	EXPECT_EQ(PERF_PERSIST_STOPPED | PERF_PERSIST_DISABLED, p.flags);
	ASSERT_EQ(0, ns_resume(self->fd));
	ASSERT_EQ(0, get_member(self->m.fd, &p));
	EXPECT_EQ(PERF_PERSIST_DISABLED, p.flags);
	say("disabled");
	EXPECT_EQ(0, heard(self->m.fd, self->m.map, "disabled"));
	ASSERT_EQ(0, event_ioctl(self->fd, PERF_EVENT_IOC_ENABLE, 0));
	say("both");
	EXPECT_EQ(1, heard(self->m.fd, self->m.map, "both"));
}

/* A snapshot by hand has the frozen records, and the new buffers are stopped too. */
TEST_F(stop, snapshot)
{
	struct perf_event_persist_member p;
	struct perf_event_persist info;
	__u64 snap;
	int fd;

	say("before");
	ASSERT_EQ(0, ns_stop(self->fd));
	say("missed");
	snap = snapshot(self->fd);
	ASSERT_NE(0, snap);
	say("missed");
	EXPECT_STOPPED(true);
	EXPECT_EQ(1, heard_in(snap, 0, self->cpu, "before"));
	EXPECT_EQ(0, heard_in(snap, 0, self->cpu, "missed"));
	EXPECT_EQ(0, heard_in(self->id, 0, self->cpu, "before"));
	EXPECT_EQ(0, heard_in(self->id, 0, self->cpu, "missed"));
	ASSERT_EQ(0, get_member(self->m.fd, &p));
	EXPECT_LE(2, p.missed);
	EXPECT_EQ(0, p.lost);

	/* So are the new buffers after CLEAR. */
	ASSERT_EQ(0, event_ioctl(self->fd, PERF_EVENT_IOC_CLEAR, 0));
	say("missed");
	EXPECT_STOPPED(true);
	EXPECT_EQ(0, heard_in(self->id, 0, self->cpu, "missed"));

	/* The snapshot is not stopped: nothing is ever written to it. */
	fd = member_reopen(snap, 0, self->cpu, 0);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, get_persist(fd, &info));
	EXPECT_EQ(PERF_PERSIST_SNAPSHOT, info.flags);
	ASSERT_EQ(0, get_member(fd, &p));
	EXPECT_EQ(0, p.flags);

	ASSERT_EQ(0, ns_resume(self->fd));
	EXPECT_STOPPED(false);
	say("again");
	EXPECT_EQ(1, heard_in(self->id, 0, self->cpu, "again"));
	ASSERT_EQ(0, get_member(self->m.fd, &p));
	EXPECT_LE(3, p.missed);
	EXPECT_EQ(0, p.lost);
}

/* Members that join a stopped namespace are stopped, and go on with the others. */
TEST_F(stop, join)
{
	struct perf_event_attr attr = say_attr();
	struct perf_event_persist_member p;
	struct member m;

	ASSERT_EQ(0, ns_stop(self->fd));
	ASSERT_EQ(0, member_open(&m, &attr, self->cpu, PAGES));
	say("own");
	EXPECT_EQ(1, heard(m.fd, m.map, "own"));
	ASSERT_EQ(0, persist_join(m.fd, self->id));
	ASSERT_EQ(0, get_member(m.fd, &p));
	EXPECT_EQ(PERF_PERSIST_STOPPED, p.flags);
	say("missed");
	EXPECT_EQ(0, heard(m.fd, m.map, "missed"));
	ASSERT_EQ(0, ns_resume(self->fd));
	ASSERT_EQ(0, get_member(m.fd, &p));
	EXPECT_EQ(0, p.flags);
	say("again");
	EXPECT_EQ(1, heard(m.fd, m.map, "again"));
	EXPECT_EQ(1, heard(self->m.fd, self->m.map, "again"));
}

/* An event that writes to the buffer of another is stopped with it. */
TEST_F(stop, redirected)
{
	struct perf_event_attr attr = fault_attr(1);
	int fd, before;

	attr.disabled = 1;
	fd = event_open(&attr, -1, self->cpu, -1, PERF_FLAG_FD_CLOEXEC);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, event_ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, self->m.fd));
	ASSERT_EQ(0, persist_join(fd, self->id));
	ASSERT_EQ(0, event_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0));
	touch_pages(4);
	ASSERT_EQ(0, ns_stop(self->fd));
	before = sampled(fd, self->m.map);
	EXPECT_LE(4, before);
	touch_pages(4);
	EXPECT_EQ(before, sampled(fd, self->m.map));
	ASSERT_EQ(0, ns_resume(self->fd));
	touch_pages(4);
	EXPECT_LE(before + 4, sampled(fd, self->m.map));
}

/* While all CPUs record, no record is written after a stop has returned. */
TEST_F(stop, all_cpus)
{
	struct perf_event_persist_member p = {};
	struct perf_event_attr attr;
	__s64 heads[2][64];
	int cpus[64], fds[64];
	char name[NS_ROOM + 8];
	int nr = 0, i, round, fd;
	__u64 id = 0, moved = 0;
	pid_t pids[64];
	struct member m;
	cpu_set_t set;

	if (!syscall_attr(&attr))
		SKIP(return, "no tracepoints");
	CPU_ZERO(&set);
	for (i = 0; i < 64; i++)
		CPU_SET(i, &set);
	ASSERT_EQ(0, sched_setaffinity(0, sizeof(set), &set));
	ASSERT_EQ(0, sched_getaffinity(0, sizeof(set), &set));
	snprintf(name, sizeof(name), "%s-all", self->ns);
	for (i = 0; i < 64; i++) {
		if (!CPU_ISSET(i, &set))
			continue;
		ASSERT_EQ(0, member_open(&m, &attr, i, PAGES));
		ASSERT_EQ(0, nr ? persist_join(m.fd, id) : persist_new(m.fd, &id));
		fds[nr] = m.fd;
		cpus[nr++] = i;
	}
	ASSERT_EQ(0, set_name_str(m.fd, name));
	fd = ns_open(id, PERF_PERSIST_OPEN_WRITE);
	ASSERT_LE(0, fd);
	for (i = 0; i < nr; i++) {
		pids[i] = fork_child();
		ASSERT_LE(0, pids[i]);
		if (!pids[i]) {
			pin(cpus[i]);
			for (;;)
				call_getppid(100);
		}
	}
	heads[0][0] = 0;
	for (round = 0; round < ROUNDS; round++) {
		/* Wait until each CPU has written since the last round. */
		for (i = 0; i < nr; i++) {
			do {
				ASSERT_EQ(0, get_member(fds[i], &p));
			} while (round && (__s64)p.head == heads[0][i]);
		}
		ASSERT_EQ(0, ns_stop(fd));
		for (i = 0; i < nr; i++) {
			ASSERT_EQ(0, get_member(fds[i], &p));
			moved += round && (__s64)p.head != heads[0][i];
			heads[0][i] = p.head;
		}
		/* Wait until each CPU has tried to write since then. */
		for (i = 0; i < nr; i++) {
			__u64 missed;

			ASSERT_EQ(0, get_member(fds[i], &p));
			missed = p.missed;
			do {
				ASSERT_EQ(0, get_member(fds[i], &p));
			} while (p.missed == missed);
			heads[1][i] = p.head;
			EXPECT_EQ(heads[0][i], heads[1][i])
				TH_LOG("round %d, CPU %d", round, cpus[i]);
		}
		ASSERT_EQ(0, ns_resume(fd));
	}
	EXPECT_EQ((__u64)nr * (ROUNDS - 1), moved);
	for (i = 0; i < nr; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	ASSERT_EQ(0, ns_delete(fd));
}

/* STOP and RESUME require write access and no argument, and refuse other objects. */
TEST_F(stop, refused)
{
	int unbound, snap;
	unsigned int i;
	static const unsigned long cmds[] = { PERF_EVENT_IOC_STOP, PERF_EVENT_IOC_RESUME };

	unbound = ns_open(PERF_PERSIST_NEW, PERF_PERSIST_OPEN_WRITE);
	ASSERT_LE(0, unbound);
	snap = ns_open(snapshot(self->fd), PERF_PERSIST_OPEN_WRITE);
	ASSERT_LE(0, snap);
	for (i = 0; i < ARRAY_SIZE(cmds); i++) {
		EXPECT_EQ(-EACCES, event_ioctl(self->reader, cmds[i], 0));
		EXPECT_EQ(-EINVAL, event_ioctl(self->fd, cmds[i], 1));
		EXPECT_EQ(-EINVAL, event_ioctl(self->fd, cmds[i], (unsigned long)self));
		EXPECT_EQ(-EINVAL, event_ioctl(unbound, cmds[i], 0));
		EXPECT_EQ(-EOPNOTSUPP, event_ioctl(snap, cmds[i], 0));
		EXPECT_EQ(-ENOTTY, event_ioctl(self->m.fd, cmds[i], 0));
	}
	EXPECT_STOPPED(false);
	ASSERT_EQ(0, ns_stop(self->fd));
	EXPECT_EQ(-EACCES, ns_resume(self->reader));
	EXPECT_EQ(-EINVAL, event_ioctl(self->fd, PERF_EVENT_IOC_RESUME, 1));
	EXPECT_STOPPED(true);

	ASSERT_EQ(0, ns_delete(self->fd));
	for (i = 0; i < ARRAY_SIZE(cmds); i++)
		EXPECT_EQ(-ENODEV, event_ioctl(self->fd, cmds[i], 0));
}

static int note_is(int fd, const char *text)
{
	struct perf_event_persist info;
	int err = get_persist(fd, &info);

	return err ? err : !strcmp(info.note, text);
}

/* A namespace and its snapshots each have a note of their own. */
TEST_F(stop, note)
{
	struct perf_event_persist info;
	int snap;
	size_t i;

	EXPECT_EQ(1, note_is(self->reader, ""));
	ASSERT_EQ(0, get_persist(self->reader, &info));
	EXPECT_EQ(0, poll_now(self->reader));
	ASSERT_EQ(0, ns_note(self->fd, "recorder of \xc3\xa9v\xc3\xa9nements, /1/"));
	EXPECT_EQ(POLLPRI, poll_now(self->reader));
	EXPECT_EQ(1, note_is(self->reader, "recorder of \xc3\xa9v\xc3\xa9nements, /1/"));
	EXPECT_EQ(1, note_is(self->m.fd, "recorder of \xc3\xa9v\xc3\xa9nements, /1/"));

	snap = ns_open(snapshot(self->fd), PERF_PERSIST_OPEN_WRITE);
	ASSERT_LE(0, snap);
	EXPECT_EQ(1, note_is(snap, ""));
	ASSERT_EQ(0, ns_note(snap, "disk full"));
	EXPECT_EQ(1, note_is(snap, "disk full"));
	EXPECT_EQ(1, note_is(self->fd, "recorder of \xc3\xa9v\xc3\xa9nements, /1/"));

	/* A new note replaces the old one, and leaves nothing of a longer one behind. */
	ASSERT_EQ(0, ns_note(self->fd, "short"));
	ASSERT_EQ(0, get_persist(self->fd, &info));
	EXPECT_STREQ("short", info.note);
	for (i = strlen("short"); i < sizeof(info.note); i++)
		EXPECT_EQ(0, info.note[i]);
	ASSERT_EQ(0, ns_note(self->fd, ""));
	EXPECT_EQ(1, note_is(self->fd, ""));
	EXPECT_EQ(1, note_is(snap, "disk full"));
	ASSERT_EQ(0, ns_note(snap, ""));
	EXPECT_EQ(1, note_is(snap, ""));
}

/* A bad note is refused, and so are readers, events and deleted namespaces. */
TEST_F(stop, note_refused)
{
	struct perf_event_persist gone;
	char text[4096], *page;
	int c, unbound, snap;

	ASSERT_EQ(0, ns_note(self->fd, "first"));
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	EXPECT_EQ(-EINVAL, ns_note(self->fd, text));
	text[PERF_PERSIST_NAME_SIZE] = '\0';
	EXPECT_EQ(-EINVAL, ns_note(self->fd, text));
	for (c = 1; c < ' '; c++) {
		snprintf(text, sizeof(text), "a%cb", c);
		EXPECT_EQ(-EINVAL, ns_note(self->fd, text))
			TH_LOG("0x%02x", c);
		snprintf(text, sizeof(text), "%c", c);
		EXPECT_EQ(-EINVAL, ns_note(self->fd, text))
			TH_LOG("0x%02x alone", c);
	}
	EXPECT_EQ(-EINVAL, ns_note(self->fd, "\x7f"));
	EXPECT_EQ(-EFAULT, ns_note(self->fd, NULL));
	EXPECT_EQ(-EFAULT, ns_note(self->fd, (char *)-8L));
	unbound = ns_open(PERF_PERSIST_NEW, PERF_PERSIST_OPEN_WRITE);
	ASSERT_LE(0, unbound);
	EXPECT_EQ(-EINVAL, ns_note(unbound, "x"));
	EXPECT_EQ(-EACCES, ns_note(self->reader, "x"));
	EXPECT_EQ(-ENOTTY, ns_note(self->m.fd, "x"));
	EXPECT_EQ(1, note_is(self->fd, "first"));

	/* The longest note, which ends where the memory does */
	page = mmap(NULL, 2 * page_size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		    -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)page);
	ASSERT_EQ(0, munmap(page + page_size(), page_size()));
	memset(page, 'y', page_size());
	EXPECT_EQ(-EFAULT, ns_note(self->fd, page + page_size() - 8));
	page[page_size() - 1] = '\0';
	ASSERT_EQ(0, ns_note(self->fd, page + page_size() - PERF_PERSIST_NAME_SIZE));
	EXPECT_EQ(1, note_is(self->fd, page + page_size() - PERF_PERSIST_NAME_SIZE));

	snap = ns_open(snapshot(self->fd), PERF_PERSIST_OPEN_WRITE);
	ASSERT_LE(0, snap);
	EXPECT_EQ(-EACCES, ns_note(ns_open(ns_lookup(self->snap), 0), "x"));
	ASSERT_EQ(0, ns_delete(snap));
	EXPECT_EQ(-ENODEV, ns_note(snap, "x"));
	ASSERT_EQ(0, ns_delete(self->fd));
	/* Whether the caller may see it cannot be told without the members. */
	ASSERT_EQ(0, get_persist(self->m.fd, &gone));
	EXPECT_STREQ("", gone.note);
	EXPECT_EQ(-ENODEV, ns_note(self->fd, "x"));
	EXPECT_EQ(-ENODEV, ns_note(self->fd, ""));
}

/*
 * A tracepoint that is hit all the time on all CPUs. When a call that ends recording
 * returns, records in progress are written, and no others come.
 */
FIXTURE(busy)
{
	char	ns[NS_ROOM];
	__u64	id;
	struct perf_event_attr attr;
	struct busy	busy;
	struct member	m[BUSY_CPUS];
	int	fd;
};

FIXTURE_VARIANT(busy)
{
	__u64	sample_type;
	bool	filter;
};

/* The formats of perf record and of perf record -P, another one, and one with a filter */
FIXTURE_VARIANT_ADD(busy, usual)
{
	.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
		       PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_RAW,
};

FIXTURE_VARIANT_ADD(busy, narrow)
{
	.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
		       PERF_SAMPLE_TIME | PERF_SAMPLE_RAW,
};

FIXTURE_VARIANT_ADD(busy, other)
{
	.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_RAW,
};

FIXTURE_VARIANT_ADD(busy, filter)
{
	.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_RAW,
	.filter = true,
};

/* Makes one namespace with a member for each CPU. */
static int busy_create(FIXTURE_DATA(busy) *self, bool filter)
{
	int i, err = 0;

	for (i = 0; i < self->busy.nr && !err; i++) {
		err = member_open(&self->m[i], &self->attr, self->busy.cpus[i], PAGES);
		if (!err && filter)
			err = filter_syscall(self->m[i].fd, SYS_getppid);
		if (!err && i)
			err = persist_join(self->m[i].fd, self->id);
		else if (!err)
			err = set_name_str(self->m[i].fd, self->ns) ?:
			      persist_new(self->m[i].fd, &self->id);
	}
	self->fd = err ?: ns_open(self->id, PERF_PERSIST_OPEN_WRITE);
	return self->fd < 0 ? self->fd : 0;
}

FIXTURE_SETUP(busy)
{
	const char *missing;
	int cpu, cpu2;
	cpu_set_t set;

	CPU_ZERO(&set);
	sched_getaffinity(0, sizeof(set), &set);
	missing = persist_begin(self->ns, &cpu, &cpu2);
	if (missing)
		SKIP(return, "%s", missing);
	if (cpu2 < 0)
		SKIP(return, "needs two CPUs");
	if (!syscall_attr(&self->attr))
		SKIP(return, "no tracepoints");
	self->attr.sample_type = variant->sample_type;
	ASSERT_TRUE(busy_start(&self->busy, &set));
	ASSERT_EQ(0, busy_create(self, variant->filter));
}

FIXTURE_TEARDOWN_PARENT(busy)
{
	persist_sweep();
}

static int event_disable(int fd)
{
	return event_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
}

static int event_enable(int fd)
{
	return event_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
}

/* There are records until off() is called, and no new ones when it has returned. */
static void switch_off_and_on(struct __test_metadata *_metadata, FIXTURE_DATA(busy) *self,
			      int (*off)(int fd), int (*on)(int fd))
{
	__u64 before[BUSY_CPUS], head[BUSY_CPUS];
	struct busy *busy = &self->busy;
	unsigned int round;
	int i;

	for (round = 0; round < busy->rounds; round++) {
		for (i = 0; i < busy->nr; i++)
			before[i] = busy_head(self->m[i].map);
		busy_wait(busy);
		ASSERT_EQ(0, off(self->fd));
		for (i = 0; i < busy->nr; i++) {
			head[i] = busy_head(self->m[i].map);
			ASSERT_TRUE(busy_recorded(busy, before[i], head[i]));
		}
		busy_wait(busy);
		for (i = 0; i < busy->nr; i++)
			ASSERT_EQ(head[i], busy_head(self->m[i].map));
		ASSERT_EQ(0, on(self->fd));
	}
}

/* No record is written when STOP has returned. */
TEST_F_TIMEOUT(busy, stop, 1800)
{
	switch_off_and_on(_metadata, self, ns_stop, ns_resume);
}

/* The same for DISABLE */
TEST_F_TIMEOUT(busy, disable, 1800)
{
	switch_off_and_on(_metadata, self, event_disable, event_enable);
}

/* When a snapshot has been taken, nothing is written to it any more. */
TEST_F_TIMEOUT(busy, snapshot, 1800)
{
	struct perf_event_persist_member p;
	struct busy *busy = &self->busy;
	int i, fds[BUSY_CPUS];
	__u64 snap, head[BUSY_CPUS];
	unsigned int round;

	for (round = 0; round < busy->rounds; round++) {
		busy_wait(busy);
		snap = snapshot(self->fd);
		ASSERT_NE(0, snap);
		for (i = 0; i < busy->nr; i++) {
			fds[i] = member_reopen(snap, 0, busy->cpus[i], 0);
			ASSERT_LE(0, fds[i]);
			ASSERT_EQ(0, get_member(fds[i], &p));
			head[i] = p.head;
			ASSERT_TRUE(busy_recorded(busy, 0, head[i]));
		}
		busy_wait(busy);
		for (i = 0; i < busy->nr; i++) {
			ASSERT_EQ(0, get_member(fds[i], &p));
			ASSERT_EQ(head[i], p.head);
			close(fds[i]);
		}
		ASSERT_EQ(0, ns_kill(snap));
	}
}

/* The new buffers of a stopped namespace stay empty after a snapshot. */
TEST_F_TIMEOUT(busy, stopped_snapshot, 1800)
{
	struct busy *busy = &self->busy;
	unsigned int round;
	__u64 snap;
	void *map;
	int i, fd;

	busy_wait(busy);
	ASSERT_EQ(0, ns_stop(self->fd));
	for (round = 0; round < busy->rounds; round++) {
		snap = snapshot(self->fd);
		ASSERT_NE(0, snap);
		busy_wait(busy);
		for (i = 0; i < busy->nr; i++) {
			fd = member_reopen(self->id, 0, busy->cpus[i], 0);
			ASSERT_LE(0, fd);
			map = ring_map(fd, PAGES, PROT_READ);
			ASSERT_NE(MAP_FAILED, map);
			ASSERT_EQ(0, busy_head(map));
			munmap(map, ring_len(PAGES));
			close(fd);
		}
		ASSERT_EQ(0, ns_kill(snap));
	}
}

/* When a namespace has been deleted, nothing is written to its buffers any more. */
TEST_F_TIMEOUT(busy, delete, 1800)
{
	struct busy *busy = &self->busy;
	__u64 head[BUSY_CPUS];
	unsigned int round;
	int i;

	for (round = 0; round < busy->rounds; round++) {
		busy_wait(busy);
		ASSERT_EQ(0, ns_delete(self->fd));
		for (i = 0; i < busy->nr; i++) {
			head[i] = busy_head(self->m[i].map);
			ASSERT_TRUE(busy_recorded(busy, 0, head[i]));
		}
		busy_wait(busy);
		for (i = 0; i < busy->nr; i++) {
			ASSERT_EQ(head[i], busy_head(self->m[i].map));
			member_close(&self->m[i]);
		}
		close(self->fd);
		ASSERT_EQ(0, busy_create(self, variant->filter));
	}
}

TEST_HARNESS_MAIN
