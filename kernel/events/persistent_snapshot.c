// SPDX-License-Identifier: GPL-2.0
/*
 * Snapshots of persistent perf events.
 *
 * A snapshot gives each member that has a ring buffer an empty one instead, and moves
 * the old buffers to a new namespace. Its name is that of the first one plus a dot and
 * a number, and it can be listed, opened, read and deleted like any other. Writers do
 * not wait. A reader that has mapped a buffer keeps seeing that buffer. Buffers that
 * hold only records about tasks stay in use and are copied, because later snapshots
 * need these records, too.
 *
 *   prepared	All memory for the snapshot is allocated: its members, each with a
 *		reference on the event that it will be a snapshot of, and empty
 *		buffers. A namespace can keep prepared snapshots in stock, its spares.
 *   swapped	Under perf_persist_lock, each event is pointed to the empty buffer.
 *		Nothing can fail from here on.
 *   settled	After a grace period nobody writes to the old buffers any more. The
 *		snapshot can be opened, and the events wake up readers again.
 */
#include <linux/delay.h>
#include <linux/list.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/poll.h>
#include <linux/printk.h>
#include <linux/rculist.h>
#include <linux/rcupdate.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>

#include "internal.h"
#include "persistent.h"
#include "persistent_internal.h"
#include "persistent_snapshot.h"
#include "read.h"

/*
 * Does a buffer hold only records about tasks? Readers may need each of these to name the
 * tasks in samples of a later snapshot.
 */
static bool is_sideband(struct perf_event *owner, struct perf_buffer *rb)
{
	struct perf_event *event;

	if (!owner->attr.task)
		return false;

	guard(rcu)();
	list_for_each_entry_rcu(event, &rb->event_list, rb_entry) {
		if (event->attr.type != PERF_TYPE_SOFTWARE ||
		    event->attr.config != PERF_COUNT_SW_DUMMY)
			return false;
	}
	return true;
}

/* Does the member move to another buffer, its own or that of another member? */
static bool is_swapped(struct perf_snapshot_member *sm)
{
	return sm->output && !sm->output->copy;
}

static struct perf_buffer *new_output(struct perf_snapshot_member *sm)
{
	return sm->output->live->rb;
}

/* Do events that are no members of the namespace write to one of its buffers? */
static bool has_others(struct perf_persist_ns *ns, struct perf_buffer *rb)
{
	struct perf_event *event;

	assert_registry();
	guard(rcu)();
	list_for_each_entry_rcu(event, &rb->event_list, rb_entry) {
		if (!event->member || event->member->ns != ns)
			return true;
	}
	return false;
}

/*
 * A reader may map the new buffer before the last writer has moved to it, so set now which
 * rights that requires. For writers that are no members, only the old buffer knows the
 * rights, together with those for all its former writers.
 */
static void swap_needs(struct perf_snapshot_member *sm, struct perf_persist_ns *ns)
{
	struct perf_buffer *old = sm->live->rb, *rb = sm->output->m.rb;

	perf_persistent_attached(sm->m.event, rb);
	if (sm->own && old && has_others(ns, old))
		atomic_or(atomic_read(&old->needs), &rb->needs);
}

/* The namespace keeps the new buffer mapped, and the snapshot the old one. */
static void swap_hold(struct perf_snapshot_member *sm)
{
	struct perf_member *member = &sm->m, *live = sm->live;
	struct perf_buffer *old = live->rb, *rb = member->rb;

	if (!old)
		return;

	rb->seq = old->seq + 1;
	rb->user_page->buffer_seq = rb->seq;
	WRITE_ONCE(rb->held, true);
	WRITE_ONCE(rb->was_held, true);
	rb->owner = live;
	/* Events of a PMU may have been migrated to another CPU. */
	if (READ_ONCE(old->shared))
		WRITE_ONCE(rb->shared, RB_SHARED);
	/* Keep wake-ups off: set_all_wakeups() decides about them at the end. */
	if (old->watermark == LONG_MAX)
		WRITE_ONCE(rb->watermark, LONG_MAX);
	live->rb = rb;
	WRITE_ONCE(member->rb, old);
}

