// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for the samples that perf writes into ring buffers. Each sample is written twice,
 * by perf_output_sample(), and field by field by the code below. Both must give the same bytes.
 * Samples of tracepoints are written in three ways: by perf_tp_event() without a plan, by
 * perf_tp_copy(), and in place. All three must give the same bytes.
 */

#include <kunit/test.h>
#include <linux/perf_event.h>
#include <linux/perf_regs.h>
#include <linux/pid_namespace.h>
#include <linux/prandom.h>
#include <linux/sched/clock.h>
#include <linux/trace_events.h>

#include "internal.h"

#define TEST_PAGES	4
#define TEST_SETS	10000
#define TEST_SEED	612

/* Number of bits of sample_type. PERF_SAMPLE_AUX is tested with a size of zero. */
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
	/* Only the first two pages are contiguous in memory. */
	static const int order[TEST_PAGES] = { 0, 1, 3, 2 };
	void *pages;
	int i;

	b->rb = kunit_kzalloc(test, struct_size(b->rb, data_pages, TEST_PAGES), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, b->rb);
	b->rb->nr_pages = TEST_PAGES;
	pages = kunit_kmalloc(test, perf_data_size(b->rb), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, pages);
	for (i = 0; i < TEST_PAGES; i++)
		b->rb->data_pages[i] = pages + order[i] * (PAGE_SIZE << page_order(b->rb));
}

/* Set up the handle like perf_output_begin(). */
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
 * The reference: copy the fields one by one, in the order of the ABI.
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

/* The test runs in a kernel thread, which has no user stack to read. */
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
 * Contents of the samples.
 */

/* Copy function of a fragment */
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
		/* Like BPF for data that is not contiguous */
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
	/* Elsewhere this kernel address may be readable, as there is no access_ok(): size 0. */
	data->stack_user_size = IS_ENABLED(CONFIG_X86) ?
				prandom_u32_state(&t->rnd) % 64 * sizeof(u64) : 0;
	data->aux_size = 0;
}

/* Choose an offset in the buffer, half of the time near the end of a page. */
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

/* Test each set of these fields at each offset just before the end of a page. */
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

/* Write a sample from perf_sample_data that had junk in it before its initialization. */
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

	/* PERF_SAMPLE_AUX needs an AUX buffer. */
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

/* No byte of a record must come from old contents of the stack. */
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

/* A task has pid 0 in a pid namespace that it does not belong to. */
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

/*
 * Samples of tracepoints.
 */
#ifdef CONFIG_EVENT_TRACING

#define TEST_TP_TYPE	4711
#define TEST_TP_WORDS	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP |	\
			 PERF_SAMPLE_TID | PERF_SAMPLE_TIME |		\
			 PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |	\
			 PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD)
#define TEST_TP_USUAL	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP |	\
			 PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_RAW)
#define TEST_TP_WIDE	(TEST_TP_USUAL | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD)

enum test_tp_way { TP_LONG, TP_COPY, TP_PLACE, TP_WAYS };

struct test_tp {
	struct test_buffer	buffer;
	struct perf_event	*event;
	struct hlist_head	head;
	struct trace_event_call	call;
	struct pt_regs		regs;
	struct rnd_state	rnd;
	/* The start conditions of all three ways. */
	unsigned long		offset;
	unsigned long		tail;
	unsigned int		size;
	long			lost;
	u64			count;
	u64			interrupts;
	u64			record[32];
	struct perf_sample_data	data;
	/* The result of each way. */
	struct {
		u8			*data;
		struct perf_event_mmap_page user_page;
		unsigned long		head;
		long			lost;
		u64			count;
		u64			time;
	} end[TP_WAYS];
	unsigned int		planned;
	unsigned int		in_place;
	unsigned int		across;
	bool			no_plan;
	/* The struct of the next event on the list, or NULL */
	struct test_tp		*next;
};

static void tp_set_type(struct perf_event *event, u64 type, bool backward)
{
	const u64 early = PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD;

	event->attr.sample_type = type;
	event->attr.write_backward = backward;
	event->overflow_handler = backward ? perf_event_output_backward :
					     perf_event_output_forward;
	/* Like perf_event__header_size() and perf_event__id_header_size() */
	event->header_size = hweight64(type & early) * sizeof(u64);
	event->id_header_size = hweight64(type & TEST_TP_WORDS & ~early) * sizeof(u64);
}

static void tp_buffer(struct kunit *test, struct test_tp *tp)
{
	int way;

	buffer_create(test, &tp->buffer);
	tp->buffer.rb->user_page = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, tp->buffer.rb->user_page);
	for (way = 0; way < TP_WAYS; way++) {
		tp->end[way].data = kunit_kmalloc(test, perf_data_size(tp->buffer.rb),
						  GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, tp->end[way].data);
	}
	tp->event->rb = tp->buffer.rb;
}

