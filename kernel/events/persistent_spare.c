// SPDX-License-Identifier: GPL-2.0
/*
 * The memory of snapshots, allocated when one is taken, or in advance for spares.
 *
 * All of it is allocated before anything is replaced: the members of the snapshot, each
 * with a reference on the event that it will be a snapshot of, and empty buffers. When a
 * new snapshot pushes out the oldest one, it uses the buffers of that one if nobody has
 * them mapped. So snapshots can be taken for ever, and cannot fail for lack of buffers.
 *
 * A worker does everything that can wait, or that has to wait for memory or for other
 * tasks: it shows snapshots in sysfs, makes spares, and removes trimmed snapshots.
 */
#include <linux/cred.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/printk.h>
#include <linux/rcupdate.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include "internal.h"
#include "persistent.h"
#include "persistent_internal.h"
#include "persistent_snapshot.h"
#include "read.h"

/* Called without a lock. Buffers stay as long as readers have them mapped. */
static void free_buffers(struct perf_persist_ns *snap)
{
	struct perf_snapshot_member *sm;
	struct perf_member *member;

	for_each_snapshot_member(sm, member, snap) {
		struct perf_buffer *rb = xchg(&member->rb, NULL);

		if (rb)
			perf_persist_free_buffer(rb);
	}
}

/**
 * perf_snapshot_remove - remove snapshots that were unlinked
 * @snaps:	list of them
 *
 * Called without a lock.
 */
void perf_snapshot_remove(struct list_head *snaps)
{
	struct perf_persist_ns *snap, *next;

	list_for_each_entry_safe(snap, next, snaps, entry) {
		list_del_init(&snap->entry);
		free_buffers(snap);
		perf_persist_remove(snap);
	}
}

/* Called without a lock. */
static void remove_trimmed(struct perf_persist_ns *ns)
{
	LIST_HEAD(trimmed);

	scoped_guard(mutex, &perf_persist_lock)
		list_splice_init(&ns->trimmed, &trimmed);
	perf_snapshot_remove(&trimmed);
}

/* Nobody has a reference on @snap. Called without a lock. */
static void free_members(struct perf_persist_ns *snap)
{
	struct perf_member *member;

	free_buffers(snap);
	/* Not earlier: the file of one member keeps all of them. */
	scoped_guard(mutex, &perf_persist_lock)
		perf_persist_unreserve_members(perf_persist_count_members(snap));
	while ((member = first_member(snap))) {
		rb_erase(&member->node, &snap->members);
		put_event(member->event);
		perf_format_put(member->format);
		kfree(to_snapshot_member(member));
	}
}

/* perf_persist_ns::next_writer, in any order. Returns none if @member has no buffer. */
static struct perf_member *next_writer(struct perf_member *member, struct perf_member *prev)
{
	struct perf_snapshot_member *sm;

	assert_registry();
	if (!READ_ONCE(member->rb))
		return NULL;
	sm = prev ? to_snapshot_member(prev)->next_writer : to_snapshot_member(member)->output;
	return sm ? &sm->m : NULL;
}

static struct perf_persist_ns *alloc_snapshot(struct perf_persist_ns *ns)
{
	struct perf_buffer_set *set;
	struct perf_persist_ns *snap;

	snap = perf_persist_alloc();
	if (!snap)
		return NULL;

	snap->cred = get_cred(ns->cred);
	memcpy(snap->owner_comm, ns->owner_comm, sizeof(snap->owner_comm));
	snap->source = get_persist_ns(ns);
	snap->next_writer = next_writer;
	scoped_guard(mutex, &perf_persist_lock)
		set = perf_set_get(ns->set);
	snap->set = perf_set_alloc(set);
	perf_set_put(set);
	if (!snap->set) {
		perf_persist_put(snap);
		return NULL;
	}
	return snap;
}

