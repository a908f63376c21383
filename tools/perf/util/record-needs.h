/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_RECORD_NEEDS_H
#define __PERF_RECORD_NEEDS_H

#include <linux/types.h>
#include <stdbool.h>

struct evlist;
struct record_grow;

/* A task that has samples, and when; or a file that has */
struct record_need {
	u32	id;		/* of a thread or a process */
	u64	first;
	u64	last;
};

struct record_file_need {
	char	*path;
	u64	first;
	u64	last;
};

/* For which samples names are needed, in memory and in files */
struct record_needs {
	struct record_need	*tasks;		/* by their ids */
	size_t			nr_tasks;
	size_t			max_tasks;
	struct record_file_need	*files;
	int			nr_files;
	u64			since;		/* no sample is older */
	u64			recent;		/* tasks that ended after that may get samples */
};

int record_needs__add_file(struct record_needs *needs, const char *path, u64 first, u64 last);
/* Look at what is in memory, without a pause for those that write to it. */
int record_needs__look(struct record_needs *needs, struct evlist *evlist,
		       const struct record_grow *grow, u64 now);
/* What was seen in memory; files stay. */
void record_needs__forget_tasks(struct record_needs *needs);
void record_needs__exit(struct record_needs *needs);

/* Are there samples of this task, which was there from @begin to @end? */
bool record_needs__task(const struct record_needs *needs, u32 id, u64 begin, u64 end);

#endif /* __PERF_RECORD_NEEDS_H */
