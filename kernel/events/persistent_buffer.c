// SPDX-License-Identifier: GPL-2.0
/*
 * Buffers of members: who holds them, who pays for them, and whom they wake up.
 *
 * The memory for buffers is limited, even if readers keep them mapped. A set is all
 * buffers that the members of a namespace write to at the same time, at least one for
 * each CPU. A snapshot takes over the present set, and the members get another one. The
 * owner pays for all sets, and a trimmed or deleted set stays as long as a reader has it
 * mapped. So the kernel counts the sets of a namespace, and limits their number.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/perf_event.h>
#include <linux/printk.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/sched/user.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/user_namespace.h>

#include "internal.h"
#include "persistent.h"
#include "persistent_internal.h"
#include "read.h"

/**
 * struct perf_buffer_account - the sets of a namespace and of its snapshots
 * @refs:	one for each set
 * @lock:	protects the account and its sets; no lock nests inside, and interrupts
 *		are on
 * @nr:		number of sets that have a mapped buffer
 * @sets:	these sets, the oldest first
 * @rcu:	frees it
 */
struct perf_buffer_account {
	refcount_t		refs;
	spinlock_t		lock; /* protects all below, and the sets */
	unsigned int		nr;
	struct list_head	sets;
	struct rcu_head		rcu;
};

/**
 * struct perf_buffer_set - buffers that were written to at the same time
 * @refs:	one for each of its buffers, and one for the namespace or snapshot
 * @account:	the account to which it belongs
 * @entry:	in perf_buffer_account::sets
 * @nr:		number of its buffers that are mapped
 * @gone:	it was cleared, or belongs to a snapshot that was trimmed or deleted
 * @pid:	process that mapped one of its buffers last, in the initial pid namespace, or 0
 * @comm:	name of that task
 * @rcu:	frees it
 */
struct perf_buffer_set {
	refcount_t			refs;
	struct perf_buffer_account	*account;
	struct list_head		entry;
	unsigned int			nr;
	bool				gone;
	pid_t				pid;
	char				comm[TASK_COMM_LEN];
	struct rcu_head			rcu;
};

/**
 * perf_set_alloc - allocate a set without buffers
 * @old:	another set of the same namespace, or NULL for its first one
 *
 * Return: the set, which perf_set_put() frees, or NULL.
 */
struct perf_buffer_set *perf_set_alloc(struct perf_buffer_set *old)
{
	struct perf_buffer_account *account = old ? old->account : NULL;
	struct perf_buffer_set *set;

	set = kzalloc(sizeof(*set), PERF_PERSIST_GFP | __GFP_ACCOUNT);
	if (!set)
		return NULL;

	if (account) {
		refcount_inc(&account->refs);
	} else {
		account = kzalloc(sizeof(*account), PERF_PERSIST_GFP | __GFP_ACCOUNT);
		if (!account) {
			kfree(set);
			return NULL;
		}
		refcount_set(&account->refs, 1);
		spin_lock_init(&account->lock);
		INIT_LIST_HEAD(&account->sets);
	}
	refcount_set(&set->refs, 1);
	INIT_LIST_HEAD(&set->entry);
	set->account = account;
	return set;
}

/**
 * perf_set_get - get a reference on a set
 * @set:	the set
 *
 * Return: the set.
 */
struct perf_buffer_set *perf_set_get(struct perf_buffer_set *set)
{
	refcount_inc(&set->refs);
	return set;
}

/**
 * perf_set_put - put a reference on a set
 * @set:	the set
 */
void perf_set_put(struct perf_buffer_set *set)
{
	if (!refcount_dec_and_test(&set->refs))
		return;
	if (refcount_dec_and_test(&set->account->refs))
		kfree_rcu(set->account, rcu);
	kfree_rcu(set, rcu);
}

/**
 * perf_set_has_room - may there be one more set
 * @set:	a set of the namespace
 * @max:	maximum number of sets that have a mapped buffer
 *
 * Call this before making buffers, so that a refused request uses no memory meanwhile.
 * The caller holds perf_persist_ns::snapshot_lock, so nobody else can add a set.
 *
 * Return: true if so.
 */
