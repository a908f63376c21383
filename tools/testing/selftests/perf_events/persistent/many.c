// SPDX-License-Identifier: GPL-2.0
/*
 * Many namespaces, many readers, and many that come and go. H15, H20
 *
 * PERSISTENT_CYCLES in the environment: how often a namespace is created and deleted,
 * 2,000 by default. Namespaces of tracepoints need a grace period each, and do about a
 * hundredth of that.
 */
#include "balance.h"

#define SPACES		1000
#define READERS		64
#define CYCLES		2000
#define TP_CYCLES	100
#define MAX_TP_CYCLES	1000

FIXTURE(many)
{
	char	ns[NS_ROOM];
	int	cpu, cpu2;
	int	cycles;
	struct balance before;
};

FIXTURE_SETUP(many)
{
	struct rlimit files = { SPACES + 100, SPACES + 100 }, now;
	const char *missing, *cycles = getenv("PERSISTENT_CYCLES");

	missing = persist_begin(self->ns, &self->cpu, &self->cpu2);
	if (missing)
		SKIP(return, "%s", missing);
	ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &now));
	if (now.rlim_cur < files.rlim_cur)
		ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &files));
	self->cycles = cycles ? atoi(cycles) : CYCLES;
	ASSERT_LT(0, self->cycles);
	balance_settle(&self->before);
}

FIXTURE_TEARDOWN_PARENT(many)
{
	persist_sweep();
}

static char *nth_name(const char *ns, int n, char *name)
{
	snprintf(name, NAME_ROOM, "%s-%d", ns, n);
	return name;
}

/* Whether the namespace has this name, and one member. */
static bool lists(int ns_fd, const char *name)
{
	struct perf_event_persist_member p = {};
	struct perf_event_persist info;

	return !get_persist(ns_fd, &info) && !strcmp(name, info.name) &&
	       info.nr_members == 1 && !next_member(ns_fd, &p) &&
	       next_member(ns_fd, &p) == -ENOENT;
}

static int open_by_name(const char *name, __u64 how)
{
	int err, fd;

	fd = ns_open(~0ULL, how);
	if (fd < 0)
		return fd;
	err = set_name_str(fd, name);
	if (err)
		close(fd);
	return err ? err : fd;
}

/* A thousand namespaces: each is found, read and deleted as if it were alone. */
TEST_F(many, at_once)
{
	struct perf_event_attr attr = say_attr();
	char name[NAME_ROOM];
	__u64 id[SPACES];
	struct balance b;
	int i, fd;

	for (i = 0; i < SPACES; i++) {
		ASSERT_EQ(0, ns_create_leave(&attr, self->cpu, 1, nth_name(self->ns, i, name),
					     &id[i]))
			TH_LOG("number %d", i);
		if (i)
			ASSERT_LT(id[i - 1], id[i]);
	}
	EXPECT_EQ(self->before.spaces + SPACES, balance_spaces());
	say("to all of them");

	for (i = 0; i < SPACES; i++) {
		nth_name(self->ns, i, name);
		ASSERT_EQ(id[i], ns_lookup(name));
		fd = ns_open(id[i], 0);
		ASSERT_LE(0, fd);
		ASSERT_TRUE(lists(fd, name));
		close(fd);
		fd = open_by_name(name, 0);
		ASSERT_LE(0, fd);
		ASSERT_TRUE(lists(fd, name));
		close(fd);
		if (i % 10 == 0) {
			void *map;

			fd = member_reopen(id[i], 0, self->cpu, 0);
			ASSERT_LE(0, fd);
			map = ring_map(fd, 1, PROT_READ);
			ASSERT_NE(MAP_FAILED, map);
			ASSERT_EQ(1, heard(fd, map, "to all of them"));
			munmap(map, ring_len(1));
			close(fd);
		}
	}

	/* Delete a third by id and a third by name. The rest is still there, and nothing else. */
	for (i = 0; i < SPACES; i++) {
		if (i % 3 == 0) {
			ASSERT_EQ(0, ns_kill(id[i]));
		} else if (i % 3 == 1) {
			fd = open_by_name(nth_name(self->ns, i, name), PERF_PERSIST_OPEN_WRITE);
			ASSERT_LE(0, fd);
			ASSERT_EQ(0, ns_delete(fd));
			close(fd);
		}
	}
	EXPECT_EQ(self->before.spaces + SPACES / 3, balance_spaces());
	for (i = 0; i < SPACES; i++) {
		nth_name(self->ns, i, name);
		ASSERT_EQ(i % 3 == 2 ? id[i] : 0, ns_lookup(name));
		ASSERT_EQ(i % 3 == 2 ? 1 : -ENOENT, ns_count(id[i]));
		fd = open_by_name(name, 0);
		ASSERT_TRUE(i % 3 == 2 ? fd >= 0 : fd == -ENOENT) TH_LOG("%s: %d", name, fd);
		close(fd);
	}
	for (i = 2; i < SPACES; i += 3)
		ASSERT_EQ(0, ns_kill(id[i]));
	EXPECT_TRUE(balance_back(&self->before, &b)) {
		balance_print("before", &self->before);
		balance_print("after", &b);
	}
}

