// SPDX-License-Identifier: GPL-2.0
/*
 * Files of perffs that show buffers, while they are written to and afterwards.
 *
 * A writer on each CPU makes system calls as fast as it can. Their arguments tell the
 * number of the call, and carry a checksum. A clock event writes to the same buffer from
 * interrupts. No call may be torn, invented, or missing between two others. H19
 *
 * TEXT_READS in the environment says how often the buffers are read.
 */
#include "persistent.h"

#include <sys/sendfile.h>
#include <sys/socket.h>
#include <time.h>

#include <linux/sched.h>

#define READS		20
#define MAX_CPUS	64
#define RING		(64 * 1024)
#define CALL_BYTES	128	/* of the sample of a call */
#define TRACING		"/sys/kernel/tracing"
#define EVENTS		TRACING "/kprobe_events"
#define PROBED		"do_sys_openat2"

/* Shared by writers and readers */
struct shared {
	int	stop;
	int	named;	/* the task has its name */
	int	reads;	/* that returned something, or have begun */
	int	gone;	/* files that were cut short by a removal */
	__u64	done[MAX_CPUS];
};

/* The sample of a call */
struct call {
	struct perf_event_header header;
	__u64	id, ip;
	__u32	pid, tid;
	__u64	time;
	__u32	cpu, reserved;
	__u64	period;
	__u32	raw_size;
	char	common[8];
	__u32	fields[14];	/* number and arguments of the call, not aligned */
	__u32	padding;
};

/* Calls of a CPU that were seen while reading a file */
struct seen {
	__u64	last;
	int	calls;
};

/* The objects of a test */
struct scene {
	char	ns[NS_ROOM];
	int	cpu, cpu2;
	int	reads;
	int	nr_cpus;
	int	cpus[MAX_CPUS];
	pid_t	pids[MAX_CPUS];
	struct shared *shared;
};

FIXTURE(text)
{
	struct scene s;
};

FIXTURE_SETUP(text)
{
	const char *missing, *reads = getenv("TEXT_READS");
	cpu_set_t set;
	int i;

	/* Use all CPUs: persist_begin() binds this process to the first. */
	ASSERT_EQ(0, sched_getaffinity(0, sizeof(set), &set));
	missing = persist_begin(self->s.ns, &self->s.cpu, &self->s.cpu2);
	if (missing)
		SKIP(return, "%s", missing);
	if (mount_perffs())
		SKIP(return, "cannot mount perffs");
	ASSERT_EQ(0, sched_setaffinity(0, sizeof(set), &set));
	self->s.reads = reads ? atoi(reads) : READS;
	self->s.shared = mmap(NULL, sizeof(*self->s.shared), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->s.shared);
	for (i = 0; i < CPU_SETSIZE && self->s.nr_cpus < MAX_CPUS; i++) {
		if (CPU_ISSET(i, &set))
			self->s.cpus[self->s.nr_cpus++] = i;
	}
}

FIXTURE_TEARDOWN_PARENT(text)
{
	persist_undo();
	write_file(EVENTS, "-:kst_text/one");
	write_file(EVENTS, "-:kst_text/two");
}

/* Returns the path of a file of the namespace. The next call overwrites it. */
static __printf(2, 3) const char *path_of(const char *ns, const char *fmt, ...)
{
	static char path[512];
	va_list args;
	int len;

	len = snprintf(path, sizeof(path), PERFFS_DIR "/%s", ns);
	va_start(args, fmt);
	vsnprintf(path + len, sizeof(path) - len, fmt, args);
	va_end(args);
	return path;
}

static int put(const char *ns, const char *file, const char *text)
{
	return write_file(path_of(ns, "/%s", file), text);
}

/* Makes a namespace that records what writers do, and with @ticks also interrupts. */
static int make_ns(const char *ns, bool ticks, const char *size)
{
	char line[128];
	int err;

	err = neg_errno(mkdir(path_of(ns, "%s", ""), 0700));
	snprintf(line, sizeof(line), "raw_syscalls:sys_enter/name=calls/ if id == %d",
		 SYS_getppid);
	if (!err)
		err = put(ns, "events", line);
	if (!err && ticks)
		err = put(ns, "events", "cpu-clock/period=200000,name=ticks/");
	if (!err)
		err = put(ns, "buffer_size", size);
	return err ? err : put(ns, "enabled", "1");
}

static __u64 mix(__u64 x)
{
	x ^= x >> 31;
	x *= 0x9e3779b97f4a7c15ULL;
	return x ^ x >> 29;
}

