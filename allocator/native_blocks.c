/* SPDX-License-Identifier: MIT */
/* Blocks, segments, lanes and pools of the native allocator, and the sums over free memory. */
#include <string.h>

#include "allocator/native_fast.h"

enum {
  /* Unmapped blocks are in order of address alone: all have this size in their set. */
  UNMAPPED_KEY = 1,
  /* An index by units takes a quarter of a MiB; lanes past these find sizes by directory. */
  UNIT_LANES = 64,
  FEW_HANDLES = 256,
  BLOCKS_AT_ONCE = 16,
};

uint32_t ul_native_grow_blocks(native *n) {
  const native_block dead = {.flags = BLOCK_DEAD};
  uint32_t first, i;

  while (n->blocks.count <= NO_BLOCK) {
    if (!UL_VEC_PUSH(&n->blocks, dead))
      return 0;
    /* A free of what is not live finds it, and goes the careful way. */
    n->blocks.items[n->blocks.count - 1].uses = 1;
  }
  if (n->blocks.count > UINT32_MAX - BLOCKS_AT_ONCE || !UL_VEC_RESERVE(&n->blocks, BLOCKS_AT_ONCE))
    return 0;
  first = (uint32_t)n->blocks.count;
  for (i = 0; i < BLOCKS_AT_ONCE; i++) {
    n->blocks.items[first + i] = dead;
    n->blocks.items[first + i].next = i + 1 < BLOCKS_AT_ONCE ? first + i + 1 : n->dead_block;
  }
  n->blocks.count += BLOCKS_AT_ONCE;
  n->dead_block = first + 1; /* the first is handed out */
  return first;
}

/* At least one dead index, which the short way asks for. */
int ul_native_keep_dead_block(native *n) {
  uint32_t block;

  if (n->dead_block)
    return 1;
  block = ul_native_grow_blocks(n);
  if (block)
    ul_native_block_delete(n, block);
  return block != 0;
}

