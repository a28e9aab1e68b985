/* SPDX-License-Identifier: MIT */
/* The way recordings are written, read without a call for each opcode: runs of plain values, lists
 * of shared frames, dicts that the schema absorbs. Whatever is not exactly like that is left, in
 * the state that its opcodes alone would have made, to the functions of the other files. */
#include <string.h>

#include "base/error.h"
#include "parsers/pickle_machine.h"

/* Tags of memo entries that are the value itself, and no container that a second mention would
 * pin. */
#define PLAIN_TAGS \
  (1u << UL_TAG_INT | 1u << UL_TAG_STRING | 1u << UL_TAG_PAIR | (0x7fu << UL_TAG_RECORD))

static inline int is_plain(uint32_t memo_entry) {
  return PLAIN_TAGS >> (memo_entry & 15) & 1;
}

/* The next memo entry becomes value if that needs no growth and nothing special. */
static inline int memoize(ul_pickle *p, ul_value value) {
  ul_heap *heap = p->heap;
  ul_object *object;

  if (p->next_memo != heap->memo.count || heap->memo.count == heap->memo.capacity ||
      value > UINT32_MAX)
    return 0;
  if (ul_value_tag(value) == UL_TAG_OBJECT) {
    object = &heap->objects.items[ul_value_index(value)];
    if (object->memo)
      return 0;
    object->memo = (uint32_t)heap->memo.count + 1;
  }
  heap->memo.items[heap->memo.count++] = (uint32_t)value;
  p->next_memo++;
  return 1;
}

/* No opcode of push_run takes fewer than two bytes for a value, so the window bounds what it
 * pushes. Without room for all of that, opcodes push one by one. */
static inline int has_room(ul_pickle *p, const uint8_t *at) {
  return UL_HEAP_RESERVE(p->heap, &p->heap->stack, (size_t)(p->in->end - at) / 2, NULL) == UL_OK;
}

/* Four of five opcodes of a recording push something known: done here without a call each, while
 * nothing unusual happens. Whatever is unusual is left to the opcode's own function. */
static const uint8_t *push_run(ul_pickle *p, const uint8_t *at) {
  ul_heap *heap = p->heap;
  ul_value *top = heap->stack.items + heap->stack.count;
  const uint32_t *memo = heap->memo.items;
  const uint8_t *last = p->in->end - UL_BYTES_PADDING;
  const ul_value *bottom = heap->stack.items + heap->fence;
  size_t memo_count = heap->memo.count;
  uint64_t value;

  while (at <= last) {
    if (*at == 'h') {
      if (at[1] >= memo_count || !is_plain(memo[at[1]]))
        break;
      *top++ = memo[at[1]];
      at += 2;
    } else if (*at == 'j') {
      value = ul_le32(at + 1);
      if (value >= memo_count || !is_plain(memo[value]))
        break;
      *top++ = memo[value];
      at += 5;
    } else if (*at == 'K') {
      *top++ = UL_VALUE(UL_TAG_INT, at[1]);
      at += 2;
    } else if (*at == 0x94) { /* MEMOIZE */
      if (top == bottom || !memoize(p, top[-1]))
        break;
      memo_count++;
      at++;
    } else if (*at == 0x8a) { /* LONG1: an address or a time */
      if (at[1] < 4 || at[1] > 7 || at[1 + at[1]] & 0x80)
        break;
      value = ul_le64(at + 2) & (UINT64_MAX >> (64 - 8 * at[1]));
      *top++ = UL_VALUE(UL_TAG_INT, value);
      at += 2 + at[1];
    } else if (*at == 'J') {
      *top++ = UL_VALUE(UL_TAG_INT, (uint64_t)(int64_t)(int32_t)ul_le32(at + 1));
      at += 5;
    } else if (*at == 'M') {
      *top++ = UL_VALUE(UL_TAG_INT, ul_le16(at + 1));
      at += 3;
    } else {
      break;
    }
  }
  heap->stack.count = (size_t)(top - heap->stack.items);
  return at;
}

/* --- lists of shared records --- */

enum { EMPTY_LIST = ']', EMPTY_DICT = '}', MARK = '(', MEMOIZE = 0x94 };

/* A list or dict of Python's writer, whose memo entry is the next one and needs no growth. */
static int opens(const ul_pickle *p, const uint8_t *at, uint8_t op) {
  return at[0] == op && at[1] == MEMOIZE && at[2] == MARK && p->heap->hooks &&
         p->next_memo == p->heap->memo.count && p->heap->memo.count < p->heap->memo.capacity;
}

/* A whole list of records that the schema absorbs, in one piece of the window. Returns what
 * follows, `at` itself if it is anything else, NULL on failure. */
