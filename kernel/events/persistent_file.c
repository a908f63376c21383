// SPDX-License-Identifier: GPL-2.0
/*
 * What user space asks for: perf_event_open() of members and namespaces, and ioctls.
 */
#include <linux/anon_inodes.h>
#include <linux/capability.h>
#include <linux/cgroup.h>
#include <linux/compat.h>
#include <linux/cpumask.h>
#include <linux/cred.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/poll.h>
#include <linux/security.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/time_namespace.h>
#include <linux/trace_events.h>
#include <linux/uaccess.h>
#include <linux/user_namespace.h>

#include "internal.h"
#include "persistent.h"
#include "persistent_internal.h"

/* "namespace", "namespace/label" or "/label", split at the first slash */
struct perf_persist_string {
	char	buf[PERF_PERSIST_USER_NAME_MAX + 1 + PERF_PERSIST_NAME_SIZE];
	char	*name;	/* NULL: none given */
	char	*label;	/* NULL: none given */
};

/* @find: of a namespace that exists, and not one that is to be made. */
static int get_string(struct perf_persist_string *str, const char __user *ustr, bool find)
{
	long len;

	len = strncpy_from_user(str->buf, ustr, sizeof(str->buf));
	if (len < 0)
		return len;
	if (len == sizeof(str->buf))
		return -EINVAL;

	str->name = str->buf;
	str->label = strchr(str->buf, '/');
	if (str->label) {
		if (str->label == str->buf)
			str->name = NULL;
		*str->label++ = '\0';
	}

	if (str->name && !perf_persist_valid_name(str->name) &&
	    !(find && perf_persist_valid_snapshot_name(str->name)))
		return -EINVAL;
	if (str->label && !perf_persist_valid_label(str->label))
		return -EINVAL;
	return 0;
}

/*
 * PERF_EVENT_IOC_GET_PERSIST
 */

static void fill_live_info(struct perf_event_persist *info, struct perf_member *member)
{
	struct perf_persist_ns *ns = member->ns;
	struct perf_event *event = member->event;
	struct perf_member *owner;
	struct perf_buffer *rb;

	rb = ring_buffer_get(event);
	if (rb) {
		owner = perf_persist_buffer_owner(ns, rb);
		if (owner)
			info->output_id = owner->event->id;
		info->buffer_size = perf_data_size(rb);
		info->buffer_seq = rb->seq;
		if (rb->overwrite)
			info->flags |= PERF_PERSIST_OVERWRITE;
		if (rb->nr_pages && READ_ONCE(rb->paused))
			info->flags |= PERF_PERSIST_STOPPED;
		ring_buffer_put(rb);
	}
	if (!cpu_online(event->cpu) || perf_member_is_offline(member))
		info->flags |= PERF_PERSIST_OFFLINE;
	if (!perf_member_is_enabled(member))
		info->flags |= PERF_PERSIST_DISABLED;
	if (ns->all_cpus)
		info->flags |= PERF_PERSIST_ALL_CPUS;
	info->trigger = perf_trigger_number(member);
	info->missed = perf_member_missed(member);
	info->lost = perf_member_lost(member, info->missed);
	info->number = ns->number;
	info->keep = ns->keep;
	info->spares = perf_snapshot_nr_spares(ns);
}

static void fill_info(struct perf_event_persist *info, struct perf_member *member)
{
	struct perf_persist_ns *ns = member->ns;
	struct perf_event *event = member->event;

	assert_registry();

	/* What the caller passed, and nothing of what it did not know. */
	*info = (struct perf_event_persist) {
		.size		= info->size,
		.attr_size	= info->attr_size,
		.attr		= info->attr,
	};
	if (is_snapshot(ns))
		perf_snapshot_fill_info(info, member);
	else
		fill_live_info(info, member);

	if (member->for_trigger)
		info->flags |= PERF_PERSIST_FOR_TRIGGER;
	info->ns_id = ns->id;
	info->event_id = event->id;
	info->created_ns = timens_add_boottime_ns(ns->created_ns);
#ifdef CONFIG_CGROUP_PERF
	if (event->cgrp)
		info->cgroup_id = cgroup_id(event->cgrp->css.cgroup);
#endif
	info->cpu = event->cpu;
	info->owner_uid = from_kuid_munged(current_user_ns(), ns->cred->uid);
	memcpy(info->owner_comm, ns->owner_comm, sizeof(info->owner_comm));
	memcpy(info->name, ns->name, sizeof(info->name));
	if (member->label)
		strscpy_pad(info->label, member->label);
}

