// SPDX-License-Identifier: GPL-2.0
/*
 * The control files in a directory of perffs.
 *
 * read() checks the rights of the task that opened the file. write() checks those of the
 * opener and of the writer. Each line that user space writes is a command. Opening a file
 * with O_APPEND or O_TRUNC makes no difference.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/kernfs.h>
#include <linux/kstrtox.h>
#include <linux/list.h>
#include <linux/math64.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/time64.h>
#include <linux/timekeeping.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>

#include "internal.h"
#include "persistent.h"
#include "persistent_fs.h"
#include "persistent_internal.h"
#include "persistent_snapshot.h"

/* A shell writes no more than this at once. Larger writes fail. */
#define PERF_FS_WRITE_MAX	SZ_64K

/*
 * Writing
 */

typedef int (*perf_fs_change_t)(struct perf_fs_dir *dir, char *text,
				struct perf_spec_error *error);

/*
 * Both the opener of the file and the writer need the right. Otherwise an unprivileged user
 * could open the file and have a privileged program write its messages to the descriptor.
 */
static int may_change(struct kernfs_open_file *of)
{
	const struct cred *old = override_creds(of->file->f_cred);
	int ret = perf_persist_may_create();

	revert_creds(old);
	return ret ? ret : perf_persist_may_create();
}

static ssize_t change(struct kernfs_open_file *of, char *buf, size_t bytes,
		      perf_fs_change_t func)
{
	struct perf_spec_error error = { };
	const struct cred *old;
	struct perf_fs_dir *dir;
	int ret;

	ret = may_change(of);
	if (ret)
		return ret;

	dir = perf_fs_leave(of);
	/* Bytes after a NUL would be ignored: refuse them. */
	if (memchr_inv(buf + strlen(buf), 0, bytes - strlen(buf)))
		ret = perf_spec_fail(&error, -EINVAL, buf, "a NUL byte and more after it");
	if (!ret)
		ret = mutex_lock_killable(&dir->lock);
	if (!ret) {
		/* Charge the opener of the file, unless the writer lacks the right. */
		old = override_creds(perf_persist_may_spend(dir->ns) ? of->file->f_cred :
				     current_cred());
		ret = READ_ONCE(dir->ns->unlinked) ? -ENODEV :
						     func(dir, perf_spec_trim(buf), &error);
		revert_creds(old);
		mutex_unlock(&dir->lock);
	}
	if (ret)
		perf_fs_log(dir->ns->name, of->kn->name, &error, ret);
	perf_fs_enter(of, dir);
	return ret ? ret : bytes;
}

/* True until 1 is written to "enabled". Does not change under perf_fs_dir::lock. */
static bool is_new(struct perf_fs_dir *dir)
{
	return !READ_ONCE(dir->ns->published);
}

/* Stricter than kstrtobool(), which takes each word that begins with n or f for a 0. */
static int get_switch(char *text, bool *on, struct perf_spec_error *error)
{
	*on = !strcmp(text, "1");
	if (*on || !strcmp(text, "0"))
		return 0;
	return perf_spec_fail(error, -EINVAL, text, "neither 0 nor 1");
}

static int get_number(char *text, unsigned int max, unsigned int *number,
		      struct perf_spec_error *error)
{
	if (kstrtouint(text, 0, number) || *number > max)
		return perf_spec_fail(error, -EINVAL, text, "not a number from 0 to %u", max);
	return 0;
}

/*
 * Reading
 */

typedef int (*perf_fs_show_t)(struct perf_fs_dir *dir, struct seq_file *m);

static int show(struct seq_file *m, perf_fs_show_t func)
{
	struct kernfs_open_file *of = m->private;
	struct perf_fs_dir *dir = perf_fs_leave(of);
	struct perf_persist_ns *ns = dir->ns;
	const struct cred *old;
	int ret;

	old = override_creds(of->file->f_cred);
	mutex_lock(&perf_persist_lock);
	ret = perf_persist_settle_killable(ns);
	if (!ret && ns->unlinked)
		ret = -ENODEV;
	/* A new namespace has no members to check, only the settings written so far. */
	if (!ret)
		ret = perf_persist_is_reserved(ns) ? perf_persist_may_create() :
						     perf_persist_may_see(ns);
	mutex_unlock(&perf_persist_lock);

	if (!ret)
		ret = func(dir, m);
	revert_creds(old);
	perf_fs_enter(of, dir);
	return ret;
}

/*
 * events
 */

