// SPDX-License-Identifier: GPL-2.0
/*
 * Make a namespace "mce_record" at boot, which records machine check events.
 */
#include <linux/array_size.h>
#include <linux/init.h>
#include <linux/perf_persistent.h>
#include <linux/sizes.h>

static int __init perf_persistent_mce_init(void)
{
	static const char *const events[] = { "mce:mce_record" };
	s64 id = perf_persistent_create("mce_record", events, ARRAY_SIZE(events), SZ_16K, 0);

	return id < 0 ? id : 0;
}
fs_initcall_sync(perf_persistent_mce_init);
