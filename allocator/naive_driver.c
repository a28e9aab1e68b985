/* SPDX-License-Identifier: MIT */
/* The naive twin asks for memory: segments, and units of expandable ones. */
#include "allocator/naive.h"
#include "allocator/sizing.h"
#include "base/units.h"

/* Where nobody knows how large the device is. */
#define UNKNOWN_DEVICE_BYTES (UINT64_C(1) << 40)

int ul_naive_collects(const naive *n) {
  return n->limit != UINT64_MAX && n->settings.gc_threshold > 0;
}

uint64_t ul_naive_range_bytes(const naive *n, int small) {
  const uint64_t total = n->device.capacity_bytes ? n->device.capacity_bytes : UNKNOWN_DEVICE_BYTES;

  return ul_round_up(ul_reserve_bytes(&n->settings, total), ul_naive_unit(n, small));
}

/* Maps the front of an unmapped block in whole units. *out is its index, joined to its mapped
 * neighbours; refused, nothing has changed. */
static ul_device_answer map_front(naive *n, size_t segment_index, size_t index, uint64_t wanted,
                                  size_t *out) {
  naive_segment *s = &n->segments.items[segment_index];
  naive_block *b = &s->blocks.items[index], *rest;
  const uint64_t bytes = ul_round_up(wanted, s->unit);
  const uint64_t address = b->address;
  const ul_device_answer answer = ul_device_map(&n->device, address, bytes);

  if (answer == UL_DEVICE_REFUSED)
    ul_naive_call(n, UL_DRIVER_MAP_REFUSED, 0, s->unit, s->stream);
  if (answer != UL_DEVICE_GRANTED)
    return answer;
  ul_naive_call(n, UL_DRIVER_SEGMENT_MAP, address, bytes, s->stream);
  if (bytes < b->bytes) {
    rest = ul_naive_insert(n, s, index + 1);
    if (n->nomem)
      return UL_DEVICE_NOMEM;
    b = &s->blocks.items[index];
    rest->address = address + bytes;
    rest->bytes = b->bytes - bytes;
    rest->is = NAIVE_UNMAPPED;
    b->bytes = bytes;
  }
  b->is = NAIVE_FREE;
  *out = ul_naive_merge(n, s, index);
  ul_naive_enter_free(n, s, &s->blocks.items[*out]);
  ul_naive_reserve(n, s, bytes);
  ul_naive_count(n, UL_STAT_NUM_DEVICE_ALLOC);
  ul_naive_note(n, UL_ACTION_SEGMENT_MAP, address, bytes, s->stream);
  return UL_DEVICE_GRANTED;
}

static int usable(const naive_block *b) {
  return b->is == NAIVE_FREE || b->is == NAIVE_UNMAPPED;
}

/* The first run of free and unmapped blocks, by address, that is long enough. */
static int find_run(const naive *n, const naive_request *r, naive_place *out) {
  uint64_t best = UINT64_MAX;
  size_t i, j, k, start;

  for (i = 0; i < n->segments.count; i++) {
    naive_segment *s = &n->segments.items[i];
    if (!s->expandable || s->pool != r->pool || s->stream != r->stream || s->small != r->small)
      continue;
    for (j = 0; j < s->blocks.count; j++) {
      uint64_t sum = 0;
      if (s->blocks.items[j].is != NAIVE_UNMAPPED || s->blocks.items[j].address >= best)
        continue;
      start = j && usable(&s->blocks.items[j - 1]) ? j - 1 : j;
      for (k = start; k < s->blocks.count && usable(&s->blocks.items[k]) && sum < r->rounded; k++)
        sum += s->blocks.items[k].bytes;
      if (sum >= r->rounded) {
        best = s->blocks.items[j].address;
        out->segment = i;
        out->block = start;
      }
    }
  }
  return best != UINT64_MAX;
}

/* A new range. From 2.15 on one that is too small for the request is given back at once; before, it
 * stays, and mapping all of it fails. */
static ul_device_answer new_range(naive *n, const naive_request *r, naive_place *out) {
  const uint64_t bytes = ul_naive_range_bytes(n, r->small);
  ul_device_answer answer;
  uint64_t address;

  answer = ul_device_reserve(&n->device, bytes, &address);
  if (answer != UL_DEVICE_GRANTED)
    return answer;
  ul_naive_call(n, UL_DRIVER_RANGE_RESERVE, address, bytes, r->stream);
  if (bytes < r->rounded && n->profile->range_must_fit) {
    ul_naive_call(n, UL_DRIVER_RANGE_RELEASE, address, bytes, r->stream);
    ul_device_unreserve(&n->device, address);
    return UL_DEVICE_REFUSED;
  }
  out->segment = ul_naive_add_segment(n, r, address, bytes, 1);
  out->block = 0;
  return n->nomem ? UL_DEVICE_NOMEM : UL_DEVICE_GRANTED;
}

