/* SPDX-License-Identifier: GPL-2.0 */
/* Take records from many runs in the order of time. */
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
 * Start with the oldest record of @runs, or with @back the newest. The caller must not change
 * @runs until all records were taken. @clear: their records will not be read again.
 */
int persistent_batch__start(struct persistent_batch *batch, struct persistent_run *runs,
			    int nr_runs, bool back, bool clear, struct persistent_looker *looker);

/* Take the next batch, sorted. Returns the number of records; 0: there are no more. */
int persistent_batch__next(struct persistent_batch *batch);

/* The @nr-th record of the batch. It is valid until the next batch. */
const struct persistent_item *persistent_batch__item(const struct persistent_batch *batch, int nr);

/* Its time, or the time of the record before it in its run if it has none */
u64 persistent_batch__time(const struct persistent_batch *batch, int nr);

/* Prefetch records that follow the @nr-th. */
void persistent_batch__prefetch(const struct persistent_batch *batch, int nr);

#endif /* __PERF_PERSISTENT_BATCH_H */
