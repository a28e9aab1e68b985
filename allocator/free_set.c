/* SPDX-License-Identifier: MIT */
#include "allocator/free_set.h"

#include <stdlib.h>
#include <string.h>

#include "allocator/free_set_fast.h"
#include "base/vec.h"

/* A leaf with more sizes that blocks have than this is split rather than rid of the others; so is
 * any leaf while there are few, for sizes that ran empty mostly come again. */
enum { SPLIT_ABOVE = 48, FEW_LEAVES = 16 };

#define IN_UNITS SIZE_MAX

static const ul_free_entry no_entry = {0, 0, 0};

void ul_free_set_init(ul_free_set *set, ul_free_index index) {
  memset(set, 0, sizeof(*set));
  set->index = (uint8_t)index;
}

int ul_free_set_make_units(ul_free_set *set) {
  uint32_t i;

  set->units = calloc(1, sizeof(*set->units));
  for (i = 0; set->units && i < UL_FREE_UNITS; i++)
    set->units->classes[i].bytes = (uint64_t)(i + 1) * UL_FREE_UNIT;
  return set->units != NULL;
}

/* ---- the directory ---- */

/* The last size with blocks before position `before` of leaf `leaf`. */
static ul_class_ref used_before(const ul_free_set *set, size_t leaf, uint32_t before) {
  uint64_t bits = set->leaves[leaf]->occupied;
  size_t word;

  if (before < UL_FREE_LEAF)
    bits &= (UINT64_C(1) << before) - 1;
  if (!bits) {
    for (word = leaf / 64 + 1; word-- > 0;) {
      bits = set->occupied[word];
      if (word == leaf / 64)
        bits &= (UINT64_C(1) << leaf % 64) - 1;
      if (bits)
        break;
    }
    if (!bits)
      return ul_free_no_class;
    leaf = word * 64 + 63 - (size_t)__builtin_clzll(bits);
    bits = set->leaves[leaf]->occupied;
  }
  return ul_free_ref_to(set->leaves[leaf], 63u - (uint32_t)__builtin_clzll(bits));
}

static void mark_leaf(ul_free_set *set, size_t leaf) {
  const uint64_t bit = UINT64_C(1) << leaf % 64;

  if (set->leaves[leaf]->occupied)
    set->occupied[leaf / 64] |= bit;
  else
    set->occupied[leaf / 64] &= ~bit;
}

/* Numbers leaves and their bits anew from `from` on: they have moved. */
static void renumber(ul_free_set *set, size_t from) {
  for (; from < set->leaf_count; from++) {
    const ul_free_leaf *leaf = set->leaves[from];
    set->leaves[from]->index = (uint32_t)from;
    set->tops[from] = leaf->count ? leaf->sizes[leaf->count - 1] : 0;
    mark_leaf(set, from);
  }
}

/* Room for one more leaf in all three arrays, and for a group of tops past the last one. */
static int grow_root(ul_free_set *set) {
  const size_t capacity = set->leaf_capacity ? set->leaf_capacity * 2 : 64;
  ul_free_leaf **leaves;
  uint64_t *tops, *occupied;

  if (set->leaf_count + UL_FREE_GROUP < set->leaf_capacity)
    return 1;
  leaves = realloc(set->leaves, capacity * sizeof(ul_free_leaf *));
  if (leaves)
    set->leaves = leaves;
  tops = realloc(set->tops, capacity * sizeof(*tops));
  if (tops) {
    set->tops = tops;
    memset(&tops[set->leaf_count], 0x7f, (capacity - set->leaf_count) * sizeof(*tops));
  }
  occupied = realloc(set->occupied, capacity / 64 * sizeof(*occupied));
  if (occupied) {
    set->occupied = occupied;
    memset(&occupied[set->leaf_capacity / 64], 0,
           (capacity - set->leaf_capacity) / 64 * sizeof(*occupied));
  }
  if (!leaves || !tops || !occupied)
    return 0;
  set->leaf_capacity = capacity;
  return 1;
}

static ul_free_leaf *insert_leaf(ul_free_set *set, size_t at) {
  ul_free_leaf *leaf;

  if (!grow_root(set))
    return NULL;
  leaf = calloc(1, sizeof(*leaf));
  if (!leaf)
    return NULL;
  memset(leaf->sizes, 0x7f, sizeof(leaf->sizes));
  memset(leaf->tops, 0x7f, sizeof(leaf->tops));
  memmove(&set->leaves[at + 1], &set->leaves[at], (set->leaf_count - at) * sizeof(ul_free_leaf *));
  set->leaves[at] = leaf;
  set->leaf_count++;
  return leaf;
}

