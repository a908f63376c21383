// SPDX-License-Identifier: GPL-2.0
/*
 * Records as a perf.data stream in pipe format.
 *
 * Any perf with libtraceevent reads the stream, from a pipe or from a file. It need not know
 * persistent events. The stream is made while it is read, one buffer at a time:
 *
 *   events with their names, formats of tracepoints, the kernel
 *   tasks from before the recording, if the source has records of them
 *   samples, CPU after CPU; modules come before the samples of a CPU that use their code
 *   records of tasks from the side-band buffers of all CPUs
 *   living tasks, and their executable maps
 *
 * The last two parts come late, as they may be large: the samples must not be overwritten
 * while the reader is still reading about tasks.
 */
#include <linux/err.h>
#include <linux/minmax.h>
#include <linux/perf_event.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/threads.h>
#include <linux/xarray.h>

#include "read.h"
#include "read_data.h"

/* Approximate limit of output in memory, for parts of the stream that have no other limit */
#define PERF_STREAM_CHUNK	SZ_64K

enum perf_stream_stage {
	PERF_STREAM_HEAD,
	PERF_STREAM_OLDER,
	PERF_STREAM_SAMPLES,
	PERF_STREAM_SIDEBAND,
	PERF_STREAM_LIVING,
	PERF_STREAM_END,
};

/**
 * struct perf_stream - a stream that is being read
 * @source:	the source of the events and copies
 * @cpu:	show samples of this CPU only; or -1
 * @events:	the events of the source
 * @stage:	the next part of the stream
 * @next_event:	index of the event whose buffer comes next
 * @tasks_pos:	position in perf_copy_source::tasks
 * @told:	PERF_TOLD_... of each task, see struct perf_living
 * @living:	the walk over the living tasks
 * @modules:	modules that the stream has described
 * @out:	output that was made
 * @out_read:	bytes of @out that were read
 * @copy:	the copy to read after @out, or NULL
 * @pages:	pages that are reserved for @copy
 * @no_samples:	leave out the samples of @copy
 * @tells:	@copy has records about tasks
 * @record:	index of the next record of @copy
 * @record_read: bytes of this record that were read
 * @record_event: the event that wrote this record, or NULL
 * @garbage:	for perf_copy_free_later()
 */
struct perf_stream {
	struct perf_copy_source		*source;
	int				cpu;
	struct perf_copy_events		*events;
	enum perf_stream_stage		stage;
	unsigned int			next_event;
	size_t				tasks_pos;
	struct xarray			told;
	struct perf_living		living;
	struct perf_modules		modules;
	struct perf_out			out;
	size_t				out_read;
	struct perf_copy		*copy;
	unsigned long			pages;
	bool				no_samples;
	bool				tells;
	unsigned long			record;
	size_t				record_read;
	const struct perf_copy_event	*record_event;
	struct perf_copy_garbage	garbage;
};

static int check_killed(void)
{
	cond_resched();
	return fatal_signal_pending(current) ? -EINTR : 0;
}

/*
 * Tasks
 */

static int note_told(struct perf_stream *stream, u32 tid, unsigned long what)
{
	unsigned long old, seconds;

	/* Larger tids are invalid, and the xarray would need much memory for them. */
	if (tid >= PID_MAX_LIMIT)
		return 0;
	old = perf_told(&stream->told, tid);
	seconds = max(old & ~PERF_TOLD_FLAGS, what & ~PERF_TOLD_FLAGS);
	what = seconds | ((old | what) & PERF_TOLD_FLAGS);
	if (what == old)
		return 0;
	/* Forged records can have any tids. Only those of living tasks are looked up. */
	scoped_guard(rcu) {
		if (!find_pid_ns(tid, stream->living.pid_ns))
			return 0;
	}
	return xa_err(xa_store(&stream->told, tid, xa_mk_value(what), PERF_COPY_GFP));
}

/* @maps: what to note for an exec; without gaps, the buffers have all later maps of the task */
static int note_comm(struct perf_stream *stream, const struct perf_event_header *header,
		     unsigned long maps)
{
	const struct perf_comm_body *body = (void *)(header + 1);
	unsigned long what = PERF_TOLD_NAME;

	if (header->type != PERF_RECORD_COMM || header->size < sizeof(*header) + sizeof(*body))
		return 0;
	if (header->misc & PERF_RECORD_MISC_COMM_EXEC)
		what |= maps;
	return note_told(stream, body->tid, what);
}

