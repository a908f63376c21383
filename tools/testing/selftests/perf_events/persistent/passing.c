// SPDX-License-Identifier: GPL-2.0
/*
 * Descriptors that are passed on. Their access was settled when they were opened, whoever
 * has them now. Opening again is checked anew. H16
 */
#include <sys/socket.h>

#include "persistent.h"

enum fd_kind { READER, WRITER, LISTING, MANAGER, NR_FDS };

/* The descriptors, and the results of the process that received them. It all fits in a page. */
struct passed {
	int	fd[NR_FDS];
	__u64	id, event;
	int	cpu;

	int	can_reopen_before;

	int	mode[NR_FDS];
	int	info, id_ioctl, count, mapped, mapped_writable, protect;
	int	reader_changes, reader_labels, reader_claims;
	int	own_event, output, group;
	int	writer_changes, writer_labels, writer_claims;
	int	listed, withheld;
	int	listing_changes, listing_deletes;
	int	manager_changes, manager_deletes;
	int	reopened, reopened_first, reopened_writer;
	int	ns_opened, ns_bound, ns_writer;
	int	proc_writer;
	int	done;
};

static int access_mode(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags < 0 ? -errno : flags & O_ACCMODE;
}

static int change(int fd)
{
	int err = event_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);

	return err ? err : event_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
}

/* Tries all that there is, with the descriptors and without. */
static void use(struct passed *p)
{
	struct perf_event_attr attr = say_attr();
	int reader = p->fd[READER], writer = p->fd[WRITER];
	int listing = p->fd[LISTING], manager = p->fd[MANAGER];
	struct perf_event_persist_member info;
	struct perf_event_persist ns = {};
	char path[64];
	__u64 count;
	void *map;
	int i, fd;

	for (i = 0; i < NR_FDS; i++)
		p->mode[i] = access_mode(p->fd[i]);

	p->info = get_member(reader, &info) ?: get_persist(reader, &ns);
	p->id_ioctl = event_id(reader) == p->event ? 0 : -EPROTO;
	p->count = read(reader, &count, sizeof(count)) == sizeof(count) ? 0 : -errno;
	map = ring_map(reader, PAGES, PROT_READ);
	p->mapped = map == MAP_FAILED ? -errno : 0;
	p->protect = neg_errno(mprotect(map, ring_len(PAGES), PROT_READ | PROT_WRITE));
	p->mapped_writable = ring_map_err(reader, PAGES, PROT_READ | PROT_WRITE);
	p->reader_changes = change(reader);
	p->reader_labels = set_name(reader, "/reader");
	p->reader_claims = persist_claim(reader);

	/*
	 * As output and as leader of an event of its own task, which the receiver may
	 * have. H16b
	 */
	fd = event_open(&attr, 0, p->cpu, -1, 0);
	p->own_event = fd;
	p->output = event_ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, reader);
	p->group = event_open(&attr, 0, p->cpu, reader, 0);

	p->writer_changes = change(writer);
	p->writer_labels = set_name(writer, "/writer");
	p->writer_claims = persist_claim(writer);

	memset(&info, 0, sizeof(info));
	p->listed = next_member(listing, &info) ?: get_persist(listing, &ns);
	p->withheld = !!(info.flags & PERF_PERSIST_ATTR_WITHHELD);
	p->listing_changes = change(listing);
	p->listing_deletes = ns_delete(listing);

	p->reopened = member_reopen(p->id, p->event, -1, 0);
	p->reopened_first = member_reopen(p->id, 0, p->cpu, 0);
	p->reopened_writer = member_reopen(p->id, p->event, -1, PERF_PERSIST_OPEN_WRITE);
	p->ns_opened = ns_open(p->id, 0);
	fd = ns_open(PERF_PERSIST_NEW, 0);
	p->ns_bound = fd < 0 ? fd : set_name_str(fd, ns.name);
	p->ns_writer = ns_open(p->id, PERF_PERSIST_OPEN_WRITE);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", reader);
	p->proc_writer = neg_errno(open(path, O_RDWR));

	p->manager_changes = change(manager);
	p->manager_deletes = ns_delete(manager);
	p->done = 1;
}

/* pass_exec() executes this program anew, with the descriptors. */
#define PASSED_FD	"PERSISTENT_PASSED_FD"

