// SPDX-License-Identifier: GPL-2.0
/*
 * Whose pids are in the records of a namespace?
 *
 * They belong to the pid namespace of the process that made the events. /proc shows the pid
 * namespace of the reader. If only one of the two is in a container, pid 17 is a different
 * task for each, so the reader would get a wrong name from /proc.
 */
#include "persistent-pids.h"

#include <errno.h>
#include <sys/stat.h>
#include <linux/types.h>
#include "debug.h"
#include "persistent.h"

static u64 own_pid_ns(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) ? 0 : st.st_ino;
}

/* Prefer side-band events, as the names of tasks come from these. 0: not known */
static u64 ns__pid_ns(const struct persistent_ns *ns)
{
	u64 pid_ns = 0;

	for (int i = 0; i < ns->nr_members; i++) {
		const struct persistent_member *member = &ns->members[i];

		if (!member->pid_ns)
			continue;
		if (persistent_member__is_sideband(member))
			return member->pid_ns;
		pid_ns = pid_ns ?: member->pid_ns;
	}
	return pid_ns;
}

static bool ns__has_own_pids(const struct persistent_ns *ns)
{
	u64 own = own_pid_ns(), pid_ns = ns__pid_ns(ns);

	return !own || !pid_ns || own == pid_ns;
}

bool persistent__has_own_pids(const struct persistent *persistent)
{
	for (int i = 0; i < persistent->nr_ns; i++) {
		if (!ns__has_own_pids(persistent->ns[i]))
			return false;
	}
	return true;
}

int persistent__check_pids(const struct persistent *persistent, struct evlist *evlist)
{
	const struct persistent_ns *first = persistent->nr_ns ? persistent->ns[0] : NULL;

	for (int i = 1; i < persistent->nr_ns; i++) {
		const struct persistent_ns *ns = persistent->ns[i];
		u64 a = ns__pid_ns(first), b = ns__pid_ns(ns);

		if (a && b && a != b) {
			pr_err("'%s' and '%s' have pids of different pid namespaces: read them one at a time.\n",
			       first->name, ns->name);
			return -EINVAL;
		}
	}

	if (!first || persistent__has_own_pids(persistent))
		return 0;

	if (!evlist__all_attached(evlist)) {
		pr_err("'%s' has pids of another pid namespace than other events: read it without them.\n",
		       first->name);
		return -EINVAL;
	}

	pr_warning("WARNING: '%s' has pids of another pid namespace: /proc is not read for names of tasks.\n"
		   "Tasks outside of that pid namespace have pid 0 or -1.\n", first->name);
	return 0;
}
