// SPDX-License-Identifier: GPL-2.0
/*
 * A creator that is killed at any of its system calls leaves the whole
 * published namespace behind, or nothing.
 */
#include "persistent.h"

#include <sys/ptrace.h>

#define MEMBERS	3

/* The progress of the creator */
struct progress {
	__u64	id;
	__u64	event[MEMBERS];
};

FIXTURE(crash)
{
	char	ns[NS_ROOM];
	int	cpu, cpu2;
	struct progress *made;
};

FIXTURE_VARIANT(crash)
{
	bool	name_first;
};

FIXTURE_VARIANT_ADD(crash, name_last)
{
	.name_first = false,
};

FIXTURE_VARIANT_ADD(crash, name_first)
{
	.name_first = true,
};

FIXTURE_SETUP(crash)
{
	const char *missing;

	missing = persist_begin(self->ns, &self->cpu, &self->cpu2);
	if (missing)
		SKIP(return, "%s", missing);
	self->made = mmap(NULL, page_size(), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->made);
}

FIXTURE_TEARDOWN_PARENT(crash)
{
	persist_sweep();
}

/* A recorder, a second one that writes into the first one's buffer, and a counter. */
static int create(const char *ns, int cpu, bool name_first, struct progress *made)
{
	struct perf_event_attr attr = say_attr(), faults = fault_attr(0);
	struct member m[MEMBERS];
	int i, err;

	made->id = PERF_PERSIST_NEW;
	for (i = 0; i < MEMBERS; i++) {
		err = member_open(&m[i], i < 2 ? &attr : &faults, cpu, i ? 0 : 1);
		if (!err && i == 1)
			err = event_ioctl(m[1].fd, PERF_EVENT_IOC_SET_OUTPUT, m[0].fd);
		if (!err)
			err = set_name(m[i].fd, "%s/member-%d", name_first ? ns : "", i);
		if (!err)
			err = i ? persist_join(m[i].fd, made->id) :
				  persist_new(m[i].fd, &made->id);
		if (!err)
			err = event_ioctl(m[i].fd, PERF_EVENT_IOC_ID,
					  (unsigned long)&made->event[i]);
		if (err)
			return err;
	}
	err = name_first ? 0 : set_name_str(m[0].fd, ns);
	for (i = 0; i < MEMBERS; i++)
		member_close(&m[i]);
	return err;
}

/* Kills the creator at its n-th stop at a system call. Returns true if it ended before. */
static bool run_and_kill(const char *ns, int cpu, bool name_first, struct progress *made,
			 int stops, int *status)
{
	pid_t pid;

	pid = fork_child();
	if (pid < 0) {
		*status = -1;
		return true;
	}
	if (!pid) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			_exit(255);
		raise(SIGSTOP);
		_exit(-create(ns, cpu, name_first, made));
	}
	if (waitpid(pid, status, 0) != pid || !WIFSTOPPED(*status))
		return true;
	while (stops--) {
		if (ptrace(PTRACE_SYSCALL, pid, NULL, NULL) ||
		    waitpid(pid, status, 0) != pid || !WIFSTOPPED(*status))
			return true;
	}
	kill(pid, SIGKILL);
	waitpid(pid, status, 0);
	return false;
}

/* Wherever the creator is killed, all that it has published works, and nothing else is left. */
TEST_F(crash, any_system_call)
{
	int stops, status, n, nothing = 0, whole = 0, part = 0;
	struct progress *made = self->made;
	__u64 id;
	bool end;

	for (stops = 1, end = false; !end; stops++) {
		ASSERT_LT(stops, 200);
		memset(made, 0, sizeof(*made));
		end = run_and_kill(self->ns, self->cpu, variant->name_first, made, stops, &status);
		if (end && WIFEXITED(status) && WEXITSTATUS(status) == 255)
			SKIP(return, "may not trace a child");
		if (end) {
			ASSERT_TRUE(WIFEXITED(status));
			ASSERT_EQ(0, WEXITSTATUS(status));
		}

		id = ns_lookup(self->ns);
		if (!id) {
			/* The id leads nowhere, if the creator got one. */
			ASSERT_FALSE(end);
			if (made->id && made->id != PERF_PERSIST_NEW) {
				EXPECT_EQ(-ENOENT, ns_open(made->id, 0));
				EXPECT_EQ(-ENOENT, member_reopen(made->id, 0, self->cpu, 0));
			}
			nothing++;
			continue;
		}

		/*
		 * With the name first, each member is published on its own, so some may
		 * be missing.
		 */
		n = ns_count(id);
		if (n == MEMBERS) {
			whole++;
		} else {
			EXPECT_TRUE(variant->name_first && n > 0 && n < MEMBERS)
				TH_LOG("%d members after %d stops", n, stops);
			part++;
		}

		/* All members that are there work. */
		{
			struct perf_event_persist_member p = {};
			int fd, ns, i;
			void *map;

			ns = ns_open(id, 0);
			ASSERT_LE(0, ns);
			for (i = 0; i < n; i++) {
				char label[32];

				ASSERT_EQ(0, next_member(ns, &p));
				snprintf(label, sizeof(label), "member-%d", i);
				EXPECT_STREQ(label, p.label);
				fd = member_reopen(id, p.event_id, -1, 0);
				EXPECT_LE(0, fd);
				if (!i) {
					say("after the crash");
					map = ring_map(fd, 1, PROT_READ);
					ASSERT_NE(MAP_FAILED, map);
					EXPECT_EQ(n > 1 ? 2 : 1, heard(fd, map, "after the crash"));
					munmap(map, ring_len(1));
				}
				close(fd);
			}
			close(ns);
		}
		ASSERT_EQ(0, ns_kill(id));
		EXPECT_EQ(0, ns_lookup(self->ns));
	}
	EXPECT_LT(0, nothing);
	EXPECT_LT(0, whole);
	EXPECT_EQ(variant->name_first, part > 0);
}

TEST_HARNESS_MAIN
