/* SPDX-License-Identifier: MIT */
/* PyTorch's statistics of the native allocator, put together from its tallies. */
#include <string.h>

#include "allocator/native.h"

/* Columns of native.allocated_base. */
enum { BASE_REQUESTED = 4 }; /* after the four of the tally */

static ul_stat_values values(uint64_t current, uint64_t peak, uint64_t freed, int64_t base) {
  const ul_stat_values v = {current, peak, current + freed - (uint64_t)base, freed};

  return v;
}

static uint64_t larger(uint64_t a, uint64_t b) {
  return a > b ? a : b;
}

static void fill_slot(const native *n, int slot, ul_statistics *out) {
  const native_tally *t = &n->tallies[slot];
  const native_waiting *w = &n->waiting[slot];
  const int64_t *base = n->allocated_base[slot];
  ul_stat_values v[4];
  int i;

  for (i = 0; i < 4; i++)
    v[i] = values((uint64_t)t->current[i], (uint64_t)t->peak[i], (uint64_t)t->freed[i], base[i]);
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
      values((uint64_t)t->requested, (uint64_t)t->requested_peak, (uint64_t)t->requested_freed,
             base[BASE_REQUESTED]);
}

void ul_native_statistics(const native *n, ul_statistics *out) {
  int slot;

  *out = n->statistics;
  for (slot = 0; slot < UL_SLOT_COUNT; slot++)
    fill_slot(n, slot, out);
}

size_t ul_native_stats(const void *state, ul_stat *out, size_t capacity) {
  ul_statistics all;

  ul_native_statistics(state, &all);
  return ul_statistics_list(&all, out, capacity);
}

void ul_native_reset_peak(void *state) {
  native *n = state;
  int slot;

  for (slot = 0; slot < UL_SLOT_COUNT; slot++) {
    native_tally *t = &n->tallies[slot];
    native_waiting *w = &n->waiting[slot];
    t->peak = t->current;
    t->requested_peak = t->requested;
    w->peak_count = (uint64_t)t->current[0] + w->count;
    w->peak_bytes = (uint64_t)t->current[1] + w->bytes;
  }
  ul_statistics_reset_peak(&n->statistics);
}

void ul_native_reset_accumulated(void *state) {
  native *n = state;
  int slot, i;

  for (slot = 0; slot < UL_SLOT_COUNT; slot++) {
    native_tally *t = &n->tallies[slot];
    const native_four none = {0, 0, 0, 0};
    for (i = 0; i < 4; i++)
      n->allocated_base[slot][i] = t->current[i];
    n->allocated_base[slot][BASE_REQUESTED] = t->requested;
    t->freed = none;
    t->requested_freed = 0;
    n->waiting[slot].count_at_reset = n->waiting[slot].count;
    n->waiting[slot].bytes_at_reset = n->waiting[slot].bytes;
    n->waiting[slot].count_at_load = n->waiting[slot].bytes_at_load = 0;
  }
  ul_statistics_reset_accumulated(&n->statistics);
}

const ul_totals *ul_native_totals(const void *state) {
  native *n = (native *)(uintptr_t)state; /* the shown sums are no part of the state */
  const native_tally *t = &n->tallies[UL_SLOT_ALL];
  ul_totals *out = &n->totals;

  out->reserved_bytes = n->reserved_bytes;
  out->allocated_bytes = (uint64_t)t->current[1];
  out->active_bytes = out->allocated_bytes + n->waiting[UL_SLOT_ALL].bytes;
  out->requested_bytes = (uint64_t)t->requested;
  out->live_bytes = out->requested_bytes - n->waiting_requested - n->excess_requested;
  out->live_rounded_bytes = n->live_rounded_bytes;
  out->releasable_bytes = n->whole_bytes[0];
  out->held_bytes = n->whole_bytes[1];
  out->segment_count = n->segment_count;
  return out;
}
