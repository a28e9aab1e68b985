/* SPDX-License-Identifier: MIT */
/* The short way of nearly every event: requests that the cache serves and frees that nobody waits
 * for, under the default rules and with expandable segments. What it cannot do it leaves as it was,
 * for the careful way. Included by one file for each kind of processor.
 *
 * Every instruction counts here. What is known beforehand (small or large pool, ranges or none) is
 * a constant argument of inline functions; what hardly ever happens is tested once for several
 * reasons; no store is to a type that could be anything, after which the compiler would load
 * everything anew. */
#ifndef UL_ALLOCATOR_NATIVE_SHORT_H
#define UL_ALLOCATOR_NATIVE_SHORT_H

#include <string.h>

#include "allocator/native_fast.h"

#define UL_RARELY(condition) __builtin_expect(!!(condition), 0)

/* ---- requests ---- */

UL_INLINE uint64_t round_request(const native *n, uint64_t bytes) {
  if (UL_RARELY(!n->plain_rounding))
    return bytes ? ul_round_request(bytes, &n->settings, n->profile) : 0;
  return (bytes + (UL_MIN_BLOCK_BYTES - 1)) & ~(UL_MIN_BLOCK_BYTES - 1);
}

/* The lane of a request; NULL without memory. */
UL_INLINE native_lane *lane_of(native *n, const ul_event *event, int small) {
  native_lane *lane = &n->lanes.items[n->last_lane[small]];
  uint32_t index;

  if (__builtin_expect(lane->stream == event->stream && lane->pool_id == event->pool, 1))
    return lane;
  index = ul_native_lane_of(n, event->pool, event->stream, small);
  return index ? &n->lanes.items[index] : NULL;
}

UL_INLINE void give(native *n, uint32_t block, const ul_event *event, unsigned flags) {
  native_block *const b = &n->blocks.items[block];
  const uint64_t handle = event->handle;

  b->flags |= (uint16_t)flags;
  b->requested_bytes = event->bytes;
  b->handle = (uint32_t)handle;
  b->stack = event->stack;
  n->block_of.items[handle] = block;
}

/* Splits and hands out a block that is in no set (allocator-spec 3.9, 3.10). */
UL_INLINE native_step hand_out(native *n, native_lane *lane, uint32_t block, const ul_event *event,
                               uint64_t rounded, int small, int ranges) {
  const int slot = small ? UL_SLOT_SMALL : UL_SLOT_LARGE;
  native_block *const b = &n->blocks.items[block];
  const uint64_t whole = b->bytes, remaining = whole - rounded;
  const int64_t was_split = (b->prev | b->next) != 0;
  const int is_range = ranges && b->flags & BLOCK_EXPANDABLE;

  ul_native_count_requested(n, slot, event->bytes);
  if (remaining > n->unsplit_limit[small]) {
    const uint32_t rest = n->dead_block;
    n->dead_block = n->blocks.items[rest].next;
    ul_native_cut_into(n, block, rounded, rest);
    give(n, block, event, BLOCK_ALLOCATED);
    if (is_range)
      ul_native_count(n, slot, 1, (int64_t)rounded, 0, 0);
    else
      ul_native_count(n, slot, 1, (int64_t)rounded, 1 - was_split,
                      was_split ? -(int64_t)rounded : (int64_t)remaining);
    return ul_native_put_back(n, lane, rest, ranges) ? STEP_DONE : STEP_NOMEM;
  }
  give(n, block, event, BLOCK_ALLOCATED);
  if (remaining) {
    b->flags |= BLOCK_TAIL;
    n->tail_bytes += remaining;
  }
  if (is_range)
    ul_native_count(n, slot, 1, (int64_t)whole, 0, 0);
  else
    ul_native_count(n, slot, 1, (int64_t)whole, -was_split, was_split ? -(int64_t)whole : 0);
  return STEP_DONE;
}

UL_INLINE native_step take_and_hand_out(native *n, native_lane *lane, const ul_event *event,
                                        uint64_t rounded, int small, uint32_t *out) {
  const uint32_t block = ul_free_take_fit(&lane->free, rounded);
  const native_block *b;

  if (UL_RARELY(!block))
    return STEP_ELSEWHERE;
  b = &n->blocks.items[block];
  if (!(b->prev | b->next))
    n->whole_bytes[lane->held] -= b->bytes;
  *out = block;
  return hand_out(n, lane, block, event, rounded, small, 0);
}

