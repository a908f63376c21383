// SPDX-License-Identifier: GPL-2.0
/*
 * Snapshots: each member gets an empty buffer, and the old buffers become a namespace
 * that can be listed, opened, read and deleted like any other.
 *
 * SNAPSHOTS in the environment says how many are taken while writers number their
 * records.
 */
#include "persistent.h"

#include <assert.h>
#include <time.h>
#include <sys/uio.h>
#include <sys/resource.h>

static_assert(sizeof(struct perf_event_snapshot) == PERF_EVENT_SNAPSHOT_SIZE_VER0, "size");
static_assert(PERF_EVENT_SNAPSHOT_SIZE_VER0 == 32, "first size");

#define SNAPSHOTS	50
#define RESUMES		200
#define MAX_CPUS	64
#define RING_BUFFERS	"/proc/self/perf/ring-buffers"

static int take(int ns_fd, struct perf_event_snapshot *s)
{
	s->size = sizeof(*s);
	return neg_errno(ioctl(ns_fd, PERF_EVENT_IOC_SNAPSHOT, s));
}

static __u64 now_boottime(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

static int take_one(__u64 ns, __u64 *snap)
{
	struct perf_event_snapshot s = {};
	int fd, err;

	fd = ns_open(ns, PERF_PERSIST_OPEN_WRITE);
	if (fd < 0)
		return fd;
	err = take(fd, &s);
	close(fd);
	*snap = s.ns_id;
	return err;
}

static int resize(int ns_fd, struct perf_event_snapshot *s, __u64 event, __u64 size)
{
	struct perf_event_buffer_size sizes = { .event_id = event, .size = size };

	memset(s, 0, sizeof(*s));
	s->size = sizeof(*s);
	s->nr_sizes = 1;
	s->sizes = (unsigned long)&sizes;
	return neg_errno(ioctl(ns_fd, PERF_EVENT_IOC_RESIZE, s));
}

FIXTURE(snapshot)
{
	char	ns[NS_ROOM];
	char	snap[NS_ROOM + 8];
	int	cpu, cpu2;
	__u64	id;
	struct member m;
	int	fd;
};

FIXTURE_SETUP(snapshot)
{
	struct perf_event_attr attr = say_attr();
	const char *missing;

	missing = persist_begin(self->ns, &self->cpu, &self->cpu2);
	if (missing)
		SKIP(return, "%s", missing);
	ASSERT_EQ(0, ns_create(&self->m, &attr, self->cpu, PAGES, self->ns, &self->id));
	self->fd = ns_open(self->id, PERF_PERSIST_OPEN_WRITE);
	ASSERT_LE(0, self->fd);
	snprintf(self->snap, sizeof(self->snap), "%s.1", self->ns);
}

FIXTURE_TEARDOWN_PARENT(snapshot)
{
	if (self->cpu2 >= 0)
		set_online(self->cpu2, true);
	persist_undo();
}

/* Records from before are in the snapshot, those from after in the namespace. */
TEST_F(snapshot, taken)
{
	struct perf_event_snapshot s = {};
	struct perf_event_persist_member p, q;
	struct perf_event_persist ns, snap;
	__u64 begin, end;
	int fd;

	ASSERT_EQ(0, get_persist(self->fd, &ns));
	EXPECT_EQ(0, ns.number);
	say("before");
	begin = now_boottime();
	ASSERT_EQ(0, take(self->fd, &s));
	end = now_boottime();
	say("after");

	EXPECT_EQ(1, s.number);
	EXPECT_EQ(s.ns_id, ns_lookup(self->snap));
	EXPECT_EQ(1, heard_in(s.ns_id, 0, self->cpu, "before"));
	EXPECT_EQ(0, heard_in(s.ns_id, 0, self->cpu, "after"));
	EXPECT_EQ(0, heard_in(self->id, 0, self->cpu, "before"));
	EXPECT_EQ(1, heard_in(self->id, 0, self->cpu, "after"));

	/* A process that had the old buffer mapped still sees that one. */
	EXPECT_EQ(1, heard(-1, self->m.map, "before"));
	EXPECT_EQ(0, heard(-1, self->m.map, "after"));

	/* The event is the same, in the listing and in its records. */
	ASSERT_EQ(0, get_member(self->m.fd, &p));
	fd = member_reopen(s.ns_id, p.event_id, -1, 0);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, get_member(fd, &q));
	EXPECT_EQ(event_id(self->m.fd), event_id(fd));
	EXPECT_EQ(p.event_id, q.event_id);
	EXPECT_EQ(p.event_id, q.output_id);
	EXPECT_EQ(p.cpu, q.cpu);
	EXPECT_EQ(p.buffer_size, q.buffer_size);
	EXPECT_EQ(p.pid_ns, q.pid_ns);
	EXPECT_EQ(0, q.flags);
	EXPECT_EQ(0, q.trigger);
	EXPECT_EQ(0, q.buffer_seq);
	EXPECT_EQ(((struct perf_event_mmap_page *)self->m.map)->data_head, q.head);
	EXPECT_EQ(1, p.buffer_seq);

	ASSERT_EQ(0, get_persist(fd, &snap));
	EXPECT_EQ(s.ns_id, snap.ns_id);
	EXPECT_STREQ(self->snap, snap.name);
	EXPECT_EQ(PERF_PERSIST_SNAPSHOT, snap.flags);
	EXPECT_EQ(self->id, snap.source_id);
	EXPECT_EQ(1, snap.number);
	EXPECT_EQ(0, snap.trigger);
	EXPECT_EQ(0, snap.keep);
	EXPECT_EQ(0, snap.spares);
	EXPECT_EQ(1, snap.nr_members);
	EXPECT_EQ(ns.owner_uid, snap.owner_uid);
	EXPECT_STREQ(ns.owner_comm, snap.owner_comm);

	/* The buffers were swapped during the call. */
	EXPECT_LE(begin, snap.swap_begin_ns);
	EXPECT_LE(snap.swap_begin_ns, snap.created_ns);
	EXPECT_GE(end, snap.created_ns);

	EXPECT_EQ(0, ns.source_id);
	EXPECT_EQ(0, ns.swap_begin_ns);
	EXPECT_EQ(0, ns.trigger);
	EXPECT_GE(begin, ns.created_ns);
	EXPECT_EQ(PERF_PERSIST_KEEP_DEFAULT, ns.keep);
	ASSERT_EQ(0, get_persist(self->fd, &snap));
	EXPECT_EQ(1, snap.number);
	EXPECT_EQ(ns.created_ns, snap.created_ns);
	EXPECT_EQ(0, snap.swap_begin_ns);
	EXPECT_EQ(0, ((struct perf_event_mmap_page *)self->m.map)->buffer_seq);
}

/* A snapshot is named, listed, opened and deleted like a namespace. */
TEST_F(snapshot, like_a_namespace)
{
	struct perf_event_snapshot s = {};
	struct perf_event_persist_member p = {};
	struct perf_event_persist info;
	int ns_fd, fd;

	ASSERT_EQ(0, take(self->fd, &s));

	ns_fd = ns_open(~0ULL, PERF_PERSIST_OPEN_WRITE);
	ASSERT_LE(0, ns_fd);
	ASSERT_EQ(0, set_name_str(ns_fd, self->snap));
	ASSERT_EQ(0, next_member(ns_fd, &p));
	EXPECT_EQ(-ENOENT, next_member(ns_fd, &p));
	ASSERT_EQ(0, get_persist(ns_fd, &info));
	EXPECT_EQ(s.ns_id, info.ns_id);

	fd = member_reopen(s.ns_id, 0, self->cpu, 0);
	ASSERT_LE(0, fd);
	EXPECT_EQ(POLLHUP, poll_now(fd));
	EXPECT_EQ(0, read(fd, &p, sizeof(p)));
	EXPECT_EQ(-ENOTTY, event_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0));
	EXPECT_EQ(-EOPNOTSUPP, event_ioctl(ns_fd, PERF_EVENT_IOC_DISABLE, 0));

	/* Nothing can join it, and no user can choose such a name. */
	EXPECT_EQ(-ENOENT, persist_join_unnamed(counter_open(self->cpu), s.ns_id));
	EXPECT_EQ(-EOPNOTSUPP, ns_join(ns_fd, counter_open(self->cpu)));
	EXPECT_EQ(-EINVAL, set_name(self->m.fd, "%s.7", self->ns));

	EXPECT_EQ(0, ns_delete(ns_fd));
	EXPECT_EQ(-ENODEV, ns_delete(ns_fd));
	EXPECT_EQ(0, ns_lookup(self->snap));
	EXPECT_EQ(-ENOENT, ns_open(s.ns_id, 0));
	EXPECT_EQ(POLLPRI | POLLHUP, poll_now(ns_fd));

	/* The number is not used again. */
	ASSERT_EQ(0, take(self->fd, &s));
	EXPECT_EQ(2, s.number);
}

/* A snapshot outlives its namespace. A new one of that name goes on with the next number. */
TEST_F(snapshot, outlives)
{
	struct perf_event_attr attr = say_attr();
	struct perf_event_snapshot s = {};
	struct member m;
	__u64 id, snap;

	say("before");
	ASSERT_EQ(0, take(self->fd, &s));
	snap = s.ns_id;
	ASSERT_EQ(0, ns_delete(self->fd));
	member_close(&self->m);

	EXPECT_EQ(1, heard_in(snap, 0, self->cpu, "before"));
	ASSERT_EQ(0, ns_create(&m, &attr, self->cpu, PAGES, self->ns, &id));
	ASSERT_EQ(0, take_one(id, &snap));
	EXPECT_EQ(1, ns_count(snap));
	EXPECT_NE(s.ns_id, snap);
	EXPECT_EQ(s.ns_id, ns_listed(self->snap));
	EXPECT_EQ(1, heard_in(s.ns_id, 0, self->cpu, "before"));
}

/*
 * H18: pages that are first touched after the swap are those of the buffer that was
 * mapped, and unmapping releases that buffer.
 */
