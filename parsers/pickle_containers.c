/* SPDX-License-Identifier: MIT */
/* Pickle opcodes that work on what is on the stack: marks, containers, the memo. */
#include <inttypes.h>

#include "parsers/pickle_machine.h"

/* --- stack --- */

const uint8_t *ul_pickle_op_mark(ul_pickle *p, const uint8_t *at) {
  return ul_pickle_then(p, ul_heap_mark(p->heap, p->err), at);
}

const uint8_t *ul_pickle_op_pop(ul_pickle *p, const uint8_t *at) {
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

const uint8_t *ul_pickle_op_pop_mark(ul_pickle *p, const uint8_t *at) {
  size_t base;

  if (!unmark(p, &base))
    return NULL;
  ul_heap_drop(p->heap, base);
  return at;
}

const uint8_t *ul_pickle_op_dup(ul_pickle *p, const uint8_t *at) {
  if (!ul_pickle_has(p, 1))
    return NULL;
  return ul_pickle_then(p, ul_heap_duplicate(p->heap, p->err), at);
}

/* --- containers --- */

const uint8_t *ul_pickle_op_empty_dict(ul_pickle *p, const uint8_t *at) {
  return ul_pickle_then(p, ul_heap_push_object(p->heap, UL_OBJECT_DICT, p->err), at);
}

const uint8_t *ul_pickle_op_empty_list(ul_pickle *p, const uint8_t *at) {
  return ul_pickle_then(p, ul_heap_push_object(p->heap, UL_OBJECT_LIST, p->err), at);
}

const uint8_t *ul_pickle_op_empty_tuple(ul_pickle *p, const uint8_t *at) {
  return ul_pickle_then(p, ul_heap_push_object(p->heap, UL_OBJECT_TUPLE, p->err), at);
}

const uint8_t *ul_pickle_op_empty_set(ul_pickle *p, const uint8_t *at) {
  return ul_pickle_then(p, ul_heap_push_object(p->heap, UL_OBJECT_SET, p->err), at);
}

static const uint8_t *collapse_top(ul_pickle *p, const uint8_t *at, size_t count) {
  if (!ul_pickle_has(p, count))
    return NULL;
  return ul_pickle_then(
      p, ul_heap_collapse(p->heap, p->heap->stack.count - count, UL_OBJECT_TUPLE, p->err), at);
}

const uint8_t *ul_pickle_op_tuple1(ul_pickle *p, const uint8_t *at) {
  return collapse_top(p, at, 1);
}

const uint8_t *ul_pickle_op_tuple2(ul_pickle *p, const uint8_t *at) {
  return collapse_top(p, at, 2);
}

const uint8_t *ul_pickle_op_tuple3(ul_pickle *p, const uint8_t *at) {
  return collapse_top(p, at, 3);
}

static const uint8_t *collapse_mark(ul_pickle *p, const uint8_t *at, enum ul_object_kind kind) {
  size_t base;

  if (!unmark(p, &base))
    return NULL;
  return ul_pickle_then(p, ul_heap_collapse(p->heap, base, kind, p->err), at);
}

const uint8_t *ul_pickle_op_tuple(ul_pickle *p, const uint8_t *at) {
  return collapse_mark(p, at, UL_OBJECT_TUPLE);
}

const uint8_t *ul_pickle_op_list(ul_pickle *p, const uint8_t *at) {
  return collapse_mark(p, at, UL_OBJECT_LIST);
}

const uint8_t *ul_pickle_op_dict(ul_pickle *p, const uint8_t *at) {
  return collapse_mark(p, at, UL_OBJECT_DICT);
}

const uint8_t *ul_pickle_op_frozenset(ul_pickle *p, const uint8_t *at) {
  return collapse_mark(p, at, UL_OBJECT_SET);
}

const uint8_t *ul_pickle_op_append(ul_pickle *p, const uint8_t *at) {
  if (!ul_pickle_has(p, 2))
    return NULL;
  return ul_pickle_then(p, ul_heap_append(p->heap, p->heap->stack.count - 1, p->err), at);
}

static int unmark_container(ul_pickle *p, size_t *base) {
  if (!unmark(p, base))
    return 0;
  if (*base > p->heap->fence)
    return 1;
  ul_pickle_fail(p, UL_E_MALFORMED, "finds nothing below its MARK");
  return 0;
}

const uint8_t *ul_pickle_op_appends(ul_pickle *p, const uint8_t *at) {
  size_t base;

  if (!unmark_container(p, &base))
    return NULL;
  return ul_pickle_then(p, ul_heap_append(p->heap, base, p->err), at);
}

const uint8_t *ul_pickle_op_setitem(ul_pickle *p, const uint8_t *at) {
  if (!ul_pickle_has(p, 3))
    return NULL;
  return ul_pickle_then(p, ul_heap_set_items(p->heap, p->heap->stack.count - 2, 0, p->err), at);
}

const uint8_t *ul_pickle_op_setitems(ul_pickle *p, const uint8_t *at) {
  size_t base;

  if (!unmark_container(p, &base))
    return NULL;
  return ul_pickle_then(p, ul_heap_set_items(p->heap, base, 1, p->err), at);
}

/* --- memo --- */

static const uint8_t *memo_put(ul_pickle *p, const uint8_t *at, uint64_t index) {
  if (!ul_pickle_has(p, 1))
    return NULL;
  if (index > ul_bytes_offset(p->in, p->op) + UL_PICKLE_MEMO_SLACK)
    return ul_pickle_fail(p, UL_E_MALFORMED,
                          "stores memo entry %" PRIu64 ", more than the file can have used", index);
  return ul_pickle_then(p, ul_heap_memo_set(p->heap, index, p->err), at);
}

const uint8_t *ul_pickle_op_memoize(ul_pickle *p, const uint8_t *at) {
  if (!ul_pickle_has(p, 1))
    return NULL;
  /* Python numbers by the size of its memo. */
  return ul_pickle_then(p, ul_heap_memo_set(p->heap, p->next_memo++, p->err), at);
}

const uint8_t *ul_pickle_op_binput(ul_pickle *p, const uint8_t *at) {
  return memo_put(p, at + 1, *at);
}

const uint8_t *ul_pickle_op_long_binput(ul_pickle *p, const uint8_t *at) {
  return memo_put(p, at + 4, ul_le32(at));
}

const uint8_t *ul_pickle_op_binget(ul_pickle *p, const uint8_t *at) {
  return ul_pickle_then(p, ul_heap_memo_get(p->heap, *at, p->err), at + 1);
}

const uint8_t *ul_pickle_op_long_binget(ul_pickle *p, const uint8_t *at) {
  return ul_pickle_then(p, ul_heap_memo_get(p->heap, ul_le32(at), p->err), at + 4);
}