static void fill_attr(struct perf_event_attr *attr, struct perf_member *member)
{
	perf_member_copy_attr(attr, member);

	/* The kprobe and uprobe PMUs take a pointer to a string of the creator's. */
	if (perf_member_has_tp(member) && attr->type != PERF_TYPE_TRACEPOINT)
		attr->kprobe_func = 0;

	/* perf_copy_attr() fills in sample_max_stack, whatever size was passed. */
	attr->size = clamp_t(u32, attr->size, PERF_ATTR_SIZE_VER5, sizeof(*attr));
}

static_assert(sizeof(struct perf_event_persist) == PERF_EVENT_PERSIST_SIZE_VER2);

/**
 * perf_is_get_persist - is it PERF_EVENT_IOC_GET_PERSIST
 * @cmd:	ioctl number
 *
 * Return: true if so, whatever size the caller knows of.
 */
bool perf_is_get_persist(unsigned int cmd)
{
	return perf_same_ioctl(cmd, PERF_EVENT_IOC_GET_PERSIST);
}

static int get_info(struct perf_event_persist *info, struct perf_event_persist __user *uinfo)
{
	int ret;

	ret = perf_persist_get_struct(info, sizeof(*info), PERF_EVENT_PERSIST_SIZE_VER0, uinfo);
	if (ret)
		return ret;
	return info->__reserved ? -EINVAL : 0;
}

static int put_info(struct perf_event_persist *info, struct perf_event_persist __user *uinfo,
		    const struct perf_event_attr *attr)
{
	u32 room = info->attr_size;

	info->attr_size = 0;
	if (info->attr && attr) {
		if (room < attr->size) {
			if (put_user(attr->size, &uinfo->attr_size))
				return -EFAULT;
			return -E2BIG;
		}
		if (copy_to_user(u64_to_user_ptr(info->attr), attr, attr->size))
			return -EFAULT;
		info->attr_size = attr->size;
	}

	return perf_persist_put_struct(uinfo, info, sizeof(*info));
}

/**
 * perf_persist_get_info - PERF_EVENT_IOC_GET_PERSIST on a member
 * @event:	its event
 * @member:	the member, or NULL
 * @uinfo:	the argument
 *
 * Called without a lock. The head is that of the buffer that is described.
 *
 * Return: 0, or see perf_persistent_ioctl().
 */
long perf_persist_get_info(struct perf_event *event, struct perf_member *member,
			   struct perf_event_persist __user *uinfo)
{
	struct perf_event_persist info;
	struct perf_event_attr attr;
	struct perf_buffer *rb = NULL;
	int ret;

	ret = get_info(&info, uinfo);
	if (ret)
		return ret;
	if (!member)
		return -ENOENT;

	mutex_lock(&perf_persist_lock);
	perf_member_settle(member);
	if (member->ns) {
		fill_info(&info, member);
		fill_attr(&attr, member);
		if (!is_snapshot(member->ns))
			rb = ring_buffer_get(event);
	} else {
		ret = -ENOENT;
	}
	mutex_unlock(&perf_persist_lock);
	if (ret)
		return ret;

	if (rb) {
		info.head = perf_persist_read_head(event, rb).head;
		ring_buffer_put(rb);
	}
	return put_info(&info, uinfo, &attr);
}

