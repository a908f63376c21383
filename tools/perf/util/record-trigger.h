/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_RECORD_TRIGGER_H
#define __PERF_RECORD_TRIGGER_H

#include <linux/types.h>
#include <stdbool.h>

struct evlist;
struct fdarray;
struct option;
struct record_opts;

/* Events that make perf write a dump */
struct record_trigger {
	struct evlist	*evlist;	/* NULL: there are none */
	const char	*map_path;	/* the BPF map that gets the events, NULL: no BPF */
	int		map_fd;		/* the map drops the events when this is closed */
	bool		fired;		/* since record_trigger__has_fired() last said yes */
	u64		last;		/* the time of that, in ns */
};

/* For OPT_CALLBACK(): parse EVENT or bpf:MAP. */
int record_trigger__parse(const struct option *opt, const char *str, int unset);

/* Open the events for the tasks and CPUs of @evlist. Reports errors. */
int record_trigger__open(struct record_trigger *trigger, struct evlist *evlist,
			 const struct record_opts *opts);
/* Make poll() return when an event happens. */
int record_trigger__add_to_poll(struct record_trigger *trigger, struct fdarray *fda);
/*
 * Read the trigger buffers, which makes room for more events. Events of perf itself do
 * not count, as writing a dump would trigger the next dump.
 */
void record_trigger__look(struct record_trigger *trigger);
/* Has an event happened since the last yes? Says yes at most once a second. */
bool record_trigger__has_fired(struct record_trigger *trigger);
/* A timeout for poll() until record_trigger__has_fired() says yes; -1: no event yet */
int record_trigger__wait_ms(const struct record_trigger *trigger);
void record_trigger__exit(struct record_trigger *trigger);

#endif /* __PERF_RECORD_TRIGGER_H */
