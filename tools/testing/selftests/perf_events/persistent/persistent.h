/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Helpers for the tests of persistent perf events.
 *
 * Calls return a negative errno on failure. The names of namespaces contain the pid of
 * the test program. All namespaces with such names are deleted after each test, and again
 * when the program ends.
 */
#ifndef PERSISTENT_H
#define PERSISTENT_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/perf_event.h>

/* For programs that do not use the harness */
#ifdef PERSISTENT_NO_HARNESS
#include "../../kselftest.h"
#else
#include "../../kselftest_harness.h"

/* Enough for KASAN and lockdep in an emulated guest on a busy machine. */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT 900
#endif

#define PMU_DIR		"/sys/bus/event_source/devices"
#define NS_DIR		PMU_DIR "/persistent/events"
#define PERFFS_DIR	"/sys/kernel/perf"
#define PARANOID	"/proc/sys/kernel/perf_event_paranoid"
#define MAX_PERSISTENT	"/proc/sys/kernel/perf_event_max_persistent"

#define NOBODY		65534

/* Room for the longest name and label, and for ones that are too long */
#define NAME_ROOM	256

/* Room for names of tests that are not about names */
#define NS_ROOM		PERF_PERSIST_NAME_SIZE

/* Pages of data in a buffer, unless a test says otherwise. */
#define PAGES		8

static char persist_prefix[32];
static pid_t persist_main;

/*
 * What the processes of the program have done that the parent of a test undoes. A test may be
 * killed, and the harness runs no teardown if the setup fails.
 */
static struct {
	char	paranoid[16];	/* perf_event_paranoid as it was; empty: not changed */
	bool	perffs;		/* has been mounted, so there may be directories */
} *persist_done;

static inline long page_size(void)
{
	return sysconf(_SC_PAGESIZE);
}

static inline long neg_errno(long ret)
{
	return ret == -1 ? -errno : ret;
}

/* System calls */

static inline int event_open(struct perf_event_attr *attr, pid_t pid, int cpu,
			     int group_fd, unsigned long flags)
{
	return neg_errno(syscall(SYS_perf_event_open, attr, pid, cpu, group_fd, flags));
}

static inline int event_ioctl(int fd, unsigned long cmd, unsigned long arg)
{
	return neg_errno(ioctl(fd, cmd, arg));
}

static inline int set_name_str(int fd, const char *name)
{
	return neg_errno(ioctl(fd, PERF_EVENT_IOC_SET_NAME, name));
}

static inline __printf(2, 3) int set_name(int fd, const char *fmt, ...)
{
	char name[NAME_ROOM];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(name, sizeof(name), fmt, ap);
	va_end(ap);
	return set_name_str(fd, name);
}

static inline int set_persist(int fd, __u64 *id)
{
	return neg_errno(ioctl(fd, PERF_EVENT_IOC_SET_PERSIST, id));
}

static inline int persist_new(int fd, __u64 *id)
{
	*id = PERF_PERSIST_NEW;
	return set_persist(fd, id);
}

/* Joins by id: only for the process that made the namespace, while it has no name. */
static inline int persist_join_unnamed(int fd, __u64 id)
{
	return set_persist(fd, &id);
}

static inline int ns_join(int ns_fd, __s32 fd)
{
	return neg_errno(ioctl(ns_fd, PERF_EVENT_IOC_JOIN, &fd));
}

static inline int persist_claim(int fd)
{
	return set_persist(fd, NULL);
}

static inline int ns_delete(int ns_fd)
{
	return set_persist(ns_fd, NULL);
}

/* @fd: a namespace, or an event in one */
static inline int get_persist(int fd, struct perf_event_persist *p)
{
	memset(p, 0, sizeof(*p));
	p->size = sizeof(*p);
	return neg_errno(ioctl(fd, PERF_EVENT_IOC_GET_PERSIST, p));
}

static inline int get_member(int fd, struct perf_event_persist_member *p)
{
	memset(p, 0, sizeof(*p));
	p->size = sizeof(*p);
	return neg_errno(ioctl(fd, PERF_EVENT_IOC_GET_MEMBER, p));
}

