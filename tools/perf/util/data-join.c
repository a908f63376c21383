// SPDX-License-Identifier: GPL-2.0
/*
 * Join the files of one recording of perf record --daemon: side-band records and samples.
 *
 * All files begin with the same event attributes and ids, so records can be copied
 * unchanged. They are sorted by time. Records without a time tell of what existed before,
 * and come first. If the recorder wrote its buffers twice, two files have the same
 * record. It is written as often as it is in the file that has it most often.
 */
#include "data-join.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/kernel.h>
#include <linux/sizes.h>
#include <linux/zalloc.h>
#include <internal/lib.h>
#include <perf/event.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include "debug.h"
#include "event.h"
#include "evlist.h"
#include "evsel.h"
#include "header.h"
#include "record-file.h"

#define PERF_FILE_MAGIC		0x32454c4946524550ULL	/* "PERFILE2" */

/* The reader of the file sorts about this many bytes of records at a time. */
#define ROUND_SIZE		SZ_1M

static const struct perf_event_header finished_round = {
	.size = sizeof(struct perf_event_header),
	.type = PERF_RECORD_FINISHED_ROUND,
};

/*
 * Opening
 */

static bool is_within(u64 offset, u64 size, u64 end)
{
	return offset <= end && size <= end - offset;
}

/* Returns why the file cannot be joined. NULL: it can. */
static const char *check_header(const struct join_file *file)
{
	const struct perf_file_header *header = file->header;

	if (file->size < sizeof(*header) || header->magic != PERF_FILE_MAGIC)
		return "it was not written by 'perf record' in the byte order of this machine";
	if (header->size != sizeof(*header))
		return "it was written to a pipe, or by another version of perf";
	if (header->data.offset > file->size)
		return "its end is missing";
	if (header->data.offset < sizeof(*header) ||
	    header->attr_size < PERF_ATTR_SIZE_VER0 + sizeof(struct perf_file_section) ||
	    !is_within(header->attrs.offset, header->attrs.size, header->data.offset))
		return "its description of the events is damaged";
	if (test_bit(HEADER_AUXTRACE, header->adds_features) && header->data.size)
		return "it has AUX areas";
	if (test_bit(HEADER_COMPRESSED, header->adds_features) && header->data.size)
		return "it is compressed";
	return NULL;
}

/*
 * A recorder may append to the file, and change the size in its header after that. So read
 * the header before the size of the file.
 */
static int look_at(int fd, struct perf_file_header *header, struct stat *st)
{
	if (fstat(fd, st))
		return -1;
	if (!S_ISREG(st->st_mode))
		return 0;
	return pread(fd, header, sizeof(*header), 0) < 0 ? -1 : fstat(fd, st);
}

/* The end may be missing: after a power failure, a file may be shorter than its header says. */
static void find_end(struct join_file *file)
{
	const struct perf_file_section *data = &file->header->data;
	u64 room = file->size - data->offset;

	/* A size of 0 means that perf was killed: the rest of the file is data. */
	file->data_end = data->offset + (data->size ? min(data->size, room) : room);
	file->nr_cut = data->size > room ? data->size - room : 0;
}

static int map_file(struct join_file *file, const char *path, bool force, bool silent)
{
	const char *wrong = NULL;
	struct stat st;
	int fd, err = 0;

	file->path = path;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || look_at(fd, &file->header_copy, &st)) {
		err = -errno;
		if (!silent)
			pr_err("Cannot open %s: %m\n", path);
		goto out;
	}

	if (!S_ISREG(st.st_mode)) {
		wrong = "it is not a regular file";
	} else if ((size_t)st.st_size != (u64)st.st_size) {
		wrong = "it is too large for this machine";
	} else if (!force && st.st_uid && st.st_uid != geteuid()) {
		wrong = "it belongs to another user (use -f to override)";
	} else if (st.st_size) {
		file->map = mmap(NULL, st.st_size, PROT_READ, MAP_SHARED, fd, 0);
		if (file->map == MAP_FAILED) {
			file->map = NULL;
			wrong = "it cannot be mapped";
		}
		file->size = st.st_size;
		file->header = &file->header_copy;
	}
	if (!wrong)
		wrong = check_header(file);
	if (!wrong)
		find_end(file);
	if (wrong) {
		err = -EINVAL;
		if (!silent)
			pr_err("Cannot join %s: %s.\n", path, wrong);
	}
