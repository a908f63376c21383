/* SPDX-License-Identifier: GPL-2.0 */
/* Which snapshot is the next to be saved. */
#ifndef __PERF_PERSISTENT_SAVE_QUEUE_H
#define __PERF_PERSISTENT_SAVE_QUEUE_H

#include <linux/types.h>

struct persistent_ns;
struct save_dir;

/* A namespace that there are snapshots of; those that are deleted left them. */
struct save_source {
	u64	id;
	u32	last;		/* number of the last snapshot */
};

/* What is to be saved: snapshots of a namespace, and of earlier ones of its name */
struct save_queue {
	const char		*name;
	struct persistent_ns	*ns;		/* NULL: it is gone */
	u64			 ns_id;
	struct save_source	*sources;	/* in the order in which they were made */
	int			 nr_sources;
};

int save_queue__open(struct save_queue *queue, const char *name);
void save_queue__close(struct save_queue *queue);

/* The first one that is not saved; -ENOENT: all are. What is missing is said. */
int save_queue__next(struct save_queue *queue, struct save_dir *dir,
		     struct persistent_ns **snapshot);

#endif /* __PERF_PERSISTENT_SAVE_QUEUE_H */
