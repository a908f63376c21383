// SPDX-License-Identifier: GPL-2.0
/*
 * Save the snapshots of a namespace as they come.
 *
 * One process waits for snapshots and for its children, of which there are two at most:
 *
 *	reader		writes a snapshot to a file. It is a process of its own, as what reads
 *			it is perf record, which can do that once in its life
 *	command		what the user wants to have run for each file, one at a time
 *
 * Snapshots are saved in the order of their numbers. One that cannot be saved is tried
 * again until it can be, or until the kernel has deleted it to make room for others. So a
 * number tells how far it has come, and persistent-save-dir.c knows it after a restart.
 */
#include "persistent-save.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/string.h>
#include <linux/time64.h>
#include <linux/zalloc.h>
#include "debug.h"
#include "persistent.h"
#include "persistent-save-dir.h"
#include "strbuf.h"
#include "units.h"
#include "util.h"

#define RETRY_NS	NSEC_PER_SEC
#define RETRY_MAX_NS	(30 * NSEC_PER_SEC)

/* Snapshots that were taken between the last look at a namespace and its deletion */
#define MAX_UNSEEN	64

/* A snapshot of a namespace of the same name that is deleted */
struct orphan {
	u64	source_id;
	u32	number;
};

struct save {
	const struct persistent_save_opts *opts;
	struct save_dir	 dir;
	struct persistent_ns *ns;	/* NULL: it is gone */
	u64		 ns_id;
	u32		 number;	/* of the last snapshot of it */
	struct orphan	 *orphans;
	int		 nr_orphans;
	int		 next_orphan;
	int		 signal_fd;
	sigset_t	 old_mask;
	bool		 stop;

	pid_t		 reader;	/* 0: there is none */
	u64		 reads_id;	/* of the snapshot */
	struct save_file file;		/* that it writes */
	int		 said_fd;
	struct strbuf	 said;		/* by the reader, */
	char		 *complaint;	/* and when it failed the last time */
	u64		 retry_ns;
	u64		 retry_at;

	pid_t		 command;	/* 0: there is none */
	u64		 command_source;
	u32		 command_number;
};

static u64 now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (u64)now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
}

/* It only has to be right if somebody takes files away, and is written again. */
static void save__write_marks(struct save *save)
{
	char buf[STRERR_BUFSIZE];
	int err = save_dir__write_marks(&save->dir);

	if (err)
		pr_debug("Cannot write marks in %s: %s\n", save->dir.path,
			 str_error_r(-err, buf, sizeof(buf)));
}

static void warn_missing(const struct save *save, u32 from, u32 to)
{
	const char *name = save->dir.name;

	if (from == to)
		pr_warning("WARNING: '%s.%u' was deleted before it was saved.\n", name, from);
	else
		pr_warning("WARNING: '%s.%u' to '%s.%u' were deleted before they were saved.\n",
			   name, from, name, to);
}

/*
 * The next snapshot
 */

/* The snapshot of that number, if it is one of namespace @source_id; -ENOENT */
static int save__lookup(const struct save *save, u64 source_id, u32 number,
			struct persistent_ns **snapshot)
{
	char name[PERF_PERSIST_NAME_SIZE];
	int err;

	scnprintf(name, sizeof(name), "%s.%u", save->dir.name, number);
	err = persistent_ns__lookup(name, /*write=*/false, snapshot);
	/* Another namespace had it when this one would have come to it. */
	if (!err && (*snapshot)->source_id != source_id) {
		persistent_ns__close(*snapshot);
		*snapshot = NULL;
		err = -ESTALE;
	}
	return err;
}

static void save__ns_is_gone(struct save *save)
{
	struct persistent_ns *snapshot;

	persistent_ns__close(save->ns);
	save->ns = NULL;

	for (u32 number = save->number + 1, i = 0; i < MAX_UNSEEN; number++, i++) {
		if (!save__lookup(save, save->ns_id, number, &snapshot)) {
			persistent_ns__close(snapshot);
			save->number = number;
		}
	}
}