/*
 * Redirect @event from its buffer to @rb without missing a sample. The event takes over the
 * caller's reference on @rb. A record that it has begun still goes to the old buffer.
 *
 * The event leaves perf_buffer::event_list, so writers do not wake its readers until
 * finish_event() adds it to the list of the new buffer.
 */
static void swap_event(struct perf_event *event, struct perf_buffer *rb)
{
	struct perf_buffer *old_rb = event->rb;
	unsigned long flags;

	lockdep_assert_held(&event->mmap_mutex);

	spin_lock_irqsave(&old_rb->event_lock, flags);
	list_del_rcu(&event->rb_entry);
	spin_unlock_irqrestore(&old_rb->event_lock, flags);
	event->rcu_batches = get_state_synchronize_rcu();
	event->rcu_pending = 1;

	rb_add_writer(rb);
	/* Like rcu_assign_pointer(), but event->rb is not marked __rcu. */
	smp_store_release(&event->rb, rb);
	rb_del_writer(old_rb);
	ring_buffer_put(old_rb);
}

/* Called after synchronize_rcu(), when no writer is left in the old buffer. */
static void finish_event(struct perf_event *event)
{
	struct perf_buffer *rb = event->rb;
	unsigned long flags;

	lockdep_assert_held(&event->mmap_mutex);

	cond_synchronize_rcu(event->rcu_batches);
	event->rcu_pending = 0;
	spin_lock_irqsave(&rb->event_lock, flags);
	list_add_rcu(&event->rb_entry, &rb->event_list);
	spin_unlock_irqrestore(&rb->event_lock, flags);

	/* We could have missed a wakeup. */
	wake_up_all(&event->waitq);
}

static void swap_output(struct perf_snapshot_member *sm, struct perf_member *member)
{
	struct perf_event *event = member->event;
	struct perf_buffer *rb = new_output(sm);

	refcount_inc(&rb->refcount);
	/* Only PAUSE_OUTPUT changes pause_output, and it waits until the swap has ended. */
	if (sm->own && rb->nr_pages && member->rb->nr_pages)
		rb_toggle_paused(rb, READ_ONCE(member->rb->pause_output));
	/* Freeze it now: follow_stop() runs too late to keep records out. */
	if (sm->own && READ_ONCE(sm->live->ns->stopped))
		rb_freeze(rb);
	mutex_lock(&event->mmap_mutex);
	swap_event(event, rb);
	/* A breakpoint may have been moved since swap_needs(). */
	perf_persistent_attached(event, rb);
	/* The first page tells about the event that the buffer belongs to. */
	if (sm->own) {
		perf_event_init_userpage(event);
		perf_event_update_userpage(event);
	}
	mutex_unlock(&event->mmap_mutex);
}

static void swap_members(struct perf_persist_ns *snap)
{
	struct perf_snapshot_member *sm;
	struct perf_member *member;

	assert_registry();
	snap->swap_begin_ns = ktime_get_boottime_ns();
	/* Copy buffers about tasks, but start with an empty one if the size changes. */
	for_each_snapshot_member(sm, member, snap)
		sm->copy = sm->own && sm->nr_pages == data_page_nr(sm->live->rb) &&
			   is_sideband(sm->live->event, sm->live->rb);

	for_each_snapshot_member(sm, member, snap) {
		if (is_swapped(sm))
			swap_needs(sm, snap->source);
	}
	for_each_snapshot_member(sm, member, snap) {
		if (sm->own && !sm->copy)
			swap_hold(sm);
	}

	/* Owners first: the others must find a new buffer paused if it should be. */
	for_each_snapshot_member(sm, member, snap) {
		if (sm->own && !sm->copy)
			swap_output(sm, member);
	}
	for_each_snapshot_member(sm, member, snap) {
		if (is_swapped(sm) && !sm->own)
			swap_output(sm, member);
	}

	/*
	 * If a trigger has just stopped the old buffers, either it sees the new ones, or
	 * follow_stop() sees the stop. Pairs with the first smp_mb() in perf_stop_now().
	 */
	smp_mb();
	perf_persist_buffers_changed(snap->source);

	for_each_snapshot_member(sm, member, snap) {
		if (sm->own && !sm->copy && rb_has_writers(member->rb))
			sm->others = true;
	}

	snap->created_ns = ktime_get_boottime_ns();
	for_each_snapshot_member(sm, member, snap) {
		perf_member_copy_attr(&member->attr, sm->live);
		member->needs = READ_ONCE(sm->live->needs);
		atomic64_set(&member->complete_since, atomic64_read(&sm->live->complete_since));
		strscpy_pad(sm->label, sm->live->label ?: "");
		member->label = *sm->label ? sm->label : NULL;
		sm->cgroup_id = perf_member_cgroup_id(sm->live);
		sm->missed = perf_member_missed(sm->live);
		sm->lost = perf_member_lost(sm->live, sm->missed);
	}
}

