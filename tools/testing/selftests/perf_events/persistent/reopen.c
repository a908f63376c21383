// SPDX-License-Identifier: GPL-2.0
/*
 * Opening a member again: perf_event_open() with PERF_TYPE_PERSISTENT.
 */
#include <sys/resource.h>

#include "persistent.h"

FIXTURE(reopen)
{
	char	ns[NS_ROOM];
	int	cpu, cpu2;
	__u64	id;
	__u64	event[2];	/* two members on cpu */
};

FIXTURE_SETUP(reopen)
{
	struct perf_event_attr attr = say_attr();
	const char *missing;
	struct member m[2];
	int i;

	missing = persist_begin(self->ns, &self->cpu, &self->cpu2);
	if (missing)
		SKIP(return, "%s", missing);

	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, member_open(&m[i], &attr, self->cpu, PAGES));
		self->event[i] = event_id(m[i].fd);
	}
	ASSERT_EQ(0, persist_new(m[0].fd, &self->id));
	ASSERT_EQ(0, persist_join(m[1].fd, self->id));
	ASSERT_EQ(0, set_name(m[0].fd, "%s", self->ns));
	for (i = 0; i < 2; i++)
		member_close(&m[i]);
}

FIXTURE_TEARDOWN_PARENT(reopen)
{
	persist_sweep();
}

static int access_mode(int fd)
{
	return fcntl(fd, F_GETFL) & O_ACCMODE;
}

/* config1 = 0 opens the first member on a CPU. */
TEST_F(reopen, first_on_cpu)
{
	int fd;

	fd = member_reopen(self->id, 0, self->cpu, 0);
	ASSERT_LE(0, fd);
	EXPECT_EQ(self->event[0], event_id(fd));
}

/* config1 = event id opens that member. A CPU may be given, and must be the member's. */
TEST_F(reopen, by_event_id)
{
	struct perf_event_persist_member p;
	struct perf_event_persist info;
	int fd, i;

	for (i = 0; i < 2; i++) {
		fd = member_reopen(self->id, self->event[i], -1, 0);
		ASSERT_LE(0, fd);
		EXPECT_EQ(self->event[i], event_id(fd));
		ASSERT_EQ(0, get_member(fd, &p));
		ASSERT_EQ(0, get_persist(fd, &info));
		EXPECT_EQ(self->event[i], p.event_id);
		EXPECT_EQ(self->id, info.ns_id);
		close(fd);

		fd = member_reopen(self->id, self->event[i], self->cpu, 0);
		EXPECT_LE(0, fd);
		close(fd);
		EXPECT_EQ(-EINVAL, member_reopen(self->id, self->event[i], self->cpu + 1, 0));
		EXPECT_EQ(-EINVAL, member_reopen(self->id, self->event[i], -2, 0));
		EXPECT_EQ(-EINVAL, member_reopen(self->id, self->event[i], 1 << 20, 0));
	}
}

/* Each CPU has its own first member. */
TEST_F(reopen, on_two_cpus)
{
	struct perf_event_attr attr = say_attr();
	struct member m;
	__u64 event;
	void *map;
	int fd;

	if (self->cpu2 < 0)
		SKIP(return, "needs two CPUs");
	EXPECT_EQ(-ENOENT, member_reopen(self->id, 0, self->cpu2, 0));
	ASSERT_EQ(0, member_open(&m, &attr, self->cpu2, 1));
	ASSERT_EQ(0, persist_join(m.fd, self->id));
	event = event_id(m.fd);
	member_close(&m);

	fd = member_reopen(self->id, 0, self->cpu2, 0);
	ASSERT_LE(0, fd);
	EXPECT_EQ(event, event_id(fd));
	map = ring_map(fd, 1, PROT_READ);
	ASSERT_NE(MAP_FAILED, map);
	say("first CPU");
	pin(self->cpu2);
	say("second CPU");
	EXPECT_EQ(0, heard(fd, map, "first CPU"));
	EXPECT_EQ(1, heard(fd, map, "second CPU"));

	fd = member_reopen(self->id, 0, self->cpu, 0);
	ASSERT_LE(0, fd);
	map = ring_map(fd, PAGES, PROT_READ);
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(1, heard(fd, map, "first CPU"));
	EXPECT_EQ(0, heard(fd, map, "second CPU"));
}

