// SPDX-License-Identifier: GPL-2.0
/*
 * The life of persistent events: what keeps them alive, and what ends them.
 */
#include "persistent.h"

FIXTURE(lifetime)
{
	char	ns[NS_ROOM];
	int	cpu, cpu2;
};

FIXTURE_SETUP(lifetime)
{
	const char *missing;

	missing = persist_begin(self->ns, &self->cpu, &self->cpu2);
	if (missing)
		SKIP(return, "%s", missing);
}

FIXTURE_TEARDOWN_PARENT(lifetime)
{
	persist_sweep();
}

/* The first close does not kill: another opener reads, polls, and gets new samples. H1 */
TEST_F(lifetime, close_one_of_two)
{
	struct perf_event_attr attr = say_attr();
	__u64 id, count[2];
	struct member m;
	void *map, *map2;
	int fd, fd2;

	ASSERT_EQ(0, ns_create(&m, &attr, self->cpu, PAGES, self->ns, &id));
	fd = member_reopen(id, 0, self->cpu, 0);
	fd2 = member_reopen(id, 0, self->cpu, 0);
	ASSERT_LE(0, fd);
	ASSERT_LE(0, fd2);
	map = ring_map(fd, PAGES, PROT_READ);
	map2 = ring_map(fd2, PAGES, PROT_READ);
	ASSERT_NE(MAP_FAILED, map);
	ASSERT_NE(MAP_FAILED, map2);

	/* The creator first, then a reader. */
	member_close(&m);
	say("creator closed");
	EXPECT_EQ(1, heard(fd, map, "creator closed"));
	EXPECT_EQ(1, heard(fd2, map2, "creator closed"));

	munmap(map, ring_len(PAGES));
	close(fd);
	poll_now(fd2);
	say("reader closed");
	EXPECT_EQ(POLLIN, poll_now(fd2));
	EXPECT_EQ(1, heard(fd2, map2, "reader closed"));
	EXPECT_EQ((ssize_t)sizeof(count[0]), read(fd2, count, sizeof(count)));
}

/* The same for a writer, whose close must not disable anything. H1 */
TEST_F(lifetime, close_writer)
{
	struct perf_event_attr attr = say_attr();
	__u64 id;
	void *map;
	int fd;

	ASSERT_EQ(0, ns_create_leave(&attr, self->cpu, PAGES, self->ns, &id));
	fd = member_reopen(id, 0, self->cpu, PERF_PERSIST_OPEN_WRITE);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, close(fd));
	fd = member_reopen(id, 0, self->cpu, 0);
	ASSERT_LE(0, fd);
	map = ring_map(fd, PAGES, PROT_READ);
	ASSERT_NE(MAP_FAILED, map);
	say("no writer");
	EXPECT_EQ(1, heard(fd, map, "no writer"));
}

/* Writes half a buffer, which wakes readers if no watermark was set. */
static void say_half(void)
{
	char text[16];
	unsigned int i;

	for (i = 0; i < PAGES * page_size() / 2 / 16; i++) {
		snprintf(text, sizeof(text), "wake up %06u", i % 1000000);
		say(text);
	}
}

FIXTURE(wakeup)
{
	char	ns[NS_ROOM];
	int	cpu, cpu2;
	__u64	id, event[2];
};

FIXTURE_VARIANT(wakeup)
{
	bool	mapped;
};

/* The second event writes to the buffer of the first. It may have the buffer mapped as well. */
FIXTURE_VARIANT_ADD(wakeup, redirected)
{
	.mapped = false,
};

FIXTURE_VARIANT_ADD(wakeup, mapped_twice)
{
	.mapped = true,
};

FIXTURE_SETUP(wakeup)
{
	struct perf_event_attr attr = say_attr();
	struct member m[2];
	const char *missing;
	int i;

	missing = persist_begin(self->ns, &self->cpu, &self->cpu2);
	if (missing)
		SKIP(return, "%s", missing);
	attr.watermark = 0;
	attr.wakeup_watermark = 0;
	ASSERT_EQ(0, member_open(&m[0], &attr, self->cpu, PAGES));
	/* This one records no names, so that each say() makes one record. */
	attr.comm = 0;
	ASSERT_EQ(0, member_open(&m[1], &attr, self->cpu, 0));
	ASSERT_EQ(0, event_ioctl(m[1].fd, PERF_EVENT_IOC_SET_OUTPUT, m[0].fd));
	if (variant->mapped) {
		m[1].pages = PAGES;
		m[1].map = ring_map(m[1].fd, PAGES, PROT_READ);
		if (no_redirected_map(m[1].map))
			SKIP(return, "this kernel maps no redirected event");
		ASSERT_NE(MAP_FAILED, m[1].map);
	}
	ASSERT_EQ(0, persist_new(m[0].fd, &self->id));
	ASSERT_EQ(0, persist_join(m[1].fd, self->id));
	ASSERT_EQ(0, set_name_str(m[0].fd, self->ns));
	for (i = 0; i < 2; i++) {
		self->event[i] = event_id(m[i].fd);
		member_close(&m[i]);
	}
}

