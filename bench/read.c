// SPDX-License-Identifier: GPL-2.0
/*
 * Measure how fast buffers can be copied, in the way that their readers do it.
 *
 * usage: read memory BYTES		memcpy() of BYTES
 *        read namespace NAME		all buffers of a namespace
 *        read file FILE...		read files, as cat does, until a read would block
 *
 * Prints the number of bytes, and nanoseconds. The destination is memory that was
 * touched before.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/mman.h>

#include "bench.h"

/* The size of cat's reads */
#define CHUNK		(128 * 1024)
#define MAX_BUFFER	(64 * 1024 * 1024)

static char *to;

static char *touched(size_t size)
{
	char *mem = mmap(NULL, size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (mem == MAP_FAILED)
		err(1, "mmap");
	memset(mem, 1, size);
	return mem;
}

static size_t read_memory(size_t size, const char *from)
{
	size_t done, chunk;

	for (done = 0; done < size; done += chunk) {
		chunk = size - done < MAX_BUFFER ? size - done : MAX_BUFFER;
		memcpy(to, from, chunk);
	}
	return size;
}

/* Map the buffer, copy it, and ask which part of the copy is intact. */
static size_t read_member(unsigned long long ns_id,
			  const struct perf_event_persist_member *member)
{
	struct perf_event_attr attr = {
		.type		= PERF_TYPE_PERSISTENT,
		.config		= ns_id,
		.config1	= member->event_id,
	};
	struct perf_event_persist_member info = { .size = sizeof(info) };
	size_t page = sysconf(_SC_PAGESIZE), size = member->buffer_size;
	int fd = event_open(&attr, -1);
	char *map;

	map = mmap(NULL, page + size, PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED || size > MAX_BUFFER)
		err(1, "mmap");
	memcpy(to, map + page, size);
	do_ioctl(fd, PERF_EVENT_IOC_GET_MEMBER, &info, "GET_MEMBER");
	munmap(map, page + size);
	close(fd);
	return size;
}

static size_t read_namespace(char *name)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_PERSISTENT, .config = ~0ULL };
	struct perf_event_persist ns = { .size = sizeof(ns) };
	struct perf_event_persist_member member = { .event_id = 0 };
	int fd = event_open(&attr, -1);
	size_t size = 0;

	do_ioctl(fd, PERF_EVENT_IOC_SET_NAME, name, name);
	do_ioctl(fd, PERF_EVENT_IOC_GET_PERSIST, &ns, "GET_PERSIST");
	for (;;) {
		member = (struct perf_event_persist_member) {
			.size		= sizeof(member),
			.event_id	= member.event_id,
		};
		if (ioctl(fd, PERF_EVENT_IOC_GET_MEMBER, &member))
			break;
		if (member.output_id == member.event_id)
			size += read_member(ns.ns_id, &member);
	}
	if (errno != ENOENT)
		err(1, "GET_MEMBER");
	close(fd);
	return size;
}

static size_t read_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK);
	size_t size = 0;
	ssize_t len;

	if (fd < 0)
		err(1, "%s", path);
	while ((len = read(fd, to, CHUNK)) > 0)
		size += len;
	if (len < 0 && errno != EAGAIN)
		err(1, "%s", path);
	close(fd);
	return size;
}

int main(int argc, char **argv)
{
	unsigned long long start;
	size_t size = 0;
	char *from;
	int i;

	if (argc < 3)
		errx(2, "usage: read memory BYTES | namespace NAME | file FILE...");
	to = touched(MAX_BUFFER);
	from = touched(MAX_BUFFER);

	start = nsecs(CLOCK_MONOTONIC);
	if (!strcmp(argv[1], "memory"))
		size = read_memory(strtoull(argv[2], NULL, 0), from);
	else if (!strcmp(argv[1], "namespace"))
		size = read_namespace(argv[2]);
	else if (!strcmp(argv[1], "file"))
		for (i = 2; i < argc; i++)
			size += read_file(argv[i]);
	else
		errx(2, "what is '%s'?", argv[1]);
	printf("%zu %llu\n", size, nsecs(CLOCK_MONOTONIC) - start);
	return 0;
}
