/* SPDX-License-Identifier: GPL-2.0 */
/* perf record -e persistent/NS/: write the records to a file, and with -k delete NS. */
#ifndef __PERF_PERSISTENT_RECORD_H
#define __PERF_PERSISTENT_RECORD_H

#include <linux/types.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include "persistent-slice.h"
#include "ui/progress.h"

struct evlist;
struct mmap;
struct perf_env;
struct perf_session;
struct persistent;
struct record;
struct record_opts;

/* The message begins with this if they could not be read */
#define PERSISTENT_STILL_THERE	"The namespaces are still there"
/* Exit status of perf record if the next try would fail, too: see perf-ctl.txt */
#define PERSISTENT_EXIT_NO_TRACEFS	3
#define PERSISTENT_EXIT_NO_FORMAT	4

struct persistent_record {
	struct persistent	*set;		/* the namespaces that are read, NULL: none */
	struct evlist		*evlist;
	struct persistent_slice_opts slice_opts;
	struct persistent_slice	*slice;		/* the part to read, NULL: everything */
	int			ms;		/* to wait before they are read again */
	bool			unfinished_round;
	bool			warned_split;
	u64			round_bytes;	/* bytes in that round */
	u64			rounds_until;	/* a round may end up to this time */
	bool			write_failed;	/* and the error was printed */
	bool			kill;		/* delete them once they are read */
	bool			drained;	/* they are read to the end */
	bool			cut_short;	/* a signal ended the copying */
	bool			interrupted;	/* a signal ended the reading */
	bool			only_looks_back;	/* no command, no other events */
	int			ignored_signals;	/* more than these end reading */
	int			copy_fd;	/* for copies of buffers; 0, -1: none */
	struct ui_progress	progress;

	/* Of perf record itself; the functions print their errors */
	struct record		*rec;
	const volatile sig_atomic_t *nr_signals;	/* received so far */
	int			(*write)(struct record *rec, struct mmap *map, void *buf,
					 size_t size);
	int			(*finish_round)(struct record *rec);
	int			(*finish_output)(struct record *rec);
};

/* Options of the command line about the output, and -u */
struct persistent_record_output {
	const char	*path;			/* NULL: perf.data */
	u64		max_size;		/* 0: unlimited */
	bool		timestamp_filename;
	bool		switch_output;
	const char	*uid_str;		/* of -u; NULL: all users */
};

/* Replace each persistent/NS/ of @evlist by the events of that namespace. */
int persistent_record__attach(struct persistent_record *record, struct evlist *evlist,
			      struct record_opts *opts,
			      const struct persistent_record_output *output, bool forks);
void persistent_record__exit(struct persistent_record *record);

/* Copy the buffers before anything else. @path: the output */
int persistent_record__copy_early(struct persistent_record *record, const char *path);

/* Write the new records of the buffers. @synch: this is the last time. */
int persistent_record__read(struct persistent_record *record, bool synch);

/* Recording is over: prepare for the last read. Returns @err, or a new error. */
int persistent_record__stop(struct persistent_record *record, int err);

/* Tell the user which records are missing. */
void persistent_record__report(struct persistent_record *record);

/* Finish the file. *@written: bytes of records that were written */
int persistent_record__finish(struct persistent_record *record, struct perf_session *session,
			      u64 *written);

/*
 * With -k delete the namespaces if @err is 0. Tells the user what remains to be done. Returns
 * @err, or why they were not deleted.
 */
int persistent_record__end(struct persistent_record *record, struct perf_session *session, int err);

/* Store in @env what time of day the clock of the namespaces in @evlist shows. */
void persistent_record__init_clock(struct perf_env *env, struct evlist *evlist);

/* With -k: disable the namespaces, so that unread records are not overwritten. */
int persistent_record__disable(struct persistent_record *record);

/* Does the file have the header features without which it says little? */
bool persistent_record__has_vital_features(struct perf_session *session);

#endif /* __PERF_PERSISTENT_RECORD_H */
