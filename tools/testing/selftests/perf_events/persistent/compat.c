// SPDX-License-Identifier: GPL-2.0
/*
 * A 32-bit program on a 64-bit kernel. The ioctl number of SET_NAME contains the size of
 * a pointer, and arguments that are pointers need compat_ioctl. H17
 */
#include <assert.h>

#include <sys/utsname.h>

#include "persistent.h"

static_assert(sizeof(char *) == 4, "this is about 32 bits");
static_assert(_IOC_SIZE(PERF_EVENT_IOC_SET_NAME) == 4, "SET_NAME");
static_assert(_IOC_SIZE(PERF_EVENT_IOC_SET_PERSIST) == 8, "SET_PERSIST");
static_assert(_IOC_SIZE(PERF_EVENT_IOC_GET_PERSIST) == 208, "GET_PERSIST");
static_assert(_IOC_SIZE(PERF_EVENT_IOC_PERSIST_FLAGS) == 8, "PERSIST_FLAGS");
static_assert(_IOC_SIZE(PERF_EVENT_IOC_JOIN) == 4, "JOIN");
static_assert(_IOC_SIZE(PERF_EVENT_IOC_GET_MEMBER) == 176, "GET_MEMBER");
static_assert(_IOC_SIZE(PERF_EVENT_IOC_SET_NOTE) == 64, "SET_NOTE");
static_assert(_IOC_SIZE(PERF_EVENT_IOC_SET_TASKS) == 40, "SET_TASKS");
static_assert(_IOC_SIZE(PERF_EVENT_IOC_GET_TASKS) == 40, "GET_TASKS");
static_assert(_IOC_SIZE(PERF_EVENT_IOC_SNAPSHOT) == 32, "SNAPSHOT");
static_assert(_IOC_SIZE(PERF_EVENT_IOC_RESIZE) == 32, "RESIZE");
static_assert(_IOC_SIZE(PERF_EVENT_IOC_KEEP) == 4, "KEEP");
static_assert(_IOC_SIZE(PERF_EVENT_IOC_SPARES) == 4, "SPARES");
static_assert(_IOC_SIZE(PERF_EVENT_IOC_ADD_TRIGGER) == 104, "ADD_TRIGGER");
static_assert(_IOC_SIZE(PERF_EVENT_IOC_ADD_TRIGGER_EVENT) == 8, "ADD_TRIGGER_EVENT");
static_assert(_IOC_SIZE(PERF_EVENT_IOC_GET_TRIGGER) == 104, "GET_TRIGGER");
static_assert(_IOC_SIZE(PERF_EVENT_IOC_GET_TRIGGER_STATE) == 64, "GET_TRIGGER_STATE");
static_assert(_IOC_SIZE(PERF_EVENT_IOC_ARM_TRIGGER) == 4, "ARM_TRIGGER");
static_assert(_IOC_SIZE(PERF_EVENT_IOC_DEL_TRIGGER) == 4, "DEL_TRIGGER");
static_assert(sizeof(struct perf_event_persist) == PERF_EVENT_PERSIST_SIZE_VER0, "size");
static_assert(offsetof(struct perf_event_persist, ns_id) == 8, "ns_id");
static_assert(offsetof(struct perf_event_persist, note) == 144, "note");
static_assert(sizeof(struct perf_event_persist_member) == PERF_EVENT_PERSIST_MEMBER_SIZE_VER0,
	      "size of a member");
static_assert(offsetof(struct perf_event_persist_member, attr) == 88, "attr");
static_assert(offsetof(struct perf_event_snapshot, sizes) == 8, "sizes");
static_assert(offsetof(struct perf_event_trigger, after_ns) == 16, "after_ns");
static_assert(offsetof(struct perf_event_trigger_state, fired) == 8, "fired");

FIXTURE(compat)
{
	char	ns[NS_ROOM];
	int	cpu, cpu2;
	__u64	id, event;
	struct member m;
};

