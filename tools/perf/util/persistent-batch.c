// SPDX-License-Identifier: GPL-2.0
/*
 * Take records from many runs in the order of time.
 *
 * A heap of hundreds of runs would take each record from another place in memory, and compare
 * it with many others elsewhere. So take a batch of records at a time. The batch ends at the
 * earliest time up to which any run is loaded, as later records are not known yet. It is
 * sorted by keys of 8 bytes, which hold the time since the first record and the number of the
 * record. So the cost of a record does not depend on the number of runs.
 */
#include "persistent-batch.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <linux/bitops.h>
#include <linux/kernel.h>
#include <linux/zalloc.h>
#include "event.h"
#include "persistent-run.h"

/* Records are scattered over the blocks: prefetch that many ahead, each in two steps. */
#define PREFETCH	8

#define CACHE_LINE	64

#define DIGIT_BITS	8
#define NR_DIGITS	256

struct persistent_batch {
	struct persistent_run	*runs;
	int			 nr_runs;
	bool			 back;
	struct persistent_looker *looker;
	u64			*first;		/* key of the next record of each run */
	u64			*last;		/* of its last loaded one, if it has more */
	bool			*taken;		/* run gave records, and must be filled */
	int			 nr_loaded;
	struct persistent_item	*items;
	u64			*keys;		/* of items, sorted */
	u64			*spare;		/* to sort them */
	int			 nr;
	int			 room;
	int			 nr_bits;	/* of a key, for the number of its item */
	u64			 base;		/* keys hold the time since then */
};

struct persistent_batch *persistent_batch__new(void)
{
	return zalloc(sizeof(struct persistent_batch));
}

static void batch__free(struct persistent_batch *batch)
{
	zfree(&batch->items);
	zfree(&batch->keys);
	zfree(&batch->spare);
	batch->room = 0;
}

void persistent_batch__delete(struct persistent_batch *batch)
{
	if (!batch)
		return;

	batch__free(batch);
	free(batch->first);
	free(batch->last);
	free(batch->taken);
	free(batch);
}

/*
 * Runs are numbered in the order that their records have if their times are equal. Runs that
 * were added first are older.
 */
static int batch__index(const struct persistent_batch *batch, int nr)
{
	return batch->back ? batch->nr_runs - 1 - nr : nr;
}

static struct persistent_run *batch__run(const struct persistent_batch *batch, int nr)
{
	return &batch->runs[batch__index(batch, nr)];
}

static int batch__fill_run(struct persistent_batch *batch, int nr)
{
	struct persistent_run *run = batch__run(batch, nr);
	struct persistent_block *block;
	int err;

	batch->nr_loaded -= persistent_run__nr_loaded(run);
	err = persistent_run__fill(run, batch->looker);
	if (err)
		return err;

	batch->nr_loaded += persistent_run__nr_loaded(run);
	block = persistent_run__block(run);
	batch->first[nr] = block ? block->records[block->pos].key : ULLONG_MAX;
	batch->last[nr] = persistent_run__has_more(run) ? run->key : ULLONG_MAX;
	if (!block)
		persistent_run__unload(run);
	return 0;
}

int persistent_batch__start(struct persistent_batch *batch, struct persistent_run *runs,
			    int nr_runs, bool back, bool clear, struct persistent_looker *looker)
{
	size_t room = max(nr_runs, 1);

	free(batch->first);
	free(batch->last);
	free(batch->taken);
	batch->first = calloc(room, sizeof(*batch->first));
	batch->last = calloc(room, sizeof(*batch->last));
	batch->taken = calloc(room, sizeof(*batch->taken));
	if (!batch->first || !batch->last || !batch->taken)
		return -ENOMEM;

	batch->runs = runs;
	batch->nr_runs = nr_runs;
	batch->back = back;
	batch->looker = looker;
	batch->nr_loaded = 0;
	batch->nr = 0;
	for (int nr = 0; nr < nr_runs; nr++) {
		int err;

		persistent_run__rewind(batch__run(batch, nr), back, clear);
		err = batch__fill_run(batch, nr);
		if (err)
			return err;
	}
	return 0;
}

static int batch__reserve(struct persistent_batch *batch)
{
	int room = batch->nr_loaded;

	if (room <= batch->room)
		return 0;

	batch__free(batch);
	batch->items = malloc(room * sizeof(*batch->items));
	batch->keys = malloc(room * sizeof(*batch->keys));
	batch->spare = malloc(room * sizeof(*batch->spare));
	if (!batch->items || !batch->keys || !batch->spare)
		return -ENOMEM;
	batch->room = room;
	return 0;
}

static void batch__add(struct persistent_batch *batch, int index,
		       const struct persistent_block *block,
		       const struct persistent_record *record)
{
	batch->items[batch->nr] = (struct persistent_item) {
		.header	= (void *)block->data + record->offset,
		.run	= index,
		.pos	= record->pos,
		.vital	= record->vital,
	};
	batch->keys[batch->nr] = (record->key - batch->base) << batch->nr_bits | batch->nr;
	batch->nr++;
}

