// SPDX-License-Identifier: GPL-2.0
/*
 * Rights: which tasks may open, see, map and change members of namespaces.
 *
 * Opening a member requires the rights to create its event as the creator made it, and to
 * create every event whose records are in the same buffer. They are not checked again on
 * the open descriptor, except that mmap() by a reader checks for events that were added.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/hw_breakpoint.h>
#include <linux/mm.h>
#include <linux/perf_event.h>
#include <linux/security.h>
#include <linux/trace_events.h>

#include "internal.h"
#include "persistent.h"
#include "persistent_internal.h"

/*
 * The rights that perf_event_open() and ->event_init() require for an event of a CPU,
 * besides perf_allow_cpu(): bits of perf_member::needs and perf_buffer::needs
 */
#define PERF_NEEDS_KERNEL	BIT(0)	/* perf_allow_kernel() */
#define PERF_NEEDS_TRACEPOINT	BIT(1)	/* perf_allow_tracepoint() */
#define PERF_NEEDS_PERFMON	BIT(2)	/* CAP_PERFMON */
#define PERF_NEEDS_ADMIN	BIT(3)	/* CAP_SYS_ADMIN */
#define PERF_NEEDS_BREAKPOINT	BIT(4)	/* CAP_SYS_ADMIN, or -EPERM instead of -EACCES */
#define PERF_NEEDS_REGS_INTR	BIT(5)	/* security_locked_down(LOCKDOWN_PERF) */

#ifdef CONFIG_EVENT_TRACING
static unsigned int tp_needs(struct perf_event *event)
{
	struct trace_event_call *tp = event->tp_event;
	unsigned int needs = 0;

	/* As perf_kprobe_event_init() and perf_uprobe_event_init() */
	if (event->attr.type != PERF_TYPE_TRACEPOINT)
		needs |= tp->flags & TRACE_EVENT_FL_UPROBE ? PERF_NEEDS_ADMIN : PERF_NEEDS_PERFMON;
	/* As perf_trace_event_perm(), which allows events of ftrace itself only for root */
	if ((event->attr.sample_type & PERF_SAMPLE_RAW) ||
	    (tp->flags & TRACE_EVENT_FL_IGNORE_ENABLE))
		needs |= PERF_NEEDS_TRACEPOINT;
	return needs;
}

static bool has_tp(struct perf_event *event) { return event->tp_event; }
#else
static unsigned int tp_needs(struct perf_event *event) { return 0; }
static bool has_tp(struct perf_event *event) { return false; }
#endif

static bool is_kernel_breakpoint(struct perf_event *event)
{
#ifdef CONFIG_HAVE_HW_BREAKPOINT
	return arch_check_bp_in_kernelspace(counter_arch_bp(event));
#else
	return false;
#endif
}

/* With the event's mmap_mutex held */
static unsigned int event_needs(struct perf_event *event, const struct perf_event_attr *attr)
{
	u64 type = attr->sample_type;
	unsigned int needs = 0;
	struct pmu *pmu;

	if (!attr->exclude_kernel || attr->text_poke || (type & PERF_SAMPLE_PHYS_ADDR) ||
	    ((type & PERF_SAMPLE_CALLCHAIN) && !attr->exclude_callchain_kernel) ||
	    ((type & PERF_SAMPLE_BRANCH_STACK) &&
	     (attr->branch_sample_type & PERF_SAMPLE_BRANCH_PERM_PLM)))
		needs |= PERF_NEEDS_KERNEL;
	if (attr->namespaces)
		needs |= PERF_NEEDS_PERFMON;
	if (type & PERF_SAMPLE_REGS_INTR)
		needs |= PERF_NEEDS_REGS_INTR;
	if (has_tp(event))
		return needs | tp_needs(event);

	switch (attr->type) {
	case PERF_TYPE_HARDWARE:
	case PERF_TYPE_HW_CACHE:
	case PERF_TYPE_RAW:
	case PERF_TYPE_SOFTWARE:
		break;
	case PERF_TYPE_BREAKPOINT:
		if (is_kernel_breakpoint(event))
			needs |= PERF_NEEDS_BREAKPOINT;
		break;
	default:
		/* Unless it is a core PMU, its driver may have required any right. */
		pmu = perf_event_pmu(event);
		if (!pmu || !(pmu->capabilities & PERF_PMU_CAP_EXTENDED_HW_TYPE))
			needs |= PERF_NEEDS_PERFMON;
		break;
	}
	return needs;
}

