/* SPDX-License-Identifier: MIT */
/* The free set's innermost steps, inline: put one block back, take one that is known, take the best
 * fit. Same set, same order as allocator/free_set.h. */
#ifndef UL_ALLOCATOR_FREE_SET_FAST_H
#define UL_ALLOCATOR_FREE_SET_FAST_H

#ifdef __AVX2__
#include <immintrin.h>
#endif

#include "allocator/free_set.h"

#define UL_INLINE static inline __attribute__((always_inline))

/* A class and the bit that says that it has blocks. By value, so that it stays in registers. */
typedef struct ul_class_ref {
  ul_size_class *class; /* NULL: none */
  ul_free_leaf *leaf;   /* NULL: units */
  uint32_t position;
} ul_class_ref;

/* free_set.c: a size of the directory, added if there is none. NULL without memory. */
ul_class_ref ul_free_set_add_size(ul_free_set *set, uint64_t bytes);
int ul_free_set_make_units(ul_free_set *set);

static const ul_class_ref ul_free_no_class = {NULL, NULL, 0};

/* ---- what is known of sizes ---- */

UL_INLINE uint64_t ul_free_cache_row(uint64_t bytes) {
  return bytes * UINT64_C(0x9e3779b97f4a7c15) >> UL_FREE_CACHE_SHIFT;
}

/* Of a size that blocks have, and of one that requests have: blocks may have sizes that never come
 * again, and must not drive out the others. */
UL_INLINE ul_free_cached *ul_free_class_row(const ul_free_set *set, uint64_t bytes) {
  return &set->cache[ul_free_cache_row(bytes)];
}

UL_INLINE ul_free_cached *ul_free_fit_row(const ul_free_set *set, uint64_t bytes) {
  return &set->cache[UL_FREE_CACHE + ul_free_cache_row(bytes)];
}

UL_INLINE int ul_free_holds(const ul_free_cached *row, uint64_t bytes) {
  return row->bytes == bytes && row->generation == row->leaf->generation;
}

UL_INLINE void ul_free_remember(ul_free_cached *row, uint64_t bytes, ul_free_leaf *leaf,
                                uint32_t position) {
  row->bytes = bytes;
  row->leaf = leaf;
  row->class = leaf->sizes[position] == bytes ? &leaf->classes[leaf->places[position]] : NULL;
  row->position = position;
  row->generation = leaf->generation;
}

/* ---- searches of the directory: no branch depends on a size, for sizes have no pattern ---- */

/* How many of the group are below bytes. */
UL_INLINE uint32_t ul_free_below(const uint64_t *group, uint64_t bytes) {
#ifdef __AVX2__
  const __m256i key = _mm256_set1_epi64x((long long)bytes);
  const __m256i low = _mm256_cmpgt_epi64(key, _mm256_loadu_si256((const __m256i *)group));
  const __m256i high = _mm256_cmpgt_epi64(key, _mm256_loadu_si256((const __m256i *)(group + 4)));
  const int bits = _mm256_movemask_pd(_mm256_castsi256_pd(low)) |
                   _mm256_movemask_pd(_mm256_castsi256_pd(high)) << 4;

  return (uint32_t)__builtin_popcount((unsigned)bits);
#else
  uint32_t i, below = 0;

  for (i = 0; i < UL_FREE_GROUP; i++)
    below += group[i] < bytes;
  return below;
#endif
}

/* Index of the first leaf whose last size is not below bytes. */
UL_INLINE size_t ul_free_find_leaf(const ul_free_set *set, uint64_t bytes) {
  const uint64_t *base = set->tops;
  size_t length = set->leaf_count;

  while (length > UL_FREE_GROUP) {
    const size_t half = length / 2;
    base += half & -(size_t)(base[half - 1] < bytes);
    length -= half;
  }
  return (size_t)(base - set->tops) + ul_free_below(base, bytes);
}

/* Position of the first size that is not below bytes. */
UL_INLINE uint32_t ul_free_find_position(const ul_free_leaf *leaf, uint64_t bytes) {
  const uint32_t group = ul_free_below(leaf->tops, bytes);

  if (group == UL_FREE_LEAF / UL_FREE_GROUP)
    return UL_FREE_LEAF;
  return group * UL_FREE_GROUP + ul_free_below(&leaf->sizes[group * UL_FREE_GROUP], bytes);
}

UL_INLINE ul_class_ref ul_free_ref_to(ul_free_leaf *leaf, uint32_t position) {
  const ul_class_ref ref = {&leaf->classes[leaf->places[position]], leaf, position};

  return ref;
}

