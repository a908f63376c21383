/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_RECORD_APPEND_H
#define __PERF_RECORD_APPEND_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

struct record_dump;

/* The output file of perf record -M: side-band records as they come, and dumps on request */
struct record_append {
	int	fd;
	bool	on;		/* all writes go through here from now on */
	bool	is_pipe;
	bool	busy;		/* a dump is being written */
	char	*buf;
	size_t	len;		/* bytes in buf that are not written yet */
	size_t	size;
	u64	written;	/* bytes, including those before record_append__begin() */
	u64	nr_dropped;	/* bytes dropped for lack of memory */
	int	err;		/* error of the last write, 0: it worked */
};

void record_append__begin(struct record_append *append, int fd, u64 written);
/* Queue a record in memory. Drop and report it if perf can neither write nor keep it. */
void record_append__write(struct record_append *append, const void *buf, size_t size);
/* Reports errors. Returns one only if the data can never be written. */
int record_append__flush(struct record_append *append);

/*
 * Write a whole dump, or nothing. Calls @idle meanwhile, as the disk or the reader of the
 * pipe may be slow. Records that @idle writes follow the dump. -EAGAIN: the pipe was
 * full, nothing of the dump is written.
 */
int record_append__dump(struct record_append *append, const struct record_dump *dump,
			void (*idle)(void *arg), void *arg);
/* Can the caller try again after @err? */
bool record_append__can_retry(const struct record_append *append, int err);
/* The text for an error message */
const char *record_append__why(int err);
/* Write the rest. Returns an error if data is lost. Waits for the reader of a pipe. */
int record_append__end(struct record_append *append);

#endif /* __PERF_RECORD_APPEND_H */
