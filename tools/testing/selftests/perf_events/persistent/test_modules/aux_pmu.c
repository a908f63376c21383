// SPDX-License-Identifier: GPL-2.0
/*
 * Two PMUs of a module, one with an AUX area and one without. They count and record
 * nothing.
 */
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/slab.h>

static int aux_event_init(struct perf_event *event)
{
	return event->attr.type == event->pmu->type ? 0 : -ENOENT;
}

static int aux_add(struct perf_event *event, int flags)
{
	event->hw.state = flags & PERF_EF_START ? 0 : PERF_HES_STOPPED;
	return 0;
}

static void aux_nop(struct perf_event *event, int flags)
{
}

static void aux_read(struct perf_event *event)
{
}

static void *aux_setup(struct perf_event *event, void **pages, int nr_pages, bool overwrite)
{
	return kzalloc(sizeof(long), GFP_KERNEL);
}

static void aux_free(void *aux)
{
	kfree(aux);
}

static struct pmu plain_pmu = {
	.module		= THIS_MODULE,
	.task_ctx_nr	= perf_sw_context,
	.event_init	= aux_event_init,
	.add		= aux_add,
	.del		= aux_nop,
	.start		= aux_nop,
	.stop		= aux_nop,
	.read		= aux_read,
};

/* The same, with an AUX area */
static struct pmu aux_pmu;

static int __init aux_pmu_init(void)
{
	int ret;

	aux_pmu = plain_pmu;
	aux_pmu.setup_aux = aux_setup;
	aux_pmu.free_aux = aux_free;
	ret = perf_pmu_register(&aux_pmu, "kst_aux", -1);
	if (ret)
		return ret;
	ret = perf_pmu_register(&plain_pmu, "kst_plain", -1);
	if (ret)
		perf_pmu_unregister(&aux_pmu);
	return ret;
}
module_init(aux_pmu_init);

static void __exit aux_pmu_exit(void)
{
	perf_pmu_unregister(&plain_pmu);
	perf_pmu_unregister(&aux_pmu);
}
module_exit(aux_pmu_exit);

MODULE_DESCRIPTION("PMUs for the tests of persistent perf events");
MODULE_LICENSE("GPL");