typedef bool (*perf_spec_match_t)(const struct perf_event_spec *said,
				  const struct perf_event_spec *spec);

static void take_away(struct list_head *specs, struct list_head *unwanted,
		      struct list_head *removed, perf_spec_match_t match)
{
	struct perf_event_spec *spec, *next, *said;

	list_for_each_entry_safe(spec, next, specs, entry) {
		list_for_each_entry(said, unwanted, entry) {
			if (match(said, spec)) {
				list_move(&spec->entry, removed);
				break;
			}
		}
	}
}

/* Remove the event that is shown as @line. Its tracepoint or PMU may be gone meanwhile. */
static int remove_shown(struct list_head *specs, const char *line)
{
	size_t size = strlen(line) + 2; /* seq_file needs one byte more than it writes */
	struct perf_event_spec *spec;
	LIST_HEAD(removed);
	char *shown;

	shown = kvmalloc(size, GFP_KERNEL);
	if (!shown)
		return -ENOMEM;
	list_for_each_entry(spec, specs, entry) {
		struct seq_file m = { .buf = shown, .size = size };

		perf_spec_show(&m, spec);
		if (m.count == size - 2 && !memcmp(shown, line, m.count)) {
			list_move(&spec->entry, &removed);
			break;
		}
	}
	kvfree(shown);
	if (list_empty(&removed))
		return -ENOENT;
	perf_spec_free(&removed);
	return 0;
}

/*
 * A line that was read from this file removes exactly that event, and no event that has
 * another name. If a line without a name= matches no event exactly, it removes those that
 * differ in their name only.
 */
static int remove_events(struct list_head *specs, const char *line, struct perf_spec_error *error)
{
	LIST_HEAD(unwanted);
	LIST_HEAD(removed);
	int ret;

	ret = remove_shown(specs, line);
	if (ret != -ENOENT)
		return ret;
	ret = perf_spec_parse(line, &unwanted, error);
	if (ret)
		return ret;
	take_away(specs, &unwanted, &removed, perf_spec_same);
	if (list_empty(&removed))
		take_away(specs, &unwanted, &removed, perf_spec_means);
	if (list_empty(&removed))
		ret = perf_spec_fail(error, -ENOENT, line, "the namespace has no such event");
	perf_spec_free(&unwanted);
	perf_spec_free(&removed);
	return ret;
}

static int add_events(struct list_head *specs, const char *line, struct perf_spec_error *error)
{
	struct perf_event_spec *spec, *other;
	LIST_HEAD(added);
	int ret;

	ret = perf_spec_parse(line, &added, error);
	if (ret)
		return ret;
	if (list_count_nodes(&added) + list_count_nodes(specs) > PERF_SPECS_MAX)
		ret = perf_spec_fail(error, -E2BIG, line,
				     "the namespace would have more than %d events",
				     PERF_SPECS_MAX);
	list_for_each_entry(spec, &added, entry) {
		list_for_each_entry(other, specs, entry) {
			if (!ret && perf_spec_same(spec, other))
				ret = perf_spec_fail(error, -EEXIST, spec->name,
						     "the namespace has this event already");
		}
	}
	if (ret)
		perf_spec_free(&added);
	else
		list_splice_tail(&added, specs);
	return ret;
}

static int copy_specs(struct list_head *specs, struct list_head *copies)
{
	struct perf_event_spec *spec, *copy;

	list_for_each_entry(spec, specs, entry) {
		copy = perf_spec_new(spec->name, spec->label, spec->filter, &spec->attr);
		if (!copy) {
			perf_spec_free(copies);
			return -ENOMEM;
		}
		list_add_tail(&copy->entry, copies);
	}
	return 0;
}

/* If a line is wrong, no line takes effect, and the user can write all of them again. */
static int change_events(struct perf_fs_dir *dir, char *text, struct perf_spec_error *error)
{
	LIST_HEAD(specs);
	char *line;
	int ret;

	if (!is_new(dir))
		return perf_spec_fail(error, -EBUSY, dir->ns->name,
				      "already started: cannot change events, mkdir another one");
	ret = copy_specs(&dir->specs, &specs);
	while (!ret && (line = strsep(&text, "\n"))) {
		cond_resched();
		line = perf_spec_trim(line);
		/* Events that the syntax cannot express are shown as a comment. */
		if (*line == '#')
			continue;
		if (fatal_signal_pending(current))
			ret = -EINTR;
		else if (*line == '!')
			ret = remove_events(&specs, perf_spec_trim(line + 1), error);
		else if (*line)
			ret = add_events(&specs, line, error);
	}
	if (ret) {
		perf_spec_free(&specs);
		return ret;
	}
	perf_spec_free(&dir->specs);
	list_splice_tail(&specs, &dir->specs);
	return 0;
}