/*
 * Move events that are no members, but write to a member's buffer, to the new one, too.
 * Somebody may just be redirecting another one elsewhere: as it goes on writing to the old
 * buffer for a while, pause this buffer for good. Returns true if the caller must wait for
 * records that have begun.
 */
static bool move_others(struct perf_persist_ns *snap)
{
	struct perf_snapshot_member *sm;
	struct perf_member *member;
	bool moved = false;

	for_each_snapshot_member(sm, member, snap) {
		if (!sm->others)
			continue;
		perf_events_move(member->rb, sm->live->rb);
		if (rb_has_writers(member->rb))
			rb_toggle_paused(member->rb, true);
		moved = true;
	}
	return moved;
}

/* Return the head at the newest complete record. */
static unsigned long complete_head(struct perf_event *event, struct perf_buffer *rb)
{
	struct perf_head_read read;
	int tries;

	for (tries = 0; tries < 100; tries++) {
		read = perf_read_head(rb, event->cpu);
		if (!read.writing)
			return read.head;
		udelay(1);
		cond_resched();
	}
	/* data_head may be older. User space cannot write to it. */
	return READ_ONCE(rb->user_page->data_head);
}

/*
 * Copy a buffer that others write to, as a reader would. The head counts down. The copy
 * begins at the head from before copying, and is valid up to the head from after copying
 * plus the size of the buffer: writers have overwritten the records beyond.
 */
static void copy_buffer(struct perf_snapshot_member *sm)
{
	struct perf_buffer *from = sm->live->rb, *to = sm->m.rb;
	struct perf_event_mmap_page *page = to->user_page;
	unsigned long head;
	int i;

	head = complete_head(sm->live->event, from);
	for (i = 0; i < from->nr_pages; i++) {
		/* Writers may change it meanwhile. sm->head tells readers what is valid. */
		data_race(memcpy(to->data_pages[i], from->data_pages[i],
				 PAGE_SIZE << page_order(from)));
		cond_resched();
	}
	/* Writers may be updating these fields: set them in the copy. */
	data_race(memcpy(page, from->user_page, PAGE_SIZE));
	page->lock = 0;
	page->index = 0;
	page->data_head = head;
	to->seq = from->seq;
	atomic_set(&to->needs, atomic_read(&from->needs));
	sm->head = perf_read_head(from, sm->live->event->cpu).head;
}

/*
 * Called after the swap, so that the copies name all tasks in the samples of @snap. No buffer
 * of @snap can go away meanwhile.
 */
static void copy_buffers(struct perf_persist_ns *snap)
{
	struct perf_snapshot_member *sm;
	struct perf_member *member;

	for_each_snapshot_member(sm, member, snap) {
		if (sm->copy)
			copy_buffer(sm);
	}
}

static void finish_members(struct perf_persist_ns *snap)
{
	struct perf_snapshot_member *sm;
	struct perf_member *member;

	assert_registry();
	for_each_snapshot_member(sm, member, snap) {
		struct perf_event *event = member->event;
		struct perf_buffer *old;

		if (!sm->output)
			continue;

		old = sm->output->m.rb;
		/* The sets were swapped, but this buffer stays in use: exchange it and its copy. */
		if (sm->own && sm->copy)
			perf_set_exchange(sm->live->rb, old);
		if (is_swapped(sm)) {
			mutex_lock(&event->mmap_mutex);
			finish_event(event);
			mutex_unlock(&event->mmap_mutex);

			/* local_read() returns a long: do not extend its sign. */
			sm->head = (unsigned long)local_read(&old->head);
			if (sm->own)
				old->owner = NULL;
		} else if (!sm->own) {
			sm->head = sm->output->head;
		}
		sm->buffer_size = perf_data_size(old);
		sm->seq = old->seq;
	}
}

