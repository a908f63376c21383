// SPDX-License-Identifier: GPL-2.0
/*
 * perf record -e persistent/NS/: open the namespaces, and check early what could fail later.
 */
#include "persistent-record.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <api/fs/fs.h>
#include <api/fs/tracing_path.h>
#include <linux/perf_event.h>
#include <linux/string.h>
#include <linux/time64.h>
#include "debug.h"
#include "evlist.h"
#include "evsel.h"
#include "persistent.h"
#include "persistent-read.h"
#include "record.h"
#include "trace-event.h"
#include "util.h"

/* Does the output go to another process? perf cannot know whether that keeps it. */
static bool writes_to_reader(const char *path)
{
	bool has_path = path && strcmp(path, "-");
	struct stat st;

	/* A path can be a pipe, too, like a shell's >(command), or /dev/stdout. */
	if (has_path ? stat(path, &st) : fstat(STDOUT_FILENO, &st))
		return false;
	return S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode);
}

/* -k deletes the whole namespace, so all of it must be in one file before. */
static int record__check_kill_options(const struct persistent_record *record,
				      const struct persistent_record_output *output)
{
	if (!record->kill)
		return 0;

	if (writes_to_reader(output->path)) {
		pr_err("-k cannot be used with a pipe, as perf cannot know whether its reader saves the data:\n"
		       "write to a file with -o, or delete the namespace with 'perf ctl -d' afterwards.\n");
		return -EINVAL;
	}

	if (output->timestamp_filename || output->switch_output) {
		pr_err("-k deletes namespaces that are written to one file: it cannot be used with --switch-output and --timestamp-filename.\n");
		return -EINVAL;
	}

	if (persistent_slice_opts__any_time(&record->slice_opts) || output->max_size) {
		pr_err("-k would delete records that are not in the file: it cannot be used with --last, --from, --to and --max-size.\n");
		return -EINVAL;
	}

	return 0;
}

/* Without a command, all records are read at once, so a limit can leave out the oldest. */
static int record__init_slice(struct persistent_record *record,
			      const struct persistent_record_output *output)
{
	if (record->slice_opts.to && !record->only_looks_back) {
		pr_err("--to selects from past records: use it without a command and other events.\n");
		return -EINVAL;
	}
	if (output->max_size && !record->only_looks_back) {
		pr_err("--max-size leaves out the oldest of the past records: use it without a command and other events.\n");
		return -EINVAL;
	}
	if (output->max_size && output->timestamp_filename) {
		pr_err("--max-size limits one file when namespaces are read: leave out --timestamp-filename.\n");
		return -EINVAL;
	}
	if (record->only_looks_back && output->switch_output) {
		pr_err("--switch-output is for ongoing recording: past records are read once, into one file. --max-size limits it.\n");
		return -EINVAL;
	}
	if (record->only_looks_back)
		record->slice_opts.max_size = output->max_size;

	if (!record->slice_opts.max_size && !persistent_slice_opts__any_time(&record->slice_opts))
		return 0;

	record->slice = persistent_slice__new(&record->slice_opts, record->evlist, record->set);
	return record->slice ? 0 : -EINVAL;
}

static int record__check_kill(struct persistent_record *record)
{
	int err = 0;

	for (int i = 0; record->kill && i < record->set->nr_ns; i++) {
		struct persistent_ns *ns = record->set->ns[i];

		if (ns->nr_unread) {
			pr_err("-k would delete %d of the %d events of '%s' unread: %s.\n",
			       ns->nr_unread, ns->nr_members, ns->name, ns->why_unread);
			err = -EINVAL;
		}
	}

	return err;
}

#ifdef HAVE_LIBTRACEEVENT
static int read_id(const char *path, unsigned long long *id)
{
	errno = 0;
	if (!filename__read_ull(path, id))
		return 0;
	return errno ? -errno : -EIO;
}

/*
 * Formats are looked up by name. A different id means that the name belongs to another event
 * by now. Returns -ENOENT then, or if there is no format; other errors: it is not certain.
 */
static int evsel__check_format(struct evsel *evsel)
{
	char *name = strdup(evsel__name(evsel)), *event, *dir, *path = NULL;
	unsigned long long id;
	int err = -ENOMEM;

	event = name ? strchr(name, ':') : NULL;
	if (event && strchr(name, '/')) {
		/* Whoever made the namespace chose the name: it must not lead to other files. */
		err = -ENOENT;
	} else if (event) {
		*event++ = '\0';
		dir = get_events_file(name);
		if (dir && asprintf(&path, "%s/%s/id", dir, event) >= 0)
			err = read_id(path, &id) ?: id == evsel->core.attr.config ? 0 : -ENOENT;
		free(path);
		put_events_file(dir);
	} else if (name) {
		path = tracepoint_id_to_name(evsel->core.attr.config);
		err = path ? 0 : -ENOENT;
		free(path);
	}
	free(name);
	return err;
}

