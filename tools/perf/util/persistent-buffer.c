// SPDX-License-Identifier: GPL-2.0
/*
 * Copy one buffer of persistent events while the kernel writes to it.
 *
 * Writers are not stopped. The reader copies first, and finds out afterwards which
 * part of the copy is whole. Positions count down: the newest record starts at the
 * head, so its start is always known:
 *
 *         reserved      head                           reserved + size
 *  position  v           v                                    v
 *   ---------+-----------+------------------------------------+---------
 *            | being     | published records, newest first    | overwritten
 *            | written   |                                    | meanwhile
 *
 * The published head does not tell how much was overwritten on the right hand side:
 * only the outermost writer publishes. An interrupt during a half written record may
 * reserve space and overwrite much before that. So the reader asks the kernel, after
 * the copy, up to where writers have reserved space.
 *
 * When a snapshot is taken, the event gets another buffer, and nobody writes to the
 * mapped one any more. The reader reads the rest of it, and maps the next one. Each
 * buffer has a number, which is in its user page. PERF_EVENT_IOC_GET_MEMBER returns
 * the number of the event's current buffer.
 */
#include "persistent-buffer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/zalloc.h>
#include "persistent.h"

void persistent_copy__exit(struct persistent_copy *copy)
{
	zfree(&copy->data);
	copy->room = 0;
}

static int copy__reserve(struct persistent_copy *copy, size_t size)
{
	if (size <= copy->room)
		return 0;

	free(copy->data);
	copy->data = malloc(size);
	copy->room = copy->data ? size : 0;
	return copy->data ? 0 : -ENOMEM;
}

u64 persistent_buffer__seq(const struct persistent_buffer *buf)
{
	const struct perf_event_mmap_page *pc = buf->map.base;

	return pc->buffer_seq;
}

/* Map the event's current buffer. Its size was @size, but it may be replaced at any time. */
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

int persistent_buffer__init(struct persistent_buffer *buf, const struct persistent_ns *ns,
			    const struct persistent_member *member, int fd)
{
	struct perf_event_persist_member info;
	int err;

	memset(buf, 0, sizeof(*buf));
	buf->ns = ns;
	buf->id = member->id;
	err = map_current(&buf->map, fd, member->buffer_size, member->cpu);
	if (err || !ns->snapshot)
		return err;

	/*
	 * It may be the copy of a live buffer, and only the kernel knows which part is
	 * whole. Ask now: once the snapshot is deleted the kernel cannot tell any more.
	 */
	err = persistent__get_event(fd, &info);
	if (err)
		persistent_buffer__exit(buf);
	else
		buf->reserved = info.head;
	return err;
}

void persistent_buffer__exit(struct persistent_buffer *buf)
{
	perf_mmap__munmap(&buf->map);
}

/* Roughly how many bytes there are to copy now */
u64 persistent_buffer__unread(struct persistent_buffer *buf)
{
	return min_t(u64, buf->pos - perf_mmap__read_head(&buf->map), buf->map.mask);
}

static void buffer__note_next(struct persistent_buffer *buf,
			      const struct perf_event_persist_member *info)
{
	if (info->buffer_seq > persistent_buffer__seq(buf))
		buf->next_size = info->buffer_size;
}

/*
 * Up to where have writers reserved space? The kernel reads it on the CPU of the event.
 * If the buffer was replaced meanwhile, @reserved is useless, and next_size is set.
 */
static int buffer__reserved(struct persistent_buffer *buf, u64 *reserved)
{
	struct perf_event_persist_member info;
	int err;

	err = persistent__get_event(buf->map.fd, &info);

	/* Deleted meanwhile: the event has stopped, so nobody writes any more. */
	if (persistent_buffer__is_gone(err)) {
		*reserved = perf_mmap__read_head(&buf->map);
		return 0;
	}

	if (!err) {
		*reserved = info.head;
		buffer__note_next(buf, &info);
	}
	return err;
}

/* There is nothing new in this buffer. Was it replaced by another one? */
static int buffer__check_replaced(struct persistent_buffer *buf)
{
	struct perf_event_persist_member info;
	int err = persistent_ns__get_member(buf->ns, buf->id, &info);

	if (!err)
		buffer__note_next(buf, &info);
	return persistent_buffer__is_gone(err) ? 0 : err;
}

/* Copy new records, the newest of which starts at @head. */
static int buffer__copy_fresh(struct persistent_buffer *buf, struct persistent_copy *copy,
			      u64 *head, u64 *len)
{
	int err;

	*head = perf_mmap__read_head(&buf->map);
	*len = min(buf->pos - *head, (u64)buf->map.mask + 1);
	*len = min(*len, copy->max);
	err = copy__reserve(copy, *len);
	if (!err && *len) {
		perf_mmap__copy(&buf->map, *head, *len, copy->data);
		perf_mmap__drop_pages(&buf->map, *head, *len);
	}
	return err;
}

int persistent_buffer__copy(struct persistent_buffer *buf, struct persistent_copy *copy,
			    u64 *head, u64 *len)
{
	u64 size = (u64)buf->map.mask + 1, reserved, overwritten;
	int err;

	err = buffer__copy_fresh(buf, copy, head, len);
	if (err)
		return err;

	reserved = *head;
	err = *len ? buffer__reserved(buf, &reserved) : buffer__check_replaced(buf);

	/* Replaced: copy again, as records may have followed. From now on none can. */
	if (!err && buf->next_size) {
		err = buffer__copy_fresh(buf, copy, head, len);
		reserved = *head;
	}
	overwritten = min(*head - reserved, size);
	*len = min(*len, size - overwritten);
	return err;
}

void persistent_buffer__frozen(struct persistent_buffer *buf, u64 max, u64 *head, u64 *len)
{
	u64 size = (u64)buf->map.mask + 1, overwritten;

	*head = perf_mmap__read_head(&buf->map);
	overwritten = min(*head - buf->reserved, size);
	*len = min(buf->pos - *head, size - overwritten);
	*len = min(*len, max);
}

int persistent_buffer__map_next(struct persistent_buffer *buf)
{
	u64 seq = persistent_buffer__seq(buf);
	struct perf_mmap map = { .base = NULL };
	int err = map_current(&map, buf->map.fd, buf->next_size, buf->map.cpu.cpu);

	if (err)
		return err;

	perf_mmap__munmap(&buf->map);
	buf->map = map;
	buf->pos = 0;
	buf->next_size = 0;
	buf->started = true;
	buf->skipped += persistent_buffer__seq(buf) - seq - 1;
	return 0;
}
