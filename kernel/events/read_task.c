// SPDX-License-Identifier: GPL-2.0
/*
 * Ring buffers of the events that a task has open, for readers in the kernel.
 *
 * A process that may attach to a task can get its file descriptors with pidfd_getfd(), and map
 * the ring buffers. So it may read them here as well. The reader gets a copy, made at open(),
 * of the whole buffer. It keeps neither the events nor the buffer alive, and consumes no
 * records.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/fdtable.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/perf_event.h>
#include <linux/perf_read.h>
#include <linux/pid_namespace.h>
#include <linux/ptrace.h>
#include <linux/rculist.h>
#include <linux/rwsem.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/security.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <linux/user_namespace.h>

#include "internal.h"
#include "read.h"
#include "read_data.h"

/**
 * struct number_list - numbers of buffers
 * @nr:		number of entries
 * @max:	number of entries that there is room for
 * @all:	the numbers of the buffers
 */
struct number_list {
	unsigned int	nr;
	unsigned int	max;
	u64		*all;
};

static int add_number(struct number_list *list, u64 number)
{
	unsigned int max = list->max ? 2 * list->max : 64;
	u64 *all;

	if (list->nr == list->max) {
		all = perf_copy_alloc(array_size(max, sizeof(*all)), 0);
		if (!all)
			return -ENOMEM;
		if (list->nr)
			memcpy(all, list->all, array_size(list->nr, sizeof(*all)));
		kvfree(list->all);
		list->all = all;
		list->max = max;
	}
	list->all[list->nr++] = number;
	return 0;
}

static int compare_numbers(const void *a, const void *b)
{
	u64 x = *(u64 *)a, y = *(u64 *)b;

	return x < y ? -1 : x > y;
}

/* Sort the numbers, and keep each of them once. */
static void sort_numbers(struct number_list *list)
{
	unsigned int i, nr = 0;

	sort(list->all, list->nr, sizeof(*list->all), compare_numbers, NULL);
	for (i = 0; i < list->nr; i++) {
		if (!i || list->all[i] != list->all[i - 1])
			list->all[nr++] = list->all[i];
	}
	list->nr = nr;
}

/*
 * Files of a task
 */

typedef int (*buffer_fn)(struct file *file, struct perf_buffer *rb, void *data);

/*
 * Visit the buffer of a file, unless a namespace holds it or the file is for reading only, as
 * those of readers of persistent events. Events of others may write to such a buffer, so an open
 * file is not enough for the right to read it. perffs shows these.
 */
static int visit_file(struct file *file, buffer_fn fn, void *data)
{
	struct perf_buffer *rb;
	int ret = 0;

	if (IS_ERR(perf_get_event(file)) || !(file->f_mode & FMODE_WRITE))
		return 0;
	rb = ring_buffer_get(file->private_data);
	if (!rb)
		return 0;
	if (rb->nr_pages && !READ_ONCE(rb->held))
		ret = fn(file, rb, data);
	ring_buffer_put(rb);
	return ret;
}

/* Visit all files, until @fn returns something other than 0. */
static int visit_files(struct task_struct *task, buffer_fn fn, void *data)
{
	struct file *file;
	unsigned int fd;
	int ret = 0;

	for (fd = 0; !ret; fd++) {
		file = fget_task_next(task, &fd);
		if (!file)
			break;
		ret = visit_file(file, fn, data);
		fput(file);
		cond_resched();
		if (fatal_signal_pending(current))
			ret = -EINTR;
	}
	return ret;
}

/* exec_update_lock keeps the task from exec(), so that its rights stay as they were checked. */
static int look_at_task(struct task_struct *task, unsigned int mode, buffer_fn fn, void *data)
{
	int ret = down_read_killable(&task->signal->exec_update_lock);

	if (ret)
		return ret;
	if (ptrace_may_access(task, PTRACE_MODE_ATTACH_FSCREDS | mode))
		ret = visit_files(task, fn, data);
	else
		ret = -EACCES;
	up_read(&task->signal->exec_update_lock);
	return ret;
}

static int add_buffer(struct file *file, struct perf_buffer *rb, void *data)
{
	return add_number(data, rb->number);
}

/**
 * perf_task_buffers - find the ring buffers that a task has open
 * @task:	the task, with a reference of the caller's
 * @numbers:	out: their numbers in order; the caller frees them with kvfree()
 *
 * Two buffers never have the same number. Called without a lock, with the reader's creds.
 *
 * Return: the number of buffers, or
 *  -EACCES	the caller may not attach to the task
 *  -ENOMEM	out of memory
 *  -EINTR	the caller is being killed
 */
