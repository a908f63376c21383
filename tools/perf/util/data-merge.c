// SPDX-License-Identifier: GPL-2.0
/*
 * Print the samples of several files as one timeline, in the order of wall-clock time.
 *
 * A perf session delivers all samples of a file in one go. So perf forks a process for
 * each file, which sorts and formats samples and writes them into a pipe. It blocks there
 * until the merging process reads on, which keeps only one line of each file in memory.
 */
#include "data-merge.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/time64.h>
#include <linux/zalloc.h>
#include "clockid.h"
#include "data-merge-read.h"
#include "debug.h"
#include "json-print.h"
#include "persistent.h"

/* The most by which NTP speeds up or slows down a clock */
#define MAX_SLEW_PPM	500

/* If two readings of a pair of clocks differ by more than this, a clock was changed. */
#define READING_NS	(10 * NSEC_PER_MSEC)

struct merge_source {
	const char		*path;
	char			*name;		/* a unique name of the machine */
	struct merge_info	*info;
	pid_t			 pid;
	FILE			*pipe;		/* NULL: no more lines */
	struct merge_line	 line;		/* the next line */
	char			*text;
	size_t			 room;
	s64			 offset;
	u64			 nr;
	s64			 first, last;
};

struct merge {
	const struct data_merge_opts *opts;
	struct merge_source	*sources;
	int			 nr;
	struct merge_info	*infos;
	size_t			 width;		/* of the longest name */
	FILE			*out;
};

#define for_each_source(merge, s) \
	for (s = (merge)->sources; s < (merge)->sources + (merge)->nr; s++)

int data_merge_opts__add_offset(struct data_merge_opts *opts, const char *str)
{
	const char *seconds = strrchr(str, '=');
	struct data_merge_offset *offsets;
	char *end = NULL;
	double offset = 0;

	/* Refuse nan, inf and hexadecimal numbers. */
	if (seconds && seconds[1 + strspn(seconds + 1, "+-.0123456789")] == '\0')
		offset = strtod(seconds + 1, &end);
	if (!end || end == seconds + 1 || *end || seconds == str || fabs(offset) > INT_MAX) {
		pr_err("--offset takes a machine and the seconds to add to its times, as in --offset web1=-1.5: not '%s'.\n",
		       str);
		return -EINVAL;
	}

	offsets = realloc(opts->offsets, (opts->nr_offsets + 1) * sizeof(*offsets));
	if (!offsets)
		return -ENOMEM;
	opts->offsets = offsets;
	offsets += opts->nr_offsets;
	offsets->machine = strndup(str, seconds - str);
	offsets->ns = llround(offset * NSEC_PER_SEC);
	if (!offsets->machine)
		return -ENOMEM;
	opts->nr_offsets++;
	return 0;
}

void data_merge_opts__exit(struct data_merge_opts *opts)
{
	for (int i = 0; i < opts->nr_offsets; i++)
		free(opts->offsets[i].machine);
	zfree(&opts->offsets);
	opts->nr_offsets = 0;
}

static int start_source(struct merge *merge, struct merge_source *source)
{
	struct merge_source *other;
	FILE *pipe_out;
	int fds[2];

	if (pipe(fds))
		return -errno;

	source->pid = fork();
	if (source->pid < 0) {
		source->pid = 0;
		close(fds[0]);
		close(fds[1]);
		return -errno;
	}

	if (!source->pid) {
		/* Close other pipes, or their writers get no EPIPE when the parent closes. */
		for_each_source(merge, other) {
			if (other->pipe)
				close(fileno(other->pipe));
		}
		close(fds[0]);
		pipe_out = fdopen(fds[1], "w");
		exit(pipe_out && !merge__read_file(source->path, merge->opts, source->info,
						   pipe_out) ? EXIT_SUCCESS : EXIT_FAILURE);
	}

	close(fds[1]);
	source->pipe = fdopen(fds[0], "r");
	if (!source->pipe) {
		close(fds[0]);
		return -ENOMEM;
	}
	return 0;
}

