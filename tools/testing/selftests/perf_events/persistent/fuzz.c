// SPDX-License-Identifier: GPL-2.0
/*
 * Calls persistent events with arguments of all shapes, most of them close to what is valid.
 * Each call must end in a documented way, and must not write beyond the memory that it was
 * given. H13, H17
 *
 * usage: fuzz [-t SECONDS] [-s SEED] [-c CHUNK] [-n CALLS] [-v]
 *
 * The seed determines all calls. -c runs one chunk alone, -n only the first calls of each
 * chunk, and -v prints the calls.
 */
#define PERSISTENT_NO_HARNESS
#include <time.h>

#include <sys/socket.h>

#include "balance.h"

#define CHUNKS		16
#define FDS		20
#define NAMES		3

/* Kinds of descriptors, as far as errors depend on them */
enum kind {
	EVENT,		/* of a CPU */
	TASK_EVENT,
	SPACE,
	OTHER,		/* no perf event at all */
	KINDS
};

static unsigned int nr_calls = 400;
static bool verbose;

struct world {
	unsigned int	seed;
	int		cpu;
	int		fd[FDS];
	enum kind	kind[FDS];
	unsigned char	*mem;	/* two pages that can be written, then nothing */
	unsigned char	*fixed;	/* a page that can only be read */
};

static unsigned int pick(struct world *w, unsigned int n)
{
	return rand_r(&w->seed) / 7 % n;
}

static bool one_in(struct world *w, unsigned int n)
{
	return !pick(w, n);
}

static __u64 any_u64(struct world *w)
{
	static const __u64 edges[] = {
		0, 1, 2, 3, 0x7f, 0x80, 0xff, 0xfff, 0x1000, 0x1001, 0x7fffffff, 0x80000000,
		0xfffffffe, 0xffffffff, 0x100000000, 0x7fffffffffffffff, 0x8000000000000000,
		~1ULL, ~0ULL,
	};
	__u64 value;

	switch (pick(w, 4)) {
	case 0:
		value = (__u64)rand_r(&w->seed) << 32 | rand_r(&w->seed);
		return value >> pick(w, 64);
	case 1:
		return 1ULL << pick(w, 64);
	default:
		return edges[pick(w, ARRAY_SIZE(edges))];
	}
}

/* The id of one of our namespaces, 0 if it is gone, or any number */
static __u64 any_ns(struct world *w)
{
	char name[NAME_ROOM];

	snprintf(name, sizeof(name), "%s%u", persist_prefix, pick(w, NAMES));
	return one_in(w, 4) ? any_u64(w) : ns_lookup(name);
}

static __u64 any_event(struct world *w)
{
	return one_in(w, 4) ? any_u64(w) : event_id(w->fd[pick(w, FDS)]);
}

/* Returns an address for @size bytes. *@good tells whether memory there can be written. */
static void *any_address(struct world *w, size_t size, bool *good)
{
	static const unsigned long bad[] = {
		1, 0x1000, 0x7ffffffff000, 0x7fffffffffff, 0x800000000000,
		0xffff800000000000, 0xffffffff81000000, -4096UL, -8UL, -1UL,
	};

	*good = false;
	switch (pick(w, 8)) {
	case 0:
		return (void *)bad[pick(w, ARRAY_SIZE(bad))];
	case 1:
		return w->fixed + pick(w, 64);
	case 2:
		/* The last bytes are not mapped. */
		return w->mem + 2 * page_size() - pick(w, size + 1);
	case 3:
		/* All bytes just fit. */
		*good = true;
		return w->mem + 2 * page_size() - size;
	default:
		*good = true;
		return w->mem + pick(w, 64);
	}
}

static int any_fd(struct world *w, enum kind *kind)
{
	unsigned int i = pick(w, FDS);

	*kind = w->kind[i];
	return w->fd[i];
}

/* Errnos that a call may fail with on each kind of descriptor, ended by 0 */
#define ERRORS	10

struct call {
	const char	*what;
	int		(*func)(struct world *w, enum kind *kind);
	int		errors[KINDS][ERRORS];
};

