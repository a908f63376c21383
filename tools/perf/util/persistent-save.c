// SPDX-License-Identifier: GPL-2.0
/*
 * Save the snapshots of a namespace as they come.
 *
 * One process waits for snapshots, and for at most two children:
 *
 *	reader		writes a snapshot to a file. It runs perf record, which can do that
 *			only once in a process
 *	command		the command of the user, which runs for one file at a time
 *
 * Snapshots are saved in the order of their numbers. If one cannot be saved, perf tries it
 * again until that works, or until the kernel has deleted it to make room for others. So a
 * single number tells how far perf has come. persistent-save-dir.c finds it after a restart.
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
#include "persistent-control.h"
#include "persistent-record.h"
#include "persistent-save-dir.h"
#include "persistent-save-queue.h"
#include "strbuf.h"
#include "time-utils.h"
#include "units.h"
#include "util.h"

#define RETRY_NS	NSEC_PER_SEC
#define RETRY_MAX_NS	(30 * NSEC_PER_SEC)

/* How long the command may take to end after SIGTERM */
#define COMMAND_END_NS	(10 * NSEC_PER_SEC)

struct save {
	const struct persistent_save_opts *opts;
	struct save_dir	 dir;
	struct save_queue queue;
	int		 signal_fd;
	sigset_t	 old_mask;
	bool		 stop;
	bool		 hurry;		/* a second signal came */
	bool		 hopeless;	/* no snapshot can be saved, now or later */
	bool		 left_out;	/* a snapshot cannot be saved, but others can */
	struct persistent_seen seen;
	u64		 kill_at;	/* kill the command then; 0: not yet told to stop */

	pid_t		 reader;	/* 0: there is none */
	u64		 reads_id;	/* of the snapshot */
	struct save_file file;		/* that it writes */
	int		 said_fd;
	struct strbuf	 said;		/* output of the reader */
	char		 *complaint;	/* its output when it failed the last time */
	u64		 retry_ns;
	u64		 retry_at;

	pid_t		 command;	/* 0: there is none */
	u64		 command_at;	/* could not be started: try again then */
	u64		 command_source;
	u32		 command_number;
};

/* Errors are harmless: marks only matter for removed files, and are rewritten later. */
static void save__write_marks(struct save *save)
{
	char buf[STRERR_BUFSIZE];
	int err = save_dir__write_marks(&save->dir);

	if (err)
		pr_debug("Cannot write marks in %s: %s\n", save->dir.path,
			 str_error_r(-err, buf, sizeof(buf)));
}

/*
 * The reader
 */

/*
 * The reader must die with its parent, which alone renames the file. SIGINT and SIGTERM stay
 * blocked: perf record would end early on them, and succeed with a part of the snapshot.
 */
static void __noreturn save__run_reader(struct save *save, pid_t parent, int out)
{
	char event[64], path[64], buf[STRERR_BUFSIZE];
	sigset_t sigchld;
	int fd;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(1);

	dup2(out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	/* The parent looks for messages about a full disk. */
	setenv("LC_ALL", "C", 1);
	sigemptyset(&sigchld);
	sigaddset(&sigchld, SIGCHLD);
	sigprocmask(SIG_UNBLOCK, &sigchld, NULL);

	/* Use the id: the name may belong to another snapshot by then. */
	scnprintf(event, sizeof(event), PERSISTENT_PMU "/config=%#" PRIx64 "/", save->reads_id);
	/* Use the descriptor: another user may replace the file by a link. */
	fd = save_dir__create_tmp(&save->dir, &save->file);
	if (fd < 0) {
		pr_err("Cannot create a file in %s: %s\n", save->dir.path,
		       str_error_r(-fd, buf, sizeof(buf)));
		_exit(1);
	}
	scnprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	out = save->opts->read(event, path, save->opts);
	fflush(NULL);
	_exit(out < 0 ? 1 : out);
}

static int save__start_reader(struct save *save, const struct persistent_ns *snapshot)
{
	pid_t parent = getpid();
	int fds[2];

	/* Keep the name for a second try: the computed time could differ by a second. */
	if (save->file.source_id != snapshot->source_id || save->file.number != snapshot->number)
		save_dir__name(&save->dir, &save->file, snapshot->source_id, snapshot->number,
			       persistent_ns__age_ns(snapshot));
	save->reads_id = snapshot->id;
	strbuf_setlen(&save->said, 0);

	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK))
		return -errno;
	/* Only the read end is non-blocking. */
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

