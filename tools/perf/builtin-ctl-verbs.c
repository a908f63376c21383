// SPDX-License-Identifier: GPL-2.0
/*
 * builtin-ctl-verbs.c
 *
 * The verbs of 'perf ctl', a function for each. util/persistent.c, -control.c and
 * -trigger.c talk to the kernel, util/persistent-list.c prints listings, and
 * builtin-record.c writes files.
 */
#include "builtin.h"
#include "builtin-ctl.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <internal/lib.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include "util/debug.h"
#include "util/evlist.h"
#include "util/persistent.h"
#include "util/persistent-list.h"
#include "util/persistent-text.h"
#include "util/persistent-time.h"
#include "util/record-limits.h"
#include "util/strbuf.h"
#include "util/units.h"

/* Print a message for people. Programs use -q. */
#define tell(fmt, ...)						\
do {								\
	if (!quiet)						\
		pr_info(fmt, ##__VA_ARGS__);			\
} while (0)

/* Print a name or number for scripts. Commands given as options print none, as before. */
static void print_result(const char *fmt, ...) __printf(1, 2);

static void print_result(const char *fmt, ...)
{
	va_list args;

	if (!perf_ctl.word || (!quiet && isatty(STDOUT_FILENO)))
		return;
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
	/* Flush, as the next step may take long or exec() another program. */
	if (fflush(stdout))
		pr_err("Cannot print the last name or number: %m\n");
}

static enum persistent_list_format list_format(bool named)
{
	if (perf_ctl.json)
		return PERSISTENT_LIST_JSON;
	if (verbose > 0)
		return PERSISTENT_LIST_VERBOSE;
	return named || perf_ctl.contents ? PERSISTENT_LIST_DETAILS : PERSISTENT_LIST_TABLE;
}

static int count_names(char * const *names)
{
	int nr = 0;

	while (names[nr])
		nr++;
	return nr;
}

static bool is_given(const char *name)
{
	for (int i = 0; i < perf_ctl.nr_args; i++) {
		if (!strcmp(perf_ctl.args[i], name))
			return true;
	}
	return false;
}

/*
 * Open each namespace first, to report missing ones by name before anything is printed. What
 * a pattern has matched may be gone already: move it behind the others. @ids: out, or NULL.
 * Returns the number of namespaces that are there, or an error that was reported.
 */
static int check_names(int nr, const char **names, u64 *ids)
{
	struct persistent_ns *ns;
	int left = 0, err;

	for (int i = 0; i < nr; i++) {
		const char *name = names[i];

		err = persistent_ns__lookup(name, /*write=*/false, &ns);
		if (err == -ENOENT && !is_given(name))
			continue;
		if (err)
			return persistent__err_open(err, name);
		if (ids)
			ids[left] = ns->id;
		persistent_ns__close(ns);
		names[i] = names[left];
		names[left++] = name;
	}
	if (!left) {
		pr_err("All namespaces that matched are gone by now.\n");
		return -ENOENT;
	}
	return left;
}

static int list_names(int nr, const char **names, enum persistent_list_format format)
{
	nr = check_names(nr, names, NULL);
	return nr < 0 ? nr : persistent__print_list((char **)names, nr, format, perf_ctl.contents);
}

int perf_ctl__list(int argc, const char **argv)
{
	char **names;
	int err;

	/* -l with a name prints all details, the word 'list' prints a table. */
	if (argc)
		return list_names(argc, argv, list_format(!perf_ctl.word));

	names = persistent__names();
	if (!names)
		return -ENOMEM;

	err = persistent__print_list(names, count_names(names), list_format(false),
				     perf_ctl.contents);
	persistent__free_names(names);
	return err;
}

int perf_ctl__show(int nr_names __maybe_unused, const char **names)
{
	struct persistent_text_opts opts = { .cpus = perf_ctl.cpus, .follow = perf_ctl.follow };

	if (perf_ctl.last && persistent__parse_duration("--last", perf_ctl.last, &opts.last))
		return -1;
	return persistent__print_text(names[0], &opts);
}

/*
 * Make the event list for perf record. sysfs shows the name of a snapshot a moment later than
 * the kernel knows its id.
 */
static char *read_events(int nr, const u64 *ids)
{
	struct strbuf sb = STRBUF_INIT;

	for (int i = 0; i < nr; i++)
		strbuf_addf(&sb, "%s" PERSISTENT_PMU "/config=%#" PRIx64 "/", i ? "," : "", ids[i]);
	return strbuf_detach(&sb, NULL);
}

/* Read several namespaces into one file. */
int perf_ctl__read(int nr_names, const char **names)
{
	const struct {
		const char *option;
		const char *value;
	} options[] = {
		/* With the word, perf record may write to a pipe. -r always made a file. */
		{ "-o", perf_ctl.output ?: perf_ctl.word ? NULL : "perf.data" },
		{ "-C", perf_ctl.cpus },
		{ "--last", perf_ctl.last },
		{ "--from", perf_ctl.from },
		{ "--to", perf_ctl.to },
		{ "--max-size", perf_ctl.max_size },
	};
	const char **argv = calloc(4 + 2 * ARRAY_SIZE(options), sizeof(*argv));
	u64 *ids = calloc(nr_names, sizeof(*ids)), max_size;
	char *events = NULL;
	int argc = 0, err = -ENOMEM;

	if (!argv || !ids)
		goto out;

	/* Refuse a bad size here, as perf record would print its own usage. */
	err = -EINVAL;
	if (perf_ctl.max_size && parse_size_option("--max-size", perf_ctl.max_size, &max_size))
		goto out;
	err = check_names(nr_names, names, ids);
	if (err < 0)
		goto out;
	events = read_events(err, ids);
	err = -ENOMEM;
	if (!events)
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
	free(ids);
	free(argv);
	return err;
}

/* -N: copy no binaries to the build-id cache, as nothing would ever remove them. */
static int read_to_file(const char *event, const char *path,
			const struct persistent_save_opts *opts)
{
	const char *argv[10] = { "record", "-N", "-e", event, "-o", path, };
	char level[sizeof("--compression-level=4294967295")];
	int argc = 6;

	if (opts->comp_level) {
		scnprintf(level, sizeof(level), "--compression-level=%u", opts->comp_level);
		argv[argc++] = level;
	}
	if (opts->last) {
		argv[argc++] = "--last";
		argv[argc++] = opts->last;
	}

	/* perf record must report why it failed, even with -q. */
	quiet = false;
	return cmd_record(argc, argv);
}

#define MAX_COMP_LEVEL	22

/* Parse 'zstd' or a level, as in 'zstd:3'. */
static int parse_compress(const char *str, u32 *comp_level)
{
	const char *level = strchr(str, ':');

#ifndef HAVE_ZSTD_SUPPORT
	pr_err("--compress needs zstd, which this perf was built without: see 'perf version --build-options'.\n");
	return -1;
#endif
	if (strcmp(str, "zstd") && strncmp(str, "zstd:", 5)) {
		pr_err("--compress takes zstd, or zstd with a level, as in zstd:3: not '%s'.\n",
		       str);
		return -1;
	}
	*comp_level = 1;
	return level ? persistent__parse_number("--compress zstd:", level + 1, 1, MAX_COMP_LEVEL,
						comp_level) : 0;
}

int perf_ctl__save(int nr_names __maybe_unused, const char **names)
{
	struct persistent_save_opts *opts = &perf_ctl.save;
	u64 last;

	if (record_limits__parse(&opts->limits, perf_ctl.max_files, perf_ctl.max_total))
		return -1;
	if (perf_ctl.last && persistent__parse_duration("--last", perf_ctl.last, &last))
		return -1;
	if (perf_ctl.compress && parse_compress(perf_ctl.compress, &opts->comp_level))
		return -1;

	opts->last = perf_ctl.last;
	opts->command = perf_ctl.command;
	opts->read = read_to_file;
	return persistent__save(names[0], opts);
}

/* Go on with the other namespaces if @func fails for one. */
int perf_ctl__on_each_ns(int argc, const char **argv, int (*func)(struct persistent_ns *ns))
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

		/* The kernel may have deleted it to make room for a newer snapshot. */
		if (ret == -ENOENT)
			continue;
		if (persistent__err_open(ret, names[i]) || persistent_ns__delete(ns))
			err = -1;
		persistent_ns__close(ns);
	}

	persistent__free_names(names);
	return err;
}