/* Valid names have the prefix of the namespaces that are deleted in the end. */
static void any_name(struct world *w, char *name)
{
	static const char * const bad[] = {
		"", "/", "//", "A", "9", "-", ".", "..", "a.b", " a", "a ", "a/", "/\n", "a\xff",
		"a/\x7f", "a/b\tc", "%s%n", "../events",
	};
	int len, max = PERF_PERSIST_USER_NAME_MAX;

	switch (pick(w, 6)) {
	case 0:
		snprintf(name, NAME_ROOM, "%s", bad[pick(w, ARRAY_SIZE(bad))]);
		return;
	case 1:
		/* Just fits, or just doesn't. */
		len = max - 1 + pick(w, 3);
		break;
	case 2:
		len = strlen(persist_prefix) + pick(w, NAME_ROOM - sizeof(persist_prefix));
		break;
	default:
		sprintf(name, "%s%u", persist_prefix, pick(w, NAMES));
		len = 0;
		break;
	}
	if (len) {
		memset(name, 'x', len);
		memcpy(name, persist_prefix, strlen(persist_prefix));
		name[len] = '\0';
	}
	if (one_in(w, 3)) {
		len = strlen(name);
		name[len++] = '/';
		max = PERF_PERSIST_NAME_SIZE - 2 + pick(w, 3);
		while (max-- && len < NAME_ROOM - 1)
			name[len++] = ' ' + 1 + pick(w, 90);
		name[len] = '\0';
	}
	/* Make it invalid: a name without the prefix would stay behind. */
	if (one_in(w, 8))
		name[0] = 1 + pick(w, '_' - 1);
}

static int do_name(struct world *w, enum kind *kind)
{
	int fd = any_fd(w, kind);
	char name[NAME_ROOM];
	bool good;
	char *at;

	/* Without the copy below, there must be no valid name in memory. */
	memset(w->mem, 'A', 2 * page_size());
	any_name(w, name);
	at = any_address(w, strlen(name) + 1, &good);
	if (good)
		memcpy(at, name, strlen(name) + 1);
	return set_name_str(fd, at);
}

static int do_persist(struct world *w, enum kind *kind)
{
	int fd = any_fd(w, kind);
	__u64 id, *at;
	bool good;

	if (one_in(w, 4))
		return set_persist(fd, NULL);
	at = any_address(w, sizeof(id), &good);
	id = one_in(w, 2) ? PERF_PERSIST_NEW : any_ns(w);
	if (good)
		memcpy(at, &id, sizeof(id));
	return set_persist(fd, at);
}

static int do_join(struct world *w, enum kind *kind)
{
	int fd = any_fd(w, kind);
	enum kind joining;
	__s32 event, *at;
	bool good;

	at = any_address(w, sizeof(event), &good);
	event = one_in(w, 4) ? (__s32)any_u64(w) : any_fd(w, &joining);
	if (good)
		memcpy(at, &event, sizeof(event));
	return event_ioctl(fd, PERF_EVENT_IOC_JOIN, (unsigned long)at);
}

static int do_flags(struct world *w, enum kind *kind)
{
	int fd = any_fd(w, kind);
	__u64 flags, *at;
	bool good;

	at = any_address(w, sizeof(flags), &good);
	flags = one_in(w, 2) ? pick(w, 2) * PERF_PERSIST_ALL_CPUS : any_u64(w);
	if (good)
		memcpy(at, &flags, sizeof(flags));
	return event_ioctl(fd, PERF_EVENT_IOC_PERSIST_FLAGS, (unsigned long)at);
}

static __u32 any_size(struct world *w)
{
	static const __u32 sizes[] = {
		0, 1, 8, 31, 32, 32, 39, 40, 40, 48, 63, 64, 64, 72, 103, 104, 104, 112, 167, 168,
		168, 168, 169, 176, 215, 216, 216, 216, 217, 224, 240, 280, 304, 4095, 4096, 4097,
		0x80000000, ~0U,
	};

	return one_in(w, 4) ? any_u64(w) : sizes[pick(w, ARRAY_SIZE(sizes))];
}

/*
 * The kernel must not write beyond the size. Bytes that the kernel does not know must be
 * zero, and mostly are here.
 */
