// SPDX-License-Identifier: GPL-2.0
/*
 * perf record -M: copy what is in memory without a pause.
 *
 * A buffer can be copied while the kernel writes to it if one knows afterwards what was overwritten
 * meanwhile. The kernel says so of events that are in a namespace of persistent events, see
 * persistent-read.c. So the events that have a buffer go to one that has no name: nobody else can
 * find it, and it ends with perf.
 *
 * Where that cannot be, buffers are paused for the copy, as on any kernel.
 */
#include "record-live.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/sizes.h>
#include <sys/ioctl.h>
#include <internal/mmap.h>
#include <perf/threadmap.h>
#include "debug.h"
#include "evlist.h"
#include "mmap.h"
#include "persistent.h"
#include "record-dump.h"
#include "target.h"

/*
 * A large buffer is copied in so many parts. To ask the kernel takes a round trip to the CPU that
 * writes, which is longer than to copy what is small: that is one part.
 */
#define NR_PARTS	8
#define MIN_PART	((u64)SZ_1M)
/* How often a buffer is copied if more than an eighth of it was lost */
#define NR_TRIES	16

static const char *why_not(int err)
{
	switch (err) {
	case -ENOTTY:
		return "this kernel lacks CONFIG_PERF_EVENTS_PERSISTENT";
	case -EACCES:
	case -EPERM:
		return "perf has no CAP_PERFMON";
	case -EOPNOTSUPP:
		return "an event is in a group";
	case -ENOMEM:
		return "the kernel has no memory to spare";
	default:
		return "the kernel does not let these events be in a namespace";
	}
}

static int join(struct record_live *live, const struct perf_mmap *map)
{
	struct perf_event_persist_member info;
	u64 id = live->ns_id ?: PERF_PERSIST_NEW;

	if (ioctl(map->fd, PERF_EVENT_IOC_SET_PERSIST, &id))
		return -errno;
	live->ns_id = id;
	/* It has to answer when there is a copy. */
	return persistent__get_event(map->fd, &info);
}

/* Those of tasks cannot be kept, as they end with them. */
static bool is_of_cpus(struct evlist *evlist, struct target *target)
{
	return target__has_cpu(target) && !target__has_task(target) &&
	       perf_thread_map__nr(evlist->core.threads) == 1 &&
	       perf_thread_map__pid(evlist->core.threads, 0) == -1;
}

void record_live__join(struct record_live *live, struct evlist *evlist, struct target *target)
{
	int err = 0;

	*live = (struct record_live) {};
	if (!is_of_cpus(evlist, target)) {
		live->why = "events are of tasks, without -a or -C";
		return;
	}

	for (int i = 0; i < evlist->core.nr_mmaps && !err; i++) {
		const struct perf_mmap *map = &evlist->overwrite_mmap[i].core;

		if (map->base)
			err = join(live, map);
	}
	/* Buffers that are in it already can be paused like any other. */
	if (err) {
		pr_debug("a buffer is in no namespace: %s\n", strerror(-err));
		live->why = why_not(err);
	}
	live->on = !err;
}

void record_live__add(struct record_live *live, const struct perf_mmap *map)
{
	int err = live->on ? join(live, map) : 0;

	if (!err)
		return;
	live->on = false;
	live->why = why_not(err);
	pr_warning("WARNING: from here on recording pauses while memory is copied: %s\n",
		   live->why);
}

/* How much from @head on is still in the buffer? */
static int count_left(const struct perf_mmap *map, u64 head, u64 *left)
{
	const struct perf_event_mmap_page *page = map->base;
	struct perf_event_persist_member info;
	u64 room = (u64)map->mask + 1;
	int err = persistent__get_event(map->fd, &info);

	if (err)
		return err;
	/* Positions count down, and as much at the end is gone as was reserved since then. */
	*left = room - min(head - (u64)info.head, room);
	/* Somebody who may has resized it: nobody writes to the one that is mapped. */
	if (info.buffer_seq != page->buffer_seq)
		*left = room;
	return 0;
}

/*
 * What is oldest is overwritten first, so it is copied first. From then on the copy is ahead of the
 * writer, who is slower, and what of a part was overwritten before it was copied is known right
 * behind it. If that is something, all that is older is left out, or there would be a gap.
 */
static int copy_once(const struct perf_mmap *map, struct record_copy *copy)
{
	u64 part = max((u64)copy->room / NR_PARTS, MIN_PART), end, begin, left;
	int err = 0;

	copy->head = perf_mmap__read_head(copy->map);
	copy->size = min(map->prev - copy->head, (u64)copy->room);
	for (end = copy->size; end && !err; end = min(begin, copy->size)) {
		begin = end > part ? end - part : 0;
		perf_mmap__copy(copy->map, copy->head + begin, end - begin, copy->buf + begin);
		err = count_left(map, copy->head, &left);
		if (!err && left < end)
			copy->size = left;
	}
	return err;
}

int record_live__copy(const struct perf_mmap *map, struct record_copy *copy)
{
	u64 all;
	int err;

	/* perf did not get the CPU while others wrote: what the buffer holds now is as much. */
	for (int i = 0; i < NR_TRIES; i++) {
		err = copy_once(map, copy);
		all = min(map->prev - copy->head, (u64)copy->room);
		if (err || copy->size >= all - all / 8)
			break;
		pr_debug("CPU %d: %" PRIu64 " of %" PRIu64 " bytes were overwritten too early\n",
			 map->cpu.cpu, all - copy->size, all);
	}
	return err;
}
