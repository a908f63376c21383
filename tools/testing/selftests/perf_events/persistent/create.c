// SPDX-License-Identifier: GPL-2.0
/*
 * SET_PERSIST makes and joins namespaces as documented, and refuses other events.
 */
#include "persistent.h"

FIXTURE(create)
{
	char	ns[NS_ROOM];
	int	cpu, cpu2;
};

FIXTURE_SETUP(create)
{
	const char *missing;

	missing = persist_begin(self->ns, &self->cpu, &self->cpu2);
	if (missing)
		SKIP(return, "%s", missing);
}

FIXTURE_TEARDOWN_PARENT(create)
{
	persist_sweep();
}

/* The shortest program there is: a process records and exits, another reads. */
TEST_F(create, ten_lines)
{
	struct perf_event_attr reopen;
	struct {
		__u64 id;
	} *shared;
	void *map;
	pid_t pid;
	int fd;

	shared = mmap(NULL, page_size(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, shared);
	shared->id = PERF_PERSIST_NEW;

	pid = fork_child();
	ASSERT_LE(0, pid);
	if (!pid) {
		struct perf_event_attr attr = say_attr();

		fd = syscall(SYS_perf_event_open, &attr, -1, self->cpu, -1, 0);
		if (mmap(NULL, 9 * page_size(), PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED ||
		    ioctl(fd, PERF_EVENT_IOC_SET_NAME, self->ns) ||
		    ioctl(fd, PERF_EVENT_IOC_SET_PERSIST, &shared->id))
			_exit(1);
		close(fd);
		prctl(PR_SET_NAME, "ten lines");
		_exit(0);
	}
	ASSERT_EQ(0, child_status(pid));

	reopen = (struct perf_event_attr) {
		.type = PERF_TYPE_PERSISTENT,
		.size = sizeof(reopen),
		.config = shared->id,
	};
	fd = syscall(SYS_perf_event_open, &reopen, -1, self->cpu, -1, 0);
	ASSERT_LE(0, fd);
	map = mmap(NULL, 9 * page_size(), PROT_READ, MAP_SHARED, fd, 0);
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(1, heard(fd, map, "ten lines"));
}

/* One loop over all CPUs with the same call each time. The first call makes the namespace. */
TEST_F(create, loop_over_cpus)
{
	struct perf_event_attr attr = say_attr();
	struct perf_event_persist_member p = {};
	__u64 id = PERF_PERSIST_NEW, first;
	int cpu, fd, ns, n = 0, listed = 0;
	cpu_set_t set;

	/* Use the parent's CPUs: the test is bound to one. */
	ASSERT_EQ(0, sched_getaffinity(getppid(), sizeof(set), &set));
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &set))
			continue;
		fd = event_open(&attr, -1, cpu, -1, 0);
		ASSERT_LE(0, fd);
		ASSERT_NE(MAP_FAILED, ring_map(fd, 1, PROT_READ));
		first = id;
		ASSERT_EQ(0, ioctl(fd, PERF_EVENT_IOC_SET_PERSIST, &id));
		if (n++)
			EXPECT_EQ(first, id);
	}
	EXPECT_NE(PERF_PERSIST_NEW, id);
	EXPECT_EQ(0, ns_lookup(self->ns));
	ASSERT_EQ(0, ioctl(fd, PERF_EVENT_IOC_SET_NAME, self->ns));
	EXPECT_EQ(id, ns_lookup(self->ns));

	ns = ns_open(id, 0);
	ASSERT_LE(0, ns);
	while (!next_member(ns, &p)) {
		EXPECT_TRUE(CPU_ISSET(p.cpu, &set));
		CPU_CLR(p.cpu, &set);
		fd = member_reopen(id, 0, p.cpu, 0);
		EXPECT_LE(0, fd);
		close(fd);
		listed++;
	}
	EXPECT_EQ(n, listed);
}

