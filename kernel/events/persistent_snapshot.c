// SPDX-License-Identifier: GPL-2.0
/*
 * Snapshots of persistent perf events.
 *
 * Each member of a namespace that has a buffer gets an empty one instead, and
 * what it had goes to a namespace of its own that is called like the first one,
 * with a dot and a number: it can be listed, opened, read and deleted like any
 * other. Nobody who writes has to wait, and a reader who has mapped a buffer goes
 * on to see that one. Buffers that only tell of tasks stay in use and are copied, as
 * later snapshots need their records, too.
 *
 *   prepared	All memory that a snapshot takes is allocated: its members, each
 *		with a reference on the event that it is going to be of, and empty
 *		buffers. The namespace can have some of these in stock, its spares.
 *   swapped	Under perf_persist_lock, each event is pointed to the empty buffer.
 *		Nothing can fail from here on.
 *   settled	After a grace period nobody writes to the old buffers any more. The
 *		snapshot can be opened, and the events can be woken up again.
 */
#include <linux/anon_inodes.h>
#include <linux/capability.h>
#include <linux/compat.h>
#include <linux/cred.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/perf_event.h>
#include <linux/poll.h>
#include <linux/rcupdate.h>
#include <linux/security.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>

#include "internal.h"
#include "persistent.h"
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
 * @needs:	what it takes to open the buffer, perf_buffer::needs of the old one
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
	unsigned int			needs;
	char				label[PERF_PERSIST_NAME_SIZE];
};

#define to_snapshot_member(_member)	container_of((_member), struct perf_snapshot_member, m)

#define for_each_snapshot_member(_sm, _member, _snap)				\
	for ((_member) = first_member(_snap);					\
	     (_sm) = (_member) ? to_snapshot_member(_member) : NULL, (_sm);	\
	     (_member) = following_member(_member))

/**
 * perf_snapshot_settle - wait until no buffers of a namespace are being replaced
 * @ns:		the namespace
 *
 * Called with perf_persist_lock held, which is dropped and taken again when
 * there is something to wait for; what the caller knows may be wrong then, and
 * @ns is gone if it has no reference on it. That takes a grace period, one more
 * for each event that is no member but writes to a buffer of one, and the same
 * again when others are waiting to do it.
 */
void perf_snapshot_settle(struct perf_persist_ns *ns)
{
	assert_registry();
	if (!ns->swapping)
		return;

	get_persist_ns(ns);
	do {
		mutex_unlock(&perf_persist_lock);
		wait_event(ns->waitq, !READ_ONCE(ns->swapping));
		mutex_lock(&perf_persist_lock);
	} while (ns->swapping);
	perf_persist_put(ns); /* not a snapshot, which would need the lock dropped */
}

/*
 * Before the swap
 */

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
 * perf_snapshot_free_members - free what a snapshot consists of
 * @snap:	the snapshot, which nobody has a reference on
 *
 * Called without a lock.
 */
void perf_snapshot_free_members(struct perf_persist_ns *snap)
{
	struct perf_member *member;

	free_buffers(snap);
	while ((member = first_member(snap))) {
		rb_erase(&member->node, &snap->members);
		put_event(member->event);
		kfree(to_snapshot_member(member));
	}
}

static unsigned int count_members(struct perf_persist_ns *ns)
{
	struct perf_member *member;
	unsigned int nr = 0;

	for_each_ns_member(member, ns)
		nr++;
	return nr;
}

/* One that has no name, and is on no list. */
static void discard_snapshot(struct perf_persist_ns *snap)
{
	mutex_lock(&perf_persist_lock);
	perf_persist_unreserve_members(count_members(snap));
	mutex_unlock(&perf_persist_lock);
	perf_persist_put(snap);
}

static struct perf_persist_ns *alloc_snapshot(struct perf_persist_ns *ns)
{
	struct perf_persist_ns *snap;

	snap = perf_persist_alloc();
	if (!snap)
		return NULL;

	snap->cred = get_cred(ns->cred);
	memcpy(snap->owner_comm, ns->owner_comm, sizeof(snap->owner_comm));
	snap->source = get_persist_ns(ns);
	scoped_guard(mutex, &perf_persist_lock)
		snap->set = perf_set_alloc(ns->set);
	if (!snap->set) {
		perf_persist_put(snap);
		return NULL;
	}
	return snap;
}

/* How large the buffers of some members are to be */
struct perf_snapshot_sizes {
	struct perf_event_buffer_size	*sizes;
	unsigned int			nr;
};

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

