/* SPDX-License-Identifier: MIT */
/* Blocks, segments, lanes and pools of the native allocator, and the sums over free memory. */
#include <string.h>

#include "allocator/native.h"

/* Unmapped blocks are in order of address alone: all have this size in their set. */
enum { UNMAPPED_KEY = 1 };

uint32_t ul_native_block_new(native *n) {
  native_block blank = {0};
  uint32_t index = n->dead_block;

  if (index) {
    n->dead_block = n->blocks.items[index].next;
    n->blocks.items[index] = blank;
    return index;
  }
  if (!n->blocks.count && !UL_VEC_PUSH(&n->blocks, blank))
    return 0;
  if (n->blocks.count >= UINT32_MAX || !UL_VEC_PUSH(&n->blocks, blank))
    return 0;
  return (uint32_t)(n->blocks.count - 1);
}

void ul_native_block_delete(native *n, uint32_t block) {
  n->blocks.items[block].flags = BLOCK_DEAD;
  n->blocks.items[block].next = n->dead_block;
  n->dead_block = block;
}

void ul_native_block_number(native *n, uint32_t block) {
  if (n->profile->tie == UL_TIE_BLOCK)
    n->blocks.items[block].tie = ++n->block_number;
}

void ul_native_block_retie(native *n, uint32_t block) {
  native_block *b = &n->blocks.items[block];
  const native_segment *segment = &n->segments.items[b->segment];

  if (n->profile->tie != UL_TIE_BLOCK)
    b->tie = segment->tie_base + (b->address - segment->address);
}

uint32_t ul_native_pool_of(native *n, uint32_t pool) {
  uint32_t index = ul_idmap_get(&n->pool_index, pool);
  native_pool fresh = {0};

  if (index)
    return index;
  fresh.id = pool;
  if (!UL_VEC_PUSH(&n->pools, fresh) ||
      !ul_idmap_set(&n->pool_index, pool, (uint32_t)n->pools.count))
    return 0;
  return (uint32_t)n->pools.count;
}

/* A new lane, entered among its pool's in order of stream. */
static uint32_t new_lane(native *n, uint32_t pool_index, uint32_t stream, int small) {
  native_lane fresh = {0};
  native_pool *pool = &n->pools.items[pool_index];
  uint32_t *lanes;
  size_t at;

  if (!n->lanes.count && !UL_VEC_PUSH(&n->lanes, fresh))
    return 0;
  fresh.pool = pool_index;
  fresh.stream = stream;
  fresh.small = (uint8_t)small;
  if (!UL_VEC_PUSH(&n->lanes, fresh) || !UL_VEC_RESERVE(&pool->lanes[small], 1))
    return 0;
  lanes = pool->lanes[small].items;
  for (at = pool->lanes[small].count; at && n->lanes.items[lanes[at - 1]].stream > stream; at--)
    lanes[at] = lanes[at - 1];
  lanes[at] = (uint32_t)(n->lanes.count - 1);
  pool->lanes[small].count++;
  return lanes[at];
}

uint32_t ul_native_lane_of(native *n, uint32_t pool, uint32_t stream, int small) {
  const native_lane *last = n->lanes.count ? &n->lanes.items[n->last_lane[small]] : NULL;
  uint32_t index, lane;
  uint64_t key;

  if (last && n->last_lane[small] && n->pools.items[last->pool].id == pool &&
      last->stream == stream)
    return n->last_lane[small];
  index = ul_native_pool_of(n, pool);
  if (!index)
    return 0;
  key = (uint64_t)(index - 1) << 33 | (uint64_t)stream << 1 | (uint64_t)small;
  lane = ul_idmap_get(&n->lane_index, key);
  if (!lane) {
    lane = new_lane(n, index - 1, stream, small);
    if (!lane || !ul_idmap_set(&n->lane_index, key, lane))
      return 0;
  }
  n->last_lane[small] = lane;
  return lane;
}

