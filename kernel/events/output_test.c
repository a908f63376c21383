// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit test for what perf writes into its buffers: each sample is written by
 * perf_output_sample() and, field by field, by the code below, and both must
 * come out the same.
 */

#include <kunit/test.h>
#include <linux/perf_event.h>
#include <linux/perf_regs.h>
#include <linux/pid_namespace.h>
#include <linux/prandom.h>

#include "internal.h"

#define TEST_PAGES	4
#define TEST_SETS	10000
#define TEST_SEED	612

/* All bits but PERF_SAMPLE_AUX, whose size is zero here. */
#define TEST_BITS	ilog2(PERF_SAMPLE_MAX)

struct test_buffer {
	struct perf_buffer		*rb;
	struct perf_output_handle	handle;
};

struct test_context {
	struct test_buffer		want, got;
	struct perf_event		*event;
	struct perf_event_context	*ctx;
	struct perf_sample_data		data;
	struct perf_event_header	header;
	struct pt_regs			regs;
	struct perf_raw_record		raw;
	struct perf_raw_frag		second;
	u8				raw_data[128];
	u64				chain[1 + 127];
	u64				branches[2 + 3 * 8];
	u64				counters[8];
	struct rnd_state		rnd;
};

static void buffer_create(struct kunit *test, struct test_buffer *b)
{
	int i;

	b->rb = kunit_kzalloc(test, struct_size(b->rb, data_pages, TEST_PAGES), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, b->rb);
	b->rb->nr_pages = TEST_PAGES;
	for (i = 0; i < TEST_PAGES; i++) {
		b->rb->data_pages[i] = kunit_kmalloc(test, PAGE_SIZE << page_order(b->rb),
						     GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, b->rb->data_pages[i]);
	}
}

/* As perf_output_begin() does it. */
static void buffer_begin(struct test_buffer *b, struct perf_event *event, unsigned long offset)
{
	unsigned long page_size = PAGE_SIZE << page_order(b->rb);
	int i;

	for (i = 0; i < TEST_PAGES; i++)
		memset(b->rb->data_pages[i], 0xee, page_size);
	memset(&b->handle, 0, sizeof(b->handle));
	b->handle.rb = b->rb;
	b->handle.event = event;
	b->handle.page = offset / page_size % TEST_PAGES;
	b->handle.addr = b->rb->data_pages[b->handle.page] + offset % page_size;
	b->handle.size = page_size - offset % page_size;
}

static bool buffers_equal(struct test_context *t)
{
	struct test_buffer *a = &t->want, *b = &t->got;
	unsigned long page_size = PAGE_SIZE << page_order(a->rb);
	int i;

	if (a->handle.page != b->handle.page || a->handle.size != b->handle.size ||
	    a->handle.addr - a->rb->data_pages[a->handle.page] !=
	    b->handle.addr - b->rb->data_pages[b->handle.page])
		return false;
	for (i = 0; i < TEST_PAGES; i++) {
		if (memcmp(a->rb->data_pages[i], b->rb->data_pages[i], page_size))
			return false;
	}
	return true;
}

/*
 * The reference: the fields in the order of the ABI, a copy for each.
 */

static void put_words(struct perf_output_handle *handle, const void *from, int nr)
{
	perf_output_copy(handle, from, nr * sizeof(u64));
}

static void put_regs(struct perf_output_handle *handle, struct perf_regs *regs, u64 mask)
{
	int bit;
	u64 val;

	put_words(handle, &regs->abi, 1);
	if (!regs->abi)
		return;
	for (bit = 0; bit < 64; bit++) {
		if (!(mask & BIT_ULL(bit)))
			continue;
		val = perf_reg_value(regs->regs, bit);
		put_words(handle, &val, 1);
	}
}

/* For PERF_FORMAT_ID | PERF_FORMAT_LOST. */
static void put_read(struct perf_output_handle *handle, struct perf_event *event)
{
	u64 values[3] = {
		local64_read(&event->count),
		event->id,
		atomic64_read(&event->lost_samples),
	};

	put_words(handle, values, 3);
}

