// SPDX-License-Identifier: GPL-2.0
/*
 * List namespaces of persistent events for people: a line for each, or the details of one.
 *
 * However many CPUs there are, the details have one line for each event, and one for all
 * buffers of a kind. Unless the user asks for more, only as much of the buffers is read as
 * takes a moment.
 */
#include "persistent-list.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/bitmap.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/string.h>
#include <linux/zalloc.h>
#include "debug.h"
#include "evsel_fprintf.h"
#include "persistent.h"
#include "persistent-cell.h"
#include "persistent-control.h"
#include "persistent-info.h"
#include "persistent-table.h"
#include "units.h"
#include "util.h"

/* Read at most that much of all buffers together, unless the user asks for more. */
#define QUICK_BYTES	(64ULL << 20)

/*
 * The namespaces, one a line
 */

enum { NS_NAME, NS_STATE, NS_EVENTS, NS_CPUS, NS_BUFFER, NS_AGE, NS_OWNER };

static const char * const ns_titles[] = {
	"NAME", "STATE", "EVENTS", "CPUS", "BUFFER", "AGE", "OWNER", NULL
};

static const struct persistent_give_way ns_give_way[] = {
	{ NS_EVENTS, 22 }, { NS_OWNER, 12 }, { NS_CPUS, 12 }, { NS_NAME, 16 },
	{ NS_EVENTS, 12 }, { NS_NAME, 1 }, { NS_EVENTS, 9 }, { NS_OWNER, 6 },
	{ NS_CPUS, 6 }, { 0, 0 }
};

static void set_ns_row(char **row, const struct persistent_info *info)
{
	const struct persistent_ns *ns = info->ns;

	row[NS_NAME] = strdup(info->name);
	if (!ns)
		return;

	row[NS_STATE] = cell__state(persistent_info__state(info),
				    bitmap_weight(info->cpus, info->nr_cpus),
				    ns->snapshot ? 0 : bitmap_weight(info->offline, info->nr_cpus));
	row[NS_EVENTS] = persistent_ns__events(ns);
	row[NS_CPUS] = cell__cpus(info->cpus, info->missing, info->nr_cpus);
	row[NS_BUFFER] = cell__bytes(info->buffer_bytes, /*exact=*/true);
	row[NS_AGE] = cell__time(info->age);
	row[NS_OWNER] = cell__owner(ns);
}

/* Print how many events there are that do not fit. */
static void shorten_events(struct persistent_table *table, const struct persistent_info *infos)
{
	int width = table->widths[NS_EVENTS], used = strlen(table->titles[NS_EVENTS]);

	for (int i = 0; i < table->nr_rows; i++) {
		char **cell = &table->rows[i][NS_EVENTS];

		if (!*cell)
			continue;
		free(*cell);
		*cell = persistent_ns__events_within(infos[i].ns, width);
		used = max(used, persistent_table__columns(*cell ?: "-"));
	}
	table->widths[NS_EVENTS] = min(width, used);
}

static void print_namespaces(const struct persistent_info *infos, int nr)
{
	struct persistent_table table;

	persistent_table__init(&table, ns_titles, ns_give_way);
	for (int i = 0; i < nr; i++) {
		char **row = persistent_table__add_row(&table);

		if (row)
			set_ns_row(row, &infos[i]);
	}

	persistent_table__fit(&table);
	shorten_events(&table, infos);
	persistent_table__print(&table);
	persistent_table__exit(&table);
}

/*
 * The events of a namespace
 */

enum { EV_EVENT, EV_STATE, EV_CPUS, EV_BUFFER, EV_LOST, EV_CGROUP };

static const char * const event_titles[] = {
	"EVENT", "STATE", "CPUS", "BUFFER", "LOST", NULL
};

static const char * const cgroup_event_titles[] = {
	"EVENT", "STATE", "CPUS", "BUFFER", "LOST", "CGROUP", NULL
};

