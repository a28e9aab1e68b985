/* SPDX-License-Identifier: MIT */
/* New memory for a request that the cache cannot serve: all attempts in PyTorch's order
 * (allocator-spec 3.1 steps 5 - 8, 3.6). */
#include "allocator/native_fast.h"

/* The limit is tested with the segment size, also where another number of bytes would be mapped.
 * What a recording's driver granted was within it. */
static int over_limit(const native *n, const native_request *r) {
  return n->limit_bytes != UINT64_MAX && !n->device.grants &&
         (n->reserved_bytes > n->limit_bytes ||
          r->segment_bytes > n->limit_bytes - n->reserved_bytes);
}

/* throw_on_cudamalloc_oom: what would pass the fraction of the settings, as they are now, is not
 * even asked for. It comes after the limit, which may be another one: that of the call. */
static int is_preempted(const native *n, const native_request *r) {
  const uint64_t total = n->reserved_bytes;
  const uint64_t most = (uint64_t)(n->settings.fraction * (double)n->property_bytes);

  return n->settings.throw_on_oom && n->property_bytes &&
         (total > most || r->segment_bytes > most - total);
}

static ul_device_answer new_segment(native *n, const native_request *r, uint32_t *block) {
  const uint64_t bytes = r->segment_bytes;
  ul_device_answer answer;
  uint64_t address;
  uint32_t segment;

  answer = ul_device_malloc(&n->device, bytes, &address);
  if (answer == UL_DEVICE_REFUSED &&
      !ul_native_call(n, UL_DRIVER_ALLOC_REFUSED, 0, bytes, r->stream))
    return UL_DEVICE_NOMEM;
  if (answer != UL_DEVICE_GRANTED)
    return answer;
  segment = ul_native_segment_new(n, address, bytes, r->lane, 0);
  *block = segment ? ul_native_first_block(n, segment) : 0;
  if (!*block || !ul_native_call(n, UL_DRIVER_SEGMENT_ALLOC, address, bytes, r->stream))
    return UL_DEVICE_NOMEM;
  n->segments.items[segment].stack = r->stack;
  ul_stat_increase(&n->statistics, UL_STAT_SEGMENT, r->small ? UL_SLOT_SMALL : UL_SLOT_LARGE, 1);
  ul_native_reserve(n, r->lane, bytes);
  if (bytes >= n->settings.max_split_bytes)
    ul_stat_increase_one(&n->statistics.singles[UL_STAT_OVERSIZE_SEGMENTS], 1);
  n->statistics.counters[UL_STAT_NUM_DEVICE_ALLOC]++;
  n->segment_count++;
  return ul_native_note(n, UL_ACTION_SEGMENT_ALLOC, address, bytes, r->stream) ? UL_DEVICE_GRANTED
                                                                               : UL_DEVICE_NOMEM;
}

/* One attempt; retry: after a full flush. On success *block is in no set. */
static ul_device_answer ask(native *n, native_request *r, int retry, uint32_t *block,
                            ul_outcome *outcome) {
  const int maps = r->expandable && (!r->pool || n->profile->private_expandable);
  ul_pool *pool = r->pool ? ul_pools_find(&n->registry, r->pool) : NULL;
  ul_device_answer answer = UL_DEVICE_REFUSED;

  if (retry) {
    n->statistics.counters[UL_STAT_NUM_ALLOC_RETRIES]++;
    outcome->retries++;
  }
  outcome->preempted = !over_limit(n, r) && is_preempted(n, r);
  if (outcome->preempted)
    return UL_DEVICE_REFUSED;
  if (maps && pool && pool->custom && !over_limit(n, r))
    n->error = "expandable segments in a pool with an allocator of its own";
  else if (!over_limit(n, r))
    answer = maps ? ul_native_map(n, r, block) : new_segment(n, r, block);
  outcome->refusals += answer == UL_DEVICE_REFUSED;
  r->pool_refused |= answer == UL_DEVICE_REFUSED && pool && pool->custom && !over_limit(n, r);
  if (pool && answer == UL_DEVICE_GRANTED)
    pool->driver_allocations++;
  return answer;
}