static void write_calls(struct shared *shared, int i, int cpu)
{
	__u64 nr = 0;

	pin(cpu);
	while (!__atomic_load_n(&shared->stop, __ATOMIC_RELAXED)) {
		nr++;
		syscall(SYS_getppid, nr, cpu, mix(nr), mix(nr + 1), mix(nr + 2), mix(nr + cpu));
		__atomic_store_n(&shared->done[i], nr, __ATOMIC_RELEASE);
	}
	_exit(0);
}

static int find_pid(const struct scene *self, pid_t pid)
{
	int i;

	for (i = 0; i < self->nr_cpus; i++) {
		if (self->pids[i] == pid)
			return i;
	}
	return -1;
}

/* Checks that this is the right call after the last one. */
static void check_call(struct __test_metadata *_metadata, const struct scene *self, int i,
		       const unsigned long long *a, struct seen *seen)
{
	EXPECT_EQ(self->cpus[i], (int)a[1]);
	EXPECT_EQ(mix(a[0]), a[2]);
	EXPECT_EQ(mix(a[0] + 1), a[3]);
	EXPECT_EQ(mix(a[0] + 2), a[4]);
	EXPECT_EQ(mix(a[0] + a[1]), a[5]);
	if (seen[i].calls++)
		EXPECT_EQ(seen[i].last + 1, a[0]);
	seen[i].last = a[0];
}

/*
 * Checks "   COMM-PID   [CPU]  SECONDS: calls: id=110 args={0x1,...}". Returns the number
 * of its writer, or -1.
 */
static int check_line(struct __test_metadata *_metadata, const struct scene *self,
		      const char *line, struct seen *seen)
{
	unsigned long long a[6];
	const char *at = strstr(line, ": calls: "), *cpu = strstr(line, " [");
	int i, n, id, pid, where;

	if (!at || !cpu || sscanf(cpu, " [%d]", &where) != 1)
		return -1;
	/* Before the CPU are digits and spaces, and before those a dash. */
	while (cpu > line && cpu[-1] != '-')
		cpu--;
	pid = atoi(cpu);
	i = find_pid(self, pid);
	if (i < 0)
		return -1;

	n = sscanf(at, ": calls: id=%d args={0x%llx,0x%llx,0x%llx,0x%llx,0x%llx,0x%llx}",
		   &id, &a[0], &a[1], &a[2], &a[3], &a[4], &a[5]);
	ASSERT_EQ(7, n) TH_LOG("%s", line);
	EXPECT_EQ(SYS_getppid, id);
	EXPECT_EQ(self->cpus[i], where) TH_LOG("%s", line);
	check_call(_metadata, self, i, a, seen);
	return i;
}

static void check_file(struct __test_metadata *_metadata, const struct scene *self,
		       const char *path, struct seen *seen)
{
	char line[4096];
	FILE *file;

	memset(seen, 0, MAX_CPUS * sizeof(*seen));
	file = fopen(path, "r");
	ASSERT_NE(NULL, file);
	while (fgets(line, sizeof(line), file))
		check_line(_metadata, self, line, seen);
	EXPECT_EQ(0, ferror(file));
	fclose(file);
}

/* Checks a perf.data stream in pipe format: the samples of calls among its records. */
static void check_stream(struct __test_metadata *_metadata, const struct scene *self,
			 const char *path, struct seen *seen)
{
	union {
		struct perf_event_header header;
		struct call call;
		char bytes[65536];
	} r;
	unsigned long long fields[7];
	__u64 magic[2];
	__u32 skip;
	FILE *file;
	int i;

	memset(seen, 0, MAX_CPUS * sizeof(*seen));
	file = fopen(path, "r");
	ASSERT_NE(NULL, file);
	ASSERT_EQ(1, fread(magic, sizeof(magic), 1, file));
	/* Readers know the byte order by this number. */
	EXPECT_EQ(0x32454c4946524550ULL, magic[0]);
	EXPECT_EQ(sizeof(magic), magic[1]);
	while (fread(&r.header, sizeof(r.header), 1, file)) {
		ASSERT_LT(sizeof(r.header), r.header.size);
		ASSERT_EQ(0, r.header.size & 7);
		ASSERT_EQ(1, fread(&r.header + 1, r.header.size - sizeof(r.header), 1, file));
		/* The data of PERF_RECORD_HEADER_TRACING_DATA follows the record. */
		if (r.header.type == 66) {
			memcpy(&skip, &r.header + 1, sizeof(skip));
			while (skip--)
				ASSERT_NE(EOF, fgetc(file));
		}
		if (r.header.type != PERF_RECORD_SAMPLE || r.header.size != CALL_BYTES)
			continue;
		i = find_pid(self, r.call.pid);
		if (i < 0)
			continue;
		memcpy(fields, r.call.fields, sizeof(fields));
		EXPECT_EQ(SYS_getppid, fields[0]);
		check_call(_metadata, self, i, fields + 1, seen);
	}
	EXPECT_EQ(0, ferror(file));
	fclose(file);
}

