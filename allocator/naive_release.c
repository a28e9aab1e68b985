/* SPDX-License-Identifier: MIT */
/* The naive twin gives memory back: flushes, oversize blocks, garbage collection. */
#include <string.h>

#include "allocator/naive.h"
#include "base/units.h"

typedef UL_VEC(uint64_t) addresses;

static void less_driver_memory(naive *n, uint32_t pool) {
  ul_pool *p = pool ? ul_pools_find(&n->pools, pool) : NULL;

  if (p && !p->driver_allocations)
    n->broken = "a private pool gives memory back more often than the driver was asked for it";
  else if (p)
    p->driver_allocations--;
}

/* A segment whose one block is free goes back to the driver. */
static void return_segment(naive *n, size_t index) {
  const naive_segment *s = &n->segments.items[index];

  ul_naive_call(n, UL_DRIVER_SEGMENT_FREE, s->address, s->bytes, s->stream);
  ul_device_free(&n->device, s->address, s->bytes);
  ul_naive_count(n, UL_STAT_NUM_DEVICE_FREE);
  ul_naive_note_end(n, UL_ACTION_SEGMENT_FREE, s, &s->blocks.items[0]);
  ul_naive_down(n, UL_STAT_SEGMENT, s->small, 1);
  ul_naive_unreserve(n, s, s->bytes);
  if (s->bytes >= n->settings.max_split_bytes)
    ul_stat_decrease_one(&n->statistics.singles[UL_STAT_OVERSIZE_SEGMENTS], 1);
  less_driver_memory(n, s->pool);
  ul_naive_drop_segment(n, index);
}

/* ---- units of expandable segments ---- */

/* Cuts bytes off the front (or, with from_end, the end) of a free block as a free block of its
 * own. p goes on naming the block. */
static void cut_free(naive *n, naive_place *p, uint64_t bytes, int from_end) {
  naive_segment *s = ul_naive_segment(n, *p);
  naive_block *part = ul_naive_insert(n, s, p->block + (from_end != 0)), *b;

  if (n->nomem)
    return;
  p->block += !from_end;
  b = ul_naive_at(n, *p);
  b->bytes -= bytes;
  part->address = from_end ? b->address + b->bytes : b->address;
  b->address += from_end ? 0 : bytes;
  part->bytes = bytes;
  part->is = NAIVE_FREE;
  ul_naive_enter_free(n, s, part);
}

/* Unmaps the whole units of a free block. */
static void unmap(naive *n, naive_place p) {
  naive_segment *s = ul_naive_segment(n, p);
  const uint64_t unit = s->unit, start = ul_naive_at(n, p)->address - s->address;
  const uint64_t end = start + ul_naive_at(n, p)->bytes;
  const uint64_t first = ul_round_up(start, unit), last = end / unit * unit;
  const naive_block *b;

  if (last <= first)
    return;
  if (first > start)
    cut_free(n, &p, first - start, 0);
  if (end > last)
    cut_free(n, &p, end - last, 1);
  if (n->nomem)
    return;
  ul_naive_at(n, p)->is = NAIVE_UNMAPPED;
  b = ul_naive_at(n, p);
  ul_naive_call(n, UL_DRIVER_SEGMENT_UNMAP, b->address, b->bytes, s->stream);
  ul_device_unmap(&n->device, b->address, b->bytes);
  ul_waits_unmapped(&n->waits, s->stream);
  ul_naive_unreserve(n, s, b->bytes);
  less_driver_memory(n, s->pool);
  ul_naive_count(n, UL_STAT_NUM_DEVICE_FREE);
  ul_naive_note(n, UL_ACTION_SEGMENT_UNMAP, b->address, b->bytes, s->stream);
  ul_naive_merge(n, s, p.block);
  if (s->blocks.count == 1) {
    ul_naive_call(n, UL_DRIVER_RANGE_RELEASE, s->address, s->bytes, s->stream);
    ul_device_unreserve(&n->device, s->address);
    ul_naive_drop_segment(n, p.segment);
  }
}

/* ---- flushes ---- */

/* The addresses of one pool's free blocks, of all streams, in set order: either whole cudaMalloc
 * segments or expandable blocks. */
