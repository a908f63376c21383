/* SPDX-License-Identifier: GPL-2.0 */
/* Refuse options of perf record that have no effect with -P, or with -e persistent/NS/. */
#ifndef __PERF_PERSISTENT_OPTIONS_H
#define __PERF_PERSISTENT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

struct evlist;
struct option;
struct perf_cpu_map;
struct record_opts;

/* -P NAME: check the name early. -P used to take none, so it may be another word. */
int persistent_options__parse_keep(const struct option *opt, const char *str, int unset);

/* Without events, 'perf record -a -P make' may be meant to record the sample period of make. */
void persistent_options__warn_command(const char *name);

/* The first of the options @names that the user gave, formatted in @buf; NULL: none */
const char *persistent_options__find_given(const struct option *options, const char * const *names,
					   char *buf, size_t size);

/* Print an error if an option was given that cannot be used. @options tell which were. */
int persistent_options__check_keep(const struct option *options, const struct record_opts *opts,
				   bool kill, int argc, const char **argv);
int persistent_options__check_read(const struct option *options, struct evlist *evlist);

/* Parse the list of -C. NULL: it is no list, and an error was printed. */
struct perf_cpu_map *persistent_options__parse_cpus(const char *list);

#endif /* __PERF_PERSISTENT_OPTIONS_H */