static void start_writers(struct __test_metadata *_metadata, struct scene *self)
{
	pid_t pid;
	int i;

	for (i = 0; i < self->nr_cpus; i++) {
		/* Not self->pids[i]: parent and child share @self. */
		pid = fork_child();
		ASSERT_LE(0, pid);
		if (!pid)
			write_calls(self->shared, i, self->cpus[i]);
		self->pids[i] = pid;
	}
	/* Wait until all buffers are full. */
	for (i = 0; i < self->nr_cpus; i++) {
		while (__atomic_load_n(&self->shared->done[i], __ATOMIC_ACQUIRE) <
		       2 * RING / CALL_BYTES)
			sched_yield();
	}
}

static void stop_writers(struct __test_metadata *_metadata, struct scene *self)
{
	int i;

	self->shared->stop = 1;
	for (i = 0; i < self->nr_cpus; i++)
		EXPECT_EQ(0, child_status(self->pids[i]));
}

typedef void (*check_t)(struct __test_metadata *_metadata, const struct scene *self,
			const char *path, struct seen *seen);

/* Each reading returns whole records only, and at least half a buffer of them. */
static void check_torn(struct __test_metadata *_metadata, struct scene *self,
		       const char *file, check_t check)
{
	/* Records of interrupts take some of the space. */
	const int least = RING / 2 * 3 / 4 / CALL_BYTES;
	struct seen seen[MAX_CPUS];
	unsigned long calls = 0;
	int n, i;

	ASSERT_EQ(0, make_ns(self->ns, true, "64K"));
	start_writers(_metadata, self);
	for (n = 0; n < self->reads; n++) {
		check(_metadata, self, path_of(self->ns, "/%s", file), seen);
		for (i = 0; i < self->nr_cpus; i++) {
			calls += seen[i].calls;
			EXPECT_LE(least, seen[i].calls);
		}
		i = n % self->nr_cpus;
		check(_metadata, self,
		      path_of(self->ns, "/per_cpu/cpu%d/%s", self->cpus[i], file), seen);
		EXPECT_LE(least, seen[i].calls);
	}
	stop_writers(_metadata, self);
	ksft_print_msg("%s: %d reads of %d CPUs, %lu calls checked\n", file, n, self->nr_cpus,
		       calls);
}

TEST_F_TIMEOUT(text, torn, 7200)
{
	check_torn(_metadata, &self->s, "text", check_file);
}

TEST_F_TIMEOUT(text, torn_data, 7200)
{
	check_torn(_metadata, &self->s, "data", check_stream);
}

/* The text of a snapshot merges its CPUs by time, and has the same calls as its other files. */
TEST_F_TIMEOUT(text, sorted, 600)
{
	struct seen seen[MAX_CPUS], seen_data[MAX_CPUS];
	int lines = 0, cpu_lines = 0, i;
	char snap[NS_ROOM], line[4096];
	double last = 0, now;
	FILE *file;
	char *at;

	ASSERT_EQ(0, make_ns(self->s.ns, false, "64K"));
	start_writers(_metadata, &self->s);
	ASSERT_EQ(0, put(self->s.ns, "snapshot", "1"));
	stop_writers(_metadata, &self->s);

	snprintf(snap, sizeof(snap), "%.40s.1", self->s.ns);
	file = fopen(path_of(snap, "/text"), "r");
	ASSERT_NE(NULL, file);
	while (fgets(line, sizeof(line), file)) {
		at = strchr(line, ']');
		ASSERT_NE(NULL, at);
		i = sscanf(at, "] %lf: calls: ", &now);
		ASSERT_EQ(1, i);
		EXPECT_LE(last, now) TH_LOG("%s", line);
		last = now;
		lines++;
	}
	fclose(file);
	EXPECT_LE(self->s.nr_cpus * RING / 2 / CALL_BYTES, lines);

	/* Text and stream have the same calls of each CPU. */
	check_file(_metadata, &self->s, path_of(snap, "/text"), seen);
	check_stream(_metadata, &self->s, path_of(snap, "/data"), seen_data);
	for (i = 0; i < self->s.nr_cpus; i++) {
		EXPECT_EQ(seen[i].calls, seen_data[i].calls);
		EXPECT_EQ(seen[i].last, seen_data[i].last);
	}

	for (i = 0; i < self->s.nr_cpus; i++) {
		file = fopen(path_of(snap, "/per_cpu/cpu%d/text", self->s.cpus[i]), "r");
		ASSERT_NE(NULL, file);
		while (fgets(line, sizeof(line), file))
			cpu_lines++;
		fclose(file);
	}
	EXPECT_EQ(lines, cpu_lines);
}

