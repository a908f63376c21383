// SPDX-License-Identifier: GPL-2.0
/*
 * PERF_EVENT_IOC_GET_PERSIST and PERF_EVENT_IOC_GET_MEMBER: describe a namespace and its
 * members to user space. persistent_file.c calls this for descriptors of namespaces and
 * of events.
 */
#include <linux/cpumask.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/pid_namespace.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/time_namespace.h>
#include <linux/uaccess.h>
#include <linux/user_namespace.h>

#include "internal.h"
#include "persistent.h"
#include "persistent_internal.h"
#include "read.h"

/*
 * PERF_EVENT_IOC_GET_PERSIST
 */

static_assert(sizeof(struct perf_event_persist) == PERF_EVENT_PERSIST_SIZE_VER0);

static void fill_ns(struct perf_event_persist *info, struct perf_persist_ns *ns)
{
	assert_registry();

	/* Keep the size that the caller passed, and clear fields that are not set. */
	*info = (struct perf_event_persist) {
		.size		= info->size,
		.ns_id		= ns->id,
		.created_ns	= timens_add_boottime_ns(ns->created_ns),
		.nr_members	= perf_persist_count_members(ns),
		.owner_uid	= from_kuid_munged(current_user_ns(), ns->cred->uid),
		.number		= ns->number,
	};
	if (is_snapshot(ns)) {
		info->flags = PERF_PERSIST_SNAPSHOT;
		info->source_id = ns->source->id;
		info->swap_begin_ns = timens_add_boottime_ns(ns->swap_begin_ns);
		info->trigger = ns->trigger;
	} else {
		if (ns->all_cpus)
			info->flags |= PERF_PERSIST_ALL_CPUS;
		if (READ_ONCE(ns->stopped))
			info->flags |= PERF_PERSIST_STOPPED;
		info->keep = ns->keep;
		info->spares = perf_snapshot_nr_spares(ns);
	}
	memcpy(info->owner_comm, ns->owner_comm, sizeof(info->owner_comm));
	memcpy(info->name, ns->name, sizeof(info->name));
	/* The note may describe the events. */
	if (ns->note[0] && !ns->unlinked && !perf_persist_may_see(ns))
		memcpy(info->note, ns->note, sizeof(info->note));
}

/* Like perf_member_settle(), unless the task is killed: -EINTR */
static int settle_member(struct perf_member *member)
{
	int ret = 0;

	assert_registry();
	while (!ret && member->ns && member->ns->swapping)
		ret = perf_persist_settle_killable(member->ns);
	return ret;
}

/**
 * perf_persist_get_info - PERF_EVENT_IOC_GET_PERSIST
 * @ns:		the namespace, with a reference of the caller's; or NULL
 * @member:	if @ns is NULL: describe the namespace of this member; or NULL
 * @seen:	out, under perf_persist_lock: the generation that is described; or NULL
 * @uinfo:	the argument
 *
 * Called without a lock.
 *
 * Return: 0, -ENOENT if there is no namespace, -ENODEV if @ns was deleted, -EINTR if the task
 * is killed, or see perf_persist_get_struct().
 */
long perf_persist_get_info(struct perf_persist_ns *ns, struct perf_member *member, u64 *seen,
			   struct perf_event_persist __user *uinfo)
{
	struct perf_event_persist info;
	int ret;

	ret = perf_persist_get_struct(&info, sizeof(info), PERF_EVENT_PERSIST_SIZE_VER0, uinfo);
	if (ret)
		return ret;

	mutex_lock(&perf_persist_lock);
	if (ns) {
		ret = perf_persist_settle_killable(ns);
		if (!ret && ns->unlinked)
			ret = -ENODEV;
	} else {
		ret = member ? settle_member(member) : 0;
		ns = member ? member->ns : NULL;
		if (!ret && !ns)
			ret = -ENOENT;
	}
	if (!ret) {
		fill_ns(&info, ns);
		if (seen)
			*seen = ns->generation;
	}
	mutex_unlock(&perf_persist_lock);

	return ret ? ret : perf_persist_put_struct(uinfo, &info, sizeof(info));
}

