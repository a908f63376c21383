// SPDX-License-Identifier: GPL-2.0
/*
 * Members: the state that an event needs so that a namespace can keep it.
 *
 * Each event of a CPU has a struct perf_member from the start. The openers of an event are
 * its files and the namespace that holds it. The last opener frees the event.
 */
#include <linux/cgroup.h>
#include <linux/init.h>
#include <linux/irq_work.h>
#include <linux/llist.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/rbtree.h>
#include <linux/rculist.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/sysctl.h>
#include <linux/trace_events.h>
#include <linux/workqueue.h>

#include "internal.h"
#include "persistent.h"
#include "persistent_internal.h"
#include "read.h"

/*
 * sysctl kernel.perf_event_max_persistent: neither RLIMIT_NOFILE nor a memory cgroup limits
 * the number of events that no process has open.
 */
static unsigned int sysctl_perf_event_max_persistent __read_mostly = 65536;
static unsigned int perf_persist_nr_held; /* reserved members, under perf_persist_lock */

/*
 * Writers of perf_member::attr hold event->ctx->mutex, too. Readers that hold
 * perf_persist_lock cannot take that, see its fifth rule, so they take this lock.
 */
static DEFINE_SPINLOCK(perf_member_attr_lock);

/**
 * perf_persist_reserve_members - count members that are going to be held
 * @nr:		how many more
 *
 * Return: 0, or -ENOSPC: over the limit kernel.perf_event_max_persistent.
 */
int perf_persist_reserve_members(unsigned int nr)
{
	unsigned int max = READ_ONCE(sysctl_perf_event_max_persistent);

	assert_registry();
	if (nr > max || perf_persist_nr_held > max - nr)
		return -ENOSPC;

	perf_persist_nr_held += nr;
	return 0;
}

/**
 * perf_persist_unreserve_members - undo perf_persist_reserve_members()
 * @nr:		how many
 */
void perf_persist_unreserve_members(unsigned int nr)
{
	assert_registry();
	perf_persist_nr_held -= nr;
}

#ifdef CONFIG_SYSCTL
static struct ctl_table perf_persistent_sysctls[] = {
	{
		.procname	= "perf_event_max_persistent",
		.data		= &sysctl_perf_event_max_persistent,
		.maxlen		= sizeof(sysctl_perf_event_max_persistent),
		.mode		= 0644,
		.proc_handler	= proc_douintvec_minmax,
		.extra1		= SYSCTL_ZERO,
		.extra2		= SYSCTL_INT_MAX,
	},
};

static int __init perf_member_init(void)
{
	register_sysctl_init("kernel", perf_persistent_sysctls);
	return 0;
}
subsys_initcall(perf_member_init);
#endif

/*
 * The member of an event
 */

static struct kmem_cache *perf_member_cache __ro_after_init;

static int __init perf_member_cache_init(void)
{
	perf_member_cache = KMEM_CACHE(perf_member, SLAB_PANIC);
	return 0;
}
early_initcall(perf_member_cache_init);

/**
 * perf_persistent_event_init - allocate the struct perf_member of a new CPU event
 * @event:	an event that nobody else can see yet
 * @attr:	what the user passed, as perf_copy_attr() left it
 *
 * Called by perf_event_open() for events that are not tied to a task, without a lock. Its
 * new file is the first opener. perf_member_make() calls it for events without a file.
 *
 * Return: 0, or -ENOMEM.
 */
int perf_persistent_event_init(struct perf_event *event, const struct perf_event_attr *attr)
{
	struct perf_member *member;

	member = kmem_cache_zalloc(perf_member_cache, GFP_KERNEL);
	if (!member)
		return -ENOMEM;

	member->event = event;
	member->attr = *attr;
	perf_member_set_needs(member);
	refcount_set(&member->openers, 1);
	member->left = get_completed_synchronize_rcu();
	event->member = member;
	return 0;
}

/**
 * perf_persistent_event_free - undo perf_persistent_event_init()
 * @event:	an event that nobody can see any more
 *
 * Called from an RCU callback, without a lock.
 */
