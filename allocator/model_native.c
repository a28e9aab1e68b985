/* SPDX-License-Identifier: MIT */
/* PyTorch's native caching allocator: what each event does (allocator-spec 3.1 - 3.11, 4.1, 5.1).
 */
#include <stdlib.h>
#include <string.h>

#include "allocator/native.h"
#include "allocator/sizing.h"
#include "base/error.h"
#include "base/units.h"

/* Handles index an array; a recording's are dense, so this bounds memory against hostile callers.
 */
#define HANDLE_LIMIT (UINT64_C(1) << 28)

static int is_expandable(const native *n, uint32_t block) {
  return n->segments.items[n->blocks.items[block].segment].expandable;
}

/* Size of a block with the unmapped one right behind it: how far it could grow. */
static uint64_t reach(const native *n, uint32_t block) {
  const native_block *b = &n->blocks.items[block];
  const native_block *next = &n->blocks.items[b->next];

  return b->bytes + (b->next && (next->flags & BLOCK_UNMAPPED) ? next->bytes : 0);
}

/* Best fit, one candidate only (allocator-spec 3.2). 0 if the driver must be asked. */
uint32_t ul_native_find(const native *n, uint32_t lane, uint64_t rounded, ul_free_at *at) {
  ul_free_set *set = &n->lanes.items[lane].free;
  const ul_settings *s = &n->settings;
  ul_free_entry entry = ul_free_set_lower_bound(set, rounded, at), next;
  ul_free_at ahead;

  if (entry.block && is_expandable(n, entry.block)) {
    if (s->expandable) {
      for (ahead = *at; is_expandable(n, entry.block); entry = next, *at = ahead) {
        next = ul_free_set_next(set, &ahead);
        if (!next.block || reach(n, next.block) >= reach(n, entry.block))
          break;
      }
    } else {
      while (entry.block && is_expandable(n, entry.block))
        entry = ul_free_set_next(set, at);
    }
  }
  if (!entry.block)
    return 0;
  if (rounded < s->max_split_bytes && entry.bytes >= s->max_split_bytes)
    return 0;
  if (rounded >= s->max_split_bytes && entry.bytes >= rounded + s->max_non_split_rounding_bytes)
    return 0;
  return entry.block;
}

static int uses_expandable(const native *n, const native_lane *lane) {
  return n->settings.expandable &&
         (!n->pools.items[lane->pool].id || n->profile->private_expandable);
}

/* Asks the driver once (allocator-spec 3.6); on success *block is in no set. */
static ul_device_answer ask_driver(native *n, uint32_t lane_index, uint64_t rounded,
                                   uint32_t *block) {
  const native_lane *lane = &n->lanes.items[lane_index];
  const uint64_t bytes = ul_segment_size(rounded, &n->settings);
  const int slot = lane->small ? UL_SLOT_SMALL : UL_SLOT_LARGE;
  ul_device_answer answer;
  native_block *b;
  uint64_t address;
  uint32_t segment;

  /* The limit is tested with the segment size, also where another number of bytes is mapped. What a
   * recording's driver granted was within it. */
  if (n->limit_bytes != UINT64_MAX && !n->device.grants &&
      (n->totals.reserved_bytes > n->limit_bytes ||
       bytes > n->limit_bytes - n->totals.reserved_bytes))
    return UL_DEVICE_REFUSED;
  if (uses_expandable(n, lane))
    return ul_native_map(n, lane_index, rounded, block);
  answer = ul_device_malloc(&n->device, bytes, &address);
  if (answer != UL_DEVICE_GRANTED)
    return answer;
  segment = ul_native_segment_new(n, address, bytes, lane_index, 0);
  *block = segment ? ul_native_block_new(n) : 0;
  if (!*block)
    return UL_DEVICE_NOMEM;
  b = &n->blocks.items[*block];
  b->address = address;
  b->bytes = bytes;
  b->segment = segment;
  n->segments.items[segment].first_block = *block;
  ul_native_block_retie(n, *block);
  ul_native_block_number(n, *block);
  ul_stat_increase(&n->statistics, UL_STAT_SEGMENT, slot, 1);
  ul_stat_increase(&n->statistics, UL_STAT_RESERVED_BYTES, slot, bytes);
  if (bytes >= n->settings.max_split_bytes)
    ul_stat_increase_one(&n->statistics.singles[UL_STAT_OVERSIZE_SEGMENTS], 1);
  n->statistics.counters[UL_STAT_NUM_DEVICE_ALLOC]++;
  n->totals.reserved_bytes += bytes;
  n->totals.segment_count++;
  return ul_native_log_call(n, UL_DRIVER_SEGMENT_ALLOC, address, bytes, lane->stream)
             ? UL_DEVICE_GRANTED
             : UL_DEVICE_NOMEM;
}

