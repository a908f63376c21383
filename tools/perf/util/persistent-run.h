/* SPDX-License-Identifier: GPL-2.0 */
/* Read the records of one buffer of persistent events, block by block. */
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

/* A wanted record of a loaded block */
struct persistent_record {
	u64	key;		/* for sorting, see run__set_keys() */
	u32	offset;		/* in the data of the block */
	u32	pos : 31;	/* in the run */
	u32	vital : 1;
};

/* Some records of a run, in the order in which they are read */
struct persistent_block {
	u32	start;		/* of the block in the run */
	char	*data;
	size_t	data_room;
	struct persistent_record *records;
	int	nr;
	int	room;
	int	pos;		/* the next record to take */
};

/* The records that were added from one buffer */
struct persistent_run {
	int		 cpu;
	struct perf_mmap *map;		/* NULL: it is a copy */
	u64		 head;		/* where in the map it starts */
	int		 fd;		/* file with the copy */
	off_t		 offset;	/* of position 0 in that file */
	u32		 *starts;	/* of blocks, and the end of the last one */
	int		 nr_starts;
	int		 starts_room;
	u32		 cut;		/* records from here on are too old */
	u32		 hole;		/* from here on the file has a hole */
	struct persistent_block blocks[2];	/* the loaded ones */
	int		 cur;		/* which of these has the next record */
	int		 next;		/* number of the next one to load */
	bool		 back;		/* from the newest record to the oldest */
	bool		 clear;		/* loaded records are not needed again */
	u64		 key;		/* of the last record that was loaded */
};

/* How to look at records, and how many of them were cut */
struct persistent_looker {
	struct evlist	 *evlist;	/* of the records; NULL: take all as they are */
	char		 *narrow;	/* a block as it is in the run */
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

/* Begin at one end. @clear: give back the space of records that were read. */
void persistent_run__rewind(struct persistent_run *run, bool back, bool clear);

/*
 * Load the next records into blocks whose records were all taken. Taken records are valid
 * until then.
 */
int persistent_run__fill(struct persistent_run *run, struct persistent_looker *looker);

/* Load block @nr alone. */
int persistent_run__load(struct persistent_run *run, int nr, struct persistent_looker *looker);

/* Free the memory of the blocks. */
void persistent_run__unload(struct persistent_run *run);

/* Are there records that are not loaded? */
bool persistent_run__has_more(const struct persistent_run *run);

/* The block with the next record that is loaded, NULL: none */
struct persistent_block *persistent_run__block(struct persistent_run *run);

/* Where the next record starts in the run */
u32 persistent_run__pos(struct persistent_run *run);

/* Records that are loaded and were not taken */
int persistent_run__nr_loaded(const struct persistent_run *run);

/* Make room for one more element after the @nr existing ones. */
int persistent__reserve_one(void **array, int *room, int nr, size_t size);

#endif /* __PERF_PERSISTENT_RUN_H */
