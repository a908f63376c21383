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
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/device.h>
#include <linux/fs.h>
#include <linux/init.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/pid.h>
#include <linux/poll.h>
#include <linux/rbtree.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>
#include <linux/wait.h>

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
 *     to is not in order. perf_persist_settle() waits for the end of that;
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

/* Rooms above this floor; written at boot alone */
static LIST_HEAD(perf_persist_listeners);

/**
 * perf_persist_listen - have a room told what happens to namespaces
 * @listener:	its callbacks
 *
 * Called at boot, before there is a namespace.
 */
void __init perf_persist_listen(struct perf_persist_listener *listener)
{
	list_add_tail(&listener->entry, &perf_persist_listeners);
}

static int perf_persist_error; /* at boot */
static bool perf_persist_ready; /* after that */

/**
 * perf_persist_fail - a room cannot do its part
 * @error:	why, a negative errno
 *
 * Called at boot. There are no namespaces then.
 */
void __init perf_persist_fail(int error)
{
	perf_persist_error = error;
}

/**
 * perf_persist_is_ready - can there be namespaces
 *
 * Return: true once all rooms can do their part.
 */
bool perf_persist_is_ready(void)
{
	return READ_ONCE(perf_persist_ready);
}

#define for_each_listener(_listener)	\
	list_for_each_entry(_listener, &perf_persist_listeners, entry)

/* Not each listener has each callback. */
#define tell(_callback, ...)				\
do {							\
	typeof(_callback) __callback = (_callback);	\
							\
	if (__callback)					\
		__callback(__VA_ARGS__);		\
} while (0)

/**
 * perf_persist_members_changed - members came or left, or have buffers of another size
 * @ns:		the namespace, with the lock held
 * @kept:	one of them is, or was, in snapshots: what was prepared does not fit any more
 */
void perf_persist_members_changed(struct perf_persist_ns *ns, bool kept)
{
	struct perf_persist_listener *listener;

	assert_registry();
	ns->members_seq += kept;
	for_each_listener(listener)
		tell(listener->members_changed, ns);
}

/**
 * perf_persist_buffers_changed - members have other buffers, or members with buffers came
 * @ns:		the namespace, with the lock held
 */
void perf_persist_buffers_changed(struct perf_persist_ns *ns)
{
	struct perf_persist_listener *listener;

	assert_registry();
	for_each_listener(listener)
		tell(listener->buffers_changed, ns);
}

/**
 * perf_persist_published - a namespace was given its name
 * @ns:		the namespace, with the lock held
 */
void perf_persist_published(struct perf_persist_ns *ns)
{
	struct perf_persist_listener *listener;

	assert_registry();
	for_each_listener(listener)
		tell(listener->published, ns);
}

/**
 * perf_persist_appeared - a namespace was published, or a snapshot taken
 * @ns:		the namespace, with a reference of the caller's
 *
 * Called without a lock.
 *
 * Return: 0, or what one of those who were told could not do.
 */
int perf_persist_appeared(struct perf_persist_ns *ns)
{
	struct perf_persist_listener *listener;
	int ret = 0;

	for_each_listener(listener) {
		if (listener->appeared)
			ret = listener->appeared(ns) ?: ret;
	}
	return ret;
}

/* Called without a lock. */
static void tell_vanished(struct perf_persist_ns *ns)
{
	struct perf_persist_listener *listener;

	for_each_listener(listener)
		tell(listener->vanished, ns);
}

/* What is polled has something new to say. */
static void tell_changed(struct perf_persist_ns *ns, __poll_t events)
{
	struct perf_persist_listener *listener;

	assert_registry();
	ns->generation++;
	wake_up_poll(&ns->waitq, events);
	for_each_listener(listener)
		tell(listener->changed, ns);
}

/**
 * perf_persist_leaving - members are about to leave a namespace
 * @leaving:	filled in; for perf_persist_left()
 * @ns:		the namespace, with the lock held
 * @member:	the one that leaves, or NULL for all
 */