int perf_task_buffers(struct task_struct *task, u64 **numbers)
{
	struct number_list list = { };
	int ret = look_at_task(task, PTRACE_MODE_NOAUDIT, add_buffer, &list);

	if (ret) {
		kvfree(list.all);
		return ret;
	}
	sort_numbers(&list);
	*numbers = list.all;
	return list.nr;
}

/**
 * struct buffer_search - a buffer, and the files whose events write to it
 * @number:	number of the buffer
 * @rb:		the buffer, with a reference, or NULL
 * @target:	the task that all of its events follow, with a reference, or NULL
 * @nr:		number of files
 * @max:	number of files that there is room for
 * @files:	files of the task, each with a reference, which keeps its event alive
 */
struct buffer_search {
	u64			number;
	struct perf_buffer	*rb;
	struct task_struct	*target;
	unsigned int		nr;
	unsigned int		max;
	struct file		**files;
};

static int add_file(struct buffer_search *search, struct file *file)
{
	unsigned int max = search->max ? 2 * search->max : 16;
	struct file **files;

	if (search->nr == search->max) {
		files = perf_copy_alloc(array_size(max, sizeof(*files)), 0);
		if (!files)
			return -ENOMEM;
		if (search->nr)
			memcpy(files, search->files, array_size(search->nr, sizeof(*files)));
		kvfree(search->files);
		search->files = files;
		search->max = max;
	}
	search->files[search->nr++] = get_file(file);
	return 0;
}

/* Require the same rights as to get the file with pidfd_getfd(), and to map it. */
static int check_buffer(struct file *file, struct perf_buffer *rb, void *data)
{
	struct buffer_search *search = data;
	struct perf_event *event = file->private_data;
	int ret;

	if (rb->number != search->number)
		return 0;
	ret = security_file_receive(file);
	if (!ret)
		ret = security_perf_event_read(event);
	if (ret)
		return ret;
	if (!search->rb) {
		refcount_inc(&rb->refcount);
		search->rb = rb;
		if (event->cpu < 0)
			search->target = get_task_struct(event->hw.target);
	}
	return add_file(search, file);
}

static void put_files(struct buffer_search *search)
{
	while (search->nr)
		fput(search->files[--search->nr]);
	kvfree(search->files);
	search->files = NULL;
	search->max = 0;
}

static void end_search(struct buffer_search *search)
{
	put_files(search);
	if (search->target)
		put_task_struct(search->target);
	if (search->rb)
		ring_buffer_put(search->rb);
}

static int find_buffer(struct buffer_search *search, struct task_struct *task)
{
	struct perf_event *event;
	int ret;

	ret = look_at_task(task, 0, check_buffer, search);
	if (ret)
		return ret;
	if (!search->rb)
		return -ENOENT;
	event = search->files[0]->private_data;
	/* The process maps it read-only, so there is no data_tail, and the start is unknown. */
	if (!is_write_backward(event) && search->rb->overwrite)
		return -EOPNOTSUPP;
	/* Children on unknown CPUs write to it, too: perf_read_head() would need these CPUs. */
	if (is_write_backward(event) && READ_ONCE(search->rb->shared))
		return -EOPNOTSUPP;
	return 0;
}

/*
 * Copies
 */

/**
 * struct task_source - a copy of a buffer of a task
 * @source:	the part that the reader uses
 * @events:	the events, until the reader takes them
 * @copy:	the copy, until the reader takes it
 * @pages:	pages that are reserved for @copy, until the reader takes it
 * @ucounts:	the user whose RLIMIT_MEMLOCK is charged, with a reference, or NULL
 * @charged:	number of pages charged
 */
struct task_source {
	struct perf_copy_source	source;
	struct perf_copy_events	*events;
	struct perf_copy	*copy;
	unsigned long		pages;
	struct ucounts		*ucounts;
	long			charged;
};

static struct task_source *to_task_source(struct perf_copy_source *source)
{
	return container_of(source, struct task_source, source);
}

static struct perf_copy_events *take_events(struct perf_copy_source *source)
{
	struct task_source *from = to_task_source(source);
	struct perf_copy_events *events = from->events;

	from->events = NULL;
	return events;
}

static struct perf_copy *take_copy(struct perf_copy_source *source,
				   const struct perf_copy_event *owner)
{
	struct task_source *from = to_task_source(source);
	struct perf_copy *copy = from->copy;

	/* The reader takes over the reserved pages as well, see perf_copy_source::copied. */
	from->pages = 0;
	from->copy = NULL;
	return copy;
}