static const uint8_t *list_run(ul_pickle *p, const uint8_t *at) {
  ul_heap *heap = p->heap;
  ul_value *first = heap->stack.items + heap->stack.count, *top = first, record = UL_VALUE_UNSET;
  const uint8_t *last = p->in->end - UL_BYTES_PADDING, *next = at + 3;
  const uint32_t *memo = heap->memo.items;
  const uint64_t memo_count = heap->memo.count;
  const unsigned tag = heap->hooks->list_tag;
  uint64_t index;
  ul_status status;

  for (; next <= last; top++) {
    if (*next == 'j') {
      index = ul_le32(next + 1);
      next += 5;
    } else if (*next == 'h') {
      index = next[1];
      next += 2;
    } else {
      break;
    }
    if (index >= memo_count || (memo[index] & 15) != tag)
      return at;
    *top = memo[index];
  }
  if (next > last || *next != 'e' || top - first < 2 || top - first >= UL_HEAP_BATCH)
    return at;
  p->op = next;
  status = heap->hooks->list(heap->hook_arg, heap, first, (size_t)(top - first), &record, p->err);
  if (status != UL_OK)
    return ul_pickle_failed(p, status);
  if (record == UL_VALUE_UNSET || !memoize(p, record))
    return at;
  heap->stack.items[heap->stack.count++] = record;
  return next + 1;
}

/* --- dicts --- */

static const uint8_t *short_string(ul_pickle *p, const uint8_t *at) {
  ul_status status;

  if (at[1] > p->in->end - at - 2)
    return at;
  p->op = at;
  status = ul_heap_push_string(p->heap, (const char *)at + 2, at[1], p->err);
  return status == UL_OK ? at + 2 + at[1] : ul_pickle_failed(p, status);
}

static const uint8_t *pair(ul_pickle *p, const uint8_t *at) {
  ul_heap *heap = p->heap;
  const ul_value *top = heap->stack.items + heap->stack.count;
  ul_status status;

  if (ul_heap_above(heap) < 2 || ul_value_tag(top[-1]) != UL_TAG_INT ||
      ul_value_tag(top[-2]) != UL_TAG_INT || (top[-1] | top[-2]) >> 63)
    return at;
  p->op = at;
  status = ul_heap_collapse(heap, heap->stack.count - 2, UL_OBJECT_TUPLE, p->err);
  return status == UL_OK ? at + 1 : ul_pickle_failed(p, status);
}

/* What may stand between the keys and values of a dict, besides plain values. */
static const uint8_t *part_of_dict(ul_pickle *p, const uint8_t *at) {
  if (*at == 0x8c)
    return short_string(p, at);
  if (*at == 0x86)
    return pair(p, at);
  return opens(p, at, EMPTY_LIST) ? list_run(p, at) : at;
}

/* SETITEMS: the schema takes the pairs above base, or the dict becomes one after all. */
static const uint8_t *end_of_dict(ul_pickle *p, const uint8_t *at, size_t base, size_t slot) {
  ul_heap *heap = p->heap;
  size_t count = heap->stack.count - base;
  ul_value record = UL_VALUE_UNSET;
  ul_status status;

  if (!count || count % 2 || count == 2 * UL_HEAP_BATCH)
    return at;
  p->op = at;
  status = heap->hooks->dict(heap->hook_arg, heap, heap->stack.items + base, count, base - 1,
                             &record, p->err);
  if (status != UL_OK)
    return ul_pickle_failed(p, status);
  if (record == UL_VALUE_UNSET || record > UINT32_MAX)
    return at;
  heap->memo.items[slot] = (uint32_t)record;
  heap->stack.items[base - 1] = record;
  heap->stack.count = base;
  return at + 1;
}

/* A whole dict. Its place on the stack and in the memo is kept free until the schema's record fills
 * it; if none does, a dict and its mark are put there and the opcodes go on one by one. */
static const uint8_t *dict_run(ul_pickle *p, const uint8_t *at) {
  ul_heap *heap = p->heap;
  const uint8_t *next;
  size_t slot = heap->memo.count, base = heap->stack.count + 1, fence = heap->fence;
  ul_status status;

  heap->stack.items[heap->stack.count++] = UL_VALUE_UNSET;
  heap->memo.items[heap->memo.count++] = 0;
  p->next_memo++;
  heap->fence = base;
  at += 3;
  while (p->in->end - at >= UL_BYTES_PADDING && has_room(p, at)) {
    at = push_run(p, at);
    if (p->in->end - at < UL_BYTES_PADDING)
      break;
    if (*at == 'u') {
      heap->fence = fence;
      next = end_of_dict(p, at, base, slot);
      if (next != at)
        return next;
      break;
    }
    next = part_of_dict(p, at);
    if (!next)
      return NULL;
    if (next == at)
      break;
    at = next;
  }
  heap->fence = fence;
  p->op = at;
  status = ul_heap_open_dict(heap, base, slot, p->err);
  return status == UL_OK ? at : ul_pickle_failed(p, status);
}

const uint8_t *ul_pickle_run(ul_pickle *p, const uint8_t *at) {
  while (p->in->end - at >= UL_BYTES_PADDING && has_room(p, at)) {
    at = push_run(p, at);
    if (p->in->end - at < UL_BYTES_PADDING || !opens(p, at, EMPTY_DICT) || !has_room(p, at))
      break;
    p->op = at;
    at = dict_run(p, at);
    if (!at)
      return NULL;
  }
  return at;
}
