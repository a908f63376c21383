// SPDX-License-Identifier: GPL-2.0
/* Test parsing of times of day, also in nights of a clock change, and of durations. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <linux/kernel.h>
#include <linux/time64.h>
#include "debug.h"
#include "persistent-time.h"
#include "tests.h"

#define UTC	"UTC0"
#define LONDON	"GMT0BST,M3.5.0/1,M10.5.0"
#define NEWFOUNDLAND "NST3:30NDT,M3.2.0,M11.1.0"

static const struct {
	const char	*zone;
	const char	*now;		/* UTC */
	const char	*asked;
	const char	*expected;	/* UTC, NULL: an error */
} cases[] = {
	{ UTC, "2026-11-22 03:14:07", "2026-11-22 03:14:07", "2026-11-22 03:14:07" },
	{ UTC, "2026-11-22 03:14:07", "2026-11-22T03:14:06.000000001",
	  "2026-11-22 03:14:06.000000001" },
	{ UTC, "2026-11-22 03:14:07", "03:14:06.5", "2026-11-22 03:14:06.500000000" },
	{ UTC, "2026-11-22 03:14:07", "03:14:06.999999999", "2026-11-22 03:14:06.999999999" },
	{ UTC, "2026-11-22 03:14:07", "03:14", "2026-11-22 03:14:00" },
	{ UTC, "2026-11-22 03:14:07", "03:15", "2026-11-21 03:15:00" },
	{ UTC, "2026-03-01 03:14:07", "03:15", "2026-02-28 03:15:00" },
	{ UTC, "2026-11-22 03:14:07", "2027-01-01 00:00", "2027-01-01 00:00:00" },
	{ UTC, "2026-11-22 03:14:07", "2026-02-30 12:00", NULL },
	{ UTC, "2026-11-22 03:14:07", "03:14:60", NULL },
	{ UTC, "2026-11-22 03:14:07", "24:00", NULL },
	{ UTC, "2026-11-22 03:14:07", "03:14:07.", NULL },
	{ UTC, "2026-11-22 03:14:07", "9999-01-01 00:00", NULL },

	{ NEWFOUNDLAND, "2026-07-01 12:00:00", "09:30", "2026-07-01 12:00:00" },
	{ NEWFOUNDLAND, "2026-07-01 12:00:00", "09:31", "2026-06-30 12:01:00" },
	{ NEWFOUNDLAND, "2026-07-01 12:00:00", "2026-01-01 00:00", "2026-01-01 03:30:00" },

	/* It is 01:40 in summer time. 01:30 will come once more, in winter time. */
	{ LONDON, "2026-10-25 00:40:00", "01:30", "2026-10-25 00:30:00" },
	{ LONDON, "2026-10-25 00:40:00", "2026-10-25 01:30", "2026-10-25 00:30:00" },
	{ LONDON, "2026-10-25 00:40:00", "01:50", "2026-10-24 00:50:00" },
	/* It is 01:40 in winter time. */
	{ LONDON, "2026-10-25 01:40:00", "01:30", "2026-10-25 01:30:00" },
	{ LONDON, "2026-10-25 01:40:00", "01:50", "2026-10-25 00:50:00" },
	{ LONDON, "2026-10-25 12:00:00", "2026-10-25 01:30", "2026-10-25 01:30:00" },
	{ LONDON, "2026-10-26 00:30:00", "00:45", "2026-10-24 23:45:00" },
	/* The clock jumps from 01:00 to 02:00. */
	{ LONDON, "2026-03-29 12:00:00", "2026-03-29 01:30", NULL },
	{ LONDON, "2026-03-29 12:00:00", "2026-03-29 02:00", "2026-03-29 01:00:00" },
	{ LONDON, "2026-03-29 12:00:00", "01:30", "2026-03-28 01:30:00" },
	{ LONDON, "2026-03-30 00:10:00", "01:30", "2026-03-28 01:30:00" },
	{ LONDON, "2026-03-30 00:40:00", "01:30", "2026-03-30 00:30:00" },
};

