// SPDX-License-Identifier: GPL-2.0
/*
 * What members record and report: samples, filters, programs, cgroups, and the
 * description that GET_MEMBER gives of them.
 */
#include "persistent.h"

#include <time.h>

FIXTURE(record)
{
	char	ns[NS_ROOM];
	int	cpu, cpu2;
	char	cgroup[512];
};

FIXTURE_SETUP(record)
{
	const char *missing;

	missing = persist_begin(self->ns, &self->cpu, &self->cpu2);
	if (missing)
		SKIP(return, "%s", missing);
}

FIXTURE_TEARDOWN_PARENT(record)
{
	persist_sweep();
	if (self->cgroup[0])
		rmdir(self->cgroup);
}

static __u64 now_boottime(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static int get_attr(int fd, struct perf_event_persist_member *p, struct perf_event_attr *attr)
{
	memset(attr, 0xff, sizeof(*attr));
	memset(p, 0, sizeof(*p));
	p->size = sizeof(*p);
	p->attr = (unsigned long)attr;
	p->attr_size = sizeof(*attr);
	return event_ioctl(fd, PERF_EVENT_IOC_GET_MEMBER, (unsigned long)p);
}

/* N system calls are N samples, with a filter, and when the creator is long gone. H1 */
TEST_F(record, tracepoint_with_filter)
{
	struct perf_event_attr attr;
	struct member m;
	__u64 id, other;
	void *map;
	pid_t pid;
	int fd;

	if (!syscall_attr(&attr))
		SKIP(return, "no tracepoint raw_syscalls:sys_enter");
	pid = fork_child();
	ASSERT_LE(0, pid);
	if (!pid) {
		attr.disabled = 1;
		if (member_open(&m, &attr, self->cpu, PAGES) ||
		    filter_syscall(m.fd, SYS_getppid) ||
		    event_ioctl(m.fd, PERF_EVENT_IOC_ENABLE, 0) ||
		    set_name(m.fd, "%s/raw_syscalls:sys_enter", self->ns) ||
		    persist_new(m.fd, &id))
			_exit(1);
		_exit(0);
	}
	ASSERT_EQ(0, child_status(pid));

	id = ns_lookup(self->ns);
	fd = member_reopen(id, 0, self->cpu, 0);
	ASSERT_LE(0, fd);
	call_getppid(100);
	map = ring_map(fd, PAGES, PROT_READ);
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(100, sampled(fd, map));
	call_getppid(23);
	EXPECT_EQ(123, sampled(fd, map));

	/* A second event of the same tracepoint has its own filter. */
	attr.disabled = 1;
	ASSERT_EQ(0, member_open(&m, &attr, self->cpu, PAGES));
	ASSERT_EQ(0, filter_syscall(m.fd, SYS_getuid));
	ASSERT_EQ(0, event_ioctl(m.fd, PERF_EVENT_IOC_ENABLE, 0));
	ASSERT_EQ(0, persist_join(m.fd, id));
	other = event_id(m.fd);
	syscall(SYS_getuid);
	call_getppid(1);
	EXPECT_NE(other, event_id(fd));
	EXPECT_EQ(1, sampled(m.fd, m.map));
	EXPECT_EQ(124, sampled(fd, map));
}

/* A process with write access can change the filter. */
TEST_F(record, new_filter)
{
	struct perf_event_attr attr;
	int writer;
	void *map;
	__u64 id;

	if (!syscall_attr(&attr))
		SKIP(return, "no tracepoint raw_syscalls:sys_enter");
	attr.disabled = 1;
	ASSERT_EQ(0, ns_create_leave(&attr, self->cpu, PAGES, self->ns, &id));
	writer = member_reopen(id, 0, self->cpu, PERF_PERSIST_OPEN_WRITE);
	ASSERT_LE(0, writer);
	map = ring_map(writer, PAGES, PROT_READ);
	ASSERT_NE(MAP_FAILED, map);
	ASSERT_EQ(0, filter_syscall(writer, SYS_getppid));
	call_getppid(5);
	EXPECT_EQ(0, sampled(writer, map));
	ASSERT_EQ(0, event_ioctl(writer, PERF_EVENT_IOC_ENABLE, 0));
	call_getppid(7);
	EXPECT_EQ(7, sampled(writer, map));
}

/* A counting tracepoint counts while nobody has it open. */
TEST_F(record, tracepoint_counts)
{
	struct perf_event_attr attr;
	struct member m;
	__u64 id, count;
	int fd;

	if (!syscall_attr(&attr))
		SKIP(return, "no tracepoint raw_syscalls:sys_enter");
	attr.sample_period = 0;
	attr.sample_type = 0;
	attr.write_backward = 0;
	ASSERT_EQ(0, ns_create(&m, &attr, self->cpu, 0, self->ns, &id));
	member_close(&m);
	call_getppid(1000);
	fd = member_reopen(id, 0, self->cpu, 0);
	ASSERT_LE(0, fd);
	ASSERT_EQ((ssize_t)sizeof(count), read(fd, &count, sizeof(count)));
	EXPECT_LE(1000, count);
}

/* A sampling event goes on sampling. This one is driven by a timer interrupt. */
TEST_F(record, cpu_clock)
{
	struct perf_event_attr attr = fault_attr(100000);
	int fd, had, samples = 0;
	unsigned long spins;
	void *map;
	__u64 id;

	attr.config = PERF_COUNT_SW_CPU_CLOCK;
	ASSERT_EQ(0, ns_create_leave(&attr, self->cpu, PAGES, self->ns, &id));
	fd = member_reopen(id, 0, self->cpu, 0);
	ASSERT_LE(0, fd);
	map = ring_map(fd, PAGES, PROT_READ);
	ASSERT_NE(MAP_FAILED, map);
	had = sampled(fd, map);
	for (spins = 0; spins < 10000 && samples < had + 3; spins++)
		samples = sampled(fd, map);
	EXPECT_LE(had + 3, samples);
}

/* Delete while events overflow as fast as they can: nothing fires afterwards. H12 */
TEST_F(record, delete_while_sampling)
{
	struct perf_event_attr attr[] = { fault_attr(1), fault_attr(10000), fault_attr(1) };
	struct perf_event_mmap_page *page;
	struct member m[ARRAY_SIZE(attr)];
	unsigned int i, n, round;
	__u64 id, head;

	attr[1].config = PERF_COUNT_SW_CPU_CLOCK;
	n = syscall_attr(&attr[2]) ? 3 : 2;
	for (round = 0; round < 5; round++) {
		for (i = 0; i < n; i++) {
			ASSERT_EQ(0, member_open(&m[i], &attr[i], self->cpu, 1));
			ASSERT_EQ(0, i ? persist_join(m[i].fd, id) : persist_new(m[i].fd, &id));
		}
		ASSERT_EQ(0, set_name(m[0].fd, "%s", self->ns));
		touch_pages(64);
		ASSERT_EQ(0, ns_kill(id));
		for (i = 0; i < n; i++) {
			page = m[i].map;
			head = page->data_head;
			touch_pages(64);
			EXPECT_EQ(head, page->data_head);
			member_close(&m[i]);
		}
	}
}

/* The description of a member, complete. */
TEST_F(record, description)
{
	struct perf_event_attr attr = say_attr();
	__u64 id, before, after, event;
	struct perf_event_persist_member p;
	struct perf_event_persist info;
	char name[NAME_ROOM];
	struct member m;
	int fd;

	say("the owner");
	snprintf(name, sizeof(name), "%s/dummy:u", self->ns);
	before = now_boottime();
	ASSERT_EQ(0, ns_create(&m, &attr, self->cpu, PAGES, name, &id));
	after = now_boottime();
	event = event_id(m.fd);
	member_close(&m);
	say("the reader");

	fd = member_reopen(id, 0, self->cpu, 0);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, get_member(fd, &p));
	ASSERT_EQ(0, get_persist(fd, &info));
	EXPECT_EQ(PERF_EVENT_PERSIST_MEMBER_SIZE_VER0, p.size);
	EXPECT_EQ(PERF_EVENT_PERSIST_SIZE_VER0, info.size);
	EXPECT_EQ(0, p.flags);
	EXPECT_EQ(id, info.ns_id);
	EXPECT_EQ(event, p.event_id);
	EXPECT_EQ(event, p.output_id);
	EXPECT_EQ(PAGES * page_size(), p.buffer_size);
	EXPECT_EQ(0, p.lost);
	EXPECT_LE(before, info.created_ns);
	EXPECT_GE(after, info.created_ns);
	EXPECT_EQ(0, p.cgroup_id);
	EXPECT_EQ(self->cpu, p.cpu);
	EXPECT_EQ(geteuid(), info.owner_uid);
	EXPECT_STREQ("the owner", info.owner_comm);
	EXPECT_STREQ(self->ns, info.name);
	EXPECT_STREQ("dummy:u", p.label);
	EXPECT_EQ(0, p.attr_size);
	EXPECT_EQ(0, p.attr);
}

