// SPDX-License-Identifier: GPL-2.0
/*
 * Who may do what: descriptors that only read, processes without privileges, and what
 * perf_event_paranoid allows them.
 */
#include "persistent.h"

FIXTURE(rights)
{
	char	ns[NS_ROOM];
	int	cpu, cpu2;
	__u64	id, event;
	struct member m;
	int	reader, writer, ns_reader, ns_writer;
};

FIXTURE_SETUP(rights)
{
	struct perf_event_attr attr = say_attr();
	const char *missing;
	char name[NAME_ROOM];

	missing = persist_begin(self->ns, &self->cpu, &self->cpu2);
	if (missing)
		SKIP(return, "%s", missing);

	snprintf(name, sizeof(name), "%s/first", self->ns);
	ASSERT_EQ(0, ns_create(&self->m, &attr, self->cpu, PAGES, name, &self->id));
	self->event = event_id(self->m.fd);
	self->reader = member_reopen(self->id, 0, self->cpu, 0);
	self->writer = member_reopen(self->id, 0, self->cpu, PERF_PERSIST_OPEN_WRITE);
	self->ns_reader = ns_open(self->id, 0);
	self->ns_writer = ns_open(self->id, PERF_PERSIST_OPEN_WRITE);
	ASSERT_LE(0, self->reader);
	ASSERT_LE(0, self->writer);
	ASSERT_LE(0, self->ns_reader);
	ASSERT_LE(0, self->ns_writer);
}

FIXTURE_TEARDOWN_PARENT(rights)
{
	persist_undo();
}

/* A reader's descriptor can do nothing but read. H8 */
TEST_F(rights, reader_ioctls)
{
	struct perf_event_attr attr = say_attr();
	struct perf_event_query_bpf query = {};
	struct perf_event_persist_member p;
	__u64 period = 1, id = PERF_PERSIST_NEW, flags = PERF_PERSIST_ALL_CPUS;
	const struct {
		const char *name;
		unsigned long cmd, arg;
	} calls[] = {
		{ "ENABLE", PERF_EVENT_IOC_ENABLE, 0 },
		{ "ENABLE group", PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP },
		{ "DISABLE", PERF_EVENT_IOC_DISABLE, 0 },
		{ "DISABLE group", PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP },
		{ "REFRESH", PERF_EVENT_IOC_REFRESH, 1 },
		{ "RESET", PERF_EVENT_IOC_RESET, 0 },
		{ "PERIOD", PERF_EVENT_IOC_PERIOD, (unsigned long)&period },
		{ "SET_OUTPUT", PERF_EVENT_IOC_SET_OUTPUT, self->writer },
		{ "SET_OUTPUT -1", PERF_EVENT_IOC_SET_OUTPUT, -1 },
		{ "SET_FILTER", PERF_EVENT_IOC_SET_FILTER, (unsigned long)"common_pid == 1" },
		{ "SET_BPF", PERF_EVENT_IOC_SET_BPF, -1 },
		{ "PAUSE_OUTPUT", PERF_EVENT_IOC_PAUSE_OUTPUT, 1 },
		{ "QUERY_BPF", PERF_EVENT_IOC_QUERY_BPF, (unsigned long)&query },
		{ "MODIFY_ATTRIBUTES", PERF_EVENT_IOC_MODIFY_ATTRIBUTES, (unsigned long)&attr },
		{ "SET_NAME", PERF_EVENT_IOC_SET_NAME, (unsigned long)"/label" },
		{ "SET_PERSIST", PERF_EVENT_IOC_SET_PERSIST, (unsigned long)&id },
		{ "SET_PERSIST NULL", PERF_EVENT_IOC_SET_PERSIST, 0 },
		{ "PERSIST_FLAGS", PERF_EVENT_IOC_PERSIST_FLAGS, (unsigned long)&flags },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		EXPECT_EQ(-EACCES, event_ioctl(self->reader, calls[i].cmd, calls[i].arg))
			TH_LOG("%s", calls[i].name);
	}
	EXPECT_EQ(PERF_PERSIST_NEW, id);

	/* Nothing has happened, and the two calls that read work. */
	EXPECT_EQ(self->event, event_id(self->reader));
	ASSERT_EQ(0, get_member(self->reader, &p));
	EXPECT_EQ(0, p.flags);
	EXPECT_STREQ("first", p.label);
	say("untouched");
	EXPECT_EQ(1, heard(self->reader, self->m.map, "untouched"));

	/* With write access the same calls are let through. */
	EXPECT_EQ(0, event_ioctl(self->writer, PERF_EVENT_IOC_ENABLE, 0));
	EXPECT_EQ(0, event_ioctl(self->writer, PERF_EVENT_IOC_RESET, 0));
	EXPECT_EQ(0, event_ioctl(self->writer, PERF_EVENT_IOC_PAUSE_OUTPUT, 0));
	EXPECT_EQ(0, set_name(self->writer, "/label"));
}

