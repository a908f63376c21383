// SPDX-License-Identifier: GPL-2.0
/*
 * Make members and their buffers inside the kernel, without a process that opens and maps
 * them: for CPUs that come online, and for namespaces that the kernel makes.
 */
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/pid_namespace.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "internal.h"
#include "persistent.h"
#include "persistent_internal.h"
#include "read.h"

/*
 * Create an event of @attr as perf_event_open() would, but disabled, and without a buffer
 * and an owner. It gets the pid namespace of @like, if that is not NULL.
 * perf_event_release_kernel() frees it.
 */
static struct perf_event *make_event(struct perf_event *like, const struct perf_event_attr *attr,
				     char *filter_str, int cpu)
{
	struct perf_event_attr new_attr = *attr;
	struct perf_event_context *ctx;
	struct perf_event *event;
	int ret = 0;

	new_attr.disabled = 1;
	event = perf_event_create_kernel_counter(&new_attr, cpu, NULL, NULL, NULL);
	if (IS_ERR(event))
		return event;

	/* That is an event for kernel use: do what perf_event_open() does in addition. */
	ctx = perf_event_ctx_lock(event);
	WRITE_ONCE(event->owner, NULL);
	put_pid_ns(event->ns);
	event->ns = get_pid_ns(like ? like->ns : &init_pid_ns);
	perf_event__header_size(event);
	perf_event__id_header_size(event);
	/* The driver may be gone, use another CPU, or be unable to sample. */
	if (!event->pmu)
		ret = -ENODEV;
	else if (event->cpu != cpu || (is_sampling_event(event) &&
				       event->pmu->capabilities & PERF_PMU_CAP_NO_INTERRUPT))
		ret = -EOPNOTSUPP;
	/* The PMU of @like may have had no NMIs, in which not all clocks can be read. */
	if (!ret && attr->use_clockid)
		ret = perf_event_set_clock(event, attr->clockid);
	if (!ret && filter_str)
		ret = __perf_event_set_filter(event, filter_str);
	perf_event_ctx_unlock(event, ctx);
	if (ret) {
		perf_event_release_kernel(event);
		return ERR_PTR(ret);
	}
	return event;
}

/**
 * perf_member_make - make an event that can become a member
 * @like:	an event whose pid namespace it gets, with an opener of the caller's; or NULL
 * @attr:	its attributes; it is disabled, whatever @attr says
 * @filter:	its filter, as for SET_FILTER, or NULL
 * @cpu:	its CPU
 *
 * Called without a lock, with the creds of its namespace. The caller is its opener, until
 * it calls perf_member_unmake().
 *
 * Return: the event, or
 *  -EOPNOTSUPP	the PMU wants another CPU, or cannot sample
 *  -ENODEV	@cpu is offline, or the PMU is gone
 *  -ENOMEM	out of memory
 *  -EINVAL	@filter is not valid, or the PMU has NMIs and the clock cannot be read there
 *  or what the PMU says
 */
struct perf_event *perf_member_make(struct perf_event *like, const struct perf_event_attr *attr,
				    const char *filter, int cpu)
{
	struct perf_event *event;
	char *copy = NULL;
	int ret;

	if (filter) {
		copy = kstrdup(filter, GFP_KERNEL);
		if (!copy)
			return ERR_PTR(-ENOMEM);
	}

	event = make_event(like, attr, copy, cpu);
	if (IS_ERR(event)) {
		kfree(copy);
		return event;
	}

	ret = perf_persistent_event_init(event, attr);
	if (ret) {
		kfree(copy);
		perf_event_release_kernel(event);
		return ERR_PTR(ret);
	}
	if (copy && !perf_persistent_keep_filter(event, copy))
		kfree(copy);
	return event;
}

/**
 * perf_member_make_buffer - make a buffer for an event of perf_member_make()
 * @event:	the event, which nobody else can see
 * @ns:		its future namespace, whose creds the caller has
 * @nr_pages:	number of data pages
 *
 * Called without a lock. The caller counts as a mapping; perf_member_unmake() undoes that.
 *
 * Return: 0, or see perf_persist_new_buffer().
 */
int perf_member_make_buffer(struct perf_event *event, struct perf_persist_ns *ns,
			    unsigned int nr_pages)
{
	struct perf_buffer *rb;

	if (!perf_memory_left(nr_pages + 1UL))
		return -ENOMEM;
	rb = perf_persist_new_buffer(ns, event, nr_pages);
	if (IS_ERR(rb))
		return PTR_ERR(rb);

	refcount_inc(&rb->refcount); /* for the event */

	mutex_lock(&event->mmap_mutex);
	refcount_set(&event->mmap_count, 1);
	perf_event_attach_buffer(event, rb);
	mutex_unlock(&event->mmap_mutex);
	return 0;
}

/**
 * perf_member_unmake - drop the opener and the mapping of perf_member_make()'s caller
 * @event:	the event, which a namespace may hold; or NULL
 * @rb:		its buffer if perf_member_make_buffer() made it, or NULL
 *
 * Called without a lock.
 */
void perf_member_unmake(struct perf_event *event, struct perf_buffer *rb)
{
	perf_member_release((struct perf_held){ .event = event, .rb = rb });
}