/* Publishes in two steps, each of which passes a pointer. */
FIXTURE_SETUP(compat)
{
	struct perf_event_attr attr = say_attr();
	struct utsname uts;
	const char *missing;
	char name[NAME_ROOM];

	missing = persist_begin(self->ns, &self->cpu, &self->cpu2);
	if (missing)
		SKIP(return, "%s", missing);
	ASSERT_EQ(0, uname(&uts));
	if (!strstr(uts.machine, "64"))
		SKIP(return, "the kernel has 32 bits itself: %s", uts.machine);

	ASSERT_EQ(0, member_open(&self->m, &attr, self->cpu, PAGES));
	self->event = event_id(self->m.fd);
	ASSERT_EQ(0, persist_new(self->m.fd, &self->id));
	ASSERT_NE(PERF_PERSIST_NEW, self->id);
	snprintf(name, sizeof(name), "%s/first", self->ns);
	ASSERT_EQ(0, set_name_str(self->m.fd, name));
	ASSERT_EQ(self->id, ns_lookup(self->ns));
}

FIXTURE_TEARDOWN_PARENT(compat)
{
	persist_sweep();
}

/* GET_MEMBER to @p, on an event or a namespace */
static int get_at(int fd, struct perf_event_persist_member *p, struct perf_event_attr *attr)
{
	memset(p, 0, sizeof(*p));
	memset(attr, 0, sizeof(*attr));
	p->size = sizeof(*p);
	p->attr = (unsigned long)attr;
	p->attr_size = sizeof(*attr);
	return event_ioctl(fd, PERF_EVENT_IOC_GET_MEMBER, (unsigned long)p);
}

/* Each field is where it is expected, on an event and on a namespace. */
TEST_F(compat, get_persist)
{
	struct perf_event_attr attr = say_attr(), back;
	struct perf_event_persist_member p;
	struct perf_event_persist info;
	int fd[2], i;

	fd[0] = self->m.fd;
	fd[1] = ns_open(self->id, 0);
	ASSERT_LE(0, fd[1]);
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, get_at(fd[i], &p, &back));
		EXPECT_EQ(sizeof(p), p.size);
		EXPECT_EQ(0, p.flags);
		EXPECT_EQ(self->event, p.event_id);
		EXPECT_EQ(self->event, p.output_id);
		EXPECT_EQ(PAGES * page_size(), p.buffer_size);
		EXPECT_EQ(self->cpu, p.cpu);
		EXPECT_STREQ("first", p.label);
		EXPECT_EQ(attr.size, p.attr_size);
		EXPECT_EQ((unsigned long)&back, p.attr);
		EXPECT_EQ(attr.type, back.type);
		EXPECT_EQ(attr.size, back.size);
		EXPECT_EQ(attr.config, back.config);
		EXPECT_TRUE(!!back.comm);
		EXPECT_TRUE(!!back.write_backward);

		ASSERT_EQ(0, get_persist(fd[i], &info));
		EXPECT_EQ(sizeof(info), info.size);
		EXPECT_EQ(0, info.flags);
		EXPECT_EQ(self->id, info.ns_id);
		EXPECT_EQ(1, info.nr_members);
		EXPECT_EQ(geteuid(), info.owner_uid);
		EXPECT_EQ(PERF_PERSIST_KEEP_DEFAULT, info.keep);
		EXPECT_STREQ(self->ns, info.name);
		EXPECT_STREQ("", info.note);
	}
	p.event_id = self->event;
	EXPECT_EQ(-ENOENT, next_member(fd[1], &p));
}

