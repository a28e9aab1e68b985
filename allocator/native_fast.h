/* SPDX-License-Identifier: MIT */
/* The native allocator's innermost steps, inline: statistics, free sets, split and join. */
#ifndef UL_ALLOCATOR_NATIVE_FAST_H
#define UL_ALLOCATOR_NATIVE_FAST_H

#include "allocator/free_set_fast.h"
#include "allocator/native.h"
#include "allocator/sizing.h"

UL_INLINE int ul_native_is_free(const native_block *block) {
  return !(block->flags & BLOCK_NOT_FREE);
}

UL_INLINE int ul_native_slot(const native_block *block) {
  return block->flags & BLOCK_SMALL ? UL_SLOT_SMALL : UL_SLOT_LARGE;
}

/* ---- statistics ---- */

/* Where *to is larger. */
UL_INLINE void ul_native_raise(native_four *peak, const native_four *to) {
  const native_four rises = *to > *peak;

  *peak = (*to & rises) | (*peak & ~rises);
}

UL_INLINE int ul_native_other_slot(int slot) {
  return UL_SLOT_SMALL + UL_SLOT_LARGE - slot;
}

/* One change of all four figures. Each is one increase or one decrease, as PyTorch makes it: only
 * decreases count as freed. */
UL_INLINE void ul_native_count(native *n, int slot, int64_t count, int64_t bytes,
                               int64_t split_count, int64_t split_bytes) {
  const native_four change = {count, bytes, split_count, split_bytes};
  native_tally *t = &n->tallies[slot], *all = &n->tallies[UL_SLOT_ALL];
  const native_four current = t->current + change;
  const native_four sum = current + n->tallies[ul_native_other_slot(slot)].current;

  t->current = current;
  ul_native_raise(&t->peak, &current);
  t->freed += -change & (change < 0);
  ul_native_raise(&all->peak, &sum);
}

UL_INLINE void ul_native_count_requested(native *n, int slot, uint64_t bytes) {
  native_tally *t = &n->tallies[slot], *all = &n->tallies[UL_SLOT_ALL];
  const int64_t requested = t->requested + (int64_t)bytes;
  const int64_t sum = requested + n->tallies[ul_native_other_slot(slot)].requested;

  t->requested = requested;
  if (requested > t->requested_peak)
    t->requested_peak = requested;
  if (sum > all->requested_peak)
    all->requested_peak = sum;
}

UL_INLINE void ul_native_count_released(native *n, int slot, uint64_t bytes) {
  n->tallies[slot].requested -= (int64_t)bytes;
  n->tallies[slot].requested_freed += (int64_t)bytes;
}

/* Bytes of all allocated blocks. */
UL_INLINE uint64_t ul_native_allocated_bytes(const native *n) {
  return (uint64_t)(n->tallies[UL_SLOT_SMALL].current[1] + n->tallies[UL_SLOT_LARGE].current[1]);
}

/* ---- tails: bytes of allocated blocks past their rounded requests ---- */

/* Most blocks have none, and the flag says so: their frees need not round again. */
UL_INLINE void ul_native_add_tail(native *n, native_block *b) {
  const uint64_t tail = b->bytes - ul_native_live_rounded(n, b);

  n->tail_bytes += tail;
  if (tail)
    b->flags |= BLOCK_TAIL;
}

UL_INLINE void ul_native_drop_tail(native *n, const native_block *b) {
  if (__builtin_expect(b->flags & BLOCK_TAIL, 0))
    n->tail_bytes -= b->bytes - ul_native_live_rounded(n, b);
}

/* ---- blocks ---- */

/* A fresh index; its contents are the caller's to fill, but handle, stack and uses, which are 0 as
 * in all blocks that nobody holds. 0 without memory. */
UL_INLINE uint32_t ul_native_block_new(native *n) {
  const uint32_t block = n->dead_block;

  if (__builtin_expect(!block, 0))
    return ul_native_grow_blocks(n);
  n->dead_block = n->blocks.items[block].next;
  return block;
}

