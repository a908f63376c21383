// SPDX-License-Identifier: GPL-2.0
/*
 * Stopping a namespace: the kernel freezes its buffers as they are, and writes no more
 * records to them until user space asks to resume. A trigger can stop a namespace in any
 * context, including NMIs and panic(), with one store for each member.
 */
#include <linux/init.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/perf_event.h>
#include <linux/printk.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "internal.h"
#include "persistent.h"
#include "persistent_internal.h"

/**
 * struct perf_stop_list - the events of a namespace that a trigger can stop
 * @rcu:	frees it
 * @partial:	members came that are not in the list, as there was no memory for a new one
 * @nr:		number of events
 * @events:	the events of all members, some without a buffer; NULL: it has left
 */
struct perf_stop_list {
	struct rcu_head		rcu;
	bool			partial;
	unsigned int		nr;
	struct perf_event	*events[] __counted_by(nr);
};

/**
 * perf_stop_now - freeze all buffers of a namespace
 * @ns:		the namespace; the caller has succeeded with perf_stop_prepare()
 *
 * Called in any context. Afterwards no record begins in any of the buffers. A record that
 * has begun is completed within an RCU grace period.
 *
 * Return: false if some events could not be stopped, as there was no memory for a list of them
 * when members came. perf_stop_rest() stops these.
 */
bool perf_stop_now(struct perf_persist_ns *ns)
{
	struct perf_stop_list *list;
	struct perf_event *event;
	struct perf_buffer *rb;
	unsigned int i;

	guard(rcu)();
	list = rcu_dereference(ns->stop_list);
	if (!list)
		return false;

	/* Records that are not written from here on count as missed, not as lost. */
	for (i = 0; !READ_ONCE(ns->stopped) && i < list->nr; i++) {
		event = READ_ONCE(list->events[i]);
		if (event)
			atomic64_set(&event->member->lost_at_stop,
				     atomic64_read(&event->lost_samples));
	}

	do {
		/* Pairs with smp_load_acquire() in perf_member_missed(). */
		smp_store_release(&ns->stopped, true);
		/* Pairs with smp_mb() in swap_members() and follow_stop(). */
		smp_mb();
		/* For a member that is not in this list, follow_stop() sees ns->stopped. */
		list = rcu_dereference(ns->stop_list) ?: list;
		for (i = 0; i < list->nr; i++) {
			event = READ_ONCE(list->events[i]);
			rb = event ? READ_ONCE(event->rb) : NULL;
			if (rb)
				rb_freeze(rb);
		}
		/* Pairs with smp_mb() in resume(), which may have thawed some of them. */
		smp_mb();
	} while (!READ_ONCE(ns->stopped));
	return !READ_ONCE(list->partial);
}

static struct perf_stop_list *locked_stop_list(struct perf_persist_ns *ns)
{
	return rcu_dereference_protected(ns->stop_list, lockdep_is_held(&perf_persist_lock));
}

/*
 * There is no memory for a new list: take out of the old one what has left. Returns -ENOMEM
 * if it lacks members.
 */
static int shrink_stop_list(struct perf_persist_ns *ns)
{
	struct perf_stop_list *list = locked_stop_list(ns);
	unsigned int i, nr = 0;

	if (!list)
		return -ENOMEM;
	for (i = 0; i < list->nr; i++) {
		struct perf_event *event = list->events[i];

		/* The event of a member that leaves is freed a grace period later. */
		if (event && !perf_persist_find_member(ns, event->id))
			WRITE_ONCE(list->events[i], NULL);
		nr += !!list->events[i];
	}
	if (nr == perf_persist_count_members(ns))
		return 0;
	WRITE_ONCE(list->partial, true);
	return -ENOMEM;
}

/*
 * Called when members came or left. Returns -ENOMEM if triggers cannot stop all of them at
 * once.
 */
static int update_stop_list(struct perf_persist_ns *ns)
{
	struct perf_stop_list *list = NULL, *old;
	struct perf_member *member;
	unsigned int nr;

	assert_registry();
	if (ns->nr_stoppers) {
		nr = perf_persist_count_members(ns);
		list = kvzalloc(struct_size(list, events, nr), PERF_PERSIST_GFP);
		if (!list)
			return shrink_stop_list(ns);
		list->nr = nr;
		nr = 0;
		for_each_ns_member(member, ns) {
			list->events[nr++] = member->event;
			member->listed = true;
		}
	}

	old = rcu_replace_pointer(ns->stop_list, list, lockdep_is_held(&perf_persist_lock));
	if (old)
		kvfree_rcu(old, rcu);
	return 0;
}

/**
 * perf_stop_prepare - prepare perf_stop_now() for a namespace
 * @ns:		the namespace, with the lock held
 *
 * Return: 0, and the caller must call perf_stop_unprepare() later; or -ENOMEM.
 */
