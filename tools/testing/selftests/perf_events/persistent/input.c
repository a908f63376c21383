// SPDX-License-Identifier: GPL-2.0
/*
 * Layout and sizes of struct perf_event_persist and struct perf_event_persist_member, and
 * what the kernel refuses. H17
 */
#include <assert.h>

#include "persistent.h"

/* Room beyond what any kernel knows */
#define TAIL	64

/* The layout is the same for 32 and 64 bits, and has no holes. */
#define AT(_struct, _field, _offset)							\
	static_assert(offsetof(struct _struct, _field) == (_offset), #_field)

static_assert(PERF_EVENT_PERSIST_SIZE_VER0 == 208, "first size");
static_assert(sizeof(struct perf_event_persist) == PERF_EVENT_PERSIST_SIZE_VER0, "size");
AT(perf_event_persist, flags, 4);
AT(perf_event_persist, ns_id, 8);
AT(perf_event_persist, source_id, 16);
AT(perf_event_persist, created_ns, 24);
AT(perf_event_persist, swap_begin_ns, 32);
AT(perf_event_persist, nr_members, 40);
AT(perf_event_persist, owner_uid, 44);
AT(perf_event_persist, number, 48);
AT(perf_event_persist, trigger, 52);
AT(perf_event_persist, keep, 56);
AT(perf_event_persist, spares, 60);
AT(perf_event_persist, owner_comm, 64);
AT(perf_event_persist, name, 80);
AT(perf_event_persist, note, 144);

static_assert(PERF_EVENT_PERSIST_MEMBER_SIZE_VER0 == 176, "first size of a member");
static_assert(sizeof(struct perf_event_persist_member) == PERF_EVENT_PERSIST_MEMBER_SIZE_VER0,
	      "size of a member");
AT(perf_event_persist_member, flags, 4);
AT(perf_event_persist_member, event_id, 8);
AT(perf_event_persist_member, output_id, 16);
AT(perf_event_persist_member, buffer_size, 24);
AT(perf_event_persist_member, buffer_seq, 32);
AT(perf_event_persist_member, head, 40);
AT(perf_event_persist_member, lost, 48);
AT(perf_event_persist_member, missed, 56);
AT(perf_event_persist_member, cgroup_id, 64);
AT(perf_event_persist_member, cpu, 72);
AT(perf_event_persist_member, trigger, 76);
AT(perf_event_persist_member, pid_ns, 80);
AT(perf_event_persist_member, attr_size, 84);
AT(perf_event_persist_member, attr, 88);
AT(perf_event_persist_member, label, 96);
AT(perf_event_persist_member, filter, 160);
AT(perf_event_persist_member, filter_size, 168);

AT(perf_event_snapshot, sizes, 8);
AT(perf_event_snapshot, nr_sizes, 16);
AT(perf_event_snapshot, number, 20);
AT(perf_event_snapshot, ns_id, 24);

AT(perf_event_trigger, number, 4);
AT(perf_event_trigger, when, 8);
AT(perf_event_trigger, action, 12);
AT(perf_event_trigger, after_ns, 16);
AT(perf_event_trigger, cool_down_ns, 24);
AT(perf_event_trigger, times, 32);
AT(perf_event_trigger, label, 40);

AT(perf_event_trigger_event, fd, 4);

AT(perf_event_trigger_state, number, 4);
AT(perf_event_trigger_state, fired, 8);
AT(perf_event_trigger_state, acted, 16);
AT(perf_event_trigger_state, failed, 24);
AT(perf_event_trigger_state, last_fired_ns, 32);
AT(perf_event_trigger_state, freeze_ns, 40);
AT(perf_event_trigger_state, nr_events, 48);
AT(perf_event_trigger_state, snapshot, 52);
AT(perf_event_trigger_state, error, 56);
AT(perf_event_trigger_state, flags, 60);

AT(perf_event_tasks, offset, 8);
AT(perf_event_tasks, len, 16);
AT(perf_event_tasks, addr, 24);
AT(perf_event_tasks, total, 32);

#define NR(_name, _nr)									\
	static_assert(_IOC_NR(PERF_EVENT_IOC_##_name) == (_nr), #_name)

NR(SET_NAME, 12);
NR(SET_PERSIST, 13);
NR(GET_PERSIST, 14);
NR(GET_MEMBER, 15);
NR(PERSIST_FLAGS, 16);
NR(JOIN, 17);
NR(SET_NOTE, 18);
NR(SET_TASKS, 19);
NR(GET_TASKS, 20);
NR(SNAPSHOT, 21);
NR(RESIZE, 22);
NR(CLEAR, 23);
NR(KEEP, 24);
NR(SPARES, 25);
NR(STOP, 26);
NR(RESUME, 27);
NR(ADD_TRIGGER, 28);
NR(ADD_TRIGGER_EVENT, 29);
NR(GET_TRIGGER, 30);
NR(GET_TRIGGER_STATE, 31);
NR(ARM_TRIGGER, 32);
NR(DEL_TRIGGER, 33);

static_assert(PERF_PERSIST_ALL_CPUS == 1 && PERF_PERSIST_SNAPSHOT == 2 &&
	      PERF_PERSIST_STOPPED == 4 && PERF_PERSIST_OFFLINE == 8 &&
	      PERF_PERSIST_DISABLED == 16 && PERF_PERSIST_ATTR_WITHHELD == 32 &&
	      PERF_PERSIST_FOR_TRIGGER == 64, "flags");
static_assert(PERF_TRIGGER_SPENT == 1, "flags of a trigger");
static_assert(PERF_TYPE_PERSISTENT == 6, "type");

/* The answer about the namespace or a member. Both start with their size. */
union answer {
	__u32					size;
	struct perf_event_persist		ns;
	struct perf_event_persist_member	member;
};

/* The same calls on each kind of descriptor that has them */
FIXTURE(input)
{
	char	ns[NS_ROOM];
	int	cpu, cpu2;
	__u64	id;
	int	fd;
	unsigned long	cmd;
	__u32	known;
};

FIXTURE_VARIANT(input)
{
	bool	listing, reopened, ns;
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

FIXTURE_VARIANT_ADD(input, ns_of_creator)
{
	.ns = true,
};

FIXTURE_VARIANT_ADD(input, ns_of_reader)
{
	.reopened = true,
	.ns = true,
};

FIXTURE_VARIANT_ADD(input, ns)
{
	.listing = true,
	.ns = true,
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
	self->cmd = variant->ns ? PERF_EVENT_IOC_GET_PERSIST : PERF_EVENT_IOC_GET_MEMBER;
	self->known = variant->ns ? PERF_EVENT_PERSIST_SIZE_VER0 :
				    PERF_EVENT_PERSIST_MEMBER_SIZE_VER0;
}

FIXTURE_TEARDOWN_PARENT(input)
{
	persist_sweep();
}

#define ASK(_at)	event_ioctl(self->fd, self->cmd, (unsigned long)(_at))

static int get(int fd, void *p)
{
	return event_ioctl(fd, PERF_EVENT_IOC_GET_MEMBER, (unsigned long)p);
}

/* Checks that the answer was written, and not left as it was. */
#define EXPECT_ANSWER(_at)								\
	do {										\
		const union answer *_answer = (const void *)(_at);			\
											\
		EXPECT_EQ(self->known, _answer->size);					\
		if (variant->ns) {							\
			EXPECT_EQ(self->id, _answer->ns.ns_id);				\
			EXPECT_STREQ(self->ns, _answer->ns.name);			\
		} else {								\
			EXPECT_NE(0, _answer->member.event_id);				\
			EXPECT_STREQ("label", _answer->member.label);			\
		}									\
	} while (0)

/* Every size below the first published one is refused, and nothing is written. */
TEST_F(input, too_small)
{
	const unsigned char *byte;
	union answer p;
	__u32 size;
	size_t i;

	for (size = 0; size < self->known; size++) {
		memset(&p, 0, sizeof(p));
		p.size = size;
		EXPECT_EQ(-EINVAL, ASK(&p))
			TH_LOG("size %u", size);
		EXPECT_EQ(size, p.size);
		byte = (unsigned char *)&p;
		for (i = sizeof(p.size); i < sizeof(p); i++)
			ASSERT_EQ(0, byte[i]);
	}
}

/* A program that knows the first size gets no more than that. */
TEST_F(input, first_size)
{
	unsigned char bytes[sizeof(union answer) + TAIL];
	size_t i;

	memset(bytes, 0xa5, sizeof(bytes));
	memset(bytes, 0, self->known);
	*(__u32 *)bytes = self->known;
	ASSERT_EQ(0, ASK(bytes));
	EXPECT_ANSWER(bytes);
	for (i = self->known; i < sizeof(bytes); i++)
		EXPECT_EQ(0xa5, bytes[i]);
}

/* A larger structure is filled as far as the kernel knows it. The rest stays zero. */
TEST_F(input, larger_with_zeros)
{
	unsigned char bytes[sizeof(union answer) + TAIL + 8];
	size_t i;

	memset(bytes, 0xa5, sizeof(bytes));
	memset(bytes, 0, self->known + TAIL);
	*(__u32 *)bytes = self->known + TAIL;
	ASSERT_EQ(0, ASK(bytes));
	EXPECT_ANSWER(bytes);
	for (i = self->known; i < self->known + TAIL; i++)
		EXPECT_EQ(0, bytes[i]);
	for (; i < sizeof(bytes); i++)
		EXPECT_EQ(0xa5, bytes[i]);
}

/* Non-zero bytes beyond that ask for something that the kernel cannot do, and are refused. */
TEST_F(input, larger_with_request)
{
	unsigned char bytes[sizeof(union answer) + TAIL];
	const union answer *p = (const void *)bytes;
	int i;

	for (i = 0; i < TAIL; i++) {
		memset(bytes, 0, sizeof(bytes));
		*(__u32 *)bytes = self->known + TAIL;
		bytes[self->known + i] = 1;
		EXPECT_EQ(-E2BIG, ASK(bytes));
		EXPECT_EQ(self->known, p->size);
		EXPECT_EQ(0, p->ns.ns_id);
		EXPECT_EQ(0, p->member.event_id);
	}
}

/* Sizes of more than a page are refused. */
TEST_F(input, absurd_size)
{
	const __u32 sizes[] = { page_size() + 1, 2 * page_size(), 1U << 31, ~0U };
	union answer *p;
	unsigned int i;

	p = mmap(NULL, 2 * page_size(), PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, p);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		memset(p, 0, sizeof(*p));
		p->size = sizes[i];
		EXPECT_EQ(-E2BIG, ASK(p))
			TH_LOG("size %u", sizes[i]);
		EXPECT_EQ(self->known, p->size);
	}
	memset(p, 0, sizeof(*p));
	p->size = page_size();
	EXPECT_EQ(0, ASK(p));
	EXPECT_ANSWER(p);
}

static __u64 own_pid_ns(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) ? 0 : st.st_ino;
}

/* Output fields may hold anything before the call, and each is overwritten. */
TEST_F(input, garbage_in_output_fields)
{
	struct perf_event_persist_member p;
	struct perf_event_persist info;

	memset(&p, 0xff, sizeof(p));
	p.size = sizeof(p);
	p.attr_size = 0;
	p.attr = 0;
	p.event_id = 0;
	ASSERT_EQ(0, get(self->fd, &p));
	EXPECT_EQ(0, p.flags);
	EXPECT_EQ(p.event_id, p.output_id);
	EXPECT_EQ(PAGES * page_size(), p.buffer_size);
	EXPECT_EQ(0, p.buffer_seq);
	EXPECT_NE(~0ULL, p.head);
	EXPECT_EQ(0, p.lost);
	EXPECT_EQ(0, p.missed);
	EXPECT_EQ(0, p.cgroup_id);
	EXPECT_NE(0, p.pid_ns);
	EXPECT_EQ(own_pid_ns(), p.pid_ns);
	EXPECT_EQ(self->cpu, p.cpu);
	EXPECT_EQ(0, p.trigger);
	EXPECT_EQ('\0', p.label[sizeof(p.label) - 1]);
	EXPECT_STREQ("label", p.label);

	memset(&info, 0xff, sizeof(info));
	info.size = sizeof(info);
	ASSERT_EQ(0, event_ioctl(self->fd, PERF_EVENT_IOC_GET_PERSIST, (unsigned long)&info));
	EXPECT_EQ(0, info.flags);
	EXPECT_EQ(self->id, info.ns_id);
	EXPECT_EQ(0, info.source_id);
	EXPECT_NE(~0ULL, info.created_ns);
	EXPECT_EQ(0, info.swap_begin_ns);
	EXPECT_EQ(1, info.nr_members);
	EXPECT_EQ(geteuid(), info.owner_uid);
	EXPECT_EQ(0, info.number);
	EXPECT_EQ(0, info.trigger);
	EXPECT_EQ(PERF_PERSIST_KEEP_DEFAULT, info.keep);
	EXPECT_EQ(0, info.spares);
	EXPECT_EQ('\0', info.owner_comm[sizeof(info.owner_comm) - 1]);
	EXPECT_EQ('\0', info.name[sizeof(info.name) - 1]);
	EXPECT_STREQ(self->ns, info.name);
	EXPECT_EQ('\0', info.note[sizeof(info.note) - 1]);
	EXPECT_STREQ("", info.note);
}

/* The kernel matches the ioctl by its number, whatever size is encoded. */
TEST_F(input, matched_by_number)
{
	const unsigned int sizes[] = { 0, 4, 168, 216, 240, 512, _IOC_SIZEMASK };
	unsigned char bytes[sizeof(union answer)];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		memset(bytes, 0, sizeof(bytes));
		*(__u32 *)bytes = self->known;
		EXPECT_EQ(0, event_ioctl(self->fd, _IOC(_IOC_READ | _IOC_WRITE, '$',
							_IOC_NR(self->cmd), sizes[i]),
					 (unsigned long)bytes))
			TH_LOG("size %u in the ioctl's code", sizes[i]);
		EXPECT_ANSWER(bytes);
	}
}

/* Bad addresses, and memory that ends too early */
TEST_F(input, bad_address)
{
	struct perf_event_persist_member *member;
	struct perf_event_attr attr;
	__u32 *p;
	char *page;

	page = mmap(NULL, 2 * page_size(), PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, page);
	ASSERT_EQ(0, munmap(page + page_size(), page_size()));

	EXPECT_EQ(-EFAULT, ASK(NULL));
	EXPECT_EQ(-EFAULT, ASK(-64L));
	EXPECT_EQ(-EFAULT, ASK(page + page_size()));

	/* The size can be read, the rest cannot. */
	p = (void *)(page + page_size() - 16);
	*p = self->known;
	EXPECT_EQ(-EFAULT, ASK(p));

	/* The memory has just the size, aligned or not. */
	p = (void *)(page + page_size() - self->known);
	memset(p, 0, self->known);
	*p = self->known;
	EXPECT_EQ(0, ASK(p));
	p = (void *)(page + 4);
	memset(p, 0, self->known);
	*p = self->known;
	EXPECT_EQ(0, ASK(p));

	/* Readable, but not writable */
	p = (void *)page;
	memset(p, 0, self->known);
	*p = self->known;
	ASSERT_EQ(0, mprotect(page, page_size(), PROT_READ));
	EXPECT_EQ(-EFAULT, ASK(p));
	ASSERT_EQ(0, mprotect(page, page_size(), PROT_READ | PROT_WRITE));

	/* The address of the attr is checked as well. */
	member = (void *)page;
	memset(member, 0, sizeof(*member));
	member->size = sizeof(*member);
	member->attr_size = sizeof(attr);
	member->attr = (unsigned long)page + page_size();
	EXPECT_EQ(-EFAULT, get(self->fd, member));
	memset(member, 0, sizeof(*member));
	member->size = sizeof(*member);
	member->attr_size = sizeof(attr);
	member->attr = (__u64)-64LL;
	EXPECT_EQ(-EFAULT, get(self->fd, member));
}

/* With too little room for the attr, the call fails and returns the size that it needs. */
TEST_F(input, attr_size)
{
	struct {
		struct perf_event_attr attr;
		unsigned char beyond[TAIL];
	} big;
	struct perf_event_persist_member p;
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

	/* Any size beyond that is room enough. */
	memset(&p, 0, sizeof(p));
	p.size = sizeof(p);
	p.attr = (unsigned long)&big;
	p.attr_size = ~0U;
	EXPECT_EQ(0, get(self->fd, &p));
	EXPECT_EQ(needed, p.attr_size);
}

/* The calls fail on an event in no namespace. */
TEST_F(input, no_member)
{
	struct perf_event_attr attr = fault_attr(0);
	struct perf_event_persist_member p;
	struct perf_event_persist info;
	int fd;

	fd = event_open(&attr, -1, self->cpu, -1, 0);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-ENOENT, get_member(fd, &p));
	EXPECT_EQ(-ENOENT, get_persist(fd, &info));
	ASSERT_EQ(0, set_name(fd, "%s-2", self->ns));
	EXPECT_EQ(-ENOENT, get_member(fd, &p));
	EXPECT_EQ(-ENOENT, get_persist(fd, &info));
	fd = event_open(&attr, 0, -1, -1, 0);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-ENOENT, get_member(fd, &p));
	EXPECT_EQ(-ENOENT, get_persist(fd, &info));
}

TEST_HARNESS_MAIN
