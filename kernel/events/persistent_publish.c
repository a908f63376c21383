// SPDX-License-Identifier: GPL-2.0
/*
 * How events enter and leave a namespace: create, publish, join, claim, delete. The ioctls
 * of persistent events do this, and so do namespaces that the kernel makes.
 *
 * Only its creator can use a namespace that has no name. Publishing a namespace makes it
 * hold all of its members or none.
 */
#include <linux/capability.h>
#include <linux/cpumask.h>
#include <linux/cred.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/pid.h>
#include <linux/rculist.h>
#include <linux/resource.h>
#include <linux/sched/signal.h>
#include <linux/security.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "internal.h"
#include "persistent.h"
#include "persistent_internal.h"
#include "read.h"

/* A process that is another user now would pay for the first buffers, the creator for others. */
static bool is_creator(struct perf_persist_ns *ns)
{
	return ns->creator == task_tgid(current) && uid_eq(ns->cred->euid, current_euid()) &&
	       ns->cred->ucounts == current_ucounts();
}

/*
 * Call @func for each member of a published namespace, without the lock.
 */
static void walk_members(struct perf_persist_ns *ns, void (*func)(struct perf_event *))
{
	struct perf_member *member;
	struct perf_event *event;
	u64 event_id = 0;

	for (;;) {
		mutex_lock(&perf_persist_lock);
		member = ns->unlinked ? NULL : perf_persist_next_member(ns, event_id);
		if (member)
			refcount_inc(&member->openers); /* at least one: it is held */
		mutex_unlock(&perf_persist_lock);
		if (!member)
			return;

		event = member->event;
		event_id = event->id;
		func(event);
		perf_persist_put_opener(event);
	}
}

/*
 * Groups, AUX areas, signals to a task and deferred call chains all need more to stay alive
 * than an event and its buffer.
 */
static bool may_be_persistent(struct perf_event *event)
{
	const struct perf_event_attr *attr = &event->attr;

	lockdep_assert_held(&event->ctx->mutex);

	return event->group_leader == event && !event->nr_siblings &&
	       !(event->event_caps & PERF_EV_CAP_SIBLING) &&
	       !has_aux(event) && !has_aux_action(event) &&
	       !attr->aux_output && !attr->aux_sample_size && !attr->sigtrap &&
	       !has_deferred_callchain(attr);
}

/*
 * From here on only the caller can make @member join, and nobody can add a sibling. The
 * tracepoint exists until the event is deleted; snapshots need its format even later.
 */
static int start_joining(struct perf_member *member)
{
	struct perf_event *event = member->event;
	struct perf_event_context *ctx;
	int ret = 0;

	ctx = perf_event_ctx_lock(event);
	/* Pairs with smp_store_release() in perf_member_remove(). */
	switch (smp_load_acquire(&member->state)) {
	case PERF_MEMBER_NONE:
		/* As for any other ioctl(), if a driver has taken its PMU away */
		if (!event->pmu)
			ret = -ENODEV;
		else if (!may_be_persistent(event))
			ret = -EOPNOTSUPP;
		else if (!member->format)
			ret = perf_format_get(event, &member->format);
		if (!ret)
			WRITE_ONCE(member->state, PERF_MEMBER_JOINING);
		break;
	case PERF_MEMBER_DELETED:
		ret = -ENODEV;
		break;
	default:
		ret = -EBUSY;
		break;
	}
	perf_event_ctx_unlock(event, ctx);

	/* perf_stop_now() may still be looking at it in the list of another namespace. */
	if (!ret)
		cond_synchronize_rcu(member->left);
	return ret;
}

/* The part of publishing @event that must run without perf_persist_lock. */
static void finish_publishing(struct perf_event *event)
{
	perf_remove_from_owner(event);
	/* Its CPU may have gone offline and come back before it was published. */
	perf_persist_reinstall(event);
}

