// SPDX-License-Identifier: GPL-2.0
/*
 * Read all buffers of persistent events together.
 *
 * The reader copies all buffers before it passes on the first record. The oldest records are
 * about to be overwritten, and to pass records on in the order of time it needs all copies.
 * All but the first few copies are in a file. Buffers of snapshots are read in place. See
 * persistent-buffer.c for how one live buffer is copied.
 *
 * A snapshot does not replace side-band buffers, but copies them, with the same number and
 * the same positions. If both are read, each record is in the output once: the newest copy
 * comes first, and older ones add the records that it does not have any more.
 */
#include "persistent-read.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/zalloc.h>
#include <internal/mmap.h>
#include "../ui/progress.h"
#include "debug.h"
#include "event.h"
#include "evlist.h"
#include "persistent.h"
#include "persistent-buffer.h"
#include "persistent-merge.h"
#include "persistent-wide.h"
#include "util.h"

struct persistent_reader {
	struct persistent_buffer *buffers;
	int			 nr;
	struct persistent_copy	 copy;		/* of one buffer, until it is added */
	struct persistent_merge	*merge;
	persistent_push_t	 push;
	void			*to;
	struct ui_progress	*progress;	/* NULL: do not show any */
	u64			to_go;		/* bytes until progress is complete */
	u64			limit;		/* bytes to copy at a time, 0: all */
	bool			sorted;
	bool			cut_short;	/* copy no more */
	bool			split;		/* no room for all copies at once */
};

/* The default: keep all records. */
static enum persistent_look look_at_time(void *evlist, union perf_event *event, u64 *time)
{
	if (evlist__parse_sample_timestamp(evlist, event, time))
		*time = 0;
	return PERSISTENT_KEEP;
}

struct persistent_reader *persistent_reader__new(struct evlist *evlist)
{
	struct persistent_reader *reader = zalloc(sizeof(*reader));

	if (!reader)
		return NULL;

	reader->merge = persistent_merge__new();
	if (!reader->merge)
		zfree(&reader);
	if (reader && evlist) {
		persistent_merge__set_evlist(reader->merge, evlist);
		persistent_merge__set_look(reader->merge, look_at_time, evlist);
	}
	return reader;
}

void persistent_reader__delete(struct persistent_reader *reader)
{
	if (!reader)
		return;

	for (int i = 0; i < reader->nr; i++)
		persistent_buffer__exit(&reader->buffers[i]);
	persistent_merge__delete(reader->merge);
	free(reader->buffers);
	persistent_copy__exit(&reader->copy);
	free(reader);
}

void persistent_reader__set_look(struct persistent_reader *reader, persistent_look_t look,
				 void *arg)
{
	persistent_merge__set_look(reader->merge, look, arg);
}

void persistent_reader__set_file(struct persistent_reader *reader, int fd)
{
	persistent_merge__set_file(reader->merge, fd);
}

void persistent_reader__set_limit(struct persistent_reader *reader, u64 limit)
{
	reader->limit = limit;
}

int persistent_reader__add(struct persistent_reader *reader, const struct persistent_ns *ns,
			   const struct persistent_member *member, int fd)
{
	struct persistent_buffer *buffers;
	int err;

	buffers = realloc(reader->buffers, (reader->nr + 1) * sizeof(*buffers));
	if (!buffers)
		return -ENOMEM;
	reader->buffers = buffers;

	err = persistent_buffer__init(&buffers[reader->nr], ns, member, fd);
	if (!err)
		reader->nr++;
	return err;
}

/* Live buffers come first, then those of snapshots, the newest snapshot first. */
static int cmp_buffers(const void *_a, const void *_b)
{
	const struct persistent_buffer *a = _a, *b = _b;

	if (a->ns->snapshot != b->ns->snapshot)
		return a->ns->snapshot - b->ns->snapshot;
	if (a->ns->snapshot && a->ns->number != b->ns->number)
		return a->ns->number > b->ns->number ? -1 : 1;
	return a->order - b->order;
}