static int apply_sizes(struct perf_persist_ns *snap, const struct perf_snapshot_sizes *sizes)
{
	unsigned int i;

	for (i = 0; i < sizes->nr; i++) {
		struct perf_member *member;

		member = perf_persist_find_member(snap, sizes->sizes[i].event_id);
		if (!member || !to_snapshot_member(member)->own)
			return -EINVAL;
		to_snapshot_member(member)->nr_pages = sizes->sizes[i].size >> PAGE_SHIFT;
	}
	return 0;
}

static struct perf_snapshot_member *find_snapshot_member(struct perf_persist_ns *snap,
							 struct perf_member *member)
{
	return to_snapshot_member(perf_persist_find_member(snap, member->event->id));
}

static unsigned int count_kept(struct perf_persist_ns *ns)
{
	struct perf_member *member;
	unsigned int nr = 0;

	assert_registry();
	for_each_ns_member(member, ns)
		nr += member->kept;
	return nr;
}

/* @free is a list of unused members, as many as count_kept() returned. */
static void fill_snapshot(struct perf_persist_ns *snap, struct perf_persist_ns *ns,
			  struct perf_snapshot_member **free)
{
	struct perf_snapshot_member *sm;
	struct perf_member *member;

	assert_registry();
	for_each_ns_member(member, ns) {
		if (!member->kept)
			continue;
		sm = *free;
		*free = sm->next_writer;
		sm->next_writer = NULL;

		sm->live = member;
		sm->m.event = member->event;
		sm->m.ns = snap;
		sm->m.for_trigger = member->for_trigger;
		sm->m.kept = true;
		sm->m.format = perf_format_share(member->format);
		/* Not an opener: a claimed event must not run on because of a snapshot. */
		atomic_long_inc(&member->event->refcount);
		rb_add(&sm->m.node, &snap->members, perf_member_less);
	}
	snap->members_seq = ns->members_seq;

	/* Link each member that has a buffer with the others that write to it. */
	for_each_snapshot_member(sm, member, snap) {
		/* The buffer of a member is held, so it cannot go away. */
		struct perf_buffer *rb = READ_ONCE(member->event->rb);
		struct perf_member *owner = rb ? perf_persist_buffer_owner(ns, rb) : NULL;

		if (!owner)
			continue;
		sm->output = find_snapshot_member(snap, owner);
		sm->own = sm->output == sm;
		sm->nr_pages = sm->own ? data_page_nr(rb) : 0;
		if (!sm->own) {
			sm->next_writer = sm->output->next_writer;
			sm->output->next_writer = sm;
		}
	}
}

/*
 * The limit allows for the set in use, all snapshots and all spares. It also allows
 * readers to map as many trimmed snapshots as there may be others.
 */
static unsigned int max_sets(struct perf_persist_ns *ns)
{
	return 2 * READ_ONCE(ns->keep) + READ_ONCE(ns->want_spares) + 1;
}

static int alloc_buffers(struct perf_persist_ns *snap, bool tell)
{
	struct perf_persist_ns *ns = snap->source;
	struct perf_snapshot_member *sm;
	struct perf_member *member;
	unsigned long pages = 0;
	struct perf_buffer *rb;

	for_each_snapshot_member(sm, member, snap)
		pages += sm->own ? sm->nr_pages + 1 : 0;
	if (!perf_memory_left(pages))
		return -ENOMEM;
	if (pages && !perf_set_has_room(snap->set, max_sets(ns))) {
		if (tell)
			perf_set_report(snap->set, ns->name);
		return -EBUSY;
	}

	for_each_snapshot_member(sm, member, snap) {
		if (!sm->own)
			continue;
		/* Whoever deletes the namespace waits for the worker. */
		if (READ_ONCE(ns->unlinked))
			return -ENODEV;
		rb = perf_persist_new_buffer(ns, member->event, sm->nr_pages);
		if (IS_ERR(rb))
			return PTR_ERR(rb);
		member->rb = rb;
		perf_set_add(snap->set, rb);
	}
	return 0;
}