/*
 * The file of a namespace
 */

/**
 * struct perf_persist_file - an open namespace
 * @ns:		NULL until the file is bound to one, then it stays
 * @seen:	generation of @ns when the last listing through this file began
 *
 * Protected by perf_persist_lock; @ns can be read without once it is set.
 */
struct perf_persist_file {
	struct perf_persist_ns	*ns;
	u64			seen;
};

/* Once it is set it stays, so that a file can be used without the lock. */
static struct perf_persist_ns *bound_ns(struct perf_persist_file *pf)
{
	/* Pairs with smp_store_release() in bind_file(). */
	return smp_load_acquire(&pf->ns);
}

static int bind_file(struct perf_persist_file *pf, struct perf_persist_ns *ns)
{
	struct perf_member *member;
	int ret;

	assert_registry();
	if (!ns || !ns->published || ns->unlinked)
		return -ENOENT;
	/* All are about to leave with the last one that was ordinary. */
	member = first_ordinary_member(ns);
	if (!member)
		return -ENOENT;

	ret = perf_member_may_see(member);
	if (ret)
		return ret;

	/* Pairs with smp_load_acquire() in bound_ns(). */
	smp_store_release(&pf->ns, get_persist_ns(ns));
	return 0;
}

static long name_file(struct perf_persist_file *pf, const char __user *ustr)
{
	struct perf_persist_string str;
	struct perf_persist_ns *ns;
	long ret;

	ret = get_string(&str, ustr, true);
	if (ret)
		return ret;
	if (!str.name || str.label)
		return -EINVAL;

	mutex_lock(&perf_persist_lock);
	while ((ns = perf_persist_find_name(str.name)) && ns->swapping)
		perf_persist_settle(ns);
	ret = pf->ns ? -EBUSY : bind_file(pf, ns);
	mutex_unlock(&perf_persist_lock);
	return ret;
}

static long get_next_info(struct perf_persist_file *pf, struct perf_event_persist __user *uinfo)
{
	struct perf_event_persist info;
	struct perf_event_attr attr;
	struct perf_member *member;
	bool withheld = false;
	int ret;

	ret = get_info(&info, uinfo);
	if (ret)
		return ret;

	mutex_lock(&perf_persist_lock);
	perf_persist_settle(pf->ns);
	if (pf->ns->unlinked) {
		ret = -ENODEV;
		goto unlock;
	}
	if (!info.event_id)
		pf->seen = pf->ns->generation;

	member = perf_persist_next_member(pf->ns, info.event_id);
	if (!member) {
		ret = -ENOENT;
		goto unlock;
	}

	fill_info(&info, member);
	info.head = 0;
	fill_attr(&attr, member);
	withheld = perf_member_may_see(member);
	if (withheld) {
		info.flags |= PERF_PERSIST_ATTR_WITHHELD;
		memset(info.label, 0, sizeof(info.label));
	}
unlock:
	mutex_unlock(&perf_persist_lock);
	if (ret)
		return ret;

	return put_info(&info, uinfo, withheld ? NULL : &attr);
}

static long delete_ns(struct perf_persist_ns *ns)
{
	return is_snapshot(ns) ? perf_snapshot_delete(ns) : perf_persist_delete(ns);
}

