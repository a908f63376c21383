// SPDX-License-Identifier: GPL-2.0
/*
 * perf record -M without --daemon: append each dump of the sample buffers to one output
 * file.
 *
 * perf writes a copy of the buffers, so recording goes on meanwhile. If a write fails,
 * perf cuts the file back to its old size, and the buffers still have the samples for the
 * next dump. Side-band records (of tasks and maps) wait in memory until perf can write
 * them.
 *
 * perf cannot take back data in a pipe. So it starts a dump only if the pipe has room,
 * and gives up if there is no room for a while. A dump that has started waits for the
 * reader.
 */
#include "record-append.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/kernel.h>
#include <linux/sizes.h>
#include <linux/zalloc.h>
#include <internal/lib.h>
#include "debug.h"
#include "record-dump.h"
#include "record-file.h"

#define MIN_SIZE	((size_t)SZ_64K)
#define FLUSH_SIZE	((size_t)SZ_1M)
#define MAX_SIZE	((size_t)SZ_16M)

/* Do not start a dump if the reader of a pipe reads nothing for this long. */
#define PIPE_WAIT_MS	1000

void record_append__begin(struct record_append *append, int fd, u64 written)
{
	*append = (struct record_append) {
		.fd	 = fd,
		.on	 = true,
		.written = written,
		.is_pipe = lseek(fd, 0, SEEK_CUR) < 0,
	};
}

static int write_all(int fd, const void *buf, size_t size)
{
	ssize_t ret = writen(fd, buf, size);

	if (ret == (ssize_t)size)
		return 0;
	return ret < 0 ? -errno : -EIO;
}

/*
 * Write to a pipe as long as it has room, and wait up to @ms for more room; -1: for ever.
 * Advances @buf and @size. -EAGAIN: the pipe is full.
 */
