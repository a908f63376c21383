// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for parsing events that people write. They check what a line means, and that
 * any wrong line is refused with an explanation and does no harm.
 */

#include <kunit/test.h>
#include <linux/perf_event.h>
#include <linux/perf_persistent.h>
#include <linux/prandom.h>
#include <linux/seq_file.h>
#include <linux/sizes.h>

#include "persistent_internal.h"

#define TEST_LINES	1000
#define TEST_SEED	1812

#define TEST_TYPES	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | \
			 PERF_SAMPLE_TIME)

struct good_line {
	const char	*line;
	u32		type;
	u64		config;
	u64		period;
	bool		freq;
	bool		callchain;
	const char	*label;
	const char	*shown;
};

static const struct good_line good_lines[] = {
	{ "cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, 4000, true, false,
	  "cpu-clock", "cpu-clock/freq=4000/" },
	{ "  cpu-clock//\t", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, 4000, true, false,
	  "cpu-clock", "cpu-clock/freq=4000/" },
	{ "cpu-clock/freq=99,callchain/", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, 99, true,
	  true, "cpu-clock", "cpu-clock/freq=99,callchain/" },
	{ "cs/period=0x10/", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, 16, false, false,
	  "context-switches", "context-switches/period=16/" },
	{ "faults/name=mine,period=1/", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, 1, false,
	  false, "mine", "page-faults/period=1,name=mine/" },
	{ "cycles/period=1000000/", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 1000000, false,
	  false, "cycles", "cycles/period=1000000/" },
	{ "software/config=2,period=3/", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, 3, false,
	  false, "page-faults", "page-faults/period=3/" },
	{ "software/config=0x100,config1=5,period=3/", PERF_TYPE_SOFTWARE, 0x100, 3, false,
	  false, "software", "software/config=0x100,config1=0x5,period=3/" },
};

struct bad_line {
	const char	*line;
	int		error;
	const char	*text;
};

static const struct bad_line bad_lines[] = {
	{ "", -EINVAL, "'': the name of an event is missing" },
	{ " ", -EINVAL, "'': the name of an event is missing" },
	{ "/period=1/", -EINVAL, "'': the name of an event is missing" },
	{ "cpu-clok", -ENOENT, "'cpu-clok': no such event" },
	{ "sched:no_such_event", -ENOENT, "'sched:no_such_event': no such tracepoint" },
	{ "no_such_pmu/config=1/", -ENOENT, "'no_such_pmu': no such PMU" },
	{ "kprobe/config=1/", -EINVAL, "'kprobe': config= cannot describe" },
	{ "sched:sched_switch/config=1/", -EINVAL, "'sched:sched_switch': config= is for" },
	{ "cpu-clock/period=1", -EINVAL, "'period=1': '/' must end the terms" },
	{ "cpu-clock/period=1/x", -EINVAL, "'period=1/x': '/' must end the terms" },
	{ "faults/name=my faults/", -EINVAL, "'faults/': only 'if FILTER'" },
	{ "cpu-clock/perid=1/", -EINVAL, "'perid=1': not one of period=" },
	{ "cpu-clock/period/", -EINVAL, "'period': a number is missing" },
	{ "cpu-clock/period=ten/", -EINVAL, "'period=ten': a number is missing" },
	{ "cpu-clock/period=0/", -EINVAL, "'period=0': out of range" },
	{ "cpu-clock/period=0x8000000000000000/", -EINVAL, "'period=0x8000000000000000': out" },
	{ "cpu-clock/period=1,freq=1/", -EINVAL, "'freq=1': only one period= or freq=" },
	{ "cpu-clock/callchain=1/", -EINVAL, "'callchain=1': 'callchain' takes no value" },
	{ "cpu-clock/name=/", -EINVAL, "'name=': name= is allowed once" },
	{ "cpu-clock/name=a,name=b/", -EINVAL, "'name=b': name= is allowed once" },
	{ "cpu-clock/name=a\302\205b/", -EINVAL, "'name=a" },
	{ "cpu-clock/name=a\033b/", -EINVAL, "'?b/': control characters" },
	{ "cpu-clock fi", -EINVAL, "'fi': only 'if FILTER'" },
	{ "cpu-clock iffy", -EINVAL, "'iffy': only 'if FILTER'" },
	{ "cpu-clock if", -EINVAL, "'if': a filter is missing" },
	{ "cpu-clock if pid == 1", -EINVAL, "'pid == 1': only tracepoints have filters" },
	{ "cpu-clock\ncs", -EINVAL, "'?cs': control characters are not allowed" },
};

static struct perf_event_spec *first_spec(struct list_head *specs)
{
	return list_first_entry_or_null(specs, struct perf_event_spec, entry);
}

