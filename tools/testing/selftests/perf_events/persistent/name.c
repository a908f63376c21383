// SPDX-License-Identifier: GPL-2.0
/*
 * Names of namespaces, labels of members, and when a namespace gets published.
 */
#include <linux/securebits.h>

#include "persistent.h"

FIXTURE(name)
{
	char	ns[NS_ROOM];
	int	cpu, cpu2;
	int	fd;	/* an event in no namespace */
};

FIXTURE_SETUP(name)
{
	const char *missing;

	missing = persist_begin(self->ns, &self->cpu, &self->cpu2);
	if (missing)
		SKIP(return, "%s", missing);
	self->fd = counter_open(self->cpu);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN_PARENT(name)
{
	persist_sweep();
}

static bool may_start(int c)
{
	return (c >= 'a' && c <= 'z') || c == '_';
}

static bool may_follow(int c)
{
	return may_start(c) || (c >= '0' && c <= '9') || c == '-';
}

/* A name starts with a small letter or '_'; every other byte is refused. H17 */
TEST_F(name, first_byte)
{
	int c;

	for (c = 1; c < 256; c++) {
		/* Would be a label. */
		if (c == '/')
			continue;
		EXPECT_EQ(may_start(c) ? 0 : -EINVAL, set_name(self->fd, "%cb%s", c, self->ns))
			TH_LOG("first byte 0x%02x", c);
		EXPECT_EQ(may_start(c) ? 0 : -EINVAL, set_name(self->fd, "%c", c))
			TH_LOG("only byte 0x%02x", c);
	}
}

/* Other bytes may be digits and '-' as well, and nothing else. H17 */
TEST_F(name, inner_byte)
{
	int c;

	for (c = 1; c < 256; c++) {
		/* Starts the label. */
		if (c == '/')
			continue;
		EXPECT_EQ(may_follow(c) ? 0 : -EINVAL, set_name(self->fd, "a%cb%s", c, self->ns))
			TH_LOG("second byte 0x%02x", c);
		EXPECT_EQ(may_follow(c) ? 0 : -EINVAL, set_name(self->fd, "%s%c", self->ns, c))
			TH_LOG("last byte 0x%02x", c);
		EXPECT_EQ(may_follow(c) ? 0 : -EINVAL, set_name(self->fd, "%s%c/l", self->ns, c))
			TH_LOG("last byte before a label 0x%02x", c);
	}
}

/* After a refused name, a namespace is still unnamed and can be named. H17 */
TEST_F(name, bad_name_publishes_nothing)
{
	struct perf_event_persist p;
	__u64 id;
	int c;

	ASSERT_EQ(0, persist_new(self->fd, &id));
	/* perffs has a file of that name. */
	EXPECT_EQ(-EINVAL, set_name(self->fd, "error_log"));
	for (c = 1; c < 256; c++) {
		if (c != '/' && !may_start(c)) {
			EXPECT_EQ(-EINVAL, set_name(self->fd, "%c%s", c, self->ns))
				TH_LOG("first byte 0x%02x", c);
		}
		if (c != '/' && !may_follow(c)) {
			EXPECT_EQ(-EINVAL, set_name(self->fd, "%s%c", self->ns, c))
				TH_LOG("last byte 0x%02x", c);
		}
	}
	ASSERT_EQ(0, get_persist(self->fd, &p));
	EXPECT_STREQ("", p.name);
	EXPECT_EQ(-ENOENT, ns_open(id, 0));

	ASSERT_EQ(0, set_name(self->fd, "%s", self->ns));
	EXPECT_EQ(id, ns_lookup(self->ns));
}

/* All allowed bytes reach the listing as they are. */
TEST_F(name, allowed_bytes_are_kept)
{
	struct perf_event_persist p;
	char name[NAME_ROOM];
	__u64 id;

	snprintf(name, sizeof(name), "_az-09_%s-", self->ns);
	ASSERT_EQ(0, set_name(self->fd, "%s/l", name));
	ASSERT_EQ(0, persist_new(self->fd, &id));
	EXPECT_EQ(id, ns_lookup(name));
	ASSERT_EQ(0, get_persist(self->fd, &p));
	EXPECT_STREQ(name, p.name);
}

/* 47 bytes are a name, 48 are not. H17 */
TEST_F(name, length)
{
	char name[PERF_PERSIST_USER_NAME_MAX + 2], huge[8192];
	struct perf_event_persist p;
	__u64 id;

	memset(name, 'x', sizeof(name));
	memcpy(name, self->ns, strlen(self->ns));
	name[PERF_PERSIST_USER_NAME_MAX + 1] = '\0';
	EXPECT_EQ(-EINVAL, set_name_str(self->fd, name));
	EXPECT_EQ(-EINVAL, set_name(self->fd, "%s/label", name));

	memset(huge, 'x', sizeof(huge));
	huge[sizeof(huge) - 1] = '\0';
	EXPECT_EQ(-EINVAL, set_name_str(self->fd, huge));
	huge[PERF_PERSIST_NAME_SIZE] = '\0';
	EXPECT_EQ(-EINVAL, set_name_str(self->fd, huge));

	name[PERF_PERSIST_USER_NAME_MAX] = '\0';
	ASSERT_EQ(0, set_name_str(self->fd, name));
	ASSERT_EQ(0, persist_new(self->fd, &id));
	EXPECT_EQ(id, ns_lookup(name));
	ASSERT_EQ(0, get_persist(self->fd, &p));
	EXPECT_STREQ(name, p.name);
}

/* A label may have every byte but control characters, '/' included. H17 */
TEST_F(name, label_bytes)
{
	char label[8], before[PERF_PERSIST_NAME_SIZE];
	struct perf_event_persist_member p;
	__u64 id;
	int c;

	ASSERT_EQ(0, set_name(self->fd, "%s/start", self->ns));
	ASSERT_EQ(0, persist_new(self->fd, &id));
	snprintf(before, sizeof(before), "start");

	for (c = 1; c < 256; c++) {
		bool ok = c >= 0x20 && c != 0x7f;

		snprintf(label, sizeof(label), "%ca%cb%c", c, c, c);
		EXPECT_EQ(ok ? 0 : -EINVAL, set_name(self->fd, "/%s", label))
			TH_LOG("byte 0x%02x", c);
		if (ok)
			snprintf(before, sizeof(before), "%s", label);
		ASSERT_EQ(0, get_member(self->fd, &p));
		EXPECT_STREQ(before, p.label);
	}
}

/* 63 bytes are a label, 64 are not; the longest name and label fit together. H17 */
TEST_F(name, label_length)
{
	char name[PERF_PERSIST_USER_NAME_MAX + 1], label[PERF_PERSIST_NAME_SIZE + 1];
	struct perf_event_persist_member p;
	struct perf_event_persist info;
	__u64 id;

	memset(label, 'l', sizeof(label));
	label[PERF_PERSIST_NAME_SIZE] = '\0';
	memset(name, 'x', sizeof(name));
	memcpy(name, self->ns, strlen(self->ns));
	name[PERF_PERSIST_USER_NAME_MAX] = '\0';

	EXPECT_EQ(-EINVAL, set_name(self->fd, "/%s", label));
	EXPECT_EQ(-EINVAL, set_name(self->fd, "%s/%s", self->ns, label));
	EXPECT_EQ(-EINVAL, set_name(self->fd, "%s/%s", name, label));

	label[PERF_PERSIST_NAME_SIZE - 1] = '\0';
	ASSERT_EQ(0, set_name(self->fd, "%s/%s", name, label));
	ASSERT_EQ(0, persist_new(self->fd, &id));
	ASSERT_EQ(0, get_member(self->fd, &p));
	ASSERT_EQ(0, get_persist(self->fd, &info));
	EXPECT_STREQ(name, info.name);
	EXPECT_STREQ(label, p.label);
}

/* The label starts after the first '/' and keeps those that follow. */
TEST_F(name, label_with_slashes)
{
	struct perf_event_persist_member p;
	struct perf_event_persist info;
	__u64 id;

	ASSERT_EQ(0, set_name(self->fd, "%s/cpu/event=0xc0,name=insns/", self->ns));
	ASSERT_EQ(0, persist_new(self->fd, &id));
	ASSERT_EQ(0, get_member(self->fd, &p));
	ASSERT_EQ(0, get_persist(self->fd, &info));
	EXPECT_STREQ(self->ns, info.name);
	EXPECT_STREQ("cpu/event=0xc0,name=insns/", p.label);
}

/* Neither a name nor a label can be empty. H17 */
TEST_F(name, empty_parts)
{
	__u64 id;

	EXPECT_EQ(-EINVAL, set_name_str(self->fd, ""));
	EXPECT_EQ(-EINVAL, set_name_str(self->fd, "/"));
	EXPECT_EQ(-EINVAL, set_name(self->fd, "%s/", self->ns));

	/* None of these was remembered. */
	ASSERT_EQ(0, persist_new(self->fd, &id));
	EXPECT_EQ(0, ns_lookup(self->ns));
}

/* The address of the string is checked to its last byte. H17 */
TEST_F(name, bad_address)
{
	char *page;

	page = mmap(NULL, 2 * page_size(), PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, page);
	ASSERT_EQ(0, munmap(page + page_size(), page_size()));

	EXPECT_EQ(-EFAULT, set_name_str(self->fd, NULL));
	EXPECT_EQ(-EFAULT, set_name_str(self->fd, page + page_size()));
	EXPECT_EQ(-EFAULT, set_name_str(self->fd, (char *)-1L));

	/* Not terminated before the mapping ends, then terminated just there. */
	memcpy(page + page_size() - 8, "_unended", 8);
	EXPECT_EQ(-EFAULT, set_name_str(self->fd, page + page_size() - 8));
	page[page_size() - 1] = '\0';
	EXPECT_EQ(0, set_name_str(self->fd, page + page_size() - 8));
}

/* Name first: SET_PERSIST publishes. */
TEST_F(name, name_then_persist)
{
	struct perf_event_persist_member p;
	struct perf_event_persist info;
	__u64 id;

	ASSERT_EQ(0, set_name(self->fd, "%s/faults", self->ns));
	EXPECT_EQ(0, ns_lookup(self->ns));
	EXPECT_EQ(-ENOENT, get_member(self->fd, &p));

	ASSERT_EQ(0, persist_new(self->fd, &id));
	EXPECT_NE(0, id);
	EXPECT_NE(PERF_PERSIST_NEW, id);
	EXPECT_EQ(id, ns_lookup(self->ns));
	ASSERT_EQ(0, get_member(self->fd, &p));
	ASSERT_EQ(0, get_persist(self->fd, &info));
	EXPECT_EQ(id, info.ns_id);
	EXPECT_EQ(event_id(self->fd), p.event_id);
	EXPECT_STREQ(self->ns, info.name);
	EXPECT_STREQ("faults", p.label);
	EXPECT_EQ(1, ns_count(id));
}

/* Name last: SET_NAME publishes all members at once. Nobody else sees them before. */
TEST_F(name, persist_then_name)
{
	struct perf_event_persist_member p;
	struct perf_event_persist info;
	int fd, reader;
	__u64 id;

	ASSERT_EQ(0, set_name(self->fd, "/first"));
	ASSERT_EQ(0, persist_new(self->fd, &id));
	fd = counter_open(self->cpu);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, persist_join(fd, id));
	ASSERT_EQ(0, set_name(fd, "/second"));

	EXPECT_EQ(-ENOENT, ns_open(id, 0));
	EXPECT_EQ(-ENOENT, member_reopen(id, 0, self->cpu, 0));
	EXPECT_EQ(-ENOENT, member_reopen(id, event_id(fd), -1, 0));
	EXPECT_EQ(0, ns_lookup(self->ns));

	/* Its creator can ask about it nevertheless. */
	ASSERT_EQ(0, get_member(fd, &p));
	ASSERT_EQ(0, get_persist(fd, &info));
	EXPECT_EQ(id, info.ns_id);
	EXPECT_STREQ("", info.name);
	EXPECT_STREQ("second", p.label);

	ASSERT_EQ(0, set_name(fd, "%s", self->ns));
	EXPECT_EQ(id, ns_lookup(self->ns));
	EXPECT_EQ(2, ns_count(id));
	ASSERT_EQ(0, get_member(self->fd, &p));
	ASSERT_EQ(0, get_persist(self->fd, &info));
	EXPECT_STREQ(self->ns, info.name);
	EXPECT_STREQ("first", p.label);
	ASSERT_EQ(0, get_member(fd, &p));
	EXPECT_STREQ("second", p.label);
	reader = member_reopen(id, event_id(fd), -1, 0);
	EXPECT_LE(0, reader);
}

