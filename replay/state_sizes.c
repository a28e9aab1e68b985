/* SPDX-License-Identifier: MIT */
/* The sizes that the time before a recording left behind (formats.md 1.9, step 2 and 3). A block
 * that lived then and was freed later has no recorded size: it is the rounded request, plus a
 * remainder that was too small to be split off. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "replay/history.h"

/* One old block whose remainder is open. */
struct open_tail {
  uint64_t end;   /* of the rounded request */
  uint64_t limit; /* of the remainder */
  uint64_t free_event;
  uint64_t tail;
  uint64_t hint_event;   /* whose address tells; UL_NO_EVENT: none yet */
  uint64_t choice_event; /* whose address rules smaller remainders out */
  uint32_t block;
};

struct sizes {
  const ul_history *h;
  const ul_model *model;
  const ul_tail_choices *choices; /* may be NULL */
  ul_initial_state *out;
  UL_VEC(struct open_tail) open; /* by address */
  ul_error *err;
};

/* Where the memory behind block i ends: the next old block, or the end of its piece. */
static uint64_t room_end(const ul_history *h, size_t i, const ul_old_segment *piece) {
  uint64_t end = piece->address + piece->bytes;

  if (i + 1 < h->blocks.count && h->blocks.items[i + 1].address < end)
    end = h->blocks.items[i + 1].address;
  return end;
}

/* The size of one old block as far as its neighbours tell; an open tail goes on the list. */
static ul_status conclude_size(struct sizes *s, size_t i, const ul_old_segment *piece,
                               uint64_t *bytes) {
  const ul_old_block *b = &s->h->blocks.items[i];
  const uint64_t room = room_end(s->h, i, piece) - b->address;
  const uint64_t rounded = ul_model_round(s->model, b->requested_bytes);
  const uint64_t limit = ul_model_unsplit_limit(s->model, piece->is_small, rounded);
  struct open_tail tail = {b->address + rounded, limit, b->free_event, 0, UL_NO_EVENT,
                           UL_NO_EVENT,          0};

  *bytes = b->bytes ? b->bytes : rounded;
  if (*bytes > room)
    *bytes = room; /* a contradiction; the final comparison will show it */
  if (b->bytes || piece->is_expandable || rounded > room)
    return UL_OK;
  if (room - rounded <= limit) {
    *bytes = room;
    return UL_OK;
  }
  if (limit < 512)
    return UL_OK;
  tail.block = (uint32_t)s->out->blocks.count;
  return UL_VEC_PUSH(&s->open, tail) ? UL_OK : ul_fail_nomem(s->err, "the replay");
}

static ul_status add_block(struct sizes *s, uint64_t address, uint64_t bytes,
                           const ul_old_block *old) {
  ul_block block = {.address = address, .bytes = bytes, .state = UL_BLOCK_INACTIVE};

  if (old) {
    block.requested_bytes = old->requested_bytes;
    block.handle = old->handle;
    block.stack = old->stack;
    block.state = old->state;
  }
  return UL_VEC_PUSH(&s->out->blocks, block) ? UL_OK : ul_fail_nomem(s->err, "the replay");
}

/* Lays the old blocks of one piece out; what is between them is free. *next is the first old block
 * not before the piece. */
static ul_status lay_out(struct sizes *s, const ul_old_segment *piece, size_t *next) {
  const ul_history *h = s->h;
  const uint64_t end = piece->address + piece->bytes;
  uint64_t at = piece->address, bytes = 0;

  for (; *next < h->blocks.count && h->blocks.items[*next].address < end; ++*next) {
    const ul_old_block *b = &h->blocks.items[*next];
    if (b->address < at)
      continue; /* overlaps the one before: contradictory, dropped */
    if (b->address > at)
      UL_TRY(add_block(s, at, b->address - at, NULL));
    UL_TRY(conclude_size(s, *next, piece, &bytes));
    UL_TRY(add_block(s, b->address, bytes, b));
    at = b->address + bytes;
  }
  return at < end ? add_block(s, at, end - at, NULL) : UL_OK;
}

static int continues(const ul_old_segment *a, const ul_old_segment *b) {
  return a->is_expandable && b->is_expandable && a->address + a->bytes == b->address &&
         a->stream == b->stream && a->pool == b->pool && a->is_small == b->is_small;
}

