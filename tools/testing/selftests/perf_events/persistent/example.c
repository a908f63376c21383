// SPDX-License-Identifier: GPL-2.0
/*
 * Persistent perf events without perf: which programs ran on this machine?
 *
 *	example create NAME	record it from now on, and exit
 *	example read NAME	print what the buffers hold, CPU by CPU, newest first
 *	example delete NAME
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <linux/perf_event.h>

#define DATA_SIZE	(64 * 1024)

static int event_open(struct perf_event_attr *attr, int cpu)
{
	attr->size = sizeof(*attr);
	return syscall(SYS_perf_event_open, attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static void *map_pages(int fd, size_t len)
{
	void *map = mmap(NULL, len, PROT_READ, MAP_SHARED, fd, 0);

	if (map == MAP_FAILED)
		err(1, "mmap");
	return map;
}

static void create(const char *name)
{
	/* Counts nothing, but records whenever a task gets a name, and so each exec. */
	struct perf_event_attr attr = {
		.type		= PERF_TYPE_SOFTWARE,
		.config		= PERF_COUNT_SW_DUMMY,
		.comm		= 1,
		.comm_exec	= 1,
		.sample_type	= PERF_SAMPLE_TIME,
		.sample_id_all	= 1,
		.write_backward	= 1,	/* with PROT_READ: overwrite the oldest records */
	};
	int cpu, fd = -1, last = sysconf(_SC_NPROCESSORS_CONF);
	__u64 flags = PERF_PERSIST_ALL_CPUS;
	__u64 id = PERF_PERSIST_NEW;

	for (cpu = 0; cpu < last; cpu++) {
		int event = event_open(&attr, cpu);

		if (event < 0 && errno == ENODEV)
			continue;	/* offline: the kernel covers it when it comes online */
		if (event < 0)
			err(1, "perf_event_open on CPU %d", cpu);
		fd = event;
		map_pages(fd, sysconf(_SC_PAGESIZE) + DATA_SIZE);
		/*
		 * The first event makes the namespace. The others join by the id that it
		 * got.
		 */
		if ((id == PERF_PERSIST_NEW && ioctl(fd, PERF_EVENT_IOC_PERSIST_FLAGS, &flags)) ||
		    ioctl(fd, PERF_EVENT_IOC_SET_NAME, "/exec") ||
		    ioctl(fd, PERF_EVENT_IOC_SET_PERSIST, &id))
			err(1, "CPU %d", cpu);
	}
	/* Until here, the namespace would go with this process. From here on it stays. */
	if (ioctl(fd, PERF_EVENT_IOC_SET_NAME, name))
		err(1, "%s", name);
}

static int open_namespace(const char *name, __u64 how)
{
	struct perf_event_attr attr = {
		.type		= PERF_TYPE_PERSISTENT,
		.config		= ~0ULL,
		.config2	= how,
	};
	int fd = event_open(&attr, -1);

	if (fd < 0 || ioctl(fd, PERF_EVENT_IOC_SET_NAME, name))
		err(1, "%s", name);
	return fd;
}

static void print_records(int cpu, const char *copy, size_t size, uint64_t pos, uint64_t len)
{
	char record[65536];

	/* Written backward: records further on in the buffer are older. */
	while (len >= sizeof(struct perf_event_header)) {
		struct perf_event_header *header = (void *)record;
		size_t i;

		for (i = 0; i < sizeof(*header); i++)
			record[i] = copy[(pos + i) & (size - 1)];
		if (header->size < sizeof(*header) || header->size > len)
			break;
		for (; i < header->size; i++)
			record[i] = copy[(pos + i) & (size - 1)];
		if (header->type == PERF_RECORD_COMM)
			printf("CPU %d pid %d: %s\n", cpu,
			       *(int *)(record + sizeof(*header)),
			       record + sizeof(*header) + 2 * sizeof(int));
		pos += header->size;
		len -= header->size;
	}
}

static void read_member(__u64 ns_id, const struct perf_event_persist_member *member)
{
	struct perf_event_attr attr = {
		.type		= PERF_TYPE_PERSISTENT,
		.config		= ns_id,
		.config1	= member->event_id,
	};
	struct perf_event_persist_member now = { .size = sizeof(now) };
	size_t page = sysconf(_SC_PAGESIZE), size;
	struct perf_event_mmap_page *control;
	uint64_t head, mask, lost, len;
	char *copy;
	int fd;

	fd = event_open(&attr, -1);
	if (fd < 0)
		err(1, "event %llu", (unsigned long long)member->event_id);
	control = map_pages(fd, page + member->buffer_size);
	size = control->data_size;
	copy = malloc(size);
	if (!copy)
		err(1, "malloc");

	/* Copy, then ask which records may have been overwritten meanwhile. */
	head = __atomic_load_n(&control->data_head, __ATOMIC_ACQUIRE);
	memcpy(copy, (char *)control + control->data_offset, size);
	if (ioctl(fd, PERF_EVENT_IOC_GET_MEMBER, &now))
		err(1, "event %llu", (unsigned long long)member->event_id);
	mask = (head | now.head) >> 32 ? UINT64_MAX : UINT32_MAX; /* of a 32-bit kernel */
	lost = (head - now.head) & mask;
	len = lost < size ? size - lost : 0;
	if (len > (-head & mask))
		len = -head & mask;	/* not full yet: positions count down from 0 */
	print_records(member->cpu, copy, size, head, len);

	free(copy);
	munmap(control, page + member->buffer_size);
	close(fd);
}

static void read_namespace(const char *name)
{
	struct perf_event_persist_member member = { .event_id = 0 };
	struct perf_event_persist info = { .size = sizeof(info) };
	int fd = open_namespace(name, 0);

	if (ioctl(fd, PERF_EVENT_IOC_GET_PERSIST, &info))
		err(1, "%s", name);
	for (;;) {
		/* In: the last member seen. Out: the next one. */
		member = (struct perf_event_persist_member) {
			.size		= sizeof(member),
			.event_id	= member.event_id,
		};
		if (ioctl(fd, PERF_EVENT_IOC_GET_MEMBER, &member))
			break;
		if (member.output_id == member.event_id)
			read_member(info.ns_id, &member);
	}
	if (errno != ENOENT)
		err(1, "%s", name);
	close(fd);
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "create"))
		create(argv[2]);
	else if (argc == 3 && !strcmp(argv[1], "read"))
		read_namespace(argv[2]);
	else if (argc == 3 && !strcmp(argv[1], "delete"))
		return !!ioctl(open_namespace(argv[2], PERF_PERSIST_OPEN_WRITE),
			       PERF_EVENT_IOC_SET_PERSIST, NULL);
	else
		errx(2, "usage: example create|read|delete NAME");
	return 0;
}
