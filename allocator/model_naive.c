/* SPDX-License-Identifier: MIT */
/* The native allocator once more, written for clarity: no index, no running sums, every question
 * answered by looking at all blocks. O(n) and slower; its only purpose is to disagree with
 * model_native.c wherever one of the two is wrong (tests/unit/test_twins.c). Rules: docs/model.md.
 */
#include <stdlib.h>
#include <string.h>

#include "allocator/device.h"
#include "allocator/model.h"
#include "allocator/profile.h"
#include "allocator/settings.h"
#include "allocator/sizing.h"
#include "base/error.h"
#include "base/units.h"
#include "base/vec.h"

typedef enum condition { FREE, ALLOCATED, PENDING, UNMAPPED } condition;

typedef struct block {
  uint64_t address, bytes, requested;
  uint64_t number; /* of the block object */
  uint64_t handle;
  uint32_t searches; /* of its pool when it became free */
  uint64_t freed_at; /* pending: order of the frees */
  unsigned uses;
  condition is;
} block;

/* A cudaMalloc segment or a reserved range; its blocks in address order. */
typedef struct segment {
  uint64_t address, bytes, order; /* order: of creation */
  uint32_t pool, stream;
  int small, expandable;
  UL_VEC(block) blocks;
} segment;

/* Where a block is; valid until blocks come or go. */
typedef struct place {
  size_t segment, block;
} place;

typedef UL_VEC(place) places;

typedef struct naive {
  const ul_profile *profile;
  ul_settings settings;
  ul_device device;
  UL_VEC(segment) segments;
  UL_VEC(uint32_t) released_pools;
  UL_VEC(ul_driver_call) calls;
  UL_VEC(ul_segment) shown_segments;
  UL_VEC(ul_block) shown_blocks;
  uint64_t next_number, next_order, frees, limit;
  uint32_t searches[2]; /* of the default pool: large, small */
  ul_totals totals;
  int nomem; /* a vector could not grow; the step ends in UL_E_NOMEM */
} naive;

static block *at(naive *n, place p) {
  return &n->segments.items[p.segment].blocks.items[p.block];
}

static uint64_t unit_of(const naive *n, const segment *s) {
  return s->small ? UL_SMALL_SEGMENT_BYTES : n->settings.large_segment_bytes;
}

static void call_driver(naive *n, int kind, uint64_t address, uint64_t bytes, uint32_t stream) {
  const ul_driver_call call = {address, bytes, stream, (uint8_t)kind};
  if (!UL_VEC_PUSH(&n->calls, call))
    n->nomem = 1;
}

/* ---- order of free blocks ---- */

static int precedes(naive *n, place a, place b) {
  const block *x = at(n, a), *y = at(n, b);
  const segment *s = &n->segments.items[a.segment], *t = &n->segments.items[b.segment];

  if (x->bytes != y->bytes)
    return x->bytes < y->bytes;
  if (n->profile->tie == UL_TIE_BLOCK && x->number != y->number)
    return x->number < y->number;
  if (n->profile->tie == UL_TIE_SEGMENT && s->order != t->order)
    return s->order < t->order;
  return x->address < y->address;
}

/* All free blocks of one pool, stream and kind, in set order: by insertion. */
static places free_blocks(naive *n, uint32_t pool, uint32_t stream, int small) {
  places found = {NULL, 0, 0};
  size_t i, j, k;

  for (i = 0; i < n->segments.count; i++) {
    const segment *s = &n->segments.items[i];
    if (s->pool != pool || s->stream != stream || s->small != small)
      continue;
    for (j = 0; j < s->blocks.count; j++) {
      const place p = {i, j};
      if (s->blocks.items[j].is != FREE)
        continue;
      if (!UL_VEC_PUSH(&found, p)) {
        n->nomem = 1;
        return found;
      }
      for (k = found.count - 1; k && precedes(n, p, found.items[k - 1]); k--)
        found.items[k] = found.items[k - 1];
      found.items[k] = p;
    }
  }
  return found;
}

static uint64_t reach(naive *n, place p) {
  const segment *s = &n->segments.items[p.segment];
  const block *b = at(n, p);

  if (p.block + 1 < s->blocks.count && b[1].is == UNMAPPED)
    return b->bytes + b[1].bytes;
  return b->bytes;
}

