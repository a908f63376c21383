// SPDX-License-Identifier: GPL-2.0
/*
 * perf record -M: keep samples in buffers of a fixed size, and write them on request.
 *
 * The sample buffers overwrite their oldest records. Side-band records (of tasks and
 * maps) have their own buffers, which perf reads all the time. So every sample has its
 * names, however many samples there are.
 */
#include "record-memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/sizes.h>
#include <perf/cpumap.h>
#include <perf/threadmap.h>
#include <internal/lib.h>
#include <subcmd/parse-options.h>
#include "debug.h"
#include "evlist.h"
#include "evsel.h"
#include "persistent.h"
#include "record-live.h"
#include "string2.h"
#include "units.h"
#include "util.h"

/* The longest output of unit_number__scnprintf_exact() for 64 bits */
#define SIZE_LEN	24

u64 record_memory__parse_size(const char *str)
{
	size_t digits = strspn(str, "0123456789");
	unsigned long val = 0;
	char *end;

	if (digits && (!str[digits] || !str[digits + 1]))
		val = parse_size_value(str);
	if (val == -1UL) {
		errno = 0;
		val = strtoul(str, &end, 10);
		if (errno || *end)
			val = 0;
	}
	return val;
}

int record_memory__parse(const struct option *opt, const char *str, int unset)
{
	u64 *size = opt->value;

	if (unset) {
		*size = 0;
		return 0;
	}

	*size = record_memory__parse_size(str);
	if (!*size) {
		pr_err("-M takes a size as in 64M, or bytes: not '%s'.\n", str);
		return -1;
	}
	return 0;
}

/* One for each CPU of the events with samples, or for each thread if they have no CPUs */
static u64 nr_buffers(struct evlist *evlist)
{
	struct perf_cpu_map *cpus = NULL;
	struct evsel *evsel;
	u64 nr;

	evlist__for_each_entry(evlist, evsel) {
		if (!evsel__is_dummy_event(evsel))
			perf_cpu_map__merge(&cpus, evsel->core.cpus);
	}

	if (perf_cpu_map__has_any_cpu_or_is_empty(cpus))
		nr = perf_thread_map__nr(evlist__core(evlist)->threads);
	else
		nr = perf_cpu_map__nr(cpus);
	perf_cpu_map__put(cpus);
	return nr;
}

static bool has_samples(struct evlist *evlist)
{
	struct evsel *evsel;

	evlist__for_each_entry(evlist, evsel) {
		if (!evsel__is_dummy_event(evsel))
			return true;
	}
	return false;
}

int record_memory__share(struct evlist *evlist, u64 size)
{
	u64 nr = nr_buffers(evlist), each;
	char limit[SIZE_LEN];

	if (!has_samples(evlist) || !nr) {
		pr_err("-M has nothing to keep: name an event that takes samples, and tasks that exist.\n");
		return -EINVAL;
	}

	each = size / nr;
	if (each < page_size) {
		unit_number__scnprintf_exact(limit, sizeof(limit), nr * page_size);
		pr_err("-M is less than a page for each of %" PRIu64 " buffers: give it %s or more.\n",
		       nr, limit);
		return -EINVAL;
	}
	if (each > PERSISTENT_MAX_BUFFER) {
		unit_number__scnprintf_exact(limit, sizeof(limit), nr * PERSISTENT_MAX_BUFFER);
		pr_err("-M is more than 1G for each of %" PRIu64 " buffers: give it %s or less.\n",
		       nr, limit);
		return -EINVAL;
	}

	evlist__set_overwrite_size(evlist, roundup_pow_of_two(each));
	return 0;
}

int record_memory__check(struct evlist *evlist)
{
	struct evsel *evsel;

	evlist__for_each_entry(evlist, evsel) {
		if (evsel__is_dummy_event(evsel))
			continue;
		if (!evsel->core.attr.write_backward) {
			pr_err("'%s' does not keep its samples in memory, as -M needs: leave out 'no-overwrite'.\n",
			       evsel__name(evsel));
			return -EINVAL;
		}
		/* Records of tasks are in another file, which is combined with theirs by time. */
		if (!(evsel->core.attr.sample_type & PERF_SAMPLE_TIME)) {
			pr_err("'%s' has the term 'time=0', but -M needs the times of all samples: leave out the term.\n",
			       evsel__name(evsel));
			return -EINVAL;
		}
	}
	return 0;
}

u64 record_memory__each(struct evlist *evlist, u64 size)
{
	return clamp(size / nr_buffers(evlist), (u64)evlist__overwrite_size(evlist),
		     PERSISTENT_MAX_BUFFER);
}

u64 record_memory__size(struct evlist *evlist)
{
	return nr_buffers(evlist) * evlist__overwrite_size(evlist);
}

void record_memory__print(struct evlist *evlist, const struct record_live *live, bool daemon)
{
	u64 nr = nr_buffers(evlist);
	char all[SIZE_LEN], each[SIZE_LEN];

	unit_number__scnprintf_exact(all, sizeof(all), record_memory__size(evlist));
	unit_number__scnprintf_exact(each, sizeof(each), evlist__overwrite_size(evlist));
	if (live->on)
		fprintf(stderr, "[ perf record: recording goes on while memory is copied ]\n");
	else
		fprintf(stderr, "[ perf record: recording pauses while memory is copied: %s ]\n",
			live->why);
	fprintf(stderr, "[ perf record: memory of %s, %s in each of %" PRIu64 " buffers, is written on 'kill -USR%d %d' ]\n",
		all, each, nr, daemon ? 1 : 2, getpid());
}
