// SPDX-License-Identifier: GPL-2.0
/*
 * perf ctl add: add events to a namespace that records already.
 *
 * perf opens the events disabled on each CPU that the namespace records on. They write to the
 * namespace's buffer there, or to buffers of their own. All of them join before perf enables
 * the first. If one cannot join, the others leave again, and none has written a record.
 */
#include "persistent-add.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <internal/lib.h>
#include <internal/xyarray.h>
#include <linux/bitmap.h>
#include <linux/ctype.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/string.h>
#include <perf/cpumap.h>
#include "debug.h"
#include "evlist.h"
#include "evsel.h"
#include "evsel_config.h"
#include "persistent.h"
#include "persistent-control.h"
#include "persistent-keep.h"
#include "record.h"
#include "stat.h"
#include "target.h"
#include "units.h"
#include "util.h"

/* An event on one CPU that is to join the namespace */
struct joiner {
	struct evsel	*evsel;
	int		fd;
	int		cpu;
	bool		joined;
	void		*map;		/* of its own buffer, until it has joined */
};

struct add {
	struct persistent_ns *ns;
	const struct persistent_add_opts *opts;
	const struct persistent_member *model;
	struct joiner	*joiners;
	int		nr_joiners;
};

static bool member__is_ordinary(const struct persistent_member *member)
{
	return member->cpu >= 0 && !persistent_member__is_sideband(member) &&
	       !(member->flags & PERF_PERSIST_FOR_TRIGGER);
}

static void add__label(const struct add *add, struct evsel *evsel, char *label, size_t size)
{
	scnprintf(label, size, "%s", add->opts->label ?: evsel__name(evsel));
	for (char *pos = label; *pos; pos++) {
		if (iscntrl(*pos))
			*pos = ' ';
	}
	persistent__make_printable(label);
}

/*
 * Checks
 */

static int check_event(const struct add *add, struct evsel *evsel)
{
	const char *name = evsel__name(evsel);
	struct evsel_config_term *term;

	if (evsel__is_persistent(evsel)) {
		pr_err("'%s' is a namespace: -e takes an event of another kind.\n", name);
		return -EINVAL;
	}
	if (!evsel__is_group_leader(evsel) || evsel->core.nr_members > 1) {
		pr_err("'%s' is in a group, and the kernel keeps no groups: leave out the braces.\n",
		       name);
		return -EINVAL;
	}
	/* A filter applies to all events of its -e. */
	if (!list_empty(&evsel->bpf_filters)) {
		pr_err("The filter of '%s' is a BPF program, which ends with perf: it needs an -e of its own\n"
		       "without a filter.\n", name);
		return -EINVAL;
	}
	term = evsel__get_config_term(evsel, OVERWRITE);
	if (term && !term->val.overwrite) {
		pr_err("'%s' has the term 'no-overwrite', but the kernel only keeps buffers that overwrite\n"
		       "the oldest records: leave out the term.\n", name);
		return -EINVAL;
	}
	if (add->opts->label && evlist__nr_entries(add->opts->evlist) > 1) {
		pr_err("--label names one event, but -e has %d: add them one at a time.\n",
		       evlist__nr_entries(add->opts->evlist));
		return -EINVAL;
	}
	return 0;
}

static int add__check(const struct add *add)
{
	struct persistent_ns *ns = add->ns;
	struct evsel *evsel;
	int err = persistent_ns__check_live(ns);

	if (err)
		return err;
	if (ns->stopped) {
		pr_err("'%s' is stopped and its records are frozen: resume it with 'perf ctl resume %s' first.\n",
		       ns->name, ns->name);
		persistent_ns__tell_to_keep(ns);
		return -EBUSY;
	}
	evlist__for_each_entry(add->opts->evlist, evsel) {
		err = check_event(add, evsel);
		if (err)
			return err;
	}
	return 0;
}

/* Is there an event with this label on @cpu, in the namespace or before @until in evlist? */
static bool add__has_label(const struct add *add, const char *label, int cpu,
			   const struct evsel *until)
{
	char other[PERF_PERSIST_NAME_SIZE];
	struct evsel *evsel;

	for (int i = 0; i < add->ns->nr_members; i++) {
		const struct persistent_member *member = &add->ns->members[i];

		if (member->cpu == cpu && !strcmp(member->label, label))
			return true;
	}
	evlist__for_each_entry(add->opts->evlist, evsel) {
		if (evsel == until)
			break;
		add__label(add, evsel, other, sizeof(other));
		if (!strcmp(other, label))
			return true;
	}
	return false;
}

/* In a perf.data file two events with the same label could not be told apart. */
static int err_label(const struct add *add, const char *label)
{
	pr_err("'%s' has an event called '%s' already, see 'perf ctl list -v %s':\n"
	       "give this one another name with --label.\n", add->ns->name, label, add->ns->name);
	return -EEXIST;
}

