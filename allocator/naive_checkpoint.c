/* SPDX-License-Identifier: MIT */
/* The naive twin keeps the state of a private pool and brings it back, as graph trees ask for: what
 * the program holds of the pool is freed, every kept block is handed out again, one after the other
 * from the start of its segment, and those that were free are freed. */
#include "allocator/naive.h"

typedef UL_VEC(uint64_t) addresses;

static void add(naive *n, addresses *list, uint64_t address) {
  if (!UL_VEC_PUSH(list, address))
    n->nomem = 1;
}

/* The addresses of segments of the pool, by their first block: first those where it is in use, in
 * the order of a hash table of pointers, here by address; then the free ones, in set order. Where
 * it is unmapped the segment is left out. */
static addresses heads_of(naive *n, uint32_t pool) {
  addresses heads = {NULL, 0, 0};
  uint64_t stream;
  size_t i, k;
  int small;

  for (i = 0; i < n->segments.count; i++) {
    const naive_segment *s = &n->segments.items[i];
    const naive_condition is = s->blocks.items[0].is;
    if (s->pool != pool || (is != NAIVE_ALLOCATED && is != NAIVE_PENDING))
      continue;
    add(n, &heads, s->address);
    for (k = heads.count; k-- > 1 && heads.items[k - 1] > s->address;) {
      heads.items[k] = heads.items[k - 1];
      heads.items[k - 1] = s->address;
    }
  }
  for (small = 1; small >= 0; small--) {
    for (stream = 0; ul_naive_next_stream(n, &stream); stream++) {
      naive_places list = ul_naive_free_blocks(n, pool, (uint32_t)stream, small);
      for (i = 0; i < list.count; i++) {
        if (!list.items[i].block)
          add(n, &heads, ul_naive_segment(n, list.items[i])->address);
      }
      UL_VEC_RELEASE(&list);
    }
  }
  return heads;
}

/* The index of the segment, or the number of segments. */
static size_t segment_at(const naive *n, uint64_t address) {
  size_t i = 0;

  while (i < n->segments.count && n->segments.items[i].address != address)
    i++;
  return i;
}

/* The block that holds address. */
static naive_place block_of(const naive *n, size_t segment, uint64_t address) {
  naive_place p = {segment, 0};

  while (ul_naive_at(n, p)->address + ul_naive_at(n, p)->bytes <= address)
    p.block++;
  return p;
}

/* ---- keeping ---- */

static naive_checkpoint *named(naive *n, uint64_t name) {
  const naive_checkpoint fresh = {.name = name};
  size_t i;

  for (i = 0; i < n->checkpoints.count; i++) {
    if (n->checkpoints.items[i].name == name)
      return &n->checkpoints.items[i];
  }
  if (!UL_VEC_PUSH(&n->checkpoints, fresh)) {
    n->nomem = 1;
    return NULL;
  }
  return &n->checkpoints.items[n->checkpoints.count - 1];
}

static int has_events(const naive *n, const naive_block *b) {
  return b->is == NAIVE_PENDING && ul_waits_has_events(&n->waits, b->key);
}

static int keep_segment(naive *n, naive_checkpoint *c, const naive_segment *s) {
  size_t i;

  for (i = 0; i < s->blocks.count; i++) {
    const naive_block *b = &s->blocks.items[i];
    const naive_kept kept = {.address = b->address,
                             .bytes = b->bytes,
                             .segment = s->address,
                             .handle = b->handle,
                             .stack = b->stack,
                             .allocated = b->is == NAIVE_ALLOCATED};
    if (has_events(n, b))
      return 0;
    if (!UL_VEC_PUSH(&c->blocks, kept))
      n->nomem = 1;
  }
  return 1;
}

void ul_naive_checkpoint(naive *n, const ul_event *e, ul_outcome *o) {
  const ul_pool *pool;
  naive_checkpoint fresh = {.name = e->handle, .pool = e->pool}, *c;
  addresses heads;
  int complete = 1;
  size_t i;

  if (!n->profile->checkpoints) {
    ul_naive_reject(o, "this release keeps no states of pools");
    return;
  }
  if (n->profile->checkpoint_settles) {
    n->nomem |= !ul_waits_settle(&n->waits);
    ul_naive_free_done(n);
  }
  pool = ul_pools_find(&n->pools, e->pool);
  if (!pool || !pool->exists) {
    ul_naive_reject(o, "a checkpoint of a pool that does not exist");
    return;
  }
  heads = heads_of(n, e->pool);
  for (i = 0; complete && i < heads.count; i++)
    complete = keep_segment(n, &fresh, &n->segments.items[segment_at(n, heads.items[i])]);
  UL_VEC_RELEASE(&heads);
  c = complete ? named(n, e->handle) : NULL;
  if (!c) {
    UL_VEC_RELEASE(&fresh.blocks);
    if (!complete)
      ul_naive_reject(o, "a checkpoint of a pool with blocks that wait for other streams");
    return;
  }
  UL_VEC_RELEASE(&c->blocks);
  *c = fresh;
}