/* Best fit, one candidate. 1 if *out serves the request. */
static int find(naive *n, const ul_event *e, uint64_t rounded, int small, place *out) {
  const ul_settings *s = &n->settings;
  places list = free_blocks(n, e->pool, e->stream, small);
  size_t i = 0;
  int found;

  while (i < list.count && at(n, list.items[i])->bytes < rounded)
    i++;
  if (s->expandable) {
    while (i + 1 < list.count && n->segments.items[list.items[i].segment].expandable &&
           reach(n, list.items[i + 1]) < reach(n, list.items[i]))
      i++;
  } else {
    while (i < list.count && n->segments.items[list.items[i].segment].expandable)
      i++;
  }
  found = i < list.count;
  if (found) {
    *out = list.items[i];
    if (rounded < s->max_split_bytes && at(n, *out)->bytes >= s->max_split_bytes)
      found = 0;
    if (rounded >= s->max_split_bytes &&
        at(n, *out)->bytes >= rounded + s->max_non_split_rounding_bytes)
      found = 0;
  }
  UL_VEC_RELEASE(&list);
  return found;
}

/* ---- blocks of a segment ---- */

/* Opens a place for a new block before index; returns it, with a new object number. */
static block *insert_block(naive *n, segment *s, size_t index) {
  block fresh = {0};

  if (!UL_VEC_PUSH(&s->blocks, fresh)) {
    n->nomem = 1;
    return &s->blocks.items[index];
  }
  memmove(&s->blocks.items[index + 1], &s->blocks.items[index],
          (s->blocks.count - 1 - index) * sizeof(block));
  s->blocks.items[index] = fresh;
  s->blocks.items[index].number = ++n->next_number;
  return &s->blocks.items[index];
}

static void remove_block(segment *s, size_t index) {
  s->blocks.count--;
  memmove(&s->blocks.items[index], &s->blocks.items[index + 1],
          (s->blocks.count - index) * sizeof(block));
}

/* The block joins neighbours of its own condition; it stays the object. Returns its new index. */
static size_t merge(segment *s, size_t index) {
  block *b = &s->blocks.items[index];

  if (index && b[-1].is == b->is) {
    b->address = b[-1].address;
    b->bytes += b[-1].bytes;
    remove_block(s, --index);
  }
  b = &s->blocks.items[index];
  if (index + 1 < s->blocks.count && b[1].is == b->is) {
    b->bytes += b[1].bytes;
    remove_block(s, index + 1);
  }
  return index;
}

static void make_free(naive *n, place p) {
  segment *s = &n->segments.items[p.segment];
  block *b = at(n, p);

  b->is = FREE;
  b->handle = 0;
  b->uses = 0;
  b = &s->blocks.items[merge(s, p.block)];
  b->searches = n->searches[s->small];
}

/* ---- the driver ---- */

static size_t new_segment(naive *n, uint64_t address, uint64_t bytes, const ul_event *e, int small,
                          int expandable) {
  segment fresh = {.address = address, .bytes = bytes, .pool = e->pool, .stream = e->stream};
  block *b;

  fresh.small = small;
  fresh.expandable = expandable;
  fresh.order = ++n->next_order;
  if (!UL_VEC_PUSH(&n->segments, fresh)) {
    n->nomem = 1;
    return 0;
  }
  b = insert_block(n, &n->segments.items[n->segments.count - 1], 0);
  b->address = address;
  b->bytes = bytes;
  b->is = expandable ? UNMAPPED : FREE;
  return n->segments.count - 1;
}

static void drop_segment(naive *n, size_t index) {
  UL_VEC_RELEASE(&n->segments.items[index].blocks);
  n->segments.count--;
  memmove(&n->segments.items[index], &n->segments.items[index + 1],
          (n->segments.count - index) * sizeof(segment));
}

static uint64_t reserved(const naive *n) {
  uint64_t sum = 0;
  size_t i, j;

  for (i = 0; i < n->segments.count; i++) {
    for (j = 0; j < n->segments.items[i].blocks.count; j++)
      sum += n->segments.items[i].blocks.items[j].is == UNMAPPED
                 ? 0
                 : n->segments.items[i].blocks.items[j].bytes;
  }
  return sum;
}

