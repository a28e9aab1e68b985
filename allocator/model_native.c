/* SPDX-License-Identifier: MIT */
/* PyTorch's native caching allocator: the short way of nearly every event, and the table of the
 * backend's operations.
 *
 * Requests and frees go one of two ways. The short way knows the default rules and expandable
 * segments; whatever else is going on sets a bit in native.careful, and then the careful way is
 * taken (native_apply.c), which knows everything. */
#include <string.h>

#include "allocator/native_fast.h"
#include "base/error.h"

/* What happened to a request or a free. */
typedef enum step {
  STEP_DONE,
  STEP_ELSEWHERE, /* not this way */
  STEP_NOMEM,
} step;

/* ---- requests ---- */

/* Size of a block with the unmapped one right behind it: how far it could grow. */
static uint64_t reach(const native *n, uint32_t block) {
  const native_block *b = &n->blocks.items[block], *next = &n->blocks.items[b->next];

  return b->bytes + (next->flags & BLOCK_UNMAPPED ? next->bytes : 0);
}

uint32_t ul_native_take_candidate(native *n, native_lane *lane, uint64_t rounded, int expandable) {
  const ul_settings *s = &n->settings;
  ul_free_at at, ahead;
  ul_free_entry entry, next;

  entry = ul_free_set_lower_bound(&lane->free, rounded, &at);
  if (entry.block && n->blocks.items[entry.block].flags & BLOCK_EXPANDABLE) {
    if (expandable) {
      for (ahead = at; n->blocks.items[entry.block].flags & BLOCK_EXPANDABLE;
           entry = next, at = ahead) {
        next = ul_free_set_next(&lane->free, &ahead);
        if (!next.block || reach(n, next.block) >= reach(n, entry.block))
          break;
      }
    } else {
      while (entry.block && n->blocks.items[entry.block].flags & BLOCK_EXPANDABLE)
        entry = ul_free_set_next(&lane->free, &at);
    }
  }
  if (!entry.block || (rounded < s->max_split_bytes && entry.bytes >= s->max_split_bytes) ||
      (rounded >= s->max_split_bytes && entry.bytes >= rounded + s->max_non_split_rounding_bytes))
    return 0;
  ul_free_set_take(&lane->free, at);
  return entry.block;
}

UL_INLINE uint64_t round_request(const native *n, uint64_t bytes) {
  if (n->plain_rounding)
    return (bytes + (UL_MIN_BLOCK_BYTES - 1)) & ~(UL_MIN_BLOCK_BYTES - 1);
  return ul_round_request(bytes, &n->settings, n->profile);
}

UL_INLINE uint32_t lane_of(native *n, uint32_t pool, uint32_t stream, int small) {
  const uint32_t last = n->last_lane[small];

  if (last && n->lanes.items[last].stream == stream && n->lanes.items[last].pool_id == pool)
    return last;
  return ul_native_lane_of(n, pool, stream, small);
}

/* Splits and hands out a block that is in no set (allocator-spec 3.9, 3.10). */
UL_INLINE step hand_out(native *n, native_lane *lane, uint32_t block, const ul_event *event,
                        uint64_t rounded, int small, uint64_t unsplit_limit) {
  const int slot = small ? UL_SLOT_SMALL : UL_SLOT_LARGE;
  native_block *b = &n->blocks.items[block];
  const uint64_t remaining = b->bytes - rounded;
  const int64_t was_split = (b->prev | b->next) != 0;
  int64_t split_count = 0, split_bytes = 0, bytes = (int64_t)b->bytes;

  if (remaining > unsplit_limit) {
    const uint32_t rest = ul_native_cut(n, block, rounded);
    if (__builtin_expect(!rest, 0) || !ul_native_put_free_in(n, lane, rest))
      return STEP_NOMEM;
    b = &n->blocks.items[block];
    bytes = (int64_t)rounded;
    split_count = 1 - was_split;
    split_bytes = was_split ? -bytes : (int64_t)remaining;
  } else {
    split_count = -was_split;
    split_bytes = was_split ? -bytes : 0;
  }
  if (b->flags & BLOCK_EXPANDABLE)
    split_count = split_bytes = 0;
  b->flags |= BLOCK_ALLOCATED;
  b->requested_bytes = event->bytes;
  b->handle = (uint32_t)event->handle;
  b->stack = event->stack;
  b->uses = 0;
  n->block_of.items[event->handle] = event->handle ? block : 0;
  ul_native_count(n, slot, 1, bytes, split_count, split_bytes);
  ul_native_count_requested(n, slot, event->bytes);
  n->live_rounded_bytes += rounded;
  return STEP_DONE;
}

