// SPDX-License-Identifier: GPL-2.0
/*
 * Tables that fit a terminal.
 *
 * If the terminal is too narrow, columns shrink in a given order, each down to a
 * width of its own. Cells that are cut end in "..". Cells of the first column are
 * never cut, as people type them: if one does not fit, it gets its own line.
 */
#include "persistent-table.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <linux/kernel.h>
#include <linux/zalloc.h>
#include "json-print.h"
#include "term.h"

/* Width of output that does not go to a terminal */
#define WIDTH_OF_FILES	132

/* Bytes of the character at @str. A byte that is not UTF-8 counts as a character. */
static int char_bytes(const char *str)
{
	unsigned int c;

	return utf8__char(str, &c) ?: 1;
}

int persistent_table__columns(const char *str)
{
	int nr = 0;

	for (; *str; str += char_bytes(str))
		nr++;
	return nr;
}

void persistent_table__init(struct persistent_table *table, const char * const *titles,
			    const struct persistent_give_way *give_way)
{
	memset(table, 0, sizeof(*table));
	table->titles = titles;
	table->give_way = give_way;
}

void persistent_table__exit(struct persistent_table *table)
{
	for (int i = 0; i < table->nr_rows; i++) {
		for (int j = 0; j < PERSISTENT_TABLE_MAX_COLUMNS; j++)
			free(table->rows[i][j]);
	}
	zfree(&table->rows);
}

char **persistent_table__add_row(struct persistent_table *table)
{
	char *(*rows)[PERSISTENT_TABLE_MAX_COLUMNS];

	rows = realloc(table->rows, (table->nr_rows + 1) * sizeof(*rows));
	if (!rows)
		return NULL;

	table->rows = rows;
	memset(rows[table->nr_rows], 0, sizeof(*rows));
	return rows[table->nr_rows++];
}

static const char *table__cell(const struct persistent_table *table, int row, int column)
{
	return row < 0 ? table->titles[column] : table->rows[row][column] ?: "-";
}

static int output_width(void)
{
	const char *columns = getenv("COLUMNS");
	struct winsize ws;

	if (columns && atoi(columns) > 0)
		return atoi(columns);
	if (!isatty(STDOUT_FILENO))
		return WIDTH_OF_FILES;

	get_term_dimensions(&ws);
	return ws.ws_col;
}

void persistent_table__fit(struct persistent_table *table)
{
	int excess = -output_width();

	for (int i = 0; table->titles[i]; i++) {
		table->widths[i] = 0;
		for (int j = -1; j < table->nr_rows; j++)
			table->widths[i] = max(table->widths[i],
					       persistent_table__columns(table__cell(table, j, i)));
		excess += table->widths[i] + (i ? 2 : 0);
	}

	for (const struct persistent_give_way *way = table->give_way;
	     way && way->width && excess > 0; way++) {
		int *width = &table->widths[way->column];
		int floor = max_t(int, way->width, strlen(table->titles[way->column]));
		int less = clamp(*width - floor, 0, excess);

		*width -= less;
		excess -= less;
	}
}

/* How many bytes there are in the first @width columns */
static int bytes_within(const char *str, int width)
{
	const char *pos = str;

	while (*pos && width-- > 0)
		pos += char_bytes(pos);
	return pos - str;
}

static void print_cell(const char *str, int width, bool last)
{
	int columns = persistent_table__columns(str);
	bool cut = columns > width;

	printf("%.*s%s", bytes_within(str, cut ? width - 2 : width), str, cut ? ".." : "");
	if (!last)
		printf("%*s", 2 + (cut ? 0 : width - columns), "");
}

void persistent_table__print(const struct persistent_table *table)
{
	for (int row = -1; row < table->nr_rows; row++) {
		for (int i = 0; table->titles[i]; i++) {
			const char *cell = table__cell(table, row, i);
			bool last = !table->titles[i + 1];

			if (!i && persistent_table__columns(cell) > table->widths[i]) {
				printf("%s\n", cell);
				cell = "";
			}
			print_cell(cell, table->widths[i], last);
		}
		printf("\n");
	}
}
