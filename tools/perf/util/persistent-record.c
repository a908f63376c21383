// SPDX-License-Identifier: GPL-2.0
/*
 * perf record -e persistent/NS/: write the records of namespaces to a file.
 */
#include "persistent-record.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <linux/kernel.h>
#include <linux/sizes.h>
#include <linux/string.h>
#include "clockid.h"
#include "data.h"
#include "debug.h"
#include "env.h"
#include "evlist.h"
#include "evsel.h"
#include "persistent.h"
#include "persistent-read.h"
#include "session.h"
#include "util.h"

/* A round has that many bytes of records of namespaces. */
#define ROUND_SIZE	SZ_1M

/* Are all records held back? --max-size must see all before it writes the first. */
static bool record__holds(const struct persistent_record *record)
{
	return record->slice && persistent_slice__holds(record->slice);
}

/*
 * If recording goes on until Ctrl-C, only another signal ends reading. It must come
 * during the last read, as some programs send the first one twice.
 */
static bool record__is_interrupted(struct persistent_record *record)
{
	return *record->nr_signals > record->ignored_signals;
}

/*
 * Records come in the order of time. With many short rounds, a tool that reads the file can
 * process records early, instead of holding all of them.
 */
static int record__push(void *to, void *records, size_t size)
{
	struct persistent_record *record = to;
	const struct persistent_reader *reader = record->set->reader;
	int err;

	record->unfinished_round = true;
	record->round_bytes += size;
	err = record->write(record->rec, NULL, records, size);
	if (!err && record->round_bytes >= ROUND_SIZE && !persistent_reader__is_split(reader) &&
	    persistent_reader__time(reader) <= record->rounds_until)
		err = record->finish_round(record->rec);

	record->write_failed |= err;
	return err;
}

static int record__push_unless_interrupted(void *to, void *records, size_t size)
{
	if (record__is_interrupted(to))
		return -EINTR;

	return size ? record__push(to, records, size) : 0;
}

static void record__err_copy(int err)
{
	char msg[STRERR_BUFSIZE];

	pr_err("Cannot read the buffers: %s.\n", str_error_r(-err, msg, sizeof(msg)));
	if (persistent_reader__is_no_room(err))
		pr_err("A copy needs as much space as the buffers, beside the output or in $TMPDIR. Reading a snapshot\n"
		       "of 'perf ctl -s' needs no copy, and with -C you can read a few CPUs at a time.\n");
}

static int record__read_or_copy(struct persistent_record *record)
{
	struct persistent_reader *reader = record->set->reader;

	if (record__holds(record))
		return persistent_reader__copy(reader, record__push_unless_interrupted, record);
	return persistent_reader__read(reader, record__push_unless_interrupted, record);
}

static void record__warn_split(struct persistent_record *record)
{
	if (!record->warned_split && persistent_reader__is_split(record->set->reader))
		pr_warning("WARNING: there was no space for a copy of all buffers, beside the output or in $TMPDIR: they\n"
			   "were read in parts. Some of the oldest records may have been overwritten before they were\n"
			   "read, and reading the output takes more memory.\n");
	record->warned_split = persistent_reader__is_split(record->set->reader);
}

/*
 * If perf only looks back, it reads once, at the end: a second read would leave a
 * gap where writers were faster.
 */
int persistent_record__read(struct persistent_record *record, bool synch)
{
	int percent;

	if (!record->set || record->interrupted || (record->only_looks_back && !synch))
		return 0;

	percent = record__read_or_copy(record);
	/* Interrupted: write what was copied so far. Only another signal ends that. */
	if (percent == -EINTR && !record->cut_short &&
	    persistent_reader__is_cut_short(record->set->reader)) {
		record->cut_short = true;
		record->ignored_signals = *record->nr_signals;
		percent = record__read_or_copy(record);
	}
	if (percent == -EINTR) {
		record->interrupted = true;
		return 0;
	}
	if (percent < 0) {
		if (!record->write_failed)
			record__err_copy(percent);
		return percent;
	}
	record->interrupted = record->cut_short;
	record__warn_split(record);

	record->ms = persistent_reader__next_ms(record->ms, percent);
	return 0;
}