bool perf_set_has_room(struct perf_buffer_set *set, unsigned int max)
{
	bool ret;

	spin_lock(&set->account->lock);
	ret = set->account->nr < max;
	spin_unlock(&set->account->lock);
	return ret;
}

/**
 * perf_set_count - how many sets does a namespace have
 * @set:	one of them
 *
 * The set of a deleted snapshot counts as long as anybody has it open or mapped.
 *
 * Return: the number of sets.
 */
unsigned int perf_set_count(struct perf_buffer_set *set)
{
	return refcount_read(&set->account->refs);
}

/**
 * perf_set_add - count a buffer, which is mapped, as part of a set
 * @set:	the set
 * @rb:		the buffer; if it is in a set already, it stays there
 */
void perf_set_add(struct perf_buffer_set *set, struct perf_buffer *rb)
{
	struct perf_buffer_account *account = set->account;

	spin_lock(&account->lock);
	if (!rb->set) {
		if (!set->nr++) {
			account->nr++;
			list_add_tail(&set->entry, &account->sets);
		}
		refcount_inc(&set->refs);
		WRITE_ONCE(rb->set, set);
	}
	spin_unlock(&account->lock);
}

/* @rb is not mapped any more, and nobody can map it again. */
static void remove_from_set(struct perf_buffer *rb)
{
	struct perf_buffer_set *set = rb->set;

	if (!set)
		return;

	spin_lock(&set->account->lock);
	WRITE_ONCE(rb->set, NULL);
	if (!--set->nr) {
		set->account->nr--;
		list_del_init(&set->entry);
	}
	spin_unlock(&set->account->lock);
	perf_set_put(set);
}

/**
 * perf_set_move - count a buffer as part of another set of the same namespace
 * @set:	the other set
 * @rb:		the buffer, which nobody has mapped but the caller
 */
void perf_set_move(struct perf_buffer_set *set, struct perf_buffer *rb)
{
	remove_from_set(rb);
	perf_set_add(set, rb);
}

/**
 * perf_set_exchange - have two buffers of a namespace count as part of each other's set
 * @a:		one, which is mapped
 * @b:		the other, which is mapped, too
 *
 * A snapshot takes over a whole set. A buffer that stays in use then changes places with
 * its copy in the other set.
 */
void perf_set_exchange(struct perf_buffer *a, struct perf_buffer *b)
{
	struct perf_buffer_set *set = a->set;

	/* A buffer that two namespaces hold may count in the other namespace. */
	if (!set || !b->set || set->account != b->set->account)
		return;

	spin_lock(&set->account->lock);
	WRITE_ONCE(a->set, b->set);
	WRITE_ONCE(b->set, set);
	spin_unlock(&set->account->lock);
}

/**
 * perf_set_mapped - note who maps a buffer, for perf_set_report()
 * @rb:		the buffer
 */
void perf_set_mapped(struct perf_buffer *rb)
{
	struct perf_buffer_set *set;

	/* The set may be freed: the mapping that is being made does not keep it yet. */
	guard(rcu)();
	set = READ_ONCE(rb->set);
	if (!set)
		return;

	spin_lock(&set->account->lock);
	set->pid = task_tgid_nr(current);
	strscpy(set->comm, current->comm);
	spin_unlock(&set->account->lock);
}

/**
 * perf_set_gone - from here on, only mappings of readers keep a set
 * @set:	the set
 */
void perf_set_gone(struct perf_buffer_set *set)
{
	spin_lock(&set->account->lock);
	set->gone = true;
	spin_unlock(&set->account->lock);
}

/**
 * perf_set_report - log which process keeps the memory of sets that are gone
 * @set:	a set of the namespace
 * @name:	name of the namespace
 */
