/* SPDX-License-Identifier: MIT */
#include "parsers/pickle_reader.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "parsers/pickle_machine.h"

enum {
  PROTO = 0x80,
  NEWEST_PROTOCOL = 5,
  /* Entries of the memo are numbered from 0 up, one per value: a number far beyond the bytes read
   * is a trap. */
  MEMO_SLACK = 1024,
};

/* --- failing --- */

static uint64_t op_offset(const ul_pickle *p) {
  return ul_bytes_offset(p->in, p->op);
}

const uint8_t *ul_pickle_fail(ul_pickle *p, ul_status status, const char *format, ...) {
  char what[UL_ERROR_MESSAGE_BYTES];
  va_list args;

  va_start(args, format);
  vsnprintf(what, sizeof(what), format, args);
  va_end(args);
  p->status = ul_fail(p->err, status, op_offset(p), "pickle opcode %s at byte %" PRIu64 " %s",
                      ul_pickle_op_name(*p->op), op_offset(p), what);
  return NULL;
}

const uint8_t *ul_pickle_failed(ul_pickle *p, ul_status status) {
  char what[UL_ERROR_MESSAGE_BYTES];

  p->status = status;
  if (!p->err || p->err->offset || status == UL_E_STATE || status == UL_E_NOMEM)
    return NULL;
  p->err->offset = op_offset(p);
  memcpy(what, p->err->message, sizeof(what));
  snprintf(p->err->message, sizeof(p->err->message), "%.*s (pickle opcode %s at byte %" PRIu64 ")",
           UL_ERROR_MESSAGE_BYTES - 80, what, ul_pickle_op_name(*p->op), op_offset(p));
  return NULL;
}

static const uint8_t *cut_short(ul_pickle *p) {
  uint64_t size = ul_bytes_offset(p->in, p->in->end);

  if (p->op == p->in->end)
    p->status = ul_fail(p->err, UL_E_MALFORMED, size,
                        "the pickle ends after %" PRIu64 " bytes without its STOP opcode: the file "
                        "is cut short",
                        size);
  else
    p->status = ul_fail(p->err, UL_E_MALFORMED, size,
                        "the pickle ends after %" PRIu64 " bytes, inside opcode %s at byte %" PRIu64
                        ": the file is cut short",
                        size, ul_pickle_op_name(*p->op), op_offset(p));
  return NULL;
}

int ul_pickle_has(ul_pickle *p, size_t count) {
  if (ul_heap_above(p->heap) >= count)
    return 1;
  ul_pickle_fail(p, UL_E_MALFORMED, "needs %zu value%s on the stack, found %zu", count,
                 count == 1 ? "" : "s", ul_heap_above(p->heap));
  return 0;
}

/* --- bytes --- */

static int refill(ul_pickle *p, size_t count) {
  p->in->at = p->op;
  p->status = ul_bytes_need(p->in, count, p->err);
  p->op = p->in->at;
  if (p->status == UL_OK)
    p->status = ul_heap_set_read(p->heap, ul_bytes_offset(p->in, p->in->end), p->err);
  return p->status == UL_OK;
}

const uint8_t *ul_pickle_need(ul_pickle *p, const uint8_t *at, size_t count) {
  size_t before = (size_t)(at - p->op);

  if (p->in->end >= at && (size_t)(p->in->end - at) >= count)
    return at;
  if (count > UL_BYTES_LONGEST - before)
    return ul_pickle_fail(p, UL_E_LIMIT, "has a value of %zu bytes; at most %d are read", count,
                          UL_BYTES_LONGEST - 32);
  if (!refill(p, before + count))
    return NULL;
  if ((size_t)(p->in->end - p->op) < before + count)
    return cut_short(p);
  return p->op + before;
}

