/* SPDX-License-Identifier: MIT */
/* The naive twin's blocks become free: at once, or when other streams are done with them. */
#include "allocator/naive.h"

/* What a free changes in the figures of blocks that are free but split, as one sum. */
static void count_net(naive *n, const naive_segment *s, int64_t count, int64_t bytes) {
  if (count > 0)
    ul_naive_up(n, UL_STAT_INACTIVE_SPLIT, s->small, (uint64_t)count);
  else if (count < 0)
    ul_naive_down(n, UL_STAT_INACTIVE_SPLIT, s->small, (uint64_t)-count);
  if (bytes > 0)
    ul_naive_up(n, UL_STAT_INACTIVE_SPLIT_BYTES, s->small, (uint64_t)bytes);
  else if (bytes < 0)
    ul_naive_down(n, UL_STAT_INACTIVE_SPLIT_BYTES, s->small, (uint64_t)-bytes);
}

void ul_naive_free_block(naive *n, naive_place p) {
  naive_segment *s = ul_naive_segment(n, p);
  naive_block *b = ul_naive_at(n, p);
  const uint64_t bytes = b->bytes, requested = b->requested;
  const size_t blocks = s->blocks.count;
  int64_t net_count, net_bytes;

  ul_naive_note_end(n, UL_ACTION_FREE_COMPLETED, s, b);
  b->is = NAIVE_FREE;
  b->key = 0;
  b->handle = 0;
  b->stack = 0;
  b = &s->blocks.items[ul_naive_merge(n, s, p.block)];
  ul_naive_enter_free(n, s, b);
  net_count = -(int64_t)(blocks - s->blocks.count);
  net_bytes = -(int64_t)(b->bytes - bytes);
  if (s->blocks.count > 1) {
    net_count++;
    net_bytes += (int64_t)b->bytes;
  }
  if (!s->expandable)
    count_net(n, s, net_count, net_bytes);
  ul_naive_down(n, UL_STAT_ACTIVE, s->small, 1);
  ul_naive_down(n, UL_STAT_ACTIVE_BYTES, s->small, bytes);
  ul_naive_down(n, UL_STAT_REQUESTED_BYTES, s->small, requested);
}

void ul_naive_free(naive *n, naive_place p) {
  const naive_segment *s = ul_naive_segment(n, p);
  naive_block *b = ul_naive_at(n, p);
  uint64_t object = b->number + 1;

  ul_naive_down(n, UL_STAT_ALLOCATION, s->small, 1);
  ul_naive_down(n, UL_STAT_ALLOCATED_BYTES, s->small, b->bytes);
  ul_naive_note_end(n, UL_ACTION_FREE_REQUESTED, s, b);
  if (b->bytes >= n->settings.max_split_bytes)
    ul_stat_decrease_one(&n->statistics.singles[UL_STAT_OVERSIZE_ALLOCATIONS], 1);
  if (!ul_waits_has(&n->waits, b->key)) {
    ul_naive_free_block(n, p);
    return;
  }
  b->is = NAIVE_PENDING;
  if (!ul_waits_free(&n->waits, b->key, &object, s->pool, ul_pools_suspended(&n->pools)))
    n->nomem = 1;
}

void ul_naive_free_done(naive *n) {
  naive_place p;
  size_t i;

  for (i = 0; !n->nomem && i < n->waits.done.count; i++) {
    if (ul_naive_find_key(n, n->waits.done.items[i], &p))
      ul_naive_free_block(n, p);
  }
}

void ul_naive_poll(naive *n) {
  if (ul_pools_suspended(&n->pools))
    return;
  if (!ul_waits_poll(&n->waits))
    n->nomem = 1;
  ul_naive_free_done(n);
}
