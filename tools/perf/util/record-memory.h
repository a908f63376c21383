/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_RECORD_MEMORY_H
#define __PERF_RECORD_MEMORY_H

#include <linux/types.h>
#include <stdbool.h>

struct evlist;
struct option;
struct record_live;

/* Parse a size as in 64M, or in bytes. 0: neither. */
u64 record_memory__parse_size(const char *str);
int record_memory__parse(const struct option *opt, const char *str, int unset);

/*
 * Share @size bytes among the overwrite buffers, each rounded up to a power of two.
 * -EINVAL: there is no buffer, or @size is too small or too large, which was reported.
 */
int record_memory__share(struct evlist *evlist, u64 size);

/* Check that all samples go to overwrite buffers. -EINVAL: not all do, as reported. */
int record_memory__check(struct evlist *evlist);

/* The size of one buffer if all together have @size bytes */
u64 record_memory__each(struct evlist *evlist, u64 size);
u64 record_memory__size(struct evlist *evlist);
/* Tell how large the buffers are, how to get them written, and if recording pauses for it. */
void record_memory__print(struct evlist *evlist, const struct record_live *live, bool daemon);

#endif /* __PERF_RECORD_MEMORY_H */
