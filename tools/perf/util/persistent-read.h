/* SPDX-License-Identifier: GPL-2.0 */
/* Read all buffers of persistent events together. */
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

/* Gets whole records, the oldest first. A negative return value ends the reading. */
typedef int (*persistent_push_t)(void *to, void *records, size_t size);

enum persistent_look {
	PERSISTENT_DROP,	/* leave it out */
	PERSISTENT_KEEP,
	PERSISTENT_VITAL,	/* later records need it, however old it is */
};

/* Decide what to do with a record, and get its @time, which stays 0 if it has none. */
typedef enum persistent_look (*persistent_look_t)(void *arg, union perf_event *event, u64 *time);

/* @evlist is used to sort records by time; NULL: they are passed on buffer by buffer */
struct persistent_reader *persistent_reader__new(struct evlist *evlist);
void persistent_reader__delete(struct persistent_reader *reader);

/*
 * Add the buffer of @member, which is open as @fd. When the buffer is replaced, the reader
 * goes on with the next one. @ns and @fd must stay open as long as the reader is used.
 */
int persistent_reader__add(struct persistent_reader *reader, const struct persistent_ns *ns,
			   const struct persistent_member *member, int fd);

/* Update @progress from now on. */
void persistent_reader__set_progress(struct persistent_reader *reader,
				     struct ui_progress *progress);

/* Choose which records to read, instead of all. */
void persistent_reader__set_look(struct persistent_reader *reader, persistent_look_t look,
				 void *arg);

/*
 * Keep copies of the buffers in the file that is open as @fd, not in memory. Without a file,
 * not much is copied at a time.
 */
void persistent_reader__set_file(struct persistent_reader *reader, int fd);

/* Read at most the newest @limit bytes at a time. */
void persistent_reader__set_limit(struct persistent_reader *reader, u64 limit);

/* Roughly how many bytes are new in the buffers */
u64 persistent_reader__unread(struct persistent_reader *reader);

/*
 * Copy the buffers now. The next persistent_reader__read() or _push() passes the records on.
 * Calls @push without records before each buffer. An error from it ends the copying for good.
 */
int persistent_reader__copy(struct persistent_reader *reader, persistent_push_t push, void *to);

/* Pass on the copied records. @again: keep them, to pass them on once more. */
int persistent_reader__push(struct persistent_reader *reader, persistent_push_t push, void *to,
			    bool again);

/*
 * Copy buffers that are not copied yet, and pass all records on. If there is no room for all
 * copies, do it in parts. Returns how full the fullest buffer had become since the last call,
 * in percent.
 */
int persistent_reader__read(struct persistent_reader *reader, persistent_push_t push, void *to);

/* Does @err mean that there is no room for a copy? */
bool persistent_reader__is_no_room(int err);

/* Were records passed on in parts, so that they are not in the order of time? */
bool persistent_reader__is_split(const struct persistent_reader *reader);

/* Did @push end the copying? The records copied until then can be passed on. */
bool persistent_reader__is_cut_short(const struct persistent_reader *reader);

/* Size of the copied records that are vital */
s64 persistent_reader__vital_size(struct persistent_reader *reader);

/*
 * Of the copied records, pass on only the vital ones, and the newest @room bytes of the
 * others. -E2BIG: not one of these fits.
 */
int persistent_reader__cut(struct persistent_reader *reader, u64 room);

/* Number of records that persistent_reader__cut() made the last push leave out */
u64 persistent_reader__nr_cut(const struct persistent_reader *reader);

/* Time of the newest record that was passed on */
u64 persistent_reader__time(const struct persistent_reader *reader);

/*
 * Time of the newest sample of namespaces that do not record; they need not be read before.
 * 0: there is none
 */
u64 persistent_reader__newest(struct persistent_reader *reader, struct evlist *evlist);

/*
 * All readers share the wake-ups of a buffer, so perf reads at intervals instead.
 * Returns how long to wait if @ms was the last interval, and the read returned @percent.
 */
int persistent_reader__next_ms(int ms, int percent);

/* Warn, per CPU, about what was overwritten or replaced before it was read. */
void persistent_reader__warn_overtaken(struct persistent_reader *reader);

/* Any user page, for the conversion of times; NULL without a buffer */
const struct perf_event_mmap_page *persistent_reader__pick_pc(struct persistent_reader *reader);

#endif /* __PERF_PERSISTENT_READ_H */