/* The first size with blocks from position `from` of leaf `leaf` on. */
static inline ul_class_ref ul_free_used_from(const ul_free_set *set, size_t leaf, uint32_t from) {
  uint64_t bits = 0;
  size_t word;

  if (leaf < set->leaf_count && from < UL_FREE_LEAF)
    bits = set->leaves[leaf]->occupied >> from << from;
  if (!bits) {
    leaf++;
    for (word = leaf / 64; word * 64 < set->leaf_count; word++) {
      bits = set->occupied[word];
      if (word == leaf / 64)
        bits = bits >> leaf % 64 << leaf % 64;
      if (bits)
        break;
    }
    if (!bits)
      return ul_free_no_class;
    leaf = word * 64 + (size_t)__builtin_ctzll(bits);
    bits = set->leaves[leaf]->occupied;
  }
  return ul_free_ref_to(set->leaves[leaf], (uint32_t)__builtin_ctzll(bits));
}

/* A size of the directory; NULL if it does not have it. */
static inline ul_class_ref ul_free_find_size(ul_free_set *set, uint64_t bytes) {
  ul_free_leaf *leaf;
  size_t at;
  uint32_t position;

  if (!set->leaf_count)
    return ul_free_no_class;
  at = ul_free_find_leaf(set, bytes);
  if (at == set->leaf_count)
    return ul_free_no_class;
  leaf = set->leaves[at];
  position = ul_free_find_position(leaf, bytes);
  if (leaf->sizes[position] != bytes)
    return ul_free_no_class;
  ul_free_remember(ul_free_class_row(set, bytes), bytes, leaf, position);
  return ul_free_ref_to(leaf, position);
}

/* The first size of the directory with blocks that is not below bytes. */
static inline ul_class_ref ul_free_fit_size(ul_free_set *set, uint64_t bytes) {
  size_t at;
  uint32_t position;

  if (!set->leaf_count)
    return ul_free_no_class;
  at = ul_free_find_leaf(set, bytes);
  if (at == set->leaf_count)
    return ul_free_no_class;
  position = ul_free_find_position(set->leaves[at], bytes);
  ul_free_remember(ul_free_fit_row(set, bytes), bytes, set->leaves[at], position);
  return ul_free_used_from(set, at, position);
}

/* ---- marks ---- */

UL_INLINE void ul_free_mark_used(ul_free_set *set, ul_class_ref ref) {
  uint64_t *word = ref.leaf ? &ref.leaf->occupied : &set->units->occupied[ref.position / 64];
  const uint64_t before = *word;

  *word = before | UINT64_C(1) << ref.position % 64;
  if (before)
    return;
  if (!ref.leaf)
    set->units->summary |= UINT64_C(1) << ref.position / 64;
  else
    set->occupied[ref.leaf->index / 64] |= UINT64_C(1) << ref.leaf->index % 64;
}

UL_INLINE void ul_free_mark_empty(ul_free_set *set, ul_class_ref ref) {
  uint64_t *word = ref.leaf ? &ref.leaf->occupied : &set->units->occupied[ref.position / 64];
  const uint64_t after = *word & ~(UINT64_C(1) << ref.position % 64);

  *word = after;
  if (after)
    return;
  if (!ref.leaf)
    set->units->summary &= ~(UINT64_C(1) << ref.position / 64);
  else
    set->occupied[ref.leaf->index / 64] &= ~(UINT64_C(1) << ref.leaf->index % 64);
}

UL_INLINE ul_class_ref ul_free_unit_class(ul_free_set *set, uint64_t bytes) {
  const uint32_t position = (uint32_t)(bytes / UL_FREE_UNIT) - 1;
  const ul_class_ref ref = {&set->units->classes[position], NULL, position};

  return ref;
}

UL_INLINE ul_class_ref ul_free_class_of(ul_free_set *set, uint64_t bytes) {
  const ul_free_cached *row;

  if (set->units && bytes <= UL_FREE_UNITS_BYTES)
    return ul_free_unit_class(set, bytes);
  if (!set->cache)
    return ul_free_no_class;
  row = ul_free_class_row(set, bytes);
  if (ul_free_holds(row, bytes))
    return (ul_class_ref){row->class, row->leaf, row->position};
  return ul_free_find_size(set, bytes);
}

/* The class of a size, made if there is none. NULL without memory. */
UL_INLINE ul_class_ref ul_free_make_class(ul_free_set *set, uint64_t bytes) {
  const ul_free_cached *row;

  if (set->units && bytes <= UL_FREE_UNITS_BYTES)
    return ul_free_unit_class(set, bytes);
  if (set->cache) {
    row = ul_free_class_row(set, bytes);
    if (ul_free_holds(row, bytes))
      return (ul_class_ref){row->class, row->leaf, row->position};
  }
  return ul_free_set_add_size(set, bytes);
}

