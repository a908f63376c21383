/* SPDX-License-Identifier: GPL-2.0 */
/* Copy what one buffer of persistent events holds while it is written to. */
#ifndef __PERF_PERSISTENT_BUFFER_H
#define __PERF_PERSISTENT_BUFFER_H

#include <errno.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <internal/mmap.h>

struct persistent_member;
struct persistent_ns;

struct persistent_buffer {
	struct perf_mmap	map;
	u64			pos;		/* where the last read left off */
	u64			overtaken;	/* bytes gone before they could be read */
	u64			skipped;	/* buffers replaced before they could be mapped */
	u64			fresh;		/* bytes that the last read found */
	u64			next_size;	/* of what took its place, 0: nothing has */
	bool			started;	/* there was a read before */
	u64			covered;	/* up to where the first read found records, */
	u64			first_seq;	/* in the buffer of this number */
	u64			reserved;	/* of a snapshot, in which that does not change */
	const struct persistent_ns *ns;
	u64			id;		/* of the member in there */
	int			order;		/* in which they were added */
	bool			copied;		/* for the next read */
};

/* What was copied of one buffer, for a moment */
struct persistent_copy {
	char	*data;
	size_t	 room;
	u64	 max;		/* bytes to copy at most */
};

void persistent_copy__exit(struct persistent_copy *copy);

/* Map the buffer that @member has now, which is open as @fd. It stays that for good. */
int persistent_buffer__init(struct persistent_buffer *buf, const struct persistent_ns *ns,
			    const struct persistent_member *member, int fd);
void persistent_buffer__exit(struct persistent_buffer *buf);

/* Each buffer of an event has a number. */
u64 persistent_buffer__seq(const struct persistent_buffer *buf);

/* Bytes that are new in it, more or less */
u64 persistent_buffer__unread(struct persistent_buffer *buf);

/*
 * Copy what is new. The newest record starts at position @head, and the first @len bytes of
 * the copy were not overwritten meanwhile. If it was replaced, that is noted in next_size.
 */
int persistent_buffer__copy(struct persistent_buffer *buf, struct persistent_copy *copy,
			    u64 *head, u64 *len);

/* The same of a snapshot, which stays where it is */
void persistent_buffer__frozen(struct persistent_buffer *buf, u64 max, u64 *head, u64 *len);

/* Go on at the start of the buffer that took the place of this one. */
int persistent_buffer__map_next(struct persistent_buffer *buf);

/* Was the event deleted? */
static inline bool persistent_buffer__is_gone(int err)
{
	return err == -ENOENT || err == -ENODEV;
}

#endif /* __PERF_PERSISTENT_BUFFER_H */
