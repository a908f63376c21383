// SPDX-License-Identifier: GPL-2.0
/*
 * Checks which LSM hooks the kernel calls for an act on a persistent event: open and read
 * to reopen, write for each change, and never write to read. Events of the kprobe PMU
 * count the hooks. H16
 */
#include "persistent.h"

enum hook { OPEN, READ, WRITE, NR_HOOKS };

static const char * const hook_names[NR_HOOKS] = {
	[OPEN]	= "security_perf_event_open",
	[READ]	= "security_perf_event_read",
	[WRITE]	= "security_perf_event_write",
};

/* Calls of each hook */
struct calls {
	long	nr[NR_HOOKS];
};

/* Counts the hooks that an act of this thread calls. */
#define COUNT(_act)						\
({								\
	struct calls _before = calls_now(self->hook);		\
								\
	self->ret = (_act);					\
	calls_since(self->hook, &_before);			\
})

/*
 * An act must call the hooks at least this often. Open is called twice: may the event be
 * opened at all, and on a CPU.
 */
#define EXPECT_CALLS(_open, _read, _write, _act)		\
do {								\
	struct calls _c = COUNT(_act);				\
								\
	EXPECT_LE(0, self->ret);				\
	EXPECT_LE(_open, _c.nr[OPEN])				\
		TH_LOG(#_act ": open");				\
	EXPECT_LE(_read, _c.nr[READ])				\
		TH_LOG(#_act ": read");				\
	EXPECT_LE(_write, _c.nr[WRITE])				\
		TH_LOG(#_act ": write");			\
} while (0)

/* An act that reads must not call write: a process that may only read could not do it. */
#define EXPECT_READS(_open, _read, _act)			\
do {								\
	struct calls _c = COUNT(_act);				\
								\
	EXPECT_LE(0, self->ret);				\
	EXPECT_LE(_open, _c.nr[OPEN])				\
		TH_LOG(#_act ": open");				\
	EXPECT_LE(_read, _c.nr[READ])				\
		TH_LOG(#_act ": read");				\
	EXPECT_EQ(0, _c.nr[WRITE])				\
		TH_LOG(#_act ": write");			\
} while (0)

FIXTURE(lsm)
{
	char	ns[NS_ROOM];
	int	cpu, cpu2;
	int	hook;			/* of the group that counts */
	int	ret;			/* of the last act */
	__u64	id, event[2];
	struct member m;		/* the first one; @guest writes to its buffer */
	int	guest;
};

static struct calls calls_now(int group)
{
	struct {
		__u64	nr;
		__u64	value[NR_HOOKS];
	} values = {};
	struct calls calls = {};
	int i;

	if (read(group, &values, sizeof(values)) == sizeof(values)) {
		for (i = 0; i < NR_HOOKS; i++)
			calls.nr[i] = values.value[i];
	}
	return calls;
}

/* Reading the counters calls the read hook once. */
static struct calls calls_since(int group, const struct calls *before)
{
	struct calls now = calls_now(group);
	int i;

	for (i = 0; i < NR_HOOKS; i++)
		now.nr[i] -= before->nr[i];
	now.nr[READ]--;
	return now;
}

/* Whether /proc/kallsyms has all hooks. Without CONFIG_SECURITY it has none. */
static bool hooks_exist(void)
{
	char line[256], name[128];
	int i, found = 0;
	FILE *syms;

	syms = fopen("/proc/kallsyms", "re");
	while (syms && fgets(line, sizeof(line), syms)) {
		if (sscanf(line, "%*s %*c %127s", name) != 1)
			continue;
		for (i = 0; i < NR_HOOKS; i++)
			found += !strcmp(name, hook_names[i]);
	}
	if (syms)
		fclose(syms);
	return found >= NR_HOOKS;
}

static int hooks_open(void)
{
	struct perf_event_attr attr = {
		.size		= sizeof(attr),
		.read_format	= PERF_FORMAT_GROUP,
	};
	int i, fd, group = -1;
	char text[16];

	if (read_file(PMU_DIR "/kprobe/type", text, sizeof(text)) <= 0)
		return -ENODEV;
	attr.type = atoi(text);
	for (i = 0; i < NR_HOOKS; i++) {
		attr.kprobe_func = (unsigned long)hook_names[i];
		fd = event_open(&attr, 0, -1, group, 0);
		if (fd < 0)
			return fd;
		if (!i)
			group = fd;
	}
	return group;
}

FIXTURE_SETUP(lsm)
{
	struct perf_event_attr attr = say_attr();
	struct calls calls;
	const char *missing;
	char name[NAME_ROOM];
	int fd;

	missing = persist_begin(self->ns, &self->cpu, &self->cpu2);
	if (missing)
		SKIP(return, "%s", missing);
	if (!hooks_exist())
		SKIP(return, "the kernel has no hooks for security modules");
	self->hook = hooks_open();
	if (self->hook < 0)
		SKIP(return, "cannot count them: %s", strerror(-self->hook));

	/* Make sure that the counts are exact. */
	calls = COUNT(0);
	ASSERT_EQ(0, calls.nr[OPEN]);
	ASSERT_EQ(0, calls.nr[READ]);
	ASSERT_EQ(0, calls.nr[WRITE]);
	fd = counter_open(self->cpu);
	ASSERT_LE(0, fd);
	calls = COUNT(event_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0));
	ASSERT_EQ(0, self->ret);
	ASSERT_EQ(0, calls.nr[OPEN]);
	ASSERT_EQ(0, calls.nr[READ]);
	ASSERT_EQ(1, calls.nr[WRITE]);

	ASSERT_EQ(0, member_open(&self->m, &attr, self->cpu, PAGES));
	self->guest = event_open(&attr, -1, self->cpu, -1, 0);
	ASSERT_LE(0, self->guest);
	ASSERT_EQ(0, event_ioctl(self->guest, PERF_EVENT_IOC_SET_OUTPUT, self->m.fd));
	snprintf(name, sizeof(name), "%s/first", self->ns);
	ASSERT_EQ(0, set_name_str(self->m.fd, name));
	ASSERT_EQ(0, persist_new(self->m.fd, &self->id));
	ASSERT_EQ(0, persist_join(self->guest, self->id));
	self->event[0] = event_id(self->m.fd);
	self->event[1] = event_id(self->guest);
}

FIXTURE_TEARDOWN_PARENT(lsm)
{
	persist_sweep();
}

/* Making a namespace counts as changing its events. */
TEST_F(lsm, create)
{
	char name[NAME_ROOM];
	int fd, fd2;
	__u64 id;

	EXPECT_CALLS(2, 0, 0, counter_open(self->cpu));
	fd = self->ret;
	EXPECT_CALLS(2, 0, 0, counter_open(self->cpu));
	fd2 = self->ret;
	snprintf(name, sizeof(name), "%s-2", self->ns);
	EXPECT_CALLS(0, 0, 1, persist_set_flags(fd, 0));
	EXPECT_CALLS(0, 0, 1, set_name_str(fd2, "/label"));
	EXPECT_CALLS(0, 0, 1, persist_new(fd, &id));
	EXPECT_CALLS(0, 0, 1, persist_join(fd2, id));
	EXPECT_CALLS(0, 0, 1, set_name_str(fd, name));
	EXPECT_EQ(id, ns_lookup(name));
	EXPECT_CALLS(0, 0, 1, persist_claim(fd2));
	EXPECT_CALLS(0, 0, 1, persist_claim(fd));
	EXPECT_EQ(0, ns_lookup(name));
}

/* A reader needs open and read for each event whose records it gets to see. */
TEST_F(lsm, reader)
{
	struct perf_event_persist_member p;
	struct perf_event_persist info;
	int reader, i;
	__u64 value;
	void *map;

	EXPECT_READS(2, 2, member_reopen(self->id, 0, self->cpu, 0));
	EXPECT_READS(2, 2, member_reopen(self->id, self->event[0], -1, 0));
	reader = self->ret;
	ASSERT_LE(0, reader);
	EXPECT_READS(2, 1, member_reopen(self->id, self->event[1], -1, 0));

	EXPECT_READS(0, 1, event_ioctl(reader, PERF_EVENT_IOC_ID, (unsigned long)&value));
	EXPECT_READS(0, 1, get_member(reader, &p));
	EXPECT_READS(0, 1, get_persist(reader, &info));
	EXPECT_READS(0, 1, read(reader, &value, sizeof(value)));
	EXPECT_READS(0, 1, (map = ring_map(reader, PAGES, PROT_READ)) == MAP_FAILED ? -errno : 0);
	EXPECT_READS(0, 0, heard(-1, map, "unsaid"));
	EXPECT_READS(0, 0, poll_now(reader));
	EXPECT_READS(0, 0, munmap(map, ring_len(PAGES)));
	for (i = 0; i < 2; i++)
		EXPECT_READS(0, 1, get_member(reader, &p));
	EXPECT_READS(0, 0, close(reader));
}

/* A listing calls the hooks for the member in question, each time. */
TEST_F(lsm, listing)
{
	struct perf_event_persist_member p = {};
	int fd;

	EXPECT_READS(2, 1, ns_open(self->id, 0));
	fd = self->ret;
	ASSERT_LE(0, fd);
	EXPECT_READS(2, 1, next_member(fd, &p));
	EXPECT_EQ(self->event[0], p.event_id);
	EXPECT_READS(2, 1, next_member(fd, &p));
	EXPECT_EQ(self->event[1], p.event_id);
	EXPECT_READS(0, 0, poll_now(fd));

	EXPECT_READS(1, 0, ns_open(PERF_PERSIST_NEW, 0));
	fd = self->ret;
	ASSERT_LE(0, fd);
	EXPECT_READS(2, 1, set_name_str(fd, self->ns));
	memset(&p, 0, sizeof(p));
	EXPECT_READS(2, 1, next_member(fd, &p));
}

/* Opening for writing needs write in addition, and so does each change. */
TEST_F(lsm, writer)
{
	struct perf_event_attr raw;
	struct perf_event_persist_member p;
	__u64 period = 1, value;
	struct member faults;
	int writer;

	EXPECT_CALLS(2, 2, 1, member_reopen(self->id, 0, self->cpu, PERF_PERSIST_OPEN_WRITE));
	writer = self->ret;
	ASSERT_LE(0, writer);
	EXPECT_CALLS(0, 0, 1, event_ioctl(writer, PERF_EVENT_IOC_DISABLE, 0));
	EXPECT_CALLS(0, 0, 1, event_ioctl(writer, PERF_EVENT_IOC_ENABLE, 0));
	EXPECT_CALLS(0, 0, 1, event_ioctl(writer, PERF_EVENT_IOC_RESET, 0));
	EXPECT_CALLS(0, 0, 1, event_ioctl(writer, PERF_EVENT_IOC_PAUSE_OUTPUT, 1));
	EXPECT_CALLS(0, 0, 1, event_ioctl(writer, PERF_EVENT_IOC_PAUSE_OUTPUT, 0));
	EXPECT_CALLS(0, 0, 1, set_name_str(writer, "/label"));

	/* As on any event that is open for writing */
	EXPECT_CALLS(0, 0, 1, event_ioctl(writer, PERF_EVENT_IOC_ID, (unsigned long)&value));

	/* The hook depends on the act, not on the descriptor. */
	EXPECT_READS(0, 1, get_member(writer, &p));
	EXPECT_READS(0, 1, read(writer, &value, sizeof(value)));
	EXPECT_READS(0, 1, ring_map_err(writer, PAGES, PROT_READ));

	raw = fault_attr(1000);
	ASSERT_EQ(0, member_open(&faults, &raw, self->cpu, PAGES));
	EXPECT_CALLS(0, 0, 1, persist_join(faults.fd, self->id));
	EXPECT_CALLS(0, 0, 1, event_ioctl(faults.fd, PERF_EVENT_IOC_PERIOD,
					  (unsigned long)&period));
	EXPECT_CALLS(0, 0, 1, event_ioctl(faults.fd, PERF_EVENT_IOC_REFRESH, 1));

	if (syscall_attr(&raw)) {
		ASSERT_EQ(0, member_open(&faults, &raw, self->cpu, PAGES));
		EXPECT_CALLS(0, 0, 1, persist_join(faults.fd, self->id));
		EXPECT_CALLS(0, 0, 1, filter_syscall(faults.fd, SYS_getppid));
	}

	/* A refused act calls them, too: a published event cannot be redirected. */
	EXPECT_CALLS(0, 0, 1, event_ioctl(self->guest, PERF_EVENT_IOC_SET_OUTPUT, -1) == -EBUSY ?
			      0 : -EPROTO);
}

/* Ordinary events need the same hooks as ever. H31 */
TEST_F(lsm, ordinary)
{
	__u64 value, period = 1000;
	struct perf_event_attr attr = fault_attr(1);
	struct member m;

	EXPECT_CALLS(2, 0, 0, member_open(&m, &attr, self->cpu, PAGES));
	EXPECT_CALLS(0, 0, 1, event_ioctl(m.fd, PERF_EVENT_IOC_ID, (unsigned long)&value));
	EXPECT_CALLS(0, 0, 1, event_ioctl(m.fd, PERF_EVENT_IOC_DISABLE, 0));
	EXPECT_CALLS(0, 0, 1, event_ioctl(m.fd, PERF_EVENT_IOC_ENABLE, 0));
	EXPECT_CALLS(0, 0, 1, event_ioctl(m.fd, PERF_EVENT_IOC_PERIOD, (unsigned long)&period));
	EXPECT_CALLS(0, 0, 1, event_ioctl(m.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 0));
	EXPECT_READS(0, 1, read(m.fd, &value, sizeof(value)));
	EXPECT_READS(0, 1, ring_map_err(m.fd, PAGES, PROT_READ));
}

/* Ioctls of a namespace call the hook for each of its members. */
TEST_F(lsm, namespace)
{
	struct perf_event_persist info;
	int fd, gone, joining;

	EXPECT_CALLS(2, 1, 0, ns_open(self->id, PERF_PERSIST_OPEN_WRITE));
	fd = self->ret;
	ASSERT_LE(0, fd);
	EXPECT_CALLS(0, 0, 2, event_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0));
	EXPECT_CALLS(0, 0, 2, event_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0));
	EXPECT_CALLS(0, 0, 2, ns_stop(fd));
	EXPECT_CALLS(0, 0, 2, ns_resume(fd));
	EXPECT_CALLS(0, 0, 2, ns_keep(fd, 1));
	EXPECT_CALLS(0, 0, 2, ns_note(fd, "noted"));

	/* GET_PERSIST tells nothing of a member, so it need not call a hook. */
	EXPECT_CALLS(0, 0, 0, get_persist(fd, &info));

	/* Joining changes the event that joins. */
	joining = counter_open(self->cpu);
	ASSERT_LE(0, joining);
	EXPECT_CALLS(0, 0, 1, ns_join(fd, joining));
	ASSERT_EQ(0, persist_claim(joining));

	EXPECT_READS(2, 2, member_reopen(self->id, 0, self->cpu, 0));
	gone = self->ret;
	ASSERT_LE(0, gone);
	EXPECT_CALLS(0, 0, 2, ns_delete(fd));
	EXPECT_EQ(0, ns_lookup(self->ns));

	/* A deleted event can be read, and needs read. */
	EXPECT_READS(0, 1, get_member(gone, &(struct perf_event_persist_member){}));
	EXPECT_READS(0, 0, poll_now(gone));
}

TEST_HARNESS_MAIN
