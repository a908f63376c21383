// SPDX-License-Identifier: GPL-2.0
/*
 * builtin-ctl.c
 *
 * Builtin ctl command: list, read and control the persistent events that 'perf record -P'
 * leaves in the kernel. This file parses and checks the command line.
 * builtin-ctl-verbs.c has a function for each command.
 */
#include "builtin.h"
#include "builtin-ctl.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/string.h>
#include <subcmd/parse-options.h>
#include "util/debug.h"
#include "util/levenshtein.h"
#include "util/persistent.h"

/*
 * A command is a word, as in 'perf ctl read NAME', or an option, as in 'perf ctl -r NAME'.
 * The options are the older form.
 */

struct perf_ctl perf_ctl;

static const struct option ctl_options[] = {
	OPT_BOOLEAN('l', "list", &perf_ctl.list, "list all namespaces, or the given one"),
	OPT_BOOLEAN('r', "read", &perf_ctl.read, "write the records of a namespace to a file"),
	OPT_BOOLEAN('d', "delete", &perf_ctl.delete, "delete the given namespaces"),
	OPT_BOOLEAN(0, "enable", &perf_ctl.enable, "enable the events of the given namespaces"),
	OPT_BOOLEAN(0, "disable", &perf_ctl.disable,
		    "disable the events of the given namespaces"),
	OPT_BOOLEAN(0, "stop", &perf_ctl.stop,
		    "freeze the records of the given namespaces, as a trigger does"),
	OPT_BOOLEAN(0, "resume", &perf_ctl.resume,
		    "resume recording in namespaces that were stopped"),
	OPT_BOOLEAN('s', "snapshot", &perf_ctl.snapshot,
		    "keep the records of the given namespaces, and continue with empty buffers"),
	OPT_STRING(0, "keep", &perf_ctl.keep, "number",
		   "number of snapshots to keep of each given namespace"),
	OPT_STRING(0, "note", &perf_ctl.note, "text",
		   "attach a text to the given namespaces, or to the snapshots of -s"),
	OPT_STRING(0, "spares", &perf_ctl.spares, "number",
		   "preallocate buffers for this many snapshots of each given namespace"),
	OPT_BOOLEAN(0, "clear", &perf_ctl.clear, "drop the records of the given namespaces"),
	OPT_BOOLEAN(0, "resize", &perf_ctl.resize,
		    "continue with buffers of the size -m; the old ones become a snapshot"),
	OPT_BOOLEAN('t', "trigger", &perf_ctl.trigger,
		    "let the kernel stop or take a snapshot when an event happens"),
	OPT_BOOLEAN(0, "wait", &perf_ctl.wait,
		    "wait until a snapshot of the namespace is taken, or a trigger stops it"),
	OPT_INCR('v', "verbose", &verbose, "be more verbose"),
	OPT_GROUP("Options of -l"),
	OPT_BOOLEAN('j', "json", &perf_ctl.json, "print JSON, for programs"),
	OPT_BOOLEAN(0, "contents", &perf_ctl.contents,
		    "read the buffers to show how far back they go"),
	OPT_GROUP("Options of -r"),
	OPT_STRING('o', "output", &perf_ctl.output, "file", "output file, - for a pipe"),
	OPT_STRING('C', "cpu", &perf_ctl.cpus, "cpu", "read only these CPUs"),
	OPT_STRING(0, "last", &perf_ctl.last, "time",
		   "read only records that are at most this old, as in 30s"),
	OPT_STRING(0, "from", &perf_ctl.from, "time",
		   "read only from this time on, in seconds of the perf clock or as in 03:14"),
	OPT_STRING(0, "to", &perf_ctl.to, "time", "read only up to this time"),
	OPT_STRING(0, "max-size", &perf_ctl.max_size, "size",
		   "limit the output to this size (B, K, M or G); the newest samples are kept"),
	OPT_GROUP("Option of --resize"),
	OPT_STRING('m', "mmap-pages", &perf_ctl.mmap_pages, "pages",
		   "size of the buffers, in pages or in B, K, M or G"),
	OPT_GROUP("Options of -t"),
	OPT_STRING(0, "when", &perf_ctl.to_trigger.when, "event",
		   "an event, or panic, oops, softlockup, warning, hung-task, rcu-stall or oom"),
	OPT_STRING(0, "filter", &perf_ctl.to_trigger.filter, "filter",
		   "act only on events that match, for a tracepoint"),
	OPT_STRING(0, "count", &perf_ctl.to_trigger.count, "number",
		   "act on every Nth event on a CPU"),
	OPT_STRING(0, "do", &perf_ctl.to_trigger.action, "action", "stop or snapshot"),
	OPT_STRING(0, "after", &perf_ctl.to_trigger.after, "time",
		   "keep recording this long before the action, as in 200ms"),
	OPT_STRING(0, "cool-down", &perf_ctl.to_trigger.cool_down, "time",
		   "act at most once in this time; default 1s for snapshots, 0 for no limit"),
	OPT_STRING(0, "times", &perf_ctl.to_trigger.times, "number", "act at most this many times"),
	OPT_STRING(0, "remove", &perf_ctl.remove, "number", "remove the trigger with this number"),
	OPT_STRING(0, "arm", &perf_ctl.arm, "number",
		   "let the trigger with this number act again, as often as --times said"),
	OPT_GROUP("Option of --wait"),
	OPT_STRING(0, "timeout", &perf_ctl.timeout, "time", "wait at most this long"),
	OPT_END()
};

