// SPDX-License-Identifier: GPL-2.0
/*
 * perf record -M: copy the sample buffers, and for --daemon write a file of the copy.
 *
 * Copying is faster than writing, and recording goes on while perf writes the copy. It
 * also goes on while perf copies, if the kernel can tell what was overwritten, see
 * record-live.c. The buffers keep their records: if perf cannot write a file, the next
 * one has the same samples.
 */
#include "record-dump.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/bitmap.h>
#include <linux/kernel.h>
#include <linux/sizes.h>
#include <linux/zalloc.h>
#include <internal/lib.h>
#include <internal/mmap.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include "debug.h"
#include "event.h"
#include "evlist.h"
#include "header.h"
#include "machine.h"
#include "mmap.h"
#include "persistent-record.h"
#include "record-file.h"
#include "record-grow.h"
#include "record-live.h"
#include "session.h"
#include "synthetic-events.h"
#include "tool.h"

/* Call idle() after as many bytes: touching them takes a few milliseconds. */
#define IDLE_SIZE	((u64)SZ_16M)

/*
 * Header
 */

/*
 * Feature sections follow the data, which @header does not have. If it had a hole of this
 * size instead, features might be left out for a limit of the file size.
 */
static void move_features(struct record_header *header, u64 data_size)
{
	struct perf_file_header *begin = header->map;
	struct perf_file_section *section = header->map + header->features;

	begin->data.size = data_size;
	for (int i = bitmap_weight(begin->adds_features, HEADER_FEAT_BITS); i > 0; i--)
		section++->offset += data_size;
}

/* Write the header to memory first. Writing to a full disk would leave out features. */
int record_header__init(struct record_header *header, struct perf_session *session,
			struct evlist *evlist, u64 data_size, bool features)
{
	struct perf_header *perf_header = &session->header;
	DECLARE_BITMAP(saved, HEADER_FEAT_BITS);
	u64 saved_size = perf_header->data_size;
	int fd = memfd_create("perf-header", MFD_CLOEXEC), err;
	struct stat st;

	memset(header, 0, sizeof(*header));
	if (fd < 0)
		return -errno;

	memcpy(saved, perf_header->adds_features, sizeof(saved));
	perf_header->data_size = 0;
	if (!features)
		bitmap_zero(perf_header->adds_features, HEADER_FEAT_BITS);
	err = perf_session__write_header(session, evlist, fd, features);
	if (!err && features && !persistent_record__has_vital_features(session))
		err = -EIO;
	header->data_offset = perf_header->data_offset;
	header->features = perf_header->feat_offset;
	perf_header->data_size = saved_size;
	memcpy(perf_header->adds_features, saved, sizeof(saved));