const uint8_t *ul_pickle_line(ul_pickle *p, const uint8_t *at, size_t *size) {
  size_t before = (size_t)(at - p->op), have = 64, searched = 0;
  const uint8_t *newline;

  for (;;) {
    if (!refill(p, before + have))
      return NULL;
    at = p->op + before;
    if (p->in->end < at)
      return cut_short(p);
    have = (size_t)(p->in->end - at);
    newline = memchr(at + searched, '\n', have - searched);
    if (newline)
      break;
    if (p->in->at_eof)
      return cut_short(p);
    searched = have;
    if (have > UL_BYTES_LONGEST / 2 - before)
      return ul_pickle_fail(p, UL_E_LIMIT, "has a line of more than %d bytes",
                            UL_BYTES_LONGEST / 2);
    have *= 2;
  }
  *size = (size_t)(newline - at);
  return at;
}

/* Little-endian whatever the machine; compilers make one load of each. */
static inline uint32_t le16(const uint8_t *at) {
  return (uint32_t)at[0] | (uint32_t)at[1] << 8;
}

static inline uint32_t le32(const uint8_t *at) {
  return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static inline uint64_t le64(const uint8_t *at) {
  return (uint64_t)at[0] | (uint64_t)at[1] << 8 | (uint64_t)at[2] << 16 | (uint64_t)at[3] << 24 |
         (uint64_t)at[4] << 32 | (uint64_t)at[5] << 40 | (uint64_t)at[6] << 48 |
         (uint64_t)at[7] << 56;
}

/* Ends an opcode that used the heap. */
static const uint8_t *then(ul_pickle *p, ul_status status, const uint8_t *next) {
  return status == UL_OK ? next : ul_pickle_failed(p, status);
}

/* --- frame of the document --- */

static const uint8_t *op_proto(ul_pickle *p, const uint8_t *at) {
  p->protocol = *at;
  if (*at > NEWEST_PROTOCOL)
    return ul_pickle_fail(p, UL_E_FORMAT, "says protocol %u; this program reads 0 to %d", *at,
                          NEWEST_PROTOCOL);
  return at + 1;
}

static const uint8_t *op_frame(ul_pickle *p, const uint8_t *at) {
  (void)p;
  return at + 8; /* a hint of how much to read ahead */
}

static const uint8_t *op_stop(ul_pickle *p, const uint8_t *at) {
  if (!ul_pickle_has(p, 1))
    return NULL;
  p->in->at = at;
  p->status = UL_OK;
  return NULL;
}

/* --- constants and numbers --- */

static const uint8_t *op_none(ul_pickle *p, const uint8_t *at) {
  return then(p, ul_heap_push(p->heap, UL_VALUE_NONE, p->err), at);
}

static const uint8_t *op_true(ul_pickle *p, const uint8_t *at) {
  return then(p, ul_heap_push(p->heap, UL_VALUE_TRUE, p->err), at);
}

static const uint8_t *op_false(ul_pickle *p, const uint8_t *at) {
  return then(p, ul_heap_push(p->heap, UL_VALUE_FALSE, p->err), at);
}

static const uint8_t *op_binint1(ul_pickle *p, const uint8_t *at) {
  return then(p, ul_heap_push(p->heap, UL_VALUE(UL_TAG_INT, *at), p->err), at + 1);
}

static const uint8_t *op_binint2(ul_pickle *p, const uint8_t *at) {
  return then(p, ul_heap_push(p->heap, UL_VALUE(UL_TAG_INT, le16(at)), p->err), at + 2);
}

static const uint8_t *op_binint(ul_pickle *p, const uint8_t *at) {
  int64_t value = (int32_t)le32(at);
  return then(p, ul_heap_push(p->heap, UL_VALUE(UL_TAG_INT, (uint64_t)value), p->err), at + 4);
}

/* Two's complement, little-endian, any length; what does not fit 64 bits stays at the nearest. */
static ul_status push_long(ul_pickle *p, const uint8_t *bytes, size_t size) {
  uint64_t value = 0;
  int negative = size && (bytes[size - 1] & 0x80);
  size_t i;

  for (i = 0; i < size; i++) {
    if (i < 8)
      value |= (uint64_t)bytes[i] << (8 * i);
    else if (bytes[i] != (negative ? 0xff : 0))
      return negative ? ul_heap_push_i64(p->heap, INT64_MIN, p->err)
                      : ul_heap_push_u64(p->heap, UINT64_MAX, p->err);
  }
  if (!negative)
    return ul_heap_push_u64(p->heap, value, p->err);
  if (size < 8)
    value |= UINT64_MAX << (8 * size);
  if (!(value >> 63)) /* more than 8 bytes, and below -2^63 */
    return ul_heap_push_i64(p->heap, INT64_MIN, p->err);
  return ul_heap_push_i64(p->heap, (int64_t)value, p->err);
}

static const uint8_t *op_long1(ul_pickle *p, const uint8_t *at) {
  size_t size = *at;

  at = ul_pickle_need(p, at, 1 + size);
  if (!at)
    return NULL;
  return then(p, push_long(p, at + 1, size), at + 1 + size);
}

static const uint8_t *op_long4(ul_pickle *p, const uint8_t *at) {
  uint32_t size;

  at = ul_pickle_need(p, at, 4);
  if (!at)
    return NULL;
  size = le32(at);
  if (size > INT32_MAX)
    return ul_pickle_fail(p, UL_E_MALFORMED, "has a negative length");
  at = ul_pickle_need(p, at, 4 + (size_t)size);
  if (!at)
    return NULL;
  return then(p, push_long(p, at + 4, size), at + 4 + size);
}

static const uint8_t *op_binfloat(ul_pickle *p, const uint8_t *at) {
  uint64_t bits = 0;
  double value;
  int i;

  for (i = 0; i < 8; i++)
    bits = bits << 8 | at[i];
  memcpy(&value, &bits, sizeof(value));
  return then(p, ul_heap_push_double(p->heap, value, p->err), at + 8);
}

/* --- strings and bytes --- */

static const uint8_t *push_text(ul_pickle *p, const uint8_t *at, unsigned prefix, uint64_t size) {
  if (size > UL_BYTES_LONGEST)
    return ul_pickle_fail(p, UL_E_LIMIT, "has a string of %" PRIu64 " bytes; at most %d are read",
                          size, UL_BYTES_LONGEST - 32);
  at = ul_pickle_need(p, at, prefix + (size_t)size);
  if (!at)
    return NULL;
  return then(p, ul_heap_push_string(p->heap, (const char *)at + prefix, (size_t)size, p->err),
              at + prefix + size);
}

static const uint8_t *op_text1(ul_pickle *p, const uint8_t *at) {
  return push_text(p, at, 1, *at);
}

static const uint8_t *op_text4(ul_pickle *p, const uint8_t *at) {
  at = ul_pickle_need(p, at, 4);
  return at ? push_text(p, at, 4, le32(at)) : NULL;
}

static const uint8_t *op_text8(ul_pickle *p, const uint8_t *at) {
  at = ul_pickle_need(p, at, 8);
  return at ? push_text(p, at, 8, le64(at)) : NULL;
}

/* Bytes have no place in a recording: skipped, in pieces. */
static const uint8_t *skip_bytes(ul_pickle *p, const uint8_t *at, uint64_t size) {
  uint64_t left = size;
  size_t here;
  uint8_t name = *p->op;

  while (left) {
    here = at < p->in->end ? (size_t)(p->in->end - at) : 0;
    if (here > left)
      here = (size_t)left;
    left -= here;
    at += here;
    if (left) {
      p->in->at = at;
      p->status = ul_bytes_need(p->in, 1, p->err);
      if (p->status != UL_OK)
        return NULL;
      at = p->op = p->in->at;
      if (at == p->in->end) {
        p->status = ul_fail(p->err, UL_E_MALFORMED, ul_bytes_offset(p->in, at),
                            "the pickle ends after %" PRIu64 " bytes, inside opcode %s: the file "
                            "is cut short",
                            ul_bytes_offset(p->in, at), ul_pickle_op_name(name));
        return NULL;
      }
    }
  }
  return then(p, ul_heap_push(p->heap, UL_VALUE(UL_TAG_BYTES, size & (UINT64_MAX >> 4)), p->err),
              at);
}

static const uint8_t *op_bytes1(ul_pickle *p, const uint8_t *at) {
  at = ul_pickle_need(p, at, 1);
  return at ? skip_bytes(p, at + 1, *at) : NULL;
}

static const uint8_t *op_bytes4(ul_pickle *p, const uint8_t *at) {
  at = ul_pickle_need(p, at, 4);
  return at ? skip_bytes(p, at + 4, le32(at)) : NULL;
}

static const uint8_t *op_bytes8(ul_pickle *p, const uint8_t *at) {
  at = ul_pickle_need(p, at, 8);
  return at ? skip_bytes(p, at + 8, le64(at)) : NULL;
}

/* --- stack --- */

static const uint8_t *op_mark(ul_pickle *p, const uint8_t *at) {
  return then(p, ul_heap_mark(p->heap, p->err), at);
}

static const uint8_t *op_pop(ul_pickle *p, const uint8_t *at) {
  size_t base;

  if (ul_heap_above(p->heap))
    ul_heap_drop(p->heap, p->heap->stack.count - 1);
  else if (!ul_heap_unmark(p->heap, &base)) /* Python's POP takes a bare mark as well */
    return ul_pickle_fail(p, UL_E_MALFORMED, "finds an empty stack");
  return at;
}

static int unmark(ul_pickle *p, size_t *base) {
  if (ul_heap_unmark(p->heap, base))
    return 1;
  ul_pickle_fail(p, UL_E_MALFORMED, "needs a MARK before it, found none");
  return 0;
}

static const uint8_t *op_pop_mark(ul_pickle *p, const uint8_t *at) {
  size_t base;

  if (!unmark(p, &base))
    return NULL;
  ul_heap_drop(p->heap, base);
  return at;
}

static const uint8_t *op_dup(ul_pickle *p, const uint8_t *at) {
  if (!ul_pickle_has(p, 1))
    return NULL;
  return then(p, ul_heap_duplicate(p->heap, p->err), at);
}

/* --- containers --- */

static const uint8_t *op_empty_dict(ul_pickle *p, const uint8_t *at) {
  return then(p, ul_heap_push_object(p->heap, UL_OBJECT_DICT, p->err), at);
}

static const uint8_t *op_empty_list(ul_pickle *p, const uint8_t *at) {
  return then(p, ul_heap_push_object(p->heap, UL_OBJECT_LIST, p->err), at);
}

static const uint8_t *op_empty_tuple(ul_pickle *p, const uint8_t *at) {
  return then(p, ul_heap_push_object(p->heap, UL_OBJECT_TUPLE, p->err), at);
}

static const uint8_t *op_empty_set(ul_pickle *p, const uint8_t *at) {
  return then(p, ul_heap_push_object(p->heap, UL_OBJECT_SET, p->err), at);
}

static const uint8_t *collapse_top(ul_pickle *p, const uint8_t *at, size_t count) {
  if (!ul_pickle_has(p, count))
    return NULL;
  return then(p, ul_heap_collapse(p->heap, p->heap->stack.count - count, UL_OBJECT_TUPLE, p->err),
              at);
}

static const uint8_t *op_tuple1(ul_pickle *p, const uint8_t *at) {
  return collapse_top(p, at, 1);
}

static const uint8_t *op_tuple2(ul_pickle *p, const uint8_t *at) {
  return collapse_top(p, at, 2);
}

static const uint8_t *op_tuple3(ul_pickle *p, const uint8_t *at) {
  return collapse_top(p, at, 3);
}

static const uint8_t *collapse_mark(ul_pickle *p, const uint8_t *at, enum ul_object_kind kind) {
  size_t base;

  if (!unmark(p, &base))
    return NULL;
  return then(p, ul_heap_collapse(p->heap, base, kind, p->err), at);
}

static const uint8_t *op_tuple(ul_pickle *p, const uint8_t *at) {
  return collapse_mark(p, at, UL_OBJECT_TUPLE);
}

static const uint8_t *op_list(ul_pickle *p, const uint8_t *at) {
  return collapse_mark(p, at, UL_OBJECT_LIST);
}

static const uint8_t *op_dict(ul_pickle *p, const uint8_t *at) {
  return collapse_mark(p, at, UL_OBJECT_DICT);
}

static const uint8_t *op_frozenset(ul_pickle *p, const uint8_t *at) {
  return collapse_mark(p, at, UL_OBJECT_SET);
}

static const uint8_t *op_append(ul_pickle *p, const uint8_t *at) {
  if (!ul_pickle_has(p, 2))
    return NULL;
  return then(p, ul_heap_append(p->heap, p->heap->stack.count - 1, p->err), at);
}

static int unmark_container(ul_pickle *p, size_t *base) {
  if (!unmark(p, base))
    return 0;
  if (*base > p->heap->fence)
    return 1;
  ul_pickle_fail(p, UL_E_MALFORMED, "finds nothing below its MARK");
  return 0;
}

static const uint8_t *op_appends(ul_pickle *p, const uint8_t *at) {
  size_t base;

  if (!unmark_container(p, &base))
    return NULL;
  return then(p, ul_heap_append(p->heap, base, p->err), at);
}

static const uint8_t *op_setitem(ul_pickle *p, const uint8_t *at) {
  if (!ul_pickle_has(p, 3))
    return NULL;
  return then(p, ul_heap_set_items(p->heap, p->heap->stack.count - 2, 0, p->err), at);
}

static const uint8_t *op_setitems(ul_pickle *p, const uint8_t *at) {
  size_t base;

  if (!unmark_container(p, &base))
    return NULL;
  return then(p, ul_heap_set_items(p->heap, base, 1, p->err), at);
}

/* --- memo --- */

static const uint8_t *memo_put(ul_pickle *p, const uint8_t *at, uint64_t index) {
  if (!ul_pickle_has(p, 1))
    return NULL;
  if (index > op_offset(p) + MEMO_SLACK)
    return ul_pickle_fail(p, UL_E_MALFORMED,
                          "stores memo entry %" PRIu64 ", more than the file can have used", index);
  return then(p, ul_heap_memo_set(p->heap, index, p->err), at);
}

static const uint8_t *op_memoize(ul_pickle *p, const uint8_t *at) {
  if (!ul_pickle_has(p, 1))
    return NULL;
  /* Python numbers by the size of its memo. */
  return then(p, ul_heap_memo_set(p->heap, p->next_memo++, p->err), at);
}

static const uint8_t *op_binput(ul_pickle *p, const uint8_t *at) {
  return memo_put(p, at + 1, *at);
}

static const uint8_t *op_long_binput(ul_pickle *p, const uint8_t *at) {
  return memo_put(p, at + 4, le32(at));
}

static const uint8_t *op_binget(ul_pickle *p, const uint8_t *at) {
  return then(p, ul_heap_memo_get(p->heap, *at, p->err), at + 1);
}

static const uint8_t *op_long_binget(ul_pickle *p, const uint8_t *at) {
  return then(p, ul_heap_memo_get(p->heap, le32(at), p->err), at + 4);
}

/* --- the machine --- */

/* `operand`: how many bytes the function reads without asking for them. */
static const struct {
  const char *name;
  ul_pickle_op *run;
  uint8_t operand;
} ops[256] = {
    ['('] = {"MARK", op_mark},
    ['.'] = {"STOP", op_stop},
    ['0'] = {"POP", op_pop},
    ['1'] = {"POP_MARK", op_pop_mark},
    ['2'] = {"DUP", op_dup},
    ['F'] = {"FLOAT", ul_pickle_op_float},
    ['I'] = {"INT", ul_pickle_op_int},
    ['J'] = {"BININT", op_binint, 4},
    ['K'] = {"BININT1", op_binint1, 1},
    ['L'] = {"LONG", ul_pickle_op_long},
    ['M'] = {"BININT2", op_binint2, 2},
    ['N'] = {"NONE", op_none},
    ['P'] = {"PERSID", ul_pickle_refuse_persid},
    ['Q'] = {"BINPERSID", ul_pickle_refuse},
    ['R'] = {"REDUCE", ul_pickle_refuse},
    ['S'] = {"STRING", ul_pickle_op_string},
    ['T'] = {"BINSTRING", op_text4},
    ['U'] = {"SHORT_BINSTRING", op_text1, 1},
    ['V'] = {"UNICODE", ul_pickle_op_unicode},
    ['X'] = {"BINUNICODE", op_text4},
    ['a'] = {"APPEND", op_append},
    ['b'] = {"BUILD", ul_pickle_refuse},
    ['c'] = {"GLOBAL", ul_pickle_refuse_global},
    ['d'] = {"DICT", op_dict},
    ['}'] = {"EMPTY_DICT", op_empty_dict},
    ['e'] = {"APPENDS", op_appends},
    ['g'] = {"GET", ul_pickle_op_get},
    ['h'] = {"BINGET", op_binget, 1},
    ['i'] = {"INST", ul_pickle_refuse_global},
    ['j'] = {"LONG_BINGET", op_long_binget, 4},
    ['l'] = {"LIST", op_list},
    [']'] = {"EMPTY_LIST", op_empty_list},
    ['o'] = {"OBJ", ul_pickle_refuse},
    ['p'] = {"PUT", ul_pickle_op_put},
    ['q'] = {"BINPUT", op_binput, 1},
    ['r'] = {"LONG_BINPUT", op_long_binput, 4},
    ['s'] = {"SETITEM", op_setitem},
    ['t'] = {"TUPLE", op_tuple},
    [')'] = {"EMPTY_TUPLE", op_empty_tuple},
    ['u'] = {"SETITEMS", op_setitems},
    ['G'] = {"BINFLOAT", op_binfloat, 8},
    ['B'] = {"BINBYTES", op_bytes4},
    ['C'] = {"SHORT_BINBYTES", op_bytes1},
    [PROTO] = {"PROTO", op_proto, 1},
    [0x81] = {"NEWOBJ", ul_pickle_refuse},
    [0x82] = {"EXT1", ul_pickle_refuse},
    [0x83] = {"EXT2", ul_pickle_refuse},
    [0x84] = {"EXT4", ul_pickle_refuse},
    [0x85] = {"TUPLE1", op_tuple1},
    [0x86] = {"TUPLE2", op_tuple2},
    [0x87] = {"TUPLE3", op_tuple3},
    [0x88] = {"NEWTRUE", op_true},
    [0x89] = {"NEWFALSE", op_false},
    [0x8a] = {"LONG1", op_long1, 1},
    [0x8b] = {"LONG4", op_long4},
    [0x8c] = {"SHORT_BINUNICODE", op_text1, 1},
    [0x8d] = {"BINUNICODE8", op_text8},
    [0x8e] = {"BINBYTES8", op_bytes8},
    [0x8f] = {"EMPTY_SET", op_empty_set},
    [0x90] = {"ADDITEMS", op_appends},
    [0x91] = {"FROZENSET", op_frozenset},
    [0x92] = {"NEWOBJ_EX", ul_pickle_refuse},
    [0x93] = {"STACK_GLOBAL", ul_pickle_refuse_stack_global},
    [0x94] = {"MEMOIZE", op_memoize},
    [0x95] = {"FRAME", op_frame, 8},
    [0x96] = {"BYTEARRAY8", op_bytes8},
    [0x97] = {"NEXT_BUFFER", ul_pickle_refuse},
    [0x98] = {"READONLY_BUFFER", ul_pickle_refuse},
};

const char *ul_pickle_op_name(uint8_t op) {
  return ops[op].name ? ops[op].name : "unknown";
}

static const uint8_t *unknown_opcode(ul_pickle *p) {
  p->status =
      ul_fail(p->err, UL_E_MALFORMED, op_offset(p),
              "byte %" PRIu64 " is 0x%02x, which is no pickle opcode", op_offset(p), *p->op);
  return NULL;
}

/* Memo entries that are the value itself, and no container that a second mention would pin. */
static const uint8_t is_plain_memo[16] = {
    [UL_TAG_INT] = 1,        [UL_TAG_STRING] = 1,     [UL_TAG_PAIR] = 1,
    [UL_TAG_RECORD] = 1,     [UL_TAG_RECORD + 1] = 1, [UL_TAG_RECORD + 2] = 1,
    [UL_TAG_RECORD + 3] = 1, [UL_TAG_RECORD + 4] = 1, [UL_TAG_RECORD + 5] = 1,
    [UL_TAG_RECORD + 6] = 1,
};

/* Four of five opcodes of a recording push something known: done here without a call each, while
 * nothing unusual happens. Whatever is unusual is left to the opcode's own function. */
static const uint8_t *push_run(ul_pickle *p, const uint8_t *at) {
  ul_heap *heap = p->heap;
  ul_value *top = heap->stack.items + heap->stack.count;
  const ul_value *full = heap->stack.items + heap->stack.capacity;
  const uint32_t *memo = heap->memo.items;
  const uint8_t *last = p->in->end - UL_BYTES_PADDING;
  size_t memo_count = heap->memo.count;
  uint64_t value;

  while (at <= last && top < full) {
    switch (*at) {
    case 'h':
      if (at[1] >= memo_count || !is_plain_memo[memo[at[1]] & 15])
        goto done;
      *top++ = memo[at[1]];
      at += 2;
      break;
    case 'j': /* frames of a stack follow each other */
      do {
        value = le32(at + 1);
        if (value >= memo_count || !is_plain_memo[memo[value] & 15])
          goto done;
        *top++ = memo[value];
        at += 5;
      } while (*at == 'j' && at <= last && top < full);
      break;
    case 'K':
      *top++ = UL_VALUE(UL_TAG_INT, at[1]);
      at += 2;
      break;
    case 'M':
      *top++ = UL_VALUE(UL_TAG_INT, le16(at + 1));
      at += 3;
      break;
    case 'J':
      *top++ = UL_VALUE(UL_TAG_INT, (uint64_t)(int64_t)(int32_t)le32(at + 1));
      at += 5;
      break;
    case 0x8a: /* LONG1: an address or a time */
      if (at[1] < 4 || at[1] > 7 || at[1 + at[1]] & 0x80)
        goto done;
      value = le64(at + 2) & (UINT64_MAX >> (64 - 8 * at[1]));
      *top++ = UL_VALUE(UL_TAG_INT, value);
      at += 2 + at[1];
      break;
    default:
      goto done;
    }
  }
done:
  heap->stack.count = (size_t)(top - heap->stack.items);
  return at;
}

static ul_status run(ul_pickle *p) {
  const uint8_t *at = p->in->at;

  for (;;) {
    if (p->in->end - at >= UL_BYTES_PADDING)
      at = push_run(p, at);
    p->op = at;
    if (p->in->end - at < UL_BYTES_PADDING) {
      if (!refill(p, UL_BYTES_PADDING))
        return p->status;
      /* What lies behind the end may be read, but means nothing. */
      if (p->op == p->in->end || p->in->end - p->op <= ops[*p->op].operand) {
        cut_short(p);
        return p->status;
      }
    }
    at = ops[*p->op].run ? ops[*p->op].run(p, p->op + 1) : unknown_opcode(p);
    if (!at)
      return p->status;
  }
}

ul_status ul_pickle_read(ul_bytes *bytes, ul_heap *heap, ul_value *result, unsigned *protocol,
                         ul_error *err) {
  ul_pickle p = {0};
  ul_status status;

  p.heap = heap;
  p.in = bytes;
  p.err = err;
  status = run(&p);
  UL_VEC_RELEASE(&p.scratch);
  if (status != UL_OK)
    return status;
  *result = ul_heap_follow(heap, heap->stack.items[heap->stack.count - 1]);
  *protocol = p.protocol;
  return UL_OK;
}

static int is_name(const uint8_t **at, const uint8_t *end) {
  const uint8_t *from = *at;

  while (*at < end && (**at == '_' || **at == '.' || (**at >= '0' && **at <= '9') ||
                       (**at >= 'A' && **at <= 'Z') || (**at >= 'a' && **at <= 'z')))
    (*at)++;
  return *at > from && *at < end && *(*at)++ == '\n';
}

int ul_pickle_sniff(const uint8_t *bytes, size_t size) {
  const uint8_t *at = bytes + 1, *end = bytes + size;

  if (!size)
    return 0;
  if (bytes[0] == PROTO)
    return 1;
  if (bytes[0] == '(' || bytes[0] == ']' || bytes[0] == '}')
    return 1;
  /* "cos\nsystem\n": worth saying what it tried. */
  return bytes[0] == 'c' && is_name(&at, end) && is_name(&at, end);
}
