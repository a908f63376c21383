// SPDX-License-Identifier: GPL-2.0
/*
 * struct perf_event_persist: its layout, its sizes, and what is not accepted. H17
 */
#include <assert.h>

#include "persistent.h"

/* Room beyond what any kernel knows. */
#define TAIL	64

/* The layout is the same for 32 and 64 bits, and has no holes. */
static_assert(sizeof(struct perf_event_persist) == PERF_EVENT_PERSIST_SIZE_VER2, "size");
static_assert(PERF_EVENT_PERSIST_SIZE_VER0 == 240, "first size");
static_assert(PERF_EVENT_PERSIST_SIZE_VER1 == 272, "second size");
static_assert(PERF_EVENT_PERSIST_SIZE_VER2 == 280, "third size");
static_assert(offsetof(struct perf_event_persist, ns_id) == 8, "ns_id");
static_assert(offsetof(struct perf_event_persist, cpu) == 72, "cpu");
static_assert(offsetof(struct perf_event_persist, owner_comm) == 80, "owner_comm");
static_assert(offsetof(struct perf_event_persist, name) == 96, "name");
static_assert(offsetof(struct perf_event_persist, label) == 160, "label");
static_assert(offsetof(struct perf_event_persist, attr_size) == 228, "attr_size");
static_assert(offsetof(struct perf_event_persist, attr) == 232, "attr");
static_assert(_IOC_NR(PERF_EVENT_IOC_SET_NAME) == 12, "SET_NAME");
static_assert(_IOC_NR(PERF_EVENT_IOC_SET_PERSIST) == 13, "SET_PERSIST");
static_assert(_IOC_NR(PERF_EVENT_IOC_GET_PERSIST) == 14, "GET_PERSIST");
static_assert(_IOC_NR(PERF_EVENT_IOC_PERSIST_FLAGS) == 15, "PERSIST_FLAGS");
static_assert(PERF_TYPE_PERSISTENT == 6, "type");

/* The same calls on each of the descriptors that take them. */
FIXTURE(input)
{
	char	ns[NS_ROOM];
	int	cpu, cpu2;
	__u64	id;
	int	fd;
};

FIXTURE_VARIANT(input)
{
	bool	listing, reopened;
	__u64	how;
};

FIXTURE_VARIANT_ADD(input, creator)
{
	.listing = false,
};

FIXTURE_VARIANT_ADD(input, reader)
{
	.reopened = true,
};

FIXTURE_VARIANT_ADD(input, writer)
{
	.reopened = true,
	.how = PERF_PERSIST_OPEN_WRITE,
};

FIXTURE_VARIANT_ADD(input, listing)
{
	.listing = true,
};