/*
 * Drop lines about how much was written: perf prints that later, with the final name of the
 * file. Also drop the advice to read again: the user need not do that.
 */
static void save__pass_on(const struct save *save)
{
	char *said = strdup(save->said.buf), *pos = said, *line;

	while (pos && (line = strsep(&pos, "\n"))) {
		if (*line && strncmp(line, "[ ", 2) &&
		    strncmp(line, PERSISTENT_STILL_THERE, strlen(PERSISTENT_STILL_THERE)))
			pr_warning("%s\n", line);
	}
	free(said);
}

/* Print an error once, not for each try. */
static bool save__is_new_complaint(struct save *save)
{
	if (save->complaint && !strcmp(save->complaint, save->said.buf))
		return false;

	free(save->complaint);
	save->complaint = strdup(save->said.buf);
	return true;
}

static void save__complain(struct save *save)
{
	const struct save_file *file = &save->file;

	if (!save__is_new_complaint(save))
		return;

	save__pass_on(save);
	pr_err("Cannot save '%s.%u' yet: trying again until it works, or the kernel deletes it.\n",
	       save->dir.name, file->number);
}

static void save__retry_later(struct save *save)
{
	save->retry_ns = save->retry_ns ? min_t(u64, 2 * save->retry_ns, RETRY_MAX_NS) : RETRY_NS;
	save->retry_at = rdclock() + save->retry_ns;
}

static bool save__no_room(const struct save *save)
{
	return strstr(save->said.buf, "No space left") || strstr(save->said.buf, "quota exceeded");
}

/* All snapshots would fail until the user acts. */
static void save__give_up(struct save *save)
{
	save->hopeless = true;
	save__pass_on(save);
	pr_err("No snapshot of '%s' can be saved until this is fixed: then run the command again.\n",
	       save->dir.name);
}

/* This snapshot can never be saved: do not let later ones wait for it. */
static void save__pass_over(struct save *save)
{
	struct save_mark *mark = save_dir__mark(&save->dir, save->file.source_id);

	save__pass_on(save);
	pr_warning("WARNING: '%s.%u' cannot be saved, and is left out.\n", save->dir.name,
		   save->file.number);
	save->left_out = true;
	if (!mark)
		return;
	mark->settled = save->file.number;
	if (!save->opts->command)
		mark->handled = mark->settled;
	save__write_marks(save);
}

/* @status: of perf record; 0: a signal killed it, or the file could not be named */
static void save__reader_failed(struct save *save, int status)
{
	const struct record_limits *limits = &save->opts->limits;
	struct persistent_ns *snapshot;

	save_dir__remove_tmp(&save->dir, &save->file);
	if (save->hurry) {
		pr_warning("WARNING: '%s.%u' is not saved, because of a second signal.\n",
			   save->dir.name, save->file.number);
		return;
	}
	/* Deleted meanwhile: save_queue__next() warns about it. */
	if (persistent_ns__lookup_id(save->reads_id, /*write=*/false, &snapshot) == -ENOENT)
		return;
	persistent_ns__close(snapshot);

	if (status == PERSISTENT_EXIT_NO_TRACEFS) {
		save__give_up(save);
		return;
	}
	if (status == PERSISTENT_EXIT_NO_FORMAT) {
		save__pass_over(save);
		return;
	}

	save__complain(save);
	/*
	 * A user who sets a limit wants old files to go for new ones. If the disk is full
	 * before that, remove one now: the kernel deletes snapshots that wait.
	 */
	if (save__no_room(save) && (limits->max_files || limits->max_total) &&
	    save_dir__make_room(&save->dir))
		return;
	save__retry_later(save);
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
		save__reader_failed(save, 0);
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
	save_dir__prune(&save->dir, &save->opts->limits);
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
		save__reader_failed(save, WIFEXITED(status) ? WEXITSTATUS(status) : 0);
	}
}

/*
 * The command
 */

static void set_environment(const struct save *save, const struct save_file *file)
{
	char name[PERF_PERSIST_NAME_SIZE], note[PERF_PERSIST_NAME_SIZE] = "";
	char trigger[16] = "", path[PATH_MAX];
	struct persistent_ns *snapshot;

	scnprintf(path, sizeof(path), "%s/%s", save->dir.path, file->name);
	scnprintf(name, sizeof(name), "%s.%u", save->dir.name, file->number);
	if (!persistent__lookup_snapshot(save->dir.name, file->source_id, file->number,
					 &snapshot)) {
		if (snapshot->trigger)
			scnprintf(trigger, sizeof(trigger), "%u", snapshot->trigger);
		memcpy(note, snapshot->note, sizeof(note));
		persistent_ns__close(snapshot);
	}

	setenv("PERF_NAMESPACE", save->dir.name, 1);
	setenv("PERF_SNAPSHOT", name, 1);
	setenv("PERF_TRIGGER", trigger, 1);
	setenv("PERF_NOTE", note, 1);
	setenv("PERF_FILE", path, 1);
}

