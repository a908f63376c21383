// SPDX-License-Identifier: GPL-2.0
/*
 * Find out how full the buffers of persistent events are, and how far back they go.
 *
 * The kernel reports how much was written. Only the records have times. To find the oldest,
 * all records must be read, as each only tells where the next one begins.
 */
#include "persistent-info.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include "debug.h"
#include "event.h"
#include "evsel.h"
#include "persistent.h"
#include "persistent-read.h"
#include "persistent-slice.h"

static void widen(struct persistent_ring *ring, u64 oldest, u64 newest)
{
	if (oldest && (!ring->oldest || oldest < ring->oldest))
		ring->oldest = oldest;
	ring->newest = max(ring->newest, newest);
}

struct persistent_ring persistent_info__sum(const struct persistent_info *info, bool sideband)
{
	struct persistent_ring sum = { .counted = true, .seen = true };

	for (int i = 0; i < info->nr_rings; i++) {
		const struct persistent_ring *ring = &info->rings[i];

		if (ring->sideband != sideband)
			continue;

		sum.counted &= ring->counted;
		sum.seen &= ring->seen;
		sum.lost += ring->lost;
		sum.written += ring->written;
		sum.overwritten += ring->overwritten;
		sum.held += ring->held;
		sum.nr_records += ring->nr_records;
		widen(&sum, ring->oldest, ring->newest);
	}
	return sum;
}

struct look {
	struct persistent_info	*info;
	struct persistent_ring	*ring;
	struct evsel		*evsel;		/* the only one that writes to it, or NULL */
	bool			ids;		/* records have the id of their event */
	struct evsel		*clock;		/* only times of this one's clock count */
};

static struct evsel *info__evsel(const struct persistent_info *info,
				 const struct persistent_member *member)
{
	return info->events[info->event_of[member - info->ns->members]].evsel;
}

static bool same_clock(const struct evsel *a, const struct evsel *b)
{
	const struct perf_event_attr *x = &a->core.attr, *y = &b->core.attr;

	return x->use_clockid == y->use_clockid && (!x->use_clockid || x->clockid == y->clockid);
}

/* Who writes to the buffer? */
static void look__start(struct look *look, struct persistent_ring *ring)
{
	struct persistent_ns *ns = look->info->ns;
	int nr_writers = 0;

	look->ring = ring;
	look->evsel = NULL;
	look->ids = true;

	for (int i = 0; i < ns->nr_members; i++) {
		struct persistent_member *member = &ns->members[i];

		if (member->output_id != ring->member->id)
			continue;

		look->evsel = nr_writers++ ? NULL : info__evsel(look->info, member);
		look->ids &= !!(member->attr.sample_type & PERF_SAMPLE_IDENTIFIER);
	}
}

static struct evsel *look__evsel(const struct look *look, const union perf_event *event)
{
	const struct persistent_member *member;
	size_t nr = (event->header.size - sizeof(event->header)) / sizeof(u64);
	u64 id;

	if (look->evsel || !look->ids || !nr)
		return look->evsel;

	id = event->sample.array[event->header.type == PERF_RECORD_SAMPLE ? 0 : nr - 1];
	member = persistent_ns__find_member(look->info->ns, id);
	return member ? info__evsel(look->info, member) : NULL;
}

static void look__at_record(struct look *look, union perf_event *event)
{
	struct persistent_ring *ring = look->ring;
	struct evsel *evsel = look__evsel(look, event);
	u64 time;

	ring->nr_records++;
	ring->held += event->header.size;

	if (evsel && same_clock(evsel, look->clock) &&
	    !evsel__parse_sample_timestamp(evsel, event, &time))
		widen(ring, time, time);
}

static int look__at_records(void *_look, void *records, size_t size)
{
	for (size_t pos = 0; pos < size; ) {
		union perf_event *event = records + pos;

		look__at_record(_look, event);
		pos += event->header.size;
	}
	return 0;
}

static int ring__read(struct persistent_ring *ring, int fd, struct look *look)
{
	struct persistent_reader *reader = persistent_reader__new(/*evlist=*/NULL);
	struct persistent_member *member = ring->member;
	int err;

	if (!reader)
		return -ENOMEM;

	err = persistent_reader__add(reader, look->info->ns, member, fd);
	if (!err)
		err = persistent_reader__read(reader, look__at_records, look);
	persistent_reader__delete(reader);
	if (err < 0)
		return err;

	/* If a snapshot was taken meanwhile, the next buffer was read, too. */
	ring->held = min(ring->held, member->buffer_size);
	ring->seen = true;
	return 0;
}

/* If the buffer was replaced meanwhile, this counts the new one. */
static int ring__count(struct persistent_ring *ring, int fd)
{
	int err = persistent_member__written(fd, &ring->written);

	if (err)
		return err;
	if (ring->written > ring->member->buffer_size)
		ring->overwritten = ring->written - ring->member->buffer_size;
	ring->counted = true;
	return 0;
}

static int look__at_ring(struct look *look, struct persistent_ring *ring, bool contents)
{
	int fd = persistent_member__open(look->info->ns, ring->member), err = 0;

	/* The caller may not open it, or it was deleted after it was listed. */
	if (fd == -EACCES || fd == -EPERM || fd == -ENOENT)
		return 0;
	if (fd < 0)
		return fd;

	look__start(look, ring);
	if (contents)
		err = ring__read(ring, fd, look);
	err = err ?: ring__count(ring, fd);
	close(fd);
	if (err) {
		*ring = (struct persistent_ring) {
			.member		= ring->member,
			.sideband	= ring->sideband,
			.lost		= ring->lost,
		};
		pr_debug("cannot look into the buffer of event %" PRIu64 ": %d\n",
			 ring->member->id, err);
	}
	return err == -ENOMEM ? err : 0;
}

static int info__init_evsels(struct persistent_info *info)
{
	for (int i = 0; i < info->nr_events; i++) {
		struct persistent_event *event = &info->events[i];

		if (event->evsel || event->first->flags & PERF_PERSIST_ATTR_WITHHELD)
			continue;

		event->evsel = evsel__new(&event->first->attr);
		if (!event->evsel)
			return -ENOMEM;
		if (event->first->label[0])
			event->evsel->name = strdup(event->first->label);
	}
	return 0;
}

int persistent_info__look(struct persistent_info *info, bool contents)
{
	struct look look = { .info = info };
	int err = info__init_evsels(info);

	for (int i = 0; i < info->nr_events && !look.clock; i++)
		look.clock = info->events[i].evsel;
	if (err || !look.clock)
		return err;

	for (int i = 0; i < info->nr_rings && !err; i++)
		err = look__at_ring(&look, &info->rings[i], contents);

	if (!err && persistent__now(&look.clock->core.attr, &info->now))
		info->now = 0;
	/* Taken last, so that no record looks older than the namespace. */
	info->age = persistent_ns__age_ns(info->ns);
	return err;
}