void perf_set_report(struct perf_buffer_set *set, const char *name)
{
	struct perf_buffer_account *account = set->account;
	unsigned int nr = 0;

	spin_lock(&account->lock);
	list_for_each_entry(set, &account->sets, entry)
		nr += set->gone;
	list_for_each_entry(set, &account->sets, entry) {
		if (!set->gone)
			continue;
		pr_notice_ratelimited("perf: persistent/%s/: no snapshot: %u deleted snapshots are still mapped, the oldest by %s[%d]\n",
				      name, nr, set->pid ? set->comm : "its creator", set->pid);
		break;
	}
	spin_unlock(&account->lock);
}

/*
 * Waking up readers
 */

/* Space for the largest record in each of the contexts that can interrupt each other */
#define PERF_RECORDS_NESTED	(4 * SZ_64K)

/* Set the default watermark of ring_buffer_init(), if readers were not woken so far. */
static void reset_watermark(struct perf_buffer *rb)
{
	unsigned long head;

	assert_registry();
	if (rb->watermark != LONG_MAX)
		return;

	/*
	 * rb->wakeup has not moved meanwhile, and each record would wake up readers until
	 * it has caught up. So set it. Writers do not touch it as long as the watermark is
	 * LONG_MAX. It must not be ahead of records that have begun. The head counts down.
	 *
	 * Do not ask the CPU that writes: it may be locked up. All CPUs see that an x86 CPU
	 * increments rb->nest before it moves the head.
	 */
	head = local_read(&rb->head);
	smp_rmb(); /* On x86, the order of the writer's stores is enough to pair with this. */
	if (!IS_ENABLED(CONFIG_X86) || READ_ONCE(rb->nest))
		head += PERF_RECORDS_NESTED;
	local_set(&rb->wakeup, -head);
	/* Matches smp_load_acquire() in __perf_output_begin(). */
	smp_store_release(&rb->watermark, max(perf_data_size(rb) / 2, 1UL));
}

/* Has anybody but the namespace @event open, and could poll() it? */
static bool is_open(struct perf_event *event)
{
	struct perf_member *member = event->member;

	return !member || refcount_read(&member->openers) > member->held;
}

/*
 * Could anybody poll() for records in the buffer of @event? The search begins at @event: if
 * a process closes its events one after the other, it finds the next open one at once.
 */
static bool is_watched(struct perf_event *event, struct perf_buffer *rb)
{
	struct perf_event *other = event;

	guard(rcu)();
	list_for_each_entry_from_rcu(other, &rb->event_list, rb_entry) {
		if (is_open(other))
			return true;
	}
	list_for_each_entry_rcu(other, &rb->event_list, rb_entry) {
		if (other == event)
			break;
		if (is_open(other))
			return true;
	}
	return false;
}

/**
 * perf_persist_set_wakeups - decide whether writers to a buffer wake up readers
 * @member:	a member of a namespace, with the lock held
 *
 * They do if the creator asked for it, or if somebody has an event open that writes to the
 * buffer. Otherwise each half of the buffer would cost an interrupt for nothing. While a
 * snapshot is replacing buffers, this is not known; take_snapshot() calls this at its end.
 */
void perf_persist_set_wakeups(struct perf_member *member)
{
	struct perf_buffer *rb = member->event->rb;
	struct perf_event *owner;

	assert_registry();
	if (!rb || !rb->owner || rb->owner->ns->swapping)
		return;

	owner = rb->owner->event;
	if (owner->attr.watermark || owner->attr.wakeup_events)
		return;

	if (is_watched(member->event, rb))
		reset_watermark(rb);
	else
		WRITE_ONCE(rb->watermark, LONG_MAX);
}

/**
 * perf_persist_opener_gone - perf_persist_set_wakeups() after an opener is gone
 * @member:	a member of a namespace, with the lock held
 *
 * A listing opens each member for a moment. If nobody is woken up anyway, it does not search
 * all writers of the buffer each time.
 */
void perf_persist_opener_gone(struct perf_member *member)
{
	struct perf_buffer *rb = member->event->rb;

	assert_registry();
	if (rb && READ_ONCE(rb->watermark) != LONG_MAX)
		perf_persist_set_wakeups(member);
}

/*
 * Who holds a buffer
 */

