// SPDX-License-Identifier: GPL-2.0
/*
 * The file "triggers" of perffs. User space writes and reads lines of this form:
 *
 *	EVENT [if FILTER] : stop|snapshot [after=TIME] [cool_down=TIME] [times=N]
 *
 * EVENT can also be panic, oops or softlockup.
 */
#include <linux/kernel.h>
#include <linux/kstrtox.h>
#include <linux/list.h>
#include <linux/math64.h>
#include <linux/overflow.h>
#include <linux/perf_event.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/time64.h>

#include "internal.h"
#include "persistent.h"
#include "persistent_fs.h"
#include "persistent_internal.h"

static const struct {
	const char	*name;
	u64		ns;
} time_units[] = {
	/* show_time() uses the largest unit that leaves no remainder. */
	{ "h",	3600 * (u64)NSEC_PER_SEC },
	{ "m",	60 * (u64)NSEC_PER_SEC },
	{ "s",	NSEC_PER_SEC },
	{ "ms",	NSEC_PER_MSEC },
	{ "us",	NSEC_PER_USEC },
	{ "ns",	1 },
};

static int get_time(const char *word, const char *value, u64 *ns, struct perf_spec_error *error)
{
	size_t digits = strspn(value, "0123456789");
	char number[24];
	u64 nr;
	int i;

	if (strscpy(number, value) >= 0)
		number[digits] = '\0';
	for (i = 0; i < ARRAY_SIZE(time_units); i++) {
		if (strcmp(value + digits, time_units[i].name))
			continue;
		if (digits >= sizeof(number) || kstrtou64(number, 10, &nr) ||
		    check_mul_overflow(nr, time_units[i].ns, ns))
			break;
		return 0;
	}
	return perf_spec_fail(error, -EINVAL, word, "not a time such as 200ms, 5s or 1m");
}

static void show_time(struct seq_file *m, const char *name, u64 ns)
{
	u64 rest;
	int i;

	for (i = 0; ns && i < ARRAY_SIZE(time_units); i++) {
		u64 nr = div64_u64_rem(ns, time_units[i].ns, &rest);

		if (rest)
			continue;
		seq_printf(m, " %s=%llu%s", name, nr, time_units[i].name);
		break;
	}
}

static int get_word(char *word, struct perf_event_trigger *arg, struct perf_spec_error *error)
{
	if (strstarts(word, "after="))
		return get_time(word, word + strlen("after="), &arg->after_ns, error);
	if (strstarts(word, "cool_down="))
		return get_time(word, word + strlen("cool_down="), &arg->cool_down_ns, error);
	if (strstarts(word, "times=") && !kstrtou64(word + strlen("times="), 10, &arg->times))
		return 0;
	return perf_spec_fail(error, -EINVAL, word,
			      "not one of after=TIME, cool_down=TIME and times=N");
}

/* Parse the words after the colon. */
static int get_action(char *text, struct perf_event_trigger *arg, struct perf_spec_error *error)
{
	char *word = strsep(&text, " \t");
	int ret = 0;

	if (!strcmp(word, "stop"))
		arg->action = PERF_TRIGGER_DO_STOP;
	else if (!strcmp(word, "snapshot"))
		arg->action = PERF_TRIGGER_DO_SNAPSHOT;
	else
		return perf_spec_fail(error, -EINVAL, word, "neither stop nor snapshot");
	while (!ret && (word = strsep(&text, " \t"))) {
		if (*word)
			ret = get_word(word, arg, error);
	}
	return ret;
}

/* Find the last colon that follows a blank. The colon in SYSTEM:EVENT follows none. */
static char *find_colon(char *line)
{
	char *colon = NULL, *c;

	for (c = line + 1; *line && *c; c++) {
		if (*c == ':' && (c[-1] == ' ' || c[-1] == '\t'))
			colon = c;
	}
	return colon;
}

static int fire_on(struct perf_persist_ns *ns, u32 number, const struct perf_event_spec *spec,
		   int cpu)
{
	struct perf_event *event;
	int ret;

	do {
		event = perf_member_make_redirected(ns, spec, cpu, true);
		if (IS_ERR(event))
			return PTR_ERR(event);
		ret = event ? 0 : perf_trigger_miss(ns, number, cpu);
	} while (ret == -EAGAIN && !fatal_signal_pending(current));
	if (!event)
		return ret == -EAGAIN ? -EINTR : 0;
	ret = perf_trigger_add_event(ns, number, event);
	perf_member_unmake(event, NULL);
	return ret;
}

/* Add the trigger with all of its events, or nothing. */
static int add_trigger(struct perf_persist_ns *ns, const struct perf_event_trigger *arg,
		       struct list_head *specs, struct perf_spec_error *error)
{
	struct perf_event_spec *spec;
	u32 number;
	int cpu, ret;

	ret = perf_trigger_add(ns, arg, &number);
	if (ret)
		return perf_spec_fail(error, ret, arg->label, "cannot add the trigger: %pe",
				      ERR_PTR(ret));
	list_for_each_entry(spec, specs, entry) {
		for_each_online_cpu(cpu) {
			/* There may be many. */
			ret = fatal_signal_pending(current) ? -EINTR :
							      fire_on(ns, number, spec, cpu);
			if (ret)
				goto err_delete;
		}
	}
	return 0;

err_delete:
	perf_spec_fail(error, ret, spec->name, "cannot fire on CPU %d: %pe", cpu, ERR_PTR(ret));
	perf_trigger_delete(ns, number);
	return ret;
}