/* Ids that do not exist cannot be opened. H17 */
TEST_F(reopen, not_there)
{
	__u64 other;
	char name[NAME_ROOM];
	int fd, i;

	EXPECT_EQ(-EINVAL, member_reopen(0, 0, self->cpu, 0));
	EXPECT_EQ(-EINVAL, member_reopen(0, self->event[0], -1, 0));
	EXPECT_EQ(-EINVAL, ns_open(0, 0));
	for (i = 32; i < 64; i++) {
		EXPECT_EQ(-ENOENT, ns_open(1ULL << i, 0));
		EXPECT_EQ(-ENOENT, member_reopen(1ULL << i, 0, self->cpu, 0));
		EXPECT_EQ(-ENOENT, ns_open(self->id | 1ULL << i, 0));
		EXPECT_EQ(-ENOENT, member_reopen(self->id, self->event[0] | 1ULL << i, -1, 0));
	}
	EXPECT_EQ(-ENOENT, ns_open(PERF_PERSIST_NEW - 1, 0));
	EXPECT_EQ(-ENOENT, member_reopen(self->id, PERF_PERSIST_NEW, -1, 0));
	EXPECT_EQ(-ENOENT, member_reopen(self->id, PERF_PERSIST_NEW, self->cpu, 0));

	/* Nor can an event in no namespace, or in another one. */
	fd = counter_open(self->cpu);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-ENOENT, member_reopen(self->id, event_id(fd), -1, 0));
	snprintf(name, sizeof(name), "%s-2", self->ns);
	ASSERT_EQ(0, set_name_str(fd, name));
	ASSERT_EQ(0, persist_new(fd, &other));
	EXPECT_EQ(-ENOENT, member_reopen(self->id, event_id(fd), -1, 0));
	EXPECT_EQ(-ENOENT, member_reopen(other, self->event[0], -1, 0));
}

/* CPUs without a member, and numbers that are no CPUs. H17 */
TEST_F(reopen, bad_cpu)
{
	const int cpus[] = { -2, -1000, 1 << 20, (int)(1U << 31), ~(1U << 31) };
	unsigned int i;
	int fd;

	for (i = 0; i < ARRAY_SIZE(cpus); i++) {
		fd = member_reopen(self->id, 0, cpus[i], 0);
		EXPECT_TRUE(fd == -ENOENT || fd == -EINVAL)
			TH_LOG("cpu %d: %d", cpus[i], fd);
	}
	if (self->cpu2 >= 0)
		EXPECT_EQ(-ENOENT, member_reopen(self->id, 0, self->cpu2, 0));
}

/* All other bits of the attr must be zero, whatever they mean for other events. H17 */
TEST_F(reopen, attr_bits)
{
	const struct perf_event_attr good = reopen_attr(self->id, 0, 0);
	unsigned int byte, bit, flags_byte = offsetof(struct perf_event_attr, config2);
	int fd;

	/* config2 has flags in its lowest byte. */
	if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
		flags_byte += sizeof(good.config2) - 1;
	for (byte = 0; byte < sizeof(good); byte++) {
		struct perf_event_attr attr;

		if (byte < offsetof(struct perf_event_attr, sample_period) ||
		    (byte >= offsetof(struct perf_event_attr, config1) &&
		     byte < offsetof(struct perf_event_attr, config2)) ||
		    (byte >= offsetof(struct perf_event_attr, sample_max_stack) &&
		     byte < offsetof(struct perf_event_attr, __reserved_2)))
			continue;
		for (bit = 0; bit < 8; bit++) {
			if (byte == flags_byte && !bit)
				continue;
			attr = good;
			((unsigned char *)&attr)[byte] = 1 << bit;
			fd = event_open(&attr, -1, self->cpu, -1, 0);
			EXPECT_EQ(-EINVAL, fd)
				TH_LOG("byte %u bit %u of the attr", byte, bit);
			attr.config1 = self->event[0];
			fd = event_open(&attr, -1, -1, -1, 0);
			EXPECT_EQ(-EINVAL, fd)
				TH_LOG("byte %u bit %u of the attr, by event id", byte, bit);
			attr.config1 = 0;
			fd = event_open(&attr, -1, -1, -1, 0);
			EXPECT_EQ(-EINVAL, fd)
				TH_LOG("byte %u bit %u of the attr, namespace", byte, bit);
		}
	}
}