/* Where ranges may be: the best fit is final unless it could grow into unmapped memory right behind
 * it, for then its successors are looked at, too. */
UL_INLINE uint32_t take_among_ranges(native *n, native_lane *lane, uint64_t rounded) {
  const uint32_t block = ul_free_take_fit(&lane->free, rounded);
  const native_block *b = &n->blocks.items[block];
  const ul_free_entry entry = {b->bytes, b->tie, block};

  if (!block || (n->settings.expandable && !(n->blocks.items[b->next].flags & BLOCK_UNMAPPED)))
    return block;
  return ul_free_put(&lane->free, entry)
             ? ul_native_take_candidate(n, lane, rounded, n->settings.expandable)
             : 0;
}

UL_INLINE step take_and_hand_out(native *n, const ul_event *event, uint64_t rounded, int small,
                                 uint32_t *out) {
  const uint32_t index = lane_of(n, event->pool, event->stream, small);
  native_lane *lane = &n->lanes.items[index];
  const native_block *b;
  uint32_t block;

  if (__builtin_expect(!index, 0))
    return STEP_ELSEWHERE;
  block = __builtin_expect(lane->has_ranges, 0) ? take_among_ranges(n, lane, rounded)
                                                : ul_free_take_fit(&lane->free, rounded);
  if (__builtin_expect(!block, 0))
    return STEP_ELSEWHERE;
  b = &n->blocks.items[block];
  if (__builtin_expect(lane->has_ranges, 0))
    n->whole_bytes[lane->held] -= ul_native_returnable(n, b);
  else if (!(b->prev | b->next))
    n->whole_bytes[lane->held] -= b->bytes;
  *out = block;
  return hand_out(n, lane, block, event, rounded, small, n->unsplit_limit[small]);
}

/* The short way: serves a request from the cache, or leaves it as it is. */
UL_INLINE step serve_cached(native *n, const ul_event *event, uint32_t *block) {
  const uint64_t rounded = round_request(n, event->bytes);

  if (__builtin_expect(n->careful || event->bytes - 1 >= UL_REQUEST_LIMIT_BYTES - 1 ||
                           event->handle >= n->block_of.count || n->block_of.items[event->handle],
                       0))
    return STEP_ELSEWHERE;
  return rounded <= UL_SMALL_LIMIT_BYTES ? take_and_hand_out(n, event, rounded, 1, block)
                                         : take_and_hand_out(n, event, rounded, 0, block);
}

/* ---- frees ---- */

/* The short way of a block that no other stream used. */
UL_INLINE step free_at_once(native *n, const ul_event *event, ul_placement *placement) {
  native_block *b;
  native_lane *lane;
  native_joined joined;
  uint64_t bytes, requested, rounded;
  uint32_t block;
  int slot;

  if (__builtin_expect(n->careful || event->handle >= n->block_of.count, 0))
    return STEP_ELSEWHERE;
  block = n->block_of.items[event->handle];
  b = &n->blocks.items[block];
  if (__builtin_expect(!block || b->uses, 0))
    return STEP_ELSEWHERE;
  bytes = b->bytes;
  requested = b->requested_bytes;
  rounded = round_request(n, requested);
  slot = ul_native_slot(b);
  placement->address = b->address;
  placement->block_bytes = bytes;
  n->block_of.items[event->handle] = 0;
  n->live_rounded_bytes -= rounded < bytes ? rounded : bytes;
  lane = &n->lanes.items[b->lane];
  joined = ul_native_join_free(n, block);
  ul_native_count(n, slot, -1, -(int64_t)bytes, joined.split_count, joined.split_bytes);
  ul_native_count_released(n, slot, requested);
  return ul_native_put_free_in(n, lane, joined.block) ? STEP_DONE : STEP_NOMEM;
}