/**
 * perf_member_set_needs - record the rights that creating an event requires
 * @member:	its member: nobody else can see it yet, or event->ctx->mutex is held
 *
 * When somebody opens a snapshot later, the event may have lost its tracepoint and its PMU.
 */
void perf_member_set_needs(struct perf_member *member)
{
	guard(mutex)(&member->event->mmap_mutex);
	WRITE_ONCE(member->needs, event_needs(member->event, &member->attr));
}

/* An event of a task has no struct perf_member, and keeps its PMU until it is freed. */
static unsigned int own_needs(struct perf_event *event)
{
	return event->member ? READ_ONCE(event->member->needs) : event_needs(event, &event->attr);
}

/**
 * perf_persistent_attached - an event begins to write to a buffer
 * @event:	the event; if it has no struct perf_member, as one of a task, its mmap_mutex
 *		is held, unless it is a breakpoint, whose PMU cannot go away
 * @rb:		the buffer
 *
 * The buffer keeps records of events that are gone or are no members. So opening it later
 * requires the rights for every event that ever wrote to it.
 */
void perf_persistent_attached(struct perf_event *event, struct perf_buffer *rb)
{
	atomic_or(own_needs(event), &rb->needs);
}

static int check_needs(unsigned int needs)
{
	int ret;

	ret = perf_allow_cpu();
	if (!ret && (needs & PERF_NEEDS_KERNEL))
		ret = perf_allow_kernel();
	if (!ret && (needs & PERF_NEEDS_TRACEPOINT))
		ret = perf_allow_tracepoint();
	if (!ret && (needs & PERF_NEEDS_REGS_INTR))
		ret = security_locked_down(LOCKDOWN_PERF);
	if (!ret && (needs & PERF_NEEDS_PERFMON) && !perfmon_capable())
		ret = -EACCES;
	if (!ret && (needs & PERF_NEEDS_ADMIN) && !capable(CAP_SYS_ADMIN))
		ret = -EACCES;
	if (!ret && (needs & PERF_NEEDS_BREAKPOINT) && !capable(CAP_SYS_ADMIN))
		ret = -EPERM;
	return ret;
}

/*
 * Has the caller the rights for @member, and if it has a buffer of its own, for all events
 * that wrote there? The LSM is asked only about @member.
 */
static int may_read(struct perf_member *member)
{
	unsigned int needs;
	int ret;

	assert_registry();

	needs = READ_ONCE(member->needs);
	/* The buffer of a snapshot is freed without the lock, after a grace period. */
	scoped_guard(rcu) {
		struct perf_buffer *rb = READ_ONCE(member->rb);

		if (rb)
			needs |= atomic_read(&rb->needs);
	}

	ret = check_needs(needs);
	return ret ? ret : security_perf_event_read(member->event);
}

/**
 * perf_member_may_open - may the caller open a member
 * @member:	the member, with the lock held
 *
 * The creator may have had more rights than the caller, and the buffer shows the records
 * of all events that write to it or once did. perf_buffer::needs has the rights for these
 * events. The LSM is asked about those that are still members.
 *
 * Return: 0, -EACCES, -EPERM, or what the LSM says.
 */
int perf_member_may_open(struct perf_member *member)
{
	struct perf_member *writer = NULL;
	int ret = may_read(member);

	while (!ret && (writer = member->ns->next_writer(member, writer))) {
		if (writer != member)
			ret = security_perf_event_read(writer->event);
	}
	return ret;
}

/**
 * perf_member_may_see - may the caller see what a member recorded
 * @member:	the member, with the lock held
 *
 * As perf_member_may_open(), for callers other than perf_event_open(), which has asked the
 * LSM with PERF_SECURITY_OPEN already.
 *
 * Return: 0, -EACCES, -EPERM, or what the LSM says.
 */
int perf_member_may_see(struct perf_member *member)
{
	int ret;

	ret = security_perf_event_open(PERF_SECURITY_OPEN);
	return ret ? ret : perf_member_may_open(member);
}

