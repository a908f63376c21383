// SPDX-License-Identifier: GPL-2.0
/*
 * The files of perffs that show the records.
 *
 * read() checks the rights of the task that opened the file. The first read() of "text"
 * copies all buffers, and the copy stays until the file is closed: a slow reader sees a
 * consistent state, and blocks nobody. "data" is a stream, which copies one buffer at a time.
 */
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/kernfs.h>
#include <linux/perf_event.h>
#include <linux/refcount.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "read.h"
#include "read_data.h"
#include "persistent_fs.h"
#include "persistent_internal.h"

/**
 * struct fs_reader - an open file
 * @refs:	one for the file until it is closed or its directory is removed, and one
 *		for each read() that is under way
 * @text:	contents of "text" after the first read(), else NULL
 * @stream:	contents of "data" after the first read(), else NULL
 * @pos:	position up to which @stream was read
 * @last:	the bytes before @pos, those of the last read()
 * @nr_last:	how many
 */
struct fs_reader {
	refcount_t		refs;
	struct perf_text	*text;
	struct perf_stream	*stream;
	loff_t			pos;
	char			*last;
	size_t			nr_last;
};

static int reader_open(struct kernfs_open_file *of)
{
	struct fs_reader *reader;

	reader = kzalloc(sizeof(*reader), GFP_KERNEL_ACCOUNT);
	if (!reader)
		return -ENOMEM;
	refcount_set(&reader->refs, 1);
	of->priv = reader;
	return 0;
}

static void put_reader(struct fs_reader *reader)
{
	if (!refcount_dec_and_test(&reader->refs))
		return;
	perf_text_free(reader->text);
	perf_stream_free(reader->stream);
	kfree(reader->last);
	kfree(reader);
}

/* The removal of the directory calls this as well, while a read() may still be under way. */
static void reader_release(struct kernfs_open_file *of)
{
	put_reader(of->priv);
}

/* @ret is 1 if there is a record, 0 if there is none, or an error. */
static void *text_or_error(struct perf_text *text, int ret)
{
	if (ret < 0)
		return ERR_PTR(ret);
	return ret ? text : NULL;
}

static int make_text(struct kernfs_open_file *of, struct fs_reader *reader)
{
	struct perf_fs_dir *dir = perf_fs_leave(of);
	const struct cred *old = override_creds(of->file->f_cred);
	struct perf_copy_source *source;
	struct perf_text *text;

	source = perf_persist_copy_source(dir->ns);
	text = IS_ERR(source) ? ERR_CAST(source) :
	       perf_text_make(source, perf_fs_priv_to_cpu(of->kn->priv));
	revert_creds(old);
	perf_fs_enter(of, dir);
	if (IS_ERR(text))
		return PTR_ERR(text);
	reader->text = text;
	return 0;
}

/* kernfs serializes the readers of an open file. */
static void *text_start(struct seq_file *m, loff_t *pos)
{
	struct kernfs_open_file *of = m->private;
	struct fs_reader *reader = of->priv;
	int ret = 0;

	refcount_inc(&reader->refs); /* text_stop() puts it, also after an error. */
	if (!reader->text)
		ret = make_text(of, reader);
	if (!ret)
		ret = perf_text_seek(reader->text, *pos);
	return text_or_error(reader->text, ret);
}

static void *text_next(struct seq_file *m, void *v, loff_t *pos)
{
	struct perf_text *text = v;

	++*pos;
	return text_or_error(text, perf_text_next(text));
}

static void text_stop(struct seq_file *m, void *v)
{
	struct kernfs_open_file *of = m->private;

	put_reader(of->priv);
}

static int text_show(struct seq_file *m, void *v)
{
	return perf_text_show(v, m);
}

/*
 * The stream is made while it is read: a reader can go back only to the start. But sendfile()
 * reads again what its output did not take, so keep what the last read() returned.
 */
static int begin_data(struct fs_reader *reader, struct perf_persist_ns *ns, int cpu, loff_t pos)
{
	struct perf_copy_source *source;
	struct perf_stream *stream;

	if (reader->stream && pos == reader->pos)
		return 0;
	if (pos)
		return -ESPIPE;
	if (!reader->last)
		reader->last = kmalloc(PAGE_SIZE, GFP_KERNEL_ACCOUNT);
	if (!reader->last)
		return -ENOMEM;
	source = perf_persist_copy_source(ns);
	if (IS_ERR(source))
		return PTR_ERR(source);
	stream = perf_stream_make(source, cpu);
	if (IS_ERR(stream))
		return PTR_ERR(stream);
	perf_stream_free(reader->stream);
	reader->stream = stream;
	reader->pos = 0;
	reader->nr_last = 0;
	return 0;
}

static ssize_t read_last(struct fs_reader *reader, char *buf, size_t bytes, loff_t pos)
{
	loff_t start = reader->pos - reader->nr_last;

	/* At 0, the reader wants to start again. */
	if (!pos || pos < start || pos >= reader->pos)
		return 0;
	bytes = min_t(size_t, bytes, reader->pos - pos);
	memcpy(buf, reader->last + (pos - start), bytes);
	return bytes;
}

static ssize_t read_stream(struct fs_reader *reader, char *buf, size_t bytes)
{
	/* kernfs does not ask for more. */
	ssize_t ret = perf_stream_read(reader->stream, buf, min(bytes, PAGE_SIZE));

	if (ret < 0) {
		/* A stream with a gap is useless: the reader must start again. */
		perf_stream_free(reader->stream);
		reader->stream = NULL;
		reader->nr_last = 0;
		return ret;
	}
	if (ret) {
		memcpy(reader->last, buf, ret);
		reader->nr_last = ret;
		reader->pos += ret;
	}
	return ret;
}

/* kernfs serializes the readers of an open file. */
static ssize_t data_read(struct kernfs_open_file *of, char *buf, size_t bytes, loff_t off)
{
	struct fs_reader *reader = of->priv;
	const struct cred *old;
	struct perf_fs_dir *dir;
	ssize_t ret;

	ret = read_last(reader, buf, bytes, off);
	if (ret)
		return ret;

	refcount_inc(&reader->refs);
	dir = perf_fs_leave(of);
	old = override_creds(of->file->f_cred);
	ret = begin_data(reader, dir->ns, perf_fs_priv_to_cpu(of->kn->priv), off);
	if (!ret)
		ret = read_stream(reader, buf, bytes);
	revert_creds(old);
	perf_fs_enter(of, dir);
	put_reader(reader);
	return ret;
}

/* Files of each directory, and of the directories of its CPUs */
const struct perf_fs_file perf_fs_data_files[] = {
	{
		.name	= "text",
		.ops	= {
			.open		= reader_open,
			.release	= reader_release,
			.seq_start	= text_start,
			.seq_next	= text_next,
			.seq_stop	= text_stop,
			.seq_show	= text_show,
		},
	}, {
		.name	= "data",
		.ops	= {
			.open		= reader_open,
			.release	= reader_release,
			.read		= data_read,
		},
	},
	{ }
};
