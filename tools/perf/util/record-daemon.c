// SPDX-License-Identifier: GPL-2.0
/*
 * perf record --daemon: the background process, its pid file, log and limits.
 *
 * perf forks it before it opens events, as events and filters refer to perf by its pid.
 * The foreground process waits until recording has begun, so the user sees errors up to
 * then. Later messages go to the log.
 */
#include "record-daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/ctype.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/zalloc.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/un.h>
#include <sys/wait.h>
#include "data-join.h"
#include "debug.h"
#include "record-file.h"

/*
 * Beginning
 */

static int wait_for(pid_t pid, int fd)
{
	int status;
	char ready;

	if (read(fd, &ready, 1) == 1)
		return 1;
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	/* Otherwise the background process has printed the reason. */
	if (WIFSIGNALED(status))
		pr_err("The daemon was ended by signal %d (%s).\n", WTERMSIG(status),
		       strsignal(WTERMSIG(status)));
	return -ECHILD;
}

/* If one is closed, a file that perf opens would get its number, and output of others. */
static int open_standard_files(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd < 0) {
		pr_err("Cannot open /dev/null: %m\n");
		return -errno;
	}
	close(fd);
	return 0;
}

int record_daemon__detach(struct record_daemon *daemon)
{
	int fds[2], ret = open_standard_files();
	pid_t pid;

	if (ret)
		return ret;
	/* A service manager with $NOTIFY_SOCKET expects perf to stay in the foreground. */
	if (getenv("NOTIFY_SOCKET"))
		return 0;

	if (pipe2(fds, O_CLOEXEC)) {
		pr_err("Cannot create a pipe: %m\n");
		return -errno;
	}
	fflush(NULL);
	pid = fork();
	if (pid < 0) {
		pr_err("Cannot fork: %m\n");
		return -errno;
	}
	if (pid) {
		close(fds[1]);
		ret = wait_for(pid, fds[0]);
		close(fds[0]);
		return ret;
	}

	close(fds[0]);
	setsid();
	daemon->foreground = fds[1];
	return 0;
}

/* If the user has named another file by mistake, perf must not empty it. */
static bool is_pid_file(int fd)
{
	char buf[32];
	ssize_t len = pread(fd, buf, sizeof(buf), 0);
	struct stat st;

	if (len > 0 && buf[len - 1] == '\n')
		len--;
	for (ssize_t i = 0; i < len; i++) {
		if (!isdigit(buf[i]))
			return false;
	}
	return len >= 0 && len < (ssize_t)sizeof(buf) - 1 && !fstat(fd, &st) && st.st_nlink <= 1;
}

static int check_pid_file(const char *path, int fd)
{
	const char *why = record_file__why_not(fd, record_file__own_uid(path));

	if (!why && !is_pid_file(fd))
		why = "it has something else than a process id, or another name";
	if (!why)
		return 0;
	pr_err("Cannot write to %s: %s.\n", path, why);
	return -EINVAL;
}

/*
 * A running daemon holds a lock on its pid file. Try again if the file was removed before
 * it was locked. The file stays empty until perf handles signals, so that nobody sends
 * one earlier.
 */
static int open_pid_file(struct record_daemon *daemon)
{
	const char *path = daemon->pid_path;
	int fd, err = 0;

	for (;;) {
		fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0644);
		if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB)) {
			err = -errno;
			break;
		}
		if (record_file__has_name(path, fd))
			break;
		close(fd);
	}

	if (err == -EWOULDBLOCK) {
		pr_err("Another 'perf record --daemon' has written %s: use another --pid-file.\n",
		       path);
	} else if (err) {
		pr_err("Cannot open %s: %m\n", path);
	} else {
		err = check_pid_file(path, fd);
	}
	if (err) {
		if (fd >= 0)
			close(fd);
		return err;
	}

	daemon->pid_fd = fd;
	if (ftruncate(fd, 0)) {
		err = -errno;
		pr_err("Cannot write to %s: %m\n", path);
	}
	return err;
}

int record_daemon__write_pid(struct record_daemon *daemon)
{
	if (daemon->pid_fd >= 0 && dprintf(daemon->pid_fd, "%d\n", getpid()) < 0) {
		pr_err("Cannot write to %s: %m\n", daemon->pid_path);
		return -EIO;
	}
	return 0;
}

