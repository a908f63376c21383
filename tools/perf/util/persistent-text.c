// SPDX-License-Identifier: GPL-2.0
/*
 * Print the records of a namespace as text, which the kernel formats in perffs: a line for
 * each record, and below it the functions of its call chain.
 *
 * To follow a namespace, perf reads all of the text again and again, and each time prints
 * the lines of the next time span. The longer the reading takes, the less often it is done.
 */
#include "persistent-text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mntent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/mount.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/time64.h>
#include <perf/cpumap.h>
#include "debug.h"
#include "persistent.h"
#include "persistent-options.h"
#include "persistent-slice.h"
#include "persistent-time.h"

/* Wait ten times as long as reading takes, and at least: */
#define FOLLOW_INTERVAL_NS	(NSEC_PER_SEC / 2)

/* A record gets its time before it is written, and an interrupt may come in between. */
#define FOLLOW_DELAY_NS		(10 * NSEC_PER_MSEC)

/* Two clocks need longer than that to drift apart by FOLLOW_DELAY_NS. */
#define FOLLOW_ASK_NS		(60 * NSEC_PER_SEC)

/* Mount point for perffs in sysfs */
#define PERFFS_DIR		"/sys/kernel/perf"

/* A line begins with the name of a task, padded to that width. */
#define NAME_WIDTH		16

/* Then there are "-TID" and "[CPU]", which have at least: */
#define TID_WIDTH		8
#define CPU_WIDTH		3

struct text {
	const struct persistent_text_opts *opts;
	struct persistent_ns	*ns;
	int			dir;		/* of perffs */
	u64			from, to;	/* in us; a line at @to is not printed */
	struct perf_cpu_map	*cpus;		/* NULL: all */
	bool			shows;		/* the last record was printed */
};

/*
 * perffs
 */

static int open_dir(const char *path)
{
	int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	/* The above needs no right to the directory itself. */
	if (faccessat(fd, ".", X_OK, AT_EACCESS)) {
		err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

static int find_mount(void)
{
	struct mntent *entry;
	int fd = -ENOENT;
	FILE *file;

	file = setmntent("/proc/self/mounts", "r");
	while (file && fd < 0 && (entry = getmntent(file))) {
		if (!strcmp(entry->mnt_type, "perffs"))
			fd = open_dir(entry->mnt_dir);
	}
	if (file)
		endmntent(file);
	return fd;
}

/* In a mount namespace for this process alone */
static int make_mount(void)
{
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("perffs", PERFFS_DIR, "perffs", 0, NULL))
		return -errno;
	return open_dir(PERFFS_DIR);
}

static int open_perffs(void)
{
	char buf[STRERR_BUFSIZE];
	int fd = find_mount();

	if (fd == -ENOENT)
		fd = make_mount();
	if (fd == -EPERM || fd == -EACCES)
		pr_err("The text comes from perffs, which only root may mount: let root run\n"
		       "'mount -t perffs perffs /sys/kernel/perf', with '-o uid=' and '-o mode=' for other users.\n");
	else if (fd < 0)
		pr_err("Cannot mount perffs: %s\n", str_error_r(-fd, buf, sizeof(buf)));
	return fd;
}

/*
 * Lines
 */

/*
 * Skip what follows the name: "-%-7d [%03d]", with '?' for what is not known. A name that has
 * something like that is too short to have all of it.
 */
static const char *find_cpu(const char *pos)
{
	size_t tid, spaces, cpu;

	for (; (pos = strchr(pos, '-')); pos++) {
		tid = strspn(pos, "-?0123456789");
		spaces = strspn(pos + tid, " ");
		if (tid + spaces != max_t(size_t, tid, TID_WIDTH) + 1 || pos[tid + spaces] != '[')
			continue;
		cpu = strspn(pos + tid + spaces + 1, "?0123456789");
		if (cpu >= CPU_WIDTH && pos[tid + spaces + 1 + cpu] == ']')
			return pos + tid + spaces;
	}
	return NULL;
}

/* As in "perf-123     [001]     5.000001: cpu-clock:" */
static bool parse_line(const char *line, size_t len, int *cpu, u64 *us)
{
	const char *pos = len > NAME_WIDTH ? find_cpu(line + NAME_WIDTH) : NULL;
	unsigned long long seconds, fraction;

	if (!pos || sscanf(pos, "[%d] %llu.%6llu:", cpu, &seconds, &fraction) != 3)
		return false;
	*us = seconds * USEC_PER_SEC + fraction;
	return true;
}

/* Did the user ask for this line? A function is part of the record above it. */
static bool is_shown(struct text *text, const char *line, size_t len)
{
	u64 us;
	int cpu;

	/* The name of a task may begin with "=> ". */
	if (!parse_line(line, len, &cpu, &us))
		return strstarts(line, " => ") ? text->shows :
		       !text->from && !text->opts->follow && !text->cpus;
	return us >= text->from && us < text->to &&
	       (!text->cpus || perf_cpu_map__has(text->cpus, (struct perf_cpu){ cpu }));
}

static int print_lines(struct text *text, FILE *file)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t len;
	int err = 0;

	text->shows = false;
	while (!err && (len = getline(&line, &room, file)) > 0) {
		text->shows = is_shown(text, line, len);
		if (text->shows && fwrite(line, len, 1, stdout) != 1)
			err = -errno;
	}
	if (!err && !feof(file))
		err = -errno;
	free(line);
	if (!err && fflush(stdout))
		err = -errno;
	return err;
}

