// SPDX-License-Identifier: GPL-2.0
/*
 * Collect what perf ctl shows about a namespace of persistent events.
 *
 * The kernel lists members, one event on one CPU each. People think of events
 * that are on many CPUs, and of buffers, so sort the members into these. To know
 * how far back a buffer goes, persistent-look.c must read it.
 */
#include "persistent-info.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/bitmap.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/zalloc.h>
#include <perf/cpumap.h>
#include "cpumap.h"
#include "evsel.h"
#include "persistent.h"
#include "persistent-control.h"
#include "persistent-tasks.h"
#include "pmu.h"
#include "pmus.h"

static int count_cpus(const struct persistent_ns *ns, const struct perf_cpu_map *online)
{
	int nr = perf_cpu_map__max(online).cpu + 1;

	for (int i = 0; i < ns->nr_members; i++)
		nr = max(nr, ns->members[i].cpu + 1);
	return nr;
}

/*
 * Events
 */

static int event__init(struct persistent_event *event,
		       const struct persistent_sorted_event *sorted, int nr_cpus)
{
	memset(event, 0, sizeof(*event));
	event->first = sorted->first;
	event->cpus = sorted->cpus;
	event->offline = bitmap_zalloc(nr_cpus);
	event->missing = bitmap_zalloc(nr_cpus);
	return event->offline && event->missing ? 0 : -ENOMEM;
}

static void event__exit(struct persistent_event *event)
{
	evsel__put(event->evsel);
	bitmap_free(event->offline);
	bitmap_free(event->missing);
}

static void event__add_member(struct persistent_event *event,
			      const struct persistent_member *member)
{
	event->nr_members++;
	event->lost += member->lost;
	event->missed += member->missed;
	event->nr_off += !!(member->flags & PERF_PERSIST_DISABLED);
	event->nr_stopped += !!(member->flags & PERF_PERSIST_STOPPED);
	event->nr_paused += !!(member->flags & PERF_PERSIST_PAUSED);

	if (member->cpu >= 0 && member->flags & PERF_PERSIST_OFFLINE)
		__set_bit(member->cpu, event->offline);
}

/* The PMU that knows which CPUs an event can be on; NULL: all CPUs */
static struct perf_pmu *attr__pmu(const struct perf_event_attr *attr)
{
	u32 type = attr->type;

	if (type == PERF_TYPE_HARDWARE || type == PERF_TYPE_HW_CACHE) {
		type = attr->config >> PERF_PMU_TYPE_SHIFT;
		if (!type)
			return NULL;
	}
	return perf_pmus__find_by_type(type);
}

/* An event that was made for all CPUs should be on each online CPU of its PMU. */
static void event__find_missing(const struct persistent_info *info,
				struct persistent_event *event)
{
	struct persistent_member *first = event->first;
	struct perf_pmu *pmu = NULL;
	struct perf_cpu cpu;
	bool all = true;
	unsigned int idx;

	if (!info->ns->all_cpus || first->flags & PERF_PERSIST_ATTR_WITHHELD)
		return;

	perf_cpu_map__for_each_cpu(cpu, idx, info->online)
		all &= test_bit(cpu.cpu, event->cpus);
	if (all)
		return;

	pmu = attr__pmu(&first->attr);
	perf_cpu_map__for_each_cpu(cpu, idx, info->online) {
		if (!test_bit(cpu.cpu, event->cpus) &&
		    (!pmu || !pmu->cpus || perf_cpu_map__has(pmu->cpus, cpu)))
			__set_bit(cpu.cpu, event->missing);
	}
}

static int info__add_event(struct persistent_info *info, int nr)
{
	struct persistent_event *events;

	events = realloc(info->events, (nr + 1) * sizeof(*events));
	if (!events)
		return -ENOMEM;

	info->events = events;
	if (event__init(&events[nr], &info->sorted.events[nr], info->nr_cpus)) {
		event__exit(&events[nr]);
		return -ENOMEM;
	}
	info->nr_events++;
	return nr;
}