enum {
	USAGE_LIST, USAGE_READ, USAGE_DELETE, USAGE_ENABLE, USAGE_STOP, USAGE_SNAPSHOT,
	USAGE_KEEP, USAGE_SPARES, USAGE_NOTE, USAGE_CLEAR, USAGE_RESIZE, USAGE_TRIGGER,
	USAGE_REMOVE, USAGE_WAIT,
};

static const char * const ctl_usage[] = {
	[USAGE_LIST] = "perf ctl -l [-v | --json] [--contents] [<namespace>]",
	[USAGE_READ] = "perf ctl -r <namespace> [-o <file>] [<options>]",
	[USAGE_DELETE] = "perf ctl -d <namespace>...",
	[USAGE_ENABLE] = "perf ctl --enable | --disable <namespace>...",
	[USAGE_STOP] = "perf ctl --stop | --resume <namespace>...",
	[USAGE_SNAPSHOT] = "perf ctl -s [--keep <number>] [--note <text>] <namespace>...",
	[USAGE_KEEP] = "perf ctl --keep <number> <namespace>...",
	[USAGE_NOTE] = "perf ctl --note <text> <namespace>...",
	[USAGE_SPARES] = "perf ctl --spares <number> <namespace>...",
	[USAGE_CLEAR] = "perf ctl --clear <namespace>...",
	[USAGE_RESIZE] = "perf ctl --resize <namespace> -m <size> [--keep <number>]",
	[USAGE_TRIGGER] = "perf ctl -t <namespace> --when <event> --do stop|snapshot [<options>]",
	[USAGE_REMOVE] = "perf ctl -t <namespace> --remove <number> | --arm <number>",
	[USAGE_WAIT] = "perf ctl --wait <namespace> [--timeout <time>] [-- <command>]",
	NULL
};

/* A verb whose word and long option have the same name, called for each namespace in turn */
#define VERB_EACH(_word, _usage)						\
	.word = #_word, .option = "--" #_word, .given = &perf_ctl._word,	\
	.each = persistent_ns__##_word, .usage = _usage,			\
	.word_usage = "perf ctl " #_word " <namespace>...",			\
	.min = 1, .max = INT_MAX, .live = true