/* Maps the front of an unmapped block in whole units; returns its index, merged, or refuses. */
static ul_device_answer map_front(naive *n, size_t segment_index, size_t index, uint64_t wanted,
                                  size_t *out) {
  segment *s = &n->segments.items[segment_index];
  block *b = &s->blocks.items[index], *rest;
  const uint64_t bytes = ul_round_up(wanted, unit_of(n, s));
  const uint64_t address = b->address;
  ul_device_answer answer = ul_device_map(&n->device, address, bytes);

  if (answer != UL_DEVICE_GRANTED)
    return answer;
  if (bytes < b->bytes) {
    rest = insert_block(n, s, index + 1);
    b = &s->blocks.items[index];
    rest->address = address + bytes;
    rest->bytes = b->bytes - bytes;
    rest->is = UNMAPPED;
    b->bytes = bytes;
  }
  b->is = FREE;
  b->requested = 0;
  *out = merge(s, index);
  s->blocks.items[*out].searches = n->searches[s->small];
  call_driver(n, UL_DRIVER_SEGMENT_MAP, address, bytes, s->stream);
  return UL_DEVICE_GRANTED;
}

static int usable(const block *b) {
  return b->is == FREE || b->is == UNMAPPED;
}

/* The first run of free and unmapped blocks, by address, that is long enough. */
static int find_run(naive *n, const ul_event *e, int small, uint64_t rounded, place *out) {
  uint64_t best = UINT64_MAX;
  size_t i, j, k, start;

  for (i = 0; i < n->segments.count; i++) {
    segment *s = &n->segments.items[i];
    if (!s->expandable || s->pool != e->pool || s->stream != e->stream || s->small != small)
      continue;
    for (j = 0; j < s->blocks.count; j++) {
      uint64_t sum = 0;
      if (s->blocks.items[j].is != UNMAPPED || s->blocks.items[j].address >= best)
        continue;
      start = j && usable(&s->blocks.items[j - 1]) ? j - 1 : j;
      for (k = start; k < s->blocks.count && usable(&s->blocks.items[k]) && sum < rounded; k++)
        sum += s->blocks.items[k].bytes;
      if (sum >= rounded) {
        best = s->blocks.items[j].address;
        out->segment = i;
        out->block = start;
      }
    }
  }
  return best != UINT64_MAX;
}

static ul_device_answer map_run(naive *n, const ul_event *e, int small, uint64_t rounded,
                                place *out) {
  const uint64_t total = n->device.capacity_bytes ? n->device.capacity_bytes : UINT64_C(1) << 40;
  segment like = {.small = small};
  const uint64_t range = ul_round_up(total + total / 8, unit_of(n, &like));
  ul_device_answer answer;
  uint64_t address;
  block *b;

  if (!find_run(n, e, small, rounded, out)) {
    if (range < rounded)
      return UL_DEVICE_REFUSED;
    answer = ul_device_reserve(&n->device, range, &address);
    if (answer != UL_DEVICE_GRANTED)
      return answer;
    out->segment = new_segment(n, address, range, e, small, 1);
    out->block = 0;
  }
  if (n->nomem)
    return UL_DEVICE_NOMEM;
  b = at(n, *out);
  if (b->is == UNMAPPED) {
    answer = map_front(n, out->segment, out->block, b->bytes < rounded ? b->bytes : rounded,
                       &out->block);
    if (answer != UL_DEVICE_GRANTED)
      return answer;
  }
  while ((b = at(n, *out))->bytes < rounded) {
    const uint64_t missing = rounded - b->bytes;
    answer = map_front(n, out->segment, out->block + 1, b[1].bytes < missing ? b[1].bytes : missing,
                       &out->block);
    if (answer != UL_DEVICE_GRANTED)
      return answer;
  }
  return UL_DEVICE_GRANTED;
}

