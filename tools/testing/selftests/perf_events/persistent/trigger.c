// SPDX-License-Identifier: GPL-2.0
/*
 * Triggers: any event can make a namespace stop or take a snapshot, with nobody there to
 * do it.
 *
 * TRIGGER_STORM in the environment says how often a trigger is fired as fast as possible,
 * TRIGGER_DELAYS how often the time is taken to freeze the buffers of all CPUs.
 */
#include "persistent.h"

#include <assert.h>
#include <limits.h>
#include <time.h>

static_assert(sizeof(struct perf_event_trigger) == PERF_EVENT_TRIGGER_SIZE_VER0, "size");
static_assert(sizeof(struct perf_event_trigger_state) == PERF_EVENT_TRIGGER_STATE_SIZE_VER0,
	      "state size");
static_assert(PERF_EVENT_TRIGGER_STATE_SIZE_VER0 == 64, "first state size");
static_assert(sizeof(struct perf_event_trigger_event) == 8, "event size");
static_assert(PERF_EVENT_TRIGGER_SIZE_VER0 == 104, "first size");

#define STORM	100000
#define DELAYS	10
#define RACES	300
#define HITS	6	/* rounds in which a stop has to come in time */
#define SECOND	1000000000ULL
#define REST	10000000	/* ns after an action */

/* Adds trigger @t, unless it has a number already, and has event @fd fire it. */
static int trigger_on(int ns_fd, struct perf_event_trigger *t, int fd)
{
	int err;

	err = t->number ? 0 : trigger_add(ns_fd, t);
	return err ? err : trigger_add_event(ns_fd, t->number, fd);
}

/* Waits until trigger @number has acted or failed @nr times, and has @nr_events events. */
static int wait_for_more(int ns_fd, __u32 number, __u64 nr, __u32 nr_events,
			 struct perf_event_trigger_state *st)
{
	struct pollfd pfd = { .fd = ns_fd, .events = POLLPRI };
	struct perf_event_persist info;
	int err;

	for (;;) {
		err = get_persist(ns_fd, &info);
		if (!err)
			err = trigger_state(ns_fd, number, st);
		if (err)
			return err;
		if (st->acted + st->failed >= nr && st->nr_events >= nr_events)
			return 0;
		if (poll(&pfd, 1, -1) < 1)
			return -ETIMEDOUT;
	}
}

static int wait_for(int ns_fd, __u32 number, __u64 nr, struct perf_event_trigger_state *st)
{
	return wait_for_more(ns_fd, number, nr, 1, st);
}

FIXTURE(trigger)
{
	char	ns[NS_ROOM];
	char	snap[NS_ROOM + 8];
	int	cpu, cpu2;
	__u64	id;
	int	fd;
	struct perf_event_attr attr;
};

FIXTURE_SETUP(trigger)
{
	struct perf_event_attr attr = say_attr();
	const char *missing;

	missing = persist_begin(self->ns, &self->cpu, &self->cpu2);
	if (missing)
		SKIP(return, "%s", missing);
	if (!syscall_attr(&self->attr))
		SKIP(return, "no tracepoints");
	self->attr.disabled = 1;
	ASSERT_EQ(0, ns_create_leave(&attr, self->cpu, PAGES, self->ns, &self->id));
	self->fd = ns_open(self->id, PERF_PERSIST_OPEN_WRITE);
	ASSERT_LE(0, self->fd);
	snprintf(self->snap, sizeof(self->snap), "%s.1", self->ns);
}

FIXTURE_TEARDOWN_PARENT(trigger)
{
	if (self->cpu2 >= 0)
		set_online(self->cpu2, true);
	persist_undo();
}

/* Opens an event that fires at each call @nr of the caller on @cpu. */
static int call_event(struct perf_event_attr *attr, int cpu, int nr)
{
	char filter[64];
	int fd;

	fd = event_open(attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return fd;
	snprintf(filter, sizeof(filter), "id == %d && common_pid == %d", nr, getpid());
	if (ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter))
		return -errno;
	return fd;
}

static int getppid_event(struct perf_event_attr *attr, int cpu)
{
	return call_event(attr, cpu, SYS_getppid);
}

static int arm_on_call(int ns_fd, struct perf_event_attr *attr, int cpu, int nr,
		       struct perf_event_trigger *t)
{
	int err, fd;

	fd = call_event(attr, cpu, nr);
	if (fd < 0)
		return fd;
	err = trigger_on(ns_fd, t, fd);
	close(fd);
	return err;
}

static int arm(int ns_fd, struct perf_event_attr *attr, int cpu, struct perf_event_trigger *t)
{
	return arm_on_call(ns_fd, attr, cpu, SYS_getppid, t);
}

/* Fires until the trigger acts or fails. Its worker ends a moment after it has told us. */
static int fire(int ns_fd, __u32 number, struct perf_event_trigger_state *st)
{
	__u64 done;
	int err;

	err = trigger_state(ns_fd, number, st);
	done = st->acted + st->failed;
	while (!err && st->acted + st->failed == done) {
		call_getppid(1);
		err = trigger_state(ns_fd, number, st);
	}
	return err;
}

/* Fires until the trigger acts. */
static int fire_until_acted(int ns_fd, __u32 number, struct perf_event_trigger_state *st)
{
	__u64 acted;
	int err;

	err = trigger_state(ns_fd, number, st);
	acted = st->acted;
	while (!err && st->acted == acted)
		err = fire(ns_fd, number, st);
	return err;
}

static int take_by_hand(int ns_fd)
{
	struct perf_event_snapshot s = { .size = sizeof(s) };

	return event_ioctl(ns_fd, PERF_EVENT_IOC_SNAPSHOT, (unsigned long)&s);
}

/* A firing takes a snapshot of what was recorded before it. */
TEST_F(trigger, snapshot)
{
	struct perf_event_trigger t = {
		.action = PERF_TRIGGER_DO_SNAPSHOT, .label = "getppid",
	};
	struct perf_event_trigger_state st;
	struct perf_event_persist info;
	int fd;

	ASSERT_EQ(0, arm(self->fd, &self->attr, self->cpu, &t));
	EXPECT_EQ(1, t.number);
	say("before");
	call_getppid(1);
	ASSERT_EQ(0, wait_for(self->fd, 1, 1, &st));
	say("after");

	EXPECT_EQ(1, st.fired);
	EXPECT_EQ(1, st.acted);
	EXPECT_EQ(0, st.failed);
	EXPECT_EQ(0, st.error);
	EXPECT_EQ(1, st.snapshot);
	EXPECT_EQ(1, st.nr_events);
	EXPECT_EQ(0, st.flags);
	ASSERT_EQ(0, trigger_get(self->fd, 1, &t));
	EXPECT_EQ(1, t.number);
	EXPECT_EQ(PERF_TRIGGER_WHEN_EVENT, t.when);
	EXPECT_EQ(PERF_TRIGGER_DO_SNAPSHOT, t.action);
	EXPECT_STREQ("getppid", t.label);
	EXPECT_EQ(1, heard_in(ns_lookup(self->snap), 0, self->cpu, "before"));
	EXPECT_EQ(0, heard_in(ns_lookup(self->snap), 0, self->cpu, "after"));
	EXPECT_EQ(1, heard_in(self->id, 0, self->cpu, "after"));
	fd = member_reopen(ns_lookup(self->snap), 0, self->cpu, 0);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, get_persist(fd, &info));
	EXPECT_EQ(1, info.trigger);
	EXPECT_LT(st.last_fired_ns, info.created_ns);
	EXPECT_LT(0, st.freeze_ns);

	/* Each firing acts anew. The worker ends a moment after it has told us. */
	do {
		call_getppid(1);
		ASSERT_EQ(0, trigger_state(self->fd, 1, &st));
	} while (st.acted < 2 && !st.failed);
	EXPECT_EQ(0, st.failed);
	EXPECT_LE(2, st.snapshot);
}

/* Records that are not written because of a stop are missed, and not lost. */
TEST_F(trigger, missed)
{
	struct perf_event_trigger t = { .action = PERF_TRIGGER_DO_STOP };
	struct perf_event_trigger_state st;
	struct perf_event_persist_member p;
	__u64 missed;
	int fd, i;

	fd = member_reopen(self->id, 0, self->cpu, 0);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, get_member(fd, &p));
	EXPECT_EQ(0, p.missed);
	ASSERT_EQ(0, arm(self->fd, &self->attr, self->cpu, &t));
	call_getppid(1);
	ASSERT_EQ(0, wait_for(self->fd, 1, 1, &st));
	for (i = 0; i < 5; i++)
		say("not taken");
	ASSERT_EQ(0, get_member(fd, &p));
	missed = p.missed;
	EXPECT_LE(5, missed);
	EXPECT_EQ(0, p.lost);
	ASSERT_EQ(0, ns_resume(self->fd));
	say("taken");
	EXPECT_EQ(1, heard_in(self->id, 0, self->cpu, "taken"));
	ASSERT_EQ(0, get_member(fd, &p));
	EXPECT_EQ(missed, p.missed);
	EXPECT_EQ(0, p.lost);
}

/* The snapshot has the record of what fired it, if the namespace records that. */
TEST_F(trigger, record)
{
	struct perf_event_trigger t = { .action = PERF_TRIGGER_DO_SNAPSHOT };
	struct perf_event_trigger_state st;
	struct sample_key key = { 0, getpid(), syscall(SYS_gettid) };
	struct member m;
	void *map;
	int fd;

	ASSERT_EQ(0, member_open(&m, &self->attr, self->cpu, PAGES));
	ASSERT_EQ(0, filter_syscall(m.fd, SYS_getppid));
	ASSERT_EQ(0, persist_join(m.fd, self->id));
	ASSERT_EQ(0, event_ioctl(self->fd, PERF_EVENT_IOC_ENABLE, 0));
	ASSERT_EQ(0, arm(self->fd, &self->attr, self->cpu, &t));
	call_getppid(1);
	ASSERT_EQ(0, wait_for(self->fd, 1, 1, &st));
	call_getppid(3);

	key.id = event_id(m.fd);
	fd = member_reopen(ns_lookup(self->snap), key.id, -1, 0);
	ASSERT_LE(0, fd);
	map = ring_map(fd, PAGES, PROT_READ);
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(1, ring_count(fd, map, match_sample, &key));
}

/* An event that records already fires with its next record. */
TEST_F(trigger, recording)
{
	struct perf_event_trigger t = { .action = PERF_TRIGGER_DO_SNAPSHOT };
	struct perf_event_trigger_state st;
	struct member m;

	ASSERT_EQ(0, member_open(&m, &self->attr, self->cpu, PAGES));
	ASSERT_EQ(0, filter_syscall(m.fd, SYS_getppid));
	ASSERT_EQ(0, persist_join(m.fd, self->id));
	ASSERT_EQ(0, event_ioctl(m.fd, PERF_EVENT_IOC_ENABLE, 0));
	call_getppid(3);
	ASSERT_EQ(0, trigger_on(self->fd, &t, m.fd));
	ASSERT_EQ(0, trigger_state(self->fd, 1, &st));
	EXPECT_EQ(0, st.fired);
	call_getppid(1);
	ASSERT_EQ(0, trigger_state(self->fd, 1, &st));
	EXPECT_EQ(1, st.fired);
}

