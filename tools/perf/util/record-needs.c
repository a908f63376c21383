// SPDX-License-Identifier: GPL-2.0
/*
 * perf record --daemon: find tasks that have samples, in the buffers or in files.
 *
 * perf reads the buffers while the kernel writes to them. So it may misread the oldest
 * samples, which the kernel overwrites meanwhile. Then perf keeps a task that has no
 * samples, or drops one whose sample is gone. Both are harmless.
 */
#include "record-needs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/time64.h>
#include <linux/zalloc.h>
#include <perf/event.h>
#include <perf/mmap.h>
#include <sys/stat.h>
#include "event.h"
#include "evlist.h"
#include "evsel.h"
#include "mmap.h"
#include "record-grow.h"

/* An exiting task can have samples after its EXIT record. */
#define SLACK_NS	(100 * NSEC_PER_MSEC)
/* Tasks that have just ended may not have all their samples yet. */
#define RECENT_NS	NSEC_PER_SEC
/* Call idle() after as many records. */
#define IDLE_RECORDS	65536

/*
 * Files
 */

static void forget_missing(struct record_needs *needs)
{
	struct stat st;
	int nr = 0;

	for (int i = 0; i < needs->nr_files; i++) {
		if (lstat(needs->files[i].path, &st) && errno == ENOENT)
			free(needs->files[i].path);
		else
			needs->files[nr++] = needs->files[i];
	}
	needs->nr_files = nr;
}

int record_needs__add_file(struct record_needs *needs, const char *path, u64 first, u64 last)
{
	struct record_file_need *files;

	/* Forget removed files, or the list would grow for months. */
	forget_missing(needs);
	files = realloc(needs->files, (needs->nr_files + 1) * sizeof(*files));
	if (!files)
		return -ENOMEM;
	needs->files = files;
	files[needs->nr_files] = (struct record_file_need) {
		.path = strdup(path), .first = first, .last = last,
	};
	if (!files[needs->nr_files].path)
		return -ENOMEM;
	needs->nr_files++;
	return 0;
}

/*
 * Memory
 */

static int need_cmp(const void *_a, const void *_b)
{
	const struct record_need *a = _a, *b = _b;

	return a->id < b->id ? -1 : a->id > b->id;
}

/* Leave one entry for each task. */
static void merge_tasks(struct record_needs *needs)
{
	struct record_need *tasks = needs->tasks;
	size_t nr = 0;

	if (!needs->nr_tasks)
		return;
	qsort(tasks, needs->nr_tasks, sizeof(*tasks), need_cmp);
	for (size_t i = 1; i < needs->nr_tasks; i++) {
		if (tasks[i].id != tasks[nr].id) {
			tasks[++nr] = tasks[i];
			continue;
		}
		tasks[nr].first = min(tasks[nr].first, tasks[i].first);
		tasks[nr].last = max(tasks[nr].last, tasks[i].last);
	}
	needs->nr_tasks = nr + 1;
}

/* Make room for one more. */
static int grow_tasks(struct record_needs *needs)
{
	struct record_need *tasks;
	size_t max;

	if (needs->nr_tasks < needs->max_tasks)
		return 0;
	/* A full table has many entries for the same task. Leave room, or it is soon full again. */
	merge_tasks(needs);
	if (needs->max_tasks && needs->nr_tasks <= needs->max_tasks / 2)
		return 0;
	max = needs->max_tasks * 2 ?: 256;
	tasks = realloc(needs->tasks, max * sizeof(*tasks));
	if (!tasks)
		return -ENOMEM;
	needs->tasks = tasks;
	needs->max_tasks = max;
	return 0;
}

static int add_task(struct record_needs *needs, u32 id, u64 time)
{
	if (grow_tasks(needs))
		return -ENOMEM;
	needs->tasks[needs->nr_tasks++] = (struct record_need) {
		.id = id, .first = time, .last = time,
	};
	return 0;
}

