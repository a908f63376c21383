// SPDX-License-Identifier: GPL-2.0
/*
 * The files of perf record --daemon: their names, and which ones belong together.
 *
 *	perf.data.auxiliary				side-band records of tasks and maps
 *	perf.data.auxiliary.20261124T130502.123456Z	of a recording that ended before then,
 *							as long as its samples are there
 *	perf.data.sample.20261124T130502.123456Z	samples, written at this time (UTC)
 *	.perf.data.sample.20261124T130502.123456Z.XXXXXX.tmp	until complete, and the same
 *							for perf.data and perf.data.auxiliary
 *	perf.data					all of them combined
 */
#include "record-parts.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/time64.h>
#include <linux/zalloc.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include "data-join.h"
#include "debug.h"
#include "record-file.h"

#define AUX		".auxiliary"
#define SAMPLE		".sample."
#define TIME_PATTERN	"00000000T000000.000000Z"
#define TIME_LEN	(sizeof(TIME_PATTERN) - 1)
#define TMP_PATTERN	".XXXXXX.tmp"
#define TMP_LEN		(sizeof(TMP_PATTERN) - 1)

int record_parts__init(struct record_parts *parts, const char *base)
{
	const char *name = strrchr(base, '/');

	memset(parts, 0, sizeof(*parts));
	name = name ? name + 1 : base;
	parts->uid = geteuid();
	parts->base = strdup(base);
	parts->name = strdup(name);
	parts->dir = name == base ? strdup(".") : strndup(base, name - base);
	if (!parts->base || !parts->name || !parts->dir ||
	    asprintf(&parts->aux, "%s" AUX, base) < 0) {
		parts->aux = NULL;
		record_parts__exit(parts);
		return -ENOMEM;
	}
	return 0;
}

void record_parts__exit(struct record_parts *parts)
{
	zfree(&parts->base);
	zfree(&parts->dir);
	zfree(&parts->name);
	zfree(&parts->aux);
}

static bool is_time(const char *str)
{
	for (size_t i = 0; i < TIME_LEN; i++) {
		if (TIME_PATTERN[i] == '0' ? !isdigit(str[i]) : str[i] != TIME_PATTERN[i])
			return false;
	}
	return true;
}

/* The time in the name of a file with samples, NULL: @name is no such file */
static const char *sample_time(const char *base, size_t len, const char *name)
{
	if (strncmp(name, base, len) || strncmp(name + len, SAMPLE, strlen(SAMPLE)))
		return NULL;
	name += len + strlen(SAMPLE);
	return is_time(name) ? name : NULL;
}

static bool is_sample(const struct record_parts *parts, const char *name)
{
	const char *time = sample_time(parts->name, strlen(parts->name), name);

	return time && !time[TIME_LEN];
}

/* Is it the auxiliary file of an earlier recording? */
static bool is_old_aux(const struct record_parts *parts, const char *name)
{
	size_t len = strlen(parts->name);

	if (strncmp(name, parts->name, len) || strncmp(name + len, AUX ".", strlen(AUX ".")))
		return false;
	name += len + strlen(AUX ".");
	return is_time(name) && !name[TIME_LEN];
}

static bool is_unfinished(const struct record_parts *parts, const char *name)
{
	size_t len = strlen(parts->name);
	const char *end;

	if (*name++ != '.')
		return false;
	end = sample_time(parts->name, len, name);
	if (end)
		end += TIME_LEN;
	else if (!strncmp(name, parts->name, len))
		end = name + len;
	if (end && !strncmp(end, AUX, strlen(AUX)))
		end += strlen(AUX);
	return end && strlen(end) == TMP_LEN && end[0] == '.' && !strcmp(end + TMP_LEN - 4, ".tmp");
}

typedef int (*name_fn)(const struct record_parts *parts, const char *name, void *arg);

/* Unlike scandir(), pass an argument to the filter. */
static int visit_names(const struct record_parts *parts, name_fn fn, void *arg)
{
	DIR *dir = opendir(parts->dir);
	struct dirent *dent;
	int err = 0;

	if (!dir)
		return -errno;
	while (!err && (dent = readdir(dir)))
		err = fn(parts, dent->d_name, arg);
	closedir(dir);
	return err;
}

static char *path_of(const struct record_parts *parts, const char *name)
{
	char *path;

	return asprintf(&path, "%s%s", parts->base, name + strlen(parts->name)) < 0 ? NULL : path;
}

static bool is_regular(const char *path)
{
	struct stat st;

	return !lstat(path, &st) && S_ISREG(st.st_mode);
}

/* Others may put files beside those of perf, if the directory allows that. */
static bool is_own(const struct record_parts *parts, const char *path)
{
	struct stat st;

	return !lstat(path, &st) && S_ISREG(st.st_mode) && st.st_uid == parts->uid;
}

