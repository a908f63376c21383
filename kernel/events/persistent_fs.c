// SPDX-License-Identifier: GPL-2.0
/*
 * perffs: a file system for systems without the perf tool. It has a directory for each
 * namespace of persistent events, also for those that perf_event_open() made.
 *
 * There is one tree, however often it is mounted. mkdir makes a namespace that has nothing
 * but a name, and rmdir deletes a namespace. persistent_fs_file.c has the control files, and
 * persistent_fs_data.c has the files that show the records.
 *
 * kernfs_remove() waits until no call is active in a file of the directory. So a file
 * operation must not wait for a task that may be removing the directory. Before it waits, it
 * calls perf_fs_leave(), which gives up the active reference and keeps the directory's data.
 */
#include <linux/capability.h>
#include <linux/cpumask.h>
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/fs_context.h>
#include <linux/fs_parser.h>
#include <linux/init.h>
#include <linux/kernfs.h>
#include <linux/kobject.h>
#include <linux/list.h>
#include <linux/magic.h>
#include <linux/math64.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/sched/clock.h>
#include <linux/seq_file.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/stat.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <linux/time64.h>
#include <linux/uidgid.h>
#include <linux/workqueue.h>

#include "persistent_fs.h"
#include "persistent_internal.h"

/*
 * Held while directories are added and removed. Lock order: perf_fs_dir::lock and the lock
 * for files in sysfs, then this lock, then perf_persist_lock. The holder may wait for active
 * file operations, so a file operation must not take it.
 */
static DEFINE_MUTEX(perf_fs_lock); /* protects the tree */
static struct kernfs_root *perf_fs_root;
static LIST_HEAD(perf_fs_dirs);

/* Owner and mode of all files and directories of the tree; under perf_fs_lock */
struct perf_fs_owner {
	kuid_t	uid;
	kgid_t	gid;
	umode_t	mode;
};

static const struct perf_fs_owner perf_fs_default = {
	.uid	= KUIDT_INIT(0),
	.gid	= KGIDT_INIT(0),
	.mode	= 0700,
};

static struct perf_fs_owner perf_fs_owner; /* to read it, perf_fs_owner_lock is enough */
static DEFINE_SPINLOCK(perf_fs_owner_lock);

/* Buffer size of a new namespace, unless user space writes to buffer_size */
#define PERF_FS_SIZE	SZ_512K

/*
 * error_log
 */

#define PERF_FS_ERRORS	8

static struct perf_fs_error {
	u64			when;
	char			where[PERF_PERSIST_NAME_SIZE + 32];
	struct perf_spec_error	what;
} perf_fs_errors[PERF_FS_ERRORS];
static unsigned int perf_fs_nr_errors;
static DEFINE_SPINLOCK(perf_fs_error_lock);

/**
 * perf_fs_log - add an error to error_log
 * @where:	name of the directory, or empty
 * @file:	name of the file that was written to, or of the operation
 * @error:	what is wrong; it may have no text
 * @ret:	the errno
 */
void perf_fs_log(const char *where, const char *file, const struct perf_spec_error *error, int ret)
{
	struct perf_fs_error *entry;

	if (ret == -EINTR)
		return;

	spin_lock_irq(&perf_fs_error_lock);
	entry = &perf_fs_errors[perf_fs_nr_errors++ % PERF_FS_ERRORS];
	entry->when = local_clock();
	entry->what = *error;
	/* A shell says no more than "write error". */
	if (!error->text[0])
		snprintf(entry->what.text, sizeof(entry->what.text), "failed with %pe",
			 ERR_PTR(ret));
	snprintf(entry->where, sizeof(entry->where), "%.*s%s%s", PERF_PERSIST_NAME_SIZE, where,
		 *where ? "/" : "", file);
	spin_unlock_irq(&perf_fs_error_lock);
}

