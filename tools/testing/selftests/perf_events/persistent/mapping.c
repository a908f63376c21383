// SPDX-License-Identifier: GPL-2.0
/*
 * Buffers: recorders and queues, who may map them how, and what they hold.
 */
#include "persistent.h"

#define MLOCK_KB	"/proc/sys/kernel/perf_event_mlock_kb"

/* A namespace with one member and its buffer, which nobody holds any more. */
FIXTURE(mapping)
{
	char	ns[NS_ROOM];
	int	cpu, cpu2;
	__u64	id, event;
	int	reader, writer;
};

FIXTURE_VARIANT(mapping)
{
	bool	queue;
};

FIXTURE_VARIANT_ADD(mapping, recorder)
{
	.queue = false,
};

FIXTURE_VARIANT_ADD(mapping, queue)
{
	.queue = true,
};

FIXTURE_SETUP(mapping)
{
	struct perf_event_attr attr = variant->queue ? say_forward_attr() : say_attr();
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

	/* Not privately: that would be a copy that nobody writes to. */
	map = mmap(NULL, ring_len(PAGES), PROT_READ, MAP_PRIVATE, self->reader, 0);
	EXPECT_EQ(MAP_FAILED, map);
	EXPECT_EQ(EINVAL, errno);
}

/* A read-only mapping does not become writable by any detour. H8 */
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

/*
 * A recorder is read-only for writers too. A queue has room for one consumer,
 * and only the consumer writes to its first page. H8, H9
 */
TEST_F(mapping, writable)
{
	const int rw = PROT_READ | PROT_WRITE;
	void *map, *map2;
	int writer2;

	if (!variant->queue) {
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
		return;
	}

	writer2 = member_reopen(self->id, 0, self->cpu, PERF_PERSIST_OPEN_WRITE);
	ASSERT_LE(0, writer2);
	map = ring_map(self->writer, PAGES, rw);
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(-EBUSY, ring_map_err(self->writer, PAGES, rw));
	EXPECT_EQ(-EBUSY, ring_map_err(writer2, PAGES, rw));
	EXPECT_EQ(-EBUSY, ring_map_err(writer2, 0, rw));

	/* Readers are welcome all the same. */
	map2 = ring_map(writer2, PAGES, PROT_READ);
	EXPECT_NE(MAP_FAILED, map2);
	map2 = ring_map(self->reader, PAGES, PROT_READ);
	EXPECT_NE(MAP_FAILED, map2);

	/* The next consumer comes when the first has gone. */
	munmap(map, ring_len(PAGES));
	EXPECT_EQ(0, ring_map_err(writer2, PAGES, rw));
	EXPECT_EQ(0, ring_map_err(writer2, PAGES, rw));
}

/* Whoever maps it how: a recorder overwrites, a queue does not. H9 */
TEST_F(mapping, reader_does_not_change_the_mode)
{
	struct perf_event_mmap_page *page;
	struct perf_event_persist p;
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
	EXPECT_EQ(variant->queue ? 1 : 0, heard(self->reader, page, "the very first"));
	EXPECT_EQ(variant->queue ? 0 : 1, heard(self->reader, page, "the very last"));

	ASSERT_EQ(0, get_persist(self->reader, &p));
	EXPECT_EQ(variant->queue ? 0 : PERF_PERSIST_OVERWRITE, p.flags & PERF_PERSIST_OVERWRITE);
	EXPECT_EQ(variant->queue, p.lost > 0);
	munmap(page, ring_len(PAGES));

	/* Nor does the next one. */
	page = ring_map(self->reader, PAGES, PROT_READ);
	ASSERT_NE(MAP_FAILED, page);
	say("the very last");
	EXPECT_EQ(variant->queue ? 0 : 2, heard(self->reader, page, "the very last"));
}