/**
 * perf_snapshot_alloc_buffers - make the buffers of a snapshot, paid for by the owner
 * @snap:	the snapshot, which is prepared
 * @tell:	log who has removed snapshots mapped if there are too many of them
 *
 * Called without perf_persist_lock, with perf_persist_ns::snapshot_lock.
 *
 * Return: 0, or an error, see perf_snapshot_ioctl(). Then @snap has no buffers.
 */
int perf_snapshot_alloc_buffers(struct perf_persist_ns *snap, bool tell)
{
	const struct cred *old;
	int ret;

	/* The owner pays for trimmed snapshots until they are removed. */
	remove_trimmed(snap->source);

	old = override_creds(snap->source->cred);
	ret = alloc_buffers(snap, tell);
	revert_creds(old);
	if (ret)
		free_buffers(snap);
	return ret;
}

/*
 * Using buffers again
 */

/* Return the member of @old whose buffer suits @sm, or NULL. */
static struct perf_snapshot_member *find_used(struct perf_persist_ns *old,
					      struct perf_snapshot_member *sm)
{
	struct perf_member *member = perf_persist_find_member(old, sm->m.event->id);
	struct perf_snapshot_member *used = member ? to_snapshot_member(member) : NULL;
	struct perf_buffer *rb = used && used->own ? READ_ONCE(member->rb) : NULL;

	return rb && data_page_nr(rb) == sm->nr_pages ? used : NULL;
}

/* Has anybody a reference on a page without a mapping? It may be in a pipe, see vmsplice(). */
static bool is_pinned(struct perf_buffer *rb)
{
	unsigned long i;

	for (i = 0; i <= data_page_nr(rb); i++) {
		if (page_count(perf_mmap_to_page(rb, i)) != 1)
			return true;
		cond_resched();
	}
	return false;
}

/* If this returns true, nobody can map the buffer any more, see perf_member_map_buffer(). */
static bool freeze_buffer(struct perf_buffer *rb)
{
	if (!refcount_dec_if_one(&rb->mmap_count))
		return false;
	if (!is_pinned(rb))
		return true;
	refcount_set(&rb->mmap_count, 1);
	return false;
}

static void unfreeze_buffers(struct perf_persist_ns *old)
{
	struct perf_snapshot_member *sm;
	struct perf_member *member;

	for_each_snapshot_member(sm, member, old) {
		if (sm->own && member->rb && !refcount_read(&member->rb->mmap_count))
			refcount_set(&member->rb->mmap_count, 1);
	}
}

/**
 * perf_snapshot_is_mapped - does somebody have buffers of a snapshot mapped
 * @snap:	the snapshot, with the lock held
 *
 * Return: true if so. They are not free when the snapshot goes.
 */
bool perf_snapshot_is_mapped(struct perf_persist_ns *snap)
{
	struct perf_snapshot_member *sm;
	struct perf_member *member;

	for_each_snapshot_member(sm, member, snap) {
		if (sm->own && member->rb && refcount_read(&member->rb->mmap_count) != 1)
			return true;
	}
	return false;
}

static bool is_reusable(struct perf_persist_ns *snap, struct perf_persist_ns *old)
{
	struct perf_snapshot_member *sm, *used;
	struct perf_member *member;

	for_each_snapshot_member(sm, member, snap) {
		if (!sm->own)
			continue;
		used = find_used(old, sm);
		if (!used || refcount_read(&used->m.rb->mmap_count) != 1 ||
		    rb_has_writers(used->m.rb) || is_pinned(used->m.rb))
			return false;
	}
	return true;
}

/* Take the buffer, which is frozen, away from its snapshot. Its mmap_count is 0. */
static struct perf_buffer *take_buffer(struct perf_snapshot_member *used)
{
	struct perf_buffer *rb = used->m.rb;

	WRITE_ONCE(used->m.rb, NULL);
	return rb;
}

