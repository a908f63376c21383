// SPDX-License-Identifier: GPL-2.0
/*
 * Parse and show events as people write them: on the kernel command line, in a file of
 * perffs, and in calls from inside the kernel.
 *
 *	EVENT [/TERM[,TERM...]/] [if FILTER]
 *
 * EVENT is the name of a tracepoint, SYSTEM:EVENT, in which both parts may be patterns;
 * or the name that perf gives a software or hardware event; or the name of a PMU, with
 * config= or config1= to config3= among the terms. The other terms are period=, freq=,
 * callchain and name=.
 *
 * The user has no tool that could explain mistakes. So each mistake gives an errno, and
 * a line of text that says which word is wrong.
 */
#include <linux/ctype.h>
#include <linux/glob.h>
#include <linux/kstrtox.h>
#include <linux/list.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/perf_event.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/stdarg.h>
#include <linux/string.h>
#include <linux/trace_events.h>

#include "internal.h"
#include "persistent.h"
#include "persistent_internal.h"
#include "read.h"

/* Records do not have PERF_SAMPLE_CPU, as each buffer belongs to one CPU. */
#define PERF_SPEC_TYPES		(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | \
				 PERF_SAMPLE_TIME)

/* The attr to which terms and the name of the event add */
static const struct perf_event_attr perf_spec_attr = {
	.size		= sizeof(perf_spec_attr),
	.disabled	= 1,
	.sample_type	= PERF_SPEC_TYPES,
	.read_format	= PERF_FORMAT_LOST | PERF_FORMAT_TOTAL_TIME_ENABLED |
			  PERF_FORMAT_TOTAL_TIME_RUNNING,
	.sample_id_all	= 1,
	.write_backward	= 1,
};

/**
 * struct spec_line - a line that is being parsed
 * @specs:	list to which its events are added
 * @nr:		number of events in @specs
 * @error:	what is wrong, for the user
 * @name:	name of the event, without terms
 * @filter:	text after "if", or NULL
 * @label:	value of name=, or NULL
 * @attr:	attr of the event, with the terms so far
 * @has_config:	there is a config term, so @name is that of a PMU
 */
struct spec_line {
	struct list_head	*specs;
	unsigned int		nr;
	struct perf_spec_error	*error;
	char			*name;
	char			*filter;
	char			*label;
	struct perf_event_attr	attr;
	bool			has_config;
};

/**
 * perf_spec_fail - say which word is wrong, and why
 * @error:	where to write it, or NULL
 * @ret:	the errno
 * @word:	the word
 * @fmt:	why
 *
 * Only the first mistake is reported.
 *
 * Return: @ret.
 */
int perf_spec_fail(struct perf_spec_error *error, int ret, const char *word, const char *fmt, ...)
{
	va_list args;
	int len;

	if (!error || error->text[0])
		return ret;

	/* The word is untrusted: do not pass on control characters. */
	len = scnprintf(error->text, sizeof(error->text), "'%.60s': ", word);
	va_start(args, fmt);
	vscnprintf(error->text + len, sizeof(error->text) - len, fmt, args);
	va_end(args);
	for (len = 0; error->text[len]; len++) {
		if (!isprint(error->text[len]))
			error->text[len] = '?';
	}
	return ret;
}

static void free_spec(struct perf_event_spec *spec)
{
	kfree(spec->name);
	kfree(spec->filter);
	kfree(spec->label);
	kfree(spec);
}

/**
 * perf_spec_free - free events that perf_spec_parse() has made
 * @specs:	list of them, which is empty afterwards
 */
void perf_spec_free(struct list_head *specs)
{
	struct perf_event_spec *spec, *next;

	list_for_each_entry_safe(spec, next, specs, entry)
		free_spec(spec);
	INIT_LIST_HEAD(specs);
}

/**
 * perf_spec_new - allocate an event
 * @name:	name of the tracepoint, of the event, or of its PMU
 * @label:	what people call it; NULL to use @name
 * @filter:	its filter, or NULL
 * @attr:	its attr
 *
 * Return: the event, which is on no list, or NULL.
 */
struct perf_event_spec *perf_spec_new(const char *name, const char *label, const char *filter,
				      const struct perf_event_attr *attr)
{
	struct perf_event_spec *spec;

	spec = kzalloc(sizeof(*spec), GFP_KERNEL_ACCOUNT);
	if (!spec)
		return NULL;

	INIT_LIST_HEAD(&spec->entry);
	spec->attr = *attr;
	spec->name = kstrdup(name, GFP_KERNEL_ACCOUNT);
	spec->label = kstrndup(label ?: name, PERF_PERSIST_NAME_SIZE - 1, GFP_KERNEL_ACCOUNT);
	spec->filter = kstrdup(filter, GFP_KERNEL_ACCOUNT);
	if (spec->name && spec->label && !spec->filter == !filter)
		return spec;

	free_spec(spec);
	return NULL;
}

