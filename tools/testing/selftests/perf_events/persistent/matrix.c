// SPDX-License-Identifier: GPL-2.0
/*
 * A table of rights: each act, by each kind of user, at each level of
 * perf_event_paranoid, on events that need more or less. H16
 */
#include <linux/hw_breakpoint.h>

#include "persistent.h"

/* A kernel function that can be probed, and that is hardly ever called */
#define KERNEL_FUNC	"ksys_sync"

/* At no level of perf_event_paranoid is it open to everybody. */
#define NEVER		(-2)

enum act {
	EVENT,		/* an ordinary event with the same attr */
	SET_NAME,	/* on an ordinary event, which somebody else opened */
	SET_FLAGS,
	CREATE,
	LABEL,
	JOIN,
	CLAIM,
	SEE_NAME,	/* in sysfs */
	UNBOUND,	/* a namespace descriptor that is not bound, */
	BIND,		/* and binding it */
	LISTING,	/* a namespace descriptor */
	LISTED,		/* attr and label, through a namespace descriptor that root opened */
	MEMBER,		/* open it, by id */
	FIRST,		/* by CPU */
	MAP,		/* through a descriptor that root opened, if the user got none */
	READ,
	READER_INFO,
	READER_CHANGES,
	LISTING_CHANGES,
	LISTING_DELETES,
	WRITER,
	FIRST_WRITER,
	NS_WRITER,
	NS_CHANGES,
	DELETE,
	NR_ACTS
};

static const char * const act_names[NR_ACTS] = {
	[EVENT]			= "open an ordinary event",
	[SET_NAME]		= "name",
	[SET_FLAGS]		= "set flags",
	[CREATE]		= "create",
	[LABEL]			= "label",
	[JOIN]			= "join",
	[CLAIM]			= "claim",
	[SEE_NAME]		= "see the name",
	[UNBOUND]		= "open an unbound namespace descriptor",
	[BIND]			= "bind it",
	[LISTING]		= "open the namespace",
	[LISTED]		= "see attr and label",
	[MEMBER]		= "open the member",
	[FIRST]			= "open the first member on a CPU",
	[MAP]			= "map",
	[READ]			= "read",
	[READER_INFO]		= "GET_PERSIST, GET_MEMBER",
	[READER_CHANGES]	= "disable through a reader's descriptor",
	[LISTING_CHANGES]	= "disable through a listing",
	[LISTING_DELETES]	= "delete through a listing",
	[WRITER]		= "open the member for writing",
	[FIRST_WRITER]		= "open the first member on a CPU for writing",
	[NS_WRITER]		= "open the namespace for writing",
	[NS_CHANGES]		= "disable and enable the namespace",
	[DELETE]		= "delete",
};

/* perfmon, admin: has the capability in the initial user namespace. */
struct who {
	const char	*name;
	bool		perfmon, admin;
	uid_t		uid;
	int		unshare;
};

static const struct who plain_users[] = {
	{ "root", true, true, 0, 0 },
	{ "CAP_PERFMON", true, false, NOBODY, 0 },
	{ "nobody", false, false, NOBODY, 0 },
};

/* Capabilities in a user namespace of one's own give no rights to events. */
static const struct who namespace_users[] = {
	{ "root of root's user namespace", false, false, 0, CLONE_NEWUSER },
	{ "root of nobody's user namespace", false, false, NOBODY, CLONE_NEWUSER },
	{ "root in a pid namespace", true, true, 0, CLONE_NEWPID },
	{ "CAP_PERFMON in a pid namespace", true, false, NOBODY, CLONE_NEWPID },
	{ "root of nobody's user and pid namespace", false, false, NOBODY,
	  CLONE_NEWUSER | CLONE_NEWPID },
};

/* Kinds of members. Each function fills an attr, or returns why there is none of its kind. */

static const char *user_kind(struct perf_event_attr *attr)
{
	*attr = say_attr();
	return NULL;
}

static const char *kernel_kind(struct perf_event_attr *attr)
{
	*attr = say_attr();
	attr->exclude_kernel = 0;
	return NULL;
}

static const char *raw_kind(struct perf_event_attr *attr)
{
	return syscall_attr(attr) ? NULL : "no tracepoint raw_syscalls:sys_enter";
}

static const char *tracepoint_kind(struct perf_event_attr *attr)
{
	const char *missing = raw_kind(attr);

	attr->sample_type &= ~PERF_SAMPLE_RAW;
	return missing;
}

