/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_PERSISTENT_TEXT_H
#define __PERF_PERSISTENT_TEXT_H

#include <linux/types.h>
#include <stdbool.h>

struct persistent_text_opts {
	u64		last;		/* ns before now; 0: all */
	const char	*cpus;		/* NULL: all */
	bool		follow;		/* also new records, until it is deleted */
};

/*
 * Print the records of a namespace as the kernel formats them: a line for each record, in the
 * order of time. Prints an error if that fails.
 */
int persistent__print_text(const char *name, const struct persistent_text_opts *opts);

#endif /* __PERF_PERSISTENT_TEXT_H */
