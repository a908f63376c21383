// SPDX-License-Identifier: GPL-2.0
/*
 * Private copies of buffers, for readers in the kernel.
 *
 * A buffer is copied while its events go on writing to it, as any reader does: read
 * data_head, copy, ask how far the writers have reserved meanwhile, and keep the records
 * that end at or below that position plus the size. What is left are whole records that
 * nobody can change any more.
 */
#include <linux/atomic.h>
#include <linux/bsearch.h>
#include <linux/llist.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/pid_namespace.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/trace_events.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>

#include "internal.h"
#include "persistent.h"
#include "persistent_copy.h"
#include "persistent_internal.h"
#include "persistent_snapshot.h"

/* How often a copy is begun anew because less than half of it was still there */
#define PERF_COPY_TRIES	100

/*
 * Events
 */

static int compare_id(const void *key, const void *elem)
{
	u64 id = *(u64 *)key, other = ((const struct perf_copy_event *)elem)->id;

	return id < other ? -1 : id > other;
}

/**
 * perf_copy_find_event - find an event by its id
 * @events:	where to look
 * @id:		its id
 *
 * Return: the event, or NULL.
 */
const struct perf_copy_event *perf_copy_find_event(const struct perf_copy_events *events, u64 id)
{
	return bsearch(&id, events->all, events->nr, sizeof(*events->all), compare_id);
}

/**
 * perf_copy_put_events - free what perf_copy_get_events() returned
 * @events:	that, or NULL
 */
void perf_copy_put_events(struct perf_copy_events *events)
{
	struct perf_copy_event *event;

	if (!events)
		return;
	for (event = events->all; event < perf_copy_events_end(events); event++) {
		perf_format_put(event->format);
		put_pid_ns(event->pid_ns);
	}
	kvfree(events);
}

/* The member that has the buffer which @member writes to, or NULL */
static struct perf_member *find_owner(struct perf_member *member)
{
	struct perf_member *owner = NULL;
	struct perf_buffer *rb;

	assert_registry();
	if (is_snapshot(member->ns)) {
		struct perf_snapshot_member *output = to_snapshot_member(member)->output;

		return output ? &output->m : NULL;
	}
	rb = ring_buffer_get(member->event);
	if (rb) {
		owner = perf_persist_buffer_owner(member->ns, rb);
		ring_buffer_put(rb);
	}
	return owner;
}

static void set_name(struct perf_copy_event *event, struct perf_member *member)
{
	const char *known = perf_spec_known_name(&event->attr);

	assert_registry();
	if (member->label)
		strscpy(event->name, member->label);
	else if (event->format)
		scnprintf(event->name, sizeof(event->name), "%s:%s", event->format->system,
			  event->format->name);
	else if (known)
		strscpy(event->name, known);
	if (!event->name[0])
		perf_member_name(member, event->name, sizeof(event->name));
	if (!event->name[0])
		scnprintf(event->name, sizeof(event->name), "%u:0x%llx", event->attr.type,
			  event->attr.config);
}

static bool tells_of_tasks(const struct perf_event_attr *attr)
{
	return attr->comm || attr->task;
}

static void add_event(struct perf_copy_events *events, struct perf_member *member)
{
	struct perf_copy_event *event = &events->all[events->nr];
	struct perf_member *owner = find_owner(member);

	perf_member_copy_attr(&event->attr, member);
	event->format = perf_format_share(member->format);
	set_name(event, member);
	event->pid_ns = get_pid_ns(member->event->ns);
	event->id = member->event->id;
	event->cpu = member->event->cpu;
	event->owner = owner ? owner->event->id : 0;
	event->size = owner == member && member->rb ? perf_data_size(member->rb) : 0;
	/* PERF_RECORD_FORK comes with it. */
	event->follows = event->attr.comm && perf_member_is_enabled(member) &&
			 !perf_member_missed(member);
	events->nr++;
}

