// SPDX-License-Identifier: GPL-2.0
/*
 * Namespaces that the kernel makes itself, from descriptions of events: for perffs, for the
 * kernel command line, and for kernel code that calls perf_persistent_create(). Each CPU
 * gets all of the events, a buffer for samples, and if wanted a buffer for task records.
 *
 * "perf record -P" makes namespaces with the same structure, so all programs that read or
 * change those can handle these, too.
 */
#include <linux/cpumask.h>
#include <linux/cred.h>
#include <linux/export.h>
#include <linux/list.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/perf_persistent.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/security.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/trace.h>
#include <linux/trace_events.h>

#include "internal.h"
#include "persistent.h"
#include "persistent_internal.h"
#include "read.h"

/* As perf: a quarter of the buffer for samples, but enough for some hundred execs */
#define PERF_TASKS_PART		4
#define PERF_TASKS_LEAST	SZ_256K

/* The event for task records: comm, fork, exit, mmap; in a buffer of its own */
static const struct perf_event_attr tasks_attr = {
	.type			= PERF_TYPE_SOFTWARE,
	.config			= PERF_COUNT_SW_DUMMY,
	.size			= sizeof(tasks_attr),
	.sample_period		= 1,
	.sample_type		= PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
				  PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
	.read_format		= PERF_FORMAT_LOST | PERF_FORMAT_TOTAL_TIME_ENABLED |
				  PERF_FORMAT_TOTAL_TIME_RUNNING,
	.disabled		= 1,
	.exclude_kernel		= 1,
	.exclude_hv		= 1,
	.exclude_guest		= 1,
	.mmap			= 1,
	.mmap2			= 1,
	.comm			= 1,
	.comm_exec		= 1,
	.task			= 1,
	.sample_id_all		= 1,
	.ksymbol		= 1,
	.bpf_event		= 1,
	.write_backward		= 1,
};

/* Find a published namespace. Returns it with a reference for the caller, or NULL. */
static struct perf_persist_ns *find_ns(u64 id)
{
	struct perf_persist_ns *ns;

	guard(mutex)(&perf_persist_lock);
	/* The kernel's own callers must find it, even in a task that is killed. */
	while ((ns = perf_persist_find(id)) && ns->swapping)
		perf_persist_settle(ns);
	return ns && ns->published ? get_persist_ns(ns) : NULL;
}

/**
 * struct new_event - an event that will be a member
 * @event:	the event; we are one of its openers
 * @rb:		its own buffer, or NULL if it writes to the buffer of another event
 */
struct new_event {
	struct perf_event	*event;
	struct perf_buffer	*rb;
};

/**
 * struct new_events - all events of a namespace that is being made
 * @ns:		the namespace
 * @nr:		number of events made so far
 * @max:	size of @all
 * @nr_pages:	data pages of each buffer for samples
 * @tasks:	make events and buffers for task records, too
 * @error:	out: what is wrong; or NULL
 * @all:	the events
 */
struct new_events {
	struct perf_persist_ns	*ns;
	unsigned int		nr;
	unsigned int		max;
	unsigned long		nr_pages;
	bool			tasks;
	struct perf_spec_error	*error;
	struct new_event	all[] __counted_by(max);
};

static void undo_to(struct new_events *new, unsigned int nr)
{
	while (new->nr > nr) {
		new->nr--;
		perf_member_unmake(new->all[new->nr].event, new->all[new->nr].rb);
	}
}

/* Pages of the buffer for task records, if that for samples has @nr_pages */
static unsigned long nr_tasks_pages(unsigned long nr_pages)
{
	return max_t(unsigned long, nr_pages / PERF_TASKS_PART, PERF_TASKS_LEAST >> PAGE_SHIFT);
}

/*
 * Type numbers of tracepoints and PMUs are reused: another tracepoint or PMU may have got
 * the number since @spec was parsed.
 */
