/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of snapshots know of each other.
 */
#ifndef _KERNEL_EVENTS_PERSISTENT_SNAPSHOT_H
#define _KERNEL_EVENTS_PERSISTENT_SNAPSHOT_H

#include "persistent_internal.h"

/**
 * struct perf_snapshot_member - a member of a snapshot
 * @m:		with the buffer, which is an empty one until it is swapped
 * @live:	the member that it is of; valid as long as members_seq of the
 *		namespace is that of the snapshot
 * @output:	the one that has the buffer which this one wrote to, or NULL
 * @next_writer: another one with the same @output, from that on, in any order; of
 *		those that are prepared, any other
 * @own:	it is its own @output
 * @copy:	the buffer is copied: @live goes on writing to it
 * @nr_pages:	of the buffer that @live is going to have
 * @buffer_size: of the old one, bytes of its data area
 * @seq:	of the old one
 * @head:	of the old one, final
 * @lost:	records that @live had lost
 * @missed:	records that it had not taken while it was stopped
 * @cgroup_id:	of the cgroup that @live is for, or 0
 * @label:	what perf_member::label points to
 */
struct perf_snapshot_member {
	struct perf_member		m;
	struct perf_member		*live;
	struct perf_snapshot_member	*output;
	struct perf_snapshot_member	*next_writer;
	bool				own;
	bool				copy;
	unsigned long			nr_pages;
	u64				buffer_size;
	u64				seq;
	u64				head;
	u64				lost;
	u64				missed;
	u64				cgroup_id;
	char				label[PERF_PERSIST_NAME_SIZE];
};

#define to_snapshot_member(_member)	container_of((_member), struct perf_snapshot_member, m)

#define for_each_snapshot_member(_sm, _member, _snap)				\
	for ((_member) = first_member(_snap);					\
	     (_sm) = (_member) ? to_snapshot_member(_member) : NULL, (_sm);	\
	     (_member) = following_member(_member))

/**
 * struct perf_snapshot_sizes - how large the buffers of some members are to be
 * @sizes:	of members that have one of their own
 * @nr:		how many these are
 */
struct perf_snapshot_sizes {
	struct perf_event_buffer_size	*sizes;
	unsigned int			nr;
};

/* persistent_spare.c */
void perf_snapshot_remove(struct list_head *snaps);
int perf_snapshot_alloc_buffers(struct perf_persist_ns *snap);
bool perf_snapshot_reuse(struct perf_persist_ns *snap, struct perf_persist_ns *old);
bool perf_snapshot_reuse_trimmed(struct perf_persist_ns *snap);
void perf_snapshot_renew(struct perf_persist_ns *snap);
struct perf_persist_ns *perf_snapshot_prepare(struct perf_persist_ns *ns,
					      const struct perf_snapshot_sizes *sizes);
struct perf_persist_ns *perf_snapshot_take_spare(struct perf_persist_ns *ns,
						 struct list_head *stale);
void perf_snapshot_free_spares(struct list_head *spares);
void perf_snapshot_queue_work(struct perf_persist_ns *ns);
long perf_snapshot_set_spares(struct perf_persist_ns *ns, unsigned int nr);

#endif /* _KERNEL_EVENTS_PERSISTENT_SNAPSHOT_H */
