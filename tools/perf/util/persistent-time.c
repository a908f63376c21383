// SPDX-License-Identifier: GPL-2.0
/*
 * Parse times that users give: durations, and wall clock times.
 */
#include "persistent-time.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <linux/ctype.h>
#include <linux/kernel.h>
#include <linux/overflow.h>
#include <linux/string.h>
#include <linux/time64.h>
#include "debug.h"
#include "time-utils.h"

u64 persistent__wall_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (u64)now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
}

/* Parse a point and digits: the first nine count. Returns the number of digits, or 0. */
static int parse_fraction(const char **str, u64 *billionths)
{
	char buf[] = "0.123456789";
	int nr = **str == '.' ? strspn(*str + 1, "0123456789") : 0;

	*billionths = 0;
	if (!nr)
		return 0;
	scnprintf(buf + 2, sizeof(buf) - 2, "%.*s", nr, *str + 1);
	*str += 1 + nr;
	return parse_nsec_time(buf, billionths) ? 0 : nr;
}

/*
 * Durations
 */

static u64 parse_unit(const char **str)
{
	static const struct {
		const char	*unit;
		u64		 ns;
	} units[] = {
		{ "ns",	1 },
		{ "us",	NSEC_PER_USEC },
		{ "ms",	NSEC_PER_MSEC },
		{ "s",	NSEC_PER_SEC },
		{ "m",	60ULL * NSEC_PER_SEC },
		{ "h",	3600ULL * NSEC_PER_SEC },
		{ "d",	24 * 3600ULL * NSEC_PER_SEC },
	};
	size_t len = strspn(*str, "abcdefghijklmnopqrstuvwxyz");

	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (len == strlen(units[i].unit) && !strncmp(*str, units[i].unit, len)) {
			*str += len;
			return units[i].ns;
		}
	}
	return 0;
}

static u64 fraction_of(u64 unit, u64 billionths)
{
	if (unit >= NSEC_PER_SEC)
		return unit / NSEC_PER_SEC * billionths;
	return (unit * billionths + NSEC_PER_SEC / 2) / NSEC_PER_SEC;
}

/* Parse one part, like 1.5s, and add it to @ns. */
static int parse_number_with_unit(const char **str, u64 *ns)
{
	u64 number, billionths, unit;
	bool overflow;
	char *end;

	if (!isdigit(**str))
		return -EINVAL;

	errno = 0;
	number = strtoull(*str, &end, 10);
	*str = end;
	overflow = errno;

	parse_fraction(str, &billionths);
	unit = parse_unit(str);
	if (!unit)
		return -EINVAL;
	if (overflow || check_mul_overflow(number, unit, &number) ||
	    check_add_overflow(number, fraction_of(unit, billionths), &number) ||
	    check_add_overflow(*ns, number, ns))
		return -ERANGE;
	return 0;
}

/* 30s, 1.5s or 1m30s */
int persistent__parse_duration(const char *option, const char *str, u64 *ns)
{
	const char *pos = str;
	u64 sum = 0;
	int err;

	do {
		err = parse_number_with_unit(&pos, &sum);
	} while (!err && *pos);

	if (!err && sum) {
		*ns = sum;
		return 0;
	}
	if (!err) {
		pr_err("%s takes a time that is longer than 0: not '%s'.\n", option, str);
		return -EINVAL;
	}
	if (err == -ERANGE) {
		pr_err("%s takes a time of at most %" PRIu64 "d: not '%s'.\n", option,
		       UINT64_MAX / (24 * 3600 * NSEC_PER_SEC), str);
		return -EINVAL;
	}

	pr_err("%s takes a number with a unit, ns, us, ms, s, m, h or d, as in %s 30s, 1.5s or 1m30s: not '%s'.\n",
	       option, option, str);
	return -EINVAL;
}

/*
 * Wall clock times
 */

/* All of @str must have that form. If the form has no date, that of @tm stays. */
static bool parse_form(const char *str, const char *form, bool seconds, struct tm *tm, u64 *ns)
{
	struct tm parsed = *tm;
	const char *end = strptime(str, form, &parsed);
	u64 fraction = 0;

	if (!end || (seconds && parse_fraction(&end, &fraction) > 9) || *end)
		return false;

	*tm = parsed;
	*ns = fraction;
	return true;
}

/* Convert it as summer time or not; false: clocks never showed that time. */
static bool convert(const struct tm *asked, int is_dst, time_t *time)
{
	struct tm tm = *asked;

	tm.tm_isdst = is_dst;
	*time = mktime(&tm);
	return *time >= 0 && tm.tm_isdst == is_dst && tm.tm_mday == asked->tm_mday &&
	       tm.tm_hour == asked->tm_hour && tm.tm_min == asked->tm_min;
}

/*
 * If clocks are set back, they show a time twice. Take the second one, or if that is after
 * @now the first. -ENOENT: clocks never showed it; 1: it is after @now
 */
static int find_time(const struct tm *asked, time_t now, time_t *time)
{
	time_t summer, winter;
	bool has_summer = convert(asked, 1, &summer), has_winter = convert(asked, 0, &winter);

	if (!has_summer && !has_winter)
		return -ENOENT;
	if (!has_summer)
		*time = winter;
	else if (!has_winter)
		*time = summer;
	else if (max(summer, winter) <= now)
		*time = max(summer, winter);
	else
		*time = min(summer, winter);
	return *time > now;
}

/* The last time that clocks showed this time of day. They may skip it on one day. */
static int find_last_time(const struct tm *asked, time_t now, time_t *time)
{
	int ret = -ENOENT;

	for (int days = 0; days < 3 && ret; days++) {
		struct tm midday = *asked, day;
		time_t then;

		midday.tm_hour = 12;
		midday.tm_mday -= days;
		midday.tm_isdst = -1;
		then = mktime(&midday);
		if (!localtime_r(&then, &day))
			return -EINVAL;
		day.tm_hour = asked->tm_hour;
		day.tm_min = asked->tm_min;
		day.tm_sec = asked->tm_sec;
		ret = find_time(&day, now, time);
	}
	return ret;
}

int persistent__parse_wall_time(const char *str, u64 now, u64 *ns)
{
	static const struct {
		const char	*form;
		bool		seconds;
		bool		date;
	} forms[] = {
		{ "%Y-%m-%d %H:%M:%S", true, true },
		{ "%Y-%m-%dT%H:%M:%S", true, true },
		{ "%Y-%m-%d %H:%M", false, true },
		{ "%Y-%m-%dT%H:%M", false, true },
		{ "%H:%M:%S", true, false },
		{ "%H:%M", false, false },
	};
	const time_t now_seconds = now / NSEC_PER_SEC;
	time_t seconds;
	struct tm today;
	u64 fraction;

	if (!isdigit(*str) || !localtime_r(&now_seconds, &today))
		return -EINVAL;
	today.tm_sec = 0;

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		struct tm asked = today;
		int ret;

		if (!parse_form(str, forms[i].form, forms[i].seconds, &asked, &fraction))
			continue;

		if (forms[i].date)
			ret = find_time(&asked, now_seconds, &seconds);
		else
			ret = find_last_time(&asked, now_seconds, &seconds);
		if (ret < 0 || check_mul_overflow((u64)seconds, (u64)NSEC_PER_SEC, ns) ||
		    check_add_overflow(*ns, fraction, ns))
			return -EINVAL;
		return 0;
	}
	return -EINVAL;
}