uint32_t ul_native_segment_new(native *n, uint64_t address, uint64_t bytes, uint32_t lane,
                               int expandable) {
  native_segment fresh = {0};
  uint32_t index = n->dead_segment;

  if (index) {
    n->dead_segment = n->segments.items[index].first_block;
  } else {
    if (!n->segments.count && !UL_VEC_PUSH(&n->segments, fresh))
      return 0;
    if (!UL_VEC_PUSH(&n->segments, fresh))
      return 0;
    index = (uint32_t)(n->segments.count - 1);
  }
  fresh.address = address;
  fresh.bytes = bytes;
  fresh.lane = lane;
  fresh.expandable = (uint8_t)expandable;
  fresh.alive = 1;
  fresh.registration = ++n->segment_number;
  /* By address: ties are addresses. By segment: a running sum of sizes keeps all blocks of an
   * older segment below all blocks of a newer one. */
  fresh.tie_base = n->profile->tie == UL_TIE_SEGMENT ? n->segment_ties : address;
  n->segment_ties += bytes;
  n->segments.items[index] = fresh;
  return index;
}

void ul_native_segment_delete(native *n, uint32_t segment) {
  n->segments.items[segment].alive = 0;
  n->segments.items[segment].first_block = n->dead_segment;
  n->dead_segment = segment;
}

int ul_native_is_free(const native_block *block) {
  return !(block->flags & (BLOCK_ALLOCATED | BLOCK_PENDING | BLOCK_UNMAPPED | BLOCK_DEAD));
}

int ul_native_slot(const native *n, const native_block *block) {
  return n->lanes.items[n->segments.items[block->segment].lane].small ? UL_SLOT_SMALL
                                                                      : UL_SLOT_LARGE;
}

/* Bytes of a free block that a release could give back: all of a whole segment, the whole units
 * of an expandable one. */
static uint64_t returnable(const native *n, const native_block *b) {
  if (n->segments.items[b->segment].expandable)
    return ul_native_whole_units(n, b);
  return b->prev || b->next ? 0 : b->bytes;
}

static uint64_t *returnable_total(native *n, const native_block *b) {
  const native_lane *lane = &n->lanes.items[n->segments.items[b->segment].lane];
  const native_pool *pool = &n->pools.items[lane->pool];

  return pool->id && !pool->freeable ? &n->totals.held_bytes : &n->totals.releasable_bytes;
}

int ul_native_put_free(native *n, uint32_t block) {
  native_block *b = &n->blocks.items[block];
  ul_free_entry entry = {b->bytes, b->tie, block};
  native_lane *lane = &n->lanes.items[n->segments.items[b->segment].lane];

  if (!ul_free_set_insert(&lane->free, entry))
    return 0;
  b->gc_base = n->pools.items[lane->pool].searches[lane->small];
  *returnable_total(n, b) += returnable(n, b);
  return 1;
}

void ul_native_take_free(native *n, uint32_t block) {
  native_block *b = &n->blocks.items[block];
  native_lane *lane = &n->lanes.items[n->segments.items[b->segment].lane];

  ul_free_set_remove(&lane->free, b->bytes, b->tie);
  *returnable_total(n, b) -= returnable(n, b);
}

void ul_native_take_found(native *n, uint32_t block, ul_free_at at) {
  native_block *b = &n->blocks.items[block];

  ul_free_set_take(&n->lanes.items[n->segments.items[b->segment].lane].free, at);
  *returnable_total(n, b) -= returnable(n, b);
}

int ul_native_put_unmapped(native *n, uint32_t block) {
  native_block *b = &n->blocks.items[block];
  ul_free_entry entry = {UNMAPPED_KEY, b->address, block};
  native_lane *lane = &n->lanes.items[n->segments.items[b->segment].lane];

  b->flags = BLOCK_UNMAPPED;
  return ul_free_set_insert(&lane->unmapped, entry);
}

void ul_native_take_unmapped(native *n, uint32_t block) {
  native_block *b = &n->blocks.items[block];
  native_lane *lane = &n->lanes.items[n->segments.items[b->segment].lane];

  ul_free_set_remove(&lane->unmapped, UNMAPPED_KEY, b->address);
}

void ul_native_recount(native *n) {
  size_t i;

  n->totals.releasable_bytes = n->totals.held_bytes = 0;
  for (i = 1; i < n->blocks.count; i++) {
    const native_block *b = &n->blocks.items[i];
    if (ul_native_is_free(b))
      *returnable_total(n, b) += returnable(n, b);
  }
}

int ul_native_log_call(native *n, int kind, uint64_t address, uint64_t bytes, uint32_t stream) {
  ul_driver_call call = {address, bytes, stream, (uint8_t)kind};

  return UL_VEC_PUSH(&n->calls, call);
}
