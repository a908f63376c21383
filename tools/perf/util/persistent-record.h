/* SPDX-License-Identifier: GPL-2.0 */
/* perf record -e persistent/NS/: write what namespaces hold to a file, and delete them with -k. */
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

/* How the line begins that says so when they could not be read */
#define PERSISTENT_STILL_THERE	"The namespaces are still there"
/* The exit status of perf record when it would fail the next time, too: see perf-ctl.txt */
#define PERSISTENT_EXIT_NO_TRACEFS	3
#define PERSISTENT_EXIT_NO_FORMAT	4

struct persistent_record {
	struct persistent	*set;		/* the namespaces that are read, NULL: none */
	struct evlist		*evlist;
	struct persistent_slice_opts slice_opts;
	struct persistent_slice	*slice;		/* what is wanted of them, NULL: everything */
	int			ms;		/* to wait before they are read again */
	bool			unfinished_round;
	bool			warned_split;
	u64			round_bytes;	/* that are in it */
	u64			rounds_until;	/* nothing older than this is going to be read */
	bool			write_failed;	/* which was said */
	bool			kill;		/* delete them once they are read */
	bool			drained;	/* they are read to the end */
	bool			cut_short;	/* the copy of copy_fd */
	bool			interrupted;	/* or not, as the user did not want to wait */
	bool			only_looks_back;	/* no command, no other events */
	int			ignored_signals;	/* more than these end reading */
	int			copy_fd;	/* of what the buffers held at first, 0: none */
	struct ui_progress	progress;

	/* Of perf record itself; the functions say what went wrong */
	struct record		*rec;
	const volatile sig_atomic_t *nr_signals;	/* that came so far */
	int			(*write)(struct record *rec, struct mmap *map, void *buf,
					 size_t size);
	int			(*finish_round)(struct record *rec);
	int			(*finish_output)(struct record *rec);
};

/* What the command line says of the output */
struct persistent_record_output {
	const char	*path;			/* NULL: perf.data */
	u64		max_size;		/* 0: unlimited */
	bool		timestamp_filename;
	bool		switch_output;
};

/* Put the events of the namespaces into @evlist, in place of persistent/NS/. */
int persistent_record__attach(struct persistent_record *record, struct evlist *evlist,
			      struct record_opts *opts,
			      const struct persistent_record_output *output, bool forks);
void persistent_record__exit(struct persistent_record *record);

/* Copy what the buffers hold before anything else, for an output at @path. */
int persistent_record__copy_early(struct persistent_record *record, const char *path);

/* Write what is new in the buffers. @synch: this is the last time. */
int persistent_record__read(struct persistent_record *record, bool synch);

/* Nothing is recorded any more that is wanted: read what there is. Returns @err, or a new one. */
int persistent_record__stop(struct persistent_record *record, int err);

/* Say what is missing from what was read. */
void persistent_record__report(struct persistent_record *record);

/* Finish the file, of which *@written bytes of records were written. */
int persistent_record__finish(struct persistent_record *record, struct perf_session *session,
			      u64 *written);

/*
 * Delete the namespaces with -k if @err is 0, and say what remains to be done. Returns @err, or why
 * they were not deleted.
 */
int persistent_record__end(struct persistent_record *record, struct perf_session *session, int err);

/* Let @env know what time of day the clock of the namespaces in @evlist shows. */
void persistent_record__init_clock(struct perf_env *env, struct evlist *evlist);

/* With -k: nothing is overwritten from here on that is still to be read. */
int persistent_record__disable(struct persistent_record *record);

/* Without some features of its header, the file says little. */
bool persistent_record__has_vital_features(struct perf_session *session);

#endif /* __PERF_PERSISTENT_RECORD_H */
