/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The members of snapshots, and the interface of persistent_spare.c.
 */
#ifndef _KERNEL_EVENTS_PERSISTENT_SNAPSHOT_H
#define _KERNEL_EVENTS_PERSISTENT_SNAPSHOT_H

#include "persistent_internal.h"

/**
 * struct perf_snapshot_member - a member of a snapshot
 * @m:		the generic part, with the buffer: until the swap, the empty one
 * @live:	the member that this is a snapshot of; valid as long as members_seq of
 *		the namespace and of the snapshot are the same
 * @output:	the snapshot member that has the buffer which @live writes to, or NULL
 * @next_writer: the next one with the same @output, in any order; the list starts at
 *		@output. While allocating: the next unused one
 * @own:	it is its own @output
 * @copy:	copy the buffer: @live goes on writing to it
 * @others:	events that are no members still wrote to the old buffer after the swap
 * @nr_pages:	data pages of the buffer that @live is going to have
 * @buffer_size: bytes of the data area of the old buffer
 * @seq:	perf_buffer::seq of the old buffer
 * @head:	final head of the old buffer; if it is copied: the head after copying
 * @lost:	records that @live had lost
 * @missed:	records that @live did not write while it was stopped
 * @cgroup_id:	id of the cgroup that @live records, or 0
 * @label:	perf_member::label points to it
 */
struct perf_snapshot_member {
	struct perf_member		m;
	struct perf_member		*live;
	struct perf_snapshot_member	*output;
	struct perf_snapshot_member	*next_writer;
	bool				own;
	bool				copy;
	bool				others;
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
 * struct perf_snapshot_sizes - new sizes for the buffers of some members
 * @sizes:	the sizes, of members that have their own buffer
 * @nr:		number of @sizes
 */
struct perf_snapshot_sizes {
	struct perf_event_buffer_size	*sizes;
	unsigned int			nr;
};

/* persistent_spare.c */
void perf_snapshot_remove(struct list_head *snaps);
int perf_snapshot_alloc_buffers(struct perf_persist_ns *snap, bool tell);
bool perf_snapshot_is_mapped(struct perf_persist_ns *snap);
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
