// SPDX-License-Identifier: GPL-2.0
/*
 * Triggers of namespaces of persistent events.
 *
 * A trigger makes the kernel stop a namespace, or take a snapshot of it, when nobody is there
 * to do it.
 *
 * A trigger waits for an ordinary event, one on each CPU, or for a panic, an oops or a soft
 * lockup, which have no event. This file makes the events, and they become members of the
 * namespace. If the trigger stops the namespace, they write to its buffers: the last record
 * tells what happened.
 */
#include "persistent-control.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <internal/xyarray.h>
#include <linux/bitmap.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/string.h>
#include <linux/time64.h>
#include <linux/zalloc.h>
#include "debug.h"
#include "evlist.h"
#include "evsel.h"
#include "parse-events.h"
#include "persistent.h"
#include "persistent-time.h"
#include "target.h"
#include "tracepoint.h"
#include "util.h"

#define DEFAULT_COOL_DOWN_NS	NSEC_PER_SEC

/* Words for what may happen to a kernel */
static const struct word {
	const char	*word;
	u32		 when;
	const char	*event;
	const char	*filter;
	const char	*needs;
} words[] = {
	{ "panic", PERF_TRIGGER_WHEN_PANIC, NULL, NULL, NULL },
	{ "oops", PERF_TRIGGER_WHEN_OOPS, NULL, NULL, NULL },
	{ "softlockup", PERF_TRIGGER_WHEN_SOFTLOCKUP, NULL, NULL, NULL },
	/* 2 is ERROR_DETECTOR_WARN. */
	{ "warn", PERF_TRIGGER_WHEN_EVENT, "error_report:error_report_end",
	  "error_detector == 2", "CONFIG_EVENT_TRACING=y" },
	{ "warning", PERF_TRIGGER_WHEN_EVENT, "error_report:error_report_end",
	  "error_detector == 2", "CONFIG_EVENT_TRACING=y" },
	{ "hung-task", PERF_TRIGGER_WHEN_EVENT, "sched:sched_process_hang",
	  NULL, "CONFIG_DETECT_HUNG_TASK=y" },
	{ "rcu-stall", PERF_TRIGGER_WHEN_EVENT, "rcu:rcu_stall_warning",
	  NULL, "CONFIG_EVENT_TRACING=y and CONFIG_TREE_RCU=y" },
	{ "oom", PERF_TRIGGER_WHEN_EVENT, "oom:mark_victim", NULL, "CONFIG_EVENT_TRACING=y" },
};

static const struct word *find_word(const char *when)
{
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (!strcmp(words[i].word, when))
			return &words[i];
	}
	return NULL;
}

static int check_word(const struct word *word)
{
	if (!word->event || is_valid_tracepoint(word->event))
		return 0;

	pr_err("'--when %s' needs the tracepoint %s, which is missing: it requires a kernel\n"
	       "with %s, and tracefs at /sys/kernel/tracing.\n", word->word, word->event,
	       word->needs);
	return -ENOENT;
}

/* Refuse options that make no sense for a panic, oops or soft lockup. */
static int check_no_event(const struct word *word, const struct persistent_trigger_opts *opts)
{
	if (opts->filter || opts->count) {
		pr_err("--filter and --count select among events, and '%s' is not one.\n",
		       word->word);
		return -EINVAL;
	}
	if (word->when == PERF_TRIGGER_WHEN_SOFTLOCKUP && strcmp(opts->action, "stop")) {
		pr_err("A snapshot would have to wait for the CPU that is locked up: use '--when softlockup --do stop'.\n");
		return -EINVAL;
	}
	if (word->when != PERF_TRIGGER_WHEN_PANIC)
		return 0;

	if (strcmp(opts->action, "stop")) {
		pr_err("No snapshot can be taken in a panic: use '--when panic --do stop'.\n");
		return -EINVAL;
	}
	if (opts->after || opts->cool_down || opts->times) {
		pr_err("A panic happens only once, and ends everything: leave out --after, --cool-down and --times.\n");
		return -EINVAL;
	}
	return 0;
}

static int parse_action(const char *action, u32 *nr)
{
	if (!strcmp(action, "stop")) {
		*nr = PERF_TRIGGER_DO_STOP;
	} else if (!strcmp(action, "snapshot")) {
		*nr = PERF_TRIGGER_DO_SNAPSHOT;
	} else {
		pr_err("--do takes 'stop' or 'snapshot': not '%s'.\n", action);
		return -EINVAL;
	}
	return 0;
}

