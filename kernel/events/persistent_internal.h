/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The interfaces between the files of persistent events. The files form layers, and a
 * function calls only functions of its own layer or of a lower one:
 *
 *  4  user interfaces		persistent_file.c, persistent_info.c,
 *				persistent_snapshot_file.c, persistent_trigger_file.c,
 *				persistent_boot.c, persistent_fs.c, persistent_fs_file.c,
 *				persistent_fs_trigger.c, persistent_fs_data.c,
 *				persistent_mce.c, persistent_spec_test.c,
 *				persistent_copy_test.c
 *  3  automatic actions	persistent_trigger.c, persistent_fire.c, persistent_hotplug.c
 *  2  buffers as a whole	persistent_snapshot.c, persistent_spare.c, persistent_stop.c,
 *				persistent_tasks.c, persistent_copy.c
 *  1  namespaces, members	persistent.c, persistent_publish.c, persistent_member.c,
 *				persistent_rights.c, persistent_buffer.c, persistent_spec.c,
 *				persistent_make.c, persistent_create.c
 *  0  hooks, and readers	core.c, ring_buffer.c, read_copy.c, read_record.c,
 *     without namespaces	read_format.c, read_comm.c, read_text.c, read_data.c,
 *				read_out.c, read_maps.c, read_wide.c, read_task.c
 *
 * A lower layer tells the upper ones what happens through struct perf_persist_listener.
 */
#ifndef _KERNEL_EVENTS_PERSISTENT_INTERNAL_H
#define _KERNEL_EVENTS_PERSISTENT_INTERNAL_H

#include <linux/device.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/rbtree.h>
#include <linux/refcount.h>
#include <linux/stringify.h>
#include <linux/trace_events.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

struct cred;
struct file;
struct perf_action;
struct perf_buffer;
struct perf_buffer_set;
struct perf_format;
struct perf_fs_dir;
struct perf_tasks;
struct pid;
struct seq_file;
struct ucounts;

/**
 * struct perf_persist_ns - a namespace of persistent events, or a snapshot of one
 * @refs:	one for the registry, for each member, for each file that is
 *		bound to it, for each snapshot of it, and for each task that works
 *		on it without the lock
 * @id_node:	in perf_persist_ids, until it is unlinked
 * @name_node:	in perf_persist_names, from when its name is taken or reserved until its
 *		sysfs file is gone
 * @id:		what the user passes as perf_event_attr::config
 * @members:	its members, ordered by event id; all are held once it is published
 * @members_seq: changes with @members and with the size of their buffers
 * @published:	it can be found by its name
 * @unlinked:	it cannot be found any more, and nothing joins it
 * @all_cpus:	the kernel adds members on CPUs that come online later
 * @swapping:	buffers are being replaced: perf_buffer::event_list lacks members
 * @generation:	counts the changes that a listing would show
 * @waitq:	for poll() on a namespace file, and for the end of @swapping
 * @creator:	the process that may join and name it while it has no name, as long as it has
 *		the user of @cred
 * @cred:	of its owner, who pays for the buffers; the kernel uses them to make
 *		members on new CPUs, and buffers that replace others
 * @memlock:	RLIMIT_MEMLOCK of the process that gave it its name, for these buffers
 * @cover_work:	makes members on CPUs that came online before it got its name
 * @set:	the set that its buffers are counted in
 * @next_writer: the next member after @prev that writes to the buffer of @member, which may
 *		be @member itself; the first one if @prev is NULL
 * @tasks:	records of the tasks that existed before it, or NULL
 * @owner_comm:	program that made it
 * @created_ns:	when it was made, in ns of CLOCK_BOOTTIME; of a snapshot: when the last
 *		buffer was replaced
 * @note:	a text for people, or empty
 * @name:	empty until it is published, unless it was reserved
 * @file:	in the "events" directory of the PMU, named @name
 * @listed:	@file is in sysfs
 * @dir:	its directory in perffs, or NULL
 * @snapshot_lock: serializes tasks that make buffers, so that the number of buffers can be
 *		limited, and keeps members from joining meanwhile; taken before
 *		perf_persist_lock
 * @source:	of a snapshot: the namespace that it was taken of; else NULL
 * @entry:	of a snapshot: in @snapshots, @spares or @trimmed of @source
 * @snapshots:	snapshots that were taken of it, the oldest first
 * @nr_snapshots: how many these are
 * @keep:	maximum of @nr_snapshots
 * @number:	of a snapshot: its number; else the number of the last snapshot
 * @swap_begin_ns: of a snapshot: when the first buffer was about to be replaced
 * @trigger:	of a snapshot: number of the trigger that took it, or 0
 * @spares:	snapshots that are prepared, with empty buffers
 * @nr_spares:	how many these are
 * @want_spares: how many there should be
 * @spares_delay: the worker could not make all of them, and tries again after as many
 *		seconds; or 0; only for the worker
 * @trimmed:	snapshots deleted because of @keep; unmapped buffers are used again
 * @snapshot_work: shows snapshots in sysfs, makes spares, and frees @trimmed
 * @triggers:	its triggers, ordered by number
 * @nr_triggers: how many these are
 * @missed_seq:	changes when one of them misses events on a CPU
 * @last_trigger: number of the last trigger that was made
 * @nr_stoppers: number of triggers that stop it, or are not done with that
 * @stopped:	its buffers are frozen; written in any context
 * @stop_members: its members, which a stop finds in any context; under RCU
 *
 * Fields that change are protected by perf_persist_lock.
 */
