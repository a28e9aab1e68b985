/* SPDX-License-Identifier: MIT */
/* The objects behind blocks where they carry more than a tie: creation numbers in 2.11, where ties
 * are addresses but snapshots tell the numbers, the chains of 2.0's history, and marks of blocks
 * that streams used during captures. Elsewhere nothing is kept here. */
#include <string.h>

#include "allocator/native_fast.h"

/* All blocks have an entry. */
static int reach_all(native *n) {
  const size_t missing = n->blocks.count - n->objects.count;

  if (n->blocks.count <= n->objects.count)
    return 1;
  if (!UL_VEC_RESERVE(&n->objects, missing))
    return 0;
  memset(&n->objects.items[n->objects.count], 0, missing * sizeof(native_object));
  n->objects.count = n->blocks.count;
  return 1;
}

int ul_native_keep_objects(native *n) {
  n->careful |= CAREFUL_OBJECTS;
  return reach_all(n);
}

int ul_native_object_new(native *n, uint32_t block) {
  if (!(n->careful & CAREFUL_OBJECTS))
    return 1;
  if (!reach_all(n))
    return 0;
  n->objects.items[block].number = n->numbers_blocks ? 0 : n->block_number++;
  n->objects.items[block].identity = 0;
  n->objects.items[block].chain = 0;
  return 1;
}

uint32_t ul_native_cut_front(native *n, uint32_t block, uint64_t bytes) {
  const uint32_t rest = ul_native_cut(n, block, bytes);

  if (!rest)
    return 0;
  n->blocks.items[block].requested_bytes = 0;
  if (!(n->careful & CAREFUL_OBJECTS))
    return rest;
  if (!reach_all(n))
    return 0;
  n->objects.items[rest] = n->objects.items[block];
  ul_history_cut(&n->history, &n->objects.items[rest].chain, n->blocks.items[rest].address);
  return ul_native_object_new(n, block) ? rest : 0;
}

uint32_t ul_native_cut_rest(native *n, uint32_t block, uint64_t bytes) {
  const uint32_t rest = ul_native_cut(n, block, bytes);
  uint64_t fresh;

  if (!rest)
    return 0;
  n->blocks.items[rest].requested_bytes = 0;
  if (n->numbers_blocks) {
    fresh = n->blocks.items[block].tie;
    n->blocks.items[block].tie = n->blocks.items[rest].tie;
    n->blocks.items[rest].tie = fresh;
  }
  return ul_native_object_new(n, rest) ? rest : 0;
}

/* The chains in order of address. What is left is under the lower index. */
void ul_native_join_objects(native *n, uint32_t block, uint32_t neighbour) {
  native_object *o = n->objects.items;

  if (!(n->careful & CAREFUL_OBJECTS))
    return;
  ul_waits_forget_object(&n->waits, o[neighbour].identity);
  if (n->blocks.items[block].prev == neighbour) {
    ul_history_join(&n->history, &o[neighbour].chain, o[block].chain);
    o[block].chain = o[neighbour].chain;
    o[neighbour] = o[block];
  } else {
    ul_history_join(&n->history, &o[block].chain, o[neighbour].chain);
  }
}

void ul_native_join_careful(native *n, uint32_t block, struct native_joined *out) {
  const uint32_t prev = n->blocks.items[block].prev, next = n->blocks.items[block].next;

  if (n->careful & CAREFUL_OBJECTS) {
    if (ul_native_is_free(&n->blocks.items[prev]))
      ul_native_join_objects(n, block, prev);
    if (ul_native_is_free(&n->blocks.items[next]))
      ul_native_join_objects(n, block, next);
  }
  n->blocks.items[block].uses = 0;
  *out = ul_native_join_free(n, &n->lanes.items[n->blocks.items[block].lane], block, 1);
  if (n->careful & CAREFUL_OBJECTS)
    n->objects.items[out->block] = n->objects.items[block];
}

void ul_native_drop_object(native *n, uint32_t block) {
  if (!(n->careful & CAREFUL_OBJECTS))
    return;
  ul_history_drop(&n->history, n->objects.items[block].chain);
  ul_waits_forget_object(&n->waits, n->objects.items[block].identity);
}