/**
 * perf_member_may_list - may the caller see the description of a member
 * @member:	the member, with the lock held
 *
 * A listing calls this for each member, so it does not ask the LSM about other members
 * that write to the same buffer.
 *
 * Return: 0, -EACCES, -EPERM, or what the LSM says.
 */
int perf_member_may_list(struct perf_member *member)
{
	int ret;

	ret = security_perf_event_open(PERF_SECURITY_OPEN);
	return ret ? ret : may_read(member);
}

/**
 * perf_persist_may_see - may the caller open each member of a namespace that has records
 * @ns:		the namespace, with the lock held
 *
 * Return: 0, also for a new namespace without members; -ENODEV if only events of triggers
 * are left, -EACCES, -EPERM, or what the LSM says.
 */
int perf_persist_may_see(struct perf_persist_ns *ns)
{
	int ret = first_member(ns) ? -ENODEV : 0;
	struct perf_member *member;

	assert_registry();
	for_each_ns_member(member, ns) {
		/* It came for a trigger and writes no records. */
		if (member->for_trigger && !member->kept)
			continue;
		/* This is enough, as the loop checks all writers of a buffer. */
		ret = perf_member_may_list(member);
		if (ret)
			break;
	}
	return ret;
}

/**
 * perf_persist_may_create - may the caller make a namespace of any events
 *
 * The checks for kernel events on all CPUs that perf_event_open() makes in mainline. The
 * rights for a tracepoint are checked when its event is made.
 *
 * Return: 0, -EACCES without CAP_PERFMON, or what the LSM says.
 */
int perf_persist_may_create(void)
{
	int ret;

	if (!perfmon_capable())
		return -EACCES;
	ret = security_perf_event_open(PERF_SECURITY_OPEN);
	if (!ret)
		ret = perf_allow_cpu();
	return ret ? ret : perf_allow_kernel();
}

/**
 * perf_persist_may_write - ask the LSM whether the caller may change all members
 * @ns:		the namespace
 *
 * Return: 0, or what the LSM says.
 */
int perf_persist_may_write(struct perf_persist_ns *ns)
{
	struct perf_member *member;
	int ret;

	assert_registry();
	for_each_ns_member(member, ns) {
		ret = security_perf_event_write(member->event);
		if (ret)
			return ret;
	}
	return 0;
}

/**
 * perf_persist_owner_may_write - ask the LSM whether the owner may change an event
 * @ns:		the namespace that the event is about to join
 * @event:	the event
 *
 * The owner must be able to delete the event, even if another user made it join.
 *
 * Return: 0, or what the LSM says.
 */
int perf_persist_owner_may_write(struct perf_persist_ns *ns, struct perf_event *event)
{
	const struct cred *old = override_creds(ns->cred);
	int ret = security_perf_event_write(event);

	revert_creds(old);
	return ret;
}

/**
 * perf_persist_may_spend - may the caller use more memory at the owner's expense
 * @ns:		the namespace
 *
 * Return: true for the owner, and with CAP_IPC_LOCK.
 */
bool perf_persist_may_spend(struct perf_persist_ns *ns)
{
	return uid_eq(current_uid(), ns->cred->uid) || capable(CAP_IPC_LOCK);
}

/**
 * perf_persistent_may_redirect - may the output of an event be changed
 * @event:	the event, whose mmap_mutex is held
 *
 * Return: 0, -EBUSY for a published member, whose buffer the namespace keeps, or -ENODEV
 * for a deleted one.
 */
int perf_persistent_may_redirect(struct perf_event *event)
{
	struct perf_member *member = event->member;

	lockdep_assert_held(&event->mmap_mutex);
	if (!member)
		return 0;

	switch (READ_ONCE(member->state)) {
	case PERF_MEMBER_PUBLISHED:
		return -EBUSY;
	case PERF_MEMBER_DELETED:
		return -ENODEV;
	default:
		return 0;
	}
}

/**
 * perf_persistent_keeps_output - does an event keep its buffer after its last munmap()
 * @event:	the event, whose mmap_mutex is held
 *
 * The namespace keeps the buffer of a published member mapped, through this member or
 * through the member that shares its buffer with it.
 *
 * Return: true for a published member.
 */
