// SPDX-License-Identifier: GPL-2.0
/*
 * Snapshots of namespaces of persistent events.
 *
 * To take a snapshot, the kernel replaces each buffer of the namespace by an empty one, but
 * copies side-band buffers. The full buffers become a namespace of their own, named after
 * its number:
 *
 *	flight		records
 *	flight.2	holds the records since flight.1 was taken
 *	flight.1	holds the records before that
 *
 * This file takes snapshots on request. For triggers, see persistent-trigger.c.
 */
#include "persistent-control.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <internal/lib.h>
#include <linux/bitmap.h>
#include <linux/capability.h>
#include <linux/ctype.h>
#include <linux/kernel.h>
#include <linux/overflow.h>
#include <linux/perf_event.h>
#include <linux/string.h>
#include <linux/time64.h>
#include "cap.h"
#include "debug.h"
#include "perf.h"
#include "persistent.h"
#include "time-utils.h"
#include "util.h"

int persistent__parse_number(const char *option, const char *str, u32 min, u32 max, u32 *nr)
{
	unsigned long long value;
	char *end;

	errno = 0;
	value = strtoull(str, &end, 10);
	if (*str >= '0' && *str <= '9' && !*end && !errno && value >= min && value <= max) {
		*nr = value;
		return 0;
	}

	pr_err("%s takes a number from %u to %u: not '%s'.\n", option, min, max, str);
	return -EINVAL;
}

char *persistent__list_cpus(unsigned long *cpus)
{
	const size_t size = MAX_NR_CPUS * sizeof("4095");
	char *list = malloc(size);

	if (list)
		bitmap_scnprintf(cpus, MAX_NR_CPUS, list, size);
	return list;
}

/* As in the kernel: also U+0080 to U+009F in UTF-8 */
static bool is_control(const char *str)
{
	unsigned char first = str[0], second = str[1];

	return iscntrl(first) || (first == 0xc2 && second >= 0x80 && second < 0xa0);
}

/* Check a note before its snapshot is taken. */
int persistent__check_note(const char *option, const char *note)
{
	size_t len = strlen(note);

	if (len >= PERF_PERSIST_NAME_SIZE) {
		pr_err("%s takes at most %d bytes, but got %zu.\n", option,
		       PERF_PERSIST_NAME_SIZE - 1, len);
		return -EINVAL;
	}
	for (size_t i = 0; i < len; i++) {
		if (is_control(note + i)) {
			pr_err("%s takes printable characters only: byte %zu is not printable.\n",
			       option, i + 1);
			return -EINVAL;
		}
	}
	return 0;
}

/*
 * Only the owner, or a user with CAP_IPC_LOCK, may ask for more memory. The limit of the
 * owner applies in both cases.
 */
static void err_no_more_buffers(const struct persistent_ns *ns, const char *what)
{
	if (ns->owner_uid == geteuid() || perf_cap__capable(CAP_IPC_LOCK))
		pr_err("Cannot %s '%s': its buffers would exceed what its owner may lock.\n"
		       "Nothing is lost. Delete snapshots, or create the namespace again with a higher\n"
		       "'ulimit -l' or kernel.perf_event_mlock_kb.\n", what, ns->name);
	else
		pr_err("Cannot %s '%s': buffers count against its owner's memory limit, so only the owner, or a\n"
		       "user with CAP_IPC_LOCK, like root, may allocate more.\n", what, ns->name);
}