/*
 * Names
 */

/* Use the next number that gives a free name. */
static void name_snapshot(struct perf_persist_ns *snap, struct perf_persist_ns *ns)
{
	assert_registry();
	do {
		snprintf(snap->name, sizeof(snap->name), "%.*s.%u", PERF_PERSIST_USER_NAME_MAX,
			 ns->name, ++ns->number);
	} while (perf_persist_find_name(snap->name));
	snap->number = ns->number;
}

/* Take a snapshot off the list of its source, and let nobody find it any more. */
static void unlink_snapshot(struct perf_persist_ns *snap)
{
	struct perf_persist_ns *ns = snap->source;

	assert_registry();
	perf_set_gone(snap->set);
	list_del_init(&snap->entry);
	ns->nr_snapshots--;
	perf_persist_unlink(snap);
	perf_persist_changed(ns);
}

static struct perf_persist_ns *oldest_snapshot(struct perf_persist_ns *ns)
{
	return list_first_entry(&ns->snapshots, struct perf_persist_ns, entry);
}

/* Leave the oldest snapshot to the worker, which may use its buffers for a spare. */
static void trim_oldest(struct perf_persist_ns *ns)
{
	struct perf_persist_ns *snap = oldest_snapshot(ns);

	assert_registry();
	unlink_snapshot(snap);
	list_add_tail(&snap->entry, &ns->trimmed);
	perf_snapshot_queue_work(ns);
}

static void trim_snapshots(struct perf_persist_ns *ns)
{
	while (ns->nr_snapshots > ns->keep)
		trim_oldest(ns);
}

/**
 * perf_snapshot_delete - delete a snapshot and release its buffers
 * @snap:	the snapshot, on which the caller has a reference
 *
 * Called without a lock.
 *
 * Return: 0, -ENODEV if it was deleted already, or an error of the LSM.
 */
long perf_snapshot_delete(struct perf_persist_ns *snap)
{
	long ret = -ENODEV;
	LIST_HEAD(gone);

	mutex_lock(&perf_persist_lock);
	if (!snap->unlinked)
		ret = perf_persist_may_write(snap);
	if (!ret) {
		unlink_snapshot(snap);
		list_add(&snap->entry, &gone);
	}
	mutex_unlock(&perf_persist_lock);

	perf_snapshot_remove(&gone);
	return ret;
}

/*
 * Taking a snapshot
 */

/**
 * struct perf_snapshot_request - what the caller asks for
 * @sizes:	new sizes of buffers
 * @clear:	drop the old records, and keep no snapshot
 * @was_stopped: the namespace was stopped when the user asked
 * @trigger:	number of the trigger that asks; 0 for a user, with whom the LSM must agree
 * @used_buffers: the new buffers come from another snapshot
 * @swapped_mono: out: when the last buffer was replaced, ns of CLOCK_MONOTONIC
 * @ns_id:	out: id of the snapshot
 * @number:	out: number of the snapshot
 */
struct perf_snapshot_request {
	struct perf_snapshot_sizes	sizes;
	bool				clear;
	bool				was_stopped;
	unsigned int			trigger;
	bool				used_buffers;
	u64				swapped_mono;
	u64				ns_id;
	unsigned int			number;
};

/* Use buffers of a trimmed snapshot, or of the oldest one if this one pushes it out. */
static bool reuse_buffers(struct perf_persist_ns *snap, struct perf_persist_ns *ns,
			  struct perf_snapshot_request *req)
{
	if (perf_snapshot_reuse_trimmed(snap))
		return true;
	if (req->clear || req->sizes.nr || ns->nr_snapshots < ns->keep)
		return false;
	if (!perf_snapshot_reuse(snap, oldest_snapshot(ns)))
		return false;
	trim_oldest(ns);
	return true;
}

/*
 * What a trigger has frozen must stay where it is: a snapshot by another trigger would bury it,
 * and a CLEAR that the user asked for before would drop it.
 */