struct perf_persist_ns {
	refcount_t		refs;
	struct rb_node		id_node;
	struct rb_node		name_node;
	u64			id;
	struct rb_root		members;
	u64			members_seq;
	bool			published;
	bool			unlinked;
	bool			all_cpus;
	bool			swapping;
	u64			generation;
	wait_queue_head_t	waitq;
	struct pid		*creator;
	const struct cred	*cred;
	unsigned long		memlock;
	struct work_struct	cover_work;
	struct perf_buffer_set	*set;
	struct perf_member	*(*next_writer)(struct perf_member *member,
						struct perf_member *prev);
	struct perf_tasks	*tasks;
	char			owner_comm[PERF_PERSIST_COMM_SIZE];
	u64			created_ns;
	char			note[PERF_PERSIST_NAME_SIZE];
	char			name[PERF_PERSIST_NAME_SIZE];
	struct device_attribute	file;
	bool			listed;
	struct perf_fs_dir	*dir;

	struct mutex		snapshot_lock; /* serializes tasks that make buffers */
	struct perf_persist_ns	*source;
	struct list_head	entry;
	struct list_head	snapshots;
	unsigned int		nr_snapshots;
	unsigned int		keep;
	unsigned int		number;
	u64			swap_begin_ns;
	unsigned int		trigger;
	struct list_head	spares;
	unsigned int		nr_spares;
	unsigned int		want_spares;
	unsigned int		spares_delay;
	struct list_head	trimmed;
	struct delayed_work	snapshot_work;

	struct list_head	triggers;
	unsigned int		nr_triggers;
	unsigned int		missed_seq;
	unsigned int		last_trigger;
	unsigned int		nr_stoppers;
	bool			stopped;
	struct list_head	stop_members;
};

/**
 * struct perf_leaving - members that leave a namespace
 * @ns:		the namespace, with a reference of the caller's
 * @member:	the one that leaves, or NULL for all
 * @spares:	its spares, which have references on the events of members
 * @triggers:	triggers that nothing fires any more
 * @actions:	actions of members, which no longer run when a member overflows
 * @stoppable:	the namespace is stopped, or a trigger may be stopping it
 * @frozen:	if @stoppable: buffer that @member had, or NULL
 */
struct perf_leaving {
	struct perf_persist_ns	*ns;
	struct perf_member	*member;
	struct list_head	spares;
	struct list_head	triggers;
	struct list_head	actions;
	bool			stoppable;
	struct perf_buffer	*frozen;
};

