// SPDX-License-Identifier: GPL-2.0
/*
 * System calls on persistent events: perf_event_open() of members and namespaces, and
 * the ioctls of both.
 */
#include <linux/anon_inodes.h>
#include <linux/capability.h>
#include <linux/compat.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/poll.h>
#include <linux/security.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "internal.h"
#include "persistent.h"
#include "persistent_internal.h"

/* "namespace", "namespace/label" or "/label", split at the first slash */
struct perf_persist_string {
	char	buf[PERF_PERSIST_USER_NAME_MAX + 1 + PERF_PERSIST_NAME_SIZE];
	char	*name;	/* NULL: none given */
	char	*label;	/* NULL: none given */
};

/* @find: the name is that of an existing namespace, and not of one to be made. */
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
 * The file of a namespace
 */

/**
 * struct perf_persist_file - an open namespace
 * @ns:		NULL until the file is bound to one, then it stays
 * @seen:	generation of @ns at the last GET_PERSIST through this file
 *
 * Protected by perf_persist_lock. Once @ns is set, it can be read without the lock.
 */
struct perf_persist_file {
	struct perf_persist_ns	*ns;
	u64			seen;
};

/* A bound file stays bound, so callers can use its namespace without the lock. */
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
	/* The last ordinary member has left, and the others are about to follow. */
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

	guard(mutex)(&perf_persist_lock);
	while ((ns = perf_persist_find_name(str.name)) && ns->swapping) {
		ret = perf_persist_settle_killable(ns);
		if (ret)
			return ret;
	}
	return pf->ns ? -EBUSY : bind_file(pf, ns);
}

static long set_note(struct perf_persist_ns *ns, const char __user *ustr)
{
	char note[PERF_PERSIST_NAME_SIZE];
	long ret;

	ret = strncpy_from_user(note, ustr, sizeof(note));
	if (ret < 0)
		return ret;
	if (ret == sizeof(note) || (*note && !perf_persist_valid_label(note)))
		return -EINVAL;

	guard(mutex)(&perf_persist_lock);
	if (ns->unlinked)
		return -ENODEV;
	ret = perf_persist_may_write(ns);
	if (ret)
		return ret;
	strscpy_pad(ns->note, note);
	perf_persist_changed(ns);
	return 0;
}

static long delete_ns(struct perf_persist_ns *ns)
{
	return is_snapshot(ns) ? perf_snapshot_delete(ns) : perf_persist_delete_killable(ns);
}

static bool is_ns_ioctl(unsigned int cmd)
{
	switch (cmd) {
	case PERF_EVENT_IOC_ENABLE:
	case PERF_EVENT_IOC_DISABLE:
	case PERF_EVENT_IOC_SET_PERSIST:
	case PERF_EVENT_IOC_JOIN:
	case PERF_EVENT_IOC_SET_NOTE:
	case PERF_EVENT_IOC_STOP:
	case PERF_EVENT_IOC_RESUME:
		return true;
	}
	return perf_is_snapshot_ioctl(cmd) || perf_is_trigger_ioctl(cmd) ||
	       perf_is_tasks_ioctl(cmd);
}

static bool is_for_readers(unsigned int cmd)
{
	return perf_trigger_ioctl_reads(cmd) || perf_same_ioctl(cmd, PERF_EVENT_IOC_GET_TASKS);
}

