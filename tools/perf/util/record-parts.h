/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_RECORD_PARTS_H
#define __PERF_RECORD_PARTS_H

#include <linux/types.h>
#include <stdbool.h>
#include <sys/types.h>

/* The names of the files of perf record --daemon, for instance for -o /tmp/perf.data */
struct record_parts {
	char	*base;		/* /tmp/perf.data */
	char	*dir;		/* /tmp */
	char	*name;		/* perf.data */
	char	*aux;		/* /tmp/perf.data.auxiliary */
	uid_t	uid;		/* the owner of files that this process makes */
};

int record_parts__init(struct record_parts *parts, const char *base);
void record_parts__exit(struct record_parts *parts);

/*
 * List the paths of this user's files with samples, the oldest first: those that belong to the
 * auxiliary file @aux, or all if @aux is NULL. Returns their number or an error. The
 * caller frees the list with record_parts__free_list().
 */
int record_parts__list(const struct record_parts *parts, const char *aux, char ***paths);
void record_parts__free_list(char **paths, int nr);

/* The path for a new file with samples, sorted after all existing ones; NULL: no memory */
char *record_parts__next(const struct record_parts *parts);

/* The path to keep the auxiliary file under when a new recording begins; NULL: no memory */
char *record_parts__old_aux(const struct record_parts *parts);
/* Is there a file with samples that belongs to the auxiliary file @aux, or may do so? */
bool record_parts__need(const struct record_parts *parts, char *aux);
/* Is there one that is so damaged that nobody knows whether it does? */
bool record_parts__unknown(const struct record_parts *parts, char *aux);
/* Remove auxiliary files of earlier recordings whose samples are gone. */
void record_parts__remove_old_aux(const struct record_parts *parts);

/* Remove unfinished files of a perf that was killed. The caller must hold the lock. */
void record_parts__remove_unfinished(const struct record_parts *parts);

/*
 * If @path is a file with samples of --daemon, join it with its auxiliary file, which has
 * the names of tasks and maps. Returns the descriptor of an unnamed file with both, or
 * -1.
 */
int record_parts__open_joined(const char *path, bool force);

#endif /* __PERF_RECORD_PARTS_H */
