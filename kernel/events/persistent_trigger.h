/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Between persistent_trigger.c and persistent_fire.c.
 */
#ifndef _KERNEL_EVENTS_PERSISTENT_TRIGGER_H
#define _KERNEL_EVENTS_PERSISTENT_TRIGGER_H

#include <linux/cpumask.h>
#include <linux/hrtimer.h>
#include <linux/irq_work.h>
#include <linux/list.h>
#include <linux/perf_event.h>
#include <linux/types.h>
#include <linux/workqueue.h>

struct perf_persist_ns;

/**
 * struct perf_trigger - when something happens, do something
 * @entry:	in perf_persist_ns::triggers
 * @fatal:	in perf_fatal_triggers, for panic, oops and soft lockup
 * @ns:		the namespace on which it acts; valid until the trigger is gone
 * @arg:	what the user asked for; constant
 * @state:	what it has done, except for perf_event_trigger_state::fired
 * @actions:	of the members that fire it, struct perf_action
 * @missed:	CPUs that were offline when an event was added to the trigger, or where an
 *		event of the trigger could not be made
 * @fired:	how often it fired
 * @pending:	it has fired and is not done yet. The context that sets this owns the fields
 *		below, except for @armed_at
 * @not_before:	until then it only counts how often it fires, ns of CLOCK_BOOTTIME
 * @started:	how many actions it has started that did not fail
 * @armed_at:	@started when it was armed the last time
 * @fired_at:	when it became @pending, ns of CLOCK_BOOTTIME
 * @fired_mono:	the same, ns of CLOCK_MONOTONIC, the clock of @timer
 * @fired_cpu:	the CPU on which it became @pending
 * @frozen_mono: when the last buffer was stopped or replaced, ns of CLOCK_MONOTONIC
 * @irq_work:	starts @timer or @work outside of the event's context
 * @timer:	waits for perf_event_trigger::after_ns
 * @work:	does everything that needs to sleep
 * @rcu:	frees it
 *
 * perf_persist_lock protects @entry, @actions, @missed and @state.
 */
struct perf_trigger {
	struct list_head		entry;
	struct list_head		fatal;
	struct perf_persist_ns		*ns;
	struct perf_event_trigger	arg;
	struct perf_event_trigger_state	state;
	struct list_head		actions;
	struct cpumask			missed;
	atomic64_t			fired;
	atomic_t			pending;
	u64				not_before;
	u64				started;
	u64				armed_at;
	u64				fired_at;
	u64				fired_mono;
	int				fired_cpu;
	u64				frozen_mono;
	struct irq_work			irq_work;
	struct hrtimer			timer;
	struct work_struct		work;
	struct rcu_head			rcu;
};

/**
 * struct perf_action - what a member does when it overflows
 * @entry:	in perf_trigger::actions, or in a list of actions to free
 * @event:	the event of the member
 * @trigger:	the trigger that it fires
 * @handler:	its original overflow handler, which writes the record
 */
struct perf_action {
	struct list_head	entry;
	struct perf_event	*event;
	struct perf_trigger	*trigger;
	perf_overflow_handler_t	handler;
};

bool perf_trigger_is_spent(struct perf_trigger *trigger);
void perf_trigger_overflow(struct perf_event *event, struct perf_sample_data *data,
			   struct pt_regs *regs);
void perf_trigger_add_fatal(struct perf_trigger *trigger);
void perf_trigger_del_fatal(struct perf_trigger *trigger);
void perf_trigger_init_work(struct perf_trigger *trigger);
void perf_trigger_cancel_work(struct perf_trigger *trigger);

#endif /* _KERNEL_EVENTS_PERSISTENT_TRIGGER_H */
