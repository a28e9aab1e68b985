/* SPDX-License-Identifier: MIT */
#include "allocator/sizing.h"

#include "base/units.h"

static unsigned log2_floor(uint64_t value) {
  return 63u - (unsigned)__builtin_clzll(value);
}

/* PyTorch: roundup_power2_next_division. d divides the interval between two powers of two. */
static uint64_t round_to_division(uint64_t bytes, uint64_t divisions) {
  uint64_t floor, step, low;

  if (!(bytes & (bytes - 1)))
    return bytes;
  floor = UINT64_C(1) << log2_floor(bytes);
  step = floor >> log2_floor(divisions);
  if (!step)
    return floor << 1;
  low = bytes & ~(step - 1);
  return low == bytes ? bytes : low + step;
}

static uint64_t divisions_of(uint64_t bytes, const ul_settings *settings) {
  unsigned log2 = log2_floor(bytes), index = log2 < 20 ? 0 : log2 - 20;

  return settings->divisions[index < UL_DIVISION_COUNT ? index : UL_DIVISION_COUNT - 1];
}

uint64_t ul_round_request(uint64_t requested_bytes, const ul_settings *settings,
                          const ul_profile *profile) {
  uint64_t divisions;

  if (requested_bytes < UL_MIN_BLOCK_BYTES)
    return UL_MIN_BLOCK_BYTES;
  if (settings->any_divisions && requested_bytes <= settings->roundup_bypass_bytes) {
    divisions = divisions_of(requested_bytes, settings);
    if (divisions == 1 && profile->odd_single_division)
      return requested_bytes; /* an early exit of the real formula; seen on 1.13.1, 2.1.2 */
    if (divisions > 1 && requested_bytes > UL_MIN_BLOCK_BYTES * divisions)
      return round_to_division(requested_bytes, divisions);
  }
  return ul_round_up(requested_bytes, UL_MIN_BLOCK_BYTES);
}

int ul_request_wraps(uint64_t requested_bytes, uint64_t rounded_bytes) {
  return requested_bytes > UINT64_MAX - UL_SEGMENT_QUANTUM + 1 || rounded_bytes < requested_bytes;
}

uint64_t ul_segment_size(uint64_t rounded_bytes, const ul_settings *settings) {
  if (rounded_bytes <= UL_SMALL_LIMIT_BYTES)
    return UL_SMALL_SEGMENT_BYTES;
  if (rounded_bytes < UL_OWN_SEGMENT_BYTES)
    return settings->large_segment_bytes;
  return ul_round_up(rounded_bytes, UL_SEGMENT_QUANTUM);
}

uint64_t ul_reserve_bytes(const ul_settings *settings, uint64_t device_bytes) {
  const uint64_t most =
      device_bytes / 8 > UINT64_MAX - device_bytes ? UINT64_MAX : device_bytes + device_bytes / 8;
  const double bytes =
      settings->reserve * (settings->reserve_in_gib ? (double)UL_GIB : (double)device_bytes);

  if (settings->reserve <= 0 || bytes >= (double)most)
    return most;
  return (uint64_t)bytes;
}

uint64_t ul_unsplit_limit(const ul_settings *settings, int is_small, uint64_t rounded_bytes) {
  if (is_small || settings->expandable)
    return UL_MIN_BLOCK_BYTES - 1;
  return rounded_bytes < settings->max_split_bytes ? UL_SMALL_LIMIT_BYTES : UINT64_MAX;
}

uint64_t ul_fraction_limit(const ul_profile *profile, uint64_t device_bytes, double fraction) {
  const double bytes = fraction * (double)device_bytes;

  if (fraction >= 1.0 && !profile->whole_fraction_limits)
    return UINT64_MAX;
  if (bytes >= (double)UINT64_MAX)
    return UINT64_MAX;
  return (uint64_t)(profile->fraction_rounds ? bytes + 0.5 : bytes);
}