/* Make the registers look like those of user space, on x86 only. */
static void tp_set_user(struct test_tp *tp, bool user)
{
#ifdef CONFIG_X86
	tp->regs.cs = user ? __USER_CS : __KERNEL_CS;
#endif
}

KUNIT_DEFINE_ACTION_WRAPPER(tp_release, perf_event_release_kernel, struct perf_event *);

/* Temporary buffers exist as long as any event of a tracepoint does. Which one is all the same. */
static void tp_hold_buffers(struct kunit *test)
{
	struct perf_event_attr attr = {
		.type		= PERF_TYPE_TRACEPOINT,
		.size		= sizeof(attr),
		.disabled	= 1,
	};
	struct perf_event *event;

	/* Skip 1, ftrace:function, which would trace all functions. */
	attr.config = 1;
	do {
		attr.config++;
		event = perf_event_create_kernel_counter(&attr, 0, NULL, NULL, NULL);
	} while (IS_ERR(event) && attr.config < U16_MAX);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, event);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, tp_release, event));
}

static struct test_tp *tp_create(struct kunit *test)
{
	struct test_context *t = test->priv;
	struct perf_event *event = t->event;
	struct test_tp *tp;

	tp = kunit_kzalloc(test, sizeof(*tp), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, tp);
	tp->event = event;
	tp->call.event.type = TEST_TP_TYPE;
	tp_buffer(test, tp);
	prandom_seed_state(&tp->rnd, TEST_SEED);
	perf_fetch_caller_regs(&tp->regs);

	event->tp_event = &tp->call;
	event->state = PERF_EVENT_STATE_ACTIVE;
	event->attr.sample_period = 1;
	event->hw.sample_period = 1;
	event->hw.last_period = 1;
	tp_set_type(event, TEST_TP_USUAL, true);
	INIT_HLIST_HEAD(&tp->head);
	hlist_add_head(&event->hlist_entry, &tp->head);
	tp_hold_buffers(test);
	return tp;
}

static void tp_event(struct test_tp *tp)
{
	perf_tp_event(TEST_TP_TYPE, tp->count, tp->record, tp->size, &tp->regs, &tp->head,
		      perf_swevent_get_recursion_context(), NULL);
}

static void tp_in_place(struct test_tp *tp)
{
	const size_t head = sizeof(struct trace_entry);
	struct perf_tp_sample sample;
	void *to;

	to = perf_tp_begin_in_place(&sample, &tp->head, tp->size, &tp->regs);
	if (!to) {
		tp_event(tp);
		return;
	}
	tp->in_place++;
	tp->across += offset_in_page(to - tp->event->tp_size) + tp->event->tp_size + tp->size >
		      PAGE_SIZE;
	memcpy(to + head, (void *)tp->record + head, tp->size - head);
	perf_tp_end(&sample);
}

/* Clear the time, the only field that differs, and return it. */
static u64 tp_take_time(struct test_tp *tp)
{
	struct perf_buffer *rb = tp->buffer.rb;
	unsigned long place = local_read(&rb->head) & (perf_data_size(rb) - 1);
	unsigned long page_size = PAGE_SIZE << page_order(rb);
	const int time = 4 * sizeof(u64);
	u64 *p, value;

	place = (place + time) & (perf_data_size(rb) - 1);
	p = rb->data_pages[place / page_size] + place % page_size;
	value = *p;
	*p = 0;
	return value;
}

static void tp_prepare(struct test_tp *tp, enum test_tp_way way)
{
	struct perf_buffer *rb = tp->buffer.rb;
	unsigned long page_size = PAGE_SIZE << page_order(rb);
	unsigned long flags;
	int i;

	for (i = 0; i < TEST_PAGES; i++)
		memset(rb->data_pages[i], 0xee, page_size);
	memset(rb->user_page, 0, sizeof(*rb->user_page));
	rb->user_page->data_tail = tp->tail;
	local_set(&rb->head, tp->offset);
	local_set(&rb->lost, tp->lost);
	/* Do not wake up readers. */
	local_set(&rb->wakeup, tp->event->attr.write_backward ? -tp->offset : tp->offset);
	rb->watermark = LONG_MAX;
	local64_set(&tp->event->count, 0);
	local64_set(&tp->event->hw.period_left, 0);
	tp->event->hw.interrupts = tp->interrupts;

	local_irq_save(flags);
	tp->event->tp_plan = 0;
	if (way != TP_LONG && !tp->no_plan)
		perf_tp_plan_make(tp->event);
	local_irq_restore(flags);
	tp->planned += !!tp->event->tp_plan;
}

