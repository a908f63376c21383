// SPDX-License-Identifier: GPL-2.0
/*
 * The buffers of namespaces have no process, so a user is charged for them. The number of
 * members is limited.
 */
#include "persistent.h"

#include <sys/resource.h>

#define MLOCK_KB	"/proc/sys/kernel/perf_event_mlock_kb"

/* Nobody else runs as this user: all that it is charged is from this test. */
#define USER		54321

/* Pages that a user may lock, and pages that one buffer takes */
#define LIMIT		100
#define BUFFER		(32 + 1)

FIXTURE(account)
{
	char	ns[NS_ROOM];
	int	cpu, cpu2;
	char	mlock_kb[16], max[16];
};

FIXTURE_SETUP(account)
{
	const char *missing;

	missing = persist_begin(self->ns, &self->cpu, &self->cpu2);
	if (missing)
		SKIP(return, "%s", missing);
	if (geteuid())
		SKIP(return, "needs root");
	ASSERT_LT(0, read_file(MLOCK_KB, self->mlock_kb, sizeof(self->mlock_kb)));
	ASSERT_LT(0, read_file(MAX_PERSISTENT, self->max, sizeof(self->max)));

	/* All mapped memory counts as locked. */
	ASSERT_EQ(0, write_file(MLOCK_KB, "0"));
	ASSERT_EQ(0, set_paranoid(1));
}

FIXTURE_TEARDOWN_PARENT(account)
{
	if (!self->max[0])
		return;
	write_file(MLOCK_KB, self->mlock_kb);
	write_file(MAX_PERSISTENT, self->max);
	persist_undo();
}

/* Becomes a user who may create namespaces, but lock no more than @pages. */
static void become_user(int pages)
{
	struct rlimit limit = { pages * page_size(), pages * page_size() };

	setrlimit(RLIMIT_MEMLOCK, &limit);
	if (become(USER, cap_bit(CAP_PERFMON)))
		_exit(99);
	prctl(PR_SET_DUMPABLE, 1);
}

/* Returns the VmPin of a process, in pages. */
static long vm_pin(pid_t pid)
{
	char path[64], text[4096], *pin;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	if (read_file(path, text, sizeof(text)) < 0)
		return -1;
	pin = strstr(text, "VmPin:");
	return pin ? atol(pin + strlen("VmPin:")) * 1024 / page_size() : -1;
}

static int create(struct member *m, int cpu, const char *ns, int nr, __u64 *id)
{
	struct perf_event_attr attr = say_attr();
	char name[NAME_ROOM];

	snprintf(name, sizeof(name), "%s-%d", ns, nr);
	return ns_create(m, &attr, cpu, BUFFER - 1, name, id);
}

/* Creates and closes namespaces until the kernel refuses. Returns how many it made. */
static int fill(int cpu, const char *ns, int *err)
{
	struct member m;
	__u64 id;
	int nr;

	for (nr = 0; nr < LIMIT; nr++) {
		*err = create(&m, cpu, ns, nr, &id);
		if (*err)
			break;
		member_close(&m);
	}
	return nr;
}

static void delete_all(const char *ns)
{
	char name[NAME_ROOM];
	int nr;

	for (nr = 0; nr < LIMIT; nr++) {
		snprintf(name, sizeof(name), "%s-%d", ns, nr);
		if (ns_lookup(name))
			ns_kill(ns_lookup(name));
	}
}

/*
 * Runs code in a child that becomes another user. Assertions of the harness only work in
 * the parent: a child that finds something wrong prints the line and exits.
 */
#define CHILD(...) do {						\
	pid_t _pid = fork_child();					\
									\
	ASSERT_LE(0, _pid);						\
	if (!_pid) {							\
		__VA_ARGS__;						\
		fflush(NULL);						\
		_exit(0);						\
	}								\
	ASSERT_EQ(0, child_status(_pid));				\
} while (0)

#define MUST(_cond) do {						\
	if (!(_cond)) {							\
		ksft_print_msg("line %d: %s\n", __LINE__, #_cond);	\
		fflush(NULL);						\
		_exit(1);						\
	}								\
} while (0)