const char *persistent_trigger__action(const struct perf_event_trigger *trigger)
{
	return trigger->action == PERF_TRIGGER_DO_STOP ? "stop" : "snapshot";
}

/* Short words that fit a column. Rare errors get the text of the C library. */
const char *persistent_trigger__error(const struct persistent_trigger *trigger, char *buf,
				      size_t size)
{
	switch (trigger->state.error) {
	case ECANCELED:
		return "stopped";
	case EBUSY:
		return "too many mapped";
	case ENOMEM:
		return "no memory";
	case EPERM:
		return "memory limit";
	default:
		return str_error_r(trigger->state.error, buf, size);
	}
}

/* For lists: the event as the user gave it, and as much of its filter as fits */
static void set_label(struct perf_event_trigger *trigger,
		      const struct persistent_trigger_opts *opts)
{
	size_t size = sizeof(trigger->label);
	int len = snprintf(trigger->label, size, "%s%s%s", opts->when,
			   opts->filter ? " if " : "", opts->filter ?: "");

	if (len >= (int)size)
		memcpy(trigger->label + size - 3, "..", 3);
}

/* By default, do not let a frequent event push out all earlier snapshots at once. */
static int parse_cool_down(const char *str, u32 action, u64 *ns)
{
	*ns = 0;
	if (!str) {
		if (action == PERF_TRIGGER_DO_SNAPSHOT)
			*ns = DEFAULT_COOL_DOWN_NS;
		return 0;
	}
	if (!strcmp(str, "0") || !strcmp(str, "0s"))
		return 0;
	return persistent__parse_duration("--cool-down", str, ns);
}

int persistent_trigger__parse(struct perf_event_trigger *trigger,
			      const struct persistent_trigger_opts *opts)
{
	const struct word *word = find_word(opts->when);
	u64 after = 0, cool_down = 0;
	u32 times = 0;
	int err;

	*trigger = (struct perf_event_trigger) {
		.size = sizeof(*trigger),
		.when = word ? word->when : PERF_TRIGGER_WHEN_EVENT,
	};
	set_label(trigger, opts);

	err = parse_action(opts->action, &trigger->action);
	if (!err && opts->after)
		err = persistent__parse_duration("--after", opts->after, &after);
	if (!err)
		err = parse_cool_down(opts->cool_down, trigger->action, &cool_down);
	if (!err && opts->times)
		err = persistent__parse_number("--times", opts->times, 1, UINT_MAX, &times);
	trigger->after_ns = after;
	trigger->cool_down_ns = cool_down;
	trigger->times = times;

	if (!err && trigger->when != PERF_TRIGGER_WHEN_EVENT)
		err = check_no_event(word, opts);
	return err;
}

static int check_event(struct evlist *evlist, const char *event)
{
	struct evsel *evsel;

	evlist__for_each_entry(evlist, evsel) {
		if (evsel__is_persistent(evsel)) {
			pr_err("'%s' is a namespace: --when takes an event of another kind.\n",
			       event);
			return -EINVAL;
		}
		if (!evsel__is_group_leader(evsel) || evsel->core.nr_members > 1) {
			pr_err("'%s' is a group: --when takes a single event.\n", event);
			return -EINVAL;
		}
		if (evsel__has_terms(evsel)) {
			pr_err("'%s' has terms for sampling, but a trigger only counts it: use --count for a period.\n",
			       event);
			return -EINVAL;
		}
	}
	return 0;
}

static int parse_event_str(struct evlist *evlist, const char *event)
{
	struct parse_events_error perr;
	int err;

	parse_events_error__init(&perr);
	err = parse_events(evlist, event, &perr);
	if (err) {
		parse_events_error__print(&perr, event);
		pr_err("See 'perf list' for events; --when also takes the words panic, oops, softlockup,\n"
		       "warning, hung-task, rcu-stall and oom.\n");
	}
	parse_events_error__exit(&perr);
	return err ? -EINVAL : check_event(evlist, event);
}