void perf_persistent_event_free(struct perf_event *event)
{
	struct perf_member *member = event->member;

	if (!member)
		return;

	/* Remains set after a deletion. Matches get_persist_ns() in perf_member_add(). */
	if (member->ns)
		perf_persist_put(member->ns);
	kfree(member->filter);
	kfree(member->name); /* or member->absent */
	kfree(member->label);
	perf_format_put(member->format);
	kfree(member->action); /* if it was made for a new CPU, but never added */
	kmem_cache_free(perf_member_cache, member);
}

/**
 * perf_member_set_state - change the state of a member
 * @member:	the member, with the lock held
 * @state:	the new state; mmap() and SET_OUTPUT read it with mmap_mutex held
 */
void perf_member_set_state(struct perf_member *member, enum perf_member_state state)
{
	assert_registry();
	mutex_lock(&member->event->mmap_mutex);
	WRITE_ONCE(member->state, state);
	mutex_unlock(&member->event->mmap_mutex);
}

/**
 * perf_member_add - add an event to a namespace
 * @ns:		the namespace, with the lock held
 * @member:	the member of the event, which nobody else is adding
 */
void perf_member_add(struct perf_persist_ns *ns, struct perf_member *member)
{
	assert_registry();

	member->ns = get_persist_ns(ns);
	atomic64_set(&member->lost_at_stop, atomic64_read(&member->event->lost_samples));
	/* Other members may have records from before, and its CPU may be online since then. */
	if (ns->published)
		atomic64_set(&member->complete_since, perf_member_is_enabled(member) ?
						      member->event->clock() : U64_MAX);
	rb_add(&member->node, &ns->members, perf_member_less);
	list_add_tail_rcu(&member->stop_entry, &ns->stop_members);
	perf_member_set_state(member, PERF_MEMBER_JOINED);
	member->kept = !member->for_trigger || READ_ONCE(member->event->rb);
	perf_persist_members_changed(ns, member->kept);
	perf_persist_changed(ns);
}

/**
 * perf_member_remove - take an event out of a namespace that is not being deleted
 * @member:	the member of the event, with the lock held, no longer held by the namespace
 *
 * Return: the namespace if that was its last member: it is unlinked now, and the caller
 * must call perf_persist_remove(); otherwise NULL.
 */
struct perf_persist_ns *perf_member_remove(struct perf_member *member)
{
	struct perf_persist_ns *ns = member->ns;
	struct perf_event *event = member->event;
	bool last;

	assert_registry();

	rb_erase(&member->node, &ns->members);
	mutex_lock(&event->mmap_mutex);
	list_del_rcu(&member->stop_entry);
	member->left = get_state_synchronize_rcu();
	/*
	 * perf_stop_now() may still be looking at it: have ring_buffer_attach() wait before it
	 * gets a buffer.
	 */
	if (!event->rb) {
		event->rcu_batches = member->left;
		event->rcu_pending = 1;
	}
	mutex_unlock(&event->mmap_mutex);
	perf_persist_members_changed(ns, member->kept);
	member->ns = NULL;
	/*
	 * Pairs with smp_load_acquire() in leave_unpublished(), whose caller may free the
	 * event now.
	 */
	smp_store_release(&member->state, PERF_MEMBER_NONE);

	last = RB_EMPTY_ROOT(&ns->members) && !perf_persist_is_reserved(ns);
	if (last)
		perf_persist_unlink(ns);
	else
		perf_persist_changed(ns);

	perf_persist_put(ns); /* Matches get_persist_ns() in perf_member_add(), not the last */
	return last ? ns : NULL;
}

/*
 * The state of a member
 */

/**
 * perf_is_member - is an event in a namespace, also in one that was deleted
 * @event:	the event
 *
 * While event->ctx->mutex is held, false stays false.
 *
 * Return: true if so, or if it is joining or leaving one.
 */