static ul_device_answer ask_driver(naive *n, const ul_event *e, int small, uint64_t rounded,
                                   place *out) {
  const uint64_t bytes = ul_segment_size(rounded, &n->settings);
  ul_device_answer answer;
  uint64_t address;

  if (n->limit != UINT64_MAX && !n->device.grants && reserved(n) + bytes > n->limit)
    return UL_DEVICE_REFUSED;
  if (n->settings.expandable && (!e->pool || n->profile->private_expandable))
    return map_run(n, e, small, rounded, out);
  answer = ul_device_malloc(&n->device, bytes, &address);
  if (answer != UL_DEVICE_GRANTED)
    return answer;
  out->segment = new_segment(n, address, bytes, e, small, 0);
  out->block = 0;
  call_driver(n, UL_DRIVER_SEGMENT_ALLOC, address, bytes, e->stream);
  return n->nomem ? UL_DEVICE_NOMEM : UL_DEVICE_GRANTED;
}

/* ---- giving back ---- */

static void return_segment(naive *n, size_t index) {
  const segment *s = &n->segments.items[index];

  call_driver(n, UL_DRIVER_SEGMENT_FREE, s->address, s->bytes, s->stream);
  ul_device_free(&n->device, s->address, s->bytes);
  drop_segment(n, index);
}

static void cut_front(naive *n, place *p, uint64_t bytes) {
  segment *s = &n->segments.items[p->segment];
  block *front = insert_block(n, s, p->block), *b = front + 1;

  front->address = b->address;
  front->bytes = bytes;
  front->is = FREE;
  front->searches = n->searches[s->small];
  b->address += bytes;
  b->bytes -= bytes;
  p->block++;
}

/* Unmaps the whole units of a free block. */
static void unmap(naive *n, place p) {
  segment *s = &n->segments.items[p.segment];
  const uint64_t unit = unit_of(n, s), start = at(n, p)->address - s->address;
  const uint64_t first = ul_round_up(start, unit), last = (start + at(n, p)->bytes) / unit * unit;
  uint64_t range = s->address;
  block *rest, *b;

  if (last <= first)
    return;
  if (first > start)
    cut_front(n, &p, first - start);
  b = at(n, p);
  if (b->bytes > last - first) {
    rest = insert_block(n, s, p.block + 1);
    b = at(n, p);
    rest->address = b->address + (last - first);
    rest->bytes = b->bytes - (last - first);
    rest->is = FREE;
    rest->searches = n->searches[s->small];
    b->bytes = last - first;
  }
  call_driver(n, UL_DRIVER_SEGMENT_UNMAP, b->address, b->bytes, s->stream);
  ul_device_unmap(&n->device, b->address, b->bytes);
  b->is = UNMAPPED;
  b->requested = 0;
  merge(s, p.block);
  if (s->blocks.count == 1) {
    ul_device_unreserve(&n->device, range);
    drop_segment(n, p.segment);
  }
}

/* One stream of one pool: whole segments first, then whole units, both in set order. */
static void release_lane(naive *n, uint32_t pool, uint32_t stream, int small) {
  places list = free_blocks(n, pool, stream, small);
  UL_VEC(uint64_t) whole = {NULL, 0, 0}, ranges = {NULL, 0, 0};
  size_t i, j, k;

  for (i = 0; i < list.count; i++) {
    const segment *s = &n->segments.items[list.items[i].segment];
    int kept = 1;
    if (s->expandable)
      kept = UL_VEC_PUSH(&ranges, at(n, list.items[i])->address);
    else if (s->blocks.count == 1)
      kept = UL_VEC_PUSH(&whole, s->address);
    n->nomem |= !kept;
  }
  for (i = 0; i < whole.count; i++) {
    for (j = 0; n->segments.items[j].expandable || n->segments.items[j].address != whole.items[i];
         j++)
      ;
    return_segment(n, j);
  }
  for (i = 0; i < ranges.count; i++) {
    for (j = 0; j < n->segments.count; j++) {
      for (k = 0; k < n->segments.items[j].blocks.count; k++) {
        const place p = {j, k};
        if (at(n, p)->address == ranges.items[i] && at(n, p)->is == FREE) {
          unmap(n, p);
          goto next;
        }
      }
    }
  next:;
  }
  UL_VEC_RELEASE(&whole);
  UL_VEC_RELEASE(&ranges);
  UL_VEC_RELEASE(&list);
}

static uint32_t most_streams(const naive *n) {
  uint32_t most = 0;
  size_t i;

  for (i = 0; i < n->segments.count; i++)
    most = n->segments.items[i].stream >= most ? n->segments.items[i].stream + 1 : most;
  return most;
}

