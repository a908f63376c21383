/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_JSON_PRINT_H
#define __PERF_JSON_PRINT_H

#include <linux/types.h>
#include <stdbool.h>
#include <stdio.h>

/*
 * Decode the non-ASCII character at @str into @c. Returns its length in bytes, or 0 if it
 * is not valid UTF-8.
 */
int utf8__char(const char *str, unsigned int *c);

/* Print a quoted JSON string. @str can have any bytes. */
void json__fputs_string(const char *str, FILE *out);

/* Print one value a line. The key is NULL in an array, and for the outermost value. */
struct json_print {
	FILE	*out;
	int	depth;
	bool	comma;		/* the next value needs a comma before it */
};

void json_print__begin(struct json_print *json, const char *key, char bracket);
void json_print__end(struct json_print *json, char bracket);
void json_print__key(struct json_print *json, const char *key);
void json_print__string(struct json_print *json, const char *key, const char *value);
void json_print__u64(struct json_print *json, const char *key, u64 value);
void json_print__bool(struct json_print *json, const char *key, bool value);
void json_print__null(struct json_print *json, const char *key);

#endif /* __PERF_JSON_PRINT_H */