UL_INLINE int put_entry(native *n, native_lane *lane, uint32_t block) {
  const native_block *b = &n->blocks.items[block];
  const ul_free_entry entry = {b->bytes, b->tie, block};

  return ul_free_put(&lane->free, entry);
}

UL_INLINE int can_grow(const native *n, uint32_t block) {
  return n->blocks.items[n->blocks.items[block].next].flags & BLOCK_UNMAPPED;
}

/* block is the best fit, of a range, taken out, and could grow. The next larger one is taken
 * instead if it could grow less, and so on; more than one such step is rare. 0 without memory. */
static inline uint32_t take_less_growing(native *n, native_lane *lane, uint32_t block,
                                         uint64_t rounded) {
  const uint32_t next = lane->free.count ? ul_free_take_fit(&lane->free, rounded) : 0;

  if (!next)
    return block;
  if (ul_native_reach(n, next) >= ul_native_reach(n, block))
    return put_entry(n, lane, next) ? block : 0;
  if (!put_entry(n, lane, block))
    return 0;
  if (!can_grow(n, next))
    return next;
  return put_entry(n, lane, next) ? ul_native_take_candidate(n, lane, rounded, 1) : 0;
}

/* Where ranges may be: the best fit is final unless it could grow into unmapped memory right behind
 * it, for then its successors are looked at, too. */
static inline native_step take_among_ranges(native *n, native_lane *lane, const ul_event *event,
                                            uint64_t rounded, int small, uint32_t *out) {
  uint32_t block = ul_free_take_fit(&lane->free, rounded);

  if (!block)
    return STEP_ELSEWHERE;
  if (UL_RARELY(!n->settings.expandable)) {
    if (!put_entry(n, lane, block))
      return STEP_NOMEM;
    block = ul_native_take_candidate(n, lane, rounded, 0);
    if (!block)
      return STEP_ELSEWHERE;
  } else if (can_grow(n, block)) {
    block = take_less_growing(n, lane, block, rounded);
    if (!block)
      return STEP_NOMEM;
  }
  n->whole_bytes[lane->held] -= ul_native_returnable(n, &n->blocks.items[block]);
  *out = block;
  return hand_out(n, lane, block, event, rounded, small, 1);
}

UL_INLINE native_step serve_from(native *n, const ul_event *event, uint64_t rounded, int small,
                                 uint32_t *out) {
  native_lane *const lane = lane_of(n, event, small);

  if (UL_RARELY(!lane))
    return STEP_ELSEWHERE;
  return UL_RARELY(lane->has_ranges) ? take_among_ranges(n, lane, event, rounded, small, out)
                                     : take_and_hand_out(n, lane, event, rounded, small, out);
}

UL_INLINE native_step serve_cached(native *n, const ul_event *event, uint32_t *block) {
  const uint64_t rounded = round_request(n, event->bytes);

  /* The handle is in reach and not in use; a dead block waits for the rest of a split. */
  if (UL_RARELY(event->handle >= n->block_of.count || n->block_of.items[event->handle] ||
                !n->dead_block))
    return STEP_ELSEWHERE;
  if (rounded - 1 < UL_SMALL_LIMIT_BYTES)
    return serve_from(n, event, rounded, 1, block);
  if (UL_RARELY(rounded - 1 >= UL_REQUEST_LIMIT_BYTES - 1))
    return STEP_ELSEWHERE;
  return serve_from(n, event, rounded, 0, block);
}

/* ---- frees ---- */

UL_INLINE native_step free_into(native *n, native_lane *lane, uint32_t block, int slot,
                                int ranges) {
  native_block *const b = &n->blocks.items[block];
  const uint64_t bytes = b->bytes, requested = b->requested_bytes;
  const native_joined joined = ul_native_join_free(n, lane, block, ranges);

  ul_native_count(n, slot, -1, -(int64_t)bytes, joined.split_count, joined.split_bytes);
  ul_native_count_released(n, slot, requested);
  return ul_native_put_back(n, lane, joined.block, ranges) ? STEP_DONE : STEP_NOMEM;
}

static inline native_step free_among_ranges(native *n, native_lane *lane, uint32_t block,
                                            int slot) {
  return free_into(n, lane, block, slot, 1);
}

