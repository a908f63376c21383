// SPDX-License-Identifier: GPL-2.0
/*
 * Fast path for samples of tracepoints and probes
 *
 * Most events of a tracepoint sample the same few fields, of a fixed size, at each hit. When
 * such an event is put on the list of its tracepoint, perf_tp_plan_make() notes the fields in
 * a plan. A sample is then reserved, written field by field, and published. This needs no
 * perf_sample_data in memory, and no code for periods or throttling.
 *
 * If the event is the first one of its tracepoint on this CPU, the record is written in place:
 * the tracepoint fills in its own fields right in the ring buffer, between perf_tp_begin() and
 * perf_tp_end(). User space can only read the data pages, and no other CPU writes to them.
 * So the kernel can read the record back, and copies it for the other events on the list
 * before anybody may overwrite it. If there are many events, the rest of them copy it from a
 * temporary buffer. Records are not written in place in buffers to which tasks on several CPUs
 * write.
 *
 * Events without a plan, and samples in an unusual situation, go the long way, through
 * perf_swevent_event(). The result is the same.
 */
#include <linux/kprobes.h>
#include <linux/perf_event.h>
#include <linux/pid_namespace.h>
#include <linux/sched/clock.h>
#include <linux/trace_events.h>
#include <linux/unaligned.h>

#include "internal.h"

/* Fields that samples with a plan may have. */
#define TP_FIELDS	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP |	\
			 PERF_SAMPLE_TID | PERF_SAMPLE_TIME |		\
			 PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |	\
			 PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |		\
			 PERF_SAMPLE_RAW)

/* Other bits of event->tp_plan. */
#define TP_IN_PLACE	BIT(31)		/* no filter */
#define TP_LOCAL_CLOCK	BIT(30)
#define TP_BACKWARD	BIT(29)

/* The usual plan of events with a long-lived buffer of one CPU. It has specialized code. */
#define TP_USUAL	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP |	\
			 PERF_SAMPLE_TID | PERF_SAMPLE_TIME |		\
			 PERF_SAMPLE_RAW |				\
			 TP_IN_PLACE | TP_LOCAL_CLOCK | TP_BACKWARD)

/* The plan of perf record --overwrite. It has specialized code for hits in tasks. */
#define TP_OVERWRITE	(TP_USUAL | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD)

/* A hit in the kernel: use event->tp_misc, in place of perf_misc_flags(). */
#define TP_MISC_KERNEL	(-1)

/* Maximum number of events that copy a record while interrupts are disabled. */
#define TP_MAX_COPIES	4

/* Bits of preempt_count() that go into a record unchanged, see tracing_gen_ctx_irq_pc(). */
#define TP_IN_TASK	0xfU

/*
 * Compute the plan of an event from its current state. Most of this state is fixed when the
 * event is created. Code that changes the rest must call perf_tp_plan_clear() or the PMU's
 * start().
 */
static u32 tp_plan(struct perf_event *event)
{
	struct perf_event_attr *attr = &event->attr;
	u32 plan = attr->sample_type;

	if ((attr->sample_type & ~TP_FIELDS) || !(plan & PERF_SAMPLE_RAW))
		return 0;

	/* Each hit is a sample, see perf_swevent_event(). */
	if (!is_sampling_event(event) || attr->freq ||
	    (!(plan & PERF_SAMPLE_PERIOD) && event->hw.sample_period != 1))
		return 0;

	/* Samples have no other effect, see __perf_event_overflow(). */
	if (attr->sigtrap || attr->aux_pause || attr->aux_resume ||
	    (!attr->watermark && attr->wakeup_events) ||
	    atomic_read(&event->event_limit) || READ_ONCE(event->fasync))
		return 0;

	/* No need to check each hit, or to translate ids and pids. */
	if (attr->exclude_kernel || (event->hw.state & PERF_HES_STOPPED) ||
	    event->parent || event->ns != &init_pid_ns)
		return 0;

	if (READ_ONCE(event->overflow_handler) == perf_event_output_backward)
		plan |= TP_BACKWARD;
	else if (READ_ONCE(event->overflow_handler) != perf_event_output_forward)
		return 0;

	/* Where local_clock() is inline, it has another address in each file. */
	if (!attr->use_clockid)
		plan |= TP_LOCAL_CLOCK;

	if (!READ_ONCE(event->filter) && perf_tp_has_in_place())
		plan |= TP_IN_PLACE;

	return plan;
}