static int write_pipe(int fd, const void **buf, size_t *size, int ms)
{
	struct pollfd pollfd = { .fd = fd, .events = POLLOUT };

	while (*size) {
		int ready = poll(&pollfd, 1, ms);
		ssize_t ret;

		if (!ready)
			return -EAGAIN;
		/* A pipe that is ready takes PIPE_BUF bytes without blocking. */
		ret = ready < 0 ? ready : write(fd, *buf, min_t(size_t, *size, PIPE_BUF));
		if (ret < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (ret <= 0)
			return ret ? -errno : -EIO;
		*buf += ret;
		*size -= ret;
	}
	return 0;
}

/* Cut off a partial write, as a reader of the file would stop there. */
static void take_back(const struct record_append *append, off_t pos)
{
	if (!append->is_pipe &&
	    (ftruncate(append->fd, pos) || lseek(append->fd, pos, SEEK_SET) < 0))
		pr_err("Cannot truncate the file after a partial write: %m\n");
}

bool record_append__can_retry(const struct record_append *append, int err)
{
	return !append->is_pipe || err == -EAGAIN;
}

const char *record_append__why(int err)
{
	return err == -EAGAIN ? "nobody reads the pipe" : strerror(-err);
}

static void tell_err(struct record_append *append, int err)
{
	if (err && err != append->err)
		pr_err("Cannot write the data about tasks: %s.%s\n", record_append__why(err),
		       record_append__can_retry(append, err) ? " It is kept in memory for now." : "");
	if (!err && (append->err || append->nr_dropped))
		pr_err("Data about tasks is written again, %" PRIu64 " bytes of it were dropped.\n",
		       append->nr_dropped);
	if (!err)
		append->nr_dropped = 0;
	append->err = err;
}

/* @ms: see write_pipe(). Unwritten records stay for the next call. */
static int flush_pipe(struct record_append *append, int ms)
{
	const void *buf = append->buf;
	size_t size = append->len;
	int err = write_pipe(append->fd, &buf, &size, ms);

	append->written += append->len - size;
	memmove(append->buf, buf, size);
	append->len = size;
	return err;
}

static int flush_file(struct record_append *append)
{
	off_t pos = lseek(append->fd, 0, SEEK_CUR);
	int err = write_all(append->fd, append->buf, append->len);

	if (err) {
		take_back(append, pos);
	} else {
		append->written += append->len;
		append->len = 0;
	}
	return err;
}

int record_append__flush(struct record_append *append)
{
	int err;

	if (!append->len || append->busy)
		return 0;
	err = append->is_pipe ? flush_pipe(append, 0) : flush_file(append);
	/* The reader may be busy for a moment: report a full pipe only if much data waits. */
	if (err != -EAGAIN || append->len > FLUSH_SIZE)
		tell_err(append, err);
	/* A pipe cannot go on after a partial write that failed. */
	return append->is_pipe && err != -EAGAIN ? err : 0;
}

void record_append__write(struct record_append *append, const void *buf, size_t size)
{
	size_t wanted = max(append->size, MIN_SIZE);
	char *larger;

	if (append->len + size > FLUSH_SIZE && !append->err)
		record_append__flush(append);
	/* Write no record after a gap, not even one that fits into the rest of the buffer. */
	if (append->len && (append->nr_dropped || append->len + size > MAX_SIZE)) {
		append->nr_dropped += size;
		return;
	}
	while (wanted < append->len + size)
		wanted *= 2;
	if (wanted != append->size) {
		larger = realloc(append->buf, wanted);
		if (!larger) {
			append->nr_dropped += size;
			return;
		}
		append->buf = larger;
		append->size = wanted;
	}
	memcpy(append->buf + append->len, buf, size);
	append->len += size;
}

struct append_work {
	const struct record_append	*append;
	const struct record_dump	*dump;
	/* For a pipe: pending side-band records to write first */
	const void			*rest;
	size_t				rest_len;
};

static int write_dump_to_file(struct append_work *work)
{
	off_t pos = lseek(work->append->fd, 0, SEEK_CUR);
	int err = 0;

	for (int i = 0; i < work->dump->nr_copies && !err; i++)
		err = write_all(work->append->fd, work->dump->copies[i].buf,
				work->dump->copies[i].size);
	if (err)
		take_back(work->append, pos);
	return err;
}

static int write_dump_to_pipe(struct append_work *work)
{
	int fd = work->append->fd, ms = PIPE_WAIT_MS;
	int err = write_pipe(fd, &work->rest, &work->rest_len, ms);

	for (int i = 0; i < work->dump->nr_copies && !err; i++) {
		const void *buf = work->dump->copies[i].buf;
		size_t size = work->dump->copies[i].size, all = size;

		err = write_pipe(fd, &buf, &size, ms);
		if (size < all)
			ms = -1;
		if (err == -EAGAIN && ms < 0) {
			pr_warning("WARNING: the pipe is full: the rest of a dump waits for the reader\n");
			err = write_pipe(fd, &buf, &size, ms);
		}
	}
	return err;
}

/* Runs in a thread */
static int write_dump(void *arg)
{
	struct append_work *work = arg;

	return work->append->is_pipe ? write_dump_to_pipe(work) : write_dump_to_file(work);
}

/*
 * Make @buf of @size the buffer again. Its unwritten @rest comes before the records that were
 * added meanwhile. It may begin in the middle of a record, and a reader of the pipe cannot go
 * on without the end of that: this must not fail.
 */
static void put_back(struct record_append *append, void *buf, size_t size,
		     const void *rest, size_t len)
{
	char *later = append->buf;
	size_t later_len = append->len;
	u64 nr_dropped = append->nr_dropped;

	append->buf = memmove(buf, rest, len);
	append->len = len;
	append->size = size;
	/* These came before the ones that were dropped. */
	append->nr_dropped = 0;
	if (later_len)
		record_append__write(append, later, later_len);
	append->nr_dropped += nr_dropped;
	free(later);
}

int record_append__dump(struct record_append *append, const struct record_dump *dump,
			void (*idle)(void *arg), void *arg)
{
	struct append_work work = { .append = append, .dump = dump };
	size_t len = 0, size = 0;
	void *buf = NULL;
	int err;

	/* Write pending side-band records first: they have the names of tasks in the dump. */
	err = record_append__flush(append) ?: (append->is_pipe ? 0 : append->err);
	if (err)
		return err;
	append->busy = true;
	if (append->is_pipe) {
		buf = append->buf;
		len = append->len;
		size = append->size;
		work.rest = buf;
		work.rest_len = len;
		append->buf = NULL;
		append->len = 0;
		append->size = 0;
	}
	err = record_file__run(write_dump, &work, idle, arg);
	append->written += len - work.rest_len;
	if (work.rest_len && err == -EAGAIN)
		put_back(append, buf, size, work.rest, work.rest_len);
	else
		free(buf);
	append->busy = false;
	if (!err)
		append->written += dump->size;
	else if (!record_append__can_retry(append, err))
		append->err = err;
	return err;
}

int record_append__end(struct record_append *append)
{
	u64 dropped = append->nr_dropped;
	int err = 0;

	append->busy = false;
	/* Wait for the reader of a pipe. Later writes to it block as well. */
	if (append->is_pipe && append->len &&
	    record_append__can_retry(append, append->err ?: -EAGAIN))
		tell_err(append, flush_pipe(append, -1));
	record_append__flush(append);
	if (append->len || append->nr_dropped)
		pr_err("%" PRIu64 " bytes of data about tasks are lost.\n",
		       append->len + append->nr_dropped);
	if (append->len || dropped)
		err = append->err ?: -EIO;
	zfree(&append->buf);
	append->len = 0;
	append->size = 0;
	append->on = false;
	return err;
}
