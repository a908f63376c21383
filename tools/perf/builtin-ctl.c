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
#include "util/persistent-save.h"
#include "util/persistent-time.h"
#include "util/strbuf.h"
#include "util/units.h"

/*
 * What to do is said with a word, as in 'perf ctl read NAME', or with an option, as in
 * 'perf ctl -r NAME', which is how it was said first.
 */

/* As Documentation/perf-ctl.txt has it */
#define EXIT_FAILED	1
#define EXIT_USAGE	2
#define EXIT_TIMEOUT	2	/* of --wait: nothing happened in time */

static struct {
	const char	*word;		/* NULL: an option says what to do */
	bool		 list;
	bool		 show;
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
	const char	*number;	/* of the words keep and spares */
	const char	*text;		/* of the word note */
	const char	*spares;
	const char	*keep;
	const char	*note;
	const char	*mmap_pages;
	const char	*remove;
	const char	*arm;
	const char	*timeout;
	const char	*since;
	const char	*output;
	const char	*cpus;
	const char	*last;
	const char	*from;
	const char	*to;
	const char	*max_size;
	const char	**command;	/* of --wait */
	const char	*max_files;
	const char	*max_total;
	struct persistent_save_opts save;
	bool		 saves;
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
	OPT_BOOLEAN('t', "trigger", &ctl.trigger,
		    "have the kernel do something when an event happens"),
	OPT_BOOLEAN(0, "wait", &ctl.wait,
		    "wait until a snapshot of the namespace is taken, or a trigger stops it"),
	OPT_INCR('v', "verbose", &verbose, "be more verbose"),
	OPT_GROUP("Options of -l"),
	OPT_BOOLEAN('j', "json", &ctl.json, "list for programs, in JSON"),
	OPT_BOOLEAN(0, "contents", &ctl.contents,
		    "read the buffers to tell how far back they go"),
	OPT_GROUP("Options of -r"),
	OPT_STRING('o', "output", &ctl.output, "file", "output file, - for a pipe"),
	OPT_STRING('C', "cpu", &ctl.cpus, "cpu", "read what is of these CPUs"),
	OPT_STRING(0, "last", &ctl.last, "time", "read what is not older than this, as in 30s"),
	OPT_STRING(0, "from", &ctl.from, "time",
		   "read what is from this time on, in seconds of the perf clock or as in 03:14"),
	OPT_STRING(0, "to", &ctl.to, "time", "read what is up to this time"),
	OPT_STRING(0, "max-size", &ctl.max_size, "size",
		   "size of the output, B, K, M or G, into which goes what is newest"),
	OPT_GROUP("Option of --resize"),
	OPT_STRING('m', "mmap-pages", &ctl.mmap_pages, "pages",
		   "size of the buffers, in pages or with one of B, K, M and G"),
	OPT_GROUP("Options of -t"),
	OPT_STRING(0, "when", &ctl.to_trigger.when, "event",
		   "an event, or panic, oops, warn or hung-task"),
	OPT_STRING(0, "filter", &ctl.to_trigger.filter, "filter",
		   "which of the events, if they are of a tracepoint"),
	OPT_STRING(0, "count", &ctl.to_trigger.count, "number",
		   "when so many have happened on a CPU, each time"),
	OPT_STRING(0, "do", &ctl.to_trigger.action, "action", "stop or snapshot"),
	OPT_STRING(0, "after", &ctl.to_trigger.after, "time",
		   "record for this long before it is done, as in 200ms"),
	OPT_STRING(0, "cool-down", &ctl.to_trigger.cool_down, "time",
		   "do it at most once in this time; 1s for snapshots, 0 for no limit"),
	OPT_STRING(0, "times", &ctl.to_trigger.times, "number", "do it at most so often"),
	OPT_STRING(0, "remove", &ctl.remove, "number", "remove the trigger of this number"),
	OPT_STRING(0, "arm", &ctl.arm, "number",
		   "let the trigger of this number act again as often as --times said"),
	OPT_GROUP("Option of --wait"),
	OPT_STRING(0, "timeout", &ctl.timeout, "time", "wait at most this long"),
	OPT_END()
};

