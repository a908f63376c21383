// SPDX-License-Identifier: GPL-2.0
/*
 * Namespaces of persistent events as part of an evlist.
 *
 * On a command line persistent/NS/ stands for all events of a namespace. This
 * file replaces it by an evsel for each event, with the attr and the name that
 * its creator gave it, open on each CPU that has the event. Such an evsel is
 * "attached": perf does not configure, map, enable or disable it like its own
 * events. A persistent_reader maps the buffers.
 */
#include "persistent.h"
#include "persistent-options.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <internal/cpumap.h>
#include <internal/evlist.h>
#include <internal/xyarray.h>
#include <linux/bitmap.h>
#include <linux/string.h>
#include <linux/zalloc.h>
#include <perf/cpumap.h>
#include "debug.h"
#include "evlist.h"
#include "evsel.h"
#include "persistent-pids.h"
#include "persistent-read.h"
#include "persistent-sort.h"
#include "persistent-tasks.h"
#include "persistent-wide.h"
#include "time-utils.h"
#include "trace-event.h"
#include "util.h"

bool evsel__is_persistent(const struct evsel *evsel)
{
	return evsel->core.attr.type == PERF_TYPE_PERSISTENT && persistent__supported();
}

bool evlist__has_persistent(struct evlist *evlist)
{
	struct evsel *evsel;

	evlist__for_each_entry(evlist, evsel) {
		if (evsel__is_persistent(evsel))
			return true;
	}
	return false;
}

/* The events of a namespace, which perf calls evsels */
struct event_list {
	struct persistent_sorted  sorted;
	int			  *of_member;	/* number of each member's event, or: */
};

#define LEFT_OUT	-1	/* not to be read */
#define KNOWN		-2	/* in the evlist already, from a snapshot or its source */

static void event_list__exit(struct event_list *list)
{
	persistent_sorted__exit(&list->sorted);
	free(list->of_member);
}

static bool member__left_out(const struct persistent_member *member,
			     const struct persistent *persistent)
{
	struct perf_cpu cpu = { .cpu = member->cpu };

	if (cpu.cpu < 0)
		return true;

	/* Tasks move, so all side-band records are needed. But these events count nothing. */
	if (persistent_member__is_sideband(member))
		return persistent->use == PERSISTENT_COUNT;

	return persistent->only && !perf_cpu_map__has(persistent->only, cpu);
}

/* Why will the records of @member not be read? NULL: they will be. */
static const char *member__why_unread(const struct persistent_member *member,
				      const struct persistent *persistent)
{
	if (member__left_out(member, persistent))
		return "-C leaves out their CPU";
	if (member->flags & PERF_PERSIST_ATTR_WITHHELD)
		return "you may not open them";
	if (!member->output_id)
		return "they only count and have no buffer";
	return NULL;
}

/* Sort the members into events. Leave out members that the caller may not open. */
static int event_list__init(struct event_list *list, struct evlist *evlist,
			    struct persistent_ns *ns, const struct persistent *persistent,
			    int *nr_withheld)
{
	list->of_member = calloc(ns->nr_members, sizeof(int));
	if (!list->of_member)
		return -ENOMEM;

	for (int i = 0; i < ns->nr_members; i++)
		list->sorted.nr_cpus = max(list->sorted.nr_cpus, ns->members[i].cpu + 1);

	for (int i = 0; i < ns->nr_members; i++) {
		struct persistent_member *member = &ns->members[i];
		const char *why = member__why_unread(member, persistent);
		int nr;

		if (why) {
			ns->nr_unread++;
			ns->why_unread = why;
		}

		list->of_member[i] = LEFT_OUT;
		if (member__left_out(member, persistent))
			continue;
		if (member->flags & PERF_PERSIST_ATTR_WITHHELD) {
			(*nr_withheld)++;
			continue;
		}

		if (evlist__id2sid(evlist, member->id)) {
			list->of_member[i] = KNOWN;
			continue;
		}

		nr = persistent_sorted__add(&list->sorted, member);
		if (nr < 0)
			return nr;
		list->of_member[i] = nr;
	}

	return 0;
}

static struct perf_cpu_map *cpu_map__of_bitmap(const unsigned long *cpus, int nr_cpus)
{
	struct perf_cpu_map *map = perf_cpu_map__alloc(bitmap_weight(cpus, nr_cpus));
	int cpu, idx = 0;

