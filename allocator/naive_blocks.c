/* SPDX-License-Identifier: MIT */
/* Segments and blocks of the naive twin, and the order in which free ones are taken. */
#include <string.h>

#include "allocator/naive.h"
#include "allocator/sizing.h"

naive_segment *ul_naive_segment(const naive *n, naive_place p) {
  return &n->segments.items[p.segment];
}

naive_block *ul_naive_at(const naive *n, naive_place p) {
  return &ul_naive_segment(n, p)->blocks.items[p.block];
}

uint64_t ul_naive_unit(const naive *n, int small) {
  return small ? UL_SMALL_SEGMENT_BYTES : n->settings.large_segment_bytes;
}

int ul_naive_slot(int small) {
  return small ? UL_SLOT_SMALL : UL_SLOT_LARGE;
}

/* ---- order of free blocks ---- */

static int precedes(const naive *n, naive_place a, naive_place b) {
  const naive_block *x = ul_naive_at(n, a), *y = ul_naive_at(n, b);
  const naive_segment *s = ul_naive_segment(n, a), *t = ul_naive_segment(n, b);

  if (x->bytes != y->bytes)
    return x->bytes < y->bytes;
  if (n->profile->tie == UL_TIE_BLOCK && x->number != y->number)
    return x->number < y->number;
  if (n->profile->tie == UL_TIE_SEGMENT && s->order != t->order)
    return s->order < t->order;
  return x->address < y->address;
}

/* By insertion. */
naive_places ul_naive_free_blocks(naive *n, uint32_t pool, uint32_t stream, int small) {
  naive_places found = {NULL, 0, 0};
  naive_place p;
  size_t k;

  for (p.segment = 0; p.segment < n->segments.count; p.segment++) {
    const naive_segment *s = ul_naive_segment(n, p);
    if (s->pool != pool || s->stream != stream || s->small != small)
      continue;
    for (p.block = 0; p.block < s->blocks.count; p.block++) {
      if (s->blocks.items[p.block].is != NAIVE_FREE)
        continue;
      if (!UL_VEC_PUSH(&found, p)) {
        n->nomem = 1;
        return found;
      }
      for (k = found.count - 1; k && precedes(n, p, found.items[k - 1]); k--)
        found.items[k] = found.items[k - 1];
      found.items[k] = p;
    }
  }
  return found;
}

int ul_naive_next_stream(const naive *n, uint64_t *stream) {
  uint64_t next = UINT64_MAX;
  size_t i;

  for (i = 0; i < n->segments.count; i++) {
    const uint64_t at = n->segments.items[i].stream;
    next = at >= *stream && at < next ? at : next;
  }
  *stream = next;
  return next != UINT64_MAX;
}

/* ---- blocks of a segment ---- */

naive_block *ul_naive_insert(naive *n, naive_segment *s, size_t index) {
  naive_block fresh = {0};

  if (!UL_VEC_PUSH(&s->blocks, fresh)) {
    n->nomem = 1;
    return &s->blocks.items[index];
  }
  memmove(&s->blocks.items[index + 1], &s->blocks.items[index],
          (s->blocks.count - 1 - index) * sizeof(naive_block));
  s->blocks.items[index] = fresh;
  s->blocks.items[index].number = n->next_number++;
  return &s->blocks.items[index];
}

static void remove_block(naive_segment *s, size_t index) {
  s->blocks.count--;
  memmove(&s->blocks.items[index], &s->blocks.items[index + 1],
          (s->blocks.count - index) * sizeof(naive_block));
}

size_t ul_naive_merge(naive *n, naive_segment *s, size_t index) {
  naive_block *b = &s->blocks.items[index];

  if (index && b[-1].is == b->is) {
    b->address = b[-1].address;
    b->bytes += b[-1].bytes;
    ul_history_join(&n->history, &b[-1].chain, b->chain);
    b->chain = b[-1].chain;
    remove_block(s, --index);
  }
  b = &s->blocks.items[index];
  if (index + 1 < s->blocks.count && b[1].is == b->is) {
    b->bytes += b[1].bytes;
    ul_history_join(&n->history, &b->chain, b[1].chain);
    remove_block(s, index + 1);
  }
  return index;
}

