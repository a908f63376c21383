// SPDX-License-Identifier: GPL-2.0
/*
 * The start of a perf.data stream: the events with their names, and the formats of tracepoints.
 * Also helpers that add any record to the stream. For the format, see
 * tools/perf/Documentation/perf.data-file-format.txt.
 */
#include <linux/mm.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/stdarg.h>
#include <linux/string.h>
#include <linux/trace_events.h>

#include "read.h"
#include "read_data.h"

/* As in tools/lib/perf/include/perf/event.h */
#define PERF_RECORD_HEADER_ATTR		64
#define PERF_RECORD_HEADER_TRACING_DATA	66
#define PERF_RECORD_EVENT_UPDATE	78
#define PERF_EVENT_UPDATE__NAME		2

/* Maximum number of ids in one record, whose size is limited to 16 bits */
#define PERF_OUT_IDS	8000

/*
 * Bytes
 */

/**
 * perf_out_room - make room for more output
 * @out:	the output
 * @len:	number of bytes
 *
 * Return: true if there is room; false without memory.
 */
bool perf_out_room(struct perf_out *out, size_t len)
{
	void *data;
	size_t max;

	if (out->failed)
		return false;
	if (len <= out->max - out->len)
		return true;

	max = max(2 * out->max, out->len + len + PAGE_SIZE);
	data = perf_copy_alloc(max, 0);
	if (!data) {
		out->failed = true;
		return false;
	}
	if (out->len)
		memcpy(data, out->data, out->len);
	kvfree(out->data);
	out->data = data;
	out->max = max;
	return true;
}

/* Extend the output by @len bytes. Returns a pointer to them, or NULL. */
static void *extend(struct perf_out *out, size_t len)
{
	if (!perf_out_room(out, len))
		return NULL;
	out->len += len;
	return out->data + out->len - len;
}

/**
 * perf_out_add - add bytes
 * @out:	the output
 * @data:	the bytes; NULL for zeros
 * @len:	number of bytes
 */
void perf_out_add(struct perf_out *out, const void *data, size_t len)
{
	void *room = extend(out, len);

	if (room && data)
		memcpy(room, data, len);
	else if (room)
		memset(room, 0, len);
}

/**
 * perf_out_printf - add text, without a NUL
 * @out:	the output
 * @fmt:	format string like that of printk()
 */
void perf_out_printf(struct perf_out *out, const char *fmt, ...)
{
	va_list args;
	char *room;
	int len;

	va_start(args, fmt);
	len = vsnprintf(NULL, 0, fmt, args);
	va_end(args);

	/* One more for the NUL, which vsnprintf() writes */
	room = extend(out, len + 1);
	if (!room)
		return;
	va_start(args, fmt);
	vsnprintf(room, len + 1, fmt, args);
	va_end(args);
	out->len--;
}

/**
 * perf_out_free - free the bytes of an output
 * @out:	the output
 */
void perf_out_free(struct perf_out *out)
{
	kvfree(out->data);
	out->data = NULL;
	out->len = 0;
	out->max = 0;
}

/**
 * perf_out_begin - begin a record
 * @out:	the output
 * @type:	see enum perf_event_type
 * @misc:	PERF_RECORD_MISC_...
 *
 * Return: the start of the record, for perf_out_end().
 */
size_t perf_out_begin(struct perf_out *out, u32 type, u16 misc)
{
	struct perf_event_header header = { .type = type, .misc = misc };
	size_t start = out->len;

	perf_out_add(out, &header, sizeof(header));
	return start;
}

/**
 * perf_out_end - end a record
 * @out:	the output
 * @start:	the value that perf_out_begin() returned
 * @with_id:	append sample_id fields. They are all 0: perf takes this for the first event,
 *		and for a time before all other records
 *
 * A record that does not fit into the 16 bits of its header is dropped.
 */
void perf_out_end(struct perf_out *out, size_t start, bool with_id)
{
	struct perf_event_header *header;

	perf_out_add(out, NULL, -out->len & (sizeof(u64) - 1));
	if (with_id)
		perf_out_add(out, NULL, out->id_size);
	if (out->failed)
		return;
	if (out->len - start > U16_MAX) {
		out->len = start;
		return;
	}
	header = out->data + start;
	header->size = out->len - start;
}

/*
 * Events
 */