static int check_source(struct perf_copy_source *source)
{
	return 0;
}

static void free_source(struct perf_copy_source *source)
{
	struct task_source *from = to_task_source(source);

	perf_copy_free(from->copy);
	perf_copy_unreserve(from->pages);
	perf_copy_put_events(from->events);
	put_pid_ns(from->source.viewer);
	if (from->ucounts) {
		dec_rlimit_ucounts(from->ucounts, UCOUNT_RLIMIT_MEMLOCK, from->charged);
		put_ucounts(from->ucounts);
	}
	kfree(from);
}

static void describe_event(struct perf_copy_event *copy, struct perf_event *event)
{
	const char *known = perf_known_name(&event->attr);

	copy->id = event->id;
	copy->cpu = event->cpu;
	copy->attr = event->attr;
	copy->pid_ns = get_pid_ns(event->ns);
	/* Nobody noted whether it was disabled, and the events of other threads have records. */
	copy->complete_since = U64_MAX;
	if (copy->format)
		scnprintf(copy->name, sizeof(copy->name), "%s:%s", copy->format->system,
			  copy->format->name);
	else if (known)
		strscpy(copy->name, known);
	else
		scnprintf(copy->name, sizeof(copy->name), "%u:0x%llx", event->attr.type,
			  event->attr.config);
}

/* A retired event of a CPU may have lost its tracepoint. Events of tasks are never retired. */
static int get_format(struct perf_event *event, struct perf_format **format)
{
	struct perf_event_context *ctx;
	int ret = 0;

	*format = NULL;
	if (event->hw.target)
		return perf_format_get(event, format);
	ctx = perf_event_ctx_lock(event);
	if (!(event->attach_state & PERF_ATTACH_RETIRED))
		ret = perf_format_get(event, format);
	perf_event_ctx_unlock(event, ctx);
	return ret;
}

static int describe_own(struct perf_copy_events *events, const struct buffer_search *search)
{
	unsigned int i;
	int ret;

	for (i = 0; i < search->nr; i++) {
		struct perf_event *event = search->files[i]->private_data;
		struct perf_copy_event *copy = &events->all[events->nr];

		ret = get_format(event, &copy->format);
		if (ret)
			return ret;
		describe_event(copy, event);
		events->nr++;
		cond_resched();
		if (fatal_signal_pending(current))
			return -EINTR;
	}
	return 0;
}

