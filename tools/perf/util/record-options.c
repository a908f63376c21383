// SPDX-License-Identifier: GPL-2.0
/*
 * Check the options of perf record that conflict with -M or --daemon, or that require them.
 */
#include "record-options.h"

#include <errno.h>
#include <string.h>
#include "debug.h"
#include "persistent-options.h"
#include "persistent-time.h"
#include "record.h"
#include "record-memory.h"
#include "record-serve.h"

static const char * const not_with_memory[] = {
	"switch-output", "switch-output-event", "persistent", "threads", "off-cpu",
	"compression-level", "switch-events", "kcore", "tail-synthesize",
	NULL
};

static const char * const for_daemon[] = {
	"pid-file", "keep-parts", "max-files", "max-total",
	NULL
};

static const char * const not_with_daemon[] = {
	"max-size", "timestamp-filename", "dry-run",
	NULL
};

int record_options__check_memory(const struct option *options, struct record_opts *opts,
				 bool reads)
{
	const char *other;
	char buf[32];

	/* First settings that a config file or an event can make as well, and defaults */
	if (reads)
		other = "-e persistent/NS/";
	else if (opts->full_auxtrace)
		other = "events with an AUX area";
	else if (opts->nr_cblocks)
		other = "--aio";
	else if (!opts->sample_time)
		other = "--no-timestamp";
	else
		other = persistent_options__find_given(options, not_with_memory, buf, sizeof(buf));
	if (other) {
		pr_err("-M keeps samples in memory, in one process, for one file: it cannot be used with %s.\n",
		       other);
		return -EINVAL;
	}

	/* Record times with --per-thread, too, as samples are sorted by them. */
	opts->sample_time_set = true;
	return 0;
}

static int check_grow(const struct record_opts *opts, struct record_grow *grow)
{
	if (!grow->to && !grow->hold)
		return 0;
	if (!opts->memory_size) {
		pr_err("%s needs -M SIZE.\n", grow->to ? "--grow-to" : "--hold");
		return -EINVAL;
	}
	if (!grow->to || !grow->hold) {
		pr_err("--grow-to SIZE and --hold TIME go together: how large memory may get, and how long it must hold samples.\n");
		return -EINVAL;
	}

	grow->max_size = record_memory__parse_size(grow->to);
	if (!grow->max_size) {
		pr_err("--grow-to takes a size as in 64M, or bytes: not '%s'.\n", grow->to);
		return -EINVAL;
	}
	if (grow->max_size < opts->memory_size) {
		pr_err("--grow-to is less than -M.\n");
		return -EINVAL;
	}
	grow->on = true;
	return persistent__parse_duration("--hold", grow->hold, &grow->hold_ns);
}

int record_options__check_daemon(const struct option *options, const struct record_opts *opts,
				 struct record_memory *memory, const char *path)
{
	struct record_daemon *daemon = &memory->daemon;
	const char *other;
	char buf[32];

	if (memory->trigger.evlist && !opts->memory_size) {
		pr_err("--trigger writes samples from memory: set the size of memory with -M SIZE.\n");
		return -EINVAL;
	}
	if (check_grow(opts, &memory->grow))
		return -EINVAL;
	if (!daemon->enabled) {
		other = persistent_options__find_given(options, for_daemon, buf, sizeof(buf));
		if (other)
			pr_err("%s needs --daemon.\n", other);
		return other ? -EINVAL : 0;
	}

	if (!opts->memory_size) {
		pr_err("--daemon keeps samples in memory: set the size with -M SIZE.\n");
		return -EINVAL;
	}
	if (path && !strcmp(path, "-"))
		other = "-o -";
	else
		other = persistent_options__find_given(options, not_with_daemon, buf, sizeof(buf));
	if (other) {
		pr_err("--daemon writes its own files: it cannot be used with %s.\n", other);
		return -EINVAL;
	}
	return record_limits__parse(&daemon->limits, daemon->max_files, daemon->max_total);
}
