// SPDX-License-Identifier: GPL-2.0
/*
 * Triggers make a namespace of persistent events stop or take a snapshot of itself. This file
 * makes, reads and removes them, and gives them to members, which fire them when they
 * overflow. persistent_fire.c has what happens then.
 */
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/init.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/trace_events.h>

#include "internal.h"
#include "persistent.h"
#include "persistent_internal.h"
#include "persistent_trigger.h"

/* More triggers than that are a mistake. */
#define PERF_TRIGGERS_MAX	64

/*
 * Making and removing triggers
 */

static struct perf_trigger *find_trigger(struct perf_persist_ns *ns, u32 number)
{
	struct perf_trigger *trigger;

	assert_registry();
	list_for_each_entry(trigger, &ns->triggers, entry) {
		if (trigger->arg.number == number)
			return trigger;
	}
	return NULL;
}

static struct perf_trigger *alloc_trigger(struct perf_persist_ns *ns,
					  const struct perf_event_trigger *arg)
{
	struct perf_trigger *trigger;

	trigger = kzalloc(sizeof(*trigger), GFP_KERNEL_ACCOUNT);
	if (!trigger)
		return NULL;

	INIT_LIST_HEAD(&trigger->entry);
	INIT_LIST_HEAD(&trigger->fatal);
	INIT_LIST_HEAD(&trigger->actions);
	trigger->ns = ns;
	trigger->arg = *arg;
	/* Other users can read the label: do not show them the caller's memory after it. */
	strscpy_pad(trigger->arg.label, arg->label);
	perf_trigger_init_work(trigger);
	return trigger;
}

/*
 * The members that fire a trigger
 */

/**
 * perf_trigger_number - which trigger does a member fire
 * @member:	the member, with the lock held
 *
 * Return: its number, or 0.
 */
unsigned int perf_trigger_number(struct perf_member *member)
{
	assert_registry();
	return member->action ? member->action->trigger->arg.number : 0;
}

/**
 * perf_trigger_model_cpu - which CPU has the events that a returning CPU has missed
 * @member:	a member that came for a trigger and fires it, with the lock held
 * @cpu:	the returning CPU
 *
 * Return: a CPU that has all events of the trigger, so that @cpu can get the same ones; or
 * -1 if @cpu has missed none, or if no CPU has all of them.
 */
int perf_trigger_model_cpu(struct perf_member *member, int cpu)
{
	struct perf_trigger *trigger = member->action->trigger;
	struct perf_action *action;
	int model_cpu;

	assert_registry();
	if (!cpumask_test_cpu(cpu, &trigger->missed))
		return -1;
	list_for_each_entry(action, &trigger->actions, entry) {
		model_cpu = READ_ONCE(action->event->cpu);
		/* This CPU has all of them. It is not @cpu, which is in @missed. */
		if (action->event->member->for_trigger &&
		    !cpumask_test_cpu(model_cpu, &trigger->missed))
			return model_cpu;
	}
	return -1;
}

/**
 * perf_trigger_covered - a CPU has got the events of triggers that it missed
 * @ns:		the namespace, with the lock held
 * @cpu:	the CPU
 * @seq:	perf_persist_ns::missed_seq when the caller collected these events
 *
 * Return: false if a CPU has missed more since, and @cpu must be looked at again.
 */
bool perf_trigger_covered(struct perf_persist_ns *ns, int cpu, unsigned int seq)
{
	struct perf_trigger *trigger;

	assert_registry();
	if (ns->missed_seq != seq)
		return false;
	list_for_each_entry(trigger, &ns->triggers, entry)
		cpumask_clear_cpu(cpu, &trigger->missed);
	return true;
}

static void set_missed(struct perf_trigger *trigger, int cpu)
{
	assert_registry();
	cpumask_set_cpu(cpu, &trigger->missed);
	trigger->ns->missed_seq++;
}

/**
 * perf_trigger_not_covered - an event of a trigger could not be made on a CPU
 * @model:	the member that has the event on another CPU, with the lock held
 * @cpu:	the CPU; it is tried again when it returns the next time
 *
 * Called after perf_trigger_covered().
 */
void perf_trigger_not_covered(struct perf_member *model, int cpu)
{
	assert_registry();
	if (model->action)
		set_missed(model->action->trigger, cpu);
}

static void link_action(struct perf_trigger *trigger, struct perf_action *action,
			struct perf_member *member)
{
	struct perf_event *event = member->event;

