/* SPDX-License-Identifier: GPL-2.0 */
/* Tasks that are older than a namespace of persistent events. */
#ifndef __PERF_PERSISTENT_TASKS_H
#define __PERF_PERSISTENT_TASKS_H

#include <linux/types.h>
#include "synthetic-events.h"

struct machine;
struct perf_tool;
struct persistent;
struct persistent_ns;
struct record_opts;

/*
 * Have the kernel keep records of the existing tasks, beside the events of the namespace.
 * Each record ends with a sample_id of @id_hdr_size bytes. Prints a warning if not all are
 * kept. Returns the size of those that are.
 */
u64 persistent__keep_tasks(u64 ns_id, const char *name, struct record_opts *opts,
			   u16 id_hdr_size);

u64 persistent_ns__tasks_size(const struct persistent_ns *ns);

/* Fetch the records while the namespace exists, and process them when the tool is ready. */
int persistent_ns__fetch_tasks(struct persistent_ns *ns);
int persistent__synthesize_tasks(const struct persistent *persistent, const struct perf_tool *tool,
				 perf_event__handler_t process, struct machine *machine);

#endif /* __PERF_PERSISTENT_TASKS_H */
