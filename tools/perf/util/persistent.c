// SPDX-License-Identifier: GPL-2.0
/*
 * Persistent events: events that the kernel keeps under a name.
 *
 * A namespace is a named set of events, its members, normally the same events
 * on every CPU. Its creator publishes it in one step. From then on it needs no
 * process, and any process that may open its events can open it. This file opens
 * namespaces and asks the kernel about them and their members: see
 * PERF_TYPE_PERSISTENT in include/uapi/linux/perf_event.h.
 *
 * The life of a namespace:
 *
 *   created    by SET_PERSIST on its first member; the other members join it
 *   published  by SET_NAME on any member: all members at once, or none
 *   opened     by name or id, any number of times
 *   deleted    by SET_PERSIST with NULL on the namespace
 *
 * Before it is published it goes away when its creator closes the descriptors.
 *
 * A snapshot is also a namespace, but nobody can enable its events. See
 * persistent-control.c for how snapshots are taken.
 */
#include "persistent.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <api/fs/fs.h>
#include <linux/string.h>
#include <linux/time64.h>
#include <linux/zalloc.h>
#include "cap.h"
#include "debug.h"
#include "rlimit.h"
#include "util.h"
#include "../perf-sys.h"

/*
 * On a kernel without persistent events another PMU may have their type number.
 * So never conclude anything from an errno: only look for the PMU in sysfs.
 */
static int persistent__type(void)
{
	static int type;

	if (!type && sysfs__read_int(PERSISTENT_SYSFS "/type", &type))
		type = -1;

	return type;
}

bool persistent__supported(void)
{
	return persistent__type() >= 0;
}

int persistent__check_supported(void)
{
	if (persistent__supported())
		return 0;

	if (!sysfs__mountpoint())
		pr_err("Cannot find out whether this kernel keeps events, as sysfs is not mounted. Run\n"
		       "mount -t sysfs none /sys\n");
	else
		pr_err(PERSISTENT_UNSUPPORTED ".\n" PERSISTENT_UNSUPPORTED_HELP "\n");
	return -EOPNOTSUPP;
}

/* Root in a container may lack the capability, or have it only in its user namespace. */
const char *persistent__help_perfmon(void)
{
	if (geteuid())
		return "be root, or see\n"
		       "Documentation/admin-guide/perf-security.rst for how to grant CAP_PERFMON\n"
		       "to perf";
	return "you are root, but without\n"
	       "CAP_PERFMON in the initial user namespace, as in a container. Run perf\n"
	       "outside of it, or start it with that capability";
}

int persistent__check_perfmon(void)
{
	if (perf_cap__capable(CAP_PERFMON))
		return 0;

	pr_err("Keeping events in the kernel needs CAP_PERFMON: %s.\n", persistent__help_perfmon());
	return -EPERM;
}

static int persistent__open(u64 ns_id, u64 event_id, bool write)
{
	enum rlimit_action set_rlimit = NO_CHANGE;
	struct perf_event_attr attr = {
		.size	 = sizeof(attr),
		.type	 = persistent__type(),
		.config	 = ns_id,
		.config1 = event_id,
		.config2 = write ? PERF_PERSIST_OPEN_WRITE : 0,
	};
	int fd;

	do {
		fd = sys_perf_event_open(&attr, -1, -1, -1, PERF_FLAG_FD_CLOEXEC);
	} while (fd < 0 && errno == EMFILE && rlimit__increase_nofile(&set_rlimit));

	return fd < 0 ? -errno : fd;
}

/* Accept a larger attr from a newer kernel if all fields that are unknown here are zero. */
static int persistent__get_big_attr(int fd, struct perf_event_persist_member *info,
				    struct perf_event_attr *attr)
{
	size_t size = info->attr_size;
	char *big;
	int err;

	if (size <= sizeof(*attr))
		return -EINVAL;

	big = zalloc(size);
	if (!big)
		return -ENOMEM;

	info->attr = (u64)(unsigned long)big;
	err = ioctl(fd, PERF_EVENT_IOC_GET_MEMBER, info) ? -errno : 0;
	if (!err && memchr_inv(big + sizeof(*attr), 0, size - sizeof(*attr)))
		err = -E2BIG;
	if (!err)
		memcpy(attr, big, sizeof(*attr));
	free(big);
	return err;
}

