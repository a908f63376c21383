/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Make the n-th allocation, or copy from or to user space, of a task fail: see
 * Documentation/fault-injection/fault-injection.rst.
 */
#ifndef FAIL_NTH_H
#define FAIL_NTH_H

#include "persistent.h"

#define FAULT_DIR	"/sys/kernel/debug"

/* By default allocations that may sleep, or that are single pages, never fail. Change that. */
static inline const char *fail_nth_prepare(void)
{
	static const char * const files[][2] = {
		{ "failslab/ignore-gfp-wait",		"N" },
		{ "fail_page_alloc/ignore-gfp-wait",	"N" },
		{ "fail_page_alloc/min-order",		"0" },
		/* A backtrace for each would fill the log. */
		{ "failslab/verbose",			"0" },
		{ "fail_page_alloc/verbose",		"0" },
		{ "fail_usercopy/verbose",		"0" },
	};
	char path[128];
	unsigned int i;

	if (access("/proc/self/fail-nth", W_OK))
		return "the kernel has no fault injection";
	for (i = 0; i < ARRAY_SIZE(files); i++) {
		snprintf(path, sizeof(path), FAULT_DIR "/%s", files[i][0]);
		/* Some kernels lack some kinds of faults. */
		if (!access(path, F_OK) && write_file(path, files[i][1]))
			return "cannot set up fault injection";
	}
	snprintf(path, sizeof(path), FAULT_DIR "/failslab/ignore-gfp-wait");
	if (access(path, F_OK))
		return "slab allocations cannot be made to fail";
	return NULL;
}

static inline int fail_nth_open(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%ld/fail-nth", syscall(SYS_gettid));
	return neg_errno(open(path, O_RDWR | O_CLOEXEC));
}

static inline void fail_nth_set(int fd, unsigned int n)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", n);

	pwrite(fd, text, len, 0);
}

/*
 * Whether something failed since fail_nth_set(). The answer itself is copied to user
 * space, and that copy may be what fails.
 */
static inline bool fail_nth_hit(int fd)
{
	char text[16] = "";
	bool hit;

	hit = pread(fd, text, sizeof(text) - 1, 0) > 0 && atoi(text) == 0;
	fail_nth_set(fd, 0);
	return hit;
}

#endif /* FAIL_NTH_H */
