/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Declarations that the files share which make a perf.data stream in memory.
 */
#ifndef _KERNEL_EVENTS_READ_DATA_H
#define _KERNEL_EVENTS_READ_DATA_H

#include <linux/bits.h>
#include <linux/buildid.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/perf_read.h>
#include <linux/types.h>
#include <linux/xarray.h>

struct perf_copy;
struct perf_copy_event;
struct perf_copy_events;
struct perf_copy_source;
struct perf_event_attr;
struct perf_event_header;
struct perf_format;
struct pid_namespace;

/* Bodies of records, see enum perf_event_type; a name follows each of them */
struct perf_mmap_body {
	u32	pid, tid;
	u64	start, len, pgoff;
};

struct perf_mmap2_body {
	struct perf_mmap_body		map;
	union {
		struct {
			u32	maj, min;
			u64	ino, ino_generation;
		};
		struct {
			u8	build_id_size;
			u8	reserved[3];
			u8	build_id[BUILD_ID_SIZE_MAX];
		};
	};
	u32				prot, flags;
};

/**
 * struct perf_out - output that a reader has not read yet
 * @data:	the bytes
 * @len:	number of bytes
 * @max:	number of bytes that there is room for
 * @id_size:	size of the sample_id fields at the end of each record that is no sample, see
 *		perf_out_id_size()
 * @failed:	out of memory: @data is incomplete
 */
struct perf_out {
	void		*data;
	size_t		len;
	size_t		max;
	size_t		id_size;
	bool		failed;
};

/* read_out.c */
void perf_out_add(struct perf_out *out, const void *data, size_t len);
bool perf_out_room(struct perf_out *out, size_t len);
__printf(2, 3) void perf_out_printf(struct perf_out *out, const char *fmt, ...);
size_t perf_out_begin(struct perf_out *out, u32 type, u16 misc);
void perf_out_end(struct perf_out *out, size_t start, bool with_id);
size_t perf_out_id_size(const struct perf_event_attr *attr, u64 more);
void perf_out_header(struct perf_out *out);
int perf_out_attrs(struct perf_out *out, const struct perf_copy_events *events);
int perf_out_formats(struct perf_out *out, const struct perf_copy_events *events);
void perf_out_free(struct perf_out *out);

/* read_wide.c */
void perf_out_wide(struct perf_out *out, const struct perf_event_header *header,
		   const struct perf_copy_event *event, int cpu);

/**
 * struct perf_modules - modules that the stream has described
 * @nr:		number of modules
 * @max:	number of modules that there is room for
 * @bases:	start address of the code of each module
 */
struct perf_modules {
	unsigned int	nr;
	unsigned int	max;
	unsigned long	*bases;
};

/* What the stream has said about a task, in perf_living::told */
#define PERF_TOLD_NAME	BIT(0)
#define PERF_TOLD_MAPS	BIT(1)	/* its executable maps since its exec */
#define PERF_TOLD_RUNS	BIT(2)	/* a process that has samples, or has forked */
#define PERF_TOLD_FLAGS	GENMASK(2, 0)

/* What the stream has said about task @tid, or 0 */
static inline unsigned long perf_told(struct xarray *told, u32 tid)
{
	void *what = xa_load(told, tid);

	return what ? xa_to_value(what) : 0;
}

/* Above PERF_TOLD_FLAGS: the time of the last exec, in units of 2^30 ns, about a second */
static inline unsigned long perf_told_time(u64 time)
{
	return (unsigned long)min_t(u64, time >> 30, LONG_MAX >> 3) << 3;
}

/**
 * struct perf_living - a walk over the living tasks, which adds them to the stream
 * @pid_ns:	the pid namespace of the tasks and of their pids
 * @viewer:	skip tasks that are not visible in this pid namespace, unless it is NULL
 * @before:	skip tasks that started at or after this time, in ns of CLOCK_BOOTTIME: they may
 *		have reused the pid of a recorded task
 * @recorded:	skip processes that have no records
 * @told:	PERF_TOLD_... of each task, by pid
 * @since:	time since when no records about tasks are missing; U64_MAX if unknown
 * @tid:	the last task that was added, or 0
 * @address:	address from which maps of @tid are still missing, or 0
 */
struct perf_living {
	struct pid_namespace	*pid_ns;
	struct pid_namespace	*viewer;
	u64			before;
	bool			recorded;
	struct xarray		*told;
	u64			since;
	int			tid;
	unsigned long		address;
};

/* Linker symbols around the notes of the kernel, which include its build id */
extern const void __start_notes;
extern const void __stop_notes;

/* read_maps.c */
void perf_out_kernel(struct perf_out *out);
int perf_out_modules(struct perf_out *out, struct perf_modules *modules,
		     const struct perf_copy_events *events, const struct perf_copy *copy);
int perf_out_living(struct perf_out *out, struct perf_living *living, size_t enough);


/* read_data.c */
struct perf_stream *perf_stream_make(struct perf_copy_source *source, int cpu);

#endif /* _KERNEL_EVENTS_READ_DATA_H */
