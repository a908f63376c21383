/* SPDX-License-Identifier: GPL-2.0 */
/* Find the next snapshot to save. */
#ifndef __PERF_PERSISTENT_SAVE_QUEUE_H
#define __PERF_PERSISTENT_SAVE_QUEUE_H

#include <linux/types.h>

struct persistent_ns;
struct save_dir;

/* A namespace that has snapshots; it may be deleted. */
struct save_source {
	u64	id;
	u32	last;		/* number of the last snapshot */
};

/* Snapshots to save: of a namespace, and of deleted ones of the same name */
struct save_queue {
	const char		*name;
	struct persistent_ns	*ns;		/* NULL: it is gone */
	u64			 ns_id;
	struct save_source	*sources;	/* the oldest first */
	int			 nr_sources;
};

int save_queue__open(struct save_queue *queue, const char *name);
void save_queue__close(struct save_queue *queue);

/* Open the first snapshot that is not saved; -ENOENT: all are. Warns about missing ones. */
int save_queue__next(struct save_queue *queue, struct save_dir *dir,
		     struct persistent_ns **snapshot);

#endif /* __PERF_PERSISTENT_SAVE_QUEUE_H */