/* Room for a handle and as many again: the next ones are met by the short way. */
int ul_native_make_room_for(native *n, uint64_t handle) {
  const size_t wanted = handle < FEW_HANDLES ? FEW_HANDLES : (size_t)handle * 2;

  if (handle < n->block_of.count)
    return 1;
  if (!UL_VEC_RESERVE(&n->block_of, wanted - n->block_of.count))
    return 0;
  memset(&n->block_of.items[n->block_of.count], 0,
         (wanted - n->block_of.count) * sizeof(*n->block_of.items));
  n->block_of.count = wanted;
  n->block_of.items[0] = NO_BLOCK;
  return 1;
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

/* Whether flushes leave the pool's memory alone. */
static int is_held(const native *n, uint32_t id) {
  const ul_pool *pool = id ? ul_pools_find(&n->registry, id) : NULL;

  return id && !(pool && pool->freeable);
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
  fresh.pool_id = pool->id;
  fresh.stream = stream;
  fresh.small = (uint8_t)small;
  fresh.held = (uint8_t)is_held(n, pool->id);
  /* Sizes that are no multiples of 512 bytes exist in releases with odd divisions only. */
  if (small && !pool->id && !n->profile->odd_single_division && n->unit_lanes < UNIT_LANES) {
    n->unit_lanes++;
    ul_free_set_init(&fresh.free, UL_FREE_BY_UNITS);
  }
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
  const uint32_t index = ul_native_pool_of(n, pool);
  uint32_t lane;
  uint64_t key;

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
  fresh.unit = ul_native_unit(n, n->lanes.items[lane].small);
  fresh.per_unit = UINT64_MAX / (fresh.unit >> UNIT_SHIFT) + 1; /* 0 of 1 MiB */
  fresh.expandable = (uint8_t)expandable;
  fresh.alive = 1;
  fresh.registration = n->segment_number++;
  /* By address: ties are addresses. By segment: a running sum of sizes keeps all blocks of an
   * older segment below all blocks of a newer one. */
  fresh.tie_base = n->profile->tie == UL_TIE_SEGMENT ? n->segment_ties : address;
  n->segment_ties += bytes;
  n->segments.items[index] = fresh;
  if (expandable)
    n->lanes.items[lane].has_ranges = 1;
  return index;
}

void ul_native_segment_delete(native *n, uint32_t segment) {
  n->segments.items[segment].alive = 0;
  n->segments.items[segment].first_block = n->dead_segment;
  n->dead_segment = segment;
}

uint32_t ul_native_first_block(native *n, uint32_t segment) {
  const uint32_t block = ul_native_block_new(n);
  native_segment *s = &n->segments.items[segment];
  native_block fresh = {.address = s->address,
                        .bytes = s->bytes,
                        .tie = s->tie_base,
                        .segment = segment,
                        .lane = s->lane};

  if (!block)
    return 0;
  if (n->numbers_blocks)
    fresh.tie = ++n->block_number;
  if (n->lanes.items[s->lane].small)
    fresh.flags |= BLOCK_SMALL;
  if (s->expandable)
    fresh.flags |= BLOCK_EXPANDABLE;
  n->blocks.items[block] = fresh;
  s->first_block = block;
  return ul_native_object_new(n, block) ? block : 0;
}

int ul_native_put_unmapped(native *n, uint32_t block) {
  native_block *b = &n->blocks.items[block];
  ul_free_entry entry = {UNMAPPED_KEY, b->address, block};

  b->flags = (uint16_t)((b->flags & BLOCK_OF_SEGMENT) | BLOCK_UNMAPPED);
  return ul_free_set_insert(&n->lanes.items[b->lane].unmapped, entry);
}

void ul_native_take_unmapped(native *n, uint32_t block) {
  const native_block *b = &n->blocks.items[block];

  ul_free_set_remove(&n->lanes.items[b->lane].unmapped, UNMAPPED_KEY, b->address);
}

void ul_native_recount(native *n) {
  size_t i;

  n->whole_bytes[0] = n->whole_bytes[1] = n->tail_bytes = 0;
  for (i = 1; i < n->blocks.count; i++) {
    native_block *b = &n->blocks.items[i];
    b->flags &= (uint16_t)~BLOCK_TAIL;
    if (ul_native_is_free(b))
      n->whole_bytes[n->lanes.items[b->lane].held] += ul_native_returnable(n, b);
    else if (b->flags & BLOCK_ALLOCATED)
      ul_native_add_tail(n, b);
  }
}

static void set_careful(native *n, uint32_t bit, int on) {
  n->careful = on ? n->careful | bit : n->careful & ~bit;
}

void ul_native_settings_changed(native *n) {
  set_careful(n, CAREFUL_COLLECTS, ul_native_collects(n));
  set_careful(n, CAREFUL_MAX_SPLIT, n->settings.max_split_bytes != UINT64_MAX);
  n->unsplit_limit[1] = ul_unsplit_limit(&n->settings, 1, UL_MIN_BLOCK_BYTES);
  n->unsplit_limit[0] = ul_unsplit_limit(&n->settings, 0, UL_MIN_BLOCK_BYTES);
  n->plain_rounding = !n->settings.any_divisions;
}

void ul_native_pools_changed(native *n) {
  const ul_pools *r = &n->registry;
  int special = 0, moved = 0;
  size_t i;

  for (i = 0; i < r->pools.count; i++)
    special |= r->pools.items[i].no_split | r->pools.items[i].custom;
  for (i = 1; i < n->lanes.count; i++) {
    native_lane *lane = &n->lanes.items[i];
    const uint8_t held = (uint8_t)is_held(n, lane->pool_id);
    moved |= held != lane->held;
    lane->held = held;
  }
  set_careful(n, CAREFUL_POOLS, special);
  set_careful(n, CAREFUL_ROUTED, r->routings.count || ul_pools_suspended(r));
  if (moved)
    ul_native_recount(n);
}
