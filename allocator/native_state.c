/* SPDX-License-Identifier: MIT */
/* The native allocator's state as a public record: loading it, showing it, checking it, and the
 * asker's view of free memory. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "allocator/native_fast.h"
#include "base/error.h"
#include "base/units.h"

/* ---- loading ---- */

/* Counts an active block in, as if it had just been handed out. */
static void count_active(native *n, native_block *b, int slot) {
  const uint64_t request = ul_native_live_request(b);

  ul_native_count_requested(n, slot, b->requested_bytes);
  n->excess_requested += b->requested_bytes - request;
  if (b->requested_bytes > b->bytes)
    n->careful |= CAREFUL_LOADED;
  if (!(b->flags & BLOCK_ALLOCATED))
    return;
  ul_native_count(n, slot, 1, (int64_t)b->bytes, 0, 0);
  if (b->bytes >= n->settings.max_split_bytes)
    ul_stat_increase_one(&n->statistics.singles[UL_STAT_OVERSIZE_ALLOCATIONS], 1);
  ul_native_add_tail(n, b);
}

static int load_handle(native *n, uint32_t block, uint64_t handle) {
  if (!handle)
    return 1;
  while (n->block_of.count <= handle) {
    if (!UL_VEC_PUSH(&n->block_of, 0))
      return 0;
  }
  n->block_of.items[handle] = block;
  return 1;
}

/* Freed before the model began, on streams nobody knows. */
static int load_waiting(native *n, uint32_t block) {
  const native_lane *lane = &n->lanes.items[n->blocks.items[block].lane];

  ul_native_count_waiting(n, block);
  return ul_waits_hold(&n->waits, ul_native_key(n, block), lane->pool_id);
}

/* Appends one block behind `last` (0: none); joins two free ones. Returns it, 0 without memory. */
static uint32_t load_block(native *n, uint32_t segment, uint32_t last, const ul_block *from) {
  const native_segment *s = &n->segments.items[segment];
  native_block fresh = {.address = from->address,
                        .bytes = from->bytes,
                        .requested_bytes = from->requested_bytes,
                        .prev = last,
                        .segment = segment,
                        .lane = s->lane,
                        .stack = from->stack};
  uint32_t block;

  if (last && from->state == UL_BLOCK_INACTIVE && ul_native_is_free(&n->blocks.items[last])) {
    n->blocks.items[last].bytes += from->bytes;
    return last;
  }
  block = ul_native_block_new(n);
  if (!block)
    return 0;
  fresh.tie = n->numbers_blocks ? ++n->block_number : s->tie_base + (from->address - s->address);
  if (n->lanes.items[s->lane].small)
    fresh.flags |= BLOCK_SMALL;
  if (s->expandable)
    fresh.flags |= BLOCK_EXPANDABLE;
  if (from->state == UL_BLOCK_ACTIVE_ALLOCATED)
    fresh.flags |= BLOCK_ALLOCATED;
  if (from->state != UL_BLOCK_INACTIVE && from->handle < (UINT64_C(1) << 28)) {
    fresh.handle = (uint32_t)from->handle;
    if (!load_handle(n, block, from->handle))
      return 0;
  }
  n->blocks.items[block] = fresh;
  n->blocks.items[last].next = last ? block : 0;
  if (!ul_native_object_new(n, block) ||
      (from->state == UL_BLOCK_ACTIVE_PENDING_FREE && !load_waiting(n, block)))
    return 0;
  return block;
}

/* Puts the free blocks of a chain that is complete into their sets and counts all of it. */
static int settle_chain(native *n, uint32_t first, int expandable) {
  uint32_t block;

  for (block = first; block; block = n->blocks.items[block].next) {
    native_block *b = &n->blocks.items[block];
    const int slot = ul_native_slot(b);
    if (b->flags & BLOCK_UNMAPPED)
      continue;
    if (!ul_native_is_free(b)) {
      count_active(n, b, slot);
      continue;
    }
    if (!ul_native_put_free(n, block))
      return 0;
    if (!expandable && (b->prev | b->next))
      ul_native_count(n, slot, 0, 0, 1, (int64_t)b->bytes);
  }
  return 1;
}

