/* SPDX-License-Identifier: GPL-2.0 */
/* List namespaces of persistent events for people and for programs. */
#ifndef __PERF_PERSISTENT_LIST_H
#define __PERF_PERSISTENT_LIST_H

#include <stdbool.h>

struct persistent_info;

enum persistent_list_format {
	PERSISTENT_LIST_TABLE,		/* a line for each namespace */
	PERSISTENT_LIST_DETAILS,	/* also its events, and lines for all buffers */
	PERSISTENT_LIST_VERBOSE,	/* also each buffer and member */
	PERSISTENT_LIST_JSON,
};

/*
 * Leaves out namespaces that were deleted meanwhile. With @contents it reads all buffers for
 * the times of their records. Details for people include the times where that is quick.
 */
int persistent__print_list(char * const *names, int nr, enum persistent_list_format format,
			   bool contents);

/* persistent-json.c */
void persistent__print_json(const struct persistent_info *infos, int nr);

#endif /* __PERF_PERSISTENT_LIST_H */
