/* SPDX-License-Identifier: MIT */
/* New memory for a request that the cache cannot serve: all attempts in PyTorch's order
 * (allocator-spec 3.1 steps 5 - 8, 3.6). */
#include "allocator/native_fast.h"

static int uses_expandable(const native *n, const native_lane *lane) {
  return n->settings.expandable && (!lane->pool_id || n->profile->private_expandable);
}

/* Asks the driver once; on success *block is in no set. */
static ul_device_answer ask_driver(native *n, uint32_t lane_index, uint64_t rounded,
                                   uint32_t *block) {
  const native_lane *lane = &n->lanes.items[lane_index];
  const uint64_t bytes = ul_segment_size(rounded, &n->settings);
  const int slot = lane->small ? UL_SLOT_SMALL : UL_SLOT_LARGE;
  ul_device_answer answer;
  uint64_t address;
  uint32_t segment;

  /* The limit is tested with the segment size, also where another number of bytes is mapped. What a
   * recording's driver granted was within it. */
  if (n->limit_bytes != UINT64_MAX && !n->device.grants &&
      (n->reserved_bytes > n->limit_bytes || bytes > n->limit_bytes - n->reserved_bytes))
    return UL_DEVICE_REFUSED;
  if (uses_expandable(n, lane))
    return ul_native_map(n, lane_index, rounded, block);
  answer = ul_device_malloc(&n->device, bytes, &address);
  if (answer != UL_DEVICE_GRANTED)
    return answer;
  segment = ul_native_segment_new(n, address, bytes, lane_index, 0);
  *block = segment ? ul_native_first_block(n, segment) : 0;
  if (!*block)
    return UL_DEVICE_NOMEM;
  ul_stat_increase(&n->statistics, UL_STAT_SEGMENT, slot, 1);
  ul_stat_increase(&n->statistics, UL_STAT_RESERVED_BYTES, slot, bytes);
  if (bytes >= n->settings.max_split_bytes)
    ul_stat_increase_one(&n->statistics.singles[UL_STAT_OVERSIZE_SEGMENTS], 1);
  n->statistics.counters[UL_STAT_NUM_DEVICE_ALLOC]++;
  n->reserved_bytes += bytes;
  n->segment_count++;
  return ul_native_log_call(n, UL_DRIVER_SEGMENT_ALLOC, address, bytes, lane->stream)
             ? UL_DEVICE_GRANTED
             : UL_DEVICE_NOMEM;
}

ul_device_answer ul_native_grow(native *n, uint32_t lane, uint64_t rounded, uint32_t *block,
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
