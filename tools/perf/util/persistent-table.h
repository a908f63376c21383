/* SPDX-License-Identifier: GPL-2.0 */
/* Tables that fit a terminal. */
#ifndef __PERF_PERSISTENT_TABLE_H
#define __PERF_PERSISTENT_TABLE_H

#define PERSISTENT_TABLE_MAX_COLUMNS	9

/* A column that gives way, and the width that it keeps */
struct persistent_give_way {
	int	column;
	int	width;		/* 0: the end of the list */
};

struct persistent_table {
	const char * const		 *titles;	/* NULL: the end of the list */
	const struct persistent_give_way *give_way;	/* in this order; NULL: none does */
	char				 *(*rows)[PERSISTENT_TABLE_MAX_COLUMNS];
	int				 nr_rows;
	int				 widths[PERSISTENT_TABLE_MAX_COLUMNS];
};

void persistent_table__init(struct persistent_table *table, const char * const *titles,
			    const struct persistent_give_way *give_way);
void persistent_table__exit(struct persistent_table *table);

/*
 * A new row at the end. The caller sets its cells to strings that the table frees; NULL
 * is printed as "-". Returns NULL without memory.
 */
char **persistent_table__add_row(struct persistent_table *table);

/* Find the widths of the columns, and cut them to what the terminal has. */
void persistent_table__fit(struct persistent_table *table);
void persistent_table__print(const struct persistent_table *table);

/* How many columns of a terminal a string takes */
int persistent_table__columns(const char *str);

#endif /* __PERF_PERSISTENT_TABLE_H */