/* After sizes moved, from group `from` on. */
static void renew_tops(ul_free_leaf *leaf, uint32_t from) {
  for (; from < UL_FREE_LEAF / UL_FREE_GROUP; from++)
    leaf->tops[from] = leaf->sizes[from * UL_FREE_GROUP + UL_FREE_GROUP - 1];
}

/* Keeps the sizes of a leaf whose bit is set in kept; classes stay where they are. */
static void keep_sizes(ul_free_leaf *leaf, uint64_t kept) {
  uint8_t dropped[UL_FREE_LEAF];
  uint32_t i, count = 0, dropped_count = 0;
  uint64_t occupied = 0;

  for (i = 0; i < leaf->count; i++) {
    if (!(kept >> i & 1)) {
      dropped[dropped_count++] = leaf->places[i];
      continue;
    }
    occupied |= (leaf->occupied >> i & 1) << count;
    leaf->sizes[count] = leaf->sizes[i];
    leaf->places[count++] = leaf->places[i];
  }
  /* The list of places names each one once: the kept sizes' first, then those for new sizes. */
  memcpy(&leaf->places[count], dropped, dropped_count);
  for (i = count; i < leaf->count; i++)
    leaf->sizes[i] = UL_FREE_NO_SIZE;
  renew_tops(leaf, 0);
  leaf->count = count;
  leaf->occupied = occupied;
  leaf->generation++;
}

/* Moves the upper half of a leaf's sizes to a new one behind it. */
static int split_leaf(ul_free_set *set, size_t at) {
  ul_free_leaf *left = set->leaves[at], *right = insert_leaf(set, at + 1);
  uint32_t i;

  if (!right)
    return 0;
  for (i = UL_FREE_LEAF / 2; i < UL_FREE_LEAF; i++) {
    ul_size_class *from = &left->classes[left->places[i]];
    right->sizes[right->count] = left->sizes[i];
    right->places[right->count] = (uint8_t)right->count;
    right->classes[right->count++] = *from;
    memset(from, 0, sizeof(*from));
  }
  renew_tops(right, 0);
  right->place_count = right->count;
  right->occupied = left->occupied >> UL_FREE_LEAF / 2;
  keep_sizes(left, UINT32_MAX);
  return 1;
}

/* Makes room in a full leaf: sizes without blocks go, or half of it moves to a new leaf. A leaf is
 * never left without sizes. */
static int make_room(ul_free_set *set, size_t at) {
  ul_free_leaf *leaf = set->leaves[at];
  const uint64_t kept = leaf->occupied ? leaf->occupied : 1;
  uint32_t i;

  if (__builtin_popcountll(leaf->occupied) > SPLIT_ABOVE || set->leaf_count < FEW_LEAVES) {
    if (!split_leaf(set, at))
      return 0;
    renumber(set, at);
    return 1;
  }
  for (i = 0; i < leaf->count; i++) {
    if (!(kept >> i & 1)) {
      ul_size_class_release(&leaf->classes[leaf->places[i]]);
      memset(&leaf->classes[leaf->places[i]], 0, sizeof(leaf->classes[0]));
    }
  }
  keep_sizes(leaf, kept);
  renumber(set, at);
  return 1;
}

static void insert_size(ul_free_leaf *leaf, uint32_t at, uint64_t bytes) {
  const uint64_t below = at ? UINT64_MAX >> (64 - at) : 0;
  uint8_t place;

  if (leaf->place_count == leaf->count)
    leaf->places[leaf->count] = (uint8_t)leaf->place_count++;
  place = leaf->places[leaf->count];
  memmove(&leaf->sizes[at + 1], &leaf->sizes[at], (leaf->count - at) * sizeof(leaf->sizes[0]));
  memmove(&leaf->places[at + 1], &leaf->places[at], leaf->count - at);
  leaf->occupied = (leaf->occupied & below) | (leaf->occupied & ~below) << 1;
  leaf->sizes[at] = bytes;
  renew_tops(leaf, at / UL_FREE_GROUP);
  leaf->places[at] = place;
  leaf->classes[place].bytes = bytes;
  leaf->count++;
  leaf->generation++;
}

/* The place of a size that the directory does not have, in *at and *position. */
static int make_place(ul_free_set *set, uint64_t bytes, size_t *at, uint32_t *position) {
  /* Twice at most: a leaf that lost its largest sizes leaves this one to the next. */
  while (set->leaves[*at]->count == UL_FREE_LEAF) {
    if (!make_room(set, *at))
      return 0;
    *at = ul_free_find_leaf(set, bytes);
    if (*at == set->leaf_count)
      --*at;
    *position = ul_free_find_position(set->leaves[*at], bytes);
  }
  if (*position > set->leaves[*at]->count)
    *position = set->leaves[*at]->count;
  insert_size(set->leaves[*at], *position, bytes);
  set->tops[*at] = set->leaves[*at]->sizes[set->leaves[*at]->count - 1];
  return 1;
}