/**
 * perf_out_id_size - size of the sample_id fields of an event
 * @attr:	attributes of the event
 * @more:	PERF_SAMPLE_... of more fields that its records have
 *
 * Return: number of bytes at the end of each of its records that is no sample.
 */
size_t perf_out_id_size(const struct perf_event_attr *attr, u64 more)
{
	if (!attr->sample_id_all)
		return 0;
	return hweight64((attr->sample_type | more) &
			 (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
			  PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER)) *
	       sizeof(u64);
}

/**
 * perf_out_header - add the header of a perf.data stream in pipe format
 * @out:	the output
 */
void perf_out_header(struct perf_out *out)
{
	/* The magic is a number: perf detects the byte order by it. */
	const u64 header[2] = { 0x32454c4946524550ULL, sizeof(header) };

	perf_out_add(out, header, sizeof(header));
}

/* Clear values that mean nothing elsewhere, and set a size that all versions of perf read. */
static void clean_attr(struct perf_event_attr *attr, const struct perf_copy_event *event)
{
	*attr = event->attr;
	attr->sample_type |= event->left_out;
	/* For a probe that perf_event_open() made, config1 is a pointer of its creator. */
	if (event->format && attr->type != PERF_TYPE_TRACEPOINT)
		attr->kprobe_func = 0;
	/*
	 * Some versions of perf look for the ids after this many bytes, others after the size
	 * that they know. The latter find zeros in between, which are no ids.
	 */
	attr->size = attr->config3 ? PERF_ATTR_SIZE_VER8 : PERF_ATTR_SIZE_VER7;
}

/* Events that differ only in their CPU and id are the same, and form a group. */
static int compare_same(const struct perf_copy_event *a, const struct perf_copy_event *b)
{
	/* There may be many events, and sort() does not reschedule. */
	cond_resched();
	return memcmp(&a->attr, &b->attr, sizeof(a->attr)) ?: strcmp(a->name, b->name) ?:
	       (int)hweight64(a->left_out) - (int)hweight64(b->left_out);
}

static int compare_events(const void *a, const void *b)
{
	const struct perf_copy_event *x = *(void **)a, *y = *(void **)b;

	return compare_same(x, y) ?: (x->id < y->id ? -1 : 1);
}

/* Events that are the same, ordered by id; add_groups() orders the groups by their first id. */
struct event_group {
	const struct perf_copy_event	**events;
	unsigned int			nr;
};

static int compare_groups(const void *a, const void *b)
{
	const struct event_group *x = a, *y = b;

	return x->events[0]->id < y->events[0]->id ? -1 : 1;
}

static void add_name(struct perf_out *out, const struct perf_copy_event *event)
{
	const u64 type = PERF_EVENT_UPDATE__NAME;
	size_t start;

	start = perf_out_begin(out, PERF_RECORD_EVENT_UPDATE, 0);
	perf_out_add(out, &type, sizeof(type));
	perf_out_add(out, &event->id, sizeof(event->id));
	perf_out_add(out, event->name, strlen(event->name) + 1);
	perf_out_end(out, start, false);
}

static void add_group(struct perf_out *out, const struct event_group *group)
{
	struct perf_event_attr attr;
	unsigned int i;
	size_t start;

	clean_attr(&attr, group->events[0]);
	start = perf_out_begin(out, PERF_RECORD_HEADER_ATTR, 0);
	perf_out_add(out, &attr, sizeof(attr));
	for (i = 0; i < group->nr; i++)
		perf_out_add(out, &group->events[i]->id, sizeof(u64));
	perf_out_end(out, start, false);
	add_name(out, group->events[0]);
}

/*
 * Can perf tell the events apart? It looks for the id in all records at the position that the
 * first event has. For a single group it needs no id.
 */
static bool can_tell(const struct perf_event_attr *first, const struct perf_event_attr *attr)
{
	if (first->sample_id_all != attr->sample_id_all)
		return false;
	if (first->sample_type & attr->sample_type & PERF_SAMPLE_IDENTIFIER)
		return true;
	return first->sample_type == attr->sample_type && attr->sample_type & PERF_SAMPLE_ID;
}

static int add_groups(struct perf_out *out, const struct perf_copy_event **sorted,
		      struct event_group *groups, unsigned int nr_events)
{
	struct event_group *group = NULL;
	unsigned int i, nr = 0;