/* Ioctls of an event that pass the address of an id or of flags, or NULL */
TEST_F(compat, event_ioctls)
{
	struct perf_event_persist_member p;
	struct perf_event_persist info;
	char name[NAME_ROOM];
	__u64 id, id2;
	int fd, fd2;

	fd = counter_open(self->cpu);
	fd2 = counter_open(self->cpu);
	ASSERT_LE(0, fd);
	ASSERT_LE(0, fd2);

	/* SET_NAME is remembered, and SET_PERSIST publishes. */
	snprintf(name, sizeof(name), "%s-2", self->ns);
	EXPECT_EQ(0, set_name(fd, "%s/one", name));
	EXPECT_EQ(-EINVAL, persist_set_flags(fd, ~0ULL));
	EXPECT_EQ(0, persist_set_flags(fd, PERF_PERSIST_ALL_CPUS));
	EXPECT_EQ(0, persist_set_flags(fd, 0));
	EXPECT_EQ(0, persist_new(fd, &id));
	EXPECT_EQ(id, ns_lookup(name));
	EXPECT_NE(self->id, id);
	EXPECT_EQ(-EBUSY, persist_set_flags(fd, PERF_PERSIST_ALL_CPUS));
	EXPECT_EQ(-EEXIST, set_name_str(fd2, name) ? : persist_new(fd2, &id2));
	EXPECT_EQ(0, persist_join(fd2, id));
	EXPECT_EQ(2, ns_count(id));
	EXPECT_EQ(0, set_name(fd2, "/two"));
	ASSERT_EQ(0, get_member(fd2, &p));
	EXPECT_STREQ("two", p.label);
	ASSERT_EQ(0, get_persist(fd2, &info));
	EXPECT_EQ(id, info.ns_id);

	EXPECT_EQ(0, persist_claim(fd));
	EXPECT_EQ(-ENOENT, get_member(fd, &p));
	EXPECT_EQ(1, ns_count(id));
	EXPECT_EQ(0, persist_claim(fd2));
	EXPECT_EQ(0, ns_lookup(name));
	EXPECT_EQ(-ENOENT, persist_join(fd2, id));
}

/* Ioctls of a namespace */
TEST_F(compat, namespace_ioctls)
{
	struct perf_event_persist_member p = {};
	__u64 id = PERF_PERSIST_NEW;
	int reader, writer;

	reader = ns_open(PERF_PERSIST_NEW, 0);
	ASSERT_LE(0, reader);
	EXPECT_EQ(-ENOENT, set_name(reader, "%s-none", self->ns));
	EXPECT_EQ(0, set_name_str(reader, self->ns));
	EXPECT_EQ(-EBUSY, set_name_str(reader, self->ns));
	EXPECT_EQ(0, next_member(reader, &p));
	EXPECT_EQ(-EACCES, event_ioctl(reader, PERF_EVENT_IOC_DISABLE, 0));
	EXPECT_EQ(-EACCES, ns_delete(reader));

	writer = ns_open(self->id, PERF_PERSIST_OPEN_WRITE);
	ASSERT_LE(0, writer);
	EXPECT_EQ(0, event_ioctl(writer, PERF_EVENT_IOC_DISABLE, 0));
	say("disabled");
	ASSERT_EQ(0, get_member(self->m.fd, &p));
	EXPECT_NE(0, p.flags & PERF_PERSIST_DISABLED);
	EXPECT_EQ(0, event_ioctl(writer, PERF_EVENT_IOC_ENABLE, 0));
	say("enabled");
	EXPECT_EQ(0, heard(self->m.fd, self->m.map, "disabled"));
	EXPECT_EQ(1, heard(self->m.fd, self->m.map, "enabled"));

	EXPECT_EQ(-EINVAL, set_persist(writer, &id));
	EXPECT_EQ(-ENOTTY, persist_set_flags(writer, 0));
	EXPECT_EQ(-ENOTTY, event_ioctl(writer, PERF_EVENT_IOC_RESET, 0));
	EXPECT_EQ(0, ns_delete(writer));
	EXPECT_EQ(0, ns_lookup(self->ns));
	EXPECT_EQ(-ENODEV, ns_delete(writer));
}

