// SPDX-License-Identifier: GPL-2.0
/*
 * Does everything at once, from several processes, on the same events, names and buffers.
 * Bugs show in the kernel's log. The test itself checks that each call ends in a
 * documented way, and that nothing stays behind.
 */
#include "persistent.h"
#include <pthread.h>
#include <sys/stat.h>

#define WORKERS	4
#define ROUNDS	400
#define SHARED	4
#define NAMES	3

FIXTURE(race)
{
	char	ns[NS_ROOM];
	int	cpu, cpu2;
	int	fd[SHARED];
};

FIXTURE_SETUP(race)
{
	struct perf_event_attr attr = say_attr();
	const char *missing;
	int i;

	missing = persist_begin(self->ns, &self->cpu, &self->cpu2);
	if (missing)
		SKIP(return, "%s", missing);
	for (i = 0; i < SHARED; i++) {
		self->fd[i] = event_open(&attr, -1, self->cpu, -1, 0);
		ASSERT_LE(0, self->fd[i]);
	}
}

FIXTURE_TEARDOWN_PARENT(race)
{
	persist_sweep();
}

struct worker {
	const char	*ns;
	const int	*fd;
	int		cpu;
	unsigned int	seed;
	__u64		id;	/* of the namespace that was seen last */
};

static int pick(struct worker *w, int n)
{
	return rand_r(&w->seed) % n;
}

static int any_fd(struct worker *w)
{
	return w->fd[pick(w, SHARED)];
}

static void any_name(struct worker *w, char *name)
{
	snprintf(name, NAME_ROOM, "%s-%d", w->ns, pick(w, NAMES));
}

static int look_up(struct worker *w)
{
	char name[NAME_ROOM];

	any_name(w, name);
	w->id = ns_lookup(name);
	return 0;
}

static int create(struct worker *w)
{
	struct perf_event_attr attr = say_attr();
	char name[NAME_ROOM];
	__u64 id;
	int err;

	any_name(w, name);
	err = ns_create_leave(&attr, w->cpu, 1, name, &id);
	if (!err)
		w->id = id;
	return err;
}

static int persist(struct worker *w)
{
	__u64 id;
	int err;

	err = persist_new(any_fd(w), &id);
	if (!err)
		w->id = id;
	return err;
}

static int join(struct worker *w)
{
	return persist_join(any_fd(w), w->id);
}

static int name(struct worker *w)
{
	char name[NAME_ROOM];

	any_name(w, name);
	return set_name(any_fd(w), "%s/label", name);
}

static int claim(struct worker *w)
{
	return persist_claim(any_fd(w));
}

static int redirect(struct worker *w)
{
	return event_ioctl(any_fd(w), PERF_EVENT_IOC_SET_OUTPUT, pick(w, 3) ? any_fd(w) : -1);
}

static int map(struct worker *w)
{
	return ring_map_err(any_fd(w), 1, pick(w, 3) ? PROT_READ : PROT_READ | PROT_WRITE);
}

static unsigned long on_or_off(struct worker *w)
{
	return pick(w, 2) ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE;
}

static int switch_event(struct worker *w)
{
	return event_ioctl(any_fd(w), on_or_off(w), 0);
}

static int switch_ns(struct worker *w)
{
	int err, fd = ns_open(w->id, PERF_PERSIST_OPEN_WRITE);

	if (fd < 0)
		return fd;
	err = event_ioctl(fd, on_or_off(w), 0);
	close(fd);
	return err;
}

static int reopen(struct worker *w)
{
	int err, fd = member_reopen(w->id, 0, w->cpu, pick(w, 2));

	if (fd < 0)
		return fd;
	err = ring_map_err(fd, pick(w, 2), PROT_READ);
	poll_now(fd);
	close(fd);
	return err;
}

static int list(struct worker *w)
{
	int n = ns_count(w->id);

	return n < 0 ? n : 0;
}

static int delete(struct worker *w)
{
	return ns_kill(w->id);
}

static int write_record(struct worker *w)
{
	say("race");
	return 0;
}

static const struct {
	const char	*what;
	int		(*func)(struct worker *w);
	int		errors[8];	/* that are expected here */
} ops[] = {
	{ "look up", look_up },
	{ "create", create, { EEXIST } },
	{ "new", persist, { EBUSY, EEXIST, EINVAL, ENODEV, EACCES } },
	{ "join", join, { EBUSY, ENOENT, EINVAL, ENODEV, EACCES } },
	{ "name", name, { EBUSY, EEXIST, EINVAL, ENODEV, EPERM, EACCES } },
	{ "claim", claim, { EBUSY, ENOENT, ENODEV } },
	{ "redirect", redirect, { EBUSY, EINVAL, ENODEV, EBADF } },
	{ "map", map, { EBUSY, EINVAL, ENODEV, EACCES } },
	{ "switch event", switch_event, { ENODEV } },
	{ "switch namespace", switch_ns, { ENOENT, ENODEV, EINVAL } },
	{ "reopen", reopen, { ENOENT, EINVAL, ENODEV, EBUSY } },
	{ "list", list, { ENOENT, EINVAL, ENODEV } },
	{ "delete", delete, { ENOENT, EINVAL, ENODEV } },
	{ "write", write_record },
};