static int error_log_show(struct seq_file *m, void *v)
{
	struct kernfs_open_file *of = m->private;
	struct perf_fs_error *entry;
	const struct cred *old;
	unsigned int i, nr;
	int ret;

	/* The log may show events and filters of other users. */
	old = override_creds(of->file->f_cred);
	ret = perf_persist_may_create();
	revert_creds(old);
	if (ret)
		return ret;

	spin_lock_irq(&perf_fs_error_lock);
	nr = perf_fs_nr_errors;
	for (i = nr > PERF_FS_ERRORS ? nr - PERF_FS_ERRORS : 0; i < nr; i++) {
		u64 seconds;
		u32 ns;

		entry = &perf_fs_errors[i % PERF_FS_ERRORS];
		seconds = div_u64_rem(entry->when, NSEC_PER_SEC, &ns);
		seq_printf(m, "[%5llu.%06lu] %s: %s\n", seconds, ns / NSEC_PER_USEC,
			   entry->where, entry->what.text);
	}
	spin_unlock_irq(&perf_fs_error_lock);
	return 0;
}

static const char readme[] =
	"Perf events that the kernel keeps without a process: a directory for each namespace.\n"
	"\n"
	"  mkdir NAME           create a namespace. To record, add events and write 1 to enabled\n"
	"  rmdir NAME           delete it; its events stop at once\n"
	"  error_log            the last failed commands, and what was wrong with them\n"
	"\n"
	"NAME/events            add an event:    echo EVENT > events\n"
	"                       remove one:      echo '!EVENT' > events\n"
	"                       EVENT is SYSTEM:EVENT, where * matches any text; or cpu-clock,\n"
	"                       cycles, page-faults, ...; or PMU/config=N,config1=N/\n"
	"                       Terms, as in cpu-clock/freq=99,callchain/: period=N, freq=N,\n"
	"                       callchain, name=TEXT. After a tracepoint: if FILTER\n"
	"NAME/buffer_size       bytes of the buffer of each CPU, or a number with K, M or G\n"
	"NAME/enabled           1: enable the events. 0: disable them. Shows X if only some are\n"
	"                       enabled. The first 1 creates the events; after that, events\n"
	"                       and buffer_size cannot be changed\n"
	"NAME/stopped           1: freeze the buffers, as a trigger with stop does. 0: record\n"
	"                       again, and overwrite what they hold: take a snapshot before\n"
	"NAME/snapshot          1: move the records to a snapshot, NAME.1 and so on; go on\n"
	"                       recording. 0: delete all snapshots. Shows the last one's name\n"
	"NAME/keep              maximum number of snapshots; the oldest are deleted\n"
	"NAME/spares            allocate the buffers of this many snapshots in advance\n"
	"NAME/triggers          EVENT [if FILTER] : stop|snapshot [after=200ms] [cool_down=1m]\n"
	"                       [times=N]; EVENT can also be panic, oops or softlockup.\n"
	"                       !LINE removes LINE\n"
	"NAME/status            state, number of lost records, ...; poll() reports changes\n"
	"NAME/times             when the oldest and the newest sample was taken\n"
	"NAME/text              the records as text, one per line, the oldest first\n"
	"NAME/data              the records for perf, on any machine: cat data >perf.data\n"
	"NAME/per_cpu/cpuN/     text and data of one CPU\n"
	"\n"
	"While a namespace records, the CPUs are copied one after the other. A snapshot shows\n"
	"all CPUs at the same moment. It has a directory of its own: rmdir NAME.1 deletes it.\n";

static int readme_show(struct seq_file *m, void *v)
{
	seq_puts(m, readme);
	return 0;
}

static const struct perf_fs_file perf_fs_root_files[] = {
	{ .name = "README", .ops = { .seq_show = readme_show } },
	{ .name = "error_log", .ops = { .seq_show = error_log_show } },
	{ }
};

/*
 * Directories
 */

static void put_dir(struct perf_fs_dir *dir)
{
	if (!refcount_dec_and_test(&dir->refs))
		return;
	perf_spec_free(&dir->specs);
	perf_persist_put(dir->ns);
	kfree(dir);
}

/* Give up the caller's active reference on @kn, so that the directory can be removed. */
static struct perf_fs_dir *leave_node(struct kernfs_node *kn, struct perf_fs_dir *dir)
{
	refcount_inc(&dir->refs); /* The tree still has its reference. */
	kernfs_break_active_protection(kn);
	return dir;
}

static void enter_node(struct kernfs_node *kn, struct perf_fs_dir *dir)
{
	kernfs_unbreak_active_protection(kn);
	put_dir(dir);
}

