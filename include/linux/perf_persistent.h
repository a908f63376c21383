/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_PERF_PERSISTENT_H
#define _LINUX_PERF_PERSISTENT_H

#include <linux/types.h>

#ifdef CONFIG_PERF_EVENTS_PERSISTENT
void perf_persistent_fatal(bool panic);
#else
static inline void perf_persistent_fatal(bool panic) { }
#endif

#endif /* _LINUX_PERF_PERSISTENT_H */
