// SPDX-License-Identifier: GPL-2.0
/*
 * Tasks that are older than a namespace of persistent events.
 *
 * Events record what tasks do from then on, but not which tasks exist already.
 * perf record reads that from /proc when it starts. 'perf record -P' does so, too,
 * but exits before a file is written, so it hands the records to the kernel. When the
 * namespace is read, many of these tasks are gone, and only the kernel still has
 * their records.
 */
#include "persistent-tasks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/string.h>
#include <linux/zalloc.h>
#include "debug.h"
#include "event.h"
#include "evsel.h"
#include "machine.h"
#include "persistent.h"
#include "record.h"
#include "synthetic-events.h"
#include "tool.h"
#include "util.h"

#define MIN_ROOM	(64 * 1024)

/* If not all fits, names matter more than maps, so leave room for them. */
#define MAX_WITH_MAPS	(PERF_PERSIST_TASKS_MAX / 4 * 3)

/*
 * Making them
 */

struct tasks {
	struct perf_tool tool;
	char		*records;
	size_t		 size;
	size_t		 room;
	bool		 dropped;
	int		 err;
};

static int tasks__reserve(struct tasks *tasks, size_t size)
{
	size_t room = max_t(size_t, tasks->room, MIN_ROOM);
	char *records;

	while (room < tasks->size + size)
		room *= 2;
	if (room == tasks->room)
		return 0;

	records = realloc(tasks->records, room);
	if (!records)
		return -ENOMEM;
	tasks->records = records;
	tasks->room = room;
	return 0;
}

static int tasks__add(const struct perf_tool *tool, union perf_event *event,
		      struct perf_sample *sample __maybe_unused,
		      struct machine *machine __maybe_unused)
{
	struct tasks *tasks = container_of(tool, struct tasks, tool);
	size_t size = event->header.size;
	size_t max = event->header.type == PERF_RECORD_MMAP2 ? MAX_WITH_MAPS :
							       PERF_PERSIST_TASKS_MAX;

	if (tasks->size + size > max) {
		tasks->dropped = true;
		return 0;
	}
	if (!tasks->err)
		tasks->err = tasks__reserve(tasks, size);
	if (tasks->err)
		return -1;

	memcpy(tasks->records + tasks->size, event, size);
	tasks->size += size;
	return 0;
}

/* The records belong to no event: ids and times are 0, as perf record writes them. */
static int tasks__collect(struct tasks *tasks, struct record_opts *opts, u16 id_hdr_size)
{
	struct machines machines;
	int err;

	perf_tool__init(&tasks->tool, /*ordered_events=*/false);
	tasks->tool.namespace_events = opts->record_namespaces;
	tasks->tool.cgroup_events = opts->record_cgroup;

	machines__init(&machines);
	machines__set_id_hdr_size(&machines, id_hdr_size);

	if (perf_event__synthesize_cgroups(&tasks->tool, tasks__add, &machines.host) < 0)
		pr_debug("Couldn't synthesize cgroup events.\n");
	err = __machine__synthesize_threads(&machines.host, &tasks->tool, &opts->target,
					    /*threads=*/NULL, tasks__add, /*needs_mmap=*/true,
					    opts->sample_address, /*nr_threads_synthesize=*/1);
	machines__exit(&machines);
	return tasks->err ?: (err < 0 ? -EIO : 0);
}

static int ns__set_tasks(u64 ns_id, const struct tasks *tasks)
{
	struct perf_event_tasks arg = {
		.size = sizeof(arg),
		.addr = (u64)(unsigned long)tasks->records,
		.len  = tasks->size,
	};
	struct persistent_ns *ns;
	int err = persistent_ns__lookup_id(ns_id, /*write=*/true, &ns);

	if (!err && ioctl(ns->fd, PERF_EVENT_IOC_SET_TASKS, &arg))
		err = -errno;
	persistent_ns__close(ns);
	return err;
}

static void warn_keep(int err, const char *name)
{
	char buf[STRERR_BUFSIZE];
	const char *why;

	switch (err) {
	case -ENOTTY:
		why = "this kernel cannot";
		break;
	case -EPERM:
		why = "it is more than you may lock";
		break;
	case -ENOMEM:
		why = "not enough memory available";
		break;
	case -E2BIG:
		why = "there are too many";
		break;
	default:
		why = str_error_r(-err, buf, sizeof(buf));
		break;
	}
	pr_warning("WARNING: '%s' does not keep %s of the existing tasks, which will be missing\n"
		   "when these tasks have ended: %s\n", name,
		   err == -E2BIG ? "all names and maps" : "the names", why);
}

u64 persistent__keep_tasks(u64 ns_id, const char *name, struct record_opts *opts,
			   u16 id_hdr_size)
{
	struct tasks tasks = { .size = 0 };
	int err;

	err = tasks__collect(&tasks, opts, id_hdr_size) ?: ns__set_tasks(ns_id, &tasks);
	if (err || tasks.dropped)
		warn_keep(err ?: -E2BIG, name);
	free(tasks.records);
	return err ? 0 : tasks.size;
}

/*
 * Reading them
 */

static int ns__get_tasks(const struct persistent_ns *ns, struct perf_event_tasks *arg)
{
	arg->size = sizeof(*arg);
	arg->total = 0;
	return ioctl(ns->fd, PERF_EVENT_IOC_GET_TASKS, arg) ? -errno : 0;
}

u64 persistent_ns__tasks_size(const struct persistent_ns *ns)
{
	struct perf_event_tasks arg = { .len = 0 };

	return ns__get_tasks(ns, &arg) ? 0 : arg.total;
}

