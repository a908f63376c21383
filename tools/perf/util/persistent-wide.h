/* SPDX-License-Identifier: GPL-2.0 */
/* What buffers of persistent events leave out of their records, and readers put back. */
#ifndef __PERF_PERSISTENT_WIDE_H
#define __PERF_PERSISTENT_WIDE_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

struct evlist;
struct evsel;
struct perf_event_attr;
union perf_event;

/* A record grows by no more. */
#define PERSISTENT_WIDER	(3 * sizeof(u64))

/* Leave out what a reader of the buffers knows; with @narrow also where tracepoints are. */
void evsel__leave_out(struct evsel *evsel, bool narrow);

/* What readers get of an event on @cpu that is not in its records: PERF_SAMPLE_... */
u64 persistent__left_out(const struct perf_event_attr *attr, int cpu);

/* Is there any of whose records something is left out? */
bool evlist__leaves_out(struct evlist *evlist);

/*
 * Write the record @narrow, which is from a buffer of @cpu, to @wide, as files have it. Returns
 * its size there, 0: it is too large for a file.
 */
size_t evlist__widen(struct evlist *evlist, int cpu, const union perf_event *narrow,
		     union perf_event *wide);

#endif /* __PERF_PERSISTENT_WIDE_H */
