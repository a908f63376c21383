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
	OPT_STRING('n', "number", &perf_ctl.number, "number", "number of snapshots"),
	OPT_END()
};

const struct option ctl_note_options[] = {
	OPT_STRING(0, "text", &perf_ctl.text, "text", "text to attach, \"\" removes it"),
	OPT_END()
};

const struct option ctl_wait_options[] = {
	OPT_STRING(0, "since", &perf_ctl.since, "number",
		   "do not wait if a snapshot with a higher number exists"),
	OPT_BOOLEAN('q', "quiet", &quiet, "print only the name of the snapshot, and errors"),
	OPT_END()
};

const struct option ctl_save_options[] = {
	OPT_STRING(0, "to", &perf_ctl.save.dir, "directory", "where to save snapshots"),
	OPT_STRING(0, "max-files", &perf_ctl.max_files, "number",
		   "keep this many files at most, remove the oldest"),
	OPT_STRING(0, "max-total", &perf_ctl.max_total, "size",
		   "keep this much in all (B, K, M or G), remove the oldest files"),
	OPT_STRING(0, "compress", &perf_ctl.compress, "zstd[:level]", "compress the files"),
	OPT_BOOLEAN('q', "quiet", &quiet, "print errors only"),
	OPT_END()
};

const struct option ctl_show_options[] = {
	OPT_BOOLEAN('f', "follow", &perf_ctl.follow, "keep running, and print new records"),
	OPT_END()
};

const struct option ctl_quiet_options[] = {
	OPT_BOOLEAN('q', "quiet", &quiet, "print only names and numbers, and errors"),
	OPT_END()
};
