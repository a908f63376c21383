// SPDX-License-Identifier: GPL-2.0
/*
 * Namespaces of persistent events that the user requests on the kernel command line:
 *
 *	perf_persistent=NAME:SIZE:EVENT[;EVENT...]
 *
 * The kernel makes them before it initializes most drivers, to record what these do. If
 * the PMU or the tracepoint of an event is not there yet, the event is added after all
 * built-in drivers have been initialized.
 */
#define pr_fmt(fmt) "perf: " fmt

#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/perf_event.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <asm/setup.h>

#include "persistent_internal.h"

/* The values of all perf_persistent= parameters, each with its terminating NUL */
static char perf_boot_line[COMMAND_LINE_SIZE] __initdata;
static size_t perf_boot_len __initdata;

/**
 * struct perf_boot_ns - a namespace of the command line
 * @entry:	in perf_boot_list
 * @name:	its name, in perf_boot_line
 * @size:	bytes of each of its buffers
 * @id:		its id, or 0 if it has not been made yet
 * @specs:	events to make next
 * @unknown:	events that could not be parsed yet, see struct perf_boot_event
 * @missing:	events that could be parsed, but not be made yet
 */
struct perf_boot_ns {
	struct list_head	entry;
	const char		*name;
	unsigned long		size;
	u64			id;
	struct list_head	specs;
	struct list_head	unknown;
	struct list_head	missing;
};

/**
 * struct perf_boot_event - an event whose PMU or tracepoint was not there yet
 * @entry:	in perf_boot_ns::unknown
 * @text:	the event as the user wrote it, in perf_boot_line
 */
struct perf_boot_event {
	struct list_head	entry;
	const char		*text;
};

static LIST_HEAD(perf_boot_list);

static int __init set_persistent(char *arg)
{
	size_t len = strlen(arg) + 1;

	/* Parameters on the command line always fit, but those in a bootconfig may not. */
	if (len > sizeof(perf_boot_line) - perf_boot_len) {
		pr_err("perf_persistent=%.40s...: ignored: the parameters are too long in total\n",
		       arg);
		return 1;
	}
	memcpy(perf_boot_line + perf_boot_len, arg, len);
	perf_boot_len += len;
	return 1;
}
__setup("perf_persistent=", set_persistent);

/**
 * perf_boot_split - split the value of perf_persistent=
 * @arg:	the value, which this changes
 * @name:	out: the name
 * @size:	out: bytes of each buffer
 * @events:	out: the events
 * @error:	out: what is wrong
 *
 * Return: 0 or -EINVAL.
 */
int perf_boot_split(char *arg, char **name, unsigned long *size, char **events,
		    struct perf_spec_error *error)
{
	char *number;

	*events = arg;
	*name = strsep(events, ":");
	number = strsep(events, ":");
	if (!*events)
		return perf_spec_fail(error, -EINVAL, arg,
				      "expected NAME:SIZE:EVENT[;EVENT...]");
	if (!perf_persist_valid_name(*name))
		return perf_spec_fail(error, -EINVAL, *name, PERF_SPEC_NAME_RULE);
	return perf_spec_parse_size(number, size, error);
}

/**
 * perf_boot_next_event - take the next one off a list of events
 * @events:	the list, which this changes; NULL after the last event
 *
 * A semicolon in quotes is part of a filter.
 *
 * Return: the event, or NULL.
 */
char *perf_boot_next_event(char **events)
{
	char *event = *events, *c, quote = '\0';

	for (c = event; c && *c; c++) {
		if (quote) {
			if (*c == quote)
				quote = '\0';
		} else if (*c == '"' || *c == '\'') {
			quote = *c;
		} else if (*c == ';') {
			*c = '\0';
			*events = c + 1;
			return event;
		}
	}
	*events = NULL;
	return event;
}

static void __init report(const char *name, const struct perf_spec_error *error)
{
	pr_err("perf_persistent=%s: %s\n", name, error->text);
}

static void __init parse_event(struct perf_boot_ns *bn, const char *text, bool last_try)
{
	struct perf_spec_error error = { };
	struct perf_boot_event *event;
	int ret;

	ret = perf_spec_parse(text, &bn->specs, &error);
	if (!ret)
		return;

	event = ret == -ENOENT && !last_try ? kzalloc(sizeof(*event), GFP_KERNEL) : NULL;
	if (event) {
		event->text = text;
		list_add_tail(&event->entry, &bn->unknown);
	} else {
		report(bn->name, &error);
	}
}

/* Make @bn from its @specs, or add them to it. Leave out events that cannot be made. */
static void __init make_events(struct perf_boot_ns *bn, bool last_try)
{
	struct perf_spec_error error;
	int ret;

	while (!list_empty(&bn->specs)) {
		LIST_HEAD(bad);

		error = (struct perf_spec_error){ };
		if (bn->id)
			ret = perf_persist_extend(bn->id, &bn->specs, &error);
		else
			ret = perf_persist_create_from(bn->name, &bn->specs, bn->size, true,
						       &bn->id, &error);
		if (ret && error.spec && ret == -ENOENT && !last_try) {
			list_move_tail(&error.spec->entry, &bn->missing);
			continue;
		}
		if (ret)
			report(bn->name, &error);
		/* If a single event is to blame, try again without it. */
		if (!ret || !error.spec)
			break;
		list_move(&error.spec->entry, &bad);
		perf_spec_free(&bad);
	}
	perf_spec_free(&bn->specs);
}

static void __init make_namespace(char *arg)
{
	struct perf_spec_error error = { };
	struct perf_boot_ns *bn;
	char *name, *events, *event;
	unsigned long size;

	if (perf_boot_split(arg, &name, &size, &events, &error)) {
		report(arg, &error);
		return;
	}
	bn = kzalloc(sizeof(*bn), GFP_KERNEL);
	if (!bn)
		return;
	bn->name = name;
	bn->size = size;
	INIT_LIST_HEAD(&bn->specs);
	INIT_LIST_HEAD(&bn->unknown);
	INIT_LIST_HEAD(&bn->missing);
	list_add_tail(&bn->entry, &perf_boot_list);

	while ((event = perf_boot_next_event(&events)))
		parse_event(bn, event, false);
	make_events(bn, false);
}

/* Run this after kprobe_event= has been handled, and before drivers look for devices. */
static int __init make_namespaces(void)
{
	char *arg = perf_boot_line;

	while (arg < perf_boot_line + perf_boot_len) {
		size_t len = strlen(arg) + 1;

		make_namespace(arg);
		arg += len;
	}
	return 0;
}
fs_initcall_sync(make_namespaces);

/* Try again to make the events whose PMU or tracepoint was missing, for the last time. */
static int __init add_missing(void)
{
	struct perf_boot_event *event, *next_event;
	struct perf_boot_ns *bn, *next;

	list_for_each_entry_safe(bn, next, &perf_boot_list, entry) {
		list_splice_init(&bn->missing, &bn->specs);
		list_for_each_entry_safe(event, next_event, &bn->unknown, entry) {
			parse_event(bn, event->text, true);
			kfree(event);
		}
		make_events(bn, true);
		list_del(&bn->entry);
		kfree(bn);
	}
	return 0;
}
late_initcall(add_missing);