/* Further fields of the records of @name. A period that is always 1 is left out. */
static u64 more_types(const struct perf_event_attr *attr, const char *name)
{
	if (attr->type != PERF_TYPE_TRACEPOINT)
		return PERF_SAMPLE_PERIOD;
	/* Each hit of these tracepoints counts the time that a task ran or waited. */
	if (attr->freq || attr->sample_period != 1 || strstarts(name, "sched:sched_stat_"))
		return PERF_SAMPLE_PERIOD | PERF_SAMPLE_RAW;
	return PERF_SAMPLE_RAW;
}

/* Find the first control character but a tab: it may tell a terminal to do something. */
static const char *find_control(const char *text)
{
	for (; *text; text++) {
		if (iscntrl(*text) && *text != '\t')
			return text;
	}
	return NULL;
}

static int add_spec(struct spec_line *line, const char *name)
{
	struct perf_event_spec *spec;

	if (line->nr == PERF_SPECS_MAX)
		return perf_spec_fail(line->error, -E2BIG, line->name,
				      "matches more than %d events", PERF_SPECS_MAX);

	spec = perf_spec_new(name, line->label, line->filter, &line->attr);
	if (!spec)
		return perf_spec_fail(line->error, -ENOMEM, line->name, "out of memory");
	spec->attr.sample_type |= more_types(&spec->attr, name);
	list_add_tail(&spec->entry, line->specs);
	line->nr++;
	return 0;
}

/*
 * Terms
 */

static int parse_u64(struct spec_line *line, const char *term, const char *value, u64 *result)
{
	if (!value || kstrtou64(value, 0, result))
		return perf_spec_fail(line->error, -EINVAL, term, "a number is missing after '='");
	return 0;
}

static int parse_rate(struct spec_line *line, const char *term, const char *value, bool freq)
{
	struct perf_event_attr *attr = &line->attr;
	u64 rate;
	int ret;

	if (attr->sample_period)
		return perf_spec_fail(line->error, -EINVAL, term,
				      "only one period= or freq= is allowed");
	ret = parse_u64(line, term, value, &rate);
	if (ret)
		return ret;
	if (!rate || rate > S64_MAX)
		return perf_spec_fail(line->error, -EINVAL, term, "out of range");
	attr->freq = freq;
	attr->sample_period = rate;
	return 0;
}

static int parse_term(struct spec_line *line, char *term)
{
	struct perf_event_attr *attr = &line->attr;
	char copy[64], *key = copy, *value;
	u64 *config = NULL;

	strscpy(copy, term);
	value = strchr(term, '=');
	if (value) {
		copy[min_t(size_t, value - term, sizeof(copy) - 1)] = '\0';
		value++;
	}

	if (!strcmp(key, "period"))
		return parse_rate(line, term, value, false);
	if (!strcmp(key, "freq"))
		return parse_rate(line, term, value, true);
	if (!strcmp(key, "callchain")) {
		if (value)
			return perf_spec_fail(line->error, -EINVAL, term,
					      "'callchain' takes no value");
		attr->sample_type |= PERF_SAMPLE_CALLCHAIN;
		return 0;
	}
	if (!strcmp(key, "name")) {
		if (!value || line->label || !perf_persist_valid_label(value))
			return perf_spec_fail(line->error, -EINVAL, term,
					      "name= is allowed once, with 1 to %d printable bytes",
					      PERF_PERSIST_NAME_SIZE - 1);
		line->label = value;
		return 0;
	}

	if (!strcmp(key, "config"))
		config = (u64 *)&attr->config;
	else if (!strcmp(key, "config1"))
		config = (u64 *)&attr->config1;
	else if (!strcmp(key, "config2"))
		config = (u64 *)&attr->config2;
	else if (!strcmp(key, "config3"))
		config = (u64 *)&attr->config3;
	if (!config)
		return perf_spec_fail(line->error, -EINVAL, term,
				      "not one of period=, freq=, callchain, name= and config=");
	line->has_config = true;
	return parse_u64(line, term, value, config);
}