/* The place of the ids and the time depends only on the few fields before them. */
static int add_sample(struct record_needs *needs, struct evlist *evlist, union perf_event *event)
{
	struct evsel *evsel = evlist__event2evsel(evlist, event);
	u64 type = evsel ? evsel->core.attr.sample_type : 0, time;
	const __u64 *word = event->sample.array;
	u32 ids[2];
	int err;

	word += !!(type & PERF_SAMPLE_IDENTIFIER) + !!(type & PERF_SAMPLE_IP);
	if (!(type & PERF_SAMPLE_TID) || !(type & PERF_SAMPLE_TIME) ||
	    (const void *)(word + 2) > (void *)event + event->header.size)
		return 0;
	memcpy(ids, word, sizeof(ids));
	time = word[1];

	needs->since = min(needs->since, time);
	err = add_task(needs, ids[0], time);
	if (!err && ids[1] != ids[0])
		err = add_task(needs, ids[1], time);
	return err;
}

/* Walk from the newest record to the oldest, which the kernel overwrites next. */
static int look_at(struct record_needs *needs, struct evlist *evlist, struct perf_mmap *map,
		   void (*idle)(void *arg), void *arg)
{
	u64 head = perf_mmap__read_head(map), pos = head, size = (u64)map->mask + 1;
	union perf_event event;
	u64 nr = 0, end;
	int err = 0;

	while (!err) {
		if (!(nr++ % IDLE_RECORDS))
			idle(arg);
		/* New records have overwritten as many bytes at the old end. */
		end = perf_mmap__read_head(map) + size;
		/* A backward buffer begins at position 0 and grows down. */
		if ((s64)end > 0 || !head)
			end = 0;
		if ((s64)(end - pos) < (s64)sizeof(event.header))
			break;
		perf_mmap__copy(map, pos, sizeof(event.header), &event.header);
		if (event.header.size < sizeof(event.header) ||
		    (s64)(end - pos) < event.header.size)
			break;
		if (event.header.type == PERF_RECORD_SAMPLE) {
			perf_mmap__copy(map, pos, min_t(size_t, event.header.size, sizeof(event)),
					&event);
			if (event.header.type == PERF_RECORD_SAMPLE)
				err = add_sample(needs, evlist, &event);
		}
		pos += event.header.size;
	}
	return err;
}

int record_needs__look(struct record_needs *needs, struct evlist *evlist,
		       const struct record_grow *grow, u64 now, void (*idle)(void *arg),
		       void *arg)
{
	int err = 0;

	forget_missing(needs);
	needs->since = now;
	needs->recent = now > RECENT_NS ? now - RECENT_NS : 0;
	for (int i = 0; i < needs->nr_files; i++)
		needs->since = min(needs->since, needs->files[i].first);

	for (int i = 0; i < evlist__core(evlist)->nr_mmaps && !err; i++) {
		struct perf_mmap *map = &evlist__overwrite_mmap(evlist)[i].core;

		if (map->base)
			err = look_at(needs, evlist, map, idle, arg);
	}
	for (int i = 0; i < grow->nr_olds && !err; i++)
		err = look_at(needs, evlist, &grow->olds[i].map, idle, arg);
	if (err)
		record_needs__forget_tasks(needs);
	else
		merge_tasks(needs);
	return err;
}

void record_needs__forget_tasks(struct record_needs *needs)
{
	zfree(&needs->tasks);
	needs->nr_tasks = 0;
	needs->max_tasks = 0;
}

void record_needs__exit(struct record_needs *needs)
{
	record_needs__forget_tasks(needs);
	for (int i = 0; i < needs->nr_files; i++)
		free(needs->files[i].path);
	zfree(&needs->files);
	needs->nr_files = 0;
}

/*
 * Queries
 */

bool record_needs__task(const struct record_needs *needs, u32 id, u64 begin, u64 end)
{
	const struct record_need key = { .id = id };
	const struct record_need *task;

	end += SLACK_NS;
	if (end >= needs->recent)
		return true;
	for (int i = 0; i < needs->nr_files; i++) {
		if (begin <= needs->files[i].last && end >= needs->files[i].first)
			return true;
	}
	if (!needs->nr_tasks)
		return false;
	task = bsearch(&key, needs->tasks, needs->nr_tasks, sizeof(*needs->tasks), need_cmp);
	return task && begin <= task->last && end >= task->first;
}