static ssize_t events_write(struct kernfs_open_file *of, char *buf, size_t bytes, loff_t off)
{
	return change(of, buf, bytes, change_events);
}

static bool is_listed(struct perf_member *member, int cpu)
{
	return member->event->cpu == cpu && !member->for_trigger && !perf_member_is_tasks(member);
}

/**
 * struct shown_event - an event that is about to be shown
 * @id:		its id; the search for the next event continues from here
 * @attr:	its attributes
 * @event:	the event, which the caller has open; NULL for an event of a snapshot
 * @name:	name of the tracepoint, or of the PMU
 * @label:	name that the user gave it, or empty
 */
struct shown_event {
	u64			id;
	struct perf_event_attr	attr;
	struct perf_event	*event;
	char			name[128];
	char			label[PERF_PERSIST_NAME_SIZE];
};

/* Get the event after @shown->id on the first CPU; -ENOENT after the last one. */
static int next_event(struct perf_persist_ns *ns, struct shown_event *shown)
{
	struct perf_member *member, *first;
	int ret;

	guard(mutex)(&perf_persist_lock);
	ret = perf_persist_settle_killable(ns);
	if (ret)
		return ret;
	/* A namespace that is not published has no events, or its start may still undo them. */
	first = ns->unlinked || !ns->published ? NULL : first_ordinary_member(ns);
	if (!first)
		return -ENOENT;
	member = perf_persist_next_member(ns, shown->id);
	while (member && !is_listed(member, first->event->cpu))
		member = following_member(member);
	if (!member)
		return -ENOENT;
	/* The namespace may have been published after show() checked the rights. */
	ret = perf_member_may_list(member);
	if (ret)
		return ret;

	shown->id = member->event->id;
	perf_member_copy_attr(&shown->attr, member);
	perf_member_name(member, shown->name, sizeof(shown->name));
	strscpy(shown->label, member->label ?: "");
	shown->event = is_snapshot(ns) ? NULL : member->event;
	if (shown->event)
		refcount_inc(&member->openers); /* The namespace is still an opener. */
	return 0;
}

/* Copy the filter of an event, and close the event for the caller. */
static char *take_filter(struct perf_event *event)
{
	char *copy = perf_member_copy_filter(event->member);

	perf_persist_put_opener(event);
	return copy;
}

static int show_event(struct shown_event *shown, struct seq_file *m)
{
	struct perf_event_spec *spec;
	char *filter = NULL;
	LIST_HEAD(specs);

	if (shown->event)
		filter = take_filter(shown->event);
	if (IS_ERR(filter))
		return PTR_ERR(filter);
	spec = perf_spec_new(shown->name, *shown->label ? shown->label : NULL, filter,
			     &shown->attr);
	kfree(filter);
	if (!spec)
		return -ENOMEM;

	perf_spec_show(m, spec);
	seq_putc(m, '\n');
	list_add(&spec->entry, &specs);
	perf_spec_free(&specs);
	return 0;
}

static int show_members(struct perf_fs_dir *dir, struct seq_file *m)
{
	struct shown_event *shown;
	int ret;

	shown = kzalloc(sizeof(*shown), GFP_KERNEL);
	if (!shown)
		return -ENOMEM;
	do {
		ret = fatal_signal_pending(current) ? -EINTR : next_event(dir->ns, shown);
		if (!ret)
			ret = show_event(shown, m);
		cond_resched();
		/* seq_file starts again with a buffer twice as large. */
	} while (!ret && !seq_has_overflowed(m));
	kfree(shown);
	return ret == -ENOENT ? 0 : ret;
}

static int show_events(struct perf_fs_dir *dir, struct seq_file *m)
{
	struct perf_event_spec *spec;
	int ret;

	ret = mutex_lock_killable(&dir->lock);
	if (ret)
		return ret;
	list_for_each_entry(spec, &dir->specs, entry) {
		perf_spec_show(m, spec);
		seq_putc(m, '\n');
	}
	mutex_unlock(&dir->lock);
	return show_members(dir, m);
}

static int events_show(struct seq_file *m, void *v)
{
	return show(m, show_events);
}

/*
 * buffer_size
 */