static bool is_meant(struct perf_event *event, const struct perf_event_spec *spec)
{
	struct pmu *pmu;
#ifdef CONFIG_EVENT_TRACING
	const char *system, *colon = strchr(spec->name, ':');

	if (spec->attr.type == PERF_TYPE_TRACEPOINT) {
		system = event->tp_event->class->system;
		return colon && strlen(system) == colon - spec->name &&
		       strstarts(spec->name, system) &&
		       !strcmp(trace_event_name(event->tp_event), colon + 1);
	}
#endif
	if (spec->attr.type < PERF_TYPE_MAX)
		return true;

	guard(mutex)(&event->mmap_mutex);
	pmu = perf_event_pmu(event);
	return pmu && !strcmp(pmu->name, spec->name);
}

/*
 * Make the event of @spec, or the event for task records if that is NULL, and ask the LSM
 * whether the caller may have it. If @output is not NULL, the event will write to its
 * buffer, and gets its clock, because all records in a buffer need the same clock.
 */
static struct perf_event *make_one(const struct perf_event_spec *spec, int cpu,
				   struct perf_event *output)
{
	struct perf_event_attr attr = spec ? spec->attr : tasks_attr;
	struct perf_event *event;
	int ret;

	if (attr.sample_type & PERF_SAMPLE_CALLCHAIN)
		attr.sample_max_stack = READ_ONCE(sysctl_perf_event_max_stack);
	/* perf_persist_check_rates() has refused other frequencies that are too high. */
	if (attr.freq)
		attr.sample_freq = min_t(u64, attr.sample_freq,
					 READ_ONCE(sysctl_perf_event_sample_rate));
	if (output) {
		attr.use_clockid = output->attr.use_clockid;
		attr.clockid = output->attr.clockid;
	}
	event = perf_member_make(output, &attr, spec ? spec->filter : NULL, cpu);
	if (event == ERR_PTR(-EINVAL) && attr.exclude_guest) {
		/* This PMU cannot exclude anything. */
		attr.exclude_guest = 0;
		event = perf_member_make(output, &attr, NULL, cpu);
	}
	if (IS_ERR(event))
		return event;

	ret = spec && !is_meant(event, spec) ? -ENOENT : security_perf_event_write(event);
	if (!ret) {
		event->member->label = kstrdup(spec ? spec->label : "dummy:u", GFP_KERNEL);
		if (!event->member->label)
			ret = -ENOMEM;
	}
	if (ret) {
		perf_member_unmake(event, NULL);
		return ERR_PTR(ret);
	}
	return event;
}

/*
 * Make one more event on @cpu, with a new buffer of @nr_pages, or with the buffer of
 * @output if that is not NULL. After an error, the caller must call undo_to().
 */
static int make_event(struct new_events *new, const struct perf_event_spec *spec, int cpu,
		      struct perf_event *output, unsigned long nr_pages)
{
	struct new_event *made = &new->all[new->nr];
	struct perf_event *event;
	int ret;

	event = make_one(spec, cpu, output);
	if (IS_ERR(event))
		return PTR_ERR(event);
	made->event = event;
	made->rb = NULL;
	new->nr++;

	if (output) {
		ret = perf_event_set_output(event, output);
	} else {
		ret = perf_member_make_buffer(event, new->ns, nr_pages);
		if (!ret)
			made->rb = event->rb;
	}
	return ret ? ret : perf_persist_add_new(new->ns, event);
}

static int fail_event(struct perf_spec_error *error, int ret, struct perf_event_spec *spec, int cpu)
{
	if (error)
		error->spec = spec;
	return perf_spec_fail(error, ret, spec->name, "fails on CPU %d: %pe%s", cpu, ERR_PTR(ret),
			      ret == -EINVAL && spec->filter ? "; check the filter" : "");
}