static bool must_stay(struct perf_persist_ns *ns, struct perf_snapshot_request *req)
{
	return READ_ONCE(ns->stopped) && (req->trigger || (req->clear && !req->was_stopped));
}

static int check_request(struct perf_persist_ns *ns, struct perf_snapshot_request *req)
{
	int ret;

	assert_registry();
	ret = ns->unlinked ? -ENODEV : 0;
	if (!ret && !req->trigger)
		ret = perf_persist_may_write(ns);
	if (!ret && must_stay(ns, req))
		ret = -ECANCELED;
	return ret;
}

/*
 * There is no room for a new set of buffers, which cannot be that of the oldest snapshot, as the
 * buffers have changed. The oldest would go once the new one is there. Let it go before, or no
 * snapshot could be taken any more. Not if that frees nothing, as a reader maps it, nor for
 * buffers of other sizes, for which it may not be enough. Called without perf_persist_lock.
 */
static bool make_room(struct perf_persist_ns *ns, struct perf_snapshot_request *req, int err)
{
	if (req->clear || req->sizes.nr || (err != -EPERM && err != -ENOMEM))
		return false;

	guard(mutex)(&perf_persist_lock);
	perf_persist_settle(ns);
	if (check_request(ns, req) || ns->nr_snapshots < ns->keep ||
	    perf_snapshot_is_mapped(oldest_snapshot(ns)))
		return false;
	trim_oldest(ns);
	return true;
}

/*
 * Returns with perf_persist_lock held, unless it fails. The caller needs no more memory, and
 * gives up for one reason only, see take_snapshot().
 */
static struct perf_persist_ns *lock_for_snapshot(struct perf_persist_ns *ns,
						 struct perf_snapshot_request *req,
						 struct list_head *stale)
{
	struct perf_persist_ns *snap = NULL;
	bool alone = false, ready = false, made_room = false;
	int ret;

	for (;;) {
		mutex_lock(&perf_persist_lock);
		perf_persist_settle(ns);
		ret = check_request(ns, req);
		if (ret)
			goto unlock;

		/* A CLEAR that met a stop may have left one more than may be kept. */
		trim_snapshots(ns);
		if (snap && snap->members_seq != ns->members_seq) {
			list_add(&snap->entry, stale);
			snap = NULL;
			ready = false;
		}
		if (!snap && !req->sizes.nr) {
			snap = perf_snapshot_take_spare(ns, stale);
			ready = snap;
		}
		if (snap && !ready) {
			ready = reuse_buffers(snap, ns, req);
			req->used_buffers = ready;
		}
		if (snap && ready)
			goto unlock_alone;
		mutex_unlock(&perf_persist_lock);
		/* First free stale spares: limits of owner and namespace count them. */
		perf_snapshot_free_spares(stale);

		/*
		 * Take this lock only to allocate: the worker that makes spares may hold it
		 * while it waits for memory.
		 */
		if (!alone) {
			mutex_lock(&ns->snapshot_lock);
			alone = true;
		} else if (!snap) {
			snap = perf_snapshot_prepare(ns, &req->sizes);
			if (IS_ERR(snap)) {
				mutex_unlock(&ns->snapshot_lock);
				if (snap == ERR_PTR(-EBUSY))
					pr_notice_ratelimited("perf: persistent/%s/: no snapshot: too many deleted snapshots are still open\n",
							      ns->name);
				return snap;
			}
		} else {
			ret = perf_snapshot_alloc_buffers(snap, true);
			if (ret && !made_room && make_room(ns, req, ret)) {
				made_room = true;
				continue;
			}
			if (ret) {
				mutex_lock(&perf_persist_lock);
				goto unlock;
			}
			ready = true;
		}
	}

unlock:
	if (snap)
		list_add(&snap->entry, stale);
	snap = ERR_PTR(ret);
	mutex_unlock(&perf_persist_lock);
unlock_alone:
	if (alone)
		mutex_unlock(&ns->snapshot_lock);
	return snap;
}

static void set_all_wakeups(struct perf_persist_ns *ns)
{
	struct perf_member *member;

	assert_registry();
	for_each_ns_member(member, ns) {
		if (member->rb)
			perf_persist_set_wakeups(member);
	}
}