static void __attribute__((constructor)) passed_init(void)
{
	const char *fd = getenv(PASSED_FD);
	struct passed *p;

	if (!fd)
		return;
	p = mmap(NULL, page_size(), PROT_READ | PROT_WRITE, MAP_SHARED, atoi(fd), 0);
	if (p == MAP_FAILED)
		_exit(KSFT_FAIL);
	use(p);
	_exit(0);
}

FIXTURE(passing)
{
	char	ns[NS_ROOM];
	int	cpu, cpu2;
	struct member m;
	int	memfd;
	struct passed *p;
};

/* Passes the descriptors to a process of user nobody. Returns 0 when they arrived. */
FIXTURE_VARIANT(passing)
{
	int	(*pass)(struct passed *p, int memfd);
};

static void close_passed(struct passed *p)
{
	int i;

	for (i = 0; i < NR_FDS; i++) {
		close(p->fd[i]);
		p->fd[i] = -1;
	}
}

/* Kept by a process that drops its rights after they were opened */
static int pass_fork(struct passed *p, int memfd)
{
	pid_t pid = fork_child();

	if (!pid) {
		p->can_reopen_before = member_reopen(p->id, p->event, -1, PERF_PERSIST_OPEN_WRITE);
		if (become(NOBODY, 0))
			_exit(KSFT_FAIL);
		use(p);
		_exit(0);
	}
	return child_status(pid);
}

/* Kept across an exec, which takes CAP_PERFMON away */
static int pass_exec(struct passed *p, int memfd)
{
	char env[64], *argv[] = { "passing", NULL }, *envp[] = { env, NULL };
	pid_t pid;
	int i, exe;

	pid = fork_child();
	if (pid)
		return child_status(pid);

	exe = open("/proc/self/exe", O_RDONLY);
	if (exe < 0 || fcntl(memfd, F_SETFD, 0))
		_exit(KSFT_FAIL);
	for (i = 0; i < NR_FDS; i++) {
		if (fcntl(p->fd[i], F_SETFD, 0))
			_exit(KSFT_FAIL);
	}
	if (become(NOBODY, cap_bit(CAP_PERFMON)))
		_exit(KSFT_FAIL);
	p->can_reopen_before = member_reopen(p->id, p->event, -1, PERF_PERSIST_OPEN_WRITE);
	snprintf(env, sizeof(env), PASSED_FD "=%d", memfd);
	syscall(SYS_execveat, exe, "", argv, envp, AT_EMPTY_PATH);
	_exit(KSFT_FAIL);
}

/* Sent over a socket */
static int pass_scm(struct passed *p, int memfd)
{
	union {
		struct cmsghdr hdr;
		char room[CMSG_SPACE(sizeof(p->fd))];
	} control = {};
	struct iovec iov = { .iov_base = "x", .iov_len = 1 };
	struct msghdr msg = {
		.msg_iov	= &iov,
		.msg_iovlen	= 1,
		.msg_control	= &control,
		.msg_controllen	= sizeof(control),
	};
	int sk[2], fd[NR_FDS];
	struct cmsghdr *cmsg;
	pid_t pid;
	char byte;

	memcpy(fd, p->fd, sizeof(fd));
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, sk))
		return -1;
	pid = fork_child();
	if (!pid) {
		/*
		 * The child has no descriptors of its own, and those it receives get
		 * other numbers.
		 */
		close_passed(p);
		p->can_reopen_before = member_reopen(p->id, p->event, -1, PERF_PERSIST_OPEN_WRITE);
		if (become(NOBODY, 0))
			_exit(KSFT_FAIL);
		iov.iov_base = &byte;
		if (recvmsg(sk[1], &msg, 0) != 1)
			_exit(KSFT_FAIL);
		cmsg = CMSG_FIRSTHDR(&msg);
		if (!cmsg || cmsg->cmsg_type != SCM_RIGHTS)
			_exit(KSFT_FAIL);
		memcpy(p->fd, CMSG_DATA(cmsg), sizeof(p->fd));
		use(p);
		_exit(0);
	}

	cmsg = CMSG_FIRSTHDR(&msg);
	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(cmsg), fd, sizeof(fd));
	if (sendmsg(sk[0], &msg, 0) != 1)
		kill(pid, SIGKILL);
	close(sk[0]);
	close(sk[1]);
	return child_status(pid);
}