/* The attr comes back as its creator passed it, whatever drivers made of it. */
TEST_F(record, attr)
{
	struct perf_event_attr attr = fault_attr(0), back;
	struct perf_event_persist_member p;
	struct member m;
	int fd, ns;
	__u64 id;

	/* cpu-clock gets another type inside the kernel, and its freq becomes a period. */
	attr.config = PERF_COUNT_SW_CPU_CLOCK;
	attr.freq = 1;
	attr.sample_freq = 99;
	attr.write_backward = 1;
	attr.sample_id_all = 1;
	attr.read_format = PERF_FORMAT_ID | PERF_FORMAT_LOST;
	attr.sample_max_stack = 16;
	attr.config2 = 0;
	ASSERT_EQ(0, ns_create(&m, &attr, self->cpu, PAGES, self->ns, &id));

	ASSERT_EQ(0, get_attr(m.fd, &p, &back));
	EXPECT_EQ(sizeof(back), p.attr_size);
	EXPECT_EQ(p.attr_size, back.size);
	EXPECT_EQ(PERF_TYPE_SOFTWARE, back.type);
	EXPECT_EQ(PERF_COUNT_SW_CPU_CLOCK, back.config);
	EXPECT_TRUE(!!back.freq);
	EXPECT_EQ(99, back.sample_freq);
	EXPECT_EQ(0, memcmp(&attr, &back, sizeof(attr)));

	/* The same for a reader, and from the listing. */
	fd = member_reopen(id, 0, self->cpu, 0);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, get_attr(fd, &p, &back));
	EXPECT_EQ(0, memcmp(&attr, &back, sizeof(attr)));
	ns = ns_open(id, 0);
	ASSERT_LE(0, ns);
	ASSERT_EQ(0, get_attr(ns, &p, &back));
	EXPECT_EQ(0, memcmp(&attr, &back, sizeof(attr)));
	EXPECT_EQ(0, p.flags & PERF_PERSIST_ATTR_WITHHELD);
}

