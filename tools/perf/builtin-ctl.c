// SPDX-License-Identifier: GPL-2.0
/*
 * builtin-ctl.c
 *
 * Builtin ctl command: look after the events that 'perf record -P' left in the
 * kernel. Each verb is a function; how the kernel is talked to is known to
 * util/persistent.c, how a file is written to builtin-record.c.
 */
#include "builtin.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/time64.h>
#include <linux/zalloc.h>
#include <perf/cpumap.h>
#include <subcmd/parse-options.h>
#include "util/cpumap.h"
#include "util/debug.h"
#include "util/persistent.h"
#include "util/strbuf.h"
#include "util/units.h"

static struct {
	bool		 list;
	bool		 read;
	bool		 delete;
	const char	*output;
} ctl;

static const struct option ctl_options[] = {
	OPT_BOOLEAN('l', "list", &ctl.list, "list the namespaces, or the one that is named"),
	OPT_BOOLEAN('r', "read", &ctl.read, "write what a namespace holds to a file"),
	OPT_BOOLEAN('d', "delete", &ctl.delete, "delete the namespaces that are named"),
	OPT_STRING('o', "output", &ctl.output, "file", "output file of -r"),
	OPT_INCR('v', "verbose", &verbose, "be more verbose"),
	OPT_END()
};

static const char * const ctl_usage[] = {
	"perf ctl -l [<namespace>]",
	"perf ctl -r <namespace> [-o <file>]",
	"perf ctl -d <namespace>...",
	NULL
};

/* What the columns of the table say; those a stranger may not know are NULL. */
struct row {
	char	*name;
	char	*state;
	char	*events;
	char	*cpus;
	char	*buffer;
	char	*age;
	char	*owner;
};

enum { NR_COLUMNS = sizeof(struct row) / sizeof(char *) };

static const struct row header = {
	.name	= (char *)"NAME",
	.state	= (char *)"STATE",
	.events	= (char *)"EVENTS",
	.cpus	= (char *)"CPUS",
	.buffer	= (char *)"BUFFER",
	.age	= (char *)"AGE",
	.owner	= (char *)"OWNER",
};

static const char *row__column(const struct row *row, int nr)
{
	return ((char * const *)row)[nr] ?: "-";
}

static void row__exit(struct row *row)
{
	for (int i = 0; i < NR_COLUMNS; i++)
		free(((char **)row)[i]);
}

static void print_rows(const struct row *rows, int nr)
{
	int width[NR_COLUMNS];

	for (int i = 0; i < NR_COLUMNS; i++) {
		width[i] = strlen(row__column(&header, i));
		for (int j = 0; j < nr; j++)
			width[i] = max_t(int, width[i], strlen(row__column(&rows[j], i)));
	}

	for (int j = -1; j < nr; j++) {
		const struct row *row = j < 0 ? &header : &rows[j];

		for (int i = 0; i < NR_COLUMNS - 1; i++)
			printf("%-*s  ", width[i], row__column(row, i));
		printf("%s\n", row__column(row, NR_COLUMNS - 1));
	}
}

static char *state_str(const struct persistent_ns *ns)
{
	int nr = ns->nr_members, off = 0, offline = 0;
	struct strbuf sb = STRBUF_INIT;

	for (int i = 0; i < nr; i++) {
		off += !!(ns->members[i].flags & PERF_PERSIST_DISABLED);
		offline += !!(ns->members[i].flags & PERF_PERSIST_OFFLINE);
	}

	strbuf_addstr(&sb, !off ? "on" : off == nr ? "off" : "partly off");
	if (offline)
		strbuf_addstr(&sb, offline == nr ? ", offline" : ", partly offline");
	return strbuf_detach(&sb, NULL);
}

static char *cpus_str(const struct persistent_ns *ns)
{
	struct perf_cpu_map *cpus = NULL;
	char buf[256];

	for (int i = 0; i < ns->nr_members; i++) {
		char cpu[16];
		struct perf_cpu_map *one;

		if (persistent_member__is_sideband(&ns->members[i]))
			continue;

		scnprintf(cpu, sizeof(cpu), "%d", ns->members[i].cpu);
		one = perf_cpu_map__new(cpu);
		cpus = perf_cpu_map__merge(cpus, one);
		perf_cpu_map__put(one);
	}

	if (!cpus)
		return NULL;

	cpu_map__snprint(cpus, buf, sizeof(buf));
	perf_cpu_map__put(cpus);
	return strdup(buf);
}

static char *buffer_str(const struct persistent_ns *ns)
{
	char buf[32];
	u64 bytes = 0;

	/* One buffer serves several events, and is counted for the one that it belongs to. */
	for (int i = 0; i < ns->nr_members; i++) {
		if (ns->members[i].output_id == ns->members[i].id)
			bytes += ns->members[i].buffer_size;
	}

	unit_number__scnprintf_exact(buf, sizeof(buf), bytes);
	return strdup(buf);
}

