/* SPDX-License-Identifier: MIT */
/* How memory becomes free and goes back to the driver (allocator-spec 3.7, 3.8, 3.12, 3.13, 4). */
#include <stdlib.h>

#include "allocator/native_fast.h"

/* The end of a free that waited: the block becomes free now. */
int ul_native_free_block(native *n, uint32_t block) {
  const native_block b = n->blocks.items[block];
  const int slots[] = {UL_SLOT_ALL, ul_native_slot(&b)};
  const native_joined joined = ul_native_join_free(n, block);
  int i;

  ul_native_count(n, slots[1], 0, 0, joined.split_count, joined.split_bytes);
  ul_native_count_released(n, slots[1], b.requested_bytes);
  for (i = 0; i < 2; i++) {
    n->waiting[slots[i]].count--;
    n->waiting[slots[i]].bytes -= b.bytes;
  }
  n->waiting_requested -= b.requested_bytes < b.bytes ? b.requested_bytes : b.bytes;
  if (b.requested_bytes > b.bytes)
    n->excess_requested -= b.requested_bytes - b.bytes;
  if (!n->waiting[UL_SLOT_ALL].count)
    n->careful &= ~(uint32_t)CAREFUL_WAITING;
  return ul_native_put_free(n, joined.block);
}

int ul_native_add_pending(native *n, uint32_t block) {
  native_block *b = &n->blocks.items[block];
  const int slots[] = {UL_SLOT_ALL, ul_native_slot(b)};
  int i;

  b->flags = (uint8_t)((b->flags & BLOCK_OF_SEGMENT) | BLOCK_PENDING);
  b->gc_base = (uint32_t)n->pending.count;
  for (i = 0; i < 2; i++) {
    native_waiting *w = &n->waiting[slots[i]];
    const native_tally *t = &n->tallies[slots[i]];
    w->count++;
    w->bytes += b->bytes;
    if ((uint64_t)t->current[0] + w->count > w->peak_count)
      w->peak_count = (uint64_t)t->current[0] + w->count;
    if ((uint64_t)t->current[1] + w->bytes > w->peak_bytes)
      w->peak_bytes = (uint64_t)t->current[1] + w->bytes;
  }
  n->waiting_requested += b->requested_bytes < b->bytes ? b->requested_bytes : b->bytes;
  n->careful |= CAREFUL_WAITING;
  return UL_VEC_PUSH(&n->pending, block);
}

/* Leaves a gap in the line, and closes the gaps once they are most of it. */
void ul_native_drop_pending(native *n, uint32_t block) {
  size_t i, kept = 0;

  n->pending.items[n->blocks.items[block].gc_base] = 0;
  n->pending_gone++;
  if (n->pending_gone * 2 < n->pending.count)
    return;
  for (i = 0; i < n->pending.count; i++) {
    if (!n->pending.items[i])
      continue;
    n->blocks.items[n->pending.items[i]].gc_base = (uint32_t)kept;
    n->pending.items[kept++] = n->pending.items[i];
  }
  n->pending.count = kept;
  n->pending_gone = 0;
}

int ul_native_complete_all(native *n) {
  size_t i;

  n->statistics.counters[UL_STAT_NUM_SYNC_ALL_STREAMS]++;
  for (i = 0; i < n->pending.count; i++) {
    const uint32_t block = n->pending.items[i];
    if (!block)
      continue;
    if (n->blocks.items[block].handle)
      n->block_of.items[n->blocks.items[block].handle] = 0;
    if (!ul_native_free_block(n, block))
      return 0;
  }
  n->pending.count = 0;
  n->pending_gone = 0;
  return 1;
}

/* allocator-spec 3.12. */
int ul_native_return_segment(native *n, uint32_t block) {
  const native_block b = n->blocks.items[block];
  const int slot = ul_native_slot(&b);

  ul_native_take_free(n, block);
  n->statistics.counters[UL_STAT_NUM_DEVICE_FREE]++;
  if (!ul_native_log_call(n, UL_DRIVER_SEGMENT_FREE, b.address, b.bytes,
                          n->lanes.items[b.lane].stream))
    return 0;
  ul_device_free(&n->device, b.address, b.bytes);
  ul_stat_decrease(&n->statistics, UL_STAT_SEGMENT, slot, 1);
  ul_stat_decrease(&n->statistics, UL_STAT_RESERVED_BYTES, slot, b.bytes);
  if (b.bytes >= n->settings.max_split_bytes)
    ul_stat_decrease_one(&n->statistics.singles[UL_STAT_OVERSIZE_SEGMENTS], 1);
  n->reserved_bytes -= b.bytes;
  n->segment_count--;
  ul_native_block_delete(n, block);
  ul_native_segment_delete(n, b.segment);
  return 1;
}

