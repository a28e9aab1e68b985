/* SPDX-License-Identifier: MIT */
/* The state of a private pool is kept and brought back, as graph trees ask for: what the program
 * holds of the pool is freed, every kept block is handed out again, one after the other from the
 * start of its segment, and those that were free are freed. */
#include "allocator/native_fast.h"

/* Appends the segments of the pool to native.scratch: first those where the first block is in use,
 * in the order of a hash table of pointers, here by address; then those where it is free, in set
 * order. Where it is unmapped the segment is left out. */
static int list_segments(native *n, uint32_t pool) {
  const uint32_t index = ul_native_pool_of(n, pool);
  size_t i, k;
  int small;

  n->scratch.count = 0;
  for (i = 1; index && i < n->segments.count; i++) {
    const native_segment *s = &n->segments.items[i];
    if (!s->alive || n->lanes.items[s->lane].pool_id != pool ||
        !(n->blocks.items[s->first_block].flags & (BLOCK_ALLOCATED | BLOCK_PENDING)))
      continue;
    if (!UL_VEC_PUSH(&n->scratch, 0))
      return 0;
    for (k = n->scratch.count - 1;
         k && n->segments.items[n->scratch.items[k - 1]].address > s->address; k--)
      n->scratch.items[k] = n->scratch.items[k - 1];
    n->scratch.items[k] = (uint32_t)i;
  }
  for (small = 1; index && small >= 0; small--) {
    const native_pool *p = &n->pools.items[index - 1];
    for (i = 0; i < p->lanes[small].count; i++) {
      ul_free_set *set = &n->lanes.items[p->lanes[small].items[i]].free;
      ul_free_entry entry;
      ul_free_at at;
      for (entry = ul_free_set_first(set, &at); entry.block; entry = ul_free_set_next(set, &at)) {
        const native_block *b = &n->blocks.items[entry.block];
        if (!b->prev && !UL_VEC_PUSH(&n->scratch, b->segment))
          return 0;
      }
    }
  }
  return index != 0;
}

/* ---- keeping ---- */

static native_checkpoint *named(native *n, uint64_t name) {
  const native_checkpoint fresh = {.name = name};
  size_t i;

  for (i = 0; i < n->checkpoints.count; i++) {
    if (n->checkpoints.items[i].name == name)
      return &n->checkpoints.items[i];
  }
  return UL_VEC_PUSH(&n->checkpoints, fresh) ? &n->checkpoints.items[n->checkpoints.count - 1]
                                             : NULL;
}

/* *complete is 0 where a block has events: then there is no checkpoint. */
static int keep_segment(const native *n, native_checkpoint *c, const native_segment *s,
                        int *complete) {
  uint32_t block;

  for (block = s->first_block; block; block = n->blocks.items[block].next) {
    const native_block *b = &n->blocks.items[block];
    const native_kept kept = {.address = b->address,
                              .bytes = b->bytes,
                              .segment = s->address,
                              .handle = b->handle,
                              .stack = b->stack,
                              .allocated = (b->flags & BLOCK_ALLOCATED) != 0};
    if (b->flags & BLOCK_PENDING && ul_waits_has_events(&n->waits, ul_native_key(n, block)))
      *complete = 0;
    if (!*complete)
      return 1;
    if (!UL_VEC_PUSH(&c->blocks, kept))
      return 0;
  }
  return 1;
}

static int keep_pool(native *n, native_checkpoint *c, int *complete) {
  size_t i;

  *complete = 1;
  if (!list_segments(n, c->pool))
    return 0;
  for (i = 0; *complete && i < n->scratch.count; i++) {
    if (!keep_segment(n, c, &n->segments.items[n->scratch.items[i]], complete))
      return 0;
  }
  return 1;
}

int ul_native_checkpoint(native *n, const ul_event *event, ul_outcome *outcome) {
  native_checkpoint fresh = {.name = event->handle, .pool = event->pool}, *c = NULL;
  const ul_pool *pool;
  int complete, done;

  if (!n->profile->checkpoints) {
    ul_native_reject(outcome, "this release keeps no states of pools");
    return 1;
  }
  if (n->profile->checkpoint_settles && (!ul_waits_settle(&n->waits) || !ul_native_free_done(n)))
    return 0;
  pool = ul_pools_find(&n->registry, event->pool);
  if (!pool || !pool->exists) {
    ul_native_reject(outcome, "a checkpoint of a pool that does not exist");
    return 1;
  }
  done = keep_pool(n, &fresh, &complete);
  if (done && complete) {
    c = named(n, event->handle);
    done = c != NULL;
  } else if (done) {
    ul_native_reject(outcome, "a checkpoint of a pool with blocks that wait for other streams");
  }
  if (!c) {
    UL_VEC_RELEASE(&fresh.blocks);
    return done;
  }
  UL_VEC_RELEASE(&c->blocks);
  *c = fresh;
  return 1;
}

/* ---- bringing back ---- */