static ul_status check_loadable(const ul_state *from, const ul_segment *s, uint64_t end,
                                ul_error *err) {
  uint64_t at = s->address;
  uint32_t i;

  if (s->address < end || s->bytes == 0 || s->bytes > UINT64_MAX - s->address)
    return ul_fail(err, UL_E_INVALID, 0, "state: segment at 0x%" PRIx64 " overlaps the one before",
                   s->address);
  if (s->first_block > from->block_count || s->block_count > from->block_count - s->first_block)
    return ul_fail(err, UL_E_INVALID, 0, "state: segment at 0x%" PRIx64 " has no such blocks",
                   s->address);
  for (i = 0; i < s->block_count; i++) {
    const ul_block *b = &from->blocks[s->first_block + i];
    if (b->state > UL_BLOCK_ACTIVE_PENDING_FREE)
      return ul_fail(err, UL_E_INVALID, 0, "state: block at 0x%" PRIx64 " has no such state: %u",
                     b->address, (unsigned)b->state);
    if (b->address != at || b->bytes == 0 || b->bytes > s->address + s->bytes - at)
      return ul_fail(err, UL_E_INVALID, 0,
                     "state: blocks do not tile the segment at 0x%" PRIx64 ": expected 0x%" PRIx64
                     ", found 0x%" PRIx64,
                     s->address, at, b->address);
    at += b->bytes;
  }
  if (at != s->address + s->bytes)
    return ul_fail(err, UL_E_INVALID, 0,
                   "state: blocks of the segment at 0x%" PRIx64 " end at 0x%" PRIx64
                   ", the segment at 0x%" PRIx64,
                   s->address, at, s->address + s->bytes);
  return UL_OK;
}

/* A set by units takes multiples of 512 bytes; recorded states may hold other sizes. */
static int fits_units(const ul_state *from, const ul_segment *s) {
  uint32_t i;

  for (i = 0; i < s->block_count; i++) {
    if (from->blocks[s->first_block + i].bytes % UL_FREE_UNIT)
      return 0;
  }
  return 1;
}

/* The lane of a segment, which the driver gave to its pool. */
static uint32_t load_lane(native *n, const ul_segment *s) {
  ul_pool *pool = s->pool ? ul_pools_mention(&n->registry, s->pool) : NULL;

  if (s->pool && !pool)
    return 0;
  if (pool)
    pool->driver_allocations++;
  return ul_native_lane_of(n, s->pool, s->stream, s->is_small);
}

static int load_segment(native *n, const ul_state *from, const ul_segment *s) {
  uint32_t lane = load_lane(n, s), segment, block = 0, i;
  int slot;

  if (!lane || (!fits_units(from, s) && !ul_free_set_use_directory(&n->lanes.items[lane].free)))
    return 0;
  segment = ul_native_segment_new(n, s->address, s->bytes, lane, 0);
  if (!segment || !ul_device_take(&n->device, s->address, s->bytes))
    return 0;
  n->segments.items[segment].stack = s->stack;
  for (i = 0; i < s->block_count; i++) {
    block = load_block(n, segment, block, &from->blocks[s->first_block + i]);
    if (!block)
      return 0;
    if (!i)
      n->segments.items[segment].first_block = block;
  }
  slot = s->is_small ? UL_SLOT_SMALL : UL_SLOT_LARGE;
  ul_stat_increase(&n->statistics, UL_STAT_SEGMENT, slot, 1);
  ul_native_reserve(n, lane, s->bytes);
  if (s->bytes >= n->settings.max_split_bytes)
    ul_stat_increase_one(&n->statistics.singles[UL_STAT_OVERSIZE_SEGMENTS], 1);
  n->segment_count++;
  return settle_chain(n, n->segments.items[segment].first_block, 0);
}

/* Appends an unmapped block to a range under construction. Returns it, 0 without memory. */
static uint32_t load_unmapped(native *n, uint32_t range, uint32_t last, uint64_t address,
                              uint64_t bytes) {
  /* Any state that load_block does not join to its neighbour; it becomes unmapped right after. */
  ul_block hole = {.address = address, .bytes = bytes, .state = UL_BLOCK_ACTIVE_ALLOCATED};
  uint32_t block = load_block(n, range, last, &hole);

  return block && ul_native_put_unmapped(n, block) ? block : 0;
}

/* A range whose pieces are still coming, in address order. */
struct open_range {
  uint32_t segment, last; /* its last block so far */
  uint64_t at;            /* where that ends */
};

struct loading {
  native *n;
  const ul_state *from;
  UL_VEC(struct open_range) ranges;
  ul_idmap open; /* lane -> index into ranges + 1 */
};

/* What is behind the last piece is unmapped, to the end of the range. */
static int close_range(native *n, struct open_range *range) {
  native_segment *s = &n->segments.items[range->segment];
  const uint64_t rest = s->address + s->bytes - range->at;

  if (rest && !load_unmapped(n, range->segment, range->last, range->at, rest))
    return 0;
  return settle_chain(n, n->segments.items[range->segment].first_block, 1);
}