/* A reader's descriptor cannot be the leader or output of another event either. H16b */
TEST_F(rights, reader_is_no_leader_and_no_output)
{
	struct perf_event_attr attr = say_attr();
	int fd;

	EXPECT_EQ(-EACCES, event_open(&attr, -1, self->cpu, self->reader, 0));
	EXPECT_EQ(-EACCES, event_open(&attr, -1, self->cpu, self->reader, PERF_FLAG_FD_NO_GROUP));
	EXPECT_EQ(-EACCES, event_open(&attr, -1, self->cpu, self->reader,
				      PERF_FLAG_FD_OUTPUT | PERF_FLAG_FD_NO_GROUP));
	fd = event_open(&attr, -1, self->cpu, -1, 0);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-EACCES, event_ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, self->reader));
	say("one writer");
	EXPECT_EQ(1, heard(self->reader, self->m.map, "one writer"));

	/* An ordinary event of the same kind can. */
	ASSERT_NE(MAP_FAILED, ring_map(fd, 1, PROT_READ));
	EXPECT_LE(0, event_open(&attr, -1, self->cpu, fd,
				PERF_FLAG_FD_OUTPUT | PERF_FLAG_FD_NO_GROUP));
}

static int bpf_link(int prog, int target)
{
	union bpf_attr attr = {
		.link_create = {
			.prog_fd	= prog,
			.target_fd	= target,
			.attach_type	= BPF_PERF_EVENT,
		},
	};

	return sys_bpf(BPF_LINK_CREATE, &attr);
}

static int bpf_array_set(int map, int event)
{
	__u32 key = 0, value = event;
	union bpf_attr attr = {
		.map_fd	= map,
		.key	= (unsigned long)&key,
		.value	= (unsigned long)&value,
		.flags	= BPF_ANY,
	};

	return sys_bpf(BPF_MAP_UPDATE_ELEM, &attr);
}

/* Nor can BPF programs be attached to it, or write to it. H16b */
TEST_F(rights, reader_is_not_for_bpf)
{
	union bpf_attr create = {
		.map_type	= BPF_MAP_TYPE_PERF_EVENT_ARRAY,
		.key_size	= 4,
		.value_size	= 4,
		.max_entries	= 1,
	};
	struct perf_event_attr output = {
		.type		= PERF_TYPE_SOFTWARE,
		.size		= sizeof(output),
		.config		= PERF_COUNT_SW_BPF_OUTPUT,
		.sample_period	= 1,
		.sample_type	= PERF_SAMPLE_RAW,
		.write_backward	= 1,
	};
	struct perf_event_attr faults = fault_attr(1000);
	struct member m[2];
	__u64 event[2];
	int prog, map, fd, ordinary;

	prog = bpf_prog_open(1);
	if (prog < 0)
		SKIP(return, "no BPF programs: %s", strerror(-prog));
	map = sys_bpf(BPF_MAP_CREATE, &create);
	ASSERT_LE(0, map);

	ASSERT_EQ(0, member_open(&m[0], &faults, self->cpu, PAGES));
	ASSERT_EQ(0, member_open(&m[1], &output, self->cpu, PAGES));
	event[0] = event_id(m[0].fd);
	event[1] = event_id(m[1].fd);
	ASSERT_EQ(0, persist_join(m[0].fd, self->id));
	ASSERT_EQ(0, persist_join(m[1].fd, self->id));

	fd = member_reopen(self->id, event[0], -1, 0);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-EACCES, bpf_link(prog, fd));
	EXPECT_EQ(-EACCES, event_ioctl(fd, PERF_EVENT_IOC_SET_BPF, prog));
	fd = member_reopen(self->id, event[1], -1, 0);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-EACCES, bpf_array_set(map, fd));

	/* Ordinary events of the same kind allow it. */
	ordinary = event_open(&faults, -1, self->cpu, -1, 0);
	ASSERT_LE(0, ordinary);
	EXPECT_LE(0, bpf_link(prog, ordinary));
	ordinary = event_open(&output, -1, self->cpu, -1, 0);
	ASSERT_LE(0, ordinary);
	EXPECT_EQ(0, bpf_array_set(map, ordinary));
}

/*
 * Making, joining, naming and claiming require CAP_PERFMON at the call, whoever opened
 * the event.
 */
