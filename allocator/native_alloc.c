/* SPDX-License-Identifier: MIT */
/* The native allocator serves requests, the careful way (allocator-spec 3.1 - 3.6, 3.9 - 3.11). */
#include "allocator/native_fast.h"
#include "base/error.h"

/* Handles index an array; a recording's are dense, so this bounds memory against hostile callers.
 */

uint32_t ul_native_find(native *n, const native_request *r) {
  native_lane *lane = &n->lanes.items[r->lane];
  uint32_t block;

  if (n->careful & CAREFUL_COLLECTS) {
    n->pools.items[lane->pool].searches[r->small]++;
    n->careful |= CAREFUL_SEARCHED;
  }
  block = ul_native_take_candidate(n, lane, r->rounded, r->expandable);
  if (block)
    n->whole_bytes[lane->held] -= ul_native_returnable(n, &n->blocks.items[block]);
  return block;
}

int ul_native_hand_out(native *n, const native_request *r, uint32_t block, int split) {
  native_block *b = &n->blocks.items[block];
  const int slot = ul_native_slot(b);
  const uint64_t whole = b->bytes;
  const int64_t was_split = (b->prev | b->next) != 0;
  int64_t split_count = -was_split, split_bytes = was_split ? -(int64_t)whole : 0;

  if (split) {
    const uint32_t rest = ul_native_cut_front(n, block, r->rounded);
    if (!rest || !ul_native_put_free(n, rest))
      return 0;
    split_count = 1 - was_split;
    split_bytes = was_split ? -(int64_t)r->rounded : (int64_t)(whole - r->rounded);
  }
  b = &n->blocks.items[block];
  if (b->flags & BLOCK_EXPANDABLE)
    split_count = split_bytes = 0;
  b->flags |= BLOCK_ALLOCATED;
  b->requested_bytes = r->bytes;
  b->handle = (uint32_t)r->handle;
  b->stack = r->stack;
  b->uses = 0;
  if (r->handle)
    n->block_of.items[r->handle] = block;
  if (n->careful & CAREFUL_OBJECTS &&
      !ul_history_begin_use(&n->history, &n->objects.items[block].chain, b->address, r->rounded,
                            r->bytes))
    return 0;
  ul_native_count(n, slot, 1, (int64_t)b->bytes, split_count, split_bytes);
  ul_native_count_requested(n, slot, r->bytes);
  ul_native_add_tail(n, b);
  if (b->bytes >= n->settings.max_split_bytes)
    ul_stat_increase_one(&n->statistics.singles[UL_STAT_OVERSIZE_ALLOCATIONS], 1);
  if (n->careful & CAREFUL_WAITING)
    ul_native_note_active_peak(n, slot);
  return ul_native_note(n, UL_ACTION_ALLOC, b->address, r->bytes, n->lanes.items[b->lane].stream);
}

static int should_split(const native *n, const native_request *r, uint32_t block) {
  const ul_pool *pool = r->pool ? ul_pools_find(&n->registry, r->pool) : NULL;
  const uint64_t rest = n->blocks.items[block].bytes - r->rounded;

  if (pool && pool->no_split)
    return 0;
  if (r->small || r->expandable)
    return rest >= UL_MIN_BLOCK_BYTES;
  return r->rounded < n->settings.max_split_bytes && rest > UL_SMALL_LIMIT_BYTES;
}

/* ---- out of memory ---- */

static uint64_t private_free_bytes(const native *n) {
  uint64_t sum = 0;
  size_t i;

  for (i = 1; n->registry.pools.count && i < n->blocks.count; i++) {
    const native_block *b = &n->blocks.items[i];
    if (ul_native_is_free(b) && n->lanes.items[b->lane].pool_id)
      sum += b->bytes;
  }
  return sum;
}

static void note_facts(native *n, const native_request *r, const ul_outcome *outcome) {
  const ul_oom_facts facts = {.requested_bytes = r->bytes,
                              .segment_bytes = r->segment_bytes,
                              .device_bytes = n->device.capacity_bytes,
                              .property_bytes = n->property_bytes,
                              .free_bytes = outcome->device_free_bytes,
                              .limit_bytes = n->limit_bytes,
                              .allocated_bytes = ul_native_allocated_bytes(n),
                              .reserved_bytes = n->reserved_bytes,
                              .private_free_bytes = private_free_bytes(n),
                              .reserve_bytes = ul_reserve_bytes(&n->settings, n->property_bytes),
                              .device = r->device,
                              .expandable = n->settings.expandable,
                              .preempted = outcome->preempted,
                              .pool_refused = (uint8_t)r->pool_refused};

  n->facts = facts;
  n->oom_event = n->events;
}

static int raise_oom(native *n, const native_request *r, ul_outcome *outcome) {
  outcome->result = UL_OUTCOME_OOM;
  outcome->block_bytes = r->rounded;
  outcome->device_free_bytes = ul_device_free_bytes(&n->device);
  outcome->limit_bytes = n->limit_bytes != UINT64_MAX ? n->limit_bytes : n->device.capacity_bytes;
  note_facts(n, r, outcome);
  if (outcome->preempted) {
    n->oom_rejections++;
    return 1;
  }
  n->statistics.counters[UL_STAT_NUM_OOMS]++;
  return ul_native_note(n, UL_ACTION_OOM, outcome->device_free_bytes, r->rounded, r->stream);
}

/* ---- one request ---- */

