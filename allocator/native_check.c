/* SPDX-License-Identifier: MIT */
/* The invariants of the native allocator's state (allocator-spec Appendix B), recomputed from the
 * blocks and compared with everything that is kept up to date by increments. */
#include <inttypes.h>
#include <string.h>

#include "allocator/native_fast.h"
#include "base/error.h"

/* Every check looks this part of the free blocks up in their sets, another one after every event.
 * All of the entries are seen each time. */
enum { LOOKED_UP = 8 };

/* Sums found by walking. */
struct found {
  ul_totals totals;
  uint64_t inactive_split, inactive_split_bytes;
  uint64_t free_blocks, unmapped_blocks;
};

static ul_status broken(ul_error *err, const char *rule, uint64_t expected, uint64_t found) {
  return ul_fail(err, UL_E_STATE, 0, "model invariant: %s: expected %" PRIu64 ", found %" PRIu64,
                 rule, expected, found);
}

static uint64_t least(uint64_t a, uint64_t b) {
  return a < b ? a : b;
}

static void count_block(const native *n, const native_segment *segment, const native_block *b,
                        struct found *f) {
  uint64_t request = least(b->requested_bytes, b->bytes), back;

  if (b->flags & BLOCK_UNMAPPED) {
    f->unmapped_blocks++;
    return;
  }
  f->totals.reserved_bytes += b->bytes;
  if (ul_native_is_free(b)) {
    f->free_blocks++;
    back = segment->expandable ? ul_native_whole_units(n, b) : b->prev | b->next ? 0 : b->bytes;
    if (n->lanes.items[segment->lane].held)
      f->totals.held_bytes += back;
    else
      f->totals.releasable_bytes += back;
    if (!segment->expandable && (b->prev | b->next)) {
      f->inactive_split++;
      f->inactive_split_bytes += b->bytes;
    }
    return;
  }
  f->totals.active_bytes += b->bytes;
  f->totals.requested_bytes += b->requested_bytes;
  if (b->flags & BLOCK_ALLOCATED) {
    f->totals.allocated_bytes += b->bytes;
    f->totals.live_bytes += request;
    f->totals.live_rounded_bytes +=
        least(ul_round_request(request, &n->settings, n->profile), b->bytes);
  }
}

/* The set finds the block when asked for its size. */
static int is_found(const native *n, uint32_t block) {
  const native_block *b = &n->blocks.items[block];
  ul_free_set *set = &n->lanes.items[b->lane].free;
  ul_free_at where;
  ul_free_entry e = ul_free_set_lower_bound(set, b->bytes, &where);

  while (e.block && e.bytes == b->bytes && e.block != block)
    e = ul_free_set_next(set, &where);
  return e.block == block && e.tie == b->tie;
}

/* Whether a chain of blocks leads here. */
static int is_chained(const native *n, uint32_t block) {
  const native_block *b = &n->blocks.items[block];
  const native_segment *segment = &n->segments.items[b->segment];

  return segment->alive &&
         (b->prev ? n->blocks.items[b->prev].next : segment->first_block) == block;
}

/* Every entry of a set is a block that belongs there, as it is now, and they stand in order: sets
 * with as many entries as there are such blocks then hold them all. */
static ul_status check_set(const native *n, uint32_t lane, int unmapped, ul_error *err) {
  ul_free_set *set = unmapped ? &n->lanes.items[lane].unmapped : &n->lanes.items[lane].free;
  ul_free_entry last = {0}, e;
  ul_free_at at;
  uint64_t count = 0;

  for (e = ul_free_set_first(set, &at); e.block; last = e, e = ul_free_set_next(set, &at)) {
    const native_block *b = &n->blocks.items[e.block];
    const uint64_t bytes = unmapped ? e.bytes : b->bytes; /* one for all unmapped ones */
    const uint64_t tie = unmapped ? b->address : b->tie;
    if (e.bytes != bytes || e.tie != tie || b->lane != lane || !is_chained(n, e.block) ||
        (unmapped ? !(b->flags & BLOCK_UNMAPPED) : !ul_native_is_free(b)))
      return broken(err, "entries of sets are free blocks", e.tie, b->address);
    if (last.block && (last.bytes > e.bytes || (last.bytes == e.bytes && last.tie >= e.tie)))
      return broken(err, "entries of sets stand in order", last.bytes, e.bytes);
    count++;
  }
  return count == set->count ? UL_OK : broken(err, "sets know their size", count, set->count);
}

