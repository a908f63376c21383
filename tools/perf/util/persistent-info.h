/* SPDX-License-Identifier: GPL-2.0 */
/* Collect what perf ctl shows about a namespace of persistent events. */
#ifndef __PERF_PERSISTENT_INFO_H
#define __PERF_PERSISTENT_INFO_H

#include <linux/types.h>
#include <stdbool.h>
#include "persistent-sort.h"

struct evsel;
struct perf_cpu_map;
struct persistent_trigger;
struct persistent_member;
struct persistent_ns;

/* The same event on several CPUs */
struct persistent_event {
	struct persistent_member *first;
	struct evsel		 *evsel;	/* NULL: not looked into, or withheld */
	unsigned long		 *cpus;		/* bitmaps of persistent_info::nr_cpus; */
	unsigned long		 *offline;	/* cpus belongs to persistent_info::sorted */
	unsigned long		 *missing;
	int			 nr_members;
	int			 nr_off;
	int			 nr_stopped;	/* by a trigger */
	int			 nr_paused;	/* by PERF_EVENT_IOC_PAUSE_OUTPUT */
	u64			 lost;		/* records */
	u64			 missed;	/* records, while its buffers were stopped */
};

/* A buffer: what the kernel reports about it, and what its records show */
struct persistent_ring {
	struct persistent_member *member;	/* its owner */
	bool			 sideband;	/* only side-band events write to it */
	u64			 lost;		/* records, of all events that write to it */
	bool			 counted;	/* if not, the next two are 0 */
	u64			 written;	/* bytes since it was made */
	u64			 overwritten;	/* bytes of these */
	bool			 seen;		/* if not, everything below is 0 */
	u64			 held;		/* bytes of whole records */
	u64			 nr_records;
	u64			 oldest;	/* time of a record, in ns; 0: not known */
	u64			 newest;
};

/*
 * A namespace, with its members sorted into events and buffers. In both arrays the
 * side-band ones come last, see persistent_member__is_sideband().
 */
struct persistent_info {
	const char		*name;
	struct persistent_ns	*ns;		/* NULL: the caller may not open it */
	struct persistent_sorted sorted;
	struct persistent_event	*events;	/* in the order of sorted */
	int			nr_events;
	int			*event_of;	/* index of each member's event */
	struct persistent_ring	*rings;
	int			nr_rings;
	struct persistent_trigger *triggers;
	int			nr_triggers;
	struct perf_cpu_map	*online;	/* CPUs that are online */
	int			nr_cpus;	/* highest CPU number, plus 1 */
	unsigned long		*cpus;		/* of events that are not side-band */
	unsigned long		*offline;	/* CPUs of these that are offline */
	unsigned long		*missing;	/* online CPUs that lack an event */
	u64			buffer_bytes;
	u64			snapshot_bytes;	/* of its snapshots, once counted */
	u64			tasks_bytes;	/* of records of older tasks */
	u64			lost;
	u64			missed;
	u64			age;		/* ns */
	u64			now;		/* by the clock of the records; 0: not known */
};

int persistent_info__init(struct persistent_info *info, const char *name);
/*
 * Add up the snapshots. @names: NULL terminated, all namespaces. Snapshots that the caller may
 * not open, or that were deleted meanwhile, are not counted.
 */
void persistent_info__count_snapshots(struct persistent_info *info, char * const *names);
/* Memory of all kinds: buffers, spares, snapshots and records of older tasks */
u64 persistent_info__spare_bytes(const struct persistent_info *info);
u64 persistent_info__memory(const struct persistent_info *info);
void persistent_info__exit(struct persistent_info *info);

/* "on", "off", "partly off", "paused", "stopped" or "snapshot" */
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

/* Sum of all side-band buffers, or of all others. It is "seen" only if each of them is. */
struct persistent_ring persistent_info__sum(const struct persistent_info *info, bool sideband);

#endif /* __PERF_PERSISTENT_INFO_H */
