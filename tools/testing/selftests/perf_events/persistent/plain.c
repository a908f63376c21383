// SPDX-License-Identifier: GPL-2.0
/*
 * Events in no namespace work with the option as they do without it. H31
 */
#include "persistent.h"

FIXTURE(plain)
{
	char	ns[NS_ROOM];
	int	cpu, cpu2;
};

FIXTURE_SETUP(plain)
{
	const char *missing;

	missing = persist_begin(self->ns, &self->cpu, &self->cpu2);
	if (missing)
		SKIP(return, "%s", missing);
}

FIXTURE_TEARDOWN_PARENT(plain)
{
	if (self->cpu2 >= 0)
		set_online(self->cpu2, true);
	persist_sweep();
}

struct values {
	__u64	count, enabled, running;
};

static bool read_values(int fd, struct values *v)
{
	return read(fd, v, sizeof(*v)) == sizeof(*v);
}

static void fault_on(int cpu, int back)
{
	pin(cpu);
	touch_pages(16);
	pin(back);
}

/*
 * An event whose CPU goes is off, and never counts again. The kernel forgets what ioctls
 * asked while the CPU was away. When the CPU is back, the event can be enabled: its
 * enabled time goes on, but it does not count.
 */
TEST_F(plain, offline)
{
	struct perf_event_attr attr = fault_attr(1000);
	struct values v, later;
	__u64 period = 2000;
	int fd, other, i;

	if (self->cpu2 < 0 || set_online(self->cpu2, true))
		SKIP(return, "needs two CPUs, one of which can be switched off");
	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	fd = event_open(&attr, -1, self->cpu2, -1, 0);
	ASSERT_LE(0, fd);
	fault_on(self->cpu2, self->cpu);
	ASSERT_TRUE(read_values(fd, &v));
	EXPECT_LE(16, v.count);

	ASSERT_EQ(0, set_online(self->cpu2, false));
	EXPECT_EQ(0, event_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0));
	EXPECT_EQ(0, event_ioctl(fd, PERF_EVENT_IOC_PERIOD, (unsigned long)&period));
	EXPECT_EQ(0, event_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0));
	ASSERT_EQ(0, set_online(self->cpu2, true));

	/* The time of a CPU goes on only while it has an event. */
	other = counter_open(self->cpu2);
	ASSERT_LE(0, other);
	ASSERT_TRUE(read_values(fd, &v));
	for (i = 0; i < 100; i++) {
		fault_on(self->cpu2, self->cpu);
		ASSERT_TRUE(read_values(fd, &later));
		ASSERT_EQ(v.count, later.count);
		ASSERT_EQ(v.enabled, later.enabled);
		ASSERT_EQ(v.running, later.running);
	}

	ASSERT_EQ(0, event_ioctl(fd, PERF_EVENT_IOC_PERIOD, (unsigned long)&period));
	ASSERT_EQ(0, event_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0));
	for (i = 0; i < 1000 && later.enabled == v.enabled; i++) {
		fault_on(self->cpu2, self->cpu);
		ASSERT_TRUE(read_values(fd, &later));
	}
	EXPECT_LT(v.enabled, later.enabled);
	EXPECT_EQ(v.count, later.count);
	EXPECT_EQ(v.running, later.running);

	ASSERT_EQ(0, event_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0));
	ASSERT_TRUE(read_values(fd, &v));
	for (i = 0; i < 100; i++) {
		fault_on(self->cpu2, self->cpu);
		ASSERT_TRUE(read_values(fd, &later));
		ASSERT_EQ(v.enabled, later.enabled);
	}
}

TEST_HARNESS_MAIN