static int add_filter(struct evlist *evlist, const char *filter)
{
	struct evsel *evsel;

	if (!filter)
		return 0;

	evlist__for_each_entry(evlist, evsel) {
		if (evsel->core.attr.type != PERF_TYPE_TRACEPOINT) {
			pr_err("--filter is for tracepoints, and '%s' is not one.\n",
			       evsel__name(evsel));
			return -EINVAL;
		}
		if (evsel__append_tp_filter(evsel, filter) < 0)
			return -ENOMEM;
	}
	return 0;
}

/*
 * Fields that a trigger's records can have in the buffer of @model. Not the period: with
 * it, software events and tracepoints overflow each time they count.
 */
#define SHARED_SAMPLE_TYPE							\
	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |	\
	 PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_ID | PERF_SAMPLE_CPU |		\
	 PERF_SAMPLE_IDENTIFIER)

static void config_record(struct perf_event_attr *attr, const struct perf_event_attr *model)
{
	attr->sample_type = model->sample_type & SHARED_SAMPLE_TYPE;
	if (attr->type == PERF_TYPE_TRACEPOINT)
		attr->sample_type |= PERF_SAMPLE_RAW;
	attr->sample_id_all = model->sample_id_all;
	attr->sample_max_stack = model->sample_max_stack;
	attr->exclude_callchain_user = model->exclude_callchain_user;
	attr->exclude_callchain_kernel = model->exclude_callchain_kernel;
	attr->use_clockid = model->use_clockid;
	attr->clockid = model->clockid;
	attr->write_backward = model->write_backward;
}

/* The kernel enables the event when it gets it. Without @model the event only counts. */
static void config_event(struct evsel *evsel, u32 count, const struct persistent_member *model)
{
	struct perf_event_attr *attr = &evsel->core.attr;

	attr->disabled = 1;
	attr->inherit = 0;
	attr->freq = 0;
	attr->sample_period = count;
	attr->sample_type = 0;
	attr->sample_id_all = 0;
	attr->read_format = 0;
	attr->watermark = 0;
	/* Needed for a PMU that writes in batches, see PERF_EVENT_IOC_ADD_TRIGGER. */
	attr->wakeup_events = 1;
	if (model)
		config_record(attr, &model->attr);
}

const struct persistent_member *persistent_ns__find_ring(const struct persistent_ns *ns, int cpu)
{
	for (int i = 0; i < ns->nr_members; i++) {
		const struct persistent_member *member = &ns->members[i];

		if ((cpu < 0 || member->cpu == cpu) && member->buffer_size &&
		    member->output_id == member->id && !persistent_member__is_sideband(member))
			return member;
	}
	return NULL;
}

/*
 * An event without a buffer on its CPU only counts. Returns the number of CPUs whose buffer the
 * event cannot write to.
 */
static int redirect(const struct persistent_ns *ns, struct evsel *evsel)
{
	struct perf_cpu cpu;
	unsigned int idx;
	int nr_failed = 0;

	perf_cpu_map__for_each_cpu(cpu, idx, evsel->core.cpus) {
		const struct persistent_member *ring = persistent_ns__find_ring(ns, cpu.cpu);
		char label[PERF_PERSIST_NAME_SIZE];
		int fd;

		if (!ring || !evsel->core.attr.write_backward)
			continue;
		fd = persistent_member__open_to_change(ns, ring);
		if (fd < 0) {
			nr_failed++;
			continue;
		}
		if (ioctl(evsel__cpu_fd(evsel, idx), PERF_EVENT_IOC_SET_OUTPUT, fd)) {
			pr_debug("trigger: no buffer on CPU %d: %m\n", cpu.cpu);
			nr_failed++;
		}
		close(fd);
		/* Its label in a file */
		if (scnprintf(label, sizeof(label), "/%s", evsel__name(evsel)) &&
		    ioctl(evsel__cpu_fd(evsel, idx), PERF_EVENT_IOC_SET_NAME, label))
			pr_debug("trigger: no label '%s': %m\n", label);
	}
	return nr_failed;
}

static int open_event(struct evsel *evsel, struct target *target)
{
	char msg[512];

	if (!evsel__open_per_cpu(evsel, evsel->core.cpus, -1))
		return 0;

	evsel__open_strerror(evsel, target, errno, msg, sizeof(msg));
	pr_err("%s\n", msg);
	return -EINVAL;
}