static void put_raw(struct perf_output_handle *handle, struct perf_raw_record *raw)
{
	u32 none[2] = { sizeof(u32), 0 };
	struct perf_raw_frag *frag;

	if (!raw) {
		perf_output_copy(handle, none, sizeof(none));
		return;
	}
	perf_output_copy(handle, &raw->size, sizeof(raw->size));
	for (frag = &raw->frag; ; frag = frag->next) {
		perf_output_copy(handle, frag->data, frag->size);
		if (perf_raw_frag_last(frag))
			break;
	}
	perf_output_skip(handle, frag->pad);
}

static void put_branches(struct perf_output_handle *handle, struct perf_event *event,
			 struct perf_sample_data *data)
{
	struct perf_branch_stack *stack = data->br_stack;
	u64 none = 0;

	if (!stack) {
		put_words(handle, &none, 1);
		return;
	}
	put_words(handle, &stack->nr, 1);
	if (branch_sample_hw_index(event))
		put_words(handle, &stack->hw_idx, 1);
	perf_output_copy(handle, stack->entries, stack->nr * sizeof(stack->entries[0]));
	if (data->br_stack_cntr)
		put_words(handle, data->br_stack_cntr, stack->nr);
}

/* In a kernel thread nothing of a user's stack can be read. */
static void put_stack(struct perf_output_handle *handle, u64 size, struct pt_regs *regs)
{
	u64 none = 0;

	if (regs) {
		put_words(handle, &size, 1);
		perf_output_skip(handle, size);
	}
	put_words(handle, &none, 1);
}

static void put_sample(struct perf_output_handle *handle, struct perf_event_header *header,
		       struct perf_sample_data *data, struct perf_event *event)
{
	u64 type = data->type;

	put_words(handle, header, 1);
	if (type & PERF_SAMPLE_IDENTIFIER)
		put_words(handle, &data->id, 1);
	if (type & PERF_SAMPLE_IP)
		put_words(handle, &data->ip, 1);
	if (type & PERF_SAMPLE_TID)
		put_words(handle, &data->tid_entry, 1);
	if (type & PERF_SAMPLE_TIME)
		put_words(handle, &data->time, 1);
	if (type & PERF_SAMPLE_ADDR)
		put_words(handle, &data->addr, 1);
	if (type & PERF_SAMPLE_ID)
		put_words(handle, &data->id, 1);
	if (type & PERF_SAMPLE_STREAM_ID)
		put_words(handle, &data->stream_id, 1);
	if (type & PERF_SAMPLE_CPU)
		put_words(handle, &data->cpu_entry, 1);
	if (type & PERF_SAMPLE_PERIOD)
		put_words(handle, &data->period, 1);
	if (type & PERF_SAMPLE_READ)
		put_read(handle, event);
	if (type & PERF_SAMPLE_CALLCHAIN)
		put_words(handle, data->callchain, 1 + data->callchain->nr);
	if (type & PERF_SAMPLE_RAW)
		put_raw(handle, data->raw);
	if (type & PERF_SAMPLE_BRANCH_STACK)
		put_branches(handle, event, data);
	if (type & PERF_SAMPLE_REGS_USER)
		put_regs(handle, &data->regs_user, event->attr.sample_regs_user);
	if (type & PERF_SAMPLE_STACK_USER)
		put_stack(handle, data->stack_user_size, data->regs_user.regs);
	if (type & PERF_SAMPLE_WEIGHT_TYPE)
		put_words(handle, &data->weight, 1);
	if (type & PERF_SAMPLE_DATA_SRC)
		put_words(handle, &data->data_src, 1);
	if (type & PERF_SAMPLE_TRANSACTION)
		put_words(handle, &data->txn, 1);
	if (type & PERF_SAMPLE_REGS_INTR)
		put_regs(handle, &data->regs_intr, event->attr.sample_regs_intr);
	if (type & PERF_SAMPLE_PHYS_ADDR)
		put_words(handle, &data->phys_addr, 1);
	if (type & PERF_SAMPLE_CGROUP)
		put_words(handle, &data->cgroup, 1);
	if (type & PERF_SAMPLE_DATA_PAGE_SIZE)
		put_words(handle, &data->data_page_size, 1);
	if (type & PERF_SAMPLE_CODE_PAGE_SIZE)
		put_words(handle, &data->code_page_size, 1);
	if (type & PERF_SAMPLE_AUX)
		put_words(handle, &data->aux_size, 1);
}

