// SPDX-License-Identifier: GPL-2.0
/*
 * Measure the cost of a snapshot, and for how long it delays recording: in instructions,
 * which are nanoseconds with QEMU's -icount shift=0.
 *
 * usage: snapshot [-g NSEC] [-k KEEP] [-r ROUNDS] [-x COMMAND] HOW...
 *
 *   nothing          no snapshot, to compare with
 *   namespace NAME   PERF_EVENT_IOC_SNAPSHOT
 *   spare NAME       the same, with a spare buffer allocated before
 *   file FILE        write "1" to FILE, as for ftrace
 *   dump PID LOG     SIGUSR2 to a perf record, until it writes "Dump" to LOG, a fifo
 *
 *   -g  the period of a timer that interrupts meanwhile, in nanoseconds (0: no timer)
 *   -k  how many snapshots a namespace keeps (1)
 *   -r  the number of snapshots (100); one more comes before them
 *   -x  a command to run after each snapshot, without the timer
 *
 * Prints
 *   SNAPSHOTS CPU-TIME LEAST LARGEST LATE INTERRUPTS
 * CPU-TIME, LEAST and LARGEST are the median, the least and the largest CPU time of the
 * process that takes the snapshot: this one, or perf record. LATE is the largest delay of
 * an interrupt, INTERRUPTS their number.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/mman.h>

#include "bench.h"

#define TIMER_PAGES 512

typedef unsigned long long u64;

static enum { NOTHING, NAMESPACE, SPARE, TO_FILE, DUMP } how;
static int fd;
static unsigned int keep = 1, spares = 1;
static pid_t pid;
static clockid_t taker_clock = CLOCK_PROCESS_CPUTIME_ID;

static u64 period, late, interrupts, before;
static int timer = -1;
static struct perf_event_mmap_page *times;

static void open_timer(void)
{
	struct perf_event_attr attr = {
		.type		= PERF_TYPE_SOFTWARE,
		.config		= PERF_COUNT_SW_CPU_CLOCK,
		.sample_type	= PERF_SAMPLE_TIME,
		.sample_period	= period,
		.disabled	= 1,
		.watermark	= 1,
		.wakeup_watermark = 1U << 31,
	};

	timer = event_open(&attr, 0);
	times = mmap(NULL, (1 + TIMER_PAGES) * sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE,
		     MAP_SHARED, timer, 0);
	if (times == MAP_FAILED)
		err(1, "mmap");
}

static void switch_timer(int on)
{
	if (timer < 0)
		return;
	do_ioctl(timer, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, NULL, "timer");
	before = 0;
}

/* A record is its header and the time; they do not wrap in the middle. */
static void read_timer(u64 *latest)
{
	char *data = (char *)times + sysconf(_SC_PAGESIZE);
	struct perf_event_header *header;
	u64 head, tail, time;

	if (timer < 0)
		return;
	head = __atomic_load_n(&times->data_head, __ATOMIC_ACQUIRE);
	for (tail = times->data_tail; tail < head; tail += header->size) {
		header = (void *)(data + tail % times->data_size);
		if (header->type == PERF_RECORD_LOST)
			errx(1, "more interrupts than there is room for");
		if (header->type != PERF_RECORD_SAMPLE)
			continue;
		memcpy(&time, header + 1, sizeof(time));
		if (latest && before && time - before > period + *latest)
			*latest = time - before - period;
		before = time;
		interrupts++;
	}
	__atomic_store_n(&times->data_tail, tail, __ATOMIC_RELEASE);
}

static void open_namespace(const char *name)
{
	struct perf_event_attr attr = {
		.type		= PERF_TYPE_PERSISTENT,
		.config		= ~0ULL,
		.config2	= PERF_PERSIST_OPEN_WRITE,
	};

	fd = event_open(&attr, -1);
	do_ioctl(fd, PERF_EVENT_IOC_SET_NAME, name, name);
	do_ioctl(fd, PERF_EVENT_IOC_KEEP, &keep, "KEEP");
}

