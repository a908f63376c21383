// SPDX-License-Identifier: GPL-2.0
/*
 * Persistent events: events that the kernel keeps under a name.
 *
 * A namespace is a named set of events, its members, normally the same events
 * on every CPU. It is published in one step, needs no process from then on,
 * and can be opened by anybody who may open its events. This file knows the
 * ABI, see PERF_TYPE_PERSISTENT in include/uapi/linux/perf_event.h; the
 * commands only call it.
 *
 * The life of a namespace:
 *
 *   created    by the SET_PERSIST of its first member; joined by the others
 *   published  by the SET_NAME of any of them: all members at once, or none
 *   opened     by name or id, as often as anybody likes
 *   deleted    by a SET_PERSIST of NULL on the namespace
 *
 * Until it is published it goes away with the descriptors of its creator.
 *
 * A snapshot is a namespace as well, whose events nobody can switch on: how it
 * comes about is known to persistent-control.c.
 */
#include "persistent.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <api/fs/fs.h>
#include <internal/xyarray.h>
#include <linux/ctype.h>
#include <linux/string.h>
#include <linux/time64.h>
#include <linux/zalloc.h>
#include "cap.h"
#include "debug.h"
#include "evlist.h"
#include "evsel.h"
#include "json-print.h"
#include "levenshtein.h"
#include "parse-events.h"
#include "rlimit.h"
#include "strbuf.h"
#include "util.h"
#include "../perf-sys.h"

#define PERSISTENT_SYSFS	"bus/event_source/devices/" PERSISTENT_PMU
#define MAX_USER_NAME		PERF_PERSIST_USER_NAME_MAX

#define FD(e, x)		(*(int *)xyarray__entry((e)->core.fd, x, 0))

/* Said by the commands and, of events on their command lines, by the parser */
#define MSG_UNSUPPORTED		"This kernel cannot keep events: it has no PMU called 'persistent'"
#define HELP_UNSUPPORTED	"It takes a kernel built with CONFIG_PERF_EVENTS_PERSISTENT=y."
#define MSG_MISSING		"There is no namespace called '%s'"

/*
 * Where there are no persistent events, a PMU of another kind may have their
 * type. So their PMU being in sysfs is the one thing to go by, never an errno.
 */
static int persistent__type(void)
{
	static int type;

	if (!type && sysfs__read_int(PERSISTENT_SYSFS "/type", &type))
		type = -1;

	return type;
}

bool persistent__supported(void)
{
	return persistent__type() >= 0;
}

int persistent__check_supported(void)
{
	if (persistent__supported())
		return 0;

	if (!sysfs__mountpoint())
		pr_err("Whether this kernel keeps events is to be seen in sysfs, and that is not mounted:\n"
		       "mount -t sysfs none /sys\n");
	else
		pr_err(MSG_UNSUPPORTED ".\n" HELP_UNSUPPORTED "\n");
	return -EOPNOTSUPP;
}

int persistent__check_perfmon(void)
{
	bool used_root;

	if (perf_cap__capable(CAP_PERFMON, &used_root))
		return 0;

	pr_err("Keeping events in the kernel needs CAP_PERFMON: be root, or see\n"
	       "Documentation/admin-guide/perf-security.rst for how to grant it to perf.\n");
	return -EPERM;
}

/*
 * The word in persistent/word/, if it is one that becomes an event when the PMU
 * has one of that name, and not one that means something to the parser itself.
 */
static const char *terms__event(const struct parse_events_terms *terms)
{
	const struct parse_events_term *term;

	if (list_empty(&terms->terms))
		return "";

	term = list_first_entry(&terms->terms, struct parse_events_term, list);
	if (term->type_term == PARSE_EVENTS__TERM_TYPE_RAW)
		return term->val.str;
	if (term->type_term == PARSE_EVENTS__TERM_TYPE_USER ||
	    term->type_term == PARSE_EVENTS__TERM_TYPE_LEGACY_CACHE ||
	    term->type_term == PARSE_EVENTS__TERM_TYPE_HARDWARE)
		return term->config;
	return NULL;
}

static bool parsed_as_event(const char *name)
{
	struct parse_events_terms terms;
	bool ret;

	parse_events_terms__init(&terms);
	ret = !parse_events_terms(&terms, name, /*input=*/NULL) && terms__event(&terms);
	parse_events_terms__exit(&terms);
	return ret;
}