	assert_registry();
	action->event = event;
	action->trigger = trigger;
	action->handler = event->overflow_handler;
	list_add_tail(&action->entry, &trigger->actions);
	member->action = action;
	trigger->state.nr_events++;
	/* perf_trigger_overflow() may run for an old action: it must find all of this one. */
	smp_store_release(&event->overflow_handler_context, (void *)action);
	/* Pairs with smp_acquire__after_ctrl_dep() in perf_trigger_overflow(). */
	smp_store_release(&event->overflow_handler, perf_trigger_overflow);
	perf_tp_plan_clear(event);
}

/*
 * The event can fire the trigger until a grace period has passed. After that, the caller must
 * call free_actions() for @actions, without the lock.
 */
static void unlink_action(struct perf_action *action, struct list_head *actions)
{
	assert_registry();
	WRITE_ONCE(action->event->overflow_handler, action->handler);
	refcount_inc(&action->event->member->openers); /* at least one: the namespace's */
	action->event->member->action = NULL;
	action->trigger->state.nr_events--;
	list_move_tail(&action->entry, actions);
}

/*
 * Called a grace period after unlink_action(). Members that came for the trigger leave with
 * it.
 */
static void free_actions(struct list_head *actions)
{
	struct perf_action *action, *next;

	list_for_each_entry_safe(action, next, actions, entry) {
		struct perf_event *event = action->event;

		/* Another trigger may have given the event a new action. */
		cmpxchg(&event->overflow_handler_context, (void *)action, NULL);
		kfree(action);
		if (perf_persist_drop(event->member))
			perf_event_disable(event);
		perf_persist_put_opener(event); /* Matches refcount_inc() in unlink_action() */
	}
	INIT_LIST_HEAD(actions);
}

/*
 * A member is being made for a CPU. Its model may have a trigger by the time that it joins, and
 * then nothing may fail. So give it an action now.
 */
static int ns_covering(struct perf_member *member)
{
	member->action = kzalloc(sizeof(*member->action), PERF_PERSIST_GFP);
	return member->action ? 0 : -ENOMEM;
}

/* @member has joined, and must fire the same trigger as @model. */
static void ns_covered(struct perf_member *model, struct perf_member *member)
{
	struct perf_action *action = member->action;

	assert_registry();
	member->action = NULL;
	if (model->action && !WARN_ON_ONCE(model->action->trigger->ns != member->ns))
		link_action(model->action->trigger, action, member);
	else
		kfree(action);
}

/* @trigger is on no list any more, and nothing fires it. */
static void free_trigger(struct perf_trigger *trigger)
{
	perf_trigger_cancel_work(trigger);
	if (trigger->arg.action == PERF_TRIGGER_DO_STOP) {
		/* Until here it may have been stopping the namespace. */
		guard(mutex)(&perf_persist_lock);
		trigger->ns->nr_stoppers--;
	}
	kfree_rcu(trigger, rcu);
}

/* The caller must later call free_triggers() for @triggers and @actions, without the lock. */
static void unlink_trigger(struct perf_trigger *trigger, struct list_head *triggers,
			   struct list_head *actions)
{
	struct perf_action *action, *next;

	assert_registry();
	list_move(&trigger->entry, triggers);
	trigger->ns->nr_triggers--;
	list_for_each_entry_safe(action, next, &trigger->actions, entry)
		unlink_action(action, actions);
	perf_trigger_del_fatal(trigger);
}

/*
 * Called without a lock, with a reference on the namespace. When it returns, none of
 * @triggers fires any more.
 */
static void free_triggers(struct list_head *triggers, struct list_head *actions)
{
	struct perf_trigger *trigger, *next;

	if (list_empty(triggers) && list_empty(actions))
		return;

	/* Wait for CPUs that are firing a trigger. */
	synchronize_rcu();
	free_actions(actions);
	list_for_each_entry_safe(trigger, next, triggers, entry) {
		list_del(&trigger->entry);
		free_trigger(trigger);
	}
}

/*
 * Adding triggers, and events to them
 */