static int parse_terms(struct spec_line *line, char *terms)
{
	char *end = strchr(terms, '/'), *term;
	int ret = 0;

	if (!end || end[1])
		return perf_spec_fail(line->error, -EINVAL, terms,
				      "'/' must end the terms; only ' if FILTER' may follow");
	*end = '\0';
	/* "//" has no terms. */
	while (!ret && terms && *terms && (term = strsep(&terms, ",")))
		ret = parse_term(line, term);
	return ret;
}

/* perf excludes guests by default, too: a guest may want the CPU's PMU for itself. */
static bool without_guest(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_HARDWARE || attr->type == PERF_TYPE_HW_CACHE ||
	       attr->type == PERF_TYPE_RAW;
}

/* Fill in the terms that were left out, when the event is known */
static void set_defaults(struct spec_line *line)
{
	struct perf_event_attr *attr = &line->attr;

	attr->exclude_guest = without_guest(attr);
	if (attr->sample_period)
		return;
	if (attr->type == PERF_TYPE_TRACEPOINT) {
		attr->sample_period = 1;
	} else {
		attr->freq = 1;
		attr->sample_freq = PERF_SPEC_FREQ;
	}
}

#ifdef CONFIG_EVENT_TRACING
struct tp_search {
	struct spec_line	*line;
	char			*system;
	char			*event;
	bool			pattern;
};

static int match_tracepoint(struct trace_event_call *call, void *data)
{
	struct tp_search *search = data;
	const char *system = call->class->system, *event = trace_event_name(call);
	char *name;
	int ret;

	/* Patterns skip ftrace's own events: all but one, for experts, cannot be enabled. */
	if (search->pattern && (call->flags & TRACE_EVENT_FL_IGNORE_ENABLE))
		return 0;
	if (!glob_match(search->system, system) || !glob_match(search->event, event))
		return 0;

	name = kasprintf(GFP_KERNEL_ACCOUNT, "%s:%s", system, event);
	if (!name)
		return perf_spec_fail(search->line->error, -ENOMEM, event, "out of memory");
	search->line->attr.config = call->event.type;
	ret = add_spec(search->line, name);
	kfree(name);
	return ret;
}

static int find_tracepoints(struct spec_line *line, char *colon)
{
	char *system __free(kfree) = kmemdup_nul(line->name, colon - line->name,
						  GFP_KERNEL_ACCOUNT);
	struct tp_search search = {
		.line		= line,
		.system		= system,
		.event		= colon + 1,
		.pattern	= strpbrk(line->name, "*?["),
	};
	int ret;

	if (!system)
		return perf_spec_fail(line->error, -ENOMEM, line->name, "out of memory");
	line->attr.type = PERF_TYPE_TRACEPOINT;
	set_defaults(line);
	ret = perf_trace_walk(match_tracepoint, &search);
	if (!ret && !line->nr)
		ret = perf_spec_fail(line->error, -ENOENT, line->name, "no such tracepoint");
	return ret;
}
#else
static int find_tracepoints(struct spec_line *line, char *colon)
{
	return perf_spec_fail(line->error, -ENOENT, line->name, "this kernel has no tracepoints");
}
#endif

/* PMUs whose events need more than numbers */
static bool is_for_tools(const char *name)
{
	return !strcmp(name, "kprobe") || !strcmp(name, "uprobe") || !strcmp(name, "persistent") ||
	       !strcmp(name, "tracepoint") || !strcmp(name, "breakpoint");
}

static int find_pmu(struct spec_line *line)
{
	int type;

	if (is_for_tools(line->name))
		return perf_spec_fail(line->error, -EINVAL, line->name,
				      "config= cannot describe events of this PMU");
	type = perf_pmu_type(line->name);
	if (type < 0)
		return perf_spec_fail(line->error, type, line->name, "no such PMU");
	line->attr.type = type;
	set_defaults(line);
	return add_spec(line, perf_known_name(&line->attr) ?: line->name);
}

static int find_events(struct spec_line *line)
{
	char *colon = strchr(line->name, ':');

	if (!*line->name)
		return perf_spec_fail(line->error, -EINVAL, "", "the name of an event is missing");
	if (colon && line->has_config)
		return perf_spec_fail(line->error, -EINVAL, line->name,
				      "config= is for events of a PMU, not for tracepoints");
	if (colon)
		return find_tracepoints(line, colon);
	if (line->has_config)
		return find_pmu(line);

	if (perf_known_event(line->name, &line->attr)) {
		set_defaults(line);
		return add_spec(line, perf_known_name(&line->attr));
	}
	return perf_spec_fail(line->error, -ENOENT, line->name,
			      "no such event: use SYSTEM:EVENT, cpu-clock, ..., or PMU/config=N/");
}

