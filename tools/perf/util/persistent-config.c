// SPDX-License-Identifier: GPL-2.0
/* What a command line may ask of events that somebody else made. */
#include "persistent.h"

#include <errno.h>
#include <limits.h>
#include <linux/list.h>
#include "clockid.h"
#include "debug.h"
#include "evlist.h"
#include "evsel.h"
#include "record.h"

/* Is there nothing but what was opened already? */
bool evlist__all_attached(struct evlist *evlist)
{
	struct evsel *evsel;

	evlist__for_each_entry(evlist, evsel) {
		if (!evsel->core.attached)
			return false;
	}
	return true;
}

/* Events that run already cannot be asked to be different. */
int evsel__check_unchanged(struct evsel *evsel)
{
	struct perf_event_attr *attr = &evsel->core.attr;

	if (list_empty(&evsel->config_terms) && !evsel->cgrp && !evsel->filter &&
	    list_empty(&evsel->bpf_filters) && evsel__is_group_leader(evsel) &&
	    evsel->core.nr_members <= 1 && !evsel->precise_max && !attr->precise_ip &&
	    !attr->exclude_user && !attr->exclude_kernel && !attr->exclude_hv)
		return 0;

	pr_err("'%s' is read as it is: terms, modifiers, groups, filters and cgroups belong to the\n"
	       "command that made it.\n", evsel__name(evsel));
	return -EINVAL;
}

/* Records of different events can only be told apart by ids in the same place. */
int evlist__check_sample_types(struct evlist *evlist)
{
	struct evsel *evsel;

	if (evlist->core.nr_entries < 2)
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
 * Records are sorted by times of one clock. That of the namespaces is a fact, and
 * other events are made to follow it.
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
			pr_err("'%s' was made with another clock than %s.\n", evsel__name(evsel),
			       given ? "is asked for" : "other events that are read");
			return -EINVAL;
		}
	}

	return 0;
}

/*
 * Options ask for events to be made in a certain way: have those made beside
 * the attached ones that way, if there are any, and say what cannot be.
 */
int evlist__config_attached(struct evlist *evlist, struct record_opts *opts)
{
	struct target *target = &opts->target;
	int err = config_clock(evlist, opts);

	if (err)
		return err;

	if (evlist__all_attached(evlist)) {
		if (opts->user_freq != UINT_MAX || opts->user_interval != ULLONG_MAX) {
			pr_err("How to sample was decided when the namespace was made: leave out -F and -c.\n");
			return -EINVAL;
		}

		if (target->pid || target->tid || target->uid_str || target->per_thread) {
			pr_err("A namespace is read as a whole: select processes in the report, not with -p, -t, -u or --per-thread.\n");
			return -EINVAL;
		}
		target->system_wide = true;
	}

	/* Events beside them are told apart in the same way. */
	opts->sample_identifier = true;
	return 0;
}