static int check_arg(const struct perf_event_trigger *arg)
{
	if (arg->when > PERF_TRIGGER_WHEN_SOFTLOCKUP || arg->action > PERF_TRIGGER_DO_SNAPSHOT)
		return -EINVAL;
	/* After panic() no timer and no worker runs: all that can be done is to stop now. */
	if (arg->when == PERF_TRIGGER_WHEN_PANIC &&
	    (arg->action != PERF_TRIGGER_DO_STOP || arg->after_ns))
		return -EINVAL;
	/* A snapshot would wait for RCU, and RCU for the CPU that is locked up. */
	if (arg->when == PERF_TRIGGER_WHEN_SOFTLOCKUP && arg->action != PERF_TRIGGER_DO_STOP)
		return -EINVAL;
	if (arg->after_ns > KTIME_MAX)
		return -EINVAL;
	if (strnlen(arg->label, sizeof(arg->label)) == sizeof(arg->label) ||
	    (arg->label[0] && !perf_persist_valid_label(arg->label)))
		return -EINVAL;
	return 0;
}

static int may_change(struct perf_persist_ns *ns)
{
	assert_registry();
	/* The triggers went with the last ordinary member. The namespace goes soon. */
	if (ns->unlinked || (ns->published && !first_ordinary_member(ns)))
		return -ENODEV;
	return perf_persist_may_write(ns);
}

static int link_trigger(struct perf_persist_ns *ns, struct perf_trigger *new)
{
	int ret;

	ret = may_change(ns);
	if (ret)
		return ret;
	if (ns->nr_triggers >= PERF_TRIGGERS_MAX)
		return -ENOSPC;
	if (new->arg.action == PERF_TRIGGER_DO_STOP)
		ns->nr_stoppers++;

	new->arg.number = ++ns->last_trigger;
	list_add_tail(&new->entry, &ns->triggers);
	ns->nr_triggers++;
	if (new->arg.when != PERF_TRIGGER_WHEN_EVENT)
		perf_trigger_add_fatal(new);
	perf_persist_changed(ns);
	return 0;
}

/**
 * perf_trigger_add - make a trigger, which no event fires yet
 * @ns:		the namespace, not a snapshot, on which the caller has a reference
 * @arg:	what it does, and when
 * @number:	out: its number
 *
 * Called without a lock.
 *
 * Return: 0, or see perf_trigger_ioctl().
 */
long perf_trigger_add(struct perf_persist_ns *ns, const struct perf_event_trigger *arg,
		      u32 *number)
{
	struct perf_trigger *new;
	long ret;

	ret = check_arg(arg);
	if (ret)
		return ret;
	new = alloc_trigger(ns, arg);
	if (!new)
		return -ENOMEM;

	mutex_lock(&perf_persist_lock);
	ret = link_trigger(ns, new);
	if (!ret)
		*number = new->arg.number;
	mutex_unlock(&perf_persist_lock);
	if (ret)
		kfree(new);
	return ret;
}

/* Can @event fire a trigger? */
static int check_event(struct perf_event *event)
{
	const struct perf_event_attr *attr = &event->attr;

	/*
	 * Other architectures step over a breakpoint only if its overflow handler is one
	 * that is_default_overflow_handler() knows.
	 */
	if (!event->member || (attr->type == PERF_TYPE_BREAKPOINT && !IS_ENABLED(CONFIG_X86)))
		return -EOPNOTSUPP;
	/* These have no overflow: a BPF program writes the record, or nobody. */
	if (attr->type == PERF_TYPE_SOFTWARE && (attr->config == PERF_COUNT_SW_BPF_OUTPUT ||
						 attr->config == PERF_COUNT_SW_DUMMY))
		return -EOPNOTSUPP;
	/*
	 * A PMU that writes samples to memory in batches calls the overflow handler only for
	 * the last one, unless each sample must wake up readers.
	 */
	if (attr->precise_ip && !attr->freq && (!attr->wakeup_events || attr->watermark))
		return -EOPNOTSUPP;
	return is_sampling_event(event) ? 0 : -EINVAL;
}

static struct perf_trigger *find_to_change(struct perf_persist_ns *ns, u32 number)
{
	struct perf_trigger *trigger;
	int ret;

	ret = may_change(ns);
	if (ret)
		return ERR_PTR(ret);
	trigger = find_trigger(ns, number);
	return trigger ?: ERR_PTR(-ENOENT);
}

static struct perf_trigger *find_to_fire(struct perf_persist_ns *ns, u32 number)
{
	struct perf_trigger *trigger = find_to_change(ns, number);

	if (!IS_ERR(trigger) && trigger->arg.when != PERF_TRIGGER_WHEN_EVENT)
		return ERR_PTR(-EINVAL);
	return trigger;
}