/* A reader learns the size from the first page alone, or asks. */
TEST_F(mapping, first_page)
{
	struct perf_event_mmap_page *page;
	struct perf_event_persist p;
	int fds[] = { self->reader, self->writer };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(fds); i++) {
		page = ring_map(fds[i], 0, PROT_READ);
		ASSERT_NE(MAP_FAILED, page);
		EXPECT_EQ(PAGES * page_size(), page->data_size);
		EXPECT_EQ(page_size(), page->data_offset);
		munmap(page, page_size());
	}
	ASSERT_EQ(0, get_persist(self->reader, &p));
	EXPECT_EQ(PAGES * page_size(), p.buffer_size);

	/* The whole of it can be mapped besides, before and after. */
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
	struct perf_event_mmap_page *page;
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

	/* A consumer can write the fields that ask for one. */
	if (!variant->queue)
		return;
	page = ring_map(self->writer, PAGES, PROT_READ | PROT_WRITE);
	ASSERT_NE(MAP_FAILED, page);
	page->aux_offset = ring_len(PAGES);
	page->aux_size = page_size();
	map = mmap(NULL, page_size(), PROT_READ | PROT_WRITE, MAP_SHARED, self->writer,
		   ring_len(PAGES));
	EXPECT_EQ(MAP_FAILED, map);
	EXPECT_TRUE(errno == EINVAL || errno == EOPNOTSUPP);

	/* And there may be events that have one, and write to the same buffer. */
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

/* In a 32-bit process on a 64-bit kernel -1 is a descriptor like another: a bad one. */
static bool output_refused(int fd)
{
	int err = event_ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, -1);

	return err == -EBUSY || (sizeof(long) == 4 && err == -EBADF);
}

/* SET_OUTPUT cannot take a published member's buffer away, nor give it another. */
TEST_F(mapping, no_set_output)
{
	struct perf_event_attr attr = variant->queue ? say_forward_attr() : say_attr();
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

/* The head that GET_PERSIST reports is data_head when nobody is writing. */
TEST_F(mapping, head)
{
	struct perf_event_mmap_page *page;
	struct perf_event_persist p;
	long before;
	int tries;

	page = ring_map(self->reader, PAGES, PROT_READ);
	ASSERT_NE(MAP_FAILED, page);
	before = page->data_head;
	say("head");

	/* Another program's name may come in between, but not for ever. */
	for (tries = 0; tries < 1000; tries++) {
		__u64 head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);

		ASSERT_EQ(0, get_persist(self->reader, &p));
		if (p.head == head)
			break;
	}
	EXPECT_LT(tries, 1000);
	EXPECT_EQ(variant->queue, (long)p.head > before);
}

/* The head is read on the member's CPU, also for a reader elsewhere. */
TEST_F(mapping, head_from_other_cpu)
{
	struct perf_event_mmap_page *page;
	struct perf_event_persist p;

	if (self->cpu2 < 0)
		SKIP(return, "needs two CPUs");
	page = ring_map(self->reader, PAGES, PROT_READ);
	ASSERT_NE(MAP_FAILED, page);
	say("head");
	pin(self->cpu2);
	ASSERT_EQ(0, get_persist(self->reader, &p));
	EXPECT_NE(0, p.head);
	EXPECT_EQ(1, heard(self->reader, page, "head"));
}

/* Buffers that are made in other ways than a recorder's and a queue's. */
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

/* The direction in the attr and the first mapping have to agree. H9 */
TEST_F(buffers, mode_has_to_fit)
{
	struct perf_event_persist p;
	struct perf_event_attr attr;
	int fd, backward, writable;
	__u64 id;

	for (backward = 0; backward < 2; backward++) {
		for (writable = 0; writable < 2; writable++) {
			bool fits = backward != writable;

			attr = backward ? say_attr() : say_forward_attr();
			fd = event_open(&attr, -1, self->cpu, -1, 0);
			ASSERT_LE(0, fd);
			ASSERT_NE(MAP_FAILED, ring_map(fd, 1, writable ? PROT_READ | PROT_WRITE :
						       PROT_READ));

			/* Name first; then name last. */
			ASSERT_EQ(0, set_name(fd, "%s-%d%d", self->ns, backward, writable));
			EXPECT_EQ(fits ? 0 : -EINVAL, persist_new(fd, &id))
				TH_LOG("backward %d writable %d", backward, writable);
			EXPECT_EQ(fits ? 0 : -ENOENT, get_persist(fd, &p));

			fd = event_open(&attr, -1, self->cpu, -1, 0);
			ASSERT_LE(0, fd);
			ASSERT_NE(MAP_FAILED, ring_map(fd, 1, writable ? PROT_READ | PROT_WRITE :
						       PROT_READ));
			ASSERT_EQ(0, persist_new(fd, &id));
			EXPECT_EQ(fits ? 0 : -EINVAL,
				  set_name(fd, "%s-%d%d-2", self->ns, backward, writable))
				TH_LOG("backward %d writable %d, name last", backward, writable);
		}
	}
}

