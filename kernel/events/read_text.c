// SPDX-License-Identifier: GPL-2.0
/*
 * Records as text for people, one line for each record.
 *
 * This prints private copies only. It prints the fields of a tracepoint one by one from the
 * list of fields, and does not run the code of the tracepoint's print_fmt. That code trusts
 * pointers and counts in the record, and it is gone when its module is unloaded.
 */
#include <kunit/visibility.h>
#include <linux/math64.h>
#include <linux/min_heap.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/string_helpers.h>
#include <linux/time64.h>
#include <linux/trace_events.h>
#include <linux/unaligned.h>

#include "read.h"

/* Maximum number of bytes to print of a field that is neither text nor numbers */
#define PERF_TEXT_BYTES	64

/**
 * struct text_copy - a copy and the position in it
 * @copy:	the copy
 * @next:	index of its next record
 * @time:	time of this record; U64_MAX after the last one
 */
struct text_copy {
	struct perf_copy	*copy;
	unsigned long		next;
	u64			time;
};

DEFINE_MIN_HEAP(struct text_copy, text_heap);

/**
 * struct perf_text - a text that is being read
 * @source:	the source of the events and copies
 * @events:	the events of the source
 * @comms:	names of tasks
 * @symbols:	the reader may know kernel addresses
 * @pages:	pages that are reserved for the copies
 * @pos:	number of records before the next one
 * @heap:	the copies; the first one has the oldest record
 * @garbage:	for perf_copy_free_later()
 */
struct perf_text {
	struct perf_copy_source		*source;
	struct perf_copy_events		*events;
	struct perf_comms		*comms;
	bool				symbols;
	unsigned long			pages;
	loff_t				pos;
	struct text_heap		heap;
	struct perf_copy_garbage	garbage;
};

/*
 * Fields of tracepoints
 */

static void show_number(struct seq_file *m, const struct perf_trace_field *field, const void *p,
			int size)
{
	/* Print addresses and flags in hex. */
	bool hex = strchr(field->type, '*') || strstr(field->type, "long");
	s64 value;

	switch (size) {
	case 1:
		value = field->is_signed ? *(s8 *)p : *(u8 *)p;
		break;
	case 2:
		value = field->is_signed ? get_unaligned((s16 *)p) : get_unaligned((u16 *)p);
		break;
	case 4:
		value = field->is_signed ? get_unaligned((s32 *)p) : get_unaligned((u32 *)p);
		break;
	default:
		value = get_unaligned((s64 *)p);
		break;
	}
	if (field->is_signed)
		seq_printf(m, "%lld", value);
	else
		seq_printf(m, hex ? "0x%llx" : "%llu", (u64)value);
}

static void show_bytes(struct seq_file *m, const void *p, int size)
{
	seq_printf(m, "%*phN%s", min(size, PERF_TEXT_BYTES), p,
		   size > PERF_TEXT_BYTES ? "..." : "");
}

static void show_string(struct seq_file *m, const void *p, int size)
{
	seq_escape_mem(m, p, strnlen(p, size), ESCAPE_ANY_NP, NULL);
}