TEST_F(rights, no_capability)
{
	struct perf_event_persist_member p;
	int fd, unnamed;
	__u64 id, id2;

	fd = counter_open(self->cpu);
	unnamed = counter_open(self->cpu);
	ASSERT_LE(0, fd);
	ASSERT_LE(0, unnamed);
	ASSERT_EQ(0, persist_new(unnamed, &id2));

	drop_caps(privileges());
	EXPECT_EQ(-EACCES, set_name(fd, "%s-2", self->ns));
	EXPECT_EQ(-EACCES, set_name(fd, "/label"));
	EXPECT_EQ(-EACCES, set_name(unnamed, "%s-2", self->ns));
	EXPECT_EQ(-EACCES, set_name(self->m.fd, "/label"));
	EXPECT_EQ(-EACCES, persist_new(fd, &id));
	EXPECT_EQ(-EACCES, persist_join(fd, self->id));
	EXPECT_EQ(-EACCES, persist_join_unnamed(fd, self->id));
	EXPECT_EQ(-EACCES, ns_join(self->ns_writer, fd));
	EXPECT_EQ(-EACCES, persist_claim(self->m.fd));
	EXPECT_EQ(-EACCES, persist_claim(unnamed));
	EXPECT_EQ(-EACCES, persist_set_flags(fd, PERF_PERSIST_ALL_CPUS));
	EXPECT_EQ(-EACCES, persist_set_flags(unnamed, PERF_PERSIST_ALL_CPUS));

	ASSERT_EQ(0, get_member(self->m.fd, &p));
	EXPECT_STREQ("first", p.label);
	EXPECT_EQ(-ENOENT, get_member(fd, &p));
	EXPECT_EQ(self->id, ns_lookup(self->ns));
}

static int take_snapshot(int ns_fd)
{
	struct perf_event_snapshot s = { .size = sizeof(s) };

	return event_ioctl(ns_fd, PERF_EVENT_IOC_SNAPSHOT, (unsigned long)&s);
}

/* Joining changes the namespace, and increases what its owner pays. H26 */
TEST_F(rights, join)
{
	struct perf_event_attr attr = say_attr(), forward = say_forward_attr();
	int fd, bad, ns_reader, ns_writer;
	pid_t pid;

	if (geteuid())
		SKIP(return, "needs root, to become others");
	pid = fork_child();
	ASSERT_LE(0, pid);
	if (!pid) {
		if (become(NOBODY, cap_bit(CAP_PERFMON)))
			_exit(1);
		/* With such a buffer in the namespace, there would be no snapshot. */
		bad = event_open(&forward, -1, self->cpu, -1, 0);
		if (bad < 0 || ring_map(bad, 1, PROT_READ | PROT_WRITE) == MAP_FAILED)
			_exit(2);
		fd = event_open(&attr, -1, self->cpu, -1, 0);
		ns_reader = ns_open(self->id, 0);
		ns_writer = ns_open(self->id, PERF_PERSIST_OPEN_WRITE);
		if (fd < 0 || ns_reader < 0 || ns_writer < 0)
			_exit(3);
		if (persist_join_unnamed(bad, self->id) != -ENOENT ||
		    persist_join_unnamed(fd, self->id) != -ENOENT)
			_exit(4);
		if (ns_join(ns_reader, fd) != -EACCES)
			_exit(5);
		if (ns_join(ns_writer, fd) != -EPERM || ns_join(ns_writer, bad) != -EPERM)
			_exit(6);
		/* A descriptor that root opened does not change that. */
		if (ns_join(self->ns_writer, fd) != -EPERM)
			_exit(7);
		_exit(0);
	}
	EXPECT_EQ(0, child_status(pid));
	EXPECT_EQ(1, ns_count(self->id));
	EXPECT_EQ(0, take_snapshot(self->ns_writer));

	pid = fork_child();
	ASSERT_LE(0, pid);
	if (!pid) {
		if (become(NOBODY, cap_bit(CAP_PERFMON) | cap_bit(CAP_IPC_LOCK)))
			_exit(1);
		fd = event_open(&attr, -1, self->cpu, -1, 0);
		if (fd < 0)
			_exit(2);
		_exit(-persist_join(fd, self->id));
	}
	EXPECT_EQ(0, child_status(pid));
	EXPECT_EQ(2, ns_count(self->id));
	EXPECT_EQ(0, take_snapshot(self->ns_writer));
	EXPECT_EQ(0, ns_delete(self->ns_writer));
	EXPECT_EQ(0, ns_lookup(self->ns));
}

/* A join has requirements for both descriptors, even if root joins. H26 */
TEST_F(rights, join_descriptors)
{
	struct perf_event_attr attr = say_attr(), task = say_attr();
	int fd, unbound, p[2];

	fd = event_open(&attr, -1, self->cpu, -1, 0);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, pipe(p));
	EXPECT_EQ(-ENOENT, persist_join_unnamed(fd, self->id));
	EXPECT_EQ(-EACCES, ns_join(self->ns_reader, fd));
	EXPECT_EQ(-EACCES, ns_join(self->ns_writer, self->reader));
	EXPECT_EQ(-EBADF, ns_join(self->ns_writer, -1));
	EXPECT_EQ(-EBADF, ns_join(self->ns_writer, p[0]));
	EXPECT_EQ(-EBADF, ns_join(self->ns_writer, self->ns_writer));
	EXPECT_EQ(-EFAULT, event_ioctl(self->ns_writer, PERF_EVENT_IOC_JOIN, 0));
	EXPECT_EQ(-EBUSY, ns_join(self->ns_writer, self->writer));
	unbound = ns_open(PERF_PERSIST_NEW, PERF_PERSIST_OPEN_WRITE);
	ASSERT_LE(0, unbound);
	EXPECT_EQ(-EINVAL, ns_join(unbound, fd));
	EXPECT_EQ(-ENOTTY, ns_join(self->writer, fd));
	EXPECT_EQ(1, ns_count(self->id));

	EXPECT_EQ(0, ns_join(self->ns_writer, fd));
	EXPECT_EQ(2, ns_count(self->id));
	EXPECT_EQ(-EBUSY, ns_join(self->ns_writer, fd));
	fd = event_open(&task, 0, -1, -1, 0);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-EOPNOTSUPP, ns_join(self->ns_writer, fd));
	ASSERT_EQ(0, ns_delete(self->ns_writer));
	fd = event_open(&attr, -1, self->cpu, -1, 0);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-ENODEV, ns_join(self->ns_writer, fd));
}