/**
 * perf_snapshot_reuse - have a snapshot take over the buffers of an older one
 * @snap:	the snapshot, which is prepared and has no buffers
 * @old:	the other one, with the lock held
 *
 * After a success, nobody can map these buffers through @old any more, and the caller
 * must call perf_snapshot_renew().
 *
 * Return: false if the buffers do not fit, or somebody has one of them mapped.
 */
bool perf_snapshot_reuse(struct perf_persist_ns *snap, struct perf_persist_ns *old)
{
	struct perf_snapshot_member *sm;
	struct perf_member *member;

	assert_registry();
	if (!is_reusable(snap, old))
		return false;

	for_each_snapshot_member(sm, member, snap) {
		/* A reader may have mapped one since is_reusable(). */
		if (sm->own && !freeze_buffer(find_used(old, sm)->m.rb)) {
			unfreeze_buffers(old);
			return false;
		}
	}
	for_each_snapshot_member(sm, member, snap) {
		if (!sm->own)
			continue;
		member->rb = take_buffer(find_used(old, sm));
		perf_set_move(snap->set, member->rb);
	}
	return true;
}

/**
 * perf_snapshot_reuse_trimmed - have a snapshot take over buffers of a trimmed one
 * @snap:	the snapshot, which is prepared and has no buffers
 *
 * See perf_snapshot_reuse().
 *
 * Return: false if no trimmed snapshot has suitable buffers.
 */
bool perf_snapshot_reuse_trimmed(struct perf_persist_ns *snap)
{
	struct perf_persist_ns *old;

	assert_registry();
	list_for_each_entry(old, &snap->source->trimmed, entry) {
		if (perf_snapshot_reuse(snap, old))
			return true;
	}
	return false;
}

/**
 * perf_snapshot_renew - empty buffers that were taken over
 * @snap:	the snapshot that has them
 *
 * Called without a lock.
 */
void perf_snapshot_renew(struct perf_persist_ns *snap)
{
	struct perf_snapshot_member *sm;
	struct perf_member *member;

	/* Wait for readers in perf_member_map_buffer(): they cannot map these buffers. */
	synchronize_rcu();
	for_each_snapshot_member(sm, member, snap) {
		if (sm->own)
			perf_persist_renew_buffer(member->rb);
	}
}

/*
 * Preparing a snapshot
 */

/* Returns -EAGAIN if the members have changed meanwhile. */
static struct perf_persist_ns *try_prepare_snapshot(struct perf_persist_ns *ns,
						    const struct perf_snapshot_sizes *sizes)
{
	struct perf_snapshot_member *sm, *free = NULL;
	struct perf_persist_ns *snap;
	unsigned int i, nr = 0;
	int ret;
	u64 seq;

	snap = alloc_snapshot(ns);
	if (!snap)
		return ERR_PTR(-ENOMEM);
	/*
	 * Deleted snapshots that readers have open need little memory, but their members count
	 * in the limit of all namespaces. So allow as many again as may be mapped, but no more.
	 */
	if (perf_set_count(snap->set) > 2 * max_sets(ns)) {
		perf_persist_put(snap);
		return ERR_PTR(-EBUSY);
	}

	mutex_lock(&perf_persist_lock);
	perf_persist_settle(ns);
	seq = ns->members_seq;
	ret = -ENODEV;
	if (!ns->unlinked) {
		nr = count_kept(ns);
		/* The last ordinary member is leaving, and those of triggers follow. */
		if (!nr)
			ret = -ENODEV;
		else
			ret = sizes->nr > nr ? -EINVAL : perf_persist_reserve_members(nr);
	}
	mutex_unlock(&perf_persist_lock);
	if (ret) {
		perf_persist_put(snap);
		return ERR_PTR(ret);
	}

	for (i = 0; i < nr; i++) {
		sm = kzalloc(sizeof(*sm), PERF_PERSIST_GFP);
		if (!sm) {
			ret = -ENOMEM;
			break;
		}
		sm->next_writer = free;
		free = sm;
	}

	if (!ret) {
		mutex_lock(&perf_persist_lock);
		perf_persist_settle(ns);
		if (ns->unlinked)
			ret = -ENODEV;
		else if (ns->members_seq != seq)
			ret = -EAGAIN;
		if (!ret) {
			fill_snapshot(snap, ns, &free);
			/* From here on, free_members() gives back the reservation. */
			nr = 0;
			ret = apply_sizes(snap, sizes);
		}
		mutex_unlock(&perf_persist_lock);
	}
	if (!ret)
		return snap;

	while ((sm = free)) {
		free = sm->next_writer;
		kfree(sm);
	}
	mutex_lock(&perf_persist_lock);
	perf_persist_unreserve_members(nr);
	mutex_unlock(&perf_persist_lock);
	perf_persist_put(snap);
	return ERR_PTR(ret);
}