/* All attempts at new memory, in PyTorch's order (allocator-spec 3.1 steps 6 - 8). */
static ul_device_answer grow(native *n, uint32_t lane, uint64_t rounded, uint32_t *block,
                             ul_outcome *outcome) {
  ul_device_answer answer;
  int released = 0;

  if (ul_native_collects(n) && !ul_native_collect(n))
    return UL_DEVICE_NOMEM;
  answer = ask_driver(n, lane, rounded, block);
  if (answer != UL_DEVICE_REFUSED)
    return answer;
  outcome->refusals++;
  if (!ul_native_release_available(n, lane, rounded, &released))
    return UL_DEVICE_NOMEM;
  if (released) {
    answer = ask_driver(n, lane, rounded, block);
    if (answer != UL_DEVICE_REFUSED)
      return answer;
    outcome->refusals++;
  }
  if (!ul_native_release_cached(n, 0))
    return UL_DEVICE_NOMEM;
  ul_device_after_flush(&n->device);
  outcome->retries++;
  n->statistics.counters[UL_STAT_NUM_ALLOC_RETRIES]++;
  answer = ask_driver(n, lane, rounded, block);
  if (answer == UL_DEVICE_REFUSED)
    outcome->refusals++;
  return answer;
}

/* Cuts the front off a block that is in no set; the remainder keeps its object and becomes free.
 * Returns the front, or 0 without memory (allocator-spec 3.10 step 1). */
static uint32_t split(native *n, uint32_t block, uint64_t rounded, int slot) {
  const uint32_t front = ul_native_block_new(n);
  native_block *b, *f;
  int was_split;

  if (!front)
    return 0;
  b = &n->blocks.items[block];
  f = &n->blocks.items[front];
  was_split = b->prev || b->next;
  if (!n->segments.items[b->segment].expandable) {
    if (was_split) {
      ul_stat_decrease(&n->statistics, UL_STAT_INACTIVE_SPLIT_BYTES, slot, rounded);
    } else {
      ul_stat_increase(&n->statistics, UL_STAT_INACTIVE_SPLIT, slot, 1);
      ul_stat_increase(&n->statistics, UL_STAT_INACTIVE_SPLIT_BYTES, slot, b->bytes - rounded);
    }
  }
  f->address = b->address;
  f->bytes = rounded;
  f->segment = b->segment;
  f->prev = b->prev;
  f->next = block;
  if (f->prev)
    n->blocks.items[f->prev].next = front;
  else
    n->segments.items[f->segment].first_block = front;
  b->prev = front;
  b->address += rounded;
  b->bytes -= rounded;
  ul_native_block_retie(n, front);
  ul_native_block_number(n, front);
  ul_native_block_retie(n, block);
  return ul_native_put_free(n, block) ? front : 0;
}

static void hand_out(native *n, uint32_t block, const ul_event *event, uint64_t rounded, int slot) {
  native_block *b = &n->blocks.items[block];

  b->flags = BLOCK_ALLOCATED;
  b->requested_bytes = event->bytes;
  b->handle = (uint32_t)event->handle;
  b->stack = event->stack;
  b->uses = 0;
  if (event->handle)
    n->block_of.items[event->handle] = block;
  ul_stat_increase(&n->statistics, UL_STAT_ALLOCATION, slot, 1);
  ul_stat_increase(&n->statistics, UL_STAT_ALLOCATED_BYTES, slot, b->bytes);
  ul_stat_increase(&n->statistics, UL_STAT_ACTIVE, slot, 1);
  ul_stat_increase(&n->statistics, UL_STAT_ACTIVE_BYTES, slot, b->bytes);
  ul_stat_increase(&n->statistics, UL_STAT_REQUESTED_BYTES, slot, event->bytes);
  if (b->bytes >= n->settings.max_split_bytes)
    ul_stat_increase_one(&n->statistics.singles[UL_STAT_OVERSIZE_ALLOCATIONS], 1);
  n->totals.allocated_bytes += b->bytes;
  n->totals.active_bytes += b->bytes;
  n->totals.requested_bytes += event->bytes;
  n->totals.live_bytes += event->bytes;
  n->totals.live_rounded_bytes += rounded;
}

