/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_RECORD_LIVE_H
#define __PERF_RECORD_LIVE_H

#include <linux/bitmap.h>
#include <linux/types.h>
#include <stdbool.h>
#include "perf.h"

struct evlist;
struct perf_mmap;
struct record_copy;
struct target;

/* Does perf copy the buffers of -M while the kernel writes to them? */
struct record_live {
	bool		on;
	u64		ns_id;	/* the namespace without a name */
	const char	*why;	/* why it is not on */
	DECLARE_BITMAP(offline, MAX_NR_CPUS);	/* CPUs that were reported as offline */
};

/*
 * Let the events that own a buffer join a namespace. If they cannot, live->on is false,
 * which is no error. Call this in the recording process: only the creator of a namespace
 * can add to it.
 */
void record_live__join(struct record_live *live, struct evlist *evlist, struct target *target);

/* Add a buffer that replaces another. If it cannot join, all copies pause from now on. */
void record_live__add(struct record_live *live, const struct perf_mmap *map);

/*
 * Copy the new records of a buffer. Sets @copy->head and @copy->size: the copy has all
 * records that are newer than its end. The last (oldest) record may be incomplete. Calls
 * @idle now and then.
 */
int record_live__copy(const struct perf_mmap *map, struct record_copy *copy,
		      void (*idle)(void *arg), void *arg);

/* Warn once for each CPU that is not recorded any more, if the kernel can tell. */
void record_live__tell_offline(struct record_live *live, struct evlist *evlist);

#endif /* __PERF_RECORD_LIVE_H */
