// SPDX-License-Identifier: GPL-2.0
/*
 * Copy what the buffers of persistent events hold while they are written to.
 *
 * Nobody is asked to stop: the copy is made first, and what of it is whole is
 * found out afterwards. Positions count down, the newest record is at the head
 * and its start is always known:
 *
 *         reserved      head                           reserved + size
 *  position  v           v                                    v
 *   ---------+-----------+------------------------------------+---------
 *            | being     | published records, newest first    | overwritten
 *            | written   |                                    | meanwhile
 *
 * The published head alone says nothing of the right hand side: writers
 * publish when the outermost of them is done, and an interrupt that lands on
 * a half written record may reserve and overwrite much before that. So the
 * kernel is asked, after the copy, for what is reserved.
 *
 * When a snapshot is taken, the event gets another buffer. The one that is mapped
 * here stays what it is: its rest is read, now that nobody writes to it, and then
 * the next one is mapped. Each has a number, which is both in its page and in what
 * the kernel says of the event.
 *
 * Whoever has something else to do before there is a place for the records, like reading
 * /proc, which takes seconds, has the buffers copied to a file first. They go on being
 * overwritten, and what is oldest in there is what somebody came for.
 *
 * A buffer that only tells of tasks stays, and the snapshot has a copy of it with the
 * same number and the same positions. Where both are read, each record is in the output once:
 * the newest copy comes first, and older ones add what is not in there any more.
 */
#include "persistent-read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <internal/lib.h>
#include <linux/falloc.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/zalloc.h>
#include <internal/mmap.h>
#include "../ui/progress.h"
#include "debug.h"
#include "persistent.h"
#include "util.h"

#define OUT_SIZE	(4 * PERF_SAMPLE_MAX_SIZE)

/* What was copied of a buffer before it is read */
struct persistent_early {
	u64	head;
	u64	len;		/* of whole records, and a part of one */
	off_t	offset;		/* in the reader's file */
	bool	made;
};

struct persistent_buffer {
	struct perf_mmap	map;
	u64			pos;		/* where the last read left off */
	u64			overtaken;	/* bytes gone before they could be read */
	u64			skipped;	/* buffers replaced before they could be mapped */
	u64			fresh;		/* bytes that the last read found */
	u64			next_size;	/* of what took its place, 0: nothing has */
	bool			started;	/* there was a read before */
	u64			covered;	/* up to where the first read found records, */
	u64			first_seq;	/* in the buffer of this number */
	u64			reserved;	/* of a snapshot, in which that does not change */
	const struct persistent_ns *ns;
	u64			id;		/* of the member in there */
	int			order;		/* in which they were added */
	struct persistent_early	early;
};

struct persistent_reader {
	struct persistent_buffer *buffers;
	int			 nr;
	char			*copy;
	size_t			 copy_size;
	u32			*starts;	/* of the records in the copy */
	size_t			 nr_starts;
	char			*out;
	size_t			 out_len;
	persistent_push_t	 push;
	void			*to;
	struct ui_progress	*progress;	/* NULL: nobody wants to see it */
	bool			sorted;
	int			early_fd;	/* of the file with early copies, */
	bool			cut_short;	/* which has all that is to be read */
};

struct persistent_reader *persistent_reader__new(void)
{
	struct persistent_reader *reader = zalloc(sizeof(*reader));

	if (!reader)
		return NULL;

	reader->out = malloc(OUT_SIZE);
	if (!reader->out)
		zfree(&reader);
	return reader;
}

void persistent_reader__delete(struct persistent_reader *reader)
{
	if (!reader)
		return;

	for (int i = 0; i < reader->nr; i++)
		perf_mmap__munmap(&reader->buffers[i].map);
	free(reader->buffers);
	free(reader->copy);
	free(reader->starts);
	free(reader->out);
	free(reader);
}

static u64 buffer__seq(const struct persistent_buffer *buf)
{
	const struct perf_event_mmap_page *pc = buf->map.base;

	return pc->buffer_seq;
}

/* Map the buffer that the event has now. It was of @size, but may be replaced at any time. */
static int map_current(struct perf_mmap *map, int fd, u64 size, int cpu)
{
	struct perf_cpu mmap_cpu = { .cpu = cpu };
	struct perf_event_persist_member info;
	int err;

	perf_mmap__init(map, NULL, /*overwrite=*/true, NULL);
	for (;;) {
		if (!perf_mmap__mmap_existing(map, size, fd, mmap_cpu))
			return 0;

		err = -errno;
		if (persistent__get_event(fd, &info) || info.buffer_size == size)
			return err;
		size = info.buffer_size;
	}
}

