/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Declarations that the source files of perffs share.
 */
#ifndef _KERNEL_EVENTS_PERSISTENT_FS_H
#define _KERNEL_EVENTS_PERSISTENT_FS_H

#include <linux/kernfs.h>

#include "persistent_internal.h"

/**
 * struct perf_fs_dir - the directory of a namespace or of a snapshot
 * @refs:	one for the tree, and one for each call that is under way
 * @entry:	entry in the list of all directories
 * @ns:		the namespace or the snapshot, with a reference
 * @kn:		the kernfs node of the directory
 * @status:	the node of its file "status", which user space polls
 * @lock:	serializes changes of @ns through the tree; protects the fields below
 * @specs:	events that @ns gets when it starts to record
 * @size:	size of its buffers, in bytes, when it starts to record
 */
struct perf_fs_dir {
	refcount_t		refs;
	struct list_head	entry;
	struct perf_persist_ns	*ns;
	struct kernfs_node	*kn;
	struct kernfs_node	*status;
	struct mutex		lock; /* serializes changes */
	struct list_head	specs;
	unsigned long		size;
};

/* kernfs_node::priv of a file that shows a single CPU; NULL for all other files */
static inline void *perf_fs_cpu_to_priv(int cpu)
{
	return (void *)(cpu + 1L);
}

/* Return: the CPU, or -1 if the file shows all CPUs */
static inline int perf_fs_priv_to_cpu(void *priv)
{
	return (long)priv - 1;
}

/**
 * struct perf_fs_file - a file that each directory has
 * @name:	its name
 * @live:	snapshots do not have this file
 * @ops:	its operations
 */
struct perf_fs_file {
	const char		*name;
	bool			live;
	struct kernfs_ops	ops;
};

/* persistent_fs.c */
struct perf_fs_dir *perf_fs_leave(struct kernfs_open_file *of);
void perf_fs_enter(struct kernfs_open_file *of, struct perf_fs_dir *dir);
void perf_fs_log(const char *where, const char *file, const struct perf_spec_error *error, int ret);

/* persistent_fs_file.c */
extern const struct perf_fs_file perf_fs_files[];

/* persistent_fs_data.c */
extern const struct perf_fs_file perf_fs_data_files[];

/* persistent_fs_trigger.c */
int perf_fs_change_triggers(struct perf_fs_dir *dir, char *text, struct perf_spec_error *error);
int perf_fs_show_triggers(struct perf_fs_dir *dir, struct seq_file *m);

#endif /* _KERNEL_EVENTS_PERSISTENT_FS_H */
