/* SPDX-License-Identifier: GPL-2.0 */
/* Namespaces of persistent events, and the operations that commands need on them. */
#ifndef __PERF_PERSISTENT_H
#define __PERF_PERSISTENT_H

#include <linux/perf_event.h>
#include <linux/sizes.h>
#include <linux/types.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

struct evlist;
struct evsel;
struct perf_env;
struct parse_events_error;
struct parse_events_terms;
struct perf_cpu_map;
struct persistent_reader;
struct record_opts;

/* The PMU below /sys/bus/event_source/devices whose events are namespaces */
#define PERSISTENT_PMU	"persistent"
#define PERSISTENT_SYSFS	"bus/event_source/devices/" PERSISTENT_PMU

/* The kernel makes no larger buffers with pages of 4K, and perf maps none. */
#define PERSISTENT_MAX_BUFFER	((u64)SZ_1G)

/* Printed by the commands, and by the parser for events on their command lines */
#define PERSISTENT_UNSUPPORTED	"This kernel cannot keep events: it has no PMU called 'persistent'"
#define PERSISTENT_UNSUPPORTED_HELP	\
	"Boot one with CONFIG_PERF_EVENTS_PERSISTENT=y, or use 'perf record -M SIZE --daemon', which needs none."

/* One event of a namespace: one attr on one CPU */
struct persistent_member {
	struct perf_event_attr	 attr;
	u64			 id;
	u64			 output_id;	/* owner of its buffer, 0: no buffer */
	u64			 buffer_size;
	u64			 lost;		/* records */
	u64			 missed;	/* records, while buffer was stopped */
	u64			 cgroup_id;
	u64			 pid_ns;	/* inode number, of the pids in its records */
	u32			 flags;		/* PERF_PERSIST_* */
	int			 cpu;
	char			 label[PERF_PERSIST_NAME_SIZE];
};

struct persistent_ns {
	char			 name[PERF_PERSIST_NAME_SIZE];
	u64			 id;
	int			 fd;
	u64			 created_ns;	/* CLOCK_BOOTTIME */
	u32			 owner_uid;
	char			 owner_comm[PERF_PERSIST_COMM_SIZE];
	u64			 source_id;	/* snapshot: id of its origin */
	u32			 number;	/* snapshot: its own; else the last one */
	u32			 trigger;	/* snapshot: trigger that took it, or 0 */
	u64			 swap_begin_ns;	/* snapshot: start; created_ns: end */
	u32			 keep;		/* maximum number of snapshots */
	u32			 spares;	/* snapshots possible without new memory */
	bool			 snapshot;
	bool			 stopped;	/* by a trigger, or by hand */
	bool			 all_cpus;	/* also covers CPUs onlined later */
	char			 note[PERF_PERSIST_NAME_SIZE];
	struct persistent_member *members;
	int			 nr_members;
	int			 nr_unread;	/* members with unread records */
	const char		*why_unread;	/* the reason for the last of them */
	bool			 disabled;	/* by persistent_ns__disable_to_delete() */
	void			*tasks;		/* records of tasks older than it */
	size_t			 tasks_size;
};

enum persistent_use {
	PERSISTENT_READ,		/* read the records in the buffers */
	PERSISTENT_READ_AND_KILL,	/* the same, and may disable and delete */
	PERSISTENT_COUNT,		/* read the counts: no buffers, no side-band */
};

/* The namespaces that an evlist reads from */
struct persistent {
	enum persistent_use	 use;
	struct perf_cpu_map	*only;		/* NULL: all CPUs */
	struct persistent_ns	**ns;
	int			 nr_ns;
	struct persistent_reader *reader;
	int			 *fds;		/* open buffers that have no evsel */
	int			 nr_fds;
};

bool persistent__supported(void);
int persistent__check_supported(void);
int persistent__check_perfmon(void);
const char *persistent__help_perfmon(void);

/* The lookup functions print no error: the caller does. */
int persistent_ns__lookup(const char *name, bool write, struct persistent_ns **res);
int persistent_ns__lookup_id(u64 id, bool write, struct persistent_ns **res);
struct persistent_ns *persistent_ns__open(const char *name, bool write);
void persistent_ns__close(struct persistent_ns *ns);
int persistent_ns__list(struct persistent_ns *ns);
int persistent_ns__look_again(struct persistent_ns *ns);
/* Get the member with the next id after @last; 0: the first. -ENOENT: no more members */
int persistent_ns__next_member(const struct persistent_ns *ns, u64 last,
			       struct persistent_member *member);
u64 persistent_ns__missed(const struct persistent_ns *ns);
int persistent_ns__count_late(const struct persistent_ns *ns, const struct perf_cpu_map *only,
			      int *nr);
struct persistent_member *persistent_ns__find_member(const struct persistent_ns *ns, u64 id);
int persistent_ns__get_member(const struct persistent_ns *ns, u64 id,
			      struct perf_event_persist_member *info);
