/* SPDX-License-Identifier: MIT */
/* How a requested size becomes a block size, a pool and a segment size. Pure functions; bytes. */
#ifndef UL_ALLOCATOR_SIZING_H
#define UL_ALLOCATOR_SIZING_H

#include <stdint.h>

#include "allocator/profile.h"
#include "allocator/settings.h"

#define UL_MIN_BLOCK_BYTES     UINT64_C(512)       /* quantum and smallest remainder, small pool */
#define UL_SMALL_LIMIT_BYTES   (UINT64_C(1) << 20) /* rounded sizes up to here use the small pool */
#define UL_SMALL_SEGMENT_BYTES (UINT64_C(2) << 20)
#define UL_OWN_SEGMENT_BYTES   (UINT64_C(10) << 20) /* from here on a segment per request */
#define UL_SEGMENT_QUANTUM     (UINT64_C(2) << 20)
#define UL_REQUEST_LIMIT_BYTES (UINT64_C(1) << 60) /* what no caller may ask for */

/* Rounds a request of 1 ... UL_REQUEST_LIMIT_BYTES bytes (PyTorch: round_size). 0 counts as 1. */
uint64_t ul_round_request(uint64_t requested_bytes, const ul_settings *settings,
                          const ul_profile *profile);

/* Whether rounding to that, or to whole segments, passed 2^64. */
int ul_request_wraps(uint64_t requested_bytes, uint64_t rounded_bytes);

/* What is asked of the driver for a rounded size (PyTorch: get_allocation_size). */
uint64_t ul_segment_size(uint64_t rounded_bytes, const ul_settings *settings);

/* The address space of an expandable segment, before it is rounded up to whole units: 9/8 of the
 * device, or what expandable_segments_reserve says, at most 9/8. 0 if that is less than a byte. */
uint64_t ul_reserve_bytes(const ul_settings *settings, uint64_t device_bytes);

/* The largest remainder that stays with a block of this rounded size (PyTorch: should_split);
 * UINT64_MAX: any. */
uint64_t ul_unsplit_limit(const ul_settings *settings, int is_small, uint64_t rounded_bytes);

/* What a memory fraction allows of a device (PyTorch: setMemoryFraction); UINT64_MAX: no limit. */
uint64_t ul_fraction_limit(const ul_profile *profile, uint64_t device_bytes, double fraction);

#endif
