// SPDX-License-Identifier: GPL-2.0
/*
 * Private copies of ring buffers, for readers in the kernel.
 *
 * Events keep writing to a buffer while it is copied. As any reader, this code reads
 * data_head, copies the buffer, and then finds out how far the writers have reserved space
 * meanwhile. It keeps the records that end at or below that position plus the size. These
 * records are complete, and writers had not overwritten them before they were copied.
 */
#include <linux/atomic.h>
#include <linux/bsearch.h>
#include <linux/capability.h>
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/llist.h>
#include <linux/mm.h>
#include <linux/perf_event.h>
#include <linux/pid_namespace.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/user_namespace.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>

#include "internal.h"
#include "read.h"

/* Maximum number of tries until at least half of a copy was not overwritten meanwhile */
#define PERF_COPY_TRIES	100

/*
 * Events
 */

static int compare_id(const void *key, const void *elem)
{
	u64 id = *(u64 *)key, other = ((const struct perf_copy_event *)elem)->id;

	return id < other ? -1 : id > other;
}

/**
 * perf_copy_find_event - find an event by its id
 * @events:	the events to search
 * @id:		its id
 *
 * Return: the event, or NULL.
 */
const struct perf_copy_event *perf_copy_find_event(const struct perf_copy_events *events, u64 id)
{
	return bsearch(&id, events->all, events->nr, sizeof(*events->all), compare_id);
}

/**
 * perf_copy_put_events - free what perf_copy_source::get_events() returned
 * @events:	the events, or NULL
 */
void perf_copy_put_events(struct perf_copy_events *events)
{
	struct perf_copy_event *event;

	if (!events)
		return;
	for (event = events->all; event < perf_copy_events_end(events); event++) {
		perf_format_put(event->format);
		put_pid_ns(event->pid_ns);
	}
	kvfree(events);
}

/**
 * perf_copy_count_writers - set the fields of buffer owners that depend on the writers
 * @events:	the events, with all other fields set
 */
void perf_copy_count_writers(struct perf_copy_events *events)
{
	struct perf_copy_event *event, *owner;

	for (event = events->all; event < perf_copy_events_end(events); event++) {
		owner = (struct perf_copy_event *)perf_copy_find_event(events, event->owner);
		if (!owner)
			continue;
		owner->writers++;
		owner->names |= event->attr.comm || event->attr.task;
	}
}

/**
 * perf_copy_complete_since - find out since when no records of a kind are missing
 * @events:	the events
 * @records:	whether an event with these attributes makes such records
 *
 * The records are about tasks. These move, so each CPU needs an event that makes them.
 *
 * Return: the time since when each online CPU has had such an event all the time, in ns of the
 * clock of the events; or U64_MAX if records may be missing at present, or out of memory.
 */
u64 perf_copy_complete_since(const struct perf_copy_events *events,
			     bool (*records)(const struct perf_event_attr *attr))
{
	const struct perf_copy_event *event;
	u64 *since, all = 0;
	int cpu;

	since = perf_copy_alloc(array_size(nr_cpu_ids, sizeof(*since)), 0);
	if (!since)
		return U64_MAX;
	memset64(since, U64_MAX, nr_cpu_ids);
	for (event = events->all; event < perf_copy_events_end(events); event++) {
		if (event->cpu >= 0 && event->owner && records(&event->attr) &&
		    event->pid_ns == events->all[0].pid_ns)
			since[event->cpu] = min(since[event->cpu], event->complete_since);
	}
	for_each_online_cpu(cpu)
		all = max(all, since[cpu]);
	kvfree(since);
	return all;
}

/*
 * Memory
 */

/* Pages that all readers have reserved, allocated or not */
static atomic_long_t perf_copy_pages;

/* Pages of these that they have allocated */
static atomic_long_t perf_copy_held;

static LLIST_HEAD(perf_copy_garbage);

static void free_garbage(struct work_struct *work)
{
	struct llist_node *all = llist_del_all(&perf_copy_garbage);
	struct perf_copy_garbage *garbage, *next;

	llist_for_each_entry_safe(garbage, next, all, node) {
		garbage->free(garbage);
		cond_resched();
	}
}

static DECLARE_WORK(perf_copy_work, free_garbage);

/**
 * perf_copy_free_later - have a worker free copies
 * @garbage:	the object that has the copies
 *
 * Copies can have gigabytes, and kernfs holds locks while it releases a file.
 */