static int err_control(int err, const struct persistent_ns *ns, const char *what)
{
	char buf[STRERR_BUFSIZE];

	switch (err) {
	case 0:
		break;
	case -ENOMEM:
		pr_err("Cannot %s '%s': not enough memory available. Nothing is lost.\n"
		       "Delete snapshots. 'perf ctl --spares' allocates in advance, while there is enough.\n",
		       what, ns->name);
		break;
	case -ECANCELED:
		pr_err("Did not %s '%s': it was stopped meanwhile.\n"
		       "Its records are frozen, or in a snapshot: see 'perf ctl -l'.\n",
		       what, ns->name);
		break;
	case -EBUSY:
		pr_err("Cannot %s '%s': readers have too many deleted snapshots mapped or\n"
		       "open; dmesg says more. Nothing is lost.\n", what, ns->name);
		break;
	case -ENOSPC:
		pr_err("Cannot %s '%s': the limit kernel.perf_event_max_persistent is reached, and events of\n"
		       "snapshots count. Delete some with 'perf ctl -d', or raise the limit.\n",
		       what, ns->name);
		break;
	case -EPERM:
		err_no_more_buffers(ns, what);
		break;
	case -ENODEV:
		pr_err("Cannot %s '%s': it was deleted.\n", what, ns->name);
		break;
	case -ENOTTY:
		pr_err("Cannot %s '%s': this kernel keeps events, but takes no snapshots.\n",
		       what, ns->name);
		break;
	default:
		pr_err("Cannot %s '%s': %s\n", what, ns->name,
		       str_error_r(-err, buf, sizeof(buf)));
		break;
	}
	return err;
}

static int ns__control(struct persistent_ns *ns, unsigned long cmd, void *arg, const char *what)
{
	int err = persistent_ns__check_live(ns);

	if (err)
		return err;
	if (ioctl(ns->fd, cmd, arg))
		err = -errno;
	return err_control(err, ns, what);
}

int persistent__note_snapshot(u64 id, const char *note)
{
	struct persistent_ns *snapshot;
	int err = persistent_ns__lookup_id(id, /*write=*/true, &snapshot);
	char buf[STRERR_BUFSIZE];

	if (err == -ENOENT)
		pr_err("The snapshot was deleted before its note was attached.\n");
	else if (err)
		pr_err("Cannot attach the note to the snapshot: %s\n",
		       str_error_r(-err, buf, sizeof(buf)));
	else
		err = persistent_ns__set_note(snapshot, note);
	persistent_ns__close(snapshot);
	return err;
}

int persistent__lookup_snapshot(const char *name, u64 source_id, u32 number,
				struct persistent_ns **snapshot)
{
	char full_name[PERF_PERSIST_NAME_SIZE];
	int err;

	/* Do not look for the name in sysfs: the snapshot may appear there a moment later. */
	scnprintf(full_name, sizeof(full_name), "%s.%u", name, number);
	err = persistent_ns__lookup(full_name, /*write=*/false, snapshot);
	if (!err && (*snapshot)->source_id != source_id) {
		persistent_ns__close(*snapshot);
		*snapshot = NULL;
		err = -ESTALE;
	}
	return err;
}

static void warn_missing(const char *name, u32 from, u32 to, const char *done)
{
	if (!done)
		return;
	if (from == to)
		pr_warning("WARNING: '%s.%u' was deleted before it was %s.\n", name, from, done);
	else
		pr_warning("WARNING: '%s.%u' to '%s.%u' were deleted before they were %s.\n",
			   name, from, name, to, done);
}

int persistent__find_snapshot(const char *name, u64 source_id, u32 *settled, u32 last,
			      const char *done, struct persistent_ns **snapshot)
{
	u32 first_missing = 0;
	int err = -ENOENT;

	for (; *settled < last; (*settled)++) {
		err = persistent__lookup_snapshot(name, source_id, *settled + 1, snapshot);
		if (err == -ENOENT && !first_missing)
			first_missing = *settled + 1;
		if (err != -ENOENT && first_missing) {
			warn_missing(name, first_missing, *settled, done);
			first_missing = 0;
		}
		if (err != -ENOENT && err != -ESTALE)
			return err;
	}

	if (first_missing)
		warn_missing(name, first_missing, last, done);
	return -ENOENT;
}

int persistent_ns__take_snapshot(struct persistent_ns *ns, u32 *number, u64 *id)
{
	struct perf_event_snapshot snapshot = { .size = sizeof(snapshot) };
	int err = ns__control(ns, PERF_EVENT_IOC_SNAPSHOT, &snapshot, "take a snapshot of");

	*number = snapshot.number;
	*id = snapshot.ns_id;
	return err;
}