/**
 * struct perf_persist_listener - callbacks of the upper layers for changes of a namespace
 * @entry:	in the list of all listeners
 * @init:	it was allocated; nobody else can see it
 * @published:	it got its name; with perf_persist_lock
 * @appeared:	it can be found by its name from here on; without the lock. It may be
 *		unlinked already. If this fails for a snapshot, it is called again
 * @vanished:	it had a name and was unlinked; without the lock. The name is free after
 * @changed:	a listing would show something else; with the lock
 * @members_changed: members came or left, or have buffers of another size; with the lock
 * @buffers_changed: members have other buffers; with the lock
 * @leaving:	members are about to leave; with the lock. Moves everything that depends on
 *		them to the lists of struct perf_leaving
 * @left:	after @leaving, without the lock and before the members are gone: frees
 *		everything in struct perf_leaving
 * @covering:	a CPU came online and is about to get @member, which nobody else can see;
 *		without the lock. Returns 0 or -ENOMEM. Either @covered follows, or @member is
 *		freed
 * @covered:	that CPU got @member, which was made like @model; with the lock
 * @free:	the last reference was put; without the lock for a snapshot, otherwise with
 *		or without it
 *
 * A callback that is NULL is not called.
 */
struct perf_persist_listener {
	struct list_head	entry;
	void			(*init)(struct perf_persist_ns *ns);
	void			(*published)(struct perf_persist_ns *ns);
	int			(*appeared)(struct perf_persist_ns *ns);
	void			(*vanished)(struct perf_persist_ns *ns);
	void			(*changed)(struct perf_persist_ns *ns);
	void			(*members_changed)(struct perf_persist_ns *ns);
	void			(*buffers_changed)(struct perf_persist_ns *ns);
	void			(*leaving)(struct perf_leaving *leaving);
	void			(*left)(struct perf_leaving *leaving);
	int			(*covering)(struct perf_member *member);
	void			(*covered)(struct perf_member *model, struct perf_member *member);
	void			(*free)(struct perf_persist_ns *ns);
};

enum perf_member_state {
	PERF_MEMBER_NONE,	/* in no namespace */
	PERF_MEMBER_JOINING,	/* joining or leaving a namespace */
	PERF_MEMBER_JOINED,	/* in a namespace that has no name yet */
	PERF_MEMBER_PUBLISHED,	/* a namespace keeps it alive */
	PERF_MEMBER_DELETED,	/* its namespace was deleted */
};

/**
 * struct perf_member - what a namespace needs to know of a CPU event
 * @event:	the event, which owns this; in a snapshot, the event that recorded
 * @attr:	what its creator passed; drivers and the core rewrite event->attr
 * @openers:	files that have it open, and the namespace that holds it
 * @state:	enum perf_member_state; see perf_persist_lock
 * @wanted:	while the CPU is offline: enable it when the CPU is back; protected by
 *		event->ctx->mutex
 * @needs:	the rights that creating such an event requires, see perf_buffer::needs
 * @held:	the namespace is one of @openers
 * @all_cpus:	PERF_PERSIST_ALL_CPUS, for the namespace that it will create
 * @for_trigger: it came for a trigger, and leaves with it
 * @kept:	snapshots contain it; false if it came for a trigger and writes to no buffer
 * @revoked:	only the memory of the event is left, see perf_event_revoke()
 * @rb:		the buffer that the namespace keeps mapped through this event;
 *		NULL while not held, for a counter, and for an event that writes
 *		to the buffer of another member
 * @ns:		the namespace; remains set after a deletion, for open descriptors
 * @node:	in perf_persist_ns::members
 * @stop_entry:	in perf_persist_ns::stop_members
 * @left:	when it left another namespace, for cond_synchronize_rcu()
 * @filter:	text of an address or function filter, as passed to SET_FILTER;
 *		event->filter has other texts; protected by event->ctx->mutex
 * @name:	while it is in no namespace: name of the one that it will create, or NULL
 * @absent:	while it is in a namespace that it joined: CPUs that were offline then and
 *		have not got the same event since, or NULL
 * @label:	name of this event for people, or NULL
 * @format:	format of its tracepoint, set when it joins a namespace; or NULL
 * @action:	the trigger that it fires on overflow, after writing its record; or NULL
 * @missed:	what perf_event::lost_samples counted while the buffer was stopped
 * @lost_at_stop: perf_event::lost_samples at the last stop; written in any context
 * @deferred:	in perf_member_deferred, when it has no opener and nobody can read @missed
 * @complete_since: since when it is enabled, in ns of its clock; 0 if it was never disabled
 *		and is in its namespace from the beginning. U64_MAX while it is disabled again.
 *		Written with event->ctx->mutex, or while it joins
 *
 * Fields that change are protected by perf_persist_lock. Every CPU event has a struct
 * perf_member, in a namespace or not, so it must be small.
 */