bool perf_is_member(struct perf_event *event)
{
	return event->member && READ_ONCE(event->member->state) != PERF_MEMBER_NONE;
}

/* True while the CPU is offline, until the event is put back; and after a deletion */
static bool is_detached(struct perf_event *event)
{
	return !(READ_ONCE(event->attach_state) & PERF_ATTACH_CONTEXT);
}

/**
 * perf_member_is_offline - is the CPU of a member offline
 * @member:	the member
 *
 * Return: true if so. Without event->ctx->mutex, this may have changed already.
 */
bool perf_member_is_offline(struct perf_member *member)
{
	struct perf_event *event = member->event;

	return READ_ONCE(event->state) > PERF_EVENT_STATE_EXIT && is_detached(event);
}

/**
 * perf_member_is_enabled - is a member enabled
 * @member:	the member
 *
 * Return: true if so, or if it will be enabled when its CPU is back.
 */
bool perf_member_is_enabled(struct perf_member *member)
{
	if (perf_member_is_offline(member))
		return READ_ONCE(member->wanted);

	return READ_ONCE(member->event->state) > PERF_EVENT_STATE_OFF;
}

/**
 * perf_event_pmu - the PMU of an event, if it still has one
 * @event:	the event, whose mmap_mutex is held
 *
 * A driver that takes its PMU away from events first says so in their state, and takes
 * mmap_mutex before the PMU is gone.
 *
 * Return: the PMU, which stays while the lock is held, or NULL.
 */
struct pmu *perf_event_pmu(struct perf_event *event)
{
	lockdep_assert_held(&event->mmap_mutex);
	return READ_ONCE(event->state) < PERF_EVENT_STATE_EXIT ? NULL : event->pmu;
}

/**
 * perf_member_copy_attr - copy the attributes as the creator passed them and changed them
 * @attr:	where to
 * @member:	the member, with the lock held or an opener
 */
void perf_member_copy_attr(struct perf_event_attr *attr, struct perf_member *member)
{
	spin_lock(&perf_member_attr_lock);
	*attr = member->attr;
	spin_unlock(&perf_member_attr_lock);
}

/**
 * perf_member_name - the kernel's name for the event of a member
 * @member:	the member, with the lock held
 * @name:	out: SYSTEM:EVENT of a tracepoint, or the name of the PMU; the label if the
 *		member is in a snapshot or the PMU is gone; truncated to @size
 * @size:	size of @name
 */
void perf_member_name(struct perf_member *member, char *name, size_t size)
{
	struct perf_event *event = member->event;
	struct pmu *pmu;

	assert_registry();
	if (is_snapshot(member->ns)) {
		scnprintf(name, size, "%s", member->label ?: "");
		return;
	}
#ifdef CONFIG_EVENT_TRACING
	if (event->tp_event) {
		scnprintf(name, size, "%s:%s", event->tp_event->class->system,
			  trace_event_name(event->tp_event));
		return;
	}
#endif
	mutex_lock(&event->mmap_mutex);
	pmu = perf_event_pmu(event);
	scnprintf(name, size, "%s", pmu ? pmu->name : member->label ?: "");
	mutex_unlock(&event->mmap_mutex);
}

/**
 * perf_member_missed - how many records were not written while the namespace was stopped
 * @member:	the member, with the lock held
 *
 * perf_event::lost_samples counts them, too, but they are not lost: nobody wanted them.
 *
 * Return: the number.
 */
u64 perf_member_missed(struct perf_member *member)
{
	u64 missed = member->missed;

	/* Pairs with smp_store_release() in perf_stop_now(). */
	if (smp_load_acquire(&member->ns->stopped))
		missed += atomic64_read(&member->event->lost_samples) -
			  atomic64_read(&member->lost_at_stop);
	return missed;
}

/**
 * perf_member_lost - how many records a member has lost
 * @member:	the member, with the lock held
 * @missed:	perf_member_missed(), from a moment ago
 *
 * Return: the number, without the records of perf_member_missed().
 */
