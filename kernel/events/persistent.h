/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The interface between core.c and the files of persistent events: first the functions of
 * core.c that the persistent*.c files call, then the hooks that core.c calls, which are
 * stubs without CONFIG_PERF_EVENTS_PERSISTENT.
 *
 * persistent_internal.h has the functions that only the persistent*.c files call.
 */
#ifndef _KERNEL_EVENTS_PERSISTENT_H
#define _KERNEL_EVENTS_PERSISTENT_H

#include <linux/errno.h>
#include <linux/perf_event.h>

struct file;
struct perf_buffer;
struct vm_area_struct;

/* core.c, for the persistent*.c files */
void perf_remove_from_owner(struct perf_event *event);
void perf_mmap_put(struct perf_event *event, struct perf_buffer *rb);
void perf_event_retire(struct perf_event *event);
void unaccount_event(struct perf_event *event);
void perf_event_revoke_pmu(struct perf_event *event);
struct file *perf_event_file(struct perf_event *event, int f_flags);
int perf_event_set_output(struct perf_event *event, struct perf_event *output_event);
void perf_event_attach_buffer(struct perf_event *event, struct perf_buffer *rb);
void perf_event_init_userpage(struct perf_event *event);
void put_event(struct perf_event *event);
void perf_events_move(struct perf_buffer *from, struct perf_buffer *to);
int perf_mmap_map_range(struct perf_buffer *rb, struct vm_area_struct *vma);
void perf_event_set_state(struct perf_event *event, enum perf_event_state state);
void perf_remove_from_context(struct perf_event *event, unsigned long flags);
void perf_install_in_context(struct perf_event_context *ctx, struct perf_event *event, int cpu);
bool exclusive_event_installable(struct perf_event *event, struct perf_event_context *ctx);
bool perf_cpu_is_online(int cpu);
int perf_pmu_type(const char *name);
void perf_event__header_size(struct perf_event *event);
void perf_event__id_header_size(struct perf_event *event);
int __perf_event_set_filter(struct perf_event *event, char *filter_str);
int perf_event_set_clock(struct perf_event *event, clockid_t clk_id);

#ifdef CONFIG_PERF_EVENTS_PERSISTENT

int perf_persistent_event_init(struct perf_event *event, const struct perf_event_attr *attr);
void perf_persistent_event_free(struct perf_event *event);
bool perf_persistent_last_opener(struct perf_event *event);
void perf_persistent_released(struct perf_event *event);
bool perf_persistent_is_revoked(struct perf_event *event);

int perf_persistent_open(const struct perf_event_attr *attr, pid_t pid, int cpu,
			 int group_fd, unsigned long flags);
long perf_persistent_ioctl(struct file *file, unsigned int cmd, unsigned long arg);

bool perf_is_member(struct perf_event *event);
void perf_persistent_changed(struct perf_event *event);
int perf_persistent_may_redirect(struct perf_event *event);
bool perf_persistent_keeps_output(struct perf_event *event);
int perf_persistent_may_mmap(struct perf_event *event, struct vm_area_struct *vma);
int perf_persistent_may_write(struct perf_buffer *rb);
void perf_persistent_attached(struct perf_event *event, struct perf_buffer *rb);
void perf_persistent_set_period(struct perf_event *event, u64 value);
void perf_persistent_set_breakpoint(struct perf_event *event, const struct perf_event_attr *attr);
bool perf_persistent_keep_filter(struct perf_event *event, char *filter_str);
void perf_persistent_unmapped(struct perf_buffer *rb);
void perf_persistent_offline(struct perf_event *event);
bool perf_persistent_is_detached(struct perf_event *event);
bool perf_persistent_set_wanted(struct perf_event *event, bool wanted);

#else /* !CONFIG_PERF_EVENTS_PERSISTENT */

static inline int perf_persistent_event_init(struct perf_event *event,
					     const struct perf_event_attr *attr)
{
	return 0;
}

static inline void perf_persistent_event_free(struct perf_event *event) { }

static inline bool perf_persistent_last_opener(struct perf_event *event)
{
	return true;
}

static inline void perf_persistent_released(struct perf_event *event) { }

static inline bool perf_persistent_is_revoked(struct perf_event *event)
{
	return false;
}

static inline int perf_persistent_open(const struct perf_event_attr *attr, pid_t pid, int cpu,
				       int group_fd, unsigned long flags)
{
	return -ENOENT;
}

static inline long perf_persistent_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	return -ENOIOCTLCMD;
}

static inline bool perf_is_member(struct perf_event *event)
{
	return false;
}

static inline void perf_persistent_changed(struct perf_event *event) { }

static inline int perf_persistent_may_redirect(struct perf_event *event)
{
	return 0;
}

static inline bool perf_persistent_keeps_output(struct perf_event *event)
{
	return false;
}

static inline int perf_persistent_may_mmap(struct perf_event *event,
					   struct vm_area_struct *vma)
{
	return 0;
}

static inline int perf_persistent_may_write(struct perf_buffer *rb)
{
	return 0;
}

static inline void perf_persistent_attached(struct perf_event *event, struct perf_buffer *rb) { }
static inline void perf_persistent_set_period(struct perf_event *event, u64 value) { }
static inline void perf_persistent_set_breakpoint(struct perf_event *event,
						  const struct perf_event_attr *attr) { }

static inline bool perf_persistent_keep_filter(struct perf_event *event, char *filter_str)
{
	return false;
}

static inline void perf_persistent_unmapped(struct perf_buffer *rb) { }
static inline void perf_persistent_offline(struct perf_event *event) { }

static inline bool perf_persistent_is_detached(struct perf_event *event)
{
	return false;
}

static inline bool perf_persistent_set_wanted(struct perf_event *event, bool wanted)
{
	return false;
}

#endif /* CONFIG_PERF_EVENTS_PERSISTENT */

#endif /* _KERNEL_EVENTS_PERSISTENT_H */