/* ---- pools that serve others ---- */

/* What the pool has cached, with the request routed to it for a moment: it comes to be if it does
 * not exist, and nobody uses it afterwards. Returns 0 without memory. */
static int find_in_pool(native *n, native_request *r, uint32_t *block) {
  ul_pools_answer answer = ul_pools_begin(&n->registry, r->pool, UL_STREAM_ALL, 0);

  if (answer == UL_POOLS_DONE) {
    n->block_number += n->profile->keys_are_numbered;
    r->lane = ul_native_lane_of(n, r->pool, r->stream, r->small);
    if (!r->lane)
      return 0;
    *block = ul_native_find(n, r);
    answer = ul_pools_end(&n->registry, r->pool, UL_STREAM_ALL, 0);
    if (answer == UL_POOLS_DONE)
      answer = ul_pools_drop(&n->registry, r->pool);
  }
  ul_native_pools_changed(n);
  if (answer == UL_POOLS_REFUSED)
    n->error = n->registry.reason;
  return answer != UL_POOLS_NOMEM;
}

/* A pool registered for that serves a request that is not its own, from what it has cached. */
static ul_device_answer ask_pools(native *n, native_request *r, uint32_t *block) {
  UL_VEC(uint32_t) ids = {NULL, 0, 0};
  ul_device_answer answer = UL_DEVICE_REFUSED;
  size_t i, at = 0;
  uint32_t id;
  int done = 1;

  while (done && !r->pool && (id = ul_pools_next_on_oom(&n->registry, &at)) != 0)
    done = UL_VEC_PUSH(&ids, id);
  for (i = 0; done && answer == UL_DEVICE_REFUSED && !n->error && i < ids.count; i++) {
    native_request other = *r;
    other.pool = ids.items[i];
    other.expandable = n->profile->on_oom_expandable && r->expandable;
    *block = 0;
    done = find_in_pool(n, &other, block);
    if (done && *block) {
      *r = other;
      answer = UL_DEVICE_GRANTED;
    }
  }
  UL_VEC_RELEASE(&ids);
  return done ? answer : UL_DEVICE_NOMEM;
}

/* Nothing more can be tried: there is an answer, or an error. */
static int is_over(const native *n, ul_device_answer answer, const ul_outcome *outcome) {
  return answer != UL_DEVICE_REFUSED || outcome->preempted || n->error || n->broken;
}

ul_device_answer ul_native_grow(native *n, native_request *r, uint32_t *block,
                                ul_outcome *outcome) {
  ul_device_answer answer;
  int released = 0;

  if (n->careful & CAREFUL_COLLECTS && !ul_native_collect(n))
    return UL_DEVICE_NOMEM;
  answer = ask(n, r, 0, block, outcome);
  if (!is_over(n, answer, outcome) && n->profile->use_on_oom == UL_ON_OOM_FIRST)
    answer = ask_pools(n, r, block);
  if (is_over(n, answer, outcome))
    return answer;
  if (!ul_native_release_oversize(n, r, &released))
    return UL_DEVICE_NOMEM;
  if (released && !is_over(n, answer, outcome))
    answer = ask(n, r, 0, block, outcome);
  if (is_over(n, answer, outcome))
    return answer;
  if (!ul_pools_suspended(&n->registry)) {
    if (!ul_native_flush(n, 0, &n->error))
      return UL_DEVICE_NOMEM;
    if (r->pool && !ul_pools_find(&n->registry, r->pool)->exists)
      n->broken = "a request's own pool, which nobody uses, is destroyed while it looks for memory";
    if (is_over(n, answer, outcome))
      return answer;
    ul_device_after_flush(&n->device);
    answer = ask(n, r, 1, block, outcome);
  }
  if (!is_over(n, answer, outcome) && n->profile->use_on_oom == UL_ON_OOM_LAST)
    answer = ask_pools(n, r, block);
  return answer;
}