static void end_swap(struct perf_persist_ns *ns)
{
	perf_snapshot_queue_work(ns);
	WRITE_ONCE(ns->swapping, false);
	set_all_wakeups(ns);
	perf_persist_changed(ns);
}

static long take_snapshot(struct perf_persist_ns *ns, struct perf_snapshot_request *req)
{
	struct perf_persist_ns *snap;
	LIST_HEAD(unused);
	long ret = 0;
	bool drop;

	snap = lock_for_snapshot(ns, req, &unused);
	if (IS_ERR(snap)) {
		ret = PTR_ERR(snap);
		goto out;
	}

	/*
	 * Nothing can fail from here on but for a stop: @snap has all its memory, and tasks
	 * that want to delete the namespace or change its members wait until @swapping is
	 * cleared. So the buffers of an older snapshot can be emptied before they are swapped
	 * in. If a stop comes meanwhile, its frozen buffers hold what this snapshot would.
	 */
	ns->swapping = true;
	if (req->used_buffers) {
		mutex_unlock(&perf_persist_lock);
		perf_snapshot_renew(snap);
		mutex_lock(&perf_persist_lock);
		if (must_stay(ns, req)) {
			list_add(&snap->entry, &unused);
			end_swap(ns);
			mutex_unlock(&perf_persist_lock);
			ret = -ECANCELED;
			goto out;
		}
	}
	swap(ns->set, snap->set);
	snap->tasks = perf_tasks_get(ns->tasks);
	swap_members(snap);
	req->swapped_mono = ktime_get_ns();
	mutex_unlock(&perf_persist_lock);

	/* Wait for records that writers have begun in the old buffers. */
	synchronize_rcu();
	if (move_others(snap))
		synchronize_rcu();
	/* A trigger may have frozen buffers that CLEAR drops: keep them as a snapshot. */
	drop = req->clear && !must_stay(ns, req);
	if (drop)
		perf_set_gone(snap->set);
	else
		copy_buffers(snap);

	mutex_lock(&perf_persist_lock);
	finish_members(snap);
	if (req->sizes.nr)
		perf_persist_members_changed(ns, true);
	if (drop) {
		list_add(&snap->entry, &unused);
	} else {
		name_snapshot(snap, ns);
		snap->trigger = req->trigger;
		list_add_tail(&snap->entry, &ns->snapshots);
		ns->nr_snapshots++;
		perf_persist_add_snapshot(snap);
		/*
		 * Whoever asked for CLEAR did not want an older snapshot to go. There is room
		 * for one more until the next request.
		 */
		if (!req->clear)
			trim_snapshots(ns);
		req->ns_id = snap->id;
		req->number = snap->number;
	}
	end_swap(ns);
	mutex_unlock(&perf_persist_lock);
	if (req->clear && !drop)
		ret = -ECANCELED;
out:
	perf_snapshot_free_spares(&unused);
	return ret;
}

static long take_for_user(struct perf_persist_ns *ns, struct perf_snapshot_request *req)
{
	long ret = take_snapshot(ns, req);

	/* The caller must find the snapshot in sysfs, unless there was no memory for that. */
	if (req->number)
		flush_delayed_work(&ns->snapshot_work);
	return ret;
}

/**
 * perf_snapshot_take - take a snapshot for a trigger
 * @ns:		the namespace
 * @trigger:	number of the trigger
 * @number:	out: number of the snapshot
 * @frozen_mono: out: when the last buffer was replaced, ns of CLOCK_MONOTONIC
 *
 * Called without a lock.
 *
 * Return: 0, -ECANCELED if the namespace is stopped, or see perf_snapshot_ioctl().
 */
long perf_snapshot_take(struct perf_persist_ns *ns, unsigned int trigger, unsigned int *number,
			u64 *frozen_mono)
{
	struct perf_snapshot_request req = { .trigger = trigger };
	long ret = take_snapshot(ns, &req);

	*number = req.number;
	*frozen_mono = req.swapped_mono;
	return ret;
}

