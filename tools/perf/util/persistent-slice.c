// SPDX-License-Identifier: GPL-2.0
/*
 * Select a part of the records in buffers of persistent events, by time or by size.
 *
 * The reader asks for each record whether to keep it. Samples in the slice can only be
 * understood with the records of tasks, maps and programs from before the slice. So these
 * are kept, however old they are.
 */
#include "persistent-slice.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <internal/lib.h>
#include <internal/mmap.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/string.h>
#include <linux/time64.h>
#include <linux/zalloc.h>
#include "cloexec.h"
#include "debug.h"
#include "event.h"
#include "evlist.h"
#include "evsel.h"
#include "perf-sys.h"
#include "persistent.h"
#include "persistent-time.h"
#include "time-utils.h"
#include "util.h"

/* Statistics of the samples that were looked at */
struct slice_stats {
	u64	kept, dropped;
	u64	first, last;	/* times of the oldest and the newest, kept or not */
};

struct persistent_slice {
	struct evlist		*evlist;
	const struct persistent	*persistent;
	u64			 last, from, to;
	bool			 wall_from, wall_to;	/* to be converted */
	u64			 max_size;
	s64			 vital_size;
	struct slice_stats	 stats;
	struct persistent_reader *reader;
};

bool persistent_slice_opts__any_time(const struct persistent_slice_opts *opts)
{
	return opts->last || opts->from || opts->to;
}

/* Parse a time of the clock of the records. If it sets *@wall: of the wall clock instead. */
static int parse_time(const char *option, const char *str, u64 *ns, bool *wall)
{
	*wall = false;
	/* parse_nsec_time() would misread larger numbers, and negative ones. */
	if (*str >= '0' && *str <= '9' && strtoull(str, NULL, 10) < ULLONG_MAX / NSEC_PER_SEC &&
	    !parse_nsec_time(str, ns))
		return 0;

	*wall = true;
	if (!persistent__parse_wall_time(str, persistent__wall_now(), ns))
		return 0;

	pr_err("%s takes a time as perf script shows it, in seconds with up to nine digits after the\n"
	       "point, or a local time as in %s '2026-11-22 03:14:07', or 03:14: not '%s'.\n",
	       option, option, str);
	return -EINVAL;
}

static int slice__check_order(const struct persistent_slice *slice,
			      const struct persistent_slice_opts *opts)
{
	if (!opts->from || slice->from <= slice->to)
		return 0;

	pr_err("--from %s is later than --to %s: swap them.\n", opts->from, opts->to);
	return -EINVAL;
}

static int slice__parse(struct persistent_slice *slice, const struct persistent_slice_opts *opts)
{
	int err = 0;

	slice->max_size = opts->max_size;
	slice->to = ULLONG_MAX;

	if (opts->last && opts->from) {
		pr_err("--last and --from both set the start: use only one of them.\n");
		return -EINVAL;
	}

	if (opts->last)
		err = persistent__parse_duration("--last", opts->last, &slice->last);
	if (!err && opts->from)
		err = parse_time("--from", opts->from, &slice->from, &slice->wall_from);
	if (!err && opts->to)
		err = parse_time("--to", opts->to, &slice->to, &slice->wall_to);
	/* If they are of two clocks, the caller checks them again once they are converted. */
	if (!err && slice->wall_from == slice->wall_to)
		err = slice__check_order(slice, opts);
	return err;
}

static int slice__check_times(struct persistent_slice *slice)
{
	struct evsel *evsel;

	evlist__for_each_entry(slice->evlist, evsel) {
		if (evsel->core.attached &&
		    (!(evsel->core.attr.sample_type & PERF_SAMPLE_TIME) ||
		     !evsel->core.attr.sample_id_all)) {
			pr_err("'%s' was made without PERF_SAMPLE_TIME and sample_id_all, so its records have no\n"
			       "timestamps: read it without --last, --from, --to and --max-size.\n",
			       evsel__name(evsel));
			return -EINVAL;
		}
	}
	return 0;
}

