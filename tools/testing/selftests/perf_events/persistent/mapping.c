// SPDX-License-Identifier: GPL-2.0
/*
 * Buffers: who may map them and how, and what they hold.
 */
#include "persistent.h"

#define MLOCK_KB	"/proc/sys/kernel/perf_event_mlock_kb"

/* A namespace with one member and its buffer, which the creator has closed */
FIXTURE(mapping)
{
	char	ns[NS_ROOM];
	int	cpu, cpu2;
	__u64	id, event;
	int	reader, writer;
};

FIXTURE_SETUP(mapping)
{
	struct perf_event_attr attr = say_attr();
	const char *missing;

	missing = persist_begin(self->ns, &self->cpu, &self->cpu2);
	if (missing)
		SKIP(return, "%s", missing);
	ASSERT_EQ(0, ns_create_leave(&attr, self->cpu, PAGES, self->ns, &self->id));
	self->reader = member_reopen(self->id, 0, self->cpu, 0);
	self->writer = member_reopen(self->id, 0, self->cpu, PERF_PERSIST_OPEN_WRITE);
	ASSERT_LE(0, self->reader);
	ASSERT_LE(0, self->writer);
	self->event = event_id(self->reader);
}

FIXTURE_TEARDOWN_PARENT(mapping)
{
	persist_sweep();
}

/* A read-only descriptor can be mapped, shared, for reading. H8 */
TEST_F(mapping, reader_reads)
{
	void *map;

	say("before");
	map = ring_map(self->reader, PAGES, PROT_READ);
	ASSERT_NE(MAP_FAILED, map);
	say("after");
	EXPECT_EQ(1, heard(self->reader, map, "before"));
	EXPECT_EQ(1, heard(self->reader, map, "after"));

	/* A private mapping would be a copy that nobody writes to. */
	map = mmap(NULL, ring_len(PAGES), PROT_READ, MAP_PRIVATE, self->reader, 0);
	EXPECT_EQ(MAP_FAILED, map);
	EXPECT_EQ(EINVAL, errno);
}

/* A read-only mapping cannot be made writable in any way. H8 */
TEST_F(mapping, reader_cannot_write)
{
	void *map;

	EXPECT_EQ(-EACCES, ring_map_err(self->reader, PAGES, PROT_READ | PROT_WRITE));
	EXPECT_EQ(-EACCES, ring_map_err(self->reader, PAGES, PROT_WRITE));
	EXPECT_EQ(-EACCES, ring_map_err(self->reader, 0, PROT_READ | PROT_WRITE));

	map = ring_map(self->reader, PAGES, PROT_READ);
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(-1, mprotect(map, ring_len(PAGES), PROT_READ | PROT_WRITE));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(-1, mprotect(map, page_size(), PROT_READ | PROT_WRITE));
	munmap(map, ring_len(PAGES));

	map = ring_map(self->reader, 0, PROT_READ);
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(-1, mprotect(map, page_size(), PROT_READ | PROT_WRITE));
	EXPECT_EQ(EACCES, errno);
}

/* A buffer is read-only for writers too. H8, H9 */
TEST_F(mapping, writable)
{
	const int rw = PROT_READ | PROT_WRITE;
	void *map;

	EXPECT_EQ(-EACCES, ring_map_err(self->writer, PAGES, rw));
	EXPECT_EQ(-EACCES, ring_map_err(self->writer, 0, rw));
	map = ring_map(self->writer, PAGES, PROT_READ);
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(-1, mprotect(map, ring_len(PAGES), rw));
	EXPECT_EQ(EACCES, errno);
	map = ring_map(self->writer, PAGES, PROT_NONE);
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(-1, mprotect(map, ring_len(PAGES), rw));
	EXPECT_EQ(EACCES, errno);
}

/* A buffer overwrites its oldest records, however it is mapped. H9 */
TEST_F(mapping, reader_does_not_change_the_mode)
{
	struct perf_event_mmap_page *page;
	struct perf_event_persist_member p;
	char text[24];
	int i;

	page = ring_map(self->reader, PAGES, PROT_READ);
	ASSERT_NE(MAP_FAILED, page);
	say("the very first");
	for (i = 0; i < PAGES * page_size() / 16; i++) {
		snprintf(text, sizeof(text), "fill it %07d", i);
		say(text);
	}
	say("the very last");
	EXPECT_EQ(0, heard(self->reader, page, "the very first"));
	EXPECT_EQ(1, heard(self->reader, page, "the very last"));

	ASSERT_EQ(0, get_member(self->reader, &p));
	EXPECT_EQ(0, p.flags);
	EXPECT_EQ(0, p.lost);
	munmap(page, ring_len(PAGES));

	/* The next mapping changes nothing either. */
	page = ring_map(self->reader, PAGES, PROT_READ);
	ASSERT_NE(MAP_FAILED, page);
	say("the very last");
	EXPECT_EQ(2, heard(self->reader, page, "the very last"));
}

/* A reader learns the size from the first page alone, or asks. */
TEST_F(mapping, first_page)
{
	struct perf_event_mmap_page *page;
	struct perf_event_persist_member p;
	int fds[] = { self->reader, self->writer };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(fds); i++) {
		page = ring_map(fds[i], 0, PROT_READ);
		ASSERT_NE(MAP_FAILED, page);
		EXPECT_EQ(PAGES * page_size(), page->data_size);
		EXPECT_EQ(page_size(), page->data_offset);
		munmap(page, page_size());
	}
	ASSERT_EQ(0, get_member(self->reader, &p));
	EXPECT_EQ(PAGES * page_size(), p.buffer_size);

	/* The whole buffer can be mapped as well, before and after. */
	page = ring_map(self->reader, 0, PROT_READ);
	ASSERT_NE(MAP_FAILED, page);
	EXPECT_EQ(0, ring_map_err(self->reader, PAGES, PROT_READ));
	munmap(page, page_size());
	EXPECT_EQ(0, ring_map_err(self->reader, PAGES, PROT_READ));
	say("still there");
	page = ring_map(self->reader, PAGES, PROT_READ);
	ASSERT_NE(MAP_FAILED, page);
	EXPECT_EQ(1, heard(self->reader, page, "still there"));
}

