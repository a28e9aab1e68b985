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

/* --- the machine --- */

/* `operand`: how many bytes the function reads without asking for them. */
static const struct {
  const char *name;
  ul_pickle_op *run;
  uint8_t operand;
} ops[256] = {
    ['('] = {"MARK", ul_pickle_op_mark},
    ['.'] = {"STOP", op_stop},
    ['0'] = {"POP", ul_pickle_op_pop},
    ['1'] = {"POP_MARK", ul_pickle_op_pop_mark},
    ['2'] = {"DUP", ul_pickle_op_dup},
    ['F'] = {"FLOAT", ul_pickle_op_float},
    ['I'] = {"INT", ul_pickle_op_int},
    ['J'] = {"BININT", ul_pickle_op_binint, 4},
    ['K'] = {"BININT1", ul_pickle_op_binint1, 1},
    ['L'] = {"LONG", ul_pickle_op_long},
    ['M'] = {"BININT2", ul_pickle_op_binint2, 2},
    ['N'] = {"NONE", ul_pickle_op_none},
    ['P'] = {"PERSID", ul_pickle_refuse_persid},
    ['Q'] = {"BINPERSID", ul_pickle_refuse},
    ['R'] = {"REDUCE", ul_pickle_refuse},
    ['S'] = {"STRING", ul_pickle_op_string},
    ['T'] = {"BINSTRING", ul_pickle_op_text4},
    ['U'] = {"SHORT_BINSTRING", ul_pickle_op_text1, 1},
    ['V'] = {"UNICODE", ul_pickle_op_unicode},
    ['X'] = {"BINUNICODE", ul_pickle_op_text4},
    ['a'] = {"APPEND", ul_pickle_op_append},
    ['b'] = {"BUILD", ul_pickle_refuse},
    ['c'] = {"GLOBAL", ul_pickle_refuse_global},
    ['d'] = {"DICT", ul_pickle_op_dict},
    ['}'] = {"EMPTY_DICT", ul_pickle_op_empty_dict},
    ['e'] = {"APPENDS", ul_pickle_op_appends},
    ['g'] = {"GET", ul_pickle_op_get},
    ['h'] = {"BINGET", ul_pickle_op_binget, 1},
    ['i'] = {"INST", ul_pickle_refuse_global},
    ['j'] = {"LONG_BINGET", ul_pickle_op_long_binget, 4},
    ['l'] = {"LIST", ul_pickle_op_list},
    [']'] = {"EMPTY_LIST", ul_pickle_op_empty_list},
    ['o'] = {"OBJ", ul_pickle_refuse},
    ['p'] = {"PUT", ul_pickle_op_put},
    ['q'] = {"BINPUT", ul_pickle_op_binput, 1},
    ['r'] = {"LONG_BINPUT", ul_pickle_op_long_binput, 4},
    ['s'] = {"SETITEM", ul_pickle_op_setitem},
    ['t'] = {"TUPLE", ul_pickle_op_tuple},
    [')'] = {"EMPTY_TUPLE", ul_pickle_op_empty_tuple},
    ['u'] = {"SETITEMS", ul_pickle_op_setitems},
    ['G'] = {"BINFLOAT", ul_pickle_op_binfloat, 8},
    ['B'] = {"BINBYTES", ul_pickle_op_bytes4},
    ['C'] = {"SHORT_BINBYTES", ul_pickle_op_bytes1},
    [PROTO] = {"PROTO", op_proto, 1},
    [0x81] = {"NEWOBJ", ul_pickle_refuse},
    [0x82] = {"EXT1", ul_pickle_refuse},
    [0x83] = {"EXT2", ul_pickle_refuse},
    [0x84] = {"EXT4", ul_pickle_refuse},
    [0x85] = {"TUPLE1", ul_pickle_op_tuple1},
    [0x86] = {"TUPLE2", ul_pickle_op_tuple2},
    [0x87] = {"TUPLE3", ul_pickle_op_tuple3},
    [0x88] = {"NEWTRUE", ul_pickle_op_true},
    [0x89] = {"NEWFALSE", ul_pickle_op_false},
    [0x8a] = {"LONG1", ul_pickle_op_long1, 1},
    [0x8b] = {"LONG4", ul_pickle_op_long4},
    [0x8c] = {"SHORT_BINUNICODE", ul_pickle_op_text1, 1},
    [0x8d] = {"BINUNICODE8", ul_pickle_op_text8},
    [0x8e] = {"BINBYTES8", ul_pickle_op_bytes8},
    [0x8f] = {"EMPTY_SET", ul_pickle_op_empty_set},
    [0x90] = {"ADDITEMS", ul_pickle_op_appends},
    [0x91] = {"FROZENSET", ul_pickle_op_frozenset},
    [0x92] = {"NEWOBJ_EX", ul_pickle_refuse},
    [0x93] = {"STACK_GLOBAL", ul_pickle_refuse_stack_global},
    [0x94] = {"MEMOIZE", ul_pickle_op_memoize},
    [0x95] = {"FRAME", op_frame, 8},
    [0x96] = {"BYTEARRAY8", ul_pickle_op_bytes8},
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

static ul_status run(ul_pickle *p) {
  const uint8_t *at = p->in->at;

  for (;;) {
    at = ul_pickle_run(p, at);
    if (!at)
      return p->status;
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
