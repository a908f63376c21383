// SPDX-License-Identifier: GPL-2.0
/*
 * Namespace descriptors: listing, poll(), and ioctls for all members at once.
 */
#include <time.h>
#include "persistent.h"

/* A namespace with two recorders on one CPU, and a counter. */
FIXTURE(nsfd)
{
	char	ns[NS_ROOM];
	int	cpu, cpu2;
	struct member m[3];
	__u64	id, event[3];
	int	reader, writer;
};

FIXTURE_SETUP(nsfd)
{
	struct perf_event_attr attr = say_attr();
	const char *missing;
	int i;

	missing = persist_begin(self->ns, &self->cpu, &self->cpu2);
	if (missing)
		SKIP(return, "%s", missing);
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, member_open(&self->m[i], &attr, self->cpu, i < 2 ? PAGES : 0));
		self->event[i] = event_id(self->m[i].fd);
	}
	ASSERT_EQ(0, persist_new(self->m[0].fd, &self->id));
	ASSERT_EQ(0, persist_join(self->m[1].fd, self->id));
	ASSERT_EQ(0, persist_join(self->m[2].fd, self->id));
	ASSERT_EQ(0, set_name(self->m[0].fd, "%s", self->ns));
	self->reader = ns_open(self->id, 0);
	self->writer = ns_open(self->id, PERF_PERSIST_OPEN_WRITE);
	ASSERT_LE(0, self->reader);
	ASSERT_LE(0, self->writer);
}

FIXTURE_TEARDOWN_PARENT(nsfd)
{
	persist_sweep();
}

static int list_start(int fd)
{
	struct perf_event_persist info;

	return get_persist(fd, &info);
}

/* The event id is the cursor: members come in the order of their ids, each once, then -ENOENT. */
TEST_F(nsfd, listing)
{
	struct perf_event_persist_member p = {};
	struct perf_event_persist info;
	int i;

	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, next_member(self->reader, &p));
		EXPECT_EQ(self->event[i], p.event_id);
		EXPECT_EQ(self->cpu, p.cpu);
		EXPECT_EQ(i < 2 ? self->event[i] : 0, p.output_id);
		EXPECT_EQ(i < 2 ? PAGES * page_size() : 0, p.buffer_size);
	}
	EXPECT_EQ(-ENOENT, next_member(self->reader, &p));
	ASSERT_EQ(0, get_persist(self->reader, &info));
	EXPECT_EQ(self->id, info.ns_id);
	EXPECT_EQ(3, info.nr_members);
	EXPECT_STREQ(self->ns, info.name);
}

/* The cursor need not be the id of a member: any number has a successor or none. H17 */
TEST_F(nsfd, listing_from_anywhere)
{
	struct perf_event_persist_member p;

	p.event_id = self->event[1] - 1;
	ASSERT_EQ(0, next_member(self->reader, &p));
	EXPECT_EQ(self->event[1], p.event_id);
	p.event_id = PERF_PERSIST_NEW;
	EXPECT_EQ(-ENOENT, next_member(self->reader, &p));
	p.event_id = PERF_PERSIST_NEW - 1;
	EXPECT_EQ(-ENOENT, next_member(self->reader, &p));
	p.event_id = 1ULL << 63;
	EXPECT_EQ(-ENOENT, next_member(self->reader, &p));
	p.event_id = self->event[2] | 1ULL << 32;
	EXPECT_EQ(-ENOENT, next_member(self->reader, &p));

	/* A member that left meanwhile leaves no hole. */
	p.event_id = self->event[0];
	ASSERT_EQ(0, persist_claim(self->m[0].fd));
	ASSERT_EQ(0, persist_claim(self->m[1].fd));
	ASSERT_EQ(0, next_member(self->reader, &p));
	EXPECT_EQ(self->event[2], p.event_id);
}