/* Every other size is refused, and so is an AUX area. H11, H17 */
TEST_F(mapping, bad_size)
{
	int pages, aux;
	void *map;

	for (pages = 1; pages <= 4 * PAGES; pages++) {
		if (pages == PAGES)
			continue;
		EXPECT_EQ(-EINVAL, ring_map_err(self->reader, pages, PROT_READ))
			TH_LOG("%d pages", pages);
		EXPECT_EQ(-EINVAL, ring_map_err(self->writer, pages, PROT_READ))
			TH_LOG("%d pages", pages);
	}

	map = mmap(NULL, page_size(), PROT_READ, MAP_SHARED, self->reader, ring_len(PAGES));
	EXPECT_EQ(MAP_FAILED, map);
	EXPECT_TRUE(errno == EINVAL || errno == EOPNOTSUPP);

	/* Nor can another event that writes to this buffer give it one. */
	aux = aux_event_open(self->cpu);
	if (aux < 0)
		return;
	ASSERT_EQ(0, event_ioctl(aux, PERF_EVENT_IOC_SET_OUTPUT, self->writer));
	map = mmap(NULL, page_size(), PROT_READ | PROT_WRITE, MAP_SHARED, aux, ring_len(PAGES));
	EXPECT_EQ(MAP_FAILED, map);
	EXPECT_EQ(EINVAL, errno);
}

/* A mapping is all or nothing: it cannot be split, moved in part, grown or mapped over. H4 */
TEST_F(mapping, no_holes)
{
	size_t len = ring_len(PAGES), page = page_size();
	char *map;

	map = ring_map(self->reader, PAGES, PROT_READ);
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(-1, munmap(map, page));
	EXPECT_EQ(-1, munmap(map + page, page));
	EXPECT_EQ(-1, munmap(map + len - page, page));
	EXPECT_EQ(MAP_FAILED, mremap(map, len, page, MREMAP_MAYMOVE));
	EXPECT_EQ(MAP_FAILED, mremap(map, len, 2 * len, MREMAP_MAYMOVE));
	EXPECT_EQ(MAP_FAILED, mmap(map + page, page, PROT_READ,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
	say("whole");
	EXPECT_EQ(1, heard(self->reader, map, "whole"));
	EXPECT_EQ(0, munmap(map, len));
	EXPECT_EQ(0, ring_map_err(self->reader, PAGES, PROT_READ));
}

/* To a 64-bit kernel, -1 from a 32-bit process is just a bad descriptor. */
static bool output_refused(int fd)
{
	int err = event_ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, -1);

	return err == -EBUSY || (sizeof(long) == 4 && err == -EBADF);
}

/* SET_OUTPUT cannot take a published member's buffer away, nor give it another. */
TEST_F(mapping, no_set_output)
{
	struct perf_event_attr attr = say_attr();
	struct member m;

	ASSERT_EQ(0, member_open(&m, &attr, self->cpu, PAGES));
	EXPECT_TRUE(output_refused(self->writer));
	EXPECT_EQ(-EBUSY, event_ioctl(self->writer, PERF_EVENT_IOC_SET_OUTPUT, m.fd));
	say("in place");
	member_close(&m);
	m.map = ring_map(self->reader, PAGES, PROT_READ);
	ASSERT_NE(MAP_FAILED, m.map);
	EXPECT_EQ(1, heard(self->reader, m.map, "in place"));
}

/* The head that GET_MEMBER reports is data_head when nobody is writing. */
TEST_F(mapping, head)
{
	struct perf_event_mmap_page *page;
	struct perf_event_persist_member p;
	long before;
	int tries;

	page = ring_map(self->reader, PAGES, PROT_READ);
	ASSERT_NE(MAP_FAILED, page);
	before = page->data_head;
	say("head");

	/* Names of other programs may come in between, but not forever. */
	for (tries = 0; tries < 1000; tries++) {
		__u64 head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);

		ASSERT_EQ(0, get_member(self->reader, &p));
		if (p.head == head)
			break;
	}
	EXPECT_LT(tries, 1000);
	EXPECT_GT(before, (long)p.head);
}

/* GET_MEMBER reads the head on the member's CPU, for a reader on another CPU as well. */
TEST_F(mapping, head_from_other_cpu)
{
	struct perf_event_mmap_page *page;
	struct perf_event_persist_member p;

	if (self->cpu2 < 0)
		SKIP(return, "needs two CPUs");
	page = ring_map(self->reader, PAGES, PROT_READ);
	ASSERT_NE(MAP_FAILED, page);
	say("head");
	pin(self->cpu2);
	ASSERT_EQ(0, get_member(self->reader, &p));
	EXPECT_NE(0, p.head);
	EXPECT_EQ(1, heard(self->reader, page, "head"));
}

/* An event that requires CAP_SYS_ADMIN. It never records: nobody executes its file. */
static int uprobe_open(int cpu)
{
	struct perf_event_attr attr = fault_attr(1);
	char text[16], path[32];
	int file, fd;

	if (read_file(PMU_DIR "/uprobe/type", text, sizeof(text)) <= 0)
		return -ENOENT;
	file = neg_errno(syscall(SYS_memfd_create, "probed", 0));
	if (file < 0)
		return file;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	attr.type = atoi(text);
	attr.exclude_kernel = 0;
	attr.uprobe_path = (unsigned long)path;
	attr.probe_offset = 0;
	fd = event_open(&attr, -1, cpu, -1, 0);
	close(file);
	return fd;
}

/* How many ring buffers of this process does /proc show? */
static int nr_in_proc(void)
{
	DIR *dir = opendir("/proc/self/perf/ring-buffers");
	struct dirent *entry;
	int nr = 0;

	while (dir && (entry = readdir(dir)))
		nr += !!strstr(entry->d_name, ".txt");
	if (dir)
		closedir(dir);
	return nr;
}