/**
 * perf_persist_file_ioctl - the ioctls of a namespace
 * @file:	file of the namespace
 * @cmd:	ioctl number: SET_NAME binds an unbound file to the namespace of
 *		that name, GET_PERSIST walks its members, ENABLE and DISABLE
 *		are for all of them, JOIN adds one, SET_PERSIST with NULL deletes
 *		it; see also perf_snapshot_ioctl(), perf_trigger_ioctl() and
 *		perf_tasks_ioctl()
 * @arg:	its argument
 *
 * Called without a lock. Takes perf_persist_lock.
 *
 * Return: 0, or
 *  -ENOTTY	@cmd is none of them
 *  -EFAULT	@arg is no address that can be read, or written
 *  -EINVAL	the file is not bound to a namespace; SET_PERSIST with an
 *		address; ENABLE or DISABLE of a snapshot; not a name; or see
 *		GET_PERSIST on an event; JOIN: see SET_NAME on an event
 *  -EACCES	anything but SET_NAME, GET_PERSIST, GET_TRIGGER and GET_TASKS, and the
 *		file is for reading only; SET_NAME, and the caller may not open the first
 *		member; JOIN without CAP_PERFMON, or with an event that is for
 *		reading only or whose buffer somebody could write to
 *  -EPERM	JOIN: the namespace is somebody else's, and the caller lacks
 *		CAP_IPC_LOCK; or see -EPERM of SET_NAME on an event
 *  -EBADF	JOIN: not a descriptor of an event
 *  -EOPNOTSUPP	JOIN: to a snapshot; or see SET_PERSIST on an event
 *  -EBUSY	SET_NAME: the file is bound already; JOIN: the event is in a
 *		namespace
 *  -ENOENT	SET_NAME: no such namespace; GET_PERSIST: no more members
 *  -ENODEV	the namespace was deleted
 *  -E2BIG	see GET_PERSIST on an event
 *  -ENOSPC	JOIN: as many members as kernel.perf_event_max_persistent allows
 */
static long perf_persist_file_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct perf_persist_file *pf = file->private_data;
	struct perf_persist_ns *ns = bound_ns(pf);
	void __user *argp = (void __user *)arg;

	if (cmd == PERF_EVENT_IOC_SET_NAME)
		return name_file(pf, argp);

	if (perf_is_get_persist(cmd))
		return ns ? get_next_info(pf, argp) : -EINVAL;

	switch (cmd) {
	case PERF_EVENT_IOC_ENABLE:
	case PERF_EVENT_IOC_DISABLE:
	case PERF_EVENT_IOC_SET_PERSIST:
	case PERF_EVENT_IOC_JOIN:
		break;
	default:
		if (!perf_is_snapshot_ioctl(cmd) && !perf_is_trigger_ioctl(cmd) &&
		    !perf_is_tasks_ioctl(cmd))
			return -ENOTTY;
	}

	if (!(file->f_mode & FMODE_WRITE) && !perf_same_ioctl(cmd, PERF_EVENT_IOC_GET_TRIGGER) &&
	    !perf_same_ioctl(cmd, PERF_EVENT_IOC_GET_TASKS))
		return -EACCES;
	if (!ns)
		return -EINVAL;

	if (cmd == PERF_EVENT_IOC_SET_PERSIST)
		return argp ? -EINVAL : delete_ns(ns);
	if (cmd == PERF_EVENT_IOC_JOIN)
		return perf_persist_join_fd(ns, argp);
	if (perf_is_snapshot_ioctl(cmd))
		return perf_snapshot_ioctl(ns, cmd, arg);
	if (perf_is_trigger_ioctl(cmd))
		return perf_trigger_ioctl(ns, cmd, arg);
	if (perf_is_tasks_ioctl(cmd))
		return perf_tasks_ioctl(ns, cmd, argp);

	return perf_persist_enable(ns, cmd == PERF_EVENT_IOC_ENABLE);
}

#ifdef CONFIG_COMPAT
static long perf_persist_file_compat_ioctl(struct file *file, unsigned int cmd,
					   unsigned long arg)
{
	/* The one whose number has the size of a pointer in it */
	if (cmd == _IOW('$', _IOC_NR(PERF_EVENT_IOC_SET_NAME), compat_uptr_t))
		cmd = PERF_EVENT_IOC_SET_NAME;

	return perf_persist_file_ioctl(file, cmd, (unsigned long)compat_ptr(arg));
}
#else
# define perf_persist_file_compat_ioctl NULL
#endif

