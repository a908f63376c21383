// SPDX-License-Identifier: GPL-2.0
/*
 * Makes allocations and copies from or to user space fail, at each place in turn. The
 * call must return an error, or work as if nothing had happened. It must leave a whole
 * namespace or none, and must work when it is made again. H4, H15
 *
 * kmemleak can find lost memory afterwards.
 */
#include "balance.h"
#include "fail_nth.h"

/* More places than any act has */
#define MAX_NTH	2000

/* Snapshots that are kept by default */
#define NR_KEPT	8

/* The objects of an act */
struct scene {
	char		ns[NS_ROOM];
	int		cpu;
	struct member	m, m2;
	__u64		id;
	int		fd;
	void		*map;
	__u64		found;
};

/*
 * An act: @prepare makes what it needs, and @run does it while something fails. @nothing
 * and @whole check that the objects fit the result of @run.
 */
struct act {
	int	(*prepare)(struct scene *s);
	int	(*run)(struct scene *s);
	bool	(*nothing)(struct scene *s);
	bool	(*whole)(struct scene *s);
	bool	never_fails;	/* it need not fail at any place */
	bool	no_memory;	/* it allocates nothing */
};

/* Preparations that several acts share */

static int one_event(struct scene *s)
{
	struct perf_event_attr attr = say_attr();

	return member_open(&s->m, &attr, s->cpu, 0);
}

static int one_buffer(struct scene *s)
{
	struct perf_event_attr attr = say_attr();

	return member_open(&s->m, &attr, s->cpu, PAGES);
}

static int one_named(struct scene *s)
{
	int err = one_buffer(s);

	return err ? err : set_name(s->m.fd, "%s/label", s->ns);
}

static int two_buffers(struct scene *s)
{
	struct perf_event_attr attr = say_attr();
	int err = one_buffer(s);

	return err ? err : member_open(&s->m2, &attr, s->cpu, PAGES);
}

static int two_joined(struct scene *s)
{
	int err = two_buffers(s);

	if (!err)
		err = persist_new(s->m.fd, &s->id);
	return err ? err : persist_join(s->m2.fd, s->id);
}

static int published(struct scene *s)
{
	int err = two_joined(s);

	return err ? err : set_name_str(s->m.fd, s->ns);
}

static int published_and_one(struct scene *s)
{
	int err = two_buffers(s);

	if (!err)
		err = persist_new(s->m.fd, &s->id);
	return err ? err : set_name_str(s->m.fd, s->ns);
}

static int unbound(struct scene *s)
{
	int err = published(s);

	if (err)
		return err;
	s->fd = ns_open(~0ULL, 0);
	return s->fd < 0 ? s->fd : 0;
}

static int opened_ns(struct scene *s)
{
	int err = published(s);

	if (err)
		return err;
	s->fd = ns_open(s->id, PERF_PERSIST_OPEN_WRITE);
	return s->fd < 0 ? s->fd : 0;
}

static int opened_member(struct scene *s)
{
	int err = published(s);

	if (err)
		return err;
	s->fd = member_reopen(s->id, 0, s->cpu, 0);
	return s->fd < 0 ? s->fd : 0;
}

/* Checks of the result */

static bool no_ns(struct scene *s)
{
	if (ns_lookup(s->ns))
		return false;
	return !s->id || s->id == PERF_PERSIST_NEW || ns_open(s->id, 0) == -ENOENT;
}

static bool has_members(struct scene *s, int n)
{
	__u64 id = ns_lookup(s->ns);

	return id && ns_count(id) == n;
}

static bool one_member(struct scene *s)
{
	return has_members(s, 1);
}

static bool two_members(struct scene *s)
{
	return has_members(s, 2);
}

static bool anything(struct scene *s)
{
	return true;
}

/* An event that is in no namespace, and works */
static bool in_none(struct scene *s)
{
	struct perf_event_persist_member p;

	return no_ns(s) && get_member(s->m.fd, &p) == -ENOENT;
}

static bool in_none_yet(struct scene *s)
{
	struct perf_event_persist_member p;

	return one_member(s) && get_member(s->m2.fd, &p) == -ENOENT;
}