	for (i = 0; i < nr_events; i++) {
		if (!group || group->nr == PERF_OUT_IDS ||
		    compare_same(group->events[0], sorted[i])) {
			group = &groups[nr++];
			group->events = &sorted[i];
			group->nr = 0;
		}
		group->nr++;
	}
	sort(groups, nr, sizeof(*groups), compare_groups, NULL);
	for (i = 1; i < nr; i++) {
		if (!can_tell(&groups[0].events[0]->attr, &groups[i].events[0]->attr))
			return -EOPNOTSUPP;
	}
	for (i = 0; i < nr; i++)
		add_group(out, &groups[i]);
	return 0;
}

/**
 * perf_out_attrs - add the events with their ids and names
 * @out:	the output
 * @events:	the events
 *
 * Return: 0, or
 *  -ENOMEM	out of memory
 *  -EOPNOTSUPP	perf could not tell to which event a record belongs
 */
int perf_out_attrs(struct perf_out *out, const struct perf_copy_events *events)
{
	const struct perf_copy_event **sorted, *event;
	struct event_group *groups;
	unsigned int nr = 0;
	int ret = -ENOMEM;

	sorted = perf_copy_alloc(array_size(events->nr, sizeof(*sorted)), 0);
	groups = perf_copy_alloc(array_size(events->nr, sizeof(*groups)), 0);
	if (sorted && groups) {
		for (event = events->all; event < perf_copy_events_end(events); event++)
			sorted[nr++] = event;
		sort(sorted, nr, sizeof(*sorted), compare_events, NULL);
		ret = add_groups(out, sorted, groups, nr);
	}
	kvfree(groups);
	kvfree(sorted);
	return out->failed ? -ENOMEM : ret;
}

/*
 * Formats of tracepoints
 */

/* In the format of f_show() in kernel/trace/trace_events.c */
static void add_field(struct perf_out *out, const struct perf_trace_field *field)
{
	const char *array = strstarts(field->type, "__data_loc") ? NULL : strchr(field->type, '[');

	if (!array)
		perf_out_printf(out, "\tfield:%s %s;", field->type, field->name);
	else if (field->len)
		perf_out_printf(out, "\tfield:%.*s %s[%d];", (int)(array - field->type),
				field->type, field->name, field->len);
	else
		perf_out_printf(out, "\tfield:%.*s %s[];", (int)(array - field->type),
				field->type, field->name);
	perf_out_printf(out, "\toffset:%u;\tsize:%u;\tsigned:%d;\n", field->offset, field->size,
			field->is_signed);
}

#define COMMON(_type, _field, _signed) {			\
	.name		= "common_" #_field,			\
	.type		= #_type,				\
	.offset		= offsetof(struct trace_entry, _field),	\
	.size		= sizeof(_type),			\
	.is_signed	= _signed,				\
}

static const struct perf_trace_field common_fields[] = {
	COMMON(unsigned short, type, false),
	COMMON(unsigned char, flags, false),
	COMMON(unsigned char, preempt_count, false),
	COMMON(int, pid, true),
};

/* Begin a file: the size, which end_file() sets, and then the contents. */
static size_t begin_file(struct perf_out *out)
{
	perf_out_add(out, NULL, sizeof(u64));
	return out->len;
}

static void end_file(struct perf_out *out, size_t start)
{
	const u64 size = out->len - start;

	if (!out->failed)
		memcpy(out->data + start - sizeof(size), &size, sizeof(size));
}

static void add_format(struct perf_out *out, const struct perf_format *format)
{
	size_t start = begin_file(out);
	unsigned int i;

	perf_out_printf(out, "name: %s\nID: %u\nformat:\n", format->name, format->id);
	for (i = 0; i < ARRAY_SIZE(common_fields); i++)
		add_field(out, &common_fields[i]);
	perf_out_printf(out, "\n");
	for (i = 0; i < format->nr; i++)
		add_field(out, &format->fields[i]);
	perf_out_printf(out, "\nprint fmt: %s\n", format->print_fmt);
	end_file(out, start);
}

static int compare_formats(const void *a, const void *b)
{
	const struct perf_format *x = *(void **)a, *y = *(void **)b;

	cond_resched();
	return strcmp(x->system, y->system) ?: (x->id < y->id ? -1 : x->id > y->id);
}

/*
 * Sort the formats, and keep each of them once. Skip probes that perf_event_open() made: perf
 * cannot use their formats.
 */
