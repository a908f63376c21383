// SPDX-License-Identifier: GPL-2.0
/*
 * perf record -k: delete namespaces once their records are in a file, else spare them.
 */
#include "persistent-record.h"

#include <errno.h>
#include <unistd.h>
#include <sys/stat.h>
#include "data.h"
#include "debug.h"
#include "evlist.h"
#include "header.h"
#include "persistent.h"
#include "record-file.h"
#include "session.h"
#include "trace-event.h"

int persistent_record__disable(struct persistent_record *record)
{
	for (int i = 0; i < record->set->nr_ns; i++) {
		int err = persistent_ns__disable_to_delete(record->set->ns[i]);

		if (err)
			return err;
	}

	return 0;
}

/* A header feature that cannot be written is left out. Without these a file says little. */
bool persistent_record__has_vital_features(struct perf_session *session)
{
	struct perf_header *header = &session->header;

#ifdef HAVE_LIBTRACEEVENT
	if (have_tracepoints(&evlist__core(session->evlist)->entries) &&
	    !perf_header__has_feat(header, HEADER_TRACING_DATA)) {
		pr_err("failed to write the formats of the tracepoints\n");
		return false;
	}
#endif
	if (!perf_header__has_feat(header, HEADER_EVENT_DESC)) {
		pr_err("failed to write the names of the events\n");
		return false;
	}
	return true;
}

/* Sync the file, and its directory unless perf may not read it. A pipe needs no sync. */
static int sync_output(struct perf_data *data)
{
	int err = record_file__sync(perf_data__fd(data), NULL, NULL);

	if (!err && !data->is_pipe)
		err = record_file__sync_dir(data->path);
	if (!err || err == -EACCES)
		return 0;

	errno = -err;
	pr_err("failed to write perf data, error: %m\n");
	return err;
}

/* Something went wrong: let the namespace go on as before, instead of deleting it. */
static void spare_ns(struct persistent_ns *ns)
{
	if (persistent_ns__is_gone(ns))
		pr_err("'%s' was deleted by somebody else, and not all of it is in the output.\n",
		       ns->name);
	else if (ns->snapshot)
		pr_err("'%s' is not deleted.\n", ns->name);
	else if (!persistent_ns__enable_again(ns))
		pr_err("'%s' is not deleted, and records as before.\n", ns->name);
	else
		pr_err("'%s' is not deleted, but some of its events no longer record.\n", ns->name);
}

/* Did events join after the namespace was opened? Then nobody has read their records. */
static int record__check_late(struct persistent_record *record, const struct persistent_ns *ns)
{
	int nr, err = persistent_ns__count_late(ns, record->set->only, &nr);

	if (err || !nr)
		return err;

	pr_warning("WARNING: '%s' got %d more events while it was read, which are not in the output: read it again.\n",
		   ns->name, nr);
	return -EBUSY;
}

/* Delete the namespaces if the file is good. @err: the result so far */
static int record__kill(struct persistent_record *record, struct perf_session *session, int err)
{
	int spared = 0;

	if (!err && !record->drained)
		err = -EIO;
	if (!err && !persistent_record__has_vital_features(session))
		err = -EIO;
	if (!err)
		err = sync_output(session->data);

	for (int i = 0; i < record->set->nr_ns; i++) {
		struct persistent_ns *ns = record->set->ns[i];
		/* Check for late events as late as possible. */
		int ret = err ?: record__check_late(record, ns);

		if (ret) {
			spare_ns(ns);
			spared = ret;
		} else {
			ret = persistent_ns__delete(ns);
		}
		err = err ?: ret;
	}

	for (int i = 0; i < record->set->nr_ns && !err; i++) {
		if (!record->set->ns[i]->snapshot)
			persistent__tell_of_snapshots(record->set->ns[i]->name);
	}

	if (spared)
		pr_err("Try again, or delete namespaces that you need not read with 'perf ctl -d'.\n");
	return err;
}

int persistent_record__stop(struct persistent_record *record, int err)
{
	if (record->only_looks_back)
		return err;

	if (record->kill && !err)
		err = persistent_record__disable(record);
	record->ignored_signals = *record->nr_signals;
	return err;
}

/*
 * An incomplete file cannot be read. If it stayed, the next try would rename it to NAME.old,
 * over what this one renamed, which may be the last good file. The disk may be full, too.
 */
static void remove_output(struct perf_data *data)
{
	int fd = perf_data__fd(data);
	struct stat st;

	if (data->is_pipe || data->is_dir || fstat(fd, &st) || !S_ISREG(st.st_mode))
		return;
	/* If the path is a link, like /dev/stdout, only truncate the file. */
	if ((!record_file__has_name(data->path, fd) || unlink(data->path)) && ftruncate(fd, 0))
		pr_warning("WARNING: cannot empty %s: %m\n", data->path);
}

int persistent_record__end(struct persistent_record *record, struct perf_session *session, int err)
{
	if (err && record->only_looks_back)
		remove_output(session->data);
	if (record->kill)
		return record__kill(record, session, err);

	for (int i = 0; i < record->set->nr_ns && !err; i++)
		record__check_late(record, record->set->ns[i]);
	if (err)
		pr_err(PERSISTENT_STILL_THERE ": read them again, before the oldest records are overwritten.\n");
	else if (record->interrupted)
		pr_warning("WARNING: interrupted, not everything is in the output: read the namespaces again.\n");
	return err;
}
