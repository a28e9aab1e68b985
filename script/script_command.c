/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "script/command.h"
#include "script/header.h"
#include "ullage/event.h"

/* args: one letter an argument, a capital one may be left out.
 *   i id  b bytes  B the same, not 0  s stream  k pool  q pool or 0  n number  x address  d
 * fraction t the rest of the line */
static const struct command_row {
  const char *word, *second;
  ul_script_kind kind;
  const char *args, *name;
} rows[] = {
    {"a", NULL, UL_SCRIPT_ALLOC, "ibS", "alloc"},
    {"f", NULL, UL_SCRIPT_FREE, "i", "free"},
    {"r", NULL, UL_SCRIPT_STREAM_USE, "iS", "record_stream"},
    {"s", NULL, UL_SCRIPT_SYNC, "S", "sync"},
    {"e", NULL, UL_SCRIPT_EMPTY_CACHE, "Q", "empty_cache"},
    {"frac", NULL, UL_SCRIPT_FRACTION, "d", "fraction"},
    {"ext", NULL, UL_SCRIPT_EXTERNAL, "b", "external"},
    {"total", NULL, UL_SCRIPT_TOTAL, "c", "total"},
    {"pool", "begin", UL_SCRIPT_POOL_BEGIN, "kS", "pool_begin"},
    {"pool", "end", UL_SCRIPT_POOL_END, "kS", "pool_end"},
    {"pool", "release", UL_SCRIPT_POOL_RELEASE, "k", "pool_release"},
    {"pool", "create", UL_SCRIPT_POOL_CREATE, "k", "pool_create"},
    {"pool", "oom", UL_SCRIPT_POOL_USE_ON_OOM, "k", "pool_use_on_oom"},
    {"pool", "notoom", UL_SCRIPT_POOL_NOT_ON_OOM, "k", "pool_not_on_oom"},
    {"pool", "nosplit", UL_SCRIPT_POOL_NO_SPLIT, "k", "pool_no_split"},
    {"pool", "custom", UL_SCRIPT_POOL_CUSTOM, "k", "pool_custom"},
    {"cap", "begin", UL_SCRIPT_CAPTURE_BEGIN, "kS", "capture_begin"},
    {"cap", "end", UL_SCRIPT_CAPTURE_END, "kS", "capture_end"},
    {"cap", "release", UL_SCRIPT_POOL_RELEASE, "k", "pool_release"},
    {"ckpt", NULL, UL_SCRIPT_CHECKPOINT, "kn", "pool_checkpoint"},
    {"restore", NULL, UL_SCRIPT_RESTORE, "kn", "pool_restore"},
    {"dev", NULL, UL_SCRIPT_DEVICE, "n", "device"},
    {"conf", NULL, UL_SCRIPT_CONFIGURE, "t", "configure"},
    {"hist", "on", UL_SCRIPT_HISTORY_ON, "N", "history_on"},
    {"hist", "off", UL_SCRIPT_HISTORY_OFF, "", "history_off"},
    {"at", NULL, UL_SCRIPT_ALLOC_AT, "ibx", "alloc_at"},
    {"reset_peak", NULL, UL_SCRIPT_RESET_PEAK, "", "reset_peak"},
    {"reset_acc", NULL, UL_SCRIPT_RESET_ACCUMULATED, "", "reset_accumulated"},
    {"stats", NULL, UL_SCRIPT_SHOW_STATS, "", "stats"},
    {"snap", NULL, UL_SCRIPT_SHOW_SNAPSHOT, "", "snapshot"},
    {"trace", NULL, UL_SCRIPT_SHOW_TRACE, "", "trace"},
    {"used", NULL, UL_SCRIPT_SHOW_USED, "", "used"},
};

static const char known_words[] =
    "a, f, r, s, e, frac, ext, total, pool, cap, ckpt, restore, dev, conf, hist, at, reset_peak, "
    "reset_acc, stats, snap, trace or used";

enum { ROW_COUNT = sizeof(rows) / sizeof(rows[0]), SHOWN_BYTES = 40 };

typedef struct reader {
  const ul_script_lines *lines;
  ul_error *err;
  const char *at; /* in the line, at a word or at its end */
} reader;

static size_t word_size(const char *at) {
  return strcspn(at, " \t");
}

static void skip_word(reader *r) {
  r->at += word_size(r->at);
  r->at += strspn(r->at, " \t");
}

static ul_status unexpected(const reader *r, const char *expected) {
  size_t size = word_size(r->at);

  if (!size)
    return ul_script_fail(r->err, r->lines, UL_E_MALFORMED,
                          "expected %s, found the end of the line", expected);
  return ul_script_fail(r->err, r->lines, UL_E_MALFORMED, "expected %s, found '%.*s%s'", expected,
                        (int)(size > SHOWN_BYTES ? SHOWN_BYTES : size), r->at,
                        size > SHOWN_BYTES ? "..." : "");
}

