/* SPDX-License-Identifier: GPL-2.0 */
/* Select a part of the records in buffers of persistent events, by time or by size. */
#ifndef __PERF_PERSISTENT_SLICE_H
#define __PERF_PERSISTENT_SLICE_H

#include <linux/types.h>
#include <stdbool.h>
#include "persistent-read.h"

struct evlist;
struct perf_event_attr;
struct persistent;
struct persistent_slice;

/* Limits that the user gave; NULL and 0: no limit */
struct persistent_slice_opts {
	const char	*last;		/* before persistent_slice__new(), or the snapshot */
	const char	*from;		/* as in perf report --time */
	const char	*to;
	u64		max_size;	/* bytes of output; keep the newest samples */
};

bool persistent_slice_opts__any_time(const struct persistent_slice_opts *opts);

/* Select from the records of @persistent's reader, for as long as the reader is used. */
struct persistent_slice *persistent_slice__new(const struct persistent_slice_opts *opts,
					       struct evlist *evlist,
					       const struct persistent *persistent);
void persistent_slice__delete(struct persistent_slice *slice);

/*
 * Does the slice limit the size? Then the reader only copies, and
 * persistent_slice__push_newest() passes the newest records on.
 */
bool persistent_slice__holds(const struct persistent_slice *slice);
int persistent_slice__push_newest(struct persistent_slice *slice, u64 room,
				  persistent_push_t push, void *to);

/* Size of the records that any sample needs in the output, or a negative errno */
s64 persistent_slice__vital_size(struct persistent_slice *slice);

/* Tell the user what was left out unexpectedly. */
void persistent_slice__report(const struct persistent_slice *slice);

/* The current time in ns, by the clock of records of an event like @like */
int persistent__now(const struct perf_event_attr *like, u64 *now);

/* The same, and CLOCK_REALTIME at that moment */
int persistent__now_and_wall(const struct perf_event_attr *like, u64 *now, u64 *wall);

#endif /* __PERF_PERSISTENT_SLICE_H */
