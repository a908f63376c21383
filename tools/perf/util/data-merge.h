/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_DATA_MERGE_H
#define __PERF_DATA_MERGE_H

#include <stdbool.h>
#include <linux/types.h>

/* An offset to add to all times of a machine */
struct data_merge_offset {
	char		*machine;
	s64		 ns;
};

struct data_merge_opts {
	const char	*output;		/* NULL: stdout */
	bool		 json;
	bool		 force;			/* also read files of other users */
	struct data_merge_offset *offsets;
	int		 nr_offsets;
};

/* Parse MACHINE=SECONDS and add it to @opts. */
int data_merge_opts__add_offset(struct data_merge_opts *opts, const char *str);
void data_merge_opts__exit(struct data_merge_opts *opts);

int data_merge(const char **paths, int nr, const struct data_merge_opts *opts);

#endif /* __PERF_DATA_MERGE_H */