/* Events of other CPUs can fire the same trigger. */
TEST_F(trigger, cpus)
{
	struct perf_event_trigger t = {
		.action = PERF_TRIGGER_DO_SNAPSHOT, .cool_down_ns = 3600 * SECOND,
	};
	struct perf_event_trigger_state st;

	if (self->cpu2 < 0)
		SKIP(return, "needs two CPUs");
	ASSERT_EQ(0, arm(self->fd, &self->attr, self->cpu, &t));
	ASSERT_EQ(0, arm(self->fd, &self->attr, self->cpu2, &t));
	EXPECT_EQ(1, t.number);
	call_getppid(2);
	ASSERT_EQ(0, pin(self->cpu2));
	call_getppid(3);
	ASSERT_EQ(0, wait_for(self->fd, 1, 1, &st));
	EXPECT_EQ(2, st.nr_events);
	EXPECT_EQ(5, st.fired);

	/* The cool-down is for all of them. */
	call_getppid(1);
	ASSERT_EQ(0, pin(self->cpu));
	call_getppid(1);
	ASSERT_EQ(0, take_by_hand(self->fd));
	ASSERT_EQ(0, trigger_state(self->fd, 1, &st));
	EXPECT_EQ(7, st.fired);
	EXPECT_EQ(1, st.acted);
}

/* A firing stops the namespace, until somebody resumes it. */
TEST_F(trigger, stop)
{
	struct perf_event_trigger t = { .action = PERF_TRIGGER_DO_STOP };
	struct perf_event_trigger_state st;
	struct perf_event_persist_member p = {};

	ASSERT_EQ(0, arm(self->fd, &self->attr, self->cpu, &t));
	say("before");
	call_getppid(1);
	say("after");
	ASSERT_EQ(0, wait_for(self->fd, 1, 1, &st));
	EXPECT_EQ(1, heard_in(self->id, 0, self->cpu, "before"));
	EXPECT_EQ(0, heard_in(self->id, 0, self->cpu, "after"));
	ASSERT_EQ(0, next_member(self->fd, &p));
	EXPECT_EQ(PERF_PERSIST_STOPPED, p.flags & PERF_PERSIST_STOPPED);
	EXPECT_EQ(0, st.snapshot);

	/* A snapshot does not end the stop, and reading does not either. */
	ASSERT_EQ(0, take_by_hand(self->fd));
	say("still");
	EXPECT_EQ(0, heard_in(self->id, 0, self->cpu, "still"));
	EXPECT_EQ(1, heard_in(ns_lookup(self->snap), 0, self->cpu, "before"));

	ASSERT_EQ(0, ns_resume(self->fd));
	say("again");
	EXPECT_EQ(1, heard_in(self->id, 0, self->cpu, "again"));
	p.event_id = 0;
	ASSERT_EQ(0, next_member(self->fd, &p));
	EXPECT_EQ(0, p.flags & PERF_PERSIST_STOPPED);

	/* A member that joins later is stopped with the others. */
	ASSERT_EQ(0, persist_join(counter_open(self->cpu), self->id));
	/* The trigger may still rest after the first time. */
	ASSERT_EQ(0, fire_until_acted(self->fd, 1, &st));
	say("twice");
	EXPECT_EQ(0, heard_in(self->id, 0, self->cpu, "twice"));
}

/* While the namespace is stopped, a firing stops nothing: it does not count as an action. */
TEST_F(trigger, stopped_already)
{
	struct perf_event_trigger stop = { .action = PERF_TRIGGER_DO_STOP, .times = 2 };
	struct perf_event_trigger t = { .action = PERF_TRIGGER_DO_SNAPSHOT };
	struct perf_event_trigger_state st;
	__u64 fired;
	int i;

	ASSERT_EQ(0, arm(self->fd, &self->attr, self->cpu, &stop));
	say("first");
	call_getppid(1);
	ASSERT_EQ(0, wait_for(self->fd, 1, 1, &st));
	EXPECT_EQ(1, st.acted);

	/*
	 * This one fails as long as the namespace is stopped, and rests for a second after it
	 * failed. So when it has failed again, the first one rests no longer.
	 */
	ASSERT_EQ(0, arm(self->fd, &self->attr, self->cpu, &t));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, fire(self->fd, t.number, &st));
		ASSERT_EQ(ECANCELED, st.error);
	}
	fired = st.fired;
	ASSERT_EQ(0, trigger_del(self->fd, t.number));
	ASSERT_EQ(0, trigger_state(self->fd, 1, &st));
	EXPECT_EQ(1 + fired, st.fired);
	ASSERT_EQ(1, st.acted);
	EXPECT_EQ(0, st.failed);
	ASSERT_EQ(0, st.flags);
	EXPECT_EQ(1, heard_in(self->id, 0, self->cpu, "first"));

	/* It can still do what it is there for. */
	ASSERT_EQ(0, ns_resume(self->fd));
	say("second");
	ASSERT_EQ(0, fire(self->fd, 1, &st));
	say("third");
	EXPECT_EQ(2, st.acted);
	EXPECT_EQ(PERF_TRIGGER_SPENT, st.flags);
	EXPECT_EQ(1, heard_in(self->id, 0, self->cpu, "second"));
	EXPECT_EQ(0, heard_in(self->id, 0, self->cpu, "third"));
}

/* Frozen records stay, however often another trigger would take a snapshot. H24 */
TEST_F(trigger, frozen)
{
	struct perf_event_trigger stop = { .action = PERF_TRIGGER_DO_STOP };
	struct perf_event_trigger t = { .action = PERF_TRIGGER_DO_SNAPSHOT };
	struct perf_event_trigger_state st;
	struct perf_event_persist info;
	int i;

	ASSERT_EQ(0, arm_on_call(self->fd, &self->attr, self->cpu, SYS_getuid, &stop));
	ASSERT_EQ(0, arm(self->fd, &self->attr, self->cpu, &t));
	say("frozen");
	syscall(SYS_getuid);
	ASSERT_EQ(0, wait_for(self->fd, 1, 1, &st));
	ASSERT_EQ(1, st.acted);

	for (i = 0; i < PERF_PERSIST_KEEP_DEFAULT + 4; i++) {
		call_getppid(1);
		ASSERT_EQ(0, wait_for(self->fd, 2, 1, &st));
	}
	EXPECT_EQ(PERF_PERSIST_KEEP_DEFAULT + 4, st.fired);
	EXPECT_EQ(0, st.acted);
	EXPECT_LT(0, st.failed);
	EXPECT_EQ(ECANCELED, st.error);
	EXPECT_EQ(0, st.snapshot);
	ASSERT_EQ(0, get_persist(self->fd, &info));
	EXPECT_EQ(0, info.number);
	EXPECT_EQ(PERF_PERSIST_STOPPED, info.flags);
	EXPECT_EQ(0, ns_lookup(self->snap));
	EXPECT_EQ(1, heard_in(self->id, 0, self->cpu, "frozen"));

	/* A snapshot by hand is taken nevertheless. */
	ASSERT_EQ(0, take_by_hand(self->fd));
	EXPECT_EQ(1, heard_in(ns_lookup(self->snap), 0, self->cpu, "frozen"));

	ASSERT_EQ(0, ns_resume(self->fd));
	say("again");
	ASSERT_EQ(0, fire_until_acted(self->fd, 2, &st));
	EXPECT_EQ(0, st.error);
	EXPECT_EQ(2, st.snapshot);
	snprintf(self->snap, sizeof(self->snap), "%s.2", self->ns);
	EXPECT_EQ(1, heard_in(ns_lookup(self->snap), 0, self->cpu, "again"));
}

static long long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* Does not sleep for short times, as that takes longer. */
static void delay_ns(__u64 ns)
{
	long long end = now_ns() + ns;

	if (ns >= 1000000)
		usleep(ns / 1000);
	while (now_ns() < end)
		;
}

/*
 * A trigger that is about to take a snapshot leaves what a stop has frozen meanwhile. H24
 *
 * The stops come one to three quarters of the time after the event that the snapshot takes.
 * Rounds in which they do not come in time say nothing. A few may come when the trigger has
 * looked for the last time, but has not taken the time yet.
 */
TEST_F(trigger, stopped_meanwhile)
{
	struct perf_event_trigger stop = { .action = PERF_TRIGGER_DO_STOP };
	struct perf_event_trigger t = { .action = PERF_TRIGGER_DO_SNAPSHOT };
	struct perf_event_trigger_state st, snap_st;
	struct perf_event_persist info, snap;
	int i, j, hits = 0, late = 0, fd;
	__u64 took, acted, failed;

	ASSERT_EQ(0, ns_keep(self->fd, 1));
	ASSERT_EQ(0, arm_on_call(self->fd, &self->attr, self->cpu, SYS_getuid, &stop));
	ASSERT_EQ(0, arm(self->fd, &self->attr, self->cpu, &t));
	/* The second snapshot and all that follow empty the buffers of the one before. */
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, fire_until_acted(self->fd, 2, &snap_st));
	took = snap_st.freeze_ns;
	for (i = 0; i < 100 && hits < HITS && late < HITS; i++) {
		/* It rests for some time after a snapshot, and for a second after a failure. */
		usleep(snap_st.error ? 1100000 : 100000 + took / 100);
		ASSERT_EQ(0, trigger_state(self->fd, 2, &snap_st));
		acted = snap_st.acted;
		failed = snap_st.failed;
		call_getppid(1);
		delay_ns(took * (1 + i % 3) / 4);
		syscall(SYS_getuid);
		ASSERT_EQ(0, wait_for(self->fd, 1, i + 1, &st));
		/* If it still rests, it does nothing. */
		for (j = 0; j < 100 && snap_st.acted + snap_st.failed == acted + failed; j++) {
			usleep(20000);
			ASSERT_EQ(0, trigger_state(self->fd, 2, &snap_st));
		}
		ASSERT_EQ(0, get_persist(self->fd, &info));
		EXPECT_EQ(PERF_PERSIST_STOPPED, info.flags);
		hits += snap_st.failed > failed;
		if (snap_st.acted > acted) {
			took = snap_st.freeze_ns;
			snprintf(self->snap, sizeof(self->snap), "%s.%u", self->ns, info.number);
			fd = ns_open(ns_lookup(self->snap), 0);
			ASSERT_LE(0, fd);
			ASSERT_EQ(0, get_persist(fd, &snap));
			close(fd);
			late += snap.swap_begin_ns > st.last_fired_ns;
		}
		ASSERT_EQ(0, ns_resume(self->fd));
	}
	ksft_print_msg("%d rounds, %d stops in time, %d too late\n", i, hits, late);
	EXPECT_EQ(HITS, hits);
	EXPECT_GE(HITS / 3, late);
}

/*
 * Nor does CLEAR drop it: what it froze is where it was, or in a snapshot. H24c
 *
 * It may do so if it is done between the text and the stop.
 */