out:
	if (fd >= 0)
		close(fd);
	return err;
}

static void unmap_file(struct join_file *file)
{
	if (file->map)
		munmap(file->map, file->size);
}

static bool is_part(const struct perf_file_section *a, const struct perf_file_section *b)
{
	return a->offset >= b->offset && is_within(a->offset, a->size, b->offset + b->size);
}

/*
 * Files of one recording have the same event attributes, with the same ids from the
 * kernel. If the recorder was killed, the header may list only some of them, see
 * record_aux__begin().
 */
static bool is_same(const struct join_file *a, const struct join_file *b)
{
	u64 begin = sizeof(*a->header), end = a->header->data.offset;

	return end == b->header->data.offset && a->header->attr_size == b->header->attr_size &&
	       (is_part(&a->header->attrs, &b->header->attrs) ||
		is_part(&b->header->attrs, &a->header->attrs)) &&
	       !memcmp(a->map + begin, b->map + begin, end - begin);
}

/* Find the file whose header lists most events. */
static const struct join_file *find_most(const struct data_join *join)
{
	const struct join_file *most = &join->files[0];

	for (int i = 1; i < join->nr_files; i++) {
		if (join->files[i].header->attrs.size > most->header->attrs.size)
			most = &join->files[i];
	}
	return most;
}

/*
 * Read what is_same() compares, unless the header differs from that of @like. The file may be of
 * a user who cuts it, so do not map it.
 */
static int read_attrs(struct join_file *file, const char *path, const struct join_file *like)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	int err = 0;
	u64 end;

	if (fd < 0)
		return -errno;
	file->header = &file->header_copy;
	if (look_at(fd, &file->header_copy, &st)) {
		err = -errno;
	} else {
		file->size = S_ISREG(st.st_mode) ? st.st_size : 0;
		if (file->size < sizeof(*file->header) || check_header(file))
			err = -EINVAL;
	}
	end = file->header->data.offset;
	if (!err && (!like || end == like->header->data.offset)) {
		file->map = malloc(end);
		if (!file->map)
			err = -ENOMEM;
		else if (preadn(fd, file->map, end, 0) != (ssize_t)end)
			err = -EINVAL;
	}
	close(fd);
	return err;
}

int data_join__same(const char *path, const char *other)
{
	struct join_file a = {}, b = {};
	int err = read_attrs(&a, path, NULL) ?: read_attrs(&b, other, &a);
	int ret = err ?: is_same(&a, &b);

	free(a.map);
	free(b.map);
	return ret;
}

static int add_evsel(struct evlist *evlist, const struct join_file *file, u64 pos)
{
	size_t size = file->header->attr_size - sizeof(struct perf_file_section);
	struct perf_event_attr attr = {};
	struct perf_file_section ids;
	struct evsel *evsel;
	const u64 *id;

	memcpy(&attr, file->map + pos, min(size, sizeof(attr)));
	memcpy(&ids, file->map + pos + size, sizeof(ids));
	if (!is_within(ids.offset, ids.size, file->header->data.offset) || ids.offset % sizeof(u64))
		return -EINVAL;

	evsel = evsel__new(&attr);
	if (!evsel)
		return -ENOMEM;
	evlist__add(evlist, evsel);
	if (perf_evsel__alloc_id(&evsel->core, 1, ids.size / sizeof(u64)))
		return -ENOMEM;
	id = file->map + ids.offset;
	for (u64 i = 0; i < ids.size / sizeof(u64); i++)
		perf_evlist__id_add(evlist__core(evlist), &evsel->core, 0, i, id[i]);
	return 0;
}

static bool has_times(struct evlist *evlist)
{
	struct evsel *evsel;

	evlist__for_each_entry(evlist, evsel) {
		if (!(evsel->core.attr.sample_type & PERF_SAMPLE_TIME) ||
		    !evsel->core.attr.sample_id_all)
			return false;
	}
	return evlist__nr_entries(evlist) > 0;
}

