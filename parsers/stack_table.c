/* SPDX-License-Identifier: MIT */
#include "parsers/stack_table.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"

enum { FIRST_SLOTS = 256 };

void ul_stack_table_release(ul_stack_table *table) {
  UL_VEC_RELEASE(&table->frames);
  UL_VEC_RELEASE(&table->stacks);
  UL_VEC_RELEASE(&table->frames_of_stacks);
  UL_VEC_RELEASE(&table->frame_slots);
  UL_VEC_RELEASE(&table->stack_slots);
}

static uint32_t frame_hash(const ul_frame_record *frame) {
  return (uint32_t)XXH3_64bits(frame, sizeof(*frame));
}

static uint32_t hash_of_frame(const ul_stack_table *table, uint32_t id) {
  return frame_hash(&table->frames.items[id - 1]);
}

static uint32_t hash_of_stack(const ul_stack_table *table, uint32_t id) {
  return table->stacks.items[id - 1].hash;
}

/* Doubles a table of slots and puts ids 1 ... count into it again. */
static ul_status grow_slots(const ul_stack_table *table, ul_heap *heap, uint32_t **slots,
                            size_t *capacity, size_t count,
                            uint32_t (*hash_of)(const ul_stack_table *, uint32_t), ul_error *err) {
  size_t wanted = *capacity ? *capacity * 2 : FIRST_SLOTS, at;
  uint32_t *grown = NULL;
  size_t got = 0;
  uint32_t id;

  if (count + 1 <= *capacity / 4 * 3)
    return UL_OK;
  UL_TRY(ul_heap_grow_to(heap, (void **)&grown, &got, wanted, sizeof(*grown), err));
  memset(grown, 0, wanted * sizeof(*grown));
  for (id = 1; id <= count; id++) {
    at = hash_of(table, id) & (wanted - 1);
    while (grown[at])
      at = (at + 1) & (wanted - 1);
    grown[at] = id;
  }
  ul_heap_give_back(heap, *slots, *capacity * sizeof(*grown));
  *slots = grown;
  *capacity = wanted;
  return UL_OK;
}

ul_status ul_stack_table_add_frame(ul_stack_table *table, ul_heap *heap,
                                   const ul_frame_record *frame, uint32_t *id, ul_error *err) {
  size_t at, mask;

  UL_TRY(grow_slots(table, heap, &table->frame_slots.items, &table->frame_slots.capacity,
                    table->frames.count, hash_of_frame, err));
  mask = table->frame_slots.capacity - 1;
  for (at = frame_hash(frame) & mask; table->frame_slots.items[at]; at = (at + 1) & mask) {
    *id = table->frame_slots.items[at] - 1;
    if (memcmp(&table->frames.items[*id], frame, sizeof(*frame)) == 0)
      return UL_OK;
  }
  if (table->frames.count >= UINT32_MAX >> 4)
    return ul_fail(err, UL_E_LIMIT, 0, "the file holds more than 268 million distinct frames");
  UL_TRY(UL_HEAP_RESERVE(heap, &table->frames, 1, err));
  *id = (uint32_t)table->frames.count;
  table->frames.items[table->frames.count++] = *frame;
  table->frame_slots.items[at] = *id + 1;
  return UL_OK;
}

ul_status ul_stack_table_reserve(ul_stack_table *table, ul_heap *heap, size_t count,
                                 uint32_t **frames, ul_error *err) {
  UL_TRY(UL_HEAP_RESERVE(heap, &table->frames_of_stacks, count, err));
  *frames = count ? table->frames_of_stacks.items + table->frames_of_stacks.count : NULL;
  return UL_OK;
}

ul_status ul_stack_table_add_stack(ul_stack_table *table, ul_heap *heap, size_t count, uint32_t *id,
                                   ul_error *err) {
  const uint32_t *frames;
  const ul_stack_record *known;
  ul_stack_record stack;
  size_t at, mask;

  *id = 0;
  if (!count)
    return UL_OK;
  frames = table->frames_of_stacks.items + table->frames_of_stacks.count;
  UL_TRY(grow_slots(table, heap, &table->stack_slots.items, &table->stack_slots.capacity,
                    table->stacks.count, hash_of_stack, err));
  stack.hash = (uint32_t)XXH3_64bits(frames, count * sizeof(*frames));
  mask = table->stack_slots.capacity - 1;
  for (at = stack.hash & mask; table->stack_slots.items[at]; at = (at + 1) & mask) {
    *id = table->stack_slots.items[at];
    known = &table->stacks.items[*id - 1];
    if (known->hash == stack.hash && known->count == count &&
        memcmp(table->frames_of_stacks.items + known->first, frames, count * sizeof(*frames)) == 0)
      return UL_OK;
  }
  if (table->frames_of_stacks.count > UINT32_MAX - count || table->stacks.count >= UINT32_MAX >> 4)
    return ul_fail(err, UL_E_LIMIT, 0, "the file holds more stacks than can be numbered");
  UL_TRY(UL_HEAP_RESERVE(heap, &table->stacks, 1, err));
  stack.first = (uint32_t)table->frames_of_stacks.count;
  stack.count = (uint32_t)count;
  table->frames_of_stacks.count += count;
  table->stacks.items[table->stacks.count++] = stack;
  *id = (uint32_t)table->stacks.count;
  table->stack_slots.items[at] = *id;
  return UL_OK;
}