/* The command line has exactly one of these verbs, with @min to @max names. */
static const struct verb {
	const char	*word;
	const char	*option;	/* NULL: the verb is only a word */
	bool		*given;
	int		(*each)(struct persistent_ns *ns);	/* for each namespace, or */
	int		(*run)(int argc, const char **argv);	/* once for all */
	int		usage;		/* usage of the option, */
	const char	*word_usage;	/* and of the word */
	/* Options that only the word has, and the ones in ctl_options that it takes */
	const struct option *own;
	const char	*options;
	int		min;
	int		max;
	bool		one;		/* a pattern must match one namespace only */
	bool		live;		/* patterns do not match snapshots */
} verbs[] = {
	{
		.word = "list", .option = "-l", .given = &perf_ctl.list, .run = perf_ctl__list,
		.usage = USAGE_LIST,
		.word_usage = "perf ctl list [-v | --json] [--contents] [<namespace>...]",
		.options = "json contents verbose", .min = 0, .max = 1,
	}, {
		.word = "show", .given = &perf_ctl.show, .run = perf_ctl__show,
		.word_usage = "perf ctl show <namespace> [-f] [-C <cpus>] [--last <time>]",
		.own = ctl_show_options, .options = "cpu last", .min = 1, .max = 1, .one = true,
	}, {
		.word = "read", .option = "-r", .given = &perf_ctl.read, .run = perf_ctl__read,
		.usage = USAGE_READ,
		.word_usage = "perf ctl read <namespace> [-o <file>] [<options>]",
		.options = "output cpu last from to max-size verbose", .min = 1, .max = 1,
	}, {
		.word = "save", .given = &perf_ctl.saves, .run = perf_ctl__save,
		.word_usage = "perf ctl save <namespace> --to <directory> [<options>] [-- <command>]",
		.own = ctl_save_options, .options = "last", .min = 1, .max = 1,
		.one = true, .live = true,
	}, {
		.word = "delete", .option = "-d", .given = &perf_ctl.delete,
		.run = perf_ctl__delete,
		.usage = USAGE_DELETE, .word_usage = "perf ctl delete <namespace>... [-q]",
		.own = ctl_quiet_options, .min = 1, .max = INT_MAX,
	}, {
		.word = "add", .given = &perf_ctl.adds, .run = perf_ctl__add,
		.word_usage = "perf ctl add <namespace> -e <event> [<options>]",
		.own = ctl_add_options, .options = "mmap-pages verbose", .min = 1, .max = 1,
		.one = true, .live = true,
	}, {
		VERB_EACH(enable, USAGE_ENABLE),
	}, {
		VERB_EACH(disable, USAGE_ENABLE),
	}, {
		VERB_EACH(stop, USAGE_STOP),
	}, {
		VERB_EACH(resume, USAGE_STOP),
	}, {
		.word = "snapshot", .option = "-s", .given = &perf_ctl.snapshot,
		.each = perf_ctl__take_snapshot, .usage = USAGE_SNAPSHOT,
		.word_usage = "perf ctl snapshot <namespace>... [<options>]",
		.own = ctl_quiet_options, .options = "keep note", .min = 1, .max = INT_MAX,
		.live = true,
	}, {
		.word = "spares", .option = "--spares", .given = &perf_ctl.set_spares,
		.each = perf_ctl__set_spares, .usage = USAGE_SPARES,
		.word_usage = "perf ctl spares <namespace>... -n <number>",
		.own = ctl_number_options, .min = 1, .max = INT_MAX, .live = true,
	}, {
		.word = "keep", .option = "--keep", .given = &perf_ctl.set_keep,
		.each = perf_ctl__set_keep, .usage = USAGE_KEEP,
		.word_usage = "perf ctl keep <namespace>... -n <number>",
		.own = ctl_number_options, .min = 1, .max = INT_MAX, .live = true,
	}, {
		.word = "note", .option = "--note", .given = &perf_ctl.set_note,
		.each = perf_ctl__set_note, .usage = USAGE_NOTE,
		.word_usage = "perf ctl note <namespace>... --text <text>",
		.own = ctl_note_options, .min = 1, .max = INT_MAX,
	}, {
		VERB_EACH(clear, USAGE_CLEAR),
	}, {
		.word = "resize", .option = "--resize", .given = &perf_ctl.resize,
		.run = perf_ctl__resize, .usage = USAGE_RESIZE,
		.word_usage = "perf ctl resize <namespace> -m <size> [--keep <number>] [-q]",
		.own = ctl_quiet_options, .options = "mmap-pages keep", .min = 1, .max = 1,
		.live = true,
	}, {
		.word = "trigger", .option = "-t", .given = &perf_ctl.trigger,
		.run = perf_ctl__trigger,
		.usage = USAGE_TRIGGER,
		.word_usage = "perf ctl trigger <namespace> --when <event> --do stop|snapshot [<options>]\n"
			      "    or: perf ctl trigger <namespace> --remove <number> | --arm <number>",
		.own = ctl_quiet_options,
		.options = "when filter count do after cool-down times keep remove arm",
		.min = 1, .max = 1, .live = true,
	}, {
		.word = "wait", .option = "--wait", .given = &perf_ctl.wait, .run = perf_ctl__wait,
		.usage = USAGE_WAIT,
		.word_usage = "perf ctl wait <namespace> [<options>] [-- <command>]",
		.own = ctl_wait_options, .options = "timeout", .min = 1, .max = 1,
		.one = true, .live = true,
	},
};

static const struct verb *find_word(const char *word)
{
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		if (!strcmp(verbs[i].word, word))
			return &verbs[i];
	}
	return NULL;
}