/**
 * perf_persist_file_ioctl - the ioctls of a namespace
 * @file:	file of the namespace
 * @cmd:	ioctl number: SET_NAME binds an unbound file to the namespace of
 *		that name, GET_PERSIST describes it, GET_MEMBER walks its members,
 *		ENABLE and DISABLE are for all of them, JOIN adds one, SET_NOTE
 *		attaches a text, SET_PERSIST with NULL deletes it; see also
 *		perf_stop_or_resume(), perf_snapshot_ioctl(), perf_trigger_ioctl() and
 *		perf_tasks_ioctl()
 * @arg:	its argument
 *
 * Called without a lock. Takes perf_persist_lock.
 *
 * Return: 0, or
 *  -ENOTTY	@cmd is none of these ioctls
 *  -EFAULT	user memory at @arg cannot be read or written
 *  -EINVAL	the file is not bound to a namespace; SET_PERSIST, ENABLE, DISABLE, STOP or
 *		RESUME with an argument; SET_NAME: not a name;
 *		SET_NOTE: too long, or with a control character; GET_PERSIST and
 *		GET_MEMBER: see perf_persistent_ioctl(); JOIN: see SET_NAME there,
 *		or SET_NAME of the event named another namespace
 *  -EACCES	the file is open for reading only, and @cmd is not SET_NAME,
 *		GET_PERSIST, GET_MEMBER, GET_TRIGGER, GET_TRIGGER_STATE or GET_TASKS;
 *		SET_NAME: the caller may not open the first member; JOIN: the caller
 *		lacks CAP_PERFMON, the file of the event is open for reading only, or
 *		somebody could write to its buffer
 *  -EPERM	JOIN: the namespace belongs to another user, and the caller lacks
 *		CAP_IPC_LOCK; or see -EPERM of SET_NAME in perf_persistent_ioctl()
 *  -EBADF	JOIN: not a descriptor of an event
 *  -EOPNOTSUPP	ENABLE, DISABLE, JOIN, STOP, RESUME: it is a snapshot; or see
 *		SET_PERSIST in perf_persistent_ioctl()
 *  -EBUSY	SET_NAME: the file is bound already; JOIN: the event is in a
 *		namespace
 *  -ENOENT	SET_NAME: no such namespace; GET_MEMBER: no more members
 *  -ENODEV	the namespace was deleted; JOIN: or the event was, or its PMU is gone
 *  -E2BIG	see GET_PERSIST and GET_MEMBER in perf_persistent_ioctl()
 *  -ENOSPC	JOIN: as many members as kernel.perf_event_max_persistent allows
 *  -ENOMEM	out of memory
 *  or an error of the LSM
 */
static long perf_persist_file_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct perf_persist_file *pf = file->private_data;
	struct perf_persist_ns *ns = bound_ns(pf);
	void __user *argp = (void __user *)arg;

	if (cmd == PERF_EVENT_IOC_SET_NAME)
		return name_file(pf, argp);
	if (perf_is_get_persist(cmd))
		return ns ? perf_persist_get_info(ns, NULL, &pf->seen, argp) : -EINVAL;
	if (perf_is_get_member(cmd))
		return ns ? perf_persist_get_next_member(ns, argp) : -EINVAL;

	if (!is_ns_ioctl(cmd))
		return -ENOTTY;
	if (!(file->f_mode & FMODE_WRITE) && !is_for_readers(cmd))
		return -EACCES;
	if (!ns)
		return -EINVAL;

	if (perf_is_snapshot_ioctl(cmd))
		return perf_snapshot_ioctl(ns, cmd, arg);
	if (perf_is_trigger_ioctl(cmd))
		return perf_trigger_ioctl(ns, cmd, argp);
	if (perf_is_tasks_ioctl(cmd))
		return perf_tasks_ioctl(ns, cmd, argp);

	switch (cmd) {
	case PERF_EVENT_IOC_SET_PERSIST:
		return argp ? -EINVAL : delete_ns(ns);
	case PERF_EVENT_IOC_JOIN:
		return perf_persist_join_fd(ns, argp);
	case PERF_EVENT_IOC_SET_NOTE:
		return set_note(ns, argp);
	case PERF_EVENT_IOC_STOP:
	case PERF_EVENT_IOC_RESUME:
		return arg ? -EINVAL : perf_stop_or_resume(ns, cmd == PERF_EVENT_IOC_STOP);
	default:
		return arg ? -EINVAL : perf_persist_enable(ns, cmd == PERF_EVENT_IOC_ENABLE);
	}
}

