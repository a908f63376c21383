/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_RECORD_LIMITS_H
#define __PERF_RECORD_LIMITS_H

#include <linux/types.h>

/* How many files there may be, and of how many bytes; 0: any number of them */
struct record_limits {
	int	max_files;
	u64	max_total;
};

/* Of --max-files and --max-total, which can be NULL. Says what is wrong. */
int record_limits__parse(struct record_limits *limits, const char *max_files,
			 const char *max_total);

/* 10M; says what is wrong. */
int parse_size_option(const char *option, const char *str, u64 *size);

/*
 * There are @nr files of @total bytes: have @remove take away the oldest until that is within
 * limits. It sets the size of that one, and returns 0, or it can remove no more. Returns how many
 * were removed.
 */
int record_limits__prune(const struct record_limits *limits, int nr, u64 total,
			 int (*remove)(void *arg, u64 *size), void *arg);

#endif /* __PERF_RECORD_LIMITS_H */