/* Get the misc flags of hits in the kernel, outside of guests. */
static u16 tp_misc(struct perf_event *event)
{
	struct pt_regs regs = {};

	if (perf_guest_state())
		return PERF_RECORD_MISC_KERNEL;
	perf_fetch_caller_regs(&regs);
	return perf_misc_flags(event, &regs);
}

/**
 * perf_tp_plan_make - make the plan for the samples of an event
 * @event: an event of a tracepoint or probe, on this CPU
 *
 * The caller has interrupts disabled. The event may be on its list already.
 *
 * Return: true if its records can be written in place when it is the first on the list.
 */
bool perf_tp_plan_make(struct perf_event *event)
{
	u32 plan = tp_plan(event);

	lockdep_assert_irqs_disabled();
	if (!plan) {
		WRITE_ONCE(event->tp_plan, 0);
		return false;
	}
	event->tp_misc = tp_misc(event);
	event->tp_size = sizeof(struct perf_event_header) + event->header_size +
			 event->id_header_size + sizeof(u32);
	/* NMI handlers may use the plan as soon as it is set. */
	barrier();
	WRITE_ONCE(event->tp_plan, plan);
	smp_mb(); /* A, matches B */
	if (tp_plan(event) != plan)
		WRITE_ONCE(event->tp_plan, 0);
	return READ_ONCE(event->tp_plan) & TP_IN_PLACE;
}

/**
 * perf_tp_plan_clear - make the samples of an event go the long way
 * @event: an event of any kind
 *
 * Called after a change of the state that tp_plan() checks. The next perf_tp_plan_make()
 * may make a plan again.
 */
void perf_tp_plan_clear(struct perf_event *event)
{
	/*
	 *	make				clear
	 *
	 *	STORE event->tp_plan		STORE what changed
	 *	smp_mb()	(A)		smp_mb()	(B)
	 *	LOAD what changed		STORE event->tp_plan = 0
	 *
	 * Either make sees the change, or clear overwrites its plan.
	 */
	smp_mb(); /* B, matches A */
	WRITE_ONCE(event->tp_plan, 0);
}

/* Publish the record, with those of writers that interrupted it. Wake up readers if needed. */
static __always_inline void tp_publish(struct perf_tp_sample *sample, bool in_place)
{
	struct perf_buffer *rb = sample->rb;

	if (in_place) {
		/* The record must be complete before others may overwrite it. */
		barrier();
		WRITE_ONCE(rb->in_place, 0);
		/* A record in place is always that of the outermost writer. */
		rb_publish_outermost(rb);
	} else if (!rb_publish(rb)) {
		return;
	}
	if (unlikely(sample->wakeup != local_read(&rb->wakeup)))
		perf_output_wakeup(rb, sample->event);
}

/* An interrupting writer wrote a record, and relies on the interrupted one to publish it. */
static noinline void tp_interrupted(struct perf_tp_sample *sample, bool in_place)
{
	tp_publish(sample, in_place);
}

/* Can a record cross into the next page? It can if the pages are contiguous in memory. */
static __always_inline bool
tp_may_cross(struct perf_buffer *rb, unsigned long start, unsigned int len)
{
	unsigned int page = start >> (PAGE_SHIFT + page_order(rb)), mask = rb->nr_pages - 1;
	unsigned long page_size = PAGE_SIZE << page_order(rb);

	return len <= page_size &&
	       rb->data_pages[page & mask] + page_size == rb->data_pages[(page + 1) & mask];
}