int persistent__check_name(const char *name)
{
	size_t len = strlen(name);
	bool good = len && len <= MAX_USER_NAME && (islower(name[0]) || name[0] == '_');

	for (const char *c = name; good && *c; c++)
		good = islower(*c) || isdigit(*c) || *c == '_' || *c == '-';

	if (!good) {
		pr_err("'%s' cannot be the name of a namespace: it takes up to %d of a-z, 0-9, '_'\n"
		       "and '-', the first of them a letter or '_'.\n", name, MAX_USER_NAME);
		return -EINVAL;
	}

	if (!parsed_as_event(name)) {
		pr_err("'%s' cannot be the name of a namespace: in '-e " PERSISTENT_PMU
		       "/%s/' it means\nsomething else. Choose another name.\n", name, name);
		return -EINVAL;
	}

	return 0;
}

static void err_taken(const char *name)
{
	pr_err("There is a namespace called '%s' already.\n"
	       "Choose another name, or delete that one with 'perf ctl -d %s'.\n", name, name);
}

static void err_denied(const char *name)
{
	pr_err("No permission to open the namespace '%s': be root, or see\n"
	       "Documentation/admin-guide/perf-security.rst for how to grant CAP_PERFMON to perf.\n",
	       name);
}

/* The one that was most likely meant; NULL: all are too different. */
static const char *nearest_name(char **names, const char *name)
{
	int best = strlen(name) / 2 + 1;
	const char *nearest = NULL;

	for (int i = 0; names[i]; i++) {
		int distance = levenshtein(name, names[i], 1, 1, 1, 1);

		if (distance < best) {
			best = distance;
			nearest = names[i];
		}
	}
	return nearest;
}

/* There may be hundreds of names: say which one is like it, and how to see them. */
static char *help_missing(const char *name)
{
	char **names = persistent__names();
	struct strbuf sb = STRBUF_INIT;
	const char *nearest;

	if (names && names[0]) {
		nearest = nearest_name(names, name);
		if (nearest)
			strbuf_addf(&sb, "Did you mean '%s'? ", nearest);
		strbuf_addstr(&sb, "'perf ctl -l' lists those that exist.");
	} else {
		strbuf_addstr(&sb, "There are none: see 'perf record -P NAME -e EVENTS -a'.");
	}
	persistent__free_names(names);
	return strbuf_detach(&sb, NULL);
}

static void err_missing(const char *name)
{
	char *help = help_missing(name);

	pr_err(MSG_MISSING ".\n%s\n", name, help ?: "");
	free(help);
}

u32 persistent__snapshot_number(const char *name, const char *of)
{
	size_t len = strlen(of);
	unsigned long nr;
	char *end;

	if (strncmp(name, of, len) || name[len] != '.' || !isdigit(name[len + 1]))
		return 0;

	nr = strtoul(name + len + 1, &end, 10);
	return *end || nr > UINT_MAX ? 0 : nr;
}

/* flight, flight.2, flight.10, flight-deck */
static int name_cmp(const void *_a, const void *_b)
{
	const char *a = *(char * const *)_a, *b = *(char * const *)_b;
	size_t len_a = strcspn(a, "."), len_b = strcspn(b, ".");
	int cmp = strncmp(a, b, min(len_a, len_b));

	if (cmp || len_a != len_b)
		return cmp ?: (len_a < len_b ? -1 : 1);

	/* The longer number is the larger one. */
	len_a = strlen(a);
	len_b = strlen(b);
	return len_a == len_b ? strcmp(a, b) : (len_a < len_b ? -1 : 1);
}

char **persistent__names(void)
{
	char path[PATH_MAX], **names;
	struct dirent *dent;
	size_t nr = 0;
	DIR *dir;

	names = calloc(1, sizeof(*names));
	if (!names)
		return NULL;

	scnprintf(path, sizeof(path), "%s/" PERSISTENT_SYSFS "/events", sysfs__mountpoint() ?: "");
	dir = opendir(path);
	if (!dir)
		return names;

	while ((dent = readdir(dir))) {
		char **more;

		if (dent->d_name[0] == '.')
			continue;

		more = realloc(names, (nr + 2) * sizeof(*names));
		if (!more)
			break;
		names = more;
		names[nr] = strdup(dent->d_name);
		names[nr + 1] = NULL;
		if (!names[nr])
			break;
		nr++;
	}
	closedir(dir);

	qsort(names, nr, sizeof(*names), name_cmp);
	return names;
}