void perf_persist_leaving(struct perf_leaving *leaving, struct perf_persist_ns *ns,
			  struct perf_member *member)
{
	struct perf_persist_listener *listener;

	assert_registry();
	leaving->ns = get_persist_ns(ns);
	leaving->member = member;
	leaving->frozen = NULL;
	INIT_LIST_HEAD(&leaving->spares);
	INIT_LIST_HEAD(&leaving->triggers);
	INIT_LIST_HEAD(&leaving->actions);
	for_each_listener(listener)
		tell(listener->leaving, leaving);
}

/**
 * perf_persist_left - free what perf_persist_leaving() took from a namespace
 * @leaving:	the same
 *
 * Called without a lock, with an opener of each member that leaves.
 */
void perf_persist_left(struct perf_leaving *leaving)
{
	struct perf_persist_listener *listener;

	for_each_listener(listener)
		tell(listener->left, leaving);
	perf_persist_put(leaving->ns);
}

/**
 * perf_persist_covering - a CPU that came online is to be given a member
 * @member:	the member, which nobody else can see
 *
 * Called without a lock. The caller goes on with perf_persist_covered(), or frees the event.
 */
void perf_persist_covering(struct perf_member *member)
{
	struct perf_persist_listener *listener;

	for_each_listener(listener)
		tell(listener->covering, member);
}

/**
 * perf_persist_covered - a CPU that came online was given a member
 * @model:	its like on another CPU
 * @member:	the new one, with the lock held
 */
void perf_persist_covered(struct perf_member *model, struct perf_member *member)
{
	struct perf_persist_listener *listener;

	assert_registry();
	for_each_listener(listener)
		tell(listener->covered, model, member);
}

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

/**
 * perf_persist_find - find a namespace by its id
 * @id:		the id
 *
 * Return: the namespace, published or not, or NULL.
 */
struct perf_persist_ns *perf_persist_find(u64 id)
{
	struct rb_node *node;

	assert_registry();
	node = rb_find(&id, &perf_persist_ids, ns_id_cmp);
	return node ? ns_of_id(node) : NULL;
}

/**
 * perf_persist_find_settled - find a namespace whose buffers are not being replaced
 * @id:		its id
 *
 * Called with the lock held, which may be dropped and taken again.
 *
 * Return: the namespace, published or not, or NULL.
 */
struct perf_persist_ns *perf_persist_find_settled(u64 id)
{
	struct perf_persist_ns *ns;

	while ((ns = perf_persist_find(id)) && ns->swapping)
		perf_persist_settle(ns);
	return ns;
}

/**
 * perf_persist_find_name - find a namespace by its name
 * @name:	the name
 *
 * Return: the namespace, which may be unlinked as long as its name is not free again,
 * or NULL.
 */
struct perf_persist_ns *perf_persist_find_name(const char *name)
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
	struct perf_persist_listener *listener;
	struct perf_persist_ns *ns;

	ns = kzalloc(sizeof(*ns), PERF_PERSIST_GFP);
	if (!ns)
		return NULL;

	refcount_set(&ns->refs, 1);
	RB_CLEAR_NODE(&ns->name_node);
	ns->members = RB_ROOT;
	ns->generation = 1;
	init_waitqueue_head(&ns->waitq);
	for_each_listener(listener)
		tell(listener->init, ns);
	return ns;
}

/* Other members that write to the buffer of @member, one after the other */
static struct perf_member *next_writer(struct perf_member *member, struct perf_member *prev)
{
	return member->rb ? perf_buffer_next_writer(member->rb, prev) : NULL;
}

/**
 * perf_persist_set_owner - have a namespace belong to the caller
 * @ns:		the namespace, which has no members
 * @old:	out: whom it belonged to
 */
void perf_persist_set_owner(struct perf_persist_ns *ns, struct perf_persist_owner *old)
{
	assert_registry();
	old->cred = ns->cred;
	old->memlock = ns->memlock;
	memcpy(old->comm, ns->owner_comm, sizeof(old->comm));
	ns->cred = get_current_cred();
	ns->memlock = rlimit(RLIMIT_MEMLOCK);
	get_task_comm(ns->owner_comm, current);
}