static const struct persistent_give_way event_give_way[] = {
	{ EV_CPUS, 20 }, { EV_EVENT, 20 }, { EV_CPUS, 6 }, { EV_EVENT, 1 }, { 0, 0 }
};

/* The buffer of each CPU */
static char *event_buffer_str(const struct persistent_event *event)
{
	const struct persistent_member *member = event->first;

	if (!member->buffer_size)
		return strdup("none");
	if (member->output_id != member->id)
		return strdup("shared");
	return cell__bytes(member->buffer_size, /*exact=*/true);
}

static bool has_cgroups(const struct persistent_info *info)
{
	for (int i = 0; i < info->nr_events; i++) {
		if (info->events[i].first->cgroup_id)
			return true;
	}
	return false;
}

static void print_events(const struct persistent_info *info)
{
	int nr = info->nr_cpus;
	struct persistent_table table;

	persistent_table__init(&table, has_cgroups(info) ? cgroup_event_titles : event_titles,
			       event_give_way);
	for (int i = 0; i < info->nr_events; i++) {
		const struct persistent_event *event = &info->events[i];
		char **row = persistent_table__add_row(&table);

		if (!row)
			break;
		row[EV_EVENT] = persistent_member__is_sideband(event->first) ?
				strdup("(tasks and maps)") : cell__label(event->first);
		row[EV_STATE] = cell__state(persistent_event__state(info->ns, event),
					    event->nr_members, info->ns->snapshot ? 0 :
					    bitmap_weight(event->offline, nr));
		row[EV_CPUS] = cell__cpus(event->cpus, event->missing, nr);
		row[EV_BUFFER] = event_buffer_str(event);
		row[EV_LOST] = cell__number(event->lost);
		row[EV_CGROUP] = cell__cgroup(event->first->cgroup_id);
	}

	persistent_table__fit(&table);
	persistent_table__print(&table);
	persistent_table__exit(&table);
}

/* Filters may be long: print each on a line of its own. */
static void print_filters(const struct persistent_info *info)
{
	const char *before = "\n";

	for (int i = 0; i < info->nr_events; i++) {
		const struct persistent_member *first = info->events[i].first;
		char *filter = persistent_ns__member_filter(info->ns, first->id);

		if (filter)
			printf("%sFilter of %s: %s\n", before, first->label, filter);
		before = filter ? "" : before;
		free(filter);
	}
}

/*
 * The buffers of a namespace
 */

enum { RING_CPU, RING_OF, RING_BUFFER, RING_FILLED, RING_OLDEST, RING_NEWEST, RING_OVERWRITTEN,
	RING_LOST };

static const char * const ring_titles[] = {
	"CPU", "OF", "BUFFER", "FILLED", "OLDEST", "NEWEST", "OVERWRITTEN", "LOST", NULL
};

static void add_ring(struct persistent_table *table, const struct persistent_info *info, char *cpu,
		     bool sideband, u64 bytes, const struct persistent_ring *ring)
{
	char **row = persistent_table__add_row(table);

	if (!row) {
		free(cpu);
		return;
	}

	row[RING_CPU] = cpu;
	row[RING_OF] = strdup(sideband ? "tasks" : "events");
	row[RING_BUFFER] = cell__bytes(bytes, /*exact=*/true);
	row[RING_LOST] = cell__number(ring->lost);
	if (ring->counted) {
		u64 filled = min(ring->written, bytes);

		row[RING_FILLED] = cell__fmt("%u%%", (unsigned int)(filled * 100 / bytes));
		row[RING_OVERWRITTEN] = cell__bytes(ring->overwritten, /*exact=*/false);
	}
	if (ring->seen) {
		row[RING_OLDEST] = cell__back(info, ring->oldest);
		row[RING_NEWEST] = cell__back(info, ring->newest);
	}
}