/*
 * A single buffer needs names and maps of few processes. Note which, so that the walk over the
 * living tasks does not take the mmap_lock of all others.
 */
static int note_process(struct perf_stream *stream, const struct perf_copy_record *record)
{
	const struct perf_fork_body *forked = (void *)(record->header + 1);

	if (!stream->living.recorded)
		return 0;
	if (record->header->type == PERF_RECORD_SAMPLE && record->has_tid)
		return note_told(stream, record->pid, PERF_TOLD_RUNS);
	/* A child starts with the name and the maps of its parent. */
	if (record->header->type == PERF_RECORD_FORK)
		return note_told(stream, forked->ppid, PERF_TOLD_RUNS);
	return 0;
}

/* Bodies of records, see enum perf_event_type */
struct namespaces_body {
	u32	pid, tid;
	u64	nr;
};

struct text_poke_body {
	u64	addr;
	u16	old_len, new_len;
} __packed;

/* Size of the fixed part of a record's body; 0 if perf needs no check of this type of record */
static size_t record_body(u32 type)
{
	switch (type) {
	case PERF_RECORD_COMM:
		return sizeof(struct perf_comm_body);
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		return sizeof(struct perf_fork_body);
	case PERF_RECORD_MMAP:
		return sizeof(struct perf_mmap_body);
	case PERF_RECORD_MMAP2:
		return sizeof(struct perf_mmap2_body);
	case PERF_RECORD_NAMESPACES:
		return sizeof(struct namespaces_body);
	case PERF_RECORD_KSYMBOL:
		return 2 * sizeof(u64);
	case PERF_RECORD_TEXT_POKE:
		return sizeof(struct text_poke_body);
	case PERF_RECORD_CGROUP:
		return sizeof(u64);
	default:
		return 0;
	}
}

/* Does a string follow the fixed part? */
static bool has_text(u32 type)
{
	return type != PERF_RECORD_FORK && type != PERF_RECORD_EXIT &&
	       type != PERF_RECORD_NAMESPACES && type != PERF_RECORD_TEXT_POKE;
}

/* perf copies as many bytes as the record says into an array of 20 bytes. */
static bool has_sane_build_id(const struct perf_event_header *header)
{
	const struct perf_mmap2_body *body = (void *)(header + 1);

	return header->type != PERF_RECORD_MMAP2 ||
	       !(header->misc & PERF_RECORD_MISC_MMAP_BUILD_ID) ||
	       body->build_id_size <= sizeof(body->build_id);
}

/*
 * A process that maps a buffer for writing can forge records. perf relies on the NUL at the
 * end of a string, and takes records of other types for records of its own.
 */
static bool is_sane(const struct perf_event_header *header, size_t id_size)
{
	const size_t body = record_body(header->type);
	size_t len = header->size - sizeof(*header);
	const char *data = (void *)(header + 1);

	if (header->type >= PERF_RECORD_MAX)
		return false;
	if (!body)
		return true;
	if (len < body + id_size)
		return false;
	len -= id_size;
	if (header->type == PERF_RECORD_NAMESPACES) {
		const struct namespaces_body *namespaces = (void *)data;

		return namespaces->nr <= (len - body) / sizeof(struct perf_ns_link_info);
	}
	if (header->type == PERF_RECORD_TEXT_POKE) {
		const struct text_poke_body *poke = (void *)data;

		return poke->old_len + poke->new_len <= len - body;
	}
	if (!has_sane_build_id(header))
		return false;
	return !has_text(header->type) || (len > body && !data[len - 1]);
}

static bool tells_of_task(u32 type)
{
	switch (type) {
	case PERF_RECORD_COMM:
	case PERF_RECORD_FORK:
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
	case PERF_RECORD_NAMESPACES:
	case PERF_RECORD_CGROUP:
		return true;
	default:
		return false;
	}
}

/*
 * User space made the record. Its sample_id fields may differ from those of the first event,
 * so replace them.
 */