static int do_ask(struct world *w, enum kind *kind)
{
	bool ns = one_in(w, 3);
	unsigned long cmd = ns ? PERF_EVENT_IOC_GET_PERSIST : PERF_EVENT_IOC_GET_MEMBER;
	size_t room = 2 * page_size(), first, last, i;
	int err, fd = any_fd(w, kind);
	struct perf_event_attr attr[2];
	struct perf_event_persist_member p = {};
	__u32 size = any_size(w);
	unsigned char *at;
	bool good;

	/* The kernel matches these by number alone. */
	if (one_in(w, 2))
		cmd = _IOC(pick(w, 4), '$', _IOC_NR(cmd), pick(w, 1 << 14));

	at = any_address(w, size < 4096 ? size : sizeof(p), &good);
	p.size = size;
	if (*kind == SPACE && one_in(w, 2))
		p.event_id = any_event(w);
	if (one_in(w, 2)) {
		bool writable;

		p.attr = (unsigned long)any_address(w, sizeof(attr[0]), &writable);
		if (one_in(w, 2))
			p.attr = (unsigned long)attr;
		p.attr_size = one_in(w, 2) ? sizeof(attr[0]) : any_size(w);
		/* A write to the attr must not look like one beyond the structure. */
		if (p.attr >= (unsigned long)w->mem && p.attr < (unsigned long)w->mem + room)
			p.attr = 0;
	}
	memset(attr, 0x5a, sizeof(attr));
	memset(w->mem, 0xa5, room);
	if (!good)
		return event_ioctl(fd, cmd, (unsigned long)at);

	/* Copy what fits, and zero the rest of the size. */
	first = at - w->mem;
	last = size < room - first ? first + size : room;
	memset(at, 0, last - first);
	memcpy(at, &p, sizeof(p) < room - first ? sizeof(p) : room - first);
	/* The kernel reads and writes the size itself, however small it is. */
	if (last < first + sizeof(p.size))
		last = first + sizeof(p.size);
	if (last > room)
		last = room;
	memset(w->mem + last, 0xa5, room - last);
	if (one_in(w, 8) && last > first + sizeof(p))
		w->mem[last - 1] = 1;

	err = event_ioctl(fd, cmd, (unsigned long)at);

	for (i = 0; i < room; i++) {
		if ((i < first || i >= last) && w->mem[i] != 0xa5) {
			printf("# %zu bytes at %zu: byte %zu was written\n",
			       last - first, first, i);
			return -EIO;
		}
	}
	for (i = sizeof(attr[0]); p.attr == (unsigned long)attr && i < sizeof(attr); i++) {
		if (((unsigned char *)attr)[i] != 0x5a) {
			printf("# byte %zu of the attr was written\n", i);
			return -EIO;
		}
	}
	if (!err && ns) {
		struct perf_event_persist out = {};

		memcpy(&out, at, size < sizeof(out) ? size : sizeof(out));
		if (out.size > size || strnlen(out.name, sizeof(out.name)) == sizeof(out.name) ||
		    strnlen(out.note, sizeof(out.note)) == sizeof(out.note) ||
		    strnlen(out.owner_comm, sizeof(out.owner_comm)) == sizeof(out.owner_comm)) {
			printf("# size %u of %u, or a string is not valid\n", out.size, size);
			return -EIO;
		}
	} else if (!err) {
		struct perf_event_persist_member out = {};

		memcpy(&out, at, size < sizeof(out) ? size : sizeof(out));
		if (out.size > size || strnlen(out.label, sizeof(out.label)) == sizeof(out.label) ||
		    out.attr_size > p.attr_size) {
			printf("# size %u of %u, attr size %u of %u, or a string is not valid\n",
			       out.size, size, out.attr_size, p.attr_size);
			return -EIO;
		}
	}
	return err;
}

/* Old ioctls of events that namespaces have as well */
static int do_old(struct world *w, enum kind *kind)
{
	static const unsigned long cmds[] = {
		PERF_EVENT_IOC_ENABLE, PERF_EVENT_IOC_DISABLE,
	};
	int fd = any_fd(w, kind);

	return event_ioctl(fd, cmds[pick(w, ARRAY_SIZE(cmds))], pick(w, 2));
}

/* SNAPSHOT, RESIZE, triggers and tasks take a structure that starts with its size. */
static int do_struct(struct world *w, enum kind *kind, unsigned int nr, void *arg, size_t len)
{
	unsigned long cmd = _IOC(pick(w, 4), '$', nr, pick(w, 1 << 14));
	int fd = any_fd(w, kind);
	bool good;
	void *at;

	at = any_address(w, len, &good);
	if (good)
		memcpy(at, arg, len);
	return event_ioctl(fd, cmd, (unsigned long)at);
}

static int do_snapshot(struct world *w, enum kind *kind)
{
	struct perf_event_buffer_size sizes[2] = {
		{ any_event(w), page_size() << pick(w, 3) }, { any_event(w), any_u64(w) },
	};
	struct perf_event_snapshot s = {
		.size = one_in(w, 4) ? any_size(w) : sizeof(s),
		.flags = one_in(w, 8) ? any_u64(w) : 0,
	};
	bool resize = one_in(w, 4);

	if (resize || one_in(w, 8)) {
		s.nr_sizes = one_in(w, 8) ? any_u64(w) : pick(w, 3);
		s.sizes = one_in(w, 4) ? any_u64(w) : (unsigned long)sizes;
	}
	return do_struct(w, kind, _IOC_NR(resize ? PERF_EVENT_IOC_RESIZE : PERF_EVENT_IOC_SNAPSHOT),
			 &s, sizeof(s));
}

static int do_clear(struct world *w, enum kind *kind)
{
	int fd = any_fd(w, kind);

	return event_ioctl(fd, PERF_EVENT_IOC_CLEAR, one_in(w, 4) ? any_u64(w) : 0);
}

