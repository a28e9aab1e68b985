/* SPDX-License-Identifier: MIT */
/* An ordered set of free blocks of one pool and stream: by size, then by the release's tie. The
 * question asked of it is "the first block at least this large".
 *
 * A sorted list of short sorted chunks: inserting moves at most one chunk, and everything is found
 * by two binary searches. Order is total: no two entries of a set have the same (bytes, tie). */
#ifndef UL_ALLOCATOR_FREE_SET_H
#define UL_ALLOCATOR_FREE_SET_H

#include <stddef.h>
#include <stdint.h>

typedef struct ul_free_entry {
  uint64_t bytes;
  uint64_t tie;
  uint32_t block;
} ul_free_entry;

typedef struct ul_free_set {
  struct ul_free_chunk **chunks; /* none is empty */
  size_t chunk_count, chunk_capacity;
  size_t count;
} ul_free_set;

/* A position; valid until the set changes. */
typedef struct ul_free_at {
  size_t chunk, entry;
} ul_free_at;

/* Returns 0 without memory; the set is then unchanged. */
int ul_free_set_insert(ul_free_set *set, ul_free_entry entry);

/* Removes the entry with this key. Returns 0 if there is none. */
int ul_free_set_remove(ul_free_set *set, uint64_t bytes, uint64_t tie);

/* The first entry not below (bytes, 0), or NULL. *at may be NULL. */
const ul_free_entry *ul_free_set_lower_bound(const ul_free_set *set, uint64_t bytes,
                                             ul_free_at *at);

/* The first and last entry, and the neighbours of *at, which moves; NULL at the ends. */
const ul_free_entry *ul_free_set_first(const ul_free_set *set, ul_free_at *at);
const ul_free_entry *ul_free_set_last(const ul_free_set *set, ul_free_at *at);
const ul_free_entry *ul_free_set_next(const ul_free_set *set, ul_free_at *at);
const ul_free_entry *ul_free_set_previous(const ul_free_set *set, ul_free_at *at);

void ul_free_set_release(ul_free_set *set);

/* Copies *from into *to, which is overwritten. Returns 0 without memory. */
int ul_free_set_copy(ul_free_set *to, const ul_free_set *from);

#endif
