// SPDX-License-Identifier: GPL-2.0
/*
 * Enable, disable, stop and delete namespaces of persistent events.
 */
#include "persistent.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <linux/string.h>
#include "debug.h"
#include "util.h"

/* A snapshot does not change: it can only be read and deleted. */
int persistent_ns__check_live(const struct persistent_ns *ns)
{
	if (!ns->snapshot)
		return 0;

	pr_err("'%s' is a snapshot and cannot change: use the namespace '%.*s' instead.\n",
	       ns->name, (int)strcspn(ns->name, "."), ns->name);
	return -EINVAL;
}

static int ns__ioctl(const struct persistent_ns *ns, unsigned long cmd)
{
	return ioctl(ns->fd, cmd, 0) ? -errno : 0;
}

static int ns__err(const struct persistent_ns *ns, int err, const char *what)
{
	char buf[STRERR_BUFSIZE];

	if (err)
		pr_err("Cannot %s the namespace '%s': %s\n", what, ns->name,
		       str_error_r(-err, buf, sizeof(buf)));
	return err;
}

static int ns__change(const struct persistent_ns *ns, unsigned long cmd, const char *what)
{
	return persistent_ns__check_live(ns) ?: ns__err(ns, ns__ioctl(ns, cmd), what);
}

int persistent_ns__enable(struct persistent_ns *ns)
{
	return ns__change(ns, PERF_EVENT_IOC_ENABLE, "enable");
}

int persistent_ns__disable(struct persistent_ns *ns)
{
	return ns__change(ns, PERF_EVENT_IOC_DISABLE, "disable");
}

/* The buffers stay as they are until somebody resumes the namespace. */
int persistent_ns__stop(struct persistent_ns *ns)
{
	return ns__change(ns, PERF_EVENT_IOC_STOP, "stop");
}

int persistent_ns__resume(struct persistent_ns *ns)
{
	return ns__change(ns, PERF_EVENT_IOC_RESUME, "resume");
}

int persistent_ns__set_note(struct persistent_ns *ns, const char *note)
{
	return ns__err(ns, ioctl(ns->fd, PERF_EVENT_IOC_SET_NOTE, note) ? -errno : 0,
		       "attach a note to");
}

/*
 * Stop recording, so that no records follow those that are read. If somebody else has
 * deleted the namespace, its mapped buffers can still be read.
 */
int persistent_ns__disable_to_delete(struct persistent_ns *ns)
{
	int err;

	/* A snapshot gets no more records. */
	if (ns->snapshot)
		return 0;

	err = ns__ioctl(ns, PERF_EVENT_IOC_DISABLE);
	ns->disabled = !err;
	return err == -ENODEV ? 0 : ns__err(ns, err, "disable");
}

static int member__enable(const struct persistent_ns *ns,
			  const struct persistent_member *member)
{
	int fd = persistent_member__open_to_change(ns, member);
	int err = fd < 0 ? fd : 0;

	if (!err && ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))
		err = -errno;
	if (fd >= 0)
		close(fd);
	return err;
}

/* Was the member off before the namespace was disabled? If it is new: the same event? */
static bool member__was_off(const struct persistent_ns *ns, const struct persistent_member *member)
{
	const struct persistent_member *was = persistent_ns__find_member(ns, member->id);

	for (int i = 0; i < ns->nr_members && !was; i++) {
		if (persistent_member__is_same_event(&ns->members[i], member))
			was = &ns->members[i];
	}
	return was && was->flags & PERF_PERSIST_DISABLED;
}

/* Enable members that were not off before, including those that joined meanwhile. */
static int ns__enable_each(const struct persistent_ns *ns)
{
	struct persistent_member member = { .id = 0 };
	int err = 0, end;

	/*
	 * A member that fails does not keep the others off. Ignore members that are gone;
	 * new ones are listed, too, or enabled already.
	 */
	while (!(end = persistent_ns__next_member(ns, member.id, &member))) {
		int ret = 0;

		if (!member__was_off(ns, &member))
			ret = member__enable(ns, &member);
		if (ret != -ENOENT)
			err = err ?: ret;
	}

	return err ?: end == -ENOENT ? 0 : end;
}

/*
 * Undo persistent_ns__disable_to_delete(): members that were off before it remain so.
 */
int persistent_ns__enable_again(struct persistent_ns *ns)
{
	char buf[STRERR_BUFSIZE];
	int err;

	if (!ns->disabled)
		return 0;

	err = ns__enable_each(ns);
	if (err)
		pr_err("Cannot enable the namespace '%s' again: %s\n", ns->name,
		       str_error_r(-err, buf, sizeof(buf)));
	else
		ns->disabled = false;
	return err;
}

/* It is no error if somebody else was faster. */
int persistent_ns__delete(struct persistent_ns *ns)
{
	int err = ns__ioctl(ns, PERF_EVENT_IOC_SET_PERSIST);

	return err == -ENODEV ? 0 : ns__err(ns, err, "delete");
}