/* In PyTorch a stream's expandable blocks wait until all streams' segments went; with the streams
 * of one pool released one by one the order within each kind is the same. */
static void release_pool(naive *n, uint32_t pool, int small) {
  const uint32_t streams = most_streams(n);
  uint32_t stream;

  for (stream = 0; stream < streams; stream++)
    release_lane(n, pool, stream, small);
}

static int is_released(const naive *n, uint32_t pool) {
  size_t i;

  for (i = 0; i < n->released_pools.count; i++) {
    if (n->released_pools.items[i] == pool)
      return 1;
  }
  return 0;
}

/* The pending block that was freed first. 1 if there is one. */
static int first_pending(naive *n, place *out) {
  uint64_t first = UINT64_MAX;
  place p;

  for (p.segment = 0; p.segment < n->segments.count; p.segment++) {
    for (p.block = 0; p.block < n->segments.items[p.segment].blocks.count; p.block++) {
      if (at(n, p)->is == PENDING && at(n, p)->freed_at < first) {
        first = at(n, p)->freed_at;
        *out = p;
      }
    }
  }
  return first != UINT64_MAX;
}

static void complete_all(naive *n) {
  place p;

  while (first_pending(n, &p))
    make_free(n, p);
}

static void release_cached(naive *n, uint32_t only_pool) {
  size_t i;

  complete_all(n);
  if (!only_pool) {
    release_pool(n, 0, 0);
    release_pool(n, 0, 1);
  }
  for (i = 0; i < n->released_pools.count; i++) {
    if (only_pool && n->released_pools.items[i] != only_pool)
      continue;
    release_pool(n, n->released_pools.items[i], 1);
    release_pool(n, n->released_pools.items[i], 0);
  }
}

/* Under max_split_size: oversize cached blocks of the request's own pool and stream. */
static int release_available(naive *n, const ul_event *e, int small, uint64_t rounded) {
  const uint64_t limit = n->settings.max_split_bytes;
  const uint64_t wanted = rounded > limit ? rounded : limit;
  places list;
  uint64_t freed = 0;
  size_t i, j;

  if (limit == UINT64_MAX)
    return 0;
  list = free_blocks(n, e->pool, e->stream, small);
  for (i = 0; i < list.count && at(n, list.items[i])->bytes < wanted; i++)
    ;
  if (i < list.count && !n->segments.items[list.items[i].segment].expandable) {
    return_segment(n, list.items[i].segment);
    UL_VEC_RELEASE(&list);
    return 1;
  }
  while (i-- > 0 && freed < wanted && at(n, list.items[i])->bytes >= limit) {
    const size_t gone = list.items[i].segment;
    if (n->segments.items[gone].expandable)
      continue;
    freed += at(n, list.items[i])->bytes;
    return_segment(n, gone);
    for (j = 0; j < i; j++)
      list.items[j].segment -= list.items[j].segment > gone;
  }
  UL_VEC_RELEASE(&list);
  return freed >= wanted;
}

/* ---- events ---- */

static void collect(naive *n) {
  const uint64_t threshold = (uint64_t)(n->settings.gc_threshold * (double)n->limit);
  uint64_t target, got = 0, before, ages = 0, count = 0;
  const uint32_t streams = most_streams(n);
  size_t i, j;
  uint32_t stream;

  if (reserved(n) <= threshold)
    return;
  target = reserved(n) - threshold;
  for (i = 0; i < n->segments.count; i++) {
    const segment *s = &n->segments.items[i];
    if (!s->pool && !s->small && s->blocks.count == 1 && s->blocks.items[0].is == FREE) {
      ages += n->searches[0] - s->blocks.items[0].searches;
      count++;
    }
  }
  do {
    const double average = count ? (double)ages / (double)count : 0;
    before = got;
    for (stream = 0; count && stream < streams; stream++) {
      places list = free_blocks(n, 0, stream, 0);
      for (i = 0; i < list.count; i++) {
        const size_t gone = list.items[i].segment;
        const segment *s = &n->segments.items[gone];
        const uint32_t age = n->searches[0] - at(n, list.items[i])->searches;
        if (s->expandable || s->blocks.count != 1 || (double)age < average)
          continue;
        got += s->bytes;
        ages -= age;
        count--;
        return_segment(n, gone);
        for (j = i + 1; j < list.count; j++)
          list.items[j].segment -= list.items[j].segment > gone;
      }
      UL_VEC_RELEASE(&list);
    }
  } while (got < target && got > before && count);
}