static void show(char *buf, size_t size, const struct perf_event_spec *spec)
{
	struct seq_file m = { .buf = buf, .size = size - 1 };

	perf_spec_show(&m, spec);
	buf[m.count] = '\0';
}

static void good_test(struct kunit *test)
{
	struct perf_spec_error error;
	char shown[200];
	int i;

	for (i = 0; i < ARRAY_SIZE(good_lines); i++) {
		const struct good_line *good = &good_lines[i];
		struct perf_event_spec *spec;
		LIST_HEAD(specs);
		int ret;

		ret = perf_spec_parse(good->line, &specs, &error);
		KUNIT_ASSERT_EQ_MSG(test, ret, 0, "%s: %s", good->line, error.text);
		KUNIT_EXPECT_TRUE(test, list_is_singular(&specs));
		spec = first_spec(&specs);
		KUNIT_EXPECT_EQ(test, spec->attr.type, good->type);
		KUNIT_EXPECT_EQ(test, spec->attr.config, good->config);
		KUNIT_EXPECT_EQ(test, spec->attr.sample_period, good->period);
		KUNIT_EXPECT_TRUE(test, spec->attr.freq == good->freq);
		KUNIT_EXPECT_TRUE(test, spec->attr.write_backward);
		KUNIT_EXPECT_EQ(test, spec->attr.sample_type,
				TEST_TYPES | PERF_SAMPLE_PERIOD |
				(good->callchain ? PERF_SAMPLE_CALLCHAIN : 0));
		KUNIT_EXPECT_STREQ(test, spec->label, good->label);
		show(shown, sizeof(shown), spec);
		KUNIT_EXPECT_STREQ(test, shown, good->shown);
		perf_spec_free(&specs);
	}
}

static void bad_test(struct kunit *test)
{
	struct perf_spec_error error;
	LIST_HEAD(specs);
	int i;

	for (i = 0; i < ARRAY_SIZE(bad_lines); i++) {
		const struct bad_line *bad = &bad_lines[i];

		KUNIT_EXPECT_EQ_MSG(test, perf_spec_parse(bad->line, &specs, &error), bad->error,
				    "%s", bad->line);
		KUNIT_EXPECT_TRUE_MSG(test, strstarts(error.text, bad->text), "%s: %s", bad->line,
				      error.text);
		KUNIT_EXPECT_TRUE(test, list_empty(&specs));
		/* The caller need not ask for the text. */
		KUNIT_EXPECT_EQ(test, perf_spec_parse(bad->line, &specs, NULL), bad->error);
	}
}

static void tracepoint_test(struct kunit *test)
{
	struct perf_event_spec *spec;
	struct perf_spec_error error;
	LIST_HEAD(specs);
	char shown[200];

	if (!IS_ENABLED(CONFIG_EVENT_TRACING))
		kunit_skip(test, "there are no tracepoints");

	KUNIT_ASSERT_EQ(test, 0, perf_spec_parse("sched:sched_switch if prev_pid == 0 ", &specs,
						 &error));
	KUNIT_EXPECT_TRUE(test, list_is_singular(&specs));
	spec = first_spec(&specs);
	KUNIT_EXPECT_EQ(test, spec->attr.type, PERF_TYPE_TRACEPOINT);
	KUNIT_EXPECT_EQ(test, spec->attr.sample_period, 1);
	KUNIT_EXPECT_EQ(test, spec->attr.sample_type, TEST_TYPES | PERF_SAMPLE_RAW);
	KUNIT_EXPECT_STREQ(test, spec->filter, "prev_pid == 0");
	show(shown, sizeof(shown), spec);
	KUNIT_EXPECT_STREQ(test, shown, "sched:sched_switch/period=1/ if prev_pid == 0");
	/* SET_FILTER accepts what a terminal would take for a command. */
	spec->filter[0] = '\033';
	show(shown, sizeof(shown), spec);
	KUNIT_EXPECT_STREQ(test, shown, "# sched:sched_switch");
	perf_spec_free(&specs);

	/* Records contain the period where it may differ between them. */
	KUNIT_ASSERT_EQ(test, 0, perf_spec_parse("sched:sched_switch/period=2/", &specs, &error));
	KUNIT_EXPECT_EQ(test, first_spec(&specs)->attr.sample_type,
			TEST_TYPES | PERF_SAMPLE_RAW | PERF_SAMPLE_PERIOD);
	perf_spec_free(&specs);
	KUNIT_ASSERT_EQ(test, 0, perf_spec_parse("sched:sched_stat_runtime", &specs, &error));
	spec = first_spec(&specs);
	KUNIT_EXPECT_EQ(test, spec->attr.sample_type,
			TEST_TYPES | PERF_SAMPLE_RAW | PERF_SAMPLE_PERIOD);
	show(shown, sizeof(shown), spec);
	KUNIT_EXPECT_STREQ(test, shown, "sched:sched_stat_runtime/period=1/");
	perf_spec_free(&specs);

	/* The terms of a pattern apply to each of its events. */
	KUNIT_ASSERT_EQ(test, 0, perf_spec_parse("sched:sched_process_*/callchain/", &specs,
						 &error));
	KUNIT_EXPECT_FALSE(test, list_is_singular(&specs));
	list_for_each_entry(spec, &specs, entry) {
		KUNIT_EXPECT_TRUE(test, strstarts(spec->name, "sched:sched_process_"));
		KUNIT_EXPECT_TRUE(test, spec->attr.sample_type & PERF_SAMPLE_CALLCHAIN);
	}
	perf_spec_free(&specs);

	/* Patterns do not match events of ftrace itself, which cannot be enabled. */
	KUNIT_EXPECT_EQ(test, -ENOENT, perf_spec_parse("ftrace:*", &specs, &error));
	KUNIT_EXPECT_EQ(test, -ENOENT, perf_spec_parse("sched:", &specs, &error));
	KUNIT_EXPECT_EQ(test, -ENOENT, perf_spec_parse(":sched_switch", &specs, &error));
}

