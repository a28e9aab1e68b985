/* SPDX-License-Identifier: MIT */
#include "allocator/free_set.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

enum { LEAF_SIZES = 64, SPLIT_ABOVE = 48, FEW_ITEMS = 8 };

/* All blocks of one size, by tie: few of them in place, many in a list of their own. */
struct same_size {
  uint32_t count;
  uint32_t is_many;
  union {
    ul_tie few[FEW_ITEMS];
    ul_tie_list many;
  } items;
};

struct ul_free_leaf {
  uint64_t occupied; /* bit per size: it has blocks */
  uint32_t count;    /* of sizes */
  uint64_t sizes[LEAF_SIZES];
  struct same_size blocks[LEAF_SIZES];
};

static const ul_free_entry no_entry = {0, 0, 0};

/* ---- one size ---- */

static int make_many(struct same_size *s) {
  ul_tie_list many = {NULL, 0, 0};
  uint32_t i;

  for (i = 0; i < s->count; i++) {
    if (!ul_tie_list_insert(&many, s->items.few[i])) {
      ul_tie_list_release(&many);
      return 0;
    }
  }
  s->items.many = many;
  s->is_many = 1;
  return 1;
}

static int add_item(struct same_size *s, uint64_t tie, uint32_t block) {
  const ul_tie fresh = {tie, block};
  uint32_t at;

  if (!s->is_many && s->count == FEW_ITEMS && !make_many(s))
    return 0;
  if (s->is_many) {
    if (!ul_tie_list_insert(&s->items.many, fresh))
      return 0;
  } else {
    for (at = s->count; at && s->items.few[at - 1].tie > tie; at--)
      s->items.few[at] = s->items.few[at - 1];
    s->items.few[at] = fresh;
  }
  s->count++;
  return 1;
}

static int drop_item(struct same_size *s, uint64_t tie) {
  uint32_t at;

  if (s->is_many) {
    if (!ul_tie_list_remove(&s->items.many, tie))
      return 0;
    s->count--;
    return 1;
  }
  for (at = 0; at < s->count && s->items.few[at].tie != tie; at++)
    ;
  if (at == s->count)
    return 0;
  for (s->count--; at < s->count; at++)
    s->items.few[at] = s->items.few[at + 1];
  return 1;
}

static ul_tie item_at(const struct same_size *s, ul_tie_at at) {
  return s->is_many ? *ul_tie_list_get(&s->items.many, at) : s->items.few[at.index];
}

static ul_tie_at last_item(const struct same_size *s) {
  const ul_tie_at last = {0, s->count - 1};
  return s->is_many ? ul_tie_list_last(&s->items.many) : last;
}

static int next_item(const struct same_size *s, ul_tie_at *at) {
  if (s->is_many)
    return ul_tie_list_next(&s->items.many, at);
  if (at->index + 1 >= s->count)
    return 0;
  at->index++;
  return 1;
}

static int previous_item(const struct same_size *s, ul_tie_at *at) {
  if (s->is_many)
    return ul_tie_list_previous(&s->items.many, at);
  if (!at->index)
    return 0;
  at->index--;
  return 1;
}

/* ---- where a size is ---- */

static ul_free_cached *cached_row(const ul_free_set *set, uint64_t bytes) {
  return &set->cache[(bytes >> 9 ^ bytes >> 16 ^ bytes >> 21) % UL_FREE_CACHE];
}

static void forget_positions(ul_free_set *set) {
  memset(set->cache, 0, UL_FREE_CACHE * sizeof(*set->cache));
}