static int read_as_nobody(const char *path)
{
	char text[64];
	pid_t pid;

	pid = fork_child();
	if (!pid) {
		if (become(NOBODY, 0))
			_exit(1);
		_exit(-read_file(path, text, sizeof(text)) & 0xff);
	}
	return child_status(pid);
}

/* File modes are not enough: reading requires the same right as opening the events. H16 */
static void check_rights(struct __test_metadata *_metadata, struct scene *self,
			 const char *file)
{
	char path[256], text[64];
	pid_t pid;
	int fd;

	ASSERT_EQ(0, make_ns(self->ns, false, "64K"));
	call_getppid(10);
	snprintf(path, sizeof(path), "%s", path_of(self->ns, "/%s", file));
	ASSERT_EQ(0, set_paranoid(2));
	EXPECT_EQ(EACCES, read_as_nobody(path));

	ASSERT_EQ(0, chmod(PERFFS_DIR, 0755));
	ASSERT_EQ(0, chmod(path_of(self->ns, "%s", ""), 0755));
	ASSERT_EQ(0, chmod(path, 0444));
	EXPECT_EQ(EACCES, read_as_nobody(path));
	ASSERT_EQ(0, set_paranoid(-1));
	EXPECT_EQ((-63) & 0xff, read_as_nobody(path));
	ASSERT_EQ(0, set_paranoid(2));

	/* A descriptor keeps the rights of its opener. */
	fd = open(path, O_RDONLY);
	ASSERT_LE(0, fd);
	pid = fork_child();
	if (!pid)
		_exit(become(NOBODY, 0) || read(fd, text, sizeof(text)) <= 0);
	EXPECT_EQ(0, child_status(pid));
	close(fd);
	chmod(PERFFS_DIR, 0700);
}

TEST_F(text, rights)
{
	check_rights(_metadata, &self->s, "text");
}

TEST_F(text, rights_data)
{
	check_rights(_metadata, &self->s, "data");
}

/* Removing a namespace waits for no reader, and nothing can be read after that. H15 */
static void check_removed(struct __test_metadata *_metadata, struct scene *self,
			  const char *file)
{
	char text[64];
	ssize_t len;
	int fd;

	ASSERT_EQ(0, make_ns(self->ns, false, "64K"));
	call_getppid(100);
	fd = open(path_of(self->ns, "/%s", file), O_RDONLY);
	ASSERT_LE(0, fd);
	EXPECT_EQ(sizeof(text), read(fd, text, sizeof(text)));
	EXPECT_EQ(-1, rmdir(path_of(self->ns, "/per_cpu/cpu%d", self->cpu)));
	EXPECT_EQ(EPERM, errno);
	EXPECT_EQ(0, rmdir(path_of(self->ns, "%s", "")));
	/* Some data may be on its way already. */
	do {
		len = read(fd, text, sizeof(text));
	} while (len > 0);
	EXPECT_EQ(-1, len);
	EXPECT_EQ(ENODEV, errno);
	close(fd);
}

TEST_F(text, removed)
{
	check_removed(_metadata, &self->s, "text");
}

TEST_F(text, removed_data)
{
	check_removed(_metadata, &self->s, "data");
}

/* Reads a namespace that comes and goes, until it is killed. */
static void read_forever(const char *ns, const char *file, struct shared *shared)
{
	char big[4096];
	ssize_t len;
	int fd, nr;

	for (;;) {
		fd = open(path_of(ns, "/%s", file), O_RDONLY);
		for (nr = 0; fd >= 0 && (len = read(fd, big, sizeof(big))) > 0; nr++)
			__atomic_add_fetch(&shared->reads, 1, __ATOMIC_RELAXED);
		if (nr && len < 0 && errno == ENODEV)
			__atomic_add_fetch(&shared->gone, 1, __ATOMIC_RELAXED);
		if (fd >= 0)
			close(fd);
	}
}

/* The same, while writers write and a reader reads */
static void check_removed_meanwhile(struct __test_metadata *_metadata, struct scene *self,
				    const char *file)
{
	pid_t pid;
	int i;

	start_writers(_metadata, self);
	pid = fork_child();
	if (!pid)
		read_forever(self->ns, file, self->shared);
	for (i = 0; i < 500 && (i < 20 || !self->shared->gone); i++) {
		ASSERT_EQ(0, make_ns(self->ns, false, "1M"));
		usleep(50000);
		ASSERT_EQ(0, rmdir(path_of(self->ns, "%s", "")));
	}
	kill(pid, SIGKILL);
	EXPECT_EQ(-1, child_status(pid));
	stop_writers(_metadata, self);
	EXPECT_LT(0, self->shared->reads);
	EXPECT_LT(0, self->shared->gone);
	ksft_print_msg("%s: removed %d times, %d reads, %d of them cut short\n", file, i,
		       self->shared->reads, self->shared->gone);
}