static ul_device_answer map_run(naive *n, const naive_request *r, naive_place *out) {
  ul_device_answer answer;
  naive_block *b;

  n->next_number += n->profile->keys_are_numbered;
  if (!find_run(n, r, out)) {
    answer = new_range(n, r, out);
    if (answer != UL_DEVICE_GRANTED)
      return answer;
  }
  b = ul_naive_at(n, *out);
  if (b->is == NAIVE_UNMAPPED) {
    answer = map_front(n, out->segment, out->block, b->bytes < r->rounded ? b->bytes : r->rounded,
                       &out->block);
    if (answer != UL_DEVICE_GRANTED)
      return answer;
  }
  while ((b = ul_naive_at(n, *out))->bytes < r->rounded) {
    const uint64_t missing = r->rounded - b->bytes;
    if (out->block + 1 == ul_naive_segment(n, *out)->blocks.count)
      return UL_DEVICE_REFUSED; /* a range smaller than the request, on an endless device */
    answer = map_front(n, out->segment, out->block + 1, b[1].bytes < missing ? b[1].bytes : missing,
                       &out->block);
    if (answer != UL_DEVICE_GRANTED)
      return answer;
  }
  return UL_DEVICE_GRANTED;
}

static ul_device_answer new_segment(naive *n, const naive_request *r, naive_place *out) {
  ul_device_answer answer;
  uint64_t address;

  answer = ul_device_malloc(&n->device, r->segment_bytes, &address);
  if (answer == UL_DEVICE_REFUSED)
    ul_naive_call(n, UL_DRIVER_ALLOC_REFUSED, 0, r->segment_bytes, r->stream);
  if (answer != UL_DEVICE_GRANTED)
    return answer;
  ul_naive_call(n, UL_DRIVER_SEGMENT_ALLOC, address, r->segment_bytes, r->stream);
  out->segment = ul_naive_add_segment(n, r, address, r->segment_bytes, 0);
  out->block = 0;
  if (n->nomem)
    return UL_DEVICE_NOMEM;
  ul_naive_up(n, UL_STAT_SEGMENT, r->small, 1);
  ul_naive_reserve(n, ul_naive_segment(n, *out), r->segment_bytes);
  if (r->segment_bytes >= n->settings.max_split_bytes)
    ul_stat_increase_one(&n->statistics.singles[UL_STAT_OVERSIZE_SEGMENTS], 1);
  ul_naive_count(n, UL_STAT_NUM_DEVICE_ALLOC);
  ul_naive_note(n, UL_ACTION_SEGMENT_ALLOC, address, r->segment_bytes, r->stream);
  return UL_DEVICE_GRANTED;
}

/* The limit is tested with the segment size, also where another number of bytes would be mapped.
 * What a recording's driver granted was within it. */
static int over_limit(const naive *n, const naive_request *r) {
  const uint64_t total = ul_naive_total(n);

  return n->limit != UINT64_MAX && !n->device.grants &&
         (total > n->limit || r->segment_bytes > n->limit - total);
}

/* throw_on_cudamalloc_oom: what would pass the fraction of the settings, as they are now, is not
 * even asked for. It comes after the limit, which may be another one: that of the call. */
static int is_preempted(const naive *n, const naive_request *r) {
  const uint64_t total = ul_naive_total(n);
  const uint64_t most = (uint64_t)(n->settings.fraction * (double)n->property_bytes);

  return n->settings.throw_on_oom && n->property_bytes &&
         (total > most || r->segment_bytes > most - total);
}

ul_device_answer ul_naive_ask(naive *n, const naive_request *r, int retry, naive_place *out) {
  const int maps = r->expandable && (!r->pool || n->profile->private_expandable);
  ul_device_answer answer = UL_DEVICE_REFUSED;
  ul_pool *pool;

  if (retry) {
    ul_naive_count(n, UL_STAT_NUM_ALLOC_RETRIES);
    n->outcome->retries++;
  }
  pool = r->pool ? ul_pools_find(&n->pools, r->pool) : NULL;
  if (over_limit(n, r))
    answer = UL_DEVICE_REFUSED;
  else if (is_preempted(n, r)) {
    n->outcome->preempted = 1;
    return UL_DEVICE_REFUSED;
  } else if (maps && pool && pool->custom)
    n->error = "expandable segments in a pool with an allocator of its own";
  else
    answer = maps ? map_run(n, r, out) : new_segment(n, r, out);
  n->outcome->refusals += answer == UL_DEVICE_REFUSED;
  n->facts.pool_refused |= answer == UL_DEVICE_REFUSED && pool && pool->custom && !over_limit(n, r);
  if (pool && answer == UL_DEVICE_GRANTED)
    pool->driver_allocations++;
  return answer;
}