/* Take all records of a run up to @limit. */
static void batch__take(struct persistent_batch *batch, int nr, u64 limit)
{
	struct persistent_run *run = batch__run(batch, nr);
	int index = batch__index(batch, nr);
	struct persistent_block *block;

	batch->taken[nr] = true;
	while ((block = persistent_run__block(run))) {
		while (block->pos < block->nr && block->records[block->pos].key <= limit)
			batch__add(batch, index, block, &block->records[block->pos++]);
		if (block->pos < block->nr) {
			batch->first[nr] = block->records[block->pos].key;
			return;
		}
	}
	batch->first[nr] = ULLONG_MAX;
}

/*
 * Up to which time are all records known? That time itself is included for the runs up to
 * @limit_nr, and excluded for the others.
 */
static u64 batch__limit(struct persistent_batch *batch, int *limit_nr)
{
	u64 limit = ULLONG_MAX, longest = ULLONG_MAX >> batch->nr_bits;

	*limit_nr = batch->nr_runs;
	for (int nr = 0; nr < batch->nr_runs; nr++) {
		if (batch->last[nr] < limit) {
			limit = batch->last[nr];
			*limit_nr = nr;
		}
	}

	/* The time since base must fit into the bits that a key has for it. */
	if (limit - batch->base > longest) {
		limit = batch->base + longest;
		*limit_nr = batch->nr_runs;
	}
	return limit;
}

/* One pass by the digit at @shift. */
static void batch__sort_digit(struct persistent_batch *batch, int shift)
{
	u32 starts[NR_DIGITS] = { 0 }, pos = 0;
	u64 *sorted = batch->spare;

	for (int i = 0; i < batch->nr; i++)
		starts[batch->keys[i] >> shift & (NR_DIGITS - 1)]++;

	for (int digit = 0; digit < NR_DIGITS; digit++) {
		u32 nr = starts[digit];

		starts[digit] = pos;
		pos += nr;
	}

	for (int i = 0; i < batch->nr; i++) {
		u64 key = batch->keys[i];

		sorted[starts[key >> shift & (NR_DIGITS - 1)]++] = key;
	}
	batch->spare = batch->keys;
	batch->keys = sorted;
}

/* The sort is stable: items with equal times keep the order in which they were added. */
static void batch__sort(struct persistent_batch *batch)
{
	u64 differ = 0, sorted = 1;

	for (int i = 1; i < batch->nr; i++) {
		differ |= batch->keys[i] ^ batch->keys[0];
		sorted &= batch->keys[i - 1] < batch->keys[i];
	}
	if (sorted)
		return;

	for (int shift = batch->nr_bits; shift < 64 && differ >> shift; shift += DIGIT_BITS) {
		if (differ >> shift & (NR_DIGITS - 1))
			batch__sort_digit(batch, shift);
	}
}

/* Load more of the runs that the last batch was taken from. */
static int batch__refill(struct persistent_batch *batch)
{
	int err = 0;

	for (int nr = 0; nr < batch->nr_runs && !err; nr++) {
		if (batch->taken[nr])
			err = batch__fill_run(batch, nr);
		batch->taken[nr] = false;
	}
	return err;
}

static void batch__gather(struct persistent_batch *batch)
{
	int limit_nr;
	u64 limit;

	batch->nr = 0;
	batch->base = ULLONG_MAX;
	for (int nr = 0; nr < batch->nr_runs; nr++)
		batch->base = min(batch->base, batch->first[nr]);
	batch->nr_bits = fls_long(batch->nr_loaded);
	limit = batch__limit(batch, &limit_nr);

	for (int nr = 0; nr < batch->nr_runs; nr++) {
		/* Runs after @limit_nr give only records before the limit. */
		if (nr == limit_nr + 1 && !limit--)
			break;
		if (batch->first[nr] <= limit)
			batch__take(batch, nr, limit);
	}
	batch->nr_loaded -= batch->nr;
}

int persistent_batch__next(struct persistent_batch *batch)
{
	int err = batch__refill(batch) ?: batch__reserve(batch);

	if (err)
		return err;

	batch__gather(batch);
	batch__sort(batch);
	return batch->nr;
}

static int batch__sorted(const struct persistent_batch *batch, int nr)
{
	return batch->keys[nr] & ((1ULL << batch->nr_bits) - 1);
}

const struct persistent_item *persistent_batch__item(const struct persistent_batch *batch, int nr)
{
	return &batch->items[batch__sorted(batch, nr)];
}

u64 persistent_batch__time(const struct persistent_batch *batch, int nr)
{
	return batch->base + (batch->keys[nr] >> batch->nr_bits);
}

void persistent_batch__prefetch(const struct persistent_batch *batch, int nr)
{
	if (nr + 2 * PREFETCH < batch->nr)
		__builtin_prefetch(persistent_batch__item(batch, nr + 2 * PREFETCH));
	if (nr + PREFETCH < batch->nr) {
		const char *header = (void *)persistent_batch__item(batch, nr + PREFETCH)->header;

		__builtin_prefetch(header);
		__builtin_prefetch(header + CACHE_LINE);
	}
}
