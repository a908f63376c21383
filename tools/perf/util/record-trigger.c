// SPDX-License-Identifier: GPL-2.0
/*
 * perf record --trigger: write a dump when an event happens.
 *
 * The trigger events have their own buffers, of which perf only checks which process a
 * sample is of. With a BPF map, perf puts one event per CPU into the map, and a BPF
 * program writes to them.
 */
#include "record-trigger.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <api/fd/array.h>
#include <internal/mmap.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/time64.h>
#include <perf/evlist.h>
#include <perf/event.h>
#include <perf/mmap.h>
#include <subcmd/parse-options.h>
#include "cpumap.h"
#include "debug.h"
#include "event.h"
#include "evlist.h"
#include "evsel.h"
#include "mmap.h"
#include "parse-events.h"
#include "persistent.h"
#include "record.h"
#include "time-utils.h"

#ifdef HAVE_LIBBPF_SUPPORT
#include <bpf/bpf.h>
#endif

#define BPF_PREFIX	"bpf:"
/* perf looks at each event at once, but may cause many itself while it writes a dump. */
#define BUFFER_PAGES	8
#define COOL_DOWN_NS	NSEC_PER_SEC

int record_trigger__parse(const struct option *opt, const char *str, int unset)
{
	struct record_trigger *trigger = opt->value;
	struct parse_events_error perr;
	int err;

	if (unset) {
		record_trigger__exit(trigger);
		return 0;
	}
	if (trigger->evlist && (trigger->map_path || strstarts(str, BPF_PREFIX))) {
		pr_err("--trigger takes one BPF map, or other events.\n");
		return -1;
	}
	if (!trigger->evlist)
		trigger->evlist = evlist__new();
	if (!trigger->evlist)
		return -1;

	if (strstarts(str, BPF_PREFIX)) {
		trigger->map_path = str + strlen(BPF_PREFIX);
		str = "bpf-output";
	}
	parse_events_error__init(&perr);
	err = parse_events(trigger->evlist, str, &perr);
	if (err)
		parse_events_error__print(&perr, str);
	parse_events_error__exit(&perr);
	return err ? -1 : 0;
}

/* The default period is 1. Events for BPF are system-wide: a program may run in any task. */
static int set_up(struct record_trigger *trigger, struct evlist *evlist,
		  const struct record_opts *opts)
{
	struct record_opts own = {
		.target		  = opts->target,
		.no_inherit	  = opts->no_inherit,
		.default_interval = 1,
	};
	struct target all = { .system_wide = true, .uses_mmap = true };
	struct evsel *evsel;

	if (trigger->map_path) {
		own.target = all;
		/* A perf event array takes no inherited events. */
		own.no_inherit = true;
		if (evlist__create_maps(trigger->evlist, &all))
			return -ENOMEM;
	} else {
		perf_evlist__set_maps(evlist__core(trigger->evlist),
				      evlist__core(evlist)->user_requested_cpus,
				      evlist__core(evlist)->threads);
	}

	evlist__for_each_entry(trigger->evlist, evsel) {
		/* These buffers need no side-band records. */
		evsel->tracking = false;
		evsel__config(evsel, &own, NULL);
		evsel->core.attr.watermark = 0;
		evsel->core.attr.wakeup_events = 1;
	}
	return 0;
}

static int open_all(struct record_trigger *trigger)
{
	struct target *target = &(struct target){ .uses_mmap = true };
	struct evsel *evsel;
	char msg[BUFSIZ];
	int err;

	evlist__for_each_entry(trigger->evlist, evsel) {
		if (evsel__open(evsel, evsel->core.cpus, evsel->core.threads) < 0) {
			err = -errno;
			evsel__open_strerror(evsel, target, errno, msg, sizeof(msg));
			pr_err("Cannot open the event of --trigger. %s\n", msg);
			return err;
		}
	}
	if (evlist__apply_filters(trigger->evlist, &evsel, target)) {
		err = -errno;
		pr_err("Cannot set the filter of --trigger: %m\n");
		return err;
	}
	if (evlist__do_mmap(trigger->evlist, BUFFER_PAGES)) {
		err = -errno;
		pr_err("Cannot map the event of --trigger: %m\n");
		return err;
	}
	return 0;
}