FIXTURE_TEARDOWN_PARENT(wakeup)
{
	persist_sweep();
}

/* A reader is woken whichever of the members it has open. H34 */
TEST_F(wakeup, each_member)
{
	int i, fd;

	for (i = 0; i < 4; i++) {
		fd = member_reopen(self->id, self->event[i % 2], -1, 0);
		ASSERT_LE(0, fd);
		say_half();
		EXPECT_EQ(POLLIN, poll_now(fd))
			TH_LOG("member %d", i % 2);
		/* One wakeup for each half */
		EXPECT_EQ(0, poll_now(fd));
		say_half();
		EXPECT_EQ(POLLIN, poll_now(fd))
			TH_LOG("member %d", i % 2);
		close(fd);
	}
}

/* Closing one member takes no wakeups from readers of the other. H34 */
TEST_F(wakeup, close_another)
{
	int i, fd[2];

	for (i = 0; i < 2; i++) {
		fd[0] = member_reopen(self->id, self->event[0], -1, 0);
		fd[1] = member_reopen(self->id, self->event[1], -1, 0);
		ASSERT_LE(0, fd[0]);
		ASSERT_LE(0, fd[1]);
		say_half();
		EXPECT_EQ(POLLIN, poll_now(fd[0]));
		close(fd[i]);
		poll_now(fd[!i]);
		say_half();
		EXPECT_EQ(POLLIN, poll_now(fd[!i]))
			TH_LOG("member %d was closed", i);
		close(fd[!i]);
	}
}

/* With no descriptor and no mapping left, a buffer keeps what it holds and goes on recording. H2 */
TEST_F(lifetime, nobody_holds_it)
{
	struct perf_event_attr attr = say_attr();
	struct member m;
	void *map;
	__u64 id;
	int i;

	ASSERT_EQ(0, ns_create(&m, &attr, self->cpu, PAGES, self->ns, &id));
	say("mapped");
	member_close(&m);
	say("alone");

	/* Readers come and go. */
	for (i = 1; i <= 3; i++) {
		m.fd = member_reopen(id, 0, self->cpu, 0);
		ASSERT_LE(0, m.fd);
		map = ring_map(m.fd, PAGES, PROT_READ);
		ASSERT_NE(MAP_FAILED, map);
		EXPECT_EQ(1, heard(m.fd, map, "mapped"));
		EXPECT_EQ(i, heard(m.fd, map, "alone"));
		munmap(map, ring_len(PAGES));
		close(m.fd);
		say("alone");
	}
	EXPECT_EQ(id, ns_lookup(self->ns));
	EXPECT_EQ(1, ns_count(id));
}

/* A mapping outlives all descriptors, and the buffer outlives the mapping. H2 */
TEST_F(lifetime, unmap_after_close)
{
	struct perf_event_attr attr = say_attr();
	struct member m;
	void *map;
	__u64 id;

	ASSERT_EQ(0, ns_create(&m, &attr, self->cpu, PAGES, self->ns, &id));
	close(m.fd);
	say("closed");
	EXPECT_EQ(1, heard(-1, m.map, "closed"));
	member_unmap(&m);
	m.fd = member_reopen(id, 0, self->cpu, 0);
	ASSERT_LE(0, m.fd);
	map = ring_map(m.fd, PAGES, PROT_READ);
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(1, heard(m.fd, map, "closed"));
}

