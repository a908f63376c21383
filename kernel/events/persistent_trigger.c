// SPDX-License-Identifier: GPL-2.0
/*
 * Triggers make a namespace of persistent events stop or take a snapshot of itself,
 * with no process alive.
 *
 * Members fire it. When one overflows, this is what happens where:
 *
 *   in the event's own context, which can be an NMI: its record is written, as
 *	ever. Then the decision, in a few loads and one compare-and-exchange; and
 *	buffers are stopped, if that is what it is for, with one store for each member
 *   in an irq_work: a timer is started, if it is to happen later
 *   in a worker: the snapshot is taken, and who waits is told
 *
 * A trigger is pending from the decision to the end of the worker, and what
 * fires meanwhile is only counted. After that it rests for several times as long:
 * the work is bounded, however often it fires, and if that is because of the work.
 */
#include <linux/file.h>
#include <linux/hrtimer.h>
#include <linux/init.h>
#include <linux/irq_work.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/perf_event.h>
#include <linux/perf_persistent.h>
#include <linux/rcupdate.h>
#include <linux/rculist.h>
#include <linux/security.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/time_namespace.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>
#include <linux/workqueue.h>

#include "internal.h"
#include "persistent.h"
#include "persistent_internal.h"

/* More than that is a mistake. */
#define PERF_TRIGGERS_MAX	64

/* What could not be done is not tried again before, however often it fires. */
#define PERF_TRIGGER_RETRY_NS	((u64)NSEC_PER_SEC)

/* What was done is not done again before, nor before so many times as long as it took. */
#define PERF_TRIGGER_REST_NS	(10ULL * NSEC_PER_MSEC)
#define PERF_TRIGGER_REST	4
#define PERF_TRIGGER_TOOK_MAX_NS	(2ULL * NSEC_PER_SEC)

/**
 * struct perf_trigger - when something happens, do something
 * @entry:	in perf_persist_ns::triggers
 * @fatal:	in perf_fatal_triggers, for panic and oops
 * @ns:		what it is about; valid until the trigger is gone
 * @arg:	what the user asked for
 * @actions:	of the members that fire it, struct perf_action
 * @fired:	how often they overflowed
 * @pending:	it has fired and is not done yet: who sets it owns what follows
 * @not_before:	until then it only counts, ns of CLOCK_BOOTTIME
 * @started:	how often it did more than that, and did not fail
 * @stopped:	there was something to stop
 * @fired_at:	when it became @pending, ns of CLOCK_BOOTTIME
 * @fired_mono:	the same, ns of CLOCK_MONOTONIC, which @timer goes by
 * @frozen_mono: when the last buffer was stopped or replaced, ns of CLOCK_MONOTONIC
 * @irq_work:	leaves the context of the event
 * @timer:	waits for perf_event_trigger::after_ns
 * @work:	does what needs to sleep
 * @rcu:	frees it
 *
 * @entry, @actions and @arg are protected by perf_persist_lock, but for what is
 * constant in @arg.
 */
struct perf_trigger {
	struct list_head		entry;
	struct list_head		fatal;
	struct perf_persist_ns		*ns;
	struct perf_event_trigger	arg;
	struct list_head		actions;
	atomic64_t			fired;
	atomic_t			pending;
	u64				not_before;
	u64				started;
	bool				stopped;
	u64				fired_at;
	u64				fired_mono;
	u64				frozen_mono;
	struct irq_work			irq_work;
	struct hrtimer			timer;
	struct work_struct		work;
	struct rcu_head			rcu;
};

/**
 * struct perf_action - what a member does when it overflows
 * @entry:	in perf_trigger::actions, then with others that are to be freed
 * @event:	the event of the member
 * @trigger:	what it fires
 * @handler:	its overflow handler, which writes the record
 */
struct perf_action {
	struct list_head	entry;
	struct perf_event	*event;
	struct perf_trigger	*trigger;
	perf_overflow_handler_t	handler;
};

