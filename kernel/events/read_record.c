// SPDX-License-Identifier: GPL-2.0
/*
 * Decode records of private copies, for readers in the kernel.
 *
 * Records are untrusted data: all sizes and offsets are checked against the end of the record.
 * Fields that a record does not have are zero.
 */
#include <linux/bitops.h>
#include <linux/minmax.h>
#include <linux/perf_event.h>
#include <linux/string.h>

#include "read.h"

/* The rest of a record, in words of 64 bits */
struct words {
	const u64	*pos;
	const u64	*end;
};

static u64 next_word(struct words *w)
{
	return w->pos < w->end ? *w->pos++ : 0;
}

static void skip_words(struct words *w, u64 nr)
{
	w->pos += min_t(u64, nr, w->end - w->pos);
}

/* Two values of 32 bits in a word. The first one comes first in memory, on any byte order. */
static u32 next_pair(struct words *w, u32 *second)
{
	u32 pair[2];
	u64 word = next_word(w);

	memcpy(pair, &word, sizeof(pair));
	*second = pair[1];
	return pair[0];
}

/* Index of the id in a sample, counted from the start; or -1 */
static int id_in_sample(u64 type)
{
	if (type & PERF_SAMPLE_IDENTIFIER)
		return 0;
	if (!(type & PERF_SAMPLE_ID))
		return -1;
	return hweight64(type & (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
				 PERF_SAMPLE_ADDR));
}

/* Index of the id in other records, counted from the end; or -1 */
static int id_in_other(const struct perf_event_attr *attr)
{
	u64 type = attr->sample_type;

	if (!attr->sample_id_all)
		return -1;
	if (type & PERF_SAMPLE_IDENTIFIER)
		return 1;
	if (!(type & PERF_SAMPLE_ID))
		return -1;
	return 1 + hweight64(type & (PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU));
}

/*
 * All events that share a buffer have their id in the same place. So the owner's attributes
 * tell where it is. Without an id, the event is known only if the buffer has one writer.
 */
static const struct perf_copy_event *find_event(const struct perf_copy *copy,
						const struct perf_copy_events *events,
						const struct words *w, bool is_sample)
{
	const struct perf_copy_event *owner = perf_copy_find_event(events, copy->owner);
	int nr;

	if (!owner)
		return NULL;
	if (is_sample) {
		nr = id_in_sample(owner->attr.sample_type);
		if (nr >= 0)
			return nr < w->end - w->pos ?
			       perf_copy_find_event(events, w->pos[nr]) : NULL;
	} else {
		nr = id_in_other(&owner->attr);
		if (nr >= 0)
			return nr <= w->end - w->pos ?
			       perf_copy_find_event(events, w->end[-nr]) : NULL;
	}
	return owner->writers == 1 ? owner : NULL;
}

static void read_task(struct perf_copy_record *record, struct words *w)
{
	record->has_tid = w->pos < w->end;
	record->pid = next_pair(w, &record->tid);
}

static void read_time(struct perf_copy_record *record, struct words *w)
{
	record->has_time = w->pos < w->end;
	record->time = next_word(w);
}

/* Fields that samples and sample_id fields have in the same order. Readers use only the CPU. */
static void read_ids(struct perf_copy_record *record, struct words *w)
{
	u64 type = record->event->attr.sample_type;
	u32 reserved;

	if (type & PERF_SAMPLE_ID)
		next_word(w);
	if (type & PERF_SAMPLE_STREAM_ID)
		next_word(w);
	if (type & PERF_SAMPLE_CPU)
		record->cpu = next_pair(w, &reserved);
}

static void read_id_sample(struct perf_copy_record *record, struct words *w)
{
	u64 type = record->event->attr.sample_type;
	int nr;

	nr = hweight64(type & (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
			       PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |
			       PERF_SAMPLE_IDENTIFIER));
	if (!record->event->attr.sample_id_all || nr > w->end - w->pos)
		return;
	w->pos = w->end - nr;
	if (type & PERF_SAMPLE_TID)
		read_task(record, w);
	if (type & PERF_SAMPLE_TIME)
		read_time(record, w);
	read_ids(record, w);
}

