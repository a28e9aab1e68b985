/* SPDX-License-Identifier: MIT */
#include "allocator/tie_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

enum { CHUNK_TIES = 64 };

/* Chunks ascend; the ties in one descend. */
struct ul_tie_chunk {
  uint32_t count;
  ul_tie ties[CHUNK_TIES];
};

/* Index of the first chunk whose highest tie is not below; the number of chunks if there is none.
 */
static size_t find_chunk(const ul_tie_list *list, uint64_t tie) {
  size_t low = 0, high = list->chunk_count, middle;

  while (low < high) {
    middle = low + (high - low) / 2;
    if (list->chunks[middle]->ties[0].tie < tie)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Where a tie is in a chunk, or would be inserted. */
static uint32_t find_tie(const struct ul_tie_chunk *chunk, uint64_t tie) {
  uint32_t low = 0, high = chunk->count, middle;

  if (high && chunk->ties[high - 1].tie > tie)
    return high; /* lower than all: the end of most frees in order of age */
  while (low < high) {
    middle = low + (high - low) / 2;
    if (chunk->ties[middle].tie > tie)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static int insert_chunk(ul_tie_list *list, size_t at) {
  struct ul_tie_chunk *chunk;

  if (!ul_vec_grow((void **)&list->chunks, &list->chunk_capacity, list->chunk_count + 1,
                   sizeof(struct ul_tie_chunk *)))
    return 0;
  chunk = malloc(sizeof(*chunk));
  if (!chunk)
    return 0;
  chunk->count = 0;
  memmove(&list->chunks[at + 1], &list->chunks[at],
          (list->chunk_count - at) * sizeof(struct ul_tie_chunk *));
  list->chunks[at] = chunk;
  list->chunk_count++;
  return 1;
}

static int is_empty(const ul_tie_list *list) {
  return !list->chunk_count || !list->chunks[0]->count;
}

int ul_tie_list_insert(ul_tie_list *list, ul_tie tie) {
  struct ul_tie_chunk *chunk, *higher;
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
  if (chunk->count == CHUNK_TIES) {
    if (!insert_chunk(list, c + 1))
      return 0;
    higher = list->chunks[c + 1];
    higher->count = CHUNK_TIES / 2;
    memcpy(higher->ties, chunk->ties, higher->count * sizeof(ul_tie));
    chunk->count -= higher->count;
    memmove(chunk->ties, &chunk->ties[higher->count], chunk->count * sizeof(ul_tie));
    if (chunk->ties[0].tie < tie.tie)
      chunk = higher;
  }
  i = find_tie(chunk, tie.tie);
  memmove(&chunk->ties[i + 1], &chunk->ties[i], (chunk->count - i) * sizeof(ul_tie));
  chunk->ties[i] = tie;
  chunk->count++;
  return 1;
}

int ul_tie_list_remove(ul_tie_list *list, uint64_t tie) {
  struct ul_tie_chunk *chunk;
  uint32_t i;
  size_t c;

  if (is_empty(list))
    return 0;
  c = find_chunk(list, tie);
  if (c == list->chunk_count)
    return 0;
  chunk = list->chunks[c];
  i = chunk->ties[chunk->count - 1].tie == tie ? chunk->count - 1 : find_tie(chunk, tie);
  if (i == chunk->count || chunk->ties[i].tie != tie)
    return 0;
  chunk->count--;
  memmove(&chunk->ties[i], &chunk->ties[i + 1], (chunk->count - i) * sizeof(ul_tie));
  if (!chunk->count && list->chunk_count > 1) {
    free(chunk);
    list->chunk_count--;
    memmove(&list->chunks[c], &list->chunks[c + 1],
            (list->chunk_count - c) * sizeof(struct ul_tie_chunk *));
  }
  return 1;
}

const ul_tie *ul_tie_list_get(const ul_tie_list *list, ul_tie_at at) {
  const struct ul_tie_chunk *chunk = list->chunks[at.chunk];

  return &chunk->ties[chunk->count - 1 - at.index];
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
