/* SPDX-License-Identifier: MIT */
#include "base/json_writer.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"

static void flush(ul_json *json) {
  if (json->used && !json->failed && json->write(json->buffer, json->used, json->arg) != 0)
    json->failed = 1;
  json->used = 0;
}

static void put(ul_json *json, const char *bytes, size_t size) {
  while (size > 0) {
    size_t room = sizeof(json->buffer) - json->used, step = size < room ? size : room;

    memcpy(json->buffer + json->used, bytes, step);
    json->used += step;
    bytes += step;
    size -= step;
    if (json->used == sizeof(json->buffer))
      flush(json);
  }
}

static void put_text(ul_json *json, const char *text) {
  put(json, text, strlen(text));
}

static void new_line(ul_json *json) {
  unsigned i;

  if (!json->indent)
    return;
  put(json, "\n", 1);
  for (i = 0; i < json->depth * (unsigned)json->indent; i++)
    put(json, " ", 1);
}

/* Comma and line break that belong before the next item of the open container. */
static void separate(ul_json *json) {
  if (!json->depth)
    return;
  if (json->has_items[json->depth - 1])
    put(json, ",", 1);
  json->has_items[json->depth - 1] = 1;
  new_line(json);
}

static void before_value(ul_json *json) {
  if (json->after_key) {
    json->after_key = 0;
    return;
  }
  assert(!json->depth || !json->is_object[json->depth - 1]);
  separate(json);
}

void ul_json_init(ul_json *json, ul_write *write, void *arg, int indent) {
  /* The buffer stays as it is: only its first `used` bytes ever mean anything. */
  json->write = write;
  json->arg = arg;
  json->failed = 0;
  json->indent = indent;
  json->depth = 0;
  json->after_key = 0;
  json->used = 0;
}

static void begin(ul_json *json, const char *bracket, int is_object) {
  before_value(json);
  assert(json->depth < UL_JSON_DEPTH);
  put(json, bracket, 1);
  json->is_object[json->depth] = (unsigned char)is_object;
  json->has_items[json->depth] = 0;
  json->depth++;
}

static void end(ul_json *json, const char *bracket, int is_object) {
  int had_items;

  assert(json->depth && json->is_object[json->depth - 1] == is_object && !json->after_key);
  (void)is_object;
  json->depth--;
  had_items = json->has_items[json->depth];
  if (had_items)
    new_line(json);
  put(json, bracket, 1);
}

void ul_json_begin_object(ul_json *json) {
  begin(json, "{", 1);
}

void ul_json_end_object(ul_json *json) {
  end(json, "}", 1);
}

void ul_json_begin_array(ul_json *json) {
  begin(json, "[", 0);
}

void ul_json_end_array(ul_json *json) {
  end(json, "]", 0);
}

static void put_escaped(ul_json *json, unsigned char byte) {
  static const char shorts[] = "\bb\ff\nn\rr\tt\"\"\\\\";
  char text[8];
  size_t i;

  for (i = 0; shorts[i]; i += 2) {
    if ((unsigned char)shorts[i] == byte) {
      text[0] = '\\';
      text[1] = shorts[i + 1];
      put(json, text, 2);
      return;
    }
  }
  snprintf(text, sizeof(text), "\\u%04x", byte);
  put_text(json, text);
}

static void put_string(ul_json *json, const char *text) {
  const unsigned char *at = (const unsigned char *)text, *plain = at;

  put(json, "\"", 1);
  while (*at) {
    size_t length = ul_utf8_length(at);
    int special = length == 1 && (*at < 0x20 || *at == '"' || *at == '\\' || *at == 0x7F);

    int c1 =
        length == 2 && at[0] == 0xC2 && at[1] < 0xA0; /* control characters of some terminals */

    if (length && !special && !c1) {
      at += length;
      continue;
    }
    put(json, (const char *)plain, (size_t)(at - plain));
    if (special || c1)
      put_escaped(json, at[c1]);
    else
      put_text(json, "\xEF\xBF\xBD");
    at += c1 ? 2 : 1;
    plain = at;
  }
  put(json, (const char *)plain, (size_t)(at - plain));
  put(json, "\"", 1);
}

void ul_json_key(ul_json *json, const char *key) {
  assert(json->depth && json->is_object[json->depth - 1] && !json->after_key);
  separate(json);
  put_string(json, key);
  put_text(json, json->indent ? ": " : ":");
  json->after_key = 1;
}

void ul_json_string(ul_json *json, const char *text) {
  before_value(json);
  if (text)
    put_string(json, text);
  else
    put_text(json, "null");
}

void ul_json_u64(ul_json *json, uint64_t value) {
  char text[24];

  before_value(json);
  snprintf(text, sizeof(text), "%" PRIu64, value);
  put_text(json, text);
}

void ul_json_i64(ul_json *json, int64_t value) {
  char text[24];

  before_value(json);
  snprintf(text, sizeof(text), "%" PRId64, value);
  put_text(json, text);
}

void ul_json_bool(ul_json *json, int value) {
  before_value(json);
  put_text(json, value ? "true" : "false");
}

void ul_json_double(ul_json *json, double value) {
  char text[40], *comma;

  if (!isfinite(value)) {
    ul_json_null(json);
    return;
  }
  before_value(json);
  snprintf(text, sizeof(text), "%.17g", value);
  /* The caller's program may have chosen a locale with a decimal comma. */
  comma = strchr(text, ',');
  if (comma)
    *comma = '.';
  put_text(json, text);
}

void ul_json_null(ul_json *json) {
  before_value(json);
  put_text(json, "null");
}

void ul_json_hex(ul_json *json, uint64_t value) {
  char text[24];

  before_value(json);
  snprintf(text, sizeof(text), "\"0x%" PRIx64 "\"", value);
  put_text(json, text);
}

ul_status ul_json_finish(ul_json *json, ul_error *err) {
  assert(!json->depth && !json->after_key);
  put(json, "\n", 1);
  flush(json);
  if (json->failed)
    return ul_fail(err, UL_E_OUTPUT, 0, "the output could not be written");
  return UL_OK;
}