/*
 * Opens a member with CAP_PERFMON only, and maps it before and after @guest writes there. Who
 * may not map it may not read it in /proc either, which shows no buffers of namespaces.
 */
static int map_with_guest(__u64 ns, int cpu, __u64 how, int writer, int guest)
{
	struct perf_event_attr attr = say_attr();
	int fd, own, err;
	void *map;

	if (become(NOBODY, cap_bit(CAP_PERFMON)))
		return 1;
	fd = member_reopen(ns, 0, cpu, how);
	map = ring_map(fd, PAGES, PROT_READ);
	if (fd < 0 || map == MAP_FAILED)
		return 2;
	prctl(PR_SET_DUMPABLE, 1);
	/* An event of his own that writes to the same buffer changes nothing. */
	own = event_open(&attr, -1, cpu, -1, 0);
	if (own < 0 || event_ioctl(own, PERF_EVENT_IOC_SET_OUTPUT, writer))
		return 10;
	/* Newer kernels do not map the buffer of another event. */
	err = ring_map_err(own, PAGES, PROT_READ);
	if (err && err != -EBUSY)
		return 8;
	if (event_ioctl(guest, PERF_EVENT_IOC_SET_OUTPUT, writer))
		return 3;
	/* munmap() has ended it. */
	if (event_ioctl(own, PERF_EVENT_IOC_SET_OUTPUT, writer))
		return 12;
	if (nr_in_proc())
		return 9;
	if (ring_map_err(fd, PAGES, PROT_READ) != -EACCES)
		return 4;
	if (ring_map_err(fd, 0, PROT_READ) != -EACCES)
		return 5;
	if (ring_map_err(own, PAGES, PROT_READ) != -EACCES)
		return 11;
	close(own);

	/* The rights of the caller do not matter, and what is mapped stays so. */
	if (ring_map_err(writer, PAGES, PROT_READ))
		return 6;
	say("still");
	return heard(fd, map, "still") == 1 ? 0 : 7;
}

/*
 * mmap() requires the right to events that began to write to the buffer since it was opened,
 * whether it was opened for reading or for writing. H27
 */
TEST_F(mapping, rights_of_the_opener)
{
	const __u64 hows[] = { 0, PERF_PERSIST_OPEN_WRITE };
	unsigned int i;
	int fd, guest;
	pid_t pid;

	if (geteuid())
		SKIP(return, "needs root, to become others");
	fd = ns_open(self->id, PERF_PERSIST_OPEN_WRITE);
	ASSERT_LE(0, fd);
	for (i = 0; i < ARRAY_SIZE(hows); i++) {
		guest = uprobe_open(self->cpu);
		if (guest < 0)
			SKIP(return, "no uprobes: %s", strerror(-guest));
		pid = fork_child();
		ASSERT_LE(0, pid);
		if (!pid)
			_exit(map_with_guest(self->id, self->cpu, hows[i], self->writer, guest));
		EXPECT_EQ(0, child_status(pid))
			TH_LOG("opened for %s", i ? "writing" : "reading");

		/* Without the event and its records, the next one can open the buffer. */
		close(guest);
		ASSERT_EQ(0, event_ioctl(fd, PERF_EVENT_IOC_CLEAR, 0));
	}
}

/* Buffers that are made in other ways, or shared. */
FIXTURE(buffers)
{
	char	ns[NS_ROOM];
	int	cpu, cpu2;
	char	mlock_kb[16];
};

FIXTURE_SETUP(buffers)
{
	const char *missing;

	missing = persist_begin(self->ns, &self->cpu, &self->cpu2);
	if (missing)
		SKIP(return, "%s", missing);
}

FIXTURE_TEARDOWN_PARENT(buffers)
{
	if (self->mlock_kb[0])
		write_file(MLOCK_KB, self->mlock_kb);
	persist_sweep();
}

/* Opens @attr and maps one page of data, read-only or writable. */
static int page_open(struct perf_event_attr *attr, int cpu, bool writable)
{
	int fd = event_open(attr, -1, cpu, -1, 0);

	if (fd < 0)
		return fd;
	if (ring_map(fd, 1, writable ? PROT_READ | PROT_WRITE : PROT_READ) == MAP_FAILED)
		return -errno;
	return fd;
}

/* Only a buffer that is written backward and was first mapped read-only can be published. H9 */
TEST_F(buffers, mode_has_to_fit)
{
	struct perf_event_persist_member p;
	struct perf_event_attr attr;
	int fd, backward, writable;
	__u64 id;

	for (backward = 0; backward < 2; backward++) {
		for (writable = 0; writable < 2; writable++) {
			bool fits = backward && !writable;

			attr = backward ? say_attr() : say_forward_attr();

			/* Name first; then name last. */
			fd = page_open(&attr, self->cpu, writable);
			ASSERT_LE(0, fd);
			ASSERT_EQ(0, set_name(fd, "%s-%d%d", self->ns, backward, writable));
			EXPECT_EQ(fits ? 0 : -EINVAL, persist_new(fd, &id))
				TH_LOG("backward %d writable %d", backward, writable);
			EXPECT_EQ(fits ? 0 : -ENOENT, get_member(fd, &p));

			fd = page_open(&attr, self->cpu, writable);
			ASSERT_LE(0, fd);
			ASSERT_EQ(0, persist_new(fd, &id));
			EXPECT_EQ(fits ? 0 : -EINVAL,
				  set_name(fd, "%s-%d%d-2", self->ns, backward, writable))
				TH_LOG("backward %d writable %d, name last", backward, writable);
		}
	}
}