FIXTURE_SETUP(input)
{
	struct perf_event_attr attr = say_attr();
	const char *missing;
	char name[NAME_ROOM];
	struct member m;

	missing = persist_begin(self->ns, &self->cpu, &self->cpu2);
	if (missing)
		SKIP(return, "%s", missing);
	snprintf(name, sizeof(name), "%s/label", self->ns);
	ASSERT_EQ(0, ns_create(&m, &attr, self->cpu, PAGES, name, &self->id));
	if (variant->listing)
		self->fd = ns_open(self->id, variant->how);
	else if (variant->reopened)
		self->fd = member_reopen(self->id, 0, self->cpu, variant->how);
	else
		self->fd = m.fd;
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN_PARENT(input)
{
	persist_sweep();
}

static int get(int fd, void *p)
{
	return event_ioctl(fd, PERF_EVENT_IOC_GET_PERSIST, (unsigned long)p);
}

/* Every size below the first published one is refused, and nothing is written. */
TEST_F(input, too_small)
{
	struct perf_event_persist p;
	const unsigned char *byte;
	__u32 size;
	size_t i;

	for (size = 0; size < PERF_EVENT_PERSIST_SIZE_VER0; size++) {
		memset(&p, 0, sizeof(p));
		p.size = size;
		EXPECT_EQ(-EINVAL, get(self->fd, &p))
			TH_LOG("size %u", size);
		EXPECT_EQ(size, p.size);
		byte = (unsigned char *)&p;
		for (i = sizeof(p.size); i < sizeof(p); i++)
			ASSERT_EQ(0, byte[i]);
	}
}

/* A program that knows the first one gets no more than that. */
TEST_F(input, first_size)
{
	struct perf_event_persist p;

	memset(&p, 0xa5, sizeof(p));
	memset(&p, 0, PERF_EVENT_PERSIST_SIZE_VER0);
	p.size = PERF_EVENT_PERSIST_SIZE_VER0;
	ASSERT_EQ(0, get(self->fd, &p));
	EXPECT_EQ(PERF_EVENT_PERSIST_SIZE_VER0, p.size);
	EXPECT_EQ(self->id, p.ns_id);
	EXPECT_EQ(0xa5a5a5a5a5a5a5a5ULL, p.buffer_seq);
	EXPECT_EQ(0xa5a5a5a5, p.spares);
}

/* A larger structure is filled as far as the kernel knows it; the rest is zero. */
TEST_F(input, larger_with_zeros)
{
	struct {
		struct perf_event_persist p;
		unsigned char tail[TAIL];
		unsigned char beyond[8];
	} big;
	int i;

	memset(&big, 0, sizeof(big));
	memset(big.beyond, 0xa5, sizeof(big.beyond));
	big.p.size = sizeof(big.p) + TAIL;
	ASSERT_EQ(0, get(self->fd, &big));
	EXPECT_EQ(PERF_EVENT_PERSIST_SIZE_VER2, big.p.size);
	EXPECT_EQ(self->id, big.p.ns_id);
	EXPECT_STREQ("label", big.p.label);
	for (i = 0; i < TAIL; i++)
		EXPECT_EQ(0, big.tail[i]);
	for (i = 0; i < (int)sizeof(big.beyond); i++)
		EXPECT_EQ(0xa5, big.beyond[i]);
}

/* Non-zero bytes that the kernel does not know ask for what it cannot do. */
TEST_F(input, larger_with_request)
{
	struct {
		struct perf_event_persist p;
		unsigned char tail[TAIL];
	} big;
	int i;

	for (i = 0; i < TAIL; i++) {
		memset(&big, 0, sizeof(big));
		big.p.size = sizeof(big);
		big.tail[i] = 1;
		EXPECT_EQ(-E2BIG, get(self->fd, &big));
		EXPECT_EQ(PERF_EVENT_PERSIST_SIZE_VER2, big.p.size);
		EXPECT_EQ(0, big.p.ns_id);
	}
}

/* A page is the limit. */
TEST_F(input, absurd_size)
{
	const __u32 sizes[] = { page_size() + 1, 2 * page_size(), 1U << 31, ~0U };
	struct perf_event_persist *p;
	unsigned int i;

	p = mmap(NULL, 2 * page_size(), PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, p);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		memset(p, 0, sizeof(*p));
		p->size = sizes[i];
		EXPECT_EQ(-E2BIG, get(self->fd, p))
			TH_LOG("size %u", sizes[i]);
		EXPECT_EQ(PERF_EVENT_PERSIST_SIZE_VER2, p->size);
	}
	memset(p, 0, sizeof(*p));
	p->size = page_size();
	EXPECT_EQ(0, get(self->fd, p));
	EXPECT_EQ(PERF_EVENT_PERSIST_SIZE_VER2, p->size);
}

/* A reserved field that is not zero. */
TEST_F(input, reserved)
{
	struct perf_event_persist p;
	int bit;

	for (bit = 0; bit < 32; bit++) {
		memset(&p, 0, sizeof(p));
		p.size = sizeof(p);
		p.__reserved = 1U << bit;
		EXPECT_EQ(-EINVAL, get(self->fd, &p))
			TH_LOG("bit %d", bit);
	}
}

/* Fields that are output only may hold anything, and each is overwritten. */
TEST_F(input, garbage_in_output_fields)
{
	struct perf_event_persist p;

	memset(&p, 0xff, sizeof(p));
	p.size = sizeof(p);
	p.__reserved = 0;
	p.attr_size = 0;
	p.attr = 0;
	p.event_id = 0;
	ASSERT_EQ(0, get(self->fd, &p));
	EXPECT_EQ(PERF_PERSIST_OVERWRITE, p.flags);
	EXPECT_EQ(self->id, p.ns_id);
	EXPECT_EQ(p.event_id, p.output_id);
	EXPECT_EQ(PAGES * page_size(), p.buffer_size);
	EXPECT_EQ(0, p.lost);
	EXPECT_EQ(0, p.cgroup_id);
	EXPECT_EQ(self->cpu, p.cpu);
	EXPECT_EQ(geteuid(), p.owner_uid);
	EXPECT_EQ('\0', p.owner_comm[sizeof(p.owner_comm) - 1]);
	EXPECT_EQ('\0', p.name[sizeof(p.name) - 1]);
	EXPECT_STREQ(self->ns, p.name);
	EXPECT_EQ('\0', p.label[sizeof(p.label) - 1]);
	EXPECT_STREQ("label", p.label);
}

/* The call is known by its number: the size in its code may be any. */
TEST_F(input, matched_by_number)
{
	const unsigned int sizes[] = { 0, 4, 240, 512, _IOC_SIZEMASK };
	struct perf_event_persist p;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		memset(&p, 0, sizeof(p));
		p.size = sizeof(p);
		EXPECT_EQ(0, event_ioctl(self->fd, _IOC(_IOC_READ | _IOC_WRITE, '$', 14, sizes[i]),
					 (unsigned long)&p))
			TH_LOG("size %u in the ioctl's code", sizes[i]);
		EXPECT_EQ(self->id, p.ns_id);
	}
}