struct perf_member {
	struct perf_event	*event;
	struct perf_event_attr	attr;
	refcount_t		openers;
	u8			state;
	bool			wanted;
	u8			needs;
	u8			held:1;
	u8			all_cpus:1;
	u8			for_trigger:1;
	u8			kept:1;
	u8			revoked:1;
	struct perf_buffer	*rb;
	struct perf_persist_ns	*ns;
	struct rb_node		node;
	struct list_head	stop_entry;
	unsigned long		left;
	char			*filter;
	union {
		char		*name;
		struct cpumask	*absent;
	};
	char			*label;
	struct perf_format	*format;
	struct perf_action	*action;
	union {
		u64			missed;
		struct llist_node	deferred;
	};
	atomic64_t		lost_at_stop;
	atomic64_t		complete_since;
};

#define member_of(_node)	rb_entry((_node), struct perf_member, node)

#define first_member(_ns)						\
	rb_entry_safe(rb_first(&(_ns)->members), struct perf_member, node)

#define following_member(_member)					\
	rb_entry_safe(rb_next(&(_member)->node), struct perf_member, node)

#define for_each_ns_member(_member, _ns)				\
	for ((_member) = first_member(_ns); (_member);			\
	     (_member) = following_member(_member))

/* The first member that did not come for a trigger, or NULL */
static inline struct perf_member *first_ordinary_member(struct perf_persist_ns *ns)
{
	struct perf_member *member;

	for_each_ns_member(member, ns) {
		if (!member->for_trigger)
			break;
	}
	return member;
}

/* Does it only record tasks? The kernel and perf add one to each CPU without being asked. */
static inline bool perf_member_is_tasks(struct perf_member *member)
{
	return member->attr.task && member->attr.type == PERF_TYPE_SOFTWARE &&
	       member->attr.config == PERF_COUNT_SW_DUMMY;
}

/* The OOM killer must not run to make room for a snapshot. */
#define PERF_PERSIST_GFP	(GFP_KERNEL | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

/* persistent.c */
extern struct mutex perf_persist_lock;

static inline void assert_registry(void)
{
	lockdep_assert_held(&perf_persist_lock);
}

static inline struct perf_persist_ns *get_persist_ns(struct perf_persist_ns *ns)
{
	refcount_inc(&ns->refs);
	return ns;
}

static inline bool is_snapshot(struct perf_persist_ns *ns)
{
	return ns->source;
}

/* It has a name but is not published yet, and stays without members. */
static inline bool perf_persist_is_reserved(struct perf_persist_ns *ns)
{
	return !ns->published && !RB_EMPTY_NODE(&ns->name_node);
}

static inline unsigned int perf_persist_count_members(struct perf_persist_ns *ns)
{
	struct perf_member *member;
	unsigned int nr = 0;

	for_each_ns_member(member, ns)
		nr++;
	return nr;
}

static inline bool perf_member_has_tp(struct perf_member *member)
{
#ifdef CONFIG_EVENT_TRACING
	return member->event->tp_event;
#else
	return false;
#endif
}

