// SPDX-License-Identifier: GPL-2.0
/*
 * Triggers of persistent events fire, and their namespace stops or takes a snapshot of itself.
 * No process needs to be alive for that.
 *
 * Members fire a trigger when they overflow; panic() and oopses can fire one, too. When a
 * member does, this happens:
 *
 *   in the event's own context, which can be an NMI: the event writes its record
 *	as usual. A few loads and one compare-and-exchange decide whether to act. To
 *	stop the namespace, the trigger does one store for each member
 *   in an irq_work: start a timer, if the action has a delay
 *   in a worker, on any CPU: take the snapshot, and wake up processes that poll()
 *
 * A trigger is pending from the decision to the end of the worker, and only counts how
 * often it fires meanwhile. After that it rests for several times as long. This limits
 * the work however often the trigger fires, even if the work itself makes it fire.
 */
#include <linux/hrtimer.h>
#include <linux/init.h>
#include <linux/irq_work.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/perf_event.h>
#include <linux/perf_persistent.h>
#include <linux/rcupdate.h>
#include <linux/rculist.h>
#include <linux/smp.h>
#include <linux/stop_machine.h>
#include <linux/timekeeping.h>
#include <linux/workqueue.h>

#include "internal.h"
#include "persistent.h"
#include "persistent_internal.h"
#include "persistent_trigger.h"

/* A trigger that failed does not try again for this long, however often it fires. */
#define PERF_TRIGGER_RETRY_NS	((u64)NSEC_PER_SEC)

/*
 * A trigger that acted rests for PERF_TRIGGER_REST_NS, and for PERF_TRIGGER_REST times as long
 * as the action took.
 */
#define PERF_TRIGGER_REST_NS	(10ULL * NSEC_PER_MSEC)
#define PERF_TRIGGER_REST	4

/*
 * Snapshots must not wait until there is memory for one more worker. An action may be about that
 * very lack of memory.
 */
static struct workqueue_struct *perf_trigger_wq __ro_after_init;

/* Triggers for panic(), oopses and soft lockups. Read under RCU alone, as much may be broken. */
static LIST_HEAD(perf_fatal_triggers);
static unsigned int perf_nr_fatal_triggers;	/* under perf_persist_lock */

/*
 * Firing, in any context
 */

/**
 * perf_trigger_is_spent - has a trigger acted as often as it was asked to
 * @trigger:	the trigger; called in any context
 *
 * Return: true if so: it does nothing until it is armed again.
 */
bool perf_trigger_is_spent(struct perf_trigger *trigger)
{
	u64 started = READ_ONCE(trigger->started), armed_at = READ_ONCE(trigger->armed_at);

	/* If an action that began before arming fails, @started is too small for a moment. */
	return trigger->arg.times && started > armed_at &&
	       started - armed_at >= trigger->arg.times;
}

static bool may_start(struct perf_trigger *trigger, u64 now)
{
	/*
	 * What is stopped already cannot be stopped by this event. But a panic must not rely on
	 * a stop that has only begun.
	 */
	if (trigger->arg.action == PERF_TRIGGER_DO_STOP && READ_ONCE(trigger->ns->stopped) &&
	    trigger->arg.when != PERF_TRIGGER_WHEN_PANIC)
		return false;
	return now >= READ_ONCE(trigger->not_before) && !perf_trigger_is_spent(trigger);
}

/* Returns true if the caller must start the action. */
static bool start_trigger(struct perf_trigger *trigger)
{
	u64 now = ktime_get_boot_fast_ns();

	atomic64_inc(&trigger->fired);
	if (atomic_read(&trigger->pending) || !may_start(trigger, now))
		return false;
	if (atomic_cmpxchg(&trigger->pending, 0, 1))
		return false;

	/*
	 * Another action may have ended since the first check. atomic_cmpxchg() pairs with
	 * atomic_set_release() in trigger_worker().
	 */
	if (!may_start(trigger, now)) {
		atomic_set_release(&trigger->pending, 0);
		return false;
	}
	WRITE_ONCE(trigger->started, trigger->started + 1);
	trigger->fired_at = now;
	trigger->fired_mono = ktime_get_mono_fast_ns();
	trigger->fired_cpu = raw_smp_processor_id();
	return true;
}