static addresses listed(naive *n, uint32_t pool, int small, int expandable) {
  addresses found = {NULL, 0, 0};
  uint64_t stream;
  size_t i;

  for (stream = 0; ul_naive_next_stream(n, &stream); stream++) {
    naive_places list = ul_naive_free_blocks(n, pool, (uint32_t)stream, small);
    for (i = 0; i < list.count; i++) {
      const naive_segment *s = ul_naive_segment(n, list.items[i]);
      if (s->expandable != expandable || (!expandable && s->blocks.count > 1))
        continue;
      if (!UL_VEC_PUSH(&found, ul_naive_at(n, list.items[i])->address))
        n->nomem = 1;
    }
    UL_VEC_RELEASE(&list);
  }
  return found;
}

/* The free block at an address, cudaMalloc or expandable. */
static naive_place free_block_at(const naive *n, uint64_t address, int expandable) {
  naive_place p = {0, 0};

  for (; p.segment < n->segments.count; p.segment++) {
    const naive_segment *s = ul_naive_segment(n, p);
    for (p.block = 0; s->expandable == expandable && p.block < s->blocks.count; p.block++) {
      if (s->blocks.items[p.block].address == address && s->blocks.items[p.block].is == NAIVE_FREE)
        return p;
    }
  }
  return p;
}

static void release_pool(naive *n, uint32_t pool, int small) {
  addresses whole = listed(n, pool, small, 0), units = listed(n, pool, small, 1);
  size_t i;

  for (i = 0; !n->nomem && i < whole.count; i++)
    return_segment(n, free_block_at(n, whole.items[i], 0).segment);
  for (i = 0; !n->nomem && i < units.count; i++)
    unmap(n, free_block_at(n, units.items[i], 1));
  UL_VEC_RELEASE(&whole);
  UL_VEC_RELEASE(&units);
}

/* Nothing of the pool is left: it is gone, and what is counted for it begins anew. Ranges of
 * address space that never were mapped are lost with it. */
static void destroy_pool(naive *n, ul_pool *pool) {
  size_t i, kept = 0;

  for (i = n->segments.count; i-- > 0;) {
    const naive_segment *s = &n->segments.items[i];
    if (s->pool != pool->id)
      continue;
    if (s->blocks.count > 1 || s->blocks.items[0].is != NAIVE_UNMAPPED)
      n->broken = "a private pool was destroyed while it held memory";
    else
      ul_naive_drop_segment(n, i);
  }
  for (i = 0; i < n->searches.count; i++) {
    if (n->searches.items[i].pool != pool->id)
      n->searches.items[kept++] = n->searches.items[i];
  }
  n->searches.count = kept;
  ul_pools_destroy(&n->pools, pool);
}

static void wait_for(naive *n, uint32_t pool) {
  if (!ul_waits_wait(&n->waits, pool))
    n->nomem = 1;
  ul_naive_free_done(n);
}

/* alone: it was asked for by name, and its events are waited for. */
static void release_private(naive *n, uint32_t id, int alone, const char **reason) {
  ul_pool *pool = ul_pools_find(&n->pools, id);

  if (alone) {
    ul_naive_count(n, UL_STAT_NUM_SYNC_ALL_STREAMS);
    if (ul_pools_suspended(&n->pools)) {
      *reason = "a private pool is emptied while requests go to one";
      return;
    }
    wait_for(n, id);
  }
  if (pool->uses < 0) {
    *reason = "a private pool that was released too often is emptied";
    return;
  }
  release_pool(n, id, 1);
  release_pool(n, id, 0);
  if (!pool->driver_allocations)
    destroy_pool(n, pool);
}

void ul_naive_flush(naive *n, uint32_t pool, const char **reason) {
  const int suspended = ul_pools_suspended(&n->pools);
  UL_VEC(uint32_t) freeable = {NULL, 0, 0};
  uint32_t id;
  size_t i, at = 0;

  *reason = NULL;
  if (!pool && !(suspended && n->profile->suspended_flush_skips)) {
    ul_naive_count(n, UL_STAT_NUM_SYNC_ALL_STREAMS);
    if (suspended) {
      *reason = "the cache is emptied while requests go to a private pool";
      return;
    }
    wait_for(n, UL_WAITS_EVERY_POOL);
    release_pool(n, 0, 0);
    release_pool(n, 0, 1);
  }
  while ((id = ul_pools_next_freeable(&n->pools, &at)) != 0) {
    if ((!pool || id == pool) && !UL_VEC_PUSH(&freeable, id))
      n->nomem = 1;
  }
  for (i = 0; !n->nomem && !n->broken && !*reason && i < freeable.count; i++)
    release_private(n, freeable.items[i], pool != 0, reason);
  UL_VEC_RELEASE(&freeable);
}