/*
 * Publish all members or none. After an error the caller must drop the lock and
 * call release_unpublished().
 */
static int publish_ns(struct perf_persist_ns *ns, const char *name)
{
	struct perf_persist_ns *other = perf_persist_find_name(name);
	struct perf_member *member, *next;
	int ret;

	assert_registry();

	if (other && other != ns)
		return -EEXIST;

	for (member = first_member(ns); member; member = next) {
		next = following_member(member);

		ret = perf_member_hold(member);
		if (ret)
			goto err_members;
		/* Its last file is being closed. Others remain: the caller has one open. */
		if (!member->held)
			perf_member_remove(member);
	}

	for_each_ns_member(member, ns) {
		ret = perf_member_check_output(member);
		if (ret)
			goto err_members;
	}

	for_each_ns_member(member, ns) {
		ret = perf_member_charge(member);
		if (ret)
			goto err_charges;
	}

	if (!other)
		strscpy_pad(ns->name, name);
	ret = perf_persist_take_name(ns);
	if (ret)
		goto err_name;

	for_each_ns_member(member, ns)
		perf_member_settle_charge(member);
	ns->memlock = rlimit(RLIMIT_MEMLOCK);
	ns->published = true;
	/* Until now, the reserved name counted as one member. */
	if (other)
		perf_persist_unreserve_members(1);
	perf_persist_published(ns);
	perf_persist_changed(ns);
	return 0;

err_name:
	if (!other)
		ns->name[0] = '\0';
err_charges:
	for_each_ns_member(member, ns)
		perf_member_uncharge(member);
err_members:
	for_each_ns_member(member, ns)
		perf_member_set_state(member, PERF_MEMBER_JOINED);
	return ret;
}

/*
 * Release the members that a failed publish_ns() held. If another thread publishes
 * @ns meanwhile, it takes over the members that are still held.
 */
static void release_unpublished(struct perf_persist_ns *ns)
{
	struct perf_held hold;
	struct perf_member *member;
	u64 event_id = 0;

	do {
		hold = (struct perf_held){ };

		mutex_lock(&perf_persist_lock);
		member = ns->published ? NULL : perf_persist_next_member(ns, event_id);
		if (member) {
			event_id = member->event->id;
			hold = perf_member_unhold(member);
		}
		mutex_unlock(&perf_persist_lock);

		perf_member_release(hold);
	} while (member);
}

/* Called after publish_ns(), without the lock. */
static void end_publishing(struct perf_persist_ns *ns, int ret)
{
	if (ret) {
		release_unpublished(ns);
		return;
	}
	walk_members(ns, finish_publishing);
	perf_persist_appeared(ns);
}

/**
 * perf_persist_publish - publish a namespace under the name that it has reserved
 * @ns:		the namespace, with a reference of the caller's
 *
 * Called without a lock, by a caller that is an opener of all members.
 *
 * Return: 0, or
 *  -ENODEV	it was discarded
 *  -ENOSPC	over the limit kernel.perf_event_max_persistent
 *  -ENOMEM	out of memory
 */
long perf_persist_publish(struct perf_persist_ns *ns)
{
	long ret;

	mutex_lock(&perf_persist_lock);
	ret = ns->unlinked ? -ENODEV : publish_ns(ns, ns->name);
	mutex_unlock(&perf_persist_lock);

	end_publishing(ns, ret);
	return ret;
}

/**
 * perf_persist_discard - free the name of a namespace that was not published
 * @ns:		the namespace, with a reference of the caller's
 *
 * Called without a lock. Does nothing if it was published or unlinked meanwhile.
 */