static void reader__sort(struct persistent_reader *reader)
{
	for (int i = 0; i < reader->nr; i++)
		reader->buffers[i].order = i;
	qsort(reader->buffers, reader->nr, sizeof(*reader->buffers), cmp_buffers);
	reader->sorted = true;
}

/*
 * How many bytes of this buffer did earlier ones have already? All copies of a buffer have
 * the same positions, and older copies begin at higher ones.
 */
static u64 buffer__known(const struct persistent_buffer *buf,
			 const struct persistent_reader *reader, u64 head)
{
	u64 covered = head;

	for (const struct persistent_buffer *other = reader->buffers; other < buf; other++) {
		if (other->id == buf->id && other->first_seq == buf->first_seq &&
		    (s64)(other->covered - covered) > 0)
			covered = other->covered;
	}
	return covered - head;
}

/* Add @records, so that the next read passes them on. */
static int buffer__add(struct persistent_buffer *buf, struct persistent_reader *reader,
		       const struct persistent_records *records)
{
	u64 fresh = buf->pos - records->head, known = 0, end;
	int err;

	if (!buf->started) {
		buf->first_seq = persistent_buffer__seq(buf);
		buf->covered = records->head;
		known = buffer__known(buf, reader, records->head);
	}
	if (!records->len)
		return 0;

	err = persistent_merge__add(reader->merge, records, known, &end);
	if (err)
		return err;

	if (buf->started)
		buf->overtaken += fresh - end;
	else
		buf->covered = records->head + end;
	buf->fresh += min(fresh, (u64)buf->map.mask + 1);
	buf->pos = records->head;
	return 0;
}

/* Ask before each buffer whether to end: to wait until it is copied may take long. */
static int reader__check_end(struct persistent_reader *reader)
{
	int err = reader->push(reader->to, NULL, 0);

	if (err < 0)
		reader->cut_short = true;
	return min(err, 0);
}

static int buffer__copy_mapped(struct persistent_buffer *buf, struct persistent_reader *reader)
{
	struct persistent_records records = { .cpu = buf->map.cpu.cpu };
	int err = reader__check_end(reader) ?:
		  persistent_buffer__copy(buf, &reader->copy, &records.head, &records.len);

	records.copy = reader->copy.data;
	return err ?: buffer__add(buf, reader, &records);
}

/* Nobody writes to it any more. */
static int buffer__add_snapshot(struct persistent_buffer *buf, struct persistent_reader *reader)
{
	struct persistent_records records = { .map = &buf->map, .cpu = buf->map.cpu.cpu };

	persistent_buffer__frozen(buf, reader->copy.max, &records.head, &records.len);
	return reader__check_end(reader) ?: buffer__add(buf, reader, &records);
}

static int buffer__copy(struct persistent_buffer *buf, struct persistent_reader *reader)
{
	int err;

	if (buf->ns->snapshot)
		return buffer__add_snapshot(buf, reader);

	err = buffer__copy_mapped(buf, reader);
	while (!err && buf->next_size) {
		err = persistent_buffer__map_next(buf);
		/* Deleted meanwhile, and with it the records in the next buffer */
		if (persistent_buffer__is_gone(err))
			return 0;
		if (!err)
			err = buffer__copy_mapped(buf, reader);
	}
	return err;
}

void persistent_reader__set_progress(struct persistent_reader *reader,
				     struct ui_progress *progress)
{
	reader->progress = progress;
}

u64 persistent_reader__unread(struct persistent_reader *reader)
{
	u64 unread = 0;

	for (int i = 0; i < reader->nr; i++)
		unread += persistent_buffer__unread(&reader->buffers[i]);
	return unread;
}

static void reader__start_progress(struct persistent_reader *reader, u64 size, const char *title)
{
	if (reader->progress)
		ui_progress__init_size(reader->progress, size, title);
	reader->to_go = size;
}

/* Records may be larger when they are passed on than in the buffers. */
static void reader__update_progress(struct persistent_reader *reader, u64 size)
{
	size = min(size, reader->to_go);
	reader->to_go -= size;
	if (reader->progress)
		ui_progress__update(reader->progress, size);
}