/* GET_MEMBER returns the filter to those who may see the event, if there is enough room. */
TEST_F(nsfd, filter)
{
	static const char filter[] = "id == 39 && common_pid != 7";
	struct perf_event_persist_member p = {};
	struct perf_event_attr attr;
	char text[sizeof(filter) + 8], name[NS_ROOM + 2];
	struct member m;
	__u64 id;
	int fd;

	ASSERT_EQ(0, next_member(self->reader, &p));
	EXPECT_EQ(0, p.filter_size);

	if (!syscall_attr(&attr))
		SKIP(return, "no raw_syscalls:sys_enter");
	ASSERT_EQ(0, member_open(&m, &attr, self->cpu, PAGES));
	ASSERT_EQ(0, neg_errno(ioctl(m.fd, PERF_EVENT_IOC_SET_FILTER, filter)));
	ASSERT_EQ(0, persist_new(m.fd, &id));
	snprintf(name, sizeof(name), "%s-f", self->ns);
	ASSERT_EQ(0, set_name(m.fd, "%s", name));
	fd = ns_open(id, 0);
	ASSERT_LE(0, fd);

	/* Without room, it tells how much is needed. */
	memset(&p, 0, sizeof(p));
	p.size = sizeof(p);
	ASSERT_EQ(0, neg_errno(ioctl(fd, PERF_EVENT_IOC_GET_MEMBER, &p)));
	EXPECT_EQ(sizeof(filter), p.filter_size);

	memset(text, 0x5a, sizeof(text));
	memset(&p, 0, sizeof(p));
	p.size = sizeof(p);
	p.filter = (unsigned long)text;
	p.filter_size = sizeof(filter) - 1;
	EXPECT_EQ(-E2BIG, neg_errno(ioctl(fd, PERF_EVENT_IOC_GET_MEMBER, &p)));
	EXPECT_EQ(sizeof(filter), p.filter_size);
	EXPECT_EQ(0x5a, text[0]);

	p.event_id = 0;
	ASSERT_EQ(0, neg_errno(ioctl(fd, PERF_EVENT_IOC_GET_MEMBER, &p)));
	EXPECT_EQ(sizeof(filter), p.filter_size);
	EXPECT_STREQ(filter, text);
	EXPECT_EQ(0x5a, text[sizeof(filter)]);

	/* The same on the event itself */
	memset(text, 0, sizeof(text));
	ASSERT_EQ(0, neg_errno(ioctl(m.fd, PERF_EVENT_IOC_GET_MEMBER, &p)));
	EXPECT_STREQ(filter, text);

	p.event_id = 0;
	p.filter = (__u64)-64LL;
	EXPECT_EQ(-EFAULT, neg_errno(ioctl(fd, PERF_EVENT_IOC_GET_MEMBER, &p)));
}

/* Listings on two descriptors do not disturb each other. */
TEST_F(nsfd, two_listings)
{
	struct perf_event_persist_member p = {}, p2 = {};

	ASSERT_EQ(0, next_member(self->reader, &p));
	ASSERT_EQ(0, next_member(self->writer, &p2));
	ASSERT_EQ(0, next_member(self->reader, &p));
	ASSERT_EQ(0, next_member(self->writer, &p2));
	EXPECT_EQ(self->event[1], p.event_id);
	EXPECT_EQ(self->event[1], p2.event_id);
}

