/* SPDX-License-Identifier: GPL-2.0 */
/* Options of perf record that cannot be with -M, or with --daemon, and are refused. */
#ifndef __PERF_RECORD_OPTIONS_H
#define __PERF_RECORD_OPTIONS_H

#include <stdbool.h>

struct option;
struct record_memory;
struct record_opts;

/* @options know which of them were given. @reads: there is -e persistent/NS/. */
int record_options__check_memory(const struct option *options, struct record_opts *opts,
				 bool reads);
/* Also of what is for --daemon, and of what takes -M. @path: -o, or NULL */
int record_options__check_daemon(const struct option *options, const struct record_opts *opts,
				 struct record_memory *memory, const char *path);

#endif /* __PERF_RECORD_OPTIONS_H */
