/* SPDX-License-Identifier: MIT */
#include "allocator/hash_order.h"

#include <string.h>

enum { LEAST_LOOKUPS = 4, LEAST_LOG2_SIZE = 2 };

void ul_hash_order_release(ul_hash_order *order) {
  UL_VEC_RELEASE(&order->slots);
  order->keys = 0;
  order->log2_size = 0;
}

int ul_hash_order_copy(ul_hash_order *to, const ul_hash_order *from) {
  *to = *from;
  memset(&to->slots, 0, sizeof(to->slots));
  if (!UL_VEC_RESERVE(&to->slots, from->slots.count))
    return 0;
  to->slots.count = from->slots.count;
  if (from->slots.count)
    memcpy(to->slots.items, from->slots.items, from->slots.count * sizeof(ul_hash_slot));
  return 1;
}

static size_t wanted_slot(const ul_hash_order *order, uint64_t key) {
  return (size_t)((key * UINT64_C(11400714819323198485)) >> (64 - order->log2_size));
}

/* How far from its slot a key may be. */
static int lookups(unsigned log2_size) {
  return log2_size > LEAST_LOOKUPS ? (int)log2_size : LEAST_LOOKUPS;
}

/* The slot of a key, or SIZE_MAX. */
static size_t find(const ul_hash_order *order, uint64_t key) {
  size_t at;
  int distance = 0;

  if (!order->log2_size)
    return SIZE_MAX;
  for (at = wanted_slot(order, key); order->slots.items[at].distance >= distance;
       at++, distance++) {
    if (order->slots.items[at].key == key && at + 1 < order->slots.count)
      return at;
  }
  return SIZE_MAX;
}

static void swap_keys(uint64_t *a, uint64_t *b) {
  const uint64_t key = *a;

  *a = *b;
  *b = key;
}

/* Keys nearer to their slot give way to those farther from it. 0 if the table has to grow first:
 * then *key is the one that found no place. */
static int place(ul_hash_order *order, uint64_t *key) {
  ul_hash_slot *slot, *first;
  int distance = 0, next;

  if (!order->log2_size || (order->keys + 1) * 2 > (size_t)1 << order->log2_size)
    return 0;
  for (slot = order->slots.items + wanted_slot(order, *key); slot->distance >= distance; slot++)
    distance++;
  if (distance == lookups(order->log2_size))
    return 0;
  for (first = slot; slot->distance >= 0; slot++, distance++) {
    if (slot->distance < distance) {
      swap_keys(key, &slot->key);
      next = slot->distance;
      slot->distance = distance;
      distance = next;
    } else if (distance + 1 == lookups(order->log2_size)) {
      swap_keys(key, &first->key);
      return 0;
    }
  }
  slot->key = *key;
  slot->distance = distance;
  order->keys++;
  return 1;
}

/* A table twice as large, with the keys in the order of the old one. */
static int grow(ul_hash_order *order) {
  ul_hash_order larger = {.log2_size = order->log2_size ? order->log2_size + 1 : LEAST_LOG2_SIZE};
  const ul_hash_slot empty = {0, -1}, end = {0, 0};
  const size_t slots = ((size_t)1 << larger.log2_size) + (size_t)lookups(larger.log2_size);
  size_t i;

  if (!UL_VEC_RESERVE(&larger.slots, slots))
    return 0;
  while (larger.slots.count < slots)
    larger.slots.items[larger.slots.count++] = empty;
  larger.slots.items[slots - 1] = end;
  for (i = 0; i + 1 < order->slots.count; i++) {
    if (order->slots.items[i].distance >= 0 &&
        !ul_hash_order_add(&larger, order->slots.items[i].key)) {
      ul_hash_order_release(&larger);
      return 0;
    }
  }
  ul_hash_order_release(order);
  *order = larger;
  return 1;
}

int ul_hash_order_add(ul_hash_order *order, uint64_t key) {
  if (find(order, key) != SIZE_MAX)
    return 1;
  while (!place(order, &key)) {
    if (!grow(order))
      return 0;
  }
  return 1;
}

void ul_hash_order_remove(ul_hash_order *order, uint64_t key) {
  const size_t at = find(order, key);
  ul_hash_slot *slot;

  if (at == SIZE_MAX)
    return;
  slot = &order->slots.items[at];
  for (; slot[1].distance > 0; slot++) {
    slot->key = slot[1].key;
    slot->distance = slot[1].distance - 1;
  }
  slot->distance = -1;
  order->keys--;
}

int ul_hash_order_next(const ul_hash_order *order, size_t *at, uint64_t *key) {
  for (; *at + 1 < order->slots.count; ++*at) {
    if (order->slots.items[*at].distance >= 0) {
      *key = order->slots.items[(*at)++].key;
      return 1;
    }
  }
  return 0;
}
