// SPDX-License-Identifier: GPL-2.0
/*
 * perf stat: read the counts of a namespace's events, which do not start at zero.
 */
#include "persistent.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <linux/string.h>
#include "counts.h"
#include "debug.h"
#include "evlist.h"
#include "evsel.h"
#include "time-utils.h"
#include "util.h"

/* Read into evsel->counts: since the event was made, or since evlist__start_attached(). */
int evsel__read_attached(struct evsel *evsel, int cpu_map_idx)
{
	const u64 times = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	struct perf_counts_values *count = perf_counts(evsel->counts, cpu_map_idx, 0), *start;
	int err = evsel__read_counter(evsel, cpu_map_idx, 0);

	if (err)
		return err;

	/* The creator did not ask for times: assume that the event was always running. */
	if ((evsel->core.attr.read_format & times) != times) {
		count->ena = rdclock();
		count->run = count->ena;
	}

	if (evsel->start_counts) {
		start = perf_counts(evsel->start_counts, cpu_map_idx, 0);
		count->val -= start->val;
		count->ena -= start->ena;
		count->run -= start->run;
	}
	return 0;
}

/* Records lost for lack of room; for a snapshot those until it was taken */
int evsel__read_attached_lost(struct evsel *evsel, int cpu_map_idx, u64 *lost)
{
	struct perf_event_persist_member info;
	int err = persistent__get_event(evsel__cpu_fd(evsel, cpu_map_idx), &info);

	*lost = err ? 0 : info.lost;
	return err;
}

static int evsel__start_attached(struct evsel *evsel)
{
	struct perf_counts *start = perf_counts__new(evsel__nr_cpus(evsel), 1);
	unsigned int idx;
	int err = 0;

	if (!start)
		return -ENOMEM;

	perf_cpu_map__for_each_idx(idx, evsel__cpus(evsel)) {
		err = evsel__read_attached(evsel, idx);
		if (err)
			break;
		*perf_counts(start, idx, 0) = *perf_counts(evsel->counts, idx, 0);
		perf_counts__set_loaded(evsel->counts, idx, 0, false);
	}

	evsel->start_counts = start;
	return err;
}

/* Count attached events from now on: subtract what they have counted so far. */
int evlist__start_attached(struct evlist *evlist)
{
	char buf[STRERR_BUFSIZE];
	struct evsel *evsel;

	evlist__for_each_entry(evlist, evsel) {
		int err = evsel->core.attached ? evsel__start_attached(evsel) : 0;

		if (err) {
			pr_err("Cannot read what '%s' has counted: %s\n", evsel__name(evsel),
			       str_error_r(-err, buf, sizeof(buf)));
			return err;
		}
	}

	return 0;
}
