// SPDX-License-Identifier: GPL-2.0
/*
 * Persistent perf events: events that a name keeps alive instead of a process.
 *
 * A namespace is a named set of CPU-wide events, its members. The life of one:
 *
 *   SET_PERSIST(~0)	Makes a namespace without a name. Nobody but its creator
 *			can find it, and each member dies with its own
 *			descriptors: a creator that crashes half way leaves
 *			nothing behind.
 *   SET_NAME		Publishes it, all members at once or none. From here on
 *			the namespace counts as one opener of each member and
 *			as one mapping of each buffer. The name shows in sysfs,
 *			and perf_event_open() makes descriptors of the members.
 *   delete		Takes id and name away and stops the members, whoever
 *			has them open. Then the namespace lets go of them: the
 *			last descriptor frees the event, the last mapping the
 *			buffer.
 *
 * A CPU that goes offline takes its events out of their context. Members stay
 * where they are, with what they have recorded, and go on when it is back.
 *
 * The code that writes samples sees nothing of this.
 */
#include <linux/anon_inodes.h>
#include <linux/capability.h>
#include <linux/cgroup.h>
#include <linux/compat.h>
#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/cred.h>
#include <linux/device.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/hw_breakpoint.h>
#include <linux/init.h>
#include <linux/llist.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/pid.h>
#include <linux/poll.h>
#include <linux/rbtree.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/sched/user.h>
#include <linux/security.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/sysctl.h>
#include <linux/sysfs.h>
#include <linux/time_namespace.h>
#include <linux/timekeeping.h>
#include <linux/trace_events.h>
#include <linux/uaccess.h>
#include <linux/user_namespace.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "internal.h"
#include "persistent.h"
#include "persistent_internal.h"

/*
 * perf_persist_lock protects the registry: which namespaces there are, their
 * names, their members and who holds what.
 *
 *  1. It nests inside cpu_hotplug_lock and outside perf_event::mmap_mutex.
 *
 *  2. Nothing under it may create an event, drop what could be the last
 *     reference or opener of one (static keys take cpu_hotplug_lock), remove a
 *     sysfs file (that waits for its readers) or touch user memory (a fault
 *     takes mmap_lock, which perf_mmap() holds around mmap_mutex). So things
 *     are unlinked under it and torn down after.
 *
 *  3. perf_member::state is written under it, except from NONE to JOINING,
 *     which is under event->ctx->mutex for those who add siblings. To and from
 *     PUBLISHED it is written under event->mmap_mutex as well, for mmap() and
 *     SET_OUTPUT.
 *
 *  4. While the buffers of a namespace are being replaced, what its members write
 *     to is not in order. perf_snapshot_settle() waits for the end of that;
 *     whoever adds, removes or opens a member calls it.
 *
 *  5. ctx->mutex is not taken under it, nor task_struct::perf_event_mutex,
 *     which is held while waiting for that: somebody may hold a context for as
 *     long as a page fault of theirs takes, and others wait here to close.
 */
DEFINE_MUTEX(perf_persist_lock); /* the registry */

static struct rb_root perf_persist_ids = RB_ROOT;	/* all namespaces, by id */
static struct rb_root perf_persist_names = RB_ROOT;	/* the published ones, by name */
static u64 perf_persist_last_id;			/* an id is never used again */
static unsigned int perf_persist_nr_held;		/* members that are kept alive */

/*
 * Neither RLIMIT_NOFILE nor a memory cgroup bounds what no process has open:
 * sysctl kernel.perf_event_max_persistent.
 */
static unsigned int sysctl_perf_event_max_persistent __read_mostly = 65536;

/*
 * Writers of perf_member::attr hold event->ctx->mutex, too; it is for readers who
 * hold perf_persist_lock, see 5.
 */
static DEFINE_SPINLOCK(perf_member_attr_lock);

static void cover_worker(struct work_struct *work);

/*
 * Namespaces
 */

#define ns_of_id(_node)		rb_entry((_node), struct perf_persist_ns, id_node)
#define ns_of_name(_node)	rb_entry((_node), struct perf_persist_ns, name_node)

static int ns_id_cmp(const void *id, const struct rb_node *node)
{
	u64 a = *(u64 *)id, b = ns_of_id(node)->id;

	return a < b ? -1 : a > b;
}

static bool ns_id_less(struct rb_node *a, const struct rb_node *b)
{
	return ns_of_id(a)->id < ns_of_id(b)->id;
}

static int ns_name_cmp(const void *name, const struct rb_node *node)
{
	return strcmp(name, ns_of_name(node)->name);
}

static bool ns_name_less(struct rb_node *a, const struct rb_node *b)
{
	return strcmp(ns_of_name(a)->name, ns_of_name(b)->name) < 0;
}

static struct perf_persist_ns *find_ns(u64 id)
{
	struct rb_node *node;

	assert_registry();
	node = rb_find(&id, &perf_persist_ids, ns_id_cmp);
	return node ? ns_of_id(node) : NULL;
}

/* The lock may be dropped and taken again. */
static struct perf_persist_ns *find_settled_ns(u64 id)
{
	struct perf_persist_ns *ns;

	while ((ns = find_ns(id)) && ns->swapping)
		perf_snapshot_settle(ns);
	return ns;
}

static struct perf_persist_ns *find_published_ns(u64 id)
{
	struct perf_persist_ns *ns = find_settled_ns(id);

	return ns && ns->published ? ns : NULL;
}

/* Also finds one that is unlinked, as long as its name is not free again. */
static struct perf_persist_ns *find_name(const char *name)
{
	struct rb_node *node;

	assert_registry();
	node = rb_find(name, &perf_persist_names, ns_name_cmp);
	return node ? ns_of_name(node) : NULL;
}

/**
 * perf_persist_alloc - allocate a namespace, or a snapshot
 *
 * Return: one without members, name and owner, with the reference that is going
 * to be the registry's; or NULL.
 */
struct perf_persist_ns *perf_persist_alloc(void)
{
	struct perf_persist_ns *ns;

	ns = kzalloc(sizeof(*ns), GFP_KERNEL);
	if (!ns)
		return NULL;

	refcount_set(&ns->refs, 1);
	ns->members = RB_ROOT;
	ns->generation = 1;
	init_waitqueue_head(&ns->waitq);
	INIT_WORK(&ns->cover_work, cover_worker);
	perf_snapshot_init(ns);
	return ns;
}

static struct perf_persist_ns *alloc_ns(void)
{
	struct perf_persist_ns *ns;

	ns = perf_persist_alloc();
	if (!ns)
		return NULL;

	ns->set = perf_set_alloc(NULL);
	if (!ns->set) {
		kfree(ns);
		return NULL;
	}

	ns->creator = get_pid(task_tgid(current));
	ns->cred = get_current_cred();
	get_task_comm(ns->owner_comm, current);
	ns->created_ns = ktime_get_boottime_ns();
	return ns;
}

/**
 * perf_persist_put - put a reference on a namespace
 * @ns:		the namespace
 *
 * Called with or without the lock. The last reference on a snapshot is put
 * without, as its members go with it.
 */
void perf_persist_put(struct perf_persist_ns *ns)
{
	struct perf_persist_ns *source;

	/* A snapshot has a reference on what it was taken of. */
	for (; ns && refcount_dec_and_test(&ns->refs); ns = source) {
		source = ns->source;
		if (source)
			perf_snapshot_free_members(ns);
		if (ns->set)
			perf_set_put(ns->set);
		perf_tasks_put(ns->tasks);
		put_pid(ns->creator);
		put_cred(ns->cred);
		kfree(ns);
	}
}

/**
 * perf_persist_changed - a listing of a namespace would show something else
 * @ns:		the namespace
 */
void perf_persist_changed(struct perf_persist_ns *ns)
{
	assert_registry();
	ns->generation++;
	wake_up_poll(&ns->waitq, EPOLLPRI);
}

/**
 * perf_persist_reserve_members - may there be so many members more
 * @nr:		how many
 *
 * Return: 0, or -ENOSPC: not by sysctl kernel.perf_event_max_persistent.
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

static bool is_creator(struct perf_persist_ns *ns)
{
	return ns->creator == task_tgid(current);
}

/*
 * The listing in sysfs
 */

static int perf_persistent_no_event(struct perf_event *event)
{
	/* perf_event_open() never comes here; nobody else has one to open. */
	return -ENOENT;
}

static struct attribute *no_attrs[] = { NULL };

static const struct attribute_group perf_persistent_events = {
	.name		= "events",
	.attrs		= no_attrs,
};

static const struct attribute_group perf_persistent_enabled = {
	.name		= "enabled",
	.attrs		= no_attrs,
};

static const struct attribute_group *perf_persistent_groups[] = {
	&perf_persistent_events,
	&perf_persistent_enabled,
	NULL,
};

/* Says that PERF_TYPE_PERSISTENT is there; its events are the namespaces. */
static struct pmu perf_persistent_pmu = {
	.task_ctx_nr	= perf_invalid_context,
	.attr_groups	= perf_persistent_groups,
	.event_init	= perf_persistent_no_event,
};

/* Takes no lock: add_ns_files() may have to remove this with the registry's held. */
static ssize_t ns_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct perf_persist_ns *ns = container_of(attr, struct perf_persist_ns, file);

	return sysfs_emit(buf, "config=0x%llx\n", ns->id);
}

static char ns_enabled_char(struct perf_persist_ns *ns);
static long enable_ns(struct perf_persist_ns *ns, bool enable);

/* As with the events of ftrace, X is for some that are and some that are not. */
static ssize_t ns_enabled_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct perf_persist_ns *ns = container_of(attr, struct perf_persist_ns, enabled);

	return sysfs_emit(buf, "%c\n", ns_enabled_char(ns));
}

/* As sysfs_break_active_protection(), which does not find the files of groups. */
static struct kernfs_node *break_enabled_file(struct perf_persist_ns *ns)
{
	struct kernfs_node *dir, *kn;

	dir = kernfs_find_and_get(perf_persistent_pmu.dev->kobj.sd, perf_persistent_enabled.name);
	if (!dir)
		return NULL;

	kn = kernfs_find_and_get(dir, ns->name);
	kernfs_put(dir);
	if (kn)
		kernfs_break_active_protection(kn);
	return kn;
}

static ssize_t ns_enabled_store(struct device *dev, struct device_attribute *attr,
				const char *buf, size_t count)
{
	struct perf_persist_ns *ns = container_of(attr, struct perf_persist_ns, enabled);
	struct kernfs_node *kn;
	bool enable;
	long ret;

	if (!perfmon_capable())
		return -EACCES;

	ret = kstrtobool(buf, &enable);
	if (ret)
		return ret;

	/* It may wait for who holds a context, but no deletion has to wait for it. */
	get_persist_ns(ns);
	kn = break_enabled_file(ns);
	ret = enable_ns(ns, enable);
	if (kn) {
		kernfs_unbreak_active_protection(kn);
		kernfs_put(kn);
	}
	perf_persist_put(ns);
	return ret ? ret : count;
}

static int add_ns_files(struct perf_persist_ns *ns)
{
	struct kobject *kobj;
	int ret;

	/* Out of memory at boot, see perf_event_sysfs_init(). */
	if (!perf_persistent_pmu.dev)
		return -ENOMEM;

	kobj = &perf_persistent_pmu.dev->kobj;

	sysfs_attr_init(&ns->file.attr);
	ns->file.attr.name = ns->name;
	ns->file.attr.mode = 0444;
	ns->file.show = ns_show;

	sysfs_attr_init(&ns->enabled.attr);
	ns->enabled.attr.name = ns->name;
	/* Not for everybody, as reading it takes the registry lock. */
	ns->enabled.attr.mode = 0600;
	ns->enabled.show = ns_enabled_show;
	ns->enabled.store = ns_enabled_store;

	ret = sysfs_add_file_to_group(kobj, &ns->file.attr, perf_persistent_events.name);
	if (ret || is_snapshot(ns))
		return ret;

	ret = sysfs_add_file_to_group(kobj, &ns->enabled.attr, perf_persistent_enabled.name);
	/* Against the second rule of the registry lock, but see ns_show(). */
	if (ret)
		sysfs_remove_file_from_group(kobj, &ns->file.attr, perf_persistent_events.name);
	return ret;
}

static void remove_ns_files(struct perf_persist_ns *ns)
{
	struct kobject *kobj = &perf_persistent_pmu.dev->kobj;

	sysfs_remove_file_from_group(kobj, &ns->file.attr, perf_persistent_events.name);
	if (!is_snapshot(ns))
		sysfs_remove_file_from_group(kobj, &ns->enabled.attr,
					     perf_persistent_enabled.name);
}

/**
 * perf_persist_name_taken - is there a namespace of that name
 * @name:	the name
 *
 * Return: true if so, or if there was until a moment ago.
 */
bool perf_persist_name_taken(const char *name)
{
	return find_name(name);
}

/**
 * perf_persist_reserve_name - show a name that is free in sysfs, and take it
 * @ns:		the namespace, which cannot be opened yet
 *
 * Return: 0, or -ENOMEM.
 */
int perf_persist_reserve_name(struct perf_persist_ns *ns)
{
	int ret;

	assert_registry();
	ns->id = ++perf_persist_last_id;
	ret = add_ns_files(ns);
	if (!ret)
		rb_add(&ns->name_node, &perf_persist_names, ns_name_less);
	return ret;
}

/**
 * perf_persist_publish - let a namespace be opened whose name was reserved
 * @ns:		the namespace
 */
void perf_persist_publish(struct perf_persist_ns *ns)
{
	assert_registry();
	rb_add(&ns->id_node, &perf_persist_ids, ns_id_less);
	ns->published = true;
}

/**
 * perf_persist_unlink - let a namespace not be found any more
 * @ns:		the namespace
 *
 * The caller goes on with perf_persist_remove() when it has dropped the lock;
 * until then the name remains taken.
 */
void perf_persist_unlink(struct perf_persist_ns *ns)
{
	assert_registry();
	rb_erase(&ns->id_node, &perf_persist_ids);
	ns->unlinked = true;
	ns->generation++;
	wake_up_poll(&ns->waitq, EPOLLPRI | EPOLLHUP);
}