static int check_filter(struct spec_line *line)
{
	if (!line->filter)
		return 0;
	if (!*line->filter)
		return perf_spec_fail(line->error, -EINVAL, "if", "a filter is missing after it");
	if (line->attr.type != PERF_TYPE_TRACEPOINT)
		return perf_spec_fail(line->error, -EINVAL, line->filter,
				      "only tracepoints have filters");
	return 0;
}

/* isspace() also takes a byte of some characters of UTF-8 for a blank. */
static const char blanks[] = " \t\r\n";

/**
 * perf_spec_trim - remove blanks around a text
 * @text:	the text, which loses those at its end
 *
 * Return: its first other character.
 */
char *perf_spec_trim(char *text)
{
	size_t len;

	text += strspn(text, blanks);
	for (len = strlen(text); len && strchr(blanks, text[len - 1]); len--)
		;
	text[len] = '\0';
	return text;
}

static int parse_line(struct spec_line *line, char *text)
{
	char *rest, *terms;
	int ret = 0;

	line->name = perf_spec_trim(text);
	rest = strpbrk(line->name, blanks);
	if (rest) {
		*rest++ = '\0';
		rest += strspn(rest, blanks);
		if (strncmp(rest, "if", 2) || (rest[2] && !strchr(blanks, rest[2])))
			return perf_spec_fail(line->error, -EINVAL, rest,
					      "only 'if FILTER' can follow an event");
		line->filter = rest + 2 + strspn(rest + 2, blanks);
	}

	terms = strchr(line->name, '/');
	if (terms) {
		*terms++ = '\0';
		ret = parse_terms(line, terms);
	}
	if (!ret)
		ret = find_events(line);
	return ret ? ret : check_filter(line);
}

/**
 * perf_spec_parse - find out which events a line means
 * @text:	the line
 * @specs:	list to which the events are added, if there is no mistake
 * @error:	out: what is wrong, a line without a newline; or NULL
 *
 * Called without a lock.
 *
 * Return: 0, or
 *  -EINVAL	a word that is not understood, or is out of range
 *  -ENOENT	no event, tracepoint or PMU of that name; there may be one later
 *  -E2BIG	a pattern that too many tracepoints match
 *  -ENOMEM	out of memory
 */
int perf_spec_parse(const char *text, struct list_head *specs, struct perf_spec_error *error)
{
	LIST_HEAD(new);
	struct spec_line line = {
		.specs	= &new,
		.error	= error,
		.attr	= perf_spec_attr,
	};
	const char *c;
	char *copy;
	int ret;

	if (error)
		error->text[0] = '\0';
	c = find_control(text);
	if (c)
		return perf_spec_fail(error, -EINVAL, c, "control characters are not allowed");
	/* SET_FILTER has the same limit. */
	if (strlen(text) >= PAGE_SIZE)
		return perf_spec_fail(error, -EINVAL, text, "the line is too long");
	copy = kstrdup(text, GFP_KERNEL_ACCOUNT);
	if (!copy)
		return perf_spec_fail(error, -ENOMEM, text, "out of memory");

	ret = parse_line(&line, copy);
	if (ret)
		perf_spec_free(&new);
	else
		list_splice_tail(&new, specs);
	kfree(copy);
	return ret;
}

/**
 * perf_spec_parse_size - parse the size of a buffer
 * @text:	a number of bytes, with an optional unit K, M or G
 * @size:	out: the size, rounded up to a power of two of pages
 * @error:	out: what is wrong; or NULL
 *
 * Return: 0 or -EINVAL.
 */
int perf_spec_parse_size(const char *text, unsigned long *size, struct perf_spec_error *error)
{
	static const char units[] = "KMG";
	unsigned int digits = strspn(text, "0123456789");
	const char *unit = NULL;
	char number[24];
	u64 bytes;

	/* memparse() would silently accept overflows, signs and hexadecimal numbers. */
	if (text[digits]) {
		unit = strchr(units, toupper(text[digits]));
		if (!unit || text[digits + 1])
			goto err;
	}
	if (!digits || digits >= sizeof(number))
		goto err;
	strscpy(number, text, digits + 1);
	if (kstrtou64(number, 10, &bytes) || !bytes)
		goto err;
	if (unit && check_shl_overflow(bytes, 10 * (unit - units + 1), &bytes))
		goto err;
	/* The number of pages must fit an int, and the size a long, when rounded up. */
	if (bytes > min_t(u64, (u64)INT_MAX / 2 << PAGE_SHIFT, ULONG_MAX / 2))
		return perf_spec_fail(error, -EINVAL, text, "out of range");
	*size = roundup_pow_of_two(PFN_UP(bytes)) << PAGE_SHIFT;
	return 0;

err:
	return perf_spec_fail(error, -EINVAL, text, "not a size such as 256K or 1M");
}

