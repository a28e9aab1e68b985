/* SPDX-License-Identifier: MIT */
/* What the native allocator tells beside placements: statistics, put together from its tallies,
 * history and driver calls. */
#include <string.h>

#include "allocator/native_fast.h"

/* Columns of native.allocated_base. */
enum { BASE_REQUESTED = 4 }; /* after the four of the tally */

static ul_stat_values values(uint64_t current, uint64_t peak, uint64_t freed, int64_t base) {
  const ul_stat_values v = {current, peak, current + freed - (uint64_t)base, freed};

  return v;
}

static uint64_t larger(uint64_t a, uint64_t b) {
  return a > b ? a : b;
}

void ul_native_tally_of(const native *n, int slot, native_tally *out) {
  const native_tally *small = &n->tallies[UL_SLOT_SMALL], *large = &n->tallies[UL_SLOT_LARGE];

  *out = n->tallies[slot];
  if (slot != UL_SLOT_ALL)
    return;
  out->current = small->current + large->current;
  out->freed = small->freed + large->freed;
  out->requested = small->requested + large->requested;
  out->requested_freed = small->requested_freed + large->requested_freed;
}

static void fill_slot(const native *n, int slot, ul_statistics *out) {
  const native_waiting *w = &n->waiting[slot];
  const int64_t *base = n->allocated_base[slot];
  native_tally t;
  ul_stat_values v[4];
  int i;

  ul_native_tally_of(n, slot, &t);
  for (i = 0; i < 4; i++)
    v[i] = values((uint64_t)t.current[i], (uint64_t)t.peak[i], (uint64_t)t.freed[i], base[i]);
  out->arrays[UL_STAT_ALLOCATION][slot] = v[0];
  out->arrays[UL_STAT_ALLOCATED_BYTES][slot] = v[1];
  out->arrays[UL_STAT_INACTIVE_SPLIT][slot] = v[2];
  out->arrays[UL_STAT_INACTIVE_SPLIT_BYTES][slot] = v[3];
  /* A block is active until its free is complete: what waits is not freed yet. What waited at the
   * last reset and does no more was freed since. */
  v[0].current += w->count;
  v[0].allocated += w->count_at_load;
  v[0].freed += w->count_at_reset - w->count;
  v[0].peak = larger(v[0].peak, w->peak_count);
  v[1].current += w->bytes;
  v[1].allocated += w->bytes_at_load;
  v[1].freed += w->bytes_at_reset - w->bytes;
  v[1].peak = larger(v[1].peak, w->peak_bytes);
  out->arrays[UL_STAT_ACTIVE][slot] = v[0];
  out->arrays[UL_STAT_ACTIVE_BYTES][slot] = v[1];
  out->arrays[UL_STAT_REQUESTED_BYTES][slot] =
      values((uint64_t)t.requested, (uint64_t)t.requested_peak, (uint64_t)t.requested_freed,
             base[BASE_REQUESTED]);
}

void ul_native_statistics(const native *n, ul_statistics *out) {
  int slot;

  *out = n->statistics;
  for (slot = 0; slot < UL_SLOT_COUNT; slot++)
    fill_slot(n, slot, out);
}

static size_t add(ul_stat *out, size_t capacity, size_t count, const char *name, uint64_t value) {
  if (count < capacity) {
    out[count].name = name;
    out[count].value = value;
  }
  return count + 1;
}

size_t ul_native_stats(const void *state, ul_stat *out, size_t capacity) {
  const native *n = state;
  ul_statistics all;
  size_t count;

  ul_native_statistics(n, &all);
  count = ul_statistics_list(&all, out, capacity);
  if (n->profile->oom_rejections)
    count = add(out, capacity, count, "num_oom_rejections", n->oom_rejections);
  return add(out, capacity, count, "max_split_size", n->max_split_shown);
}

/* ---- reserved bytes ---- */

void ul_native_reserve(native *n, uint32_t lane, uint64_t bytes) {
  const int slot = n->lanes.items[lane].small ? UL_SLOT_SMALL : UL_SLOT_LARGE;
  native_pool *pool = &n->pools.items[n->lanes.items[lane].pool];

  n->reserved_bytes += bytes;
  ul_stat_increase(&n->statistics, UL_STAT_RESERVED_BYTES, slot, bytes);
  ul_stat_increase_one(&pool->reserved[UL_SLOT_ALL], bytes);
  ul_stat_increase_one(&pool->reserved[slot], bytes);
  pool->reserves = 1;
}

void ul_native_unreserve(native *n, uint32_t lane, uint64_t bytes) {
  const int slot = n->lanes.items[lane].small ? UL_SLOT_SMALL : UL_SLOT_LARGE;
  native_pool *pool = &n->pools.items[n->lanes.items[lane].pool];

  n->reserved_bytes -= bytes;
  ul_stat_decrease(&n->statistics, UL_STAT_RESERVED_BYTES, slot, bytes);
  ul_stat_decrease_one(&pool->reserved[UL_SLOT_ALL], bytes);
  ul_stat_decrease_one(&pool->reserved[slot], bytes);
}