/* Print the reason, then the usage of this command alone, not of all commands. */
static int err_usage(const char *usage, const char *fmt, ...) __printf(2, 3);

static int err_usage(const char *usage, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fprintf(stderr, ".\n Usage: %s\n", usage);
	return EXIT_USAGE;
}

/* Name and usage in the form that the user chose, word or option */
static const char *verb__name(const struct verb *verb)
{
	return perf_ctl.word ?: verb->option;
}

static const char *verb__usage(const struct verb *verb)
{
	return perf_ctl.word ? verb->word_usage : ctl_usage[verb->usage];
}

/* Check for options without the verb that they belong to, and for missing options. */
static int check_options(void)
{
	const struct verb *word = perf_ctl.word ? find_word(perf_ctl.word) : NULL;
	const struct persistent_trigger_opts *to = &perf_ctl.to_trigger;
	const bool adds = to->when || to->filter || to->count || to->action || to->after ||
			  to->cool_down || to->times;
	const bool keeps = perf_ctl.trigger && perf_ctl.keep;
	const char *resize = perf_ctl.word ?: "--resize", *trigger = perf_ctl.word ?: "-t";
	const struct {
		bool		given;
		bool		good;
		int		usage;
		const char	*who;
		const char	*msg;
	} checks[] = {
		{ perf_ctl.output || perf_ctl.cpus || perf_ctl.last || perf_ctl.from ||
		  perf_ctl.to || perf_ctl.max_size,
		  perf_ctl.read || perf_ctl.saves || perf_ctl.show, USAGE_READ, "",
		  "-o, -C, --last, --from, --to and --max-size belong to -r; "
		  "show takes -C and --last, save --last" },
		{ perf_ctl.json || perf_ctl.contents, perf_ctl.list, USAGE_LIST,
		  perf_ctl.json ? "-j" : "--contents", " belongs to -l" },
		{ perf_ctl.mmap_pages, perf_ctl.resize || perf_ctl.adds, USAGE_RESIZE, "",
		  "-m belongs to --resize, and to add" },
		{ perf_ctl.adds, perf_ctl__add_has_event(), 0, perf_ctl.word,
		  " needs an event: -e" },
		{ perf_ctl.resize, perf_ctl.mmap_pages, USAGE_RESIZE, resize, " needs a size: -m" },
		{ adds || perf_ctl.remove || perf_ctl.arm, perf_ctl.trigger, USAGE_TRIGGER, "",
		  "--when, --filter, --count, --do, --after, --cool-down, --times, --remove and --arm belong to -t"
		},
		{ perf_ctl.trigger && !perf_ctl.remove && !perf_ctl.arm,
		  to->when && to->action, USAGE_TRIGGER,
		  trigger, " needs --when and --do to add a trigger, or --remove, or --arm" },
		{ perf_ctl.remove || perf_ctl.arm,
		  !adds && !keeps && !(perf_ctl.remove && perf_ctl.arm), USAGE_REMOVE, "",
		  "--remove and --arm take no other option of a trigger" },
		{ keeps, to->action && strcmp(to->action, "stop"), USAGE_TRIGGER, trigger,
		  " takes --keep only with '--do snapshot'" },
		{ word && word->own == ctl_number_options, perf_ctl.number, 0, perf_ctl.word,
		  " needs a number: -n" },
		{ word && word->own == ctl_note_options, perf_ctl.text, 0, perf_ctl.word,
		  " needs a text: --text" },
		{ perf_ctl.saves, perf_ctl.save.dir, 0, perf_ctl.word, " needs a directory: --to" },
		{ perf_ctl.timeout, perf_ctl.wait, USAGE_WAIT, "", "--timeout belongs to --wait" },
		{ perf_ctl.command, perf_ctl.wait || perf_ctl.saves, USAGE_WAIT, "",
		  perf_ctl.word ? "Only wait and save take a command" :
				  "Only --wait takes a command" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(checks); i++) {
		if (checks[i].given && !checks[i].good)
			return err_usage(word ? word->word_usage : ctl_usage[checks[i].usage],
					 "%s%s", checks[i].who, checks[i].msg);
	}
	return 0;
}

/* The word 'list' takes several names, the option -l takes one. */
static int verb__max(const struct verb *verb)
{
	return perf_ctl.word && verb->given == &perf_ctl.list ? INT_MAX : verb->max;
}

static int check_names(const struct verb *verb, int argc, const char **argv)
{
	int max = verb__max(verb);

	if (argc < verb->min)
		return err_usage(verb__usage(verb),
				 "%s needs the name of a namespace, see 'perf ctl -l'",
				 verb__name(verb));
	if (argc > max)
		return err_usage(verb__usage(verb),
				 "%s takes one namespace: '%s' is one too many",
				 verb__name(verb), argv[max]);
	return 0;
}

/* Find the word that the user most likely meant. NULL: all are too different. */
static const struct verb *nearest_word(const char *arg)
{
	int best = strlen(arg) / 3 + 1;
	const struct verb *nearest = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		int distance = strstarts(verbs[i].word, arg) ? 0 :
			       levenshtein(arg, verbs[i].word, 1, 1, 1, 1);

		if (distance < best) {
			best = distance;
			nearest = &verbs[i];
		}
	}
	return nearest;
}