static void stop_now(struct perf_trigger *trigger)
{
	perf_stop_now(trigger->ns);
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

/**
 * perf_trigger_overflow - overflow handler of members that fire a trigger
 * @event:	the member's event, which has its struct perf_action
 * @data:	of the sample
 * @regs:	of the sample
 *
 * Called in any context, with RCU read-side protection.
 */
void perf_trigger_overflow(struct perf_event *event, struct perf_sample_data *data,
			   struct pt_regs *regs)
{
	struct perf_action *action;

	/* The caller has read overflow_handler. Pairs with smp_store_release(). */
	smp_acquire__after_ctrl_dep();
	action = READ_ONCE(event->overflow_handler_context);
	/* The record first: the event that stops a buffer must be the last one in it. */
	if (READ_ONCE(event->rb))
		action->handler(event, data, regs);
	fire_trigger(action->trigger);
}

/* This CPU is in perf_persistent_fatal(). */
static DEFINE_PER_CPU(bool, in_fatal);

/**
 * perf_persistent_fatal - fire the triggers for panic, oops or soft lockup
 * @when:	which of these; no deferred work will run after PERF_TRIGGER_WHEN_PANIC
 *
 * Called in any context, with any lock held. Takes no lock.
 */
void perf_persistent_fatal(enum perf_event_trigger_when when)
{
	bool panic = when == PERF_TRIGGER_WHEN_PANIC;
	unsigned int nr = READ_ONCE(perf_nr_fatal_triggers);
	struct perf_trigger *trigger;

	if (list_empty(&perf_fatal_triggers) || !rcu_is_watching())
		return;
	/* No other task may run on this CPU while @in_fatal is set. */
	guard(preempt_notrace)();
	/* If reading the list causes an oops, do not read it again while that is reported. */
	if (raw_cpu_read(in_fatal))
		return;
	raw_cpu_write(in_fatal, true);

	rcu_read_lock();
	list_for_each_entry_rcu(trigger, &perf_fatal_triggers, fatal) {
		/* A broken list may have no end. */
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
	raw_cpu_write(in_fatal, false);
}

/**
 * perf_trigger_add_fatal - have perf_persistent_fatal() fire a trigger
 * @trigger:	the trigger, with the lock held
 */
void perf_trigger_add_fatal(struct perf_trigger *trigger)
{
	assert_registry();
	list_add_tail_rcu(&trigger->fatal, &perf_fatal_triggers);
	WRITE_ONCE(perf_nr_fatal_triggers, perf_nr_fatal_triggers + 1);
}

/**
 * perf_trigger_del_fatal - undo perf_trigger_add_fatal(), if it was called
 * @trigger:	the trigger, with the lock held; perf_persistent_fatal() may still be firing it
 *		for a grace period of RCU
 */
void perf_trigger_del_fatal(struct perf_trigger *trigger)
{
	assert_registry();
	if (list_empty(&trigger->fatal))
		return;
	list_del_rcu(&trigger->fatal);
	WRITE_ONCE(perf_nr_fatal_triggers, perf_nr_fatal_triggers - 1);
}

/*
 * After a trigger has fired
 */

/*
 * Let any CPU run the worker. This one may be isolated, or busy with a task that lets no
 * worker run.
 */
static void queue_worker(struct perf_trigger *trigger)
{
	queue_work(perf_trigger_wq, &trigger->work);
}

static void trigger_irq_work(struct irq_work *irq_work)
{
	struct perf_trigger *trigger = container_of(irq_work, struct perf_trigger, irq_work);

	if (trigger->arg.after_ns)
		hrtimer_start(&trigger->timer, ns_to_ktime(trigger->arg.after_ns),
			      HRTIMER_MODE_REL_HARD);
	else
		queue_worker(trigger);
}

static enum hrtimer_restart trigger_timer(struct hrtimer *timer)
{
	struct perf_trigger *trigger = container_of(timer, struct perf_trigger, timer);

	if (trigger->arg.action == PERF_TRIGGER_DO_STOP)
		stop_now(trigger);
	queue_worker(trigger);
	return HRTIMER_NORESTART;
}

static int do_nothing(void *unused)
{
	return 0;
}

/*
 * The cause of the event may make several other events record right after it. These should
 * be in the snapshot, too. They record with preemption disabled, so they are done when the
 * CPU has switched to another task.
 */
static void wait_for_records(struct perf_trigger *trigger)
{
	stop_one_cpu(trigger->fired_cpu, do_nothing, NULL);
}

static void trigger_worker(struct work_struct *work)
{
	struct perf_trigger *trigger = container_of(work, struct perf_trigger, work);
	struct perf_event_trigger_state *state = &trigger->state;
	struct perf_event_trigger *arg = &trigger->arg;
	struct perf_persist_ns *ns = trigger->ns;
	u64 start = ktime_get_ns(), took, now, due, until;
	unsigned int number = 0;
	long ret = 0;

	if (arg->action == PERF_TRIGGER_DO_SNAPSHOT) {
		/*
		 * After an oops, the CPU may never switch to another task again. After a delay
		 * its records are there, and it may be busy with something else.
		 */
		if (arg->when == PERF_TRIGGER_WHEN_EVENT && arg->after_ns < NSEC_PER_MSEC)
			wait_for_records(trigger);
		ret = perf_snapshot_take(ns, arg->number, &number, &trigger->frozen_mono);
	}

	mutex_lock(&perf_persist_lock);
	now = ktime_get_boottime_ns();
	took = ktime_get_ns() - start;
	if (ret) {
		/* A failure does not count for the cool-down or for arg->times. */
		WRITE_ONCE(trigger->started, trigger->started - 1);
		/* If it was armed meanwhile, @armed_at has counted the failed action, too. */
		if (trigger->armed_at > trigger->started)
			WRITE_ONCE(trigger->armed_at, trigger->started);
		until = now + PERF_TRIGGER_RETRY_NS;
		state->failed++;
		state->freeze_ns = 0;
		state->error = -ret;
	} else {
		if (check_add_overflow(trigger->fired_at, arg->cool_down_ns, &until))
			until = U64_MAX;
		until = max3(until, now + PERF_TRIGGER_REST_NS, now + PERF_TRIGGER_REST * took);
		due = trigger->fired_mono + arg->after_ns;
		state->acted++;
		state->error = 0;
		state->snapshot = number;
		state->freeze_ns = trigger->frozen_mono > due ? trigger->frozen_mono - due : 0;
	}
	state->last_fired_ns = trigger->fired_at;
	WRITE_ONCE(trigger->not_before, until);
	perf_persist_changed(ns);
	mutex_unlock(&perf_persist_lock);

	/* Pairs with atomic_cmpxchg() in start_trigger(). */
	atomic_set_release(&trigger->pending, 0);
}

/**
 * perf_trigger_init_work - prepare what happens after a new trigger has fired
 * @trigger:	the trigger, which nobody else can see yet
 */
void perf_trigger_init_work(struct perf_trigger *trigger)
{
	trigger->irq_work = IRQ_WORK_INIT_HARD(trigger_irq_work);
	hrtimer_setup(&trigger->timer, trigger_timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
	INIT_WORK(&trigger->work, trigger_worker);
}

/**
 * perf_trigger_cancel_work - wait until a trigger has acted, or will not act any more
 * @trigger:	the trigger, which nothing fires any more
 *
 * Called without a lock. Sleeps.
 */
void perf_trigger_cancel_work(struct perf_trigger *trigger)
{
	irq_work_sync(&trigger->irq_work);
	hrtimer_cancel(&trigger->timer);
	cancel_work_sync(&trigger->work);
}

static int __init perf_fire_init(void)
{
	perf_trigger_wq = alloc_workqueue("perf_trigger", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!perf_trigger_wq) {
		perf_persist_fail(-ENOMEM);
		return -ENOMEM;
	}
	return 0;
}
subsys_initcall(perf_fire_init);
