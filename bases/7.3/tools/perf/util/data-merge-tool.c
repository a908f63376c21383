// SPDX-License-Identifier: GPL-2.0
/*
 * The callbacks with which 'perf data' reads the files that it merges. Their arguments depend
 * on the version of perf.
 */
#include "data-merge-read.h"

#include <linux/compiler.h>
#include "event.h"
#include "header.h"
#include "sample.h"
#include "session.h"
#include "tool.h"

static int process_sample(const struct perf_tool *tool, union perf_event *event __maybe_unused,
			  struct perf_sample *sample, struct machine *machine)
{
	return merge__add_sample(tool, sample, sample->evsel, machine);
}

/* Ignore HEADER_LAST_FEATURE, which only marks the end of the features. */
static int process_feature(const struct perf_tool *tool, struct perf_session *session,
			   union perf_event *event)
{
	return event->feat.feat_id < HEADER_LAST_FEATURE ?
	       perf_event__process_feature(tool, session, event) : 0;
}

/* Process records of tasks for their names, and the records that a stream begins with. */
void merge__init_tool(struct perf_tool *tool)
{
	perf_tool__init(tool, /*ordered_events=*/true);
	tool->ordering_requires_timestamps = true;
	tool->no_warn = true;
	tool->sample = process_sample;
	tool->comm = perf_event__process_comm;
	tool->fork = perf_event__process_fork;
	tool->exit = perf_event__process_exit;
	tool->attr = perf_event__process_attr;
	tool->event_update = perf_event__process_event_update;
	tool->feature = process_feature;
	tool->id_index = perf_event__process_id_index;
#ifdef HAVE_LIBTRACEEVENT
	tool->tracing_data = perf_event__process_tracing_data;
#endif
}
