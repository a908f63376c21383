// SPDX-License-Identifier: GPL-2.0
/*
 * Print JSON, see RFC 8259.
 */
#include "json-print.h"

#include <inttypes.h>
#include <string.h>

/*
 * Decode the first byte of a UTF-8 character: set the bits in it, and the smallest
 * character that needs this length. Returns the length in bytes, 0: not a first byte.
 */
static int utf8__start(unsigned char byte, unsigned int *c, unsigned int *min)
{
	if (byte >= 0xc0 && byte < 0xe0) {
		*c = byte & 0x1f;
		*min = 0x80;
		return 2;
	}
	if (byte >= 0xe0 && byte < 0xf0) {
		*c = byte & 0x0f;
		*min = 0x800;
		return 3;
	}
	if (byte >= 0xf0 && byte < 0xf8) {
		*c = byte & 0x07;
		*min = 0x10000;
		return 4;
	}
	return 0;
}

int utf8__char(const char *str, unsigned int *ret)
{
	unsigned int c, min;
	int len = utf8__start(*str, &c, &min);

	for (int i = 1; i < len; i++) {
		if ((str[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (str[i] & 0x3f);
	}

	if (!len || c < min || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	*ret = c;
	return len;
}

/*
 * Names of tasks and files can have any bytes, but JSON must be UTF-8. Replace invalid
 * bytes, and escape characters that would control the terminal.
 */
static const char *fputs_char(const char *str, FILE *out)
{
	unsigned int c;
	int len = utf8__char(str, &c);

	if (!len)
		fputs("\\ufffd", out);
	else if (c < 0xa0)
		fprintf(out, "\\u%04x", c);
	else
		fwrite(str, len, 1, out);
	return str + (len ?: 1);
}

void json__fputs_string(const char *str, FILE *out)
{
	static const char escaped[] = "\"\\\b\f\n\r\t", as[] = "\"\\bfnrt";

	fputc('"', out);
	while (*str) {
		const char *e = strchr(escaped, *str);

		if ((unsigned char)*str >= 0x80) {
			str = fputs_char(str, out);
			continue;
		}

		if (e)
			fprintf(out, "\\%c", as[e - escaped]);
		else if (*str < 0x20 || *str == 0x7f)
			fprintf(out, "\\u%04x", *str);
		else
			fputc(*str, out);
		str++;
	}
	fputc('"', out);
}

void json_print__key(struct json_print *json, const char *key)
{
	if (json->comma)
		fputc(',', json->out);
	if (json->depth)
		fprintf(json->out, "\n%*s", 2 * json->depth, "");
	json->comma = true;

	if (key) {
		json__fputs_string(key, json->out);
		fputs(": ", json->out);
	}
}

void json_print__begin(struct json_print *json, const char *key, char bracket)
{
	json_print__key(json, key);
	fputc(bracket, json->out);
	json->depth++;
	json->comma = false;
}

void json_print__end(struct json_print *json, char bracket)
{
	json->depth--;
	/* Print an empty object or array as {} or []. */
	if (json->comma)
		fprintf(json->out, "\n%*s", 2 * json->depth, "");
	fputc(bracket, json->out);
	if (!json->depth)
		fputc('\n', json->out);
	json->comma = true;
}

void json_print__string(struct json_print *json, const char *key, const char *value)
{
	if (!value) {
		json_print__null(json, key);
		return;
	}

	json_print__key(json, key);
	json__fputs_string(value, json->out);
}

void json_print__u64(struct json_print *json, const char *key, u64 value)
{
	json_print__key(json, key);
	fprintf(json->out, "%" PRIu64, value);
}

void json_print__bool(struct json_print *json, const char *key, bool value)
{
	json_print__key(json, key);
	fputs(value ? "true" : "false", json->out);
}

void json_print__null(struct json_print *json, const char *key)
{
	json_print__key(json, key);
	fputs("null", json->out);
}
