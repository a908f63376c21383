/* SPDX-License-Identifier: GPL-2.0 */
/* Events join a namespace that records already: perf ctl add. */
#ifndef __PERF_PERSISTENT_ADD_H
#define __PERF_PERSISTENT_ADD_H

#include <linux/types.h>

struct evlist;
struct persistent_ns;
struct record_opts;

/* What perf ctl add was called with */
struct persistent_add_opts {
	struct evlist		*evlist;
	struct record_opts	*record;
	const char		*label;	/* NULL: that of the event */
	/* Of buffers of their own, UINT_MAX: they write to those of the namespace */
	unsigned int		pages;
};

/**
 * persistent_ns__add_events - have events join a namespace
 * @ns:		the namespace, open for writing
 * @opts:	the events, as they were parsed, and what was asked of them
 *
 * The events are opened on each CPU that @ns records on. All of them join, or none.
 *
 * Return: 0, or an error below 0 after it was said what is wrong.
 */
int persistent_ns__add_events(struct persistent_ns *ns, const struct persistent_add_opts *opts);

#endif /* __PERF_PERSISTENT_ADD_H */
