// SPDX-License-Identifier: GPL-2.0
/*
 * Measure the cost of a namespace while many others exist, on many CPUs, or with many
 * events: in instructions, which the time stamp counter counts with QEMU's
 * -icount shift=0, and in bytes.
 *
 * usage: scale [-n NAMESPACES] [-c CPUS] [-e EVENTS] [-r ROUNDS] [-m | -p PERF]
 *
 *   -n  the number of namespaces; the operations are done on one of them
 *   -c  the CPUs that they are on, instead of all
 *   -e  the events of this namespace on each CPU; the first has a buffer of a page, and
 *       the others write to it. All other namespaces have one event on each CPU
 *   -r  rounds; the median is printed
 *   -m  print the memory of the other namespaces, and of as many ordinary events
 *   -p  measure commands of this perf
 *
 * Prints lines of
 *   NAMESPACES CPUS EVENTS OPERATION OBJECTS INSTRUCTIONS LEAST LARGEST
 * where OBJECTS is the number of members or namespaces of the operation, or
 *   NAMESPACES CPUS EVENTS memory WHAT MEMBERS BYTES-OF-SLAB
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "bench.h"

#define EVENTS_DIR "/sys/bus/event_source/devices/persistent/events"
#define NAME "bench"
#define MAX_ARGS 16
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static int nr_cpus, nr_events = 1, nr_namespaces = 1, rounds = 9;
static long page;
static char *copy;
/* The namespace that is measured. The events of a CPU are next to each other. */
static int *fds;
static void **maps;
static unsigned long long *ids;
static unsigned long long ns_id;

static void *map_buffer(int fd)
{
	void *map = mmap(NULL, 2 * page, PROT_READ, MAP_SHARED, fd, 0);

	if (map == MAP_FAILED)
		err(1, "mmap");
	return map;
}

/* Dummy events count nothing, and nothing in this program causes records of them. */
static void make_events(int per_cpu)
{
	struct perf_event_attr attr = {
		.type		= PERF_TYPE_SOFTWARE,
		.config		= PERF_COUNT_SW_DUMMY,
		.comm		= 1,
		.sample_type	= PERF_SAMPLE_TIME | PERF_SAMPLE_IDENTIFIER,
		.sample_id_all	= 1,
		.write_backward	= 1,
	};
	int cpu, i;

	for (cpu = 0; cpu < nr_cpus; cpu++) {
		int *fd = fds + cpu * per_cpu;

		for (i = 0; i < per_cpu; i++) {
			fd[i] = event_open(&attr, cpu);
			if (!i)
				maps[cpu] = map_buffer(fd[0]);
			else
				do_ioctl(fd[i], PERF_EVENT_IOC_SET_OUTPUT,
					 (void *)(long)fd[0], "SET_OUTPUT");
		}
	}
}

static void drop_events(int per_cpu)
{
	int i;

	for (i = 0; i < nr_cpus; i++)
		munmap(maps[i], 2 * page);
	for (i = 0; i < nr_cpus * per_cpu; i++)
		close(fds[i]);
}

static void persist_events(int per_cpu, const char *name)
{
	unsigned long long id = PERF_PERSIST_NEW;
	int i;

	for (i = 0; i < nr_cpus * per_cpu; i++) {
		do_ioctl(fds[i], PERF_EVENT_IOC_SET_NAME, "/dummy:u", "label");
		do_ioctl(fds[i], PERF_EVENT_IOC_SET_PERSIST, &id, "SET_PERSIST");
	}
	do_ioctl(fds[0], PERF_EVENT_IOC_SET_NAME, name, name);
	ns_id = id;
}

static int open_ns(const char *name, unsigned long long how)
{
	struct perf_event_attr attr = {
		.type		= PERF_TYPE_PERSISTENT,
		.config		= ~0ULL,
		.config2	= how,
	};
	int fd = event_open(&attr, -1);

	do_ioctl(fd, PERF_EVENT_IOC_SET_NAME, name, name);
	return fd;
}

static int open_member(unsigned long long event_id, int cpu, unsigned long long how)
{
	struct perf_event_attr attr = {
		.type		= PERF_TYPE_PERSISTENT,
		.config		= ns_id,
		.config1	= event_id,
		.config2	= how,
	};

	return event_open(&attr, cpu);
}

/*
 * Operations. Each returns its number of objects. When a namespace or a buffer is found
 * or opened, the kernel checks the right to each event that writes to it.
 */

/* The part of creating that perf needs for any event */
static int do_make(void)
{
	make_events(nr_events);
	return nr_cpus * nr_events;
}

static int do_persist(void)
{
	persist_events(nr_events, NAME);
	return nr_cpus * nr_events;
}