/* Sizes of the attr are handled as for other events. H17 */
TEST_F(reopen, attr_size)
{
	struct {
		struct perf_event_attr attr;
		char tail[8192];
	} big = { .attr = reopen_attr(self->id, 0, 0) };
	int fd;

	/* The first published attr had no config2. */
	big.attr.size = PERF_ATTR_SIZE_VER0;
	fd = event_open(&big.attr, -1, self->cpu, -1, 0);
	EXPECT_LE(0, fd);
	EXPECT_EQ(O_RDONLY, access_mode(fd));
	big.attr.size = 0;
	EXPECT_LE(0, event_open(&big.attr, -1, self->cpu, -1, 0));

	big.attr.size = PERF_ATTR_SIZE_VER0 - 1;
	EXPECT_EQ(-E2BIG, event_open(&big.attr, -1, self->cpu, -1, 0));
	big.attr.size = page_size() + 8;
	EXPECT_EQ(-E2BIG, event_open(&big.attr, -1, self->cpu, -1, 0));
	big.attr.size = sizeof(big.attr) + 64;
	EXPECT_LE(0, event_open(&big.attr, -1, self->cpu, -1, 0));
	big.tail[63] = 1;
	EXPECT_EQ(-E2BIG, event_open(&big.attr, -1, self->cpu, -1, 0));
}

/* No flag is valid but FD_CLOEXEC. H17 */
TEST_F(reopen, flags)
{
	struct perf_event_attr attr = reopen_attr(self->id, 0, 0);
	unsigned long flag;
	unsigned int i;
	int fd;

	for (i = 0; i < 8 * sizeof(flag); i++) {
		flag = 1UL << i;
		if (flag == PERF_FLAG_FD_CLOEXEC)
			continue;
		EXPECT_EQ(-EINVAL, event_open(&attr, -1, self->cpu, -1, flag))
			TH_LOG("flag 0x%lx", flag);
		EXPECT_EQ(-EINVAL, event_open(&attr, -1, -1, -1, flag))
			TH_LOG("flag 0x%lx, namespace", flag);
	}
	fd = event_open(&attr, -1, self->cpu, -1, 0);
	ASSERT_LE(0, fd);
	EXPECT_EQ(0, fcntl(fd, F_GETFD));
	fd = event_open(&attr, -1, self->cpu, -1, PERF_FLAG_FD_CLOEXEC);
	ASSERT_LE(0, fd);
	EXPECT_EQ(FD_CLOEXEC, fcntl(fd, F_GETFD));
	fd = event_open(&attr, -1, -1, -1, 0);
	ASSERT_LE(0, fd);
	EXPECT_EQ(0, fcntl(fd, F_GETFD));
	fd = event_open(&attr, -1, -1, -1, PERF_FLAG_FD_CLOEXEC);
	ASSERT_LE(0, fd);
	EXPECT_EQ(FD_CLOEXEC, fcntl(fd, F_GETFD));
}