static bool unpublished(struct scene *s)
{
	struct perf_event_persist p, p2;

	return no_ns(s) && !get_persist(s->m.fd, &p) && !get_persist(s->m2.fd, &p2) &&
	       p.ns_id == s->id && p2.ns_id == s->id && !p.name[0] && !p2.name[0];
}

/* Each member can be opened, mapped and read. */
static bool all_work(struct scene *s, int n)
{
	struct perf_event_persist_member p = {};
	int ns_fd, fd, seen = 0;
	bool good = true;
	void *map;

	if (!has_members(s, n))
		return false;
	say("it works");
	ns_fd = ns_open(ns_lookup(s->ns), 0);
	while (!next_member(ns_fd, &p)) {
		seen++;
		fd = member_reopen(ns_lookup(s->ns), p.event_id, -1, 0);
		map = ring_map(fd, PAGES, PROT_READ);
		if (map == MAP_FAILED) {
			good = false;
		} else {
			good &= heard(fd, map, "it works") > 0;
			munmap(map, ring_len(PAGES));
		}
		close(fd);
	}
	close(ns_fd);
	return good && seen == n;
}

static bool one_works(struct scene *s)
{
	return all_work(s, 1);
}

static bool two_work(struct scene *s)
{
	return all_work(s, 2);
}

static bool opened_lists(struct scene *s)
{
	struct perf_event_persist_member p = {};
	struct perf_event_persist info;

	return two_work(s) && !next_member(s->fd, &p) && !get_persist(s->fd, &info) &&
	       !strcmp(info.name, s->ns) && info.nr_members == 2;
}

static bool opened_reads(struct scene *s)
{
	return two_work(s) && !ring_map_err(s->fd, PAGES, PROT_READ);
}

static bool mapped_reads(struct scene *s)
{
	say("mapped");
	return heard(s->fd >= 0 ? s->fd : s->m.fd, s->map, "mapped") > 0;
}

static bool still_deleted(struct scene *s)
{
	return no_ns(s) && ring_map_err(s->m.fd, PAGES, PROT_READ) == -ENODEV;
}

/* The acts themselves */

static int do_open(struct scene *s)
{
	struct perf_event_attr attr = say_attr();

	s->m.fd = event_open(&attr, -1, s->cpu, -1, 0);
	return s->m.fd < 0 ? s->m.fd : 0;
}

static int do_map(struct scene *s)
{
	s->map = ring_map(s->fd >= 0 ? s->fd : s->m.fd, PAGES, PROT_READ);
	if (s->map != MAP_FAILED)
		return 0;
	s->map = NULL;
	return -errno;
}

static int do_new(struct scene *s)
{
	return persist_new(s->m.fd, &s->id);
}

static int do_join(struct scene *s)
{
	return persist_join(s->m2.fd, s->id);
}

static int do_name(struct scene *s)
{
	return set_name_str(s->m.fd, s->ns);
}

static int do_open_ns(struct scene *s)
{
	s->fd = ns_open(s->id, 0);
	return s->fd < 0 ? s->fd : 0;
}

static int do_bind(struct scene *s)
{
	return set_name_str(s->fd, s->ns);
}

static int do_open_member(struct scene *s)
{
	s->fd = member_reopen(s->id, 0, s->cpu, 0);
	return s->fd < 0 ? s->fd : 0;
}

static int do_read(struct scene *s)
{
	__u64 value;
	ssize_t len = neg_errno(read(s->fd, &value, sizeof(value)));

	return len < 0 ? len : len == sizeof(value) ? 0 : -EIO;
}

static int do_ask(struct scene *s)
{
	struct perf_event_persist_member p = { .size = sizeof(p) };
	struct perf_event_persist info;
	struct perf_event_attr attr;
	int err;

	p.attr = (unsigned long)&attr;
	p.attr_size = sizeof(attr);
	err = event_ioctl(s->fd, PERF_EVENT_IOC_GET_MEMBER, (unsigned long)&p);
	if (!err)
		err = get_persist(s->fd, &info);
	if (!err)
		s->found = info.ns_id;
	return err;
}

