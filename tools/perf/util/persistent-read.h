/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_PERSISTENT_READ_H
#define __PERF_PERSISTENT_READ_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

struct perf_event_mmap_page;
struct persistent_member;
struct persistent_ns;
struct persistent_reader;
struct ui_progress;

/* Takes whole records, oldest first; a negative return ends the reading. */
typedef int (*persistent_push_t)(void *to, void *records, size_t size);

struct persistent_reader *persistent_reader__new(void);
void persistent_reader__delete(struct persistent_reader *reader);

/*
 * The buffer of a member that is open as @fd. When it is replaced, reading goes on
 * with the next one. @ns and @fd stay open as long as the reader is used.
 */
int persistent_reader__add(struct persistent_reader *reader, const struct persistent_ns *ns,
			   const struct persistent_member *member, int fd);

/* Update @progress from now on. */
void persistent_reader__set_progress(struct persistent_reader *reader,
				     struct ui_progress *progress);

/*
 * Copy what the buffers hold now to the file that is open as @fd, which the next
 * persistent_reader__read() hands on instead. @push is called without records: when it
 * ends the copying, no more than what was copied is read. Where copying fails, buffers
 * are read as if nobody had tried. @fd stays open as long as the reader is used.
 */
int persistent_reader__copy_early(struct persistent_reader *reader, int fd,
				  persistent_push_t push, void *to);

/* How full the fullest buffer had become since the last call, in percent */
int persistent_reader__read(struct persistent_reader *reader,
			    persistent_push_t push, void *to);

/*
 * Wake-ups are shared with whoever else reads, so a look is taken at times: how
 * long to wait until the next one, after @ms before a read that returned @percent
 */
int persistent_reader__next_ms(int ms, int percent);

/* What was overwritten, consumed or replaced on each CPU between two reads */
void persistent_reader__warn_overtaken(struct persistent_reader *reader);

/* Any user page, for the conversion of times; NULL without a buffer */
const struct perf_event_mmap_page *persistent_reader__pick_pc(struct persistent_reader *reader);

#endif /* __PERF_PERSISTENT_READ_H */