/**
 * struct perf_stop_list - what there is to stop in a namespace
 * @rcu:	frees it
 * @nr:		number of events
 * @events:	those of its members; some have no buffer
 */
struct perf_stop_list {
	struct rcu_head		rcu;
	unsigned int		nr;
	struct perf_event	*events[] __counted_by(nr);
};

/* Triggers of panic() and of oopses: read under RCU, whatever else is broken. */
static LIST_HEAD(perf_fatal_triggers);
static unsigned int perf_nr_fatal_triggers;	/* under perf_persist_lock */

/*
 * Firing, in any context
 */

/*
 * Nobody writes a record that has not begun, whichever buffer it is for. False if
 * it is not known which there are, see update_stop_list().
 */
static bool stop_buffers(struct perf_persist_ns *ns)
{
	struct perf_stop_list *list;
	struct perf_buffer *rb;
	unsigned int i;

	guard(rcu)();
	list = rcu_dereference(ns->stop_list);
	if (!list)
		return false;

	/* What they do not take from here on is not lost. */
	for (i = 0; !READ_ONCE(ns->stopped) && i < list->nr; i++) {
		atomic64_set(&list->events[i]->member->lost_at_stop,
			     atomic64_read(&list->events[i]->lost_samples));
	}

	do {
		/* Pairs with smp_load_acquire() in perf_member_missed(). */
		smp_store_release(&ns->stopped, true);
		/* Pairs with those in swap_members() and follow_stop(). */
		smp_mb();
		/* Whoever is not in the list by now sees that it is to be stopped. */
		list = rcu_dereference(ns->stop_list) ?: list;
		for (i = 0; i < list->nr; i++) {
			rb = READ_ONCE(list->events[i]->rb);
			if (rb)
				rb_toggle_paused(rb, true);
		}
		/* Pairs with the one in resume(), which may undo half of it. */
		smp_mb();
	} while (!READ_ONCE(ns->stopped));
	return true;
}

static bool may_start(struct perf_trigger *trigger, u64 now)
{
	if (now < READ_ONCE(trigger->not_before))
		return false;
	return !trigger->arg.times || READ_ONCE(trigger->started) < trigger->arg.times;
}

/* True if it is the caller who has to see to it. */
static bool start_trigger(struct perf_trigger *trigger)
{
	u64 now = ktime_get_boot_fast_ns();

	atomic64_inc(&trigger->fired);
	if (atomic_read(&trigger->pending) || !may_start(trigger, now))
		return false;
	if (atomic_cmpxchg(&trigger->pending, 0, 1))
		return false;

	/* The last one may have ended just now. Pairs with atomic_set_release(). */
	if (!may_start(trigger, now)) {
		atomic_set_release(&trigger->pending, 0);
		return false;
	}
	WRITE_ONCE(trigger->started, trigger->started + 1);
	trigger->fired_at = now;
	trigger->fired_mono = ktime_get_mono_fast_ns();
	return true;
}

static void stop_now(struct perf_trigger *trigger)
{
	trigger->stopped = stop_buffers(trigger->ns);
	trigger->frozen_mono = ktime_get_mono_fast_ns();
}

static void fire_trigger(struct perf_trigger *trigger)
{
	if (!start_trigger(trigger))
		return;
	if (trigger->arg.action == PERF_TRIGGER_DO_STOP && !trigger->arg.after_ns)
		stop_now(trigger);
	irq_work_queue(&trigger->irq_work);
}

static void trigger_overflow(struct perf_event *event, struct perf_sample_data *data,
			     struct pt_regs *regs)
{
	struct perf_action *action;

	/* To be called is to have read the handler. Pairs with smp_store_release(). */
	smp_acquire__after_ctrl_dep();
	action = READ_ONCE(event->overflow_handler_context);
	/* The record first: what stops a buffer is the last thing that is in it. */
	if (READ_ONCE(event->rb))
		action->handler(event, data, regs);
	fire_trigger(action->trigger);
}