static int change_size(struct perf_fs_dir *dir, char *text, struct perf_spec_error *error)
{
	unsigned long size;
	int ret;

	ret = perf_spec_parse_size(text, &size, error);
	if (ret)
		return ret;
	if (!is_new(dir))
		return perf_spec_fail(error, -EBUSY, text,
				      "already started: cannot change the size, mkdir another one");
	WRITE_ONCE(dir->size, size);
	return 0;
}

static ssize_t size_write(struct kernfs_open_file *of, char *buf, size_t bytes, loff_t off)
{
	return change(of, buf, bytes, change_size);
}

static int show_size(struct perf_fs_dir *dir, struct seq_file *m)
{
	struct perf_member *member;
	unsigned long size = 0;
	int ret;

	mutex_lock(&perf_persist_lock);
	ret = perf_persist_settle_killable(dir->ns);
	if (ret) {
		mutex_unlock(&perf_persist_lock);
		return ret;
	}
	if (is_new(dir)) {
		size = READ_ONCE(dir->size);
	} else {
		member = first_ordinary_member(dir->ns);
		if (member && member->rb)
			size = perf_data_size(member->rb);
	}
	mutex_unlock(&perf_persist_lock);
	seq_printf(m, "%lu\n", size);
	return 0;
}

static int size_show(struct seq_file *m, void *v)
{
	return show(m, show_size);
}

/*
 * enabled
 */

/* The task that enables a namespace first becomes its owner, and pays for its memory. */
static int start(struct perf_fs_dir *dir, struct perf_spec_error *error)
{
	int ret = perf_persist_start(dir->ns, &dir->specs, dir->size, true, error);

	/* The members show them from now on, even if enabling them failed. */
	if (!is_new(dir))
		perf_spec_free(&dir->specs);
	return ret;
}

static int change_enabled(struct perf_fs_dir *dir, char *text, struct perf_spec_error *error)
{
	bool enable;
	int ret;

	ret = get_switch(text, &enable, error);
	if (ret)
		return ret;
	if (!is_new(dir))
		return perf_persist_enable(dir->ns, enable);
	return enable ? start(dir, error) : 0;
}

static ssize_t enabled_write(struct kernfs_open_file *of, char *buf, size_t bytes, loff_t off)
{
	return change(of, buf, bytes, change_enabled);
}

/* Like in ftrace, X means that only some of the events are enabled. */
static char enabled_char(struct perf_persist_ns *ns)
{
	struct perf_member *member;
	int nr_on = 0, nr_off = 0;

	assert_registry();
	for_each_ns_member(member, ns) {
		if (member->for_trigger)
			continue;
		if (perf_member_is_enabled(member))
			nr_on++;
		else
			nr_off++;
	}
	return !nr_on ? '0' : nr_off ? 'X' : '1';
}

static int show_enabled(struct perf_fs_dir *dir, struct seq_file *m)
{
	guard(mutex)(&perf_persist_lock);
	seq_printf(m, "%c\n", enabled_char(dir->ns));
	return 0;
}

static int enabled_show(struct seq_file *m, void *v)
{
	return show(m, show_enabled);
}

/*
 * stopped
 */

static int change_stopped(struct perf_fs_dir *dir, char *text, struct perf_spec_error *error)
{
	bool stop;
	int ret;

	ret = get_switch(text, &stop, error);
	if (ret)
		return ret;
	if (is_new(dir))
		return perf_spec_fail(error, -EBUSY, text, "write 1 to 'enabled' first");
	return perf_stop_or_resume(dir->ns, stop);
}

static ssize_t stopped_write(struct kernfs_open_file *of, char *buf, size_t bytes, loff_t off)
{
	return change(of, buf, bytes, change_stopped);
}

static int show_stopped(struct perf_fs_dir *dir, struct seq_file *m)
{
	seq_printf(m, "%d\n", READ_ONCE(dir->ns->stopped));
	return 0;
}

static int stopped_show(struct seq_file *m, void *v)
{
	return show(m, show_stopped);
}

/*
 * snapshot, keep and spares
 */

static int change_snapshot(struct perf_fs_dir *dir, char *text, struct perf_spec_error *error)
{
	bool take;
	int ret;

	ret = get_switch(text, &take, error);
	if (ret)
		return ret;
	if (is_new(dir))
		return perf_spec_fail(error, -EBUSY, text, "write 1 to 'enabled' first");
	ret = take ? perf_snapshot_take_now(dir->ns) : perf_snapshot_delete_all(dir->ns);
	if (ret == -EBUSY)
		perf_spec_fail(error, ret, text,
			       "readers still map deleted snapshots, or have them open: see dmesg");
	return ret;
}