static int pmu_type(const char *pmu)
{
	char path[128], text[16];

	snprintf(path, sizeof(path), PMU_DIR "/%s/type", pmu);
	return read_file(path, text, sizeof(text)) > 0 ? atoi(text) : -1;
}

static const char *probe_kind(struct perf_event_attr *attr, const char *pmu)
{
	int type = pmu_type(pmu);

	if (type < 0)
		return "no such PMU";
	*attr = (struct perf_event_attr){
		.type		= type,
		.size		= sizeof(*attr),
		.sample_period	= 1,
		.sample_type	= PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID,
		.write_backward	= 1,
	};
	return NULL;
}

static const char *kprobe_kind(struct perf_event_attr *attr)
{
	const char *missing = probe_kind(attr, "kprobe");

	attr->kprobe_func = (unsigned long)KERNEL_FUNC;
	return missing;
}

static const char *uprobe_kind(struct perf_event_attr *attr)
{
	static char path[512];
	const char *missing = probe_kind(attr, "uprobe");
	unsigned long start, end, offset, addr = (unsigned long)uprobe_kind;
	char line[1024];
	FILE *maps;

	if (missing)
		return missing;
	maps = fopen("/proc/self/maps", "re");
	missing = "no /proc/self/maps";
	while (maps && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx %*s %lx %*s %*s %511s",
			   &start, &end, &offset, path) != 4 || addr < start || addr >= end)
			continue;
		attr->uprobe_path = (unsigned long)path;
		attr->probe_offset = addr - start + offset;
		missing = NULL;
		break;
	}
	if (maps)
		fclose(maps);
	return missing;
}

static const char *breakpoint_kind(struct perf_event_attr *attr)
{
	unsigned long long addr, found = 0;
	char line[256], name[128];
	FILE *syms;

	syms = fopen("/proc/kallsyms", "re");
	while (syms && !found && fgets(line, sizeof(line), syms)) {
		if (sscanf(line, "%llx %*c %127s", &addr, name) == 2 && !strcmp(name, KERNEL_FUNC))
			found = addr;
	}
	if (syms)
		fclose(syms);
	if (!found)
		return "no address of " KERNEL_FUNC " in /proc/kallsyms";

	*attr = (struct perf_event_attr){
		.type		= PERF_TYPE_BREAKPOINT,
		.size		= sizeof(*attr),
		.bp_type	= HW_BREAKPOINT_X,
		.bp_addr	= found,
		.bp_len		= sizeof(long),
		.sample_period	= 1,
		.sample_type	= PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID,
		.write_backward	= 1,
	};
	return NULL;
}

static const char *msr_kind(struct perf_event_attr *attr)
{
	const char *missing = probe_kind(attr, "msr");

	/* It counts the TSC, and does not sample. */
	attr->sample_period = 0;
	attr->sample_type = 0;
	attr->write_backward = 0;
	return missing;
}

/*
 * @attr:	fills in the attr
 * @pages:	size of the buffer, 0: no buffer
 * @paranoid:	up to this level everybody may open a member of this kind
 * @admin:	above that level, opening requires CAP_SYS_ADMIN instead of CAP_PERFMON
 * @foreign:	everybody may open an ordinary event of this kind up to level 0, but not a
 *		member: the kernel does not know what else the driver checks
 */
struct kind {
	const char	*(*attr)(struct perf_event_attr *attr);
	int		pages;
	int		paranoid;
	bool		admin, foreign;
};

/* The objects that users work on */
struct stage {
	char	ns[NS_ROOM];
	int	cpu, cpu2;
	bool	lockout;
	struct perf_event_attr attr;
	__u64	id, event;
	int	reader, listing;
	int	*got;

	/* These are for one user to change or delete. */
	int	own, joined, joining;
	__u64	doomed;
};

FIXTURE(matrix)
{
	struct stage stage;
};

FIXTURE_VARIANT(matrix)
{
	struct kind kind;
};

FIXTURE_VARIANT_ADD(matrix, user)
{
	.kind = { .attr = user_kind, .pages = PAGES, .paranoid = 0 },
};

FIXTURE_VARIANT_ADD(matrix, kernel)
{
	.kind = { .attr = kernel_kind, .pages = PAGES, .paranoid = 0 },
};

FIXTURE_VARIANT_ADD(matrix, tracepoint)
{
	.kind = { .attr = tracepoint_kind, .pages = PAGES, .paranoid = 0 },
};

FIXTURE_VARIANT_ADD(matrix, raw_tracepoint)
{
	.kind = { .attr = raw_kind, .pages = PAGES, .paranoid = -1 },
};