/* An unbound descriptor is bound by name: a lookup that needs no sysfs. */
TEST_F(nsfd, bind_by_name)
{
	struct perf_event_persist_member p = {};
	struct perf_event_persist info;
	int fd;

	fd = ns_open(PERF_PERSIST_NEW, 0);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-ENOENT, set_name(fd, "%s-other", self->ns));
	EXPECT_EQ(-EINVAL, set_name(fd, "%s/label", self->ns));
	EXPECT_EQ(-EINVAL, set_name(fd, "/label"));
	EXPECT_EQ(-EINVAL, set_name(fd, "%s/", self->ns));
	EXPECT_EQ(-EINVAL, set_name_str(fd, ""));
	EXPECT_EQ(-EINVAL, set_name_str(fd, "UPPER"));
	EXPECT_EQ(-EFAULT, set_name_str(fd, NULL));
	ASSERT_EQ(0, set_name(fd, "%s", self->ns));
	ASSERT_EQ(0, next_member(fd, &p));
	ASSERT_EQ(0, get_persist(fd, &info));
	EXPECT_EQ(self->id, info.ns_id);
	EXPECT_EQ(self->event[0], p.event_id);

	/* A descriptor is bound only once. */
	EXPECT_EQ(-EBUSY, set_name(fd, "%s", self->ns));
	EXPECT_EQ(-EBUSY, set_name(fd, "%s-other", self->ns));
	EXPECT_EQ(-EBUSY, set_name(self->reader, "%s", self->ns));
	EXPECT_EQ(-EBUSY, set_name(self->writer, "%s", self->ns));

	/* The access mode is that of the open. */
	EXPECT_EQ(-EACCES, event_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0));
	EXPECT_EQ(-EACCES, ns_delete(fd));
	fd = ns_open(PERF_PERSIST_NEW, PERF_PERSIST_OPEN_WRITE);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, set_name(fd, "%s", self->ns));
	EXPECT_EQ(0, event_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0));
	EXPECT_EQ(0, ns_delete(fd));
	EXPECT_EQ(0, ns_lookup(self->ns));
}

/* A namespace that has no name yet cannot be bound, nor can a deleted one. */
TEST_F(nsfd, bind_to_published_only)
{
	int fd, unbound;
	__u64 id;

	fd = counter_open(self->cpu);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, set_name(fd, "%s-2", self->ns));
	unbound = ns_open(PERF_PERSIST_NEW, 0);
	ASSERT_LE(0, unbound);
	EXPECT_EQ(-ENOENT, set_name(unbound, "%s-2", self->ns));
	ASSERT_EQ(0, persist_new(fd, &id));
	ASSERT_EQ(0, ns_kill(id));
	EXPECT_EQ(-ENOENT, set_name(unbound, "%s-2", self->ns));
	EXPECT_EQ(0, set_name(unbound, "%s", self->ns));
}

/* An unbound descriptor can do nothing else. */
TEST_F(nsfd, unbound)
{
	struct perf_event_persist_member p;
	struct perf_event_persist info;
	int fd;

	fd = ns_open(PERF_PERSIST_NEW, PERF_PERSIST_OPEN_WRITE);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-EINVAL, get_member(fd, &p));
	EXPECT_EQ(-EINVAL, get_persist(fd, &info));
	EXPECT_EQ(-EINVAL, event_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0));
	EXPECT_EQ(-EINVAL, event_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0));
	EXPECT_EQ(-EINVAL, ns_delete(fd));

	/* The wildcard id is for namespaces, not for members. */
	EXPECT_GT(0, member_reopen(PERF_PERSIST_NEW, 0, self->cpu, 0));
	EXPECT_GT(0, member_reopen(PERF_PERSIST_NEW, self->event[0], -1, 0));
}

/* ENABLE and DISABLE reach every member, whoever has it open. */
TEST_F(nsfd, disable_enable)
{
	struct perf_event_persist_member p = {};
	int i;

	ASSERT_EQ(0, event_ioctl(self->writer, PERF_EVENT_IOC_DISABLE, 0));
	while (!next_member(self->reader, &p))
		EXPECT_NE(0, p.flags & PERF_PERSIST_DISABLED);
	say("disabled");
	ASSERT_EQ(0, event_ioctl(self->writer, PERF_EVENT_IOC_ENABLE, 0));
	p.event_id = 0;
	while (!next_member(self->reader, &p))
		EXPECT_EQ(0, p.flags & PERF_PERSIST_DISABLED);
	say("enabled");
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(0, heard(self->m[i].fd, self->m[i].map, "disabled"));
		EXPECT_EQ(1, heard(self->m[i].fd, self->m[i].map, "enabled"));
	}

	/* Repeating a call does no harm. */
	EXPECT_EQ(0, event_ioctl(self->writer, PERF_EVENT_IOC_ENABLE, 0));
	EXPECT_EQ(0, event_ioctl(self->writer, PERF_EVENT_IOC_DISABLE, 0));
	EXPECT_EQ(0, event_ioctl(self->writer, PERF_EVENT_IOC_DISABLE, 0));
}

