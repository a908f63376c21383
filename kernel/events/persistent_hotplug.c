// SPDX-License-Identifier: GPL-2.0
/*
 * CPU hotplug: CPUs that go offline, return, or are new.
 *
 * The callback of a CPU that comes online runs inside cpu_hotplug_lock. It can put events
 * back into their context. It can neither make nor free events, because static keys need
 * the same lock, so a worker does that.
 *
 * The "like" of a member is the same event on another CPU. A CPU is covered when it has
 * the likes of the members of another CPU, its model.
 */
#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/cred.h>
#include <linux/init.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/printk.h>
#include <linux/security.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/trace_events.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>

#include "internal.h"
#include "persistent.h"
#include "persistent_internal.h"
#include "read.h"

static struct cpumask new_cpus; /* CPUs that the worker must look at */

static void new_cpus_worker(struct work_struct *work);
static DECLARE_WORK(new_cpus_work, new_cpus_worker);

/* Find the member on @cpu with the lowest id above @event_id, and take an opener on it. */
static struct perf_member *open_next_on(struct perf_persist_ns *ns, int cpu, u64 event_id)
{
	struct perf_member *member;

	mutex_lock(&perf_persist_lock);
	member = ns->unlinked ? NULL : perf_persist_next_member(ns, event_id);
	while (member && member->event->cpu != cpu)
		member = following_member(member);
	if (member)
		refcount_inc(&member->openers); /* at least one: it is held */
	mutex_unlock(&perf_persist_lock);

	return member;
}

static void cpu_changed(int cpu)
{
	struct perf_persist_ns *ns;

	for (ns = NULL; (ns = perf_persist_next_published(ns)); ) {
		mutex_lock(&perf_persist_lock);
		if (perf_persist_member_on(ns, cpu))
			perf_persist_changed(ns);
		mutex_unlock(&perf_persist_lock);
	}
}

/* The worker makes the likes that @cpu lacks, in all namespaces that are for all CPUs. */
static void look_at(int cpu)
{
	cpumask_set_cpu(cpu, &new_cpus);
	queue_work(system_dfl_wq, &new_cpus_work);
}

static int ns_cpu_online(unsigned int cpu)
{
	struct perf_member *member;
	struct perf_persist_ns *ns;
	u64 event_id;

	/* Members that are published from now on find that their CPU is online. */
	for (ns = NULL; (ns = perf_persist_next_published(ns)); ) {
		for (event_id = 0; (member = open_next_on(ns, cpu, event_id)); ) {
			event_id = member->event->id;
			perf_persist_reinstall(member->event);
			perf_member_put_deferred(member);
		}
	}
	cpu_changed(cpu);

	look_at(cpu);
	return 0;
}

static int ns_cpu_dead(unsigned int cpu)
{
	cpu_changed(cpu);
	return 0;
}

/*
 * Finding likes on other CPUs
 */

static bool same_label(struct perf_member *a, struct perf_member *b)
{
	assert_registry();
	return !strcmp(a->label ?: "", b->label ?: "");
}

/* Are @a and @b the same event, and if they came for triggers, for the same one? */
static bool is_like(struct perf_member *a, struct perf_member *b)
{
	struct perf_event_attr attr, other;

	assert_registry();
	if (a == b)
		return true;
	/* Type and config never change. Most events that differ do so here. */
	if (a->attr.type != b->attr.type || a->attr.config != b->attr.config ||
	    a->for_trigger != b->for_trigger || !same_label(a, b))
		return false;
	if (a->for_trigger && perf_trigger_number(a) != perf_trigger_number(b))
		return false;
	perf_member_copy_attr(&attr, a);
	perf_member_copy_attr(&other, b);
	/* The period of one may have been changed since. */
	other.sample_period = attr.sample_period;
	return !memcmp(&attr, &other, sizeof(attr));
}

/* Was @cpu offline when @member joined, and has it not got the like since? */
static bool lacks_like(struct perf_member *member, int cpu)
{
	assert_registry();
	return member->absent && cpumask_test_cpu(cpu, member->absent);
}

static void got_like(struct perf_member *member, int cpu)
{
	assert_registry();
	if (member->absent)
		cpumask_clear_cpu(cpu, member->absent);
}

static DEFINE_PER_CPU(unsigned int, nr_likes); /* what count_likes() counts, under the lock */

