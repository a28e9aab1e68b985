/* SPDX-License-Identifier: MIT */
/* Expandable segments (allocator-spec 6): one reserved range per pool and stream, mapped and
 * unmapped in whole units. A range's block list covers all of it, unmapped parts included. */
#include "allocator/native.h"
#include "allocator/sizing.h"
#include "base/units.h"

/* Where the capacity is unknown the range only has to be larger than any device. */
#define UNKNOWN_CAPACITY (UINT64_C(1) << 40)

uint64_t ul_native_unit(const native *n, const native_lane *lane) {
  return lane->small ? UL_SMALL_SEGMENT_BYTES : n->settings.large_segment_bytes;
}

uint64_t ul_native_range_bytes(const native *n, const native_lane *lane) {
  uint64_t total = n->device.capacity_bytes ? n->device.capacity_bytes : UNKNOWN_CAPACITY;

  return ul_round_up(total + total / 8, ul_native_unit(n, lane));
}

uint64_t ul_native_whole_units(const native *n, const native_block *b) {
  const native_segment *range = &n->segments.items[b->segment];
  const uint64_t unit = ul_native_unit(n, &n->lanes.items[range->lane]);
  const uint64_t start = b->address - range->address;
  const uint64_t first = ul_round_up(start, unit), last = (start + b->bytes) / unit * unit;

  return last > first ? last - first : 0;
}

uint32_t ul_native_range_new(native *n, uint32_t lane, uint64_t address, uint64_t bytes) {
  uint32_t segment = ul_native_segment_new(n, address, bytes, lane, 1), block;
  native_block *b;

  if (!segment)
    return 0;
  block = ul_native_block_new(n);
  if (!block)
    return 0;
  b = &n->blocks.items[block];
  b->address = address;
  b->bytes = bytes;
  b->segment = segment;
  n->segments.items[segment].first_block = block;
  ul_native_block_retie(n, block);
  ul_native_block_number(n, block);
  return ul_native_put_unmapped(n, block) ? segment : 0;
}

/* Cuts block at `bytes` from its start; the rest becomes a new block behind it, in no set. */
static uint32_t cut(native *n, uint32_t block, uint64_t bytes) {
  uint32_t rest = ul_native_block_new(n);
  native_block *b, *r;

  if (!rest)
    return 0;
  b = &n->blocks.items[block];
  r = &n->blocks.items[rest];
  r->address = b->address + bytes;
  r->bytes = b->bytes - bytes;
  r->segment = b->segment;
  r->flags = b->flags;
  r->prev = block;
  r->next = b->next;
  if (b->next)
    n->blocks.items[b->next].prev = rest;
  b->next = rest;
  b->bytes = bytes;
  ul_native_block_retie(n, rest);
  ul_native_block_number(n, rest);
  return rest;
}

/* Maps the first `wanted` bytes, in whole units, of an unmapped block. */
static ul_device_answer map_front(native *n, uint32_t block, uint64_t wanted) {
  native_block *b = &n->blocks.items[block];
  const uint32_t lane = n->segments.items[b->segment].lane;
  const uint64_t bytes = ul_round_up(wanted, ul_native_unit(n, &n->lanes.items[lane]));
  const uint64_t address = b->address;
  const int slot = ul_native_slot(n, b);
  ul_device_answer answer = ul_device_map(&n->device, address, bytes);
  uint32_t rest;

  if (answer != UL_DEVICE_GRANTED)
    return answer;
  ul_native_take_unmapped(n, block);
  if (bytes < b->bytes) {
    rest = cut(n, block, bytes);
    if (!rest || !ul_native_put_unmapped(n, rest))
      return UL_DEVICE_NOMEM;
  }
  b = &n->blocks.items[block];
  b->flags = 0;
  b->requested_bytes = 0;
  ul_native_merge(n, block, b->prev);
  ul_native_merge(n, block, n->blocks.items[block].next);
  if (!ul_native_put_free(n, block))
    return UL_DEVICE_NOMEM;
  ul_stat_increase(&n->statistics, UL_STAT_RESERVED_BYTES, slot, bytes);
  n->statistics.counters[UL_STAT_NUM_DEVICE_ALLOC]++;
  n->totals.reserved_bytes += bytes;
  return ul_native_log_call(n, UL_DRIVER_SEGMENT_MAP, address, bytes, n->lanes.items[lane].stream)
             ? UL_DEVICE_GRANTED
             : UL_DEVICE_NOMEM;
}

static int usable(const native_block *b) {
  return !(b->flags & (BLOCK_ALLOCATED | BLOCK_PENDING));
}

