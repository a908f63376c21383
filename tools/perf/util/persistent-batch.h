/* SPDX-License-Identifier: GPL-2.0 */
/* The next records of many runs in the order of time. */
#ifndef __PERF_PERSISTENT_BATCH_H
#define __PERF_PERSISTENT_BATCH_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

struct perf_event_header;
struct persistent_batch;
struct persistent_looker;
struct persistent_run;

/* A record of one of the runs */
struct persistent_item {
	const struct perf_event_header *header;
	u32	pos;		/* where it starts in the run */
	u32	run : 31;
	u32	vital : 1;
};

struct persistent_batch *persistent_batch__new(void);
void persistent_batch__delete(struct persistent_batch *batch);

/*
 * Begin with the oldest record of @runs, or with @back the newest. They are not to be
 * changed as long as there are more. With @clear they are not read again.
 */
int persistent_batch__start(struct persistent_batch *batch, struct persistent_run *runs,
			    int nr_runs, bool back, bool clear, struct persistent_looker *looker);

/* Have the next records of all runs, sorted. Returns how many, 0: there are no more. */
int persistent_batch__next(struct persistent_batch *batch);

/* The @nr-th of them; what is in there is valid until the next batch. */
const struct persistent_item *persistent_batch__item(const struct persistent_batch *batch, int nr);

/* Its time, or that of the one before if it has none */
u64 persistent_batch__time(const struct persistent_batch *batch, int nr);

/* Have those in the cache soon that follow the @nr-th. */
void persistent_batch__prefetch(const struct persistent_batch *batch, int nr);

#endif /* __PERF_PERSISTENT_BATCH_H */