static int allocate(naive *n, const ul_event *e, ul_outcome *o) {
  const uint64_t rounded = ul_round_request(e->bytes, &n->settings, n->profile);
  const int small = rounded <= UL_SMALL_LIMIT_BYTES;
  const int collects = n->limit != UINT64_MAX && n->settings.gc_threshold > 0;
  ul_device_answer answer = UL_DEVICE_GRANTED;
  place p;
  block *b;
  uint64_t rest;

  if (collects && !e->pool)
    n->searches[small]++;
  o->segment_bytes = ul_segment_size(rounded, &n->settings);
  if (!find(n, e, rounded, small, &p)) {
    if (collects)
      collect(n);
    answer = ask_driver(n, e, small, rounded, &p);
    if (answer == UL_DEVICE_REFUSED && release_available(n, e, small, rounded))
      answer = ask_driver(n, e, small, rounded, &p);
    if (answer == UL_DEVICE_REFUSED) {
      release_cached(n, 0);
      ul_device_after_flush(&n->device);
      answer = ask_driver(n, e, small, rounded, &p);
      o->retries++;
    }
  }
  if (answer != UL_DEVICE_GRANTED) {
    o->result = UL_OUTCOME_OOM;
    o->block_bytes = rounded;
    return answer == UL_DEVICE_REFUSED;
  }
  b = at(n, p);
  rest = b->bytes - rounded;
  if ((small || n->settings.expandable)
          ? rest >= UL_MIN_BLOCK_BYTES
          : rounded < n->settings.max_split_bytes && rest > UL_SMALL_LIMIT_BYTES) {
    cut_front(n, &p, rounded);
    at(n, p)->searches = n->searches[small];
    p.block--;
    b = at(n, p);
  }
  b->is = ALLOCATED;
  b->requested = e->bytes;
  b->handle = e->handle;
  o->result = UL_OUTCOME_SERVED;
  o->address = b->address;
  o->block_bytes = b->bytes;
  return 1;
}

static int find_handle(naive *n, uint64_t handle, place *p) {
  for (p->segment = 0; p->segment < n->segments.count; p->segment++) {
    for (p->block = 0; p->block < n->segments.items[p->segment].blocks.count; p->block++) {
      if (handle && at(n, *p)->handle == handle)
        return 1;
    }
  }
  return 0;
}

static void count_totals(naive *n) {
  ul_totals t = {0};
  size_t i, j;

  for (i = 0; i < n->segments.count; i++) {
    const segment *s = &n->segments.items[i];
    t.segment_count += !s->expandable;
    for (j = 0; j < s->blocks.count; j++) {
      const block *b = &s->blocks.items[j];
      const uint64_t unit = unit_of(n, s), start = b->address - s->address;
      const uint64_t first = ul_round_up(start, unit), last = (start + b->bytes) / unit * unit;
      uint64_t back = s->blocks.count == 1 ? b->bytes : 0;
      if (b->is == UNMAPPED)
        continue;
      t.reserved_bytes += b->bytes;
      if (b->is == FREE) {
        if (s->expandable)
          back = last > first ? last - first : 0;
        *(s->pool && !is_released(n, s->pool) ? &t.held_bytes : &t.releasable_bytes) += back;
        continue;
      }
      t.active_bytes += b->bytes;
      t.requested_bytes += b->requested;
      if (b->is == ALLOCATED) {
        t.allocated_bytes += b->bytes;
        t.live_bytes += b->requested;
        t.live_rounded_bytes += ul_round_request(b->requested, &n->settings, n->profile);
      }
    }
  }
  n->totals = t;
}