static int is_word(const char *at, const char *word) {
  size_t size = word_size(at);
  return strlen(word) == size && memcmp(at, word, size) == 0;
}

static int digit_of(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 16;
}

/* A whole word of digits up to most. */
static ul_status read_number(reader *r, uint64_t *out, unsigned base, uint64_t most,
                             const char *expected) {
  const size_t size = word_size(r->at);
  uint64_t value = 0;
  size_t i = 0;

  if (base == 16 && size > 2 && r->at[0] == '0' && r->at[1] == 'x')
    i = 2;
  if (i == size)
    return unexpected(r, expected);
  for (; i < size; i++) {
    const unsigned digit = (unsigned)digit_of(r->at[i]);
    if (digit >= base || value > (most - digit) / base)
      return unexpected(r, expected);
    value = value * base + digit;
  }
  *out = value;
  skip_word(r);
  return UL_OK;
}

static ul_status read_fraction(reader *r, double *out) {
  char *end;
  double value;

  if (!strchr("0123456789.+-niNI", r->at[0]) || !r->at[0])
    return unexpected(r, "a fraction of the device, as 0.5");
  value = strtod(r->at, &end);
  if (end != r->at + word_size(r->at))
    return unexpected(r, "a fraction of the device, as 0.5");
  *out = value;
  skip_word(r);
  return UL_OK;
}

static ul_status read_argument(reader *r, ul_script_command *out, char letter) {
  uint64_t value = 0;

  switch (letter) {
  case 'i':
    return read_number(r, &out->id, 10, UINT64_MAX, "an id from 0 to 18446744073709551615");
  case 'b':
    return read_number(r, &out->bytes, 10, UINT64_MAX,
                       "a number of bytes up to 18446744073709551615");
  case 'c':
    if (is_word(r->at, "0"))
      return unexpected(r, "a number of bytes from 1 to 1152921504606846975");
    return read_number(r, &out->bytes, 10, UL_SCRIPT_MOST_BYTES,
                       "a number of bytes from 1 to 1152921504606846975");
  case 's':
    UL_TRY(read_number(r, &value, 10, UL_STREAM_ALL - 1, "a stream from 0 to 4294967294"));
    out->stream = (uint32_t)value;
    return UL_OK;
  case 'k':
    if (is_word(r->at, "0"))
      return unexpected(r, "a private pool from 1 to 4294967295");
    UL_TRY(read_number(r, &value, 10, UINT32_MAX, "a private pool from 1 to 4294967295"));
    out->pool = (uint32_t)value;
    return UL_OK;
  case 'q':
    UL_TRY(read_number(r, &value, 10, UINT32_MAX, "a pool from 0 to 4294967295"));
    out->pool = (uint32_t)value;
    return UL_OK;
  case 'n':
    return read_number(r, &out->number, 10, UINT64_MAX, "a number up to 18446744073709551615");
  case 'x':
    return read_number(r, &out->address, 16, UINT64_MAX, "a hexadecimal offset on the device");
  case 'd':
    return read_fraction(r, &out->fraction);
  default: /* 't' */
    out->text = r->at;
    r->at += strlen(r->at);
    return UL_OK;
  }
}

static const struct command_row *find_row(reader *r, const char **expected) {
  const struct command_row *with_second = NULL;
  const char *first = r->at;
  size_t i;

  *expected = known_words;
  for (i = 0; i < ROW_COUNT; i++) {
    if (!is_word(first, rows[i].word))
      continue;
    if (!with_second)
      skip_word(r);
    if (!rows[i].second)
      return &rows[i];
    with_second = &rows[i];
    if (is_word(r->at, rows[i].second)) {
      skip_word(r);
      return &rows[i];
    }
  }
  if (with_second)
    *expected = strcmp(with_second->word, "pool") == 0
                    ? "begin, end, release, create, oom, notoom, nosplit or custom"
                : strcmp(with_second->word, "cap") == 0 ? "begin, end or release"
                                                        : "on or off";
  return NULL;
}

ul_status ul_script_parse(ul_script_command *out, const ul_script_lines *lines, ul_error *err) {
  reader r = {lines, err, lines->text};
  const struct command_row *row;
  const char *expected, *letter;

  memset(out, 0, sizeof(*out));
  out->stream = UL_STREAM_ALL;
  out->number = UL_SCRIPT_NO_NUMBER;
  row = find_row(&r, &expected);
  if (!row)
    return unexpected(&r, expected);
  out->kind = row->kind;
  out->word = row->name;
  for (letter = row->args; *letter; letter++) {
    if (*letter >= 'A' && *letter <= 'Z') {
      if (*r.at)
        UL_TRY(read_argument(&r, out, (char)(*letter - 'A' + 'a')));
    } else {
      UL_TRY(read_argument(&r, out, *letter));
    }
  }
  return *r.at ? unexpected(&r, "the end of the line") : UL_OK;
}
