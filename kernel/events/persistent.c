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
 *   delete		Removes id and name, and stops the members even if
 *			processes have them open. Then the namespace drops its
 *			references: the last descriptor frees the event, the
 *			last mapping frees the buffer.
 *
 * When a CPU goes offline, its events leave their context. Members stay in the
 * namespace with their records, and continue when the CPU is back.
 *
 * The code that writes samples does not know about namespaces.
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
 * perf_persist_lock protects the registry: the namespaces, their names, their
 * members, and which events and buffers they hold.
 *
 *  1. It nests inside cpu_hotplug_lock and outside perf_event::mmap_mutex.
 *
 *  2. Code that holds it must not create an event, drop what may be the last
 *     reference or opener of an event (static keys take cpu_hotplug_lock), remove
 *     a sysfs file (which waits for its readers), or access user memory (a page
 *     fault takes mmap_lock, which perf_mmap() holds around mmap_mutex). So objects
 *     are unlinked under the lock, and torn down after it is dropped.
 *
 *  3. perf_member::state is written under it, except from NONE to JOINING: code
 *     that adds siblings reads the state under event->ctx->mutex, so this change
 *     is made under that mutex. Changes to and from PUBLISHED require
 *     event->mmap_mutex as well, for mmap() and SET_OUTPUT.
 *
 *  4. While the buffers of a namespace are being replaced, members are missing from
 *     perf_buffer::event_list. perf_persist_settle() waits until that is over.
 *     Code that adds, removes or opens a member calls it.
 *
 *  5. Code that holds it must not take ctx->mutex, nor task_struct::perf_event_mutex,
 *     whose holders wait for ctx->mutex: a process may hold ctx->mutex for as long
 *     as a page fault takes, while close() of other processes waits for this lock.
 */
DEFINE_MUTEX(perf_persist_lock); /* the registry */

static struct rb_root perf_persist_ids = RB_ROOT;	/* all namespaces, by id */
static struct rb_root perf_persist_names = RB_ROOT;	/* by name, also reserved names */
static u64 perf_persist_last_id;			/* an id is never used again */

/* Files of the upper layers, see persistent_internal.h; written only at boot */
static LIST_HEAD(perf_persist_listeners);

/**
 * perf_persist_listen - register callbacks for changes of namespaces
 * @listener:	the callbacks
 *
 * Called at boot, before the first namespace is made.
 */
void __init perf_persist_listen(struct perf_persist_listener *listener)
{
	list_add_tail(&listener->entry, &perf_persist_listeners);
}

static int perf_persist_error; /* at boot */
static bool perf_persist_ready; /* set after that, unless there was an error */

/**
 * perf_persist_fail - a part of persistent events could not be initialized
 * @error:	why, a negative errno
 *
 * Called at boot. The kernel then makes no namespaces at all.
 */
void __init perf_persist_fail(int error)
{
	perf_persist_error = error;
}

/**
 * perf_persist_is_ready - can namespaces be made
 *
 * Return: true once all parts of persistent events are initialized.
 */
bool perf_persist_is_ready(void)
{
	return READ_ONCE(perf_persist_ready);
}

#define for_each_listener(_listener)	\
	list_for_each_entry(_listener, &perf_persist_listeners, entry)

/* A listener leaves out the callbacks that it does not need. */
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
 * @kept:	one of these members belongs in snapshots: prepared ones do not fit any more
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
 * perf_persist_buffers_changed - buffers were replaced, or members with buffers came
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
 * Return: 0, or the error of a listener.
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

/* A listing of @ns would show something else: wake up poll(), and tell the listeners. */
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
	leaving->stoppable = false;
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
 * perf_persist_covering - a CPU that came online is about to get a member
 * @member:	the member, which nobody else can see
 *
 * Called without a lock. The caller goes on with perf_persist_covered(), or frees the event.
 *
 * Return: 0, or -ENOMEM.
 */
int perf_persist_covering(struct perf_member *member)
{
	struct perf_persist_listener *listener;
	int ret = 0;

	for_each_listener(listener) {
		if (!ret && listener->covering)
			ret = listener->covering(member);
	}
	return ret;
}

/**
 * perf_persist_covered - a CPU that came online got a member
 * @model:	the same event on another CPU
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
 * Return: the namespace, published or not; NULL if there is none, or the task is killed.
 */
struct perf_persist_ns *perf_persist_find_settled(u64 id)
{
	struct perf_persist_ns *ns;

