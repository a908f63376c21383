/* SPDX-License-Identifier: GPL-2.0 */
/* perf ctl add: add events to a namespace that records already. */
#ifndef __PERF_PERSISTENT_ADD_H
#define __PERF_PERSISTENT_ADD_H

#include <linux/types.h>

struct evlist;
struct persistent_ns;
struct record_opts;

/* The events and options of perf ctl add */
struct persistent_add_opts {
	struct evlist		*evlist;
	struct record_opts	*record;
	const char		*label;	/* NULL: that of the event */
	/* Size of buffers of their own; UINT_MAX: they write to those of the namespace */
	unsigned int		pages;
};

/**
 * persistent_ns__add_events - add events to a namespace
 * @ns:		the namespace, open for writing
 * @opts:	the parsed events, and the options for them
 *
 * Opens the events on each online CPU that @ns records on. All of them join, or none.
 *
 * Return: 0, or a negative errno after printing an error.
 */
int persistent_ns__add_events(struct persistent_ns *ns, const struct persistent_add_opts *opts);

#endif /* __PERF_PERSISTENT_ADD_H */