u64 perf_member_lost(struct perf_member *member, u64 missed)
{
	u64 lost = atomic64_read(&member->event->lost_samples);

	return lost > missed ? lost - missed : 0;
}

/**
 * perf_member_cgroup_id - the cgroup of a cgroup event
 * @member:	the member, which is in no snapshot, with the lock held
 *
 * Return: id of the cgroup; 0 if the event has none, or its namespace was deleted.
 */
u64 perf_member_cgroup_id(struct perf_member *member)
{
	assert_registry();
#ifdef CONFIG_CGROUP_PERF
	/* perf_event_revoke() drops event->cgrp of a deleted member. */
	if (READ_ONCE(member->state) != PERF_MEMBER_DELETED && member->event->cgrp)
		return cgroup_id(member->event->cgrp->css.cgroup);
#endif
	return 0;
}

/**
 * perf_persistent_changed - an event was changed in a way that a listing shows
 * @event:	the event
 *
 * Wakes up readers that poll its namespace. Takes perf_persist_lock.
 */
void perf_persistent_changed(struct perf_event *event)
{
	if (!perf_is_member(event))
		return;

	mutex_lock(&perf_persist_lock);
	if (event->member->ns)
		perf_persist_changed(event->member->ns);
	mutex_unlock(&perf_persist_lock);
}

/*
 * Openers
 */

static void detach_cgroup(struct perf_event *event)
{
#ifdef CONFIG_CGROUP_PERF
	struct perf_event_context *ctx;

	if (!event->cgrp)
		return;
	/* ioctl() and mmap() read the time of the cgroup under these locks. */
	ctx = perf_event_ctx_lock(event);
	mutex_lock(&event->mmap_mutex);
	css_put(&event->cgrp->css);
	event->cgrp = NULL;
	mutex_unlock(&event->mmap_mutex);
	perf_event_ctx_unlock(event, ctx);
#endif
}

/**
 * perf_event_revoke - release everything that an event uses, except its memory
 * @event:	the event, which is in no context any more
 *
 * _free_event() has none of this left to release. Processes that still have it open can
 * no longer use its PMU, tracepoint or breakpoint. Called without a lock.
 */
void perf_event_revoke(struct perf_event *event)
{
	irq_work_sync(&event->pending_irq);
	irq_work_sync(&event->pending_disable_irq);
	/* First: until then, whoever unregisters the PMU may write attach_state, too. */
	perf_event_revoke_pmu(event);
	unaccount_event(event);
	detach_cgroup(event);
	if (event->attach_state & PERF_ATTACH_CALLCHAIN)
		put_callchain_buffers();
	event->attach_state &= ~PERF_ATTACH_CALLCHAIN;
}

/**
 * perf_persistent_released - the last opener of an event is gone
 * @event:	the event, which is in no context any more
 *
 * Snapshots may still have references. They need only its ids, and its LSM state.
 */
void perf_persistent_released(struct perf_event *event)
{
	struct perf_member *member = event->member;

	if (!member || member->revoked || atomic_long_read(&event->refcount) == 1)
		return;
	perf_event_revoke(event);
	/* Without a lock: it is in no namespace, so nobody else writes the bit field. */
	member->revoked = true;
}

/**
 * perf_persistent_is_revoked - is only the memory of an event left
 * @event:	the event, which the caller is releasing or freeing
 *
 * Return: true if so.
 */
bool perf_persistent_is_revoked(struct perf_event *event)
{
	return event->member && event->member->revoked;
}

/**
 * perf_persist_put_opener - drop an opener of an event; the last one frees the event
 * @event:	the event
 *
 * Called without a lock.
 */
void perf_persist_put_opener(struct perf_event *event)
{
	if (perf_persistent_last_opener(event))
		perf_event_release_kernel(event);
}

