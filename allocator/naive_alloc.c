/* SPDX-License-Identifier: MIT */
/* The naive twin serves requests. */
#include "allocator/naive.h"
#include "allocator/sizing.h"
#include "base/units.h"

void ul_naive_reject(ul_outcome *o, const char *reason) {
  o->result = UL_OUTCOME_REJECTED;
  o->reason = reason;
}

/* ---- searching ---- */

static uint64_t reach(const naive *n, naive_place p) {
  const naive_segment *s = ul_naive_segment(n, p);
  const naive_block *b = ul_naive_at(n, p);

  if (p.block + 1 < s->blocks.count && b[1].is == NAIVE_UNMAPPED)
    return b->bytes + b[1].bytes;
  return b->bytes;
}

int ul_naive_find(naive *n, const naive_request *r, naive_place *out) {
  const ul_settings *s = &n->settings;
  naive_places list = ul_naive_free_blocks(n, r->pool, r->stream, r->small);
  uint64_t bytes;
  size_t i = 0;
  int found;

  if (ul_naive_collects(n))
    ul_naive_count_search(n, r);
  while (i < list.count && ul_naive_at(n, list.items[i])->bytes < r->rounded)
    i++;
  if (r->expandable) {
    while (i + 1 < list.count && ul_naive_segment(n, list.items[i])->expandable &&
           reach(n, list.items[i + 1]) < reach(n, list.items[i]))
      i++;
  } else {
    while (i < list.count && ul_naive_segment(n, list.items[i])->expandable)
      i++;
  }
  found = i < list.count;
  if (found) {
    *out = list.items[i];
    bytes = ul_naive_at(n, *out)->bytes;
    if (r->rounded < s->max_split_bytes && bytes >= s->max_split_bytes)
      found = 0;
    if (r->rounded >= s->max_split_bytes && bytes >= r->rounded + s->max_non_split_rounding_bytes)
      found = 0;
  }
  UL_VEC_RELEASE(&list);
  return found;
}

/* ---- handing out ---- */

/* The front of a block becomes a block of its own; what is left is free. */
static void cut_front(naive *n, naive_place p, uint64_t bytes) {
  naive_segment *s = ul_naive_segment(n, p);
  naive_block *front = ul_naive_insert(n, s, p.block), *rest;

  if (n->nomem)
    return;
  rest = front + 1;
  front->address = rest->address;
  front->bytes = bytes;
  rest->address += bytes;
  rest->bytes -= bytes;
  ul_history_cut(&n->history, &rest->chain, rest->address);
  rest->is = NAIVE_FREE;
  ul_naive_enter_free(n, s, rest);
}

void ul_naive_hand_out(naive *n, const naive_request *r, naive_place p, int split,
                       naive_place *out) {
  naive_segment *s = ul_naive_segment(n, p);
  const int was_split = s->blocks.count > 1;
  const uint64_t whole = ul_naive_at(n, p)->bytes;
  naive_block *b;

  if (split)
    cut_front(n, p, r->rounded);
  if (n->nomem)
    return;
  if (!s->expandable && split && was_split) {
    ul_naive_down(n, UL_STAT_INACTIVE_SPLIT_BYTES, s->small, r->rounded);
  } else if (!s->expandable && split) {
    ul_naive_up(n, UL_STAT_INACTIVE_SPLIT, s->small, 1);
    ul_naive_up(n, UL_STAT_INACTIVE_SPLIT_BYTES, s->small, whole - r->rounded);
  } else if (!s->expandable && was_split) {
    ul_naive_down(n, UL_STAT_INACTIVE_SPLIT, s->small, 1);
    ul_naive_down(n, UL_STAT_INACTIVE_SPLIT_BYTES, s->small, whole);
  }
  b = ul_naive_at(n, p);
  if (!n->profile->ages_by_count)
    b->age_base = 0;
  b->is = NAIVE_ALLOCATED;
  b->requested = r->bytes;
  b->key = ++n->next_key;
  b->handle = r->handle;
  b->stack = r->stack;
  if (!ul_history_begin_use(&n->history, &b->chain, b->address, r->rounded, r->bytes))
    n->nomem = 1;
  ul_naive_note(n, UL_ACTION_ALLOC, b->address, r->bytes, s->stream);
  ul_naive_up(n, UL_STAT_ALLOCATION, s->small, 1);
  ul_naive_up(n, UL_STAT_ALLOCATED_BYTES, s->small, b->bytes);
  ul_naive_up(n, UL_STAT_ACTIVE, s->small, 1);
  ul_naive_up(n, UL_STAT_ACTIVE_BYTES, s->small, b->bytes);
  ul_naive_up(n, UL_STAT_REQUESTED_BYTES, s->small, r->bytes);
  if (b->bytes >= n->settings.max_split_bytes)
    ul_stat_increase_one(&n->statistics.singles[UL_STAT_OVERSIZE_ALLOCATIONS], 1);
  *out = p;
}

