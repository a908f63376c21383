/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_RECORD_PARTS_H
#define __PERF_RECORD_PARTS_H

#include <linux/types.h>
#include <stdbool.h>

/* What the files of perf record --daemon are called, perf.data in the middle for instance */
struct record_parts {
	char	*base;		/* /tmp/perf.data */
	char	*dir;		/* /tmp */
	char	*name;		/* perf.data */
	char	*aux;		/* /tmp/perf.data.auxiliary */
};

int record_parts__init(struct record_parts *parts, const char *base);
void record_parts__exit(struct record_parts *parts);

/*
 * Paths of the files with samples, the oldest first, for record_parts__free_list(): those that
 * belong to the auxiliary file @aux, or all of them if that is NULL. Returns how many, or an error
 */
int record_parts__list(const struct record_parts *parts, const char *aux, char ***paths);
void record_parts__free_list(char **paths, int nr);

/* A path for samples of now, after those of all that are there; NULL: no memory */
char *record_parts__next(const struct record_parts *parts);

/* Files that a perf that was killed did not finish; only the one that has the lock may. */
void record_parts__remove_unfinished(const struct record_parts *parts);

/*
 * @path is to be read, and has samples without the names that they need? Then this is a
 * descriptor of a file without a name, which has both. Otherwise -1.
 */
int record_parts__open_joined(const char *path, bool force);

#endif /* __PERF_RECORD_PARTS_H */