/* -EAGAIN: there are more than @events has room for */
static int add_events(struct perf_copy_events *events, struct perf_persist_ns *ns)
{
	struct perf_member *member;
	int ret;

	assert_registry();
	if (ns->unlinked)
		return -ENODEV;
	ret = perf_persist_may_see(ns);
	if (ret)
		return ret;

	events->live = !is_snapshot(ns) && !ns->stopped;
	for_each_ns_member(member, ns) {
		/* It came for a trigger, and writes nothing. */
		if (member->for_trigger && !member->kept)
			continue;
		if (events->nr == events->max)
			return -EAGAIN;
		add_event(events, member);
	}
	return 0;
}

static void count_writers(struct perf_copy_events *events)
{
	struct perf_copy_event *event, *owner;

	for (event = events->all; event < perf_copy_events_end(events); event++) {
		owner = (struct perf_copy_event *)perf_copy_find_event(events, event->owner);
		if (!owner)
			continue;
		owner->writers++;
		owner->names |= tells_of_tasks(&event->attr);
	}
}

/**
 * perf_copy_get_events - what records of a namespace may be of
 * @ns:		the namespace or snapshot, with a reference of the caller's
 *
 * Called without a lock, with the creds of who reads.
 *
 * Return: the events, or
 *  -EACCES	the caller may not open each of the members; also -EPERM
 *  -ENODEV	the namespace was deleted
 *  -ENOMEM	out of memory
 *  -EINTR	the caller is being killed
 */
struct perf_copy_events *perf_copy_get_events(struct perf_persist_ns *ns)
{
	struct perf_copy_events *events;
	unsigned int max;
	int ret;

	do {
		scoped_guard(mutex, &perf_persist_lock)
			max = perf_persist_count_members(ns);
		events = kvzalloc(struct_size(events, all, max), PERF_COPY_GFP);
		if (!events)
			return ERR_PTR(-ENOMEM);
		events->max = max;

		ret = mutex_lock_killable(&perf_persist_lock);
		if (!ret) {
			perf_persist_settle(ns);
			ret = add_events(events, ns);
			mutex_unlock(&perf_persist_lock);
		}
		if (ret)
			perf_copy_put_events(events);
		cond_resched();
	} while (ret == -EAGAIN);
	if (ret)
		return ERR_PTR(ret);

	count_writers(events);
	return events;
}

/*
 * Memory
 */

/* Of all readers, with what they are about to allocate */
static atomic_long_t perf_copy_pages;

static LLIST_HEAD(perf_copy_garbage);

static void free_garbage(struct work_struct *work)
{
	struct llist_node *all = llist_del_all(&perf_copy_garbage);
	struct perf_copy_garbage *garbage, *next;

	llist_for_each_entry_safe(garbage, next, all, node) {
		garbage->free(garbage);
		cond_resched();
	}
}

static DECLARE_WORK(perf_copy_work, free_garbage);

/**
 * perf_copy_free_later - have a worker free what was copied
 * @garbage:	what has it
 *
 * It can be gigabytes, and whoever closes a file has locks of kernfs.
 */
void perf_copy_free_later(struct perf_copy_garbage *garbage)
{
	if (llist_add(&garbage->node, &perf_copy_garbage))
		queue_work(system_unbound_wq, &perf_copy_work);
}

static bool reserve(unsigned long pages)
{
	unsigned long sum = atomic_long_add_return(pages, &perf_copy_pages);

	if (sum >= pages && perf_memory_left(sum))
		return true;
	perf_copy_unreserve(pages);
	return false;
}

/**
 * perf_copy_reserve - may so much be allocated for copies
 * @pages:	number of pages
 *
 * perf_copy_unreserve() undoes it. Called without a lock.
 *
 * Return: 0, or -ENOMEM if all readers together would have more than half of what is
 * available.
 */
int perf_copy_reserve(unsigned long pages)
{
	if (reserve(pages))
		return 0;
	/* There may be some that is being freed. */
	flush_work(&perf_copy_work);
	return reserve(pages) ? 0 : -ENOMEM;
}

/**
 * perf_copy_unreserve - give back what perf_copy_reserve() allowed
 * @pages:	number of pages
 */