static struct evsel *slice__first_attached(struct persistent_slice *slice)
{
	struct evsel *evsel;

	evlist__for_each_entry(slice->evlist, evsel) {
		if (evsel->core.attached)
			return evsel;
	}
	return NULL;
}

/* Have the event write its first record. Returns its time, and the time of day. */
static int read_first_time(struct evsel *evsel, int fd, u64 *time, u64 *wall)
{
	struct perf_mmap map = { .base = NULL };
	struct perf_cpu any_cpu = { .cpu = -1 };
	int err = -ENOENT;
	char name[16];

	perf_mmap__init(&map, NULL, /*overwrite=*/false, NULL);
	if (perf_mmap__mmap_existing(&map, page_size, fd, any_cpu))
		return -errno;

	if (!prctl(PR_GET_NAME, name) && !prctl(PR_SET_NAME, name)) {
		*wall = persistent__wall_now();
		if (perf_mmap__read_head(&map))
			err = evsel__parse_sample_timestamp(evsel, map.base + page_size, time);
	}
	perf_mmap__munmap(&map);
	return err;
}

/*
 * What time is it by the clock of the records? It may be a clock that user space
 * cannot read. So make a record: it is enough that perf sets its own name.
 */
int persistent__now_and_wall(const struct perf_event_attr *like, u64 *now, u64 *wall)
{
	struct evsel *evsel;
	struct perf_event_attr attr = {
		.type		= PERF_TYPE_SOFTWARE,
		.config		= PERF_COUNT_SW_DUMMY,
		.size		= sizeof(attr),
		.sample_type	= PERF_SAMPLE_TIME,
		.sample_id_all	= 1,
		.comm		= 1,
		.exclude_kernel	= 1,
		.exclude_hv	= 1,
		.use_clockid	= like->use_clockid,
		.clockid	= like->clockid,
	};
	int fd, err;

	evsel = evsel__new(&attr);
	if (!evsel)
		return -ENOMEM;

	fd = sys_perf_event_open(&attr, 0, -1, -1, perf_event_open_cloexec_flag());
	err = fd < 0 ? -errno : read_first_time(evsel, fd, now, wall);
	if (fd >= 0)
		close(fd);
	evsel__put(evsel);
	return err;
}

int persistent__now(const struct perf_event_attr *like, u64 *now)
{
	u64 wall;

	return persistent__now_and_wall(like, now, &wall);
}

/* Convert @time from a clock that shows @now_there to one that shows @now. */
static u64 convert_time(u64 time, u64 now_there, u64 now)
{
	if (time > now_there)
		return now + (time - now_there);
	return now > now_there - time ? now - (now_there - time) : 0;
}

static u64 slice__last(struct persistent_slice *slice, const struct evsel *attached, u64 now)
{
	u64 ago = persistent__ended_ns_ago(slice->persistent), newest = 0;

	if (ago) {
		/* The evlist gets these only later, when it has all events. */
		evlist__set_id_pos_of(slice->evlist, attached);
		newest = persistent_reader__newest(slice->persistent->reader, slice->evlist);
	}
	return persistent__start_of_last(slice->last, ago, now, newest);
}

/* Convert --last and wall clock times to the clock of the records. */
static int slice__start(struct persistent_slice *slice)
{
	char buf[STRERR_BUFSIZE];
	struct evsel *attached;
	u64 now = 0, wall_now;
	int err;

	if (!slice->last && !slice->wall_from && !slice->wall_to)
		return 0;

	attached = slice__first_attached(slice);
	err = attached ? persistent__now(&attached->core.attr, &now) : -ENOENT;
	wall_now = persistent__wall_now();
	if (err) {
		pr_err("Cannot read the clock of the records, give --from in seconds of that clock: %s\n",
		       str_error_r(-err, buf, sizeof(buf)));
		return err;
	}

	if (slice->wall_from)
		slice->from = convert_time(slice->from, wall_now, now);
	if (slice->wall_to)
		slice->to = convert_time(slice->to, wall_now, now);
	if (slice->last)
		slice->from = slice__last(slice, attached, now);
	return 0;
}

