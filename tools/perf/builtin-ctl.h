/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_BUILTIN_CTL_H
#define __PERF_BUILTIN_CTL_H

#include <linux/types.h>
#include <subcmd/parse-options.h>
#include "util/persistent-control.h"
#include "util/persistent-save.h"

struct persistent_ns;

/* Exit codes, documented in Documentation/perf-ctl.txt */
#define EXIT_FAILED	1
#define EXIT_USAGE	2
#define EXIT_TIMEOUT	124	/* --wait: the timeout has expired, as for timeout(1) */

/* The parsed command line */
struct perf_ctl {
	int		 nr_args;	/* names as they were given, with patterns */
	const char	**args;
	const char	*word;		/* the command, NULL: an option says what to do */
	bool		 list;
	bool		 show;
	bool		 read;
	bool		 delete;
	bool		 enable;
	bool		 disable;
	bool		 stop;
	bool		 resume;
	bool		 snapshot;
	bool		 clear;
	bool		 resize;
	bool		 trigger;
	bool		 wait;
	bool		 json;
	bool		 contents;
	bool		 follow;
	bool		 set_spares;
	bool		 set_keep;	/* --keep is the command, not an option of one */
	bool		 set_note;	/* the same for --note */
	const char	*number;	/* -n of the words keep and spares */
	const char	*text;		/* --text of the word note */
	const char	*spares;
	const char	*keep;
	const char	*note;
	const char	*mmap_pages;
	const char	*remove;
	const char	*arm;
	const char	*timeout;
	const char	*since;
	const char	*output;
	const char	*cpus;
	const char	*last;
	const char	*from;
	const char	*to;
	const char	*max_size;
	const char	**command;	/* after --, for wait and save */
	const char	*max_files;
	const char	*max_total;
	const char	*compress;
	struct persistent_save_opts save;
	bool		 saves;
	bool		 adds;
	struct persistent_trigger_opts to_trigger;
	u32		 nr;		/* number of --keep, --spares, --remove or --arm */
};

extern struct perf_ctl perf_ctl;

/* builtin-ctl-options.c: options that only words have */
extern const struct option ctl_number_options[];
extern const struct option ctl_note_options[];
extern const struct option ctl_wait_options[];
extern const struct option ctl_save_options[];
extern const struct option ctl_show_options[];
extern const struct option ctl_quiet_options[];
/* builtin-ctl-add.c */
extern const struct option ctl_add_options[];

/* Each prints its own error messages. cmd_ctl() turns a negative value into EXIT_FAILED. */
int perf_ctl__list(int nr_names, const char **names);
int perf_ctl__show(int nr_names, const char **names);
int perf_ctl__read(int nr_names, const char **names);
int perf_ctl__save(int nr_names, const char **names);
int perf_ctl__add(int nr_names, const char **names);
int perf_ctl__delete(int nr_names, const char **names);
int perf_ctl__resize(int nr_names, const char **names);
int perf_ctl__trigger(int nr_names, const char **names);
int perf_ctl__wait(int nr_names, const char **names);

bool perf_ctl__add_has_event(void);

int perf_ctl__on_each_ns(int nr_names, const char **names,
			 int (*func)(struct persistent_ns *ns));
int perf_ctl__take_snapshot(struct persistent_ns *ns);
int perf_ctl__set_spares(struct persistent_ns *ns);
int perf_ctl__set_keep(struct persistent_ns *ns);
int perf_ctl__set_note(struct persistent_ns *ns);
int perf_ctl__parse_pages(unsigned int *pages);	/* the argument of -m */

#endif /* __PERF_BUILTIN_CTL_H */
