/* SPDX-License-Identifier: GPL-2.0 */
/* Options of perf record that say nothing with -P, or with -e persistent/NS/, and are refused. */
#ifndef __PERF_PERSISTENT_OPTIONS_H
#define __PERF_PERSISTENT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

struct evlist;
struct option;
struct perf_cpu_map;
struct record_opts;

/* -P NAME: the name is looked at here, before a word of an old command line is taken for more. */
int persistent_options__parse_keep(const struct option *opt, const char *str, int unset);

/* The first of the options in @names that was given, NULL: none. @buf is for what to call it. */
const char *persistent_options__find_given(const struct option *options, const char * const *names,
					   char *buf, size_t size);

/* @options know which of them were given; it is said which one of these cannot be. */
int persistent_options__check_keep(const struct option *options, const struct record_opts *opts,
				   bool kill, int argc, const char **argv);
int persistent_options__check_read(const struct option *options, struct evlist *evlist);

/* Of -C; NULL: it was said that it is none. */
struct perf_cpu_map *persistent_options__parse_cpus(const char *list);

#endif /* __PERF_PERSISTENT_OPTIONS_H */