/* @member has lost its last opener. If it is in a namespace without a name, take it out. */
static void leave_unpublished(struct perf_member *member)
{
	struct perf_persist_ns *gone = NULL;

	/*
	 * Nobody is left who could make it join a namespace. Pairs with
	 * smp_store_release() in perf_member_remove(), which may run for it now.
	 */
	if (smp_load_acquire(&member->state) == PERF_MEMBER_NONE)
		return;

	mutex_lock(&perf_persist_lock);
	if (member->state == PERF_MEMBER_JOINED)
		gone = perf_member_remove(member);
	mutex_unlock(&perf_persist_lock);

	if (gone)
		perf_persist_remove(gone);
}

/**
 * perf_persistent_last_opener - drop an opener, and tell whether it was the last one
 * @event:	the event
 *
 * Openers are its files, and the namespace that holds it. Takes
 * perf_persist_lock, unless @event is in no namespace and nobody else has it open.
 *
 * Return: true if the caller was the last opener, and must release @event;
 * otherwise it must not touch @event again.
 */
bool perf_persistent_last_opener(struct perf_event *event)
{
	struct perf_member *member = event->member;

	/* An event of a task: it has only one file. */
	if (!member)
		return true;

	/* Any other opener can publish it at any time, also again after a claim. */
	if (READ_ONCE(member->state) != PERF_MEMBER_NONE || refcount_read(&member->openers) > 1) {
		bool held, last;

		/* While we have the lock, a namespace that holds it remains an opener. */
		mutex_lock(&perf_persist_lock);
		held = member->held && member->state == PERF_MEMBER_PUBLISHED;
		last = refcount_dec_and_test(&member->openers);
		if (held)
			perf_persist_opener_gone(member);
		mutex_unlock(&perf_persist_lock);
		if (!last)
			return false;
	} else if (!refcount_dec_and_test(&member->openers)) {
		return false;
	}

	leave_unpublished(member);
	return true;
}

static LLIST_HEAD(perf_member_deferred);

static void put_deferred(struct work_struct *work)
{
	struct llist_node *deferred = llist_del_all(&perf_member_deferred);
	struct perf_member *member, *next;

	llist_for_each_entry_safe(member, next, deferred, deferred) {
		leave_unpublished(member);
		perf_event_release_kernel(member->event);
	}
}

static DECLARE_WORK(perf_member_put_work, put_deferred);

/**
 * perf_member_put_deferred - drop an opener where the caller cannot free the event
 * @member:	the member
 *
 * Freeing an event takes cpu_hotplug_lock for static keys. A worker does it for callers
 * that hold this lock already. Takes perf_persist_lock.
 */
void perf_member_put_deferred(struct perf_member *member)
{
	bool held, last;

	mutex_lock(&perf_persist_lock);
	/* While we have the lock, a namespace that holds it remains an opener. */
	held = member->held && member->state == PERF_MEMBER_PUBLISHED;
	/* If it was the last opener, perf_member_hold() does not hold the member any more. */
	last = refcount_dec_and_test(&member->openers);
	/* The last reader may have closed its file while we were an opener. */
	if (held)
		perf_persist_opener_gone(member);
	mutex_unlock(&perf_persist_lock);

	if (last && llist_add(&member->deferred, &perf_member_deferred))
		queue_work(system_dfl_wq, &perf_member_put_work);
}

/*
 * Holding a member
 */

/**
 * perf_member_hold - make the namespace hold a member and its buffer
 * @member:	the member, with the lock held
 *
 * The namespace becomes one of its openers, and counts as a mapping of its buffer.
 * perf_member_unhold() and perf_member_release() undo that, also after an error. If
 * the last file of the event is being closed, perf_member::held stays false.
 *
 * Return: 0, or
 *  -ENOSPC	over the limit kernel.perf_event_max_persistent
 *  -EINVAL	the buffer is not backward and in overwrite mode, or has an AUX area
 *  -EACCES	the buffer is or was mapped for writing
 */
