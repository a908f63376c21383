// SPDX-License-Identifier: GPL-2.0
/*
 * builtin-ctl.c
 *
 * Builtin ctl command: look after the events that 'perf record -P' left in the
 * kernel. Each verb is a function; how the kernel is talked to is known to
 * util/persistent.c, -control.c and -trigger.c, what a listing looks like to
 * util/persistent-list.c, how a file is written to builtin-record.c.
 */
#include "builtin.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <internal/lib.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <subcmd/parse-options.h>
#include "util/debug.h"
#include "util/evlist.h"
#include "util/persistent.h"
#include "util/persistent-control.h"
#include "util/persistent-list.h"
#include "util/persistent-slice.h"
#include "util/units.h"

/* As Documentation/perf-ctl.txt has it */
#define EXIT_FAILED	1
#define EXIT_USAGE	2
#define EXIT_TIMEOUT	2	/* of --wait: nothing happened in time */

static struct {
	bool		 list;
	bool		 read;
	bool		 delete;
	bool		 enable;
	bool		 disable;
	bool		 stop;
	bool		 resume;
	bool		 snapshot;
	bool		 clear;
	bool		 resize;
	bool		 trigger;
	bool		 wait;
	bool		 json;
	bool		 contents;
	bool		 set_spares;
	bool		 set_keep;	/* and that is all */
	bool		 set_note;	/* the same */
	const char	*spares;
	const char	*keep;
	const char	*note;
	const char	*mmap_pages;
	const char	*remove;
	const char	*arm;
	const char	*timeout;
	const char	*output;
	const char	*cpus;
	const char	*last;
	const char	*from;
	const char	*to;
	const char	*max_size;
	const char	**command;	/* of --wait */
	struct persistent_trigger_opts to_trigger;
	u32		 nr;		/* of the option that the verb takes */
} ctl;

