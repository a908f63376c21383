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
#include <string.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <internal/mmap.h>
#include <perf/threadmap.h>
#include "debug.h"
#include "evlist.h"
#include "mmap.h"
#include "persistent.h"
#include "target.h"

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

int record_live__check(const struct perf_mmap *map, u64 head, u64 *size)
{
	const struct perf_event_mmap_page *page = map->base;
	struct perf_event_persist_member info;
	u64 room = (u64)map->mask + 1, overwritten;
	int err = persistent__get_event(map->fd, &info);

	if (err)
		return err;
	/* Somebody who may has resized it: nobody writes to the one that is mapped. */
	if (info.buffer_seq != page->buffer_seq)
		return 0;

	/* Positions count down, and as much at the end is gone as was reserved since then. */
	overwritten = min(head - (u64)info.head, room);
	*size = min(*size, room - overwritten);
	return 0;
}