/* ENABLE and DISABLE take no argument here: a flag for events would be ignored. */
TEST_F(nsfd, no_argument)
{
	const unsigned long cmds[] = { PERF_EVENT_IOC_DISABLE, PERF_EVENT_IOC_ENABLE };
	const unsigned long args[] = { PERF_IOC_FLAG_GROUP, 2, ~0UL };
	struct perf_event_persist_member p = {};
	unsigned int i, j;

	/* In both states, so that each call would change something. */
	for (i = 0; i < ARRAY_SIZE(cmds); i++) {
		for (j = 0; j < ARRAY_SIZE(args); j++) {
			EXPECT_EQ(-EINVAL, event_ioctl(self->writer, cmds[i], args[j]))
				TH_LOG("ioctl 0x%lx, argument 0x%lx", cmds[i], args[j]);
		}
		p.event_id = 0;
		while (!next_member(self->reader, &p))
			EXPECT_EQ(i, !!(p.flags & PERF_PERSIST_DISABLED));
		ASSERT_EQ(0, event_ioctl(self->writer, cmds[i], 0));
	}
}

/* perffs can switch a namespace, and shows its state: 0, 1, or X if members differ. */
TEST_F(nsfd, perffs_enabled)
{
	struct perf_event_persist_member p = {};
	char path[512], text[8];
	struct stat st;
	int i, fd;

	ASSERT_EQ(0, mount_perffs());
	snprintf(path, sizeof(path), PERFFS_DIR "/%s/enabled", self->ns);
	ASSERT_EQ(0, stat(path, &st));
	EXPECT_EQ(0600, st.st_mode & 0777);
	EXPECT_EQ(2, read_file(path, text, sizeof(text)));
	EXPECT_EQ('1', text[0]);

	EXPECT_EQ(0, write_file(path, "0"));
	EXPECT_EQ(2, read_file(path, text, sizeof(text)));
	EXPECT_EQ('0', text[0]);
	while (!next_member(self->reader, &p))
		EXPECT_NE(0, p.flags & PERF_PERSIST_DISABLED);
	say("disabled");

	/* A bad value changes nothing. */
	EXPECT_EQ(-EINVAL, write_file(path, "maybe"));
	EXPECT_EQ(-EINVAL, write_file(path, "2"));
	fd = open(path, O_WRONLY);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-EINVAL, neg_errno(write(fd, "1\0002", 3)));
	EXPECT_EQ(2, write(fd, "0\0", 2));
	close(fd);
	EXPECT_EQ(2, read_file(path, text, sizeof(text)));
	EXPECT_EQ('0', text[0]);

	ASSERT_EQ(0, event_ioctl(self->m[0].fd, PERF_EVENT_IOC_ENABLE, 0));
	EXPECT_EQ(2, read_file(path, text, sizeof(text)));
	EXPECT_EQ('X', text[0]);

	EXPECT_EQ(0, write_file(path, "1\n"));
	EXPECT_EQ(2, read_file(path, text, sizeof(text)));
	EXPECT_EQ('1', text[0]);
	say("enabled");
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(0, heard(self->m[i].fd, self->m[i].map, "disabled"));
		EXPECT_EQ(1, heard(self->m[i].fd, self->m[i].map, "enabled"));
	}

	ASSERT_EQ(0, ns_kill(self->id));
	EXPECT_EQ(-ENOENT, read_file(path, text, sizeof(text)));
}

