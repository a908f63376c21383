/* SPDX-License-Identifier: GPL-2.0 */
/* Snapshots and triggers of namespaces of persistent events. */
#ifndef __PERF_PERSISTENT_CONTROL_H
#define __PERF_PERSISTENT_CONTROL_H

#include <linux/perf_event.h>
#include <linux/types.h>
#include <stddef.h>

struct persistent_member;
struct persistent_ns;

/* Parse a number from @min to @max, given to @option. Prints an error if it is not one. */
int persistent__parse_number(const char *option, const char *str, u32 min, u32 max, u32 *nr);

/* Format @cpus, of MAX_NR_CPUS bits, as a list. The caller frees it. NULL: no memory */
char *persistent__list_cpus(unsigned long *cpus);

/* Is @note, given to @option, a valid note? Prints an error if not. */
int persistent__check_note(const char *option, const char *note);

/* Returns the number and the id of the new snapshot in @number and @id. */
int persistent_ns__take_snapshot(struct persistent_ns *ns, u32 *number, u64 *id);
int persistent__note_snapshot(u64 id, const char *note);
int persistent_ns__resize(struct persistent_ns *ns, unsigned int pages, u32 *number);
int persistent_ns__set_keep(struct persistent_ns *ns, u32 keep);
int persistent_ns__clear(struct persistent_ns *ns);
int persistent_ns__set_spares(struct persistent_ns *ns, u32 nr);
/* @oldest: out: the number of the oldest; 0: there is none */
int persistent_ns__count_snapshots(const struct persistent_ns *ns, u32 *oldest);
/* The member on @cpu that owns a buffer, but is not side-band; -1: on any CPU */
const struct persistent_member *persistent_ns__find_ring(const struct persistent_ns *ns, int cpu);
/* Size of its own buffers; each snapshot has as much again. 0: not known, or no buffers */
u64 persistent_ns__buffer_bytes(struct persistent_ns *ns);

/*
 * Open snapshot @number of the namespace @source_id, which is or was called @name.
 * -ENOENT: it is deleted; -ESTALE: the snapshot of that name is of another namespace.
 */
int persistent__lookup_snapshot(const char *name, u64 source_id, u32 number,
				struct persistent_ns **snapshot);
/*
 * Find the first snapshot after number @settled, up to @last; -ENOENT: none. Sets @settled
 * to the number before it, or to @last. Warns that missing ones were deleted before they
 * were @done, unless @done is NULL.
 */
int persistent__find_snapshot(const char *name, u64 source_id, u32 *settled, u32 last,
			      const char *done, struct persistent_ns **snapshot);

/* The event that perf ctl waited for */
struct persistent_notice {
	u32	snapshot;	/* number of the new snapshot; 0: a trigger stopped it */
	u32	trigger;	/* number of the trigger that acted; 0: a user did */
	char	note[PERF_PERSIST_NAME_SIZE];	/* of the snapshot */
};

/*
 * Wait for a snapshot, or for a trigger that stops the namespace. -ETIMEDOUT after @timeout
 * ns; 0: no timeout. Calls @ready() once no change can be missed. Looks for snapshots after
 * number @since; NULL: only new ones.
 */
int persistent_ns__wait(struct persistent_ns *ns, u64 timeout, const u32 *since,
			void (*ready)(struct persistent_ns *ns),
			struct persistent_notice *notice);

/* persistent-trigger.c */
struct persistent_trigger {
	struct perf_event_trigger	asked;
	struct perf_event_trigger_state	state;
};

/* What a process that waits has seen of a namespace */
struct persistent_seen {
	u32			  snapshot;	/* number of the last one */
	bool			  began;	/* false: nothing yet */
	bool			  stopped;
	struct persistent_trigger *triggers;
	int			  nr_triggers;
};

/* Options that the user gave for a trigger; NULL: not given */
struct persistent_trigger_opts {
	const char	*when;
	const char	*filter;
	const char	*count;
	const char	*action;
	const char	*after;
	const char	*cool_down;	/* "0": none, NULL: default of the action */
	const char	*times;
};

int persistent_trigger__parse(struct perf_event_trigger *trigger,
			      const struct persistent_trigger_opts *opts);
/* Returns in @nr_events how many events --when stands for; 0: a panic, oops or soft lockup */
int persistent_ns__add_trigger(struct persistent_ns *ns, struct perf_event_trigger *trigger,
			       const struct persistent_trigger_opts *opts, int *nr_events);
int persistent_ns__remove_trigger(struct persistent_ns *ns, u32 number);
/* Let it act again, as often as --times said. */
int persistent_ns__arm_trigger(struct persistent_ns *ns, u32 number);

/* The caller frees the array. It is empty if the kernel has no triggers. */
int persistent_ns__triggers(const struct persistent_ns *ns,
			    struct persistent_trigger **triggers, int *nr);
const char *persistent_trigger__action(const struct perf_event_trigger *trigger);
/* Why it could not act the last time. The string may be in @buf. */
const char *persistent_trigger__error(const struct persistent_trigger *trigger, char *buf,
				      size_t size);
/*
 * Warn of triggers that have stopped the namespace, or that could not act, since it was
 * @seen: empty at first, and the caller frees its triggers. The first call only warns if the
 * namespace is stopped. Call this after persistent_ns__look_again(), so that nothing is missed
 * that happens before the next poll().
 */
void persistent_ns__warn_of_triggers(const struct persistent_ns *ns, struct persistent_seen *seen);
/* It is stopped: tell the user how to keep what it holds before it is resumed. */
void persistent_ns__tell_to_keep(const struct persistent_ns *ns);

#endif /* __PERF_PERSISTENT_CONTROL_H */
