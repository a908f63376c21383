/* SPDX-License-Identifier: GPL-2.0 */
/* Format the cells of tables about namespaces of persistent events. */
#ifndef __PERF_PERSISTENT_CELL_H
#define __PERF_PERSISTENT_CELL_H

#include <linux/compiler.h>
#include <linux/types.h>
#include <stdbool.h>

struct persistent_info;
struct persistent_member;
struct persistent_ns;

/* These return strings that the table frees. NULL: there is nothing to show, or no memory. */
char *cell__fmt(const char *format, ...) __printf(1, 2);
char *cell__number(u64 nr);
char *cell__bytes(u64 bytes, bool exact);
/* 3d04h, 5m07s, 9s */
char *cell__time(u64 ns);
/* As a user would say it: 200ms, 60s */
char *cell__duration(u64 ns);
/* How long before now @time was */
char *cell__back(const struct persistent_info *info, u64 time);
/* @nr_offline of @nr CPUs are offline. */
char *cell__state(const char *state, int nr, int nr_offline);
char *cell__cpus(unsigned long *cpus, unsigned long *missing, int nr);
char *cell__owner(const struct persistent_ns *ns);
char *cell__label(const struct persistent_member *member);
char *cell__cgroup(u64 id);

#endif /* __PERF_PERSISTENT_CELL_H */