/* @arg: the argument in the place of a word, or NULL */
static void err_no_verb(const char *arg)
{
	const struct verb *nearest = arg && *arg ? nearest_word(arg) : NULL;

	if (nearest && !strcmp(nearest->word, arg))
		err_usage(nearest->word_usage, "Nothing to do: write '%s' before all options", arg);
	else if (nearest)
		err_usage(nearest->word_usage,
			  "Nothing to do: '%s' is not a command. Did you mean '%s'? 'perf ctl -h' lists all",
			  arg, nearest->word);
	else
		err_usage("perf ctl <command> [<options>] [<namespace>...]",
			  "Nothing to do%s%s%s: give a command, as in 'perf ctl list'. 'perf ctl -h' lists all commands",
			  arg ? " with '" : "", arg ?: "", arg ? "'" : "");
}

/* Find the verb whose option is given. NULL: none or several are, and the user was told. */
static const struct verb *find_verb(const char *arg)
{
	const struct verb *verb = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		if (!*verbs[i].given)
			continue;
		if (verb) {
			err_usage(ctl_usage[verbs[i].usage],
				  "%s and %s cannot be used together: use one at a time",
				  verb->option, verbs[i].option);
			return NULL;
		}
		verb = &verbs[i];
	}

	if (!verb)
		err_no_verb(arg);
	return verb;
}

/* Cut off @argv at --. Return the command after it, or NULL if there is none. */
static const char **split_command(int *argc, const char **argv)
{
	for (int i = 0; i < *argc; i++) {
		if (!strcmp(argv[i], "--")) {
			*argc = i;
			return argv[i + 1] ? argv + i + 1 : NULL;
		}
	}
	return NULL;
}

/*
 * Words
 */

static bool has_word(const char *words, const char *word)
{
	size_t len = strlen(word);

	for (const char *pos = words; pos && (pos = strstr(pos, word)); pos += len) {
		if ((pos == words || pos[-1] == ' ') && (!pos[len] || pos[len] == ' '))
			return true;
	}
	return false;
}

/* Collect the options that only the word has, and the ones in ctl_options that it takes. */
static void verb__collect_options(const struct verb *verb, struct option *options)
{
	const struct option end = OPT_END(), *opt;
	int nr = 0;

	for (opt = verb->own; opt && opt->type != OPTION_END; opt++)
		options[nr++] = *opt;
	for (opt = ctl_options; opt->type != OPTION_END; opt++) {
		if (opt->long_name && has_word(verb->options, opt->long_name))
			options[nr++] = *opt;
	}
	options[nr] = end;
}

/* 'perf ctl -h' lists the words first, as the options are the older form. */
static int parse_with_options(int argc, const char **argv)
{
	const char *words[ARRAY_SIZE(verbs) + 1] = {};
	const char *usage[ARRAY_SIZE(verbs) + ARRAY_SIZE(ctl_usage)] = {};
	int nr = 0;

	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		words[i] = verbs[i].word;
		usage[nr++] = verbs[i].word_usage;
	}
	for (size_t i = 0; ctl_usage[i]; i++)
		usage[nr++] = ctl_usage[i];

	return parse_options_subcommand(argc, argv, ctl_options, words, usage,
					PARSE_OPT_KEEP_DASHDASH);
}

static bool is_option(const char *arg, const struct option *option)
{
	if (arg[0] != '-' || !arg[1])
		return false;
	if (arg[1] == '-')
		return !strcmp(arg + 2, option->long_name);
	return arg[1] == option->short_name && !arg[2];
}

/*
 * A word can also be the name of a namespace. It is a name if such a namespace exists and
 * an option says what to do. Without such a namespace it is a word, and the parser refuses
 * the option.
 */
