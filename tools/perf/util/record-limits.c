// SPDX-License-Identifier: GPL-2.0
/*
 * Limits for commands that write one file after another: remove the oldest files beyond
 * them.
 */
#include "record-limits.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include "debug.h"
#include "persistent-control.h"
#include "units.h"

int parse_size_option(const char *option, const char *str, u64 *size)
{
	size_t digits = strspn(str, "0123456789");
	unsigned long bytes = digits && str[digits] && !str[digits + 1] ? parse_size_value(str) : 0;

	if (bytes && bytes != -1UL) {
		*size = bytes;
		return 0;
	}

	pr_err("%s takes a number with a unit, B, K, M or G, as in %s 10M: not '%s'.\n", option,
	       option, str);
	return -EINVAL;
}

int record_limits__parse(struct record_limits *limits, const char *max_files,
			 const char *max_total)
{
	u32 nr = 0;
	int err = 0;

	if (max_files)
		err = persistent__parse_number("--max-files", max_files, 1, INT_MAX, &nr);
	if (!err && max_total)
		err = parse_size_option("--max-total", max_total, &limits->max_total);
	limits->max_files = nr;
	return err;
}

static bool exceeds(const struct record_limits *limits, int nr, u64 total)
{
	return (limits->max_files && nr > limits->max_files) ||
	       (limits->max_total && total > limits->max_total);
}

int record_limits__prune(const struct record_limits *limits, int nr, u64 total,
			 int (*remove)(void *arg, u64 *size), void *arg)
{
	int removed = 0;
	u64 size;

	while (exceeds(limits, nr - removed, total) && !remove(arg, &size)) {
		total -= size;
		removed++;
	}
	return removed;
}