static void put_sample_id(struct perf_output_handle *handle, struct perf_sample_data *data)
{
	u64 type = data->type;

	if (type & PERF_SAMPLE_TID)
		put_words(handle, &data->tid_entry, 1);
	if (type & PERF_SAMPLE_TIME)
		put_words(handle, &data->time, 1);
	if (type & PERF_SAMPLE_ID)
		put_words(handle, &data->id, 1);
	if (type & PERF_SAMPLE_STREAM_ID)
		put_words(handle, &data->stream_id, 1);
	if (type & PERF_SAMPLE_CPU)
		put_words(handle, &data->cpu_entry, 1);
	if (type & PERF_SAMPLE_IDENTIFIER)
		put_words(handle, &data->id, 1);
}

/*
 * What is written.
 */

/* A fragment that takes a function to copy. */
static unsigned long copy_raw(void *dst, const void *src, unsigned long off, unsigned long len)
{
	memcpy(dst, src + off, len);
	return 0;
}

static void fill_raw(struct test_context *t)
{
	u32 sum, a = prandom_u32_state(&t->rnd) % 64, b = prandom_u32_state(&t->rnd) % 64;
	struct perf_raw_frag *last = &t->raw.frag;

	if (prandom_u32_state(&t->rnd) % 8 == 0) {
		t->data.raw = NULL;
		return;
	}
	memset(&t->raw, 0, sizeof(t->raw));
	memset(&t->second, 0, sizeof(t->second));
	t->raw.frag.data = t->raw_data;
	t->raw.frag.size = a + 1;
	sum = a + 1;
	if (prandom_u32_state(&t->rnd) % 2) {
		t->raw.frag.next = &t->second;
		last = &t->second;
		last->data = t->raw_data + 64;
		last->size = b + 1;
		sum += b + 1;
		/* As BPF does for what is not in one piece. */
		if (prandom_u32_state(&t->rnd) % 2)
			last->copy = copy_raw;
	}
	t->raw.size = round_up(sum + sizeof(u32), sizeof(u64)) - sizeof(u32);
	/* Shares its place with next; perf_raw_frag_last() tells them apart. */
	last->pad = t->raw.size - sum;
	t->data.raw = &t->raw;
}

static void fill_regs(struct test_context *t, struct perf_regs *regs)
{
	if (prandom_u32_state(&t->rnd) % 4 == 0) {
		regs->abi = PERF_SAMPLE_REGS_ABI_NONE;
		regs->regs = NULL;
	} else {
		regs->abi = PERF_SAMPLE_REGS_ABI_64;
		regs->regs = &t->regs;
	}
}

static void fill(struct test_context *t, u64 type)
{
	struct perf_sample_data *data = &t->data;

	prandom_bytes_state(&t->rnd, data, sizeof(*data));
	prandom_bytes_state(&t->rnd, &t->header, sizeof(t->header));
	data->type = type;
	data->sample_flags = prandom_u32_state(&t->rnd) % 2 ? PERF_SAMPLE_READ : 0;
	data->callchain = (struct perf_callchain_entry *)t->chain;
	data->callchain->nr = prandom_u32_state(&t->rnd) % ARRAY_SIZE(t->chain);
	fill_raw(t);
	data->br_stack = NULL;
	data->br_stack_cntr = NULL;
	if (prandom_u32_state(&t->rnd) % 4) {
		data->br_stack = (struct perf_branch_stack *)t->branches;
		data->br_stack->nr = prandom_u32_state(&t->rnd) % 9;
		if (prandom_u32_state(&t->rnd) % 2)
			data->br_stack_cntr = t->counters;
	}
	t->event->attr.branch_sample_type =
		prandom_u32_state(&t->rnd) % 2 ? PERF_SAMPLE_BRANCH_HW_INDEX : 0;
	fill_regs(t, &data->regs_user);
	fill_regs(t, &data->regs_intr);
	/* Elsewhere it may take an access_ok() to be told that this is no user's stack. */
	data->stack_user_size = IS_ENABLED(CONFIG_X86) ?
				prandom_u32_state(&t->rnd) % 64 * sizeof(u64) : 0;
	data->aux_size = 0;
}

