// SPDX-License-Identifier: GPL-2.0
/*
 * perf record -M without --daemon: append what is in memory to the one output file.
 *
 * There is a copy of it, so that recording goes on while it is written. If that fails, the file is
 * again what it was before, and memory has the same samples for the next time. What tells of tasks
 * and maps waits in memory until it can be written.
 */
#include "record-append.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/kernel.h>
#include <linux/sizes.h>
#include <linux/zalloc.h>
#include "debug.h"
#include "record-dump.h"
#include "record-file.h"

#define MIN_SIZE	((size_t)SZ_64K)
#define FLUSH_SIZE	((size_t)SZ_1M)
#define MAX_SIZE	((size_t)SZ_16M)

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
	while (size) {
		ssize_t ret = write(fd, buf, size);

		if (ret < 0 && errno == EINTR)
			continue;
		if (ret <= 0)
			return ret ? -errno : -EIO;
		buf += ret;
		size -= ret;
	}
	return 0;
}

/* A part of it would be what is read last: nothing could follow. */
static void take_back(const struct record_append *append, off_t pos)
{
	if (!append->is_pipe &&
	    (ftruncate(append->fd, pos) || lseek(append->fd, pos, SEEK_SET) < 0))
		pr_err("Cannot cut off what was written of it: %m\n");
}

static void tell_err(struct record_append *append, int err)
{
	if (err && err != append->err) {
		errno = -err;
		pr_err("Cannot write what is known of tasks: %m.%s\n",
		       append->is_pipe ? "" : " It is kept in memory for now.");
	}
	if (!err && (append->err || append->nr_dropped))
		pr_err("What is known of tasks is written again, %" PRIu64 " bytes of it were dropped.\n",
		       append->nr_dropped);
	if (!err)
		append->nr_dropped = 0;
	append->err = err;
}

int record_append__flush(struct record_append *append)
{
	off_t pos;
	int err;

	if (!append->len || append->busy)
		return 0;
	pos = lseek(append->fd, 0, SEEK_CUR);
	err = write_all(append->fd, append->buf, append->len);
	if (err) {
		take_back(append, pos);
	} else {
		append->written += append->len;
		append->len = 0;
	}
	tell_err(append, err);
	/* The rest of a pipe would have no beginning. */
	return append->is_pipe ? err : 0;
}

void record_append__write(struct record_append *append, const void *buf, size_t size)
{
	size_t wanted = max(append->size, MIN_SIZE);
	char *larger;

	if (append->len + size > FLUSH_SIZE && !append->err)
		record_append__flush(append);
	/* Nothing follows a gap, not even what is small enough for the room that is left. */
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
};

/* In a thread */
static int write_dump(void *arg)
{
	const struct append_work *work = arg;
	off_t pos = lseek(work->append->fd, 0, SEEK_CUR);
	int err = 0;

	for (int i = 0; i < work->dump->nr_copies && !err; i++)
		err = write_all(work->append->fd, work->dump->copies[i].buf,
				work->dump->copies[i].size);
	if (err)
		take_back(work->append, pos);
	return err;
}

int record_append__dump(struct record_append *append, const struct record_dump *dump,
			void (*idle)(void *arg), void *arg)
{
	struct append_work work = { .append = append, .dump = dump };
	int err;

	/* What waits is older, and has the names of tasks in the dump. */
	err = record_append__flush(append) ?: append->err;
	if (err)
		return err;
	append->busy = true;
	err = record_file__run(write_dump, &work, idle, arg);
	append->busy = false;
	if (!err)
		append->written += dump->size;
	else if (append->is_pipe)
		append->err = err;
	return err;
}

void record_append__end(struct record_append *append)
{
	append->busy = false;
	record_append__flush(append);
	if (append->len || append->nr_dropped)
		pr_err("%" PRIu64 " bytes of what is known of tasks are lost.\n",
		       append->len + append->nr_dropped);
	zfree(&append->buf);
	append->len = 0;
	append->size = 0;
	append->on = false;
}