static int do_leave(void)
{
	drop_events(nr_events);
	return nr_cpus * nr_events;
}

static int do_delete(void)
{
	int fd = open_ns(NAME, PERF_PERSIST_OPEN_WRITE);

	do_ioctl(fd, PERF_EVENT_IOC_SET_PERSIST, NULL, "delete");
	close(fd);
	return nr_cpus * nr_events;
}

static int do_find(void)
{
	close(open_ns(NAME, 0));
	return nr_events;
}

static int do_sysfs(void)
{
	char text[64];
	int fd = open(EVENTS_DIR "/" NAME, O_RDONLY);

	if (fd < 0 || read(fd, text, sizeof(text)) < 0)
		err(1, NAME);
	close(fd);
	return 1;
}

static int list(const char *name, unsigned long long *to)
{
	struct perf_event_persist_member info = { .event_id = 0 };
	int fd = open_ns(name, 0), n = 0;

	for (;;) {
		info = (struct perf_event_persist_member) {
			.size		= sizeof(info),
			.event_id	= info.event_id,
		};
		if (ioctl(fd, PERF_EVENT_IOC_GET_MEMBER, &info))
			break;
		if (to)
			to[n] = info.event_id;
		n++;
	}
	if (errno != ENOENT)
		err(1, "GET_MEMBER");
	close(fd);
	return n;
}

static int do_list(void)
{
	int n = list(NAME, ids);

	if (n != nr_cpus * nr_events)
		errx(1, "%d members instead of %d", n, nr_cpus * nr_events);
	return n;
}

static int do_names(void)
{
	DIR *dir = opendir(EVENTS_DIR);
	struct dirent *entry;
	int n = 0;

	if (!dir)
		err(1, EVENTS_DIR);
	while ((entry = readdir(dir)))
		n += entry->d_name[0] != '.';
	closedir(dir);
	if (n != nr_namespaces)
		errx(1, "%d namespaces instead of %d", n, nr_namespaces);
	return n;
}

static int do_open(void)
{
	int i;

	/* Open all before closing any: the last close looks at each event of the buffer. */
	for (i = 0; i < nr_cpus * nr_events; i++)
		fds[i] = open_member(ids[i], -1, 0);
	for (i = 0; i < nr_cpus * nr_events; i++)
		close(fds[i]);
	return nr_cpus * nr_events;
}

/* Open the first event on each CPU, as a program does that knows only one event. */
static int do_by_cpu(void)
{
	int cpu;

	for (cpu = 0; cpu < nr_cpus; cpu++)
		close(open_member(0, cpu, 0));
	return nr_cpus * nr_events;
}

/* For each buffer: map it, copy it, and ask which part of the copy is intact. */
static int do_read(void)
{
	int cpu;

	for (cpu = 0; cpu < nr_cpus; cpu++) {
		struct perf_event_persist_member info = { .size = sizeof(info) };
		int fd = open_member(ids[cpu * nr_events], cpu, 0);
		void *map = map_buffer(fd);

		memcpy(copy, map + page, page);
		do_ioctl(fd, PERF_EVENT_IOC_GET_MEMBER, &info, "GET_MEMBER");
		munmap(map, 2 * page);
		close(fd);
	}
	return nr_cpus * nr_events;
}

static int do_switch(void)
{
	int fd = open_ns(NAME, PERF_PERSIST_OPEN_WRITE);

	do_ioctl(fd, PERF_EVENT_IOC_DISABLE, NULL, "DISABLE");
	do_ioctl(fd, PERF_EVENT_IOC_ENABLE, NULL, "ENABLE");
	close(fd);
	return nr_cpus * nr_events;
}

/* The part of switching that perf needs for any event */
static int do_switch_each(void)
{
	int i, n = nr_cpus * nr_events;

	for (i = 0; i < n; i++)
		do_ioctl(fds[i], PERF_EVENT_IOC_DISABLE, NULL, "DISABLE");
	for (i = 0; i < n; i++)
		do_ioctl(fds[i], PERF_EVENT_IOC_ENABLE, NULL, "ENABLE");
	return n;
}

static void open_all(void)
{
	int i;

	for (i = 0; i < nr_cpus * nr_events; i++)
		fds[i] = open_member(ids[i], -1, PERF_PERSIST_OPEN_WRITE);
}

static void close_all(void)
{
	int i;

	for (i = 0; i < nr_cpus * nr_events; i++)
		close(fds[i]);
}