	if (!map)
		return NULL;
	for_each_set_bit(cpu, cpus, nr_cpus)
		RC_CHK_ACCESS(map)->map[idx++].cpu = cpu;
	return map;
}

/*
 * The kernel keeps the start of a long name only. perf needs all of the name of a tracepoint
 * to find its format.
 */
static char *event__name(const struct persistent_sorted_event *event,
			 const struct perf_event_attr *attr __maybe_unused)
{
	const char *label = event->first->label;

#ifdef HAVE_LIBTRACEEVENT
	/* A label of a trigger has room for one byte less. */
	if (attr->type == PERF_TYPE_TRACEPOINT &&
	    (!*label || strlen(label) >= PERF_PERSIST_NAME_SIZE - 2)) {
		char *name = tracepoint_id_to_name(attr->config);

		if (name && strstarts(name, label))
			return name;
		free(name);
	}
#endif
	return *label ? strdup(label) : NULL;
}

static struct evsel *event_list__new_evsel(const struct event_list *list, int nr,
					   struct evlist *evlist)
{
	const struct persistent_sorted_event *event = &list->sorted.events[nr];
	struct perf_cpu_map *cpus = cpu_map__of_bitmap(event->cpus, list->sorted.nr_cpus);
	struct perf_event_attr attr = event->first->attr;
	u64 left_out = persistent__left_out(&attr, event->first->cpu);
	struct evsel *evsel;

	/* The reader puts these fields back into the records. */
	attr.sample_type |= left_out;
	evsel = evsel__new_idx(&attr, evlist__nr_entries(evlist));
	if (!evsel || !cpus || perf_evsel__attach(&evsel->core, cpus))
		goto out_err;

	/* perf writes this struct to the file, whatever size the creator's attr had. */
	evsel->core.attr.size = sizeof(attr);
	evsel->left_out = left_out;
	evsel->tracking = false;
	evsel->supported = true;

	evsel->name = event__name(event, &attr);
	perf_cpu_map__put(cpus);
	return evsel;
out_err:
	perf_cpu_map__put(cpus);
	evsel__put(evsel);
	return NULL;
}

static int err_attach(int err, struct persistent_ns *ns, const char *what)
{
	char buf[STRERR_BUFSIZE];

	/* It existed until now, so the message of persistent__err_open() would be wrong. */
	if (err == -ENOENT || err == -ENODEV)
		pr_err("The namespace '%s' changed while it was opened. Try again.\n", ns->name);
	else if (err)
		pr_err("Cannot %s of the namespace '%s': %s\n", what, ns->name,
		       str_error_r(-err, buf, sizeof(buf)));
	return err;
}

static int attach_member(struct evlist *evlist, struct evsel *evsel,
			 struct persistent_ns *ns, struct persistent_member *member)
{
	struct perf_cpu cpu = { .cpu = member->cpu };
	int fd = persistent_member__open(ns, member);

	if (fd < 0)
		return err_attach(fd, ns, "open an event");

	perf_evlist__attach_fd(evlist__core(evlist), &evsel->core,
			       perf_cpu_map__idx(evsel->core.cpus, cpu), fd, member->id);
	return fd;
}

static bool has_buffer_to_read(const struct persistent *persistent,
			       const struct persistent_member *member)
{
	return persistent->reader && member->buffer_size && member->output_id == member->id;
}

static int attach_buffer(struct persistent *persistent, struct persistent_ns *ns,
			 struct persistent_member *member, int fd)
{
	int err = 0;

	if (has_buffer_to_read(persistent, member))
		err = persistent_reader__add(persistent->reader, ns, member, fd);
	return err_attach(err, ns, "map a buffer");
}

/* The evlist has the event already, but each snapshot has another buffer of it. */
static int attach_buffer_only(struct persistent *persistent, struct persistent_ns *ns,
			      struct persistent_member *member)
{
	int fd, *fds;

	if (!has_buffer_to_read(persistent, member))
		return 0;

	fds = realloc(persistent->fds, (persistent->nr_fds + 1) * sizeof(*fds));
	if (!fds)
		return -ENOMEM;
	persistent->fds = fds;

	fd = persistent_member__open(ns, member);
	if (fd < 0)
		return err_attach(fd, ns, "open an event");
	fds[persistent->nr_fds++] = fd;