TEST_F(snapshot, mapping_stays)
{
	struct perf_event_mmap_page *page;
	struct perf_event_snapshot s = {};
	int i, fd, child;
	void *map;

	for (i = 0; i < 3; i++)
		say("before");
	fd = member_reopen(self->id, 0, self->cpu, 0);
	ASSERT_LE(0, fd);
	map = ring_map(fd, PAGES, PROT_READ);
	ASSERT_NE(MAP_FAILED, map);
	page = map;
	EXPECT_EQ(0, page->buffer_seq);

	ASSERT_EQ(0, take(self->fd, &s));
	say("after");

	EXPECT_EQ(3, heard(-1, map, "before"));
	EXPECT_EQ(0, heard(-1, map, "after"));
	child = fork_child();
	if (!child)
		_exit(0);
	EXPECT_EQ(0, child_status(child));

	/* The same descriptor now maps the new buffer. */
	page = ring_map(fd, PAGES, PROT_READ);
	ASSERT_NE(MAP_FAILED, (void *)page);
	EXPECT_EQ(1, page->buffer_seq);
	EXPECT_EQ(1, heard(fd, page, "after"));

	EXPECT_EQ(0, ns_kill(s.ns_id));
	EXPECT_EQ(3, heard(-1, map, "before"));
	munmap(map, ring_len(PAGES));
	member_close(&self->m);
	EXPECT_EQ(1, heard_in(self->id, 0, self->cpu, "after"));
	EXPECT_EQ(0, ns_kill(self->id));
	EXPECT_EQ(1, heard(-1, page, "after"));
	munmap(page, ring_len(PAGES));
	close(fd);
}

/* Nobody can write to a snapshot. */
TEST_F(snapshot, read_only)
{
	struct perf_event_snapshot s = {};
	struct perf_event_persist_member p;
	struct perf_event_persist info;
	void *map;
	int fd;

	say("before");
	ASSERT_EQ(0, take(self->fd, &s));
	fd = member_reopen(s.ns_id, 0, self->cpu, 0);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-EACCES, ring_map_err(fd, PAGES, PROT_READ | PROT_WRITE));
	EXPECT_EQ(-EINVAL, ring_map_err(fd, PAGES / 2, PROT_READ));
	EXPECT_EQ(0, ring_map_err(fd, 0, PROT_READ));
	map = ring_map(fd, PAGES, PROT_READ);
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(-1, mprotect(map, ring_len(PAGES), PROT_READ | PROT_WRITE));
	EXPECT_EQ(-1, munmap(map + page_size(), page_size()));

	/* The memory stays until the last mapping is gone. */
	EXPECT_EQ(0, ns_kill(s.ns_id));
	EXPECT_EQ(1, heard(-1, map, "before"));
	EXPECT_EQ(-ENODEV, ring_map_err(fd, PAGES, PROT_READ));
	EXPECT_EQ(0, get_member(fd, &p));
	EXPECT_EQ(0, get_persist(fd, &info));
	EXPECT_EQ(s.ns_id, info.ns_id);
	munmap(map, ring_len(PAGES));
	close(fd);
}

/* Pages that a reader has put into a pipe are not used for recording again. H22 */
TEST_F(snapshot, pinned)
{
	size_t len = PAGES * page_size(), done;
	struct perf_event_snapshot s = {};
	struct iovec data = { .iov_len = len };
	char *before, *after, *map;
	int i, fd, fds[2];
	ssize_t n;

	before = malloc(2 * len);
	ASSERT_NE(NULL, before);
	after = before + len;
	ASSERT_EQ(0, pipe(fds));
	ASSERT_EQ(0, ns_keep(self->fd, 1));
	say("before");
	/* Pages of snapshots, and any of newer kernels, cannot be put into a pipe. */
	fd = member_reopen(self->id, 0, self->cpu, 0);
	ASSERT_LE(0, fd);
	map = ring_map(fd, PAGES, PROT_READ);
	ASSERT_NE(MAP_FAILED, (void *)map);
	ASSERT_EQ(0, take(self->fd, &s));
	data.iov_base = map + page_size();
	memcpy(before, data.iov_base, len);
	n = vmsplice(fds[1], &data, 1, SPLICE_F_NONBLOCK);
	munmap(map, ring_len(PAGES));
	close(fd);
	if (n < (ssize_t)len)
		SKIP(return, "the pages cannot be put into a pipe");

	for (i = 0; i < 4; i++) {
		say("after");
		ASSERT_EQ(0, take(self->fd, &s));
	}
	for (done = 0; done < len; done += n) {
		n = read(fds[0], after + done, len - done);
		ASSERT_LT(0, n);
	}
	EXPECT_EQ(0, memcmp(before, after, len));
	close(fds[0]);
	close(fds[1]);
	free(before);
}

/* Returns the number in /proc of the only buffer that this process has open, or an error. */
static long long number_in_proc(void)
{
	long long number = -ENOENT;
	struct dirent *dent;
	DIR *dir;

	dir = opendir(RING_BUFFERS);
	if (!dir)
		return -errno;
	while ((dent = readdir(dir)))
		sscanf(dent->d_name, "%lld.txt", &number);
	closedir(dir);
	return number;
}

/* Buffers of namespaces and of snapshots are in perffs, and not in /proc. */
TEST_F(snapshot, not_in_proc)
{
	struct perf_event_snapshot s = {};

	if (access(RING_BUFFERS, R_OK))
		SKIP(return, "the kernel does not show ring buffers in /proc");
	EXPECT_EQ(-ENOENT, number_in_proc());
	ASSERT_EQ(0, take(self->fd, &s));
	EXPECT_EQ(-ENOENT, number_in_proc());
}

/* The oldest snapshots go when there are more than may be kept. */
TEST_F(snapshot, keep)
{
	struct perf_event_snapshot s = {};
	struct perf_event_persist info;
	__u64 first, ids[5];
	int i;

	ASSERT_EQ(0, ns_keep(self->fd, 2));
	ASSERT_EQ(0, take(self->fd, &s));
	first = s.ns_id;
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, take(self->fd, &s));
		ids[i] = s.ns_id;
	}
	EXPECT_EQ(4, s.number);
	EXPECT_EQ(-ENOENT, ns_open(first, 0));
	EXPECT_EQ(0, ns_lookup(self->snap));
	EXPECT_EQ(-ENOENT, ns_open(ids[0], 0));
	EXPECT_EQ(1, ns_count(ids[1]));
	EXPECT_EQ(1, ns_count(ids[2]));
	ASSERT_EQ(0, get_persist(self->m.fd, &info));
	EXPECT_EQ(2, info.keep);

	/* A snapshot that was deleted by hand does not count. */
	ASSERT_EQ(0, ns_kill(ids[2]));
	ASSERT_EQ(0, take(self->fd, &s));
	EXPECT_EQ(1, ns_count(ids[1]));
}

/* If fewer may be kept, the oldest ones go at once. */
TEST_F(snapshot, keep_trims)
{
	struct perf_event_snapshot s = {};
	struct perf_event_persist info;
	struct pollfd pfd = { .fd = self->fd, .events = POLLPRI };
	__u64 ids[5];
	int i;

	for (i = 0; i < 5; i++) {
		ASSERT_EQ(0, take(self->fd, &s));
		ids[i] = s.ns_id;
	}
	ASSERT_EQ(0, get_persist(self->fd, &info));
	EXPECT_EQ(0, poll(&pfd, 1, 0));
	ASSERT_EQ(0, ns_keep(self->fd, 2));
	EXPECT_EQ(1, poll(&pfd, 1, 0));
	for (i = 0; i < 3; i++)
		EXPECT_EQ(-ENOENT, ns_open(ids[i], 0));
	EXPECT_EQ(0, ns_lookup(self->snap));
	EXPECT_EQ(1, ns_count(ids[3]));
	EXPECT_EQ(1, ns_count(ids[4]));
	ASSERT_EQ(0, get_persist(self->fd, &info));
	EXPECT_EQ(2, info.keep);
	EXPECT_EQ(5, info.number);

	/* A higher number brings nothing back. */
	ASSERT_EQ(0, ns_keep(self->fd, PERF_PERSIST_KEEP_MAX));
	EXPECT_EQ(-ENOENT, ns_open(ids[2], 0));
	ASSERT_EQ(0, take(self->fd, &s));
	EXPECT_EQ(1, ns_count(ids[3]));
	ASSERT_EQ(0, ns_keep(self->fd, 1));
	EXPECT_EQ(-ENOENT, ns_open(ids[3], 0));
	EXPECT_EQ(-ENOENT, ns_open(ids[4], 0));
	EXPECT_EQ(1, ns_count(s.ns_id));

	/* Bad numbers change nothing. */
	EXPECT_EQ(-EINVAL, ns_keep(self->fd, 0));
	EXPECT_EQ(-EINVAL, ns_keep(self->fd, PERF_PERSIST_KEEP_MAX + 1));
	EXPECT_EQ(-EINVAL, ns_keep(self->fd, ~0U));
	EXPECT_EQ(-EFAULT, event_ioctl(self->fd, PERF_EVENT_IOC_KEEP, 0));
	EXPECT_EQ(-EFAULT, event_ioctl(self->fd, PERF_EVENT_IOC_KEEP, 8));
	EXPECT_EQ(-EFAULT, event_ioctl(self->fd, PERF_EVENT_IOC_KEEP, -8UL));
	ASSERT_EQ(0, get_persist(self->fd, &info));
	EXPECT_EQ(1, info.keep);
	EXPECT_EQ(1, ns_count(s.ns_id));
}

static int wait_for_spares(int fd, unsigned int nr)
{
	struct pollfd pfd = { .fd = fd, .events = POLLPRI };
	struct perf_event_persist info;
	int err;

	for (;;) {
		err = get_persist(fd, &info);
		if (err)
			return err;
		if (info.spares == nr)
			return 0;
		if (poll(&pfd, 1, -1) < 1)
			return -ETIMEDOUT;
	}
}