/* Publishing with a label in the same string sets both. */
TEST_F(name, name_and_label_publish)
{
	struct perf_event_persist_member p;
	struct perf_event_persist info;
	__u64 id;

	ASSERT_EQ(0, persist_new(self->fd, &id));
	ASSERT_EQ(0, set_name(self->fd, "%s/faults", self->ns));
	ASSERT_EQ(0, get_member(self->fd, &p));
	ASSERT_EQ(0, get_persist(self->fd, &info));
	EXPECT_STREQ(self->ns, info.name);
	EXPECT_STREQ("faults", p.label);
}

/* Before SET_PERSIST the last SET_NAME counts, for each of the two parts. */
TEST_F(name, remembered_name_is_replaced)
{
	struct perf_event_persist_member p;
	struct perf_event_persist info;
	__u64 id;

	ASSERT_EQ(0, set_name(self->fd, "%s-old/one", self->ns));
	ASSERT_EQ(0, set_name(self->fd, "%s", self->ns));
	ASSERT_EQ(0, set_name(self->fd, "/two"));
	ASSERT_EQ(-EINVAL, set_name(self->fd, "%s.new/three", self->ns));
	ASSERT_EQ(0, persist_new(self->fd, &id));
	ASSERT_EQ(0, get_member(self->fd, &p));
	ASSERT_EQ(0, get_persist(self->fd, &info));
	EXPECT_STREQ(self->ns, info.name);
	EXPECT_STREQ("two", p.label);
	EXPECT_EQ(id, ns_lookup(self->ns));
}