TEST_F(trigger, stopped_while_clearing)
{
	struct perf_event_trigger stop = { .action = PERF_TRIGGER_DO_STOP };
	struct perf_event_attr attr = say_attr();
	int i, err, fd, nr, hits = 0, kept = 0, lost = 0, *begun;
	struct perf_event_trigger_state st;
	struct perf_event_persist info;
	char name[NS_ROOM + 8], snap[NS_ROOM + 24];
	__u64 id, took = 0;
	__u32 number = 0;
	char text[16];
	pid_t pid;

	begun = mmap(NULL, sizeof(*begun), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		     -1, 0);
	ASSERT_NE(MAP_FAILED, begun);
	snprintf(name, sizeof(name), "%s-2", self->ns);
	ASSERT_EQ(0, ns_create_leave(&attr, self->cpu, 8192, name, &id));
	fd = ns_open(id, PERF_PERSIST_OPEN_WRITE);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ns_keep(fd, 1));
	for (i = 0; i < 2; i++) {
		took = now_ns();
		ASSERT_EQ(0, event_ioctl(fd, PERF_EVENT_IOC_CLEAR, 0));
		took = now_ns() - took;
	}
	ASSERT_EQ(0, arm_on_call(fd, &self->attr, self->cpu, SYS_getuid, &stop));
	for (i = 0; i < 100 && (hits < HITS || kept < 3) && lost < HITS; i++) {
		*begun = 0;
		pid = fork_child();
		ASSERT_LE(0, pid);
		if (!pid) {
			__atomic_store_n(begun, 1, __ATOMIC_RELEASE);
			_exit(-event_ioctl(fd, PERF_EVENT_IOC_CLEAR, 0));
		}
		while (!__atomic_load_n(begun, __ATOMIC_ACQUIRE))
			sched_yield();
		delay_ns(took * (1 + i % 4) / 4);
		snprintf(text, sizeof(text), "round %d", i);
		say(text);
		syscall(SYS_getuid);
		ASSERT_EQ(0, wait_for(fd, 1, i + 1, &st));
		err = child_status(pid);
		EXPECT_TRUE(!err || err == ECANCELED) TH_LOG("%d", err);
		nr = heard_in(id, 0, self->cpu, text);
		ASSERT_EQ(0, get_persist(fd, &info));
		if (info.number != number) {
			number = info.number;
			snprintf(snap, sizeof(snap), "%s.%u", name, number);
			nr += heard_in(ns_lookup(snap), 0, self->cpu, text);
			kept++;
		}
		if (err) {
			hits++;
			EXPECT_EQ(1, nr);
		} else {
			lost += nr != 1;
		}
		ASSERT_EQ(0, ns_resume(fd));
	}
	ksft_print_msg("%d rounds, %d stops in time, %d snapshots, %d texts lost\n", i, hits, kept,
		       lost);
	EXPECT_LE(HITS, hits);
	EXPECT_GE(1, lost);
}

/* After a failure, a trigger does not wait for its cool-down, but for a second. */
TEST_F(trigger, failed)
{
	struct perf_event_trigger stop = { .action = PERF_TRIGGER_DO_STOP };
	const __u64 cool_downs[] = { 0, 3600 * SECOND };
	unsigned int i;
	__u64 before;

	ASSERT_EQ(0, arm_on_call(self->fd, &self->attr, self->cpu, SYS_getuid, &stop));
	for (i = 0; i < ARRAY_SIZE(cool_downs); i++) {
		struct perf_event_trigger t = {
			.action = PERF_TRIGGER_DO_SNAPSHOT, .cool_down_ns = cool_downs[i],
		};
		struct perf_event_trigger_state st;
		__u32 number;

		syscall(SYS_getuid);
		ASSERT_EQ(0, wait_for(self->fd, 1, i + 1, &st));
		ASSERT_EQ(0, arm(self->fd, &self->attr, self->cpu, &t));
		number = t.number;
		ASSERT_EQ(0, fire(self->fd, number, &st));
		ASSERT_EQ(1, st.failed);
		ASSERT_EQ(ECANCELED, st.error);
		before = st.last_fired_ns;
		ASSERT_EQ(0, fire(self->fd, number, &st));
		ASSERT_EQ(2, st.failed);
		EXPECT_LE(before + SECOND, st.last_fired_ns);
		ASSERT_EQ(0, ns_resume(self->fd));
		before = st.last_fired_ns;
		ASSERT_EQ(0, fire(self->fd, number, &st));
		EXPECT_EQ(1, st.acted);
		EXPECT_EQ(0, st.error);
		EXPECT_LE(before + SECOND, st.last_fired_ns);
		ASSERT_EQ(0, trigger_del(self->fd, number));
	}
}

/* Fires a trigger and maps what it takes, as a user who may only read. */
static int look_on(const char *ns, int ns_fd, int cpu)
{
	void *maps[4 * PERF_PERSIST_KEEP_DEFAULT];
	struct perf_event_trigger_state st;
	char name[NS_ROOM + 16];
	__u32 i, nr = 0;
	int fd;

	if (become(NOBODY, 0))
		return 1;
	for (;;) {
		if (nr == ARRAY_SIZE(maps))
			return 2;
		if (fire(ns_fd, 1, &st))
			return 3;
		if (st.failed)
			break;
		snprintf(name, sizeof(name), "%s.%u", ns, st.snapshot);
		fd = member_reopen(ns_lookup(name), 0, cpu, 0);
		if (fd < 0)
			return 4;
		maps[nr] = ring_map(fd, PAGES, PROT_READ);
		close(fd);
		if (maps[nr++] == MAP_FAILED)
			return 5;
	}
	/* A call may have fired it once more before we looked. */
	if (st.error != EBUSY || st.acted < nr)
		return 6;
	if (nr < PERF_PERSIST_KEEP_DEFAULT || nr > 2 * PERF_PERSIST_KEEP_DEFAULT + 1)
		return 7;
	for (i = 0; i < nr; i++)
		munmap(maps[i], ring_len(PAGES));
	if (fire_until_acted(ns_fd, 1, &st))
		return 8;
	return st.error ? 9 : 0;
}

/* A reader can hold only so many of the snapshots that triggers take. H22 */
TEST_F(trigger, readers_hold_on)
{
	pid_t pid;

	if (geteuid())
		SKIP(return, "needs root");
	ASSERT_EQ(0, set_paranoid(-1));
	pid = fork_child();
	if (!pid) {
		struct perf_event_trigger t = { .action = PERF_TRIGGER_DO_SNAPSHOT };
		int fd;

		fd = ns_open(self->id, 0);
		if (fd < 0 || arm(self->fd, &self->attr, self->cpu, &t))
			_exit(99);
		_exit(look_on(self->ns, fd, self->cpu));
	}
	EXPECT_EQ(0, child_status(pid));
}

static int cmp_u64(const void *a, const void *b)
{
	return *(__u64 *)a < *(__u64 *)b ? -1 : *(__u64 *)a > *(__u64 *)b;
}

/* One CPU freezes all others. The times are printed for information. */
static void print_delays(struct __test_metadata *_metadata, int ns_fd,
			 struct perf_event_attr *attr, int cpu, __u32 action)
{
	const char *env = getenv("TRIGGER_DELAYS");
	int i, n = env ? atoi(env) : DELAYS;
	struct perf_event_trigger t = { .action = action };
	struct perf_event_trigger_state st;
	__u64 *ns = calloc(n, sizeof(*ns));
	__u32 number;

	ASSERT_NE(NULL, ns);
	ASSERT_EQ(0, arm(ns_fd, attr, cpu, &t));
	number = t.number;
	for (i = 0; i < n; i++) {
		/* The worker ends a moment after it has told us. */
		do {
			call_getppid(1);
			ASSERT_EQ(0, trigger_state(ns_fd, number, &st));
		} while (st.acted == i);
		ASSERT_EQ(0, wait_for(ns_fd, number, i + 1, &st));
		ns[i] = st.freeze_ns;
		EXPECT_NE(0, st.freeze_ns);
		ASSERT_EQ(0, ns_resume(ns_fd));
	}
	ASSERT_EQ(0, trigger_del(ns_fd, number));
	qsort(ns, n, sizeof(*ns), cmp_u64);
	ksft_print_msg("%s: %llu, %llu, %llu ns (least, median, most of %d) from the firing to the last buffer\n",
		       action == PERF_TRIGGER_DO_STOP ? "stop" : "snapshot",
		       (unsigned long long)ns[0], (unsigned long long)ns[n / 2],
		       (unsigned long long)ns[n - 1], n);
	free(ns);
}

/* Each action tells how long it took to freeze all CPUs. */
TEST_F(trigger, delay)
{
	struct perf_event_attr attr = say_attr();
	struct member m;
	int i;

	for (i = self->cpu + 1; i < 64; i++) {
		if (member_open(&m, &attr, i, PAGES))
			break;
		ASSERT_EQ(0, persist_join(m.fd, self->id));
		member_close(&m);
	}
	ksft_print_msg("%d CPUs\n", i - self->cpu);
	print_delays(_metadata, self->fd, &self->attr, self->cpu, PERF_TRIGGER_DO_STOP);
	print_delays(_metadata, self->fd, &self->attr, self->cpu, PERF_TRIGGER_DO_SNAPSHOT);
}

/* Whether @when is before the time at which @t acts. A machine may stall for long. */
static bool in_time(const struct perf_event_trigger *t, const struct perf_event_trigger_state *st,
		    const struct timespec *when)
{
	return when->tv_sec * SECOND + when->tv_nsec < st->last_fired_ns + t->after_ns;
}

/* With a delay, records that follow the firing are there as well. */
TEST_F(trigger, after)
{
	struct perf_event_trigger t = {
		.action = PERF_TRIGGER_DO_SNAPSHOT, .after_ns = 3 * SECOND,
	};
	struct perf_event_trigger_state st;
	struct timespec when;

	ASSERT_EQ(0, arm(self->fd, &self->attr, self->cpu, &t));
	say("before");
	call_getppid(1);
	say("later");
	clock_gettime(CLOCK_BOOTTIME, &when);
	ASSERT_EQ(0, wait_for(self->fd, 1, 1, &st));
	EXPECT_EQ(1, heard_in(ns_lookup(self->snap), 0, self->cpu, "before"));
	if (in_time(&t, &st, &when))
		EXPECT_EQ(1, heard_in(ns_lookup(self->snap), 0, self->cpu, "later"));

	t = (struct perf_event_trigger){
		.action = PERF_TRIGGER_DO_STOP, .after_ns = 3 * SECOND,
	};
	ASSERT_EQ(0, trigger_del(self->fd, 1));
	ASSERT_EQ(0, arm(self->fd, &self->attr, self->cpu, &t));
	EXPECT_EQ(2, t.number);
	call_getppid(1);
	say("last");
	clock_gettime(CLOCK_BOOTTIME, &when);
	ASSERT_EQ(0, wait_for(self->fd, 2, 1, &st));
	say("gone");
	if (in_time(&t, &st, &when))
		EXPECT_EQ(1, heard_in(self->id, 0, self->cpu, "last"));
	EXPECT_EQ(0, heard_in(self->id, 0, self->cpu, "gone"));
}

/* A trigger acts as often as it may, and then only counts. */
TEST_F(trigger, times)
{
	struct perf_event_trigger t = { .action = PERF_TRIGGER_DO_SNAPSHOT, .times = 2 };
	struct perf_event_trigger_state st;
	int i;

	ASSERT_EQ(0, arm(self->fd, &self->attr, self->cpu, &t));
	for (i = 0; i < 5; i++) {
		call_getppid(1);
		ASSERT_EQ(0, wait_for(self->fd, 1, i < 2 ? i + 1 : 2, &st));
		/*
		 * The next firing acts when the worker has ended, a moment after it has
		 * told us.
		 */
		do {
			if (i)
				break;
			call_getppid(1);
			ASSERT_EQ(0, trigger_state(self->fd, 1, &st));
		} while (st.acted < 2);
	}
	ASSERT_EQ(0, trigger_state(self->fd, 1, &st));
	EXPECT_EQ(2, st.acted);
	EXPECT_LE(5, st.fired);
	EXPECT_EQ(2, st.snapshot);
}

/* An event with a period fires once in each period. */
TEST_F(trigger, period)
{
	struct perf_event_trigger t = { .action = PERF_TRIGGER_DO_SNAPSHOT };
	struct perf_event_trigger_state st;

	self->attr.sample_period = 10;
	ASSERT_EQ(0, arm(self->fd, &self->attr, self->cpu, &t));
	call_getppid(9);
	ASSERT_EQ(0, trigger_state(self->fd, 1, &st));
	EXPECT_EQ(0, st.fired);
	call_getppid(1);
	ASSERT_EQ(0, wait_for(self->fd, 1, 1, &st));
	EXPECT_EQ(1, st.fired);
}

