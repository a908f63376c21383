/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_RECORD_AUX_H
#define __PERF_RECORD_AUX_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

struct record_needs;
struct record_parts;

/* The auxiliary file, to which perf writes side-band records while samples stay in memory */
struct record_aux {
	int	fd;
	u64	data_offset;
	u64	data_size;	/* on disk */
	char	*buf;
	size_t	len;		/* bytes in buf that are not written yet */
	size_t	size;
	u64	nr_dropped;	/* bytes dropped for lack of memory */
	int	err;		/* error of the last write, 0: it worked */
	u64	trimmed_size;	/* data_size after the last trimming */
	bool	held;		/* the file must not change now */
	bool	is_old;		/* the file is that of the last recording */
};

/* Locks the file until record_aux__close(). Reports errors. */
int record_aux__open(struct record_aux *aux, const struct record_parts *parts);
void record_aux__close(struct record_aux *aux);

/*
 * Begin the file, as recording has begun: until now the file is that of the last
 * recording, if there is one. @header: the begin of a perf.data file, up to its data.
 * @nr: index of the event that has records in this file; -1: unknown. Reports errors.
 */
int record_aux__begin(struct record_aux *aux, const struct record_parts *parts,
		      const void *header, u64 data_offset, int nr);

/* Queue a record in memory. Drop and report it if perf can neither write nor keep it. */
void record_aux__write(struct record_aux *aux, const void *buf, size_t size);
int record_aux__flush(struct record_aux *aux);

/*
 * Has the file grown to more than twice its size after the last trimming, plus @slack
 * bytes?
 */
bool record_aux__is_large(const struct record_aux *aux, u64 slack);
/* Rewrite the file without useless records. Calls @idle meanwhile. Reports errors. */
int record_aux__trim(struct record_aux *aux, const struct record_parts *parts,
		     const struct record_needs *needs, void (*idle)(void *arg), void *arg);

/* @features: the feature sections that follow the data; @header_size: bytes of @header */
int record_aux__end(struct record_aux *aux, const void *header, size_t header_size,
		    const void *features, size_t size);

#endif /* __PERF_RECORD_AUX_H */