/**
 * perf_persist_restore_owner - undo perf_persist_set_owner()
 * @ns:		the namespace
 * @old:	what that said; then its cred is the one that @ns had since
 */
void perf_persist_restore_owner(struct perf_persist_ns *ns, struct perf_persist_owner *old)
{
	assert_registry();
	swap(ns->cred, old->cred);
	ns->memlock = old->memlock;
	memcpy(ns->owner_comm, old->comm, sizeof(ns->owner_comm));
}

/**
 * perf_persist_new - allocate a namespace that belongs to the caller
 *
 * Return: one without members, with an id that can be found, or NULL.
 */
struct perf_persist_ns *perf_persist_new(void)
{
	struct perf_persist_owner nobody;
	struct perf_persist_ns *ns;

	assert_registry();
	ns = perf_persist_alloc();
	if (!ns)
		return NULL;

	ns->set = perf_set_alloc(NULL);
	if (!ns->set) {
		kfree(ns);
		return NULL;
	}

	ns->creator = get_pid(task_tgid(current));
	perf_persist_set_owner(ns, &nobody);
	ns->created_ns = ktime_get_boottime_ns();
	ns->next_writer = next_writer;
	ns->id = ++perf_persist_last_id;
	rb_add(&ns->id_node, &perf_persist_ids, ns_id_less);
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
	struct perf_persist_listener *listener;
	struct perf_persist_ns *source;

	/* A snapshot has a reference on what it was taken of. */
	for (; ns && refcount_dec_and_test(&ns->refs); ns = source) {
		source = ns->source;
		for_each_listener(listener)
			tell(listener->free, ns);
		if (ns->set)
			perf_set_put(ns->set);
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
	tell_changed(ns, EPOLLPRI);
}

/**
 * perf_persist_settle - wait until no buffers of a namespace are being replaced
 * @ns:		the namespace
 *
 * Called with perf_persist_lock held, which is dropped and taken again when
 * there is something to wait for; what the caller knows may be wrong then, and
 * @ns is gone if it has no reference on it. That takes a grace period, one more
 * for each event that is no member but writes to a buffer of one, and the same
 * again when others are waiting to do it.
 */
void perf_persist_settle(struct perf_persist_ns *ns)
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

/**
 * perf_persist_next_published - walk the published namespaces, but for snapshots
 * @prev:	the last one, which is put, or NULL to start with
 *
 * Called without the lock.
 *
 * Return: the next one, with a reference of the caller's, or NULL.
 */
struct perf_persist_ns *perf_persist_next_published(struct perf_persist_ns *prev)
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
	/* Events of a snapshot are members of another namespace, or of none. */
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

/*
 * The members of a namespace
 */

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

/**
 * perf_persist_next_member - walk the members of a namespace
 * @ns:		the namespace, with the lock held
 * @event_id:	event id of the last one, 0 to start with
 *
 * Return: the member with the lowest event id above @event_id, or NULL.
 */
struct perf_member *perf_persist_next_member(struct perf_persist_ns *ns, u64 event_id)
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
	struct perf_member *member = perf_persist_next_member(ns, event_id - 1);

	return member && member->event->id == event_id ? member : NULL;
}

/**
 * perf_persist_member_on - find a member by its CPU, but for those of triggers
 * @ns:		the namespace, with the lock held
 * @cpu:	the CPU
 *
 * Return: the one with the lowest event id on that CPU, or NULL.
 */
struct perf_member *perf_persist_member_on(struct perf_persist_ns *ns, int cpu)
{
	struct perf_member *member;

	assert_registry();
	for_each_ns_member(member, ns) {
		if (member->event->cpu == cpu && !member->for_trigger)
			return member;
	}
	return NULL;
}

/**
 * perf_member_settle - wait until the namespace of a member is settled
 * @member:	the member, which may be in none
 *
 * Called with the lock held, which may be dropped and taken again.
 */