#ifdef HAVE_LIBBPF_SUPPORT
static int put_in_map(struct record_trigger *trigger)
{
	struct evsel *evsel = evlist__first(trigger->evlist);
	struct bpf_map_info info = {};
	u32 len = sizeof(info);
	struct perf_cpu cpu;
	unsigned int idx;
	int map, err;

	trigger->map_fd = bpf_obj_get(trigger->map_path);
	map = trigger->map_fd;
	if (map < 0) {
		err = -errno;
		pr_err("Cannot open the BPF map %s of --trigger: %m\n", trigger->map_path);
		return err;
	}
	if (bpf_obj_get_info_by_fd(map, &info, &len) ||
	    info.type != BPF_MAP_TYPE_PERF_EVENT_ARRAY) {
		pr_err("Cannot use %s for --trigger: it is not a map of type PERF_EVENT_ARRAY.\n",
		       trigger->map_path);
		return -EINVAL;
	}
	perf_cpu_map__for_each_cpu(cpu, idx, evsel->core.cpus) {
		int fd = evsel__cpu_fd(evsel, idx);
		u32 key = cpu.cpu;

		if (bpf_map_update_elem(map, &key, &fd, BPF_ANY)) {
			err = -errno;
			pr_err("Cannot put an event for CPU %d into %s: %m\n", cpu.cpu,
			       trigger->map_path);
			return err;
		}
	}
	return 0;
}
#else
static int put_in_map(struct record_trigger *trigger)
{
	pr_err("Cannot use %s for --trigger: perf was built without libbpf.\n", trigger->map_path);
	return -ENOTSUP;
}
#endif

int record_trigger__open(struct record_trigger *trigger, struct evlist *evlist,
			 const struct record_opts *opts)
{
	int err;

	if (!trigger->evlist)
		return 0;
	err = set_up(trigger, evlist, opts) ?: open_all(trigger);
	if (!err && trigger->map_path)
		err = put_in_map(trigger);
	if (!err)
		evlist__enable(trigger->evlist);
	if (err == -ENOMEM)
		pr_err("Not enough memory for --trigger.\n");
	return err;
}

int record_trigger__add_to_poll(struct record_trigger *trigger, struct fdarray *fda)
{
	const struct fdarray *own = trigger->evlist ? &evlist__core(trigger->evlist)->pollfd : NULL;

	for (int i = 0; own && i < own->nr; i++) {
		if (fdarray__add(fda, own->entries[i].fd, POLLIN, fdarray_flag__nonfilterable) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* The place of the pid in a sample depends only on the few fields before it. */
static bool is_own(struct evlist *evlist, const union perf_event *event)
{
	/* All trigger events have the same fields before it. */
	u64 type = evlist__first(evlist)->core.attr.sample_type;
	const __u64 *word = event->sample.array;

	word += !!(type & PERF_SAMPLE_IDENTIFIER) + !!(type & PERF_SAMPLE_IP);
	return type & PERF_SAMPLE_TID &&
	       (const void *)(word + 1) <= (const void *)event + event->header.size &&
	       *(const __u32 *)word == (__u32)getpid();
}

void record_trigger__look(struct record_trigger *trigger)
{
	union perf_event *event;
	struct perf_mmap *map;

	if (!trigger->evlist)
		return;
	perf_evlist__for_each_mmap(evlist__core(trigger->evlist), map, /*overwrite=*/false) {
		if (!map->base || perf_mmap__read_init(map) < 0)
			continue;
		while ((event = perf_mmap__read_event(map))) {
			if (event->header.type == PERF_RECORD_SAMPLE &&
			    !is_own(trigger->evlist, event))
				trigger->fired = true;
			perf_mmap__consume(map);
		}
		perf_mmap__read_done(map);
	}
}

bool record_trigger__has_fired(struct record_trigger *trigger)
{
	u64 now;

	record_trigger__look(trigger);
	if (!trigger->fired)
		return false;
	now = rdclock();
	if (trigger->last && now - trigger->last < COOL_DOWN_NS)
		return false;
	trigger->last = now;
	trigger->fired = false;
	return true;
}

int record_trigger__wait_ms(const struct record_trigger *trigger)
{
	u64 passed;

	if (!trigger->fired)
		return -1;
	passed = rdclock() - trigger->last;
	return passed < COOL_DOWN_NS ? (COOL_DOWN_NS - passed) / NSEC_PER_MSEC + 1 : 0;
}

void record_trigger__exit(struct record_trigger *trigger)
{
	if (trigger->map_path && trigger->map_fd > 0)
		close(trigger->map_fd);
	evlist__put(trigger->evlist);
	*trigger = (struct record_trigger) {};
}
