// SPDX-License-Identifier: GPL-2.0
/*
 * A tracepoint in a module. A number written to the parameter "fire" is recorded.
 */
#include <linux/module.h>

#define CREATE_TRACE_POINTS
#include "kst_one.h"

static noinline void kst_one_fire(u32 number)
{
	trace_kst_first(number, "old");
	/* Prevents a tail call: this function must show in call chains. */
	barrier();
}

static int set_fire(const char *text, const struct kernel_param *param)
{
	u32 number;
	int ret = kstrtou32(text, 0, &number);

	if (!ret)
		kst_one_fire(number);
	return ret;
}

static const struct kernel_param_ops fire_ops = {
	.set = set_fire,
};
module_param_cb(fire, &fire_ops, NULL, 0200);

MODULE_DESCRIPTION("A tracepoint for the tests of persistent perf events");
MODULE_LICENSE("GPL");