int perf_ctl__delete(int argc, const char **argv)
{
	int err = 0;

	for (int i = 0; i < argc; i++) {
		if (persistent__is_pattern(argv[i]))
			err |= delete_matching(argv[i]);
		else
			err |= perf_ctl__on_each_ns(1, &argv[i], persistent_ns__delete);
	}

	for (int i = 0; i < argc && !err && !quiet; i++)
		persistent__tell_of_snapshots(argv[i]);
	return err ? -1 : 0;
}

/* Tell how many snapshots are kept, including older ones. */
static void tell_of_snapshot(struct persistent_ns *ns, u32 number)
{
	u32 oldest;
	int nr = persistent_ns__count_snapshots(ns, &oldest);

	if (persistent_ns__look_again(ns))
		return;
	tell("[ perf ctl: '%s.%u' holds what '%s' recorded; %d of at most %u snapshots kept ]\n",
	     ns->name, number, ns->name, nr, ns->keep);
	if (nr >= (int)ns->keep)
		tell("[ perf ctl: the next one deletes '%s.%u': read that before, or raise --keep ]\n",
		     ns->name, oldest);
}

/* After a failure, take back a raised number of snapshots to keep. */
static int keep_as_before(struct persistent_ns *ns, u32 keep, int err)
{
	if (err && perf_ctl.keep && perf_ctl.nr > keep)
		persistent_ns__set_keep(ns, keep);
	return err;
}

