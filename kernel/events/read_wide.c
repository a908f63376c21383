// SPDX-License-Identifier: GPL-2.0
/*
 * Add fields to records that buffers leave out because they are the same in all records.
 *
 * Such fields are the CPU in a buffer of one CPU, and the period of a tracepoint that samples
 * each hit. perf record -P saves their space in the buffer: it does not ask for them. Readers
 * see attributes and records that have them.
 */
#include <linux/bitops.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/perf_event.h>

#include "read.h"
#include "read_data.h"

/**
 * perf_wide_type - fields that readers get, but that the records of an event lack
 * @attr:	attributes of the event
 * @cpu:	CPU of its buffer, or -1
 *
 * The IP of a tracepoint says little. A tracepoint that does not sample it gets an IP of 0.
 *
 * Return: PERF_SAMPLE_..., or 0.
 */
u64 perf_wide_type(const struct perf_event_attr *attr, int cpu)
{
	const bool tracepoint = attr->type == PERF_TYPE_TRACEPOINT;
	const u64 type = attr->sample_type;
	u64 wide = PERF_SAMPLE_CPU;

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

/* The rest of a record */
struct rest {
	const void	*data;
	size_t		len;
};

/* Move @nr words, or all that are left: the record may be forged and too short. */
static void move_words(struct perf_out *out, struct rest *rest, unsigned int nr)
{
	const size_t len = min(nr * sizeof(u64), rest->len);

	perf_out_add(out, rest->data, len);
	rest->data += len;
	rest->len -= len;
}

static void put_cpu_word(struct perf_out *out, int cpu)
{
	const u32 words[2] = { cpu };

	perf_out_add(out, words, sizeof(words));
}

static void add_wide_sample(struct perf_out *out, struct rest *rest,
			    const struct perf_copy_event *event, int cpu)
{
	const u64 type = event->attr.sample_type, once = 1;

	move_words(out, rest, hweight64(type & PERF_SAMPLE_IDENTIFIER));
	if (event->left_out & PERF_SAMPLE_IP)
		perf_out_add(out, NULL, sizeof(u64));
	move_words(out, rest, hweight64(type & (PERF_SAMPLE_IP | PERF_SAMPLE_TID |
						PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |
						PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |
						PERF_SAMPLE_CPU)));
	if (event->left_out & PERF_SAMPLE_CPU)
		put_cpu_word(out, cpu);
	if (event->left_out & PERF_SAMPLE_PERIOD)
		perf_out_add(out, &once, sizeof(once));
}

/* In the sample_id fields the CPU comes just before the id, which is last. */
static void add_wide_other(struct perf_out *out, struct rest *rest,
			   const struct perf_copy_event *event, int cpu)
{
	const size_t words = rest->len / sizeof(u64);

	move_words(out, rest, words ? words - 1 : 0);
	if (event->left_out & PERF_SAMPLE_CPU)
		put_cpu_word(out, cpu);
}

/**
 * perf_out_wide - add a record, with the fields that its buffer leaves out
 * @out:	the output
 * @header:	the record
 * @event:	the event that wrote it
 * @cpu:	CPU of the buffer
 *
 * A record that becomes too large is dropped. The kernel does not write such records.
 */
void perf_out_wide(struct perf_out *out, const struct perf_event_header *header,
		   const struct perf_copy_event *event, int cpu)
{
	struct rest rest = { .data = header + 1, .len = header->size - sizeof(*header) };
	struct perf_event_header *wide;
	const size_t start = out->len;

	perf_out_add(out, header, sizeof(*header));
	if (header->type == PERF_RECORD_SAMPLE)
		add_wide_sample(out, &rest, event, cpu);
	else
		add_wide_other(out, &rest, event, cpu);
	perf_out_add(out, rest.data, rest.len);
	if (out->failed)
		return;
	if (out->len - start > U16_MAX) {
		out->len = start;
		return;
	}
	wide = out->data + start;
	wide->size = out->len - start;
}