/* Structures whose ioctls are matched by number alone; one contains an address. */
TEST_F(compat, snapshots_and_triggers)
{
	struct perf_event_buffer_size size = {
		.event_id	= self->event,
		.size		= 2 * PAGES * page_size(),
	};
	struct perf_event_snapshot s = { .size = sizeof(s) };
	struct perf_event_trigger t = {
		.action		= PERF_TRIGGER_DO_STOP,
		.after_ns	= 1,
		.cool_down_ns	= 2,
		.times		= 3,
		.label		= "faults",
	};
	struct perf_event_attr faults = fault_attr(1ULL << 40);
	struct perf_event_trigger_state st;
	struct perf_event_persist_member p;
	struct perf_event_persist info;
	__u64 first;
	int fd, event;

	fd = ns_open(self->id, PERF_PERSIST_OPEN_WRITE);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ns_keep(fd, 2));
	say("first");
	ASSERT_EQ(0, event_ioctl(fd, PERF_EVENT_IOC_SNAPSHOT, (unsigned long)&s));
	first = s.ns_id;
	EXPECT_EQ(1, s.number);
	say("second");
	s = (struct perf_event_snapshot){
		.size		= sizeof(s),
		.nr_sizes	= 1,
		.sizes		= (unsigned long)&size,
	};
	ASSERT_EQ(0, event_ioctl(fd, PERF_EVENT_IOC_RESIZE, (unsigned long)&s));
	EXPECT_EQ(2, s.number);
	EXPECT_EQ(1, heard_in(first, 0, self->cpu, "first"));
	EXPECT_EQ(1, heard_in(s.ns_id, 0, self->cpu, "second"));
	ASSERT_EQ(0, get_member(self->m.fd, &p));
	EXPECT_EQ(size.size, p.buffer_size);
	ASSERT_EQ(0, get_persist(fd, &info));
	EXPECT_EQ(2, info.keep);
	EXPECT_EQ(2, info.number);

	say("third");
	EXPECT_EQ(0, event_ioctl(fd, PERF_EVENT_IOC_CLEAR, 0));
	EXPECT_EQ(0, heard_in(self->id, 0, self->cpu, "third"));
	EXPECT_EQ(0, ns_spares(fd, 1));
	EXPECT_EQ(0, ns_spares(fd, 0));
	EXPECT_EQ(0, ns_keep(fd, 1));
	EXPECT_EQ(-ENOENT, ns_open(first, 0));
	EXPECT_EQ(1, ns_count(s.ns_id));

	ASSERT_EQ(0, trigger_add(fd, &t));
	EXPECT_EQ(1, t.number);
	faults.disabled = 1;
	event = event_open(&faults, -1, self->cpu, -1, 0);
	ASSERT_LE(0, event);
	EXPECT_EQ(0, trigger_add_event(fd, 1, event));
	ASSERT_EQ(0, trigger_get(fd, 1, &t));
	EXPECT_EQ(1, t.number);
	EXPECT_EQ(PERF_TRIGGER_WHEN_EVENT, t.when);
	EXPECT_EQ(PERF_TRIGGER_DO_STOP, t.action);
	EXPECT_EQ(1, t.after_ns);
	EXPECT_EQ(2, t.cool_down_ns);
	EXPECT_EQ(3, t.times);
	EXPECT_STREQ("faults", t.label);
	ASSERT_EQ(0, trigger_state(fd, 1, &st));
	EXPECT_EQ(sizeof(st), st.size);
	EXPECT_EQ(1, st.nr_events);
	EXPECT_EQ(0, st.acted);
	EXPECT_EQ(0, trigger_arm(fd, 1));
	EXPECT_EQ(0, trigger_del(fd, 1));
	EXPECT_EQ(-ENOENT, trigger_get(fd, 1, &t));
	EXPECT_EQ(-ENOENT, trigger_state(fd, 1, &st));

	/* A trigger that no event fires */
	t = (struct perf_event_trigger){
		.when	= PERF_TRIGGER_WHEN_PANIC,
		.action	= PERF_TRIGGER_DO_STOP,
	};
	ASSERT_EQ(0, trigger_add(fd, &t));
	EXPECT_EQ(2, t.number);
	ASSERT_EQ(0, trigger_get(fd, 2, &t));
	EXPECT_EQ(PERF_TRIGGER_WHEN_PANIC, t.when);
	EXPECT_EQ(0, trigger_del(fd, 2));
}