/**
 * perf_persistent_fatal - the kernel is in trouble
 * @panic:	it is panic(), and nothing that is deferred will be done
 *
 * Called in any context, with any lock held. Takes none.
 */
void perf_persistent_fatal(bool panic)
{
	static atomic_t fatal_cpu = ATOMIC_INIT(-1);
	u32 when = panic ? PERF_TRIGGER_WHEN_PANIC : PERF_TRIGGER_WHEN_OOPS;
	int none = -1, cpu = raw_smp_processor_id();
	unsigned int nr = READ_ONCE(perf_nr_fatal_triggers);
	struct perf_trigger *trigger;

	if (list_empty(&perf_fatal_triggers) || !rcu_is_watching())
		return;
	/* What is read here may be what is broken: not again, for the message's sake. */
	if (!atomic_try_cmpxchg(&fatal_cpu, &none, cpu) && (!panic || none == cpu))
		return;

	rcu_read_lock();
	list_for_each_entry_rcu(trigger, &perf_fatal_triggers, fatal) {
		/* A list that is broken may have no end. */
		if (!nr--)
			break;
		if (trigger->arg.when != when)
			continue;
		if (!panic)
			fire_trigger(trigger);
		else if (start_trigger(trigger))
			stop_now(trigger);
	}
	rcu_read_unlock();
	atomic_cmpxchg(&fatal_cpu, cpu, -1);
}

/*
 * After that
 */

/*
 * The worker is one of this CPU: it has to wait until all events that are about to record
 * what happened have done so.
 */
static void trigger_irq_work(struct irq_work *irq_work)
{
	struct perf_trigger *trigger = container_of(irq_work, struct perf_trigger, irq_work);

	if (trigger->arg.after_ns)
		hrtimer_start(&trigger->timer, ns_to_ktime(trigger->arg.after_ns),
			      HRTIMER_MODE_REL_HARD);
	else
		queue_work(system_long_wq, &trigger->work);
}

static enum hrtimer_restart trigger_timer(struct hrtimer *timer)
{
	struct perf_trigger *trigger = container_of(timer, struct perf_trigger, timer);

	if (trigger->arg.action == PERF_TRIGGER_DO_STOP)
		stop_now(trigger);
	queue_work(system_long_wq, &trigger->work);
	return HRTIMER_NORESTART;
}

static void trigger_worker(struct work_struct *work)
{
	struct perf_trigger *trigger = container_of(work, struct perf_trigger, work);
	struct perf_event_trigger *arg = &trigger->arg;
	struct perf_persist_ns *ns = trigger->ns;
	u64 start = ktime_get_ns(), took, now, due, until;
	unsigned int number = 0;
	long ret = 0;

	if (arg->action == PERF_TRIGGER_DO_SNAPSHOT)
		ret = perf_snapshot_take(ns, arg->number, &number, &trigger->frozen_mono);
	else if (!trigger->stopped)
		ret = -ENOMEM;

	mutex_lock(&perf_persist_lock);
	now = ktime_get_boottime_ns();
	took = min(ktime_get_ns() - start, PERF_TRIGGER_TOOK_MAX_NS);
	if (ret) {
		/* It counts neither for the cool-down nor for how often it may act. */
		WRITE_ONCE(trigger->started, trigger->started - 1);
		until = now + PERF_TRIGGER_RETRY_NS;
		arg->failed++;
		arg->error = -ret;
	} else {
		if (check_add_overflow(trigger->fired_at, arg->cool_down_ns, &until))
			until = U64_MAX;
		until = max3(until, now + PERF_TRIGGER_REST_NS, now + PERF_TRIGGER_REST * took);
		due = trigger->fired_mono + arg->after_ns;
		arg->acted++;
		arg->error = 0;
		arg->snapshot = number;
		arg->freeze_ns = trigger->frozen_mono > due ? trigger->frozen_mono - due : 0;
	}
	arg->last_fired_ns = trigger->fired_at;
	WRITE_ONCE(trigger->not_before, until);
	perf_persist_changed(ns);
	mutex_unlock(&perf_persist_lock);

	/* Pairs with atomic_cmpxchg() in start_trigger(). */
	atomic_set_release(&trigger->pending, 0);
}