int perf_member_hold(struct perf_member *member)
{
	struct perf_event *event = member->event;
	struct perf_buffer *rb;
	int ret = 0;

	assert_registry();

	if (!member->held) {
		/* The task that closes its last file waits for our lock. */
		if (!refcount_read(&member->openers))
			return 0;
		ret = perf_persist_reserve_members(1);
		if (ret)
			return ret;
		if (!refcount_inc_not_zero(&member->openers)) {
			perf_persist_unreserve_members(1);
			return 0;
		}
		member->held = true;
	}

	mutex_lock(&event->mmap_mutex);
	rb = event->rb;
	/* perf_mmap() gives no AUX area to a buffer that is held. */
	if (rb)
		mutex_lock(&rb->aux_mutex);
	if (rb && (!rb->overwrite || !is_write_backward(event) || rb_has_aux(rb))) {
		/*
		 * Nobody can read a forward buffer while it is live, a buffer without
		 * overwrite fills up, and readers get no AUX area.
		 */
		ret = -EINVAL;
		goto unlock;
	}

	/*
	 * An event without a mapping was redirected to the buffer of another member. A
	 * buffer has one holder, even if several processes have it mapped. That the
	 * holder is in this namespace is checked by perf_member_check_output().
	 */
	if (rb && !rb->held && refcount_read(&event->mmap_count) &&
	    refcount_inc_not_zero(&rb->mmap_count)) {
		refcount_inc(&event->mmap_count);
		refcount_inc(&rb->refcount);
		perf_member_set_buffer(member, rb);
	}
	/* Pairs with the one in perf_persistent_may_write(). */
	smp_mb();
	if (rb && READ_ONCE(rb->ever_writable)) {
		/* User space could forge the page that tells readers where to begin. */
		ret = -EACCES;
		goto unlock;
	}
	if (member->rb)
		WRITE_ONCE(member->rb->was_held, true);
	WRITE_ONCE(member->state, PERF_MEMBER_PUBLISHED);
unlock:
	if (rb)
		mutex_unlock(&rb->aux_mutex);
	mutex_unlock(&event->mmap_mutex);
	return ret;
}

/**
 * perf_member_check_output - does the namespace hold the buffer that a member writes to
 * @member:	the member, with the lock held
 *
 * Return: 0 if so, or if it has no buffer; -EINVAL otherwise.
 */
int perf_member_check_output(struct perf_member *member)
{
	struct perf_event *event = member->event;
	int ret = 0;

	assert_registry();
	mutex_lock(&event->mmap_mutex);
	if (event->rb && !perf_persist_buffer_owner(member->ns, event->rb))
		ret = -EINVAL;
	mutex_unlock(&event->mmap_mutex);

	return ret;
}

/**
 * perf_member_unhold - undo perf_member_hold()
 * @member:	the member, with the lock held, which is not published any more
 *
 * Return: for perf_member_release(), which the caller calls after dropping the lock.
 */
struct perf_held perf_member_unhold(struct perf_member *member)
{
	struct perf_held hold = { };

	assert_registry();
	/* mmap() relies on the buffer of a published member. */
	WARN_ON_ONCE(member->state == PERF_MEMBER_PUBLISHED);

	if (member->held) {
		hold.event = member->event;
		hold.rb = member->rb;
		if (hold.rb)
			perf_member_clear_buffer(member);
		member->held = false;
		perf_persist_unreserve_members(1);
	}
	return hold;
}

/**
 * perf_member_release - drop the opener and the mapping of perf_member_hold()
 * @hold:	what perf_member_unhold() returned
 *
 * Called without a lock.
 */
void perf_member_release(struct perf_held hold)
{
	if (!hold.event)
		return;

	if (hold.rb) {
		perf_mmap_put(hold.event, hold.rb);
		ring_buffer_put(hold.rb); /* could be last */
	}
	perf_persist_put_opener(hold.event);
}

/*
 * Members whose CPU is offline
 */

/*
 * Put an event back into the context that it lost when its CPU went offline.
 * Does nothing if the event has its context, or if the CPU is still offline.
 *
 * No grace period is required between list_del_rcu() back then and list_add_rcu() now:
 * the events of a CPU are walked only on that CPU, with interrupts off.
 */
