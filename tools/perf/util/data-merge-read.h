/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_DATA_MERGE_READ_H
#define __PERF_DATA_MERGE_READ_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <linux/types.h>

struct data_merge_opts;

/* What the process that reads a file tells about it, in memory that is shared */
struct merge_info {
	bool	ready;			/* all but the last two are known */
	char	hostname[HOST_NAME_MAX + 1];
	u32	clockid;
	s64	tod_ns, clockid_ns;	/* at the same moment */
	u64	nr_lost;
	u64	nr_unordered;
};

/* In the pipe, before each text */
struct merge_line {
	s64	time;			/* ns of wall-clock time */
	size_t	len;
};

/* A name or a text is a part of one line, and does not control the terminal. */
void merge__replace_controls(char *str);

/* Write what is printed of each sample into @pipe. Says itself why it fails. */
int merge__read_file(const char *path, const struct data_merge_opts *opts,
		     struct merge_info *info, FILE *pipe);

#endif /* __PERF_DATA_MERGE_READ_H */