/**
 * perf_persist_remove - free the name of a namespace that was unlinked
 * @ns:		the namespace
 *
 * Puts the reference of the registry. Called without a lock.
 */
void perf_persist_remove(struct perf_persist_ns *ns)
{
	if (ns->published) {
		remove_ns_files(ns);

		mutex_lock(&perf_persist_lock);
		rb_erase(&ns->name_node, &perf_persist_names);
		mutex_unlock(&perf_persist_lock);
	}

	perf_persist_put(ns); /* Matches refcount_set() in perf_persist_alloc() */
}

/*
 * Members
 */

/**
 * perf_persistent_event_init - make a new CPU event fit to be persistent
 * @event:	an event that nobody else can see yet
 * @attr:	what the user passed, as perf_copy_attr() left it
 *
 * Called by perf_event_open() for events that are not tied to a task, without
 * a lock. The file that it is going to make is the first opener.
 *
 * Return: 0, or -ENOMEM.
 */
int perf_persistent_event_init(struct perf_event *event, const struct perf_event_attr *attr)
{
	struct perf_member *member;

	member = kzalloc(sizeof(*member), GFP_KERNEL);
	if (!member)
		return -ENOMEM;

	member->event = event;
	member->attr = *attr;
	refcount_set(&member->openers, 1);
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

	/* Still there after a deletion: matches get_persist_ns() in add_member(). */
	if (member->ns)
		perf_persist_put(member->ns);
	kfree(member->filter);
	kfree(member->name);
	kfree(member->label);
	kfree(member);
}

/**
 * perf_member_less - the order of members: by the id of their events
 * @a:		one
 * @b:		another
 *
 * Return: true if @a comes before @b.
 */
bool perf_member_less(struct rb_node *a, const struct rb_node *b)
{
	return member_of(a)->event->id < member_of(b)->event->id;
}

/* The member with the lowest event id above @event_id. */
static struct perf_member *next_member(struct perf_persist_ns *ns, u64 event_id)
{
	struct rb_node *node = ns->members.rb_node;
	struct perf_member *next = NULL;

	assert_registry();
	while (node) {
		struct perf_member *member = member_of(node);

		if (member->event->id > event_id) {
			next = member;
			node = node->rb_left;
		} else {
			node = node->rb_right;
		}
	}
	return next;
}

/**
 * perf_persist_find_member - find a member by the id of its event
 * @ns:		the namespace
 * @event_id:	the id
 *
 * Return: the member, or NULL.
 */
struct perf_member *perf_persist_find_member(struct perf_persist_ns *ns, u64 event_id)
{
	struct perf_member *member = next_member(ns, event_id - 1);

	return member && member->event->id == event_id ? member : NULL;
}

static struct perf_member *find_member_on(struct perf_persist_ns *ns, int cpu)
{
	struct perf_member *member;

	assert_registry();
	for_each_ns_member(member, ns) {
		if (member->event->cpu == cpu)
			return member;
	}
	return NULL;
}

/*
 * The member of @ns, if any, or else of any namespace, that keeps @rb mapped; of
 * several, that with the lowest event id.
 */
static struct perf_member *search_owner(struct perf_persist_ns *ns, struct perf_buffer *rb)
{
	struct perf_member *owner = NULL;
	struct perf_event *event;

	assert_registry();
	guard(rcu)();
	list_for_each_entry_rcu(event, &rb->event_list, rb_entry) {
		struct perf_member *member = event->member;

		if (member && member->rb == rb && (!ns || member->ns == ns) &&
		    (!owner || event->id < owner->event->id))
			owner = member;
	}
	return owner;
}

/**
 * perf_persist_buffer_owner - the member through which a buffer is kept mapped
 * @ns:		the namespace, which is settled
 * @rb:		the buffer
 *
 * Only a buffer of several namespaces takes a search, so that a listing need not
 * look at all who write to a buffer for each of them.
 *
 * Return: the member; of several, that with the lowest event id; or NULL.
 */
struct perf_member *perf_persist_buffer_owner(struct perf_persist_ns *ns, struct perf_buffer *rb)
{
	assert_registry();
	if (!rb->owner || rb->owner->ns == ns)
		return rb->owner;
	return search_owner(ns, rb);
}

static void read_head(void *arg)
{
	struct perf_head_read *read = arg;

	read->head = local_read(&read->rb->head);
	read->writing = READ_ONCE(read->rb->nest);
}

/**
 * perf_persist_read_head - find out how far the writers of a buffer are
 * @event:	one of them
 * @rb:		the buffer
 *
 * They reserve space on the CPU of @event with interrupts on, before they publish
 * anything in data_head, so it is read there: what an interrupt in between has
 * overwritten is then known.
 *
 * Return: the head, and whether a record was being written.
 */
struct perf_head_read perf_persist_read_head(struct perf_event *event, struct perf_buffer *rb)
{
	struct perf_head_read read = { .rb = rb };

	/* Nobody writes on a CPU that is offline. */
	if (smp_call_function_single(event->cpu, read_head, &read, 1))
		read_head(&read);
	return read;
}

/* The largest record, in each context that can interrupt another */
#define PERF_RECORDS_NESTED	(4 * SZ_64K)

/* To what ring_buffer_init() takes when it was not told */
static void reset_watermark(struct perf_event *event, struct perf_buffer *rb)
{
	struct perf_head_read read;

	assert_registry();
	if (rb->watermark != LONG_MAX)
		return;

	/*
	 * Meanwhile wakeup stood still: each record would wake somebody until it has
	 * caught up. The writers leave it alone as long as the watermark is out of
	 * reach. It must not be ahead of those that have begun. The head counts down.
	 */
	read = perf_persist_read_head(event, rb);
	local_set(&rb->wakeup, -read.head - (read.writing ? PERF_RECORDS_NESTED : 0));
	/* Pairs with the control dependency in __perf_output_begin(). */
	smp_store_release(&rb->watermark, max(perf_data_size(rb) / 2, 1UL));
}

/* Could anybody poll() for what is written to @rb? */
static bool is_open(struct perf_event *event)
{
	struct perf_member *member = event->member;

	return !member || refcount_read(&member->openers) > member->held;
}

/*
 * Could anybody poll() for what is written to the buffer of @event? Those who close
 * one after the other find the next one at once.
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
 * perf_persist_set_wakeups - who is to be woken for what a recorder writes
 * @member:	a member of a namespace, with the lock held
 *
 * Nobody, unless the creator asked for that or somebody has an event open that
 * writes to the same buffer: each half of it would take an interrupt for nothing.
 * While buffers are being replaced it cannot be told; the end of that asks again.
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
		reset_watermark(member->event, rb);
	else
		WRITE_ONCE(rb->watermark, LONG_MAX);
}

/* @member keeps @rb mapped from here on. */
static void set_buffer(struct perf_member *member, struct perf_buffer *rb)
{
	assert_registry();
	perf_set_add(member->ns->set, rb, UINT_MAX);
	WRITE_ONCE(rb->held, rb->held + 1);
	member->rb = rb;
	if (!rb->owner ||
	    (rb->owner->ns == member->ns && rb->owner->event->id > member->event->id))
		rb->owner = member;
}

static void clear_buffer(struct perf_member *member)
{
	struct perf_buffer *rb = member->rb;

	assert_registry();
	WRITE_ONCE(rb->held, rb->held - 1);
	if (!rb->held && member->state != PERF_MEMBER_DELETED)
		reset_watermark(member->event, rb);
	if (!rb->held)
		perf_set_remove(rb);
	member->rb = NULL;
	if (rb->owner != member)
		return;
	rb->owner = NULL;
	if (rb->held)
		rb->owner = search_owner(member->ns, rb) ?: search_owner(NULL, rb);
}

/*
 * The published member after @prev, or the first one, that writes to @rb. Unlike
 * the list it stays where it is, as the caller has the lock.
 */
static struct perf_member *next_writer(struct perf_buffer *rb, struct perf_member *prev)
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

/* Would other members of the namespace lose their buffer with @member? */
static bool buffer_needed(struct perf_member *member)
{
	struct perf_event *event;
	bool needed = false;

	assert_registry();
	if (!member->rb)
		return false;

	guard(rcu)();
	list_for_each_entry_rcu(event, &member->rb->event_list, rb_entry) {
		struct perf_member *other = event->member;

		if (!other || other == member || other->ns != member->ns)
			continue;
		if (other->rb)
			return false;
		needed = true;
	}
	return needed;
}

/* Seen by mmap() and SET_OUTPUT, which hold mmap_mutex. */
static void set_state(struct perf_member *member, enum perf_member_state state)
{
	assert_registry();
	mutex_lock(&member->event->mmap_mutex);
	WRITE_ONCE(member->state, state);
	mutex_unlock(&member->event->mmap_mutex);
}

#ifdef CONFIG_EVENT_TRACING
static struct trace_event_call *member_tp(struct perf_member *member)
{
	return member->event->tp_event;
}
#else
static struct trace_event_call *member_tp(struct perf_member *member) { return NULL; }
#endif

/*
 * Groups, AUX areas and signals to a task all need more to stay alive than an
 * event and its buffer.
 */
static bool may_be_persistent(struct perf_event *event)
{
	const struct perf_event_attr *attr = &event->attr;

	lockdep_assert_held(&event->ctx->mutex);

	return event->group_leader == event && !event->nr_siblings &&
	       !(event->event_caps & PERF_EV_CAP_SIBLING) &&
	       !has_aux(event) && !has_aux_action(event) &&
	       !attr->aux_output && !attr->aux_sample_size && !attr->sigtrap;
}

/*
 * Only one can try at a time, and from here on nobody can add a sibling.
 */
static int start_joining(struct perf_member *member)
{
	struct perf_event *event = member->event;
	struct perf_event_context *ctx;
	int ret = 0;

	ctx = perf_event_ctx_lock(event);
	switch (READ_ONCE(member->state)) {
	case PERF_MEMBER_NONE:
		if (may_be_persistent(event))
			WRITE_ONCE(member->state, PERF_MEMBER_JOINING);
		else
			ret = -EOPNOTSUPP;
		break;
	case PERF_MEMBER_DELETED:
		ret = -ENODEV;
		break;
	default:
		ret = -EBUSY;
		break;
	}
	perf_event_ctx_unlock(event, ctx);

	return ret;
}

static void add_member(struct perf_persist_ns *ns, struct perf_member *member)
{
	assert_registry();

	member->ns = get_persist_ns(ns);
	atomic64_set(&member->lost_at_stop, atomic64_read(&member->event->lost_samples));
	rb_add(&member->node, &ns->members, perf_member_less);
	set_state(member, PERF_MEMBER_JOINED);
	perf_snapshot_members_changed(ns);
	perf_persist_changed(ns);
}

/*
 * A namespace goes with its last member. It is returned then, for
 * perf_persist_remove().
 */
static struct perf_persist_ns *remove_member(struct perf_member *member)
{
	struct perf_persist_ns *ns = member->ns;
	bool last;

	assert_registry();

	rb_erase(&member->node, &ns->members);
	perf_snapshot_members_changed(ns);
	member->ns = NULL;
	/*
	 * Pairs with smp_load_acquire() in perf_persistent_last_opener(), which
	 * may free the event now.
	 */
	smp_store_release(&member->state, PERF_MEMBER_NONE);

	last = RB_EMPTY_ROOT(&ns->members);
	if (last)
		perf_persist_unlink(ns);
	else
		perf_persist_changed(ns);

	perf_persist_put(ns); /* Matches get_persist_ns() in add_member(), not the last */
	return last ? ns : NULL;
}

/*
 * What hold_member() took, on its way to be given back without the lock.
 */
struct perf_member_hold {
	struct perf_event	*event;
	struct perf_buffer	*rb;
};

/*
 * Make the namespace an opener of @member, and its buffer safe from munmap().
 * unhold_member() and release_hold() undo it, also after an error.
 */
static int hold_member(struct perf_member *member)
{
	struct perf_event *event = member->event;
	struct perf_buffer *rb;
	int ret = 0;

	assert_registry();

	if (!member->held) {
		/* Its last file is being closed and waits for our lock. */
		if (!refcount_read(&member->openers))
			return 0;
		if (perf_persist_nr_held >= READ_ONCE(sysctl_perf_event_max_persistent))
			return -ENOSPC;
		if (!refcount_inc_not_zero(&member->openers))
			return 0;
		member->held = true;
		perf_persist_nr_held++;
	}

	mutex_lock(&event->mmap_mutex);
	rb = event->rb;
	/* perf_mmap() gives no AUX area to a buffer that is held. */
	if (rb)
		mutex_lock(&rb->aux_mutex);
	if (rb && (!rb->overwrite || !is_write_backward(event) || rb_has_aux(rb))) {
		/* Can't be read while it is live, or is never emptied, or only in part. */
		ret = -EINVAL;
		goto unlock;
	}

	/*
	 * Without a mapping it was redirected: the buffer is another member's.
	 * What another namespace holds is not ours to hold, see check_output().
	 */
	if (rb && !member->rb && atomic_read(&event->mmap_count) &&
	    (!rb->held || perf_persist_buffer_owner(member->ns, rb)) &&
	    atomic_inc_not_zero(&rb->mmap_count)) {
		atomic_inc(&event->mmap_count);
		refcount_inc(&rb->refcount);
		set_buffer(member, rb);
	}
	/* Pairs with the one in perf_persistent_may_write(). */
	smp_mb();
	if (rb && READ_ONCE(rb->ever_writable)) {
		/* The page that tells readers where to begin can be forged. */
		ret = -EACCES;
		goto unlock;
	}
	WRITE_ONCE(member->state, PERF_MEMBER_PUBLISHED);
unlock:
	if (rb)
		mutex_unlock(&rb->aux_mutex);
	mutex_unlock(&event->mmap_mutex);
	return ret;
}

/* The buffer that a member writes to has to be one that is held. */
static int check_output(struct perf_member *member)
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

