// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for reading, widening and printing records. Whatever a record contains, the
 * code must not read beyond its end, and must not make up values that it does not have.
 */

#include <kunit/test.h>
#include <linux/perf_event.h>
#include <linux/pid_namespace.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <linux/threads.h>
#include <linux/trace_events.h>

#include "read.h"
#include "read_data.h"

#define TEST_ID		42
#define TEST_TID	7
#define TEST_TIME	1000
#define TEST_WORDS	16

/* One record, in memory of exactly its size, so that KASAN detects reads beyond its end */
struct test_copy {
	struct perf_copy		copy;
	struct perf_copy_events		*events;
	struct perf_event_header	*header;
	u64				*words;
	u32				start;
};

static struct test_copy *new_copy(struct kunit *test, u64 sample_type, u32 type, unsigned int nr)
{
	struct test_copy *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	size_t size = sizeof(*t->header) + nr * sizeof(u64);

	KUNIT_ASSERT_NOT_NULL(test, t);
	t->events = kunit_kzalloc(test, struct_size(t->events, all, 1), GFP_KERNEL);
	t->header = kunit_kzalloc(test, size, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, t->events);
	KUNIT_ASSERT_NOT_NULL(test, t->header);

	t->events->max = 1;
	t->events->nr = 1;
	t->events->all[0] = (struct perf_copy_event){
		.id		= TEST_ID,
		.owner		= TEST_ID,
		.writers	= 1,
		.names		= true,
		.attr		= { .sample_type = sample_type, .sample_id_all = 1 },
		.pid_ns		= &init_pid_ns,
		.name		= "test",
	};
	t->header->type = type;
	t->header->size = size;
	t->words = (void *)(t->header + 1);
	t->copy = (struct perf_copy){
		.owner	= TEST_ID,
		.cpu	= 3,
		.whole	= true,
		.nr	= 1,
		.len	= size,
		.data	= t->header,
		.starts	= &t->start,
	};
	return t;
}

static void read_copy(struct test_copy *t, struct perf_copy_record *record)
{
	perf_copy_read(&t->copy, t->events, 0, record);
}

static u64 pair(u32 first, u32 second)
{
	u32 both[] = { first, second };
	u64 word;

	memcpy(&word, both, sizeof(word));
	return word;
}

static void size_test(struct kunit *test)
{
	u64 *data = kunit_kzalloc(test, 2 * sizeof(*data), GFP_KERNEL);
	static const u16 bad[] = { 0, 1, 7, 9, 12, 24, U16_MAX };
	struct perf_event_header *header = (void *)data;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, data);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		header->size = bad[i];
		KUNIT_EXPECT_NULL_MSG(test, perf_next_record(data, 16, 0), "%u", bad[i]);
	}
	header->size = 16;
	KUNIT_EXPECT_PTR_EQ(test, header, perf_next_record(data, 16, 0));
	KUNIT_EXPECT_NULL(test, perf_next_record(data, 15, 0));
	KUNIT_EXPECT_NULL(test, perf_next_record(data, 16, 16));
	KUNIT_EXPECT_NULL(test, perf_next_record(NULL, 0, 0));
}

/* A header and nothing else */
static void empty_test(struct kunit *test)
{
	struct perf_copy_record record;
	struct test_copy *t;

	t = new_copy(test, PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID, PERF_RECORD_SAMPLE, 0);
	read_copy(t, &record);
	KUNIT_EXPECT_NULL(test, record.event);
	KUNIT_EXPECT_FALSE(test, record.has_tid);
	KUNIT_EXPECT_EQ(test, 3, record.cpu);

	t = new_copy(test, PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_READ |
		     PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW, PERF_RECORD_SAMPLE, 0);
	t->events->all[0].attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID;
	read_copy(t, &record);
	KUNIT_EXPECT_PTR_EQ(test, &t->events->all[0], (struct perf_copy_event *)record.event);
	KUNIT_EXPECT_FALSE(test, record.has_tid);
	KUNIT_EXPECT_FALSE(test, record.has_time);
	KUNIT_EXPECT_EQ(test, 0, record.nr_ips);
	KUNIT_EXPECT_NULL(test, record.raw);

	t = new_copy(test, PERF_SAMPLE_TID | PERF_SAMPLE_TIME, PERF_RECORD_LOST, 1);
	read_copy(t, &record);
	KUNIT_EXPECT_FALSE(test, record.has_tid);
	KUNIT_EXPECT_FALSE(test, record.has_time);
}

