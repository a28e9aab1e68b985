/* SPDX-License-Identifier: MIT */
/* What the naive twin tells beside placements: statistics, history, driver calls, totals. */
#include <string.h>

#include "allocator/naive.h"
#include "allocator/sizing.h"
#include "base/units.h"

void ul_naive_up(naive *n, ul_stat_array array, int small, uint64_t by) {
  ul_stat_increase(&n->statistics, array, ul_naive_slot(small), by);
}

void ul_naive_down(naive *n, ul_stat_array array, int small, uint64_t by) {
  ul_stat_decrease(&n->statistics, array, ul_naive_slot(small), by);
}

void ul_naive_count(naive *n, ul_stat_counter counter) {
  n->statistics.counters[counter]++;
}

/* The figures of a private pool; NULL for the default pool, and in releases without them. */
static ul_stat_values *pool_values(naive *n, uint32_t pool) {
  naive_reserved fresh = {.pool = pool};
  size_t i, k;

  if (!pool || !n->profile->pool_statistics)
    return NULL;
  for (i = 0; i < n->reserved.count && n->reserved.items[i].pool < pool; i++)
    ;
  if (i < n->reserved.count && n->reserved.items[i].pool == pool)
    return n->reserved.items[i].values;
  if (!UL_VEC_PUSH(&n->reserved, fresh)) {
    n->nomem = 1;
    return NULL;
  }
  for (k = n->reserved.count - 1; k > i; k--)
    n->reserved.items[k] = n->reserved.items[k - 1];
  n->reserved.items[i] = fresh;
  return n->reserved.items[i].values;
}

void ul_naive_reserve(naive *n, const naive_segment *s, uint64_t bytes) {
  ul_stat_values *own = pool_values(n, s->pool);

  ul_naive_up(n, UL_STAT_RESERVED_BYTES, s->small, bytes);
  if (own) {
    ul_stat_increase_one(&own[UL_SLOT_ALL], bytes);
    ul_stat_increase_one(&own[ul_naive_slot(s->small)], bytes);
  }
}

void ul_naive_unreserve(naive *n, const naive_segment *s, uint64_t bytes) {
  ul_stat_values *own = pool_values(n, s->pool);

  ul_naive_down(n, UL_STAT_RESERVED_BYTES, s->small, bytes);
  if (own) {
    ul_stat_decrease_one(&own[UL_SLOT_ALL], bytes);
    ul_stat_decrease_one(&own[ul_naive_slot(s->small)], bytes);
  }
}

void ul_naive_note(naive *n, ul_action action, uint64_t address, uint64_t bytes, uint32_t stream) {
  if (!ul_history_note(&n->history, action, address, bytes, stream))
    n->nomem = 1;
}

void ul_naive_note_end(naive *n, ul_action action, const naive_segment *s, const naive_block *b) {
  const uint64_t bytes = action == UL_ACTION_SEGMENT_FREE ? s->bytes : b->requested;

  if (!ul_history_note_end(&n->history, action, b->address, bytes, s->stream, b->chain))
    n->nomem = 1;
}

void ul_naive_call(naive *n, int kind, uint64_t address, uint64_t bytes, uint32_t stream) {
  const ul_driver_call call = {address, bytes, stream, (uint8_t)kind};

  if (kind >= UL_DRIVER_RANGE_RESERVE && !n->every_call)
    return;
  if (!UL_VEC_PUSH(&n->calls, call))
    n->nomem = 1;
}

static size_t add(ul_stat *out, size_t capacity, size_t count, const char *name, uint64_t value) {
  if (count < capacity) {
    out[count].name = name;
    out[count].value = value;
  }
  return count + 1;
}

size_t ul_naive_stats(const void *state, ul_stat *out, size_t capacity) {
  const naive *n = state;
  size_t count = ul_statistics_list(&n->statistics, out, capacity);

  if (n->profile->oom_rejections)
    count = add(out, capacity, count, "num_oom_rejections", n->oom_rejections);
  return add(out, capacity, count, "max_split_size", n->max_split_shown);
}