/* With @each a line for each CPU; and one line for all buffers of the kind */
static void add_rings(struct persistent_table *table, const struct persistent_info *info,
		      bool sideband, bool each)
{
	struct persistent_ring sum = persistent_info__sum(info, sideband);
	unsigned long *cpus = bitmap_zalloc(info->nr_cpus);
	u64 bytes = 0, filled = 0;
	int nr = 0;

	for (int i = 0; i < info->nr_rings && cpus; i++) {
		const struct persistent_ring *ring = &info->rings[i];
		const struct persistent_member *member = ring->member;

		if (ring->sideband != sideband)
			continue;
		if (each)
			add_ring(table, info, cell__fmt("%d", member->cpu), sideband,
				 member->buffer_size, ring);
		if (member->cpu >= 0)
			__set_bit(member->cpu, cpus);
		bytes += member->buffer_size;
		filled += min(ring->written, member->buffer_size);
		nr++;
	}

	/* Each buffer counts up to its size: one that overwrites does not fill the others. */
	sum.written = filled;
	if (nr > each)
		add_ring(table, info, cell__cpus(cpus, NULL, info->nr_cpus), sideband, bytes,
			 &sum);
	bitmap_free(cpus);
}

/* Are there buffers whose records were not read? */
static bool has_unseen(const struct persistent_info *info)
{
	for (int i = 0; i < info->nr_rings; i++) {
		if (info->rings[i].counted && !info->rings[i].seen)
			return true;
	}
	return false;
}

static void print_rings(const struct persistent_info *info, bool each)
{
	struct persistent_table table;

	if (!info->nr_rings)
		return;

	printf("\n");
	persistent_table__init(&table, ring_titles, NULL);
	add_rings(&table, info, /*sideband=*/false, each);
	add_rings(&table, info, /*sideband=*/true, each);
	persistent_table__fit(&table);
	persistent_table__print(&table);
	persistent_table__exit(&table);
	if (has_unseen(info))
		printf("\nOLDEST and NEWEST: use --contents, which reads all of the buffers.\n");
}

/*
 * The triggers and snapshots of a namespace
 */

enum { TRIG_NR, TRIG_WHEN, TRIG_DO, TRIG_AFTER, TRIG_COOL_DOWN, TRIG_FIRED, TRIG_DONE, TRIG_LAST,
	TRIG_RESULT };

static const char * const trigger_titles[] = {
	"NR", "WHEN", "DO", "AFTER", "COOL-DOWN", "FIRED", "DONE", "LAST", "RESULT", NULL
};

static const struct persistent_give_way trigger_give_way[] = {
	{ TRIG_WHEN, 20 }, { TRIG_RESULT, 16 }, { TRIG_WHEN, 4 }, { 0, 0 }
};

static char *trigger_result_str(const struct persistent_ns *ns,
				const struct persistent_trigger *trigger)
{
	char buf[STRERR_BUFSIZE];

	if (trigger->state.error)
		return strdup(persistent_trigger__error(trigger, buf, sizeof(buf)));
	if (trigger->state.snapshot)
		return cell__fmt("%s.%u", ns->name, trigger->state.snapshot);
	if (trigger->state.acted && trigger->asked.action == PERF_TRIGGER_DO_STOP)
		return strdup("stopped");
	return NULL;
}

static void set_trigger_row(char **row, const struct persistent_info *info,
			    const struct persistent_trigger *trigger)
{
	/* created_ns is of the same clock as last_fired_ns. */
	u64 now = info->ns->created_ns + info->age, last = trigger->state.last_fired_ns;

	row[TRIG_NR] = cell__number(trigger->asked.number);
	row[TRIG_WHEN] = trigger->asked.label[0] ? strdup(trigger->asked.label) : NULL;
	row[TRIG_DO] = strdup(persistent_trigger__action(&trigger->asked));
	row[TRIG_AFTER] = cell__duration(trigger->asked.after_ns);
	row[TRIG_COOL_DOWN] = cell__duration(trigger->asked.cool_down_ns);
	row[TRIG_FIRED] = cell__number(trigger->state.fired);
	row[TRIG_DONE] = trigger->asked.times ?
			 cell__fmt("%" PRIu64 "/%" PRIu64, (u64)trigger->state.acted,
				   (u64)trigger->asked.times) :
			 cell__number(trigger->state.acted);
	if (last)
		row[TRIG_LAST] = cell__time(now > last ? now - last : 0);
	row[TRIG_RESULT] = trigger_result_str(info->ns, trigger);
}