/* The process reports its errors itself, unless it was killed. */
static int end_source(struct merge_source *source)
{
	int status = 0;

	if (source->pipe)
		fclose(source->pipe);
	source->pipe = NULL;
	if (source->pid)
		waitpid(source->pid, &status, 0);
	source->pid = 0;
	if (WIFSIGNALED(status))
		pr_err("The process that read '%s' was killed by signal %d: some of its samples are missing.\n",
		       source->path, WTERMSIG(status));
	return status ? -EIO : 0;
}

/* Read the next line, or end the source. */
static int source__next(struct merge_source *source)
{
	char *text;

	if (fread(&source->line, sizeof(source->line), 1, source->pipe) != 1)
		return end_source(source);

	if (source->line.len > source->room) {
		text = realloc(source->text, source->line.len);
		if (!text)
			return -ENOMEM;
		source->text = text;
		source->room = source->line.len;
	}
	if (fread(source->text, source->line.len, 1, source->pipe) != 1)
		return end_source(source);
	source->line.time += source->offset;
	return 0;
}

/* Start all processes before failing, so that each file that cannot be read is reported. */
static int start_all(struct merge *merge)
{
	struct merge_source *source;
	char buf[STRERR_BUFSIZE];
	int err, ret = 0;

	for_each_source(merge, source) {
		err = start_source(merge, source);
		if (err) {
			pr_err("Cannot start to read '%s': %s\n", source->path,
			       str_error_r(-err, buf, sizeof(buf)));
			return err;
		}
	}

	for_each_source(merge, source) {
		err = source__next(source);
		if (err)
			ret = err;
	}
	return ret;
}

static bool is_hostname_unique(const struct merge *merge, const struct merge_source *source)
{
	struct merge_source *other;

	for_each_source(merge, other) {
		if (other != source && !strcmp(other->info->hostname, source->info->hostname))
			return false;
	}
	return true;
}

/* Use the host name, and add the file name if several files are of one host. */
static int name_sources(struct merge *merge)
{
	struct merge_source *source, *other;
	int ret;

	for_each_source(merge, source) {
		const char *host = source->info->hostname;

		if (!*host)
			ret = asprintf(&source->name, "%s", source->path);
		else if (is_hostname_unique(merge, source))
			ret = asprintf(&source->name, "%s", host);
		else
			ret = asprintf(&source->name, "%s:%s", host, source->path);
		if (ret < 0) {
			source->name = NULL;
			return -ENOMEM;
		}
		persistent__make_printable(source->name);
		merge->width = max(merge->width, strlen(source->name));

		for (other = merge->sources; other < source; other++) {
			if (!strcmp(other->name, source->name)) {
				pr_err("'%s' is given twice: give each file once.\n",
				       source->path);
				return -EINVAL;
			}
		}
	}
	return 0;
}

static int apply_offset(struct merge *merge, const struct data_merge_offset *offset)
{
	struct merge_source *source;
	bool found = false;

	for_each_source(merge, source) {
		if (strcmp(offset->machine, source->name) &&
		    strcmp(offset->machine, source->info->hostname))
			continue;
		source->line.time += offset->ns - source->offset;
		source->offset = offset->ns;
		found = true;
	}
	if (found)
		return 0;

	pr_err("--offset: no file is from machine '%s', only from", offset->machine);
	for_each_source(merge, source)
		pr_err(" '%s'", source->name);
	pr_err(".\n");
	return -EINVAL;
}