/* A published namespace keeps its name; its labels can change. */
TEST_F(name, published_is_not_renamed)
{
	struct perf_event_persist_member p;
	struct perf_event_persist info;
	__u64 id;

	ASSERT_EQ(0, set_name(self->fd, "%s/one", self->ns));
	ASSERT_EQ(0, persist_new(self->fd, &id));
	EXPECT_EQ(-EBUSY, set_name(self->fd, "%s-other", self->ns));
	EXPECT_EQ(-EBUSY, set_name(self->fd, "%s-other/two", self->ns));
	EXPECT_EQ(-EBUSY, set_name(self->fd, "%s/two", self->ns));
	EXPECT_EQ(-EBUSY, set_name(self->fd, "%s", self->ns));
	ASSERT_EQ(0, get_member(self->fd, &p));
	ASSERT_EQ(0, get_persist(self->fd, &info));
	EXPECT_STREQ(self->ns, info.name);
	EXPECT_STREQ("one", p.label);

	EXPECT_EQ(0, set_name(self->fd, "/three"));
	ASSERT_EQ(0, get_member(self->fd, &p));
	EXPECT_STREQ("three", p.label);
}

/* Name first and taken: the event is in no namespace afterwards. */
TEST_F(name, taken_name_first)
{
	struct perf_event_persist_member p;
	__u64 id, id2;
	int fd;

	ASSERT_EQ(0, set_name(self->fd, "%s", self->ns));
	ASSERT_EQ(0, persist_new(self->fd, &id));

	fd = counter_open(self->cpu);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, set_name(fd, "%s", self->ns));
	EXPECT_EQ(-EEXIST, persist_new(fd, &id2));
	EXPECT_EQ(-ENOENT, get_member(fd, &p));
	EXPECT_EQ(-ENOENT, persist_claim(fd));
	EXPECT_EQ(1, ns_count(id));
	EXPECT_EQ(id, ns_lookup(self->ns));

	/* Another name will do. */
	ASSERT_EQ(0, set_name(fd, "%s-2", self->ns));
	EXPECT_EQ(0, persist_new(fd, &id2));
	EXPECT_NE(id, id2);
}