TEST_F_TIMEOUT(text, removed_meanwhile, 3600)
{
	check_removed_meanwhile(_metadata, &self->s, "text");
}

TEST_F_TIMEOUT(text, removed_data_meanwhile, 3600)
{
	check_removed_meanwhile(_metadata, &self->s, "data");
}

#define NOT_OPENED	255

static int read_far(const char *path, struct shared *shared)
{
	int fd, err;
	char c;

	fd = open(path, O_RDONLY);
	if (fd < 0)
		return NOT_OPENED;
	__atomic_add_fetch(&shared->reads, 1, __ATOMIC_RELAXED);
	err = pread(fd, &c, 1, 1LL << 60) < 0 ? errno : 0;
	close(fd);
	return err;
}

/* Starts a child that reads until a read fails, as a fast machine is through in no time. */
static pid_t start_reader(const char *path, struct shared *shared)
{
	pid_t pid;
	int err;

	shared->reads = 0;
	pid = fork_child();
	if (!pid) {
		do {
			err = read_far(path, shared);
		} while (!err);
		/* If it was the first one, the parent must not wait for more. */
		shared->reads++;
		_exit(err);
	}
	while (pid > 0 && !__atomic_load_n(&shared->reads, __ATOMIC_RELAXED))
		usleep(1000);
	return pid;
}

/* One read() can go through all buffers. It can be killed, and a removal does not wait for it. */
TEST_F_TIMEOUT(text, far, 3600)
{
	const unsigned int full = 2 * (4 << 20) / CALL_BYTES;
	time_t start;
	char path[256];
	pid_t pid;
	int i, err;

	ASSERT_EQ(0, make_ns(self->s.ns, false, "4M"));
	start_writers(_metadata, &self->s);
	for (i = 0; i < self->s.nr_cpus; i++) {
		while (__atomic_load_n(&self->s.shared->done[i], __ATOMIC_ACQUIRE) < full)
			usleep(1000);
	}
	stop_writers(_metadata, &self->s);
	snprintf(path, sizeof(path), "%s", path_of(self->s.ns, "/text"));

	pid = start_reader(path, self->s.shared);
	ASSERT_LE(0, pid);
	start = time(NULL);
	kill(pid, SIGKILL);
	EXPECT_EQ(-1, child_status(pid));
	EXPECT_GE(start + 10, time(NULL));

	pid = start_reader(path, self->s.shared);
	ASSERT_LE(0, pid);
	start = time(NULL);
	EXPECT_EQ(0, rmdir(path_of(self->s.ns, "%s", "")));
	EXPECT_GE(start + 10, time(NULL));
	/* It may have been between two reads. */
	err = child_status(pid);
	EXPECT_TRUE(err == ENODEV || err == NOT_OPENED) TH_LOG("%d", err);
}

/* Has a line of the file this text? */
static bool has_text(const char *path, const char *text)
{
	FILE *file = fopen(path, "r");
	bool found = false;
	char line[4096];

	while (file && !found && fgets(line, sizeof(line), file))
		found = strstr(line, text);
	if (file)
		fclose(file);
	return found;
}

/* Names of tasks. The first argument of a call is a mark. */

/* Returns "COMM-PID" of the call with @mark, or "". */
static const char *task_of(const char *path, unsigned long mark)
{
	static char task[64];
	char line[4096];
	unsigned long seen;
	FILE *file;
	char *at;

	task[0] = '\0';
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file)) {
		at = strstr(line, " args={");
		if (at && sscanf(at, " args={0x%lx,", &seen) == 1 && seen == mark)
			sscanf(line, " %63s", task);
	}
	if (file)
		fclose(file);
	return task;
}

static const char *task_name(const char *comm, pid_t pid)
{
	static char name[64];

	snprintf(name, sizeof(name), "%s-%d", comm, pid);
	return name;
}