/*
 * Count the members that are like @model on each CPU. A CPU can have several of them, which
 * differ only in their filters. Then the first on one CPU is the like of the first on another,
 * and so on.
 *
 * Return: the position of @model on its CPU. A CPU with at least as many has its like.
 */
static unsigned int count_likes(struct perf_persist_ns *ns, struct perf_member *model)
{
	struct perf_member *member;
	unsigned int nth = 0, *nr;
	int cpu;

	assert_registry();
	for_each_possible_cpu(cpu)
		per_cpu(nr_likes, cpu) = 0;
	for_each_ns_member(member, ns) {
		if (!is_like(model, member))
			continue;
		nr = &per_cpu(nr_likes, READ_ONCE(member->event->cpu));
		++*nr;
		if (member == model)
			nth = *nr;
	}
	return nth;
}

/*
 * @model is the @nth of several on its CPU, and @cpu has its like or will get it. So its likes
 * on other CPUs must not become models for @cpu, too.
 */
static void only_model(struct perf_persist_ns *ns, struct perf_member *model, unsigned int nth,
		       int cpu)
{
	struct perf_member *member;
	int i;

	assert_registry();
	for_each_possible_cpu(i)
		per_cpu(nr_likes, i) = 0;
	for_each_ns_member(member, ns) {
		if (is_like(model, member) && member != model &&
		    ++per_cpu(nr_likes, READ_ONCE(member->event->cpu)) == nth)
			got_like(member, cpu);
	}
}

/* Is the like of @model on @cpu already? */
static bool has_like(struct perf_persist_ns *ns, struct perf_member *model, int cpu)
{
	unsigned int nth = count_likes(ns, model);

	return per_cpu(nr_likes, cpu) >= nth;
}

/*
 * Covering a CPU that came online: make the same events on it as on its model; or, if it has
 * returned with its members, only events that the namespace or its triggers got meanwhile
 */

/*
 * Would a like of @event on another CPU count something else? With a PMU outside of the CPUs,
 * or one that several CPUs share, it would count the same once more. If the PMU is gone, no
 * like can be made.
 */
static bool is_per_cpu(struct perf_event *event)
{
	struct pmu *pmu;

	guard(mutex)(&event->mmap_mutex);
	pmu = perf_event_pmu(event);
	return pmu && pmu->task_ctx_nr != perf_invalid_context &&
	       pmu->scope == PERF_PMU_SCOPE_NONE;
}

static bool has_cgroup(struct perf_event *event)
{
#ifdef CONFIG_CGROUP_PERF
	return event->cgrp;
#else
	return false;
#endif
}

/*
 * Make a like of @model on @cpu, with its filter and without a buffer. Called without a
 * lock, with an opener of @model and the creds of the namespace. The caller becomes the
 * opener of the new event, which is not enabled.
 */
static struct perf_event *clone_event(struct perf_member *model, int cpu)
{
	struct perf_event_attr attr;
	struct perf_event *event;
	char *filter;
	int ret;

	/* attr of a kprobe or uprobe points to a string in the memory of the creator. */
	if (perf_member_has_tp(model) && model->attr.type != PERF_TYPE_TRACEPOINT)
		return ERR_PTR(-EOPNOTSUPP);

	/* Only the creator of an event can attach its cgroup and its program. */
	if (has_cgroup(model->event) || READ_ONCE(model->event->prog))
		return ERR_PTR(-EOPNOTSUPP);

	if (model->attr.sample_type & PERF_SAMPLE_REGS_INTR) {
		ret = security_locked_down(LOCKDOWN_PERF);
		if (ret)
			return ERR_PTR(ret);
	}

	perf_member_copy_attr(&attr, model);
	filter = perf_member_copy_filter(model);
	if (IS_ERR(filter))
		return ERR_CAST(filter);
	event = perf_member_make(model->event, &attr, filter, cpu);
	kfree(filter);
	return event;
}

/**
 * struct perf_cover - a member on the model CPU and its like on the new one
 * @model:	the member, on which we have an opener
 * @model_rb:	the buffer that @model writes to, with a reference, or NULL
 * @own_buffer:	the namespace keeps @model_rb mapped through @model
 * @event:	the new event, on which we have an opener, or NULL
 * @skip:	the new event is not needed any more, or @lost
 * @lost:	the buffer that the new event should write to is gone
 */
