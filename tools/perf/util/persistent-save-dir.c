// SPDX-License-Identifier: GPL-2.0
/*
 * The directory that snapshots of a namespace are saved to.
 *
 * A file name has the namespace, the time of the snapshot, its number, and what makes the
 * number unique: the boot, and the id of the namespace in that boot.
 *
 *	flight.20261122T031407Z.3.5f0c2d7e91a3b846-1c.data
 *
 * An incomplete file has a dot before its name. After a restart perf learns what was saved
 * from the names, and from a list of marks, .flight.marks, which also covers files that
 * somebody removed. Whichever of the two is ahead is right: perf writes the file first, and
 * may be killed before it writes the mark.
 */
#include "persistent-save-dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/time64.h>
#include <linux/zalloc.h>
#include "debug.h"
#include "persistent-time.h"
#include "record-file.h"
#include "record-limits.h"

/* How long the reader of a killed perf may take to exit */
#define LOCK_TRIES	50
#define LOCK_NS		(100 * NSEC_PER_MSEC)

/* Sorts after any time */
#define THIS_BOOT	"~"

static int err_dir(const struct save_dir *dir, const char *what)
{
	int err = -errno;

	pr_err("Cannot %s %s: %m\n", what, dir->path);
	return err;
}

/* The first half of the boot id is unique enough, and keeps names short. */
static int read_boot(u64 *boot)
{
	static const char path[] = "/proc/sys/kernel/random/boot_id";
	unsigned int a, b, c;
	FILE *file = fopen(path, "re");
	int nr = file ? fscanf(file, "%8x-%4x-%4x", &a, &b, &c) : 0;

	if (file)
		fclose(file);
	if (nr != 3) {
		pr_err("Cannot tell boots apart: no id in %s\n", path);
		return -EINVAL;
	}
	*boot = (u64)a << 32 | b << 16 | c;
	return 0;
}