/* Joining a published namespace publishes the member at once. */
TEST_F(create, join_published)
{
	struct perf_event_persist_member p;
	struct perf_event_persist info;
	int fd[3], i;
	__u64 id;

	for (i = 0; i < 3; i++) {
		fd[i] = counter_open(self->cpu);
		ASSERT_LE(0, fd[i]);
	}
	ASSERT_EQ(0, set_name(fd[0], "%s", self->ns));
	ASSERT_EQ(0, persist_new(fd[0], &id));
	EXPECT_EQ(1, ns_count(id));

	/* With a label alone, and with the name that the namespace has. */
	ASSERT_EQ(0, set_name(fd[1], "/joined"));
	ASSERT_EQ(0, persist_join(fd[1], id));
	ASSERT_EQ(0, get_member(fd[1], &p));
	ASSERT_EQ(0, get_persist(fd[1], &info));
	EXPECT_STREQ(self->ns, info.name);
	EXPECT_STREQ("joined", p.label);
	EXPECT_EQ(2, ns_count(id));
	ASSERT_EQ(0, set_name(fd[2], "%s/named", self->ns));
	ASSERT_EQ(0, persist_join(fd[2], id));
	EXPECT_EQ(3, ns_count(id));

	for (i = 0; i < 3; i++)
		close(fd[i]);
	EXPECT_EQ(3, ns_count(id));
}

/* Any process that may change a published namespace can join it, its creator alive or not. */
TEST_F(create, join_from_other_process)
{
	struct perf_event_attr attr = fault_attr(0);
	__u64 id;
	pid_t pid;
	int fd;

	ASSERT_EQ(0, ns_create_leave(&attr, self->cpu, 0, self->ns, &id));
	pid = fork_child();
	ASSERT_LE(0, pid);
	if (!pid) {
		fd = counter_open(self->cpu);
		_exit(-persist_join(fd, id));
	}
	EXPECT_EQ(0, child_status(pid));
	EXPECT_EQ(2, ns_count(id));
}

/* An id that nobody was given cannot be joined. H17 */
TEST_F(create, join_unknown_id)
{
	struct perf_event_persist_member p;
	__u64 id;
	int fd, i;

	fd = counter_open(self->cpu);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-ENOENT, persist_join(fd, 0));
	EXPECT_EQ(-ENOENT, persist_join(fd, PERF_PERSIST_NEW - 1));
	for (i = 32; i < 64; i++)
		EXPECT_EQ(-ENOENT, persist_join(fd, 1ULL << i));
	EXPECT_EQ(-ENOENT, get_member(fd, &p));

	/* All 64 bits of an id are compared. */
	ASSERT_EQ(0, set_name(fd, "%s", self->ns));
	ASSERT_EQ(0, persist_new(fd, &id));
	fd = counter_open(self->cpu);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-ENOENT, persist_join(fd, id | 1ULL << 32));
	EXPECT_EQ(-ENOENT, ns_open(id | 1ULL << 32, 0));
}

/* Only the creator of an unnamed namespace can join it. */
TEST_F(create, join_unnamed_of_other_process)
{
	int fd, status;
	__u64 id;
	pid_t pid;

	fd = counter_open(self->cpu);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, persist_new(fd, &id));

	pid = fork_child();
	ASSERT_LE(0, pid);
	if (!pid) {
		fd = counter_open(self->cpu);
		_exit(-persist_join(fd, id));
	}
	status = child_status(pid);
	EXPECT_EQ(ENOENT, status);
	ASSERT_EQ(0, set_name(fd, "%s", self->ns));
	EXPECT_EQ(1, ns_count(id));
}