struct perf_cover {
	struct perf_member	*model;
	struct perf_buffer	*model_rb;
	bool			own_buffer;
	struct perf_event	*event;
	bool			skip;
	bool			lost;
};

static void drop_cover(struct perf_cover *cover)
{
	struct perf_event *event = cover->event;

	/* This does not need its mmap_mutex, as nobody else can see the event. */
	if (event)
		perf_member_unmake(event, refcount_read(&event->mmap_count) ? event->rb : NULL);
	cover->event = NULL;
}

/* The member that keeps the buffer which @member writes to, or NULL */
static struct perf_member *find_owner(struct perf_persist_ns *ns, struct perf_member *member)
{
	struct perf_buffer *rb = ring_buffer_get(member->event);
	struct perf_member *owner;

	if (!rb)
		return NULL;
	owner = perf_persist_buffer_owner(ns, rb);
	ring_buffer_put(rb);
	return owner;
}

/* Return the cover in @all that makes the like of @owner and of its buffer, or NULL. */
static struct perf_cover *find_cover(struct perf_cover *all, int nr, struct perf_member *owner)
{
	struct perf_cover *found = NULL;
	int i;

	for (i = 0; i < nr; i++) {
		if (all[i].model == owner)
			return &all[i];
		if (!found && all[i].own_buffer && is_like(owner, all[i].model))
			found = &all[i];
	}
	return found;
}

/* Return the like of @owner on @cpu. NULL if there is none, or if it has no buffer. */
static struct perf_member *find_like_owner(struct perf_persist_ns *ns, struct perf_member *owner,
					   int cpu)
{
	struct perf_member *member;
	unsigned int nth, i = 0;

	nth = count_likes(ns, owner);
	for_each_ns_member(member, ns) {
		if (READ_ONCE(member->event->cpu) == cpu && is_like(owner, member) && ++i == nth)
			return member->rb ? member : NULL;
	}
	return NULL;
}

/*
 * Return the event to whose buffer the new event of @cover must write, with an opener for the
 * caller. NULL if the new event writes to no buffer or to its own. If one of @all has that
 * buffer, it was made before. If it could not be made, use no other buffer instead. On a CPU
 * that returned, the buffer may have existed before.
 */
static struct perf_event *open_cover_output(struct perf_cover *all, int nr,
					    struct perf_cover *cover, struct perf_persist_ns *ns,
					    int cpu, bool returned)
{
	struct perf_member *owner, *member = NULL;
	struct perf_cover *other = NULL;
	struct perf_event *output;

	if (!cover->model_rb || cover->own_buffer)
		return NULL;

	scoped_guard(mutex, &perf_persist_lock) {
		perf_persist_settle(ns);
		owner = find_owner(ns, cover->model);
		if (owner)
			other = find_cover(all, nr, owner);
		if (other)
			member = other->event ? other->event->member : NULL;
		else if (owner && returned)
			member = find_like_owner(ns, owner, cpu);
		if (member)
			refcount_inc(&member->openers); /* at least one: it is held, or ours */
	}
	if (member)
		return member->event;
	if (!returned || other)
		return ERR_PTR(-EOPNOTSUPP);
	output = perf_persist_open_output(ns, cpu);
	/* On a CPU without a buffer for samples, an event just fires its trigger. */
	return output || cover->model->for_trigger ? output : ERR_PTR(-EOPNOTSUPP);
}

/* Before its event is enabled, pause a new buffer if that of the model is paused. */
static void pause_as_model(struct perf_buffer *rb, struct perf_buffer *model_rb,
			   struct perf_persist_ns *ns)
{
	WRITE_ONCE(rb->pause_output, READ_ONCE(model_rb->pause_output));
	if (READ_ONCE(ns->stopped))
		rb_freeze(rb);
	else
		rb_thaw(rb);
}

