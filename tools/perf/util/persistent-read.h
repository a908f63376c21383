/* SPDX-License-Identifier: GPL-2.0 */
/* Read what the buffers of persistent events hold, all of them together. */
#ifndef __PERF_PERSISTENT_READ_H
#define __PERF_PERSISTENT_READ_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

struct evlist;
struct perf_event_mmap_page;
struct persistent_member;
struct persistent_ns;
struct persistent_reader;
struct ui_progress;
union perf_event;

/* Takes whole records, oldest first; a negative return ends the reading. */
typedef int (*persistent_push_t)(void *to, void *records, size_t size);

enum persistent_look {
	PERSISTENT_DROP,	/* nobody wants it */
	PERSISTENT_KEEP,
	PERSISTENT_VITAL,	/* what comes later is understood by it, however old it is */
};

/* What to do with a record, and its time, which stays 0 if it has none */
typedef enum persistent_look (*persistent_look_t)(void *arg, union perf_event *event, u64 *time);

/* Records are in the order of time by what @evlist knows of them; NULL: buffer after buffer */
struct persistent_reader *persistent_reader__new(struct evlist *evlist);
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

/* Choose what is wanted, instead of all. */
void persistent_reader__set_look(struct persistent_reader *reader, persistent_look_t look,
				 void *arg);

/*
 * Have room for copies of the buffers in the file that is open as @fd, not in memory. Without
 * one, not much is copied at a time.
 */
void persistent_reader__set_file(struct persistent_reader *reader, int fd);

/* Read at most the newest @limit bytes at a time. */
void persistent_reader__set_limit(struct persistent_reader *reader, u64 limit);

/* Bytes that are new in the buffers, more or less */
u64 persistent_reader__unread(struct persistent_reader *reader);

/*
 * Copy what the buffers hold now, which the next persistent_reader__read() or _push() hands
 * on. @push is called without records: it may end the copying, and no more is copied then.
 */
int persistent_reader__copy(struct persistent_reader *reader, persistent_push_t push, void *to);

/* Hand on what was copied, @again: it remains to be handed on once more. */
int persistent_reader__push(struct persistent_reader *reader, persistent_push_t push, void *to,
			    bool again);

/*
 * Copy what was not copied, and hand all on. Where there is no room for all, it is handed on in
 * parts. Returns how full the fullest buffer had become since the last call, in percent.
 */
int persistent_reader__read(struct persistent_reader *reader, persistent_push_t push, void *to);

/* It takes room for a copy, which is missing. */
bool persistent_reader__is_no_room(int err);

/* What was handed on is not in the order of time, as it came in parts. */
bool persistent_reader__is_split(const struct persistent_reader *reader);

/* Somebody ended the copying: what is there already can be handed on. */
bool persistent_reader__is_cut_short(const struct persistent_reader *reader);

/* Bytes of what was copied that are vital */
s64 persistent_reader__vital_size(struct persistent_reader *reader);

/*
 * Of what was copied, hand on no more than the newest @room bytes and what is vital. -E2BIG: not
 * one record fits.
 */
int persistent_reader__cut(struct persistent_reader *reader, u64 room);

/* Records that were left out for that reason by the last push */
u64 persistent_reader__nr_cut(const struct persistent_reader *reader);

/* Time of the newest record that was handed on */
u64 persistent_reader__time(const struct persistent_reader *reader);

/* Time of the newest record in snapshots, of which nothing has to be read before; 0: none */
u64 persistent_reader__newest(struct persistent_reader *reader, struct evlist *evlist);

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