static int make_events_on(struct new_events *new, struct list_head *specs, int cpu)
{
	struct perf_event *output = NULL;
	struct perf_event_spec *spec;
	unsigned int nr = new->nr;
	int ret = 0;

	list_for_each_entry(spec, specs, entry) {
		cond_resched();
		ret = fatal_signal_pending(current) ? -EINTR :
		      make_event(new, spec, cpu, output, new->nr_pages);
		if (ret)
			break;
		if (!output)
			output = new->all[new->nr - 1].event;
	}
	if (!ret && new->tasks)
		ret = make_event(new, NULL, cpu, NULL, nr_tasks_pages(new->nr_pages));
	if (!ret)
		return 0;

	undo_to(new, nr);
	/* The CPU went offline. It gets the events when it is back. */
	if (ret == -ENODEV && !perf_cpu_is_online(cpu))
		return 0;
	if (list_entry_is_head(spec, specs, entry))
		return perf_spec_fail(new->error, ret, "dummy", "fails on CPU %d: %pe", cpu,
				      ERR_PTR(ret));
	return fail_event(new->error, ret, spec, cpu);
}

/**
 * perf_persist_check_rates - refuse frequencies that perf_event_open() would refuse
 * @specs:	which events; the default frequency is lowered when they are made
 * @error:	out: what is wrong, or NULL
 *
 * Return: 0 or -EINVAL.
 */
int perf_persist_check_rates(struct list_head *specs, struct perf_spec_error *error)
{
	unsigned int max = READ_ONCE(sysctl_perf_event_sample_rate);
	struct perf_event_spec *spec;

	list_for_each_entry(spec, specs, entry) {
		if (!spec->attr.freq || spec->attr.sample_freq <= max ||
		    spec->attr.sample_freq == PERF_SPEC_FREQ)
			continue;
		if (error)
			error->spec = spec;
		return perf_spec_fail(error, -EINVAL, spec->name,
				      "freq= is more than kernel.perf_event_max_sample_rate, %u",
				      max);
	}
	return 0;
}

/* Check the limits before anything is made, because it may be a lot. */
static int check_room(struct new_events *new, struct list_head *specs)
{
	unsigned long pages = new->nr_pages + 1;
	unsigned int nr = list_count_nodes(specs) + new->tasks;
	int ret;

	if (new->tasks)
		pages += nr_tasks_pages(new->nr_pages) + 1;
	nr *= num_online_cpus();
	scoped_guard(mutex, &perf_persist_lock) {
		ret = perf_persist_reserve_members(nr);
		if (!ret)
			perf_persist_unreserve_members(nr);
	}
	if (ret)
		return perf_spec_fail(new->error, ret, new->ns->name,
				      "%u more members exceed kernel.perf_event_max_persistent",
				      nr);
	if (pages > ULONG_MAX / num_online_cpus() || !perf_memory_left(pages * num_online_cpus()))
		return perf_spec_fail(new->error, -ENOMEM, new->ns->name,
				      "its buffers need more than half of the available memory");
	return 0;
}

static struct new_events *alloc_new(struct perf_persist_ns *ns, struct list_head *specs)
{
	size_t nr = (list_count_nodes(specs) + 1) * num_possible_cpus();
	struct new_events *new;

	new = kvzalloc(struct_size(new, all, nr), GFP_KERNEL);
	if (new) {
		new->max = nr;
		new->ns = ns;
	}
	return new;
}

/* Make all events of @new, and publish the namespace. */
static int make_all(struct new_events *new, struct list_head *specs)
{
	struct perf_persist_ns *ns = new->ns;
	int cpu, ret;

	/* CPUs that come online meanwhile get their events after publishing. */
	scoped_guard(mutex, &perf_persist_lock)
		ns->all_cpus = true;
	for_each_online_cpu(cpu) {
		ret = make_events_on(new, specs, cpu);
		if (ret)
			return ret;
	}
	ret = perf_persist_publish(ns);
	if (ret)
		perf_spec_fail(new->error, ret, ns->name, "cannot be created: %pe", ERR_PTR(ret));
	return ret;
}

