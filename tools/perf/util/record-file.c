// SPDX-License-Identifier: GPL-2.0
/*
 * Write a file under a temporary name, and rename it once all of it is on disk. So a file
 * with its final name is always complete.
 *
 * A disk may take seconds. The recorder reads its buffers meanwhile, in the callback
 * idle().
 */
#include "record-file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <linux/kernel.h>
#include <linux/sizes.h>
#include <linux/string.h>
#include <linux/zalloc.h>
#include <internal/lib.h>
#include "debug.h"

#define BUF_SIZE	SZ_1M
#define IDLE_MS		20

static int init_buf(struct record_file *file, int fd)
{
	file->fd = fd;
	file->path = NULL;
	file->tmp = NULL;
	file->named = false;
	file->len = 0;
	file->pos = 0;
	file->err = 0;
	file->buf = malloc(BUF_SIZE);
	return file->buf ? 0 : -ENOMEM;
}

int record_file__attach(struct record_file *file, int fd)
{
	return init_buf(file, fd);
}

int record_file__create(struct record_file *file, const char *path)
{
	static const char suffix[] = ".tmp";
	const char *name = strrchr(path, '/');
	int err = init_buf(file, -1);

	name = name ? name + 1 : path;
	file->path = strdup(path);
	if (err || !file->path ||
	    asprintf(&file->tmp, "%.*s.%s.XXXXXX%s", (int)(name - path), path, name, suffix) < 0) {
		file->tmp = NULL;
		record_file__abort(file);
		return -ENOMEM;
	}

	/* mkostemps() follows no link and opens no existing file. */
	file->fd = mkostemps(file->tmp, strlen(suffix), O_CLOEXEC);
	if (file->fd < 0) {
		err = -errno;
		zfree(&file->tmp);
		record_file__abort(file);
	} else if (flock(file->fd, LOCK_EX | LOCK_NB)) {
		/* Not all file systems have locks, and this one is rarely needed. */
		pr_debug("cannot lock %s: %m\n", file->tmp);
	}
	return err;
}

static int flush_buf(struct record_file *file)
{
	ssize_t ret = file->err ? 0 : writen(file->fd, file->buf, file->len);

	if (!file->err && ret != (ssize_t)file->len)
		file->err = ret < 0 ? -errno : -EIO;
	file->len = 0;
	if (file->idle)
		file->idle(file->arg);
	return file->err;
}

int record_file__write(struct record_file *file, const void *buf, size_t size)
{
	while (size && !file->err) {
		size_t part = min(size, (size_t)BUF_SIZE - file->len);

		memcpy(file->buf + file->len, buf, part);
		file->len += part;
		file->pos += part;
		buf += part;
		size -= part;
		if (file->len == BUF_SIZE)
			flush_buf(file);
	}
	return file->err;
}

struct work {
	int	(*fn)(void *arg);
	void	*arg;
	int	done_fd;
	int	err;
};

static void *work_thread(void *arg)
{
	struct work *work = arg;
	const u64 one = 1;

	work->err = work->fn(work->arg);
	/* Writing to an eventfd with count 0 does not fail or block. */
	if (write(work->done_fd, &one, sizeof(one)) < 0)
		work->err = -errno;
	return NULL;
}

int record_file__run(int (*fn)(void *fn_arg), void *fn_arg, void (*idle)(void *arg), void *arg)
{
	struct work work = { .fn = fn, .arg = fn_arg };
	struct pollfd pollfd = { .events = POLLIN };
	pthread_t thread;

	if (!idle)
		return fn(fn_arg);

	work.done_fd = eventfd(0, EFD_CLOEXEC);
	if (work.done_fd < 0)
		return fn(fn_arg);
	if (pthread_create(&thread, NULL, work_thread, &work)) {
		close(work.done_fd);
		return fn(fn_arg);
	}

	pollfd.fd = work.done_fd;
	while (poll(&pollfd, 1, IDLE_MS) != 1)
		idle(arg);
	pthread_join(thread, NULL);
	close(work.done_fd);
	return work.err;
}

