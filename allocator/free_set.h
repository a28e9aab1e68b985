/* SPDX-License-Identifier: MIT */
/* An ordered set of free blocks of one pool and stream: by size, then by the release's tie. The
 * question asked of it is "the first block at least this large".
 *
 * The order is split in two. Sizes: sorted leaves of up to 64 sizes with a word that says which of
 * them are occupied; a size that runs empty only loses its bit, since programs ask for the same
 * sizes again and again. Ties: a short sorted list for each size. A direct-mapped cache in front
 * finds a size that was used before without a search.
 *
 * Order is total: no two entries of a set have the same (bytes, tie). */
#ifndef UL_ALLOCATOR_FREE_SET_H
#define UL_ALLOCATOR_FREE_SET_H

#include <stddef.h>
#include <stdint.h>

#include "allocator/tie_list.h"

typedef struct ul_free_entry {
  uint64_t bytes;
  uint64_t tie;
  uint32_t block; /* never 0 */
} ul_free_entry;

enum { UL_FREE_CACHE = 128 };

typedef struct ul_free_cached {
  uint64_t bytes;
  uint32_t leaf, slot;
} ul_free_cached;

typedef struct ul_free_set {
  struct ul_free_leaf **leaves; /* none is without sizes */
  size_t leaf_count, leaf_capacity;
  size_t count;          /* entries */
  ul_free_cached *cache; /* UL_FREE_CACHE rows; bytes 0: unused. Emptied whenever sizes move */
} ul_free_set;

/* A position; valid until the set changes. */
typedef struct ul_free_at {
  size_t leaf;
  uint32_t slot;
  ul_tie_at item;
} ul_free_at;

/* Returns 0 without memory; the set is then unchanged. */
int ul_free_set_insert(ul_free_set *set, ul_free_entry entry);

/* Removes the entry with this key. Returns 0 if there is none. */
int ul_free_set_remove(ul_free_set *set, uint64_t bytes, uint64_t tie);

/* Removes the entry at a position, without a search. */
void ul_free_set_take(ul_free_set *set, ul_free_at at);

/* The first entry that is not below (bytes, 0), the first, the last, and the neighbours of *at,
 * which moves. *out is the entry; its block is 0 where there is none. at may be NULL in the first.
 */
ul_free_entry ul_free_set_lower_bound(ul_free_set *set, uint64_t bytes, ul_free_at *at);
ul_free_entry ul_free_set_first(const ul_free_set *set, ul_free_at *at);
ul_free_entry ul_free_set_last(const ul_free_set *set, ul_free_at *at);
ul_free_entry ul_free_set_next(const ul_free_set *set, ul_free_at *at);
ul_free_entry ul_free_set_previous(const ul_free_set *set, ul_free_at *at);

void ul_free_set_release(ul_free_set *set);

/* Copies *from into *to, which is overwritten. Returns 0 without memory. */
int ul_free_set_copy(ul_free_set *to, const ul_free_set *from);

#endif