/* An event that is in no namespace joins, and leaves with the trigger. */
static int join_for_trigger(struct perf_persist_ns *ns, struct perf_event *event, bool *joined)
{
	int ret;

	*joined = false;
	if (READ_ONCE(event->member->state) != PERF_MEMBER_NONE)
		return 0;
	if (!perfmon_capable())
		return -EACCES;

	ret = perf_persist_join(ns, event, true);
	*joined = !ret;
	return ret;
}

static long link_event(struct perf_persist_ns *ns, u32 number, struct perf_event *event,
		       struct perf_action *action)
{
	struct perf_trigger *trigger = find_to_fire(ns, number);
	struct perf_member *member = event->member;
	int cpu;

	if (IS_ERR(trigger))
		return PTR_ERR(trigger);
	if (READ_ONCE(member->state) == PERF_MEMBER_DELETED)
		return -ENODEV;
	/* The member may have left meanwhile. */
	if (member->ns != ns || READ_ONCE(member->state) != PERF_MEMBER_PUBLISHED ||
	    member->action)
		return -EBUSY;

	link_action(trigger, action, member);
	/* No event can be made on a CPU that is going offline: it counts as missed. */
	for_each_cpu_andnot(cpu, cpu_possible_mask, cpu_active_mask)
		set_missed(trigger, cpu);
	perf_persist_changed(ns);
	return 0;
}

/**
 * perf_trigger_add_event - have one more event fire a trigger
 * @ns:		the namespace, on which the caller has a reference
 * @number:	number of the trigger
 * @event:	the event, which the caller has open and is allowed to change
 *
 * Called without a lock.
 *
 * Return: 0, or see perf_trigger_ioctl().
 */
long perf_trigger_add_event(struct perf_persist_ns *ns, u32 number, struct perf_event *event)
{
	struct perf_trigger *trigger;
	struct perf_action *action;
	bool joined;
	long ret;

	ret = check_event(event);
	if (ret)
		return ret;

	/* Fail before doing anything that others could notice. */
	mutex_lock(&perf_persist_lock);
	trigger = find_to_fire(ns, number);
	mutex_unlock(&perf_persist_lock);
	if (IS_ERR(trigger))
		return PTR_ERR(trigger);

	action = kzalloc(sizeof(*action), GFP_KERNEL_ACCOUNT);
	if (!action)
		return -ENOMEM;
	ret = join_for_trigger(ns, event, &joined);
	if (ret)
		goto err_free;

	mutex_lock(&perf_persist_lock);
	ret = link_event(ns, number, event, action);
	mutex_unlock(&perf_persist_lock);
	if (ret)
		goto err_joined;

	if (joined) {
		perf_event_enable(event);
		perf_persistent_changed(event);
	}
	return 0;

err_joined:
	if (joined)
		perf_persist_drop(event->member);
err_free:
	kfree(action);
	return ret;
}

/**
 * perf_trigger_miss - no event can be made on a CPU, as it is offline or lacks other members
 * @ns:		the namespace, on which the caller has a reference
 * @number:	number of the trigger
 * @cpu:	the CPU; if the namespace is for all CPUs, it gets the events of the trigger
 *		with the other members, or after them
 *
 * Called without a lock.
 *
 * Return: 0, or -EAGAIN if it has got them meanwhile: try again.
 */
int perf_trigger_miss(struct perf_persist_ns *ns, u32 number, int cpu)
{
	struct perf_trigger *trigger;

	guard(mutex)(&perf_persist_lock);
	if (!ns->unlinked && cpu_active(cpu) && perf_persist_member_on(ns, cpu))
		return -EAGAIN;
	trigger = find_trigger(ns, number);
	if (trigger)
		set_missed(trigger, cpu);
	return 0;
}

/*
 * Reading triggers
 */

/**
 * perf_trigger_get_next - what the user asked of the next trigger
 * @ns:		the namespace, on which the caller has a reference
 * @last:	number of the last trigger that the caller has seen, 0 to start with
 * @arg:	filled in, except for its size
 *
 * Called without a lock. The label is empty if the caller may not see what the namespace
 * records.
 *
 * Return: 0, -ENOENT if there are no more, or -ENODEV if the namespace was deleted.
 */
long perf_trigger_get_next(struct perf_persist_ns *ns, u32 last, struct perf_event_trigger *arg)
{
	struct perf_trigger *trigger;
	u32 size = arg->size;

	guard(mutex)(&perf_persist_lock);
	if (ns->unlinked)
		return -ENODEV;
	list_for_each_entry(trigger, &ns->triggers, entry) {
		if (trigger->arg.number <= last)
			continue;
		*arg = trigger->arg;
		arg->size = size;
		/* perffs makes the label from an event and its filter. */
		if (perf_persist_may_see(ns))
			memset(arg->label, 0, sizeof(arg->label));
		return 0;
	}
	return -ENOENT;
}