void persistent__free_names(char **names)
{
	for (int i = 0; names && names[i]; i++)
		free(names[i]);
	free(names);
}

/* Anybody may know that, whatever else of it. */
static bool persistent__exists(const char *name)
{
	char **names = persistent__names();
	bool found = false;

	for (int i = 0; names && names[i] && !found; i++)
		found = !strcmp(names[i], name);
	persistent__free_names(names);
	return found;
}

static int persistent__open(u64 ns_id, u64 event_id, bool write)
{
	enum rlimit_action set_rlimit = NO_CHANGE;
	struct perf_event_attr attr = {
		.size	 = sizeof(attr),
		.type	 = persistent__type(),
		.config	 = ns_id,
		.config1 = event_id,
		.config2 = write ? PERF_PERSIST_OPEN_WRITE : 0,
	};
	int fd;

	do {
		fd = sys_perf_event_open(&attr, -1, -1, -1, PERF_FLAG_FD_CLOEXEC);
	} while (fd < 0 && errno == EMFILE && rlimit__increase_nofile(&set_rlimit));

	return fd < 0 ? -errno : fd;
}

/* The attr of a later kernel is fine as long as what is not known here is zero. */
static int persistent__get_big_attr(int fd, struct perf_event_persist *info,
				    struct perf_event_attr *attr)
{
	size_t size = info->attr_size;
	char *big;
	int err;

	if (size <= sizeof(*attr))
		return -EINVAL;

	big = zalloc(size);
	if (!big)
		return -ENOMEM;

	info->attr = (u64)(unsigned long)big;
	err = ioctl(fd, PERF_EVENT_IOC_GET_PERSIST, info) ? -errno : 0;
	if (!err && memchr_inv(big + sizeof(*attr), 0, size - sizeof(*attr)))
		err = -E2BIG;
	if (!err)
		memcpy(attr, big, sizeof(*attr));
	free(big);
	return err;
}

/* On a namespace: the member after @event_id; on an event: that member. */
static int persistent__get(int fd, u64 event_id, struct perf_event_persist *info,
			   struct perf_event_attr *attr)
{
	struct perf_event_persist query = {
		.size	   = sizeof(query),
		.event_id  = event_id,
		.attr	   = (u64)(unsigned long)attr,
		.attr_size = sizeof(*attr),
	};
	int err;

	memset(attr, 0, sizeof(*attr));
	*info = query;
	if (!ioctl(fd, PERF_EVENT_IOC_GET_PERSIST, info))
		return 0;
	if (errno != E2BIG)
		return -errno;

	query.attr_size = info->attr_size;
	*info = query;
	err = persistent__get_big_attr(fd, info, attr);
	if (err == -E2BIG)
		pr_err("These events were made by a newer perf, with what this one does not know.\n");
	return err;
}

/* How many bytes of a character that is printed as it is; 0: of none */
static int printable(const char *str)
{
	unsigned char first = *str;
	unsigned int c;
	int len;

	if (first < 0x80)
		return first >= ' ' && first != 0x7f;

	/* The first ones beyond ASCII control terminals, too. */
	len = utf8__char(str, &c);
	return len && c >= 0xa0 ? len : 0;
}

/* It is for owners to choose what things are called, not what the terminal does. */
void persistent__make_printable(char *str)
{
	for (int len; *str; str += len ?: 1) {
		len = printable(str);
		if (!len)
			*str = '?';
	}
}

static void ns__fill(struct persistent_ns *ns, const struct perf_event_persist *info)
{
	ns->id = info->ns_id;
	ns->created_ns = info->created_ns;
	ns->owner_uid = info->owner_uid;
	ns->source_id = info->source_id;
	ns->number = info->number;
	ns->trigger = info->flags & PERF_PERSIST_SNAPSHOT ? info->trigger : 0;
	ns->keep = info->keep;
	ns->spares = info->spares;
	ns->snapshot = info->flags & PERF_PERSIST_SNAPSHOT;
	memcpy(ns->name, info->name, sizeof(ns->name));
	memcpy(ns->owner_comm, info->owner_comm, sizeof(ns->owner_comm));
}