static int make_evlist(struct data_join *join)
{
	const struct join_file *file = find_most(join);
	const struct perf_file_header *header = file->header;
	u64 pos = header->attrs.offset;
	int err = 0;

	join->evlist = evlist__new();
	if (!join->evlist)
		return -ENOMEM;

	for (u64 i = header->attrs.size / header->attr_size; i && !err; i--) {
		err = add_evsel(join->evlist, file, pos);
		pos += header->attr_size;
	}

	if (!err && (!evlist__valid_sample_type(join->evlist) ||
		     !evlist__valid_sample_id_all(join->evlist)))
		err = -EINVAL;
	if (err == -EINVAL)
		pr_err("Cannot join %s: its description of the events is damaged.\n", file->path);
	if (!err && !has_times(join->evlist)) {
		pr_err("Cannot join %s: its records have no timestamps.\n", file->path);
		err = -EINVAL;
	}
	return err;
}

/*
 * Records
 */

static int add_record(struct data_join *join, const union perf_event *event, u64 time, u32 file)
{
	if (join->nr_records == join->max_records) {
		size_t max = join->max_records * 2 ?: 1024;
		struct join_record *records = realloc(join->records, max * sizeof(*records));

		if (!records)
			return -ENOMEM;
		join->records = records;
		join->max_records = max;
	}

	join->records[join->nr_records++] = (struct join_record) {
		.time = time, .event = event, .file = file,
	};
	return 0;
}

/* Each field before the time of a sample has one word. */
static bool has_room_for_time(const union perf_event *event, const struct evsel *evsel)
{
	const u64 before = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			   PERF_SAMPLE_TIME;
	u64 type = evsel->core.attr.sample_type;
	size_t size = sizeof(event->header);

	if (event->header.type == PERF_RECORD_SAMPLE)
		size += hweight64(type & before) * sizeof(u64);
	else
		size += evsel__id_hdr_size(evsel);
	return event->header.size >= size;
}

static int find_time(struct data_join *join, const union perf_event *_event, u64 *time)
{
	/* The functions that parse the event do not write to it. */
	union perf_event *event = (union perf_event *)_event;
	struct evsel *evsel;

	*time = 0;
	if (event->header.type >= PERF_RECORD_USER_TYPE_START)
		return 0;
	evsel = evlist__event2evsel(join->evlist, event);
	if (!evsel || !has_room_for_time(event, evsel))
		return -EINVAL;
	return evsel__parse_sample_timestamp(evsel, event, time);
}

static void note_sample(struct data_join *join, u64 time)
{
	if (!join->nr_samples || time < join->first)
		join->first = time;
	if (time > join->last)
		join->last = time;
	join->nr_samples++;
}

static int find_records(struct data_join *join, u32 nr)
{
	struct join_file *file = &join->files[nr];
	u64 pos = file->header->data.offset, time;
	const union perf_event *event;
	int err;

	for (; pos < file->data_end; pos += event->header.size) {
		event = file->map + pos;
		if (file->data_end - pos < sizeof(event->header) ||
		    event->header.size < sizeof(event->header) ||
		    event->header.size > file->data_end - pos)
			break;
		if (event->header.type == PERF_RECORD_FINISHED_ROUND)
			continue;
		if (event->header.type == PERF_RECORD_COMPRESSED ||
		    event->header.type == PERF_RECORD_AUXTRACE) {
			pr_err("Cannot join %s: it is compressed, or has AUX areas.\n", file->path);
			return -EINVAL;
		}
		/* Skip a record of an unknown event, as no perf could print it. */
		if (find_time(join, event, &time)) {
			file->nr_cut += event->header.size;
			continue;
		}
		if (event->header.type == PERF_RECORD_SAMPLE)
			note_sample(join, time);
		err = add_record(join, event, time, nr);
		if (err)
			return err;
	}
	file->nr_cut += file->data_end - pos;
	return 0;
}

static int record_cmp(const void *_a, const void *_b)
{
	const struct join_record *a = _a, *b = _b;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	if (a->file != b->file)
		return a->file < b->file ? -1 : 1;
	return a->event < b->event ? -1 : a->event > b->event;
}

static int content_cmp(const struct join_record *a, const struct join_record *b)
{
	if (a->event->header.size != b->event->header.size)
		return a->event->header.size < b->event->header.size ? -1 : 1;
	return memcmp(a->event, b->event, a->event->header.size);
}

static int content_and_file_cmp(const void *_a, const void *_b)
{
	const struct join_record * const *a = _a, * const *b = _b;

	return content_cmp(*a, *b) ?: record_cmp(*a, *b);
}

