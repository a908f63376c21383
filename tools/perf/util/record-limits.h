/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_RECORD_LIMITS_H
#define __PERF_RECORD_LIMITS_H

#include <linux/types.h>

/* The most files, and bytes in all files; 0: no limit */
struct record_limits {
	int	max_files;
	u64	max_total;
};

/* Parse the arguments of --max-files and --max-total, which can be NULL. Reports errors. */
int record_limits__parse(struct record_limits *limits, const char *max_files,
			 const char *max_total);

/* Parse a size with a unit, as in 10M. Reports errors. */
int parse_size_option(const char *option, const char *str, u64 *size);

/*
 * There are @nr files of @total bytes. Call @remove until they are within @limits. It
 * removes the oldest file, sets its size and returns 0, or fails if it can remove no
 * more. Returns the number of removed files.
 */
int record_limits__prune(const struct record_limits *limits, int nr, u64 total,
			 int (*remove)(void *arg, u64 *size), void *arg);

#endif /* __PERF_RECORD_LIMITS_H */