static int add_older(struct perf_stream *stream, const struct perf_event_header *header,
		     size_t id_size)
{
	const size_t body = record_body(header->type);
	const char *data = (void *)(header + 1);
	size_t len = header->size - sizeof(*header), start;

	if (!tells_of_task(header->type) || len < body + id_size)
		return 0;
	if (header->type == PERF_RECORD_NAMESPACES && !is_sane(header, id_size))
		return 0;
	if (!has_sane_build_id(header))
		return 0;
	len -= id_size;
	start = perf_out_begin(&stream->out, header->type, header->misc);
	perf_out_add(&stream->out, data, len);
	/* perf relies on the NUL at the end of a string. */
	if (has_text(header->type) && (len == body || data[len - 1]))
		perf_out_add(&stream->out, NULL, 1);
	perf_out_end(&stream->out, start, true);
	return note_comm(stream, header, 0);
}

/* User space makes these records for the side-band event, or else for the first event. */
static size_t older_id_size(const struct perf_copy_events *events)
{
	const struct perf_copy_event *event;

	for (event = events->all; event < perf_copy_events_end(events); event++) {
		if (perf_copy_is_sideband(event))
			return perf_out_id_size(&event->attr, 0);
	}
	return perf_out_id_size(&events->all[0].attr, 0);
}

static int make_older(struct perf_stream *stream)
{
	const size_t id_size = older_id_size(stream->events);
	const struct perf_event_header *header;
	int ret = 0;

	while (!ret && stream->out.len < PERF_STREAM_CHUNK) {
		header = perf_next_record(stream->source->tasks, stream->source->tasks_len,
					  stream->tasks_pos);
		if (!header) {
			stream->stage++;
			break;
		}
		stream->tasks_pos += header->size;
		ret = add_older(stream, header, id_size) ?: check_killed();
	}
	return ret;
}

static int make_living(struct perf_stream *stream)
{
	int ret = perf_out_living(&stream->out, &stream->living, PERF_STREAM_CHUNK);

	if (ret <= 0)
		stream->stage++;
	return min(ret, 0);
}

/* With several pid namespaces it is unknown to which one a pid of a record belongs. */
static bool has_one_pid_ns(const struct perf_copy_events *events)
{
	const struct perf_copy_event *event;

	for (event = events->all; event < perf_copy_events_end(events); event++) {
		if (event->pid_ns != events->all[0].pid_ns)
			return false;
	}
	return true;
}

/*
 * Events and buffers
 */

static int make_head(struct perf_stream *stream)
{
	const struct perf_copy_events *events = stream->events;
	int ret;

	perf_out_header(&stream->out);
	if (!events->nr) {
		stream->stage = PERF_STREAM_END;
		return 0;
	}
	stream->out.id_size = perf_out_id_size(&events->all[0].attr, events->all[0].left_out);
	ret = perf_out_attrs(&stream->out, events);
	if (!ret)
		ret = perf_out_formats(&stream->out, events);
	if (!ret)
		perf_out_kernel(&stream->out);
	return ret;
}

/* Side-band records of all CPUs are needed: a task may have got its name on another CPU. */
static bool is_wanted(struct perf_stream *stream, const struct perf_copy_event *event)
{
	bool sideband = perf_copy_is_sideband(event) && event->writers == 1;
	bool here = stream->cpu < 0 || event->cpu == stream->cpu;

	if (event->owner != event->id)
		return false;
	if (stream->stage == PERF_STREAM_SAMPLES)
		return here && !sideband;
	return sideband || (!here && event->names);
}

static void drop_copy(struct perf_stream *stream)
{
	perf_copy_free(stream->copy);
	perf_copy_unreserve(stream->pages);
	stream->copy = NULL;
	stream->pages = 0;
	stream->record = 0;
}

static int take_copy(struct perf_stream *stream, const struct perf_copy_event *event)
{
	unsigned long pages = 0;
	struct perf_copy *copy;
	int ret;

	if (!stream->source->copied) {
		pages = perf_copy_max_pages(event);
		ret = perf_copy_reserve(pages);
		if (ret)
			return ret;
	}
	copy = stream->source->copy(stream->source, event);
	stream->tells = event->names;
	if (stream->tells && (!copy || (!IS_ERR(copy) && !copy->whole && !copy->nr)))
		stream->living.since = U64_MAX;
	if (IS_ERR_OR_NULL(copy)) {
		perf_copy_unreserve(pages);
		return PTR_ERR_OR_ZERO(copy);
	}
	/* The buffer may have had less data than was reserved. */
	if (pages)
		perf_copy_unreserve(pages - copy->pages);
	stream->pages = copy->pages;
	stream->copy = copy;
	stream->no_samples = stream->stage != PERF_STREAM_SAMPLES;
	if (stream->no_samples)
		return 0;
	return perf_out_modules(&stream->out, &stream->modules, stream->events, copy);
}