/* An event that is added in perffs has the clock of the events whose buffer it writes to. */
TEST_F(nsfd, perffs_clock)
{
	struct perf_event_attr attr = say_attr();
	struct member m;
	char path[512];
	__u64 id;

	ASSERT_EQ(0, mount_perffs());
	attr.use_clockid = 1;
	attr.clockid = CLOCK_MONOTONIC;
	ASSERT_EQ(0, member_open(&m, &attr, self->cpu, PAGES));
	ASSERT_EQ(0, persist_new(m.fd, &id));
	ASSERT_EQ(0, set_name(m.fd, "%s-clock", self->ns));
	snprintf(path, sizeof(path), PERFFS_DIR "/%s-clock/triggers", self->ns);
	EXPECT_EQ(0, write_file(path, "context-switches/period=1000000/ : stop"));
}

/*
 * On a CPU where a namespace only records tasks, a trigger's event writes no records: they would
 * push out those of tasks. A trigger without a label can be removed as it is shown.
 */
TEST_F(nsfd, perffs_trigger)
{
	struct perf_event_persist_member p = {};
	struct perf_event_attr attr = say_attr();
	struct perf_event_trigger t = {};
	struct member m, tasks;
	char path[512], text[64];
	int fd, nr = 0;
	__u64 id;

	if (self->cpu2 < 0)
		SKIP(return, "one CPU");
	ASSERT_EQ(0, mount_perffs());
	ASSERT_EQ(0, member_open(&m, &attr, self->cpu, PAGES));
	ASSERT_EQ(0, persist_new(m.fd, &id));
	attr = fault_attr(1);
	attr.config = PERF_COUNT_SW_DUMMY;
	attr.task = 1;
	ASSERT_EQ(0, member_open(&tasks, &attr, self->cpu2, PAGES));
	ASSERT_EQ(0, persist_join_unnamed(tasks.fd, id));
	ASSERT_EQ(0, set_name(m.fd, "%s-tasks", self->ns));
	snprintf(path, sizeof(path), PERFFS_DIR "/%s-tasks/triggers", self->ns);
	ASSERT_EQ(0, write_file(path, "context-switches/period=1000000/ : stop"));
	fd = ns_open(id, PERF_PERSIST_OPEN_WRITE);
	ASSERT_LE(0, fd);
	while (!next_member(fd, &p)) {
		if (!p.trigger)
			continue;
		nr++;
		EXPECT_EQ(p.cpu == self->cpu ? event_id(m.fd) : 0, p.output_id);
	}
	EXPECT_EQ(2, nr);

	ASSERT_EQ(0, write_file(path, "!context-switches/period=1000000/ : stop"));
	ASSERT_EQ(0, trigger_add(fd, &t));
	EXPECT_LT(0, read_file(path, text, sizeof(text)));
	EXPECT_EQ(0, write_file(path, "! : stop"));
	EXPECT_EQ(0, read_file(path, text, sizeof(text)));
}

/*
 * Not every clock can be read in an NMI. A tracepoint may be hit in one, so it cannot have
 * such a clock, and cannot write to a buffer whose records have it. Software events can.
 */