/* Raise the limit before taking a snapshot, lower it after: a failure then deletes none. */
static int keep_around(struct persistent_ns *ns, bool before)
{
	bool more = perf_ctl.nr > ns->keep;

	if (!perf_ctl.keep || before != more)
		return 0;
	return persistent_ns__set_keep(ns, perf_ctl.nr);
}

int perf_ctl__take_snapshot(struct persistent_ns *ns)
{
	u32 number, keep = ns->keep;
	u64 id;
	int err = keep_around(ns, /*before=*/true) ?:
		  persistent_ns__take_snapshot(ns, &number, &id) ?:
		  keep_around(ns, /*before=*/false);

	if (err)
		return keep_as_before(ns, keep, err);
	tell_of_snapshot(ns, number);
	print_result("%s.%u", ns->name, number);
	return perf_ctl.note ? persistent__note_snapshot(id, perf_ctl.note) : 0;
}

static int resize(struct persistent_ns *ns, unsigned int pages)
{
	u32 number, keep = ns->keep;
	char size[32];
	int err = keep_around(ns, /*before=*/true) ?:
		  persistent_ns__resize(ns, pages, &number) ?:
		  keep_around(ns, /*before=*/false);

	if (err)
		return keep_as_before(ns, keep, err);

	unit_number__scnprintf_exact(size, sizeof(size), (u64)pages * page_size);
	tell("[ perf ctl: '%s' has buffers of %s per CPU now ]\n", ns->name, size);
	tell_of_snapshot(ns, number);
	return 0;
}

int perf_ctl__parse_pages(unsigned int *pages)
{
	if (__evlist__parse_mmap_pages(pages, perf_ctl.mmap_pages))
		pr_err("-m takes a number of pages, or a size in B, K, M or G, as in -m 2M: not '%s'.\n",
		       perf_ctl.mmap_pages);
	else if ((u64)*pages * page_size > PERSISTENT_MAX_BUFFER)
		pr_err("A buffer has at most 1G, not %s: choose a smaller size with -m.\n",
		       perf_ctl.mmap_pages);
	else
		return 0;
	return -1;
}

int perf_ctl__resize(int nr_names, const char **names)
{
	unsigned int pages;
	int err = 0;

	if (perf_ctl__parse_pages(&pages))
		return -1;

	for (int i = 0; i < nr_names; i++) {
		struct persistent_ns *ns = persistent_ns__open(names[i], /*write=*/true);

		if (!ns || resize(ns, pages))
			err = -1;
		persistent_ns__close(ns);
	}
	return err;
}

int perf_ctl__set_spares(struct persistent_ns *ns)
{
	return persistent_ns__set_spares(ns, perf_ctl.nr);
}

int perf_ctl__set_keep(struct persistent_ns *ns)
{
	return persistent_ns__set_keep(ns, perf_ctl.nr);
}

int perf_ctl__set_note(struct persistent_ns *ns)
{
	return persistent_ns__set_note(ns, perf_ctl.note);
}

/* Tell which snapshots are kept. The first ones may be the ones that matter. */
static void tell_how_often(const struct persistent_ns *ns, const struct perf_event_trigger *trigger)
{
	if (!trigger->cool_down_ns)
		tell("[ perf ctl: a snapshot each time it happens, as --cool-down is 0 ]\n");
	else if (!perf_ctl.to_trigger.cool_down)
		tell("[ perf ctl: one snapshot in 1s at most, --cool-down changes that ]\n");

	if (!trigger->times || trigger->times > ns->keep)
		tell("[ perf ctl: the newest %u are kept (--keep); --times %u keeps the first ]\n",
		     ns->keep, ns->keep);
}

/* Tell the most memory that is used, as it grows later, when no user is there to see it. */
static void tell_memory(struct persistent_ns *ns)
{
	u64 bytes = persistent_ns__buffer_bytes(ns), kept = 1ULL + ns->keep + ns->spares;
	char now[32], sum[32], most[32];

	if (!bytes)
		return;
	unit_number__scnprintf_exact(now, sizeof(now), bytes);
	unit_number__scnprintf_exact(sum, sizeof(sum), bytes * kept);
	unit_number__scnprintf_exact(most, sizeof(most), bytes * (kept + ns->keep));
	tell("[ perf ctl: buffers of %s, %s with %u snapshots and %u spares ]\n",
	     now, sum, ns->keep, ns->spares);
	tell("[ perf ctl: %s at most, with what readers keep mapped ]\n", most);
}