FIXTURE_VARIANT_ADD(matrix, kprobe)
{
	.kind = { .attr = kprobe_kind, .pages = PAGES, .paranoid = NEVER },
};

FIXTURE_VARIANT_ADD(matrix, uprobe)
{
	.kind = { .attr = uprobe_kind, .pages = PAGES, .paranoid = NEVER, .admin = true },
};

FIXTURE_VARIANT_ADD(matrix, kernel_breakpoint)
{
	.kind = { .attr = breakpoint_kind, .pages = PAGES, .paranoid = NEVER, .admin = true },
};

FIXTURE_VARIANT_ADD(matrix, other_pmu)
{
	.kind = { .attr = msr_kind, .pages = 0, .paranoid = NEVER, .foreign = true },
};

/* Whether level 3 locks out users without privileges, as in some kernels */
static int ask_lockout(void)
{
	pid_t pid;

	pid = fork_child();
	if (!pid)
		_exit(become(NOBODY, 0) ? 2 : locked_out());
	return pid < 0 ? -1 : child_status(pid);
}

FIXTURE_SETUP(matrix)
{
	struct stage *stage = &self->stage;
	const char *missing;
	char name[NAME_ROOM];
	int err, lockout;

	missing = persist_begin(stage->ns, &stage->cpu, &stage->cpu2);
	if (missing)
		SKIP(return, "%s", missing);
	if (geteuid())
		SKIP(return, "needs root, to become others");
	missing = variant->kind.attr(&stage->attr);
	if (missing)
		SKIP(return, "%s", missing);
	err = event_open(&stage->attr, -1, stage->cpu, -1, 0);
	if (err < 0)
		SKIP(return, "no event of this kind: %s", strerror(-err));
	close(err);

	/* Put the level back at once: the harness tears down no setup that skips or fails. */
	ASSERT_EQ(0, set_paranoid(3));
	lockout = ask_lockout();
	ASSERT_EQ(0, restore_paranoid());
	ASSERT_TRUE(lockout == 0 || lockout == 1);
	stage->lockout = lockout;

	snprintf(name, sizeof(name), "%s/first", stage->ns);
	ASSERT_EQ(0, ns_create_leave(&stage->attr, stage->cpu, variant->kind.pages, name,
				     &stage->id));
	stage->reader = member_reopen(stage->id, 0, stage->cpu, 0);
	stage->listing = ns_open(stage->id, 0);
	ASSERT_LE(0, stage->reader);
	ASSERT_LE(0, stage->listing);
	stage->event = event_id(stage->reader);
	stage->got = mmap(NULL, page_size(), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, stage->got);
}

FIXTURE_TEARDOWN_PARENT(matrix)
{
	persist_undo();
}

/*
 * The rights as documented. The order of checks decides between -EACCES and -EPERM, so
 * both count as -EACCES here.
 */
static int expected(enum act act, const struct kind *kind,
		    const struct who *who, int level, bool lockout)
{
	/* Up to level 2 everybody may call perf_event_open(). */
	bool open = who->admin || level <= 2 || !lockout;
	bool perfmon = who->perfmon || who->admin;
	bool see = level <= kind->paranoid || (kind->admin ? who->admin : perfmon);
	bool read = open && see;
	bool may;

	switch (act) {
	case EVENT:
		may = kind->foreign ? open && (level <= 0 || perfmon) : read;
		break;
	case SET_NAME:
	case SET_FLAGS:
	case CREATE:
	case LABEL:
	case CLAIM:
		may = perfmon;
		break;
	case JOIN:
		/*
		 * Root owns the namespace and pays, so a user who joins must be root or
		 * have CAP_IPC_LOCK.
		 */
		may = read && perfmon && !who->uid;
		break;
	case SEE_NAME:
	case READ:
	case READER_INFO:
		may = true;
		break;
	case MAP:
		if (!kind->pages)
			return -EBUSY;
		may = true;
		break;
	case UNBOUND:
		may = open;
		break;
	case BIND:
	case LISTING:
	case MEMBER:
	case FIRST:
		may = read;
		break;
	/* On a descriptor that somebody else opened */
	case LISTED:
		may = see;
		break;
	case READER_CHANGES:
	case LISTING_CHANGES:
	case LISTING_DELETES:
		may = false;
		break;
	case WRITER:
	case FIRST_WRITER:
	case NS_WRITER:
	case NS_CHANGES:
	case DELETE:
		may = read && perfmon;
		break;
	default:
		return 1;
	}
	return may ? 0 : -EACCES;
}

