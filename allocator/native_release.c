/* SPDX-License-Identifier: MIT */
/* How memory goes back to the driver (allocator-spec 3.7, 3.8, 3.12, 3.13). */
#include "allocator/native_fast.h"

/* A request that maps memory counts once, every unmapping of a part of it, too: they may not
 * balance. Nor need what is counted of a recorded state, or of one that a recording's driver
 * answers. */
void ul_native_less_driver_memory(native *n, const native_lane *lane) {
  ul_pool *pool = lane->pool_id ? ul_pools_find(&n->registry, lane->pool_id) : NULL;

  if (pool && pool->driver_allocations)
    pool->driver_allocations--;
  else if (pool && !n->pools.items[lane->pool].uncounted && !n->device.grants)
    n->broken = "a private pool gives memory back more often than the driver was asked for it";
}

/* allocator-spec 3.12. */
int ul_native_return_segment(native *n, uint32_t block) {
  const native_block b = n->blocks.items[block];
  const native_lane *lane = &n->lanes.items[b.lane];

  ul_native_take_free(n, block);
  if (!ul_native_call(n, UL_DRIVER_SEGMENT_FREE, b.address, b.bytes, lane->stream))
    return 0;
  ul_device_free(&n->device, b.address, b.bytes);
  n->statistics.counters[UL_STAT_NUM_DEVICE_FREE]++;
  if (!ul_native_note_end(n, UL_ACTION_SEGMENT_FREE, block))
    return 0;
  ul_stat_decrease(&n->statistics, UL_STAT_SEGMENT, ul_native_slot(&b), 1);
  ul_native_unreserve(n, b.lane, b.bytes);
  if (b.bytes >= n->settings.max_split_bytes)
    ul_stat_decrease_one(&n->statistics.singles[UL_STAT_OVERSIZE_SEGMENTS], 1);
  n->segment_count--;
  ul_native_less_driver_memory(n, lane);
  ul_native_drop_object(n, block);
  ul_native_block_delete(n, block);
  ul_native_segment_delete(n, b.segment);
  return 1;
}

/* ---- flushes ---- */

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