/* Publishing moves the charge from the process to the user; deleting gives it back. H7 */
TEST_F(account, moves_to_the_user)
{
	CHILD({
		struct perf_event_attr attr = say_attr();
		struct member m;
		__u64 id;

		become_user(LIMIT);
		MUST(vm_pin(getpid()) == 0);
		MUST(!member_open(&m, &attr, self->cpu, BUFFER - 1));
		MUST(vm_pin(getpid()) == BUFFER);
		MUST(!persist_new(m.fd, &id));
		MUST(vm_pin(getpid()) == BUFFER);
		MUST(!set_name_str(m.fd, self->ns));
		MUST(vm_pin(getpid()) == 0);
		member_unmap(&m);
		MUST(vm_pin(getpid()) == 0);
		MUST(!ns_kill(id));
		MUST(vm_pin(getpid()) == 0);
	});
}

/* A user who creates and exits in a loop gets -EPERM, and can go on after deleting. H7, H20 */
TEST_F(account, create_and_exit)
{
	int round;

	for (round = 0; round < 3; round++) {
		CHILD({
			int err;

			become_user(LIMIT);
			MUST(fill(self->cpu, self->ns, &err) == LIMIT / BUFFER);
			MUST(err == -EPERM);
		});

		/* Another process of the same user: the limit is used up. */
		CHILD({
			struct perf_event_attr attr = say_attr();
			struct member m;
			__u64 id;

			become_user(LIMIT);
			MUST(!member_open(&m, &attr, self->cpu, BUFFER - 1));
			MUST(vm_pin(getpid()) == BUFFER);
			MUST(persist_new(m.fd, &id) == 0);
			MUST(set_name(m.fd, "%s-more", self->ns) == -EPERM);

			/* The process is charged as before, and can try again. */
			MUST(vm_pin(getpid()) == BUFFER);
			delete_all(self->ns);
			MUST(!set_name(m.fd, "%s-more", self->ns));
			MUST(vm_pin(getpid()) == 0);
			MUST(!ns_kill(id));
		});
	}
}

/* Joining a published namespace charges the user too. If refused, the process stays charged. */
TEST_F(account, join)
{
	CHILD({
		struct perf_event_attr attr = say_attr();
		struct member m[3];
		__u64 id;

		become_user(2 * BUFFER);
		MUST(!create(&m[0], self->cpu, self->ns, 0, &id));
		MUST(!member_open(&m[1], &attr, self->cpu, BUFFER - 1));
		MUST(!persist_join(m[1].fd, id));
		MUST(vm_pin(getpid()) == 0);
		MUST(!member_open(&m[2], &attr, self->cpu, BUFFER - 1));
		MUST(persist_join(m[2].fd, id) == -EPERM);
		MUST(vm_pin(getpid()) == BUFFER);
		MUST(ns_count(id) == 2);
		member_close(&m[2]);
		MUST(vm_pin(getpid()) == 0);

		/* Two members that write to one buffer are charged for it once. */
		MUST(!ns_kill(id));
		member_close(&m[0]);
		member_close(&m[1]);
		MUST(!create(&m[0], self->cpu, self->ns, 0, &id));
		m[1].fd = event_open(&attr, -1, self->cpu, -1, 0);
		MUST(m[1].fd >= 0);
		MUST(!event_ioctl(m[1].fd, PERF_EVENT_IOC_SET_OUTPUT, m[0].fd));
		m[1].map = ring_map(m[1].fd, BUFFER - 1, PROT_READ);
		MUST(m[1].map != MAP_FAILED || no_redirected_map(m[1].map));
		MUST(!persist_join(m[1].fd, id));
		MUST(!create(&m[2], self->cpu, self->ns, 1, &id));
	});
}