/* With no memory left to lock, a spare is enough. Without a spare, no record is lost. */
static int spares_child(struct __test_metadata *_metadata, const char *ns, int cpu)
{
	struct rlimit limit = { 2 * ring_len(PAGES), 2 * ring_len(PAGES) };
	struct perf_event_snapshot second = {}, s = {};
	struct perf_event_attr attr = say_attr();
	struct member m;
	int fd, err, i;
	__u64 id;

	if (setrlimit(RLIMIT_MEMLOCK, &limit) || become(NOBODY, cap_bit(CAP_PERFMON)))
		return 1;
	/* perf_event_mlock_kb covers the first buffer, and not this limit. */
	if (ns_create(&m, &attr, cpu, PAGES, ns, &id))
		return 2;
	fd = ns_open(id, PERF_PERSIST_OPEN_WRITE);
	if (fd < 0)
		return 3;
	if (ns_spares(fd, 3) != -EPERM)
		return 4;
	if (ns_spares(fd, 2) || wait_for_spares(fd, 2))
		return 5;
	say("kept");
	if (take(fd, &s) || take(fd, &second))
		return 6;
	say("still");
	err = take(fd, &s);
	if (err != -EPERM) {
		TH_LOG("the third one without memory: %d", err);
		return 7;
	}
	if (heard_in(id, 0, cpu, "still") != 1)
		return 8;
	/* Freed memory can be used again when nobody tries to make spares of it. */
	if (ns_kill(second.ns_id))
		return 9;
	for (i = 0; (err = take(fd, &s)) == -EPERM && i < 10000; i++)
		usleep(10000);
	if (err)
		return 9;
	return heard_in(s.ns_id, 0, cpu, "still") == 1 ? 0 : 10;
}

/* Spares are made, replaced after use, and charged to the owner. */
TEST_F(snapshot, spares)
{
	struct perf_event_snapshot s = {};
	char name[NS_ROOM + 8];
	pid_t child;

	if (geteuid())
		SKIP(return, "needs root");
	snprintf(name, sizeof(name), "%s-2", self->ns);
	/* In a child, as the sweep must delete as root. */
	child = fork_child();
	if (!child)
		_exit(spares_child(_metadata, name, self->cpu));
	EXPECT_EQ(0, child_status(child));

	EXPECT_EQ(-EINVAL, ns_spares(self->fd, PERF_PERSIST_SPARES_MAX + 1));
	EXPECT_EQ(-EFAULT, event_ioctl(self->fd, PERF_EVENT_IOC_SPARES, 8));
	ASSERT_EQ(0, ns_spares(self->fd, 3));
	EXPECT_EQ(0, wait_for_spares(self->fd, 3));
	ASSERT_EQ(0, take(self->fd, &s));
	EXPECT_EQ(0, wait_for_spares(self->fd, 3));
	ASSERT_EQ(0, ns_spares(self->fd, 1));
	EXPECT_EQ(0, wait_for_spares(self->fd, 1));

	/* Spares fit the members that there are. */
	ASSERT_EQ(0, persist_join(counter_open(self->cpu), self->id));
	EXPECT_EQ(0, wait_for_spares(self->fd, 1));
	ASSERT_EQ(0, take(self->fd, &s));
	EXPECT_EQ(2, ns_count(s.ns_id));
}

/*
 * A reader can keep only so many deleted snapshots open, even if it maps none of them: their
 * members count in the limit of all namespaces.
 */
TEST_F(snapshot, opened)
{
	struct perf_event_snapshot s = {};
	int fds[32], n, err = 0;

	ASSERT_EQ(0, ns_keep(self->fd, 1));
	for (n = 0; n < 32; n++) {
		err = take(self->fd, &s);
		if (err)
			break;
		fds[n] = member_reopen(s.ns_id, 0, self->cpu, 0);
		ASSERT_LE(0, fds[n]);
	}
	EXPECT_EQ(-EBUSY, err);
	EXPECT_LE(3, n);
	EXPECT_EQ(-EBUSY, take(self->fd, &s));
	/* We have the first one mapped, too. */
	close(fds[1]);
	EXPECT_EQ(0, take(self->fd, &s));
}

/* CLEAR empties the buffers, and makes no snapshot. */
TEST_F(snapshot, clear)
{
	struct perf_event_persist_member p;
	struct perf_event_persist info;

	say("before");
	ASSERT_EQ(0, event_ioctl(self->fd, PERF_EVENT_IOC_CLEAR, 0));
	say("after");
	EXPECT_EQ(0, heard_in(self->id, 0, self->cpu, "before"));
	EXPECT_EQ(1, heard_in(self->id, 0, self->cpu, "after"));
	EXPECT_EQ(0, ns_lookup(self->snap));
	ASSERT_EQ(0, get_member(self->m.fd, &p));
	EXPECT_EQ(1, p.buffer_seq);
	ASSERT_EQ(0, get_persist(self->m.fd, &info));
	EXPECT_EQ(0, info.number);
	EXPECT_EQ(1, heard(-1, self->m.map, "before"));
}

/* RESIZE takes a snapshot, and gives a member a buffer of another size. */
TEST_F(snapshot, resize)
{
	struct perf_event_snapshot s;
	struct perf_event_persist_member p;
	__u64 id = event_id(self->m.fd);

	say("before");
	ASSERT_EQ(0, ns_spares(self->fd, 1));
	EXPECT_EQ(-EINVAL, resize(self->fd, &s, id, 3 * page_size()));
	EXPECT_EQ(-EINVAL, resize(self->fd, &s, id, page_size() / 2));
	EXPECT_EQ(-EINVAL, resize(self->fd, &s, id, 1ULL << 63));
	EXPECT_EQ(-EINVAL, resize(self->fd, &s, id + 1, page_size()));
	EXPECT_EQ(-ENOMEM, resize(self->fd, &s, id, 1ULL << 40));
	ASSERT_EQ(0, resize(self->fd, &s, id, 4 * PAGES * page_size()));
	say("after");
	EXPECT_EQ(1, heard_in(s.ns_id, 0, self->cpu, "before"));
	EXPECT_EQ(1, heard_in(self->id, 0, self->cpu, "after"));
	ASSERT_EQ(0, get_member(self->m.fd, &p));
	EXPECT_EQ(4 * PAGES * page_size(), p.buffer_size);

	/* From here on, new buffers and spares have that size. */
	EXPECT_EQ(0, wait_for_spares(self->fd, 1));
	s = (struct perf_event_snapshot){};
	ASSERT_EQ(0, take(self->fd, &s));
	ASSERT_EQ(0, get_member(self->m.fd, &p));
	EXPECT_EQ(4 * PAGES * page_size(), p.buffer_size);
}

/* Bad arguments are refused, and change nothing. */
TEST_F(snapshot, bad_input)
{
	struct {
		struct perf_event_snapshot s;
		char more[8];
	} big = {};
	struct perf_event_snapshot *s = &big.s;
	int fd;

	EXPECT_EQ(-EFAULT, event_ioctl(self->fd, PERF_EVENT_IOC_SNAPSHOT, 8));
	s->size = sizeof(*s) - 1;
	EXPECT_EQ(-EINVAL, event_ioctl(self->fd, PERF_EVENT_IOC_SNAPSHOT, (long)s));
	s->size = 1 << 20;
	EXPECT_EQ(-E2BIG, event_ioctl(self->fd, PERF_EVENT_IOC_SNAPSHOT, (long)s));
	EXPECT_EQ(sizeof(*s), s->size);
	s->size = sizeof(big);
	big.more[7] = 1;
	EXPECT_EQ(-E2BIG, event_ioctl(self->fd, PERF_EVENT_IOC_SNAPSHOT, (long)s));
	s->size = sizeof(*s);
	s->flags = 1;
	EXPECT_EQ(-EINVAL, take(self->fd, s));
	*s = (struct perf_event_snapshot){ .sizes = (unsigned long)s };
	EXPECT_EQ(-EINVAL, take(self->fd, s));
	*s = (struct perf_event_snapshot){ .nr_sizes = 1, .sizes = (unsigned long)s };
	EXPECT_EQ(-EINVAL, take(self->fd, s));
	*s = (struct perf_event_snapshot){ .size = sizeof(*s) };
	EXPECT_EQ(-EINVAL, event_ioctl(self->fd, PERF_EVENT_IOC_RESIZE, (long)s));
	s->nr_sizes = 1;
	s->sizes = 8;
	EXPECT_EQ(-EFAULT, event_ioctl(self->fd, PERF_EVENT_IOC_RESIZE, (long)s));
	EXPECT_EQ(-EINVAL, event_ioctl(self->fd, PERF_EVENT_IOC_CLEAR, 1));

	/* Nothing has happened. A size that is larger than needed is fine. */
	EXPECT_EQ(0, ns_lookup(self->snap));
	memset(&big, 0, sizeof(big));
	s->size = sizeof(big);
	EXPECT_EQ(0, event_ioctl(self->fd, PERF_EVENT_IOC_SNAPSHOT, (long)s));
	EXPECT_EQ(1, s->number);

	/* A reader cannot take a snapshot, and nobody can take one of a snapshot. */
	fd = ns_open(self->id, 0);
	ASSERT_LE(0, fd);
	memset(s, 0, sizeof(*s));
	EXPECT_EQ(-EACCES, take(fd, s));
	EXPECT_EQ(-EACCES, event_ioctl(fd, PERF_EVENT_IOC_CLEAR, 0));
	EXPECT_EQ(-EACCES, ns_spares(fd, 1));
	EXPECT_EQ(-EACCES, ns_keep(fd, 1));
	close(fd);
	fd = ns_open(ns_lookup(self->snap), PERF_PERSIST_OPEN_WRITE);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-EOPNOTSUPP, take(fd, s));
	EXPECT_EQ(-EOPNOTSUPP, ns_spares(fd, 1));
	EXPECT_EQ(-EOPNOTSUPP, ns_keep(fd, 1));

	ASSERT_EQ(0, ns_delete(self->fd));
	EXPECT_EQ(-ENODEV, take(self->fd, s));
	EXPECT_EQ(-ENODEV, event_ioctl(self->fd, PERF_EVENT_IOC_CLEAR, 0));
	EXPECT_EQ(-ENODEV, ns_spares(self->fd, 1));
	EXPECT_EQ(-ENODEV, ns_keep(self->fd, 1));
}

/* Members of snapshots count for the limit as well. */
TEST_F(snapshot, limit)
{
	struct perf_event_snapshot s = {};
	char old[32];

	if (read_file(MAX_PERSISTENT, old, sizeof(old)) < 0 || write_file(MAX_PERSISTENT, "1"))
		SKIP(return, "needs root");
	say("before");
	EXPECT_EQ(-ENOSPC, take(self->fd, &s));
	ASSERT_EQ(0, write_file(MAX_PERSISTENT, old));
	EXPECT_EQ(1, heard_in(self->id, 0, self->cpu, "before"));
	EXPECT_EQ(0, take(self->fd, &s));
	EXPECT_EQ(1, heard_in(s.ns_id, 0, self->cpu, "before"));
}