/*
 * Locked memory
 *
 * perf_mmap() charges what is over the limit of perf_event_mlock_kb to the mm
 * that maps the buffer, where it would go with the process. So publishing moves
 * this charge to the user, where it stays for as long as the buffer is mapped
 * by anybody.
 */

/* In bytes. Like perf_mmap(), which asks for the capability only when it matters. */
static bool may_lock(unsigned long bytes, unsigned long limit)
{
	return bytes <= limit || !perf_is_paranoid() || capable(CAP_IPC_LOCK);
}

/* -1: beyond what the user namespaces allow. uncharge_bytes() undoes that, too. */
static long charge_bytes(struct ucounts *ucounts, long bytes, struct ucounts **charged)
{
	long total;

	*charged = get_ucounts(ucounts);
	if (!*charged)
		return -1;

	total = inc_rlimit_ucounts(*charged, UCOUNT_RLIMIT_MEMLOCK, bytes);
	return total == LONG_MAX ? -1 : total;
}

static void uncharge_bytes(struct ucounts *charged, long bytes)
{
	if (!charged)
		return;

	dec_rlimit_ucounts(charged, UCOUNT_RLIMIT_MEMLOCK, bytes);
	put_ucounts(charged);
}

/**
 * perf_persist_charge - have the owner of a namespace pay for memory
 * @ns:		the namespace
 * @bytes:	how much
 *
 * The caller may have the owner pay, see perf_persist_may_spend(), or has its creds.
 *
 * Return: what perf_persist_uncharge() takes, or -EPERM: not beyond RLIMIT_MEMLOCK.
 */
struct ucounts *perf_persist_charge(struct perf_persist_ns *ns, long bytes)
{
	struct ucounts *charged;
	long total;

	total = charge_bytes(ns->cred->ucounts, bytes, &charged);
	if (total >= 0 && may_lock(total, ns->memlock))
		return charged;

	uncharge_bytes(charged, bytes);
	return ERR_PTR(-EPERM);
}

/**
 * perf_persist_uncharge - undo perf_persist_charge()
 * @ucounts:	what it returned
 * @bytes:	the same as there
 */
void perf_persist_uncharge(struct ucounts *ucounts, long bytes)
{
	uncharge_bytes(ucounts, bytes);
}

static void uncharge_ucounts(struct perf_buffer *rb)
{
	uncharge_bytes(rb->mmap_ucounts, rb->mmap_locked << PAGE_SHIFT);
	rb->mmap_ucounts = NULL;
}

/*
 * Charge the owner for what @member keeps mapped: the caller, unless it joins. The mm
 * remains charged until settle_charge(); uncharge_member() undoes it before that.
 */
static int charge_member(struct perf_member *member)
{
	struct perf_persist_ns *ns = member->ns;
	struct ucounts *ucounts = ns->published ? ns->cred->ucounts : current_ucounts();
	unsigned long limit = ns->published ? ns->memlock : rlimit(RLIMIT_MEMLOCK);
	struct perf_buffer *rb = member->rb;
	long total;

	assert_registry();
	/* The user is charged already when it comes from another namespace. */
	if (!rb || !rb->mmap_mm || !rb->mmap_locked || rb->mmap_ucounts)
		return 0;

	total = charge_bytes(ucounts, rb->mmap_locked << PAGE_SHIFT, &rb->mmap_ucounts);
	if (total >= 0 && may_lock(total, limit))
		return 0;

	uncharge_ucounts(rb);
	return -EPERM;
}

static void uncharge_member(struct perf_member *member)
{
	assert_registry();
	if (member->rb && member->rb->mmap_mm)
		uncharge_ucounts(member->rb);
}

static void settle_charge(struct perf_member *member)
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
 * perf_persistent_uncharge - a buffer that was persistent is not mapped any more
 * @rb:		the buffer
 *
 * Called without a lock.
 */
void perf_persistent_uncharge(struct perf_buffer *rb)
{
	uncharge_ucounts(rb);
	perf_set_remove(rb);
}

static struct perf_member_hold unhold_member(struct perf_member *member)
{
	struct perf_member_hold hold = { };

	assert_registry();
	/* mmap() relies on the buffer of what is published. */
	WARN_ON_ONCE(member->state == PERF_MEMBER_PUBLISHED);

	if (member->held) {
		hold.event = member->event;
		hold.rb = member->rb;
		if (hold.rb)
			clear_buffer(member);
		member->held = false;
		perf_persist_nr_held--;
	}
	return hold;
}

/**
 * perf_persistent_released - the last opener of an event is gone
 * @event:	the event, which is in no context any more
 *
 * A snapshot may keep it, but no program is to run for it. Before that, files and
 * links that have to do with the program may still be there.
 */
void perf_persistent_released(struct perf_event *event)
{
	if (event->member && member_tp(event->member))
		perf_event_free_bpf_prog(event);
}

/**
 * perf_persist_put_opener - drop an opener of an event, which frees it if it was the last
 * @event:	the event
 *
 * Called without a lock.
 */
void perf_persist_put_opener(struct perf_event *event)
{
	if (perf_persistent_last_opener(event))
		perf_event_release_kernel(event);
}

static void release_hold(struct perf_member_hold hold)
{
	if (!hold.event)
		return;

	if (hold.rb) {
		perf_mmap_put(hold.event, hold.rb);
		ring_buffer_put(hold.rb); /* could be last */
	}
	perf_persist_put_opener(hold.event);
}

/**
 * perf_persistent_last_opener - somebody who had an event open is done with it
 * @event:	the event
 *
 * Openers are its files, and the namespace that holds it. Takes
 * perf_persist_lock, unless @event is in no namespace.
 *
 * Return: true when the caller was the last opener, and has to release @event;
 * otherwise it must not touch @event again.
 */
bool perf_persistent_last_opener(struct perf_event *event)
{
	struct perf_member *member = event->member;
	struct perf_persist_ns *gone = NULL;

	/* An event of a task, which has one file only. */
	if (!member)
		return true;

	if (READ_ONCE(member->state) == PERF_MEMBER_PUBLISHED) {
		bool held, last;

		/* The namespace that holds it stays one, as long as we have the lock. */
		mutex_lock(&perf_persist_lock);
		held = member->held && member->state == PERF_MEMBER_PUBLISHED;
		last = refcount_dec_and_test(&member->openers);
		if (held)
			perf_persist_set_wakeups(member);
		mutex_unlock(&perf_persist_lock);
		if (!last)
			return false;
	} else if (!refcount_dec_and_test(&member->openers)) {
		return false;
	}

	/*
	 * Nobody is left to let it join. Pairs with smp_store_release() in
	 * remove_member(), which may be called for it.
	 */
	if (smp_load_acquire(&member->state) == PERF_MEMBER_NONE)
		return true;

	mutex_lock(&perf_persist_lock);
	if (member->state == PERF_MEMBER_JOINED)
		gone = remove_member(member);
	mutex_unlock(&perf_persist_lock);

	if (gone)
		perf_persist_remove(gone);
	return true;
}

/*
 * What CPU hotplug leaves to do, see below
 */

static LLIST_HEAD(perf_persist_deferred);	/* openers that the worker drops */
static struct cpumask perf_persist_new_cpus;	/* that the worker is to look at */

static void perf_persist_worker(struct work_struct *work);
static DECLARE_WORK(perf_persist_work, perf_persist_worker);

/**
 * perf_persist_reinstall - put an event back into its context, if its CPU is back
 * @event:	the event, which is enabled if it wants to be
 *
 * Called without a lock.
 */
void perf_persist_reinstall(struct perf_event *event)
{
	struct perf_event_context *ctx;

	ctx = perf_event_ctx_lock(event);
	perf_event_reinstall(event, event->member->wanted);
	perf_event_ctx_unlock(event, ctx);
}

/* The part of publishing @event that takes other locks than the registry's. */
static void finish_publishing(struct perf_event *event)
{
	perf_remove_from_owner(event);
	/* Its CPU may have gone and come back before. */
	perf_persist_reinstall(event);
}

/*
 * Publish, create, join, claim, delete
 */

/* Is there a member on each CPU that is online? */
static bool has_all_cpus(struct perf_persist_ns *ns)
{
	static struct cpumask cpus; /* under the lock */
	struct perf_member *member;

	assert_registry();
	cpumask_clear(&cpus);
	for_each_ns_member(member, ns)
		cpumask_set_cpu(READ_ONCE(member->event->cpu), &cpus);
	return cpumask_subset(cpu_online_mask, &cpus);
}

/*
 * All members or none. After an error the caller calls release_unpublished()
 * when it has dropped the lock.
 */
static int publish_ns(struct perf_persist_ns *ns, const char *name)
{
	struct perf_member *member, *next;
	int ret;

	assert_registry();

	if (find_name(name))
		return -EEXIST;

	for (member = first_member(ns); member; member = next) {
		next = following_member(member);

		ret = hold_member(member);
		if (ret)
			goto err_members;
		/* Never the last: the caller has one open. */
		if (!member->held)
			remove_member(member);
	}

	for_each_ns_member(member, ns) {
		ret = check_output(member);
		if (ret)
			goto err_members;
	}

	for_each_ns_member(member, ns) {
		ret = charge_member(member);
		if (ret)
			goto err_charges;
	}

	strscpy_pad(ns->name, name);
	ret = add_ns_files(ns);
	if (ret)
		goto err_name;

	for_each_ns_member(member, ns)
		settle_charge(member);
	ns->memlock = rlimit(RLIMIT_MEMLOCK);
	/* The creator may have missed a CPU. Later ones find that @ns is published. */
	if (ns->all_cpus && !has_all_cpus(ns)) {
		get_persist_ns(ns);
		queue_work(system_unbound_wq, &ns->cover_work);
	}
	rb_add(&ns->name_node, &perf_persist_names, ns_name_less);
	ns->published = true;
	perf_persist_changed(ns);
	return 0;

err_name:
	ns->name[0] = '\0';
err_charges:
	for_each_ns_member(member, ns)
		uncharge_member(member);
err_members:
	for_each_ns_member(member, ns)
		set_state(member, PERF_MEMBER_JOINED);
	return ret;
}

/*
 * Let go of the members that a failed publish_ns() held. When another thread
 * publishes @ns meanwhile, it takes over what is still held.
 */
static void release_unpublished(struct perf_persist_ns *ns)
{
	struct perf_member_hold hold;
	struct perf_member *member;
	u64 event_id = 0;

	do {
		hold = (struct perf_member_hold){ };

		mutex_lock(&perf_persist_lock);
		member = ns->published ? NULL : next_member(ns, event_id);
		if (member) {
			event_id = member->event->id;
			hold = unhold_member(member);
		}
		mutex_unlock(&perf_persist_lock);

		release_hold(hold);
	} while (member);
}

static int create_ns(struct perf_member *member)
{
	struct perf_persist_ns *ns;

	assert_registry();

	ns = alloc_ns();
	if (!ns)
		return -ENOMEM;

	ns->id = ++perf_persist_last_id;
	ns->all_cpus = member->all_cpus;
	rb_add(&ns->id_node, &perf_persist_ids, ns_id_less);
	add_member(ns, member);

	return member->name ? publish_ns(ns, member->name) : 0;
}

/* A namespace that has no name yet is its creator's alone. */
static int join_unnamed(struct perf_member *member, u64 id)
{
	struct perf_persist_ns *ns = find_ns(id);

	assert_registry();
	if (!ns || ns->published || !is_creator(ns))
		return -ENOENT;
	if (member->name)
		return -EINVAL;

	add_member(ns, member);
	return 0;
}

/* Deleting is up to the owner, whoever lets events join. */
static int owner_may_write(struct perf_persist_ns *ns, struct perf_event *event)
{
	const struct cred *old = override_creds(ns->cred);
	int ret = security_perf_event_write(event);

	revert_creds(old);
	return ret;
}

/* The caller has the right to change @ns, and has it settled. */
static int join_published(struct perf_member *member, struct perf_persist_ns *ns)
{
	int ret;

	assert_registry();
	if (ns->unlinked)
		return -ENODEV;
	if (member->name && strcmp(member->name, ns->name))
		return -EINVAL;

	ret = perf_persist_may_write(ns);
	if (!ret)
		ret = owner_may_write(ns, member->event);
	if (ret)
		return ret;

	add_member(ns, member);
	ret = hold_member(member);
	if (!ret)
		ret = check_output(member);
	if (!ret)
		ret = charge_member(member);
	if (!ret) {
		settle_charge(member);
		perf_trigger_follow(ns);
	}
	return ret;
}

/* Wait until the namespace of @member is settled, if it has one. */
static void settle_member(struct perf_member *member)
{
	assert_registry();
	while (member->ns && member->ns->swapping)
		perf_snapshot_settle(member->ns);
}

/*
 * The end of joining, after start_joining(), whatever came of it. Drops the lock.
 */
static void end_joining(struct perf_member *member, int ret)
{
	struct perf_persist_ns *gone = NULL;
	struct perf_member_hold hold = { };
	bool published = false;

	assert_registry();
	if (!ret) {
		published = member->ns->published;
		kfree(member->name);
		member->name = NULL;
	} else if (member->ns) {
		set_state(member, PERF_MEMBER_JOINING);
		hold = unhold_member(member);
		gone = remove_member(member);
	} else {
		set_state(member, PERF_MEMBER_NONE);
	}
	mutex_unlock(&perf_persist_lock);

	release_hold(hold);
	if (gone)
		perf_persist_remove(gone);
	if (published)
		finish_publishing(member->event);
}

/*
 * PERF_EVENT_IOC_SET_PERSIST with an address.
 */
static long persist_event(struct perf_event *event, u64 __user *uid)
{
	struct perf_member *member = event->member;
	u64 id;
	int ret;

	/* Find out whether the answer can be given before there is one. */
	if (get_user(id, uid) || put_user(id, uid))
		return -EFAULT;

	ret = start_joining(member);
	if (ret)
		return ret;

	mutex_lock(&perf_persist_lock);
	ret = id == PERF_PERSIST_NEW ? create_ns(member) : join_unnamed(member, id);
	if (!ret)
		id = member->ns->id;
	end_joining(member, ret);

	if (!ret && put_user(id, uid))
		return -EFAULT;
	return ret;
}

