// SPDX-License-Identifier: GPL-2.0
/*
 * Find the name (comm) that a task had at the time of a record.
 *
 * COMM and FORK records tell the names: a child has the name of its parent until a COMM record
 * names it.
 *
 * A task without such records has kept its name for as long as they are complete. So readers
 * note the names of all living tasks before they copy a buffer. These names apply to records
 * that are not older than the last gap in the COMM and FORK records, of tasks without such
 * records since then. Nothing that happens later changes the name of a record: a reader that
 * seeks back gets the same lines again.
 *
 * A single buffer of a process may lack COMM records of some tasks. Tasks without such records
 * get their current name there, for records since the start of the task.
 */
#include <linux/mm.h>
#include <linux/perf_event.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/ptrace.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>
#include <linux/threads.h>
#include <linux/xarray.h>

#include "read.h"

/* Maximum number of steps from a child to its parent in search of a name */
#define PERF_COMM_FORKS	100

/**
 * struct perf_comm - the name of a task from a given time on
 * @time:	time since when the task has the name
 * @tid:	the task
 * @parent:	the task that forked it, if @forked
 * @forked:	it was forked, and has the name of its parent
 * @comm:	its name, unless @forked
 */
struct perf_comm {
	u64	time;
	u32	tid;
	u32	parent;
	bool	forked;
	char	comm[TASK_COMM_LEN];
};

/**
 * struct comm_list - names of tasks
 * @nr:		number of names
 * @max:	number of names that there is room for
 * @all:	the names, sorted by task and time after perf_comms_sort()
 */
struct comm_list {
	size_t			nr;
	size_t			max;
	struct perf_comm	*all;
};

/**
 * struct perf_comms - names of tasks
 * @pid_ns:	the pid namespace of the tids, with a reference of the caller's
 * @told:	names from records
 * @live:	names of living tasks, one for each task
 * @since:	time since when no COMM and FORK records are missing; U64_MAX if unknown
 */
struct perf_comms {
	struct pid_namespace	*pid_ns;
	struct comm_list	told;
	struct comm_list	live;
	u64			since;
};

/**
 * perf_comms_alloc - allocate a list without names
 * @pid_ns:	the pid namespace of its tids, which the caller keeps alive. Records of events
 *		in another pid namespace get no names
 *
 * Return: the list, or NULL.
 */
struct perf_comms *perf_comms_alloc(struct pid_namespace *pid_ns)
{
	struct perf_comms *comms;

	comms = kzalloc(sizeof(*comms), PERF_COPY_GFP);
	if (comms)
		comms->pid_ns = pid_ns;
	return comms;
}

static unsigned long list_pages(size_t max)
{
	return PFN_UP(array_size(max, sizeof(struct perf_comm)));
}

static void free_list(struct comm_list *list)
{
	kvfree(list->all);
	perf_copy_allocated(-(long)list_pages(list->max));
	perf_copy_unreserve(list_pages(list->max));
}

/**
 * perf_comms_free - free a list
 * @comms:	the list, or NULL
 */
void perf_comms_free(struct perf_comms *comms)
{
	if (!comms)
		return;
	free_list(&comms->told);
	free_list(&comms->live);
	kfree(comms);
}

static int grow_list(struct comm_list *list)
{
	struct comm_list new = { .nr = list->nr, .max = list->max ? 2 * list->max : 64 };

	if (perf_copy_reserve(list_pages(new.max)))
		return -ENOMEM;
	new.all = perf_copy_alloc(array_size(new.max, sizeof(*new.all)), 0);
	if (!new.all) {
		perf_copy_unreserve(list_pages(new.max));
		return -ENOMEM;
	}
	perf_copy_allocated(list_pages(new.max));
	if (list->nr)
		memcpy(new.all, list->all, array_size(list->nr, sizeof(*list->all)));
	free_list(list);
	*list = new;
	return 0;
}

static struct perf_comm *new_comm(struct comm_list *list)
{
	if (list->nr == list->max && grow_list(list))
		return NULL;
	return &list->all[list->nr++];
}