/* Other users may write to the directory, and may have put a link, FIFO, device or file there. */
static int open_own(const struct save_dir *dir, const char *name, int flags)
{
	int fd = openat(dir->fd, name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	struct stat st;
	int err = 0;

	if (fd < 0 || fstat(fd, &st))
		err = -errno;
	else if (!S_ISREG(st.st_mode))
		err = -EINVAL;
	else if (st.st_uid != dir->uid)
		err = -EPERM;
	if (!err)
		return fd;

	if (fd >= 0)
		close(fd);
	return err;
}

static const char *why_not(int err, char *buf, size_t size)
{
	if (err == -ELOOP || err == -EINVAL)
		return "it is not a regular file";
	if (err == -EPERM)
		return "it belongs to another user";
	return str_error_r(-err, buf, size);
}

/* Never write to an existing file: another user may have made it. */
static int create_new(const struct save_dir *dir, const char *name)
{
	int fd;

	if (unlinkat(dir->fd, name, 0) && errno != ENOENT)
		return -errno;
	fd = openat(dir->fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : fd;
}

/*
 * Names
 */

void save_dir__name(const struct save_dir *dir, struct save_file *file, u64 source_id,
		    u32 number, u64 age_ns)
{
	time_t taken = (persistent__wall_now() - age_ns) / NSEC_PER_SEC;
	struct tm tm;

	memset(file, 0, sizeof(*file));
	file->boot = dir->boot;
	file->source_id = source_id;
	file->number = number;
	scnprintf(file->boot_time, sizeof(file->boot_time), THIS_BOOT);
	if (gmtime_r(&taken, &tm))
		strftime(file->time, sizeof(file->time), "%Y%m%dT%H%M%SZ", &tm);
	scnprintf(file->name, sizeof(file->name), "%s.%s.%u.%016" PRIx64 "-%" PRIx64 ".data",
		  dir->name, file->time, number, file->boot, source_id);
}

static bool parse_name(const struct save_dir *dir, const char *name, struct save_file *file)
{
	size_t len = strlen(dir->name);
	int end = 0;

	memset(file, 0, sizeof(*file));
	if (strncmp(name, dir->name, len) || name[len] != '.' ||
	    strlen(name) >= sizeof(file->name))
		return false;

	if (sscanf(name + len, ".%19[0-9TZ].%u.%16" SCNx64 "-%" SCNx64 ".data%n", file->time,
		   &file->number, &file->boot, &file->source_id, &end) != 4)
		return false;
	scnprintf(file->name, sizeof(file->name), "%s", name);
	return end && !name[len + end];
}

/* Is it left over from a killed perf? .flight.*.data.tmp, and .old if perf moved it */
static bool is_tmp(const struct save_dir *dir, const char *name)
{
	size_t len = strlen(dir->name);

	/* Skip the name of the namespace, which may begin with "tmp". */
	return name[0] == '.' && !strncmp(name + 1, dir->name, len) && name[len + 1] == '.' &&
	       strstr(name + 1 + len, ".tmp");
}

static void tmp_name(const struct save_file *file, char *name, size_t size)
{
	scnprintf(name, size, ".%s.tmp", file->name);
}

int save_dir__create_tmp(const struct save_dir *dir, const struct save_file *file)
{
	char name[SAVE_FILE_NAME_SIZE + 8];

	tmp_name(file, name, sizeof(name));
	return create_new(dir, name);
}

void save_dir__remove_tmp(const struct save_dir *dir, const struct save_file *file)
{
	char name[SAVE_FILE_NAME_SIZE + 8];

	tmp_name(file, name, sizeof(name));
	unlinkat(dir->fd, name, 0);
}

/*
 * Marks
 */

struct save_mark *save_dir__mark(struct save_dir *dir, u64 source_id)
{
	struct save_mark *marks;

	for (int i = 0; i < dir->nr_marks; i++) {
		if (dir->marks[i].source_id == source_id)
			return &dir->marks[i];
	}

	marks = realloc(dir->marks, (dir->nr_marks + 1) * sizeof(*marks));
	if (!marks)
		return NULL;
	dir->marks = marks;
	marks[dir->nr_marks] = (struct save_mark) { .source_id = source_id };
	return &marks[dir->nr_marks++];
}

static int read_marks(struct save_dir *dir)
{
	char name[PERF_PERSIST_NAME_SIZE + 16];
	struct save_mark is, *mark;
	char buf[STRERR_BUFSIZE];
	FILE *file;
	u64 boot;
	int fd;

	scnprintf(name, sizeof(name), ".%s.marks", dir->name);
	fd = open_own(dir, name, O_RDONLY);
	if (fd < 0 && fd != -ENOENT)
		pr_warning("WARNING: %s/%s is ignored: %s.\n", dir->path, name,
			   why_not(fd, buf, sizeof(buf)));
	file = fd < 0 ? NULL : fdopen(fd, "r");
	if (!file)
		return 0;

	while (fscanf(file, "%16" SCNx64 "-%" SCNx64 " %u %u\n", &boot, &is.source_id,
		      &is.settled, &is.handled) == 4) {
		if (boot != dir->boot)
			continue;
		mark = save_dir__mark(dir, is.source_id);
		if (!mark)
			break;
		*mark = is;
	}
	fclose(file);
	return 0;
}

int save_dir__write_marks(struct save_dir *dir)
{
	char name[PERF_PERSIST_NAME_SIZE + 16], tmp[PERF_PERSIST_NAME_SIZE + 24];
	FILE *file;
	int fd, err;

	scnprintf(name, sizeof(name), ".%s.marks", dir->name);
	scnprintf(tmp, sizeof(tmp), "%s.tmp", name);
	fd = create_new(dir, tmp);
	if (fd < 0)
		return fd;
	file = fdopen(fd, "w");
	if (!file) {
		err = -errno;
		close(fd);
		return err;
	}

	for (int i = 0; i < dir->nr_marks; i++) {
		const struct save_mark *mark = &dir->marks[i];

		fprintf(file, "%016" PRIx64 "-%" PRIx64 " %u %u\n", dir->boot, mark->source_id,
			mark->settled, mark->handled);
	}
	err = fflush(file) || fsync(fd) ? -errno : 0;
	if (fclose(file) && !err)
		err = -errno;
	if (!err && renameat(dir->fd, tmp, dir->fd, name))
		err = -errno;
	if (err)
		unlinkat(dir->fd, tmp, 0);
	return err;
}

/*
 * Files
 */

/*
 * Within a boot, ids and numbers only grow, even if the clock is set back. Boots can only be
 * compared by clock: a boot is as old as its oldest file.
 */
static int file_cmp(const void *_a, const void *_b)
{
	const struct save_file *a = _a, *b = _b;
	int cmp = strcmp(a->boot_time, b->boot_time);

	if (cmp || a->boot != b->boot)
		return cmp ?: (a->boot < b->boot ? -1 : 1);
	if (a->source_id != b->source_id)
		return a->source_id < b->source_id ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

static int boot_and_time_cmp(const void *_a, const void *_b)
{
	const struct save_file *a = _a, *b = _b;

	if (a->boot != b->boot)
		return a->boot < b->boot ? -1 : 1;
	return strcmp(a->time, b->time);
}

static void sort_files(struct save_dir *dir)
{
	const char *time = "";

	qsort(dir->files, dir->nr_files, sizeof(*dir->files), boot_and_time_cmp);
	for (int i = 0; i < dir->nr_files; i++) {
		struct save_file *file = &dir->files[i];

		if (!i || file->boot != file[-1].boot)
			time = file->boot == dir->boot ? THIS_BOOT : file->time;
		scnprintf(file->boot_time, sizeof(file->boot_time), "%s", time);
	}
	qsort(dir->files, dir->nr_files, sizeof(*dir->files), file_cmp);
}

static int append_file(struct save_dir *dir, const struct save_file *file)
{
	struct save_file *files = realloc(dir->files, (dir->nr_files + 1) * sizeof(*files));

	if (!files)
		return -ENOMEM;
	dir->files = files;
	files[dir->nr_files++] = *file;
	return 0;
}

static int insert_file(struct save_dir *dir, const struct save_file *file)
{
	int i = dir->nr_files, err = append_file(dir, file);

	if (err)
		return err;
	for (; i && file_cmp(&dir->files[i - 1], file) > 0; i--)
		dir->files[i] = dir->files[i - 1];
	dir->files[i] = *file;
	return 0;
}

static void remove_file(struct save_dir *dir, int i)
{
	dir->nr_files--;
	memmove(&dir->files[i], &dir->files[i + 1], (dir->nr_files - i) * sizeof(*dir->files));
}

/* Snapshots are saved in the order of their numbers, so all before this one are saved. */
static int note_saved(struct save_dir *dir, const struct save_file *file)
{
	struct save_mark *mark;

	if (file->boot != dir->boot)
		return 0;
	mark = save_dir__mark(dir, file->source_id);
	if (!mark)
		return -ENOMEM;
	mark->settled = max(mark->settled, file->number);
	return 0;
}

static int read_files(struct save_dir *dir)
{
	struct dirent *dent;
	struct save_file file;
	struct stat st;
	int err = 0, fd = dup(dir->fd);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d)
		return err_dir(dir, "read");

	while (!err && (dent = readdir(d))) {
		/* Others may put files there: the command must not get these. */
		if (fstatat(dir->fd, dent->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISREG(st.st_mode) || st.st_uid != dir->uid)
			continue;
		if (is_tmp(dir, dent->d_name)) {
			unlinkat(dir->fd, dent->d_name, 0);
			continue;
		}
		if (!parse_name(dir, dent->d_name, &file))
			continue;
		file.size = st.st_size;
		err = append_file(dir, &file) ?: note_saved(dir, &file);
	}
	closedir(d);
	if (!err && dir->nr_files)
		sort_files(dir);
	return err;
}

/* Somebody may have removed files. */
static void forget_missing(struct save_dir *dir)
{
	struct stat st;

	for (int i = dir->nr_files - 1; i >= 0; i--) {
		if (fstatat(dir->fd, dir->files[i].name, &st, 0) && errno == ENOENT)
			remove_file(dir, i);
	}
}

int save_dir__add(struct save_dir *dir, struct save_file *file)
{
	char tmp[SAVE_FILE_NAME_SIZE + 8];
	struct stat st;
	int err, fd;

	tmp_name(file, tmp, sizeof(tmp));
	fd = open_own(dir, tmp, O_RDONLY);
	if (fd < 0)
		return fd;
	err = fsync(fd) || fstat(fd, &st) ? -errno : 0;
	close(fd);
	if (!err && renameat(dir->fd, tmp, dir->fd, file->name))
		err = -errno;
	if (err)
		return err;

	/* It has its final name: whatever fails from here on, do not save it again. */
	fsync(dir->fd);
	file->size = st.st_size;
	if (note_saved(dir, file) || insert_file(dir, file))
		pr_debug("No memory to remember %s\n", file->name);
	return 0;
}

static bool is_unhandled(struct save_dir *dir, const struct save_file *file)
{
	struct save_mark *mark;

	if (!dir->runs || file->boot != dir->boot)
		return false;
	mark = save_dir__mark(dir, file->source_id);
	return mark && file->number > mark->handled;
}

/* The oldest file that can be removed and that the command does not use; never the newest */
static int find_oldest(const struct save_dir *dir)
{
	for (int i = 0; i < dir->nr_files - 1; i++) {
		if (!dir->files[i].stuck && strcmp(dir->files[i].name, dir->used))
			return i;
	}
	return -1;
}

/* -ENOENT: there is none that can go; other errors: @oldest stays, try the next one. */
static int dir__remove_oldest(struct save_dir *dir, struct save_file *oldest)
{
	int err, i = find_oldest(dir);
	struct save_file *file;

	if (i < 0)
		return -ENOENT;
	file = &dir->files[i];
	*oldest = *file;
	if (unlinkat(dir->fd, file->name, 0) && errno != ENOENT) {
		err = -errno;
		if (!file->told)
			pr_warning("WARNING: cannot remove %s/%s: %m\n", dir->path, file->name);
		file->stuck = true;
		file->told = true;
		return err;
	}
	if (is_unhandled(dir, file))
		pr_warning("WARNING: %s/%s is removed before the command ran for it.\n",
			   dir->path, file->name);
	remove_file(dir, i);
	return 0;
}

/* A file that stays counts as removed: neither do the others stay for it, nor go for it. */
static int remove_oldest(void *dir, u64 *size)
{
	struct save_file oldest;

	if (dir__remove_oldest(dir, &oldest) == -ENOENT)
		return -ENOENT;
	*size = oldest.size;
	return 0;
}

/* What could not be removed before may be possible now. */
static void look_again(struct save_dir *dir)
{
	forget_missing(dir);
	for (int i = 0; i < dir->nr_files; i++)
		dir->files[i].stuck = false;
}

int save_dir__prune(struct save_dir *dir, const struct record_limits *limits)
{
	u64 total = 0;

	look_again(dir);
	for (int i = 0; i < dir->nr_files; i++)
		total += dir->files[i].size;
	return record_limits__prune(limits, dir->nr_files, total, remove_oldest, dir);
}

bool save_dir__make_room(struct save_dir *dir)
{
	struct save_file oldest;
	int err;

	look_again(dir);
	do {
		err = dir__remove_oldest(dir, &oldest);
	} while (err && err != -ENOENT);
	if (!err)
		pr_warning("WARNING: the disk is full: %s/%s was removed to make room.\n",
			   dir->path, oldest.name);
	return !err;
}

const struct save_file *save_dir__unhandled(struct save_dir *dir)
{
	struct stat st;

	for (int i = 0; i < dir->nr_files; i++) {
		const struct save_file *file = &dir->files[i];

		if (is_unhandled(dir, file) &&
		    !fstatat(dir->fd, file->name, &st, AT_SYMLINK_NOFOLLOW) &&
		    S_ISREG(st.st_mode) && st.st_uid == dir->uid)
			return file;
	}
	return NULL;
}

void save_dir__use(struct save_dir *dir, const struct save_file *file)
{
	scnprintf(dir->used, sizeof(dir->used), "%s", file ? file->name : "");
}

/*
 * Opening
 */

static int err_lock(const struct save_dir *dir, const char *name)
{
	char buf[STRERR_BUFSIZE];
	struct passwd *pw;
	struct stat st;

	if (fstatat(dir->fd, name, &st, AT_SYMLINK_NOFOLLOW) || st.st_uid == dir->uid) {
		pr_err("Cannot create a lock in %s: %s\n", dir->path,
		       why_not(dir->lock_fd, buf, sizeof(buf)));
		return dir->lock_fd;
	}
	pw = getpwuid(st.st_uid);
	scnprintf(buf, sizeof(buf), "%u", st.st_uid);
	pr_err("Cannot lock %s/%s: it belongs to the user %s. Remove it if that user does not\n"
	       "save '%s', or save to another directory.\n", dir->path, name,
	       pw ? pw->pw_name : buf, dir->name);
	return -EPERM;
}

/*
 * Only one perf at a time. Its reader inherits the lock: if that perf is killed, the next one
 * waits until the reader is gone.
 */
static int lock_dir(struct save_dir *dir)
{
	const struct timespec pause = { .tv_nsec = LOCK_NS };
	char name[PERF_PERSIST_NAME_SIZE + 16];

	scnprintf(name, sizeof(name), ".%s.lock", dir->name);
	dir->lock_fd = open_own(dir, name, O_RDWR | O_CREAT);
	if (dir->lock_fd < 0)
		return err_lock(dir, name);

	for (int i = 0; flock(dir->lock_fd, LOCK_EX | LOCK_NB); i++) {
		if (errno != EWOULDBLOCK)
			return err_dir(dir, "lock");
		if (i == LOCK_TRIES) {
			pr_err("Another 'perf ctl save' of '%s' to %s is running.\n", dir->name,
			       dir->path);
			return -EBUSY;
		}
		nanosleep(&pause, NULL);
	}
	return 0;
}

static uid_t own_uid(struct save_dir *dir)
{
	char *path;
	uid_t uid;

	if (asprintf(&path, "%s/%s", dir->path, dir->name) < 0)
		return geteuid();
	uid = record_file__own_uid(path);
	free(path);
	return uid;
}

int save_dir__open(struct save_dir *dir, const char *path, const char *name, bool runs)
{
	int err;

	*dir = (struct save_dir) { .fd = -1, .lock_fd = -1, .runs = runs };
	scnprintf(dir->name, sizeof(dir->name), "%s", name);

	if (mkdir(path, 0700) && errno != EEXIST) {
		pr_err("Cannot create %s: %m\n", path);
		return -errno;
	}
	/* The command gets the path, and may change its directory. */
	dir->path = realpath(path, NULL);
	if (!dir->path) {
		pr_err("Cannot open %s: %m\n", path);
		return -errno;
	}
	dir->fd = open(dir->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir->fd < 0)
		return err_dir(dir, "open");

	dir->uid = own_uid(dir);
	err = read_boot(&dir->boot) ?: lock_dir(dir);
	/* In any order: whichever of marks and files is ahead counts. */
	return err ?: read_marks(dir) ?: read_files(dir);
}

bool save_dir__is_gone(const struct save_dir *dir)
{
	struct stat ours, there;

	if (fstat(dir->fd, &ours))
		return false;
	if (stat(dir->path, &there))
		return errno == ENOENT || errno == ENOTDIR;
	return ours.st_dev != there.st_dev || ours.st_ino != there.st_ino;
}

void save_dir__close(struct save_dir *dir)
{
	if (dir->lock_fd >= 0)
		close(dir->lock_fd);
	if (dir->fd >= 0)
		close(dir->fd);
	zfree(&dir->path);
	zfree(&dir->files);
	zfree(&dir->marks);
}