void perf_persist_listen(struct perf_persist_listener *listener);
void perf_persist_fail(int error);
bool perf_persist_is_ready(void);
void perf_persist_published(struct perf_persist_ns *ns);
int perf_persist_appeared(struct perf_persist_ns *ns);
void perf_persist_members_changed(struct perf_persist_ns *ns, bool kept);
void perf_persist_buffers_changed(struct perf_persist_ns *ns);
void perf_persist_leaving(struct perf_leaving *leaving, struct perf_persist_ns *ns,
			  struct perf_member *member);
void perf_persist_left(struct perf_leaving *leaving);
int perf_persist_covering(struct perf_member *member);
void perf_persist_covered(struct perf_member *model, struct perf_member *member);

/**
 * struct perf_persist_owner - the former owner of a namespace
 * @cred:	perf_persist_ns::cred, with a reference
 * @memlock:	perf_persist_ns::memlock
 * @comm:	perf_persist_ns::owner_comm
 */
struct perf_persist_owner {
	const struct cred	*cred;
	unsigned long		memlock;
	char			comm[TASK_COMM_LEN];
};

struct perf_persist_ns *perf_persist_alloc(void);
void perf_persist_set_owner(struct perf_persist_ns *ns, struct perf_persist_owner *old);
void perf_persist_restore_owner(struct perf_persist_ns *ns, struct perf_persist_owner *old);
struct perf_persist_ns *perf_persist_new(void);
void perf_persist_put(struct perf_persist_ns *ns);
void perf_persist_changed(struct perf_persist_ns *ns);
struct perf_persist_ns *perf_persist_find(u64 id);
struct perf_persist_ns *perf_persist_find_settled(u64 id);
struct perf_persist_ns *perf_persist_find_name(const char *name);
struct perf_persist_ns *perf_persist_next_published(struct perf_persist_ns *prev);
void perf_persist_settle(struct perf_persist_ns *ns);
int __must_check perf_persist_settle_killable(struct perf_persist_ns *ns);
void perf_member_settle(struct perf_member *member);
bool perf_persist_valid_name(const char *name);
bool perf_persist_valid_snapshot_name(const char *name);
bool perf_persist_valid_label(const char *label);
int perf_persist_reserve_name(struct perf_persist_ns *ns, const char *name);
int perf_persist_take_name(struct perf_persist_ns *ns);
void perf_persist_add_snapshot(struct perf_persist_ns *snap);
int perf_persist_list_snapshot(struct perf_persist_ns *snap);
void perf_persist_unlink(struct perf_persist_ns *ns);
void perf_persist_remove(struct perf_persist_ns *ns);
bool perf_member_less(struct rb_node *a, const struct rb_node *b);
struct perf_member *perf_persist_next_member(struct perf_persist_ns *ns, u64 event_id);
struct perf_member *perf_persist_find_member(struct perf_persist_ns *ns, u64 event_id);
struct perf_member *perf_persist_member_on(struct perf_persist_ns *ns, int cpu);
int perf_persist_get_struct(void *dst, size_t known, size_t least, void __user *uarg);
int perf_persist_put_struct(void __user *uarg, void *src, size_t known);

/* persistent_publish.c */
long perf_persist_event(struct perf_event *event, u64 __user *uid);
int perf_persist_join(struct perf_persist_ns *ns, struct perf_event *event, bool for_trigger);
long perf_persist_join_fd(struct perf_persist_ns *ns, const s32 __user *ufd);
int perf_persist_add_new(struct perf_persist_ns *ns, struct perf_event *event);
long perf_persist_publish(struct perf_persist_ns *ns);
void perf_persist_discard(struct perf_persist_ns *ns);
bool perf_persist_drop(struct perf_member *member);
long perf_persist_claim(struct perf_event *event);
long perf_persist_name_event(struct perf_event *event, const char *new_name,
			     const char *new_label);
long perf_persist_set_flags(struct perf_event *event, const u64 __user *uflags);
long perf_persist_delete(struct perf_persist_ns *ns);
long perf_persist_delete_killable(struct perf_persist_ns *ns);
long perf_persist_enable(struct perf_persist_ns *ns, bool enable);