static int do_sync(int fd)
{
	/* Some file systems have nothing to sync. */
	return fsync(fd) && errno != EINVAL && errno != EROFS ? -errno : 0;
}

static int sync_work(void *arg)
{
	return do_sync(*(int *)arg);
}

int record_file__sync(int fd, void (*idle)(void *arg), void *arg)
{
	return record_file__run(sync_work, &fd, idle, arg);
}

uid_t record_file__own_uid(const char *path)
{
	struct record_file file = {};
	uid_t uid = geteuid();
	struct stat st;

	if (!record_file__create(&file, path)) {
		if (!fstat(file.fd, &st))
			uid = st.st_uid;
		record_file__abort(&file);
	}
	return uid;
}

const char *record_file__why_not(int fd, uid_t uid)
{
	struct stat st;

	if (fstat(fd, &st))
		return "perf cannot look at it";
	if (!S_ISREG(st.st_mode))
		return "it is not a regular file";
	if (st.st_uid != uid)
		return "it belongs to another user";
	return NULL;
}

bool record_file__has_name(const char *path, int fd)
{
	struct stat mine, there;

	return !fstat(fd, &mine) && !lstat(path, &there) && mine.st_ino == there.st_ino &&
	       mine.st_dev == there.st_dev;
}

int record_file__sync_dir(const char *path)
{
	char *copy = strdup(path);
	int fd, err;

	if (!copy)
		return -ENOMEM;
	fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	err = fd < 0 ? -errno : do_sync(fd);
	if (fd >= 0)
		close(fd);
	free(copy);
	return err;
}

static int rename_old(const char *path)
{
	char *old;
	int err = 0;

	if (asprintf(&old, "%s.old", path) < 0)
		return -ENOMEM;
	if (rename(path, old) && errno != ENOENT)
		err = -errno;
	free(old);
	return err;
}

static int give_name(struct record_file *file, enum record_file_old old)
{
	struct stat st;
	int err;

	if (old == RECORD_FILE__REPLACES_OLD)
		return rename(file->tmp, file->path) ? -errno : 0;
	if (old == RECORD_FILE__RENAMES_OLD) {
		err = rename_old(file->path);
		if (err)
			return err;
	}
	/* Unlike rename(), link() replaces no existing file. */
	if (!link(file->tmp, file->path)) {
		unlink(file->tmp);
		return 0;
	}
	if (errno != EPERM && errno != EOPNOTSUPP)
		return -errno;
	/* The file system has no hard links. */
	if (!lstat(file->path, &st))
		return -EEXIST;
	return rename(file->tmp, file->path) ? -errno : 0;
}

static void free_names(struct record_file *file)
{
	zfree(&file->buf);
	zfree(&file->tmp);
	zfree(&file->path);
}

int record_file__finish(struct record_file *file)
{
	int err = flush_buf(file);

	free_names(file);
	return err;
}

int record_file__commit_fd(struct record_file *file, enum record_file_old old)
{
	int err = flush_buf(file);

	if (!err)
		err = record_file__sync(file->fd, file->idle, file->arg);
	if (!err)
		err = give_name(file, old);
	if (err) {
		record_file__abort(file);
		return err;
	}
	zfree(&file->tmp);
	file->named = true;
	err = record_file__sync_dir(file->path);
	free_names(file);
	return err;
}

int record_file__commit(struct record_file *file, enum record_file_old old)
{
	int err = record_file__commit_fd(file, old);

	if (file->fd >= 0)
		close(file->fd);
	file->fd = -1;
	return err;
}

void record_file__abort(struct record_file *file)
{
	if (file->tmp)
		unlink(file->tmp);
	if (file->fd >= 0)
		close(file->fd);
	file->fd = -1;
	free_names(file);
}