/*
 * Does a buffer tell of tasks, and of nothing else? Each record there may be what
 * names the samples of a later snapshot.
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

/* @free is a list of as many as @ns has members. */
static void fill_snapshot(struct perf_persist_ns *snap, struct perf_persist_ns *ns,
			  struct perf_snapshot_member **free)
{
	struct perf_snapshot_member *sm;
	struct perf_member *member;

	assert_registry();
	for_each_ns_member(member, ns) {
		sm = *free;
		*free = sm->next_writer;
		sm->next_writer = NULL;

		sm->live = member;
		sm->m.event = member->event;
		sm->m.ns = snap;
		/* Not an opener: it is not kept running, once it was claimed. */
		atomic_long_inc(&member->event->refcount);
		rb_add(&sm->m.node, &snap->members, perf_member_less);
	}
	snap->members_seq = ns->members_seq;

	/* Those that have a buffer, and those that write to it */
	for_each_snapshot_member(sm, member, snap) {
		/* As it is held, it stays. */
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
 * The set in use, as many as there may be snapshots and spares, and as many as there
 * may be snapshots once more: readers may have that much mapped of what was trimmed.
 */
static unsigned int max_sets(struct perf_persist_ns *ns)
{
	return 2 * READ_ONCE(ns->keep) + READ_ONCE(ns->want_spares) + 1;
}

static int alloc_buffers(struct perf_persist_ns *snap, struct perf_persist_ns *ns)
{
	struct perf_snapshot_member *sm;
	struct perf_member *member;
	unsigned long pages = 0;
	struct perf_buffer *rb;

	for_each_snapshot_member(sm, member, snap)
		pages += sm->own ? sm->nr_pages + 1 : 0;
	if (!perf_memory_left(pages))
		return -ENOMEM;

	for_each_snapshot_member(sm, member, snap) {
		if (!sm->own)
			continue;
		rb = perf_persist_new_buffer(ns, member->event, sm->nr_pages);
		if (IS_ERR(rb))
			return PTR_ERR(rb);
		member->rb = rb;
		if (perf_set_add(snap->set, rb, max_sets(ns))) {
			perf_set_report(snap->set, ns->name);
			return -EBUSY;
		}
	}
	return 0;
}

/* -EAGAIN: the members are others now */
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

	mutex_lock(&perf_persist_lock);
	perf_snapshot_settle(ns);
	seq = ns->members_seq;
	ret = -ENODEV;
	if (!ns->unlinked) {
		nr = count_members(ns);
		ret = sizes->nr > nr ? -EINVAL : perf_persist_reserve_members(nr);
	}
	mutex_unlock(&perf_persist_lock);
	if (ret) {
		perf_persist_put(snap);
		return ERR_PTR(ret);
	}

	for (i = 0; i < nr; i++) {
		sm = kzalloc(sizeof(*sm), GFP_KERNEL);
		if (!sm) {
			ret = -ENOMEM;
			break;
		}
		sm->next_writer = free;
		free = sm;
	}

	if (!ret) {
		mutex_lock(&perf_persist_lock);
		perf_snapshot_settle(ns);
		if (ns->unlinked)
			ret = -ENODEV;
		else if (ns->members_seq != seq)
			ret = -EAGAIN;
		if (!ret) {
			fill_snapshot(snap, ns, &free);
			ret = apply_sizes(snap, sizes);
		}
		mutex_unlock(&perf_persist_lock);
	}
	if (!ret)
		ret = alloc_buffers(snap, ns);
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

/* All that a snapshot of @ns takes, paid for by its owner. */
static struct perf_persist_ns *prepare_snapshot(struct perf_persist_ns *ns,
						const struct perf_snapshot_sizes *sizes)
{
	const struct cred *old = override_creds(ns->cred);
	struct perf_persist_ns *snap;

	do {
		snap = try_prepare_snapshot(ns, sizes);
	} while (snap == ERR_PTR(-EAGAIN));
	revert_creds(old);

	return snap;
}

/*
 * Spares
 */

static const struct perf_snapshot_sizes same_sizes;

/**
 * perf_snapshot_drop_spares - take all its spares from a namespace
 * @ns:		the namespace, with the lock held
 * @spares:	list for perf_snapshot_free_spares(), without the lock
 */
void perf_snapshot_drop_spares(struct perf_persist_ns *ns, struct list_head *spares)
{
	assert_registry();
	list_splice_tail_init(&ns->spares, spares);
	ns->nr_spares = 0;
}

/**
 * perf_snapshot_free_spares - free spares that were taken from a namespace
 * @spares:	list of them
 */
void perf_snapshot_free_spares(struct list_head *spares)
{
	struct perf_persist_ns *snap, *next;

	list_for_each_entry_safe(snap, next, spares, entry) {
		list_del_init(&snap->entry);
		discard_snapshot(snap);
	}
}

/* One that fits what the namespace is now; those that do not are moved to @stale. */
static struct perf_persist_ns *take_spare(struct perf_persist_ns *ns, struct list_head *stale)
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

static void queue_spares(struct perf_persist_ns *ns)
{
	assert_registry();
	if (!ns->want_spares || ns->unlinked)
		return;

	get_persist_ns(ns);
	if (!queue_work(system_unbound_wq, &ns->spare_work))
		perf_persist_put(ns); /* not the last */
}

/* As many spares as it should have, and none that does not fit. */
static int refill_spares(struct perf_persist_ns *ns)
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
		if (!more)
			break;

		snap = prepare_snapshot(ns, &same_sizes);
		if (IS_ERR(snap)) {
			ret = PTR_ERR(snap);
			break;
		}

		/* It may have been deleted; if it is too many or stale, see above. */
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

static void spare_worker(struct work_struct *work)
{
	struct perf_persist_ns *ns = container_of(work, struct perf_persist_ns, spare_work);
	int ret = refill_spares(ns);

	if (ret && ret != -ENODEV)
		pr_notice_ratelimited("perf: persistent/%s/ does not have all of its spares: %pe\n",
				      ns->name, ERR_PTR(ret));
	perf_persist_put(ns); /* Matches get_persist_ns() in queue_spares() */
}

/**
 * perf_persist_may_spend - may the caller have the owner of a namespace pay for more
 * @ns:		the namespace
 *
 * Return: true for the owner, and with CAP_IPC_LOCK.
 */
bool perf_persist_may_spend(struct perf_persist_ns *ns)
{
	return uid_eq(current_euid(), ns->cred->euid) || capable(CAP_IPC_LOCK);
}

static long set_spares(struct perf_persist_ns *ns, unsigned long nr)
{
	bool may_spend = perf_persist_may_spend(ns);
	unsigned int old;
	long ret = -ENODEV;

	if (nr > PERF_PERSIST_SPARES_MAX)
		return -EINVAL;

	mutex_lock(&perf_persist_lock);
	if (!ns->unlinked)
		ret = perf_persist_may_write(ns);
	if (!ret && nr > ns->want_spares && !may_spend)
		ret = -EPERM;
	if (!ret) {
		old = ns->want_spares;
		ns->want_spares = nr;
		perf_persist_changed(ns);
	}
	mutex_unlock(&perf_persist_lock);
	if (ret)
		return ret;

	ret = refill_spares(ns);
	if (!ret)
		return 0;

	/* As it was, unless somebody else had another idea. */
	mutex_lock(&perf_persist_lock);
	if (ns->want_spares == nr)
		ns->want_spares = min_t(unsigned int, old, nr);
	mutex_unlock(&perf_persist_lock);
	refill_spares(ns);
	return ret;
}

/**
 * perf_snapshot_init - what a namespace has to do with snapshots
 * @ns:		a new namespace
 */
void perf_snapshot_init(struct perf_persist_ns *ns)
{
	mutex_init(&ns->snapshot_lock);
	INIT_LIST_HEAD(&ns->entry);
	INIT_LIST_HEAD(&ns->snapshots);
	INIT_LIST_HEAD(&ns->spares);
	INIT_WORK(&ns->spare_work, spare_worker);
	INIT_LIST_HEAD(&ns->triggers);
	ns->keep = PERF_PERSIST_KEEP_DEFAULT;
}

/**
 * perf_snapshot_members_changed - members came or left, or have other buffers
 * @ns:		the namespace, with the lock held
 *
 * What was prepared for it does not fit any more.
 */
void perf_snapshot_members_changed(struct perf_persist_ns *ns)
{
	assert_registry();
	ns->members_seq++;
	queue_spares(ns);
	perf_trigger_members_changed(ns);
}

/*
 * The swap
 */

/* Does the member get another buffer, of its own or of somebody else? */
static bool is_swapped(struct perf_snapshot_member *sm)
{
	return sm->output && !sm->output->copy;
}

static struct perf_buffer *new_output(struct perf_snapshot_member *sm)
{
	return sm->output->live->rb;
}

/* What the namespace keeps mapped; @member holds the old buffer from here on. */
static void swap_hold(struct perf_snapshot_member *sm)
{
	struct perf_member *member = &sm->m, *live = sm->live;
	struct perf_buffer *old = live->rb, *rb = member->rb;

	if (!old)
		return;

	if (sm->own) {
		rb->seq = old->seq + 1;
		rb->user_page->buffer_seq = rb->seq;
	} else {
		/* It is mapped through more than one member. */
		rb = new_output(sm);
		atomic_inc(&rb->mmap_count);
		refcount_inc(&rb->refcount);
	}
	WRITE_ONCE(rb->held, rb->held + 1);
	if (sm->own) {
		rb->owner = live;
		/* Whether somebody is to be woken is decided in the end. */
		if (old->watermark == LONG_MAX)
			WRITE_ONCE(rb->watermark, LONG_MAX);
	}
	live->rb = rb;
	WRITE_ONCE(member->rb, old);
}

static void swap_output(struct perf_snapshot_member *sm, struct perf_member *member)
{
	struct perf_event *event = member->event;
	struct perf_buffer *rb = new_output(sm);

	refcount_inc(&rb->refcount);
	/* Only PAUSE_OUTPUT changes it, which waits until all members are through. */
	if (sm->own && rb->nr_pages && member->rb->nr_pages)
		WRITE_ONCE(rb->paused, READ_ONCE(member->rb->paused));
	mutex_lock(&event->mmap_mutex);
	perf_persistent_attached(event, rb);
	perf_event_swap_buffer(event, rb);
	mutex_unlock(&event->mmap_mutex);
}

static void swap_members(struct perf_persist_ns *snap)
{
	struct perf_snapshot_member *sm;
	struct perf_member *member;

	assert_registry();
	/* One that gets another size begins anew. */
	for_each_snapshot_member(sm, member, snap)
		sm->copy = sm->own && sm->nr_pages == data_page_nr(sm->live->rb) &&
			   is_sideband(sm->live->event, sm->live->rb);

	for_each_snapshot_member(sm, member, snap) {
		if (sm->own && !sm->copy)
			swap_hold(sm);
	}
	for_each_snapshot_member(sm, member, snap) {
		if (is_swapped(sm) && !sm->own)
			swap_hold(sm);
	}

	/* Whoever writes to the buffer of another finds it paused if it is to be. */
	for_each_snapshot_member(sm, member, snap) {
		if (sm->own && !sm->copy)
			swap_output(sm, member);
	}
	for_each_snapshot_member(sm, member, snap) {
		if (is_swapped(sm) && !sm->own)
			swap_output(sm, member);
	}

	/*
	 * Who stopped the old ones a moment ago either sees the new ones, or is seen
	 * here. Pairs with the first one in stop_buffers().
	 */
	smp_mb();
	perf_trigger_follow(snap->source);

	snap->created_ns = ktime_get_boottime_ns();
	for_each_snapshot_member(sm, member, snap) {
		perf_member_copy_attr(&member->attr, sm->live);
		strscpy_pad(sm->label, sm->live->label ?: "");
		member->label = sm->label;
		sm->missed = perf_member_missed(sm->live);
		sm->lost = perf_member_lost(sm->live, sm->missed);
	}
}

/* Who is no member but writes to the buffer of one follows it. */
static bool move_others(struct perf_persist_ns *snap)
{
	struct perf_snapshot_member *sm;
	struct perf_member *member;
	bool moved = false;

	for_each_snapshot_member(sm, member, snap) {
		if (sm->own && !sm->copy)
			moved |= perf_events_move(member->rb, sm->live->rb);
	}
	return moved;
}

/* Where the newest record that is complete begins */
static unsigned long complete_head(struct perf_event *event, struct perf_buffer *rb)
{
	struct perf_head_read read;
	int tries;

	for (tries = 0; tries < 100; tries++) {
		read = perf_persist_read_head(event, rb);
		if (!read.writing)
			return read.head;
		cond_resched();
	}
	/* It may be older, and nobody else can write there. */
	return READ_ONCE(rb->user_page->data_head);
}

/*
 * Copy a buffer that is written to, as a reader would. The copy begins at the head
 * that there is before. It is good up to the head that there is after it, plus the
 * size of the buffer: the head counts down, and what is beyond was overwritten.
 */
static void copy_buffer(struct perf_snapshot_member *sm)
{
	struct perf_buffer *from = sm->live->rb, *to = sm->m.rb;
	struct perf_event_mmap_page *page = to->user_page;
	unsigned long head;
	int i;

	head = complete_head(sm->live->event, from);
	for (i = 0; i < from->nr_pages; i++) {
		/* Written to meanwhile; readers are told up to where it is good. */
		data_race(memcpy(to->data_pages[i], from->data_pages[i],
				 PAGE_SIZE << page_order(from)));
		cond_resched();
	}
	/* What may be half updated is set anew. */
	data_race(memcpy(page, from->user_page, PAGE_SIZE));
	page->lock = 0;
	page->index = 0;
	page->data_head = head;
	to->seq = from->seq;
	atomic_set(&to->needs, atomic_read(&from->needs));
	sm->head = perf_persist_read_head(sm->live->event, from).head;
}

/* Later than all that they are to name. No buffer of @snap can go meanwhile. */
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
		/* What stays in use counts as such, and the copy as what is kept. */
		if (sm->own && sm->copy)
			perf_set_exchange(sm->live->rb, old);
		if (is_swapped(sm)) {
			mutex_lock(&event->mmap_mutex);
			perf_event_swap_finish(event);
			mutex_unlock(&event->mmap_mutex);

			sm->head = local_read(&old->head);
			if (sm->own)
				old->owner = NULL;
		} else if (!sm->own) {
			sm->head = sm->output->head;
		}
		sm->needs = atomic_read(&old->needs);
		sm->buffer_size = perf_data_size(old);
		sm->seq = old->seq;
	}
}