static bool is_number(int size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

static void show_array(struct seq_file *m, const struct perf_trace_field *field, const void *p)
{
	int i, size = field->len > 0 ? field->size / field->len : 0;

	if (!is_number(size) || size * field->len != field->size) {
		show_bytes(m, p, field->size);
		return;
	}
	for (i = 0; i < field->len; i++) {
		seq_puts(m, i ? "," : "{");
		show_number(m, field, p + i * size, size);
	}
	seq_putc(m, '}');
}

/* A dynamic field has the offset and the length of its data in the record. */
static void show_dynamic(struct seq_file *m, const struct perf_trace_field *field,
			 const struct perf_copy_record *record)
{
	bool is_text = field->filter_type == FILTER_DYN_STRING ||
		       field->filter_type == FILTER_RDYN_STRING;
	u32 loc = get_unaligned((u32 *)(record->raw + field->offset));
	u32 offset = loc & 0xffff, size = loc >> 16;

	if (strstarts(field->type, "__rel_loc"))
		offset += field->offset + field->size;
	if (field->size != sizeof(loc) || offset + size > record->raw_size)
		seq_putc(m, '?');
	else if (is_text)
		show_string(m, record->raw + offset, size);
	else
		show_bytes(m, record->raw + offset, size);
}

static void show_field(struct seq_file *m, const struct perf_trace_field *field,
		       const struct perf_copy_record *record)
{
	const void *p = record->raw + field->offset;

	if (field->offset < 0 || field->size <= 0 || field->offset > record->raw_size ||
	    field->size > record->raw_size - field->offset)
		seq_putc(m, '?');
	else if (strstarts(field->type, "__data_loc") || strstarts(field->type, "__rel_loc"))
		show_dynamic(m, field, record);
	else if (field->filter_type == FILTER_STATIC_STRING || field->filter_type == FILTER_COMM)
		show_string(m, p, field->size);
	else if (strchr(field->type, '[') || !is_number(field->size))
		show_array(m, field, p);
	else
		show_number(m, field, p, field->size);
}

/*
 * This cannot use print_fields() of ftrace. It follows string pointers in the record, walks the
 * fields of the tracepoint, which may be unregistered, and needs a trace_iterator.
 */
VISIBLE_IF_KUNIT
void perf_text_show_fields(struct seq_file *m, const struct perf_copy_record *record)
{
	const struct perf_format *format = record->event->format;
	unsigned int i;

	for (i = 0; i < format->nr; i++) {
		seq_printf(m, " %s=", format->fields[i].name);
		show_field(m, &format->fields[i], record);
	}
}

/*
 * Records
 */

/*
 * Kernel addresses may be secret, and the record may be forged: resolve addresses only for a
 * reader that may know them.
 */
static void show_address(struct seq_file *m, struct perf_text *text, u64 address, bool kernel)
{
	if (kernel && text->symbols)
		seq_printf(m, "%pS", (void *)(unsigned long)address);
	else
		seq_printf(m, "0x%llx", address);
}

static bool is_in_kernel(const struct perf_copy_record *record)
{
	return (record->header->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
}

static void show_counter(struct seq_file *m, struct perf_text *text,
			 const struct perf_copy_record *record)
{
	u64 type = record->event->attr.sample_type;

	if ((type | record->event->left_out) & PERF_SAMPLE_PERIOD)
		seq_printf(m, " period=%llu", record->period);
	if (type & PERF_SAMPLE_ADDR)
		seq_printf(m, " addr=0x%llx", record->addr);
	if (type & PERF_SAMPLE_IP) {
		seq_puts(m, " ip=");
		show_address(m, text, record->ip, is_in_kernel(record));
	}
}

static void show_chain(struct seq_file *m, struct perf_text *text,
		       const struct perf_copy_record *record)
{
	bool kernel = is_in_kernel(record);
	u64 i;

	for (i = 0; i < record->nr_ips; i++) {
		u64 ip = record->ips[i];

		/* seq_file starts again with a larger buffer, or the reader is being killed. */
		if (seq_has_overflowed(m) || fatal_signal_pending(current))
			return;
		cond_resched();
		if (ip >= PERF_CONTEXT_MAX) {
			kernel = ip == PERF_CONTEXT_KERNEL;
			continue;
		}
		seq_puts(m, " => ");
		show_address(m, text, ip, kernel);
		seq_putc(m, '\n');
	}
}

static void show_task(struct seq_file *m, struct perf_text *text,
		      const struct perf_copy_record *record)
{
	char comm[TASK_COMM_LEN], shown[4 * TASK_COMM_LEN + 1] = "<...>";
	bool known = perf_comms_find(text->comms, record, comm);
	int len;

	if (known) {
		len = string_escape_mem(comm, strnlen(comm, sizeof(comm)), shown,
					sizeof(shown) - 1, ESCAPE_ANY_NP, NULL);
		shown[len] = '\0';
	}
	/* Tid 0 is the idle task if its name is known, else a task of another pid namespace. */
	if (known || (record->has_tid && record->tid && record->tid != -1))
		seq_printf(m, "%16s-%-7d", shown, (int)record->tid);
	else
		seq_printf(m, "%16s-%-7s", shown, "?");
}

static void show_time(struct seq_file *m, const struct perf_copy_record *record)
{
	u64 seconds;
	u32 ns;

	if (record->has_time) {
		seconds = div_u64_rem(record->time, NSEC_PER_SEC, &ns);
		seq_printf(m, " %5llu.%06lu: ", seconds, ns / NSEC_PER_USEC);
	} else {
		seq_printf(m, " %12s: ", "?");
	}
}

static void show_lost(struct seq_file *m, const struct perf_copy_record *record)
{
	const u64 *body = (void *)(record->header + 1);

	seq_puts(m, "lost:");
	if (record->header->size >= sizeof(*record->header) + 2 * sizeof(*body))
		seq_printf(m, " %llu records", body[1]);
}

static void show_record(struct seq_file *m, struct perf_text *text,
			const struct perf_copy_record *record)
{
	show_task(m, text, record);
	if (record->cpu < 0)
		seq_puts(m, " [???]");
	else
		seq_printf(m, " [%03d]", record->cpu);
	show_time(m, record);

	if (record->header->type != PERF_RECORD_SAMPLE) {
		show_lost(m, record);
	} else if (!record->event) {
		seq_puts(m, "<gone>:");
	} else {
		seq_printf(m, "%s:", record->event->name);
		/* Some tracepoints have no fields, and some samples have no raw data. */
		if (record->raw && record->event->format && record->event->format->nr)
			perf_text_show_fields(m, record);
		else
			show_counter(m, text, record);
	}
	seq_putc(m, '\n');
	show_chain(m, text, record);
}

/* Records of other types are not shown: side-band, for example. */
static bool is_shown(const struct perf_event_header *header)
{
	return header->type == PERF_RECORD_SAMPLE || header->type == PERF_RECORD_LOST;
}

/*
 * All copies in the order of time
 */

static bool is_older(const void *a, const void *b, void *args)
{
	const struct text_copy *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time;
	if (x->copy->cpu != y->copy->cpu)
		return x->copy->cpu < y->copy->cpu;
	return x->copy->owner < y->copy->owner;
}

static void swap_copies(void *a, void *b, void *args)
{
	swap(*(struct text_copy *)a, *(struct text_copy *)b);
}

static const struct min_heap_callbacks text_heap_ops = {
	.less	= is_older,
	.swp	= swap_copies,
};

/*
 * Find the next record that is shown, from text_copy::next on. If the caller is being killed,
 * this finds none, and check_reader() returns -EINTR.
 */
static void find_next(struct perf_text *text, struct text_copy *from)
{
	struct perf_copy *copy = from->copy;
	struct perf_copy_record record;

	while (from->next < copy->nr && !is_shown(perf_copy_header(copy, from->next))) {
		from->next = fatal_signal_pending(current) ? copy->nr : from->next + 1;
		cond_resched();
	}
	if (from->next == copy->nr) {
		from->time = U64_MAX;
		return;
	}
	perf_copy_read(copy, text->events, from->next, &record);
	/* A record without a time keeps the time of the one before it. */
	if (record.time)
		from->time = min(record.time, U64_MAX - 1);
}

static void rewind_all(struct perf_text *text)
{
	struct text_copy *from;
	int i;

	for (i = 0; i < text->heap.nr; i++) {
		from = &text->heap.data[i];
		from->next = 0;
		from->time = 0;
		find_next(text, from);
	}
	min_heapify_all(&text->heap, &text_heap_ops, NULL);
	text->pos = 0;
}

static struct text_copy *oldest(struct perf_text *text)
{
	struct text_copy *from = min_heap_peek(&text->heap);

	return from && from->time != U64_MAX ? from : NULL;
}

/*
 * A single read() can walk over all records to reach its position. It must end early if the
 * reader is being killed, or if somebody waits to remove the namespace.
 */
static int check_reader(struct perf_text *text)
{
	cond_resched();
	if (fatal_signal_pending(current)) {
		/* find_next() may have given up: whoever reads on from here must begin again. */
		text->pos = LLONG_MAX;
		return -EINTR;
	}
	return text->source->check(text->source);
}

/**
 * perf_text_next - go on to the next record
 * @text:	the text
 *
 * Return: 1, 0 after the last one, or
 *  -EINTR	the caller is being killed
 *  or what perf_copy_source::check() says
 */
int perf_text_next(struct perf_text *text)
{
	struct text_copy *from = oldest(text);
	int ret;

	if (!from)
		return 0;
	from->next++;
	find_next(text, from);
	min_heap_sift_down(&text->heap, 0, &text_heap_ops, NULL);
	text->pos++;
	ret = check_reader(text);
	return ret ? ret : !!oldest(text);
}

/**
 * perf_text_seek - go to a record
 * @text:	the text
 * @pos:	number of records before it
 *
 * Return: 1, 0 if there is no such record, or see perf_text_next().
 */
int perf_text_seek(struct perf_text *text, loff_t pos)
{
	int ret;

	if (pos < text->pos)
		rewind_all(text);
	ret = check_reader(text);
	if (!ret)
		ret = !!oldest(text);
	while (ret > 0 && text->pos < pos)
		ret = perf_text_next(text);
	return ret;
}

/**
 * perf_text_show - print the record at the current position
 * @text:	the text
 * @m:		the seq_file to print to
 *
 * Return: 0, or see perf_text_next().
 */
int perf_text_show(struct perf_text *text, struct seq_file *m)
{
	struct text_copy *from = oldest(text);
	struct perf_copy_record record;

	if (!from)
		return 0;
	perf_copy_read(from->copy, text->events, from->next, &record);
	show_record(m, text, &record);
	return check_reader(text);
}

/*
 * Making copies
 */

/* A buffer that has side-band records only, and no samples */
static bool is_sideband(const struct perf_copy_event *owner)
{
	return perf_copy_is_sideband(owner) && owner->writers == 1;
}

static bool is_wanted(const struct perf_copy_event *owner, int cpu)
{
	return !is_sideband(owner) && (cpu < 0 || owner->cpu == cpu);
}

/*
 * Maximum number of pages that copies have at a time: all copies that are kept, and one of the
 * copies that are only read for names of tasks.
 */
static unsigned long max_pages(struct perf_text *text, int cpu)
{
	unsigned long kept = 0, other = 0, pages;
	struct perf_copy_event *event;

	for (event = text->events->all; event < perf_copy_events_end(text->events); event++) {
		if (event->owner != event->id)
			continue;
		pages = perf_copy_max_pages(event);
		if (is_wanted(event, cpu))
			kept += pages;
		else if (event->names)
			other = max(other, pages);
	}
	return kept + other;
}

static int add_copy(struct perf_text *text, const struct perf_copy_event *owner, bool keep)
{
	struct perf_copy *copy = text->source->copy(text->source, owner);
	int ret = 0;

	if (IS_ERR(copy))
		return PTR_ERR(copy);
	if (copy && text->source->copied)
		text->pages += copy->pages;
	if (owner->names)
		ret = perf_comms_add(text->comms, text->events, copy);
	if (!ret && keep && copy && copy->nr)
		text->heap.data[text->heap.nr++].copy = copy;
	else
		perf_copy_free(copy);
	return ret;
}

/*
 * Copy the samples first, and then the records with the names of their tasks, so that no name
 * of a sample's task is missing.
 */
static int add_copies(struct perf_text *text, int cpu)
{
	struct perf_copy_event *event;
	int ret = 0;

	for (event = text->events->all; event < perf_copy_events_end(text->events); event++) {
		if (!ret && event->owner == event->id && is_wanted(event, cpu))
			ret = add_copy(text, event, true);
	}
	for (event = text->events->all; event < perf_copy_events_end(text->events); event++) {
		if (!ret && event->owner == event->id && !is_wanted(event, cpu) && event->names)
			ret = add_copy(text, event, false);
	}
	return ret;
}

/* An event with attr.comm makes PERF_RECORD_FORK, too. */
static bool records_names(const struct perf_event_attr *attr)
{
	return attr->comm;
}

static int add_live(struct perf_text *text)
{
	u64 since;

	if (!text->events->live)
		return 0;
	since = perf_copy_complete_since(text->events, records_names);
	return since == U64_MAX ? 0 : perf_comms_add_live(text->comms, since);
}

static int alloc_heap(struct perf_text *text)
{
	struct perf_copy_event *event;
	int nr = 0;

	for (event = text->events->all; event < perf_copy_events_end(text->events); event++)
		nr += event->owner == event->id;
	text->heap.data = perf_copy_alloc(array_size(nr, sizeof(*text->heap.data)), __GFP_ZERO);
	text->heap.size = nr;
	return text->heap.data || !nr ? 0 : -ENOMEM;
}

static void free_text(struct perf_copy_garbage *garbage)
{
	struct perf_text *text = container_of(garbage, struct perf_text, garbage);
	int i;

	for (i = 0; i < text->heap.nr; i++) {
		perf_copy_free(text->heap.data[i].copy);
		cond_resched();
	}
	perf_copy_unreserve(text->pages);
	kvfree(text->heap.data);
	perf_comms_free(text->comms);
	perf_copy_put_events(text->events);
	text->source->free(text->source);
	kfree(text);
}

/**
 * perf_text_free - have a worker free a text
 * @text:	the text, or NULL
 */
void perf_text_free(struct perf_text *text)
{
	if (text)
		perf_copy_free_later(&text->garbage);
}

/* Called before the first copy is made */
static int reserve_pages(struct perf_text *text, int cpu)
{
	unsigned long pages = max_pages(text, cpu);
	int ret;

	if (text->source->copied)
		return 0;
	ret = perf_copy_reserve(pages);
	if (!ret)
		text->pages = pages;
	return ret;
}

/* Called after the last copy was made */
static void unreserve_rest(struct perf_text *text)
{
	unsigned long pages = 0;
	int i;

	for (i = 0; i < text->heap.nr; i++)
		pages += text->heap.data[i].copy->pages;
	perf_copy_unreserve(text->pages - pages);
	text->pages = pages;
}

/* For a single buffer, called after the names from its records were added */
static int add_visible(struct perf_text *text)
{
	int i, ret = 0;

	for (i = 0; !ret && text->source->names && i < text->heap.nr; i++)
		ret = perf_comms_add_visible(text->comms, text->events,
					     text->heap.data[i].copy, text->source);
	return ret;
}

static int fill_text(struct perf_text *text, int cpu)
{
	int ret;

	ret = reserve_pages(text, cpu);
	if (!ret)
		ret = add_live(text);
	if (!ret)
		ret = add_copies(text, cpu);
	if (!ret)
		ret = add_visible(text);
	if (!ret)
		ret = perf_comms_add_tasks(text->comms, text->source->tasks,
					   text->source->tasks_len);
	if (!ret)
		ret = perf_comms_sort(text->comms);
	if (!ret)
		unreserve_rest(text);
	return ret;
}

/**
 * perf_text_make - copy all buffers, to print them
 * @source:	the source; the text owns it. After an error it is freed
 * @cpu:	show records of this CPU only; or -1 for all CPUs
 *
 * Called without a lock, with the reader's creds. The reader is charged for the copies.
 *
 * Return: the text, before its first record; or -ENOMEM, -EINTR, or see struct
 * perf_copy_source.
 */
struct perf_text *perf_text_make(struct perf_copy_source *source, int cpu)
{
	struct perf_copy_events *events;
	struct perf_text *text;
	int ret;

	events = source->get_events(source);
	text = IS_ERR(events) ? NULL : kzalloc(sizeof(*text), PERF_COPY_GFP);
	if (!text) {
		source->free(source);
		if (IS_ERR(events))
			return ERR_CAST(events);
		perf_copy_put_events(events);
		return ERR_PTR(-ENOMEM);
	}

	text->garbage.free = free_text;
	text->source = source;
	text->symbols = perf_may_know_kernel();
	text->events = events;
	text->comms = perf_comms_alloc(events->nr ? events->all[0].pid_ns : NULL);
	ret = text->comms ? alloc_heap(text) : -ENOMEM;
	if (!ret)
		ret = fill_text(text, cpu);
	if (ret) {
		perf_text_free(text);
		return ERR_PTR(ret);
	}

	rewind_all(text);
	return text;
}