/* Copy the next buffer, which may be empty; after the last one, go to the next stage. */
static int make_copy(struct perf_stream *stream)
{
	const struct perf_copy_event *event;

	drop_copy(stream);
	while (stream->next_event < stream->events->nr) {
		event = &stream->events->all[stream->next_event++];
		if (is_wanted(stream, event))
			return take_copy(stream, event);
	}
	stream->next_event = 0;
	stream->stage++;
	if (stream->stage == PERF_STREAM_LIVING && !has_one_pid_ns(stream->events))
		stream->stage = PERF_STREAM_END;
	return 0;
}

static int make_more(struct perf_stream *stream)
{
	struct perf_out *out = &stream->out;
	int ret;

	out->len = 0;
	stream->out_read = 0;
	/* Only the list of all events and formats is so large: free it once it was read. */
	if (out->max > 4 * PERF_STREAM_CHUNK)
		perf_out_free(out);

	switch (stream->stage) {
	case PERF_STREAM_HEAD:
		stream->stage++;
		ret = make_head(stream);
		break;
	case PERF_STREAM_OLDER:
		ret = make_older(stream);
		break;
	case PERF_STREAM_SAMPLES:
	case PERF_STREAM_SIDEBAND:
		ret = make_copy(stream);
		break;
	case PERF_STREAM_LIVING:
		ret = make_living(stream);
		break;
	default:
		ret = 0;
		break;
	}
	return out->failed ? -ENOMEM : ret;
}

/*
 * Reading
 */

static size_t read_out(struct perf_stream *stream, void *buf, size_t len)
{
	len = min(len, stream->out.len - stream->out_read);
	if (len)
		memcpy(buf, stream->out.data + stream->out_read, len);
	stream->out_read += len;
	return len;
}

/*
 * Returns 1 if the stream has this record, 0 if it is left out, or an error. perf would abort
 * at a record of an unknown event: one that has left the namespace, was never in it, or joined
 * after the stream began.
 */
static int check_record(struct perf_stream *stream)
{
	const struct perf_copy_events *events = stream->events;
	struct perf_copy_record record;
	unsigned long maps = 0;
	bool is_sample;
	int ret;

	if (stream->tells)
		stream->living.since = max(stream->living.since,
					   perf_copy_gap(stream->copy, events, stream->record));
	perf_copy_read(stream->copy, events, stream->record, &record);
	stream->record_event = record.event;
	is_sample = record.header->type == PERF_RECORD_SAMPLE;
	if (is_sample && stream->no_samples)
		return 0;
	if (!is_sane(record.header, record.event ? perf_out_id_size(&record.event->attr, 0) : 0))
		return 0;
	/* Without sample_id fields, perf does not look for the event of such a record. */
	if (!record.event && (is_sample || events->all[0].attr.sample_id_all))
		return 0;
	if (record.event && (record.event->attr.mmap || record.event->attr.mmap2))
		maps = PERF_TOLD_MAPS | perf_told_time(record.time);
	ret = note_comm(stream, record.header, maps);
	if (!ret)
		ret = note_process(stream, &record);
	return ret ? ret : 1;
}

/* Find the next record that is not left out. Returns NULL at the end of the copy. */
static const struct perf_event_header *find_record(struct perf_stream *stream)
{
	struct perf_copy *copy = stream->copy;
	int ret = 0;

	while (!stream->record_read && copy && stream->record < copy->nr) {
		ret = check_record(stream);
		if (!ret)
			ret = check_killed();
		else if (ret > 0)
			break;
		if (ret)
			return ERR_PTR(ret);
		stream->record++;
	}
	if (!copy || stream->record >= copy->nr)
		return NULL;
	return perf_copy_header(copy, stream->record);
}

/* Does the record lack fields that readers get? */
static bool is_narrow(const struct perf_stream *stream)
{
	return stream->record_event && stream->record_event->left_out;
}