static u64 record__buffer_bytes(struct persistent_record *record)
{
	u64 bytes = 0;

	for (int i = 0; i < record->set->nr_ns; i++) {
		struct persistent_ns *ns = record->set->ns[i];

		for (int j = 0; j < ns->nr_members && !ns->snapshot; j++) {
			if (ns->members[j].output_id == ns->members[j].id)
				bytes += ns->members[j].buffer_size;
		}
	}
	return bytes;
}

static u64 room_at(int fd)
{
	struct statvfs st;

	return fstatvfs(fd, &st) ? 0 : (u64)st.f_bavail * st.f_frsize;
}

/* The output may be a link to a file in another directory, or not be there yet. */
static char *output_dir(const char *path)
{
	char *file = realpath(path, NULL) ?: strdup(path);
	char *dir = file ? strdup(dirname(file)) : NULL;

	free(file);
	return dir;
}

/*
 * Take the first of these directories that has room for a copy of the buffers, or the one
 * with most room. That of the output comes first, as it must have room for the same data.
 */
static int record__open_copy(struct persistent_record *record, const char *path)
{
	const char *output = path ?: "perf.data";
	char *dir = strcmp(output, "-") ? output_dir(output) : NULL;
	const char * const dirs[] = {
		dir, getenv("TMPDIR"), "/var/tmp", "/tmp",
	};
	u64 wanted = record__buffer_bytes(record), most = 0;
	int best = -1;

	for (size_t i = 0; i < ARRAY_SIZE(dirs) && (best < 0 || most < wanted); i++) {
		int fd = dirs[i] ? open(dirs[i], O_TMPFILE | O_RDWR | O_CLOEXEC, 0600) : -1;
		u64 room = fd < 0 ? 0 : room_at(fd);

		if (fd < 0)
			continue;
		if (best >= 0 && room <= most) {
			close(fd);
			continue;
		}
		if (best >= 0)
			close(best);
		best = fd;
		most = room;
	}
	free(dir);
	return best;
}

/*
 * The kernel goes on overwriting the buffers, and reading /proc takes seconds if there
 * are many tasks. So copy the buffers before that. With -k perf disables the namespaces
 * instead, as nobody wants later records.
 */
int persistent_record__copy_early(struct persistent_record *record, const char *path)
{
	struct persistent_reader *reader = record->set->reader;
	int err;

	record->copy_fd = record__open_copy(record, path);
	persistent_reader__set_file(reader, record->copy_fd);
	if (record->kill && record->only_looks_back)
		return 0;

	err = persistent_reader__copy(reader, record__push_unless_interrupted, record);
	if (err == -EINTR) {
		/* Write what was copied so far. Only another signal ends that. */
		record->cut_short = true;
		record->ignored_signals = *record->nr_signals;
		return 0;
	}
	/* The rest is copied after this part was written. --max-size cannot do that. */
	if (persistent_reader__is_no_room(err) && !record__holds(record))
		return 0;
	if (err)
		record__err_copy(err);
	return err;
}

/* Earlier records are read nevertheless, but the user has waited for more in vain. */
static void record__warn_gone(struct persistent_record *record)
{
	if (record->only_looks_back)
		return;

	for (int i = 0; i < record->set->nr_ns; i++) {
		struct persistent_ns *ns = record->set->ns[i];

		if (!ns->snapshot && persistent_ns__is_gone(ns))
			pr_warning("WARNING: '%s' was deleted while it was read, and recorded nothing after that.\n",
				   ns->name);
	}
}

/* These are not lost for lack of room: while it was stopped, nobody wanted them. */
static void record__tell_missed(struct persistent_record *record)
{
	for (int i = 0; i < record->set->nr_ns && !quiet; i++) {
		struct persistent_ns *ns = record->set->ns[i];
		u64 missed = persistent_ns__missed(ns);

		if (missed)
			fprintf(stderr, "[ perf record: '%s': %" PRIu64 " records were not taken while it was stopped ]\n",
				ns->name, missed);
	}
}

