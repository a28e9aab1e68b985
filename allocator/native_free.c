/* SPDX-License-Identifier: MIT */
/* How memory becomes free and goes back to the driver (allocator-spec 3.7, 3.8, 3.12, 3.13, 4). */
#include <stdlib.h>

#include "allocator/native.h"

static int can_merge(const native_block *dst, const native_block *src) {
  return !(src->flags & (BLOCK_ALLOCATED | BLOCK_PENDING | BLOCK_DEAD)) &&
         (src->flags & BLOCK_UNMAPPED) == (dst->flags & BLOCK_UNMAPPED);
}

int ul_native_merge(native *n, uint32_t block, uint32_t neighbour) {
  native_block *dst = &n->blocks.items[block], *src;

  if (!neighbour)
    return 0;
  src = &n->blocks.items[neighbour];
  if (!can_merge(dst, src))
    return 0;
  if (src->flags & BLOCK_UNMAPPED)
    ul_native_take_unmapped(n, neighbour);
  else
    ul_native_take_free(n, neighbour);
  if (dst->prev == neighbour) {
    dst->address = src->address;
    dst->prev = src->prev;
    if (dst->prev)
      n->blocks.items[dst->prev].next = block;
    else
      n->segments.items[dst->segment].first_block = block;
  } else {
    dst->next = src->next;
    if (dst->next)
      n->blocks.items[dst->next].prev = block;
  }
  dst->bytes += src->bytes;
  ul_native_block_retie(n, block);
  ul_native_block_delete(n, neighbour);
  return 1;
}

/* allocator-spec 4.2. The block is allocated or pending no more; it joins its free neighbours. */
int ul_native_free_block(native *n, uint32_t block) {
  native_block *b = &n->blocks.items[block];
  const int slot = ul_native_slot(n, b);
  const uint64_t bytes = b->bytes, requested = b->requested_bytes;
  int64_t net_count = 0, net_bytes = 0;
  uint32_t sides[2] = {b->prev, b->next};
  uint64_t side_bytes;
  int i;

  b->flags = 0;
  b->handle = 0;
  b->stack = 0;
  for (i = 0; i < 2; i++) {
    side_bytes = sides[i] ? n->blocks.items[sides[i]].bytes : 0;
    if (ul_native_merge(n, block, sides[i])) {
      net_count--;
      net_bytes -= (int64_t)side_bytes;
    }
  }
  if (!ul_native_put_free(n, block))
    return 0;
  if (!n->segments.items[b->segment].expandable) {
    if (b->prev || b->next) {
      net_count++;
      net_bytes += (int64_t)b->bytes;
    }
    if (net_count > 0)
      ul_stat_increase(&n->statistics, UL_STAT_INACTIVE_SPLIT, slot, (uint64_t)net_count);
    else if (net_count < 0)
      ul_stat_decrease(&n->statistics, UL_STAT_INACTIVE_SPLIT, slot, (uint64_t)-net_count);
    if (net_bytes > 0)
      ul_stat_increase(&n->statistics, UL_STAT_INACTIVE_SPLIT_BYTES, slot, (uint64_t)net_bytes);
    else if (net_bytes < 0)
      ul_stat_decrease(&n->statistics, UL_STAT_INACTIVE_SPLIT_BYTES, slot, (uint64_t)-net_bytes);
  }
  ul_stat_decrease(&n->statistics, UL_STAT_ACTIVE, slot, 1);
  ul_stat_decrease(&n->statistics, UL_STAT_ACTIVE_BYTES, slot, bytes);
  ul_stat_decrease(&n->statistics, UL_STAT_REQUESTED_BYTES, slot, requested);
  n->totals.active_bytes -= bytes;
  n->totals.requested_bytes -= requested;
  return 1;
}

int ul_native_add_pending(native *n, uint32_t block) {
  n->blocks.items[block].gc_base = (uint32_t)n->pending.count;
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
    uint32_t block = n->pending.items[i];
    uint32_t handle = n->blocks.items[block].handle;
    if (!block)
      continue;
    if (handle)
      n->block_of.items[handle] = 0;
    n->blocks.items[block].uses = 0;
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
  const native_segment segment = n->segments.items[b.segment];
  const int slot = ul_native_slot(n, &b);

  ul_native_take_free(n, block);
  n->statistics.counters[UL_STAT_NUM_DEVICE_FREE]++;
  if (!ul_native_log_call(n, UL_DRIVER_SEGMENT_FREE, b.address, b.bytes,
                          n->lanes.items[segment.lane].stream))
    return 0;
  ul_device_free(&n->device, b.address, b.bytes);
  ul_stat_decrease(&n->statistics, UL_STAT_SEGMENT, slot, 1);
  ul_stat_decrease(&n->statistics, UL_STAT_RESERVED_BYTES, slot, b.bytes);
  if (b.bytes >= n->settings.max_split_bytes)
    ul_stat_decrease_one(&n->statistics.singles[UL_STAT_OVERSIZE_SEGMENTS], 1);
  n->totals.reserved_bytes -= b.bytes;
  n->totals.segment_count--;
  ul_native_block_delete(n, block);
  ul_native_segment_delete(n, b.segment);
  return 1;
}

/* allocator-spec 3.13 for one stream of one pool: first whole cudaMalloc segments, in set order,
 * collecting expandable blocks for the second pass. */
static int release_lane(native *n, uint32_t lane, size_t *expandable) {
  ul_free_at at;
  ul_free_entry entry;
  size_t first = n->scratch.count, i;

  entry = ul_free_set_first(&n->lanes.items[lane].free, &at);
  for (; entry.block; entry = ul_free_set_next(&n->lanes.items[lane].free, &at)) {
    const native_block *b = &n->blocks.items[entry.block];
    if (n->segments.items[b->segment].expandable || (!b->prev && !b->next)) {
      if (!UL_VEC_PUSH(&n->scratch, entry.block))
        return 0;
    }
  }
  for (i = first; i < n->scratch.count; i++) {
    uint32_t block = n->scratch.items[i];
    if (n->segments.items[n->blocks.items[block].segment].expandable)
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
  if (!n->totals.releasable_bytes)
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
  const uint64_t wanted =
      rounded > n->settings.max_split_bytes ? rounded : n->settings.max_split_bytes;
  ul_free_entry entry;
  uint64_t freed = 0;
  ul_free_at at;
  size_t i;

  *released = 0;
  if (n->settings.max_split_bytes == UINT64_MAX)
    return 1;
  entry = ul_free_set_lower_bound(set, wanted, &at);
  if (entry.block && !n->segments.items[n->blocks.items[entry.block].segment].expandable) {
    *released = 1;
    return ul_native_return_segment(n, entry.block);
  }
  n->scratch.count = 0;
  entry = entry.block ? ul_free_set_previous(set, &at) : ul_free_set_last(set, &at);
  for (; entry.block && freed < wanted && entry.bytes >= n->settings.max_split_bytes;
       entry = ul_free_set_previous(set, &at)) {
    if (n->segments.items[n->blocks.items[entry.block].segment].expandable)
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
