/* SPDX-License-Identifier: GPL-2.0 */
/* Snapshots and triggers of namespaces of persistent events. */
#ifndef __PERF_PERSISTENT_CONTROL_H
#define __PERF_PERSISTENT_CONTROL_H

#include <linux/perf_event.h>
#include <linux/types.h>
#include <stddef.h>

struct persistent_ns;

/* Something like 5, of option @option; what it must be is said if it is not. */
int persistent__parse_number(const char *option, const char *str, u32 min, u32 max, u32 *nr);

/* @cpus, of MAX_NR_CPUS, as a list; NULL, or to be freed by the caller */
char *persistent__list_cpus(unsigned long *cpus);

/* Is @note one? If not it is said what is wrong with that of option @option. */
int persistent__check_note(const char *option, const char *note);

/* @number and @id are those of the new one. */
int persistent_ns__take_snapshot(struct persistent_ns *ns, u32 *number, u64 *id);
int persistent__note_snapshot(u64 id, const char *note);
int persistent_ns__resize(struct persistent_ns *ns, unsigned int pages, u32 *number);
int persistent_ns__set_keep(struct persistent_ns *ns, u32 keep);
int persistent_ns__clear(struct persistent_ns *ns);
int persistent_ns__set_spares(struct persistent_ns *ns, u32 nr);
int persistent_ns__count_snapshots(const struct persistent_ns *ns);
/* Of its own buffers; a snapshot has as much again. 0: not known, or there are none */
u64 persistent_ns__buffer_bytes(struct persistent_ns *ns);

/*
 * Snapshot @number of the namespace @source_id, which is or was called @name. -ENOENT: it is
 * deleted; -ESTALE: there is none, as another namespace had that name when it was taken.
 */
int persistent__lookup_snapshot(const char *name, u64 source_id, u32 number,
				struct persistent_ns **snapshot);
/*
 * The first one after number @settled, up to number @last; -ENOENT: none. @settled becomes
 * that before it, or @last. Of those that are missing it says that they were deleted before
 * they were @done; NULL: nothing.
 */
int persistent__find_snapshot(const char *name, u64 source_id, u32 *settled, u32 last,
			      const char *done, struct persistent_ns **snapshot);

/* What was waited for */
struct persistent_notice {
	u32	snapshot;	/* number of one that was taken; 0: a trigger stopped it */
	u32	trigger;	/* number of the one that did it; 0: somebody by hand */
	char	note[PERF_PERSIST_NAME_SIZE];	/* that the snapshot has */
};

/*
 * -ETIMEDOUT after @timeout ns, 0: never; @ready() is called once nothing can be missed.
 * Snapshots after number @since count, NULL: those from now on.
 */
int persistent_ns__wait(struct persistent_ns *ns, u64 timeout, const u32 *since,
			void (*ready)(struct persistent_ns *ns),
			struct persistent_notice *notice);

/* persistent-trigger.c */
struct persistent_trigger {
	struct perf_event_trigger	asked;
	struct perf_event_trigger_state	state;
};

/* What a user said of a trigger, NULL: nothing */
struct persistent_trigger_opts {
	const char	*when;
	const char	*filter;
	const char	*count;
	const char	*action;
	const char	*after;
	const char	*cool_down;	/* "0": none, NULL: that of the action */
	const char	*times;
};

int persistent_trigger__parse(struct perf_event_trigger *trigger,
			      const struct persistent_trigger_opts *opts);
/* @nr_events: how many events --when stands for; 0: panic or oops, which are none */
int persistent_ns__add_trigger(struct persistent_ns *ns, struct perf_event_trigger *trigger,
			       const struct persistent_trigger_opts *opts, int *nr_events);
int persistent_ns__remove_trigger(struct persistent_ns *ns, u32 number);
/* Lets it act again as often as --times said */
int persistent_ns__arm_trigger(struct persistent_ns *ns, u32 number);

/* An array to be freed, of none where the kernel has no triggers */
int persistent_ns__triggers(const struct persistent_ns *ns,
			    struct persistent_trigger **triggers, int *nr);
const char *persistent_trigger__action(const struct perf_event_trigger *trigger);
/* Why it could not act the last time; @buf may be what is returned. */
const char *persistent_trigger__error(const struct persistent_trigger *trigger, char *buf,
				      size_t size);

#endif /* __PERF_PERSISTENT_CONTROL_H */
