// SPDX-License-Identifier: GPL-2.0
/*
 * Another tracepoint, as in kst_one.c
 */
#include <linux/module.h>

#define CREATE_TRACE_POINTS
#include "kst_two.h"

static noinline void kst_two_fire(u64 number)
{
	trace_kst_second(number);
	/* Prevents a tail call: this function must show in call chains. */
	barrier();
}

static int set_fire(const char *text, const struct kernel_param *param)
{
	u64 number;
	int ret = kstrtou64(text, 0, &number);

	if (!ret)
		kst_two_fire(number);
	return ret;
}

static const struct kernel_param_ops fire_ops = {
	.set = set_fire,
};
module_param_cb(fire, &fire_ops, NULL, 0200);

MODULE_DESCRIPTION("Another tracepoint for the tests of persistent perf events");
MODULE_LICENSE("GPL");