static int do_look_up(struct scene *s)
{
	/* ns_lookup() has other ways to find it, which would hide that this one fails. */
	s->found = ns_listed(s->ns);
	return s->found ? 0 : -ENOMEM;
}

static bool found(struct scene *s)
{
	return s->found == s->id && two_work(s);
}

static int do_delete(struct scene *s)
{
	return ns_delete(s->fd);
}

static int do_claim(struct scene *s)
{
	return persist_claim(s->m2.fd);
}

static bool two_claimed(struct scene *s)
{
	struct perf_event_persist_member p;

	return one_works(s) && get_member(s->m2.fd, &p) == -ENOENT;
}

static __u64 first_snapshot(struct scene *s)
{
	char name[NS_ROOM + 8];

	snprintf(name, sizeof(name), "%s.1", s->ns);
	return ns_lookup(name);
}

static int do_snapshot(struct scene *s)
{
	struct perf_event_snapshot arg = { .size = sizeof(arg) };

	return event_ioctl(s->fd, PERF_EVENT_IOC_SNAPSHOT, (unsigned long)&arg);
}

static int to_be_resized(struct scene *s)
{
	int err = opened_ns(s);

	s->found = event_id(s->m.fd);
	return err;
}

static int do_resize(struct scene *s)
{
	struct perf_event_buffer_size size = { s->found, PAGES * page_size() };
	struct perf_event_snapshot arg = {
		.size = sizeof(arg), .nr_sizes = 1, .sizes = (unsigned long)&size,
	};

	return event_ioctl(s->fd, PERF_EVENT_IOC_RESIZE, (unsigned long)&arg);
}

static bool no_snapshot(struct scene *s)
{
	return two_work(s) && !first_snapshot(s);
}

static bool snapshot_reads(struct scene *s)
{
	int fd = member_reopen(first_snapshot(s), 0, s->cpu, 0);
	bool good = fd >= 0 && !ring_map_err(fd, PAGES, PROT_READ);

	close(fd);
	return good && two_work(s) && ns_count(first_snapshot(s)) == 2;
}

static int do_clear(struct scene *s)
{
	return event_ioctl(s->fd, PERF_EVENT_IOC_CLEAR, 0);
}

static int do_spares(struct scene *s)
{
	return ns_spares(s->fd, 2);
}

static unsigned int nr_spares(struct scene *s)
{
	struct perf_event_persist info;

	return get_persist(s->m.fd, &info) ? 1000 : info.spares;
}

static bool no_spares(struct scene *s)
{
	return two_work(s) && !nr_spares(s);
}

static bool two_spares(struct scene *s)
{
	return two_work(s) && nr_spares(s) == 2;
}

static int a_spare(struct scene *s)
{
	int err = opened_ns(s);

	return err ? err : ns_spares(s->fd, 1);
}

static int do_stop(struct scene *s)
{
	return ns_stop(s->fd);
}

static int do_resume(struct scene *s)
{
	return ns_resume(s->fd);
}

static int a_stopped_ns(struct scene *s)
{
	int err = opened_ns(s);

	return err ? err : ns_stop(s->fd);
}

static bool is_stopped(struct scene *s)
{
	struct perf_event_persist_member p = {};
	struct perf_event_persist info;

	if (get_persist(s->fd, &info) || !(info.flags & PERF_PERSIST_STOPPED))
		return false;
	while (!next_member(s->fd, &p)) {
		if (!(p.flags & PERF_PERSIST_STOPPED))
			return false;
	}
	say("stopped");
	return two_members(s) && heard_in(s->id, 0, s->cpu, "stopped") == 0;
}

static int do_keep(struct scene *s)
{
	return ns_keep(s->fd, 1);
}

static int two_snapshots(struct scene *s)
{
	int err = opened_ns(s);

	if (!err)
		err = do_snapshot(s);
	return err ? err : do_snapshot(s);
}

static int do_note(struct scene *s)
{
	return ns_note(s->fd, "noted");
}

static bool is_noted(struct scene *s)
{
	struct perf_event_persist info;

	return two_work(s) && !get_persist(s->fd, &info) && !strcmp(info.note, "noted");
}

