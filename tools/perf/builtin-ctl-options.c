// SPDX-License-Identifier: GPL-2.0
/*
 * builtin-ctl-options.c
 *
 * Options of perf ctl that only words have, as in 'perf ctl keep NAME -n 3'. The older form
 * without words does not know them. verbs[] in builtin-ctl.c assigns them to words.
 */
#include "builtin-ctl.h"

#include <subcmd/parse-options.h>
#include "util/debug.h"

/* For keep and spares, whose option form takes the number as its value */
const struct option ctl_number_options[] = {
	OPT_STRING('n', "number", &perf_ctl.number, "number", "how many"),
	OPT_END()
};

const struct option ctl_note_options[] = {
	OPT_STRING(0, "text", &perf_ctl.text, "text", "what to attach, \"\" for nothing"),
	OPT_END()
};

const struct option ctl_wait_options[] = {
	OPT_STRING(0, "since", &perf_ctl.since, "number",
		   "do not wait if there is a snapshot of a higher number"),
	OPT_BOOLEAN('q', "quiet", &quiet, "print the name of the snapshot alone, and errors"),
	OPT_END()
};

const struct option ctl_save_options[] = {
	OPT_STRING(0, "to", &perf_ctl.save.dir, "directory", "where to save snapshots"),
	OPT_STRING(0, "max-files", &perf_ctl.max_files, "number",
		   "remove the oldest file when there are more"),
	OPT_STRING(0, "max-total", &perf_ctl.max_total, "size",
		   "remove the oldest files when all are larger, B, K, M or G"),
	OPT_STRING(0, "compress", &perf_ctl.compress, "zstd[:level]", "compress the files"),
	OPT_BOOLEAN('q', "quiet", &quiet, "say nothing but what went wrong"),
	OPT_END()
};

const struct option ctl_show_options[] = {
	OPT_BOOLEAN('f', "follow", &perf_ctl.follow, "go on with what is recorded from then on"),
	OPT_END()
};

const struct option ctl_quiet_options[] = {
	OPT_BOOLEAN('q', "quiet", &quiet, "print names and numbers alone, and errors"),
	OPT_END()
};