/* How many were taken; what is taken after it wakes the next poll(). */
static int save__look_again(struct save *save)
{
	int err;

	if (!save->ns)
		return 0;

	err = persistent_ns__look_again(save->ns);
	if (!err)
		save->number = save->ns->number;
	else if (err == -ENOENT)
		save__ns_is_gone(save);
	else
		return persistent__err_open(err, save->dir.name);
	return 0;
}

/* The first one that is not saved: 0; -ENOENT: all are. What is missing is said. */
static int save__find_next(struct save *save, struct persistent_ns **snapshot)
{
	struct save_mark *mark = save_dir__mark(&save->dir, save->ns_id);
	u32 first_missing = 0;
	int err = -ENOENT;

	if (!mark)
		return -ENOMEM;

	while (mark->settled < save->number) {
		u32 number = mark->settled + 1;

		err = save__lookup(save, save->ns_id, number, snapshot);
		if (err == -ENOENT && !first_missing)
			first_missing = number;
		if (err != -ENOENT && first_missing) {
			warn_missing(save, first_missing, number - 1);
			first_missing = 0;
		}
		if (err != -ENOENT && err != -ESTALE)
			break;
		mark->settled = number;
		err = -ENOENT;
	}

	if (first_missing)
		warn_missing(save, first_missing, mark->settled);
	return err;
}

static int save__find_orphan(struct save *save, struct persistent_ns **snapshot)
{
	int err = -ENOENT;

	for (; save->next_orphan < save->nr_orphans; save->next_orphan++) {
		const struct orphan *orphan = &save->orphans[save->next_orphan];
		struct save_mark *mark = save_dir__mark(&save->dir, orphan->source_id);

		if (!mark)
			return -ENOMEM;
		if (orphan->number <= mark->settled)
			continue;
		err = save__lookup(save, orphan->source_id, orphan->number, snapshot);
		if (err != -ENOENT && err != -ESTALE)
			break;
		warn_missing(save, orphan->number, orphan->number);
		mark->settled = orphan->number;
		err = -ENOENT;
	}
	return err;
}

static int orphan_cmp(const void *_a, const void *_b)
{
	const struct orphan *a = _a, *b = _b;

	if (a->source_id != b->source_id)
		return a->source_id < b->source_id ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

static void save__find_orphans(struct save *save, const char *name)
{
	char **names = persistent__names();
	struct persistent_ns *snapshot;

	for (int i = 0; names && names[i]; i++) {
		u32 number = persistent__snapshot_number(names[i], name);
		struct orphan *more;

		if (!number || persistent_ns__lookup(names[i], /*write=*/false, &snapshot))
			continue;
		if (snapshot->source_id != save->ns_id) {
			more = realloc(save->orphans, (save->nr_orphans + 1) * sizeof(*more));
			if (more) {
				save->orphans = more;
				more[save->nr_orphans++] = (struct orphan) {
					.source_id = snapshot->source_id,
					.number = number,
				};
			}
		}
		persistent_ns__close(snapshot);
	}
	persistent__free_names(names);
	if (save->nr_orphans)
		qsort(save->orphans, save->nr_orphans, sizeof(*save->orphans), orphan_cmp);
}

/*
 * The reader
 */

static void save__unblock_signals(const struct save *save)
{
	sigprocmask(SIG_SETMASK, &save->old_mask, NULL);
}

/* Nobody would give a name to what it writes when its parent is killed. */
static void __noreturn save__run_reader(struct save *save, pid_t parent, int out)
{
	char event[64], path[PATH_MAX];

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(1);

	dup2(out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	/* What it says of a full disk is looked for. */
	setenv("LC_ALL", "C", 1);
	save__unblock_signals(save);

	/* By its id: the name may be that of another one by then. */
	scnprintf(event, sizeof(event), PERSISTENT_PMU "/config=%#" PRIx64 "/", save->reads_id);
	save_dir__tmp_path(&save->dir, &save->file, path, sizeof(path));
	out = save->opts->read(event, path, save->opts->last);
	fflush(NULL);
	_exit(out ? 1 : 0);
}

static int save__start_reader(struct save *save, const struct persistent_ns *snapshot)
{
	pid_t parent = getpid();
	int fds[2];

	save_dir__name(&save->dir, &save->file, snapshot->source_id, snapshot->number,
		       persistent_ns__age_ns(snapshot));
	save->reads_id = snapshot->id;
	save_dir__remove_tmp(&save->dir, &save->file);
	strbuf_setlen(&save->said, 0);

	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK))
		return -errno;
	/* Only the end that is read from does not block. */
	fcntl(fds[1], F_SETFL, 0);

	fflush(NULL);
	save->reader = fork();
	if (!save->reader)
		save__run_reader(save, parent, fds[1]);
	close(fds[1]);
	if (save->reader < 0) {
		save->reader = 0;
		close(fds[0]);
		return -errno;
	}
	save->said_fd = fds[0];
	return 0;
}

