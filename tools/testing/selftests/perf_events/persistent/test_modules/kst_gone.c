// SPDX-License-Identifier: GPL-2.0
/*
 * A PMU whose module can be unloaded while it has events, which then go with the PMU. It
 * counts nothing.
 */
#include <linux/module.h>
#include <linux/perf_event.h>

static int gone_event_init(struct perf_event *event)
{
	return event->attr.type == event->pmu->type ? 0 : -ENOENT;
}

static int gone_add(struct perf_event *event, int flags)
{
	event->hw.state = flags & PERF_EF_START ? 0 : PERF_HES_STOPPED;
	return 0;
}

static void gone_del(struct perf_event *event, int flags)
{
}

static void gone_change(struct perf_event *event, int flags)
{
}

static void gone_read(struct perf_event *event)
{
}

/*
 * Where perf_pmu_unregister() cannot fail, events outlive their PMU: they must hold the
 * module.
 */
#define EVENTS_LOSE_IT	__same_type(perf_pmu_unregister(NULL), int)

static struct pmu gone_pmu = {
	.module		= EVENTS_LOSE_IT ? NULL : THIS_MODULE,
	.task_ctx_nr	= perf_sw_context,
	.event_init	= gone_event_init,
	.add		= gone_add,
	.del		= gone_del,
	.start		= gone_change,
	.stop		= gone_change,
	.read		= gone_read,
};

static int __init gone_init(void)
{
	return perf_pmu_register(&gone_pmu, "kst_gone", -1);
}
module_init(gone_init);

static void __exit gone_exit(void)
{
	perf_pmu_unregister(&gone_pmu);
}
module_exit(gone_exit);

MODULE_DESCRIPTION("A PMU that goes, for the tests of persistent perf events");
MODULE_LICENSE("GPL");