/* Is the record about a lasting state, rather than about a moment? */
static bool record__is_vital(const struct perf_event_header *header)
{
	switch (header->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
	case PERF_RECORD_COMM:
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
	case PERF_RECORD_NAMESPACES:
	case PERF_RECORD_KSYMBOL:
	case PERF_RECORD_BPF_EVENT:
	case PERF_RECORD_CGROUP:
	case PERF_RECORD_TEXT_POKE:
	case PERF_RECORD_AUX_OUTPUT_HW_ID:
		return true;
	default:
		return false;
	}
}

static void slice__count(struct persistent_slice *slice, u64 time, bool kept)
{
	struct slice_stats *stats = &slice->stats;

	if (!stats->kept && !stats->dropped)
		stats->first = time;
	stats->first = min(stats->first, time);
	stats->last = max(stats->last, time);
	if (kept)
		stats->kept++;
	else
		stats->dropped++;
}

static enum persistent_look slice__look(void *arg, union perf_event *event, u64 *time)
{
	struct persistent_slice *slice = arg;
	bool vital = record__is_vital(&event->header);
	bool kept;

	/* Keep records without a time stamp. */
	if (evlist__parse_sample_timestamp(slice->evlist, event, time)) {
		*time = 0;
		return vital ? PERSISTENT_VITAL : PERSISTENT_KEEP;
	}

	kept = *time <= slice->to && (*time >= slice->from || vital);
	if (event->header.type == PERF_RECORD_SAMPLE)
		slice__count(slice, *time, kept);
	if (!kept)
		return PERSISTENT_DROP;
	return vital ? PERSISTENT_VITAL : PERSISTENT_KEEP;
}

struct persistent_slice *persistent_slice__new(const struct persistent_slice_opts *opts,
					       struct evlist *evlist,
					       const struct persistent *persistent)
{
	struct persistent_slice *slice = zalloc(sizeof(*slice));

	if (!slice)
		return NULL;

	slice->evlist = evlist;
	slice->persistent = persistent;
	slice->reader = persistent->reader;
	if (slice__parse(slice, opts) || slice__check_times(slice) || slice__start(slice) ||
	    slice__check_order(slice, opts)) {
		zfree(&slice);
		return NULL;
	}

	persistent_reader__set_look(slice->reader, slice__look, slice);
	return slice;
}

void persistent_slice__delete(struct persistent_slice *slice)
{
	free(slice);
}

bool persistent_slice__holds(const struct persistent_slice *slice)
{
	return slice->max_size;
}

s64 persistent_slice__vital_size(struct persistent_slice *slice)
{
	if (!slice->vital_size)
		slice->vital_size = persistent_reader__vital_size(slice->reader);
	return slice->vital_size;
}

int persistent_slice__push_newest(struct persistent_slice *slice, u64 room,
				  persistent_push_t push, void *to)
{
	s64 size = persistent_slice__vital_size(slice);
	int err;

	if (size < 0)
		return size;
	if ((u64)size > room)
		return -E2BIG;

	err = persistent_reader__cut(slice->reader, room - size);
	if (err)
		return err;

	/* So far records were only looked at to find the newest: count anew. */
	memset(&slice->stats, 0, sizeof(slice->stats));
	return persistent_reader__push(slice->reader, push, to, /*again=*/true);
}

void persistent_slice__report(const struct persistent_slice *slice)
{
	const struct slice_stats *stats = &slice->stats;
	u64 nr_cut = persistent_reader__nr_cut(slice->reader);
	char first[32], last[32];

	if (nr_cut)
		pr_info("[ --max-size leaves out %" PRIu64 " older records ]\n", nr_cut);

	if (stats->kept || !stats->dropped)
		return;

	timestamp__scnprintf_nsec(stats->first, first, sizeof(first));
	timestamp__scnprintf_nsec(stats->last, last, sizeof(last));
	pr_warning("WARNING: no sample is in this time range: the samples are from %s to %s\n",
		   first, last);
}