	if (!err && fstat(fd, &st))
		err = -errno;
	if (!err) {
		header->size = st.st_size;
		header->map = mmap(NULL, header->size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
		if (header->map == MAP_FAILED) {
			header->map = NULL;
			err = -errno;
		} else {
			move_features(header, data_size);
		}
	}
	close(fd);
	return err;
}

void record_header__exit(struct record_header *header)
{
	if (header->map)
		munmap(header->map, header->size);
	header->map = NULL;
}

static int write_at(int fd, off_t pos, const void *buf, size_t size)
{
	if (lseek(fd, pos, SEEK_SET) < 0 || writen(fd, buf, size) < 0)
		return -errno;
	return 0;
}

int record_header__write_at_exit(struct perf_session *session, struct evlist *evlist, int fd)
{
	struct perf_header *perf_header = &session->header;
	u64 data_size = perf_header->data_size;
	struct record_header header;
	int err = record_header__init(&header, session, evlist, data_size, /*features=*/true);

	if (err)
		return perf_session__write_header(session, evlist, fd, /*at_exit=*/true);

	/* The header comes last, as it makes the features valid. */
	err = write_at(fd, header.features + data_size, header.map + header.features,
		       header.size - header.features) ?:
	      write_at(fd, 0, header.map, header.data_offset);
	if (err) {
		perf_session__write_header(session, evlist, fd, /*at_exit=*/true);
	} else {
		const struct perf_file_header *begin = header.map;

		perf_header->feat_offset = header.features + data_size;
		memcpy(perf_header->adds_features, begin->adds_features,
		       sizeof(begin->adds_features));
		lseek(fd, 0, SEEK_END);
	}
	record_header__exit(&header);
	return err;
}

/*
 * Copies
 */

/* Allocate and touch the memory now, so that recording pauses no longer than for the copy. */
static int prepare_copy(struct record_dump *dump, struct perf_mmap *map, bool only_new)
{
	struct record_copy *copy = &dump->copies[dump->nr_copies++];
	u64 size = (u64)map->mask + 1, used;

	copy->map = map;
	/* A backward buffer begins at position 0 and grows down. */
	if (!only_new)
		map->prev = 0;
	used = min(map->prev - perf_mmap__read_head(map), size);
	copy->buf = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (copy->buf == MAP_FAILED) {
		copy->buf = NULL;
		return -ENOMEM;
	}
	copy->room = size;
	for (u64 pos = 0; pos < used; pos += IDLE_SIZE) {
		memset(copy->buf + pos, 0, min(used - pos, IDLE_SIZE));
		dump->idle(dump->arg);
	}
	return 0;
}

static int make_copy(struct record_dump *dump, struct record_copy *copy, bool live)
{
	if (live)
		return record_live__copy(copy->map, copy, dump->idle, dump->arg);
	copy->head = perf_mmap__read_head(copy->map);
	copy->size = min(copy->map->prev - copy->head, (u64)copy->room);
	perf_mmap__copy(copy->map, copy->head, copy->size, copy->buf);
	return 0;
}

/* Cut off the oldest record if it was partly overwritten. */
static void cut_copy(struct record_copy *copy)
{
	struct perf_event_header *header;
	u64 pos;

	for (pos = 0; copy->size - pos >= sizeof(*header); pos += header->size) {
		header = copy->buf + pos;
		if (header->size < sizeof(*header) || header->size > copy->size - pos)
			break;
	}
	copy->size = pos;
}

/* Count the samples, and find the times of the first and the last one. */
static void look_through(struct record_dump *dump, struct evlist *evlist, void *buf, size_t size)
{
	union perf_event *event;
	u64 time;

	for (size_t pos = 0; pos < size; pos += event->header.size) {
		event = buf + pos;
		if (event->header.type != PERF_RECORD_SAMPLE ||
		    evlist__parse_sample_timestamp(evlist, event, &time))
			continue;
		if (!dump->nr_samples || time < dump->first)
			dump->first = time;
		if (time > dump->last)
			dump->last = time;
		dump->nr_samples++;
	}
}

static int prepare_all(struct record_dump *dump, struct evlist *evlist,
		       const struct record_grow *grow, bool only_new)
{
	int err = 0;

	for (int i = 0; i < evlist__core(evlist)->nr_mmaps && !err; i++) {
		struct perf_mmap *map = &evlist__overwrite_mmap(evlist)[i].core;

		if (map->base)
			err = prepare_copy(dump, map, only_new);
	}
	dump->nr_live = dump->nr_copies;
	for (int i = 0; i < grow->nr_olds && !err; i++)
		err = prepare_copy(dump, &grow->olds[i].map, only_new);
	return err;
}

int record_dump__copy(struct record_dump *dump, struct evlist *evlist,
		      const struct record_live *live, const struct record_grow *grow,
		      bool only_new)
{
	int err;

	*dump = (struct record_dump) { .idle = dump->idle, .arg = dump->arg };
	dump->copies = calloc(evlist__core(evlist)->nr_mmaps + grow->nr_olds,
			      sizeof(*dump->copies));
	if (!dump->copies)
		return -ENOMEM;

	err = prepare_all(dump, evlist, grow, only_new);
	if (!err && !live->on)
		evlist__toggle_bkw_mmap(evlist, BKW_MMAP_DATA_PENDING);
	for (int i = 0; i < dump->nr_copies && !err; i++)
		err = make_copy(dump, &dump->copies[i], live->on && i < dump->nr_live);
	/* Resume recording. Has no effect if nothing was paused. */
	evlist__toggle_bkw_mmap(evlist, BKW_MMAP_EMPTY);
	evlist__toggle_bkw_mmap(evlist, BKW_MMAP_RUNNING);
	if (err) {
		record_dump__exit(dump);
		return err;
	}

	for (int i = 0; i < dump->nr_copies; i++) {
		cut_copy(&dump->copies[i]);
		dump->size += dump->copies[i].size;
		dump->idle(dump->arg);
	}
	return 0;
}

void record_dump__forget(struct record_dump *dump)
{
	for (int i = 0; i < dump->nr_copies; i++)
		dump->copies[i].map->prev = dump->copies[i].head;
}

void record_dump__exit(struct record_dump *dump)
{
	for (int i = 0; i < dump->nr_copies; i++) {
		if (dump->copies[i].buf)
			munmap(dump->copies[i].buf, dump->copies[i].room);
	}
	dump->nr_copies = 0;
	zfree(&dump->copies);
}

/*
 * Writing
 */

/* Records of kernel maps, so that perf finds kernel symbols without another file */
struct kernel_maps {
	struct perf_tool	tool;
	void			*buf;
	size_t			size;
};

static int add_kernel_map(const struct perf_tool *tool, union perf_event *event,
			  struct perf_sample *sample __maybe_unused,
			  struct machine *machine __maybe_unused)
{
	struct kernel_maps *maps = container_of(tool, struct kernel_maps, tool);
	void *buf = realloc(maps->buf, maps->size + event->header.size);

