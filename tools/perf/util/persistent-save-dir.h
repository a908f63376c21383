/* SPDX-License-Identifier: GPL-2.0 */
/* The directory that snapshots of a namespace are saved to. */
#ifndef __PERF_PERSISTENT_SAVE_DIR_H
#define __PERF_PERSISTENT_SAVE_DIR_H

#include <linux/perf_event.h>
#include <linux/types.h>
#include <stdbool.h>
#include <sys/types.h>

#define SAVE_FILE_NAME_SIZE	(PERF_PERSIST_NAME_SIZE + 80)

/* A snapshot that is in the directory, or will be */
struct save_file {
	char	name[SAVE_FILE_NAME_SIZE];
	u64	boot;
	u64	source_id;	/* of the namespace that it was taken from, in that boot */
	u32	number;
	char	time[20];	/* when it was taken, UTC */
	char	boot_time[20];	/* when the first one of that boot was taken */
	u64	size;
	bool	stuck;		/* it could not be removed just now */
	bool	told;		/* the user knows that */
};

/* Progress with the snapshots of one namespace of this boot */
struct save_mark {
	u64	source_id;
	u32	settled;	/* all up to this number are saved, or were reported as missing */
	u32	handled;	/* the command was run for all up to this number */
};

struct record_limits;

struct save_dir {
	char			 name[PERF_PERSIST_NAME_SIZE];	/* of the namespace */
	char			 *path;
	int			 fd;
	uid_t			 uid;	/* the owner of files that perf makes there */
	int			 lock_fd;
	u64			 boot;
	struct save_file	 *files;	/* the oldest first */
	int			 nr_files;
	struct save_mark	 *marks;
	int			 nr_marks;
	bool			 runs;		/* perf runs a command for each file */
	char			 used[SAVE_FILE_NAME_SIZE];	/* file that it uses now */
};

/*
 * Make the directory if there is none, and find out what was saved there before. @runs:
 * perf runs a command for each file
 */
int save_dir__open(struct save_dir *dir, const char *path, const char *name, bool runs);
void save_dir__close(struct save_dir *dir);

/* Does its path lead to no directory, or to another one, by now? */
bool save_dir__is_gone(const struct save_dir *dir);

struct save_mark *save_dir__mark(struct save_dir *dir, u64 source_id);
/* Write the marks to disk. They remember files that somebody removes. */
int save_dir__write_marks(struct save_dir *dir);

/* Fill in the name of @file; @age_ns: how long ago the snapshot was taken */
void save_dir__name(const struct save_dir *dir, struct save_file *file, u64 source_id,
		    u32 number, u64 age_ns);
/* Create the file, under a temporary name until it is complete. Returns a descriptor. */
int save_dir__create_tmp(const struct save_dir *dir, const struct save_file *file);
void save_dir__remove_tmp(const struct save_dir *dir, const struct save_file *file);
/* Sync the file to disk, and give it its final name. */
int save_dir__add(struct save_dir *dir, struct save_file *file);

/* Remove old files, but not the newest, nor the one in use. Returns how many. */
int save_dir__prune(struct save_dir *dir, const struct record_limits *limits);
/* Remove the oldest file that may go, to make room for a new one; false: there is none. */
bool save_dir__make_room(struct save_dir *dir);

/* The oldest file that the command was not run for; NULL: none */
const struct save_file *save_dir__unhandled(struct save_dir *dir);
/* Set the file that the command uses from now on; NULL: none */
void save_dir__use(struct save_dir *dir, const struct save_file *file);

#endif /* __PERF_PERSISTENT_SAVE_DIR_H */