static int make_cover(struct perf_cover *all, int nr, int i, struct perf_persist_ns *ns, int cpu,
		      bool returned)
{
	struct perf_cover *cover = &all[i];
	struct perf_event *output;
	struct perf_event *event;
	int ret = 0;

	output = open_cover_output(all, nr, cover, ns, cpu, returned);
	if (IS_ERR(output))
		return PTR_ERR(output);

	event = clone_event(cover->model, cpu);
	if (IS_ERR(event)) {
		ret = PTR_ERR(event);
		goto out;
	}

	cover->event = event;
	ret = perf_persist_covering(event->member);
	if (!ret && output)
		ret = perf_event_set_output(event, output);
	else if (!ret && cover->own_buffer)
		ret = perf_member_make_buffer(event, ns, data_page_nr(cover->model_rb));
	if (ret)
		drop_cover(cover);
	else if (!output && cover->own_buffer)
		pause_as_model(event->rb, cover->model_rb, ns);
out:
	if (output)
		perf_persist_put_opener(output);
	return ret;
}

static int copy_labels(struct perf_cover *cover, int nr)
{
	int i;

	assert_registry();
	for (i = 0; i < nr; i++) {
		if (!cover[i].event || cover[i].skip || !cover[i].model->label)
			continue;
		cover[i].event->member->label = kstrdup(cover[i].model->label,
							PERF_PERSIST_GFP);
		if (!cover[i].event->member->label)
			return -ENOMEM;
	}
	return 0;
}

/* The caller has reserved a member for it, and has checked that the CPU lacks it. */
static void add_cover(struct perf_persist_ns *ns, struct perf_cover *cover)
{
	struct perf_buffer *model_rb = cover->model->rb;
	struct perf_event *event = cover->event;
	struct perf_member *member = event->member;

	assert_registry();
	member->for_trigger = cover->model->for_trigger;
	member->format = perf_format_share(cover->model->format);
	perf_member_add(ns, member);
	refcount_inc(&member->openers);
	member->held = true;
	if (refcount_read(&event->mmap_count)) {
		perf_member_set_buffer(member, event->rb);
		WRITE_ONCE(event->rb->was_held, true);
		/* NULL if the model was claimed meanwhile */
		if (model_rb)
			pause_as_model(member->rb, model_rb, ns);
	}
	perf_persist_covered(cover->model, member);
	got_like(cover->model, event->cpu);
	perf_member_set_state(member, PERF_MEMBER_PUBLISHED);
}

/*
 * Does @cpu still need the like of @model? @model may have left, joined another namespace, or
 * be about to leave with its trigger. And user space may have added the like itself, to a
 * trigger or on a CPU that returned.
 */
static bool is_model(struct perf_member *model, struct perf_persist_ns *ns, int cpu, bool returned)
{
	assert_registry();
	if (model->ns != ns || READ_ONCE(model->state) != PERF_MEMBER_PUBLISHED ||
	    (model->for_trigger && !model->action))
		return false;
	return !(model->for_trigger || returned) || !has_like(ns, model, cpu);
}

/* Does @event write to the new buffer of one of @all? */
static bool is_new_buffer(struct perf_cover *all, int nr, struct perf_event *event)
{
	int i;

	for (i = 0; i < nr; i++) {
		if (all[i].own_buffer && all[i].event && !all[i].skip &&
		    all[i].event->rb == event->rb)
			return true;
	}
	return false;
}

/* On a CPU that returned, was the buffer taken away that @cover should write to? */
static bool lost_output(struct perf_persist_ns *ns, struct perf_cover *all, int nr,
			struct perf_cover *cover)
{
	struct perf_event *event = cover->event;

	assert_registry();
	if (!event || cover->skip || !cover->model_rb || cover->own_buffer)
		return false;
	guard(mutex)(&event->mmap_mutex);
	if (!event->rb)
		return !cover->model->for_trigger; /* See open_cover_output(). */
	return !perf_persist_buffer_owner(ns, event->rb) && !is_new_buffer(all, nr, event);
}

/* Called with everything allocated */
static void finish_covers(struct perf_persist_ns *ns, struct perf_cover *cover, int nr, int cpu,
			  bool returned, unsigned int missed_seq)
{
	int i;

	for (i = 0; i < nr; i++) {
		if (cover[i].event && !cover[i].skip)
			add_cover(ns, &cover[i]);
	}
	perf_persist_buffers_changed(ns);
	if (returned && !perf_trigger_covered(ns, cpu, missed_seq))
		look_at(cpu);
	for (i = 0; i < nr; i++) {
		if ((!cover[i].event && !cover[i].skip) || cover[i].lost)
			perf_trigger_not_covered(cover[i].model, cpu);
	}
}

/*
 * Add all events that could be made. Returns -ESTALE if the namespace is gone, or if @cpu lost
 * its members meanwhile. If it got some, add the others.
 */