void perf_persist_discard(struct perf_persist_ns *ns)
{
	bool unlink;

	mutex_lock(&perf_persist_lock);
	unlink = !ns->published && !ns->unlinked;
	/*
	 * It has no name if perf_persist_reserve_name() failed. Then its creator may have found
	 * it by its id, and the last member that leaves unlinks it.
	 */
	if (perf_persist_is_reserved(ns))
		perf_persist_unreserve_members(unlink);
	else
		unlink &= RB_EMPTY_ROOT(&ns->members);
	if (unlink)
		perf_persist_unlink(ns);
	mutex_unlock(&perf_persist_lock);

	if (unlink)
		perf_persist_remove(ns);
}

static int create_ns(struct perf_member *member)
{
	struct perf_persist_ns *ns;

	assert_registry();

	if (!perf_persist_is_ready())
		return -ENODEV;
	ns = perf_persist_new();
	if (!ns)
		return -ENOMEM;

	ns->all_cpus = member->all_cpus;
	perf_member_add(ns, member);

	return member->name ? publish_ns(ns, member->name) : 0;
}

/* Only its creator can join a namespace that has no name yet. */
static int join_unnamed(struct perf_member *member, u64 id)
{
	struct perf_persist_ns *ns = perf_persist_find(id);

	assert_registry();
	if (!ns || ns->published || perf_persist_is_reserved(ns) || !is_creator(ns))
		return -ENOENT;
	if (member->name)
		return -EINVAL;

	perf_member_add(ns, member);
	return 0;
}

/*
 * When a member that came for a trigger leaves with it, others would lose its buffer. Refuse it
 * before it is added: if it left at once, all spares would go.
 */
static int check_buffer(struct perf_member *member, struct perf_persist_ns *ns)
{
	struct perf_buffer *rb;

	if (!member->for_trigger)
		return 0;
	guard(mutex)(&member->event->mmap_mutex);
	rb = member->event->rb;
	return !rb || perf_persist_buffer_owner(ns, rb) ? 0 : -EINVAL;
}

/* Called after perf_persist_settle(@ns), with the lock still held. */
static int join_published(struct perf_member *member, struct perf_persist_ns *ns)
{
	int ret;

	assert_registry();
	/* If the last ordinary member has left, the namespace is going away. */
	if (ns->unlinked || !first_ordinary_member(ns))
		return -ENODEV;
	if (member->name && strcmp(member->name, ns->name))
		return -EINVAL;

	ret = perf_persist_may_write(ns);
	if (!ret)
		ret = perf_persist_owner_may_write(ns, member->event);
	if (!ret)
		ret = check_buffer(member, ns);
	if (ret)
		return ret;

	perf_member_add(ns, member);
	ret = perf_member_hold(member);
	/* It may have got a buffer since check_buffer(). */
	if (!ret && member->for_trigger && member->rb)
		ret = -EINVAL;
	if (!ret)
		ret = perf_member_check_output(member);
	/* A published member cannot be redirected, so this does not change any more. */
	if (!ret && !member->kept && READ_ONCE(member->event->rb)) {
		member->kept = true;
		perf_persist_members_changed(ns, true);
	}
	if (!ret)
		ret = perf_member_charge(member);
	if (!ret) {
		perf_member_settle_charge(member);
		perf_persist_buffers_changed(ns);
	}
	return ret;
}

/* The first part of leaving, before perf_member_remove() */
static void begin_leaving(struct perf_leaving *leaving, struct perf_member *member,
			  struct perf_held *hold)
{
	assert_registry();
	perf_member_set_state(member, PERF_MEMBER_JOINING);
	*hold = perf_member_unhold(member);
	perf_persist_leaving(leaving, member->ns, member);
}

/* The last part of leaving, without the lock. The caller is an opener of the event. */
static void finish_leaving(struct perf_leaving *leaving, struct perf_held hold,
			   struct perf_persist_ns *gone)
{
	perf_persist_left(leaving);
	perf_member_release(hold);
	if (gone)
		perf_persist_remove(gone);
}

/*
 * Finish what start_joining() began; @ret tells whether the member could join. Drops the
 * lock. If @ret is 0, @member takes over @absent.
 */
