// SPDX-License-Identifier: GPL-2.0
/*
 * Records about tasks that are older than the events of a namespace.
 *
 * The events only record tasks that start while they are enabled. The process that makes
 * a namespace finds the older tasks in /proc, and passes records about them to the kernel.
 * A later reader finds only those in /proc that are still alive, and could not name the
 * samples of the others.
 */
#include <linux/errno.h>
#include <linux/init.h>
#include <linux/mm.h>
#include <linux/perf_event.h>
#include <linux/refcount.h>
#include <linux/security.h>
#include <linux/uaccess.h>
#include <linux/user_namespace.h>
#include <linux/vmalloc.h>

#include "internal.h"
#include "persistent.h"
#include "persistent_internal.h"
#include "read.h"

/**
 * struct perf_tasks - records as user space passed them
 * @refs:	one for the namespace, and one for each snapshot taken since
 * @len:	bytes in @data
 * @ucounts:	the user who pays for them
 * @data:	the records
 */
struct perf_tasks {
	refcount_t	refs;
	size_t		len;
	struct ucounts	*ucounts;
	char		data[] __counted_by(len);
};

/**
 * perf_tasks_get - get one more reference on the records of a namespace
 * @tasks:	the records, or NULL
 *
 * Return: @tasks.
 */
struct perf_tasks *perf_tasks_get(struct perf_tasks *tasks)
{
	if (tasks)
		refcount_inc(&tasks->refs);
	return tasks;
}

/**
 * perf_tasks_put - put a reference on the records of a namespace
 * @tasks:	the records, or NULL
 *
 * Called with or without the lock.
 */
void perf_tasks_put(struct perf_tasks *tasks)
{
	if (!tasks || !refcount_dec_and_test(&tasks->refs))
		return;

	perf_persist_uncharge(tasks->ucounts, PFN_UP(tasks->len));
	vfree(tasks);
}

/**
 * perf_tasks_data - the records themselves
 * @tasks:	the records, or NULL
 * @len:	out: length of the records in bytes
 *
 * User space wrote them: nothing in them can be trusted.
 *
 * Return: the records, or NULL.
 */
const void *perf_tasks_data(const struct perf_tasks *tasks, size_t *len)
{
	*len = tasks ? tasks->len : 0;
	return tasks ? tasks->data : NULL;
}

static struct perf_tasks *copy_tasks(struct perf_persist_ns *ns,
				     const struct perf_event_tasks *arg)
{
	struct perf_tasks *tasks;
	struct ucounts *ucounts;

	if (!perf_memory_left(PFN_UP(arg->len)))
		return ERR_PTR(-ENOMEM);

	ucounts = perf_persist_charge(ns, PFN_UP(arg->len));
	if (IS_ERR(ucounts))
		return ERR_CAST(ucounts);

	tasks = __vmalloc(struct_size(tasks, data, arg->len), PERF_PERSIST_GFP);
	if (!tasks) {
		perf_persist_uncharge(ucounts, PFN_UP(arg->len));
		return ERR_PTR(-ENOMEM);
	}
	refcount_set(&tasks->refs, 1);
	tasks->len = arg->len;
	tasks->ucounts = ucounts;
	if (copy_from_user(tasks->data, u64_to_user_ptr(arg->addr), arg->len)) {
		perf_tasks_put(tasks);
		return ERR_PTR(-EFAULT);
	}
	return tasks;
}

static long set_tasks(struct perf_persist_ns *ns, const struct perf_event_tasks *arg)
{
	struct perf_tasks *tasks = NULL;
	long ret = -ENODEV;

	if (is_snapshot(ns))
		return -EOPNOTSUPP;
	if (arg->offset || arg->len > PERF_PERSIST_TASKS_MAX)
		return -EINVAL;
	if (!perf_persist_may_spend(ns))
		return -EPERM;

	if (arg->len) {
		tasks = copy_tasks(ns, arg);
		if (IS_ERR(tasks))
			return PTR_ERR(tasks);
	}

	mutex_lock(&perf_persist_lock);
	if (!ns->unlinked)
		ret = perf_persist_may_write(ns);
	if (!ret)
		swap(ns->tasks, tasks);
	mutex_unlock(&perf_persist_lock);

	perf_tasks_put(tasks);
	return ret;
}