	if (!buf)
		return -ENOMEM;
	maps->buf = buf;
	memcpy(buf + maps->size, event, event->header.size);
	maps->size += event->header.size;
	return 0;
}

/*
 * Find the current kernel maps, as the kernel writes no records of modules that were
 * loaded since perf began. It is no error if there are none.
 */
static void find_kernel_maps(struct kernel_maps *maps, const struct machine *host)
{
	struct machine *machine = machine__new_host(host->env);

	/* The records have the same sample_id trailer as others. */
	if (machine)
		machine->id_hdr_size = host->id_hdr_size;
	if (!machine ||
	    perf_event__synthesize_kernel_mmap(&maps->tool, add_kernel_map, machine) < 0 ||
	    perf_event__synthesize_modules(&maps->tool, add_kernel_map, machine) < 0)
		pr_debug("no kernel maps for samples\n");
	machine__delete(machine);
}

/* Readers take a file without data for one whose recorder was killed. */
static int add_some_data(struct kernel_maps *maps)
{
	static const struct perf_event_header finished_round = {
		.size = sizeof(struct perf_event_header),
		.type = PERF_RECORD_FINISHED_ROUND,
	};

	maps->buf = malloc(sizeof(finished_round));
	if (!maps->buf)
		return -ENOMEM;
	memcpy(maps->buf, &finished_round, sizeof(finished_round));
	maps->size = sizeof(finished_round);
	return 0;
}

struct prepare_work {
	struct record_dump	*dump;
	struct perf_session	*session;
	struct evlist		*evlist;
	struct kernel_maps	*maps;
	struct record_header	*header;
};

/* Runs in a thread, as it reads many files in /proc and /sys */
static int prepare(void *arg)
{
	struct prepare_work *work = arg;
	struct record_dump *dump = work->dump;
	int err = 0;

	/* An earlier try for the same dump may have failed on a full disk: count anew. */
	dump->nr_samples = 0;
	for (int i = 0; i < dump->nr_copies; i++)
		look_through(dump, work->evlist, dump->copies[i].buf, dump->copies[i].size);
	evlist__set_first_sample_time(work->evlist, dump->first);
	evlist__set_last_sample_time(work->evlist, dump->last);
	if (!evlist__exclude_kernel(work->evlist))
		find_kernel_maps(work->maps, &work->session->machines.host);
	if (!work->maps->size && !dump->size)
		err = add_some_data(work->maps);
	if (!err)
		err = record_header__init(work->header, work->session, work->evlist,
					  work->maps->size + dump->size, /*features=*/true);
	dump->file_size = work->header->size + work->maps->size + dump->size;
	return err;
}

static int write_all(struct record_dump *dump, const struct record_header *header,
		     const struct kernel_maps *maps, struct record_file *file)
{
	record_file__write(file, header->map, header->data_offset);
	record_file__write(file, maps->buf, maps->size);
	for (int i = 0; i < dump->nr_copies; i++)
		record_file__write(file, dump->copies[i].buf, dump->copies[i].size);
	record_file__write(file, header->map + header->features, header->size - header->features);
	return file->err;
}

int record_dump__write(struct record_dump *dump, struct perf_session *session,
		       struct evlist *evlist, const char *path)
{
	struct record_file file = { .idle = dump->idle, .arg = dump->arg };
	struct kernel_maps maps = {};
	struct record_header header = {};
	struct prepare_work work = {
		.dump	 = dump,
		.session = session,
		.evlist	 = evlist,
		.maps	 = &maps,
		.header	 = &header,
	};
	int err = record_file__run(prepare, &work, dump->idle, dump->arg) ?:
		  record_file__create(&file, path);

	if (!err) {
		err = write_all(dump, &header, &maps, &file);
		if (err)
			record_file__abort(&file);
		else
			err = record_file__commit(&file, RECORD_FILE__FAILS);
	}
	if (err && file.named) {
		/* The file has its name, so it counts as written. */
		errno = -err;
		pr_warning("WARNING: %s may be gone after a power failure: cannot sync its directory: %m\n",
			   path);
		err = 0;
	}
	record_header__exit(&header);
	free(maps.buf);
	return err;
}