/* On a namespace: the member after @event_id; on an event: that member. */
static int persistent__get(int fd, u64 event_id, struct perf_event_persist_member *info,
			   struct perf_event_attr *attr)
{
	struct perf_event_persist_member query = {
		.size	   = sizeof(query),
		.event_id  = event_id,
		.attr	   = (u64)(unsigned long)attr,
		.attr_size = sizeof(*attr),
	};
	int err;

	memset(attr, 0, sizeof(*attr));
	*info = query;
	if (!ioctl(fd, PERF_EVENT_IOC_GET_MEMBER, info))
		return 0;
	if (errno != E2BIG)
		return -errno;

	query.attr_size = info->attr_size;
	*info = query;
	err = persistent__get_big_attr(fd, info, attr);
	if (err == -E2BIG)
		pr_err("These events were created by a newer perf, with features that this perf does not know.\n");
	return err;
}

static void ns__fill(struct persistent_ns *ns, const struct perf_event_persist *info)
{
	ns->id = info->ns_id;
	ns->created_ns = info->created_ns;
	ns->owner_uid = info->owner_uid;
	ns->source_id = info->source_id;
	ns->number = info->number;
	ns->trigger = info->trigger;
	ns->swap_begin_ns = info->swap_begin_ns;
	ns->keep = info->keep;
	ns->spares = info->spares;
	ns->snapshot = info->flags & PERF_PERSIST_SNAPSHOT;
	ns->stopped = info->flags & PERF_PERSIST_STOPPED;
	ns->all_cpus = info->flags & PERF_PERSIST_ALL_CPUS;
	memcpy(ns->note, info->note, sizeof(ns->note));
	persistent__make_printable(ns->note);
	memcpy(ns->name, info->name, sizeof(ns->name));
	memcpy(ns->owner_comm, info->owner_comm, sizeof(ns->owner_comm));
}

/* Ask about an open event. The attr is not requested. */
int persistent__get_event(int fd, struct perf_event_persist_member *info)
{
	*info = (struct perf_event_persist_member) { .size = sizeof(*info) };
	return ioctl(fd, PERF_EVENT_IOC_GET_MEMBER, info) ? -errno : 0;
}

/*
 * The same, but asked on the namespace: the kernel leaves out the head of the
 * buffer, as it would have to ask the CPU of the event.
 */
int persistent_ns__get_member(const struct persistent_ns *ns, u64 id,
			      struct perf_event_persist_member *info)
{
	*info = (struct perf_event_persist_member) {
		.size	  = sizeof(*info),
		.event_id = id - 1,
	};
	if (ioctl(ns->fd, PERF_EVENT_IOC_GET_MEMBER, info))
		return -errno;
	return info->event_id == id ? 0 : -ENOENT;
}

/* The caller frees it. NULL: the member has no filter, or the caller may not see it. */
char *persistent_ns__member_filter(const struct persistent_ns *ns, u64 id)
{
	struct perf_event_persist_member info = { .size = sizeof(info), .event_id = id - 1 };
	char *filter;

	if (ioctl(ns->fd, PERF_EVENT_IOC_GET_MEMBER, &info) || info.event_id != id ||
	    !info.filter_size)
		return NULL;

	filter = malloc(info.filter_size);
	info.event_id = id - 1;
	info.filter = (u64)(unsigned long)filter;
	if (filter && (ioctl(ns->fd, PERF_EVENT_IOC_GET_MEMBER, &info) || info.event_id != id))
		zfree(&filter);
	if (filter)
		persistent__make_printable(filter);
	return filter;
}

/* Get everything but the members. */
static int ns__describe(struct persistent_ns *ns)
{
	struct perf_event_persist info = { .size = sizeof(info) };

	if (ioctl(ns->fd, PERF_EVENT_IOC_GET_PERSIST, &info))
		return -errno;
	ns__fill(ns, &info);
	return 0;
}

static int ns__init(struct persistent_ns *ns)
{
	int err = ns__describe(ns);

	/* -ENODEV: it was deleted after it was opened. */
	return err == -ENODEV ? -ENOENT : err;
}

