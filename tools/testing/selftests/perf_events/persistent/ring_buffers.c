// SPDX-License-Identifier: GPL-2.0
/*
 * /proc/PID/perf/ring-buffers shows the buffers of events that a process has open. It
 * must cope with whatever users write to mapped buffers, and show nothing to a user who
 * may not see it.
 *
 * RING_ROUNDS in the environment: how often a buffer is filled with nonsense and read.
 */
#include "persistent.h"

#include <sys/random.h>
#include <sys/socket.h>

#define ROUNDS		300
#define READS		1000
#define KPTR_RESTRICT	"/proc/sys/kernel/kptr_restrict"
#define CALLS		"raw_syscalls:sys_enter: id="
#define TEXT_ROOM	(1024 * 1024)

FIXTURE(ring_buffers)
{
	struct perf_event_attr attr;
	char kptr_restrict[16];
	char dir[64];
	char *text;
	int rounds;
};

FIXTURE_SETUP(ring_buffers)
{
	const char *rounds = getenv("RING_ROUNDS");

	if (access("/proc/self/perf/ring-buffers", R_OK))
		SKIP(return, "the kernel does not show ring buffers in /proc");
	if (!syscall_attr(&self->attr))
		SKIP(return, "there is no tracefs");
	if (geteuid())
		SKIP(return, "needs root");
	ASSERT_LT(0, read_file(KPTR_RESTRICT, self->kptr_restrict, sizeof(self->kptr_restrict)));
	snprintf(self->dir, sizeof(self->dir), "/proc/%d/perf/ring-buffers", getpid());
	self->rounds = rounds ? atoi(rounds) : ROUNDS;
	self->text = malloc(TEXT_ROOM);
	ASSERT_NE(NULL, self->text);
}

FIXTURE_TEARDOWN_PARENT(ring_buffers)
{
	restore_paranoid();
	write_file(KPTR_RESTRICT, self->kptr_restrict);
}

/* Reads the whole file. Returns its length or an error. */
static int read_all(const char *path, char *text)
{
	size_t len = 0;
	ssize_t n;
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	do {
		n = read(fd, text + len, TEXT_ROOM - 1 - len);
		if (n < 0)
			n = -errno;
		else
			len += n;
	} while (n > 0);
	close(fd);
	text[len] = '\0';
	return n < 0 ? n : len;
}

/* Returns the number of buffers in a directory, or an error. Stores the name of the last one. */
static int buffers_of(const char *path, unsigned long long *number)
{
	int texts = 0, streams = 0;
	struct dirent *dent;
	char kind[8];
	DIR *dir;
	int err;

	dir = opendir(path);
	if (!dir)
		return -errno;
	errno = 0;
	while ((dent = readdir(dir))) {
		if (sscanf(dent->d_name, "%llu.%7s", number, kind) != 2)
			continue;
		texts += !strcmp(kind, "txt");
		streams += !strcmp(kind, "trace");
	}
	err = -errno;
	closedir(dir);
	if (err)
		return err;
	return texts == streams ? texts : -EINVAL;
}

static const char *path_of(const char *dir, unsigned long long number, const char *kind)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%llu.%s", dir, number, kind);
	return path;
}

static int count(const char *text, const char *what)
{
	int n = 0;

	while ((text = strstr(text, what))) {
		text += strlen(what);
		n++;
	}
	return n;
}

/* Returns how often @what is in the text of a process's only buffer, or an error. */
static int shown(const char *dir, char *text, const char *what)
{
	unsigned long long number;
	int ret;

	ret = buffers_of(dir, &number);
	if (ret != 1)
		return ret < 0 ? ret : -ENOTUNIQ;
	ret = read_all(path_of(dir, number, "txt"), text);
	return ret < 0 ? ret : count(text, what);
}