/* ---- bringing back ---- */

static const char torn[] = "a pool is brought back that no longer has the memory it had";

/* What the program holds of the pool is freed. */
static void free_pool(naive *n, uint32_t pool) {
  addresses heads = heads_of(n, pool);
  size_t i;

  for (i = 0; !n->nomem && i < heads.count; i++) {
    const size_t index = segment_at(n, heads.items[i]);
    const uint64_t end = heads.items[i] + n->segments.items[index].bytes;
    uint64_t at = heads.items[i];
    while (at < end) {
      naive_place p = block_of(n, index, at);
      if (ul_naive_at(n, p)->is == NAIVE_ALLOCATED) {
        ul_naive_free(n, p);
        p = block_of(n, index, at);
      }
      at = ul_naive_at(n, p)->address + ul_naive_at(n, p)->bytes;
    }
  }
  UL_VEC_RELEASE(&heads);
}

/* The rest of an expandable segment behind what was kept has to be as unmapped as it was. */
static int is_tail(const naive *n, naive_place p) {
  return ul_naive_at(n, p)->is == NAIVE_UNMAPPED &&
         p.block + 1 == ul_naive_segment(n, p)->blocks.count;
}

/* Hands the kept block out at the place, and moves the place behind it. */
static int hand_out(naive *n, naive_place *p, const naive_kept *kept) {
  const naive_segment *s = ul_naive_segment(n, *p);
  const naive_request r = {.bytes = kept->bytes,
                           .rounded = kept->bytes,
                           .handle = kept->handle,
                           .pool = s->pool,
                           .stream = s->stream,
                           .stack = kept->stack,
                           .small = s->small};
  const naive_block *b = ul_naive_at(n, *p);

  if (b->is != NAIVE_FREE || b->address != kept->address || b->bytes < kept->bytes)
    return 0;
  n->next_number += n->profile->keys_are_numbered;
  ul_naive_hand_out(n, &r, *p, b->bytes > kept->bytes, p);
  p->block++;
  return 1;
}

/* count rows of one segment. */
static int restore_segment(naive *n, uint32_t pool, const naive_kept *rows, size_t count) {
  naive_place p = {segment_at(n, rows[0].segment), 0};
  size_t i, last;

  if (p.segment == n->segments.count || n->segments.items[p.segment].pool != pool)
    return 0;
  last = count - (size_t)ul_naive_segment(n, p)->expandable;
  for (i = 0; i < last; i++) {
    if (p.block >= ul_naive_segment(n, p)->blocks.count || !hand_out(n, &p, &rows[i]))
      return 0;
    if (n->nomem)
      return 1;
  }
  if (last < count ? p.block >= ul_naive_segment(n, p)->blocks.count || !is_tail(n, p)
                   : p.block < ul_naive_segment(n, p)->blocks.count)
    return 0;
  for (i = 0; i < last; i++) {
    if (rows[i].allocated)
      continue;
    ul_naive_free(n, block_of(n, p.segment, rows[i].address));
    p = block_of(n, p.segment, rows[i].address);
    if (ul_naive_at(n, p)->address != rows[i].address || ul_naive_at(n, p)->bytes != rows[i].bytes)
      return 0; /* kept while it waited for other streams, beside a free one: they join */
  }
  return 1;
}

void ul_naive_restore(naive *n, const ul_event *e, ul_outcome *o) {
  const naive_checkpoint *c = NULL;
  const ul_pool *pool;
  size_t i, next;

  for (i = 0; i < n->checkpoints.count; i++) {
    if (n->checkpoints.items[i].name == e->handle)
      c = &n->checkpoints.items[i];
  }
  pool = c ? ul_pools_find(&n->pools, c->pool) : NULL;
  if (!c)
    ul_naive_reject(o, "a checkpoint that was never kept");
  else if (!pool->exists || pool->freeable)
    ul_naive_reject(o, "a pool is brought back that nobody uses");
  if (!c || o->result == UL_OUTCOME_REJECTED)
    return;
  free_pool(n, c->pool);
  for (i = 0; !n->nomem && !n->broken && i < c->blocks.count; i = next) {
    for (next = i + 1;
         next < c->blocks.count && c->blocks.items[next].segment == c->blocks.items[i].segment;)
      next++;
    if (!restore_segment(n, c->pool, &c->blocks.items[i], next - i))
      n->broken = torn;
  }
}
