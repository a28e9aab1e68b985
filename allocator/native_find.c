/* SPDX-License-Identifier: MIT */
/* Which free block a request gets. */
#include "allocator/native_fast.h"

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
        if (!next.block || ul_native_reach(n, next.block) >= ul_native_reach(n, entry.block))
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