/**
 * perf_snapshot_take_now - take a snapshot
 * @ns:		the namespace, which the caller is allowed to change
 *
 * Called without a lock.
 *
 * Return: 0, or see perf_snapshot_ioctl().
 */
long perf_snapshot_take_now(struct perf_persist_ns *ns)
{
	struct perf_snapshot_request req = { };

	return take_for_user(ns, &req);
}

/* Get a reference on the oldest snapshot. NULL if there is none up to the id @last. */
static struct perf_persist_ns *get_oldest(struct perf_persist_ns *ns, u64 last)
{
	struct perf_persist_ns *snap;

	guard(mutex)(&perf_persist_lock);
	snap = list_first_entry_or_null(&ns->snapshots, struct perf_persist_ns, entry);
	return snap && snap->id <= last ? get_persist_ns(snap) : NULL;
}

/**
 * perf_snapshot_delete_all - delete all present snapshots of a namespace
 * @ns:		the namespace, on which the caller has a reference
 *
 * Called without a lock.
 *
 * Return: 0, or an error of the LSM.
 */
long perf_snapshot_delete_all(struct perf_persist_ns *ns)
{
	struct perf_persist_ns *snap;
	u64 last = 0;
	long ret = 0;

	/* Leave snapshots alone that a trigger takes meanwhile. */
	scoped_guard(mutex, &perf_persist_lock) {
		if (!list_empty(&ns->snapshots))
			last = list_last_entry(&ns->snapshots, struct perf_persist_ns, entry)->id;
	}
	while (!ret && (snap = get_oldest(ns, last))) {
		ret = perf_snapshot_delete(snap);
		if (ret == -ENODEV) /* Somebody else has deleted it. */
			ret = 0;
		perf_persist_put(snap);
	}
	return ret;
}

/**
 * perf_snapshot_set_keep - set how many snapshots of a namespace are kept
 * @ns:		the namespace, which the caller is allowed to change
 * @keep:	how many, at least one; if there are more, the oldest are trimmed at once
 *
 * Called without a lock.
 *
 * Return: 0, or see perf_snapshot_ioctl().
 */
long perf_snapshot_set_keep(struct perf_persist_ns *ns, unsigned int keep)
{
	long ret;

	if (!keep || keep > PERF_PERSIST_KEEP_MAX)
		return -EINVAL;

	mutex_lock(&perf_persist_lock);
	ret = ns->unlinked ? -ENODEV : perf_persist_may_write(ns);
	if (!ret && keep > ns->keep && !perf_persist_may_spend(ns))
		ret = -EPERM;
	if (!ret) {
		ns->keep = keep;
		trim_snapshots(ns);
		perf_persist_changed(ns);
	}
	mutex_unlock(&perf_persist_lock);

	/* The names of trimmed snapshots must be free when this returns. */
	if (!ret)
		flush_delayed_work(&ns->snapshot_work);
	return ret;
}

/*
 * The ioctls of a namespace
 */

/**
 * perf_is_snapshot_ioctl - does perf_snapshot_ioctl() handle an ioctl
 * @cmd:	ioctl number
 *
 * Return: true if so, whichever size the caller's argument has.
 */
bool perf_is_snapshot_ioctl(unsigned int cmd)
{
	return perf_same_ioctl(cmd, PERF_EVENT_IOC_SNAPSHOT) ||
	       perf_same_ioctl(cmd, PERF_EVENT_IOC_RESIZE) ||
	       cmd == PERF_EVENT_IOC_CLEAR || cmd == PERF_EVENT_IOC_KEEP ||
	       cmd == PERF_EVENT_IOC_SPARES;
}

static_assert(sizeof(struct perf_event_snapshot) == PERF_EVENT_SNAPSHOT_SIZE_VER0);

static int get_sizes(struct perf_snapshot_sizes *sizes, const struct perf_event_snapshot *arg)
{
	unsigned int i;

	if (!arg->nr_sizes || arg->nr_sizes > SZ_64K)
		return -EINVAL;

	sizes->sizes = vmemdup_array_user(u64_to_user_ptr(arg->sizes), arg->nr_sizes,
					  sizeof(*sizes->sizes));
	if (IS_ERR(sizes->sizes))
		return PTR_ERR(sizes->sizes);

	sizes->nr = arg->nr_sizes;
	for (i = 0; i < sizes->nr; i++) {
		u64 size = sizes->sizes[i].size;

		if (!is_power_of_2(size) || size < PAGE_SIZE || size > LONG_MAX ||
		    size >> PAGE_SHIFT > INT_MAX) {
			kvfree(sizes->sizes);
			return -EINVAL;
		}
	}
	return 0;
}

