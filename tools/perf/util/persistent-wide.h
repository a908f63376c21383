/* SPDX-License-Identifier: GPL-2.0 */
/* Put back fields that buffers of persistent events leave out of their records. */
#ifndef __PERF_PERSISTENT_WIDE_H
#define __PERF_PERSISTENT_WIDE_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

struct evlist;
struct evsel;
struct perf_event_attr;
union perf_event;

/* A record grows by at most that much. */
#define PERSISTENT_WIDER	(3 * sizeof(u64))

/* Leave out fields that readers can put back; with @narrow also the IP of tracepoints. */
void evsel__leave_out(struct evsel *evsel, bool narrow);

/* Fields that readers get of an event on @cpu, but its records lack: PERF_SAMPLE_... */
u64 persistent__left_out(const struct perf_event_attr *attr, int cpu);

/* Does any event leave out fields of its records? */
bool evlist__leaves_out(struct evlist *evlist);

/*
 * Is the record of one of these events? Buffers also hold records of events that have left the
 * namespace, or that joined after it was opened. perf would abort when it reads these.
 */
bool evlist__knows_record(struct evlist *evlist, const union perf_event *event);

/*
 * Copy the record @narrow from a buffer of @cpu to @wide, with all the fields that files have.
 * Returns its size there; 0: it is too large for a file.
 */
size_t evlist__widen(struct evlist *evlist, int cpu, const union perf_event *narrow,
		     union perf_event *wide);

#endif /* __PERF_PERSISTENT_WIDE_H */