struct list {
	const char	*aux;
	char		**paths;
	int		nr;
};

static int add_to_list(const struct record_parts *parts, const char *name, void *arg)
{
	struct list *list = arg;
	char **paths, *path;

	if (!is_sample(parts, name))
		return 0;
	path = path_of(parts, name);
	if (!path)
		return -ENOMEM;
	/* Only who may read the auxiliary file can make a file that belongs to it. */
	if (list->aux ? !is_regular(path) || data_join__same(list->aux, path) <= 0 :
			!is_own(parts, path)) {
		free(path);
		return 0;
	}
	paths = realloc(list->paths, (list->nr + 1) * sizeof(*paths));
	if (!paths) {
		free(path);
		return -ENOMEM;
	}
	list->paths = paths;
	paths[list->nr++] = path;
	return 0;
}

static int path_cmp(const void *a, const void *b)
{
	return strcmp(*(char * const *)a, *(char * const *)b);
}

int record_parts__list(const struct record_parts *parts, const char *aux, char ***paths)
{
	struct list list = { .aux = aux };
	int err = visit_names(parts, add_to_list, &list);

	if (err) {
		record_parts__free_list(list.paths, list.nr);
		return err;
	}
	if (list.nr)
		qsort(list.paths, list.nr, sizeof(*list.paths), path_cmp);
	*paths = list.paths;
	return list.nr;
}

void record_parts__free_list(char **paths, int nr)
{
	for (int i = 0; i < nr; i++)
		free(paths[i]);
	free(paths);
}

static int find_last(const struct record_parts *parts, const char *name, void *arg)
{
	char *path = is_sample(parts, name) ? path_of(parts, name) : NULL, *last = arg;

	if (path && is_own(parts, path)) {
		name += strlen(name) - TIME_LEN;
		if (strcmp(name, last) > 0)
			memcpy(last, name, TIME_LEN + 1);
	}
	free(path);
	return 0;
}

static void print_time(char *buf, size_t size, time_t sec, long usec)
{
	struct tm tm = {};
	char str[32];

	gmtime_r(&sec, &tm);
	strftime(str, sizeof(str), "%Y%m%dT%H%M%S", &tm);
	scnprintf(buf, size, "%s.%06ldZ", str, usec);
}

/* Add one microsecond. */
static void add_usec(char *buf, size_t size)
{
	struct tm tm = {};
	long usec = atol(buf + sizeof("00000000T000000.") - 1) + 1;
	time_t sec;

	if (sscanf(buf, "%4d%2d%2dT%2d%2d%2d", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tm.tm_hour,
		   &tm.tm_min, &tm.tm_sec) != 6)
		return;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	sec = timegm(&tm) + usec / USEC_PER_SEC;
	print_time(buf, size, sec, usec % USEC_PER_SEC);
}

static void print_now(char *buf, size_t size)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	print_time(buf, size, ts.tv_sec, ts.tv_nsec / NSEC_PER_USEC);
}

/* If the clock was set back, go on from the time of the newest file. */
char *record_parts__next(const struct record_parts *parts)
{
	char last[TIME_LEN + 1] = "", now[TIME_LEN + 1], *path;

	print_now(now, sizeof(now));
	visit_names(parts, find_last, last);
	if (strcmp(now, last) <= 0) {
		memcpy(now, last, sizeof(now));
		add_usec(now, sizeof(now));
	}
	return asprintf(&path, "%s" SAMPLE "%s", parts->base, now) < 0 ? NULL : path;
}

/* Keep files that 'perf data join' is writing to: they are locked. */
static void remove_unlocked(const char *path)
{
	/* NFS needs a descriptor for writing. */
	int fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0 || !flock(fd, LOCK_EX | LOCK_NB) || errno != EWOULDBLOCK)
		unlink(path);
	if (fd >= 0)
		close(fd);
}

static int remove_unfinished(const struct record_parts *parts, const char *name,
			     void *arg __maybe_unused)
{
	char *path;

	if (!is_unfinished(parts, name) || asprintf(&path, "%s/%s", parts->dir, name) < 0)
		return 0;
	remove_unlocked(path);
	free(path);
	return 0;
}

void record_parts__remove_unfinished(const struct record_parts *parts)
{
	visit_names(parts, remove_unfinished, NULL);
}

/*
 * Auxiliary files of earlier recordings
 */

char *record_parts__old_aux(const struct record_parts *parts)
{
	char now[TIME_LEN + 1], *path;

	print_now(now, sizeof(now));
	return asprintf(&path, "%s.%s", parts->aux, now) < 0 ? NULL : path;
}

/*
 * Returns 1 for a file of samples that belongs to the auxiliary file @aux, -EINVAL for one of
 * this user that cannot be read, and 0 for others.
 */
