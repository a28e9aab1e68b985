/* SPDX-License-Identifier: MIT */
/* What each event does, the careful way, which knows everything (allocator-spec 3.1 - 3.11, 4.1,
 * 5.1). The short way of model_native.c serves nearly all requests and frees before this is asked.
 */
#include <string.h>

#include "allocator/native_fast.h"
#include "base/error.h"

/* Handles index an array; a recording's are dense, so this bounds memory against hostile callers.
 */
#define HANDLE_LIMIT (UINT64_C(1) << 28)

static ul_status reject(ul_outcome *outcome, const char *reason) {
  outcome->result = UL_OUTCOME_REJECTED;
  outcome->reason = reason;
  return UL_OK;
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

/* Splits and hands out a block that is in no set (allocator-spec 3.9, 3.10); 0 without memory. */
static int hand_out(native *n, uint32_t block, const ul_event *event, uint64_t rounded, int split) {
  native_block *b = &n->blocks.items[block];
  const int slot = ul_native_slot(b);
  const uint64_t whole = b->bytes;
  const int64_t was_split = (b->prev | b->next) != 0;
  int64_t split_count = -was_split, split_bytes = was_split ? -(int64_t)whole : 0;

  if (split) {
    const uint32_t rest = ul_native_cut(n, block, rounded);
    if (!rest || !ul_native_put_free(n, rest))
      return 0;
    split_count = 1 - was_split;
    split_bytes = was_split ? -(int64_t)rounded : (int64_t)(whole - rounded);
  }
  b = &n->blocks.items[block];
  if (b->flags & BLOCK_EXPANDABLE)
    split_count = split_bytes = 0;
  b->flags |= BLOCK_ALLOCATED;
  b->requested_bytes = event->bytes;
  b->handle = (uint32_t)event->handle;
  b->stack = event->stack;
  b->uses = 0;
  n->block_of.items[event->handle] = event->handle ? block : 0;
  ul_native_count(n, slot, 1, (int64_t)b->bytes, split_count, split_bytes);
  ul_native_count_requested(n, slot, event->bytes);
  n->live_rounded_bytes += rounded;
  return 1;
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
  if (!ul_native_make_room_for(n, event->handle))
    return ul_fail_nomem(err, "the allocator model");
  if (n->block_of.items[event->handle])
    return reject(outcome, "a handle that is already in use");
  lane = ul_native_lane_of(n, event->pool, event->stream, small);
  if (!lane)
    return ul_fail_nomem(err, "the allocator model");
  outcome->segment_bytes = ul_segment_size(rounded, &n->settings);
  if (n->careful & CAREFUL_COLLECTS) {
    n->pools.items[n->lanes.items[lane].pool].searches[small]++;
    n->counts_searches = 1;
  }
  block = ul_native_take_candidate(n, &n->lanes.items[lane], rounded, n->settings.expandable);
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
  if (!hand_out(n, block, event, rounded,
                n->blocks.items[block].bytes - rounded >
                    ul_unsplit_limit(&n->settings, small, rounded)))
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

ul_status ul_native_apply(native *n, const ul_event *event, const ul_grants *grants,
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