/* Only the creator of an unnamed namespace can set its flags. */
TEST_F(create, flags_of_other_process)
{
	struct perf_event_persist p;
	__u64 id;
	pid_t pid;
	int fd;

	fd = counter_open(self->cpu);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, persist_new(fd, &id));
	pid = fork_child();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(-persist_set_flags(fd, PERF_PERSIST_ALL_CPUS));
	EXPECT_EQ(EPERM, child_status(pid));
	ASSERT_EQ(0, get_persist(fd, &p));
	EXPECT_EQ(0, p.flags & PERF_PERSIST_ALL_CPUS);
}

/* An event that was given a name cannot join a namespace with another name. */
TEST_F(create, join_with_other_name)
{
	struct perf_event_persist_member p;
	__u64 named, unnamed;
	int fd[3], i;

	for (i = 0; i < 3; i++) {
		fd[i] = counter_open(self->cpu);
		ASSERT_LE(0, fd[i]);
	}
	ASSERT_EQ(0, set_name(fd[0], "%s", self->ns));
	ASSERT_EQ(0, persist_new(fd[0], &named));
	ASSERT_EQ(0, persist_new(fd[1], &unnamed));

	ASSERT_EQ(0, set_name(fd[2], "%s-other", self->ns));
	EXPECT_EQ(-EINVAL, persist_join(fd[2], named));
	EXPECT_EQ(-EINVAL, persist_join(fd[2], unnamed));
	EXPECT_EQ(-ENOENT, get_member(fd[2], &p));
	EXPECT_EQ(1, ns_count(named));

	ASSERT_EQ(0, set_name(fd[2], "%s", self->ns));
	EXPECT_EQ(-EINVAL, persist_join(fd[2], unnamed));
	EXPECT_EQ(0, persist_join(fd[2], named));
}

/* An event is in one namespace at a time. */
TEST_F(create, already_a_member)
{
	struct perf_event_persist p;
	__u64 id, id2, other;
	int fd, fd2;

	fd = counter_open(self->cpu);
	fd2 = counter_open(self->cpu);
	ASSERT_LE(0, fd);
	ASSERT_LE(0, fd2);
	ASSERT_EQ(0, persist_new(fd, &id));
	ASSERT_EQ(0, persist_new(fd2, &other));

	/* First unnamed, then published */
	EXPECT_EQ(-EBUSY, persist_new(fd, &id2));
	EXPECT_EQ(-EBUSY, persist_join(fd, id));
	EXPECT_EQ(-EBUSY, persist_join(fd, other));
	ASSERT_EQ(0, set_name(fd, "%s", self->ns));
	EXPECT_EQ(-EBUSY, persist_new(fd, &id2));
	EXPECT_EQ(-EBUSY, persist_join(fd, id));
	EXPECT_EQ(-EBUSY, persist_join(fd, other));
	ASSERT_EQ(0, get_persist(fd, &p));
	EXPECT_EQ(id, p.ns_id);
	EXPECT_EQ(1, ns_count(id));
}

/* SET_PERSIST reads and writes the id. With a bad address it makes nothing. H17 */
TEST_F(create, bad_address)
{
	struct perf_event_persist_member p;
	__u64 *id, good;
	int fd;

	fd = counter_open(self->cpu);
	ASSERT_LE(0, fd);
	id = mmap(NULL, page_size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, id);
	*id = PERF_PERSIST_NEW;
	ASSERT_EQ(0, mprotect(id, page_size(), PROT_READ));
	ASSERT_EQ(0, set_name(fd, "%s", self->ns));

	/* Readable, but the new id cannot be returned. */
	EXPECT_EQ(-EFAULT, set_persist(fd, id));
	EXPECT_EQ(-ENOENT, get_member(fd, &p));
	EXPECT_EQ(0, ns_lookup(self->ns));

	ASSERT_EQ(0, mprotect(id, page_size(), PROT_NONE));
	EXPECT_EQ(-EFAULT, set_persist(fd, id));
	EXPECT_EQ(-EFAULT, set_persist(fd, (__u64 *)-8L));
	EXPECT_EQ(-ENOENT, get_member(fd, &p));

	/* The event can still be published. */
	EXPECT_EQ(0, persist_new(fd, &good));
	EXPECT_EQ(good, ns_lookup(self->ns));
}