/* Of all places, those around the end of a page more often. */
static unsigned long place(struct test_context *t)
{
	unsigned long page_size = PAGE_SIZE << page_order(t->want.rb);
	unsigned long page = prandom_u32_state(&t->rnd) % TEST_PAGES;
	unsigned long words = page_size / sizeof(u64);

	if (prandom_u32_state(&t->rnd) % 2)
		words = min(words, 48);
	return (page + 1) * page_size -
	       (1 + prandom_u32_state(&t->rnd) % words) * sizeof(u64);
}

static void check_sample(struct kunit *test, u64 type)
{
	struct test_context *t = test->priv;
	unsigned long where = place(t);

	fill(t, type);
	buffer_begin(&t->want, t->event, where);
	buffer_begin(&t->got, t->event, where);
	put_sample(&t->want.handle, &t->header, &t->data, t->event);
	perf_output_sample(&t->got.handle, &t->header, &t->data, t->event);
	KUNIT_EXPECT_TRUE_MSG(test, buffers_equal(t), "sample_type %#llx at %#lx", type, where);
}

static void test_sample_bits(struct kunit *test)
{
	int bit, n;

	check_sample(test, 0);
	for (bit = 0; bit < TEST_BITS; bit++) {
		for (n = 0; n < 20; n++)
			check_sample(test, BIT_ULL(bit));
	}
}

static void test_sample_pairs(struct kunit *test)
{
	int a, b, n;

	for (a = 0; a < TEST_BITS; a++) {
		for (b = 0; b < a; b++) {
			for (n = 0; n < 5; n++)
				check_sample(test, BIT_ULL(a) | BIT_ULL(b));
		}
	}
}

static void test_sample_sets(struct kunit *test)
{
	struct test_context *t = test->priv;
	int n;

	for (n = 0; n < TEST_SETS; n++)
		check_sample(test, prandom_u32_state(&t->rnd) & (PERF_SAMPLE_MAX - 1));
}

/* Each set of these fields, from each place before the end of a page. */
static void test_sample_id(struct kunit *test)
{
	static const u64 bits[] = {
		PERF_SAMPLE_TID, PERF_SAMPLE_TIME, PERF_SAMPLE_ID,
		PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_CPU, PERF_SAMPLE_IDENTIFIER,
	};
	struct test_context *t = test->priv;
	unsigned long where;
	u64 set, type;
	int i;

	for (set = 0; set < BIT(ARRAY_SIZE(bits)); set++) {
		for (type = 0, i = 0; i < ARRAY_SIZE(bits); i++)
			type |= set & BIT(i) ? bits[i] : 0;
		for (where = 8; where <= 64; where += 8) {
			fill(t, type);
			buffer_begin(&t->want, t->event, PAGE_SIZE - where);
			buffer_begin(&t->got, t->event, PAGE_SIZE - where);
			put_sample_id(&t->want.handle, &t->data);
			perf_event__output_id_sample(t->event, &t->got.handle, &t->data);
			KUNIT_EXPECT_TRUE_MSG(test, buffers_equal(t), "%#llx at -%lu",
					      type, where);
		}
	}
}

static u64 test_clock(void)
{
	return 0x123456789abcdef0;
}

/* Record a sample of which nothing is known before, except for what was there. */
static void write_fresh(struct test_context *t, struct test_buffer *b, int junk)
{
	memset(&t->data, junk, sizeof(t->data));
	perf_sample_data_init(&t->data, 0, 1);
	rcu_read_lock();
	perf_prepare_sample(&t->data, t->event, &t->regs);
	perf_output_sample(&b->handle, &t->header, &t->data, t->event);
	rcu_read_unlock();
}

static void check_fresh(struct kunit *test, u64 type)
{
	struct test_context *t = test->priv;
	unsigned long where = place(t);

	/* That takes a buffer of another kind. */
	type &= ~(u64)PERF_SAMPLE_AUX;
#ifndef CONFIG_CGROUP_PERF
	type &= ~(u64)PERF_SAMPLE_CGROUP;
#endif
	t->event->attr.sample_type = type;
	buffer_begin(&t->want, t->event, where);
	buffer_begin(&t->got, t->event, where);
	migrate_disable();
	write_fresh(t, &t->want, 0);
	write_fresh(t, &t->got, 0xa5);
	migrate_enable();
	KUNIT_EXPECT_TRUE_MSG(test, buffers_equal(t), "sample_type %#llx", type);
}