static int do_trigger(struct scene *s)
{
	struct perf_event_trigger t = { .action = PERF_TRIGGER_DO_STOP };

	return trigger_add(s->fd, &t);
}

static int triggers(struct scene *s)
{
	struct perf_event_trigger t = { .size = sizeof(t) };
	int n = 0;

	while (!event_ioctl(s->fd, PERF_EVENT_IOC_GET_TRIGGER, (unsigned long)&t))
		n++;
	return n;
}

static bool no_trigger(struct scene *s)
{
	return two_work(s) && !triggers(s);
}

static bool one_trigger(struct scene *s)
{
	return two_work(s) && triggers(s) == 1;
}

/* Takes as many snapshots as are kept: the next one trims the first. */
static int a_spare_and_snapshots(struct scene *s)
{
	int i, err = a_spare(s);

	for (i = 0; i < NR_KEPT && !err; i++)
		err = do_snapshot(s);
	return err ? err : nr_spares(s) == 1 ? 0 : -ENOENT;
}

static bool nothing_trimmed(struct scene *s)
{
	return two_work(s) && first_snapshot(s);
}

static bool first_trimmed(struct scene *s)
{
	return two_work(s) && !first_snapshot(s) && nr_spares(s) == 1;
}

/* @found is the descriptor of the event, which is in no namespace until do_arm() succeeds. */
static int an_event_to_arm(struct scene *s)
{
	struct perf_event_attr attr = fault_attr(1ULL << 60);
	int err = opened_ns(s), fd;

	if (err)
		return err;
	attr.disabled = 1;
	fd = event_open(&attr, -1, s->cpu, -1, 0);
	s->found = fd;
	return fd < 0 ? fd : do_trigger(s);
}

static int do_arm(struct scene *s)
{
	return trigger_add_event(s->fd, 1, s->found);
}

static bool not_armed(struct scene *s)
{
	struct perf_event_trigger_state st;
	struct perf_event_persist_member p;

	return two_work(s) && !trigger_state(s->fd, 1, &st) && !st.nr_events &&
	       get_member(s->found, &p) == -ENOENT;
}

static bool is_armed(struct scene *s)
{
	struct perf_event_trigger_state st;

	close(s->found);
	return has_members(s, 3) && !trigger_state(s->fd, 1, &st) && st.nr_events == 1;
}

/* perffs */

static const char *fs_path(struct scene *s, const char *file)
{
	static char path[256];

	snprintf(path, sizeof(path), PERFFS_DIR "/%s/%s", s->ns, file);
	return path;
}

static bool fs_reads(struct scene *s, const char *file, const char *text)
{
	char read[256] = "";

	return read_file(fs_path(s, file), read, sizeof(read)) >= 0 && !strcmp(read, text);
}

static int a_mount(struct scene *s)
{
	static bool mounted;
	int err = 0;

	if (!mounted)
		err = mount_perffs();
	mounted = !err;
	return err;
}

static int do_mkdir(struct scene *s)
{
	return neg_errno(mkdir(fs_path(s, ""), 0700));
}

static bool no_dir(struct scene *s)
{
	return access(fs_path(s, ""), F_OK);
}

static bool is_empty_dir(struct scene *s)
{
	return fs_reads(s, "enabled", "0\n") && fs_reads(s, "events", "") && no_ns(s);
}

static int a_dir(struct scene *s)
{
	int err = a_mount(s);

	return err ? err : do_mkdir(s);
}

static int do_write_events(struct scene *s)
{
	return write_file(fs_path(s, "events"), "page-faults/period=1/");
}

static bool has_events(struct scene *s)
{
	return fs_reads(s, "events", "page-faults/period=1/\n");
}

static int a_dir_with_events(struct scene *s)
{
	int err = a_dir(s);

	if (!err)
		err = do_write_events(s);
	return err ? err : write_file(fs_path(s, "buffer_size"), "4K");
}

static int do_write_enabled(struct scene *s)
{
	return write_file(fs_path(s, "enabled"), "1");
}

static bool is_not_enabled(struct scene *s)
{
	return fs_reads(s, "enabled", "0\n") && has_events(s) && no_ns(s);
}