/* The next number whose name is free */
static int name_snapshot(struct perf_persist_ns *snap, struct perf_persist_ns *ns)
{
	unsigned int number = ns->number;
	int ret;

	assert_registry();
	do {
		snprintf(snap->name, sizeof(snap->name), "%.*s.%u", PERF_PERSIST_USER_NAME_MAX,
			 ns->name, ++number);
	} while (perf_persist_name_taken(snap->name));

	snap->number = number;
	ret = perf_persist_reserve_name(snap);
	if (!ret)
		ns->number = number;
	return ret;
}

/* Off the list of its source, and out of what can be found. */
static void unlink_snapshot(struct perf_persist_ns *snap)
{
	struct perf_persist_ns *ns = snap->source;

	assert_registry();
	perf_set_gone(snap->set);
	list_del_init(&snap->entry);
	ns->nr_snapshots--;
	perf_persist_unreserve_members(count_members(snap));
	perf_persist_unlink(snap);
	perf_persist_changed(ns);
}

/* Those that are too many; for remove_snapshots(), without the lock */
static void trim_snapshots(struct perf_persist_ns *ns, struct list_head *gone)
{
	struct perf_persist_ns *snap;

	assert_registry();
	while (ns->nr_snapshots > ns->keep) {
		snap = list_first_entry(&ns->snapshots, struct perf_persist_ns, entry);
		unlink_snapshot(snap);
		list_add_tail(&snap->entry, gone);
	}
}

