/* SPDX-License-Identifier: MIT */
/* Expandable segments (allocator-spec 6): one reserved range per pool and stream, mapped and
 * unmapped in whole units. A range's block list covers all of it, unmapped parts included. */
#include "allocator/native_fast.h"
#include "base/units.h"

/* Where the capacity is unknown the range only has to be larger than any device. */
#define UNKNOWN_CAPACITY (UINT64_C(1) << 40)

uint64_t ul_native_unit(const native *n, int small) {
  return small ? UL_SMALL_SEGMENT_BYTES : n->settings.large_segment_bytes;
}

uint64_t ul_native_range_bytes(const native *n, int small) {
  const uint64_t total = n->device.capacity_bytes ? n->device.capacity_bytes : UNKNOWN_CAPACITY;

  return ul_round_up(ul_reserve_bytes(&n->settings, total), ul_native_unit(n, small));
}

/* A block that was just mapped joins its free neighbours and stays the object. In no set. */
static uint32_t join_mapped(native *n, uint32_t block) {
  const uint32_t prev = n->blocks.items[block].prev, next = n->blocks.items[block].next;

  if (ul_native_is_free(&n->blocks.items[prev])) {
    ul_native_take_free(n, prev);
    ul_native_join_objects(n, block, prev);
    ul_native_move_object(n, prev, block);
    ul_native_join(n, prev, block);
    block = prev;
  }
  if (ul_native_is_free(&n->blocks.items[next])) {
    ul_native_take_free(n, next);
    ul_native_join(n, block, next);
  }
  return block;
}

/* The same for a block that was just unmapped. */
static uint32_t join_unmapped(native *n, uint32_t block) {
  const uint32_t prev = n->blocks.items[block].prev, next = n->blocks.items[block].next;

  if (n->blocks.items[prev].flags & BLOCK_UNMAPPED) {
    ul_native_take_unmapped(n, prev);
    ul_native_join_objects(n, block, prev);
    ul_native_move_object(n, prev, block);
    ul_native_join(n, prev, block);
    block = prev;
  }
  if (n->blocks.items[next].flags & BLOCK_UNMAPPED) {
    ul_native_take_unmapped(n, next);
    ul_native_join(n, block, next);
  }
  return block;
}

/* Maps the first `wanted` bytes, in whole units, of an unmapped block; *mapped is what it became
 * with its neighbours. Refused, nothing has changed. */
static ul_device_answer map_front(native *n, uint32_t block, uint64_t wanted, uint32_t *mapped) {
  const native_block b = n->blocks.items[block];
  const uint64_t unit = n->segments.items[b.segment].unit, bytes = ul_round_up(wanted, unit);
  const uint32_t stream = n->lanes.items[b.lane].stream;
  const ul_device_answer answer = ul_device_map(&n->device, b.address, bytes);
  uint32_t rest;

  if (answer == UL_DEVICE_REFUSED && !ul_native_call(n, UL_DRIVER_MAP_REFUSED, 0, unit, stream))
    return UL_DEVICE_NOMEM;
  if (answer != UL_DEVICE_GRANTED)
    return answer;
  if (!ul_native_call(n, UL_DRIVER_SEGMENT_MAP, b.address, bytes, stream))
    return UL_DEVICE_NOMEM;
  ul_native_take_unmapped(n, block);
  if (bytes < b.bytes) {
    rest = ul_native_cut_rest(n, block, bytes);
    if (!rest || !ul_native_put_unmapped(n, rest))
      return UL_DEVICE_NOMEM;
  }
  n->blocks.items[block].flags &= BLOCK_OF_SEGMENT;
  *mapped = join_mapped(n, block);
  if (!ul_native_put_free(n, *mapped))
    return UL_DEVICE_NOMEM;
  ul_native_reserve(n, b.lane, bytes);
  n->statistics.counters[UL_STAT_NUM_DEVICE_ALLOC]++;
  return ul_native_note(n, UL_ACTION_SEGMENT_MAP, b.address, bytes, stream) ? UL_DEVICE_GRANTED
                                                                            : UL_DEVICE_NOMEM;
}

static int usable(const native_block *b) {
  return !(b->flags & (BLOCK_ALLOCATED | BLOCK_PENDING));
}

/* The block where a run of free and unmapped blocks long enough starts; 0 if there is none. */
static uint32_t find_run(native *n, uint32_t lane, uint64_t rounded) {
  ul_free_set *set = &n->lanes.items[lane].unmapped;
  ul_free_entry entry;
  ul_free_at at;

  entry = ul_free_set_first(set, &at);
  for (; entry.block; entry = ul_free_set_next(set, &at)) {
    uint32_t start = entry.block, block;
    uint64_t sum = 0;
    if (n->blocks.items[start].prev && usable(&n->blocks.items[n->blocks.items[start].prev]))
      start = n->blocks.items[start].prev;
    for (block = start; block && sum < rounded && usable(&n->blocks.items[block]);
         block = n->blocks.items[block].next)
      sum += n->blocks.items[block].bytes;
    if (sum >= rounded)
      return start;
  }
  return 0;
}

uint32_t ul_native_growing_block(native *n, uint32_t pool, uint32_t stream, int small,
                                 uint64_t rounded) {
  size_t i;
  uint32_t block;

  if (!n->settings.expandable || (pool && !n->profile->private_expandable))
    return 0;
  for (i = 1; i < n->lanes.count; i++) {
    const native_lane *lane = &n->lanes.items[i];
    if (lane->pool_id != pool || lane->stream != stream || lane->small != small)
      continue;
    block = find_run(n, (uint32_t)i, rounded);
    return block && ul_native_is_free(&n->blocks.items[block]) ? block : 0;
  }
  return 0;
}