static int open_log(struct record_daemon *daemon)
{
	const char *why;
	struct stat st;
	char *path;
	int fd, err;

	if (asprintf(&path, "%s.log", daemon->parts.base) < 0)
		return -ENOMEM;
	daemon->log_path = path;
	fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (fd < 0) {
		err = -errno;
		pr_err("Cannot open %s: %m\n", path);
		return err;
	}
	why = record_file__why_not(fd, daemon->parts.uid);
	if (!why && (fstat(fd, &st) || st.st_nlink > 1))
		why = "it has another name";
	if (why) {
		pr_err("Cannot write to %s: %s.\n", path, why);
		close(fd);
		return -EINVAL;
	}
	daemon->log_fd = fd;
	return 0;
}

int record_daemon__open(struct record_daemon *daemon, const char *path)
{
	int err;

	err = record_parts__init(&daemon->parts, path);
	if (err)
		return err;
	daemon->parts.uid = record_file__own_uid(path);
	err = record_aux__open(&daemon->aux, &daemon->parts);
	if (!err && daemon->pid_path)
		err = open_pid_file(daemon);
	if (!err && daemon->foreground >= 0)
		err = open_log(daemon);
	return err;
}

static void notify(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	size_t len = path ? strlen(path) : 0;
	int fd;

	if (!len || len >= sizeof(addr.sun_path))
		return;
	memcpy(addr.sun_path, path, len);
	/* A name in the abstract namespace of sockets */
	if (*path == '@')
		addr.sun_path[0] = 0;

	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&addr,
			     offsetof(struct sockaddr_un, sun_path) + len) < 0)
		pr_warning("WARNING: cannot write to $NOTIFY_SOCKET: %m\n");
	if (fd >= 0)
		close(fd);
}

/* The command closes its end of the pipe when it is executed, or if that fails, at its end. */
void record_daemon__wait_for_exec(int cork_fd)
{
	struct pollfd pollfd = { .fd = cork_fd };

	while (cork_fd >= 0 && poll(&pollfd, 1, -1) < 0 && errno == EINTR)
		;
}

int record_daemon__ready(struct record_daemon *daemon)
{
	int null, err = 0;

	if (daemon->foreground < 0) {
		notify("READY=1");
		return 0;
	}

	fflush(NULL);
	null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		close(null);
	}
	dup2(daemon->log_fd, STDOUT_FILENO);
	dup2(daemon->log_fd, STDERR_FILENO);
	if (write(daemon->foreground, "", 1) < 0) {
		err = -errno;
		pr_err("The daemon ends, because the process that started it ended before recording began.\n");
	}
	close(daemon->foreground);
	daemon->foreground = -1;
	return err;
}

/*
 * Limits
 */

struct prune {
	char		**paths;
	int		nr;
	int		next;
	const char	*stays;
};

static int remove_oldest(void *arg, u64 *size)
{
	struct prune *prune = arg;
	struct stat st;

	for (; prune->next < prune->nr; prune->next++) {
		const char *path = prune->paths[prune->next];

		if (!strcmp(path, prune->stays) || lstat(path, &st))
			continue;
		if (unlink(path)) {
			pr_warning("WARNING: cannot remove %s: %m\n", path);
			continue;
		}
		if (!quiet)
			fprintf(stderr, "[ perf record: removed %s ]\n", path);
		prune->next++;
		*size = st.st_size;
		return 0;
	}
	return -ENOENT;
}

static bool has_limits(const struct record_daemon *daemon)
{
	return daemon->limits.max_files || daemon->limits.max_total;
}

/* Count files of earlier recordings as well, or each start would add more files. */
void record_daemon__prune(struct record_daemon *daemon, const char *path)
{
	struct prune prune = { .stays = path };
	struct stat st;
	u64 total = 0;
	int nr = 0;

	if (!has_limits(daemon))
		return;
	prune.nr = record_parts__list(&daemon->parts, NULL, &prune.paths);
	if (prune.nr < 0)
		return;
	for (int i = 0; i < prune.nr; i++) {
		if (!lstat(prune.paths[i], &st)) {
			total += st.st_size;
			nr++;
		}
	}
	record_limits__prune(&daemon->limits, nr, total, remove_oldest, &prune);
	record_parts__free_list(prune.paths, prune.nr);
}

/* Nobody tells what a quota leaves: it is at least what was freed before. */
static u64 find_room(const char *path, int err, u64 freed)
{
	struct statvfs fs;

	if (err == -EDQUOT)
		return freed;
	return statvfs(path, &fs) ? 0 : (u64)fs.f_bavail * fs.f_frsize;
}

/* Remove no file unless removing all but the newest makes enough room. */
static bool could_make_room(const struct prune *prune, u64 wanted, int err, u64 freed)
{
	struct stat st;
	u64 room;

	/* Keep the newest file: it may be the only one of an incident. */
	if (prune->nr < 2)
		return false;
	room = find_room(prune->paths[0], err, freed);
	for (int i = 0; i < prune->nr - 1 && room < wanted; i++) {
		if (!lstat(prune->paths[i], &st))
			room += st.st_size;
	}
	return room >= wanted;
}

