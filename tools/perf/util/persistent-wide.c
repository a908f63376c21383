// SPDX-License-Identifier: GPL-2.0
/*
 * Put back fields that buffers of persistent events leave out of their records.
 *
 * A buffer belongs to one CPU, and a sample of a tracepoint is one hit, unless the
 * tracepoint has a count. So perf record -P leaves CPU and period out of the records, and
 * more records fit into a buffer. Readers of a buffer put the fields back: files, and code
 * that sees the records later, have all fields as in records of other events.
 *
 * kernel/events/read_wide.c and scripts/gdb do the same for the kernel's own readers.
 */
#include "persistent-wide.h"

#include <limits.h>
#include <string.h>
#include <linux/bitops.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/string.h>
#include <internal/evsel.h>
#include "event.h"
#include "evlist.h"
#include "evsel.h"
#ifdef HAVE_LIBTRACEEVENT
#include <traceevent/event-parse.h>
#endif

/*
 * For sched_stat_* the period is the time that a task ran or waited. The kernel does not tell
 * which tracepoints have a count, but in its own code only these do. If one in a module has a
 * count, each of its hits makes as many samples as it counts.
 */
static bool evsel__has_count(struct evsel *evsel)
{
#ifdef HAVE_LIBTRACEEVENT
	const struct tep_event *tp_format = evsel__tp_format(evsel);

	if (tp_format)
		return !strcmp(tp_format->system, "sched") &&
		       strstarts(tp_format->name, "sched_stat_");
#endif
	return true;
}

void evsel__leave_out(struct evsel *evsel, bool narrow)
{
	struct perf_event_attr attr = evsel->core.attr;
	u64 out = PERF_SAMPLE_CPU;

	if (!evsel__has_count(evsel))
		out |= PERF_SAMPLE_PERIOD;
	if (narrow)
		out |= PERF_SAMPLE_IP;

	/* But leave out only fields that readers put back. */
	attr.sample_type &= ~out;
	out &= persistent__left_out(&attr, /*cpu=*/0);
	if (out & PERF_SAMPLE_CPU)
		evsel__reset_sample_bit(evsel, CPU);
	if (out & PERF_SAMPLE_PERIOD)
		evsel__reset_sample_bit(evsel, PERIOD);
	if (out & PERF_SAMPLE_IP)
		evsel__reset_sample_bit(evsel, IP);
}

u64 persistent__left_out(const struct perf_event_attr *attr, int cpu)
{
	bool tracepoint = attr->type == PERF_TYPE_TRACEPOINT;
	u64 type = attr->sample_type, wide = PERF_SAMPLE_CPU;

	/* Records are matched to events by their id. */
	if (cpu < 0 || !(type & PERF_SAMPLE_IDENTIFIER) || !attr->sample_id_all)
		return 0;
	/* Records with these may already have the maximum size, which is 16 bits. */
	if (type & (PERF_SAMPLE_STACK_USER | PERF_SAMPLE_AUX) ||
	    (type & PERF_SAMPLE_RAW && !tracepoint))
		return 0;
	if (tracepoint)
		wide |= PERF_SAMPLE_IP;
	if (tracepoint && !attr->freq && attr->sample_period == 1)
		wide |= PERF_SAMPLE_PERIOD;
	return wide & ~type;
}

bool evlist__leaves_out(struct evlist *evlist)
{
	struct evsel *evsel;

	evlist__for_each_entry(evlist, evsel) {
		if (evsel->left_out)
			return true;
	}
	return false;
}

/* 0: it has none. For records of events with PERF_SAMPLE_IDENTIFIER and sample_id_all */
static u64 record__id(const union perf_event *event)
{
	size_t words = event->header.size / sizeof(u64);
	const u64 *ids = (void *)event;

	if (words < 2)
		return 0;
	return event->header.type == PERF_RECORD_SAMPLE ? ids[1] : ids[words - 1];
}

/* Only events with an id in each record leave fields out. */
static struct evsel *record__evsel(struct evlist *evlist, const union perf_event *event)
{
	struct perf_sample_id *sid = evlist__id2sid(evlist, record__id(event));

	return sid ? container_of(sid->evsel, struct evsel, core) : NULL;
}

bool evlist__knows_record(struct evlist *evlist, const union perf_event *event)
{
	const struct perf_event_attr *attr = &evlist__first(evlist)->core.attr;
	u64 id;

	/* Without an id in each record, records are matched to events in other ways. */
	if (!(attr->sample_type & PERF_SAMPLE_IDENTIFIER) || !attr->sample_id_all)
		return true;
	id = record__id(event);
	return !id || evlist__id2sid(evlist, id);
}

/* The rest of a record, and where to copy it */
struct widening {
	const u64	*from;
	const u64	*end;
	u64		*to;
};

static void move_words(struct widening *w, size_t nr)
{
	nr = min(nr, (size_t)(w->end - w->from));
	memcpy(w->to, w->from, nr * sizeof(u64));
	w->from += nr;
	w->to += nr;
}

static void add_cpu(struct widening *w, int cpu)
{
	u32 words[2] = { cpu, 0 };

	memcpy(w->to++, words, sizeof(words));
}

static void widen_sample(struct widening *w, u64 type, u64 left_out, int cpu)
{
	move_words(w, 1);
	if (left_out & PERF_SAMPLE_IP)
		*w->to++ = 0;
	move_words(w, hweight64(type & (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
					PERF_SAMPLE_ADDR | PERF_SAMPLE_ID |
					PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU)));
	if (left_out & PERF_SAMPLE_CPU)
		add_cpu(w, cpu);
	if (left_out & PERF_SAMPLE_PERIOD)
		*w->to++ = 1;
}

/* In the sample_id at the end of a record, the id comes last, after the CPU. */
static void widen_other(struct widening *w, u64 left_out, int cpu)
{
	move_words(w, w->end - w->from - 1);
	if (left_out & PERF_SAMPLE_CPU)
		add_cpu(w, cpu);
}

size_t evlist__widen(struct evlist *evlist, int cpu, const union perf_event *narrow,
		     union perf_event *wide)
{
	struct evsel *evsel = record__evsel(evlist, narrow);
	size_t size = narrow->header.size;
	struct widening w = {
		.from	= (const u64 *)narrow + 1,
		.end	= (const u64 *)narrow + size / sizeof(u64),
		.to	= (u64 *)wide + 1,
	};

	if (!evsel || !evsel->left_out) {
		memcpy(wide, narrow, size);
		return size;
	}

	wide->header = narrow->header;
	if (narrow->header.type == PERF_RECORD_SAMPLE)
		widen_sample(&w, evsel->core.attr.sample_type & ~evsel->left_out,
			     evsel->left_out, cpu);
	else
		widen_other(&w, evsel->left_out, cpu);
	move_words(&w, w.end - w.from);

	size = (char *)w.to - (char *)wide;
	wide->header.size = size;
	return size <= USHRT_MAX ? size : 0;
}