/* The same goes for those that join what is already published. */
TEST_F(buffers, mode_has_to_fit_when_joining)
{
	struct perf_event_attr counter = fault_attr(0), attr = say_forward_attr();
	struct perf_event_persist p;
	struct member bad;
	__u64 id;

	ASSERT_EQ(0, ns_create_leave(&counter, self->cpu, 0, self->ns, &id));
	ASSERT_EQ(0, member_open(&bad, &attr, self->cpu, 0));
	ASSERT_NE(MAP_FAILED, ring_map(bad.fd, 1, PROT_READ));
	EXPECT_EQ(-EINVAL, persist_join(bad.fd, id));
	EXPECT_EQ(-ENOENT, get_persist(bad.fd, &p));
	EXPECT_EQ(1, ns_count(id));
}

/* The creator's own writable mapping is the one that a queue has. H9 */
TEST_F(buffers, creator_is_the_consumer)
{
	struct perf_event_attr attr = say_forward_attr();
	struct member m;
	__u64 id;
	int fd;

	ASSERT_EQ(0, ns_create(&m, &attr, self->cpu, 1, self->ns, &id));
	fd = member_reopen(id, 0, self->cpu, PERF_PERSIST_OPEN_WRITE);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-EBUSY, ring_map_err(fd, 1, PROT_READ | PROT_WRITE));
	EXPECT_EQ(-EBUSY, ring_map_err(m.fd, 1, PROT_READ | PROT_WRITE));
	EXPECT_EQ(0, ring_map_err(fd, 1, PROT_READ));
	member_unmap(&m);
	EXPECT_EQ(0, ring_map_err(fd, 1, PROT_READ | PROT_WRITE));
}

/* The queue's second writable mapping does not come through mprotect() either. H8 */
TEST_F(buffers, second_consumer_by_mprotect)
{
	struct perf_event_attr attr = say_forward_attr();
	const int rw = PROT_READ | PROT_WRITE;
	void *map, *map2;
	__u64 id;
	int fd;

	ASSERT_EQ(0, ns_create_leave(&attr, self->cpu, 1, self->ns, &id));
	fd = member_reopen(id, 0, self->cpu, PERF_PERSIST_OPEN_WRITE);
	ASSERT_LE(0, fd);
	map2 = ring_map(fd, 1, PROT_READ);
	ASSERT_NE(MAP_FAILED, map2);
	map = ring_map(fd, 1, rw);
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(-1, mprotect(map2, ring_len(1), rw));
	EXPECT_EQ(EACCES, errno);
}

/* A consumer makes room; what it has taken is gone for everybody. */
TEST_F(buffers, consumer)
{
	struct perf_event_attr attr = say_forward_attr();
	struct perf_event_mmap_page *page;
	int reader, writer, i;
	char text[24];
	void *map;
	__u64 id;

	ASSERT_EQ(0, ns_create_leave(&attr, self->cpu, 1, self->ns, &id));
	reader = member_reopen(id, 0, self->cpu, 0);
	writer = member_reopen(id, 0, self->cpu, PERF_PERSIST_OPEN_WRITE);
	map = ring_map(reader, 1, PROT_READ);
	page = ring_map(writer, 1, PROT_READ | PROT_WRITE);
	ASSERT_NE(MAP_FAILED, map);
	ASSERT_NE(MAP_FAILED, page);

	for (i = 0; i < page_size() / 16; i++) {
		snprintf(text, sizeof(text), "fill it %07d", i);
		say(text);
	}
	say("no room at all");
	EXPECT_EQ(1, heard(reader, map, "fill it 0000000"));
	EXPECT_EQ(0, heard(reader, map, "no room at all"));
	__atomic_store_n(&page->data_tail, page->data_head, __ATOMIC_RELEASE);
	say("room again");
	EXPECT_EQ(0, heard(reader, map, "fill it 0000000"));
	EXPECT_EQ(1, heard(reader, map, "room again"));

	/* The position stays when the consumer goes. */
	munmap(page, ring_len(1));
	EXPECT_EQ(0, heard(reader, map, "fill it 0000000"));
	EXPECT_EQ(1, heard(reader, map, "room again"));
}

/* After publishing, the creator maps its recorder no other way than the rest. H8 */
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