/* Buffers for side-band records keep their size. */
static struct perf_event_buffer_size *ns__sizes(const struct persistent_ns *ns, u64 size, u32 *nr)
{
	struct perf_event_buffer_size *sizes = calloc(ns->nr_members ?: 1, sizeof(*sizes));

	*nr = 0;
	for (int i = 0; sizes && i < ns->nr_members; i++) {
		const struct persistent_member *member = &ns->members[i];

		if (member->buffer_size && member->output_id == member->id &&
		    !persistent_ns__is_sideband_ring(ns, member)) {
			sizes[*nr].event_id = member->id;
			sizes[(*nr)++].size = size;
		}
	}
	return sizes;
}

int persistent_ns__resize(struct persistent_ns *ns, unsigned int pages, u32 *number)
{
	struct perf_event_snapshot snapshot = { .size = sizeof(snapshot) };
	struct perf_event_buffer_size *sizes;
	int err = persistent_ns__list(ns);

	if (err)
		return err_control(err, ns, "list the buffers of");

	sizes = ns__sizes(ns, (u64)pages * page_size, &snapshot.nr_sizes);
	if (!sizes)
		return -ENOMEM;

	if (snapshot.nr_sizes) {
		snapshot.sizes = (u64)(unsigned long)sizes;
		err = ns__control(ns, PERF_EVENT_IOC_RESIZE, &snapshot, "resize the buffers of");
	} else {
		pr_err("'%s' has no buffers: its events only count.\n", ns->name);
		err = -EINVAL;
	}

	*number = snapshot.number;
	free(sizes);
	return err;
}

int persistent_ns__clear(struct persistent_ns *ns)
{
	return ns__control(ns, PERF_EVENT_IOC_CLEAR, NULL, "clear");
}

int persistent_ns__set_spares(struct persistent_ns *ns, u32 nr)
{
	return ns__control(ns, PERF_EVENT_IOC_SPARES, &nr, "allocate buffers for snapshots of");
}

int persistent_ns__set_keep(struct persistent_ns *ns, u32 keep)
{
	return ns__control(ns, PERF_EVENT_IOC_KEEP, &keep, "change how many snapshots are kept of");
}

u64 persistent_ns__buffer_bytes(struct persistent_ns *ns)
{
	u64 bytes = 0;

	if (persistent_ns__list(ns))
		return 0;

	for (int i = 0; i < ns->nr_members; i++) {
		const struct persistent_member *member = &ns->members[i];

		if (member->output_id == member->id)
			bytes += member->buffer_size;
	}
	return bytes;
}

/* Check source_id: there may be snapshots of a deleted namespace of the same name. */
int persistent_ns__count_snapshots(const struct persistent_ns *ns, u32 *oldest)
{
	char **names = persistent__names();
	int nr = 0;

	*oldest = 0;
	for (int i = 0; names && names[i]; i++) {
		struct persistent_ns *snapshot;

		if (!persistent__snapshot_number(names[i], ns->name) ||
		    persistent_ns__lookup(names[i], /*write=*/false, &snapshot))
			continue;
		if (snapshot->source_id == ns->id) {
			if (!*oldest || snapshot->number < *oldest)
				*oldest = snapshot->number;
			nr++;
		}
		persistent_ns__close(snapshot);
	}
	persistent__free_names(names);
	return nr;
}

/*
 * Waiting: everything that perf can wait for increases a number. Get the numbers at the
 * start, and again whenever poll() reports a change.
 */

static int seen__get(struct persistent_seen *seen, struct persistent_ns *ns)
{
	/* Do this first: all later changes wake the next poll(). */
	int err = persistent_ns__look_again(ns);

	seen->snapshot = ns->number;
	seen->stopped = ns->stopped;
	if (!err)
		err = persistent_ns__triggers(ns, &seen->triggers, &seen->nr_triggers);
	return err;
}