static void save__start_command(struct save *save)
{
	const char **argv = save->opts->command;
	const struct save_file *file = save_dir__unhandled(&save->dir);

	if (!file)
		return;

	fflush(NULL);
	save->command_source = file->source_id;
	save->command_number = file->number;
	save->command = fork();
	if (save->command < 0) {
		pr_warning("WARNING: cannot run '%s' for '%s.%u', trying again: %m\n", argv[0],
			   save->dir.name, save->command_number);
		save->command = 0;
		save->command_at = rdclock() + RETRY_NS;
		return;
	}
	if (save->command) {
		save_dir__use(&save->dir, file);
	} else {
		set_environment(save, file);
		sigprocmask(SIG_SETMASK, &save->old_mask, NULL);
		execvp(argv[0], (char **)argv);
		pr_err("Cannot run '%s': %m\n", argv[0]);
		_exit(errno == ENOENT ? 127 : 126);
	}
}

static void save__command_ended(struct save *save, int status)
{
	struct save_mark *mark = save_dir__mark(&save->dir, save->command_source);

	save->command = 0;
	save_dir__use(&save->dir, NULL);
	if (status)
		pr_warning("WARNING: '%s' of '%s.%u' ended with %s %d.\n", save->opts->command[0],
			   save->dir.name, save->command_number,
			   WIFSIGNALED(status) ? "signal" : "exit status",
			   WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));

	/* A command that failed because perf stopped it runs again after a restart. */
	if (mark && !(save->stop && status)) {
		mark->handled = save->command_number;
		save__write_marks(save);
	}
}

/*
 * Waiting
 */

/* Is something used up that may be available again a moment later? */
static bool is_passing(int err)
{
	return err == -EAGAIN || err == -ENOMEM || err == -EMFILE || err == -ENFILE;
}

static int save__start_failed(struct save *save, int err)
{
	char buf[STRERR_BUFSIZE];

	str_error_r(-err, buf, sizeof(buf));
	if (!is_passing(err)) {
		pr_err("Cannot save snapshots of '%s': %s\n", save->dir.name, buf);
		return err;
	}

	strbuf_setlen(&save->said, 0);
	strbuf_addstr(&save->said, buf);
	if (save__is_new_complaint(save))
		pr_warning("WARNING: cannot save snapshots of '%s' yet, trying again: %s\n",
			   save->dir.name, buf);
	save__retry_later(save);
	return 0;
}

/* While a snapshot cannot be saved yet, do not look for others. */
static int save__start_next(struct save *save, u64 now)
{
	struct persistent_ns *snapshot = NULL;
	int err;

	if (save->reader || save->hopeless || now < save->retry_at)
		return 0;
	/* Files in a directory that nobody finds any more are of no use. */
	if (save_dir__is_gone(&save->dir)) {
		pr_err("%s was removed, or is another directory now: run the command again.\n",
		       save->dir.path);
		return -ENOENT;
	}

	err = save_queue__next(&save->queue, &save->dir, &snapshot);
	if (!err)
		err = save__start_reader(save, snapshot);
	persistent_ns__close(snapshot);

	return err && err != -ENOENT ? save__start_failed(save, err) : 0;
}

/* A recorder that has stopped takes no snapshots: nothing else would tell the user. */
static void save__watch_triggers(struct save *save)
{
	if (save->queue.ns)
		persistent_ns__warn_of_triggers(save->queue.ns, &save->seen);
}