static void end_joining(struct perf_member *member, int ret, struct cpumask *absent)
{
	struct perf_leaving leaving = { };
	struct perf_persist_ns *gone = NULL;
	struct perf_held hold = { };
	struct perf_persist_ns *ns = NULL;

	assert_registry();
	if (!ret) {
		if (member->ns->published)
			ns = get_persist_ns(member->ns);
		kfree(member->name);
		member->absent = absent; /* shares its memory with the name */
	} else if (member->ns) {
		/* It was a member for a moment: a trigger may have stopped its buffer. */
		begin_leaving(&leaving, member, &hold);
		gone = perf_member_remove(member);
	} else {
		perf_member_set_state(member, PERF_MEMBER_NONE);
	}
	mutex_unlock(&perf_persist_lock);

	if (leaving.ns)
		finish_leaving(&leaving, hold, gone);
	if (ns) {
		finish_publishing(member->event);
		perf_persist_appeared(ns);
		perf_persist_put(ns);
	}
}

/**
 * perf_persist_event - PERF_EVENT_IOC_SET_PERSIST with an address
 * @event:	the event, which may be changed by the caller
 * @uid:	in: id of an unnamed namespace, or ~0 for a new one; out: the id
 *
 * Called without a lock.
 *
 * Return: 0, or see perf_persistent_ioctl().
 */
long perf_persist_event(struct perf_event *event, u64 __user *uid)
{
	struct perf_member *member = event->member;
	u64 id;
	int ret;

	/* Check that the answer can be written before anything is changed. */
	if (get_user(id, uid) || put_user(id, uid))
		return -EFAULT;

	ret = start_joining(member);
	if (ret)
		return ret;

	mutex_lock(&perf_persist_lock);
	ret = id == PERF_PERSIST_NEW ? create_ns(member) : join_unnamed(member, id);
	if (!ret)
		id = member->ns->id;
	end_joining(member, ret, NULL);

	if (!ret && put_user(id, uid))
		return -EFAULT;
	return ret;
}

/**
 * perf_persist_add_new - make an event a member of a namespace that has no name yet
 * @ns:		the namespace, whose creator the caller is
 * @event:	the event, of which the caller is an opener
 *
 * Called without a lock.
 *
 * Return: 0, -EOPNOTSUPP for an event that cannot be a member, -ENODEV if the namespace was
 * deleted or the PMU is gone, or -ENOMEM.
 */
int perf_persist_add_new(struct perf_persist_ns *ns, struct perf_event *event)
{
	int ret;

	ret = start_joining(event->member);
	if (ret)
		return ret;

	mutex_lock(&perf_persist_lock);
	if (ns->unlinked)
		ret = -ENODEV;
	else
		perf_member_add(ns, event->member);
	end_joining(event->member, ret, NULL);
	return ret;
}

/*
 * Find the CPUs that must get the same event as @member when they come online. CPUs that
 * are just coming online are included: they may have got their other events already.
 */
static int find_absent(struct perf_persist_ns *ns, struct perf_member *member,
		       struct cpumask **absent)
{
	assert_registry();
	if (!ns->all_cpus || member->for_trigger ||
	    cpumask_subset(cpu_possible_mask, cpu_active_mask))
		return 0;

	*absent = kmalloc(cpumask_size(), PERF_PERSIST_GFP);
	if (!*absent)
		return -ENOMEM;
	cpumask_andnot(*absent, cpu_possible_mask, cpu_active_mask);
	cpumask_clear_cpu(member->event->cpu, *absent);
	return 0;
}

/**
 * perf_persist_join - make an event a member of a published namespace
 * @ns:		the namespace, which may be changed by the caller
 * @event:	the event; the caller is an opener and may change it
 * @for_trigger: it comes for a trigger, and leaves with it
 *
 * Called without a lock.
 *
 * Return: 0, or see perf_persist_file_ioctl().
 */