/* The member of the namespace that follows the one @p describes. */
static inline int next_member(int ns_fd, struct perf_event_persist_member *p)
{
	__u64 last = p->event_id;

	memset(p, 0, sizeof(*p));
	p->size = sizeof(*p);
	p->event_id = last;
	return neg_errno(ioctl(ns_fd, PERF_EVENT_IOC_GET_MEMBER, p));
}

static inline __u64 event_id(int fd)
{
	__u64 id;

	return ioctl(fd, PERF_EVENT_IOC_ID, &id) ? 0 : id;
}

static inline int persist_set_flags(int fd, __u64 flags)
{
	return neg_errno(ioctl(fd, PERF_EVENT_IOC_PERSIST_FLAGS, &flags));
}

/* Reopening */

static inline struct perf_event_attr reopen_attr(__u64 ns, __u64 event, __u64 how)
{
	struct perf_event_attr attr = {
		.type		= PERF_TYPE_PERSISTENT,
		.size		= sizeof(attr),
		.config		= ns,
		.config1	= event,
		.config2	= how,
	};

	return attr;
}

static inline int member_reopen(__u64 ns, __u64 event, int cpu, __u64 how)
{
	struct perf_event_attr attr = reopen_attr(ns, event, how);

	return event_open(&attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static inline int ns_open(__u64 ns, __u64 how)
{
	return member_reopen(ns, 0, -1, how);
}

/* Joins namespace @id, with or without a name. */
static inline int persist_join(int fd, __u64 id)
{
	int ns_fd, err;

	ns_fd = ns_open(id, PERF_PERSIST_OPEN_WRITE);
	if (ns_fd == -ENOENT || ns_fd == -EINVAL)
		return persist_join_unnamed(fd, id);
	if (ns_fd < 0)
		return ns_fd;
	err = ns_join(ns_fd, fd);
	close(ns_fd);
	return err;
}

/* Ioctls of namespaces */

static inline int ns_stop(int ns_fd)
{
	return neg_errno(ioctl(ns_fd, PERF_EVENT_IOC_STOP, 0));
}

static inline int ns_resume(int ns_fd)
{
	return neg_errno(ioctl(ns_fd, PERF_EVENT_IOC_RESUME, 0));
}

/* Takes a snapshot and stores its id. */
static inline int ns_snapshot(int ns_fd, __u64 *id)
{
	struct perf_event_snapshot s = { .size = sizeof(s) };
	int err = neg_errno(ioctl(ns_fd, PERF_EVENT_IOC_SNAPSHOT, &s));

	*id = s.ns_id;
	return err;
}

static inline int ns_keep(int ns_fd, __u32 nr)
{
	return neg_errno(ioctl(ns_fd, PERF_EVENT_IOC_KEEP, &nr));
}

static inline int ns_spares(int ns_fd, __u32 nr)
{
	return neg_errno(ioctl(ns_fd, PERF_EVENT_IOC_SPARES, &nr));
}

static inline int ns_note(int ns_fd, const char *text)
{
	return neg_errno(ioctl(ns_fd, PERF_EVENT_IOC_SET_NOTE, text));
}

/* Triggers of a namespace */

static inline int trigger_add(int ns_fd, struct perf_event_trigger *t)
{
	t->size = sizeof(*t);
	return neg_errno(ioctl(ns_fd, PERF_EVENT_IOC_ADD_TRIGGER, t));
}

static inline int trigger_add_event(int ns_fd, __u32 number, int fd)
{
	struct perf_event_trigger_event arg = { .number = number, .fd = fd };

	return neg_errno(ioctl(ns_fd, PERF_EVENT_IOC_ADD_TRIGGER_EVENT, &arg));
}

static inline int trigger_get(int ns_fd, __u32 number, struct perf_event_trigger *t)
{
	memset(t, 0, sizeof(*t));
	t->size = sizeof(*t);
	t->number = number - 1;
	return neg_errno(ioctl(ns_fd, PERF_EVENT_IOC_GET_TRIGGER, t));
}

static inline int trigger_state(int ns_fd, __u32 number, struct perf_event_trigger_state *st)
{
	memset(st, 0, sizeof(*st));
	st->size = sizeof(*st);
	st->number = number;
	return neg_errno(ioctl(ns_fd, PERF_EVENT_IOC_GET_TRIGGER_STATE, st));
}

static inline int trigger_arm(int ns_fd, __u32 number)
{
	return neg_errno(ioctl(ns_fd, PERF_EVENT_IOC_ARM_TRIGGER, &number));
}

static inline int trigger_del(int ns_fd, __u32 number)
{
	return neg_errno(ioctl(ns_fd, PERF_EVENT_IOC_DEL_TRIGGER, &number));
}

static inline int nr_enabled_on(int ns_fd, int cpu)
{
	struct perf_event_persist_member member = {};
	int nr = 0;

	while (!next_member(ns_fd, &member))
		nr += member.cpu == cpu && !(member.flags & PERF_PERSIST_DISABLED);
	return nr;
}

/*
 * Waits until @nr members on @cpu are enabled: a CPU that returns gets new ones first, and enables
 * them then. Any change after get_persist() ends poll().
 */
static inline bool wait_for_enabled_on(int ns_fd, int cpu, int nr)
{
	struct pollfd pfd = { .fd = ns_fd, .events = POLLPRI };
	struct perf_event_persist info;

	while (!get_persist(ns_fd, &info) && nr_enabled_on(ns_fd, cpu) < nr) {
		if (poll(&pfd, 1, -1) != 1)
			return false;
	}
	return true;
}

/* Number of members that a new listing shows, or an error. */
static inline int ns_count(__u64 ns)
{
	struct perf_event_persist_member p = {};
	int fd, err, n = 0;

	fd = ns_open(ns, 0);
	if (fd < 0)
		return fd;
	while (!(err = next_member(fd, &p)))
		n++;
	close(fd);
	return err == -ENOENT ? n : err;
}

static inline int ns_kill(__u64 ns)
{
	int err, fd;

	fd = ns_open(ns, PERF_PERSIST_OPEN_WRITE);
	if (fd < 0)
		return fd;
	err = ns_delete(fd);
	close(fd);
	return err;
}

/* Namespaces by name */

static inline int read_file(const char *path, char *buf, size_t room)
{
	ssize_t len;
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	len = read(fd, buf, room - 1);
	if (len < 0)
		len = -errno;
	else
		buf[len] = '\0';
	close(fd);
	return len;
}

static inline int write_file(const char *path, const char *text)
{
	ssize_t len;
	int fd;

	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	len = neg_errno(write(fd, text, strlen(text)));
	close(fd);
	return len < 0 ? len : 0;
}

static inline int set_online(int cpu, bool online)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", cpu);
	return write_file(path, online ? "1" : "0");
}

/* Returns the id that sysfs shows for this namespace, 0 if it shows none. */
static inline __u64 ns_listed(const char *name)
{
	char path[512], text[64];
	unsigned long long id;

	snprintf(path, sizeof(path), NS_DIR "/%s", name);
	if (read_file(path, text, sizeof(text)) < 0 ||
	    sscanf(text, "config=0x%llx", &id) != 1)
		return 0;
	return id;
}

/* The same, and finds a snapshot of a trigger that sysfs does not show yet. */
static inline __u64 ns_lookup(const char *name)
{
	struct perf_event_persist info;
	__u64 id = ns_listed(name);
	int fd;

	if (id)
		return id;
	fd = ns_open(~0ULL, 0);
	if (fd < 0)
		return 0;
	if (!set_name_str(fd, name) && !get_persist(fd, &info))
		id = info.ns_id;
	close(fd);
	return id;
}

/*
 * Mounts for this process and its children only. All mounts show the same tree. There can be
 * options only if it is mounted nowhere else; they last as long as this mount.
 */
static inline int mount_perffs_with(const char *options)
{
	persist_done->perffs = true;
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("perffs", PERFFS_DIR, "perffs", 0, options))
		return -errno;
	return 0;
}