static __poll_t perf_persist_file_poll(struct file *file, poll_table *wait)
{
	struct perf_persist_file *pf = file->private_data;
	struct perf_persist_ns *ns = bound_ns(pf);
	__poll_t events = 0;

	if (!ns)
		return EPOLLERR;

	poll_wait(file, &ns->waitq, wait);

	mutex_lock(&perf_persist_lock);
	if (pf->seen != ns->generation)
		events |= EPOLLPRI;
	if (ns->unlinked)
		events |= EPOLLHUP;
	mutex_unlock(&perf_persist_lock);

	return events;
}

static int perf_persist_file_release(struct inode *inode, struct file *file)
{
	struct perf_persist_file *pf = file->private_data;

	if (pf->ns)
		perf_persist_put(pf->ns); /* Matches get_persist_ns() in bind_file() */
	kfree(pf);
	return 0;
}

static const struct file_operations perf_persist_fops = {
	.release	= perf_persist_file_release,
	.poll		= perf_persist_file_poll,
	.unlocked_ioctl	= perf_persist_file_ioctl,
	.compat_ioctl	= perf_persist_file_compat_ioctl,
};

static struct file *open_ns(u64 id, int f_flags)
{
	struct perf_persist_file *pf;
	struct file *file;
	int ret = 0;

	pf = kzalloc(sizeof(*pf), GFP_KERNEL_ACCOUNT);
	if (!pf)
		return ERR_PTR(-ENOMEM);

	if (id != ~0ULL) {
		mutex_lock(&perf_persist_lock);
		ret = bind_file(pf, perf_persist_find_settled(id));
		mutex_unlock(&perf_persist_lock);
		if (ret)
			goto err_free;
	}

	file = anon_inode_getfile("[perf_persistent]", &perf_persist_fops, pf, f_flags);
	if (!IS_ERR(file))
		return file;

	ret = PTR_ERR(file);
	if (pf->ns)
		perf_persist_put(pf->ns);
err_free:
	kfree(pf);
	return ERR_PTR(ret);
}

/*
 * The files of members
 */

static struct file *open_member(u64 id, u64 event_id, int cpu, int f_flags)
{
	struct perf_member *member = NULL;
	struct perf_persist_ns *ns;
	struct file *file;
	bool snapshot = false;
	int ret = 0;

	mutex_lock(&perf_persist_lock);
	ns = perf_persist_find_settled(id);
	if (ns && !ns->published)
		ns = NULL;
	if (ns && event_id)
		member = perf_persist_find_member(ns, event_id);
	else if (ns)
		member = perf_persist_member_on(ns, cpu);
	if (!member)
		ret = -ENOENT;
	else if (cpu != -1 && cpu != member->event->cpu)
		ret = -EINVAL;
	else
		ret = perf_member_may_open(member);
	if (!ret) {
		snapshot = is_snapshot(ns);
		if (snapshot)
			get_persist_ns(ns);
		else
			refcount_inc(&member->openers); /* at least one: it is held */
		if (!snapshot)
			perf_persist_set_wakeups(member);
	}
	mutex_unlock(&perf_persist_lock);
	if (ret)
		return ERR_PTR(ret);

	if (snapshot)
		return perf_snapshot_file(member, f_flags);

	/* The opener is the file's from here on, if there is one. */
	file = perf_event_file(member->event, f_flags);
	if (IS_ERR(file))
		perf_persist_put_opener(member->event);
	return file;
}