/**
 * perf_fs_leave - leave a file operation, so that a removal does not wait for the caller
 * @of:		the file, on which the caller has an active reference
 *
 * Return: the directory of the file, with a reference for perf_fs_enter().
 */
struct perf_fs_dir *perf_fs_leave(struct kernfs_open_file *of)
{
	struct kernfs_node *parent = kernfs_get_parent(of->kn);
	struct perf_fs_dir *dir = leave_node(of->kn, parent->priv);

	kernfs_put(parent);
	return dir;
}

/**
 * perf_fs_enter - undo perf_fs_leave()
 * @of:		the file
 * @dir:	the directory that perf_fs_leave() returned
 */
void perf_fs_enter(struct kernfs_open_file *of, struct perf_fs_dir *dir)
{
	enter_node(of->kn, dir);
}

/* A snapshot cannot be changed: its files are read-only. */
static umode_t file_mode(const struct perf_fs_file *file, bool live)
{
	umode_t mode = 0;

	if (file->ops.seq_show || file->ops.read)
		mode |= 0444;
	if (file->ops.write && live)
		mode |= 0222;
	return S_IFREG | (mode & perf_fs_owner.mode);
}

static int add_files(struct kernfs_node *dir, const struct perf_fs_file *files, bool live,
		     void *priv)
{
	/* Has lockdep check that no file operation waits for who removes the file. */
	static struct lock_class_key key;
	const struct perf_fs_file *file;
	struct kernfs_node *kn;

	lockdep_assert_held(&perf_fs_lock);
	for (file = files; file->name; file++) {
		if (file->live && !live)
			continue;
		kn = __kernfs_create_file(dir, file->name, file_mode(file, live),
					  perf_fs_owner.uid, perf_fs_owner.gid, 0, &file->ops,
					  priv, NULL, &key);
		if (IS_ERR(kn))
			return PTR_ERR(kn);
	}
	return 0;
}

static struct kernfs_node *create_dir(struct kernfs_node *parent, const char *name,
				      struct perf_fs_dir *dir)
{
	return kernfs_create_dir_ns(parent, name, S_IFDIR | perf_fs_owner.mode,
				    perf_fs_owner.uid, perf_fs_owner.gid, dir, NULL);
}

/* "cpuN" in the directory "per_cpu" */
#define PERF_FS_CPU_NAME	16

static struct kernfs_node *find_cpu(struct kernfs_node *all, int cpu)
{
	char name[PERF_FS_CPU_NAME];

	snprintf(name, sizeof(name), "cpu%d", cpu);
	return kernfs_find_and_get(all, name);
}

static int add_cpu_dir(struct perf_fs_dir *dir, struct kernfs_node *all, int cpu)
{
	char name[PERF_FS_CPU_NAME];
	struct kernfs_node *kn;
	int ret;

	snprintf(name, sizeof(name), "cpu%d", cpu);
	/* The node needs @dir as well: perf_fs_leave() gets it from the parent of a file. */
	kn = create_dir(all, name, dir);
	if (IS_ERR(kn))
		return PTR_ERR(kn);
	ret = add_files(kn, perf_fs_data_files, false, perf_fs_cpu_to_priv(cpu));
	if (ret)
		kernfs_remove(kn);
	return ret;
}

/* Find the CPUs on which @ns has events whose records can be read. */
static void find_cpus(struct perf_persist_ns *ns, struct cpumask *cpus)
{
	struct perf_member *member;

	guard(mutex)(&perf_persist_lock);
	for_each_ns_member(member, ns) {
		int cpu = READ_ONCE(member->event->cpu);

		if (cpu >= 0 && (member->kept || !member->for_trigger))
			cpumask_set_cpu(cpu, cpus);
	}
}

/* Add missing directories of CPUs. They stay as long as the directory of the namespace. */
static int add_cpus(struct perf_fs_dir *dir)
{
	struct kernfs_node *all, *kn;
	cpumask_var_t cpus;
	int cpu, ret = 0;

	lockdep_assert_held(&perf_fs_lock);
	if (!zalloc_cpumask_var(&cpus, GFP_KERNEL))
		return -ENOMEM;
	find_cpus(dir->ns, cpus);

	all = kernfs_find_and_get(dir->kn, "per_cpu");
	if (!all && !cpumask_empty(cpus)) {
		all = create_dir(dir->kn, "per_cpu", dir);
		if (IS_ERR(all)) {
			free_cpumask_var(cpus);
			return PTR_ERR(all);
		}
		kernfs_get(all);
	}
	for_each_cpu(cpu, cpus) {
		kn = find_cpu(all, cpu);
		if (!kn)
			ret = add_cpu_dir(dir, all, cpu);
		kernfs_put(kn);
		if (ret)
			break;
	}
	kernfs_put(all);
	free_cpumask_var(cpus);
	return ret;
}

