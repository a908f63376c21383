// SPDX-License-Identifier: GPL-2.0
/*
 * Records of a tracepoint can be read when its module is gone and another module has got
 * its number: with their own fields, under their own name.
 *
 * TEST_MODULES in the environment: the directory with the modules, test_modules/ by
 * default.
 */
#include "persistent.h"

#include <sys/utsname.h>

#define FORMAT_OF	"/sys/kernel/tracing/events/%s/%s/%s"
#define ROOM		(1024 * 1024)

/* Record types, as perf calls them */
#define RECORD_TRACING_DATA	66
#define RECORD_BUILD_ID		67

/* The content of a file */
struct content {
	char	*text;
	size_t	len;
};

FIXTURE(module)
{
	char	ns[NS_ROOM];
	char	snap[NS_ROOM];
	int	cpu, cpu2;
	struct content read;
};

static int load_module(const char *name)
{
	const char *dir = getenv("TEST_MODULES");
	char path[512];
	int fd, err;

	snprintf(path, sizeof(path), "%s/%s.ko", dir ?: "test_modules", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = neg_errno(syscall(SYS_finit_module, fd, "", 0));
	close(fd);
	return err;
}

static int unload_module(const char *name)
{
	return neg_errno(syscall(SYS_delete_module, name, O_NONBLOCK));
}

/* Hits the tracepoint of the module once. */
static int hit_once(const char *module, const char *number)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/module/%s/parameters/fire", module);
	return write_file(path, number);
}

/* Returns the number that records have for a tracepoint, or an error. */
static int type_of(const char *system, const char *name)
{
	char path[128], text[16] = {};
	int len;

	snprintf(path, sizeof(path), FORMAT_OF, system, name, "id");
	len = read_file(path, text, sizeof(text));
	return len < 0 ? len : atoi(text);
}

static const char *path_of(const char *ns, const char *file)
{
	static char path[256];

	snprintf(path, sizeof(path), PERFFS_DIR "/%s/%s", ns, file);
	return path;
}

static int make_ns(const char *ns, const char *event)
{
	int err = neg_errno(mkdir(path_of(ns, ""), 0700));

	if (!err)
		err = write_file(path_of(ns, "events"), event);
	return err ? err : write_file(path_of(ns, "enabled"), "1");
}

FIXTURE_SETUP(module)
{
	const char *missing;
	int err;

	missing = persist_begin(self->ns, &self->cpu, &self->cpu2);
	if (missing)
		SKIP(return, "%s", missing);
	if (mount_perffs())
		SKIP(return, "cannot mount perffs");
	err = load_module("kst_one");
	if (err == -ENOENT)
		SKIP(return, "there are no modules for this kernel");
	ASSERT_EQ(0, err);
	if (type_of("kst_one", "kst_first") < 0)
		SKIP(return, "no tracefs");
	snprintf(self->snap, sizeof(self->snap), "%.40s.1", self->ns);
	self->read.text = malloc(ROOM);
	ASSERT_NE(NULL, self->read.text);
}

FIXTURE_TEARDOWN_PARENT(module)
{
	persist_sweep();
	unload_module("kst_one");
	unload_module("kst_two");
	unload_module("kst_gone");
	if (self->cpu2 >= 0)
		set_online(self->cpu2, true);
}