/* Name last and taken: nothing is published, the namespace can get another name. */
TEST_F(name, taken_name_last)
{
	struct perf_event_persist p;
	int fd[2], i;
	__u64 id, id2;
	char other[NAME_ROOM];

	ASSERT_EQ(0, set_name(self->fd, "%s", self->ns));
	ASSERT_EQ(0, persist_new(self->fd, &id));

	for (i = 0; i < 2; i++) {
		fd[i] = counter_open(self->cpu);
		ASSERT_LE(0, fd[i]);
	}
	ASSERT_EQ(0, persist_new(fd[0], &id2));
	ASSERT_EQ(0, persist_join(fd[1], id2));
	EXPECT_EQ(-EEXIST, set_name(fd[1], "%s", self->ns));
	EXPECT_EQ(-ENOENT, ns_open(id2, 0));
	EXPECT_EQ(-ENOENT, member_reopen(id2, event_id(fd[0]), -1, 0));
	EXPECT_EQ(1, ns_count(id));
	ASSERT_EQ(0, get_persist(fd[1], &p));
	EXPECT_EQ(id2, p.ns_id);
	EXPECT_STREQ("", p.name);

	snprintf(other, sizeof(other), "%s-2", self->ns);
	ASSERT_EQ(0, set_name_str(fd[0], other));
	EXPECT_EQ(id2, ns_lookup(other));
	EXPECT_EQ(2, ns_count(id2));
}

