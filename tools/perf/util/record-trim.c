// SPDX-License-Identifier: GPL-2.0
/*
 * perf record --daemon: drop side-band records that no sample needs.
 *
 * If a task has ended and has no samples, all its records go. Other tasks also need what
 * their parents had at the fork. Of the records older than all samples, perf keeps only
 * those that no later record replaces: the last name of a task, and the last of equal
 * maps.
 */
#include "record-trim.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/zalloc.h>
#include <perf/event.h>
#include "data-join.h"
#include "event.h"
#include "record-needs.h"

#define NONE	(-1)

/* A thread from fork to exit. Several lives can have the same id, one after another. */
struct life {
	u32	id;
	int	process;	/* the life of its main thread, or its own */
	int	parent;		/* the life that forked it, or NONE */
	u64	begin;
	u64	end;
	u64	first_exec;	/* time of the first exec(), */
	u64	exec;		/* and of the last one */
	u64	inherited;	/* needed children inherited its state up to this time */
	u64	looked_at;	/* need() was done for this time and later ones */
	bool	dead;
	bool	needed;
};

struct trim {
	struct data_join		*join;
	const struct record_needs	*needs;
	struct life			*lives;
	int				nr_lives;
	int				max_lives;
	int				*life_of;	/* for each record, or NONE */
	/* A hash table of the current life of each id, with open addressing */
	struct slot {
		u32	id;
		int	life;
	}				*slots;
	size_t				nr_slots;
	size_t				nr_ids;
};

/*
 * Lives
 */

static struct slot *find_slot(struct trim *trim, u32 id)
{
	size_t i = id * 2654435761u;

	for (;; i++) {
		struct slot *slot = &trim->slots[i & (trim->nr_slots - 1)];

		if (slot->life == NONE || slot->id == id)
			return slot;
	}
}

static int grow_slots(struct trim *trim)
{
	struct slot *old = trim->slots;
	size_t nr = trim->nr_slots;

	trim->nr_slots = nr * 2 ?: 4096;
	trim->slots = malloc(trim->nr_slots * sizeof(*trim->slots));
	if (!trim->slots) {
		trim->slots = old;
		trim->nr_slots = nr;
		return -ENOMEM;
	}
	for (size_t i = 0; i < trim->nr_slots; i++)
		trim->slots[i].life = NONE;
	for (size_t i = 0; i < nr; i++) {
		if (old[i].life != NONE)
			*find_slot(trim, old[i].id) = old[i];
	}
	free(old);
	return 0;
}

static int current_life(struct trim *trim, u32 id)
{
	return trim->nr_slots ? find_slot(trim, id)->life : NONE;
}

static int new_life(struct trim *trim, u32 pid, u32 id, u64 time)
{
	struct slot *slot;
	struct life *lives;
	int nr = trim->nr_lives;

	if (nr == trim->max_lives) {
		int max = trim->max_lives * 2 ?: 1024;

		lives = realloc(trim->lives, max * sizeof(*lives));
		if (!lives)
			return -ENOMEM;
		trim->lives = lives;
		trim->max_lives = max;
	}
	if (trim->nr_ids * 2 >= trim->nr_slots && grow_slots(trim))
		return -ENOMEM;

	slot = find_slot(trim, id);
	if (slot->life == NONE) {
		slot->id = id;
		trim->nr_ids++;
	} else if (!trim->lives[slot->life].dead) {
		/* The EXIT record of the older life was lost. */
		trim->lives[slot->life].dead = true;
		trim->lives[slot->life].end = time;
	}
	slot->life = nr;
	trim->lives[nr] = (struct life) {
		.id = id, .process = nr, .parent = NONE, .begin = time, .end = ULLONG_MAX,
		.looked_at = ULLONG_MAX,
	};
	if (pid != id && current_life(trim, pid) != NONE)
		trim->lives[nr].process = current_life(trim, pid);
	trim->nr_lives++;
	return nr;
}