static void save__listen(struct save *save)
{
	char buf[1024];
	ssize_t len;

	while ((len = read(save->said_fd, buf, sizeof(buf))) > 0)
		strbuf_add(&save->said, buf, len);
}

/* How much was written is said here, and by the name that the file has in the end. */
static void save__pass_on(const struct save *save)
{
	char *said = strdup(save->said.buf), *pos = said, *line;

	while (pos && (line = strsep(&pos, "\n"))) {
		if (*line && strncmp(line, "[ ", 2))
			pr_warning("%s\n", line);
	}
	free(said);
}

/* Say it once, not as often as it is tried. */
static void save__complain(struct save *save)
{
	const struct save_file *file = &save->file;

	if (save->complaint && !strcmp(save->complaint, save->said.buf))
		return;

	free(save->complaint);
	save->complaint = strdup(save->said.buf);
	save__pass_on(save);
	pr_err("Cannot save '%s.%u' yet: it is tried again until it works, or the kernel deletes it.\n",
	       save->dir.name, file->number);
}

static bool save__no_room(const struct save *save)
{
	return strstr(save->said.buf, "No space left") || strstr(save->said.buf, "quota exceeded");
}

static void save__reader_failed(struct save *save)
{
	const struct persistent_save_opts *opts = save->opts;
	struct persistent_ns *snapshot;

	save_dir__remove_tmp(&save->dir, &save->file);
	/* Deleted meanwhile: the next look says so. */
	if (persistent_ns__lookup_id(save->reads_id, /*write=*/false, &snapshot) == -ENOENT)
		return;
	persistent_ns__close(snapshot);

	save__complain(save);
	/* What would go anyway when this one is saved goes before. */
	if (save__no_room(save) && opts->max_files && save->dir.nr_files >= opts->max_files &&
	    save_dir__prune(&save->dir, max(opts->max_files - 1, 1), 0))
		return;

	save->retry_ns = save->retry_ns ? min_t(u64, 2 * save->retry_ns, RETRY_MAX_NS) : RETRY_NS;
	save->retry_at = now_ns() + save->retry_ns;
}

static void save__add_file(struct save *save)
{
	const struct save_file *file = &save->file;
	char size[32], buf[STRERR_BUFSIZE];
	struct save_mark *mark;
	int err = save_dir__add(&save->dir, &save->file);

	if (err) {
		strbuf_addf(&save->said, "%s/%s: %s\n", save->dir.path, file->name,
			    str_error_r(-err, buf, sizeof(buf)));
		save__reader_failed(save);
		return;
	}

	zfree(&save->complaint);
	save->retry_ns = 0;
	save__pass_on(save);
	unit_number__scnprintf(size, sizeof(size), file->size);
	if (!quiet)
		pr_info("[ perf ctl: '%s.%u' saved as %s/%s, %s ]\n", save->dir.name,
			file->number, save->dir.path, file->name, size);

	mark = save_dir__mark(&save->dir, file->source_id);
	if (mark && !save->opts->command)
		mark->handled = mark->settled;
	save_dir__prune(&save->dir, save->opts->max_files, save->opts->max_total);
	save__write_marks(save);
}