/* A record shows the name that its task had then, or none. */
TEST_F(text, renamed)
{
	char live[256], snap[NS_ROOM + 64];
	pid_t pid = getpid();

	prctl(PR_SET_NAME, "kst_before");
	ASSERT_EQ(0, make_ns(self->s.ns, false, "64K"));
	snprintf(live, sizeof(live), "%s", path_of(self->s.ns, "/text"));
	syscall(SYS_getppid, 0x1001);
	EXPECT_STREQ(task_name("kst_before", pid), task_of(live, 0x1001));

	prctl(PR_SET_NAME, "kst_after");
	syscall(SYS_getppid, 0x1002);
	EXPECT_STREQ(task_name("<...>", pid), task_of(live, 0x1001));
	EXPECT_STREQ(task_name("kst_after", pid), task_of(live, 0x1002));

	ASSERT_EQ(0, put(self->s.ns, "snapshot", "1"));
	snprintf(snap, sizeof(snap), PERFFS_DIR "/%.40s.1/text", self->s.ns);
	prctl(PR_SET_NAME, "kst_later");
	syscall(SYS_getppid, 0x1003);
	EXPECT_STREQ(task_name("<...>", pid), task_of(snap, 0x1001));
	EXPECT_STREQ(task_name("kst_after", pid), task_of(snap, 0x1002));
	EXPECT_STREQ(task_name("kst_later", pid), task_of(live, 0x1003));
}

/* While the events are disabled, nobody records that a task changes its name. */
TEST_F(text, disabled)
{
	pid_t pid = getpid();
	char live[256];

	prctl(PR_SET_NAME, "kst_before");
	ASSERT_EQ(0, make_ns(self->s.ns, false, "64K"));
	snprintf(live, sizeof(live), "%s", path_of(self->s.ns, "/text"));
	syscall(SYS_getppid, 0x1001);
	EXPECT_STREQ(task_name("kst_before", pid), task_of(live, 0x1001));

	ASSERT_EQ(0, put(self->s.ns, "enabled", "0"));
	prctl(PR_SET_NAME, "kst_after");
	ASSERT_EQ(0, put(self->s.ns, "enabled", "1"));
	syscall(SYS_getppid, 0x1002);
	EXPECT_STREQ(task_name("<...>", pid), task_of(live, 0x1001));
	EXPECT_STREQ(task_name("kst_after", pid), task_of(live, 0x1002));
}

/* A snapshot names events as its namespace does, even if nobody has given them a name. */
TEST_F(text, unnamed)
{
	struct perf_event_attr attr = fault_attr(1);
	char live[256], snap[NS_ROOM + 64];
	__u64 id;
	int fd;

	ASSERT_EQ(0, ns_create_leave(&attr, self->s.cpu, PAGES, self->s.ns, &id));
	snprintf(live, sizeof(live), "%s", path_of(self->s.ns, "/text"));
	pin(self->s.cpu);
	touch_pages(1);
	EXPECT_TRUE(has_text(live, " page-faults:"));

	fd = ns_open(id, PERF_PERSIST_OPEN_WRITE);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, put(self->s.ns, "snapshot", "1"));
	snprintf(snap, sizeof(snap), PERFFS_DIR "/%.40s.1/text", self->s.ns);
	EXPECT_TRUE(has_text(snap, " page-faults:"));
	close(fd);
}

static void call_when_told(struct shared *shared)
{
	prctl(PR_SET_NAME, "kst_old");
	__atomic_store_n(&shared->named, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&shared->stop, __ATOMIC_ACQUIRE))
		usleep(1000);
	syscall(SYS_getppid, 0x1004);
	_exit(0);
}

/* A new task with the same pid does not give its name to older records. */
TEST_F(text, pid_reused)
{
	struct clone_args args = { .exit_signal = SIGCHLD };
	char snap[NS_ROOM + 64];
	pid_t pid, again;

	pid = fork_child();
	if (!pid)
		call_when_told(self->s.shared);
	/* The namespace would record how the task gets its name. */
	while (!__atomic_load_n(&self->s.shared->named, __ATOMIC_ACQUIRE))
		usleep(1000);
	ASSERT_EQ(0, make_ns(self->s.ns, false, "64K"));
	self->s.shared->stop = 1;
	ASSERT_EQ(0, child_status(pid));
	ASSERT_EQ(0, put(self->s.ns, "snapshot", "1"));

	args.set_tid = (unsigned long)&pid;
	args.set_tid_size = 1;
	again = syscall(SYS_clone3, &args, sizeof(args));
	if (!again) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, "kst_new");
		syscall(SYS_getppid, 0x1005);
		pause();
		_exit(0);
	}
	if (again < 0)
		SKIP(return, "cannot choose a pid");
	ASSERT_EQ(pid, again);
	while (!*task_of(path_of(self->s.ns, "/text"), 0x1005))
		usleep(1000);

	snprintf(snap, sizeof(snap), PERFFS_DIR "/%.40s.1/text", self->s.ns);
	EXPECT_STREQ(task_name("<...>", pid), task_of(snap, 0x1004));
	EXPECT_STREQ(task_name("kst_new", pid), task_of(path_of(self->s.ns, "/text"), 0x1005));
	kill(pid, SIGKILL);
	EXPECT_EQ(-1, child_status(pid));
}