/**
 * perf_persistent_open - perf_event_open() with PERF_TYPE_PERSISTENT
 * @attr:	config: id of the namespace, or ~0; config1: id of the event, or 0;
 *		config2: PERF_PERSIST_OPEN_WRITE, or 0; all else is zero
 * @pid:	must be -1
 * @cpu:	-1, or the CPU of the member
 * @group_fd:	must be -1
 * @flags:	0 or PERF_FLAG_FD_CLOEXEC
 *
 * With config1, opens that member; with a CPU alone, the first one on it; with
 * neither, the namespace; and with config ~0 a file that SET_NAME binds to a
 * namespace later. The descriptor is for reading only unless config2 says
 * otherwise. The caller has passed the checks that perf_event_open() makes
 * whatever is opened, and holds no lock. Takes perf_persist_lock.
 *
 * Return: a file descriptor, or
 *  -EINVAL	an argument that is out of range, or that must be zero and is
 *		not; @cpu is not the CPU of the member in config1
 *  -ENOENT	no such namespace or member
 *  -EACCES	write access without CAP_PERFMON, or the caller may not open an
 *		event with this member's attr, or that of another member that
 *		writes to its buffer; also -EPERM, as for a new event
 *  -EMFILE	too many files, and -ENFILE
 *  -ENOMEM	out of memory
 */
int perf_persistent_open(const struct perf_event_attr *attr, pid_t pid, int cpu,
			 int group_fd, unsigned long flags)
{
	struct perf_event_attr known = {
		.type			= PERF_TYPE_PERSISTENT,
		.size			= attr->size,
		.config			= attr->config,
		.config1		= attr->config1,
		.config2		= attr->config2,
		.sample_max_stack	= attr->sample_max_stack,
	};
	int f_flags = O_RDONLY;
	bool is_ns = !attr->config1 && cpu == -1;
	struct file *file;
	int fd;

	if (memcmp(attr, &known, sizeof(known)))
		return -EINVAL;
	if (pid != -1 || group_fd != -1 || (flags & ~PERF_FLAG_FD_CLOEXEC))
		return -EINVAL;
	if (cpu < -1 || cpu >= (int)nr_cpu_ids)
		return -EINVAL;
	if (!attr->config || (attr->config2 & ~PERF_PERSIST_OPEN_WRITE))
		return -EINVAL;
	if (attr->config == ~0ULL && !is_ns)
		return -EINVAL;

	if (attr->config2 & PERF_PERSIST_OPEN_WRITE) {
		if (!perfmon_capable())
			return -EACCES;
		f_flags = O_RDWR;
	}
	if (flags & PERF_FLAG_FD_CLOEXEC)
		f_flags |= O_CLOEXEC;

	fd = get_unused_fd_flags(f_flags);
	if (fd < 0)
		return fd;

	file = is_ns ? open_ns(attr->config, f_flags) :
		       open_member(attr->config, attr->config1, cpu, f_flags);
	if (IS_ERR(file)) {
		put_unused_fd(fd);
		return PTR_ERR(file);
	}

	fd_install(fd, file);
	return fd;
}

/*
 * PERF_EVENT_IOC_PAUSE_OUTPUT of an event that writes to the buffer of a member,
 * which a snapshot may be about to replace.
 */
static long pause_output(struct file *file, bool pause)
{
	struct perf_event *event = file->private_data;
	struct perf_buffer *rb;
	bool is_held;
	long ret;

	rb = ring_buffer_get(event);
	if (!rb)
		return -ENOIOCTLCMD;
	is_held = READ_ONCE(rb->held);
	ring_buffer_put(rb);
	if (!is_held)
		return -ENOIOCTLCMD;

	if (!(file->f_mode & FMODE_WRITE))
		return -EACCES;
	ret = security_perf_event_write(event);
	if (ret)
		return ret;

	mutex_lock(&perf_persist_lock);
	while ((rb = ring_buffer_get(event)) && rb->owner && rb->owner->ns->swapping) {
		struct perf_persist_ns *ns = rb->owner->ns;

		ring_buffer_put(rb);
		perf_persist_settle(ns);
	}
	ret = -EINVAL;
	if (rb && rb->nr_pages) {
		rb_toggle_paused(rb, pause);
		ret = 0;
	}
	mutex_unlock(&perf_persist_lock);
	if (rb)
		ring_buffer_put(rb);
	return ret;
}

