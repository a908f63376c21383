/* SPDX-License-Identifier: GPL-2.0 */
/* A part of what the buffers of persistent events hold: by time, by size. */
#ifndef __PERF_PERSISTENT_SLICE_H
#define __PERF_PERSISTENT_SLICE_H

#include <linux/types.h>
#include <stdbool.h>
#include "persistent-read.h"

struct evlist;
struct perf_event_attr;
struct persistent;
struct persistent_slice;

/* What a user said is wanted; NULL and 0: no limit */
struct persistent_slice_opts {
	const char	*last;		/* until persistent_slice__new(), or the snapshot */
	const char	*from;		/* as in perf report --time */
	const char	*to;
	u64		max_size;	/* bytes of output, in which the newest samples win */
};

bool persistent_slice_opts__any_time(const struct persistent_slice_opts *opts);

/* Chooses from what the reader of @persistent reads, as long as that is used. */
struct persistent_slice *persistent_slice__new(const struct persistent_slice_opts *opts,
					       struct evlist *evlist,
					       const struct persistent *persistent);
void persistent_slice__delete(struct persistent_slice *slice);

/* With a limit on the size the reader only copies, and this hands the newest on. */
bool persistent_slice__holds(const struct persistent_slice *slice);
int persistent_slice__push_newest(struct persistent_slice *slice, u64 room,
				  persistent_push_t push, void *to);

/* What has to be in the output for whatever sample, or a negative errno */
s64 persistent_slice__vital_size(struct persistent_slice *slice);

/* Say what was left out that one may have expected. */
void persistent_slice__report(const struct persistent_slice *slice);

/* The time in ns by the clock of the records of such an event */
int persistent__now(const struct perf_event_attr *like, u64 *now);

/* And CLOCK_REALTIME at that moment */
int persistent__now_and_wall(const struct perf_event_attr *like, u64 *now, u64 *wall);

#endif /* __PERF_PERSISTENT_SLICE_H */