static int add_covers(struct perf_persist_ns *ns, struct perf_cover *cover, int nr, int cpu,
		      bool returned, unsigned int missed_seq)
{
	int i, ret = 0, made = 0;
	bool has_some;

	mutex_lock(&perf_persist_lock);
	perf_persist_settle(ns);
	has_some = perf_persist_member_on(ns, cpu);
	for (i = 0; i < nr; i++) {
		cond_resched();
		cover[i].skip = !is_model(cover[i].model, ns, cpu, has_some);
	}
	for (i = 0; i < nr; i++) {
		cover[i].lost = has_some && lost_output(ns, cover, nr, &cover[i]);
		cover[i].skip |= cover[i].lost;
		made += cover[i].event && !cover[i].skip;
	}
	if (ns->unlinked || (returned && !has_some))
		ret = -ESTALE;
	else
		ret = perf_persist_reserve_members(made);
	if (!ret) {
		ret = copy_labels(cover, nr);
		if (ret)
			perf_persist_unreserve_members(made);
	}
	if (!ret)
		finish_covers(ns, cover, nr, cpu, returned, missed_seq);
	mutex_unlock(&perf_persist_lock);

	return ret;
}

/* With the lock of its context: halfway offline, it looks disabled. */
static bool is_enabled(struct perf_member *member)
{
	struct perf_event_context *ctx = perf_event_ctx_lock(member->event);
	bool enabled = perf_member_is_enabled(member);

	perf_event_ctx_unlock(member->event, ctx);
	return enabled;
}

/*
 * Enable a new member if its model is enabled, or will be when its CPU is back. Not before it is
 * a member: a stop that does not know it could not keep its records out. Whoever disables all
 * members comes to the model first. If that was meanwhile, go by the model again.
 */
static void follow_model(struct perf_cover *cover)
{
	bool enable = is_enabled(cover->model);

	while (enable != perf_member_is_enabled(cover->event->member)) {
		bool was = enable;

		if (enable)
			perf_event_enable(cover->event);
		else
			perf_event_disable(cover->event);
		perf_persistent_changed(cover->event);
		enable = is_enabled(cover->model);
		/* It may be unable to follow, if its PMU has put it into the error state. */
		if (enable == was)
			break;
	}
}

/*
 * Is the PMU of @member for @cpu, too? There may be a PMU for each kind of CPU. For types that
 * all kinds have, perf_event_open() finds the PMU of the CPU.
 */
static bool is_for_cpu(struct perf_member *member, int cpu)
{
	struct pmu *pmu;

	if (member->attr.type < PERF_TYPE_MAX && !(member->attr.config >> PERF_PMU_TYPE_SHIFT))
		return true;
	guard(mutex)(&member->event->mmap_mutex);
	pmu = perf_event_pmu(member->event);
	return pmu && !(pmu->filter && pmu->filter(pmu, cpu));
}

/* Find the CPUs that have ordinary members. */
static void find_cpus(struct perf_persist_ns *ns, struct cpumask *cpus)
{
	struct perf_member *member;

	assert_registry();
	cpumask_clear(cpus);
	for_each_ns_member(member, ns) {
		if (!member->for_trigger)
			cpumask_set_cpu(READ_ONCE(member->event->cpu), cpus);
	}
}

/*
 * Should @cpu, which has ordinary members, have the like of @member? Not if it was offline
 * when @member joined, or if the PMU does not support it.
 */
static bool is_asked(struct perf_member *member, int cpu)
{
	return !lacks_like(member, cpu) && is_for_cpu(member, cpu);
}

/*
 * Did @cpu miss @member, which is ordinary? It did if all CPUs that is_asked() selects have
 * its like, and @cpu does not. An event that user space made on some CPUs only must not
 * spread. Once the answer is known, the likes of @member need not be checked.
 */
static bool is_missed(struct perf_persist_ns *ns, struct perf_member *member, int cpu,
		      const struct cpumask *cpus)
{
	unsigned int nth;
	bool missed;
	int other;

	if (!is_for_cpu(member, cpu))
		return false;

	nth = count_likes(ns, member);
	for_each_cpu(other, cpus) {
		if (per_cpu(nr_likes, other) < nth && is_asked(member, other))
			return false;
	}
	missed = per_cpu(nr_likes, cpu) < nth;
	if (!missed)
		got_like(member, cpu);
	only_model(ns, member, nth, cpu);
	return missed;
}