/* A task without a FORK record has existed since before recording began: from time 0. */
static int find_life(struct trim *trim, u32 pid, u32 id)
{
	int life = current_life(trim, id);

	if (life == NONE && pid != id && current_life(trim, pid) == NONE &&
	    new_life(trim, pid, pid, 0) < 0)
		return -ENOMEM;
	return life == NONE ? new_life(trim, pid, id, 0) : life;
}

static int see_fork(struct trim *trim, const struct perf_record_fork *fork, u64 time)
{
	int parent = current_life(trim, fork->ptid), life;

	/* A child inherits the name of the forking thread, and the maps of its process. */
	if (parent == NONE)
		parent = current_life(trim, fork->ppid);
	life = new_life(trim, fork->pid, fork->tid, time);
	if (life >= 0 && fork->pid != fork->ppid)
		trim->lives[life].parent = parent;
	return life;
}

static int see(struct trim *trim, const struct join_record *record)
{
	const union perf_event *event = record->event;
	int life;

	switch (event->header.type) {
	case PERF_RECORD_FORK:
		return see_fork(trim, &event->fork, record->time);
	case PERF_RECORD_EXIT:
		life = find_life(trim, event->fork.pid, event->fork.tid);
		if (life >= 0) {
			trim->lives[life].dead = true;
			trim->lives[life].end = record->time;
		}
		return life;
	case PERF_RECORD_COMM:
		life = find_life(trim, event->comm.pid, event->comm.tid);
		if (life >= 0 && event->header.misc & PERF_RECORD_MISC_COMM_EXEC) {
			trim->lives[life].exec = record->time;
			if (!trim->lives[life].first_exec)
				trim->lives[life].first_exec = record->time;
		}
		return life;
	case PERF_RECORD_NAMESPACES:
		return find_life(trim, event->namespaces.pid, event->namespaces.tid);
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		/* A map of the kernel */
		if (event->mmap.pid == (u32)-1)
			return NONE;
		return find_life(trim, event->mmap.pid, event->mmap.pid);
	default:
		return NONE;
	}
}

static int see_all(struct trim *trim)
{
	for (size_t i = 0; i < trim->join->nr_records; i++) {
		int life = see(trim, &trim->join->records[i]);

		if (life == -ENOMEM)
			return life;
		trim->life_of[i] = life;
	}
	return 0;
}

/*
 * Needs
 */

/* Mark as needed @life at @time, its process, and the parents that it inherited from. */
static void need(struct trim *trim, int life, u64 time)
{
	bool inherit = false;

	while (life != NONE) {
		struct life *it = &trim->lives[life];

		it->needed = true;
		/* A child older than all samples can have state that was replaced later. */
		if (inherit && time < trim->needs->since)
			it->inherited = max(it->inherited, time);
		if (it->process != life) {
			life = it->process;
			continue;
		}
		if (it->looked_at <= time)
			return;
		it->looked_at = time;
		/* After exec() a task has nothing of its parent. */
		if (it->first_exec && it->first_exec <= time)
			return;
		time = it->begin;
		life = it->parent;
		inherit = true;
	}
}

static void find_needed(struct trim *trim)
{
	for (int i = 0; i < trim->nr_lives; i++) {
		const struct life *life = &trim->lives[i];

		/* A main thread may exit first. Other threads need it as their process. */
		if (!life->dead ||
		    record_needs__task(trim->needs, life->id, life->begin, life->end))
			need(trim, i, trim->needs->since);
	}
}

/*
 * Records that were replaced before the first sample. perf walks from the newest record
 * to the oldest, so the first record with a key is the valid one.
 */
struct key {
	u64	kind;
	u64	a;
	u64	b;
};

struct replaced {
	struct key	*keys;
	size_t		nr_keys;
	size_t		nr;
};