int ul_naive_pool_reserved(const void *state, size_t index, uint32_t *pool, uint64_t values[12]) {
  const naive *n = state;
  size_t i;

  if (index >= n->reserved.count)
    return 0;
  *pool = n->reserved.items[index].pool;
  for (i = 0; i < UL_SLOT_COUNT; i++) {
    const ul_stat_values *v = &n->reserved.items[index].values[i];
    values[i * 4] = v->current;
    values[i * 4 + 1] = v->peak;
    values[i * 4 + 2] = v->allocated;
    values[i * 4 + 3] = v->freed;
  }
  return 1;
}

void ul_naive_reset_peak(void *state) {
  naive *n = state;
  size_t i, slot;

  ul_statistics_reset_peak(&n->statistics);
  for (i = 0; i < n->reserved.count; i++) {
    for (slot = 0; slot < UL_SLOT_COUNT; slot++)
      n->reserved.items[i].values[slot].peak = n->reserved.items[i].values[slot].current;
  }
}

void ul_naive_reset_accumulated(void *state) {
  naive *n = state;
  size_t i, slot;

  for (i = 0; i < UL_STAT_ARRAY_COUNT; i++) {
    for (slot = 0; slot < UL_SLOT_COUNT; slot++)
      n->statistics.arrays[i][slot].allocated = n->statistics.arrays[i][slot].freed = 0;
  }
  for (i = 0; i < UL_STAT_SINGLE_COUNT; i++)
    n->statistics.singles[i].allocated = n->statistics.singles[i].freed = 0;
  for (i = 0; i < n->reserved.count; i++) {
    for (slot = 0; slot < UL_SLOT_COUNT; slot++)
      n->reserved.items[i].values[slot].allocated = n->reserved.items[i].values[slot].freed = 0;
  }
  memset(n->statistics.counters, 0, sizeof(n->statistics.counters));
  n->oom_rejections = 0;
}

/* ---- totals ---- */

/* What a flush would give back of a free block. */
static uint64_t releasable(const naive_segment *s, const naive_block *b) {
  const uint64_t unit = s->unit, start = b->address - s->address;
  const uint64_t first = ul_round_up(start, unit), last = (start + b->bytes) / unit * unit;

  if (s->expandable)
    return last > first ? last - first : 0;
  return s->blocks.count == 1 ? b->bytes : 0;
}

static int is_freeable(const naive *n, uint32_t pool) {
  const ul_pool *p = ul_pools_find(&n->pools, pool);

  return !pool || (p && p->freeable);
}

/* No more than the block holds: the settings may be others by now. */
static uint64_t live_rounded(const naive *n, const naive_block *b) {
  const uint64_t rounded = ul_round_request(b->requested, &n->settings, n->profile);

  return rounded < b->bytes ? rounded : b->bytes;
}

void ul_naive_count_totals(naive *n) {
  ul_totals t = {0};
  size_t i, j;

  for (i = 0; i < n->segments.count; i++) {
    const naive_segment *s = &n->segments.items[i];
    t.segment_count += !s->expandable;
    for (j = 0; j < s->blocks.count; j++) {
      const naive_block *b = &s->blocks.items[j];
      if (b->is == NAIVE_UNMAPPED)
        continue;
      t.reserved_bytes += b->bytes;
      if (b->is == NAIVE_FREE) {
        *(is_freeable(n, s->pool) ? &t.releasable_bytes : &t.held_bytes) += releasable(s, b);
        continue;
      }
      t.active_bytes += b->bytes;
      t.requested_bytes += b->requested;
      if (b->is == NAIVE_ALLOCATED) {
        t.allocated_bytes += b->bytes;
        t.live_bytes += b->requested;
        t.live_rounded_bytes += live_rounded(n, b);
      }
    }
  }
  n->totals = t;
}
