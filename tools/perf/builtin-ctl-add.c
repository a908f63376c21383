// SPDX-License-Identifier: GPL-2.0
/*
 * builtin-ctl-add.c
 *
 * perf ctl add: parse the events to add to a namespace, with the options and defaults of
 * perf record. util/persistent-add.c creates the events and lets them join.
 */
#include "builtin.h"
#include "builtin-ctl.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <subcmd/parse-options.h>
#include "util/callchain.h"
#include "util/debug.h"
#include "util/evlist.h"
#include "util/evsel.h"
#include "util/parse-events.h"
#include "util/persistent.h"
#include "util/persistent-add.h"
#include "util/record.h"

static struct evlist *evlist;

/* The defaults of perf record */
static struct record_opts record_opts = {
	.sample_time	= true,
	.mmap_pages	= UINT_MAX,
	.user_freq	= UINT_MAX,
	.user_interval	= ULLONG_MAX,
	.freq		= 4000,
	.target		= {
		.uses_mmap	= true,
		.default_per_cpu = true,
	},
};

static struct parse_events_option_args events_args = {
	.evlistp = &evlist,
};

static const char *label;

/*
 * A filter applies to the event before it. Only tracepoints can have one: perf implements
 * filters of other events with BPF programs, which would not outlive perf.
 */
static int parse_add_filter(const struct option *opt, const char *str, int unset)
{
	struct evsel *last;

	if (!evlist) {
		pr_err("--filter applies to the event before it: write it after -e.\n");
		return -1;
	}
	last = evlist__last(evlist);
	if (last->core.attr.type != PERF_TYPE_TRACEPOINT) {
		pr_err("--filter is for tracepoints, and '%s' is not one.\n", evsel__name(last));
		return -1;
	}
	return parse_filter(opt, str, unset);
}

static int parse_call_graph(const struct option *opt, const char *arg, int unset)
{
	return record_opts__parse_callchain(opt->value, &callchain_param, arg, unset);
}

/* Keep the mode of a config file. */
static int parse_callchain(const struct option *opt, const char *arg __maybe_unused, int unset)
{
	if (callchain_param.record_mode != CALLCHAIN_NONE) {
		callchain_param.enabled = true;
		return 0;
	}
	return record_opts__parse_callchain(opt->value, &callchain_param, "fp", unset);
}

const struct option ctl_add_options[] = {
	OPT_CALLBACK('e', "event", &events_args, "event",
		     "event to add, see 'perf list'", parse_events_option_new_evlist),
	OPT_CALLBACK(0, "filter", &evlist, "filter", "filter of the event before it",
		     parse_add_filter),
	OPT_CALLBACK_NOOPT('g', NULL, &record_opts, NULL,
			   "record call chains, by frame pointers", parse_callchain),
	OPT_CALLBACK(0, "call-graph", &record_opts, "mode[,size]",
		     "record call chains: fp, dwarf or lbr", parse_call_graph),
	OPT_U64('c', "count", &record_opts.user_interval, "sample every Nth event"),
	OPT_CALLBACK('F', "freq", &record_opts, "freq or 'max'",
		     "sample at this frequency, in Hz", record__parse_freq),
	OPT_STRING(0, "label", &label, "text", "label for the event, instead of its name"),
	OPT_BOOLEAN('q', "quiet", &quiet, "print errors only"),
	OPT_END()
};

bool perf_ctl__add_has_event(void)
{
	return evlist && evlist__nr_entries(evlist);
}

static int check_label(void)
{
	char *quoted;

	if (!label)
		return 0;
	if (!*label || strlen(label) >= PERF_PERSIST_NAME_SIZE) {
		pr_err("--label takes 1 to %d bytes.\n", PERF_PERSIST_NAME_SIZE - 1);
		return -EINVAL;
	}
	/* Names with a colon are looked up as tracepoints. */
	if (strchr(label, ':')) {
		pr_err("--label takes no ':', which marks a tracepoint: not '%s'.\n",
		       label);
		return -EINVAL;
	}
	quoted = strdup(label);
	if (!quoted)
		return -ENOMEM;
	persistent__make_printable(quoted);
	if (strcmp(quoted, label)) {
		pr_err("--label takes printable characters only: not '%s'.\n", quoted);
		free(quoted);
		return -EINVAL;
	}
	free(quoted);
	return 0;
}

int perf_ctl__add(int nr_names __maybe_unused, const char **names)
{
	struct persistent_add_opts opts = {
		.evlist = evlist,
		.record = &record_opts,
		.label = label,
		.pages = UINT_MAX,
	};
	struct persistent_ns *ns;
	int err = check_label();

	if (!err && perf_ctl.mmap_pages)
		err = perf_ctl__parse_pages(&opts.pages);
	if (!err)
		err = persistent__check_perfmon();
	if (!err && record_opts__config(&record_opts))
		err = -EINVAL;
	if (!err) {
		ns = persistent_ns__open(names[0], /*write=*/true);
		err = ns ? persistent_ns__add_events(ns, &opts) : -ENOENT;
		persistent_ns__close(ns);
	}
	evlist__put(evlist);
	return err;
}