int persistent_reader__add(struct persistent_reader *reader, const struct persistent_ns *ns,
			   const struct persistent_member *member, int fd)
{
	struct persistent_buffer *buffers, *buf;
	int err;

	buffers = realloc(reader->buffers, (reader->nr + 1) * sizeof(*buffers));
	if (!buffers)
		return -ENOMEM;
	reader->buffers = buffers;

	buf = &buffers[reader->nr];
	memset(buf, 0, sizeof(*buf));
	buf->ns = ns;
	buf->id = member->id;
	err = map_current(&buf->map, fd, member->buffer_size, member->cpu);
	if (err)
		return err;

	/*
	 * It may be the copy of a live buffer: the kernel knows what of it is whole, and
	 * cannot be asked any more once the snapshot is deleted.
	 */
	if (ns->snapshot) {
		struct perf_event_persist_member info;

		err = persistent__get_event(fd, &info);
		if (err) {
			perf_mmap__munmap(&buf->map);
			return err;
		}
		buf->reserved = info.head;
	}
	reader->nr++;
	return 0;
}

/* Copies of one buffer: the live one first, and then one snapshot after the other, back in time */
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

static int reader__alloc_copy(struct persistent_reader *reader, size_t size)
{
	if (size <= reader->copy_size)
		return 0;

	free(reader->copy);
	reader->copy = malloc(size);
	reader->copy_size = reader->copy ? size : 0;
	return reader->copy ? 0 : -ENOMEM;
}

static int reader__note_start(struct persistent_reader *reader, size_t nr, u32 start)
{
	if (nr == reader->nr_starts) {
		size_t more = nr ? 2 * nr : 4096;
		u32 *starts = realloc(reader->starts, more * sizeof(*starts));

		if (!starts)
			return -ENOMEM;
		reader->starts = starts;
		reader->nr_starts = more;
	}

	reader->starts[nr] = start;
	return 0;
}

/*
 * Note where the whole records in [from, to) of the copy start, and after them
 * where the last one ends. Returns how many there are.
 */
static ssize_t reader__find_records(struct persistent_reader *reader, size_t from, size_t to)
{
	size_t nr = 0, pos = from;

	while (pos + sizeof(struct perf_event_header) <= to) {
		struct perf_event_header *header = (void *)reader->copy + pos;

		if (header->size < sizeof(*header) || pos + header->size > to)
			break;

		if (reader__note_start(reader, nr, pos))
			return -ENOMEM;
		nr++;
		pos += header->size;
	}

	return reader__note_start(reader, nr, pos) ?: (ssize_t)nr;
}

static int reader__push(struct persistent_reader *reader, void *records, size_t len)
{
	int err = reader->push(reader->to, records, len);

	if (reader->progress)
		ui_progress__update(reader->progress, len);
	return err;
}

static int reader__flush(struct persistent_reader *reader)
{
	size_t len = reader->out_len;

	reader->out_len = 0;
	return len ? reader__push(reader, reader->out, len) : 0;
}

/* Of @nr records that were found hand on those from @first on, in reverse: oldest first. */
static int reader__push_reverse(struct persistent_reader *reader, size_t first, size_t nr)
{
	while (nr-- > first) {
		u32 start = reader->starts[nr];
		struct perf_event_header *header = (void *)reader->copy + start;
		int err;

		if (reader->out_len + header->size > OUT_SIZE) {
			err = reader__flush(reader);
			if (err < 0)
				return err;
		}
		memcpy(reader->out + reader->out_len, header, header->size);
		reader->out_len += header->size;
	}

	return reader__flush(reader);
}

static bool is_gone(int err)
{
	return err == -ENOENT || err == -ENODEV;
}

static void buffer__note_next(struct persistent_buffer *buf,
			      const struct perf_event_persist_member *info)
{
	if (info->buffer_seq > buffer__seq(buf))
		buf->next_size = info->buffer_size;
}

/*
 * Up to where have writers reserved? Read on the CPU of the event itself. Of a
 * buffer that was replaced meanwhile no more is said than that.
 */
static int buffer__reserved(struct persistent_buffer *buf, u64 *reserved)
{
	struct perf_event_persist_member info;
	int err;

	if (buf->ns->snapshot) {
		*reserved = buf->reserved;
		return 0;
	}

	err = persistent__get_event(buf->map.fd, &info);

	/* Deleted meanwhile: the event stopped, and with it the writers. */
	if (is_gone(err)) {
		*reserved = perf_mmap__read_head(&buf->map);
		return 0;
	}

	if (!err) {
		*reserved = info.head;
		buffer__note_next(buf, &info);
	}
	return err;
}