static inline int mount_perffs(void)
{
	return mount_perffs_with(NULL);
}

static inline void persist_remove_dirs(void)
{
	struct dirent *dent;
	char path[512];
	DIR *dir;

	dir = opendir(PERFFS_DIR);
	if (!dir)
		return;
	while ((dent = readdir(dir))) {
		if (!strstr(dent->d_name, persist_prefix))
			continue;
		snprintf(path, sizeof(path), PERFFS_DIR "/%s", dent->d_name);
		rmdir(path);
	}
	closedir(dir);
}

/* Deletes namespaces without members that mkdir() made: only perffs shows them. */
static inline void persist_sweep_dirs(void)
{
	pid_t pid;

	if (!persist_done->perffs)
		return;
	if (!access(PERFFS_DIR "/README", F_OK)) {
		persist_remove_dirs();
		return;
	}
	/* The mount of the test is not there for its parent, which does the teardown. */
	pid = fork();
	if (!pid) {
		if (!mount_perffs())
			persist_remove_dirs();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

/* Puts perf_event_paranoid back to what it was before set_paranoid(). */
static inline int restore_paranoid(void)
{
	int err;

	if (!persist_done->paranoid[0])
		return 0;
	err = write_file(PARANOID, persist_done->paranoid);
	if (!err)
		persist_done->paranoid[0] = '\0';
	return err;
}

/*
 * A trigger may take a snapshot of a namespace that is not deleted yet, and readdir()
 * need not show it. So repeat until a pass finds nothing.
 */
static inline void persist_sweep(void)
{
	int passes, found, err = 0;
	struct dirent *dent;
	DIR *dir;

	persist_sweep_dirs();
	dir = opendir(NS_DIR);
	if (!dir)
		return;
	for (passes = 0, found = 1; found && passes < 1000; passes++) {
		rewinddir(dir);
		found = 0;
		while ((dent = readdir(dir))) {
			if (!strstr(dent->d_name, persist_prefix))
				continue;
			err = ns_kill(ns_lookup(dent->d_name)) ?: err;
			found++;
		}
	}
	closedir(dir);
	/* The next test is going to fail. Say why. */
	if (err)
		ksft_print_msg("something was deleted by others, or could not be: %d\n", err);
}

/* Cleans up after a test. */
static inline void persist_undo(void)
{
	restore_paranoid();
	persist_sweep();
}

static void __attribute__((constructor)) persist_init(void)
{
	persist_main = getpid();
	snprintf(persist_prefix, sizeof(persist_prefix), "kst%d-", persist_main);
	persist_done = mmap(NULL, sizeof(*persist_done), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (persist_done == MAP_FAILED)
		_exit(KSFT_FAIL);
}

/* Cleans up after a test that was killed for taking too long. */
static void __attribute__((destructor)) persist_exit(void)
{
	if (getpid() == persist_main)
		persist_undo();
}

/* CPUs and capabilities */

static inline int pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return neg_errno(sched_setaffinity(0, sizeof(set), &set));
}

static inline __u64 cap_bit(int cap)
{
	return 1ULL << cap;
}

static inline void drop_caps(__u64 clear)
{
	struct __user_cap_header_struct hdr = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = {};
	int i;

	syscall(SYS_capget, &hdr, data);
	for (i = 0; i < 2; i++) {
		data[i].effective &= ~(__u32)(clear >> (32 * i));
		data[i].permitted &= ~(__u32)(clear >> (32 * i));
		data[i].inheritable &= ~(__u32)(clear >> (32 * i));
	}
	syscall(SYS_capset, &hdr, data);
}

/* For events, either one is enough. */
static inline __u64 privileges(void)
{
	return cap_bit(CAP_PERFMON) | cap_bit(CAP_SYS_ADMIN);
}

/* Turns root into user @uid, with the capabilities @caps and no others. */
static inline int become(uid_t uid, __u64 caps)
{
	struct __user_cap_header_struct hdr = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = {};
	int i;

	/* Keeps permitted capabilities. They must be made effective again. */
	if (prctl(PR_SET_KEEPCAPS, 1) || setgroups(0, NULL) ||
	    setresgid(uid, uid, uid) || setresuid(uid, uid, uid))
		return -errno;
	for (i = 0; i < 2; i++) {
		data[i].effective = caps >> (32 * i);
		data[i].permitted = data[i].effective;
	}
	return neg_errno(syscall(SYS_capset, &hdr, data));
}

/* The teardown restores the old level, with persist_undo(). */
static inline int set_paranoid(int level)
{
	char text[16], *old = persist_done->paranoid;
	int len;

	if (!*old) {
		len = read_file(PARANOID, old, sizeof(persist_done->paranoid));
		if (len < 0)
			return len;
	}
	snprintf(text, sizeof(text), "%d", level);
	return write_file(PARANOID, text);
}

static inline bool may_create(void)
{
	struct __user_cap_header_struct hdr = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = {};
	__u64 caps;

	syscall(SYS_capget, &hdr, data);
	caps = data[0].effective | (__u64)data[1].effective << 32;
	return caps & (cap_bit(CAP_PERFMON) | cap_bit(CAP_SYS_ADMIN));
}

/*
 * Pins the test to a CPU. Stores that CPU, a second one (-1: there is none), and a name
 * for the test's namespace. Returns the reason why the test cannot run here, or NULL.
 */
static inline const char *persist_begin(char *ns, int *cpu, int *cpu2)
{
	cpu_set_t set;
	int i;

	/* If the setup of the test before has failed, it had no teardown. */
	restore_paranoid();
	if (access(PMU_DIR "/persistent/type", R_OK))
		return "the kernel has no persistent perf events";
	if (!may_create())
		return "needs CAP_PERFMON";

	*cpu = -1;
	*cpu2 = -1;
	if (sched_getaffinity(0, sizeof(set), &set))
		return "no CPU mask";
	for (i = 0; i < CPU_SETSIZE && *cpu2 < 0; i++) {
		if (!CPU_ISSET(i, &set))
			continue;
		if (*cpu < 0)
			*cpu = i;
		else
			*cpu2 = i;
	}
	if (pin(*cpu))
		return "cannot bind to a CPU";
	snprintf(ns, NS_ROOM, "%stest", persist_prefix);
	return NULL;
}

/* Events */

/*
 * An event whose records carry a text of the test's choice. say() makes one, on the CPU
 * it is called on. Needs neither hardware nor tracefs.
 */
static inline struct perf_event_attr say_attr(void)
{
	struct perf_event_attr attr = {
		.type			= PERF_TYPE_SOFTWARE,
		.size			= sizeof(attr),
		.config			= PERF_COUNT_SW_DUMMY,
		.comm			= 1,
		.exclude_kernel		= 1,
		.exclude_hv		= 1,
		.write_backward		= 1,
		.watermark		= 1,
		.wakeup_watermark	= 1,
	};

	return attr;
}

/* The same written forward. It cannot be persistent: a full buffer takes no more. */
static inline struct perf_event_attr say_forward_attr(void)
{
	struct perf_event_attr attr = say_attr();

	attr.write_backward = 0;
	return attr;
}

/* At most 15 bytes of text. */
static inline void say(const char *text)
{
	prctl(PR_SET_NAME, text);
}

/* An event that samples, or counts, each page fault: touch_pages() makes them. */
static inline struct perf_event_attr fault_attr(__u64 period)
{
	struct perf_event_attr attr = {
		.type			= PERF_TYPE_SOFTWARE,
		.size			= sizeof(attr),
		.config			= PERF_COUNT_SW_PAGE_FAULTS,
		.sample_period		= period,
		.sample_type		= PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID,
		.exclude_kernel		= 1,
		.exclude_hv		= 1,
		.write_backward		= period ? 1 : 0,
	};

	return attr;
}

/*
 * The caller may open no event at all: perf_event_paranoid is 3, and 3 differs from 2
 * here.
 */
static inline bool locked_out(void)
{
	struct perf_event_attr attr = say_attr();
	int fd;

	fd = event_open(&attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd >= 0)
		close(fd);
	return fd == -EACCES;
}

static inline int counter_open(int cpu)
{
	struct perf_event_attr attr = fault_attr(0);

	return event_open(&attr, -1, cpu, -1, 0);
}

static inline void touch_pages(int n)
{
	size_t len = n * page_size();
	void *mem;

	mem = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mem == MAP_FAILED)
		return;
	madvise(mem, len, MADV_NOHUGEPAGE);
	memset(mem, 1, len);
	munmap(mem, len);
}

/*
 * A tracepoint that samples each system call on entry, or with filter_syscall() one of
 * them. Returns false if there is no such tracepoint.
 */
static inline bool syscall_attr(struct perf_event_attr *attr)
{
	static const char * const roots[] = {
		"/sys/kernel/tracing", "/sys/kernel/debug/tracing",
	};
	char path[128], text[32];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(roots); i++) {
		snprintf(path, sizeof(path), "%s/events/raw_syscalls/sys_enter/id", roots[i]);
		if (read_file(path, text, sizeof(text)) <= 0)
			continue;
		memset(attr, 0, sizeof(*attr));
		attr->type = PERF_TYPE_TRACEPOINT;
		attr->size = sizeof(*attr);
		attr->config = strtoull(text, NULL, 0);
		attr->sample_period = 1;
		attr->sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_RAW;
		attr->write_backward = 1;
		return true;
	}
	return false;
}