TEST_F(nsfd, perffs_clock_in_nmi)
{
	static const char software[] = "context-switches/period=1000000/ : stop";
	struct perf_event_attr attr = fault_attr(1000000000);
	struct perf_event_attr tracepoint;
	char path[512], text[64];
	struct member m;
	__u64 id;

	if (!syscall_attr(&tracepoint))
		SKIP(return, "no tracepoints");
	ASSERT_EQ(0, mount_perffs());
	attr.config = PERF_COUNT_SW_CPU_CLOCK;
	attr.use_clockid = 1;
	attr.clockid = CLOCK_BOOTTIME;
	ASSERT_EQ(0, member_open(&m, &attr, self->cpu, PAGES));
	ASSERT_EQ(0, persist_new(m.fd, &id));
	ASSERT_EQ(0, set_name(m.fd, "%s-clock", self->ns));
	snprintf(path, sizeof(path), PERFFS_DIR "/%s-clock/triggers", self->ns);
	EXPECT_EQ(-EINVAL, write_file(path, "sched:sched_switch : stop"));
	EXPECT_EQ(0, read_file(path, text, sizeof(text)));

	/* Nor does perf_event_open() make one. */
	tracepoint.use_clockid = 1;
	tracepoint.clockid = CLOCK_BOOTTIME;
	EXPECT_EQ(-EINVAL, event_open(&tracepoint, -1, self->cpu, -1, 0));

	EXPECT_EQ(0, write_file(path, software));
	ASSERT_EQ(sizeof(software), read_file(path, text, sizeof(text)));
	EXPECT_EQ(0, memcmp(software, text, strlen(software)));
}

/* Events may be published disabled, to be switched on together. */
TEST_F(nsfd, created_disabled)
{
	struct perf_event_attr attr = say_attr();
	struct perf_event_persist_member p;
	char name[NAME_ROOM];
	struct member m;
	__u64 id;
	int fd;

	attr.disabled = 1;
	snprintf(name, sizeof(name), "%s-2", self->ns);
	ASSERT_EQ(0, ns_create(&m, &attr, self->cpu, PAGES, name, &id));
	ASSERT_EQ(0, get_member(m.fd, &p));
	EXPECT_NE(0, p.flags & PERF_PERSIST_DISABLED);
	say("disabled");
	fd = ns_open(id, PERF_PERSIST_OPEN_WRITE);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, event_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0));
	say("enabled");
	EXPECT_EQ(0, heard(m.fd, m.map, "disabled"));
	EXPECT_EQ(1, heard(m.fd, m.map, "enabled"));
}

/* A descriptor without write access can only read. H8 */
TEST_F(nsfd, read_only)
{
	EXPECT_EQ(-EACCES, event_ioctl(self->reader, PERF_EVENT_IOC_ENABLE, 0));
	EXPECT_EQ(-EACCES, event_ioctl(self->reader, PERF_EVENT_IOC_DISABLE, 0));
	EXPECT_EQ(-EACCES, ns_delete(self->reader));
	say("untouched");
	EXPECT_EQ(1, heard(self->m[0].fd, self->m[0].map, "untouched"));
	EXPECT_EQ(self->id, ns_lookup(self->ns));
}

/* A namespace descriptor is no event: calls for events only are refused. H16b, H17 */
TEST_F(nsfd, other_calls)
{
	static const unsigned long cmds[] = {
		PERF_EVENT_IOC_REFRESH, PERF_EVENT_IOC_RESET, PERF_EVENT_IOC_PERIOD,
		PERF_EVENT_IOC_SET_OUTPUT, PERF_EVENT_IOC_SET_FILTER, PERF_EVENT_IOC_ID,
		PERF_EVENT_IOC_SET_BPF, PERF_EVENT_IOC_PAUSE_OUTPUT, PERF_EVENT_IOC_QUERY_BPF,
		PERF_EVENT_IOC_MODIFY_ATTRIBUTES, PERF_EVENT_IOC_PERSIST_FLAGS,
		_IO('$', 99), _IO('%', 0),
	};
	struct perf_event_attr attr = fault_attr(0);
	__u64 buf[64] = {}, id = PERF_PERSIST_NEW;
	unsigned int i;
	int fd;

	for (i = 0; i < ARRAY_SIZE(cmds); i++) {
		EXPECT_EQ(-ENOTTY, event_ioctl(self->writer, cmds[i], (unsigned long)buf))
			TH_LOG("ioctl 0x%lx", cmds[i]);
	}
	EXPECT_EQ(-EINVAL, set_persist(self->writer, &id));
	EXPECT_EQ(-EINVAL, persist_join_unnamed(self->writer, self->id));
	EXPECT_EQ(-EINVAL, persist_join_unnamed(self->writer, 0));

	EXPECT_GT(0, read(self->writer, buf, sizeof(buf)));
	EXPECT_GT(0, write(self->writer, buf, sizeof(buf)));
	EXPECT_GT(0, ring_map_err(self->writer, PAGES, PROT_READ));
	EXPECT_GT(0, ring_map_err(self->writer, 0, PROT_READ));

	/* Nor can it be used as one. */
	EXPECT_GT(0, event_open(&attr, -1, self->cpu, self->writer, 0));
	fd = event_open(&attr, -1, self->cpu, -1, 0);
	ASSERT_LE(0, fd);
	EXPECT_GT(0, event_ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, self->writer));
	EXPECT_EQ(-EBADF, ns_join(self->writer, self->writer));
	EXPECT_EQ(3, ns_count(self->id));
}