static ssize_t snapshot_write(struct kernfs_open_file *of, char *buf, size_t bytes, loff_t off)
{
	return change(of, buf, bytes, change_snapshot);
}

static int show_snapshot(struct perf_fs_dir *dir, struct seq_file *m)
{
	struct perf_persist_ns *ns = dir->ns;

	guard(mutex)(&perf_persist_lock);
	if (!list_empty(&ns->snapshots))
		seq_printf(m, "%s\n", list_last_entry(&ns->snapshots, struct perf_persist_ns,
						      entry)->name);
	return 0;
}

static int snapshot_show(struct seq_file *m, void *v)
{
	return show(m, show_snapshot);
}

static int change_keep(struct perf_fs_dir *dir, char *text, struct perf_spec_error *error)
{
	unsigned int keep;
	int ret;

	ret = get_number(text, PERF_PERSIST_KEEP_MAX, &keep, error);
	if (!ret && !keep)
		ret = perf_spec_fail(error, -EINVAL, text, "must be at least 1");
	return ret ? ret : perf_snapshot_set_keep(dir->ns, keep);
}

static ssize_t keep_write(struct kernfs_open_file *of, char *buf, size_t bytes, loff_t off)
{
	return change(of, buf, bytes, change_keep);
}

static int show_keep(struct perf_fs_dir *dir, struct seq_file *m)
{
	seq_printf(m, "%u\n", READ_ONCE(dir->ns->keep));
	return 0;
}

static int keep_show(struct seq_file *m, void *v)
{
	return show(m, show_keep);
}

static int change_spares(struct perf_fs_dir *dir, char *text, struct perf_spec_error *error)
{
	unsigned int nr;
	int ret;

	ret = get_number(text, PERF_PERSIST_SPARES_MAX, &nr, error);
	if (!ret && is_new(dir))
		ret = perf_spec_fail(error, -EBUSY, text, "write 1 to 'enabled' first");
	return ret ? ret : perf_snapshot_set_spares(dir->ns, nr);
}

static ssize_t spares_write(struct kernfs_open_file *of, char *buf, size_t bytes, loff_t off)
{
	return change(of, buf, bytes, change_spares);
}

static int show_spares(struct perf_fs_dir *dir, struct seq_file *m)
{
	seq_printf(m, "%u\n", READ_ONCE(dir->ns->want_spares));
	return 0;
}

static int spares_show(struct seq_file *m, void *v)
{
	return show(m, show_spares);
}

/*
 * triggers, see persistent_fs_trigger.c
 */

static int change_triggers(struct perf_fs_dir *dir, char *text, struct perf_spec_error *error)
{
	if (is_new(dir))
		return perf_spec_fail(error, -EBUSY, text, "write 1 to 'enabled' first");
	return perf_fs_change_triggers(dir, text, error);
}

static ssize_t triggers_write(struct kernfs_open_file *of, char *buf, size_t bytes, loff_t off)
{
	return change(of, buf, bytes, change_triggers);
}

static int triggers_show(struct seq_file *m, void *v)
{
	return show(m, perf_fs_show_triggers);
}

/*
 * status
 */

static void show_live_status(struct perf_persist_ns *ns, struct seq_file *m)
{
	u64 size = 0, overwritten = 0, lost = 0, missed = 0;
	struct perf_member *member;

	assert_registry();
	for_each_ns_member(member, ns) {
		u64 missing = perf_member_missed(member), written;

		missed += missing;
		lost += perf_member_lost(member, missing);
		if (!member->rb)
			continue;
		/* The head of a backward buffer counts down. */
		written = -(unsigned long)local_read(&member->rb->head);
		size += perf_data_size(member->rb);
		if (written > perf_data_size(member->rb))
			overwritten += written - perf_data_size(member->rb);
	}
	seq_printf(m, "lost: %llu records\n", lost);
	seq_printf(m, "missed: %llu records while stopped\n", missed);
	seq_printf(m, "buffers: %llu bytes\n", size);
	/* A head of 32 bits wraps, which nobody counts. */
	if (IS_ENABLED(CONFIG_64BIT))
		seq_printf(m, "overwritten: %llu bytes\n", overwritten);
	seq_printf(m, "snapshots: %u of %u\n", ns->nr_snapshots, ns->keep);
	seq_printf(m, "spares: %u of %u\n", perf_snapshot_nr_spares(ns), ns->want_spares);
}