static void tp_keep(struct test_tp *tp, enum test_tp_way way, bool take_time)
{
	struct perf_buffer *rb = tp->buffer.rb;
	unsigned long page_size = PAGE_SIZE << page_order(rb);
	int i;

	tp->end[way].time = take_time ? tp_take_time(tp) : 0;
	for (i = 0; i < TEST_PAGES; i++)
		memcpy(tp->end[way].data + i * page_size, rb->data_pages[i], page_size);
	tp->end[way].user_page = *rb->user_page;
	tp->end[way].head = local_read(&rb->head);
	tp->end[way].lost = local_read(&rb->lost);
	tp->end[way].count = local64_read(&tp->event->count);
}

static void tp_write(struct test_tp *tp, enum test_tp_way way, bool take_time)
{
	preempt_disable();
	if (tp->next)
		tp_prepare(tp->next, way);
	tp_prepare(tp, way);
	if (way == TP_PLACE && tp->count == 1)
		tp_in_place(tp);
	else
		tp_event(tp);
	preempt_enable();
	tp_keep(tp, way, take_time);
	if (tp->next)
		tp_keep(tp->next, way, take_time);
}

/* Flags of an entry include the need to reschedule, which can come up at any time. */
static unsigned int tp_resched(void)
{
	return tracing_gen_ctx_irq_test(0);
}

/* Write in all three ways on one CPU. Repeat if the need to reschedule changed meanwhile. */
static void tp_write_all(struct test_tp *tp, bool take_time)
{
	unsigned int planned = tp->planned, in_place = tp->in_place, across = tp->across;
	unsigned int resched;
	bool same;
	int way;

	do {
		tp->planned = planned;
		tp->in_place = in_place;
		tp->across = across;
		preempt_disable();
		resched = tp_resched();
		for (way = 0; way < TP_WAYS; way++)
			tp_write(tp, way, take_time);
		same = tp_resched() == resched;
		preempt_enable();
	} while (!same);
}

static bool tp_equal(struct test_tp *tp, enum test_tp_way a, enum test_tp_way b)
{
	return tp->end[a].head == tp->end[b].head && tp->end[a].lost == tp->end[b].lost &&
	       tp->end[a].count == tp->end[b].count &&
	       !memcmp(&tp->end[a].user_page, &tp->end[b].user_page,
		       sizeof(tp->end[a].user_page)) &&
	       !memcmp(tp->end[a].data, tp->end[b].data, perf_data_size(tp->buffer.rb));
}

static void tp_check(struct kunit *test, struct test_tp *tp, bool take_time)
{
	u64 type = tp->event->attr.sample_type;
	u64 before = local_clock(), after;
	int way;

	tp_write_all(tp, take_time);
	after = local_clock();
	KUNIT_EXPECT_TRUE_MSG(test, tp_equal(tp, TP_LONG, TP_COPY),
			      "copy: sample_type %#llx at %#lx", type, tp->offset);
	KUNIT_EXPECT_TRUE_MSG(test, tp_equal(tp, TP_LONG, TP_PLACE),
			      "in place: sample_type %#llx at %#lx", type, tp->offset);
	for (way = 0; take_time && way < TP_WAYS; way++) {
		KUNIT_EXPECT_GE(test, tp->end[way].time, before);
		KUNIT_EXPECT_LE(test, tp->end[way].time, after);
	}
}

static void tp_fill(struct test_tp *tp)
{
	struct perf_buffer *rb = tp->buffer.rb;
	unsigned long page_size = PAGE_SIZE << page_order(rb);
	unsigned long words = perf_data_size(rb) / sizeof(u64);

	/* Choose an offset in the buffer, half of the time near the start of a page. */
	tp->offset = prandom_u32_state(&tp->rnd) % words * sizeof(u64);
	if (prandom_u32_state(&tp->rnd) % 2)
		tp->offset = round_down(tp->offset, page_size) +
			     prandom_u32_state(&tp->rnd) % 64 * sizeof(u64);
	tp->tail = tp->offset;
	/* With the u32 of its size, a record is a multiple of eight. It has at least the entry. */
	tp->size = (2 + prandom_u32_state(&tp->rnd) % 24) * sizeof(u64) - sizeof(u32);
	tp->count = 1;
	prandom_bytes_state(&tp->rnd, tp->record, sizeof(tp->record));
}

