/* SPDX-License-Identifier: MIT */
/* Garbage collection (allocator-spec 3.5): above a threshold of the memory fraction, whole cached
 * segments of the default large pool that were not used for long go back before the driver is asked
 * for more. */
#include "allocator/native_fast.h"

int ul_native_collects(const native *n) {
  return n->limit_bytes != UINT64_MAX && n->settings.gc_threshold > 0.0;
}

static int is_collectable(const native *n, uint32_t block) {
  const native_block *b = &n->blocks.items[block];
  return !(b->prev | b->next) && !(b->flags & BLOCK_EXPANDABLE);
}

static uint32_t age_of(const native *n, uint32_t block) {
  return n->pools.items[0].searches[0] - n->blocks.items[block].gc_base;
}

/* One walk over the pool in set order: collects every whole block at least `least_age` old. What
 * was reclaimed, aged and counted is taken off. */
static int collect_pass(native *n, double least_age, uint64_t *reclaimed, uint64_t *ages,
                        uint64_t *count) {
  size_t i;

  n->scratch.count = 0;
  for (i = 0; i < n->pools.items[0].lanes[0].count; i++) {
    ul_free_set *set = &n->lanes.items[n->pools.items[0].lanes[0].items[i]].free;
    ul_free_entry entry;
    ul_free_at at;
    for (entry = ul_free_set_first(set, &at); entry.block; entry = ul_free_set_next(set, &at)) {
      if (is_collectable(n, entry.block) && (double)age_of(n, entry.block) >= least_age &&
          !UL_VEC_PUSH(&n->scratch, entry.block))
        return 0;
    }
  }
  for (i = 0; i < n->scratch.count; i++) {
    *reclaimed += n->blocks.items[n->scratch.items[i]].bytes;
    *ages -= age_of(n, n->scratch.items[i]);
    *count -= 1;
    if (!ul_native_return_segment(n, n->scratch.items[i]))
      return 0;
  }
  return 1;
}

int ul_native_collect(native *n) {
  const uint64_t threshold = (uint64_t)(n->settings.gc_threshold * (double)n->limit_bytes);
  uint64_t target, reclaimed = 0, before, ages = 0, count = 0;
  size_t i;

  if (n->reserved_bytes <= threshold)
    return 1;
  target = n->reserved_bytes - threshold;
  for (i = 0; i < n->pools.items[0].lanes[0].count; i++) {
    ul_free_set *set = &n->lanes.items[n->pools.items[0].lanes[0].items[i]].free;
    ul_free_entry entry;
    ul_free_at at;
    for (entry = ul_free_set_first(set, &at); entry.block; entry = ul_free_set_next(set, &at)) {
      if (is_collectable(n, entry.block)) {
        ages += age_of(n, entry.block);
        count++;
      }
    }
  }
  do {
    before = reclaimed;
    if (count && !collect_pass(n, (double)ages / (double)count, &reclaimed, &ages, &count))
      return 0;
  } while (reclaimed < target && reclaimed > before && count);
  return 1;
}