	return attach_buffer(persistent, ns, member, fd);
}

/*
 * Open all members. The buffers of side-band events come last: they must be read
 * after the samples that need their records.
 */
static int attach_members(struct evlist *evlist, struct persistent *persistent,
			  struct persistent_ns *ns, struct event_list *list,
			  struct evsel **evsels)
{
	for (int sideband = 0; sideband <= 1; sideband++) {
		for (int i = 0; i < ns->nr_members; i++) {
			struct persistent_member *member = &ns->members[i];
			int nr = list->of_member[i], fd, err;

			if (nr == LEFT_OUT || persistent_member__is_sideband(member) != sideband)
				continue;

			if (nr == KNOWN) {
				err = attach_buffer_only(persistent, ns, member);
			} else {
				fd = attach_member(evlist, evsels[nr], ns, member);
				err = fd < 0 ? fd : attach_buffer(persistent, ns, member, fd);
			}
			if (err)
				return err;
		}
	}

	return 0;
}

static int attach_ns(struct evlist *evlist, struct persistent *persistent,
		     struct persistent_ns *ns)
{
	struct event_list list = { .of_member = NULL };
	struct evsel **evsels = NULL;
	int err, nr_withheld = 0;

	err = persistent_ns__list(ns);
	if (err)
		return err_attach(err, ns, "list the events");

	if (persistent->use != PERSISTENT_COUNT)
		err = persistent_ns__fetch_tasks(ns);
	if (err)
		return err_attach(err, ns, "read the older tasks");

	err = event_list__init(&list, evlist, ns, persistent, &nr_withheld);
	if (err)
		goto out;

	err = -ENOMEM;
	evsels = calloc(list.sorted.nr, sizeof(*evsels));
	if (list.sorted.nr && !evsels)
		goto out;

	for (int i = 0; i < list.sorted.nr; i++) {
		evsels[i] = event_list__new_evsel(&list, i, evlist);
		if (!evsels[i])
			goto out;
		evlist__add(evlist, evsels[i]);
	}

	err = attach_members(evlist, persistent, ns, &list, evsels);
	if (nr_withheld) {
		pr_warning("WARNING: %d of the %d events of '%s' may not be read without CAP_PERFMON\n",
			   nr_withheld, ns->nr_members, ns->name);
	}
out:
	free(evsels);
	event_list__exit(&list);
	return err;
}

/* Print NS, not persistent/NS/. */
static int err_open_evsel(int err, struct evsel *evsel)
{
	const char *event = evsel__name(evsel);
	char name[PERF_PERSIST_NAME_SIZE];

	if (sscanf(event, PERSISTENT_PMU "/%63[a-z0-9_.-]/", name) == 1 && !strchr(event, '='))
		event = name;

	return persistent__err_open(err, event);
}

static int attach_evsel(struct evlist *evlist, struct persistent *persistent,
			struct evsel *evsel)
{
	bool write = persistent->use == PERSISTENT_READ_AND_KILL;
	struct persistent_ns **more, *ns;
	int err;

	err = evsel__check_unchanged(evsel);
	if (err)
		return err;

	err = persistent_ns__lookup_id(evsel->core.attr.config, write, &ns);
	if (err)
		return err_open_evsel(err, evsel);

	if (ns->snapshot && persistent->use == PERSISTENT_COUNT) {
		pr_err("'%s' is a snapshot: it has records, but no counts. Read it with 'perf ctl -r %s'.\n",
		       ns->name, ns->name);
		persistent_ns__close(ns);
		return -EINVAL;
	}

	/* Read it once, even if the user gave it several times, by name or by id. */
	for (int i = 0; i < persistent->nr_ns; i++) {
		if (persistent->ns[i]->id == ns->id) {
			persistent_ns__close(ns);
			return 0;
		}
	}

	more = realloc(persistent->ns, (persistent->nr_ns + 1) * sizeof(*more));
	if (!more) {
		persistent_ns__close(ns);
		return -ENOMEM;
	}
	persistent->ns = more;
	more[persistent->nr_ns++] = ns;

	return attach_ns(evlist, persistent, ns);
}

/* With -C there may be nothing but side-band events. */
static bool nothing_to_read(struct evlist *evlist, const struct persistent *persistent)
{
	struct evsel *evsel;

	evlist__for_each_entry(evlist, evsel) {
		if (!persistent->only || !evsel__is_dummy_event(evsel))
			return false;
	}
	return true;
}

