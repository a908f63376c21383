/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_RECORD_DUMP_H
#define __PERF_RECORD_DUMP_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

struct evlist;
struct perf_mmap;
struct perf_session;
struct record_grow;
struct record_live;

/* A copy of the sample buffers of -M */
struct record_dump {
	struct record_copy {
		struct perf_mmap *map;
		void		*buf;
		size_t		room;
		u64		size;
		u64		head;	/* position of the newest record */
	}	*copies;	/* one for each buffer */
	int	nr_copies;
	int	nr_live;	/* buffers in use; the others were replaced by larger ones */
	u64	size;
	u64	file_size;	/* with maps and header, set by record_dump__write() */
	u64	nr_samples;
	u64	first;		/* time of the first sample, */
	u64	last;		/* and of the last one */
	void	(*idle)(void *arg);	/* called during long operations, unless recording pauses */
	void	*arg;
};

/*
 * Copy the buffers, or with @only_new what was recorded since record_dump__forget().
 * Unless @live is on, recording pauses meanwhile and samples get lost. Keeps the idle and arg
 * that the caller has set.
 */
int record_dump__copy(struct record_dump *dump, struct evlist *evlist,
		      const struct record_live *live, const struct record_grow *grow,
		      bool only_new);
/* The dump was written: its records are not new any more. */
void record_dump__forget(struct record_dump *dump);
/* Write a file of the dump. */
int record_dump__write(struct record_dump *dump, struct perf_session *session,
		       struct evlist *evlist, const char *path);
void record_dump__exit(struct record_dump *dump);

/* The parts of a perf.data file before and after its data, one after the other */
struct record_header {
	void	*map;
	size_t	size;
	u64	data_offset;
	u64	features;	/* offset of the feature sections in @map */
};

/* Without @features, nothing follows the data. */
int record_header__init(struct record_header *header, struct perf_session *session,
			struct evlist *evlist, u64 data_size, bool features);
void record_header__exit(struct record_header *header);

/*
 * The same as perf_session__write_header() at the end of recording, but return an error if
 * the disk has no room for a feature. Then the file has those that fit.
 */
int record_header__write_at_exit(struct perf_session *session, struct evlist *evlist, int fd);

#endif /* __PERF_RECORD_DUMP_H */
