// SPDX-License-Identifier: GPL-2.0
/*
 * perf.data.auxiliary: side-band records of tasks, maps and the like, for perf record
 * --daemon.
 *
 * perf writes the records as they come, and updates the data size in the header after
 * them. So another process can read the file at any time, and if perf is killed the file
 * is valid up to then. On a full disk perf keeps records in memory for a while, and
 * writes them when there is room again.
 */
#include "record-aux.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/kernel.h>
#include <linux/sizes.h>
#include <linux/zalloc.h>
#include <sys/file.h>
#include <sys/stat.h>
#include "data-join.h"
#include "debug.h"
#include "header.h"
#include "record-file.h"
#include "record-needs.h"
#include "record-parts.h"
#include "record-trim.h"

#define MIN_SIZE	((size_t)SZ_64K)
#define MAX_SIZE	((size_t)SZ_16M)
/* The limit while record_aux__trim() rewrites the file, which takes seconds */
#define MAX_HELD_SIZE	((size_t)SZ_256M)

/*
 * Opening
 */

static int err_aux(const struct record_parts *parts, const char *what)
{
	int err = -errno;

	pr_err("Cannot %s %s: %m\n", what, parts->aux);
	return err;
}

/* Open and lock the file. Try again if it was renamed or removed before it was locked. */
static int open_locked(const struct record_parts *parts)
{
	const char *why;
	int fd, err;

	for (;;) {
		fd = open(parts->aux, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
			  0600);
		if (fd < 0)
			return err_aux(parts, "open");
		if (flock(fd, LOCK_EX | LOCK_NB)) {
			err = -errno;
			if (err == -EWOULDBLOCK)
				pr_err("Another 'perf record --daemon' writes to %s: use another -o.\n",
				       parts->aux);
			else
				err_aux(parts, "lock");
			close(fd);
			return err;
		}
		if (record_file__has_name(parts->aux, fd))
			break;
		close(fd);
	}

	why = record_file__why_not(fd, parts->uid);
	if (!why)
		return fd;
	pr_err("Cannot write to %s: %s.\n", parts->aux, why);
	close(fd);
	return -EINVAL;
}

/*
 * Keep the file of the last recording under another name if files of samples may need it. The
 * user may have linked it somewhere, so do not change it in any case.
 */