/* The evsel that should track tasks is gone, and attached ones cannot: choose another. */
static void pass_on_tracking(struct evlist *evlist)
{
	struct evsel *evsel;

	evlist__for_each_entry(evlist, evsel) {
		if (!evsel->core.attached) {
			evlist__set_tracking_event(evlist, evsel);
			return;
		}
	}
}

/* Replace each persistent/NS/ by an evsel for each event of that namespace. */
static int attach_all(struct evlist *evlist, struct persistent *persistent)
{
	struct evsel *evsel, *tmp;
	bool tracking = false;
	int idx = 0, err;

	evlist__for_each_entry_safe(evlist, tmp, evsel) {
		if (evsel->core.attached || !evsel__is_persistent(evsel))
			continue;

		err = attach_evsel(evlist, persistent, evsel);
		if (err)
			return err;

		tracking |= evsel->tracking;
		evlist__remove(evlist, evsel);
		evsel__put(evsel);
	}

	if (tracking)
		pass_on_tracking(evlist);

	evlist__for_each_entry(evlist, evsel)
		evsel->core.idx = idx++;

	if (nothing_to_read(evlist, persistent)) {
		pr_err("Nothing to read: you may open no event on these CPUs.\n");
		return -ENOENT;
	}

	if (!persistent->reader)
		return 0;
	return evlist__check_sample_types(evlist) ?: persistent__check_pids(persistent, evlist);
}

/*
 * Replace each persistent/NS/ of @evlist by the events of that namespace, open
 * and ready to be counted, or to be read with persistent::reader. @cpu_list
 * selects CPUs; NULL: all.
 */
struct persistent *evlist__attach_persistent(struct evlist *evlist, const char *cpu_list,
					     enum persistent_use use)
{
	struct persistent *persistent = zalloc(sizeof(*persistent));

	if (!persistent)
		return NULL;

	persistent->use = use;
	if (use != PERSISTENT_COUNT) {
		persistent->reader = persistent_reader__new(evlist);
		if (!persistent->reader)
			goto out_delete;
	}

	if (cpu_list) {
		persistent->only = persistent_options__parse_cpus(cpu_list);
		if (!persistent->only)
			goto out_delete;
	}

	if (!attach_all(evlist, persistent))
		return persistent;

out_delete:
	persistent__delete(persistent);
	return NULL;
}

void persistent__delete(struct persistent *persistent)
{
	if (!persistent)
		return;

	persistent_reader__delete(persistent->reader);
	perf_cpu_map__put(persistent->only);
	for (int i = 0; i < persistent->nr_ns; i++)
		persistent_ns__close(persistent->ns[i]);
	free(persistent->ns);
	for (int i = 0; i < persistent->nr_fds; i++)
		close(persistent->fds[i]);
	free(persistent->fds);
	free(persistent);
}

/* Age of the oldest namespace */
u64 persistent__age_ns(const struct persistent *persistent)
{
	u64 age = 0;

	for (int i = 0; i < persistent->nr_ns; i++)
		age = max(age, persistent_ns__age_ns(persistent->ns[i]));
	return age;
}

/* See persistent_ns__ended_ns_ago(), for the one that ended last */
u64 persistent__ended_ns_ago(const struct persistent *persistent)
{
	u64 ago = persistent->nr_ns ? ULLONG_MAX : 0;

	for (int i = 0; i < persistent->nr_ns; i++)
		ago = min(ago, persistent_ns__ended_ns_ago(persistent->ns[i]));
	return ago;
}

/*
 * The age of a snapshot is by a clock that runs during suspend, while the clock of the records
 * may stand still. If the machine was suspended since then, the end is too early, but never
 * before the newest sample.
 *
 * A snapshot may also be of buffers that were stopped long before it. So if it has no sample
 * of that time, count back from its newest one.
 */
u64 persistent__start_of_last(u64 last, u64 ended_ns_ago, u64 now, u64 newest)
{
	u64 end = now, start;

	if (ended_ns_ago)
		end = min(now, max(now > ended_ns_ago ? now - ended_ns_ago : 0, newest));
	start = end > last ? end - last : 0;
	if (ended_ns_ago && newest && newest < start)
		start = newest > last ? newest - last : 0;
	return start;
}