void perf_copy_free_later(struct perf_copy_garbage *garbage)
{
	if (llist_add(&garbage->node, &perf_copy_garbage))
		queue_work(system_dfl_wq, &perf_copy_work);
}

/**
 * perf_memory_left - is there enough memory to allocate buffers
 * @pages:	number of pages, all that are going to be allocated at once
 *
 * Order-0 allocations fail only when no memory is left for anybody, so check in advance.
 *
 * Return: false if @pages is more than half of the available memory.
 */
bool perf_memory_left(unsigned long pages)
{
	return pages <= si_mem_available() / 2;
}

/**
 * perf_copy_flush - wait until perf_copy_free_later() has freed all objects
 *
 * Called without a lock.
 */
void perf_copy_flush(void)
{
	flush_work(&perf_copy_work);
}

/*
 * All readers together get half of the memory that they hold or that is available. A reader
 * with CAP_SYS_ADMIN does not fail because of what others hold. It fails only if pages that
 * are reserved but not allocated yet exceed half of the available memory.
 */
static bool reserve(unsigned long pages)
{
	unsigned long sum = atomic_long_add_return(pages, &perf_copy_pages);
	unsigned long held = atomic_long_read(&perf_copy_held);
	unsigned long half = si_mem_available() / 2;

	if (sum >= pages && sum <= held / 2 + half)
		return true;
	if (sum >= pages && sum <= held + half &&
	    ns_capable_noaudit(&init_user_ns, CAP_SYS_ADMIN))
		return true;
	perf_copy_unreserve(pages);
	return false;
}

/**
 * perf_copy_reserve - reserve memory for copies
 * @pages:	number of pages
 *
 * The caller reports allocations with perf_copy_allocated(), and ends the reservation with
 * perf_copy_unreserve(). Called without a lock, with the reader's creds.
 *
 * Return: 0, or -ENOMEM if all readers together would get more than half of the memory that
 * they hold or that is available; with CAP_SYS_ADMIN, if what they have not allocated yet is
 * more than half of the available memory.
 */
int perf_copy_reserve(unsigned long pages)
{
	if (reserve(pages))
		return 0;
	/* A worker may be freeing copies. */
	perf_copy_flush();
	return reserve(pages) ? 0 : -ENOMEM;
}

/**
 * perf_copy_unreserve - give back memory that perf_copy_reserve() reserved
 * @pages:	number of pages
 */
void perf_copy_unreserve(unsigned long pages)
{
	atomic_long_sub(pages, &perf_copy_pages);
}

/**
 * perf_copy_allocated - account allocations of pages that are reserved
 * @pages:	number of pages; negative when they were freed, but are still reserved
 */
void perf_copy_allocated(long pages)
{
	atomic_long_add(pages, &perf_copy_held);
}

/* Size of perf_copy::starts for @nr records */
static unsigned long index_bytes(unsigned long nr)
{
	return array_size(nr, sizeof(u32));
}

/**
 * perf_copy_max_pages - maximum size of the copy of a buffer
 * @owner:	the event that has the buffer
 *
 * Return: the number of pages.
 */
unsigned long perf_copy_max_pages(const struct perf_copy_event *owner)
{
	return PFN_UP(owner->size) +
	       PFN_UP(index_bytes(owner->size / sizeof(struct perf_event_header)));
}

/*
 * Buffers
 */

static void read_head(void *arg)
{
	struct perf_head_read *read = arg;

	read->head = local_read(&read->rb->head);
	smp_rmb(); /* A writer that began before this head increments rb->nest first. */
	read->writing = READ_ONCE(read->rb->nest);
}

/**
 * perf_read_head - get the position of the writers of a buffer
 * @rb:		the buffer
 * @cpu:	the CPU on which they run
 *
 * Writers reserve space with interrupts on, before they publish it in data_head. The position
 * includes everything that they have overwritten of what the caller has read before.
 *
 * Return: the head, and whether a record was being written.
 */
struct perf_head_read perf_read_head(struct perf_buffer *rb, int cpu)
{
	struct perf_head_read read = { .rb = rb };

	/*
	 * All CPUs see the stores of an x86 CPU in order: first the position, then the record.
	 * So do not interrupt it. It may even be locked up, and the buffer tells why.
	 */
	smp_rmb();
	if (IS_ENABLED(CONFIG_X86))
		read_head(&read);
	/* Nobody writes on a CPU that is offline. */
	else if (smp_call_function_single(cpu, read_head, &read, 1))
		read_head(&read);
	return read;
}