ul_class_ref ul_free_set_add_size(ul_free_set *set, uint64_t bytes) {
  size_t at;
  uint32_t position;

  if (!set->cache) {
    set->cache = calloc((size_t)UL_FREE_CACHE * 2, sizeof(*set->cache));
    if (!set->cache)
      return ul_free_no_class;
  }
  if (!set->leaf_count && !insert_leaf(set, 0))
    return ul_free_no_class;
  at = set->leaves[0]->count ? ul_free_find_leaf(set, bytes) : 0;
  if (at == set->leaf_count)
    at--;
  position = ul_free_find_position(set->leaves[at], bytes);
  if ((position == UL_FREE_LEAF || set->leaves[at]->sizes[position] != bytes) &&
      !make_place(set, bytes, &at, &position))
    return ul_free_no_class;
  ul_free_remember(ul_free_class_row(set, bytes), bytes, set->leaves[at], position);
  return ul_free_ref_to(set->leaves[at], position);
}

/* ---- both ---- */

int ul_free_set_insert(ul_free_set *set, ul_free_entry entry) {
  return ul_free_put(set, entry);
}

int ul_free_set_remove(ul_free_set *set, uint64_t bytes, uint64_t tie) {
  if (set->held.block && set->held.bytes == bytes && set->held.tie == tie)
    ul_free_drop_held(set);
  else if (!ul_free_index_remove(set, bytes, tie))
    return 0;
  set->count--;
  return 1;
}

/* The held entry takes its place, for walks. */
static int settle(ul_free_set *set) {
  if (set->held.block && !ul_free_index_add(set, set->held))
    return 0;
  ul_free_drop_held(set);
  return 1;
}

static void set_at(ul_free_at *at, ul_class_ref ref) {
  at->leaf = ref.leaf ? ref.leaf->index : IN_UNITS;
  at->slot = ref.position;
}

static ul_class_ref ref_at(const ul_free_set *set, const ul_free_at *at) {
  if (at->leaf == IN_UNITS)
    return (ul_class_ref){&set->units->classes[at->slot], NULL, at->slot};
  return ul_free_ref_to(set->leaves[at->leaf], at->slot);
}

static ul_free_entry entry_at(const ul_free_set *set, const ul_free_at *at) {
  const ul_class_ref ref = ref_at(set, at);
  const ul_tie tie = ul_size_class_at(ref.class, at->item);
  const ul_free_entry entry = {ref.class->bytes, tie.tie, tie.block};

  return entry;
}

void ul_free_set_take(ul_free_set *set, ul_free_at at) {
  const ul_class_ref ref = ref_at(set, &at);

  ul_size_class_remove(ref.class, ul_size_class_at(ref.class, at.item).tie);
  if (!ref.class->count)
    ul_free_mark_empty(set, ref);
  set->count--;
}

static uint32_t next_unit(const ul_free_units *u, uint32_t from) {
  for (; from < UL_FREE_UNITS; from = (from / 64 + 1) * 64) {
    const uint64_t bits = u->occupied[from / 64] >> from % 64;
    if (bits)
      return from + (uint32_t)__builtin_ctzll(bits);
  }
  return UL_FREE_UNITS;
}

/* The last used class before `before`; UL_FREE_UNITS if there is none. */
static uint32_t previous_unit(const ul_free_units *u, uint32_t before) {
  while (before) {
    const uint32_t last = before - 1;
    const uint64_t bits = u->occupied[last / 64] << (63 - last % 64);
    if (bits)
      return last - (uint32_t)__builtin_clzll(bits);
    before = last / 64 * 64;
  }
  return UL_FREE_UNITS;
}

/* The first class with blocks from there on: units first, for all of the directory is larger. */
static int find_used_from(const ul_free_set *set, size_t leaf, uint32_t slot, ul_free_at *at) {
  ul_class_ref ref;

  at->item.chunk = at->item.index = 0;
  if (leaf == IN_UNITS) {
    at->leaf = leaf;
    at->slot = set->units ? next_unit(set->units, slot) : UL_FREE_UNITS;
    if (at->slot < UL_FREE_UNITS)
      return 1;
    leaf = slot = 0;
  }
  ref = ul_free_used_from(set, leaf, slot);
  if (!ref.class)
    return 0;
  set_at(at, ref);
  return 1;
}