	while ((ns = perf_persist_find(id)) && ns->swapping) {
		if (perf_persist_settle_killable(ns))
			return NULL;
	}
	return ns;
}

/**
 * perf_persist_find_name - find a namespace by its name
 * @name:	the name
 *
 * Return: the namespace, or NULL. An unlinked one is found until its name is free again.
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
 * Return: a namespace without members, name and owner, with one reference, which becomes
 * the registry's; or NULL.
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
	INIT_LIST_HEAD(&ns->stop_members);
	ns->generation = 1;
	init_waitqueue_head(&ns->waitq);
	for_each_listener(listener)
		tell(listener->init, ns);
	return ns;
}

/* Iterate over the members that write to the buffer of @member. */
static struct perf_member *next_writer(struct perf_member *member, struct perf_member *prev)
{
	return member->rb ? perf_buffer_next_writer(member->rb, prev) : NULL;
}

/**
 * perf_persist_set_owner - make the caller the owner of a namespace
 * @ns:		the namespace, which has no members
 * @old:	out: the owner until now
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
 * @old:	in: what perf_persist_set_owner() filled in; out: its cred is the one that
 *		@ns had since then
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
 * Return: a namespace without members, which can be found by its id; or NULL.
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
 * Called with or without the lock. The last reference on a snapshot must be put without
 * it, because freeing its members takes the lock.
 */
void perf_persist_put(struct perf_persist_ns *ns)
{
	struct perf_persist_listener *listener;
	struct perf_persist_ns *source;

	/* A snapshot has a reference on its source. */
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

static int settle(struct perf_persist_ns *ns, unsigned int state)
{
	int ret;

	assert_registry();
	if (!ns->swapping)
		return 0;

	get_persist_ns(ns);
	do {
		mutex_unlock(&perf_persist_lock);
		ret = wait_event_state(ns->waitq, !READ_ONCE(ns->swapping), state);
		mutex_lock(&perf_persist_lock);
	} while (!ret && ns->swapping);
	perf_persist_put(ns); /* no snapshot, which must not be put with the lock held */
	return ret;
}

/**
 * perf_persist_settle - wait until no buffers of a namespace are being replaced
 * @ns:		the namespace
 *
 * Called with perf_persist_lock held, which is dropped and taken again if there is
 * something to wait for. The caller must then check again everything that it knew. @ns may
 * have been freed, unless the caller has a reference.
 *
 * Replacing buffers takes one RCU grace period; one more if used buffers are emptied for
 * it; and if events that are no members write to the buffers, one for each of them plus
 * one. The wait is longer if other tasks start to replace the buffers again.
 */
void perf_persist_settle(struct perf_persist_ns *ns)
{
	settle(ns, TASK_UNINTERRUPTIBLE);
}

/**
 * perf_persist_settle_killable - the same, unless the task is killed
 * @ns:		the namespace
 *
 * RCU may be stuck, as a CPU loops. Then this lets the user at least kill those who read.
 *
 * Return: 0; or -EINTR if buffers are still being replaced, and the caller must give up.
 */
int perf_persist_settle_killable(struct perf_persist_ns *ns)
{
	return settle(ns, TASK_KILLABLE) ? -EINTR : 0;
}

/**
 * perf_persist_next_published - walk the published namespaces, without snapshots
 * @prev:	the previous one, which is put, or NULL to start with
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
	/* Skip snapshots: their events are members of another namespace, or of none. */
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
 * @event_id:	event id of the previous member, 0 to start with
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
 * perf_persist_member_on - find a member by its CPU, except members that came for a trigger
 * @ns:		the namespace, with the lock held
 * @cpu:	the CPU
 *
 * Return: the member with the lowest event id on that CPU, or NULL.
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
 * perf_member_settle - perf_persist_settle() for the namespace of a member
 * @member:	the member, which may be in no namespace
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
	/* perf_event_open() handles this type before it gets here. */
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

/* Tells user space that PERF_TYPE_PERSISTENT exists. Its events are the namespaces. */
static struct pmu perf_persistent_pmu = {
	.task_ctx_nr	= perf_invalid_context,
	.attr_groups	= perf_persistent_groups,
	.event_init	= perf_persistent_no_event,
};

/* Takes no lock: perf_persist_remove() waits for us with perf_persist_files_lock held. */
static ssize_t ns_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct perf_persist_ns *ns = container_of(attr, struct perf_persist_ns, file);

	return sysfs_emit(buf, "config=0x%llx\n", ns->id);
}

