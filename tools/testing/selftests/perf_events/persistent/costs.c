// SPDX-License-Identifier: GPL-2.0
/*
 * Deleting a namespace ends what its events cost the system, such as probes, breakpoints
 * and BPF programs, whatever snapshots exist and whoever has them open or mapped. H25
 */
#include "persistent.h"

#include <linux/hw_breakpoint.h>

#define TRACING		"/sys/kernel/tracing"
#define PROBE		"kst_costs/probe"
#define PROBE_ID	TRACING "/events/" PROBE "/id"
#define PROBED		"do_sys_openat2"	/* by kprobe_events */
#define FUNC		SYSCALL_FUNC "getppid"	/* by the kprobe PMU */
#define FUNC_LISTED	"sys_getppid+"		/* whatever its prefix is */
#define MAX_STACK	"/proc/sys/kernel/perf_event_max_stack"
#define MAX_SLOTS	32

static int take_one(__u64 ns, __u64 *snap)
{
	int fd, err;

	fd = ns_open(ns, PERF_PERSIST_OPEN_WRITE);
	if (fd < 0)
		return fd;
	err = ns_snapshot(fd, snap);
	close(fd);
	return err;
}

/*
 * Each kind of cost has an event that causes it, and a check whether anything still does.
 * Their state is in these variables, as each test is a process.
 */
static int cost_cpu, nr_slots;
static __u32 prog_id;

/* A probe cannot be removed while an event uses it. */
static int add_probe(void)
{
	return write_file(TRACING "/kprobe_events", "p:" PROBE " " PROBED);
}

static int remove_probe(void)
{
	return write_file(TRACING "/kprobe_events", "-:" PROBE);
}

static int probe_attr(struct perf_event_attr *attr)
{
	char text[16];

	if (add_probe() || read_file(PROBE_ID, text, sizeof(text)) <= 0)
		return -ENOENT;
	*attr = (struct perf_event_attr) {
		.type		= PERF_TYPE_TRACEPOINT,
		.size		= sizeof(*attr),
		.config		= atoi(text),
		.sample_period	= 1,
		.sample_type	= PERF_SAMPLE_RAW,
		.write_backward	= 1,
	};
	return 0;
}

static bool probe_used(void)
{
	if (remove_probe())
		return true;
	add_probe();
	return false;
}

static int func_attr(struct perf_event_attr *attr)
{
	return kprobe_attr(attr, FUNC);
}

static bool func_used(void)
{
	static char text[1 << 16];

	read_file("/sys/kernel/debug/kprobes/list", text, sizeof(text));
	return strstr(text, FUNC_LISTED);
}

static struct perf_event_attr breakpoint(void *at)
{
	return (struct perf_event_attr) {
		.type		= PERF_TYPE_BREAKPOINT,
		.size		= sizeof(struct perf_event_attr),
		.bp_addr	= (unsigned long)at,
		.bp_type	= HW_BREAKPOINT_W,
		.bp_len		= HW_BREAKPOINT_LEN_4,
		.sample_period	= 1,
		.exclude_kernel	= 1,
		.write_backward	= 1,
	};
}

/* Returns the number of breakpoints that the CPU has left. */
static int count_slots(void)
{
	struct perf_event_attr attr = breakpoint(&prog_id);
	int fds[MAX_SLOTS], i, n = 0;

	while (n < MAX_SLOTS && (fds[n] = event_open(&attr, -1, cost_cpu, -1, 0)) >= 0)
		n++;
	for (i = 0; i < n; i++)
		close(fds[i]);
	return n;
}

static int breakpoint_attr(struct perf_event_attr *attr)
{
	*attr = breakpoint(&nr_slots);
	nr_slots = count_slots();
	return nr_slots ? 0 : -ENOENT;
}

static bool breakpoint_used(void)
{
	return count_slots() < nr_slots;
}

static int set_prog(int fd, __u32 type)
{
	struct bpf_prog_info info = {};
	union bpf_attr attr = {};
	int prog, err;

	prog = bpf_prog_open_type(type, 1);
	if (prog < 0)
		return prog;
	attr.info.bpf_fd = prog;
	attr.info.info_len = sizeof(info);
	attr.info.info = (unsigned long)&info;
	err = sys_bpf(BPF_OBJ_GET_INFO_BY_FD, &attr);
	if (!err)
		err = event_ioctl(fd, PERF_EVENT_IOC_SET_BPF, prog);
	close(prog);
	prog_id = info.id;
	return err;
}