/* Index of the first leaf whose last size is not below bytes. */
static size_t find_leaf(const ul_free_set *set, uint64_t bytes) {
  size_t low = 0, high = set->leaf_count, middle;

  while (low < high) {
    middle = low + (high - low) / 2;
    if (set->leaves[middle]->sizes[set->leaves[middle]->count - 1] < bytes)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static uint32_t find_slot(const struct ul_free_leaf *leaf, uint64_t bytes) {
  uint32_t low = 0, high = leaf->count, middle;

  while (low < high) {
    middle = low + (high - low) / 2;
    if (leaf->sizes[middle] < bytes)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Finds the size itself; 0 if the set never had it. */
static int find_size(ul_free_set *set, uint64_t bytes, ul_free_at *at) {
  ul_free_cached *row;

  if (!set->cache)
    return 0;
  row = cached_row(set, bytes);
  if (row->bytes == bytes) {
    at->leaf = row->leaf;
    at->slot = row->slot;
    return 1;
  }
  at->leaf = find_leaf(set, bytes);
  if (at->leaf == set->leaf_count)
    return 0;
  at->slot = find_slot(set->leaves[at->leaf], bytes);
  if (set->leaves[at->leaf]->sizes[at->slot] != bytes)
    return 0;
  row->bytes = bytes;
  row->leaf = (uint32_t)at->leaf;
  row->slot = at->slot;
  return 1;
}

static int insert_leaf(ul_free_set *set, size_t at) {
  struct ul_free_leaf *leaf;

  if (!ul_vec_grow((void **)&set->leaves, &set->leaf_capacity, set->leaf_count + 1,
                   sizeof(struct ul_free_leaf *)))
    return 0;
  leaf = malloc(sizeof(*leaf));
  if (!leaf)
    return 0;
  leaf->count = 0;
  leaf->occupied = 0;
  memmove(&set->leaves[at + 1], &set->leaves[at],
          (set->leaf_count - at) * sizeof(struct ul_free_leaf *));
  set->leaves[at] = leaf;
  set->leaf_count++;
  return 1;
}

static void release_size(struct same_size *s) {
  if (s->is_many)
    ul_tie_list_release(&s->items.many);
}

/* Makes room in a full leaf: sizes without blocks go, or half of it moves to a new leaf. */
static int make_room(ul_free_set *set, size_t at) {
  struct ul_free_leaf *leaf = set->leaves[at], *right;
  uint32_t i, kept = 0;

  if (__builtin_popcountll(leaf->occupied) > SPLIT_ABOVE) {
    if (!insert_leaf(set, at + 1))
      return 0;
    right = set->leaves[at + 1];
    right->count = LEAF_SIZES / 2;
    right->occupied = leaf->occupied >> LEAF_SIZES / 2;
    memcpy(right->sizes, &leaf->sizes[LEAF_SIZES / 2], sizeof(leaf->sizes) / 2);
    memcpy(right->blocks, &leaf->blocks[LEAF_SIZES / 2], sizeof(leaf->blocks) / 2);
    leaf->count = LEAF_SIZES / 2;
    leaf->occupied &= UINT32_MAX;
    return 1;
  }
  for (i = 0; i < leaf->count; i++) {
    if (leaf->occupied >> i & 1) {
      leaf->sizes[kept] = leaf->sizes[i];
      leaf->blocks[kept++] = leaf->blocks[i];
    } else {
      release_size(&leaf->blocks[i]);
    }
  }
  /* A leaf is never left without sizes; the last one may stay although it is empty. */
  if (!kept) {
    memset(&leaf->blocks[0], 0, sizeof(leaf->blocks[0]));
    kept = 1;
    leaf->occupied = 0;
  } else {
    leaf->occupied = kept == 64 ? UINT64_MAX : (UINT64_C(1) << kept) - 1;
  }
  leaf->count = kept;
  return 1;
}

/* Adds a size that the set does not know. */
static int add_size(ul_free_set *set, uint64_t bytes, ul_free_at *at) {
  struct ul_free_leaf *leaf;
  uint64_t below;

  if (!set->cache) {
    set->cache = calloc(UL_FREE_CACHE, sizeof(*set->cache));
    if (!set->cache)
      return 0;
  }
  if (!set->leaf_count && !insert_leaf(set, 0))
    return 0;
  forget_positions(set);
  at->leaf = set->leaves[0]->count ? find_leaf(set, bytes) : 0;
  if (at->leaf == set->leaf_count)
    at->leaf--;
  if (set->leaves[at->leaf]->count == LEAF_SIZES) {
    if (!make_room(set, at->leaf))
      return 0;
    at->leaf = find_leaf(set, bytes);
    if (at->leaf == set->leaf_count)
      at->leaf--;
  }
  leaf = set->leaves[at->leaf];
  at->slot = find_slot(leaf, bytes);
  memmove(&leaf->sizes[at->slot + 1], &leaf->sizes[at->slot],
          (leaf->count - at->slot) * sizeof(leaf->sizes[0]));
  memmove(&leaf->blocks[at->slot + 1], &leaf->blocks[at->slot],
          (leaf->count - at->slot) * sizeof(leaf->blocks[0]));
  below = (UINT64_C(1) << at->slot) - 1;
  leaf->occupied = (leaf->occupied & below) | (leaf->occupied & ~below) << 1;
  leaf->sizes[at->slot] = bytes;
  memset(&leaf->blocks[at->slot], 0, sizeof(leaf->blocks[0]));
  leaf->count++;
  return 1;
}

int ul_free_set_insert(ul_free_set *set, ul_free_entry entry) {
  struct ul_free_leaf *leaf;
  ul_free_at at;

  if (!find_size(set, entry.bytes, &at) && !add_size(set, entry.bytes, &at))
    return 0;
  leaf = set->leaves[at.leaf];
  if (!add_item(&leaf->blocks[at.slot], entry.tie, entry.block))
    return 0;
  leaf->occupied |= UINT64_C(1) << at.slot;
  set->count++;
  return 1;
}

int ul_free_set_remove(ul_free_set *set, uint64_t bytes, uint64_t tie) {
  struct ul_free_leaf *leaf;
  ul_free_at at;

  if (!find_size(set, bytes, &at))
    return 0;
  leaf = set->leaves[at.leaf];
  if (!drop_item(&leaf->blocks[at.slot], tie))
    return 0;
  if (!leaf->blocks[at.slot].count)
    leaf->occupied &= ~(UINT64_C(1) << at.slot);
  set->count--;
  return 1;
}

void ul_free_set_take(ul_free_set *set, ul_free_at at) {
  struct ul_free_leaf *leaf = set->leaves[at.leaf];
  struct same_size *s = &leaf->blocks[at.slot];
  uint32_t i;

  if (s->is_many) {
    ul_tie_list_remove(&s->items.many, ul_tie_list_get(&s->items.many, at.item)->tie);
    s->count--;
  } else {
    for (s->count--, i = at.item.index; i < s->count; i++)
      s->items.few[i] = s->items.few[i + 1];
  }
  if (!s->count)
    leaf->occupied &= ~(UINT64_C(1) << at.slot);
  set->count--;
}

/* ---- walking ---- */

static ul_free_entry entry_at(const ul_free_set *set, const ul_free_at *at) {
  const struct ul_free_leaf *leaf = set->leaves[at->leaf];
  const ul_tie item = item_at(&leaf->blocks[at->slot], at->item);
  const ul_free_entry entry = {leaf->sizes[at->slot], item.tie, item.block};

  return entry;
}

/* The first occupied size from slot `from` of leaf `leaf` on. */
static ul_free_entry first_from(const ul_free_set *set, size_t leaf, uint32_t from,
                                ul_free_at *at) {
  uint64_t occupied;

  for (; leaf < set->leaf_count; leaf++, from = 0) {
    occupied = from < LEAF_SIZES ? set->leaves[leaf]->occupied >> from << from : 0;
    if (!occupied)
      continue;
    at->leaf = leaf;
    at->slot = (uint32_t)__builtin_ctzll(occupied);
    at->item.chunk = at->item.index = 0;
    return entry_at(set, at);
  }
  return no_entry;
}

/* The last occupied size before slot `before` of leaf `leaf`. */
static ul_free_entry last_before(const ul_free_set *set, size_t leaf, uint32_t before,
                                 ul_free_at *at) {
  uint64_t occupied;

  for (;; before = LEAF_SIZES) {
    occupied = set->leaves[leaf]->occupied;
    if (before < LEAF_SIZES)
      occupied &= (UINT64_C(1) << before) - 1;
    if (occupied) {
      at->leaf = leaf;
      at->slot = 63u - (uint32_t)__builtin_clzll(occupied);
      at->item = last_item(&set->leaves[leaf]->blocks[at->slot]);
      return entry_at(set, at);
    }
    if (!leaf--)
      return no_entry;
  }
}

ul_free_entry ul_free_set_lower_bound(ul_free_set *set, uint64_t bytes, ul_free_at *at) {
  ul_free_at here;

  if (!set->count)
    return no_entry;
  if (!find_size(set, bytes, &here)) {
    here.leaf = find_leaf(set, bytes);
    if (here.leaf == set->leaf_count)
      return no_entry;
    here.slot = find_slot(set->leaves[here.leaf], bytes);
  }
  return first_from(set, here.leaf, here.slot, at ? at : &here);
}

ul_free_entry ul_free_set_first(const ul_free_set *set, ul_free_at *at) {
  return set->count ? first_from(set, 0, 0, at) : no_entry;
}

ul_free_entry ul_free_set_last(const ul_free_set *set, ul_free_at *at) {
  return set->count ? last_before(set, set->leaf_count - 1, LEAF_SIZES, at) : no_entry;
}

ul_free_entry ul_free_set_next(const ul_free_set *set, ul_free_at *at) {
  if (next_item(&set->leaves[at->leaf]->blocks[at->slot], &at->item))
    return entry_at(set, at);
  return first_from(set, at->leaf, at->slot + 1, at);
}

ul_free_entry ul_free_set_previous(const ul_free_set *set, ul_free_at *at) {
  if (previous_item(&set->leaves[at->leaf]->blocks[at->slot], &at->item))
    return entry_at(set, at);
  return last_before(set, at->leaf, at->slot, at);
}

/* ---- whole sets ---- */

void ul_free_set_release(ul_free_set *set) {
  size_t i;
  uint32_t slot;

  for (i = 0; i < set->leaf_count; i++) {
    for (slot = 0; slot < set->leaves[i]->count; slot++)
      release_size(&set->leaves[i]->blocks[slot]);
    free(set->leaves[i]);
  }
  free(set->leaves);
  free(set->cache);
  memset(set, 0, sizeof(*set));
}

int ul_free_set_copy(ul_free_set *to, const ul_free_set *from) {
  ul_free_at at;
  ul_free_entry entry;

  memset(to, 0, sizeof(*to));
  for (entry = ul_free_set_first(from, &at); entry.block; entry = ul_free_set_next(from, &at)) {
    if (!ul_free_set_insert(to, entry)) {
      ul_free_set_release(to);
      return 0;
    }
  }
  return 1;
}
