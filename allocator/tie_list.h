/* SPDX-License-Identifier: MIT */
/* Free blocks of one size in order of tie: a sorted list of short sorted chunks. A hundred thousand
 * equal blocks are rare, but taking one out of their middle must not move all the others. The
 * lowest tie, which is the one that is asked for, is at the end of its chunk: taking it moves
 * nothing. */
#ifndef UL_ALLOCATOR_TIE_LIST_H
#define UL_ALLOCATOR_TIE_LIST_H

#include <stddef.h>
#include <stdint.h>

typedef struct ul_tie {
  uint64_t tie;
  uint32_t block;
} ul_tie;

enum { UL_CHUNK_TIES = 64 };

/* Chunks ascend; the ties in one descend. */
typedef struct ul_tie_chunk {
  uint32_t count;
  uint32_t blocks[UL_CHUNK_TIES];
  uint64_t ties[UL_CHUNK_TIES];
} ul_tie_chunk;

typedef struct ul_tie_list {
  ul_tie_chunk **chunks; /* none is empty, unless it is the only one */
  size_t chunk_count, chunk_capacity;
} ul_tie_list;

/* A position in the list, counted from the lowest tie; valid until it changes. */
typedef struct ul_tie_at {
  uint32_t chunk, index;
} ul_tie_at;

/* Returns 0 without memory; the list is then unchanged. */
int ul_tie_list_insert(ul_tie_list *list, ul_tie tie);

/* Returns 0 if there is no such tie. */
int ul_tie_list_remove(ul_tie_list *list, uint64_t tie);

/* The entry at a position. */
ul_tie ul_tie_list_get(const ul_tie_list *list, ul_tie_at at);

/* The position of the last entry of a list that has some (the first is {0, 0}), and moves, which
 * return 0 at the ends and leave *at as it was. */
ul_tie_at ul_tie_list_last(const ul_tie_list *list);
int ul_tie_list_next(const ul_tie_list *list, ul_tie_at *at);
int ul_tie_list_previous(const ul_tie_list *list, ul_tie_at *at);

/* The lowest tie of a list that has some; and out of the list. */
void ul_tie_list_drop_first_chunk(ul_tie_list *list);

static inline ul_tie ul_tie_list_first(const ul_tie_list *list) {
  const ul_tie_chunk *chunk = list->chunks[0];
  const uint32_t last = chunk->count - 1;
  const ul_tie first = {chunk->ties[last], chunk->blocks[last]};

  return first;
}

static inline ul_tie ul_tie_list_take_first(ul_tie_list *list) {
  ul_tie_chunk *chunk = list->chunks[0];
  const ul_tie first = ul_tie_list_first(list);

  chunk->count--;
  if (!chunk->count && list->chunk_count > 1)
    ul_tie_list_drop_first_chunk(list);
  return first;
}

void ul_tie_list_release(ul_tie_list *list);

#endif
