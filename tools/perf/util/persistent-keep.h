/* SPDX-License-Identifier: GPL-2.0 */
/* perf record -P: make events, hand them to the kernel under a name, and exit. */
#ifndef __PERF_PERSISTENT_KEEP_H
#define __PERF_PERSISTENT_KEEP_H

#include <stdbool.h>

struct evlist;
struct perf_env;
struct record_opts;

/* The events and options of perf record -P */
struct persistent_keep {
	const char		*name;
	struct evlist		*evlist;
	struct record_opts	*opts;
	const struct perf_env	*env;		/* has the command line */
	bool			dry_run;
	/* Open the events, with buffers of @pages each. Prints its own errors. */
	int			(*open)(void *arg, struct evlist *evlist, unsigned int pages);
	void			*arg;
};

/* Can the kernel keep these events? Prints an error if not. */
int persistent_keep__check(const struct persistent_keep *keep);

/* Make the namespace, and print what it keeps. */
int persistent_keep__run(const struct persistent_keep *keep);

/* Configure events to be kept, so that their records have all that readers need. */
void persistent_keep__config(struct evlist *evlist, struct record_opts *opts);

#endif /* __PERF_PERSISTENT_KEEP_H */