static void remove_snapshots(struct list_head *gone)
{
	struct perf_persist_ns *snap, *next;

	list_for_each_entry_safe(snap, next, gone, entry) {
		list_del_init(&snap->entry);
		free_buffers(snap);
		perf_persist_remove(snap);
	}
}

/**
 * perf_snapshot_delete - let a snapshot not be found any more, and let go of its buffers
 * @snap:	the snapshot, on which the caller has a reference
 *
 * Called without a lock.
 *
 * Return: 0, -ENODEV when it is deleted, or what the LSM says.
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

	remove_snapshots(&gone);
	return ret;
}

/**
 * struct perf_snapshot_request - what is asked for
 * @sizes:	of buffers that are to have another one
 * @keep:	so many snapshots are kept from now on; 0: as before
 * @clear:	nobody wants what was recorded
 * @user:	the LSM has to agree
 * @may_spend:	more memory than so far
 * @trigger:	number of the trigger that asks, or 0
 * @swapped_mono: out: when the last buffer was replaced, ns of CLOCK_MONOTONIC
 * @ns_id:	out: id of the snapshot
 * @number:	out: number of the snapshot
 */
struct perf_snapshot_request {
	struct perf_snapshot_sizes	sizes;
	unsigned int			keep;
	bool				clear;
	bool				user;
	bool				may_spend;
	unsigned int			trigger;
	u64				swapped_mono;
	u64				ns_id;
	unsigned int			number;
};