/* A record of an unknown event */
static void gone_test(struct kunit *test)
{
	struct perf_copy_record record;
	struct test_copy *t;

	t = new_copy(test, PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID, PERF_RECORD_SAMPLE, 2);
	t->words[0] = TEST_ID + 1;
	t->words[1] = pair(TEST_TID, TEST_TID);
	read_copy(t, &record);
	KUNIT_EXPECT_NULL(test, record.event);
	KUNIT_EXPECT_FALSE(test, record.has_tid);

	t->words[0] = TEST_ID;
	read_copy(t, &record);
	KUNIT_EXPECT_NOT_NULL(test, record.event);
	KUNIT_EXPECT_TRUE(test, record.has_tid);
	KUNIT_EXPECT_EQ(test, TEST_TID, record.tid);
}

/* Counts that are larger than the rest of the record */
static void count_test(struct kunit *test)
{
	struct perf_copy_record record;
	struct test_copy *t;

	t = new_copy(test, PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW, PERF_RECORD_SAMPLE, 4);
	t->words[0] = U64_MAX;
	read_copy(t, &record);
	KUNIT_EXPECT_EQ(test, 3, record.nr_ips);
	KUNIT_EXPECT_NULL(test, record.raw);

	t->words[0] = 1;
	t->words[2] = pair(13, 0);
	read_copy(t, &record);
	KUNIT_EXPECT_EQ(test, 1, record.nr_ips);
	KUNIT_EXPECT_NULL(test, record.raw);

	t->words[2] = pair(12, 0);
	read_copy(t, &record);
	KUNIT_EXPECT_EQ(test, 12, record.raw_size);
	KUNIT_EXPECT_NOT_NULL(test, record.raw);

	t = new_copy(test, PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN, PERF_RECORD_SAMPLE, 2);
	t->events->all[0].attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID;
	t->words[0] = U64_MAX;
	read_copy(t, &record);
	KUNIT_EXPECT_EQ(test, 0, record.nr_ips);
}

/* Look up the name of @tid. */
static bool find_comm(struct kunit *test, struct test_copy *t, u32 tid, char *comm)
{
	struct perf_comms *comms = perf_comms_alloc(&init_pid_ns);
	struct perf_copy_record record = {
		.event		= &t->events->all[0],
		.has_time	= true,
		.has_tid	= true,
		.time		= TEST_TIME,
		.tid		= tid,
	};
	bool found;

	KUNIT_ASSERT_NOT_NULL(test, comms);
	KUNIT_EXPECT_EQ(test, 0, perf_comms_add(comms, t->events, &t->copy));
	KUNIT_EXPECT_EQ(test, 0, perf_comms_sort(comms));
	found = perf_comms_find(comms, &record, comm);
	perf_comms_free(comms);
	return found;
}

