// SPDX-License-Identifier: GPL-2.0
/*
 * Claim: SET_PERSIST with NULL on an event. The member leaves its namespace
 * and lives and dies with its descriptors again.
 */
#include "persistent.h"

FIXTURE(claim)
{
	char	ns[NS_ROOM];
	int	cpu, cpu2;
};

FIXTURE_SETUP(claim)
{
	const char *missing;

	missing = persist_begin(self->ns, &self->cpu, &self->cpu2);
	if (missing)
		SKIP(return, "%s", missing);
}

FIXTURE_TEARDOWN_PARENT(claim)
{
	persist_sweep();
}

/* An event in no namespace cannot leave one. */
TEST_F(claim, in_no_namespace)
{
	struct perf_event_attr attr = say_attr();
	struct member m;

	ASSERT_EQ(0, member_open(&m, &attr, self->cpu, PAGES));
	EXPECT_EQ(-ENOENT, persist_claim(m.fd));
	ASSERT_EQ(0, set_name(m.fd, "%s", self->ns));
	EXPECT_EQ(-ENOENT, persist_claim(m.fd));
}

/* Members leave one by one; with the last the namespace is gone. */
TEST_F(claim, last_member_takes_the_namespace_along)
{
	struct perf_event_attr attr = say_attr();
	struct perf_event_persist_member p;
	struct member m, m2;
	int reader, ns;
	__u64 id;

	ASSERT_EQ(0, ns_create(&m, &attr, self->cpu, PAGES, self->ns, &id));
	ASSERT_EQ(0, member_open(&m2, &attr, self->cpu, 1));
	ASSERT_EQ(0, persist_join(m2.fd, id));
	ns = ns_open(id, 0);
	ASSERT_LE(0, ns);
	reader = member_reopen(id, event_id(m.fd), -1, 0);
	ASSERT_LE(0, reader);

	ASSERT_EQ(0, persist_claim(m.fd));
	EXPECT_EQ(-ENOENT, get_member(m.fd, &p));
	EXPECT_EQ(-ENOENT, persist_claim(m.fd));
	EXPECT_EQ(-ENOENT, member_reopen(id, event_id(m.fd), -1, 0));
	EXPECT_EQ(1, ns_count(id));
	EXPECT_EQ(id, ns_lookup(self->ns));

	ASSERT_EQ(0, persist_claim(m2.fd));
	EXPECT_EQ(0, ns_lookup(self->ns));
	EXPECT_EQ(-ENOENT, ns_open(id, 0));
	EXPECT_EQ(-ENOENT, member_reopen(id, 0, self->cpu, 0));
	memset(&p, 0, sizeof(p));
	EXPECT_EQ(-ENODEV, next_member(ns, &p));

	/* The events themselves go on. */
	say("claimed");
	EXPECT_EQ(1, heard(m.fd, m.map, "claimed"));
	EXPECT_EQ(1, heard(m2.fd, m2.map, "claimed"));
	EXPECT_EQ(event_id(m.fd), event_id(reader));
}

/* The name is free, and the claimed event can persist again. */
TEST_F(claim, persist_again)
{
	struct perf_event_attr attr = say_attr();
	__u64 id, id2, event;
	struct member m;

	ASSERT_EQ(0, ns_create(&m, &attr, self->cpu, PAGES, self->ns, &id));
	event = event_id(m.fd);
	ASSERT_EQ(0, persist_claim(m.fd));
	ASSERT_EQ(0, set_name(m.fd, "%s", self->ns));
	ASSERT_EQ(0, persist_new(m.fd, &id2));
	EXPECT_NE(id, id2);
	EXPECT_EQ(id2, ns_lookup(self->ns));
	EXPECT_EQ(event, event_id(m.fd));
	member_close(&m);
	m.fd = member_reopen(id2, event, -1, 0);
	EXPECT_LE(0, m.fd);
}

/* Publishes @owner and @fd, which writes to the buffer of @owner, and claims both. */
static void claim_sharers(struct __test_metadata *_metadata, const char *ns, int owner, int fd)
{
	struct perf_event_persist p;
	__u64 id;

	ASSERT_EQ(0, persist_new(owner, &id));
	ASSERT_EQ(0, persist_join(fd, id));
	ASSERT_EQ(0, set_name(owner, "%s", ns));

	EXPECT_EQ(-EBUSY, persist_claim(owner));
	ASSERT_EQ(0, get_persist(owner, &p));
	EXPECT_EQ(id, p.ns_id);

	EXPECT_EQ(0, persist_claim(fd));
	EXPECT_EQ(0, persist_claim(owner));
}

/* The owner of a buffer cannot be claimed while another member writes to it. */
TEST_F(claim, shared_buffer)
{
	struct perf_event_attr attr = say_attr(), faults = fault_attr(1);
	struct member m;
	int fd;

	ASSERT_EQ(0, member_open(&m, &attr, self->cpu, PAGES));
	fd = event_open(&faults, -1, self->cpu, -1, 0);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, event_ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, m.fd));
	claim_sharers(_metadata, self->ns, m.fd, fd);
	EXPECT_EQ(0, ns_lookup(self->ns));
}