/* The returned attr opens the same event once more. */
TEST_F(record, attr_opens_another)
{
	struct perf_event_attr attr = say_attr(), back;
	struct perf_event_persist_member p;
	struct member m;
	__u64 id;

	ASSERT_EQ(0, ns_create(&m, &attr, self->cpu, PAGES, self->ns, &id));
	ASSERT_EQ(0, get_attr(m.fd, &p, &back));
	ASSERT_EQ(0, member_open(&m, &back, self->cpu, PAGES));
	ASSERT_EQ(0, persist_join(m.fd, id));
	say("copy");
	EXPECT_EQ(1, heard(m.fd, m.map, "copy"));
}

/* The returned attr has the current period. */
TEST_F(record, attr_has_current_period)
{
	struct perf_event_attr attr = fault_attr(1000), back;
	struct perf_event_persist_member p;
	__u64 id, period = 2000;
	int writer, reader;

	ASSERT_EQ(0, ns_create_leave(&attr, self->cpu, PAGES, self->ns, &id));
	writer = member_reopen(id, 0, self->cpu, PERF_PERSIST_OPEN_WRITE);
	reader = member_reopen(id, 0, self->cpu, 0);
	ASSERT_EQ(0, get_attr(reader, &p, &back));
	EXPECT_EQ(1000, back.sample_period);
	ASSERT_EQ(0, event_ioctl(writer, PERF_EVENT_IOC_PERIOD, (unsigned long)&period));
	ASSERT_EQ(0, get_attr(reader, &p, &back));
	EXPECT_EQ(2000, back.sample_period);
}