/* The kernel's function for a system call, as for a kprobe: SYSCALL_FUNC "getppid" */
#if defined(__x86_64__)
#define SYSCALL_FUNC	"__x64_sys_"
#elif defined(__i386__)
#define SYSCALL_FUNC	"__ia32_sys_"
#elif defined(__aarch64__)
#define SYSCALL_FUNC	"__arm64_sys_"
#elif defined(__s390x__)
#define SYSCALL_FUNC	"__s390x_sys_"
#elif defined(__riscv)
#define SYSCALL_FUNC	"__riscv_sys_"
#else
#define SYSCALL_FUNC	"sys_"
#endif

/* An event that samples each call of a function of the kernel */
static inline int kprobe_attr(struct perf_event_attr *attr, const char *func)
{
	char text[16];

	if (read_file("/sys/bus/event_source/devices/kprobe/type", text, sizeof(text)) <= 0)
		return -ENOENT;
	memset(attr, 0, sizeof(*attr));
	attr->type = atoi(text);
	attr->size = sizeof(*attr);
	attr->config1 = (unsigned long)func;
	attr->sample_period = 1;
	attr->sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID;
	attr->write_backward = 1;
	return 0;
}

static inline int filter_syscall(int fd, int nr)
{
	char filter[32];

	snprintf(filter, sizeof(filter), "id == %d", nr);
	return neg_errno(ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter));
}