/**
 * perf_next_task - find the next task of a pid namespace
 * @nr:		in: the first pid to try; out: the pid of the task
 * @pid_ns:	the pid namespace
 *
 * Return: the task, with a reference; NULL after the last one.
 */
struct task_struct *perf_next_task(int *nr, struct pid_namespace *pid_ns)
{
	struct task_struct *task;
	struct pid *pid;

	guard(rcu)();
	for (; (pid = find_ge_pid(*nr, pid_ns)); ++*nr) {
		*nr = pid_nr_ns(pid, pid_ns);
		task = pid_task(pid, PIDTYPE_PID);
		if (task)
			return get_task_struct(task);
	}
	return NULL;
}

/**
 * perf_comms_add_live - note the names of all living tasks
 * @comms:	the list
 * @since:	since when no COMM and FORK records are missing, as far as events tell
 *
 * Called before any buffer is copied, so names that change after this call are found in the
 * copies. These may move @since.
 *
 * Return: 0, -ENOMEM, or -EINTR.
 */
int perf_comms_add_live(struct perf_comms *comms, u64 since)
{
	struct task_struct *task;
	struct perf_comm *comm;
	int nr;

	comms->since = since;
	for (nr = 1; (task = perf_next_task(&nr, comms->pid_ns)); nr++) {
		comm = new_comm(&comms->live);
		if (comm) {
			*comm = (struct perf_comm){ .tid = nr };
			get_task_comm(comm->comm, task);
		}
		put_task_struct(task);
		if (!comm)
			return -ENOMEM;
		cond_resched();
		if (fatal_signal_pending(current))
			return -EINTR;
	}
	return 0;
}

/**
 * perf_may_know_name - may the caller know the name of a task
 * @task:	the task
 *
 * Return: true if so. A caller that may record all tasks could get the names anyway.
 */
bool perf_may_know_name(struct task_struct *task)
{
	return !perf_allow_cpu() ||
	       ptrace_may_access(task, PTRACE_MODE_READ_FSCREDS | PTRACE_MODE_NOAUDIT);
}

/* Find the living task @tid, if the reader may see it. Returns it with a reference, or NULL. */
static struct task_struct *find_visible(const struct perf_copy_source *source,
					struct pid_namespace *pid_ns, u32 tid)
{
	struct task_struct *task;

	scoped_guard(rcu) {
		task = find_task_by_pid_ns(tid, pid_ns);
		if (task && task_pid_nr_ns(task, source->viewer))
			get_task_struct(task);
		else
			task = NULL;
	}
	if (task && !perf_may_know_name(task)) {
		put_task_struct(task);
		task = NULL;
	}
	return task;
}

/* The name is valid since the start of the task: another task may have had its tid before. */
static int add_visible(struct perf_comms *comms, const struct perf_copy_source *source, u32 tid)
{
	struct task_struct *task = find_visible(source, comms->pid_ns, tid);
	struct perf_comm *comm;

	if (!task)
		return 0;
	comm = new_comm(&comms->live);
	if (comm) {
		*comm = (struct perf_comm){
			.tid	= tid,
			.time	= max_t(s64, task->start_time + source->clock_offset, 0),
		};
		get_task_comm(comm->comm, task);
	}
	put_task_struct(task);
	return comm ? 0 : -ENOMEM;
}

/* The task for whose name readers of the record look, or 0 */
static u32 named_task(const struct perf_copy_record *record)
{
	const struct perf_fork_body *forked = (void *)(record->header + 1);

	if (record->header->type == PERF_RECORD_SAMPLE)
		return record->has_tid ? record->tid : 0;
	if (record->header->type == PERF_RECORD_FORK &&
	    record->header->size >= sizeof(*record->header) + sizeof(*forked))
		return forked->ptid;
	return 0;
}

