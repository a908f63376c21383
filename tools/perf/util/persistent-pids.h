/* SPDX-License-Identifier: GPL-2.0 */
/* Whose pids are in the records of a namespace? */
#ifndef __PERF_PERSISTENT_PIDS_H
#define __PERF_PERSISTENT_PIDS_H

#include <stdbool.h>

struct evlist;
struct persistent;

/* Do the records have pids of perf's own pid namespace, so that /proc has these tasks? */
bool persistent__has_own_pids(const struct persistent *persistent);

/*
 * Warn about pids of another pid namespace. Returns -EINVAL, and prints an error, if the
 * records of @evlist have pids of more than one.
 */
int persistent__check_pids(const struct persistent *persistent, struct evlist *evlist);

#endif /* __PERF_PERSISTENT_PIDS_H */