/**
 * perf_persist_buffer_owner - find the member that keeps a buffer mapped
 * @ns:		the namespace, which is settled
 * @rb:		the buffer
 *
 * Return: the member; NULL if no member of @ns does.
 */
struct perf_member *perf_persist_buffer_owner(struct perf_persist_ns *ns, struct perf_buffer *rb)
{
	assert_registry();
	return rb->owner && rb->owner->ns == ns ? rb->owner : NULL;
}

/**
 * perf_member_set_buffer - a member keeps a buffer mapped from here on
 * @member:	the member, with the lock held
 * @rb:		the buffer, which no other member keeps; the member takes over one
 *		mapping from the caller
 */
void perf_member_set_buffer(struct perf_member *member, struct perf_buffer *rb)
{
	assert_registry();
	perf_set_add(member->ns->set, rb);
	WRITE_ONCE(rb->held, true);
	member->rb = rb;
	rb->owner = member;
}

/**
 * perf_member_clear_buffer - undo perf_member_set_buffer()
 * @member:	the member, with the lock held
 *
 * The caller unmaps the buffer when it has dropped the lock.
 */
void perf_member_clear_buffer(struct perf_member *member)
{
	struct perf_buffer *rb = member->rb;

	assert_registry();
	WRITE_ONCE(rb->held, false);
	if (member->state != PERF_MEMBER_DELETED)
		reset_watermark(rb);
	remove_from_set(rb);
	member->rb = NULL;
	rb->owner = NULL;
}

/**
 * perf_buffer_next_writer - the next published member that writes to a buffer
 * @rb:		the buffer
 * @prev:	the previous one, or NULL to start with; it stays in the list, as the
 *		caller holds the lock
 *
 * Return: the member, or NULL.
 */
struct perf_member *perf_buffer_next_writer(struct perf_buffer *rb, struct perf_member *prev)
{
	struct perf_event *event;

	assert_registry();
	guard(rcu)();
	event = prev ? prev->event : list_entry(&rb->event_list, struct perf_event, rb_entry);
	list_for_each_entry_continue_rcu(event, &rb->event_list, rb_entry) {
		if (event->member && READ_ONCE(event->member->state) == PERF_MEMBER_PUBLISHED)
			return event->member;
	}
	return NULL;
}

/**
 * perf_member_buffer_needed - would others lose their buffer with a member
 * @member:	the member, with the lock held
 *
 * Return: true if it keeps a buffer mapped that other members of its namespace
 * write to.
 */
bool perf_member_buffer_needed(struct perf_member *member)
{
	struct perf_event *event;

	assert_registry();
	if (!member->rb)
		return false;

	guard(rcu)();
	list_for_each_entry_rcu(event, &member->rb->event_list, rb_entry) {
		struct perf_member *other = event->member;

		if (other && other != member && other->ns == member->ns)
			return true;
	}
	return false;
}

/*
 * Locked memory
 *
 * perf_mmap() charges pages over the limit of perf_event_mlock_kb to the mm that
 * maps the buffer. This charge would go with the process. So publishing moves it
 * to the user, where it stays as long as anybody maps the buffer.
 */

/* @limit is in bytes. Like perf_mmap(), this asks for the capability only if it matters. */
static bool may_lock(unsigned long pages, unsigned long limit)
{
	return pages <= limit >> PAGE_SHIFT || !perf_is_paranoid() || capable(CAP_IPC_LOCK);
}

/*
 * Returns -1 if a user namespace does not allow it. The caller must call
 * perf_persist_uncharge() in this case, too.
 */
static long charge_pages(struct ucounts *ucounts, long pages, struct ucounts **charged)
{
	long total;

	*charged = get_ucounts(ucounts);
	if (!*charged)
		return -1;

	/* In pages, as in user_shm_lock() */
	total = inc_rlimit_ucounts(*charged, UCOUNT_RLIMIT_MEMLOCK, pages);
	return total == LONG_MAX ? -1 : total;
}

/**
 * perf_persist_uncharge - undo perf_persist_charge()
 * @charged:	what it returned, or NULL
 * @pages:	the same as there
 */