static long name_event(struct perf_event *event, const char __user *ustr)
{
	struct perf_persist_string str;
	int ret;

	ret = get_string(&str, ustr, false);
	return ret ? ret : perf_persist_name_event(event, str.name, str.label);
}

/**
 * perf_persistent_ioctl - the ioctls of persistent events on an event
 * @file:	file of the event
 * @cmd:	ioctl number
 * @arg:	its argument
 *
 * Called without a lock, in particular without that of a context. Takes
 * perf_persist_lock.
 *
 * Return: 0, or
 *  -ENOIOCTLCMD @cmd is none of them
 *  -EACCES	the file is for reading only and @cmd is not GET_PERSIST, or the
 *		caller lacks CAP_PERFMON
 *  -EFAULT	@arg is no address that can be read, or written
 *  -EOPNOTSUPP	events of a task, of a group, with an AUX area or sigtrap
 *  -ENODEV	the namespace was deleted; GET_PERSIST goes on to answer, for
 *		those who still read
 *  -ENOMEM	out of memory
 *  -EPERM	publishing, and the user may not lock what the buffers take beyond
 *		perf_event_mlock_kb, see RLIMIT_MEMLOCK
 *  -ENOSPC	publishing, and there are as many members as the sysctl
 *		kernel.perf_event_max_persistent allows
 *
 * SET_NAME:
 *  -EINVAL	not a name, or not a label; or see SET_PERSIST on buffers
 *  -EEXIST	a namespace of that name exists
 *  -EBUSY	the namespace has a name
 *  -EPERM	another process made the namespace
 *  -EACCES	somebody has or had a buffer mapped for writing
 *
 * SET_PERSIST with an address:
 *  -ENOENT	no such namespace without a name that this process made
 *  -EEXIST	the name remembered from SET_NAME is taken
 *  -EBUSY	the event is in a namespace
 *  -EINVAL	a name is remembered from SET_NAME, and the namespace has none; or
 *		a buffer is not backward, was not mapped for reading alone, has an
 *		AUX area, or belongs to an event that is not in the namespace
 *
 * SET_PERSIST with NULL:
 *  -ENOENT	the event is in no namespace
 *  -EBUSY	other members write to its buffer
 *
 * PERSIST_FLAGS:
 *  -EINVAL	a flag that does not exist or can't be set
 *  -EBUSY	the namespace has a name
 *  -EPERM	another process made the namespace
 *
 * GET_PERSIST:
 *  -ENOENT	the event is in no namespace
 *  -EINVAL	size is too small, or a reserved field is not zero
 *  -E2BIG	size is too large, which now holds what the kernel knows; or
 *		attr_size is too small, which now holds what it takes
 */
long perf_persistent_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct perf_event *event = file->private_data;
	void __user *argp = (void __user *)arg;
	int ret;

	if (perf_is_get_persist(cmd)) {
		ret = security_perf_event_read(event);
		return ret ? ret : perf_persist_get_info(event, event->member, argp);
	}
	if (cmd == PERF_EVENT_IOC_PAUSE_OUTPUT)
		return pause_output(file, arg);

	switch (cmd) {
	case PERF_EVENT_IOC_SET_NAME:
	case PERF_EVENT_IOC_SET_PERSIST:
	case PERF_EVENT_IOC_PERSIST_FLAGS:
		break;
	default:
		return -ENOIOCTLCMD;
	}

	if (!(file->f_mode & FMODE_WRITE) || !perfmon_capable())
		return -EACCES;

	ret = security_perf_event_write(event);
	if (ret)
		return ret;

	if (!event->member)
		return -EOPNOTSUPP;

	switch (cmd) {
	case PERF_EVENT_IOC_SET_NAME:
		return name_event(event, argp);
	case PERF_EVENT_IOC_PERSIST_FLAGS:
		return perf_persist_set_flags(event, argp);
	default:
		return argp ? perf_persist_event(event, argp) : perf_persist_claim(event);
	}
}