/**
 * struct perf_held - what perf_member_hold() took, to be released without the lock
 * @event:	the event, of which it is an opener, or NULL
 * @rb:		the buffer, of which it is a mapping, or NULL
 */
struct perf_held {
	struct perf_event	*event;
	struct perf_buffer	*rb;
};

/* persistent_member.c */
int perf_persist_reserve_members(unsigned int nr);
void perf_persist_unreserve_members(unsigned int nr);
void perf_member_set_state(struct perf_member *member, enum perf_member_state state);
void perf_member_add(struct perf_persist_ns *ns, struct perf_member *member);
struct perf_persist_ns *perf_member_remove(struct perf_member *member);
bool perf_member_is_offline(struct perf_member *member);
bool perf_member_is_enabled(struct perf_member *member);
struct pmu *perf_event_pmu(struct perf_event *event);
void perf_member_copy_attr(struct perf_event_attr *attr, struct perf_member *member);
char *perf_member_copy_filter(struct perf_member *member);
void perf_member_name(struct perf_member *member, char *name, size_t size);
u64 perf_member_missed(struct perf_member *member);
u64 perf_member_lost(struct perf_member *member, u64 missed);
u64 perf_member_cgroup_id(struct perf_member *member);
void perf_event_revoke(struct perf_event *event);
void perf_persist_put_opener(struct perf_event *event);
void perf_member_put_deferred(struct perf_member *member);
int perf_member_hold(struct perf_member *member);
int perf_member_check_output(struct perf_member *member);
struct perf_held perf_member_unhold(struct perf_member *member);
void perf_member_release(struct perf_held hold);
void perf_persist_reinstall(struct perf_event *event);

/**
 * struct perf_spec_error - what is wrong with events that a user described
 * @text:	the message, without a newline
 * @spec:	the event that cannot be made, or NULL
 */
struct perf_spec_error {
	char			text[160];
	struct perf_event_spec	*spec;
};

/**
 * struct perf_event_spec - the description of an event
 * @entry:	in a list of descriptions
 * @attr:	attributes, with PERF_SAMPLE_IDENTIFIER, and for a backward buffer
 * @name:	name of the tracepoint, of the event, or of its PMU
 * @label:	name of the event for people
 * @filter:	filter of the tracepoint, or NULL
 */
struct perf_event_spec {
	struct list_head	entry;
	struct perf_event_attr	attr;
	char			*name;
	char			*label;
	char			*filter;
};

/* persistent_create.c */
long perf_persist_start(struct perf_persist_ns *ns, struct list_head *specs, unsigned long size,
			bool tasks, struct perf_spec_error *error);
int perf_persist_extend(u64 id, struct list_head *specs, struct perf_spec_error *error);
int perf_persist_check_rates(struct list_head *specs, struct perf_spec_error *error);
struct perf_event *perf_persist_open_output(struct perf_persist_ns *ns, int cpu);
struct perf_event *perf_member_make_redirected(struct perf_persist_ns *ns,
					       const struct perf_event_spec *spec, int cpu,
					       bool may_lack_buffer);
int perf_persist_create_from(const char *name, struct list_head *specs, unsigned long size,
			     bool tasks, u64 *id, struct perf_spec_error *error);

/* Message for a name that perf_persist_valid_name() refuses */
#define PERF_SPEC_NAME_RULE							\
	"not a valid name: use a-z, 0-9, _ and -, start with a-z or _, at most "	\
	__stringify(PERF_PERSIST_USER_NAME_MAX) " bytes"

/* Default frequency; lowered to kernel.perf_event_max_sample_rate if that is less */
#define PERF_SPEC_FREQ		4000

/* Maximum number of different events in a namespace: more are a mistake */
#define PERF_SPECS_MAX		1024

/* persistent_spec.c */
__printf(4, 5)
int perf_spec_fail(struct perf_spec_error *error, int ret, const char *word, const char *fmt, ...);
struct perf_event_spec *perf_spec_new(const char *name, const char *label, const char *filter,
				      const struct perf_event_attr *attr);