/* Never overwrite a file: it may be a recording that cannot be repeated. */
static int open_output(struct merge *merge)
{
	const char *path = merge->opts->output;
	char buf[STRERR_BUFSIZE];
	struct stat st;
	int fd;

	merge->out = stdout;
	if (!path)
		return 0;

	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	/* A pipe or a device is no recording. Without O_TRUNC, a recording stays as it is. */
	if (fd < 0 && errno == EEXIST) {
		fd = open(path, O_WRONLY | O_CLOEXEC);
		if (fd >= 0 && (fstat(fd, &st) || S_ISREG(st.st_mode))) {
			close(fd);
			fd = -1;
			errno = EEXIST;
		}
	}
	merge->out = fd < 0 ? NULL : fdopen(fd, "w");
	if (merge->out)
		return 0;
	if (errno == EEXIST) {
		pr_err("'%s' exists: remove it, or give -o another name.\n", path);
		return -EEXIST;
	}
	pr_err("Cannot create '%s', give -o another name: %s\n", path,
	       str_error_r(errno, buf, sizeof(buf)));
	return -EIO;
}

static struct merge_source *find_oldest(struct merge *merge)
{
	struct merge_source *source, *oldest = NULL;

	for_each_source(merge, source) {
		if (source->pipe && (!oldest || source->line.time < oldest->line.time))
			oldest = source;
	}
	return oldest;
}

/* Print local time for people. In JSON print UTC, which programs can sort as text. */
static void format_time(s64 time, bool json, char *buf, size_t size)
{
	s64 ns = time % (s64)NSEC_PER_SEC;
	time_t seconds = time / (s64)NSEC_PER_SEC;
	struct tm tm = {};
	size_t len;

	if (ns < 0) {
		ns += NSEC_PER_SEC;
		seconds--;
	}
	if (json) {
		gmtime_r(&seconds, &tm);
		len = strftime(buf, size, "%FT%T", &tm);
		snprintf(buf + len, size - len, ".%09" PRId64 "Z", (int64_t)ns);
	} else {
		localtime_r(&seconds, &tm);
		len = strftime(buf, size, "%F %T", &tm);
		snprintf(buf + len, size - len, ".%06" PRId64, (int64_t)(ns / NSEC_PER_USEC));
	}
}

static void print_line(struct merge *merge, const struct merge_source *source)
{
	char time[64];

	format_time(source->line.time, merge->opts->json, time, sizeof(time));
	if (merge->opts->json) {
		fputs("{\"machine\": ", merge->out);
		json__fputs_string(source->name, merge->out);
		fprintf(merge->out, ", \"time\": \"%s\", \"time_ns\": %" PRId64 ", ", time,
			(int64_t)source->line.time);
	} else {
		fprintf(merge->out, "%-*s %s ", (int)merge->width, source->name, time);
	}
	fwrite(source->text, source->line.len, 1, merge->out);
	fputs(merge->opts->json ? "}\n" : "\n", merge->out);
}

static int close_output(struct merge *merge)
{
	int err = ferror(merge->out) ? -EIO : 0;

	if ((merge->out == stdout ? fflush(stdout) : fclose(merge->out)) && !err)
		err = -errno;
	if (err)
		pr_err("Cannot write all of the timeline: is the disk full?\n");
	return err;
}

static int print_lines(struct merge *merge)
{
	struct merge_source *source;
	int err, ret = 0;

	while ((source = find_oldest(merge)) && !ferror(merge->out)) {
		print_line(merge, source);
		if (!source->nr++)
			source->first = source->line.time;
		source->last = source->line.time;
		err = source__next(source);
		if (err)
			ret = err;
	}
	return close_output(merge) ?: ret;
}

/*
 * Report on the clocks
 */

static double to_seconds(s64 ns)
{
	return (double)ns / NSEC_PER_SEC;
}

/* The longest time between a sample and the moment at which the clocks were compared */
static s64 source__distance(const struct merge_source *source)
{
	s64 known = source->info->tod_ns + source->offset;

	return max(llabs(source->first - known), llabs(source->last - known));
}