static int open_calls(struct perf_event_attr *attr, int cpu, int group_fd)
{
	int fd;

	attr->disabled = 1;
	fd = event_open(attr, cpu < 0 ? 0 : -1, cpu, group_fd, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return fd;
	filter_syscall(fd, SYS_getppid);
	event_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	return fd;
}

/* The text has a line for each record, and the stream is for perf. Both go with the mapping. */
TEST_F(ring_buffers, of_a_task)
{
	unsigned long long number, again, magic;
	void *map;
	int fd;

	ASSERT_EQ(0, buffers_of(self->dir, &number));
	fd = open_calls(&self->attr, -1, -1);
	ASSERT_LE(0, fd);
	EXPECT_EQ(0, buffers_of(self->dir, &number)) TH_LOG("there is no buffer yet");
	map = ring_map(fd, PAGES, PROT_READ);
	ASSERT_NE(MAP_FAILED, map);
	call_getppid(7);

	ASSERT_EQ(1, buffers_of(self->dir, &number));
	EXPECT_EQ(7, shown(self->dir, self->text, CALLS));
	call_getppid(4);
	EXPECT_EQ(11, shown(self->dir, self->text, CALLS));
	EXPECT_LT(0, read_all(path_of(self->dir, number, "trace"), self->text));
	memcpy(&magic, self->text, sizeof(magic));
	EXPECT_EQ(0x32454c4946524550ULL, magic);
	ASSERT_EQ(1, buffers_of(self->dir, &again));
	EXPECT_EQ(number, again);

	munmap(map, ring_len(PAGES));
	EXPECT_EQ(-ENOENT, read_all(path_of(self->dir, number, "txt"), self->text));
	EXPECT_EQ(-ENOENT, access(path_of(self->dir, number, "txt"), F_OK) ? -errno : 0);
	map = ring_map(fd, PAGES, PROT_READ);
	ASSERT_NE(MAP_FAILED, map);
	ASSERT_EQ(1, buffers_of(self->dir, &again));
	EXPECT_NE(number, again);
	munmap(map, ring_len(PAGES));
	close(fd);
}

/* Only exact names exist, although sscanf() would take some of these. */
TEST_F(ring_buffers, names)
{
	static const char *const wrong[] = {
		"%llu", "0%llu.txt", " %llu.txt", "+%llu.txt", "%llu.tx", "%llu.txtx", "%llu.trac",
		"%llu.tracer", "1%llu.txt", "%llu.txt ", "%llu.",
	};
	char name[64], path[192];
	unsigned long long number;
	void *map;
	int i, fd;

	fd = open_calls(&self->attr, -1, -1);
	ASSERT_LE(0, fd);
	map = ring_map(fd, PAGES, PROT_READ);
	ASSERT_NE(MAP_FAILED, map);
	ASSERT_EQ(1, buffers_of(self->dir, &number));
	for (i = 0; i < (int)ARRAY_SIZE(wrong); i++) {
		snprintf(name, sizeof(name), wrong[i], number);
		snprintf(path, sizeof(path), "%s/%s", self->dir, name);
		EXPECT_EQ(-ENOENT, read_all(path, self->text)) TH_LOG("%s", path);
	}
	EXPECT_LE(0, read_all(path_of(self->dir, number, "txt"), self->text));
}

/* Two events of a CPU, one redirected to the buffer of the other, have one buffer. */
TEST_F(ring_buffers, of_a_cpu)
{
	struct perf_event_attr faults = fault_attr(1);
	unsigned long long number;
	int fd, fd2, cpu;
	void *map;

	cpu = sched_getcpu();
	ASSERT_EQ(0, pin(cpu));
	faults.exclude_kernel = 0;
	fd = open_calls(&self->attr, cpu, -1);
	fd2 = event_open(&faults, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	ASSERT_LE(0, fd);
	ASSERT_LE(0, fd2);
	map = ring_map(fd, PAGES, PROT_READ);
	ASSERT_NE(MAP_FAILED, map);
	ASSERT_EQ(0, event_ioctl(fd2, PERF_EVENT_IOC_SET_OUTPUT, fd));
	ASSERT_EQ(1, buffers_of(self->dir, &number));
	touch_pages(5);
	call_getppid(3);
	EXPECT_LE(3, shown(self->dir, self->text, CALLS));
	EXPECT_LE(5, count(self->text, " page-faults:"));

	/* The other event keeps the buffer. */
	close(fd);
	EXPECT_EQ(1, buffers_of(self->dir, &number));
	munmap(map, ring_len(PAGES));
	close(fd2);
}

/* A buffer written forward is shown from data_tail on, and not if that cannot be right. */
TEST_F(ring_buffers, forward)
{
	struct perf_event_mmap_page *page;
	unsigned long long number;
	__u64 head;
	void *map;
	int fd;

	self->attr.write_backward = 0;
	fd = open_calls(&self->attr, -1, -1);
	ASSERT_LE(0, fd);
	map = ring_map(fd, PAGES, PROT_READ);
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(-EOPNOTSUPP, shown(self->dir, self->text, CALLS));
	munmap(map, ring_len(PAGES));

	page = ring_map(fd, PAGES, PROT_READ | PROT_WRITE);
	ASSERT_NE(MAP_FAILED, (void *)page);
	call_getppid(3);
	head = page->data_head;
	call_getppid(5);
	EXPECT_EQ(8, shown(self->dir, self->text, CALLS));
	page->data_tail = head;
	EXPECT_EQ(5, shown(self->dir, self->text, CALLS));
	page->data_tail = page->data_head;
	EXPECT_EQ(0, shown(self->dir, self->text, CALLS));

	/* Fill the buffer until no call fits. */
	call_getppid(10000);
	EXPECT_LT(100, shown(self->dir, self->text, CALLS));
	page->data_tail += 8;
	EXPECT_LE(0, shown(self->dir, self->text, CALLS));
	page->data_tail = head;
	EXPECT_EQ(-EAGAIN, shown(self->dir, self->text, CALLS));
	page->data_tail = 1;
	EXPECT_EQ(-EAGAIN, shown(self->dir, self->text, CALLS));
	page->data_tail = page->data_head + 8;
	EXPECT_EQ(-EAGAIN, shown(self->dir, self->text, CALLS));
	ASSERT_EQ(1, buffers_of(self->dir, &number));
	EXPECT_EQ(-EAGAIN, read_all(path_of(self->dir, number, "trace"), self->text));
}

/*
 * Only the kernel writes records, but they contain data of the user, and data_tail may
 * point there. Here the data is a copy of the stack.
 */

#define MAGIC		0x6b73742d72696e67ULL

/* Samples each page fault, with this many bytes of the stack. */
static struct perf_event_attr stack_attr(__u64 sample_type, int bytes)
{
	struct perf_event_attr attr = fault_attr(1);

	attr.sample_type = sample_type | PERF_SAMPLE_STACK_USER;
	attr.sample_stack_user = bytes;
	attr.write_backward = 0;
	return attr;
}

/* Has the kernel record @bytes, behind a magic number. Returns their position, or 0. */
static __attribute__((noinline)) __u64 put_bytes(struct perf_event_mmap_page *page,
						 const void *bytes, size_t len)
{
	const __u64 *data = (void *)page + page->data_offset;
	__u64 stack[512], pos, mask = page->data_size - 1;

	stack[0] = MAGIC;
	memcpy(&stack[1], bytes, len);
	/* The compiler cannot know that the kernel reads these. */
	asm volatile("" : : "r" (stack) : "memory");
	page->data_tail = page->data_head;
	pos = page->data_tail;
	touch_pages(1);
	for (; pos < page->data_head; pos += sizeof(*data)) {
		if (data[(pos & mask) / sizeof(*data)] == MAGIC)
			return pos + sizeof(*data);
	}
	return 0;
}

/* Whatever is in the buffer, and wherever it begins, it is read as far as it makes sense. */
TEST_F_TIMEOUT(ring_buffers, nonsense, 3600)
{
	struct perf_event_attr attr;
	struct perf_event_mmap_page *page;
	struct perf_event_header *header;
	unsigned long long number;
	int fd, i, ret, round, pages = 64, refused = 0;
	char bytes[2048];
	__u64 id, pos, head;

	attr = stack_attr(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			  PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_READ |
			  PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD, 8192);
	attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID;
	attr.sample_id_all = 1;
	attr.comm = 1;
	attr.mmap = 1;
	fd = event_open(&attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	ASSERT_LE(0, fd);
	id = event_id(fd);
	page = ring_map(fd, pages, PROT_READ | PROT_WRITE);
	ASSERT_NE(MAP_FAILED, (void *)page);
	ASSERT_EQ(1, buffers_of(self->dir, &number));
	for (round = 0; round < self->rounds; round++) {
		for (i = 0; i < (int)sizeof(bytes); i += 256)
			ASSERT_EQ(256, getrandom(bytes + i, 256, 0));
		/* Most rounds have records with the id of that event, and nonsense in them. */
		for (i = 0; round & 3 && i < (int)sizeof(bytes); i += 128) {
			header = (struct perf_event_header *)(bytes + i);
			header->type = bytes[i] & 3 ? PERF_RECORD_SAMPLE : header->misc % 80;
			header->size = 128;
			memcpy(header + 1, &id, sizeof(id));
			memcpy(bytes + i + 120, &id, sizeof(id));
		}
		pos = put_bytes(page, bytes, sizeof(bytes));
		ASSERT_NE(0, pos);
		head = page->data_head;
		page->data_tail = pos;
		if (round % 7 == 6)
			page->data_tail += *(unsigned short *)bytes;
		if (round % 11 == 10)
			page->data_head = *(__u64 *)bytes & ~7ULL;
		ret = read_all(path_of(self->dir, number, "txt"), self->text);
		if (ret == -EAGAIN) {
			refused++;
		} else {
			EXPECT_LE(0, ret);
			EXPECT_LT(0, read_all(path_of(self->dir, number, "trace"), self->text));
		}
		page->data_head = head;
	}
	/* Only rounds that moved the tail or head to anywhere may be refused. */
	EXPECT_GT(self->rounds / 4 + 2, refused);
}

/* Opens an event with one forged sample, at an address in the kernel. */
static int forge(__u64 address)
{
	struct {
		struct perf_event_header header;
		__u64 ip;
		__u64 end;
	} record = {
		.header = {
			.type	= PERF_RECORD_SAMPLE,
			.misc	= PERF_RECORD_MISC_KERNEL,
			.size	= sizeof(record.header) + sizeof(record.ip),
		},
		.ip = address,
	};
	struct perf_event_attr attr = stack_attr(PERF_SAMPLE_IP, 8192);
	struct perf_event_mmap_page *page;
	__u64 pos;
	int fd;

	fd = event_open(&attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return fd;
	page = ring_map(fd, PAGES, PROT_READ | PROT_WRITE);
	if (page == MAP_FAILED)
		return -errno;
	pos = put_bytes(page, &record, sizeof(record));
	event_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	page->data_tail = pos;
	return pos ? fd : -ENODATA;
}

/* A user who may not see samples of the kernel does not learn where it is. */
TEST_F(ring_buffers, secret_addresses)
{
	char line[256], needle[64], dir[64];
	unsigned long long address = 0;
	FILE *file;
	pid_t pid;
	int fd;

	file = fopen("/proc/kallsyms", "r");
	ASSERT_NE(NULL, file);
	while (!address && fgets(line, sizeof(line), file)) {
		if (strstr(line, " do_sys_openat2\n"))
			address = strtoull(line, NULL, 16);
	}
	fclose(file);
	ASSERT_NE(0, address);

	fd = forge(address + 4);
	ASSERT_LE(0, fd);
	EXPECT_EQ(1, shown(self->dir, self->text, "ip=do_sys_openat2+0x4/"));
	snprintf(needle, sizeof(needle), "ip=0x%llx\n", address + 4);
	ASSERT_EQ(0, write_file(KPTR_RESTRICT, "2"));
	EXPECT_EQ(1, shown(self->dir, self->text, needle));
	ASSERT_EQ(0, write_file(KPTR_RESTRICT, self->kptr_restrict));

	ASSERT_EQ(0, set_paranoid(2));
	pid = fork_child();
	if (!pid) {
		snprintf(dir, sizeof(dir), "/proc/%d/perf/ring-buffers", getpid());
		close(fd);
		if (become(NOBODY, 0) || prctl(PR_SET_DUMPABLE, 1) || forge(address + 4) < 0)
			_exit(10);
		_exit(shown(dir, self->text, needle) != 1);
	}
	EXPECT_EQ(0, child_status(pid));
}

/* A program that is executed loses its mappings, so a child maps the buffer. */
static void map_in_child(int fd, int ours)
{
	int fds[2];
	char byte;

	if (pipe2(fds, O_CLOEXEC))
		_exit(1);
	if (!fork_child()) {
		close(ours);
		if (ring_map(fd, PAGES, PROT_READ) == MAP_FAILED || write(fds[1], "", 1) != 1)
			_exit(1);
		pause();
		_exit(1);
	}
	close(fds[1]);
	if (read(fds[0], &byte, 1) != 1)
		_exit(1);
}

/* Starts a process of NOBODY that has a buffer and waits, or executes @program and keeps it. */
static pid_t start_owner(struct perf_event_attr *attr, const char *program)
{
	int fds[2], fd;
	ssize_t len;
	char byte;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	pid = fork_child();
	if (pid) {
		close(fds[1]);
		len = read(fds[0], &byte, 1);
		close(fds[0]);
		/* The exec closes the other end. */
		return len == !program ? pid : -ECHILD;
	}
	if (become(NOBODY, 0) || prctl(PR_SET_DUMPABLE, 1))
		_exit(1);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	attr->exclude_kernel = 1;
	fd = event_open(attr, 0, -1, -1, 0);
	if (fd < 0 || ring_map(fd, PAGES, PROT_READ) == MAP_FAILED)
		goto fail;
	if (program) {
		map_in_child(fd, fds[1]);
		execl(program, program, "1000", NULL);
	} else if (write(fds[1], "", 1) == 1) {
		pause();
	}
fail:
	/* Report failure: the opposite of what the parent waits for. */
	if (program && write(fds[1], "", 1) != 1)
		_exit(2);
	_exit(1);
}

static int try_as(uid_t uid, const char *dir, char *text)
{
	pid_t pid = fork_child();
	int ret;

	if (!pid) {
		if (uid && become(uid, 0))
			_exit(255);
		ret = shown(dir, text, "\n");
		_exit(ret < 0 ? -ret : 0);
	}
	return child_status(pid);
}

static void stop_owner(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Only root and the same user may see the buffers of a process. */
TEST_F(ring_buffers, rights)
{
	struct perf_event_attr attr = fault_attr(1);
	char dir[64];
	pid_t pid;

	ASSERT_EQ(0, set_paranoid(2));
	pid = start_owner(&attr, NULL);
	ASSERT_LT(0, pid);
	snprintf(dir, sizeof(dir), "/proc/%d/perf/ring-buffers", pid);
	EXPECT_EQ(0, try_as(0, dir, self->text));
	EXPECT_EQ(0, try_as(NOBODY, dir, self->text));
	EXPECT_EQ(EACCES, try_as(NOBODY - 1, dir, self->text));
	stop_owner(pid);
	EXPECT_EQ(ENOENT, try_as(0, dir, self->text));
}

/* A setuid program may record more than its user may see, so the user sees no buffers of it. */
TEST_F(ring_buffers, setuid)
{
	struct perf_event_attr attr = fault_attr(1);
	char dir[64], tmp[] = "/tmp/kst-setuid-XXXXXX", program[64], command[256];
	pid_t pid;

	ASSERT_EQ(0, set_paranoid(2));
	ASSERT_NE(NULL, mkdtemp(tmp));
	ASSERT_EQ(0, chmod(tmp, 0755));
	ASSERT_EQ(0, unshare(CLONE_NEWNS));
	ASSERT_EQ(0, mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	ASSERT_EQ(0, mount("tmpfs", tmp, "tmpfs", 0, "mode=755"));
	snprintf(program, sizeof(program), "%s/sleep", tmp);
	snprintf(command, sizeof(command), "cp -L /bin/sleep %s && chmod 4755 %s", program,
		 program);
	ASSERT_EQ(0, system(command));

	pid = start_owner(&attr, program);
	ASSERT_LT(0, pid);
	snprintf(dir, sizeof(dir), "/proc/%d/perf/ring-buffers", pid);
	EXPECT_EQ(0, try_as(0, dir, self->text));
	EXPECT_EQ(EACCES, try_as(NOBODY, dir, self->text));
	stop_owner(pid);
	umount2(tmp, MNT_DETACH);
	rmdir(tmp);
}

static int send_fd(int sock, int fd)
{
	char room[CMSG_SPACE(sizeof(int))] = {};
	struct iovec iov = { .iov_base = "", .iov_len = 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = room, .msg_controllen = sizeof(room),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(cmsg), &fd, sizeof(int));
	return sendmsg(sock, &msg, 0) == 1 ? 0 : -errno;
}

static int receive_fd(int sock)
{
	char room[CMSG_SPACE(sizeof(int))], byte;
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = room, .msg_controllen = sizeof(room),
	};
	int fd;

	if (recvmsg(sock, &msg, 0) != 1 || !CMSG_FIRSTHDR(&msg))
		return -ENODATA;
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(int));
	return fd;
}

/* The record type, as perf calls it */
#define RECORD_TRACING_DATA	66

/* Returns the record of a stream at @pos, and moves @pos behind it; NULL after the last one. */
static const struct perf_event_header *next_record(const char *text, size_t len, size_t *pos)
{
	const struct perf_event_header *header = (const void *)(text + *pos);

	if (*pos + sizeof(*header) >= len || header->size < sizeof(*header))
		return NULL;
	*pos += header->size;
	/* Formats of tracepoints follow the record, and are not counted in its size. */
	if (header->type == RECORD_TRACING_DATA)
		*pos += *(const __u32 *)(header + 1);
	return header;
}

#define FIRST_RECORD	16

/* Counts the executable mappings of a process that a stream tells. */
static int maps_of(const char *text, size_t len, __u32 pid)
{
	const struct perf_event_header *header;
	size_t pos = FIRST_RECORD;
	int n = 0;

	while ((header = next_record(text, len, &pos))) {
		if (header->type == PERF_RECORD_MMAP2)
			n += *(const __u32 *)(header + 1) == pid;
	}
	return n;
}

/* Returns the pid of the last task that a stream calls @comm, or 0. */
static __u32 pid_named(const char *text, size_t len, const char *comm)
{
	const struct perf_event_header *header;
	size_t pos = FIRST_RECORD;
	const __u32 *ids;
	__u32 pid = 0;

	while ((header = next_record(text, len, &pos))) {
		ids = (const void *)(header + 1);
		if (header->type == PERF_RECORD_COMM && !strcmp((const char *)&ids[2], comm))
			pid = ids[0];
	}
	return pid;
}

/* A stream tells of processes that have records in it, and of no others. */
TEST_F(ring_buffers, processes_of_a_stream)
{
	unsigned long long number;
	int fd, len;
	void *map;

	fd = open_calls(&self->attr, -1, -1);
	ASSERT_LE(0, fd);
	map = ring_map(fd, PAGES, PROT_READ);
	ASSERT_NE(MAP_FAILED, map);
	ASSERT_EQ(1, buffers_of(self->dir, &number));
	len = read_all(path_of(self->dir, number, "trace"), self->text);
	ASSERT_LT(0, len);
	EXPECT_EQ(0, maps_of(self->text, len, getpid()));
	call_getppid(1);
	len = read_all(path_of(self->dir, number, "trace"), self->text);
	ASSERT_LT(0, len);
	EXPECT_LT(0, maps_of(self->text, len, getpid()));
	EXPECT_EQ(0, maps_of(self->text, len, getppid()));
	munmap(map, ring_len(PAGES));
	close(fd);
}

/* perf copies as many bytes of a build id as the record says, and has room for 20. */
TEST_F(ring_buffers, build_id_size)
{
	static const struct {
		__u16 misc;
		__u8 size;
		int maps;
	} cases[] = {
		{ PERF_RECORD_MISC_MMAP_BUILD_ID, 20, 1 },
		{ PERF_RECORD_MISC_MMAP_BUILD_ID, 21, 0 },
		{ PERF_RECORD_MISC_MMAP_BUILD_ID, 255, 0 },
		{ 0, 255, 1 }, /* part of a device's number */
	};
	struct {
		struct perf_event_header header;
		__u32 pid, tid;
		__u64 start, len, pgoff;
		__u8 size, reserved[3], build_id[20];
		__u32 prot, flags;
		char name[8];
	} records[ARRAY_SIZE(cases) + 1] = {};
	struct perf_event_attr attr = stack_attr(PERF_SAMPLE_IP, 8192);
	struct perf_event_mmap_page *page;
	unsigned long long number;
	int fd, i, len;
	__u64 pos;

	for (i = 0; i < (int)ARRAY_SIZE(cases); i++) {
		records[i].header.type = PERF_RECORD_MMAP2;
		records[i].header.misc = PERF_RECORD_MISC_USER | cases[i].misc;
		records[i].header.size = sizeof(records[i]);
		/* No living process */
		records[i].pid = 0x10000000 + i;
		records[i].len = 4096;
		records[i].size = cases[i].size;
	}
	fd = event_open(&attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	ASSERT_LE(0, fd);
	page = ring_map(fd, PAGES, PROT_READ | PROT_WRITE);
	ASSERT_NE(MAP_FAILED, (void *)page);
	pos = put_bytes(page, records, sizeof(records));
	ASSERT_NE(0, pos);
	event_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	page->data_tail = pos;

	ASSERT_EQ(1, buffers_of(self->dir, &number));
	len = read_all(path_of(self->dir, number, "trace"), self->text);
	ASSERT_LT(0, len);
	for (i = 0; i < (int)ARRAY_SIZE(cases); i++) {
		EXPECT_EQ(cases[i].maps, maps_of(self->text, len, 0x10000000 + i))
			TH_LOG("%d bytes, misc %x", cases[i].size, cases[i].misc);
	}
}

/*
 * Other threads may have mapped files since an exec that is in the buffer. Their records are in
 * other buffers, so a stream has the present maps of the process.
 */
TEST_F(ring_buffers, maps_of_threads)
{
	struct {
		struct {
			struct perf_event_header header;
			__u32 pid, ppid, tid, ptid;
			__u64 when, time;
		} fork;
		struct {
			struct perf_event_header header;
			__u32 pid, tid;
			char comm[8];
			__u64 time;
		} exec;
		__u64 end;
	} records = {
		.fork = {
			.header	= { PERF_RECORD_FORK, 0, sizeof(records.fork) },
			.pid	= 0x10000000,
			.tid	= 0x10000000,
			.ppid	= getpid(),
			.ptid	= getpid(),
			.time	= 5000000000ULL,
		},
		.exec = {
			.header	= { PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC,
				    sizeof(records.exec) },
			.pid	= getpid(),
			.tid	= getpid(),
			.comm	= "program",
			.time	= 10000000000ULL,
		},
	};
	struct perf_event_attr attr = stack_attr(PERF_SAMPLE_IP | PERF_SAMPLE_TIME, 8192);
	struct perf_event_mmap_page *page;
	unsigned long long number;
	int fd, len;
	__u64 pos;

	attr.sample_id_all = 1;
	attr.comm = 1;
	attr.mmap = 1;
	fd = event_open(&attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	ASSERT_LE(0, fd);
	page = ring_map(fd, PAGES, PROT_READ | PROT_WRITE);
	ASSERT_NE(MAP_FAILED, (void *)page);
	ASSERT_EQ(1, buffers_of(self->dir, &number));

	event_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	pos = put_bytes(page, &records, sizeof(records));
	ASSERT_NE(0, pos);
	event_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	page->data_tail = pos;

	len = read_all(path_of(self->dir, number, "trace"), self->text);
	ASSERT_LT(0, len);
	EXPECT_EQ(getpid(), pid_named(self->text, len, "program"));
	EXPECT_LT(0, maps_of(self->text, len, getpid()));
	munmap(page, ring_len(PAGES));
	close(fd);
}

/* A file shows what its opener may see, even if a process with more rights reads it. */
TEST_F(ring_buffers, read_for_somebody)
{
	struct perf_event_attr attr = fault_attr(1);
	unsigned long long number;
	char dir[64];
	int fds[2], fd;
	size_t len = 0;
	ssize_t n;
	pid_t pid;

	ASSERT_EQ(0, set_paranoid(2));
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
	pid = fork_child();
	if (!pid) {
		snprintf(dir, sizeof(dir), "/proc/%d/perf/ring-buffers", getpid());
		if (become(NOBODY, 0) || prctl(PR_SET_DUMPABLE, 1))
			_exit(1);
		fd = event_open(&attr, 0, -1, -1, 0);
		if (fd < 0 || ring_map(fd, PAGES, PROT_READ) == MAP_FAILED ||
		    buffers_of(dir, &number) != 1)
			_exit(1);
		touch_pages(1);
		fd = open(path_of(dir, number, "trace"), O_RDONLY);
		if (fd < 0 || send_fd(fds[1], fd))
			_exit(1);
		pause();
	}
	fd = receive_fd(fds[0]);
	ASSERT_LE(0, fd);
	do {
		n = read(fd, self->text + len, TEXT_ROOM - len);
		ASSERT_LE(0, n);
		len += n;
	} while (n);
	EXPECT_LT(0, len);
	EXPECT_EQ(NULL, memmem(self->text, len, "[kernel.kallsyms]", strlen("[kernel.kallsyms]")))
		TH_LOG("it tells where the kernel is");
	EXPECT_LT(0, maps_of(self->text, len, pid));
	EXPECT_EQ(0, maps_of(self->text, len, getpid()));
	close(fd);
	stop_owner(pid);
}

/* Names of tasks. The first argument of a call is a mark. */

/* Returns "COMM-PID" of the call with @mark, or "". */
static const char *task_of(const char *text, unsigned long mark)
{
	static char task[64];
	const char *line;
	char args[64];

	task[0] = '\0';
	snprintf(args, sizeof(args), " args={0x%lx,", mark);
	line = strstr(text, args);
	if (!line)
		return task;
	while (line > text && line[-1] != '\n')
		line--;
	return sscanf(line, " %63s", task) == 1 ? task : "";
}

static const char *task_name(const char *comm, pid_t pid)
{
	static char name[64];

	snprintf(name, sizeof(name), "%s-%d", comm, pid);
	return name;
}

/* Opens and maps a buffer for all getppid() calls on this CPU, until the test ends. */
static int map_calls(struct perf_event_attr *attr)
{
	int fd, cpu = sched_getcpu();

	/* The time shows that a task is too young to have made a record. */
	attr->sample_type |= PERF_SAMPLE_TIME;
	if (pin(cpu))
		return -EINVAL;
	fd = open_calls(attr, cpu, -1);
	if (fd >= 0 && ring_map(fd, PAGES, PROT_READ) == MAP_FAILED)
		return -errno;
	return fd;
}

/* A task has its present name, if no record tells another. */
TEST_F(ring_buffers, name_of_now)
{
	pid_t pid = getpid();

	ASSERT_LE(0, map_calls(&self->attr));
	prctl(PR_SET_NAME, "kst_before");
	syscall(SYS_getppid, 0x1001);
	ASSERT_LE(1, shown(self->dir, self->text, CALLS));
	EXPECT_STREQ(task_name("kst_before", pid), task_of(self->text, 0x1001));
	prctl(PR_SET_NAME, "kst_after");
	ASSERT_LE(1, shown(self->dir, self->text, CALLS));
	EXPECT_STREQ(task_name("kst_after", pid), task_of(self->text, 0x1001));
}

/* Where a record tells of a new name, older records do not get it. */
TEST_F(ring_buffers, name_of_then)
{
	pid_t pid = getpid();

	self->attr.comm = 1;
	self->attr.sample_id_all = 1;
	prctl(PR_SET_NAME, "kst_before");
	ASSERT_LE(0, map_calls(&self->attr));
	syscall(SYS_getppid, 0x1001);
	ASSERT_LE(1, shown(self->dir, self->text, CALLS));
	EXPECT_STREQ(task_name("kst_before", pid), task_of(self->text, 0x1001));
	prctl(PR_SET_NAME, "kst_after");
	syscall(SYS_getppid, 0x1002);
	ASSERT_LE(2, shown(self->dir, self->text, CALLS));
	EXPECT_STREQ(task_name("<...>", pid), task_of(self->text, 0x1001));
	EXPECT_STREQ(task_name("kst_after", pid), task_of(self->text, 0x1002));
}

static pid_t clone_as(pid_t pid)
{
	struct {
		__u64 flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
		__u64 set_tid, set_tid_size;
	} args = {
		.exit_signal	= SIGCHLD,
		.set_tid	= (unsigned long)&pid,
		.set_tid_size	= 1,
	};

	return neg_errno(syscall(SYS_clone3, &args, sizeof(args)));
}

/* A new task with the same pid does not give its name to older records. */
TEST_F(ring_buffers, name_of_another)
{
	pid_t pid, again;

	ASSERT_LE(0, map_calls(&self->attr));
	pid = fork_child();
	if (!pid) {
		prctl(PR_SET_NAME, "kst_old");
		syscall(SYS_getppid, 0x1001);
		_exit(0);
	}
	ASSERT_EQ(0, child_status(pid));
	ASSERT_LE(1, shown(self->dir, self->text, CALLS));
	EXPECT_STREQ(task_name("<...>", pid), task_of(self->text, 0x1001));

	again = clone_as(pid);
	if (!again) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, "kst_new");
		syscall(SYS_getppid, 0x1002);
		raise(SIGSTOP);
		_exit(0);
	}
	if (again < 0)
		SKIP(return, "cannot choose a pid");
	ASSERT_EQ(again, waitpid(again, NULL, WUNTRACED));
	ASSERT_LE(2, shown(self->dir, self->text, CALLS));
	EXPECT_STREQ(task_name("<...>", pid), task_of(self->text, 0x1001));
	EXPECT_STREQ(task_name("kst_new", pid), task_of(self->text, 0x1002));
	stop_owner(again);
}

/* Makes mappings for 80 bytes or more each in a stream, which is made in parts of 64 KiB. */
#define MAPS		2000

static bool map_many(void)
{
	int i, flags = MAP_PRIVATE | MAP_ANONYMOUS;
	char *mem;

	mem = mmap(NULL, 2 * MAPS * page_size(), PROT_READ, flags, -1, 0);
	if (mem == MAP_FAILED)
		return false;
	/* Leave a page between two, so that they are not merged. */
	for (i = 0; i < MAPS; i++) {
		if (mprotect(mem + 2 * i * page_size(), page_size(), PROT_READ | PROT_EXEC))
			return false;
	}
	return true;
}

/*
 * Nor does it continue the maps of the old task, in the middle of which a reader of a stream
 * is: the rest of them is gone, and the stream goes on with other tasks.
 */
TEST_F(ring_buffers, maps_of_another)
{
	unsigned long long number;
	int fd, status, maps;
	pid_t pid, again;
	size_t len = 0;
	ssize_t n;

	ASSERT_LE(0, map_calls(&self->attr));
	pid = fork_child();
	if (!pid) {
		/* A stream tells only of processes that have records. */
		syscall(SYS_getppid, 0x1001);
		if (map_many())
			raise(SIGSTOP);
		_exit(1);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, WUNTRACED));
	ASSERT_TRUE(WIFSTOPPED(status));

	ASSERT_EQ(1, buffers_of(self->dir, &number));
	fd = open(path_of(self->dir, number, "trace"), O_RDONLY | O_CLOEXEC);
	ASSERT_LE(0, fd);
	/* At the first map, the rest of this part is made, and the next one is not. */
	while (!maps_of(self->text, len, pid)) {
		n = read(fd, self->text + len, 4096);
		ASSERT_LT(0, n);
		len += n;
	}
	stop_owner(pid);
	again = clone_as(pid);
	if (!again) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (map_many())
			raise(SIGSTOP);
		_exit(1);
	}
	if (again < 0)
		SKIP(return, "cannot choose a pid");
	ASSERT_EQ(again, waitpid(again, &status, WUNTRACED));
	ASSERT_TRUE(WIFSTOPPED(status));

	do {
		n = read(fd, self->text + len, TEXT_ROOM - len);
		ASSERT_LE(0, n);
		len += n;
	} while (n);
	maps = maps_of(self->text, len, pid);
	EXPECT_LT(0, maps);
	EXPECT_GT(MAPS, maps);
	close(fd);
	stop_owner(again);
}

/*
 * For a child, which reads the buffers in its own /proc. Returns 1 if its parent is
 * named, plus 2 if it is named itself.
 */
static int names_seen(char *text, pid_t parent, unsigned long mark)
{
	char dir[64];
	int seen = 0;

	snprintf(dir, sizeof(dir), "/proc/%d/perf/ring-buffers", getpid());
	prctl(PR_SET_NAME, "kst_child");
	syscall(SYS_getppid, mark);
	if (shown(dir, text, CALLS) < 2)
		return 100;
	if (!strcmp(task_of(text, 0x1001), task_name("kst_parent", parent)))
		seen |= 1;
	if (!strncmp(task_of(text, mark), "kst_child-", 10))
		seen |= 2;
	return seen;
}

/* An event's descriptor gives no right to names of other users' tasks. */
TEST_F(ring_buffers, name_for_another_user)
{
	pid_t pid, parent = getpid();

	ASSERT_EQ(0, set_paranoid(2));
	ASSERT_LE(0, map_calls(&self->attr));
	prctl(PR_SET_NAME, "kst_parent");
	syscall(SYS_getppid, 0x1001);
	pid = fork_child();
	if (!pid)
		_exit(names_seen(self->text, parent, 0x1002));
	EXPECT_EQ(3, child_status(pid));
	pid = fork_child();
	if (!pid) {
		if (become(NOBODY, 0) || prctl(PR_SET_DUMPABLE, 1))
			_exit(101);
		_exit(names_seen(self->text, parent, 0x1003));
	}
	EXPECT_EQ(2, child_status(pid));
}

typedef int (*seen_fn)(char *text, pid_t parent, unsigned long mark);

/* Returns what a child sees that has a pid namespace and a /proc of its own; 77: it has none. */
static int seen_inside(seen_fn seen, char *text, unsigned long mark)
{
	pid_t pid, parent = getpid();

	pid = fork_child();
	if (pid)
		return child_status(pid);
	if (unshare(CLONE_NEWPID | CLONE_NEWNS))
		_exit(77);
	pid = fork_child();
	if (pid)
		_exit(child_status(pid));
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("proc", "/proc", "proc", 0, NULL))
		_exit(102);
	_exit(seen(text, parent, mark));
}

/* Nor does it to names of tasks that the reader's own /proc does not have. */
TEST_F(ring_buffers, name_outside)
{
	int seen;

	ASSERT_LE(0, map_calls(&self->attr));
	prctl(PR_SET_NAME, "kst_parent");
	syscall(SYS_getppid, 0x1001);
	seen = seen_inside(names_seen, self->text, 0x1002);
	if (seen == 77)
		SKIP(return, "no pid namespaces");
	EXPECT_EQ(2, seen);
}

/* Like names_seen() for a stream, which also tells the mappings of tasks that it names. */
static int tasks_told(char *text, pid_t parent, unsigned long mark)
{
	unsigned long long number;
	int len, seen = 0;
	char dir[64];
	__u32 pid;

	snprintf(dir, sizeof(dir), "/proc/%d/perf/ring-buffers", getpid());
	prctl(PR_SET_NAME, "kst_child");
	syscall(SYS_getppid, mark);
	if (buffers_of(dir, &number) != 1)
		return 100;
	len = read_all(path_of(dir, number, "trace"), text);
	if (len < 0)
		return 101;
	if (pid_named(text, len, "kst_parent") || maps_of(text, len, parent))
		seen |= 1;
	/* In a pid namespace, we do not know our pid in the stream. */
	pid = pid_named(text, len, "kst_child");
	if (pid && maps_of(text, len, pid))
		seen |= 2;
	return seen;
}

/* The same for streams: they have neither names nor mappings of such tasks. */
TEST_F(ring_buffers, stream_outside)
{
	pid_t pid, parent = getpid();
	int seen;

	ASSERT_LE(0, map_calls(&self->attr));
	prctl(PR_SET_NAME, "kst_parent");
	syscall(SYS_getppid, 0x1001);
	pid = fork_child();
	if (!pid)
		_exit(tasks_told(self->text, parent, 0x1002));
	EXPECT_EQ(3, child_status(pid));
	seen = seen_inside(tasks_told, self->text, 0x1003);
	if (seen == 77)
		SKIP(return, "no pid namespaces");
	EXPECT_EQ(2, seen);
}

/* Returns an event that a dead task made for us, and that writes to the buffer of @output. */
static int orphan_event(struct perf_event_attr *attr, pid_t target, int output)
{
	int fds[2], fd = -1;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds))
		return -errno;
	pid = fork_child();
	if (!pid) {
		fd = event_open(attr, target, -1, -1, PERF_FLAG_FD_CLOEXEC);
		_exit(fd < 0 || event_ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, output) ||
		      send_fd(fds[1], fd));
	}
	/* The child has exited. */
	if (!child_status(pid))
		fd = receive_fd(fds[0]);
	close(fds[0]);
	close(fds[1]);
	return fd;
}