static void comm_test(struct kunit *test)
{
	char comm[TASK_COMM_LEN];
	struct test_copy *t;

	/* A name without a NUL, and longer than any name can be */
	t = new_copy(test, PERF_SAMPLE_IDENTIFIER, PERF_RECORD_COMM, 5);
	t->words[0] = pair(TEST_TID, TEST_TID);
	memset(&t->words[1], 'x', 3 * sizeof(u64));
	t->words[4] = TEST_ID;
	KUNIT_EXPECT_TRUE(test, find_comm(test, t, TEST_TID, comm));
	KUNIT_EXPECT_STREQ(test, "xxxxxxxxxxxxxxx", comm);
	KUNIT_EXPECT_FALSE(test, find_comm(test, t, TEST_TID + 1, comm));

	/* A record without a name, and without an id */
	t = new_copy(test, 0, PERF_RECORD_COMM, 1);
	t->words[0] = pair(TEST_TID, TEST_TID);
	KUNIT_EXPECT_FALSE(test, find_comm(test, t, TEST_TID, comm));

	/* A task that is its own parent */
	t = new_copy(test, 0, PERF_RECORD_FORK, 3);
	t->words[0] = pair(TEST_TID, TEST_TID);
	t->words[1] = pair(TEST_TID, TEST_TID);
	KUNIT_EXPECT_FALSE(test, find_comm(test, t, TEST_TID, comm));

	/* Half of a PERF_RECORD_FORK */
	t = new_copy(test, 0, PERF_RECORD_FORK, 2);
	t->words[1] = pair(TEST_TID, 0);
	KUNIT_EXPECT_FALSE(test, find_comm(test, t, TEST_TID, comm));

	/* The initial pid namespace has the idle task, others do not. */
	KUNIT_EXPECT_TRUE(test, find_comm(test, t, 0, comm));
	KUNIT_EXPECT_STREQ(test, "swapper", comm);
	t->events->all[0].pid_ns = NULL;
	KUNIT_EXPECT_FALSE(test, find_comm(test, t, 0, comm));
}

/* Look up the name that @tid had at @time. */
static void expect_comm(struct kunit *test, const struct perf_comms *comms,
			struct test_copy *t, u32 tid, u64 time, const char *expected)
{
	struct perf_copy_record record = {
		.event		= &t->events->all[0],
		.has_time	= true,
		.has_tid	= true,
		.time		= time,
		.tid		= tid,
	};
	char comm[TASK_COMM_LEN];

	KUNIT_EXPECT_TRUE(test, perf_comms_find(comms, &record, comm));
	KUNIT_EXPECT_STREQ(test, expected, comm);
}

/* A name from a record is followed by a gap, in which the task may have got another one. */
static void expect_stale(struct kunit *test, u32 tid, const char *after)
{
	struct perf_comms *comms = perf_comms_alloc(&init_pid_ns);
	struct test_copy *t = new_copy(test, PERF_SAMPLE_TIME, PERF_RECORD_COMM, 7);
	struct perf_event_header *lost = (void *)&t->words[3];
	u32 starts[] = { 0, 4 };

	KUNIT_ASSERT_NOT_NULL(test, comms);
	t->header->size = 4 * sizeof(u64);
	t->words[0] = pair(tid, tid);
	strscpy((char *)&t->words[1], "before", sizeof(u64));
	t->words[2] = TEST_TIME;
	lost->type = PERF_RECORD_LOST;
	lost->size = 4 * sizeof(u64);
	t->words[6] = TEST_TIME + 10;
	t->copy.starts = starts;
	t->copy.nr = 2;

	KUNIT_EXPECT_EQ(test, 0, perf_comms_add_live(comms, 0));
	KUNIT_EXPECT_EQ(test, 0, perf_comms_add(comms, t->events, &t->copy));
	KUNIT_EXPECT_EQ(test, 0, perf_comms_sort(comms));
	expect_comm(test, comms, t, tid, TEST_TIME, "before");
	expect_comm(test, comms, t, tid, TEST_TIME + 9, "before");
	expect_comm(test, comms, t, tid, TEST_TIME + 10, after);
	perf_comms_free(comms);
}

static void stale_comm_test(struct kunit *test)
{
	expect_stale(test, task_pid_nr(current), current->comm);
	/* No living task */
	expect_stale(test, PID_MAX_LIMIT, "before");
}