static void reader__finish_progress(struct persistent_reader *reader)
{
	if (reader->progress)
		ui_progress__finish();
}

static u64 reader__sum_of(struct persistent_reader *reader, u64 each)
{
	u64 sum = 0;

	for (int i = 0; i < reader->nr; i++)
		sum += min(persistent_buffer__unread(&reader->buffers[i]), each);
	return sum;
}

/* Buffers with few new bytes are read as a whole, and leave more of the limit to others. */
static void reader__share_limit(struct persistent_reader *reader)
{
	u64 too_much = reader->limit;

	reader->copy.max = ULLONG_MAX;
	if (!reader->limit || persistent_reader__unread(reader) <= reader->limit)
		return;

	reader->copy.max = reader->limit / reader->nr;
	while (too_much - reader->copy.max > 1) {
		u64 each = reader->copy.max + (too_much - reader->copy.max) / 2;

		if (reader__sum_of(reader, each) > reader->limit)
			too_much = each;
		else
			reader->copy.max = each;
	}
}

static int reader__copy(struct persistent_reader *reader)
{
	int err = 0;

	reader__share_limit(reader);
	persistent_merge__expect(reader->merge, reader->nr);
	for (int i = 0; i < reader->nr && !err; i++) {
		struct persistent_buffer *buf = &reader->buffers[i];
		u64 unread = persistent_buffer__unread(buf);

		if (buf->copied)
			continue;

		buf->fresh = 0;
		err = buffer__copy(buf, reader);
		if (!err) {
			buf->started = true;
			buf->copied = true;
			reader__update_progress(reader, unread);
		}
	}

	/* Free it: it is as large as the largest buffer, and there may be no next time. */
	persistent_copy__exit(&reader->copy);
	return err;
}

int persistent_reader__copy(struct persistent_reader *reader, persistent_push_t push, void *to)
{
	int err;

	if (!reader->sorted)
		reader__sort(reader);
	if (reader->cut_short)
		return 0;

	reader->push = push;
	reader->to = to;
	reader__start_progress(reader, persistent_reader__unread(reader), "Copying...");
	err = reader__copy(reader);
	reader__finish_progress(reader);
	return err;
}

static int reader__push(void *to, void *records, size_t size)
{
	struct persistent_reader *reader = to;
	int err = reader->push(reader->to, records, size);

	reader__update_progress(reader, size);
	return err;
}

int persistent_reader__push(struct persistent_reader *reader, persistent_push_t push, void *to,
			    bool again)
{
	int err;

	reader->push = push;
	reader->to = to;
	reader__start_progress(reader, persistent_merge__size(reader->merge), "Reading...");
	err = persistent_merge__push(reader->merge, reader__push, reader, /*clear=*/!again);
	reader__finish_progress(reader);
	return err;
}

/* How full was the fullest buffer, in percent? Also prepare all of them for the next read. */
static int reader__fullest(struct persistent_reader *reader)
{
	int fullest = 0;

	for (int i = 0; i < reader->nr; i++) {
		struct persistent_buffer *buf = &reader->buffers[i];
		u64 fresh = min_t(u64, buf->fresh, buf->map.mask);

		int percent = fresh * 100 / buf->map.mask;

		fullest = max(fullest, percent);
		buf->copied = false;
	}
	return fullest;
}

bool persistent_reader__is_no_room(int err)
{
	return err == -ENOSPC || err == -EDQUOT || err == -EFBIG;
}

/*
 * If there is no room for all copies, pass on those that exist to make room, and copy the
 * rest. The parts are not in order, but no record is missing.
 */
static int reader__copy_rest(struct persistent_reader *reader, persistent_push_t push, void *to)
{
	int err;

	for (;;) {
		err = persistent_reader__copy(reader, push, to);
		if (!persistent_reader__is_no_room(err) || !persistent_merge__size(reader->merge))
			return err;

		reader->split = true;
		err = persistent_reader__push(reader, push, to, /*again=*/false);
		if (err)
			return err;
	}
}