/* A BPF program that returns 0 keeps its event from firing. */
TEST_F(trigger, bpf)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr), .disabled = 1,
		.config = PERF_COUNT_SW_CPU_CLOCK, .sample_period = 100000,
	};
	struct perf_event_trigger t = { .action = PERF_TRIGGER_DO_SNAPSHOT };
	struct perf_event_trigger_state st;
	int no, yes, fd;

	no = bpf_prog_open(0);
	yes = bpf_prog_open(1);
	if (no < 0 || yes < 0)
		SKIP(return, "no BPF");
	fd = event_open(&attr, -1, self->cpu, -1, 0);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, event_ioctl(fd, PERF_EVENT_IOC_SET_BPF, no));
	ASSERT_EQ(0, trigger_on(self->fd, &t, fd));
	t = (struct perf_event_trigger){ .action = PERF_TRIGGER_DO_SNAPSHOT };
	fd = event_open(&attr, -1, self->cpu, -1, 0);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, event_ioctl(fd, PERF_EVENT_IOC_SET_BPF, yes));
	ASSERT_EQ(0, trigger_on(self->fd, &t, fd));
	ASSERT_EQ(0, wait_for(self->fd, 2, 3, &st));
	ASSERT_EQ(0, trigger_state(self->fd, 1, &st));
	EXPECT_EQ(1, st.number);
	EXPECT_EQ(0, st.fired);
}

/* An event whose PMU may write several records by itself could not fire: it is refused. */
TEST_F(trigger, precise)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr), .disabled = 1,
		.config = PERF_COUNT_SW_CPU_CLOCK, .sample_period = 3600 * SECOND,
		.precise_ip = 1,
	};
	struct perf_event_trigger t = { .action = PERF_TRIGGER_DO_SNAPSHOT };
	int fd;

	ASSERT_EQ(0, trigger_add(self->fd, &t));
	fd = event_open(&attr, -1, self->cpu, -1, 0);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-EOPNOTSUPP, trigger_add_event(self->fd, 1, fd));
	attr.wakeup_events = 1;
	fd = event_open(&attr, -1, self->cpu, -1, 0);
	ASSERT_LE(0, fd);
	EXPECT_EQ(0, trigger_add_event(self->fd, 1, fd));
}

/* An event that never overflows could not fire either: it is refused, and stays ordinary. */
TEST_F(trigger, no_overflow)
{
	const __u64 configs[] = { PERF_COUNT_SW_BPF_OUTPUT, PERF_COUNT_SW_DUMMY };
	struct perf_event_trigger t = { .action = PERF_TRIGGER_DO_SNAPSHOT };
	struct perf_event_trigger_state st;
	struct perf_event_persist_member p;
	unsigned int i;
	int fd;

	ASSERT_EQ(0, trigger_add(self->fd, &t));
	for (i = 0; i < ARRAY_SIZE(configs); i++) {
		struct perf_event_attr attr = {
			.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr), .config = configs[i],
			.sample_period = 1, .sample_type = PERF_SAMPLE_RAW, .write_backward = 1,
		};

		fd = event_open(&attr, -1, self->cpu, -1, 0);
		ASSERT_LE(0, fd);
		EXPECT_EQ(-EOPNOTSUPP, trigger_add_event(self->fd, t.number, fd))
			TH_LOG("config %llu", (unsigned long long)configs[i]);
		EXPECT_EQ(-ENOENT, get_member(fd, &p));

		/* Nor can it when it is a member. */
		ASSERT_EQ(0, persist_join(fd, self->id));
		EXPECT_EQ(-EOPNOTSUPP, trigger_add_event(self->fd, t.number, fd));
		ASSERT_EQ(0, get_member(fd, &p));
		EXPECT_EQ(0, p.trigger);
	}
	ASSERT_EQ(0, trigger_state(self->fd, t.number, &st));
	EXPECT_EQ(0, st.nr_events);
}

/* Returns how many members are stopped, and in *@nr how many there are but those for triggers. */
static int count_stopped(int ns_fd, int *nr)
{
	struct perf_event_persist_member p = {};
	int stopped = 0;

	*nr = 0;
	while (!next_member(ns_fd, &p)) {
		*nr += !(p.flags & PERF_PERSIST_FOR_TRIGGER);
		stopped += !!(p.flags & PERF_PERSIST_STOPPED);
	}
	return stopped;
}

static bool reached(const int *at, int i)
{
	return __atomic_load_n(at, __ATOMIC_ACQUIRE) >= i;
}

/* If a trigger stops what somebody resumes, one of them wins, for all buffers. */
TEST_F(trigger, resume_race)
{
	struct perf_event_trigger t = { .action = PERF_TRIGGER_DO_STOP };
	struct perf_event_trigger_state st = { };
	struct perf_event_attr attr = say_attr();
	struct shared {
		int	go, done;
	} *shared;
	int i, nr, stopped, mixed = 0, spin, until, most = 0;
	struct member m;
	__u64 last;
	pid_t pid;

	if (self->cpu2 < 0)
		SKIP(return, "one CPU");
	for (i = 0; i < 150; i++) {
		ASSERT_EQ(0, member_open(&m, &attr, self->cpu, 1));
		ASSERT_EQ(0, persist_join(m.fd, self->id));
		member_close(&m);
	}
	shared = mmap(NULL, page_size(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	ASSERT_NE(MAP_FAILED, shared);
	ASSERT_EQ(0, arm(self->fd, &self->attr, self->cpu, &t));
	ASSERT_EQ(0, pin(self->cpu));
	pid = fork_child();
	if (!pid) {
		pin(self->cpu2);
		for (i = 1; i <= RACES; i++) {
			while (!reached(&shared->go, i))
				;
			ns_resume(self->fd);
			__atomic_store_n(&shared->done, i, __ATOMIC_RELEASE);
		}
		_exit(0);
	}
	for (i = 1; i <= RACES; i++) {
		ASSERT_EQ(0, ns_resume(self->fd));
		/* The worker ends a moment after it has told us. */
		last = st.acted;
		do {
			call_getppid(1);
			ASSERT_EQ(0, trigger_state(self->fd, 1, &st));
		} while (st.acted == last);
		/* Fire at another point of the time that resuming takes in each round. */
		__atomic_store_n(&shared->go, i, __ATOMIC_RELEASE);
		until = i == 1 ? INT_MAX : most / 100 * (i % 100);
		for (spin = 0; spin < until && !reached(&shared->done, i); spin++)
			;
		if (i == 1)
			most = spin;
		call_getppid(1);
		while (!reached(&shared->done, i))
			;
		stopped = count_stopped(self->fd, &nr);
		mixed += stopped && stopped < nr;
	}
	EXPECT_EQ(0, mixed);
	EXPECT_EQ(0, child_status(pid));
}

/* A member that joins while a trigger stops the namespace is stopped with the others. H30 */
TEST_F(trigger, join_race)
{
	struct perf_event_trigger t = { .action = PERF_TRIGGER_DO_STOP };
	struct perf_event_trigger_state st;
	struct perf_event_attr attr = say_attr();
	long long start, until, most = 0;
	int i, nr, stopped;
	struct shared {
		int	armed, go, done;
	} *shared;
	struct member m;
	pid_t pid;

	if (self->cpu2 < 0)
		SKIP(return, "one CPU");
	shared = mmap(NULL, page_size(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	ASSERT_NE(MAP_FAILED, shared);
	pid = fork_child();
	ASSERT_LE(0, pid);
	if (!pid) {
		pin(self->cpu2);
		if (arm(self->fd, &self->attr, self->cpu2, &t))
			_exit(1);
		__atomic_store_n(&shared->armed, 1, __ATOMIC_RELEASE);
		for (i = 1; i <= RACES; i++) {
			while (!reached(&shared->go, i))
				;
			if (fire(self->fd, 1, &st))
				_exit(2);
			__atomic_store_n(&shared->done, i, __ATOMIC_RELEASE);
		}
		_exit(0);
	}
	while (!reached(&shared->armed, 1))
		sched_yield();
	for (i = 1; i <= RACES; i++) {
		ASSERT_EQ(0, ns_resume(self->fd));
		ASSERT_EQ(0, member_open(&m, &attr, self->cpu, 1));
		__atomic_store_n(&shared->go, i, __ATOMIC_RELEASE);
		/*
		 * Join at another point of the time that firing takes. From the second
		 * time on, it rests first.
		 */
		start = now_ns();
		until = i <= 2 ? LLONG_MAX : start + most / 100 * (i % 100);
		while (now_ns() < until && !reached(&shared->done, i))
			;
		if (i <= 2)
			most = now_ns() - start;
		ASSERT_EQ(0, persist_join(m.fd, self->id));
		while (!reached(&shared->done, i))
			;
		stopped = count_stopped(self->fd, &nr);
		EXPECT_EQ(2, nr);
		/* None: fire() may have seen the result of an earlier firing. */
		ASSERT_TRUE(stopped == nr || !stopped)
			TH_LOG("round %d: %d of %d", i, stopped, nr);
		ASSERT_EQ(0, persist_claim(m.fd));
		member_close(&m);
	}
	EXPECT_EQ(0, child_status(pid));
}

static bool member_on(int ns_fd, int cpu, struct perf_event_persist_member *p)
{
	struct perf_event_persist info;

	/* Any change from here on ends poll(). */
	if (get_persist(ns_fd, &info))
		return false;
	memset(p, 0, sizeof(*p));
	while (!next_member(ns_fd, p)) {
		if (p->cpu == cpu)
			return true;
	}
	return false;
}

/* A CPU that is new to a stopped namespace goes on with the others. H30 */
TEST_F(trigger, resume_new_cpu)
{
	struct perf_event_trigger t = { .action = PERF_TRIGGER_DO_STOP };
	struct perf_event_trigger_state st;
	struct perf_event_attr attr = say_attr();
	struct perf_event_persist_member p;
	struct pollfd pfd = { .events = POLLPRI };
	char name[NS_ROOM + 16];
	struct member m;
	int round;
	__u64 id;

	if (self->cpu2 < 0)
		SKIP(return, "needs two CPUs");
	for (round = 0; round < 8; round++) {
		if (set_online(self->cpu2, false))
			SKIP(return, "cannot take a CPU offline");
		snprintf(name, sizeof(name), "%s-%d", self->ns, round);
		ASSERT_EQ(0, member_open(&m, &attr, self->cpu, PAGES));
		ASSERT_EQ(0, persist_set_flags(m.fd, PERF_PERSIST_ALL_CPUS));
		ASSERT_EQ(0, persist_new(m.fd, &id));
		ASSERT_EQ(0, set_name_str(m.fd, name));
		pfd.fd = ns_open(id, PERF_PERSIST_OPEN_WRITE);
		ASSERT_LE(0, pfd.fd);
		t.number = 0;
		ASSERT_EQ(0, arm(pfd.fd, &self->attr, self->cpu, &t));
		ASSERT_EQ(0, fire(pfd.fd, 1, &st));
		ASSERT_EQ(0, set_online(self->cpu2, true));

		/* Resume while the kernel adds the CPU, sooner or later, or when it has. */
		usleep(round * 10000);
		if (round % 2) {
			while (!member_on(pfd.fd, self->cpu2, &p))
				ASSERT_EQ(1, poll(&pfd, 1, -1));
			EXPECT_EQ(PERF_PERSIST_STOPPED, p.flags & PERF_PERSIST_STOPPED);
		}
		ASSERT_EQ(0, ns_resume(pfd.fd));
		while (!member_on(pfd.fd, self->cpu2, &p))
			ASSERT_EQ(1, poll(&pfd, 1, -1));
		EXPECT_EQ(0, p.flags & PERF_PERSIST_STOPPED);
		ASSERT_TRUE(wait_for_enabled_on(pfd.fd, self->cpu2, 1));
		ASSERT_EQ(0, pin(self->cpu2));
		say("resumed");
		ASSERT_EQ(0, pin(self->cpu));
		EXPECT_EQ(1, heard_in(id, 0, self->cpu2, "resumed"))
			TH_LOG("round %d", round);
		ASSERT_EQ(0, ns_delete(pfd.fd));
		close(pfd.fd);
		member_close(&m);
	}
}

/* A trigger that is fired as fast as possible counts each firing, and acts rarely. */
TEST_F(trigger, storm)
{
	const char *env = getenv("TRIGGER_STORM");
	int n = env ? atoi(env) : STORM;
	struct perf_event_trigger t = {
		.action = PERF_TRIGGER_DO_SNAPSHOT, .cool_down_ns = 3600 * SECOND,
	};
	struct perf_event_trigger eager = { .action = PERF_TRIGGER_DO_SNAPSHOT };
	struct perf_event_trigger_state st;

	ASSERT_EQ(0, arm(self->fd, &self->attr, self->cpu, &t));
	ASSERT_EQ(0, arm(self->fd, &self->attr, self->cpu, &eager));
	call_getppid(n);
	ASSERT_EQ(0, wait_for(self->fd, 1, 1, &st));
	EXPECT_EQ(n, st.fired);
	EXPECT_EQ(1, st.acted);
	ASSERT_EQ(0, wait_for(self->fd, 2, 1, &st));
	EXPECT_EQ(n, st.fired);
	EXPECT_GT(n, st.acted);
	EXPECT_EQ(0, st.failed);
	ksft_print_msg("%d firings, %llu snapshots without a cool-down\n", n,
		       (unsigned long long)st.acted);
}

/* Deleting a trigger leaves nothing but its event, to those who have that open. */
TEST_F(trigger, deleted)
{
	struct perf_event_trigger t = { .action = PERF_TRIGGER_DO_SNAPSHOT };
	struct perf_event_trigger_state st;
	struct perf_event_persist_member p;
	struct perf_event_persist info;
	struct perf_event_trigger u;
	int fd;

	fd = getppid_event(&self->attr, self->cpu);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, trigger_on(self->fd, &t, fd));

	/* Until then it is a member, and fires one trigger. */
	ASSERT_EQ(0, get_member(fd, &p));
	EXPECT_EQ(1, p.trigger);
	EXPECT_EQ(PERF_PERSIST_FOR_TRIGGER, p.flags & PERF_PERSIST_FOR_TRIGGER);
	EXPECT_EQ(0, p.buffer_size);
	EXPECT_EQ(-EBUSY, persist_join(fd, self->id));
	EXPECT_EQ(-EBUSY, set_name(fd, "%s", self->ns));
	EXPECT_EQ(-EBUSY, ring_map_err(fd, PAGES, PROT_READ));
	EXPECT_EQ(-EBUSY, event_ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, -1));
	EXPECT_EQ(-EBUSY, trigger_add_event(self->fd, 1, fd));
	ASSERT_EQ(0, get_persist(fd, &info));
	EXPECT_EQ(self->id, info.ns_id);

	EXPECT_EQ(-ENOENT, trigger_del(self->fd, 2));
	ASSERT_EQ(0, trigger_del(self->fd, 1));
	EXPECT_EQ(-ENOENT, trigger_del(self->fd, 1));
	EXPECT_EQ(-ENOENT, trigger_get(self->fd, 1, &u));
	EXPECT_EQ(-ENOENT, trigger_state(self->fd, 1, &st));
	EXPECT_EQ(-ENOENT, trigger_arm(self->fd, 1));
	EXPECT_EQ(-ENOENT, trigger_add_event(self->fd, 1, fd));
	EXPECT_EQ(-ENOENT, get_member(fd, &p));
	ASSERT_EQ(0, event_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0));
	call_getppid(1);
	EXPECT_EQ(0, ns_lookup(self->snap));
	EXPECT_EQ(0, persist_join(fd, self->id));
	EXPECT_EQ(0, persist_claim(fd));
	close(fd);

	/* A number is not used again. */
	t.number = 0;
	ASSERT_EQ(0, arm(self->fd, &self->attr, self->cpu, &t));
	EXPECT_EQ(2, t.number);

	/* A member that is claimed fires nothing. */
	fd = getppid_event(&self->attr, self->cpu);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, trigger_add_event(self->fd, 2, fd));
	ASSERT_EQ(0, trigger_state(self->fd, 2, &st));
	EXPECT_EQ(2, st.nr_events);
	EXPECT_EQ(0, persist_claim(fd));
	ASSERT_EQ(0, trigger_state(self->fd, 2, &st));
	EXPECT_EQ(1, st.nr_events);
	EXPECT_EQ(-ENOENT, get_member(fd, &p));
	close(fd);
	EXPECT_EQ(0, ns_delete(self->fd));
	EXPECT_EQ(-ENODEV, trigger_get(self->fd, 2, &u));
	EXPECT_EQ(-ENODEV, trigger_state(self->fd, 2, &st));
	EXPECT_EQ(-ENODEV, trigger_arm(self->fd, 2));
	EXPECT_EQ(-ENODEV, trigger_del(self->fd, 2));
	EXPECT_EQ(-ENODEV, trigger_add(self->fd, &(struct perf_event_trigger){}));
	call_getppid(1);
}

