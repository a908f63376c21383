// SPDX-License-Identifier: GPL-2.0
/*
 * The trigger ioctls of a namespace.
 */
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/perf_event.h>
#include <linux/security.h>
#include <linux/time_namespace.h>
#include <linux/uaccess.h>

#include "internal.h"
#include "persistent.h"
#include "persistent_internal.h"

static_assert(sizeof(struct perf_event_trigger) == PERF_EVENT_TRIGGER_SIZE_VER0);
static_assert(sizeof(struct perf_event_trigger_state) == PERF_EVENT_TRIGGER_STATE_SIZE_VER0);

static long get_arg(struct perf_event_trigger *arg, struct perf_event_trigger __user *uarg)
{
	return perf_persist_get_struct(arg, sizeof(*arg), PERF_EVENT_TRIGGER_SIZE_VER0, uarg);
}

static long add_trigger(struct perf_persist_ns *ns, struct perf_event_trigger __user *uarg)
{
	struct perf_event_trigger arg;
	u32 number;
	long ret;

	ret = get_arg(&arg, uarg);
	if (ret)
		return ret;
	if (arg.number)
		return -EINVAL;
	/* If the number cannot be written to user space, fail before making a trigger. */
	if (put_user(0, &uarg->number))
		return -EFAULT;

	ret = perf_trigger_add(ns, &arg, &number);
	if (ret)
		return ret;
	/* If this fails, the caller can still get the number with GET_TRIGGER. */
	return put_user(number, &uarg->number) ? -EFAULT : 0;
}

static long add_event(struct perf_persist_ns *ns,
		      const struct perf_event_trigger_event __user *uarg)
{
	struct perf_event_trigger_event arg;
	struct perf_event *event;
	struct file *file;
	long ret;

	if (copy_from_user(&arg, uarg, sizeof(arg)))
		return -EFAULT;

	/* This fails if the file is open for reading only. */
	file = perf_event_get(arg.fd);
	if (IS_ERR(file))
		return PTR_ERR(file);
	event = file->private_data;
	ret = security_perf_event_write(event);
	if (!ret)
		ret = perf_trigger_add_event(ns, arg.number, event);
	fput(file);
	return ret;
}

static long get_trigger(struct perf_persist_ns *ns, struct perf_event_trigger __user *uarg)
{
	struct perf_event_trigger arg;
	long ret;

	ret = get_arg(&arg, uarg);
	if (!ret)
		ret = perf_trigger_get_next(ns, arg.number, &arg);
	return ret ? ret : perf_persist_put_struct(uarg, &arg, sizeof(arg));
}

static long get_state(struct perf_persist_ns *ns, struct perf_event_trigger_state __user *uarg)
{
	struct perf_event_trigger_state state;
	long ret;

	ret = perf_persist_get_struct(&state, sizeof(state),
				      PERF_EVENT_TRIGGER_STATE_SIZE_VER0, uarg);
	if (ret)
		return ret;

	ret = perf_trigger_get_state(ns, state.number, &state);
	if (ret)
		return ret;
	if (state.last_fired_ns)
		state.last_fired_ns = timens_add_boottime_ns(state.last_fired_ns);
	return perf_persist_put_struct(uarg, &state, sizeof(state));
}

/**
 * perf_is_trigger_ioctl - does perf_trigger_ioctl() handle an ioctl
 * @cmd:	ioctl number
 *
 * Return: true if so, whichever size the caller's argument has.
 */
bool perf_is_trigger_ioctl(unsigned int cmd)
{
	return perf_same_ioctl(cmd, PERF_EVENT_IOC_ADD_TRIGGER) ||
	       cmd == PERF_EVENT_IOC_ADD_TRIGGER_EVENT ||
	       cmd == PERF_EVENT_IOC_ARM_TRIGGER || cmd == PERF_EVENT_IOC_DEL_TRIGGER ||
	       perf_trigger_ioctl_reads(cmd);
}

/**
 * perf_trigger_ioctl_reads - does an ioctl only read triggers
 * @cmd:	ioctl number
 *
 * Return: true if so: a file that is open for reading only is enough.
 */
bool perf_trigger_ioctl_reads(unsigned int cmd)
{
	return perf_same_ioctl(cmd, PERF_EVENT_IOC_GET_TRIGGER) ||
	       perf_same_ioctl(cmd, PERF_EVENT_IOC_GET_TRIGGER_STATE);
}

/**
 * perf_trigger_ioctl - the trigger ioctls of a namespace
 * @ns:		the namespace
 * @cmd:	ioctl number: ADD_TRIGGER, ADD_TRIGGER_EVENT, GET_TRIGGER, GET_TRIGGER_STATE,
 *		ARM_TRIGGER or DEL_TRIGGER
 * @arg:	its argument
 *
 * Called without a lock, for a file that is open for writing unless
 * perf_trigger_ioctl_reads().
 *
 * Return: 0, or
 *  -EFAULT	user memory at @arg cannot be read or written
 *  -EINVAL	a field is out of range, or does not fit another one; the event
 *		does not sample, or has a buffer that is no member's; SET_NAME gave
 *		the event a name that is not the namespace's; ADD_TRIGGER_EVENT:
 *		the trigger is for panic, oops or soft lockup, so events cannot fire it
 *  -E2BIG	the structure is larger than a page, or a field that the kernel does
 *		not know is not 0; its size now holds the size that the kernel knows
 *  -EOPNOTSUPP	@ns is a snapshot; or the event is one of a task, of a group, with
 *		an AUX area or sigtrap, a breakpoint on anything but x86, one that never
 *		overflows (bpf-output, dummy), or precise with a period and without
 *		wakeup_events, as the PMU may then pass several samples at once
 *  -EBADF	the descriptor is not one of an event
 *  -EACCES	the file of the event is open for reading only, or the caller lacks
 *		CAP_PERFMON
 *  -EBUSY	the event is a member of another namespace, or fires a trigger already
 *  -ENOENT	no such trigger; GET_TRIGGER: no more triggers
 *  -ENOMEM	out of memory
 *  -ENOSPC	too many triggers, or see kernel.perf_event_max_persistent
 *  -ENODEV	the namespace was deleted, or the one that the event was in, or the event's
 *		PMU is gone
 *  or an error of the LSM
 */
long perf_trigger_ioctl(struct perf_persist_ns *ns, unsigned int cmd, void __user *arg)
{
	u32 number;

	if (is_snapshot(ns))
		return -EOPNOTSUPP;
	if (perf_same_ioctl(cmd, PERF_EVENT_IOC_ADD_TRIGGER))
		return add_trigger(ns, arg);
	if (perf_same_ioctl(cmd, PERF_EVENT_IOC_GET_TRIGGER))
		return get_trigger(ns, arg);
	if (perf_same_ioctl(cmd, PERF_EVENT_IOC_GET_TRIGGER_STATE))
		return get_state(ns, arg);
	if (cmd == PERF_EVENT_IOC_ADD_TRIGGER_EVENT)
		return add_event(ns, arg);

	if (get_user(number, (u32 __user *)arg))
		return -EFAULT;
	return cmd == PERF_EVENT_IOC_ARM_TRIGGER ? perf_trigger_arm(ns, number) :
						   perf_trigger_delete(ns, number);
}
