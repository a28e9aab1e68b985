/* SPDX-License-Identifier: MIT */
/* The order in which the real library's hash tables list their keys. It keeps private pools in
 * tables of the kind of ska::flat_hash_map with Fibonacci hashing, and walks them: which pool's
 * memory a flush gives back first, which pool is tried first when memory runs out. The order
 * follows from the keys, nearly; where two keys want one slot, and after growth, from history, too.
 * So this is such a table: slots, distances from the wanted slot, and growth, as there. */
#ifndef UL_ALLOCATOR_HASH_ORDER_H
#define UL_ALLOCATOR_HASH_ORDER_H

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

typedef struct ul_hash_slot {
  uint64_t key;
  int distance; /* from the slot that the key wants; -1: empty */
} ul_hash_slot;

typedef struct ul_hash_order {
  UL_VEC(ul_hash_slot) slots; /* the table, and room behind it that is never wanted */
  size_t keys;
  unsigned log2_size; /* of the table; 0: none yet */
} ul_hash_order;

/* A table of zeros is empty. */
void ul_hash_order_release(ul_hash_order *order);
/* Copies *from into *to, which is overwritten. Returns 0 without memory. */
int ul_hash_order_copy(ul_hash_order *to, const ul_hash_order *from);

/* Adds a key, unless it is there. Returns 0 without memory. */
int ul_hash_order_add(ul_hash_order *order, uint64_t key);
void ul_hash_order_remove(ul_hash_order *order, uint64_t key);

/* The next key from *at on (0 at first), which moves past it; 0 if there is none. */
int ul_hash_order_next(const ul_hash_order *order, size_t *at, uint64_t *key);

#endif
