/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_DATA_JOIN_H
#define __PERF_DATA_JOIN_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

union perf_event;
struct evlist;
struct perf_file_header;
struct record_file;

/* A record, and when it was written; 0: it has no time, and is about what was before. */
struct join_record {
	u64			 time;
	const union perf_event	*event;
	u32			 file;
	bool			 dropped;
};

/* A file as it is in memory */
struct join_file {
	const char			*path;
	const struct perf_file_header	*header;
	void				*map;
	u64				 size;
	u64				 data_end;
	u64				 nr_cut;	/* bytes of a record that is not whole */
};

struct data_join {
	bool			 force;		/* files of other users as well */
	bool			 no_rounds;	/* older records may follow */
	struct join_file	*files;
	int			 nr_files;
	struct evlist		*evlist;
	struct join_record	*records;
	size_t			 nr_records;
	size_t			 max_records;
	size_t			 nr_samples;
	size_t			 nr_doubles;	/* of these */
	u64			 first;		/* time of a sample */
	u64			 last;
};

/* Are these two of one recording? Says nothing. */
bool data_join__same(const char *path, const char *other);

/* Map the files, and find their records. Says what is wrong with them. */
int data_join__open(struct data_join *join, const char * const *paths, int nr);
/* Have records in the order of time, and each one once. */
int data_join__sort(struct data_join *join);
int data_join__write(struct data_join *join, struct record_file *out);
void data_join__exit(struct data_join *join);

/* All of that for the command line: what there is stays if it has that name. */
int data_join(const char **paths, int nr, const char *output, bool force);

#endif /* __PERF_DATA_JOIN_H */
