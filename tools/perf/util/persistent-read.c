// SPDX-License-Identifier: GPL-2.0
/*
 * Copy what the buffers of persistent events hold while they are written to.
 *
 * Nobody is asked to stop: the copy is made first, and what of it is whole is
 * found out afterwards. Two layouts have to be told apart.
 *
 * Backward and overwriting, the flight recorder. Positions count down, the
 * newest record is at the head and its start is always known:
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
 * Forward and not overwriting, a queue: writers stop at the tail, which the
 * consumer moves. What lies below the tail after the copy may have been
 * overwritten during it, and the tail is always at the start of a record.
 */
#include "persistent-read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <asm/barrier.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/zalloc.h>
#include <internal/mmap.h>
#include "../ui/progress.h"
#include "debug.h"
#include "util.h"

#define OUT_SIZE	(4 * PERF_SAMPLE_MAX_SIZE)

struct persistent_buffer {
	struct perf_mmap	map;
	u64			pos;		/* where the last read left off */
	u64			overtaken;	/* bytes gone before they could be read */
	bool			started;	/* there was a read before */
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

int persistent_reader__add(struct persistent_reader *reader, int fd, size_t size,
			   int cpu, bool overwrite)
{
	struct perf_cpu mmap_cpu = { .cpu = cpu };
	struct persistent_buffer *buffers, *buf;

	buffers = realloc(reader->buffers, (reader->nr + 1) * sizeof(*buffers));
	if (!buffers)
		return -ENOMEM;
	reader->buffers = buffers;

	buf = &buffers[reader->nr];
	memset(buf, 0, sizeof(*buf));
	perf_mmap__init(&buf->map, NULL, overwrite, NULL);
	if (perf_mmap__mmap_existing(&buf->map, size, fd, mmap_cpu))
		return -errno;

	reader->nr++;
	return 0;
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

/* @nr records were found: hand them on in reverse, which is oldest first. */
static int reader__push_reverse(struct persistent_reader *reader, size_t nr)
{
	while (nr--) {
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

/* Up to where have writers reserved? Read on the CPU of the event itself. */
static int buffer__reserved(struct persistent_buffer *buf, u64 *reserved)
{
	struct perf_event_persist info = { .size = sizeof(info), };

	if (!ioctl(buf->map.fd, PERF_EVENT_IOC_GET_PERSIST, &info)) {
		*reserved = info.head;
		return 0;
	}

	/* Deleted meanwhile: the event stopped, and with it the writers. */
	if (errno == ENOENT || errno == ENODEV) {
		*reserved = perf_mmap__read_head(&buf->map);
		return 0;
	}

	return -errno;
}

static int buffer__read_backward(struct persistent_buffer *buf,
				 struct persistent_reader *reader)
{
	u64 size = (u64)buf->map.mask + 1;
	u64 head = perf_mmap__read_head(&buf->map);
	u64 fresh = buf->pos - head;
	u64 len = min(fresh, size), overwritten, reserved = head;
	ssize_t nr;
	int err;

	if (!len)
		return 0;

	err = reader__alloc_copy(reader, len);
	if (err)
		return err;

	perf_mmap__copy(&buf->map, head, len, reader->copy);

	err = buffer__reserved(buf, &reserved);
	if (err)
		return err;

	overwritten = min(head - reserved, size);
	len = min(len, size - overwritten);

	nr = reader__find_records(reader, 0, len);
	if (nr < 0)
		return nr;

	if (buf->started)
		buf->overtaken += fresh - reader->starts[nr];
	buf->pos = head;
	return reader__push_reverse(reader, nr);
}

static int buffer__read_forward(struct persistent_buffer *buf,
				struct persistent_reader *reader)
{
	u64 size = (u64)buf->map.mask + 1;
	u64 head = perf_mmap__read_head(&buf->map);
	u64 tail = perf_mmap__read_tail(&buf->map);
	u64 start = buf->started ? max(buf->pos, tail) : tail;
	u64 len = head - start;
	size_t skip;
	ssize_t nr;
	int err;

	if (!buf->started)
		buf->pos = start;

	/* The consumer decides where the tail is: believe only what can be. */
	if (!len || len > size)
		return 0;

	err = reader__alloc_copy(reader, len);
	if (err)
		return err;

	perf_mmap__copy(&buf->map, start, len, reader->copy);

	/*
	 * A writer that overwrote something of the copy saw a new tail before:
	 * having read the one, this sees the other.
	 */
	smp_rmb();
	tail = perf_mmap__read_tail(&buf->map);
	skip = tail > start ? min_t(u64, tail - start, len) : 0;

	nr = reader__find_records(reader, skip, len);
	if (nr < 0)
		return nr;

	buf->overtaken += start + skip - buf->pos;
	buf->pos = start + reader->starts[nr];
	if (!nr)
		return 0;
	return reader__push(reader, reader->copy + skip, reader->starts[nr] - skip);
}

/* What there is to read now, more or less */
static u64 buffer__unread(struct persistent_buffer *buf)
{
	u64 head = perf_mmap__read_head(&buf->map);
	u64 unread = buf->pos - head;

	if (!buf->map.overwrite)
		unread = head - max(buf->pos, perf_mmap__read_tail(&buf->map));
	return min_t(u64, unread, buf->map.mask);
}

void persistent_reader__set_progress(struct persistent_reader *reader,
				     struct ui_progress *progress)
{
	reader->progress = progress;
}

static void reader__init_progress(struct persistent_reader *reader)
{
	u64 unread = 0;

	for (int i = 0; i < reader->nr; i++)
		unread += buffer__unread(&reader->buffers[i]);
	ui_progress__init_size(reader->progress, unread, "Reading...");
}

static int reader__read(struct persistent_reader *reader)
{
	int fullest = 0;

	for (int i = 0; i < reader->nr; i++) {
		struct persistent_buffer *buf = &reader->buffers[i];
		u64 before = buf->pos, fresh;
		int err;

		if (buf->map.overwrite)
			err = buffer__read_backward(buf, reader);
		else
			err = buffer__read_forward(buf, reader);
		if (err < 0)
			return err;

		buf->started = true;
		fresh = buf->map.overwrite ? before - buf->pos : buf->pos - before;
		fresh = min_t(u64, fresh, buf->map.mask);
		fullest = max_t(int, fullest, fresh * 100 / buf->map.mask);
	}

	return fullest;
}

int persistent_reader__read(struct persistent_reader *reader,
			    persistent_push_t push, void *to)
{
	int ret;

	reader->push = push;
	reader->to = to;

	if (reader->progress)
		reader__init_progress(reader);
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
	for (int i = 0; i < reader->nr; i++) {
		struct persistent_buffer *buf = &reader->buffers[i];

		if (buf->overtaken) {
			pr_warning("WARNING: CPU %d: %llu bytes were gone before they could be read\n",
				   buf->map.cpu.cpu, (unsigned long long)buf->overtaken);
		}
	}
}

const struct perf_event_mmap_page *persistent_reader__pick_pc(struct persistent_reader *reader)
{
	return reader->nr ? reader->buffers[0].map.base : NULL;
}