static long get_tasks(struct perf_persist_ns *ns, struct perf_event_tasks *arg)
{
	struct perf_tasks *tasks = NULL;
	long ret = -ENODEV;
	void *copy;

	mutex_lock(&perf_persist_lock);
	if (!ns->unlinked)
		ret = perf_persist_may_see(ns);
	if (!ret)
		tasks = perf_tasks_get(ns->tasks);
	mutex_unlock(&perf_persist_lock);
	if (ret)
		return ret;

	arg->total = tasks ? tasks->len : 0;
	arg->len = min(arg->len, arg->total - min(arg->offset, arg->total));
	if (!arg->len) {
		perf_tasks_put(tasks);
		return 0;
	}
	/*
	 * A page fault at @addr can take for ever. The owner must not pay for these records as
	 * long as that, so copy them at the caller's expense.
	 */
	copy = NULL;
	if (perf_memory_left(PFN_UP(arg->len)))
		copy = __vmalloc(arg->len, PERF_PERSIST_GFP | __GFP_ACCOUNT);
	if (copy)
		memcpy(copy, tasks->data + arg->offset, arg->len);
	perf_tasks_put(tasks);
	if (!copy)
		return -ENOMEM;
	ret = copy_to_user(u64_to_user_ptr(arg->addr), copy, arg->len) ? -EFAULT : 0;
	vfree(copy);
	return ret;
}

/**
 * perf_is_tasks_ioctl - does perf_tasks_ioctl() handle an ioctl
 * @cmd:	ioctl number
 *
 * Return: true if so, whichever size the caller's argument has.
 */
bool perf_is_tasks_ioctl(unsigned int cmd)
{
	return perf_same_ioctl(cmd, PERF_EVENT_IOC_SET_TASKS) ||
	       perf_same_ioctl(cmd, PERF_EVENT_IOC_GET_TASKS);
}

static_assert(sizeof(struct perf_event_tasks) == PERF_EVENT_TASKS_SIZE_VER0);

/**
 * perf_tasks_ioctl - the ioctls of a namespace for records about older tasks
 * @ns:		the namespace, or a snapshot
 * @cmd:	SET_TASKS or GET_TASKS
 * @arg:	its argument
 *
 * SET_TASKS replaces the records, or removes them if the length is 0. The owner pays for
 * the memory. GET_TASKS works on a descriptor that is open for reading only.
 *
 * Called without a lock. Takes perf_persist_lock.
 *
 * Return: 0, or
 *  -EFAULT	@arg, or the address in it, cannot be read or written
 *  -EINVAL	a field that must be 0 is not; more than PERF_PERSIST_TASKS_MAX bytes
 *  -E2BIG	the structure is larger than a page, or a field that the kernel does
 *		not know is not 0; its size now holds the size that the kernel knows
 *  -EOPNOTSUPP	SET_TASKS on a snapshot
 *  -EPERM	SET_TASKS: the namespace belongs to another user, and the caller lacks
 *		CAP_IPC_LOCK; or the owner may not lock so much, see RLIMIT_MEMLOCK
 *  -EACCES	GET_TASKS: the caller may not open all of the members; also -EPERM
 *  -ENOMEM	out of memory, or the records need more than half of what is available
 *  -ENODEV	the namespace was deleted
 *  or an error of the LSM
 */
long perf_tasks_ioctl(struct perf_persist_ns *ns, unsigned int cmd,
		      struct perf_event_tasks __user *arg)
{
	struct perf_event_tasks tasks;
	long ret;

	ret = perf_persist_get_struct(&tasks, sizeof(tasks), PERF_EVENT_TASKS_SIZE_VER0, arg);
	if (ret)
		return ret;
	if (tasks.flags || tasks.total)
		return -EINVAL;
	if (perf_same_ioctl(cmd, PERF_EVENT_IOC_SET_TASKS))
		return set_tasks(ns, &tasks);

	ret = get_tasks(ns, &tasks);
	return ret ? ret : perf_persist_put_struct(arg, &tasks, sizeof(tasks));
}

/* Whoever has a file of it open must not make the owner pay for the records any longer. */
static void ns_vanished(struct perf_persist_ns *ns)
{
	struct perf_tasks *tasks = NULL;

	scoped_guard(mutex, &perf_persist_lock)
		swap(ns->tasks, tasks);
	perf_tasks_put(tasks);
}

static void ns_free(struct perf_persist_ns *ns)
{
	perf_tasks_put(ns->tasks);
}

static struct perf_persist_listener tasks_listener = {
	.vanished = ns_vanished,
	.free	= ns_free,
};

static int __init perf_tasks_init(void)
{
	perf_persist_listen(&tasks_listener);
	return 0;
}
subsys_initcall(perf_tasks_init);