/* Every event that writes to the buffer of a member goes on in the new buffer. */
TEST_F(snapshot, redirected)
{
	struct perf_event_attr attr = fault_attr(1);
	struct perf_event_snapshot s = {};
	struct perf_event_persist_member p;
	int member, other, snap_fd;
	void *map;

	member = event_open(&attr, -1, self->cpu, -1, 0);
	other = event_open(&attr, -1, self->cpu, -1, 0);
	ASSERT_LE(0, member);
	ASSERT_LE(0, other);
	ASSERT_EQ(0, event_ioctl(member, PERF_EVENT_IOC_SET_OUTPUT, self->m.fd));
	ASSERT_EQ(0, event_ioctl(other, PERF_EVENT_IOC_SET_OUTPUT, self->m.fd));
	ASSERT_EQ(0, persist_join(member, self->id));

	touch_pages(4);
	ASSERT_EQ(0, take(self->fd, &s));
	touch_pages(4);
	ASSERT_EQ(0, event_ioctl(member, PERF_EVENT_IOC_DISABLE, 0));
	ASSERT_EQ(0, event_ioctl(other, PERF_EVENT_IOC_DISABLE, 0));

	map = ring_map(self->m.fd, PAGES, PROT_READ);
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_LE(4, sampled(member, map));
	EXPECT_LE(4, sampled(other, map));
	EXPECT_EQ(sampled(member, map), sampled(other, map));
	EXPECT_LE(4, sampled(member, self->m.map));

	/* Snapshot and namespace both tell whose buffer it is. */
	snap_fd = member_reopen(s.ns_id, event_id(member), -1, 0);
	ASSERT_LE(0, snap_fd);
	ASSERT_EQ(0, get_member(snap_fd, &p));
	EXPECT_EQ(event_id(self->m.fd), p.output_id);
	EXPECT_EQ(-EBUSY, ring_map_err(snap_fd, PAGES, PROT_READ));
	ASSERT_EQ(0, get_member(member, &p));
	EXPECT_EQ(event_id(self->m.fd), p.output_id);
	EXPECT_EQ(-EBUSY, event_ioctl(member, PERF_EVENT_IOC_SET_OUTPUT, -1));

	/* Both events can leave, and the buffer goes. */
	EXPECT_EQ(0, persist_claim(member));
	close(member);
	EXPECT_EQ(0, event_ioctl(other, PERF_EVENT_IOC_SET_OUTPUT, -1));
	close(other);
	EXPECT_EQ(0, persist_claim(self->m.fd));
	munmap(map, ring_len(PAGES));
}

/* Reading a snapshot requires the right to what was recorded. */
TEST_F(snapshot, rights)
{
	struct perf_event_snapshot s = {};
	pid_t child;

	if (geteuid())
		SKIP(return, "needs root");
	ASSERT_EQ(0, take(self->fd, &s));
	ASSERT_EQ(0, set_paranoid(2));
	child = fork_child();
	if (!child) {
		if (become(NOBODY, 0))
			_exit(1);
		if (member_reopen(s.ns_id, 0, self->cpu, 0) != -EACCES)
			_exit(2);
		if (ns_open(s.ns_id, 0) != -EACCES)
			_exit(3);
		if (ns_open(s.ns_id, PERF_PERSIST_OPEN_WRITE) != -EACCES)
			_exit(4);
		_exit(0);
	}
	EXPECT_EQ(0, child_status(child));
	ASSERT_EQ(0, set_paranoid(-1));
	child = fork_child();
	if (!child) {
		if (become(NOBODY, 0))
			_exit(1);
		_exit(heard_in(s.ns_id, 0, self->cpu, "nothing") ? 2 : 0);
	}
	EXPECT_EQ(0, child_status(child));
}

/* It requires the right to every event that wrote to the buffer, whichever was first. */
TEST_F(snapshot, rights_of_writers)
{
	struct perf_event_attr raw, user = fault_attr(1);
	__u64 id = 0, snap = 0, plain = 0;
	char name[NS_ROOM + 8];
	struct member first, m;
	pid_t child;

	if (geteuid())
		SKIP(return, "needs root");
	if (!syscall_attr(&raw))
		SKIP(return, "no tracepoints");
	ASSERT_EQ(0, member_open(&first, &raw, self->cpu, 0));
	ASSERT_EQ(0, member_open(&m, &user, self->cpu, PAGES));
	ASSERT_EQ(0, event_ioctl(first.fd, PERF_EVENT_IOC_SET_OUTPUT, m.fd));
	ASSERT_EQ(0, persist_new(m.fd, &id));
	ASSERT_EQ(0, persist_join(first.fd, id));
	snprintf(name, sizeof(name), "%s-w", self->ns);
	ASSERT_EQ(0, set_name_str(m.fd, name));
	ASSERT_EQ(0, take_one(id, &snap));

	ASSERT_EQ(0, take_one(self->id, &plain));

	/* At level 0, everybody may record a CPU, but not the fields of tracepoints. */
	ASSERT_EQ(0, set_paranoid(0));
	child = fork_child();
	if (!child) {
		if (become(NOBODY, 0))
			_exit(1);
		if (member_reopen(plain, 0, self->cpu, 0) < 0)
			_exit(2);
		if (member_reopen(id, event_id(m.fd), -1, 0) >= 0)
			_exit(3);
		if (member_reopen(snap, event_id(m.fd), -1, 0) >= 0)
			_exit(4);
		_exit(0);
	}
	EXPECT_EQ(0, child_status(child));
	ASSERT_EQ(0, persist_claim(first.fd));
}

/* A snapshot does not keep an event going. */
TEST_F(snapshot, claimed)
{
	struct perf_event_attr attr = fault_attr(1);
	struct perf_event_snapshot s = {};
	struct perf_event_persist_member p;
	int fd;

	fd = event_open(&attr, -1, self->cpu, -1, PERF_FLAG_FD_CLOEXEC);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, event_ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, self->m.fd));
	ASSERT_EQ(0, persist_join(fd, self->id));
	ASSERT_EQ(0, take(self->fd, &s));
	ASSERT_EQ(0, persist_claim(fd));
	EXPECT_EQ(-ENOENT, get_member(fd, &p));
	EXPECT_EQ(2, ns_count(s.ns_id));
	EXPECT_EQ(1, ns_count(self->id));
	close(fd);
	/* Nothing is written any more, though the redirection was never undone. */
	touch_pages(4);
	ASSERT_EQ(0, get_member(self->m.fd, &p));
	touch_pages(8);
	{
		__u64 head = p.head;

		ASSERT_EQ(0, get_member(self->m.fd, &p));
		EXPECT_EQ(head, p.head);
	}
	EXPECT_EQ(2, ns_count(s.ns_id));
}

/* A CPU that goes and comes back changes nothing in a snapshot. */
TEST_F(snapshot, hotplug)
{
	struct perf_event_attr attr = say_attr();
	__u64 id, snap;
	char name[NS_ROOM + 8];
	struct member m;

	if (self->cpu2 < 0)
		SKIP(return, "needs two CPUs");
	snprintf(name, sizeof(name), "%s-h", self->ns);
	ASSERT_EQ(0, ns_create(&m, &attr, self->cpu2, PAGES, name, &id));
	ASSERT_EQ(0, pin(self->cpu2));
	say("before");
	ASSERT_EQ(0, pin(self->cpu));
	ASSERT_EQ(0, take_one(id, &snap));
	if (set_online(self->cpu2, false))
		SKIP(return, "cannot take a CPU offline");
	EXPECT_EQ(1, heard_in(snap, 0, self->cpu2, "before"));
	ASSERT_EQ(0, take_one(id, &snap));
	ASSERT_EQ(0, set_online(self->cpu2, true));
	ASSERT_EQ(0, pin(self->cpu2));
	say("again");
	EXPECT_EQ(1, heard_in(id, 0, self->cpu2, "again"));
	EXPECT_EQ(0, heard_in(snap, 0, self->cpu2, "before"));
}

/* A user who may change a namespace cannot increase what its owner pays. */
TEST_F(snapshot, others)
{
	struct perf_event_snapshot s = {};
	pid_t child;

	if (geteuid())
		SKIP(return, "needs root");
	child = fork_child();
	if (!child) {
		int fd;

		if (become(NOBODY, cap_bit(CAP_PERFMON)))
			_exit(1);
		fd = ns_open(self->id, PERF_PERSIST_OPEN_WRITE);
		if (fd < 0)
			_exit(2);
		if (take(fd, &s))
			_exit(3);
		if (ns_keep(fd, PERF_PERSIST_KEEP_DEFAULT + 1) != -EPERM)
			_exit(4);
		if (ns_keep(fd, PERF_PERSIST_KEEP_DEFAULT) ||
		    ns_keep(fd, PERF_PERSIST_KEEP_DEFAULT - 1))
			_exit(5);
		if (ns_keep(fd, PERF_PERSIST_KEEP_DEFAULT) != -EPERM)
			_exit(9);
		if (take(fd, &s))
			_exit(10);
		if (ns_spares(fd, 1) != -EPERM)
			_exit(6);
		if (resize(fd, &s, event_id(self->m.fd), 2 * PAGES * page_size()) != -EPERM)
			_exit(7);
		if (event_ioctl(fd, PERF_EVENT_IOC_CLEAR, 0))
			_exit(8);
		_exit(0);
	}
	EXPECT_EQ(0, child_status(child));
}

/*
 * A namespace whose buffers somebody keeps mapped, and the ways in which it stops using
 * them. H22
 */
enum way { MAP_SNAPSHOT, MAP_AND_DELETE, MAP_LIVE, MAP_AND_CLEAR, MAP_AND_RESIZE };

FIXTURE(bounded)
{
	char	ns[NS_ROOM];
	int	cpu, cpu2;
	__u64	id;
	int	fd;
};

FIXTURE_VARIANT(bounded)
{
	enum way	how;
	unsigned int	spares;
};

FIXTURE_VARIANT_ADD(bounded, snapshot)
{
	.how = MAP_SNAPSHOT,
};

FIXTURE_VARIANT_ADD(bounded, spares)
{
	.how = MAP_SNAPSHOT,
	.spares = 2,
};