static unsigned int sort_formats(const struct perf_format **formats,
				 const struct perf_copy_events *events)
{
	const struct perf_copy_event *event;
	unsigned int i, nr = 0, nr_once = 0;

	for (event = events->all; event < perf_copy_events_end(events); event++) {
		if (event->format && event->attr.type == PERF_TYPE_TRACEPOINT)
			formats[nr++] = event->format;
	}
	sort(formats, nr, sizeof(*formats), compare_formats, NULL);
	for (i = 0; i < nr; i++) {
		if (!i || formats[i] != formats[i - 1])
			formats[nr_once++] = formats[i];
	}
	return nr_once;
}

static unsigned int count_system(const struct perf_format **formats, unsigned int nr)
{
	unsigned int i = 1;

	while (i < nr && !strcmp(formats[0]->system, formats[i]->system))
		i++;
	return i;
}

/* The format of pages of ftrace buffers. The stream has none, but perf requires this. */
static void add_page_format(struct perf_out *out)
{
	size_t start;

	perf_out_add(out, "header_page", sizeof("header_page"));
	start = begin_file(out);
	perf_out_printf(out, "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n");
	perf_out_printf(out, "\tfield: local_t commit;\toffset:8;\tsize:%zu;\tsigned:1;\n",
			sizeof(long));
	perf_out_printf(out, "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n");
	perf_out_printf(out, "\tfield: char data;\toffset:%zu;\tsize:%lu;\tsigned:1;\n",
			8 + sizeof(long), PAGE_SIZE - 8 - sizeof(long));
	end_file(out, start);
	perf_out_add(out, "header_event", sizeof("header_event"));
	end_file(out, begin_file(out));
}

/* In the format of tools/perf/util/trace-event-info.c */
static void add_tracing(struct perf_out *out, const struct perf_format **formats, unsigned int nr)
{
	static const u8 head[] = "\x17\x08\x44tracing0.6";
	static const u8 about[] = { IS_ENABLED(CONFIG_CPU_BIG_ENDIAN), sizeof(long) };
	const u32 page_size = PAGE_SIZE, none = 0;
	u32 i, nr_here, nr_systems = 0;

	perf_out_add(out, head, sizeof(head));
	perf_out_add(out, about, sizeof(about));
	perf_out_add(out, &page_size, sizeof(page_size));
	add_page_format(out);

	perf_out_add(out, &none, sizeof(none)); /* ftrace's own events */
	for (i = 0; i < nr; i += count_system(formats + i, nr - i))
		nr_systems++;
	perf_out_add(out, &nr_systems, sizeof(nr_systems));
	for (; nr; formats += nr_here, nr -= nr_here) {
		nr_here = count_system(formats, nr);
		perf_out_add(out, formats[0]->system, strlen(formats[0]->system) + 1);
		perf_out_add(out, &nr_here, sizeof(nr_here));
		for (u32 j = 0; j < nr_here; j++)
			add_format(out, formats[j]);
	}
	perf_out_add(out, &none, sizeof(none)); /* kallsyms */
	perf_out_add(out, &none, sizeof(none)); /* printk_formats */
	end_file(out, begin_file(out)); /* saved_cmdlines */
}

/**
 * perf_out_formats - add the formats of tracepoints
 * @out:	the output
 * @events:	the events
 *
 * Return: 0 or -ENOMEM.
 */
int perf_out_formats(struct perf_out *out, const struct perf_copy_events *events)
{
	const struct perf_format **formats;
	u32 size[2] = { };
	size_t start, here;
	unsigned int nr;

	formats = perf_copy_alloc(array_size(events->nr, sizeof(*formats)), 0);
	if (!formats)
		return -ENOMEM;
	nr = sort_formats(formats, events);
	if (nr) {
		start = perf_out_begin(out, PERF_RECORD_HEADER_TRACING_DATA, 0);
		perf_out_add(out, size, sizeof(size));
		perf_out_end(out, start, false);
		/* perf expects the tracing data after the record, not in it. */
		here = out->len;
		add_tracing(out, formats, nr);
		perf_out_add(out, NULL, -(out->len - here) & (sizeof(u64) - 1));
		size[0] = out->len - here;
		if (!out->failed)
			memcpy(out->data + here - sizeof(size), size, sizeof(size));
	}
	kvfree(formats);
	return out->failed ? -ENOMEM : 0;
}