static struct perf_fs_dir *alloc_dir(struct perf_persist_ns *ns)
{
	struct perf_fs_dir *dir;

	dir = kzalloc(sizeof(*dir), GFP_KERNEL_ACCOUNT);
	if (!dir)
		return NULL;
	refcount_set(&dir->refs, 1);
	INIT_LIST_HEAD(&dir->entry);
	INIT_LIST_HEAD(&dir->specs);
	mutex_init(&dir->lock);
	dir->size = PERF_FS_SIZE;
	dir->ns = get_persist_ns(ns);
	return dir;
}

/* Set the directory of @ns, unless @ns was deleted meanwhile. */
static bool show_dir(struct perf_fs_dir *dir, struct perf_persist_ns *ns)
{
	guard(mutex)(&perf_persist_lock);
	if (ns->unlinked)
		return false;
	ns->dir = dir;
	return true;
}

static int add_dir(struct perf_persist_ns *ns)
{
	struct perf_fs_dir *dir;
	int ret;

	guard(mutex)(&perf_fs_lock);
	/* perf_fs_lock is enough to read ns->dir: all writers hold it, too. */
	if (ns->dir) {
		ret = add_cpus(ns->dir);
		kernfs_activate(ns->dir->kn);
		return ret;
	}

	dir = alloc_dir(ns);
	if (!dir)
		return -ENOMEM;
	dir->kn = create_dir(kernfs_root_to_node(perf_fs_root), ns->name, dir);
	if (IS_ERR(dir->kn)) {
		ret = PTR_ERR(dir->kn);
		put_dir(dir);
		return ret;
	}

	ret = add_files(dir->kn, perf_fs_files, !is_snapshot(ns), NULL);
	if (!ret)
		ret = add_files(dir->kn, perf_fs_data_files, false, NULL);
	if (!ret) {
		dir->status = kernfs_find_and_get(dir->kn, "status");
		/* First: ns_covered() tells of CPUs that add_cpus() does not find yet. */
		ret = show_dir(dir, ns) ? add_cpus(dir) : -ENODEV;
	}
	if (ret) {
		scoped_guard(mutex, &perf_persist_lock)
			ns->dir = NULL;
		kernfs_put(dir->status);
		kernfs_remove(dir->kn);
		put_dir(dir);
		return ret;
	}
	list_add_tail(&dir->entry, &perf_fs_dirs);
	kernfs_activate(dir->kn);
	return 0;
}

static int ns_appeared(struct perf_persist_ns *ns)
{
	int ret = perf_fs_root ? add_dir(ns) : 0;

	/* The namespace was deleted meanwhile. */
	if (ret == -ENODEV)
		ret = 0;
	if (ret)
		pr_notice_ratelimited("perf: persistent/%s/: cannot create all directories in perffs: %pe\n",
				      ns->name, ERR_PTR(ret));
	return ret;
}

static void ns_vanished(struct perf_persist_ns *ns)
{
	struct perf_fs_dir *dir;

	guard(mutex)(&perf_fs_lock);
	mutex_lock(&perf_persist_lock);
	dir = ns->dir;
	ns->dir = NULL;
	mutex_unlock(&perf_persist_lock);
	if (!dir)
		return;

	list_del(&dir->entry);
	kernfs_put(dir->status);
	/* Waits for all active file operations. */
	kernfs_remove(dir->kn);
	put_dir(dir);
}

static void ns_changed(struct perf_persist_ns *ns)
{
	assert_registry();
	if (ns->dir)
		kernfs_notify(ns->dir->status);
}

