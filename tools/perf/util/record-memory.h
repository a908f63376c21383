/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_RECORD_MEMORY_H
#define __PERF_RECORD_MEMORY_H

#include <linux/types.h>
#include <stdbool.h>

struct evlist;
struct option;
struct record_live;

/* As in 64M, or bytes. 0: it is nothing of that. */
u64 record_memory__parse_size(const char *str);
int record_memory__parse(const struct option *opt, const char *str, int unset);

/*
 * Have buffers that overwrite what is oldest take @size bytes in all, rounded up to what buffers
 * can be. -EINVAL: that is not a page for each, which was said.
 */
int record_memory__share(struct evlist *evlist, u64 size);

/* No event writes its samples past it. -EINVAL: one does, which was said. */
int record_memory__check(struct evlist *evlist);

/* What @size in all is for each buffer */
u64 record_memory__each(struct evlist *evlist, u64 size);
u64 record_memory__size(struct evlist *evlist);
/* How much it is, what to do to have it written, and whether that takes a pause */
void record_memory__print(struct evlist *evlist, const struct record_live *live, bool daemon);

#endif /* __PERF_RECORD_MEMORY_H */
