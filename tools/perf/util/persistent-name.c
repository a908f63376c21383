// SPDX-License-Identifier: GPL-2.0
/*
 * Names of namespaces of persistent events, and labels of their members.
 *
 * This file checks names, lists and matches those that exist, and prints the errors for
 * names that are missing or taken.
 */
#include "persistent.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <api/fs/fs.h>
#include <linux/ctype.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include "debug.h"
#include "json-print.h"
#include "levenshtein.h"
#include "parse-events.h"
#include "strbuf.h"
#include "string2.h"
#include "util.h"

#define MAX_USER_NAME	PERF_PERSIST_USER_NAME_MAX

/* Printed by the commands, and by the parser for events on their command lines */
#define MSG_MISSING	"There is no namespace called '%s'"

/*
 * The word in persistent/word/, if the parser would look for an event of that name
 * in the PMU. NULL: the word means something to the parser itself.
 */
static const char *terms__event(const struct parse_events_terms *terms)
{
	const struct parse_events_term *term;

	if (list_empty(&terms->terms))
		return "";

	term = list_first_entry(&terms->terms, struct parse_events_term, list);
	if (term->type_term == PARSE_EVENTS__TERM_TYPE_RAW)
		return term->val.str;
	if (parse_events_term__names_event(term))
		return term->config;
	return NULL;
}

static bool parsed_as_event(const char *name)
{
	struct parse_events_terms terms;
	bool ret;

	parse_events_terms__init(&terms);
	ret = !parse_events_terms(&terms, name) && terms__event(&terms);
	parse_events_terms__exit(&terms);
	return ret;
}

int persistent__check_name(const char *name)
{
	size_t len = strlen(name);
	bool good = len && len <= MAX_USER_NAME && (islower(name[0]) || name[0] == '_');

	for (const char *c = name; good && *c; c++)
		good = islower(*c) || isdigit(*c) || *c == '_' || *c == '-';

	if (!good) {
		pr_err("'%s' cannot be the name of a namespace: a name has up to %d of a-z, 0-9, '_'\n"
		       "and '-', and starts with a letter or '_'.\n", name, MAX_USER_NAME);
		return -EINVAL;
	}

	if (!parsed_as_event(name)) {
		pr_err("'%s' cannot be the name of a namespace: in '-e " PERSISTENT_PMU
		       "/%s/' it means\nsomething else. Choose another name.\n", name, name);
		return -EINVAL;
	}

	/* The kernel refuses it, as perffs has a file of that name. */
	if (!strcmp(name, "error_log")) {
		pr_err("'%s' cannot be the name of a namespace: the kernel has reserved it. Choose another name.\n",
		       name);
		return -EINVAL;
	}

	return 0;
}

void persistent__err_taken(const char *name)
{
	pr_err("There is a namespace called '%s' already.\n"
	       "Choose another name. 'perf ctl -d %s' deletes that one, with all that it holds.\n",
	       name, name);
}

static void err_denied(const char *name)
{
	pr_err("No permission to open the namespace '%s': %s.\n", name, persistent__help_perfmon());
}

/* The name that the user most likely meant; NULL: all are too different. */
static const char *nearest_name(char **names, const char *name)
{
	int best = strlen(name) / 2 + 1;
	const char *nearest = NULL;

	for (int i = 0; names[i]; i++) {
		int distance = levenshtein(name, names[i], 1, 1, 1, 1);

		if (distance < best) {
			best = distance;
			nearest = names[i];
		}
	}
	return nearest;
}

/* There may be hundreds of names: suggest a similar one, and tell how to list them. */
static char *help_missing(const char *name)
{
	char **names = persistent__names();
	struct strbuf sb = STRBUF_INIT;
	const char *nearest;

	if (names && names[0]) {
		nearest = nearest_name(names, name);
		if (nearest)
			strbuf_addf(&sb, "Did you mean '%s'? ", nearest);
		strbuf_addstr(&sb, "'perf ctl -l' lists those that exist.");
	} else {
		strbuf_addstr(&sb, "There are none: see 'perf record -P NAME -e EVENTS -a'.");
	}
	persistent__free_names(names);
	return strbuf_detach(&sb, NULL);
}

static void err_missing(const char *name)
{
	char *help = help_missing(name);

	pr_err(MSG_MISSING ".\n%s\n", name, help ?: "");
	free(help);
}

u32 persistent__snapshot_number(const char *name, const char *of)
{
	size_t len = strlen(of);
	unsigned long nr;
	char *end;

	if (strncmp(name, of, len) || name[len] != '.' || !isdigit(name[len + 1]))
		return 0;

	nr = strtoul(name + len + 1, &end, 10);
	return *end || nr > UINT_MAX ? 0 : nr;
}