/*
 * PERF_EVENT_IOC_JOIN on a namespace: the event that the caller has open becomes a
 * member. What it costs from then on is the owner's to pay.
 */
static long join_event(struct perf_persist_ns *ns, const s32 __user *ufd)
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

	/* Not one that is for reading only */
	file = perf_event_get(fd);
	if (IS_ERR(file))
		return PTR_ERR(file);

	event = file->private_data;
	ret = security_perf_event_write(event);
	if (!ret)
		ret = event->member ? start_joining(event->member) : -EOPNOTSUPP;
	if (!ret) {
		mutex_lock(&perf_persist_lock);
		perf_snapshot_settle(ns);
		ret = join_published(event->member, ns);
		end_joining(event->member, ret);
	}
	fput(file);
	return ret;
}

/**
 * perf_persist_take_event - take an event from user space, for a trigger
 * @fd:		descriptor of the event
 *
 * The caller becomes one of its openers, and it is nothing else, until
 * perf_persist_free_event(). Called without a lock.
 *
 * Return: the event, or -EBADF, -EACCES, -EOPNOTSUPP, -EBUSY, -EINVAL; see
 * perf_trigger_ioctl().
 */
struct perf_event *perf_persist_take_event(int fd)
{
	struct perf_member *member;
	struct perf_event *event;
	struct file *file;
	int ret;

	/* Not one that is for reading only */
	file = perf_event_get(fd);
	if (IS_ERR(file))
		return ERR_CAST(file);

	event = file->private_data;
	member = event->member;
	ret = security_perf_event_write(event);
	if (ret)
		goto out;
	/*
	 * Elsewhere a breakpoint is stepped over only with the overflow handlers
	 * that is_default_overflow_handler() knows.
	 */
	ret = -EOPNOTSUPP;
	if (!member || (event->attr.type == PERF_TYPE_BREAKPOINT && !IS_ENABLED(CONFIG_X86)))
		goto out;
	/*
	 * What a PMU writes by itself and hands over in batches gets to no overflow
	 * handler but for the last; not if each is to wake somebody.
	 */
	if (event->attr.precise_ip && !event->attr.freq &&
	    (!event->attr.wakeup_events || event->attr.watermark))
		goto out;
	ret = -EINVAL;
	if (!is_sampling_event(event))
		goto out;
	ret = start_joining(member);
	if (ret)
		goto out;

	mutex_lock(&perf_persist_lock);
	mutex_lock(&event->mmap_mutex);
	if (event->rb) {
		ret = -EINVAL;
		WRITE_ONCE(member->state, PERF_MEMBER_NONE);
	} else {
		refcount_inc(&member->openers);
		WRITE_ONCE(member->state, PERF_MEMBER_TRIGGER);
	}
	mutex_unlock(&event->mmap_mutex);
	mutex_unlock(&perf_persist_lock);
out:
	fput(file);
	return ret ? ERR_PTR(ret) : event;
}

/**
 * perf_persist_free_event - undo perf_persist_take_event()
 * @event:	the event
 *
 * Called without a lock.
 */
void perf_persist_free_event(struct perf_event *event)
{
	mutex_lock(&perf_persist_lock);
	set_state(event->member, PERF_MEMBER_NONE);
	mutex_unlock(&perf_persist_lock);
	perf_persist_put_opener(event);
}

static bool is_last_member(struct perf_member *member)
{
	return first_member(member->ns) == member && !following_member(member);
}

/*
 * PERF_EVENT_IOC_SET_PERSIST with NULL: the event leaves its namespace.
 */
static long claim_event(struct perf_event *event)
{
	struct perf_member *member = event->member;
	struct perf_persist_ns *gone = NULL;
	struct perf_member_hold hold = { };
	LIST_HEAD(triggers);
	LIST_HEAD(spares);
	long ret = 0;

	mutex_lock(&perf_persist_lock);
	settle_member(member);
	switch (READ_ONCE(member->state)) {
	case PERF_MEMBER_NONE:
		ret = -ENOENT;
		break;
	case PERF_MEMBER_JOINING:
		ret = -EBUSY;
		break;
	case PERF_MEMBER_JOINED:
	case PERF_MEMBER_PUBLISHED:
		if (buffer_needed(member)) {
			ret = -EBUSY;
			break;
		}
		set_state(member, PERF_MEMBER_JOINING);
		hold = unhold_member(member);
		perf_snapshot_drop_spares(member->ns, &spares);
		if (is_last_member(member))
			perf_trigger_unlink(member->ns, &triggers);
		gone = remove_member(member);
		break;
	case PERF_MEMBER_DELETED:
		ret = -ENODEV;
		break;
	case PERF_MEMBER_TRIGGER:
		ret = -EBUSY;
		break;
	}
	mutex_unlock(&perf_persist_lock);

	perf_trigger_free(&triggers);
	perf_snapshot_free_spares(&spares);
	release_hold(hold);
	if (gone)
		perf_persist_remove(gone);
	return ret;
}

/**
 * perf_persist_may_write - ask the LSM about each event that is to be changed
 * @ns:		the namespace
 *
 * Return: 0, or what the LSM says.
 */
int perf_persist_may_write(struct perf_persist_ns *ns)
{
	struct perf_member *member;
	int ret;

	assert_registry();
	for_each_ns_member(member, ns) {
		ret = security_perf_event_write(member->event);
		if (ret)
			return ret;
	}
	return 0;
}

/*
 * The name goes and the events stop at once, whoever has them open. The caller
 * holds a reference on @ns.
 */
static long delete_ns(struct perf_persist_ns *ns)
{
	struct perf_member *member, *next;
	struct perf_member_hold hold;
	LIST_HEAD(triggers);
	LIST_HEAD(spares);
	long ret = -ENODEV;

	if (is_snapshot(ns))
		return perf_snapshot_delete(ns);

	mutex_lock(&perf_persist_lock);
	perf_snapshot_settle(ns);
	if (!ns->unlinked)
		ret = perf_persist_may_write(ns);
	if (!ret) {
		for_each_ns_member(member, ns)
			set_state(member, PERF_MEMBER_DELETED);
		perf_snapshot_drop_spares(ns, &spares);
		perf_trigger_unlink(ns, &triggers);
		perf_persist_unlink(ns);
	}
	mutex_unlock(&perf_persist_lock);
	if (ret)
		return ret;

	/* The name first: what follows has to wait for who holds a context. */
	perf_persist_remove(ns);

	/*
	 * Its members are ours alone now: they can't leave a namespace that is
	 * deleted, and stay as long as it holds them.
	 */
	for_each_ns_member(member, ns)
		perf_event_retire(member->event);
	perf_trigger_free(&triggers);
	perf_snapshot_free_spares(&spares);

	for (member = first_member(ns); member; member = next) {
		next = following_member(member);

		mutex_lock(&perf_persist_lock);
		rb_erase(&member->node, &ns->members);
		hold = unhold_member(member);
		mutex_unlock(&perf_persist_lock);

		release_hold(hold);
	}
	return 0;
}

/*
 * Do something with each member of a published namespace without the lock.
 */