size_t ul_naive_add_segment(naive *n, const naive_request *r, uint64_t address, uint64_t bytes,
                            int expandable) {
  naive_segment fresh = {.address = address, .bytes = bytes, .pool = r->pool};
  naive_block *b;

  fresh.stream = r->stream;
  fresh.stack = r->stack;
  fresh.small = r->small;
  fresh.expandable = expandable;
  fresh.unit = ul_naive_unit(n, r->small);
  fresh.order = n->next_order++;
  if (!UL_VEC_PUSH(&n->segments, fresh)) {
    n->nomem = 1;
    return 0;
  }
  b = ul_naive_insert(n, &n->segments.items[n->segments.count - 1], 0);
  if (n->nomem)
    return 0;
  b->address = address;
  b->bytes = bytes;
  b->is = expandable ? NAIVE_UNMAPPED : NAIVE_FREE;
  return n->segments.count - 1;
}

void ul_naive_drop_segment(naive *n, size_t index) {
  size_t i;

  for (i = 0; i < n->segments.items[index].blocks.count; i++)
    ul_history_drop(&n->history, n->segments.items[index].blocks.items[i].chain);
  UL_VEC_RELEASE(&n->segments.items[index].blocks);
  n->segments.count--;
  memmove(&n->segments.items[index], &n->segments.items[index + 1],
          (n->segments.count - index) * sizeof(naive_segment));
}

/* ---- ages ---- */

uint64_t *ul_naive_searches(naive *n, uint32_t pool, int small) {
  static uint64_t nowhere;
  const naive_searches fresh = {pool, small, 0};
  size_t i;

  for (i = 0; i < n->searches.count; i++) {
    if (n->searches.items[i].pool == pool && n->searches.items[i].small == small)
      return &n->searches.items[i].count;
  }
  if (!UL_VEC_PUSH(&n->searches, fresh)) {
    n->nomem = 1;
    return &nowhere;
  }
  return &n->searches.items[n->searches.count - 1].count;
}

static uint64_t searches_so_far(const naive *n, const naive_segment *s) {
  size_t i;

  for (i = 0; i < n->searches.count; i++) {
    if (n->searches.items[i].pool == s->pool && n->searches.items[i].small == s->small)
      return n->searches.items[i].count;
  }
  return 0;
}

void ul_naive_enter_free(naive *n, const naive_segment *s, naive_block *b) {
  b->age_base = n->profile->ages_by_count ? searches_so_far(n, s) : 0;
}

uint64_t ul_naive_age(const naive *n, const naive_segment *s, const naive_block *b) {
  return n->profile->ages_by_count ? searches_so_far(n, s) - b->age_base : b->age_base;
}

void ul_naive_count_search(naive *n, const naive_request *r) {
  size_t i, j;

  if (n->profile->ages_by_count) {
    ++*ul_naive_searches(n, r->pool, r->small);
    return;
  }
  for (i = 0; i < n->segments.count; i++) {
    naive_segment *s = &n->segments.items[i];
    for (j = 0; s->pool == r->pool && s->small == r->small && j < s->blocks.count; j++)
      s->blocks.items[j].age_base += s->blocks.items[j].is == NAIVE_FREE;
  }
}

/* ---- looking for one ---- */

uint64_t ul_naive_total(const naive *n) {
  uint64_t sum = 0;
  size_t i, j;

  for (i = 0; i < n->segments.count; i++) {
    for (j = 0; j < n->segments.items[i].blocks.count; j++)
      sum += n->segments.items[i].blocks.items[j].is == NAIVE_UNMAPPED
                 ? 0
                 : n->segments.items[i].blocks.items[j].bytes;
  }
  return sum;
}

int ul_naive_find_handle(const naive *n, uint64_t handle, naive_place *out) {
  naive_place p;

  for (p.segment = 0; p.segment < n->segments.count; p.segment++) {
    for (p.block = 0; p.block < ul_naive_segment(n, p)->blocks.count; p.block++) {
      if (handle && ul_naive_at(n, p)->handle == handle) {
        *out = p;
        return 1;
      }
    }
  }
  return 0;
}

int ul_naive_find_key(const naive *n, uint64_t key, naive_place *out) {
  naive_place p;

  for (p.segment = 0; p.segment < n->segments.count; p.segment++) {
    for (p.block = 0; p.block < ul_naive_segment(n, p)->blocks.count; p.block++) {
      if (ul_naive_at(n, p)->key == key) {
        *out = p;
        return 1;
      }
    }
  }
  return 0;
}
