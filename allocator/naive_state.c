/* SPDX-License-Identifier: MIT */
/* The naive twin shows its state, checks it and copies it. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "allocator/naive.h"
#include "base/error.h"

/* ---- showing ---- */

static int by_address(const void *a, const void *b) {
  const ul_segment *x = a, *y = b;
  return x->address < y->address ? -1 : x->address > y->address;
}

static ul_block shown_block(const naive_block *b) {
  static const uint8_t states[] = {[NAIVE_FREE] = UL_BLOCK_INACTIVE,
                                   [NAIVE_ALLOCATED] = UL_BLOCK_ACTIVE_ALLOCATED,
                                   [NAIVE_PENDING] = UL_BLOCK_ACTIVE_PENDING_FREE,
                                   [NAIVE_UNMAPPED] = UL_BLOCK_INACTIVE};
  const ul_block shown = {.address = b->address,
                          .bytes = b->bytes,
                          .requested_bytes = b->requested,
                          .handle = b->handle,
                          .stack = b->stack,
                          .state = states[b->is]};

  return shown;
}

/* The creation number that the release's snapshots tell of a segment with this first block. */
static uint32_t registration(const naive *n, const naive_segment *s, const naive_block *first) {
  if (!n->profile->registration)
    return 0;
  return (uint32_t)(n->profile->tie == UL_TIE_SEGMENT ? s->order : first->number);
}

/* One shown segment for a cudaMalloc segment, one for each mapped run of a range. */
static int show(naive *n, const naive_segment *s) {
  ul_segment shown = {.stream = s->stream, .pool = s->pool, .stack = s->stack};
  size_t i;

  shown.is_small = (uint8_t)s->small;
  shown.is_expandable = (uint8_t)s->expandable;
  for (i = 0; i < s->blocks.count; i++) {
    const naive_block *b = &s->blocks.items[i];
    if (b->is == NAIVE_UNMAPPED)
      continue;
    if (!shown.block_count) {
      shown.address = b->address;
      shown.first_block = (uint32_t)n->shown_blocks.count;
      shown.registration = registration(n, s, b);
    }
    shown.bytes += b->bytes;
    shown.block_count++;
    if (!UL_VEC_PUSH(&n->shown_blocks, shown_block(b)))
      return 0;
    if (i + 1 == s->blocks.count || s->blocks.items[i + 1].is == NAIVE_UNMAPPED) {
      if (!UL_VEC_PUSH(&n->shown_segments, shown))
        return 0;
      shown.bytes = 0;
      shown.block_count = 0;
    }
  }
  return 1;
}

ul_status ul_naive_visit(void *state, ul_state *out, ul_error *err) {
  naive *n = state;
  size_t i;

  n->shown_segments.count = n->shown_blocks.count = 0;
  for (i = 0; i < n->segments.count; i++) {
    if (!show(n, &n->segments.items[i]))
      return ul_fail_nomem(err, "the naive model's state");
  }
  if (n->shown_segments.count)
    qsort(n->shown_segments.items, n->shown_segments.count, sizeof(ul_segment), by_address);
  out->segments = n->shown_segments.items;
  out->segment_count = (uint32_t)n->shown_segments.count;
  out->blocks = n->shown_blocks.items;
  out->block_count = (uint32_t)n->shown_blocks.count;
  return UL_OK;
}

/* ---- checking ---- */

static ul_status check_segment(const naive *n, const naive_segment *s, ul_error *err) {
  uint64_t at = s->address;
  size_t i;

  for (i = 0; i < s->blocks.count; i++) {
    const naive_block *b = &s->blocks.items[i];
    if (b->address != at || !b->bytes)
      return ul_fail(err, UL_E_STATE, 0, "blocks do not tile the segment at 0x%" PRIx64,
                     s->address);
    if (i && b->is == b[-1].is && (b->is == NAIVE_FREE || b->is == NAIVE_UNMAPPED))
      return ul_fail(err, UL_E_STATE, 0, "the block at 0x%" PRIx64 " did not join the one before",
                     b->address);
    if ((b->is == NAIVE_PENDING) != (b->is != NAIVE_ALLOCATED && b->key))
      return ul_fail(err, UL_E_STATE, 0, "the block at 0x%" PRIx64 " waits for nothing",
                     b->address);
    if (b->is == NAIVE_PENDING && !ul_waits_has(&n->waits, b->key))
      return ul_fail(err, UL_E_STATE, 0, "the block at 0x%" PRIx64 " is not waited for",
                     b->address);
    at += b->bytes;
  }
  if (at != s->address + s->bytes)
    return ul_fail(err, UL_E_STATE, 0, "blocks do not fill the segment at 0x%" PRIx64, s->address);
  return UL_OK;
}

