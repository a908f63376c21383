// SPDX-License-Identifier: GPL-2.0
/*
 * perf record -M --grow-to: replace buffers that hold samples for less time than --hold
 * says.
 *
 * Each buffer belongs to a dummy event, and the recording events write to it with
 * PERF_EVENT_IOC_SET_OUTPUT. So perf can redirect them to a larger buffer while they go on
 * recording, with the same ids, filters and counts. perf keeps a replaced buffer until its
 * records are older than --hold.
 *
 * perf does not look at records to find how long they last. If the kernel wrote as many
 * bytes as the buffer has since perf last looked at the clock, all older records are
 * gone.
 */
#include "record-grow.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/perf_event.h>
#include <linux/string.h>
#include <linux/time64.h>
#include <linux/zalloc.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <internal/xyarray.h>
#include <perf/cpumap.h>
#include <perf/threadmap.h>
#include "debug.h"
#include "evlist.h"
#include "evsel.h"
#include "mmap.h"
#include "record-live.h"
#include "record-memory.h"
#include "rlimit.h"
#include "time-utils.h"
#include "units.h"
#include "../perf-sys.h"

/*
 * Buffers
 */

static bool is_per_thread(struct evlist *evlist)
{
	return perf_cpu_map__has_any_cpu_or_is_empty(evlist__core(evlist)->user_requested_cpus);
}

/* Open the event that owns a buffer. If possible, it is not of a task that may end. */
static int open_owner(struct evlist *evlist, int idx, struct perf_cpu cpu)
{
	struct perf_event_attr attr = {
		.size		= sizeof(attr),
		.type		= PERF_TYPE_SOFTWARE,
		.config		= PERF_COUNT_SW_DUMMY,
		.write_backward	= 1,
		.exclude_kernel	= 1,
	};
	pid_t pid = perf_thread_map__pid(evlist__core(evlist)->threads,
					 is_per_thread(evlist) ? idx : 0);
	enum rlimit_action set_rlimit = NO_CHANGE;
	struct evsel *evsel;
	int fd;

	/* All events that write to one buffer must use the same clock. */
	evlist__for_each_entry(evlist, evsel) {
		if (evsel->core.attr.write_backward) {
			attr.use_clockid = evsel->core.attr.use_clockid;
			attr.clockid = evsel->core.attr.clockid;
		}
	}
	if (!is_per_thread(evlist) && pid != -1)
		pid = 0;
	do {
		fd = sys_perf_event_open(&attr, pid, is_per_thread(evlist) ? -1 : cpu.cpu, -1,
					 PERF_FLAG_FD_CLOEXEC);
	} while (fd < 0 && errno == EMFILE && rlimit__increase_nofile(&set_rlimit));
	return fd < 0 ? -errno : fd;
}

static int redirect_evsel(struct evlist *evlist, struct evsel *evsel, int idx, struct perf_cpu cpu,
			  int to)
{
	bool per_thread = is_per_thread(evlist);
	int x = per_thread ? 0 : perf_cpu_map__idx(evsel->core.cpus, cpu);

	for (int y = 0; x >= 0 && y < xyarray__max_y(evsel->core.fd); y++) {
		int fd = *(int *)xyarray__entry(evsel->core.fd, x, y);

		if ((!per_thread || y == idx) && fd >= 0 &&
		    ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, to))
			return -errno;
	}
	return 0;
}

/* Make all events that write to buffer @idx write to the buffer of event @to. */
static int redirect(struct evlist *evlist, int idx, struct perf_cpu cpu, int to)
{
	struct evsel *evsel;
	int err = 0;

	evlist__for_each_entry(evlist, evsel) {
		if (!err && evsel->core.attr.write_backward)
			err = redirect_evsel(evlist, evsel, idx, cpu, to);
	}
	return err;
}

/* Make a buffer that no event writes to yet. */
static int make_buffer(struct evlist *evlist, int idx, struct perf_cpu cpu, size_t size,
		       struct perf_mmap *map)
{
	int fd = open_owner(evlist, idx, cpu), err;

	if (fd < 0)
		return fd;
	*map = (struct perf_mmap) { .overwrite = true };
	if (!perf_mmap__mmap_existing(map, size, fd, cpu))
		return 0;
	err = -errno;
	close(fd);
	return err;
}

static void free_buffer(struct perf_mmap *map)
{
	munmap(map->base, perf_mmap__mmap_len(map));
	close(map->fd);
}

/* Unmap the event first: only an event that is not mapped can write to another buffer. */
static int take_over_first(struct record_grow *grow, struct evlist *evlist, int idx)
{
	struct perf_mmap *map = &evlist__overwrite_mmap(evlist)[idx].core, new;
	size_t size = (size_t)map->mask + 1;
	int err;

	munmap(map->base, perf_mmap__mmap_len(map));
	map->base = NULL;
	err = make_buffer(evlist, idx, map->cpu, size, &new);
	if (err)
		return err;
	err = redirect(evlist, idx, map->cpu, new.fd);
	if (err) {
		free_buffer(&new);
		return err;
	}
	map->base = new.base;
	map->fd = new.fd;
	grow->buffers[idx].fd = new.fd;
	return 0;
}

