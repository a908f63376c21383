// SPDX-License-Identifier: GPL-2.0
/*
 * Formats of tracepoints, kept for as long as there may be records of them.
 *
 * A live event keeps its tracepoint registered. A snapshot does not: when somebody reads the
 * snapshot, the module or the probe may be gone, and its type number may be in use again. So
 * each member has a copy of the format, and its snapshots share it. Members with equal formats
 * share one copy.
 */
#include <linux/hashtable.h>
#include <linux/perf_event.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/trace_events.h>

#include "read.h"

#define PERF_FORMAT_GFP	(GFP_KERNEL | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

static const struct {
	const char	*name;
	u32		type;
	u64		config;
} perf_known_events[] = {
	/* If an event has several names, the first one is printed. */
	{ "cpu-clock",		PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK },
	{ "task-clock",		PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK },
	{ "page-faults",	PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS },
	{ "faults",		PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS },
	{ "context-switches",	PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES },
	{ "cs",			PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES },
	{ "cpu-migrations",	PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS },
	{ "migrations",		PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS },
	{ "minor-faults",	PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN },
	{ "major-faults",	PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ },
	{ "alignment-faults",	PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS },
	{ "emulation-faults",	PERF_TYPE_SOFTWARE, PERF_COUNT_SW_EMULATION_FAULTS },
	{ "dummy",		PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY },
	{ "cgroup-switches",	PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CGROUP_SWITCHES },
	{ "cycles",		PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
	{ "cpu-cycles",		PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
	{ "instructions",	PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS },
	{ "cache-references",	PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES },
	{ "cache-misses",	PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES },
	{ "branches",		PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS },
	{ "branch-instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS },
	{ "branch-misses",	PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES },
	{ "bus-cycles",		PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES },
	{ "stalled-cycles-frontend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND },
	{ "stalled-cycles-backend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND },
	{ "ref-cycles",		PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES },
};

/**
 * perf_known_name - get the name of a generic event
 * @attr:	attributes of the event
 *
 * Return: the name, or NULL if no name describes the event completely.
 */
const char *perf_known_name(const struct perf_event_attr *attr)
{
	int i;

	if (attr->config1 || attr->config2 || attr->config3)
		return NULL;
	for (i = 0; i < ARRAY_SIZE(perf_known_events); i++) {
		if (perf_known_events[i].type == attr->type &&
		    perf_known_events[i].config == attr->config)
			return perf_known_events[i].name;
	}
	return NULL;
}

/**
 * perf_known_event - find an event by its name
 * @name:	the name
 * @attr:	out: its type and config
 *
 * Return: false if there is none.
 */
bool perf_known_event(const char *name, struct perf_event_attr *attr)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(perf_known_events); i++) {
		if (strcmp(name, perf_known_events[i].name))
			continue;
		attr->type = perf_known_events[i].type;
		attr->config = perf_known_events[i].config;
		return true;
	}
	return false;
}

#ifdef CONFIG_EVENT_TRACING

static DEFINE_HASHTABLE(perf_formats, 6);
/* An innermost lock. Taken with interrupts off: RCU callbacks free events and their formats. */
static DEFINE_SPINLOCK(perf_format_lock); /* protects perf_formats */

struct field_walk {
	struct perf_format	*format;
	unsigned int		nr;
};

static int count_field(const struct perf_trace_field *field, void *data)
{
	struct field_walk *walk = data;

	walk->nr++;
	return 0;
}

static int copy_field(const struct perf_trace_field *field, void *data)
{
	struct field_walk *walk = data;
	struct perf_trace_field *copy = &walk->format->fields[walk->nr];

	*copy = *field;
	copy->name = kstrdup_const(field->name, PERF_FORMAT_GFP);
	copy->type = kstrdup_const(field->type, PERF_FORMAT_GFP);
	/* Count it even if only half of it was copied: free_format() frees both strings. */
	walk->nr++;
	return copy->name && copy->type ? 0 : -ENOMEM;
}

/* Returns 1 if the field differs from its copy. */
static int compare_field(const struct perf_trace_field *field, void *data)
{
	struct field_walk *walk = data;
	struct perf_trace_field *copy = &walk->format->fields[walk->nr];

	if (walk->nr++ >= walk->format->nr)
		return 1;
	return field->offset != copy->offset || field->size != copy->size ||
	       field->len != copy->len || field->is_signed != copy->is_signed ||
	       field->filter_type != copy->filter_type ||
	       strcmp(field->name, copy->name) || strcmp(field->type, copy->type);
}

static bool is_format_of(struct perf_format *format, struct trace_event_call *call)
{
	struct field_walk walk = { .format = format };

	return format->id == call->event.type &&
	       !strcmp(format->system, call->class->system) &&
	       !strcmp(format->name, trace_event_name(call)) &&
	       !strcmp(format->print_fmt, call->print_fmt) &&
	       !perf_trace_walk_fields(call, compare_field, &walk) && walk.nr == format->nr;
}

static void free_format(struct perf_format *format)
{
	unsigned int i;

	for (i = 0; i < format->nr; i++) {
		kfree_const(format->fields[i].name);
		kfree_const(format->fields[i].type);
	}
	kfree_const(format->system);
	kfree_const(format->name);
	kfree_const(format->print_fmt);
	kfree(format);
}

static struct perf_format *copy_format(struct trace_event_call *call)
{
	struct field_walk walk = { };
	struct perf_format *format;
	int ret;

	perf_trace_walk_fields(call, count_field, &walk);
	format = kzalloc(struct_size(format, fields, walk.nr), PERF_FORMAT_GFP);
	if (!format)
		return NULL;

	refcount_set(&format->refs, 1);
	format->id = call->event.type;
	format->nr = walk.nr;
	format->system = kstrdup_const(call->class->system, PERF_FORMAT_GFP);
	format->name = kstrdup_const(trace_event_name(call), PERF_FORMAT_GFP);
	format->print_fmt = kstrdup_const(call->print_fmt, PERF_FORMAT_GFP);
	walk = (struct field_walk){ .format = format };
	ret = perf_trace_walk_fields(call, copy_field, &walk);
	if (!ret && format->system && format->name && format->print_fmt)
		return format;
	free_format(format);
	return NULL;
}

static struct perf_format *find_format(struct trace_event_call *call)
{
	struct perf_format *format;

	lockdep_assert_held(&perf_format_lock);
	hash_for_each_possible(perf_formats, format, node, call->event.type) {
		if (is_format_of(format, call))
			return perf_format_share(format);
	}
	return NULL;
}

/**
 * perf_format_get - get the format of the tracepoint of an event
 * @event:	the event, which keeps its tracepoint registered meanwhile
 * @format:	out: the format, with a reference for the caller; NULL if @event has no
 *		tracepoint
 *
 * Return: 0 or -ENOMEM.
 */
int perf_format_get(struct perf_event *event, struct perf_format **format)
{
	struct trace_event_call *call = event->tp_event;
	struct perf_format *copy, *other;

	*format = NULL;
	if (!call)
		return 0;

	spin_lock_irq(&perf_format_lock);
	*format = find_format(call);
	spin_unlock_irq(&perf_format_lock);
	if (*format)
		return 0;

	copy = copy_format(call);
	if (!copy)
		return -ENOMEM;
	spin_lock_irq(&perf_format_lock);
	other = find_format(call);
	if (!other)
		hash_add(perf_formats, &copy->node, copy->id);
	spin_unlock_irq(&perf_format_lock);
	if (other)
		free_format(copy);
	*format = other ?: copy;
	return 0;
}

/**
 * perf_format_share - take another reference on a format
 * @format:	the format, or NULL
 *
 * Return: the format.
 */
struct perf_format *perf_format_share(struct perf_format *format)
{
	if (format)
		refcount_inc(&format->refs);
	return format;
}

/**
 * perf_format_put - put a reference on a format
 * @format:	the format, or NULL
 */
void perf_format_put(struct perf_format *format)
{
	unsigned long flags;
	bool last;

	if (!format)
		return;
	/* Under the lock, so that find_format() does not find a format without references. */
	spin_lock_irqsave(&perf_format_lock, flags);
	last = refcount_dec_and_test(&format->refs);
	if (last)
		hash_del(&format->node);
	spin_unlock_irqrestore(&perf_format_lock, flags);
	if (last)
		free_format(format);
}

#else /* !CONFIG_EVENT_TRACING */

int perf_format_get(struct perf_event *event, struct perf_format **format)
{
	*format = NULL;
	return 0;
}

struct perf_format *perf_format_share(struct perf_format *format)
{
	return NULL;
}

void perf_format_put(struct perf_format *format) { }

#endif