int perf_persist_join(struct perf_persist_ns *ns, struct perf_event *event, bool for_trigger)
{
	struct cpumask *absent = NULL;
	int ret;

	ret = event->member ? start_joining(event->member) : -EOPNOTSUPP;
	if (ret)
		return ret;

	/* A snapshot that is being prepared must not have to begin again, and again. */
	mutex_lock(&ns->snapshot_lock);
	mutex_lock(&perf_persist_lock);
	perf_persist_settle(ns);
	mutex_unlock(&ns->snapshot_lock);
	event->member->for_trigger = for_trigger;
	ret = find_absent(ns, event->member, &absent);
	if (!ret)
		ret = join_published(event->member, ns);
	if (ret)
		event->member->for_trigger = false;
	end_joining(event->member, ret, absent);
	if (ret)
		kfree(absent);
	return ret;
}

/**
 * perf_persist_join_fd - PERF_EVENT_IOC_JOIN on a namespace
 * @ns:		the namespace, which may be changed by the caller
 * @ufd:	descriptor of an event
 *
 * The event becomes a member, and the owner of the namespace pays for its buffer. Called
 * without a lock.
 *
 * Return: 0, or see perf_persist_file_ioctl().
 */
long perf_persist_join_fd(struct perf_persist_ns *ns, const s32 __user *ufd)
{
	struct perf_event *event;
	struct file *file;
	int ret;
	s32 fd;

	if (is_snapshot(ns))
		return -EOPNOTSUPP;
	if (!perfmon_capable())
		return -EACCES;
	if (!perf_persist_may_spend(ns))
		return -EPERM;
	if (get_user(fd, ufd))
		return -EFAULT;

	/* Refuses a file that is open for reading only. */
	file = perf_event_get(fd);
	if (IS_ERR(file))
		return PTR_ERR(file);

	event = file->private_data;
	ret = security_perf_event_write(event);
	if (!ret)
		ret = perf_persist_join(ns, event, false);
	fput(file);
	return ret;
}

/* The caller must drop the lock and pass @hold and the result to finish_leaving(). */
static struct perf_persist_ns *start_leaving(struct perf_leaving *leaving,
					     struct perf_member *member, struct perf_held *hold)
{
	begin_leaving(leaving, member, hold);
	kfree(member->absent);
	member->absent = NULL;
	member->for_trigger = false;
	return perf_member_remove(member);
}

/**
 * perf_persist_claim - PERF_EVENT_IOC_SET_PERSIST with NULL
 * @event:	the event, which leaves its namespace
 *
 * Called without a lock.
 *
 * Return: 0, or see perf_persistent_ioctl().
 */
long perf_persist_claim(struct perf_event *event)
{
	struct perf_member *member = event->member;
	struct perf_persist_ns *gone = NULL;
	struct perf_leaving leaving;
	struct perf_held hold;
	long ret = 0;

	mutex_lock(&perf_persist_lock);
	perf_member_settle(member);
	switch (READ_ONCE(member->state)) {
	case PERF_MEMBER_NONE:
		ret = -ENOENT;
		break;
	case PERF_MEMBER_JOINING:
		ret = -EBUSY;
		break;
	case PERF_MEMBER_JOINED:
	case PERF_MEMBER_PUBLISHED:
		if (perf_member_buffer_needed(member))
			ret = -EBUSY;
		else
			gone = start_leaving(&leaving, member, &hold);
		break;
	case PERF_MEMBER_DELETED:
		ret = -ENODEV;
		break;
	}
	mutex_unlock(&perf_persist_lock);

	if (!ret)
		finish_leaving(&leaving, hold, gone);
	return ret;
}

/**
 * perf_persist_drop - remove a member that came for a trigger from its namespace
 * @member:	the member; the caller is an opener of its event
 *
 * Called without a lock. Does nothing if the member has left, was deleted, or fires
 * another trigger meanwhile.
 *
 * Return: true if it left.
 */