static void take(void)
{
	struct perf_event_snapshot snapshot = { .size = sizeof(snapshot) };
	char said[4096];
	ssize_t len;

	switch (how) {
	case NOTHING:
		break;
	case NAMESPACE:
	case SPARE:
		do_ioctl(fd, PERF_EVENT_IOC_SNAPSHOT, &snapshot, "SNAPSHOT");
		break;
	case TO_FILE:
		if (pwrite(fd, "1", 1, 0) != 1)
			err(1, "write");
		break;
	case DUMP:
		if (kill(pid, SIGUSR2))
			err(1, "kill");
		/* perf record may miss a signal that comes too early. */
		alarm(60);
		do {
			len = read(fd, said, sizeof(said) - 1);
			if (len <= 0)
				err(1, "perf record has gone");
			said[len] = '\0';
		} while (!strstr(said, "Dump"));
		alarm(0);
	}
}

static int cmp(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

static int init_how(int argc, char **argv)
{
	if (argc == 1 && !strcmp(argv[0], "nothing")) {
		how = NOTHING;
	} else if (argc == 2 && !strcmp(argv[0], "namespace")) {
		how = NAMESPACE;
		open_namespace(argv[1]);
	} else if (argc == 2 && !strcmp(argv[0], "spare")) {
		how = SPARE;
		open_namespace(argv[1]);
	} else if (argc == 2 && !strcmp(argv[0], "file")) {
		how = TO_FILE;
		fd = open(argv[1], O_WRONLY);
	} else if (argc == 3 && !strcmp(argv[0], "dump")) {
		how = DUMP;
		pid = atoi(argv[1]);
		fd = open(argv[2], O_RDONLY);
		if (clock_getcpuclockid(pid, &taker_clock))
			errx(1, "no process %d", pid);
	} else {
		return -1;
	}
	if (fd < 0)
		err(1, "%s", argv[argc - 1]);
	return 0;
}

static void bad_usage(void)
{
	errx(2, "usage: snapshot [-g NSEC] [-k KEEP] [-r ROUNDS] [-x COMMAND] HOW...");
}

int main(int argc, char **argv)
{
	const char *command = NULL;
	int rounds = 100, opt, i;
	u64 *cost, start;

	while ((opt = getopt(argc, argv, "g:k:r:x:")) > 0) {
		switch (opt) {
		case 'g':
			period = strtoull(optarg, NULL, 0);
			break;
		case 'k':
			keep = atoi(optarg);
			break;
		case 'r':
			rounds = atoi(optarg);
			break;
		case 'x':
			command = optarg;
			break;
		default:
			bad_usage();
		}
	}
	if (rounds < 1 || init_how(argc - optind, argv + optind))
		bad_usage();
	if (period)
		open_timer();
	cost = calloc(rounds, sizeof(*cost));
	if (!cost)
		err(1, "calloc");

	/* Round -1 is not counted, as some things are done only the first time. */
	for (i = -1; i < rounds; i++) {
		if (how == SPARE)
			do_ioctl(fd, PERF_EVENT_IOC_SPARES, &spares, "SPARES");
		switch_timer(1);
		/* perf may still be busy after its message: wait until it is done. */
		usleep(10000);
		read_timer(NULL);
		start = nsecs(taker_clock);
		take();
		if (i >= 0)
			cost[i] = nsecs(taker_clock) - start;
		/* Include later work for the snapshot, such as that of a worker. */
		usleep(10000);
		switch_timer(0);
		read_timer(i >= 0 ? &late : NULL);
		if (command && system(command))
			errx(1, "'%s' fails", command);
	}
	qsort(cost, rounds, sizeof(*cost), cmp);
	printf("%d %llu %llu %llu %llu %llu\n", rounds + 1, cost[rounds / 2], cost[0],
	       cost[rounds - 1], late, interrupts);
	return 0;
}
