/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Private copies of buffers, for readers in the kernel.
 */
#ifndef _KERNEL_EVENTS_READ_H
#define _KERNEL_EVENTS_READ_H

#include <linux/cred.h>
#include <linux/kallsyms.h>
#include <linux/llist.h>
#include <linux/perf_event.h>
#include <linux/perf_read.h>
#include <linux/refcount.h>
#include <linux/trace_events.h>
#include <linux/types.h>

struct perf_buffer;
struct pid_namespace;
struct task_struct;

/**
 * struct perf_format - what records of a tracepoint look like
 * @refs:	one for each member, of snapshots, too, and for each reader that has it
 * @node:	in the hash table of all of them
 * @id:		type number of the tracepoint
 * @system:	the first part of its name
 * @name:	the second part
 * @print_fmt:	how tools print a record
 * @nr:		number of its fields
 * @fields:	in the order of their declaration, without the common ones
 */
struct perf_format {
	refcount_t		refs;
	struct hlist_node	node;
	u32			id;
	const char		*system;
	const char		*name;
	const char		*print_fmt;
	unsigned int		nr;
	struct perf_trace_field	fields[] __counted_by(nr);
};

/* read_format.c */
int perf_format_get(struct perf_event *event, struct perf_format **format);
struct perf_format *perf_format_share(struct perf_format *format);
void perf_format_put(struct perf_format *format);
const char *perf_known_name(const struct perf_event_attr *attr);
bool perf_known_event(const char *name, struct perf_event_attr *attr);

/* May the reader know where the kernel is? Samples of it and /proc/kallsyms both tell. */
static inline bool perf_may_know_kernel(void)
{
	return !perf_allow_kernel() && kallsyms_show_value(current_cred());
}

/* Whoever reads pays. Nobody is killed to make room for a copy. */
#define PERF_COPY_GFP	(GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

/**
 * struct perf_copy_event - an event that records may be of
 * @id:		its id
 * @owner:	id of the event whose buffer it writes to, or 0
 * @cpu:	its CPU, or -1
 * @size:	bytes of its own buffer, if it has one; and then:
 * @writers:	how many of these events write to it
 * @names:	some of them tell of tasks
 * @follows:	it tells of tasks, and has not been stopped
 * @attr:	as its creator passed it
 * @left_out:	what its records do not have, but readers get, see perf_wide_type()
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
	u64			left_out;
	struct pid_namespace	*pid_ns;
	struct perf_format	*format;
	char			name[PERF_PERSIST_NAME_SIZE];
};

/**
 * struct perf_copy_events - the events that somebody reads
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
 * @owner:	id of the event that has the buffer
 * @cpu:	its CPU, or -1
 * @whole:	nothing that was ever written is missing
 * @pages:	what the copy takes
 * @nr:		number of records, all of them whole
 * @len:	where they end
 * @skip:	where they begin in @data
 * @data:	the records, as they were in the buffer
 * @starts:	where each of them starts, in units of eight bytes; the oldest first
 */
struct perf_copy {
	u64			owner;
	int			cpu;
	bool			whole;
	unsigned long		pages;
	unsigned long		nr;
	unsigned long		len;
	unsigned long		skip;
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

/**
 * struct perf_copy_source - what a reader reads; belongs to it
 * @get_events:	what records may be of, with the creds of who reads; or an error
 * @copy:	what the buffer of an event held; NULL if there is none any more; or an error
 * @check:	0, or an error if there is nothing to read any more
 * @free:	frees all of it
 * @tasks:	records of tasks that are older, or NULL. Nothing in them is trusted
 * @tasks_len:	bytes of these
 * @before:	tasks that came later may have the pid of one that was recorded; in ns of
 *		CLOCK_BOOTTIME
 * @copied:	there is one buffer alone: @copy hands over what was copied of it before, and
 *		what is reserved for that
 * @viewer:	whoever is in this pid namespace may see the tasks that it has; NULL: names of
 *		tasks that are alive are not to be taken from them one by one
 * @clock_offset: what to add to CLOCK_MONOTONIC to get the time of a record, if @viewer
 *
 * All are called without a lock.
 */
struct perf_copy_source {
	struct perf_copy_events	*(*get_events)(struct perf_copy_source *source);
	struct perf_copy	*(*copy)(struct perf_copy_source *source,
					 const struct perf_copy_event *owner);
	int			(*check)(struct perf_copy_source *source);
	void			(*free)(struct perf_copy_source *source);
	const void		*tasks;
	size_t			tasks_len;
	u64			before;
	bool			copied;
	struct pid_namespace	*viewer;
	s64			clock_offset;
};

/**
 * struct perf_copy_from - a buffer that is to be copied
 * @rb:		the buffer, of which the caller has a reference
 * @cpu:	that its writers are on; -1 if they follow
 * @target:	this task, of which the caller has a reference
 * @forward:	its writers wait for who reads, see perf_event_mmap_page::data_tail
 * @first:	it is the first buffer of its events
 * @done:	nobody writes any more, and got to:
 * @head:	that
 */
struct perf_copy_from {
	struct perf_buffer	*rb;
	int			cpu;
	struct task_struct	*target;
	bool			forward;
	bool			first;
	bool			done;
	unsigned long		head;
};

/**
 * struct perf_head_read - how far the writers of a buffer are
 * @rb:		the buffer
 * @head:	up to where they have reserved space; it counts down
 * @writing:	a record there is not complete
 */
struct perf_head_read {
	struct perf_buffer	*rb;
	unsigned long		head;
	bool			writing;
};

/* read_copy.c */
const struct perf_copy_event *perf_copy_find_event(const struct perf_copy_events *events, u64 id);
void perf_copy_put_events(struct perf_copy_events *events);
void perf_copy_count_writers(struct perf_copy_events *events);
bool perf_memory_left(unsigned long pages);
void perf_copy_flush(void);
void perf_copy_free_later(struct perf_copy_garbage *garbage);
int perf_copy_reserve(unsigned long pages);
void perf_copy_unreserve(unsigned long pages);
void perf_copy_allocated(long pages);
unsigned long perf_copy_max_pages(const struct perf_copy_event *owner);
struct perf_head_read perf_read_head(struct perf_buffer *rb, int cpu);
struct perf_copy *perf_copy_make(const struct perf_copy_from *from,
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

/* read_record.c */
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

/* read_comm.c */
struct task_struct *perf_next_task(int *nr, struct pid_namespace *pid_ns);
struct perf_comms *perf_comms_alloc(struct pid_namespace *pid_ns);
bool perf_may_know_name(struct task_struct *task);
int perf_comms_add_live(struct perf_comms *comms);
int perf_comms_add_visible(struct perf_comms *comms, const struct perf_copy_events *events,
			   const struct perf_copy *copy, const struct perf_copy_source *source);
int perf_comms_add(struct perf_comms *comms, const struct perf_copy_events *events,
		   const struct perf_copy *copy);
int perf_comms_add_tasks(struct perf_comms *comms, const void *tasks, size_t len);
int perf_comms_sort(struct perf_comms *comms);
bool perf_comms_find(const struct perf_comms *comms, const struct perf_copy_record *record,
		     char *comm);
void perf_comms_free(struct perf_comms *comms);

/* read_wide.c */
u64 perf_wide_type(const struct perf_event_attr *attr, int cpu);

/* read_text.c */
struct perf_text *perf_text_make(struct perf_copy_source *source, int cpu);

#if IS_ENABLED(CONFIG_KUNIT)
void perf_text_show_fields(struct seq_file *m, const struct perf_copy_record *record);
#endif

#endif /* _KERNEL_EVENTS_READ_H */
