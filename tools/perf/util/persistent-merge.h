/* SPDX-License-Identifier: GPL-2.0 */
/* Merge the records of many buffers in the order of time, without holding all in memory. */
#ifndef __PERF_PERSISTENT_MERGE_H
#define __PERF_PERSISTENT_MERGE_H

#include <linux/types.h>
#include <stddef.h>
#include "persistent-read.h"

struct evlist;
struct perf_mmap;
struct persistent_merge;

struct persistent_merge *persistent_merge__new(void);
void persistent_merge__delete(struct persistent_merge *merge);

/* Put back the fields that the buffers leave out of records of @evlist. */
void persistent_merge__set_evlist(struct persistent_merge *merge, struct evlist *evlist);

/* Set who chooses records and knows their time. Without it they come buffer by buffer. */
void persistent_merge__set_look(struct persistent_merge *merge, persistent_look_t look,
				void *arg);

/*
 * Keep all but the first few copies in the file that is open as @fd. It must stay open as
 * long as @merge is used. Without it all copies are in memory.
 */
void persistent_merge__set_file(struct persistent_merge *merge, int fd);

/* Records of one buffer, the newest one first, as they are in a backward buffer */
struct persistent_records {
	const void	 *copy;		/* NULL: they are in @map */
	struct perf_mmap *map;		/* of a buffer that does not change */
	int		 cpu;		/* of the buffer */
	u64		 head;		/* where in the map the newest one starts */
	u64		 len;		/* the last record may be incomplete */
};

/*
 * Add @records, except those that begin in the first @skip bytes. Returns 0, and in @end
 * where the last whole record ends, or a negative errno.
 */
int persistent_merge__add(struct persistent_merge *merge,
			  const struct persistent_records *records, u64 skip, u64 *end);

/* Records of @nr buffers will be added next. */
void persistent_merge__expect(struct persistent_merge *merge, int nr);

/*
 * Pass all records to @push, the oldest first. @clear: drop them, to make room
 * for others.
 */
int persistent_merge__push(struct persistent_merge *merge, persistent_push_t push, void *to,
			   bool clear);

/* Size of the vital records, or a negative errno if they cannot be read */
s64 persistent_merge__vital_size(struct persistent_merge *merge);

/*
 * Of the records that are not vital, keep only the newest @room bytes. -E2BIG: not even one
 * of them fits.
 */
int persistent_merge__cut(struct persistent_merge *merge, u64 room);

/* Number of records that persistent_merge__cut() made the last push leave out */
u64 persistent_merge__nr_cut(const struct persistent_merge *merge);

/* Bytes of all records that were added */
u64 persistent_merge__size(const struct persistent_merge *merge);

/* Time of the newest record that was passed on so far; 0: none */
u64 persistent_merge__time(const struct persistent_merge *merge);

#endif /* __PERF_PERSISTENT_MERGE_H */
