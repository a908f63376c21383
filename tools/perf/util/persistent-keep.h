/* SPDX-License-Identifier: GPL-2.0 */
/* perf record -P: make events, hand them to the kernel under a name, and be done. */
#ifndef __PERF_PERSISTENT_KEEP_H
#define __PERF_PERSISTENT_KEEP_H

#include <stdbool.h>

struct evlist;
struct record_opts;

/* What perf record -P was called with */
struct persistent_keep {
	const char		*name;
	struct evlist		*evlist;
	struct record_opts	*opts;
	bool			dry_run;
	/* Open the events, with buffers of so many pages; says itself what is wrong */
	int			(*open)(void *arg, struct evlist *evlist, unsigned int pages);
	void			*arg;
};

/* Can the kernel keep that? It is said why not. */
int persistent_keep__check(const struct persistent_keep *keep);

/* Make the namespace, and print what was made. */
int persistent_keep__run(const struct persistent_keep *keep);

/* Events that are to be kept record what readers need to tell them apart. */
void persistent_keep__config(struct evlist *evlist, struct record_opts *opts);

#endif /* __PERF_PERSISTENT_KEEP_H */