/* Every namespace gets an id that none had before, named or not, alive or gone. */
TEST_F(create, ids_are_not_reused)
{
	__u64 ids[24];
	int fd, i, j;

	for (i = 0; i < (int)ARRAY_SIZE(ids); i++) {
		fd = counter_open(self->cpu);
		ASSERT_LE(0, fd);
		if (i % 2)
			ASSERT_EQ(0, set_name(fd, "%s", self->ns));
		ASSERT_EQ(0, persist_new(fd, &ids[i]));
		EXPECT_NE(0, ids[i]);
		EXPECT_NE(PERF_PERSIST_NEW, ids[i]);
		for (j = 0; j < i; j++)
			EXPECT_NE(ids[j], ids[i]);
		if (i % 2) {
			EXPECT_EQ(ids[i], ns_lookup(self->ns));
			ASSERT_EQ(0, ns_kill(ids[i]));
		}
		close(fd);
		for (j = 0; j <= i; j++)
			EXPECT_EQ(-ENOENT, ns_open(ids[j], 0));
	}
}

/* A name is free again once its namespace is gone, and never means the old one. */
TEST_F(create, name_is_free_after_delete)
{
	struct perf_event_attr attr = say_attr();
	struct member m, m2;
	__u64 id, id2;

	ASSERT_EQ(0, ns_create(&m, &attr, self->cpu, PAGES, self->ns, &id));
	ASSERT_EQ(0, ns_kill(id));
	ASSERT_EQ(0, ns_create(&m2, &attr, self->cpu, PAGES, self->ns, &id2));
	EXPECT_NE(id, id2);
	EXPECT_EQ(id2, ns_lookup(self->ns));
	EXPECT_EQ(-ENOENT, member_reopen(id, 0, self->cpu, 0));
	EXPECT_EQ(-ENOENT, member_reopen(id2, event_id(m.fd), -1, 0));
	say("second life");
	EXPECT_EQ(0, heard(-1, m.map, "second life"));
	EXPECT_EQ(1, heard(m2.fd, m2.map, "second life"));
}

/* Two events with the same attr are two members, and share nothing. */
TEST_F(create, same_attr_twice)
{
	struct perf_event_attr attr = fault_attr(0);
	int fd[2], i;
	__u64 id;

	for (i = 0; i < 2; i++) {
		fd[i] = event_open(&attr, -1, self->cpu, -1, 0);
		ASSERT_LE(0, fd[i]);
	}
	ASSERT_EQ(0, persist_new(fd[0], &id));
	ASSERT_EQ(0, persist_join(fd[1], id));
	ASSERT_EQ(0, set_name(fd[0], "%s", self->ns));
	EXPECT_EQ(2, ns_count(id));
	EXPECT_NE(event_id(fd[0]), event_id(fd[1]));
}

/* An event that was deleted cannot become persistent again. */
TEST_F(create, deleted)
{
	int fd, other;
	__u64 id, id2;

	fd = counter_open(self->cpu);
	other = counter_open(self->cpu);
	ASSERT_LE(0, fd);
	ASSERT_LE(0, other);
	ASSERT_EQ(0, set_name(fd, "%s", self->ns));
	ASSERT_EQ(0, persist_new(fd, &id));
	ASSERT_EQ(0, ns_kill(id));
	ASSERT_EQ(0, persist_new(other, &id2));

	EXPECT_EQ(-ENODEV, persist_new(fd, &id));
	EXPECT_EQ(-ENODEV, persist_join(fd, id2));
	EXPECT_EQ(-ENODEV, persist_claim(fd));
}