UL_INLINE void ul_native_block_delete(native *n, uint32_t block) {
  n->blocks.items[block].flags = BLOCK_DEAD;
  n->blocks.items[block].next = n->dead_block;
  n->dead_block = block;
}

/* left absorbs right, its neighbour; neither is in a set. left keeps what is its own. */
UL_INLINE void ul_native_join(native *n, uint32_t left, uint32_t right) {
  native_block *const blocks = n->blocks.items;

  blocks[left].bytes += blocks[right].bytes;
  blocks[left].next = blocks[right].next;
  blocks[blocks[right].next].prev = left; /* of index 0 where there is none: nobody looks */
  blocks[right].flags = BLOCK_DEAD;
  blocks[right].next = n->dead_block;
  n->dead_block = right;
}

/* What PyTorch's object carries goes from one index to another. */
UL_INLINE void ul_native_move_object(native *n, uint32_t to, uint32_t from) {
  native_block *const blocks = n->blocks.items;

  blocks[to].requested_bytes = blocks[from].requested_bytes;
  if (__builtin_expect(n->numbers_blocks, 0))
    blocks[to].tie = blocks[from].tie;
}

/* Cuts block at `bytes`; the rest takes a fresh index, in no set, and the object. The front becomes
 * a new object. */
UL_INLINE void ul_native_cut_into(native *n, uint32_t block, uint64_t bytes, uint32_t rest) {
  native_block *const b = &n->blocks.items[block], *const r = &n->blocks.items[rest];

  r->address = b->address + bytes;
  r->bytes = b->bytes - bytes;
  r->tie = b->tie;
  r->requested_bytes = b->requested_bytes;
  r->prev = block;
  r->next = b->next;
  r->segment = b->segment;
  r->lane = b->lane;
  r->gc_base = b->gc_base;
  r->flags = b->flags;
  n->blocks.items[b->next].prev = rest;
  b->next = rest;
  b->bytes = bytes;
  if (n->numbers_blocks)
    b->tie = ++n->block_number;
  else
    r->tie += bytes;
}

/* Returns the rest, 0 without memory. */
UL_INLINE uint32_t ul_native_cut(native *n, uint32_t block, uint64_t bytes) {
  const uint32_t rest = ul_native_block_new(n);

  if (__builtin_expect(rest != 0, 1))
    ul_native_cut_into(n, block, bytes, rest);
  return rest;
}

/* ---- free sets ---- */

UL_INLINE uint64_t ul_native_high_product(uint64_t a, uint64_t b) {
  __extension__ typedef unsigned __int128 wide;

  return (uint64_t)((wide)a * b >> 64);
}

/* The whole units of a range that lie in a block. A product instead of a quotient, exact for up to
 * 2^32 MiB: every put and take of a free block comes by here. */
UL_INLINE uint64_t ul_native_whole_units(const native *n, const native_block *b) {
  const native_segment *range = &n->segments.items[b->segment];
  const uint64_t unit = range->unit;
  const uint64_t start = b->address - range->address, end = start + b->bytes;
  uint64_t first, last;

  if (b->bytes < unit)
    return 0;
  if (__builtin_expect(end + unit >= UINT64_C(1) << 52 || !range->per_unit, 0)) {
    first = start / unit + (start % unit != 0);
    last = end / unit;
  } else {
    first = ul_native_high_product((start + unit - 1) >> UNIT_SHIFT, range->per_unit);
    last = ul_native_high_product(end >> UNIT_SHIFT, range->per_unit);
  }
  return last > first ? (last - first) * unit : 0;
}

/* How far a block could grow: with the unmapped one right behind it. */
UL_INLINE uint64_t ul_native_reach(const native *n, uint32_t block) {
  const native_block *b = &n->blocks.items[block], *next = &n->blocks.items[b->next];

  return b->bytes + (next->flags & BLOCK_UNMAPPED ? next->bytes : 0);
}

