/* SPDX-License-Identifier: GPL-2.0 */
/* Save the snapshots of a namespace as they come. */
#ifndef __PERF_PERSISTENT_SAVE_H
#define __PERF_PERSISTENT_SAVE_H

#include <linux/types.h>
#include "record-limits.h"

struct persistent_save_opts {
	const char	*dir;
	struct record_limits limits;
	const char	*last;		/* part of each snapshot, as in 30s; NULL: all */
	u32		comp_level;	/* of zstd; 0: not compressed */
	const char	**command;	/* to run for each file, or NULL */
	/* Write the records of @event to the file @path. Called in a process of its own. */
	int		(*read)(const char *event, const char *path,
				const struct persistent_save_opts *opts);
};

/*
 * Write each snapshot of the namespace @name to a file, until somebody sends SIGINT or
 * SIGTERM, which is not an error, or the namespace is deleted.
 */
int persistent__save(const char *name, const struct persistent_save_opts *opts);

#endif /* __PERF_PERSISTENT_SAVE_H */