/* The order is: flight, flight.2, flight.10, flight-deck. */
static int name_cmp(const void *_a, const void *_b)
{
	const char *a = *(char * const *)_a, *b = *(char * const *)_b;
	size_t len_a = strcspn(a, "."), len_b = strcspn(b, ".");
	int cmp = strncmp(a, b, min(len_a, len_b));

	if (cmp || len_a != len_b)
		return cmp ?: (len_a < len_b ? -1 : 1);

	/* The longer number is the larger one. */
	len_a = strlen(a);
	len_b = strlen(b);
	return len_a == len_b ? strcmp(a, b) : (len_a < len_b ? -1 : 1);
}

char **persistent__names(void)
{
	char path[PATH_MAX], **names;
	struct dirent *dent;
	size_t nr = 0;
	DIR *dir;

	names = calloc(1, sizeof(*names));
	if (!names)
		return NULL;

	scnprintf(path, sizeof(path), "%s/" PERSISTENT_SYSFS "/events", sysfs__mountpoint() ?: "");
	dir = opendir(path);
	if (!dir)
		return names;

	while ((dent = readdir(dir))) {
		char **more;

		if (dent->d_name[0] == '.')
			continue;

		more = realloc(names, (nr + 2) * sizeof(*names));
		if (!more)
			break;
		names = more;
		names[nr] = strdup(dent->d_name);
		names[nr + 1] = NULL;
		if (!names[nr])
			break;
		nr++;
	}
	closedir(dir);

	qsort(names, nr, sizeof(*names), name_cmp);
	return names;
}

void persistent__free_names(char **names)
{
	for (int i = 0; names && names[i]; i++)
		free(names[i]);
	free(names);
}

/*
 * Patterns
 */

bool persistent__is_pattern(const char *name)
{
	return strpbrk(name, "*?[");
}

static void err_no_match(const char *pattern, bool live)
{
	int len = (int)strlen(pattern) - (int)strlen(".*");

	if (!live && len > 0 && !strcmp(pattern + len, ".*") &&
	    (int)strcspn(pattern, "*?[") > len)
		pr_err("There are no snapshots of '%.*s'.\n", len, pattern);
	else
		pr_err("No namespace matches '%s'%s.\n", pattern,
		       live ? " (snapshots are not considered)" : "");
}

char **persistent__match_names(const char *pattern, bool live)
{
	char **names = persistent__names();
	int nr = 0;

	for (int i = 0; names && names[i]; i++) {
		if (strglobmatch(names[i], pattern) && !(live && strchr(names[i], '.')))
			names[nr++] = names[i];
		else
			free(names[i]);
	}
	if (!names || !nr) {
		err_no_match(pattern, live);
		free(names);
		return NULL;
	}
	names[nr] = NULL;
	return names;
}

static int add_name(char ***names, int *nr, char *name)
{
	char **more = name ? realloc(*names, (*nr + 2) * sizeof(*more)) : NULL;

	if (!more) {
		free(name);
		return -ENOMEM;
	}
	*names = more;
	more[(*nr)++] = name;
	more[*nr] = NULL;
	return 0;
}

static int add_matching(char ***names, int *nr, const char *pattern, bool live)
{
	char **matching = persistent__match_names(pattern, live);
	int err = matching ? 0 : -ENOENT;

	for (int i = 0; matching && matching[i]; i++) {
		if (err)
			free(matching[i]);
		else
			err = add_name(names, nr, matching[i]);
	}
	free(matching);
	return err;
}

char **persistent__expand_names(int argc, const char **argv, bool live)
{
	char **names = calloc(1, sizeof(*names));
	int nr = 0, err = names ? 0 : -ENOMEM;

	for (int i = 0; i < argc && !err; i++) {
		if (persistent__is_pattern(argv[i]))
			err = add_matching(&names, &nr, argv[i], live);
		else
			err = add_name(&names, &nr, strdup(argv[i]));
	}
	if (err) {
		persistent__free_names(names);
		names = NULL;
	}
	return names;
}

/* Every user may know that a name exists. */
bool persistent__exists(const char *name)
{
	char **names = persistent__names();
	bool found = false;

	for (int i = 0; names && names[i] && !found; i++)
		found = !strcmp(names[i], name);
	persistent__free_names(names);
	return found;
}

int persistent__err_open(int err, const char *name)
{
	char buf[STRERR_BUFSIZE];

	switch (err) {
	case 0:
		break;
	case -ENOENT:
	case -EINVAL:	/* an invalid name does not exist either */
		err_missing(name);
		break;
	case -EACCES:
	case -EPERM:
		err_denied(name);
		break;
	default:
		pr_err("Cannot open the namespace '%s': %s\n", name,
		       str_error_r(-err, buf, sizeof(buf)));
		break;
	}
	return err;
}