/* A buffer that perf_event_mlock_kb covers is allowed, however much else is locked. */
TEST_F(account, nothing_to_charge)
{
	struct member m;
	char kb[32];
	__u64 id;

	CHILD({
		become_user(BUFFER);
		MUST(!create(&m, self->cpu, self->ns, 0, &id));
	});
	snprintf(kb, sizeof(kb), "%ld", BUFFER * page_size() / 1024);
	ASSERT_EQ(0, write_file(MLOCK_KB, kb));
	CHILD({
		become_user(0);
		MUST(!create(&m, self->cpu, self->ns, 1, &id));
	});
}

/* Memory and charge both stay until the last mapping is gone. */
TEST_F(account, until_unmapped)
{
	CHILD({
		struct member m[2];
		__u64 id;
		void *map;
		int fd;

		become_user(BUFFER);
		MUST(!create(&m[0], self->cpu, self->ns, 0, &id));
		fd = member_reopen(id, 0, self->cpu, 0);
		MUST(fd >= 0);
		map = ring_map(fd, BUFFER - 1, PROT_READ);
		MUST(map != MAP_FAILED);
		MUST(vm_pin(getpid()) == 0);
		member_close(&m[0]);
		MUST(!ns_kill(id));
		MUST(create(&m[1], self->cpu, self->ns, 1, &id) == -EPERM);
		munmap(map, ring_len(BUFFER - 1));
		MUST(!create(&m[1], self->cpu, self->ns, 1, &id));
	});
}

/* The user is charged for the buffer of a claimed event until it is unmapped. */
TEST_F(account, claim)
{
	CHILD({
		struct member m[2];
		__u64 id;

		become_user(BUFFER);
		MUST(!create(&m[0], self->cpu, self->ns, 0, &id));
		MUST(!persist_claim(m[0].fd));
		MUST(vm_pin(getpid()) == 0);
		MUST(create(&m[1], self->cpu, self->ns, 1, &id) == -EPERM);

		/* Publishing it again does not charge it twice. */
		MUST(!set_name(m[0].fd, "%s-back", self->ns));
		MUST(!persist_new(m[0].fd, &id));
		MUST(!persist_claim(m[0].fd));
		member_close(&m[0]);
		MUST(!create(&m[1], self->cpu, self->ns, 1, &id));
	});
}

/* A process that claims an event of another user pays when it publishes that event. H22 */
TEST_F(account, claim_of_another)
{
	struct member m;
	__u64 id;

	ASSERT_EQ(0, create(&m, self->cpu, self->ns, 0, &id));
	CHILD({
		__u64 other;
		int fd;

		become_user(BUFFER - 1);
		fd = member_reopen(id, 0, self->cpu, PERF_PERSIST_OPEN_WRITE);
		MUST(fd >= 0);
		MUST(ring_map(fd, BUFFER - 1, PROT_READ) != MAP_FAILED);
		MUST(!persist_claim(fd));
		MUST(!set_name(fd, "%s-other", self->ns));
		MUST(persist_new(fd, &other) == -EPERM);
	});
}

/* A reader is not charged, even after the creator's death. */
TEST_F(account, readers)
{
	struct member m;
	__u64 id;
	void *map[2];
	int fd, i;

	CHILD({
		__u64 id;

		become_user(LIMIT);
		MUST(!create(&m, self->cpu, self->ns, 0, &id));
	});
	{
		char name[NAME_ROOM];

		snprintf(name, sizeof(name), "%s-0", self->ns);
		id = ns_lookup(name);
	}
	ASSERT_NE(0, id);
	fd = member_reopen(id, 0, self->cpu, 0);
	ASSERT_LE(0, fd);
	for (i = 0; i < 2; i++) {
		map[i] = ring_map(fd, BUFFER - 1, PROT_READ);
		ASSERT_NE(MAP_FAILED, map[i]);
	}
	EXPECT_EQ(0, vm_pin(getpid()));
	EXPECT_EQ(0, ns_kill(id));
	for (i = 0; i < 2; i++)
		munmap(map[i], ring_len(BUFFER - 1));
	EXPECT_EQ(0, vm_pin(getpid()));

	/* Deleting has freed all that the dead creator was charged. */
	CHILD({
		int err;

		become_user(LIMIT);
		MUST(fill(self->cpu, self->ns, &err) == LIMIT / BUFFER);
	});
}

