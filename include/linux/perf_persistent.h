/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_PERF_PERSISTENT_H
#define _LINUX_PERF_PERSISTENT_H

#include <linux/errno.h>
#include <linux/types.h>
#include <uapi/linux/perf_event.h>

/* Flags of perf_persistent_create() */
#define PERF_PERSISTENT_TASKS	0x1

#ifdef CONFIG_PERF_EVENTS_PERSISTENT
void perf_persistent_fatal(enum perf_event_trigger_when when);
s64 perf_persistent_create(const char *name, const char *const *events, unsigned int nr,
			   unsigned long size, unsigned int flags);
int perf_persistent_delete(u64 id);
#else
static inline void perf_persistent_fatal(enum perf_event_trigger_when when) { }

static inline s64 perf_persistent_create(const char *name, const char *const *events,
					 unsigned int nr, unsigned long size,
					 unsigned int flags)
{
	return -ENODEV;
}

static inline int perf_persistent_delete(u64 id)
{
	return -ENODEV;
}
#endif

#endif /* _LINUX_PERF_PERSISTENT_H */