/*
 * Opening
 */

/* The online CPUs that it records on, as a string from persistent__list_cpus() */
static char *add__cpus(const struct add *add)
{
	DECLARE_BITMAP(cpus, MAX_NR_CPUS) = {};

	for (int i = 0; i < add->ns->nr_members; i++) {
		const struct persistent_member *member = &add->ns->members[i];

		if (member__is_ordinary(member) && member->cpu < MAX_NR_CPUS &&
		    !(member->flags & PERF_PERSIST_OFFLINE))
			__set_bit(member->cpu, cpus);
	}
	if (bitmap_empty(cpus, MAX_NR_CPUS)) {
		pr_err("All CPUs that '%s' records on are offline: add the event when one is online again.\n",
		       add->ns->name);
		return NULL;
	}
	return persistent__list_cpus(cpus);
}

static int open_event(struct evsel *evsel, struct target *target)
{
	char msg[BUFSIZ];
	int err;

	while (evsel__open(evsel, evsel->core.cpus, evsel->core.threads) < 0) {
		err = errno;
		if (evsel__fallback(evsel, target, err, msg, sizeof(msg))) {
			if (verbose > 0)
				pr_warning("%s\n", msg);
			continue;
		}
		evsel__open_strerror(evsel, target, err, msg, sizeof(msg));
		pr_err("%s\n", msg);
		return -err;
	}
	return 0;
}

/* Use the clock of the namespace, as records of both are sorted by time. */
static void add__config(const struct add *add)
{
	struct evlist *evlist = add->opts->evlist;
	struct record_opts *record = add->opts->record;
	struct evsel *evsel;

	evlist__for_each_entry(evlist, evsel)
		evsel->tracking = false;
	record->overwrite = true;
	record->sample_identifier = true;
	if (add->model) {
		record->use_clockid = add->model->attr.use_clockid;
		record->clockid = add->model->attr.clockid;
	}
	evlist__uniquify_evsel_names(evlist, &stat_config);
	persistent_keep__config(evlist, record);
}

static int add__open_on(struct add *add, const char *cpus)
{
	struct evlist *evlist = add->opts->evlist;
	struct target *target = &add->opts->record->target;
	struct evsel *evsel;
	char msg[BUFSIZ];
	int err;

	target->cpu_list = cpus;
	err = evlist__create_maps(evlist, target);
	if (!err)
		add__config(add);
	evlist__for_each_entry(evlist, evsel)
		err = err ?: open_event(evsel, target);
	target->cpu_list = NULL;
	if (err)
		return err;

	if (evlist__apply_filters(evlist, &evsel, target)) {
		evsel__filter_strerror(evsel, errno, msg, sizeof(msg));
		pr_err("%s\n", msg);
		return -EINVAL;
	}
	return 0;
}

/* Names are final now: evsel__fallback() may have replaced an event that the CPU lacks. */
static int add__collect(struct add *add)
{
	struct evlist *evlist = add->opts->evlist;
	char label[PERF_PERSIST_NAME_SIZE];
	struct evsel *evsel;
	int nr = 0;

	evlist__for_each_entry(evlist, evsel)
		nr += perf_cpu_map__nr(evsel->core.cpus);
	add->joiners = calloc(nr, sizeof(*add->joiners));
	if (!add->joiners)
		return -ENOMEM;

	evlist__for_each_entry(evlist, evsel) {
		int before = add->nr_joiners;
		struct perf_cpu cpu;
		unsigned int idx;

		add__label(add, evsel, label, sizeof(label));
		perf_cpu_map__for_each_cpu(cpu, idx, evsel->core.cpus) {
			/* Skip CPUs that have it: it was added when this one was offline. */
			if (add__has_label(add, label, cpu.cpu, evsel))
				continue;
			add->joiners[add->nr_joiners++] = (struct joiner) {
				.evsel = evsel, .cpu = cpu.cpu,
				.fd = evsel__cpu_fd(evsel, idx),
			};
		}
		if (add->nr_joiners == before)
			return err_label(add, label);
	}
	return 0;
}

/*
 * Buffers
 */

static int err_map(int err, size_t bytes)
{
	char size[32], buf[STRERR_BUFSIZE];

	unit_number__scnprintf_exact(size, sizeof(size), bytes);
	if (err == -EPERM)
		pr_err("A buffer of %s on each CPU is more than you may lock. Choose a smaller size with -m, or raise\n"
		       "'ulimit -l' or kernel.perf_event_mlock_kb.\n", size);
	else if (err == -ENOMEM)
		pr_err("There is no memory for a buffer of %s on each CPU: choose a smaller size with -m.\n",
		       size);
	else
		pr_err("Cannot map a buffer of %s: %s\n", size,
		       str_error_r(-err, buf, sizeof(buf)));
	return err;
}

