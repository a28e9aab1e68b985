/* SPDX-License-Identifier: MIT */
/* How blocks become free: at once, or when other streams are done with them (allocator-spec 4). */
#include "allocator/native_fast.h"

/* Keys of blocks that no event names start here. */
#define NAMELESS_KEYS (UINT64_C(1) << 32)

/* A handle is the block's own until it is free. */
uint64_t ul_native_key(const native *n, uint32_t block) {
  const uint32_t handle = n->blocks.items[block].handle;

  return handle ? handle : NAMELESS_KEYS + block;
}

static uint32_t block_of_key(const native *n, uint64_t key) {
  return key < NAMELESS_KEYS ? n->block_of.items[key] : (uint32_t)(key - NAMELESS_KEYS);
}

/* What the program asked for, as far as the block can hold it: recorded states may contradict. */
uint64_t ul_native_live_request(const native_block *b) {
  return b->requested_bytes < b->bytes ? b->requested_bytes : b->bytes;
}

uint64_t ul_native_live_rounded(const native *n, const native_block *b) {
  const uint64_t rounded = ul_round_request(ul_native_live_request(b), &n->settings, n->profile);
  return rounded < b->bytes ? rounded : b->bytes;
}

/* ---- waiting ---- */

/* Where active may be larger than ever before: it peaks when memory is handed out. */
void ul_native_note_active_peak(native *n, int slot) {
  const int slots[] = {UL_SLOT_ALL, slot};
  int i;

  for (i = 0; i < 2; i++) {
    native_waiting *w = &n->waiting[slots[i]];
    native_tally t;
    ul_native_tally_of(n, slots[i], &t);
    if ((uint64_t)t.current[0] + w->count > w->peak_count)
      w->peak_count = (uint64_t)t.current[0] + w->count;
    if ((uint64_t)t.current[1] + w->bytes > w->peak_bytes)
      w->peak_bytes = (uint64_t)t.current[1] + w->bytes;
  }
}

void ul_native_count_waiting(native *n, uint32_t block) {
  native_block *b = &n->blocks.items[block];
  const int slots[] = {UL_SLOT_ALL, ul_native_slot(b)};
  int i;

  b->flags = (uint16_t)((b->flags & BLOCK_OF_SEGMENT) | BLOCK_PENDING);
  for (i = 0; i < 2; i++) {
    n->waiting[slots[i]].count++;
    n->waiting[slots[i]].bytes += b->bytes;
  }
  ul_native_note_active_peak(n, slots[1]);
  n->waiting_requested += ul_native_live_request(b);
  n->careful |= CAREFUL_WAITING;
}

static void count_waited(native *n, const native_block *b) {
  const int slots[] = {UL_SLOT_ALL, ul_native_slot(b)};
  int i;

  for (i = 0; i < 2; i++) {
    n->waiting[slots[i]].count--;
    n->waiting[slots[i]].bytes -= b->bytes;
  }
  n->waiting_requested -= ul_native_live_request(b);
  if (!n->waiting[UL_SLOT_ALL].count)
    n->careful &= ~(uint32_t)CAREFUL_WAITING;
}

/* ---- becoming free ---- */

/* held: bytes that are allocated until now, for a free that did not wait. */
static int join_and_count(native *n, uint32_t block, int64_t count, int64_t held) {
  const native_block b = n->blocks.items[block];
  const int slot = ul_native_slot(&b);
  native_joined joined;

  if (!ul_native_note_end(n, UL_ACTION_FREE_COMPLETED, block))
    return 0;
  if (b.handle)
    n->block_of.items[b.handle] = 0;
  if (b.requested_bytes > b.bytes)
    n->excess_requested -= b.requested_bytes - b.bytes;
  ul_native_join_careful(n, block, &joined);
  ul_native_count(n, slot, -count, -held, joined.split_count, joined.split_bytes);
  ul_native_count_released(n, slot, b.requested_bytes);
  return ul_native_put_free(n, joined.block);
}

/* The end of a free that waited. */
static int free_waited(native *n, uint32_t block) {
  count_waited(n, &n->blocks.items[block]);
  return join_and_count(n, block, 0, 0);
}

static int begin_to_wait(native *n, uint32_t block) {
  const uint32_t pool = n->lanes.items[n->blocks.items[block].lane].pool_id;
  const int kept = (n->careful & CAREFUL_OBJECTS) != 0;
  const uint64_t before = kept ? n->objects.items[block].identity : 0;
  uint64_t object = before;

  if (!ul_waits_free(&n->waits, ul_native_key(n, block), &object, pool,
                     ul_pools_suspended(&n->registry)))
    return 0;
  if (object == before)
    return 1;
  if (!ul_native_keep_objects(n))
    return 0;
  n->objects.items[block].identity = object;
  return 1;
}

int ul_native_free(native *n, uint32_t block) {
  const native_block b = n->blocks.items[block];

  if (!ul_native_note_end(n, UL_ACTION_FREE_REQUESTED, block))
    return 0;
  if (b.bytes >= n->settings.max_split_bytes)
    ul_stat_decrease_one(&n->statistics.singles[UL_STAT_OVERSIZE_ALLOCATIONS], 1);
  ul_native_drop_tail(n, &b);
  if (!b.uses)
    return join_and_count(n, block, 1, (int64_t)b.bytes);
  ul_native_count(n, ul_native_slot(&b), -1, -(int64_t)b.bytes, 0, 0);
  ul_native_count_waiting(n, block);
  return begin_to_wait(n, block);
}

int ul_native_complete(native *n, uint32_t block) {
  ul_waits_complete(&n->waits, ul_native_key(n, block));
  return free_waited(n, block);
}

int ul_native_free_done(native *n) {
  size_t i;

  for (i = 0; i < n->waits.done.count; i++) {
    if (!free_waited(n, block_of_key(n, n->waits.done.items[i])))
      return 0;
  }
  return 1;
}

int ul_native_poll(native *n) {
  if (!ul_waits_ready(&n->waits) || ul_pools_suspended(&n->registry))
    return 1;
  return ul_waits_poll(&n->waits) && ul_native_free_done(n);
}
