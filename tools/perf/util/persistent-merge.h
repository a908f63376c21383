/* SPDX-License-Identifier: GPL-2.0 */
/* Records of many buffers in the order of time, without holding them in memory. */
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

/* Put back what is left out of records of the events of @evlist. */
void persistent_merge__set_evlist(struct persistent_merge *merge, struct evlist *evlist);

/* How to look at records. Without this they are handed on buffer after buffer. */
void persistent_merge__set_look(struct persistent_merge *merge, persistent_look_t look,
				void *arg);

/*
 * Keep copies in the file that is open as @fd, but for the first few. It stays open as
 * long as @merge is used. Without it all are in memory.
 */
void persistent_merge__set_file(struct persistent_merge *merge, int fd);

/* Records of one buffer, the newest one first, as they are in a backward buffer */
struct persistent_records {
	const void	 *copy;		/* NULL: they are in @map */
	struct perf_mmap *map;		/* of a buffer that does not change */
	int		 cpu;		/* that the buffer is of */
	u64		 head;		/* where in the map the newest one starts */
	u64		 len;		/* the last one may be there in part */
};

/*
 * Add @records, less those that begin in the first @skip bytes. Returns 0, where the
 * last whole record ends in @end, or a negative errno.
 */
int persistent_merge__add(struct persistent_merge *merge,
			  const struct persistent_records *records, u64 skip, u64 *end);

/* The next ones that are added are of @nr buffers. */
void persistent_merge__expect(struct persistent_merge *merge, int nr);

/*
 * Hand all records on, the oldest first. They stay unless @clear, which makes
 * room for others.
 */
int persistent_merge__push(struct persistent_merge *merge, persistent_push_t push, void *to,
			   bool clear);

/* Bytes of the records that are vital: a negative errno if they cannot be read */
s64 persistent_merge__vital_size(struct persistent_merge *merge);

/*
 * Leave out what is older than the newest @room bytes of records that are not vital. -E2BIG:
 * not even one of them fits.
 */
int persistent_merge__cut(struct persistent_merge *merge, u64 room);

/* Records that the last push left out for that reason */
u64 persistent_merge__nr_cut(const struct persistent_merge *merge);

/* Bytes of all records that were added */
u64 persistent_merge__size(const struct persistent_merge *merge);

/* Time of the newest record that was handed on so far; 0: none */
u64 persistent_merge__time(const struct persistent_merge *merge);

#endif /* __PERF_PERSISTENT_MERGE_H */