static int err_redirect(const struct add *add, const struct joiner *joiner, int err)
{
	char buf[STRERR_BUFSIZE];

	pr_err("'%s' cannot write to the buffer of '%s' on CPU %d: %s.\n"
	       "Give it buffers of its own with -m.\n", evsel__name(joiner->evsel), add->ns->name,
	       joiner->cpu, str_error_r(-err, buf, sizeof(buf)));
	return err;
}

static int add__redirect_to_ns(const struct add *add, struct joiner *joiner)
{
	const struct persistent_member *ring = persistent_ns__find_ring(add->ns, joiner->cpu);
	int fd, err;

	if (!ring) {
		pr_err("'%s' has no buffer on CPU %d: give the event buffers of its own with -m.\n",
		       add->ns->name, joiner->cpu);
		return -EINVAL;
	}

	fd = persistent_member__open_to_change(add->ns, ring);
	if (fd < 0)
		return err_redirect(add, joiner, fd);
	err = ioctl(joiner->fd, PERF_EVENT_IOC_SET_OUTPUT, fd) ? -errno : 0;
	close(fd);
	return err ? err_redirect(add, joiner, err) : 0;
}

/* The first event on a CPU owns the buffer. The others write to it. */
static int add__map(const struct add *add, struct joiner *joiner)
{
	const size_t size = evlist__mmap_size(add->opts->pages);

	for (int i = 0; i < add->nr_joiners; i++) {
		struct joiner *first = &add->joiners[i];

		if (first == joiner)
			break;
		if (first->cpu == joiner->cpu)
			return ioctl(joiner->fd, PERF_EVENT_IOC_SET_OUTPUT, first->fd) ?
			       err_redirect(add, joiner, -errno) : 0;
	}

	joiner->map = mmap(NULL, size, PROT_READ, MAP_SHARED, joiner->fd, 0);
	if (joiner->map != MAP_FAILED)
		return 0;
	joiner->map = NULL;
	return err_map(-errno, size - page_size);
}

static int add__give_buffers(struct add *add)
{
	int err = 0;

	for (int i = 0; i < add->nr_joiners && !err; i++) {
		struct joiner *joiner = &add->joiners[i];

		err = add->opts->pages == UINT_MAX ? add__redirect_to_ns(add, joiner) :
						     add__map(add, joiner);
	}
	return err;
}

/*
 * Joining
 */

static int err_join(const struct add *add, const struct joiner *joiner, int err)
{
	const char *name = add->ns->name, *event = evsel__name(joiner->evsel);

	switch (err) {
	case -EPERM:
		if (add->ns->owner_uid != geteuid())
			pr_err("'%s' belongs to user id %u, and events count against that user's memory limit:\n"
			       "add it as that user, or with CAP_IPC_LOCK.\n",
			       name, add->ns->owner_uid);
		else
			pr_err("Cannot add '%s': the buffers of '%s' would exceed what its owner may lock. Make them smaller\n"
			       "with -m, or raise 'ulimit -l' or kernel.perf_event_mlock_kb.\n",
			       event, name);
		break;
	case -EACCES:
		pr_err("Adding events to '%s' needs CAP_PERFMON: %s.\n", name,
		       persistent__help_perfmon());
		break;
	case -ENODEV:
		pr_err("Cannot add '%s': '%s' was deleted.\n", event, name);
		break;
	default:
		return persistent__err_publish(err, name, event);
	}
	return err;
}

static int add__join(const struct add *add, struct joiner *joiner)
{
	char label[PERF_PERSIST_NAME_SIZE + 1] = "/";

	add__label(add, joiner->evsel, label + 1, sizeof(label) - 1);
	if (ioctl(joiner->fd, PERF_EVENT_IOC_SET_NAME, label) ||
	    ioctl(add->ns->fd, PERF_EVENT_IOC_JOIN, &joiner->fd))
		return err_join(add, joiner, -errno);
	joiner->joined = true;
	return 0;
}

/* In reverse order: an event that writes to another's buffer leaves before the owner. */
static void add__leave(struct add *add)
{
	for (int i = add->nr_joiners - 1; i >= 0; i--) {
		struct joiner *joiner = &add->joiners[i];

		/* ENODEV: the namespace was deleted, and the event with it. */
		if (joiner->joined && ioctl(joiner->fd, PERF_EVENT_IOC_SET_PERSIST, NULL) &&
		    errno != ENODEV)
			pr_warning("WARNING: '%s' was added to '%s' on CPU %d and cannot be removed: %m\n",
				   evsel__name(joiner->evsel), add->ns->name, joiner->cpu);
		joiner->joined = false;
	}
}