bool record_daemon__make_room(struct record_daemon *daemon, u64 wanted, int err,
			      u64 *freed)
{
	struct prune prune = {};
	bool removed = false;
	u64 size;

	if ((err != -ENOSPC && err != -EDQUOT) || !has_limits(daemon))
		return false;
	prune.nr = record_parts__list(&daemon->parts, NULL, &prune.paths);
	if (prune.nr < 0)
		return false;
	if (could_make_room(&prune, wanted, err, *freed)) {
		prune.stays = prune.paths[prune.nr - 1];
		removed = !remove_oldest(&prune, &size);
		*freed += removed ? size : 0;
	}
	record_parts__free_list(prune.paths, prune.nr);
	return removed;
}

/*
 * End
 */

/* @cut: set it if a part was damaged, so that the file does not have all of it. */
static int join_parts(struct record_daemon *daemon, const char **paths, int nr, bool *cut)
{
	struct data_join join = { .force = true };
	struct record_file out = {};
	int err = data_join__open(&join, paths, nr) ?: data_join__sort(&join);

	if (!err)
		err = record_file__create(&out, daemon->parts.base);
	if (!err) {
		err = data_join__write(&join, &out);
		if (err)
			record_file__abort(&out);
		else
			err = record_file__commit(&out, RECORD_FILE__RENAMES_OLD);
	}
	if (!err && !quiet)
		fprintf(stderr, "[ perf record: combined %d files with %zu samples as %s ]\n", nr,
			join.nr_samples - join.nr_doubles, daemon->parts.base);
	*cut = data_join__is_cut(&join);
	data_join__exit(&join);
	return err;
}

bool record_daemon__has_aux(const struct record_daemon *daemon)
{
	return record_file__has_name(daemon->parts.aux, daemon->aux.fd);
}

int record_daemon__combine(struct record_daemon *daemon)
{
	const bool has_aux = record_daemon__has_aux(daemon);
	char **samples, *aux = daemon->parts.aux, fd_path[64];
	const char **paths;
	bool cut = false;
	int nr, err;

	/* Another process may have taken the name. */
	if (!has_aux) {
		scnprintf(fd_path, sizeof(fd_path), "/proc/self/fd/%d", daemon->aux.fd);
		aux = fd_path;
	}
	nr = record_parts__list(&daemon->parts, aux, &samples);
	if (nr < 0) {
		errno = -nr;
		pr_err("Cannot list the parts of %s: %m. Combine them with 'perf data join'.\n",
		       daemon->parts.base);
		return nr;
	}
	paths = calloc(nr + 1, sizeof(*paths));
	if (paths) {
		paths[0] = aux;
		memcpy(paths + 1, samples, nr * sizeof(*paths));
		err = join_parts(daemon, paths, nr + 1, &cut);
		cut |= record_parts__unknown(&daemon->parts, aux);
	} else {
		err = -ENOMEM;
	}

	if (err) {
		errno = -err;
		pr_err("Cannot write %s: %m. Its parts are still there: combine them with 'perf data join'.\n",
		       daemon->parts.base);
	} else if (cut) {
		pr_err("%s lacks what is left out of its parts. They are still there.\n",
		       daemon->parts.base);
		err = -EIO;
	}
	for (int i = !has_aux; i < nr + 1 && !err && !daemon->keep_parts; i++) {
		if (unlink(paths[i]) && errno != ENOENT)
			pr_warning("WARNING: cannot remove %s: %m\n", paths[i]);
	}
	free(paths);
	record_parts__free_list(samples, nr);
	return err;
}

/* Do not remove a file of another process that has taken the name. */
static void remove_own(const char *path, int fd)
{
	if (record_file__has_name(path, fd))
		unlink(path);
}

void record_daemon__exit(struct record_daemon *daemon)
{
	struct stat st;

	if (daemon->pid_fd >= 0) {
		remove_own(daemon->pid_path, daemon->pid_fd);
		close(daemon->pid_fd);
	}
	if (daemon->log_fd >= 0) {
		if (!daemon->started && !fstat(daemon->log_fd, &st) && !st.st_size)
			remove_own(daemon->log_path, daemon->log_fd);
		close(daemon->log_fd);
	}
	if (daemon->aux.fd >= 0 && !daemon->aux.is_old && !daemon->started)
		remove_own(daemon->parts.aux, daemon->aux.fd);
	zfree(&daemon->log_path);
	record_aux__close(&daemon->aux);
	record_needs__exit(&daemon->needs);
	record_parts__exit(&daemon->parts);
}