/* Neither a task nor a group can be given. H17 */
TEST_F(reopen, no_task_no_group)
{
	struct perf_event_attr attr = reopen_attr(self->id, 0, 0), dummy = fault_attr(0);
	const pid_t pids[] = { 0, getpid(), -2, 1 << 30 };
	unsigned int i;
	int leader;

	for (i = 0; i < ARRAY_SIZE(pids); i++) {
		EXPECT_EQ(-EINVAL, event_open(&attr, pids[i], self->cpu, -1, 0));
		EXPECT_EQ(-EINVAL, event_open(&attr, pids[i], -1, -1, 0));
	}

	leader = event_open(&dummy, -1, self->cpu, -1, 0);
	ASSERT_LE(0, leader);
	EXPECT_EQ(-EINVAL, event_open(&attr, -1, self->cpu, leader, 0));
	EXPECT_EQ(-EINVAL, event_open(&attr, -1, self->cpu, -2, 0));
	EXPECT_EQ(-EINVAL, event_open(&attr, -1, -1, leader, 0));
	EXPECT_EQ(-EINVAL, event_open(&attr, -1, self->cpu, leader, PERF_FLAG_FD_OUTPUT));
}

/* Opening fails in a process without a free descriptor, and changes nothing. */
TEST_F(reopen, no_descriptor_left)
{
	struct rlimit old, none = {};
	int fd;

	ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &old));
	none.rlim_max = old.rlim_max;
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &none));
	EXPECT_EQ(-EMFILE, member_reopen(self->id, 0, self->cpu, 0));
	EXPECT_EQ(-EMFILE, ns_open(self->id, 0));
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &old));
	fd = member_reopen(self->id, 0, self->cpu, 0);
	EXPECT_LE(0, fd);
}

/* Without the write bit the descriptor is read-only, for root too. H8 */
TEST_F(reopen, access_mode)
{
	struct perf_event_attr small = reopen_attr(self->id, 0, 0);
	char path[64];
	int fd;

	fd = member_reopen(self->id, 0, self->cpu, 0);
	EXPECT_EQ(O_RDONLY, access_mode(fd));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	EXPECT_GT(0, open(path, O_RDWR));
	fd = member_reopen(self->id, self->event[1], -1, 0);
	EXPECT_EQ(O_RDONLY, access_mode(fd));
	fd = ns_open(self->id, 0);
	EXPECT_EQ(O_RDONLY, access_mode(fd));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	EXPECT_GT(0, open(path, O_RDWR));

	fd = member_reopen(self->id, 0, self->cpu, PERF_PERSIST_OPEN_WRITE);
	EXPECT_EQ(O_RDWR, access_mode(fd));
	fd = member_reopen(self->id, self->event[1], -1, PERF_PERSIST_OPEN_WRITE);
	EXPECT_EQ(O_RDWR, access_mode(fd));
	fd = ns_open(self->id, PERF_PERSIST_OPEN_WRITE);
	EXPECT_EQ(O_RDWR, access_mode(fd));

	/* The smallest attr has no field to ask for more. */
	small.config2 = PERF_PERSIST_OPEN_WRITE;
	small.size = PERF_ATTR_SIZE_VER0;
	fd = event_open(&small, -1, self->cpu, -1, 0);
	EXPECT_EQ(O_RDONLY, access_mode(fd));
}

/* The access mode of one opener does not change that of another. H8, H9 */
TEST_F(reopen, each_its_own_mode)
{
	int reader, writer, reader2;

	reader = member_reopen(self->id, 0, self->cpu, 0);
	writer = member_reopen(self->id, 0, self->cpu, PERF_PERSIST_OPEN_WRITE);
	reader2 = member_reopen(self->id, 0, self->cpu, 0);
	EXPECT_EQ(-EACCES, event_ioctl(reader, PERF_EVENT_IOC_DISABLE, 0));
	EXPECT_EQ(-EACCES, event_ioctl(reader2, PERF_EVENT_IOC_DISABLE, 0));
	EXPECT_EQ(0, event_ioctl(writer, PERF_EVENT_IOC_DISABLE, 0));
	EXPECT_EQ(0, event_ioctl(writer, PERF_EVENT_IOC_ENABLE, 0));
	close(writer);
	EXPECT_EQ(-EACCES, event_ioctl(reader, PERF_EVENT_IOC_DISABLE, 0));
}