/* The range that holds this piece, or a new one. A range's real base may lie some whole units below
 * what is known; nothing was ever asked of that part. 0 without memory. */
static struct open_range *range_for(struct loading *l, const ul_segment *s, uint32_t lane) {
  native *n = l->n;
  const uint64_t known =
      s->range_address && s->range_address < s->address ? s->range_address : s->address;
  const uint64_t size = ul_native_range_bytes(n, n->lanes.items[lane].small);
  const uint32_t index = ul_idmap_get(&l->open, lane);
  struct open_range *range = index ? &l->ranges.items[index - 1] : NULL;
  struct open_range fresh = {0, 0, known};
  native_segment *segment = range ? &n->segments.items[range->segment] : NULL;

  if (segment && s->address - segment->address <= segment->bytes - s->bytes)
    return range;
  if (range && !close_range(n, range))
    return NULL;
  fresh.segment = ul_native_segment_new(
      n, known, size > s->address - known + s->bytes ? size : s->address - known + s->bytes, lane,
      1);
  if (!fresh.segment)
    return NULL;
  n->segments.items[fresh.segment].stack = s->stack;
  if (range) {
    *range = fresh;
    return range;
  }
  if (!UL_VEC_PUSH(&l->ranges, fresh) || !ul_idmap_set(&l->open, lane, (uint32_t)l->ranges.count))
    return NULL;
  return &l->ranges.items[l->ranges.count - 1];
}

static int load_piece(struct loading *l, const ul_segment *s) {
  native *n = l->n;
  const uint32_t lane = load_lane(n, s);
  struct open_range *range = lane ? range_for(l, s, lane) : NULL;
  uint32_t j, hole;

  if (!range)
    return 0;
  if (s->address > range->at) {
    hole = load_unmapped(n, range->segment, range->last, range->at, s->address - range->at);
    if (!hole)
      return 0;
    if (!range->last)
      n->segments.items[range->segment].first_block = hole;
    range->last = hole;
  }
  for (j = 0; j < s->block_count; j++) {
    const uint32_t block =
        load_block(n, range->segment, range->last, &l->from->blocks[s->first_block + j]);
    if (!block)
      return 0;
    if (!range->last)
      n->segments.items[range->segment].first_block = block;
    range->last = block;
  }
  range->at = s->address + s->bytes;
  n->device.used_bytes += s->bytes;
  ul_native_reserve(n, lane, s->bytes);
  n->pools.items[n->lanes.items[lane].pool].uncounted = 1;
  return 1;
}

static int load_all(struct loading *l) {
  uint32_t i;

  for (i = 0; i < l->from->segment_count; i++) {
    const ul_segment *s = &l->from->segments[i];
    if (!(s->is_expandable ? load_piece(l, s) : load_segment(l->n, l->from, s)))
      return 0;
  }
  for (i = 0; i < l->ranges.count; i++) {
    if (!close_range(l->n, &l->ranges.items[i]))
      return 0;
  }
  return 1;
}

/* Blocks that wait at the start were active before: they count as handed out. */
static void note_waiting(native *n) {
  int slot;

  for (slot = 0; slot < UL_SLOT_COUNT; slot++) {
    native_waiting *w = &n->waiting[slot];
    native_tally t;
    ul_native_tally_of(n, slot, &t);
    w->peak_count = (uint64_t)t.current[0] + w->count;
    w->peak_bytes = (uint64_t)t.current[1] + w->bytes;
    w->count_at_load = w->count_at_reset = w->count;
    w->bytes_at_load = w->bytes_at_reset = w->bytes;
  }
}

ul_status ul_native_load(void *state, const ul_state *from, ul_error *err) {
  struct loading l;
  uint64_t end = 0;
  uint32_t i;
  int done;

  memset(&l, 0, sizeof(l));
  l.n = state;
  l.from = from;
  if (l.n->events || l.n->reserved_bytes)
    return ul_fail(err, UL_E_STATE, 0, "a state can only be loaded before the first event");
  for (i = 0; i < from->segment_count; i++) {
    UL_TRY(check_loadable(from, &from->segments[i], end, err));
    end = from->segments[i].address + from->segments[i].bytes;
  }
  done = load_all(&l);
  note_waiting(l.n);
  UL_VEC_RELEASE(&l.ranges);
  ul_idmap_release(&l.open);
  return done ? UL_OK : ul_fail_nomem(err, "the allocator model's state");
}

/* ---- showing ---- */

static int by_address(const void *a, const void *b) {
  const ul_segment *x = a, *y = b;
  return x->address < y->address ? -1 : x->address > y->address;
}