/* What the program holds of the pool is freed. Segments neither come nor go meanwhile. */
static int free_pool(native *n, uint32_t pool) {
  size_t i;
  uint32_t block, next;

  if (!list_segments(n, pool))
    return 0;
  for (i = 0; i < n->scratch.count; i++) {
    for (block = n->segments.items[n->scratch.items[i]].first_block; block; block = next) {
      const native_block *b = &n->blocks.items[block];
      const uint32_t prev = ul_native_is_free(&n->blocks.items[b->prev]) ? b->prev : block;
      if (b->flags & BLOCK_ALLOCATED) {
        if (!ul_native_free(n, block))
          return 0;
        block = prev; /* where it is now, if it is free */
      }
      next = n->blocks.items[block].next;
    }
  }
  return 1;
}

/* Its first block; 0 if it is gone, or another pool's by now. */
static uint32_t segment_at(const native *n, uint32_t pool, uint64_t address) {
  size_t i;

  for (i = 1; i < n->segments.count; i++) {
    const native_segment *s = &n->segments.items[i];
    if (s->alive && s->address == address && n->lanes.items[s->lane].pool_id == pool)
      return s->first_block;
  }
  return 0;
}

/* Hands the kept block out of this one; 0 where that cannot be, or without memory. */
static int hand_out(native *n, uint32_t block, const native_kept *kept, int *torn) {
  const native_block *b = &n->blocks.items[block];
  const native_lane *lane = &n->lanes.items[b->lane];
  const native_request r = {.bytes = kept->bytes,
                            .rounded = kept->bytes,
                            .handle = kept->handle,
                            .pool = lane->pool_id,
                            .stream = lane->stream,
                            .stack = kept->stack,
                            .lane = b->lane,
                            .small = lane->small};

  if (!block || !ul_native_is_free(b) || b->address != kept->address || b->bytes < kept->bytes) {
    *torn = 1;
    return 1;
  }
  n->block_number += n->profile->keys_are_numbered;
  ul_native_take_free(n, block);
  return ul_native_hand_out(n, &r, block, n->blocks.items[block].bytes > kept->bytes);
}

/* Frees what was free when it was kept; the blocks stand one behind the other from first on. Torn
 * where two join: one of them was kept while it waited for other streams. */
static int free_again(native *n, uint32_t first, const native_kept *rows, size_t count, int *torn) {
  uint32_t block = first, next, prev;
  size_t i;

  for (i = 0; !*torn && i < count; i++, block = next) {
    while (n->blocks.items[block].address + n->blocks.items[block].bytes <= rows[i].address)
      block = n->blocks.items[block].next;
    prev = n->blocks.items[block].prev;
    next = ul_native_is_free(&n->blocks.items[prev]) ? prev : block;
    if (rows[i].allocated)
      next = block;
    else if (!ul_native_free(n, block))
      return 0;
    *torn = n->blocks.items[next].address != rows[i].address ||
            n->blocks.items[next].bytes != rows[i].bytes;
  }
  return 1;
}

/* count rows of one segment; the last one of a range is what was unmapped behind the others. */
static int restore_segment(native *n, uint32_t pool, const native_kept *rows, size_t count,
                           int *torn) {
  const uint32_t first = segment_at(n, pool, rows[0].segment);
  const int is_range = first && n->blocks.items[first].flags & BLOCK_EXPANDABLE;
  const size_t last = count - (size_t)is_range;
  uint32_t block = first;
  size_t i;

  *torn = !first;
  for (i = 0; !*torn && i < last; i++) {
    if (!hand_out(n, block, &rows[i], torn))
      return 0;
    block = n->blocks.items[block].next;
  }
  if (*torn)
    return 1;
  *torn = is_range ? !(n->blocks.items[block].flags & BLOCK_UNMAPPED) || n->blocks.items[block].next
                   : block != 0;
  return *torn || free_again(n, first, rows, last, torn);
}

static int restore_pool(native *n, const native_checkpoint *c) {
  size_t i, next;
  int torn = 0;

  if (!free_pool(n, c->pool))
    return 0;
  for (i = 0; !torn && i < c->blocks.count; i = next) {
    for (next = i + 1;
         next < c->blocks.count && c->blocks.items[next].segment == c->blocks.items[i].segment;)
      next++;
    if (!restore_segment(n, c->pool, &c->blocks.items[i], next - i, &torn))
      return 0;
  }
  if (torn)
    n->broken = "a pool is brought back that no longer has the memory it had";
  return 1;
}

int ul_native_restore(native *n, const ul_event *event, ul_outcome *outcome) {
  const native_checkpoint *c = NULL;
  const ul_pool *pool;
  size_t i;

  for (i = 0; i < n->checkpoints.count; i++) {
    if (n->checkpoints.items[i].name == event->handle)
      c = &n->checkpoints.items[i];
  }
  pool = c ? ul_pools_find(&n->registry, c->pool) : NULL;
  if (c && pool->exists && !pool->freeable)
    return restore_pool(n, c);
  ul_native_reject(outcome, c ? "a pool is brought back that nobody uses"
                              : "a checkpoint that was never kept");
  return 1;
}
