/* SPDX-License-Identifier: MIT */
/* Pickle opcodes whose operand is a line of text: protocol 0. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "parsers/pickle_machine.h"

/* --- numbers --- */

/* Decimal text, signed; past 64 bits it stays at the nearest. Returns 0 if it is no number. */
static int parse_integer(const char *text, size_t size, uint64_t *magnitude, int *negative) {
  size_t i = 0;
  unsigned digit;

  *magnitude = 0;
  *negative = size && text[0] == '-';
  if (size && (text[0] == '-' || text[0] == '+'))
    i++;
  if (i == size)
    return 0;
  for (; i < size; i++) {
    if (text[i] < '0' || text[i] > '9')
      return 0;
    digit = (unsigned)(text[i] - '0');
    if (*magnitude > (UINT64_MAX - digit) / 10)
      *magnitude = UINT64_MAX;
    else
      *magnitude = *magnitude * 10 + digit;
  }
  return 1;
}

static const uint8_t *push_integer(ul_pickle *p, const uint8_t *at, size_t size, size_t used) {
  uint64_t magnitude;
  int negative;
  ul_status status;

  if (!parse_integer((const char *)at, used, &magnitude, &negative))
    return ul_pickle_fail(p, UL_E_MALFORMED, "has a line that is no integer");
  if (!negative)
    status = ul_heap_push_u64(p->heap, magnitude, p->err);
  else if (magnitude > (uint64_t)INT64_MAX)
    status = ul_heap_push_i64(p->heap, INT64_MIN, p->err);
  else
    status = ul_heap_push_i64(p->heap, -(int64_t)magnitude, p->err);
  return ul_pickle_then(p, status, at + size + 1);
}

const uint8_t *ul_pickle_op_int(ul_pickle *p, const uint8_t *at) {
  size_t size;

  at = ul_pickle_line(p, at, &size);
  if (!at)
    return NULL;
  /* Two spellings of the time before NEWTRUE. */
  if (size == 2 && memcmp(at, "01", 2) == 0)
    return ul_pickle_then(p, ul_heap_push(p->heap, UL_VALUE_TRUE, p->err), at + size + 1);
  if (size == 2 && memcmp(at, "00", 2) == 0)
    return ul_pickle_then(p, ul_heap_push(p->heap, UL_VALUE_FALSE, p->err), at + size + 1);
  return push_integer(p, at, size, size);
}

const uint8_t *ul_pickle_op_long(ul_pickle *p, const uint8_t *at) {
  size_t size;

  at = ul_pickle_line(p, at, &size);
  if (!at)
    return NULL;
  return push_integer(p, at, size, size && at[size - 1] == 'L' ? size - 1 : size);
}

const uint8_t *ul_pickle_op_float(ul_pickle *p, const uint8_t *at) {
  char text[64], *end;
  size_t size;
  double value;

  at = ul_pickle_line(p, at, &size);
  if (!at)
    return NULL;
  if (!size || size >= sizeof(text))
    return ul_pickle_fail(p, UL_E_MALFORMED, "has a line that is no number");
  memcpy(text, at, size);
  text[size] = '\0';
  value = strtod(text, &end);
  if (end != text + size)
    return ul_pickle_fail(p, UL_E_MALFORMED, "has a line that is no number");
  return ul_pickle_then(p, ul_heap_push_double(p->heap, value, p->err), at + size + 1);
}

/* --- strings --- */

static int hex_digit(uint8_t c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  if (c >= 'A' && c <= 'F')
    return c - 'A' + 10;
  return -1;
}

/* Reads `digits` hexadecimal digits at `at`, all before end. Returns 0 if they are not there. */
static int parse_hex(const uint8_t *at, const uint8_t *end, int digits, uint32_t *value) {
  int i, digit;

  if (end - at < digits)
    return 0;
  for (*value = 0, i = 0; i < digits; i++) {
    digit = hex_digit(at[i]);
    if (digit < 0)
      return 0;
    *value = *value << 4 | (uint32_t)digit;
  }
  return 1;
}