/* Addresses that are not the caller's, or end too early. */
TEST_F(input, bad_address)
{
	struct perf_event_persist *p;
	struct perf_event_attr attr;
	char *page;

	page = mmap(NULL, 2 * page_size(), PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, page);
	ASSERT_EQ(0, munmap(page + page_size(), page_size()));

	EXPECT_EQ(-EFAULT, get(self->fd, NULL));
	EXPECT_EQ(-EFAULT, get(self->fd, (void *)-64L));
	EXPECT_EQ(-EFAULT, get(self->fd, page + page_size()));

	/* The size is there, the rest is not. */
	p = (void *)(page + page_size() - 16);
	p->size = sizeof(*p);
	EXPECT_EQ(-EFAULT, get(self->fd, p));

	/* As much as it says is there, aligned or not. */
	p = (void *)(page + page_size() - sizeof(*p));
	memset(p, 0, sizeof(*p));
	p->size = sizeof(*p);
	EXPECT_EQ(0, get(self->fd, p));
	p = (void *)(page + 4);
	memset(p, 0, sizeof(*p));
	p->size = sizeof(*p);
	EXPECT_EQ(0, get(self->fd, p));

	/* Readable, but not to be written. */
	p = (void *)page;
	memset(p, 0, sizeof(*p));
	p->size = sizeof(*p);
	ASSERT_EQ(0, mprotect(page, page_size(), PROT_READ));
	EXPECT_EQ(-EFAULT, get(self->fd, p));
	ASSERT_EQ(0, mprotect(page, page_size(), PROT_READ | PROT_WRITE));

	/* The attr's address is the caller's own affair, and checked as well. */
	p->size = sizeof(*p);
	p->attr_size = sizeof(attr);
	p->attr = (unsigned long)page + page_size();
	EXPECT_EQ(-EFAULT, get(self->fd, p));
	memset(p, 0, sizeof(*p));
	p->size = sizeof(*p);
	p->attr_size = sizeof(attr);
	p->attr = (__u64)-64LL;
	EXPECT_EQ(-EFAULT, get(self->fd, p));
}

/* Too little room for the attr: the call says how much it takes. */
TEST_F(input, attr_size)
{
	struct {
		struct perf_event_attr attr;
		unsigned char beyond[TAIL];
	} big;
	struct perf_event_persist p;
	__u32 size, needed = 0;
	int i;

	for (size = 0; size < sizeof(big.attr); size += 8) {
		memset(&big, 0xa5, sizeof(big));
		memset(&p, 0, sizeof(p));
		p.size = sizeof(p);
		p.attr = (unsigned long)&big;
		p.attr_size = size;
		EXPECT_EQ(-E2BIG, get(self->fd, &p))
			TH_LOG("attr_size %u", size);
		EXPECT_LT(size, p.attr_size);
		EXPECT_TRUE(!needed || needed == p.attr_size);
		needed = p.attr_size;
		EXPECT_EQ(0xa5a5a5a5, big.attr.type);
	}
	ASSERT_LE(sizeof(big.attr), needed);
	ASSERT_GE(sizeof(big), needed);

	/* Just enough, and more. */
	for (size = needed; size <= sizeof(big); size += 8) {
		memset(&big, 0xa5, sizeof(big));
		memset(&p, 0, sizeof(p));
		p.size = sizeof(p);
		p.attr = (unsigned long)&big;
		p.attr_size = size;
		ASSERT_EQ(0, get(self->fd, &p));
		EXPECT_EQ(needed, p.attr_size);
		EXPECT_EQ(needed, big.attr.size);
		EXPECT_EQ(PERF_TYPE_SOFTWARE, big.attr.type);
		for (i = size; i < (int)sizeof(big); i++)
			EXPECT_EQ(0xa5, ((unsigned char *)&big)[i]);
	}

	/* Room for the whole of user space is room enough. */
	memset(&p, 0, sizeof(p));
	p.size = sizeof(p);
	p.attr = (unsigned long)&big;
	p.attr_size = ~0U;
	EXPECT_EQ(0, get(self->fd, &p));
	EXPECT_EQ(needed, p.attr_size);
}

/* The same on what is in no namespace. */
TEST_F(input, no_member)
{
	struct perf_event_attr attr = fault_attr(0);
	struct perf_event_persist p;
	int fd;

	fd = event_open(&attr, -1, self->cpu, -1, 0);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-ENOENT, get_persist(fd, &p));
	ASSERT_EQ(0, set_name(fd, "%s-2", self->ns));
	EXPECT_EQ(-ENOENT, get_persist(fd, &p));
	fd = event_open(&attr, 0, -1, -1, 0);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-ENOENT, get_persist(fd, &p));
}

TEST_HARNESS_MAIN