/* One namespace with as many members */
TEST_F(many, members)
{
	struct perf_event_attr attr = fault_attr(0);
	struct perf_event_persist_member p = {};
	__u64 id = PERF_PERSIST_NEW, last = 0;
	int i, fd, ns_fd;
	struct balance b;

	for (i = 0; i < SPACES; i++) {
		fd = event_open(&attr, -1, self->cpu, -1, 0);
		ASSERT_LE(0, fd);
		ASSERT_EQ(0, set_name(fd, "%s/number-%d", i ? "" : self->ns, i));
		ASSERT_EQ(0, i ? persist_join(fd, id) : persist_new(fd, &id));
		close(fd);
	}
	touch_pages(1);
	ns_fd = ns_open(id, PERF_PERSIST_OPEN_WRITE);
	ASSERT_LE(0, ns_fd);
	for (i = 0; i < SPACES; i++) {
		char label[32];
		__u64 value;

		ASSERT_EQ(0, next_member(ns_fd, &p));
		ASSERT_LT(last, p.event_id);
		last = p.event_id;
		snprintf(label, sizeof(label), "number-%d", i);
		ASSERT_STREQ(label, p.label);
		fd = member_reopen(id, p.event_id, -1, 0);
		ASSERT_LE(0, fd);
		ASSERT_EQ(sizeof(value), read(fd, &value, sizeof(value)));
		ASSERT_LT(0, value);
		close(fd);
	}
	EXPECT_EQ(-ENOENT, next_member(ns_fd, &p));
	EXPECT_EQ(0, event_ioctl(ns_fd, PERF_EVENT_IOC_DISABLE, 0));
	EXPECT_EQ(0, ns_delete(ns_fd));
	close(ns_fd);
	EXPECT_TRUE(balance_back(&self->before, &b)) {
		balance_print("before", &self->before);
		balance_print("after", &b);
	}
}

/* Creates and deletes a namespace of one name again and again. */
static void cycle(struct __test_metadata *_metadata, const struct balance *before,
		  const char *ns, struct perf_event_attr *attr, int cpu, int cycles)
{
	struct balance b;
	__u64 id, last = 0;
	int i;

	for (i = 0; i < cycles; i++) {
		ASSERT_EQ(0, ns_create_leave(attr, cpu, 1, ns, &id))
			TH_LOG("number %d", i);
		ASSERT_LT(last, id);
		last = id;
		ASSERT_EQ(id, ns_lookup(ns));
		ASSERT_EQ(0, ns_kill(id));
		ASSERT_EQ(0, ns_lookup(ns));
	}
	EXPECT_TRUE(balance_back(before, &b)) {
		balance_print("before", before);
		balance_print("after", &b);
	}
	EXPECT_TRUE(balance_allowance(cpu));
}

/* Creating and deleting again and again leaks nothing, and charges nothing for good. */
TEST_F_TIMEOUT(many, cycles, 3600)
{
	struct perf_event_attr attr = say_attr();

	if (!balance_allowance(self->cpu))
		SKIP(return, "others have buffers too");
	cycle(_metadata, &self->before, self->ns, &attr, self->cpu, self->cycles);
}

/* The same with tracepoints, each of which needs a grace period */
TEST_F_TIMEOUT(many, tracepoint_cycles, 3600)
{
	struct perf_event_attr attr;
	int cycles = self->cycles / 100;

	if (!syscall_attr(&attr))
		SKIP(return, "no tracepoints of system calls");
	if (!balance_allowance(self->cpu))
		SKIP(return, "others have buffers too");
	if (cycles < TP_CYCLES)
		cycles = self->cycles < TP_CYCLES ? self->cycles : TP_CYCLES;
	if (cycles > MAX_TP_CYCLES)
		cycles = MAX_TP_CYCLES;
	cycle(_metadata, &self->before, self->ns, &attr, self->cpu, cycles);
}

/* A child writes a byte when it has done its part, and then waits to be killed. */
struct child {
	pid_t	pid;
	int	ready;
};

static void child_ready(int fd)
{
	write(fd, "r", 1);
}

static bool child_is_ready(struct child *c)
{
	char byte;

	return read(c->ready, &byte, 1) == 1;
}

static void child_end(struct child *c)
{
	kill(c->pid, SIGKILL);
	waitpid(c->pid, NULL, 0);
	close(c->ready);
}

static bool child_fork(struct child *c, int *fd)
{
	int p[2];

	if (pipe(p))
		return false;
	c->ready = p[0];
	c->pid = fork_child();
	if (!c->pid)
		close(p[0]);
	else
		close(p[1]);
	*fd = p[1];
	return !c->pid;
}