/**
 * perf_persist_start - make the events of a namespace, publish it, and let it record
 * @ns:		the namespace, without members, with a name reserved
 * @specs:	which events
 * @size:	bytes of the buffer of each CPU, rounded up to a power of two
 * @tasks:	write task records, too, to a buffer of their own
 * @error:	out: what is wrong, and with which event, if one is the reason
 *
 * Called without a lock; nobody else may start or discard it meanwhile. The caller becomes
 * the owner, who pays for it. All CPUs that are online have all of the events afterwards.
 * After an error @ns is as it was before, or it is published and could not be enabled.
 *
 * Return: 0, or
 *  -EINVAL	there are no events, or @size or a frequency is out of range
 *  -EPERM	the caller may not lock so much memory
 *  -ENOMEM	out of memory, or the buffers need more than half of the memory that is left
 *  -ENOSPC	over the limit kernel.perf_event_max_persistent
 *  -ENOENT	an event does not exist, or no longer
 *  -EINTR	the caller is being killed
 *  or what the PMU of one of the events says, or the LSM
 */
long perf_persist_start(struct perf_persist_ns *ns, struct list_head *specs, unsigned long size,
			bool tasks, struct perf_spec_error *error)
{
	struct perf_persist_owner old;
	struct new_events *new;
	long ret;

	error->text[0] = '\0';
	if (list_empty(specs))
		return perf_spec_fail(error, -EINVAL, ns->name, "has no events: add at least one");
	if (!size || size > min_t(u64, (u64)INT_MAX / 2 << PAGE_SHIFT, ULONG_MAX / 2))
		return perf_spec_fail(error, -EINVAL, ns->name,
				      "the buffer size is out of range");
	ret = perf_persist_check_rates(specs, error);
	if (ret)
		return ret;

	new = alloc_new(ns, specs);
	if (!new)
		return perf_spec_fail(error, -ENOMEM, ns->name, "out of memory");
	new->nr_pages = roundup_pow_of_two(PFN_UP(size));
	new->tasks = tasks;
	new->error = error;

	scoped_guard(mutex, &perf_persist_lock)
		perf_persist_set_owner(ns, &old);
	ret = check_room(new, specs);
	if (!ret)
		ret = make_all(new, specs);
	/* Drop our openers. A published namespace has its own. */
	undo_to(new, 0);
	kvfree(new);

	scoped_guard(mutex, &perf_persist_lock) {
		if (ret)
			perf_persist_restore_owner(ns, &old);
	}
	put_cred(old.cred);
	return ret ? ret : perf_persist_enable(ns, true);
}

/**
 * perf_persist_open_output - find the buffer that new events on a CPU can write to
 * @ns:		the namespace, with a reference of the caller's
 * @cpu:	the CPU
 *
 * Called without a lock.
 *
 * Return: the event of the first ordinary member on @cpu that has a buffer of its own for
 * samples, with an opener for the caller; or NULL.
 */
struct perf_event *perf_persist_open_output(struct perf_persist_ns *ns, int cpu)
{
	struct perf_member *member;

	guard(mutex)(&perf_persist_lock);
	perf_persist_settle(ns);
	if (ns->unlinked)
		return NULL;
	for_each_ns_member(member, ns) {
		if (member->rb && !member->for_trigger && !perf_member_is_tasks(member) &&
		    READ_ONCE(member->event->cpu) == cpu) {
			refcount_inc(&member->openers); /* at least one: it is held */
			return member->event;
		}
	}
	return NULL;
}

static bool has_members(struct perf_persist_ns *ns, int cpu)
{
	guard(mutex)(&perf_persist_lock);
	return !ns->unlinked && perf_persist_member_on(ns, cpu);
}

/**
 * perf_member_make_redirected - make an event that writes to a buffer of a namespace
 * @ns:		the namespace, with a reference of the caller's
 * @spec:	the event
 * @cpu:	its CPU
 * @may_lack_buffer: if only other kinds of members are on @cpu, make one that writes nothing
 *
 * Called without a lock. The caller is its opener, until it calls perf_member_unmake().
 *
 * Return: the event, which is no member yet and not enabled; NULL if @cpu has no buffer
 * for samples or is offline; or an error: what the PMU or the LSM says, -ENOENT if another
 * PMU or tracepoint has the type now, or -ENOMEM.
 */
