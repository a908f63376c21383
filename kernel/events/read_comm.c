// SPDX-License-Identifier: GPL-2.0
/*
 * What tasks were called at the time of a record.
 *
 * That is known from what tells of tasks: a task had the name of the one that forked it
 * until it got another one.
 *
 * A task of which these records say nothing has kept its name for as long as they cover. So
 * the names of all tasks that are alive are noted before anything is copied, and hold for
 * records from a time on since when nothing that tells of tasks is missing. Nothing else
 * that happens later can give a record another name: a reader gets the same lines, however
 * often it goes back.
 *
 * A single buffer of a process need not tell of all names. There, a task of which its records
 * say nothing is called as it is now, for as long as it has been there.
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

/* From child to parent, until there is a name: each of them forked and did nothing else. */
#define PERF_COMM_FORKS	100

/**
 * struct perf_comm - a task has a name from here on
 * @time:	when
 * @tid:	the task
 * @parent:	who forked it, if that is what happened
 * @forked:	that is what happened
 * @comm:	or else its name
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
 * @nr:		how many there are
 * @max:	how many there is room for
 * @all:	the names; once they are sorted, by task and time
 */
struct comm_list {
	size_t			nr;
	size_t			max;
	struct perf_comm	*all;
};

/**
 * struct perf_comms - what tasks were called
 * @pid_ns:	that the tasks are named by; a reference of the caller's
 * @told:	by records
 * @live:	by the tasks themselves, each once
 * @since:	when nothing that tells of tasks is missing; U64_MAX if that is not known
 */
struct perf_comms {
	struct pid_namespace	*pid_ns;
	struct comm_list	told;
	struct comm_list	live;
	u64			since;
};

/**
 * perf_comms_alloc - allocate a list without names
 * @pid_ns:	that its tasks are named by, which the caller keeps. Tasks of records whose
 *		events have another one get no name
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
	new.all = kvmalloc_array(new.max, sizeof(*new.all), PERF_COPY_GFP);
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
 * @nr:		in: the number to begin at; out: that of the task
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
 * perf_comms_add_live - note the names of all tasks that there are
 * @comms:	the list
 *
 * Called before anything is copied, if all is copied that tells of tasks: names that change
 * after this are then found there.
 *
 * Return: 0, -ENOMEM, or -EINTR.
 */
int perf_comms_add_live(struct perf_comms *comms)
{
	struct task_struct *task;
	struct perf_comm *comm;
	int nr;

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
 * perf_may_know_name - may the caller know what a task is called?
 * @task:	the task
 *
 * Return: true if so. Whoever may record all tasks gets their names anyway.
 */
bool perf_may_know_name(struct task_struct *task)
{
	return !perf_allow_cpu() ||
	       ptrace_may_access(task, PTRACE_MODE_READ_FSCREDS | PTRACE_MODE_NOAUDIT);
}

/* The task that is called @tid now, with a reference, if the reader may see it; or NULL */
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

/* From when it began on: before that, the same number was another one's. */
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

/* The task that a record names, or 0 */
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
		/* There is no task beyond. Others would take much memory. */
		if (tid && tid < PID_MAX_LIMIT && !xa_load(tids, tid))
			ret = xa_err(xa_store(tids, tid, xa_mk_value(1), PERF_COPY_GFP));
	}
	return ret;
}

/**
 * perf_comms_add_visible - note the names of tasks that a copy names and that are alive
 * @comms:	the list
 * @events:	the events of the copy
 * @copy:	the copy
 * @source:	where it is from; says which tasks the reader may see
 *
 * Called instead of perf_comms_add_live(), after all that records tell was added: these
 * names are only for tasks of which no record tells.
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
	/* In the order of their numbers, as last_comm() needs them */
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

/* Before @record, something is missing. */
static void begin_anew(struct perf_comms *comms, const struct perf_copy_record *record)
{
	comms->since = max(comms->since, record->has_time ? record->time : U64_MAX);
}

/**
 * perf_comms_add - add what a copy tells of tasks
 * @comms:	the list
 * @events:	the events of the namespace
 * @copy:	the copy; NULL if there is none any more
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
		bool cut = type == PERF_RECORD_LOST || (!i && !copy->whole);

		cond_resched();
		if (fatal_signal_pending(current))
			return -EINTR;
		if (!cut && type != PERF_RECORD_COMM && type != PERF_RECORD_FORK)
			continue;
		perf_copy_read(copy, events, i, &record);
		if (cut)
			begin_anew(comms, &record);
		if (record.event && record.event->pid_ns == comms->pid_ns)
			ret = add_record(comms, record.header, record.time);
	}
	return ret;
}

/**
 * perf_comms_add_tasks - add what is known of tasks that are older
 * @comms:	the list
 * @tasks:	records of them, or NULL
 * @len:	bytes of these
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

	/* sort() itself leaves the CPU to nobody. If the caller is killed, any order will do. */
	cond_resched();
	if (fatal_signal_pending(current))
		return 0;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	/* A task that is forked and gets a name in the same moment has that one. */
	return y->forked - x->forked;
}

/**
 * perf_comms_sort - after the last one was added
 * @comms:	the list
 *
 * Return: 0, or -EINTR if the caller is being killed.
 */
int perf_comms_sort(struct perf_comms *comms)
{
	struct comm_list *told = &comms->told;

	/* The others were found in this order. */
	sort(told->all, told->nr, sizeof(*told->all), compare_comms, NULL);
	return fatal_signal_pending(current) ? -EINTR : 0;
}

/* The last entry of @tid up to @time; NULL if there is none. @any: there are others. */
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

/**
 * perf_comms_find - what was the task of a record called
 * @comms:	the list, sorted
 * @record:	the record
 * @comm:	out: the name, TASK_COMM_LEN bytes; anything may be in it
 *
 * Return: false if that is not known.
 */
bool perf_comms_find(const struct perf_comms *comms, const struct perf_copy_record *record,
		     char *comm)
{
	const struct perf_comm *last;
	u64 time = record->time;
	u32 tid = record->tid;
	bool any;
	int i;

	if (!record->has_tid || record->event->pid_ns != comms->pid_ns)
		return false;

	for (i = 0; i < PERF_COMM_FORKS; i++) {
		/* In others, it is a task that is not in there. */
		if (!tid && comms->pid_ns != &init_pid_ns)
			return false;
		if (!tid) {
			strscpy(comm, "swapper", TASK_COMM_LEN);
			return true;
		}
		last = last_comm(&comms->told, tid, time, &any);
		if (!last)
			break;
		if (!last->forked) {
			memcpy(comm, last->comm, TASK_COMM_LEN);
			return true;
		}
		tid = last->parent;
		time = last->time;
	}
	if (i == PERF_COMM_FORKS || any || time < comms->since)
		return false;

	last = last_comm(&comms->live, tid, time, &any);
	if (last)
		memcpy(comm, last->comm, TASK_COMM_LEN);
	return last;
}