/* A fraction must have nine digits. */
static u64 utc_ns(const char *str)
{
	struct tm tm = {};
	const char *end = strptime(str, "%Y-%m-%d %H:%M:%S", &tm);

	return (u64)timegm(&tm) * NSEC_PER_SEC + (*end ? atoi(end + 1) : 0);
}

static void set_zone(const char *zone)
{
	if (zone)
		setenv("TZ", zone, 1);
	else
		unsetenv("TZ");
	tzset();
}

static bool check_case(int i)
{
	const char *expected = cases[i].expected;
	u64 ns = 0;
	int err = persistent__parse_wall_time(cases[i].asked, utc_ns(cases[i].now), &ns);
	bool ok;

	ok = expected ? !err && ns == utc_ns(expected) : err == -EINVAL;
	if (!ok)
		pr_debug("TZ=%s at %s UTC: '%s' is %" PRIu64 " (%d) instead of %s\n",
			 cases[i].zone, cases[i].now, cases[i].asked, ns, err,
			 expected ?: "an error");
	return ok;
}

static const struct {
	const char	*asked;
	u64		ns;		/* 0: an error */
} durations[] = {
	{ "30s", 30 * NSEC_PER_SEC },
	{ "1m30s", 90 * NSEC_PER_SEC },
	{ "1d2h", 26 * 3600 * NSEC_PER_SEC },
	{ "0.1s", NSEC_PER_SEC / 10 },
	{ "1.000000001s", NSEC_PER_SEC + 1 },
	{ "1.0000000019s", NSEC_PER_SEC + 1 },
	{ "0.000000001h", 3600 },
	{ "1.5ms", 1500 * NSEC_PER_USEC },
	{ "0.001us", 1 },
	{ "0.5ns", 1 },
	{ "20000000000ns", 20 * NSEC_PER_SEC },
	{ "213503d", 213503ULL * 24 * 3600 * NSEC_PER_SEC },
	{ "213504d", 0 },
	{ "213503d213503d", 0 },
	{ "18446744073709551616ns", 0 },
	{ "0.4ns", 0 },
	{ "0s", 0 },
	{ "30", 0 },
	{ "1.5", 0 },
	{ "1.s", 0 },
	{ ".5s", 0 },
	{ "-1s", 0 },
	{ "30 s", 0 },
	{ "30S", 0 },
	{ "1mm", 0 },
	{ "1s2", 0 },
	{ "", 0 },
};

static bool check_duration(int i)
{
	u64 ns = 0;
	int err = persistent__parse_duration("--last", durations[i].asked, &ns);

	if (ns == durations[i].ns && err == (ns ? 0 : -EINVAL))
		return true;

	pr_debug("'%s' is %" PRIu64 " ns (%d) instead of %" PRIu64 "\n", durations[i].asked, ns,
		 err, durations[i].ns);
	return false;
}

static int test__persistent_durations(struct test_suite *t __maybe_unused,
				      int subtest __maybe_unused)
{
	int ret = TEST_OK;

	for (size_t i = 0; i < ARRAY_SIZE(durations); i++) {
		if (!check_duration(i))
			ret = TEST_FAIL;
	}
	return ret;
}

static int test__persistent_time(struct test_suite *t __maybe_unused,
				 int subtest __maybe_unused)
{
	const char *old = getenv("TZ");
	char *zone = old ? strdup(old) : NULL;
	int ret = TEST_OK;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		set_zone(cases[i].zone);
		if (!check_case(i))
			ret = TEST_FAIL;
	}

	set_zone(zone);
	free(zone);
	return ret;
}

static struct test_case persistent_time_cases[] = {
	TEST_CASE("Times of day", persistent_time),
	TEST_CASE("Durations", persistent_durations),
	{ .name = NULL, }
};

struct test_suite suite__persistent_time = {
	.desc = "Times of day and durations",
	.test_cases = persistent_time_cases,
};