static int should_split(const naive *n, const naive_request *r, uint64_t bytes) {
  const ul_pool *pool = r->pool ? ul_pools_find(&n->pools, r->pool) : NULL;
  const uint64_t rest = bytes - r->rounded;

  if (pool && pool->no_split)
    return 0;
  if (r->small || r->expandable)
    return rest >= UL_MIN_BLOCK_BYTES;
  return r->rounded < n->settings.max_split_bytes && rest > UL_SMALL_LIMIT_BYTES;
}

/* ---- one request ---- */

/* What the pool has cached, with the request routed to it for a moment: it comes to be if it does
 * not exist, and nobody uses it afterwards. */
static int find_in_pool(naive *n, naive_request *r, naive_place *out) {
  ul_pools_answer answer = ul_pools_begin(&n->pools, r->pool, UL_STREAM_ALL, 0);
  int found = 0;

  if (answer == UL_POOLS_DONE) {
    n->next_number += n->profile->keys_are_numbered;
    found = ul_naive_find(n, r, out);
    answer = ul_pools_end(&n->pools, r->pool, UL_STREAM_ALL, 0);
    if (answer == UL_POOLS_DONE)
      answer = ul_pools_drop(&n->pools, r->pool);
  }
  n->nomem |= answer == UL_POOLS_NOMEM;
  if (answer == UL_POOLS_REFUSED)
    n->error = n->pools.reason;
  return found;
}

/* A pool registered for that serves a request that is not its own, from what it has cached. */
static int find_on_oom(naive *n, naive_request *r, naive_place *out) {
  UL_VEC(uint32_t) pools = {NULL, 0, 0};
  size_t i, at = 0;
  uint32_t id;
  int found = 0;

  if (r->pool)
    return 0;
  while ((id = ul_pools_next_on_oom(&n->pools, &at)) != 0)
    n->nomem |= !UL_VEC_PUSH(&pools, id);
  for (i = 0; !found && !n->error && !n->nomem && i < pools.count; i++) {
    naive_request other = *r;
    other.pool = pools.items[i];
    other.expandable = n->profile->on_oom_expandable && r->expandable;
    found = find_in_pool(n, &other, out);
    if (found)
      *r = other;
  }
  UL_VEC_RELEASE(&pools);
  return found;
}

/* Nothing more can be tried: there is an answer, or an error. */
static int is_over(const naive *n, ul_device_answer answer) {
  return answer != UL_DEVICE_REFUSED || n->outcome->preempted || n->error || n->broken || n->nomem;
}

