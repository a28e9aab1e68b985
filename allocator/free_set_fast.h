/* SPDX-License-Identifier: MIT */
/* The free set's innermost steps, inline: put one block back, take one that is known, take the best
 * fit. Same set, same order as allocator/free_set.h. */
#ifndef UL_ALLOCATOR_FREE_SET_FAST_H
#define UL_ALLOCATOR_FREE_SET_FAST_H

#include "allocator/free_set.h"

#define UL_INLINE static inline __attribute__((always_inline))

/* A class and the bit that says that it has blocks. */
typedef struct ul_class_ref {
  ul_size_class *class;
  ul_free_leaf *leaf; /* NULL: units */
  uint32_t position;
} ul_class_ref;

/* free_set.c: a size of the directory; 0 if it never had it (find) or without memory (add). */
int ul_free_set_find_size(ul_free_set *set, uint64_t bytes, ul_class_ref *ref);
int ul_free_set_add_size(ul_free_set *set, uint64_t bytes, ul_class_ref *ref);
/* The first size of the directory with blocks that is not below bytes. */
int ul_free_set_fit_size(ul_free_set *set, uint64_t bytes, ul_class_ref *ref);
int ul_free_set_make_units(ul_free_set *set);

UL_INLINE ul_free_cached *ul_free_cached_row(const ul_free_set *set, uint64_t bytes) {
  return &set->cache[(bytes >> 9 ^ bytes >> 16 ^ bytes >> 21) % UL_FREE_CACHE];
}

UL_INLINE int ul_free_cached_size(const ul_free_set *set, uint64_t bytes, ul_class_ref *ref) {
  const ul_free_cached *row;

  if (!set->cache)
    return 0;
  row = ul_free_cached_row(set, bytes);
  if (row->bytes != bytes || row->generation != row->leaf->generation)
    return 0;
  ref->leaf = row->leaf;
  ref->position = row->position;
  ref->class = &row->leaf->classes[row->leaf->places[row->position]];
  return 1;
}

UL_INLINE void ul_free_mark_used(ul_free_set *set, const ul_class_ref *ref) {
  if (!ref->leaf) {
    set->units->occupied[ref->position / 64] |= UINT64_C(1) << ref->position % 64;
    set->units->summary |= UINT64_C(1) << ref->position / 64;
  } else {
    ref->leaf->occupied |= UINT64_C(1) << ref->position;
    set->occupied[ref->leaf->index / 64] |= UINT64_C(1) << ref->leaf->index % 64;
  }
}

UL_INLINE void ul_free_mark_empty(ul_free_set *set, const ul_class_ref *ref) {
  if (!ref->leaf) {
    uint64_t *word = &set->units->occupied[ref->position / 64];
    *word &= ~(UINT64_C(1) << ref->position % 64);
    if (!*word)
      set->units->summary &= ~(UINT64_C(1) << ref->position / 64);
  } else {
    ref->leaf->occupied &= ~(UINT64_C(1) << ref->position);
    if (!ref->leaf->occupied)
      set->occupied[ref->leaf->index / 64] &= ~(UINT64_C(1) << ref->leaf->index % 64);
  }
}

UL_INLINE int ul_free_class_of(ul_free_set *set, uint64_t bytes, ul_class_ref *ref) {
  if (set->units) {
    ref->position = (uint32_t)(bytes / UL_FREE_UNIT) - 1;
    ref->leaf = NULL;
    ref->class = &set->units->classes[ref->position];
    return 1;
  }
  return ul_free_cached_size(set, bytes, ref) || ul_free_set_find_size(set, bytes, ref);
}

/* Into the index, past the held entry. */
UL_INLINE int ul_free_index_add(ul_free_set *set, ul_free_entry entry) {
  ul_class_ref ref;

  if (set->index == UL_FREE_BY_UNITS && !set->units && !ul_free_set_make_units(set))
    return 0;
  if (!ul_free_class_of(set, entry.bytes, &ref) && !ul_free_set_add_size(set, entry.bytes, &ref))
    return 0;
  if (!ul_size_class_add(ref.class, entry.tie, entry.block))
    return 0;
  if (ref.class->count == 1)
    ul_free_mark_used(set, &ref);
  return 1;
}

UL_INLINE int ul_free_index_remove(ul_free_set *set, uint64_t bytes, uint64_t tie) {
  ul_class_ref ref;

  if ((set->index == UL_FREE_BY_UNITS && !set->units) || !ul_free_class_of(set, bytes, &ref) ||
      !ul_size_class_remove(ref.class, tie))
    return 0;
  if (!ref.class->count)
    ul_free_mark_empty(set, &ref);
  return 1;
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
    set->held.block = 0;
  else
    ul_free_index_remove(set, bytes, tie);
}

/* The first size of the index with blocks that is not below bytes. */
UL_INLINE int ul_free_fit(ul_free_set *set, uint64_t bytes, ul_class_ref *ref) {
  if (set->units) {
    ul_free_units *u = set->units;
    uint32_t at = (uint32_t)(bytes / UL_FREE_UNIT) - 1, word = at / 64;
    uint64_t bits = u->occupied[word] >> at % 64;
    if (bits) {
      at += (uint32_t)__builtin_ctzll(bits);
    } else {
      bits = word == 63 ? 0 : u->summary >> (word + 1);
      if (!bits)
        return 0;
      word += 1 + (uint32_t)__builtin_ctzll(bits);
      at = word * 64 + (uint32_t)__builtin_ctzll(u->occupied[word]);
    }
    ref->position = at;
    ref->leaf = NULL;
    ref->class = &u->classes[at];
    return 1;
  }
  if (ul_free_cached_size(set, bytes, ref) && ref->class->count)
    return 1;
  return ul_free_set_fit_size(set, bytes, ref);
}

/* The first entry that is not below (bytes, 0), taken out; its block is 0 if there is none. */
UL_INLINE uint32_t ul_free_take_fit(ul_free_set *set, uint64_t bytes) {
  const ul_free_entry held = set->held;
  const int held_fits = held.block && held.bytes >= bytes;
  ul_class_ref ref;
  ul_tie first;

  /* Nothing can be below a held entry of exactly this size but its equals of lower tie. */
  if (!ul_free_fit(set, bytes, &ref)) {
    if (!held_fits)
      return 0;
    set->held.block = 0;
    set->count--;
    return held.block;
  }
  first = ul_size_class_first(ref.class);
  set->count--;
  if (held_fits &&
      (held.bytes < ref.class->bytes || (held.bytes == ref.class->bytes && held.tie < first.tie))) {
    set->held.block = 0;
    return held.block;
  }
  ul_size_class_drop_first(ref.class, first.tie);
  if (!ref.class->count)
    ul_free_mark_empty(set, &ref);
  return first.block;
}

#endif