static bool fs_records(struct scene *s)
{
	return fs_reads(s, "enabled", "1\n") && has_events(s) && ns_lookup(s->ns);
}

/* All steps from first to last, like a program that gives up on errors */
static int do_all(struct scene *s)
{
	int err = published(s);

	member_close(&s->m);
	member_close(&s->m2);
	return err;
}

FIXTURE(fault)
{
	struct scene scene;
	struct balance before;
	int nth;
};

FIXTURE_VARIANT(fault)
{
	struct act act;
};

FIXTURE_VARIANT_ADD(fault, open_event)
{
	.act = { .run = do_open, .nothing = anything, .whole = in_none },
};

FIXTURE_VARIANT_ADD(fault, map_creator)
{
	.act = { one_event, do_map, anything, mapped_reads },
};

FIXTURE_VARIANT_ADD(fault, create_named)
{
	.act = { one_named, do_new, in_none, one_works },
};

FIXTURE_VARIANT_ADD(fault, create_unnamed)
{
	.act = { one_buffer, do_new, in_none, anything },
};

FIXTURE_VARIANT_ADD(fault, join)
{
	.act = { published_and_one, do_join, in_none_yet, two_work, .never_fails = true },
};

FIXTURE_VARIANT_ADD(fault, publish)
{
	.act = { two_joined, do_name, unpublished, two_work },
};

FIXTURE_VARIANT_ADD(fault, open_namespace)
{
	.act = { published, do_open_ns, two_work, opened_lists },
};

FIXTURE_VARIANT_ADD(fault, bind_namespace)
{
	.act = { unbound, do_bind, two_work, opened_lists },
};

FIXTURE_VARIANT_ADD(fault, open_member)
{
	.act = { published, do_open_member, two_work, opened_reads },
};

FIXTURE_VARIANT_ADD(fault, map_reader)
{
	.act = { opened_member, do_map, two_work, mapped_reads },
};

FIXTURE_VARIANT_ADD(fault, read)
{
	.act = { opened_member, do_read, two_work, two_work },
};

FIXTURE_VARIANT_ADD(fault, ask_event)
{
	.act = { opened_member, do_ask, two_work, found },
};

FIXTURE_VARIANT_ADD(fault, ask_namespace)
{
	.act = { opened_ns, do_ask, two_work, found },
};

FIXTURE_VARIANT_ADD(fault, look_up)
{
	.act = { published, do_look_up, two_work, found },
};

FIXTURE_VARIANT_ADD(fault, delete)
{
	.act = { opened_ns, do_delete, two_work, still_deleted, .never_fails = true },
};

FIXTURE_VARIANT_ADD(fault, claim)
{
	.act = { published, do_claim, two_members, two_claimed, .never_fails = true },
};

FIXTURE_VARIANT_ADD(fault, snapshot)
{
	.act = { opened_ns, do_snapshot, no_snapshot, snapshot_reads },
};

FIXTURE_VARIANT_ADD(fault, resize)
{
	.act = { to_be_resized, do_resize, no_snapshot, snapshot_reads },
};

FIXTURE_VARIANT_ADD(fault, snapshot_with_spare)
{
	.act = { a_spare, do_snapshot, no_snapshot, snapshot_reads, .never_fails = true,
		 .no_memory = true },
};

FIXTURE_VARIANT_ADD(fault, snapshot_that_trims)
{
	.act = { a_spare_and_snapshots, do_snapshot, nothing_trimmed, first_trimmed,
		 .never_fails = true, .no_memory = true },
};

FIXTURE_VARIANT_ADD(fault, clear)
{
	.act = { opened_ns, do_clear, no_snapshot, no_snapshot },
};

FIXTURE_VARIANT_ADD(fault, spares)
{
	.act = { opened_ns, do_spares, no_spares, two_spares },
};

FIXTURE_VARIANT_ADD(fault, stop)
{
	.act = { opened_ns, do_stop, two_work, is_stopped, .never_fails = true },
};

FIXTURE_VARIANT_ADD(fault, resume)
{
	.act = { a_stopped_ns, do_resume, is_stopped, two_work, .never_fails = true },
};