/* Every power of two of pages, side by side in one namespace. */
TEST_F(buffers, sizes)
{
	struct perf_event_attr attr = say_attr();
	struct perf_event_mmap_page *page;
	struct perf_event_persist p;
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
		ASSERT_EQ(0, get_persist(fd, &p));
		EXPECT_EQ(pages[i] * page_size(), p.buffer_size);
		EXPECT_EQ(event[i], p.output_id);
		page = ring_map(fd, pages[i], PROT_READ);
		ASSERT_NE(MAP_FAILED, page);
		EXPECT_EQ(p.buffer_size, page->data_size);
		EXPECT_EQ(1, heard(fd, page, "everywhere"));
	}
}

/* A recorder and a queue in one namespace. */
TEST_F(buffers, forward_and_backward)
{
	struct perf_event_attr attr[] = { say_attr(), say_forward_attr() };
	struct perf_event_persist p;
	struct member m[2];
	__u64 id, event[2];
	void *map;
	int fd, i;

	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, member_open(&m[i], &attr[i], self->cpu, PAGES));
		event[i] = event_id(m[i].fd);
	}
	ASSERT_EQ(0, persist_new(m[0].fd, &id));
	ASSERT_EQ(0, persist_join(m[1].fd, id));
	ASSERT_EQ(0, set_name(m[0].fd, "%s", self->ns));
	for (i = 0; i < 2; i++)
		member_close(&m[i]);
	say("both");
	for (i = 0; i < 2; i++) {
		fd = member_reopen(id, event[i], -1, 0);
		ASSERT_LE(0, fd);
		map = ring_map(fd, PAGES, PROT_READ);
		ASSERT_NE(MAP_FAILED, map);
		EXPECT_EQ(1, heard(fd, map, "both"));
		ASSERT_EQ(0, get_persist(fd, &p));
		EXPECT_EQ(i ? 0 : PERF_PERSIST_OVERWRITE, p.flags & PERF_PERSIST_OVERWRITE);
	}
}

/* Several events in one buffer: the one that was mapped is where to read the others. */
TEST_F(buffers, redirected)
{
	struct perf_event_attr attr = say_attr(), faults = fault_attr(1);
	struct perf_event_persist p;
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
	ASSERT_EQ(0, get_persist(reader, &p));
	EXPECT_EQ(owner, p.output_id);
	EXPECT_EQ(PAGES * page_size(), p.buffer_size);
	EXPECT_EQ(-EBUSY, ring_map_err(reader, PAGES, PROT_READ));
	EXPECT_EQ(-EBUSY, ring_map_err(reader, 0, PROT_READ));
	EXPECT_TRUE(output_refused(reader));

	fd = member_reopen(id, owner, -1, 0);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, get_persist(fd, &p));
	EXPECT_EQ(owner, p.output_id);
	map = ring_map(fd, PAGES, PROT_READ);
	ASSERT_NE(MAP_FAILED, map);
	touch_pages(16);
	say("same buffer");
	EXPECT_EQ(1, heard(fd, map, "same buffer"));
	EXPECT_LE(16, sampled(reader, map));
}

/* A buffer that was mapped through several members is one member's all the same. */
TEST_F(buffers, mapped_twice)
{
	struct perf_event_attr attr = say_attr(), faults = fault_attr(1);
	struct perf_event_persist p;
	struct member m, m2;
	__u64 id, event[2];
	int fd[2], i, owner = -1;
	void *map;

	ASSERT_EQ(0, member_open(&m, &attr, self->cpu, PAGES));
	ASSERT_EQ(0, member_open(&m2, &faults, self->cpu, 0));
	ASSERT_EQ(0, event_ioctl(m2.fd, PERF_EVENT_IOC_SET_OUTPUT, m.fd));
	m2.pages = PAGES;
	m2.map = ring_map(m2.fd, PAGES, PROT_READ);
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
		ASSERT_EQ(0, get_persist(fd[i], &p));
		EXPECT_TRUE(p.output_id == event[0] || p.output_id == event[1])
			TH_LOG("member %d lost its buffer", i);
		if (p.output_id == event[i])
			owner = i;
	}
	ASSERT_LE(0, owner);
	/* Both were mapped, so the namespace holds the buffer through both. */
	EXPECT_EQ(0, ring_map_err(fd[!owner], PAGES, PROT_READ));
	map = ring_map(fd[owner], PAGES, PROT_READ);
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(1, heard(fd[owner], map, "twice"));
	EXPECT_LE(16, sampled(fd[1], map));
	ASSERT_EQ(0, ns_kill(id));
	EXPECT_EQ(1, heard(-1, map, "twice"));
}