/* There is nothing new in it, but maybe in the one that took its place. */
static int buffer__check_replaced(struct persistent_buffer *buf)
{
	struct perf_event_persist_member info;
	int err;

	if (buf->ns->snapshot)
		return 0;

	err = persistent_ns__get_member(buf->ns, buf->id, &info);
	if (!err)
		buffer__note_next(buf, &info);
	return is_gone(err) ? 0 : err;
}

/* Copy what is new, which ends at @head. */
static int buffer__copy_fresh(struct persistent_buffer *buf, struct persistent_reader *reader,
			      u64 *head, u64 *len)
{
	int err;

	*head = perf_mmap__read_head(&buf->map);
	*len = min(buf->pos - *head, (u64)buf->map.mask + 1);
	err = reader__alloc_copy(reader, *len);
	if (!err && *len)
		perf_mmap__copy(&buf->map, *head, *len, reader->copy);
	return err;
}

/*
 * How many of the @nr records that were found are in what was read before? Positions are
 * the same in all copies of a buffer, and older ones begin further up.
 */
static size_t buffer__count_known(const struct persistent_buffer *buf,
				  const struct persistent_reader *reader, u64 head, size_t nr)
{
	u64 covered = head;
	size_t known = 0;

	for (const struct persistent_buffer *other = reader->buffers; other < buf; other++) {
		if (other->id == buf->id && other->first_seq == buf->first_seq &&
		    (s64)(other->covered - covered) > 0)
			covered = other->covered;
	}

	while (known < nr && reader->starts[known] < covered - head)
		known++;
	return known;
}

/* Copy what is new, and find out what of it was not overwritten meanwhile. */
static int buffer__copy_whole(struct persistent_buffer *buf, struct persistent_reader *reader,
			      u64 *head, u64 *len)
{
	u64 size = (u64)buf->map.mask + 1, reserved, overwritten;
	int err;

	err = buffer__copy_fresh(buf, reader, head, len);
	if (err)
		return err;

	reserved = *head;
	err = *len ? buffer__reserved(buf, &reserved) : buffer__check_replaced(buf);

	/* Its last records came after the copy. There are going to be no others. */
	if (!err && buf->next_size) {
		err = buffer__copy_fresh(buf, reader, head, len);
		reserved = *head;
	}
	overwritten = min(*head - reserved, size);
	*len = min(*len, size - overwritten);
	return err;
}

/* Hand on the records that were copied, @len bytes from @head on. */
static int buffer__push_copy(struct persistent_buffer *buf, struct persistent_reader *reader,
			     u64 head, u64 len)
{
	u64 fresh = buf->pos - head;
	size_t known = 0;
	ssize_t nr;

	nr = reader__find_records(reader, 0, len);
	if (nr < 0)
		return nr;

	if (buf->started) {
		buf->overtaken += fresh - reader->starts[nr];
	} else {
		buf->first_seq = buffer__seq(buf);
		known = buffer__count_known(buf, reader, head, nr);
		buf->covered = head + reader->starts[nr];
	}
	buf->fresh += min(fresh, (u64)buf->map.mask + 1);
	buf->pos = head;
	return reader__push_reverse(reader, known, nr);
}

static int buffer__read_mapped(struct persistent_buffer *buf, struct persistent_reader *reader)
{
	u64 head, len;
	int err = buffer__copy_whole(buf, reader, &head, &len);

	return err ?: buffer__push_copy(buf, reader, head, len);
}

/* Hand on what was copied early, and give the room in the file back. */
static int buffer__read_early(struct persistent_buffer *buf, struct persistent_reader *reader)
{
	const struct persistent_early early = buf->early;
	int err = reader__alloc_copy(reader, early.len);

	if (err)
		return err;

	if (preadn(reader->early_fd, reader->copy, early.len, early.offset) != (ssize_t)early.len)
		return -EIO;

	/* Not all file systems can, and it is only for the room. */
	fallocate(reader->early_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, early.offset,
		  early.len);
	buf->early.made = false;
	return buffer__push_copy(buf, reader, early.head, early.len);
}

/* Go on at the start of the buffer that took the place of this one. */
static int buffer__map_next(struct persistent_buffer *buf)
{
	u64 seq = buffer__seq(buf);
	struct perf_mmap map = { .base = NULL };
	int err = map_current(&map, buf->map.fd, buf->next_size, buf->map.cpu.cpu);

	if (err)
		return err;

	perf_mmap__munmap(&buf->map);
	buf->map = map;
	buf->pos = 0;
	buf->next_size = 0;
	buf->started = true;
	buf->skipped += buffer__seq(buf) - seq - 1;
	return 0;
}