/* An event that is open, without its attr */
int persistent__get_event(int fd, struct perf_event_persist *info)
{
	*info = (struct perf_event_persist) { .size = sizeof(*info) };
	return ioctl(fd, PERF_EVENT_IOC_GET_PERSIST, info) ? -errno : 0;
}

/*
 * The same as the namespace knows it: all but the head of its buffer, for which
 * the CPU that it is on would have to be asked.
 */
int persistent_ns__get_member(const struct persistent_ns *ns, u64 id,
			      struct perf_event_persist *info)
{
	*info = (struct perf_event_persist) {
		.size	  = sizeof(*info),
		.event_id = id - 1,
	};
	if (ioctl(ns->fd, PERF_EVENT_IOC_GET_PERSIST, info))
		return -errno;
	return info->event_id == id ? 0 : -ENOENT;
}

/* Look at the first member: it knows what there is to know of the whole. */
static int ns__init(struct persistent_ns *ns)
{
	struct perf_event_persist info;
	struct perf_event_attr attr;
	int err = persistent__get(ns->fd, 0, &info, &attr);

	if (!err)
		ns__fill(ns, &info);
	/* Deleted since it was opened */
	return err == -ENODEV ? -ENOENT : err;
}

/* What is known of the whole may be another now. poll() waits for the next change. */
int persistent_ns__look_again(struct persistent_ns *ns)
{
	return ns__init(ns);
}

static struct persistent_ns *ns__new(int fd)
{
	struct persistent_ns *ns = fd < 0 ? NULL : zalloc(sizeof(*ns));

	if (ns)
		ns->fd = fd;
	else if (fd >= 0)
		close(fd);
	return ns;
}

int persistent_ns__lookup_id(u64 id, bool write, struct persistent_ns **res)
{
	int fd = persistent__open(id, 0, write), err = fd < 0 ? fd : -ENOMEM;
	struct persistent_ns *ns = ns__new(fd);

	if (ns)
		err = ns__init(ns);
	if (err) {
		persistent_ns__close(ns);
		ns = NULL;
	}
	*res = ns;
	return err;
}

int persistent_ns__lookup(const char *name, bool write, struct persistent_ns **res)
{
	int fd = persistent__open(~0ULL, 0, write), err = fd < 0 ? fd : -ENOMEM;
	struct persistent_ns *ns = ns__new(fd);

	if (ns) {
		err = ioctl(fd, PERF_EVENT_IOC_SET_NAME, name) ? -errno : 0;
		err = err ?: ns__init(ns);
	}
	if (err) {
		persistent_ns__close(ns);
		ns = NULL;
	}
	/* The kernel asks for the right to open one before it looks for the name. */
	if ((err == -EACCES || err == -EPERM) && !persistent__exists(name))
		err = -ENOENT;
	*res = ns;
	return err;
}

int persistent__err_open(int err, const char *name)
{
	char buf[STRERR_BUFSIZE];

	switch (err) {
	case 0:
		break;
	case -ENOENT:
	case -EINVAL:	/* what can be no name is none */
		err_missing(name);
		break;
	case -EACCES:
	case -EPERM:
		err_denied(name);
		break;
	default:
		pr_err("Cannot open the namespace '%s': %s\n", name,
		       str_error_r(-err, buf, sizeof(buf)));
		break;
	}
	return err;
}

struct persistent_ns *persistent_ns__open(const char *name, bool write)
{
	struct persistent_ns *ns;

	persistent__err_open(persistent_ns__lookup(name, write, &ns), name);
	return ns;
}

void persistent_ns__close(struct persistent_ns *ns)
{
	if (!ns)
		return;

	close(ns->fd);
	free(ns->members);
	free(ns->tasks);
	free(ns);
}

int persistent_member__open(const struct persistent_ns *ns,
			    const struct persistent_member *member)
{
	return persistent__open(ns->id, member->id, /*write=*/false);
}

