/* SPDX-License-Identifier: MIT */
/* The state before the recording: the final state with every entry undone, last one first
 * (formats.md 1.9). Sizes of blocks that were freed on the way are concluded later, under the
 * rules of a release (state_sizes.c). */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/idmap.h"
#include "base/spans.h"
#include "base/units.h"
#include "replay/history.h"

/* Reserved memory by address: segments and mapped pieces alike; pieces may be cut. */
typedef UL_VEC(ul_old_segment) piece_vec;

struct undo {
  ul_history *h;
  ul_spans reserved; /* while undoing: what is reserved; values are indices into known */
  piece_vec known;   /* pool, stream ... of every piece that ever was */
  piece_vec pieces;  /* after undoing: what was reserved at the start, in order */
  piece_vec ranges;  /* all known expandable memory, by stream and address; made when needed */
  int ranges_known;  /* ranges is made */
  ul_idmap live;     /* address -> index of h->blocks + 1 */
  ul_error *err;
};

/* Index of the first piece that ends above address, of those at the start. */
static size_t piece_above(const struct undo *u, uint64_t address) {
  size_t low = 0, high = u->pieces.count;

  while (low < high) {
    size_t middle = low + (high - low) / 2;
    const ul_old_segment *p = &u->pieces.items[middle];
    if (p->address + (p->bytes - 1) < address)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* The piece that holds address or is the next above it while undoing; NULL if there is none. */
static ul_old_segment *reserved_above(struct undo *u, uint64_t address, ul_span_at *at) {
  const ul_span *span = ul_spans_above(&u->reserved, address, at);

  return span ? &u->known.items[span->value] : NULL;
}

static ul_status reserve(struct undo *u, ul_old_segment piece) {
  const ul_span span = {piece.address, piece.bytes, (uint32_t)u->known.count};

  if (u->known.count >= UINT32_MAX || !UL_VEC_PUSH(&u->known, piece) ||
      !ul_spans_insert(&u->reserved, span))
    return ul_fail_nomem(u->err, "the replay");
  return UL_OK;
}

/* A size that is one: not nothing, and not beyond the end of the address space. */
static int is_extent(uint64_t address, uint64_t bytes) {
  return bytes && bytes - 1 <= UINT64_MAX - address;
}

/* What is left once all entries are undone, in order. */
static ul_status collect_pieces(struct undo *u) {
  ul_span_at at;
  const ul_span *span;

  for (span = ul_spans_first(&u->reserved, &at); span; span = ul_spans_next(&u->reserved, &at)) {
    if (!UL_VEC_PUSH(&u->pieces, u->known.items[span->value]))
      return ul_fail_nomem(u->err, "the replay");
  }
  return UL_OK;
}

/* Notes it and goes on: the rest of the recording may still be sound. */
static ul_status contradiction(struct undo *u, uint64_t event, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static ul_status contradiction(struct undo *u, uint64_t event, const char *format, ...) {
  char text[UL_DIFFERENCE_TEXT_BYTES];
  va_list args;

  va_start(args, format);
  vsnprintf(text, sizeof(text), format, args);
  va_end(args);
  ul_history_contradiction(u->h, UL_RANK_UNDO, event, "%s", text);
  return UL_OK;
}

static ul_status start_from_final(struct undo *u) {
  const ul_state *final = &u->h->recording->final_state;
  uint32_t i, j;

  for (i = 0; i < final->segment_count; i++) {
    const ul_segment *s = &final->segments[i];
    const ul_old_segment piece = {s->address,      s->bytes,    s->stream,        s->pool, s->stack,
                                  s->registration, s->is_small, s->is_expandable, 0};
    UL_TRY(reserve(u, piece));
    for (j = s->first_block; j < s->first_block + s->block_count; j++) {
      const ul_block *b = &final->blocks[j];
      const ul_old_block old = {
          b->address,  b->bytes,    b->requested_bytes, b->handle, UL_NO_EVENT,
          UL_NO_EVENT, UL_NO_EVENT, b->stack,           b->state,  0};
      if (b->state == UL_BLOCK_INACTIVE)
        continue;
      if (!UL_VEC_PUSH(&u->h->blocks, old) ||
          !ul_idmap_set(&u->live, b->address, (uint32_t)u->h->blocks.count))
        return ul_fail_nomem(u->err, "the replay");
    }
  }
  return UL_OK;
}

static ul_status undo_alloc(struct undo *u, uint64_t i) {
  const ul_recording *r = u->h->recording;
  const uint32_t index = ul_idmap_remove(&u->live, r->addresses[i]);
  ul_old_block *b;

  if (!index)
    return contradiction(u, i,
                         "entry %" PRIu64 " allocates 0x%" PRIx64
                         ", which no later entry frees and which is not live at the end",
                         i, r->addresses[i]);
  b = &u->h->blocks.items[index - 1];
  b->gone = 1;
  if (b->free_event == UL_NO_EVENT && b->requested_bytes &&
      b->requested_bytes != r->events[i].bytes)
    return contradiction(u, i,
                         "entry %" PRIu64 " allocates %" PRIu64 " bytes at 0x%" PRIx64
                         ", but the final state says that %" PRIu64 " were requested there",
                         i, r->events[i].bytes, r->addresses[i], b->requested_bytes);
  if (b->free_event != UL_NO_EVENT && b->handle != r->events[i].handle)
    return contradiction(u, i,
                         "entry %" PRIu64 " allocates 0x%" PRIx64
                         ", which is still live from an earlier entry",
                         i, r->addresses[i]);
  return UL_OK;
}

/* An entry after which the address was free: before it, a block was there. */
static ul_status undo_release(struct undo *u, uint64_t i, uint8_t state) {
  const ul_recording *r = u->h->recording;
  const ul_event *e = &r->events[i];
  ul_old_block old = {r->addresses[i], 0, e->bytes, e->handle, i, i, UL_NO_EVENT, 0, state, 0};

  if (ul_idmap_get(&u->live, r->addresses[i])) {
    u->h->unknown_frees++;
    return contradiction(
        u, i,
        "entry %" PRIu64 " frees 0x%" PRIx64
        ", which a later entry frees again or the final state holds, without an allocation between",
        i, r->addresses[i]);
  }
  if (!UL_VEC_PUSH(&u->h->blocks, old) ||
      !ul_idmap_set(&u->live, r->addresses[i], (uint32_t)u->h->blocks.count))
    return ul_fail_nomem(u->err, "the replay");
  return UL_OK;
}

/* Is the next entry a completion that no entry requested, of the same size? */
static int completes_another(const ul_recording *r, uint64_t i) {
  return i + 1 < r->count && r->actions[i + 1] == UL_ACTION_FREE_COMPLETED &&
         (r->events[i + 1].flags & UL_EVENT_BEFORE_RECORDING) &&
         r->events[i + 1].bytes == r->events[i].bytes;
}

static ul_status undo_free_requested(struct undo *u, uint64_t i) {
  const ul_recording *r = u->h->recording;
  const uint32_t index = ul_idmap_get(&u->live, r->addresses[i]);
  ul_old_block *b;

  if (!index || u->h->blocks.items[index - 1].state != UL_BLOCK_ACTIVE_PENDING_FREE) {
    /* Without any free_completed in the file this entry alone tells of the free. */
    if (!index && !r->action_counts[UL_ACTION_FREE_COMPLETED])
      return undo_release(u, i, UL_BLOCK_ACTIVE_ALLOCATED);
    u->h->unknown_frees++;
    if (completes_another(r, i))
      return contradiction(u, i + 1,
                           "entry %" PRIu64 " completes the free of 0x%" PRIx64
                           ", where entry %" PRIu64 " requested that of 0x%" PRIx64,
                           i + 1, r->addresses[i + 1], i, r->addresses[i]);
    return contradiction(u, i,
                         "entry %" PRIu64 " frees 0x%" PRIx64
                         ", but no entry completes that free and it is not pending at the end",
                         i, r->addresses[i]);
  }
  b = &u->h->blocks.items[index - 1];
  b->state = UL_BLOCK_ACTIVE_ALLOCATED;
  b->first_event = i;
  if (b->free_event == UL_NO_EVENT)
    b->free_event = i;
  b->handle = r->events[i].handle;
  return UL_OK;
}

static ul_status undo_free_completed(struct undo *u, uint64_t i) {
  /* Where no request of it was ever recorded the entry stands for both. */
  return undo_release(u, i,
                      u->h->recording->events[i].kind == UL_EVENT_FREE
                          ? UL_BLOCK_ACTIVE_ALLOCATED
                          : UL_BLOCK_ACTIVE_PENDING_FREE);
}

static ul_status undo_segment_alloc(struct undo *u, uint64_t i) {
  const ul_recording *r = u->h->recording;
  const uint64_t address = r->addresses[i], bytes = r->events[i].bytes;
  ul_span_at at;
  const ul_old_segment *piece = reserved_above(u, address, &at);

  if (piece && piece->address == address && !piece->is_expandable) {
    const uint64_t later = piece->bytes;
    ul_spans_remove(&u->reserved, at);
    if (later == bytes)
      return UL_OK;
    return contradiction(u, i,
                         "entry %" PRIu64 " makes a segment of %" PRIu64 " bytes at 0x%" PRIx64
                         ", which has %" PRIu64 " bytes later",
                         i, bytes, address, later);
  }
  return contradiction(u, i,
                       "entry %" PRIu64 " makes a segment of %" PRIu64 " bytes at 0x%" PRIx64
                       ", which no later entry gives back and which is not there at the end",
                       i, bytes, address);
}

static ul_status put_back(struct undo *u, uint64_t i, ul_old_segment piece) {
  ul_span_at at;
  const ul_old_segment *above;

  if (!is_extent(piece.address, piece.bytes))
    return contradiction(u, i,
                         "entry %" PRIu64 " gives back %" PRIu64 " bytes at 0x%" PRIx64
                         ", which no device has",
                         i, piece.bytes, piece.address);
  above = reserved_above(u, piece.address, &at);
  if (above && above->address <= piece.address + (piece.bytes - 1))
    return contradiction(u, i,
                         "entry %" PRIu64 " gives back %" PRIu64 " bytes at 0x%" PRIx64
                         ", which are still there at the end without being taken again",
                         i, piece.bytes, piece.address);
  return reserve(u, piece);
}

static ul_status undo_segment_free(struct undo *u, uint64_t i) {
  const ul_recording *r = u->h->recording;
  const ul_event *e = &r->events[i];
  const ul_old_segment piece = {r->addresses[i],        e->bytes, e->stream, e->pool, 0, 0,
                                e->bytes == 2 * UL_MIB, 0,        0};

  return put_back(u, i, piece);
}

static int by_stream_and_address(const void *a, const void *b) {
  const ul_old_segment *x = a, *y = b;
  if (x->stream != y->stream)
    return x->stream < y->stream ? -1 : 1;
  return x->address < y->address ? -1 : x->address > y->address;
}

/* Every address whose pool the recording knows: expandable memory of the final state, blocks of
 * entries, and mappings, whose pool is that of the allocation they were made for. */
static ul_status find_ranges(struct undo *u) {
  const ul_recording *r = u->h->recording;
  uint64_t i = r->count, served = 0;
  uint32_t s;

  for (s = 0; s < r->final_state.segment_count; s++) {
    const ul_segment *f = &r->final_state.segments[s];
    const ul_old_segment known = {f->address, f->bytes,    f->stream, f->pool, 0,
                                  0,          f->is_small, 1,         0};
    if (f->is_expandable && !UL_VEC_PUSH(&u->ranges, known))
      return ul_fail_nomem(u->err, "the replay");
  }
  while (i-- > 0) {
    const ul_event *e = &r->events[i];
    const uint8_t action = r->actions[i];
    const int of_block = action == UL_ACTION_ALLOC || action == UL_ACTION_FREE_COMPLETED;
    ul_old_segment known = {r->addresses[i], e->bytes, e->stream, e->pool, 0, 0, 0, 1, 0};
    if (e->kind == UL_EVENT_ALLOC)
      served = e->bytes;
    known.is_small = (of_block ? e->bytes : served) <= UL_MIB;
    if ((of_block || action == UL_ACTION_SEGMENT_MAP) && !UL_VEC_PUSH(&u->ranges, known))
      return ul_fail_nomem(u->err, "the replay");
  }
  u->ranges_known = 1;
  if (u->ranges.count)
    qsort(u->ranges.items, u->ranges.count, sizeof(ul_old_segment), by_stream_and_address);
  return UL_OK;
}

/* What an unmapped piece belonged to: the nearest known address of its stream. Ranges lie 9/8 of
 * the device apart, so what is this near is of the same range on all but small devices, and what
 * was in the piece itself is nearer still. */
#define NEAR_BYTES (16 * UL_GIB)

static ul_status nearest_range(struct undo *u, ul_old_segment *piece) {
  size_t low = 0, high, i;
  const ul_old_segment *best = NULL;
  uint64_t best_distance = UINT64_MAX;

  if (!u->ranges_known)
    UL_TRY(find_ranges(u));
  for (high = u->ranges.count; low < high;) {
    size_t middle = low + (high - low) / 2;
    if (by_stream_and_address(&u->ranges.items[middle], piece) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  for (i = low ? low - 1 : 0; i <= low && i < u->ranges.count; i++) {
    const ul_old_segment *known = &u->ranges.items[i];
    uint64_t distance = known->address > piece->address ? known->address - piece->address
                                                        : piece->address - known->address;
    if (known->stream == piece->stream && distance < best_distance) {
      best_distance = distance;
      best = known;
    }
  }
  /* Nothing near: small pools rarely reach 20 MiB, the unit of large ones. */
  piece->is_small = piece->bytes % (20 * UL_MIB) != 0;
  if (best && best_distance < NEAR_BYTES) {
    piece->pool = best->pool;
    piece->is_small = best->is_small;
  }
  return UL_OK;
}

static ul_status undo_segment_map(struct undo *u, uint64_t i) {
  const ul_recording *r = u->h->recording;
  const uint64_t start = r->addresses[i], bytes = r->events[i].bytes, last = start + (bytes - 1);
  uint64_t covered = 0;
  ul_span_at at;
  const ul_old_segment *piece;

  while (is_extent(start, bytes) && (piece = reserved_above(u, start, &at)) != NULL &&
         piece->address <= last && piece->is_expandable) {
    ul_old_segment below = *piece, above = *piece;
    const uint64_t piece_last = piece->address + (piece->bytes - 1);
    const uint64_t from = piece->address > start ? piece->address : start;
    const uint64_t to = piece_last < last ? piece_last : last;
    ul_spans_remove(&u->reserved, at);
    covered += to - from + 1;
    below.bytes = from - below.address;
    if (below.bytes)
      UL_TRY(reserve(u, below));
    above.bytes = piece_last - to;
    above.address = to + 1;
    if (above.bytes)
      UL_TRY(reserve(u, above));
  }
  if (covered == bytes && bytes)
    return UL_OK;
  return contradiction(u, i,
                       "entry %" PRIu64 " maps %" PRIu64 " bytes at 0x%" PRIx64
                       ", which no later entry unmaps and which are not there at the end",
                       i, bytes, start);
}

static ul_status undo_segment_unmap(struct undo *u, uint64_t i) {
  const ul_recording *r = u->h->recording;
  ul_old_segment piece = {
      r->addresses[i], r->events[i].bytes, r->events[i].stream, 0, 0, 0, 0, 1, 0};

  UL_TRY(nearest_range(u, &piece));
  return put_back(u, i, piece);
}

static ul_status undo_nothing(struct undo *u, uint64_t i) {
  (void)u, (void)i;
  return UL_OK;
}

static ul_status (*const undoers[UL_ACTION_COUNT])(struct undo *, uint64_t) = {
    [UL_ACTION_NONE] = undo_nothing,
    [UL_ACTION_ALLOC] = undo_alloc,
    [UL_ACTION_FREE_REQUESTED] = undo_free_requested,
    [UL_ACTION_FREE_COMPLETED] = undo_free_completed,
    [UL_ACTION_SEGMENT_ALLOC] = undo_segment_alloc,
    [UL_ACTION_SEGMENT_FREE] = undo_segment_free,
    [UL_ACTION_SEGMENT_MAP] = undo_segment_map,
    [UL_ACTION_SEGMENT_UNMAP] = undo_segment_unmap,
    [UL_ACTION_OOM] = undo_nothing,
    [UL_ACTION_SNAPSHOT] = undo_nothing,
    [UL_ACTION_WORKSPACE_SNAPSHOT] = undo_nothing,
    [UL_ACTION_UNKNOWN] = undo_nothing,
};

static int by_address(const void *a, const void *b) {
  const ul_old_block *x = a, *y = b;
  return x->address < y->address ? -1 : x->address > y->address;
}

/* Keeps the blocks that were there at the start, in order, if reserved memory holds them. */
static ul_status settle_blocks(struct undo *u) {
  ul_history *h = u->h;
  size_t i, kept = 0;

  for (i = 0; i < h->blocks.count; i++) {
    const ul_old_block b = h->blocks.items[i];
    const size_t at = piece_above(u, b.address);
    if (b.gone)
      continue;
    if (at < u->pieces.count && u->pieces.items[at].address <= b.address) {
      h->blocks.items[kept++] = b;
      continue;
    }
    h->unknown_frees++;
    if (b.first_event == UL_NO_EVENT)
      ul_history_contradiction(h, UL_RANK_START, h->recording->count,
                               "the final state holds 0x%" PRIx64
                               ", but no entry allocated it after its segment was made",
                               b.address);
    else
      ul_history_contradiction(h, UL_RANK_START, b.first_event,
                               "entry %" PRIu64 " frees 0x%" PRIx64
                               ", but no entry allocated it after its segment was made",
                               b.first_event, b.address);
  }
  h->blocks.count = kept;
  if (kept)
    qsort(h->blocks.items, kept, sizeof(ul_old_block), by_address);
  return UL_OK;
}

/* A lone cached segment may have been left from before the recording; but where nothing else was,
 * and the recording makes nearly all of its segments itself, the entry that made this one is
 * missing. Recordings that truly begin with a cache have live blocks (a cuBLAS workspace, weights),
 * or little to make. */
enum { MADE_FOR_ONE_MISSING = 4 };

static void check_old_segments(struct undo *u) {
  const ul_recording *r = u->h->recording;
  uint64_t i;
  size_t at = 0;

  if (u->h->blocks.count || !u->pieces.count ||
      u->pieces.count * MADE_FOR_ONE_MISSING >
          r->action_counts[UL_ACTION_SEGMENT_ALLOC] + r->action_counts[UL_ACTION_SEGMENT_MAP])
    return;
  for (i = 0; i < r->count; i++) {
    if (r->actions[i] != UL_ACTION_ALLOC)
      continue;
    at = piece_above(u, r->addresses[i]);
    if (at < u->pieces.count && u->pieces.items[at].address <= r->addresses[i])
      break;
  }
  if (i < r->count)
    ul_history_contradiction(u->h, UL_RANK_UNDO, i,
                             "entry %" PRIu64 " allocates in a segment of 0x%" PRIx64
                             " that no entry makes, though nothing lived before the recording",
                             i, u->pieces.items[at].address);
}

/* The range of one pool and stream that was there at the start. */
struct old_range {
  ul_old_segment of; /* pool and stream */
  uint64_t base, mapped;
  int open; /* not given up yet */
};

typedef struct old_ranges {
  UL_VEC(struct old_range) list;
  ul_idmap index[2]; /* large, small: stream and pool -> index into list + 1 */
} old_ranges;

static uint64_t range_key(const ul_old_segment *piece) {
  return (uint64_t)piece->stream << 32 | piece->pool;
}

static struct old_range *range_of(old_ranges *ranges, const ul_old_segment *piece) {
  const uint32_t at = ul_idmap_get(&ranges->index[piece->is_small != 0], range_key(piece));

  return at ? &ranges->list.items[at - 1] : NULL;
}

static ul_status list_old_ranges(struct undo *u, old_ranges *ranges) {
  size_t i;

  for (i = 0; i < u->pieces.count; i++) {
    const ul_old_segment *piece = &u->pieces.items[i];
    struct old_range *range = range_of(ranges, piece);
    const struct old_range fresh = {*piece, piece->address, piece->bytes, 1};
    if (!piece->is_expandable)
      continue;
    if (range)
      range->mapped += piece->bytes; /* pieces come in address order: the base stays */
    else if (!UL_VEC_PUSH(&ranges->list, fresh) ||
             !ul_idmap_set(&ranges->index[piece->is_small != 0], range_key(piece),
                           (uint32_t)ranges->list.count))
      return ul_fail_nomem(u->err, "the replay");
  }
  return UL_OK;
}

/* A range may reach further down than what was mapped at the start: entries map there later. Once
 * all of it is unmapped it is given up, and a new one begins somewhere else. */
static ul_status find_range_bases(struct undo *u, old_ranges *ranges) {
  const ul_recording *r = u->h->recording;
  uint64_t i;
  size_t k;

  for (i = 0; i < r->count; i++) {
    ul_old_segment piece = {
        r->addresses[i], r->events[i].bytes, r->events[i].stream, 0, 0, 0, 0, 1, 0};
    struct old_range *range;
    if (r->actions[i] != UL_ACTION_SEGMENT_MAP && r->actions[i] != UL_ACTION_SEGMENT_UNMAP)
      continue;
    UL_TRY(nearest_range(u, &piece));
    range = range_of(ranges, &piece);
    if (!range || !range->open)
      continue;
    if (r->actions[i] == UL_ACTION_SEGMENT_UNMAP) {
      range->mapped -= piece.bytes < range->mapped ? piece.bytes : range->mapped;
      range->open = range->mapped > 0;
      continue;
    }
    range->mapped += piece.bytes;
    if (piece.address < range->base)
      range->base = piece.address;
  }
  for (k = 0; k < u->pieces.count; k++) {
    const struct old_range *range = range_of(ranges, &u->pieces.items[k]);
    if (u->pieces.items[k].is_expandable && range)
      u->pieces.items[k].range_address = range->base;
  }
  return UL_OK;
}

static ul_status settle_ranges(struct undo *u) {
  old_ranges ranges;
  ul_status status;

  memset(&ranges, 0, sizeof(ranges));
  status = list_old_ranges(u, &ranges);
  if (status == UL_OK && ranges.list.count)
    status = find_range_bases(u, &ranges);
  UL_VEC_RELEASE(&ranges.list);
  ul_idmap_release(&ranges.index[0]);
  ul_idmap_release(&ranges.index[1]);
  return status;
}

static ul_status undo_all(struct undo *u) {
  const ul_recording *r = u->h->recording;
  uint64_t i;

  UL_TRY(start_from_final(u));
  for (i = r->count; i-- > 0;)
    UL_TRY(undoers[r->actions[i]](u, i));
  UL_TRY(collect_pieces(u));
  UL_TRY(settle_blocks(u));
  UL_TRY(settle_ranges(u));
  check_old_segments(u);
  return UL_OK;
}

ul_status ul_history_undo(ul_history *history, ul_error *err) {
  struct undo u;
  ul_status status;

  memset(&u, 0, sizeof(u));
  u.h = history;
  u.err = err;
  if (history->recording->has_trace)
    status = undo_all(&u);
  else
    status = start_from_final(&u);
  if (status == UL_OK && !history->recording->has_trace)
    status = collect_pieces(&u);
  ul_idmap_release(&u.live);
  ul_spans_release(&u.reserved);
  UL_VEC_RELEASE(&u.known);
  UL_VEC_RELEASE(&u.ranges);
  if (status != UL_OK) {
    UL_VEC_RELEASE(&u.pieces);
    return status;
  }
  history->segments.items = u.pieces.items;
  history->segments.count = u.pieces.count;
  history->segments.capacity = u.pieces.capacity;
  history->starts_empty = u.pieces.count == 0;
  return UL_OK;
}
