// SPDX-License-Identifier: GPL-2.0
/*
 * Read the records of one buffer of persistent events, block by block.
 *
 * They are in a file, or still in the buffer if that does not change any more. The newest
 * record comes first, as in the buffer. A record does not tell where the record before it
 * starts. So reading from the oldest to the newest requires an index: it has the positions
 * where blocks of whole records start.
 *
 *   newest                             oldest
 *   | block 0 | block 1 | block 2 | block 3 |
 *             ^ loaded  ^ loaded  <- read in this direction, or in the other one to find
 *                                    the newest records
 *
 * Two blocks are loaded at a time, so that there is at least one to take records from.
 */
#include "persistent-run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <internal/lib.h>
#include <internal/mmap.h>
#include <linux/falloc.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/sizes.h>
#include <linux/zalloc.h>
#include "debug.h"
#include "event.h"
#include "persistent-merge.h"
#include "persistent-wide.h"
#include "util.h"

/* A hole of that size is worth a system call. */
#define HOLE_SIZE	SZ_1M

int persistent__reserve_one(void **array, int *room, int nr, size_t size)
{
	int more = nr ? 2 * nr : 16;
	void *new_array;

	if (nr < *room)
		return 0;

	new_array = realloc(*array, more * size);
	if (!new_array)
		return -ENOMEM;
	*array = new_array;
	*room = more;
	return 0;
}

/*
 * The index
 */

/* A header does not wrap around the end of the buffer: it is aligned to its size. */
static const struct perf_event_header *records__header(const struct persistent_records *records,
						       u64 pos)
{
	if (records->copy)
		return records->copy + pos;
	return records->map->base + page_size + ((records->head + pos) & records->map->mask);
}

static int run__note_start(struct persistent_run *run, u32 start)
{
	int err = persistent__reserve_one((void **)&run->starts, &run->starts_room,
					  run->nr_starts, sizeof(*run->starts));

	if (!err)
		run->starts[run->nr_starts++] = start;
	return err;
}

int persistent_run__init(struct persistent_run *run, const struct persistent_records *records,
			 u64 skip, u32 block_size)
{
	u64 pos = 0, next = skip;
	int err;

	while (pos + sizeof(struct perf_event_header) <= records->len) {
		const struct perf_event_header *header = records__header(records, pos);

		if (header->size < sizeof(*header) || pos + header->size > records->len)
			break;

		if (pos >= next) {
			err = run__note_start(run, pos);
			if (err)
				return err;
			next = pos + block_size;
		}
		pos += header->size;
	}

	run->cut = NOTHING_CUT;
	run->hole = pos;
	return run__note_start(run, pos);
}

void persistent_run__exit(struct persistent_run *run)
{
	persistent_run__unload(run);
	zfree(&run->starts);
}

int persistent_run__nr_blocks(const struct persistent_run *run)
{
	return run->nr_starts - 1;
}

u32 persistent_run__start(const struct persistent_run *run)
{
	return run->starts[0];
}

u32 persistent_run__end(const struct persistent_run *run)
{
	return run->starts[run->nr_starts - 1];
}

/*
 * Loading
 */

void persistent_run__unload(struct persistent_run *run)
{
	for (size_t i = 0; i < ARRAY_SIZE(run->blocks); i++) {
		struct persistent_block *block = &run->blocks[i];

		zfree(&block->data);
		zfree(&block->records);
		memset(block, 0, sizeof(*block));
	}
}

static int reserve_data(char **data, size_t *room, size_t len)
{
	if (len <= *room)
		return 0;

	free(*data);
	*data = malloc(len);
	*room = *data ? len : 0;
	return *data ? 0 : -ENOMEM;
}

static int run__read(struct persistent_run *run, char *data, u32 start, u32 len)
{
	if (run->map) {
		perf_mmap__copy(run->map, run->head + start, len, data);
		perf_mmap__drop_pages(run->map, run->head + start, len);
		return 0;
	}

	errno = EIO;
	return preadn(run->fd, data, len, run->offset + start) == (ssize_t)len ? 0 : -errno;
}

static int run__look(struct persistent_run *run, struct persistent_block *block, u32 offset,
		     u32 pos, struct persistent_looker *looker)
{
	union perf_event *event = (void *)block->data + offset;
	enum persistent_look look = PERSISTENT_KEEP;
	struct persistent_record *record;
	u64 time = 0;
	int err;

	err = persistent__reserve_one((void **)&block->records, &block->room, block->nr,
				      sizeof(*block->records));
	if (err)
		return err;

	if (looker->evlist && !evlist__knows_record(looker->evlist, event)) {
		pr_warning_once("WARNING: records of events that have left the namespace, or came while it was read, are left out.\n");
		return 0;
	}
	if (looker->look)
		look = looker->look(looker->arg, event, &time);
	if (look == PERSISTENT_DROP)
		return 0;
	if (look == PERSISTENT_KEEP && pos >= run->cut) {
		looker->nr_cut++;
		return 0;
	}

	record = &block->records[block->nr++];
	record->key = time;
	record->offset = offset;
	record->pos = pos;
	record->vital = look == PERSISTENT_VITAL;
	return 0;
}

static void block__reverse(struct persistent_block *block)
{
	for (int i = 0, j = block->nr - 1; i < j; i++, j--) {
		struct persistent_record record = block->records[i];

		block->records[i] = block->records[j];
		block->records[j] = record;
	}
}

/*
 * Keys only grow: they are times, or with run->back inverted times. A record whose time is
 * missing or out of order gets the key of the record before it.
 */