void perf_persist_uncharge(struct ucounts *charged, long pages)
{
	if (!charged)
		return;

	dec_rlimit_ucounts(charged, UCOUNT_RLIMIT_MEMLOCK, pages);
	put_ucounts(charged);
}

/**
 * perf_persist_charge - have the owner of a namespace pay for memory
 * @ns:		the namespace
 * @pages:	how much
 *
 * The caller has checked perf_persist_may_spend(), or has the creds of the owner.
 *
 * Return: the argument for perf_persist_uncharge(), or -EPERM beyond RLIMIT_MEMLOCK.
 */
struct ucounts *perf_persist_charge(struct perf_persist_ns *ns, long pages)
{
	struct ucounts *charged;
	long total;

	total = charge_pages(ns->cred->ucounts, pages, &charged);
	if (total >= 0 && may_lock(total, ns->memlock))
		return charged;

	perf_persist_uncharge(charged, pages);
	return ERR_PTR(-EPERM);
}

static void uncharge_ucounts(struct perf_buffer *rb)
{
	perf_persist_uncharge(rb->mmap_ucounts, rb->mmap_locked);
	rb->mmap_ucounts = NULL;
}

/**
 * perf_member_charge - have the owner pay for the buffer that a member keeps mapped
 * @member:	the member, with the lock held
 *
 * As long as the namespace has no name, the owner is the caller. The mm that mapped the
 * buffer remains charged until perf_member_settle_charge(). Before that,
 * perf_member_uncharge() undoes the charge.
 *
 * Return: 0, or -EPERM beyond RLIMIT_MEMLOCK.
 */
int perf_member_charge(struct perf_member *member)
{
	struct perf_persist_ns *ns = member->ns;
	struct ucounts *ucounts = ns->published ? ns->cred->ucounts : current_ucounts();
	unsigned long limit = ns->published ? ns->memlock : rlimit(RLIMIT_MEMLOCK);
	struct perf_buffer *rb = member->rb;
	struct ucounts *charged;
	long total;

	assert_registry();
	if (!rb || !rb->mmap_locked || rb->mmap_ucounts == ucounts)
		return 0;

	total = charge_pages(ucounts, rb->mmap_locked, &charged);
	if (total < 0 || !may_lock(total, limit)) {
		perf_persist_uncharge(charged, rb->mmap_locked);
		return -EPERM;
	}

	/* If it comes from a namespace of another owner, that one does not pay any more. */
	uncharge_ucounts(rb);
	rb->mmap_ucounts = charged;
	return 0;
}

/**
 * perf_member_uncharge - undo perf_member_charge(), unless its charge is settled
 * @member:	the member, with the lock held
 */
void perf_member_uncharge(struct perf_member *member)
{
	assert_registry();
	if (member->rb && member->rb->mmap_mm)
		uncharge_ucounts(member->rb);
}

/**
 * perf_member_settle_charge - release the mm that paid for the buffer of a member
 * @member:	the member, with the lock held, after perf_member_charge()
 */
void perf_member_settle_charge(struct perf_member *member)
{
	struct perf_buffer *rb = member->rb;

	assert_registry();
	if (!rb || !rb->mmap_mm)
		return;

	atomic64_sub(rb->mmap_locked, &rb->mmap_mm->pinned_vm);
	mmdrop(rb->mmap_mm);
	rb->mmap_mm = NULL;
}

/**
 * perf_persistent_unmapped - a buffer that was persistent is not mapped any more
 * @rb:		the buffer
 *
 * Called without a lock.
 */
void perf_persistent_unmapped(struct perf_buffer *rb)
{
	uncharge_ucounts(rb);
	remove_from_set(rb);
}

/**
 * perf_persist_new_buffer - make a buffer that the owner of a namespace pays for
 * @ns:		the namespace
 * @event:	the event whose CPU and watermark the buffer gets
 * @nr_pages:	number of its data pages
 *
 * Called without a lock, with the creds of @ns. The buffer counts as mapped
 * once; perf_persist_free_buffer() undoes that. As its size may be anything and
 * nobody depends on it, no task is killed to make room for it.
 *
 * Return: the buffer, or
 *  -ENOMEM	out of memory; callers should check perf_memory_left() first
 *  -EPERM	the owner may not lock so much
 */