static void print_triggers(const struct persistent_info *info)
{
	struct persistent_table table;

	if (!info->nr_triggers)
		return;

	printf("\n");
	persistent_table__init(&table, trigger_titles, trigger_give_way);
	for (int i = 0; i < info->nr_triggers; i++) {
		char **row = persistent_table__add_row(&table);

		if (row)
			set_trigger_row(row, info, &info->triggers[i]);
	}
	persistent_table__fit(&table);
	persistent_table__print(&table);
	persistent_table__exit(&table);
}

static void print_snapshots(const struct persistent_info *info)
{
	const struct persistent_ns *ns = info->ns;

	if (ns->snapshot) {
		printf("\nThis is snapshot %u of '%.*s', taken ", ns->number,
		       (int)strcspn(ns->name, "."), ns->name);
		if (ns->trigger)
			printf("by trigger %u.\n", ns->trigger);
		else
			printf("by hand.\n");
	} else if (ns->number || ns->spares) {
		printf("\nSnapshots: ");
		if (ns->number)
			printf("the last one was '%s.%u', ", ns->name, ns->number);
		printf("at most %u are kept, %u spare%s.\n", ns->keep, ns->spares,
		       ns->spares == 1 ? "" : "s");
	}
}

/*
 * The members of a namespace and their attrs, for verbose output
 */

enum { MEMBER_ID, MEMBER_CPU, MEMBER_STATE, MEMBER_OUTPUT, MEMBER_LOST, MEMBER_EVENT };

static const char * const member_titles[] = {
	"ID", "CPU", "STATE", "OUTPUT", "LOST", "EVENT", NULL
};

static void print_members(const struct persistent_info *info)
{
	struct persistent_table table;

	persistent_table__init(&table, member_titles, NULL);
	for (int i = 0; i < info->ns->nr_members; i++) {
		const struct persistent_member *member = &info->ns->members[i];
		char **row = persistent_table__add_row(&table);

		if (!row)
			break;
		row[MEMBER_ID] = cell__number(member->id);
		row[MEMBER_CPU] = cell__fmt("%d", member->cpu);
		row[MEMBER_STATE] = cell__state(persistent_member__state(info->ns, member), 1,
						!info->ns->snapshot &&
						member->flags & PERF_PERSIST_OFFLINE);
		if (member->output_id)
			row[MEMBER_OUTPUT] = cell__number(member->output_id);
		row[MEMBER_LOST] = cell__number(member->lost);
		row[MEMBER_EVENT] = cell__label(member);
	}

	persistent_table__fit(&table);
	persistent_table__print(&table);
	persistent_table__exit(&table);
}

static void print_attrs(const struct persistent_info *info)
{
	struct perf_attr_details details = { .verbose = true };

	for (int i = 0; i < info->nr_events; i++) {
		if (info->events[i].evsel)
			evsel__fprintf(info->events[i].evsel, &details, stdout);
	}
}

static void print_missed(const struct persistent_info *info)
{
	if (info->missed)
		printf("\nNot taken while it was stopped: %" PRIu64 " records.\n", info->missed);
}

/* Only if the namespace has spares or snapshots */
static void print_memory(const struct persistent_info *info)
{
	u64 spares = persistent_info__spare_bytes(info);
	char buffers[32], tasks[32], spare[32], snapshots[32], all[32];

	if (!spares && !info->snapshot_bytes)
		return;

	unit_number__scnprintf_exact(buffers, sizeof(buffers), info->buffer_bytes);
	unit_number__scnprintf_exact(tasks, sizeof(tasks), round_up(info->tasks_bytes, 1024));
	unit_number__scnprintf_exact(spare, sizeof(spare), spares);
	unit_number__scnprintf_exact(snapshots, sizeof(snapshots), info->snapshot_bytes);
	unit_number__scnprintf_exact(all, sizeof(all),
				     round_up(persistent_info__memory(info), 1024));
	printf("Memory: %s in all: %s of buffers, %s of tasks, %s of spares, %s of snapshots.\n",
	       all, buffers, tasks, spare, snapshots);
}