/* The kernel copies everything that a file shows, so for a single CPU open its own file. */
static int open_text(struct text *text)
{
	char path[PERF_PERSIST_NAME_SIZE + sizeof("/per_cpu/cpu2147483647/text")];
	int cpu = -1, fd = -1;

	if (text->cpus && perf_cpu_map__nr(text->cpus) == 1)
		cpu = perf_cpu_map__cpu(text->cpus, 0).cpu;
	if (cpu >= 0) {
		snprintf(path, sizeof(path), "%s/per_cpu/cpu%d/text", text->ns->name, cpu);
		fd = openat(text->dir, path, O_RDONLY | O_CLOEXEC);
		/* ENOENT: the namespace has no event on that CPU, or is gone. */
		if (fd < 0 && errno != ENOENT)
			return -errno;
	}
	if (fd < 0) {
		snprintf(path, sizeof(path), "%s/text", text->ns->name);
		fd = openat(text->dir, path, O_RDONLY | O_CLOEXEC);
	}
	return fd < 0 ? -errno : fd;
}

static int print_once(struct text *text)
{
	FILE *file;
	int fd, err;

	fd = open_text(text);
	if (fd < 0)
		return fd;
	/* This may be another namespace with the same name. */
	if (persistent_ns__is_gone(text->ns)) {
		close(fd);
		return -ENODEV;
	}
	file = fdopen(fd, "r");
	if (!file) {
		close(fd);
		return -ENOMEM;
	}
	setvbuf(file, NULL, _IOFBF, 1 << 16);
	err = print_lines(text, file);
	fclose(file);
	return err;
}

/* The time by the clock of the records, which user space may not be able to read itself */
static int records_now(struct text *text, u64 *now)
{
	char buf[STRERR_BUFSIZE];
	int err = text->ns->nr_members ? 0 : persistent_ns__list(text->ns);

	if (!err)
		err = text->ns->nr_members ?
		      persistent__now(&text->ns->members[0].attr, now) : -ENODATA;
	if (err)
		pr_err("Cannot read the clock of the records: leave out --last and -f: %s\n",
		       str_error_r(-err, buf, sizeof(buf)));
	return err;
}

static u64 now_ns(void)
{
	struct timespec now;

	/* NTP adjusts neither this clock, nor that of the records without -k. */
	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return (u64)now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
}

/* The clock of the records, or one that runs at the same rate */
static u64 clock_ns(const struct text *text)
{
	const struct perf_event_attr *attr = &text->ns->members[0].attr;
	struct timespec now;

	if (!attr->use_clockid || clock_gettime(attr->clockid, &now))
		return now_ns();
	return (u64)now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
}

/* A snapshot takes away what no round has printed yet. */
static void follow__warn(struct text *text)
{
	struct persistent_ns *ns = text->ns;
	const u32 number = ns->number;

	/* The next round finds out if it is gone. */
	if (persistent_ns__look_again(ns))
		return;
	for (u32 i = number + 1; i <= ns->number; i++)
		pr_warning("WARNING: snapshot '%s.%u' has lines that are missing here: 'perf ctl show %s.%u' prints them.\n",
			   ns->name, i, ns->name, i);
}

/*
 * Follow the namespace until it is deleted, which is no error then. Each round prints the
 * records up to a moment ago, which are complete when it reads them. So no line is missed
 * but what a snapshot takes away, and none is printed twice, unless somebody sets the clock
 * of the records back.
 */
