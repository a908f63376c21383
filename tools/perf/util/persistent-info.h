/* SPDX-License-Identifier: GPL-2.0 */
/* What there is to know of a namespace of persistent events. */
#ifndef __PERF_PERSISTENT_INFO_H
#define __PERF_PERSISTENT_INFO_H

#include <linux/types.h>
#include <stdbool.h>
#include "persistent-sort.h"

struct evsel;
struct persistent_trigger;
struct persistent_member;
struct persistent_ns;

/* The same event on several CPUs */
struct persistent_event {
	struct persistent_member *first;
	struct evsel		 *evsel;	/* NULL: not looked into, or withheld */
	unsigned long		 *cpus;		/* bitmaps of persistent_info::nr_cpus; */
	unsigned long		 *offline;	/* the first one is in persistent_info::sorted */
	unsigned long		 *missing;
	int			 nr_members;
	int			 nr_off;
	int			 nr_stopped;	/* by a trigger */
	u64			 lost;		/* records */
	u64			 missed;	/* records, while its buffers were stopped */
};

/* A buffer, what the kernel says of it, and what a look into it showed */
struct persistent_ring {
	struct persistent_member *member;	/* the one that it belongs to */
	bool			 sideband;	/* nothing else writes to it */
	u64			 lost;		/* records, of all that write to it */
	bool			 counted;	/* or the following two are 0 */
	u64			 written;	/* bytes since it was made */
	u64			 overwritten;	/* of them */
	bool			 seen;		/* or all of the following is 0 */
	u64			 held;		/* bytes of whole records */
	u64			 nr_records;
	u64			 oldest;	/* time of a record, in ns; 0: not known */
	u64			 newest;
};

/*
 * What there is to know of a namespace. The members are sorted into events and
 * buffers; those that count nothing, see persistent_member__is_sideband(), come
 * last in the one as in the other.
 */
struct persistent_info {
	const char		*name;
	struct persistent_ns	*ns;		/* NULL: the caller may not open it */
	struct persistent_sorted sorted;
	struct persistent_event	*events;	/* in the same order */
	int			nr_events;
	int			*event_of;	/* each member */
	struct persistent_ring	*rings;
	int			nr_rings;
	struct persistent_trigger *triggers;
	int			nr_triggers;
	int			nr_cpus;	/* there could be */
	unsigned long		*cpus;		/* of events that count something */
	unsigned long		*offline;	/* those of them that are */
	unsigned long		*missing;	/* those that lack an event */
	u64			buffer_bytes;
	u64			snapshot_bytes;	/* of all taken of it, once they were counted */
	u64			tasks_bytes;	/* of records of older tasks */
	u64			lost;
	u64			missed;
	u64			age;		/* ns */
	u64			now;		/* by the clock of the records; 0: not known */
};

int persistent_info__init(struct persistent_info *info, const char *name);
/*
 * Out of the names of all namespaces, ending with NULL. Those that the caller may not open,
 * or that are deleted meanwhile, are not counted.
 */
void persistent_info__count_snapshots(struct persistent_info *info, char * const *names);
/* Memory of all kinds: buffers, spares, snapshots and records of older tasks */
u64 persistent_info__spare_bytes(const struct persistent_info *info);
u64 persistent_info__memory(const struct persistent_info *info);
void persistent_info__exit(struct persistent_info *info);

/* "on", "off", "partly off", "stopped" or "snapshot" */
const char *persistent_info__state(const struct persistent_info *info);
const char *persistent_event__state(const struct persistent_ns *ns,
				    const struct persistent_event *event);
const char *persistent_member__state(const struct persistent_ns *ns,
				     const struct persistent_member *member);

/*
 * persistent-look.c: ask the kernel how much was written to each buffer that the caller may
 * open, and with @contents copy it to look at its records.
 */
int persistent_info__look(struct persistent_info *info, bool contents);

/* All buffers with side-band records, or all others, together: what is known of each of them */
struct persistent_ring persistent_info__sum(const struct persistent_info *info, bool sideband);

#endif /* __PERF_PERSISTENT_INFO_H */