static void walk_members(struct perf_persist_ns *ns, void (*func)(struct perf_event *))
{
	struct perf_member *member;
	struct perf_event *event;
	u64 event_id = 0;

	for (;;) {
		mutex_lock(&perf_persist_lock);
		member = ns->unlinked ? NULL : next_member(ns, event_id);
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

static long enable_ns(struct perf_persist_ns *ns, bool enable)
{
	long ret = -ENODEV;

	if (is_snapshot(ns))
		return -EINVAL;

	mutex_lock(&perf_persist_lock);
	if (!ns->unlinked)
		ret = perf_persist_may_write(ns);
	mutex_unlock(&perf_persist_lock);
	if (ret)
		return ret;

	walk_members(ns, enable ? perf_event_enable : perf_event_disable);

	mutex_lock(&perf_persist_lock);
	if (enable)
		perf_snapshot_resume(ns);
	perf_persist_changed(ns);
	mutex_unlock(&perf_persist_lock);
	return 0;
}

/*
 * Names and labels
 */

/* "namespace", "namespace/label" or "/label", split at the first slash */
struct perf_persist_string {
	char	buf[PERF_PERSIST_USER_NAME_MAX + 1 + PERF_PERSIST_NAME_SIZE];
	char	*name;	/* NULL: none given */
	char	*label;	/* NULL: none given */
};

/*
 * perf looks names up in lower case, and a dot is for names that the kernel
 * derives.
 */
static bool valid_new_name(const char *name)
{
	size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-");

	return (*name == '_' || (*name >= 'a' && *name <= 'z')) &&
	       !name[len] && len <= PERF_PERSIST_USER_NAME_MAX;
}

/**
 * perf_persist_valid_label - can something be called that
 * @label:	NUL-terminated
 *
 * Return: true for anything that prints, in whatever encoding: nothing that
 * moves a cursor.
 */
bool perf_persist_valid_label(const char *label)
{
	const char *c;

	for (c = label; *c; c++) {
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return false;
	}
	return c != label && c - label < PERF_PERSIST_NAME_SIZE;
}

/* The name of a snapshot is that of a namespace, a dot and a number. */
static bool valid_snapshot_name(const char *name)
{
	char buf[PERF_PERSIST_NAME_SIZE], *dot;
	unsigned int number;

	if (strscpy(buf, name) < 0)
		return false;
	dot = strchr(buf, '.');
	if (!dot)
		return false;
	*dot++ = '\0';
	return valid_new_name(buf) && !kstrtouint(dot, 10, &number);
}

/* @find: of a namespace that exists, and not one that is to be made. */
static int get_string(struct perf_persist_string *str, const char __user *ustr, bool find)
{
	long len;

	len = strncpy_from_user(str->buf, ustr, sizeof(str->buf));
	if (len < 0)
		return len;
	if (len == sizeof(str->buf))
		return -EINVAL;

	str->name = str->buf;
	str->label = strchr(str->buf, '/');
	if (str->label) {
		if (str->label == str->buf)
			str->name = NULL;
		*str->label++ = '\0';
	}

	if (str->name && !valid_new_name(str->name) &&
	    !(find && valid_snapshot_name(str->name)))
		return -EINVAL;
	if (str->label && !perf_persist_valid_label(str->label))
		return -EINVAL;
	return 0;
}

static long name_event(struct perf_event *event, const char __user *ustr)
{
	struct perf_member *member = event->member;
	char *name __free(kfree) = NULL, *label __free(kfree) = NULL;
	struct perf_persist_ns *ns = NULL;
	struct perf_persist_string str;
	long ret;

	ret = get_string(&str, ustr, false);
	if (ret)
		return ret;
	name = kstrdup(str.name, GFP_KERNEL_ACCOUNT);
	label = kstrdup(str.label, GFP_KERNEL_ACCOUNT);
	if (!name != !str.name || !label != !str.label)
		return -ENOMEM;

	mutex_lock(&perf_persist_lock);
	switch (READ_ONCE(member->state)) {
	case PERF_MEMBER_NONE:
		if (str.name)
			swap(member->name, name);
		break;
	case PERF_MEMBER_JOINING:
		ret = -EBUSY;
		break;
	case PERF_MEMBER_JOINED:
		if (!str.name)
			break;
		if (!is_creator(member->ns)) {
			ret = -EPERM;
			break;
		}
		ns = get_persist_ns(member->ns);
		ret = publish_ns(ns, str.name);
		break;
	case PERF_MEMBER_PUBLISHED:
		if (str.name)
			ret = -EBUSY;
		break;
	case PERF_MEMBER_DELETED:
		ret = -ENODEV;
		break;
	case PERF_MEMBER_TRIGGER:
		ret = -EBUSY;
		break;
	}
	if (!ret && str.label) {
		swap(member->label, label);
		if (member->ns)
			perf_persist_changed(member->ns);
	}
	mutex_unlock(&perf_persist_lock);

	if (ns) {
		if (ret)
			release_unpublished(ns);
		else
			walk_members(ns, finish_publishing);
		perf_persist_put(ns);
	}
	return ret;
}

static long set_flags(struct perf_event *event, const u64 __user *uflags)
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
	case PERF_MEMBER_TRIGGER:
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
 * Rights
 */

/*
 * What perf_event_open() and ->event_init() ask of somebody who makes an event for
 * a CPU, besides perf_allow_cpu(): bits of perf_buffer::needs
 */
#define PERF_NEEDS_KERNEL	BIT(0)	/* perf_allow_kernel() */
#define PERF_NEEDS_TRACEPOINT	BIT(1)	/* perf_allow_tracepoint() */
#define PERF_NEEDS_PERFMON	BIT(2)	/* CAP_PERFMON */
#define PERF_NEEDS_ADMIN	BIT(3)	/* CAP_SYS_ADMIN */
#define PERF_NEEDS_BREAKPOINT	BIT(4)	/* the same, with another errno */
#define PERF_NEEDS_REGS_INTR	BIT(5)	/* not to be locked down */

#ifdef CONFIG_EVENT_TRACING
static unsigned int tp_needs(struct perf_event *event)
{
	struct trace_event_call *tp = event->tp_event;
	unsigned int needs = 0;

	/* As perf_kprobe_event_init() and perf_uprobe_event_init() */
	if (event->attr.type != PERF_TYPE_TRACEPOINT)
		needs |= tp->flags & TRACE_EVENT_FL_UPROBE ? PERF_NEEDS_ADMIN : PERF_NEEDS_PERFMON;
	/* As perf_trace_event_perm(), where ftrace's own are for root alone */
	if ((event->attr.sample_type & PERF_SAMPLE_RAW) ||
	    (tp->flags & TRACE_EVENT_FL_IGNORE_ENABLE))
		needs |= PERF_NEEDS_TRACEPOINT;
	return needs;
}

static bool has_tp(struct perf_event *event) { return event->tp_event; }
#else
static unsigned int tp_needs(struct perf_event *event) { return 0; }
static bool has_tp(struct perf_event *event) { return false; }
#endif

static bool is_kernel_breakpoint(struct perf_event *event)
{
#ifdef CONFIG_HAVE_HW_BREAKPOINT
	return arch_check_bp_in_kernelspace(counter_arch_bp(event));
#else
	return false;
#endif
}

static unsigned int event_needs(struct perf_event *event, const struct perf_event_attr *attr)
{
	u64 type = attr->sample_type;
	unsigned int needs = 0;

	if (!attr->exclude_kernel || attr->text_poke || (type & PERF_SAMPLE_PHYS_ADDR) ||
	    ((type & PERF_SAMPLE_CALLCHAIN) && !attr->exclude_callchain_kernel) ||
	    ((type & PERF_SAMPLE_BRANCH_STACK) &&
	     (attr->branch_sample_type & PERF_SAMPLE_BRANCH_PERM_PLM)))
		needs |= PERF_NEEDS_KERNEL;
	if (attr->namespaces)
		needs |= PERF_NEEDS_PERFMON;
	if (type & PERF_SAMPLE_REGS_INTR)
		needs |= PERF_NEEDS_REGS_INTR;
	if (has_tp(event))
		return needs | tp_needs(event);

	switch (attr->type) {
	case PERF_TYPE_HARDWARE:
	case PERF_TYPE_HW_CACHE:
	case PERF_TYPE_RAW:
	case PERF_TYPE_SOFTWARE:
		break;
	case PERF_TYPE_BREAKPOINT:
		if (is_kernel_breakpoint(event))
			needs |= PERF_NEEDS_BREAKPOINT;
		break;
	default:
		/* A core PMU, or nobody knows what the driver asked for. */
		if (!(event->pmu->capabilities & PERF_PMU_CAP_EXTENDED_HW_TYPE))
			needs |= PERF_NEEDS_PERFMON;
		break;
	}
	return needs;
}

/**
 * perf_persistent_attached - from here on an event writes to a buffer
 * @event:	the event, of a CPU or of a task, whose mmap_mutex is held
 * @rb:		the buffer
 *
 * Its records outlive it, and it may be no member: whoever is to open the buffer
 * later needs the right to each event that ever wrote to it.
 */
void perf_persistent_attached(struct perf_event *event, struct perf_buffer *rb)
{
	const struct perf_event_attr *attr = event->member ? &event->member->attr : &event->attr;

	atomic_or(event_needs(event, attr), &rb->needs);
}

static int check_needs(unsigned int needs)
{
	int ret;

	ret = perf_allow_cpu();
	if (!ret && (needs & PERF_NEEDS_KERNEL))
		ret = perf_allow_kernel();
	if (!ret && (needs & PERF_NEEDS_TRACEPOINT))
		ret = perf_allow_tracepoint();
	if (!ret && (needs & PERF_NEEDS_REGS_INTR))
		ret = security_locked_down(LOCKDOWN_PERF);
	if (!ret && (needs & PERF_NEEDS_PERFMON) && !perfmon_capable())
		ret = -EACCES;
	if (!ret && (needs & PERF_NEEDS_ADMIN) && !capable(CAP_SYS_ADMIN))
		ret = -EACCES;
	if (!ret && (needs & PERF_NEEDS_BREAKPOINT) && !capable(CAP_SYS_ADMIN))
		ret = -EPERM;
	return ret;
}

/*
 * A creator may have had more rights than the caller, and a buffer shows the records
 * of everybody who writes to it or once did. The buffer knows what it took to make
 * those events. The LSM is asked about the members among them that are still there.
 */
static int may_open_member(struct perf_member *member)
{
	struct perf_member *writer = NULL;
	unsigned int needs;
	int ret;

	assert_registry();

	needs = event_needs(member->event, &member->attr);
	if (is_snapshot(member->ns))
		needs |= perf_snapshot_needs(member);
	else if (member->rb)
		needs |= atomic_read(&member->rb->needs);

	ret = check_needs(needs);
	if (!ret)
		ret = security_perf_event_read(member->event);
	while (!ret && member->rb) {
		if (is_snapshot(member->ns))
			writer = perf_snapshot_next_writer(member, writer);
		else
			writer = next_writer(member->rb, writer);

		if (!writer)
			break;
		if (writer != member)
			ret = security_perf_event_read(writer->event);
	}
	return ret;
}

/* The same for those who do not come through perf_event_open(). */
static int may_see_member(struct perf_member *member)
{
	int ret;

	ret = security_perf_event_open(PERF_SECURITY_OPEN);
	if (ret)
		return ret;

	return may_open_member(member);
}

/**
 * perf_persist_may_see - may the caller open each member of a namespace
 * @ns:		the namespace, with the lock held
 *
 * Return: 0, -EACCES, -EPERM, or what the LSM says.
 */
int perf_persist_may_see(struct perf_persist_ns *ns)
{
	struct perf_member *member;
	int ret = 0;

	assert_registry();
	for_each_ns_member(member, ns) {
		ret = may_see_member(member);
		if (ret)
			break;
	}
	return ret;
}

/*
 * PERF_EVENT_IOC_GET_PERSIST
 */

/* From when its CPU goes offline until it is put back, and once it was deleted */
static bool is_detached(struct perf_event *event)
{
	return !(READ_ONCE(event->attach_state) & PERF_ATTACH_CONTEXT);
}

/* As it was a moment ago, for those who do not hold event->ctx->mutex. */
static bool is_offline(struct perf_member *member)
{
	struct perf_event *event = member->event;

	return READ_ONCE(event->state) > PERF_EVENT_STATE_EXIT && is_detached(event);
}

/* Now, or when its CPU is back */
static bool is_enabled(struct perf_member *member)
{
	if (is_offline(member))
		return READ_ONCE(member->wanted);

	return READ_ONCE(member->event->state) > PERF_EVENT_STATE_OFF;
}

static char ns_enabled_char(struct perf_persist_ns *ns)
{
	struct perf_member *member;
	int nr_on = 0, nr_off = 0;

	guard(mutex)(&perf_persist_lock);
	for_each_ns_member(member, ns) {
		if (is_enabled(member))
			nr_on++;
		else
			nr_off++;
	}
	return !nr_on ? '0' : nr_off ? 'X' : '1';
}

/**
 * perf_member_copy_attr - what the creator of a member passed, and changed since
 * @attr:	where to
 * @member:	the member, with the lock held
 */
void perf_member_copy_attr(struct perf_event_attr *attr, struct perf_member *member)
{
	spin_lock(&perf_member_attr_lock);
	*attr = member->attr;
	spin_unlock(&perf_member_attr_lock);
}

/**
 * perf_member_missed - how many records were not taken while a trigger had it stopped
 * @member:	the member, with the lock held
 *
 * perf_event::lost_samples has them, too, but nobody lost them.
 *
 * Return: the number.
 */
u64 perf_member_missed(struct perf_member *member)
{
	u64 missed = member->missed;

	/* Pairs with smp_store_release() in stop_buffers(). */
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
 * Return: the number, without those that it missed.
 */
u64 perf_member_lost(struct perf_member *member, u64 missed)
{
	u64 lost = atomic64_read(&member->event->lost_samples);

	return lost > missed ? lost - missed : 0;
}

static void fill_live_info(struct perf_event_persist *info, struct perf_member *member)
{
	struct perf_persist_ns *ns = member->ns;
	struct perf_event *event = member->event;
	struct perf_member *owner;
	struct perf_buffer *rb;

	rb = ring_buffer_get(event);
	if (rb) {
		owner = perf_persist_buffer_owner(ns, rb);
		if (owner)
			info->output_id = owner->event->id;
		info->buffer_size = perf_data_size(rb);
		info->buffer_seq = rb->seq;
		if (rb->overwrite)
			info->flags |= PERF_PERSIST_OVERWRITE;
		if (rb->nr_pages && READ_ONCE(rb->paused))
			info->flags |= PERF_PERSIST_STOPPED;
		ring_buffer_put(rb);
	}
	if (!cpu_online(event->cpu) || is_offline(member))
		info->flags |= PERF_PERSIST_OFFLINE;
	if (!is_enabled(member))
		info->flags |= PERF_PERSIST_DISABLED;
	if (ns->all_cpus)
		info->flags |= PERF_PERSIST_ALL_CPUS;
	info->missed = perf_member_missed(member);
	info->lost = perf_member_lost(member, info->missed);
	info->number = ns->number;
	info->keep = ns->keep;
	info->spares = perf_snapshot_nr_spares(ns);
}

static void fill_info(struct perf_event_persist *info, struct perf_member *member)
{
	struct perf_persist_ns *ns = member->ns;
	struct perf_event *event = member->event;

	assert_registry();

	/* What the caller passed, and nothing of what it did not know. */
	*info = (struct perf_event_persist) {
		.size		= info->size,
		.attr_size	= info->attr_size,
		.attr		= info->attr,
	};
	if (is_snapshot(ns))
		perf_snapshot_fill_info(info, member);
	else
		fill_live_info(info, member);

	info->ns_id = ns->id;
	info->event_id = event->id;
	info->created_ns = timens_add_boottime_ns(ns->created_ns);
#ifdef CONFIG_CGROUP_PERF
	if (event->cgrp)
		info->cgroup_id = cgroup_id(event->cgrp->css.cgroup);
#endif
	info->cpu = event->cpu;
	info->owner_uid = from_kuid_munged(current_user_ns(), ns->cred->uid);
	memcpy(info->owner_comm, ns->owner_comm, sizeof(info->owner_comm));
	memcpy(info->name, ns->name, sizeof(info->name));
	if (member->label)
		strscpy_pad(info->label, member->label);
}

static void fill_attr(struct perf_event_attr *attr, struct perf_member *member)
{
	perf_member_copy_attr(attr, member);

	/* The kprobe and uprobe PMUs take a pointer to a string of the creator's. */
	if (member_tp(member) && attr->type != PERF_TYPE_TRACEPOINT)
		attr->kprobe_func = 0;

	/* perf_copy_attr() fills in sample_max_stack, whatever size was passed. */
	attr->size = clamp_t(u32, attr->size, PERF_ATTR_SIZE_VER5, sizeof(*attr));
}

static_assert(sizeof(struct perf_event_persist) == PERF_EVENT_PERSIST_SIZE_VER2);

/**
 * perf_is_get_persist - is it PERF_EVENT_IOC_GET_PERSIST
 * @cmd:	ioctl number
 *
 * Return: true if so, whatever size the caller knows of.
 */
bool perf_is_get_persist(unsigned int cmd)
{
	return perf_same_ioctl(cmd, PERF_EVENT_IOC_GET_PERSIST);
}

/**
 * perf_persist_get_struct - copy a structure that can grow from user space
 * @dst:	where to; begins with its size, a u32, which is that of the user
 * @known:	what the kernel knows of it, in bytes
 * @least:	size of its first version
 * @uarg:	address in user space
 *
 * Return: 0, -EFAULT, -EINVAL when it is smaller than @least, or -E2BIG when it is
 * larger than a page or not all zeroes behind @known, which user space finds in its
 * size then.
 */
int perf_persist_get_struct(void *dst, size_t known, size_t least, void __user *uarg)
{
	u32 __user *usize = uarg;
	u32 size;
	int ret;

	if (get_user(size, usize))
		return -EFAULT;
	if (size < least)
		return -EINVAL;

	ret = size > PAGE_SIZE ? -E2BIG : copy_struct_from_user(dst, known, uarg, size);
	if (ret == -E2BIG && put_user(known, usize))
		return -EFAULT;
	*(u32 *)dst = size;
	return ret;
}

/**
 * perf_persist_put_struct - copy a structure that can grow to user space
 * @uarg:	address in user space
 * @src:	begins with its size, a u32, which is that of the user
 * @known:	what the kernel knows of it, in bytes
 *
 * Return: 0 or -EFAULT.
 */
int perf_persist_put_struct(void __user *uarg, void *src, size_t known)
{
	u32 size = *(u32 *)src, len = min_t(u32, size, known);

	*(u32 *)src = len;
	if (copy_to_user(uarg, src, len) || clear_user(uarg + len, size - len))
		return -EFAULT;
	return 0;
}

static int get_info(struct perf_event_persist *info, struct perf_event_persist __user *uinfo)
{
	int ret;

	ret = perf_persist_get_struct(info, sizeof(*info), PERF_EVENT_PERSIST_SIZE_VER0, uinfo);
	if (ret)
		return ret;
	return info->__reserved ? -EINVAL : 0;
}

static int put_info(struct perf_event_persist *info, struct perf_event_persist __user *uinfo,
		    const struct perf_event_attr *attr)
{
	u32 room = info->attr_size;

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

	return perf_persist_put_struct(uinfo, info, sizeof(*info));
}

/**
 * perf_persist_get_info - PERF_EVENT_IOC_GET_PERSIST on a member
 * @event:	its event
 * @member:	the member, or NULL
 * @uinfo:	the argument
 *
 * Called without a lock. The head is that of the buffer that is described.
 *
 * Return: 0, or see perf_persistent_ioctl().
 */
long perf_persist_get_info(struct perf_event *event, struct perf_member *member,
			   struct perf_event_persist __user *uinfo)
{
	struct perf_event_persist info;
	struct perf_event_attr attr;
	struct perf_buffer *rb = NULL;
	int ret;

	ret = get_info(&info, uinfo);
	if (ret)
		return ret;
	if (!member)
		return -ENOENT;

	mutex_lock(&perf_persist_lock);
	settle_member(member);
	if (member->ns) {
		fill_info(&info, member);
		fill_attr(&attr, member);
		if (!is_snapshot(member->ns))
			rb = ring_buffer_get(event);
	} else {
		ret = -ENOENT;
	}
	mutex_unlock(&perf_persist_lock);
	if (ret)
		return ret;

	if (rb) {
		info.head = perf_persist_read_head(event, rb).head;
		ring_buffer_put(rb);
	}
	return put_info(&info, uinfo, &attr);
}

/*
 * CPU hotplug
 *
 * What is done when a CPU comes online runs inside cpu_hotplug_lock: it can put
 * events back into their context, but neither make nor free one, as this takes
 * that lock for static keys. For that there is a worker.
 */

static void put_opener_deferred(struct perf_member *member)
{
	/* The one that is left cannot multiply: nobody has the event open. */
	if (!refcount_dec_not_one(&member->openers) &&
	    llist_add(&member->deferred, &perf_persist_deferred))
		queue_work(system_unbound_wq, &perf_persist_work);
}

/* The published namespace after @prev, which is put; the first one after NULL. */
static struct perf_persist_ns *next_published_ns(struct perf_persist_ns *prev)
{
	u64 id = prev ? prev->id : 0;
	struct perf_persist_ns *next = NULL;
	struct rb_node *node;

	mutex_lock(&perf_persist_lock);
	node = perf_persist_ids.rb_node;
	while (node) {
		struct perf_persist_ns *ns = ns_of_id(node);

		if (ns->id > id) {
			next = ns;
			node = node->rb_left;
		} else {
			node = node->rb_right;
		}
	}
	/* What a snapshot is of is a member of another namespace, or of none. */
	while (next && (!next->published || is_snapshot(next))) {
		node = rb_next(&next->id_node);
		next = node ? ns_of_id(node) : NULL;
	}
	if (next)
		get_persist_ns(next);
	mutex_unlock(&perf_persist_lock);

	if (prev)
		perf_persist_put(prev);
	return next;
}

/* The member on @cpu with the lowest id above @event_id, with an opener more. */
static struct perf_member *open_next_on(struct perf_persist_ns *ns, int cpu, u64 event_id)
{
	struct perf_member *member;

	mutex_lock(&perf_persist_lock);
	member = ns->unlinked ? NULL : next_member(ns, event_id);
	while (member && member->event->cpu != cpu)
		member = following_member(member);
	if (member)
		refcount_inc(&member->openers); /* at least one: it is held */
	mutex_unlock(&perf_persist_lock);

	return member;
}

static void cpu_changed(int cpu)
{
	struct perf_persist_ns *ns;

	for (ns = NULL; (ns = next_published_ns(ns)); ) {
		mutex_lock(&perf_persist_lock);
		if (find_member_on(ns, cpu))
			perf_persist_changed(ns);
		mutex_unlock(&perf_persist_lock);
	}
}

static int perf_persistent_cpu_online(unsigned int cpu)
{
	struct perf_member *member;
	struct perf_persist_ns *ns;
	u64 event_id;

	/* What is published from now on finds that its CPU is online. */
	for (ns = NULL; (ns = next_published_ns(ns)); ) {
		for (event_id = 0; (member = open_next_on(ns, cpu, event_id)); ) {
			event_id = member->event->id;
			perf_persist_reinstall(member->event);
			put_opener_deferred(member);
		}
		for (event_id = 0; (member = perf_trigger_open_next(ns, cpu, event_id)); ) {
			event_id = member->event->id;
			perf_persist_reinstall(member->event);
			put_opener_deferred(member);
		}
	}
	cpu_changed(cpu);

	/* Soon, have the same events there in all namespaces that are for all CPUs. */
	cpumask_set_cpu(cpu, &perf_persist_new_cpus);
	queue_work(system_unbound_wq, &perf_persist_work);
	return 0;
}

static int perf_persistent_cpu_dead(unsigned int cpu)
{
	cpu_changed(cpu);
	return 0;
}

/**
 * perf_persistent_offline - an event loses its context, as its CPU goes offline
 * @event:	the event, whose ctx->lock and ctx->mutex are held
 */
void perf_persistent_offline(struct perf_event *event)
{
	bool enabled = event->state > PERF_EVENT_STATE_OFF && !event->pending_disable;

	if (event->member)
		WRITE_ONCE(event->member->wanted, enabled);
}

/**
 * perf_persistent_is_detached - is an event that is kept in no context
 * @event:	the event; under event->ctx->mutex the answer stays right
 *
 * An event that nobody keeps never comes back from there, as in any kernel.
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
	case PERF_MEMBER_TRIGGER:
		return true;
	default:
		return false;
	}
}

/**
 * perf_persistent_set_wanted - enable or disable an event whose CPU is offline
 * @event:	the event, whose ctx->mutex is held
 * @wanted:	what it is to be when the CPU is back
 *
 * Return: false if the event has a context and can be enabled or disabled now.
 */
bool perf_persistent_set_wanted(struct perf_event *event, bool wanted)
{
	/* Events of tasks: their children come without the mutex of their context. */
	if (!event->member)
		return false;

	lockdep_assert_held(&event->ctx->mutex);
	if (!perf_persistent_is_detached(event))
		return false;

	WRITE_ONCE(event->member->wanted, wanted);
	return true;
}

/**
 * perf_persistent_keep_filter - an event was given a filter
 * @event:	the event, whose ctx->mutex is held
 * @filter_str:	as the user wrote it
 *
 * Return: true if @filter_str is kept, for members on other CPUs.
 */
bool perf_persistent_keep_filter(struct perf_event *event, char *filter_str)
{
	if (!event->member)
		return false;

	kfree(event->member->filter);
	event->member->filter = filter_str;
	return true;
}

/*
 * Cover a CPU that came online with the same events as another, its model
 */

/**
 * perf_persist_is_per_cpu - would its like on another CPU count something else
 * @event:	the event
 *
 * That of a PMU outside of the CPUs, or of one that several share, would count
 * the same once more.
 *
 * Return: true if so.
 */
bool perf_persist_is_per_cpu(struct perf_event *event)
{
	return event->pmu->task_ctx_nr != perf_invalid_context &&
	       event->pmu->scope == PERF_PMU_SCOPE_NONE;
}

/**
 * perf_persist_clone - make the same event on another CPU
 * @model:	the event there is, with an opener of the caller's
 * @cpu:	the other CPU
 * @enable:	out: whether @model is enabled, or wants to be; the new one is not;
 *		NULL: does not matter
 *
 * Called without a lock, with the creds of the namespace. The caller is the
 * opener of the new event, see perf_persist_put_opener().
 *
 * Return: the event, which has the filter of @model and no buffer, or
 *  -EOPNOTSUPP	what @model is about cannot be had without its creator
 *  -ENODEV	the CPU is offline
 *  -ENOMEM, and what the PMU, lockdown or an LSM says.
 */
struct perf_event *perf_persist_clone(struct perf_member *model, int cpu, bool *enable)
{
	struct perf_event_context *ctx;
	struct perf_event_attr attr;
	struct perf_event *event;
	char *filter = NULL;
	int ret;

	/* What a kprobe or uprobe is on was a string of the creator's. */
	if (member_tp(model) && model->attr.type != PERF_TYPE_TRACEPOINT)
		return ERR_PTR(-EOPNOTSUPP);

	if (model->attr.sample_type & PERF_SAMPLE_REGS_INTR) {
		ret = security_locked_down(LOCKDOWN_PERF);
		if (ret)
			return ERR_PTR(ret);
	}

	ctx = perf_event_ctx_lock(model->event);
	attr = model->attr;
	if (enable)
		*enable = is_enabled(model);
	if (model->filter) {
		filter = kstrdup(model->filter, GFP_KERNEL);
		if (!filter) {
			perf_event_ctx_unlock(model->event, ctx);
			return ERR_PTR(-ENOMEM);
		}
	}
	perf_event_ctx_unlock(model->event, ctx);

	event = perf_event_clone(model->event, &attr, filter, cpu);
	if (IS_ERR(event)) {
		kfree(filter);
		return event;
	}

	ret = perf_persistent_event_init(event, &attr);
	if (ret) {
		kfree(filter);
		perf_event_release_kernel(event);
		return ERR_PTR(ret);
	}
	event->member->filter = filter;
	return event;
}

/**
 * struct perf_cover - a member on the model CPU and its like on the new one
 * @model:	the member, with an opener of ours
 * @model_rb:	what it writes to, with a reference, or NULL
 * @own_buffer:	the namespace keeps @model_rb mapped through @model
 * @enable:	it is, or wants to be
 * @event:	the new event, with an opener of ours, or NULL
 */
struct perf_cover {
	struct perf_member	*model;
	struct perf_buffer	*model_rb;
	bool			own_buffer;
	bool			enable;
	struct perf_event	*event;
};

/**
 * perf_persist_new_buffer - make a buffer that the owner of a namespace pays for
 * @ns:		the namespace
 * @event:	whose CPU and watermark it is for
 * @nr_pages:	number of its data pages
 *
 * Called without a lock, with the creds of @ns. The buffer counts as mapped
 * once; perf_persist_free_buffer() undoes that. As its size may be anything and
 * nobody waits for it, no task is killed to make room for it.
 *
 * Return: the buffer, or
 *  -ENOMEM	out of memory; it helps to ask perf_memory_left() before
 *  -EPERM	the owner may not lock so much
 */
struct perf_buffer *perf_persist_new_buffer(struct perf_persist_ns *ns, struct perf_event *event,
					    unsigned int nr_pages)
{
	unsigned long pages = nr_pages + 1UL;
	struct ucounts *ucounts;
	struct perf_buffer *rb;

	/* Before so much is allocated and zeroed */
	ucounts = perf_persist_charge(ns, pages << PAGE_SHIFT);
	if (IS_ERR(ucounts))
		return ERR_CAST(ucounts);

	rb = rb_alloc(nr_pages, event->attr.watermark ? event->attr.wakeup_watermark : 0,
		      event->cpu, RING_BUFFER_MAY_FAIL);
	if (!rb) {
		uncharge_bytes(ucounts, pages << PAGE_SHIFT);
		return ERR_PTR(-ENOMEM);
	}

	rb->mmap_locked = pages;
	rb->mmap_ucounts = ucounts;
	rb->mmap_user = get_uid(ns->cred->user);
	atomic_set(&rb->mmap_count, 1);
	return rb;
}

/**
 * perf_persist_free_buffer - let go of a buffer that no event has
 * @rb:		the buffer, which stays as long as it is mapped
 *
 * Called without a lock.
 */
void perf_persist_free_buffer(struct perf_buffer *rb)
{
	perf_mmap_put(NULL, rb);
	ring_buffer_put(rb); /* could be last */
}

/* Give @event a buffer like @model_rb. perf_mmap_put() and ring_buffer_put() free it. */
static int new_buffer(struct perf_event *event, struct perf_buffer *model_rb,
		      struct perf_persist_ns *ns)
{
	struct perf_buffer *rb;

	if (!perf_memory_left(data_page_nr(model_rb) + 1))
		return -ENOMEM;
	rb = perf_persist_new_buffer(ns, event, data_page_nr(model_rb));
	if (IS_ERR(rb))
		return PTR_ERR(rb);

	refcount_inc(&rb->refcount); /* that of the event */

	mutex_lock(&event->mmap_mutex);
	atomic_inc(&event->mmap_count);
	perf_event_attach_buffer(event, rb);
	mutex_unlock(&event->mmap_mutex);
	return 0;
}

/* The one of @cover that writes to the counterpart of @model_rb. */
static struct perf_event *find_output(struct perf_cover *cover, int nr,
				      struct perf_buffer *model_rb)
{
	int i;

	for (i = 0; i < nr; i++) {
		if (cover[i].event && cover[i].event->rb && cover[i].model_rb == model_rb)
			return cover[i].event;
	}
	return NULL;
}

static void drop_cover(struct perf_cover *cover)
{
	struct perf_member_hold hold = { .event = cover->event };

	/* Without its mmap_mutex, as nobody else can see it. */
	if (cover->event && atomic_read(&cover->event->mmap_count))
		hold.rb = cover->event->rb;
	release_hold(hold);
	cover->event = NULL;
}

static int make_cover(struct perf_cover *all, int nr, int i, struct perf_persist_ns *ns, int cpu)
{
	struct perf_cover *cover = &all[i];
	struct perf_event *output = NULL;
	struct perf_event *event;
	int ret = 0;

	if (cover->model_rb && !cover->own_buffer) {
		/* Made before, or it could not be. */
		output = find_output(all, nr, cover->model_rb);
		if (!output)
			return -EOPNOTSUPP;
	}

	event = perf_persist_clone(cover->model, cpu, &cover->enable);
	if (IS_ERR(event))
		return PTR_ERR(event);

	cover->event = event;
	if (output)
		ret = perf_event_set_output(event, output);
	else if (cover->model_rb)
		ret = new_buffer(event, cover->model_rb, ns);
	if (ret)
		drop_cover(cover);
	return ret;
}

static int copy_labels(struct perf_cover *cover, int nr)
{
	int i;

	assert_registry();
	for (i = 0; i < nr; i++) {
		if (!cover[i].event || !cover[i].model->label)
			continue;
		cover[i].event->member->label = kstrdup(cover[i].model->label, GFP_KERNEL);
		if (!cover[i].event->member->label)
			return -ENOMEM;
	}
	return 0;
}

/* @cover is on a CPU that has no member, in a namespace that may have one more. */
static void add_cover(struct perf_persist_ns *ns, struct perf_cover *cover)
{
	struct perf_buffer *model_rb = cover->model->rb;
	struct perf_event *event = cover->event;
	struct perf_member *member = event->member;

	assert_registry();
	add_member(ns, member);
	refcount_inc(&member->openers);
	member->held = true;
	perf_persist_nr_held++;
	if (atomic_read(&event->mmap_count)) {
		set_buffer(member, event->rb);
		/* NULL if the model was claimed meanwhile */
		if (model_rb)
			rb_toggle_paused(member->rb, READ_ONCE(model_rb->paused));
	}
	set_state(member, PERF_MEMBER_PUBLISHED);
}

/* All that could be made; -ESTALE if the namespace is gone or was faster. */
static int add_covers(struct perf_persist_ns *ns, struct perf_cover *cover, int nr, int cpu)
{
	int i, ret, made = 0;

	for (i = 0; i < nr; i++)
		made += !!cover[i].event;

	mutex_lock(&perf_persist_lock);
	perf_snapshot_settle(ns);
	if (ns->unlinked || find_member_on(ns, cpu))
		ret = -ESTALE;
	else if (perf_persist_nr_held + made > READ_ONCE(sysctl_perf_event_max_persistent))
		ret = -ENOSPC;
	else
		ret = copy_labels(cover, nr);
	for (i = 0; !ret && i < nr; i++) {
		if (cover[i].event)
			add_cover(ns, &cover[i]);
	}
	if (!ret)
		perf_trigger_follow(ns);
	mutex_unlock(&perf_persist_lock);

	return ret;
}

/* Who enabled or disabled all members may have missed the new one. */
static void follow_model(struct perf_cover *cover)
{
	bool enable = is_enabled(cover->model);

	if (enable == cover->enable)
		return;
	if (enable)
		perf_event_enable(cover->event);
	else
		perf_event_disable(cover->event);
	perf_persistent_changed(cover->event);
}

static int open_models(struct perf_persist_ns *ns, int cpu, struct perf_cover **covers)
{
	struct perf_cover *cover = NULL;
	struct perf_member *member;
	int model_cpu, max = 0, nr = 0;

	*covers = NULL;
	mutex_lock(&perf_persist_lock);
	perf_snapshot_settle(ns);
	if (ns->unlinked || !ns->all_cpus || find_member_on(ns, cpu))
		goto unlock;

	for_each_ns_member(member, ns)
		max++;

	cover = kcalloc(max, sizeof(*cover), GFP_KERNEL);
	if (!cover) {
		nr = -ENOMEM;
		goto unlock;
	}

	model_cpu = READ_ONCE(first_member(ns)->event->cpu);
	for_each_ns_member(member, ns) {
		if (READ_ONCE(member->event->cpu) != model_cpu ||
		    !perf_persist_is_per_cpu(member->event))
			continue;
		refcount_inc(&member->openers); /* at least one: it is held */
		cover[nr].model = member;
		cover[nr].model_rb = ring_buffer_get(member->event);
		cover[nr].own_buffer = member->rb &&
				       perf_persist_buffer_owner(ns, member->rb) == member;
		nr++;
	}
unlock:
	mutex_unlock(&perf_persist_lock);
	*covers = cover;
	return nr;
}

static void cover_cpu(struct perf_persist_ns *ns, int cpu)
{
	struct perf_cover *cover;
	int i, nr, err, pass, ret = 0;
	bool cpu_gone = false;

	nr = open_models(ns, cpu, &cover);
	if (nr <= 0) {
		ret = nr;
		goto out;
	}

	/* Buffers first, then what is redirected to them. */
	for (pass = 0; pass < 2; pass++) {
		for (i = 0; i < nr; i++) {
			if (cover[i].own_buffer == pass)
				continue;
			err = make_cover(cover, nr, i, ns, cpu);
			if (err == -ENODEV && !perf_cpu_is_online(cpu))
				cpu_gone = true;
			if (err && !ret)
				ret = err;
		}
	}

	for (i = 0; i < nr; i++) {
		if (cover[i].event && cover[i].enable)
			perf_event_enable(cover[i].event);
	}
	/* When the CPU is back, all of it is tried again. */
	err = cpu_gone ? -ESTALE : add_covers(ns, cover, nr, cpu);
	if (err)
		ret = err;
	for (i = 0; i < nr; i++) {
		if (err) {
			drop_cover(&cover[i]);
		} else if (cover[i].event) {
			/* The CPU may have gone and come back before it was a member. */
			perf_persist_reinstall(cover[i].event);
			follow_model(&cover[i]);
			perf_persist_put_opener(cover[i].event);
		}
		if (cover[i].model_rb)
			ring_buffer_put(cover[i].model_rb);
		perf_persist_put_opener(cover[i].model->event);
	}
out:
	kfree(cover);
	if (ret && ret != -ESTALE)
		pr_notice_ratelimited("perf: persistent/%s/ does not have all of its events on CPU %d: %pe\n",
				      ns->name, cpu, ERR_PTR(ret));
}

/* It was published without some of the CPUs that are online. */
static void cover_worker(struct work_struct *work)
{
	struct perf_persist_ns *ns = container_of(work, struct perf_persist_ns, cover_work);
	const struct cred *old = override_creds(ns->cred);
	unsigned int cpu;

	for_each_online_cpu(cpu)
		cover_cpu(ns, cpu);
	revert_creds(old);
	perf_persist_put(ns); /* Matches get_persist_ns() in publish_ns() */
}

static void perf_persist_worker(struct work_struct *work)
{
	struct llist_node *deferred = llist_del_all(&perf_persist_deferred);
	struct perf_member *member, *next;
	struct perf_persist_ns *ns;
	unsigned int cpu;

	llist_for_each_entry_safe(member, next, deferred, deferred)
		perf_persist_put_opener(member->event);

	for_each_possible_cpu(cpu) {
		if (!cpumask_test_and_clear_cpu(cpu, &perf_persist_new_cpus))
			continue;
		for (ns = NULL; (ns = next_published_ns(ns)); ) {
			const struct cred *old = override_creds(ns->cred);

			cover_cpu(ns, cpu);
			perf_trigger_cover(ns, cpu);
			revert_creds(old);
		}
	}
}

/*
 * The namespace file
 */

/**
 * struct perf_persist_file - an open namespace
 * @ns:		NULL until the file is bound to one, then it stays
 * @seen:	generation of @ns when the last listing through this file began
 *
 * Protected by perf_persist_lock; @ns can be read without once it is set.
 */
struct perf_persist_file {
	struct perf_persist_ns	*ns;
	u64			seen;
};

/* Once it is set it stays, so that a file can be used without the lock. */
static struct perf_persist_ns *bound_ns(struct perf_persist_file *pf)
{
	/* Pairs with smp_store_release() in bind_file(). */
	return smp_load_acquire(&pf->ns);
}

static int bind_file(struct perf_persist_file *pf, struct perf_persist_ns *ns)
{
	int ret;

	assert_registry();
	if (!ns || !ns->published || ns->unlinked)
		return -ENOENT;

	ret = may_see_member(first_member(ns));
	if (ret)
		return ret;

	/* Pairs with smp_load_acquire() in bound_ns(). */
	smp_store_release(&pf->ns, get_persist_ns(ns));
	return 0;
}

static long name_file(struct perf_persist_file *pf, const char __user *ustr)
{
	struct perf_persist_string str;
	struct perf_persist_ns *ns;
	long ret;

	ret = get_string(&str, ustr, true);
	if (ret)
		return ret;
	if (!str.name || str.label)
		return -EINVAL;

	mutex_lock(&perf_persist_lock);
	while ((ns = find_name(str.name)) && ns->swapping)
		perf_snapshot_settle(ns);
	ret = pf->ns ? -EBUSY : bind_file(pf, ns);
	mutex_unlock(&perf_persist_lock);
	return ret;
}

static long get_next_info(struct perf_persist_file *pf, struct perf_event_persist __user *uinfo)
{
	struct perf_event_persist info;
	struct perf_event_attr attr;
	struct perf_member *member;
	bool withheld = false;
	int ret;

	ret = get_info(&info, uinfo);
	if (ret)
		return ret;

	mutex_lock(&perf_persist_lock);
	perf_snapshot_settle(pf->ns);
	if (pf->ns->unlinked) {
		ret = -ENODEV;
		goto unlock;
	}
	if (!info.event_id)
		pf->seen = pf->ns->generation;

	member = next_member(pf->ns, info.event_id);
	if (!member) {
		ret = -ENOENT;
		goto unlock;
	}

	fill_info(&info, member);
	info.head = 0;
	fill_attr(&attr, member);
	withheld = may_see_member(member);
	if (withheld) {
		info.flags |= PERF_PERSIST_ATTR_WITHHELD;
		memset(info.label, 0, sizeof(info.label));
	}
unlock:
	mutex_unlock(&perf_persist_lock);
	if (ret)
		return ret;

	return put_info(&info, uinfo, withheld ? NULL : &attr);
}

/**
 * perf_persist_file_ioctl - the ioctls of a namespace
 * @file:	file of the namespace
 * @cmd:	ioctl number: SET_NAME binds an unbound file to the namespace of
 *		that name, GET_PERSIST walks its members, ENABLE and DISABLE
 *		are for all of them, JOIN adds one, SET_PERSIST with NULL deletes
 *		it; see also perf_snapshot_ioctl(), perf_trigger_ioctl() and
 *		perf_tasks_ioctl()
 * @arg:	its argument
 *
 * Called without a lock. Takes perf_persist_lock.
 *
 * Return: 0, or
 *  -ENOTTY	@cmd is none of them
 *  -EFAULT	@arg is no address that can be read, or written
 *  -EINVAL	the file is not bound to a namespace; SET_PERSIST with an
 *		address; ENABLE or DISABLE of a snapshot; not a name; or see
 *		GET_PERSIST on an event; JOIN: see SET_NAME on an event
 *  -EACCES	anything but SET_NAME, GET_PERSIST, GET_TRIGGER and GET_TASKS, and the
 *		file is for reading only; SET_NAME, and the caller may not open the first
 *		member; JOIN without CAP_PERFMON, or with an event that is for
 *		reading only or whose buffer somebody could write to
 *  -EPERM	JOIN: the namespace is somebody else's, and the caller lacks
 *		CAP_IPC_LOCK; or see -EPERM of SET_NAME on an event
 *  -EBADF	JOIN: not a descriptor of an event
 *  -EOPNOTSUPP	JOIN: to a snapshot; or see SET_PERSIST on an event
 *  -EBUSY	SET_NAME: the file is bound already; JOIN: the event is in a
 *		namespace
 *  -ENOENT	SET_NAME: no such namespace; GET_PERSIST: no more members
 *  -ENODEV	the namespace was deleted
 *  -E2BIG	see GET_PERSIST on an event
 *  -ENOSPC	JOIN: as many members as kernel.perf_event_max_persistent allows
 */
static long perf_persist_file_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct perf_persist_file *pf = file->private_data;
	struct perf_persist_ns *ns = bound_ns(pf);
	void __user *argp = (void __user *)arg;

	if (cmd == PERF_EVENT_IOC_SET_NAME)
		return name_file(pf, argp);

	if (perf_is_get_persist(cmd))
		return ns ? get_next_info(pf, argp) : -EINVAL;

	switch (cmd) {
	case PERF_EVENT_IOC_ENABLE:
	case PERF_EVENT_IOC_DISABLE:
	case PERF_EVENT_IOC_SET_PERSIST:
	case PERF_EVENT_IOC_JOIN:
		break;
	default:
		if (!perf_is_snapshot_ioctl(cmd) && !perf_is_trigger_ioctl(cmd) &&
		    !perf_is_tasks_ioctl(cmd))
			return -ENOTTY;
	}

	if (!(file->f_mode & FMODE_WRITE) && !perf_same_ioctl(cmd, PERF_EVENT_IOC_GET_TRIGGER) &&
	    !perf_same_ioctl(cmd, PERF_EVENT_IOC_GET_TASKS))
		return -EACCES;
	if (!ns)
		return -EINVAL;

	if (cmd == PERF_EVENT_IOC_SET_PERSIST)
		return argp ? -EINVAL : delete_ns(ns);
	if (cmd == PERF_EVENT_IOC_JOIN)
		return join_event(ns, argp);
	if (perf_is_snapshot_ioctl(cmd))
		return perf_snapshot_ioctl(ns, cmd, arg);
	if (perf_is_trigger_ioctl(cmd))
		return perf_trigger_ioctl(ns, cmd, arg);
	if (perf_is_tasks_ioctl(cmd))
		return perf_tasks_ioctl(ns, cmd, argp);

	return enable_ns(ns, cmd == PERF_EVENT_IOC_ENABLE);
}

#ifdef CONFIG_COMPAT
static long perf_persist_file_compat_ioctl(struct file *file, unsigned int cmd,
					   unsigned long arg)
{
	/* The one whose number has the size of a pointer in it */
	if (cmd == _IOW('$', _IOC_NR(PERF_EVENT_IOC_SET_NAME), compat_uptr_t))
		cmd = PERF_EVENT_IOC_SET_NAME;

	return perf_persist_file_ioctl(file, cmd, (unsigned long)compat_ptr(arg));
}
#else
# define perf_persist_file_compat_ioctl NULL
#endif

static __poll_t perf_persist_file_poll(struct file *file, poll_table *wait)
{
	struct perf_persist_file *pf = file->private_data;
	struct perf_persist_ns *ns = bound_ns(pf);
	__poll_t events = 0;

	if (!ns)
		return EPOLLERR;

	poll_wait(file, &ns->waitq, wait);

	mutex_lock(&perf_persist_lock);
	if (pf->seen != ns->generation)
		events |= EPOLLPRI;
	if (ns->unlinked)
		events |= EPOLLHUP;
	mutex_unlock(&perf_persist_lock);

	return events;
}

static int perf_persist_file_release(struct inode *inode, struct file *file)
{
	struct perf_persist_file *pf = file->private_data;

	if (pf->ns)
		perf_persist_put(pf->ns); /* Matches get_persist_ns() in bind_file() */
	kfree(pf);
	return 0;
}

static const struct file_operations perf_persist_fops = {
	.release	= perf_persist_file_release,
	.poll		= perf_persist_file_poll,
	.unlocked_ioctl	= perf_persist_file_ioctl,
	.compat_ioctl	= perf_persist_file_compat_ioctl,
};

static struct file *open_ns(u64 id, int f_flags)
{
	struct perf_persist_file *pf;
	struct file *file;
	int ret = 0;

	pf = kzalloc(sizeof(*pf), GFP_KERNEL_ACCOUNT);
	if (!pf)
		return ERR_PTR(-ENOMEM);

	if (id != ~0ULL) {
		mutex_lock(&perf_persist_lock);
		ret = bind_file(pf, find_settled_ns(id));
		mutex_unlock(&perf_persist_lock);
		if (ret)
			goto err_free;
	}

	file = anon_inode_getfile("[perf_persistent]", &perf_persist_fops, pf, f_flags);
	if (!IS_ERR(file))
		return file;

	ret = PTR_ERR(file);
	if (pf->ns)
		perf_persist_put(pf->ns);
err_free:
	kfree(pf);
	return ERR_PTR(ret);
}

static struct file *open_member(u64 id, u64 event_id, int cpu, int f_flags)
{
	struct perf_member *member = NULL;
	struct perf_persist_ns *ns;
	struct file *file;
	bool snapshot = false;
	int ret = 0;

	mutex_lock(&perf_persist_lock);
	ns = find_published_ns(id);
	if (ns && event_id)
		member = perf_persist_find_member(ns, event_id);
	else if (ns)
		member = find_member_on(ns, cpu);
	if (!member)
		ret = -ENOENT;
	else if (cpu != -1 && cpu != member->event->cpu)
		ret = -EINVAL;
	else
		ret = may_open_member(member);
	if (!ret) {
		snapshot = is_snapshot(ns);
		if (snapshot)
			get_persist_ns(ns);
		else
			refcount_inc(&member->openers); /* at least one: it is held */
		if (!snapshot)
			perf_persist_set_wakeups(member);
	}
	mutex_unlock(&perf_persist_lock);
	if (ret)
		return ERR_PTR(ret);

	if (snapshot)
		return perf_snapshot_file(member, f_flags);

	/* The opener is the file's from here on, if there is one. */
	file = perf_event_file(member->event, f_flags);
	if (IS_ERR(file))
		perf_persist_put_opener(member->event);
	return file;
}

/**
 * perf_persistent_open - perf_event_open() with PERF_TYPE_PERSISTENT
 * @attr:	config: id of the namespace, or ~0; config1: id of the event, or 0;
 *		config2: PERF_PERSIST_OPEN_WRITE, or 0; all else is zero
 * @pid:	must be -1
 * @cpu:	-1, or the CPU of the member
 * @group_fd:	must be -1
 * @flags:	0 or PERF_FLAG_FD_CLOEXEC
 *
 * With config1, opens that member; with a CPU alone, the first one on it; with
 * neither, the namespace; and with config ~0 a file that SET_NAME binds to a
 * namespace later. The descriptor is for reading only unless config2 says
 * otherwise. The caller has passed the checks that perf_event_open() makes
 * whatever is opened, and holds no lock. Takes perf_persist_lock.
 *
 * Return: a file descriptor, or
 *  -EINVAL	an argument that is out of range, or that must be zero and is
 *		not; @cpu is not the CPU of the member in config1
 *  -ENOENT	no such namespace or member
 *  -EACCES	write access without CAP_PERFMON, or the caller may not open an
 *		event with this member's attr, or that of another member that
 *		writes to its buffer; also -EPERM, as for a new event
 *  -EMFILE	too many files, and -ENFILE
 *  -ENOMEM	out of memory
 */
int perf_persistent_open(const struct perf_event_attr *attr, pid_t pid, int cpu,
			 int group_fd, unsigned long flags)
{
	struct perf_event_attr known = {
		.type			= PERF_TYPE_PERSISTENT,
		.size			= attr->size,
		.config			= attr->config,
		.config1		= attr->config1,
		.config2		= attr->config2,
		.sample_max_stack	= attr->sample_max_stack,
	};
	int f_flags = O_RDONLY;
	bool is_ns = !attr->config1 && cpu == -1;
	struct file *file;
	int fd;

	if (memcmp(attr, &known, sizeof(known)))
		return -EINVAL;
	if (pid != -1 || group_fd != -1 || (flags & ~PERF_FLAG_FD_CLOEXEC))
		return -EINVAL;
	if (cpu < -1 || cpu >= (int)nr_cpu_ids)
		return -EINVAL;
	if (!attr->config || (attr->config2 & ~PERF_PERSIST_OPEN_WRITE))
		return -EINVAL;
	if (attr->config == ~0ULL && !is_ns)
		return -EINVAL;

	if (attr->config2 & PERF_PERSIST_OPEN_WRITE) {
		if (!perfmon_capable())
			return -EACCES;
		f_flags = O_RDWR;
	}
	if (flags & PERF_FLAG_FD_CLOEXEC)
		f_flags |= O_CLOEXEC;

	fd = get_unused_fd_flags(f_flags);
	if (fd < 0)
		return fd;

	file = is_ns ? open_ns(attr->config, f_flags) :
		       open_member(attr->config, attr->config1, cpu, f_flags);
	if (IS_ERR(file)) {
		put_unused_fd(fd);
		return PTR_ERR(file);
	}

	fd_install(fd, file);
	return fd;
}

/*
 * PERF_EVENT_IOC_PAUSE_OUTPUT of an event that writes to the buffer of a member,
 * which a snapshot may be about to replace.
 */
static long pause_output(struct file *file, bool pause)
{
	struct perf_event *event = file->private_data;
	struct perf_buffer *rb;
	bool is_held;
	long ret;

	rb = ring_buffer_get(event);
	if (!rb)
		return -ENOIOCTLCMD;
	is_held = READ_ONCE(rb->held);
	ring_buffer_put(rb);
	if (!is_held)
		return -ENOIOCTLCMD;

	if (!(file->f_mode & FMODE_WRITE))
		return -EACCES;
	ret = security_perf_event_write(event);
	if (ret)
		return ret;

	mutex_lock(&perf_persist_lock);
	while ((rb = ring_buffer_get(event)) && rb->owner && rb->owner->ns->swapping) {
		struct perf_persist_ns *ns = rb->owner->ns;

		ring_buffer_put(rb);
		perf_snapshot_settle(ns);
	}
	ret = -EINVAL;
	if (rb && rb->nr_pages) {
		rb_toggle_paused(rb, pause);
		ret = 0;
	}
	mutex_unlock(&perf_persist_lock);
	if (rb)
		ring_buffer_put(rb);
	return ret;
}

/**
 * perf_persistent_ioctl - the ioctls of persistent events on an event
 * @file:	file of the event
 * @cmd:	ioctl number
 * @arg:	its argument
 *
 * Called without a lock, in particular without that of a context. Takes
 * perf_persist_lock.
 *
 * Return: 0, or
 *  -ENOIOCTLCMD @cmd is none of them
 *  -EACCES	the file is for reading only and @cmd is not GET_PERSIST, or the
 *		caller lacks CAP_PERFMON
 *  -EFAULT	@arg is no address that can be read, or written
 *  -EOPNOTSUPP	events of a task, of a group, with an AUX area or sigtrap
 *  -ENODEV	the namespace was deleted; GET_PERSIST goes on to answer, for
 *		those who still read
 *  -ENOMEM	out of memory
 *  -EPERM	publishing, and the user may not lock what the buffers take beyond
 *		perf_event_mlock_kb, see RLIMIT_MEMLOCK
 *  -ENOSPC	publishing, and there are as many members as the sysctl
 *		kernel.perf_event_max_persistent allows
 *
 * SET_NAME:
 *  -EINVAL	not a name, or not a label; or see SET_PERSIST on buffers
 *  -EEXIST	a namespace of that name exists
 *  -EBUSY	the namespace has a name
 *  -EPERM	another process made the namespace
 *  -EACCES	somebody has or had a buffer mapped for writing
 *
 * SET_PERSIST with an address:
 *  -ENOENT	no such namespace without a name that this process made
 *  -EEXIST	the name remembered from SET_NAME is taken
 *  -EBUSY	the event is in a namespace
 *  -EINVAL	a name is remembered from SET_NAME, and the namespace has none; or
 *		a buffer is not backward, was not mapped for reading alone, has an
 *		AUX area, or belongs to an event that is not in the namespace
 *
 * SET_PERSIST with NULL:
 *  -ENOENT	the event is in no namespace
 *  -EBUSY	other members write to its buffer
 *
 * PERSIST_FLAGS:
 *  -EINVAL	a flag that does not exist or can't be set
 *  -EBUSY	the namespace has a name
 *  -EPERM	another process made the namespace
 *
 * GET_PERSIST:
 *  -ENOENT	the event is in no namespace
 *  -EINVAL	size is too small, or a reserved field is not zero
 *  -E2BIG	size is too large, which now holds what the kernel knows; or
 *		attr_size is too small, which now holds what it takes
 */
long perf_persistent_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct perf_event *event = file->private_data;
	void __user *argp = (void __user *)arg;
	int ret;

	if (perf_is_get_persist(cmd)) {
		ret = security_perf_event_read(event);
		return ret ? ret : perf_persist_get_info(event, event->member, argp);
	}
	if (cmd == PERF_EVENT_IOC_PAUSE_OUTPUT)
		return pause_output(file, arg);

	switch (cmd) {
	case PERF_EVENT_IOC_SET_NAME:
	case PERF_EVENT_IOC_SET_PERSIST:
	case PERF_EVENT_IOC_PERSIST_FLAGS:
		break;
	default:
		return -ENOIOCTLCMD;
	}

	if (!(file->f_mode & FMODE_WRITE) || !perfmon_capable())
		return -EACCES;

	ret = security_perf_event_write(event);
	if (ret)
		return ret;

	if (!event->member)
		return -EOPNOTSUPP;

	switch (cmd) {
	case PERF_EVENT_IOC_SET_NAME:
		return name_event(event, argp);
	case PERF_EVENT_IOC_PERSIST_FLAGS:
		return set_flags(event, argp);
	default:
		return argp ? persist_event(event, argp) : claim_event(event);
	}
}

/*
 * Hooks of core.c
 */

/**
 * perf_is_member - is an event in a namespace, or was it until that was deleted
 * @event:	the event
 *
 * Under event->ctx->mutex, false stays false.
 *
 * Return: true if so.
 */
bool perf_is_member(struct perf_event *event)
{
	return event->member && READ_ONCE(event->member->state) != PERF_MEMBER_NONE;
}

/**
 * perf_persistent_changed - an event was changed in a way that a listing shows
 * @event:	the event
 *
 * Tells those who poll its namespace. Takes perf_persist_lock.
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

/**
 * perf_persistent_may_redirect - may the output of an event be changed
 * @event:	the event, whose mmap_mutex is held
 *
 * Return: 0, -EBUSY for a published member, whose buffer outlives any user of
 * it, or -ENODEV for a deleted one.
 */
int perf_persistent_may_redirect(struct perf_event *event)
{
	struct perf_member *member = event->member;

	lockdep_assert_held(&event->mmap_mutex);
	if (!member)
		return 0;

	switch (READ_ONCE(member->state)) {
	case PERF_MEMBER_PUBLISHED:
	case PERF_MEMBER_TRIGGER:
		return -EBUSY;
	case PERF_MEMBER_DELETED:
		return -ENODEV;
	default:
		return 0;
	}
}

/**
 * perf_persistent_may_mmap - may the buffer of an event be mapped
 * @event:	the event, whose mmap_mutex is held
 * @vma:	the mapping that is being made; loses VM_MAYWRITE if it is of the
 *		buffer of a member
 *
 * Return: 0, or
 *  -ENODEV	the event was deleted, or has left the namespace that the file
 *		of a reader was opened in
 *  -EBUSY	the buffer is another member's, or there is none
 *  -EACCES	the buffer of a member can't be written to
 */
int perf_persistent_may_mmap(struct perf_event *event, struct vm_area_struct *vma)
{
	struct perf_member *member = event->member;
	struct perf_buffer *rb = event->rb;

	lockdep_assert_held(&event->mmap_mutex);
	if (member) {
		switch (READ_ONCE(member->state)) {
		case PERF_MEMBER_DELETED:
			return -ENODEV;
		case PERF_MEMBER_PUBLISHED:
			if (!member->rb)
				return -EBUSY;
			break;
		case PERF_MEMBER_TRIGGER:
			return -EBUSY;
		default:
			/* A reader's right was to the namespace that it has left. */
			if (!(vma->vm_file->f_mode & FMODE_WRITE))
				return -ENODEV;
			break;
		}
	}

	/* Ordinary events, also those of a task, can be redirected to a member. */
	if (!rb)
		return 0;
	if (vma->vm_flags & VM_WRITE)
		return perf_persistent_may_write(rb);
	if (READ_ONCE(rb->held)) {
		vm_flags_clear(vma, VM_MAYWRITE);
		perf_set_mapped(rb);
	}
	return 0;
}

/**
 * perf_persistent_may_write - may a mapping of a buffer be written to
 * @rb:		the buffer
 *
 * Called by mmap() and mprotect(), with the mmap_lock. Readers of a member go by
 * what its first page says, so nobody else may have written there: neither now nor
 * before it was published.
 *
 * Return: 0, or -EACCES if it is the buffer of a member.
 */
int perf_persistent_may_write(struct perf_buffer *rb)
{
	if (READ_ONCE(rb->held))
		return -EACCES;

	WRITE_ONCE(rb->ever_writable, 1);
	/* Pairs with the one in hold_member(): one of us sees what the other did. */
	smp_mb();
	return READ_ONCE(rb->held) ? -EACCES : 0;
}

/**
 * perf_persistent_set_period - the period of an event was changed
 * @event:	the event, whose ctx->mutex is held
 * @value:	what the user asked for
 */
void perf_persistent_set_period(struct perf_event *event, u64 value)
{
	struct perf_member *member = event->member;

	if (!member)
		return;

	/* Without a CPU, an event that is not kept has the period that it had. */
	if (event->attr.sample_period != value)
		return;

	spin_lock(&perf_member_attr_lock);
	/* A driver may have made a period of a frequency. */
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
	}

	rb = ring_buffer_get(event);
	if (!rb)
		return;
	perf_persistent_attached(event, rb); /* It may be the kernel's now. */
	ring_buffer_put(rb);
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
#endif

static int __init perf_persistent_init(void)
{
	int online, ret;

	online = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "perf/persistent:online",
					   perf_persistent_cpu_online, NULL);
	if (online < 0)
		return online;

	ret = cpuhp_setup_state_nocalls(CPUHP_BP_PREPARE_DYN, "perf/persistent:dead",
					NULL, perf_persistent_cpu_dead);
	if (ret < 0) {
		cpuhp_remove_state_nocalls(online);
		return ret;
	}

#ifdef CONFIG_SYSCTL
	register_sysctl_init("kernel", perf_persistent_sysctls);
#endif

	/* Last, as it tells user space that all of this is there. */
	return perf_pmu_register(&perf_persistent_pmu, "persistent", PERF_TYPE_PERSISTENT);
}
subsys_initcall(perf_persistent_init);