static int open_events(const struct persistent_ns *ns, struct evlist *evlist,
		       const struct perf_event_trigger *trigger, u32 count)
{
	/* A snapshot needs no such record: other events have recorded what happened. */
	const struct persistent_member *model = trigger->action == PERF_TRIGGER_DO_STOP ?
						persistent_ns__find_ring(ns, -1) : NULL;
	struct target target = { .system_wide = true };
	struct evsel *evsel;
	char msg[BUFSIZ];
	int nr_failed = 0, err = evlist__create_maps(evlist, &target);

	evlist__for_each_entry(evlist, evsel) {
		config_event(evsel, count, model);
		err = err ?: open_event(evsel, &target);
		if (!err && model)
			nr_failed = max(nr_failed, redirect(ns, evsel));
	}
	if (err)
		return err;
	if (nr_failed)
		pr_warning("WARNING: when '%s' stops, it will lack the record of '%s' itself, which cannot be written on %d CPU(s).\n",
			   ns->name, trigger->label, nr_failed);

	if (evlist__apply_filters(evlist, &evsel, &target)) {
		evsel__filter_strerror(evsel, errno, msg, sizeof(msg));
		pr_err("%s\n", msg);
		return -EINVAL;
	}
	return 0;
}

static int err_add(int err, const struct persistent_ns *ns,
		   const struct perf_event_trigger *trigger)
{
	char buf[STRERR_BUFSIZE];

	switch (err) {
	case 0:
		break;
	case -ENOTTY:
		pr_err("Cannot add a trigger to '%s': this kernel keeps events, but has no triggers.\n",
		       ns->name);
		break;
	case -EOPNOTSUPP:
		pr_err("The kernel cannot %s '%s' when '%s' happens: only an event of a CPU can be a trigger.\n",
		       trigger->action == PERF_TRIGGER_DO_STOP ? "stop" : "take a snapshot of",
		       ns->name, trigger->label);
		break;
	case -ENOSPC:
		pr_err("Cannot add a trigger to '%s': it has the maximum number of triggers, or there are as many\n"
		       "events as kernel.perf_event_max_persistent allows. Remove some with 'perf ctl -t %s --remove'.\n",
		       ns->name, ns->name);
		break;
	case -ENODEV:
		pr_err("Cannot add a trigger to '%s': it was deleted.\n", ns->name);
		break;
	default:
		pr_err("Cannot add the trigger '%s' to '%s': %s\n", trigger->label, ns->name,
		       str_error_r(-err, buf, sizeof(buf)));
		break;
	}
	return err;
}

static int ns__add(struct persistent_ns *ns, struct perf_event_trigger *trigger)
{
	return ioctl(ns->fd, PERF_EVENT_IOC_ADD_TRIGGER, trigger) ? -errno : 0;
}

static int ns__add_event(struct persistent_ns *ns, u32 number, int fd)
{
	struct perf_event_trigger_event event = { .number = number, .fd = fd };

	return ioctl(ns->fd, PERF_EVENT_IOC_ADD_TRIGGER_EVENT, &event) ? -errno : 0;
}

static int ns__add_with_events(struct persistent_ns *ns, struct perf_event_trigger *trigger,
			       struct evlist *evlist)
{
	struct evsel *evsel;
	sigset_t old;
	int err;

	persistent__block_signals(&old);
	err = ns__add(ns, trigger);
	if (err)
		goto out;

	evlist__for_each_entry(evlist, evsel) {
		for (int i = 0; i < xyarray__max_x(evsel->core.fd) && !err; i++)
			err = ns__add_event(ns, trigger->number, evsel__cpu_fd(evsel, i));
	}

	/* Add all of its events, or none. */
	if (err)
		ioctl(ns->fd, PERF_EVENT_IOC_DEL_TRIGGER, &trigger->number);
out:
	sigprocmask(SIG_SETMASK, &old, NULL);
	return err_add(err, ns, trigger);
}

/* With -a the kernel adds the events to a CPU that comes online. */
static void tell_offline(const struct persistent_ns *ns)
{
	DECLARE_BITMAP(cpus, MAX_NR_CPUS) = {};
	char *list;

	for (int i = 0; i < ns->nr_members && !ns->all_cpus && !quiet; i++) {
		const struct persistent_member *member = &ns->members[i];

		if (member->flags & PERF_PERSIST_OFFLINE && member->cpu < MAX_NR_CPUS)
			__set_bit(member->cpu, cpus);
	}
	if (bitmap_empty(cpus, MAX_NR_CPUS))
		return;

	list = persistent__list_cpus(cpus);
	pr_info("[ perf ctl: not on CPU %s, which is offline: remove the trigger and add it again when it is online ]\n",
		list ?: "?");
	free(list);
}