/* The same for joining a published namespace. */
TEST_F(buffers, mode_has_to_fit_when_joining)
{
	struct perf_event_attr counter = fault_attr(0), attr;
	struct perf_event_persist_member p;
	int fd, backward, writable;
	__u64 id;

	ASSERT_EQ(0, ns_create_leave(&counter, self->cpu, 0, self->ns, &id));
	for (backward = 0; backward < 2; backward++) {
		for (writable = 0; writable < 2; writable++) {
			bool fits = backward && !writable;

			attr = backward ? say_attr() : say_forward_attr();
			fd = page_open(&attr, self->cpu, writable);
			ASSERT_LE(0, fd);
			EXPECT_EQ(fits ? 0 : -EINVAL, persist_join(fd, id))
				TH_LOG("backward %d writable %d", backward, writable);
			EXPECT_EQ(fits ? 0 : -ENOENT, get_member(fd, &p));
		}
	}
	EXPECT_EQ(2, ns_count(id));
}

/* A buffer that is written forward stops when it is full, so it cannot be published. */
TEST_F(buffers, no_forward)
{
	struct perf_event_attr forward = say_forward_attr(), attr = say_attr();
	struct perf_event_persist p;
	struct member m;
	__u64 id, other;
	int fd;

	ASSERT_EQ(0, ns_create(&m, &attr, self->cpu, 1, self->ns, &id));
	fd = page_open(&forward, self->cpu, true);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-EINVAL, persist_join(fd, id));
	EXPECT_EQ(-ENOENT, get_persist(fd, &p));
	EXPECT_EQ(1, ns_count(id));

	ASSERT_EQ(0, set_name(fd, "%s-2", self->ns));
	EXPECT_EQ(-EINVAL, persist_new(fd, &other));
	EXPECT_EQ(-ENOENT, get_persist(fd, &p));

	fd = page_open(&forward, self->cpu, true);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, persist_new(fd, &other));
	EXPECT_EQ(-EINVAL, set_name(fd, "%s-2", self->ns));
	ASSERT_EQ(0, get_persist(fd, &p));
	EXPECT_STREQ("", p.name);
	say("published");
	EXPECT_EQ(1, heard(m.fd, m.map, "published"));
}

/* After publishing, the creator can map a recorder only as others can. H8 */
TEST_F(buffers, creator_cannot_write_to_a_recorder)
{
	struct perf_event_attr attr = say_attr();
	struct member m;
	void *map;
	__u64 id;

	ASSERT_EQ(0, ns_create(&m, &attr, self->cpu, 1, self->ns, &id));
	EXPECT_EQ(-EACCES, ring_map_err(m.fd, 1, PROT_READ | PROT_WRITE));
	map = ring_map(m.fd, 1, PROT_READ);
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(-1, mprotect(map, ring_len(1), PROT_READ | PROT_WRITE));
	EXPECT_EQ(EACCES, errno);
}

static int protect(void *map, int prot)
{
	return neg_errno(mprotect(map, ring_len(PAGES), prot));
}

/* A mapping from before publishing cannot become writable either. H32 */
TEST_F(buffers, mapped_before)
{
	struct perf_event_attr attr = say_attr(), faults = fault_attr(1);
	const int rw = PROT_READ | PROT_WRITE;
	struct member m, joined;
	int fd, go[2], ready[2];
	void *none, *guest;
	pid_t pid;
	__u64 id;
	char c;

	ASSERT_EQ(0, member_open(&m, &attr, self->cpu, PAGES));
	none = ring_map(m.fd, PAGES, PROT_NONE);
	ASSERT_NE(MAP_FAILED, none);
	/* Through an event that does not become a member */
	fd = event_open(&faults, -1, self->cpu, -1, 0);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, event_ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, m.fd));
	guest = ring_map(fd, PAGES, PROT_READ);
	if (no_redirected_map(guest))
		SKIP(return, "this kernel maps no redirected event");
	ASSERT_NE(MAP_FAILED, guest);
	/* In another process */
	ASSERT_EQ(0, pipe(go));
	ASSERT_EQ(0, pipe(ready));
	pid = fork_child();
	ASSERT_LE(0, pid);
	if (!pid) {
		void *map = ring_map(m.fd, PAGES, PROT_READ);

		if (map == MAP_FAILED || write(ready[1], "r", 1) != 1 || read(go[0], &c, 1) != 1)
			_exit(1);
		_exit(-protect(map, rw));
	}
	ASSERT_EQ(1, read(ready[0], &c, 1));

	ASSERT_EQ(0, set_name_str(m.fd, self->ns));
	ASSERT_EQ(0, persist_new(m.fd, &id));
	EXPECT_EQ(-EACCES, protect(m.map, rw));
	EXPECT_EQ(-EACCES, protect(m.map, PROT_WRITE));
	EXPECT_EQ(-EACCES, protect(none, rw));
	EXPECT_EQ(-EACCES, protect(guest, rw));
	ASSERT_EQ(1, write(go[1], "g", 1));
	EXPECT_EQ(EACCES, child_status(pid));
	EXPECT_EQ(0, protect(m.map, PROT_NONE));
	EXPECT_EQ(0, protect(m.map, PROT_READ));

	ASSERT_EQ(0, member_open(&joined, &attr, self->cpu, PAGES));
	ASSERT_EQ(0, persist_join(joined.fd, id));
	EXPECT_EQ(-EACCES, protect(joined.map, rw));
	say("unharmed");
	EXPECT_EQ(1, heard(m.fd, m.map, "unharmed"));
	EXPECT_EQ(1, heard(joined.fd, joined.map, "unharmed"));

	/* Others may go on reading when the namespace is gone. */
	ASSERT_EQ(0, ns_delete(ns_open(id, PERF_PERSIST_OPEN_WRITE)));
	EXPECT_EQ(-EACCES, protect(m.map, rw));
	EXPECT_EQ(-EACCES, protect(none, rw));
}