FIXTURE_VARIANT_ADD(bounded, deleted)
{
	.how = MAP_AND_DELETE,
};

FIXTURE_VARIANT_ADD(bounded, live)
{
	.how = MAP_LIVE,
};

FIXTURE_VARIANT_ADD(bounded, clear)
{
	.how = MAP_AND_CLEAR,
};

FIXTURE_VARIANT_ADD(bounded, resize)
{
	.how = MAP_AND_RESIZE,
};

FIXTURE_SETUP(bounded)
{
	struct perf_event_attr attr = say_attr();
	const char *missing;

	missing = persist_begin(self->ns, &self->cpu, &self->cpu2);
	if (missing)
		SKIP(return, "%s", missing);
	if (geteuid())
		SKIP(return, "needs root");
	ASSERT_EQ(0, ns_create_leave(&attr, self->cpu, PAGES, self->ns, &self->id));
	self->fd = ns_open(self->id, PERF_PERSIST_OPEN_WRITE);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, ns_spares(self->fd, variant->spares));
}

FIXTURE_TEARDOWN_PARENT(bounded)
{
	persist_sweep();
}

/* A mapping of a whole buffer of any size */
struct held {
	void	*map;
	size_t	len;
};

static int hold(struct held *h, __u64 ns, int cpu)
{
	struct perf_event_persist_member p;
	int fd, err;

	fd = member_reopen(ns, 0, cpu, 0);
	if (fd < 0)
		return fd;
	err = get_member(fd, &p);
	if (!err) {
		h->len = p.buffer_size + page_size();
		h->map = mmap(NULL, h->len, PROT_READ, MAP_SHARED, fd, 0);
		if (h->map == MAP_FAILED)
			err = -errno;
	}
	close(fd);
	return err;
}

/* Maps one more buffer that the namespace no longer uses. */
static int hold_one(struct held *h, enum way how, __u64 ns, int ns_fd, int cpu)
{
	struct perf_event_snapshot s = {};
	struct perf_event_persist_member p = {};
	int err;

	if (how == MAP_SNAPSHOT || how == MAP_AND_DELETE) {
		err = take(ns_fd, &s);
		if (!err)
			err = hold(h, s.ns_id, cpu);
		if (!err && how == MAP_AND_DELETE)
			err = ns_kill(s.ns_id);
		return err;
	}
	err = hold(h, ns, cpu);
	if (err)
		return err;
	switch (how) {
	case MAP_LIVE:
		err = take(ns_fd, &s);
		break;
	case MAP_AND_CLEAR:
		err = event_ioctl(ns_fd, PERF_EVENT_IOC_CLEAR, 0);
		break;
	default:
		err = next_member(ns_fd, &p);
		if (!err)
			err = resize(ns_fd, &s, p.event_id,
				     p.buffer_size ^ (3 * PAGES * page_size()));
		break;
	}
	if (err)
		munmap(h->map, h->len);
	return err;
}

#define ROUNDS	60

static int hold_all(enum way how, unsigned int spares, __u64 ns, int cpu)
{
	struct rlimit limit = { 64 << 10, 64 << 10 };
	struct held held[ROUNDS], one;
	int fd, i, nr, err = 0;

	/* Only the owner may resize. */
	if (setrlimit(RLIMIT_MEMLOCK, &limit) ||
	    (how != MAP_AND_RESIZE && become(NOBODY, cap_bit(CAP_PERFMON))))
		return 1;
	fd = ns_open(ns, PERF_PERSIST_OPEN_WRITE);
	if (fd < 0)
		return 2;
	for (nr = 0; nr < ROUNDS; nr++) {
		err = hold_one(&held[nr], how, ns, fd, cpu);
		if (err)
			break;
	}
	if (err != -EBUSY) {
		ksft_print_msg("after %d of them: %d\n", nr, err);
		return 3;
	}
	if (nr < PERF_PERSIST_KEEP_DEFAULT ||
	    nr > 2 * PERF_PERSIST_KEEP_DEFAULT + (int)spares + 1) {
		ksft_print_msg("%d of them\n", nr);
		return 4;
	}
	/* More is refused again, and the namespace goes on recording. */
	if (hold_one(&one, how, ns, fd, cpu) != -EBUSY)
		return 5;
	say("goes on");
	if (heard_in(ns, 0, cpu, "goes on") != 1)
		return 6;
	/* A buffer that is unmapped makes room for one more. */
	munmap(held[0].map, held[0].len);
	if (hold_one(&held[0], how, ns, fd, cpu))
		return 7;
	for (i = 0; i < nr; i++)
		munmap(held[i].map, held[i].len);
	for (i = 0; i < PERF_PERSIST_KEEP_DEFAULT; i++) {
		if (hold_one(&held[i], how, ns, fd, cpu))
			return 8;
	}
	/* The exit unmaps the rest. */
	return 0;
}

/* Whatever readers do, the number of buffers is bounded. */
TEST_F(bounded, by_readers)
{
	struct perf_event_snapshot s = {};
	pid_t pid;
	int i;

	for (i = 0; i < 2; i++) {
		pid = fork_child();
		ASSERT_LE(0, pid);
		if (!pid)
			_exit(hold_all(variant->how, variant->spares, self->id, self->cpu));
		EXPECT_EQ(0, child_status(pid));
	}
	ASSERT_EQ(0, take(self->fd, &s));
	ASSERT_EQ(0, ns_delete(self->fd));
}

/* perffs tells why there is no snapshot. */
TEST_F(snapshot, busy_in_perffs)
{
	char path[256], name[NS_ROOM + 16], want[256], log[8192];
	struct held h;
	int err = 0, nr;

	if (mount_perffs())
		SKIP(return, "cannot mount perffs");
	snprintf(path, sizeof(path), PERFFS_DIR "/%s/snapshot", self->ns);
	for (nr = 0; nr < ROUNDS; nr++) {
		err = write_file(path, "1");
		if (err)
			break;
		snprintf(name, sizeof(name), "%s.%d", self->ns, nr + 1);
		ASSERT_EQ(0, hold(&h, ns_lookup(name), self->cpu));
		ASSERT_EQ(0, ns_kill(ns_lookup(name)));
	}
	EXPECT_EQ(-EBUSY, err);
	ASSERT_LT(0, nr);
	snprintf(want, sizeof(want),
		 "] %s/snapshot: '1': readers still map deleted snapshots, or have them open",
		 self->ns);
	ASSERT_LT(0, read_file(PERFFS_DIR "/error_log", log, sizeof(log)));
	EXPECT_NE(NULL, strstr(log, want)) TH_LOG("%s", log);

	munmap(h.map, h.len);
	EXPECT_EQ(0, write_file(path, "1"));
}

/* The same with buffers so large that their memory shows. H22 */
#define BIG		(4UL << 20)
#define SET		(2 * (BIG + page_size()) >> 10) /* kB of two of them */
#define SLACK		(8L << 10) /* kB that others may take or give back */

FIXTURE(memory)
{
	char	ns[NS_ROOM];
	int	cpu, cpu2;
	__u64	id;
};

/*
 * Returns the available kB, including pages that CPUs keep on lists of their own. These
 * are tens of megabytes, and the kernel counts them as used.
 */
static long available(void)
{
	char line[128];
	long kb = 0, n;
	FILE *file;

	file = fopen("/proc/meminfo", "r");
	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "MemAvailable: %ld", &n) == 1)
			kb += n;
	}
	if (file)
		fclose(file);
	file = fopen("/proc/zoneinfo", "r");
	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, " count: %ld", &n) == 1)
			kb += n * (page_size() >> 10);
	}
	if (file)
		fclose(file);
	return kb;
}

/*
 * Waits until all but @kb of what was available @before is back. Some of it takes a while, and
 * others may need some for a while.
 */
static bool is_back(long before, long kb)
{
	int i;

	for (i = 0; i < 500 && before - available() > kb + SLACK; i++)
		usleep(20000);
	return i < 500;
}

FIXTURE_SETUP(memory)
{
	const char *missing;

	missing = persist_begin(self->ns, &self->cpu, &self->cpu2);
	if (missing)
		SKIP(return, "%s", missing);
	if (geteuid())
		SKIP(return, "needs root");
	/* Twice what all rounds would take, if nothing bounded them */
	if (available() < (2 * ROUNDS) * (long)SET)
		SKIP(return, "needs %lu MB", 2 * ROUNDS * SET >> 10);
}

FIXTURE_TEARDOWN_PARENT(memory)
{
	persist_undo();
}

/* Makes a namespace with two buffers. Returns a descriptor that manages it. */
static int make_big(const char *ns, int cpu, int cpu2, __u64 *id)
{
	struct perf_event_attr attr = say_attr();
	struct member m;
	int err;

	err = ns_create_leave(&attr, cpu, BIG / page_size(), ns, id);
	if (!err)
		err = member_open(&m, &attr, cpu2 < 0 ? cpu : cpu2, BIG / page_size());
	if (err)
		return err;
	err = persist_join(m.fd, *id);
	member_close(&m);
	return err ?: ns_open(*id, PERF_PERSIST_OPEN_WRITE);
}