bool perf_persist_drop(struct perf_member *member)
{
	struct perf_persist_ns *gone = NULL;
	struct perf_leaving leaving;
	struct perf_held hold;
	bool drop;

	mutex_lock(&perf_persist_lock);
	perf_member_settle(member);
	drop = member->for_trigger && !member->action &&
	       READ_ONCE(member->state) == PERF_MEMBER_PUBLISHED;
	if (drop)
		gone = start_leaving(&leaving, member, &hold);
	mutex_unlock(&perf_persist_lock);

	if (drop)
		finish_leaving(&leaving, hold, gone);
	return drop;
}

/*
 * Names and flags
 */

/**
 * perf_persist_name_event - PERF_EVENT_IOC_SET_NAME on an event
 * @event:	the event, which may be changed by the caller
 * @new_name:	name for the namespace that it is in or will create, or NULL
 * @new_label:	its label, or NULL
 *
 * Called without a lock.
 *
 * Return: 0, or see perf_persistent_ioctl().
 */
long perf_persist_name_event(struct perf_event *event, const char *new_name,
			     const char *new_label)
{
	char *name __free(kfree) = kstrdup(new_name, GFP_KERNEL_ACCOUNT);
	char *label __free(kfree) = kstrdup(new_label, GFP_KERNEL_ACCOUNT);
	struct perf_member *member = event->member;
	struct perf_persist_ns *ns = NULL;
	long ret = 0;

	if (!name != !new_name || !label != !new_label)
		return -ENOMEM;

	mutex_lock(&perf_persist_lock);
	switch (READ_ONCE(member->state)) {
	case PERF_MEMBER_NONE:
		if (name)
			swap(member->name, name);
		break;
	case PERF_MEMBER_JOINING:
		ret = -EBUSY;
		break;
	case PERF_MEMBER_JOINED:
		if (!name)
			break;
		if (!is_creator(member->ns)) {
			ret = -EPERM;
			break;
		}
		ns = get_persist_ns(member->ns);
		ret = publish_ns(ns, name);
		break;
	case PERF_MEMBER_PUBLISHED:
		if (name)
			ret = -EBUSY;
		break;
	case PERF_MEMBER_DELETED:
		ret = -ENODEV;
		break;
	}
	if (!ret && label) {
		swap(member->label, label);
		if (member->ns)
			perf_persist_changed(member->ns);
	}
	mutex_unlock(&perf_persist_lock);

	if (ns) {
		end_publishing(ns, ret);
		perf_persist_put(ns);
	}
	return ret;
}

/**
 * perf_persist_set_flags - PERF_EVENT_IOC_PERSIST_FLAGS
 * @event:	the event, which may be changed by the caller
 * @uflags:	PERF_PERSIST_ALL_CPUS or 0
 *
 * Called without a lock.
 *
 * Return: 0, or see perf_persistent_ioctl().
 */
long perf_persist_set_flags(struct perf_event *event, const u64 __user *uflags)
{
	struct perf_member *member = event->member;
	long ret = 0;
	u64 flags;
	bool all_cpus;

	if (get_user(flags, uflags))
		return -EFAULT;
	if (flags & ~(u64)PERF_PERSIST_ALL_CPUS)
		return -EINVAL;
	all_cpus = flags & PERF_PERSIST_ALL_CPUS;

	mutex_lock(&perf_persist_lock);
	switch (READ_ONCE(member->state)) {
	case PERF_MEMBER_NONE:
		member->all_cpus = all_cpus;
		break;
	case PERF_MEMBER_JOINED:
		if (is_creator(member->ns))
			member->ns->all_cpus = all_cpus;
		else
			ret = -EPERM;
		break;
	case PERF_MEMBER_JOINING:
	case PERF_MEMBER_PUBLISHED:
		ret = -EBUSY;
		break;
	case PERF_MEMBER_DELETED:
		ret = -ENODEV;
		break;
	}
	mutex_unlock(&perf_persist_lock);

	return ret;
}