static ul_status lay_out_all(struct sizes *s) {
  const ul_history *h = s->h;
  size_t i, next = 0;

  for (i = 0; i < h->segments.count; i++) {
    ul_old_segment piece = h->segments.items[i];
    ul_segment segment = {0};
    while (i + 1 < h->segments.count && continues(&piece, &h->segments.items[i + 1]))
      piece.bytes += h->segments.items[++i].bytes;
    segment.address = piece.address;
    segment.bytes = piece.bytes;
    segment.range_address = piece.range_address;
    segment.first_block = (uint32_t)s->out->blocks.count;
    segment.stream = piece.stream;
    segment.pool = piece.pool;
    segment.stack = piece.stack;
    segment.registration = piece.registration;
    segment.is_small = piece.is_small;
    segment.is_expandable = piece.is_expandable;
    UL_TRY(lay_out(s, &piece, &next));
    segment.block_count = (uint32_t)s->out->blocks.count - segment.first_block;
    if (!UL_VEC_PUSH(&s->out->segments, segment))
      return ul_fail_nomem(s->err, "the replay");
  }
  return UL_OK;
}

/* The open tail that ends at or before address, or NULL. */
static struct open_tail *tail_before(const struct sizes *s, uint64_t address) {
  size_t low = 0, high = s->open.count;

  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (s->open.items[middle].end <= address)
      low = middle + 1;
    else
      high = middle;
  }
  return low ? &s->open.items[low - 1] : NULL;
}

/* The first allocation placed right behind an open tail starts where the tail ends. */
static void look_for_hints(struct sizes *s) {
  const ul_recording *r = s->h->recording;
  uint64_t i;

  for (i = 0; i < r->count; i++) {
    struct open_tail *tail;
    if (r->actions[i] != UL_ACTION_ALLOC)
      continue;
    tail = tail_before(s, r->addresses[i]);
    if (!tail || tail->hint_event != UL_NO_EVENT || i >= tail->free_event ||
        r->addresses[i] - tail->end > tail->limit)
      continue;
    tail->tail = r->addresses[i] - tail->end;
    tail->hint_event = i;
  }
}

static int by_number(const void *a, const void *b) {
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

/* A remainder that later placements asked for; the size stays ambiguous above it. */
static void look_for_choice(const struct sizes *s, struct open_tail *tail) {
  const uint64_t address = s->out->blocks.items[tail->block].address;
  size_t i;

  for (i = 0; s->choices && i < s->choices->count; i++) {
    if (s->choices->items[i].address == address) {
      tail->tail = s->choices->items[i].tail;
      tail->choice_event = s->choices->items[i].event;
    }
  }
}

static ul_status settle_tails(struct sizes *s) {
  size_t i;

  look_for_hints(s);
  for (i = 0; i < s->open.count; i++) {
    struct open_tail *tail = &s->open.items[i];
    ul_block *b = &s->out->blocks.items[tail->block], *free_one = b + 1;
    uint64_t told_by = tail->hint_event;
    if (told_by == UL_NO_EVENT) {
      s->out->ambiguous++;
      b->flags |= UL_BLOCK_SIZE_AMBIGUOUS;
      look_for_choice(s, tail);
      told_by = tail->choice_event;
    }
    if (!tail->tail)
      continue; /* the plain size: nothing was fed from an address */
    b->flags |= UL_BLOCK_SIZE_INFERRED;
    b->bytes += tail->tail;
    free_one->address += tail->tail;
    free_one->bytes -= tail->tail;
    if (!UL_VEC_PUSH(&s->out->assisted, told_by))
      return ul_fail_nomem(s->err, "the replay");
  }
  if (s->out->assisted.count)
    qsort(s->out->assisted.items, s->out->assisted.count, sizeof(uint64_t), by_number);
  return UL_OK;
}

ul_status ul_initial_state_build(ul_initial_state *out, const ul_history *history,
                                 const ul_model *model, const ul_tail_choices *choices,
                                 ul_error *err) {
  struct sizes s;
  ul_status status;

  memset(&s, 0, sizeof(s));
  memset(out, 0, sizeof(*out));
  s.h = history;
  s.model = model;
  s.choices = choices;
  s.out = out;
  s.err = err;
  status = lay_out_all(&s);
  if (status == UL_OK && s.open.count)
    status = settle_tails(&s);
  UL_VEC_RELEASE(&s.open);
  if (status != UL_OK) {
    ul_initial_state_release(out);
    return status;
  }
  out->state.segments = out->segments.items;
  out->state.segment_count = (uint32_t)out->segments.count;
  out->state.blocks = out->blocks.items;
  out->state.block_count = (uint32_t)out->blocks.count;
  return UL_OK;
}

void ul_initial_state_release(ul_initial_state *initial) {
  UL_VEC_RELEASE(&initial->segments);
  UL_VEC_RELEASE(&initial->blocks);
  UL_VEC_RELEASE(&initial->assisted);
  memset(&initial->state, 0, sizeof(initial->state));
}