/*
 * Reserve a sample with @size bytes of raw data, and write all fields before the raw data. The
 * caller writes the raw data to @raw, and then calls tp_publish(). Returns false if the sample
 * must go the long way. Called with interrupts disabled.
 */
static __always_inline bool
tp_reserve(struct perf_tp_sample *sample, struct perf_event *event, const u32 plan,
	   const bool in_place, unsigned int size, u64 count, unsigned long ip,
	   int misc, void **raw)
{
	const bool backward = plan & TP_BACKWARD;
	unsigned long offset, head, start, page_size;
	struct perf_sample_data data __uninitialized;
	struct perf_event_header header;
	struct perf_buffer *rb;
	unsigned int len, page;
	u64 state, *p;

	sample->event = event;
	sample->ip = ip;
	/* This would be rcu_dereference_sched() if event->rb were marked __rcu. */
	rb = READ_ONCE(event->rb);
	if (unlikely(!rb))
		return false;

	/*
	 * Samples must be in the order of time. So read the head before the clock: a writer
	 * that interrupts now moves the head, and the cmpxchg below fails. Call the clock
	 * first, as the call clobbers registers. Values that are needed after the call are
	 * kept in @sample, so that no callee-saved registers have to be saved for them.
	 */
	sample->head = local_read(&rb->head);
	barrier();
	if (plan & PERF_SAMPLE_TIME)
		data.time = plan & TP_LOCAL_CLOCK ? local_clock_noinstr() : event->clock();
	barrier();
	event = sample->event;
	offset = sample->head;

	if (unlikely(local_read(&rb->lost)))
		return false;
	if ((plan & PERF_SAMPLE_TID) && unlikely(!perf_task_has_pids(current)))
		return false;

	/* The record must be contiguous in memory: the tracepoint writes it as a struct. */
	len = event->tp_size + size;
	page_size = PAGE_SIZE << page_order(rb);
	head = backward ? offset - len : offset + len;
	start = backward ? head : offset;
	if (unlikely((start & (page_size - 1)) + len > page_size) && !tp_may_cross(rb, start, len))
		return false;

	/*
	 * Go the long way if the buffer is paused. A record in place also cannot be nested in
	 * another record, or be in a buffer to which other CPUs write.
	 */
	state = READ_ONCE(rb->state);
	if (!in_place)
		state &= RB_OVERWRITE | RB_PAUSED;
	if (unlikely(state != RB_OVERWRITE)) {
		if (state)
			return false;
		if (!ring_buffer_has_space(offset, READ_ONCE(rb->user_page->data_tail),
					   perf_data_size(rb), len, backward))
			return false;
	}
	sample->wakeup = local_read(&rb->wakeup);
	if (unlikely((backward ? -head : head) - sample->wakeup > rb->watermark))
		return false;
	if (!in_place && unlikely(!rb_may_reserve(rb, head, backward)))
		return false;

	sample->rb = rb;
	if (in_place) {
		WRITE_ONCE(rb->nest, 1);
		/* Keep interrupting writers from overwriting the record until it is done. */
		WRITE_ONCE(rb->in_place, offset + 1);
	} else {
		WRITE_ONCE(rb->nest, READ_ONCE(rb->nest) + 1);
	}
	if (unlikely(!local_try_cmpxchg(&rb->head, &offset, head))) {
		tp_interrupted(sample, in_place);
		return false;
	}
	sample->head = head;
	local64_add(count, &event->count);

	page = start >> (PAGE_SHIFT + page_order(rb));
	p = rb->data_pages[page & (rb->nr_pages - 1)] + (start & (page_size - 1));

	header.type = PERF_RECORD_SAMPLE;
	header.misc = misc == TP_MISC_KERNEL ? event->tp_misc : misc;
	header.size = len;
	data.id = event->id;
	data.ip = sample->ip;
	data.tid_entry.pid = current->tgid;
	data.tid_entry.tid = current->pid;
	data.stream_id = event->id;
	data.cpu_entry.cpu = raw_smp_processor_id();
	data.cpu_entry.reserved = 0;
	data.period = count;
	output_sample_words(p, plan & TP_FIELDS, &header, &data);
	*raw = (void *)p + event->tp_size;
	*(u32 *)(*raw - sizeof(u32)) = size;
	return true;
}

