// SPDX-License-Identifier: GPL-2.0
/*
 * builtin-ctl.c
 *
 * Builtin ctl command: look after the events that 'perf record -P' left in the
 * kernel. Each verb is a function; how the kernel is talked to is known to
 * util/persistent.c, what a listing looks like to util/persistent-list.c, how a
 * file is written to builtin-record.c.
 */
#include "builtin.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <linux/kernel.h>
#include <subcmd/parse-options.h>
#include "util/debug.h"
#include "util/persistent.h"
#include "util/persistent-list.h"

static struct {
	bool		 list;
	bool		 read;
	bool		 delete;
	bool		 json;
	const char	*output;
} ctl;

static const struct option ctl_options[] = {
	OPT_BOOLEAN('l', "list", &ctl.list, "list the namespaces, or the one that is named"),
	OPT_BOOLEAN('r', "read", &ctl.read, "write what a namespace holds to a file"),
	OPT_BOOLEAN('d', "delete", &ctl.delete, "delete the namespaces that are named"),
	OPT_BOOLEAN('j', "json", &ctl.json, "list for programs, in JSON"),
	OPT_STRING('o', "output", &ctl.output, "file", "output file of -r"),
	OPT_INCR('v', "verbose", &verbose, "be more verbose"),
	OPT_END()
};

static const char * const ctl_usage[] = {
	"perf ctl -l [-v | --json] [<namespace>]",
	"perf ctl -r <namespace> [-o <file>]",
	"perf ctl -d <namespace>...",
	NULL
};

static enum persistent_list_format list_format(bool named)
{
	if (ctl.json)
		return PERSISTENT_LIST_JSON;
	return named || verbose > 0 ? PERSISTENT_LIST_DETAILS : PERSISTENT_LIST_TABLE;
}

static int list_one(const char *name)
{
	struct persistent_ns *ns = persistent_ns__open(name, /*write=*/false);

	/* Opened to have it said here if there is none. */
	if (!ns)
		return -1;
	persistent_ns__close(ns);
	return persistent__print_list((char **)&name, 1, list_format(true));
}

static int __cmd_list(int argc, const char **argv)
{
	char **names;
	int nr = 0, err;

	if (argc)
		return list_one(argv[0]);

	names = persistent__names();
	if (!names)
		return -ENOMEM;
	while (names[nr])
		nr++;

	err = persistent__print_list(names, nr, list_format(false));
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

	if (ctl.list + ctl.read + ctl.delete != 1 || (ctl.json && !ctl.list) ||
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