/* The pool that serves the event: its own, or the one it is routed to. 0 without memory. */
static int find_pool(native *n, const ul_event *event, native_request *r, ul_outcome *outcome) {
  const ul_pool *pool = NULL;

  r->pool = event->pool;
  r->pool_refused = 0;
  r->expandable = n->settings.expandable;
  if (event->pool && !ul_pools_mention(&n->registry, event->pool))
    return 0;
  if (!event->pool)
    r->pool = ul_pools_route(&n->registry, event->stream);
  if (r->pool)
    pool = ul_pools_find(&n->registry, r->pool);
  if (!pool)
    return 1;
  if (!pool->exists)
    ul_native_reject(outcome, "requests are routed to a pool that was destroyed");
  if (pool->custom && n->profile->custom_is_not_expandable)
    r->expandable = 0;
  return 1;
}

/* Refused where there is no request to make. Returns 0 without memory. */
static int make_request(native *n, const ul_event *event, native_request *r, ul_outcome *outcome) {
  if (event->handle >= UL_EVENT_HANDLES)
    ul_native_reject(outcome, "a handle that is not a serial number");
  else if (!ul_native_make_room_for(n, event->handle) || !ul_native_keep_dead_block(n))
    return 0;
  else if (event->handle && n->block_of.items[event->handle])
    ul_native_reject(outcome, "a handle that is already in use");
  if (outcome->result == UL_OUTCOME_REJECTED)
    return 1;
  if (!ul_native_poll(n) || !find_pool(n, event, r, outcome))
    return 0;
  if (outcome->result == UL_OUTCOME_REJECTED)
    return 1;
  r->bytes = event->bytes;
  r->rounded = ul_round_request(event->bytes, &n->settings, n->profile);
  r->segment_bytes = ul_segment_size(r->rounded, &n->settings);
  r->handle = event->handle;
  r->stream = event->stream;
  r->stack = event->stack;
  r->device = event->device;
  r->small = r->rounded <= UL_SMALL_LIMIT_BYTES;
  outcome->segment_bytes = r->segment_bytes;
  if (ul_request_wraps(event->bytes, r->rounded)) {
    ul_native_reject(outcome, "a size that wraps around when it is rounded up");
    return 1;
  }
  r->lane = ul_native_lane_of(n, r->pool, r->stream, r->small);
  return r->lane != 0;
}

static void tell_served(const native *n, uint32_t block, ul_outcome *outcome) {
  outcome->result = UL_OUTCOME_SERVED;
  outcome->address = n->blocks.items[block].address;
  outcome->block_bytes = n->blocks.items[block].bytes;
}

int ul_native_alloc(native *n, const ul_event *event, ul_outcome *outcome) {
  ul_device_answer answer = UL_DEVICE_GRANTED;
  native_request r;
  uint32_t block;

  if (!event->bytes)
    return 1; /* a null pointer; PyTorch touches nothing */
  if (!make_request(n, event, &r, outcome))
    return 0;
  if (outcome->result == UL_OUTCOME_REJECTED)
    return 1;
  n->block_number += n->profile->keys_are_numbered;
  block = ul_native_find(n, &r);
  if (!block)
    answer = ul_native_grow(n, &r, &block, outcome);
  if (n->error || n->broken || answer == UL_DEVICE_NOMEM)
    return answer != UL_DEVICE_NOMEM;
  if (answer == UL_DEVICE_REFUSED)
    return raise_oom(n, &r, outcome);
  if (!ul_native_hand_out(n, &r, block, should_split(n, &r, block)))
    return 0;
  tell_served(n, block, outcome);
  return 1;
}

/* ---- at an address ---- */

/* The free block of the request's pool and stream that holds all of it; 0 if there is none. */
static uint32_t find_at(native *n, const native_request *r, uint64_t address) {
  ul_free_set *set = &n->lanes.items[r->lane].free;
  ul_free_entry entry;
  ul_free_at at;

  entry = ul_free_set_lower_bound(set, r->rounded, &at);
  for (; entry.block; entry = ul_free_set_next(set, &at)) {
    const native_block *b = &n->blocks.items[entry.block];
    if (b->address <= address && address - b->address < b->bytes &&
        b->bytes - (address - b->address) >= r->rounded)
      break;
  }
  return entry.block;
}

/* Only a block that is free already serves. What lies before the address is handed out first, and
 * freed at the end. */
int ul_native_alloc_at(native *n, const ul_event *event, ul_outcome *outcome) {
  native_request r, filler;
  uint32_t first, block;

  if (event->time_ns % UL_MIN_BLOCK_BYTES) {
    ul_native_reject(outcome, "an address that is no multiple of 512");
    return 1;
  }
  if (!make_request(n, event, &r, outcome))
    return 0;
  if (outcome->result == UL_OUTCOME_REJECTED)
    return 1;
  first = block = find_at(n, &r, event->time_ns);
  if (!block) {
    ul_native_reject(outcome, "no free block holds the bytes at that address");
    return 1;
  }
  ul_native_take_free(n, block);
  filler = r;
  filler.bytes = filler.rounded = event->time_ns - n->blocks.items[block].address;
  filler.handle = 0;
  if (filler.bytes) {
    if (!ul_native_hand_out(n, &filler, first, 1))
      return 0;
    block = n->blocks.items[first].next;
    ul_native_take_free(n, block);
  }
  if (!ul_native_hand_out(n, &r, block, should_split(n, &r, block)))
    return 0;
  tell_served(n, block, outcome);
  return !filler.bytes || ul_native_free(n, first);
}
