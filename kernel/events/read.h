/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Readers in the kernel: private copies of ring buffers, and helpers that decode and print
 * the records. The readers are perffs and /proc/PID/perf.
 */
#ifndef _KERNEL_EVENTS_READ_H
#define _KERNEL_EVENTS_READ_H

#include <linux/cred.h>
#include <linux/kallsyms.h>
#include <linux/llist.h>
#include <linux/overflow.h>
#include <linux/perf_event.h>
#include <linux/perf_read.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <linux/trace_events.h>
#include <linux/types.h>
#include <linux/vmalloc.h>

struct perf_buffer;
struct pid_namespace;
struct task_struct;

/**
 * struct perf_format - the format of the records of a tracepoint
 * @refs:	one for each member, also of snapshots, and for each reader that uses it
 * @node:	entry in the hash table of all formats
 * @id:		type number of the tracepoint
 * @system:	the first part of the tracepoint's name
 * @name:	the second part
 * @print_fmt:	the format string with which tools print a record
 * @nr:		number of fields
 * @fields:	the fields in the order of their declaration, without the common ones
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

/* May the reader know kernel addresses? This needs the rights to samples and to kallsyms. */
static inline bool perf_may_know_kernel(void)
{
	return !perf_allow_kernel() && kallsyms_show_value(current_cred());
}

/* Charge the reader's memory cgroup, and do not invoke the OOM killer for a copy. */
#define PERF_COPY_GFP	(GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

/*
 * Allocate memory that kvfree() frees, and which __GFP_ZERO in @flags clears. With
 * __GFP_RETRY_MAYFAIL, kvmalloc() would reclaim and compact to get adjacent pages, which
 * nobody needs here.
 */
static inline void *perf_copy_alloc(size_t size, gfp_t flags)
{
	flags |= PERF_COPY_GFP;
	return size <= PAGE_SIZE ? kmalloc(size, flags) : __vmalloc(size, flags);
}

/**
 * struct perf_copy_event - an event that may have records in a copy
 * @id:		its id
 * @owner:	id of the event whose buffer it writes to, or 0
 * @cpu:	its CPU, or -1
 * @size:	size of its own buffer in bytes, or 0 if it has none
 * @writers:	number of events that write to its own buffer
 * @names:	some of these writers record names or forks of tasks
 * @complete_since: time since when none of its records is missing, in ns of its clock;
 *		U64_MAX if it is disabled, or if that is unknown
 * @attr:	the attributes that its creator passed
 * @left_out:	fields that its records lack but readers get, see perf_wide_type()
 * @pid_ns:	the pid namespace of its pids, with a reference
 * @format:	the format of its tracepoint, with a reference, or NULL
 * @name:	the name that the user gave it, or else the kernel's name
 */
struct perf_copy_event {
	u64			id;
	u64			owner;
	int			cpu;
	unsigned long		size;
	unsigned int		writers;
	bool			names;
	u64			complete_since;
	struct perf_event_attr	attr;
	u64			left_out;
	struct pid_namespace	*pid_ns;
	struct perf_format	*format;
	char			name[PERF_PERSIST_NAME_SIZE];
};

/**
 * struct perf_copy_events - the events of a source
 * @nr:		number of events
 * @max:	number of events that there is room for
 * @live:	they are neither of a snapshot nor stopped
 * @all:	the events, ordered by id
 */
struct perf_copy_events {
	unsigned int		nr;
	unsigned int		max;
	bool			live;
	struct perf_copy_event	all[] __counted_by(max);
};

/**
 * struct perf_copy - a private copy of a buffer
 * @owner:	id of the event that has the buffer
 * @cpu:	its CPU, or -1
 * @whole:	the copy has all records that were ever written to the buffer
 * @pages:	pages that are allocated for the copy
 * @nr:		number of records, all of them complete
 * @len:	offset in @data where the records end
 * @skip:	offset in @data where the records begin
 * @data:	the records, as they were in the buffer
 * @starts:	offset of each record in @data, in units of eight bytes; the oldest first
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
 * struct perf_copy_garbage - an object with copies, which a worker frees later
 * @node:	entry in the list of the objects to free
 * @free:	frees the object
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

/* The record at @pos, of @len bytes of untrusted data; NULL if there is no valid record */
static inline const struct perf_event_header *
perf_next_record(const void *data, size_t len, size_t pos)
{
	const struct perf_event_header *header = data + pos;

	if (len - pos < sizeof(*header) || header->size < sizeof(*header) ||
	    (header->size & (sizeof(u64) - 1)) || header->size > len - pos)
		return NULL;
	return header;
}

/* A dummy event records tasks and their maps, but has no samples. */
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
 * struct perf_copy_source - the events and buffers that a reader reads; owned by the reader
 * @get_events:	returns the events, or an error; called with the reader's creds
 * @copy:	returns a copy of an event's buffer; NULL if the buffer is gone; or an error
 * @check:	returns 0, or an error if the source is gone
 * @free:	frees the source
 * @tasks:	records of tasks from before the recording, or NULL; untrusted data
 * @tasks_len:	number of bytes in @tasks
 * @before:	time in ns of CLOCK_BOOTTIME. A task that started later may have reused the pid
 *		of a recorded task
 * @copied:	the source is a single buffer, copied in advance. @copy hands over this copy
 *		and the pages that are reserved for it
 * @viewer:	the reader's pid namespace: no other living tasks are named; NULL: all are
 * @names:	look up the names of living tasks one by one; only with @viewer
 * @clock_offset: only with @names: add it to CLOCK_MONOTONIC to get the time of a record
 *
 * All callbacks are called without a lock.
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
	bool			names;
	s64			clock_offset;
};

/**
 * struct perf_copy_from - a buffer to copy
 * @rb:		the buffer, with a reference of the caller's
 * @cpu:	the CPU on which the writers run; -1 if they follow @target
 * @target:	the task that the events follow, with a reference of the caller's, or NULL
 * @forward:	a forward buffer: the writers do not write beyond
 *		perf_event_mmap_page::data_tail
 * @first:	it is the first buffer of its events
 * @done:	nobody writes any more, and @head is final
 * @head:	position of the writers, if @done
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
 * struct perf_head_read - position of the writers of a backward buffer
 * @rb:		the buffer
 * @head:	position down to which the writers have reserved space
 * @writing:	a record is not complete
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
u64 perf_copy_complete_since(const struct perf_copy_events *events,
			     bool (*records)(const struct perf_event_attr *attr));
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
 * struct perf_copy_record - a decoded record of a copy
 * @header:	the record itself
 * @event:	the event that wrote it; NULL if it is not known any more
 * @has_time:	@time is known
 * @has_tid:	@pid and @tid are known, and so is @event
 * @time:	time of the record, or 0
 * @pid:	pid of the process
 * @tid:	tid of the task
 * @cpu:	the CPU, or -1
 * @ip:		instruction pointer of a sample
 * @addr:	address of a sample
 * @period:	period of a sample
 * @nr_ips:	number of entries of the call chain
 * @ips:	the call chain
 * @raw_size:	number of bytes in @raw
 * @raw:	data of a tracepoint
 *
 * Fields from @ip on are 0 if the record does not have them.
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
u64 perf_copy_gap(const struct perf_copy *copy, const struct perf_copy_events *events,
		  unsigned long i);

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
int perf_comms_add_live(struct perf_comms *comms, u64 since);
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
