// SPDX-License-Identifier: GPL-2.0
/*
 * perf record -M: copy the sample buffers without pausing them.
 *
 * perf can copy a buffer while the kernel writes to it, if the kernel tells afterwards
 * what it has overwritten. The kernel does so for members of a namespace of persistent
 * events, see persistent-read.c. So perf lets the events that own a buffer join a
 * namespace without a name. No other process can find it, and it ends with perf.
 *
 * If the events cannot join, perf pauses the buffers for the copy, which any kernel can do.
 */
#include "record-live.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <linux/bitops.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/sizes.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <internal/mmap.h>
#include <perf/threadmap.h>
#include "debug.h"
#include "evlist.h"
#include "mmap.h"
#include "persistent.h"
#include "record-dump.h"
#include "target.h"

/*
 * perf copies a large buffer in NR_PARTS parts, and asks the kernel after each part.
 * Asking requires a round trip to the writing CPU, which takes longer than to copy a part
 * below MIN_PART.
 */
#define NR_PARTS	8
#define MIN_PART	((u64)SZ_1M)
/* Copy a buffer at most this often, if more than an eighth was overwritten each time. */
#define NR_TRIES	64

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
	/* Check that the kernel answers what perf asks during a copy. */
	return persistent__get_event(map->fd, &info);
}

/* Events of tasks cannot join a namespace, as they end with their task. */
static bool is_of_cpus(struct evlist *evlist, struct target *target)
{
	return target__has_cpu(target) && !target__has_task(target) &&
	       perf_thread_map__nr(evlist__core(evlist)->threads) == 1 &&
	       perf_thread_map__pid(evlist__core(evlist)->threads, 0) == -1;
}

void record_live__join(struct record_live *live, struct evlist *evlist, struct target *target)
{
	int err = 0;

	*live = (struct record_live) {};
	if (!is_of_cpus(evlist, target)) {
		live->why = "events are of tasks, without -a or -C";
		return;
	}

	for (int i = 0; i < evlist__core(evlist)->nr_mmaps && !err; i++) {
		const struct perf_mmap *map = &evlist__overwrite_mmap(evlist)[i].core;

		if (map->base)
			err = join(live, map);
	}
	/* perf can still pause the buffers whose events have joined. */
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

/* How many bytes from @head on has the kernel not overwritten? */
static int count_left(const struct perf_mmap *map, u64 head, u64 *left)
{
	const struct perf_event_mmap_page *page = map->base;
	struct perf_event_persist_member info;
	u64 room = (u64)map->mask + 1;
	int err = persistent__get_event(map->fd, &info);

	if (err)
		return err;
	/* Positions count down. New bytes overwrite as many at the old end. */
	*left = room - min(head - (u64)info.head, room);
	/* A privileged user has resized the buffer: no event writes to the mapped one now. */
	if (info.buffer_seq != page->buffer_seq)
		*left = room;
	return 0;
}

/*
 * Copy the oldest part first, as the kernel overwrites it first. After that the copy
 * stays ahead of the writer, which is slower. After each part perf asks the kernel how
 * much of it was overwritten before it was copied. If any was, leave out all older
 * records, or the copy would have a gap.
 */
static int copy_once(const struct perf_mmap *map, struct record_copy *copy,
		     void (*idle)(void *arg), void *arg)
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
		idle(arg);
	}
	return err;
}

/* The next try must not overwrite the best one so far. False: no memory for another try */
static bool keep_best(struct record_copy *best, struct record_copy *copy)
{
	void *spare = best->buf;

	if (spare && copy->size <= best->size)
		return true;
	if (!spare)
		spare = mmap(NULL, copy->room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			     -1, 0);
	if (spare == MAP_FAILED)
		return false;
	*best = *copy;
	copy->buf = spare;
	return true;
}

int record_live__copy(const struct perf_mmap *map, struct record_copy *copy,
		      void (*idle)(void *arg), void *arg)
{
	struct record_copy best = {}, last;
	u64 all;
	int err;

	/* Much was overwritten as perf was not scheduled. Retry: the buffer is full again. */
	for (int i = 0; i < NR_TRIES; i++) {
		err = copy_once(map, copy, idle, arg);
		all = min(map->prev - copy->head, (u64)copy->room);
		if (err || copy->size >= all - all / 8)
			break;
		pr_debug("CPU %d: %" PRIu64 " of %" PRIu64 " bytes were overwritten too early\n",
			 map->cpu.cpu, all - copy->size, all);
		if (!keep_best(&best, copy))
			break;
	}
	if (best.buf && best.size >= copy->size) {
		last = *copy;
		*copy = best;
		best = last;
	}
	if (best.buf)
		munmap(best.buf, best.room);
	return err;
}

static void tell_offline(struct record_live *live, const struct perf_mmap *map)
{
	struct perf_event_persist_member info;
	int cpu = map->cpu.cpu;

	if (cpu < 0 || cpu >= MAX_NR_CPUS || test_bit(cpu, live->offline) ||
	    persistent__get_event(map->fd, &info) || !(info.flags & PERF_PERSIST_OFFLINE))
		return;
	set_bit(cpu, live->offline);
	pr_warning("WARNING: CPU %d was offline since perf began, and is not recorded any more: start perf again.\n",
		   cpu);
}

/* The events of a CPU that goes offline are not installed there again. */
void record_live__tell_offline(struct record_live *live, struct evlist *evlist)
{
	for (int i = 0; i < evlist__core(evlist)->nr_mmaps && live->on; i++) {
		if (evlist__overwrite_mmap(evlist)[i].core.base)
			tell_offline(live, &evlist__overwrite_mmap(evlist)[i].core);
	}
}