struct perf_event *perf_member_make_redirected(struct perf_persist_ns *ns,
					       const struct perf_event_spec *spec, int cpu,
					       bool may_lack_buffer)
{
	struct perf_event *output = perf_persist_open_output(ns, cpu);
	struct perf_event *event;
	int ret;

	/* Perhaps the CPU has not got its events yet. */
	if (!output) {
		if (!may_lack_buffer || !has_members(ns, cpu))
			return NULL;
		/* It may have got all of them just now. */
		output = perf_persist_open_output(ns, cpu);
	}

	event = make_one(spec, cpu, output);
	ret = PTR_ERR_OR_ZERO(event);
	if (!ret && output) {
		ret = perf_event_set_output(event, output);
		if (ret)
			perf_member_unmake(event, NULL);
	}
	if (output)
		perf_persist_put_opener(output);
	if (ret)
		event = ret == -ENODEV && !perf_cpu_is_online(cpu) ? NULL : ERR_PTR(ret);
	return event;
}

static int extend_on(struct perf_persist_ns *ns, const struct perf_event_spec *spec, int cpu)
{
	struct perf_event *event;
	int ret;

	event = perf_member_make_redirected(ns, spec, cpu, false);
	if (IS_ERR_OR_NULL(event))
		return PTR_ERR_OR_ZERO(event);
	ret = perf_persist_join(ns, event, false);
	if (!ret)
		perf_event_enable(event);
	perf_member_unmake(event, NULL);
	return ret;
}

/**
 * perf_persist_extend - add events to a published namespace
 * @id:		its id
 * @specs:	which events; those that were added are freed
 * @error:	out: what is wrong with the first event that is left in @specs
 *
 * The events write to the existing buffers. Called without a lock.
 *
 * Return: 0, -ENODEV if it was deleted, or see perf_persist_start(). After an error, the
 * first event that is left may be a member on some of the CPUs.
 */
int perf_persist_extend(u64 id, struct list_head *specs, struct perf_spec_error *error)
{
	struct perf_persist_ns *ns = find_ns(id);
	struct perf_event_spec *spec, *next;
	LIST_HEAD(done);
	int cpu, ret;

	if (!ns)
		return perf_spec_fail(error, -ENODEV, "perf", "the namespace was deleted");
	ret = perf_persist_check_rates(specs, error);
	list_for_each_entry_safe(spec, next, specs, entry) {
		for_each_online_cpu(cpu) {
			if (!ret)
				ret = extend_on(ns, spec, cpu);
			if (ret)
				break;
		}
		if (ret) {
			if (!error->text[0])
				fail_event(error, ret, spec, cpu);
			break;
		}
		list_move(&spec->entry, &done);
	}
	perf_spec_free(&done);
	perf_persist_put(ns);
	return ret;
}

/**
 * perf_persist_create_from - make a namespace that records
 * @name:	its name
 * @specs:	which events
 * @size:	bytes of the buffer of each CPU
 * @tasks:	write task records, too
 * @id:		out: its id
 * @error:	out: what is wrong, and with which event, if one is the reason
 *
 * Called without a lock.
 *
 * Return: 0, -ENODEV if persistent events are not initialized, -EEXIST if the name is
 * taken, or see perf_persist_start().
 */
int perf_persist_create_from(const char *name, struct list_head *specs, unsigned long size,
			     bool tasks, u64 *id, struct perf_spec_error *error)
{
	struct perf_persist_ns *ns;
	int ret = -ENOMEM;

	error->spec = NULL;
	if (!perf_persist_is_ready())
		return perf_spec_fail(error, -ENODEV, name, "persistent events are not available");
	if (!perf_persist_valid_name(name))
		return perf_spec_fail(error, -EINVAL, name, PERF_SPEC_NAME_RULE);
	/* Members copy the formats of their tracepoints, which must be final. */
	trace_eval_finish();

	mutex_lock(&perf_persist_lock);
	ns = perf_persist_new();
	if (ns) {
		get_persist_ns(ns);
		ret = perf_persist_reserve_name(ns, name);
	}
	mutex_unlock(&perf_persist_lock);
	if (ret)
		perf_spec_fail(error, ret, name, "cannot be created: %pe", ERR_PTR(ret));
	else
		ret = perf_persist_start(ns, specs, size, tasks, error);
	if (ns && ret && READ_ONCE(ns->published))
		perf_persist_delete(ns);
	else if (ns && ret)
		perf_persist_discard(ns);
	if (ns && !ret)
		*id = ns->id;
	if (ns)
		perf_persist_put(ns);
	return ret;
}

