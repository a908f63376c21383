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
	bool			keep_parts;	/* do not remove parts after combining them */
	const char		*pid_path;
	const char		*max_files;
	const char		*max_total;
	struct record_limits	limits;
	struct record_parts	parts;
	struct record_aux	aux;
	struct record_needs	needs;
	bool			started;	/* the auxiliary file has a valid header */
	int			foreground;	/* pipe to the waiting foreground, -1: none */
	int			pid_fd;
	int			log_fd;
	char			*log_path;
	int			nr_dumps;
	bool			never_trim;	/* perf could not note a file in needs */
};

/*
 * Go to the background. Returns 0 in the background process. In the foreground process it
 * returns 1 once recording has begun, or an error if it failed to, which was reported.
 */
int record_daemon__detach(struct record_daemon *daemon);

/* Open the files of the daemon. Reports errors. */
int record_daemon__open(struct record_daemon *daemon, const char *path);
/* Write the pid file before the command starts, which may read it. */
int record_daemon__write_pid(struct record_daemon *daemon);
/* Wait until the command is executed. @cork_fd: the pipe on which it waits for perf */
void record_daemon__wait_for_exec(int cork_fd);
/*
 * Recording has begun: tell the waiting process, and redirect output to the log. Fails if
 * the foreground process is gone, as the user has probably interrupted it.
 */
int record_daemon__ready(struct record_daemon *daemon);
/* Remove the oldest files with samples if there are too many. @path, the newest, stays. */
void record_daemon__prune(struct record_daemon *daemon, const char *path);
/*
 * Writing a file of @wanted bytes failed with @err. If that says that the disk or a quota
 * has no room, remove the oldest file with samples, if the user set a limit, and if
 * removing all but the newest would make enough room. @freed counts the bytes of removed
 * files. False: none was removed.
 */
bool record_daemon__make_room(struct record_daemon *daemon, u64 wanted, int err,
			      u64 *freed);
/* Combine all files of this recording into one. */
int record_daemon__combine(struct record_daemon *daemon);

/* Does the auxiliary file still have its name? Others may remove, rename or replace it. */
bool record_daemon__has_aux(const struct record_daemon *daemon);
void record_daemon__exit(struct record_daemon *daemon);

#endif /* __PERF_RECORD_DAEMON_H */