static __always_inline void tp_unguard(struct perf_tp_sample *sample)
{
	local_irq_restore(sample->flags);
	barrier();
	current->perf_recursion[sample->rctx] = 0;
}

/*
 * If a task oopses while it fills in a record, it dies and never publishes the record. Others
 * would take it for a writer that they have interrupted, and rely on it to publish theirs, for
 * ever. We are in a task, and the guard against recursion says that we have interrupted none:
 * if there is a record in place, it is such a one.
 */
static noinline void tp_abandoned(struct perf_event *event)
{
	struct perf_buffer *rb = READ_ONCE(event->rb);

	if (likely(!rb || !READ_ONCE(rb->in_place)))
		return;
	WRITE_ONCE(rb->in_place, 0);
	barrier();
	if (READ_ONCE(rb->nest))
		WRITE_ONCE(rb->nest, READ_ONCE(rb->nest) - 1);
}

/*
 * Begin a record in place, for an event with this plan. With @in_task, no interrupt is being
 * handled, so preempt_count() is just the depth of disabled preemption. If the hit was in user
 * space, @user has its registers, and @ip is not used.
 */
static __always_inline bool
tp_begin_plan(struct perf_tp_sample *sample, struct perf_event *event, const u32 plan,
	      const bool in_task, unsigned int size, unsigned long ip, struct pt_regs *user,
	      void **raw)
{
	int rctx = in_task ? 0 : interrupt_context_level();
	u8 *recursion = &current->perf_recursion[rctx];
	int misc = TP_MISC_KERNEL;
	unsigned int ctx, pc;
	void *record;

	/*
	 * Guard against recursion: filling in the fields may hit other tracepoints. Throttling
	 * needs no check: only hits with a count above one throttle an event, and tracepoints
	 * with such hits do not come here.
	 */
	if (unlikely(*recursion))
		return false;
	*recursion = 1;
	sample->rctx = rctx;
	barrier();

	/*
	 * As in perf_swevent_event(), disabled interrupts keep IPIs from removing the event
	 * now. Once it is removed it has no plan, and gets no more records.
	 */
	local_irq_save(sample->flags);
	if (user) {
		/* These functions look at segments, which an interrupt may change. */
		misc = perf_misc_flags(event, user);
		ip = perf_instruction_pointer(event, user);
	}
	if (unlikely(READ_ONCE(event->tp_plan) != plan) ||
	    unlikely(!tp_reserve(sample, event, plan, true, size, 1, ip, misc, &record))) {
		if (!rctx)
			tp_abandoned(event);
		tp_unguard(sample);
		return false;
	}

	/* The fields may not fill the last word: do not show old contents of the buffer. */
	put_unaligned(0ULL, (u64 *)(record + size - sizeof(u64)));

	pc = preempt_count();
	if (in_task)
		pc &= TP_IN_TASK;
	ctx = tracing_gen_ctx_flags_pc(sample->flags, pc);
	tracing_generic_entry_update(record, sample->event->tp_event->event.type, ctx);
	*raw = record;
	return true;
}

/* Can a record of the first event be written in place? */
static __always_inline bool tp_may_begin(struct hlist_node *first, unsigned int size)
{
	if (unlikely(!first))
		return false;
	/* A page limits the size of a record. Larger pages must not raise PERF_MAX_TRACE_SIZE. */
	if ((IS_ENABLED(CONFIG_PERF_USE_VMALLOC) || PAGE_SIZE > PERF_MAX_TRACE_SIZE) &&
	    unlikely(size > PERF_MAX_TRACE_SIZE))
		return false;
	return likely(!perf_guest_state());
}