/* ---- max_split_size ---- */

/* Returns the block, if the real library could. */
static int release_oversize_block(naive *n, naive_place p) {
  const naive_segment *s = ul_naive_segment(n, p);

  if (s->expandable)
    n->error = "an oversize block of an expandable segment is to be released";
  else if (s->blocks.count > 1)
    n->broken = "a block that max_split_size_mb counts as oversize was split before it was set";
  else
    return_segment(n, p.segment);
  return !n->broken && !n->error;
}

int ul_naive_release_oversize(naive *n, const naive_request *r) {
  const uint64_t limit = n->settings.max_split_bytes;
  const uint64_t wanted = r->rounded > limit ? r->rounded : limit;
  const int skips = n->profile->oversize_skips_expandable;
  naive_places list;
  uint64_t freed = 0;
  size_t i, j;

  if (limit == UINT64_MAX)
    return 0;
  n->next_number += n->profile->keys_are_numbered;
  list = ul_naive_free_blocks(n, r->pool, r->stream, r->small);
  for (i = 0; i < list.count && ul_naive_at(n, list.items[i])->bytes < wanted; i++)
    ;
  if (i < list.count && !(skips && ul_naive_segment(n, list.items[i])->expandable)) {
    release_oversize_block(n, list.items[i]);
    UL_VEC_RELEASE(&list);
    return !n->broken && !n->error;
  }
  while (i-- > 0 && freed < wanted && ul_naive_at(n, list.items[i])->bytes >= limit) {
    const size_t gone = list.items[i].segment;
    if (skips && n->segments.items[gone].expandable)
      continue;
    freed += ul_naive_at(n, list.items[i])->bytes;
    if (!release_oversize_block(n, list.items[i]))
      break;
    for (j = 0; j < i; j++)
      list.items[j].segment -= list.items[j].segment > gone;
  }
  UL_VEC_RELEASE(&list);
  return !n->broken && !n->error && freed >= wanted;
}

/* ---- garbage collection ---- */

static int is_collectable(const naive_segment *s) {
  return !s->pool && !s->small && !s->expandable && s->blocks.count == 1 &&
         s->blocks.items[0].is == NAIVE_FREE;
}

/* One pass: what is at least as old as the average goes, however much that is. */
static uint64_t collect_pass(naive *n, double average, uint64_t *ages, uint64_t *count) {
  uint64_t got = 0, age;
  uint64_t stream;
  size_t i, j;

  for (stream = 0; *count && ul_naive_next_stream(n, &stream); stream++) {
    naive_places list = ul_naive_free_blocks(n, 0, (uint32_t)stream, 0);
    for (i = 0; i < list.count; i++) {
      const size_t gone = list.items[i].segment;
      const naive_segment *s = &n->segments.items[gone];
      age = ul_naive_age(n, s, ul_naive_at(n, list.items[i]));
      if (!is_collectable(s) || (double)age < average)
        continue;
      got += s->bytes;
      *ages -= age;
      --*count;
      return_segment(n, gone);
      for (j = i + 1; j < list.count; j++)
        list.items[j].segment -= list.items[j].segment > gone;
    }
    UL_VEC_RELEASE(&list);
  }
  return got;
}

void ul_naive_collect(naive *n) {
  const uint64_t threshold = (uint64_t)(n->settings.gc_threshold * (double)n->limit);
  uint64_t target, got = 0, now, ages = 0, count = 0;
  size_t i;

  if (ul_naive_total(n) <= threshold)
    return;
  target = ul_naive_total(n) - threshold;
  for (i = 0; i < n->segments.count; i++) {
    const naive_segment *s = &n->segments.items[i];
    if (is_collectable(s)) {
      ages += ul_naive_age(n, s, &s->blocks.items[0]);
      count++;
    }
  }
  while (count && got < target) {
    now = collect_pass(n, (double)ages / (double)count, &ages, &count);
    got += now;
    if (!now)
      break;
  }
}
