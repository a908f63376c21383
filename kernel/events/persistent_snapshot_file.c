// SPDX-License-Identifier: GPL-2.0
/*
 * Files of the members of snapshots. User space can map the buffer and ask for the
 * properties of the member, but change nothing.
 */
#include <linux/anon_inodes.h>
#include <linux/compat.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/perf_event.h>
#include <linux/poll.h>
#include <linux/rcupdate.h>
#include <linux/security.h>
#include <linux/uaccess.h>

#include "internal.h"
#include "persistent.h"
#include "persistent_internal.h"
#include "persistent_snapshot.h"

/**
 * perf_snapshot_fill_member - fill in what only members of snapshots have
 * @info:	to be filled in
 * @member:	the member, with the lock held
 */
void perf_snapshot_fill_member(struct perf_event_persist_member *info,
			       struct perf_member *member)
{
	struct perf_snapshot_member *sm = to_snapshot_member(member);

	assert_registry();
	if (sm->output) {
		info->output_id = sm->output->m.event->id;
		info->buffer_size = sm->buffer_size;
		info->buffer_seq = sm->seq;
		info->head = sm->head;
	}
	info->cgroup_id = sm->cgroup_id;
	info->lost = sm->lost;
	info->missed = sm->missed;
}

static void snapshot_vm_open(struct vm_area_struct *vma)
{
	struct perf_buffer *rb = vma->vm_private_data;

	refcount_inc(&rb->refcount);
	refcount_inc(&rb->mmap_count);
}

static void snapshot_vm_close(struct vm_area_struct *vma)
{
	perf_persist_free_buffer(vma->vm_private_data);
}

/* Forbid splitting, like perf_mmap_may_split(): it would spoil the refcounts. */
static int snapshot_vm_may_split(struct vm_area_struct *vma, unsigned long addr)
{
	return -EINVAL;
}

static const struct vm_operations_struct snapshot_vm_ops = {
	.open		= snapshot_vm_open,
	.close		= snapshot_vm_close,
	.may_split	= snapshot_vm_may_split,
};

static int snapshot_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct perf_snapshot_member *sm = file->private_data;
	unsigned long nr_pages = vma_pages(vma) - 1;
	struct perf_buffer *rb;
	int ret;

	/* For a file opened O_RDONLY, do_mmap() clears VM_SHARED and keeps VM_MAYSHARE. */
	if (!(vma->vm_flags & VM_MAYSHARE) || vma->vm_pgoff)
		return -EINVAL;
	if (vma->vm_flags & VM_WRITE)
		return -EACCES;
	ret = security_perf_event_read(sm->m.event);
	if (ret)
		return ret;
	if (!sm->own)
		return -EBUSY;

	rb = perf_member_map_buffer(&sm->m);
	if (!rb)
		return -ENODEV;
	/* A reader that does not know the size maps page 0 alone, which has it. */
	if (nr_pages && nr_pages != data_page_nr(rb)) {
		perf_persist_free_buffer(rb);
		return -EINVAL;
	}

	vm_flags_mod(vma, VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP, VM_MAYWRITE);
	vma->vm_private_data = rb;
	vma->vm_ops = &snapshot_vm_ops;
	ret = perf_mmap_map_range(rb, vma);
	/* If mmap() fails, nobody calls snapshot_vm_close(). */
	if (ret)
		perf_persist_free_buffer(rb);
	else
		perf_set_mapped(rb);
	return ret;
}

/* Like an event whose task has exited: no more records will come. */
static __poll_t snapshot_poll(struct file *file, poll_table *wait)
{
	return EPOLLHUP;
}

static ssize_t snapshot_read(struct file *file, char __user *buf, size_t count, loff_t *ppos)
{
	return 0;
}

static long snapshot_member_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct perf_snapshot_member *sm = file->private_data;
	struct perf_event *event = sm->m.event;
	void __user *argp = (void __user *)arg;
	int ret;

	if (!perf_is_get_persist(cmd) && !perf_is_get_member(cmd) &&
	    !perf_same_ioctl(cmd, PERF_EVENT_IOC_ID))
		return -ENOTTY;

	ret = security_perf_event_read(event);
	if (ret)
		return ret;

	if (perf_is_get_persist(cmd))
		return perf_persist_get_info(NULL, &sm->m, NULL, argp);
	if (perf_is_get_member(cmd))
		return perf_persist_get_member(event, &sm->m, argp);
	return put_user(event->id, (u64 __user *)argp);
}

static int snapshot_release(struct inode *inode, struct file *file)
{
	struct perf_snapshot_member *sm = file->private_data;

	perf_persist_put(sm->m.ns);
	return 0;
}

static const struct file_operations perf_snapshot_fops = {
	.release	= snapshot_release,
	.read		= snapshot_read,
	.poll		= snapshot_poll,
	.unlocked_ioctl	= snapshot_member_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.mmap		= snapshot_mmap,
};

/**
 * perf_snapshot_file - open a member of a snapshot
 * @member:	the member, with a reference on its namespace that the file takes over
 * @f_flags:	flags of the file
 *
 * Called without a lock.
 *
 * Return: the file, or an error.
 */
struct file *perf_snapshot_file(struct perf_member *member, int f_flags)
{
	struct perf_persist_ns *snap = member->ns;
	struct file *file;

	file = anon_inode_getfile("[perf_snapshot]", &perf_snapshot_fops,
				  to_snapshot_member(member), f_flags);
	if (IS_ERR(file))
		perf_persist_put(snap);
	return file;
}
