// SPDX-License-Identifier: GPL-2.0
/*
 * perf record -P: make events, hand them to the kernel under a name, and exit.
 *
 * Besides the events that the user asks for, perf makes a side-band event on each CPU. It
 * counts nothing, but records tasks and their maps, into a buffer of its own.
 */
#include "persistent-keep.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <internal/lib.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/sizes.h>
#include <linux/string.h>
#include "callchain.h"
#include "cpumap.h"
#include "debug.h"
#include "env.h"
#include "evlist.h"
#include "evsel.h"
#include "evsel_config.h"
#include "persistent.h"
#include "persistent-options.h"
#include "persistent-info.h"
#include "persistent-tasks.h"
#include "persistent-wide.h"
#include "record.h"
#include "stat.h"
#include "units.h"
#include "util.h"

static bool is_no_overwrite(struct evsel *evsel)
{
	struct evsel_config_term *term = evsel__get_config_term(evsel, OVERWRITE);

	return term && !term->val.overwrite;
}

/* A namespace cannot be kept again under a second name. */
static int keep__check_events(const struct persistent_keep *keep)
{
	struct evsel *evsel;

	evlist__for_each_entry(keep->evlist, evsel) {
		if (evsel__is_persistent(evsel)) {
			pr_err("'%s' is a namespace, and -P creates a new one from other events. Leave out -P to read it,\n"
			       "or take a snapshot with 'perf ctl -s'.\n", evsel__name(evsel));
			return -EINVAL;
		}
		if (is_no_overwrite(evsel)) {
			pr_err("'%s' has the term 'no-overwrite', but the kernel only keeps buffers that overwrite\n"
			       "the oldest records: leave out the term.\n", evsel__name(evsel));
			return -EINVAL;
		}
	}

	return 0;
}

/* Tell the user which CPU does not exist or is offline: the kernel's error does not. */
static int keep__check_cpus(const struct persistent_keep *keep)
{
	struct perf_cpu_map *online, *cpus;
	struct perf_cpu cpu;
	unsigned int idx;
	char list[256];
	int err = 0;

	if (!keep->opts->target.cpu_list)
		return 0;

	online = perf_cpu_map__new_online_cpus();
	cpus = persistent_options__parse_cpus(keep->opts->target.cpu_list);
	if (!cpus)
		err = -EINVAL;
	perf_cpu_map__for_each_cpu(cpu, idx, cpus) {
		if (!err && online && !perf_cpu_map__has(online, cpu)) {
			cpu_map__snprint(online, list, sizeof(list));
			pr_err("-C %s: CPU %d does not exist or is offline. Online are %s.\n",
			       keep->opts->target.cpu_list, cpu.cpu, list);
			err = -EINVAL;
		}
	}
	perf_cpu_map__put(cpus);
	perf_cpu_map__put(online);
	return err;
}

/* A BPF filter goes away when perf exits. */
static int keep__check_filters(const struct persistent_keep *keep)
{
	struct evsel *evsel;

	evlist__for_each_entry(keep->evlist, evsel) {
		if (!list_empty(&evsel->bpf_filters)) {
			pr_err("The filter of '%s' is a BPF program, which ends with perf: it cannot be used with -P.\n",
			       evsel__name(evsel));
			return -EINVAL;
		}
	}

	return 0;
}

static u64 buffer_bytes(unsigned int pages)
{
	return evlist__mmap_size(pages) - page_size;
}

/* A buffer that perf cannot map could be created, but never be read. */
static int keep__check_size(const struct persistent_keep *keep)
{
	u64 bytes = buffer_bytes(keep->opts->mmap_pages);
	char size[32];

	if (bytes <= PERSISTENT_MAX_BUFFER)
		return 0;
	unit_number__scnprintf_exact(size, sizeof(size), bytes);
	pr_err("A buffer has at most 1G, not %s: choose a smaller size with -m.\n", size);
	return -EINVAL;
}

int persistent_keep__check(const struct persistent_keep *keep)
{
	return keep__check_events(keep) ?:
	       keep__check_size(keep) ?:
	       keep__check_cpus(keep) ?:
	       keep__check_filters(keep) ?:
	       persistent__check_supported() ?:
	       persistent__check_perfmon() ?:
	       persistent__check_free(keep->name);
}