static void print_source(const struct merge_source *source)
{
	const struct merge_info *info = source->info;
	double distance;

	fprintf(stderr, "%s: %" PRIu64 " samples", source->name, source->nr);
	if (source->nr) {
		distance = to_seconds(source__distance(source));
		fprintf(stderr, ", up to %.3f s from when its clock (%s) was compared with wall-clock time",
			distance, clockid_name(info->clockid));
		if (info->clockid == CLOCK_MONOTONIC_RAW || info->clockid == (u32)CLOCKID_PERF)
			fprintf(stderr, ", which NTP does not steer: give or take %.3f ms",
				distance * MSEC_PER_SEC * MAX_SLEW_PPM / USEC_PER_SEC);
	}
	if (source->offset)
		fprintf(stderr, ", %+.9g s added", to_seconds(source->offset));
	if (info->nr_lost)
		fprintf(stderr, ", %" PRIu64 " lost when recording", info->nr_lost);
	if (info->nr_unordered)
		fprintf(stderr, ", %" PRIu64 " not in the order of time", info->nr_unordered);
	fputs("\n", stderr);
}

/* Compare two files of a host to see if its clock was changed between them. */
static void print_change(const struct merge_source *source, const struct merge_source *other)
{
	const struct merge_info *info = source->info, *then = other->info;
	s64 change = info->tod_ns - info->clockid_ns - (then->tod_ns - then->clockid_ns);

	if (llabs(change) < READING_NS)
		return;
	fprintf(stderr, "%s: wall-clock time minus %s is %+.3f s in '%s' compared with '%s': ",
		info->hostname, clockid_name(info->clockid), to_seconds(change), source->path,
		other->path);
	fputs("the clock was set, or the machine slept or booted in between\n", stderr);
}

/* Find the previous file of the same host and clock. NULL: none */
static const struct merge_source *find_earlier(const struct merge *merge,
					       const struct merge_source *source)
{
	const struct merge_source *other = source;

	while (*source->info->hostname && other > merge->sources) {
		other--;
		if (!strcmp(other->info->hostname, source->info->hostname) &&
		    other->info->clockid == source->info->clockid)
			return other;
	}
	return NULL;
}

static void print_skew(struct merge *merge)
{
	const struct merge_source *other;
	struct merge_source *source;

	for_each_source(merge, source)
		print_source(source);
	for_each_source(merge, source) {
		other = find_earlier(merge, source);
		if (other)
			print_change(source, other);
	}
	fputs("Files do not show how far apart the clocks of the machines were: milliseconds with NTP,\n"
	      "any time without it. They also do not show whether a clock was set, or the machine\n"
	      "slept, between a sample and that comparison.\n"
	      "If the clock of a machine is known to be off, use --offset MACHINE=SECONDS.\n",
	      stderr);
}

static int merge__run(struct merge *merge)
{
	int err = start_all(merge);

	if (!err)
		err = name_sources(merge);
	for (int i = 0; !err && i < merge->opts->nr_offsets; i++)
		err = apply_offset(merge, &merge->opts->offsets[i]);
	if (!err)
		err = open_output(merge);
	if (err)
		return err;

	err = print_lines(merge);
	print_skew(merge);
	return err;
}

static void merge__exit(struct merge *merge)
{
	struct merge_source *source;

	for_each_source(merge, source) {
		/* Kill processes that are not done, and do not report it. */
		if (source->pid && source->pipe) {
			kill(source->pid, SIGKILL);
			waitpid(source->pid, NULL, 0);
			source->pid = 0;
		}
		end_source(source);
		free(source->text);
		free(source->name);
	}
	munmap(merge->infos, merge->nr * sizeof(*merge->infos));
	free(merge->sources);
}

int data_merge(const char **paths, int nr, const struct data_merge_opts *opts)
{
	struct merge merge = { .opts = opts, .nr = nr };
	int err;

	merge.infos = mmap(NULL, nr * sizeof(*merge.infos), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (merge.infos == MAP_FAILED)
		return -ENOMEM;
	merge.sources = calloc(nr, sizeof(*merge.sources));
	if (!merge.sources) {
		munmap(merge.infos, nr * sizeof(*merge.infos));
		return -ENOMEM;
	}
	for (int i = 0; i < nr; i++) {
		merge.sources[i].path = paths[i];
		merge.sources[i].info = &merge.infos[i];
	}

	err = merge__run(&merge);
	merge__exit(&merge);
	return err;
}
