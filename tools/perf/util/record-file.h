/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_RECORD_FILE_H
#define __PERF_RECORD_FILE_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

/* What happens to a file that has the name already */
enum record_file_old {
	RECORD_FILE__FAILS,
	RECORD_FILE__REPLACES_OLD,
	RECORD_FILE__RENAMES_OLD,	/* to NAME.old */
};

/* A file that has another name until it is whole and on disk */
struct record_file {
	int	fd;
	char	*path;
	char	*tmp;		/* NULL: it has no other name */
	bool	named;		/* it has the name that it was to get */
	char	*buf;
	size_t	len;		/* bytes in it that are still to be written */
	u64	pos;		/* bytes that were written, or are in it */
	int	err;		/* the first one; nothing is written after it */
	void	(*idle)(void *arg);	/* called while the disk is slow, can be NULL */
	void	*arg;
};

/*
 * Make .NAME.XXXXXX.tmp beside @path, with a lock on it as long as somebody writes to it. What was
 * set of idle and arg before stays.
 */
int record_file__create(struct record_file *file, const char *path);
/* Write to @fd instead, which has no name to get, and end with record_file__finish(). */
int record_file__attach(struct record_file *file, int fd);
int record_file__finish(struct record_file *file);

int record_file__write(struct record_file *file, const void *buf, size_t size);

/*
 * Have it on disk under its name. Closes the file, and removes it if something fails: with -EEXIST
 * if there is one of that name, and @old says so. If all that fails is to have the name on disk,
 * the file stays, and @named says so.
 */
int record_file__commit(struct record_file *file, enum record_file_old old);
/* The same for a caller that goes on to use the descriptor, which is -1 if there is no file */
int record_file__commit_fd(struct record_file *file, enum record_file_old old);
void record_file__abort(struct record_file *file);

/* Run @fn in a thread, with @idle called until it returns. */
int record_file__run(int (*fn)(void *fn_arg), void *fn_arg, void (*idle)(void *arg), void *arg);
/* fsync() in this way */
int record_file__sync(int fd, void (*idle)(void *arg), void *arg);
/* Is it this file that has this name, and not as the target of a link? */
bool record_file__has_name(const char *path, int fd);
/* Have the names in the directory of @path on disk. */
int record_file__sync_dir(const char *path);

#endif /* __PERF_RECORD_FILE_H */