/* With the lock, unless it returns an error. */
static struct perf_persist_ns *lock_for_snapshot(struct perf_persist_ns *ns,
						 struct perf_snapshot_request *req,
						 struct list_head *stale)
{
	struct perf_persist_ns *snap = NULL;
	int ret;

	for (;;) {
		mutex_lock(&perf_persist_lock);
		perf_snapshot_settle(ns);
		ret = ns->unlinked ? -ENODEV : 0;
		if (!ret && req->user)
			ret = perf_persist_may_write(ns);
		/* What a stop froze is not to be trimmed by what fires after it. */
		if (!ret && req->trigger && READ_ONCE(ns->stopped))
			ret = -ECANCELED;
		if (!ret && !req->may_spend && (req->keep > ns->keep || req->sizes.nr))
			ret = -EPERM;
		if (ret)
			break;

		if (snap && snap->members_seq == ns->members_seq)
			return snap;
		if (snap)
			list_add(&snap->entry, stale);
		snap = req->sizes.nr ? NULL : take_spare(ns, stale);
		if (snap)
			return snap;
		mutex_unlock(&perf_persist_lock);

		snap = prepare_snapshot(ns, &req->sizes);
		if (IS_ERR(snap))
			return snap;
	}

	if (snap)
		list_add(&snap->entry, stale);
	mutex_unlock(&perf_persist_lock);
	return ERR_PTR(ret);
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

static long take_snapshot_locked(struct perf_persist_ns *ns, struct perf_snapshot_request *req)
{
	struct perf_persist_ns *snap;
	LIST_HEAD(unused);
	LIST_HEAD(gone);
	long ret = 0;

	lockdep_assert_held(&ns->snapshot_lock);
	snap = lock_for_snapshot(ns, req, &unused);
	if (IS_ERR(snap)) {
		ret = PTR_ERR(snap);
		goto out;
	}

	if (!req->clear)
		ret = name_snapshot(snap, ns);
	if (!ret) {
		ns->swapping = true;
		swap(ns->set, snap->set);
		snap->tasks = perf_tasks_get(ns->tasks);
		if (req->clear)
			perf_set_gone(snap->set);
		swap_members(snap);
		req->swapped_mono = ktime_get_ns();
	} else {
		list_add(&snap->entry, &unused);
	}
	mutex_unlock(&perf_persist_lock);
	if (ret)
		goto out;

	/* Until nobody is in the middle of a record in one of the old buffers. */
	synchronize_rcu();
	if (move_others(snap))
		synchronize_rcu();
	if (!req->clear)
		copy_buffers(snap);

	mutex_lock(&perf_persist_lock);
	finish_members(snap);
	if (req->keep)
		ns->keep = req->keep;
	if (req->sizes.nr)
		perf_snapshot_members_changed(ns);
	else
		queue_spares(ns);
	if (req->clear) {
		list_add(&snap->entry, &unused);
	} else {
		req->ns_id = snap->id;
		req->number = snap->number;
		snap->trigger = req->trigger;
		list_add_tail(&snap->entry, &ns->snapshots);
		ns->nr_snapshots++;
		perf_persist_publish(snap);
		trim_snapshots(ns, &gone);
	}
	WRITE_ONCE(ns->swapping, false);
	set_all_wakeups(ns);
	perf_persist_changed(ns);
	mutex_unlock(&perf_persist_lock);

	remove_snapshots(&gone);
out:
	perf_snapshot_free_spares(&unused);
	return ret;
}

static long take_snapshot(struct perf_persist_ns *ns, struct perf_snapshot_request *req)
{
	guard(mutex)(&ns->snapshot_lock);
	return take_snapshot_locked(ns, req);
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
 * Return: 0, or see perf_snapshot_ioctl().
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
 * perf_snapshot_nr_spares - how many snapshots can be taken without allocating
 * @ns:		the namespace, with the lock held
 *
 * Return: the number of spares that fit what the namespace is now.
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

/**
 * perf_snapshot_resume - let the buffers of a namespace that was stopped go on
 * @ns:		the namespace, with the lock held
 */
void perf_snapshot_resume(struct perf_persist_ns *ns)
{
	struct perf_member *member;

	assert_registry();
	if (!READ_ONCE(ns->stopped))
		return;

	for_each_ns_member(member, ns) {
		u64 lost = atomic64_read(&member->event->lost_samples);

		/* A stop that comes before the next line finds it done up to here. */
		member->missed += lost - atomic64_read(&member->lost_at_stop);
		atomic64_set(&member->lost_at_stop, lost);
	}
	WRITE_ONCE(ns->stopped, false);
	/* Pairs with the second one in stop_buffers(): what it pauses now it pauses again. */
	smp_mb();
	for_each_ns_member(member, ns) {
		if (member->rb)
			rb_toggle_paused(member->rb, false);
	}
	/* A trigger that has stopped some of them meanwhile wins. */
	perf_trigger_follow(ns);
}

/*
 * The ioctls of a namespace
 */

/**
 * perf_is_snapshot_ioctl - is it for perf_snapshot_ioctl()
 * @cmd:	ioctl number
 *
 * Return: true if so, whatever size of its argument the caller knows of.
 */
bool perf_is_snapshot_ioctl(unsigned int cmd)
{
	return perf_same_ioctl(cmd, PERF_EVENT_IOC_SNAPSHOT) ||
	       perf_same_ioctl(cmd, PERF_EVENT_IOC_RESIZE) ||
	       cmd == PERF_EVENT_IOC_CLEAR || cmd == PERF_EVENT_IOC_SPARES;
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
	struct perf_snapshot_request req = { .user = true };
	struct perf_event_snapshot arg;
	long ret;

	ret = perf_persist_get_struct(&arg, sizeof(arg), PERF_EVENT_SNAPSHOT_SIZE_VER0, uarg);
	if (ret)
		return ret;

	if (arg.flags || arg.__reserved || arg.keep > PERF_PERSIST_KEEP_MAX)
		return -EINVAL;
	if (!resize && (arg.nr_sizes || arg.sizes))
		return -EINVAL;
	/* Find out whether the answer can be given before there is one. */
	if (put_user(0, &uarg->ns_id) || put_user(0, &uarg->number))
		return -EFAULT;

	req.keep = arg.keep;
	req.may_spend = perf_persist_may_spend(ns);
	if (resize) {
		ret = get_sizes(&req.sizes, &arg);
		if (ret)
			return ret;
	}

	ret = take_snapshot(ns, &req);
	if (resize)
		kvfree(req.sizes.sizes);
	if (!ret && (put_user(req.ns_id, &uarg->ns_id) || put_user(req.number, &uarg->number)))
		return -EFAULT;
	return ret;
}

/**
 * perf_snapshot_ioctl - the ioctls of a namespace that have to do with snapshots
 * @ns:		the namespace
 * @cmd:	SNAPSHOT, RESIZE, CLEAR or SPARES
 * @arg:	its argument
 *
 * Called without a lock, for a file that may be written to.
 *
 * Return: 0, or
 *  -EFAULT	@arg is no address that can be read and written
 *  -EINVAL	a size is out of range, or a field that must be 0 is not; RESIZE:
 *		not a member with a buffer of its own; SPARES: too many
 *  -E2BIG	the structure is larger than a page, or has fields that are not known
 *		here and not 0; its size now holds what the kernel knows
 *  -EOPNOTSUPP	it is a snapshot
 *  -EPERM	RESIZE, or more snapshots or spares than before, for somebody else's
 *		namespace and without CAP_IPC_LOCK; or the owner may not lock so
 *		much, see RLIMIT_MEMLOCK
 *  -EBUSY	readers have as many snapshots mapped that are deleted as there may be
 *		others; the kernel's log says who
 *  -ENOMEM	out of memory, or it would take more than half of what is available
 *  -ENOSPC	kernel.perf_event_max_persistent: too many members
 *  -ENODEV	the namespace was deleted
 */
long perf_snapshot_ioctl(struct perf_persist_ns *ns, unsigned int cmd, unsigned long arg)
{
	struct perf_snapshot_request clear = { .user = true, .clear = true };

	if (is_snapshot(ns))
		return -EOPNOTSUPP;
	if (cmd == PERF_EVENT_IOC_CLEAR)
		return arg ? -EINVAL : take_snapshot(ns, &clear);
	if (cmd == PERF_EVENT_IOC_SPARES)
		return set_spares(ns, arg);
	return snapshot_ioctl(ns, (void __user *)arg, perf_same_ioctl(cmd, PERF_EVENT_IOC_RESIZE));
}

/*
 * The file of a member of a snapshot: what is there can be mapped, and that is all.
 */

/**
 * perf_snapshot_fill_info - what only a member of a snapshot has
 * @info:	to be filled in
 * @member:	the member, with the lock held
 */
void perf_snapshot_fill_info(struct perf_event_persist *info, struct perf_member *member)
{
	struct perf_snapshot_member *sm = to_snapshot_member(member);
	struct perf_persist_ns *snap = member->ns;

	assert_registry();
	info->flags = PERF_PERSIST_SNAPSHOT;
	if (sm->output) {
		info->output_id = sm->output->m.event->id;
		info->buffer_size = sm->buffer_size;
		info->buffer_seq = sm->seq;
		info->head = sm->head;
		info->flags |= PERF_PERSIST_OVERWRITE;
	}
	info->lost = sm->lost;
	info->missed = sm->missed;
	info->source_id = snap->source->id;
	info->number = snap->number;
	info->trigger = snap->trigger;
}

/**
 * perf_snapshot_needs - what it takes to open the buffer of a member
 * @member:	a member of a snapshot
 *
 * Return: perf_buffer::needs of its buffer, or 0 if it has none of its own.
 */
unsigned int perf_snapshot_needs(struct perf_member *member)
{
	return READ_ONCE(member->rb) ? to_snapshot_member(member)->needs : 0;
}

/**
 * perf_snapshot_next_writer - who else wrote to the buffer of a member
 * @member:	a member of a snapshot that has one
 * @prev:	the last that was seen, NULL to start with
 *
 * Return: the next one, in any order, or NULL.
 */
struct perf_member *perf_snapshot_next_writer(struct perf_member *member,
					      struct perf_member *prev)
{
	struct perf_snapshot_member *sm;

	assert_registry();
	sm = prev ? to_snapshot_member(prev)->next_writer : to_snapshot_member(member)->output;
	return sm ? &sm->m : NULL;
}

static void snapshot_vm_open(struct vm_area_struct *vma)
{
	struct perf_buffer *rb = vma->vm_private_data;

	refcount_inc(&rb->refcount);
	atomic_inc(&rb->mmap_count);
}

static void snapshot_vm_close(struct vm_area_struct *vma)
{
	perf_persist_free_buffer(vma->vm_private_data);
}

/* As perf's own mappings, to keep the counts right */
static int snapshot_vm_may_split(struct vm_area_struct *vma, unsigned long addr)
{
	return -EINVAL;
}

static const struct vm_operations_struct snapshot_vm_ops = {
	.open		= snapshot_vm_open,
	.close		= snapshot_vm_close,
	.fault		= perf_mmap_fault,
	.may_split	= snapshot_vm_may_split,
};

/* What @sm has, mapped once more; NULL if it is gone, or was never there. */
static struct perf_buffer *map_buffer(struct perf_snapshot_member *sm)
{
	struct perf_buffer *rb;

	/* Who frees it waits for a grace period. */
	scoped_guard(rcu) {
		rb = READ_ONCE(sm->m.rb);
		if (!rb || !refcount_inc_not_zero(&rb->refcount))
			return NULL;
	}
	if (atomic_inc_not_zero(&rb->mmap_count))
		return rb;
	ring_buffer_put(rb); /* could be last */
	return NULL;
}

static int snapshot_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct perf_snapshot_member *sm = file->private_data;
	unsigned long nr_pages = vma_pages(vma) - 1;
	struct perf_buffer *rb;
	int ret;

	/* do_mmap() leaves VM_MAYSHARE alone on a file opened O_RDONLY. */
	if (!(vma->vm_flags & VM_MAYSHARE) || vma->vm_pgoff)
		return -EINVAL;
	if (vma->vm_flags & VM_WRITE)
		return -EACCES;
	ret = security_perf_event_read(sm->m.event);
	if (ret)
		return ret;
	if (!sm->own && !READ_ONCE(sm->m.rb))
		return -EBUSY;

	rb = map_buffer(sm);
	if (!rb)
		return -ENODEV;
	/* A reader may not know the size yet: page 0 tells. */
	if (nr_pages && nr_pages != data_page_nr(rb)) {
		perf_persist_free_buffer(rb);
		return -EINVAL;
	}

	perf_set_mapped(rb);
	vm_flags_mod(vma, VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP, VM_MAYWRITE);
	vma->vm_private_data = rb;
	vma->vm_ops = &snapshot_vm_ops;
	return 0;
}

/* As of an event whose task is gone: nothing more comes. */
static __poll_t snapshot_poll(struct file *file, poll_table *wait)
{
	return EPOLLHUP;
}

static ssize_t snapshot_read(struct file *file, char __user *buf, size_t count, loff_t *ppos)
{
	return 0;
}

static long snapshot_member_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct perf_snapshot_member *sm = file->private_data;
	struct perf_event *event = sm->m.event;
	void __user *argp = (void __user *)arg;
	int ret;