/* CAP_PERFMON is enough: no CAP_SYS_ADMIN, no uid 0. */
TEST_F(rights, perfmon_is_enough)
{
	struct perf_event_persist p;
	int fd, ns;
	__u64 id;

	if (set_paranoid(2))
		SKIP(return, "cannot set perf_event_paranoid");
	ASSERT_EQ(0, become(NOBODY, cap_bit(CAP_PERFMON)));
	if (!may_create())
		SKIP(return, "cannot keep CAP_PERFMON alone");

	fd = counter_open(self->cpu);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, set_name(fd, "%s-2", self->ns));
	ASSERT_EQ(0, persist_new(fd, &id));
	ASSERT_EQ(0, get_persist(fd, &p));
	EXPECT_EQ(NOBODY, p.owner_uid);
	ns = ns_open(id, PERF_PERSIST_OPEN_WRITE);
	ASSERT_LE(0, ns);
	EXPECT_EQ(0, ns_delete(ns));
}

/* Write access requires CAP_PERFMON at open, even when everybody may read. */
TEST_F(rights, write_access)
{
	int fd;

	if (set_paranoid(-1))
		SKIP(return, "cannot set perf_event_paranoid");
	drop_caps(privileges());
	EXPECT_EQ(-EACCES, member_reopen(self->id, 0, self->cpu, PERF_PERSIST_OPEN_WRITE));
	EXPECT_EQ(-EACCES, member_reopen(self->id, self->event, -1, PERF_PERSIST_OPEN_WRITE));
	EXPECT_EQ(-EACCES, ns_open(self->id, PERF_PERSIST_OPEN_WRITE));
	EXPECT_EQ(-EACCES, ns_open(PERF_PERSIST_NEW, PERF_PERSIST_OPEN_WRITE));

	fd = member_reopen(self->id, 0, self->cpu, 0);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-EACCES, event_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0));
	EXPECT_NE(MAP_FAILED, ring_map(fd, PAGES, PROT_READ));
	fd = ns_open(self->id, 0);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-EACCES, event_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0));
}

/* A descriptor keeps the access with which it was opened, as for any file. */
TEST_F(rights, descriptor_carries_access)
{
	struct perf_event_persist_member p = {};
	pid_t pid;

	pid = fork_child();
	ASSERT_LE(0, pid);
	if (!pid) {
		drop_caps(privileges());
		if (setresuid(NOBODY, NOBODY, NOBODY))
			_exit(1);
		EXPECT_EQ(0, get_member(self->reader, &p));
		EXPECT_NE(MAP_FAILED, ring_map(self->reader, PAGES, PROT_READ));
		EXPECT_EQ(0, event_ioctl(self->writer, PERF_EVENT_IOC_DISABLE, 0));
		EXPECT_EQ(0, event_ioctl(self->writer, PERF_EVENT_IOC_ENABLE, 0));
		EXPECT_EQ(0, event_ioctl(self->ns_writer, PERF_EVENT_IOC_DISABLE, 0));
		EXPECT_EQ(-EACCES, event_ioctl(self->ns_reader, PERF_EVENT_IOC_ENABLE, 0));
		EXPECT_EQ(-EACCES, ns_delete(self->ns_reader));
		EXPECT_EQ(0, ns_delete(self->ns_writer));
		_exit(0);
	}
	EXPECT_EQ(0, child_status(pid));
	EXPECT_EQ(0, ns_lookup(self->ns));
}

/* perf_event_paranoid decides at each open who may read what a CPU does. H16 */
TEST_F(rights, paranoid)
{
	int level, i, fd[3], expected;

	for (level = -1; level <= 2; level++) {
		pid_t pid;

		if (set_paranoid(level))
			SKIP(return, "cannot set perf_event_paranoid");
		expected = level > 0 ? -EACCES : 0;
		pid = fork_child();
		ASSERT_LE(0, pid);
		if (!pid) {
			drop_caps(privileges());
			fd[0] = member_reopen(self->id, 0, self->cpu, 0);
			fd[1] = member_reopen(self->id, self->event, -1, 0);
			fd[2] = ns_open(self->id, 0);
			for (i = 0; i < 3; i++) {
				EXPECT_EQ(expected, fd[i] < 0 ? fd[i] : 0)
					TH_LOG("perf_event_paranoid %d, open %d", level, i);
			}
			_exit(0);
		}
		EXPECT_EQ(0, child_status(pid));

		/* With the capability, the level does not matter. */
		fd[0] = member_reopen(self->id, 0, self->cpu, 0);
		EXPECT_LE(0, fd[0]);
		close(fd[0]);
	}
}