/*
 * What there is to stop
 */

static bool may_stop(struct perf_persist_ns *ns)
{
	struct perf_trigger *trigger;

	assert_registry();
	list_for_each_entry(trigger, &ns->triggers, entry) {
		if (trigger->arg.action == PERF_TRIGGER_DO_STOP)
			return true;
	}
	return false;
}

/* Members came or left. -ENOMEM: what is to be stopped is not known. */
static int update_stop_list(struct perf_persist_ns *ns)
{
	struct perf_stop_list *list = NULL, *old;
	struct perf_member *member;
	unsigned int nr = 0;
	int ret = 0;

	assert_registry();
	if (may_stop(ns)) {
		for_each_ns_member(member, ns)
			nr++;
		list = kvzalloc(struct_size(list, events, nr), GFP_KERNEL);
		if (!list)
			ret = -ENOMEM;
	}
	if (list) {
		list->nr = nr;
		nr = 0;
		for_each_ns_member(member, ns)
			list->events[nr++] = member->event;
	}

	old = rcu_replace_pointer(ns->stop_list, list, lockdep_is_held(&perf_persist_lock));
	if (old)
		kvfree_rcu(old, rcu);
	if (ret)
		pr_notice_ratelimited("perf: persistent/%s/ cannot be stopped by its triggers: %pe\n",
				      ns->name, ERR_PTR(ret));
	return ret;
}

/* Members came, or have other buffers. When the namespace is stopped, these are, too. */
static void follow_stop(struct perf_persist_ns *ns)
{
	struct perf_member *member;

	assert_registry();
	/* Pairs with the one in stop_buffers(): one of us sees what the other did. */
	smp_mb();
	if (!READ_ONCE(ns->stopped))
		return;
	for_each_ns_member(member, ns) {
		if (member->rb)
			rb_toggle_paused(member->rb, true);
	}
}

/* Let the buffers of a namespace that was stopped go on. */
static void resume(struct perf_persist_ns *ns)
{
	struct perf_member *member;

	assert_registry();
	if (!READ_ONCE(ns->stopped))
		return;

	for_each_ns_member(member, ns) {
		u64 lost = atomic64_read(&member->event->lost_samples);

		/* A stop that comes before the next line finds it done up to here. */
		member->missed += lost - atomic64_read(&member->lost_at_stop);
		atomic64_set(&member->lost_at_stop, lost);
	}
	WRITE_ONCE(ns->stopped, false);
	/* Pairs with the second one in stop_buffers(): what it pauses now it pauses again. */
	smp_mb();
	for_each_ns_member(member, ns) {
		if (member->rb)
			rb_toggle_paused(member->rb, false);
	}
	/* A trigger that has stopped some of them meanwhile wins. */
	follow_stop(ns);
}

/*
 * Making and removing
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
	trigger->arg = (struct perf_event_trigger) {
		.when		= arg->when,
		.action		= arg->action,
		.after_ns	= arg->after_ns,
		.cool_down_ns	= arg->cool_down_ns,
		.times		= arg->times,
	};
	strscpy_pad(trigger->arg.label, arg->label);
	trigger->irq_work = IRQ_WORK_INIT_HARD(trigger_irq_work);
	hrtimer_init(&trigger->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
	trigger->timer.function = trigger_timer;
	INIT_WORK(&trigger->work, trigger_worker);
	return trigger;
}

/*
 * The members that fire it
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
	trigger->arg.nr_events++;
	/* Who still calls trigger_overflow() for the last one finds all of this one. */
	smp_store_release(&event->overflow_handler_context, (void *)action);
	/* Pairs with smp_acquire__after_ctrl_dep() in trigger_overflow(). */
	smp_store_release(&event->overflow_handler, trigger_overflow);
}