/* Opens, maps and reads the only member. The exit status tells what went wrong. */
static void read_it(__u64 id, int cpu, const char *text, int ready)
{
	void *map;
	int fd;

	fd = member_reopen(id, 0, cpu, 0);
	if (fd < 0)
		_exit(1);
	map = ring_map(fd, PAGES, PROT_READ);
	if (map == MAP_FAILED)
		_exit(2);
	if (heard(fd, map, text) != 1)
		_exit(3);
	child_ready(ready);
	/* Until the namespace is gone */
	while (!(poll_now(fd) & POLLHUP))
		poll(&(struct pollfd){ .fd = fd }, 1, -1);
	if (heard(-1, map, text) != 1)
		_exit(4);
	if (ring_map_err(fd, PAGES, PROT_READ) != -ENODEV)
		_exit(5);
	_exit(0);
}

/* All readers see the same, and keep it when the namespace is deleted under them. */
TEST_F(many, readers)
{
	struct perf_event_attr attr = say_attr();
	struct child child[READERS];
	struct balance b;
	int i, ready;
	__u64 id;

	ASSERT_EQ(0, ns_create_leave(&attr, self->cpu, PAGES, self->ns, &id));
	say("to each reader");
	for (i = 0; i < READERS; i++) {
		if (child_fork(&child[i], &ready))
			read_it(id, self->cpu, "to each reader", ready);
		ASSERT_LT(0, child[i].pid);
	}
	for (i = 0; i < READERS; i++)
		EXPECT_TRUE(child_is_ready(&child[i])) TH_LOG("reader %d", i);
	EXPECT_EQ(0, ns_kill(id));
	for (i = 0; i < READERS; i++) {
		EXPECT_EQ(0, child_status(child[i].pid)) TH_LOG("reader %d", i);
		close(child[i].ready);
	}
	EXPECT_TRUE(balance_back(&self->before, &b)) {
		balance_print("before", &self->before);
		balance_print("after", &b);
	}
}

static char proc_state(pid_t pid)
{
	char path[64], text[512], *end;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (read_file(path, text, sizeof(text)) <= 0)
		return '?';
	end = strrchr(text, ')');
	return end ? end[2] : '?';
}

/*
 * Deleting does not wait for idle processes that have the namespace open, mapped or half
 * listed: they are still in that state when it returns.
 */
TEST_F(many, stopped_reader)
{
	struct perf_event_attr attr = say_attr();
	struct perf_event_persist_member p = {};
	struct child idle, stopped;
	int ready, fd, status;
	struct balance b;
	void *map;
	__u64 id;

	ASSERT_EQ(0, ns_create_leave(&attr, self->cpu, PAGES, self->ns, &id));
	say("never read");
	if (child_fork(&idle, &ready)) {
		fd = member_reopen(id, 0, self->cpu, 0);
		if (fd >= 0 && ring_map(fd, PAGES, PROT_READ) != MAP_FAILED)
			child_ready(ready);
		for (;;)
			pause();
	}
	if (child_fork(&stopped, &ready)) {
		fd = member_reopen(id, 0, self->cpu, 0);
		map = ring_map(fd, PAGES, PROT_READ);
		if (map != MAP_FAILED && heard(fd, map, "never read") == 1 &&
		    !next_member(ns_open(id, 0), &p))
			child_ready(ready);
		raise(SIGSTOP);
		/* Only the end of the test lets it continue. */
		if (heard(-1, map, "never read") != 1)
			_exit(1);
		_exit(0);
	}
	ASSERT_TRUE(child_is_ready(&idle));
	ASSERT_TRUE(child_is_ready(&stopped));
	ASSERT_EQ(stopped.pid, waitpid(stopped.pid, &status, WUNTRACED));
	ASSERT_TRUE(WIFSTOPPED(status));
	/*
	 * After child_ready() it still runs for a while, or waits for a page, before it
	 * sleeps.
	 */
	while (proc_state(idle.pid) == 'R' || proc_state(idle.pid) == 'D')
		sched_yield();

	ASSERT_EQ(0, ns_kill(id));
	EXPECT_EQ('T', proc_state(stopped.pid));
	EXPECT_EQ('S', proc_state(idle.pid));
	EXPECT_EQ(0, ns_lookup(self->ns));

	/* The name is free while they still sleep. */
	ASSERT_EQ(0, ns_create_leave(&attr, self->cpu, PAGES, self->ns, &id));
	EXPECT_EQ(0, ns_kill(id));

	kill(stopped.pid, SIGCONT);
	EXPECT_EQ(0, child_status(stopped.pid));
	close(stopped.ready);
	child_end(&idle);
	EXPECT_TRUE(balance_back(&self->before, &b)) {
		balance_print("before", &self->before);
		balance_print("after", &b);
	}
}

TEST_HARNESS_MAIN
