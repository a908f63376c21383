// SPDX-License-Identifier: GPL-2.0
/*
 * The callbacks of 'perf data' that differ between versions of perf, for reading the files that
 * it merges
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

void merge__set_callbacks(struct perf_tool *tool)
{
	tool->sample = process_sample;
	tool->feature = process_feature;
}