struct test_field {
	struct perf_trace_field	field;
	u32			loc;
	const char		*shown;
};

static const struct test_field test_fields[] = {
	{ { "f", "u32", 0, 4, 0, FILTER_OTHER, false }, 5, " f=5" },
	{ { "f", "u32", 16, 4, 0, FILTER_OTHER, false }, 0, " f=?" },
	{ { "f", "u32", 13, 4, 0, FILTER_OTHER, false }, 0, " f=?" },
	{ { "f", "u32", -4, 4, 0, FILTER_OTHER, false }, 0, " f=?" },
	{ { "f", "u32", 0, -4, 0, FILTER_OTHER, false }, 0, " f=?" },
	{ { "f", "u32", INT_MAX, INT_MAX, 0, FILTER_OTHER, false }, 0, " f=?" },
	{ { "f", "u8[17]", 0, 17, 17, FILTER_OTHER, false }, 0, " f=?" },
	{ { "f", "u8[4]", 12, 4, 4, FILTER_OTHER, false }, 0, " f={122,122,122,122}" },
	{ { "f", "u8[4]", 12, 4, INT_MAX, FILTER_OTHER, false }, 0, " f=7a7a7a7a" },
	{ { "f", "char[12]", 4, 12, 12, FILTER_STATIC_STRING, false }, 0, " f=zzzzzzzzzzzz" },
	{ { "f", "__data_loc char[]", 0, 4, 0, FILTER_DYN_STRING, false },
	  3 << 16 | 4, " f=zzz" },
	{ { "f", "__data_loc char[]", 0, 4, 0, FILTER_DYN_STRING, false },
	  3 << 16 | 14, " f=?" },
	{ { "f", "__data_loc char[]", 0, 4, 0, FILTER_DYN_STRING, false },
	  0xffffffff, " f=?" },
	{ { "f", "__data_loc u8[]", 0, 2, 0, FILTER_OTHER, false }, 0, " f=?" },
	{ { "f", "__data_loc u8[]", 14, 4, 0, FILTER_OTHER, false }, 0, " f=?" },
	{ { "f", "__rel_loc char[]", 0, 4, 0, FILTER_RDYN_STRING, false },
	  12 << 16, " f=zzzzzzzzzzzz" },
	{ { "f", "__rel_loc char[]", 0, 4, 0, FILTER_RDYN_STRING, false },
	  13 << 16, " f=?" },
	{ { "f", "__rel_loc char[]", 0, 4, 0, FILTER_RDYN_STRING, false },
	  1 << 16 | 0xffff, " f=?" },
};

/* Fields that fit into the 16 bytes that were recorded, and fields that do not */
static void field_test(struct kunit *test)
{
	struct perf_format *format;
	struct perf_copy_record record = { };
	struct perf_copy_event *event;
	struct seq_file m = { };
	u8 *raw;
	int i;

	format = kunit_kzalloc(test, struct_size(format, fields, 1), GFP_KERNEL);
	event = kunit_kzalloc(test, sizeof(*event), GFP_KERNEL);
	raw = kunit_kzalloc(test, 16, GFP_KERNEL);
	m.size = PAGE_SIZE;
	m.buf = kunit_kzalloc(test, m.size, GFP_KERNEL);
	KUNIT_ASSERT_TRUE(test, format && event && raw && m.buf);
	format->nr = 1;
	event->format = format;
	record.event = event;
	record.raw = raw;
	record.raw_size = 16;

	for (i = 0; i < ARRAY_SIZE(test_fields); i++) {
		memset(raw, 'z', 16);
		memcpy(raw, &test_fields[i].loc, sizeof(test_fields[i].loc));
		format->fields[0] = test_fields[i].field;
		memset(m.buf, 0, m.size);
		m.count = 0;
		perf_text_show_fields(&m, &record);
		KUNIT_EXPECT_STREQ_MSG(test, test_fields[i].shown, m.buf, "field %d", i);
	}
}

