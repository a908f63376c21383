// SPDX-License-Identifier: GPL-2.0
/*
 * Merge the records of many buffers in the order of time, without holding all in memory.
 *
 * Each buffer is sorted already, the newest record first. Live buffers are copied to a
 * file; buffers of snapshots are read in place. During the merge two blocks of each are in
 * memory. A block holds whole records, so even the largest record fits.
 *
 * A file in this order is cheap to read: perf report, perf script and the like search the
 * place of each record from the last one that they have seen.
 */
#include "persistent-merge.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <internal/lib.h>
#include <internal/mmap.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/sizes.h>
#include <linux/zalloc.h>
#include "debug.h"
#include "event.h"
#include "persistent-batch.h"
#include "persistent-read.h"
#include "persistent-run.h"
#include "util.h"

#define OUT_SIZE	(4 * PERF_SAMPLE_MAX_SIZE)

/* Size of all blocks together, which a CPU can cache if they are few; and of one block */
#define BLOCKS_SIZE	((int)SZ_4M)
#define MIN_BLOCK	((int)SZ_4K)
#define MAX_BLOCK	((int)SZ_64K)

/* Copies are kept in memory up to that size, and need no file. */
#define MEMORY_SIZE	SZ_32M

/*
 * Write copies in pieces of that size. For larger ones the file system uses large folios in
 * the page cache. On ext4, allocating these cost several times as much as the copy.
 */
#define WRITE_SIZE	((size_t)SZ_64K)

struct persistent_merge {
	struct persistent_looker looker;
	struct persistent_batch	*batch;
	struct persistent_run *runs;
	int		 nr_runs;
	int		 runs_room;
	int		 expected;	/* number of runs to be added */
	int		 memory;	/* memfd with the first copies, -1: none yet */
	int		 fd;		/* file for the others, -1: use only memory */
	off_t		 memory_size;
	off_t		 size;
	char		 *out;
	size_t		 out_len;
	u64		 time;
};

struct persistent_merge *persistent_merge__new(void)
{
	struct persistent_merge *merge = zalloc(sizeof(*merge));

	if (!merge)
		return NULL;

	merge->memory = -1;
	merge->fd = -1;
	merge->batch = persistent_batch__new();
	merge->out = malloc(OUT_SIZE);
	if (merge->batch && merge->out)
		return merge;

	persistent_merge__delete(merge);
	return NULL;
}

static void merge__drop_runs(struct persistent_merge *merge)
{
	for (int i = 0; i < merge->nr_runs; i++)
		persistent_run__exit(&merge->runs[i]);
	merge->nr_runs = 0;
	merge->memory_size = 0;
	merge->size = 0;
}

void persistent_merge__delete(struct persistent_merge *merge)
{
	if (!merge)
		return;

	merge__drop_runs(merge);
	if (merge->memory >= 0)
		close(merge->memory);
	free(merge->runs);
	persistent_batch__delete(merge->batch);
	free(merge->out);
	free(merge->looker.narrow);
	free(merge);
}

void persistent_merge__set_evlist(struct persistent_merge *merge, struct evlist *evlist)
{
	merge->looker.evlist = evlist;
}

void persistent_merge__set_look(struct persistent_merge *merge, persistent_look_t look,
				void *arg)
{
	merge->looker.look = look;
	merge->looker.arg = arg;
}

void persistent_merge__set_file(struct persistent_merge *merge, int fd)
{
	merge->fd = fd;
}

void persistent_merge__expect(struct persistent_merge *merge, int nr)
{
	merge->expected = nr;
}

u64 persistent_merge__time(const struct persistent_merge *merge)
{
	return merge->time;
}

u64 persistent_merge__nr_cut(const struct persistent_merge *merge)
{
	return merge->looker.nr_cut;
}

u64 persistent_merge__size(const struct persistent_merge *merge)
{
	u64 size = 0;

	for (int i = 0; i < merge->nr_runs; i++) {
		const struct persistent_run *run = &merge->runs[i];

		size += persistent_run__end(run) - persistent_run__start(run);
	}
	return size;
}

/*
 * Adding
 */

static u32 merge__block_size(const struct persistent_merge *merge)
{
	int size = BLOCKS_SIZE / 2 / max(merge->expected, 1);

	return clamp(size, MIN_BLOCK, MAX_BLOCK);
}

static int merge__open_memory(struct persistent_merge *merge)
{
	if (merge->memory < 0)
		merge->memory = memfd_create("perf-merge", MFD_CLOEXEC);
	return merge->memory < 0 ? -errno : 0;
}

static int write_pieces(int fd, const char *data, size_t len, off_t pos)
{
	errno = EIO;
	if (lseek(fd, pos, SEEK_SET) < 0)
		return -errno;

	while (len) {
		size_t piece = min(len, WRITE_SIZE);

		errno = EIO;
		if (writen(fd, (void *)data, piece) != (ssize_t)piece)
			return -errno;
		data += piece;
		len -= piece;
	}
	return 0;
}

/* Keep the part of @copy that is in the run. */
static int merge__write(struct persistent_merge *merge, struct persistent_run *run,
			const void *copy)
{
	u32 start = persistent_run__start(run), len = persistent_run__end(run) - start;
	bool is_little = merge->memory_size + len <= MEMORY_SIZE;
	bool in_memory = merge->fd < 0 || is_little;
	off_t *size = in_memory ? &merge->memory_size : &merge->size;
	int err = in_memory ? merge__open_memory(merge) : 0;

	if (err)
		return err;
	/* Memory is bounded, but a single buffer is always copied. */
	if (in_memory && !is_little && merge->nr_runs)
		return -ENOSPC;

	run->fd = in_memory ? merge->memory : merge->fd;
	err = write_pieces(run->fd, copy + start, len, *size);
	if (err)
		return err;

	/* Positions count from the start of @copy, even if that is not written. */
	run->offset = *size - start;
	*size += len;
	return 0;
}