static void save__reader_ended(struct save *save, int status)
{
	save->reader = 0;
	save__listen(save);
	close(save->said_fd);

	if (WIFEXITED(status) && !WEXITSTATUS(status)) {
		save__add_file(save);
	} else {
		if (WIFSIGNALED(status))
			strbuf_addf(&save->said, "perf was killed by signal %d\n",
				    WTERMSIG(status));
		save__reader_failed(save);
	}
}

/*
 * The command
 */

static void set_environment(const struct save *save, const struct save_file *file)
{
	char name[PERF_PERSIST_NAME_SIZE], trigger[16] = "", path[PATH_MAX];
	struct persistent_ns *snapshot;

	scnprintf(path, sizeof(path), "%s/%s", save->dir.path, file->name);
	scnprintf(name, sizeof(name), "%s.%u", save->dir.name, file->number);
	if (!save__lookup(save, file->source_id, file->number, &snapshot)) {
		if (snapshot->trigger)
			scnprintf(trigger, sizeof(trigger), "%u", snapshot->trigger);
		persistent_ns__close(snapshot);
	}

	setenv("PERF_NAMESPACE", save->dir.name, 1);
	setenv("PERF_SNAPSHOT", name, 1);
	setenv("PERF_TRIGGER", trigger, 1);
	setenv("PERF_FILE", path, 1);
}

static int save__start_command(struct save *save)
{
	const char **argv = save->opts->command;
	const struct save_file *file = argv ? save_dir__unhandled(&save->dir) : NULL;

	if (!file)
		return 0;

	fflush(NULL);
	save->command_source = file->source_id;
	save->command_number = file->number;
	save->command = fork();
	if (save->command < 0) {
		save->command = 0;
		return -errno;
	}
	if (!save->command) {
		set_environment(save, file);
		save__unblock_signals(save);
		execvp(argv[0], (char **)argv);
		pr_err("Cannot run '%s': %m\n", argv[0]);
		_exit(errno == ENOENT ? 127 : 126);
	}
	return 0;
}

static void save__command_ended(struct save *save, int status)
{
	struct save_mark *mark = save_dir__mark(&save->dir, save->command_source);

	save->command = 0;
	if (status)
		pr_warning("WARNING: '%s' of '%s.%u' ended with %s %d.\n", save->opts->command[0],
			   save->dir.name, save->command_number,
			   WIFSIGNALED(status) ? "signal" : "exit status",
			   WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));

	/* One that was stopped with perf runs again when perf does. */
	if (mark && !(save->stop && WIFSIGNALED(status))) {
		mark->handled = save->command_number;
		save__write_marks(save);
	}
}

/*
 * Waiting
 */

/* Snapshots that cannot be saved yet are no reason to look for more. */
static int save__start_next(struct save *save)
{
	struct persistent_ns *snapshot = NULL;
	char buf[STRERR_BUFSIZE];
	int err;

	if (save->reader || now_ns() < save->retry_at)
		return 0;

	err = save__look_again(save);
	if (err)
		return err;
	err = save__find_orphan(save, &snapshot);
	if (err == -ENOENT)
		err = save__find_next(save, &snapshot);
	if (!err)
		err = save__start_reader(save, snapshot);
	persistent_ns__close(snapshot);

	if (err && err != -ENOENT)
		pr_err("Cannot save snapshots of '%s': %s\n", save->dir.name,
		       str_error_r(-err, buf, sizeof(buf)));
	return err == -ENOENT ? 0 : err;
}

static void save__reap(struct save *save)
{
	struct signalfd_siginfo info;
	int status;

	while (read(save->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo != SIGCHLD)
			save->stop = true;
	}
	if (save->stop)
		return;
	if (save->reader && waitpid(save->reader, &status, WNOHANG) == save->reader)
		save__reader_ended(save, status);
	if (save->command && waitpid(save->command, &status, WNOHANG) == save->command)
		save__command_ended(save, status);
}

