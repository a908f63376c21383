/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_PERSISTENT_TEXT_H
#define __PERF_PERSISTENT_TEXT_H

#include <linux/types.h>
#include <stdbool.h>

struct persistent_text_opts {
	u64		last;		/* ns before now; 0: all */
	const char	*cpus;		/* NULL: all */
	bool		follow;		/* and what comes, until the namespace is deleted */
};

/*
 * Prints what a namespace recorded, as the kernel does: a line for each record, in the order
 * of time. Says what went wrong.
 */
int persistent__print_text(const char *name, const struct persistent_text_opts *opts);

#endif /* __PERF_PERSISTENT_TEXT_H */