static int info__sort_events(struct persistent_info *info, bool sideband)
{
	struct persistent_ns *ns = info->ns;

	for (int i = 0; i < ns->nr_members; i++) {
		struct persistent_member *member = &ns->members[i];
		int nr;

		if (persistent_member__is_sideband(member) != sideband)
			continue;

		nr = persistent_sorted__add(&info->sorted, member);
		if (nr == info->nr_events)
			nr = info__add_event(info, nr);
		if (nr < 0)
			return nr;

		event__add_member(&info->events[nr], member);
		info->event_of[i] = nr;
	}

	return 0;
}

static int info__init_events(struct persistent_info *info)
{
	int err;

	info->sorted.nr_cpus = info->nr_cpus;
	info->event_of = calloc(info->ns->nr_members, sizeof(*info->event_of));
	info->cpus = bitmap_zalloc(info->nr_cpus);
	info->offline = bitmap_zalloc(info->nr_cpus);
	info->missing = bitmap_zalloc(info->nr_cpus);
	if (!info->event_of || !info->cpus || !info->offline || !info->missing)
		return -ENOMEM;

	err = info__sort_events(info, /*sideband=*/false) ?:
	      info__sort_events(info, /*sideband=*/true);
	if (err)
		return err;

	for (int i = 0; i < info->nr_events; i++) {
		struct persistent_event *event = &info->events[i];

		event__find_missing(info, event);
		bitmap_or(info->missing, info->missing, event->missing, info->nr_cpus);
		info->lost += event->lost;
		info->missed += event->missed;

		/* Side-band events are on all CPUs, even if the user asked for a few. */
		if (persistent_member__is_sideband(event->first))
			continue;
		bitmap_or(info->cpus, info->cpus, event->cpus, info->nr_cpus);
		bitmap_or(info->offline, info->offline, event->offline, info->nr_cpus);
	}
	return 0;
}

/*
 * Buffers
 */

/* Several events may write to one buffer. Count it only for its owner. */
static bool member__has_ring(const struct persistent_member *member)
{
	return member->buffer_size && member->output_id == member->id;
}

static int ring_cmp(const void *_a, const void *_b)
{
	const struct persistent_ring *x = _a, *y = _b;
	const struct persistent_member *a = x->member, *b = y->member;

	return (x->sideband - y->sideband) ?: (a->cpu - b->cpu) ?:
	       (a->id < b->id ? -1 : a->id > b->id);
}

static void ring__init(struct persistent_ring *ring, const struct persistent_ns *ns)
{
	ring->sideband = persistent_ns__is_sideband_ring(ns, ring->member);

	for (int i = 0; i < ns->nr_members; i++) {
		if (ns->members[i].output_id == ring->member->id)
			ring->lost += ns->members[i].lost;
	}
}

static int info__init_rings(struct persistent_info *info)
{
	struct persistent_ns *ns = info->ns;

	info->rings = calloc(ns->nr_members, sizeof(*info->rings));
	if (!info->rings)
		return -ENOMEM;

	for (int i = 0; i < ns->nr_members; i++) {
		struct persistent_member *member = &ns->members[i];
		struct persistent_ring *ring = &info->rings[info->nr_rings];

		if (!member__has_ring(member))
			continue;

		ring->member = member;
		info->buffer_bytes += member->buffer_size;
		info->nr_rings++;
	}

	for (int i = 0; i < info->nr_rings; i++)
		ring__init(&info->rings[i], ns);
	qsort(info->rings, info->nr_rings, sizeof(*info->rings), ring_cmp);
	return 0;
}

/*
 * Memory
 */

static u64 ns__buffer_bytes(const struct persistent_ns *ns)
{
	u64 bytes = 0;

	for (int i = 0; i < ns->nr_members; i++) {
		if (member__has_ring(&ns->members[i]))
			bytes += ns->members[i].buffer_size;
	}
	return bytes;
}