/* Ioctls without an argument, and one that passes a text */
TEST_F(compat, stop_and_note)
{
	struct perf_event_persist info;
	int fd;

	fd = ns_open(self->id, PERF_PERSIST_OPEN_WRITE);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ns_stop(fd));
	say("stopped");
	ASSERT_EQ(0, get_persist(fd, &info));
	EXPECT_EQ(PERF_PERSIST_STOPPED, info.flags);
	ASSERT_EQ(0, ns_resume(fd));
	say("resumed");
	EXPECT_EQ(0, heard(self->m.fd, self->m.map, "stopped"));
	EXPECT_EQ(1, heard(self->m.fd, self->m.map, "resumed"));
	EXPECT_EQ(-EINVAL, event_ioctl(fd, PERF_EVENT_IOC_STOP, 1));

	ASSERT_EQ(0, ns_note(fd, "a note"));
	ASSERT_EQ(0, get_persist(fd, &info));
	EXPECT_STREQ("a note", info.note);
	EXPECT_EQ(-EFAULT, ns_note(fd, NULL));
}

/* A reopened event: readers are refused what writers may do, with old ioctls too. */
TEST_F(compat, reopened)
{
	struct perf_event_persist_member p;
	int reader, writer;
	void *map;

	reader = member_reopen(self->id, self->event, -1, 0);
	writer = member_reopen(self->id, 0, self->cpu, PERF_PERSIST_OPEN_WRITE);
	ASSERT_LE(0, reader);
	ASSERT_LE(0, writer);
	EXPECT_EQ(self->event, event_id(reader));
	EXPECT_EQ(-EACCES, set_name(reader, "/reader"));
	EXPECT_EQ(-EACCES, persist_claim(reader));
	EXPECT_EQ(-EACCES, event_ioctl(reader, PERF_EVENT_IOC_DISABLE, 0));
	EXPECT_EQ(0, set_name(writer, "/writer"));
	ASSERT_EQ(0, get_member(reader, &p));
	EXPECT_STREQ("writer", p.label);
	EXPECT_EQ(0, event_ioctl(writer, PERF_EVENT_IOC_DISABLE, 0));
	EXPECT_EQ(0, event_ioctl(writer, PERF_EVENT_IOC_ENABLE, 0));

	map = ring_map(reader, PAGES, PROT_READ);
	ASSERT_TRUE(map != MAP_FAILED);
	say("mapped");
	EXPECT_EQ(1, heard(reader, map, "mapped"));
	EXPECT_EQ(0, persist_claim(writer));
	EXPECT_EQ(-ENOENT, get_member(writer, &p));
}

/*
 * The highest bit of these addresses is set. The kernel must not sign-extend them, and
 * must clear the upper half.
 */
