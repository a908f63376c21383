// SPDX-License-Identifier: GPL-2.0
/*
 * perf record -M: write a dump of the sample buffers on request.
 *
 * The request is a signal, a command of --control, or an event of --trigger. Without
 * --daemon perf appends each dump to the output file. With it each dump is a file of its
 * own, and side-band records go to the auxiliary file.
 */
#include "record-serve.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <linux/kernel.h>
#include <linux/sizes.h>
#include <linux/time64.h>
#include <linux/zalloc.h>
#include <sys/random.h>
#include <internal/mmap.h>
#include "debug.h"
#include "evlist.h"
#include "evsel.h"
#include "record.h"
#include "record-dump.h"
#include "record-file.h"
#include "record-memory.h"
#include "session.h"

int record_memory__open(struct record_memory *memory)
{
	int err = memory->grow.on ? record_grow__begin(&memory->grow, memory->evlist) : 0;

	if (err)
		return err;
	memory->joined = malloc(evlist__core(memory->evlist)->mmap_len);
	if (!memory->joined) {
		pr_err("Not enough memory for a copy of a buffer.\n");
		return -ENOMEM;
	}
	record_live__join(&memory->live, memory->evlist, &memory->opts->target);
	return 0;
}

void record_memory__exit(struct record_memory *memory)
{
	zfree(&memory->joined);
	record_grow__exit(&memory->grow);
	record_trigger__exit(&memory->trigger);
}

static struct evsel *find_dummy(struct evlist *evlist, int *nr)
{
	struct evsel *evsel;

	*nr = 0;
	evlist__for_each_entry(evlist, evsel) {
		if (evsel__is_dummy_event(evsel))
			return evsel;
		(*nr)++;
	}
	*nr = -1;
	return NULL;
}

/*
 * All files of a recording begin with the same event attributes and ids, which tells that
 * they belong together. The kernel may reuse ids after a reboot. So put a random number
 * into an unused field of the dummy event.
 */
int record_memory__begin_aux(struct record_memory *memory)
{
	int nr, err;
	struct evsel *evsel = find_dummy(memory->evlist, &nr);
	struct record_header header;
	u64 id;

	if (evsel && getrandom(&id, sizeof(id), 0) == sizeof(id))
		evsel->core.attr.config1 = id;

	err = record_header__init(&header, memory->session, memory->evlist, 0,
				  /*features=*/false);
	if (err)
		pr_err("Cannot describe the events: %s\n", strerror(-err));
	else
		err = record_aux__begin(&memory->daemon.aux, &memory->daemon.parts, header.map,
					header.data_offset, nr);
	record_header__exit(&header);
	memory->daemon.started = !err;
	return err;
}

/*
 * If memory runs out, perf drops what it cannot write. It must drop all of a record, as
 * nobody could read the file beyond half a record.
 */
bool record_memory__join(struct record_memory *memory, const struct perf_mmap *map, void **buf,
			 size_t *size)
{
	bool is_last = map->start == map->end;

	if (is_last && !memory->joined_len)
		return true;
	memcpy(memory->joined + memory->joined_len, *buf, *size);
	memory->joined_len += *size;
	if (!is_last)
		return false;
	*buf = memory->joined;
	*size = memory->joined_len;
	memory->joined_len = 0;
	return true;
}

/* Read side-band buffers during long operations, so that they do not overflow. */
static void read_side_band(void *arg)
{
	struct record_memory *memory = arg;

	memory->read_side_band(memory->rec);
	record_trigger__look(&memory->trigger);
}

/* Side-band records must be on disk before the samples that need them. */
static int memory__sync_aux(struct record_memory *memory)
{
	struct record_aux *aux = &memory->daemon.aux;

	return record_aux__flush(aux) ?: record_file__sync(aux->fd, read_side_band, memory);
}

static void memory__answer_dump(struct record_memory *memory, int err)
{
	if (memory->ack_dump && err)
		evlist__ctlfd_nack(memory->evlist);
	else if (memory->ack_dump)
		evlist__ctlfd_ack(memory->evlist);
	memory->ack_dump = false;
}