/* Test sets of fields that a plan can have, in both directions, with and without room. */
static void test_tp_layouts(struct kunit *test)
{
	struct test_tp *tp = tp_create(test);
	struct perf_buffer *rb = tp->buffer.rb;
	int n;

	for (n = 0; n < TEST_SETS; n++) {
		u64 type = prandom_u32_state(&tp->rnd) & TEST_TP_WORDS;
		bool backward = prandom_u32_state(&tp->rnd) % 2;

		/* Set PERF_SAMPLE_IDENTIFIER more often. */
		if (prandom_u32_state(&tp->rnd) % 2)
			type |= PERF_SAMPLE_IDENTIFIER;
		tp_set_type(tp->event, type | PERF_SAMPLE_RAW, backward);
		tp_fill(tp);
		if (prandom_u32_state(&tp->rnd) % 8 == 0)
			tp->count = 1 + prandom_u32_state(&tp->rnd) %
					(type & PERF_SAMPLE_PERIOD ? S32_MAX : 4);
		tp_set_user(tp, prandom_u32_state(&tp->rnd) % 4 == 0);
		rb->overwrite = prandom_u32_state(&tp->rnd) % 2;
		rb->paused = prandom_u32_state(&tp->rnd) % 16 == 0;
		tp->lost = prandom_u32_state(&tp->rnd) % 16 == 0;
		if (!rb->overwrite && prandom_u32_state(&tp->rnd) % 2)
			tp->tail = tp->offset + (backward ? -1 : 1) *
				   (prandom_u32_state(&tp->rnd) % 32 * sizeof(u64) -
				    perf_data_size(rb));
		tp_check(test, tp, false);
	}
	KUNIT_EXPECT_EQ(test, tp->planned, 2 * TEST_SETS);
	if (perf_tp_has_in_place()) {
		KUNIT_EXPECT_GT(test, tp->in_place, TEST_SETS / 2);
		KUNIT_EXPECT_GT(test, tp->across, TEST_SETS / 100);
	}
}

/* Test the plans with specialized code. They use the real clock. */
static void test_tp_usual(struct kunit *test)
{
	struct test_tp *tp = tp_create(test);
	int n;

	tp->event->clock = local_clock;
	tp->event->attr.use_clockid = 0;
	tp->buffer.rb->overwrite = 1;
	for (n = 0; n < TEST_SETS; n++) {
		tp_set_type(tp->event, n % 2 ? TEST_TP_WIDE : TEST_TP_USUAL, true);
		tp_fill(tp);
		tp_check(test, tp, true);
	}
	KUNIT_EXPECT_EQ(test, tp->planned, 2 * TEST_SETS);
	if (perf_tp_has_in_place()) {
		KUNIT_EXPECT_GT(test, tp->in_place, TEST_SETS / 2);
		KUNIT_EXPECT_GT(test, tp->across, TEST_SETS / 100);
	}
}

/* Flags of an entry tell about interrupts, also when they are disabled. */
static void test_tp_flags(struct kunit *test)
{
	static const unsigned int contexts[] = {
		0, SOFTIRQ_OFFSET, SOFTIRQ_DISABLE_OFFSET, HARDIRQ_OFFSET,
		HARDIRQ_OFFSET + SOFTIRQ_OFFSET, 3 * PREEMPT_OFFSET, 20 * PREEMPT_OFFSET,
	};
	/* These flags can change at any time. */
	const unsigned int resched = (TRACE_FLAG_NEED_RESCHED | TRACE_FLAG_NEED_RESCHED_LAZY |
				      TRACE_FLAG_PREEMPT_RESCHED) << 16;
	struct test_tp *tp = tp_create(test);
	unsigned int inlined, full;
	unsigned long flags;
	int i, way, off;

	if (!perf_tp_has_in_place())
		kunit_skip(test, "no records in place");

	tp->buffer.rb->overwrite = 1;
	for (i = 0; i < ARRAY_SIZE(contexts); i++) {
		for (way = 0; way < 4; way++) {
			off = way % 2;
			tp_fill(tp);
			tp->offset = PAGE_SIZE;
			/* Let the record cross two pages. */
			if (way / 2)
				tp->offset += sizeof(u64);
			if (off)
				local_irq_save(flags);
			/*
			 * Only preempt_count() tells that this is an interrupt. The helpers
			 * with debug checks do not allow such values, so use the raw ones.
			 */
			__preempt_count_add(contexts[i]);
			tp_write_all(tp, false);
			inlined = tracing_gen_ctx_irq_test(0) & ~resched;
			full = __tracing_gen_ctx_irq_test(0) & ~resched;
			__preempt_count_sub(contexts[i]);
			if (off)
				local_irq_restore(flags);
			KUNIT_EXPECT_TRUE_MSG(test, tp_equal(tp, TP_LONG, TP_PLACE),
					      "context %#x, interrupts %s", contexts[i],
					      off ? "off" : "on");
			KUNIT_EXPECT_EQ_MSG(test, inlined, full, "context %#x", contexts[i]);
		}
	}
	KUNIT_EXPECT_EQ(test, tp->in_place, 4 * ARRAY_SIZE(contexts));
	KUNIT_EXPECT_EQ(test, tp->across, 2 * ARRAY_SIZE(contexts));

	/* Test the real functions that disable bottom halves and migration, too. */
	local_bh_disable();
	inlined = tracing_gen_ctx_irq_test(0) & ~resched;
	full = __tracing_gen_ctx_irq_test(0) & ~resched;
	local_bh_enable();
	KUNIT_EXPECT_EQ(test, inlined, full);
	migrate_disable();
	inlined = tracing_gen_ctx_irq_test(0) & ~resched;
	full = __tracing_gen_ctx_irq_test(0) & ~resched;
	migrate_enable();
	KUNIT_EXPECT_EQ(test, inlined, full);
}