/* Starts a process that makes a namespace, publishes it if @publish, and waits for a signal. */
static pid_t creator_start(const char *ns, int cpu, bool publish, __u64 *id)
{
	struct perf_event_attr attr = say_attr();
	struct member m[2];
	int ready[2];
	pid_t pid;
	bool ok;

	if (pipe(ready))
		return -1;
	pid = fork_child();
	if (!pid) {
		ok = !member_open(&m[0], &attr, cpu, PAGES) &&
		     !member_open(&m[1], &attr, cpu, 1) &&
		     !persist_new(m[0].fd, id) &&
		     !persist_join(m[1].fd, *id) &&
		     (!publish || !set_name_str(m[0].fd, ns));
		if (!ok)
			_exit(1);
		say("creator lives");
		if (write(ready[1], id, sizeof(*id)) != sizeof(*id))
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	if (read(ready[0], id, sizeof(*id)) != sizeof(*id)) {
		waitpid(pid, NULL, 0);
		pid = -1;
	}
	close(ready[0]);
	return pid;
}

/* The creator is killed, and everything is still there. */
TEST_F(lifetime, creator_killed)
{
	void *map;
	__u64 id;
	pid_t pid;
	int fd;

	pid = creator_start(self->ns, self->cpu, true, &id);
	ASSERT_LT(0, pid);
	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(-1, child_status(pid));
	say("creator dead");

	EXPECT_EQ(id, ns_lookup(self->ns));
	EXPECT_EQ(2, ns_count(id));
	fd = member_reopen(id, 0, self->cpu, 0);
	ASSERT_LE(0, fd);
	map = ring_map(fd, PAGES, PROT_READ);
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(1, heard(fd, map, "creator lives"));
	EXPECT_EQ(1, heard(fd, map, "creator dead"));
}

/* An unpublished namespace cannot be opened or joined by others, and goes with its creator. */
TEST_F(lifetime, creator_killed_half_way)
{
	__u64 id;
	pid_t pid;
	int fd;

	fd = counter_open(self->cpu);
	ASSERT_LE(0, fd);
	pid = creator_start(self->ns, self->cpu, false, &id);
	ASSERT_LT(0, pid);
	EXPECT_EQ(-ENOENT, ns_open(id, 0));
	EXPECT_EQ(-ENOENT, member_reopen(id, 0, self->cpu, 0));
	EXPECT_EQ(-ENOENT, persist_join(fd, id));

	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(-1, child_status(pid));
	EXPECT_EQ(-ENOENT, ns_open(id, 0));
	EXPECT_EQ(-ENOENT, member_reopen(id, 0, self->cpu, 0));
	EXPECT_EQ(-ENOENT, persist_join(fd, id));
	EXPECT_EQ(0, ns_lookup(self->ns));
}

/* The same when the creator exits on its own. */
TEST_F(lifetime, creator_exits_half_way)
{
	struct {
		__u64 id;
	} *shared;
	pid_t pid;
	int fd;

	shared = mmap(NULL, page_size(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, shared);
	pid = fork_child();
	ASSERT_LE(0, pid);
	if (!pid) {
		fd = counter_open(self->cpu);
		_exit(-persist_new(fd, &shared->id));
	}
	ASSERT_EQ(0, child_status(pid));
	EXPECT_EQ(-ENOENT, ns_open(shared->id, 0));
	fd = counter_open(self->cpu);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-ENOENT, persist_join(fd, shared->id));
}

/* Members of an unnamed namespace each go with their own descriptors. */
TEST_F(lifetime, unnamed_members_die_one_by_one)
{
	struct perf_event_attr attr = say_attr();
	struct member m[3];
	__u64 id;
	int i;

	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, member_open(&m[i], &attr, self->cpu, 1));
	ASSERT_EQ(0, persist_new(m[0].fd, &id));
	ASSERT_EQ(0, persist_join(m[1].fd, id));
	ASSERT_EQ(0, persist_join(m[2].fd, id));
	member_close(&m[0]);
	member_close(&m[1]);
	ASSERT_EQ(0, set_name(m[2].fd, "%s", self->ns));
	EXPECT_EQ(1, ns_count(id));
}

/* The last one to go ends the unnamed namespace. */
TEST_F(lifetime, unnamed_namespace_ends_with_its_last_member)
{
	int fd, fd2;
	__u64 id;

	fd = counter_open(self->cpu);
	fd2 = counter_open(self->cpu);
	ASSERT_LE(0, fd);
	ASSERT_LE(0, fd2);
	ASSERT_EQ(0, persist_new(fd, &id));
	close(fd);
	EXPECT_EQ(-ENOENT, persist_join(fd2, id));
}

