/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_RECORD_SERVE_H
#define __PERF_RECORD_SERVE_H

#include <linux/types.h>
#include <signal.h>
#include <stdbool.h>
#include "record-append.h"
#include "record-daemon.h"
#include "record-grow.h"
#include "record-live.h"
#include "record-trigger.h"

struct evlist;
struct perf_mmap;
struct perf_session;
struct record;
struct record_opts;

/* perf record -M, with and without --daemon */
struct record_memory {
	struct record_opts	*opts;
	struct evlist		*evlist;
	struct perf_session	*session;
	int			nr_dumps;	/* in the output file, without --daemon */
	bool			ack_dump;	/* --control waits for the next dump */
	bool			ack_combine;
	bool			ending;
	int			lost;		/* why the last dump failed, 0: it did not */
	volatile sig_atomic_t	dump_asked;
	volatile sig_atomic_t	combine_asked;
	bool			combined;
	struct record_append	append;
	struct record_daemon	daemon;
	struct record_live	live;
	struct record_grow	grow;
	struct record_trigger	trigger;
	void			*joined;	/* records that wrap around in a ring */
	size_t			joined_len;

	/* Callbacks of builtin-record.c */
	struct record		*rec;
	u64			*bytes_written;
	void			(*read_side_band)(struct record *rec);
	int			(*finish_round)(struct record *rec);
	int			(*init_clock)(struct record *rec);
	void			(*check_max_size)(struct record *rec);
};

/* Call this after the buffers were mapped. Reports errors. */
int record_memory__open(struct record_memory *memory);
void record_memory__exit(struct record_memory *memory);

/* Write the header of the auxiliary file of --daemon. */
int record_memory__begin_aux(struct record_memory *memory);

/*
 * perf_mmap__push() gives records that wrap around in a ring in two pieces. Join them in
 * @buf and @size. Returns false if the other piece follows: then there is nothing to write
 * yet.
 */
bool record_memory__join(struct record_memory *memory, const struct perf_mmap *map, void **buf,
			 size_t *size);

/* Write side-band records, and a dump if one was requested. */
int record_memory__serve(struct record_memory *memory);
/* A timeout for poll() in milliseconds until the next record_memory__serve(); -1: for ever */
int record_memory__wait_ms(const struct record_memory *memory);
/* Serve for the last time. Returns @err or a new error. Lost data alone only sets @lost. */
int record_memory__end(struct record_memory *memory, int err);
/* Finish the files of --daemon, and combine them if requested. */
int record_memory__finish_daemon(struct record_memory *memory);
/* After that: combine the files if that was asked for meanwhile. */
int record_memory__combine(struct record_memory *memory);

/* Commands of --control, which perf answers when they are done */
void record_memory__ask_for_dump(struct record_memory *memory);
/* Returns true if recording must end to combine the files. */
bool record_memory__ask_to_combine(struct record_memory *memory);
void record_memory__print_status(struct record_memory *memory);

#endif /* __PERF_RECORD_SERVE_H */
