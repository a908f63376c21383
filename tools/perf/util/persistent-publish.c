// SPDX-License-Identifier: GPL-2.0
/*
 * Make a namespace of open events: let them join one by one, then publish it by a name.
 */
#include "persistent.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <internal/xyarray.h>
#include <linux/ctype.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include "debug.h"
#include "env.h"
#include "evlist.h"
#include "evsel.h"
#include "util.h"

/*
 * Ctrl-C must not leave half of a change in the kernel. When the change is complete, set the
 * signal mask to @old again.
 */
void persistent__block_signals(sigset_t *old)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGQUIT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, old);
}

int evsel__cpu_fd(const struct evsel *evsel, int cpu_map_idx)
{
	return *(int *)xyarray__entry(evsel->core.fd, cpu_map_idx, 0);
}

static void evsel__label(struct evsel *evsel, char *label, size_t size)
{
	size_t len = scnprintf(label, size, "/%s", evsel__name(evsel));

	for (size_t i = 1; i < len; i++) {
		if (iscntrl(label[i]))
			label[i] = ' ';
	}
}

static int join__fd(int fd, const char *label, u64 *id, u64 flags)
{
	bool first = *id == PERF_PERSIST_NEW;

	if (ioctl(fd, PERF_EVENT_IOC_SET_NAME, label) ||
	    ioctl(fd, PERF_EVENT_IOC_SET_PERSIST, id) ||
	    (first && flags && ioctl(fd, PERF_EVENT_IOC_PERSIST_FLAGS, &flags)))
		return -errno;

	return 0;
}

static int join__evsel(struct evsel *evsel, u64 *id, u64 flags)
{
	/* The slash, the label and its NUL */
	char label[PERF_PERSIST_NAME_SIZE + 1];
	int err = 0;

	evsel__label(evsel, label, sizeof(label));

	for (int i = 0; i < xyarray__max_x(evsel->core.fd) && !err; i++)
		err = join__fd(evsel__cpu_fd(evsel, i), label, id, flags);

	return err;
}

int persistent__err_publish(int err, const char *name, const char *event)
{
	char buf[STRERR_BUFSIZE];

	switch (err) {
	case 0:
		break;
	case -EEXIST:
		persistent__err_taken(name);
		break;
	case -EPERM:
	case -EACCES:
		pr_err("The kernel does not keep events for you: this needs CAP_PERFMON in the initial\n"
		       "user namespace.\n");
		break;
	case -EOPNOTSUPP:
		pr_err("The kernel cannot keep '%s': groups, AUX area events and events of a process\n"
		       "have to be recorded as usual.\n", event);
		break;
	case -ENOSPC:
		pr_err("Cannot keep '%s': the limit kernel.perf_event_max_persistent is reached.\n"
		       "Delete some events with 'perf ctl -d', or raise the limit.\n", event);
		break;
	case -ENOMEM:
		pr_err("Cannot keep '%s': there is not enough memory available.\n"
		       "Choose smaller buffers with -m, or delete namespaces with 'perf ctl -d'.\n",
		       event);
		break;
	default:
		pr_err("Cannot keep '%s' in the namespace '%s': %s\n", event, name,
		       str_error_r(-err, buf, sizeof(buf)));
		break;
	}
	return err;
}

/* All events have joined, so -EPERM means that the sum of their buffers is over the limit. */
static int err_name(int err, const char *name, const char *event)
{
	if (err != -EPERM)
		return persistent__err_publish(err, name, event);

	pr_err("Cannot keep '%s': its buffers exceed what you may lock. Make them smaller with -m, delete\n"
	       "namespaces with 'perf ctl -d', or raise 'ulimit -l' or kernel.perf_event_mlock_kb.\n",
	       name);
	return err;
}

static int join__evlist(struct evlist *evlist, const char *name, u64 *id, u64 flags)
{
	struct evsel *evsel;

	evlist__for_each_entry(evlist, evsel) {
		int err = join__evsel(evsel, id, flags);

		if (err)
			return persistent__err_publish(err, name, evsel__name(evsel));
	}

	return 0;
}

/*
 * perf got its own name before the events existed, and is gone when its samples
 * are read. Set the name again, so that the events record it.
 */
static void announce_self(void)
{
	char comm[PERF_PERSIST_COMM_SIZE];

	if (!prctl(PR_GET_NAME, comm))
		prctl(PR_SET_NAME, comm);
}

/*
 * Hand all events of @evlist and of @sideband, open and mapped, to the kernel
 * as the namespace @name. The name is set last. Only then the events stay: an
 * error before that leaves nothing behind. Returns in @id the id to open it by.
 */
int persistent__publish(struct evlist *evlist, struct evlist *sideband,
			const char *name, u64 flags, u64 *id)
{
	int fd = evsel__cpu_fd(evlist__first(evlist), 0), err;

	*id = PERF_PERSIST_NEW;
	err = join__evlist(evlist, name, id, flags) ?:
	      join__evlist(sideband, name, id, flags);
	if (err)
		return err;

	evlist__enable(sideband);
	announce_self();
	evlist__enable(evlist);

	err = ioctl(fd, PERF_EVENT_IOC_SET_NAME, name) ? -errno : 0;
	return err_name(err, name, evsel__name(evlist__first(evlist)));
}

void persistent__note_command(u64 id, const struct perf_env *env)
{
	char note[PERF_PERSIST_NAME_SIZE] = "perf";
	struct persistent_ns *ns;
	size_t len = strlen(note);

	/* As much of the command line as fits */
	for (int i = 0; i < env->nr_cmdline; i++)
		len += scnprintf(note + len, sizeof(note) - len, " %s", env->cmdline_argv[i]);
	persistent__make_printable(note);

	/* An error is harmless: the namespace works without a note, or is gone already. */
	if (!persistent_ns__lookup_id(id, /*write=*/true, &ns) &&
	    ioctl(ns->fd, PERF_EVENT_IOC_SET_NOTE, note))
		pr_debug("no note: %m\n");
	persistent_ns__close(ns);
}

/* The kernel checks this again when the namespace is published. Here it only saves work. */
int persistent__check_free(const char *name)
{
	struct persistent_ns *ns;
	int err = persistent_ns__lookup(name, /*write=*/false, &ns);

	persistent_ns__close(ns);
	if (err == -ENOENT)
		return 0;
	if (err)
		return persistent__err_open(err, name);

	persistent__err_taken(name);
	return -EEXIST;
}