/*
 * May @cpu need the like of @member, if @model_cpu is its model? If that is -1, @cpu has
 * ordinary members, but may lack events that were added while it was offline.
 */
static bool may_be_wanted(struct perf_member *member, int cpu, int model_cpu)
{
	int member_cpu = READ_ONCE(member->event->cpu);

	if (model_cpu >= 0)
		return member_cpu == model_cpu;
	if (!member->for_trigger)
		return lacks_like(member, cpu);
	return member->action && member_cpu == perf_trigger_model_cpu(member, cpu);
}

/* Does @cpu need the like of @member? */
static bool is_wanted(struct perf_persist_ns *ns, struct perf_member *member, int cpu,
		      int model_cpu, const struct cpumask *cpus)
{
	if (!may_be_wanted(member, cpu, model_cpu) || !is_per_cpu(member->event))
		return false;
	if (model_cpu >= 0)
		return true;
	return member->for_trigger ? !has_like(ns, member, cpu) : is_missed(ns, member, cpu, cpus);
}

/*
 * Collect the members whose likes @cpu needs.
 *
 * @returned: out: @cpu has its ordinary members already.
 * @missed_seq: out: for perf_trigger_covered()
 *
 * Return: number of them, or -ENOMEM.
 */
static int open_models(struct perf_persist_ns *ns, int cpu, struct perf_cover **covers,
		       bool *returned, unsigned int *missed_seq)
{
	static struct cpumask cpus; /* under the lock */
	struct perf_cover *cover = NULL;
	struct perf_member *member;
	int model_cpu = -1, max = 0, nr = 0;

	*covers = NULL;
	mutex_lock(&perf_persist_lock);
	perf_persist_settle(ns);
	if (ns->unlinked || !ns->all_cpus)
		goto unlock;

	*missed_seq = ns->missed_seq;
	*returned = perf_persist_member_on(ns, cpu);
	member = *returned ? NULL : first_ordinary_member(ns);
	if (member)
		model_cpu = READ_ONCE(member->event->cpu);
	for_each_ns_member(member, ns)
		max += may_be_wanted(member, cpu, model_cpu);
	if (!max)
		goto covered;

	cover = __vcalloc(max, sizeof(*cover), PERF_PERSIST_GFP);
	if (!cover) {
		nr = -ENOMEM;
		goto unlock;
	}

	find_cpus(ns, &cpus);
	for_each_ns_member(member, ns) {
		cond_resched();
		if (!is_wanted(ns, member, cpu, model_cpu, &cpus))
			continue;
		refcount_inc(&member->openers); /* at least one: it is held */
		cover[nr].model = member;
		cover[nr].model_rb = ring_buffer_get(member->event);
		cover[nr].own_buffer = member->rb;
		nr++;
	}
covered:
	if (!nr && *returned)
		perf_trigger_covered(ns, cpu, *missed_seq);
unlock:
	mutex_unlock(&perf_persist_lock);
	*covers = cover;
	return nr;
}

/*
 * @returned: out: @cpu had its ordinary members already.
 *
 * Return: 0, the first error, or -ESTALE for an error that must not be reported.
 */
static int try_cover(struct perf_persist_ns *ns, int cpu, bool *returned)
{
	struct perf_cover *cover;
	int i, nr, err, pass, ret = 0;
	bool cpu_gone = false, no_memory = false;
	unsigned int missed_seq;

	nr = open_models(ns, cpu, &cover, returned, &missed_seq);
	if (nr <= 0) {
		ret = nr;
		goto out;
	}

	/* First make events that have their own buffer, then those that write to it. */
	for (pass = 0; pass < 2; pass++) {
		for (i = 0; i < nr; i++) {
			if (cover[i].own_buffer == pass)
				continue;
			err = make_cover(cover, nr, i, ns, cpu, *returned);
			if (err == -ENODEV && !perf_cpu_is_online(cpu))
				cpu_gone = true;
			/* A CPU with a part of them would count as covered. */
			if (!*returned && !cover[i].model->for_trigger &&
			    (err == -ENOMEM || err == -EPERM))
				no_memory = true;
			if (err && !ret)
				ret = err;
		}
	}

	/* When the CPU is back, the worker tries all of it again. */
	if (cpu_gone)
		err = -ESTALE;
	else if (no_memory)
		err = ret;
	else
		err = add_covers(ns, cover, nr, cpu, *returned, missed_seq);
	if (err)
		ret = err;
	for (i = 0; i < nr; i++) {
		if (cover[i].lost && !ret)
			ret = -EOPNOTSUPP;
		if (err || cover[i].skip) {
			drop_cover(&cover[i]);
		} else if (cover[i].event) {
			/* The CPU may have gone and come back before this was a member. */
			perf_persist_reinstall(cover[i].event);
			follow_model(&cover[i]);
			perf_persist_put_opener(cover[i].event);
		}
		if (cover[i].model_rb)
			ring_buffer_put(cover[i].model_rb);
		perf_persist_put_opener(cover[i].model->event);
	}
out:
	vfree(cover);
	return ret;
}

