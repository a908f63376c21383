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
#include "util/units.h"

static struct {
	bool		 list;
	bool		 read;
	bool		 delete;
	bool		 enable;
	bool		 disable;
	bool		 json;
	const char	*output;
	const char	*cpus;
	const char	*last;
	const char	*from;
	const char	*to;
	const char	*max_size;
} ctl;

static const struct option ctl_options[] = {
	OPT_BOOLEAN('l', "list", &ctl.list, "list the namespaces, or the one that is named"),
	OPT_BOOLEAN('r', "read", &ctl.read, "write what a namespace holds to a file"),
	OPT_BOOLEAN('d', "delete", &ctl.delete, "delete the namespaces that are named"),
	OPT_BOOLEAN(0, "enable", &ctl.enable, "let the namespaces that are named record"),
	OPT_BOOLEAN(0, "disable", &ctl.disable,
		    "stop the namespaces that are named from recording; they keep what they hold"),
	OPT_BOOLEAN('j', "json", &ctl.json, "list for programs, in JSON"),
	OPT_STRING('o', "output", &ctl.output, "file", "output file of -r, - for a pipe"),
	OPT_STRING('C', "cpu", &ctl.cpus, "cpu", "read what is of these CPUs"),
	OPT_STRING(0, "last", &ctl.last, "time", "read what is not older than this, as in 30s"),
	OPT_STRING(0, "from", &ctl.from, "time",
		   "read what is from this time on, in seconds of the perf clock"),
	OPT_STRING(0, "to", &ctl.to, "time", "read what is up to this time"),
	OPT_STRING(0, "max-size", &ctl.max_size, "size",
		   "size of the output of -r, B, K, M or G, into which goes what is newest"),
	OPT_INCR('v', "verbose", &verbose, "be more verbose"),
	OPT_END()
};

static const char * const ctl_usage[] = {
	"perf ctl -l [-v | --json] [<namespace>]",
	"perf ctl -r <namespace> [-o <file>] [-C <cpus>] [--last <time>] [--from <time>] [--to <time>] [--max-size <size>]",
	"perf ctl -d <namespace>...",
	"perf ctl --enable | --disable <namespace>...",
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

/* A bad one is refused here, as it is perf record that would show its usage. */
static int check_max_size(const char *size)
{
	struct parse_tag tags[] = {
		{ .tag = 'B', .mult = 1 },
		{ .tag = 'K', .mult = 1 << 10 },
		{ .tag = 'M', .mult = 1 << 20 },
		{ .tag = 'G', .mult = 1 << 30 },
		{ .tag = 0 },
	};
	unsigned long bytes = parse_tag_value(size, tags);

	if (bytes && bytes != (unsigned long)-1)
		return 0;

	pr_err("--max-size takes a number with a unit, B, K, M or G, as in --max-size 10M: not '%s'.\n",
	       size);
	return -EINVAL;
}

static int __cmd_read(const char *name)
{
	const struct {
		const char *option;
		const char *value;
	} options[] = {
		{ "-o", ctl.output ?: "perf.data" },
		{ "-C", ctl.cpus },
		{ "--last", ctl.last },
		{ "--from", ctl.from },
		{ "--to", ctl.to },
		{ "--max-size", ctl.max_size },
	};
	const char *argv[4 + 2 * ARRAY_SIZE(options)] = { "record", "-e", };
	struct persistent_ns *ns;
	char *event;
	int argc, err;

	if (ctl.max_size && check_max_size(ctl.max_size))
		return -1;

	/* Opened to have it said here if there is none, in terms of names. */
	ns = persistent_ns__open(name, /*write=*/false);
	if (!ns)
		return -1;
	persistent_ns__close(ns);

	if (asprintf(&event, PERSISTENT_PMU "/%s/", name) < 0)
		return -ENOMEM;
	argv[2] = event;
	argc = 3;
	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		if (options[i].value) {
			argv[argc++] = options[i].option;
			argv[argc++] = options[i].value;
		}
	}
	err = cmd_record(argc, argv);
	free(event);
	return err;
}

static bool any_slice(void)
{
	return ctl.output || ctl.cpus || ctl.last || ctl.from || ctl.to || ctl.max_size;
}

/* Where it cannot be done to one of them, it is done to the others. */
static int on_each_ns(int argc, const char **argv, int (*func)(struct persistent_ns *ns))
{
	int err = 0;

	for (int i = 0; i < argc; i++) {
		struct persistent_ns *ns = persistent_ns__open(argv[i], /*write=*/true);

		if (!ns || func(ns))
			err = -1;
		persistent_ns__close(ns);
	}

	return err;
}

int cmd_ctl(int argc, const char **argv)
{
	argc = parse_options(argc, argv, ctl_options, ctl_usage, 0);

	if (ctl.list + ctl.read + ctl.delete + ctl.enable + ctl.disable != 1 ||
	    (ctl.json && !ctl.list) || (ctl.list && argc > 1) || (ctl.read && argc != 1) ||
	    (!ctl.list && !argc))
		usage_with_options(ctl_usage, ctl_options);

	if (!ctl.read && any_slice())
		usage_with_options_msg(ctl_usage, ctl_options,
				       "-o, -C, --last, --from, --to and --max-size belong to -r\n");

	if (persistent__check_supported())
		return -1;

	if (ctl.list)
		return __cmd_list(argc, argv);
	if (ctl.read)
		return __cmd_read(argv[0]);
	if (ctl.enable)
		return on_each_ns(argc, argv, persistent_ns__enable);
	if (ctl.disable)
		return on_each_ns(argc, argv, persistent_ns__disable);
	return on_each_ns(argc, argv, persistent_ns__delete);
}