static int save__poll(struct save *save)
{
	const u64 now = now_ns();
	const bool waits = !save->reader && now < save->retry_at;
	struct pollfd fds[] = {
		{ .fd = save->signal_fd, .events = POLLIN },
		{ .fd = save->reader ? save->said_fd : -1, .events = POLLIN },
		{ .fd = save->reader || waits || !save->ns ? -1 : save->ns->fd,
		  .events = POLLPRI },
	};
	const int ms = waits ? (int)((save->retry_at - now) / NSEC_PER_MSEC) + 1 : -1;

	if (poll(fds, ARRAY_SIZE(fds), ms) < 0 && errno != EINTR) {
		pr_err("Cannot wait for snapshots of '%s': %m\n", save->dir.name);
		return -errno;
	}
	if (fds[1].revents & POLLIN)
		save__listen(save);
	/* Until it is waited for */
	else if (fds[1].revents & POLLHUP)
		usleep(1000);
	return 0;
}

static int save__run(struct save *save)
{
	for (;;) {
		int err = save__start_next(save);

		if (!err && !save->command)
			err = save__start_command(save);
		if (err)
			return err;

		/* Nothing is left to do. */
		if (!save->ns && !save->reader && !save->command && now_ns() >= save->retry_at)
			return -ENODEV;

		err = save__poll(save);
		if (err)
			return err;
		save__reap(save);
		if (save->stop)
			return 0;
	}
}

/* Whatever was begun is begun anew the next time. */
static void save__end_children(struct save *save)
{
	int status;

	save->stop = true;
	if (save->reader) {
		kill(save->reader, SIGKILL);
		waitpid(save->reader, &status, 0);
		save_dir__remove_tmp(&save->dir, &save->file);
	}
	if (save->command) {
		kill(save->command, SIGTERM);
		if (waitpid(save->command, &status, 0) == save->command)
			save__command_ended(save, status);
	}
}

static int save__init_signals(struct save *save)
{
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, SIGCHLD);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGTERM);
	sigprocmask(SIG_BLOCK, &mask, &save->old_mask);
	save->signal_fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	return save->signal_fd < 0 ? -errno : 0;
}

static int save__open(struct save *save, const char *name)
{
	int err = persistent_ns__lookup(name, /*write=*/false, &save->ns);

	if (!err) {
		err = persistent_ns__check_live(save->ns);
		save->ns_id = save->ns->id;
		save->number = save->ns->number;
	}
	if (err && err != -ENOENT)
		return save->ns ? err : persistent__err_open(err, name);

	save__find_orphans(save, name);
	/* Snapshots may be all that is left of it. */
	if (err && !save->nr_orphans)
		return persistent__err_open(err, name);
	return 0;
}

int persistent__save(const char *name, const struct persistent_save_opts *opts)
{
	struct save save = {
		.opts = opts,
		.dir = { .fd = -1, .lock_fd = -1 },
		.signal_fd = -1,
		.said = STRBUF_INIT,
	};
	int err = save__open(&save, name);

	if (!err)
		err = save_dir__open(&save.dir, opts->dir, name);
	if (!err)
		err = save__init_signals(&save);
	if (!err) {
		if (save.ns && !quiet)
			pr_info("[ perf ctl: saving snapshots of '%s' to %s ]\n", name,
				save.dir.path);
		save_dir__prune(&save.dir, opts->max_files, opts->max_total);
		err = save__run(&save);
		save__end_children(&save);
		save__write_marks(&save);
		if (err == -ENODEV)
			pr_err("'%s' was deleted. The snapshots that it left are saved.\n", name);
	}

	if (save.signal_fd >= 0)
		close(save.signal_fd);
	save_dir__close(&save.dir);
	persistent_ns__close(save.ns);
	free(save.orphans);
	free(save.complaint);
	strbuf_release(&save.said);
	return err;
}
