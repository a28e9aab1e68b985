/* SPDX-License-Identifier: MIT */
/* Writes one JSON document onto a buffered sink. Wrong use (a value without a key, an end without a
 * begin) is a bug of the caller and asserted. A sink that fails is remembered: writing goes on
 * harmlessly and ul_json_finish reports it. Text is written as valid UTF-8 whatever it holds:
 * control characters are escaped, bytes that are not UTF-8 become U+FFFD. */
#ifndef UL_BASE_JSON_WRITER_H
#define UL_BASE_JSON_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include "ullage/error.h"
#include "ullage/report.h"

enum { UL_JSON_DEPTH = 32, UL_JSON_BUFFER = 4096 };

typedef struct ul_json {
  ul_write *write;
  void *arg;
  int failed;
  int indent; /* spaces per level; 0: one line */
  unsigned depth;
  unsigned char is_object[UL_JSON_DEPTH];
  unsigned char has_items[UL_JSON_DEPTH];
  int after_key;
  size_t used;
  char buffer[UL_JSON_BUFFER];
} ul_json;

void ul_json_init(ul_json *json, ul_write *write, void *arg, int indent);
void ul_json_begin_object(ul_json *json);
void ul_json_end_object(ul_json *json);
void ul_json_begin_array(ul_json *json);
void ul_json_end_array(ul_json *json);
void ul_json_key(ul_json *json, const char *key);
void ul_json_string(ul_json *json, const char *text); /* NULL: null */
void ul_json_u64(ul_json *json, uint64_t value);
void ul_json_i64(ul_json *json, int64_t value);
void ul_json_bool(ul_json *json, int value);
void ul_json_double(ul_json *json, double value); /* not finite: null */
void ul_json_null(ul_json *json);
void ul_json_hex(ul_json *json, uint64_t value); /* "0x7f..." */

/* A newline, the flush, and whether everything was taken. */
ul_status ul_json_finish(ul_json *json, ul_error *err);

#endif
