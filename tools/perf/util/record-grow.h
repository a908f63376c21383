/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_RECORD_GROW_H
#define __PERF_RECORD_GROW_H

#include <linux/types.h>
#include <stdbool.h>
#include <internal/mmap.h>

struct evlist;
struct record_live;

/* perf record -M SIZE --grow-to SIZE --hold TIME */
struct record_grow {
	const char	*to;		/* the arguments of the options, or NULL */
	const char	*hold;
	u64		max_size;	/* of all buffers, in bytes */
	u64		max_each;	/* of one buffer */
	u64		hold_ns;
	bool		on;
	bool		ends;		/* larger buffers failed, and the user was told */
	struct record_grow_buffer {
		int	fd;		/* the event that owns the buffer */
		u64	head;		/* position of the newest record */
		u64	since;		/* at this time */
		bool	is_max;		/* it cannot grow, and the user was told */
	}		*buffers;
	int		nr;
	/* Replaced buffers: no event writes to them, but their records are still wanted. */
	struct record_grow_old {
		struct perf_mmap map;
		u64	until;		/* its records are older than --hold then */
	}		*olds;
	int		nr_olds;
};

/* Prepare buffers for replacing. They must be empty, with no event writing to them. */
int record_grow__begin(struct record_grow *grow, struct evlist *evlist);
/* Replace buffers that hold too little by larger ones. */
void record_grow__look(struct record_grow *grow, struct evlist *evlist, struct record_live *live);
/* A timeout for poll(): @ms, or less if perf must look at buffers earlier; -1: for ever */
int record_grow__wait_ms(const struct record_grow *grow, int ms);
void record_grow__exit(struct record_grow *grow);

#endif /* __PERF_RECORD_GROW_H */
