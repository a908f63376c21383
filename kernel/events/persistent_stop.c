// SPDX-License-Identifier: GPL-2.0
/*
 * A namespace that is stopped takes no more records: its buffers are frozen as they
 * are, until somebody asks to resume. A trigger can stop it in any context, an NMI or
 * panic() included, with one store for each member.
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
 * struct perf_stop_list - what there is to stop in a namespace
 * @rcu:	frees it
 * @nr:		number of events
 * @events:	those of its members; some have no buffer
 */
struct perf_stop_list {
	struct rcu_head		rcu;
	unsigned int		nr;
	struct perf_event	*events[] __counted_by(nr);
};

/**
 * perf_stop_now - freeze all buffers of a namespace
 * @ns:		the namespace; the caller has succeeded with perf_stop_prepare()
 *
 * Called in any context. No record begins afterwards, whichever buffer it is for; one
 * that has begun is completed within an RCU grace period.
 *
 * Return: false if the kernel does not know what there is to stop, as it had no memory
 * when members came.
 */
bool perf_stop_now(struct perf_persist_ns *ns)
{
	struct perf_stop_list *list;
	struct perf_buffer *rb;
	unsigned int i;

	guard(rcu)();
	list = rcu_dereference(ns->stop_list);
	if (!list)
		return false;

	/* Records that they do not take from here on are not lost. */
	for (i = 0; !READ_ONCE(ns->stopped) && i < list->nr; i++) {
		atomic64_set(&list->events[i]->member->lost_at_stop,
			     atomic64_read(&list->events[i]->lost_samples));
	}

	do {
		/* Pairs with smp_load_acquire() in perf_member_missed(). */
		smp_store_release(&ns->stopped, true);
		/* Pairs with those in swap_members() and follow_stop(). */
		smp_mb();
		/* A member that is not in the list by now sees that it is to be stopped. */
		list = rcu_dereference(ns->stop_list) ?: list;
		for (i = 0; i < list->nr; i++) {
			rb = READ_ONCE(list->events[i]->rb);
			if (rb)
				rb_freeze(rb);
		}
		/* Pairs with the one in resume(), which may undo half of it. */
		smp_mb();
	} while (!READ_ONCE(ns->stopped));
	return true;
}

/* Members came or left. -ENOMEM: the kernel does not know what to stop. */
static int update_stop_list(struct perf_persist_ns *ns)
{
	struct perf_stop_list *list = NULL, *old;
	struct perf_member *member;
	unsigned int nr;
	int ret = 0;

	assert_registry();
	if (ns->nr_stoppers) {
		nr = perf_persist_count_members(ns);
		list = kvzalloc(struct_size(list, events, nr), PERF_PERSIST_GFP);
		if (!list)
			ret = -ENOMEM;
	}
	if (list) {
		list->nr = nr;
		nr = 0;
		for_each_ns_member(member, ns)
			list->events[nr++] = member->event;
	}

	old = rcu_replace_pointer(ns->stop_list, list, lockdep_is_held(&perf_persist_lock));
	if (old)
		kvfree_rcu(old, rcu);
	return ret;
}

/**
 * perf_stop_prepare - somebody is going to stop a namespace
 * @ns:		the namespace, with the lock held
 *
 * Return: 0, then the caller calls perf_stop_unprepare() some time; or -ENOMEM.
 */
int perf_stop_prepare(struct perf_persist_ns *ns)
{
	int ret = 0;

	assert_registry();
	ns->nr_stoppers++;
	/* Also when there was no memory for the list at an earlier time. */
	if (!rcu_access_pointer(ns->stop_list))
		ret = update_stop_list(ns);
	if (ret)
		ns->nr_stoppers--;
	return ret;
}

/**
 * perf_stop_unprepare - the caller of perf_stop_prepare() stops the namespace no more
 * @ns:		the namespace, with the lock held
 */
void perf_stop_unprepare(struct perf_persist_ns *ns)
{
	assert_registry();
	if (!--ns->nr_stoppers)
		update_stop_list(ns);
}

/* Members came, or have other buffers. When the namespace is stopped, these are, too. */
static void follow_stop(struct perf_persist_ns *ns)
{
	struct perf_member *member;

	assert_registry();
	/* Pairs with the one in perf_stop_now(): one of us sees what the other did. */
	smp_mb();
	if (!READ_ONCE(ns->stopped))
		return;
	for_each_ns_member(member, ns) {
		if (member->rb)
			rb_freeze(member->rb);
	}
}

/* As perf_stop_now(), with the lock: what there is to stop is known. */
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

/* Records that @member did not write while it was stopped are not lost. */
static void count_missed(struct perf_member *member)
{
	u64 lost = atomic64_read(&member->event->lost_samples);

	/* A stop that comes before the next line finds it done up to here. */
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
	/* Pairs with the second one in perf_stop_now(): what it pauses now it pauses again. */
	smp_mb();
	for_each_ns_member(member, ns) {
		if (member->rb)
			rb_thaw(member->rb);
	}
	/* A trigger that has stopped some of them meanwhile wins. */
	follow_stop(ns);
}

/**
 * perf_stop_ioctl - PERF_EVENT_IOC_STOP and PERF_EVENT_IOC_RESUME
 * @ns:		the namespace, with a reference of the caller's
 * @do_stop:	which of the two
 *
 * Stopping what is stopped already, and resuming what is not, does nothing. After a stop
 * no record appears in any of the buffers. After a resume, those that
 * PERF_EVENT_IOC_PAUSE_OUTPUT has paused, before the stop or since, still take none. Called
 * without a lock, for a file that may be written to.
 *
 * Return: 0, or
 *  -EOPNOTSUPP	it is a snapshot
 *  -ENODEV	the namespace was deleted
 *  or what the LSM says
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

	/* Until records that had begun are complete, whoever stopped it. */
	if (!ret && do_stop)
		synchronize_rcu();
	return ret;
}

static void ns_members_changed(struct perf_persist_ns *ns)
{
	int ret = update_stop_list(ns);

	if (ret)
		pr_notice_ratelimited("perf: persistent/%s/ cannot be stopped by its triggers: %pe\n",
				      ns->name, ERR_PTR(ret));
}

/* A member that goes on without its namespace records again. */
static void ns_leaving(struct perf_leaving *leaving)
{
	struct perf_member *member = leaving->member;
	struct perf_persist_ns *ns = leaving->ns;

	assert_registry();
	if (!member || (!ns->nr_stoppers && !READ_ONCE(ns->stopped)))
		return;
	leaving->frozen = ring_buffer_get(member->event);
	if (READ_ONCE(ns->stopped))
		count_missed(member);
}

static void ns_left(struct perf_leaving *leaving)
{
	struct perf_buffer *rb = leaving->frozen;

	if (!rb)
		return;
	/* A trigger may be about to stop what is not on its list any more. */
	synchronize_rcu();
	/* The buffer of another member, or of one that joined again, is as its namespace is. */
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
	.members_changed	= ns_members_changed,
	.buffers_changed	= follow_stop,
};

static int __init perf_stop_init(void)
{
	perf_persist_listen(&stop_listener);
	return 0;
}
subsys_initcall(perf_stop_init);
