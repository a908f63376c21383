// SPDX-License-Identifier: GPL-2.0
/*
 * /proc/PID/perf/ring-buffers: the contents of the ring buffers of perf events that a process
 * has open. N.txt has a line for each record, N.trace is a perf.data stream.
 *
 * open() copies the buffer. The file shows this copy until it is closed.
 */
#include <linux/cred.h>
#include <linux/dcache.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/perf_read.h>
#include <linux/proc_fs.h>
#include <linux/sched/task.h>
#include <linux/seq_file.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "internal.h"

/* Maximum size of a file name: a number of 64 bits, and the suffix */
#define PROC_PERF_NAME	(20 + sizeof(".trace"))

/**
 * struct perf_entry - a file name in parsed form
 * @number:	number of the buffer
 * @text:	it is N.txt, otherwise N.trace
 */
struct perf_entry {
	u64	number;
	bool	text;
};

static const char *kind_of(bool text)
{
	return text ? "txt" : "trace";
}

static bool parse_name(const struct dentry *dentry, struct perf_entry *entry)
{
	char name[PROC_PERF_NAME], kind[sizeof("trace")];

	if (sscanf(dentry->d_name.name, "%llu.%5s", &entry->number, kind) != 2)
		return false;
	entry->text = !strcmp(kind, kind_of(true));
	/* Accept no leading zeros or other variants that sscanf() accepts. */
	snprintf(name, sizeof(name), "%llu.%s", entry->number, kind_of(entry->text));
	return !strcmp(name, dentry->d_name.name);
}

/*
 * Files
 */

static struct task_struct *get_opened(struct file *file, struct perf_entry *entry)
{
	return parse_name(file->f_path.dentry, entry) ? get_proc_task(file_inode(file)) : NULL;
}

/* @ret is 1 if there is a record, 0 if there is none, or an error. */
static void *text_or_error(struct perf_text *text, int ret)
{
	if (ret < 0)
		return ERR_PTR(ret);
	return ret ? text : NULL;
}

static void *text_start(struct seq_file *m, loff_t *pos)
{
	return text_or_error(m->private, perf_text_seek(m->private, *pos));
}

static void *text_next(struct seq_file *m, void *v, loff_t *pos)
{
	++*pos;
	return text_or_error(v, perf_text_next(v));
}

static void text_stop(struct seq_file *m, void *v)
{
}

static int text_show(struct seq_file *m, void *v)
{
	return perf_text_show(v, m);
}

static const struct seq_operations text_seq_ops = {
	.start	= text_start,
	.next	= text_next,
	.stop	= text_stop,
	.show	= text_show,
};

static int text_open(struct inode *inode, struct file *file)
{
	struct task_struct *task;
	struct perf_entry entry;
	struct perf_text *text;
	int ret;

	task = get_opened(file, &entry);
	if (!task)
		return -ENOENT;
	text = perf_task_text(task, entry.number, proc_pid_ns(inode->i_sb));
	put_task_struct(task);
	if (IS_ERR(text))
		return PTR_ERR(text);
	ret = seq_open(file, &text_seq_ops);
	if (ret)
		perf_text_free(text);
	else
		((struct seq_file *)file->private_data)->private = text;
	return ret;
}

static int text_release(struct inode *inode, struct file *file)
{
	perf_text_free(((struct seq_file *)file->private_data)->private);
	return seq_release(inode, file);
}

static const struct file_operations text_operations = {
	.open		= text_open,
	.read_iter	= seq_read_iter,
	.splice_read	= copy_splice_read,
	.llseek		= seq_lseek,
	.release	= text_release,
};

/**
 * struct trace_file - an open N.trace
 * @lock:	serializes the readers
 * @stream:	the stream
 * @error:	0, or an error that all later reads return: a stream with a gap is useless
 */
struct trace_file {
	struct mutex		lock;	/* protects @stream and @error */
	struct perf_stream	*stream;
	int			error;
};

static int trace_open(struct inode *inode, struct file *file)
{
	struct trace_file *trace;
	struct task_struct *task;
	struct perf_entry entry;
	int ret = 0;

	trace = kzalloc(sizeof(*trace), GFP_KERNEL_ACCOUNT);
	if (!trace)
		return -ENOMEM;
	mutex_init(&trace->lock);
	task = get_opened(file, &entry);
	if (task) {
		trace->stream = perf_task_stream(task, entry.number, proc_pid_ns(inode->i_sb));
		put_task_struct(task);
		ret = PTR_ERR_OR_ZERO(trace->stream);
	} else {
		ret = -ENOENT;
	}
	if (ret) {
		kfree(trace);
		return ret;
	}
	file->private_data = trace;
	return stream_open(inode, file);
}

/* Read with the rights of the task that opened the file. */
static ssize_t read_stream(struct trace_file *trace, const struct cred *cred, void *data,
			   size_t len)
{
	const struct cred *old = override_creds(cred);
	ssize_t ret = trace->error;

	if (!ret)
		ret = perf_stream_read(trace->stream, data, len);
	if (ret < 0)
		trace->error = ret;
	revert_creds(old);
	return ret;
}