/* The same with the buffer mapped through both members. */
TEST_F(claim, shared_buffer_mapped_twice)
{
	struct perf_event_attr attr = say_attr(), faults = fault_attr(1);
	struct member m;
	void *map;
	int fd;

	ASSERT_EQ(0, member_open(&m, &attr, self->cpu, PAGES));
	fd = event_open(&faults, -1, self->cpu, -1, 0);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, event_ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, m.fd));
	map = ring_map(fd, PAGES, PROT_READ);
	if (no_redirected_map(map))
		SKIP(return, "this kernel maps no redirected event");
	ASSERT_NE(MAP_FAILED, map);
	claim_sharers(_metadata, self->ns, m.fd, fd);
	say("claimed");
	EXPECT_EQ(1, heard(m.fd, map, "claimed"));
}

/* A claimed event ends with its last descriptor. */
TEST_F(claim, dies_with_its_descriptors)
{
	struct perf_event_attr attr = say_attr(), counter = fault_attr(0);
	struct member m;
	int fd, reader;
	__u64 id;

	/* Two events in one buffer: it shows whether the other one still records. */
	counter.write_backward = 1;
	ASSERT_EQ(0, member_open(&m, &counter, self->cpu, PAGES));
	fd = event_open(&attr, -1, self->cpu, -1, 0);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, event_ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, m.fd));
	ASSERT_EQ(0, persist_new(m.fd, &id));
	ASSERT_EQ(0, persist_join(fd, id));
	ASSERT_EQ(0, set_name(m.fd, "%s", self->ns));
	reader = member_reopen(id, event_id(fd), -1, 0);
	ASSERT_LE(0, reader);
	ASSERT_EQ(0, persist_claim(fd));

	/* Another opener keeps it alive. */
	close(fd);
	say("one left");
	EXPECT_EQ(1, heard(m.fd, m.map, "one left"));
	close(reader);
	say("none left");
	EXPECT_EQ(0, heard(m.fd, m.map, "none left"));
	EXPECT_EQ(1, heard(m.fd, m.map, "one left"));
}

/* A process that reopened a member for writing can take it out after the creator is gone. */
TEST_F(claim, by_other_than_the_creator)
{
	struct perf_event_attr attr = say_attr();
	void *map;
	__u64 id;
	int fd;

	ASSERT_EQ(0, ns_create_leave(&attr, self->cpu, PAGES, self->ns, &id));
	fd = member_reopen(id, 0, self->cpu, 0);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-EACCES, persist_claim(fd));
	fd = member_reopen(id, 0, self->cpu, PERF_PERSIST_OPEN_WRITE);
	ASSERT_LE(0, fd);
	map = ring_map(fd, PAGES, PROT_READ);
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(0, persist_claim(fd));
	EXPECT_EQ(0, ns_lookup(self->ns));
	say("adopted");
	EXPECT_EQ(1, heard(fd, map, "adopted"));
}

/* Once unmapped, the buffer of a claimed event is freed, and the event can get another. H2 */
TEST_F(claim, buffer_is_given_back)
{
	struct perf_event_attr attr = say_attr();
	struct member m;
	int reader;
	__u64 id;
	void *map;

	ASSERT_EQ(0, ns_create(&m, &attr, self->cpu, PAGES, self->ns, &id));
	member_unmap(&m);
	say("kept");
	map = ring_map(m.fd, PAGES, PROT_READ);
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(1, heard(m.fd, map, "kept"));
	munmap(map, ring_len(PAGES));
	EXPECT_EQ(-EINVAL, ring_map_err(m.fd, 2 * PAGES, PROT_READ));

	/* A reader can only map the buffer of a member, and the event is no member any more. */
	reader = member_reopen(id, 0, self->cpu, 0);
	ASSERT_LE(0, reader);
	ASSERT_EQ(0, persist_claim(m.fd));
	EXPECT_EQ(-ENODEV, ring_map_err(reader, PAGES, PROT_READ));
	EXPECT_EQ(-ENODEV, ring_map_err(reader, 0, PROT_READ));
	map = ring_map(m.fd, 2 * PAGES, PROT_READ);
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(0, heard(m.fd, map, "kept"));
	say("afresh");
	EXPECT_EQ(1, heard(m.fd, map, "afresh"));
}

/* Claiming works before publishing too. The last claim ends an unnamed namespace. */
TEST_F(claim, unnamed)
{
	__u64 id, id2;
	int fd, fd2;

	fd = counter_open(self->cpu);
	fd2 = counter_open(self->cpu);
	ASSERT_LE(0, fd);
	ASSERT_LE(0, fd2);
	ASSERT_EQ(0, persist_new(fd, &id));
	ASSERT_EQ(0, persist_join(fd2, id));
	ASSERT_EQ(0, persist_claim(fd));
	ASSERT_EQ(0, persist_join(fd, id));
	ASSERT_EQ(0, persist_claim(fd));
	ASSERT_EQ(0, persist_claim(fd2));
	EXPECT_EQ(-ENOENT, persist_join(fd, id));
	EXPECT_EQ(0, persist_new(fd, &id2));
	EXPECT_NE(id, id2);
}

TEST_HARNESS_MAIN
