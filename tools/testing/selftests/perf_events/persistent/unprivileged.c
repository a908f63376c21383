// SPDX-License-Identifier: GPL-2.0
/*
 * A user without privileges can see names, and is refused almost all else. Run it as such
 * a user, or as root: the test then makes a namespace to look at, and becomes such a user.
 */
#include "persistent.h"

/* The last id, which no namespace ever gets */
#define NO_NS	(PERF_PERSIST_NEW - 1)

FIXTURE(unprivileged)
{
	char	ns[NS_ROOM];
	int	cpu, cpu2;
	int	paranoid;
	__u64	id, event;	/* 0: there is nothing to look at */
};

FIXTURE_SETUP(unprivileged)
{
	struct perf_event_attr attr = say_attr();
	char name[NAME_ROOM], text[16];
	const char *missing;
	struct member m;

	if (access(PMU_DIR "/persistent/type", R_OK))
		SKIP(return, "the kernel has no persistent perf events");
	ASSERT_LT(0, read_file(PARANOID, text, sizeof(text)));
	self->paranoid = atoi(text);
	self->cpu = sched_getcpu();
	ASSERT_LE(0, self->cpu);

	if (may_create()) {
		missing = persist_begin(self->ns, &self->cpu, &self->cpu2);
		if (missing)
			SKIP(return, "%s", missing);
		snprintf(name, sizeof(name), "%s/first", self->ns);
		ASSERT_EQ(0, ns_create(&m, &attr, self->cpu, PAGES, name, &self->id));
		self->event = event_id(m.fd);
		member_close(&m);
	}
	if (!geteuid())
		ASSERT_EQ(0, become(NOBODY, 0));
	drop_caps(~0ULL);
	ASSERT_FALSE(may_create());
	ASSERT_NE(0, geteuid());
}

FIXTURE_TEARDOWN_PARENT(unprivileged)
{
	persist_sweep();
}

/* A program can find out that the kernel has persistent events without opening one. */
TEST_F(unprivileged, detect)
{
	char text[16];

	ASSERT_LT(0, read_file(PMU_DIR "/persistent/type", text, sizeof(text)));
	EXPECT_EQ(PERF_TYPE_PERSISTENT, atoi(text));
}

/* Everybody may read names, and nobody may change them. */
TEST_F(unprivileged, names)
{
	char path[512], text[64];
	unsigned long long id;
	struct dirent *dent;
	bool seen = false;
	DIR *dir;

	dir = opendir(NS_DIR);
	ASSERT_NE(NULL, dir);
	while ((dent = readdir(dir))) {
		if (dent->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), NS_DIR "/%s", dent->d_name);
		/* Others may delete theirs at any time. */
		if (read_file(path, text, sizeof(text)) < 0) {
			EXPECT_NE(0, access(path, F_OK))
				TH_LOG("cannot read %s", path);
			continue;
		}
		EXPECT_EQ(1, sscanf(text, "config=0x%llx\n", &id));
		seen |= self->id && id == self->id && !strcmp(dent->d_name, self->ns);
		EXPECT_EQ(-1, open(path, O_WRONLY));
		EXPECT_EQ(-1, unlink(path));
	}
	closedir(dir);
	EXPECT_EQ(!!self->id, seen);
	EXPECT_EQ(-1, open(NS_DIR "/kst", O_WRONLY | O_CREAT, 0600));
	EXPECT_EQ(-1, mkdir(NS_DIR "/kst", 0700));
	EXPECT_EQ(self->id, self->id ? ns_lookup(self->ns) : 0);
}

/* Write access is refused, whatever exists and whatever perf_event_paranoid says. */
TEST_F(unprivileged, no_write_access)
{
	__u64 ids[] = { self->id, NO_NS, PERF_PERSIST_NEW };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ids); i++) {
		if (ids[i])
			EXPECT_EQ(-EACCES, ns_open(ids[i], PERF_PERSIST_OPEN_WRITE));
	}
	for (i = 0; i < 2; i++) {
		if (!ids[i])
			continue;
		EXPECT_EQ(-EACCES, member_reopen(ids[i], 0, self->cpu, PERF_PERSIST_OPEN_WRITE));
		EXPECT_EQ(-EACCES, member_reopen(ids[i], 1, -1, PERF_PERSIST_OPEN_WRITE));
	}
	EXPECT_EQ(self->id, self->id ? ns_lookup(self->ns) : 0);
}