/* A worker adds these directories, as CPU hotplug runs under locks that forbid it. */
static void add_covered(struct work_struct *work)
{
	struct perf_fs_dir *dir;
	int ret;

	guard(mutex)(&perf_fs_lock);
	list_for_each_entry(dir, &perf_fs_dirs, entry) {
		ret = add_cpus(dir);
		kernfs_activate(dir->kn);
		if (ret)
			pr_notice_ratelimited("perf: persistent/%s/: cannot create all directories in perffs: %pe\n",
					      dir->ns->name, ERR_PTR(ret));
	}
}

static DECLARE_WORK(perf_fs_covered_work, add_covered);

static void ns_covered(struct perf_member *model, struct perf_member *member)
{
	assert_registry();
	if (member->ns->dir)
		queue_work(system_dfl_wq, &perf_fs_covered_work);
}

static struct perf_persist_listener fs_listener = {
	.appeared	= ns_appeared,
	.vanished	= ns_vanished,
	.changed	= ns_changed,
	.covered	= ns_covered,
};

/* Make a namespace that has nothing but a name. The caller gets a reference. */
static struct perf_persist_ns *reserve(const char *name)
{
	struct perf_persist_ns *ns;
	int ret;

	mutex_lock(&perf_persist_lock);
	ns = perf_persist_new();
	ret = ns ? perf_persist_reserve_name(ns, name) : -ENOMEM;
	if (ns)
		get_persist_ns(ns);
	mutex_unlock(&perf_persist_lock);
	if (!ret)
		return ns;

	if (ns) {
		perf_persist_discard(ns);
		perf_persist_put(ns);
	}
	return ERR_PTR(ret);
}

static int fs_mkdir(struct kernfs_node *parent, const char *name, umode_t mode)
{
	struct perf_spec_error error = { };
	struct perf_persist_ns *ns;
	int ret;

	if (parent != kernfs_root_to_node(perf_fs_root))
		return -EPERM;
	ret = perf_persist_may_create();
	if (ret)
		return ret;
	if (!perf_persist_is_ready())
		return -ENODEV;
	if (!perf_persist_valid_name(name)) {
		ret = perf_spec_fail(&error, -EINVAL, name, PERF_SPEC_NAME_RULE);
		goto out;
	}

	ns = reserve(name);
	ret = PTR_ERR_OR_ZERO(ns);
	if (ret)
		goto out;
	ret = add_dir(ns);
	if (ret)
		perf_persist_discard(ns);
	perf_persist_put(ns);
out:
	if (ret)
		perf_fs_log("", "mkdir", &error, ret);
	return ret;
}

static long delete_ns(struct perf_fs_dir *dir)
{
	struct perf_persist_ns *ns = dir->ns;

	if (is_snapshot(ns))
		return perf_snapshot_delete(ns);
	if (READ_ONCE(ns->published))
		return perf_persist_delete_killable(ns);
	perf_persist_discard(ns);
	return 0;
}

static int fs_rmdir(struct kernfs_node *kn)
{
	struct kernfs_node *parent = kernfs_get_parent(kn);
	struct perf_fs_dir *dir;
	int ret;

	kernfs_put(parent);
	if (parent != kernfs_root_to_node(perf_fs_root))
		return -EPERM;
	ret = perf_persist_may_create();
	if (ret)
		return ret;

	dir = leave_node(kn, kn->priv);
	ret = mutex_lock_killable(&dir->lock);
	if (!ret) {
		ret = delete_ns(dir);
		mutex_unlock(&dir->lock);
	}
	enter_node(kn, dir);
	return ret;
}

/*
 * Mounting
 */

static int fs_show_options(struct seq_file *m, struct kernfs_root *root)
{
	struct perf_fs_owner owner;

	/* Whoever reads /proc/mounts holds up all mounting: do not wait for perf_fs_lock. */
	scoped_guard(spinlock, &perf_fs_owner_lock)
		owner = perf_fs_owner;
	seq_printf(m, ",uid=%u,gid=%u,mode=%o", from_kuid_munged(&init_user_ns, owner.uid),
		   from_kgid_munged(&init_user_ns, owner.gid), owner.mode);
	return 0;
}

static struct kernfs_syscall_ops perf_fs_syscall_ops = {
	.mkdir		= fs_mkdir,
	.rmdir		= fs_rmdir,
	.show_options	= fs_show_options,
};