static int note_tasks(struct xarray *tids, const struct perf_comms *comms,
		      const struct perf_copy_events *events, const struct perf_copy *copy)
{
	struct perf_copy_record record;
	unsigned long i;
	int ret = 0;
	u32 tid;

	for (i = 0; i < copy->nr && !ret; i++) {
		cond_resched();
		if (fatal_signal_pending(current))
			return -EINTR;
		perf_copy_read(copy, events, i, &record);
		if (!record.event || record.event->pid_ns != comms->pid_ns)
			continue;
		tid = named_task(&record);
		/* Larger tids are invalid, and the xarray would need much memory for them. */
		if (tid && tid < PID_MAX_LIMIT && !xa_load(tids, tid))
			ret = xa_err(xa_store(tids, tid, xa_mk_value(1), PERF_COPY_GFP));
	}
	return ret;
}

/**
 * perf_comms_add_visible - note the names of living tasks that occur in a copy
 * @comms:	the list
 * @events:	the events of the copy
 * @copy:	the copy
 * @source:	the source of the copy; its viewer decides which tasks are visible
 *
 * Called instead of perf_comms_add_live(), after the names from records were added. The names
 * are used only for tasks that have no names from records.
 *
 * Return: 0, -ENOMEM, or -EINTR.
 */
int perf_comms_add_visible(struct perf_comms *comms, const struct perf_copy_events *events,
			   const struct perf_copy *copy, const struct perf_copy_source *source)
{
	unsigned long tid;
	struct xarray tids;
	void *entry;
	int ret;

	xa_init_flags(&tids, XA_FLAGS_ACCOUNT);
	ret = note_tasks(&tids, comms, events, copy);
	/* In the order of the tids: last_comm() relies on it. */
	xa_for_each(&tids, tid, entry) {
		cond_resched();
		if (!ret && fatal_signal_pending(current))
			ret = -EINTR;
		if (ret)
			break;
		ret = add_visible(comms, source, tid);
	}
	xa_destroy(&tids);
	comms->since = 0;
	return ret;
}

static int add_record(struct perf_comms *comms, const struct perf_event_header *header, u64 time)
{
	size_t len = header->size - sizeof(*header);
	const void *body = header + 1;
	struct perf_comm *comm;

	if (header->type == PERF_RECORD_COMM && len > sizeof(struct perf_comm_body)) {
		const struct perf_comm_body *named = body;

		comm = new_comm(&comms->told);
		if (!comm)
			return -ENOMEM;
		*comm = (struct perf_comm){ .time = time, .tid = named->tid };
		memcpy(comm->comm, named->comm,
		       min(len - sizeof(*named), sizeof(comm->comm) - 1));
	} else if (header->type == PERF_RECORD_FORK && len >= sizeof(struct perf_fork_body)) {
		const struct perf_fork_body *forked = body;

		comm = new_comm(&comms->told);
		if (!comm)
			return -ENOMEM;
		*comm = (struct perf_comm){
			.time	= time,
			.tid	= forked->tid,
			.parent	= forked->ptid,
			.forked	= true,
		};
	}
	return 0;
}

/**
 * perf_comms_add - add names from the records of a copy
 * @comms:	the list
 * @events:	the events of the source
 * @copy:	the copy; NULL if the buffer is gone
 *
 * Return: 0, -ENOMEM, or -EINTR.
 */
int perf_comms_add(struct perf_comms *comms, const struct perf_copy_events *events,
		   const struct perf_copy *copy)
{
	struct perf_copy_record record;
	unsigned long i;
	int ret = 0;

	if (!copy || (!copy->whole && !copy->nr)) {
		comms->since = U64_MAX;
		return 0;
	}
	for (i = 0; i < copy->nr && !ret; i++) {
		u32 type = perf_copy_header(copy, i)->type;

		cond_resched();
		if (fatal_signal_pending(current))
			return -EINTR;
		comms->since = max(comms->since, perf_copy_gap(copy, events, i));
		if (type != PERF_RECORD_COMM && type != PERF_RECORD_FORK)
			continue;
		perf_copy_read(copy, events, i, &record);
		if (record.event && record.event->pid_ns == comms->pid_ns)
			ret = add_record(comms, record.header, record.time);
	}
	return ret;
}