static int parse_all(const char *const *events, unsigned int nr, struct list_head *specs,
		     struct perf_spec_error *error)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; !ret && i < nr; i++)
		ret = perf_spec_parse(events[i], specs, error);
	if (ret)
		perf_spec_free(specs);
	return ret;
}

/**
 * perf_persistent_create - make a namespace of persistent events
 * @name:	its name: a-z, 0-9, _ and -, not a digit or - first, at most 47 bytes
 * @events:	which events: each is a tracepoint, "SYSTEM:EVENT", in which both parts may
 *		be patterns; the name of a software or hardware event; or that of a PMU;
 *		with terms and a filter, see Documentation/admin-guide/perf/persistent.rst
 * @nr:		how many these are
 * @size:	bytes of the buffer of each CPU, rounded up to a power of two
 * @flags:	PERF_PERSISTENT_TASKS: write task records, too, to a buffer of their own of
 *		at least 256 KiB, so that perf knows names of tasks and symbols of user
 *		space; each fork, exec and mmap takes a little longer
 *
 * The namespace starts to record at once, on all CPUs, also on CPUs that come online later.
 * It belongs to root. Any user who may delete namespaces can delete it. A module whose
 * tracepoint is among the events cannot be unloaded before that. The kernel log says what
 * is wrong with @events.
 *
 * Context: process context, without a lock, from fs_initcall_sync() on.
 *
 * Return: its id, for perf_persistent_delete(), or
 *  -ENODEV	persistent events are not initialized, or not yet
 *  -EINVAL	@name or an event is invalid, @size is out of range, or a flag is unknown
 *  -ENOENT	no event, tracepoint or PMU of that name
 *  -EEXIST	the name is taken
 *  -ENOMEM	out of memory
 *  -ENOSPC	over the limit kernel.perf_event_max_persistent
 *  or what the PMU of one of the events says
 */
s64 perf_persistent_create(const char *name, const char *const *events, unsigned int nr,
			   unsigned long size, unsigned int flags)
{
	struct perf_spec_error error = { };
	const struct cred *old;
	LIST_HEAD(specs);
	u64 id;
	int ret;

	if (flags & ~PERF_PERSISTENT_TASKS)
		return -EINVAL;

	/* The task that loads a module may have fewer rights than root. */
	old = override_creds(kernel_cred());
	ret = parse_all(events, nr, &specs, &error);
	if (!ret)
		ret = perf_persist_create_from(name, &specs, size, flags & PERF_PERSISTENT_TASKS,
					       &id, &error);
	perf_spec_free(&specs);
	revert_creds(old);
	if (!ret)
		return id;

	pr_err("perf: persistent/%s/: %s\n", name, error.text);
	return ret;
}
EXPORT_SYMBOL_GPL(perf_persistent_create);

/**
 * perf_persistent_delete - delete a namespace of perf_persistent_create()
 * @id:		the id that perf_persistent_create() returned
 *
 * Its events stop at once, and have no overhead any more. Its snapshots remain.
 *
 * Context: process context, without a lock.
 *
 * Return: 0, or -ENODEV if somebody else has deleted it.
 */
int perf_persistent_delete(u64 id)
{
	struct perf_persist_ns *ns = find_ns(id);
	const struct cred *old;
	int ret;

	if (!ns)
		return -ENODEV;
	old = override_creds(kernel_cred());
	ret = perf_persist_delete(ns);
	revert_creds(old);
	perf_persist_put(ns);
	return ret;
}
EXPORT_SYMBOL_GPL(perf_persistent_delete);