static int memory__write_dump(struct record_memory *memory, const char *path)
{
	struct record_dump dump = { .idle = read_side_band, .arg = memory };
	u64 freed = 0;
	int err = record_dump__copy(&dump, memory->evlist, &memory->live, &memory->grow,
				    /*only_new=*/false);

	if (err)
		return err;
	record_live__tell_offline(&memory->live, memory->evlist);
	read_side_band(memory);
	/* Reports errors itself. After an error samples only have fewer names. */
	memory__sync_aux(memory);
	if (!record_daemon__has_aux(&memory->daemon))
		pr_warning("WARNING: %s was removed, renamed or replaced: without it, files have fewer names of\n"
			   "tasks and symbols. Put it back, or start perf again.\n",
			   memory->daemon.parts.aux);
	/* The wall clock may have been set since the last dump. */
	memory->init_clock(memory->rec);

	/* Write the same copy again, as the buffers may have lost these samples meanwhile. */
	do {
		err = record_dump__write(&dump, memory->session, memory->evlist, path);
	} while (err && record_daemon__make_room(&memory->daemon, dump.file_size, err,
						 &freed));
	if (!err && !quiet)
		fprintf(stderr, "[ perf record: wrote %s (%" PRIu64 " samples) ]\n", path,
			dump.nr_samples);
	/* If the file cannot be noted, trimming might remove names of its samples. */
	if (!err && dump.nr_samples)
		memory->daemon.never_trim |= !!record_needs__add_file(&memory->daemon.needs, path,
								   dump.first, dump.last);
	record_dump__exit(&dump);
	return err;
}

/* The buffers keep their samples after a failure, so the user can retry until perf ends. */
static const char *memory__advice(const struct record_memory *memory)
{
	return memory->ending ? " The samples in memory are lost." :
				" The samples stay in memory, try again.";
}

static int memory__dump(struct record_memory *memory)
{
	char *path = record_parts__next(&memory->daemon.parts);
	int err = path ? memory__write_dump(memory, path) : -ENOMEM;

	if (err) {
		errno = -err;
		pr_err("Cannot write %s: %m.%s\n", path ?: "samples", memory__advice(memory));
	} else {
		memory->daemon.nr_dumps++;
		record_daemon__prune(&memory->daemon, path);
	}
	memory__answer_dump(memory, err);
	free(path);
	return err;
}

/* Allow as many side-band bytes as samples, but at least 1M, as a day has many tasks. */
static u64 memory__aux_slack(struct record_memory *memory)
{
	u64 size = max(record_memory__size(memory->evlist), memory->grow.max_size);

	return max_t(u64, SZ_1M, size);
}