/* Maps both buffers of a snapshot. */
static int hold_both(__u64 ns)
{
	struct perf_event_persist_member p = {};
	int snap, fd, nr;

	snap = ns_open(ns, 0);
	if (snap < 0)
		return snap;
	for (nr = 0; !next_member(snap, &p); nr++) {
		fd = member_reopen(ns, p.event_id, p.cpu, 0);
		if (fd < 0)
			return fd;
		if (mmap(NULL, BIG + page_size(), PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED)
			return -errno;
		close(fd);
	}
	close(snap);
	return nr == 2 ? 0 : -EIO;
}

/* The set in use, the snapshots that may be kept, and as many that readers hold */
#define MOST		(2 * PERF_PERSIST_KEEP_DEFAULT + 1)
#define NOISE		99

/*
 * Tries to hold as many snapshots as it can get. Returns NOISE if all is well, but more memory
 * is gone than that needs: others may have taken it.
 */
static int hold_memory(__u64 ns, long before)
{
	struct rlimit limit = { 64 << 10, 64 << 10 };
	int i, fd, err, nr = 0;

	if (setrlimit(RLIMIT_MEMLOCK, &limit) || become(NOBODY, cap_bit(CAP_PERFMON)))
		return 1;
	fd = ns_open(ns, PERF_PERSIST_OPEN_WRITE);
	if (fd < 0)
		return 2;
	for (i = 0; i < ROUNDS; i++) {
		struct perf_event_snapshot s = {};

		err = take(fd, &s);
		/* Once refused, a snapshot is refused as long as nothing is unmapped. */
		if (err ? err != -EBUSY : nr < i) {
			ksft_print_msg("round %d: %d\n", i, err);
			return 3;
		}
		if (!err && hold_both(s.ns_id))
			return 4;
		nr += !err;
	}
	ksft_print_msg("%d snapshots, %ld kB\n", nr, before - available());
	if (nr < PERF_PERSIST_KEEP_DEFAULT || nr > MOST)
		return 5;
	return is_back(before, MOST * SET) ? 0 : NOISE;
}

/*
 * The memory that a reader can hold is bounded, and is back when the reader ends. If others take
 * memory and keep it, the next try begins with what they left.
 */
TEST_F(memory, bounded)
{
	int i, status, fd, tries;
	bool good = false;
	long before;
	pid_t pid;

	for (tries = 0; tries < 10 && !good; tries++) {
		before = available();
		fd = make_big(self->ns, self->cpu, self->cpu2, &self->id);
		ASSERT_LE(0, fd);
		good = true;
		for (i = 0; i < 2 && good; i++) {
			pid = fork_child();
			ASSERT_LE(0, pid);
			if (!pid)
				_exit(hold_memory(self->id, before));
			status = child_status(pid);
			ASSERT_TRUE(!status || status == NOISE) TH_LOG("status %d", status);
			/* Snapshots that may be kept are still there. */
			good = !status && is_back(before, (PERF_PERSIST_KEEP_DEFAULT + 1) * SET);
		}
		ASSERT_EQ(0, ns_delete(fd));
		close(fd);
		persist_sweep();
		/* The next try must not begin before this one's memory is back, either. */
		good = is_back(before, 0) && good;
	}
	EXPECT_TRUE(good) TH_LOG("%d tries", tries);
}

/* Whether a buffer is as if nobody had written to it */
static bool is_empty(__u64 ns, int cpu)
{
	struct perf_event_mmap_page *page;
	struct held h = {};
	bool empty;
	size_t i;

	if (hold(&h, ns, cpu))
		return false;
	page = h.map;
	empty = !page->data_head;
	for (i = page_size(); i < h.len; i++)
		empty &= !((char *)h.map)[i];
	munmap(h.map, h.len);
	return empty;
}

/* Takes snapshots again and again, as an owner who may lock just enough to keep all. */
static int take_for_ever(const char *name, int cpu)
{
	/* The first buffer is within kernel.perf_event_mlock_kb. There is no room for a set. */
	const rlim_t most = PERF_PERSIST_KEEP_DEFAULT * ring_len(PAGES) + PAGES * page_size();
	struct rlimit limit = { most, most };
	struct perf_event_attr attr = say_attr();
	struct perf_event_snapshot s = {};
	int fd, member, i;
	struct member m;
	char text[64];
	__u64 id;

	if (setrlimit(RLIMIT_MEMLOCK, &limit) || become(NOBODY, cap_bit(CAP_PERFMON)))
		return 1;
	if (ns_create_leave(&attr, cpu, PAGES, name, &id))
		return 2;
	fd = ns_open(id, PERF_PERSIST_OPEN_WRITE);
	for (i = 0; i < 3 * PERF_PERSIST_KEEP_DEFAULT; i++) {
		int err;

		snprintf(text, sizeof(text), "round %d", i);
		say(text);
		err = take(fd, &s);
		if (err) {
			ksft_print_msg("number %d: %d\n", i + 1, err);
			return 3;
		}
		if (heard_in(s.ns_id, 0, cpu, text) != 1)
			return 4;
		if (!is_empty(id, cpu))
			return 5;
	}
	/* A spare would be more than the owner may lock. */
	if (ns_spares(fd, 1) != -EPERM)
		return 6;
	/* With another buffer, those of the oldest one are not enough: it goes before. */
	if (member_open(&m, &attr, cpu, 1) || persist_join(m.fd, id))
		return 7;
	member_close(&m);
	for (i = 0; i < 2; i++) {
		int err;

		say("again");
		s = (struct perf_event_snapshot){};
		err = take(fd, &s);
		if (err) {
			ksft_print_msg("number %d after joining: %d\n", i + 1, err);
			return 8;
		}
		if (heard_in(s.ns_id, 0, cpu, "again") != 1)
			return 9;
	}
	/* It does not go for buffers that may need much more. */
	snprintf(text, sizeof(text), "%s.%u", name, s.number - PERF_PERSIST_KEEP_DEFAULT + 1);
	member = member_reopen(id, 0, cpu, 0);
	if (member < 0 || resize(fd, &s, event_id(member), 64 * PAGES * page_size()) != -EPERM)
		return 10;
	if (!ns_lookup(text))
		return 11;
	return ns_delete(fd) ? 12 : 0;
}

/* H28: at the limit, the oldest snapshot makes room for the next one. */
TEST_F(snapshot, at_the_limit)
{
	char name[NS_ROOM + 8];
	pid_t pid;

	if (geteuid())
		SKIP(return, "needs root");
	snprintf(name, sizeof(name), "%s-n", self->ns);
	pid = fork_child();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(take_for_ever(name, self->cpu));
	EXPECT_EQ(0, child_status(pid));
}

/*
 * Writers on all CPUs number their records while snapshots are taken. Between two of
 * them, a writer makes as many records as fit into a buffer. Each number must be there
 * exactly once.
 */
#define NR_PAGES	16
#define PER_ROUND	256	/* records of a CPU between two snapshots */

struct numbers {
	int	running;		/* number of writers that run */
	int	stop;
	__u64	allowed;		/* the last number that may be written */
	__u64	done[MAX_CPUS];		/* the last one that is written */
};

/* A sample of raw_syscalls:sys_enter. The number is the first argument. */
struct call {
	struct perf_event_header hdr;
	__u64	id;
	__u32	pid, tid;
	__u32	raw_size;
	char	common[8];
	char	syscall[8];
	__u64	nr;
} __attribute__((packed));

static void write_numbers(struct numbers *shared, int i, int cpu)
{
	__u64 nr = 0;

	pin(cpu);
	__atomic_add_fetch(&shared->running, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&shared->stop, __ATOMIC_ACQUIRE)) {
		if (nr >= __atomic_load_n(&shared->allowed, __ATOMIC_ACQUIRE)) {
			sched_yield();
			continue;
		}
		syscall(SYS_getppid, ++nr);
		__atomic_store_n(&shared->done[i], nr, __ATOMIC_RELEASE);
	}
	_exit(0);
}

static int filter_writer(int fd, pid_t pid)
{
	char filter[64];

	snprintf(filter, sizeof(filter), "id == %d && common_pid == %d", (int)SYS_getppid, pid);
	return neg_errno(ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter));
}

/* Counts the records that are out of order, newest first, and moves @next on. */
static int check_numbers(const void *map, __u64 *next)
{
	const struct perf_event_mmap_page *page = map;
	const char *data = map + page->data_offset;
	__s64 pos = page->data_head, size = page->data_size;
	__u64 newest = 0, nr;
	unsigned int i;
	int bad = 0;

	/* If a record was overwritten, the pace was wrong. */
	if (-pos > size)
		return 1000000;
	for (nr = 0; pos < 0; ) {
		struct call call;

		for (i = 0; i < sizeof(call); i++)
			((char *)&call)[i] = data[(pos + i) & (size - 1)];
		if (call.hdr.type != PERF_RECORD_SAMPLE || call.hdr.size < sizeof(call)) {
			bad++;
			break;
		}
		if (!newest)
			newest = call.nr;
		else if (call.nr != nr - 1)
			bad++;
		nr = call.nr;
		pos += call.hdr.size;
	}
	if (!newest)
		return bad;
	if (nr != *next)
		bad++;
	*next = newest + 1;
	return bad;
}

static int check_snapshot(__u64 snap, int nr_cpus, const int *cpus, __u64 *next)
{
	int i, bad = 0;

	for (i = 0; i < nr_cpus; i++) {
		int fd = member_reopen(snap, 0, cpus[i], 0);
		void *map;

		if (fd < 0)
			return fd;
		map = ring_map(fd, NR_PAGES, PROT_READ);
		close(fd);
		if (map == MAP_FAILED)
			return -errno;
		bad += check_numbers(map, &next[i]);
		munmap(map, ring_len(NR_PAGES));
	}
	return bad;
}

