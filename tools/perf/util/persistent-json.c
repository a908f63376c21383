// SPDX-License-Identifier: GPL-2.0
/*
 * List namespaces of persistent events for programs.
 *
 * The output is documented in Documentation/perf-ctl.txt. New keys may be added, but
 * existing ones must stay.
 */
#include "persistent-list.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <linux/bitmap.h>
#include <linux/kernel.h>
#include "cgroup.h"
#include "json-print.h"
#include "evsel.h"
#include "persistent.h"
#include "persistent-control.h"
#include "persistent-info.h"

#define LIST_VERSION	1

static void print_cpus(struct json_print *json, const char *key, const unsigned long *cpus, int nr)
{
	const char *comma = "";
	int cpu;

	json_print__key(json, key);
	fputc('[', json->out);
	for_each_set_bit(cpu, cpus, nr) {
		fprintf(json->out, "%s%d", comma, cpu);
		comma = ", ";
	}
	fputc(']', json->out);
}

/* A value of 0 means that it is not known. */
static void print_known(struct json_print *json, const char *key, u64 value)
{
	if (value)
		json_print__u64(json, key, value);
	else
		json_print__null(json, key);
}

static void print_if(bool known, struct json_print *json, const char *key, u64 value)
{
	if (known)
		json_print__u64(json, key, value);
	else
		json_print__null(json, key);
}

static void print_member(struct json_print *json, const struct persistent_ns *ns,
			 const struct persistent_member *member)
{
	json_print__begin(json, NULL, '{');
	json_print__u64(json, "id", member->id);
	json_print__u64(json, "cpu", member->cpu);
	json_print__string(json, "state", persistent_member__state(ns, member));
	json_print__bool(json, "offline", member->flags & PERF_PERSIST_OFFLINE);
	print_known(json, "output_id", member->output_id);
	json_print__u64(json, "lost", member->lost);
	json_print__u64(json, "missed", member->missed);
	json_print__end(json, '}');
}

static void print_attr(struct json_print *json, const struct perf_event_attr *attr)
{
	json_print__begin(json, "attr", '{');
	json_print__u64(json, "type", attr->type);
	json_print__u64(json, "config", attr->config);
	json_print__u64(json, "config1", attr->config1);
	json_print__u64(json, "config2", attr->config2);
	if (attr->freq) {
		json_print__null(json, "sample_period");
		json_print__u64(json, "sample_freq", attr->sample_freq);
	} else {
		json_print__u64(json, "sample_period", attr->sample_period);
		json_print__null(json, "sample_freq");
	}
	json_print__u64(json, "sample_type", attr->sample_type);
	json_print__u64(json, "read_format", attr->read_format);
	json_print__end(json, '}');
}

static void print_cgroup(struct json_print *json, u64 id)
{
	char *path = id ? cgroup__path_of_id(id) : NULL;

	json_print__string(json, "cgroup", path);
	free(path);
}

static void print_filter(struct json_print *json, const struct persistent_ns *ns, u64 id)
{
	char *filter = persistent_ns__member_filter(ns, id);

	json_print__string(json, "filter", filter);
	free(filter);
}

static void print_event(struct json_print *json, const struct persistent_info *info, int nr)
{
	const struct persistent_event *event = &info->events[nr];
	const struct persistent_member *first = event->first;

	json_print__begin(json, NULL, '{');
	json_print__string(json, "name", first->label[0] ? first->label : NULL);
	json_print__bool(json, "sideband", persistent_member__is_sideband(first));
	json_print__string(json, "state", persistent_event__state(info->ns, event));
	print_cpus(json, "cpus", event->cpus, info->nr_cpus);
	print_cpus(json, "cpus_offline", event->offline, info->nr_cpus);
	print_cpus(json, "cpus_missing", event->missing, info->nr_cpus);
	json_print__u64(json, "lost", event->lost);
	json_print__u64(json, "missed", event->missed);
	print_known(json, "cgroup_id", first->cgroup_id);
	print_cgroup(json, first->cgroup_id);
	print_filter(json, info->ns, first->id);
	if (event->evsel)
		print_attr(json, &event->evsel->core.attr);
	else
		json_print__null(json, "attr");

	json_print__begin(json, "members", '[');
	for (int i = 0; i < info->ns->nr_members; i++) {
		if (info->event_of[i] == nr)
			print_member(json, info->ns, &info->ns->members[i]);
	}
	json_print__end(json, ']');
	json_print__end(json, '}');
}

static void print_ring(struct json_print *json, const struct persistent_ring *ring)
{
	const struct persistent_member *member = ring->member;

	json_print__begin(json, NULL, '{');
	json_print__u64(json, "id", member->id);
	json_print__u64(json, "cpu", member->cpu);
	json_print__bool(json, "sideband", ring->sideband);
	json_print__u64(json, "bytes", member->buffer_size);
	json_print__u64(json, "lost", ring->lost);
	print_if(ring->counted, json, "written_bytes", ring->written);
	print_if(ring->counted, json, "overwritten_bytes", ring->overwritten);
	print_if(ring->seen, json, "held_bytes", ring->held);
	print_if(ring->seen, json, "records", ring->nr_records);
	print_known(json, "oldest_ns", ring->oldest);
	print_known(json, "newest_ns", ring->newest);
	json_print__end(json, '}');
}

static void print_owner(struct json_print *json, const struct persistent_ns *ns)
{
	struct passwd *pw = getpwuid(ns->owner_uid);

	json_print__begin(json, "owner", '{');
	json_print__u64(json, "uid", ns->owner_uid);
	json_print__string(json, "user", pw ? pw->pw_name : NULL);
	json_print__string(json, "comm", ns->owner_comm);
	json_print__end(json, '}');
}