/**
 * struct perf_fs_context - a mount or remount in progress
 * @kfc:	the context of kernfs
 * @owner:	the owner and mode from the mount options
 * @given:	the options that were given, a bit for each
 */
struct perf_fs_context {
	struct kernfs_fs_context	kfc;
	struct perf_fs_owner		owner;
	unsigned long			given;
};

static struct perf_fs_context *to_perf_fs_context(struct fs_context *fc)
{
	return container_of(fc->fs_private, struct perf_fs_context, kfc);
}

enum perf_fs_param { OPT_UID, OPT_GID, OPT_MODE };

static const struct fs_parameter_spec perf_fs_parameters[] = {
	fsparam_uid("uid", OPT_UID),
	fsparam_gid("gid", OPT_GID),
	fsparam_u32oct("mode", OPT_MODE),
	{ }
};

static int fs_parse_param(struct fs_context *fc, struct fs_parameter *param)
{
	struct perf_fs_context *ctx = to_perf_fs_context(fc);
	struct fs_parse_result result;
	int opt;

	opt = fs_parse(fc, perf_fs_parameters, param, &result);
	if (opt < 0)
		return opt;

	__set_bit(opt, &ctx->given);
	switch (opt) {
	case OPT_UID:
		ctx->owner.uid = result.uid;
		break;
	case OPT_GID:
		ctx->owner.gid = result.gid;
		break;
	case OPT_MODE:
		if (result.uint_32 & ~0777)
			return invalfc(fc, "mode must be at most 0777");
		ctx->owner.mode = result.uint_32;
		break;
	}
	return 0;
}

static int set_node(struct kernfs_node *kn, umode_t mode)
{
	struct iattr attr = {
		.ia_valid	= ATTR_UID | ATTR_GID | ATTR_MODE,
		.ia_uid		= perf_fs_owner.uid,
		.ia_gid		= perf_fs_owner.gid,
		.ia_mode	= mode,
	};

	return kernfs_setattr(kn, &attr);
}

static int set_files(struct kernfs_node *dir, const struct perf_fs_file *files, bool live)
{
	const struct perf_fs_file *file;
	struct kernfs_node *kn;
	int ret;

	ret = set_node(dir, S_IFDIR | perf_fs_owner.mode);
	for (file = files; !ret && file->name; file++) {
		kn = kernfs_find_and_get(dir, file->name);
		if (kn)
			ret = set_node(kn, file_mode(file, live));
		kernfs_put(kn);
	}
	return ret;
}

static int set_cpus(struct perf_fs_dir *dir)
{
	struct kernfs_node *all = kernfs_find_and_get(dir->kn, "per_cpu"), *kn;
	int cpu, ret;

	if (!all)
		return 0;
	ret = set_node(all, S_IFDIR | perf_fs_owner.mode);
	for_each_possible_cpu(cpu) {
		kn = ret ? NULL : find_cpu(all, cpu);
		if (kn)
			ret = set_files(kn, perf_fs_data_files, false);
		kernfs_put(kn);
	}
	kernfs_put(all);
	return ret;
}

static int set_dir(struct perf_fs_dir *dir)
{
	int ret = set_files(dir->kn, perf_fs_files, !is_snapshot(dir->ns));

	if (!ret)
		ret = set_files(dir->kn, perf_fs_data_files, false);
	return ret ? ret : set_cpus(dir);
}

static int try_owner(const struct perf_fs_owner *owner)
{
	struct perf_fs_dir *dir;
	int ret;

	lockdep_assert_held(&perf_fs_lock);
	scoped_guard(spinlock, &perf_fs_owner_lock)
		perf_fs_owner = *owner;
	ret = set_files(kernfs_root_to_node(perf_fs_root), perf_fs_root_files, true);
	list_for_each_entry(dir, &perf_fs_dirs, entry)
		ret = set_dir(dir) ?: ret;
	return ret;
}

static int set_owner(const struct perf_fs_owner *owner)
{
	struct perf_fs_owner old = perf_fs_owner;
	int ret = try_owner(owner);

	/* What has changed already needs no memory to change back. */
	if (ret)
		try_owner(&old);
	return ret;
}

