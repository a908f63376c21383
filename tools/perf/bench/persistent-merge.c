// SPDX-License-Identifier: GPL-2.0
/*
 * Benchmark for merging many buffers of persistent events in the order of time.
 *
 * Few machines have enough CPUs, so the benchmark makes the buffers itself. All are full,
 * and their records are interleaved in time.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <linux/kernel.h>
#include <linux/sizes.h>
#include <linux/time64.h>
#include <subcmd/parse-options.h>
#include "bench.h"
#include "util/debug.h"
#include "util/event.h"
#include "util/persistent-merge.h"

#define RECORD_SIZE	128

static unsigned int nr_rings = 4;
static unsigned int ring_mib = 16;
static const char *dir;

static const struct option options[] = {
	OPT_UINTEGER('r', "rings", &nr_rings, "Number of buffers"),
	OPT_UINTEGER('m', "mib", &ring_mib, "Size of each in MiB"),
	OPT_STRING('d', "dir", &dir, "directory",
		   "Where copies of the buffers are, if not in memory"),
	OPT_END()
};

static const char *const bench_usage[] = {
	"perf bench internals persistent-merge <options>",
	NULL
};

static enum persistent_look look(void *arg __maybe_unused, union perf_event *event, u64 *time)
{
	*time = event->sample.array[0];
	return PERSISTENT_KEEP;
}

struct check {
	u64	nr;
	u64	last;
};

static int push(void *to, void *records, size_t size)
{
	struct check *check = to;

	for (size_t pos = 0; pos < size; pos += RECORD_SIZE) {
		union perf_event *event = records + pos;

		if (event->sample.array[0] < check->last)
			return -EILSEQ;
		check->last = event->sample.array[0];
		check->nr++;
	}
	return 0;
}

/* Records come at irregular times, but at the same rate in all buffers. */
static u64 time_of(u64 nr, unsigned int ring)
{
	u64 noise = (nr * nr_rings + ring) * 0x9e3779b97f4a7c15ULL >> 32;
	u64 interval = nr_rings * 1000;

	return nr * interval + noise % interval;
}

/* Put the newest record first, as in a backward buffer. */
static void fill(char *data, u64 nr, unsigned int ring)
{
	for (u64 i = 0; i < nr; i++) {
		union perf_event *event = (void *)data + i * RECORD_SIZE;

		event->header.type = PERF_RECORD_SAMPLE;
		event->header.misc = 0;
		event->header.size = RECORD_SIZE;
		event->sample.array[0] = time_of(nr - i, ring);
	}
}

/* Measure the CPU time of this process, as other processes may run, too. */
static u64 cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

static int merge_rings(struct persistent_merge *merge, char *ring, u64 size, u64 *ns)
{
	struct persistent_records records = { .copy = ring, .len = size };
	struct check check = { .nr = 0 };
	u64 start, end;
	int err;

	persistent_merge__expect(merge, nr_rings);
	for (unsigned int i = 0; i < nr_rings; i++) {
		fill(ring, size / RECORD_SIZE, i);
		start = cpu_ns();
		err = persistent_merge__add(merge, &records, 0, &end);
		*ns += cpu_ns() - start;
		if (err)
			return err;
	}

	start = cpu_ns();
	err = persistent_merge__push(merge, push, &check, /*clear=*/true);
	*ns += cpu_ns() - start;
	return err ?: check.nr == nr_rings * (size / RECORD_SIZE) ? 0 : -EIO;
}

int bench_persistent_merge(int argc, const char **argv)
{
	struct persistent_merge *merge;
	struct rusage usage;
	u64 size, nr, ns = 0;
	int fd = -1, err;
	char *ring;

	argc = parse_options(argc, argv, options, bench_usage, 0);
	if (argc || !nr_rings || !ring_mib) {
		usage_with_options(bench_usage, options);
		return 1;
	}

	size = (u64)ring_mib * SZ_1M;
	nr = nr_rings * (size / RECORD_SIZE);
	ring = calloc(1, size);
	merge = persistent_merge__new();
	if (dir)
		fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	else
		fd = memfd_create("perf-bench", MFD_CLOEXEC);
	if (!ring || !merge || fd < 0) {
		pr_err("No room for the buffers: %m\n");
		err = -1;
		goto out;
	}

	persistent_merge__set_look(merge, look, NULL);
	persistent_merge__set_file(merge, fd);
	err = merge_rings(merge, ring, size, &ns);
	if (err) {
		pr_err("Cannot merge: %s\n", strerror(-err));
		goto out;
	}

	getrusage(RUSAGE_SELF, &usage);
	if (bench_format == BENCH_FORMAT_SIMPLE)
		printf("%u %u %llu %.1f %.1f\n", nr_rings, ring_mib, (unsigned long long)nr,
		       (double)ns / nr, usage.ru_maxrss / 1024.0);
	else
		printf("  %u buffers of %u MiB: %llu records, %.1f ns each, peak memory %.1f MiB\n",
		       nr_rings, ring_mib, (unsigned long long)nr, (double)ns / nr,
		       usage.ru_maxrss / 1024.0);
out:
	if (fd >= 0)
		close(fd);
	persistent_merge__delete(merge);
	free(ring);
	return err ? 1 : 0;
}