/* Appends a code point as UTF-8; scratch has room. */
static void put_utf8(ul_pickle *p, uint32_t code) {
  char *to = p->scratch.items + p->scratch.count;

  if (code < 0x80) {
    *to++ = (char)code;
  } else if (code < 0x800) {
    *to++ = (char)(0xc0 | code >> 6);
    *to++ = (char)(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    *to++ = (char)(0xe0 | code >> 12);
    *to++ = (char)(0x80 | (code >> 6 & 0x3f));
    *to++ = (char)(0x80 | (code & 0x3f));
  } else {
    *to++ = (char)(0xf0 | (code >> 18 & 7));
    *to++ = (char)(0x80 | (code >> 12 & 0x3f));
    *to++ = (char)(0x80 | (code >> 6 & 0x3f));
    *to++ = (char)(0x80 | (code & 0x3f));
  }
  p->scratch.count = (size_t)(to - p->scratch.items);
}

/* One backslash escape of Python 2's repr. Returns what follows, or NULL. */
static const uint8_t *put_escape(ul_pickle *p, const uint8_t *at, const uint8_t *end) {
  static const char from[] = "\\'\"abfnrtv", to[] = "\\'\"\a\b\f\n\r\t\v";
  const char *known = *at ? strchr(from, *at) : NULL;
  uint32_t value = 0;
  int digits;

  if (known) {
    put_utf8(p, (uint8_t)to[known - from]);
    return at + 1;
  }
  if (*at == 'x') {
    if (!parse_hex(at + 1, end, 2, &value))
      return NULL;
    p->scratch.items[p->scratch.count++] = (char)value;
    return at + 3;
  }
  for (digits = 0; digits < 3 && at < end && *at >= '0' && *at <= '7'; digits++)
    value = value << 3 | (uint32_t)(*at++ - '0');
  if (!digits)
    return NULL;
  p->scratch.items[p->scratch.count++] = (char)value;
  return at;
}

static const uint8_t *push_scratch(ul_pickle *p, const uint8_t *next) {
  return ul_pickle_then(p,
                        ul_heap_push_string(p->heap, p->scratch.count ? p->scratch.items : "",
                                            p->scratch.count, p->err),
                        next);
}

const uint8_t *ul_pickle_op_string(ul_pickle *p, const uint8_t *at) {
  const uint8_t *end, *from;
  ul_status status;
  size_t size;

  at = ul_pickle_line(p, at, &size);
  if (!at)
    return NULL;
  end = at + size;
  if (size < 2 || (at[0] != '\'' && at[0] != '"') || end[-1] != at[0])
    return ul_pickle_fail(p, UL_E_MALFORMED, "has a string without its quotes");
  p->scratch.count = 0;
  status = UL_HEAP_RESERVE(p->heap, &p->scratch, size + 4, p->err);
  if (status != UL_OK)
    return ul_pickle_failed(p, status);
  for (from = at + 1, end--; from < end;) {
    if (*from != '\\') {
      p->scratch.items[p->scratch.count++] = (char)*from++;
      continue;
    }
    from = from + 1 < end ? put_escape(p, from + 1, end) : NULL;
    if (!from)
      return ul_pickle_fail(p, UL_E_MALFORMED, "has a string with a broken escape");
  }
  return push_scratch(p, at + size + 1);
}

/* raw-unicode-escape: Latin-1 bytes, and \uXXXX or \UXXXXXXXX for the rest. */
const uint8_t *ul_pickle_op_unicode(ul_pickle *p, const uint8_t *at) {
  const uint8_t *end, *from;
  uint32_t code;
  ul_status status;
  size_t size;
  int digits;

  at = ul_pickle_line(p, at, &size);
  if (!at)
    return NULL;
  end = at + size;
  p->scratch.count = 0;
  status = UL_HEAP_RESERVE(p->heap, &p->scratch, 2 * size + 4, p->err);
  if (status != UL_OK)
    return ul_pickle_failed(p, status);
  for (from = at; from < end;) {
    code = *from++;
    if (code == '\\' && from < end && (*from == 'u' || *from == 'U')) {
      digits = *from == 'u' ? 4 : 8;
      if (!parse_hex(from + 1, end, digits, &code) || code > 0x10ffff)
        return ul_pickle_fail(p, UL_E_MALFORMED, "has a string with a broken escape");
      from += 1 + digits;
    }
    put_utf8(p, code);
  }
  return push_scratch(p, at + size + 1);
}

/* --- memo --- */

const uint8_t *ul_pickle_op_get(ul_pickle *p, const uint8_t *at) {
  uint64_t index;
  int negative;
  size_t size;

  at = ul_pickle_line(p, at, &size);
  if (!at)
    return NULL;
  if (!parse_integer((const char *)at, size, &index, &negative) || negative)
    return ul_pickle_fail(p, UL_E_MALFORMED, "has a line that is no memo number");
  return ul_pickle_then(p, ul_heap_memo_get(p->heap, index, p->err), at + size + 1);
}

const uint8_t *ul_pickle_op_put(ul_pickle *p, const uint8_t *at) {
  uint64_t index;
  int negative;
  size_t size;

  at = ul_pickle_line(p, at, &size);
  if (!at || !ul_pickle_has(p, 1))
    return NULL;
  if (!parse_integer((const char *)at, size, &index, &negative) || negative)
    return ul_pickle_fail(p, UL_E_MALFORMED, "has a line that is no memo number");
  if (index > ul_bytes_offset(p->in, p->op) + UL_PICKLE_MEMO_SLACK)
    return ul_pickle_fail(p, UL_E_MALFORMED,
                          "stores memo entry %" PRIu64 ", more than the file can have used", index);
  return ul_pickle_then(p, ul_heap_memo_set(p->heap, index, p->err), at + size + 1);
}