static int belongs_to(const struct record_parts *parts, const char *name, void *aux)
{
	char *path;
	int same;

	if (!is_sample(parts, name))
		return 0;
	path = path_of(parts, name);
	if (!path)
		return -ENOMEM;
	same = is_regular(path) ? data_join__same(aux, path) : 0;
	if (same < 0 && !is_own(parts, path))
		same = 0;
	free(path);
	return same;
}

static int find_unknown(const struct record_parts *parts, const char *name, void *arg)
{
	return belongs_to(parts, name, arg) < 0;
}

bool record_parts__need(const struct record_parts *parts, char *aux)
{
	/* It stops at the first one with a value that is not 0. */
	return visit_names(parts, belongs_to, aux);
}

bool record_parts__unknown(const struct record_parts *parts, char *aux)
{
	return visit_names(parts, find_unknown, aux);
}

static int remove_if_useless(const struct record_parts *parts, const char *name,
			     void *arg __maybe_unused)
{
	char *path = is_old_aux(parts, name) ? path_of(parts, name) : NULL;

	if (path && is_own(parts, path) && !record_parts__need(parts, path) && !unlink(path) &&
	    !quiet)
		fprintf(stderr, "[ perf record: removed %s ]\n", path);
	free(path);
	return 0;
}

void record_parts__remove_old_aux(const struct record_parts *parts)
{
	visit_names(parts, remove_if_useless, NULL);
}

/*
 * Reading
 */

/* perf.data for perf.data.sample.20261124T130502.123456Z, NULL: no such path */
static char *find_base(const char *path)
{
	size_t len = strlen(path), end = strlen(SAMPLE) + TIME_LEN;

	if (len <= end || !sample_time("", 0, path + len - end))
		return NULL;
	return strndup(path, len - end);
}

struct find_aux {
	const char	*path;	/* of the samples */
	char		*aux;
};

/* Stop with 1 at an auxiliary file of an earlier recording that has the samples. */
static int find_old_aux(const struct record_parts *parts, const char *name, void *arg)
{
	struct find_aux *find = arg;

	if (!is_old_aux(parts, name))
		return 0;
	find->aux = path_of(parts, name);
	if (!find->aux)
		return -ENOMEM;
	if (data_join__same(find->path, find->aux) > 0)
		return 1;
	zfree(&find->aux);
	return 0;
}

/* Find the auxiliary file of the same recording. NULL: none */
static char *find_aux(const char *base, const char *path)
{
	struct find_aux find = { .path = path };
	struct record_parts parts;

	if (record_parts__init(&parts, base))
		return NULL;
	if (data_join__same(path, parts.aux) > 0)
		find.aux = strdup(parts.aux);
	else
		visit_names(&parts, find_old_aux, &find);
	record_parts__exit(&parts);
	return find.aux;
}

static int open_unnamed(void)
{
	const char *tmp = getenv("TMPDIR");
	int fd = open(tmp ?: "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	return fd < 0 ? memfd_create("perf-joined", MFD_CLOEXEC) : fd;
}

static int join_to(int fd, const char *aux, const char *path, bool force)
{
	const char *paths[2] = { aux, path };
	struct data_join join = { .force = force };
	struct record_file out = {};
	struct stat st;
	int err;

	err = data_join__open(&join, paths, ARRAY_SIZE(paths)) ?: data_join__sort(&join) ?:
	      record_file__attach(&out, fd) ?: data_join__write(&join, &out) ?:
	      record_file__finish(&out);
	data_join__exit(&join);
	/* perf report --header takes it for the time of the recording. */
	if (!err && !stat(path, &st))
		futimens(fd, (struct timespec[]){ st.st_atim, st.st_mtim });
	return err;
}

int record_parts__open_joined(const char *path, bool force)
{
	char *base = find_base(path), *aux;
	int fd = -1, err;

	if (!base)
		return -1;

	aux = find_aux(base, path);
	if (aux)
		fd = open_unnamed();
	if (!aux) {
		fprintf(stderr, "[ perf: %s" AUX " is not there, or of another recording: samples have fewer names ]\n",
			base);
	} else if (fd < 0) {
		fprintf(stderr, "[ perf: no room to read it with %s: samples have fewer names: %m ]\n",
			aux);
	} else {
		err = join_to(fd, aux, path, force);
		if (err) {
			errno = -err;
			fprintf(stderr, "[ perf: cannot read it with %s: samples have fewer names: %m ]\n",
				aux);
			close(fd);
			fd = -1;
		} else if (!quiet) {
			fprintf(stderr, "[ perf: read with the names in %s ]\n", aux);
		}
	}
	free(aux);
	free(base);
	return fd;
}
