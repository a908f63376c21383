/* SPDX-License-Identifier: GPL-2.0 */
/* The directory that snapshots of a namespace are saved to. */
#ifndef __PERF_PERSISTENT_SAVE_DIR_H
#define __PERF_PERSISTENT_SAVE_DIR_H

#include <linux/perf_event.h>
#include <linux/types.h>
#include <stdbool.h>

#define SAVE_FILE_NAME_SIZE	(PERF_PERSIST_NAME_SIZE + 80)

/* A snapshot that is in the directory, or is going to be */
struct save_file {
	char	name[SAVE_FILE_NAME_SIZE];
	u64	boot;
	u64	source_id;	/* of the namespace that it was taken of, in that boot */
	u32	number;
	char	time[20];	/* when it was taken, UTC */
	char	boot_time[20];	/* and the first one of that boot */
	u64	size;
};

/* How far it has come with the snapshots of one namespace of this boot */
struct save_mark {
	u64	source_id;
	u32	settled;	/* all up to this number are saved, or were reported as missing */
	u32	handled;	/* and of all up to this one the command was run */
};

struct record_limits;

struct save_dir {
	char			 name[PERF_PERSIST_NAME_SIZE];	/* of the namespace */
	char			 *path;
	int			 fd;
	int			 lock_fd;
	u64			 boot;
	struct save_file	 *files;	/* the oldest first */
	int			 nr_files;
	struct save_mark	 *marks;
	int			 nr_marks;
	bool			 runs;		/* a command for each file */
	char			 used[SAVE_FILE_NAME_SIZE];	/* the file that it has */
};

/*
 * Makes the directory if there is none, and looks what was saved there before. @runs: there
 * is a command to run for each file
 */
int save_dir__open(struct save_dir *dir, const char *path, const char *name, bool runs);
void save_dir__close(struct save_dir *dir);

struct save_mark *save_dir__mark(struct save_dir *dir, u64 source_id);
/* Remember the marks, also of files that somebody takes away. */
int save_dir__write_marks(struct save_dir *dir);

/* Fills in names; @age_ns: how long ago the snapshot was taken */
void save_dir__name(const struct save_dir *dir, struct save_file *file, u64 source_id,
		    u32 number, u64 age_ns);
/* Opens the file of that name until it is whole: a new one */
int save_dir__create_tmp(const struct save_dir *dir, const struct save_file *file);
void save_dir__remove_tmp(const struct save_dir *dir, const struct save_file *file);
/* Gives it its name once it is on disk. */
int save_dir__add(struct save_dir *dir, struct save_file *file);

/* The newest one stays, and the one in use. Returns how many were removed. */
int save_dir__prune(struct save_dir *dir, const struct record_limits *limits);
/* Removes the oldest file that may go, for one that does not fit; false: there is none. */
bool save_dir__make_room(struct save_dir *dir);

/* The next one that the command was not run for; NULL: none */
const struct save_file *save_dir__unhandled(struct save_dir *dir);
/* The one that the command has from now on; NULL: none */
void save_dir__use(struct save_dir *dir, const struct save_file *file);

#endif /* __PERF_PERSISTENT_SAVE_DIR_H */