TEST_F(compat, high_addresses)
{
	struct perf_event_persist_member *p;
	struct perf_event_persist *info;
	struct perf_event_attr *attr;
	const size_t len = 4 * page_size();
	char *mem, *name;
	__u64 *id;
	int fd;

	mem = mmap((void *)0xc0000000UL, len, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (mem == MAP_FAILED)
		SKIP(return, "no memory at 3 GB: %s", strerror(errno));
	id = (void *)mem;
	p = (void *)(mem + page_size());
	info = (void *)(mem + page_size() + 1024);
	attr = (void *)(mem + 2 * page_size());
	name = mem + 3 * page_size();

	fd = counter_open(self->cpu);
	ASSERT_LE(0, fd);
	sprintf(name, "%s-high/label", self->ns);
	*id = 0;
	EXPECT_EQ(0, event_ioctl(fd, PERF_EVENT_IOC_PERSIST_FLAGS, (unsigned long)id));
	EXPECT_EQ(0, set_name_str(fd, name));
	EXPECT_EQ(0, persist_new(fd, id));
	EXPECT_EQ(0, get_at(fd, p, attr));
	EXPECT_STREQ("label", p->label);
	EXPECT_EQ(0, get_persist(fd, info));
	EXPECT_EQ(*id, info->ns_id);
	EXPECT_EQ(PERF_COUNT_SW_PAGE_FAULTS, attr->config);

	fd = ns_open(PERF_PERSIST_NEW, PERF_PERSIST_OPEN_WRITE);
	ASSERT_LE(0, fd);
	*strchr(name, '/') = '\0';
	EXPECT_EQ(0, set_name_str(fd, name));
	EXPECT_EQ(0, get_at(fd, p, attr));
	EXPECT_STREQ("label", p->label);
	EXPECT_EQ(PERF_COUNT_SW_PAGE_FAULTS, attr->config);
	EXPECT_EQ(0, ns_note(fd, name));
	EXPECT_EQ(0, get_persist(fd, info));
	EXPECT_STREQ(name, info->note);
	EXPECT_EQ(0, ns_delete(fd));
	EXPECT_EQ(0, ns_lookup(name));
}

/* Bad addresses fail with -EFAULT and change nothing. */
TEST_F(compat, bad_addresses)
{
	static const unsigned long cmds[] = {
		PERF_EVENT_IOC_GET_MEMBER, PERF_EVENT_IOC_JOIN, PERF_EVENT_IOC_SNAPSHOT,
		PERF_EVENT_IOC_RESIZE, PERF_EVENT_IOC_ADD_TRIGGER,
		PERF_EVENT_IOC_ADD_TRIGGER_EVENT, PERF_EVENT_IOC_GET_TRIGGER,
		PERF_EVENT_IOC_GET_TRIGGER_STATE, PERF_EVENT_IOC_ARM_TRIGGER,
		PERF_EVENT_IOC_DEL_TRIGGER, PERF_EVENT_IOC_KEEP, PERF_EVENT_IOC_SPARES,
		PERF_EVENT_IOC_GET_PERSIST,
	};
	char *bad = (char *)0xfffff000UL;
	int fd, ns;
	size_t i;

	fd = counter_open(self->cpu);
	ns = ns_open(PERF_PERSIST_NEW, PERF_PERSIST_OPEN_WRITE);
	ASSERT_LE(0, fd);
	ASSERT_LE(0, ns);
	EXPECT_EQ(-EFAULT, set_name_str(fd, bad));
	EXPECT_EQ(-EFAULT, set_name_str(fd, NULL));
	EXPECT_EQ(-EFAULT, set_persist(fd, (__u64 *)bad));
	EXPECT_EQ(-EFAULT, event_ioctl(fd, PERF_EVENT_IOC_PERSIST_FLAGS, (unsigned long)bad));
	EXPECT_EQ(-EFAULT, event_ioctl(fd, PERF_EVENT_IOC_PERSIST_FLAGS, 0));
	EXPECT_EQ(-EFAULT, event_ioctl(fd, PERF_EVENT_IOC_GET_MEMBER, (unsigned long)bad));
	EXPECT_EQ(-EFAULT, set_name_str(ns, bad));
	EXPECT_EQ(0, set_name_str(ns, self->ns));
	for (i = 0; i < ARRAY_SIZE(cmds); i++) {
		EXPECT_EQ(-EFAULT, event_ioctl(ns, cmds[i], (unsigned long)bad))
			TH_LOG("%#lx", cmds[i]);
	}
	EXPECT_EQ(-EFAULT, ns_note(ns, bad));
	EXPECT_EQ(self->id, ns_lookup(self->ns));
}

TEST_HARNESS_MAIN