#ifdef CONFIG_COMPAT
static long perf_persist_file_compat_ioctl(struct file *file, unsigned int cmd,
					   unsigned long arg)
{
	/* The only one of these ioctls whose number contains the size of a pointer */
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
	/* Redirecting to the member, or BPF links, change it without an ioctl of this file. */
	if (!ret && (f_flags & O_ACCMODE) == O_RDWR)
		ret = security_perf_event_write(member->event);
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

	/* If this succeeds, the file takes over the opener. */
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
 * With config1, this opens that member; with a CPU alone, the first member on it;
 * with neither, the namespace. With config ~0, it opens a file that SET_NAME can
 * bind to a namespace later. The descriptor is for reading only unless config2 says
 * otherwise. The caller has done the checks that perf_event_open() makes for all
 * events, and holds no lock. Takes perf_persist_lock.
 *
 * Return: a file descriptor, or
 *  -EINVAL	an argument that is out of range, or that must be zero and is
 *		not; @cpu is not the CPU of the member in config1
 *  -ENOENT	no such namespace or member
 *  -EACCES	write access without CAP_PERFMON, or the caller may not open an
 *		event with the attr of this member, or of another event that has
 *		written to its buffer; also -EPERM, as for a new event
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

/* Only PERF_EVENT_IOC_RESUME lets the buffer of a stopped namespace record again. */
static int pause_buffer(struct perf_buffer *rb, bool pause)
{
	struct perf_persist_ns *ns = rb->owner ? rb->owner->ns : NULL;

	assert_registry();
	if (ns && READ_ONCE(ns->stopped)) {
		/* rb_thaw() in RESUME uses the last value. */
		WRITE_ONCE(rb->pause_output, pause);
		/* _perf_ioctl() may have let it record again before it noticed the namespace. */
		rb_freeze(rb);
		return pause ? 0 : -EBUSY;
	}
	rb_toggle_paused(rb, pause);
	/* A trigger that stops it just now wins. Pairs with smp_mb() in perf_stop_now(). */
	smp_mb();
	if (ns && READ_ONCE(ns->stopped))
		rb_freeze(rb);
	return 0;
}

/*
 * PERF_EVENT_IOC_PAUSE_OUTPUT of an event that writes to the buffer of a member.
 * A snapshot may be replacing this buffer: wait for the end of that.
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
	/* That of a snapshot: somebody is redirecting the event, see move_others(). */
	if (rb && rb->held && !rb->owner)
		ret = -EBUSY;
	else if (rb && rb->nr_pages)
		ret = pause_buffer(rb, pause);
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
 *  -ENOIOCTLCMD @cmd is none of these ioctls
 *  -EACCES	the file is open for reading only and @cmd is not GET_PERSIST or
 *		GET_MEMBER, or the caller lacks CAP_PERFMON
 *  -EFAULT	user memory at @arg cannot be read or written
 *  -EOPNOTSUPP	events of a task, of a group, with an AUX area or sigtrap
 *  -ENODEV	the namespace was deleted; GET_PERSIST and GET_MEMBER still work then,
 *		for processes that still read; or a part of persistent events could not be
 *		initialized at boot
 *  -ENOMEM	out of memory
 *  -EPERM	publishing: the user may not lock as much memory as the buffers need
 *		beyond perf_event_mlock_kb, see RLIMIT_MEMLOCK
 *  -ENOSPC	publishing: there are as many members as the sysctl
 *		kernel.perf_event_max_persistent allows
 *
 * SET_NAME:
 *  -EINVAL	not a name, or not a label; or a buffer is unsuitable, see SET_PERSIST
 *  -EEXIST	a namespace of that name exists
 *  -EBUSY	the namespace has a name
 *  -EPERM	another process or user made the namespace
 *  -EACCES	somebody has or had a buffer mapped for writing
 *
 * SET_PERSIST with an address:
 *  -ENOENT	this process and user have made no namespace of this id that has no name yet
 *  -EEXIST	the name remembered from SET_NAME is taken
 *  -EBUSY	the event is in a namespace
 *  -EINVAL	a name is remembered from SET_NAME, and the namespace has none; or
 *		a buffer is not backward, was not mapped read-only, has an AUX area,
 *		or belongs to an event that is not in the namespace
 *
 * SET_PERSIST with NULL:
 *  -ENOENT	the event is in no namespace
 *  -EBUSY	other members write to its buffer
 *
 * PERSIST_FLAGS:
 *  -EINVAL	a flag that does not exist or can't be set
 *  -EBUSY	the namespace has a name
 *  -EPERM	another process or user made the namespace
 *
 * PAUSE_OUTPUT, where other errors are as for an ordinary event:
 *  -EBUSY	@arg is 0, and the namespace of the buffer is stopped: only RESUME lets the
 *		buffer record again; or the buffer is that of a snapshot, for any @arg
 *
 * GET_PERSIST and GET_MEMBER:
 *  -ENOENT	the event is in no namespace
 *  -EINVAL	size is too small
 *  -E2BIG	size is too large, and now holds the size that the kernel knows; or
 *		attr_size or filter_size is too small, and now holds what is needed
 *
 * An LSM may add errors of its own.
 */
long perf_persistent_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct perf_event *event = file->private_data;
	void __user *argp = (void __user *)arg;
	int ret;

	if (perf_is_get_persist(cmd) || perf_is_get_member(cmd)) {
		ret = security_perf_event_read(event);
		if (ret)
			return ret;
		return perf_is_get_persist(cmd) ?
		       perf_persist_get_info(NULL, event->member, NULL, argp) :
		       perf_persist_get_member(event, event->member, argp);
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
