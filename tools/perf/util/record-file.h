/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_RECORD_FILE_H
#define __PERF_RECORD_FILE_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* If a file with the final name exists: fail, replace it, or rename it */
enum record_file_old {
	RECORD_FILE__FAILS,
	RECORD_FILE__REPLACES_OLD,
	RECORD_FILE__RENAMES_OLD,	/* to NAME.old */
};

/* A file that has a temporary name until it is complete and on disk */
struct record_file {
	int	fd;
	char	*path;
	char	*tmp;		/* NULL: it has no temporary name */
	bool	named;		/* it has its final name */
	char	*buf;
	size_t	len;		/* bytes in buf that are not written yet */
	u64	pos;		/* bytes written or in buf */
	int	err;		/* the first error, after which nothing is written */
	void	(*idle)(void *arg);	/* called while the disk is slow, or NULL */
	void	*arg;
};

/*
 * Create .NAME.XXXXXX.tmp beside @path, locked as long as it is open. Keeps the idle and
 * arg that the caller has set.
 */
int record_file__create(struct record_file *file, const char *path);
/* Write to @fd instead, which gets no name. The caller ends with record_file__finish(). */
int record_file__attach(struct record_file *file, int fd);
int record_file__finish(struct record_file *file);

int record_file__write(struct record_file *file, const void *buf, size_t size);

/*
 * Sync the file, give it its final name and close it. Removes the file on error, such as
 * -EEXIST if the name exists and @old is RECORD_FILE__FAILS. If only syncing the
 * directory fails, the file stays and @named is set.
 */
int record_file__commit(struct record_file *file, enum record_file_old old);
/* The same, but keep the descriptor open. It is -1 if the file was removed. */
int record_file__commit_fd(struct record_file *file, enum record_file_old old);
void record_file__abort(struct record_file *file);

/* Run @fn in a thread, and call @idle until @fn returns. */
int record_file__run(int (*fn)(void *fn_arg), void *fn_arg, void (*idle)(void *arg), void *arg);
/* Call fsync() in a thread, with @idle as above. */
int record_file__sync(int fd, void (*idle)(void *arg), void *arg);
/* The owner of files that this process makes beside @path: the file system may map it. */
uid_t record_file__own_uid(const char *path);
/*
 * Why must perf not write to the existing file behind @fd? It would write to another file
 * than the user meant, or to one that another user than @uid can change. NULL: it may.
 */
const char *record_file__why_not(int fd, uid_t uid);
/* Is @path a name of the file behind @fd, and no symlink to it? */
bool record_file__has_name(const char *path, int fd);
/* Sync the directory of @path. */
int record_file__sync_dir(const char *path);

#endif /* __PERF_RECORD_FILE_H */