/**
 * perf_snapshot_prepare - allocate a snapshot without its buffers
 * @ns:		the namespace
 * @sizes:	new sizes of buffers
 *
 * Called without perf_persist_lock, with perf_persist_ns::snapshot_lock.
 *
 * Return: the snapshot, which contains no records yet, or an error, see
 * perf_snapshot_ioctl().
 */
struct perf_persist_ns *perf_snapshot_prepare(struct perf_persist_ns *ns,
					      const struct perf_snapshot_sizes *sizes)
{
	struct perf_persist_ns *snap;
	bool again = true;

	for (;;) {
		snap = try_prepare_snapshot(ns, sizes);
		if (snap == ERR_PTR(-EAGAIN))
			continue;
		if ((snap != ERR_PTR(-ENOSPC) && snap != ERR_PTR(-EBUSY)) || !again)
			break;
		/* The members of trimmed snapshots count until they are removed. */
		remove_trimmed(ns);
		again = false;
	}
	return snap;
}

/*
 * Spares
 */

/*
 * The memory may be there later, and a reader may let go of a snapshot. So try again, each time
 * after twice as many seconds.
 */
#define PERF_SPARES_RETRY	10U
#define PERF_SPARES_RETRY_MAX	640U

static const struct perf_snapshot_sizes same_sizes;

/**
 * perf_snapshot_free_spares - free spares that were taken from a namespace
 * @spares:	list of them
 */
void perf_snapshot_free_spares(struct list_head *spares)
{
	struct perf_persist_ns *snap, *next;

	list_for_each_entry_safe(snap, next, spares, entry) {
		list_del_init(&snap->entry);
		perf_persist_put(snap);
	}
}

/**
 * perf_snapshot_take_spare - take a spare that fits the present members of a namespace
 * @ns:		the namespace, with the lock held
 * @stale:	list to which spares that do not fit are moved
 *
 * Return: the spare, or NULL.
 */
struct perf_persist_ns *perf_snapshot_take_spare(struct perf_persist_ns *ns,
						 struct list_head *stale)
{
	struct perf_persist_ns *snap, *next;

	assert_registry();
	list_for_each_entry_safe(snap, next, &ns->spares, entry) {
		list_move_tail(&snap->entry, stale);
		ns->nr_spares--;
		if (snap->members_seq == ns->members_seq) {
			list_del_init(&snap->entry);
			return snap;
		}
	}
	return NULL;
}

/**
 * perf_snapshot_queue_work - start the worker of a namespace
 * @ns:		the namespace, with the lock held
 */
void perf_snapshot_queue_work(struct perf_persist_ns *ns)
{
	assert_registry();
	get_persist_ns(ns);
	if (mod_delayed_work(system_dfl_wq, &ns->snapshot_work, 0))
		perf_persist_put(ns); /* not the last */
}

static void ns_members_changed(struct perf_persist_ns *ns)
{
	if (ns->want_spares && !ns->unlinked)
		perf_snapshot_queue_work(ns);
}

/* Use the buffers of a trimmed snapshot, or make new ones. */
static int get_buffers(struct perf_persist_ns *snap, bool tell)
{
	bool reused;

	scoped_guard(mutex, &perf_persist_lock)
		reused = perf_snapshot_reuse_trimmed(snap);
	if (!reused)
		return perf_snapshot_alloc_buffers(snap, tell);
	perf_snapshot_renew(snap);
	return 0;
}