static void reinstall(struct perf_event *event, bool enable)
{
	struct perf_event_context *ctx = event->ctx;
	struct perf_cpu_context *cpuctx = container_of(ctx, struct perf_cpu_context, ctx);

	/*
	 * Serializes against perf_event_{init,exit}_cpu(). A CPU that comes up has
	 * cpuctx->online before it can be asked to install an event.
	 */
	lockdep_assert_held(&ctx->mutex);
	if (!cpuctx->online || !cpu_online(event->cpu) ||
	    (event->attach_state & PERF_ATTACH_CONTEXT) || event->state <= PERF_EVENT_STATE_EXIT ||
	    !exclusive_event_installable(event, ctx))
		return;

	/* It was a sibling, and cannot run without its leader. */
	if (event->state == PERF_EVENT_STATE_ERROR && (event->event_caps & PERF_EV_CAP_SIBLING))
		return;

	/* The driver now counts such events on another CPU, and only there. */
	if (event->pmu->task_ctx_nr == perf_invalid_context &&
	    event->pmu->scope == PERF_PMU_SCOPE_NONE)
		return;

	/*
	 * If somebody has enabled it meanwhile, the context counts it as one of those that follow
	 * a cgroup. Otherwise this would count it twice, and nobody would undo that.
	 */
	if (event->state > PERF_EVENT_STATE_OFF)
		perf_remove_from_context(event, 0);

	raw_spin_lock_irq(&ctx->lock);
	perf_event_set_state(event, enable ? PERF_EVENT_STATE_INACTIVE : PERF_EVENT_STATE_OFF);
	raw_spin_unlock_irq(&ctx->lock);
	perf_install_in_context(ctx, event, event->cpu);
}

/**
 * perf_persist_reinstall - put an event back into its context, if its CPU is back
 * @event:	the event; enabled if perf_member::wanted says so
 *
 * Called without a lock.
 */
void perf_persist_reinstall(struct perf_event *event)
{
	struct perf_event_context *ctx;

	ctx = perf_event_ctx_lock(event);
	reinstall(event, event->member->wanted);
	perf_event_ctx_unlock(event, ctx);
}

/**
 * perf_persistent_offline - an event loses its context because its CPU goes offline
 * @event:	the event, whose ctx->lock and ctx->mutex are held
 */
void perf_persistent_offline(struct perf_event *event)
{
	bool enabled = event->state > PERF_EVENT_STATE_OFF && !event->pending_disable;

	if (event->member)
		WRITE_ONCE(event->member->wanted, enabled);
}

/**
 * perf_persistent_is_detached - is an event without a context, because its CPU is offline
 * @event:	the event; the answer stays right while event->ctx->mutex is held
 *
 * True only for members of published namespaces, and of deleted ones. Other events never
 * get their context back, as in kernels without persistent events.
 *
 * Return: true if so.
 */
bool perf_persistent_is_detached(struct perf_event *event)
{
	struct perf_member *member = event->member;

	if (!member || !is_detached(event))
		return false;

	switch (READ_ONCE(member->state)) {
	case PERF_MEMBER_PUBLISHED:
	case PERF_MEMBER_DELETED:
		return true;
	default:
		return false;
	}
}

/**
 * perf_persistent_set_wanted - somebody enables or disables an event
 * @event:	the event; if it is a CPU event, its ctx->mutex is held
 * @wanted:	whether it is enabled
 *
 * Notes since when the event records, and whether to enable it when its CPU is back.
 *
 * Return: true if perf_persistent_is_detached(): @wanted is noted, and the caller is done.
 * False otherwise: the caller enables or disables the event as usual.
 */
bool perf_persistent_set_wanted(struct perf_event *event, bool wanted)
{
	struct perf_member *member = event->member;

	/* An event of a task. The caller does not hold the ctx->mutex of its children. */
	if (!member)
		return false;

	lockdep_assert_held(&event->ctx->mutex);
	if (!wanted && perf_member_is_enabled(member))
		atomic64_set(&member->complete_since, U64_MAX);
	else if (wanted && atomic64_read(&member->complete_since) == U64_MAX)
		atomic64_set(&member->complete_since, event->clock());
	/* Note it even if the event is not published: it may be before its CPU is back. */
	if (is_detached(event))
		WRITE_ONCE(member->wanted, wanted);
	return perf_persistent_is_detached(event);
}