/* 0 without memory. */
static int step(naive *n, const ul_event *e, ul_outcome *o) {
  place p;
  const int known = find_handle(n, e->handle, &p);

  switch ((ul_event_kind)e->kind) {
  case UL_EVENT_ALLOC:
    if (!e->bytes)
      return 1;
    if (known || e->bytes >= UL_REQUEST_LIMIT_BYTES)
      break;
    return allocate(n, e, o);
  case UL_EVENT_FREE:
    if (!known || at(n, p)->is != ALLOCATED)
      break;
    o->address = at(n, p)->address;
    o->block_bytes = at(n, p)->bytes;
    at(n, p)->freed_at = ++n->frees;
    if (at(n, p)->uses)
      at(n, p)->is = PENDING;
    else
      make_free(n, p);
    return 1;
  case UL_EVENT_COMPLETE:
    if (known && at(n, p)->is == PENDING) {
      o->address = at(n, p)->address;
      o->block_bytes = at(n, p)->bytes;
      make_free(n, p);
    }
    return 1;
  case UL_EVENT_STREAM_USE:
    if (!known || at(n, p)->is != ALLOCATED)
      break;
    at(n, p)->uses += n->segments.items[p.segment].stream != e->stream;
    return 1;
  case UL_EVENT_SYNC:
    complete_all(n);
    return 1;
  case UL_EVENT_EMPTY_CACHE:
    release_cached(n, e->pool);
    return 1;
  case UL_EVENT_POOL_RELEASE:
    return is_released(n, e->pool) || UL_VEC_PUSH(&n->released_pools, e->pool);
  case UL_EVENT_SET_FRACTION:
    n->limit = e->bytes;
    return 1;
  case UL_EVENT_EXTERNAL_BYTES:
    n->device.external_bytes = e->bytes;
    return 1;
  default:
    return 1;
  }
  o->result = UL_OUTCOME_REJECTED;
  o->reason = "an event that makes no sense here";
  return 1;
}

static ul_status naive_apply(void *state, const ul_event *event, const ul_grants *grants,
                             ul_outcome *outcome, ul_error *err) {
  naive *n = state;
  int done;

  memset(outcome, 0, sizeof(*outcome));
  n->calls.count = 0;
  n->device.grants = grants;
  n->device.grant = 0;
  done = step(n, event, outcome) && !n->nomem;
  n->device.grants = NULL;
  if (!done)
    return ul_fail_nomem(err, "the naive model");
  count_totals(n);
  outcome->calls = n->calls.items;
  outcome->call_count = (uint32_t)n->calls.count;
  return UL_OK;
}

/* ---- the table's other operations ---- */

static void naive_destroy(void *state) {
  naive *n = state;

  while (n->segments.count)
    drop_segment(n, n->segments.count - 1);
  UL_VEC_RELEASE(&n->segments);
  UL_VEC_RELEASE(&n->released_pools);
  UL_VEC_RELEASE(&n->calls);
  UL_VEC_RELEASE(&n->shown_segments);
  UL_VEC_RELEASE(&n->shown_blocks);
  ul_device_release(&n->device);
  free(n);
}

static ul_status naive_create(void **state, const ul_model_options *options, ul_error *err) {
  naive *n = calloc(1, sizeof(*n));
  ul_status status;

  if (!n)
    return ul_fail_nomem(err, "the naive model");
  ul_device_init(&n->device, options);
  n->limit = UINT64_MAX;
  status = ul_profile_find(&n->profile, options->torch, NULL, err);
  if (status == UL_OK)
    status = ul_settings_parse(&n->settings, options->settings, options->variable, n->profile, err);
  if (status != UL_OK) {
    naive_destroy(n);
    return status;
  }
  if (n->settings.fraction < 1.0)
    n->limit = ul_fraction_limit(n->profile, options->device_bytes, n->settings.fraction);
  *state = n;
  return UL_OK;
}

static int by_address(const void *a, const void *b) {
  const ul_segment *x = a, *y = b;
  return x->address < y->address ? -1 : x->address > y->address;
}