static int ns__fetch_tasks(struct persistent_ns *ns)
{
	struct perf_event_tasks arg = { .len = 0 };
	u64 room;
	int err;

	/* Somebody may replace the records meanwhile. */
	do {
		err = ns__get_tasks(ns, &arg);
		if (err || !arg.total)
			return err;

		room = arg.total;
		zfree(&ns->tasks);
		ns->tasks = malloc(room);
		if (!ns->tasks)
			return -ENOMEM;

		arg.addr = (u64)(unsigned long)ns->tasks;
		arg.len = room;
		err = ns__get_tasks(ns, &arg);
		if (err)
			return err;
		ns->tasks_size = arg.len;
		arg.len = 0;
	} while (arg.total != room);

	return 0;
}

int persistent_ns__fetch_tasks(struct persistent_ns *ns)
{
	int err = ns__fetch_tasks(ns);

	if (err)
		ns->tasks_size = 0;
	/* The kernel keeps no such records, or the caller may not see them. */
	return err == -ENOTTY || err == -EACCES || err == -EPERM ? 0 : err;
}

/* Size of the sample_id at the end of each record: as in records of side-band events */
static int ns__id_hdr_size(const struct persistent_ns *ns)
{
	const struct persistent_member *member = &ns->members[0];
	struct evsel *evsel;
	int size = 0;

	for (int i = 0; i < ns->nr_members; i++) {
		if (persistent_member__is_sideband(&ns->members[i])) {
			member = &ns->members[i];
			break;
		}
	}

	evsel = ns->nr_members ? evsel__new((struct perf_event_attr *)&member->attr) : NULL;
	if (!evsel)
		return -ENOMEM;
	if (member->attr.sample_id_all)
		size = evsel__id_hdr_size(evsel);
	evsel__put(evsel);
	return size;
}

/* Size of such a record before its strings; 0: the record is not about tasks */
static size_t min_size(u32 type)
{
	switch (type) {
	case PERF_RECORD_COMM:
		return offsetof(struct perf_record_comm, comm);
	case PERF_RECORD_FORK:
		return sizeof(struct perf_record_fork);
	case PERF_RECORD_MMAP:
		return offsetof(struct perf_record_mmap, filename);
	case PERF_RECORD_MMAP2:
		return offsetof(struct perf_record_mmap2, filename);
	case PERF_RECORD_NAMESPACES:
		return offsetof(struct perf_record_namespaces, link_info);
	case PERF_RECORD_CGROUP:
		return offsetof(struct perf_record_cgroup, path);
	default:
		return 0;
	}
}

/* The kernel keeps what it is given, and whoever made the records may be another user. */
static bool is_sound(const struct perf_event_header *record, size_t size)
{
	const struct perf_record_namespaces *namespaces = (const void *)record;
	size_t least = min_size(record->type);

	if (!least || size < least)
		return false;

	switch (record->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		/* Other maps would replace those of the kernel. */
		return (record->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_USER;
	case PERF_RECORD_NAMESPACES:
		return namespaces->nr_namespaces <=
		       (size - least) / sizeof(namespaces->link_info[0]);
	default:
		return true;
	}
}

/*
 * Somebody else made the records. The events there may have other sample_id fields than
 * the events here. All these fields are zero, so only correct their size.
 */
static int synthesize_record(const struct perf_event_header *record, size_t old_id_size,
			     const struct perf_tool *tool, perf_event__handler_t process,
			     struct machine *machine, union perf_event *event)
{
	size_t size = record->size - old_id_size;

	if (record->size < old_id_size || !is_sound(record, size) ||
	    size + machine->id_hdr_size >= sizeof(*event))
		return 0;

	memset(event, 0, sizeof(*event));
	memcpy(event, record, size);
	event->header.size = size + machine->id_hdr_size;
	return perf_tool__process_synth_event(tool, event, machine, process);
}

static int ns__synthesize_tasks(const struct persistent_ns *ns, const struct perf_tool *tool,
				perf_event__handler_t process, struct machine *machine)
{
	int old_id_size = ns__id_hdr_size(ns), err = 0;
	union perf_event *event;
	size_t pos = 0;

	if (old_id_size < 0)
		return old_id_size;

	event = malloc(sizeof(*event));
	if (!event)
		return -ENOMEM;

	while (!err && pos + sizeof(struct perf_event_header) <= ns->tasks_size) {
		const struct perf_event_header *record = ns->tasks + pos;

		if (record->size < sizeof(*record) || record->size > ns->tasks_size - pos)
			break;
		err = synthesize_record(record, old_id_size, tool, process, machine, event);
		pos += record->size;
	}

	free(event);
	return err;
}

/* A snapshot has the same records as its source. */
static bool is_repeated(const struct persistent *persistent, int nr)
{
	const struct persistent_ns *ns = persistent->ns[nr];

	for (int i = 0; i < nr; i++) {
		const struct persistent_ns *other = persistent->ns[i];

		if (other->tasks_size == ns->tasks_size &&
		    !memcmp(other->tasks, ns->tasks, ns->tasks_size))
			return true;
	}
	return false;
}

int persistent__synthesize_tasks(const struct persistent *persistent, const struct perf_tool *tool,
				 perf_event__handler_t process, struct machine *machine)
{
	int err = 0;

	for (int i = 0; i < persistent->nr_ns && !err; i++) {
		if (persistent->ns[i]->tasks_size && !is_repeated(persistent, i))
			err = ns__synthesize_tasks(persistent->ns[i], tool, process, machine);
	}
	return err;
}
