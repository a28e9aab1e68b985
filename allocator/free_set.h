/* SPDX-License-Identifier: MIT */
/* An ordered set of free blocks of one pool and stream: by size, then by the release's tie. The
 * question asked of it is "the first block at least this large".
 *
 * The order is split in two. Sizes lead to classes, a class holds the ties of one size. Two
 * indices of sizes:
 * units, in small pools, for sizes that are multiples of 512 bytes up to 2 MiB: a class for each of
 * the 4096 sizes, and bits that say which have blocks;
 * directory, for all others: sorted leaves of up to 64 sizes with a word that says which of them
 * have blocks; a size that runs empty only loses its bit, since programs ask for the same sizes
 * again and again. A direct-mapped cache in front knows where sizes that were asked for before are,
 * or would be, without a search. In front of either, the entry inserted last is held back: it is
 * often the next one to be taken, by a request of the same size or by a merge, and then never
 * enters the index.
 *
 * Order is total: no two entries of a set have the same (bytes, tie). */
#ifndef UL_ALLOCATOR_FREE_SET_H
#define UL_ALLOCATOR_FREE_SET_H

#include <stddef.h>
#include <stdint.h>

#include "allocator/size_class.h"

typedef struct ul_free_entry {
  uint64_t bytes;
  uint64_t tie;
  uint32_t block; /* never 0 */
} ul_free_entry;

/* Larger than any block, and positive where vectors are compared. */
#define UL_FREE_NO_SIZE UINT64_C(0x7f7f7f7f7f7f7f7f)

enum {
  UL_FREE_CACHE = 128,
  UL_FREE_CACHE_SHIFT = 57, /* of 64 bits, those that number the rows */
  UL_FREE_LEAF = 64,
  UL_FREE_GROUP = 8, /* of sizes: compared at once */
  UL_FREE_UNIT = 512,
  UL_FREE_UNITS = 4096,
  UL_FREE_UNITS_BYTES = UL_FREE_UNIT * UL_FREE_UNITS, /* larger ones are in the directory */
};

/* How a set finds sizes. */
typedef enum ul_free_index {
  UL_FREE_DIRECTORY = 0,
  UL_FREE_BY_UNITS = 1,
} ul_free_index;

typedef struct ul_free_units {
  uint64_t summary;                      /* bit per word of occupied */
  uint64_t occupied[UL_FREE_UNITS / 64]; /* bit per class: it has blocks */
  ul_size_class classes[UL_FREE_UNITS];
} ul_free_units;

typedef struct ul_free_leaf {
  uint64_t occupied;    /* bit per size, in their order: it has blocks */
  uint32_t count;       /* of sizes */
  uint32_t generation;  /* changes whenever sizes move */
  uint32_t index;       /* among the leaves */
  uint32_t place_count; /* classes used so far; those of dropped sizes are in free_places */
  uint64_t tops[UL_FREE_LEAF / UL_FREE_GROUP]; /* the last size of each group */
  uint64_t sizes[UL_FREE_LEAF];                /* past the last one UL_FREE_NO_SIZE */
  uint8_t places[UL_FREE_LEAF];                /* of the class of each size: classes do not move */
  ul_size_class classes[UL_FREE_LEAF];
} ul_free_leaf;

/* Where a size is, or would be: the first one of the leaf that is not below it. Holds while the
 * leaf's generation lasts. */
typedef struct ul_free_cached {
  uint64_t bytes; /* 0: unused */
  ul_free_leaf *leaf;
  ul_size_class *class; /* of this very size; NULL: the leaf does not have it */
  uint32_t position, generation;
} ul_free_cached;

typedef struct ul_free_set {
  ul_free_entry held;    /* block 0, bytes 0: none */
  ul_free_units *units;  /* NULL: none yet, or no index by units */
  uint64_t count;        /* entries, the held one included */
  ul_free_cached *cache; /* UL_FREE_CACHE rows of sizes of blocks, as many of sizes asked for */
  ul_free_leaf **leaves;
  uint64_t *tops;     /* the largest size of each leaf; a group past the last UL_FREE_NO_SIZE */
  uint64_t *occupied; /* bit per leaf: it has blocks */
  size_t leaf_count, leaf_capacity;
  uint8_t index; /* ul_free_index */
} ul_free_set;

/* A position; valid until the set changes. */
typedef struct ul_free_at {
  size_t leaf; /* SIZE_MAX: units */
  uint32_t slot;
  ul_tie_at item;
} ul_free_at;

/* An empty set; nothing is allocated before the first entry. Zero bytes are a directory. */
void ul_free_set_init(ul_free_set *set, ul_free_index index);

/* Returns 0 without memory; the set is then unchanged. */
int ul_free_set_insert(ul_free_set *set, ul_free_entry entry);

/* Removes the entry with this key. Returns 0 if there is none. */
int ul_free_set_remove(ul_free_set *set, uint64_t bytes, uint64_t tie);

/* Removes the entry at a position, without a search. */
void ul_free_set_take(ul_free_set *set, ul_free_at at);

/* The first entry that is not below (bytes, 0), the first, the last, and the neighbours of *at,
 * which moves. *at is set only where there is an entry; the entry's block is 0 where there is none.
 * The held entry enters the index first; without memory for that the answer is "none". at may be
 * NULL in the first. */
ul_free_entry ul_free_set_lower_bound(ul_free_set *set, uint64_t bytes, ul_free_at *at);
ul_free_entry ul_free_set_first(ul_free_set *set, ul_free_at *at);
ul_free_entry ul_free_set_last(ul_free_set *set, ul_free_at *at);
ul_free_entry ul_free_set_next(const ul_free_set *set, ul_free_at *at);
ul_free_entry ul_free_set_previous(const ul_free_set *set, ul_free_at *at);

/* From now on the set takes any size. Returns 0 without memory; the set is then unchanged. */
int ul_free_set_use_directory(ul_free_set *set);

void ul_free_set_release(ul_free_set *set);

/* Copies *from into *to, which is overwritten. Returns 0 without memory. */
int ul_free_set_copy(ul_free_set *to, const ul_free_set *from);

#endif