FIXTURE_VARIANT_ADD(fault, keep)
{
	.act = { two_snapshots, do_keep, two_work, no_snapshot, .never_fails = true },
};

FIXTURE_VARIANT_ADD(fault, note)
{
	.act = { opened_ns, do_note, two_work, is_noted },
};

FIXTURE_VARIANT_ADD(fault, trigger)
{
	.act = { opened_ns, do_trigger, no_trigger, one_trigger },
};

FIXTURE_VARIANT_ADD(fault, trigger_event)
{
	.act = { an_event_to_arm, do_arm, not_armed, is_armed },
};

FIXTURE_VARIANT_ADD(fault, mkdir)
{
	.act = { a_mount, do_mkdir, no_dir, is_empty_dir },
};

FIXTURE_VARIANT_ADD(fault, perffs_events)
{
	.act = { a_dir, do_write_events, is_empty_dir, has_events },
};

FIXTURE_VARIANT_ADD(fault, perffs_enabled)
{
	.act = { a_dir_with_events, do_write_enabled, is_not_enabled, fs_records },
};

FIXTURE_VARIANT_ADD(fault, all)
{
	.act = { .run = do_all, .nothing = no_ns, .whole = two_work },
};

FIXTURE_SETUP(fault)
{
	const char *missing;
	int cpu2;

	missing = persist_begin(self->scene.ns, &self->scene.cpu, &cpu2);
	if (!missing)
		missing = fail_nth_prepare();
	if (missing)
		SKIP(return, "%s", missing);
	self->nth = fail_nth_open();
	ASSERT_LE(0, self->nth);
	balance_settle(&self->before);
}

FIXTURE_TEARDOWN_PARENT(fault)
{
	persist_sweep();
}

static void scene_begin(struct scene *s)
{
	s->m = (struct member){ .fd = -1 };
	s->m2 = s->m;
	s->id = 0;
	s->fd = -1;
	s->map = NULL;
	s->found = 0;
}

static void scene_end(struct scene *s)
{
	if (s->map)
		munmap(s->map, ring_len(PAGES));
	member_close(&s->m);
	member_close(&s->m2);
	close(s->fd);
	persist_sweep();
}

/* At each place in turn: the call fails cleanly or works, and works when it is made again. */
TEST_F_TIMEOUT(fault, each_place, 600)
{
	const struct act *act = &variant->act;
	struct scene *s = &self->scene;
	struct balance after;
	int n, ret, failed = 0;
	bool hit = true;

	for (n = 1; hit; n++) {
		ASSERT_LT(n, MAX_NTH);
		scene_begin(s);
		if (act->prepare)
			ASSERT_EQ(0, act->prepare(s));

		fail_nth_set(self->nth, n);
		ret = act->run(s);
		hit = fail_nth_hit(self->nth);

		/* H28: without allocations, only copies from and to user space can fail. */
		if (act->no_memory)
			EXPECT_EQ(hit ? -EFAULT : 0, ret) TH_LOG("at place %d", n);
		if (ret) {
			failed++;
			EXPECT_TRUE(ret == -ENOMEM || ret == -EFAULT) TH_LOG("%d: %d", n, ret);
			EXPECT_TRUE(hit) TH_LOG("%d: %d, but nothing was made to fail", n, ret);
			EXPECT_TRUE(act->nothing(s)) TH_LOG("%d: %d, but not nothing", n, ret);
			ASSERT_EQ(0, act->run(s)) TH_LOG("again, after %d failed", n);
		}
		EXPECT_TRUE(act->whole(s)) TH_LOG("%d: %d, then 0, but not all is there", n, ret);
		scene_end(s);
		EXPECT_TRUE(no_ns(s));
	}
	/* Otherwise nothing was tested. */
	EXPECT_TRUE(act->never_fails || failed > 0);
	TH_LOG("%d of %d places made it fail", failed, n - 2);

	EXPECT_TRUE(balance_back(&self->before, &after)) {
		balance_print("before", &self->before);
		balance_print("after", &after);
	}
	close(self->nth);
}

TEST_HARNESS_MAIN
