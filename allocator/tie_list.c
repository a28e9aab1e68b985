/* SPDX-License-Identifier: MIT */
#include "allocator/tie_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

/* Index of the first chunk whose highest tie is not below; the number of chunks if there is none.
 */
static size_t find_chunk(const ul_tie_list *list, uint64_t tie) {
  size_t low = 0, high = list->chunk_count, middle;

  while (low < high) {
    middle = low + (high - low) / 2;
    if (list->chunks[middle]->ties[0] < tie)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Where a tie is in a chunk, or would be inserted. No branch: ties have no pattern. */
static uint32_t find_tie(const ul_tie_chunk *chunk, uint64_t tie) {
  const uint64_t *base = chunk->ties;
  uint32_t length = chunk->count;

  if (length && base[length - 1] > tie)
    return length; /* lower than all: the end of most frees in order of age */
  while (length > 1) {
    const uint32_t half = length / 2;
    base += half & -(uint32_t)(base[half - 1] > tie);
    length -= half;
  }
  return (uint32_t)(base - chunk->ties) + (length && *base > tie);
}

static void move_ties(ul_tie_chunk *to, uint32_t at, const ul_tie_chunk *from, uint32_t first,
                      uint32_t count) {
  memmove(&to->ties[at], &from->ties[first], count * sizeof(to->ties[0]));
  memmove(&to->blocks[at], &from->blocks[first], count * sizeof(to->blocks[0]));
}

static int insert_chunk(ul_tie_list *list, size_t at) {
  ul_tie_chunk *chunk;

  if (!ul_vec_grow((void **)&list->chunks, &list->chunk_capacity, list->chunk_count + 1,
                   sizeof(ul_tie_chunk *)))
    return 0;
  chunk = malloc(sizeof(*chunk));
  if (!chunk)
    return 0;
  chunk->count = 0;
  memmove(&list->chunks[at + 1], &list->chunks[at],
          (list->chunk_count - at) * sizeof(ul_tie_chunk *));
  list->chunks[at] = chunk;
  list->chunk_count++;
  return 1;
}

static int is_empty(const ul_tie_list *list) {
  return !list->chunk_count || !list->chunks[0]->count;
}

int ul_tie_list_insert(ul_tie_list *list, ul_tie tie) {
  ul_tie_chunk *chunk, *higher;
  size_t c = 0;
  uint32_t i;

  if (!list->chunk_count && !insert_chunk(list, 0))
    return 0;
  if (!is_empty(list)) {
    c = find_chunk(list, tie.tie);
    if (c == list->chunk_count)
      c--;
  }
  chunk = list->chunks[c];
  if (chunk->count == UL_CHUNK_TIES) {
    if (!insert_chunk(list, c + 1))
      return 0;
    higher = list->chunks[c + 1];
    higher->count = UL_CHUNK_TIES / 2;
    move_ties(higher, 0, chunk, 0, higher->count);
    chunk->count -= higher->count;
    move_ties(chunk, 0, chunk, higher->count, chunk->count);
    if (chunk->ties[0] < tie.tie)
      chunk = higher;
  }
  i = find_tie(chunk, tie.tie);
  if (i < chunk->count)
    move_ties(chunk, i + 1, chunk, i, chunk->count - i);
  chunk->ties[i] = tie.tie;
  chunk->blocks[i] = tie.block;
  chunk->count++;
  return 1;
}

static void drop_chunk(ul_tie_list *list, size_t at) {
  free(list->chunks[at]);
  list->chunk_count--;
  memmove(&list->chunks[at], &list->chunks[at + 1],
          (list->chunk_count - at) * sizeof(ul_tie_chunk *));
}

int ul_tie_list_remove(ul_tie_list *list, uint64_t tie) {
  ul_tie_chunk *chunk;
  uint32_t i;
  size_t c;

  if (is_empty(list))
    return 0;
  c = find_chunk(list, tie);
  if (c == list->chunk_count)
    return 0;
  chunk = list->chunks[c];
  i = chunk->ties[chunk->count - 1] == tie ? chunk->count - 1 : find_tie(chunk, tie);
  if (i == chunk->count || chunk->ties[i] != tie)
    return 0;
  chunk->count--;
  if (i < chunk->count)
    move_ties(chunk, i, chunk, i + 1, chunk->count - i);
  if (!chunk->count && list->chunk_count > 1)
    drop_chunk(list, c);
  return 1;
}

void ul_tie_list_drop_first_chunk(ul_tie_list *list) {
  drop_chunk(list, 0);
}

ul_tie ul_tie_list_get(const ul_tie_list *list, ul_tie_at at) {
  const ul_tie_chunk *chunk = list->chunks[at.chunk];
  const uint32_t i = chunk->count - 1 - at.index;
  const ul_tie tie = {chunk->ties[i], chunk->blocks[i]};

  return tie;
}

ul_tie_at ul_tie_list_last(const ul_tie_list *list) {
  const ul_tie_at last = {(uint32_t)(list->chunk_count - 1),
                          list->chunks[list->chunk_count - 1]->count - 1};

  return last;
}

int ul_tie_list_next(const ul_tie_list *list, ul_tie_at *at) {
  if (at->index + 1 < list->chunks[at->chunk]->count) {
    at->index++;
    return 1;
  }
  if (at->chunk + 1 == list->chunk_count)
    return 0;
  at->chunk++;
  at->index = 0;
  return 1;
}

int ul_tie_list_previous(const ul_tie_list *list, ul_tie_at *at) {
  if (at->index) {
    at->index--;
    return 1;
  }
  if (!at->chunk)
    return 0;
  at->chunk--;
  at->index = list->chunks[at->chunk]->count - 1;
  return 1;
}

void ul_tie_list_release(ul_tie_list *list) {
  size_t i;

  for (i = 0; i < list->chunk_count; i++)
    free(list->chunks[i]);
  free(list->chunks);
  memset(list, 0, sizeof(*list));
}