/* All attempts at memory once the search has failed. */
static ul_device_answer grow(naive *n, naive_request *r, naive_place *out) {
  ul_device_answer answer;

  if (ul_naive_collects(n))
    ul_naive_collect(n);
  answer = ul_naive_ask(n, r, 0, out);
  if (is_over(n, answer))
    return answer;
  if (n->profile->use_on_oom == UL_ON_OOM_FIRST && find_on_oom(n, r, out))
    return UL_DEVICE_GRANTED;
  if (!is_over(n, answer) && ul_naive_release_oversize(n, r))
    answer = ul_naive_ask(n, r, 0, out);
  if (is_over(n, answer))
    return answer;
  if (!ul_pools_suspended(&n->pools)) {
    ul_naive_flush(n, 0, &n->error);
    if (r->pool && !ul_pools_find(&n->pools, r->pool)->exists)
      n->broken = "a request's own pool, which nobody uses, is destroyed while it looks for memory";
    if (n->error || n->broken)
      return UL_DEVICE_REFUSED;
    ul_device_after_flush(&n->device);
    answer = ul_naive_ask(n, r, 1, out);
    if (is_over(n, answer))
      return answer;
  }
  if (n->profile->use_on_oom == UL_ON_OOM_LAST && find_on_oom(n, r, out))
    return UL_DEVICE_GRANTED;
  return UL_DEVICE_REFUSED;
}

static uint64_t private_free_bytes(const naive *n) {
  uint64_t sum = 0;
  size_t i, j;

  for (i = 0; i < n->segments.count; i++) {
    const naive_segment *s = &n->segments.items[i];
    for (j = 0; s->pool && j < s->blocks.count; j++)
      sum += s->blocks.items[j].is == NAIVE_FREE ? s->blocks.items[j].bytes : 0;
  }
  return sum;
}

static void raise_oom(naive *n, const naive_request *r, ul_outcome *o) {
  ul_oom_facts *f = &n->facts;

  o->result = UL_OUTCOME_OOM;
  o->block_bytes = r->rounded;
  o->device_free_bytes = ul_device_free_bytes(&n->device);
  o->limit_bytes = n->limit != UINT64_MAX ? n->limit : n->device.capacity_bytes;
  f->requested_bytes = r->bytes;
  f->segment_bytes = r->segment_bytes;
  f->device_bytes = n->device.capacity_bytes;
  f->property_bytes = n->property_bytes;
  f->free_bytes = o->device_free_bytes;
  f->limit_bytes = n->limit;
  f->allocated_bytes = n->statistics.arrays[UL_STAT_ALLOCATED_BYTES][UL_SLOT_ALL].current;
  f->reserved_bytes = ul_naive_total(n);
  f->private_free_bytes = private_free_bytes(n);
  f->reserve_bytes = ul_reserve_bytes(&n->settings, n->property_bytes);
  f->device = r->device;
  f->expandable = n->settings.expandable;
  f->preempted = o->preempted;
  n->last_was_oom = 1;
  if (o->preempted) {
    n->oom_rejections++;
    return;
  }
  ul_naive_note(n, UL_ACTION_OOM, o->device_free_bytes, r->rounded, r->stream);
  ul_naive_count(n, UL_STAT_NUM_OOMS);
}

/* Whether the pool's own allocator keeps expandable segments away from it. */
static int expandable_for(const naive *n, uint32_t pool) {
  const ul_pool *p = pool ? ul_pools_find(&n->pools, pool) : NULL;

  return n->settings.expandable && !(p && p->custom && n->profile->custom_is_not_expandable);
}

/* The request of an event; 0 and a refusal where there is none to make. */
static int make_request(naive *n, const ul_event *e, naive_request *r, ul_outcome *o) {
  const uint32_t routed = e->pool ? e->pool : ul_pools_route(&n->pools, e->stream);
  const ul_pool *pool;

  if (e->pool && !ul_pools_mention(&n->pools, e->pool)) {
    n->nomem = 1;
    return 0;
  }
  pool = routed ? ul_pools_find(&n->pools, routed) : NULL;
  if (routed && !pool->exists) {
    ul_naive_reject(o, "requests are routed to a pool that was destroyed");
    return 0;
  }
  r->bytes = e->bytes;
  r->rounded = ul_round_request(e->bytes, &n->settings, n->profile);
  r->segment_bytes = ul_segment_size(r->rounded, &n->settings);
  r->handle = e->handle;
  r->stack = e->stack;
  r->pool = routed;
  r->stream = e->stream;
  r->device = e->device;
  r->small = r->rounded <= UL_SMALL_LIMIT_BYTES;
  r->expandable = expandable_for(n, routed);
  o->segment_bytes = r->segment_bytes;
  if (ul_request_wraps(e->bytes, r->rounded)) {
    ul_naive_reject(o, "a size that wraps around when it is rounded up");
    return 0;
  }
  return 1;
}