/* Each record is in exactly one snapshot, wherever the snapshot meets its writer. */
TEST_F(snapshot, numbers)
{
	const char *env = getenv("SNAPSHOTS");
	int snapshots = env ? atoi(env) : SNAPSHOTS;
	int cpus[MAX_CPUS], nr_cpus = 0, i, n, bad = 0, split = 0;
	struct perf_event_snapshot s = {};
	struct perf_event_attr attr;
	__u64 next[MAX_CPUS], id = 0;
	pid_t pids[MAX_CPUS];
	struct numbers *shared;
	char name[NS_ROOM + 8];
	struct member m;
	cpu_set_t set;
	int fd;

	if (!syscall_attr(&attr))
		SKIP(return, "no tracepoints");
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)shared);

	/* Use all CPUs again: persist_begin() has bound this process to the first. */
	CPU_ZERO(&set);
	for (i = 0; i < MAX_CPUS; i++)
		CPU_SET(i, &set);
	ASSERT_EQ(0, sched_setaffinity(0, sizeof(set), &set));
	ASSERT_EQ(0, sched_getaffinity(0, sizeof(set), &set));
	snprintf(name, sizeof(name), "%s-n", self->ns);
	for (i = 0; i < MAX_CPUS; i++) {
		if (!CPU_ISSET(i, &set))
			continue;
		pids[nr_cpus] = fork_child();
		if (!pids[nr_cpus])
			write_numbers(shared, nr_cpus, i);
		attr.disabled = 1;
		ASSERT_EQ(0, member_open(&m, &attr, i, NR_PAGES));
		ASSERT_EQ(0, filter_writer(m.fd, pids[nr_cpus]));
		ASSERT_EQ(0, nr_cpus ? persist_join(m.fd, id) : persist_new(m.fd, &id));
		next[nr_cpus] = 1;
		cpus[nr_cpus++] = i;
	}
	ASSERT_EQ(0, set_name_str(m.fd, name));
	fd = ns_open(id, PERF_PERSIST_OPEN_WRITE);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ns_spares(fd, 2));

	/* A child that starts calls getppid() as well, without a number. */
	while (__atomic_load_n(&shared->running, __ATOMIC_ACQUIRE) < nr_cpus)
		sched_yield();
	ASSERT_EQ(0, event_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0));

	ASSERT_EQ(0, ns_keep(fd, 4));
	/* Go on until some writer was found in the middle of its round. */
	for (n = 0; (n < snapshots || (n < 100 * snapshots && !split && nr_cpus > 1)) && !bad;
	     n++) {
		__u64 begun = shared->allowed + n % (PER_ROUND / 2);

		__atomic_add_fetch(&shared->allowed, PER_ROUND, __ATOMIC_RELEASE);
		while (__atomic_load_n(&shared->done[n % nr_cpus], __ATOMIC_ACQUIRE) < begun)
			sched_yield();
		ASSERT_EQ(0, take(fd, &s));
		bad = check_snapshot(s.ns_id, nr_cpus, cpus, next);
		for (i = 0; i < nr_cpus; i++)
			split += (next[i] - 1) % PER_ROUND != 0;
		EXPECT_EQ(0, bad) {
			TH_LOG("snapshot %d", s.number);
		}
		/*
		 * The pace: records that were allowed before this snapshot are in it, or
		 * in the next.
		 */
		for (i = 0; i < nr_cpus; i++) {
			while (__atomic_load_n(&shared->done[i], __ATOMIC_ACQUIRE) <
			       __atomic_load_n(&shared->allowed, __ATOMIC_ACQUIRE))
				sched_yield();
		}
	}
	__atomic_store_n(&shared->stop, 1, __ATOMIC_RELEASE);
	for (i = 0; i < nr_cpus; i++)
		EXPECT_EQ(0, child_status(pids[i]));

	/* Records after the last snapshot */
	ASSERT_EQ(0, take(fd, &s));
	EXPECT_EQ(0, check_snapshot(s.ns_id, nr_cpus, cpus, next));
	for (i = 0; i < nr_cpus; i++)
		EXPECT_EQ(shared->done[i] + 1, next[i]);
	/* With one CPU, no writer runs meanwhile. */
	EXPECT_TRUE(split > 0 || nr_cpus == 1);
	ksft_print_msg("%d snapshots, %d CPUs, %llu records each; %d times in the middle of them\n",
		       n, nr_cpus, (unsigned long long)shared->allowed, split);
}

/* Returns how many programs the tracepoint of @fd runs. */
static int count_programs(int fd)
{
	struct perf_event_query_bpf query = {};
	int err;

	err = neg_errno(ioctl(fd, PERF_EVENT_IOC_QUERY_BPF, &query));
	return err ?: (int)query.prog_cnt;
}

/* The program of a tracepoint ends with its event, even if a snapshot is left. */
TEST_F(snapshot, deleted_program)
{
	struct perf_event_snapshot s = {};
	struct perf_event_attr attr;
	struct member m;
	__u64 id, snap;
	int prog, other, before;

	if (!syscall_attr(&attr))
		SKIP(return, "no tracepoints");
	prog = bpf_prog_open_type(BPF_PROG_TYPE_TRACEPOINT, 1);
	if (prog < 0)
		SKIP(return, "no BPF");
	other = event_open(&attr, -1, self->cpu, -1, 0);
	ASSERT_LE(0, other);
	before = count_programs(other);
	ASSERT_LE(0, before);
	attr.write_backward = 1;
	ASSERT_EQ(0, member_open(&m, &attr, self->cpu, PAGES));
	ASSERT_EQ(0, event_ioctl(m.fd, PERF_EVENT_IOC_SET_BPF, prog));
	ASSERT_EQ(0, persist_join(m.fd, self->id));
	member_close(&m);
	ASSERT_EQ(0, take(self->fd, &s));
	EXPECT_EQ(before + 1, count_programs(other));
	ASSERT_EQ(0, ns_delete(self->fd));
	EXPECT_EQ(before, count_programs(other));
	EXPECT_NE(0, ns_lookup(self->snap));

	/* The same when the event was claimed before */
	ASSERT_EQ(0, ns_create(&m, &attr, self->cpu, PAGES, self->ns, &id));
	ASSERT_EQ(0, event_ioctl(m.fd, PERF_EVENT_IOC_SET_BPF, prog));
	ASSERT_EQ(0, take_one(id, &snap));
	ASSERT_EQ(0, persist_claim(m.fd));
	EXPECT_EQ(before + 1, count_programs(other));
	member_close(&m);
	EXPECT_EQ(before, count_programs(other));
	EXPECT_EQ(1, ns_count(snap));
}

/* Output that is resumed while buffers are being replaced is resumed. */
TEST_F(snapshot, resume_race)
{
	struct perf_event_attr attr = say_attr();
	struct {
		__u64	count, lost;
	} before, after;
	int i, status, fd = -1;
	struct member m;
	pid_t pid;

	if (self->cpu2 < 0)
		SKIP(return, "one CPU");
	/* Many members: replacing all of their buffers takes a while. */
	attr.read_format = PERF_FORMAT_LOST;
	for (i = 0; i < 250; i++) {
		ASSERT_EQ(0, member_open(&m, &attr, self->cpu, 1));
		ASSERT_EQ(0, persist_join(m.fd, self->id));
		if (fd < 0)
			fd = m.fd;
		else
			member_close(&m);
		/* The others have nothing to record. */
		attr.comm = 0;
	}
	pid = fork_child();
	if (!pid) {
		pin(self->cpu2);
		for (i = 0; i < RESUMES; i++) {
			/* Like a snapshot, and sooner done */
			if (event_ioctl(self->fd, PERF_EVENT_IOC_CLEAR, 0))
				_exit(1);
		}
		_exit(0);
	}
	do {
		ASSERT_EQ(0, event_ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1));
		ASSERT_EQ(0, event_ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 0));
		ASSERT_EQ(sizeof(before), read(fd, &before, sizeof(before)));
		say("resumed");
		ASSERT_EQ(sizeof(after), read(fd, &after, sizeof(after)));
		EXPECT_EQ(before.lost, after.lost);
	} while (!waitpid(pid, &status, WNOHANG) && before.lost == after.lost);
	if (before.lost == after.lost)
		EXPECT_EQ(0, status);
}

/*
 * Two processes that meet once in each round. @go is the round, @done the last one that
 * is over.
 */
struct pace {
	int	go, open, done;
	__u64	snap;
};

static struct pace *pace_new(void)
{
	struct pace *pace = mmap(NULL, page_size(), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return pace == MAP_FAILED ? NULL : pace;
}

static void wait_round(const int *at, int round)
{
	while (__atomic_load_n(at, __ATOMIC_ACQUIRE) < round)
		sched_yield();
}

static void set_round(int *at, int round)
{
	__atomic_store_n(at, round, __ATOMIC_RELEASE);
}

/* Delays each round by another time. */
static void stagger(int round)
{
	int i;

	for (i = 0; i < round * 7 % 100 * 500; i++)
		__asm__ __volatile__("" ::: "memory");
}

#define MEETINGS	200

/*
 * In each round, opens the snapshot and maps it while it goes. Returns false if that went
 * wrong.
 */
static bool map_in_rounds(struct pace *pace, int cpu)
{
	int round, fd;

	for (round = 1; round <= MEETINGS; round++) {
		void *map;

		wait_round(&pace->go, round);
		fd = member_reopen(pace->snap, 0, cpu, 0);
		set_round(&pace->open, round);
		if (fd < 0)
			return false;
		stagger(MEETINGS - round);
		map = ring_map(fd, PAGES, PROT_READ);
		if (map == MAP_FAILED && errno != ENODEV)
			return false;
		if (map != MAP_FAILED) {
			/* All of it is there as long as it is mapped. */
			if (heard(-1, map, "goes") != 1)
				return false;
			wait_round(&pace->done, round);
			if (heard(-1, map, "goes") != 1)
				return false;
			munmap(map, ring_len(PAGES));
		}
		wait_round(&pace->done, round);
		if (ring_map_err(fd, PAGES, PROT_READ) != -ENODEV)
			return false;
		close(fd);
	}
	return true;
}

/* A snapshot that is mapped while it is deleted or trimmed is mapped whole, or not at all. H21 */
TEST_F(snapshot, map_while_it_goes)
{
	struct perf_event_snapshot s = {};
	struct pace *pace = pace_new();
	int err, round;
	pid_t pid;

	ASSERT_NE(NULL, pace);
	ASSERT_EQ(0, ns_keep(self->fd, 1));
	/* After a snapshot, it would count as one of the few old buffers that may stay mapped. */
	member_close(&self->m);
	pid = fork_child();
	ASSERT_LE(0, pid);
	if (!pid) {
		if (self->cpu2 >= 0)
			pin(self->cpu2);
		_exit(map_in_rounds(pace, self->cpu) ? 0 : 1);
	}
	for (round = 1; round <= MEETINGS; round++) {
		say("goes");
		/* Wait until the other process has unmapped the buffer of the last round. */
		while ((err = take(self->fd, &s)) == -EBUSY)
			sched_yield();
		ASSERT_EQ(0, err);
		pace->snap = s.ns_id;
		set_round(&pace->go, round);
		wait_round(&pace->open, round);
		stagger(round);
		/* By hand, or because of a newer one */
		ASSERT_EQ(0, round % 2 ? ns_kill(s.ns_id) : take(self->fd, &s));
		set_round(&pace->done, round);
	}
	EXPECT_EQ(0, child_status(pid));
}

/* In each round, pauses or resumes the buffer of @m through @fd while it is replaced. */
static void pause_in_rounds(struct __test_metadata *_metadata, int ns_fd, const struct member *m,
			    int fd, int cpu2)
{
	struct pace *pace = pace_new();
	struct perf_event_persist_member p;
	int round, paused;
	char text[16];
	pid_t pid;
	void *map;

	ASSERT_NE(NULL, pace);
	pid = fork_child();
	ASSERT_LE(0, pid);
	if (!pid) {
		if (cpu2 >= 0)
			pin(cpu2);
		for (round = 1; round <= MEETINGS; round++) {
			wait_round(&pace->go, round);
			if (event_ioctl(ns_fd, PERF_EVENT_IOC_CLEAR, 0))
				_exit(1);
			set_round(&pace->done, round);
		}
		_exit(0);
	}
	for (round = 1; round <= MEETINGS; round++) {
		paused = round % 2;
		/* With a spare, the buffer is replaced at once. */
		ASSERT_EQ(0, wait_for_spares(ns_fd, 1));
		set_round(&pace->go, round);
		stagger(round / 2);
		ASSERT_EQ(0, event_ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, paused));
		wait_round(&pace->done, round);
		ASSERT_EQ(0, get_member(m->fd, &p));
		EXPECT_EQ(paused ? PERF_PERSIST_PAUSED : 0, p.flags & PERF_PERSIST_PAUSED);
		map = ring_map(m->fd, PAGES, PROT_READ);
		ASSERT_NE(MAP_FAILED, map);
		snprintf(text, sizeof(text), "round %d", round);
		say(text);
		ASSERT_EQ(!paused, heard(m->fd, map, text))
			TH_LOG("round %d, output is to be %s", round, paused ? "paused" : "on");
		munmap(map, ring_len(PAGES));
	}
	EXPECT_EQ(0, child_status(pid));
}