char *perf_spec_trim(char *text);
int perf_spec_parse(const char *text, struct list_head *specs, struct perf_spec_error *error);
void perf_spec_free(struct list_head *specs);
int perf_spec_parse_size(const char *text, unsigned long *size, struct perf_spec_error *error);
bool perf_spec_same(const struct perf_event_spec *a, const struct perf_event_spec *b);
bool perf_spec_means(const struct perf_event_spec *said, const struct perf_event_spec *spec);
void perf_spec_show(struct seq_file *m, const struct perf_event_spec *spec);

/* persistent_rights.c */
void perf_member_set_needs(struct perf_member *member);
int perf_member_may_open(struct perf_member *member);
int perf_member_may_see(struct perf_member *member);
int perf_member_may_list(struct perf_member *member);
int perf_persist_may_see(struct perf_persist_ns *ns);
int perf_persist_may_create(void);
int perf_persist_may_write(struct perf_persist_ns *ns);
int perf_persist_owner_may_write(struct perf_persist_ns *ns, struct perf_event *event);
bool perf_persist_may_spend(struct perf_persist_ns *ns);

/* persistent_buffer.c */
struct perf_buffer_set *perf_set_alloc(struct perf_buffer_set *old);
struct perf_buffer_set *perf_set_get(struct perf_buffer_set *set);
void perf_set_put(struct perf_buffer_set *set);
bool perf_set_has_room(struct perf_buffer_set *set, unsigned int max);
unsigned int perf_set_count(struct perf_buffer_set *set);
void perf_set_add(struct perf_buffer_set *set, struct perf_buffer *rb);
void perf_set_exchange(struct perf_buffer *a, struct perf_buffer *b);
void perf_set_move(struct perf_buffer_set *set, struct perf_buffer *rb);
void perf_set_mapped(struct perf_buffer *rb);
void perf_set_gone(struct perf_buffer_set *set);
void perf_set_report(struct perf_buffer_set *set, const char *name);
struct perf_member *perf_persist_buffer_owner(struct perf_persist_ns *ns, struct perf_buffer *rb);
void perf_member_set_buffer(struct perf_member *member, struct perf_buffer *rb);
void perf_member_clear_buffer(struct perf_member *member);
struct perf_member *perf_buffer_next_writer(struct perf_buffer *rb, struct perf_member *prev);
bool perf_member_buffer_needed(struct perf_member *member);
void perf_persist_set_wakeups(struct perf_member *member);
void perf_persist_opener_gone(struct perf_member *member);
struct ucounts *perf_persist_charge(struct perf_persist_ns *ns, long pages);
void perf_persist_uncharge(struct ucounts *charged, long pages);
int perf_member_charge(struct perf_member *member);
void perf_member_uncharge(struct perf_member *member);
void perf_member_settle_charge(struct perf_member *member);
struct perf_buffer *perf_persist_new_buffer(struct perf_persist_ns *ns, struct perf_event *event,
					    unsigned int nr_pages);
void perf_persist_renew_buffer(struct perf_buffer *rb);
struct perf_buffer *perf_member_map_buffer(struct perf_member *member);
void perf_persist_free_buffer(struct perf_buffer *rb);

/* persistent_make.c */
struct perf_event *perf_member_make(struct perf_event *like, const struct perf_event_attr *attr,
				    const char *filter, int cpu);
int perf_member_make_buffer(struct perf_event *event, struct perf_persist_ns *ns,
			    unsigned int nr_pages);
void perf_member_unmake(struct perf_event *event, struct perf_buffer *rb);

/* persistent_snapshot.c and persistent_spare.c */
long perf_snapshot_take(struct perf_persist_ns *ns, unsigned int trigger, unsigned int *number,
			u64 *frozen_mono);
long perf_snapshot_take_now(struct perf_persist_ns *ns);
long perf_snapshot_delete(struct perf_persist_ns *snap);
long perf_snapshot_delete_all(struct perf_persist_ns *ns);
long perf_snapshot_set_keep(struct perf_persist_ns *ns, unsigned int keep);
unsigned int perf_snapshot_nr_spares(struct perf_persist_ns *ns);
bool perf_is_snapshot_ioctl(unsigned int cmd);
long perf_snapshot_ioctl(struct perf_persist_ns *ns, unsigned int cmd, unsigned long arg);

