// SPDX-License-Identifier: GPL-2.0
/* Times of clocks on walls, for those who were told when it happened. */
#include "persistent-time.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <linux/ctype.h>
#include <linux/kernel.h>
#include <linux/time64.h>

u64 persistent__wall_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (u64)now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
}

/* The digits behind the point, if there are any; NULL: too many of them, or none */
static const char *parse_fraction(const char *str, u64 *ns)
{
	u64 unit = NSEC_PER_SEC / 10;

	*ns = 0;
	if (*str != '.')
		return str;
	if (!isdigit(*++str))
		return NULL;
	for (; isdigit(*str) && unit; str++, unit /= 10)
		*ns += (*str - '0') * unit;
	return str;
}

/* In that form, up to its end; the date of @tm stays if the form has none */
static bool parse_form(const char *str, const char *form, bool seconds, struct tm *tm, u64 *ns)
{
	struct tm parsed = *tm;
	const char *end = strptime(str, form, &parsed);

	*ns = 0;
	if (end && seconds)
		end = parse_fraction(end, ns);
	if (!end || *end)
		return false;

	*tm = parsed;
	/* Whether it is summer is for the time zone to say. */
	tm->tm_isdst = -1;
	return true;
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
	time_t seconds = now / NSEC_PER_SEC;
	struct tm today;
	u64 fraction;

	if (!isdigit(*str) || !localtime_r(&seconds, &today))
		return -EINVAL;
	today.tm_sec = 0;

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		struct tm tm = today, asked;

		if (!parse_form(str, forms[i].form, forms[i].seconds, &tm, &fraction))
			continue;

		asked = tm;
		seconds = mktime(&tm);
		/* There is no such day: mktime() takes it for one of the next month. */
		if (tm.tm_mday != asked.tm_mday)
			return -EINVAL;
		/* It has been that time today, or was it yesterday. */
		if (!forms[i].date && seconds > 0 && (u64)seconds * NSEC_PER_SEC > now) {
			tm = asked;
			tm.tm_mday--;
			seconds = mktime(&tm);
		}
		if (seconds < 0)
			return -EINVAL;
		*ns = (u64)seconds * NSEC_PER_SEC + fraction;
		return 0;
	}
	return -EINVAL;
}