/* Each round runs these in this order. @before and @after are not counted. */
static struct operation {
	const char		*name;
	int			(*func)(void);
	void			(*before)(void);
	void			(*after)(void);
	int			objects;
	unsigned long long	*cost;
} operations[] = {
	{ .name = "make",	.func = do_make },
	{ .name = "persist",	.func = do_persist },
	{ .name = "leave",	.func = do_leave },
	{ .name = "names",	.func = do_names },
	{ .name = "sysfs",	.func = do_sysfs },
	{ .name = "find",	.func = do_find },
	{ .name = "list",	.func = do_list },
	{ .name = "open",	.func = do_open },
	{ .name = "by-cpu",	.func = do_by_cpu },
	{ .name = "read",	.func = do_read },
	{ .name = "switch",	.func = do_switch },
	{ .name = "each",	.func = do_switch_each,
	  .before = open_all,	.after = close_all },
	{ .name = "delete",	.func = do_delete },
};

static int compare(const void *a, const void *b)
{
	unsigned long long x = *(const unsigned long long *)a;
	unsigned long long y = *(const unsigned long long *)b;

	return x < y ? -1 : x > y;
}

static void print_line(const char *name)
{
	printf("%d %d %d %s", nr_namespaces, nr_cpus, nr_events, name);
}

static void print_costs(const char *name, int objects, unsigned long long *cost)
{
	qsort(cost, rounds, sizeof(*cost), compare);
	print_line(name);
	printf(" %d %llu %llu %llu\n", objects, cost[rounds / 2], cost[0], cost[rounds - 1]);
}

/* Wait for grace periods, so that memory is really freed. Waiting costs no instructions. */
static void settle(void)
{
	sleep(1);
}

static void measure(void)
{
	unsigned long long start;
	unsigned int i;
	int r;

	for (i = 0; i < ARRAY_SIZE(operations); i++)
		operations[i].cost = calloc(rounds, sizeof(*operations[i].cost));

	/* Round -1 is not counted, as some things are done only the first time. */
	for (r = -1; r < rounds; r++) {
		for (i = 0; i < ARRAY_SIZE(operations); i++) {
			struct operation *op = &operations[i];

			if (op->before)
				op->before();
			start = __builtin_ia32_rdtsc();
			op->objects = op->func();
			if (r >= 0)
				op->cost[r] = __builtin_ia32_rdtsc() - start;
			if (op->after)
				op->after();
		}
		settle();
	}

	for (i = 0; i < ARRAY_SIZE(operations); i++)
		print_costs(operations[i].name, operations[i].objects, operations[i].cost);
}

/* In bytes */
static long mem_bytes(const char *key)
{
	FILE *f = fopen("/proc/meminfo", "r");
	char name[64];
	long kib;

	if (!f)
		err(1, "/proc/meminfo");
	while (fscanf(f, "%63[^:]: %ld%*[^\n]\n", name, &kib) == 2) {
		if (!strcmp(name, key)) {
			fclose(f);
			return kib * 1024;
		}
	}
	errx(1, "no %s in /proc/meminfo", key);
}

/* The bytes in slabs, without free objects that the slabs keep */
static long slab_bytes(void)
{
	glob_t files;
	size_t i;
	int fd;

	settle();
	if (glob("/sys/kernel/slab/*/shrink", 0, NULL, &files))
		errx(1, "no /sys/kernel/slab");
	for (i = 0; i < files.gl_pathc; i++) {
		fd = open(files.gl_pathv[i], O_WRONLY);
		if (fd < 0 || write(fd, "1", 1) != 1)
			err(1, "%s", files.gl_pathv[i]);
		close(fd);
	}
	globfree(&files);
	return mem_bytes("Slab");
}

static void print_memory(const char *what, int members, long before)
{
	print_line("memory");
	printf(" %s %d %ld\n", what, members, slab_bytes() - before);
}

static void other_name(char *name, size_t size, int i)
{
	snprintf(name, size, "other-%d", i);
}

static void make_others(void)
{
	char name[32];
	int i;

	for (i = 1; i < nr_namespaces; i++) {
		other_name(name, sizeof(name), i);
		make_events(1);
		persist_events(1, name);
		drop_events(1);
	}
}

static void delete_others(void)
{
	char name[32];
	int fd, i;

	for (i = 1; i < nr_namespaces; i++) {
		other_name(name, sizeof(name), i);
		fd = open_ns(name, PERF_PERSIST_OPEN_WRITE);
		do_ioctl(fd, PERF_EVENT_IOC_SET_PERSIST, NULL, name);
		close(fd);
	}
}

/*
 * Measure the second time: memory that is allocated only once, or kept for reuse, is
 * there then. The pages of buffers are not in slabs.
 */
