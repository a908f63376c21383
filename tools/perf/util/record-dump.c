// SPDX-License-Identifier: GPL-2.0
/*
 * perf record --daemon: make a file of what is in memory.
 *
 * Memory is copied, which takes less time than to write it, so that recording goes on meanwhile.
 * Nothing is taken out of it: if the file cannot be written, the next one has the same samples.
 */
#include "record-dump.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/bitmap.h>
#include <linux/kernel.h>
#include <linux/zalloc.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include "debug.h"
#include "event.h"
#include "evlist.h"
#include "header.h"
#include "mmap.h"
#include "record-file.h"
#include "session.h"
#include "synthetic-events.h"
#include "tool.h"

/*
 * Header
 */

/* Writing it to memory cannot fail for want of room on the disk, which would leave things out. */
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
	perf_header->data_size = data_size;
	if (!features)
		bitmap_zero(perf_header->adds_features, HEADER_FEAT_BITS);
	err = perf_session__write_header(session, evlist, fd, features);
	header->data_offset = perf_header->data_offset;
	header->features = perf_header->feat_offset;
	perf_header->data_size = saved_size;
	memcpy(perf_header->adds_features, saved, sizeof(saved));

	if (!err && fstat(fd, &st))
		err = -errno;
	if (!err) {
		header->size = st.st_size;
		header->map = mmap(NULL, header->size, PROT_READ, MAP_SHARED, fd, 0);
		if (header->map == MAP_FAILED) {
			header->map = NULL;
			err = -errno;
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

/*
 * Copies
 */

/* Called once or twice for a buffer */
static int add_copy(struct mmap *map, void *to, void *buf, size_t size)
{
	struct record_dump *dump = to;
	int nr = dump->nr_copies;

	if (!dump->copies[nr].buf)
		dump->copies[nr].buf = malloc(map->core.mask + 1);
	if (!dump->copies[nr].buf)
		return -1;
	memcpy(dump->copies[nr].buf + dump->copies[nr].size, buf, size);
	dump->copies[nr].size += size;
	dump->size += size;
	return 0;
}

static int copy_all(struct record_dump *dump, struct evlist *evlist)
{
	for (int i = 0; i < evlist->core.nr_mmaps; i++) {
		struct mmap *map = &evlist->overwrite_mmap[i];

		if (!map->core.base)
			continue;
		/* All that is there, and not only what came since the last time */
		map->core.prev = 0;
		if (perf_mmap__push(map, dump, add_copy) < 0)
			return -ENOMEM;
		if (dump->copies[dump->nr_copies].buf)
			dump->nr_copies++;
	}
	return 0;
}

/* When it begins and ends. The size is from the kernel, and is not believed all the same. */
static void look_through(struct record_dump *dump, struct evlist *evlist, void *buf, size_t size)
{
	union perf_event *event;
	u64 time;

	for (size_t pos = 0; size - pos >= sizeof(event->header); pos += event->header.size) {
		event = buf + pos;
		if (event->header.size < sizeof(event->header) || event->header.size > size - pos)
			break;
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

int record_dump__copy(struct record_dump *dump, struct evlist *evlist)
{
	int err;

	memset(dump, 0, sizeof(*dump));
	dump->copies = calloc(evlist->core.nr_mmaps, sizeof(*dump->copies));
	if (!dump->copies)
		return -ENOMEM;

	evlist__toggle_bkw_mmap(evlist, BKW_MMAP_DATA_PENDING);
	err = copy_all(dump, evlist);
	evlist__toggle_bkw_mmap(evlist, BKW_MMAP_EMPTY);
	evlist__toggle_bkw_mmap(evlist, BKW_MMAP_RUNNING);
	if (err) {
		/* The one that failed has some of it, or nothing. */
		dump->nr_copies++;
		record_dump__exit(dump);
		return err;
	}

	for (int i = 0; i < dump->nr_copies; i++)
		look_through(dump, evlist, dump->copies[i].buf, dump->copies[i].size);
	return 0;
}

void record_dump__exit(struct record_dump *dump)
{
	for (int i = 0; i < dump->nr_copies; i++)
		free(dump->copies[i].buf);
	dump->nr_copies = 0;
	zfree(&dump->copies);
}

/*
 * Writing
 */

/* Records of kernel maps, so that the kernel has symbols without another file */
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

/* None are no reason to fail. */
static void find_kernel_maps(struct kernel_maps *maps, struct machine *machine)
{
	if (perf_event__synthesize_kernel_mmap(&maps->tool, add_kernel_map, machine) < 0 ||
	    perf_event__synthesize_modules(&maps->tool, add_kernel_map, machine) < 0)
		pr_debug("no kernel maps for samples\n");
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
		       struct evlist *evlist, const char *path,
		       void (*idle)(void *arg), void *arg)
{
	struct record_file file = { .idle = idle, .arg = arg };
	struct kernel_maps maps = {};
	struct record_header header;
	int err;

	if (!evlist__exclude_kernel(evlist))
		find_kernel_maps(&maps, &session->machines.host);
	evlist->first_sample_time = dump->first;
	evlist->last_sample_time = dump->last;

	err = record_header__init(&header, session, evlist, maps.size + dump->size,
				  /*features=*/true) ?:
	      record_file__create(&file, path);
	if (!err) {
		err = write_all(dump, &header, &maps, &file);
		if (err)
			record_file__abort(&file);
		else
			err = record_file__commit(&file, RECORD_FILE__FAILS);
	}
	record_header__exit(&header);
	free(maps.buf);
	return err;
}