/* A new range. From 2.15 on one that is too small for the request is given back at once; before, it
 * stays, and mapping all of it fails. */
static ul_device_answer new_range(native *n, const native_request *r, uint32_t *block) {
  const uint64_t bytes = ul_native_range_bytes(n, r->small);
  ul_device_answer answer;
  uint64_t address;
  uint32_t segment;

  answer = ul_device_reserve(&n->device, bytes, &address);
  if (answer != UL_DEVICE_GRANTED)
    return answer;
  if (!ul_native_call(n, UL_DRIVER_RANGE_RESERVE, address, bytes, r->stream))
    return UL_DEVICE_NOMEM;
  if (!bytes || (bytes < r->rounded && n->profile->range_must_fit)) {
    ul_device_unreserve(&n->device, address);
    return ul_native_call(n, UL_DRIVER_RANGE_RELEASE, address, bytes, r->stream) ? UL_DEVICE_REFUSED
                                                                                 : UL_DEVICE_NOMEM;
  }
  segment = ul_native_segment_new(n, address, bytes, r->lane, 1);
  *block = segment ? ul_native_first_block(n, segment) : 0;
  if (!*block || !ul_native_put_unmapped(n, *block))
    return UL_DEVICE_NOMEM;
  n->segments.items[segment].stack = r->stack;
  return UL_DEVICE_GRANTED;
}

ul_device_answer ul_native_map(native *n, const native_request *r, uint32_t *out) {
  uint32_t block = find_run(n, r->lane, r->rounded);
  ul_device_answer answer = UL_DEVICE_GRANTED;
  uint64_t missing;

  n->block_number += n->profile->keys_are_numbered;
  if (!block)
    answer = new_range(n, r, &block);
  if (answer == UL_DEVICE_GRANTED && n->blocks.items[block].flags & BLOCK_UNMAPPED) {
    missing = n->blocks.items[block].bytes < r->rounded ? n->blocks.items[block].bytes : r->rounded;
    answer = map_front(n, block, missing, &block);
  }
  while (answer == UL_DEVICE_GRANTED && n->blocks.items[block].bytes < r->rounded) {
    const uint32_t next = n->blocks.items[block].next;
    if (!next)
      return UL_DEVICE_REFUSED; /* a range smaller than the request, on an endless device */
    missing = r->rounded - n->blocks.items[block].bytes;
    if (missing > n->blocks.items[next].bytes)
      missing = n->blocks.items[next].bytes;
    answer = map_front(n, next, missing, &block);
  }
  if (answer != UL_DEVICE_GRANTED)
    return answer; /* what was mapped stays, free */
  ul_native_take_free(n, block);
  *out = block;
  return UL_DEVICE_GRANTED;
}

void ul_native_forget_range(native *n, uint32_t segment) {
  const uint32_t block = n->segments.items[segment].first_block;

  ul_native_take_unmapped(n, block);
  ul_native_drop_object(n, block);
  ul_native_block_delete(n, block);
  ul_native_segment_delete(n, segment);
}

/* The units are unmapped: what is counted for them, and what follows. */
static int note_unmapped(native *n, const native_block *b, uint64_t address, uint64_t bytes) {
  const native_lane *lane = &n->lanes.items[b->lane];

  ul_device_unmap(&n->device, address, bytes);
  ul_waits_unmapped(&n->waits, lane->stream);
  ul_native_unreserve(n, b->lane, bytes);
  ul_native_less_driver_memory(n, lane);
  n->statistics.counters[UL_STAT_NUM_DEVICE_FREE]++;
  return ul_native_call(n, UL_DRIVER_SEGMENT_UNMAP, address, bytes, lane->stream) &&
         ul_native_note(n, UL_ACTION_SEGMENT_UNMAP, address, bytes, lane->stream);
}

/* Gives back the whole units inside a free block (allocator-spec 6.5, 6.6). */
int ul_native_unmap(native *n, uint32_t block) {
  const native_block b = n->blocks.items[block];
  const native_segment *range = &n->segments.items[b.segment];
  const uint64_t bytes = ul_native_whole_units(n, &b);
  const uint64_t start = b.address - range->address;
  const uint64_t head = ul_round_up(start, range->unit) - start;
  uint32_t middle = block, tail;

  if (!bytes)
    return 1;
  ul_native_take_free(n, block);
  if (head) {
    /* The head is a new object; the middle stays the one that is unmapped. */
    middle = ul_native_cut_front(n, block, head);
    if (!middle || !ul_native_put_free(n, block))
      return 0;
  }
  if (n->blocks.items[middle].bytes > bytes) {
    tail = ul_native_cut_rest(n, middle, bytes);
    if (!tail || !ul_native_put_free(n, tail))
      return 0;
  }
  n->blocks.items[middle].flags =
      (uint16_t)((n->blocks.items[middle].flags & BLOCK_OF_SEGMENT) | BLOCK_UNMAPPED);
  middle = join_unmapped(n, middle);
  if (!ul_native_put_unmapped(n, middle) || !note_unmapped(n, &b, b.address + head, bytes))
    return 0;
  if (n->blocks.items[middle].prev | n->blocks.items[middle].next)
    return 1;
  range = &n->segments.items[b.segment];
  ul_device_unreserve(&n->device, range->address);
  if (!ul_native_call(n, UL_DRIVER_RANGE_RELEASE, range->address, range->bytes,
                      n->lanes.items[b.lane].stream))
    return 0;
  ul_native_forget_range(n, b.segment);
  return 1;
}