/* The private pool with the next higher id that ever reserved; NULL: there is none. */
static const native_pool *next_pool(const native *n, uint32_t id) {
  const native_pool *next = NULL;
  size_t i;

  for (i = 0; i < n->pools.count; i++) {
    const native_pool *pool = &n->pools.items[i];
    if (pool->reserves && pool->id > id && (!next || pool->id < next->id))
      next = pool;
  }
  return next;
}

int ul_native_pool_reserved(const void *state, size_t index, uint32_t *pool, uint64_t values[12]) {
  const native *n = state;
  const native_pool *p = n->profile->pool_statistics ? next_pool(n, 0) : NULL;
  size_t i;

  for (; p && index; index--)
    p = next_pool(n, p->id);
  if (!p)
    return 0;
  *pool = p->id;
  for (i = 0; i < UL_SLOT_COUNT; i++) {
    values[i * 4] = p->reserved[i].current;
    values[i * 4 + 1] = p->reserved[i].peak;
    values[i * 4 + 2] = p->reserved[i].allocated;
    values[i * 4 + 3] = p->reserved[i].freed;
  }
  return 1;
}

/* ---- history and driver calls ---- */

int ul_native_note(native *n, ul_action action, uint64_t address, uint64_t bytes, uint32_t stream) {
  return ul_history_note(&n->history, action, address, bytes, stream);
}

int ul_native_note_end(native *n, ul_action action, uint32_t block) {
  const native_block *b = &n->blocks.items[block];
  const uint32_t chain = n->careful & CAREFUL_OBJECTS ? n->objects.items[block].chain : 0;
  const uint64_t bytes = action == UL_ACTION_SEGMENT_FREE ? b->bytes : b->requested_bytes;

  return ul_history_note_end(&n->history, action, b->address, bytes, n->lanes.items[b->lane].stream,
                             chain);
}

int ul_native_call(native *n, int kind, uint64_t address, uint64_t bytes, uint32_t stream) {
  const ul_driver_call call = {address, bytes, stream, (uint8_t)kind};

  return (kind >= UL_DRIVER_RANGE_RESERVE && !n->every_call) || UL_VEC_PUSH(&n->calls, call);
}

/* ---- resets ---- */

void ul_native_reset_peak(void *state) {
  native *n = state;
  size_t i;
  int slot;

  for (slot = 0; slot < UL_SLOT_COUNT; slot++) {
    native_waiting *w = &n->waiting[slot];
    native_tally t;
    ul_native_tally_of(n, slot, &t);
    n->tallies[slot].peak = t.current;
    n->tallies[slot].requested_peak = t.requested;
    w->peak_count = (uint64_t)t.current[0] + w->count;
    w->peak_bytes = (uint64_t)t.current[1] + w->bytes;
  }
  for (i = 0; i < n->pools.count; i++) {
    for (slot = 0; slot < UL_SLOT_COUNT; slot++)
      n->pools.items[i].reserved[slot].peak = n->pools.items[i].reserved[slot].current;
  }
  ul_statistics_reset_peak(&n->statistics);
}

void ul_native_reset_accumulated(void *state) {
  native *n = state;
  size_t at;
  int slot, i;

  for (slot = 0; slot < UL_SLOT_COUNT; slot++) {
    const native_four none = {0, 0, 0, 0};
    native_tally t;
    ul_native_tally_of(n, slot, &t);
    for (i = 0; i < 4; i++)
      n->allocated_base[slot][i] = t.current[i];
    n->allocated_base[slot][BASE_REQUESTED] = t.requested;
    n->tallies[slot].freed = none;
    n->tallies[slot].requested_freed = 0;
    n->waiting[slot].count_at_reset = n->waiting[slot].count;
    n->waiting[slot].bytes_at_reset = n->waiting[slot].bytes;
    n->waiting[slot].count_at_load = n->waiting[slot].bytes_at_load = 0;
  }
  for (at = 0; at < n->pools.count; at++) {
    for (slot = 0; slot < UL_SLOT_COUNT; slot++)
      n->pools.items[at].reserved[slot].allocated = n->pools.items[at].reserved[slot].freed = 0;
  }
  ul_statistics_reset_accumulated(&n->statistics);
  n->oom_rejections = 0;
}

const ul_totals *ul_native_totals(const void *state) {
  native *n = (native *)(uintptr_t)state; /* the shown sums are no part of the state */
  ul_totals *out = &n->totals;

  out->reserved_bytes = n->reserved_bytes;
  out->allocated_bytes = ul_native_allocated_bytes(n);
  out->active_bytes = out->allocated_bytes + n->waiting[UL_SLOT_ALL].bytes;
  out->requested_bytes =
      (uint64_t)(n->tallies[UL_SLOT_SMALL].requested + n->tallies[UL_SLOT_LARGE].requested);
  out->live_bytes = out->requested_bytes - n->waiting_requested - n->excess_requested;
  out->live_rounded_bytes = out->allocated_bytes - n->tail_bytes;
  out->releasable_bytes = n->whole_bytes[0];
  out->held_bytes = n->whole_bytes[1];
  out->segment_count = n->segment_count;
  return out;
}