/* When the namespace is deleted, every call on its descriptors fails. */
TEST_F(nsfd, deleted)
{
	struct perf_event_persist_member p = {};
	struct perf_event_persist info;

	ASSERT_EQ(0, ns_delete(self->writer));
	EXPECT_EQ(-ENODEV, ns_delete(self->writer));
	EXPECT_EQ(-ENODEV, event_ioctl(self->writer, PERF_EVENT_IOC_ENABLE, 0));
	EXPECT_EQ(-ENODEV, event_ioctl(self->writer, PERF_EVENT_IOC_DISABLE, 0));
	EXPECT_EQ(-ENODEV, next_member(self->writer, &p));
	EXPECT_EQ(-ENODEV, next_member(self->reader, &p));
	EXPECT_EQ(-ENODEV, get_persist(self->reader, &info));
	p.event_id = self->event[0];
	EXPECT_EQ(-ENODEV, next_member(self->reader, &p));
	EXPECT_EQ(POLLHUP, poll_now(self->reader) & POLLHUP);
	EXPECT_EQ(POLLHUP, poll_now(self->writer) & POLLHUP);
	EXPECT_EQ(0, ns_lookup(self->ns));
	EXPECT_EQ(-ENOENT, ns_open(self->id, 0));
}

/*
 * After GET_PERSIST, poll() is quiet until something changes. Each descriptor sees each
 * change. H10
 */
TEST_F(nsfd, poll_changes)
{
	struct perf_event_attr attr = say_attr();
	int fds[] = { self->reader, self->writer, ns_open(self->id, 0) };
	struct member m;
	unsigned int i;
	int step, writer;

	writer = member_reopen(self->id, self->event[0], -1, PERF_PERSIST_OPEN_WRITE);
	ASSERT_LE(0, writer);
	ASSERT_EQ(0, member_open(&m, &attr, self->cpu, 1));

	for (step = 0; step < 7; step++) {
		/* Before the first GET_PERSIST, all is news. */
		for (i = 0; i < ARRAY_SIZE(fds); i++) {
			EXPECT_EQ(POLLPRI, poll_now(fds[i]))
				TH_LOG("before step %d", step);
			EXPECT_EQ(POLLPRI, poll_now(fds[i]));
			ASSERT_EQ(0, list_start(fds[i]));
			EXPECT_EQ(0, poll_now(fds[i]))
				TH_LOG("before step %d", step);
		}

		switch (step) {
		case 0:
			ASSERT_EQ(0, persist_join(m.fd, self->id));
			break;
		case 1:
			ASSERT_EQ(0, set_name(m.fd, "/label"));
			break;
		case 2:
			ASSERT_EQ(0, event_ioctl(self->writer, PERF_EVENT_IOC_DISABLE, 0));
			break;
		case 3:
			ASSERT_EQ(0, event_ioctl(self->writer, PERF_EVENT_IOC_ENABLE, 0));
			break;
		case 4:
			ASSERT_EQ(0, event_ioctl(writer, PERF_EVENT_IOC_DISABLE, 0));
			break;
		case 5:
			ASSERT_EQ(0, event_ioctl(writer, PERF_EVENT_IOC_ENABLE, 0));
			break;
		case 6:
			ASSERT_EQ(0, persist_claim(m.fd));
			break;
		}
	}
	for (i = 0; i < ARRAY_SIZE(fds); i++)
		EXPECT_EQ(POLLPRI, poll_now(fds[i]));
	ASSERT_EQ(0, ns_kill(self->id));
	for (i = 0; i < ARRAY_SIZE(fds); i++)
		EXPECT_EQ(POLLHUP, poll_now(fds[i]) & POLLHUP);
}