static void seen__replace(struct persistent_seen *seen, struct persistent_seen *with)
{
	free(seen->triggers);
	*seen = *with;
	memset(with, 0, sizeof(*with));
}

static struct persistent_trigger seen__trigger(const struct persistent_seen *seen, u32 number)
{
	struct persistent_trigger none = { .asked.number = number };

	for (int i = 0; i < seen->nr_triggers; i++) {
		if (seen->triggers[i].asked.number == number)
			return seen->triggers[i];
	}
	return none;
}

/*
 * Find the first snapshot after number @after. With @since the user wants to know of each of
 * them, so warn about deleted ones. -ENOENT: all of them are deleted.
 */
static int find_snapshot(const struct persistent_ns *ns, u32 after, bool since,
			 struct persistent_notice *notice)
{
	struct persistent_ns *snapshot;
	int err = persistent__find_snapshot(ns->name, ns->id, &after, ns->number,
					    since ? "reported" : NULL, &snapshot);

	if (!err) {
		notice->snapshot = snapshot->number;
		notice->trigger = snapshot->trigger;
		memcpy(notice->note, snapshot->note, sizeof(notice->note));
		persistent_ns__close(snapshot);
	}
	return err;
}

static void warn_failed(const struct persistent_ns *ns, const struct persistent_trigger *trigger)
{
	char buf[STRERR_BUFSIZE];

	pr_warning("WARNING: trigger %u fired and could not %s '%s': %s\n", trigger->asked.number,
		   trigger->asked.action == PERF_TRIGGER_DO_STOP ? "stop" : "take a snapshot of",
		   ns->name, persistent_trigger__error(trigger, buf, sizeof(buf)));
}

static void warn_failures(const struct persistent_ns *ns, const struct persistent_seen *was,
			  const struct persistent_seen *now)
{
	for (int i = 0; i < now->nr_triggers; i++) {
		const struct persistent_trigger *trigger = &now->triggers[i];

		/* If it has acted since, there is nothing to do. */
		if (trigger->state.error &&
		    trigger->state.failed > seen__trigger(was, trigger->asked.number).state.failed)
			warn_failed(ns, trigger);
	}
}

/* The number of a trigger that has stopped the namespace; 0: none has */
static u32 find_stop(const struct persistent_seen *was, const struct persistent_seen *now)
{
	for (int i = 0; i < now->nr_triggers; i++) {
		const struct persistent_trigger *trigger = &now->triggers[i];

		if (trigger->asked.action == PERF_TRIGGER_DO_STOP &&
		    trigger->state.acted > seen__trigger(was, trigger->asked.number).state.acted)
			return trigger->asked.number;
	}
	return 0;
}

/* 1: something happened; 0: nothing */
static int find_notice(const struct persistent_ns *ns, const struct persistent_seen *was,
		       const struct persistent_seen *now, bool since,
		       struct persistent_notice *notice)
{
	int err = -ENOENT;

	memset(notice, 0, sizeof(*notice));

	warn_failures(ns, was, now);

	if (now->snapshot > was->snapshot)
		err = find_snapshot(ns, was->snapshot, since, notice);
	if (err != -ENOENT)
		return err ?: 1;
	/* A snapshot was taken, even if it is deleted by now. */
	if (now->snapshot > was->snapshot && !since) {
		notice->snapshot = now->snapshot;
		return 1;
	}

	notice->trigger = find_stop(was, now);
	return notice->trigger ? 1 : 0;
}

static bool is_stopped(const struct persistent_ns *ns)
{
	struct persistent_ns *again;
	bool stopped;

	/* Another file: a look through ns->fd would hide changes from the next poll(). */
	if (persistent_ns__lookup_id(ns->id, /*write=*/false, &again))
		return false;
	stopped = again->stopped;
	persistent_ns__close(again);
	return stopped;
}

void persistent_ns__tell_to_keep(const struct persistent_ns *ns)
{
	pr_warning("To keep what it holds, run 'perf ctl snapshot %s' first.\n", ns->name);
}

