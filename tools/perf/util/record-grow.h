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
	const char	*to;		/* what the command line says; NULL: nothing */
	const char	*hold;
	u64		max_size;	/* in bytes, in all */
	u64		max_each;	/* of a buffer */
	u64		hold_ns;
	bool		on;
	bool		ends;		/* the kernel makes no larger ones, which was said */
	struct record_grow_buffer {
		int	fd;		/* of the event that has it */
		u64	head;		/* where it was at that time */
		u64	since;
		bool	is_max;		/* that is not enough, which was said */
	}		*buffers;
	int		nr;
	/* Nobody writes to these any more. What they hold is still wanted. */
	struct record_grow_old {
		struct perf_mmap map;
		u64	until;		/* nobody wants what is older than --hold */
	}		*olds;
	int		nr_olds;
};

/* Buffers can be replaced from here on. They are empty, and nobody writes to them. */
int record_grow__begin(struct record_grow *grow, struct evlist *evlist);
/* Have larger buffers take over from those that hold too little. */
void record_grow__look(struct record_grow *grow, struct evlist *evlist, struct record_live *live);
/* For poll(): @ms, or the milliseconds until it is to look again if that is less; -1: for ever */
int record_grow__wait_ms(const struct record_grow *grow, int ms);
void record_grow__exit(struct record_grow *grow);

#endif /* __PERF_RECORD_GROW_H */