/* The short way of one event. */
UL_INLINE step apply_shortly(native *n, const ul_event *event, ul_outcome *outcome) {
  ul_placement placement;
  uint32_t block;
  step done = STEP_ELSEWHERE;

  if (event->kind == UL_EVENT_ALLOC) {
    done = serve_cached(n, event, &block);
    if (done != STEP_DONE)
      return done;
    memset(outcome, 0, sizeof(*outcome));
    outcome->result = UL_OUTCOME_SERVED;
    outcome->address = n->blocks.items[block].address;
    outcome->block_bytes = n->blocks.items[block].bytes;
    outcome->segment_bytes = ul_segment_size(round_request(n, event->bytes), &n->settings);
  } else if (event->kind == UL_EVENT_FREE) {
    done = free_at_once(n, event, &placement);
    if (done != STEP_DONE)
      return done;
    memset(outcome, 0, sizeof(*outcome));
    outcome->address = placement.address;
    outcome->block_bytes = placement.block_bytes;
  }
  return done;
}

static step apply_shortly_plain(native *n, const ul_event *event, ul_outcome *outcome) {
  return apply_shortly(n, event, outcome);
}

#ifdef HAVE_AVX2_WAY
/* Four statistics at once; every processor of the last ten years can. */
static __attribute__((target("avx2"))) step apply_shortly_avx2(native *n, const ul_event *event,
                                                               ul_outcome *outcome) {
  return apply_shortly(n, event, outcome);
}
#endif

static ul_status native_apply(void *state, const ul_event *event, const ul_grants *grants,
                              ul_outcome *outcome, ul_error *err) {
  native *n = state;
  step done;

  n->events++;
#ifdef HAVE_AVX2_WAY
  if (n->has_avx2)
    done = apply_shortly_avx2(n, event, outcome);
  else
#endif
    done = apply_shortly_plain(n, event, outcome);
  if (done == STEP_DONE)
    return UL_OK;
  if (done == STEP_NOMEM)
    return ul_fail_nomem(err, "the allocator model");
  return ul_native_apply(n, event, grants, outcome, err);
}

/* ---- many events ---- */

static ul_status apply_slowly(native *n, const ul_event *event, ul_placement *placement,
                              ul_error *err) {
  ul_outcome outcome;

  UL_TRY(ul_native_apply(n, event, NULL, &outcome, err));
  placement->address = outcome.address;
  placement->block_bytes = outcome.block_bytes;
  placement->result = outcome.result;
  return UL_OK;
}

UL_INLINE ul_status run_batch(native *n, const ul_event *events, size_t count,
                              ul_placement *placements, size_t *applied, ul_error *err) {
  const uint64_t before = n->events;
  ul_placement unseen;
  size_t i;

  for (i = 0; i < count; i++) {
    ul_placement *placement = placements ? &placements[i] : &unseen;
    step done = STEP_ELSEWHERE;
    uint32_t block;
    if (events[i].kind == UL_EVENT_ALLOC) {
      done = serve_cached(n, &events[i], &block);
      if (done == STEP_DONE) {
        placement->address = n->blocks.items[block].address;
        placement->block_bytes = n->blocks.items[block].bytes;
        placement->result = UL_OUTCOME_SERVED;
        continue;
      }
    } else if (events[i].kind == UL_EVENT_FREE) {
      done = free_at_once(n, &events[i], placement);
      placement->result = UL_OUTCOME_DONE;
      if (done == STEP_DONE)
        continue;
    }
    *applied = i;
    if (done == STEP_NOMEM)
      return ul_fail_nomem(err, "the allocator model");
    n->events = before + i + 1;
    UL_TRY(apply_slowly(n, &events[i], placement, err));
  }
  *applied = count;
  return UL_OK;
}

#ifdef HAVE_AVX2_WAY
static __attribute__((target("avx2"))) ul_status run_batch_avx2(native *n, const ul_event *events,
                                                                size_t count,
                                                                ul_placement *placements,
                                                                size_t *applied, ul_error *err) {
  return run_batch(n, events, count, placements, applied, err);
}
#endif