/* Reads the whole file, and appends a zero byte. */
static int read_whole(struct content *content, const char *ns, const char *file)
{
	int fd = open(path_of(ns, file), O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	content->len = 0;
	do {
		n = neg_errno(read(fd, content->text + content->len, ROOM - 1 - content->len));
		if (n > 0)
			content->len += n;
	} while (n > 0);
	close(fd);
	content->text[content->len] = '\0';
	return n;
}

/* Returns the record of a stream after the one at @pos, the first one for 0, or NULL. */
static const struct perf_event_header *next_record(const struct content *content, size_t *pos)
{
	const struct perf_event_header *header = (void *)(content->text + *pos);

	if (!*pos)
		*pos = 16;
	else if (header->type == RECORD_TRACING_DATA)
		*pos += header->size + *(const __u32 *)(header + 1);
	else
		*pos += header->size;
	header = (void *)(content->text + *pos);
	return *pos + sizeof(*header) <= content->len && header->size >= sizeof(*header) ?
	       header : NULL;
}

/* Whether the formats of tracepoints in a stream contain this text */
static bool has_format(const struct content *content, const char *text)
{
	const struct perf_event_header *header;
	bool found = false;
	size_t pos = 0;

	while ((header = next_record(content, &pos))) {
		if (header->type == RECORD_TRACING_DATA)
			found |= !!memmem(header, header->size + *(const __u32 *)(header + 1),
					  text, strlen(text));
	}
	return found;
}

/* Counts the samples of a tracepoint whose first field is @field. */
static int samples_of(const struct content *content, __u16 type, const void *field, size_t size)
{
	const struct perf_event_header *header;
	const char *at, *end;
	size_t pos = 0;
	int nr = 0;

	while ((header = next_record(content, &pos))) {
		end = (const char *)header + header->size;
		if (header->type != PERF_RECORD_SAMPLE)
			continue;
		/* The type, flags and pid come before the field. */
		for (at = (const char *)(header + 1) + 8; at + size <= end; at += 4)
			nr += !memcmp(at, field, size) &&
			      !memcmp(at - 8, &type, sizeof(type));
	}
	return nr;
}

/* The first module is unloaded, and another one gets its number, before anybody reads. */
TEST_F(module, gone)
{
	const __u32 first[] = { 1111, 1112 };
	const __u64 second = 2222;
	char other[NS_ROOM], id[32];
	int type, i;

	type = type_of("kst_one", "kst_first");
	ASSERT_EQ(0, make_ns(self->ns, "kst_one:kst_first"));
	ASSERT_EQ(0, hit_once("kst_one", "1111"));
	ASSERT_EQ(0, hit_once("kst_one", "1112"));
	ASSERT_EQ(-EWOULDBLOCK, unload_module("kst_one"));
	ASSERT_EQ(0, write_file(path_of(self->ns, "snapshot"), "1"));
	ASSERT_EQ(0, rmdir(path_of(self->ns, "")));
	ASSERT_EQ(0, unload_module("kst_one")) TH_LOG("the snapshot keeps the module");

	ASSERT_EQ(0, load_module("kst_two"));
	ASSERT_EQ(type, type_of("kst_two", "kst_second"))
		TH_LOG("the other one has got another number");
	/* Only now are both read. */
	snprintf(other, sizeof(other), "%.40s-b", self->ns);
	ASSERT_EQ(0, make_ns(other, "kst_two:kst_second"));
	ASSERT_EQ(0, hit_once("kst_two", "2222"));

	ASSERT_EQ(0, read_whole(&self->read, self->snap, "text"));
	EXPECT_NE(NULL, strstr(self->read.text, ": kst_one:kst_first: first=1111 word=old\n"))
		TH_LOG("%s", self->read.text);
	EXPECT_NE(NULL, strstr(self->read.text, ": kst_one:kst_first: first=1112 word=old\n"));
	EXPECT_EQ(NULL, strstr(self->read.text, "second"));

	ASSERT_EQ(0, read_whole(&self->read, self->snap, "data"));
	snprintf(id, sizeof(id), "\nID: %d\n", type);
	EXPECT_TRUE(has_format(&self->read, "name: kst_first\n"));
	EXPECT_TRUE(has_format(&self->read, id));
	EXPECT_TRUE(has_format(&self->read, "\tfield:u32 first;"));
	EXPECT_TRUE(has_format(&self->read, "\tfield:__data_loc char[] word;"));
	EXPECT_TRUE(has_format(&self->read, "\nprint fmt: \"the first is %u, %s\", REC->first,"));
	EXPECT_FALSE(has_format(&self->read, "second"));
	for (i = 0; i < 2; i++)
		EXPECT_EQ(1, samples_of(&self->read, type, &first[i], sizeof(first[i])));
	EXPECT_EQ(0, samples_of(&self->read, type, &second, sizeof(second)));

	ASSERT_EQ(0, read_whole(&self->read, other, "text"));
	EXPECT_NE(NULL, strstr(self->read.text,
			       ": kst_two:kst_second: second=2222 halves={1111,-1111}\n"))
		TH_LOG("%s", self->read.text);
	ASSERT_EQ(0, read_whole(&self->read, other, "data"));
	EXPECT_TRUE(has_format(&self->read, "name: kst_second\n"));
	EXPECT_FALSE(has_format(&self->read, "first"));
	EXPECT_EQ(1, samples_of(&self->read, type, &second, sizeof(second)));
}

/* Returns the body of the record with @name behind @body bytes, NULL if there is none. */
static const void *find_named(const struct content *content, __u32 type, size_t body,
			      const char *name)
{
	const struct perf_event_header *header;
	const char *at;
	size_t pos = 0;

	while ((header = next_record(content, &pos))) {
		at = (const char *)(header + 1) + body;
		if (header->type == type && at < (const char *)header + header->size &&
		    !strncmp(at, name, (const char *)header + header->size - at))
			return header + 1;
	}
	return NULL;
}

/* The path of a module in a stream. The kernel does not know where the file is. */
static const char *stream_name(const char *module)
{
	struct utsname uts = {};
	static char name[160];

	uname(&uts);
	snprintf(name, sizeof(name), "/lib/modules/%s/%s.ko", uts.release, module);
	return name;
}

/* The stream says where a module is, and which build. */
TEST_F(module, build_id)
{
	struct {
		__u32 pid, tid;
		__u64 start, len, pgoff;
	} map;
	struct {
		__s32 pid;
		__u8 id[20], size, reserved[3];
	} build_id;
	char note[256], line[256];
	unsigned long long address = 0;
	const void *body;
	FILE *file;
	int len;

	ASSERT_EQ(0, make_ns(self->ns, "kst_one:kst_first/callchain/"));
	ASSERT_EQ(0, hit_once("kst_one", "1113"));
	file = fopen("/proc/kallsyms", "r");
	ASSERT_NE(NULL, file);
	while (!address && fgets(line, sizeof(line), file)) {
		if (strstr(line, " set_fire\t[kst_one]\n"))
			address = strtoull(line, NULL, 16);
	}
	fclose(file);
	ASSERT_NE(0, address);

	ASSERT_EQ(0, read_whole(&self->read, self->ns, "text"));
	EXPECT_NE(NULL, strstr(self->read.text, " => set_fire+0x")) TH_LOG("%s", self->read.text);
	ASSERT_EQ(0, read_whole(&self->read, self->ns, "data"));
	body = find_named(&self->read, PERF_RECORD_MMAP, sizeof(map), stream_name("kst_one"));
	ASSERT_NE(NULL, body);
	memcpy(&map, body, sizeof(map));
	EXPECT_EQ((__u32)-1, map.pid);
	EXPECT_LE(map.start, address);
	EXPECT_GT(map.start + map.len, address);
	EXPECT_EQ(0, map.pgoff);

	body = find_named(&self->read, RECORD_BUILD_ID, sizeof(build_id), stream_name("kst_one"));
	if (!body)
		SKIP(return, "CONFIG_STACKTRACE_BUILD_ID is not set");
	memcpy(&build_id, body, sizeof(build_id));
	EXPECT_EQ(-1, build_id.pid);
	EXPECT_EQ(sizeof(build_id.id), build_id.size);
	len = read_file("/sys/module/kst_one/notes/.note.gnu.build-id", note, sizeof(note));
	ASSERT_LE((int)sizeof(build_id.id), len);
	/* The note ends with the id. */
	EXPECT_EQ(0, memcmp(note + len - sizeof(build_id.id), build_id.id, sizeof(build_id.id)));

	/* The kernel has a record as well, and no other module has. */
	EXPECT_NE(NULL, find_named(&self->read, RECORD_BUILD_ID, sizeof(build_id),
				   "[kernel.kallsyms]"));
	EXPECT_EQ(NULL, find_named(&self->read, PERF_RECORD_MMAP, sizeof(map),
				   stream_name("aux_pmu")));
}

/* Finds the first member of this type on a CPU. Returns false if there is none. */
static bool find_member(int ns_fd, __u32 type, int cpu, struct perf_event_persist_member *p)
{
	struct perf_event_attr attr;
	__u64 id = 0;

	do {
		memset(p, 0, sizeof(*p));
		p->size = sizeof(*p);
		p->event_id = id;
		p->attr = (unsigned long)&attr;
		p->attr_size = sizeof(attr);
		if (event_ioctl(ns_fd, PERF_EVENT_IOC_GET_MEMBER, (unsigned long)p))
			return false;
		id = p->event_id;
	} while (p->cpu != cpu || attr.type != type);
	return true;
}

/* Waits until there is such a member. */
static bool wait_for_member(int ns_fd, __u32 type, int cpu, struct perf_event_persist_member *p)
{
	struct pollfd pfd = { .fd = ns_fd, .events = POLLPRI };
	struct perf_event_persist info;

	/* Any change after this call ends poll(). */
	while (!get_persist(ns_fd, &info) && !find_member(ns_fd, type, cpu, p)) {
		if (poll(&pfd, 1, -1) != 1)
			return false;
	}
	return true;
}

/*
 * Unloading a driver takes its PMU away from events. Their buffers stay, and other events
 * go on writing there. New buffers and new CPUs do without such events.
 */
TEST_F(module, pmu)
{
	struct perf_event_persist_member p, late;
	char other[NS_ROOM], text[16] = {};
	struct perf_event_attr attr = { .size = sizeof(attr) };
	int fd, ns_fd, other_fd, event_fd, err;
	bool went_offline = false;
	__u64 id, values[4];

	ASSERT_EQ(0, load_module("kst_gone"));
	ASSERT_LT(0, read_file(PMU_DIR "/kst_gone/type", text, sizeof(text)));
	attr.type = atoi(text);
	event_fd = event_open(&attr, -1, self->cpu, -1, PERF_FLAG_FD_CLOEXEC);
	ASSERT_LE(0, event_fd);

	/*
	 * Its event owns the buffer in the first namespace. In the second it does not, and
	 * would be made on a CPU that comes later.
	 */
	ASSERT_EQ(0, make_ns(self->ns, "kst_gone/config=1/\nkst_one:kst_first"));
	snprintf(other, sizeof(other), "%.40s-b", self->ns);
	if (self->cpu2 >= 0)
		went_offline = !set_online(self->cpu2, false);
	ASSERT_EQ(0, make_ns(other, "kst_one:kst_first\nkst_gone/config=2/"));
	ASSERT_EQ(0, hit_once("kst_one", "1114"));

	id = ns_lookup(self->ns);
	ns_fd = ns_open(id, PERF_PERSIST_OPEN_WRITE);
	ASSERT_LE(0, ns_fd);
	ASSERT_TRUE(find_member(ns_fd, attr.type, self->cpu, &p));
	EXPECT_EQ(0, p.flags);
	fd = member_reopen(id, p.event_id, self->cpu, 0);
	ASSERT_LE(0, fd);

	err = unload_module("kst_gone");
	if (err == -EWOULDBLOCK)
		SKIP(return, "in this kernel, events keep their PMU");
	ASSERT_EQ(0, err);

	EXPECT_EQ(-ENODEV, persist_new(event_fd, &values[0]));
	close(event_fd);

	/* A descriptor that was open, and a new one, can still map the buffer. */
	EXPECT_EQ(0, ring_map_err(fd, p.buffer_size / page_size(), PROT_READ));
	close(fd);
	ASSERT_TRUE(find_member(ns_fd, attr.type, self->cpu, &p));
	EXPECT_EQ(PERF_PERSIST_DISABLED, p.flags);
	EXPECT_EQ(p.event_id, p.output_id);
	EXPECT_STREQ("kst_gone", p.label);
	fd = member_reopen(id, p.event_id, self->cpu, 0);
	ASSERT_LE(0, fd);
	EXPECT_EQ(0, ring_map_err(fd, p.buffer_size / page_size(), PROT_READ));
	EXPECT_EQ(sizeof(values), read(fd, values, sizeof(values)));
	close(fd);

	/* Enabling does not bring it back. */
	ASSERT_EQ(0, write_file(path_of(self->ns, "enabled"), "0"));
	ASSERT_EQ(0, write_file(path_of(self->ns, "enabled"), "1"));
	ASSERT_TRUE(find_member(ns_fd, attr.type, self->cpu, &p));
	EXPECT_EQ(PERF_PERSIST_DISABLED, p.flags);
	ASSERT_EQ(0, read_whole(&self->read, self->ns, "events"));
	EXPECT_STREQ("# kst_gone\nkst_one:kst_first/period=1/\n", self->read.text);

	ASSERT_EQ(0, hit_once("kst_one", "1115"));
	ASSERT_EQ(0, write_file(path_of(self->ns, "snapshot"), "1"));
	ASSERT_EQ(0, hit_once("kst_one", "1116"));
	ASSERT_EQ(0, read_whole(&self->read, self->snap, "text"));
	EXPECT_NE(NULL, strstr(self->read.text, ": kst_one:kst_first: first=1114 word=old\n"))
		TH_LOG("%s", self->read.text);
	EXPECT_NE(NULL, strstr(self->read.text, ": kst_one:kst_first: first=1115 word=old\n"));
	ASSERT_EQ(0, read_whole(&self->read, self->ns, "text"));
	EXPECT_EQ(NULL, strstr(self->read.text, "first=1115"));
	EXPECT_NE(NULL, strstr(self->read.text, ": kst_one:kst_first: first=1116 word=old\n"));

	if (went_offline) {
		ASSERT_EQ(0, set_online(self->cpu2, true));
		other_fd = ns_open(ns_lookup(other), 0);
		ASSERT_LE(0, other_fd);
		ASSERT_TRUE(wait_for_member(other_fd, PERF_TYPE_TRACEPOINT, self->cpu2, &late));
		EXPECT_FALSE(find_member(other_fd, attr.type, self->cpu2, &late));
		EXPECT_TRUE(find_member(other_fd, attr.type, self->cpu, &late));
		close(other_fd);
		/* This member was there before. */
		ASSERT_TRUE(find_member(ns_fd, attr.type, self->cpu2, &late));
		EXPECT_EQ(PERF_PERSIST_DISABLED, late.flags);
	}
	close(ns_fd);

	/* The same PMU, loaded again, has nothing to do with the old events. */
	ASSERT_EQ(0, load_module("kst_gone"));
	ASSERT_EQ(0, rmdir(path_of(other, "")));
	ASSERT_EQ(0, rmdir(path_of(self->ns, "")));
	ASSERT_EQ(0, rmdir(path_of(self->snap, "")));
	EXPECT_EQ(0, unload_module("kst_gone"));
}

TEST_HARNESS_MAIN