/* Events of a task end with the task, so they cannot be persistent. */
TEST_F(create, no_task_events)
{
	struct perf_event_attr attr = fault_attr(0);
	int cpus[] = { -1, self->cpu };
	unsigned int i;
	__u64 id;
	int fd;

	for (i = 0; i < ARRAY_SIZE(cpus); i++) {
		fd = event_open(&attr, 0, cpus[i], -1, 0);
		ASSERT_LE(0, fd);
		EXPECT_EQ(-EOPNOTSUPP, persist_new(fd, &id));
		EXPECT_EQ(-EOPNOTSUPP, set_name(fd, "%s", self->ns));
		EXPECT_EQ(-EOPNOTSUPP, persist_set_flags(fd, 0));
		EXPECT_EQ(-EOPNOTSUPP, persist_claim(fd));
		close(fd);
	}
	EXPECT_EQ(0, ns_lookup(self->ns));
}

/* Events that signal a task cannot be persistent either. */
TEST_F(create, no_sigtrap)
{
	struct perf_event_attr attr = fault_attr(1000);
	__u64 id;
	int fd;

	attr.write_backward = 0;
	attr.sigtrap = 1;
	attr.remove_on_exec = 1;
	fd = event_open(&attr, 0, -1, -1, 0);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-EOPNOTSUPP, persist_new(fd, &id));
}

/* Neither leader nor sibling of a group can become a member. H13 */
TEST_F(create, no_groups)
{
	struct perf_event_attr attr = fault_attr(0);
	struct perf_event_persist_member p;
	int leader, sibling;
	__u64 id;

	leader = event_open(&attr, -1, self->cpu, -1, 0);
	ASSERT_LE(0, leader);
	sibling = event_open(&attr, -1, self->cpu, leader, 0);
	ASSERT_LE(0, sibling);
	EXPECT_EQ(-EOPNOTSUPP, persist_new(leader, &id));
	EXPECT_EQ(-EOPNOTSUPP, persist_new(sibling, &id));
	EXPECT_EQ(-ENOENT, get_member(leader, &p));
	EXPECT_EQ(-ENOENT, get_member(sibling, &p));

	/* Without siblings, the leader is an ordinary event. */
	close(sibling);
	EXPECT_EQ(0, persist_new(leader, &id));
}

/* A member cannot become a group leader: unnamed, published or reopened. H13 */
TEST_F(create, no_siblings_for_members)
{
	struct perf_event_attr attr = fault_attr(0);
	__u64 id;
	int fd;

	fd = event_open(&attr, -1, self->cpu, -1, 0);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, persist_new(fd, &id));
	EXPECT_EQ(-EOPNOTSUPP, event_open(&attr, -1, self->cpu, fd, 0));
	ASSERT_EQ(0, set_name(fd, "%s", self->ns));
	EXPECT_EQ(-EOPNOTSUPP, event_open(&attr, -1, self->cpu, fd, 0));
	fd = member_reopen(id, 0, self->cpu, PERF_PERSIST_OPEN_WRITE);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-EOPNOTSUPP, event_open(&attr, -1, self->cpu, fd, 0));
}

/* Events with an AUX area are refused. H11 */
TEST_F(create, no_aux)
{
	__u64 id;
	int fd;

	fd = aux_event_open(self->cpu);
	if (fd < 0)
		SKIP(return, "no event with an AUX area here");
	EXPECT_EQ(-EOPNOTSUPP, persist_new(fd, &id));
}