/* Begin a record in an interrupt, of a hit in user space, or with a plan without own code. */
static noinline void *tp_begin_any(struct perf_tp_sample *sample, struct hlist_node *first,
				   unsigned int size, unsigned long ip, struct pt_regs *user)
{
	struct perf_event *event;
	void *record;
	u32 plan;
	bool ret;

	if (!tp_may_begin(first, size))
		return NULL;
	event = hlist_entry(first, struct perf_event, hlist_entry);
	plan = READ_ONCE(event->tp_plan);
	if (!(plan & TP_IN_PLACE))
		return NULL;
	if (likely(plan == TP_USUAL))
		ret = tp_begin_plan(sample, event, TP_USUAL, false, size, ip, user, &record);
	else
		ret = tp_begin_plan(sample, event, plan, false, size, ip, user, &record);
	return ret ? record : NULL;
}
NOKPROBE_SYMBOL(tp_begin_any);

/* Is this a task outside of interrupts, and does the first event have this plan? */
static __always_inline bool
tp_in_task(struct hlist_node *first, const u32 plan, unsigned int size)
{
	struct perf_event *event = hlist_entry(first, struct perf_event, hlist_entry);

	return tp_may_begin(first, size) && likely(READ_ONCE(event->tp_plan) == plan) &&
	       likely(!(preempt_count() & ~TP_IN_TASK));
}

static __always_inline bool
tp_begin_in_task(struct perf_tp_sample *sample, struct hlist_node *first, const u32 plan,
		 unsigned int size, unsigned long ip, void **raw)
{
	struct perf_event *event = hlist_entry(first, struct perf_event, hlist_entry);

	return likely(tp_begin_plan(sample, event, plan, true, size, ip, NULL, raw));
}

/*
 * The other events on the list get a copy of the record when it is complete. They also need
 * registers: without @regs, the caller must fetch them to sample->regs.
 *
 * Padding between the fields of a record has old contents of the first event's buffer, and the
 * copies have it, too. This leaks nothing: unprivileged users can only sample system calls and
 * uprobes, see TRACE_EVENT_FL_CAP_ANY, whose records have no padding.
 */
static noinline void *
tp_begin_first(struct perf_tp_sample *sample, void *record, struct pt_regs *regs)
{
	sample->first_rb = sample->rb;
	sample->rb = NULL;
	sample->regs = regs;
	if (!regs)
		sample->regs = perf_trace_buf_regs(sample->rctx);
	sample->record = record;
	sample->size = *(u32 *)(record - sizeof(u32));
	return record;
}
NOKPROBE_SYMBOL(tp_begin_first);

/* A record has begun. The list of events does not change while interrupts are disabled. */
static __always_inline void *
tp_begun(struct perf_tp_sample *sample, void *record, struct pt_regs *regs)
{
	if (unlikely(READ_ONCE(sample->event->hlist_entry.next)))
		return tp_begin_first(sample, record, regs);
	return record;
}

/* The head has moved: another record was written after ours. Publish it, too. */
static noinline void tp_end_again(struct perf_tp_sample *sample)
{
	WRITE_ONCE(sample->rb->nest, 1);
	tp_publish(sample, true);
	tp_unguard(sample);
}

static __always_inline void tp_end(struct perf_tp_sample *sample)
{
	struct perf_buffer *rb = sample->rb;

	/* Like tp_publish(). If the head has not moved, no other writer asked for a wake-up. */
	barrier();
	WRITE_ONCE(rb->in_place, 0);
	if (likely(rb_publish_head(rb, sample->head)))
		tp_unguard(sample);
	else
		tp_end_again(sample);
}

/**
 * perf_tp_copy - write a sample of an event that has a plan
 * @event: the event; the record has passed its filter
 * @record: the record, which the tracepoint has filled in
 * @size: size of the record
 * @count: how much the hit counts
 * @regs: registers at the hit
 *
 * The caller has preemption disabled.
 *
 * Return: false if the sample must be written the long way.
 */
