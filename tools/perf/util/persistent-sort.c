// SPDX-License-Identifier: GPL-2.0
/*
 * Sort the members of a namespace into what people call events.
 *
 * The kernel lists members, one event on one CPU each. For perf and its users, an event is
 * on many CPUs.
 */
#include "persistent-sort.h"

#include <errno.h>
#include <stdlib.h>
#include <linux/bitmap.h>
#include <linux/zalloc.h>
#include "persistent.h"

static int sorted__find(const struct persistent_sorted *sorted,
			const struct persistent_member *member)
{
	for (int i = 0; i < sorted->nr; i++) {
		const struct persistent_sorted_event *event = &sorted->events[i];

		if (persistent_member__is_same_event(event->first, member) &&
		    (member->cpu < 0 || !test_bit(member->cpu, event->cpus)))
			return i;
	}
	return -1;
}

static int sorted__new_event(struct persistent_sorted *sorted, struct persistent_member *member)
{
	struct persistent_sorted_event *events;
	unsigned long *cpus;

	events = realloc(sorted->events, (sorted->nr + 1) * sizeof(*events));
	if (!events)
		return -ENOMEM;
	sorted->events = events;

	cpus = bitmap_zalloc(sorted->nr_cpus);
	if (!cpus)
		return -ENOMEM;
	events[sorted->nr] = (struct persistent_sorted_event) { .first = member, .cpus = cpus };
	return sorted->nr++;
}

int persistent_sorted__add(struct persistent_sorted *sorted, struct persistent_member *member)
{
	int nr = sorted__find(sorted, member);

	if (nr < 0)
		nr = sorted__new_event(sorted, member);
	if (nr >= 0 && member->cpu >= 0)
		__set_bit(member->cpu, sorted->events[nr].cpus);
	return nr;
}

void persistent_sorted__exit(struct persistent_sorted *sorted)
{
	for (int i = 0; i < sorted->nr; i++)
		bitmap_free(sorted->events[i].cpus);
	zfree(&sorted->events);
	sorted->nr = 0;
}