/* Binding by name is no way around the check. */
TEST_F(rights, bind_by_name_is_checked)
{
	struct perf_event_persist_member p = {};
	int fd, err;

	if (set_paranoid(1))
		SKIP(return, "cannot set perf_event_paranoid");
	drop_caps(privileges());
	fd = ns_open(PERF_PERSIST_NEW, 0);
	err = fd < 0 ? fd : set_name(fd, "%s", self->ns);
	EXPECT_EQ(-EACCES, err);
	EXPECT_GT(0, fd < 0 ? fd : next_member(fd, &p));
}

/* Each member is checked by its own attr: raw tracepoints are for everybody at -1 only. H16 */
TEST_F(rights, tracepoint_data)
{
	struct perf_event_persist_member p = {};
	struct perf_event_persist info;
	struct perf_event_attr attr, back;
	int fd, ns, seen = 0;
	struct member m;
	__u64 event;

	if (!syscall_attr(&attr))
		SKIP(return, "no tracepoint raw_syscalls:sys_enter");
	ASSERT_EQ(0, member_open(&m, &attr, self->cpu, PAGES));
	ASSERT_EQ(0, set_name(m.fd, "/raw_syscalls:sys_enter"));
	ASSERT_EQ(0, persist_join(m.fd, self->id));
	event = event_id(m.fd);

	if (set_paranoid(0))
		SKIP(return, "cannot set perf_event_paranoid");
	drop_caps(privileges());

	/* Everybody may open the first member, so everybody may list the namespace. */
	ns = ns_open(self->id, 0);
	ASSERT_LE(0, ns);
	fd = member_reopen(self->id, event, -1, 0);
	EXPECT_TRUE(fd == -EACCES || fd == -EPERM)
		TH_LOG("reopen: %d", fd);
	fd = member_reopen(self->id, self->event, -1, 0);
	EXPECT_LE(0, fd);

	/* Members that the caller may not open are listed without attr and label. */
	for (;;) {
		__u64 last = p.event_id;

		memset(&p, 0, sizeof(p));
		memset(&back, 0, sizeof(back));
		p.size = sizeof(p);
		p.event_id = last;
		p.attr = (unsigned long)&back;
		p.attr_size = sizeof(back);
		if (event_ioctl(ns, PERF_EVENT_IOC_GET_MEMBER, (unsigned long)&p))
			break;
		seen++;
		if (p.event_id == event) {
			EXPECT_NE(0, p.flags & PERF_PERSIST_ATTR_WITHHELD);
			EXPECT_STREQ("", p.label);
			EXPECT_EQ(0, p.attr_size);
			EXPECT_EQ(0, back.size);
			EXPECT_EQ(0, back.type);
			EXPECT_EQ(0, back.config);
		} else {
			EXPECT_EQ(0, p.flags & PERF_PERSIST_ATTR_WITHHELD);
			EXPECT_STREQ("first", p.label);
			EXPECT_EQ(PERF_TYPE_SOFTWARE, back.type);
		}
	}
	ASSERT_EQ(0, get_persist(ns, &info));
	EXPECT_STREQ(self->ns, info.name);
	EXPECT_EQ(2, info.nr_members);
	EXPECT_EQ(2, seen);
}

/* Opening a buffer requires the right to every event that writes to it. H16 */
TEST_F(rights, shared_buffer)
{
	struct perf_event_attr attr = say_attr(), raw;
	struct member owner;
	int fd, guest, i;
	__u64 event[2];

	if (!syscall_attr(&raw))
		SKIP(return, "no tracepoint raw_syscalls:sys_enter");
	ASSERT_EQ(0, member_open(&owner, &attr, self->cpu, PAGES));
	guest = event_open(&raw, -1, self->cpu, -1, 0);
	ASSERT_LE(0, guest);
	ASSERT_EQ(0, event_ioctl(guest, PERF_EVENT_IOC_SET_OUTPUT, owner.fd));
	ASSERT_EQ(0, persist_join(owner.fd, self->id));
	ASSERT_EQ(0, persist_join(guest, self->id));
	event[0] = event_id(owner.fd);
	event[1] = event_id(guest);

	if (set_paranoid(0))
		SKIP(return, "cannot set perf_event_paranoid");
	drop_caps(privileges());
	for (i = 0; i < 2; i++) {
		fd = member_reopen(self->id, event[i], -1, 0);
		EXPECT_TRUE(fd == -EACCES || fd == -EPERM)
			TH_LOG("member %d: %d", i, fd);
	}
	fd = member_reopen(self->id, self->event, -1, 0);
	EXPECT_LE(0, fd);
}