bool perf_tp_copy(struct perf_event *event, void *record, unsigned int size, u64 count,
		  struct pt_regs *regs)
{
	struct perf_tp_sample sample;
	unsigned long ip, misc;
	void *to;
	u32 plan;
	bool ret;

	/* Records of user_events can have any size. */
	if (unlikely(!regs || !IS_ALIGNED(size + sizeof(u32), sizeof(u64))))
		return false;

	guard(irqsave)();
	/* These functions look at segments, which an interrupt may change. */
	misc = perf_misc_flags(event, regs);
	ip = perf_instruction_pointer(event, regs);
	plan = READ_ONCE(event->tp_plan);
	if (unlikely(!plan))
		return false;
	/* Without the period in the sample, a count above one makes several, or throttles. */
	if (!(plan & PERF_SAMPLE_PERIOD) &&
	    (count != 1 || event->hw.interrupts == MAX_INTERRUPTS))
		return false;
	/* An event with a filter lacks TP_IN_PLACE, but this code does not need that bit. */
	if (likely((plan | TP_IN_PLACE) == TP_USUAL))
		ret = tp_reserve(&sample, event, TP_USUAL, false, size, count, ip, misc, &to);
	else
		ret = tp_reserve(&sample, event, plan, false, size, count, ip, misc, &to);
	if (unlikely(!ret))
		return false;
	memcpy(to, record, size);
	tp_publish(&sample, false);
	return true;
}

/* Like perf_tp_copy(), for an event with the usual plan, and a record that is in place. */
static __always_inline bool tp_copy_first(struct perf_tp_sample *first, struct perf_event *event)
{
	struct perf_event_header *header = first->record - first->event->tp_size;
	unsigned long ip = instruction_pointer(first->regs);
	struct perf_tp_sample sample;
	void *to;

	if (unlikely(header->misc != PERF_RECORD_MISC_KERNEL))
		ip = perf_instruction_pointer(event, first->regs);
	if (unlikely(READ_ONCE(event->tp_plan) != TP_USUAL) ||
	    unlikely(!tp_reserve(&sample, event, TP_USUAL, false, first->size, 1, ip,
				 header->misc, &to)))
		return false;
	memcpy(to, first->record, first->size);
	tp_publish(&sample, false);
	return true;
}

/*
 * Let @event and the rest of the list copy the record from the temporary buffer, with
 * interrupts enabled: any user can have many events on system calls, with call chains. As in
 * perf_tp_event(), events may come and go meanwhile.
 */
static noinline void tp_end_many(struct perf_tp_sample *sample, struct perf_event *event)
{
	void *record = perf_trace_buf_get(sample->rctx);

	memcpy(record, sample->record, sample->size);
	tp_publish(sample, true);
	/* The recursion guard still protects the temporary buffer and the registers. */
	local_irq_restore(sample->flags);

	hlist_for_each_entry_from_rcu(event, hlist_entry)
		perf_tp_event_one(event, record, sample->size, sample->regs);
	barrier();
	current->perf_recursion[sample->rctx] = 0;
}
NOKPROBE_SYMBOL(tp_end_many);

/* Copy the record for the other events, and publish it. */
static noinline void tp_end_first(struct perf_tp_sample *sample)
{
	struct perf_event *event = sample->event;
	int copies = 0;

	sample->rb = sample->first_rb;
	hlist_for_each_entry_continue_rcu(event, hlist_entry) {
		if (unlikely(copies++ == TP_MAX_COPIES))
			return tp_end_many(sample, event);
		if (tp_copy_first(sample, event))
			continue;
		/* In a small buffer there is no room beside the record that is in place. */
		if (!READ_ONCE(event->tp_plan) || READ_ONCE(event->rb) == sample->first_rb)
			return tp_end_many(sample, event);
		perf_tp_event_one(event, sample->record, sample->size, sample->regs);
	}
	tp_end(sample);
}
NOKPROBE_SYMBOL(tp_end_first);