/* First make the events that the model CPU has, then those that it has missed, too. */
static void cover_cpu(struct perf_persist_ns *ns, int cpu)
{
	bool returned = true;
	int ret, err = 0;

	ret = try_cover(ns, cpu, &returned);
	if (ret != -ESTALE && !returned)
		err = try_cover(ns, cpu, &returned);
	if (!ret)
		ret = err;
	if (ret && ret != -ESTALE)
		pr_notice_ratelimited("perf: persistent/%s/ does not have all of its events on CPU %d: %pe\n",
				      ns->name, cpu, ERR_PTR(ret));
}

/* Is there a member on each CPU that is online? */
static bool has_all_cpus(struct perf_persist_ns *ns)
{
	static struct cpumask cpus; /* under the lock */

	find_cpus(ns, &cpus);
	return cpumask_subset(cpu_online_mask, &cpus);
}

/* For a namespace that was published without members on some of the online CPUs. */
static void cover_worker(struct work_struct *work)
{
	struct perf_persist_ns *ns = container_of(work, struct perf_persist_ns, cover_work);
	const struct cred *old = override_creds(ns->cred);
	unsigned int cpu;

	for_each_online_cpu(cpu)
		cover_cpu(ns, cpu);
	revert_creds(old);
	perf_persist_put(ns); /* Matches get_persist_ns() in ns_published() */
}

static void new_cpus_worker(struct work_struct *work)
{
	static struct cpumask cpus; /* only one worker runs */
	struct perf_persist_ns *ns;
	unsigned int cpu;

	/*
	 * Wait until these CPUs are active. Events that join before that are still missing
	 * there, see find_absent(), and nobody else would look again.
	 */
	cpus_read_lock();
	cpumask_clear(&cpus);
	for_each_possible_cpu(cpu) {
		if (cpumask_test_and_clear_cpu(cpu, &new_cpus))
			cpumask_set_cpu(cpu, &cpus);
	}
	cpus_read_unlock();

	for_each_cpu(cpu, &cpus) {
		for (ns = NULL; (ns = perf_persist_next_published(ns)); ) {
			const struct cred *old = override_creds(ns->cred);

			cover_cpu(ns, cpu);
			revert_creds(old);
		}
	}
}

static void init_ns(struct perf_persist_ns *ns)
{
	INIT_WORK(&ns->cover_work, cover_worker);
}

/* The creator may have missed a new CPU. Later CPUs find that @ns is published. */
static void ns_published(struct perf_persist_ns *ns)
{
	if (!ns->all_cpus || has_all_cpus(ns))
		return;

	get_persist_ns(ns);
	queue_work(system_dfl_wq, &ns->cover_work);
}

static struct perf_persist_listener hotplug_listener = {
	.init		= init_ns,
	.published	= ns_published,
};

static int __init perf_hotplug_init(void)
{
	int online, ret;

	perf_persist_listen(&hotplug_listener);

	online = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "perf/persistent:online",
					   ns_cpu_online, NULL);
	if (online < 0) {
		perf_persist_fail(online);
		return online;
	}

	ret = cpuhp_setup_state_nocalls(CPUHP_BP_PREPARE_DYN, "perf/persistent:dead",
					NULL, ns_cpu_dead);
	if (ret < 0) {
		perf_persist_fail(ret);
		cpuhp_remove_state_nocalls(online);
	}
	return ret < 0 ? ret : 0;
}
subsys_initcall(perf_hotplug_init);