/* Of words that are options otherwise, and take a value then */
static const struct option number_options[] = {
	OPT_STRING('n', "number", &ctl.number, "number", "how many"),
	OPT_END()
};

static const struct option note_options[] = {
	OPT_STRING(0, "text", &ctl.text, "text", "what to attach, \"\" for nothing"),
	OPT_END()
};

static const struct option wait_options[] = {
	OPT_STRING(0, "since", &ctl.since, "number",
		   "do not wait if there is a snapshot of a higher number"),
	OPT_BOOLEAN('q', "quiet", &quiet, "print the name of the snapshot alone, and errors"),
	OPT_END()
};

static const struct option save_options[] = {
	OPT_STRING(0, "to", &ctl.save.dir, "directory", "where to save snapshots"),
	OPT_STRING(0, "max-files", &ctl.max_files, "number",
		   "remove the oldest file when there are more"),
	OPT_STRING(0, "max-total", &ctl.max_total, "size",
		   "remove the oldest files when all are larger, B, K, M or G"),
	OPT_BOOLEAN('q', "quiet", &quiet, "say nothing but what went wrong"),
	OPT_END()
};

static const struct option quiet_options[] = {
	OPT_BOOLEAN('q', "quiet", &quiet, "print names and numbers alone, and errors"),
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

/* What people like to read, and programs do not need */
#define tell(fmt, ...)						\
do {								\
	if (!quiet)						\
		pr_info(fmt, ##__VA_ARGS__);			\
} while (0)

/* For scripts, which say with a word what to do: older ones expect nothing. */
static void print_result(const char *fmt, ...) __printf(1, 2);

static void print_result(const char *fmt, ...)
{
	va_list args;

	if (!ctl.word || (!quiet && isatty(STDOUT_FILENO)))
		return;
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
	/* What comes next may take long, or be another program. */
	fflush(stdout);
}

static enum persistent_list_format list_format(bool named)
{
	if (ctl.json)
		return PERSISTENT_LIST_JSON;
	if (verbose > 0)
		return PERSISTENT_LIST_VERBOSE;
	return named || ctl.contents ? PERSISTENT_LIST_DETAILS : PERSISTENT_LIST_TABLE;
}

static int count_names(char * const *names)
{
	int nr = 0;

	while (names[nr])
		nr++;
	return nr;
}

static int list_names(int nr, const char **names, enum persistent_list_format format)
{
	/* Opened to have it said here if there is none. */
	for (int i = 0; i < nr; i++) {
		struct persistent_ns *ns = persistent_ns__open(names[i], /*write=*/false);

		if (!ns)
			return -1;
		persistent_ns__close(ns);
	}
	return persistent__print_list((char **)names, nr, format, ctl.contents);
}

static int __cmd_list(int argc, const char **argv)
{
	char **names;
	int err;

	/* With an option a name asks for all that is known of it: the word for that is show. */
	if (argc)
		return list_names(argc, argv, list_format(!ctl.word));

	names = persistent__names();
	if (!names)
		return -ENOMEM;

	err = persistent__print_list(names, count_names(names), list_format(false), ctl.contents);
	persistent__free_names(names);
	return err;
}

static int __cmd_show(int argc, const char **argv)
{
	return list_names(argc, argv, list_format(true));
}

static int parse_size(const char *option, const char *size, u64 *res)
{
	struct parse_tag tags[] = {
		{ .tag = 'B', .mult = 1 },
		{ .tag = 'K', .mult = 1 << 10 },
		{ .tag = 'M', .mult = 1 << 20 },
		{ .tag = 'G', .mult = 1 << 30 },
		{ .tag = 0 },
	};
	unsigned long bytes = parse_tag_value(size, tags);

	if (bytes && bytes != (unsigned long)-1) {
		*res = bytes;
		return 0;
	}

	pr_err("%s takes a number with a unit, B, K, M or G, as in %s 10M: not '%s'.\n", option,
	       option, size);
	return -EINVAL;
}

/* What perf record is to read */
static char *read_events(int nr_names, const char **names)
{
	struct strbuf sb = STRBUF_INIT;

	for (int i = 0; i < nr_names; i++)
		strbuf_addf(&sb, "%s" PERSISTENT_PMU "/%s/", i ? "," : "", names[i]);
	return strbuf_detach(&sb, NULL);
}

/* Several become one file. */
static int __cmd_read(int nr_names, const char **names)
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
	const char **argv;
	u64 max_size;
	char *events;
	int argc = 0, err = -ENOMEM;

	/* A bad one is refused here, as it is perf record that would show its usage. */
	if (ctl.max_size && parse_size("--max-size", ctl.max_size, &max_size))
		return -1;

	/* Opened to have it said here if there is none, in terms of names. */
	for (int i = 0; i < nr_names; i++) {
		struct persistent_ns *ns = persistent_ns__open(names[i], /*write=*/false);

		if (!ns)
			return -1;
		persistent_ns__close(ns);
	}

	argv = calloc(4 + 2 * ARRAY_SIZE(options), sizeof(*argv));
	events = read_events(nr_names, names);
	if (!argv || !events)
		goto out;

	argv[argc++] = "record";
	argv[argc++] = "-e";
	argv[argc++] = events;
	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		if (options[i].value) {
			argv[argc++] = options[i].option;
			argv[argc++] = options[i].value;
		}
	}
	err = cmd_record(argc, argv);
out:
	free(events);
	free(argv);
	return err;
}

