/* SPDX-License-Identifier: MIT */
/* PyTorch's native caching allocator: what each event does (allocator-spec 3.1 - 3.11, 4.1, 5.1).
 *
 * Requests and frees go one of two ways. The short way knows the default rules and expandable
 * segments; whatever else is going on sets a bit in native.careful, and then the careful way is
 * taken, which knows everything. */
#include <stdlib.h>
#include <string.h>

#include "allocator/native_fast.h"
#include "base/error.h"
#include "base/units.h"

/* Handles index an array; a recording's are dense, so this bounds memory against hostile callers.
 */
#define HANDLE_LIMIT (UINT64_C(1) << 28)

enum { FEW_HANDLES = 256 };

#if defined(__x86_64__) && defined(__GNUC__)
#define HAVE_AVX2_WAY 1
#endif

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

/* Best fit, one candidate only (allocator-spec 3.2), taken out. 0 if the driver must be asked. */
static uint32_t take_candidate(native *n, native_lane *lane, uint64_t rounded) {
  const ul_settings *s = &n->settings;
  ul_free_at at, ahead;
  ul_free_entry entry, next;

  entry = ul_free_set_lower_bound(&lane->free, rounded, &at);
  if (entry.block && n->blocks.items[entry.block].flags & BLOCK_EXPANDABLE) {
    if (s->expandable) {
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
UL_INLINE step hand_out(native *n, uint32_t block, const ul_event *event, uint64_t rounded,
                        int small, uint64_t unsplit_limit) {
  const int slot = small ? UL_SLOT_SMALL : UL_SLOT_LARGE;
  native_block *b = &n->blocks.items[block];
  const uint64_t remaining = b->bytes - rounded;
  const int64_t was_split = (b->prev | b->next) != 0;
  int64_t split_count = 0, split_bytes = 0, bytes = (int64_t)b->bytes;

  if (remaining > unsplit_limit) {
    const uint32_t rest = ul_native_cut(n, block, rounded);
    if (__builtin_expect(!rest, 0) || !ul_native_put_free(n, rest))
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

UL_INLINE step take_and_hand_out(native *n, const ul_event *event, uint64_t rounded, int small,
                                 uint32_t *out) {
  const uint32_t index = lane_of(n, event->pool, event->stream, small);
  native_lane *lane = &n->lanes.items[index];
  const native_block *b;
  uint32_t block;

  if (__builtin_expect(!index, 0))
    return STEP_ELSEWHERE;
  block = __builtin_expect(lane->has_ranges, 0) ? take_candidate(n, lane, rounded)
                                                : ul_free_take_fit(&lane->free, rounded);
  if (__builtin_expect(!block, 0))
    return STEP_ELSEWHERE;
  b = &n->blocks.items[block];
  n->whole_bytes[lane->held] -= ul_native_returnable(n, b);
  *out = block;
  return hand_out(n, block, event, rounded, small, n->unsplit_limit[small]);
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

static ul_status reject(ul_outcome *outcome, const char *reason) {
  outcome->result = UL_OUTCOME_REJECTED;
  outcome->reason = reason;
  return UL_OK;
}

/* Room for a handle and as many again: the next ones are met by the short way. */
static int make_room_for(native *n, uint64_t handle) {
  const size_t wanted = handle < FEW_HANDLES ? FEW_HANDLES : (size_t)handle * 2;

  if (handle < n->block_of.count)
    return 1;
  if (!UL_VEC_RESERVE(&n->block_of, wanted - n->block_of.count))
    return 0;
  memset(&n->block_of.items[n->block_of.count], 0,
         (wanted - n->block_of.count) * sizeof(*n->block_of.items));
  n->block_of.count = wanted;
  return 1;
}

/* Where active may be larger than ever before: it peaks when memory is handed out. */
static void note_active_peak(native *n, int slot) {
  const int slots[] = {UL_SLOT_ALL, slot};
  int i;

  for (i = 0; i < 2; i++) {
    native_waiting *w = &n->waiting[slots[i]];
    const native_tally *t = &n->tallies[slots[i]];
    if ((uint64_t)t->current[0] + w->count > w->peak_count)
      w->peak_count = (uint64_t)t->current[0] + w->count;
    if ((uint64_t)t->current[1] + w->bytes > w->peak_bytes)
      w->peak_bytes = (uint64_t)t->current[1] + w->bytes;
  }
}

static ul_status apply_alloc(native *n, const ul_event *event, ul_outcome *outcome, ul_error *err) {
  const uint64_t rounded = ul_round_request(event->bytes, &n->settings, n->profile);
  const int small = rounded <= UL_SMALL_LIMIT_BYTES, slot = small ? UL_SLOT_SMALL : UL_SLOT_LARGE;
  uint32_t lane, block = 0;
  ul_device_answer answer;

  if (!event->bytes)
    return UL_OK; /* a null pointer; PyTorch touches nothing */
  if (event->bytes >= UL_REQUEST_LIMIT_BYTES)
    return reject(outcome, "a request of 2^60 bytes or more");
  if (event->handle >= HANDLE_LIMIT)
    return reject(outcome, "a handle that is not a serial number");
  if (!make_room_for(n, event->handle))
    return ul_fail_nomem(err, "the allocator model");
  if (n->block_of.items[event->handle])
    return reject(outcome, "a handle that is already in use");
  lane = lane_of(n, event->pool, event->stream, small);
  if (!lane)
    return ul_fail_nomem(err, "the allocator model");
  outcome->segment_bytes = ul_segment_size(rounded, &n->settings);
  if (n->careful & CAREFUL_COLLECTS) {
    n->pools.items[n->lanes.items[lane].pool].searches[small]++;
    n->counts_searches = 1;
  }
  block = take_candidate(n, &n->lanes.items[lane], rounded);
  if (block) {
    n->whole_bytes[n->lanes.items[lane].held] -= ul_native_returnable(n, &n->blocks.items[block]);
  } else {
    answer = ul_native_grow(n, lane, rounded, &block, outcome);
    if (answer == UL_DEVICE_NOMEM)
      return ul_fail_nomem(err, "the allocator model");
    if (answer == UL_DEVICE_REFUSED) {
      n->statistics.counters[UL_STAT_NUM_OOMS]++;
      outcome->result = UL_OUTCOME_OOM;
      outcome->block_bytes = rounded;
      return UL_OK;
    }
  }
  if (hand_out(n, block, event, rounded, small, ul_unsplit_limit(&n->settings, small, rounded)) !=
      STEP_DONE)
    return ul_fail_nomem(err, "the allocator model");
  if (n->blocks.items[block].bytes >= n->settings.max_split_bytes)
    ul_stat_increase_one(&n->statistics.singles[UL_STAT_OVERSIZE_ALLOCATIONS], 1);
  if (n->careful & CAREFUL_WAITING)
    note_active_peak(n, slot);
  outcome->result = UL_OUTCOME_SERVED;
  outcome->address = n->blocks.items[block].address;
  outcome->block_bytes = n->blocks.items[block].bytes;
  return UL_OK;
}

/* ---- frees ---- */

static uint32_t block_of(const native *n, uint64_t handle) {
  return handle < n->block_of.count ? n->block_of.items[handle] : 0;
}

/* What the program asked for, as far as the block can hold it: recorded states may contradict. */
static uint64_t live_request(const native_block *b) {
  return b->requested_bytes < b->bytes ? b->requested_bytes : b->bytes;
}

static uint64_t live_rounded(const native *n, const native_block *b) {
  const uint64_t rounded = ul_round_request(live_request(b), &n->settings, n->profile);
  return rounded < b->bytes ? rounded : b->bytes;
}

/* The short way of a block that no other stream used. */
UL_INLINE step free_at_once(native *n, const ul_event *event, ul_placement *placement) {
  native_block *b;
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
  joined = ul_native_join_free(n, block);
  ul_native_count(n, slot, -1, -(int64_t)bytes, joined.split_count, joined.split_bytes);
  ul_native_count_released(n, slot, requested);
  return ul_native_put_free(n, joined.block) ? STEP_DONE : STEP_NOMEM;
}

static ul_status apply_free(native *n, const ul_event *event, ul_outcome *outcome, ul_error *err) {
  const uint32_t block = block_of(n, event->handle);
  native_joined joined;
  native_block b;
  int slot;

  if (!block || !(n->blocks.items[block].flags & BLOCK_ALLOCATED))
    return reject(outcome, "a free of an allocation that is not live");
  b = n->blocks.items[block];
  slot = ul_native_slot(&b);
  outcome->address = b.address;
  outcome->block_bytes = b.bytes;
  if (b.bytes >= n->settings.max_split_bytes)
    ul_stat_decrease_one(&n->statistics.singles[UL_STAT_OVERSIZE_ALLOCATIONS], 1);
  n->live_rounded_bytes -= live_rounded(n, &b);
  if (b.uses) {
    ul_native_count(n, slot, -1, -(int64_t)b.bytes, 0, 0);
    return ul_native_add_pending(n, block) ? UL_OK : ul_fail_nomem(err, "the allocator model");
  }
  n->block_of.items[event->handle] = 0;
  if (b.requested_bytes > b.bytes)
    n->excess_requested -= b.requested_bytes - b.bytes;
  joined = ul_native_join_free(n, block);
  ul_native_count(n, slot, -1, -(int64_t)b.bytes, joined.split_count, joined.split_bytes);
  ul_native_count_released(n, slot, b.requested_bytes);
  return ul_native_put_free(n, joined.block) ? UL_OK : ul_fail_nomem(err, "the allocator model");
}

static ul_status apply_complete(native *n, const ul_event *event, ul_outcome *outcome,
                                ul_error *err) {
  uint32_t block = block_of(n, event->handle);

  if (!block || !(n->blocks.items[block].flags & BLOCK_PENDING))
    return UL_OK; /* freed at once, or waited for already */
  ul_native_drop_pending(n, block);
  n->block_of.items[event->handle] = 0;
  outcome->address = n->blocks.items[block].address;
  outcome->block_bytes = n->blocks.items[block].bytes;
  return ul_native_free_block(n, block) ? UL_OK : ul_fail_nomem(err, "the allocator model");
}

static ul_status apply_stream_use(native *n, const ul_event *event, ul_outcome *outcome,
                                  ul_error *err) {
  uint32_t block = block_of(n, event->handle);
  native_block *b;

  (void)err;
  if (!block || !(n->blocks.items[block].flags & BLOCK_ALLOCATED))
    return reject(outcome, "a stream use of an allocation that is not live");
  b = &n->blocks.items[block];
  if (n->lanes.items[b->lane].stream != event->stream && b->uses < UINT16_MAX)
    b->uses++;
  return UL_OK;
}

static ul_status apply_sync(native *n, const ul_event *event, ul_outcome *outcome, ul_error *err) {
  (void)event, (void)outcome;
  n->statistics.counters[UL_STAT_NUM_SYNC_ALL_STREAMS]--; /* a wait of the program, not of ours */
  return ul_native_complete_all(n) ? UL_OK : ul_fail_nomem(err, "the allocator model");
}

static ul_status apply_empty_cache(native *n, const ul_event *event, ul_outcome *outcome,
                                   ul_error *err) {
  (void)outcome;
  return ul_native_release_cached(n, event->pool) ? UL_OK
                                                  : ul_fail_nomem(err, "the allocator model");
}

static ul_status apply_pool_release(native *n, const ul_event *event, ul_outcome *outcome,
                                    ul_error *err) {
  uint32_t pool;

  if (!event->pool)
    return reject(outcome, "a release of the default pool");
  pool = ul_native_pool_of(n, event->pool);
  if (!pool)
    return ul_fail_nomem(err, "the allocator model");
  n->pools.items[pool - 1].freeable = 1;
  ul_native_recount(n);
  return UL_OK;
}

static ul_status apply_external(native *n, const ul_event *event, ul_outcome *outcome,
                                ul_error *err) {
  (void)outcome, (void)err;
  n->device.external_bytes = event->bytes;
  return UL_OK;
}

static ul_status apply_fraction(native *n, const ul_event *event, ul_outcome *outcome,
                                ul_error *err) {
  (void)outcome, (void)err;
  n->limit_bytes = event->bytes;
  ul_native_settings_changed(n);
  return UL_OK;
}

static ul_status apply_nothing(native *n, const ul_event *event, ul_outcome *outcome,
                               ul_error *err) {
  (void)n, (void)event, (void)outcome, (void)err;
  return UL_OK;
}

static ul_status apply_unsupported(native *n, const ul_event *event, ul_outcome *outcome,
                                   ul_error *err) {
  (void)n, (void)event, (void)err;
  return reject(outcome, "an event that this model does not know yet");
}

static ul_status (*const appliers[UL_EVENT_KIND_COUNT])(native *, const ul_event *, ul_outcome *,
                                                        ul_error *) = {
    [UL_EVENT_OBSERVED] = apply_nothing,
    [UL_EVENT_ALLOC] = apply_alloc,
    [UL_EVENT_FREE] = apply_free,
    [UL_EVENT_COMPLETE] = apply_complete,
    [UL_EVENT_STREAM_USE] = apply_stream_use,
    [UL_EVENT_SYNC] = apply_sync,
    [UL_EVENT_EMPTY_CACHE] = apply_empty_cache,
    [UL_EVENT_POOL_BEGIN] = apply_unsupported,
    [UL_EVENT_POOL_END] = apply_unsupported,
    [UL_EVENT_POOL_RELEASE] = apply_pool_release,
    [UL_EVENT_CAPTURE_BEGIN] = apply_unsupported,
    [UL_EVENT_CAPTURE_END] = apply_unsupported,
    [UL_EVENT_SET_CONF] = apply_unsupported,
    [UL_EVENT_SET_FRACTION] = apply_fraction,
    [UL_EVENT_EXTERNAL_BYTES] = apply_external,
    [UL_EVENT_MARK] = apply_nothing,
};

static ul_status apply_any(native *n, const ul_event *event, const ul_grants *grants,
                           ul_outcome *outcome, ul_error *err) {
  ul_status status;

  memset(outcome, 0, sizeof(*outcome));
  if (event->kind >= UL_EVENT_KIND_COUNT)
    return reject(outcome, "an event kind that does not exist");
  n->calls.count = 0;
  n->device.grants = grants;
  n->device.grant = 0;
  status = appliers[event->kind] ? appliers[event->kind](n, event, outcome, err)
                                 : apply_unsupported(n, event, outcome, err);
  n->device.grants = NULL;
  outcome->calls = n->calls.items;
  outcome->call_count = (uint32_t)n->calls.count;
  return status;
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
  return apply_any(n, event, grants, outcome, err);
}

/* ---- many events ---- */

static ul_status apply_slowly(native *n, const ul_event *event, ul_placement *placement,
                              ul_error *err) {
  ul_outcome outcome;

  UL_TRY(apply_any(n, event, NULL, &outcome, err));
  placement->address = outcome.address;
  placement->block_bytes = outcome.block_bytes;
  placement->result = outcome.result;
  return UL_OK;
}

UL_INLINE ul_status run_batch(native *n, const ul_event *events, size_t count,
                              ul_placement *placements, size_t *applied, ul_error *err) {
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
  ul_status status;

#ifdef HAVE_AVX2_WAY
  if (n->has_avx2)
    status = run_batch_avx2(n, events, count, placements, done, err);
  else
#endif
    status = run_batch_plain(n, events, count, placements, done, err);
  n->events += *done;
  return status;
}

static void native_destroy(void *state) {
  native *n = state;
  size_t i;

  for (i = 0; i < n->lanes.count; i++) {
    ul_free_set_release(&n->lanes.items[i].free);
    ul_free_set_release(&n->lanes.items[i].unmapped);
  }
  for (i = 0; i < n->pools.count; i++) {
    UL_VEC_RELEASE(&n->pools.items[i].lanes[0]);
    UL_VEC_RELEASE(&n->pools.items[i].lanes[1]);
  }
  ul_device_release(&n->device);
  ul_idmap_release(&n->pool_index);
  ul_idmap_release(&n->lane_index);
  UL_VEC_RELEASE(&n->blocks);
  UL_VEC_RELEASE(&n->segments);
  UL_VEC_RELEASE(&n->lanes);
  UL_VEC_RELEASE(&n->pools);
  UL_VEC_RELEASE(&n->block_of);
  UL_VEC_RELEASE(&n->pending);
  UL_VEC_RELEASE(&n->scratch);
  UL_VEC_RELEASE(&n->calls);
  UL_VEC_RELEASE(&n->shown_segments);
  UL_VEC_RELEASE(&n->shown_blocks);
  free(n);
}

static uint64_t native_fraction_limit(const void *state, double fraction) {
  const native *n = state;
  return ul_fraction_limit(n->profile, n->device.capacity_bytes, fraction);
}

static ul_status native_create(void **state, const ul_model_options *options, ul_error *err) {
  const ul_profile *profile;
  ul_settings settings;
  native *n;

  UL_TRY(ul_profile_find(&profile, options->torch, NULL, err));
  UL_TRY(ul_settings_parse(&settings, options->settings, options->variable, profile, err));
  n = calloc(1, sizeof(*n));
  if (!n)
    return ul_fail_nomem(err, "the allocator model");
  n->profile = profile;
  n->settings = settings;
  ul_device_init(&n->device, options);
  n->limit_bytes = settings.fraction < 1.0
                       ? ul_fraction_limit(profile, options->device_bytes, settings.fraction)
                       : UINT64_MAX;
#ifdef HAVE_AVX2_WAY
  n->has_avx2 = __builtin_cpu_supports("avx2") != 0;
#endif
  n->numbers_blocks = profile->tie == UL_TIE_BLOCK;
  ul_native_settings_changed(n);
  /* Index 0 of each is "none": the short ways read it without asking. */
  n->dead_block = ul_native_grow_blocks(n);
  if (!n->dead_block || !ul_native_pool_of(n, 0) || !ul_native_lane_of(n, 0, 0, 0) ||
      !make_room_for(n, 0)) {
    native_destroy(n);
    return ul_fail_nomem(err, "the allocator model");
  }
  *state = n;
  return UL_OK;
}

/* A copy of an array of plain values; 0 without memory. */
#define COPY(field)                                                                            \
  (memset(&to->field, 0, sizeof(to->field)), UL_VEC_RESERVE(&to->field, from->field.count)) && \
      (from->field.count ? memcpy(to->field.items, from->field.items,                          \
                                  from->field.count * sizeof(*from->field.items)) != NULL      \
                         : 1) &&                                                               \
      (to->field.count = from->field.count, 1)

static int copy_lanes(native *to, const native *from) {
  size_t i;

  for (i = 0; i < from->lanes.count; i++) {
    native_lane lane = from->lanes.items[i];
    ul_free_set_init(&lane.free, UL_FREE_DIRECTORY);
    ul_free_set_init(&lane.unmapped, UL_FREE_DIRECTORY);
    if (!UL_VEC_PUSH(&to->lanes, lane) ||
        !ul_free_set_copy(&to->lanes.items[i].free, &from->lanes.items[i].free) ||
        !ul_free_set_copy(&to->lanes.items[i].unmapped, &from->lanes.items[i].unmapped))
      return 0;
  }
  return 1;
}

static int copy_pools(native *to_model, const native *from_model) {
  size_t i;

  for (i = 0; i < from_model->pools.count; i++) {
    const native_pool *from = &from_model->pools.items[i];
    native_pool fresh = {0}, *to;
    fresh.id = from->id;
    fresh.freeable = from->freeable;
    memcpy(fresh.searches, from->searches, sizeof(fresh.searches));
    if (!UL_VEC_PUSH(&to_model->pools, fresh))
      return 0;
    to = &to_model->pools.items[i];
    if (!(COPY(lanes[0])) || !(COPY(lanes[1])))
      return 0;
  }
  return 1;
}

/* Forgets what belongs to the model that was copied. */
static void disown(native *n) {
  memset(&n->blocks, 0, sizeof(n->blocks));
  memset(&n->block_of, 0, sizeof(n->block_of));
  memset(&n->lanes, 0, sizeof(n->lanes));
  memset(&n->device, 0, sizeof(n->device));
  memset(&n->segments, 0, sizeof(n->segments));
  memset(&n->pools, 0, sizeof(n->pools));
  memset(&n->pool_index, 0, sizeof(n->pool_index));
  memset(&n->lane_index, 0, sizeof(n->lane_index));
  memset(&n->pending, 0, sizeof(n->pending));
  memset(&n->scratch, 0, sizeof(n->scratch));
  memset(&n->calls, 0, sizeof(n->calls));
  memset(&n->shown_segments, 0, sizeof(n->shown_segments));
  memset(&n->shown_blocks, 0, sizeof(n->shown_blocks));
}

static ul_status native_clone(void **out, const void *state, ul_error *err) {
  const native *from = state;
  native *to = calloc(1, sizeof(*to));
  int done;

  if (!to)
    return ul_fail_nomem(err, "a copy of the allocator model");
  *to = *from;
  disown(to);
  done = ul_device_copy(&to->device, &from->device) && COPY(blocks) && COPY(segments) &&
         COPY(block_of) && COPY(pending) && ul_idmap_copy(&to->pool_index, &from->pool_index) &&
         ul_idmap_copy(&to->lane_index, &from->lane_index) && copy_lanes(to, from) &&
         copy_pools(to, from);
  if (!done) {
    native_destroy(to);
    return ul_fail_nomem(err, "a copy of the allocator model");
  }
  *out = to;
  return UL_OK;
}

static uint64_t native_round(const void *state, uint64_t requested_bytes) {
  const native *n = state;
  return ul_round_request(requested_bytes, &n->settings, n->profile);
}

static uint64_t native_unsplit_limit(const void *state, int is_small, uint64_t rounded_bytes) {
  const native *n = state;
  return ul_unsplit_limit(&n->settings, is_small, rounded_bytes);
}

const ul_model_ops ul_model_native = {
    .name = "native",
    .summary = "PyTorch's caching allocator, with or without expandable segments",
    .create = native_create,
    .destroy = native_destroy,
    .load = ul_native_load,
    .apply = native_apply,
    .clone = native_clone,
    .apply_batch = native_apply_batch,
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