/* @same: equal records, sorted by file. Keep as many as there are in the file with most. */
static void drop_same(struct data_join *join, struct join_record **same, size_t nr)
{
	size_t kept = 0, in_file = 0;

	for (size_t i = 0; i < nr; i++) {
		if (i && same[i]->file != same[i - 1]->file)
			in_file = 0;
		in_file++;
		if (in_file > kept) {
			kept++;
		} else {
			same[i]->dropped = true;
			if (same[i]->event->header.type == PERF_RECORD_SAMPLE)
				join->nr_doubles++;
		}
	}
}

/* @records: records of the same time, from more than one file */
static int drop_doubles(struct data_join *join, struct join_record *records, size_t nr)
{
	struct join_record **sorted = calloc(nr, sizeof(*sorted));
	size_t begin = 0;

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		sorted[i] = &records[i];
	qsort(sorted, nr, sizeof(*sorted), content_and_file_cmp);

	for (size_t i = 1; i <= nr; i++) {
		if (i < nr && !content_cmp(sorted[i], sorted[begin]))
			continue;
		drop_same(join, sorted + begin, i - begin);
		begin = i;
	}
	free(sorted);
	return 0;
}

int data_join__sort(struct data_join *join)
{
	struct join_record *records = join->records;
	size_t begin = 0;
	int err = 0;

	if (!join->nr_records)
		return 0;
	qsort(records, join->nr_records, sizeof(*records), record_cmp);
	for (size_t i = 1; i <= join->nr_records && !err; i++) {
		if (i < join->nr_records && records[i].time == records[begin].time)
			continue;
		/* Records of one time are sorted by file. */
		if (records[begin].file != records[i - 1].file)
			err = drop_doubles(join, records + begin, i - begin);
		begin = i;
	}
	return err;
}

int data_join__open(struct data_join *join, const char * const *paths, int nr)
{
	int err = 0;

	join->files = calloc(nr, sizeof(*join->files));
	if (!join->files)
		return -ENOMEM;

	for (join->nr_files = 0; join->nr_files < nr && !err; join->nr_files++) {
		struct join_file *file = &join->files[join->nr_files];

		err = map_file(file, paths[join->nr_files], join->force, /*silent=*/false);
		if (!err && !is_same(&join->files[0], file)) {
			pr_err("Cannot join %s: it belongs to another recording than %s.\n",
			       file->path, join->files[0].path);
			err = -EINVAL;
		}
	}

	if (!err)
		err = make_evlist(join);
	for (int i = 0; i < nr && !err; i++) {
		err = find_records(join, i);
		if (!err && join->files[i].nr_cut)
			pr_warning("WARNING: some of %s is damaged or missing: %" PRIu64 " bytes of it are left out.\n",
				   join->files[i].path, join->files[i].nr_cut);
	}
	return err;
}

bool data_join__is_cut(const struct data_join *join)
{
	for (int i = 0; i < join->nr_files; i++) {
		if (join->files[i].nr_cut)
			return true;
	}
	return false;
}

void data_join__exit(struct data_join *join)
{
	for (int i = 0; i < join->nr_files; i++)
		unmap_file(&join->files[i]);
	zfree(&join->files);
	zfree(&join->records);
	evlist__put(join->evlist);
}

/*
 * Writing
 */

static u64 feature_table_size(const struct join_file *file)
{
	return bitmap_weight(file->header->adds_features, HEADER_FEAT_BITS) *
	       sizeof(struct perf_file_section);
}

/* The features after the data describe the machine. A recorder that was killed wrote none. */
static bool has_features(const struct join_file *file)
{
	const struct perf_file_section *section = file->map + file->data_end;
	u64 size = feature_table_size(file), begin = file->data_end + size;

	if (!file->header->data.size || !size || !is_within(file->data_end, size, file->size))
		return false;
	/* All sections must follow the table, as write_features() copies what follows it. */
	for (u64 i = 0; i < size / sizeof(*section); i++) {
		if (!is_within(section[i].offset, section[i].size, file->size) ||
		    section[i].offset < begin)
			return false;
	}
	return true;
}

/* Take the header of the last file, whose features are the newest. */
static const struct join_file *find_head(const struct data_join *join)
{
	for (int i = join->nr_files - 1; i >= 0; i--) {
		if (has_features(&join->files[i]))
			return &join->files[i];
	}
	return find_most(join);
}