void perf_copy_unreserve(unsigned long pages)
{
	atomic_long_sub(pages, &perf_copy_pages);
}

/* Where each record starts, and the smallest are a header alone */
static unsigned long index_bytes(unsigned long nr)
{
	return array_size(nr, sizeof(u32));
}

/**
 * perf_copy_max_pages - what the copy of a buffer can take
 * @owner:	the event that has the buffer
 *
 * Return: the number of pages.
 */
unsigned long perf_copy_max_pages(const struct perf_copy_event *owner)
{
	return PFN_UP(owner->size) +
	       PFN_UP(index_bytes(owner->size / sizeof(struct perf_event_header)));
}

/*
 * Buffers
 */

/**
 * struct copy_source - a buffer that is being copied
 * @ns:		the namespace or snapshot that it is of
 * @event:	the event that has it, kept by an opener or by @ns
 * @rb:		the buffer, as a mapping
 * @head:	of a snapshot: how far its writers got
 * @first:	it is the first buffer that @event has
 */
struct copy_source {
	struct perf_persist_ns	*ns;
	struct perf_event	*event;
	struct perf_buffer	*rb;
	unsigned long		head;
	bool			first;
};

/* -ENOENT: there is no such buffer, or not any more */
static int begin_copy(struct copy_source *from, struct perf_persist_ns *ns, u64 owner)
{
	struct perf_member *member;
	int ret;

	guard(mutex)(&perf_persist_lock);
	perf_persist_settle(ns);
	if (ns->unlinked)
		return -ENODEV;
	member = perf_persist_find_member(ns, owner);
	if (!member)
		return -ENOENT;
	/* The buffer may be another one since the caller asked. */
	ret = perf_member_may_see(member);
	if (ret)
		return ret;
	from->rb = perf_member_map_buffer(member);
	if (!from->rb)
		return -ENOENT;

	from->ns = ns;
	from->event = member->event;
	from->first = !is_snapshot(ns) && !ns->number;
	if (is_snapshot(ns))
		from->head = to_snapshot_member(member)->head;
	else
		refcount_inc(&member->openers); /* at least one: it is held */
	return 0;
}

/* Called without a lock. */
static void end_copy(struct copy_source *from)
{
	perf_persist_free_buffer(from->rb);
	if (!is_snapshot(from->ns))
		perf_persist_put_opener(from->event);
}

static void copy_ring(void *to, struct perf_buffer *rb, unsigned long pos, unsigned long len)
{
	unsigned long page_size = PAGE_SIZE << page_order(rb);

	while (len) {
		unsigned long offset = pos & (perf_data_size(rb) - 1);
		unsigned long here = offset & (page_size - 1);
		unsigned long n = min(len, page_size - here);

		/* It may be written to meanwhile: what that spoils is dropped later. */
		data_race(memcpy(to, rb->data_pages[offset / page_size] + here, n));
		to += n;
		pos += n;
		len -= n;
		cond_resched();
	}
}

/*
 * How much of @rb was written to. @head counts down from 0. On 32 bit it comes around after a
 * while: there, what was never written is taken as well. It is zero, and no record.
 */
static unsigned long written(struct perf_buffer *rb, unsigned long head)
{
	return IS_ENABLED(CONFIG_64BIT) ? min(-head, perf_data_size(rb)) : perf_data_size(rb);
}

/* Returns whether at least half of it is good. */
static bool try_copy(struct perf_copy *copy, struct copy_source *from, unsigned long max)
{
	struct perf_buffer *rb = from->rb;
	unsigned long size = perf_data_size(rb), head, reserved, len, overwritten;

	head = READ_ONCE(rb->user_page->data_head);
	smp_rmb(); /* C, matches B in rb_publish_outermost() */
	len = min(written(rb, head), max);
	copy_ring(copy->data, rb, head, len);
	reserved = is_snapshot(from->ns) ? from->head :
					   perf_persist_read_head(from->event, rb).head;

	overwritten = head - reserved;
	copy->len = 0;
	if (!(head & (sizeof(u64) - 1)) && overwritten < size)
		copy->len = min(len, size - overwritten);
	/* On 32 bit, nobody knows. */
	copy->whole = IS_ENABLED(CONFIG_64BIT) && from->first && copy->len == -head;
	return copy->len >= len / 2;
}