static int add_trigger(struct persistent_ns *ns, struct perf_event_trigger *trigger)
{
	char events[32] = "";
	u32 keep = ns->keep;
	int nr_events;
	int err = keep_around(ns, /*before=*/true) ?:
		  persistent_ns__add_trigger(ns, trigger, &perf_ctl.to_trigger, &nr_events);

	if (err)
		return keep_as_before(ns, keep, err);
	err = keep_around(ns, /*before=*/false);
	if (err) {
		persistent_ns__remove_trigger(ns, trigger->number);
		return err;
	}

	/* The user may have given a pattern, as in sched:*. */
	if (nr_events > 1)
		scnprintf(events, sizeof(events), ", any of %d events", nr_events);
	tell("[ perf ctl: trigger %u of '%s': %s when %s%s ]\n", trigger->number,
	     ns->name, persistent_trigger__action(trigger), perf_ctl.to_trigger.when, events);
	if (trigger->action == PERF_TRIGGER_DO_SNAPSHOT && !persistent_ns__look_again(ns)) {
		tell_how_often(ns, trigger);
		tell_memory(ns);
	}
	print_result("%u", trigger->number);
	return 0;
}

static int change_triggers(struct persistent_ns *ns, const struct perf_event_trigger *asked)
{
	struct perf_event_trigger trigger = *asked;

	if (perf_ctl.remove)
		return persistent_ns__remove_trigger(ns, perf_ctl.nr);
	if (perf_ctl.arm)
		return persistent_ns__arm_trigger(ns, perf_ctl.nr);
	return add_trigger(ns, &trigger);
}

int perf_ctl__trigger(int nr_names, const char **names)
{
	struct perf_event_trigger trigger = {};
	int err;

	if (!perf_ctl.remove && !perf_ctl.arm)
		err = persistent_trigger__parse(&trigger, &perf_ctl.to_trigger);
	else
		err = persistent__parse_number(perf_ctl.remove ? "--remove" : "--arm",
					       perf_ctl.remove ?: perf_ctl.arm, 1, UINT_MAX,
					       &perf_ctl.nr);

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

/* exec() the command. Return only on failure. */
static int run_command(const char **argv, const char *name, const struct persistent_notice *notice)
{
	char snapshot[PERF_PERSIST_NAME_SIZE] = "", trigger[16] = "";

	if (notice->snapshot)
		scnprintf(snapshot, sizeof(snapshot), "%s.%u", name, notice->snapshot);
	if (notice->trigger)
		scnprintf(trigger, sizeof(trigger), "%u", notice->trigger);

	if (!setenv("PERF_NAMESPACE", name, 1) && !setenv("PERF_SNAPSHOT", snapshot, 1) &&
	    !setenv("PERF_TRIGGER", trigger, 1) && !setenv("PERF_NOTE", notice->note, 1))
		execvp(argv[0], (char **)argv);

	pr_err("Cannot run '%s': %m\n", argv[0]);
	return errno == ENOENT ? 127 : 126;
}

int perf_ctl__wait(int nr_names __maybe_unused, const char **names)
{
	const char *name = names[0];
	struct persistent_notice notice;
	struct persistent_ns *ns;
	u64 timeout = 0;
	u32 since;
	int err;

	if (perf_ctl.since && persistent__parse_number("--since", perf_ctl.since, 0, UINT_MAX,
						       &since))
		return -1;
	if (perf_ctl.timeout && persistent__parse_duration("--timeout", perf_ctl.timeout, &timeout))
		return -1;

	ns = persistent_ns__open(name, /*write=*/false);
	if (!ns)
		return -1;

	err = persistent_ns__wait(ns, timeout, perf_ctl.since ? &since : NULL, tell_waiting,
				  &notice);
	if (!err) {
		tell_notice(ns, &notice);
		if (perf_ctl.command)
			err = run_command(perf_ctl.command, name, &notice);
		else if (notice.snapshot)
			print_result("%s.%u", ns->name, notice.snapshot);
	} else if (err == -ETIMEDOUT) {
		pr_err("No snapshot of '%s' was taken within %s, and no trigger has stopped it.\n",
		       name, perf_ctl.timeout);
		err = EXIT_TIMEOUT;
	} else {
		err = -1;
	}

	persistent_ns__close(ns);
	return err;
}