static const char *ns_state(struct perf_persist_ns *ns)
{
	if (is_snapshot(ns))
		return "snapshot";
	if (!ns->published)
		return "new";
	if (READ_ONCE(ns->stopped))
		return "stopped";
	switch (enabled_char(ns)) {
	case '0':
		return "disabled";
	case '1':
		return "enabled";
	default:
		return "partly enabled";
	}
}

static int show_status(struct perf_fs_dir *dir, struct seq_file *m)
{
	struct perf_persist_ns *ns = dir->ns;
	int ret;

	guard(mutex)(&perf_persist_lock);
	ret = perf_persist_settle_killable(ns);
	if (ret)
		return ret;
	seq_printf(m, "state: %s\n", ns_state(ns));
	seq_printf(m, "id: 0x%llx\n", ns->id);
	seq_puts(m, "owner: ");
	/* A task chooses its own name: escape it. */
	seq_escape(m, ns->owner_comm, "\n\\");
	seq_printf(m, "\nowner_uid: %u\n", from_kuid_munged(seq_user_ns(m), ns->cred->uid));
	if (*ns->note)
		seq_printf(m, "note: %s\n", ns->note);
	seq_printf(m, "age: %llu seconds\n",
		   div_u64(ktime_get_boottime_ns() - ns->created_ns, NSEC_PER_SEC));
	seq_printf(m, "members: %u\n", perf_persist_count_members(ns));
	if (!is_snapshot(ns))
		show_live_status(ns, m);
	return 0;
}

static int status_show(struct seq_file *m, void *v)
{
	return show(m, show_status);
}

/*
 * times
 */

/* In the format of "text" */
static void show_time(struct seq_file *m, const char *key, u64 time)
{
	u64 seconds;
	u32 ns;

	seconds = div_u64_rem(time, NSEC_PER_SEC, &ns);
	seq_printf(m, "%s: %llu.%06lu\n", key, seconds, ns / NSEC_PER_USEC);
}

static int show_times(struct perf_fs_dir *dir, struct seq_file *m)
{
	u64 oldest, newest;
	int ret;

	ret = perf_persist_copy_times(dir->ns, &oldest, &newest);
	if (!ret && newest) {
		show_time(m, "oldest", oldest);
		show_time(m, "newest", newest);
	}
	return ret;
}

static int times_show(struct seq_file *m, void *v)
{
	return show(m, show_times);
}

/* Files of each directory, in the order of the README */
const struct perf_fs_file perf_fs_files[] = {
	{
		.name	= "events",
		.ops	= {
			.seq_show		= events_show,
			.write			= events_write,
			.atomic_write_len	= PERF_FS_WRITE_MAX,
		},
	}, {
		.name	= "buffer_size",
		.live	= true,
		.ops	= {
			.seq_show		= size_show,
			.write			= size_write,
			.atomic_write_len	= PERF_FS_WRITE_MAX,
		},
	}, {
		.name	= "enabled",
		.live	= true,
		.ops	= {
			.seq_show		= enabled_show,
			.write			= enabled_write,
			.atomic_write_len	= PERF_FS_WRITE_MAX,
		},
	}, {
		.name	= "stopped",
		.live	= true,
		.ops	= {
			.seq_show		= stopped_show,
			.write			= stopped_write,
			.atomic_write_len	= PERF_FS_WRITE_MAX,
		},
	}, {
		.name	= "snapshot",
		.live	= true,
		.ops	= {
			.seq_show		= snapshot_show,
			.write			= snapshot_write,
			.atomic_write_len	= PERF_FS_WRITE_MAX,
		},
	}, {
		.name	= "keep",
		.live	= true,
		.ops	= {
			.seq_show		= keep_show,
			.write			= keep_write,
			.atomic_write_len	= PERF_FS_WRITE_MAX,
		},
	}, {
		.name	= "spares",
		.live	= true,
		.ops	= {
			.seq_show		= spares_show,
			.write			= spares_write,
			.atomic_write_len	= PERF_FS_WRITE_MAX,
		},
	}, {
		.name	= "triggers",
		.live	= true,
		.ops	= {
			.seq_show		= triggers_show,
			.write			= triggers_write,
			.atomic_write_len	= PERF_FS_WRITE_MAX,
		},
	}, {
		.name	= "status",
		.ops	= {
			.seq_show		= status_show,
			.poll			= kernfs_generic_poll,
		},
	}, {
		.name	= "times",
		.ops	= {
			.seq_show		= times_show,
		},
	},
	{ }
};