int perf_stop_prepare(struct perf_persist_ns *ns)
{
	struct perf_stop_list *list = locked_stop_list(ns);
	int ret = 0;

	assert_registry();
	ns->nr_stoppers++;
	/* Also try again if there was no memory for a list of all members. */
	if (!list || list->partial)
		ret = update_stop_list(ns);
	if (ret)
		ns->nr_stoppers--;
	return ret;
}

/**
 * perf_stop_unprepare - undo perf_stop_prepare()
 * @ns:		the namespace, with the lock held
 */
void perf_stop_unprepare(struct perf_persist_ns *ns)
{
	assert_registry();
	if (!--ns->nr_stoppers)
		update_stop_list(ns);
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

/* Like perf_stop_now(), but the caller holds the lock, so this does not need the list. */
static void stop(struct perf_persist_ns *ns)
{
	struct perf_member *member;

	assert_registry();
	for_each_ns_member(member, ns)
		atomic64_set(&member->lost_at_stop, atomic64_read(&member->event->lost_samples));
	/* Pairs with smp_load_acquire() in perf_member_missed(). */
	smp_store_release(&ns->stopped, true);
	follow_stop(ns);
}

/**
 * perf_stop_rest - stop the events that perf_stop_now() could not stop
 * @ns:		the namespace, with the lock held
 *
 * What they could not write until now counts as lost, not as missed.
 */
void perf_stop_rest(struct perf_persist_ns *ns)
{
	struct perf_member *member;

	assert_registry();
	/* Somebody may have resumed it. */
	if (!READ_ONCE(ns->stopped))
		return;
	for_each_ns_member(member, ns) {
		if (!member->listed)
			atomic64_set(&member->lost_at_stop,
				     atomic64_read(&member->event->lost_samples));
	}
	follow_stop(ns);
	/* There may be memory for a list of all members now. */
	update_stop_list(ns);
}

/* Count records that @member did not write while it was stopped as missed, not as lost. */
static void count_missed(struct perf_member *member)
{
	u64 lost = atomic64_read(&member->event->lost_samples);

	/* perf_stop_now() relies on lost_at_stop if it finds ns->stopped already set. */
	member->missed += lost - atomic64_read(&member->lost_at_stop);
	atomic64_set(&member->lost_at_stop, lost);
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
			rb_thaw(member->rb);
	}
	/* If a trigger has stopped the namespace meanwhile, the stop wins. */
	follow_stop(ns);
}

/**
 * perf_stop_ioctl - PERF_EVENT_IOC_STOP and PERF_EVENT_IOC_RESUME
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
 *  or an error of the LSM
 */
long perf_stop_ioctl(struct perf_persist_ns *ns, bool do_stop)
{
	long ret = -ENODEV;

	if (is_snapshot(ns))
		return -EOPNOTSUPP;

	mutex_lock(&perf_persist_lock);
	perf_persist_settle(ns);
	if (!ns->unlinked)
		ret = perf_persist_may_write(ns);
	if (!ret && do_stop != READ_ONCE(ns->stopped)) {
		if (do_stop)
			stop(ns);
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

static void ns_members_changed(struct perf_persist_ns *ns)
{
	int ret = update_stop_list(ns);

	if (ret)
		pr_notice_ratelimited("perf: persistent/%s/: its triggers stop new events late: %pe\n",
				      ns->name, ERR_PTR(ret));
}

/* A member that leaves a stopped namespace, and lives on, must record again. */
static void ns_leaving(struct perf_leaving *leaving)
{
	struct perf_member *member = leaving->member;
	struct perf_persist_ns *ns = leaving->ns;

	assert_registry();
	if (!member)
		return;
	member->listed = false;
	if (!ns->nr_stoppers && !READ_ONCE(ns->stopped))
		return;
	leaving->stoppable = true;
	leaving->frozen = ring_buffer_get(member->event);
	if (READ_ONCE(ns->stopped))
		count_missed(member);
}

/* If a member still has the buffer, or has joined again, its namespace decides. */
static void thaw_left(struct perf_buffer *rb)
{
	if (!rb)
		return;
	scoped_guard(mutex, &perf_persist_lock) {
		if (!rb->owner || !READ_ONCE(rb->owner->ns->stopped))
			rb_thaw(rb);
		if (rb->owner)
			follow_stop(rb->owner->ns);
	}
	ring_buffer_put(rb);
}

static void ns_left(struct perf_leaving *leaving)
{
	if (!leaving->stoppable)
		return;
	/*
	 * A trigger may still use the old list, and be about to freeze the buffer of the event,
	 * which may have got another one meanwhile.
	 */
	synchronize_rcu();
	thaw_left(leaving->frozen);
	thaw_left(ring_buffer_get(leaving->member->event));
}

static struct perf_persist_listener stop_listener = {
	.leaving		= ns_leaving,
	.left			= ns_left,
	.members_changed	= ns_members_changed,
	.buffers_changed	= follow_stop,
};

static int __init perf_stop_init(void)
{
	perf_persist_listen(&stop_listener);
	return 0;
}
subsys_initcall(perf_stop_init);