/**
 * perf_comms_add_tasks - add names of tasks from before the recording
 * @comms:	the list
 * @tasks:	COMM and FORK records of these tasks, or NULL
 * @len:	number of bytes in @tasks
 *
 * Return: 0, -ENOMEM, or -EINTR.
 */
int perf_comms_add_tasks(struct perf_comms *comms, const void *tasks, size_t len)
{
	const struct perf_event_header *header;
	size_t pos = 0;
	int ret = 0;

	while (!ret && (header = perf_next_record(tasks, len, pos))) {
		pos += header->size;
		cond_resched();
		ret = fatal_signal_pending(current) ? -EINTR : add_record(comms, header, 0);
	}
	return ret;
}

static int compare_comms(const void *a, const void *b)
{
	const struct perf_comm *x = a, *y = b;

	/* sort() does not reschedule. If the caller is being killed, any order will do. */
	cond_resched();
	if (fatal_signal_pending(current))
		return 0;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	/* At the same time a name wins over a fork, so it comes last. */
	return y->forked - x->forked;
}

/**
 * perf_comms_sort - sort the names after the last one was added
 * @comms:	the list
 *
 * Return: 0, or -EINTR if the caller is being killed.
 */
int perf_comms_sort(struct perf_comms *comms)
{
	struct comm_list *told = &comms->told;

	/* The names of living tasks are sorted already. */
	sort(told->all, told->nr, sizeof(*told->all), compare_comms, NULL);
	return fatal_signal_pending(current) ? -EINTR : 0;
}

/* Find the last entry of @tid up to @time, or NULL. @any: there are later entries of @tid. */
static const struct perf_comm *last_comm(const struct comm_list *list, u32 tid, u64 time,
					 bool *any)
{
	size_t low = 0, high = list->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct perf_comm *comm = &list->all[middle];

		if (comm->tid < tid || (comm->tid == tid && comm->time <= time))
			low = middle + 1;
		else
			high = middle;
	}
	*any = low < list->nr && list->all[low].tid == tid;
	return low && list->all[low - 1].tid == tid ? &list->all[low - 1] : NULL;
}

/*
 * Find the name that the living task @tid had at @time already; @later: it got a name later.
 * Returns NULL if that is not known.
 */
static const struct perf_comm *living_comm(const struct perf_comms *comms, u32 tid, u64 time,
					   bool later)
{
	if (later || time < comms->since)
		return NULL;
	return last_comm(&comms->live, tid, time, &later);
}

/**
 * perf_comms_find - find the name that the task of a record had
 * @comms:	the list, sorted
 * @record:	the record
 * @comm:	out: the name, TASK_COMM_LEN bytes of untrusted data
 *
 * Return: false if the name is not known.
 */
bool perf_comms_find(const struct perf_comms *comms, const struct perf_copy_record *record,
		     char *comm)
{
	const struct perf_comm *last, *living;
	u64 time = record->time;
	u32 tid = record->tid;
	bool later;
	int i;

	if (!record->has_tid || record->event->pid_ns != comms->pid_ns)
		return false;

	for (i = 0; i < PERF_COMM_FORKS; i++) {
		/* In a child pid namespace, 0 is a task that is not visible there. */
		if (!tid && comms->pid_ns != &init_pid_ns)
			return false;
		if (!tid) {
			strscpy(comm, "swapper", TASK_COMM_LEN);
			return true;
		}
		last = last_comm(&comms->told, tid, time, &later);
		/* The record of a newer name may be missing. */
		if (!last || last->time < comms->since) {
			living = living_comm(comms, tid, time, later);
			last = living ?: last;
		}
		if (!last)
			return false;
		if (!last->forked) {
			memcpy(comm, last->comm, TASK_COMM_LEN);
			return true;
		}
		tid = last->parent;
		time = last->time;
	}
	return false;
}