/* Sum of all that may be opened. Snapshots are listed, too, so do not add snapshot_bytes. */
static void print_sum(const struct persistent_info *infos, int nr)
{
	u64 bytes = 0;
	char sum[32];

	for (int i = 0; i < nr; i++) {
		if (infos[i].ns)
			bytes += infos[i].buffer_bytes + persistent_info__spare_bytes(&infos[i]) +
				 round_up(infos[i].tasks_bytes, 1024);
	}
	unit_number__scnprintf_exact(sum, sizeof(sum), bytes);
	printf("\nMemory of all, with spares: %s\n", sum);
}

static void print_details(const struct persistent_info *info, bool each)
{
	print_namespaces(info, 1);
	if (!info->ns)
		return;

	if (info->ns->note[0])
		printf("\nNote: %s\n", info->ns->note);
	printf("\n");
	print_events(info);
	print_filters(info);
	print_rings(info, each);
	print_triggers(info);
	print_snapshots(info);
	print_memory(info);
	print_missed(info);
	if (each) {
		printf("\n");
		print_members(info);
		printf("\n");
		print_attrs(info);
	}
}

static void print_infos(const struct persistent_info *infos, int nr,
			enum persistent_list_format format)
{
	if (format == PERSISTENT_LIST_JSON) {
		persistent__print_json(infos, nr);
	} else if (format != PERSISTENT_LIST_TABLE) {
		for (int i = 0; i < nr; i++) {
			if (i)
				printf("\n");
			print_details(&infos[i], format == PERSISTENT_LIST_VERBOSE);
		}
	} else if (nr) {
		print_namespaces(infos, nr);
		if (nr > 1)
			print_sum(infos, nr);
	}
}

/* @all: names of all namespaces; @room: bytes of buffers that may still be read */
static int info__get(struct persistent_info *info, const char *name,
		     enum persistent_list_format format, char * const *all, u64 *room)
{
	int err = persistent_info__init(info, name);
	bool contents;

	if (err || !info->ns || format == PERSISTENT_LIST_TABLE)
		return err;

	if (!info->ns->snapshot)
		persistent_info__count_snapshots(info, all);
	contents = info->buffer_bytes <= *room;
	if (contents)
		*room -= info->buffer_bytes;
	err = persistent_info__look(info, contents);
	if (err)
		persistent_info__exit(info);
	return err;
}

int persistent__print_list(char * const *names, int nr, enum persistent_list_format format,
			   bool contents)
{
	u64 room = contents ? ULLONG_MAX : format == PERSISTENT_LIST_JSON ? 0 : QUICK_BYTES;
	struct persistent_info *infos = calloc(nr ?: 1, sizeof(*infos));
	int nr_infos = 0, ret = 0;
	char **all = NULL;

	if (!infos)
		return -ENOMEM;
	/* Get them once: for each namespace again, the cost would be quadratic. */
	if (format != PERSISTENT_LIST_TABLE)
		all = persistent__names();

	for (int i = 0; i < nr; i++) {
		int err = info__get(&infos[nr_infos], names[i], format, all, &room);

		if (!err) {
			nr_infos++;
		} else if (err != -ENOENT && err != -ENODEV) {
			/* A namespace that was just deleted is no error. */
			persistent__err_open(err, names[i]);
			ret = err;
		}
	}

	print_infos(infos, nr_infos, format);
	if (!nr && format == PERSISTENT_LIST_TABLE && isatty(STDOUT_FILENO))
		printf("There are no namespaces. A reboot removes them, but not saved files.\n");

	for (int i = 0; i < nr_infos; i++)
		persistent_info__exit(&infos[i]);
	persistent__free_names(all);
	free(infos);
	return ret;
}