/**
 * perf_trigger_get_state - what a trigger has done
 * @ns:		the namespace, on which the caller has a reference
 * @number:	number of the trigger
 * @state:	filled in, except for its size
 *
 * Called without a lock.
 *
 * Return: 0, -ENOENT if there is none, or -ENODEV if the namespace was deleted.
 */
long perf_trigger_get_state(struct perf_persist_ns *ns, u32 number,
			    struct perf_event_trigger_state *state)
{
	struct perf_trigger *trigger;
	u32 size = state->size;

	guard(mutex)(&perf_persist_lock);
	if (ns->unlinked)
		return -ENODEV;
	trigger = find_trigger(ns, number);
	if (!trigger)
		return -ENOENT;

	*state = trigger->state;
	state->size = size;
	state->number = number;
	state->fired = atomic64_read(&trigger->fired);
	if (perf_trigger_is_spent(trigger))
		state->flags |= PERF_TRIGGER_SPENT;
	return 0;
}

/**
 * perf_trigger_arm - let a trigger act perf_event_trigger::times times again
 * @ns:		the namespace, on which the caller has a reference
 * @number:	number of the trigger
 *
 * This does not end its cool-down. Called without a lock.
 *
 * Return: 0, or see perf_trigger_ioctl().
 */
long perf_trigger_arm(struct perf_persist_ns *ns, u32 number)
{
	struct perf_trigger *trigger;

	guard(mutex)(&perf_persist_lock);
	trigger = find_to_change(ns, number);
	if (IS_ERR(trigger))
		return PTR_ERR(trigger);

	WRITE_ONCE(trigger->armed_at, READ_ONCE(trigger->started));
	perf_persist_changed(ns);
	return 0;
}

/**
 * perf_trigger_delete - delete a trigger
 * @ns:		the namespace, on which the caller has a reference
 * @number:	number of the trigger
 *
 * Nothing fires it any more when this returns. Called without a lock.
 *
 * Return: 0, or see perf_trigger_ioctl().
 */
long perf_trigger_delete(struct perf_persist_ns *ns, u32 number)
{
	struct perf_trigger *trigger;
	LIST_HEAD(triggers);
	LIST_HEAD(actions);

	mutex_lock(&perf_persist_lock);
	trigger = find_to_change(ns, number);
	if (!IS_ERR(trigger)) {
		unlink_trigger(trigger, &triggers, &actions);
		perf_persist_changed(ns);
	}
	mutex_unlock(&perf_persist_lock);

	free_triggers(&triggers, &actions);
	return PTR_ERR_OR_ZERO(trigger);
}

static void init_ns(struct perf_persist_ns *ns)
{
	INIT_LIST_HEAD(&ns->triggers);
}

static bool has_other_ordinary(struct perf_persist_ns *ns, struct perf_member *leaving)
{
	struct perf_member *member;

	for_each_ns_member(member, ns) {
		if (member != leaving && !member->for_trigger)
			return true;
	}
	return false;
}

/*
 * When the last ordinary member leaves, all triggers go, and with them the members that came
 * for a trigger.
 */
static void ns_leaving(struct perf_leaving *leaving)
{
	struct perf_persist_ns *ns = leaving->ns;
	struct perf_member *member = leaving->member;
	struct perf_trigger *trigger, *next;

	assert_registry();
	if (member && member->action)
		unlink_action(member->action, &leaving->actions);
	if (member && (member->for_trigger || has_other_ordinary(ns, member)))
		return;
	list_for_each_entry_safe(trigger, next, &ns->triggers, entry)
		unlink_trigger(trigger, &leaving->triggers, &leaving->actions);
}

static void ns_left(struct perf_leaving *leaving)
{
	free_triggers(&leaving->triggers, &leaving->actions);
}

static struct perf_persist_listener trigger_listener = {
	.init			= init_ns,
	.leaving		= ns_leaving,
	.left			= ns_left,
	.covering		= ns_covering,
	.covered		= ns_covered,
};

static int __init perf_trigger_init(void)
{
	perf_persist_listen(&trigger_listener);
	return 0;
}
subsys_initcall(perf_trigger_init);