/* Delete is unlink: the name goes and the recording stops, whoever has it open. */
TEST_F(lifetime, delete)
{
	struct perf_event_attr attr = say_attr();
	struct perf_event_mmap_page *map;
	struct perf_event_persist_member p;
	struct perf_event_persist info;
	int reader, writer, ns;
	struct member m;
	__u64 id;

	ASSERT_EQ(0, ns_create(&m, &attr, self->cpu, PAGES, self->ns, &id));
	reader = member_reopen(id, 0, self->cpu, 0);
	writer = member_reopen(id, 0, self->cpu, PERF_PERSIST_OPEN_WRITE);
	ns = ns_open(id, PERF_PERSIST_OPEN_WRITE);
	ASSERT_LE(0, reader);
	ASSERT_LE(0, writer);
	ASSERT_LE(0, ns);
	map = ring_map(reader, PAGES, PROT_READ);
	ASSERT_NE(MAP_FAILED, map);
	say("recorded");
	EXPECT_EQ(0, poll_now(reader) & POLLHUP);
	EXPECT_EQ(0, poll_now(m.fd) & POLLHUP);

	ASSERT_EQ(0, ns_delete(ns));
	EXPECT_EQ(0, ns_lookup(self->ns));
	EXPECT_EQ(-ENOENT, ns_open(id, 0));
	EXPECT_EQ(-ENOENT, member_reopen(id, 0, self->cpu, 0));
	EXPECT_EQ(-ENODEV, ns_delete(ns));

	/* Mapped buffers stay readable, even without a descriptor. */
	say("too late");
	EXPECT_EQ(1, heard(-1, map, "recorded"));
	EXPECT_EQ(0, heard(-1, map, "too late"));
	EXPECT_EQ(0, heard(-1, m.map, "too late"));

	/* A reader in the middle of a copy can still ask how far it is good. */
	ASSERT_EQ(0, get_member(reader, &p));
	ASSERT_EQ(0, get_persist(reader, &info));
	EXPECT_EQ(id, info.ns_id);
	EXPECT_STREQ(self->ns, info.name);
	EXPECT_EQ(map->data_head, p.head);
	EXPECT_NE(0, p.flags & PERF_PERSIST_DISABLED);

	/* Nothing brings it back. */
	EXPECT_EQ(POLLHUP, poll_now(reader) & POLLHUP);
	EXPECT_EQ(POLLHUP, poll_now(writer) & POLLHUP);
	EXPECT_EQ(POLLHUP, poll_now(m.fd) & POLLHUP);
	EXPECT_EQ(-ENODEV, event_ioctl(writer, PERF_EVENT_IOC_ENABLE, 0));
	EXPECT_EQ(-ENODEV, event_ioctl(m.fd, PERF_EVENT_IOC_ENABLE, 0));
	say("revived");
	EXPECT_EQ(0, heard(-1, map, "revived"));
	EXPECT_EQ(-ENODEV, ring_map_err(reader, PAGES, PROT_READ));
	EXPECT_EQ(-ENODEV, ring_map_err(writer, PAGES, PROT_READ));
	EXPECT_EQ(-ENODEV, ring_map_err(m.fd, PAGES, PROT_READ));
	EXPECT_EQ(-ENODEV, ring_map_err(m.fd, 0, PROT_READ));

	close(reader);
	close(writer);
	member_close(&m);
	EXPECT_EQ(1, heard(-1, map, "recorded"));
}

/* A namespace that nobody has open can be deleted. */
TEST_F(lifetime, delete_when_alone)
{
	struct perf_event_attr attr = say_attr();
	__u64 id;

	ASSERT_EQ(0, ns_create_leave(&attr, self->cpu, PAGES, self->ns, &id));
	EXPECT_EQ(0, ns_kill(id));
	EXPECT_EQ(0, ns_lookup(self->ns));
	EXPECT_EQ(-ENOENT, ns_kill(id));
}