static bool perf_persist_has_bus; /* published namespaces have a file there */

static int add_ns_files(struct perf_persist_ns *ns)
{
	struct kobject *kobj;
	int ret;

	/* Too early at boot: list_all() does it. */
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
 * perf_persist_valid_name - can a user give a namespace this name
 * @name:	NUL-terminated
 *
 * The perf tool looks up names in lower case. Names of snapshots have a dot. perffs has a
 * file error_log.
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
 * perf_persist_valid_label - is a string a valid label or note
 * @label:	NUL-terminated
 *
 * Return: true for printable text in any encoding, if it is not empty or too long. Control
 * characters are refused, also U+0080 to U+009F in UTF-8.
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
 * perf_persist_valid_snapshot_name - can a string be the name of a snapshot
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
 * perf_persist_reserve_name - take a name for a namespace that will be published later
 * @ns:		the namespace, which has no members
 * @name:	a valid name
 *
 * The namespace stays until perf_persist_remove(), also without members. As it outlives the
 * process that made it, it counts as one member until it is published.
 *
 * Return: 0, -EEXIST, or -ENOSPC: over the limit kernel.perf_event_max_persistent.
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
 * perf_persist_take_name - take a name that is free or reserved, and show it in sysfs
 * @ns:		the namespace, which others cannot open yet
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
 * perf_persist_add_snapshot - make it possible to find a snapshot
 * @ns:		the snapshot, which gets an id; its name is free
 *
 * Allocates nothing. perf_persist_list_snapshot() adds the snapshot to sysfs later.
 */
void perf_persist_add_snapshot(struct perf_persist_ns *ns)
{
	assert_registry();
	ns->id = ++perf_persist_last_id;
	rb_add(&ns->id_node, &perf_persist_ids, ns_id_less);
	rb_add(&ns->name_node, &perf_persist_names, ns_name_less);
	ns->published = true;
}

/* One task may add a snapshot to sysfs while another deletes it. */
static DEFINE_MUTEX(perf_persist_files_lock); /* for ns->listed, once @ns can be found */

/**
 * perf_persist_list_snapshot - show a snapshot in sysfs
 * @ns:		the snapshot, with a reference of the caller's
 *
 * Called without a lock, by the worker, which may take its time.
 *
 * Return: 0, also if it is in sysfs already or was deleted; or -ENOMEM.
 */
int perf_persist_list_snapshot(struct perf_persist_ns *ns)
{
	int ret;

	guard(mutex)(&perf_persist_files_lock);
	/* If it is deleted now, perf_persist_remove() waits for us and sees ns->listed. */
	if (ns->listed || READ_ONCE(ns->unlinked))
		return 0;
	ret = perf_persist_appeared(ns);
	return ret ? ret : add_ns_files(ns);
}

/**
 * perf_persist_unlink - remove a namespace or snapshot from the ids that can be found
 * @ns:		the namespace
 *
 * The caller must call perf_persist_remove() after it has dropped the lock. The name
 * remains taken until then.
 */
void perf_persist_unlink(struct perf_persist_ns *ns)
{
	assert_registry();
	rb_erase(&ns->id_node, &perf_persist_ids);
	WRITE_ONCE(ns->unlinked, true);
	tell_changed(ns, EPOLLPRI | EPOLLHUP);
}

/**
 * perf_persist_remove - free the name of an unlinked namespace
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
 * @dst:	where to; begins with its size, a u32, which is set to that of user space
 * @known:	bytes that the kernel knows
 * @least:	size of the first version of the structure
 * @uarg:	address in user space
 *
 * Return: 0, -EFAULT, -EINVAL if it is smaller than @least, or -E2BIG if it is larger than
 * a page or has bytes after @known that are not zero. On -E2BIG the kernel writes @known to
 * the size in user space.
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
 * @src:	begins with its size, a u32, which is that of user space
 * @known:	bytes that the kernel knows
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

/* Runs last: the PMU tells user space that persistent events are available. */
static int __init perf_persistent_init(void)
{
	if (!perf_persist_error)
		perf_persist_error = perf_pmu_register(&perf_persistent_pmu, "persistent",
						       PERF_TYPE_PERSISTENT);
	perf_persist_ready = !perf_persist_error;
	return perf_persist_error;
}
subsys_initcall_sync(perf_persistent_init);

/* Show the namespaces that were published before perf_event_sysfs_init() made the bus. */
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