/*
 * With several events, the record of the first one is written in place, and the others get
 * copies: in their own buffer or in the same one, with a plan or without.
 */
static void test_tp_several(struct kunit *test)
{
	struct test_tp *tp = tp_create(test), *next;
	struct perf_event *first = tp->event;
	bool usual, shared, backward, next_backward;
	int n;

	next = kunit_kmalloc(test, sizeof(*next), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, next);
	*next = *tp;
	next->event = kunit_kmalloc(test, sizeof(*first), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, next->event);
	*next->event = *first;
	next->event->id = first->id + 1;
	tp_buffer(test, next);
	hlist_add_behind(&next->event->hlist_entry, &first->hlist_entry);
	tp->next = next;

	for (n = 0; n < TEST_SETS; n++) {
		u64 type = TEST_TP_USUAL, next_type = type;

		/* Use the plan of test_tp_usual(), or a random one. */
		usual = prandom_u32_state(&tp->rnd) % 2;
		/* In a shared buffer, the copy is written before the first record ends. */
		shared = !usual && prandom_u32_state(&tp->rnd) % 2;
		backward = usual || prandom_u32_state(&tp->rnd) % 2;
		next_backward = backward;
		if (!usual) {
			type &= ~PERF_SAMPLE_TIME;
			next_type = type | (prandom_u32_state(&tp->rnd) & TEST_TP_WORDS);
		}
		if (!usual && !shared)
			next_backward = prandom_u32_state(&tp->rnd) % 2;
		tp_set_type(first, type, backward);
		tp_set_type(next->event, next_type, next_backward);
		first->clock = usual ? local_clock : test_clock;
		first->attr.use_clockid = !usual;
		next->event->clock = first->clock;
		next->event->attr.use_clockid = !usual;
		next->event->rb = (shared ? tp : next)->buffer.rb;
		next->no_plan = prandom_u32_state(&tp->rnd) % 2;
		tp_set_user(tp, prandom_u32_state(&tp->rnd) % 4 == 0);
		/* The second event may exclude hits in the kernel. */
		next->event->attr.exclude_kernel = prandom_u32_state(&tp->rnd) % 8 == 0;
		tp_fill(tp);
		next->offset = tp->offset ^ PAGE_SIZE;
		next->tail = next->offset;
		tp->buffer.rb->overwrite = usual || prandom_u32_state(&tp->rnd) % 2;
		next->buffer.rb->overwrite = usual || prandom_u32_state(&tp->rnd) % 2;
		next->buffer.rb->paused = prandom_u32_state(&tp->rnd) % 16 == 0;
		/* A LOST record would move the time from where tp_take_time() looks for it. */
		next->lost = !usual && prandom_u32_state(&tp->rnd) % 16 == 0;
		tp_check(test, tp, usual);
		KUNIT_EXPECT_TRUE_MSG(test, tp_equal(next, TP_LONG, TP_COPY),
				      "copy: sample_type %#llx at %#lx", next_type, next->offset);
		KUNIT_EXPECT_TRUE_MSG(test, tp_equal(next, TP_LONG, TP_PLACE),
				      "after one in place: sample_type %#llx at %#lx", next_type,
				      next->offset);
		KUNIT_EXPECT_EQ(test, next->end[TP_PLACE].count,
				!next->event->attr.exclude_kernel || user_mode(&tp->regs));
	}
	if (perf_tp_has_in_place())
		KUNIT_EXPECT_GT(test, tp->in_place, TEST_SETS / 2);
}