/* Refresh everything but the members. poll() then waits for the next change. */
int persistent_ns__look_again(struct persistent_ns *ns)
{
	return ns__init(ns);
}

static struct persistent_ns *ns__new(int fd)
{
	struct persistent_ns *ns = fd < 0 ? NULL : zalloc(sizeof(*ns));

	if (ns)
		ns->fd = fd;
	else if (fd >= 0)
		close(fd);
	return ns;
}

int persistent_ns__lookup_id(u64 id, bool write, struct persistent_ns **res)
{
	int fd = persistent__open(id, 0, write), err = fd < 0 ? fd : -ENOMEM;
	struct persistent_ns *ns = ns__new(fd);

	if (ns)
		err = ns__init(ns);
	if (err) {
		persistent_ns__close(ns);
		ns = NULL;
	}
	*res = ns;
	return err;
}

int persistent_ns__lookup(const char *name, bool write, struct persistent_ns **res)
{
	int fd = persistent__open(~0ULL, 0, write), err = fd < 0 ? fd : -ENOMEM;
	struct persistent_ns *ns = ns__new(fd);

	if (ns) {
		err = ioctl(fd, PERF_EVENT_IOC_SET_NAME, name) ? -errno : 0;
		err = err ?: ns__init(ns);
	}
	if (err) {
		persistent_ns__close(ns);
		ns = NULL;
	}
	/* The kernel checks permissions before it looks for the name. */
	if ((err == -EACCES || err == -EPERM) && !persistent__exists(name))
		err = -ENOENT;
	*res = ns;
	return err;
}

struct persistent_ns *persistent_ns__open(const char *name, bool write)
{
	struct persistent_ns *ns;

	persistent__err_open(persistent_ns__lookup(name, write, &ns), name);
	return ns;
}

void persistent_ns__close(struct persistent_ns *ns)
{
	if (!ns)
		return;

	close(ns->fd);
	free(ns->members);
	free(ns->tasks);
	free(ns);
}

int persistent_member__open(const struct persistent_ns *ns,
			    const struct persistent_member *member)
{
	return persistent__open(ns->id, member->id, /*write=*/false);
}

int persistent_member__open_to_change(const struct persistent_ns *ns,
				      const struct persistent_member *member)
{
	return persistent__open(ns->id, member->id, /*write=*/true);
}

static void member__fill(struct persistent_member *member,
			 const struct perf_event_persist_member *info)
{
	member->id = info->event_id;
	member->output_id = info->output_id;
	member->buffer_size = info->buffer_size;
	member->lost = info->lost;
	member->missed = info->missed;
	member->cgroup_id = info->cgroup_id;
	member->pid_ns = info->pid_ns;
	member->flags = info->flags;
	member->cpu = info->cpu;
	memcpy(member->label, info->label, sizeof(member->label));
	persistent__make_printable(member->label);
}

int persistent_ns__next_member(const struct persistent_ns *ns, u64 last,
			       struct persistent_member *member)
{
	struct perf_event_persist_member info;
	int err = persistent__get(ns->fd, last, &info, &member->attr);

	if (!err)
		member__fill(member, &info);
	return err;
}

int persistent_ns__list(struct persistent_ns *ns)
{
	u64 last = 0;
	int err;

	zfree(&ns->members);
	ns->nr_members = 0;
	err = ns__describe(ns);
	if (err)
		return err;

	for (;;) {
		struct persistent_member *members, *member;
		int nr = ns->nr_members;

		/* Grow at powers of two. */
		if (!(nr & (nr - 1))) {
			members = realloc(ns->members, (nr ? 2 * nr : 1) * sizeof(*members));
			if (!members)
				return -ENOMEM;
			ns->members = members;
		}

		member = &ns->members[nr];
		err = persistent_ns__next_member(ns, last, member);
		if (err)
			break;

		last = member->id;
		/* A trigger's event without a buffer is listed with the trigger. */
		if (!(member->flags & PERF_PERSIST_FOR_TRIGGER) || member->output_id)
			ns->nr_members++;
	}

	return err == -ENOENT ? 0 : err;
}