/* The running figures against the blocks. */
ul_status ul_naive_check(const void *state, ul_error *err) {
  const naive *n = state;
  const ul_stat_values(*a)[UL_SLOT_COUNT] = n->statistics.arrays;
  size_t i;

  for (i = 0; i < n->segments.count; i++)
    UL_TRY(check_segment(n, &n->segments.items[i], err));
  if (a[UL_STAT_RESERVED_BYTES][UL_SLOT_ALL].current != n->totals.reserved_bytes ||
      a[UL_STAT_ALLOCATED_BYTES][UL_SLOT_ALL].current != n->totals.allocated_bytes ||
      a[UL_STAT_ACTIVE_BYTES][UL_SLOT_ALL].current != n->totals.active_bytes ||
      a[UL_STAT_REQUESTED_BYTES][UL_SLOT_ALL].current != n->totals.requested_bytes ||
      a[UL_STAT_SEGMENT][UL_SLOT_ALL].current != n->totals.segment_count)
    return ul_fail(err, UL_E_STATE, 0, "the statistics are not the sums over the blocks");
  return UL_OK;
}

/* ---- copying ---- */

void ul_naive_destroy(void *state) {
  naive *n = state;
  size_t i;

  while (n->segments.count)
    ul_naive_drop_segment(n, n->segments.count - 1);
  for (i = 0; i < n->checkpoints.count; i++)
    UL_VEC_RELEASE(&n->checkpoints.items[i].blocks);
  UL_VEC_RELEASE(&n->segments);
  UL_VEC_RELEASE(&n->searches);
  UL_VEC_RELEASE(&n->reserved);
  UL_VEC_RELEASE(&n->checkpoints);
  UL_VEC_RELEASE(&n->calls);
  UL_VEC_RELEASE(&n->shown_segments);
  UL_VEC_RELEASE(&n->shown_blocks);
  ul_pools_release(&n->pools);
  ul_waits_release(&n->waits);
  ul_history_release(&n->history);
  ul_device_release(&n->device);
  free(n);
}

/* A copy of an array of plain values in an array that is empty; 0 without memory. */
#define COPY(to, from)                                                                     \
  (UL_VEC_RESERVE((to), (from)->count) &&                                                  \
   (!(from)->count ||                                                                      \
    memcpy((to)->items, (from)->items, (from)->count * sizeof(*(from)->items)) != NULL) && \
   ((to)->count = (from)->count, 1))

static int copy_segments(naive *to, const naive *from) {
  size_t i;

  for (i = 0; i < from->segments.count; i++) {
    naive_segment s = from->segments.items[i];
    memset(&s.blocks, 0, sizeof(s.blocks));
    if (!UL_VEC_PUSH(&to->segments, s) ||
        !COPY(&to->segments.items[i].blocks, &from->segments.items[i].blocks))
      return 0;
  }
  for (i = 0; i < from->checkpoints.count; i++) {
    naive_checkpoint c = from->checkpoints.items[i];
    memset(&c.blocks, 0, sizeof(c.blocks));
    if (!UL_VEC_PUSH(&to->checkpoints, c) ||
        !COPY(&to->checkpoints.items[i].blocks, &from->checkpoints.items[i].blocks))
      return 0;
  }
  return 1;
}

ul_status ul_naive_clone(void **out, const void *state, ul_error *err) {
  const naive *from = state;
  naive *to = calloc(1, sizeof(*to));

  if (!to)
    return ul_fail_nomem(err, "a copy of the naive model");
  *to = *from;
  memset(&to->segments, 0, sizeof(to->segments));
  memset(&to->searches, 0, sizeof(to->searches));
  memset(&to->reserved, 0, sizeof(to->reserved));
  memset(&to->checkpoints, 0, sizeof(to->checkpoints));
  memset(&to->calls, 0, sizeof(to->calls));
  memset(&to->shown_segments, 0, sizeof(to->shown_segments));
  memset(&to->shown_blocks, 0, sizeof(to->shown_blocks));
  memset(&to->device, 0, sizeof(to->device));
  memset(&to->pools, 0, sizeof(to->pools));
  memset(&to->waits, 0, sizeof(to->waits));
  memset(&to->history, 0, sizeof(to->history));
  to->outcome = NULL;
  if (ul_history_copy(&to->history, &from->history) && copy_segments(to, from) &&
      COPY(&to->searches, &from->searches) && COPY(&to->reserved, &from->reserved) &&
      ul_device_copy(&to->device, &from->device) && ul_pools_copy(&to->pools, &from->pools) &&
      ul_waits_copy(&to->waits, &from->waits)) {
    *out = to;
    return UL_OK;
  }
  ul_naive_destroy(to);
  return ul_fail_nomem(err, "a copy of the naive model");
}