/*
 * Whatever options the user gives, a later reader must be able to put the
 * events into a file with others, and to count them.
 */
void persistent_keep__config(struct evlist *evlist, struct record_opts *opts)
{
	struct evsel *evsel;

	evlist__config(evlist, opts, &callchain_param);

	evlist__for_each_entry(evlist, evsel) {
		evsel__set_sample_id(evsel, /*use_sample_identifier=*/true);
		evsel__set_sample_bit(evsel, TID);
		evsel__set_sample_bit(evsel, TIME);
		evsel__set_sample_bit(evsel, CPU);
		evsel->core.attr.sample_id_all = 1;
		evsel->core.attr.read_format |= PERF_FORMAT_LOST |
						PERF_FORMAT_TOTAL_TIME_ENABLED |
						PERF_FORMAT_TOTAL_TIME_RUNNING;
		/* Side-band records stay whole: they are few, and some are in no buffer. */
		if (!evsel__is_dummy_event(evsel))
			evsel__leave_out(evsel, opts->narrow);
	}
}

/*
 * Record tasks and their maps on all CPUs, because tasks move. Use separate
 * buffers, because a burst of samples would overwrite the maps that it needs.
 */
static struct evlist *keep__new_sideband(const struct persistent_keep *keep)
{
	struct evlist *evlist = evlist__new();

	if (!evlist)
		return NULL;

	if (evlist__create_maps(evlist, &keep->opts->target) ||
	    !evlist__add_dummy_on_all_cpus(evlist)) {
		evlist__put(evlist);
		return NULL;
	}

	return evlist;
}

/* A quarter of the size for samples, but enough for some hundred execs */
static unsigned int keep__sideband_pages(const struct persistent_keep *keep)
{
	return max(buffer_bytes(keep->opts->mmap_pages) / 4, (u64)SZ_256K) / page_size;
}

static int keep__open(const struct persistent_keep *keep, struct evlist *evlist,
		      unsigned int pages)
{
	char size[32];
	int err;

	persistent_keep__config(evlist, keep->opts);

	err = keep->open(keep->arg, evlist, pages);
	if (err == -ENOMEM) {
		unit_number__scnprintf_exact(size, sizeof(size), buffer_bytes(pages));
		pr_err("There is no memory for a buffer of %s on each CPU: choose a smaller size with -m.\n",
		       size);
	}
	return err;
}

static void keep__print_events(const struct persistent_keep *keep, const char *keeps)
{
	struct perf_cpu_map *cpus = evlist__core(keep->evlist)->all_cpus;
	struct evsel *evsel;
	char list[256];

	if (cpu_map__snprint(cpus, list, sizeof(list)) == sizeof(list) - 1)
		memcpy(list + sizeof(list) - sizeof("..."), "...", sizeof("..."));

	fprintf(stderr, "[ perf record: '%s' %s %d event%s on CPU %s:", keep->name, keeps,
		evlist__nr_entries(keep->evlist),
		evlist__nr_entries(keep->evlist) > 1 ? "s" : "", list);
	evlist__for_each_entry(keep->evlist, evsel)
		fprintf(stderr, " %s", evsel__name(evsel));
	fprintf(stderr, " ]\n");
}

static void print_kept_bytes(u64 size, u64 sideband_size, u64 sum)
{
	char samples[32], maps[32], all[32];

	unit_number__scnprintf_exact(samples, sizeof(samples), size);
	unit_number__scnprintf_exact(maps, sizeof(maps), sideband_size);
	unit_number__scnprintf_exact(all, sizeof(all), sum);
	fprintf(stderr, "[ perf record: buffers of %s per CPU, and %s for tasks and maps; %s in all ]\n",
		samples, maps, all);
}