/* Bad arguments are refused, and make no trigger. */
TEST_F(trigger, bad_input)
{
	const struct perf_event_trigger good = { .action = PERF_TRIGGER_DO_SNAPSHOT };
	struct {
		struct perf_event_trigger t;
		char more[8];
	} big = { .t = good };
	struct {
		struct perf_event_trigger_state st;
		char more[8];
	} big_state = {};
	struct perf_event_trigger_state *st = &big_state.st;
	struct perf_event_trigger t = good, *u = &big.t;
	int ro;

#define EXPECT_REFUSED(_err, ...)						\
	do {									\
		t = (struct perf_event_trigger){ .action = PERF_TRIGGER_DO_SNAPSHOT,	\
						 ##__VA_ARGS__ };		\
		EXPECT_EQ(_err, trigger_add(self->fd, &t));			\
	} while (0)

	EXPECT_REFUSED(-EINVAL, .when = 4);
	EXPECT_REFUSED(-EINVAL, .action = 2);
	EXPECT_REFUSED(-EINVAL, .when = PERF_TRIGGER_WHEN_PANIC);
	EXPECT_REFUSED(-EINVAL, .when = PERF_TRIGGER_WHEN_SOFTLOCKUP);
	EXPECT_REFUSED(-EINVAL, .when = PERF_TRIGGER_WHEN_PANIC,
		       .action = PERF_TRIGGER_DO_STOP, .after_ns = 1);
	EXPECT_REFUSED(-EINVAL, .after_ns = ~0ULL);
	EXPECT_REFUSED(-EINVAL, .number = 1);
	EXPECT_REFUSED(-EINVAL, .number = 7);
	EXPECT_REFUSED(-EINVAL, .label = "a\nb");
	t = good;
	memset(t.label, 'x', sizeof(t.label));
	EXPECT_EQ(-EINVAL, trigger_add(self->fd, &t));

	EXPECT_EQ(-EFAULT, event_ioctl(self->fd, PERF_EVENT_IOC_ADD_TRIGGER, 8));
	EXPECT_EQ(-EFAULT, event_ioctl(self->fd, PERF_EVENT_IOC_ADD_TRIGGER_EVENT, 8));
	EXPECT_EQ(-EFAULT, event_ioctl(self->fd, PERF_EVENT_IOC_GET_TRIGGER, 8));
	EXPECT_EQ(-EFAULT, event_ioctl(self->fd, PERF_EVENT_IOC_GET_TRIGGER_STATE, 8));
	EXPECT_EQ(-EFAULT, event_ioctl(self->fd, PERF_EVENT_IOC_ARM_TRIGGER, 8));
	EXPECT_EQ(-EFAULT, event_ioctl(self->fd, PERF_EVENT_IOC_DEL_TRIGGER, 8));
	u->size = sizeof(*u) - 1;
	EXPECT_EQ(-EINVAL, neg_errno(ioctl(self->fd, PERF_EVENT_IOC_ADD_TRIGGER, u)));
	u->size = sizeof(big);
	big.more[0] = 1;
	EXPECT_EQ(-E2BIG, neg_errno(ioctl(self->fd, PERF_EVENT_IOC_ADD_TRIGGER, u)));
	EXPECT_EQ(sizeof(*u), u->size);
	u->size = 1 << 20;
	EXPECT_EQ(-E2BIG, neg_errno(ioctl(self->fd, PERF_EVENT_IOC_ADD_TRIGGER, u)));
	EXPECT_EQ(sizeof(*u), u->size);

	/* None of that made a trigger. */
	EXPECT_EQ(-ENOENT, trigger_get(self->fd, 1, &t));
	EXPECT_EQ(-ENOENT, trigger_state(self->fd, 1, st));
	EXPECT_EQ(-ENOENT, trigger_state(self->fd, 0, st));
	EXPECT_EQ(-ENOENT, trigger_arm(self->fd, 1));
	EXPECT_EQ(-ENOENT, trigger_del(self->fd, 1));
	big.more[0] = 0;
	u->size = sizeof(big);
	EXPECT_EQ(0, neg_errno(ioctl(self->fd, PERF_EVENT_IOC_ADD_TRIGGER, u)));
	EXPECT_EQ(1, u->number);

	/* The same for GET_TRIGGER_STATE */
	st->number = 1;
	st->size = sizeof(*st) - 1;
	EXPECT_EQ(-EINVAL, neg_errno(ioctl(self->fd, PERF_EVENT_IOC_GET_TRIGGER_STATE, st)));
	st->size = sizeof(*st);
	/* A structure can be used for the next call, with the flags of the last one. */
	st->flags = PERF_TRIGGER_SPENT;
	EXPECT_EQ(0, neg_errno(ioctl(self->fd, PERF_EVENT_IOC_GET_TRIGGER_STATE, st)));
	EXPECT_EQ(0, st->flags);
	st->size = sizeof(big_state);
	big_state.more[7] = 1;
	EXPECT_EQ(-E2BIG, neg_errno(ioctl(self->fd, PERF_EVENT_IOC_GET_TRIGGER_STATE, st)));
	EXPECT_EQ(sizeof(*st), st->size);
	memset(&big_state, 0xff, sizeof(big_state));
	memset(big_state.more, 0, sizeof(big_state.more));
	st->size = sizeof(big_state);
	st->number = 1;
	st->flags = 0;
	EXPECT_EQ(0, neg_errno(ioctl(self->fd, PERF_EVENT_IOC_GET_TRIGGER_STATE, st)));
	EXPECT_EQ(sizeof(*st), st->size);
	EXPECT_EQ(0, st->fired + st->acted + st->failed + st->last_fired_ns + st->freeze_ns);
	EXPECT_EQ(0, st->nr_events + st->snapshot + st->error + st->flags);

	/* A reader sees triggers, and cannot change them. */
	ro = ns_open(self->id, 0);
	ASSERT_LE(0, ro);
	EXPECT_EQ(0, trigger_get(ro, 1, &t));
	EXPECT_EQ(1, t.number);
	EXPECT_EQ(-ENOENT, trigger_get(ro, 2, &t));
	EXPECT_EQ(0, trigger_state(ro, 1, st));
	t = good;
	EXPECT_EQ(-EACCES, trigger_add(ro, &t));
	EXPECT_EQ(-EACCES, trigger_add_event(ro, 1, counter_open(self->cpu)));
	EXPECT_EQ(-EACCES, trigger_arm(ro, 1));
	EXPECT_EQ(-EACCES, trigger_del(ro, 1));

	/* A snapshot has no triggers. */
	ASSERT_EQ(0, take_by_hand(self->fd));
	ro = ns_open(ns_lookup(self->snap), PERF_PERSIST_OPEN_WRITE);
	ASSERT_LE(0, ro);
	EXPECT_EQ(-EOPNOTSUPP, trigger_add(ro, &t));
	EXPECT_EQ(-EOPNOTSUPP, trigger_get(ro, 1, &t));
	EXPECT_EQ(-EOPNOTSUPP, trigger_state(ro, 1, st));
	EXPECT_EQ(-EOPNOTSUPP, trigger_arm(ro, 1));
	EXPECT_EQ(-EOPNOTSUPP, trigger_del(ro, 1));
}

/* Events that cannot fire a trigger are refused, and stay as they were. */
TEST_F(trigger, bad_event)
{
	struct perf_event_trigger t = { .action = PERF_TRIGGER_DO_SNAPSHOT };
	struct perf_event_attr attr = self->attr;
	struct perf_event_trigger_state st;
	struct perf_event_persist_member p;
	struct perf_event_persist info;
	int fd, other, ro, i;
	__u64 count[2], id;

	ASSERT_EQ(0, trigger_add(self->fd, &t));
	fd = getppid_event(&self->attr, self->cpu);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-ENOENT, trigger_add_event(self->fd, 7, fd));
	EXPECT_EQ(-ENOENT, trigger_add_event(self->fd, 0, fd));
	EXPECT_EQ(-ENOENT, get_member(fd, &p));
	EXPECT_EQ(-EBADF, trigger_add_event(self->fd, 1, -1));
	EXPECT_EQ(-EBADF, trigger_add_event(self->fd, 1, 9999));
	EXPECT_EQ(-EBADF, trigger_add_event(self->fd, 1, self->fd));
	EXPECT_EQ(-EBADF, trigger_add_event(self->fd, 7, self->fd));

	other = counter_open(self->cpu);
	EXPECT_EQ(-EINVAL, trigger_add_event(self->fd, 1, other));
	attr.disabled = 1;
	other = event_open(&attr, 0, -1, -1, 0);
	ASSERT_LE(0, other);
	EXPECT_EQ(-EOPNOTSUPP, trigger_add_event(self->fd, 1, other));
	attr.write_backward = 0;
	other = event_open(&attr, -1, self->cpu, -1, 0);
	ASSERT_NE(MAP_FAILED, ring_map(other, PAGES, PROT_READ));
	EXPECT_EQ(-EINVAL, trigger_add_event(self->fd, 1, other));
	/* A buffer of its own would go with the trigger, whoever writes to it by then. */
	attr.write_backward = 1;
	other = event_open(&attr, -1, self->cpu, -1, 0);
	ASSERT_NE(MAP_FAILED, ring_map(other, PAGES, PROT_READ));
	EXPECT_EQ(-EINVAL, trigger_add_event(self->fd, 1, other));
	/* A refused event leaves the spares alone. */
	ASSERT_EQ(0, ns_spares(self->fd, 1));
	for (i = 0; i < 20; i++) {
		EXPECT_EQ(-EINVAL, trigger_add_event(self->fd, 1, other));
		ASSERT_EQ(0, get_persist(self->fd, &info));
		ASSERT_EQ(1, info.spares);
	}
	/* Nor can an event whose namespace was deleted fire. */
	other = getppid_event(&self->attr, self->cpu);
	ASSERT_LE(0, other);
	ASSERT_EQ(0, persist_new(other, &id));
	ASSERT_EQ(0, set_name(other, "%s-2", self->ns));
	ASSERT_EQ(0, ns_kill(id));
	EXPECT_EQ(-ENODEV, trigger_add_event(self->fd, 1, other));
	ro = member_reopen(self->id, 0, self->cpu, 0);
	ASSERT_LE(0, ro);
	EXPECT_EQ(-EACCES, trigger_add_event(self->fd, 1, ro));

	/* An event that is enabled stays so. */
	attr.disabled = 0;
	other = event_open(&attr, -1, self->cpu, -1, 0);
	EXPECT_EQ(-ENOENT, trigger_add_event(self->fd, 7, other));
	call_getppid(1);
	ASSERT_EQ(sizeof(count[0]), read(other, &count[0], sizeof(count[0])));
	call_getppid(1);
	ASSERT_EQ(sizeof(count[1]), read(other, &count[1], sizeof(count[1])));
	EXPECT_LT(count[0], count[1]);

	/* No event fires the trigger until the first one is added. */
	ASSERT_EQ(0, trigger_state(self->fd, 1, &st));
	EXPECT_EQ(0, st.nr_events);
	EXPECT_EQ(0, st.fired);
	EXPECT_EQ(0, trigger_add_event(self->fd, 1, fd));
	call_getppid(1);
	ASSERT_EQ(0, wait_for(self->fd, 1, 1, &st));
	EXPECT_EQ(1, st.fired);
}

