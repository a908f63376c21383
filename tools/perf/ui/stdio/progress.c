// SPDX-License-Identifier: GPL-2.0
/*
 * Show the progress of operations that take longer than a second, on one line of the
 * terminal.
 */
#include <stdio.h>
#include <unistd.h>
#include <linux/kernel.h>
#include <linux/time64.h>
#include "../progress.h"
#include "../../util/time-utils.h"
#include "../../util/units.h"

static u64 started;
static int shown;	/* number of columns on the line */

static void stdio_progress__start(struct ui_progress *p)
{
	p->step = p->total / 100 ?: 1;
	p->next = p->step;
	started = rdclock();
}

static void stdio_progress__update(struct ui_progress *p)
{
	char curr[20], total[20];

	if (!p->total || (!shown && rdclock() - started < NSEC_PER_SEC))
		return;

	shown = fprintf(stderr, "\r%s %3u%%", p->title,
			(unsigned int)(min(p->curr, p->total) * 100 / p->total)) - 1;
	if (p->size) {
		unit_number__scnprintf(curr, sizeof(curr), p->curr);
		unit_number__scnprintf(total, sizeof(total), p->total);
		shown += fprintf(stderr, " [%s/%s]", curr, total);
	}
	/* Overwrite the end of the last line, which may have been longer. */
	fputs("  \b\b", stderr);
	fflush(stderr);
}

void stdio_progress__hide(void)
{
	if (shown)
		fprintf(stderr, "\r%*s\r", shown + 2, "");
	shown = 0;
}

static struct ui_progress_ops stdio_progress__ops = {
	.init	= stdio_progress__start,
	.update	= stdio_progress__update,
	.finish	= stdio_progress__hide,
};

void stdio_progress__init(void)
{
	if (isatty(STDERR_FILENO))
		ui_progress__ops = &stdio_progress__ops;
}
