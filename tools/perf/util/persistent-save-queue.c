// SPDX-License-Identifier: GPL-2.0
/*
 * Find the next snapshot to save.
 *
 * A namespace tells the number of its last snapshot. If a namespace is deleted, its snapshots
 * remain: look for the last one that the kernel still has.
 */
#include "persistent-save-queue.h"

#include <errno.h>
#include <stdlib.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/zalloc.h>
#include "persistent.h"
#include "persistent-control.h"
#include "persistent-save-dir.h"

/* Look for so many more: sysfs lists snapshots of triggers a moment later. */
#define MAX_UNSEEN	64

static struct save_source *queue__find_source(struct save_queue *queue, u64 id)
{
	for (int i = 0; i < queue->nr_sources; i++) {
		if (queue->sources[i].id == id)
			return &queue->sources[i];
	}
	return NULL;
}

/* Sort them by age: a younger namespace has a higher id. */
static struct save_source *queue__add_source(struct save_queue *queue, u64 id)
{
	struct save_source *sources;
	int i = queue->nr_sources;

	sources = realloc(queue->sources, (i + 1) * sizeof(*sources));
	if (!sources)
		return NULL;
	queue->sources = sources;
	for (; i && sources[i - 1].id > id; i--)
		sources[i] = sources[i - 1];
	sources[i] = (struct save_source) { .id = id };
	queue->nr_sources++;
	return &sources[i];
}

/* @add: also add namespaces of which no snapshot was seen before */
static int queue__look_for_names(struct save_queue *queue, bool add)
{
	char **names = persistent__names();
	struct persistent_ns *snapshot;
	int err = names ? 0 : -ENOMEM;

	for (int i = 0; names && names[i] && !err; i++) {
		u32 number = persistent__snapshot_number(names[i], queue->name);
		struct save_source *source;

		if (!number)
			continue;
		err = persistent_ns__lookup(names[i], /*write=*/false, &snapshot);
		/* Deleted meanwhile, or the caller may not read it */
		if (err == -ENOENT || err == -EACCES || err == -EPERM)
			err = 0;
		if (!snapshot)
			continue;
		source = queue__find_source(queue, snapshot->source_id);
		if (!source && add) {
			source = queue__add_source(queue, snapshot->source_id);
			err = source ? 0 : -ENOMEM;
		}
		if (source)
			source->last = max(source->last, number);
		persistent_ns__close(snapshot);
	}
	persistent__free_names(names);
	return err;
}

/* The namespace was deleted. It may have taken more snapshots after the last look at it. */
static int queue__look_for_last(struct save_queue *queue)
{
	struct save_source *source = queue__find_source(queue, queue->ns_id);
	int err = queue__look_for_names(queue, /*add=*/false);
	struct persistent_ns *snapshot;

	for (u32 i = 1, from = source->last; i <= MAX_UNSEEN && !err; i++) {
		if (persistent__lookup_snapshot(queue->name, source->id, from + i, &snapshot))
			continue;
		source->last = from + i;
		persistent_ns__close(snapshot);
	}
	return err;
}

/* Get the number of the last snapshot. Any later snapshot wakes the next poll(). */
static int queue__look_again(struct save_queue *queue)
{
	int err = queue->ns ? persistent_ns__look_again(queue->ns) : -ENOENT;

	if (err == -ENOENT) {
		persistent_ns__close(queue->ns);
		queue->ns = NULL;
		return queue->ns_id ? queue__look_for_last(queue) : 0;
	}
	if (!err)
		queue__find_source(queue, queue->ns_id)->last = queue->ns->number;
	return err;
}

int save_queue__next(struct save_queue *queue, struct save_dir *dir,
		     struct persistent_ns **snapshot)
{
	int err = queue__look_again(queue);

	for (int i = 0; i < queue->nr_sources && !err; i++) {
		const struct save_source *source = &queue->sources[i];
		struct save_mark *mark = save_dir__mark(dir, source->id);

		if (!mark)
			return -ENOMEM;
		err = persistent__find_snapshot(queue->name, source->id, &mark->settled,
						source->last, "saved", snapshot);
		if (!err)
			return 0;
		if (err == -ENOENT)
			err = 0;
	}
	return err ?: -ENOENT;
}

int save_queue__open(struct save_queue *queue, const char *name)
{
	int err;

	*queue = (struct save_queue) { .name = name };
	err = persistent_ns__lookup(name, /*write=*/false, &queue->ns);
	if (err && err != -ENOENT)
		return persistent__err_open(err, name);

	if (!err) {
		err = persistent_ns__check_live(queue->ns);
		if (err)
			return err;
		queue->ns_id = queue->ns->id;
		if (!queue__add_source(queue, queue->ns_id))
			return -ENOMEM;
	}
	err = queue__look_for_names(queue, /*add=*/true);
	/* A deleted namespace is fine if it has left snapshots. */
	if (!err && !queue->nr_sources)
		err = -ENOENT;
	return err ? persistent__err_open(err, name) : 0;
}

void save_queue__close(struct save_queue *queue)
{
	persistent_ns__close(queue->ns);
	zfree(&queue->sources);
}