/*
 * PERF_EVENT_IOC_GET_MEMBER
 */

static_assert(sizeof(struct perf_event_persist_member) == PERF_EVENT_PERSIST_MEMBER_SIZE_VER0);

static void fill_live_member(struct perf_event_persist_member *info, struct perf_member *member)
{
	struct perf_event *event = member->event;
	struct perf_member *owner;
	struct perf_buffer *rb;

	info->cgroup_id = perf_member_cgroup_id(member);
	rb = ring_buffer_get(event);
	if (rb) {
		owner = perf_persist_buffer_owner(member->ns, rb);
		if (owner)
			info->output_id = owner->event->id;
		info->buffer_size = perf_data_size(rb);
		info->buffer_seq = rb->seq;
		if (rb->nr_pages) {
			bool frozen = READ_ONCE(rb->paused);
			bool stopped = READ_ONCE(member->ns->stopped);

			/* Checked for each buffer, to show it if a stop missed one. */
			if (stopped && frozen)
				info->flags |= PERF_PERSIST_STOPPED;
			if (READ_ONCE(rb->pause_output) || (frozen && !stopped))
				info->flags |= PERF_PERSIST_PAUSED;
		}
		ring_buffer_put(rb);
	}
	if (!cpu_online(event->cpu) || perf_member_is_offline(member))
		info->flags |= PERF_PERSIST_OFFLINE;
	if (!perf_member_is_enabled(member))
		info->flags |= PERF_PERSIST_DISABLED;
	info->trigger = perf_trigger_number(member);
	info->missed = perf_member_missed(member);
	info->lost = perf_member_lost(member, info->missed);
}

static void fill_member(struct perf_event_persist_member *info, struct perf_member *member)
{
	struct perf_event *event = member->event;

	assert_registry();

	/* Keep the fields that the caller passed, and clear fields that are not set. */
	*info = (struct perf_event_persist_member) {
		.size		= info->size,
		.event_id	= event->id,
		.cpu		= event->cpu,
		.attr_size	= info->attr_size,
		.attr		= info->attr,
		.filter_size	= info->filter_size,
		.filter		= info->filter,
	};
	if (is_snapshot(member->ns))
		perf_snapshot_fill_member(info, member);
	else
		fill_live_member(info, member);

	if (member->for_trigger)
		info->flags |= PERF_PERSIST_FOR_TRIGGER;
	if (event->ns)
		info->pid_ns = event->ns->ns.inum;
	if (member->label)
		strscpy_pad(info->label, member->label);
}

static void fill_attr(struct perf_event_attr *attr, struct perf_member *member)
{
	perf_member_copy_attr(attr, member);

	/* For kprobe and uprobe PMUs, this points to a string in the creator's memory. */
	if (perf_member_has_tp(member) && attr->type != PERF_TYPE_TRACEPOINT)
		attr->kprobe_func = 0;

	/* perf_copy_attr() sets sample_max_stack, even if the size does not include it. */
	attr->size = clamp_t(u32, attr->size, PERF_ATTR_SIZE_VER5, sizeof(*attr));
}

static int get_arg(struct perf_event_persist_member *info,
		   struct perf_event_persist_member __user *uinfo)
{
	return perf_persist_get_struct(info, sizeof(*info), PERF_EVENT_PERSIST_MEMBER_SIZE_VER0,
				       uinfo);
}

/* @filter: NULL if there is none, or if the caller may not see it */
static int put_filter(struct perf_event_persist_member *info,
		      struct perf_event_persist_member __user *uinfo, const char *filter)
{
	u64 room = info->filter_size, size = filter ? strlen(filter) + 1 : 0;

	info->filter_size = size;
	if (!info->filter || !size)
		return 0;

	if (room < size) {
		if (put_user(size, &uinfo->filter_size))
			return -EFAULT;
		return -E2BIG;
	}
	return copy_to_user(u64_to_user_ptr(info->filter), filter, size) ? -EFAULT : 0;
}

