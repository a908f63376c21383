/* SPDX-License-Identifier: GPL-2.0 */
/* Copy one buffer of persistent events while the kernel writes to it. */
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
	u64			next_size;	/* size of its successor, 0: none yet */
	bool			started;	/* there was a read before */
	u64			covered;	/* end of the records of the first read */
	u64			first_seq;	/* number of the buffer of that read */
	u64			reserved;	/* snapshot: head that writers reserved */
	const struct persistent_ns *ns;
	u64			id;		/* of the member of ns */
	int			order;		/* in which buffers were added */
	bool			copied;		/* copied already for the next read */
};

/* A temporary copy of new records of one buffer */
struct persistent_copy {
	char	*data;
	size_t	 room;
	u64	 max;		/* bytes to copy at most */
};

void persistent_copy__exit(struct persistent_copy *copy);

/*
 * Map the current buffer of @member, which is open as @fd. The mapping remains of this
 * buffer when the event gets another one.
 */
int persistent_buffer__init(struct persistent_buffer *buf, const struct persistent_ns *ns,
			    const struct persistent_member *member, int fd);
void persistent_buffer__exit(struct persistent_buffer *buf);

/* Each buffer of an event has a number. */
u64 persistent_buffer__seq(const struct persistent_buffer *buf);

/* Roughly how many bytes are new in it */
u64 persistent_buffer__unread(struct persistent_buffer *buf);

/*
 * Copy new records. The newest one starts at position @head. The first @len bytes of the copy
 * were not overwritten meanwhile. If the buffer was replaced, sets next_size.
 */
int persistent_buffer__copy(struct persistent_buffer *buf, struct persistent_copy *copy,
			    u64 *head, u64 *len);

/* The same for a snapshot, but without a copy */
void persistent_buffer__frozen(struct persistent_buffer *buf, u64 max, u64 *head, u64 *len);

/* Map the buffer that replaced this one, and go on at its start. */
int persistent_buffer__map_next(struct persistent_buffer *buf);

/* Was the event deleted? */
static inline bool persistent_buffer__is_gone(int err)
{
	return err == -ENOENT || err == -ENODEV;
}

#endif /* __PERF_PERSISTENT_BUFFER_H */