static long snapshot_ioctl(struct perf_persist_ns *ns, struct perf_event_snapshot __user *uarg,
			   bool resize)
{
	struct perf_snapshot_request req = { };
	struct perf_event_snapshot arg;
	long ret;

	ret = perf_persist_get_struct(&arg, sizeof(arg), PERF_EVENT_SNAPSHOT_SIZE_VER0, uarg);
	if (ret)
		return ret;

	if (arg.flags)
		return -EINVAL;
	if (!resize && (arg.nr_sizes || arg.sizes))
		return -EINVAL;
	/* If the result cannot be written to user space, fail before taking a snapshot. */
	if (put_user(0, &uarg->ns_id) || put_user(0, &uarg->number))
		return -EFAULT;

	if (resize) {
		if (!perf_persist_may_spend(ns))
			return -EPERM;
		ret = get_sizes(&req.sizes, &arg);
		if (ret)
			return ret;
	}

	ret = take_for_user(ns, &req);
	if (resize)
		kvfree(req.sizes.sizes);
	if (!ret && (put_user(req.ns_id, &uarg->ns_id) || put_user(req.number, &uarg->number)))
		return -EFAULT;
	return ret;
}

/**
 * perf_snapshot_ioctl - the snapshot ioctls of a namespace
 * @ns:		the namespace
 * @cmd:	ioctl number: SNAPSHOT, RESIZE, CLEAR, KEEP or SPARES
 * @arg:	its argument
 *
 * Called without a lock, for a file that is open for writing.
 *
 * Return: 0, or
 *  -EFAULT	user memory at @arg cannot be read or written
 *  -EINVAL	a size is out of range, or a field that must be 0 is not; RESIZE:
 *		not a member with a buffer of its own; KEEP, SPARES: too many, or
 *		KEEP of 0
 *  -E2BIG	the structure is larger than a page, or a field that the kernel does
 *		not know is not 0; its size now holds the size that the kernel knows
 *  -EOPNOTSUPP	@ns is a snapshot
 *  -EPERM	RESIZE, or more snapshots or spares than before, in a namespace of
 *		another user and without CAP_IPC_LOCK; or the owner may not lock so
 *		much memory, see RLIMIT_MEMLOCK
 *  -EBUSY	readers have too many snapshots that are deleted already mapped, or
 *		open; the kernel log names a reader that maps one
 *  -ENOMEM	out of memory, or the buffers need more than half of what is available
 *  -ENOSPC	kernel.perf_event_max_persistent: too many members
 *  -ENODEV	the namespace was deleted
 *  -ECANCELED	CLEAR: somebody has stopped the namespace meanwhile; the records are
 *		where they were, or in a snapshot, for which no older one is trimmed
 *		before the next request
 *  or an error of the LSM
 */
long perf_snapshot_ioctl(struct perf_persist_ns *ns, unsigned int cmd, unsigned long arg)
{
	struct perf_snapshot_request clear = {
		.clear		= true,
		.was_stopped	= READ_ONCE(ns->stopped),
	};
	void __user *argp = (void __user *)arg;
	u32 nr;

	if (is_snapshot(ns))
		return -EOPNOTSUPP;
	if (cmd == PERF_EVENT_IOC_CLEAR)
		return arg ? -EINVAL : take_for_user(ns, &clear);
	if (cmd != PERF_EVENT_IOC_KEEP && cmd != PERF_EVENT_IOC_SPARES)
		return snapshot_ioctl(ns, argp, perf_same_ioctl(cmd, PERF_EVENT_IOC_RESIZE));

	if (get_user(nr, (u32 __user *)argp))
		return -EFAULT;
	return cmd == PERF_EVENT_IOC_KEEP ? perf_snapshot_set_keep(ns, nr) :
					    perf_snapshot_set_spares(ns, nr);
}