/* Ioctls that take the address of a count, or of a trigger's number */
static int do_number(struct world *w, enum kind *kind)
{
	static const unsigned long cmds[] = {
		PERF_EVENT_IOC_KEEP, PERF_EVENT_IOC_SPARES, PERF_EVENT_IOC_SPARES,
		PERF_EVENT_IOC_ARM_TRIGGER, PERF_EVENT_IOC_DEL_TRIGGER,
	};
	int fd = any_fd(w, kind);
	__u32 nr, *at;
	bool good;

	at = any_address(w, sizeof(nr), &good);
	nr = one_in(w, 4) ? any_u64(w) : pick(w, 4);
	if (good)
		memcpy(at, &nr, sizeof(nr));
	return event_ioctl(fd, cmds[pick(w, ARRAY_SIZE(cmds))], (unsigned long)at);
}

static int do_stop(struct world *w, enum kind *kind)
{
	int fd = any_fd(w, kind);

	return event_ioctl(fd, one_in(w, 2) ? PERF_EVENT_IOC_STOP : PERF_EVENT_IOC_RESUME,
			   one_in(w, 4) ? any_u64(w) : 0);
}

/* Mostly letters, often too long */
static int do_note(struct world *w, enum kind *kind)
{
	size_t len = one_in(w, 4) ? pick(w, 4096) : pick(w, PERF_PERSIST_NAME_SIZE + 2), i;
	int fd = any_fd(w, kind);
	bool good;
	char *at;

	at = any_address(w, len + 1, &good);
	for (i = 0; good && i < len; i++)
		at[i] = one_in(w, 200) ? any_u64(w) : 'a' + pick(w, 26);
	if (good)
		at[len] = '\0';
	return ns_note(fd, at);
}

static int do_trigger(struct world *w, enum kind *kind)
{
	struct perf_event_trigger t = {
		.size = one_in(w, 4) ? any_size(w) : sizeof(t),
		.number = one_in(w, 8) ? any_u64(w) : one_in(w, 2) ? pick(w, 3) : 0,
		.when = one_in(w, 8) ? any_u64(w) : pick(w, 3),
		.action = one_in(w, 8) ? any_u64(w) : pick(w, 2),
		.after_ns = one_in(w, 2) ? 0 : any_u64(w),
		.cool_down_ns = any_u64(w),
		.times = one_in(w, 2) ? 0 : any_u64(w),
	};

	memset(t.label, 'a', pick(w, sizeof(t.label) + 1));
	return do_struct(w, kind, _IOC_NR(one_in(w, 2) ? PERF_EVENT_IOC_ADD_TRIGGER :
						       PERF_EVENT_IOC_GET_TRIGGER),
			 &t, sizeof(t));
}

static int do_trigger_event(struct world *w, enum kind *kind)
{
	int fd = any_fd(w, kind);
	struct perf_event_trigger_event arg, *at;
	enum kind event;
	bool good;

	at = any_address(w, sizeof(arg), &good);
	arg.number = one_in(w, 8) ? any_u64(w) : pick(w, 4);
	arg.fd = one_in(w, 8) ? (__s32)any_u64(w) : any_fd(w, &event);
	if (good)
		memcpy(at, &arg, sizeof(arg));
	return event_ioctl(fd, PERF_EVENT_IOC_ADD_TRIGGER_EVENT, (unsigned long)at);
}

static int do_trigger_state(struct world *w, enum kind *kind)
{
	struct perf_event_trigger_state st = {
		.size = one_in(w, 4) ? any_size(w) : sizeof(st),
		.number = one_in(w, 8) ? any_u64(w) : pick(w, 4),
		.flags = one_in(w, 8) ? any_u64(w) : 0,
	};

	return do_struct(w, kind, _IOC_NR(PERF_EVENT_IOC_GET_TRIGGER_STATE), &st, sizeof(st));
}

static int do_tasks(struct world *w, enum kind *kind)
{
	struct perf_event_tasks t = {
		.size = one_in(w, 4) ? any_size(w) : sizeof(t),
		.flags = one_in(w, 8) ? any_u64(w) : 0,
		.offset = one_in(w, 4) ? any_u64(w) : 0,
		.len = one_in(w, 4) ? any_u64(w) : pick(w, page_size()),
		.addr = one_in(w, 4) ? any_u64(w) : (unsigned long)w->mem,
		.total = one_in(w, 8) ? any_u64(w) : 0,
	};

	return do_struct(w, kind, _IOC_NR(one_in(w, 2) ? PERF_EVENT_IOC_SET_TASKS :
						       PERF_EVENT_IOC_GET_TASKS),
			 &t, sizeof(t));
}