static ul_status reject(ul_outcome *outcome, const char *reason) {
  outcome->result = UL_OUTCOME_REJECTED;
  outcome->reason = reason;
  return UL_OK;
}

static ul_status apply_alloc(native *n, const ul_event *event, ul_outcome *outcome, ul_error *err) {
  const uint64_t rounded = ul_round_request(event->bytes, &n->settings, n->profile);
  uint32_t lane, block;
  ul_device_answer answer;
  ul_free_at at;
  int slot;

  if (!event->bytes)
    return UL_OK; /* a null pointer; PyTorch touches nothing */
  if (event->bytes >= UL_REQUEST_LIMIT_BYTES)
    return reject(outcome, "a request of 2^60 bytes or more");
  if (event->handle >= HANDLE_LIMIT)
    return reject(outcome, "a handle that is not a serial number");
  while (n->block_of.count <= event->handle) {
    if (!UL_VEC_PUSH(&n->block_of, 0))
      return ul_fail_nomem(err, "the allocator model");
  }
  if (event->handle && n->block_of.items[event->handle])
    return reject(outcome, "a handle that is already in use");
  lane = ul_native_lane_of(n, event->pool, event->stream, rounded <= UL_SMALL_LIMIT_BYTES);
  if (!lane)
    return ul_fail_nomem(err, "the allocator model");
  slot = n->lanes.items[lane].small ? UL_SLOT_SMALL : UL_SLOT_LARGE;
  outcome->segment_bytes = ul_segment_size(rounded, &n->settings);
  if (ul_native_collects(n))
    n->pools.items[n->lanes.items[lane].pool].searches[n->lanes.items[lane].small]++;
  block = ul_native_find(n, lane, rounded, &at);
  if (block) {
    ul_native_take_found(n, block, at);
  } else {
    answer = grow(n, lane, rounded, &block, outcome);
    if (answer == UL_DEVICE_NOMEM)
      return ul_fail_nomem(err, "the allocator model");
    if (answer == UL_DEVICE_REFUSED) {
      n->statistics.counters[UL_STAT_NUM_OOMS]++;
      outcome->result = UL_OUTCOME_OOM;
      outcome->block_bytes = rounded;
      return UL_OK;
    }
  }
  if (n->blocks.items[block].bytes - rounded >
      ul_unsplit_limit(&n->settings, n->lanes.items[lane].small, rounded)) {
    block = split(n, block, rounded, slot);
    if (!block)
      return ul_fail_nomem(err, "the allocator model");
  } else if (!is_expandable(n, block) &&
             (n->blocks.items[block].prev || n->blocks.items[block].next)) {
    ul_stat_decrease(&n->statistics, UL_STAT_INACTIVE_SPLIT, slot, 1);
    ul_stat_decrease(&n->statistics, UL_STAT_INACTIVE_SPLIT_BYTES, slot,
                     n->blocks.items[block].bytes);
  }
  hand_out(n, block, event, rounded, slot);
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
  uint64_t rounded = ul_round_request(live_request(b), &n->settings, n->profile);
  return rounded < b->bytes ? rounded : b->bytes;
}

