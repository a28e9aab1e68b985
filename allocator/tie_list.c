/* SPDX-License-Identifier: MIT */
#include "allocator/tie_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

enum { CHUNK_TIES = 64 };

struct ul_tie_chunk {
  uint32_t count;
  ul_tie ties[CHUNK_TIES];
};

/* Index of the first chunk whose last tie is not below. */
static size_t find_chunk(const ul_tie_list *list, uint64_t tie) {
  size_t low = 0, high = list->chunk_count, middle;

  while (low < high) {
    middle = low + (high - low) / 2;
    if (list->chunks[middle]->ties[list->chunks[middle]->count - 1].tie < tie)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static uint32_t find_tie(const struct ul_tie_chunk *chunk, uint64_t tie) {
  uint32_t low = 0, high = chunk->count, middle;

  while (low < high) {
    middle = low + (high - low) / 2;
    if (chunk->ties[middle].tie < tie)
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

int ul_tie_list_insert(ul_tie_list *list, ul_tie tie) {
  const int was_empty = list->chunk_count == 0;
  struct ul_tie_chunk *chunk, *right;
  uint32_t i;
  size_t c;

  if (was_empty && !insert_chunk(list, 0))
    return 0;
  c = was_empty ? 0 : find_chunk(list, tie.tie);
  if (c == list->chunk_count)
    c--;
  chunk = list->chunks[c];
  if (chunk->count == CHUNK_TIES) {
    if (!insert_chunk(list, c + 1))
      return 0;
    right = list->chunks[c + 1];
    right->count = CHUNK_TIES / 2;
    chunk->count -= right->count;
    memcpy(right->ties, &chunk->ties[chunk->count], right->count * sizeof(ul_tie));
    if (chunk->ties[chunk->count - 1].tie < tie.tie)
      chunk = right;
  }
  i = find_tie(chunk, tie.tie);
  memmove(&chunk->ties[i + 1], &chunk->ties[i], (chunk->count - i) * sizeof(ul_tie));
  chunk->ties[i] = tie;
  chunk->count++;
  return 1;
}

int ul_tie_list_remove(ul_tie_list *list, uint64_t tie) {
  const size_t c = find_chunk(list, tie);
  struct ul_tie_chunk *chunk;
  uint32_t i;

  if (c == list->chunk_count)
    return 0;
  chunk = list->chunks[c];
  i = find_tie(chunk, tie);
  if (chunk->ties[i].tie != tie)
    return 0;
  chunk->count--;
  memmove(&chunk->ties[i], &chunk->ties[i + 1], (chunk->count - i) * sizeof(ul_tie));
  if (!chunk->count) {
    free(chunk);
    list->chunk_count--;
    memmove(&list->chunks[c], &list->chunks[c + 1],
            (list->chunk_count - c) * sizeof(struct ul_tie_chunk *));
  }
  return 1;
}

const ul_tie *ul_tie_list_get(const ul_tie_list *list, ul_tie_at at) {
  return &list->chunks[at.chunk]->ties[at.index];
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