int persistent_member__open_to_change(const struct persistent_ns *ns,
				      const struct persistent_member *member)
{
	return persistent__open(ns->id, member->id, /*write=*/true);
}

static void member__fill(struct persistent_member *member,
			 const struct perf_event_persist *info)
{
	member->id = info->event_id;
	member->output_id = info->output_id;
	member->buffer_size = info->buffer_size;
	member->lost = info->lost;
	member->missed = info->missed;
	member->cgroup_id = info->cgroup_id;
	member->flags = info->flags;
	member->cpu = info->cpu;
	memcpy(member->label, info->label, sizeof(member->label));
	persistent__make_printable(member->label);
}

int persistent_ns__list(struct persistent_ns *ns)
{
	struct perf_event_persist info = { .event_id = 0 };
	int err;

	zfree(&ns->members);
	ns->nr_members = 0;

	for (;;) {
		struct persistent_member *members, *member;
		int nr = ns->nr_members;

		/* Grow at powers of two. */
		if (!(nr & (nr - 1))) {
			members = realloc(ns->members, (nr ? 2 * nr : 1) * sizeof(*members));
			if (!members)
				return -ENOMEM;
			ns->members = members;
		}

		member = &ns->members[nr];
		err = persistent__get(ns->fd, info.event_id, &info, &member->attr);
		if (err)
			break;

		ns__fill(ns, &info);
		/* It records nothing: what triggers do is listed apart. */
		if ((info.flags & PERF_PERSIST_FOR_TRIGGER) && !info.output_id)
			continue;
		member__fill(member, &info);
		ns->nr_members++;
	}

	return err == -ENOENT ? 0 : err;
}

/* Records that were not taken while a trigger had it stopped */
u64 persistent_ns__missed(const struct persistent_ns *ns)
{
	u64 missed = 0;

	for (int i = 0; i < ns->nr_members; i++)
		missed += ns->members[i].missed;
	return missed;
}

static int member_id_cmp(const void *id, const void *member)
{
	u64 a = *(const u64 *)id, b = ((const struct persistent_member *)member)->id;

	return a < b ? -1 : a > b;
}

/* The kernel lists them in the order of their ids. */
struct persistent_member *persistent_ns__find_member(const struct persistent_ns *ns, u64 id)
{
	return bsearch(&id, ns->members, ns->nr_members, sizeof(*ns->members), member_id_cmp);
}

/*
 * Members that came after @ns was listed, as a CPU came online or somebody let
 * more events join: nobody has read what they recorded. Of interest is what counts
 * something, on the CPUs of @only if there are any.
 */
int persistent_ns__count_late(const struct persistent_ns *ns, const struct perf_cpu_map *only,
			      int *nr)
{
	struct persistent_ns now = { .fd = ns->fd };
	int err = persistent_ns__list(&now);
	char buf[STRERR_BUFSIZE];

	*nr = 0;
	for (int i = 0; i < now.nr_members && !err; i++) {
		const struct persistent_member *member = &now.members[i];
		struct perf_cpu cpu = { .cpu = member->cpu };

		if (persistent_member__is_sideband(member) ||
		    (only && !perf_cpu_map__has(only, cpu)))
			continue;
		*nr += !persistent_ns__find_member(ns, member->id);
	}

	free(now.members);

	/* Somebody else has deleted it: nothing is left that is not read. */
	if (err == -ENODEV)
		return 0;
	if (err)
		pr_err("Cannot list the events of the namespace '%s' again: %s\n", ns->name,
		       str_error_r(-err, buf, sizeof(buf)));
	return err;
}

/* Deleted since it was opened? What was recorded until then stays mapped. */
bool persistent_ns__is_gone(const struct persistent_ns *ns)
{
	struct pollfd pfd = { .fd = ns->fd };

	return poll(&pfd, 1, 0) > 0 && pfd.revents & POLLHUP;
}

u64 persistent_ns__age_ns(const struct persistent_ns *ns)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (u64)now.tv_sec * NSEC_PER_SEC + now.tv_nsec - ns->created_ns;
}

/* How much was ever written to the buffer of the event that is open as @fd */
int persistent_member__written(int fd, u64 *bytes)
{
	struct perf_event_persist info;
	int err = persistent__get_event(fd, &info);

	if (!err)
		*bytes = -info.head;
	return err;
}