int persistent_merge__add(struct persistent_merge *merge,
			  const struct persistent_records *records, u64 skip, u64 *end)
{
	struct persistent_run *run;
	int err;

	/* Positions have 31 bits, and no buffer is larger. */
	if (records->len > INT_MAX)
		return -EFBIG;
	err = persistent__reserve_one((void **)&merge->runs, &merge->runs_room, merge->nr_runs,
				      sizeof(*merge->runs));
	if (err)
		return err;

	run = &merge->runs[merge->nr_runs];
	memset(run, 0, sizeof(*run));
	err = persistent_run__init(run, records, skip, merge__block_size(merge));
	run->cpu = records->cpu;
	if (!records->copy) {
		run->map = records->map;
		run->head = records->head;
		perf_mmap__drop_pages(records->map, records->head, records->len);
	} else if (!err && persistent_run__nr_blocks(run)) {
		err = merge__write(merge, run, records->copy);
	}

	if (!err)
		*end = persistent_run__end(run);
	if (!err && persistent_run__nr_blocks(run))
		merge->nr_runs++;
	else
		persistent_run__exit(run);
	return err;
}

/*
 * Merging
 */

static int merge__start(struct persistent_merge *merge, bool back, bool clear)
{
	merge->looker.nr_cut = 0;
	return persistent_batch__start(merge->batch, merge->runs, merge->nr_runs, back, clear,
				       &merge->looker);
}

static int merge__flush(struct persistent_merge *merge, persistent_push_t push, void *to)
{
	size_t len = merge->out_len;
	int err;

	merge->out_len = 0;
	err = len ? push(to, merge->out, len) : 0;
	return min(err, 0);
}

static int merge__push_next(struct persistent_merge *merge, int nr, persistent_push_t push,
			    void *to)
{
	const struct perf_event_header *header = persistent_batch__item(merge->batch, nr)->header;
	int err = 0;

	if (merge->out_len + header->size > OUT_SIZE)
		err = merge__flush(merge, push, to);

	memcpy(merge->out + merge->out_len, header, header->size);
	merge->out_len += header->size;
	merge->time = max(merge->time, persistent_batch__time(merge->batch, nr));
	return err;
}

static int merge__push_all(struct persistent_merge *merge, persistent_push_t push, void *to)
{
	int nr, err = 0;

	while ((nr = persistent_batch__next(merge->batch)) > 0) {
		for (int i = 0; i < nr && !err; i++) {
			persistent_batch__prefetch(merge->batch, i);
			err = merge__push_next(merge, i, push, to);
		}
		if (err)
			return err;
	}
	return nr ?: merge__flush(merge, push, to);
}

/* Errors are harmless: the files only keep their space. */
static void merge__drop_copies(struct persistent_merge *merge)
{
	merge__drop_runs(merge);
	if ((merge->memory >= 0 && ftruncate(merge->memory, 0)) ||
	    (merge->fd >= 0 && ftruncate(merge->fd, 0)))
		pr_debug("cannot give the room of copies back: %m\n");
}

int persistent_merge__push(struct persistent_merge *merge, persistent_push_t push, void *to,
			   bool clear)
{
	int err;

	merge->out_len = 0;
	err = merge__start(merge, /*back=*/false, clear) ?: merge__push_all(merge, push, to);
	if (clear)
		merge__drop_copies(merge);
	return err;
}

/*
 * Finding the newest
 */

static s64 merge__vital_in_run(struct persistent_merge *merge, struct persistent_run *run)
{
	const struct persistent_block *block = &run->blocks[0];
	s64 size = 0;

	for (int nr = 0; nr < persistent_run__nr_blocks(run); nr++) {
		int err = persistent_run__load(run, nr, &merge->looker);

		if (err)
			return err;

		for (int i = 0; i < block->nr; i++) {
			const struct persistent_record *record = &block->records[i];
			const struct perf_event_header *header;

			header = (void *)block->data + record->offset;
			if (record->vital)
				size += header->size;
		}
	}
	persistent_run__unload(run);
	return size;
}

s64 persistent_merge__vital_size(struct persistent_merge *merge)
{
	s64 sum = 0;

	for (int i = 0; i < merge->nr_runs; i++) {
		s64 size = merge__vital_in_run(merge, &merge->runs[i]);

		if (size < 0)
			return size;
		sum += size;
	}
	return sum;
}

/* Cut the runs at record @first of the @nr in the batch: it and older ones are left out. */
static void merge__cut_here(struct persistent_merge *merge, int first, int nr)
{
	for (int i = 0; i < merge->nr_runs; i++)
		merge->runs[i].cut = persistent_run__pos(&merge->runs[i]);

	for (int i = nr - 1; i >= first; i--) {
		const struct persistent_item *item = persistent_batch__item(merge->batch, i);

		merge->runs[item->run].cut = item->pos;
	}
}

int persistent_merge__cut(struct persistent_merge *merge, u64 room)
{
	u64 size = 0;
	int nr, err;

	for (int i = 0; i < merge->nr_runs; i++)
		merge->runs[i].cut = NOTHING_CUT;

	err = merge__start(merge, /*back=*/true, /*clear=*/false);
	if (err)
		return err;

	while ((nr = persistent_batch__next(merge->batch)) > 0) {
		for (int i = 0; i < nr; i++) {
			const struct persistent_item *item;

			item = persistent_batch__item(merge->batch, i);
			if (item->vital)
				continue;
			if (size + item->header->size > room) {
				merge__cut_here(merge, i, nr);
				return size ? 0 : -E2BIG;
			}
			size += item->header->size;
		}
	}
	return nr;
}