/* Words in the order of a sample, and in the order at the end of other records */
static const u64 sample_words[] = {
	PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_IP, PERF_SAMPLE_TID, PERF_SAMPLE_TIME,
	PERF_SAMPLE_ADDR, PERF_SAMPLE_ID, PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_CPU,
	PERF_SAMPLE_PERIOD,
};

static const u64 other_words[] = {
	PERF_SAMPLE_TID, PERF_SAMPLE_TIME, PERF_SAMPLE_ID, PERF_SAMPLE_STREAM_ID,
	PERF_SAMPLE_CPU, PERF_SAMPLE_IDENTIFIER,
};

#define WIDE_CPU	5
#define WIDE_LEFT_OUT	(PERF_SAMPLE_IP | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD)

static u64 wide_word(u64 bit)
{
	switch (bit) {
	case PERF_SAMPLE_IP:
		return 0;
	case PERF_SAMPLE_CPU:
		return pair(WIDE_CPU, 0);
	case PERF_SAMPLE_PERIOD:
		return 1;
	default:
		return bit * 0x100000001ULL;
	}
}

/* Make a record with the words of @type, and two more words after or before them. */
static void fill_record(struct perf_event_header *header, bool is_sample, u64 type)
{
	const u64 *bits = is_sample ? sample_words : other_words;
	int i, nr = is_sample ? ARRAY_SIZE(sample_words) : ARRAY_SIZE(other_words);
	u64 *word = (void *)(header + 1);

	if (!is_sample) {
		*word++ = ~1ULL;
		*word++ = ~2ULL;
	}
	for (i = 0; i < nr; i++) {
		if (type & bits[i])
			*word++ = wide_word(bits[i]);
	}
	if (is_sample) {
		*word++ = ~1ULL;
		*word++ = ~2ULL;
	}
	header->type = is_sample ? PERF_RECORD_SAMPLE : PERF_RECORD_LOST;
	header->misc = 4711;
	header->size = (void *)word - (void *)header;
}

/* Left-out words are inserted where they would have been, whatever else is in the record. */
static void wide_test(struct kunit *test)
{
	struct {
		struct perf_event_header header;
		u64 words[ARRAY_SIZE(sample_words) + 2];
	} *narrow, *wide;
	struct perf_copy_event *event;
	u64 type, left_out;
	int is_sample, i;

	event = kunit_kzalloc(test, sizeof(*event), GFP_KERNEL);
	narrow = kunit_kzalloc(test, sizeof(*narrow), GFP_KERNEL);
	wide = kunit_kzalloc(test, sizeof(*wide), GFP_KERNEL);
	KUNIT_ASSERT_TRUE(test, event && narrow && wide);
	event->attr.type = PERF_TYPE_TRACEPOINT;
	event->attr.sample_period = 1;
	event->attr.sample_id_all = 1;

	for (i = 0; i < 1 << (ARRAY_SIZE(sample_words) - 1); i++) {
		for (is_sample = 0; is_sample < 2; is_sample++) {
			struct perf_out out = { };
			int bit;

			type = PERF_SAMPLE_IDENTIFIER;
			for (bit = 1; bit < ARRAY_SIZE(sample_words); bit++) {
				if (i & BIT(bit - 1))
					type |= sample_words[bit];
			}
			event->attr.sample_type = type;
			left_out = perf_wide_type(&event->attr, WIDE_CPU);
			KUNIT_EXPECT_EQ(test, left_out, WIDE_LEFT_OUT & ~type);
			event->left_out = left_out;

			fill_record(&narrow->header, is_sample, type);
			fill_record(&wide->header, is_sample, type | left_out);
			perf_out_wide(&out, &narrow->header, event, WIDE_CPU);
			KUNIT_ASSERT_FALSE(test, out.failed);
			KUNIT_EXPECT_EQ_MSG(test, out.len, wide->header.size, "0x%llx", type);
			KUNIT_EXPECT_MEMEQ_MSG(test, out.data, wide, wide->header.size, "0x%llx",
					       type);
			perf_out_free(&out);
		}
	}
}