/* Addresses in an attr mean something to the creator alone, and are not returned. */
TEST_F(record, attr_has_no_pointers)
{
	struct perf_event_attr attr = { .size = sizeof(attr) }, back;
	static const char function[] = "kernel_clone";
	struct perf_event_persist_member p;
	char text[32];
	__u64 id;
	int fd;

	if (read_file(PMU_DIR "/kprobe/type", text, sizeof(text)) <= 0)
		SKIP(return, "no kprobe events");
	attr.type = atoi(text);
	attr.kprobe_func = (unsigned long)function;
	fd = event_open(&attr, -1, self->cpu, -1, 0);
	if (fd < 0)
		SKIP(return, "no kprobe on %s: %s", function, strerror(-fd));
	ASSERT_EQ(0, set_name(fd, "%s", self->ns));
	ASSERT_EQ(0, persist_new(fd, &id));
	ASSERT_EQ(0, get_attr(fd, &p, &back));
	EXPECT_EQ(attr.type, back.type);
	EXPECT_EQ(0, back.kprobe_func);
	close(fd);
	fd = member_reopen(id, 0, self->cpu, 0);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, get_attr(fd, &p, &back));
	EXPECT_EQ(0, back.kprobe_func);
}

/* A BPF program stays attached, and goes on to decide which samples are kept. */
TEST_F(record, bpf_stays_attached)
{
	struct perf_event_attr attr = fault_attr(1);
	struct member m[2];
	int prog, fd, i;
	__u64 id, event[2], count;
	void *map;

	attr.disabled = 1;
	for (i = 0; i < 2; i++) {
		prog = bpf_prog_open(i);
		if (prog < 0)
			SKIP(return, "no BPF programs: %s", strerror(-prog));
		ASSERT_EQ(0, member_open(&m[i], &attr, self->cpu, PAGES));
		event[i] = event_id(m[i].fd);
		ASSERT_EQ(0, event_ioctl(m[i].fd, PERF_EVENT_IOC_SET_BPF, prog));
		ASSERT_EQ(0, event_ioctl(m[i].fd, PERF_EVENT_IOC_ENABLE, 0));
		close(prog);
	}
	ASSERT_EQ(0, persist_new(m[0].fd, &id));
	ASSERT_EQ(0, persist_join(m[1].fd, id));
	ASSERT_EQ(0, set_name(m[0].fd, "%s", self->ns));
	member_close(&m[0]);
	member_close(&m[1]);

	touch_pages(32);
	for (i = 0; i < 2; i++) {
		fd = member_reopen(id, event[i], -1, 0);
		ASSERT_LE(0, fd);
		map = ring_map(fd, PAGES, PROT_READ);
		ASSERT_NE(MAP_FAILED, map);
		ASSERT_EQ((ssize_t)sizeof(count), read(fd, &count, sizeof(count)));
		EXPECT_LE(32, count);
		EXPECT_TRUE(i ? sampled(fd, map) >= 32 : sampled(fd, map) == 0)
			TH_LOG("program %d: %d samples", i, sampled(fd, map));
	}
}