/* What a snapshot holds does not change: it is read and deleted. */
int persistent_ns__check_live(const struct persistent_ns *ns)
{
	if (!ns->snapshot)
		return 0;

	pr_err("'%s' is a snapshot, in which nothing changes any more: use '%.*s' for what goes on.\n",
	       ns->name, (int)strcspn(ns->name, "."), ns->name);
	return -EINVAL;
}

static int ns__ioctl(const struct persistent_ns *ns, unsigned long cmd)
{
	return ioctl(ns->fd, cmd, 0) ? -errno : 0;
}

static int ns__err(const struct persistent_ns *ns, int err, const char *what)
{
	char buf[STRERR_BUFSIZE];

	if (err)
		pr_err("Cannot %s the namespace '%s': %s\n", what, ns->name,
		       str_error_r(-err, buf, sizeof(buf)));
	return err;
}

int persistent_ns__enable(struct persistent_ns *ns)
{
	return persistent_ns__check_live(ns) ?:
	       ns__err(ns, ns__ioctl(ns, PERF_EVENT_IOC_ENABLE), "enable");
}

int persistent_ns__disable(struct persistent_ns *ns)
{
	return persistent_ns__check_live(ns) ?:
	       ns__err(ns, ns__ioctl(ns, PERF_EVENT_IOC_DISABLE), "disable");
}

/*
 * Nothing is to be recorded behind what is read. Of what somebody else has deleted
 * everything that is mapped is read all the same.
 */
int persistent_ns__disable_to_delete(struct persistent_ns *ns)
{
	int err;

	/* What a snapshot holds does not get more. */
	if (ns->snapshot)
		return 0;

	err = ns__ioctl(ns, PERF_EVENT_IOC_DISABLE);
	ns->disabled = !err;
	return err == -ENODEV ? 0 : ns__err(ns, err, "disable");
}

static int member__enable(const struct persistent_ns *ns,
			  const struct persistent_member *member)
{
	int fd = persistent__open(ns->id, member->id, /*write=*/true);
	int err = fd < 0 ? fd : 0;

	if (!err && ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))
		err = -errno;
	if (fd >= 0)
		close(fd);
	return err;
}

/* Was it, or what it is one more of, off before the namespace was disabled? */
static bool member__was_off(const struct persistent_ns *ns, const struct persistent_member *member)
{
	const struct persistent_member *was = persistent_ns__find_member(ns, member->id);

	for (int i = 0; i < ns->nr_members && !was; i++) {
		if (persistent_member__is_same_event(&ns->members[i], member))
			was = &ns->members[i];
	}
	return was && was->flags & PERF_PERSIST_DISABLED;
}

/* Members that came since @ns was listed are switched on, too. */
static int ns__enable_each(const struct persistent_ns *ns)
{
	struct perf_event_persist info = { .event_id = 0 };
	struct persistent_member member = { .id = 0 };
	int err = 0, end;

	/*
	 * One that fails does not keep the others off; who left meanwhile is well. Who
	 * comes meanwhile is met, or like one that is on already.
	 */
	while (!(end = persistent__get(ns->fd, info.event_id, &info, &member.attr))) {
		int ret = 0;

		member__fill(&member, &info);
		if (!member__was_off(ns, &member))
			ret = member__enable(ns, &member);
		if (ret != -ENOENT)
			err = err ?: ret;
	}

	return err ?: end == -ENOENT ? 0 : end;
}

/*
 * Undo persistent_ns__disable_to_delete(): what was off before it remains so. So do buffers
 * that a trigger stopped, even meanwhile, as enabling the namespace lets them go on
 * and enabling an event does not.
 */
int persistent_ns__enable_again(struct persistent_ns *ns)
{
	char buf[STRERR_BUFSIZE];
	int err;

	if (!ns->disabled)
		return 0;

	err = ns__enable_each(ns);
	if (err)
		pr_err("Cannot enable the namespace '%s' again: %s\n", ns->name,
		       str_error_r(-err, buf, sizeof(buf)));
	else
		ns->disabled = false;
	return err;
}

/* It is as well when somebody else was faster. */
int persistent_ns__delete(struct persistent_ns *ns)
{
	int err = ns__ioctl(ns, PERF_EVENT_IOC_SET_PERSIST);

	return err == -ENODEV ? 0 : ns__err(ns, err, "delete");
}

