/* SPDX-License-Identifier: GPL-2.0 */
/* Checks of the options of perf record that conflict with -M or --daemon, or require them */
#ifndef __PERF_RECORD_OPTIONS_H
#define __PERF_RECORD_OPTIONS_H

#include <stdbool.h>

struct option;
struct record_memory;
struct record_opts;

/* @options: know which were given on the command line. @reads: -e persistent/NS/ is given. */
int record_options__check_memory(const struct option *options, struct record_opts *opts,
				 bool reads);
/* Also checks options that require --daemon or -M. @path: argument of -o, or NULL */
int record_options__check_daemon(const struct option *options, const struct record_opts *opts,
				 struct record_memory *memory, const char *path);

#endif /* __PERF_RECORD_OPTIONS_H */