/*
 * Changes of an event
 */

/**
 * perf_persistent_set_period - the period of an event was changed
 * @event:	the event, whose ctx->mutex is held
 * @value:	the new period, or frequency
 */
void perf_persistent_set_period(struct perf_event *event, u64 value)
{
	struct perf_member *member = event->member;

	if (!member)
		return;

	/* While its CPU is offline, an event that nobody keeps has its old period. */
	if (event->attr.sample_period != value)
		return;

	spin_lock(&perf_member_attr_lock);
	/* A driver may have turned a frequency into a period. */
	member->attr.freq = event->attr.freq;
	member->attr.sample_period = value;
	spin_unlock(&perf_member_attr_lock);
}

/**
 * perf_persistent_set_breakpoint - a breakpoint was moved
 * @event:	the event, whose ctx->mutex is held
 * @attr:	with its new place, kind and length
 */
void perf_persistent_set_breakpoint(struct perf_event *event, const struct perf_event_attr *attr)
{
	struct perf_member *member = event->member;
	struct perf_buffer *rb;

	if (member) {
		spin_lock(&perf_member_attr_lock);
		member->attr.bp_addr = attr->bp_addr;
		member->attr.bp_type = attr->bp_type;
		member->attr.bp_len = attr->bp_len;
		spin_unlock(&perf_member_attr_lock);
		perf_member_set_needs(member);
	}

	rb = ring_buffer_get(event);
	if (!rb)
		return;
	perf_persistent_attached(event, rb); /* The address may be in the kernel now. */
	ring_buffer_put(rb);
}

/**
 * perf_persistent_keep_filter - an event was given a filter
 * @event:	the event, whose ctx->mutex is held
 * @filter_str:	as the user wrote it
 *
 * Return: true if @filter_str was stored, for members on other CPUs; false if the caller
 * must free it.
 */
bool perf_persistent_keep_filter(struct perf_event *event, char *filter_str)
{
	if (!event->member)
		return false;

#ifdef CONFIG_EVENT_TRACING
	/* Stored with the filter itself, so that ordinary events do not get larger. */
	if (ftrace_profile_keep_filter(event, filter_str))
		return true;
#endif
	kfree(event->member->filter);
	event->member->filter = filter_str;
	return true;
}

static bool has_filter(struct perf_event *event)
{
#ifdef CONFIG_EVENT_TRACING
	return READ_ONCE(event->filter);
#else
	return false;
#endif
}

static const char *filter_text(struct perf_member *member)
{
#ifdef CONFIG_EVENT_TRACING
	const char *text = ftrace_profile_filter_text(member->event);

	if (text)
		return text;
#endif
	return member->filter;
}

/**
 * perf_member_copy_filter - copy what perf_persistent_keep_filter() has stored
 * @member:	the member; the caller is an opener of its event
 *
 * Called without a lock.
 *
 * Return: a copy, NULL if it has no filter, or -ENOMEM.
 */
char *perf_member_copy_filter(struct perf_member *member)
{
	struct perf_event *event = member->event;
	struct perf_event_context *ctx;
	const char *text;
	char *copy;

	for (;;) {
		ctx = perf_event_ctx_lock(event);
		text = filter_text(member);
		if (text || !has_filter(event))
			break;
		/* Its setter is about to lock ctx->mutex again, see __perf_event_set_filter(). */
		perf_event_ctx_unlock(event, ctx);
		schedule_timeout_uninterruptible(1);
	}
	copy = kstrdup(text, GFP_KERNEL);
	if (text && !copy)
		copy = ERR_PTR(-ENOMEM);
	perf_event_ctx_unlock(event, ctx);
	return copy;
}