/* Its event fires nothing after a grace period. For free_actions(), without the lock */
static void unlink_action(struct perf_action *action, struct list_head *actions)
{
	assert_registry();
	WRITE_ONCE(action->event->overflow_handler, action->handler);
	refcount_inc(&action->event->member->openers); /* at least one: the namespace's */
	action->event->member->action = NULL;
	action->trigger->arg.nr_events--;
	list_move_tail(&action->entry, actions);
}

/* A grace period later. What came for the trigger leaves with it. */
static void free_actions(struct list_head *actions)
{
	struct perf_action *action, *next;

	list_for_each_entry_safe(action, next, actions, entry) {
		struct perf_event *event = action->event;

		/* Somebody else may have given the event another one. */
		cmpxchg(&event->overflow_handler_context, (void *)action, NULL);
		kfree(action);
		if (perf_persist_drop(event->member))
			perf_event_disable(event);
		perf_persist_put_opener(event); /* Matches refcount_inc() in unlink_action() */
	}
	INIT_LIST_HEAD(actions);
}

/* A member came that does what @model does. */
static void ns_covered(struct perf_member *model, struct perf_member *member)
{
	struct perf_action *action;

	assert_registry();
	if (!model->action || WARN_ON_ONCE(model->action->trigger->ns != member->ns))
		return;
	action = kzalloc(sizeof(*action), GFP_KERNEL);
	if (action)
		link_action(model->action->trigger, action, member);
	else
		pr_notice_ratelimited("perf: persistent/%s/ cannot fire trigger %u on CPU %d: %pe\n",
				      member->ns->name, perf_trigger_number(model),
				      member->event->cpu, ERR_PTR(-ENOMEM));
}

/* @trigger is on no list any more, and nothing fires it. */
static void free_trigger(struct perf_trigger *trigger)
{
	irq_work_sync(&trigger->irq_work);
	hrtimer_cancel(&trigger->timer);
	cancel_work_sync(&trigger->work);
	kfree_rcu(trigger, rcu);
}

/* For free_triggers() and free_actions(), without the lock */
static void unlink_trigger(struct perf_trigger *trigger, struct list_head *triggers,
			   struct list_head *actions)
{
	struct perf_action *action, *next;

	assert_registry();
	list_move(&trigger->entry, triggers);
	list_for_each_entry_safe(action, next, &trigger->actions, entry)
		unlink_action(action, actions);
	if (!list_empty(&trigger->fatal)) {
		list_del_rcu(&trigger->fatal);
		WRITE_ONCE(perf_nr_fatal_triggers, perf_nr_fatal_triggers - 1);
	}
}

/*
 * Without a lock, with a reference on the namespace. When it returns, none of
 * @triggers fires any more.
 */
static void free_triggers(struct list_head *triggers, struct list_head *actions)
{
	struct perf_trigger *trigger, *next;

	if (list_empty(triggers) && list_empty(actions))
		return;

	/* Who is in the middle of firing one */
	synchronize_rcu();
	free_actions(actions);
	list_for_each_entry_safe(trigger, next, triggers, entry) {
		list_del(&trigger->entry);
		free_trigger(trigger);
	}
}

/* What @trigger is found by is NULL for a new one, unless it can't be made. */
static long check_link(struct perf_persist_ns *ns, u32 number, struct perf_trigger **trigger)
{
	long ret;

	assert_registry();
	*trigger = NULL;
	if (ns->unlinked)
		return -ENODEV;
	ret = perf_persist_may_write(ns);
	if (ret)
		return ret;
	if (!number)
		return ns->nr_triggers < PERF_TRIGGERS_MAX ? 0 : -ENOSPC;

	*trigger = find_trigger(ns, number);
	if (!*trigger)
		return -ENOENT;
	return (*trigger)->arg.when == PERF_TRIGGER_WHEN_EVENT ? 0 : -EINVAL;
}