void persistent_record__report(struct persistent_record *record)
{
	persistent_reader__warn_overtaken(record->set->reader);
	record__warn_gone(record);
	record__tell_missed(record);
}

/* Size of the end-of-round records among so many bytes of records */
static u64 rounds_size(u64 bytes)
{
	return (bytes / ROUND_SIZE + 1) * sizeof(struct perf_event_header);
}

/* Write the newest of the copied records, at most @room bytes of them. */
static int record__try_newest(struct persistent_record *record, u64 room)
{
	/* It may be the second try. */
	evlist__set_first_sample_time(record->evlist, 0);
	evlist__set_last_sample_time(record->evlist, 0);

	return persistent_slice__push_newest(record->slice, room, record__push, record) ?:
	       record->finish_round(record->rec) ?:
	       record->finish_output(record->rec);
}

static int rewind_output(int fd, off_t pos)
{
	if (ftruncate(fd, pos) || lseek(fd, pos, SEEK_SET) != pos) {
		pr_err("failed to write perf data, error: %m\n");
		return -errno;
	}

	return 0;
}

/*
 * With --max-size: the header features follow the records, and their size is known
 * only after they were written. If the file is too large then, write fewer records.
 */
static int record__finish_newest(struct persistent_record *record, struct perf_session *session,
				 u64 *written)
{
	struct perf_data *data = session->data;
	u64 before = *written, max_size = record->slice_opts.max_size, start, room;
	bool is_pipe = data->is_pipe;
	int fd = perf_data__fd(data), err;
	struct stat st = { .st_size = 0 };

	start = is_pipe ? before + sizeof(struct perf_pipe_file_header) :
			  (u64)lseek(fd, 0, SEEK_CUR);
	room = start + rounds_size(max_size);
	room = max_size > room ? max_size - room : 0;

	err = record__try_newest(record, room);
	if (!err && !is_pipe && fstat(fd, &st))
		err = -errno;

	if (!err && (u64)st.st_size > max_size) {
		u64 over = st.st_size - max_size;

		over += rounds_size(max_size);
		room = *written - before;
		room = room > over ? room - over : 0;
		start += over;
		err = rewind_output(fd, start - over);
		if (!err) {
			/* With -z: new data must not refer to data that is gone. */
			zstd_fini(&session->zstd_data);
			*written = before;
			err = record__try_newest(record, room);
		}
	}

	if (err == -E2BIG)
		pr_err("--max-size is too small for any sample: %" PRIu64 "K are needed to describe the samples.\n",
		       (start + persistent_slice__vital_size(record->slice)) / 1024 + 1);
	return err;
}

int persistent_record__finish(struct persistent_record *record, struct perf_session *session,
			      u64 *written)
{
	struct perf_data *data = session->data;
	int err;

	if (record__holds(record))
		err = record__finish_newest(record, session, written);
	else
		err = record->finish_output(record->rec);
	if (!err && !data->is_pipe && !persistent_record__has_vital_features(session))
		err = -EIO;
	if (!err && record->slice)
		persistent_slice__report(record->slice);
	return err;
}

/*
 * Store in the file what time of day the clock of the namespaces shows. For most of them it is
 * the perf clock. When a namespace is made, nobody knows yet that its records will be compared
 * with those of other machines. An error is no reason to fail.
 */
void persistent_record__init_clock(struct perf_env *env, struct evlist *evlist)
{
	struct evsel *evsel;
	u64 now, wall;

	evlist__for_each_entry(evlist, evsel) {
		if (!evsel->core.attached)
			continue;
		/* All of them have the same clock. */
		if (!persistent__now_and_wall(&evsel->core.attr, &now, &wall)) {
			env->clock.tod_ns = wall;
			env->clock.clockid_ns = now;
			env->clock.clockid = CLOCKID_PERF;
			env->clock.enabled = true;
		}
		return;
	}
}