static inline void call_getppid(int n)
{
	while (n--)
		syscall(SYS_getppid);
}

/* Buffers */

static inline size_t ring_len(int pages)
{
	return (1 + pages) * page_size();
}

static inline void *ring_map(int fd, int pages, int prot)
{
	return mmap(NULL, ring_len(pages), prot, MAP_SHARED, fd, 0);
}

/* Tries with two ordinary events, which nobody publishes. */
static inline bool maps_redirected(void)
{
	struct perf_event_attr attr = {
		.type		= PERF_TYPE_SOFTWARE,
		.config		= PERF_COUNT_SW_DUMMY,
		.size		= sizeof(attr),
		.exclude_kernel	= 1,
	};
	int fd = event_open(&attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	int fd2 = event_open(&attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	void *map = ring_map(fd, 1, PROT_READ), *map2 = MAP_FAILED;
	bool redirected;

	redirected = map != MAP_FAILED && !event_ioctl(fd2, PERF_EVENT_IOC_SET_OUTPUT, fd);
	if (redirected)
		map2 = ring_map(fd2, 1, PROT_READ);
	if (map != MAP_FAILED)
		munmap(map, ring_len(1));
	if (map2 != MAP_FAILED)
		munmap(map2, ring_len(1));
	close(fd);
	close(fd2);
	/* If that failed, let the test show what is wrong. */
	return !redirected || map2 != MAP_FAILED;
}

/* Some kernels do not map a buffer through an event that was redirected to it. */
static inline bool no_redirected_map(const void *map)
{
	return map == MAP_FAILED && !maps_redirected();
}

/* Returns -errno of an mmap() that must fail, 0 if it succeeded. */
static inline int ring_map_err(int fd, int pages, int prot)
{
	void *map = ring_map(fd, pages, prot);

	if (map == MAP_FAILED)
		return -errno;
	munmap(map, ring_len(pages));
	return 0;
}

typedef bool (*record_match)(const struct perf_event_header *hdr, const void *arg);

/*
 * Counts the records in a buffer that @match accepts, like a reader of a live buffer:
 * copy, ask how far the writers are, and drop records that they may have overwritten
 * meanwhile. @fd < 0: nobody writes any more.
 */
static inline int ring_count(int fd, const void *map, record_match match, const void *arg)
{
	const struct perf_event_mmap_page *page = map;
	static union {
		struct perf_event_header hdr;
		char bytes[1 << 16];
	} rec;
	const struct perf_event_header *hdr = &rec.hdr;
	__s64 size = page->data_size, pos, end;
	struct perf_event_persist_member p;
	int n = 0;
	char *copy;
	__s64 i;

	copy = malloc(size);
	if (!copy)
		return -ENOMEM;

	/* A buffer written backward counts down from 0. */
	pos = (long)__atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	memcpy(copy, (const char *)map + page->data_offset, size);
	if (pos < 0) {
		end = pos + size;
		if (fd >= 0 && !get_member(fd, &p))
			end = (long)p.head + size;
		if (end > 0)
			end = 0;
	} else {
		end = pos;
		pos = (long)page->data_tail;
	}

	while (pos + (__s64)sizeof(*hdr) <= end) {
		for (i = 0; i < (__s64)sizeof(*hdr); i++)
			rec.bytes[i] = copy[(pos + i) & (size - 1)];
		if (hdr->size < sizeof(*hdr) || pos + hdr->size > end)
			break;
		for (; i < hdr->size; i++)
			rec.bytes[i] = copy[(pos + i) & (size - 1)];
		if (match(hdr, arg))
			n++;
		pos += hdr->size;
	}
	free(copy);
	return n;
}

/* The text follows pid and tid. */
static inline bool match_said(const struct perf_event_header *hdr, const void *text)
{
	return hdr->type == PERF_RECORD_COMM &&
	       !strcmp((const char *)(hdr + 1) + 2 * sizeof(__u32), text);
}

/* Returns the number of records of say(@text). */
static inline int heard(int fd, const void *map, const char *text)
{
	return ring_count(fd, map, match_said, text);
}

/* Opens a member and returns how often @text is in its buffer. */
static inline int heard_in(__u64 ns, __u64 event, int cpu, const char *text)
{
	struct perf_event_persist_member p;
	void *map;
	int fd, n;

	fd = member_reopen(ns, event, cpu, 0);
	if (fd < 0)
		return fd;
	n = get_member(fd, &p);
	if (!n) {
		map = ring_map(fd, p.buffer_size / page_size(), PROT_READ);
		n = map == MAP_FAILED ? -errno : heard(fd, map, text);
		if (map != MAP_FAILED)
			munmap(map, p.buffer_size + page_size());
	}
	close(fd);
	return n;
}

/* The first fields of a sample: PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID */
struct sample_key {
	__u64	id;
	__u32	pid, tid;
};

static inline bool match_sample(const struct perf_event_header *hdr, const void *key)
{
	return hdr->type == PERF_RECORD_SAMPLE && !memcmp(hdr + 1, key, sizeof(struct sample_key));
}

/* Returns the number of samples of the caller that event @fd took. */
static inline int sampled(int fd, const void *map)
{
	struct sample_key key = { event_id(fd), getpid(), syscall(SYS_gettid) };

	return ring_count(fd, map, match_sample, &key);
}

/* An event, with the descriptor and the mapping of its creator */
struct member {
	int	fd;
	int	pages;
	void	*map;
};

/* Opens an event on @cpu with a buffer mapped for reading; @pages 0: without a buffer. */
static inline int member_open(struct member *m, struct perf_event_attr *attr, int cpu, int pages)
{
	int err;

	m->map = NULL;
	m->pages = pages;
	m->fd = event_open(attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (m->fd < 0)
		return m->fd;
	if (!pages)
		return 0;
	m->map = ring_map(m->fd, pages, PROT_READ);
	if (m->map != MAP_FAILED)
		return 0;
	err = -errno;
	close(m->fd);
	m->fd = -1;
	m->map = NULL;
	return err;
}

static inline void member_unmap(struct member *m)
{
	if (m->map)
		munmap(m->map, ring_len(m->pages));
	m->map = NULL;
}

static inline void member_close(struct member *m)
{
	member_unmap(m);
	close(m->fd);
	m->fd = -1;
}

/* Publishes a namespace with one member. The caller keeps it open and mapped. */
static inline int ns_create(struct member *m, struct perf_event_attr *attr, int cpu, int pages,
			    const char *name, __u64 *id)
{
	int err;

	err = member_open(m, attr, cpu, pages);
	if (err)
		return err;
	err = set_name_str(m->fd, name);
	if (!err)
		err = persist_new(m->fd, id);
	if (err)
		member_close(m);
	return err;
}

/* The same, but closes the member: a namespace whose creator is gone. */
static inline int ns_create_leave(struct perf_event_attr *attr, int cpu, int pages,
				  const char *name, __u64 *id)
{
	struct member m;
	int err;

	err = ns_create(&m, attr, cpu, pages, name, id);
	if (!err)
		member_close(&m);
	return err;
}

/* Returns what poll() would, without waiting. */
static inline short poll_now(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN | POLLPRI };

	return poll(&pfd, 1, 0) < 0 ? POLLNVAL : pfd.revents;
}

static inline int sys_bpf(int cmd, union bpf_attr *attr)
{
	return neg_errno(syscall(SYS_bpf, cmd, attr, sizeof(*attr)));
}

/* A BPF program for events that only returns @value: 0 drops the sample. */
static inline int bpf_prog_open_type(__u32 type, int value)
{
	struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = value },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr = {
		.prog_type	= type,
		.insn_cnt	= ARRAY_SIZE(insns),
		.insns		= (unsigned long)insns,
		.license	= (unsigned long)"GPL",
	};

	return sys_bpf(BPF_PROG_LOAD, &attr);
}

static inline int bpf_prog_open(int value)
{
	return bpf_prog_open_type(BPF_PROG_TYPE_PERF_EVENT, value);
}

/* Opens an event with an AUX area. Returns the error of the last PMU tried. */
static inline int aux_event_open(int cpu)
{
	/* The module aux_pmu provides the first one. */
	static const char * const pmus[] = {
		"kst_aux", "intel_pt", "intel_bts", "arm_spe_0", "cs_etm",
	};
	struct perf_event_attr attr = { .size = sizeof(attr), .write_backward = 1 };
	char path[128], text[32];
	int fd = -ENOENT;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(pmus) && fd < 0; i++) {
		snprintf(path, sizeof(path), PMU_DIR "/%s/type", pmus[i]);
		if (read_file(path, text, sizeof(text)) <= 0)
			continue;
		attr.type = atoi(text);
		fd = event_open(&attr, -1, cpu, -1, 0);
	}
	return fd;
}

/* Forks a child that does not outlive a failed test. */
static inline pid_t fork_child(void)
{
	pid_t parent = getpid(), pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* The parent may be dead by now. In a new pid namespace it is 0. */
		if (getppid() && getppid() != parent)
			_exit(1);
	}
	return pid;
}

/* Exit status of a child, or -1 when it was killed. */
static inline int child_status(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

#endif /* PERSISTENT_H */
