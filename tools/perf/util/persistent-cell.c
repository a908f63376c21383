// SPDX-License-Identifier: GPL-2.0
/* Format the cells of tables about namespaces of persistent events. */
#include "persistent-cell.h"

#include <inttypes.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/bitmap.h>
#include <linux/kernel.h>
#include <linux/time64.h>
#include "cgroup.h"
#include "persistent.h"
#include "persistent-info.h"
#include "strbuf.h"
#include "units.h"

char *cell__fmt(const char *format, ...)
{
	va_list args;
	char *str;

	va_start(args, format);
	if (vasprintf(&str, format, args) < 0)
		str = NULL;
	va_end(args);
	return str;
}

char *cell__bytes(u64 bytes, bool exact)
{
	char buf[32];

	if (exact)
		unit_number__scnprintf_exact(buf, sizeof(buf), bytes);
	else
		unit_number__scnprintf(buf, sizeof(buf), bytes);
	return strdup(buf);
}

/* Show the two largest units. */
char *cell__time(u64 ns)
{
	u64 s = ns / NSEC_PER_SEC, m = s / 60, h = m / 60, d = h / 24;

	if (d)
		return cell__fmt("%" PRIu64 "d%02uh", d, (unsigned int)(h % 24));
	if (h)
		return cell__fmt("%" PRIu64 "h%02um", h, (unsigned int)(m % 60));
	if (m)
		return cell__fmt("%" PRIu64 "m%02us", m, (unsigned int)(s % 60));
	return cell__fmt("%" PRIu64 "s", s);
}

/* How long ago @time was. Tenths of a second matter for records. */
char *cell__back(const struct persistent_info *info, u64 time)
{
	/* The record may have been written after info->now was taken. */
	u64 ns = info->now > time ? info->now - time : 0;

	if (!time || !info->now)
		return NULL;
	if (ns >= 60ULL * NSEC_PER_SEC)
		return cell__time(ns);
	return cell__fmt("%u.%us", (unsigned int)(ns / NSEC_PER_SEC),
			 (unsigned int)(ns % NSEC_PER_SEC / (NSEC_PER_SEC / 10)));
}

char *cell__state(const char *state, int nr, int nr_offline)
{
	const char *offline = "";

	if (nr_offline)
		offline = nr_offline == nr ? ", offline" : ", partly offline";
	return cell__fmt("%s%s", state, offline);
}

static void add_cpus(struct strbuf *sb, const char *before, unsigned long *cpus, int nr,
		     const char *after)
{
	size_t size = 8 * nr + 1;
	char *buf = malloc(size);

	if (buf) {
		buf[0] = 0;
		bitmap_scnprintf(cpus, nr, buf, size);
		strbuf_addf(sb, "%s%s%s", before, buf, after);
	}
	free(buf);
}

/* 0-2(-3): on CPUs 0 to 2, but not on 3, where it should be */
char *cell__cpus(unsigned long *cpus, unsigned long *missing, int nr)
{
	struct strbuf sb = STRBUF_INIT;
	bool all = !missing || bitmap_empty(missing, nr);

	if (!cpus || (bitmap_empty(cpus, nr) && all))
		return NULL;
	if (!bitmap_empty(cpus, nr))
		add_cpus(&sb, "", cpus, nr, "");
	if (!all)
		add_cpus(&sb, "(-", missing, nr, ")");
	return strbuf_detach(&sb, NULL);
}

char *cell__owner(const struct persistent_ns *ns)
{
	struct passwd *pw = getpwuid(ns->owner_uid);
	char comm[sizeof(ns->owner_comm)];

	scnprintf(comm, sizeof(comm), "%s", ns->owner_comm);
	persistent__make_printable(comm);

	if (pw)
		return cell__fmt("%s (%s)", pw->pw_name, comm);
	return cell__fmt("%u (%s)", ns->owner_uid, comm);
}

char *cell__label(const struct persistent_member *member)
{
	return member->label[0] ? strdup(member->label) : NULL;
}

char *cell__number(u64 nr)
{
	return cell__fmt("%" PRIu64, nr);
}

/* A cgroup that is gone, or that the caller may not look up, still has an id. */
char *cell__cgroup(u64 id)
{
	char *path;

	if (!id)
		return NULL;
	path = cgroup__path_of_id(id);
	if (!path)
		return cell__fmt("id %" PRIu64, id);
	persistent__make_printable(path);
	return path;
}

/* Use the largest unit that has no fraction. */
char *cell__duration(u64 ns)
{
	if (!ns)
		return NULL;
	if (ns % NSEC_PER_USEC)
		return cell__fmt("%" PRIu64 "ns", ns);
	if (ns % NSEC_PER_MSEC)
		return cell__fmt("%" PRIu64 "us", ns / NSEC_PER_USEC);
	if (ns % NSEC_PER_SEC)
		return cell__fmt("%" PRIu64 "ms", ns / NSEC_PER_MSEC);
	return cell__fmt("%" PRIu64 "s", ns / NSEC_PER_SEC);
}