/* If other CPUs write to the buffer, records are not written in place. */
static void test_tp_shared(struct kunit *test)
{
	struct test_tp *tp = tp_create(test);
	struct perf_buffer *rb = tp->buffer.rb;

	if (!perf_tp_has_in_place())
		kunit_skip(test, "no records in place");

	rb->overwrite = 1;
	for (rb->shared = 0; rb->shared < 2; rb->shared++) {
		tp->in_place = 0;
		tp_fill(tp);
		tp->offset = PAGE_SIZE;
		tp_check(test, tp, false);
		KUNIT_EXPECT_EQ(test, tp->in_place, !rb->shared);
	}
}

/* A record that is being written in place stays intact, whatever an NMI handler writes. */
static void test_tp_interrupted(struct kunit *test)
{
	struct test_tp *tp = tp_create(test);
	struct perf_buffer *rb = tp->buffer.rb;
	struct perf_output_handle handle;
	struct perf_tp_sample sample;
	u64 words[8] = {}, *place;
	int backward, way, n, written;

	if (!perf_tp_has_in_place())
		kunit_skip(test, "no records in place");

	rb->overwrite = 1;
	for (way = 0; way < 4; way++) {
		backward = way % 2;
		tp_set_type(tp->event, TEST_TP_USUAL, backward);
		tp_fill(tp);
		if (way / 2)
			tp->offset = PAGE_SIZE + (backward ? 1 : -1) * sizeof(words);
		else
			tp->offset = 3 * PAGE_SIZE + PAGE_SIZE / 2;
		tp_write(tp, TP_COPY, false);
		local_set(&rb->head, tp->offset);
		/* The NMI handler's records fill the rest of the buffer exactly. */
		tp->size = 4 * sizeof(words) - tp->event->tp_size;

		preempt_disable();
		place = perf_tp_begin_in_place(&sample, &tp->head, tp->size, &tp->regs);
		if (place) {
			memcpy(place, tp->record, tp->size);
			for (n = 0, written = 0; n < 1000; n++) {
				if (perf_output_begin(&handle, &tp->data, tp->event,
						      sizeof(words)))
					break;
				perf_output_copy(&handle, words, sizeof(words));
				perf_output_end(&handle);
				written++;
			}
			n = memcmp(place, tp->record, tp->size);
			perf_tp_end(&sample);
		}
		preempt_enable();
		KUNIT_ASSERT_NOT_NULL(test, place);
		KUNIT_EXPECT_EQ(test, n, 0);
		/* These records filled all the rest of the buffer. */
		KUNIT_EXPECT_EQ(test, written, (perf_data_size(rb) - tp->event->tp_size -
						tp->size) / sizeof(words));
		KUNIT_EXPECT_EQ(test, local_read(&rb->lost), 1);
		KUNIT_EXPECT_EQ(test, rb->user_page->data_head, local_read(&rb->head));
		KUNIT_EXPECT_EQ(test, rb->nest, 0);

		/* Afterwards others can write again. */
		KUNIT_EXPECT_EQ(test, perf_output_begin(&handle, &tp->data, tp->event,
							sizeof(words)), 0);
		perf_output_copy(&handle, words, sizeof(words));
		perf_output_end(&handle);
	}
}

/* A task that dies while it fills in a record keeps nobody from writing and reading others. */
static void test_tp_abandoned(struct kunit *test)
{
	struct test_tp *tp = tp_create(test);
	struct perf_buffer *rb = tp->buffer.rb;
	struct perf_tp_sample sample;
	void *died, *next, *later;

	if (!perf_tp_has_in_place())
		kunit_skip(test, "no records in place");

	rb->overwrite = 1;
	tp_fill(tp);
	tp->offset = PAGE_SIZE;
	tp_write(tp, TP_COPY, false);
	local_set(&rb->head, tp->offset);
	preempt_disable();
	died = perf_tp_begin_in_place(&sample, &tp->head, tp->size, &tp->regs);
	if (died) {
		/* An oops leaves interrupts enabled, and the guard is the dead task's. */
		local_irq_restore(sample.flags);
		current->perf_recursion[sample.rctx] = 0;
	}
	/* The next record goes the long way, and publishes both. */
	next = perf_tp_begin_in_place(&sample, &tp->head, tp->size, &tp->regs);
	if (next)
		perf_tp_end(&sample);
	else
		tp_event(tp);
	KUNIT_EXPECT_EQ(test, rb->user_page->data_head, local_read(&rb->head));
	later = perf_tp_begin_in_place(&sample, &tp->head, tp->size, &tp->regs);
	if (later)
		perf_tp_end(&sample);
	preempt_enable();
	KUNIT_EXPECT_NOT_NULL(test, died);
	KUNIT_EXPECT_NULL(test, next);
	KUNIT_EXPECT_NOT_NULL(test, later);
	KUNIT_EXPECT_EQ(test, rb->nest, 0);
	KUNIT_EXPECT_EQ(test, rb->user_page->data_head, local_read(&rb->head));
}