static void copy_ring(void *to, struct perf_buffer *rb, unsigned long pos, unsigned long len)
{
	unsigned long page_size = PAGE_SIZE << page_order(rb);

	while (len) {
		unsigned long offset = pos & (perf_data_size(rb) - 1);
		unsigned long here = offset & (page_size - 1);
		unsigned long n = min(len, page_size - here);

		/* Writers may overwrite it meanwhile: the caller drops spoiled records. */
		data_race(memcpy(to, rb->data_pages[offset / page_size] + here, n));
		to += n;
		pos += n;
		len -= n;
		cond_resched();
	}
}

/*
 * How many bytes of @rb were written. @head counts down from 0. On 32 bit it wraps around, so
 * take the whole buffer: bytes that were never written are zero, which is no valid record.
 */
static unsigned long written(struct perf_buffer *rb, unsigned long head)
{
	return IS_ENABLED(CONFIG_64BIT) ? min(-head, perf_data_size(rb)) : perf_data_size(rb);
}

static unsigned long reserved_head(const struct perf_copy_from *from)
{
	unsigned long head;
	int cpu;

	smp_rmb(); /* The head read below must include all writes that the copy has seen. */
	if (from->done)
		return from->head;
	do {
		cpu = from->target ? task_cpu(from->target) : from->cpu;
		head = perf_read_head(from->rb, cpu).head;
		/* Another CPU may have its writes if it has migrated. */
	} while (from->target && task_cpu(from->target) != cpu);
	return head;
}

/* Returns whether at least half of the copy was not overwritten meanwhile. */
static bool try_copy(struct perf_copy *copy, const struct perf_copy_from *from, unsigned long max)
{
	struct perf_buffer *rb = from->rb;
	unsigned long size = perf_data_size(rb), head, reserved, len, overwritten;

	head = READ_ONCE(rb->user_page->data_head);
	smp_rmb(); /* C, matches B in rb_publish_outermost() */
	len = min(written(rb, head), max);
	copy_ring(copy->data, rb, head, len);
	reserved = reserved_head(from);

	overwritten = head - reserved;
	copy->len = 0;
	if (!(head & (sizeof(u64) - 1)) && overwritten < size)
		copy->len = min(len, size - overwritten);
	/* On 32 bit the head may have wrapped around. */
	copy->whole = IS_ENABLED(CONFIG_64BIT) && from->first && copy->len == -head;
	return copy->len >= len / 2;
}

/*
 * The writers of a forward buffer do not write beyond data_tail, which user space advances.
 * A process that maps the buffer can write anything to the tail, the head, and the data. The
 * copy may then have any contents, but only from this buffer.
 */
static bool try_copy_forward(struct perf_copy *copy, const struct perf_copy_from *from,
			     unsigned long max)
{
	struct perf_event_mmap_page *page = from->rb->user_page;
	unsigned long size = perf_data_size(from->rb), head, tail, len, begin;

	copy->len = 0;
	copy->skip = 0;
	tail = READ_ONCE(page->data_tail);
	head = READ_ONCE(page->data_head);
	smp_rmb(); /* C, matches B in rb_publish_outermost() */
	len = head - tail;
	if ((head | tail) & (sizeof(u64) - 1) || len > size)
		return false;
	len = min(len, max);
	copy_ring(copy->data, from->rb, tail, len);

	smp_rmb(); /* Records before a new tail may have been overwritten: read it last. */
	begin = READ_ONCE(page->data_tail);
	if (begin & (sizeof(u64) - 1) || begin - tail > len)
		return false;
	copy->skip = begin - tail;
	copy->len = len;
	return true;
}

static void add_pages(struct perf_copy *copy, unsigned long pages)
{
	copy->pages += pages;
	perf_copy_allocated(pages);
}

/* Called for each record: a large buffer has millions of them. */
static int rest_after(unsigned long nr)
{
	if (nr % 4096)
		return 0;
	cond_resched();
	return fatal_signal_pending(current) ? -EINTR : 0;
}

