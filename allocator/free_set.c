/* SPDX-License-Identifier: MIT */
#include "allocator/free_set.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

enum { CHUNK_ENTRIES = 64 };

struct ul_free_chunk {
  uint32_t count;
  ul_free_entry entries[CHUNK_ENTRIES];
};

static int below(const ul_free_entry *entry, uint64_t bytes, uint64_t tie) {
  return entry->bytes < bytes || (entry->bytes == bytes && entry->tie < tie);
}

/* Index of the first chunk whose last entry is not below the key. */
static size_t find_chunk(const ul_free_set *set, uint64_t bytes, uint64_t tie) {
  size_t low = 0, high = set->chunk_count;

  while (low < high) {
    size_t middle = low + (high - low) / 2;
    const struct ul_free_chunk *chunk = set->chunks[middle];
    if (below(&chunk->entries[chunk->count - 1], bytes, tie))
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static size_t find_entry(const struct ul_free_chunk *chunk, uint64_t bytes, uint64_t tie) {
  size_t low = 0, high = chunk->count;

  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (below(&chunk->entries[middle], bytes, tie))
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static int insert_chunk(ul_free_set *set, size_t at) {
  struct ul_free_chunk *chunk;

  if (!ul_vec_grow((void **)&set->chunks, &set->chunk_capacity, set->chunk_count + 1,
                   sizeof(struct ul_free_chunk *)))
    return 0;
  chunk = malloc(sizeof(*chunk));
  if (!chunk)
    return 0;
  chunk->count = 0;
  memmove(&set->chunks[at + 1], &set->chunks[at],
          (set->chunk_count - at) * sizeof(struct ul_free_chunk *));
  set->chunks[at] = chunk;
  set->chunk_count++;
  return 1;
}

static int split_chunk(ul_free_set *set, size_t at) {
  struct ul_free_chunk *left, *right;

  if (!insert_chunk(set, at + 1))
    return 0;
  left = set->chunks[at];
  right = set->chunks[at + 1];
  right->count = left->count / 2;
  left->count -= right->count;
  memcpy(right->entries, &left->entries[left->count], right->count * sizeof(ul_free_entry));
  return 1;
}

int ul_free_set_insert(ul_free_set *set, ul_free_entry entry) {
  struct ul_free_chunk *chunk;
  size_t c, e;

  if (!set->chunk_count && !insert_chunk(set, 0))
    return 0;
  /* Only the chunk just made for the first entry is empty, and only here. */
  c = set->count ? find_chunk(set, entry.bytes, entry.tie) : 0;
  if (c == set->chunk_count)
    c--;
  if (set->chunks[c]->count == CHUNK_ENTRIES) {
    if (!split_chunk(set, c))
      return 0;
    chunk = set->chunks[c];
    if (below(&chunk->entries[chunk->count - 1], entry.bytes, entry.tie))
      c++;
  }
  chunk = set->chunks[c];
  e = find_entry(chunk, entry.bytes, entry.tie);
  memmove(&chunk->entries[e + 1], &chunk->entries[e], (chunk->count - e) * sizeof(ul_free_entry));
  chunk->entries[e] = entry;
  chunk->count++;
  set->count++;
  return 1;
}

int ul_free_set_remove(ul_free_set *set, uint64_t bytes, uint64_t tie) {
  size_t c = find_chunk(set, bytes, tie), e;
  struct ul_free_chunk *chunk;

  if (c == set->chunk_count)
    return 0;
  chunk = set->chunks[c];
  e = find_entry(chunk, bytes, tie);
  if (chunk->entries[e].bytes != bytes || chunk->entries[e].tie != tie)
    return 0;
  chunk->count--;
  set->count--;
  memmove(&chunk->entries[e], &chunk->entries[e + 1], (chunk->count - e) * sizeof(ul_free_entry));
  if (!chunk->count && set->chunk_count > 1) {
    free(chunk);
    set->chunk_count--;
    memmove(&set->chunks[c], &set->chunks[c + 1],
            (set->chunk_count - c) * sizeof(struct ul_free_chunk *));
  }
  return 1;
}

static const ul_free_entry *entry_at(const ul_free_set *set, ul_free_at at) {
  return &set->chunks[at.chunk]->entries[at.entry];
}

const ul_free_entry *ul_free_set_lower_bound(const ul_free_set *set, uint64_t bytes,
                                             ul_free_at *at) {
  ul_free_at found;

  if (!set->count)
    return NULL;
  found.chunk = find_chunk(set, bytes, 0);
  if (found.chunk == set->chunk_count)
    return NULL;
  found.entry = find_entry(set->chunks[found.chunk], bytes, 0);
  if (at)
    *at = found;
  return entry_at(set, found);
}

const ul_free_entry *ul_free_set_first(const ul_free_set *set, ul_free_at *at) {
  if (!set->count)
    return NULL;
  at->chunk = at->entry = 0;
  return entry_at(set, *at);
}

const ul_free_entry *ul_free_set_last(const ul_free_set *set, ul_free_at *at) {
  if (!set->count)
    return NULL;
  at->chunk = set->chunk_count - 1;
  at->entry = set->chunks[at->chunk]->count - 1u;
  return entry_at(set, *at);
}

const ul_free_entry *ul_free_set_next(const ul_free_set *set, ul_free_at *at) {
  ul_free_at next = {at->chunk, at->entry + 1};

  if (next.entry == set->chunks[next.chunk]->count) {
    next.chunk++;
    next.entry = 0;
  }
  if (next.chunk == set->chunk_count)
    return NULL;
  *at = next;
  return entry_at(set, next);
}

const ul_free_entry *ul_free_set_previous(const ul_free_set *set, ul_free_at *at) {
  if (!at->chunk && !at->entry)
    return NULL;
  if (at->entry) {
    at->entry--;
  } else {
    at->chunk--;
    at->entry = set->chunks[at->chunk]->count - 1u;
  }
  return entry_at(set, *at);
}

void ul_free_set_release(ul_free_set *set) {
  size_t i;

  for (i = 0; i < set->chunk_count; i++)
    free(set->chunks[i]);
  free(set->chunks);
  memset(set, 0, sizeof(*set));
}

int ul_free_set_copy(ul_free_set *to, const ul_free_set *from) {
  size_t i;

  memset(to, 0, sizeof(*to));
  if (!from->chunk_count)
    return 1;
  for (i = 0; i < from->chunk_count; i++) {
    if (!insert_chunk(to, i)) {
      ul_free_set_release(to);
      return 0;
    }
    *to->chunks[i] = *from->chunks[i];
  }
  to->count = from->count;
  return 1;
}