static char *age_str(const struct persistent_ns *ns)
{
	struct timespec now;
	unsigned int s, m, h, d;
	char buf[32];

	clock_gettime(CLOCK_BOOTTIME, &now);
	s = now.tv_sec - ns->created_ns / NSEC_PER_SEC;
	m = s / 60;
	h = m / 60;
	d = h / 24;

	if (d)
		scnprintf(buf, sizeof(buf), "%ud%02uh", d, h % 24);
	else if (h)
		scnprintf(buf, sizeof(buf), "%uh%02um", h, m % 60);
	else if (m)
		scnprintf(buf, sizeof(buf), "%um%02us", m, s % 60);
	else
		scnprintf(buf, sizeof(buf), "%us", s);

	return strdup(buf);
}

static char *owner_str(const struct persistent_ns *ns)
{
	struct passwd *pw = getpwuid(ns->owner_uid);
	char buf[64];

	if (pw)
		scnprintf(buf, sizeof(buf), "%s (%s)", pw->pw_name, ns->owner_comm);
	else
		scnprintf(buf, sizeof(buf), "%u (%s)", ns->owner_uid, ns->owner_comm);

	return strdup(buf);
}

static int row__init(struct row *row, const char *name)
{
	struct persistent_ns *ns;
	int err = persistent_ns__lookup(name, /*write=*/false, &ns);

	memset(row, 0, sizeof(*row));
	if (!err)
		err = persistent_ns__list(ns);

	if (!err) {
		row->state = state_str(ns);
		row->events = persistent_ns__events(ns);
		row->cpus = cpus_str(ns);
		row->buffer = buffer_str(ns);
		row->age = age_str(ns);
		row->owner = owner_str(ns);
	}
	persistent_ns__close(ns);

	/* Who may not open it sees that it is there. */
	if (err && err != -EACCES && err != -EPERM)
		return err;

	row->name = strdup(name);
	return 0;
}

static int list_names(char * const *names, int nr)
{
	struct row *rows = calloc(nr, sizeof(*rows));
	int nr_rows = 0, ret = 0;

	if (!rows)
		return -ENOMEM;

	for (int i = 0; i < nr; i++) {
		int err = row__init(&rows[nr_rows], names[i]);

		if (!err) {
			nr_rows++;
		} else if (err != -ENOENT && err != -ENODEV) {
			/* Not one that was deleted since its name was read */
			persistent__err_open(err, names[i]);
			ret = err;
		}
	}

	if (nr_rows)
		print_rows(rows, nr_rows);

	for (int i = 0; i < nr_rows; i++)
		row__exit(&rows[i]);
	free(rows);
	return ret;
}

static int __cmd_list(int argc, const char **argv)
{
	char **names;
	int nr = 0, err;

	if (argc) {
		struct persistent_ns *ns = persistent_ns__open(argv[0], /*write=*/false);

		if (!ns)
			return -1;
		persistent_ns__close(ns);
		return list_names((char * const *)argv, 1);
	}

	names = persistent__names();
	if (!names)
		return -ENOMEM;
	while (names[nr])
		nr++;

	err = nr ? list_names(names, nr) : 0;
	persistent__free_names(names);
	return err;
}

static int __cmd_read(const char *name)
{
	struct persistent_ns *ns = persistent_ns__open(name, /*write=*/false);
	const char *argv[] = { "record", "-e", NULL, "-a", "-o", ctl.output ?: "perf.data", NULL };
	char *event;
	int err;

	/* Opened to have it said here if there is none, in terms of names. */
	if (!ns)
		return -1;
	persistent_ns__close(ns);

	if (asprintf(&event, PERSISTENT_PMU "/%s/", name) < 0)
		return -ENOMEM;
	argv[2] = event;
	err = cmd_record(ARRAY_SIZE(argv) - 1, argv);
	free(event);
	return err;
}

/* One that cannot be deleted does not keep the others. */
static int __cmd_delete(int argc, const char **argv)
{
	int err = 0;

	for (int i = 0; i < argc; i++) {
		struct persistent_ns *ns = persistent_ns__open(argv[i], /*write=*/true);

		if (!ns || persistent_ns__delete(ns))
			err = -1;
		persistent_ns__close(ns);
	}

	return err;
}

int cmd_ctl(int argc, const char **argv)
{
	argc = parse_options(argc, argv, ctl_options, ctl_usage, 0);

	if (ctl.list + ctl.read + ctl.delete != 1 ||
	    (ctl.list && argc > 1) || (ctl.read && argc != 1) || (ctl.delete && !argc))
		usage_with_options(ctl_usage, ctl_options);

	if (persistent__check_supported())
		return -1;

	if (ctl.list)
		return __cmd_list(argc, argv);
	if (ctl.read)
		return __cmd_read(argv[0]);
	return __cmd_delete(argc, argv);
}