static const char * const seeds[] = {
	"cpu-clock/freq=99,callchain/",
	"sched:sched_switch/period=7,name=switch/ if prev_pid == 0 && next_comm ~ \"k*\"",
	"software/config=0x2,config1=0,period=1000/",
	"sched:sched_w*/callchain/",
	"context-switches",
};

static void mutate(char *line, size_t size, struct rnd_state *rnd)
{
	static const char special[] = "/,:=*?[ if;\"'%\n\t\x7f\xff";
	int changes = prandom_u32_state(rnd) % 4 + 1;

	while (changes--) {
		size_t len = strlen(line), at = prandom_u32_state(rnd) % (len + 1);
		u32 how = prandom_u32_state(rnd);
		char c = how & 4 ? special[(how >> 8) % (sizeof(special) - 1)] : how >> 16;

		switch (how % 4) {
		case 0:
			line[at] = '\0';
			break;
		case 1:
			if (at < len)
				memmove(line + at, line + at + 1, len - at);
			break;
		case 2:
			if (at < len)
				line[at] = c;
			break;
		case 3:
			if (len + 2 > size)
				break;
			memmove(line + at + 1, line + at, len - at + 1);
			line[at] = c;
			break;
		}
	}
}

/* Show each event, and parse the text again: the result must be the same event. */
static void check_shown(struct kunit *test, struct list_head *specs, char *shown, size_t size)
{
	struct perf_event_spec *spec;
	LIST_HEAD(again);

	list_for_each_entry(spec, specs, entry) {
		show(shown, size, spec);
		KUNIT_ASSERT_EQ_MSG(test, 0, perf_spec_parse(shown, &again, NULL), "%s", shown);
		KUNIT_EXPECT_TRUE_MSG(test, list_is_singular(&again), "%s", shown);
		KUNIT_EXPECT_TRUE_MSG(test, perf_spec_same(spec, first_spec(&again)), "%s", shown);
		perf_spec_free(&again);
	}
}

static void mutated_test(struct kunit *test)
{
	const size_t size = 1024;
	char *line = kunit_kzalloc(test, size, GFP_KERNEL);
	char *shown = kunit_kzalloc(test, size, GFP_KERNEL);
	struct perf_spec_error error;
	struct rnd_state rnd;
	int i, ret, good = 0;

	KUNIT_ASSERT_NOT_NULL(test, line);
	KUNIT_ASSERT_NOT_NULL(test, shown);
	prandom_seed_state(&rnd, TEST_SEED);

	for (i = 0; i < TEST_LINES; i++) {
		LIST_HEAD(specs);

		strscpy(line, seeds[i % ARRAY_SIZE(seeds)], size);
		mutate(line, size, &rnd);
		ret = perf_spec_parse(line, &specs, &error);
		if (ret) {
			KUNIT_EXPECT_TRUE_MSG(test, ret == -EINVAL || ret == -ENOENT ||
					      ret == -E2BIG, "%d: %s", ret, line);
			KUNIT_EXPECT_TRUE_MSG(test, list_empty(&specs), "%s", line);
			KUNIT_EXPECT_NE_MSG(test, error.text[0], 0, "%s", line);
			continue;
		}
		good++;
		check_shown(test, &specs, shown, size);
		perf_spec_free(&specs);
	}
	kunit_info(test, "%d of %d were understood", good, TEST_LINES);
}

/*
 * The command line
 */

