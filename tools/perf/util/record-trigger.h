/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_RECORD_TRIGGER_H
#define __PERF_RECORD_TRIGGER_H

#include <linux/types.h>
#include <stdbool.h>

struct evlist;
struct fdarray;
struct option;
struct record_opts;

/* Events that have what is in memory written whenever they happen */
struct record_trigger {
	struct evlist	*evlist;	/* NULL: there are none */
	const char	*map_path;	/* of a BPF map that takes the event; NULL: it is another */
	int		map_fd;		/* as long as this is open, it has the events */
	bool		fired;		/* since somebody last asked */
	u64		last;		/* when that was answered with yes, in ns */
};

/* For OPT_CALLBACK(): EVENT, or bpf:MAP */
int record_trigger__parse(const struct option *opt, const char *str, int unset);

/* Open them for the tasks and CPUs that @evlist has. Says what is wrong. */
int record_trigger__open(struct record_trigger *trigger, struct evlist *evlist,
			 const struct record_opts *opts);
/* Have poll() return when they happen. */
int record_trigger__add_to_poll(struct record_trigger *trigger, struct fdarray *fda);
/*
 * See what has happened, so that there is room for more. What perf does itself does not count:
 * it would write for ever because it writes.
 */
void record_trigger__look(struct record_trigger *trigger);
/* Has one happened since the last time? It says so once a second at most. */
bool record_trigger__has_fired(struct record_trigger *trigger);
/* For poll(): milliseconds until it says so of what has happened already; -1: nothing has */
int record_trigger__wait_ms(const struct record_trigger *trigger);
void record_trigger__exit(struct record_trigger *trigger);

#endif /* __PERF_RECORD_TRIGGER_H */