/* allocator-spec 3.13 for one stream of one pool: first whole cudaMalloc segments, in set order,
 * collecting expandable blocks for the second pass. */
static int release_lane(native *n, uint32_t lane, size_t *expandable) {
  ul_free_set *set = &n->lanes.items[lane].free;
  const size_t first = n->scratch.count;
  ul_free_at at;
  ul_free_entry entry;
  size_t i;

  for (entry = ul_free_set_first(set, &at); entry.block; entry = ul_free_set_next(set, &at)) {
    const native_block *b = &n->blocks.items[entry.block];
    if ((b->flags & BLOCK_EXPANDABLE || !(b->prev | b->next)) &&
        !UL_VEC_PUSH(&n->scratch, entry.block))
      return 0;
  }
  for (i = first; i < n->scratch.count; i++) {
    const uint32_t block = n->scratch.items[i];
    if (n->blocks.items[block].flags & BLOCK_EXPANDABLE)
      n->scratch.items[(*expandable)++] = block;
    else if (!ul_native_return_segment(n, block))
      return 0;
  }
  n->scratch.count = *expandable;
  return 1;
}

static int release_pool(native *n, uint32_t pool, int small) {
  size_t expandable = 0, i;

  n->scratch.count = 0;
  for (i = 0; i < n->pools.items[pool].lanes[small].count; i++) {
    if (!release_lane(n, n->pools.items[pool].lanes[small].items[i], &expandable))
      return 0;
  }
  for (i = 0; i < expandable; i++) {
    if (!ul_native_unmap(n, n->scratch.items[i]))
      return 0;
  }
  return 1;
}

/* allocator-spec 3.8: everything (only_pool 0), or one private pool. */
int ul_native_release_cached(native *n, uint32_t only_pool) {
  size_t pool;

  if (!ul_native_complete_all(n))
    return 0;
  if (!n->whole_bytes[0])
    return 1; /* programs at their limit flush again and again */
  if (!only_pool && n->pools.count && (!release_pool(n, 0, 0) || !release_pool(n, 0, 1)))
    return 0;
  for (pool = 1; pool < n->pools.count; pool++) {
    if (!n->pools.items[pool].freeable || (only_pool && n->pools.items[pool].id != only_pool))
      continue;
    if (!release_pool(n, (uint32_t)pool, 1) || !release_pool(n, (uint32_t)pool, 0))
      return 0;
  }
  return 1;
}

/* allocator-spec 3.7: under max_split_size, cached oversize blocks make room for one request. */
int ul_native_release_available(native *n, uint32_t lane, uint64_t rounded, int *released) {
  ul_free_set *set = &n->lanes.items[lane].free;
  const uint64_t limit = n->settings.max_split_bytes, wanted = rounded > limit ? rounded : limit;
  ul_free_entry entry;
  uint64_t freed = 0;
  ul_free_at at;
  size_t i;

  *released = 0;
  if (limit == UINT64_MAX)
    return 1;
  entry = ul_free_set_lower_bound(set, wanted, &at);
  if (entry.block && !(n->blocks.items[entry.block].flags & BLOCK_EXPANDABLE)) {
    *released = 1;
    return ul_native_return_segment(n, entry.block);
  }
  n->scratch.count = 0;
  entry = entry.block ? ul_free_set_previous(set, &at) : ul_free_set_last(set, &at);
  for (; entry.block && freed < wanted && entry.bytes >= limit;
       entry = ul_free_set_previous(set, &at)) {
    if (n->blocks.items[entry.block].flags & BLOCK_EXPANDABLE)
      continue;
    freed += entry.bytes;
    if (!UL_VEC_PUSH(&n->scratch, entry.block))
      return 0;
  }
  for (i = 0; i < n->scratch.count; i++) {
    if (!ul_native_return_segment(n, n->scratch.items[i]))
      return 0;
  }
  *released = freed >= wanted;
  return 1;
}