/* A buffer that got an AUX area from another event is refused as well. H11 */
TEST_F(create, no_aux_in_buffer)
{
	struct perf_event_attr attr = say_attr();
	struct perf_event_mmap_page *page;
	struct member m;
	int aux, err;
	void *map;
	__u64 id;

	aux = aux_event_open(self->cpu);
	if (aux < 0)
		SKIP(return, "no event with an AUX area here");
	ASSERT_EQ(0, member_open(&m, &attr, self->cpu, PAGES));
	ASSERT_EQ(0, event_ioctl(aux, PERF_EVENT_IOC_SET_OUTPUT, m.fd));
	/* Asking for an AUX area requires writing to the first page. */
	page = ring_map(m.fd, PAGES, PROT_READ | PROT_WRITE);
	ASSERT_NE(MAP_FAILED, (void *)page);
	page->aux_offset = ring_len(PAGES);
	page->aux_size = page_size();
	map = mmap(NULL, page_size(), PROT_READ | PROT_WRITE, MAP_SHARED, aux, ring_len(PAGES));
	ASSERT_NE(MAP_FAILED, map);
	munmap(page, ring_len(PAGES));
	ASSERT_EQ(0, set_name(m.fd, "%s", self->ns));
	err = persist_new(m.fd, &id);
	EXPECT_TRUE(err == -EINVAL || err == -EACCES)
		TH_LOG("%d", err);
	EXPECT_EQ(0, ns_lookup(self->ns));
}

/* perf sets inherit by default. It means nothing on a CPU, and is accepted. */
TEST_F(create, inherit_is_accepted)
{
	struct perf_event_attr attr = say_attr();
	struct member m;
	__u64 id;

	attr.inherit = 1;
	ASSERT_EQ(0, ns_create(&m, &attr, self->cpu, PAGES, self->ns, &id));
	say("inherit");
	EXPECT_EQ(1, heard(m.fd, m.map, "inherit"));
}

/* PERF_PERSIST_ALL_CPUS can be set and cleared until publishing. Other flags are refused. H17 */
TEST_F(create, flags)
{
	struct perf_event_persist p;
	int fd, fd2, bit;
	__u64 id, flags = PERF_PERSIST_ALL_CPUS;

	fd = counter_open(self->cpu);
	fd2 = counter_open(self->cpu);
	ASSERT_LE(0, fd);
	ASSERT_LE(0, fd2);
	for (bit = 0; bit < 64; bit++) {
		if (1ULL << bit == PERF_PERSIST_ALL_CPUS)
			continue;
		EXPECT_EQ(-EINVAL, persist_set_flags(fd, 1ULL << bit))
			TH_LOG("bit %d", bit);
		EXPECT_EQ(-EINVAL, persist_set_flags(fd, 1ULL << bit | flags))
			TH_LOG("bit %d", bit);
	}
	EXPECT_EQ(-EFAULT, event_ioctl(fd, PERF_EVENT_IOC_PERSIST_FLAGS, 0));

	/* On an event in no namespace, it is for the namespace that the event will make. */
	ASSERT_EQ(0, persist_set_flags(fd, flags));
	ASSERT_EQ(0, persist_new(fd, &id));
	ASSERT_EQ(0, get_persist(fd, &p));
	EXPECT_EQ(flags, p.flags & flags);
	ASSERT_EQ(0, persist_set_flags(fd, 0));
	ASSERT_EQ(0, get_persist(fd, &p));
	EXPECT_EQ(0, p.flags & flags);
	ASSERT_EQ(0, persist_set_flags(fd, flags));
	ASSERT_EQ(0, set_name(fd, "%s", self->ns));
	ASSERT_EQ(0, get_persist(fd, &p));
	EXPECT_EQ(flags, p.flags & flags);

	EXPECT_EQ(-EBUSY, persist_set_flags(fd, 0));
	EXPECT_EQ(-EBUSY, persist_set_flags(fd, flags));
	ASSERT_EQ(0, get_persist(fd, &p));
	EXPECT_EQ(flags, p.flags & flags);

	/* Without the call it is off, also when the name came first. */
	ASSERT_EQ(0, set_name(fd2, "%s-2", self->ns));
	ASSERT_EQ(0, persist_new(fd2, &id));
	ASSERT_EQ(0, get_persist(fd2, &p));
	EXPECT_EQ(0, p.flags & flags);
	ASSERT_EQ(0, ns_kill(id));
	EXPECT_EQ(-ENODEV, persist_set_flags(fd2, flags));
}

TEST_HARNESS_MAIN