static int find_used_before(const ul_free_set *set, size_t leaf, uint32_t slot, ul_free_at *at) {
  ul_class_ref ref = ul_free_no_class;

  if (leaf != IN_UNITS) {
    if (set->leaf_count)
      ref = used_before(set, leaf, slot);
    slot = UL_FREE_UNITS;
  }
  if (!ref.class) {
    at->leaf = IN_UNITS;
    at->slot = set->units ? previous_unit(set->units, slot) : UL_FREE_UNITS;
    if (at->slot == UL_FREE_UNITS)
      return 0;
    ref = ref_at(set, at);
  }
  set_at(at, ref);
  at->item = ul_size_class_last(ref.class);
  return 1;
}

ul_free_entry ul_free_set_lower_bound(ul_free_set *set, uint64_t bytes, ul_free_at *at) {
  ul_free_at local, *here = at ? at : &local;
  ul_class_ref ref;

  if (bytes >= UL_FREE_NO_SIZE || !set->count || !settle(set))
    return no_entry;
  if (!bytes)
    bytes = 1;
  if (set->units)
    bytes = (bytes + UL_FREE_UNIT - 1) / UL_FREE_UNIT * UL_FREE_UNIT;
  ref = ul_free_fit(set, bytes);
  if (!ref.class)
    return no_entry;
  set_at(here, ref);
  here->item.chunk = here->item.index = 0;
  return entry_at(set, here);
}

/* Past the held entry. */
static ul_free_entry first_of_index(const ul_free_set *set, ul_free_at *at) {
  return find_used_from(set, IN_UNITS, 0, at) ? entry_at(set, at) : no_entry;
}

ul_free_entry ul_free_set_first(ul_free_set *set, ul_free_at *at) {
  return set->count && settle(set) ? first_of_index(set, at) : no_entry;
}

ul_free_entry ul_free_set_last(ul_free_set *set, ul_free_at *at) {
  const size_t leaf = set->leaf_count ? set->leaf_count - 1 : 0;

  if (!set->count || !settle(set) || !find_used_before(set, leaf, UL_FREE_LEAF, at))
    return no_entry;
  return entry_at(set, at);
}

ul_free_entry ul_free_set_next(const ul_free_set *set, ul_free_at *at) {
  const ul_class_ref ref = ref_at(set, at);

  if (!ul_size_class_next(ref.class, &at->item) && !find_used_from(set, at->leaf, at->slot + 1, at))
    return no_entry;
  return entry_at(set, at);
}

ul_free_entry ul_free_set_previous(const ul_free_set *set, ul_free_at *at) {
  const ul_class_ref ref = ref_at(set, at);

  if (!ul_size_class_previous(ref.class, &at->item) &&
      !find_used_before(set, at->leaf, at->slot, at))
    return no_entry;
  return entry_at(set, at);
}

/* ---- whole sets ---- */

static void release_classes(ul_size_class *classes, uint32_t count) {
  uint32_t i;

  for (i = 0; i < count; i++)
    ul_size_class_release(&classes[i]);
}

void ul_free_set_release(ul_free_set *set) {
  const ul_free_index index = (ul_free_index)set->index;
  size_t i;

  for (i = 0; i < set->leaf_count; i++) {
    release_classes(set->leaves[i]->classes, UL_FREE_LEAF);
    free(set->leaves[i]);
  }
  if (set->units)
    release_classes(set->units->classes, UL_FREE_UNITS);
  free(set->units);
  free(set->leaves);
  free(set->tops);
  free(set->occupied);
  free(set->cache);
  ul_free_set_init(set, index);
}

int ul_free_set_copy(ul_free_set *to, const ul_free_set *from) {
  ul_free_at at;
  ul_free_entry entry;
  int done = 1;

  ul_free_set_init(to, (ul_free_index)from->index);
  for (entry = first_of_index(from, &at); entry.block && done; entry = ul_free_set_next(from, &at))
    done = ul_free_set_insert(to, entry);
  if (from->held.block && done)
    done = ul_free_set_insert(to, from->held);
  if (!done)
    ul_free_set_release(to);
  return done;
}

int ul_free_set_use_directory(ul_free_set *set) {
  ul_free_set fresh;
  ul_free_at at;
  ul_free_entry entry;
  int done = 1;

  if (set->index == UL_FREE_DIRECTORY)
    return 1;
  ul_free_set_init(&fresh, UL_FREE_DIRECTORY);
  for (entry = first_of_index(set, &at); entry.block && done; entry = ul_free_set_next(set, &at))
    done = ul_free_set_insert(&fresh, entry);
  if (set->held.block && done)
    done = ul_free_set_insert(&fresh, set->held);
  if (!done) {
    ul_free_set_release(&fresh);
    return 0;
  }
  ul_free_set_release(set);
  *set = fresh;
  return 1;
}
