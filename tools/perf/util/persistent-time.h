/* SPDX-License-Identifier: GPL-2.0 */
/* Parse times that users give: durations, and wall clock times. */
#ifndef __PERF_PERSISTENT_TIME_H
#define __PERF_PERSISTENT_TIME_H

#include <linux/types.h>

/* Parse a duration like 30s, given to @option. Prints an error if it is none. */
int persistent__parse_duration(const char *option, const char *str, u64 *ns);

/*
 * Parse a local wall clock time to ns of CLOCK_REALTIME: 2026-11-22 03:14:07, also with a T
 * in between, or 03:14 for the last time that it was 03:14. Seconds can have up to nine
 * digits after the point, or be left out. If clocks were set back and showed the time twice,
 * the second one counts, unless it is later than @now. A time that clocks skip is an error.
 */
int persistent__parse_wall_time(const char *str, u64 now, u64 *ns);

/* CLOCK_REALTIME */
u64 persistent__wall_now(void);

#endif /* __PERF_PERSISTENT_TIME_H */