static bool prog_used(void)
{
	union bpf_attr attr = { .prog_id = prog_id };
	int fd;

	fd = prog_id ? sys_bpf(BPF_PROG_GET_FD_BY_ID, &attr) : -ENOENT;
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static int tp_attr(struct perf_event_attr *attr)
{
	return syscall_attr(attr) ? 0 : -ENOENT;
}

static int tp_prog(int fd)
{
	return set_prog(fd, BPF_PROG_TYPE_TRACEPOINT);
}

static int clock_attr(struct perf_event_attr *attr)
{
	*attr = (struct perf_event_attr) {
		.type		= PERF_TYPE_SOFTWARE,
		.size		= sizeof(*attr),
		.config		= PERF_COUNT_SW_CPU_CLOCK,
		.freq		= 1,
		.sample_freq	= 100,
		.sample_type	= PERF_SAMPLE_IP,
		.write_backward	= 1,
	};
	return 0;
}

static int event_prog(int fd)
{
	return set_prog(fd, BPF_PROG_TYPE_PERF_EVENT);
}

/* The size of call chains cannot be changed while an event records them. */
static int callchain_attr(struct perf_event_attr *attr)
{
	clock_attr(attr);
	attr->sample_type |= PERF_SAMPLE_CALLCHAIN;
	return 0;
}

static bool callchain_used(void)
{
	char text[16];

	return read_file(MAX_STACK, text, sizeof(text)) <= 0 || write_file(MAX_STACK, text);
}

/* An event holds the module of its PMU. */
static int pmu_attr(struct perf_event_attr *attr)
{
	char text[16];

	if (read_file(PMU_DIR "/kst_plain/type", text, sizeof(text)) <= 0)
		return -ENOENT;
	*attr = (struct perf_event_attr) {
		.type		= atoi(text),
		.size		= sizeof(*attr),
		.write_backward	= 1,
	};
	return 0;
}

static bool pmu_used(void)
{
	char text[16];

	return read_file("/sys/module/aux_pmu/refcnt", text, sizeof(text)) <= 0 || atoi(text);
}

FIXTURE(costs)
{
	char	ns[NS_ROOM];
	int	cpu, cpu2;
};

FIXTURE_VARIANT(costs)
{
	int	(*attr)(struct perf_event_attr *attr);
	int	(*set)(int fd);
	bool	(*used)(void);
};

FIXTURE_VARIANT_ADD(costs, tracepoint)
{
	.attr = probe_attr,
	.used = probe_used,
};

FIXTURE_VARIANT_ADD(costs, kprobe)
{
	.attr = func_attr,
	.used = func_used,
};

FIXTURE_VARIANT_ADD(costs, breakpoint)
{
	.attr = breakpoint_attr,
	.used = breakpoint_used,
};

FIXTURE_VARIANT_ADD(costs, callchain)
{
	.attr = callchain_attr,
	.used = callchain_used,
};

FIXTURE_VARIANT_ADD(costs, module)
{
	.attr = pmu_attr,
	.used = pmu_used,
};

FIXTURE_VARIANT_ADD(costs, program_of_tracepoint)
{
	.attr = tp_attr,
	.set = tp_prog,
	.used = prog_used,
};

FIXTURE_VARIANT_ADD(costs, program_of_event)
{
	.attr = clock_attr,
	.set = event_prog,
	.used = prog_used,
};

FIXTURE_SETUP(costs)
{
	const char *missing;

	missing = persist_begin(self->ns, &self->cpu, &self->cpu2);
	if (missing)
		SKIP(return, "%s", missing);
	cost_cpu = self->cpu;
}

FIXTURE_TEARDOWN_PARENT(costs)
{
	persist_sweep();
	remove_probe();
}

/* A deleted event cannot be changed, but still tells what is known of it. */
static void poke(struct __test_metadata *_metadata, int fd, int cpu)
{
	struct perf_event_attr attr = say_attr(), bp = breakpoint(&cost_cpu);
	struct perf_event_query_bpf query = {};
	struct perf_event_persist_member p;
	__u64 values[8], period = 7;
	int other, prog;

	bp.disabled = 1;
	EXPECT_EQ(-ENODEV, event_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0));
	EXPECT_EQ(-ENODEV, event_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0));
	EXPECT_EQ(-ENODEV, event_ioctl(fd, PERF_EVENT_IOC_REFRESH, 1));
	EXPECT_EQ(-ENODEV, event_ioctl(fd, PERF_EVENT_IOC_RESET, 0));
	EXPECT_EQ(-ENODEV, event_ioctl(fd, PERF_EVENT_IOC_PERIOD, (unsigned long)&period));
	EXPECT_EQ(-ENODEV, filter_syscall(fd, SYS_getppid));
	EXPECT_EQ(-ENODEV, event_ioctl(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, (unsigned long)&bp));
	EXPECT_EQ(-ENODEV, event_ioctl(fd, PERF_EVENT_IOC_QUERY_BPF, (unsigned long)&query));
	EXPECT_EQ(-ENODEV, event_ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, -1));
	prog = bpf_prog_open(1);
	if (prog >= 0) {
		union bpf_attr create = {
			.link_create = {
				.prog_fd	= prog,
				.target_fd	= fd,
				.attach_type	= BPF_PERF_EVENT,
			},
		};

		EXPECT_EQ(-ENODEV, event_ioctl(fd, PERF_EVENT_IOC_SET_BPF, prog));
		EXPECT_EQ(-ENODEV, sys_bpf(BPF_LINK_CREATE, &create));
		close(prog);
	}
	EXPECT_EQ(-ENODEV, ring_map_err(fd, PAGES, PROT_READ));
	EXPECT_GT(0, event_open(&attr, -1, cpu, fd, 0));
	EXPECT_GT(0, event_open(&attr, -1, cpu, fd, PERF_FLAG_FD_OUTPUT | PERF_FLAG_FD_NO_GROUP));
	other = event_open(&attr, -1, cpu, -1, 0);
	ASSERT_LE(0, other);
	/* May succeed: the buffer is still there if a reader has it mapped. */
	event_ioctl(other, PERF_EVENT_IOC_SET_OUTPUT, fd);
	close(other);

	EXPECT_EQ(POLLHUP, poll_now(fd) & POLLHUP);
	EXPECT_NE(0, event_id(fd));
	EXPECT_EQ(0, get_member(fd, &p));
	EXPECT_NE(0, p.flags & PERF_PERSIST_DISABLED);
	EXPECT_LT(0, read(fd, values, sizeof(values)));
	EXPECT_EQ(0, fcntl(fd, F_SETOWN, getpid()));
	/* O_ASYNC makes each sample cost more: readers must not set it. */
	EXPECT_EQ(fcntl(fd, F_GETFL) & O_RDWR ? 0 : -1, fcntl(fd, F_SETFL, O_ASYNC));
}