static bool is_said_with_option(const struct verb *word, int argc, const char **argv)
{
	if (!persistent__exists(word->word))
		return false;

	for (int i = 0; i < argc && strcmp(argv[i], "--"); i++) {
		for (const struct option *opt = ctl_options; opt->type != OPTION_GROUP; opt++) {
			if (opt->value != &verbose && is_option(argv[i], opt) &&
			    !has_word(word->options, opt->long_name))
				return true;
		}
	}
	return false;
}

static int parse_with_word(const struct verb *verb, int argc, const char **argv)
{
	const char * const usage[] = { verb->word_usage, NULL };
	struct option options[ARRAY_SIZE(ctl_options) + 8];

	perf_ctl.word = verb->word;
	*verb->given = true;
	verb__collect_options(verb, options);
	return parse_options(argc, argv, options, usage, PARSE_OPT_KEEP_DASHDASH);
}

static int verb__run(const struct verb *verb, int argc, const char **argv)
{
	return verb->each ? perf_ctl__on_each_ns(argc, argv, verb->each) : verb->run(argc, argv);
}

static int run_on_names(const struct verb *verb, int argc, const char **argv)
{
	char **names;
	int err, nr = 0;

	/* perf_ctl__delete() expands patterns itself, to ignore matches that vanish. */
	if (verb->run == perf_ctl__delete)
		return verb->run(argc, argv);

	perf_ctl.nr_args = argc;
	perf_ctl.args = argv;
	names = persistent__expand_names(argc, argv, verb->live);
	if (!names)
		return EXIT_FAILED;

	while (names[nr])
		nr++;
	if (verb->one && nr > 1) {
		pr_err("'%s' matches %d namespaces, but %s takes one.\n", argv[0], nr,
		       verb__name(verb));
		err = EXIT_FAILED;
	} else {
		err = verb__run(verb, nr, (const char **)names);
	}
	persistent__free_names(names);
	return err;
}

static int parse_numbers(void)
{
	if (perf_ctl.note && persistent__check_note(perf_ctl.text ? "--text" : "--note",
						    perf_ctl.note))
		return -EINVAL;
	if (perf_ctl.keep)
		return persistent__parse_number(perf_ctl.number ? "-n" : "--keep", perf_ctl.keep, 1,
						PERF_PERSIST_KEEP_MAX, &perf_ctl.nr);
	if (perf_ctl.spares)
		return persistent__parse_number(perf_ctl.number ? "-n" : "--spares",
						perf_ctl.spares, 0,
						PERF_PERSIST_SPARES_MAX, &perf_ctl.nr);
	return 0;
}

int cmd_ctl(int argc, const char **argv)
{
	const char *list[3] = { "ctl", "list", NULL };
	const struct verb *verb;
	int err;

	/* List for people at a terminal. In a script, a missing command is an error. */
	if (argc == 1 && isatty(STDOUT_FILENO)) {
		argc = 2;
		argv = list;
	}

	verb = argc > 1 ? find_word(argv[1]) : NULL;
	if (verb && !is_said_with_option(verb, argc - 2, argv + 2)) {
		argv++;
		argc = parse_with_word(verb, argc - 1, argv);
	} else {
		verb = NULL;
		argc = parse_with_options(argc, argv);
	}
	perf_ctl.command = split_command(&argc, argv);

	if (!verb) {
		perf_ctl.set_spares = perf_ctl.spares;
		perf_ctl.set_keep = perf_ctl.keep && !perf_ctl.snapshot && !perf_ctl.resize &&
				    !perf_ctl.trigger;
		perf_ctl.set_note = perf_ctl.note && !perf_ctl.snapshot;
	} else if (perf_ctl.set_spares) {
		perf_ctl.spares = perf_ctl.number;
	} else if (perf_ctl.set_keep) {
		perf_ctl.keep = perf_ctl.number;
	} else if (perf_ctl.set_note) {
		perf_ctl.note = perf_ctl.text;
	}

	/* Check options before a missing verb: they tell better what the user meant. */
	err = check_options();
	if (err)
		return err;
	verb = verb ?: find_verb(argc ? argv[0] : NULL);
	if (!verb)
		return EXIT_USAGE;
	err = check_names(verb, argc, argv);
	if (err)
		return err;

	if (persistent__check_supported() || parse_numbers())
		return EXIT_FAILED;

	err = run_on_names(verb, argc, argv);
	return err < 0 ? EXIT_FAILED : err;
}
