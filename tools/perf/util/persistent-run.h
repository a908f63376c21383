/* SPDX-License-Identifier: GPL-2.0 */
/* What is to be read of one buffer of persistent events, block by block. */
#ifndef __PERF_PERSISTENT_RUN_H
#define __PERF_PERSISTENT_RUN_H

#include <limits.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include "persistent-read.h"

struct evlist;
struct perf_mmap;
struct persistent_records;

#define NOTHING_CUT	UINT_MAX

/* A record of a block that is loaded, if it is wanted */
struct persistent_record {
	u64	key;		/* by which they are sorted, see run__set_keys() */
	u32	offset;		/* in the data of the block */
	u32	pos : 31;	/* in the run */
	u32	vital : 1;
};

/* Some records of a run, in the order in which they are read */
struct persistent_block {
	u32	start;		/* where in the run they come from */
	char	*data;
	size_t	data_room;
	struct persistent_record *records;
	int	nr;
	int	room;
	int	pos;		/* the next one */
};

/* What was added of one buffer */
struct persistent_run {
	int		 cpu;
	struct perf_mmap *map;		/* NULL: it is a copy */
	u64		 head;		/* where in the map it starts */
	int		 fd;		/* of the copy, */
	off_t		 offset;	/* and where it starts in there */
	u32		 *starts;	/* of blocks, and where the last one ends */
	int		 nr_starts;
	int		 starts_room;
	u32		 cut;		/* what starts from here on is too old */
	u32		 hole;		/* from here on the copy was given back */
	struct persistent_block blocks[2];	/* that are loaded */
	int		 cur;		/* the one of these that has the next record */
	int		 next;		/* the next one to load */
	bool		 back;		/* from the newest record to the oldest */
	bool		 clear;		/* what was loaded is not needed again */
	u64		 key;		/* of the last record that was loaded */
};

/* How to look at records, and whether to count those that are cut */
struct persistent_looker {
	struct evlist	 *evlist;	/* whose records get what is left out of them, NULL: none */
	char		 *narrow;	/* a block of them as they were in the run */
	size_t		 narrow_room;
	persistent_look_t look;
	void		 *arg;
	u64		 nr_cut;
};

/* Note where blocks of about @block_size start, and where the last whole record ends. */
int persistent_run__init(struct persistent_run *run, const struct persistent_records *records,
			 u64 skip, u32 block_size);
void persistent_run__exit(struct persistent_run *run);

int persistent_run__nr_blocks(const struct persistent_run *run);

/* Where the first record starts, and the last one ends */
u32 persistent_run__start(const struct persistent_run *run);
u32 persistent_run__end(const struct persistent_run *run);

/* Begin at one end. With @clear the room of what was read is given back. */
void persistent_run__rewind(struct persistent_run *run, bool back, bool clear);

/*
 * Load what follows into blocks whose records were all taken. The data of these is there
 * until then.
 */
int persistent_run__fill(struct persistent_run *run, struct persistent_looker *looker);

/* Load block @nr alone. */
int persistent_run__load(struct persistent_run *run, int nr, struct persistent_looker *looker);

/* Give back what was needed for the blocks. */
void persistent_run__unload(struct persistent_run *run);

/* Are there records that are not loaded? */
bool persistent_run__has_more(const struct persistent_run *run);

/* The block with the next record that is loaded, NULL: none */
struct persistent_block *persistent_run__block(struct persistent_run *run);

/* Where the next record starts in the run */
u32 persistent_run__pos(struct persistent_run *run);

/* Records that are loaded and were not taken */
int persistent_run__nr_loaded(const struct persistent_run *run);

/* Make room for one more behind the @nr that are there. */
int persistent__reserve_one(void **array, int *room, int nr, size_t size);

#endif /* __PERF_PERSISTENT_RUN_H */