/* Print the sizes that the kernel reports. An error is no failure: the namespace exists. */
static void keep__print(const struct persistent_keep *keep, u64 tasks_bytes)
{
	char tasks[32];
	u64 size = 0, sideband_size = 0;
	struct persistent_info info;
	int err = persistent_info__init(&info, keep->name);
	char buf[STRERR_BUFSIZE];

	if (err) {
		pr_warning("WARNING: '%s' records, but cannot be listed: %s\n", keep->name,
			   str_error_r(-err, buf, sizeof(buf)));
		return;
	}

	for (int i = 0; i < info.nr_rings; i++) {
		const struct persistent_ring *ring = &info.rings[i];

		if (ring->sideband)
			sideband_size = ring->member->buffer_size;
		else
			size = ring->member->buffer_size;
	}

	keep__print_events(keep, "keeps");
	print_kept_bytes(size, sideband_size, info.buffer_bytes);
	if (tasks_bytes) {
		unit_number__scnprintf(tasks, sizeof(tasks), tasks_bytes);
		fprintf(stderr, "[ perf record: and %s for the list of tasks that already run ]\n",
			tasks);
	}
	fprintf(stderr,
		"[ perf record: read it with 'perf record -e persistent/%s/ -a', delete it with 'perf ctl -d %s' ]\n",
		keep->name, keep->name);
	persistent_info__exit(&info);
}

/* Not if all events are of cgroups: the user knows which tasks are in these. */
static bool keep__keeps_tasks(const struct persistent_keep *keep)
{
	struct evsel *evsel;

	evlist__for_each_entry(keep->evlist, evsel) {
		if (!evsel->cgrp)
			return true;
	}
	return false;
}

/* --dry-run opens no events, so perf cannot tell whether the kernel would accept them. */
static void keep__print_would_keep(const struct persistent_keep *keep, struct evlist *sideband)
{
	u64 size = buffer_bytes(keep->opts->mmap_pages);
	u64 sideband_size = buffer_bytes(keep__sideband_pages(keep));

	keep__print_events(keep, "would keep");
	print_kept_bytes(size, sideband_size,
			 size * perf_cpu_map__nr(evlist__core(keep->evlist)->all_cpus) +
			 sideband_size * perf_cpu_map__nr(evlist__core(sideband)->all_cpus));
	fprintf(stderr, "[ perf record: --dry-run: nothing was created ]\n");
}

static int keep__publish(const struct persistent_keep *keep, struct evlist *sideband,
			 u64 *tasks_bytes)
{
	u64 flags = keep->opts->target.cpu_list ? 0 : PERF_PERSIST_ALL_CPUS;
	sigset_t old;
	int err;
	u64 id;

	persistent__block_signals(&old);
	err = persistent__publish(keep->evlist, sideband, keep->name, flags, &id);
	if (!err && keep__keeps_tasks(keep))
		*tasks_bytes = persistent__keep_tasks(id, keep->name, keep->opts,
						      evlist__id_hdr_size(sideband));
	if (!err)
		persistent__note_command(id, keep->env);
	sigprocmask(SIG_SETMASK, &old, NULL);
	return err;
}

static int keep__open_and_publish(const struct persistent_keep *keep, struct evlist *sideband)
{
	u64 tasks_bytes = 0;
	int err;

	err = keep__open(keep, keep->evlist, keep->opts->mmap_pages) ?:
	      keep__open(keep, sideband, keep__sideband_pages(keep)) ?:
	      keep__publish(keep, sideband, &tasks_bytes);
	if (!err && !quiet)
		keep__print(keep, tasks_bytes);
	return err;
}

int persistent_keep__run(const struct persistent_keep *keep)
{
	struct evlist *sideband = keep__new_sideband(keep);
	struct evsel *evsel;
	int err = 0;

	if (!sideband)
		return -ENOMEM;

	/* Side-band events track tasks. The user's buffers hold only what was asked for. */
	evlist__for_each_entry(keep->evlist, evsel)
		evsel->tracking = false;

	keep->opts->overwrite = true;
	keep->opts->sample_identifier = true;
	evlist__uniquify_evsel_names(keep->evlist, &stat_config);

	if (keep->dry_run)
		keep__print_would_keep(keep, sideband);
	else
		err = keep__open_and_publish(keep, sideband);

	evlist__put(sideband);
	return err;
}