int persistent_ns__add_trigger(struct persistent_ns *ns, struct perf_event_trigger *trigger,
			       const struct persistent_trigger_opts *opts, int *nr_events)
{
	const struct word *word = find_word(opts->when);
	struct evlist *evlist;
	u32 count = 1;
	int err;

	err = persistent_ns__check_live(ns) ?: (word ? check_word(word) : 0);
	if (!err && opts->count)
		err = persistent__parse_number("--count", opts->count, 1, UINT_MAX, &count);
	*nr_events = 0;
	if (err)
		return err;

	if (trigger->when != PERF_TRIGGER_WHEN_EVENT)
		return err_add(ns__add(ns, trigger), ns, trigger);

	/* Find the buffers: a trigger that stops the namespace writes to them. */
	err = persistent_ns__list(ns);
	if (err)
		return err_add(err, ns, trigger);

	evlist = evlist__new();
	if (!evlist)
		return -ENOMEM;

	err = parse_event_str(evlist, word ? word->event : opts->when) ?:
	      add_filter(evlist, word ? word->filter : NULL) ?:
	      add_filter(evlist, opts->filter) ?:
	      open_events(ns, evlist, trigger, count) ?:
	      ns__add_with_events(ns, trigger, evlist);
	*nr_events = evlist__nr_entries(evlist);
	evlist__put(evlist);
	if (!err)
		tell_offline(ns);
	return err;
}

static int ns__change_trigger(struct persistent_ns *ns, u32 number, unsigned long cmd,
			      const char *what)
{
	int err;

	if (!ioctl(ns->fd, cmd, &number))
		return 0;

	err = -errno;
	if (err == -ENOENT)
		pr_err("'%s' has no trigger %u: 'perf ctl -l %s' lists its triggers.\n",
		       ns->name, number, ns->name);
	else
		pr_err("Cannot %s trigger %u of '%s': %m\n", what, number, ns->name);
	return err;
}

int persistent_ns__remove_trigger(struct persistent_ns *ns, u32 number)
{
	return ns__change_trigger(ns, number, PERF_EVENT_IOC_DEL_TRIGGER, "remove");
}

int persistent_ns__arm_trigger(struct persistent_ns *ns, u32 number)
{
	return ns__change_trigger(ns, number, PERF_EVENT_IOC_ARM_TRIGGER, "arm");
}

/* Get the next trigger after number @last. */
static int ns__get_trigger(const struct persistent_ns *ns, u32 last,
			   struct persistent_trigger *trigger)
{
	*trigger = (struct persistent_trigger) {
		.asked = { .size = sizeof(trigger->asked), .number = last },
		.state = { .size = sizeof(trigger->state) },
	};
	if (ioctl(ns->fd, PERF_EVENT_IOC_GET_TRIGGER, &trigger->asked))
		return -errno;

	trigger->state.number = trigger->asked.number;
	/* ENOENT: somebody has removed it just now, so its state is not known. */
	if (ioctl(ns->fd, PERF_EVENT_IOC_GET_TRIGGER_STATE, &trigger->state) && errno != ENOENT)
		return -errno;
	persistent__make_printable(trigger->asked.label);
	return 0;
}

int persistent_ns__triggers(const struct persistent_ns *ns,
			    struct persistent_trigger **triggers, int *nr)
{
	struct persistent_trigger trigger;
	u32 last = 0;
	int err;

	*triggers = NULL;
	*nr = 0;

	while (!(err = ns__get_trigger(ns, last, &trigger))) {
		struct persistent_trigger *more = realloc(*triggers, (*nr + 1) * sizeof(*more));

		if (!more) {
			zfree(triggers);
			*nr = 0;
			return -ENOMEM;
		}
		last = trigger.asked.number;
		*triggers = more;
		more[(*nr)++] = trigger;
	}

	/* No more triggers; no triggers in this kernel; or the caller may not see them. */
	return err == -ENOENT || err == -ENOTTY || err == -EACCES ? 0 : err;
}