void persistent_ns__warn_of_triggers(const struct persistent_ns *ns, struct persistent_seen *seen)
{
	struct persistent_seen now = { .began = true, .stopped = ns->stopped };
	u32 number = 0;

	/* It was deleted meanwhile, or there is no memory: the caller notices that itself. */
	if (persistent_ns__triggers(ns, &now.triggers, &now.nr_triggers))
		return;

	if (seen->began) {
		warn_failures(ns, seen, &now);
		number = find_stop(seen, &now);
	}
	/* It may have happened since the caller looked. */
	if (number && !now.stopped)
		now.stopped = is_stopped(ns);
	if (now.stopped && number)
		pr_warning("WARNING: trigger %u has stopped '%s': it records nothing until 'perf ctl resume %s'.\n",
			   number, ns->name, ns->name);
	else if (now.stopped && !seen->stopped)
		pr_warning("WARNING: '%s' is stopped: it records nothing until 'perf ctl resume %s'.\n",
			   ns->name, ns->name);
	if (now.stopped && (number || !seen->stopped))
		persistent_ns__tell_to_keep(ns);
	seen__replace(seen, &now);
}

/* 1: there may be a change; 0: the time is up */
static int wait_for_change(const struct persistent_ns *ns, u64 until)
{
	struct pollfd pollfd = { .fd = ns->fd, .events = POLLPRI };
	int ms = -1, ret;

	if (until) {
		u64 now = rdclock();

		if (now >= until)
			return 0;
		ms = min_t(u64, (until - now) / NSEC_PER_MSEC + 1, INT_MAX);
	}

	ret = poll(&pollfd, 1, ms);
	if (ret < 0 && errno != EINTR)
		return -errno;
	return pollfd.revents & (POLLHUP | POLLERR) ? -ENODEV : 1;
}

static int __ns__wait(struct persistent_ns *ns, struct persistent_seen *was, u64 until,
		      bool since, struct persistent_notice *notice)
{
	struct persistent_seen now = { .snapshot = 0 };
	int ret;

	while ((ret = wait_for_change(ns, until)) > 0) {
		int err = seen__get(&now, ns);

		if (err)
			return err;
		ret = find_notice(ns, was, &now, since, notice);
		if (ret) {
			free(now.triggers);
			return min(ret, 0);
		}
		seen__replace(was, &now);
	}
	return ret ?: -ETIMEDOUT;
}

/* 1: there is a snapshot after number @since; 0: none */
static int find_since(const struct persistent_ns *ns, u32 since, struct persistent_notice *notice)
{
	int err;

	if (since > ns->number) {
		pr_err("'%s' has taken only %u snapshots, fewer than --since %u: was it deleted and created again?\n",
		       ns->name, ns->number, since);
		return -EINVAL;
	}

	memset(notice, 0, sizeof(*notice));
	err = find_snapshot(ns, since, /*since=*/true, notice);
	if (!err)
		return 1;
	return err == -ENOENT ? 0 : err_control(err, ns, "look for snapshots of");
}

int persistent_ns__wait(struct persistent_ns *ns, u64 timeout, const u32 *since,
			void (*ready)(struct persistent_ns *ns),
			struct persistent_notice *notice)
{
	u64 until = timeout ? rdclock() : 0;
	struct persistent_seen was = { .snapshot = 0 };
	int err = persistent_ns__check_live(ns);

	if (err)
		return err;

	if (check_add_overflow(until, timeout, &until))
		until = ULLONG_MAX;
	err = seen__get(&was, ns);
	if (!err && since) {
		int found = find_since(ns, *since, notice);

		if (found) {
			free(was.triggers);
			return min(found, 0);
		}
	}
	if (!err) {
		ready(ns);
		err = __ns__wait(ns, &was, until, since, notice);
	}
	free(was.triggers);

	if (err == -ETIMEDOUT)
		return err;
	return err_control(err == -ENOENT ? -ENODEV : err, ns, "wait for");
}