static void write_features(struct data_join *join, const struct join_file *head,
			   struct record_file *out)
{
	const struct perf_file_section *old = head->map + head->data_end;
	const u64 times[2] = { join->first, join->last };
	u64 moved = out->pos - head->data_end, pos = head->data_end + feature_table_size(head);
	struct perf_file_section section;
	u64 times_at = 0;
	int feat;

	for_each_set_bit(feat, head->header->adds_features, HEADER_FEAT_BITS) {
		section = *old++;
		if (feat == HEADER_SAMPLE_TIME && section.size == sizeof(times))
			times_at = section.offset;
		section.offset += moved;
		record_file__write(out, &section, sizeof(section));
	}

	/* The times of the first and last sample are of one file: replace them. */
	if (times_at) {
		record_file__write(out, head->map + pos, times_at - pos);
		record_file__write(out, times, sizeof(times));
		pos = times_at + sizeof(times);
	}
	record_file__write(out, head->map + pos, head->size - pos);
}

/* Returns the number of bytes. With @out NULL, only count them. */
static u64 write_records(struct data_join *join, struct record_file *out)
{
	u64 all = 0, round = 0;

	for (size_t i = 0; i < join->nr_records; i++) {
		const struct join_record *record = &join->records[i];

		if (record->dropped)
			continue;
		all += record->event->header.size;
		round += record->event->header.size;
		if (out)
			record_file__write(out, record->event, record->event->header.size);
		/* Records after a round must not be older than those before it. */
		if (record->time && round >= ROUND_SIZE && !join->no_rounds) {
			round = 0;
			all += finished_round.size;
			if (out)
				record_file__write(out, &finished_round, finished_round.size);
		}
	}
	return all;
}

int data_join__write(struct data_join *join, struct record_file *out)
{
	const struct join_file *head = find_head(join);
	struct perf_file_header header = *head->header;
	bool features = has_features(head);

	header.data.size = write_records(join, NULL);
	if (!features)
		bitmap_zero(header.adds_features, HEADER_FEAT_BITS);
	record_file__write(out, &header, sizeof(header));
	record_file__write(out, head->map + sizeof(header), header.data.offset - sizeof(header));
	write_records(join, out);
	if (features)
		write_features(join, head, out);
	return out->err;
}

/*
 * The command line
 */

static char *volatile unfinished;

static void remove_unfinished(int sig)
{
	if (unfinished)
		unlink(unfinished);
	signal(sig, SIG_DFL);
	raise(sig);
}

static void remove_on_signals(void)
{
	static const int sigs[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ };

	for (size_t i = 0; i < ARRAY_SIZE(sigs); i++) {
		if (signal(sigs[i], remove_unfinished) == SIG_IGN)
			signal(sigs[i], SIG_IGN);
	}
}

static int write_output(struct data_join *join, const char *output)
{
	struct record_file out = {};
	int err = record_file__create(&out, output);

	if (!err) {
		char *tmp;

		/* Copy the name for the signal handler, as out.tmp is freed on commit. */
		unfinished = strdup(out.tmp);
		remove_on_signals();
		err = data_join__write(join, &out);
		if (err)
			record_file__abort(&out);
		else
			err = record_file__commit(&out, RECORD_FILE__FAILS);
		tmp = unfinished;
		unfinished = NULL;
		free(tmp);
	}
	if (err) {
		errno = -err;
		pr_err("Cannot write %s: %m\n", output);
	}
	return err;
}

/* Do not let the user wait in vain. Writing fails, too, if the file comes into existence later. */
static int check_output(const char *output)
{
	struct stat st;

	if (lstat(output, &st))
		return 0;
	errno = EEXIST;
	pr_err("Cannot write %s: %m\n", output);
	return -EEXIST;
}

int data_join(const char **paths, int nr, const char *output, bool force)
{
	struct data_join join = { .force = force };
	int err = check_output(output) ?: data_join__open(&join, paths, nr) ?:
		  data_join__sort(&join);

	if (err == -ENOMEM)
		pr_err("Not enough memory for %zu records of %d files.\n", join.nr_records, nr);
	if (!err)
		err = write_output(&join, output);
	if (!err && !quiet)
		fprintf(stderr, "[ perf data: joined %d files as %s: %zu samples, and %zu that were there before ]\n",
			nr, output, join.nr_samples - join.nr_doubles, join.nr_doubles);
	/* Do not let a script remove the files, as only they have the rest. */
	if (!err && data_join__is_cut(&join))
		err = -EIO;
	data_join__exit(&join);
	return err;
}
