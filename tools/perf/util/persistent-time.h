/* SPDX-License-Identifier: GPL-2.0 */
/* Times that people give: durations, and what a clock on a wall showed. */
#ifndef __PERF_PERSISTENT_TIME_H
#define __PERF_PERSISTENT_TIME_H

#include <linux/types.h>

/* Something like 30s, of option @option; what it must be is said if it is not. */
int persistent__parse_duration(const char *option, const char *str, u64 *ns);

/*
 * A local time as clocks on walls show it, in ns of CLOCK_REALTIME: 2026-11-22 03:14:07,
 * also with a T in between, or 03:14 for the last time that it was 03:14. Seconds can have
 * up to nine digits behind the point, or be left out. Where clocks are set back, it is the
 * second time, if it is not later than @now; a time that they skip is an error.
 */
int persistent__parse_wall_time(const char *str, u64 now, u64 *ns);

/* CLOCK_REALTIME */
u64 persistent__wall_now(void);

#endif /* __PERF_PERSISTENT_TIME_H */