static bool expected(int op, int err)
{
	unsigned int i;

	for (i = 0; err && i < ARRAY_SIZE(ops[op].errors); i++) {
		if (err == -ops[op].errors[i])
			return true;
	}
	return !err;
}

/* All calls race with all others. H3, H15 */
TEST_F(race, everything)
{
	struct worker w = { .ns = self->ns, .fd = self->fd, .cpu = self->cpu };
	pid_t pid[WORKERS];
	char name[NAME_ROOM];
	int i, round, op, err;

	for (i = 0; i < WORKERS; i++) {
		pid[i] = fork_child();
		ASSERT_LE(0, pid[i]);
		if (pid[i])
			continue;
		w.seed = i + 1;
		if (self->cpu2 >= 0 && i % 2)
			pin(self->cpu2);
		for (round = 0; round < ROUNDS; round++) {
			op = pick(&w, ARRAY_SIZE(ops));
			err = ops[op].func(&w);
			EXPECT_TRUE(expected(op, err))
				TH_LOG("worker %d, round %d, %s: %d", i, round, ops[op].what, err);
		}
		_exit(0);
	}
	for (i = 0; i < WORKERS; i++)
		EXPECT_EQ(0, child_status(pid[i]));

	/* All namespaces that are left can be deleted, and every name is free again. */
	for (i = 0; i < SHARED; i++)
		close(self->fd[i]);
	for (i = 0; i < NAMES; i++) {
		struct perf_event_attr attr = say_attr();
		struct member m;

		snprintf(name, sizeof(name), "%s-%d", self->ns, i);
		w.id = ns_lookup(name);
		EXPECT_EQ(0, w.id ? ns_kill(w.id) : 0);
		ASSERT_EQ(0, ns_create(&m, &attr, self->cpu, PAGES, name, &w.id));
		say("free again");
		EXPECT_EQ(1, heard(m.fd, m.map, "free again"));
		EXPECT_EQ(0, ns_kill(w.id));
		EXPECT_EQ(0, ns_lookup(name));
	}
}

#define MKDIRS	20000

/* A thread that joins namespaces which mkdir() makes, and at once gives up again */
struct joiner {
	int		cpu;	/* of its event */
	int		runs_on;
	__u64		id;	/* of the namespace before the first one of mkdir() */
	unsigned int	made;	/* calls of mkdir() that have returned */
	unsigned int	joined;
	bool		end;
};

static void *join_new_ids(void *arg)
{
	struct perf_event_attr attr = say_attr();
	struct joiner *joiner = arg;
	int fd = -1;

	if (joiner->runs_on >= 0)
		pin(joiner->runs_on);
	while (!__atomic_load_n(&joiner->end, __ATOMIC_RELAXED)) {
		if (fd < 0)
			fd = event_open(&attr, -1, joiner->cpu, -1, 0);
		if (persist_join_unnamed(fd, joiner->id + 1 +
					 __atomic_load_n(&joiner->made, __ATOMIC_RELAXED)))
			continue;
		joiner->joined++;
		close(fd);
		fd = -1;
	}
	if (fd >= 0)
		close(fd);
	return NULL;
}

/* Another thread finds by its id what mkdir() made and could not give its name. */
TEST_F(race, refused_directory)
{
	struct joiner joiner = { .cpu = self->cpu, .runs_on = self->cpu2 };
	char max[32], path[sizeof(PERFFS_DIR) + 1 + NS_ROOM];
	pthread_t thread;
	int i, err = 0, started;

	if (mount_perffs())
		SKIP(return, "cannot mount perffs");
	pin(self->cpu);
	snprintf(path, sizeof(path), PERFFS_DIR "/%s", self->ns);
	ASSERT_EQ(0, persist_new(self->fd[0], &joiner.id));
	ASSERT_EQ(0, persist_claim(self->fd[0]));
	ASSERT_LT(0, read_file(MAX_PERSISTENT, max, sizeof(max)));
	ASSERT_EQ(0, write_file(MAX_PERSISTENT, "0"));

	started = !pthread_create(&thread, NULL, join_new_ids, &joiner);
	for (i = 0; started && i < MKDIRS && (!err || err == -ENOSPC); i++) {
		err = neg_errno(mkdir(path, 0700));
		__atomic_store_n(&joiner.made, i + 1, __ATOMIC_RELAXED);
	}
	__atomic_store_n(&joiner.end, true, __ATOMIC_RELAXED);
	if (started)
		pthread_join(thread, NULL);
	EXPECT_EQ(0, write_file(MAX_PERSISTENT, max));
	EXPECT_TRUE(started);
	EXPECT_EQ(-ENOSPC, err);

	EXPECT_EQ(0, neg_errno(mkdir(path, 0700)));
	EXPECT_EQ(0, neg_errno(rmdir(path)));
	if (!joiner.joined)
		SKIP(return, "the other thread never came between");
}

TEST_HARNESS_MAIN