	if (!perf_is_get_persist(cmd) && !perf_same_ioctl(cmd, PERF_EVENT_IOC_ID))
		return -ENOTTY;

	ret = security_perf_event_read(event);
	if (ret)
		return ret;

	if (perf_is_get_persist(cmd))
		return perf_persist_get_info(event, &sm->m, argp);
	return put_user(event->id, (u64 __user *)argp);
}

static int snapshot_release(struct inode *inode, struct file *file)
{
	struct perf_snapshot_member *sm = file->private_data;

	perf_persist_put(sm->m.ns);
	return 0;
}

static const struct file_operations perf_snapshot_fops = {
	.release	= snapshot_release,
	.read		= snapshot_read,
	.poll		= snapshot_poll,
	.unlocked_ioctl	= snapshot_member_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.mmap		= snapshot_mmap,
};

/**
 * perf_snapshot_file - open a member of a snapshot
 * @member:	the member, with a reference on its namespace that the file takes over
 * @f_flags:	flags of the file
 *
 * Called without a lock.
 *
 * Return: the file, or an error.
 */
struct file *perf_snapshot_file(struct perf_member *member, int f_flags)
{
	struct perf_persist_ns *snap = member->ns;
	struct file *file;

	file = anon_inode_getfile("[perf_snapshot]", &perf_snapshot_fops,
				  to_snapshot_member(member), f_flags);
	if (IS_ERR(file))
		perf_persist_put(snap);
	return file;
}
