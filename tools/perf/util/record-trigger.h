/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_RECORD_TRIGGER_H
#define __PERF_RECORD_TRIGGER_H

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
};

/* For OPT_CALLBACK(): EVENT, or bpf:MAP */
int record_trigger__parse(const struct option *opt, const char *str, int unset);

/* Open them for the tasks and CPUs that @evlist has. Says what is wrong. */
int record_trigger__open(struct record_trigger *trigger, struct evlist *evlist,
			 const struct record_opts *opts);
/* Have poll() return when they happen. */
int record_trigger__add_to_poll(struct record_trigger *trigger, struct fdarray *fda);
/* Has one happened since the last time? */
bool record_trigger__has_fired(struct record_trigger *trigger);
void record_trigger__exit(struct record_trigger *trigger);

#endif /* __PERF_RECORD_TRIGGER_H */