/* Count the records, and cut off trailing bytes that are no valid record. */
static int count_records(struct perf_copy *copy)
{
	const struct perf_event_header *header;
	unsigned long pos;
	int ret;

	for (pos = copy->skip; (header = perf_next_record(copy->data, copy->len, pos));
	     pos += header->size) {
		ret = rest_after(++copy->nr);
		if (ret)
			return ret;
	}
	copy->whole &= pos == copy->len;
	copy->len = pos;
	return 0;
}

static int index_records(struct perf_copy *copy, bool forward)
{
	const struct perf_event_header *header;
	unsigned long pos, i;
	int ret;

	ret = count_records(copy);
	if (ret || !copy->nr)
		return ret;
	if ((copy->len - 1) / sizeof(u64) > U32_MAX)
		return -E2BIG;
	copy->starts = perf_copy_alloc(index_bytes(copy->nr), 0);
	if (!copy->starts)
		return -ENOMEM;
	add_pages(copy, PFN_UP(index_bytes(copy->nr)));
	for (pos = copy->skip, i = 0; i < copy->nr; i++, pos += header->size) {
		header = copy->data + pos;
		copy->starts[forward ? i : copy->nr - 1 - i] = pos / sizeof(u64);
		ret = rest_after(i);
		if (ret)
			return ret;
	}
	for (i = 1; !forward && i < copy->nr; i++) {
		ret = rest_after(i);
		if (ret)
			return ret;
		/*
		 * A LOST record was written together with the newer record behind it, but
		 * describes what was lost before that record. Swap them.
		 */
		if (perf_copy_header(copy, i)->type == PERF_RECORD_LOST) {
			swap(copy->starts[i], copy->starts[i - 1]);
			i++;
		}
	}
	return 0;
}

/* A buffer that has never been full needs a smaller copy. */
static unsigned long bytes_held(const struct perf_copy_from *from)
{
	unsigned long head = READ_ONCE(from->rb->user_page->data_head);

	if (from->forward)
		return perf_data_size(from->rb);
	return min(written(from->rb, head) + PAGE_SIZE, perf_data_size(from->rb));
}

/* Copy at most @max bytes: the caller has reserved no more. */
static int fill_copy(struct perf_copy *copy, const struct perf_copy_from *from, unsigned long max)
{
	bool (*try)(struct perf_copy *copy, const struct perf_copy_from *from, unsigned long max);
	int tries = 0;
	bool good;

	try = from->forward ? try_copy_forward : try_copy;
	max = min(max, PAGE_ALIGN(bytes_held(from)));
	if (!max)
		return 0;
	copy->data = __vmalloc(max, PERF_COPY_GFP);
	if (!copy->data)
		return -ENOMEM;
	add_pages(copy, PFN_UP(max));

	/* Try again if the writers were faster, or the reader was preempted. */
	do {
		if (fatal_signal_pending(current))
			return -EINTR;
		good = try(copy, from, max);
	} while (!good && ++tries < PERF_COPY_TRIES && !from->done);
	if (from->forward && !good)
		return -EAGAIN;
	return index_records(copy, from->forward);
}

/**
 * perf_copy_free - free a copy
 * @copy:	the copy, or NULL
 */
void perf_copy_free(struct perf_copy *copy)
{
	if (!copy)
		return;
	kvfree(copy->starts);
	vfree(copy->data);
	perf_copy_allocated(-(long)copy->pages);
	kfree(copy);
}

/**
 * perf_copy_make - copy a buffer
 * @from:	the buffer
 * @owner:	the event that has it
 *
 * Called without a lock, after perf_copy_reserve() for perf_copy_max_pages(). A buffer that
 * has become larger since is copied in part.
 *
 * Return: the copy, which may be empty; or
 *  -ENOMEM	out of memory
 *  -E2BIG	the records take more than 32 GiB
 *  -EINTR	the caller is being killed
 *  -EAGAIN	the buffer is a forward one, and its data_tail is invalid
 */
struct perf_copy *perf_copy_make(const struct perf_copy_from *from,
				 const struct perf_copy_event *owner)
{
	struct perf_copy *copy;
	int ret;

	copy = kzalloc(sizeof(*copy), PERF_COPY_GFP);
	if (!copy)
		return ERR_PTR(-ENOMEM);

	copy->owner = owner->id;
	copy->cpu = from->cpu;
	ret = fill_copy(copy, from, owner->size);
	if (!ret)
		return copy;
	perf_copy_free(copy);
	return ERR_PTR(ret);
}
