/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "script/ids.h"

#define MOST_KEPT (UINT64_C(1) << 24)

void ul_script_ids_release(ul_script_ids *ids) {
  size_t i;

  for (i = 0; i < ids->checkpoints.count; i++)
    UL_VEC_RELEASE(&ids->checkpoints.items[i].held);
  UL_VEC_RELEASE(&ids->checkpoints);
  UL_VEC_RELEASE(&ids->slots);
  UL_VEC_RELEASE(&ids->empty);
  ul_idmap_release(&ids->slot_of);
  ids->kept = 0;
}

const ul_script_id *ul_script_ids_find(const ul_script_ids *ids, uint64_t id) {
  const uint32_t slot = ul_idmap_get(&ids->slot_of, id);

  return slot ? &ids->slots.items[slot - 1] : NULL;
}

int ul_script_ids_add(ul_script_ids *ids, uint64_t id, uint32_t device, uint32_t handle) {
  const ul_script_id entry = {id, handle, device};
  uint32_t slot;

  if (!ids->empty.count) {
    const ul_script_id none = {0};
    if (ids->slots.count == UINT32_MAX - 1 || !UL_VEC_PUSH(&ids->slots, none))
      return 0;
    if (!UL_VEC_PUSH(&ids->empty, (uint32_t)ids->slots.count - 1)) {
      ids->slots.count--;
      return 0;
    }
  }
  slot = ids->empty.items[ids->empty.count - 1];
  if (!ul_idmap_set(&ids->slot_of, id, slot + 1))
    return 0;
  ids->empty.count--;
  ids->slots.items[slot] = entry;
  return 1;
}

void ul_script_ids_remove(ul_script_ids *ids, uint64_t id) {
  const uint32_t slot = ul_idmap_remove(&ids->slot_of, id);

  if (!slot)
    return;
  ids->slots.items[slot - 1].handle = 0;
  if (!UL_VEC_PUSH(&ids->empty, slot - 1))
    return; /* a slot less to use again */
}

/* ---- checkpoints ---- */

/* Where number stands, or would. */
static size_t position_of(const ul_script_ids *ids, uint64_t number) {
  size_t low = 0, high = ids->checkpoints.count;

  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (ids->checkpoints.items[middle].number < number)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

const ul_script_checkpoint *ul_script_ids_kept(const ul_script_ids *ids, uint64_t number) {
  const size_t at = position_of(ids, number);

  return at < ids->checkpoints.count && ids->checkpoints.items[at].number == number
             ? &ids->checkpoints.items[at]
             : NULL;
}

static int insert_checkpoint(ul_script_ids *ids, size_t at, uint64_t number) {
  ul_script_checkpoint *items, fresh = {.number = number};

  if (!UL_VEC_RESERVE(&ids->checkpoints, 1))
    return 0;
  items = ids->checkpoints.items;
  memmove(&items[at + 1], &items[at], (ids->checkpoints.count - at) * sizeof(*items));
  items[at] = fresh;
  ids->checkpoints.count++;
  return 1;
}

ul_status ul_script_ids_keep(ul_script_ids *ids, uint64_t number, uint32_t pool, uint32_t device,
                             ul_error *err) {
  const size_t at = position_of(ids, number);
  ul_script_checkpoint *c;
  size_t i;

  if (!ul_script_ids_kept(ids, number) && !insert_checkpoint(ids, at, number))
    return ul_fail_nomem(err, "the checkpoints of the script");
  c = &ids->checkpoints.items[at];
  c->pool = pool;
  c->device = device;
  ids->kept -= c->held.count;
  c->held.count = 0;
  for (i = 0; i < ids->slots.count; i++) {
    if (!ids->slots.items[i].handle || ids->slots.items[i].device != device)
      continue;
    if (!UL_VEC_PUSH(&c->held, ids->slots.items[i]))
      return ul_fail_nomem(err, "the checkpoints of the script");
  }
  ids->kept += c->held.count;
  return ids->kept <= MOST_KEPT
             ? UL_OK
             : ul_fail(err, UL_E_LIMIT, 0,
                       "expected checkpoints of at most %" PRIu64 " allocations in all, found more",
                       MOST_KEPT);
}

/* Sets handle -> 1 for what the program holds. */
static int live_handles(ul_idmap *live, const ul_state *state) {
  uint32_t i;

  for (i = 0; i < state->block_count; i++) {
    const ul_block *b = &state->blocks[i];
    if (b->state == UL_BLOCK_ACTIVE_ALLOCATED && b->handle && !ul_idmap_set(live, b->handle, 1))
      return 0;
  }
  return 1;
}

int ul_script_ids_restore(ul_script_ids *ids, const ul_script_checkpoint *c,
                          const ul_state *state) {
  ul_idmap live = UL_IDMAP_INIT;
  int done = live_handles(&live, state);
  size_t i;

  for (i = 0; done && i < ids->slots.count; i++) {
    const ul_script_id *s = &ids->slots.items[i];
    if (s->handle && s->device == c->device && !ul_idmap_get(&live, s->handle))
      ul_script_ids_remove(ids, s->id);
  }
  for (i = 0; done && i < c->held.count; i++) {
    const ul_script_id *s = &c->held.items[i];
    const ul_script_id *now = ul_script_ids_find(ids, s->id);
    if (!ul_idmap_get(&live, s->handle))
      continue;
    if (now && now->handle == s->handle && now->device == s->device)
      continue;
    ul_script_ids_remove(ids, s->id);
    done = ul_script_ids_add(ids, s->id, s->device, s->handle);
  }
  ul_idmap_release(&live);
  return done;
}