static void save__reap(struct save *save)
{
	struct signalfd_siginfo info;
	int status;

	while (read(save->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			continue;
		save->hurry = save->stop;
		save->stop = true;
	}
	if (save->reader && waitpid(save->reader, &status, WNOHANG) == save->reader)
		save__reader_ended(save, status);
	if (save->command && waitpid(save->command, &status, WNOHANG) == save->command)
		save__command_ended(save, status);
}

/* Wait until something happens, or until the time @until; 0: no limit */
static int save__poll(struct save *save, u64 now, u64 until)
{
	const bool looks = save->queue.ns && !save->reader && !save->hopeless && !save->kill_at &&
			   !until;
	struct pollfd fds[] = {
		{ .fd = save->signal_fd, .events = POLLIN },
		{ .fd = save->reader ? save->said_fd : -1, .events = POLLIN },
		{ .fd = looks ? save->queue.ns->fd : -1, .events = POLLPRI },
	};
	const int ms = until ? (int)((max(until, now) - now) / NSEC_PER_MSEC) + 1 : -1;

	if (poll(fds, ARRAY_SIZE(fds), ms) < 0 && errno != EINTR) {
		pr_err("Cannot wait for snapshots of '%s': %m\n", save->dir.name);
		return -errno;
	}
	if (fds[1].revents & POLLIN)
		save__listen(save);
	/* The reader is about to exit: do not spin until then. */
	else if (fds[1].revents & POLLHUP)
		usleep(1000);
	return 0;
}

static int save__run(struct save *save)
{
	for (;;) {
		const u64 now = rdclock();
		int err = save__start_next(save, now);
		u64 until;

		if (err)
			return err;
		save__watch_triggers(save);
		/* The reader may have failed just now. */
		until = !save->reader && now < save->retry_at ? save->retry_at : 0;
		if (!save->command && now >= save->command_at)
			save__start_command(save);

		if (now < save->command_at && (!until || save->command_at < until))
			until = save->command_at;

		/* Run the command for all saved files first. */
		if (save->hopeless && !save->reader && !save->command && !until)
			return -EACCES;
		/* The namespace is gone, and all is saved. */
		if (!save->queue.ns && !save->reader && !save->command && !until)
			return -ENODEV;

		err = save__poll(save, now, until);
		if (err)
			return err;
		save__reap(save);
		if (save->stop)
			return 0;
	}
}

/*
 * Let the reader finish, as the snapshot may be gone the next time. Ask the command to end:
 * it runs again after a restart. A second signal kills both.
 */
static void save__end_children(struct save *save)
{
	u64 now = rdclock();

	save->stop = true;
	save->kill_at = now + COMMAND_END_NS;
	if (save->command)
		kill(save->command, SIGTERM);
	if (save->reader && !quiet)
		pr_info("[ perf ctl: '%s.%u' is still being saved, a second signal ends that ]\n",
			save->dir.name, save->file.number);

	for (; save->reader || save->command; now = rdclock()) {
		if (save->reader && save->hurry)
			kill(save->reader, SIGKILL);
		if (save->command && (save->hurry || now >= save->kill_at))
			kill(save->command, SIGKILL);
		if (save__poll(save, now, save->command ? save->kill_at : 0))
			save->hurry = true;
		save__reap(save);
	}
}

static int save__init_signals(struct save *save)
{
	sigset_t mask;

	/* Some parents ignore it. Then the kernel would not report how children ended. */
	signal(SIGCHLD, SIG_DFL);

	sigemptyset(&mask);
	sigaddset(&mask, SIGCHLD);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGTERM);
	sigprocmask(SIG_BLOCK, &mask, &save->old_mask);
	save->signal_fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	return save->signal_fd < 0 ? -errno : 0;
}

int persistent__save(const char *name, const struct persistent_save_opts *opts)
{
	struct save save = {
		.opts = opts,
		.dir = { .fd = -1, .lock_fd = -1 },
		.signal_fd = -1,
		.said = STRBUF_INIT,
	};
	int err = save_queue__open(&save.queue, name);

	if (!err)
		err = save_dir__open(&save.dir, opts->dir, name, opts->command);
	if (!err)
		err = save__init_signals(&save);
	if (!err) {
		if (save.queue.ns && !quiet)
			pr_info("[ perf ctl: saving snapshots of '%s' to %s ]\n", name,
				save.dir.path);
		save_dir__prune(&save.dir, &opts->limits);
		err = save__run(&save);
		save__end_children(&save);
		save__write_marks(&save);
		if (!err && save.hopeless)
			err = -EACCES;
		if (err == -ENODEV)
			pr_err("'%s' was deleted. The snapshots that it left are saved%s.\n", name,
			       save.left_out ? ", except those that cannot be" : "");
	}

	if (save.signal_fd >= 0)
		close(save.signal_fd);
	save_dir__close(&save.dir);
	save_queue__close(&save.queue);
	free(save.complaint);
	free(save.seen.triggers);
	strbuf_release(&save.said);
	return err;
}