/* Begin a record in a temporary buffer, which perf_tp_event() copies. */
static __always_inline void *
tp_begin_temporary(struct perf_tp_sample *sample, struct trace_event_call *call,
		   struct hlist_head *head, int size, u64 count, struct task_struct *task,
		   struct pt_regs **regs)
{
	void *record;

	record = perf_trace_buf_alloc(size, regs, &sample->rctx);
	sample->rb = NULL;
	sample->first_rb = NULL;
	sample->call = call;
	sample->events = head;
	sample->record = record;
	sample->size = size;
	sample->count = count;
	sample->task = task;
	return record;
}

/* The part of tp_begin_in_place() that is not inlined. */
static noinline void *
tp_begin_probe(struct perf_tp_sample *sample, struct hlist_head *head, unsigned int size,
	       struct pt_regs *regs)
{
	void *record;

	record = tp_begin_any(sample, READ_ONCE(head->first), size, instruction_pointer(regs),
			      user_mode(regs) ? regs : NULL);
	return record ? tp_begun(sample, record, regs) : NULL;
}
NOKPROBE_SYMBOL(tp_begin_probe);

static noinline void *
tp_begin_probe_temporary(struct perf_tp_sample *sample, struct trace_event_call *call,
			 struct hlist_head *head, unsigned int size, struct pt_regs *regs)
{
	sample->regs = regs;
	return tp_begin_temporary(sample, call, head, size, 1, NULL, NULL);
}
NOKPROBE_SYMBOL(tp_begin_probe_temporary);

static __always_inline void *
tp_begin_in_place(struct perf_tp_sample *sample, struct hlist_head *head, unsigned int size,
		  struct pt_regs *regs)
{
	struct hlist_node *first = READ_ONCE(head->first);
	void *record;

	if (!user_mode(regs) && tp_in_task(first, TP_USUAL, size) &&
	    tp_begin_in_task(sample, first, TP_USUAL, size, instruction_pointer(regs), &record))
		return tp_begun(sample, record, regs);
	return tp_begin_probe(sample, head, size, regs);
}

#if IS_ENABLED(CONFIG_PERF_OUTPUT_KUNIT_TEST)
/* The tests use this because temporary buffers may not be allocated when they run. */
void *perf_tp_begin_in_place(struct perf_tp_sample *sample, struct hlist_head *head,
			     unsigned int size, struct pt_regs *regs)
{
	return tp_begin_in_place(sample, head, size, regs);
}
#endif

/**
 * perf_tp_begin - begin a record of a probe or a system call
 * @sample: for perf_tp_end()
 * @call: the probe
 * @head: its events on this CPU
 * @size: size of the record, including struct trace_entry; 4 mod 8
 * @regs: registers at the hit
 *
 * The caller has preemption disabled and has run the BPF programs of the probe. It fills in
 * the fields after struct trace_entry, which must not sleep, and calls perf_tp_end().
 * Interrupts may be disabled until then, also while a probe copies strings of the user.
 *
 * Return: pointer to the record, or %NULL if nothing must be recorded.
 */
void *perf_tp_begin(struct perf_tp_sample *sample, struct trace_event_call *call,
		    struct hlist_head *head, unsigned int size, struct pt_regs *regs)
{
	void *record = tp_begin_in_place(sample, head, size, regs);

	if (likely(record))
		return record;
	return tp_begin_probe_temporary(sample, call, head, size, regs);
}
NOKPROBE_SYMBOL(perf_tp_begin);

static noinline void tp_end_probe(struct perf_tp_sample *sample)
{
	if (sample->first_rb)
		return tp_end_first(sample);
	perf_tp_event(sample->call->event.type, sample->count, sample->record, sample->size,
		      sample->regs, sample->events, sample->rctx, sample->task);
}
NOKPROBE_SYMBOL(tp_end_probe);

/**
 * perf_tp_end - finish a record that a probe or a system call has filled in
 * @sample: from perf_tp_begin()
 */