/* perf_event is on in every cgroup, but only once some other controller is. */
static void enable_controllers(const char *root)
{
	char path[300], names[256], line[64], *name;

	snprintf(path, sizeof(path), "%s/cgroup.controllers", root);
	if (read_file(path, names, sizeof(names)) <= 0)
		return;
	snprintf(path, sizeof(path), "%s/cgroup.subtree_control", root);
	for (name = strtok(names, "\n "); name; name = strtok(NULL, "\n ")) {
		snprintf(line, sizeof(line), "+%s", name);
		if (write_file(path, line))
			continue;
		snprintf(line, sizeof(line), "-%s", name);
		write_file(path, line);
	}
}

static int join_cgroup(const char *cgroup)
{
	char path[600], pid[16];

	snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup);
	snprintf(pid, sizeof(pid), "%d", getpid());
	return write_file(path, pid);
}

/* An event of a cgroup records the cgroup's tasks only, tells which cgroup, and keeps it. */
TEST_F(record, cgroup)
{
	struct perf_event_attr attr = say_attr();
	struct perf_event_persist_member p;
	char root[256], type[32];
	struct member m;
	struct stat st;
	int fd, dir;
	FILE *mounts;
	pid_t pid;
	__u64 id;

	mounts = fopen("/proc/self/mounts", "r");
	ASSERT_NE(NULL, mounts);
	type[0] = '\0';
	while (strcmp(type, "cgroup2") &&
	       fscanf(mounts, "%*s %255s %31s %*[^\n]", root, type) == 2)
		;
	fclose(mounts);
	if (strcmp(type, "cgroup2"))
		SKIP(return, "no cgroup2 file system mounted");
	snprintf(self->cgroup, sizeof(self->cgroup), "%s/%s", root, self->ns);
	if (mkdir(self->cgroup, 0755))
		SKIP(return, "cannot make a cgroup: %s", strerror(errno));
	dir = open(self->cgroup, O_RDONLY | O_DIRECTORY);
	ASSERT_LE(0, dir);
	ASSERT_EQ(0, fstat(dir, &st));
	m.fd = event_open(&attr, dir, self->cpu, -1, PERF_FLAG_PID_CGROUP);
	if (m.fd == -ENOENT) {
		enable_controllers(root);
		m.fd = event_open(&attr, dir, self->cpu, -1, PERF_FLAG_PID_CGROUP);
	}
	if (m.fd < 0)
		SKIP(return, "no events for cgroups: %s", strerror(-m.fd));
	ASSERT_NE(MAP_FAILED, ring_map(m.fd, PAGES, PROT_READ));
	ASSERT_EQ(0, set_name(m.fd, "%s", self->ns));
	ASSERT_EQ(0, persist_new(m.fd, &id));
	close(m.fd);
	close(dir);

	fd = member_reopen(id, 0, self->cpu, 0);
	ASSERT_LE(0, fd);
	m.map = ring_map(fd, PAGES, PROT_READ);
	ASSERT_NE(MAP_FAILED, m.map);
	ASSERT_EQ(0, get_member(fd, &p));
	EXPECT_EQ(st.st_ino, p.cgroup_id);

	say("outside");
	pid = fork_child();
	ASSERT_LE(0, pid);
	if (!pid) {
		if (join_cgroup(self->cgroup))
			_exit(1);
		say("inside");
		_exit(0);
	}
	ASSERT_EQ(0, child_status(pid));
	EXPECT_EQ(0, heard(fd, m.map, "outside"));
	EXPECT_EQ(1, heard(fd, m.map, "inside"));

	/* The cgroup can be removed. The member still tells which one it was. */
	EXPECT_EQ(0, rmdir(self->cgroup));
	self->cgroup[0] = '\0';
	ASSERT_EQ(0, get_member(fd, &p));
	EXPECT_EQ(st.st_ino, p.cgroup_id);
	EXPECT_EQ(1, heard(fd, m.map, "inside"));
}

TEST_HARNESS_MAIN