/* Deleting ends the cost, with descriptors and mappings of live members and of a snapshot. */
TEST_F(costs, deleted)
{
	struct perf_event_attr attr, told = {};
	int reader, writer, old_reader, again;
	struct perf_event_persist_member p = {};
	struct member m;
	__u64 id, snap;
	void *map, *old;

	if (variant->attr(&attr))
		SKIP(return, "no such events here");
	if (variant->used())
		SKIP(return, "something else has them");
	ASSERT_EQ(0, member_open(&m, &attr, self->cpu, PAGES));
	if (variant->set && variant->set(m.fd))
		SKIP(return, "no BPF");
	ASSERT_EQ(0, set_name_str(m.fd, self->ns));
	ASSERT_EQ(0, persist_new(m.fd, &id));
	member_close(&m);
	reader = member_reopen(id, 0, self->cpu, 0);
	writer = member_reopen(id, 0, self->cpu, PERF_PERSIST_OPEN_WRITE);
	ASSERT_LE(0, reader);
	ASSERT_LE(0, writer);
	map = ring_map(reader, PAGES, PROT_READ);
	ASSERT_NE(MAP_FAILED, map);
	ASSERT_EQ(0, take_one(id, &snap));
	old_reader = member_reopen(snap, 0, self->cpu, 0);
	ASSERT_LE(0, old_reader);
	old = ring_map(old_reader, PAGES, PROT_READ);
	ASSERT_NE(MAP_FAILED, old);
	EXPECT_TRUE(variant->used());

	ASSERT_EQ(0, ns_kill(id));
	EXPECT_FALSE(variant->used());
	EXPECT_EQ(1, ns_count(snap));

	poke(_metadata, writer, self->cpu);
	EXPECT_EQ(-EACCES, event_ioctl(reader, PERF_EVENT_IOC_ENABLE, 0));
	EXPECT_FALSE(variant->used());

	/* The rights to open the snapshot are the same as before, and it still has the attr. */
	again = member_reopen(snap, 0, self->cpu, 0);
	ASSERT_LE(0, again);
	p.size = sizeof(p);
	p.attr = (unsigned long)&told;
	p.attr_size = sizeof(told);
	ASSERT_EQ(0, neg_errno(ioctl(again, PERF_EVENT_IOC_GET_MEMBER, &p)));
	EXPECT_EQ(attr.type, told.type);
	EXPECT_EQ(attr.sample_type, told.sample_type);
	EXPECT_EQ(0, ring_map_err(again, PAGES, PROT_READ));
	close(again);

	/* Close in the order that makes dangling references show. */
	EXPECT_EQ(0, munmap(map, ring_len(PAGES)));
	close(reader);
	close(writer);
	EXPECT_EQ(0, ns_kill(snap));
	EXPECT_EQ(0, munmap(old, ring_len(PAGES)));
	close(old_reader);
	EXPECT_FALSE(variant->used());
}

