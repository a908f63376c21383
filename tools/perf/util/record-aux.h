/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_RECORD_AUX_H
#define __PERF_RECORD_AUX_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

struct record_needs;
struct record_parts;

/* The auxiliary file, which takes what is known of tasks while samples are in memory */
struct record_aux {
	int	fd;
	u64	data_offset;
	u64	data_size;	/* on disk */
	char	*buf;
	size_t	len;		/* bytes in it that are still to be written */
	size_t	size;
	u64	nr_dropped;	/* bytes for which there was no room */
	int	err;		/* why the last write failed; 0: it did not */
	u64	trimmed_size;	/* what was left the last time */
	bool	held;		/* the file is not to change now */
};

/* Has it alone, until it is closed. Says what is wrong. */
int record_aux__open(struct record_aux *aux, const struct record_parts *parts);
void record_aux__close(struct record_aux *aux);

/*
 * @header: what a file begins with, up to its data. @nr: which of its events has records here;
 * -1: that is not known
 */
int record_aux__begin(struct record_aux *aux, const void *header, u64 data_offset, int nr);

/* Takes it into memory. What cannot be written, nor kept, is dropped, which is said. */
void record_aux__write(struct record_aux *aux, const void *buf, size_t size);
int record_aux__flush(struct record_aux *aux);

/*
 * Has it grown to more than twice what was left of it the last time, and @slack bytes?
 */
bool record_aux__is_large(const struct record_aux *aux, u64 slack);
/* Write it again, without what nobody needs. @idle is called meanwhile. Says what is wrong. */
int record_aux__trim(struct record_aux *aux, const struct record_parts *parts,
		     const struct record_needs *needs, void (*idle)(void *arg), void *arg);

/* @features: what follows the data, for a header that has @header_size bytes */
int record_aux__end(struct record_aux *aux, const void *header, size_t header_size,
		    const void *features, size_t size);

#endif /* __PERF_RECORD_AUX_H */