static bool same_but_label(const struct perf_event_spec *a, const struct perf_event_spec *b)
{
	return !memcmp(&a->attr, &b->attr, sizeof(a->attr)) && !strcmp(a->name, b->name) &&
	       !strcmp(a->filter ?: "", b->filter ?: "");
}

/**
 * perf_spec_same - are two events the same
 * @a:		one
 * @b:		the other
 *
 * Return: true if so.
 */
bool perf_spec_same(const struct perf_event_spec *a, const struct perf_event_spec *b)
{
	return same_but_label(a, b) && !strcmp(a->label, b->label);
}

/**
 * perf_spec_means - does an event without a name= match another one
 * @said:	the event as the user wrote it
 * @spec:	the other event, whatever its name=
 *
 * Return: true if @said has no name= and is otherwise the same.
 */
bool perf_spec_means(const struct perf_event_spec *said, const struct perf_event_spec *spec)
{
	return same_but_label(said, spec) &&
	       !strncmp(said->label, said->name, PERF_PERSIST_NAME_SIZE - 1);
}

/* Would perf_spec_parse() make the same event of the text that perf_spec_show() writes? */
static bool can_show(const struct perf_event_spec *spec, const char *known)
{
	const struct perf_event_attr *attr = &spec->attr;
	struct perf_event_attr said = perf_spec_attr;

	said.type = attr->type;
	said.config = attr->config;
	said.config1 = attr->config1;
	said.config2 = attr->config2;
	said.config3 = attr->config3;
	said.exclude_guest = attr->exclude_guest && without_guest(attr);
	said.freq = attr->freq;
	said.sample_period = attr->sample_period;
	said.disabled = attr->disabled;
	said.sample_max_stack = attr->sample_max_stack;
	said.sample_type |= attr->sample_type & PERF_SAMPLE_CALLCHAIN;
	said.sample_type |= more_types(attr, spec->name);
	if (memcmp(&said, attr, sizeof(said)) || !attr->sample_period)
		return false;
	if (strpbrk(spec->label, "/, \t") || find_control(spec->label))
		return false;
	/* A filter must fit a line. Filters of other PMUs, for addresses, cannot be parsed. */
	if (spec->filter && (attr->type != PERF_TYPE_TRACEPOINT || find_control(spec->filter)))
		return false;
	if (attr->type == PERF_TYPE_TRACEPOINT)
		return strchr(spec->name, ':');
	return known || (!is_for_tools(spec->name) && perf_pmu_type(spec->name) == attr->type);
}

/**
 * perf_spec_show - write an event as perf_spec_parse() reads it
 * @m:		where to write it, without a newline
 * @spec:	the event
 *
 * An event that perf made may have more properties than a line can express. Such an event
 * is shown as a comment with its label.
 */
void perf_spec_show(struct seq_file *m, const struct perf_event_spec *spec)
{
	const struct perf_event_attr *attr = &spec->attr;
	const char *known = perf_known_name(attr), *name = known ?: spec->name;

	if (!can_show(spec, known)) {
		seq_puts(m, "# ");
		seq_escape(m, spec->label, "\n\\");
		return;
	}
	seq_printf(m, "%s/", name);
	if (attr->type != PERF_TYPE_TRACEPOINT && !known) {
		seq_printf(m, "config=0x%llx,", attr->config);
		if (attr->config1)
			seq_printf(m, "config1=0x%llx,", attr->config1);
		if (attr->config2)
			seq_printf(m, "config2=0x%llx,", attr->config2);
		if (attr->config3)
			seq_printf(m, "config3=0x%llx,", attr->config3);
	}
	seq_printf(m, "%s=%llu", attr->freq ? "freq" : "period", attr->sample_period);
	if (attr->sample_type & PERF_SAMPLE_CALLCHAIN)
		seq_puts(m, ",callchain");
	if (strcmp(spec->label, name))
		seq_printf(m, ",name=%s", spec->label);
	seq_putc(m, '/');
	if (spec->filter)
		seq_printf(m, " if %s", spec->filter);
}
