/* SPDX-License-Identifier: GPL-2.0 */
/* List namespaces of persistent events for people and for programs. */
#ifndef __PERF_PERSISTENT_LIST_H
#define __PERF_PERSISTENT_LIST_H

#include <stdbool.h>

struct persistent_info;

enum persistent_list_format {
	PERSISTENT_LIST_TABLE,		/* a line each */
	PERSISTENT_LIST_DETAILS,	/* and their events, and a line for all buffers */
	PERSISTENT_LIST_VERBOSE,	/* and each buffer and member */
	PERSISTENT_LIST_JSON,
};

/*
 * Leaves out those that were deleted meanwhile. With @contents, and for tables where that is
 * quick, the buffers are read for the times of the records in them.
 */
int persistent__print_list(char * const *names, int nr, enum persistent_list_format format,
			   bool contents);

/* persistent-json.c */
void persistent__print_json(const struct persistent_info *infos, int nr);

#endif /* __PERF_PERSISTENT_LIST_H */
