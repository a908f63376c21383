/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_RECORD_APPEND_H
#define __PERF_RECORD_APPEND_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

struct record_dump;

/* The one output file of perf record -M, to which what is known of tasks is written as it comes */
struct record_append {
	int	fd;
	bool	on;		/* from here on it is written in this way */
	bool	is_pipe;
	bool	busy;		/* a dump is being written */
	char	*buf;
	size_t	len;		/* bytes in it that are still to be written */
	size_t	size;
	u64	written;	/* bytes, with those of before it was on */
	u64	nr_dropped;	/* bytes for which there was no room */
	int	err;		/* why the last write failed; 0: it did not */
};

void record_append__begin(struct record_append *append, int fd, u64 written);
/* Takes it into memory. What cannot be written, nor kept, is dropped, which is said. */
void record_append__write(struct record_append *append, const void *buf, size_t size);
/* Says what is wrong. It is an error if it can never be written. */
int record_append__flush(struct record_append *append);

/*
 * All of a dump, or nothing. @idle is called meanwhile: the disk may be slow, and nobody read the
 * pipe. What is written then comes behind it. -EAGAIN: the pipe had no room, nothing is written.
 */
int record_append__dump(struct record_append *append, const struct record_dump *dump,
			void (*idle)(void *arg), void *arg);
/* Can it be written later? */
bool record_append__can_retry(const struct record_append *append, int err);
/* What to say of an error */
const char *record_append__why(int err);
/* What cannot be written to a file now is lost, and returned. A pipe waits for who reads. */
int record_append__end(struct record_append *append);

#endif /* __PERF_RECORD_APPEND_H */
