// SPDX-License-Identifier: GPL-2.0
/*
 * Let readers in the kernel, such as perffs, read namespaces and snapshots: list the events,
 * and copy their buffers.
 */
#include <linux/err.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/pid_namespace.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/timekeeping.h>

#include "internal.h"
#include "persistent.h"
#include "persistent_internal.h"
#include "persistent_snapshot.h"
#include "read.h"

/**
 * struct ns_source - a namespace or snapshot that somebody reads
 * @source:	the part that the reader uses
 * @ns:		the namespace, with a reference
 * @tasks:	records about older tasks, with a reference, or NULL
 */
struct ns_source {
	struct perf_copy_source	source;
	struct perf_persist_ns	*ns;
	struct perf_tasks	*tasks;
};

static struct perf_persist_ns *to_ns(struct perf_copy_source *source)
{
	return container_of(source, struct ns_source, source)->ns;
}

/*
 * Events
 */

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
	const char *known = perf_known_name(&event->attr);

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

/* See perf_copy_event::complete_since */
static u64 complete_since(struct perf_member *member, struct perf_member *owner)
{
	struct perf_buffer *rb;
	bool gap;

	if (is_snapshot(member->ns)) {
		gap = to_snapshot_member(member)->missed;
	} else {
		rb = owner ? owner->rb : NULL;
		/* While a buffer is paused, no LOST record tells of what is missing. */
		gap = !perf_member_is_enabled(member) || perf_member_missed(member) ||
		      (rb && (READ_ONCE(rb->pause_output) || local_read(&rb->lost)));
	}
	return gap ? U64_MAX : atomic64_read(&member->complete_since);
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
	event->left_out = perf_wide_type(&event->attr, event->cpu);
	event->owner = owner ? owner->event->id : 0;
	event->size = owner == member && member->rb ? perf_data_size(member->rb) : 0;
	event->complete_since = complete_since(member, owner);
	events->nr++;
}

/* Returns -EAGAIN if @events has no room for all of them. */
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

	/* While a namespace is being started, its members may go away again. */
	if (!ns->published)
		return 0;
	events->live = !is_snapshot(ns) && !ns->stopped;
	for_each_ns_member(member, ns) {
		/* This member came for a trigger, and writes to no buffer. */
		if (member->for_trigger && !member->kept)
			continue;
		if (events->nr == events->max)
			return -EAGAIN;
		add_event(events, member);
	}
	return 0;
}

/*
 * Fails with -EACCES or -EPERM if the caller may not open all of the members, with -ENODEV if
 * the namespace was deleted, or with -ENOMEM or -EINTR.
 */
static struct perf_copy_events *get_events(struct perf_copy_source *source)
{
	struct perf_persist_ns *ns = to_ns(source);
	struct perf_copy_events *events;
	unsigned int max;
	int ret;

	do {
		scoped_guard(mutex, &perf_persist_lock)
			max = perf_persist_count_members(ns);
		events = perf_copy_alloc(struct_size(events, all, max), __GFP_ZERO);
		if (!events)
			return ERR_PTR(-ENOMEM);
		events->max = max;

		ret = mutex_lock_killable(&perf_persist_lock);
		if (!ret) {
			ret = perf_persist_settle_killable(ns) ?: add_events(events, ns);
			mutex_unlock(&perf_persist_lock);
		}
		if (ret)
			perf_copy_put_events(events);
		cond_resched();
	} while (ret == -EAGAIN);
	if (ret)
		return ERR_PTR(ret);

	perf_copy_count_writers(events);
	return events;
}

/*
 * Buffers
 */

/* Returns -ENOENT if there is no such buffer, or not any more. */
static int begin_copy(struct perf_copy_from *from, struct perf_event **event,
		      struct perf_persist_ns *ns, u64 owner)
{
	struct perf_member *member;
	int ret;

	guard(mutex)(&perf_persist_lock);
	ret = perf_persist_settle_killable(ns);
	if (ret)
		return ret;
	if (ns->unlinked)
		return -ENODEV;
	member = ns->published ? perf_persist_find_member(ns, owner) : NULL;
	if (!member)
		return -ENOENT;
	/* Check again: the member may have another buffer since get_events(). */
	ret = perf_member_may_see(member);
	if (ret)
		return ret;
	from->rb = perf_member_map_buffer(member);
	if (!from->rb)
		return -ENOENT;

	*event = member->event;
	from->cpu = member->event->cpu;
	from->done = is_snapshot(ns);
	from->first = !from->rb->seq;
	if (is_snapshot(ns))
		from->head = to_snapshot_member(member)->head;
	else
		refcount_inc(&member->openers); /* at least one: it is held */
	return 0;
}

/* Called without a lock. */
static void end_copy(struct perf_copy_from *from, struct perf_event *event)
{
	perf_persist_free_buffer(from->rb);
	if (!from->done)
		perf_persist_put_opener(event);
}

/*
 * Returns NULL if there is no such buffer any more. Fails with -EACCES or -EPERM if the caller
 * may not open that member, with -ENODEV if the namespace was deleted, or with -ENOMEM, -E2BIG
 * or -EINTR.
 */