/* Skip the values that a sample has in the format of read(). */
static void skip_read(struct words *w, u64 format)
{
	unsigned int nr = hweight64(format & (PERF_FORMAT_TOTAL_TIME_ENABLED |
					      PERF_FORMAT_TOTAL_TIME_RUNNING));
	unsigned int each = 1 + hweight64(format & (PERF_FORMAT_ID | PERF_FORMAT_LOST));
	u64 events = format & PERF_FORMAT_GROUP ? next_word(w) : 1;

	skip_words(w, nr + min_t(u64, events, U16_MAX) * each);
}

static void read_raw(struct perf_copy_record *record, const struct words *w)
{
	unsigned long left = (w->end - w->pos) * sizeof(u64);
	u32 size;

	if (!left)
		return;
	memcpy(&size, w->pos, sizeof(size));
	if (size > left - sizeof(size))
		return;
	record->raw_size = size;
	record->raw = (void *)w->pos + sizeof(size);
}

static void read_sample(struct perf_copy_record *record, struct words *w)
{
	const struct perf_event_attr *attr = &record->event->attr;
	u64 type = attr->sample_type;

	if (type & PERF_SAMPLE_IDENTIFIER)
		next_word(w);
	if (type & PERF_SAMPLE_IP)
		record->ip = next_word(w);
	if (type & PERF_SAMPLE_TID)
		read_task(record, w);
	if (type & PERF_SAMPLE_TIME)
		read_time(record, w);
	if (type & PERF_SAMPLE_ADDR)
		record->addr = next_word(w);
	read_ids(record, w);
	if (type & PERF_SAMPLE_PERIOD)
		record->period = next_word(w);
	else if (record->event->left_out & PERF_SAMPLE_PERIOD)
		record->period = 1;
	if (type & PERF_SAMPLE_READ)
		skip_read(w, attr->read_format);
	if (type & PERF_SAMPLE_CALLCHAIN) {
		record->nr_ips = next_word(w);
		if (record->nr_ips > w->end - w->pos)
			record->nr_ips = w->end - w->pos;
		record->ips = w->pos;
		skip_words(w, record->nr_ips);
	}
	if (type & PERF_SAMPLE_RAW)
		read_raw(record, w);
}

/**
 * perf_copy_read - decode a record
 * @copy:	a copy
 * @events:	the events of its source
 * @i:		index of the record, below perf_copy::nr; the oldest is 0
 * @record:	out: the decoded record; points into @copy and @events
 */
void perf_copy_read(const struct perf_copy *copy, const struct perf_copy_events *events,
		    unsigned long i, struct perf_copy_record *record)
{
	const struct perf_event_header *header = perf_copy_header(copy, i);
	bool is_sample = header->type == PERF_RECORD_SAMPLE;
	struct words w = {
		.pos = (void *)(header + 1),
		.end = (void *)header + header->size,
	};

	*record = (struct perf_copy_record){
		.header	= header,
		.event	= find_event(copy, events, &w, is_sample),
		.cpu	= copy->cpu,
	};
	if (!record->event)
		return;
	if (is_sample)
		read_sample(record, &w);
	else
		read_id_sample(record, &w);
}

/**
 * perf_copy_gap - are records missing before a record
 * @copy:	a copy
 * @events:	the events of its source
 * @i:		index of the record, below perf_copy::nr
 *
 * Return: the time up to which records may be missing; 0 if none are; U64_MAX if unknown.
 */
u64 perf_copy_gap(const struct perf_copy *copy, const struct perf_copy_events *events,
		  unsigned long i)
{
	struct perf_copy_record record;

	if (perf_copy_header(copy, i)->type != PERF_RECORD_LOST && (i || copy->whole))
		return 0;
	perf_copy_read(copy, events, i, &record);
	return record.has_time ? record.time : U64_MAX;
}