static ul_status check_chain(const native *n, uint32_t index, struct found *f, ul_error *err) {
  const native_segment *segment = &n->segments.items[index];
  uint64_t at = segment->address;
  uint32_t block, last = 0;

  for (block = segment->first_block; block; last = block, block = n->blocks.items[block].next) {
    const native_block *b = &n->blocks.items[block];
    const native_block *before = &n->blocks.items[last];
    if (b->address != at || b->prev != last || b->segment != index || b->lane != segment->lane)
      return broken(err, "blocks tile their segment", at, b->address);
    if (last && ul_native_is_free(b) && ul_native_is_free(before))
      return broken(err, "free neighbours are merged", 0, b->address);
    if (last && (b->flags & BLOCK_UNMAPPED) && (before->flags & BLOCK_UNMAPPED))
      return broken(err, "unmapped neighbours are merged", 0, b->address);
    if (b->flags & BLOCK_ALLOCATED && b->handle && n->block_of.items[b->handle] != block)
      return broken(err, "handles lead to their blocks", block, n->block_of.items[b->handle]);
    if (ul_native_is_free(b) && (block + n->events) % LOOKED_UP == 0 && !is_found(n, block))
      return broken(err, "free blocks are found in their set", b->address, 0);
    count_block(n, segment, b, f);
    at += b->bytes;
  }
  if (at != segment->address + segment->bytes)
    return broken(err, "blocks end with their segment", segment->address + segment->bytes, at);
  if (!segment->expandable)
    f->totals.segment_count++;
  return UL_OK;
}

static ul_status check_statistics(const native *n, const struct found *f, ul_error *err) {
  ul_statistics all;
  const ul_statistics *s = &all;
  const struct {
    ul_stat_array array;
    uint64_t value;
    const char *rule;
  } rows[] = {
      {UL_STAT_RESERVED_BYTES, f->totals.reserved_bytes, "reserved_bytes"},
      {UL_STAT_ACTIVE_BYTES, f->totals.active_bytes, "active_bytes"},
      {UL_STAT_ALLOCATED_BYTES, f->totals.allocated_bytes, "allocated_bytes"},
      {UL_STAT_REQUESTED_BYTES, f->totals.requested_bytes, "requested_bytes"},
      {UL_STAT_SEGMENT, f->totals.segment_count, "segment"},
      {UL_STAT_INACTIVE_SPLIT, f->inactive_split, "inactive_split"},
      {UL_STAT_INACTIVE_SPLIT_BYTES, f->inactive_split_bytes, "inactive_split_bytes"},
  };
  size_t i;

  ul_native_statistics(n, &all);
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    const ul_stat_values *v = s->arrays[rows[i].array];
    if (v[UL_SLOT_ALL].current != rows[i].value)
      return broken(err, rows[i].rule, rows[i].value, v[UL_SLOT_ALL].current);
    if (v[UL_SLOT_SMALL].current + v[UL_SLOT_LARGE].current != v[UL_SLOT_ALL].current)
      return broken(err, "small and large pool make all", v[UL_SLOT_ALL].current,
                    v[UL_SLOT_SMALL].current + v[UL_SLOT_LARGE].current);
  }
  return UL_OK;
}

ul_status ul_native_check(const void *state, ul_error *err) {
  const native *n = state;
  struct found f;
  uint64_t in_sets = 0, in_unmapped = 0;
  size_t i;

  memset(&f, 0, sizeof(f));
  for (i = 1; i < n->segments.count; i++) {
    if (n->segments.items[i].alive)
      UL_TRY(check_chain(n, (uint32_t)i, &f, err));
  }
  for (i = 1; i < n->lanes.count; i++) {
    UL_TRY(check_set(n, (uint32_t)i, 0, err));
    UL_TRY(check_set(n, (uint32_t)i, 1, err));
    in_sets += n->lanes.items[i].free.count;
    in_unmapped += n->lanes.items[i].unmapped.count;
  }
  if (in_sets != f.free_blocks)
    return broken(err, "free sets hold the free blocks and no others", f.free_blocks, in_sets);
  if (in_unmapped != f.unmapped_blocks)
    return broken(err, "unmapped sets hold the unmapped blocks", f.unmapped_blocks, in_unmapped);
  if (memcmp(&f.totals, ul_native_totals(n), sizeof(f.totals)) != 0)
    return ul_fail(err, UL_E_STATE, 0,
                   "model invariant: totals: releasable %" PRIu64 "/%" PRIu64 ", held %" PRIu64
                   "/%" PRIu64 ", live %" PRIu64 "/%" PRIu64 ", rounded %" PRIu64 "/%" PRIu64
                   ", reserved %" PRIu64 "/%" PRIu64,
                   f.totals.releasable_bytes, n->totals.releasable_bytes, f.totals.held_bytes,
                   n->totals.held_bytes, f.totals.live_bytes, n->totals.live_bytes,
                   f.totals.live_rounded_bytes, n->totals.live_rounded_bytes,
                   f.totals.reserved_bytes, n->totals.reserved_bytes);
  return check_statistics(n, &f, err);
}