/* An ordinary event: A maps, B maps, A unmaps, B unmaps. A paid, A is refunded. H5 */
TEST_F(account, last_to_unmap)
{
	struct perf_event_attr attr = say_attr();
	struct member m;
	pid_t pid;
	void *map;

	ASSERT_EQ(0, member_open(&m, &attr, self->cpu, BUFFER - 1));
	ASSERT_EQ(BUFFER, vm_pin(getpid()));
	pid = fork_child();
	ASSERT_LE(0, pid);
	if (!pid) {
		map = ring_map(m.fd, BUFFER - 1, PROT_READ);
		MUST(map != MAP_FAILED);
		MUST(vm_pin(getpid()) == 0);
		raise(SIGSTOP);
		munmap(map, ring_len(BUFFER - 1));
		MUST(vm_pin(getpid()) == 0);
		_exit(0);
	}
	ASSERT_EQ(pid, waitpid(pid, NULL, WUNTRACED));
	member_unmap(&m);
	EXPECT_EQ(BUFFER, vm_pin(getpid()));
	kill(pid, SIGCONT);
	EXPECT_EQ(0, child_status(pid));
	EXPECT_EQ(0, vm_pin(getpid()));
}

/* Maps the AUX area of an event, of @len bytes, behind a buffer with @pages pages of data. */
static void *aux_map(int fd, int pages, size_t len)
{
	return mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, ring_len(pages));
}

/* The user who maps an AUX area pays for it and is refunded, whoever has mapped the data. */
TEST_F(account, aux)
{
	/* Twice as often as the allowance of all CPUs is enough for. */
	int fd, rounds = 2 * sysconf(_SC_NPROCESSORS_ONLN);
	size_t len = (BUFFER - 1) * page_size();
	struct perf_event_mmap_page *page;
	char kb[32];

	fd = aux_event_open(self->cpu);
	if (fd < 0)
		SKIP(return, "no PMU with an AUX area");
	snprintf(kb, sizeof(kb), "%ld", BUFFER * page_size() / 1024);
	ASSERT_EQ(0, write_file(MLOCK_KB, kb));
	page = ring_map(fd, 1, PROT_READ | PROT_WRITE);
	ASSERT_NE(MAP_FAILED, (void *)page);
	page->aux_offset = ring_len(1);
	page->aux_size = len;
	CHILD({
		struct perf_event_attr attr = say_attr();
		void *aux;
		int i;

		become_user(0);
		for (i = 0; i < rounds; i++) {
			aux = aux_map(fd, 1, len);
			MUST(aux != MAP_FAILED);
			munmap(aux, len);
		}
		fd = event_open(&attr, -1, self->cpu, -1, 0);
		MUST(fd >= 0);
		MUST(!ring_map_err(fd, BUFFER - 1, PROT_READ));
	});
	munmap(page, ring_len(1));
	close(fd);
}

/*
 * Events whose data pages are mapped and unmapped in turn. With fewer, mapping would have to
 * wait until the kernel is done with the last buffer of the event.
 */
#define RACERS		200

#define UNMAPS		20000

/* Until it is killed, tries to map an AUX area of the present event, and unmaps it. */
static void map_aux(int cpu, const int *fds, const int *present, int pages)
{
	void *aux;

	if (pin(cpu))
		_exit(1);
	for (;;) {
		aux = aux_map(fds[__atomic_load_n(present, __ATOMIC_RELAXED)], pages, page_size());
		if (aux != MAP_FAILED)
			munmap(aux, page_size());
	}
}