/* PAUSE_OUTPUT holds whichever buffer it meets, through the owner or a redirected event. H30 */
TEST_F(snapshot, pause_race)
{
	struct perf_event_attr attr = say_attr();
	struct member m;
	int guest, i;

	/* It has nothing to record, and neither have the others. */
	attr.comm = 0;
	guest = event_open(&attr, -1, self->cpu, -1, PERF_FLAG_FD_CLOEXEC);
	ASSERT_LE(0, guest);
	ASSERT_EQ(0, event_ioctl(guest, PERF_EVENT_IOC_SET_OUTPUT, self->m.fd));
	ASSERT_EQ(0, persist_join(guest, self->id));
	/* Many members: replacing all of their buffers takes a while. */
	for (i = 0; i < 100; i++) {
		ASSERT_EQ(0, member_open(&m, &attr, self->cpu, 1));
		ASSERT_EQ(0, persist_join(m.fd, self->id));
		member_close(&m);
	}
	ASSERT_EQ(0, ns_spares(self->fd, 1));
	pause_in_rounds(_metadata, self->fd, &self->m, self->m.fd, self->cpu2);
	pause_in_rounds(_metadata, self->fd, &self->m, guest, self->cpu2);
}

#define REDIRECTS	60

/* In each round, redirects the event @fd to the buffer of @from, and then to that of @to. */
static bool redirect_in_rounds(struct pace *pace, int fd, int from, int to)
{
	int round;

	for (round = 1; round <= REDIRECTS; round++) {
		if (event_ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, from))
			return false;
		set_round(&pace->open, round);
		wait_round(&pace->go, round);
		stagger(REDIRECTS - round);
		if (event_ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, to))
			return false;
		set_round(&pace->done, round);
	}
	return true;
}

/* Nobody writes to a snapshot, not even an event that was being redirected elsewhere. */
TEST_F(snapshot, redirect_race)
{
	struct perf_event_attr attr = fault_attr(1);
	struct perf_event_snapshot s = {};
	struct pace *pace = pace_new();
	struct perf_event_persist_member p;
	struct perf_event_mmap_page *page;
	struct member m, elsewhere;
	int other, fd, ns_fd, round;
	pid_t writer, redirector;
	char name[NS_ROOM + 8];
	__u64 id, written = 0;

	if (self->cpu2 < 0)
		SKIP(return, "one CPU");
	ASSERT_NE(NULL, pace);
	snprintf(name, sizeof(name), "%s-r", self->ns);
	ASSERT_EQ(0, ns_create(&m, &attr, self->cpu, PAGES, name, &id));
	ns_fd = ns_open(id, PERF_PERSIST_OPEN_WRITE);
	ASSERT_LE(0, ns_fd);
	ASSERT_EQ(0, member_open(&elsewhere, &attr, self->cpu, PAGES));
	other = event_open(&attr, -1, self->cpu, -1, PERF_FLAG_FD_CLOEXEC);
	ASSERT_LE(0, other);

	writer = fork_child();
	ASSERT_LE(0, writer);
	if (!writer) {
		for (pin(self->cpu); ; )
			touch_pages(8);
	}
	redirector = fork_child();
	ASSERT_LE(0, redirector);
	if (!redirector) {
		bool redirected;

		pin(self->cpu2);
		redirected = redirect_in_rounds(pace, other, m.fd, elsewhere.fd);
		/* The parent must not wait for rounds that do not come. */
		set_round(&pace->open, REDIRECTS);
		set_round(&pace->done, REDIRECTS);
		_exit(redirected ? 0 : 1);
	}
	for (round = 1; round <= REDIRECTS; round++) {
		wait_round(&pace->open, round);
		set_round(&pace->go, round);
		stagger(round);
		ASSERT_EQ(0, take(ns_fd, &s));
		fd = member_reopen(s.ns_id, 0, self->cpu, 0);
		ASSERT_LE(0, fd);
		page = ring_map(fd, PAGES, PROT_READ);
		ASSERT_NE(MAP_FAILED, page);
		ASSERT_EQ(0, get_member(fd, &p));
		written -= p.head;
		wait_round(&pace->done, round);
		ASSERT_EQ(p.head, page->data_head)
			TH_LOG("round %d", round);
		munmap(page, ring_len(PAGES));
		close(fd);
		ASSERT_EQ(0, ns_kill(s.ns_id));
	}
	EXPECT_EQ(0, child_status(redirector));
	EXPECT_NE(0, written);
	kill(writer, SIGKILL);
	waitpid(writer, NULL, 0);
}

/*
 * A buffer that tells of tasks is not replaced, and each snapshot has a copy of it. So it
 * names the samples of later snapshots, too.
 */
TEST_F(snapshot, tasks_stay)
{
	struct perf_event_attr attr = say_attr();
	struct perf_event_snapshot s = {};
	struct perf_event_persist_member p;
	struct member m;
	__u64 tasks;
	int fd, i;

	attr.task = 1;
	attr.sample_period = 1; /* as perf has it; a dummy never overflows */
	ASSERT_EQ(0, member_open(&m, &attr, self->cpu, PAGES));
	tasks = event_id(m.fd);
	ASSERT_EQ(0, persist_join(m.fd, self->id));
	say("old");
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, take(self->fd, &s));
		EXPECT_EQ(1, heard_in(s.ns_id, tasks, self->cpu, "old"));
		EXPECT_EQ(!i, heard_in(s.ns_id, event_id(self->m.fd), self->cpu, "old"));
	}
	ASSERT_EQ(0, event_ioctl(self->fd, PERF_EVENT_IOC_CLEAR, 0));
	EXPECT_EQ(1, heard_in(self->id, tasks, self->cpu, "old"));
	EXPECT_EQ(0, heard_in(self->id, event_id(self->m.fd), self->cpu, "old"));
	ASSERT_EQ(0, get_member(m.fd, &p));
	EXPECT_EQ(0, p.buffer_seq);

	/* The copy belongs to the snapshot: it counts once, and goes with it. */
	for (i = 0; i < 3 * PERF_PERSIST_KEEP_DEFAULT; i++) {
		ASSERT_EQ(0, take(self->fd, &s));
		ASSERT_EQ(0, event_ioctl(self->fd, PERF_EVENT_IOC_CLEAR, 0));
	}

	/* A copy of a buffer that has wrapped is whole. */
	for (i = 0; i < 1000; i++)
		say("fill");
	ASSERT_EQ(0, take(self->fd, &s));
	EXPECT_LE(100, heard_in(s.ns_id, tasks, self->cpu, "fill"));
	fd = member_reopen(s.ns_id, tasks, self->cpu, 0);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, get_member(fd, &p));
	EXPECT_EQ(tasks, p.output_id);
	EXPECT_EQ(PAGES * page_size(), p.buffer_size);
}

/* Many processes take, open, map, trim and delete snapshots at once. */
TEST_F(snapshot, race)
{
	pid_t pids[6];
	int i, n, mapped;

	member_close(&self->m);
	for (i = 0; i < 6; i++) {
		pids[i] = fork_child();
		if (pids[i])
			continue;
		srand(i);
		mapped = 0;
		for (n = 0; n < 150; n++) {
			struct perf_event_snapshot s = {};
			struct perf_event_persist info;
			char name[NS_ROOM + 16];
			__u64 snap;
			void *map;
			int fd, err;

			say("busy");
			switch (i) {
			case 0:
			case 1:
				/* EBUSY: those who map do not always unmap. */
				if (ns_keep(self->fd, 1 + rand() % 4))
					_exit(5);
				err = take(self->fd, &s);
				if (err && err != -EBUSY)
					_exit(1);
				if (!err && rand() % 4 == 0)
					ns_kill(s.ns_id);
				break;
			case 2:
				err = ns_spares(self->fd, rand() % 3);
				if (!err)
					err = event_ioctl(self->fd, PERF_EVENT_IOC_CLEAR, 0);
				if (err && err != -EBUSY)
					_exit(2);
				break;
			default:
				if (get_persist(self->fd, &info))
					_exit(3);
				snprintf(name, sizeof(name), "%s.%u", self->ns,
					 info.number - rand() % 3);
				snap = rand() % 2 ? ns_lookup(name) : self->id;
				fd = snap ? member_reopen(snap, 0, self->cpu, 0) : -1;
				if (fd < 0)
					break;
				map = ring_map(fd, PAGES, PROT_READ);
				if (map != MAP_FAILED) {
					mapped++;
					heard(fd, map, "busy");
					if (rand() % 2)
						munmap(map, ring_len(PAGES));
				}
				close(fd);
				break;
			}
		}
		_exit(i > 2 && !mapped ? 4 : 0);
	}
	for (i = 0; i < 6; i++)
		EXPECT_EQ(0, child_status(pids[i]));
	EXPECT_EQ(0, ns_delete(self->fd));
}

TEST_HARNESS_MAIN
