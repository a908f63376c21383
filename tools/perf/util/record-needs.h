/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_RECORD_NEEDS_H
#define __PERF_RECORD_NEEDS_H

#include <linux/types.h>
#include <stdbool.h>

struct evlist;
struct record_grow;

/* A task or a file with samples, and the times of the first and the last one */
struct record_need {
	u32	id;		/* thread or process id */
	u64	first;
	u64	last;
};

struct record_file_need {
	char	*path;
	u64	first;
	u64	last;
};

/* The samples in the buffers and in files, for which perf must keep names */
struct record_needs {
	struct record_need	*tasks;		/* sorted by id */
	size_t			nr_tasks;
	size_t			max_tasks;
	struct record_file_need	*files;
	int			nr_files;
	u64			since;		/* no sample is older */
	u64			recent;		/* tasks that end later may get samples */
};

int record_needs__add_file(struct record_needs *needs, const char *path, u64 first, u64 last);
/* Look through the buffers, without pausing them. Calls @idle now and then. */
int record_needs__look(struct record_needs *needs, struct evlist *evlist,
		       const struct record_grow *grow, u64 now, void (*idle)(void *arg),
		       void *arg);
/* Forget the tasks seen in the buffers, but not the files. */
void record_needs__forget_tasks(struct record_needs *needs);
void record_needs__exit(struct record_needs *needs);

/* Can task @id, which lived from @begin to @end, have samples? */
bool record_needs__task(const struct record_needs *needs, u32 id, u64 begin, u64 end);

#endif /* __PERF_RECORD_NEEDS_H */