struct perf_buffer *perf_persist_new_buffer(struct perf_persist_ns *ns, struct perf_event *event,
					    unsigned int nr_pages)
{
	unsigned long pages = nr_pages + 1UL;
	struct ucounts *ucounts;
	struct perf_buffer *rb;

	/* Charge before so much memory is allocated and zeroed. */
	ucounts = perf_persist_charge(ns, pages);
	if (IS_ERR(ucounts))
		return ERR_CAST(ucounts);

	rb = rb_alloc(nr_pages, event->attr.watermark ? event->attr.wakeup_watermark : 0,
		      event->cpu, RING_BUFFER_MAY_FAIL);
	if (!rb) {
		perf_persist_uncharge(ucounts, pages);
		return ERR_PTR(-ENOMEM);
	}

	rb->mmap_locked = pages;
	rb->mmap_ucounts = ucounts;
	/* Drop a user that rb_alloc() may have set: the owner pays, not the caller. */
	free_uid(rb->mmap_user);
	rb->mmap_user = get_uid(ns->cred->user);
	refcount_set(&rb->mmap_count, 1);
	return rb;
}

/**
 * perf_persist_renew_buffer - make a buffer like a new one, for the same event
 * @rb:		the buffer, which nobody has mapped or writes to; it counts as mapped
 *		once from here on
 *
 * The same user continues to pay for it.
 */
void perf_persist_renew_buffer(struct perf_buffer *rb)
{
	int i;

	for (i = 0; i < rb->nr_pages; i++) {
		memset(rb->data_pages[i], 0, PAGE_SIZE << page_order(rb));
		cond_resched();
	}
	memset(rb->user_page, 0, PAGE_SIZE);
	local_set(&rb->head, 0);
	local_set(&rb->events, 0);
	local_set(&rb->wakeup, 0);
	local_set(&rb->lost, 0);
	/* A task may have died in the middle of a record. */
	rb->nest = 0;
	rb->in_place = 0;
	atomic_set(&rb->poll, 0);
	rb_toggle_paused(rb, false);
	WRITE_ONCE(rb->shared, RB_NOT_SHARED);
	if (rb->watermark == LONG_MAX)
		WRITE_ONCE(rb->watermark, max(perf_data_size(rb) / 2, 1UL));
	WRITE_ONCE(rb->held, false);
	rb->owner = NULL;
	atomic_set(&rb->needs, 0);
	/* A reader that maps it must see it empty, see perf_member_map_buffer(). */
	smp_wmb();
	refcount_set(&rb->mmap_count, 1);
}

/**
 * perf_member_map_buffer - count as one more mapping of the buffer of a member
 * @member:	the member, which the caller keeps from going away
 *
 * Called with or without the lock. perf_persist_free_buffer() undoes it.
 *
 * Return: the buffer, with a reference; NULL if it is gone, or was never there.
 */
struct perf_buffer *perf_member_map_buffer(struct perf_member *member)
{
	struct perf_buffer *rb;

	/* A grace period must pass before the buffer is freed or used again. */
	scoped_guard(rcu) {
		rb = READ_ONCE(member->rb);
		if (!rb || !refcount_inc_not_zero(&rb->refcount))
			return NULL;
		if (refcount_inc_not_zero(&rb->mmap_count)) {
			/* Pairs with smp_wmb() in perf_persist_renew_buffer(). */
			smp_acquire__after_ctrl_dep();
			return rb;
		}
	}
	ring_buffer_put(rb); /* could be last */
	return NULL;
}

/**
 * perf_persist_free_buffer - drop a mapping of and a reference on a buffer
 * @rb:		the buffer, which stays as long as others have it mapped
 *
 * Called without a lock.
 */
void perf_persist_free_buffer(struct perf_buffer *rb)
{
	perf_mmap_put(NULL, rb);
	ring_buffer_put(rb); /* could be last */
}