/* Make as many spares as the namespace should have, and free those that do not fit. */
static int refill_spares(struct perf_persist_ns *ns, bool tell)
{
	struct perf_persist_ns *snap, *next;
	LIST_HEAD(stale);
	int ret = 0;

	for (;;) {
		bool more;

		guard(mutex)(&ns->snapshot_lock);
		mutex_lock(&perf_persist_lock);
		list_for_each_entry_safe(snap, next, &ns->spares, entry) {
			if (snap->members_seq == ns->members_seq &&
			    ns->nr_spares <= ns->want_spares)
				continue;
			list_move_tail(&snap->entry, &stale);
			ns->nr_spares--;
		}
		more = !ns->unlinked && ns->nr_spares < ns->want_spares;
		mutex_unlock(&perf_persist_lock);
		/* First free stale spares: limits of owner and namespace count them. */
		perf_snapshot_free_spares(&stale);
		if (!more)
			break;

		snap = perf_snapshot_prepare(ns, &same_sizes);
		if (IS_ERR(snap)) {
			ret = PTR_ERR(snap);
			break;
		}
		ret = get_buffers(snap, tell);
		if (ret) {
			list_add(&snap->entry, &stale);
			break;
		}

		/* If the spare is stale or one too many, the next round frees it. */
		mutex_lock(&perf_persist_lock);
		if (ns->unlinked) {
			list_add(&snap->entry, &stale);
		} else {
			list_add_tail(&snap->entry, &ns->spares);
			ns->nr_spares++;
			perf_persist_changed(ns);
		}
		mutex_unlock(&perf_persist_lock);
	}

	perf_snapshot_free_spares(&stale);
	return ret;
}

/* Get a reference on the first snapshot after @id that sysfs does not show. */
static struct perf_persist_ns *next_unlisted(struct perf_persist_ns *ns, u64 id)
{
	struct perf_persist_ns *snap;

	guard(mutex)(&perf_persist_lock);
	list_for_each_entry(snap, &ns->snapshots, entry) {
		if (snap->id > id && !READ_ONCE(snap->listed))
			return get_persist_ns(snap);
	}
	return NULL;
}

/*
 * sysfs allocates with GFP_KERNEL. The OOM killer must not kill a task for a snapshot, and
 * does not do so without __GFP_FS.
 */
static int list_snapshots(struct perf_persist_ns *ns)
{
	unsigned int nofs = memalloc_nofs_save();
	struct perf_persist_ns *snap;
	u64 id = 0;
	int ret = 0;

	while (!ret && (snap = next_unlisted(ns, id))) {
		id = snap->id;
		ret = perf_persist_list_snapshot(snap);
		perf_persist_put(snap);
		scoped_guard(mutex, &perf_persist_lock)
			perf_persist_changed(ns);
	}
	memalloc_nofs_restore(nofs);
	return ret;
}

static void snapshot_worker(struct work_struct *work)
{
	struct perf_persist_ns *ns = container_of(to_delayed_work(work), struct perf_persist_ns,
						  snapshot_work);
	unsigned long delay = list_snapshots(ns) ? HZ : 0;
	/* Say once why it fails, and not each time. */
	int ret = refill_spares(ns, !ns->spares_delay);

	if (!ret || ret == -ENODEV) {
		ns->spares_delay = 0;
	} else {
		if (!ns->spares_delay)
			pr_notice_ratelimited("perf: persistent/%s/: cannot allocate all spares: %pe\n",
					      ns->name, ERR_PTR(ret));
		ns->spares_delay = clamp(2 * ns->spares_delay, PERF_SPARES_RETRY,
					 PERF_SPARES_RETRY_MAX);
		delay = delay ?: ns->spares_delay * HZ;
	}
	/* Whoever prepares a snapshot must find that they are gone, or have not begun to go. */
	scoped_guard(mutex, &ns->snapshot_lock)
		remove_trimmed(ns);
	/* Keep the reference for the next run, unless others have queued it with their own. */
	if (!delay || !queue_delayed_work(system_dfl_wq, &ns->snapshot_work, delay))
		perf_persist_put(ns); /* Matches get_persist_ns() in perf_snapshot_queue_work() */
}