static int do_unknown(struct world *w, enum kind *kind)
{
	int fd = any_fd(w, kind);
	unsigned int nr = _IOC_NR(PERF_EVENT_IOC_DEL_TRIGGER) + 1;

	nr += pick(w, 256 - nr);
	return event_ioctl(fd, _IOC(pick(w, 4), '$', nr, pick(w, 1 << 14)), any_u64(w));
}

static int do_redirect(struct world *w, enum kind *kind)
{
	enum kind other;
	int fd = any_fd(w, kind);

	if (*kind == SPACE || *kind == OTHER)
		return 0;
	return event_ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, any_fd(w, &other));
}

static void replace(struct world *w, int fd, enum kind kind)
{
	unsigned int i = pick(w, FDS);

	if (fd < 0)
		return;
	/* Descriptors of other kinds stay. */
	while (w->kind[i] == OTHER || w->kind[i] == TASK_EVENT)
		i = (i + 1) % FDS;
	close(w->fd[i]);
	w->fd[i] = fd;
	w->kind[i] = kind;
}

static int do_open(struct world *w, enum kind *kind)
{
	struct perf_event_attr attr = reopen_attr(any_ns(w), 0, pick(w, 2));
	unsigned long flags = PERF_FLAG_FD_CLOEXEC;
	int fd, cpu = -1, pid = -1, group = -1;
	enum kind other;
	void *at = &attr;
	bool good;

	*kind = EVENT;
	switch (pick(w, 4)) {
	case 0:
		cpu = w->cpu;
		break;
	case 1:
		attr.config1 = any_event(w);
		break;
	case 2:
		attr.config = ~0ULL;
		break;
	}
	if (one_in(w, 2)) {
		switch (pick(w, 9)) {
		case 0:
			cpu = any_u64(w);
			break;
		case 1:
			pid = one_in(w, 2) ? 0 : any_u64(w);
			break;
		case 2:
			group = one_in(w, 4) ? (int)any_u64(w) : any_fd(w, &other);
			break;
		case 3:
			flags = any_u64(w);
			break;
		case 4:
			attr.size = any_size(w);
			break;
		case 5:
			/* Any byte but those of the type */
			((unsigned char *)&attr)[4 + pick(w, sizeof(attr) - 4)] ^= 1 << pick(w, 8);
			break;
		case 6:
			at = any_address(w, sizeof(attr), &good);
			if (good)
				memcpy(at, &attr, sizeof(attr));
			else
				memset(w->mem, 0, 2 * page_size());
			/* Zeroes would be an attr of another type. */
			if (!good && at >= (void *)w->fixed && at < (void *)w->fixed + page_size())
				at = NULL;
			break;
		case 7:
			attr.config2 = any_u64(w);
			break;
		default:
			attr.config = any_u64(w);
			attr.config1 = any_u64(w);
			break;
		}
	}
	fd = event_open(at, pid, cpu, group, flags);
	if (fd >= 0) {
		if (attr.config1 || cpu != -1)
			replace(w, fd, EVENT);
		else
			replace(w, fd, SPACE);
	}
	return fd < 0 ? fd : 0;
}

static int do_map(struct world *w, enum kind *kind)
{
	int fd = any_fd(w, kind), prot, flags;
	off_t offset = 0;
	size_t len;
	void *map;

	/* mmap() of a file works. */
	if (*kind == OTHER)
		return 0;
	len = one_in(w, 4) ? any_u64(w) >> 20 : ring_len(one_in(w, 4) ? pick(w, 16) : 1);
	prot = PROT_READ | (one_in(w, 3) ? PROT_WRITE : 0) | (one_in(w, 8) ? PROT_EXEC : 0);
	flags = one_in(w, 8) ? MAP_PRIVATE : MAP_SHARED;
	if (one_in(w, 4))
		offset = page_size() * pick(w, 64);
	else if (one_in(w, 4))
		offset = any_u64(w) & -page_size();
	map = mmap(NULL, len, prot, flags, fd, offset);
	if (map == MAP_FAILED)
		return -errno;
	/* Keep half of the mappings, as publishing needs mapped buffers. */
	if (one_in(w, 2))
		munmap(map, len);
	return 0;
}

static int do_new_event(struct world *w, enum kind *kind)
{
	struct perf_event_attr attr = one_in(w, 3) ? say_forward_attr() : say_attr();

	*kind = EVENT;
	replace(w, event_open(&attr, -1, w->cpu, -1, PERF_FLAG_FD_CLOEXEC), EVENT);
	return 0;
}

/* With any descriptor as leader: a member never becomes one. */
static int do_sibling(struct world *w, enum kind *kind)
{
	struct perf_event_attr attr = say_attr();
	enum kind leader;
	int fd;

	*kind = EVENT;
	fd = event_open(&attr, -1, w->cpu, any_fd(w, &leader), PERF_FLAG_FD_CLOEXEC);
	replace(w, fd, EVENT);
	return fd < 0 ? fd : 0;
}