struct perf_copy_source;

/* persistent_copy.c */
struct perf_copy_source *perf_persist_copy_source(struct perf_persist_ns *ns);
int perf_persist_copy_times(struct perf_persist_ns *ns, u64 *oldest, u64 *newest);

/* persistent_tasks.c */
struct perf_tasks *perf_tasks_get(struct perf_tasks *tasks);
void perf_tasks_put(struct perf_tasks *tasks);
const void *perf_tasks_data(const struct perf_tasks *tasks, size_t *len);
bool perf_is_tasks_ioctl(unsigned int cmd);
long perf_tasks_ioctl(struct perf_persist_ns *ns, unsigned int cmd,
		      struct perf_event_tasks __user *arg);

/* persistent_stop.c */
void perf_stop_now(struct perf_persist_ns *ns);
long perf_stop_or_resume(struct perf_persist_ns *ns, bool do_stop);

/* persistent_trigger.c */
unsigned int perf_trigger_number(struct perf_member *member);
int perf_trigger_model_cpu(struct perf_member *member, int cpu);
bool perf_trigger_covered(struct perf_persist_ns *ns, int cpu, unsigned int seq);
void perf_trigger_not_covered(struct perf_member *model, int cpu);
long perf_trigger_add(struct perf_persist_ns *ns, const struct perf_event_trigger *arg,
		      u32 *number);
long perf_trigger_add_event(struct perf_persist_ns *ns, u32 number, struct perf_event *event);
long perf_trigger_get_next(struct perf_persist_ns *ns, u32 last, struct perf_event_trigger *arg);
long perf_trigger_get_state(struct perf_persist_ns *ns, u32 number,
			    struct perf_event_trigger_state *state);
int perf_trigger_miss(struct perf_persist_ns *ns, u32 number, int cpu);
long perf_trigger_arm(struct perf_persist_ns *ns, u32 number);
long perf_trigger_delete(struct perf_persist_ns *ns, u32 number);

/* persistent_trigger_file.c */
bool perf_is_trigger_ioctl(unsigned int cmd);
bool perf_trigger_ioctl_reads(unsigned int cmd);
long perf_trigger_ioctl(struct perf_persist_ns *ns, unsigned int cmd, void __user *arg);

/* persistent_boot.c */
int perf_boot_split(char *arg, char **name, unsigned long *size, char **events,
		    struct perf_spec_error *error);
char *perf_boot_next_event(char **events);

/* persistent_info.c */
long perf_persist_get_info(struct perf_persist_ns *ns, struct perf_member *member, u64 *seen,
			   struct perf_event_persist __user *uinfo);
long perf_persist_get_member(struct perf_event *event, struct perf_member *member,
			     struct perf_event_persist_member __user *uinfo);
long perf_persist_get_next_member(struct perf_persist_ns *ns,
				  struct perf_event_persist_member __user *uinfo);

/* persistent_snapshot_file.c */
void perf_snapshot_fill_member(struct perf_event_persist_member *info,
			       struct perf_member *member);
struct file *perf_snapshot_file(struct perf_member *member, int f_flags);

/* Compare without the size of the argument, which depends on the version of the caller. */
static inline bool perf_same_ioctl(unsigned int cmd, unsigned int other)
{
	return _IOC_TYPE(cmd) == _IOC_TYPE(other) && _IOC_NR(cmd) == _IOC_NR(other);
}

static inline bool perf_is_get_persist(unsigned int cmd)
{
	return perf_same_ioctl(cmd, PERF_EVENT_IOC_GET_PERSIST);
}

static inline bool perf_is_get_member(unsigned int cmd)
{
	return perf_same_ioctl(cmd, PERF_EVENT_IOC_GET_MEMBER);
}

#endif /* _KERNEL_EVENTS_PERSISTENT_INTERNAL_H */