/* They outlive what they were taken of, and hold memory. */
void persistent__tell_of_snapshots(const char *name)
{
	char **names = persistent__names();
	struct strbuf sb = STRBUF_INIT;

	for (int i = 0; names && names[i]; i++) {
		if (persistent__snapshot_number(names[i], name))
			strbuf_addf(&sb, " %s", names[i]);
	}
	if (sb.len)
		pr_info("The snapshots of '%s' remain:%s.\nDelete them with 'perf ctl -d \"%s.*\"'.\n",
			name, sb.buf, name);
	strbuf_release(&sb);
	persistent__free_names(names);
}

/* What perf record -P adds to learn of tasks and maps counts nothing itself. */
bool persistent_member__is_sideband(const struct persistent_member *member)
{
	return member->attr.type == PERF_TYPE_SOFTWARE &&
	       member->attr.config == PERF_COUNT_SW_DUMMY;
}

/* The buffer of @member: is it only for those that count nothing? */
bool persistent_ns__is_sideband_ring(const struct persistent_ns *ns,
				     const struct persistent_member *member)
{
	for (int i = 0; i < ns->nr_members; i++) {
		if (ns->members[i].output_id == member->id &&
		    !persistent_member__is_sideband(&ns->members[i]))
			return false;
	}
	return true;
}

/* One attr on another CPU; the same one twice on a CPU is the caller's to tell apart. */
bool persistent_member__is_same_event(const struct persistent_member *member,
				      const struct persistent_member *other)
{
	return member->cgroup_id == other->cgroup_id && !strcmp(member->label, other->label) &&
	       !memcmp(&member->attr, &other->attr, sizeof(member->attr));
}

/* Each label once, in the order in which the events were made. */
static const char **ns__labels(const struct persistent_ns *ns, int *nr)
{
	const char **labels = calloc(ns->nr_members, sizeof(*labels));

	*nr = 0;
	for (int i = 0; labels && i < ns->nr_members; i++) {
		const char *label = ns->members[i].label;
		bool seen = persistent_member__is_sideband(&ns->members[i]);

		label = *label ? label : "-";
		for (int j = 0; j < *nr && !seen; j++)
			seen = !strcmp(label, labels[j]);
		if (!seen)
			labels[(*nr)++] = label;
	}

	return labels;
}

/* The first @nr of @of labels, and how many there are beside them */
static char *join_labels(const char **labels, int nr, int of)
{
	struct strbuf sb = STRBUF_INIT;

	for (int i = 0; i < nr; i++)
		strbuf_addf(&sb, "%s%s", i ? "," : "", labels[i]);
	if (nr < of)
		strbuf_addf(&sb, "(+%d)", of - nr);
	return strbuf_detach(&sb, NULL);
}

/* Not even the first one fits: what comes before its end, but not less than a letter. */
static char *cut_label(const char *label, int nr_others, int width)
{
	char others[16] = "", *str;

	if (nr_others)
		scnprintf(others, sizeof(others), "(+%d)", nr_others);
	width -= strlen(others) + strlen("..");
	if (asprintf(&str, "%.*s..%s", max(width, 1), label, others) < 0)
		str = NULL;
	return str;
}

/* As many labels as fit: sched:sched_switch,cpu-clock(+2) */
char *persistent_ns__events_within(const struct persistent_ns *ns, size_t width)
{
	int nr, of;
	const char **labels = ns__labels(ns, &of);
	char *str;

	if (!labels)
		return NULL;

	str = join_labels(labels, of, of);
	for (nr = of - 1; nr > 0 && strlen(str) > width; nr--) {
		free(str);
		str = join_labels(labels, nr, of);
	}
	if (of && strlen(str) > width) {
		free(str);
		str = cut_label(labels[0], of - 1, width);
	}

	free(labels);
	return str;
}

char *persistent_ns__events(const struct persistent_ns *ns)
{
	return persistent_ns__events_within(ns, SIZE_MAX);
}