/* Snapshots outlive the namespace, and use memory. */
void persistent__tell_of_snapshots(const char *name)
{
	char **names = persistent__names();
	struct strbuf sb = STRBUF_INIT;

	for (int i = 0; names && names[i]; i++) {
		if (persistent__snapshot_number(names[i], name))
			strbuf_addf(&sb, " %s", names[i]);
	}
	if (sb.len)
		pr_info("The snapshots of '%s' remain:%s.\nDelete them with 'perf ctl -d \"%s.*\"'.\n",
			name, sb.buf, name);
	strbuf_release(&sb);
	persistent__free_names(names);
}

/* Number of bytes of the character at @str if it is safe to print, else 0 */
static int printable(const char *str)
{
	unsigned char first = *str;
	unsigned int c;
	int len;

	if (first < 0x80)
		return first >= ' ' && first != 0x7f;

	/* The first characters after ASCII are control characters, too. */
	len = utf8__char(str, &c);
	return len && c >= 0xa0 ? len : 0;
}

/* An owner may choose names, but must not control the terminals of other users. */
void persistent__make_printable(char *str)
{
	for (int len; *str; str += len ?: 1) {
		len = printable(str);
		if (!len)
			*str = '?';
	}
}

/* Each label once, in the order in which the events were made. */
static const char **ns__labels(const struct persistent_ns *ns, int *nr)
{
	const char **labels = calloc(ns->nr_members, sizeof(*labels));

	*nr = 0;
	for (int i = 0; labels && i < ns->nr_members; i++) {
		const char *label = ns->members[i].label;
		bool seen = persistent_member__is_sideband(&ns->members[i]);

		label = *label ? label : "-";
		for (int j = 0; j < *nr && !seen; j++)
			seen = !strcmp(label, labels[j]);
		if (!seen)
			labels[(*nr)++] = label;
	}

	return labels;
}

/* Join the first @nr of @of labels, and add how many more there are. */
static char *join_labels(const char **labels, int nr, int of)
{
	struct strbuf sb = STRBUF_INIT;

	for (int i = 0; i < nr; i++)
		strbuf_addf(&sb, "%s%s", i ? "," : "", labels[i]);
	if (nr < of)
		strbuf_addf(&sb, "(+%d)", of - nr);
	return strbuf_detach(&sb, NULL);
}

/* Not even the first label fits: cut its end, but keep at least one letter. */
static char *cut_label(const char *label, int nr_others, int width)
{
	char others[16] = "", *str;

	if (nr_others)
		scnprintf(others, sizeof(others), "(+%d)", nr_others);
	width -= strlen(others) + strlen("..");
	if (asprintf(&str, "%.*s..%s", max(width, 1), label, others) < 0)
		str = NULL;
	return str;
}

/* As many labels as fit: sched:sched_switch,cpu-clock(+2) */
char *persistent_ns__events_within(const struct persistent_ns *ns, size_t width)
{
	int nr, of;
	const char **labels = ns__labels(ns, &of);
	char *str;

	if (!labels)
		return NULL;

	str = join_labels(labels, of, of);
	for (nr = of - 1; nr > 0 && strlen(str) > width; nr--) {
		free(str);
		str = join_labels(labels, nr, of);
	}
	if (of && strlen(str) > width) {
		free(str);
		str = cut_label(labels[0], of - 1, width);
	}

	free(labels);
	return str;
}

char *persistent_ns__events(const struct persistent_ns *ns)
{
	return persistent_ns__events_within(ns, SIZE_MAX);
}

/* The same by name. NULL: the caller may not open the namespace */
char *persistent__events_of(const char *name)
{
	struct persistent_ns *ns;
	char *events = NULL;

	if (!persistent_ns__lookup(name, /*write=*/false, &ns) && !persistent_ns__list(ns))
		events = persistent_ns__events(ns);
	persistent_ns__close(ns);
	return events;
}

/*
 * The parser calls this for persistent/.../ before it looks for the event, so that
 * the error is about a missing namespace, not about a missing event.
 */
int persistent__check_event(const struct parse_events_terms *terms, int column,
			    struct parse_events_error *err)
{
	const char *name = terms ? terms__event(terms) : "";
	char *msg;

	if (!persistent__supported()) {
		parse_events_error__handle(err, column, strdup(PERSISTENT_UNSUPPORTED),
					   strdup(PERSISTENT_UNSUPPORTED_HELP));
		return -EINVAL;
	}

	/* The user gave an id, or something that the parser will complain about. */
	if (!name)
		return 0;

	if (persistent__exists(name))
		return 0;

	if (asprintf(&msg, MSG_MISSING, name) < 0)
		return -ENOMEM;
	parse_events_error__handle(err, column, msg, help_missing(name));
	return -EINVAL;
}