/* Into the index, past the held entry. */
UL_INLINE int ul_free_index_add(ul_free_set *set, ul_free_entry entry) {
  ul_class_ref ref;

  if (set->index == UL_FREE_BY_UNITS && !set->units && !ul_free_set_make_units(set))
    return 0;
  ref = ul_free_make_class(set, entry.bytes);
  if (!ref.class || !ul_size_class_add(ref.class, entry.tie, entry.block))
    return 0;
  if (ref.class->count == 1)
    ul_free_mark_used(set, ref);
  return 1;
}

UL_INLINE int ul_free_index_remove(ul_free_set *set, uint64_t bytes, uint64_t tie) {
  ul_class_ref ref;

  if (set->index == UL_FREE_BY_UNITS && !set->units)
    return 0;
  ref = ul_free_class_of(set, bytes);
  if (!ref.class || !ul_size_class_remove(ref.class, tie))
    return 0;
  if (!ref.class->count)
    ul_free_mark_empty(set, ref);
  return 1;
}

/* Nothing is held: the size says so, too, so that one comparison tells whether the held one fits.
 */
UL_INLINE void ul_free_drop_held(ul_free_set *set) {
  set->held.block = 0;
  set->held.bytes = 0;
}

/* As ul_free_set_insert. */
UL_INLINE int ul_free_put(ul_free_set *set, ul_free_entry entry) {
  const ul_free_entry held = set->held;

  if (held.block && !ul_free_index_add(set, held))
    return 0;
  set->held = entry;
  set->count++;
  return 1;
}

/* Takes out an entry that is in the set. */
UL_INLINE void ul_free_take_known(ul_free_set *set, uint64_t bytes, uint64_t tie, uint32_t block) {
  set->count--;
  if (set->held.block == block)
    ul_free_drop_held(set);
  else
    ul_free_index_remove(set, bytes, tie);
}

/* The first size of the units with blocks that is not below bytes; bytes is one of them. */
UL_INLINE ul_class_ref ul_free_fit_unit(ul_free_units *u, uint64_t bytes) {
  uint32_t at = (uint32_t)(bytes / UL_FREE_UNIT) - 1, word = at / 64;
  uint64_t bits = u->occupied[word] >> at % 64;

  if (bits) {
    at += (uint32_t)__builtin_ctzll(bits);
  } else {
    bits = u->summary >> word >> 1;
    if (!bits)
      return ul_free_no_class;
    word += 1 + (uint32_t)__builtin_ctzll(bits);
    at = word * 64 + (uint32_t)__builtin_ctzll(u->occupied[word]);
  }
  return (ul_class_ref){&u->classes[at], NULL, at};
}

/* The first size of the index with blocks that is not below bytes. */
UL_INLINE ul_class_ref ul_free_fit(ul_free_set *set, uint64_t bytes) {
  const ul_free_cached *row;

  if (set->units && bytes <= UL_FREE_UNITS_BYTES) {
    const ul_class_ref unit = ul_free_fit_unit(set->units, bytes);
    if (unit.class || !set->leaf_count)
      return unit;
    return ul_free_used_from(set, 0, 0); /* all sizes of the directory are larger */
  }
  if (!set->cache)
    return ul_free_no_class;
  row = ul_free_fit_row(set, bytes);
  if (ul_free_holds(row, bytes)) {
    ul_free_leaf *leaf = row->leaf;
    const uint64_t bits = leaf->occupied >> row->position;
    if (bits)
      return ul_free_ref_to(leaf, row->position + (uint32_t)__builtin_ctzll(bits));
  }
  return ul_free_fit_size(set, bytes);
}

/* The first entry that is not below (bytes, 0), taken out; its block is 0 if there is none. bytes
 * is not 0. */
UL_INLINE uint32_t ul_free_take_fit(ul_free_set *set, uint64_t bytes) {
  const ul_class_ref ref = ul_free_fit(set, bytes);
  const ul_free_entry held = set->held;
  ul_tie first;

  if (!ref.class) {
    if (held.bytes < bytes)
      return 0;
    ul_free_drop_held(set);
    set->count--;
    return held.block;
  }
  set->count--;
  if (held.bytes >= bytes && held.bytes <= ref.class->bytes &&
      (held.bytes < ref.class->bytes || held.tie < ul_size_class_first(ref.class).tie)) {
    ul_free_drop_held(set);
    return held.block;
  }
  first = ul_size_class_take_first(ref.class);
  if (!ref.class->count)
    ul_free_mark_empty(set, ref);
  return first.block;
}

#endif
