// SPDX-License-Identifier: GPL-2.0
/* Check which options of a command line can apply to events that somebody else made. */
#include "persistent.h"

#include <errno.h>
#include <limits.h>
#include <linux/list.h>
#include "clockid.h"
#include "debug.h"
#include "evlist.h"
#include "evsel.h"
#include "evsel_config.h"
#include "record.h"

/* Are all events of @evlist attached ones, which somebody else made? */
bool evlist__all_attached(struct evlist *evlist)
{
	struct evsel *evsel;

	evlist__for_each_entry(evlist, evsel) {
		if (!evsel->core.attached)
			return false;
	}
	return true;
}

/* One kind of term only notes that the user has chosen the config. */
bool evsel__has_terms(const struct evsel *evsel)
{
	const struct evsel_config_term *term;

	list_for_each_entry(term, &evsel->config_terms, list) {
		if (term->type != EVSEL__CONFIG_TERM_USR_CHG_CONFIG)
			return true;
	}
	return false;
}

/* An event that runs already cannot be changed. */
int evsel__check_unchanged(struct evsel *evsel)
{
	struct perf_event_attr *attr = &evsel->core.attr;

	if (!evsel__has_terms(evsel) && !evsel->cgrp && !evsel->filter &&
	    list_empty(&evsel->bpf_filters) && evsel__is_group_leader(evsel) &&
	    evsel->core.nr_members <= 1 && !evsel->precise_max && !attr->precise_ip &&
	    !attr->exclude_user && !attr->exclude_kernel && !attr->exclude_hv)
		return 0;

	pr_err("'%s' is read as it was created: use terms, modifiers, groups, filters and cgroups only\n"
	       "with the command that creates it.\n", evsel__name(evsel));
	return -EINVAL;
}

/* Records of different events can only be told apart by ids in the same place. */
int evlist__check_sample_types(struct evlist *evlist)
{
	struct evsel *evsel;

	if (evlist__nr_entries(evlist) < 2)
		return 0;

	evlist__for_each_entry(evlist, evsel) {
		if (evsel->core.attached &&
		    (!(evsel->core.attr.sample_type & PERF_SAMPLE_IDENTIFIER) ||
		     !evsel->core.attr.sample_id_all)) {
			pr_err("'%s' cannot be in a file with other events: it was made without PERF_SAMPLE_IDENTIFIER\n"
			       "and sample_id_all.\n", evsel__name(evsel));
			return -EINVAL;
		}
	}
	return 0;
}

/*
 * Records are sorted by times of one clock. The clock of a namespace cannot be
 * changed, so other events must use the same.
 */
static int config_clock(struct evlist *evlist, struct record_opts *opts)
{
	bool given = opts->use_clockid, decided = given;
	struct evsel *evsel;

	evlist__for_each_entry(evlist, evsel) {
		struct perf_event_attr *attr = &evsel->core.attr;

		if (!evsel->core.attached)
			continue;

		if (!decided) {
			opts->use_clockid = attr->use_clockid;
			opts->clockid = attr->clockid;
			if (attr->use_clockid)
				get_clockid_res(opts->clockid, &opts->clockid_res_ns);
			decided = true;
		}

		if (attr->use_clockid != opts->use_clockid ||
		    (attr->use_clockid && attr->clockid != opts->clockid)) {
			pr_err("'%s' was created with another clock than %s.\n", evsel__name(evsel),
			       given ? "the one asked for" : "the other events");
			return -EINVAL;
		}
	}

	return 0;
}

/*
 * Options say how to make events. They apply to the events beside the attached ones.
 * If there are none of these, refuse options that would have no effect.
 */
int evlist__config_attached(struct evlist *evlist, struct record_opts *opts,
			    const char *uid_str)
{
	struct target *target = &opts->target;
	int err = config_clock(evlist, opts);

	if (err)
		return err;

	if (evlist__all_attached(evlist)) {
		if (opts->user_freq != UINT_MAX || opts->user_interval != ULLONG_MAX) {
			pr_err("A namespace keeps the sampling rate that it was created with: leave out -F and -c.\n");
			return -EINVAL;
		}

		if (target->pid || target->tid || uid_str || target->per_thread) {
			pr_err("A namespace is read as a whole: select processes in the report, not with -p, -t, -u or --per-thread.\n");
			return -EINVAL;
		}
		target->system_wide = true;
	}

	/* The other events need ids in the same place. */
	opts->sample_identifier = true;
	return 0;
}