bool perf_persistent_keeps_output(struct perf_event *event)
{
	struct perf_member *member = event->member;

	lockdep_assert_held(&event->mmap_mutex);
	return member && READ_ONCE(member->state) == PERF_MEMBER_PUBLISHED;
}

/*
 * Since a reader opened @file, @event may have moved to another namespace, and other events may
 * have begun to write to @rb. Check the rights for these with the creds of @file. The rights
 * for the event itself are not checked again.
 */
static int opener_may_map(struct file *file, struct perf_event *event, struct perf_buffer *rb)
{
	const struct cred *old;
	unsigned int others;
	int ret;

	if (!READ_ONCE(rb->held))
		return 0;
	others = atomic_read(&rb->needs) & ~own_needs(event);
	if (!others)
		return 0;
	old = override_creds(file->f_cred);
	ret = check_needs(others);
	revert_creds(old);
	return ret;
}

/**
 * perf_persistent_may_mmap - may the buffer of an event be mapped
 * @event:	the event, whose mmap_mutex is held
 * @vma:	the mapping that is being made; loses VM_MAYWRITE if a namespace holds the
 *		buffer
 *
 * Called for all events. Records a mapping for writing, see perf_persistent_may_write().
 *
 * Return: 0, or
 *  -ENODEV	the event was deleted, or the file is for reading only and the event is no
 *		longer in a published namespace
 *  -EBUSY	a published member has no buffer, or writes to the buffer of another member
 *  -EACCES	a mapping for writing of a buffer that a namespace holds; or who opened the
 *		file lacks a right for another event that wrote to the buffer; then also
 *		-EPERM
 *  -EINVAL	a mapping for writing whose size is not that of the buffer
 */
int perf_persistent_may_mmap(struct perf_event *event, struct vm_area_struct *vma)
{
	struct perf_member *member = event->member;
	struct perf_buffer *rb = event->rb;
	bool may_change = vma->vm_file->f_mode & FMODE_WRITE;
	int ret;

	lockdep_assert_held(&event->mmap_mutex);
	if (member) {
		switch (READ_ONCE(member->state)) {
		case PERF_MEMBER_DELETED:
			return -ENODEV;
		case PERF_MEMBER_PUBLISHED:
			if (!member->rb || !rb)
				return -EBUSY;
			break;
		default:
			/* A file for reading only is good for published members only. */
			if (!may_change)
				return -ENODEV;
			break;
		}
	}

	/* An event that is no member can be redirected to the buffer of a member, too. */
	if (!rb)
		return 0;
	/* Not member->rb, which a snapshot may be replacing. */
	ret = opener_may_map(vma->vm_file, event, rb);
	if (ret)
		return ret;
	if (vma->vm_flags & VM_WRITE) {
		/* perf_mmap() would refuse it: do not record a mapping for writing. */
		if (!READ_ONCE(rb->held) && vma_pages(vma) != data_page_nr(rb) + 1UL)
			return -EINVAL;
		return perf_persistent_may_write(rb);
	}
	if (READ_ONCE(rb->held)) {
		vm_flags_clear(vma, VM_MAYWRITE);
		perf_set_mapped(rb);
	}
	return 0;
}

/**
 * perf_persistent_may_write - may a buffer be mapped for writing; record that it is
 * @rb:		the buffer
 *
 * Called by mmap() and mprotect(), with mmap_lock held. Readers of a member trust the first
 * page of its buffer, so user space must not be able to write there, neither now nor before
 * it was published. This sets perf_buffer::ever_writable: a namespace refuses to hold the
 * buffer from here on.
 *
 * Return: 0, or -EACCES if a namespace holds the buffer, or has held it: readers may still
 * have it mapped.
 */
int perf_persistent_may_write(struct perf_buffer *rb)
{
	if (READ_ONCE(rb->held) || READ_ONCE(rb->was_held))
		return -EACCES;

	WRITE_ONCE(rb->ever_writable, 1);
	/* Pairs with the one in perf_member_hold(): one of us sees what the other did. */
	smp_mb();
	return READ_ONCE(rb->held) ? -EACCES : 0;
}