static ul_status apply_free(native *n, const ul_event *event, ul_outcome *outcome, ul_error *err) {
  uint32_t block = block_of(n, event->handle);
  native_block *b;
  int slot;

  if (!block || !(n->blocks.items[block].flags & BLOCK_ALLOCATED))
    return reject(outcome, "a free of an allocation that is not live");
  b = &n->blocks.items[block];
  slot = ul_native_slot(n, b);
  outcome->address = b->address;
  outcome->block_bytes = b->bytes;
  ul_stat_decrease(&n->statistics, UL_STAT_ALLOCATION, slot, 1);
  ul_stat_decrease(&n->statistics, UL_STAT_ALLOCATED_BYTES, slot, b->bytes);
  if (b->bytes >= n->settings.max_split_bytes)
    ul_stat_decrease_one(&n->statistics.singles[UL_STAT_OVERSIZE_ALLOCATIONS], 1);
  n->totals.allocated_bytes -= b->bytes;
  n->totals.live_bytes -= live_request(b);
  n->totals.live_rounded_bytes -= live_rounded(n, b);
  if (b->uses) {
    b->flags = BLOCK_PENDING;
    return ul_native_add_pending(n, block) ? UL_OK : ul_fail_nomem(err, "the allocator model");
  }
  n->block_of.items[event->handle] = 0;
  return ul_native_free_block(n, block) ? UL_OK : ul_fail_nomem(err, "the allocator model");
}

static ul_status apply_complete(native *n, const ul_event *event, ul_outcome *outcome,
                                ul_error *err) {
  uint32_t block = block_of(n, event->handle);

  if (!block || !(n->blocks.items[block].flags & BLOCK_PENDING))
    return UL_OK; /* freed at once, or waited for already */
  ul_native_drop_pending(n, block);
  n->block_of.items[event->handle] = 0;
  n->blocks.items[block].uses = 0;
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
  if (n->lanes.items[n->segments.items[b->segment].lane].stream != event->stream &&
      b->uses < UINT16_MAX)
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

static ul_status native_apply(void *state, const ul_event *event, const ul_grants *grants,
                              ul_outcome *outcome, ul_error *err) {
  native *n = state;
  ul_status status;

  memset(outcome, 0, sizeof(*outcome));
  if (event->kind >= UL_EVENT_KIND_COUNT)
    return reject(outcome, "an event kind that does not exist");
  n->events++;
  n->calls.count = 0;
  n->device.grants = grants;
  n->device.grant = 0;
  status = appliers[event->kind](n, event, outcome, err);
  n->device.grants = NULL;
  outcome->calls = n->calls.items;
  outcome->call_count = (uint32_t)n->calls.count;
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
  UL_TRY(ul_settings_parse(&settings, options->settings, profile, err));
  n = calloc(1, sizeof(*n));
  if (!n)
    return ul_fail_nomem(err, "the allocator model");
  n->profile = profile;
  n->settings = settings;
  ul_device_init(&n->device, options);
  n->limit_bytes = settings.fraction < 1.0
                       ? ul_fraction_limit(profile, options->device_bytes, settings.fraction)
                       : UINT64_MAX;
  if (!ul_native_pool_of(n, 0)) {
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
    memset(&lane.free, 0, sizeof(lane.free));
    memset(&lane.unmapped, 0, sizeof(lane.unmapped));
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

static ul_status native_clone(void **out, const void *state, ul_error *err) {
  const native *from = state;
  native *to = calloc(1, sizeof(*to));
  int done;

  if (!to)
    return ul_fail_nomem(err, "a copy of the allocator model");
  to->profile = from->profile;
  to->settings = from->settings;
  to->dead_block = from->dead_block;
  to->dead_segment = from->dead_segment;
  to->limit_bytes = from->limit_bytes;
  to->pending_gone = from->pending_gone;
  memcpy(to->last_lane, from->last_lane, sizeof(to->last_lane));
  to->block_number = from->block_number;
  to->segment_ties = from->segment_ties;
  to->segment_number = from->segment_number;
  to->events = from->events;
  to->totals = from->totals;
  to->statistics = from->statistics;
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

static const ul_totals *native_totals(const void *state) {
  return &((const native *)state)->totals;
}

static size_t native_stats(const void *state, ul_stat *out, size_t capacity) {
  return ul_statistics_list(&((const native *)state)->statistics, out, capacity);
}

static void native_reset_peak(void *state) {
  ul_statistics_reset_peak(&((native *)state)->statistics);
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
    .totals = native_totals,
    .stats = native_stats,
    .reset_peak = native_reset_peak,
    .visit = ul_native_visit,
    .check = ul_native_check,
    .round = native_round,
    .fraction_limit = native_fraction_limit,
    .unsplit_limit = native_unsplit_limit,
    .asker = ul_native_asker,
};