void perf_tp_end(struct perf_tp_sample *sample)
{
	if (likely(sample->rb))
		tp_end(sample);
	else
		tp_end_probe(sample);
}
NOKPROBE_SYMBOL(perf_tp_end);

/**
 * perf_trace_begin_task - begin a record of a tracepoint that is about a task
 * @sample: for perf_trace_end()
 * @call: the tracepoint
 * @size: size of the record, including struct trace_entry
 * @count: how much the hit counts
 * @task: the task whose events get the record, too, or %NULL
 *
 * Like perf_trace_begin(), but always uses a temporary buffer. The caller fetches its
 * registers to sample->regs.
 *
 * Return: pointer to the record, or %NULL if nothing must be recorded.
 */
noinline void *perf_trace_begin_task(struct perf_tp_sample *sample,
				     struct trace_event_call *call, int size,
				     u64 count, struct task_struct *task)
{
	return tp_begin_temporary(sample, call, this_cpu_ptr(call->perf_events), size, count,
				  task, &sample->regs);
}
EXPORT_SYMBOL_GPL(perf_trace_begin_task);
NOKPROBE_SYMBOL(perf_trace_begin_task);

static noinline void *
perf_trace_begin_any(struct perf_tp_sample *sample, struct trace_event_call *call,
		     struct hlist_node *first, int size, unsigned long ip)
{
	void *record;

	if (!tp_in_task(first, TP_OVERWRITE, size))
		record = tp_begin_any(sample, first, size, ip, NULL);
	else if (!tp_begin_in_task(sample, first, TP_OVERWRITE, size, ip, &record))
		record = NULL;
	if (!record)
		return perf_trace_begin_task(sample, call, size, 1, NULL);
	return tp_begun(sample, record, NULL);
}
NOKPROBE_SYMBOL(perf_trace_begin_any);

/**
 * perf_trace_begin - begin a record of a tracepoint
 * @sample: for perf_trace_end()
 * @call: the tracepoint
 * @first: the first of its events on this CPU, or %NULL
 * @size: size of the record, including struct trace_entry; 4 mod 8
 * @ip: instruction pointer of the hit
 *
 * The caller fetches its registers to sample->regs unless sample->rb is set, fills in the
 * fields after struct trace_entry, and calls perf_trace_end().
 *
 * Return: pointer to the record, or %NULL if nothing must be recorded.
 */
void *perf_trace_begin(struct perf_tp_sample *sample, struct trace_event_call *call,
		       struct hlist_node *first, int size, unsigned long ip)
{
	void *record;

	if (likely(!bpf_prog_array_valid(call))) {
		if (!tp_in_task(first, TP_USUAL, size))
			return perf_trace_begin_any(sample, call, first, size, ip);
		if (tp_begin_in_task(sample, first, TP_USUAL, size, ip, &record))
			return tp_begun(sample, record, NULL);
	}
	return perf_trace_begin_task(sample, call, size, 1, NULL);
}
EXPORT_SYMBOL_GPL(perf_trace_begin);
NOKPROBE_SYMBOL(perf_trace_begin);

static noinline void perf_trace_end_task(struct perf_tp_sample *sample)
{
	if (sample->first_rb)
		return tp_end_first(sample);
	perf_trace_run_bpf_submit(sample->record, sample->size, sample->rctx, sample->call,
				  sample->count, sample->regs, sample->events, sample->task);
}
NOKPROBE_SYMBOL(perf_trace_end_task);

/**
 * perf_trace_end - finish a record that a tracepoint has filled in
 * @sample: from perf_trace_begin() or perf_trace_begin_task()
 */
void perf_trace_end(struct perf_tp_sample *sample)
{
	if (likely(sample->rb))
		tp_end(sample);
	else
		perf_trace_end_task(sample);
}
EXPORT_SYMBOL_GPL(perf_trace_end);
NOKPROBE_SYMBOL(perf_trace_end);