/* One member that cannot be published keeps all of them back. */
TEST_F(name, all_or_none)
{
	struct perf_event_attr attr = say_attr();
	struct member good, bad;
	__u64 id;

	/* A buffer that was first mapped for writing does not overwrite its oldest records. */
	ASSERT_EQ(0, member_open(&good, &attr, self->cpu, PAGES));
	ASSERT_EQ(0, member_open(&bad, &attr, self->cpu, 0));
	bad.pages = PAGES;
	bad.map = ring_map(bad.fd, PAGES, PROT_READ | PROT_WRITE);
	ASSERT_NE(MAP_FAILED, bad.map);

	ASSERT_EQ(0, persist_new(good.fd, &id));
	ASSERT_EQ(0, persist_join(bad.fd, id));
	ASSERT_EQ(0, persist_join(self->fd, id));
	EXPECT_EQ(-EINVAL, set_name(good.fd, "%s", self->ns));
	EXPECT_EQ(0, ns_lookup(self->ns));
	EXPECT_EQ(-ENOENT, ns_open(id, 0));
	EXPECT_EQ(-ENOENT, member_reopen(id, event_id(good.fd), -1, 0));

	/* Without it, the others can be published. */
	ASSERT_EQ(0, persist_claim(bad.fd));
	ASSERT_EQ(0, set_name(good.fd, "%s", self->ns));
	EXPECT_EQ(id, ns_lookup(self->ns));
	EXPECT_EQ(2, ns_count(id));
}

/* Only the process that made an unnamed namespace may name it. */
TEST_F(name, other_process_may_not_name)
{
	__u64 id;
	pid_t pid;

	ASSERT_EQ(0, persist_new(self->fd, &id));
	pid = fork_child();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(-set_name(self->fd, "%s", self->ns));
	EXPECT_EQ(EPERM, child_status(pid));
	EXPECT_EQ(0, ns_lookup(self->ns));

	EXPECT_EQ(0, set_name(self->fd, "%s", self->ns));
	EXPECT_EQ(id, ns_lookup(self->ns));
}

/* Only the user who made it, too: publishing charges the caller, and later calls the owner. */
TEST_F(name, other_user_may_not_name)
{
	const uid_t root = geteuid();
	__u64 id;

	if (root)
		SKIP(return, "needs root, to become others");
	ASSERT_EQ(0, persist_new(self->fd, &id));

	/* Changing the user keeps all capabilities. */
	ASSERT_EQ(0, prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP));
	ASSERT_EQ(0, setresuid(root, NOBODY, root));
	EXPECT_EQ(-EPERM, set_name(self->fd, "%s", self->ns));
	ASSERT_EQ(0, setresuid(NOBODY, root, root));
	EXPECT_EQ(-EPERM, set_name(self->fd, "%s", self->ns));
	EXPECT_EQ(0, ns_lookup(self->ns));
	EXPECT_EQ(-ENOENT, ns_open(id, 0));

	ASSERT_EQ(0, setresuid(root, root, root));
	EXPECT_EQ(0, set_name(self->fd, "%s", self->ns));
	EXPECT_EQ(id, ns_lookup(self->ns));
}

/* A deleted event takes neither name nor label. */
TEST_F(name, deleted)
{
	__u64 id;

	ASSERT_EQ(0, set_name(self->fd, "%s", self->ns));
	ASSERT_EQ(0, persist_new(self->fd, &id));
	ASSERT_EQ(0, ns_kill(id));
	EXPECT_EQ(-ENODEV, set_name(self->fd, "%s-2", self->ns));
	EXPECT_EQ(-ENODEV, set_name(self->fd, "/label"));
}

/* sysfs tells everybody how to open a namespace, as long as it is there. */
TEST_F(name, sysfs)
{
	char path[512], text[128], expected[128];
	struct stat st;
	__u64 id;

	EXPECT_LT(0, read_file(PMU_DIR "/persistent/type", text, sizeof(text)));
	EXPECT_EQ(PERF_TYPE_PERSISTENT, atoi(text));

	snprintf(path, sizeof(path), NS_DIR "/%s", self->ns);
	EXPECT_EQ(-ENOENT, read_file(path, text, sizeof(text)));

	ASSERT_EQ(0, set_name(self->fd, "%s/label", self->ns));
	ASSERT_EQ(0, persist_new(self->fd, &id));
	ASSERT_LT(0, read_file(path, text, sizeof(text)));
	text[strcspn(text, "\n")] = '\0';
	snprintf(expected, sizeof(expected), "config=0x%llx", (unsigned long long)id);
	EXPECT_STREQ(expected, text);
	EXPECT_EQ(0, stat(path, &st));
	EXPECT_EQ(0444, st.st_mode & 0777);

	ASSERT_EQ(0, ns_kill(id));
	EXPECT_EQ(-ENOENT, read_file(path, text, sizeof(text)));
}

TEST_HARNESS_MAIN