/* A user's own event cannot be made persistent, and goes on as before. */
TEST_F(unprivileged, own_event)
{
	struct perf_event_attr attr = fault_attr(0);
	struct perf_event_persist_member p;
	__u64 id, before, after;
	char name[NAME_ROOM];
	int fd;

	if (locked_out())
		SKIP(return, "perf_event_paranoid %d leaves no event to us", self->paranoid);
	fd = event_open(&attr, 0, -1, -1, 0);
	ASSERT_LE(0, fd);
	snprintf(name, sizeof(name), "%sown", persist_prefix);
	EXPECT_EQ(-EACCES, set_name_str(fd, name));
	EXPECT_EQ(-EACCES, set_name(fd, "/label"));
	EXPECT_EQ(-EACCES, persist_new(fd, &id));
	EXPECT_EQ(PERF_PERSIST_NEW, id);
	EXPECT_EQ(-EACCES, persist_join(fd, self->id ? : NO_NS));
	EXPECT_EQ(-EACCES, persist_join_unnamed(fd, self->id ? : NO_NS));
	EXPECT_EQ(-EACCES, persist_claim(fd));
	EXPECT_EQ(-EACCES, persist_set_flags(fd, 0));
	EXPECT_EQ(-ENOENT, get_member(fd, &p));
	EXPECT_EQ(0, ns_lookup(name));

	ASSERT_EQ(sizeof(before), read(fd, &before, sizeof(before)));
	touch_pages(8);
	ASSERT_EQ(sizeof(after), read(fd, &after, sizeof(after)));
	EXPECT_LE(before + 8, after);
	EXPECT_EQ(0, event_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0));
}

/* Unless locked out, everybody can open an unbound descriptor, and do nothing with it. */
TEST_F(unprivileged, unbound)
{
	struct perf_event_persist_member p = {};
	int fd;

	fd = ns_open(PERF_PERSIST_NEW, 0);
	if (locked_out()) {
		EXPECT_EQ(-EACCES, fd);
		return;
	}
	ASSERT_LE(0, fd);
	EXPECT_EQ(-ENOENT, set_name(fd, "%snone", persist_prefix));
	EXPECT_EQ(-EINVAL, next_member(fd, &p));
	EXPECT_EQ(-EACCES, event_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0));
	EXPECT_EQ(-EACCES, event_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0));
	EXPECT_EQ(-EACCES, ns_delete(fd));
	EXPECT_EQ(POLLERR, poll_now(fd));
}

/* A namespace that does not exist is not there for anybody. */
TEST_F(unprivileged, no_such_namespace)
{
	int expected = locked_out() ? -EACCES : -ENOENT;

	EXPECT_EQ(expected, ns_open(NO_NS, 0));
	EXPECT_EQ(expected, member_reopen(NO_NS, 0, self->cpu, 0));
	EXPECT_EQ(expected, member_reopen(NO_NS, 1, -1, 0));
}

/*
 * A user without privileges may read the recorder of another if perf_event_paranoid lets
 * everybody watch CPUs. H16
 */
TEST_F(unprivileged, read_another_s)
{
	int expected = self->paranoid > 0 ? -EACCES : 0;
	struct perf_event_persist_member p = {};
	int fd[3], i, err;

	if (!self->id)
		SKIP(return, "there is none: it takes CAP_PERFMON to make one");
	fd[0] = member_reopen(self->id, 0, self->cpu, 0);
	fd[1] = member_reopen(self->id, self->event, -1, 0);
	fd[2] = ns_open(self->id, 0);
	for (i = 0; i < 3; i++)
		EXPECT_EQ(expected, fd[i] < 0 ? fd[i] : 0);
	if (locked_out())
		return;

	fd[2] = ns_open(PERF_PERSIST_NEW, 0);
	ASSERT_LE(0, fd[2]);
	EXPECT_EQ(expected, set_name_str(fd[2], self->ns));
	err = next_member(fd[2], &p);
	EXPECT_EQ(expected ? -EINVAL : 0, err);
	if (!expected)
		EXPECT_EQ(0, ring_map_err(fd[0], PAGES, PROT_READ));
}

TEST_HARNESS_MAIN