/* Claiming and closing ends the cost as well: only a snapshot is left. */
TEST_F(costs, claimed)
{
	struct perf_event_attr attr;
	struct member m;
	__u64 id, snap;

	if (variant->attr(&attr))
		SKIP(return, "no such events here");
	if (variant->used())
		SKIP(return, "something else has them");
	ASSERT_EQ(0, member_open(&m, &attr, self->cpu, PAGES));
	if (variant->set && variant->set(m.fd))
		SKIP(return, "no BPF");
	ASSERT_EQ(0, set_name_str(m.fd, self->ns));
	ASSERT_EQ(0, persist_new(m.fd, &id));
	ASSERT_EQ(0, take_one(id, &snap));
	ASSERT_EQ(0, persist_claim(m.fd));
	EXPECT_TRUE(variant->used());
	member_close(&m);
	EXPECT_FALSE(variant->used());
	EXPECT_EQ(1, ns_count(snap));
	EXPECT_EQ(0, ns_kill(snap));
}

/* A BPF link outlives the deleted event, and tells nothing about it any more. */
TEST(bpf_link)
{
	struct bpf_link_info info = {};
	union bpf_attr create = {}, query = {}, by_fd = {};
	struct perf_event_attr attr;
	int cpu, cpu2, prog, link;
	char ns[NS_ROOM], name[64];
	const char *missing;
	struct member m;
	__u64 id;

	missing = persist_begin(ns, &cpu, &cpu2);
	if (missing)
		SKIP(return, "%s", missing);
	if (kprobe_attr(&attr, FUNC))
		SKIP(return, "no kprobes");
	prog = bpf_prog_open_type(BPF_PROG_TYPE_KPROBE, 1);
	if (prog < 0)
		SKIP(return, "no BPF");
	ASSERT_EQ(0, ns_create(&m, &attr, cpu, PAGES, ns, &id));
	create.link_create.prog_fd = prog;
	create.link_create.target_fd = m.fd;
	create.link_create.attach_type = BPF_PERF_EVENT;
	link = sys_bpf(BPF_LINK_CREATE, &create);
	ASSERT_LE(0, link);
	query.info.bpf_fd = link;
	query.info.info_len = sizeof(info);
	query.info.info = (unsigned long)&info;
	info.perf_event.kprobe.func_name = (unsigned long)name;
	info.perf_event.kprobe.name_len = sizeof(name);
	EXPECT_EQ(0, sys_bpf(BPF_OBJ_GET_INFO_BY_FD, &query));
	EXPECT_EQ(BPF_PERF_EVENT_KPROBE, info.perf_event.type);
	EXPECT_STREQ(FUNC, name);
	by_fd.task_fd_query.pid = getpid();
	by_fd.task_fd_query.fd = m.fd;
	by_fd.task_fd_query.buf = (unsigned long)name;
	by_fd.task_fd_query.buf_len = sizeof(name);
	memset(name, 0, sizeof(name));
	EXPECT_EQ(0, sys_bpf(BPF_TASK_FD_QUERY, &by_fd));
	EXPECT_EQ(BPF_FD_TYPE_KPROBE, by_fd.task_fd_query.fd_type);
	EXPECT_STREQ(FUNC, name);
	EXPECT_TRUE(func_used());

	ASSERT_EQ(0, ns_kill(id));
	EXPECT_FALSE(func_used());
	EXPECT_EQ(-ENOENT, sys_bpf(BPF_OBJ_GET_INFO_BY_FD, &query));
	EXPECT_EQ(-ENOENT, sys_bpf(BPF_TASK_FD_QUERY, &by_fd));
	close(link);
	close(prog);
	member_close(&m);
}

TEST_HARNESS_MAIN