static void split_test(struct kunit *test)
{
	char good[] = "boot:16k:sched:sched_switch if prev_comm == \"a;b\";cpu-clock/freq=99/;";
	static const char * const bad[] = {
		"", ":", "boot", "boot:1M", "boot:x:cpu-clock", "boot::cpu-clock", "boot:1Mb:cs",
		"boot:17179869185G:cs", "boot:0:cs",
	};
	struct perf_spec_error error;
	char *name, *events, line[40];
	unsigned long size;
	int i;

	KUNIT_ASSERT_EQ(test, 0, perf_boot_split(good, &name, &size, &events, &error));
	KUNIT_EXPECT_STREQ(test, name, "boot");
	KUNIT_EXPECT_EQ(test, size, 16 * 1024);
	KUNIT_EXPECT_STREQ(test, perf_boot_next_event(&events),
			   "sched:sched_switch if prev_comm == \"a;b\"");
	KUNIT_EXPECT_STREQ(test, perf_boot_next_event(&events), "cpu-clock/freq=99/");
	KUNIT_EXPECT_STREQ(test, perf_boot_next_event(&events), "");
	KUNIT_EXPECT_PTR_EQ(test, perf_boot_next_event(&events), NULL);

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		strscpy(line, bad[i]);
		error.text[0] = '\0';
		KUNIT_EXPECT_EQ_MSG(test, -EINVAL,
				    perf_boot_split(line, &name, &size, &events, &error),
				    "%s", bad[i]);
		KUNIT_EXPECT_NE(test, error.text[0], 0);
	}
}

static int make_from(char *line, u64 *id, struct perf_spec_error *error)
{
	char *name, *events, *event;
	unsigned long size;
	LIST_HEAD(specs);
	int ret;

	error->text[0] = '\0';
	ret = perf_boot_split(line, &name, &size, &events, error);
	/* Making large buffers takes too long. */
	if (!ret && size > SZ_64K)
		ret = perf_spec_fail(error, -EINVAL, name, "large");
	while (!ret && (event = perf_boot_next_event(&events)))
		ret = perf_spec_parse(event, &specs, error);
	if (!ret)
		ret = perf_persist_create_from(name, &specs, size, true, id, error);
	perf_spec_free(&specs);
	return ret;
}

/* Each namespace is either made, and can be deleted, or refused with an explanation. */
static void command_line_test(struct kunit *test)
{
	static const char seed[] =
		"kunit:16K:cpu-clock/freq=9/;sched:sched_switch if prev_pid == 7;faults";
	const size_t size = 1024;
	char *line = kunit_kzalloc(test, size, GFP_KERNEL);
	struct perf_spec_error error;
	struct rnd_state rnd;
	int i, ret, good = 0;
	u64 id;

	KUNIT_ASSERT_NOT_NULL(test, line);
	if (!IS_ENABLED(CONFIG_EVENT_TRACING))
		kunit_skip(test, "there are no tracepoints");
	strscpy(line, seed, size);
	ret = make_from(line, &id, &error);
	KUNIT_ASSERT_EQ_MSG(test, ret, 0, "%s", error.text);
	strscpy(line, seed, size);
	KUNIT_EXPECT_EQ(test, -EEXIST, make_from(line, &id, &error));
	KUNIT_EXPECT_EQ(test, 0, perf_persistent_delete(id));
	KUNIT_EXPECT_EQ(test, -ENODEV, perf_persistent_delete(id));

	prandom_seed_state(&rnd, TEST_SEED);
	for (i = 0; i < TEST_LINES; i++) {
		strscpy(line, seed, size);
		mutate(line, size, &rnd);
		ret = make_from(line, &id, &error);
		if (ret) {
			KUNIT_EXPECT_NE_MSG(test, error.text[0], 0, "%s", line);
			continue;
		}
		good++;
		KUNIT_EXPECT_EQ(test, 0, perf_persistent_delete(id));
	}
	kunit_info(test, "%d of %d were made", good, TEST_LINES);
}

static void long_test(struct kunit *test)
{
	char *line = kunit_kzalloc(test, 2 * PAGE_SIZE, GFP_KERNEL);
	struct perf_spec_error error;
	LIST_HEAD(specs);

	KUNIT_ASSERT_NOT_NULL(test, line);
	memset(line, 'a', 2 * PAGE_SIZE - 1);
	KUNIT_EXPECT_EQ(test, -EINVAL, perf_spec_parse(line, &specs, &error));
	KUNIT_EXPECT_NOT_NULL(test, strstr(error.text, "the line is too long"));
}

static struct kunit_case spec_cases[] = {
	KUNIT_CASE(good_test),
	KUNIT_CASE(bad_test),
	KUNIT_CASE(tracepoint_test),
	KUNIT_CASE(mutated_test),
	KUNIT_CASE(long_test),
	KUNIT_CASE(split_test),
	KUNIT_CASE(command_line_test),
	{},
};

static struct kunit_suite spec_suite = {
	.name		= "perf_persistent_spec",
	.test_cases	= spec_cases,
};

kunit_test_suites(&spec_suite);
