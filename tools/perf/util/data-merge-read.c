// SPDX-License-Identifier: GPL-2.0
/*
 * Read one of the files that 'perf data' merges into a timeline: sort its samples and
 * format each as a line, without the machine and the time, which data-merge.c prints.
 */
#include "data-merge-read.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <linux/compiler.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include "data.h"
#include "data-merge.h"
#include "debug.h"
#include "event.h"
#include "evlist.h"
#include "evsel.h"
#include "header.h"
#include "json-print.h"
#include "machine.h"
#include "persistent.h"
#include "session.h"
#include "thread.h"
#include "tool.h"
#include "trace-event.h"

#ifdef HAVE_LIBTRACEEVENT
#include <traceevent/event-parse.h>
#endif

struct reader {
	struct perf_tool	 tool;
	struct perf_data	 data;
	struct perf_session	*session;
	const char		*path;
	struct merge_info	*info;
	bool			 json;
	FILE			*pipe;
	FILE			*mem;		/* memory stream, writes to text */
	char			*text;
	size_t			 len;
	s64			 last;
};

static bool has_times(struct evlist *evlist)
{
	struct evsel *evsel;

	evlist__for_each_entry(evlist, evsel) {
		if (!(evsel->core.attr.sample_type & PERF_SAMPLE_TIME))
			return false;
	}
	return true;
}

/* For a file that is no stream. A cut-off file lacks its features, which follow the data. */
static bool is_cut_off(struct reader *reader)
{
	const struct perf_header *header = &reader->session->header;

	return !header->data_size ||
	       header->data_offset + header->data_size > (u64)reader->data.file.size ||
	       (perf_header__has_feat(header, HEADER_CLOCK_DATA) && !header->env.clock.enabled);
}

/* Called once everything before the first sample was read */
static void reader__check(struct reader *reader)
{
	const struct perf_env *env = &reader->session->header.env;
	struct merge_info *info = reader->info;
	const char *path = reader->path;

	if (!reader->data.is_pipe && is_cut_off(reader))
		pr_err("The end of '%s' is missing: copy it again, or leave it out.\n", path);
	else if (!env->clock.enabled)
		pr_err("'%s' does not contain the wall-clock time of its samples: leave it out.\n"
		       "'perf record --clockid monotonic', 'perf ctl read' and 'perf ctl save' write files that do.\n",
		       path);
	else if (!has_times(reader->session->evlist))
		pr_err("'%s' has samples without timestamps: leave it out, and record without --no-timestamp.\n",
		       path);
	else
		info->ready = true;

	if (!info->ready)
		exit(EXIT_FAILURE);

	if (env->hostname)
		scnprintf(info->hostname, sizeof(info->hostname), "%s", env->hostname);
	persistent__make_printable(info->hostname);
	info->clockid = env->clock.clockid;
	info->tod_ns = env->clock.tod_ns;
	info->clockid_ns = env->clock.clockid_ns;
}

#ifdef HAVE_LIBTRACEEVENT
static void format_trace(struct trace_seq *seq, struct evsel *evsel, struct perf_sample *sample)
{
	struct tep_record record = {
		.cpu	= sample->cpu,
		.size	= sample->raw_size,
		.data	= sample->raw_data,
	};

	tep_print_event(evsel->tp_format->tep, seq, &record, "%s", TEP_PRINT_INFO);
	/* Some events print their own newline at the end. */
	while (seq->len && seq->buffer[seq->len - 1] == '\n')
		seq->len--;
	trace_seq_terminate(seq);
}

static void print_trace(struct reader *reader, struct evsel *evsel, struct perf_sample *sample)
{
	struct trace_seq seq;

	trace_seq_init(&seq);
	format_trace(&seq, evsel, sample);
	fprintf(reader->mem, " %s", seq.buffer);
	trace_seq_destroy(&seq);
}

static void print_json_trace(struct reader *reader, struct evsel *evsel,
			     struct perf_sample *sample)
{
	struct tep_format_field **fields = tep_event_fields(evsel->tp_format);
	struct trace_seq seq;

	trace_seq_init(&seq);
	format_trace(&seq, evsel, sample);
	fputs(", \"trace\": ", reader->mem);
	json__fputs_string(seq.buffer, reader->mem);

	fputs(", \"fields\": {", reader->mem);
	for (int i = 0; fields && fields[i]; i++) {
		trace_seq_reset(&seq);
		tep_print_field(&seq, sample->raw_data, fields[i]);
		trace_seq_terminate(&seq);
		fputs(i ? ", " : "", reader->mem);
		json__fputs_string(fields[i]->name, reader->mem);
		fputs(": ", reader->mem);
		json__fputs_string(seq.buffer, reader->mem);
	}
	fputc('}', reader->mem);
	trace_seq_destroy(&seq);
	free(fields);
}

static bool has_trace(const struct evsel *evsel, const struct perf_sample *sample)
{
	return evsel->tp_format && sample->raw_data;
}
#else
static void print_trace(struct reader *reader __maybe_unused, struct evsel *evsel __maybe_unused,
			struct perf_sample *sample __maybe_unused)
{
}

static void print_json_trace(struct reader *reader __maybe_unused,
			     struct evsel *evsel __maybe_unused,
			     struct perf_sample *sample __maybe_unused)
{
}

static bool has_trace(const struct evsel *evsel __maybe_unused,
		      const struct perf_sample *sample __maybe_unused)
{
	return false;
}
#endif