static int do_read(struct world *w, enum kind *kind)
{
	int fd = any_fd(w, kind);
	bool good;
	void *at;
	size_t size = any_size(w) & 0xfff;
	ssize_t len;

	if (*kind == OTHER)
		return 0;
	at = any_address(w, size, &good);
	len = neg_errno(read(fd, at, size));
	return len < 0 ? len : 0;
}

#define NOT_OURS { ENOTTY }

static const struct call calls[] = {
	{ "open", do_open, {
		[EVENT] = { EINVAL, ENOENT, EACCES, EPERM, E2BIG, EFAULT },
	} },
	{ "SET_NAME", do_name, {
		[EVENT] = { EACCES, EFAULT, EOPNOTSUPP, ENODEV, EINVAL, EEXIST, EBUSY, EPERM },
		[TASK_EVENT] = { EACCES, EFAULT, EOPNOTSUPP },
		[SPACE] = { EFAULT, EINVAL, EACCES, EBUSY, ENOENT },
		[OTHER] = NOT_OURS,
	} },
	{ "SET_PERSIST", do_persist, {
		[EVENT] = { EACCES, EFAULT, EOPNOTSUPP, ENODEV, ENOENT, EEXIST, EBUSY, EINVAL },
		[TASK_EVENT] = { EACCES, EFAULT, EOPNOTSUPP },
		[SPACE] = { EACCES, EINVAL, ENODEV },
		[OTHER] = NOT_OURS,
	} },
	{ "JOIN", do_join, {
		[EVENT] = { ENOTTY, EACCES, ENODEV },
		[TASK_EVENT] = { ENOTTY, EACCES },
		[SPACE] = { EACCES, EFAULT, EINVAL, EBADF, EOPNOTSUPP, EBUSY, ENOSPC, ENODEV },
		[OTHER] = NOT_OURS,
	} },
	{ "PERSIST_FLAGS", do_flags, {
		[EVENT] = { EACCES, EFAULT, EOPNOTSUPP, ENODEV, EINVAL, EBUSY, EPERM },
		[TASK_EVENT] = { EACCES, EFAULT, EOPNOTSUPP },
		[SPACE] = { ENOTTY },
		[OTHER] = NOT_OURS,
	} },
	{ "GET_PERSIST or GET_MEMBER", do_ask, {
		[EVENT] = { EFAULT, ENOENT, EINVAL, E2BIG },
		[TASK_EVENT] = { EFAULT, ENOENT, EINVAL, E2BIG },
		[SPACE] = { EFAULT, ENOENT, EINVAL, E2BIG, ENODEV },
		[OTHER] = NOT_OURS,
	} },
	{ "ENABLE or DISABLE", do_old, {
		[EVENT] = { EACCES, ENODEV },
		[TASK_EVENT] = { EACCES },
		[SPACE] = { EACCES, EINVAL, ENODEV },
		[OTHER] = NOT_OURS,
	} },
	{ "SNAPSHOT or RESIZE", do_snapshot, {
		[EVENT] = { ENOTTY, EACCES, ENODEV },
		[TASK_EVENT] = { ENOTTY, EACCES },
		[SPACE] = { EACCES, EFAULT, EINVAL, E2BIG, EOPNOTSUPP, ENOMEM, ENOSPC, ENODEV,
			    EBUSY },
		[OTHER] = NOT_OURS,
	} },
	{ "CLEAR", do_clear, {
		[EVENT] = { ENOTTY, EACCES, ENODEV },
		[TASK_EVENT] = { ENOTTY, EACCES },
		[SPACE] = { EACCES, EINVAL, EOPNOTSUPP, ENOMEM, ENOSPC, ENODEV, EBUSY },
		[OTHER] = NOT_OURS,
	} },
	{ "KEEP, SPARES, ARM_TRIGGER or DEL_TRIGGER", do_number, {
		[EVENT] = { ENOTTY, EACCES, ENODEV },
		[TASK_EVENT] = { ENOTTY, EACCES },
		[SPACE] = { EACCES, EFAULT, EINVAL, EOPNOTSUPP, ENOENT, ENOMEM, ENOSPC, ENODEV,
			    EBUSY },
		[OTHER] = NOT_OURS,
	} },
	{ "STOP or RESUME", do_stop, {
		[EVENT] = { ENOTTY, EACCES, ENODEV },
		[TASK_EVENT] = { ENOTTY, EACCES },
		[SPACE] = { EACCES, EINVAL, EOPNOTSUPP, ENODEV },
		[OTHER] = NOT_OURS,
	} },
	{ "SET_NOTE", do_note, {
		[EVENT] = { ENOTTY, EACCES, ENODEV },
		[TASK_EVENT] = { ENOTTY, EACCES },
		[SPACE] = { EACCES, EFAULT, EINVAL, ENODEV },
		[OTHER] = NOT_OURS,
	} },
	{ "ADD_TRIGGER or GET_TRIGGER", do_trigger, {
		[EVENT] = { ENOTTY, EACCES, ENODEV },
		[TASK_EVENT] = { ENOTTY, EACCES },
		[SPACE] = { EACCES, EFAULT, EINVAL, E2BIG, EOPNOTSUPP, ENOENT, ENOSPC, ENODEV },
		[OTHER] = { ENOTTY },
	} },
	{ "ADD_TRIGGER_EVENT", do_trigger_event, {
		[EVENT] = { ENOTTY, EACCES, ENODEV },
		[TASK_EVENT] = { ENOTTY, EACCES },
		[SPACE] = { EACCES, EFAULT, EINVAL, EOPNOTSUPP, EBADF, EBUSY, ENOENT, ENOSPC,
			    ENODEV },
		[OTHER] = NOT_OURS,
	} },
	{ "GET_TRIGGER_STATE", do_trigger_state, {
		[EVENT] = { ENOTTY, EACCES, ENODEV },
		[TASK_EVENT] = { ENOTTY, EACCES },
		[SPACE] = { EACCES, EFAULT, EINVAL, E2BIG, EOPNOTSUPP, ENOENT, ENODEV },
		[OTHER] = { ENOTTY },
	} },
	{ "SET_TASKS or GET_TASKS", do_tasks, {
		[EVENT] = { ENOTTY, EACCES, ENODEV },
		[TASK_EVENT] = { ENOTTY, EACCES },
		[SPACE] = { EACCES, EPERM, EFAULT, EINVAL, E2BIG, EOPNOTSUPP, ENOMEM, ENODEV },
		[OTHER] = { ENOTTY },
	} },
	{ "unknown", do_unknown, {
		[EVENT] = { ENOTTY, EACCES, ENODEV },
		[TASK_EVENT] = { ENOTTY, EACCES },
		[SPACE] = { ENOTTY },
		[OTHER] = NOT_OURS,
	} },
	{ "SET_OUTPUT", do_redirect, {
		[EVENT] = { EACCES, EBADF, EINVAL, EBUSY, ENODEV },
		[TASK_EVENT] = { EACCES, EBADF, EINVAL },
	} },
	{ "mmap", do_map, {
		[EVENT] = { EINVAL, ENODEV, EBUSY, EACCES, EPERM, ENOMEM, EOVERFLOW },
		[TASK_EVENT] = { EINVAL, EBUSY, EPERM, EACCES, ENOMEM, EOVERFLOW },
		[SPACE] = { ENODEV, EINVAL, EPERM, ENOMEM, EACCES, EOVERFLOW },
	} },
	{ "new event", do_new_event },
	{ "sibling", do_sibling, {
		[EVENT] = { EACCES, EBADF, EINVAL, EOPNOTSUPP, ENODEV },
	} },
	{ "read", do_read, {
		[EVENT] = { EFAULT, ENOSPC },
		[TASK_EVENT] = { EFAULT, ENOSPC },
		[SPACE] = { EINVAL, EFAULT },
	} },
};

