/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_DATA_MERGE_READ_H
#define __PERF_DATA_MERGE_READ_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <linux/types.h>

struct data_merge_opts;
struct evsel;
struct machine;
struct perf_sample;
struct perf_tool;

/* Shared memory in which the process that reads a file describes the file */
struct merge_info {
	bool	ready;			/* all fields but the last two are valid */
	char	hostname[HOST_NAME_MAX + 1];
	u32	clockid;
	s64	tod_ns, clockid_ns;	/* both clocks at the same moment */
	u64	nr_lost;
	u64	nr_unordered;
};

/* The header of each text in the pipe */
struct merge_line {
	s64	time;			/* ns of wall-clock time */
	size_t	len;
};

/* Write the text of each sample into @pipe. Reports errors itself. */
int merge__read_file(const char *path, const struct data_merge_opts *opts,
		     struct merge_info *info, FILE *pipe);

/* data-merge-tool.c: have @tool call merge__add_sample() for each sample. */
void merge__set_callbacks(struct perf_tool *tool);
/* @tool is part of the reader of a file. */
int merge__add_sample(const struct perf_tool *tool, struct perf_sample *sample,
		      struct evsel *evsel, struct machine *machine);

#endif /* __PERF_DATA_MERGE_READ_H */