static u64 memory__now(struct record_memory *memory)
{
	struct timespec ts;

	/* With time 0 all tasks count as recent, and are kept. */
	if (clock_gettime(memory->opts->clockid, &ts))
		return 0;
	return (u64)ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

static void memory__trim_aux(struct record_memory *memory)
{
	struct record_daemon *daemon = &memory->daemon;

	if (daemon->never_trim || !record_aux__is_large(&daemon->aux, memory__aux_slack(memory)) ||
	    record_aux__flush(&daemon->aux))
		return;
	/* It would replace the file of another process. */
	if (!record_daemon__has_aux(daemon) && !access(daemon->parts.aux, F_OK))
		return;
	if (!record_needs__look(&daemon->needs, memory->evlist, &memory->grow,
				memory__now(memory), read_side_band, memory))
		record_aux__trim(&daemon->aux, &daemon->parts, &daemon->needs,
				 read_side_band, memory);
	record_needs__forget_tasks(&daemon->needs);
}

static int memory__flush_append(struct record_memory *memory)
{
	int err = record_append__flush(&memory->append);

	*memory->bytes_written = memory->append.written;
	memory->check_max_size(memory->rec);
	return err;
}

static int memory__write_append(struct record_memory *memory)
{
	struct record_dump dump = { .idle = read_side_band, .arg = memory };
	int err = record_dump__copy(&dump, memory->evlist, &memory->live, &memory->grow,
				    /*only_new=*/true);

	if (err)
		return err;
	record_live__tell_offline(&memory->live, memory->evlist);
	read_side_band(memory);
	err = record_append__dump(&memory->append, &dump, read_side_band, memory);
	if (!err)
		record_dump__forget(&dump);
	record_dump__exit(&dump);
	return err;
}

/*
 * Append a dump, without --daemon, and end the round: all older samples are in the file
 * now. Side-band writes until the next dump end no round, as that dump may have older
 * samples.
 */
static int memory__append_dump(struct record_memory *memory)
{
	int err = memory__write_append(memory);

	if (!err)
		err = memory->finish_round(memory->rec);
	if (!err) {
		memory->nr_dumps++;
		if (!quiet)
			fprintf(stderr, "[ perf record: dump %d written ]\n", memory->nr_dumps);
	} else {
		pr_err("Cannot write dump %d: %s.%s\n", memory->nr_dumps + 1,
		       record_append__why(err),
		       record_append__can_retry(&memory->append, err) ?
		       memory__advice(memory) : "");
	}
	memory__answer_dump(memory, err);
	*memory->bytes_written = memory->append.written;
	return err;
}

/* A dump that can be tried again is no error while perf goes on. */
static int memory__serve_dump(struct record_memory *memory)
{
	if (memory->daemon.enabled) {
		memory->lost = memory__dump(memory);
		return 0;
	}
	memory->lost = memory__append_dump(memory);
	/* A dump that was partly written to a pipe cannot start again. */
	return record_append__can_retry(&memory->append, memory->lost) ? 0 : memory->lost;
}

int record_memory__serve(struct record_memory *memory)
{
	int err = 0;

	if (memory->daemon.enabled) {
		record_aux__flush(&memory->daemon.aux);
		memory__trim_aux(memory);
	} else {
		err = memory__flush_append(memory);
	}
	if (memory->grow.on)
		record_grow__look(&memory->grow, memory->evlist, &memory->live);
	if (err || !memory->dump_asked)
		return err;

	/* A signal during the dump asks for another dump. */
	memory->dump_asked = 0;
	return memory__serve_dump(memory);
}

int record_memory__wait_ms(const struct record_memory *memory)
{
	return record_grow__wait_ms(&memory->grow, record_trigger__wait_ms(&memory->trigger));
}

/* Write the last dump if one is requested, or if the one before failed. */
int record_memory__end(struct record_memory *memory, int err)
{
	memory->ending = true;
	if ((memory->dump_asked || memory->lost) && (memory->daemon.enabled || !err))
		err = memory__serve_dump(memory) ?: err;
	if (memory->append.on) {
		int lost = record_append__end(&memory->append);

		memory->lost = memory->lost ?: lost;
		*memory->bytes_written = memory->append.written;
	}
	return err;
}

/* Tell what is lost. The reason was reported when perf began to keep records in memory. */
static void memory__tell_lost(const struct record_memory *memory)
{
	const struct record_aux *aux = &memory->daemon.aux;

	pr_err("%" PRIu64 " bytes of data about tasks are lost%s.\n",
	       aux->len + aux->nr_dropped, memory->combine_asked ?
	       ", and the files are not combined: see 'perf data join'" : "");
}

/* Combine the files if somebody has asked for that, once. */
int record_memory__combine(struct record_memory *memory)
{
	if (!memory->combine_asked || memory->combined)
		return 0;
	memory->combined = true;
	return record_daemon__combine(&memory->daemon);
}

/* Recording has ended. */
int record_memory__finish_daemon(struct record_memory *memory)
{
	struct record_aux *aux = &memory->daemon.aux;
	struct record_header header;
	int err = record_aux__flush(aux);

	evlist__set_first_sample_time(memory->evlist, 0);
	evlist__set_last_sample_time(memory->evlist, 0);
	if (err) {
		memory__tell_lost(memory);
	} else {
		err = record_header__init(&header, memory->session, memory->evlist, aux->data_size,
					  /*features=*/true);
		if (!err)
			err = record_aux__end(aux, header.map, header.data_offset,
					      header.map + header.features,
					      header.size - header.features);
		record_header__exit(&header);
	}
	if (!err)
		err = record_file__sync(aux->fd, NULL, NULL);
	if (!err)
		err = record_memory__combine(memory);
	if (memory->ack_combine && err)
		evlist__ctlfd_nack(memory->evlist);
	else if (memory->ack_combine)
		evlist__ctlfd_ack(memory->evlist);
	evlist__finalize_ctlfd(memory->evlist);
	return err;
}

static bool memory__is_used(struct record_memory *memory, const char *command)
{
	if (memory->opts->memory_size)
		return true;
	pr_err("'%s' needs -M SIZE.\n", command);
	evlist__ctlfd_nack(memory->evlist);
	return false;
}

void record_memory__ask_for_dump(struct record_memory *memory)
{
	if (!memory__is_used(memory, "dump"))
		return;
	memory->dump_asked = 1;
	memory->ack_dump = true;
}

bool record_memory__ask_to_combine(struct record_memory *memory)
{
	if (!memory->daemon.enabled) {
		pr_err("'combine' needs --daemon.\n");
		evlist__ctlfd_nack(memory->evlist);
		return false;
	}
	memory->ack_combine = true;
	memory->combine_asked = 1;
	return true;
}

void record_memory__print_status(struct record_memory *memory)
{
	if (!memory__is_used(memory, "status"))
		return;
	if (memory->daemon.enabled)
		fprintf(stderr, "[ perf record: %d files of samples written, %" PRIu64 " bytes of tasks and maps ]\n",
			memory->daemon.nr_dumps,
			memory->daemon.aux.data_size + memory->daemon.aux.len);
	else
		fprintf(stderr, "[ perf record: %d dumps written ]\n", memory->nr_dumps);
	evlist__ctlfd_ack(memory->evlist);
}