void perf_member_settle(struct perf_member *member)
{
	assert_registry();
	while (member->ns && member->ns->swapping)
		perf_persist_settle(member->ns);
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

static const struct attribute_group *perf_persistent_groups[] = {
	&perf_persistent_events,
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

static bool perf_persist_has_bus; /* what is published has a file there */

static int add_ns_files(struct perf_persist_ns *ns)
{
	struct kobject *kobj;
	int ret;

	/* Early at boot, see list_all(). */
	if (!perf_persist_has_bus)
		return 0;

	kobj = &perf_persistent_pmu.dev->kobj;

	sysfs_attr_init(&ns->file.attr);
	ns->file.attr.name = ns->name;
	ns->file.attr.mode = 0444;
	ns->file.show = ns_show;

	ret = sysfs_add_file_to_group(kobj, &ns->file.attr, perf_persistent_events.name);
	WRITE_ONCE(ns->listed, !ret);
	return ret;
}

static void remove_ns_files(struct perf_persist_ns *ns)
{
	struct kobject *kobj = &perf_persistent_pmu.dev->kobj;

	sysfs_remove_file_from_group(kobj, &ns->file.attr, perf_persistent_events.name);
}

/*
 * Names and labels
 */

/**
 * perf_persist_valid_name - can a namespace be given that name
 * @name:	NUL-terminated
 *
 * perf looks names up in lower case, and a dot is for names that the kernel derives. perffs has
 * a file of that one name.
 *
 * Return: true if so.
 */
bool perf_persist_valid_name(const char *name)
{
	size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-");

	return (*name == '_' || (*name >= 'a' && *name <= 'z')) &&
	       !name[len] && len <= PERF_PERSIST_USER_NAME_MAX && strcmp(name, "error_log");
}

/**
 * perf_persist_valid_label - can something be called that
 * @label:	NUL-terminated
 *
 * Return: true for anything that prints, in whatever encoding: nothing that
 * moves a cursor, U+0080 to U+009F in UTF-8 neither.
 */
bool perf_persist_valid_label(const char *label)
{
	const char *c;

	for (c = label; *c; c++) {
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return false;
		if ((unsigned char)c[0] == 0xc2 && (unsigned char)c[1] >= 0x80 &&
		    (unsigned char)c[1] < 0xa0)
			return false;
	}
	return c != label && c - label < PERF_PERSIST_NAME_SIZE;
}

/**
 * perf_persist_valid_snapshot_name - can that be the name of a snapshot
 * @name:	NUL-terminated
 *
 * Return: true for the name of a namespace, a dot and a number.
 */
bool perf_persist_valid_snapshot_name(const char *name)
{
	char buf[PERF_PERSIST_NAME_SIZE], *dot;
	unsigned int number;

	if (strscpy(buf, name) < 0)
		return false;
	dot = strchr(buf, '.');
	if (!dot)
		return false;
	*dot++ = '\0';
	return perf_persist_valid_name(buf) && !kstrtouint(dot, 10, &number);
}

/**
 * perf_persist_reserve_name - take a name for a namespace that is to be published later
 * @ns:		the namespace, which has no members
 * @name:	a valid one
 *
 * It stays until perf_persist_remove(), also without members.
 *
 * As it outlives whoever asks for it, it counts as a member until there are members.
 *
 * Return: 0, -EEXIST, or -ENOSPC: not by sysctl kernel.perf_event_max_persistent.
 */
int perf_persist_reserve_name(struct perf_persist_ns *ns, const char *name)
{
	int ret;

	assert_registry();
	if (perf_persist_find_name(name))
		return -EEXIST;
	ret = perf_persist_reserve_members(1);
	if (ret)
		return ret;

	strscpy_pad(ns->name, name);
	rb_add(&ns->name_node, &perf_persist_names, ns_name_less);
	return 0;
}

/**
 * perf_persist_take_name - show a name that is free, or reserved, in sysfs, and take it
 * @ns:		the namespace, which cannot be opened by others yet
 *
 * Return: 0, or -ENOMEM.
 */
int perf_persist_take_name(struct perf_persist_ns *ns)
{
	int ret;

	assert_registry();
	ret = add_ns_files(ns);
	if (!ret && !perf_persist_is_reserved(ns))
		rb_add(&ns->name_node, &perf_persist_names, ns_name_less);
	return ret;
}

/**
 * perf_persist_add_snapshot - let a snapshot be found by its name, which is free
 * @ns:		the snapshot, which gets an id
 *
 * Allocates nothing. perf_persist_list_snapshot() does the rest.
 */
void perf_persist_add_snapshot(struct perf_persist_ns *ns)
{
	assert_registry();
	ns->id = ++perf_persist_last_id;
	rb_add(&ns->id_node, &perf_persist_ids, ns_id_less);
	rb_add(&ns->name_node, &perf_persist_names, ns_name_less);
	ns->published = true;
}

/* Snapshots are shown in sysfs by one task and deleted by another. */
static DEFINE_MUTEX(perf_persist_files_lock); /* perf_persist_ns::listed, but of new ones */

/**
 * perf_persist_list_snapshot - show a snapshot in sysfs
 * @ns:		the snapshot, with a reference of the caller's
 *
 * Called without a lock, where it matters to nobody how long it takes.
 *
 * Return: 0, also if it is there or was deleted; or -ENOMEM.
 */
int perf_persist_list_snapshot(struct perf_persist_ns *ns)
{
	int ret;

	guard(mutex)(&perf_persist_files_lock);
	/* Whoever deletes it looks at it after us. */
	if (ns->listed || READ_ONCE(ns->unlinked))
		return 0;
	ret = perf_persist_appeared(ns);
	return ret ? ret : add_ns_files(ns);
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
	WRITE_ONCE(ns->unlinked, true);
	tell_changed(ns, EPOLLPRI | EPOLLHUP);
}

/**
 * perf_persist_remove - free the name of a namespace that was unlinked
 * @ns:		the namespace
 *
 * Puts the reference of the registry. Called without a lock.
 */
void perf_persist_remove(struct perf_persist_ns *ns)
{
	if (!RB_EMPTY_NODE(&ns->name_node))
		tell_vanished(ns);
	scoped_guard(mutex, &perf_persist_files_lock) {
		if (ns->listed)
			remove_ns_files(ns);
	}
	if (!RB_EMPTY_NODE(&ns->name_node)) {
		mutex_lock(&perf_persist_lock);
		rb_erase(&ns->name_node, &perf_persist_names);
		mutex_unlock(&perf_persist_lock);
	}

	perf_persist_put(ns); /* Matches refcount_set() in perf_persist_alloc() */
}

/*
 * Structures of the ABI that can grow
 */

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

/* Last, as it tells user space that all of this is there. */
static int __init perf_persistent_init(void)
{
	if (!perf_persist_error)
		perf_persist_error = perf_pmu_register(&perf_persistent_pmu, "persistent",
						       PERF_TYPE_PERSISTENT);
	perf_persist_ready = !perf_persist_error;
	return perf_persist_error;
}
subsys_initcall_sync(perf_persistent_init);

/* Show the namespaces that were published before there was a bus, see perf_event_sysfs_init(). */
static int __init list_all(void)
{
	struct perf_persist_ns *ns;
	struct rb_node *node;
	int ret = 0;

	/* Out of memory, see perf_event_sysfs_init() */
	if (!perf_persistent_pmu.dev)
		return -ENOMEM;

	guard(mutex)(&perf_persist_files_lock);
	guard(mutex)(&perf_persist_lock);
	perf_persist_has_bus = true;
	for (node = rb_first(&perf_persist_names); node; node = rb_next(node)) {
		ns = ns_of_name(node);
		if (ns->published && !ns->unlinked && !ns->listed)
			ret = add_ns_files(ns) ?: ret;
	}
	return ret;
}
device_initcall_sync(list_all);