/* The block where a run of free and unmapped blocks long enough starts; 0 if there is none. */
static uint32_t find_run(const native *n, uint32_t lane, uint64_t rounded) {
  const ul_free_set *set = &n->lanes.items[lane].unmapped;
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

uint32_t ul_native_growing_block(const native *n, uint32_t pool, uint32_t stream, int small,
                                 uint64_t rounded) {
  size_t i;
  uint32_t block;

  if (!n->settings.expandable || (pool && !n->profile->private_expandable))
    return 0;
  for (i = 1; i < n->lanes.count; i++) {
    const native_lane *lane = &n->lanes.items[i];
    if (n->pools.items[lane->pool].id != pool || lane->stream != stream || lane->small != small)
      continue;
    block = find_run(n, (uint32_t)i, rounded);
    return block && ul_native_is_free(&n->blocks.items[block]) ? block : 0;
  }
  return 0;
}

ul_device_answer ul_native_map(native *n, uint32_t lane, uint64_t rounded, uint32_t *out) {
  uint32_t block = find_run(n, lane, rounded), range;
  uint64_t address, missing;
  ul_device_answer answer;

  if (!block) {
    uint64_t bytes = ul_native_range_bytes(n, &n->lanes.items[lane]);
    if (bytes < rounded)
      return UL_DEVICE_REFUSED;
    answer = ul_device_reserve(&n->device, bytes, &address);
    if (answer != UL_DEVICE_GRANTED)
      return answer;
    range = ul_native_range_new(n, lane, address, bytes);
    if (!range)
      return UL_DEVICE_NOMEM;
    block = n->segments.items[range].first_block;
  }
  if (n->blocks.items[block].flags & BLOCK_UNMAPPED) {
    missing = n->blocks.items[block].bytes < rounded ? n->blocks.items[block].bytes : rounded;
    answer = map_front(n, block, missing);
    if (answer != UL_DEVICE_GRANTED)
      return answer;
  }
  while (n->blocks.items[block].bytes < rounded) {
    uint32_t next = n->blocks.items[block].next;
    missing = rounded - n->blocks.items[block].bytes;
    if (missing > n->blocks.items[next].bytes)
      missing = n->blocks.items[next].bytes;
    answer = map_front(n, next, missing);
    if (answer != UL_DEVICE_GRANTED)
      return answer; /* what was mapped stays, free */
    block = next;    /* the block just mapped has absorbed the one before */
  }
  ul_native_take_free(n, block);
  *out = block;
  return UL_DEVICE_GRANTED;
}

/* Gives back the whole units inside a free block (allocator-spec 6.5, 6.6). */
int ul_native_unmap(native *n, uint32_t block) {
  native_block *b = &n->blocks.items[block];
  const native_segment range = n->segments.items[b->segment];
  const uint64_t unit = ul_native_unit(n, &n->lanes.items[range.lane]);
  const uint64_t bytes = ul_native_whole_units(n, b);
  const uint64_t head = ul_round_up(b->address - range.address, unit) + range.address - b->address;
  const uint64_t address = b->address + head;
  const int slot = ul_native_slot(n, b);
  uint32_t segment = b->segment, middle = block, tail;

  if (!bytes)
    return 1;
  ul_native_take_free(n, block);
  if (head) {
    /* The head keeps the place; the middle must stay the block object that was unmapped. */
    uint32_t front = ul_native_block_new(n);
    native_block *f;
    if (!front)
      return 0;
    b = &n->blocks.items[block];
    f = &n->blocks.items[front];
    f->address = b->address;
    f->bytes = head;
    f->segment = segment;
    f->prev = b->prev;
    f->next = block;
    if (f->prev)
      n->blocks.items[f->prev].next = front;
    else
      n->segments.items[segment].first_block = front;
    b->prev = front;
    b->address += head;
    b->bytes -= head;
    ul_native_block_retie(n, block);
    ul_native_block_retie(n, front);
    ul_native_block_number(n, front);
    if (!ul_native_put_free(n, front))
      return 0;
  }
  if (n->blocks.items[middle].bytes > bytes) {
    tail = cut(n, middle, bytes);
    if (!tail || !ul_native_put_free(n, tail))
      return 0;
  }
  b = &n->blocks.items[middle];
  b->flags = BLOCK_UNMAPPED;
  b->requested_bytes = 0;
  ul_native_merge(n, middle, b->prev);
  ul_native_merge(n, middle, n->blocks.items[middle].next);
  if (!ul_native_put_unmapped(n, middle))
    return 0;
  ul_device_unmap(&n->device, address, bytes);
  ul_stat_decrease(&n->statistics, UL_STAT_RESERVED_BYTES, slot, bytes);
  n->statistics.counters[UL_STAT_NUM_DEVICE_FREE]++;
  n->totals.reserved_bytes -= bytes;
  if (!ul_native_log_call(n, UL_DRIVER_SEGMENT_UNMAP, address, bytes,
                          n->lanes.items[range.lane].stream))
    return 0;
  b = &n->blocks.items[middle];
  if (!b->prev && !b->next) {
    ul_native_take_unmapped(n, middle);
    ul_device_unreserve(&n->device, range.address);
    ul_native_block_delete(n, middle);
    ul_native_segment_delete(n, segment);
  }
  return 1;
}