/* Bytes of a free block that a release could give back: all of a whole segment, the whole units of
 * an expandable one. */
UL_INLINE uint64_t ul_native_returnable(const native *n, const native_block *b) {
  if (b->flags & BLOCK_EXPANDABLE)
    return b->bytes < UL_SMALL_SEGMENT_BYTES ? 0 : ul_native_whole_units(n, b);
  return b->prev | b->next ? 0 : b->bytes;
}

/* ranges: the lane has or had expandable memory; where that is known beforehand the rest is left
 * out. */
UL_INLINE int ul_native_put_back(native *n, native_lane *lane, uint32_t block, int ranges) {
  const native_block *b = &n->blocks.items[block];
  const ul_free_entry entry = {b->bytes, b->tie, block};

  if (ranges)
    n->whole_bytes[lane->held] += ul_native_returnable(n, b);
  else if (!(b->prev | b->next))
    n->whole_bytes[lane->held] += b->bytes;
  return ul_free_put(&lane->free, entry);
}

UL_INLINE int ul_native_put_free(native *n, uint32_t block) {
  native_block *b = &n->blocks.items[block];
  native_lane *lane = &n->lanes.items[b->lane];

  if (__builtin_expect(n->careful & CAREFUL_SEARCHED, 0)) /* else all are 0 */
    b->gc_base = n->pools.items[lane->pool].searches[lane->small];
  return ul_native_put_back(n, lane, block, 1);
}

/* Takes out a free block beside another one: without ranges it is no whole segment. */
UL_INLINE void ul_native_take_neighbour(native *n, native_lane *lane, uint32_t block, int ranges) {
  const native_block *b = &n->blocks.items[block];

  if (ranges)
    n->whole_bytes[lane->held] -= ul_native_returnable(n, b);
  ul_free_take_known(&lane->free, b->bytes, b->tie, block);
}

UL_INLINE void ul_native_take_free(native *n, uint32_t block) {
  native_block *b = &n->blocks.items[block];
  native_lane *lane = &n->lanes.items[b->lane];

  n->whole_bytes[lane->held] -= ul_native_returnable(n, b);
  ul_free_take_known(&lane->free, b->bytes, b->tie, block);
}

/* ---- free ---- */

typedef struct native_joined {
  uint32_t block;                   /* what the freed block has become, in no set */
  int64_t split_count, split_bytes; /* net change of inactive_split and its bytes */
} native_joined;

/* A block that is allocated or pending no more joins its free neighbours (allocator-spec 4.2). */
UL_INLINE native_joined ul_native_join_free(native *n, native_lane *lane, uint32_t block,
                                            int ranges) {
  native_block *const blocks = n->blocks.items;
  native_block *b = &blocks[block];
  const uint32_t prev = b->prev, next = b->next;
  native_joined joined = {block, 0, 0};

  b->flags &= BLOCK_OF_SEGMENT;
  b->handle = 0;
  b->stack = 0;
  if (ul_native_is_free(&blocks[prev])) {
    joined.split_count--;
    joined.split_bytes -= (int64_t)blocks[prev].bytes;
    ul_native_take_neighbour(n, lane, prev, ranges);
    ul_native_move_object(n, prev, block);
    ul_native_join(n, prev, block);
    joined.block = prev;
  }
  if (ul_native_is_free(&blocks[next])) {
    joined.split_count--;
    joined.split_bytes -= (int64_t)blocks[next].bytes;
    ul_native_take_neighbour(n, lane, next, ranges);
    ul_native_join(n, joined.block, next);
  }
  b = &blocks[joined.block];
  if (ranges && b->flags & BLOCK_EXPANDABLE) {
    joined.split_count = joined.split_bytes = 0;
  } else if (b->prev | b->next) {
    joined.split_count++;
    joined.split_bytes += (int64_t)b->bytes;
  }
  return joined;
}

#endif