void persistent_info__count_snapshots(struct persistent_info *info, char * const *names)
{
	for (int i = 0; names && names[i]; i++) {
		struct persistent_ns *snapshot;

		if (!persistent__snapshot_number(names[i], info->name) ||
		    persistent_ns__lookup(names[i], /*write=*/false, &snapshot))
			continue;
		if (snapshot->source_id == info->ns->id && !persistent_ns__list(snapshot))
			info->snapshot_bytes += ns__buffer_bytes(snapshot);
		persistent_ns__close(snapshot);
	}
}

/* A spare has a buffer for each buffer of the namespace. */
u64 persistent_info__spare_bytes(const struct persistent_info *info)
{
	return info->ns->snapshot ? 0 : info->ns->spares * info->buffer_bytes;
}

u64 persistent_info__memory(const struct persistent_info *info)
{
	return info->buffer_bytes + persistent_info__spare_bytes(info) + info->snapshot_bytes +
	       info->tasks_bytes;
}

/*
 * The namespace
 */

int persistent_info__init(struct persistent_info *info, const char *name)
{
	int err;

	memset(info, 0, sizeof(*info));
	info->name = name;

	err = persistent_ns__lookup(name, /*write=*/false, &info->ns);
	/* A user who may not open it still sees that it exists. */
	if (err == -EACCES || err == -EPERM)
		return 0;
	if (err)
		return err;

	info->online = perf_cpu_map__new_online_cpus();
	err = info->online ? persistent_ns__list(info->ns) : -ENOMEM;
	if (!err) {
		info->nr_cpus = count_cpus(info->ns, info->online);
		info->age = persistent_ns__age_ns(info->ns);
		err = info__init_events(info);
	}
	err = err ?: info__init_rings(info);
	if (!err && !info->ns->snapshot) {
		/* Snapshots share these records with their source. */
		info->tasks_bytes = persistent_ns__tasks_size(info->ns);
		err = persistent_ns__triggers(info->ns, &info->triggers, &info->nr_triggers);
	}
	if (err)
		persistent_info__exit(info);
	return err;
}

void persistent_info__exit(struct persistent_info *info)
{
	for (int i = 0; i < info->nr_events; i++)
		event__exit(&info->events[i]);
	zfree(&info->events);
	info->nr_events = 0;
	persistent_sorted__exit(&info->sorted);
	zfree(&info->event_of);
	zfree(&info->rings);
	info->nr_rings = 0;
	zfree(&info->triggers);
	info->nr_triggers = 0;
	zfree(&info->cpus);
	zfree(&info->offline);
	zfree(&info->missing);
	perf_cpu_map__put(info->online);
	info->online = NULL;
	persistent_ns__close(info->ns);
	info->ns = NULL;
}

static const char *state_of(const struct persistent_ns *ns, int nr_members, int nr_off,
			    int nr_stopped, int nr_paused)
{
	if (ns->snapshot)
		return "snapshot";
	if (nr_stopped)
		return "stopped";
	if (nr_paused)
		return "paused";
	if (!nr_off)
		return "on";
	return nr_off == nr_members ? "off" : "partly off";
}

const char *persistent_member__state(const struct persistent_ns *ns,
				     const struct persistent_member *member)
{
	return state_of(ns, 1, !!(member->flags & PERF_PERSIST_DISABLED),
			!!(member->flags & PERF_PERSIST_STOPPED),
			!!(member->flags & PERF_PERSIST_PAUSED));
}

const char *persistent_event__state(const struct persistent_ns *ns,
				    const struct persistent_event *event)
{
	return state_of(ns, event->nr_members, event->nr_off, event->nr_stopped,
			event->nr_paused);
}

const char *persistent_info__state(const struct persistent_info *info)
{
	const struct persistent_ns *ns = info->ns;
	int nr_off = 0, nr_stopped = 0, nr_paused = 0;

	for (int i = 0; i < info->nr_events; i++) {
		nr_off += info->events[i].nr_off;
		nr_stopped += info->events[i].nr_stopped;
		nr_paused += info->events[i].nr_paused;
	}
	return state_of(ns, ns->nr_members, nr_off, nr_stopped + ns->stopped, nr_paused);
}