int persistent_reader__read(struct persistent_reader *reader, persistent_push_t push, void *to)
{
	int err, fullest;

	err = reader__copy_rest(reader, push, to);
	if (err)
		return err;

	fullest = reader__fullest(reader);
	err = persistent_reader__push(reader, push, to, /*again=*/false);
	return err ?: fullest;
}

s64 persistent_reader__vital_size(struct persistent_reader *reader)
{
	return persistent_merge__vital_size(reader->merge);
}

int persistent_reader__cut(struct persistent_reader *reader, u64 room)
{
	return persistent_merge__cut(reader->merge, room);
}

u64 persistent_reader__nr_cut(const struct persistent_reader *reader)
{
	return persistent_merge__nr_cut(reader->merge);
}

bool persistent_reader__is_split(const struct persistent_reader *reader)
{
	return reader->split;
}

bool persistent_reader__is_cut_short(const struct persistent_reader *reader)
{
	return reader->cut_short;
}

u64 persistent_reader__time(const struct persistent_reader *reader)
{
	return persistent_merge__time(reader->merge);
}

static bool is_sideband(const struct persistent_buffer *buf)
{
	const struct persistent_member *member = persistent_ns__find_member(buf->ns, buf->id);

	return member && persistent_ns__is_sideband_ring(buf->ns, member);
}

/* 0: the buffer is empty, or the time of its newest record is not known */
static u64 buffer__newest(struct persistent_buffer *buf, struct evlist *evlist)
{
	union perf_event *event, *wide;
	struct perf_event_header header;
	u64 head, len, time = 0;
	bool known = false;

	if (buf->ns->snapshot) {
		persistent_buffer__frozen(buf, ULLONG_MAX, &head, &len);
	} else {
		head = perf_mmap__read_head(&buf->map);
		len = persistent_buffer__unread(buf);
	}
	event = malloc(USHRT_MAX);
	wide = malloc(USHRT_MAX + PERSISTENT_WIDER);
	while (event && wide && len >= sizeof(header) && !known) {
		perf_mmap__copy(&buf->map, head, sizeof(header), &header);
		if (header.size < sizeof(header) || header.size > len)
			break;
		perf_mmap__copy(&buf->map, head, header.size, event);
		known = evlist__knows_record(evlist, event);
		if (known && evlist__widen(evlist, buf->map.cpu.cpu, event, wide))
			look_at_time(evlist, wide, &time);
		head += header.size;
		len -= header.size;
	}
	free(wide);
	free(event);
	return time;
}

u64 persistent_reader__newest(struct persistent_reader *reader, struct evlist *evlist)
{
	u64 newest = 0;

	for (int i = 0; i < reader->nr; i++) {
		struct persistent_buffer *buf = &reader->buffers[i];

		if (persistent_ns__ended_ns_ago(buf->ns) && !is_sideband(buf))
			newest = max(newest, buffer__newest(buf, evlist));
	}
	return newest;
}

int persistent_reader__next_ms(int ms, int percent)
{
	if (percent > 25)
		return max(ms / 2, 1);
	if (percent < 10)
		return min(ms + 10, 100);
	return ms;
}

void persistent_reader__warn_overtaken(struct persistent_reader *reader)
{
	u64 skipped = 0;

	for (int i = 0; i < reader->nr; i++) {
		struct persistent_buffer *buf = &reader->buffers[i];

		/* A snapshot replaces one buffer of each event, so do not add these up. */
		skipped = max(skipped, buf->skipped);
		if (buf->overtaken) {
			pr_warning("WARNING: CPU %d: %llu bytes were overwritten before they could be read\n",
				   buf->map.cpu.cpu, (unsigned long long)buf->overtaken);
		}
	}

	if (skipped) {
		pr_warning("WARNING: %llu snapshot%s taken before %s could be read: the records in there are missing\n",
			   (unsigned long long)skipped, skipped > 1 ? "s were" : " was",
			   skipped > 1 ? "they" : "it");
	}
}

const struct perf_event_mmap_page *persistent_reader__pick_pc(struct persistent_reader *reader)
{
	return reader->nr ? reader->buffers[0].map.base : NULL;
}
