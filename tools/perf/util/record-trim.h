/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_RECORD_TRIM_H
#define __PERF_RECORD_TRIM_H

struct data_join;
struct record_needs;

/*
 * Mark the records of an auxiliary file that no sample needs as dropped. @join->records
 * must be sorted.
 */
int record_trim(struct data_join *join, const struct record_needs *needs);

#endif /* __PERF_RECORD_TRIM_H */