/* The same of a namespace that may not be open to all; NULL: not to the caller */
char *persistent__events_of(const char *name)
{
	struct persistent_ns *ns;
	char *events = NULL;

	if (!persistent_ns__lookup(name, /*write=*/false, &ns) && !persistent_ns__list(ns))
		events = persistent_ns__events(ns);
	persistent_ns__close(ns);
	return events;
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
		err = join__fd(FD(evsel, i), label, id, flags);

	return err;
}

static int err_publish(int err, const char *name, const char *event)
{
	char buf[STRERR_BUFSIZE];

	switch (err) {
	case 0:
		break;
	case -EEXIST:
		err_taken(name);
		break;
	case -EPERM:
	case -EACCES:
		pr_err("The kernel does not keep events for you: it takes CAP_PERFMON in the initial\n"
		       "user namespace.\n");
		break;
	case -EOPNOTSUPP:
		pr_err("The kernel cannot keep '%s': groups, AUX area events and events of a process\n"
		       "have to be recorded as usual.\n", event);
		break;
	case -ENOSPC:
		pr_err("Cannot keep '%s': as many events are kept as kernel.perf_event_max_persistent allows.\n"
		       "Delete some with 'perf ctl -d', or raise it.\n", event);
		break;
	case -ENOMEM:
		pr_err("Cannot keep '%s': there is not enough memory available.\n", event);
		break;
	default:
		pr_err("Cannot keep '%s' in the namespace '%s': %s\n", event, name,
		       str_error_r(-err, buf, sizeof(buf)));
		break;
	}
	return err;
}

/* All events are in by now, so that what is not allowed is the memory of all of them. */
static int err_name(int err, const char *name, const char *event)
{
	if (err != -EPERM)
		return err_publish(err, name, event);

	pr_err("Cannot keep '%s': its buffers are more than you may lock. Make them smaller with -m, delete\n"
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
			return err_publish(err, name, evsel__name(evsel));
	}

	return 0;
}

/*
 * Who makes a namespace has its name from before, and is dead when the samples
 * taken of it are read: have the name recorded.
 */
static void announce_self(void)
{
	char comm[PERF_PERSIST_COMM_SIZE];

	if (!prctl(PR_GET_NAME, comm))
		prctl(PR_SET_NAME, comm);
}

/*
 * Hand all events of @evlist and of @sideband, open and mapped, to the kernel
 * as the namespace @name. The name comes last and is what makes them stay:
 * whatever happens before leaves nothing behind. @id is what it can be opened by.
 */
int persistent__publish(struct evlist *evlist, struct evlist *sideband,
			const char *name, u64 flags, u64 *id)
{
	int err;

	*id = PERF_PERSIST_NEW;
	err = join__evlist(evlist, name, id, flags) ?:
	      join__evlist(sideband, name, id, flags);
	if (err)
		return err;

	evlist__enable(sideband);
	announce_self();
	evlist__enable(evlist);

	err = ioctl(FD(evlist__first(evlist), 0), PERF_EVENT_IOC_SET_NAME, name) ? -errno : 0;
	return err_name(err, name, evsel__name(evlist__first(evlist)));
}

/* The kernel decides when it is published; this only saves the work before. */
int persistent__check_free(const char *name)
{
	struct persistent_ns *ns;
	int err = persistent_ns__lookup(name, /*write=*/false, &ns);

	persistent_ns__close(ns);
	if (err == -ENOENT)
		return 0;
	if (err)
		return persistent__err_open(err, name);

	err_taken(name);
	return -EEXIST;
}

/*
 * Called by the parser for persistent/.../ before it looks for such an event:
 * what would be missing is not an event, but a namespace.
 */
int persistent__check_event(const struct parse_events_terms *terms, int column,
			    struct parse_events_error *err)
{
	const char *name = terms ? terms__event(terms) : "";
	char *msg;

	if (!persistent__supported()) {
		parse_events_error__handle(err, column, strdup(MSG_UNSUPPORTED),
					   strdup(HELP_UNSUPPORTED));
		return -EINVAL;
	}

	/* Given by its id, or in a way that the parser knows to complain of. */
	if (!name)
		return 0;

	if (persistent__exists(name))
		return 0;

	if (asprintf(&msg, MSG_MISSING, name) < 0)
		return -ENOMEM;
	parse_events_error__handle(err, column, msg, help_missing(name));
	return -EINVAL;
}