/* Nor can the buffer that a snapshot brought, when its event is claimed. H32 */
TEST_F(buffers, claimed_after_snapshot)
{
	struct perf_event_attr attr = say_attr();
	struct member m, joined;
	int ns_fd, reader;
	__u64 id, snap;
	void *map;

	ASSERT_EQ(0, ns_create(&m, &attr, self->cpu, PAGES, self->ns, &id));
	ASSERT_EQ(0, member_open(&joined, &attr, self->cpu, PAGES));
	ASSERT_EQ(0, persist_join(joined.fd, id));
	ns_fd = ns_open(id, PERF_PERSIST_OPEN_WRITE);
	ASSERT_LE(0, ns_fd);
	ASSERT_EQ(0, ns_snapshot(ns_fd, &snap));
	reader = member_reopen(id, event_id(m.fd), self->cpu, 0);
	ASSERT_LE(0, reader);
	map = ring_map(reader, PAGES, PROT_READ);
	ASSERT_NE(MAP_FAILED, map);
	ASSERT_EQ(0, persist_claim(m.fd));
	EXPECT_EQ(-EACCES, ring_map_err(m.fd, PAGES, PROT_READ | PROT_WRITE));
	EXPECT_EQ(0, ring_map_err(m.fd, PAGES, PROT_READ));
	say("unharmed");
	EXPECT_EQ(1, heard(reader, map, "unharmed"));
}

/* Opens a recorder that is mapped for writing (@how 0 and 1), or was (2). H32 */
static int writable_open(struct member *m, int cpu, int how)
{
	const int rw = PROT_READ | PROT_WRITE;
	struct perf_event_attr attr = say_attr();
	void *map;
	int err;

	err = member_open(m, &attr, cpu, PAGES);
	if (err)
		return err;
	switch (how) {
	case 0:
		map = ring_map(m->fd, PAGES, rw);
		return map == MAP_FAILED ? -errno : 0;
	case 1:
		return protect(m->map, rw);
	default:
		err = protect(m->map, rw);
		return err ? err : protect(m->map, PROT_READ);
	}
}

/* Such a recorder cannot be published, in any order of calls. */
TEST_F(buffers, writable_before)
{
	struct perf_event_attr attr = say_attr();
	struct perf_event_persist_member p;
	struct member good, m;
	__u64 id, other;
	int how;

	ASSERT_EQ(0, ns_create(&good, &attr, self->cpu, PAGES, self->ns, &id));
	for (how = 0; how < 3; how++) {
		/* Name first, name last, and joining */
		ASSERT_EQ(0, writable_open(&m, self->cpu, how));
		ASSERT_EQ(0, set_name(m.fd, "%s-%d", self->ns, how));
		EXPECT_EQ(-EACCES, persist_new(m.fd, &other))
			TH_LOG("way %d, name first", how);
		EXPECT_EQ(-ENOENT, get_member(m.fd, &p));

		ASSERT_EQ(0, writable_open(&m, self->cpu, how));
		ASSERT_EQ(0, persist_new(m.fd, &other));
		EXPECT_EQ(-EACCES, set_name(m.fd, "%s-%d-last", self->ns, how))
			TH_LOG("way %d, name last", how);
		EXPECT_EQ(-ENOENT, ns_open(other, 0));

		ASSERT_EQ(0, writable_open(&m, self->cpu, how));
		EXPECT_EQ(-EACCES, persist_join(m.fd, id))
			TH_LOG("way %d, joining", how);
		EXPECT_EQ(-ENOENT, get_member(m.fd, &p));
	}
	EXPECT_EQ(1, ns_count(id));
}

/* A failed mmap() for writing leaves the buffer publishable. H32 */
TEST_F(buffers, writable_failed)
{
	struct perf_event_attr attr = say_attr();
	struct member m;
	__u64 id;

	ASSERT_EQ(0, member_open(&m, &attr, self->cpu, PAGES));
	EXPECT_EQ(-EINVAL, ring_map_err(m.fd, PAGES / 2, PROT_READ | PROT_WRITE));
	EXPECT_EQ(-EINVAL, ring_map_err(m.fd, 0, PROT_READ | PROT_WRITE));
	ASSERT_EQ(0, set_name(m.fd, "%s", self->ns));
	EXPECT_EQ(0, persist_new(m.fd, &id));
}

/* An ordinary buffer can still have a second, writable mapping. H32 */
TEST_F(buffers, ordinary_writable)
{
	struct perf_event_attr attr = say_attr();
	struct perf_event_mmap_page *page;
	struct member m;

	ASSERT_EQ(0, member_open(&m, &attr, self->cpu, PAGES));
	page = ring_map(m.fd, PAGES, PROT_READ | PROT_WRITE);
	ASSERT_NE(MAP_FAILED, (void *)page);
	page->data_tail = 16;
	EXPECT_EQ(16, ((struct perf_event_mmap_page *)m.map)->data_tail);
	EXPECT_EQ(0, protect(m.map, PROT_READ | PROT_WRITE));
	EXPECT_EQ(0, protect(m.map, PROT_READ));
	say("ordinary");
	EXPECT_EQ(1, heard(-1, page, "ordinary"));
}

/* Buffers of different sizes, side by side in one namespace */
TEST_F(buffers, sizes)
{
	struct perf_event_attr attr = say_attr();
	struct perf_event_mmap_page *page;
	struct perf_event_persist_member p;
	const int pages[] = { 1, 2, 16, 64 };
	struct member m[ARRAY_SIZE(pages)];
	__u64 id, event[ARRAY_SIZE(pages)];
	unsigned int i;
	int fd;

	for (i = 0; i < ARRAY_SIZE(pages); i++) {
		ASSERT_EQ(0, member_open(&m[i], &attr, self->cpu, pages[i]));
		event[i] = event_id(m[i].fd);
		ASSERT_EQ(0, i ? persist_join(m[i].fd, id) : persist_new(m[i].fd, &id));
	}
	ASSERT_EQ(0, set_name(m[0].fd, "%s", self->ns));
	for (i = 0; i < ARRAY_SIZE(pages); i++)
		member_close(&m[i]);
	say("everywhere");

	for (i = 0; i < ARRAY_SIZE(pages); i++) {
		fd = member_reopen(id, event[i], -1, 0);
		ASSERT_LE(0, fd);
		ASSERT_EQ(0, get_member(fd, &p));
		EXPECT_EQ(pages[i] * page_size(), p.buffer_size);
		EXPECT_EQ(event[i], p.output_id);
		page = ring_map(fd, pages[i], PROT_READ);
		ASSERT_NE(MAP_FAILED, page);
		EXPECT_EQ(p.buffer_size, page->data_size);
		EXPECT_EQ(1, heard(fd, page, "everywhere"));
	}
}