/*
 * Makes a namespace of calls on a CPU, with pids as the caller's pid namespace has them,
 * and a call.
 */
static int make_in_pid_ns(const char *ns, int cpu)
{
	struct perf_event_attr attr;
	struct member m;
	__u64 id;
	int err;

	if (!syscall_attr(&attr))
		return 77;
	err = pin(cpu) || member_open(&m, &attr, cpu, PAGES) ||
	      filter_syscall(m.fd, SYS_getppid) || set_name(m.fd, "%s", ns) ||
	      persist_new(m.fd, &id);
	syscall(SYS_getppid, 0x1006);
	return err;
}

/* An event that was made in a pid namespace has no pid for tasks outside. */
TEST_F(text, outside)
{
	pid_t pid;

	ASSERT_EQ(0, pin(self->s.cpu));
	pid = fork_child();
	if (!pid) {
		if (unshare(CLONE_NEWPID))
			_exit(77);
		pid = fork();
		if (pid)
			_exit(child_status(pid));
		_exit(make_in_pid_ns(self->s.ns, self->s.cpu));
	}
	pid = child_status(pid);
	if (pid == 77)
		SKIP(return, "no pid namespaces, or no tracepoints");
	ASSERT_EQ(0, pid);
	syscall(SYS_getppid, 0x1007);
	EXPECT_STREQ("<...>-1", task_of(path_of(self->s.ns, "/text"), 0x1006));
	EXPECT_STREQ("<...>-?", task_of(path_of(self->s.ns, "/text"), 0x1007));
}

/* A record shows <gone> if its event has left, and "?" if it has no time. */
TEST_F(text, gone_event)
{
	struct perf_event_attr attr = fault_attr(1), calls;
	char text[65536];
	struct member m;
	__u64 id;
	int fd;

	if (!syscall_attr(&calls))
		SKIP(return, "no tracepoints");
	ASSERT_EQ(0, pin(self->s.cpu));
	ASSERT_EQ(0, member_open(&m, &attr, self->s.cpu, PAGES));
	fd = event_open(&calls, -1, self->s.cpu, -1, 0);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, filter_syscall(fd, SYS_getppid));
	ASSERT_EQ(0, event_ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, m.fd));
	ASSERT_EQ(0, persist_new(m.fd, &id));
	ASSERT_EQ(0, persist_join(fd, id));
	ASSERT_EQ(0, set_name(m.fd, "%s", self->s.ns));
	call_getppid(1);
	touch_pages(2);
	ASSERT_LT(0, read_file(path_of(self->s.ns, "/text"), text, sizeof(text)));
	EXPECT_NE(NULL, strstr(text, " ?: raw_syscalls:sys_enter: id=")) TH_LOG("%s", text);
	EXPECT_EQ(NULL, strstr(text, "<gone>"));

	ASSERT_EQ(0, persist_claim(fd));
	ASSERT_LT(0, read_file(path_of(self->s.ns, "/text"), text, sizeof(text)));
	EXPECT_NE(NULL, strstr(text, " ?: page-faults:")) TH_LOG("%s", text);
	EXPECT_NE(NULL, strstr(text, " <...>-?       [")) TH_LOG("%s", text);
	EXPECT_NE(NULL, strstr(text, " ?: <gone>:\n")) TH_LOG("%s", text);
	EXPECT_EQ(NULL, strstr(text, "swapper")) TH_LOG("%s", text);
	close(fd);
	member_close(&m);
}

static ssize_t read_stream(const char *path, char *buf, size_t room)
{
	FILE *file = fopen(path, "r");
	size_t len;

	if (!file)
		return -errno;
	memset(buf, 0, room);
	len = fread(buf, 1, room, file);
	fclose(file);
	return len;
}

/*
 * A snapshot keeps the fields of a tracepoint that is gone. It does not use those of
 * another one that got its number.
 */
