// SPDX-License-Identifier: GPL-2.0
/*
 * Stopping a namespace: the kernel freezes its buffers as they are, and writes no more
 * records to them until user space asks to resume. A trigger can stop a namespace in any
 * context, including NMIs and panic(), as it only walks over the members and takes no lock.
 */
#include <linux/init.h>
#include <linux/perf_event.h>
#include <linux/rculist.h>
#include <linux/rcupdate.h>

#include "internal.h"
#include "persistent.h"
#include "persistent_internal.h"

static void freeze_members(struct perf_persist_ns *ns)
{
	struct perf_member *member;
	struct perf_buffer *rb;

	list_for_each_entry_rcu(member, &ns->stop_members, stop_entry) {
		rb = READ_ONCE(member->event->rb);
		if (rb)
			rb_freeze(rb);
	}
}

/**
 * perf_stop_now - freeze all buffers of a namespace
 * @ns:		the namespace, with the lock held, or with a trigger that stops it
 *
 * Called in any context. Afterwards no record begins in any of the buffers. A record that
 * has begun is completed within an RCU grace period.
 */
void perf_stop_now(struct perf_persist_ns *ns)
{
	struct perf_member *member;

	guard(rcu)();
	/* Records that are not written from here on count as missed, not as lost. */
	if (!READ_ONCE(ns->stopped)) {
		list_for_each_entry_rcu(member, &ns->stop_members, stop_entry)
			atomic64_set(&member->lost_at_stop,
				     atomic64_read(&member->event->lost_samples));
	}

	do {
		/* Pairs with smp_load_acquire() in perf_member_missed(). */
		smp_store_release(&ns->stopped, true);
		/*
		 * Pairs with smp_mb() in swap_members() and follow_stop(), which sees
		 * ns->stopped if we miss a new member.
		 */
		smp_mb();
		freeze_members(ns);
		/* Pairs with smp_mb() in resume(), which may have thawed some of them. */
		smp_mb();
	} while (!READ_ONCE(ns->stopped));
}

/* Called when members came or got other buffers: if the namespace is stopped, freeze these. */
static void follow_stop(struct perf_persist_ns *ns)
{
	struct perf_member *member;

	assert_registry();
	/* Pairs with smp_mb() in perf_stop_now(): one of us sees what the other did. */
	smp_mb();
	if (!READ_ONCE(ns->stopped))
		return;
	for_each_ns_member(member, ns) {
		if (member->rb)
			rb_freeze(member->rb);
	}
}

/* Count records that @member did not write while it was stopped as missed, not as lost. */
static void count_missed(struct perf_member *member)
{
	u64 lost = atomic64_read(&member->event->lost_samples);

	/* perf_stop_now() relies on lost_at_stop if it finds ns->stopped already set. */
	member->missed += lost - atomic64_read(&member->lost_at_stop);
	atomic64_set(&member->lost_at_stop, lost);
}

/* A trigger may stop the namespace again at any time. Then what is frozen must stay so. */
static void thaw(struct perf_persist_ns *ns, struct perf_buffer *rb)
{
	guard(preempt)();
	if (READ_ONCE(ns->stopped))
		return;
	rb_thaw(rb);
	/* Pairs with the first smp_mb() in perf_stop_now(). */
	smp_mb();
	if (READ_ONCE(ns->stopped))
		rb_freeze(rb);
}

static void resume(struct perf_persist_ns *ns)
{
	struct perf_member *member;

	assert_registry();
	for_each_ns_member(member, ns)
		count_missed(member);
	WRITE_ONCE(ns->stopped, false);
	/* Pairs with the second smp_mb() in perf_stop_now(), which freezes them once more. */
	smp_mb();
	for_each_ns_member(member, ns) {
		if (member->rb)
			thaw(ns, member->rb);
		/* Those that came since the first loop were not lost, either. */
		count_missed(member);
	}
}

/**
 * perf_stop_or_resume - freeze the buffers of a namespace, or let them record again
 * @ns:		the namespace, on which the caller has a reference
 * @do_stop:	true to stop, false to resume
 *
 * Stopping a stopped namespace does nothing, nor does resuming one that is not stopped.
 * After a stop, no record appears in any of the buffers. After a resume, buffers that
 * PERF_EVENT_IOC_PAUSE_OUTPUT has paused, before the stop or since, remain paused. Called
 * without a lock, for a file that is open for writing.
 *
 * Return: 0, or
 *  -EOPNOTSUPP	@ns is a snapshot
 *  -ENODEV	the namespace was deleted
 *  -EINTR	the task is killed
 *  or an error of the LSM
 */
long perf_stop_or_resume(struct perf_persist_ns *ns, bool do_stop)
{
	long ret;

	if (is_snapshot(ns))
		return -EOPNOTSUPP;

	mutex_lock(&perf_persist_lock);
	ret = perf_persist_settle_killable(ns);
	if (!ret)
		ret = ns->unlinked ? -ENODEV : perf_persist_may_write(ns);
	if (!ret && do_stop != READ_ONCE(ns->stopped)) {
		if (do_stop)
			perf_stop_now(ns);
		else
			resume(ns);
		perf_persist_changed(ns);
	}
	mutex_unlock(&perf_persist_lock);

	/* Wait for records that had begun, even if a trigger stopped the namespace. */
	if (!ret && do_stop)
		synchronize_rcu();
	return ret;
}

/* A member that leaves a stopped namespace, and lives on, must record again. */
static void ns_leaving(struct perf_leaving *leaving)
{
	struct perf_member *member = leaving->member;
	struct perf_persist_ns *ns = leaving->ns;
	struct perf_buffer *rb;

	assert_registry();
	if (!member)
		return;
	if (!ns->nr_stoppers && !READ_ONCE(ns->stopped))
		return;
	if (READ_ONCE(ns->stopped))
		count_missed(member);
	rb = ring_buffer_get(member->event);
	/* Another member keeps the buffer: what freezes it may go on doing so. */
	if (rb && perf_persist_buffer_owner(ns, rb)) {
		ring_buffer_put(rb);
		return;
	}
	leaving->stoppable = true;
	leaving->frozen = rb;
}

static void ns_left(struct perf_leaving *leaving)
{
	struct perf_buffer *rb = leaving->frozen;

	if (!leaving->stoppable)
		return;
	/* It may have got a buffer meanwhile. If it gets one later, see perf_member_remove(). */
	if (!rb)
		rb = ring_buffer_get(leaving->member->event);
	if (!rb)
		return;
	/* A trigger may have found the member before it left, and be about to freeze the buffer. */
	synchronize_rcu();
	/* If a member still has the buffer, or has joined again, its namespace decides. */
	scoped_guard(mutex, &perf_persist_lock) {
		if (!rb->owner || !READ_ONCE(rb->owner->ns->stopped))
			rb_thaw(rb);
		if (rb->owner)
			follow_stop(rb->owner->ns);
	}
	ring_buffer_put(rb);
}

static struct perf_persist_listener stop_listener = {
	.leaving		= ns_leaving,
	.left			= ns_left,
	.buffers_changed	= follow_stop,
};

static int __init perf_stop_init(void)
{
	perf_persist_listen(&stop_listener);
	return 0;
}
subsys_initcall(perf_stop_init);