static int buffer__read(struct persistent_buffer *buf, struct persistent_reader *reader)
{
	int err;

	/* What came later is for the next time. */
	if (buf->early.made)
		return buffer__read_early(buf, reader);

	err = buffer__read_mapped(buf, reader);
	while (err >= 0 && buf->next_size) {
		err = buffer__map_next(buf);
		/* Deleted meanwhile, and what is in there with it */
		if (is_gone(err))
			return 0;
		if (!err)
			err = buffer__read_mapped(buf, reader);
	}
	return err;
}

/* What there is to read now, more or less */
static u64 buffer__unread(struct persistent_buffer *buf)
{
	if (buf->early.made)
		return buf->early.len;
	return min_t(u64, buf->pos - perf_mmap__read_head(&buf->map), buf->map.mask);
}

void persistent_reader__set_progress(struct persistent_reader *reader,
				     struct ui_progress *progress)
{
	reader->progress = progress;
}

static void reader__init_progress(struct persistent_reader *reader, const char *title)
{
	u64 unread = 0;

	for (int i = 0; i < reader->nr; i++)
		unread += buffer__unread(&reader->buffers[i]);
	ui_progress__init_size(reader->progress, unread, title);
}

static int reader__read(struct persistent_reader *reader)
{
	int fullest = 0;

	for (int i = 0; i < reader->nr; i++) {
		struct persistent_buffer *buf = &reader->buffers[i];
		int percent, err;
		u64 fresh;

		buf->fresh = 0;
		if (reader->cut_short && !buf->early.made)
			continue;

		err = buffer__read(buf, reader);
		if (err < 0)
			return err;

		buf->started = true;
		fresh = min_t(u64, buf->fresh, buf->map.mask);
		percent = fresh * 100 / buf->map.mask;
		fullest = max(fullest, percent);
	}

	return fullest;
}

/* Of a buffer that does not change there is no need of a copy. */
static int buffer__copy_early(struct persistent_buffer *buf, struct persistent_reader *reader,
			      off_t *offset, persistent_push_t push, void *to)
{
	u64 head, len;
	int err;

	if (buf->ns->snapshot)
		return 0;

	err = buffer__copy_whole(buf, reader, &head, &len);
	if (err)
		return err;

	/* What is not in the file when it is to end does not get there any more. */
	err = push(to, NULL, 0);
	if (err < 0) {
		reader->cut_short = true;
		return err;
	}

	if (lseek(reader->early_fd, *offset, SEEK_SET) < 0 ||
	    writen(reader->early_fd, reader->copy, len) != (ssize_t)len)
		return -errno;

	buf->early = (struct persistent_early) {
		.head = head, .len = len, .offset = *offset, .made = true,
	};
	*offset += len;
	if (reader->progress)
		ui_progress__update(reader->progress, len);
	return 0;
}

int persistent_reader__copy_early(struct persistent_reader *reader, int fd,
				  persistent_push_t push, void *to)
{
	off_t offset = 0;
	int err = 0;

	reader->early_fd = fd;
	if (reader->progress)
		reader__init_progress(reader, "Copying...");

	for (int i = 0; i < reader->nr && !err; i++)
		err = buffer__copy_early(&reader->buffers[i], reader, &offset, push, to);

	if (reader->progress)
		ui_progress__finish();
	return err;
}

int persistent_reader__read(struct persistent_reader *reader,
			    persistent_push_t push, void *to)
{
	int ret;

	reader->push = push;
	reader->to = to;

	if (!reader->sorted)
		reader__sort(reader);
	if (reader->progress)
		reader__init_progress(reader, "Reading...");
	ret = reader__read(reader);
	if (reader->progress)
		ui_progress__finish();
	return ret;
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

		/* A snapshot takes one of each. */
		skipped = max(skipped, buf->skipped);
		if (buf->overtaken) {
			pr_warning("WARNING: CPU %d: %llu bytes were gone before they could be read\n",
				   buf->map.cpu.cpu, (unsigned long long)buf->overtaken);
		}
	}

	if (skipped) {
		pr_warning("WARNING: %llu snapshot%s taken before %s could be read: what is in there is missing\n",
			   (unsigned long long)skipped, skipped > 1 ? "s were" : " was",
			   skipped > 1 ? "they" : "it");
	}
}

const struct perf_event_mmap_page *persistent_reader__pick_pc(struct persistent_reader *reader)
{
	return reader->nr ? reader->buffers[0].map.base : NULL;
}
