/* SPDX-License-Identifier: GPL-2.0 */
/* Sort the members of a namespace into what people call events. */
#ifndef __PERF_PERSISTENT_SORT_H
#define __PERF_PERSISTENT_SORT_H

struct persistent_member;

/* The same event on several CPUs. If a CPU has it twice, it makes two of these. */
struct persistent_sorted_event {
	struct persistent_member *first;
	unsigned long		 *cpus;		/* bitmap of persistent_sorted::nr_cpus */
};

/* Members, each of which is one event on one CPU, sorted into events */
struct persistent_sorted {
	struct persistent_sorted_event *events;
	int			 nr;
	int			 nr_cpus;	/* more than any member's CPU */
};

/* Returns the number of the event that @member belongs to, which may be a new one. */
int persistent_sorted__add(struct persistent_sorted *sorted, struct persistent_member *member);
void persistent_sorted__exit(struct persistent_sorted *sorted);

#endif /* __PERF_PERSISTENT_SORT_H */