/* Counts the records, and cuts off what is none. */
static void count_records(struct perf_copy *copy)
{
	const struct perf_event_header *header;
	unsigned long pos;

	for (pos = 0; (header = perf_next_record(copy->data, copy->len, pos)); pos += header->size)
		copy->nr++;
	copy->whole &= pos == copy->len;
	copy->len = pos;
}

static int index_records(struct perf_copy *copy)
{
	const struct perf_event_header *header;
	unsigned long pos, i;

	count_records(copy);
	if (!copy->nr)
		return 0;
	copy->starts = kvmalloc(index_bytes(copy->nr), PERF_COPY_GFP);
	if (!copy->starts)
		return -ENOMEM;
	copy->pages += PFN_UP(index_bytes(copy->nr));
	for (pos = 0, i = copy->nr; i--; pos += header->size) {
		header = copy->data + pos;
		copy->starts[i] = pos / sizeof(u64);
	}
	for (i = 1; i < copy->nr; i++) {
		/* It was written together with the newer one behind it, and tells of before. */
		if (perf_copy_header(copy, i)->type == PERF_RECORD_LOST) {
			swap(copy->starts[i], copy->starts[i - 1]);
			i++;
		}
	}
	return 0;
}

/* No more than @max: so much the caller has reserved. */
static int fill_copy(struct perf_copy *copy, struct copy_source *from, unsigned long max)
{
	int tries = 0;

	/* Until it has been filled once, there is no need for as much. */
	max = min(max, PAGE_ALIGN(written(from->rb, READ_ONCE(from->rb->user_page->data_head)) +
				  PAGE_SIZE));
	if (!max)
		return 0;
	copy->data = __vmalloc(max, PERF_COPY_GFP);
	if (!copy->data)
		return -ENOMEM;
	copy->pages = PFN_UP(max);

	/* The writers may have been faster, or the reader have lost its CPU. */
	do {
		if (fatal_signal_pending(current))
			return -EINTR;
	} while (!try_copy(copy, from, max) && ++tries < PERF_COPY_TRIES &&
		 !is_snapshot(from->ns));
	return index_records(copy);
}

/**
 * perf_copy_free - free a copy
 * @copy:	the copy, or NULL
 */
void perf_copy_free(struct perf_copy *copy)
{
	if (!copy)
		return;
	kvfree(copy->starts);
	vfree(copy->data);
	kfree(copy);
}

/**
 * perf_copy_buffer - copy what a buffer holds
 * @ns:		the namespace or snapshot, with a reference of the caller's
 * @owner:	the event that has the buffer
 *
 * Called without a lock, with the creds of who reads, after perf_copy_reserve() for
 * perf_copy_max_pages(). What has become larger since is copied in part.
 *
 * Return: the copy, which may be empty; NULL if there is no such buffer any more; or
 *  -EACCES	the caller may not open that member; also -EPERM
 *  -ENODEV	the namespace was deleted
 *  -ENOMEM	out of memory
 *  -EINTR	the caller is being killed
 */
struct perf_copy *perf_copy_buffer(struct perf_persist_ns *ns,
				   const struct perf_copy_event *owner)
{
	struct copy_source from;
	struct perf_copy *copy;
	int ret;

	copy = kzalloc(sizeof(*copy), PERF_COPY_GFP);
	if (!copy)
		return ERR_PTR(-ENOMEM);

	ret = begin_copy(&from, ns, owner->id);
	if (!ret) {
		copy->owner = owner->id;
		copy->cpu = from.event->cpu;
		ret = fill_copy(copy, &from, owner->size);
		end_copy(&from);
	}
	if (!ret)
		return copy;
	perf_copy_free(copy);
	return ret == -ENOENT ? NULL : ERR_PTR(ret);
}