static int follow(struct text *text)
{
	struct timespec pause;
	u64 begin, asked = 0, ahead = 0, ns, now;
	bool printed = false;
	int err;

	for (;;) {
		begin = now_ns();
		/* Asking makes a record in each namespace, so do not ask each time. */
		if (!asked || begin - asked > FOLLOW_ASK_NS) {
			if (records_now(text, &now))
				return -EINVAL;
			asked = begin;
			ahead = now - clock_ns(text);
		}
		now = clock_ns(text) + ahead;
		text->to = now > FOLLOW_DELAY_NS ? (now - FOLLOW_DELAY_NS) / NSEC_PER_USEC : 0;
		text->from = min(text->from, text->to);
		err = print_once(text);
		if (err)
			break;
		printed = true;
		follow__warn(text);
		text->from = text->to;
		ns = max(10 * (now_ns() - begin), (u64)FOLLOW_INTERVAL_NS);
		pause = (struct timespec){ ns / NSEC_PER_SEC, ns % NSEC_PER_SEC };
		nanosleep(&pause, NULL);
	}
	if (!printed || (err != -ENOENT && err != -ENODEV))
		return err;
	pr_info("'%s' was deleted.\n", text->ns->name);
	return 0;
}

/* The time of the newest sample, rounded down to us; 0: there is none */
static u64 newest_sample(struct text *text)
{
	char path[PERF_PERSIST_NAME_SIZE + sizeof("/times")], line[64];
	unsigned long long seconds, us;
	u64 newest = 0;
	FILE *file;
	int fd;

	snprintf(path, sizeof(path), "%s/times", text->ns->name);
	fd = openat(text->dir, path, O_RDONLY | O_CLOEXEC);
	file = fd < 0 ? NULL : fdopen(fd, "r");
	if (!file) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "newest: %llu.%6llu", &seconds, &us) == 2)
			newest = seconds * NSEC_PER_SEC + us * NSEC_PER_USEC;
	}
	fclose(file);
	return newest;
}

static int find_start(struct text *text)
{
	u64 now, ago, last = text->opts->last;
	int err;

	if (!last)
		return 0;
	err = records_now(text, &now);
	if (err)
		return err;
	ago = persistent_ns__ended_ns_ago(text->ns);
	text->from = persistent__start_of_last(last, ago, now, ago ? newest_sample(text) : 0) /
		     NSEC_PER_USEC;
	return 0;
}

/* A mistyped CPU would print nothing: tell the user, unless the events cannot be listed. */
static int check_cpus(const struct text *text)
{
	struct persistent_ns *ns = text->ns;

	if (!ns->nr_members && persistent_ns__list(ns))
		return 0;
	for (int i = 0; i < ns->nr_members; i++) {
		const struct perf_cpu cpu = { .cpu = ns->members[i].cpu };

		if (!persistent_member__is_sideband(&ns->members[i]) &&
		    perf_cpu_map__has(text->cpus, cpu))
			return 0;
	}
	pr_err("Nothing to show: no event of '%s' is on these CPUs.\n", ns->name);
	return -EINVAL;
}

static int print_ns(struct text *text)
{
	const char *cpus = text->opts->cpus;
	char buf[STRERR_BUFSIZE];
	int err;

	if (cpus) {
		text->cpus = persistent_options__parse_cpus(cpus);
		if (!text->cpus || check_cpus(text))
			return -EINVAL;
	}
	text->dir = open_perffs();
	if (text->dir < 0)
		return text->dir;

	if (find_start(text))
		err = -EINVAL;
	else if (text->opts->follow && !text->ns->snapshot)
		err = follow(text);
	else
		err = print_once(text);
	close(text->dir);
	/* The reader of the pipe has seen enough. */
	if (err == -EPIPE)
		return 0;
	if (err && err != -EINVAL)
		pr_err("Cannot print what '%s' holds: %s\n", text->ns->name,
		       str_error_r(-err, buf, sizeof(buf)));
	return err;
}

int persistent__print_text(const char *name, const struct persistent_text_opts *opts)
{
	struct text text = { .opts = opts, .to = ULLONG_MAX };
	int err;

	text.ns = persistent_ns__open(name, /*write=*/false);
	if (!text.ns)
		return -1;
	err = print_ns(&text);
	perf_cpu_map__put(text.cpus);
	persistent_ns__close(text.ns);
	return err;
}
