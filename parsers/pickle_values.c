/* SPDX-License-Identifier: MIT */
/* Pickle opcodes that push a constant, a number, a string or bytes. */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "parsers/pickle_machine.h"

/* --- constants and numbers --- */

const uint8_t *ul_pickle_op_none(ul_pickle *p, const uint8_t *at) {
  return ul_pickle_then(p, ul_heap_push(p->heap, UL_VALUE_NONE, p->err), at);
}

const uint8_t *ul_pickle_op_true(ul_pickle *p, const uint8_t *at) {
  return ul_pickle_then(p, ul_heap_push(p->heap, UL_VALUE_TRUE, p->err), at);
}

const uint8_t *ul_pickle_op_false(ul_pickle *p, const uint8_t *at) {
  return ul_pickle_then(p, ul_heap_push(p->heap, UL_VALUE_FALSE, p->err), at);
}

const uint8_t *ul_pickle_op_binint1(ul_pickle *p, const uint8_t *at) {
  return ul_pickle_then(p, ul_heap_push(p->heap, UL_VALUE(UL_TAG_INT, *at), p->err), at + 1);
}

const uint8_t *ul_pickle_op_binint2(ul_pickle *p, const uint8_t *at) {
  return ul_pickle_then(p, ul_heap_push(p->heap, UL_VALUE(UL_TAG_INT, ul_le16(at)), p->err),
                        at + 2);
}

const uint8_t *ul_pickle_op_binint(ul_pickle *p, const uint8_t *at) {
  int64_t value = (int32_t)ul_le32(at);
  return ul_pickle_then(p, ul_heap_push(p->heap, UL_VALUE(UL_TAG_INT, (uint64_t)value), p->err),
                        at + 4);
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

const uint8_t *ul_pickle_op_long1(ul_pickle *p, const uint8_t *at) {
  size_t size = *at;

  at = ul_pickle_need(p, at, 1 + size);
  if (!at)
    return NULL;
  return ul_pickle_then(p, push_long(p, at + 1, size), at + 1 + size);
}

const uint8_t *ul_pickle_op_long4(ul_pickle *p, const uint8_t *at) {
  uint32_t size;

  at = ul_pickle_need(p, at, 4);
  if (!at)
    return NULL;
  size = ul_le32(at);
  if (size > INT32_MAX)
    return ul_pickle_fail(p, UL_E_MALFORMED, "has a negative length");
  at = ul_pickle_need(p, at, 4 + (size_t)size);
  if (!at)
    return NULL;
  return ul_pickle_then(p, push_long(p, at + 4, size), at + 4 + size);
}

const uint8_t *ul_pickle_op_binfloat(ul_pickle *p, const uint8_t *at) {
  uint64_t bits = 0;
  double value;
  int i;

  for (i = 0; i < 8; i++)
    bits = bits << 8 | at[i];
  memcpy(&value, &bits, sizeof(value));
  return ul_pickle_then(p, ul_heap_push_double(p->heap, value, p->err), at + 8);
}

/* --- strings and bytes --- */

static const uint8_t *push_text(ul_pickle *p, const uint8_t *at, unsigned prefix, uint64_t size) {
  if (size > UL_BYTES_LONGEST)
    return ul_pickle_fail(p, UL_E_LIMIT, "has a string of %" PRIu64 " bytes; at most %d are read",
                          size, UL_BYTES_LONGEST - 32);
  at = ul_pickle_need(p, at, prefix + (size_t)size);
  if (!at)
    return NULL;
  return ul_pickle_then(
      p, ul_heap_push_string(p->heap, (const char *)at + prefix, (size_t)size, p->err),
      at + prefix + size);
}

const uint8_t *ul_pickle_op_text1(ul_pickle *p, const uint8_t *at) {
  return push_text(p, at, 1, *at);
}

const uint8_t *ul_pickle_op_text4(ul_pickle *p, const uint8_t *at) {
  at = ul_pickle_need(p, at, 4);
  return at ? push_text(p, at, 4, ul_le32(at)) : NULL;
}

const uint8_t *ul_pickle_op_text8(ul_pickle *p, const uint8_t *at) {
  at = ul_pickle_need(p, at, 8);
  return at ? push_text(p, at, 8, ul_le64(at)) : NULL;
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
  return ul_pickle_then(
      p, ul_heap_push(p->heap, UL_VALUE(UL_TAG_BYTES, size & (UINT64_MAX >> 4)), p->err), at);
}

const uint8_t *ul_pickle_op_bytes1(ul_pickle *p, const uint8_t *at) {
  at = ul_pickle_need(p, at, 1);
  return at ? skip_bytes(p, at + 1, *at) : NULL;
}

const uint8_t *ul_pickle_op_bytes4(ul_pickle *p, const uint8_t *at) {
  at = ul_pickle_need(p, at, 4);
  return at ? skip_bytes(p, at + 4, ul_le32(at)) : NULL;
}

const uint8_t *ul_pickle_op_bytes8(ul_pickle *p, const uint8_t *at) {
  at = ul_pickle_need(p, at, 8);
  return at ? skip_bytes(p, at + 8, ul_le64(at)) : NULL;
}