static bool is_same_owner(const struct perf_fs_owner *owner)
{
	return uid_eq(owner->uid, perf_fs_owner.uid) && gid_eq(owner->gid, perf_fs_owner.gid) &&
	       owner->mode == perf_fs_owner.mode;
}

static int fs_get_tree(struct fs_context *fc)
{
	struct perf_fs_context *ctx = to_perf_fs_context(fc);
	int ret;

	ret = kernfs_get_tree(fc);
	if (ret)
		return ret;

	mutex_lock(&perf_fs_lock);
	if (ctx->kfc.new_sb_created)
		ret = set_owner(&ctx->owner);
	else if (ctx->given && !is_same_owner(&ctx->owner))
		ret = -EBUSY;
	mutex_unlock(&perf_fs_lock);
	if (ret) {
		struct super_block *sb = fc->root->d_sb;

		if (ret == -EBUSY)
			errorfc(fc, "already mounted with other options: use those or remount");
		dput(fc->root);
		fc->root = NULL;
		deactivate_locked_super(sb);
	}
	return ret;
}

static int fs_reconfigure(struct fs_context *fc)
{
	struct perf_fs_context *ctx = to_perf_fs_context(fc);
	struct perf_fs_owner owner;

	guard(mutex)(&perf_fs_lock);
	/* What was not given may have changed since fspick(). */
	owner = perf_fs_owner;
	if (test_bit(OPT_UID, &ctx->given))
		owner.uid = ctx->owner.uid;
	if (test_bit(OPT_GID, &ctx->given))
		owner.gid = ctx->owner.gid;
	if (test_bit(OPT_MODE, &ctx->given))
		owner.mode = ctx->owner.mode;
	return ctx->given ? set_owner(&owner) : 0;
}

static void fs_free(struct fs_context *fc)
{
	struct perf_fs_context *ctx = to_perf_fs_context(fc);

	kernfs_free_fs_context(fc);
	kfree(ctx);
}

static const struct fs_context_operations perf_fs_context_ops = {
	.free		= fs_free,
	.parse_param	= fs_parse_param,
	.get_tree	= fs_get_tree,
	.reconfigure	= fs_reconfigure,
};

static int fs_init_context(struct fs_context *fc)
{
	struct perf_fs_context *ctx;

	ctx = kzalloc(sizeof(*ctx), GFP_KERNEL);
	if (!ctx)
		return -ENOMEM;

	ctx->kfc.root = perf_fs_root;
	ctx->kfc.magic = PERFFS_MAGIC;
	ctx->owner = perf_fs_default;
	fc->fs_private = &ctx->kfc;
	fc->ops = &perf_fs_context_ops;
	/* There is one tree, and it belongs to the initial user namespace. */
	put_user_ns(fc->user_ns);
	fc->user_ns = get_user_ns(&init_user_ns);
	fc->global = true;
	return 0;
}

static struct file_system_type perf_fs_type = {
	.name			= "perffs",
	.init_fs_context	= fs_init_context,
	.parameters		= perf_fs_parameters,
	.kill_sb		= kernfs_kill_sb,
};

static int __init perf_fs_init(void)
{
	struct kernfs_root *root;
	int ret;

	perf_fs_owner = perf_fs_default;
	root = kernfs_create_root(&perf_fs_syscall_ops, KERNFS_ROOT_CREATE_DEACTIVATED |
				  KERNFS_ROOT_EXTRA_OPEN_PERM_CHECK, NULL);
	if (IS_ERR(root))
		return PTR_ERR(root);

	mutex_lock(&perf_fs_lock);
	ret = add_files(kernfs_root_to_node(root), perf_fs_root_files, true, NULL);
	if (!ret) {
		kernfs_activate(kernfs_root_to_node(root));
		perf_fs_root = root;
	}
	mutex_unlock(&perf_fs_lock);
	if (ret)
		goto err_root;

	ret = sysfs_create_mount_point(kernel_kobj, "perf");
	if (ret)
		goto err_root;
	ret = register_filesystem(&perf_fs_type);
	if (ret)
		goto err_mount_point;
	perf_persist_listen(&fs_listener);
	return 0;

err_mount_point:
	sysfs_remove_mount_point(kernel_kobj, "perf");
err_root:
	perf_fs_root = NULL;
	kernfs_destroy_root(root);
	return ret;
}
subsys_initcall(perf_fs_init);
