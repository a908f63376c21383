// SPDX-License-Identifier: GPL-2.0
/* Test that perf puts fields back that namespaces leave out of their records. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <internal/evlist.h>
#include <internal/evsel.h>
#include "debug.h"
#include "event.h"
#include "evlist.h"
#include "evsel.h"
#include "persistent-wide.h"
#include "tests.h"

#define TEST_ID		42
#define TEST_CPU	5
#define LEFT_OUT	(PERF_SAMPLE_IP | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD)

/* The order of fields in samples, and in the sample_id at the end of other records */
static const u64 sample_words[] = {
	PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_IP, PERF_SAMPLE_TID, PERF_SAMPLE_TIME,
	PERF_SAMPLE_ADDR, PERF_SAMPLE_ID, PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_CPU,
	PERF_SAMPLE_PERIOD,
};

static const u64 other_words[] = {
	PERF_SAMPLE_TID, PERF_SAMPLE_TIME, PERF_SAMPLE_ID, PERF_SAMPLE_STREAM_ID,
	PERF_SAMPLE_CPU, PERF_SAMPLE_IDENTIFIER,
};

struct record {
	struct perf_event_header header;
	u64 words[ARRAY_SIZE(sample_words) + 2];
};

static u64 word_of(u64 bit)
{
	u32 cpu[2] = { TEST_CPU, 0 };
	u64 word;

	switch (bit) {
	case PERF_SAMPLE_IDENTIFIER:
		return TEST_ID;
	case PERF_SAMPLE_IP:
		return 0;
	case PERF_SAMPLE_CPU:
		memcpy(&word, cpu, sizeof(word));
		return word;
	case PERF_SAMPLE_PERIOD:
		return 1;
	default:
		return bit * 0x100000001ULL;
	}
}

/* Build a record with the words of @type, and two more words before or after them. */
static void fill(struct record *record, bool is_sample, u64 type)
{
	const u64 *bits = is_sample ? sample_words : other_words;
	size_t nr = is_sample ? ARRAY_SIZE(sample_words) : ARRAY_SIZE(other_words);
	u64 *word = record->words;

	if (!is_sample) {
		*word++ = ~1ULL;
		*word++ = ~2ULL;
	}
	for (size_t i = 0; i < nr; i++) {
		if (type & bits[i])
			*word++ = word_of(bits[i]);
	}
	if (is_sample) {
		*word++ = ~1ULL;
		*word++ = ~2ULL;
	}
	record->header.type = is_sample ? PERF_RECORD_SAMPLE : PERF_RECORD_LOST;
	record->header.misc = 4711;
	record->header.size = (char *)word - (char *)record;
}

static int check_record(struct evlist *evlist, bool is_sample, u64 type, u64 left_out)
{
	struct record narrow, wide, expected;
	size_t size;

	fill(&narrow, is_sample, type);
	fill(&expected, is_sample, type | left_out);
	size = evlist__widen(evlist, TEST_CPU, (void *)&narrow, (void *)&wide);
	if (size == expected.header.size && !memcmp(&wide, &expected, size))
		return TEST_OK;

	pr_debug("sample type %#" PRIx64 ", %s: %zu bytes instead of %u\n", type,
		 is_sample ? "sample" : "other", size, expected.header.size);
	return TEST_FAIL;
}

static int check_type(u64 type)
{
	struct perf_event_attr attr = {
		.type		= PERF_TYPE_TRACEPOINT,
		.size		= sizeof(attr),
		.sample_period	= 1,
		.sample_type	= type,
		.sample_id_all	= 1,
	};
	u64 left_out = persistent__left_out(&attr, TEST_CPU);
	struct evlist *evlist = evlist__new();
	struct evsel *evsel;
	int err = TEST_FAIL;

	attr.sample_type |= left_out;
	evsel = evsel__new(&attr);
	if (!evlist || !evsel) {
		evsel__put(evsel);
		goto out;
	}

	evsel->left_out = left_out;
	evlist__add(evlist, evsel);
	if (left_out != (LEFT_OUT & ~type) || perf_evsel__alloc_id(&evsel->core, 1, 1))
		goto out;
	perf_evlist__id_add(evlist__core(evlist), &evsel->core, 0, 0, TEST_ID);
	err = check_record(evlist, /*is_sample=*/true, type, left_out) ?:
	      check_record(evlist, /*is_sample=*/false, type, left_out);
out:
	evlist__put(evlist);
	return err;
}

static int test__persistent_wide(struct test_suite *t __maybe_unused, int subtest __maybe_unused)
{
	for (int i = 0; i < 1 << (ARRAY_SIZE(sample_words) - 1); i++) {
		u64 type = PERF_SAMPLE_IDENTIFIER;
		int err;

		for (size_t bit = 1; bit < ARRAY_SIZE(sample_words); bit++) {
			if (i & 1 << (bit - 1))
				type |= sample_words[bit];
		}
		err = check_type(type);
		if (err)
			return err;
	}
	return TEST_OK;
}

DEFINE_SUITE("What namespaces leave out of records", persistent_wide);