/* Taken from a process of the same user with pidfd_getfd() */
static int pass_getfd(struct passed *p, int memfd)
{
	int ready[2], i, pidfd, status;
	pid_t holder, pid;
	char byte;

	if (pipe(ready))
		return -1;
	holder = fork_child();
	if (!holder) {
		if (become(NOBODY, 0) || prctl(PR_SET_DUMPABLE, 1) ||
		    write(ready[1], "x", 1) != 1)
			_exit(KSFT_FAIL);
		for (;;)
			pause();
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		return -1;

	pid = fork_child();
	if (!pid) {
		int fd[NR_FDS];

		memcpy(fd, p->fd, sizeof(fd));
		close_passed(p);
		p->can_reopen_before = member_reopen(p->id, p->event, -1, PERF_PERSIST_OPEN_WRITE);
		if (become(NOBODY, 0))
			_exit(KSFT_FAIL);
		pidfd = syscall(SYS_pidfd_open, holder, 0);
		for (i = 0; i < NR_FDS; i++)
			p->fd[i] = syscall(SYS_pidfd_getfd, pidfd, fd[i], 0);
		if (p->fd[READER] < 0)
			_exit(KSFT_FAIL);
		use(p);
		_exit(0);
	}
	status = child_status(pid);
	kill(holder, SIGKILL);
	waitpid(holder, NULL, 0);
	close(ready[0]);
	return status;
}

FIXTURE_VARIANT_ADD(passing, fork)
{
	.pass = pass_fork,
};

FIXTURE_VARIANT_ADD(passing, exec)
{
	.pass = pass_exec,
};

FIXTURE_VARIANT_ADD(passing, socket)
{
	.pass = pass_scm,
};

FIXTURE_VARIANT_ADD(passing, pidfd_getfd)
{
	.pass = pass_getfd,
};

FIXTURE_SETUP(passing)
{
	struct perf_event_attr attr = say_attr();
	const char *missing;
	char name[NAME_ROOM];
	struct passed *p;

	missing = persist_begin(self->ns, &self->cpu, &self->cpu2);
	if (missing)
		SKIP(return, "%s", missing);
	if (geteuid())
		SKIP(return, "needs root, to become others");
	ASSERT_EQ(0, set_paranoid(2));

	/* Shared with all receivers, through an exec too */
	self->memfd = syscall(SYS_memfd_create, "passed", 0);
	ASSERT_LE(0, self->memfd);
	ASSERT_EQ(0, ftruncate(self->memfd, page_size()));
	p = mmap(NULL, page_size(), PROT_READ | PROT_WRITE, MAP_SHARED, self->memfd, 0);
	ASSERT_NE(MAP_FAILED, p);
	self->p = p;

	snprintf(name, sizeof(name), "%s/first", self->ns);
	ASSERT_EQ(0, ns_create(&self->m, &attr, self->cpu, PAGES, name, &p->id));
	p->event = event_id(self->m.fd);
	p->cpu = self->cpu;
	p->fd[READER] = member_reopen(p->id, 0, self->cpu, 0);
	p->fd[WRITER] = member_reopen(p->id, 0, self->cpu, PERF_PERSIST_OPEN_WRITE);
	p->fd[LISTING] = ns_open(p->id, 0);
	p->fd[MANAGER] = ns_open(p->id, PERF_PERSIST_OPEN_WRITE);
	ASSERT_LE(0, p->fd[READER]);
	ASSERT_LE(0, p->fd[WRITER]);
	ASSERT_LE(0, p->fd[LISTING]);
	ASSERT_LE(0, p->fd[MANAGER]);
}

FIXTURE_TEARDOWN_PARENT(passing)
{
	persist_undo();
}

/* Access goes with the descriptor; the right to open does not. H8, H16, H16b */
TEST_F(passing, to_nobody)
{
	struct passed *p = self->p;
	struct perf_event_persist_member info;

	ASSERT_EQ(0, variant->pass(p, self->memfd));
	ASSERT_EQ(1, p->done);

	EXPECT_LE(0, p->can_reopen_before);

	/* A reader reads, and does nothing else. */
	EXPECT_EQ(O_RDONLY, p->mode[READER]);
	EXPECT_EQ(0, p->info);
	EXPECT_EQ(0, p->id_ioctl);
	EXPECT_EQ(0, p->count);
	EXPECT_EQ(0, p->mapped);
	EXPECT_EQ(-EACCES, p->protect);
	EXPECT_EQ(-EACCES, p->mapped_writable);
	EXPECT_EQ(-EACCES, p->reader_changes);
	EXPECT_EQ(-EACCES, p->reader_labels);
	EXPECT_EQ(-EACCES, p->reader_claims);
	EXPECT_LE(0, p->own_event);
	EXPECT_EQ(-EACCES, p->output);
	EXPECT_EQ(-EACCES, p->group);

	/* A writer passes write access, but not what requires CAP_PERFMON at the call. */
	EXPECT_EQ(O_RDWR, p->mode[WRITER]);
	EXPECT_EQ(0, p->writer_changes);
	EXPECT_EQ(-EACCES, p->writer_labels);
	EXPECT_EQ(-EACCES, p->writer_claims);

	/* A listing shows to its user what that user may open. */
	EXPECT_EQ(O_RDONLY, p->mode[LISTING]);
	EXPECT_EQ(0, p->listed);
	EXPECT_EQ(1, p->withheld);
	EXPECT_EQ(-EACCES, p->listing_changes);
	EXPECT_EQ(-EACCES, p->listing_deletes);

	EXPECT_EQ(-EACCES, p->reopened);
	EXPECT_EQ(-EACCES, p->reopened_first);
	EXPECT_EQ(-EACCES, p->reopened_writer);
	EXPECT_EQ(-EACCES, p->ns_opened);
	EXPECT_EQ(-EACCES, p->ns_bound);
	EXPECT_EQ(-EACCES, p->ns_writer);
	EXPECT_GT(0, p->proc_writer);

	EXPECT_EQ(O_RDWR, p->mode[MANAGER]);
	EXPECT_EQ(0, p->manager_changes);
	EXPECT_EQ(0, p->manager_deletes);
	EXPECT_EQ(0, ns_lookup(self->ns));
	ASSERT_EQ(0, get_member(self->m.fd, &info));
	EXPECT_STREQ("first", info.label);
}

/*
 * A descriptor that user nobody opened for reading only reads in the hands of root, too.
 * H8, H16
 */
TEST(to_root)
{
	struct perf_event_attr attr = say_attr();
	char ns[NS_ROOM], byte;
	int cpu, cpu2, ready[2], pidfd, *fd;
	struct perf_event_persist_member info = {};
	int reader, listing;
	const char *missing;
	pid_t pid;
	__u64 id;

	missing = persist_begin(ns, &cpu, &cpu2);
	if (missing)
		SKIP(return, "%s", missing);
	if (geteuid())
		SKIP(return, "needs root, to become others");
	ASSERT_EQ(0, ns_create_leave(&attr, cpu, PAGES, ns, &id));
	fd = mmap(NULL, page_size(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, fd);
	ASSERT_EQ(0, pipe(ready));

	ASSERT_EQ(0, set_paranoid(0));
	pid = fork_child();
	if (!pid) {
		if (become(NOBODY, 0))
			_exit(KSFT_FAIL);
		fd[0] = member_reopen(id, 0, cpu, 0);
		fd[1] = ns_open(id, 0);
		if (write(ready[1], "x", 1) != 1)
			_exit(KSFT_FAIL);
		for (;;)
			pause();
	}
	close(ready[1]);
	EXPECT_EQ(1, read(ready[0], &byte, 1));
	restore_paranoid();
	ASSERT_LE(0, fd[0]);
	ASSERT_LE(0, fd[1]);

	pidfd = syscall(SYS_pidfd_open, pid, 0);
	reader = neg_errno(syscall(SYS_pidfd_getfd, pidfd, fd[0], 0));
	listing = neg_errno(syscall(SYS_pidfd_getfd, pidfd, fd[1], 0));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);

	ASSERT_EQ(0, get_member(reader, &info));
	EXPECT_EQ(0, ring_map_err(reader, PAGES, PROT_READ));
	EXPECT_EQ(-EACCES, ring_map_err(reader, PAGES, PROT_READ | PROT_WRITE));
	EXPECT_EQ(-EACCES, change(reader));
	EXPECT_EQ(-EACCES, set_name(reader, "/root"));
	EXPECT_EQ(-EACCES, persist_claim(reader));
	EXPECT_EQ(-EACCES, change(listing));
	EXPECT_EQ(-EACCES, ns_delete(listing));

	/* Whether attr and label are shown depends on the caller. */
	memset(&info, 0, sizeof(info));
	EXPECT_EQ(0, next_member(listing, &info));
	EXPECT_EQ(0, info.flags & PERF_PERSIST_ATTR_WITHHELD);
	EXPECT_EQ(id, ns_lookup(ns));
	EXPECT_EQ(0, ns_kill(id));
}

TEST_HARNESS_MAIN