/* No byte of a record comes from what was on the stack before. */
static void test_fresh(struct kunit *test)
{
	struct test_context *t = test->priv;
	int a, b, n;

	for (a = 0; a < TEST_BITS; a++) {
		for (b = 0; b <= a; b++)
			check_fresh(test, BIT_ULL(a) | BIT_ULL(b));
	}
	for (n = 0; n < TEST_SETS; n++)
		check_fresh(test, prandom_u32_state(&t->rnd) & (PERF_SAMPLE_MAX - 1));
}

static void check_pids(struct kunit *test, struct perf_event *event, struct pid_namespace *ns)
{
	struct test_context *t = test->priv;

	guard(rcu)();
	perf_event_header__init(&t->header, &t->data, PERF_RECORD_LOST, 0, 24, event);
	KUNIT_EXPECT_EQ(test, t->data.tid_entry.pid,
			__task_pid_nr_ns(current, PIDTYPE_TGID, ns));
	KUNIT_EXPECT_EQ(test, t->data.tid_entry.tid,
			__task_pid_nr_ns(current, PIDTYPE_PID, ns));
}

/* In a namespace that it is not in a task has the number zero. */
static void test_pids(struct kunit *test)
{
	struct test_context *t = test->priv;
	struct pid_namespace *other;
	struct perf_event *child;

	other = kunit_kzalloc(test, sizeof(*other), GFP_KERNEL);
	child = kunit_kzalloc(test, sizeof(*child), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, other);
	KUNIT_ASSERT_NOT_NULL(test, child);
	other->level = 1;
	child->attr.sample_id_all = 1;
	child->attr.sample_type = PERF_SAMPLE_TID;
	child->parent = t->event;
	t->event->attr.sample_type = PERF_SAMPLE_TID;

	check_pids(test, t->event, &init_pid_ns);
	check_pids(test, child, &init_pid_ns);
	KUNIT_EXPECT_EQ(test, t->data.tid_entry.pid, current->tgid);
	KUNIT_EXPECT_EQ(test, t->data.tid_entry.tid, current->pid);
	t->event->ns = other;
	check_pids(test, t->event, other);
	check_pids(test, child, other);
	KUNIT_EXPECT_EQ(test, t->data.tid_entry.pid, 0);
}

static int test_init(struct kunit *test)
{
	struct test_context *t;
	struct perf_event *event;

	t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, t);
	test->priv = t;
	prandom_seed_state(&t->rnd, TEST_SEED);
	buffer_create(test, &t->want);
	buffer_create(test, &t->got);
	event = kunit_kzalloc(test, sizeof(*event), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, event);
	t->event = event;
	t->ctx = kunit_kzalloc(test, sizeof(*t->ctx), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, t->ctx);

	event->ctx = t->ctx;
	event->ns = &init_pid_ns;
	event->clock = test_clock;
	event->id = 0x4711;
	local64_set(&event->count, 0x1122334455667788);
	atomic64_set(&event->lost_samples, 99);
	event->attr.sample_id_all = 1;
	event->attr.read_format = PERF_FORMAT_ID | PERF_FORMAT_LOST;
	event->attr.sample_regs_user = 0x3f;
	event->attr.sample_regs_intr = 0x1b1;
	event->attr.sample_stack_user = 64;
	/* Wake-ups are not what this is about. */
	event->attr.watermark = 1;

	perf_fetch_caller_regs(&t->regs);
	prandom_bytes_state(&t->rnd, t->raw_data, sizeof(t->raw_data));
	prandom_bytes_state(&t->rnd, t->chain, sizeof(t->chain));
	prandom_bytes_state(&t->rnd, t->branches, sizeof(t->branches));
	prandom_bytes_state(&t->rnd, t->counters, sizeof(t->counters));
	return 0;
}

static struct kunit_case perf_output_test_cases[] = {
	KUNIT_CASE(test_sample_bits),
	KUNIT_CASE(test_sample_pairs),
	KUNIT_CASE_SLOW(test_sample_sets),
	KUNIT_CASE(test_sample_id),
	KUNIT_CASE_SLOW(test_fresh),
	KUNIT_CASE(test_pids),
	{},
};

static struct kunit_suite perf_output_test_suite = {
	.name = "perf_output",
	.test_cases = perf_output_test_cases,
	.init = test_init,
};

kunit_test_suites(&perf_output_test_suite);