/* Several events in one buffer: it is read through the event that was mapped. */
TEST_F(buffers, redirected)
{
	struct perf_event_attr attr = say_attr(), faults = fault_attr(1);
	struct perf_event_persist_member p;
	__u64 id, owner, other;
	struct member m;
	int fd, reader;
	void *map;

	ASSERT_EQ(0, member_open(&m, &attr, self->cpu, PAGES));
	fd = event_open(&faults, -1, self->cpu, -1, 0);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, event_ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, m.fd));
	ASSERT_EQ(0, persist_new(m.fd, &id));
	ASSERT_EQ(0, persist_join(fd, id));
	ASSERT_EQ(0, set_name(m.fd, "%s", self->ns));
	owner = event_id(m.fd);
	other = event_id(fd);
	EXPECT_TRUE(output_refused(fd));
	member_close(&m);
	close(fd);

	reader = member_reopen(id, other, -1, PERF_PERSIST_OPEN_WRITE);
	ASSERT_LE(0, reader);
	ASSERT_EQ(0, get_member(reader, &p));
	EXPECT_EQ(owner, p.output_id);
	EXPECT_EQ(PAGES * page_size(), p.buffer_size);
	EXPECT_EQ(-EBUSY, ring_map_err(reader, PAGES, PROT_READ));
	EXPECT_EQ(-EBUSY, ring_map_err(reader, 0, PROT_READ));
	EXPECT_TRUE(output_refused(reader));

	fd = member_reopen(id, owner, -1, 0);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, get_member(fd, &p));
	EXPECT_EQ(owner, p.output_id);
	map = ring_map(fd, PAGES, PROT_READ);
	ASSERT_NE(MAP_FAILED, map);
	touch_pages(16);
	say("same buffer");
	EXPECT_EQ(1, heard(fd, map, "same buffer"));
	EXPECT_LE(16, sampled(reader, map));
}

/* A buffer that was mapped through several members belongs to one of them. */
TEST_F(buffers, mapped_twice)
{
	struct perf_event_attr attr = say_attr(), faults = fault_attr(1);
	struct perf_event_persist_member p;
	struct member m, m2;
	__u64 id, event[2];
	int fd[2], i, owner = -1;
	void *map;

	ASSERT_EQ(0, member_open(&m, &attr, self->cpu, PAGES));
	ASSERT_EQ(0, member_open(&m2, &faults, self->cpu, 0));
	ASSERT_EQ(0, event_ioctl(m2.fd, PERF_EVENT_IOC_SET_OUTPUT, m.fd));
	m2.pages = PAGES;
	m2.map = ring_map(m2.fd, PAGES, PROT_READ);
	if (no_redirected_map(m2.map))
		SKIP(return, "this kernel maps no redirected event");
	ASSERT_NE(MAP_FAILED, m2.map);
	ASSERT_EQ(0, persist_new(m2.fd, &id));
	ASSERT_EQ(0, persist_join(m.fd, id));
	ASSERT_EQ(0, set_name(m.fd, "%s", self->ns));
	event[0] = event_id(m.fd);
	event[1] = event_id(m2.fd);
	member_close(&m);
	member_close(&m2);
	say("twice");
	touch_pages(16);

	for (i = 0; i < 2; i++) {
		fd[i] = member_reopen(id, event[i], -1, 0);
		ASSERT_LE(0, fd[i]);
		ASSERT_EQ(0, get_member(fd[i], &p));
		EXPECT_TRUE(p.output_id == event[0] || p.output_id == event[1])
			TH_LOG("member %d lost its buffer", i);
		if (p.output_id == event[i])
			owner = i;
	}
	ASSERT_LE(0, owner);
	/* One member owns the buffer. The other is as if it had only been redirected. */
	EXPECT_EQ(-EBUSY, ring_map_err(fd[!owner], PAGES, PROT_READ));
	map = ring_map(fd[owner], PAGES, PROT_READ);
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(1, heard(fd[owner], map, "twice"));
	EXPECT_LE(16, sampled(fd[1], map));
	ASSERT_EQ(0, ns_kill(id));
	EXPECT_EQ(1, heard(-1, map, "twice"));
}

/* The owner of a buffer must be a member as well. */
TEST_F(buffers, redirected_to_a_stranger)
{
	struct perf_event_attr attr = say_attr(), faults = fault_attr(1);
	struct perf_event_persist_member p;
	struct member m;
	__u64 id;
	int fd;

	ASSERT_EQ(0, member_open(&m, &attr, self->cpu, PAGES));
	fd = event_open(&faults, -1, self->cpu, -1, 0);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, event_ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, m.fd));

	ASSERT_EQ(0, set_name(fd, "%s", self->ns));
	EXPECT_EQ(-EINVAL, persist_new(fd, &id));
	EXPECT_EQ(-ENOENT, get_member(fd, &p));
	EXPECT_EQ(0, ns_lookup(self->ns));

	/* It works once the owner is a member. */
	ASSERT_EQ(0, set_name(m.fd, "%s-2", self->ns));
	ASSERT_EQ(0, persist_new(m.fd, &id));
	ASSERT_EQ(0, set_name(fd, "%s-2", self->ns));
	EXPECT_EQ(0, persist_join(fd, id));
	EXPECT_EQ(2, ns_count(id));
}