static int compare_events(const void *a, const void *b)
{
	const struct perf_copy_event *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

/* Sort the events, and keep each of them once: several files can have the same event. */
static void sort_events(struct perf_copy_events *events)
{
	unsigned int i, nr = 0;

	sort(events->all, events->nr, sizeof(*events->all), compare_events, NULL);
	for (i = 0; i < events->nr; i++) {
		struct perf_copy_event *event = &events->all[i];

		if (i && event->id == events->all[nr - 1].id) {
			perf_format_put(event->format);
			put_pid_ns(event->pid_ns);
		} else {
			events->all[nr++] = *event;
		}
	}
	events->nr = nr;
}

static bool may_attach_to_owner(struct perf_event *event)
{
	struct task_struct *owner = READ_ONCE(event->owner);

	/* The creator has exited: require the right to attach to any task, or to record all. */
	if (!owner)
		return ns_capable_noaudit(&init_user_ns, CAP_SYS_PTRACE) ||
		       ns_capable_noaudit(&init_user_ns, CAP_PERFMON);
	/* An event of the kernel itself has an error pointer as its owner. */
	return !IS_ERR(owner) && ptrace_may_access(owner, PTRACE_MODE_ATTACH_FSCREDS);
}

/* Is it another event than those of the task's files, which are in @events? */
static bool is_foreign(const struct perf_copy_events *events, struct perf_event *event)
{
	/* Without a context, perf_event_open() is still making the event, or has failed. */
	return smp_load_acquire(&event->ctx) && !perf_copy_find_event(events, event->id);
}

/*
 * Add events of others that write to the buffer now. They may go away any time, so their
 * formats are not available. Returns -EAGAIN if there are more than @events has room for.
 */
static int describe_others(struct perf_copy_events *events, struct perf_buffer *rb)
{
	unsigned int nr = events->nr;
	struct perf_event *event;
	int ret = 0;

	guard(rcu)();
	list_for_each_entry_rcu(event, &rb->event_list, rb_entry) {
		if (!is_foreign(events, event))
			continue;
		if (!may_attach_to_owner(event))
			ret = -EACCES;
		else if (nr == events->max)
			ret = -EAGAIN;
		if (ret)
			break;
		/* sort_events() may have left a stale pointer in this entry. */
		events->all[nr].format = NULL;
		describe_event(&events->all[nr++], event);
	}
	/* Set it last: perf_copy_find_event() works only on sorted events. */
	events->nr = nr;
	return ret;
}

/* Check again after the copy: other events, or a namespace, may have joined meanwhile. */
static int check_others(const struct perf_copy_events *events, struct perf_buffer *rb)
{
	struct perf_event *event;

	if (READ_ONCE(rb->held))
		return -EACCES;
	guard(rcu)();
	list_for_each_entry_rcu(event, &rb->event_list, rb_entry) {
		if (is_foreign(events, event) && !may_attach_to_owner(event))
			return -EACCES;
	}
	return 0;
}

/* Limit of events of a buffer: the walk over the list does not reschedule. */
#define PERF_TASK_WRITERS	65536

static int count_writers(struct perf_buffer *rb)
{
	struct perf_event *event;
	int nr = 0;

	guard(rcu)();
	list_for_each_entry_rcu(event, &rb->event_list, rb_entry) {
		if (++nr > PERF_TASK_WRITERS)
			return -E2BIG;
	}
	return nr;
}

static struct perf_copy_events *describe_events(const struct buffer_search *search)
{
	int ret = count_writers(search->rb);
	struct perf_copy_events *events;
	unsigned int max;

	if (ret < 0)
		return ERR_PTR(ret);
	max = search->nr + ret;
	events = perf_copy_alloc(struct_size(events, all, max), __GFP_ZERO);
	if (!events)
		return ERR_PTR(-ENOMEM);
	events->max = max;
	ret = describe_own(events, search);
	if (!ret) {
		sort_events(events);
		ret = describe_others(events, search->rb);
	}
	if (ret) {
		perf_copy_put_events(events);
		return ERR_PTR(ret);
	}
	sort_events(events);
	return events;
}

static int find_events(struct task_source *from, const struct buffer_search *search)
{
	struct perf_copy_events *events;
	struct perf_copy_event *event;

	do {
		cond_resched();
		events = describe_events(search);
	} while (events == ERR_PTR(-EAGAIN) && !fatal_signal_pending(current));
	if (IS_ERR(events))
		return PTR_ERR(events);

	/* Take the first event for the owner of the buffer; any other would do. */
	for (event = events->all; event < perf_copy_events_end(events); event++)
		event->owner = events->all[0].id;
	events->all[0].size = perf_data_size(search->rb);
	perf_copy_count_writers(events);
	from->events = events;
	return 0;
}

/* Charge a copy like a mapped buffer, to limit how much kernel memory a user can hold. */
static bool may_charge(struct ucounts *ucounts, long pages, bool last_try)
{
	/* In the unit of user_shm_lock() */
	long sum = inc_rlimit_ucounts(ucounts, UCOUNT_RLIMIT_MEMLOCK, pages);

	if (sum != LONG_MAX && sum <= rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT)
		return true;
	if (last_try && capable(CAP_IPC_LOCK))
		return true;
	dec_rlimit_ucounts(ucounts, UCOUNT_RLIMIT_MEMLOCK, pages);
	return false;
}

static int charge(struct task_source *from, unsigned long pages)
{
	struct ucounts *ucounts = get_ucounts(current_ucounts());

	if (!ucounts)
		return -ENOMEM;
	if (!may_charge(ucounts, pages, false)) {
		/* A worker may still be freeing copies of closed files. */
		perf_copy_flush();
		if (!may_charge(ucounts, pages, true)) {
			put_ucounts(ucounts);
			return -EPERM;
		}
	}
	from->ucounts = ucounts;
	from->charged = pages;
	return 0;
}

/* Uncharge pages that the copy did not need. */
static void refund(struct task_source *from, unsigned long pages)
{
	dec_rlimit_ucounts(from->ucounts, UCOUNT_RLIMIT_MEMLOCK, pages);
	from->charged -= pages;
}

static int copy_buffer(struct task_source *from, const struct buffer_search *search)
{
	const struct perf_copy_event *owner = &from->events->all[0];
	const struct perf_copy_from buffer = {
		.rb		= search->rb,
		.cpu		= owner->cpu,
		.target		= search->target,
		.forward	= !owner->attr.write_backward,
	};
	unsigned long pages = perf_copy_max_pages(owner);
	struct perf_copy *copy;
	int ret;

	ret = charge(from, pages + PFN_UP(struct_size(from->events, all, from->events->max)));
	if (!ret)
		ret = perf_copy_reserve(pages);
	if (ret)
		return ret;
	copy = perf_copy_make(&buffer, owner);
	if (IS_ERR(copy)) {
		perf_copy_unreserve(pages);
		return PTR_ERR(copy);
	}
	perf_copy_unreserve(pages - copy->pages);
	refund(from, pages - copy->pages);
	from->pages = copy->pages;
	from->copy = copy;
	/* Children may have started to write to the buffer meanwhile. */
	if (!buffer.forward && READ_ONCE(search->rb->shared))
		return -EOPNOTSUPP;
	return check_others(from->events, search->rb);
}

/*
 * A living task may give its name only to records since its start. If somebody can set the
 * clock of the records, their times cannot be compared with the start of the task.
 */
static void allow_names(struct task_source *from, struct perf_event *event)
{
	const struct perf_event_attr *attr = &event->attr;
	u64 begin;

	if (attr->use_clockid &&
	    (attr->clockid == CLOCK_REALTIME || attr->clockid == CLOCK_TAI))
		return;
	from->source.names = true;
	/*
	 * Read CLOCK_MONOTONIC first. A delay between the two reads makes tasks look
	 * younger, so that they name fewer records.
	 */
	begin = ktime_get_ns();
	from->source.clock_offset = event->clock() - begin;
}

/* @viewer: see perf_copy_source::viewer */
static struct perf_copy_source *make_source(struct task_struct *task, u64 number,
					    struct pid_namespace *viewer)
{
	struct buffer_search search = { .number = number };
	struct task_source *from;
	int ret;

	from = kzalloc(sizeof(*from), PERF_COPY_GFP);
	if (!from)
		return ERR_PTR(-ENOMEM);
	from->source = (struct perf_copy_source){
		.get_events	= take_events,
		.copy		= take_copy,
		.check		= check_source,
		.free		= free_source,
		.before		= ktime_get_boottime_ns(),
		.copied		= true,
		.viewer		= get_pid_ns(viewer),
	};
	ret = find_buffer(&search, task);
	if (!ret)
		ret = find_events(from, &search);
	/* All events of a buffer have the same clock. */
	if (!ret)
		allow_names(from, search.files[0]->private_data);
	/* Put the files before the copy, so that the task can close its events meanwhile. */
	put_files(&search);
	if (!ret)
		ret = copy_buffer(from, &search);
	end_search(&search);
	if (!ret)
		return &from->source;
	free_source(&from->source);
	return ERR_PTR(ret);
}

/**
 * perf_task_text - copy a ring buffer that a task has open, to print it
 * @task:	the task, with a reference of the caller's
 * @number:	number of the buffer, see perf_task_buffers()
 * @viewer:	the reader's pid namespace. Records without a COMM record for their task get the
 *		current name of a living task that is visible there and older than they are
 *
 * Called without a lock, with the reader's creds. The reader is charged for the copy.
 *
 * Return: the text, before its first record; or
 *  -ENOENT	the task has no such buffer open
 *  -EACCES	the caller may not attach to the task, or to another one whose event writes to
 *		the buffer now; if that one has exited, the caller has neither CAP_SYS_PTRACE
 *		nor CAP_PERFMON
 *  -EOPNOTSUPP	it is unknown where the records begin, or how far they are overwritten
 *  -EAGAIN	perf_event_mmap_page::data_tail is not a valid start of a record
 *  -E2BIG	too many events write to the buffer, or its records take more than 32 GiB
 *  -EPERM	the copy would be above the caller's RLIMIT_MEMLOCK
 *  -ENOMEM	out of memory
 *  -EINTR	the caller is being killed
 *  or what the LSM says
 */
struct perf_text *perf_task_text(struct task_struct *task, u64 number,
				 struct pid_namespace *viewer)
{
	struct perf_copy_source *source = make_source(task, number, viewer);

	return IS_ERR(source) ? ERR_CAST(source) : perf_text_make(source, -1);
}

/**
 * perf_task_stream - copy a ring buffer that a task has open, for perf
 * @task:	the task, with a reference of the caller's
 * @number:	number of the buffer, see perf_task_buffers()
 * @viewer:	the reader's pid namespace. The stream has names and maps of living tasks only
 *		if they are visible there
 *
 * Called without a lock, with the reader's creds. The reader is charged for the copy.
 *
 * Return: the stream, or see perf_task_text().
 */
struct perf_stream *perf_task_stream(struct task_struct *task, u64 number,
				     struct pid_namespace *viewer)
{
	struct perf_copy_source *source = make_source(task, number, viewer);

	return IS_ERR(source) ? ERR_CAST(source) : perf_stream_make(source, -1);
}