/*
 * A new one, or the one that gets another member; in the latter case @new is NULL.
 * @event is of a member, or NULL.
 */
static long link_trigger(struct perf_persist_ns *ns, struct perf_trigger *new, u32 *number,
			 struct perf_event *event, struct perf_action *action)
{
	struct perf_member *member = event ? event->member : NULL;
	struct perf_trigger *trigger;
	long ret;

	assert_registry();
	ret = check_link(ns, *number, &trigger);
	if (ret)
		return ret;
	/* It may have left since. */
	if (member && (member->ns != ns || READ_ONCE(member->state) != PERF_MEMBER_PUBLISHED ||
		       member->action))
		return -EBUSY;

	if (new) {
		trigger = new;
		new->arg.number = ++ns->last_trigger;
		list_add_tail(&new->entry, &ns->triggers);
		ns->nr_triggers++;
		ret = 0;
		if (new->arg.action == PERF_TRIGGER_DO_STOP && !rcu_access_pointer(ns->stop_list))
			ret = update_stop_list(ns);
		if (ret) {
			list_del_init(&new->entry);
			ns->nr_triggers--;
			return ret;
		}
		if (new->arg.when != PERF_TRIGGER_WHEN_EVENT) {
			list_add_tail_rcu(&new->fatal, &perf_fatal_triggers);
			WRITE_ONCE(perf_nr_fatal_triggers, perf_nr_fatal_triggers + 1);
		}
	}
	if (member)
		link_action(trigger, action, member);
	*number = trigger->arg.number;
	perf_persist_changed(ns);
	return 0;
}

static int check_arg(const struct perf_event_trigger *arg)
{
	bool has_event = arg->when == PERF_TRIGGER_WHEN_EVENT;
	bool has_fd = arg->fd >= 0;

	if (arg->flags || arg->__reserved)
		return -EINVAL;
	if (arg->number)
		return has_fd ? 0 : -EINVAL;
	if (arg->when > PERF_TRIGGER_WHEN_OOPS || arg->action > PERF_TRIGGER_DO_SNAPSHOT)
		return -EINVAL;
	if (has_event != has_fd)
		return -EINVAL;
	/* Nothing is done later when there is no later. */
	if (arg->when == PERF_TRIGGER_WHEN_PANIC &&
	    (arg->action != PERF_TRIGGER_DO_STOP || arg->after_ns))
		return -EINVAL;
	if (arg->after_ns > KTIME_MAX)
		return -EINVAL;
	if (strnlen(arg->label, sizeof(arg->label)) == sizeof(arg->label) ||
	    (arg->label[0] && !perf_persist_valid_label(arg->label)))
		return -EINVAL;
	return 0;
}

static_assert(sizeof(struct perf_event_trigger) == PERF_EVENT_TRIGGER_SIZE_VER0);

static long get_arg(struct perf_event_trigger *arg, struct perf_event_trigger __user *uarg)
{
	return perf_persist_get_struct(arg, sizeof(*arg), PERF_EVENT_TRIGGER_SIZE_VER0, uarg);
}