/* An owner in another namespace is not enough. */
TEST_F(buffers, redirected_across_namespaces)
{
	struct perf_event_attr attr = say_attr(), faults = fault_attr(1);
	struct member m;
	__u64 id, id2;
	int fd;

	ASSERT_EQ(0, ns_create(&m, &attr, self->cpu, PAGES, self->ns, &id));
	fd = event_open(&faults, -1, self->cpu, -1, 0);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, event_ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, m.fd));
	ASSERT_EQ(0, persist_new(fd, &id2));
	EXPECT_EQ(-EINVAL, set_name(fd, "%s-2", self->ns));
	EXPECT_EQ(0, persist_claim(fd));
	EXPECT_EQ(0, persist_join(fd, id));
}

/* An ordinary event may write to a member's buffer, and loses it at deletion. H2 */
TEST_F(buffers, stranger_is_redirected)
{
	struct perf_event_attr attr = say_attr(), counter = fault_attr(0);
	struct member m;
	void *map;
	__u64 id;
	int fd;

	counter.write_backward = 1;
	ASSERT_EQ(0, ns_create(&m, &counter, self->cpu, PAGES, self->ns, &id));
	fd = event_open(&attr, -1, self->cpu, -1, 0);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, event_ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, m.fd));
	say("guest");
	EXPECT_EQ(1, heard(m.fd, m.map, "guest"));
	EXPECT_EQ(1, ns_count(id));

	/* It is no way to map a recorder for writing. H8 */
	EXPECT_EQ(-EACCES, ring_map_err(fd, PAGES, PROT_READ | PROT_WRITE));
	map = ring_map(fd, PAGES, PROT_READ);
	if (no_redirected_map(map))
		SKIP(return, "this kernel maps no redirected event");
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(-1, mprotect(map, ring_len(PAGES), PROT_READ | PROT_WRITE));
	EXPECT_EQ(EACCES, errno);

	/* It keeps its mapping. After unmapping, it can have a buffer of its own. */
	ASSERT_EQ(0, ns_kill(id));
	member_close(&m);
	say("alone");
	EXPECT_EQ(1, heard(-1, map, "guest"));
	EXPECT_EQ(1, heard(-1, map, "alone"));
	munmap(map, ring_len(PAGES));
	map = ring_map(fd, 1, PROT_READ);
	ASSERT_NE(MAP_FAILED, map);
	say("at home");
	EXPECT_EQ(1, heard(fd, map, "at home"));
}

/*
 * Whether @fd can map the buffer for reading, and every way to write to it is refused.
 * The caller holds another mapping of @fd: with the last one, @fd would lose the buffer.
 */
static bool maps_read_only(int fd)
{
	const int prots[] = { PROT_READ, PROT_NONE };
	bool good = true;
	unsigned int i;
	void *map;

	good &= ring_map_err(fd, PAGES, PROT_READ | PROT_WRITE) == -EACCES;
	good &= ring_map_err(fd, PAGES, PROT_WRITE) == -EACCES;
	for (i = 0; i < ARRAY_SIZE(prots); i++) {
		map = ring_map(fd, PAGES, prots[i]);
		if (map == MAP_FAILED)
			return false;
		good &= protect(map, PROT_READ | PROT_WRITE) == -EACCES;
		good &= protect(map, PROT_WRITE) == -EACCES;
		good &= !protect(map, PROT_READ);
		munmap(map, ring_len(PAGES));
	}
	return good;
}

/* Nor is an event of a task, which needs no privilege, a way to write to a recorder. H32 */
TEST_F(buffers, task_is_redirected)
{
	struct perf_event_snapshot s = { .size = sizeof(s) };
	struct perf_event_attr attr = fault_attr(1);
	struct perf_event_attr recorder = say_attr();
	struct member m;
	int fd[2], i, ns, writer;
	void *held[2];
	__u64 id;

	ASSERT_EQ(0, ns_create(&m, &recorder, self->cpu, PAGES, self->ns, &id));
	writer = member_reopen(id, 0, self->cpu, PERF_PERSIST_OPEN_WRITE);
	ASSERT_LE(0, writer);
	for (i = 0; i < 2; i++) {
		fd[i] = event_open(&attr, 0, self->cpu, -1, 0);
		ASSERT_LE(0, fd[i]);
		ASSERT_EQ(0, event_ioctl(fd[i], PERF_EVENT_IOC_SET_OUTPUT, i ? writer : m.fd));
		EXPECT_EQ(-EACCES, ring_map_err(fd[i], PAGES, PROT_READ | PROT_WRITE));
		held[i] = ring_map(fd[i], PAGES, PROT_READ);
		if (no_redirected_map(held[i]))
			SKIP(return, "this kernel maps no redirected event");
		ASSERT_NE(MAP_FAILED, held[i]);
		touch_pages(4);
		EXPECT_LE(4, sampled(fd[i], m.map));
		EXPECT_TRUE(maps_read_only(fd[i]));
	}

	/* A snapshot replaces the buffer, and changes nothing about this. */
	ns = ns_open(id, PERF_PERSIST_OPEN_WRITE);
	ASSERT_LE(0, ns);
	ASSERT_EQ(0, event_ioctl(ns, PERF_EVENT_IOC_SNAPSHOT, (unsigned long)&s));
	for (i = 0; i < 2; i++) {
		EXPECT_TRUE(maps_read_only(fd[i]));
		EXPECT_EQ(-EACCES, protect(held[i], PROT_READ | PROT_WRITE));
	}
	member_close(&m);
	EXPECT_TRUE(maps_read_only(fd[0]));

	/* Once unmapped, the event can map a writable buffer of its own. */
	for (i = 0; i < 2; i++) {
		munmap(held[i], ring_len(PAGES));
		held[i] = ring_map(fd[i], PAGES, PROT_READ | PROT_WRITE);
		ASSERT_NE(MAP_FAILED, held[i]);
		((struct perf_event_mmap_page *)held[i])->data_tail = 8;
	}
	say("unharmed");
	EXPECT_EQ(1, heard_in(id, 0, self->cpu, "unharmed"));
}

