// SPDX-License-Identifier: GPL-2.0
/*
 * How much memory the buffers of a namespace take, whoever has them mapped.
 *
 * A set is the buffers that its members write to at the same time, one for each CPU
 * and more. A snapshot takes over the set that there is, and the members get another
 * one. The owner pays for all of them, and a set that was trimmed or deleted stays
 * for as long as a reader has it mapped. So the sets are counted, and there is a
 * limit to them.
 */
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/perf_event.h>
#include <linux/printk.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "internal.h"
#include "persistent_internal.h"

/**
 * struct perf_buffer_account - the sets of a namespace and of its snapshots
 * @refs:	one for each set
 * @lock:	protects all of it and of the sets; a leaf, taken with interrupts on
 * @nr:		sets in which there is a buffer that is mapped
 * @sets:	these sets, the oldest first
 * @rcu:	frees it
 */
struct perf_buffer_account {
	refcount_t		refs;
	spinlock_t		lock; /* of all below, and of the sets */
	unsigned int		nr;
	struct list_head	sets;
	struct rcu_head		rcu;
};

/**
 * struct perf_buffer_set - buffers that were written to at the same time
 * @refs:	one for each of its buffers, and one for the namespace or snapshot
 * @account:	what it is part of
 * @entry:	in perf_buffer_account::sets
 * @nr:		buffers that are mapped
 * @gone:	it was cleared, or is of a snapshot that was trimmed or deleted
 * @pid:	who mapped one of its buffers last, in the initial pid namespace, or 0
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

	set = kzalloc(sizeof(*set), GFP_KERNEL_ACCOUNT);
	if (!set)
		return NULL;

	if (account) {
		refcount_inc(&account->refs);
	} else {
		account = kzalloc(sizeof(*account), GFP_KERNEL_ACCOUNT);
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
 * perf_set_add - count a buffer, which is mapped, as part of a set
 * @set:	the set
 * @rb:		the buffer; one that is in a set already stays there
 * @max:	if @set has no buffer yet: so many sets there may be with it
 *
 * Return: 0, or -EBUSY.
 */
int perf_set_add(struct perf_buffer_set *set, struct perf_buffer *rb, unsigned int max)
{
	struct perf_buffer_account *account = set->account;
	int ret = 0;

	spin_lock(&account->lock);
	if (rb->set)
		goto unlock;
	if (!set->nr) {
		if (account->nr >= max) {
			ret = -EBUSY;
			goto unlock;
		}
		account->nr++;
		list_add_tail(&set->entry, &account->sets);
	}
	set->nr++;
	refcount_inc(&set->refs);
	WRITE_ONCE(rb->set, set);
unlock:
	spin_unlock(&account->lock);
	return ret;
}

/**
 * perf_set_remove - a buffer is not mapped any more
 * @rb:		the buffer
 *
 * Called without a lock, when nobody can map it again.
 */
void perf_set_remove(struct perf_buffer *rb)
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
 * perf_set_exchange - have two buffers of a namespace count as part of each other's set
 * @a:		one, which is mapped
 * @b:		the other, which is mapped, too
 *
 * A set is given away with all of its buffers. One that stays takes the place of its
 * copy in the other set.
 */
void perf_set_exchange(struct perf_buffer *a, struct perf_buffer *b)
{
	struct perf_buffer_set *set = a->set;

	/* One that is held by two namespaces counts in the other one. */
	if (!set || !b->set || set->account != b->set->account)
		return;

	spin_lock(&set->account->lock);
	WRITE_ONCE(a->set, b->set);
	WRITE_ONCE(b->set, set);
	spin_unlock(&set->account->lock);
}

/**
 * perf_set_mapped - note who maps a buffer, to say so when memory is short
 * @rb:		the buffer
 */
void perf_set_mapped(struct perf_buffer *rb)
{
	struct perf_buffer_set *set;

	/* The mapping that is being made does not count yet. */
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
 * perf_set_gone - nothing but mappings keeps a set from here on
 * @set:	the set
 */
void perf_set_gone(struct perf_buffer_set *set)
{
	spin_lock(&set->account->lock);
	set->gone = true;
	spin_unlock(&set->account->lock);
}

/**
 * perf_memory_left - may so much be allocated for buffers
 * @pages:	number of pages, all that are going to be allocated at once
 *
 * Order-0 allocations only fail when all is gone, and then others have nothing.
 *
 * Return: false if it is more than half of what is available.
 */
bool perf_memory_left(unsigned long pages)
{
	return pages <= si_mem_available() / 2;
}

/**
 * perf_set_report - say who keeps the memory of sets that are gone
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
		pr_notice_ratelimited("perf: persistent/%s/ takes no snapshot: %u of them are deleted but still mapped, the oldest by %s[%d]\n",
				      name, nr, set->pid ? set->comm : "its creator", set->pid);
		break;
	}
	spin_unlock(&account->lock);
}