/* Can @event be what fires a trigger? */
static int check_event(struct perf_event *event)
{
	const struct perf_event_attr *attr = &event->attr;

	/*
	 * Elsewhere a breakpoint is stepped over only with the overflow handlers
	 * that is_default_overflow_handler() knows.
	 */
	if (!event->member || (attr->type == PERF_TYPE_BREAKPOINT && !IS_ENABLED(CONFIG_X86)))
		return -EOPNOTSUPP;
	/*
	 * What a PMU writes by itself and hands over in batches gets to no overflow
	 * handler but for the last; not if each is to wake somebody.
	 */
	if (attr->precise_ip && !attr->freq && (!attr->wakeup_events || attr->watermark))
		return -EOPNOTSUPP;
	return is_sampling_event(event) ? 0 : -EINVAL;
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

/* @event has an opener of the caller's, or is NULL. */
static long add_trigger_event(struct perf_persist_ns *ns, const struct perf_event_trigger *arg,
			      struct perf_event *event, u32 *number)
{
	struct perf_trigger *new = NULL, *trigger;
	struct perf_action *action = NULL;
	bool joined = false;
	long ret;

	/* Before anything is done that could be noticed */
	mutex_lock(&perf_persist_lock);
	ret = check_link(ns, *number, &trigger);
	mutex_unlock(&perf_persist_lock);
	if (ret)
		return ret;

	ret = -ENOMEM;
	if (!arg->number) {
		new = alloc_trigger(ns, arg);
		if (!new)
			return -ENOMEM;
	}
	if (event) {
		action = kzalloc(sizeof(*action), GFP_KERNEL_ACCOUNT);
		if (!action)
			goto err_free;
		ret = join_for_trigger(ns, event, &joined);
		if (ret)
			goto err_free;
	}

	mutex_lock(&perf_persist_lock);
	ret = link_trigger(ns, new, number, event, action);
	mutex_unlock(&perf_persist_lock);
	if (ret)
		goto err_joined;

	if (joined)
		perf_event_enable(event);
	return 0;

err_joined:
	if (joined)
		perf_persist_drop(event->member);
err_free:
	kfree(action);
	kfree(new);
	return ret;
}

static long add_trigger(struct perf_persist_ns *ns, struct perf_event_trigger __user *uarg)
{
	struct perf_event *event = NULL;
	struct perf_event_trigger arg;
	struct file *file = NULL;
	u32 number;
	long ret;

	ret = get_arg(&arg, uarg);
	if (!ret)
		ret = check_arg(&arg);
	if (ret)
		return ret;
	number = arg.number;
	/* Find out whether the answer can be given before there is one. */
	if (put_user(number, &uarg->number))
		return -EFAULT;

	if (arg.fd >= 0) {
		/* Not one that is for reading only */
		file = perf_event_get(arg.fd);
		if (IS_ERR(file))
			return PTR_ERR(file);
		event = file->private_data;
		ret = security_perf_event_write(event);
		if (!ret)
			ret = check_event(event);
	}
	if (!ret)
		ret = add_trigger_event(ns, &arg, event, &number);
	if (file)
		fput(file);
	if (ret)
		return ret;
	/* What is there is told by GET_TRIGGER, too. */
	return put_user(number, &uarg->number) ? -EFAULT : 0;
}

static long get_trigger(struct perf_persist_ns *ns, struct perf_event_trigger __user *uarg)
{
	struct perf_trigger *trigger;
	struct perf_event_trigger arg;
	long ret;
	u32 size;

	ret = get_arg(&arg, uarg);
	if (ret)
		return ret;
	size = arg.size;

	ret = -ENOENT;
	mutex_lock(&perf_persist_lock);
	if (ns->unlinked)
		ret = -ENODEV;
	list_for_each_entry(trigger, &ns->triggers, entry) {
		if (trigger->arg.number <= arg.number)
			continue;
		arg = trigger->arg;
		arg.size = size;
		arg.fd = -1;
		arg.fired = atomic64_read(&trigger->fired);
		if (arg.last_fired_ns)
			arg.last_fired_ns = timens_add_boottime_ns(arg.last_fired_ns);
		ret = 0;
		break;
	}
	mutex_unlock(&perf_persist_lock);
	if (ret)
		return ret;

	return perf_persist_put_struct(uarg, &arg, sizeof(arg));
}

static long del_trigger(struct perf_persist_ns *ns, unsigned long number)
{
	struct perf_trigger *trigger;
	LIST_HEAD(triggers);
	LIST_HEAD(actions);
	long ret;

	mutex_lock(&perf_persist_lock);
	trigger = number == (u32)number ? find_trigger(ns, number) : NULL;
	ret = ns->unlinked ? -ENODEV : trigger ? perf_persist_may_write(ns) : -ENOENT;
	if (!ret) {
		unlink_trigger(trigger, &triggers, &actions);
		ns->nr_triggers--;
		update_stop_list(ns);
		perf_persist_changed(ns);
	}
	mutex_unlock(&perf_persist_lock);

	free_triggers(&triggers, &actions);
	return ret;
}

/**
 * perf_is_trigger_ioctl - is it for perf_trigger_ioctl()
 * @cmd:	ioctl number
 *
 * Return: true if so, whatever size of its argument the caller knows of.
 */
bool perf_is_trigger_ioctl(unsigned int cmd)
{
	return perf_same_ioctl(cmd, PERF_EVENT_IOC_ADD_TRIGGER) ||
	       perf_same_ioctl(cmd, PERF_EVENT_IOC_GET_TRIGGER) ||
	       cmd == PERF_EVENT_IOC_DEL_TRIGGER;
}

/**
 * perf_trigger_ioctl - the ioctls of a namespace that have to do with triggers
 * @ns:		the namespace
 * @cmd:	ADD_TRIGGER, GET_TRIGGER or DEL_TRIGGER
 * @arg:	its argument
 *
 * Called without a lock; for a file that may be written to, unless it is
 * GET_TRIGGER.
 *
 * Return: 0, or
 *  -EFAULT	@arg is no address that can be read and written
 *  -EINVAL	a field is out of range, or does not go with another; the event
 *		does not sample, or has a buffer that is no member's; or a name is
 *		remembered from SET_NAME that is not the namespace's
 *  -E2BIG	the structure is larger than a page, or has fields that are not known
 *		here and not 0; its size now holds what the kernel knows
 *  -EOPNOTSUPP	it is a snapshot; or the event is one of a task, of a group, with
 *		an AUX area or sigtrap, a breakpoint on anything but x86, or
 *		precise with a period and without wakeup_events, as the PMU may
 *		then hand over several at once
 *  -EBADF	not the file of an event
 *  -EACCES	the file of the event is for reading only, or the caller lacks
 *		CAP_PERFMON
 *  -EBUSY	the event is a member of another namespace, or fires a trigger
 *  -ENOENT	no such trigger; GET_TRIGGER: no more of them
 *  -ENOMEM	out of memory
 *  -ENOSPC	too many triggers, or see kernel.perf_event_max_persistent
 *  -ENODEV	the namespace was deleted, or the one that the event was in
 */
long perf_trigger_ioctl(struct perf_persist_ns *ns, unsigned int cmd, unsigned long arg)
{
	if (is_snapshot(ns))
		return -EOPNOTSUPP;
	if (cmd == PERF_EVENT_IOC_DEL_TRIGGER)
		return del_trigger(ns, arg);
	if (perf_same_ioctl(cmd, PERF_EVENT_IOC_ADD_TRIGGER))
		return add_trigger(ns, (void __user *)arg);
	return get_trigger(ns, (void __user *)arg);
}

static void init_ns(struct perf_persist_ns *ns)
{
	INIT_LIST_HEAD(&ns->triggers);
}

static void ns_members_changed(struct perf_persist_ns *ns)
{
	update_stop_list(ns);
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

/* Triggers go with the last member that is ordinary, and the others with them. */
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
	update_stop_list(ns);
}

static void ns_left(struct perf_leaving *leaving)
{
	free_triggers(&leaving->triggers, &leaving->actions);
}

static struct perf_persist_listener trigger_listener = {
	.init			= init_ns,
	.members_changed	= ns_members_changed,
	.buffers_changed	= follow_stop,
	.enabled		= resume,
	.leaving		= ns_leaving,
	.left			= ns_left,
	.covered		= ns_covered,
};

static int __init perf_trigger_init(void)
{
	perf_persist_listen(&trigger_listener);
	return 0;
}
subsys_initcall(perf_trigger_init);