/* The same for an event that was redirected before the recorder was published. H32 */
TEST_F(buffers, task_redirected_before)
{
	struct perf_event_attr attr = fault_attr(1);
	struct perf_event_attr recorder = say_attr();
	struct perf_event_persist info;
	struct member m;
	void *guest, *none;
	__u64 id;
	int fd;

	ASSERT_EQ(0, member_open(&m, &recorder, self->cpu, PAGES));
	fd = event_open(&attr, 0, self->cpu, -1, 0);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, event_ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, m.fd));
	guest = ring_map(fd, PAGES, PROT_READ);
	if (no_redirected_map(guest))
		SKIP(return, "this kernel maps no redirected event");
	ASSERT_NE(MAP_FAILED, guest);
	none = ring_map(fd, PAGES, PROT_NONE);
	ASSERT_NE(MAP_FAILED, none);
	ASSERT_EQ(0, persist_new(m.fd, &id));
	ASSERT_EQ(0, set_name_str(m.fd, self->ns));
	EXPECT_EQ(-EACCES, protect(guest, PROT_READ | PROT_WRITE));
	EXPECT_EQ(-EACCES, protect(guest, PROT_WRITE));
	EXPECT_EQ(-EACCES, protect(none, PROT_READ | PROT_WRITE));
	EXPECT_TRUE(maps_read_only(fd));
	munmap(none, ring_len(PAGES));
	EXPECT_TRUE(maps_read_only(fd));
	touch_pages(4);
	EXPECT_LE(4, sampled(fd, m.map));
	munmap(guest, ring_len(PAGES));
	close(fd);
	member_close(&m);

	/* A buffer that such an event has mapped for writing cannot be published. */
	ASSERT_EQ(0, member_open(&m, &recorder, self->cpu, PAGES));
	fd = event_open(&attr, 0, self->cpu, -1, 0);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, event_ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, m.fd));
	guest = ring_map(fd, PAGES, PROT_READ | PROT_WRITE);
	ASSERT_NE(MAP_FAILED, guest);
	EXPECT_EQ(-EACCES, persist_join(m.fd, id));
	munmap(guest, ring_len(PAGES));
	EXPECT_EQ(-EACCES, persist_join(m.fd, id));
	EXPECT_EQ(-ENOENT, get_persist(m.fd, &info));
	EXPECT_EQ(1, ns_count(id));
}

/* A member without a buffer is a counter, and cannot get a buffer later. */
TEST_F(buffers, counter)
{
	struct perf_event_attr attr = fault_attr(0);
	struct perf_event_persist_member p;
	__u64 id, before, after;
	int fd, writer;

	ASSERT_EQ(0, ns_create_leave(&attr, self->cpu, 0, self->ns, &id));
	fd = member_reopen(id, 0, self->cpu, 0);
	writer = member_reopen(id, 0, self->cpu, PERF_PERSIST_OPEN_WRITE);
	ASSERT_LE(0, fd);
	ASSERT_LE(0, writer);
	ASSERT_EQ((ssize_t)sizeof(before), read(fd, &before, sizeof(before)));
	touch_pages(32);
	ASSERT_EQ((ssize_t)sizeof(after), read(fd, &after, sizeof(after)));
	EXPECT_LE(before + 32, after);

	ASSERT_EQ(0, get_member(fd, &p));
	EXPECT_EQ(0, p.output_id);
	EXPECT_EQ(0, p.buffer_size);
	EXPECT_EQ(0, p.flags);
	EXPECT_EQ(-EBUSY, ring_map_err(fd, 1, PROT_READ));
	EXPECT_EQ(-EBUSY, ring_map_err(fd, 0, PROT_READ));
	EXPECT_EQ(-EBUSY, ring_map_err(writer, 1, PROT_READ));
	EXPECT_EQ(-EBUSY, ring_map_err(writer, 1, PROT_READ | PROT_WRITE));
}

/* Returns the kB that are pinned by this process and charged for buffers. */
static unsigned long pinned_kb(void)
{
	char line[128];
	unsigned long kb = 0;
	FILE *status;

	status = fopen("/proc/self/status", "r");
	if (!status)
		return ~0UL;
	while (fgets(line, sizeof(line), status)) {
		if (sscanf(line, "VmPin: %lu", &kb) == 1)
			break;
	}
	fclose(status);
	return kb;
}

/* The last process to unmap a deleted buffer gets no refund: it paid nothing. */
TEST_F(buffers, pinned_memory)
{
	struct perf_event_attr attr = say_attr();
	struct member m;
	pid_t pid;
	__u64 id;

	/* All memory is charged. */
	ASSERT_LT(0, read_file(MLOCK_KB, self->mlock_kb, sizeof(self->mlock_kb)));
	if (write_file(MLOCK_KB, "0"))
		SKIP(return, "cannot set perf_event_mlock_kb");

	ASSERT_EQ(0, ns_create(&m, &attr, self->cpu, PAGES, self->ns, &id));
	pid = fork_child();
	ASSERT_LE(0, pid);
	if (!pid) {
		int fd = member_reopen(id, 0, self->cpu, 0);
		void *map = ring_map(fd, PAGES, PROT_READ);

		ASSERT_NE(MAP_FAILED, map);
		ASSERT_EQ(0, ns_kill(id));
		raise(SIGSTOP);
		EXPECT_EQ(0, munmap(map, ring_len(PAGES)));
		EXPECT_EQ(0, pinned_kb());
		_exit(0);
	}

	/* The child is the last to unmap. */
	ASSERT_EQ(pid, waitpid(pid, NULL, WUNTRACED));
	member_close(&m);
	kill(pid, SIGCONT);
	EXPECT_EQ(0, child_status(pid));
	EXPECT_EQ(0, pinned_kb());
}

TEST_HARNESS_MAIN
