/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Private copies of buffers, for readers in the kernel.
 */
#ifndef _KERNEL_EVENTS_PERSISTENT_COPY_H
#define _KERNEL_EVENTS_PERSISTENT_COPY_H

#include <linux/llist.h>
#include <linux/perf_event.h>

#include "persistent_internal.h"

struct pid_namespace;
struct task_struct;

/* Whoever reads pays. Nobody is killed to make room for a copy. */
#define PERF_COPY_GFP	(GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

/**
 * struct perf_copy_event - an event that records may be of
 * @id:		its id
 * @owner:	id of the member whose buffer it writes to, or 0
 * @cpu:	its CPU
 * @size:	bytes of its own buffer, if it has one; and then:
 * @writers:	how many of these events write to it
 * @names:	some of them tell of tasks
 * @follows:	it tells of tasks, and has not been stopped
 * @attr:	as its creator passed it
 * @pid_ns:	that its pids are of, with a reference
 * @format:	of its tracepoint, with a reference, or NULL
 * @name:	what people call it, or else the kernel
 */
struct perf_copy_event {
	u64			id;
	u64			owner;
	int			cpu;
	unsigned long		size;
	unsigned int		writers;
	bool			names;
	bool			follows;
	struct perf_event_attr	attr;
	struct pid_namespace	*pid_ns;
	struct perf_format	*format;
	char			name[PERF_PERSIST_NAME_SIZE];
};

/**
 * struct perf_copy_events - the events of a namespace, or of a snapshot
 * @nr:		how many there are
 * @max:	how many there is room for
 * @live:	they record
 * @all:	the events, ordered by id
 */
struct perf_copy_events {
	unsigned int		nr;
	unsigned int		max;
	bool			live;
	struct perf_copy_event	all[] __counted_by(max);
};

/**
 * struct perf_copy - what a buffer held
 * @owner:	id of the member that has the buffer
 * @cpu:	its CPU
 * @whole:	nothing that was ever written is missing
 * @pages:	what the copy takes
 * @nr:		number of records, all of them whole
 * @len:	bytes of them
 * @data:	the records, the newest first
 * @starts:	where each of them starts, in units of eight bytes; the oldest first
 */
struct perf_copy {
	u64			owner;
	int			cpu;
	bool			whole;
	unsigned long		pages;
	unsigned long		nr;
	unsigned long		len;
	void			*data;
	u32			*starts;
};

/**
 * struct perf_copy_garbage - what has copies that nobody needs any more
 * @node:	in the list of all that is to be freed
 * @free:	frees it
 */
struct perf_copy_garbage {
	struct llist_node	node;
	void			(*free)(struct perf_copy_garbage *garbage);
};

static inline const struct perf_event_header *
perf_copy_header(const struct perf_copy *copy, unsigned long i)
{
	return copy->data + copy->starts[i] * sizeof(u64);
}

/* The record at @pos of @len bytes, which nobody has checked; NULL if there is none */
static inline const struct perf_event_header *
perf_next_record(const void *data, size_t len, size_t pos)
{
	const struct perf_event_header *header = data + pos;

	if (len - pos < sizeof(*header) || header->size < sizeof(*header) ||
	    (header->size & (sizeof(u64) - 1)) || header->size > len - pos)
		return NULL;
	return header;
}

/* It tells of tasks and their maps, and has no samples of its own. */
static inline bool perf_copy_is_sideband(const struct perf_copy_event *event)
{
	return event->attr.type == PERF_TYPE_SOFTWARE &&
	       event->attr.config == PERF_COUNT_SW_DUMMY;
}

static inline const struct perf_copy_event *
perf_copy_events_end(const struct perf_copy_events *events)
{
	return events->all + events->nr;
}

/* persistent_copy.c */
struct perf_copy_events *perf_copy_get_events(struct perf_persist_ns *ns);
void perf_copy_put_events(struct perf_copy_events *events);
const struct perf_copy_event *perf_copy_find_event(const struct perf_copy_events *events, u64 id);
void perf_copy_free_later(struct perf_copy_garbage *garbage);
int perf_copy_reserve(unsigned long pages);
void perf_copy_unreserve(unsigned long pages);
unsigned long perf_copy_max_pages(const struct perf_copy_event *owner);
struct perf_copy *perf_copy_buffer(struct perf_persist_ns *ns,
				   const struct perf_copy_event *owner);
void perf_copy_free(struct perf_copy *copy);

/**
 * struct perf_copy_record - a record of a copy
 * @header:	the record itself
 * @event:	the event that it is of; NULL if that is not known any more
 * @has_time:	@time is known
 * @has_tid:	@pid and @tid are known, and @event is
 * @time:	when, or 0
 * @pid:	of the process
 * @tid:	of the task
 * @cpu:	where
 * @ip:		of a sample; what is not in it is 0, for all that follow
 * @addr:	of a sample
 * @period:	of a sample
 * @nr_ips:	of its call chain
 * @ips:	the call chain
 * @raw_size:	bytes of what a tracepoint recorded
 * @raw:	that
 */
struct perf_copy_record {
	const struct perf_event_header	*header;
	const struct perf_copy_event	*event;
	bool				has_time;
	bool				has_tid;
	u64				time;
	u32				pid;
	u32				tid;
	int				cpu;
	u64				ip;
	u64				addr;
	u64				period;
	u64				nr_ips;
	const u64			*ips;
	u32				raw_size;
	const void			*raw;
};

/* persistent_record.c */
void perf_copy_read(const struct perf_copy *copy, const struct perf_copy_events *events,
		    unsigned long i, struct perf_copy_record *record);

/* Bodies of records, see enum perf_event_type */
struct perf_comm_body {
	u32	pid, tid;
	char	comm[];
};

struct perf_fork_body {
	u32	pid, ppid;
	u32	tid, ptid;
	u64	time;
};

struct perf_comms;

/* persistent_comm.c */
struct task_struct *perf_next_task(int *nr, struct pid_namespace *pid_ns);
struct perf_comms *perf_comms_alloc(struct pid_namespace *pid_ns);
int perf_comms_add_live(struct perf_comms *comms);
int perf_comms_add(struct perf_comms *comms, const struct perf_copy_events *events,
		   const struct perf_copy *copy);
int perf_comms_add_tasks(struct perf_comms *comms, const struct perf_tasks *tasks);
int perf_comms_sort(struct perf_comms *comms);
bool perf_comms_find(const struct perf_comms *comms, const struct perf_copy_record *record,
		     char *comm);
void perf_comms_free(struct perf_comms *comms);

struct perf_text;
struct seq_file;

/* persistent_text.c */
struct perf_text *perf_text_make(struct perf_persist_ns *ns, int cpu);
void perf_text_free(struct perf_text *text);
int perf_text_seek(struct perf_text *text, loff_t pos);
int perf_text_next(struct perf_text *text);
int perf_text_show(struct perf_text *text, struct seq_file *m);

#if IS_ENABLED(CONFIG_KUNIT)
void perf_text_show_fields(struct seq_file *m, const struct perf_copy_record *record);
#endif

#endif /* _KERNEL_EVENTS_PERSISTENT_COPY_H */