static bool is_missing_or_denied(int err)
{
	return err == -EACCES || err == -EPERM || err == -ENOENT;
}

/*
 * Formats of tracepoints come from tracefs: check that before copying everything. Returns
 * 0, an exit status, or an error.
 */
static int record__check_formats(struct persistent_record *record)
{
	char msg[STRERR_BUFSIZE];
	struct evsel *evsel;
	int fd, err, status = 0;
	char *path;

	if (!have_tracepoints(&evlist__core(record->evlist)->entries))
		return 0;

	path = get_tracing_file("events/header_page");
	if (!path)
		return -ENOMEM;

	fd = open(path, O_RDONLY);
	if (fd < 0) {
		err = -errno;
		/* Other errors may be temporary, like too many open files. */
		status = is_missing_or_denied(err) ? PERSISTENT_EXIT_NO_TRACEFS : err;
		pr_err("Cannot read %s: %s.\n"
		       "A file with tracepoints contains their formats, which come from tracefs. Be root, or let\n"
		       "one of your groups read it:\n"
		       "'sudo mount -o remount,mode=750,gid=GROUP %s'. Nothing was read.\n",
		       path, str_error_r(-err, msg, sizeof(msg)), tracing_path_mount());
	} else {
		close(fd);
	}
	put_tracing_file(path);

	evlist__for_each_entry(record->evlist, evsel) {
		if (status || !evsel->core.attached ||
		    evsel->core.attr.type != PERF_TYPE_TRACEPOINT)
			continue;
		err = evsel__check_format(evsel);
		if (err && err != -ENOENT) {
			pr_err("Cannot read the format of '%s': %s. Nothing was read.\n",
			       evsel__name(evsel), str_error_r(-err, msg, sizeof(msg)));
			status = err;
		}
		if (err != -ENOENT)
			continue;
		pr_err("'%s' does not exist any more, or is another event now. A file without its format cannot\n"
		       "be read. The kernel has kept the format: mount perffs, and copy the file 'data' of the\n"
		       "namespace from there. Nothing was read.\n", evsel__name(evsel));
		status = PERSISTENT_EXIT_NO_FORMAT;
	}
	return status;
}
#else
static int record__check_formats(struct persistent_record *record __maybe_unused)
{
	return 0;
}
#endif

/*
 * A round may end when no older record can follow. This is certain for the time before perf
 * started, as it opens other events later. But a writer may be delayed after it took the time
 * of a record, and before it writes the record: hence leave out the last second.
 */
static void record__init_rounds(struct persistent_record *record)
{
	struct evsel *evsel;
	u64 now;

	record->rounds_until = record->only_looks_back ? ULLONG_MAX : 0;
	evlist__for_each_entry(record->evlist, evsel) {
		if (record->only_looks_back || !evsel->core.attached)
			continue;
		if (!persistent__now(&evsel->core.attr, &now) && now > NSEC_PER_SEC)
			record->rounds_until = now - NSEC_PER_SEC;
		break;
	}
}

int persistent_record__attach(struct persistent_record *record, struct evlist *evlist,
			      struct record_opts *opts,
			      const struct persistent_record_output *output, bool forks)
{
	int err;

	if (opts->threads_spec) {
		pr_err("--threads cannot be used with namespaces.\n");
		return -EINVAL;
	}

	err = record__check_kill_options(record, output);
	if (err)
		return err;

	record->evlist = evlist;
	record->set = evlist__attach_persistent(evlist, opts->target.cpu_list,
						record->kill ? PERSISTENT_READ_AND_KILL :
							       PERSISTENT_READ);
	if (!record->set)
		return -1;

	/* Without a command and other events all records exist: do not wait for more. */
	record->only_looks_back = !forks && evlist__all_attached(evlist);
	record->ignored_signals = record->only_looks_back ? 0 : INT_MAX;
	record__init_rounds(record);

	if (!quiet)
		stdio_progress__init();
	persistent_reader__set_progress(record->set->reader, &record->progress);

	return record__check_kill(record) ?:
	       record__check_formats(record) ?:
	       record__init_slice(record, output) ?:
	       evlist__config_attached(evlist, opts, output->uid_str);
}

void persistent_record__exit(struct persistent_record *record)
{
	persistent_slice__delete(record->slice);
	persistent__delete(record->set);
	if (record->copy_fd > 0)
		close(record->copy_fd);
}