static int refusal(int ret)
{
	if (ret == -EPERM)
		return -EACCES;
	return ret < 0 ? ret : 0;
}

/* Asks for attr and label of the first member. Both are there, or both are withheld. */
static int see_first(struct stage *stage)
{
	struct perf_event_attr back = {};
	struct perf_event_persist_member p = {
		.size		= sizeof(p),
		.attr_size	= sizeof(back),
		.attr		= (unsigned long)&back,
	};
	struct perf_event_persist info;
	int err;

	err = event_ioctl(stage->listing, PERF_EVENT_IOC_GET_MEMBER, (unsigned long)&p);
	if (err)
		return err;
	if (p.event_id != stage->event || get_persist(stage->listing, &info) ||
	    strcmp(info.name, stage->ns))
		return -EPROTO;
	if (p.flags & PERF_PERSIST_ATTR_WITHHELD)
		return p.label[0] || p.attr_size || back.size || back.config ? -EPROTO : -EACCES;
	if (strcmp(p.label, "first") || p.attr_size != back.size ||
	    back.type != stage->attr.type || back.sample_type != stage->attr.sample_type)
		return -EPROTO;
	return 0;
}

static void act_all(struct stage *stage, const struct kind *kind, int *got)
{
	struct perf_event_persist_member p;
	struct perf_event_persist info;
	char name[NAME_ROOM];
	int fd, reader;
	__u64 count, id;

	got[EVENT] = event_open(&stage->attr, -1, stage->cpu, -1, 0);
	if (got[EVENT] >= 0)
		close(got[EVENT]);

	snprintf(name, sizeof(name), "%s-new/label", stage->ns);
	got[SET_NAME] = set_name_str(stage->own, name);
	got[SET_FLAGS] = persist_set_flags(stage->own, 0);
	got[CREATE] = persist_new(stage->own, &id);
	got[LABEL] = set_name(stage->joined, "/label");
	got[JOIN] = persist_join(stage->joining, stage->id);
	got[CLAIM] = persist_claim(stage->joined);

	got[SEE_NAME] = ns_lookup(stage->ns) == stage->id ? 0 : -ENOENT;
	fd = ns_open(PERF_PERSIST_NEW, 0);
	got[UNBOUND] = fd;
	got[BIND] = fd < 0 ? fd : set_name_str(fd, stage->ns);
	got[LISTING] = ns_open(stage->id, 0);
	got[LISTED] = see_first(stage);

	got[FIRST] = member_reopen(stage->id, 0, stage->cpu, 0);
	reader = member_reopen(stage->id, stage->event, -1, 0);
	got[MEMBER] = reader;
	if (reader < 0)
		reader = stage->reader;
	got[MAP] = ring_map_err(reader, kind->pages, PROT_READ);
	got[READ] = read(reader, &count, sizeof(count)) == sizeof(count) ? 0 : -errno;
	got[READER_INFO] = get_member(reader, &p) ?: get_persist(reader, &info);
	got[READER_CHANGES] = event_ioctl(reader, PERF_EVENT_IOC_DISABLE, 0);
	fd = got[LISTING] < 0 ? stage->listing : got[LISTING];
	got[LISTING_CHANGES] = event_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	got[LISTING_DELETES] = ns_delete(fd);

	got[WRITER] = member_reopen(stage->id, stage->event, -1, PERF_PERSIST_OPEN_WRITE);
	got[FIRST_WRITER] = member_reopen(stage->id, 0, stage->cpu, PERF_PERSIST_OPEN_WRITE);
	fd = ns_open(stage->doomed, PERF_PERSIST_OPEN_WRITE);
	got[NS_WRITER] = fd;
	got[NS_CHANGES] = fd < 0 ? fd : event_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	if (!got[NS_CHANGES])
		got[NS_CHANGES] = event_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	got[DELETE] = fd < 0 ? fd : ns_delete(fd);
}

/* Turns root into @who. A new pid namespace holds only the children. */
static int become_who(const struct who *who)
{
	char map[32];
	int err = 0;

	if (who->unshare & CLONE_NEWPID && !(who->unshare & CLONE_NEWUSER) &&
	    unshare(CLONE_NEWPID))
		return -errno;
	if (who->uid)
		err = become(who->uid, who->perfmon ? cap_bit(CAP_PERFMON) : 0);
	if (err || !(who->unshare & CLONE_NEWUSER))
		return err;

	/* Otherwise its files in /proc belong to root. */
	if (prctl(PR_SET_DUMPABLE, 1) || unshare(who->unshare))
		return -errno;
	snprintf(map, sizeof(map), "0 %d 1", who->uid);
	err = write_file("/proc/self/uid_map", map);
	if (err)
		return err;
	return getuid() || !may_create() ? -EPROTO : 0;
}