/* A trigger that has acted as often as it may acts again when it is armed. */
TEST_F(trigger, armed_again)
{
	struct perf_event_trigger t = { .action = PERF_TRIGGER_DO_SNAPSHOT, .times = 1 };
	struct perf_event_trigger_state st;
	int i;

	ASSERT_EQ(0, arm(self->fd, &self->attr, self->cpu, &t));
	ASSERT_EQ(0, trigger_state(self->fd, 1, &st));
	EXPECT_EQ(0, st.flags);
	for (i = 1; i <= 3; i++) {
		ASSERT_EQ(0, fire_until_acted(self->fd, 1, &st));
		EXPECT_EQ(i, st.acted);
		EXPECT_EQ(PERF_TRIGGER_SPENT, st.flags);

		/* Until then, it only counts. */
		call_getppid(100);
		ASSERT_EQ(0, take_by_hand(self->fd));
		ASSERT_EQ(0, trigger_state(self->fd, 1, &st));
		EXPECT_EQ(i, st.acted);
		EXPECT_LE(100 * i, st.fired);
		EXPECT_EQ(PERF_TRIGGER_SPENT, st.flags);
		EXPECT_EQ(2 * i - 1, st.snapshot);

		ASSERT_EQ(0, trigger_arm(self->fd, 1));
		ASSERT_EQ(0, trigger_state(self->fd, 1, &st));
		EXPECT_EQ(0, st.flags);
		EXPECT_EQ(i, st.acted);
	}

	/* Arming keeps the settings. Arming twice is the same as once. */
	ASSERT_EQ(0, trigger_arm(self->fd, 1));
	ASSERT_EQ(0, trigger_get(self->fd, 1, &t));
	EXPECT_EQ(1, t.times);
	ASSERT_EQ(0, fire_until_acted(self->fd, 1, &st));
	EXPECT_EQ(4, st.acted);
	EXPECT_EQ(PERF_TRIGGER_SPENT, st.flags);
}

/* A trigger that is armed while its action fails acts no more often than it may. */
TEST_F(trigger, armed_while_it_fails)
{
	struct perf_event_trigger t = {
		.action = PERF_TRIGGER_DO_SNAPSHOT, .times = 1, .after_ns = SECOND,
	};
	struct perf_event_trigger_state st;

	ASSERT_EQ(0, arm(self->fd, &self->attr, self->cpu, &t));
	ASSERT_EQ(0, ns_stop(self->fd));
	call_getppid(1);
	/* The action ends after_ns from here. A machine that stalls until then tests less. */
	ASSERT_EQ(0, trigger_arm(self->fd, 1));
	ASSERT_EQ(0, wait_for(self->fd, 1, 1, &st));
	EXPECT_EQ(1, st.failed);
	EXPECT_EQ(ECANCELED, st.error);
	EXPECT_EQ(0, st.flags);
	ASSERT_EQ(0, ns_resume(self->fd));
	ASSERT_EQ(0, fire_until_acted(self->fd, 1, &st));
	EXPECT_EQ(1, st.acted);
	EXPECT_EQ(PERF_TRIGGER_SPENT, st.flags);
}

/* A trigger for a panic, an oops or a soft lockup has no event. */
TEST_F(trigger, fatal)
{
	struct perf_event_trigger t = {
		.when = PERF_TRIGGER_WHEN_PANIC, .action = PERF_TRIGGER_DO_STOP,
	};
	struct perf_event_trigger_state st;
	struct perf_event_persist_member p;
	int fd;

	ASSERT_EQ(0, trigger_add(self->fd, &t));
	t = (struct perf_event_trigger){
		.when = PERF_TRIGGER_WHEN_OOPS, .action = PERF_TRIGGER_DO_SNAPSHOT,
	};
	ASSERT_EQ(0, trigger_add(self->fd, &t));
	EXPECT_EQ(2, t.number);

	/* The event is refused, and stays ordinary. */
	fd = getppid_event(&self->attr, self->cpu);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-EINVAL, trigger_add_event(self->fd, 1, fd));
	EXPECT_EQ(-EINVAL, trigger_add_event(self->fd, 2, fd));
	EXPECT_EQ(-ENOENT, get_member(fd, &p));
	ASSERT_EQ(0, trigger_state(self->fd, 1, &st));
	EXPECT_EQ(1, st.number);
	ASSERT_EQ(0, trigger_get(self->fd, 1, &t));
	EXPECT_EQ(PERF_TRIGGER_WHEN_PANIC, t.when);
	EXPECT_EQ(0, st.nr_events);
	EXPECT_EQ(0, trigger_del(self->fd, 1));

	t = (struct perf_event_trigger){
		.when = PERF_TRIGGER_WHEN_SOFTLOCKUP, .action = PERF_TRIGGER_DO_STOP,
	};
	ASSERT_EQ(0, trigger_add(self->fd, &t));
	EXPECT_EQ(3, t.number);
	EXPECT_EQ(-EINVAL, trigger_add_event(self->fd, 3, fd));
}

/* An event whose CPU was offline fires when it is back. */
TEST_F(trigger, hotplug)
{
	struct perf_event_trigger t = { .action = PERF_TRIGGER_DO_SNAPSHOT };
	struct perf_event_trigger_state st;

	if (self->cpu2 < 0)
		SKIP(return, "needs two CPUs");
	ASSERT_EQ(0, arm(self->fd, &self->attr, self->cpu2, &t));
	if (set_online(self->cpu2, false))
		SKIP(return, "cannot take a CPU offline");
	ASSERT_EQ(0, set_online(self->cpu2, true));
	ASSERT_EQ(0, pin(self->cpu2));
	call_getppid(1);
	ASSERT_EQ(0, wait_for(self->fd, 1, 1, &st));
	EXPECT_EQ(1, st.fired);
}

/* Makes a namespace for all CPUs while @cpu2 is offline. */
static int make_for_all(const char *ns, int cpu, int cpu2, int *ns_fd)
{
	struct perf_event_attr attr = say_attr();
	struct member m;
	__u64 id;
	int err;

	if (set_online(cpu2, false))
		return 1;
	err = member_open(&m, &attr, cpu, PAGES);
	if (err)
		return err;
	err = persist_set_flags(m.fd, PERF_PERSIST_ALL_CPUS) ?: persist_new(m.fd, &id) ?:
	      set_name(m.fd, "%s-all", ns);
	member_close(&m);
	*ns_fd = err ? -1 : ns_open(id, PERF_PERSIST_OPEN_WRITE);
	if (err || *ns_fd < 0)
		return err ?: *ns_fd;

	/* The kernel covers the other CPUs a moment later, with the events that exist by then. */
	while (ns_count(id) < sysconf(_SC_NPROCESSORS_ONLN))
		poll(NULL, 0, 1);
	return 0;
}