/* Any success is fine. An error must be in the list of the call. */
static bool documented(const struct call *call, enum kind kind, int err)
{
	unsigned int i;

	for (i = 0; err && i < ERRORS && call->errors[kind][i]; i++) {
		if (err == -call->errors[kind][i])
			return true;
	}
	return err >= 0;
}

/* Makes namespaces of each state, and descriptors of each kind. */
static void world_make(struct world *w)
{
	struct perf_event_attr attr = say_attr(), task = say_attr();
	char name[NAME_ROOM];
	struct member m;
	int i, p[2];
	__u64 id;

	w->mem = mmap(NULL, 4 * page_size(), PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	w->fixed = w->mem + 3 * page_size();
	mprotect(w->mem + 2 * page_size(), page_size(), PROT_NONE);
	mprotect(w->fixed, page_size(), PROT_READ);

	for (i = 0; i < FDS; i++) {
		w->fd[i] = -1;
		w->kind[i] = EVENT;
	}
	snprintf(name, sizeof(name), "%s0", persist_prefix);
	ns_create(&m, &attr, w->cpu, 1, name, &id);
	w->fd[0] = m.fd;
	w->fd[1] = member_reopen(id, 0, w->cpu, 0);
	w->fd[2] = member_reopen(id, 0, w->cpu, PERF_PERSIST_OPEN_WRITE);
	w->fd[3] = ns_open(id, 0);
	w->fd[4] = ns_open(id, PERF_PERSIST_OPEN_WRITE);
	w->fd[5] = ns_open(~0ULL, 0);
	w->fd[6] = ns_open(~0ULL, PERF_PERSIST_OPEN_WRITE);
	for (i = 3; i < 7; i++)
		w->kind[i] = SPACE;
	w->fd[7] = event_open(&task, 0, -1, -1, 0);
	w->fd[8] = event_open(&task, 0, w->cpu, -1, 0);
	w->kind[7] = TASK_EVENT;
	w->kind[8] = TASK_EVENT;
	w->fd[9] = open("/proc/self/exe", O_RDONLY);
	w->fd[10] = socket(AF_UNIX, SOCK_STREAM, 0);
	if (!pipe(p)) {
		w->fd[11] = p[0];
		w->fd[12] = p[1];
	}
	for (i = 9; i < 13; i++)
		w->kind[i] = OTHER;
	member_open(&m, &attr, w->cpu, 1);
	w->fd[13] = m.fd;
	persist_new(m.fd, &id);
	for (i = 14; i < FDS; i++) {
		member_open(&m, &attr, w->cpu, i & 1);
		w->fd[i] = m.fd;
		m.fd = -1;
	}
}

/* Returns how many calls ended in a way that is not documented. */
static int run_chunk(unsigned int seed, unsigned int chunk, int cpu)
{
	struct world w = { .seed = seed + chunk * 7919, .cpu = cpu };
	int i, err, bad = 0;

	pin(cpu);
	world_make(&w);
	for (i = 0; i < FDS; i++) {
		if (w.fd[i] < 0) {
			printf("# descriptor %d of the world: %d\n", i, w.fd[i]);
			return 1;
		}
	}
	/* Some chunks drop their capabilities: only what their descriptors allow is left. */
	if (chunk % 4 == 3)
		drop_caps(cap_bit(CAP_PERFMON) | cap_bit(CAP_SYS_ADMIN) | cap_bit(CAP_IPC_LOCK));

	for (i = 0; i < (int)nr_calls; i++) {
		const struct call *call = &calls[pick(&w, ARRAY_SIZE(calls))];
		enum kind kind = EVENT;

		err = call->func(&w, &kind);
		if (verbose)
			printf("# %d: %s on kind %d: %d\n", i, call->what, kind, err);
		if (!documented(call, kind, err)) {
			printf("# seed %u, chunk %u, call %d: %s on kind %d: %d\n",
			       seed, chunk, i, call->what, kind, err);
			bad++;
		}
	}
	fflush(stdout);
	return bad;
}

int main(int argc, char **argv)
{
	unsigned int seed = time(NULL) ^ getpid(), chunk, seconds = 0;
	struct balance before, after;
	bool survived = true, back;
	int opt, cpu, only = -1, bad = 0;
	char ns[NS_ROOM];
	time_t end;

	while ((opt = getopt(argc, argv, "t:s:c:n:v")) != -1) {
		switch (opt) {
		case 't':
			seconds = strtoul(optarg, NULL, 0);
			break;
		case 's':
			seed = strtoul(optarg, NULL, 0);
			break;
		case 'c':
			only = strtoul(optarg, NULL, 0);
			break;
		case 'n':
			nr_calls = strtoul(optarg, NULL, 0);
			break;
		case 'v':
			verbose = true;
			break;
		default:
			return KSFT_FAIL;
		}
	}
	ksft_print_header();
	{
		const char *missing = persist_begin(ns, &cpu, &(int){ 0 });

		if (missing)
			ksft_exit_skip("%s\n", missing);
	}
	ksft_set_plan(3);
	ksft_print_msg("seed %u\n", seed);
	fflush(stdout);

	balance_settle(&before);
	end = time(NULL) + seconds;
	chunk = only < 0 ? 0 : only;
	do {
		int status = 0;
		pid_t pid = fork_child();

		if (!pid)
			_exit(!!run_chunk(seed, chunk, cpu));
		if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status)) {
			ksft_print_msg("chunk %u: status %#x\n", chunk, status);
			survived = false;
		} else {
			bad += WEXITSTATUS(status);
		}
		persist_sweep();
		chunk++;
	} while (only < 0 && (seconds ? time(NULL) < end : chunk < CHUNKS));

	ksft_print_msg("%u chunks of %u calls\n", only < 0 ? chunk : 1, nr_calls);
	ksft_test_result(survived, "survived\n");
	ksft_test_result(!bad, "each call ended as it is documented\n");
	back = balance_back(&before, &after);
	if (!back) {
		balance_print("before", &before);
		balance_print("after", &after);
	}
	ksft_test_result(back, "everything is back\n");
	ksft_finished();
}