/* Acts in a grandchild, which is in the new pid namespace, if there is one. */
static int run_as(struct stage *stage, const struct kind *kind,
		  const struct who *who)
{
	pid_t pid, grandchild;

	pid = fork_child();
	if (pid < 0)
		return -1;
	if (pid)
		return child_status(pid);

	if (become_who(who))
		_exit(KSFT_SKIP);
	grandchild = fork_child();
	if (grandchild < 0)
		_exit(KSFT_FAIL);
	if (grandchild)
		_exit(child_status(grandchild) ? KSFT_FAIL : 0);
	if ((getpid() == 1) != !!(who->unshare & CLONE_NEWPID))
		_exit(KSFT_FAIL);
	act_all(stage, kind, stage->got);
	_exit(0);
}

/* Returns false if there can be no such user here. */
static bool try_who(struct __test_metadata *_metadata, struct stage *stage,
		    const struct kind *kind, const struct who *who, int level)
{
	char name[NAME_ROOM];
	int i, want, status;

	/* Root makes all objects. */
	stage->own = counter_open(stage->cpu);
	stage->joined = counter_open(stage->cpu);
	stage->joining = counter_open(stage->cpu);
	ASSERT_LE(0, stage->own);
	ASSERT_LE(0, stage->joined);
	ASSERT_LE(0, stage->joining);
	ASSERT_EQ(0, persist_join(stage->joined, stage->id));
	snprintf(name, sizeof(name), "%s-doomed", stage->ns);
	ASSERT_EQ(0, ns_create_leave(&stage->attr, stage->cpu, 0, name, &stage->doomed));
	for (i = 0; i < NR_ACTS; i++)
		stage->got[i] = 1;

	ASSERT_EQ(0, set_paranoid(level));
	status = run_as(stage, kind, who);
	if (status != KSFT_SKIP) {
		EXPECT_EQ(0, status);
		for (i = 0; i < NR_ACTS; i++) {
			want = expected(i, kind, who, level, stage->lockout);
			EXPECT_EQ(want, refusal(stage->got[i]))
				TH_LOG("%s: %s at perf_event_paranoid %d: got %d",
				       who->name, act_names[i], level, stage->got[i]);
		}
		/* Refused acts had no effect, and the others had. */
		want = expected(DELETE, kind, who, level, stage->lockout);
		EXPECT_EQ(want ? stage->doomed : 0, ns_lookup(name));
		want = expected(CREATE, kind, who, level, stage->lockout);
		snprintf(name, sizeof(name), "%s-new", stage->ns);
		EXPECT_EQ(!want, !!ns_lookup(name));
		EXPECT_EQ(expected(CLAIM, kind, who, level, stage->lockout) ? 0 : -ENOENT,
			  persist_claim(stage->joined));
		EXPECT_EQ(expected(JOIN, kind, who, level, stage->lockout) ? -ENOENT : 0,
			  persist_claim(stage->joining));
		EXPECT_EQ(want ? -ENOENT : 0, persist_claim(stage->own));
	}

	ns_kill(stage->doomed);
	persist_claim(stage->joined);
	close(stage->own);
	close(stage->joined);
	close(stage->joining);
	return status != KSFT_SKIP;
}

/* Users with and without capabilities */
TEST_F(matrix, users)
{
	unsigned int i;
	int level;

	for (level = -1; level <= 3; level++) {
		for (i = 0; i < ARRAY_SIZE(plain_users); i++)
			ASSERT_TRUE(try_who(_metadata, &self->stage, &variant->kind,
					    &plain_users[i], level));
	}
}

/* Only capabilities in the initial user namespace count. Pid namespaces do not matter. */
TEST_F(matrix, users_in_namespaces)
{
	const struct who *missing = NULL;
	unsigned int i;
	int level;

	for (level = -1; level <= 3; level++) {
		for (i = 0; i < ARRAY_SIZE(namespace_users); i++) {
			if (!try_who(_metadata, &self->stage, &variant->kind,
				     &namespace_users[i], level))
				missing = &namespace_users[i];
		}
	}
	if (missing && _metadata->exit_code == KSFT_PASS)
		SKIP(return, "cannot become %s", missing->name);
}

TEST_HARNESS_MAIN