/* What programs and libraries hold is not copied, as nobody would ever remove that. */
static int read_to_file(const char *event, const char *path, const char *last)
{
	const char *argv[9] = { "record", "-N", "-e", event, "-o", path, "--last", last, };

	/* Why it failed is asked for, with -q, too. */
	quiet = false;
	return cmd_record(last ? 8 : 6, argv);
}

static int __cmd_save(int nr_names __maybe_unused, const char **names)
{
	u32 max_files = 0;
	u64 last;

	if ((ctl.max_files && persistent__parse_number("--max-files", ctl.max_files, 1, INT_MAX,
						       &max_files)) ||
	    (ctl.max_total && parse_size("--max-total", ctl.max_total, &ctl.save.max_total)) ||
	    (ctl.last && persistent__parse_duration("--last", ctl.last, &last)))
		return -1;

	ctl.save.max_files = max_files;
	ctl.save.last = ctl.last;
	ctl.save.command = ctl.command;
	ctl.save.read = read_to_file;
	return persistent__save(names[0], &ctl.save);
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

static int delete_matching(const char *pattern)
{
	char **names = persistent__match_names(pattern, /*live=*/false);
	int err = names ? 0 : -1;

	for (int i = 0; names && names[i]; i++) {
		struct persistent_ns *ns;
		int ret = persistent_ns__lookup(names[i], /*write=*/true, &ns);

		/* The kernel deletes the oldest snapshot, too, to make room for another. */
		if (ret == -ENOENT)
			continue;
		if (persistent__err_open(ret, names[i]) || persistent_ns__delete(ns))
			err = -1;
		persistent_ns__close(ns);
	}

	persistent__free_names(names);
	return err;
}

static int __cmd_delete(int argc, const char **argv)
{
	int err = 0;

	for (int i = 0; i < argc; i++) {
		if (persistent__is_pattern(argv[i]))
			err |= delete_matching(argv[i]);
		else
			err |= on_each_ns(1, &argv[i], persistent_ns__delete);
	}

	for (int i = 0; i < argc && !err && !quiet; i++)
		persistent__tell_of_snapshots(argv[i]);
	return err ? -1 : 0;
}

/* Those of before may be kept, too. */
static void tell_of_snapshot(struct persistent_ns *ns, u32 number)
{
	int nr = persistent_ns__count_snapshots(ns);

	if (!persistent_ns__look_again(ns))
		tell("[ perf ctl: '%s.%u' holds what '%s' recorded; %d of at most %u snapshots kept ]\n",
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
	print_result("%s.%u", ns->name, number);
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
	tell("[ perf ctl: '%s' has buffers of %s per CPU now ]\n", ns->name, size);
	tell_of_snapshot(ns, number);
	return 0;
}

static int __cmd_resize(int nr_names, const char **names)
{
	unsigned int pages;
	int err = 0;

	if (__evlist__parse_mmap_pages(&pages, ctl.mmap_pages)) {
		pr_err("-m takes a number of pages, or a size with one of B, K, M and G, as in -m 2M: not '%s'.\n",
		       ctl.mmap_pages);
		return -1;
	}

	for (int i = 0; i < nr_names; i++) {
		struct persistent_ns *ns = persistent_ns__open(names[i], /*write=*/true);

		if (!ns || resize(ns, pages))
			err = -1;
		persistent_ns__close(ns);
	}
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
		tell("[ perf ctl: a snapshot each time it happens, as --cool-down is 0 ]\n");
	else if (!ctl.to_trigger.cool_down)
		tell("[ perf ctl: one snapshot in 1s at most, --cool-down changes that ]\n");

	if (!trigger->times || trigger->times > ns->keep)
		tell("[ perf ctl: the newest %u are kept, 'perf ctl --keep' changes that; '--times %u' keeps the first ones ]\n",
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
	tell("[ perf ctl: trigger %u of '%s': %s when %s%s ]\n", trigger->number,
	     ns->name, persistent_trigger__action(trigger), ctl.to_trigger.when, events);
	if (trigger->action == PERF_TRIGGER_DO_SNAPSHOT)
		tell_how_often(ns, trigger);
	print_result("%u", trigger->number);
	return 0;
}

static int change_triggers(struct persistent_ns *ns, const struct perf_event_trigger *asked)
{
	struct perf_event_trigger trigger = *asked;

	if (ctl.remove)
		return persistent_ns__remove_trigger(ns, ctl.nr);
	if (ctl.arm)
		return persistent_ns__arm_trigger(ns, ctl.nr);
	return add_trigger(ns, &trigger);
}

static int __cmd_trigger(int nr_names, const char **names)
{
	struct perf_event_trigger trigger = {};
	int err;

	if (!ctl.remove && !ctl.arm)
		err = persistent_trigger__parse(&trigger, &ctl.to_trigger);
	else
		err = persistent__parse_number(ctl.remove ? "--remove" : "--arm",
					       ctl.remove ?: ctl.arm, 1, UINT_MAX, &ctl.nr);

	for (int i = 0; i < nr_names && !err; i++) {
		struct persistent_ns *ns = persistent_ns__open(names[i], /*write=*/true);

		err = ns ? change_triggers(ns, &trigger) : -1;
		persistent_ns__close(ns);
	}
	return err;
}

static void tell_waiting(struct persistent_ns *ns)
{
	tell("[ perf ctl: waiting for a snapshot of '%s', or for a trigger to stop it ]\n",
	     ns->name);
}

static void tell_notice(const struct persistent_ns *ns, const struct persistent_notice *notice)
{
	if (!notice->snapshot)
		tell("[ perf ctl: trigger %u has stopped '%s' ]\n", notice->trigger, ns->name);
	else if (notice->trigger)
		tell("[ perf ctl: trigger %u has taken '%s.%u' ]\n", notice->trigger, ns->name,
		     notice->snapshot);
	else
		tell("[ perf ctl: '%s.%u' was taken ]\n", ns->name, notice->snapshot);
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
	u32 since;
	int err;

	if (ctl.since && persistent__parse_number("--since", ctl.since, 0, UINT_MAX, &since))
		return -1;
	if (ctl.timeout && persistent__parse_duration("--timeout", ctl.timeout, &timeout))
		return -1;

	ns = persistent_ns__open(name, /*write=*/false);
	if (!ns)
		return -1;

	err = persistent_ns__wait(ns, timeout, ctl.since ? &since : NULL, tell_waiting, &notice);
	if (!err) {
		tell_notice(ns, &notice);
		if (ctl.command)
			err = run_command(ctl.command, name, &notice);
		else if (notice.snapshot)
			print_result("%s.%u", ns->name, notice.snapshot);
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

/* One of these is given, by a word or an option, with so many names. */
static const struct verb {
	const char	*word;
	const char	*option;	/* NULL: there is only a word */
	bool		*given;
	int		(*run)(int argc, const char **argv);
	int		usage;		/* of the option, */
	const char	*word_usage;	/* and of the word */
	/* Of the word: options of its own, and which ones of ctl_options */
	const struct option *own;
	const char	*options;
	int		min;
	int		max;
	bool		one;		/* namespace, also if a pattern stands for it */
	bool		live;		/* patterns do not stand for snapshots */
} verbs[] = {
	{
		.word = "list", .option = "-l", .given = &ctl.list, .run = __cmd_list,
		.usage = USAGE_LIST,
		.word_usage = "perf ctl list [-v | --json] [--contents] [<namespace>...]",
		.options = "json contents verbose", .min = 0, .max = 1,
	}, {
		.word = "show", .given = &ctl.show, .run = __cmd_show,
		.word_usage = "perf ctl show <namespace>... [-v | --json] [--contents]",
		.options = "json contents verbose", .min = 1, .max = INT_MAX,
	}, {
		.word = "read", .option = "-r", .given = &ctl.read, .run = __cmd_read,
		.usage = USAGE_READ,
		.word_usage = "perf ctl read <namespace> [-o <file>] [-C <cpus>] [--last <time>] [--from <time>] [--to <time>] [--max-size <size>]",
		.options = "output cpu last from to max-size verbose", .min = 1, .max = 1,
	}, {
		.word = "save", .given = &ctl.saves, .run = __cmd_save,
		.word_usage = "perf ctl save <namespace> --to <directory> [--max-files <number>] [--max-total <size>] [--last <time>] [-q] [-- <command>]",
		.own = save_options, .options = "last", .min = 1, .max = 1,
		.one = true, .live = true,
	}, {
		.word = "delete", .option = "-d", .given = &ctl.delete, .run = __cmd_delete,
		.usage = USAGE_DELETE, .word_usage = "perf ctl delete <namespace>... [-q]",
		.own = quiet_options, .min = 1, .max = INT_MAX,
	}, {
		.word = "enable", .option = "--enable", .given = &ctl.enable,
		.run = __cmd_enable, .usage = USAGE_ENABLE,
		.word_usage = "perf ctl enable <namespace>...",
		.min = 1, .max = INT_MAX, .live = true,
	}, {
		.word = "disable", .option = "--disable", .given = &ctl.disable,
		.run = __cmd_disable, .usage = USAGE_ENABLE,
		.word_usage = "perf ctl disable <namespace>...",
		.min = 1, .max = INT_MAX, .live = true,
	}, {
		.word = "stop", .option = "--stop", .given = &ctl.stop, .run = __cmd_stop,
		.usage = USAGE_STOP, .word_usage = "perf ctl stop <namespace>...",
		.min = 1, .max = INT_MAX, .live = true,
	}, {
		.word = "resume", .option = "--resume", .given = &ctl.resume,
		.run = __cmd_resume, .usage = USAGE_STOP,
		.word_usage = "perf ctl resume <namespace>...",
		.min = 1, .max = INT_MAX, .live = true,
	}, {
		.word = "snapshot", .option = "-s", .given = &ctl.snapshot,
		.run = __cmd_snapshot, .usage = USAGE_SNAPSHOT,
		.word_usage = "perf ctl snapshot <namespace>... [--keep <number>] [--note <text>] [-q]",
		.own = quiet_options, .options = "keep note", .min = 1, .max = INT_MAX,
		.live = true,
	}, {
		.word = "spares", .option = "--spares", .given = &ctl.set_spares,
		.run = __cmd_spares, .usage = USAGE_SPARES,
		.word_usage = "perf ctl spares <namespace>... -n <number>",
		.own = number_options, .min = 1, .max = INT_MAX, .live = true,
	}, {
		.word = "keep", .option = "--keep", .given = &ctl.set_keep, .run = __cmd_keep,
		.usage = USAGE_KEEP, .word_usage = "perf ctl keep <namespace>... -n <number>",
		.own = number_options, .min = 1, .max = INT_MAX, .live = true,
	}, {
		.word = "note", .option = "--note", .given = &ctl.set_note, .run = __cmd_note,
		.usage = USAGE_NOTE, .word_usage = "perf ctl note <namespace>... --text <text>",
		.own = note_options, .min = 1, .max = INT_MAX,
	}, {
		.word = "clear", .option = "--clear", .given = &ctl.clear, .run = __cmd_clear,
		.usage = USAGE_CLEAR, .word_usage = "perf ctl clear <namespace>...",
		.min = 1, .max = INT_MAX, .live = true,
	}, {
		.word = "resize", .option = "--resize", .given = &ctl.resize,
		.run = __cmd_resize, .usage = USAGE_RESIZE,
		.word_usage = "perf ctl resize <namespace> -m <size> [--keep <number>] [-q]",
		.own = quiet_options, .options = "mmap-pages keep", .min = 1, .max = 1,
		.live = true,
	}, {
		.word = "trigger", .option = "-t", .given = &ctl.trigger, .run = __cmd_trigger,
		.usage = USAGE_TRIGGER,
		.word_usage = "perf ctl trigger <namespace> --when <event> [--filter <filter>] [--count <number>] --do stop|snapshot [--after <time>] [--cool-down <time>] [--times <number>] [-q]\n"
			      "    or: perf ctl trigger <namespace> --remove <number> | --arm <number>",
		.own = quiet_options,
		.options = "when filter count do after cool-down times remove arm",
		.min = 1, .max = 1, .live = true,
	}, {
		.word = "wait", .option = "--wait", .given = &ctl.wait, .run = __cmd_wait,
		.usage = USAGE_WAIT,
		.word_usage = "perf ctl wait <namespace> [--since <number>] [--timeout <time>] [-q] [-- <command>]",
		.own = wait_options, .options = "timeout", .min = 1, .max = 1,
		.one = true, .live = true,
	},
};

static const struct verb *find_word(const char *word)
{
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		if (!strcmp(verbs[i].word, word))
			return &verbs[i];
	}
	return NULL;
}

/* The reason first, and how to call what was meant; not all that perf ctl can do. */
static int err_usage(const char *usage, const char *fmt, ...) __printf(2, 3);

static int err_usage(const char *usage, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fprintf(stderr, ".\n Usage: %s\n", usage);
	return EXIT_USAGE;
}

/* What the user wrote to have it done, and how that is called */
static const char *verb__name(const struct verb *verb)
{
	return ctl.word ?: verb->option;
}

static const char *verb__usage(const struct verb *verb)
{
	return ctl.word ? verb->word_usage : ctl_usage[verb->usage];
}

/* Options that mean nothing without a verb, or that a word lacks */
static int check_options(void)
{
	const struct verb *word = ctl.word ? find_word(ctl.word) : NULL;
	const struct persistent_trigger_opts *to = &ctl.to_trigger;
	const bool adds = to->when || to->filter || to->count || to->action || to->after ||
			  to->cool_down || to->times;
	const char *resize = ctl.word ?: "--resize", *trigger = ctl.word ?: "-t";
	const struct {
		bool		given;
		bool		good;
		int		usage;
		const char	*who;
		const char	*msg;
	} checks[] = {
		{ ctl.output || ctl.cpus || ctl.last || ctl.from || ctl.to || ctl.max_size,
		  ctl.read || ctl.saves, USAGE_READ, "",
		  "-o, -C, --last, --from, --to and --max-size belong to -r, --last also to save" },
		{ ctl.json || ctl.contents, ctl.list || ctl.show, USAGE_LIST,
		  ctl.json ? "-j" : "--contents", " belongs to -l" },
		{ ctl.mmap_pages, ctl.resize, USAGE_RESIZE, "", "-m belongs to --resize" },
		{ ctl.resize, ctl.mmap_pages, USAGE_RESIZE, resize, " takes a size: -m" },
		{ adds || ctl.remove || ctl.arm, ctl.trigger, USAGE_TRIGGER, "",
		  "--when, --filter, --count, --do, --after, --cool-down, --times, --remove and --arm belong to -t"
		},
		{ ctl.trigger && !ctl.remove && !ctl.arm, to->when && to->action, USAGE_TRIGGER,
		  trigger, " needs --when and --do to add a trigger, or --remove, or --arm" },
		{ ctl.remove || ctl.arm, !adds && !(ctl.remove && ctl.arm), USAGE_REMOVE, "",
		  "--remove and --arm allow no other option about triggers" },
		{ word && word->own == number_options, ctl.number, 0, ctl.word,
		  " needs a number: -n" },
		{ word && word->own == note_options, ctl.text, 0, ctl.word,
		  " needs a text: --text" },
		{ ctl.saves, ctl.save.dir, 0, ctl.word, " needs a directory: --to" },
		{ ctl.timeout, ctl.wait, USAGE_WAIT, "", "--timeout belongs to --wait" },
		{ ctl.command, ctl.wait || ctl.saves, USAGE_WAIT, "",
		  ctl.word ? "A command belongs to wait and save" : "A command belongs to --wait" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(checks); i++) {
		if (checks[i].given && !checks[i].good)
			return err_usage(word ? word->word_usage : ctl_usage[checks[i].usage],
					 "%s%s", checks[i].who, checks[i].msg);
	}
	return 0;
}

/* A listing can be of several, unless it is asked for with an option. */
static int verb__max(const struct verb *verb)
{
	return ctl.word && verb->given == &ctl.list ? INT_MAX : verb->max;
}

static int check_names(const struct verb *verb, int argc, const char **argv)
{
	int max = verb__max(verb);

	if (argc < verb->min)
		return err_usage(verb__usage(verb),
				 "%s needs the name of a namespace, see 'perf ctl -l'",
				 verb__name(verb));
	if (argc > max)
		return err_usage(verb__usage(verb),
				 "%s takes one namespace: '%s' is one too many",
				 verb__name(verb), argv[max]);
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
			err_usage(ctl_usage[verbs[i].usage],
				  "%s and %s are two things to do: use one at a time",
				  verb->option, verbs[i].option);
			return NULL;
		}
		verb = &verbs[i];
	}

	if (!verb)
		err_usage(ctl_usage[USAGE_LIST],
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

/*
 * Words
 */

static bool has_word(const char *words, const char *word)
{
	size_t len = strlen(word);

	for (const char *pos = words; pos && (pos = strstr(pos, word)); pos += len) {
		if ((pos == words || pos[-1] == ' ') && (!pos[len] || pos[len] == ' '))
			return true;
	}
	return false;
}

/* Those of its own, and those that say the same beside an option */
static void verb__collect_options(const struct verb *verb, struct option *options)
{
	const struct option end = OPT_END(), *opt;
	int nr = 0;

	for (opt = verb->own; opt && opt->type != OPTION_END; opt++)
		options[nr++] = *opt;
	for (opt = ctl_options; opt->type != OPTION_END; opt++) {
		if (opt->long_name && has_word(verb->options, opt->long_name))
			options[nr++] = *opt;
	}
	options[nr] = end;
}

/* For perf ctl -h: options are for those who know them. */
static int parse_with_options(int argc, const char **argv)
{
	const char *words[ARRAY_SIZE(verbs) + 1] = {};
	const char *usage[ARRAY_SIZE(verbs) + ARRAY_SIZE(ctl_usage)] = {};
	int nr = 0;

	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		words[i] = verbs[i].word;
		usage[nr++] = verbs[i].word_usage;
	}
	for (size_t i = 0; ctl_usage[i]; i++)
		usage[nr++] = ctl_usage[i];

	return parse_options_subcommand(argc, argv, ctl_options, words, usage,
					PARSE_OPT_KEEP_DASHDASH);
}

static bool is_option(const char *arg, const struct option *option)
{
	if (arg[0] != '-' || !arg[1])
		return false;
	if (arg[1] == '-')
		return !strcmp(arg + 2, option->long_name);
	return arg[1] == option->short_name && !arg[2];
}

/*
 * Does an option say what to do? Then what is a word otherwise is the name of a namespace, if
 * there is one. If not, the option is one too many, and nothing is done.
 */
static bool is_said_with_option(const struct verb *word, int argc, const char **argv)
{
	if (!persistent__exists(word->word))
		return false;

	for (int i = 0; i < argc && strcmp(argv[i], "--"); i++) {
		for (const struct option *opt = ctl_options; opt->type != OPTION_GROUP; opt++) {
			if (opt->value != &verbose && is_option(argv[i], opt) &&
			    !has_word(word->options, opt->long_name))
				return true;
		}
	}
	return false;
}

static int parse_with_word(const struct verb *verb, int argc, const char **argv)
{
	const char * const usage[] = { verb->word_usage, NULL };
	struct option options[ARRAY_SIZE(ctl_options) + 8];

	ctl.word = verb->word;
	*verb->given = true;
	verb__collect_options(verb, options);
	return parse_options(argc, argv, options, usage, PARSE_OPT_KEEP_DASHDASH);
}

static int run_on_names(const struct verb *verb, int argc, const char **argv)
{
	char **names;
	int err, nr;

	/* It knows best what to do if one of those that match is gone. */
	if (verb->run == __cmd_delete)
		return verb->run(argc, argv);

	names = persistent__expand_names(argc, argv, verb->live);
	if (!names)
		return EXIT_FAILED;

	nr = count_names(names);
	if (verb->one && nr > 1) {
		pr_err("'%s' stands for %d namespaces, and %s takes one.\n", argv[0], nr,
		       verb__name(verb));
		err = EXIT_FAILED;
	} else {
		err = verb->run(nr, (const char **)names);
	}
	persistent__free_names(names);
	return err;
}

static int parse_numbers(void)
{
	if (ctl.note && strlen(ctl.note) >= PERF_PERSIST_NAME_SIZE) {
		pr_err("%s takes at most %d bytes, and these are %zu.\n",
		       ctl.text ? "--text" : "--note", PERF_PERSIST_NAME_SIZE - 1,
		       strlen(ctl.note));
		return -EINVAL;
	}
	if (ctl.keep)
		return persistent__parse_number(ctl.number ? "-n" : "--keep", ctl.keep, 1,
						PERF_PERSIST_KEEP_MAX, &ctl.nr);
	if (ctl.spares)
		return persistent__parse_number(ctl.number ? "-n" : "--spares", ctl.spares, 0,
						PERF_PERSIST_SPARES_MAX, &ctl.nr);
	return 0;
}

int cmd_ctl(int argc, const char **argv)
{
	const char *list[3] = { "ctl", "list", NULL };
	const struct verb *verb;
	int err;

	/* People want to see what there is; a script that says nothing has lost a word. */
	if (argc == 1 && isatty(STDOUT_FILENO)) {
		argc = 2;
		argv = list;
	}

	verb = argc > 1 ? find_word(argv[1]) : NULL;
	if (verb && !is_said_with_option(verb, argc - 2, argv + 2)) {
		argv++;
		argc = parse_with_word(verb, argc - 1, argv);
	} else {
		verb = NULL;
		argc = parse_with_options(argc, argv);
	}
	ctl.command = split_command(&argc, argv);

	if (!verb) {
		ctl.set_spares = ctl.spares;
		ctl.set_keep = ctl.keep && !ctl.snapshot && !ctl.resize;
		ctl.set_note = ctl.note && !ctl.snapshot;
	} else if (ctl.set_spares) {
		ctl.spares = ctl.number;
	} else if (ctl.set_keep) {
		ctl.keep = ctl.number;
	} else if (ctl.set_note) {
		ctl.note = ctl.text;
	}

	/* An option says more of what was meant than a verb that is missing. */
	err = check_options();
	if (err)
		return err;
	verb = verb ?: find_verb();
	if (!verb)
		return EXIT_USAGE;
	err = check_names(verb, argc, argv);
	if (err)
		return err;

	if (persistent__check_supported() || parse_numbers())
		return EXIT_FAILED;

	err = run_on_names(verb, argc, argv);
	return err < 0 ? EXIT_FAILED : err;
}
