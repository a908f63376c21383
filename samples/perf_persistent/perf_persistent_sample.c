// SPDX-License-Identifier: GPL-2.0
/*
 * Example of a driver with a flight recorder: it creates a namespace of persistent perf events
 * for a tracepoint of its own. The tracepoint fires ten times a second.
 *
 *	# insmod perf_persistent_sample.ko
 *	# perf record -e persistent/perf_sample/ -a && perf script
 *
 * The records stay readable until the namespace is deleted, and until then the module cannot be
 * unloaded:
 *
 *	# perf ctl -d perf_sample		or: rmdir /sys/kernel/perf/perf_sample
 *	# rmmod perf_persistent_sample
 */
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/perf_persistent.h>
#include <linux/sizes.h>
#include <linux/workqueue.h>

#define CREATE_TRACE_POINTS
#include "perf_persistent_sample.h"

static unsigned long ticks;

static void tick(struct work_struct *work);
static DECLARE_DELAYED_WORK(tick_work, tick);

static void tick(struct work_struct *work)
{
	trace_perf_sample_tick(ticks++);
	schedule_delayed_work(&tick_work, HZ / 10);
}

static int __init perf_sample_init(void)
{
	static const char *const events[] = { "perf_sample:perf_sample_tick" };
	s64 id = perf_persistent_create("perf_sample", events, ARRAY_SIZE(events), SZ_64K,
					PERF_PERSISTENT_TASKS);

	/* The driver must work without the recorder, so do not fail. */
	if (id < 0)
		pr_notice("perf_sample: cannot record events: %pe\n", ERR_PTR((long)id));
	schedule_delayed_work(&tick_work, 0);
	return 0;
}

static void __exit perf_sample_exit(void)
{
	cancel_delayed_work_sync(&tick_work);
}

module_init(perf_sample_init);
module_exit(perf_sample_exit);
MODULE_DESCRIPTION("Example of persistent perf events for a tracepoint of the module");
MODULE_LICENSE("GPL");