static bool has_cpu(const struct evsel *evsel)
{
	return evsel->core.attr.sample_type & PERF_SAMPLE_CPU;
}

static bool has_ip(const struct evsel *evsel)
{
	return evsel->core.attr.type != PERF_TYPE_TRACEPOINT &&
	       evsel->core.attr.sample_type & PERF_SAMPLE_IP;
}

static void print_text(struct reader *reader, struct evsel *evsel, struct perf_sample *sample,
		       const char *comm)
{
	fprintf(reader->mem, "%16s %7d/%-7d ", comm, sample->pid, sample->tid);
	if (has_cpu(evsel))
		fprintf(reader->mem, "[%03d] ", sample->cpu);
	fprintf(reader->mem, "%s:", evsel__name(evsel));
	if (has_trace(evsel, sample))
		print_trace(reader, evsel, sample);
	else if (has_ip(evsel))
		fprintf(reader->mem, " %16" PRIx64, sample->ip);
}

static void print_json(struct reader *reader, struct evsel *evsel, struct perf_sample *sample,
		       const char *comm)
{
	fputs("\"comm\": ", reader->mem);
	json__fputs_string(comm, reader->mem);
	fprintf(reader->mem, ", \"pid\": %d, \"tid\": %d", sample->pid, sample->tid);
	if (has_cpu(evsel))
		fprintf(reader->mem, ", \"cpu\": %d", sample->cpu);
	fputs(", \"event\": ", reader->mem);
	json__fputs_string(evsel__name(evsel), reader->mem);
	if (has_trace(evsel, sample))
		print_json_trace(reader, evsel, sample);
	else if (has_ip(evsel))
		fprintf(reader->mem, ", \"ip\": \"0x%" PRIx64 "\"", sample->ip);
}

static int reader__send(struct reader *reader, u64 time)
{
	struct merge_info *info = reader->info;
	struct merge_line line = {
		.time	= time - info->clockid_ns + info->tod_ns,
		.len	= reader->len,
	};

	if (line.time < reader->last)
		info->nr_unordered++;
	reader->last = line.time;

	if (fwrite(&line, sizeof(line), 1, reader->pipe) != 1 ||
	    fwrite(reader->text, reader->len, 1, reader->pipe) != 1)
		return -errno;
	return 0;
}

int merge__add_sample(const struct perf_tool *tool, struct perf_sample *sample,
		      struct evsel *evsel, struct machine *machine)
{
	struct reader *reader = container_of(tool, struct reader, tool);
	struct thread *thread;

	if (!reader->info->ready)
		reader__check(reader);

	thread = machine__findnew_thread(machine, sample->pid, sample->tid);
	if (!thread)
		return -ENOMEM;

	rewind(reader->mem);
	if (reader->json)
		print_json(reader, evsel, sample, thread__comm_str(thread));
	else
		print_text(reader, evsel, sample, thread__comm_str(thread));
	thread__put(thread);
	if (fflush(reader->mem))
		return -errno;
	if (!reader->json)
		persistent__make_printable(reader->text);
	return reader__send(reader, sample->time);
}

static void reader__count_lost(struct reader *reader)
{
	const struct events_stats *stats = evlist__stats(reader->session->evlist);

	reader->info->nr_lost = stats->total_lost + stats->total_lost_samples +
					stats->total_dropped_samples + stats->nr_unknown_id;
}

/* Process records of tasks for their names, and the records that a stream begins with. */
static void reader__init_tool(struct perf_tool *tool)
{
	perf_tool__init(tool, /*ordered_events=*/true);
	tool->ordering_requires_timestamps = true;
	tool->no_warn = true;
	tool->comm = perf_event__process_comm;
	tool->fork = perf_event__process_fork;
	tool->exit = perf_event__process_exit;
	tool->attr = perf_event__process_attr;
	tool->event_update = perf_event__process_event_update;
	tool->id_index = perf_event__process_id_index;
#ifdef HAVE_LIBTRACEEVENT
	tool->tracing_data = perf_event__process_tracing_data;
#endif
	merge__set_callbacks(tool);
}

static int reader__run(struct reader *reader)
{
	int err;

	reader__init_tool(&reader->tool);
	reader->session = perf_session__new(&reader->data, &reader->tool);
	if (IS_ERR(reader->session)) {
		pr_err("Cannot read '%s': copy it again if it differs from what 'perf record' wrote, or leave it out.\n",
		       reader->path);
		return -1;
	}

	/* Check a stream later, as only its beginning was read so far. */
	if (!reader->data.is_pipe)
		reader__check(reader);
	err = perf_session__process_events(reader->session);
	if (!err && !reader->info->ready)
		reader__check(reader);
	reader__count_lost(reader);

	if (fclose(reader->pipe) && !err)
		err = -errno;
	if (err)
		pr_err("Cannot read all of '%s', some of its samples are missing: copy it again.\n",
		       reader->path);
	return err;
}

int merge__read_file(const char *path, const struct data_merge_opts *opts,
		     struct merge_info *info, FILE *pipe)
{
	struct reader reader = {
		.data	= {
			.path	= path,
			.mode	= PERF_DATA_MODE_READ,
			.force	= opts->force,
		},
		.path	= path,
		.info	= info,
		.json	= opts->json,
		.pipe	= pipe,
		.last	= INT64_MIN,
	};

	reader.mem = open_memstream(&reader.text, &reader.len);
	if (!reader.mem)
		return -ENOMEM;
	return reader__run(&reader);
}
