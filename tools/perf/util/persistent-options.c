// SPDX-License-Identifier: GPL-2.0
/*
 * Refuse options of perf record that have no effect with -P, or with -e persistent/NS/.
 */
#include "persistent-options.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/kernel.h>
#include <subcmd/parse-options.h>
#include <perf/cpumap.h>
#include "debug.h"
#include "evlist.h"
#include "evsel.h"
#include "persistent.h"
#include "record.h"

#define OLD_P_HINT	"To record the sample period, which -P used to mean, use --period.\n"

/* Check the name early: -P used to take none, so it may be a word of an old command line. */
int persistent_options__parse_keep(const struct option *opt, const char *str, int unset)
{
	const char **name = opt->value;

	*name = NULL;
	if (unset)
		return 0;

	if (!*str)
		pr_err("-P keeps events in the kernel and needs a name for them.\n");
	if (!*str || persistent__check_name(str)) {
		pr_err(OLD_P_HINT);
		return -1;
	}

	*name = str;
	return 0;
}

static bool is_command(const char *name)
{
	char *path = strdup(getenv("PATH") ?: ""), *pos = path, *dir;
	char file[PATH_MAX];
	bool found = false;

	while (!found && (dir = strsep(&pos, ":"))) {
		scnprintf(file, sizeof(file), "%s/%s", dir, name);
		found = !access(file, X_OK);
	}
	free(path);
	return found;
}

void persistent_options__warn_command(const char *name)
{
	if (is_command(name))
		pr_warning("WARNING: '%s' is the name for what the kernel keeps: the command is not run.\n"
			   OLD_P_HINT, name);
}

/* @name is the long name of the option, or the short one if it has no long name. */
static const struct option *find_option(const struct option *options, const char *name)
{
	const struct option *opt;

	for (opt = options; opt->type != OPTION_END; opt++) {
		if (opt->long_name ? !strcmp(opt->long_name, name) :
				     (opt->short_name == name[0] && !name[1]))
			return opt;
	}
	return NULL;
}

const char *persistent_options__find_given(const struct option *options, const char * const *names,
					   char *buf, size_t size)
{
	for (; *names; names++) {
		const struct option *opt = find_option(options, *names);

		/* Some options are not always built in. */
		if (!opt || !*opt->set)
			continue;

		if (opt->short_name)
			scnprintf(buf, size, "-%c", opt->short_name);
		else
			scnprintf(buf, size, "--%s", opt->long_name);
		return buf;
	}
	return NULL;
}

/*
 * Options about processes, about the file, and about what perf does while it
 * runs: -P has none of these. Options that say how to make events are allowed.
 */
static const char * const not_with_keep[] = {
	"pid", "tid", "uid", "per-thread", "stat", "exclude-perf",
	"output", "max-size", "switch-output", "switch-output-event", "switch-max-files",
	"timestamp-filename", "timestamp-boundary", "tail-synthesize", "synth",
	"num-thread-synthesize", "proc-map-timeout", "vmlinux", "kcore", "buildid-all",
	"no-buildid", "no-buildid-cache", "compression-level", "aio", "affinity",
	"threads", "mmap-flush", "no-buffering", "realtime", "delay", "control",
	"snapshot", "aux-sample", "off-cpu", "off-cpu-thresh", "setup-filter", "latency",
	"last", "from", "to",
	NULL
};

/* Options that say how to make events: those of a namespace exist already. */
static const char * const not_with_read[] = {
	"count", "freq", "strict-freq", "mmap-pages", "g", "call-graph",
	"kernel-callchains", "user-callchains", "all-kernel", "all-user", "no-inherit",
	"no-samples", "overwrite", "no-buffering", "raw-samples", "stat", "data", "phys-data",
	"data-page-size", "code-page-size", "sample-cpu", "sample-identifier", "timestamp",
	"period", "branch-any", "branch-filter", "weight", "transaction", "intr-regs",
	"user-regs", "running-time", "switch-events", "delay", "snapshot", "aux-sample",
	NULL
};

int persistent_options__check_keep(const struct option *options, const struct record_opts *opts,
				   bool kill, int argc, const char **argv)
{
	const struct target *target = &opts->target;
	const char *option;
	char buf[32];

	if (argc) {
		pr_err("-P keeps events in the kernel, which run without a command: leave out '%s'.\n"
		       OLD_P_HINT, argv[0]);
		return -EINVAL;
	}

	option = kill ? "-k" :
		 persistent_options__find_given(options, not_with_keep, buf, sizeof(buf));
	if (option) {
		pr_err("%s cannot be used with -P: events in the kernel belong to CPUs, and no file is written.\n",
		       option);
		return -EINVAL;
	}

	if (opts->auxtrace_mmap_pages) {
		pr_err("-m takes one size with -P, as events in the kernel have no buffers for AUX area tracing.\n");
		return -EINVAL;
	}

	if (!target->system_wide && !target->cpu_list) {
		pr_err("-P needs the CPUs to keep events on: -a for all, or -C LIST.\n" OLD_P_HINT);
		return -EINVAL;
	}

	return 0;
}

int persistent_options__check_read(const struct option *options, struct evlist *evlist)
{
	struct evsel *evsel;
	const char *option;
	char buf[32];

	/* If there are other events, the options are for these. */
	evlist__for_each_entry(evlist, evsel) {
		if (!evsel__is_persistent(evsel))
			return 0;
	}

	option = persistent_options__find_given(options, not_with_read, buf, sizeof(buf));
	if (!option)
		return 0;

	pr_err("%s sets up new events, but a namespace has its events already: leave it out, or use it with -P.\n",
	       option);
	return -EINVAL;
}

/* An empty list does not mean all CPUs: a script has probably lost its list. */
struct perf_cpu_map *persistent_options__parse_cpus(const char *list)
{
	struct perf_cpu_map *cpus = *list ? perf_cpu_map__new(list) : NULL;

	if (!cpus)
		pr_err("-C takes a list of CPUs, as in -C 0-3,8: not '%s'.\n", list);
	return cpus;
}