void ul_naive_alloc(naive *n, const ul_event *e, ul_outcome *o) {
  ul_device_answer answer = UL_DEVICE_GRANTED;
  naive_request r = {0};
  naive_place p;

  if (!e->bytes)
    return; /* a null pointer; PyTorch touches nothing */
  if (e->handle >= UL_EVENT_HANDLES) {
    ul_naive_reject(o, "a handle that is not a serial number");
    return;
  }
  if (ul_naive_find_handle(n, e->handle, &p)) {
    ul_naive_reject(o, "a handle that is already in use");
    return;
  }
  ul_naive_poll(n);
  if (n->nomem || !make_request(n, e, &r, o))
    return;
  n->facts = (ul_oom_facts){0};
  n->next_number += n->profile->keys_are_numbered;
  if (!ul_naive_find(n, &r, &p))
    answer = grow(n, &r, &p);
  if (n->nomem || n->broken || n->error || answer == UL_DEVICE_NOMEM) {
    n->nomem |= answer == UL_DEVICE_NOMEM;
    return;
  }
  if (answer == UL_DEVICE_REFUSED) {
    raise_oom(n, &r, o);
    return;
  }
  ul_naive_hand_out(n, &r, p, should_split(n, &r, ul_naive_at(n, p)->bytes), &p);
  if (n->nomem)
    return;
  o->result = UL_OUTCOME_SERVED;
  o->address = ul_naive_at(n, p)->address;
  o->block_bytes = ul_naive_at(n, p)->bytes;
}

/* ---- at an address ---- */

/* The free block of the request's pool and stream that holds all of it. */
static int find_at(naive *n, const naive_request *r, uint64_t address, naive_place *out) {
  naive_places list = ul_naive_free_blocks(n, r->pool, r->stream, r->small);
  int found = 0;
  size_t i;

  for (i = 0; !found && i < list.count; i++) {
    const naive_block *b = ul_naive_at(n, list.items[i]);
    *out = list.items[i];
    found = b->address <= address && address - b->address < b->bytes &&
            b->bytes - (address - b->address) >= r->rounded;
  }
  UL_VEC_RELEASE(&list);
  return found;
}

/* Only a block that is free already serves. What lies before the address is handed out first, and
 * freed at the end. */
void ul_naive_alloc_at(naive *n, const ul_event *e, ul_outcome *o) {
  naive_request r = {0}, filler;
  uint64_t before;
  naive_place p;

  if (e->time_ns % UL_MIN_BLOCK_BYTES) {
    ul_naive_reject(o, "an address that is no multiple of 512");
    return;
  }
  ul_naive_poll(n);
  if (n->nomem || !make_request(n, e, &r, o))
    return;
  if (!find_at(n, &r, e->time_ns, &p)) {
    ul_naive_reject(o, "no free block holds the bytes at that address");
    return;
  }
  before = e->time_ns - ul_naive_at(n, p)->address;
  if (before) {
    filler = r;
    filler.bytes = filler.rounded = before;
    filler.handle = 0;
    ul_naive_hand_out(n, &filler, p, 1, &p);
    p.block++;
  }
  if (n->nomem)
    return;
  ul_naive_hand_out(n, &r, p, should_split(n, &r, ul_naive_at(n, p)->bytes), &p);
  if (n->nomem)
    return;
  o->result = UL_OUTCOME_SERVED;
  o->address = ul_naive_at(n, p)->address;
  o->block_bytes = ul_naive_at(n, p)->bytes;
  p.block--;
  if (before)
    ul_naive_free(n, p);
}
