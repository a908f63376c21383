/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_DATA_JOIN_H
#define __PERF_DATA_JOIN_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include "header.h"

union perf_event;
struct evlist;
struct record_file;

/* A record and its time. Time 0: it has none, and tells of what existed before recording. */
struct join_record {
	u64			 time;
	const union perf_event	*event;
	u32			 file;
	bool			 dropped;
};

/* A mapped file */
struct join_file {
	const char			*path;
	const struct perf_file_header	*header;	/* the copy */
	struct perf_file_header		header_copy;
	void				*map;
	u64				 size;
	u64				 data_end;
	u64				 nr_cut;	/* bytes left out or missing */
};

struct data_join {
	bool			 force;		/* also read files of other users */
	bool			 no_rounds;	/* the caller may append older records */
	struct join_file	*files;
	int			 nr_files;
	struct evlist		*evlist;
	struct join_record	*records;
	size_t			 nr_records;
	size_t			 max_records;
	size_t			 nr_samples;
	size_t			 nr_doubles;	/* dropped ones of these */
	u64			 first;		/* time of the first sample, */
	u64			 last;		/* and of the last one */
};

/*
 * Are the two files of one recording? Returns 1 or 0, or an error if one of them cannot be
 * read. Prints nothing.
 */
int data_join__same(const char *path, const char *other);

/* Map the files, and find their records. Reports files that cannot be joined. */
int data_join__open(struct data_join *join, const char * const *paths, int nr);
/* Was a part of a file left out or missing? */
bool data_join__is_cut(const struct data_join *join);
/* Sort the records by time, and drop doubles. */
int data_join__sort(struct data_join *join);
int data_join__write(struct data_join *join, struct record_file *out);
void data_join__exit(struct data_join *join);

/*
 * All of that for the command line. Fails if @output exists. Returns an error, too, if @output was
 * written but lacks a part of a file.
 */
int data_join(const char **paths, int nr, const char *output, bool force);

#endif /* __PERF_DATA_JOIN_H */
