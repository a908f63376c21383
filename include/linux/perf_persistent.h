/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_PERF_PERSISTENT_H
#define _LINUX_PERF_PERSISTENT_H

#include <linux/errno.h>
#include <linux/types.h>

#ifdef CONFIG_PERF_EVENTS_PERSISTENT
void perf_persistent_fatal(bool panic);
s64 perf_persistent_create(const char *name, const char *const *events, unsigned int nr,
			   unsigned long size);
int perf_persistent_delete(u64 id);
#else
static inline void perf_persistent_fatal(bool panic) { }

static inline s64 perf_persistent_create(const char *name, const char *const *events,
					 unsigned int nr, unsigned long size)
{
	return -ENODEV;
}

static inline int perf_persistent_delete(u64 id)
{
	return -ENODEV;
}
#endif

#endif /* _LINUX_PERF_PERSISTENT_H */