/* Ioctls of a writer act on the event that everybody sees. */
TEST_F(reopen, writer_disables_and_enables)
{
	struct perf_event_persist_member p;
	int reader, writer;
	void *map;

	reader = member_reopen(self->id, 0, self->cpu, 0);
	writer = member_reopen(self->id, 0, self->cpu, PERF_PERSIST_OPEN_WRITE);
	map = ring_map(reader, PAGES, PROT_READ);
	ASSERT_NE(MAP_FAILED, map);

	ASSERT_EQ(0, get_member(reader, &p));
	EXPECT_EQ(0, p.flags & PERF_PERSIST_DISABLED);
	ASSERT_EQ(0, event_ioctl(writer, PERF_EVENT_IOC_DISABLE, 0));
	ASSERT_EQ(0, get_member(reader, &p));
	EXPECT_NE(0, p.flags & PERF_PERSIST_DISABLED);
	say("disabled");
	ASSERT_EQ(0, event_ioctl(writer, PERF_EVENT_IOC_ENABLE, 0));
	ASSERT_EQ(0, get_member(reader, &p));
	EXPECT_EQ(0, p.flags & PERF_PERSIST_DISABLED);
	say("enabled");
	EXPECT_EQ(0, heard(reader, map, "disabled"));
	EXPECT_EQ(1, heard(reader, map, "enabled"));

	ASSERT_EQ(0, event_ioctl(writer, PERF_EVENT_IOC_PAUSE_OUTPUT, 1));
	say("paused");
	ASSERT_EQ(0, event_ioctl(writer, PERF_EVENT_IOC_PAUSE_OUTPUT, 0));
	EXPECT_EQ(0, heard(reader, map, "paused"));
}

/* Two readers that wait for the same event both get all records, woken or not. H10 */
TEST_F(reopen, two_readers_progress)
{
	const int total = 20;
	int fd[2], seen[2] = {}, said = 0, i, rounds;
	void *map[2];

	for (i = 0; i < 2; i++) {
		fd[i] = member_reopen(self->id, 0, self->cpu, 0);
		map[i] = ring_map(fd[i], PAGES, PROT_READ);
		ASSERT_NE(MAP_FAILED, map[i]);
	}

	/* A wake-up is a hint: a reader that got none looks after a time-out. */
	for (rounds = 0; rounds < 1000 && (seen[0] < total || seen[1] < total); rounds++) {
		if (said < total) {
			say("progress");
			said++;
		}
		for (i = 0; i < 2; i++) {
			struct pollfd pfd = { .fd = fd[i], .events = POLLIN };

			ASSERT_LE(0, poll(&pfd, 1, 1));
			EXPECT_EQ(0, pfd.revents & (POLLHUP | POLLERR | POLLNVAL));
			seen[i] = heard(fd[i], map[i], "progress");
		}
	}
	EXPECT_EQ(total, seen[0]);
	EXPECT_EQ(total, seen[1]);
}

/* Records from before a member is opened make no wakeups for the opener. */
TEST_F(reopen, wakeups_from_now_on)
{
	struct perf_event_attr attr = say_attr();
	char ns[NS_ROOM + 8];
	__u64 id;
	int fd, i;

	/* The default: a wakeup for each half of the buffer */
	attr.watermark = 0;
	attr.wakeup_watermark = 0;
	snprintf(ns, sizeof(ns), "%.30s_w", self->ns);
	ASSERT_EQ(0, ns_create_leave(&attr, self->cpu, 1, ns, &id));
	for (i = 0; i < 2 * page_size(); i++)
		say("alone");
	fd = member_reopen(id, 0, self->cpu, 0);
	ASSERT_LE(0, fd);
	say("opened");
	poll_now(fd);
	say("one more");
	EXPECT_EQ(0, poll_now(fd));
	/* Each record has more than 20 bytes. */
	for (i = 0; i < page_size() / 2 / 20; i++)
		say("many");
	EXPECT_EQ(POLLIN, poll_now(fd));
}

TEST_HARNESS_MAIN