/* A waiting reader learns of the deletion, and the deletion does not wait for it. */
TEST_F(lifetime, delete_under_a_reader)
{
	struct perf_event_attr attr = say_attr();
	int status, ready[2], done[2];
	pid_t pid;
	__u64 id;
	char c;

	ASSERT_EQ(0, ns_create_leave(&attr, self->cpu, PAGES, self->ns, &id));
	ASSERT_EQ(0, pipe(ready));
	ASSERT_EQ(0, pipe(done));
	say("before");

	pid = fork_child();
	ASSERT_LE(0, pid);
	if (!pid) {
		struct pollfd pfd = { .events = POLLIN };
		void *map;

		close(done[1]);
		pfd.fd = member_reopen(id, 0, self->cpu, 0);
		map = ring_map(pfd.fd, PAGES, PROT_READ);
		if (pfd.fd < 0 || map == MAP_FAILED || write(ready[1], "r", 1) != 1)
			_exit(1);
		do {
			if (poll(&pfd, 1, -1) <= 0)
				_exit(2);
		} while (!(pfd.revents & POLLHUP));

		/* Keep it mapped until the parent has seen the deletion return. */
		if (heard(-1, map, "before") != 1)
			_exit(3);
		if (read(done[0], &c, 1) != 1 || heard(-1, map, "before") != 1)
			_exit(4);
		_exit(0);
	}
	ASSERT_EQ(1, read(ready[0], &c, 1));
	EXPECT_EQ(0, ns_kill(id));
	EXPECT_EQ(0, ns_lookup(self->ns));
	ASSERT_EQ(1, write(done[1], "d", 1));
	status = child_status(pid);
	EXPECT_EQ(0, status);
}

/*
 * Readers of a name that is created and deleted all the time: each call works or fails
 * cleanly.
 */
TEST_F(lifetime, delete_in_a_loop)
{
	struct perf_event_attr attr = say_attr();
	pid_t pid[2];
	unsigned int i, n;
	__u64 id;

	for (i = 0; i < ARRAY_SIZE(pid); i++) {
		pid[i] = fork_child();
		ASSERT_LE(0, pid[i]);
		if (pid[i])
			continue;
		pin(self->cpu2 < 0 ? self->cpu : self->cpu2);
		for (;;) {
			void *map;
			int fd;

			id = ns_lookup(self->ns);
			fd = member_reopen(id, 0, self->cpu, 0);
			if (fd < 0 && fd != -ENOENT && (id || fd != -EINVAL))
				_exit(-fd);
			if (fd < 0)
				continue;
			map = ring_map(fd, 1, PROT_READ);
			if (map == MAP_FAILED && errno != ENODEV)
				_exit(errno);
			if (map != MAP_FAILED) {
				heard(fd, map, "loop");
				munmap(map, ring_len(1));
			}
			close(fd);
		}
	}

	for (n = 0; n < 30; n++) {
		EXPECT_EQ(0, ns_create_leave(&attr, self->cpu, 1, self->ns, &id));
		say("loop");
		EXPECT_EQ(0, ns_kill(id));
	}
	for (i = 0; i < ARRAY_SIZE(pid); i++) {
		kill(pid[i], SIGKILL);
		EXPECT_EQ(-1, child_status(pid[i]))
			TH_LOG("a reader failed");
	}
}

/* prctl() disables all events of the creator, except published ones. */
TEST_F(lifetime, prctl_does_not_reach)
{
	struct perf_event_attr attr = say_attr();
	struct member m, ordinary;
	__u64 id;

	ASSERT_EQ(0, member_open(&ordinary, &attr, self->cpu, PAGES));
	ASSERT_EQ(0, ns_create(&m, &attr, self->cpu, PAGES, self->ns, &id));
	ASSERT_EQ(0, prctl(PR_TASK_PERF_EVENTS_DISABLE));
	say("switched off?");
	EXPECT_EQ(0, heard(-1, ordinary.map, "switched off?"));
	EXPECT_EQ(1, heard(m.fd, m.map, "switched off?"));
}

/* Events of a task are never members. They are switched with all of their children. */
TEST_F(lifetime, inherited)
{
	struct perf_event_attr attr = fault_attr(0);
	__u64 count[2];
	pid_t pid;
	int fd, i;

	attr.inherit = 1;
	fd = event_open(&attr, 0, -1, -1, 0);
	ASSERT_LE(0, fd);
	pid = fork_child();
	ASSERT_LE(0, pid);
	if (!pid) {
		for (;;)
			touch_pages(1);
	}
	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, event_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0));
		ASSERT_EQ((ssize_t)sizeof(count[0]), read(fd, &count[0], sizeof(count[0])));
		ASSERT_EQ((ssize_t)sizeof(count[1]), read(fd, &count[1], sizeof(count[1])));
		EXPECT_EQ(count[0], count[1]);
		ASSERT_EQ(0, event_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0));
		ASSERT_EQ(0, prctl(PR_TASK_PERF_EVENTS_DISABLE));
		ASSERT_EQ(0, prctl(PR_TASK_PERF_EVENTS_ENABLE));
	}
	kill(pid, SIGKILL);
	EXPECT_EQ(-1, child_status(pid));
}

TEST_HARNESS_MAIN