/* Has @ns a trigger that would be shown in the same line as @arg? */
static bool is_there(struct perf_persist_ns *ns, const struct perf_event_trigger *arg)
{
	struct perf_event_trigger other = { .size = sizeof(other) };

	while (!perf_trigger_get_next(ns, other.number, &other)) {
		if (!strcmp(other.label, arg->label) && other.action == arg->action &&
		    other.after_ns == arg->after_ns && other.cool_down_ns == arg->cool_down_ns &&
		    other.times == arg->times)
			return true;
	}
	return false;
}

static int add_line(struct perf_persist_ns *ns, char *line, struct perf_spec_error *error)
{
	struct perf_event_trigger arg = { .size = sizeof(arg) };
	char *colon = find_colon(line);
	LIST_HEAD(specs);
	int ret;

	if (!colon)
		return perf_spec_fail(error, -EINVAL, line,
				      "' : stop' or ' : snapshot' is missing");
	*colon = '\0';
	ret = get_action(perf_spec_trim(colon + 1), &arg, error);
	if (ret)
		return ret;

	line = perf_spec_trim(line);
	strreplace(line, '\t', ' ');
	/* The label is shown: writing a line that was read makes the same trigger again. */
	if (strscpy(arg.label, line) < 0)
		return perf_spec_fail(error, -E2BIG, line,
				      "EVENT and FILTER are longer than %d bytes",
				      PERF_PERSIST_NAME_SIZE - 1);
	if (!strcmp(line, "panic")) {
		arg.when = PERF_TRIGGER_WHEN_PANIC;
	} else if (!strcmp(line, "oops")) {
		arg.when = PERF_TRIGGER_WHEN_OOPS;
	} else if (!strcmp(line, "softlockup")) {
		arg.when = PERF_TRIGGER_WHEN_SOFTLOCKUP;
	} else {
		arg.when = PERF_TRIGGER_WHEN_EVENT;
		ret = perf_spec_parse(line, &specs, error) ?:
		      perf_persist_check_rates(&specs, error);
	}
	if (!ret && is_there(ns, &arg))
		ret = perf_spec_fail(error, -EEXIST, line,
				     "the namespace has this trigger already");
	if (!ret)
		ret = add_trigger(ns, &arg, &specs, error);
	perf_spec_free(&specs);
	return ret;
}

static void show_trigger(struct seq_file *m, const struct perf_event_trigger *arg)
{
	seq_printf(m, "%s : %s", arg->label,
		   arg->action == PERF_TRIGGER_DO_STOP ? "stop" : "snapshot");
	show_time(m, "after", arg->after_ns);
	show_time(m, "cool_down", arg->cool_down_ns);
	if (arg->times)
		seq_printf(m, " times=%llu", arg->times);
}

static bool is_shown_as(const struct perf_event_trigger *arg, const char *line)
{
	char shown[PERF_PERSIST_NAME_SIZE + 128];
	struct seq_file m = { .buf = shown, .size = sizeof(shown) };

	show_trigger(&m, arg);
	if (seq_has_overflowed(&m))
		return false;
	/* The line that the user has copied was trimmed. */
	shown[m.count] = '\0';
	return !strcmp(perf_spec_trim(shown), line);
}

static int remove_line(struct perf_persist_ns *ns, const char *line,
		       struct perf_spec_error *error)
{
	struct perf_event_trigger arg = { .size = sizeof(arg) };
	u32 last = 0;

	while (!perf_trigger_get_next(ns, last, &arg)) {
		if (is_shown_as(&arg, line))
			return perf_trigger_delete(ns, arg.number);
		last = arg.number;
	}
	if (READ_ONCE(ns->unlinked))
		return -ENODEV;
	return perf_spec_fail(error, -ENOENT, line,
			      "no such trigger: copy the whole line that 'triggers' shows");
}

/**
 * perf_fs_change_triggers - add and remove triggers
 * @dir:	the directory, with its lock
 * @text:	lines; a line with "!" in front removes a trigger
 * @error:	out: what is wrong
 *
 * Return: 0, or an error; the lines before the wrong one took effect.
 */
int perf_fs_change_triggers(struct perf_fs_dir *dir, char *text, struct perf_spec_error *error)
{
	char *line;
	int ret = 0;

	while (!ret && (line = strsep(&text, "\n"))) {
		line = perf_spec_trim(line);
		if (fatal_signal_pending(current))
			ret = -EINTR;
		else if (*line == '!')
			ret = remove_line(dir->ns, perf_spec_trim(line + 1), error);
		else if (*line)
			ret = add_line(dir->ns, line, error);
	}
	return ret;
}

/**
 * perf_fs_show_triggers - show the triggers of a namespace
 * @dir:	the directory
 * @m:		the seq_file to write to
 *
 * Return: 0.
 */
int perf_fs_show_triggers(struct perf_fs_dir *dir, struct seq_file *m)
{
	struct perf_event_trigger arg = { .size = sizeof(arg) };
	u32 last = 0;

	while (!perf_trigger_get_next(dir->ns, last, &arg)) {
		show_trigger(m, &arg);
		seq_putc(m, '\n');
		last = arg.number;
	}
	return 0;
}
