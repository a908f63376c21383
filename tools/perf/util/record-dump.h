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

/* What the memory of -M held at one time */
struct record_dump {
	struct record_copy {
		struct perf_mmap *map;
		void		*buf;
		size_t		room;
		u64		size;
		u64		head;	/* where it begins */
	}	*copies;	/* of each buffer */
	int	nr_copies;
	int	nr_live;	/* that somebody writes to; the rest were replaced */
	u64	size;
	u64	nr_samples;
	u64	first;		/* time of a sample */
	u64	last;
};

/*
 * Copy what is in memory, or with @only_new what came since record_dump__forget(). Unless copies
 * are live, samples that come meanwhile are not recorded.
 */
int record_dump__copy(struct record_dump *dump, struct evlist *evlist,
		      const struct record_live *live, const struct record_grow *grow,
		      bool only_new);
/* It was written, and is not new any more. */
void record_dump__forget(struct record_dump *dump);
/* Make a file of it. @idle is called while this, or the disk, is slow. */
int record_dump__write(struct record_dump *dump, struct perf_session *session,
		       struct evlist *evlist, const char *path,
		       void (*idle)(void *arg), void *arg);
void record_dump__exit(struct record_dump *dump);

/* What is in a file before its data, and behind it */
struct record_header {
	void	*map;
	size_t	size;
	u64	data_offset;
	u64	features;	/* where they begin */
};

/* Without @features, nothing is behind the data. */
int record_header__init(struct record_header *header, struct perf_session *session,
			struct evlist *evlist, u64 data_size, bool features);
void record_header__exit(struct record_header *header);

#endif /* __PERF_RECORD_DUMP_H */
