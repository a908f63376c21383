/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Readers in the kernel that print ring buffers of perf events, as text or as a perf.data
 * stream, for /proc and perffs.
 */
#ifndef _LINUX_PERF_READ_H
#define _LINUX_PERF_READ_H

#include <linux/types.h>

struct perf_stream;
struct perf_text;
struct pid_namespace;
struct seq_file;
struct task_struct;

/* kernel/events/read_text.c: a line for each record */
void perf_text_free(struct perf_text *text);
int perf_text_seek(struct perf_text *text, loff_t pos);
int perf_text_next(struct perf_text *text);
int perf_text_show(struct perf_text *text, struct seq_file *m);

/* kernel/events/read_data.c: a perf.data stream in pipe format */
ssize_t perf_stream_read(struct perf_stream *stream, void *buf, size_t len);
void perf_stream_free(struct perf_stream *stream);

/* kernel/events/read_task.c: the same for buffers that a task has open */
int perf_task_buffers(struct task_struct *task, u64 **numbers);
struct perf_text *perf_task_text(struct task_struct *task, u64 number,
				 struct pid_namespace *viewer);
struct perf_stream *perf_task_stream(struct task_struct *task, u64 number,
				     struct pid_namespace *viewer);

#endif /* _LINUX_PERF_READ_H */