/* A CPU that comes later gets the events that fire a trigger as well. */
TEST_F(trigger, all_cpus)
{
	struct perf_event_trigger t = { .action = PERF_TRIGGER_DO_SNAPSHOT };
	struct perf_event_trigger_state st;
	struct perf_event_attr faults = fault_attr(1000000);
	struct pollfd pfd = { .events = POLLPRI };
	struct perf_event_persist_member p;
	int err, fd;

	if (self->cpu2 < 0)
		SKIP(return, "needs two CPUs");
	err = make_for_all(self->ns, self->cpu, self->cpu2, &pfd.fd);
	if (err > 0)
		SKIP(return, "cannot take a CPU offline");
	ASSERT_EQ(0, err);

	faults.disabled = 1;
	ASSERT_EQ(0, arm(pfd.fd, &self->attr, self->cpu, &t));
	fd = event_open(&faults, -1, self->cpu, -1, 0);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, trigger_add_event(pfd.fd, 1, fd));
	close(fd);
	ASSERT_EQ(0, trigger_state(pfd.fd, 1, &st));
	EXPECT_EQ(2, st.nr_events);

	ASSERT_EQ(0, set_online(self->cpu2, true));
	ASSERT_EQ(0, wait_for_more(pfd.fd, 1, 0, 4, &st));
	EXPECT_EQ(4, st.nr_events);
	ASSERT_TRUE(wait_for_enabled_on(pfd.fd, self->cpu2, 3));
	ASSERT_TRUE(member_on(pfd.fd, self->cpu2, &p));
	EXPECT_EQ(0, p.trigger);
	EXPECT_EQ(0, p.flags & PERF_PERSIST_FOR_TRIGGER);
	ASSERT_EQ(0, next_member(pfd.fd, &p));
	EXPECT_EQ(1, p.trigger);
	EXPECT_EQ(PERF_PERSIST_FOR_TRIGGER, p.flags & PERF_PERSIST_FOR_TRIGGER);

	/* They have the filter, and a period of 1. */
	ASSERT_EQ(0, pin(self->cpu2));
	say("before");
	call_getppid(1);
	ASSERT_EQ(0, wait_for(pfd.fd, 1, 1, &st));
	EXPECT_EQ(1, st.fired);
	EXPECT_EQ(1, st.acted);

	/* They go with the trigger. */
	ASSERT_EQ(0, trigger_del(pfd.fd, 1));
	memset(&p, 0, sizeof(p));
	while (!next_member(pfd.fd, &p))
		EXPECT_EQ(0, p.flags & PERF_PERSIST_FOR_TRIGGER);
	ASSERT_EQ(0, ns_delete(pfd.fd));
}

/*
 * A CPU that was offline when a trigger got an event gets that event when it returns:
 * once, and no event that it was left out of while it was online.
 */
TEST_F(trigger, returned)
{
	struct perf_event_trigger before = { .action = PERF_TRIGGER_DO_SNAPSHOT };
	struct perf_event_trigger alone = { .action = PERF_TRIGGER_DO_SNAPSHOT };
	struct perf_event_trigger later = { .action = PERF_TRIGGER_DO_SNAPSHOT };
	struct perf_event_trigger t = { .action = PERF_TRIGGER_DO_SNAPSHOT };
	struct pollfd pfd = { .events = POLLPRI };
	struct perf_event_persist_member p;
	struct perf_event_trigger_state st;
	int err;

	if (self->cpu2 < 0)
		SKIP(return, "needs two CPUs");
	err = make_for_all(self->ns, self->cpu, self->cpu2, &pfd.fd);
	if (err > 0)
		SKIP(return, "cannot take a CPU offline");
	ASSERT_EQ(0, err);
	ASSERT_EQ(0, set_online(self->cpu2, true));
	while (!member_on(pfd.fd, self->cpu2, &p))
		ASSERT_EQ(1, poll(&pfd, 1, -1));

	ASSERT_EQ(0, arm_on_call(pfd.fd, &self->attr, self->cpu, SYS_getuid, &before));
	ASSERT_EQ(0, arm_on_call(pfd.fd, &self->attr, self->cpu2, SYS_getuid, &before));
	ASSERT_EQ(0, arm_on_call(pfd.fd, &self->attr, self->cpu, SYS_getuid, &alone));
	/* Two events that differ in their filter only: the CPU has the first one already. */
	ASSERT_EQ(0, arm_on_call(pfd.fd, &self->attr, self->cpu, SYS_getuid, &t));
	ASSERT_EQ(0, arm_on_call(pfd.fd, &self->attr, self->cpu2, SYS_getuid, &t));
	ASSERT_EQ(0, set_online(self->cpu2, false));
	ASSERT_EQ(0, arm(pfd.fd, &self->attr, self->cpu, &t));
	ASSERT_EQ(0, trigger_state(pfd.fd, t.number, &st));
	EXPECT_EQ(3, st.nr_events);

	ASSERT_EQ(0, set_online(self->cpu2, true));
	ASSERT_EQ(0, wait_for_more(pfd.fd, t.number, 0, 4, &st));
	ASSERT_TRUE(wait_for_enabled_on(pfd.fd, self->cpu2, 4));
	ASSERT_EQ(0, pin(self->cpu2));
	call_getppid(1);
	ASSERT_EQ(0, wait_for(pfd.fd, t.number, 1, &st));
	EXPECT_EQ(1, st.fired);

	/* When the last trigger has what it missed, the others have been looked at again. */
	ASSERT_EQ(0, pin(self->cpu));
	ASSERT_EQ(0, set_online(self->cpu2, false));
	ASSERT_EQ(0, arm(pfd.fd, &self->attr, self->cpu, &later));
	ASSERT_EQ(0, set_online(self->cpu2, true));
	ASSERT_EQ(0, wait_for_more(pfd.fd, later.number, 0, 2, &st));
	EXPECT_EQ(2, st.nr_events);
	ASSERT_EQ(0, trigger_state(pfd.fd, t.number, &st));
	EXPECT_EQ(4, st.nr_events);
	ASSERT_EQ(0, trigger_state(pfd.fd, alone.number, &st));
	EXPECT_EQ(1, st.nr_events);
	ASSERT_EQ(0, trigger_state(pfd.fd, before.number, &st));
	EXPECT_EQ(2, st.nr_events);
	EXPECT_EQ(0, st.fired);
	ASSERT_EQ(0, ns_delete(pfd.fd));
}

/* The kernel cannot make an event anew that has a BPF program. */
TEST_F(trigger, all_cpus_but)
{
	struct perf_event_trigger t = { .action = PERF_TRIGGER_DO_SNAPSHOT };
	struct perf_event_trigger_state st;
	struct perf_event_attr clock = fault_attr(1000000000);
	struct perf_event_attr faults = fault_attr(1000000);
	int prog, err, fd, event;

	prog = bpf_prog_open(1);
	if (prog < 0)
		SKIP(return, "no BPF programs: %s", strerror(-prog));
	if (self->cpu2 < 0)
		SKIP(return, "needs two CPUs");
	err = make_for_all(self->ns, self->cpu, self->cpu2, &fd);
	if (err > 0)
		SKIP(return, "cannot take a CPU offline");
	ASSERT_EQ(0, err);

	clock.config = PERF_COUNT_SW_CPU_CLOCK;
	clock.disabled = 1;
	faults.disabled = 1;
	event = event_open(&clock, -1, self->cpu, -1, 0);
	ASSERT_LE(0, event);
	ASSERT_EQ(0, event_ioctl(event, PERF_EVENT_IOC_SET_BPF, prog));
	ASSERT_EQ(0, trigger_on(fd, &t, event));
	event = event_open(&faults, -1, self->cpu, -1, 0);
	ASSERT_LE(0, event);
	ASSERT_EQ(0, trigger_add_event(fd, 1, event));

	ASSERT_EQ(0, set_online(self->cpu2, true));
	ASSERT_EQ(0, wait_for_more(fd, 1, 0, 3, &st));
	EXPECT_EQ(3, st.nr_events);
	ASSERT_EQ(0, ns_delete(fd));
}

/* The namespace goes with the last member that is not there for a trigger. */
TEST_F(trigger, last_member)
{
	struct perf_event_trigger t = { .action = PERF_TRIGGER_DO_SNAPSHOT };
	struct perf_event_persist_member p = {};
	int i, fd;

	fd = member_reopen(self->id, 0, self->cpu, PERF_PERSIST_OPEN_WRITE);
	ASSERT_LE(0, fd);
	for (i = 0; i < 3; i++) {
		t.number = i == 2 ? 1 : 0;
		ASSERT_EQ(0, arm(self->fd, &self->attr, self->cpu, &t));
	}
	ASSERT_EQ(4, ns_count(self->id));
	ASSERT_EQ(0, persist_claim(fd));
	EXPECT_EQ(0, ns_lookup(self->ns));
	EXPECT_EQ(-ENOENT, ns_open(self->id, 0));
	EXPECT_EQ(-ENODEV, next_member(self->fd, &p));
	call_getppid(3);
	EXPECT_EQ(0, ns_lookup(self->snap));
	EXPECT_EQ(-ENOENT, get_member(fd, &p));
}

/* A member that writes to no buffer makes no spare useless, and is in no snapshot. */
TEST_F(trigger, nothing_to_see)
{
	struct perf_event_trigger t = { .action = PERF_TRIGGER_DO_SNAPSHOT };
	struct perf_event_trigger_state st;
	struct perf_event_persist info;

	ASSERT_EQ(0, ns_spares(self->fd, 1));
	ASSERT_EQ(0, get_persist(self->fd, &info));
	ASSERT_EQ(1, info.spares);
	ASSERT_EQ(0, arm(self->fd, &self->attr, self->cpu, &t));
	/* The spare still fits. */
	ASSERT_EQ(0, get_persist(self->fd, &info));
	EXPECT_EQ(1, info.spares);
	call_getppid(1);
	ASSERT_EQ(0, wait_for(self->fd, 1, 1, &st));
	EXPECT_EQ(0, st.failed);
	EXPECT_EQ(1, ns_count(ns_lookup(self->snap)));
}

struct callchain_key {
	__u64	id;
	bool	with_chain;
};

/*
 * Matches samples of an event. @with_chain: only those that have a call chain, behind
 * PERF_SAMPLE_IDENTIFIER and PERF_SAMPLE_TID.
 */
static bool match_id(const struct perf_event_header *hdr, const void *arg)
{
	const struct callchain_key *key = arg;
	const __u64 *body = (const void *)(hdr + 1);

	return hdr->type == PERF_RECORD_SAMPLE && body[0] == key->id &&
	       (!key->with_chain || body[2] > 0);
}

/* Returns how many samples of @event_id are in the buffer of @ns on @cpu. */
static int samples_in(__u64 ns, int cpu, __u64 event_id, bool with_chain)
{
	struct callchain_key key = { event_id, with_chain };
	struct perf_event_persist_member p;
	void *map;
	int fd, n;

	fd = member_reopen(ns, 0, cpu, 0);
	if (fd < 0)
		return fd;
	n = get_member(fd, &p);
	if (!n) {
		map = ring_map(fd, p.buffer_size / page_size(), PROT_READ);
		n = map == MAP_FAILED ? -errno : ring_count(fd, map, match_id, &key);
	}
	close(fd);
	return n;
}