static int keep_old(struct record_aux *aux, const struct record_parts *parts)
{
	char *old = NULL;
	int err = 0, fd;

	if (record_parts__need(parts, parts->aux)) {
		old = record_parts__old_aux(parts);
		if (!old)
			return -ENOMEM;
	}
	if (old ? rename(parts->aux, old) : unlink(parts->aux))
		err = err_aux(parts, old ? "rename" : "remove");
	free(old);
	if (err)
		return err;

	fd = open(parts->aux, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_aux(parts, "create");
	close(aux->fd);
	aux->fd = fd;
	return flock(fd, LOCK_EX | LOCK_NB) ? err_aux(parts, "lock") : 0;
}

int record_aux__open(struct record_aux *aux, const struct record_parts *parts)
{
	struct stat st;

	*aux = (struct record_aux) { .fd = -1 };
	aux->fd = open_locked(parts);
	if (aux->fd < 0)
		return aux->fd;

	aux->is_old = fstat(aux->fd, &st) || st.st_size || st.st_nlink > 1;
	record_parts__remove_unfinished(parts);
	return 0;
}

void record_aux__close(struct record_aux *aux)
{
	if (aux->fd >= 0)
		close(aux->fd);
	aux->fd = -1;
	zfree(&aux->buf);
}

/*
 * Writing
 */

static int write_at(int fd, const void *buf, size_t size, u64 pos)
{
	while (size) {
		ssize_t ret = pwrite(fd, buf, size, pos);

		if (ret < 0 && errno == EINTR)
			continue;
		if (ret <= 0)
			return ret ? -errno : -EIO;
		buf += ret;
		size -= ret;
		pos += ret;
	}
	return 0;
}

/* Update the data size in the header, after the data itself was written. */
static int write_data_size(struct record_aux *aux)
{
	return write_at(aux->fd, &aux->data_size, sizeof(aux->data_size),
			offsetof(struct perf_file_header, data.size));
}

static void tell_err(struct record_aux *aux, int err)
{
	if (err && err != aux->err) {
		errno = -err;
		pr_err("Cannot write the data about tasks: %m. It is kept in memory for now.\n");
	}
	if (!err && (aux->err || aux->nr_dropped))
		pr_err("Data about tasks is written again, %" PRIu64 " bytes of it were dropped.\n",
		       aux->nr_dropped);
	if (!err)
		aux->nr_dropped = 0;
	aux->err = err;
}

/*
 * Only event @nr has records in this file. perf cannot read a file with tracepoint events
 * without their formats, which record_aux__end() writes after the data. Until then the
 * header lists event @nr alone. The attributes of the other events are already in their
 * final place.
 */
int record_aux__begin(struct record_aux *aux, const struct record_parts *parts,
		      const void *header, u64 data_offset, int nr)
{
	struct perf_file_header begin = *(const struct perf_file_header *)header;
	int err = aux->is_old ? keep_old(aux, parts) : 0;

	if (err)
		return err;
	aux->is_old = false;
	record_parts__remove_old_aux(parts);

	if (nr >= 0) {
		begin.attrs.offset += nr * begin.attr_size;
		begin.attrs.size = begin.attr_size;
	}
	err = write_at(aux->fd, header + sizeof(begin), data_offset - sizeof(begin),
		       sizeof(begin)) ?:
	      write_at(aux->fd, &begin, sizeof(begin), 0);
	if (err) {
		errno = -err;
		err_aux(parts, "write to");
	}

	aux->data_offset = data_offset;
	aux->data_size = 0;
	aux->trimmed_size = 0;
	return err;
}

int record_aux__flush(struct record_aux *aux)
{
	int err;

	if (!aux->len && !aux->err)
		return 0;
	err = write_at(aux->fd, aux->buf, aux->len, aux->data_offset + aux->data_size);
	if (!err) {
		aux->data_size += aux->len;
		aux->len = 0;
		if (aux->size > MAX_SIZE) {
			zfree(&aux->buf);
			aux->size = 0;
		}
		err = write_data_size(aux);
	}
	tell_err(aux, err);
	return err;
}

/* If memory is full, drop the newest records, so that the kept ones have no gap. */
void record_aux__write(struct record_aux *aux, const void *buf, size_t size)
{
	size_t wanted = max(aux->size, MIN_SIZE), limit = aux->held ? MAX_HELD_SIZE : MAX_SIZE;
	char *larger;

	if (aux->len + size > limit && !aux->held)
		record_aux__flush(aux);
	/* Keep no record after a gap, not even one that fits into the rest of the buffer. */
	if (aux->len && (aux->nr_dropped || aux->len + size > limit)) {
		aux->nr_dropped += size;
		return;
	}
	while (wanted < aux->len + size)
		wanted *= 2;
	if (wanted != aux->size) {
		larger = realloc(aux->buf, wanted);
		if (!larger) {
			aux->nr_dropped += size;
			return;
		}
		aux->buf = larger;
		aux->size = wanted;
	}
	memcpy(aux->buf + aux->len, buf, size);
	aux->len += size;
}

/*
 * Trimming
 */

bool record_aux__is_large(const struct record_aux *aux, u64 slack)
{
	return aux->data_size > 2 * aux->trimmed_size + slack;
}

struct trim_work {
	int				fd;
	const struct record_needs	*needs;
	struct record_file		*file;
};

/* Runs in a thread. Uses only the file on disk and @needs. */
static int write_trimmed(void *arg)
{
	struct trim_work *work = arg;
	struct data_join join = { .force = true, .no_rounds = true };
	char path[64];
	const char * const paths[] = { path };
	int err;

	/* Open the file by its descriptor, as its name may belong to another file now. */
	scnprintf(path, sizeof(path), "/proc/self/fd/%d", work->fd);
	err = data_join__open(&join, paths, ARRAY_SIZE(paths));
	/* Keep a damaged file: somebody may be able to read the rest of it. */
	if (!err && join.files[0].nr_cut)
		err = -EBADMSG;
	err = err ?: data_join__sort(&join) ?: record_trim(&join, work->needs) ?:
	      data_join__write(&join, work->file);

	data_join__exit(&join);
	return err;
}

static void replace_file(struct record_aux *aux, int fd, u64 data_size)
{
	close(aux->fd);
	aux->fd = fd;
	aux->data_size = data_size;
	aux->trimmed_size = data_size;
}

int record_aux__trim(struct record_aux *aux, const struct record_parts *parts,
		     const struct record_needs *needs, void (*idle)(void *arg), void *arg)
{
	struct record_file file = {};
	struct trim_work work = { .fd = aux->fd, .needs = needs, .file = &file };
	u64 before = aux->data_size, after = 0;
	int err = record_file__create(&file, parts->aux);

	/* Hold new records in memory, or they would be lost with the old file, or doubled. */
	aux->held = true;
	if (!err) {
		err = record_file__run(write_trimmed, &work, idle, arg);
		after = file.pos - aux->data_offset;
		if (!err && flock(file.fd, LOCK_EX | LOCK_NB))
			err = -errno;
		if (err) {
			record_file__abort(&file);
		} else {
			file.idle = idle;
			file.arg = arg;
			err = record_file__commit_fd(&file, RECORD_FILE__REPLACES_OLD);
		}
	}

	aux->held = false;
	/* If only syncing the directory failed, the new file has its name: use it. */
	if (file.fd >= 0)
		replace_file(aux, file.fd, after);
	if (err) {
		errno = -err;
		pr_err("Cannot rewrite %s without its obsolete records: %m\n", parts->aux);
		/* Do not try again before the file has grown further. */
		aux->trimmed_size = aux->data_size;
		return err;
	}
	if (!quiet)
		fprintf(stderr, "[ perf record: %" PRIu64 " of %" PRIu64 " bytes in %s were still of use ]\n",
			after, before, parts->aux);
	return record_aux__flush(aux);
}

/*
 * End
 */

int record_aux__end(struct record_aux *aux, const void *header, size_t header_size,
		    const void *features, size_t size)
{
	/* Write the header last, as it makes the features valid. */
	int err = write_at(aux->fd, features, size, aux->data_offset + aux->data_size) ?:
		  write_at(aux->fd, header, header_size, 0);

	if (err) {
		errno = -err;
		pr_err("Cannot write the description of this machine: %m\n");
	}
	return err;
}