int record_grow__begin(struct record_grow *grow, struct evlist *evlist)
{
	u64 now = rdclock();
	int err = 0;

	grow->nr = evlist__core(evlist)->nr_mmaps;
	grow->buffers = calloc(grow->nr, sizeof(*grow->buffers));
	if (!grow->buffers)
		return -ENOMEM;
	for (int i = 0; i < grow->nr; i++) {
		grow->buffers[i].fd = -1;
		grow->buffers[i].since = now;
	}

	grow->max_each = rounddown_pow_of_two(record_memory__each(evlist, grow->max_size));
	for (int i = 0; i < grow->nr && !err; i++) {
		if (evlist__overwrite_mmap(evlist)[i].core.base)
			err = take_over_first(grow, evlist, i);
	}
	if (err) {
		errno = -err;
		pr_err("Cannot open buffers that can grow: %m. Leave out --grow-to, and make -M large enough for --hold.\n");
	}
	return err;
}

static int keep_old(struct record_grow *grow, const struct perf_mmap *map)
{
	struct record_grow_old *olds;

	olds = realloc(grow->olds, (grow->nr_olds + 1) * sizeof(*olds));
	if (!olds)
		return -ENOMEM;
	grow->olds = olds;
	olds[grow->nr_olds].map = *map;
	olds[grow->nr_olds].until = rdclock() + grow->hold_ns;
	return 0;
}

static int replace(struct record_grow *grow, struct evlist *evlist, int idx, u64 size,
		   struct record_live *live)
{
	struct perf_mmap *map = &evlist__overwrite_mmap(evlist)[idx].core, new;
	int err = keep_old(grow, map) ?: make_buffer(evlist, idx, map->cpu, size, &new);

	if (err)
		return err;
	err = redirect(evlist, idx, map->cpu, new.fd);
	if (err) {
		redirect(evlist, idx, map->cpu, map->fd);
		free_buffer(&new);
		return err;
	}
	grow->nr_olds++;
	map->base = new.base;
	map->mask = new.mask;
	map->fd = new.fd;
	map->prev = 0;
	grow->buffers[idx].fd = new.fd;
	grow->buffers[idx].head = 0;
	record_live__add(live, map);
	return 0;
}

/* The size of all buffers in use */
static u64 whole_size(struct evlist *evlist)
{
	u64 size = 0;

	for (int i = 0; i < evlist__core(evlist)->nr_mmaps; i++) {
		if (evlist__overwrite_mmap(evlist)[i].core.base)
			size += (u64)evlist__overwrite_mmap(evlist)[i].core.mask + 1;
	}
	return size;
}

static void grow_buffer(struct record_grow *grow, struct evlist *evlist, int idx,
			struct record_live *live)
{
	u64 size = 2 * ((u64)evlist__overwrite_mmap(evlist)[idx].core.mask + 1);
	struct record_grow_buffer *buf = &grow->buffers[idx];
	char all[24], each[24];
	int err;

	if (grow->ends || buf->is_max)
		return;
	if (size > grow->max_each) {
		buf->is_max = true;
		pr_warning("WARNING: buffer %d holds less than %s, and --grow-to does not allow a larger one\n",
			   idx, grow->hold);
		return;
	}

	err = replace(grow, evlist, idx, size, live);
	if (err) {
		grow->ends = true;
		errno = -err;
		pr_warning("WARNING: buffer %d holds less than %s, and cannot grow: %m\n", idx,
			   grow->hold);
		return;
	}
	unit_number__scnprintf_exact(each, sizeof(each), size);
	unit_number__scnprintf_exact(all, sizeof(all), whole_size(evlist));
	if (!quiet)
		fprintf(stderr, "[ perf record: buffer %d held less than %s: it is %s now, and memory %s ]\n",
			idx, grow->hold, each, all);
}

/* Free replaced buffers whose records are too old, or are all in the output file. */
static void drop_olds(struct record_grow *grow, u64 now)
{
	int nr = 0;

	for (int i = 0; i < grow->nr_olds; i++) {
		struct record_grow_old *old = &grow->olds[i];

		if (now < old->until && old->map.prev != perf_mmap__read_head(&old->map))
			grow->olds[nr++] = *old;
		else
			free_buffer(&old->map);
	}
	grow->nr_olds = nr;
}

void record_grow__look(struct record_grow *grow, struct evlist *evlist, struct record_live *live)
{
	u64 now = rdclock(), head;

	drop_olds(grow, now);
	for (int i = 0; i < grow->nr; i++) {
		const struct perf_mmap *map = &evlist__overwrite_mmap(evlist)[i].core;
		struct record_grow_buffer *buf = &grow->buffers[i];

		if (!map->base)
			continue;
		head = perf_mmap__read_head((struct perf_mmap *)map);
		if (buf->head - head <= map->mask && now - buf->since < grow->hold_ns)
			continue;
		buf->head = head;
		/* All of the buffer was overwritten in less time than --hold. */
		if (now - buf->since < grow->hold_ns)
			grow_buffer(grow, evlist, i, live);
		buf->since = now;
	}
}

int record_grow__wait_ms(const struct record_grow *grow, int ms)
{
	const u64 least = 10, most = MSEC_PER_SEC;
	u64 wait = grow->hold_ns / NSEC_PER_MSEC / 8;

	if (!grow->on)
		return ms;
	wait = clamp(wait, least, most);
	return ms < 0 ? (int)wait : min_t(int, ms, wait);
}

void record_grow__exit(struct record_grow *grow)
{
	for (int i = 0; i < grow->nr_olds; i++)
		free_buffer(&grow->olds[i].map);
	for (int i = 0; i < grow->nr; i++) {
		if (grow->buffers[i].fd >= 0)
			close(grow->buffers[i].fd);
	}
	zfree(&grow->olds);
	zfree(&grow->buffers);
	grow->nr = 0;
	grow->nr_olds = 0;
}