/* Does the namespace record? If it is disabled, added events stay disabled. */
static bool add__records(const struct add *add)
{
	for (int i = 0; i < add->ns->nr_members; i++) {
		const struct persistent_member *member = &add->ns->members[i];

		if (member__is_ordinary(member) && !(member->flags & PERF_PERSIST_DISABLED))
			return true;
	}
	return false;
}

static int add__join_all(struct add *add)
{
	sigset_t old;
	int err = 0;

	persistent__block_signals(&old);
	for (int i = 0; i < add->nr_joiners && !err; i++)
		err = add__join(add, &add->joiners[i]);
	for (int i = 0; i < add->nr_joiners && !err && add__records(add); i++) {
		if (ioctl(add->joiners[i].fd, PERF_EVENT_IOC_ENABLE, 0))
			err = err_join(add, &add->joiners[i], -errno);
	}
	if (err)
		add__leave(add);
	sigprocmask(SIG_SETMASK, &old, NULL);
	return err;
}

/*
 * Reporting
 */

static bool add__is_ours(const struct add *add, const struct persistent_member *member)
{
	char label[PERF_PERSIST_NAME_SIZE];
	struct evsel *evsel;

	evlist__for_each_entry(add->opts->evlist, evsel) {
		add__label(add, evsel, label, sizeof(label));
		if (!strcmp(label, member->label))
			return true;
	}
	return false;
}

/* If a CPU came online after the event joined, but before it was enabled, enable it there. */
static void add__enable_late(const struct add *add, const struct persistent_member *member)
{
	int fd = persistent_member__open_to_change(add->ns, member);

	if (fd < 0)
		return;
	if (ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))
		pr_debug("'%s' stays disabled on CPU %d: %m\n", member->label, member->cpu);
	close(fd);
}

static void print_lacks(unsigned long *cpus, const char *why)
{
	char *list;

	if (bitmap_empty(cpus, MAX_NR_CPUS) || quiet)
		return;
	list = persistent__list_cpus(cpus);
	pr_info("[ perf ctl: not on CPU %s: %s ]\n", list ?: "?", why);
	free(list);
}

static void add__tell(struct add *add, const char *cpus)
{
	DECLARE_BITMAP(offline, MAX_NR_CPUS) = {};
	DECLARE_BITMAP(lacks, MAX_NR_CPUS) = {};
	const bool records = add__records(add);
	char label[PERF_PERSIST_NAME_SIZE];
	struct persistent_ns *ns = add->ns;
	struct evsel *evsel;

	evlist__for_each_entry(add->opts->evlist, evsel) {
		add__label(add, evsel, label, sizeof(label));
		if (!quiet)
			pr_info("[ perf ctl: '%s' records %s, too, on CPU %s%s ]\n", ns->name,
				label, cpus, records ? "" : ", once it is enabled");
	}

	/* It is no error if the namespace cannot be listed any more. */
	add->model = NULL;
	if (persistent_ns__list(ns))
		return;
	for (int i = 0; i < ns->nr_members; i++) {
		const struct persistent_member *member = &ns->members[i];

		if (!member__is_ordinary(member) || member->cpu >= MAX_NR_CPUS)
			continue;
		/* The kernel adds the event there when the CPU is back online. */
		if (ns->all_cpus && member->flags & PERF_PERSIST_OFFLINE)
			__set_bit(member->cpu, offline);
		else
			__set_bit(member->cpu, lacks);
	}
	for (int i = 0; i < ns->nr_members; i++) {
		const struct persistent_member *member = &ns->members[i];

		if (!member__is_ordinary(member) || member->cpu >= MAX_NR_CPUS ||
		    !add__is_ours(add, member))
			continue;
		__clear_bit(member->cpu, offline);
		__clear_bit(member->cpu, lacks);
		if (records && member->flags & PERF_PERSIST_DISABLED)
			add__enable_late(add, member);
	}
	print_lacks(offline, "offline; when it is back the kernel adds the event there, if it can");
	print_lacks(lacks, "offline, or came online meanwhile; add it again when it is back");
}

int persistent_ns__add_events(struct persistent_ns *ns, const struct persistent_add_opts *opts)
{
	struct add add = { .ns = ns, .opts = opts };
	char *cpus = NULL;
	int err = add__check(&add) ?:
		  persistent__err_open(persistent_ns__list(ns), ns->name);

	if (!err) {
		add.model = persistent_ns__find_ring(ns, -1);
		cpus = add__cpus(&add);
		err = cpus ? 0 : -ENODEV;
	}
	if (!err)
		err = add__open_on(&add, cpus) ?:
		      add__collect(&add) ?:
		      add__give_buffers(&add) ?:
		      add__join_all(&add);
	if (!err)
		add__tell(&add, cpus);

	for (int i = 0; i < add.nr_joiners; i++) {
		if (add.joiners[i].map)
			munmap(add.joiners[i].map, evlist__mmap_size(opts->pages));
	}
	free(add.joiners);
	free(cpus);
	return err;
}