static void run__set_keys(struct persistent_run *run, struct persistent_block *block)
{
	for (int i = 0; i < block->nr; i++) {
		u64 time = block->records[i].key;

		if (time)
			run->key = max(run->key, run->back ? ~time : time);
		block->records[i].key = run->key;
	}
}

/* Ignore errors: not all file systems can punch holes, and it only saves space. */
static void run__give_back(struct persistent_run *run, u32 start)
{
	if (!run->clear || run->map || (start > run->starts[0] && run->hole - start < HOLE_SIZE))
		return;

	fallocate(run->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, run->offset + start,
		  run->hole - start);
	run->hole = start;
}

/* Look at the @len bytes of records in block->data. */
static int run__look_at_all(struct persistent_run *run, struct persistent_block *block, u32 len,
			    struct persistent_looker *looker)
{
	u32 offset = 0;
	int err = 0;

	while (offset < len && !err) {
		const struct perf_event_header *header = (void *)block->data + offset;

		err = run__look(run, block, offset, block->start + offset, looker);
		offset += header->size;
	}
	return err;
}

static size_t count_records(const char *data, u32 len)
{
	size_t nr = 0;

	for (u32 offset = 0; offset < len; nr++) {
		const struct perf_event_header *header = (void *)data + offset;

		offset += header->size;
	}
	return nr;
}

/* The same for looker->narrow: copy the records to block->data, with the left out fields. */
static int run__widen_and_look(struct persistent_run *run, struct persistent_block *block,
			       u32 len, struct persistent_looker *looker)
{
	size_t wide_len = len + count_records(looker->narrow, len) * PERSISTENT_WIDER;
	u32 from = 0, to = 0;
	int err;

	err = reserve_data(&block->data, &block->data_room, wide_len);
	while (from < len && !err) {
		const union perf_event *narrow = (void *)looker->narrow + from;
		size_t size = evlist__widen(looker->evlist, run->cpu, narrow,
					    (void *)block->data + to);

		if (size)
			err = run__look(run, block, to, block->start + from, looker);
		else
			pr_warning_once("WARNING: a record is too large for a file, and is missing.\n");
		from += narrow->header.size;
		to += size;
	}
	return err;
}

static int run__load(struct persistent_run *run, struct persistent_block *block, int nr,
		     struct persistent_looker *looker)
{
	bool widen = looker->evlist && evlist__leaves_out(looker->evlist);
	u32 len = run->starts[nr + 1] - run->starts[nr];
	char **data = widen ? &looker->narrow : &block->data;
	int err;

	block->start = run->starts[nr];
	block->nr = 0;
	block->pos = 0;
	err = reserve_data(data, widen ? &looker->narrow_room : &block->data_room, len);
	if (err)
		return err;

	err = run__read(run, *data, block->start, len);
	run__give_back(run, block->start);
	if (!err)
		err = widen ? run__widen_and_look(run, block, len, looker) :
			      run__look_at_all(run, block, len, looker);
	if (err)
		return err;

	if (!run->back)
		block__reverse(block);
	run__set_keys(run, block);
	return 0;
}

int persistent_run__load(struct persistent_run *run, int nr, struct persistent_looker *looker)
{
	return run__load(run, &run->blocks[0], nr, looker);
}

/*
 * Taking records in their order
 */

void persistent_run__rewind(struct persistent_run *run, bool back, bool clear)
{
	run->back = back;
	run->clear = clear;
	run->key = 0;
	run->next = back ? 0 : persistent_run__nr_blocks(run) - 1;
	run->cur = 0;
	for (size_t i = 0; i < ARRAY_SIZE(run->blocks); i++) {
		run->blocks[i].nr = 0;
		run->blocks[i].pos = 0;
	}
}

bool persistent_run__has_more(const struct persistent_run *run)
{
	return run->next >= 0 && run->next < persistent_run__nr_blocks(run);
}

static bool block__is_done(const struct persistent_block *block)
{
	return block->pos == block->nr;
}

/* Load the next block that has any wanted record. */
static int run__load_next(struct persistent_run *run, struct persistent_block *block,
			  struct persistent_looker *looker)
{
	int err = 0;

	while (block__is_done(block) && persistent_run__has_more(run) && !err) {
		err = run__load(run, block, run->next, looker);
		run->next += run->back ? 1 : -1;
	}
	return err;
}

int persistent_run__fill(struct persistent_run *run, struct persistent_looker *looker)
{
	struct persistent_block *cur = persistent_run__block(run);
	int err;

	/* The other block follows the current one. */
	cur = cur ?: &run->blocks[run->cur];
	err = run__load_next(run, cur, looker);
	return err ?: run__load_next(run, &run->blocks[!run->cur], looker);
}

struct persistent_block *persistent_run__block(struct persistent_run *run)
{
	if (block__is_done(&run->blocks[run->cur]) && !block__is_done(&run->blocks[!run->cur]))
		run->cur = !run->cur;
	return block__is_done(&run->blocks[run->cur]) ? NULL : &run->blocks[run->cur];
}

u32 persistent_run__pos(struct persistent_run *run)
{
	const struct persistent_block *block = persistent_run__block(run);

	if (block)
		return block->records[block->pos].pos;
	return persistent_run__has_more(run) ? run->starts[run->next] : NOTHING_CUT;
}

int persistent_run__nr_loaded(const struct persistent_run *run)
{
	int nr = 0;

	for (size_t i = 0; i < ARRAY_SIZE(run->blocks); i++)
		nr += run->blocks[i].nr - run->blocks[i].pos;
	return nr;
}