/* Records that may be too short for their type, and one that would become too large */
static void wide_size_test(struct kunit *test)
{
	struct perf_event_header *header = kunit_kzalloc(test, U16_MAX + 1, GFP_KERNEL);
	struct perf_copy_event *event = kunit_kzalloc(test, sizeof(*event), GFP_KERNEL);
	struct perf_out out = { };
	int size;

	KUNIT_ASSERT_TRUE(test, header && event);
	event->attr.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
	event->left_out = PERF_SAMPLE_CPU;
	header->type = PERF_RECORD_SAMPLE;
	for (size = sizeof(*header); size < 48; size += sizeof(u64)) {
		header->size = size;
		out.len = 0;
		perf_out_wide(&out, header, event, WIDE_CPU);
		KUNIT_EXPECT_EQ(test, out.len, size + sizeof(u64));
	}
	out.len = 0;
	header->size = U16_MAX & ~7;
	perf_out_wide(&out, header, event, WIDE_CPU);
	KUNIT_EXPECT_EQ(test, out.len, 0);
	perf_out_free(&out);
}

/* Words that differ between records, or that could not be inserted */
static void wide_type_test(struct kunit *test)
{
	struct perf_event_attr attr = {
		.type		= PERF_TYPE_TRACEPOINT,
		.sample_period	= 1,
		.sample_type	= PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_RAW,
		.sample_id_all	= 1,
	};

	KUNIT_EXPECT_EQ(test, perf_wide_type(&attr, 0), WIDE_LEFT_OUT);
	KUNIT_EXPECT_EQ(test, perf_wide_type(&attr, -1), 0);
	attr.sample_period = 2;
	KUNIT_EXPECT_EQ(test, perf_wide_type(&attr, 0), PERF_SAMPLE_IP | PERF_SAMPLE_CPU);
	attr.sample_period = 1;
	attr.freq = 1;
	KUNIT_EXPECT_EQ(test, perf_wide_type(&attr, 0), PERF_SAMPLE_IP | PERF_SAMPLE_CPU);
	attr.freq = 0;
	attr.sample_type |= PERF_SAMPLE_STACK_USER;
	KUNIT_EXPECT_EQ(test, perf_wide_type(&attr, 0), 0);
	attr.sample_type = PERF_SAMPLE_RAW | PERF_SAMPLE_ID;
	KUNIT_EXPECT_EQ(test, perf_wide_type(&attr, 0), 0);
	attr.sample_type = PERF_SAMPLE_IDENTIFIER;
	attr.sample_id_all = 0;
	KUNIT_EXPECT_EQ(test, perf_wide_type(&attr, 0), 0);
	attr.sample_id_all = 1;
	attr.type = PERF_TYPE_SOFTWARE;
	KUNIT_EXPECT_EQ(test, perf_wide_type(&attr, 0), PERF_SAMPLE_CPU);
	attr.sample_type |= PERF_SAMPLE_RAW;
	KUNIT_EXPECT_EQ(test, perf_wide_type(&attr, 0), 0);
}

static struct kunit_case copy_cases[] = {
	KUNIT_CASE(size_test),
	KUNIT_CASE(empty_test),
	KUNIT_CASE(gone_test),
	KUNIT_CASE(count_test),
	KUNIT_CASE(comm_test),
	KUNIT_CASE(stale_comm_test),
	KUNIT_CASE(field_test),
	KUNIT_CASE(wide_test),
	KUNIT_CASE(wide_size_test),
	KUNIT_CASE(wide_type_test),
	{},
};

static struct kunit_suite copy_suite = {
	.name		= "perf_persistent_copy",
	.test_cases	= copy_cases,
};

kunit_test_suites(&copy_suite);