static bool set_key(struct trim *trim, size_t i, struct key *key)
{
	const union perf_event *event = trim->join->records[i].event;

	memset(key, 0, sizeof(*key));
	key->kind = event->header.type;
	switch (event->header.type) {
	case PERF_RECORD_COMM:
	case PERF_RECORD_NAMESPACES:
		key->a = trim->life_of[i] + 1;
		return true;
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		/* life_of of kernel maps is NONE, so their keys have 0 as the task. */
		key->a = (u64)(trim->life_of[i] + 1) << 32 ^ event->mmap.len;
		key->b = event->mmap.start;
		return true;
	case PERF_RECORD_KSYMBOL:
		key->a = event->ksymbol.addr;
		return true;
	case PERF_RECORD_BPF_EVENT:
		key->a = event->bpf.id;
		return true;
	case PERF_RECORD_CGROUP:
		key->a = event->cgroup.id;
		return true;
	default:
		return false;
	}
}

static size_t hash_key(const struct key *key)
{
	return (key->kind * 31 + key->a * 0x9e3779b97f4a7c15ULL + key->b * 0xc2b2ae3d27d4eb4fULL) >>
	       20;
}

/* Returns true if @key was there already. */
static bool has_or_add(struct replaced *replaced, const struct key *key)
{
	for (size_t i = hash_key(key);; i++) {
		struct key *it = &replaced->keys[i & (replaced->nr_keys - 1)];

		if (!it->kind) {
			*it = *key;
			replaced->nr++;
			return false;
		}
		if (!memcmp(it, key, sizeof(*key)))
			return true;
	}
}

/* Does the record say that its object is gone? */
static bool is_end(const union perf_event *event)
{
	switch (event->header.type) {
	case PERF_RECORD_KSYMBOL:
		return event->ksymbol.flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER;
	case PERF_RECORD_BPF_EVENT:
		return event->bpf.type == PERF_BPF_EVENT_PROG_UNLOAD;
	default:
		return false;
	}
}

/* Counts of lost or throttled samples are useless without other samples of that time. */
static bool is_about_then(const union perf_event *event)
{
	switch (event->header.type) {
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
		return true;
	default:
		return false;
	}
}

static bool is_before_exec(const struct trim *trim, size_t i)
{
	const struct join_record *record = &trim->join->records[i];
	const struct life *life = &trim->lives[trim->life_of[i]];

	return record->time < life->exec && life->exec < trim->needs->since &&
	       (record->event->header.type == PERF_RECORD_MMAP ||
		record->event->header.type == PERF_RECORD_MMAP2);
}

static bool is_useless(struct trim *trim, struct replaced *replaced, size_t i)
{
	const struct join_record *record = &trim->join->records[i];
	struct key key;

	if (trim->life_of[i] != NONE && !trim->lives[trim->life_of[i]].needed)
		return true;
	if (record->time >= trim->needs->since)
		return false;
	if (is_about_then(record->event) && record->time)
		return true;
	/* A child may have inherited state that its parent has replaced since. */
	if (trim->life_of[i] != NONE && trim->lives[trim->life_of[i]].inherited &&
	    record->time <= trim->lives[trim->life_of[i]].inherited)
		return false;
	if (trim->life_of[i] != NONE && is_before_exec(trim, i))
		return true;
	if (!set_key(trim, i, &key))
		return false;
	return has_or_add(replaced, &key) || is_end(record->event);
}

static int drop_useless(struct trim *trim)
{
	struct replaced replaced = { .nr_keys = 1024 };

	while (replaced.nr_keys < trim->join->nr_records * 2)
		replaced.nr_keys *= 2;
	replaced.keys = calloc(replaced.nr_keys, sizeof(*replaced.keys));
	if (!replaced.keys)
		return -ENOMEM;
	for (size_t i = trim->join->nr_records; i-- > 0;)
		trim->join->records[i].dropped |= is_useless(trim, &replaced, i);
	free(replaced.keys);
	return 0;
}

int record_trim(struct data_join *join, const struct record_needs *needs)
{
	struct trim trim = { .join = join, .needs = needs };
	int err = -ENOMEM;

	trim.life_of = calloc(join->nr_records + 1, sizeof(*trim.life_of));
	if (trim.life_of)
		err = see_all(&trim);
	if (!err) {
		find_needed(&trim);
		err = drop_useless(&trim);
	}
	free(trim.life_of);
	free(trim.lives);
	free(trim.slots);
	return err;
}