char *persistent_ns__member_filter(const struct persistent_ns *ns, u64 id);
bool persistent_ns__is_gone(const struct persistent_ns *ns);
u64 persistent_ns__age_ns(const struct persistent_ns *ns);

/*
 * How long ago did it stop recording? 0: it records; ULLONG_MAX: it does not, as it is stopped
 * or disabled, and the kernel does not say since when. Its members must be listed.
 */
u64 persistent_ns__ended_ns_ago(const struct persistent_ns *ns);

bool persistent_member__is_sideband(const struct persistent_member *member);
bool persistent_member__is_same_event(const struct persistent_member *member,
				      const struct persistent_member *other);
bool persistent_ns__is_sideband_ring(const struct persistent_ns *ns,
				     const struct persistent_member *member);
int persistent_member__written(int fd, u64 *bytes);
int persistent_member__open(const struct persistent_ns *ns,
			    const struct persistent_member *member);
int persistent_member__open_to_change(const struct persistent_ns *ns,
				      const struct persistent_member *member);
int persistent__get_event(int fd, struct perf_event_persist_member *info);

/*
 * persistent-name.c
 */

int persistent__check_name(const char *name);
int persistent__check_event(const struct parse_events_terms *terms, int column,
			    struct parse_events_error *err);

/*
 * A sorted, NULL terminated list of all names. The snapshots of a namespace follow it.
 * Every user may see the names.
 */
char **persistent__names(void);
void persistent__free_names(char **names);
bool persistent__exists(const char *name);

/* A name may be a pattern like those a shell has for files: 'NAME.*' */
bool persistent__is_pattern(const char *name);
/*
 * The names that match the pattern; @live leaves out snapshots. NULL: no name matches, and
 * an error was printed. expand_names does it for each argument, and copies plain names.
 */
char **persistent__match_names(const char *pattern, bool live);
char **persistent__expand_names(int argc, const char **argv, bool live);

/* If @name is a snapshot of the namespace @of: its number; else 0 */
u32 persistent__snapshot_number(const char *name, const char *of);

int persistent__err_open(int err, const char *name);
void persistent__err_taken(const char *name);
int persistent__err_publish(int err, const char *name, const char *event);
void persistent__tell_of_snapshots(const char *name);
void persistent__make_printable(char *str);

/* Labels of the events, separated by commas. The caller frees the string. */
char *persistent_ns__events(const struct persistent_ns *ns);
char *persistent_ns__events_within(const struct persistent_ns *ns, size_t width);
char *persistent__events_of(const char *name);

/* persistent-publish.c */
void persistent__block_signals(sigset_t *old);
int persistent__check_free(const char *name);
int persistent__publish(struct evlist *evlist, struct evlist *sideband,
			const char *name, u64 flags, u64 *id);
/* Attach the command line as a note to the namespace that it created. */
void persistent__note_command(u64 id, const struct perf_env *env);
/* The descriptor at index @cpu_map_idx of an event that is open per CPU, not per thread */
int evsel__cpu_fd(const struct evsel *evsel, int cpu_map_idx);

/* persistent-switch.c */
int persistent_ns__check_live(const struct persistent_ns *ns);
int persistent_ns__enable(struct persistent_ns *ns);
int persistent_ns__disable(struct persistent_ns *ns);
int persistent_ns__disable_to_delete(struct persistent_ns *ns);
int persistent_ns__enable_again(struct persistent_ns *ns);
int persistent_ns__stop(struct persistent_ns *ns);
int persistent_ns__resume(struct persistent_ns *ns);
int persistent_ns__set_note(struct persistent_ns *ns, const char *note);
int persistent_ns__delete(struct persistent_ns *ns);

/* persistent-evlist.c */
bool evsel__is_persistent(const struct evsel *evsel);
bool evlist__has_persistent(struct evlist *evlist);
struct persistent *evlist__attach_persistent(struct evlist *evlist, const char *cpu_list,
					     enum persistent_use use);
void persistent__delete(struct persistent *persistent);
u64 persistent__age_ns(const struct persistent *persistent);
u64 persistent__ended_ns_ago(const struct persistent *persistent);

/* Where --last begins. @now, @newest sample (0: none): by the clock of the records, in ns */
u64 persistent__start_of_last(u64 last, u64 ended_ns_ago, u64 now, u64 newest);

/* persistent-config.c */
bool evlist__all_attached(struct evlist *evlist);
bool evsel__has_terms(const struct evsel *evsel);
int evsel__check_unchanged(struct evsel *evsel);
int evlist__check_sample_types(struct evlist *evlist);
int evlist__config_attached(struct evlist *evlist, struct record_opts *opts,
			    const char *uid_str);

/* persistent-stat.c */
int evsel__read_attached(struct evsel *evsel, int cpu_map_idx);
int evsel__read_attached_lost(struct evsel *evsel, int cpu_map_idx, u64 *lost);
int evlist__start_attached(struct evlist *evlist);

#endif /* __PERF_PERSISTENT_H */