static ul_status run_batch_plain(native *n, const ul_event *events, size_t count,
                                 ul_placement *placements, size_t *applied, ul_error *err) {
  return run_batch(n, events, count, placements, applied, err);
}

static ul_status native_apply_batch(void *state, const ul_event *events, size_t count,
                                    ul_placement *placements, size_t *done, ul_error *err) {
  native *n = state;
  const uint64_t before = n->events;
  ul_status status;

#ifdef HAVE_AVX2_WAY
  if (n->has_avx2)
    status = run_batch_avx2(n, events, count, placements, done, err);
  else
#endif
    status = run_batch_plain(n, events, count, placements, done, err);
  n->events = before + *done;
  return status;
}

static uint64_t native_fraction_limit(const void *state, double fraction) {
  const native *n = state;

  return ul_fraction_limit(
      n->profile, n->profile->fraction_of_property ? n->property_bytes : n->device.capacity_bytes,
      fraction);
}

static uint64_t native_round(const void *state, uint64_t requested_bytes) {
  const native *n = state;
  return ul_round_request(requested_bytes, &n->settings, n->profile);
}

static uint64_t native_unsplit_limit(const void *state, int is_small, uint64_t rounded_bytes) {
  const native *n = state;
  return ul_unsplit_limit(&n->settings, is_small, rounded_bytes);
}

static ul_status native_configure(void *state, const char *settings, ul_error *err) {
  native *n = state;
  const ul_status status = ul_settings_apply(&n->settings, settings, n->profile, err);

  ul_native_settings_changed(n); /* what stands before an error is in force */
  ul_native_recount(n);
  return status;
}

static const ul_profile *native_profile(const void *state) {
  return ((const native *)state)->profile;
}

static int native_oom(const void *state, ul_oom_facts *out) {
  const native *n = state;

  *out = n->facts;
  return n->oom_event && n->oom_event == n->events;
}

static ul_status native_record_history(void *state, int enabled, uint64_t max_entries,
                                       ul_error *err) {
  native *n = state;

  if (!n->profile->history_of_old_blocks && !ul_native_keep_objects(n))
    return ul_fail_nomem(err, "the history");
  UL_TRY(ul_history_record(&n->history, enabled, max_entries, err));
  if (n->history.enabled)
    n->careful |= CAREFUL_HISTORY;
  else
    n->careful &= ~(uint32_t)CAREFUL_HISTORY;
  return UL_OK;
}

static size_t native_history(const void *state, ul_history_entry *out, size_t capacity) {
  return ul_history_list(&((const native *)state)->history, out, capacity);
}

/* The sizes of active blocks: what the entry of a snapshot tells. */
static ul_status native_note_snapshot(void *state, ul_error *err) {
  native *n = state;
  const uint64_t active =
      (uint64_t)n->tallies[UL_SLOT_ALL].current[1] + n->waiting[UL_SLOT_ALL].bytes;

  return ul_native_note(n, UL_ACTION_SNAPSHOT, 0, active, 0) ? UL_OK
                                                             : ul_fail_nomem(err, "the history");
}

const ul_model_ops ul_model_native = {
    .name = "native",
    .summary = "PyTorch's caching allocator, with or without expandable segments",
    .create = ul_native_create,
    .destroy = ul_native_destroy,
    .load = ul_native_load,
    .apply = native_apply,
    .clone = ul_native_clone,
    .apply_batch = native_apply_batch,
    .configure = native_configure,
    .profile = native_profile,
    .oom = native_oom,
    .record_history = native_record_history,
    .history = native_history,
    .note_snapshot = native_note_snapshot,
    .pool_reserved = ul_native_pool_reserved,
    .totals = ul_native_totals,
    .stats = ul_native_stats,
    .reset_peak = ul_native_reset_peak,
    .reset_accumulated = ul_native_reset_accumulated,
    .visit = ul_native_visit,
    .check = ul_native_check,
    .round = native_round,
    .fraction_limit = native_fraction_limit,
    .unsplit_limit = native_unsplit_limit,
    .asker = ul_native_asker,
};