/* Number of records that were dropped while the namespace was stopped */
u64 persistent_ns__missed(const struct persistent_ns *ns)
{
	u64 missed = 0;

	for (int i = 0; i < ns->nr_members; i++)
		missed += ns->members[i].missed;
	return missed;
}

static int member_id_cmp(const void *id, const void *member)
{
	u64 a = *(const u64 *)id, b = ((const struct persistent_member *)member)->id;

	return a < b ? -1 : a > b;
}

/* The kernel lists members in the order of their ids. */
struct persistent_member *persistent_ns__find_member(const struct persistent_ns *ns, u64 id)
{
	return bsearch(&id, ns->members, ns->nr_members, sizeof(*ns->members), member_id_cmp);
}

/*
 * Count members that joined after @ns was listed, because a CPU came online or
 * somebody added events: their records were not read. Ignore side-band events,
 * and with @only those on other CPUs.
 */
int persistent_ns__count_late(const struct persistent_ns *ns, const struct perf_cpu_map *only,
			      int *nr)
{
	struct persistent_ns now = { .fd = ns->fd };
	int err = persistent_ns__list(&now);
	char buf[STRERR_BUFSIZE];

	*nr = 0;
	for (int i = 0; i < now.nr_members && !err; i++) {
		const struct persistent_member *member = &now.members[i];
		struct perf_cpu cpu = { .cpu = member->cpu };

		if (persistent_member__is_sideband(member) ||
		    (only && !perf_cpu_map__has(only, cpu)))
			continue;
		*nr += !persistent_ns__find_member(ns, member->id);
	}

	free(now.members);

	/* Somebody else has deleted it: there is nothing left to read. */
	if (err == -ENODEV)
		return 0;
	if (err)
		pr_err("Cannot list the events of the namespace '%s' again: %s\n", ns->name,
		       str_error_r(-err, buf, sizeof(buf)));
	return err;
}

/* Was it deleted after it was opened? Mapped buffers stay readable. */
bool persistent_ns__is_gone(const struct persistent_ns *ns)
{
	struct pollfd pfd = { .fd = ns->fd };

	return poll(&pfd, 1, 0) > 0 && pfd.revents & POLLHUP;
}

u64 persistent_ns__age_ns(const struct persistent_ns *ns)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (u64)now.tv_sec * NSEC_PER_SEC + now.tv_nsec - ns->created_ns;
}

static bool is_off(const struct persistent_ns *ns)
{
	for (int i = 0; i < ns->nr_members; i++) {
		if (!(ns->members[i].flags & PERF_PERSIST_DISABLED))
			return false;
	}
	return ns->nr_members;
}

u64 persistent_ns__ended_ns_ago(const struct persistent_ns *ns)
{
	if (ns->snapshot)
		return persistent_ns__age_ns(ns);
	return ns->stopped || is_off(ns) ? ULLONG_MAX : 0;
}

/* Bytes ever written to the buffer of the event that is open as @fd */
int persistent_member__written(int fd, u64 *bytes)
{
	struct perf_event_persist_member info;
	int err = persistent__get_event(fd, &info);

	if (!err)
		*bytes = -info.head;
	return err;
}

/* perf record -P adds dummy events for records of tasks and maps. They count nothing. */
bool persistent_member__is_sideband(const struct persistent_member *member)
{
	return member->attr.type == PERF_TYPE_SOFTWARE &&
	       member->attr.config == PERF_COUNT_SW_DUMMY;
}

/* Do only side-band events write to the buffer of @member? */
bool persistent_ns__is_sideband_ring(const struct persistent_ns *ns,
				     const struct persistent_member *member)
{
	for (int i = 0; i < ns->nr_members; i++) {
		if (ns->members[i].output_id == member->id &&
		    !persistent_member__is_sideband(&ns->members[i]))
			return false;
	}
	return true;
}

/* The CPU is ignored: the caller must tell two equal events on one CPU apart. */
bool persistent_member__is_same_event(const struct persistent_member *member,
				      const struct persistent_member *other)
{
	return member->cgroup_id == other->cgroup_id && !strcmp(member->label, other->label) &&
	       !memcmp(&member->attr, &other->attr, sizeof(member->attr));
}