static int show_block(native *n, const native_block *b) {
  ul_block shown = {.address = b->address,
                    .bytes = b->bytes,
                    .requested_bytes = b->requested_bytes,
                    .handle = b->handle,
                    .stack = b->stack,
                    .state = UL_BLOCK_INACTIVE};

  if (b->flags & BLOCK_ALLOCATED)
    shown.state = UL_BLOCK_ACTIVE_ALLOCATED;
  else if (b->flags & BLOCK_PENDING)
    shown.state = UL_BLOCK_ACTIVE_PENDING_FREE;
  return UL_VEC_PUSH(&n->shown_blocks, shown);
}

/* The creation number that the release's snapshots tell of a run with this first block. */
static uint32_t registration(const native *n, const native_segment *segment, uint32_t first) {
  if (!n->profile->registration)
    return 0;
  if (n->profile->tie == UL_TIE_SEGMENT)
    return segment->registration;
  /* Ties are numbers from 1 on. */
  return (uint32_t)(n->numbers_blocks ? n->blocks.items[first].tie - 1
                                      : n->objects.items[first].number);
}

/* One shown segment for a cudaMalloc segment, one for each mapped run of a range. */
static int show_segment(native *n, const native_segment *segment) {
  const native_lane *lane = &n->lanes.items[segment->lane];
  ul_segment shown = {0};
  uint32_t block;

  shown.stream = lane->stream;
  shown.pool = n->pools.items[lane->pool].id;
  shown.stack = segment->stack;
  shown.is_small = lane->small;
  shown.is_expandable = segment->expandable;
  for (block = segment->first_block; block; block = n->blocks.items[block].next) {
    const native_block *b = &n->blocks.items[block];
    if (b->flags & BLOCK_UNMAPPED)
      continue;
    if (!shown.block_count) {
      shown.address = b->address;
      shown.first_block = (uint32_t)n->shown_blocks.count;
      shown.registration = registration(n, segment, block);
    }
    shown.bytes += b->bytes;
    shown.block_count++;
    if (!show_block(n, b))
      return 0;
    if (!b->next || (n->blocks.items[b->next].flags & BLOCK_UNMAPPED)) {
      if (!UL_VEC_PUSH(&n->shown_segments, shown))
        return 0;
      shown.bytes = 0;
      shown.block_count = 0;
    }
  }
  return 1;
}

ul_status ul_native_visit(void *state, ul_state *out, ul_error *err) {
  native *n = state;
  size_t i;

  n->shown_segments.count = 0;
  n->shown_blocks.count = 0;
  for (i = 1; i < n->segments.count; i++) {
    if (n->segments.items[i].alive && !show_segment(n, &n->segments.items[i]))
      return ul_fail_nomem(err, "the allocator model's state");
  }
  if (n->shown_segments.count)
    qsort(n->shown_segments.items, n->shown_segments.count, sizeof(ul_segment), by_address);
  out->segments = n->shown_segments.items;
  out->segment_count = (uint32_t)n->shown_segments.count;
  out->blocks = n->shown_blocks.items;
  out->block_count = (uint32_t)n->shown_blocks.count;
  return UL_OK;
}

/* ---- the asker's view ---- */

ul_status ul_native_asker(const void *state, const ul_event *event, ul_asker_view *out,
                          ul_error *err) {
  const native *n = state;
  const uint64_t rounded = ul_round_request(event->bytes, &n->settings, n->profile);
  const int small = rounded <= UL_SMALL_LIMIT_BYTES;
  uint64_t too_small = 0;
  uint32_t extended;
  size_t i;

  (void)err;
  memset(out, 0, sizeof(*out));
  out->rounded_bytes = rounded;
  extended =
      ul_native_growing_block((native *)(uintptr_t)n, event->pool, event->stream, small, rounded);
  for (i = 1; i < n->blocks.count; i++) {
    const native_block *b = &n->blocks.items[i];
    const native_lane *lane;
    if (!ul_native_is_free(b))
      continue;
    lane = &n->lanes.items[n->segments.items[b->segment].lane];
    if (n->pools.items[lane->pool].id != event->pool || lane->small != small)
      out->pool_bound_bytes += b->bytes;
    else if (lane->stream != event->stream)
      out->stream_bound_bytes += b->bytes;
    else if (b->bytes >= rounded)
      out->rule_bound_bytes += b->bytes;
    else if (i == extended)
      out->extended_bytes += b->bytes;
    else
      too_small += b->bytes;
  }
  if (too_small >= rounded)
    out->soft_bytes = too_small;
  else
    out->hard_bytes = too_small;
  return UL_OK;
}