/* Samples, readers and failed calls do not change the listing: poll() stays quiet. H10 */
TEST_F(nsfd, poll_ignores_the_rest)
{
	struct perf_event_persist_member p = {};
	struct perf_event_persist info;
	int fd;

	ASSERT_EQ(0, get_persist(self->reader, &info));
	say("a sample");
	EXPECT_EQ(0, poll_now(self->reader));
	fd = member_reopen(self->id, 0, self->cpu, 0);
	ASSERT_LE(0, fd);
	EXPECT_EQ(0, ring_map_err(fd, PAGES, PROT_READ));
	close(fd);
	EXPECT_EQ(-EBUSY, set_name(self->m[0].fd, "%s-other/label", self->ns));
	EXPECT_EQ(0, poll_now(self->reader));

	/* Walking the members does not count as GET_PERSIST. */
	ASSERT_EQ(0, set_name(self->m[2].fd, "/changed"));
	ASSERT_EQ(0, next_member(self->reader, &p));
	ASSERT_EQ(0, next_member(self->reader, &p));
	EXPECT_EQ(POLLPRI, poll_now(self->reader));
}

/* A change wakes every process that sleeps in poll(), and so does the end. H10 */
TEST_F(nsfd, poll_wakes_all)
{
	int ready[2], i;
	pid_t pid[2];
	char c;

	ASSERT_EQ(0, pipe(ready));
	for (i = 0; i < 2; i++) {
		pid[i] = fork_child();
		ASSERT_LE(0, pid[i]);
		if (!pid[i]) {
			struct pollfd pfd = { .events = POLLPRI };

			pfd.fd = ns_open(self->id, 0);
			if (pfd.fd < 0 || list_start(pfd.fd) || write(ready[1], "r", 1) != 1)
				_exit(1);
			if (poll(&pfd, 1, -1) != 1 || !(pfd.revents & POLLPRI))
				_exit(2);
			if (list_start(pfd.fd) || write(ready[1], "r", 1) != 1)
				_exit(3);
			if (poll(&pfd, 1, -1) != 1 || !(pfd.revents & POLLHUP))
				_exit(4);
			_exit(0);
		}
	}
	for (i = 0; i < 2; i++)
		ASSERT_EQ(1, read(ready[0], &c, 1));
	ASSERT_EQ(0, set_name(self->m[0].fd, "/label"));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(1, read(ready[0], &c, 1));
	ASSERT_EQ(0, ns_delete(self->writer));
	for (i = 0; i < 2; i++)
		EXPECT_EQ(0, child_status(pid[i]));
}

/* An open namespace descriptor keeps nothing alive. */
TEST_F(nsfd, is_no_opener)
{
	struct perf_event_persist_member p = {};
	int i;

	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, persist_claim(self->m[i].fd));
	EXPECT_EQ(0, ns_lookup(self->ns));
	EXPECT_EQ(-ENODEV, next_member(self->reader, &p));
	EXPECT_EQ(POLLHUP, poll_now(self->reader) & POLLHUP);
}

TEST_HARNESS_MAIN