static int put_answer(struct perf_event_persist_member *info,
		      struct perf_event_persist_member __user *uinfo,
		      const struct perf_event_attr *attr, const char *filter)
{
	u32 room = info->attr_size;
	int ret;

	info->attr_size = 0;
	if (info->attr && attr) {
		if (room < attr->size) {
			if (put_user(attr->size, &uinfo->attr_size))
				return -EFAULT;
			return -E2BIG;
		}
		if (copy_to_user(u64_to_user_ptr(info->attr), attr, attr->size))
			return -EFAULT;
		info->attr_size = attr->size;
	}

	ret = put_filter(info, uinfo, filter);
	return ret ? ret : perf_persist_put_struct(uinfo, info, sizeof(*info));
}

/**
 * perf_persist_get_member - PERF_EVENT_IOC_GET_MEMBER on an event
 * @event:	the event
 * @member:	its member, or NULL
 * @uinfo:	the argument
 *
 * Called without a lock. The head is from the same buffer as the other fields, even if that
 * buffer is replaced meanwhile.
 *
 * Return: 0, or see perf_persistent_ioctl().
 */
long perf_persist_get_member(struct perf_event *event, struct perf_member *member,
			     struct perf_event_persist_member __user *uinfo)
{
	struct perf_event_persist_member info;
	char *filter = NULL;
	struct perf_event_attr attr;
	struct perf_buffer *rb = NULL;
	bool live = false;
	int ret;

	ret = get_arg(&info, uinfo);
	if (ret)
		return ret;
	if (!member)
		return -ENOENT;

	mutex_lock(&perf_persist_lock);
	ret = settle_member(member);
	if (ret) {
		mutex_unlock(&perf_persist_lock);
		return ret;
	}
	if (member->ns) {
		fill_member(&info, member);
		fill_attr(&attr, member);
		live = !is_snapshot(member->ns);
		if (live)
			rb = ring_buffer_get(event);
	} else {
		ret = -ENOENT;
	}
	mutex_unlock(&perf_persist_lock);
	if (ret)
		return ret;

	if (rb) {
		info.head = perf_read_head(rb, event->cpu).head;
		ring_buffer_put(rb);
	}
	if (live)
		filter = perf_member_copy_filter(member);
	if (IS_ERR(filter))
		return PTR_ERR(filter);
	ret = put_answer(&info, uinfo, &attr, filter);
	kfree(filter);
	return ret;
}

/**
 * perf_persist_get_next_member - PERF_EVENT_IOC_GET_MEMBER on a namespace
 * @ns:		the namespace, with a reference of the caller's
 * @uinfo:	the argument
 *
 * Called without a lock.
 *
 * Return: 0, or see perf_persist_file_ioctl().
 */
long perf_persist_get_next_member(struct perf_persist_ns *ns,
				  struct perf_event_persist_member __user *uinfo)
{
	struct perf_event_persist_member info;
	char *filter = NULL;
	struct perf_event_attr attr;
	struct perf_member *member;
	bool withheld = false, live = false;
	int ret;

	ret = get_arg(&info, uinfo);
	if (ret)
		return ret;

	mutex_lock(&perf_persist_lock);
	ret = perf_persist_settle_killable(ns);
	if (!ret && ns->unlinked)
		ret = -ENODEV;
	if (ret)
		goto unlock;
	member = perf_persist_next_member(ns, info.event_id);
	if (!member) {
		ret = -ENOENT;
		goto unlock;
	}

	fill_member(&info, member);
	info.head = 0;
	fill_attr(&attr, member);
	withheld = perf_member_may_list(member);
	if (withheld) {
		info.flags |= PERF_PERSIST_ATTR_WITHHELD;
		memset(info.label, 0, sizeof(info.label));
	}
	live = !withheld && !is_snapshot(ns);
	if (live)
		refcount_inc(&member->openers); /* at least one: it is held */
unlock:
	mutex_unlock(&perf_persist_lock);
	if (ret)
		return ret;

	if (live) {
		filter = perf_member_copy_filter(member);
		perf_persist_put_opener(member->event);
	}
	if (IS_ERR(filter))
		return PTR_ERR(filter);
	ret = put_answer(&info, uinfo, withheld ? NULL : &attr, filter);
	kfree(filter);
	return ret;
}
