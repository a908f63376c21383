// SPDX-License-Identifier: GPL-2.0
/*
 * Namespaces of persistent events that the command line of the kernel asks for.
 *
 *	perf_persistent=NAME:SIZE:EVENT[;EVENT...]
 *
 * They are made before most drivers are, so that what these do is recorded. An event of a
 * PMU or a module that comes later is added when all of them have been there.
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

/* What is left of it, one after the other, each with its end */
static char perf_boot_line[COMMAND_LINE_SIZE] __initdata;
static size_t perf_boot_len __initdata;

/**
 * struct perf_boot_missing - events that were not there
 * @entry:	in perf_boot_missing
 * @id:		of the namespace that was made without them, or 0
 * @size:	of its buffers
 * @name:	of the namespace
 * @events:	as they are written on the command line
 */
struct perf_boot_missing {
	struct list_head	entry;
	u64			id;
	unsigned long		size;
	char			*name;
	char			*events;
};

static LIST_HEAD(perf_boot_missing);

static int __init set_persistent(char *arg)
{
	size_t len = strlen(arg) + 1;

	/* It cannot be longer than the command line, but may be in a bootconfig. */
	if (len > sizeof(perf_boot_line) - perf_boot_len) {
		pr_err("perf_persistent=%.40s...: there is no room for it\n", arg);
		return 1;
	}
	memcpy(perf_boot_line + perf_boot_len, arg, len);
	perf_boot_len += len;
	return 1;
}
__setup("perf_persistent=", set_persistent);

/**
 * perf_boot_split - split what follows perf_persistent=
 * @arg:	that, changed here
 * @name:	out: the name
 * @size:	out: bytes of a buffer
 * @events:	out: the events
 * @error:	out: what is wrong
 *
 * Return: 0 or -EINVAL.
 */
int perf_boot_split(char *arg, char **name, unsigned long *size, char **events,
		    struct perf_spec_error *error)
{
	char *number, *end;

	*events = arg;
	*name = strsep(events, ":");
	number = strsep(events, ":");
	if (!*events)
		return perf_spec_fail(error, -EINVAL, arg,
				      "it has to be NAME:SIZE:EVENT[;EVENT...]");
	*size = memparse(number, &end);
	if (end == number || *end)
		return perf_spec_fail(error, -EINVAL, number, "not a size, as 256K or 1M");
	return 0;
}

/**
 * perf_boot_next_event - take the next one off a list of events
 * @events:	the list, changed here; NULL after the last one
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

static void __init keep_missing(struct list_head *missing, const char *name, unsigned long size,
				const char *event)
{
	struct perf_boot_missing *entry = kzalloc(sizeof(*entry), GFP_KERNEL);

	if (!entry)
		return;
	entry->size = size;
	entry->name = kstrdup(name, GFP_KERNEL);
	entry->events = kstrdup(event, GFP_KERNEL);
	list_add_tail(&entry->entry, missing);
}

static void __init free_missing(struct list_head *missing)
{
	struct perf_boot_missing *entry, *next;

	list_for_each_entry_safe(entry, next, missing, entry) {
		kfree(entry->name);
		kfree(entry->events);
		kfree(entry);
	}
	INIT_LIST_HEAD(missing);
}

/* What does not work is left out, and said. */
static void __init make_namespace(char *arg)
{
	struct perf_spec_error error = { };
	struct perf_boot_missing *entry;
	char *name, *events, *event;
	unsigned long size;
	LIST_HEAD(missing);
	LIST_HEAD(specs);
	u64 id = 0;
	int ret;

	ret = perf_boot_split(arg, &name, &size, &events, &error);
	while (!ret && (event = perf_boot_next_event(&events))) {
		ret = perf_spec_parse(event, &specs, &error);
		if (ret == -ENOENT) {
			keep_missing(&missing, name, size, event);
			error.text[0] = '\0';
			ret = 0;
		}
	}
	if (!ret && (!list_empty(&specs) || list_empty(&missing)))
		ret = perf_persist_create(name, &specs, size, &id, &error);
	perf_spec_free(&specs);
	if (ret) {
		free_missing(&missing);
		pr_err("perf_persistent=%s: %s\n", arg, error.text);
		return;
	}
	list_for_each_entry(entry, &missing, entry)
		entry->id = id;
	list_splice_tail(&missing, &perf_boot_missing);
}

/* After kprobe_event=, and before devices are looked for. */
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

static int __init add_missing_event(struct perf_boot_missing *missing, struct list_head *specs,
				    struct perf_spec_error *error)
{
	int ret;

	if (!missing->name || !missing->events)
		return perf_spec_fail(error, -ENOMEM, "perf_persistent", "out of memory");
	ret = perf_spec_parse(missing->events, specs, error);
	if (!ret && missing->id)
		ret = perf_persist_extend(missing->id, specs, error);
	else if (!ret)
		ret = perf_persist_create(missing->name, specs, missing->size, &missing->id,
					  error);
	return ret;
}

static int __init add_missing(void)
{
	struct perf_boot_missing *missing, *other;

	list_for_each_entry(missing, &perf_boot_missing, entry) {
		struct perf_spec_error error = { };
		LIST_HEAD(specs);

		if (add_missing_event(missing, &specs, &error))
			pr_err("perf_persistent=%s: %s\n", missing->name, error.text);
		perf_spec_free(&specs);

		/* The others of the same namespace join the one that was made now. */
		other = missing;
		list_for_each_entry_continue(other, &perf_boot_missing, entry) {
			if (!other->id && missing->id && !strcmp(other->name, missing->name))
				other->id = missing->id;
		}
	}
	free_missing(&perf_boot_missing);
	return 0;
}
late_initcall(add_missing);
