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
 * Have the kernel keep what is known of the tasks that there are, beside the events of the
 * namespace. The records end with @id_hdr_size bytes. Returns how many bytes they
 * take; 0 if they are not kept, and it was said why.
 */
u64 persistent__keep_tasks(u64 ns_id, const char *name, struct record_opts *opts,
			   u16 id_hdr_size);

u64 persistent_ns__tasks_size(const struct persistent_ns *ns);

/* Get them while the namespace is there, and process them once it is known for what. */
int persistent_ns__fetch_tasks(struct persistent_ns *ns);
int persistent__synthesize_tasks(const struct persistent *persistent, const struct perf_tool *tool,
				 perf_event__handler_t process, struct machine *machine);

#endif /* __PERF_PERSISTENT_TASKS_H */
