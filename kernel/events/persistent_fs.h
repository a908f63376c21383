/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of perffs know of each other.
 */
#ifndef _KERNEL_EVENTS_PERSISTENT_FS_H
#define _KERNEL_EVENTS_PERSISTENT_FS_H

#include <linux/kernfs.h>

#include "persistent_internal.h"

/**
 * struct perf_fs_dir - the directory of a namespace or of a snapshot
 * @refs:	one for the tree, and one for each call that is under way
 * @entry:	in the list of all of them
 * @ns:		what it is of, with a reference
 * @kn:		the directory
 * @status:	the file that is polled
 * @lock:	one change of @ns through the tree at a time; protects what follows
 * @specs:	events that it is going to have when it records
 * @size:	of its buffers then
 */
struct perf_fs_dir {
	refcount_t		refs;
	struct list_head	entry;
	struct perf_persist_ns	*ns;
	struct kernfs_node	*kn;
	struct kernfs_node	*status;
	struct mutex		lock; /* of one change at a time */
	struct list_head	specs;
	unsigned long		size;
};

/* kernfs_node::priv of a file that is of one CPU alone; NULL of the others */
static inline void *perf_fs_cpu_to_priv(int cpu)
{
	return (void *)(cpu + 1L);
}

/* -1: of all CPUs */
static inline int perf_fs_priv_to_cpu(void *priv)
{
	return (long)priv - 1;
}

/**
 * struct perf_fs_file - a file that each directory has
 * @name:	its name
 * @live:	not for snapshots
 * @ops:	what it does
 */
struct perf_fs_file {
	const char		*name;
	bool			live;
	struct kernfs_ops	ops;
};

/* persistent_fs.c */
struct perf_fs_dir *perf_fs_leave(struct kernfs_open_file *of);
void perf_fs_enter(struct kernfs_open_file *of, struct perf_fs_dir *dir);
void perf_fs_log(const char *where, const char *file, const struct perf_spec_error *error);

/* persistent_fs_file.c */
extern const struct perf_fs_file perf_fs_files[];

/* persistent_fs_data.c */
extern const struct perf_fs_file perf_fs_data_files[];

/* persistent_fs_trigger.c */
int perf_fs_change_triggers(struct perf_fs_dir *dir, char *text, struct perf_spec_error *error);
int perf_fs_show_triggers(struct perf_fs_dir *dir, struct seq_file *m);

#endif /* _KERNEL_EVENTS_PERSISTENT_FS_H */