static void measure_memory(void)
{
	int members = (nr_namespaces - 1) * nr_cpus, i;
	int *first_fd;
	void **first_map;
	long slab;

	make_others();
	delete_others();
	slab = slab_bytes();
	make_others();
	print_memory("persistent", members, slab);
	delete_others();

	first_fd = calloc(members, sizeof(*fds));
	first_map = calloc(members, sizeof(*maps));
	for (i = 0; i < 2; i++) {
		slab = slab_bytes();
		for (fds = first_fd, maps = first_map; fds < first_fd + members;
		     fds += nr_cpus, maps += nr_cpus)
			make_events(1);
		if (i)
			print_memory("plain", members, slab);
		while (fds > first_fd) {
			fds -= nr_cpus;
			maps -= nr_cpus;
			drop_events(1);
		}
	}
}

/* The CPU time of a command of perf in ns, which are instructions with -icount */
static unsigned long long run(const char *perf, const char *command)
{
	char words[128], *argv[MAX_ARGS + 1] = { (char *)perf };
	struct rusage usage;
	int status, fd, argc = 1;
	pid_t pid;

	snprintf(words, sizeof(words), "%s", command);
	argv[argc] = strtok(words, " ");
	while (argv[argc] && argc < MAX_ARGS)
		argv[++argc] = strtok(NULL, " ");

	pid = fork();
	if (pid < 0)
		err(1, "fork");
	if (!pid) {
		fd = open("/dev/null", O_RDWR);
		dup2(fd, 0);
		dup2(fd, 1);
		execv(perf, argv);
		err(1, "%s", perf);
	}
	if (wait4(pid, &status, 0, &usage) != pid || status)
		errx(1, "%s %s: status %#x", perf, command, status);
	return ((usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000ULL +
		usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
}

static void measure_perf(const char *perf)
{
	struct {
		const char		*name;
		const char		*command;
		int			objects;
		unsigned long long	*cost;
	} commands[] = {
		{ "perf-record-P", "record -q -P " NAME " -m 1 -e dummy:u -a", 1 },
		{ "perf-ctl-l-NAME", "ctl -l " NAME, 1 },
		{ "perf-ctl-l", "ctl -l", nr_namespaces },
		{ "perf-record", "record -q -o /tmp/scale.data -e persistent/" NAME "/ -a", 1 },
		{ "perf-ctl-d", "ctl -d " NAME, 1 },
	};
	unsigned int i;
	int r;

	for (i = 0; i < ARRAY_SIZE(commands); i++)
		commands[i].cost = calloc(rounds, sizeof(*commands[i].cost));
	for (r = -1; r < rounds; r++) {
		for (i = 0; i < ARRAY_SIZE(commands); i++) {
			unsigned long long cost = run(perf, commands[i].command);

			if (r >= 0)
				commands[i].cost[r] = cost;
		}
		settle();
	}
	for (i = 0; i < ARRAY_SIZE(commands); i++)
		print_costs(commands[i].name, commands[i].objects, commands[i].cost);
}

int main(int argc, char **argv)
{
	struct rlimit limit = { 1 << 20, 1 << 20 };
	char *perf = NULL;
	int memory = 0, opt;
	cpu_set_t cpu;

	while ((opt = getopt(argc, argv, "n:c:e:r:mp:")) != -1) {
		switch (opt) {
		case 'n':
			nr_namespaces = atoi(optarg);
			break;
		case 'c':
			nr_cpus = atoi(optarg);
			break;
		case 'e':
			nr_events = atoi(optarg);
			break;
		case 'r':
			rounds = atoi(optarg);
			break;
		case 'm':
			memory = 1;
			break;
		case 'p':
			perf = optarg;
			break;
		default:
			return 2;
		}
	}
	if (optind != argc || nr_namespaces < 1 || nr_events < 1 || rounds < 1)
		errx(2, "usage: scale [-n NAMESPACES] [-c CPUS] [-e EVENTS] [-r ROUNDS] %s",
		     "[-m | -p PERF]");

	CPU_ZERO(&cpu);
	CPU_SET(0, &cpu);
	if (sched_setaffinity(0, sizeof(cpu), &cpu))
		err(1, "sched_setaffinity");
	if (setrlimit(RLIMIT_NOFILE, &limit))
		err(1, "setrlimit");

	if (!nr_cpus)
		nr_cpus = sysconf(_SC_NPROCESSORS_ONLN);
	page = sysconf(_SC_PAGESIZE);
	fds = calloc(nr_cpus * nr_events, sizeof(*fds));
	maps = calloc(nr_cpus, sizeof(*maps));
	ids = calloc(nr_cpus * nr_events, sizeof(*ids));
	copy = malloc(page);
	if (!fds || !maps || !ids || !copy)
		err(1, "calloc");
	memset(copy, 1, page);

	if (memory) {
		measure_memory();
		return 0;
	}
	make_others();
	if (perf)
		measure_perf(perf);
	else
		measure();
	delete_others();
	return 0;
}