/**
 * perf_snapshot_set_spares - PERF_EVENT_IOC_SPARES
 * @ns:		the namespace, which the caller is allowed to change
 * @nr:		how many spares it should have
 *
 * Called without a lock.
 *
 * Return: 0, or see perf_snapshot_ioctl().
 */
long perf_snapshot_set_spares(struct perf_persist_ns *ns, unsigned int nr)
{
	unsigned int old;
	long ret = -ENODEV;

	if (nr > PERF_PERSIST_SPARES_MAX)
		return -EINVAL;

	mutex_lock(&perf_persist_lock);
	if (!ns->unlinked)
		ret = perf_persist_may_write(ns);
	if (!ret && nr > ns->want_spares && !perf_persist_may_spend(ns))
		ret = -EPERM;
	if (!ret) {
		old = ns->want_spares;
		ns->want_spares = nr;
		perf_persist_changed(ns);
	}
	mutex_unlock(&perf_persist_lock);
	if (ret)
		return ret;

	ret = refill_spares(ns, true);
	if (!ret)
		return 0;

	/* Nobody asked for more: the worker tries again. */
	if (nr < old && ret != -ENODEV)
		return 0;

	/* Go back to the old number, unless somebody else has changed it. */
	mutex_lock(&perf_persist_lock);
	if (ns->want_spares == nr) {
		ns->want_spares = old;
		perf_persist_changed(ns);
	}
	mutex_unlock(&perf_persist_lock);
	refill_spares(ns, true);
	return ret;
}

/**
 * perf_snapshot_nr_spares - how many snapshots can be taken without allocating
 * @ns:		the namespace, with the lock held
 *
 * Return: the number of spares that fit the present members.
 */
unsigned int perf_snapshot_nr_spares(struct perf_persist_ns *ns)
{
	struct perf_persist_ns *snap;
	unsigned int nr = 0;

	assert_registry();
	list_for_each_entry(snap, &ns->spares, entry)
		nr += snap->members_seq == ns->members_seq;
	return nr;
}

static void init_ns(struct perf_persist_ns *ns)
{
	mutex_init(&ns->snapshot_lock);
	INIT_LIST_HEAD(&ns->entry);
	INIT_LIST_HEAD(&ns->snapshots);
	INIT_LIST_HEAD(&ns->spares);
	INIT_LIST_HEAD(&ns->trimmed);
	INIT_DELAYED_WORK(&ns->snapshot_work, snapshot_worker);
	ns->keep = PERF_PERSIST_KEEP_DEFAULT;
}

/* Spares have references on the events of members: they must go when a member leaves. */
static void ns_leaving(struct perf_leaving *leaving)
{
	if (leaving->member && !leaving->member->kept)
		return;
	list_splice_tail_init(&leaving->ns->spares, &leaving->spares);
	leaving->ns->nr_spares = 0;
}

static void ns_left(struct perf_leaving *leaving)
{
	perf_snapshot_free_spares(&leaving->spares);
	/* Deleting a namespace waits until the worker is done with its snapshots. */
	if (!leaving->member)
		flush_delayed_work(&leaving->ns->snapshot_work);
}

static void ns_free(struct perf_persist_ns *ns)
{
	if (is_snapshot(ns))
		free_members(ns);
}

static struct perf_persist_listener spare_listener = {
	.init			= init_ns,
	.members_changed	= ns_members_changed,
	.leaving		= ns_leaving,
	.left			= ns_left,
	.free			= ns_free,
};

static int __init perf_spare_init(void)
{
	perf_persist_listen(&spare_listener);
	return 0;
}
subsys_initcall(perf_spare_init);