static u32 tp_make(struct perf_event *event)
{
	event->tp_plan = 0;
	guard(irqsave)();
	perf_tp_plan_make(event);
	return event->tp_plan;
}

/* Test each condition that keeps an event from having a plan. */
static void test_tp_plan(struct kunit *test)
{
	struct test_tp *tp = tp_create(test);
	struct perf_event *event = tp->event;
	u32 usual;

	tp_set_type(event, TEST_TP_WIDE, true);

#define expect_no_plan(set, unset)					\
do {									\
	set;								\
	KUNIT_EXPECT_EQ_MSG(test, tp_make(event), 0, #set);		\
	unset;								\
	KUNIT_EXPECT_EQ_MSG(test, tp_make(event), usual, #unset);	\
} while (0)

	usual = tp_make(event);
	KUNIT_EXPECT_NE(test, usual, 0);
	expect_no_plan(tp_set_type(event, TEST_TP_WIDE | PERF_SAMPLE_CALLCHAIN, true),
		       tp_set_type(event, TEST_TP_WIDE, true));
	expect_no_plan(tp_set_type(event, TEST_TP_WIDE & ~PERF_SAMPLE_RAW, true),
		       tp_set_type(event, TEST_TP_WIDE, true));
	expect_no_plan(event->attr.sample_period = 0, event->attr.sample_period = 1);
	expect_no_plan(event->attr.freq = 1, event->attr.freq = 0);
	expect_no_plan(event->attr.sigtrap = 1, event->attr.sigtrap = 0);
	expect_no_plan(event->attr.aux_pause = 1, event->attr.aux_pause = 0);
	expect_no_plan(event->attr.aux_resume = 1, event->attr.aux_resume = 0);
	expect_no_plan(event->attr.exclude_kernel = 1, event->attr.exclude_kernel = 0);
	expect_no_plan((event->attr.watermark = 0, event->attr.wakeup_events = 1),
		       (event->attr.watermark = 1, event->attr.wakeup_events = 0));
	expect_no_plan(atomic_set(&event->event_limit, 1), atomic_set(&event->event_limit, 0));
	expect_no_plan(event->fasync = (void *)1, event->fasync = NULL);
	expect_no_plan(event->hw.state = PERF_HES_STOPPED, event->hw.state = 0);
	expect_no_plan(event->parent = event, event->parent = NULL);
	expect_no_plan(event->ns = NULL, event->ns = &init_pid_ns);
	expect_no_plan(event->overflow_handler = NULL,
		       event->overflow_handler = perf_event_output_backward);

	/* Without PERF_SAMPLE_PERIOD, a period above one skips hits. */
	tp_set_type(event, TEST_TP_USUAL, true);
	usual = tp_make(event);
	KUNIT_EXPECT_NE(test, usual, 0);
	expect_no_plan(event->hw.sample_period = 4, event->hw.sample_period = 1);

	/* A record that must pass a filter first is not written in place. */
	event->filter = (void *)1;
	KUNIT_EXPECT_NE(test, tp_make(event), 0);
	KUNIT_EXPECT_EQ(test, tp_make(event) != usual, perf_tp_has_in_place());
	event->filter = NULL;

	perf_tp_plan_clear(event);
	KUNIT_EXPECT_EQ(test, event->tp_plan, 0);
}

static DEFINE_PER_CPU(struct hlist_head, tp_heads);

static int tp_reg(struct trace_event_call *call, enum trace_reg type, void *data)
{
	return 0;
}

/* The PMU makes a plan when it adds or starts an event, and clears it when it stops it. */
static void test_tp_pmu(struct kunit *test)
{
	struct trace_event_class class = { .reg = tp_reg };
	struct test_tp *tp = tp_create(test);
	struct perf_event *event = tp->event;
	u32 added, stopped, started, deleted;

	tp->call.class = &class;
	tp->call.perf_events = &tp_heads;
	hlist_del_init(&event->hlist_entry);
	scoped_guard(irqsave) {
		perf_trace_add(event, PERF_EF_START);
		added = event->tp_plan;
		perf_trace_stop(event, PERF_EF_UPDATE);
		stopped = event->tp_plan;
		perf_trace_start(event, PERF_EF_RELOAD);
		started = event->tp_plan;
		perf_trace_del(event, 0);
		deleted = event->tp_plan;
	}
	KUNIT_EXPECT_NE(test, added, 0);
	KUNIT_EXPECT_EQ(test, stopped, 0);
	KUNIT_EXPECT_EQ(test, started, added);
	KUNIT_EXPECT_EQ(test, deleted, 0);
	KUNIT_EXPECT_TRUE(test, hlist_empty(raw_cpu_ptr(&tp_heads)));
}

/*
 * A throttled event takes no samples, with a plan or without. Only hits with a count that is
 * not in the samples throttle an event, and such hits are not written in place.
 */
static void test_tp_throttled(struct kunit *test)
{
	struct test_tp *tp = tp_create(test);
	struct perf_event *event = tp->event;

	tp_set_type(event, TEST_TP_USUAL, true);
	tp->buffer.rb->overwrite = 1;
	tp_fill(tp);
	tp->interrupts = MAX_INTERRUPTS;
	tp_write_all(tp, false);
	KUNIT_EXPECT_EQ(test, tp->end[TP_LONG].head, tp->offset);
	KUNIT_EXPECT_TRUE(test, tp_equal(tp, TP_LONG, TP_COPY));
	tp->interrupts = 0;
	tp_write_all(tp, false);
	KUNIT_EXPECT_NE(test, tp->end[TP_LONG].head, tp->offset);
}

/* Records of an exiting task do not have the pids that it has lost, in any of the ways. */
static void test_tp_exiting(struct kunit *test)
{
	struct test_tp *tp = tp_create(test);
	struct pid *pid = current->thread_pid;

	tp->buffer.rb->overwrite = 1;
	tp_fill(tp);
	tp->offset = PAGE_SIZE;
	preempt_disable();
	WRITE_ONCE(current->thread_pid, NULL);
	tp_write_all(tp, false);
	WRITE_ONCE(current->thread_pid, pid);
	preempt_enable();
	KUNIT_EXPECT_EQ(test, tp->in_place, 0);
	KUNIT_EXPECT_TRUE(test, tp_equal(tp, TP_LONG, TP_COPY));
	KUNIT_EXPECT_TRUE(test, tp_equal(tp, TP_LONG, TP_PLACE));
}

#endif /* CONFIG_EVENT_TRACING */

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
	event->attr.use_clockid = 1;
	event->id = 0x4711;
	local64_set(&event->count, 0x1122334455667788);
	atomic64_set(&event->lost_samples, 99);
	event->attr.sample_id_all = 1;
	event->attr.read_format = PERF_FORMAT_ID | PERF_FORMAT_LOST;
	event->attr.sample_regs_user = 0x3f;
	event->attr.sample_regs_intr = 0x1b1;
	event->attr.sample_stack_user = 64;
	/* Do not test wake-ups. */
	event->attr.watermark = 1;

	perf_fetch_caller_regs(&t->regs);
	prandom_bytes_state(&t->rnd, t->raw_data, sizeof(t->raw_data));
	prandom_bytes_state(&t->rnd, t->chain, sizeof(t->chain));
	prandom_bytes_state(&t->rnd, t->branches, sizeof(t->branches));
	prandom_bytes_state(&t->rnd, t->counters, sizeof(t->counters));
	return 0;
}

/* With pages of 64K, buffers can have more bytes than an int can count. */
static void test_data_size(struct kunit *test)
{
	struct perf_buffer *rb = kunit_kzalloc(test, sizeof(*rb), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, rb);
	if (BITS_PER_LONG == 32)
		kunit_skip(test, "no buffer is so large");
	rb->nr_pages = 1 << (31 - PAGE_SHIFT);
	KUNIT_EXPECT_EQ(test, perf_data_size(rb), 1UL << 31);
}

static struct kunit_case perf_output_test_cases[] = {
	KUNIT_CASE(test_data_size),
	KUNIT_CASE(test_sample_bits),
	KUNIT_CASE(test_sample_pairs),
	KUNIT_CASE_SLOW(test_sample_sets),
	KUNIT_CASE(test_sample_id),
	KUNIT_CASE_SLOW(test_fresh),
	KUNIT_CASE(test_pids),
#ifdef CONFIG_EVENT_TRACING
	KUNIT_CASE_SLOW(test_tp_layouts),
	KUNIT_CASE_SLOW(test_tp_usual),
	KUNIT_CASE(test_tp_flags),
	KUNIT_CASE(test_tp_several),
	KUNIT_CASE(test_tp_shared),
	KUNIT_CASE(test_tp_interrupted),
	KUNIT_CASE(test_tp_abandoned),
	KUNIT_CASE(test_tp_plan),
	KUNIT_CASE(test_tp_pmu),
	KUNIT_CASE(test_tp_throttled),
	KUNIT_CASE(test_tp_exiting),
#endif
	{},
};

static struct kunit_suite perf_output_test_suite = {
	.name = "perf_output",
	.test_cases = perf_output_test_cases,
	.init = test_init,
};

kunit_test_suites(&perf_output_test_suite);
