// SPDX-License-Identifier: GPL-2.0
/*
 * Records of tasks that are older than a namespace. Its creator passes them to the
 * kernel, and readers get them back.
 */
#include <sys/resource.h>

#include "persistent.h"

FIXTURE(tasks)
{
	char	ns[NS_ROOM];
	int	cpu, cpu2;
	__u64	id;
	int	fd;
};

FIXTURE_SETUP(tasks)
{
	struct perf_event_attr attr = say_attr();
	const char *missing;

	missing = persist_begin(self->ns, &self->cpu, &self->cpu2);
	if (missing)
		SKIP(return, "%s", missing);
	ASSERT_EQ(0, ns_create_leave(&attr, self->cpu, PAGES, self->ns, &self->id));
	self->fd = ns_open(self->id, PERF_PERSIST_OPEN_WRITE);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN_PARENT(tasks)
{
	persist_undo();
}

static int set_tasks(int fd, const void *data, __u64 len)
{
	struct perf_event_tasks t = {
		.size = sizeof(t), .len = len, .addr = (unsigned long)data,
	};

	return event_ioctl(fd, PERF_EVENT_IOC_SET_TASKS, (unsigned long)&t);
}

/* Returns the number of bytes copied, or an error. */
static long get_tasks(int fd, void *data, __u64 offset, __u64 len, __u64 *total)
{
	struct perf_event_tasks t = {
		.size = sizeof(t), .offset = offset, .len = len, .addr = (unsigned long)data,
	};
	int err;

	err = event_ioctl(fd, PERF_EVENT_IOC_GET_TASKS, (unsigned long)&t);
	*total = t.total;
	return err ? err : (long)t.len;
}

/* Readers get the bytes as they were passed, again and again, whole or in parts. */
TEST_F(tasks, set_and_get)
{
	char data[3000], back[3000];
	int reader, i;
	__u64 total;

	for (i = 0; i < (int)sizeof(data); i++)
		data[i] = i * 7;
	reader = ns_open(self->id, 0);
	ASSERT_LE(0, reader);
	EXPECT_EQ(0, get_tasks(reader, back, 0, sizeof(back), &total));
	EXPECT_EQ(0, total);

	ASSERT_EQ(0, set_tasks(self->fd, data, sizeof(data)));
	EXPECT_EQ(sizeof(data), get_tasks(reader, back, 0, sizeof(back), &total));
	EXPECT_EQ(sizeof(data), total);
	EXPECT_EQ(0, memcmp(data, back, sizeof(data)));
	EXPECT_EQ(10, get_tasks(reader, back, 100, 10, &total));
	EXPECT_EQ(0, memcmp(data + 100, back, 10));
	EXPECT_EQ(1, get_tasks(reader, back, sizeof(data) - 1, 10, &total));
	EXPECT_EQ(0, get_tasks(reader, back, sizeof(data), 10, &total));
	EXPECT_EQ(0, get_tasks(reader, back, ~0ULL, 10, &total));
	EXPECT_EQ(0, get_tasks(reader, NULL, 0, 0, &total));
	EXPECT_EQ(sizeof(data), total);

	/* They can be replaced or taken away. */
	ASSERT_EQ(0, set_tasks(self->fd, "other", 5));
	EXPECT_EQ(5, get_tasks(reader, back, 0, sizeof(back), &total));
	ASSERT_EQ(0, set_tasks(self->fd, NULL, 0));
	EXPECT_EQ(0, get_tasks(reader, back, 0, sizeof(back), &total));
}

/* A snapshot keeps what the namespace had, whatever becomes of the namespace. */
TEST_F(tasks, snapshot)
{
	struct perf_event_snapshot s = { .size = sizeof(s) };
	char back[16];
	__u64 total;
	int snap;

	ASSERT_EQ(0, set_tasks(self->fd, "first", 5));
	ASSERT_EQ(0, event_ioctl(self->fd, PERF_EVENT_IOC_SNAPSHOT, (unsigned long)&s));
	ASSERT_EQ(0, set_tasks(self->fd, "second", 6));
	snap = ns_open(s.ns_id, PERF_PERSIST_OPEN_WRITE);
	ASSERT_LE(0, snap);
	EXPECT_EQ(-EOPNOTSUPP, set_tasks(snap, "third", 5));
	ASSERT_EQ(0, ns_delete(self->fd));
	EXPECT_EQ(-ENODEV, set_tasks(self->fd, "late", 4));
	EXPECT_EQ(-ENODEV, get_tasks(self->fd, back, 0, sizeof(back), &total));
	EXPECT_EQ(5, get_tasks(snap, back, 0, sizeof(back), &total));
	EXPECT_EQ(0, memcmp("first", back, 5));
}

/* Readers cannot set tasks, bad arguments are refused, and nothing is set then. */
TEST_F(tasks, refused)
{
	struct perf_event_tasks t = { .size = sizeof(t), .len = 4 };
	int reader = ns_open(self->id, 0);
	__u64 total;

	ASSERT_LE(0, reader);
	EXPECT_EQ(-EACCES, set_tasks(reader, "text", 4));
	EXPECT_EQ(-EINVAL, set_tasks(self->fd, "text", PERF_PERSIST_TASKS_MAX + 1));
	EXPECT_EQ(-EINVAL, set_tasks(self->fd, "text", ~0ULL));
	EXPECT_EQ(-EFAULT, set_tasks(self->fd, NULL, 4));
	EXPECT_EQ(-EFAULT, event_ioctl(self->fd, PERF_EVENT_IOC_SET_TASKS, 0));
	t.addr = (unsigned long)"text";
	t.flags = 1;
	EXPECT_EQ(-EINVAL, event_ioctl(self->fd, PERF_EVENT_IOC_SET_TASKS, (unsigned long)&t));
	t.flags = 0;
	t.total = 1;
	EXPECT_EQ(-EINVAL, event_ioctl(self->fd, PERF_EVENT_IOC_SET_TASKS, (unsigned long)&t));
	t.total = 0;
	t.offset = 1;
	EXPECT_EQ(-EINVAL, event_ioctl(self->fd, PERF_EVENT_IOC_SET_TASKS, (unsigned long)&t));
	t.offset = 0;
	t.size = PERF_EVENT_TASKS_SIZE_VER0 - 1;
	EXPECT_EQ(-EINVAL, event_ioctl(self->fd, PERF_EVENT_IOC_SET_TASKS, (unsigned long)&t));
	EXPECT_EQ(0, get_tasks(reader, NULL, 0, 0, &total));
	EXPECT_EQ(0, total);
	ASSERT_EQ(0, set_tasks(self->fd, "text", 4));
	EXPECT_EQ(-EFAULT, get_tasks(reader, NULL, 0, 4, &total));
}

/* A user who may read the namespace may read its tasks. Only the owner may increase its costs. */
TEST_F(tasks, rights)
{
	char back[16];
	__u64 total;
	pid_t pid;

	if (geteuid())
		SKIP(return, "needs root");
	ASSERT_EQ(0, set_tasks(self->fd, "text", 4));
	ASSERT_EQ(0, set_paranoid(1));
	pid = fork_child();
	if (!pid) {
		if (become(NOBODY, 0))
			_exit(1);
		/* On a descriptor that somebody else opened */
		_exit(get_tasks(self->fd, back, 0, 4, &total) == -EACCES ? 0 : 2);
	}
	EXPECT_EQ(0, child_status(pid));
	pid = fork_child();
	if (!pid) {
		if (become(NOBODY, cap_bit(CAP_PERFMON)))
			_exit(1);
		if (get_tasks(self->fd, back, 0, 4, &total) != 4)
			_exit(2);
		_exit(set_tasks(self->fd, "more", 4) == -EPERM ? 0 : 3);
	}
	EXPECT_EQ(0, child_status(pid));
}

/* The owner pays for tasks as for buffers, until they are replaced or deleted. */
TEST_F(tasks, paid_for)
{
	const size_t len = 1 << 20;
	const struct rlimit little = { 16 * len, 16 * len };
	struct perf_event_attr attr = say_attr();
	char name[NAME_ROOM];
	pid_t pid;

	if (geteuid())
		SKIP(return, "needs root");
	ASSERT_EQ(0, set_paranoid(1));
	snprintf(name, sizeof(name), "%s-paid", self->ns);
	pid = fork_child();
	if (!pid) {
		char *data = calloc(1, 32 * len);
		__u64 id;
		int fd, i;

		if (!data || setrlimit(RLIMIT_MEMLOCK, &little) ||
		    become(NOBODY, cap_bit(CAP_PERFMON)))
			_exit(1);
		if (ns_create_leave(&attr, self->cpu, PAGES, name, &id))
			_exit(2);
		fd = ns_open(id, PERF_PERSIST_OPEN_WRITE);
		if (set_tasks(fd, data, 32 * len) != -EPERM)
			_exit(3);
		for (i = 0; i < 100; i++) {
			if (set_tasks(fd, data, 7 * len))
				_exit(4);
		}
		if (ns_delete(fd))
			_exit(5);

		/* A file that is still open does not keep them. */
		for (i = 0; i < 4; i++) {
			if (ns_create_leave(&attr, self->cpu, PAGES, name, &id) ||
			    ns_open(id, 0) < 0)
				_exit(6);
			fd = ns_open(id, PERF_PERSIST_OPEN_WRITE);
			if (set_tasks(fd, data, 7 * len))
				_exit(7);
			if (ns_delete(fd))
				_exit(8);
			close(fd);
		}
		_exit(0);
	}
	EXPECT_EQ(0, child_status(pid));
}

TEST_HARNESS_MAIN
