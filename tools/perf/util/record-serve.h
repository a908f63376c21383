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
struct perf_session;
struct record;
struct record_opts;

/* perf record -M, with and without --daemon */
struct record_memory {
	struct record_opts	*opts;
	struct evlist		*evlist;
	struct perf_session	*session;
	int			nr_dumps;	/* to the one output file */
	bool			ack_dump;	/* somebody waits for the next one */
	bool			ack_combine;
	bool			ending;
	int			lost;		/* why what was asked for last is not written */
	volatile sig_atomic_t	dump_asked;
	volatile sig_atomic_t	combine_asked;
	struct record_append	append;
	struct record_daemon	daemon;
	struct record_live	live;
	struct record_grow	grow;
	struct record_trigger	trigger;

	/* Of perf record itself */
	struct record		*rec;
	u64			*bytes_written;
	void			(*read_side_band)(struct record *rec);
	int			(*finish_round)(struct record *rec);
	int			(*init_clock)(struct record *rec);
	void			(*check_max_size)(struct record *rec);
};

/* Its buffers are mapped. Says what is wrong. */
int record_memory__open(struct record_memory *memory);
void record_memory__exit(struct record_memory *memory);

/* Write the beginning of the auxiliary file of --daemon. */
int record_memory__begin_aux(struct record_memory *memory);

/* Write what there is of tasks and maps, and what is in memory if somebody has asked for it. */
int record_memory__serve(struct record_memory *memory);
/* For poll(): milliseconds until it is to serve again; -1: when something happens */
int record_memory__wait_ms(const struct record_memory *memory);
/* The last time. Returns @err, or a new one; what is not in a good file is @lost alone. */
int record_memory__end(struct record_memory *memory, int err);
/* Finish the files of --daemon, and combine them if somebody has asked for it. */
int record_memory__finish_daemon(struct record_memory *memory);

/* Commands of --control, which are answered when they are done. */
void record_memory__ask_for_dump(struct record_memory *memory);
/* Returns true if recording has to end for it. */
bool record_memory__ask_to_combine(struct record_memory *memory);
void record_memory__print_status(struct record_memory *memory);

#endif /* __PERF_RECORD_SERVE_H */