/* What was mapped for a buffer has to be a member too. */
TEST_F(buffers, redirected_to_a_stranger)
{
	struct perf_event_attr attr = say_attr(), faults = fault_attr(1);
	struct perf_event_persist p;
	struct member m;
	__u64 id;
	int fd;

	ASSERT_EQ(0, member_open(&m, &attr, self->cpu, PAGES));
	fd = event_open(&faults, -1, self->cpu, -1, 0);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, event_ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, m.fd));

	ASSERT_EQ(0, set_name(fd, "%s", self->ns));
	EXPECT_EQ(-EINVAL, persist_new(fd, &id));
	EXPECT_EQ(-ENOENT, get_persist(fd, &p));
	EXPECT_EQ(0, ns_lookup(self->ns));

	/* Name last, and a member that was there before. */
	ASSERT_EQ(0, set_name(m.fd, "%s-2", self->ns));
	ASSERT_EQ(0, persist_new(m.fd, &id));
	ASSERT_EQ(0, set_name(fd, "%s-2", self->ns));
	EXPECT_EQ(0, persist_join(fd, id));
	EXPECT_EQ(2, ns_count(id));
}

/* A member of another namespace is a stranger as well. */
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

/* An ordinary event may write into a member's buffer, and loses it at deletion. H2 */
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

	/* It is no way to write to a recorder. H8 */
	EXPECT_EQ(-EACCES, ring_map_err(fd, PAGES, PROT_READ | PROT_WRITE));
	map = ring_map(fd, PAGES, PROT_READ);
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(-1, mprotect(map, ring_len(PAGES), PROT_READ | PROT_WRITE));
	EXPECT_EQ(EACCES, errno);

	/* What it has mapped it keeps; after that it has a buffer of its own. */
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

/* Without a buffer a member is a counter, and cannot be given a buffer later. */
TEST_F(buffers, counter)
{
	struct perf_event_attr attr = fault_attr(0);
	struct perf_event_persist p;
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

	ASSERT_EQ(0, get_persist(fd, &p));
	EXPECT_EQ(0, p.output_id);
	EXPECT_EQ(0, p.buffer_size);
	EXPECT_EQ(0, p.flags & PERF_PERSIST_OVERWRITE);
	EXPECT_EQ(-EBUSY, ring_map_err(fd, 1, PROT_READ));
	EXPECT_EQ(-EBUSY, ring_map_err(fd, 0, PROT_READ));
	EXPECT_EQ(-EBUSY, ring_map_err(writer, 1, PROT_READ));
	EXPECT_EQ(-EBUSY, ring_map_err(writer, 1, PROT_READ | PROT_WRITE));
}

/* What a queue had no room for is counted, by GET_PERSIST as by read(). */
TEST_F(buffers, lost)
{
	struct perf_event_attr attr = say_forward_attr();
	struct perf_event_persist p;
	struct {
		__u64 value, lost;
	} count;
	int fd, i, tries;
	__u64 id;

	attr.read_format = PERF_FORMAT_LOST;
	ASSERT_EQ(0, ns_create_leave(&attr, self->cpu, 1, self->ns, &id));
	fd = member_reopen(id, 0, self->cpu, 0);
	ASSERT_LE(0, fd);
	for (i = 0; i < page_size() / 8; i++)
		say("no room for all");
	for (tries = 0; tries < 1000; tries++) {
		ASSERT_EQ(0, get_persist(fd, &p));
		ASSERT_EQ((ssize_t)sizeof(count), read(fd, &count, sizeof(count)));
		if (count.lost == p.lost)
			break;
	}
	EXPECT_LT(tries, 1000);
	EXPECT_LT(page_size() / 16, p.lost);
}

/* Pinned memory of this process in kB, as it is charged for buffers. */
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

/* Who is the last to unmap a deleted buffer is refunded nothing. */
TEST_F(buffers, pinned_memory)
{
	struct perf_event_attr attr = say_attr();
	struct member m;
	pid_t pid;
	__u64 id;

	/* Nothing is free of charge. */
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

	/* The child is the last to let go. */
	ASSERT_EQ(pid, waitpid(pid, NULL, WUNTRACED));
	member_close(&m);
	kill(pid, SIGCONT);
	EXPECT_EQ(0, child_status(pid));
	EXPECT_EQ(0, pinned_kb());
}

TEST_HARNESS_MAIN