static int release_kind(native *n, uint32_t pool, int small) {
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

/* Programs at their limit flush again and again: nothing is looked through where nothing is free.
 * index: of native.pools. */
static int release_cached(native *n, uint32_t index, int first_small) {
  return !n->whole_bytes[0] ||
         (release_kind(n, index, first_small) && release_kind(n, index, !first_small));
}

static int wait_for(native *n, uint32_t pool) {
  return ul_waits_wait(&n->waits, pool) && ul_native_free_done(n);
}

/* Nothing of the pool is left: it is gone, and what is counted for it begins anew. Ranges of
 * address space that never were mapped are lost with it. */
static int destroy_pool(native *n, native_pool *pool) {
  size_t i;

  for (i = 1; i < n->segments.count; i++) {
    const native_segment *s = &n->segments.items[i];
    const native_block *first;
    if (!s->alive || n->lanes.items[s->lane].pool_id != pool->id)
      continue;
    first = &n->blocks.items[s->first_block];
    if (first->next || !(first->flags & BLOCK_UNMAPPED))
      n->broken = "a private pool was destroyed while it held memory";
    else
      ul_native_forget_range(n, (uint32_t)i);
  }
  pool->searches[0] = pool->searches[1] = 0;
  pool->uncounted = 0;
  ul_pools_destroy(&n->registry, ul_pools_find(&n->registry, pool->id));
  ul_native_pools_changed(n);
  return 1;
}

static int is_used_up(const native_pool *pool, const ul_pool *entry) {
  return pool->uncounted ? !pool->reserved[UL_SLOT_ALL].current : !entry->driver_allocations;
}

/* alone: it was asked for by name, and its events are waited for. */
static int release_private(native *n, uint32_t id, int alone, const char **reason) {
  const uint32_t index = ul_native_pool_of(n, id);

  if (!index)
    return 0;
  if (alone) {
    n->statistics.counters[UL_STAT_NUM_SYNC_ALL_STREAMS]++;
    if (ul_pools_suspended(&n->registry)) {
      *reason = "a private pool is emptied while requests go to one";
      return 1;
    }
    if (!wait_for(n, id))
      return 0;
  }
  if (ul_pools_find(&n->registry, id)->uses < 0) {
    *reason = "a private pool that was released too often is emptied";
    return 1;
  }
  if (!release_cached(n, index - 1, 1))
    return 0;
  return is_used_up(&n->pools.items[index - 1], ul_pools_find(&n->registry, id))
             ? destroy_pool(n, &n->pools.items[index - 1])
             : 1;
}

/* Of the pools that nobody uses, all or the one with this id. */
static int release_freeable(native *n, uint32_t pool, const char **reason) {
  UL_VEC(uint32_t) ids = {NULL, 0, 0};
  size_t i, at = 0;
  uint32_t id;
  int done = 1;

  while (done && (id = ul_pools_next_freeable(&n->registry, &at)) != 0)
    done = (pool && id != pool) || UL_VEC_PUSH(&ids, id);
  for (i = 0; done && !n->broken && !*reason && i < ids.count; i++)
    done = release_private(n, ids.items[i], pool != 0, reason);
  UL_VEC_RELEASE(&ids);
  return done;
}

int ul_native_flush(native *n, uint32_t pool, const char **reason) {
  const int suspended = ul_pools_suspended(&n->registry);

  *reason = NULL;
  if (!pool && !(suspended && n->profile->suspended_flush_skips)) {
    n->statistics.counters[UL_STAT_NUM_SYNC_ALL_STREAMS]++;
    if (suspended) {
      *reason = "the cache is emptied while requests go to a private pool";
      return 1;
    }
    if (!wait_for(n, UL_WAITS_EVERY_POOL) || !release_cached(n, 0, 0))
      return 0;
  }
  return release_freeable(n, pool, reason);
}

/* ---- max_split_size (allocator-spec 3.7) ---- */

/* Returns the block, if the real library could. */
static int release_oversize_block(native *n, uint32_t block) {
  const native_block *b = &n->blocks.items[block];

  if (b->flags & BLOCK_EXPANDABLE)
    n->error = "an oversize block of an expandable segment is to be released";
  else if (b->prev | b->next)
    n->broken = "a block that max_split_size_mb counts as oversize was split before it was set";
  else
    return ul_native_return_segment(n, block);
  return 1;
}

int ul_native_release_oversize(native *n, const native_request *r, int *released) {
  ul_free_set *set = &n->lanes.items[r->lane].free;
  const uint64_t limit = n->settings.max_split_bytes;
  const uint64_t wanted = r->rounded > limit ? r->rounded : limit;
  const uint8_t passed_over = n->profile->oversize_skips_expandable ? BLOCK_EXPANDABLE : 0;
  ul_free_entry entry;
  uint64_t freed = 0;
  ul_free_at at;
  size_t i;

  *released = 0;
  if (limit == UINT64_MAX)
    return 1;
  n->block_number += n->profile->keys_are_numbered;
  entry = ul_free_set_lower_bound(set, wanted, &at);
  if (entry.block && !(n->blocks.items[entry.block].flags & passed_over)) {
    *released = 1;
    return release_oversize_block(n, entry.block);
  }
  n->scratch.count = 0;
  entry = entry.block ? ul_free_set_previous(set, &at) : ul_free_set_last(set, &at);
  for (; entry.block && freed < wanted && entry.bytes >= limit;
       entry = ul_free_set_previous(set, &at)) {
    if (n->blocks.items[entry.block].flags & passed_over)
      continue;
    freed += entry.bytes;
    if (!UL_VEC_PUSH(&n->scratch, entry.block))
      return 0;
  }
  for (i = 0; !n->error && !n->broken && i < n->scratch.count; i++) {
    if (!release_oversize_block(n, n->scratch.items[i]))
      return 0;
  }
  *released = freed >= wanted;
  return 1;
}