/* Make output of the next records that lack fields, with these fields added. */
static int make_wide(struct perf_stream *stream, const struct perf_event_header *header, size_t len)
{
	stream->out.len = 0;
	stream->out_read = 0;
	do {
		perf_out_wide(&stream->out, header, stream->record_event, stream->copy->cpu);
		stream->record++;
		/* After an error, the next call fails again, when this output was read. */
		header = find_record(stream);
	} while (!IS_ERR_OR_NULL(header) && is_narrow(stream) &&
		 stream->out.len < min_t(size_t, len, PERF_STREAM_CHUNK));
	if (!stream->out.failed)
		return 0;
	/* Drop the partial output. The reader gets the data read before, and then the error. */
	stream->out.len = 0;
	return -ENOMEM;
}

static ssize_t read_copy(struct perf_stream *stream, void *buf, size_t len)
{
	const struct perf_event_header *header;
	int ret;

	for (;;) {
		header = find_record(stream);
		if (IS_ERR_OR_NULL(header))
			return PTR_ERR_OR_ZERO(header);
		if (stream->record_read || !is_narrow(stream))
			break;
		ret = make_wide(stream, header, len);
		if (ret)
			return ret;
		/* perf_out_wide() may have dropped all of them. */
		if (stream->out.len)
			return read_out(stream, buf, len);
	}
	len = min(len, header->size - stream->record_read);
	memcpy(buf, (void *)header + stream->record_read, len);
	stream->record_read += len;
	if (stream->record_read == header->size) {
		stream->record++;
		stream->record_read = 0;
	}
	return len;
}

/**
 * perf_stream_read - read a part of a stream
 * @stream:	the stream
 * @buf:	the buffer to read into
 * @len:	its size in bytes
 *
 * Called with the reader's creds, without a lock.
 *
 * Return: the number of bytes, 0 at the end; or an error, see struct
 * perf_copy_source and perf_out_attrs(), after which the stream can only be freed.
 */
ssize_t perf_stream_read(struct perf_stream *stream, void *buf, size_t len)
{
	size_t done = 0;
	ssize_t n;
	int ret;

	while (done < len) {
		n = read_out(stream, buf + done, len - done);
		if (!n && stream->out.failed)
			n = -ENOMEM;
		if (!n)
			n = read_copy(stream, buf + done, len - done);
		if (n < 0)
			return done ? done : n;
		done += n;
		if (n)
			continue;
		/* Return what was read before making more, so that no error gets lost. */
		if (done || stream->stage == PERF_STREAM_END)
			break;
		ret = make_more(stream);
		if (ret)
			return ret;
	}
	return done;
}

static void free_stream(struct perf_copy_garbage *garbage)
{
	struct perf_stream *stream = container_of(garbage, struct perf_stream, garbage);

	drop_copy(stream);
	perf_out_free(&stream->out);
	kfree(stream->modules.bases);
	xa_destroy(&stream->told);
	perf_copy_put_events(stream->events);
	stream->source->free(stream->source);
	kfree(stream);
}

/**
 * perf_stream_free - have a worker free a stream
 * @stream:	the stream, or NULL
 */
void perf_stream_free(struct perf_stream *stream)
{
	if (stream)
		perf_copy_free_later(&stream->garbage);
}

static bool records_maps(const struct perf_event_attr *attr)
{
	return attr->comm && (attr->mmap || attr->mmap2);
}

/**
 * perf_stream_make - begin a stream
 * @source:	the source; the stream owns it. After an error it is freed
 * @cpu:	show samples of this CPU only; or -1 for all CPUs
 *
 * Called with the reader's creds, without a lock.
 *
 * Return: the stream; or -ENOMEM, or see struct perf_copy_source.
 */
struct perf_stream *perf_stream_make(struct perf_copy_source *source, int cpu)
{
	struct perf_copy_events *events;
	struct perf_stream *stream;

	events = source->get_events(source);
	stream = IS_ERR(events) ? NULL : kzalloc(sizeof(*stream), PERF_COPY_GFP);
	if (!stream) {
		source->free(source);
		if (IS_ERR(events))
			return ERR_CAST(events);
		perf_copy_put_events(events);
		return ERR_PTR(-ENOMEM);
	}
	stream->source = source;
	stream->cpu = cpu;
	stream->events = events;
	stream->garbage.free = free_stream;
	xa_init_flags(&stream->told, XA_FLAGS_ACCOUNT);
	stream->living = (struct perf_living){
		.pid_ns	= events->nr ? events->all[0].pid_ns : NULL,
		.viewer	= source->viewer,
		.before	= source->before,
		.recorded = source->copied,
		.since	= perf_copy_complete_since(events, records_maps),
		.told	= &stream->told,
	};
	return stream;
}