TEST_F(text, gone_tracepoint)
{
	char snap[NS_ROOM], text[65536], type[2][16] = {};

	if (write_file(EVENTS, "p:kst_text/one " PROBED " first=\\1111:u32 word=\\\"old\""))
		SKIP(return, "no kprobe_events");

	ASSERT_LT(0, read_file(TRACING "/events/kst_text/one/id", type[0], sizeof(type[0])));
	ASSERT_EQ(0, mkdir(path_of(self->s.ns, "%s", ""), 0700));
	ASSERT_EQ(0, put(self->s.ns, "events", "kst_text:one"));
	ASSERT_EQ(0, put(self->s.ns, "enabled", "1"));
	ASSERT_LT(0, read_file(PARANOID, text, sizeof(text)));
	ASSERT_EQ(0, put(self->s.ns, "snapshot", "1"));
	ASSERT_EQ(0, rmdir(path_of(self->s.ns, "%s", "")));
	ASSERT_EQ(0, write_file(EVENTS, "-:kst_text/one"));
	ASSERT_EQ(0, write_file(EVENTS, "p:kst_text/two " PROBED " second=\\2222:u64"));
	ASSERT_LT(0, read_file(TRACING "/events/kst_text/two/id", type[1], sizeof(type[1])));
	ASSERT_STREQ(type[0], type[1]) TH_LOG("the other one has got another number");

	snprintf(snap, sizeof(snap), "%.40s.1", self->s.ns);
	ASSERT_LT(0, read_file(path_of(snap, "/text"), text, sizeof(text)));
	EXPECT_NE(NULL, strstr(text, ": kst_text:one: __probe_ip=0x")) TH_LOG("%s", text);
	EXPECT_NE(NULL, strstr(text, " first=1111 word=old\n")) TH_LOG("%s", text);
	EXPECT_EQ(NULL, strstr(text, "second"));

	/* The fields are somewhere at the start of the stream. */
	ASSERT_LT(0, read_stream(path_of(snap, "/data"), text, sizeof(text)));
	EXPECT_NE(NULL, memmem(text, sizeof(text), "\tfield:u32 first;", 17));
	EXPECT_EQ(NULL, memmem(text, sizeof(text), "second", 6));
}

/* The stream is made while it is read: seeking is possible to the start, and by one read. */
TEST_F(text, seek)
{
	char text[64], again[64];
	int fd;

	ASSERT_EQ(0, make_ns(self->s.ns, false, "64K"));
	fd = open(path_of(self->s.ns, "/data"), O_RDONLY);
	ASSERT_LE(0, fd);
	EXPECT_EQ(sizeof(text), read(fd, text, sizeof(text)));
	EXPECT_EQ(sizeof(again), read(fd, again, sizeof(again)));
	EXPECT_EQ(-1, pread(fd, again, sizeof(again), 8));
	EXPECT_EQ(ESPIPE, errno);
	EXPECT_EQ(sizeof(again), pread(fd, again, sizeof(again), 0));
	EXPECT_EQ(0, memcmp(text, again, sizeof(text)));
	EXPECT_EQ(sizeof(text), lseek(fd, sizeof(text), SEEK_SET));
	EXPECT_EQ(sizeof(text), read(fd, text, sizeof(text)));
	/* What the last read returned is still there. */
	EXPECT_EQ(8, pread(fd, again, sizeof(again), 2 * sizeof(text) - 8));
	EXPECT_EQ(0, memcmp(text + sizeof(text) - 8, again, 8));
	close(fd);
}

/* sendfile() reads again what a full socket did not take. */
TEST_F(text, sendfile)
{
	int fd, sv[2], small = 4096, stalls = 0;
	char snap[NS_ROOM], *whole, *got;
	ssize_t size, nr = 0, ret;

	whole = malloc(1 << 20);
	got = malloc(1 << 20);
	ASSERT_NE(NULL, whole);
	ASSERT_NE(NULL, got);
	ASSERT_EQ(0, make_ns(self->s.ns, false, "64K"));
	call_getppid(1000);
	ASSERT_EQ(0, put(self->s.ns, "snapshot", "1"));
	snprintf(snap, sizeof(snap), "%.40s.1", self->s.ns);
	size = read_stream(path_of(snap, "/data"), whole, 1 << 20);
	ASSERT_LT(65536, size);

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, sv));
	ASSERT_EQ(0, setsockopt(sv[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)));
	fd = open(path_of(snap, "/data"), O_RDONLY);
	ASSERT_LE(0, fd);
	do {
		ret = sendfile(sv[0], fd, NULL, 1000);
		if (ret >= 0)
			continue;
		ASSERT_EQ(EAGAIN, errno);
		stalls++;
		ret = read(sv[1], got + nr, 777);
		ASSERT_LT(0, ret);
		nr += ret;
	} while (ret);
	shutdown(sv[0], SHUT_WR);
	while ((ret = read(sv[1], got + nr, (1 << 20) - nr)) > 0)
		nr += ret;
	EXPECT_EQ(0, ret);
	EXPECT_LT(0, stalls);
	EXPECT_EQ(size, nr);
	EXPECT_EQ(0, memcmp(whole, got, size));
	close(fd);
	close(sv[0]);
	close(sv[1]);
	free(whole);
	free(got);
}

TEST_HARNESS_MAIN