static void print_snapshot(struct json_print *json, const struct persistent_ns *ns)
{
	if (!ns->snapshot) {
		json_print__null(json, "snapshot");
		json_print__u64(json, "keep", ns->keep);
		json_print__u64(json, "spares", ns->spares);
		print_known(json, "last_snapshot", ns->number);
		return;
	}

	json_print__begin(json, "snapshot", '{');
	json_print__u64(json, "of_id", ns->source_id);
	json_print__u64(json, "number", ns->number);
	print_known(json, "trigger", ns->trigger);
	json_print__u64(json, "begin_ns", ns->swap_begin_ns);
	json_print__end(json, '}');
	json_print__null(json, "keep");
	json_print__null(json, "spares");
	json_print__null(json, "last_snapshot");
}

static void print_trigger(struct json_print *json, const struct persistent_trigger *trigger)
{
	static const char * const when[] = { "event", "panic", "oops", "softlockup" };

	json_print__begin(json, NULL, '{');
	json_print__u64(json, "number", trigger->asked.number);
	json_print__string(json, "when", trigger->asked.when < ARRAY_SIZE(when) ?
					 when[trigger->asked.when] : NULL);
	json_print__string(json, "event", trigger->asked.label[0] ? trigger->asked.label : NULL);
	json_print__string(json, "do", persistent_trigger__action(&trigger->asked));
	json_print__u64(json, "events", trigger->state.nr_events);
	json_print__u64(json, "after_ns", trigger->asked.after_ns);
	json_print__u64(json, "cool_down_ns", trigger->asked.cool_down_ns);
	print_known(json, "times", trigger->asked.times);
	json_print__u64(json, "fired", trigger->state.fired);
	json_print__u64(json, "done", trigger->state.acted);
	json_print__u64(json, "failed", trigger->state.failed);
	print_known(json, "error", trigger->state.error);
	print_known(json, "last_fired_ns", trigger->state.last_fired_ns);
	print_known(json, "freeze_ns", trigger->state.freeze_ns);
	print_known(json, "last_snapshot", trigger->state.snapshot);
	json_print__bool(json, "spent", trigger->state.flags & PERF_TRIGGER_SPENT);
	json_print__end(json, '}');
}

/* Print all keys, so that programs need not check whether they exist. */
static void print_withheld(struct json_print *json)
{
	static const char * const keys[] = {
		"id", "state", "all_cpus", "created_ns", "age_ns", "now_ns", "owner", "note", "cpus",
		"cpus_offline", "cpus_missing", "buffer_bytes", "spare_bytes",
		"snapshot_bytes", "tasks_bytes", "memory_bytes", "lost", "missed",
		"overwritten_bytes", "oldest_ns", "newest_ns", "snapshot", "keep", "spares",
		"last_snapshot", "events", "buffers", "triggers",
	};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		json_print__null(json, keys[i]);
}

static void print_opened(struct json_print *json, const struct persistent_info *info)
{
	struct persistent_ring sum = persistent_info__sum(info, /*sideband=*/false);
	const struct persistent_ns *ns = info->ns;

	json_print__u64(json, "id", ns->id);
	json_print__string(json, "state", persistent_info__state(info));
	json_print__bool(json, "all_cpus", ns->all_cpus);
	json_print__u64(json, "created_ns", ns->created_ns);
	json_print__u64(json, "age_ns", info->age);
	print_known(json, "now_ns", info->now);
	print_owner(json, ns);
	json_print__string(json, "note", ns->note[0] ? ns->note : NULL);
	print_cpus(json, "cpus", info->cpus, info->nr_cpus);
	print_cpus(json, "cpus_offline", info->offline, info->nr_cpus);
	print_cpus(json, "cpus_missing", info->missing, info->nr_cpus);
	json_print__u64(json, "buffer_bytes", info->buffer_bytes);
	json_print__u64(json, "spare_bytes", persistent_info__spare_bytes(info));
	json_print__u64(json, "snapshot_bytes", info->snapshot_bytes);
	json_print__u64(json, "tasks_bytes", info->tasks_bytes);
	json_print__u64(json, "memory_bytes", persistent_info__memory(info));
	json_print__u64(json, "lost", info->lost);
	json_print__u64(json, "missed", info->missed);
	print_if(sum.counted, json, "overwritten_bytes", sum.overwritten);
	print_known(json, "oldest_ns", sum.oldest);
	print_known(json, "newest_ns", sum.newest);
	print_snapshot(json, ns);

	json_print__begin(json, "events", '[');
	for (int i = 0; i < info->nr_events; i++)
		print_event(json, info, i);
	json_print__end(json, ']');

	json_print__begin(json, "buffers", '[');
	for (int i = 0; i < info->nr_rings; i++)
		print_ring(json, &info->rings[i]);
	json_print__end(json, ']');

	json_print__begin(json, "triggers", '[');
	for (int i = 0; i < info->nr_triggers; i++)
		print_trigger(json, &info->triggers[i]);
	json_print__end(json, ']');
}

void persistent__print_json(const struct persistent_info *infos, int nr)
{
	struct json_print json = { .out = stdout };

	json_print__begin(&json, NULL, '{');
	json_print__u64(&json, "version", LIST_VERSION);
	json_print__begin(&json, "namespaces", '[');
	for (int i = 0; i < nr; i++) {
		json_print__begin(&json, NULL, '{');
		json_print__string(&json, "name", infos[i].name);
		if (infos[i].ns)
			print_opened(&json, &infos[i]);
		else
			print_withheld(&json);
		json_print__end(&json, '}');
	}
	json_print__end(&json, ']');
	json_print__end(&json, '}');
}