/* A user may not see his own buffer while somebody else's event writes to it. */
TEST_F(ring_buffers, foreign_event)
{
	struct perf_event_attr attr = fault_attr(1);
	int pidfd, fd = -1, own;
	char dir[64];
	pid_t pid;

	ASSERT_EQ(0, set_paranoid(2));
	pid = start_owner(&attr, NULL);
	ASSERT_LT(0, pid);
	snprintf(dir, sizeof(dir), "/proc/%d/perf/ring-buffers", pid);
	pidfd = syscall(SYS_pidfd_open, pid, 0);
	ASSERT_LE(0, pidfd);
	for (own = 3; own < 64; own++) {
		fd = syscall(SYS_pidfd_getfd, pidfd, own, 0);
		if (fd >= 0 && event_id(fd))
			break;
	}
	ASSERT_GT(64, own);
	own = event_open(&attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	ASSERT_LE(0, own);
	EXPECT_EQ(0, try_as(NOBODY, dir, self->text));
	ASSERT_EQ(0, event_ioctl(own, PERF_EVENT_IOC_SET_OUTPUT, fd));
	EXPECT_EQ(EACCES, try_as(NOBODY, dir, self->text));
	EXPECT_EQ(0, try_as(0, dir, self->text));
	close(own);
	EXPECT_EQ(0, try_as(NOBODY, dir, self->text));

	/* The same when the task that made the event has exited */
	own = orphan_event(&attr, pid, fd);
	ASSERT_LE(0, own);
	EXPECT_EQ(EACCES, try_as(NOBODY, dir, self->text));
	EXPECT_EQ(0, try_as(0, dir, self->text));
	close(own);
	EXPECT_EQ(0, try_as(NOBODY, dir, self->text));
	close(fd);
	close(pidfd);
	stop_owner(pid);
}

/* Reading takes no records away, and makes none be lost. */
TEST_F_TIMEOUT(ring_buffers, reading_costs_no_record, 3600)
{
	struct {
		__u64 value, lost;
	} now;
	int fd, i, pages = 256;
	unsigned long long number;
	void *map;

	self->attr.read_format = PERF_FORMAT_LOST;
	fd = open_calls(&self->attr, -1, -1);
	ASSERT_LE(0, fd);
	map = ring_map(fd, pages, PROT_READ);
	ASSERT_NE(MAP_FAILED, map);
	ASSERT_EQ(1, buffers_of(self->dir, &number));
	for (i = 0; i < READS; i++) {
		call_getppid(2);
		ASSERT_LT(0, read_all(path_of(self->dir, number, "trace"), self->text));
	}
	ASSERT_EQ((ssize_t)sizeof(now), read(fd, &now, sizeof(now)));
	EXPECT_EQ(2 * READS, now.value);
	EXPECT_EQ(0, now.lost);
	EXPECT_EQ(2 * READS, sampled(fd, map));
	EXPECT_EQ(2 * READS, shown(self->dir, self->text, CALLS));
}

TEST_HARNESS_MAIN