UL_INLINE native_step free_at_once(native *n, const ul_event *event, ul_placement *placement) {
  native_block *b;
  native_lane *lane;
  uint32_t block;

  if (UL_RARELY(event->handle >= n->block_of.count))
    return STEP_ELSEWHERE;
  block = n->block_of.items[event->handle];
  b = &n->blocks.items[block];
  if (UL_RARELY(b->uses)) /* as those of dead blocks say, too: the handle is not live */
    return STEP_ELSEWHERE;
  n->block_of.items[event->handle] = 0;
  ul_native_drop_tail(n, b);
  placement->address = b->address;
  placement->block_bytes = b->bytes;
  lane = &n->lanes.items[b->lane];
  return UL_RARELY(lane->has_ranges) ? free_among_ranges(n, lane, block, ul_native_slot(b))
                                     : free_into(n, lane, block, ul_native_slot(b), 0);
}

/* ---- one event, and many ---- */

UL_INLINE native_step apply_one(native *n, const ul_event *event, ul_outcome *outcome) {
  ul_placement placement;
  uint32_t block;
  native_step step = STEP_ELSEWHERE;

  if (event->kind == UL_EVENT_ALLOC) {
    step = serve_cached(n, event, &block);
    if (step != STEP_DONE)
      return step;
    memset(outcome, 0, sizeof(*outcome));
    outcome->result = UL_OUTCOME_SERVED;
    outcome->address = n->blocks.items[block].address;
    outcome->block_bytes = n->blocks.items[block].bytes;
    outcome->segment_bytes = ul_segment_size(round_request(n, event->bytes), &n->settings);
  } else if (event->kind == UL_EVENT_FREE) {
    step = free_at_once(n, event, &placement);
    if (step != STEP_DONE)
      return step;
    memset(outcome, 0, sizeof(*outcome));
    outcome->address = placement.address;
    outcome->block_bytes = placement.block_bytes;
  }
  return step;
}

/* Beyond these the blocks are not in a core's own caches. */
#define FAR_BLOCKS 8192

/* How many events beforehand the handle, the block and its neighbours are fetched. */
enum { AHEAD_HANDLE = 12, AHEAD_BLOCK = 8, AHEAD_NEIGHBOURS = 4, AHEAD = AHEAD_HANDLE };

/* What a free some events from now will touch. Handles are told by the caller: they may be out of
 * reach. */
UL_INLINE void fetch_ahead(const native *n, const ul_event *event) {
  const native_block *const blocks = n->blocks.items;
  const uint32_t *const block_of = n->block_of.items;
  const uint64_t count = n->block_of.count;
  const uint64_t third = event[AHEAD_HANDLE].handle, second = event[AHEAD_BLOCK].handle;
  const uint64_t first = event[AHEAD_NEIGHBOURS].handle;

  if (third < count)
    __builtin_prefetch(&block_of[third], 1);
  if (second < count)
    __builtin_prefetch(&blocks[block_of[second]], 1);
  if (first < count) {
    const native_block *b = &blocks[block_of[first]];
    __builtin_prefetch(&blocks[b->prev], 1);
    __builtin_prefetch(&blocks[b->next], 1);
  }
}

UL_INLINE native_step run_some(native *n, const ul_event **at, const ul_event *end,
                               ul_placement *placement, int far) {
  const ul_event *event = *at;
  native_step step = STEP_DONE;
  uint32_t block;

  for (; event < end; event++, placement++) {
    if (far)
      fetch_ahead(n, event);
    if (event->kind == UL_EVENT_ALLOC) {
      step = serve_cached(n, event, &block);
      if (UL_RARELY(step != STEP_DONE))
        break;
      placement->address = n->blocks.items[block].address;
      placement->block_bytes = n->blocks.items[block].bytes;
      placement->result = UL_OUTCOME_SERVED;
    } else {
      step = event->kind == UL_EVENT_FREE ? free_at_once(n, event, placement) : STEP_ELSEWHERE;
      if (UL_RARELY(step != STEP_DONE))
        break;
      placement->result = UL_OUTCOME_DONE;
    }
  }
  *at = event;
  return step;
}

static __attribute__((noinline)) native_step run_far(native *n, const ul_event **at,
                                                     const ul_event *end, ul_placement *placement) {
  return run_some(n, at, end, placement, 1);
}

UL_INLINE native_step run_many(native *n, const ul_event *events, size_t count,
                               ul_placement *placements, size_t *applied) {
  const ul_event *at = events;
  native_step step = STEP_DONE;

  if (n->blocks.count > FAR_BLOCKS && count > AHEAD)
    step = run_far(n, &at, events + count - AHEAD, placements);
  if (step == STEP_DONE)
    step = run_some(n, &at, events + count, placements + (at - events), 0);
  *applied = (size_t)(at - events);
  return step;
}

#endif