static const struct option ctl_options[] = {
	OPT_BOOLEAN('l', "list", &ctl.list, "list the namespaces, or the one that is named"),
	OPT_BOOLEAN('r', "read", &ctl.read, "write what a namespace holds to a file"),
	OPT_BOOLEAN('d', "delete", &ctl.delete, "delete the namespaces that are named"),
	OPT_BOOLEAN(0, "enable", &ctl.enable, "let the namespaces that are named record"),
	OPT_BOOLEAN(0, "disable", &ctl.disable,
		    "switch off the events of the namespaces that are named"),
	OPT_BOOLEAN(0, "stop", &ctl.stop,
		    "freeze what the namespaces that are named hold, as a trigger does"),
	OPT_BOOLEAN(0, "resume", &ctl.resume,
		    "resume recording in namespaces that were stopped"),
	OPT_BOOLEAN('s', "snapshot", &ctl.snapshot,
		    "keep what the namespaces that are named hold, and go on with empty buffers"),
	OPT_STRING(0, "keep", &ctl.keep, "number",
		   "how many snapshots of the named namespaces to keep"),
	OPT_STRING(0, "note", &ctl.note, "text",
		   "attach a text to the named namespaces, or to what -s takes"),
	OPT_STRING(0, "spares", &ctl.spares, "number",
		   "have buffers ready for so many snapshots of the namespaces that are named"),
	OPT_BOOLEAN(0, "clear", &ctl.clear, "drop what the namespaces that are named hold"),
	OPT_BOOLEAN(0, "resize", &ctl.resize,
		    "go on with buffers of the size of -m; the old ones become a snapshot"),
	OPT_STRING('m', "mmap-pages", &ctl.mmap_pages, "pages",
		   "size of --resize, in pages or with one of B, K, M and G"),
	OPT_BOOLEAN('t', "trigger", &ctl.trigger,
		    "have the kernel do something when an event happens"),
	OPT_STRING(0, "when", &ctl.to_trigger.when, "event",
		   "of -t: an event, or panic, oops, warn or hung-task"),
	OPT_STRING(0, "filter", &ctl.to_trigger.filter, "filter",
		   "of -t: which of the events, if they are of a tracepoint"),
	OPT_STRING(0, "count", &ctl.to_trigger.count, "number",
		   "of -t: when so many have happened on a CPU, each time"),
	OPT_STRING(0, "do", &ctl.to_trigger.action, "action", "of -t: stop or snapshot"),
	OPT_STRING(0, "after", &ctl.to_trigger.after, "time",
		   "of -t: record for this long before it is done, as in 200ms"),
	OPT_STRING(0, "cool-down", &ctl.to_trigger.cool_down, "time",
		   "of -t: do it at most once in this time; 1s for snapshots, 0 for no limit"),
	OPT_STRING(0, "times", &ctl.to_trigger.times, "number", "of -t: do it at most so often"),
	OPT_STRING(0, "remove", &ctl.remove, "number", "of -t: remove the trigger of this number"),
	OPT_STRING(0, "arm", &ctl.arm, "number",
		   "of -t: let the trigger of this number act again as often as --times said"),
	OPT_BOOLEAN(0, "wait", &ctl.wait,
		    "wait until a snapshot of the namespace is taken, or a trigger stops it"),
	OPT_STRING(0, "timeout", &ctl.timeout, "time", "of --wait: at most this long"),
	OPT_BOOLEAN('j', "json", &ctl.json, "list for programs, in JSON"),
	OPT_BOOLEAN(0, "contents", &ctl.contents,
		    "with -l, read the buffers to tell how far back they go"),
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

enum {
	USAGE_LIST, USAGE_READ, USAGE_DELETE, USAGE_ENABLE, USAGE_STOP, USAGE_SNAPSHOT,
	USAGE_KEEP, USAGE_SPARES, USAGE_NOTE, USAGE_CLEAR, USAGE_RESIZE, USAGE_TRIGGER,
	USAGE_REMOVE, USAGE_WAIT,
};

static const char * const ctl_usage[] = {
	[USAGE_LIST] = "perf ctl -l [-v | --json] [--contents] [<namespace>]",
	[USAGE_READ] = "perf ctl -r <namespace> [-o <file>] [-C <cpus>] [--last <time>] [--from <time>] [--to <time>] [--max-size <size>]",
	[USAGE_DELETE] = "perf ctl -d <namespace>...",
	[USAGE_ENABLE] = "perf ctl --enable | --disable <namespace>...",
	[USAGE_STOP] = "perf ctl --stop | --resume <namespace>...",
	[USAGE_SNAPSHOT] = "perf ctl -s [--keep <number>] [--note <text>] <namespace>...",
	[USAGE_KEEP] = "perf ctl --keep <number> <namespace>...",
	[USAGE_NOTE] = "perf ctl --note <text> <namespace>...",
	[USAGE_SPARES] = "perf ctl --spares <number> <namespace>...",
	[USAGE_CLEAR] = "perf ctl --clear <namespace>...",
	[USAGE_RESIZE] = "perf ctl --resize <namespace> -m <size> [--keep <number>]",
	[USAGE_TRIGGER] = "perf ctl -t <namespace> --when <event> [--filter <filter>] [--count <number>] --do stop|snapshot [--after <time>] [--cool-down <time>] [--times <number>]",
	[USAGE_REMOVE] = "perf ctl -t <namespace> --remove <number> | --arm <number>",
	[USAGE_WAIT] = "perf ctl --wait <namespace> [--timeout <time>] [-- <command>]",
	NULL
};

static enum persistent_list_format list_format(bool named)
{
	if (ctl.json)
		return PERSISTENT_LIST_JSON;
	if (verbose > 0)
		return PERSISTENT_LIST_VERBOSE;
	return named || ctl.contents ? PERSISTENT_LIST_DETAILS : PERSISTENT_LIST_TABLE;
}

static int list_one(const char *name)
{
	struct persistent_ns *ns = persistent_ns__open(name, /*write=*/false);

	/* Opened to have it said here if there is none. */
	if (!ns)
		return -1;
	persistent_ns__close(ns);
	return persistent__print_list((char **)&name, 1, list_format(true), ctl.contents);
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

	err = persistent__print_list(names, nr, list_format(false), ctl.contents);
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

static int __cmd_read(int nr_names __maybe_unused, const char **names)
{
	const char *name = names[0];
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

/* NS.* are all snapshots of NS. */
static int delete_snapshots(const char *pattern)
{
	char **names = persistent__names(), *of;
	int nr = 0, err = 0;

	of = strndup(pattern, strlen(pattern) - strlen(".*"));
	if (!of || !names)
		err = -ENOMEM;

	for (int i = 0; of && names && names[i]; i++) {
		struct persistent_ns *ns;
		int ret;

		if (!persistent__snapshot_number(names[i], of))
			continue;
		nr++;
		ret = persistent_ns__lookup(names[i], /*write=*/true, &ns);
		/* The kernel deletes the oldest, too, to make room for another. */
		if (ret == -ENOENT)
			continue;
		if (persistent__err_open(ret, names[i]) || persistent_ns__delete(ns))
			err = -1;
		persistent_ns__close(ns);
	}
	if (!nr && !err) {
		pr_err("There are no snapshots of '%s'.\n", of);
		err = -1;
	}

	persistent__free_names(names);
	free(of);
	return err;
}

static int __cmd_delete(int argc, const char **argv)
{
	int err = 0;

	for (int i = 0; i < argc; i++) {
		if (strlen(argv[i]) > 2 && !strcmp(argv[i] + strlen(argv[i]) - 2, ".*"))
			err |= delete_snapshots(argv[i]);
		else
			err |= on_each_ns(1, &argv[i], persistent_ns__delete);
	}

	for (int i = 0; i < argc && !err; i++)
		persistent__tell_of_snapshots(argv[i]);
	return err ? -1 : 0;
}

/* Those of before may be kept, too. */
static void tell_of_snapshot(struct persistent_ns *ns, u32 number)
{
	int nr = persistent_ns__count_snapshots(ns);

	if (!persistent_ns__look_again(ns))
		pr_info("[ perf ctl: '%s.%u' holds what '%s' recorded; %d of at most %u snapshots kept ]\n",
			ns->name, number, ns->name, nr, ns->keep);
}

/* More before, and fewer after: a snapshot that fails costs none of the others. */
static int keep_around(struct persistent_ns *ns, bool before)
{
	bool more = ctl.nr > ns->keep;

	if (!ctl.keep || before != more)
		return 0;
	return persistent_ns__set_keep(ns, ctl.nr);
}

static int take_snapshot(struct persistent_ns *ns)
{
	u32 number;
	u64 id;
	int err = keep_around(ns, /*before=*/true) ?:
		  persistent_ns__take_snapshot(ns, &number, &id) ?:
		  keep_around(ns, /*before=*/false);

	if (err)
		return err;
	tell_of_snapshot(ns, number);
	return ctl.note ? persistent__note_snapshot(id, ctl.note) : 0;
}

static int resize(struct persistent_ns *ns, unsigned int pages)
{
	char size[32];
	u32 number;
	int err = keep_around(ns, /*before=*/true) ?:
		  persistent_ns__resize(ns, pages, &number) ?:
		  keep_around(ns, /*before=*/false);

	if (err)
		return err;

	unit_number__scnprintf_exact(size, sizeof(size), (u64)pages * page_size);
	pr_info("[ perf ctl: '%s' has buffers of %s per CPU now ]\n", ns->name, size);
	tell_of_snapshot(ns, number);
	return 0;
}

static int __cmd_resize(int nr_names __maybe_unused, const char **names)
{
	struct persistent_ns *ns;
	unsigned int pages;
	int err;

	if (__evlist__parse_mmap_pages(&pages, ctl.mmap_pages)) {
		pr_err("-m takes a number of pages, or a size with one of B, K, M and G, as in -m 2M: not '%s'.\n",
		       ctl.mmap_pages);
		return -1;
	}

	ns = persistent_ns__open(names[0], /*write=*/true);
	err = ns ? resize(ns, pages) : -1;
	persistent_ns__close(ns);
	return err;
}

static int set_spares(struct persistent_ns *ns)
{
	return persistent_ns__set_spares(ns, ctl.nr);
}

static int set_keep(struct persistent_ns *ns)
{
	return persistent_ns__set_keep(ns, ctl.nr);
}

static int set_note(struct persistent_ns *ns)
{
	return persistent_ns__set_note(ns, ctl.note);
}

/* Those that matter may be the first ones. */
static void tell_how_often(const struct persistent_ns *ns, const struct perf_event_trigger *trigger)
{
	if (!trigger->cool_down_ns)
		pr_info("[ perf ctl: a snapshot each time it happens, as --cool-down is 0 ]\n");
	else if (!ctl.to_trigger.cool_down)
		pr_info("[ perf ctl: one snapshot in 1s at most, --cool-down changes that ]\n");

	if (!trigger->times || trigger->times > ns->keep)
		pr_info("[ perf ctl: the newest %u are kept, 'perf ctl --keep' changes that; '--times %u' keeps the first ones ]\n",
			ns->keep, ns->keep);
}

static int add_trigger(struct persistent_ns *ns, struct perf_event_trigger *trigger)
{
	char events[32] = "";
	int nr_events;
	int err = persistent_ns__add_trigger(ns, trigger, &ctl.to_trigger, &nr_events);

	if (err)
		return err;

	/* sched:* */
	if (nr_events > 1)
		scnprintf(events, sizeof(events), ", any of %d events", nr_events);
	pr_info("[ perf ctl: trigger %u of '%s': %s when %s%s ]\n", trigger->number,
		ns->name, persistent_trigger__action(trigger), ctl.to_trigger.when, events);
	if (trigger->action == PERF_TRIGGER_DO_SNAPSHOT)
		tell_how_often(ns, trigger);
	return 0;
}

static int __cmd_trigger(int nr_names __maybe_unused, const char **names)
{
	struct perf_event_trigger trigger;
	struct persistent_ns *ns;
	int err;

	if (!ctl.remove && !ctl.arm)
		err = persistent_trigger__parse(&trigger, &ctl.to_trigger);
	else
		err = persistent__parse_number(ctl.remove ? "--remove" : "--arm",
					       ctl.remove ?: ctl.arm, 1, UINT_MAX, &ctl.nr);
	if (err)
		return err;

	ns = persistent_ns__open(names[0], /*write=*/true);
	if (!ns)
		return -1;
	if (ctl.remove)
		err = persistent_ns__remove_trigger(ns, ctl.nr);
	else if (ctl.arm)
		err = persistent_ns__arm_trigger(ns, ctl.nr);
	else
		err = add_trigger(ns, &trigger);
	persistent_ns__close(ns);
	return err;
}

static void tell_waiting(struct persistent_ns *ns)
{
	pr_info("[ perf ctl: waiting for a snapshot of '%s', or for a trigger to stop it ]\n",
		ns->name);
}

static void tell_notice(const struct persistent_ns *ns, const struct persistent_notice *notice)
{
	if (!notice->snapshot)
		pr_info("[ perf ctl: trigger %u has stopped '%s' ]\n", notice->trigger, ns->name);
	else if (notice->trigger)
		pr_info("[ perf ctl: trigger %u has taken '%s.%u' ]\n", notice->trigger, ns->name,
			notice->snapshot);
	else
		pr_info("[ perf ctl: '%s.%u' was taken ]\n", ns->name, notice->snapshot);
}

/* Returns only if it cannot be run. */
static int run_command(const char **argv, const char *name, const struct persistent_notice *notice)
{
	char snapshot[PERF_PERSIST_NAME_SIZE] = "", trigger[16] = "";

	if (notice->snapshot)
		scnprintf(snapshot, sizeof(snapshot), "%s.%u", name, notice->snapshot);
	if (notice->trigger)
		scnprintf(trigger, sizeof(trigger), "%u", notice->trigger);

	if (!setenv("PERF_NAMESPACE", name, 1) && !setenv("PERF_SNAPSHOT", snapshot, 1) &&
	    !setenv("PERF_TRIGGER", trigger, 1))
		execvp(argv[0], (char **)argv);

	pr_err("Cannot run '%s': %m\n", argv[0]);
	return errno == ENOENT ? 127 : 126;
}

static int __cmd_wait(int nr_names __maybe_unused, const char **names)
{
	const char *name = names[0];
	struct persistent_notice notice;
	struct persistent_ns *ns;
	u64 timeout = 0;
	int err;

	if (ctl.timeout && persistent__parse_duration("--timeout", ctl.timeout, &timeout))
		return -1;

	ns = persistent_ns__open(name, /*write=*/false);
	if (!ns)
		return -1;

	err = persistent_ns__wait(ns, timeout, tell_waiting, &notice);
	if (!err) {
		tell_notice(ns, &notice);
		if (ctl.command)
			err = run_command(ctl.command, name, &notice);
	} else if (err == -ETIMEDOUT) {
		pr_err("No snapshot of '%s' was taken within %s, and no trigger has stopped it.\n",
		       name, ctl.timeout);
		err = EXIT_TIMEOUT;
	} else {
		err = -1;
	}

	persistent_ns__close(ns);
	return err;
}

/* The reason first, and how to call what was meant; not all that perf ctl can do. */
static int err_usage(int usage, const char *fmt, ...) __printf(2, 3);

static int err_usage(int usage, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fprintf(stderr, ".\n Usage: %s\n", ctl_usage[usage]);
	return EXIT_USAGE;
}

static int __cmd_enable(int argc, const char **argv)
{
	return on_each_ns(argc, argv, persistent_ns__enable);
}

static int __cmd_disable(int argc, const char **argv)
{
	return on_each_ns(argc, argv, persistent_ns__disable);
}

static int __cmd_stop(int argc, const char **argv)
{
	return on_each_ns(argc, argv, persistent_ns__stop);
}

static int __cmd_resume(int argc, const char **argv)
{
	return on_each_ns(argc, argv, persistent_ns__resume);
}

static int __cmd_snapshot(int argc, const char **argv)
{
	return on_each_ns(argc, argv, take_snapshot);
}

static int __cmd_spares(int argc, const char **argv)
{
	return on_each_ns(argc, argv, set_spares);
}

static int __cmd_keep(int argc, const char **argv)
{
	return on_each_ns(argc, argv, set_keep);
}

static int __cmd_note(int argc, const char **argv)
{
	return on_each_ns(argc, argv, set_note);
}

static int __cmd_clear(int argc, const char **argv)
{
	return on_each_ns(argc, argv, persistent_ns__clear);
}

/* One of these is given, with so many names. */
static const struct verb {
	const char	*option;
	const bool	*given;
	int		(*run)(int argc, const char **argv);
	int		usage;
	int		min;
	int		max;
} verbs[] = {
	{ "-l", &ctl.list, __cmd_list, USAGE_LIST, 0, 1 },
	{ "-r", &ctl.read, __cmd_read, USAGE_READ, 1, 1 },
	{ "-d", &ctl.delete, __cmd_delete, USAGE_DELETE, 1, INT_MAX },
	{ "--enable", &ctl.enable, __cmd_enable, USAGE_ENABLE, 1, INT_MAX },
	{ "--disable", &ctl.disable, __cmd_disable, USAGE_ENABLE, 1, INT_MAX },
	{ "--stop", &ctl.stop, __cmd_stop, USAGE_STOP, 1, INT_MAX },
	{ "--resume", &ctl.resume, __cmd_resume, USAGE_STOP, 1, INT_MAX },
	{ "-s", &ctl.snapshot, __cmd_snapshot, USAGE_SNAPSHOT, 1, INT_MAX },
	{ "--spares", &ctl.set_spares, __cmd_spares, USAGE_SPARES, 1, INT_MAX },
	{ "--keep", &ctl.set_keep, __cmd_keep, USAGE_KEEP, 1, INT_MAX },
	{ "--note", &ctl.set_note, __cmd_note, USAGE_NOTE, 1, INT_MAX },
	{ "--clear", &ctl.clear, __cmd_clear, USAGE_CLEAR, 1, INT_MAX },
	{ "--resize", &ctl.resize, __cmd_resize, USAGE_RESIZE, 1, 1 },
	{ "-t", &ctl.trigger, __cmd_trigger, USAGE_TRIGGER, 1, 1 },
	{ "--wait", &ctl.wait, __cmd_wait, USAGE_WAIT, 1, 1 },
};

/* Options that mean nothing without a verb */
static int check_options(void)
{
	const struct persistent_trigger_opts *to = &ctl.to_trigger;
	const bool adds = to->when || to->filter || to->count || to->action || to->after ||
			  to->cool_down || to->times;
	const struct {
		bool		given;
		bool		good;
		int		usage;
		const char	*msg;
	} checks[] = {
		{ ctl.output || ctl.cpus || ctl.last || ctl.from || ctl.to || ctl.max_size,
		  ctl.read, USAGE_READ,
		  "-o, -C, --last, --from, --to and --max-size belong to -r" },
		{ ctl.json || ctl.contents, ctl.list, USAGE_LIST,
		  ctl.json ? "-j belongs to -l" : "--contents belongs to -l" },
		{ ctl.mmap_pages, ctl.resize, USAGE_RESIZE, "-m belongs to --resize" },
		{ ctl.resize, ctl.mmap_pages, USAGE_RESIZE, "--resize takes a size: -m" },
		{ adds || ctl.remove || ctl.arm, ctl.trigger, USAGE_TRIGGER,
		  "--when, --filter, --count, --do, --after, --cool-down, --times, --remove and --arm belong to -t"
		},
		{ ctl.trigger && !ctl.remove && !ctl.arm, to->when && to->action, USAGE_TRIGGER,
		  "-t needs --when and --do to add a trigger, or --remove, or --arm" },
		{ ctl.remove || ctl.arm, !adds && !(ctl.remove && ctl.arm), USAGE_REMOVE,
		  "--remove and --arm allow no other option about triggers" },
		{ ctl.timeout || ctl.command, ctl.wait, USAGE_WAIT,
		  ctl.timeout ? "--timeout belongs to --wait" : "A command belongs to --wait" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(checks); i++) {
		if (checks[i].given && !checks[i].good)
			return err_usage(checks[i].usage, "%s", checks[i].msg);
	}
	return 0;
}

static int check_names(const struct verb *verb, int argc, const char **argv)
{
	if (argc < verb->min)
		return err_usage(verb->usage, "%s needs the name of a namespace, see 'perf ctl -l'",
				 verb->option);
	if (argc > verb->max)
		return err_usage(verb->usage, "%s takes one namespace: '%s' is one too many",
				 verb->option, argv[verb->max]);
	return 0;
}

/* The one that is given; NULL: it was said what is wrong. */
static const struct verb *find_verb(void)
{
	const struct verb *verb = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		if (!*verbs[i].given)
			continue;
		if (verb) {
			err_usage(verbs[i].usage, "%s and %s are two things to do: use one at a time",
				  verb->option, verbs[i].option);
			return NULL;
		}
		verb = &verbs[i];
	}

	if (!verb)
		err_usage(USAGE_LIST,
			  "Nothing to do: use one of -l, -r, -d, -s, -t, --enable, --disable, --stop, --resume, --keep,\n"
			  "--spares, --note, --clear, --resize and --wait, see 'perf ctl -h'");
	return verb;
}

/* What is behind --, which ends @argv; NULL if that is nothing. */
static const char **split_command(int *argc, const char **argv)
{
	for (int i = 0; i < *argc; i++) {
		if (!strcmp(argv[i], "--")) {
			*argc = i;
			return argv[i + 1] ? argv + i + 1 : NULL;
		}
	}
	return NULL;
}

static int parse_numbers(void)
{
	if (ctl.note && strlen(ctl.note) >= PERF_PERSIST_NAME_SIZE) {
		pr_err("--note takes at most %d bytes, and these are %zu.\n",
		       PERF_PERSIST_NAME_SIZE - 1, strlen(ctl.note));
		return -EINVAL;
	}
	if (ctl.keep)
		return persistent__parse_number("--keep", ctl.keep, 1, PERF_PERSIST_KEEP_MAX,
						&ctl.nr);
	if (ctl.spares)
		return persistent__parse_number("--spares", ctl.spares, 0, PERF_PERSIST_SPARES_MAX,
						&ctl.nr);
	return 0;
}

int cmd_ctl(int argc, const char **argv)
{
	const struct verb *verb;
	int err;

	argc = parse_options(argc, argv, ctl_options, ctl_usage, PARSE_OPT_KEEP_DASHDASH);
	ctl.command = split_command(&argc, argv);
	ctl.set_spares = ctl.spares;
	ctl.set_keep = ctl.keep && !ctl.snapshot && !ctl.resize;
	ctl.set_note = ctl.note && !ctl.snapshot;

	/* An option says more of what was meant than a verb that is missing. */
	err = check_options();
	if (err)
		return err;
	verb = find_verb();
	if (!verb)
		return EXIT_USAGE;
	err = check_names(verb, argc, argv);
	if (err)
		return err;

	if (persistent__check_supported() || parse_numbers())
		return EXIT_FAILED;

	err = verb->run(argc, argv);
	return err < 0 ? EXIT_FAILED : err;
}