static int show(naive *n, const segment *s) {
  static const uint8_t states[] = {[FREE] = UL_BLOCK_INACTIVE,
                                   [ALLOCATED] = UL_BLOCK_ACTIVE_ALLOCATED,
                                   [PENDING] = UL_BLOCK_ACTIVE_PENDING_FREE};
  ul_segment shown = {.stream = s->stream, .pool = s->pool};
  size_t i;

  shown.is_small = (uint8_t)s->small;
  shown.is_expandable = (uint8_t)s->expandable;
  for (i = 0; i < s->blocks.count; i++) {
    const block *b = &s->blocks.items[i];
    const ul_block out = {.address = b->address,
                          .bytes = b->bytes,
                          .requested_bytes = b->requested,
                          .handle = b->handle,
                          .state = b->is == UNMAPPED ? UL_BLOCK_INACTIVE : states[b->is]};
    if (b->is == UNMAPPED)
      continue;
    if (!shown.block_count) {
      shown.address = b->address;
      shown.first_block = (uint32_t)n->shown_blocks.count;
    }
    shown.bytes += b->bytes;
    shown.block_count++;
    if (!UL_VEC_PUSH(&n->shown_blocks, out))
      return 0;
    if (i + 1 == s->blocks.count || s->blocks.items[i + 1].is == UNMAPPED) {
      if (!UL_VEC_PUSH(&n->shown_segments, shown))
        return 0;
      shown.bytes = 0;
      shown.block_count = 0;
    }
  }
  return 1;
}

static ul_status naive_visit(void *state, ul_state *out, ul_error *err) {
  naive *n = state;
  size_t i;

  n->shown_segments.count = n->shown_blocks.count = 0;
  for (i = 0; i < n->segments.count; i++) {
    if (!show(n, &n->segments.items[i]))
      return ul_fail_nomem(err, "the naive model's state");
  }
  if (n->shown_segments.count)
    qsort(n->shown_segments.items, n->shown_segments.count, sizeof(ul_segment), by_address);
  out->segments = n->shown_segments.items;
  out->segment_count = (uint32_t)n->shown_segments.count;
  out->blocks = n->shown_blocks.items;
  out->block_count = (uint32_t)n->shown_blocks.count;
  return UL_OK;
}

static ul_status naive_load(void *state, const ul_state *from, ul_error *err) {
  (void)state, (void)from;
  return ul_fail(err, UL_E_UNSUPPORTED, 0, "the naive model starts empty only");
}

static ul_status naive_clone(void **out, const void *state, ul_error *err) {
  (void)out, (void)state;
  return ul_fail(err, UL_E_UNSUPPORTED, 0, "the naive model cannot be copied");
}

static ul_status naive_check(const void *state, ul_error *err) {
  (void)state, (void)err;
  return UL_OK; /* it keeps nothing that could come apart */
}

static ul_status naive_asker(const void *state, const ul_event *event, ul_asker_view *out,
                             ul_error *err) {
  (void)state, (void)event, (void)out;
  return ul_fail(err, UL_E_UNSUPPORTED, 0, "the naive model has no asker's view");
}

static const ul_totals *naive_totals(const void *state) {
  return &((const naive *)state)->totals;
}

static size_t naive_stats(const void *state, ul_stat *out, size_t capacity) {
  (void)state, (void)out, (void)capacity;
  return 0;
}

static void naive_reset_peak(void *state) {
  (void)state;
}

static uint64_t naive_round(const void *state, uint64_t requested_bytes) {
  const naive *n = state;
  return ul_round_request(requested_bytes, &n->settings, n->profile);
}

static uint64_t naive_fraction_limit(const void *state, double fraction) {
  const naive *n = state;
  return ul_fraction_limit(n->profile, n->device.capacity_bytes, fraction);
}

static uint64_t naive_unsplit_limit(const void *state, int is_small, uint64_t rounded_bytes) {
  const naive *n = state;
  return ul_unsplit_limit(&n->settings, is_small, rounded_bytes);
}

const ul_model_ops ul_model_naive = {
    .name = "naive",
    .summary = "the native rules written for clarity; slow, a twin for tests",
    .create = naive_create,
    .destroy = naive_destroy,
    .load = naive_load,
    .apply = naive_apply,
    .clone = naive_clone,
    .totals = naive_totals,
    .stats = naive_stats,
    .reset_peak = naive_reset_peak,
    .visit = naive_visit,
    .check = naive_check,
    .round = naive_round,
    .fraction_limit = naive_fraction_limit,
    .unsplit_limit = naive_unsplit_limit,
    .asker = naive_asker,
};