/* An event that wrote to a buffer, and what became of it */
enum past { CLAIMED, STRANGER, STRANGER_GONE, BEFORE, NR_PASTS };

static const char * const past_names[NR_PASTS] = {
	[CLAIMED]	= "a member that was claimed and closed",
	[STRANGER]	= "an event that is no member",
	[STRANGER_GONE]	= "an event that was no member, and was closed",
	[BEFORE]	= "an event that was closed before the buffer was published",
};

/* Makes a recorder that everybody could read, if @raw had not written to it. */
static int create_with_past(struct member *m, struct perf_event_attr *raw, int cpu,
			    enum past past, const char *name, __u64 *id, int *guest)
{
	struct perf_event_attr attr = say_attr();
	int err;

	err = member_open(m, &attr, cpu, PAGES);
	if (!err && past != BEFORE)
		err = set_name_str(m->fd, name);
	if (!err && past != BEFORE)
		err = persist_new(m->fd, id);
	if (err)
		return err;
	*guest = event_open(raw, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (*guest < 0)
		return *guest;
	err = event_ioctl(*guest, PERF_EVENT_IOC_SET_OUTPUT, m->fd);
	call_getppid(1);
	if (!err && past == CLAIMED) {
		err = persist_join(*guest, *id);
		call_getppid(1);
		if (!err)
			err = persist_claim(*guest);
	}
	if (past != STRANGER) {
		close(*guest);
		*guest = -1;
	}
	if (!err && past == BEFORE)
		err = set_name_str(m->fd, name);
	if (!err && past == BEFORE)
		err = persist_new(m->fd, id);
	return err;
}

/* 1: users without privileges cannot open it (by id, by CPU or the listing), 0: they can. */
static int refused(__u64 ns, __u64 event, int cpu, int how)
{
	pid_t pid = fork_child();
	int fd;

	if (!pid) {
		drop_caps(privileges());
		fd = how == 0 ? member_reopen(ns, event, -1, 0) :
		     how == 1 ? member_reopen(ns, 0, cpu, 0) : ns_open(ns, 0);
		_exit(fd == -EACCES || fd == -EPERM ? 1 : fd < 0 ? 2 : 0);
	}
	return child_status(pid);
}

/* It requires the right to events that are gone as well, as their records are still there. H27 */
TEST_F(rights, past_writers)
{
	struct perf_event_snapshot s;
	struct perf_event_attr raw;
	int how, guest, ns_fd;
	enum past past;
	char name[NAME_ROOM];
	struct member m;
	__u64 id, event;

	if (!syscall_attr(&raw))
		SKIP(return, "no tracepoint raw_syscalls:sys_enter");
	if (set_paranoid(0))
		SKIP(return, "cannot set perf_event_paranoid");

	for (past = CLAIMED; past < NR_PASTS; past++) {
		snprintf(name, sizeof(name), "%s-%d", self->ns, past);
		ASSERT_EQ(0, create_with_past(&m, &raw, self->cpu, past, name, &id, &guest));
		event = event_id(m.fd);
		for (how = 0; how < 3; how++) {
			EXPECT_EQ(1, refused(id, event, self->cpu, how))
				TH_LOG("%s, %d", past_names[past], how);
			EXPECT_EQ(0, refused(self->id, self->event, self->cpu, how));
		}

		/* Now its records are in the snapshot, and none of them in the namespace. */
		ns_fd = ns_open(id, PERF_PERSIST_OPEN_WRITE);
		ASSERT_LE(0, ns_fd);
		s = (struct perf_event_snapshot){ .size = sizeof(s) };
		ASSERT_EQ(0, event_ioctl(ns_fd, PERF_EVENT_IOC_SNAPSHOT, (unsigned long)&s));
		for (how = 0; how < 3; how++) {
			EXPECT_EQ(1, refused(s.ns_id, event, self->cpu, how))
				TH_LOG("%s, %d of the snapshot", past_names[past], how);
			EXPECT_EQ(past == STRANGER, refused(id, event, self->cpu, how))
				TH_LOG("%s, %d after the snapshot", past_names[past], how);
		}

		/* An event that is open still writes to the next buffer. */
		if (past == STRANGER) {
			close(guest);
			EXPECT_EQ(1, refused(id, event, self->cpu, 0));
			ASSERT_EQ(0, event_ioctl(ns_fd, PERF_EVENT_IOC_CLEAR, 0));
			EXPECT_EQ(0, refused(id, event, self->cpu, 0));
		}
		close(ns_fd);
		member_close(&m);
	}
}

/* With the right to all events, a buffer may be opened, whoever wrote to it. H27 */
TEST_F(rights, past_writers_allowed)
{
	struct perf_event_attr raw;
	char name[NAME_ROOM];
	struct member m;
	enum past past;
	int guest;
	__u64 id;

	if (!syscall_attr(&raw))
		SKIP(return, "no tracepoint raw_syscalls:sys_enter");
	if (set_paranoid(-1))
		SKIP(return, "cannot set perf_event_paranoid");
	for (past = CLAIMED; past < NR_PASTS; past++) {
		snprintf(name, sizeof(name), "%s-%d", self->ns, past);
		ASSERT_EQ(0, create_with_past(&m, &raw, self->cpu, past, name, &id, &guest));
		EXPECT_EQ(0, refused(id, event_id(m.fd), self->cpu, 0))
			TH_LOG("%s", past_names[past]);
		member_close(&m);
	}
}

/* At level -1, everybody may open the same tracepoint. H16 */
TEST_F(rights, tracepoint_data_for_all)
{
	struct perf_event_attr attr;
	struct member m;
	__u64 event;

	if (!syscall_attr(&attr))
		SKIP(return, "no tracepoint raw_syscalls:sys_enter");
	ASSERT_EQ(0, member_open(&m, &attr, self->cpu, PAGES));
	ASSERT_EQ(0, persist_join(m.fd, self->id));
	event = event_id(m.fd);
	if (set_paranoid(-1))
		SKIP(return, "cannot set perf_event_paranoid");
	drop_caps(privileges());
	EXPECT_LE(0, member_reopen(self->id, event, -1, 0));
}

/* Listing a namespace requires the right to its first member. H16 */
TEST_F(rights, listing_needs_the_first_member)
{
	struct perf_event_attr attr;
	char name[NAME_ROOM];
	struct member m;
	__u64 id;
	int fd;

	if (!syscall_attr(&attr))
		SKIP(return, "no tracepoint raw_syscalls:sys_enter");
	snprintf(name, sizeof(name), "%s-2", self->ns);
	ASSERT_EQ(0, ns_create(&m, &attr, self->cpu, PAGES, name, &id));
	if (set_paranoid(0))
		SKIP(return, "cannot set perf_event_paranoid");
	drop_caps(privileges());
	fd = ns_open(id, 0);
	EXPECT_TRUE(fd == -EACCES || fd == -EPERM)
		TH_LOG("listing: %d", fd);
}

/* Everybody may read names. */
TEST_F(rights, names_in_sysfs)
{
	if (set_paranoid(2))
		SKIP(return, "cannot set perf_event_paranoid");
	ASSERT_EQ(0, setresuid(NOBODY, NOBODY, NOBODY));
	drop_caps(~0ULL);
	EXPECT_EQ(self->id, ns_lookup(self->ns));
}

/*
 * Returns a file that another process opened for writing, as @uid with @caps. That
 * process stays until it is killed.
 */
static int open_by_other(const char *path, uid_t uid, __u64 caps, pid_t *pid)
{
	int pidfd, fd, child_fd = -1, to_parent[2];

	if (pipe(to_parent))
		return -errno;
	*pid = fork_child();
	if (!*pid) {
		fd = become(uid, caps) ?: open(path, O_WRONLY);
		if (write(to_parent[1], &fd, sizeof(fd)) == sizeof(fd))
			pause();
		_exit(0);
	}
	close(to_parent[1]);
	if (read(to_parent[0], &child_fd, sizeof(child_fd)) != sizeof(child_fd) || child_fd < 0)
		return -1;
	pidfd = syscall(SYS_pidfd_open, *pid, 0);
	fd = neg_errno(syscall(SYS_pidfd_getfd, pidfd, child_fd, 0));
	close(pidfd);
	close(to_parent[0]);
	return fd;
}

/*
 * The opener of a file needs the right, not only the writer. Otherwise a program with more
 * rights could be made to write there, say, its messages.
 */
TEST_F(rights, perffs_opener)
{
	char path[512], text[8];
	pid_t pid;
	int fd;

	ASSERT_EQ(0, mount_perffs());
	snprintf(path, sizeof(path), PERFFS_DIR "/%s/enabled", self->ns);
	fd = open_by_other(path, 0, 0, &pid);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-EACCES, neg_errno(write(fd, "0", 1)));
	EXPECT_EQ(2, read_file(path, text, sizeof(text)));
	EXPECT_EQ('1', text[0]);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Nor can such a program be made to increase what the owner pays. */
TEST_F(rights, perffs_payer)
{
	char path[512];
	pid_t pid;
	int fd;

	ASSERT_EQ(0, mount_perffs());
	snprintf(path, sizeof(path), PERFFS_DIR "/%s/spares", self->ns);
	fd = open_by_other(path, NOBODY, cap_bit(CAP_PERFMON) | cap_bit(CAP_DAC_OVERRIDE), &pid);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-EPERM, neg_errno(write(fd, "2", 1)));
	EXPECT_EQ(0, write_file(path, "2"));
	EXPECT_EQ(1, write(fd, "0", 1));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Reading and writing "enabled" requires CAP_PERFMON, which root need not have. */
TEST_F(rights, enabled_in_perffs)
{
	char path[512], text[8];

	ASSERT_EQ(0, mount_perffs());
	snprintf(path, sizeof(path), PERFFS_DIR "/%s/enabled", self->ns);
	if (set_paranoid(2))
		SKIP(return, "cannot set perf_event_paranoid");
	EXPECT_EQ(2, read_file(path, text, sizeof(text)));
	EXPECT_EQ('1', text[0]);
	drop_caps(privileges());
	EXPECT_EQ(-EACCES, write_file(path, "0"));
	/* As for opening one of the events */
	EXPECT_EQ(-EACCES, read_file(path, text, sizeof(text)));
	ASSERT_EQ(0, setresuid(NOBODY, NOBODY, NOBODY));
	drop_caps(~0ULL);
	EXPECT_EQ(-EACCES, write_file(path, "0"));
	EXPECT_EQ(-EACCES, read_file(path, text, sizeof(text)));
}

/* Uses all of perffs that is in no namespace. Returns 0 if each call ends with @expected. */
static int use_perffs(const char *ns, int expected)
{
	char path[512], text[8192];
	int fd, err;

	/* The owner may open it, whatever reading says. */
	fd = open(PERFFS_DIR "/error_log", O_RDONLY);
	if (fd < 0)
		return 10;
	err = neg_errno(read(fd, text, sizeof(text)));
	close(fd);
	if (expected ? err != expected : err < 0)
		return 11;

	snprintf(path, sizeof(path), PERFFS_DIR "/%s-dir", ns);
	if (neg_errno(mkdir(path, 0700)) != expected)
		return 12;
	/* Then there is only the other one. */
	if (expected)
		snprintf(path, sizeof(path), PERFFS_DIR "/%s", ns);
	if (neg_errno(rmdir(path)) != expected)
		return 13;
	return 0;
}

/* The owner of all files needs CAP_PERFMON nevertheless, and nothing else. */
TEST_F(rights, perffs_owner)
{
	const __u64 caps[] = { 0, cap_bit(CAP_PERFMON) };
	char options[32];
	struct stat st;
	unsigned int i;
	int err, fd;
	pid_t pid;

	if (geteuid())
		SKIP(return, "needs root, to become others");
	snprintf(options, sizeof(options), "uid=%d", NOBODY);
	err = mount_perffs_with(options);
	if (err == -EBUSY)
		SKIP(return, "perffs is mounted already");
	ASSERT_EQ(0, err);
	for (i = 0; i < ARRAY_SIZE(caps); i++) {
		pid = fork_child();
		ASSERT_LE(0, pid);
		if (!pid)
			_exit(become(NOBODY, caps[i]) ? 1 :
			      use_perffs(self->ns, caps[i] ? 0 : -EACCES));
		EXPECT_EQ(0, child_status(pid));
	}
	EXPECT_EQ(self->id, ns_lookup(self->ns));

	/* A remount changes only what was asked for, and not what changed after fspick(). */
	fd = fspick(AT_FDCWD, PERFFS_DIR, 0);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, mount(NULL, PERFFS_DIR, NULL, MS_REMOUNT, "uid=0,mode=0710"));
	ASSERT_EQ(0, fsconfig(fd, FSCONFIG_SET_STRING, "gid", "7", 0));
	ASSERT_EQ(0, fsconfig(fd, FSCONFIG_CMD_RECONFIGURE, NULL, NULL, 0));
	close(fd);
	ASSERT_EQ(0, stat(PERFFS_DIR, &st));
	EXPECT_EQ(0, st.st_uid);
	EXPECT_EQ(7, st.st_gid);
	EXPECT_EQ(S_IFDIR | 0710, st.st_mode);
}

/* Capabilities in a user namespace of one's own give no rights to events. H16 */
TEST_F(rights, user_namespace)
{
	struct perf_event_persist p;
	__u64 id;
	int fd;

	if (set_paranoid(-1))
		SKIP(return, "cannot set perf_event_paranoid");
	fd = counter_open(self->cpu);
	ASSERT_LE(0, fd);
	if (unshare(CLONE_NEWUSER))
		SKIP(return, "no user namespaces: %s", strerror(errno));
	EXPECT_EQ(-EACCES, set_name(fd, "%s-2", self->ns));
	EXPECT_EQ(-EACCES, persist_new(fd, &id));
	EXPECT_EQ(-EACCES, persist_join(fd, self->id));
	EXPECT_EQ(-EACCES, ns_open(self->id, PERF_PERSIST_OPEN_WRITE));
	EXPECT_EQ(-EACCES, member_reopen(self->id, 0, self->cpu, PERF_PERSIST_OPEN_WRITE));

	/* The owner's uid has no mapping here. */
	ASSERT_EQ(0, get_persist(self->reader, &p));
	EXPECT_EQ(NOBODY, p.owner_uid);
}

TEST_HARNESS_MAIN