/*
 * All members at once
 */

/**
 * perf_persist_delete - delete a namespace that is no snapshot
 * @ns:		the namespace, with a reference of the caller's
 *
 * Removes the name and stops the events at once, even if processes have them open. Called
 * without a lock.
 *
 * Return: 0, -ENODEV if it was deleted before, or what the LSM says.
 */
long perf_persist_delete(struct perf_persist_ns *ns)
{
	struct perf_member *member, *next;
	struct perf_leaving leaving;
	struct perf_held hold;
	int elsewhere = 0;
	long ret = -ENODEV;

	mutex_lock(&perf_persist_lock);
	perf_persist_settle(ns);
	if (!ns->unlinked)
		ret = perf_persist_may_write(ns);
	if (!ret) {
		for_each_ns_member(member, ns)
			perf_member_set_state(member, PERF_MEMBER_DELETED);
		perf_persist_leaving(&leaving, ns, NULL);
		perf_persist_unlink(ns);
	}
	mutex_unlock(&perf_persist_lock);
	if (ret)
		return ret;

	/* The name first: the rest waits for tasks that hold a context. */
	perf_persist_remove(ns);

	/*
	 * No other task changes the members now: they cannot leave a deleted
	 * namespace, and they exist as long as it holds them.
	 */
	for_each_ns_member(member, ns) {
		perf_event_retire(member->event);
		elsewhere |= member->event->event_caps &
			     (PERF_EV_CAP_READ_ACTIVE_PKG | PERF_EV_CAP_READ_SCOPE);
	}
	/* A BPF program on another CPU may still be reading such an event with its PMU. */
	if (elsewhere)
		synchronize_rcu();
	perf_persist_left(&leaving);

	for (member = first_member(ns); member; member = next) {
		next = following_member(member);
		perf_event_revoke(member->event);

		mutex_lock(&perf_persist_lock);
		member->revoked = true;
		rb_erase(&member->node, &ns->members);
		list_del_rcu(&member->stop_entry);
		hold = perf_member_unhold(member);
		mutex_unlock(&perf_persist_lock);

		perf_member_release(hold);
	}
	return 0;
}

/**
 * perf_persist_delete_killable - perf_persist_delete() for a task that may be killed
 * @ns:		the namespace, with a reference of the caller's
 *
 * Called without a lock.
 *
 * Return: 0, -EINTR if the task is killed while it waits until buffers have been replaced, or
 * see perf_persist_delete().
 */
long perf_persist_delete_killable(struct perf_persist_ns *ns)
{
	int ret;

	mutex_lock(&perf_persist_lock);
	ret = perf_persist_settle_killable(ns);
	mutex_unlock(&perf_persist_lock);
	return ret ? ret : perf_persist_delete(ns);
}

/**
 * perf_persist_enable - enable or disable all members of a namespace
 * @ns:		the namespace, with a reference of the caller's
 * @enable:	true to enable them, false to disable them
 *
 * Stopped buffers remain stopped. Called without a lock.
 *
 * Return: 0, -EOPNOTSUPP for a snapshot, -ENODEV if it was deleted, or what the LSM says.
 */
long perf_persist_enable(struct perf_persist_ns *ns, bool enable)
{
	long ret = -ENODEV;

	if (is_snapshot(ns))
		return -EOPNOTSUPP;

	mutex_lock(&perf_persist_lock);
	if (!ns->unlinked)
		ret = perf_persist_may_write(ns);
	mutex_unlock(&perf_persist_lock);
	if (ret)
		return ret;

	walk_members(ns, enable ? perf_event_enable : perf_event_disable);

	mutex_lock(&perf_persist_lock);
	perf_persist_changed(ns);
	mutex_unlock(&perf_persist_lock);
	return 0;
}
