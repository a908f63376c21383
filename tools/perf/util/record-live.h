/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_RECORD_LIVE_H
#define __PERF_RECORD_LIVE_H

#include <linux/types.h>
#include <stdbool.h>

struct evlist;
struct perf_mmap;
struct record_copy;
struct target;

/* Are the buffers of -M copied while the kernel writes to them? */
struct record_live {
	bool		on;
	u64		ns_id;	/* of the namespace that has no name */
	const char	*why;	/* it is not on */
};

/* Find out. It is no error if it cannot be; the kernel asks who made the namespace later. */
void record_live__join(struct record_live *live, struct evlist *evlist, struct target *target);

/* A buffer took over from one of them. If it cannot be copied in this way, none is from here on. */
void record_live__add(struct record_live *live, const struct perf_mmap *map);

/*
 * Copy what is new in the buffer. Sets @copy->head and @copy->size: all that is newer than its end
 * is in there. The last record may be a part of one.
 */
int record_live__copy(const struct perf_mmap *map, struct record_copy *copy);

#endif /* __PERF_RECORD_LIVE_H */