static void do_faults(void)
{
	touch_pages(1);
}

static void do_getppid(void)
{
	call_getppid(1);
}

/* Cycles between samples of a counter, and nanoseconds between those of a timer */
#define BURN_PERIOD	1000000

/* Takes several of these periods. */
static void burn(void)
{
	volatile unsigned int i;

	for (i = 0; i < 20 * BURN_PERIOD; i++)
		;
}

FIXTURE(cause)
{
	char	ns[NS_ROOM];
	int	cpu, cpu2;
};

FIXTURE_VARIANT(cause)
{
	const char	*what;
	void		(*cause)(void);
	bool		with_chain;
};

FIXTURE_VARIANT_ADD(cause, tracepoint)	{ "tracepoint", do_getppid, false };
FIXTURE_VARIANT_ADD(cause, kprobe)	{ "kprobe", do_getppid, true };
FIXTURE_VARIANT_ADD(cause, timer)	{ "timer", burn, true };
FIXTURE_VARIANT_ADD(cause, software)	{ "software", do_faults, true };
FIXTURE_VARIANT_ADD(cause, counter)	{ "counter", burn, true };

FIXTURE_SETUP(cause)
{
	const char *missing;

	missing = persist_begin(self->ns, &self->cpu, &self->cpu2);
	if (missing)
		SKIP(return, "%s", missing);
}

FIXTURE_TEARDOWN_PARENT(cause)
{
	persist_sweep();
}

static int cause_attr(struct perf_event_attr *attr, const char *what)
{
	bool counted;
	__u64 count;
	int fd;

	if (!strcmp(what, "tracepoint"))
		return syscall_attr(attr) ? 0 : -ENOENT;
	if (!strcmp(what, "kprobe"))
		return kprobe_attr(attr, SYSCALL_FUNC "getppid");
	*attr = fault_attr(1);
	if (!strcmp(what, "timer")) {
		attr->config = PERF_COUNT_SW_CPU_CLOCK;
		attr->sample_period = BURN_PERIOD;
	}
	if (!strcmp(what, "counter")) {
		attr->type = PERF_TYPE_HARDWARE;
		attr->config = PERF_COUNT_HW_CPU_CYCLES;
		attr->sample_period = BURN_PERIOD;
		/* Many guests have no counters, or some that stay at 0. */
		fd = event_open(attr, 0, -1, -1, 0);
		if (fd < 0)
			return fd;
		burn();
		counted = read(fd, &count, sizeof(count)) == sizeof(count) && count;
		close(fd);
		if (!counted)
			return -ENOENT;
	}
	return 0;
}

/* The record of what stopped a namespace is the last one in it. H23 */
TEST_F(cause, recorded)
{
	struct perf_event_trigger t = { .action = PERF_TRIGGER_DO_STOP };
	struct perf_event_trigger_state st;
	struct perf_event_attr attr;
	struct member m;
	__u64 id, event;
	int fd;

	if (cause_attr(&attr, variant->what))
		SKIP(return, "no such event");
	if (variant->with_chain)
		attr.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID |
				   PERF_SAMPLE_CALLCHAIN;
	attr.exclude_kernel = 0;
	attr.disabled = 1;
	ASSERT_EQ(0, member_open(&m, &attr, self->cpu, PAGES));
	if (!strcmp(variant->what, "tracepoint"))
		ASSERT_EQ(0, filter_syscall(m.fd, SYS_getppid));
	ASSERT_EQ(0, persist_new(m.fd, &id));
	ASSERT_EQ(0, set_name(m.fd, "%s", self->ns));
	fd = ns_open(id, PERF_PERSIST_OPEN_WRITE);
	ASSERT_LE(0, fd);
	event = event_id(m.fd);
	ASSERT_EQ(0, trigger_on(fd, &t, m.fd));
	EXPECT_EQ(-EBUSY, trigger_add_event(fd, 1, m.fd));
	ASSERT_EQ(0, event_ioctl(m.fd, PERF_EVENT_IOC_ENABLE, 0));
	do {
		variant->cause();
		ASSERT_EQ(0, trigger_state(fd, 1, &st));
	} while (!st.acted && !st.failed);
	EXPECT_EQ(0, st.failed);
	variant->cause();
	EXPECT_EQ(1, samples_in(id, self->cpu, event, variant->with_chain));

	/* The member stays when the trigger goes. */
	ASSERT_EQ(0, trigger_del(fd, 1));
	ASSERT_EQ(1, ns_count(id));
	ASSERT_EQ(0, ns_resume(fd));
	while (samples_in(id, self->cpu, event, false) == 1)
		variant->cause();
	ASSERT_EQ(0, ns_delete(fd));
}

/* The same for an event with a filter of its own that writes to a member's buffer */
TEST_F(trigger, redirected)
{
	struct perf_event_trigger t = { .action = PERF_TRIGGER_DO_STOP };
	struct perf_event_trigger_state st;
	struct perf_event_persist_member p = {};
	__u64 event;
	int fd, to;

	self->attr.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID |
				 PERF_SAMPLE_CALLCHAIN;
	fd = getppid_event(&self->attr, self->cpu);
	ASSERT_LE(0, fd);
	to = member_reopen(self->id, 0, self->cpu, PERF_PERSIST_OPEN_WRITE);
	ASSERT_LE(0, to);
	ASSERT_EQ(0, event_ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, to));
	event = event_id(fd);
	ASSERT_EQ(0, trigger_on(self->fd, &t, fd));
	close(fd);
	call_getppid(3);
	ASSERT_EQ(0, wait_for(self->fd, 1, 1, &st));
	EXPECT_EQ(1, samples_in(self->id, self->cpu, event, true));

	/* A snapshot has the member, too. */
	ASSERT_EQ(0, take_by_hand(self->fd));
	EXPECT_EQ(1, samples_in(ns_lookup(self->snap), self->cpu, event, true));
	EXPECT_EQ(2, ns_count(ns_lookup(self->snap)));
	ASSERT_EQ(0, trigger_del(self->fd, 1));
	ASSERT_EQ(0, next_member(self->fd, &p));
	EXPECT_EQ(-ENOENT, next_member(self->fd, &p));
}

static __u64 boottime_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return t.tv_sec * SECOND + t.tv_nsec;
}

/* However often a trigger is fired, it rests after it has acted, so that others can run. H29 */
TEST_F(trigger, rests)
{
	struct perf_event_trigger t = { .action = PERF_TRIGGER_DO_STOP };
	struct perf_event_trigger_state st;
	__u64 begin;
	int i;

	begin = boottime_ns();
	ASSERT_EQ(0, arm(self->fd, &self->attr, self->cpu, &t));
	for (i = 1; i <= 20; i++) {
		ASSERT_EQ(0, fire(self->fd, 1, &st));
		ASSERT_EQ(i, st.acted);
		EXPECT_LE(st.acted, (boottime_ns() - begin) / REST + 1);
		ASSERT_EQ(0, ns_resume(self->fd));
	}
	EXPECT_EQ(0, st.failed);
}

/* The action of a trigger may fire it again. H29 */
TEST_F(trigger, feeds_itself)
{
	struct perf_event_trigger t = { .action = PERF_TRIGGER_DO_SNAPSHOT };
	struct perf_event_trigger_state st;
	char text[32];
	__u64 begin;
	int cpu, fd;

	if (read_file("/sys/kernel/tracing/events/workqueue/workqueue_execute_end/id", text,
		      sizeof(text)) <= 0)
		SKIP(return, "no such tracepoint");
	self->attr.config = strtoull(text, NULL, 0);
	begin = boottime_ns();
	ASSERT_EQ(0, trigger_add(self->fd, &t));
	/* The worker runs on any CPU that has room for it. */
	for (cpu = 0; cpu < sysconf(_SC_NPROCESSORS_CONF); cpu++) {
		fd = event_open(&self->attr, -1, cpu, -1, 0);
		if (fd >= 0)
			ASSERT_EQ(0, trigger_add_event(self->fd, t.number, fd));
	}
	ASSERT_EQ(0, wait_for(self->fd, 1, 20, &st));
	EXPECT_EQ(0, st.failed);
	EXPECT_LE(st.acted, (boottime_ns() - begin) / REST + 1);
}

#define FAIR_SERVER	"/sys/kernel/debug/sched/fair_server/cpu%d/runtime"

/* Fires trigger 1, and lets nothing else run on this CPU until it has acted. */
static int fire_and_hog(int ns_fd, struct perf_event_trigger_state *st)
{
	struct sched_param param = { .sched_priority = 1 };
	__u64 begin;
	int err;

	if (sched_setscheduler(0, SCHED_FIFO, &param))
		return -errno;
	call_getppid(1);
	begin = boottime_ns();
	do {
		err = trigger_state(ns_fd, 1, st);
	} while (!err && !st->acted && !st->failed && boottime_ns() - begin < 10 * SECOND);
	param.sched_priority = 0;
	sched_setscheduler(0, SCHED_OTHER, &param);
	return err;
}

/* A trigger acts even if the CPU on which it is fired has no time for workers. H29 */
TEST_F(trigger, busy_cpu)
{
	struct perf_event_trigger t = { .action = PERF_TRIGGER_DO_STOP };
	struct perf_event_trigger_state st;
	char path[64], old[32];
	int err;

	if (geteuid() || self->cpu2 < 0)
		SKIP(return, "needs root and two CPUs");
	snprintf(path, sizeof(path), FAIR_SERVER, self->cpu);
	if (read_file(path, old, sizeof(old)) <= 0)
		SKIP(return, "the scheduler leaves ordinary tasks some time");
	ASSERT_EQ(0, arm(self->fd, &self->attr, self->cpu, &t));
	pin(self->cpu);
	ASSERT_EQ(0, write_file(path, "0"));
	err = fire_and_hog(self->fd, &st);
	EXPECT_EQ(0, write_file(path, old));
	ASSERT_EQ(0, err);
	EXPECT_EQ(1, st.acted);
	EXPECT_EQ(0, st.failed);
}

/* Processes make, fire and delete triggers at once, and the namespace with them. */
TEST_F(trigger, race)
{
	pid_t pids[4];
	int i, n;

	for (i = 0; i < 4; i++) {
		pids[i] = fork_child();
		if (pids[i])
			continue;
		srand(i);
		for (n = 0; n < 60; n++) {
			struct perf_event_trigger t = {
				.action = n % 2, .after_ns = rand() % 3 * 1000000,
			};
			int err, fd;

			fd = getppid_event(&self->attr, self->cpu);
			if (fd < 0)
				_exit(4);
			err = trigger_on(self->fd, &t, fd);
			if (err == -ENODEV && i)
				break;
			/* Another process may have deleted the trigger between the two steps. */
			if (err && (err != -ENOENT || !t.number))
				_exit(1);
			trigger_arm(self->fd, t.number);
			call_getppid(rand() % 5);
			/* Its own trigger, or another one: 64 are too many. */
			err = trigger_del(self->fd, t.number - rand() % 2);
			if (err == -ENOENT)
				trigger_del(self->fd, t.number);
			/*
			 * The event may be ordinary again, or not yet, or deleted with
			 * the rest.
			 */
			err = event_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
			if (err && (err != -ENODEV || !i))
				_exit(5);
			call_getppid(3);
			close(fd);
			if (ns_resume(self->fd) && !i)
				_exit(2);
		}
		if (!i && ns_delete(self->fd))
			_exit(3);
		_exit(0);
	}
	for (i = 0; i < 4; i++)
		EXPECT_EQ(0, child_status(pids[i]));
}

TEST_HARNESS_MAIN