static ssize_t trace_read(struct file *file, char __user *buf, size_t len, loff_t *pos)
{
	struct trace_file *trace = file->private_data;
	ssize_t ret;
	void *data;

	len = min_t(size_t, len, SZ_64K);
	data = kvmalloc(len, GFP_KERNEL_ACCOUNT);
	if (!data)
		return -ENOMEM;
	ret = mutex_lock_killable(&trace->lock);
	if (!ret) {
		ret = read_stream(trace, file->f_cred, data, len);
		if (ret > 0 && copy_to_user(buf, data, ret)) {
			ret = -EFAULT;
			trace->error = ret;
		}
		mutex_unlock(&trace->lock);
	}
	kvfree(data);
	return ret;
}

static int trace_release(struct inode *inode, struct file *file)
{
	struct trace_file *trace = file->private_data;

	perf_stream_free(trace->stream);
	kfree(trace);
	return 0;
}

static const struct file_operations trace_operations = {
	.open		= trace_open,
	.read		= trace_read,
	.release	= trace_release,
};

/*
 * The directory
 */

/* Unused dentries are not cached, so that a buffer that is gone cannot be found again. */
static const struct dentry_operations entry_dentry_operations = {
	.d_revalidate	= pid_revalidate,
	.d_delete	= always_delete_dentry,
};

static struct dentry *make_entry(struct dentry *dentry, struct task_struct *task,
				 const void *data)
{
	const struct perf_entry *entry = data;
	struct inode *inode;

	inode = proc_pid_make_inode(dentry->d_sb, task, S_IFREG | 0400);
	if (!inode)
		return ERR_PTR(-ENOENT);
	inode->i_fop = entry->text ? &text_operations : &trace_operations;
	pid_update_inode(task, inode);
	return proc_splice_unmountable(inode, dentry, &entry_dentry_operations);
}

/* Returns 0 if the task has the buffer open, -ENOENT if not, or another error. */
static int find_number(struct task_struct *task, u64 number)
{
	u64 *numbers;
	int i, nr;

	nr = perf_task_buffers(task, &numbers);
	if (nr < 0)
		return nr;
	for (i = 0; i < nr && numbers[i] < number; i++)
		;
	nr = i < nr && numbers[i] == number ? 0 : -ENOENT;
	kvfree(numbers);
	return nr;
}

static struct dentry *ring_buffers_lookup(struct inode *dir, struct dentry *dentry,
					  unsigned int flags)
{
	struct task_struct *task;
	struct perf_entry entry;
	struct dentry *result;
	int ret;

	if (!parse_name(dentry, &entry))
		return ERR_PTR(-ENOENT);
	task = get_proc_task(dir);
	if (!task)
		return ERR_PTR(-ENOENT);
	ret = find_number(task, entry.number);
	result = ret ? ERR_PTR(ret) : make_entry(dentry, task, &entry);
	put_task_struct(task);
	return result;
}

/* Returns false if there is no room for more entries. */
static bool fill_entry(struct file *file, struct dir_context *ctx, struct task_struct *task,
		       const struct perf_entry *entry)
{
	loff_t pos = 2 + 2 * entry->number + entry->text;
	char name[PROC_PERF_NAME];
	int len;

	if (pos < ctx->pos)
		return true;
	ctx->pos = pos;
	len = snprintf(name, sizeof(name), "%llu.%s", entry->number, kind_of(entry->text));
	if (!proc_fill_cache(file, ctx, name, len, make_entry, task, entry))
		return false;
	ctx->pos = pos + 1;
	return true;
}

static int ring_buffers_iterate(struct file *file, struct dir_context *ctx)
{
	struct task_struct *task = get_proc_task(file_inode(file));
	struct perf_entry entry;
	u64 *numbers = NULL;
	bool room = true;
	int i, nr = 0;

	if (!task)
		return -ENOENT;
	if (dir_emit_dots(file, ctx))
		nr = perf_task_buffers(task, &numbers);
	for (i = 0; i < nr && room; i++) {
		entry = (struct perf_entry){ .number = numbers[i] };
		room = fill_entry(file, ctx, task, &entry);
		entry.text = true;
		room = room && fill_entry(file, ctx, task, &entry);
		cond_resched();
	}
	kvfree(numbers);
	put_task_struct(task);
	return min(nr, 0);
}

const struct file_operations proc_ring_buffers_operations = {
	.read		= generic_read_dir,
	.iterate_shared	= ring_buffers_iterate,
	.llseek		= generic_file_llseek,
};

const struct inode_operations proc_ring_buffers_inode_operations = {
	.lookup		= ring_buffers_lookup,
	.getattr	= pid_getattr,
	.setattr	= proc_nochmod_setattr,
};