/* Maps the data pages of each event in turn, says where an AUX area may be, and unmaps them. */
static int unmap_in_turn(const int *fds, int *present, int pages)
{
	struct perf_event_mmap_page *page;
	int i;

	for (i = 0; i < UNMAPS; i++) {
		__atomic_store_n(present, i % RACERS, __ATOMIC_RELAXED);
		page = ring_map(fds[i % RACERS], pages, PROT_READ | PROT_WRITE);
		if (page == MAP_FAILED)
			return -errno;
		page->aux_size = page_size();
		page->aux_offset = ring_len(pages);
		munmap(page, ring_len(pages));
	}
	return 0;
}

/* An attempt to map an AUX area keeps no buffer whose last mapping goes at the same time. */
TEST_F(account, unmap_race)
{
	int fds[RACERS], i, *present, cpus = sysconf(_SC_NPROCESSORS_ONLN), pages = 1;
	struct perf_event_attr attr = say_attr();
	char kb[32];

	if (self->cpu2 < 0)
		SKIP(return, "needs two CPUs");
	present = mmap(NULL, sizeof(*present), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	ASSERT_NE(MAP_FAILED, present);
	for (i = 0; i < RACERS; i++) {
		fds[i] = event_open(&attr, -1, self->cpu, -1, 0);
		ASSERT_LE(0, fds[i]);
	}
	/* The allowance is for each CPU. Have it be enough for one buffer, and not for two. */
	while (pages < cpus)
		pages *= 2;
	snprintf(kb, sizeof(kb), "%ld", (pages + cpus) / cpus * page_size() / 1024);
	ASSERT_EQ(0, write_file(MLOCK_KB, kb));
	CHILD({
		pid_t pid;

		become_user(0);
		pid = fork_child();
		if (!pid)
			map_aux(self->cpu2, fds, present, pages);
		MUST(!unmap_in_turn(fds, present, pages));
		kill(pid, SIGKILL);
		MUST(child_status(pid) == -1);
	});
	for (i = 0; i < RACERS; i++)
		close(fds[i]);
	munmap(present, sizeof(*present));
}

/* The same with a PMU that has AUX areas: a wrong count of mappings is in the kernel's log. */
TEST_F(account, unmap_data_race)
{
	int fds[RACERS], i, *present;
	pid_t pid;

	if (self->cpu2 < 0)
		SKIP(return, "needs two CPUs");
	present = mmap(NULL, sizeof(*present), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	ASSERT_NE(MAP_FAILED, present);
	for (i = 0; i < RACERS; i++) {
		fds[i] = aux_event_open(self->cpu);
		if (fds[i] < 0)
			SKIP(return, "no PMU with an AUX area");
	}
	pid = fork_child();
	if (!pid)
		map_aux(self->cpu2, fds, present, 1);
	ASSERT_EQ(0, unmap_in_turn(fds, present, 1));
	kill(pid, SIGKILL);
	EXPECT_EQ(-1, child_status(pid));
	for (i = 0; i < RACERS; i++)
		close(fds[i]);
	munmap(present, sizeof(*present));
}

/* Mapping an existing buffer again and again charges nothing. H6 */
TEST_F(account, remap)
{
	char kb[32];

	/* Room for one buffer and a little more */
	snprintf(kb, sizeof(kb), "%ld", (BUFFER + 1) * page_size() / 1024);
	ASSERT_EQ(0, write_file(MLOCK_KB, kb));
	CHILD({
		struct member m;
		int i, fd, err, nr;
		__u64 id;

		become_user(0);
		nr = fill(self->cpu, self->ns, &err);
		delete_all(self->ns);
		MUST(nr > 0);
		MUST(!create(&m, self->cpu, self->ns, 0, &id));
		member_close(&m);
		fd = member_reopen(id, 0, self->cpu, 0);
		MUST(fd >= 0);
		for (i = 0; i < 200; i++)
			MUST(!ring_map_err(fd, BUFFER - 1, PROT_READ));
		close(fd);
		MUST(!ns_kill(id));
		MUST(fill(self->cpu, self->ns, &err) == nr);
	});
}

/* CAP_IPC_LOCK or perf_event_paranoid -1 lift the limit, as for ordinary perf buffers. */
TEST_F(account, no_limit)
{
	struct rlimit limit = { 0, 0 };
	struct member m;
	__u64 id;

	ASSERT_EQ(0, setrlimit(RLIMIT_MEMLOCK, &limit));
	ASSERT_EQ(0, create(&m, self->cpu, self->ns, 0, &id));
	EXPECT_EQ(0, vm_pin(getpid()));
	ASSERT_EQ(0, set_paranoid(-1));
	CHILD({
		become_user(0);
		MUST(create(&m, self->cpu, self->ns, 1, &id) == 0);
	});
	ASSERT_EQ(0, set_paranoid(1));
	CHILD({
		become_user(0);
		MUST(create(&m, self->cpu, self->ns, 2, &id) == -EPERM);
	});
}

/* The allowance of perf_event_mlock_kb is given back, too: the same number fits again. */
TEST_F(account, mlock_kb)
{
	char kb[32];
	int round, first = 0;

	snprintf(kb, sizeof(kb), "%ld", 4 * BUFFER * page_size() / 1024);
	ASSERT_EQ(0, write_file(MLOCK_KB, kb));
	for (round = 0; round < 3; round++) {
		int pipe_fd[2], nr = 0;

		ASSERT_EQ(0, pipe(pipe_fd));
		CHILD({
			int err;

			become_user(0);
			nr = fill(self->cpu, self->ns, &err);
			MUST(err == -EPERM);
			delete_all(self->ns);
			MUST(write(pipe_fd[1], &nr, sizeof(nr)) == sizeof(nr));
		});
		ASSERT_EQ((ssize_t)sizeof(nr), read(pipe_fd[0], &nr, sizeof(nr)));
		EXPECT_LE(4, nr);
		if (!round)
			first = nr;
		EXPECT_EQ(first, nr);
		close(pipe_fd[0]);
		close(pipe_fd[1]);
	}
}

static int max_members(int nr)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", nr);
	return write_file(MAX_PERSISTENT, text);
}

/* The sysctl limits the number of members exactly, whoever makes them. H20 */
TEST_F(account, max_members)
{
	struct perf_event_attr attr = fault_attr(0);
	struct member m[5];
	__u64 id, id2;
	int i;

	for (i = 0; i < 5; i++)
		ASSERT_EQ(0, member_open(&m[i], &attr, self->cpu, 0));

	/*
	 * Others may have namespaces. With 0 nothing can be published, and nothing is
	 * left of it.
	 */
	ASSERT_EQ(0, max_members(0));
	ASSERT_EQ(0, persist_new(m[0].fd, &id));
	ASSERT_EQ(0, persist_join(m[1].fd, id));
	ASSERT_EQ(-ENOSPC, set_name_str(m[0].fd, self->ns));
	EXPECT_EQ(0, ns_lookup(self->ns));

	for (i = 1; i < 1000; i++) {
		int err;

		ASSERT_EQ(0, max_members(i));
		err = set_name_str(m[0].fd, self->ns);
		if (!err)
			break;
		ASSERT_EQ(-ENOSPC, err);
	}
	EXPECT_EQ(2, ns_count(id));
	EXPECT_EQ(-ENOSPC, persist_join(m[2].fd, id));
	EXPECT_EQ(2, ns_count(id));
	ASSERT_EQ(0, max_members(i + 1));
	EXPECT_EQ(0, persist_join(m[2].fd, id));
	ASSERT_EQ(0, set_name(m[3].fd, "%s-2", self->ns));
	EXPECT_EQ(-ENOSPC, persist_new(m[3].fd, &id2));

	/* The event is as before, and can be published when there is room. */
	EXPECT_EQ(0, persist_claim(m[2].fd));
	EXPECT_EQ(0, persist_new(m[3].fd, &id2));
	EXPECT_EQ(0, ns_kill(id));
	EXPECT_EQ(0, persist_join(m[4].fd, id2));
	EXPECT_EQ(0, persist_join(m[2].fd, id2));
	EXPECT_EQ(3, ns_count(id2));
}

TEST_HARNESS_MAIN
