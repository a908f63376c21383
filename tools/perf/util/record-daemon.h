/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_RECORD_DAEMON_H
#define __PERF_RECORD_DAEMON_H

#include <stdbool.h>
#include "record-aux.h"
#include "record-limits.h"
#include "record-needs.h"
#include "record-parts.h"

/* perf record --daemon */
struct record_daemon {
	bool			enabled;
	bool			keep_parts;	/* when they were combined */
	const char		*pid_path;
	const char		*max_files;
	const char		*max_total;
	struct record_limits	limits;
	struct record_parts	parts;
	struct record_aux	aux;
	struct record_needs	needs;
	bool			started;	/* the auxiliary file is one */
	int			foreground;	/* waits there until it is ready; -1: nobody */
	int			pid_fd;
	int			log_fd;
	char			*log_path;
	int			nr_dumps;
	bool			never_trim;	/* nobody knows what is needed */
};

/*
 * Go to the background. Returns 0 there. In the foreground it returns 1 when recording has begun,
 * and an error if it has not, which was said.
 */
int record_daemon__detach(struct record_daemon *daemon);

/* Open its files. Says what is wrong. */
int record_daemon__open(struct record_daemon *daemon, const char *path);
/*
 * It records: say so in the pid file and to whoever waits, and write to the log from here on. Fails
 * if who started it is gone, which is how people end what they do not want.
 */
int record_daemon__ready(struct record_daemon *daemon);
/* Remove the oldest files with samples if there are too many. @path, the newest, stays. */
void record_daemon__prune(struct record_daemon *daemon, const char *path);
/*
 * There is no room for @wanted bytes: remove the oldest one, if there is a limit, and if to remove
 * all but the newest would be enough. False: none was removed.
 */
bool record_daemon__make_room(struct record_daemon *daemon, u64 wanted);
/* Make one file of all that it wrote. */
int record_daemon__combine(struct record_daemon *daemon);
void record_daemon__exit(struct record_daemon *daemon);

#endif /* __PERF_RECORD_DAEMON_H */