static struct perf_copy *copy_buffer(struct perf_copy_source *source,
				     const struct perf_copy_event *owner)
{
	struct perf_copy_from from = { };
	struct perf_event *event;
	struct perf_copy *copy;
	int ret;

	ret = begin_copy(&from, &event, to_ns(source), owner->id);
	if (ret)
		return ret == -ENOENT ? NULL : ERR_PTR(ret);
	copy = perf_copy_make(&from, owner);
	end_copy(&from, event);
	return copy;
}

/* Removing a namespace waits for its readers: they must stop soon. */
static int check_source(struct perf_copy_source *source)
{
	return READ_ONCE(to_ns(source)->unlinked) ? -ENODEV : 0;
}

static void free_source(struct perf_copy_source *source)
{
	struct ns_source *from = container_of(source, struct ns_source, source);

	perf_tasks_put(from->tasks);
	perf_persist_put(from->ns);
	kfree(from);
}

/**
 * perf_persist_copy_source - let a reader in the kernel read a namespace
 * @ns:		the namespace or snapshot, on which the caller has a reference
 *
 * Called without a lock. The namespace may be deleted at any time.
 *
 * Return: the source for the reader, or -ENOMEM.
 */
struct perf_copy_source *perf_persist_copy_source(struct perf_persist_ns *ns)
{
	struct ns_source *from = kzalloc(sizeof(*from), PERF_COPY_GFP);

	if (!from)
		return ERR_PTR(-ENOMEM);
	from->ns = get_persist_ns(ns);
	scoped_guard(mutex, &perf_persist_lock)
		from->tasks = perf_tasks_get(ns->tasks);
	from->source = (struct perf_copy_source){
		.get_events	= get_events,
		.copy		= copy_buffer,
		.check		= check_source,
		.free		= free_source,
		.before		= is_snapshot(ns) ? ns->swap_begin_ns : ktime_get_boottime_ns(),
	};
	from->source.tasks = perf_tasks_data(from->tasks, &from->source.tasks_len);
	return &from->source;
}

/*
 * How far back a namespace reaches
 */

static bool get_time(const struct perf_copy *copy, const struct perf_copy_events *events,
		     unsigned long i, u64 *time)
{
	struct perf_copy_record record;

	cond_resched();
	if (perf_copy_header(copy, i)->type != PERF_RECORD_SAMPLE)
		return false;
	perf_copy_read(copy, events, i, &record);
	*time = record.time;
	return record.has_time;
}

/* Take the times of the first and of the last sample into account. */
static void add_times(const struct perf_copy *copy, const struct perf_copy_events *events,
		      u64 *oldest, u64 *newest)
{
	unsigned long i;
	u64 time;

	for (i = 0; i < copy->nr && !fatal_signal_pending(current); i++) {
		if (get_time(copy, events, i, &time)) {
			*oldest = min(*oldest, time);
			break;
		}
	}
	for (i = copy->nr; i-- && !fatal_signal_pending(current); ) {
		if (get_time(copy, events, i, &time)) {
			*newest = max(*newest, time);
			break;
		}
	}
}

static int copy_times(struct perf_copy_source *source, const struct perf_copy_events *events,
		      const struct perf_copy_event *owner, u64 *oldest, u64 *newest)
{
	unsigned long pages = perf_copy_max_pages(owner);
	struct perf_copy *copy;
	int ret;

	ret = perf_copy_reserve(pages);
	if (ret)
		return ret;
	copy = source->copy(source, owner);
	if (!IS_ERR_OR_NULL(copy)) {
		add_times(copy, events, oldest, newest);
		perf_copy_free(copy);
	}
	perf_copy_unreserve(pages);
	return fatal_signal_pending(current) ? -EINTR : PTR_ERR_OR_ZERO(copy);
}

/**
 * perf_persist_copy_times - find out how far back a namespace reaches
 * @ns:		the namespace or snapshot, on which the caller has a reference
 * @oldest:	out: time of the oldest sample
 * @newest:	out: time of the newest one, or 0 if there is none with a time
 *
 * Only a walk from the newest record finds the oldest one, so this copies each buffer, one at
 * a time. Called without a lock, with the creds of the reader.
 *
 * Return: 0, or an error of perf_copy_reserve() or of copying the namespace.
 */
int perf_persist_copy_times(struct perf_persist_ns *ns, u64 *oldest, u64 *newest)
{
	struct perf_copy_source *source = perf_persist_copy_source(ns);
	struct perf_copy_events *events;
	struct perf_copy_event *event;
	int ret = 0;

	*oldest = U64_MAX;
	*newest = 0;
	if (IS_ERR(source))
		return PTR_ERR(source);
	events = source->get_events(source);
	if (IS_ERR(events)) {
		source->free(source);
		return PTR_ERR(events);
	}
	for (event = events->all; !ret && event < perf_copy_events_end(events); event++) {
		/* A buffer that holds only records about tasks has no samples. */
		if (event->owner == event->id &&
		    !(perf_copy_is_sideband(event) && event->writers == 1))
			ret = copy_times(source, events, event, oldest, newest);
	}
	perf_copy_put_events(events);
	source->free(source);
	return ret;
}
