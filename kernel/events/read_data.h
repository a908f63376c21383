/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A perf.data stream, in memory until somebody reads it.
 */
#ifndef _KERNEL_EVENTS_READ_DATA_H
#define _KERNEL_EVENTS_READ_DATA_H

#include <linux/bits.h>
#include <linux/buildid.h>
#include <linux/perf_read.h>
#include <linux/types.h>

struct perf_copy;
struct perf_copy_event;
struct perf_copy_events;
struct perf_copy_source;
struct perf_event_attr;
struct perf_event_header;
struct perf_format;
struct pid_namespace;
struct xarray;

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
 * struct perf_out - bytes that are to be read
 * @data:	the bytes
 * @len:	how many there are
 * @max:	how many there is room for
 * @id_size:	bytes of the sample_id fields behind records that are no samples, see
 *		perf_out_id_size()
 * @failed:	there was no memory for some of them
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
 * struct perf_modules - modules that are known to the reader of a stream
 * @nr:		how many
 * @max:	how many there is room for
 * @bases:	where their code starts
 */
struct perf_modules {
	unsigned int	nr;
	unsigned int	max;
	unsigned long	*bases;
};

/* What records have told of a task, in perf_living::told */
#define PERF_TOLD_NAME	BIT(0)
#define PERF_TOLD_MAPS	BIT(1)	/* of all that it runs */
#define PERF_TOLD_RUNS	BIT(2)	/* a process that there are records of */

/**
 * struct perf_living - tasks that are alive, while they are written
 * @pid_ns:	those of this namespace, and by its pids
 * @before:	that are older than this, in ns of CLOCK_BOOTTIME: whoever came later may have
 *		the pid of another one that was recorded
 * @recorded:	only those of processes that there are records of
 * @told:	what records have told of them, by pid
 * @tid:	the last one that was written, or 0
 * @address:	where its maps go on that are missing yet, or 0
 */
struct perf_living {
	struct pid_namespace	*pid_ns;
	u64			before;
	bool			recorded;
	struct xarray		*told;
	int			tid;
	unsigned long		address;
};

/* Of the linker: notes of the kernel, its build id among them */
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
