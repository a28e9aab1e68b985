/* SPDX-License-Identifier: MIT */
#include "base/idmap.h"

#include <stdlib.h>
#include <string.h>

struct ul_idmap_slot {
  uint64_t key;
  uint32_t value; /* 0: free */
};

static size_t home(const ul_idmap *map, uint64_t key) {
  /* Multiplicative hashing of a folded key: addresses differ in bits 9 to 47. The order of the
   * slots is never seen, so the multiplier may differ from run to run. */
  uint64_t h = (key ^ (key >> 29)) * map->multiplier;
  h ^= h >> 32;
  h *= map->multiplier;
  return (size_t)(h >> 32) & map->mask;
}

static uint64_t new_multiplier(const void *table) {
  uint64_t m = (uint64_t)(uintptr_t)table * UINT64_C(0xD6E8FEB86659FD93);

  return (m ^ (m >> 31) ^ UINT64_C(0x9E3779B97F4A7C15)) | 1;
}

static size_t find(const ul_idmap *map, uint64_t key) {
  size_t i = home(map, key);
  while (map->slots[i].value && map->slots[i].key != key)
    i = (i + 1) & map->mask;
  return i;
}

uint32_t ul_idmap_get(const ul_idmap *map, uint64_t key) {
  return map->slots ? map->slots[find(map, key)].value : 0;
}

static int grow(ul_idmap *map) {
  ul_idmap bigger = {NULL, map->count, map->slots ? map->mask * 2 + 1 : 63, 0};
  size_t i;

  if (bigger.mask >= SIZE_MAX / sizeof(*bigger.slots) - 1)
    return 0;
  bigger.slots = calloc(bigger.mask + 1, sizeof(*bigger.slots));
  if (!bigger.slots)
    return 0;
  bigger.multiplier = new_multiplier(bigger.slots);
  for (i = 0; map->slots && i <= map->mask; i++) {
    if (map->slots[i].value)
      bigger.slots[find(&bigger, map->slots[i].key)] = map->slots[i];
  }
  free(map->slots);
  *map = bigger;
  return 1;
}

int ul_idmap_set(ul_idmap *map, uint64_t key, uint32_t value) {
  size_t i;

  if (!map->slots || map->count + 1 > (map->mask + 1) / 4 * 3) {
    if (!grow(map))
      return 0;
  }
  i = find(map, key);
  if (!map->slots[i].value)
    map->count++;
  map->slots[i].key = key;
  map->slots[i].value = value;
  return 1;
}

uint32_t ul_idmap_remove(ul_idmap *map, uint64_t key) {
  size_t hole, next;
  uint32_t value;

  if (!map->slots)
    return 0;
  hole = find(map, key);
  value = map->slots[hole].value;
  if (!value)
    return 0;
  for (next = (hole + 1) & map->mask; map->slots[next].value; next = (next + 1) & map->mask) {
    /* An entry may move back into the hole only if its home is not between the hole and it. */
    size_t distance = (next - home(map, map->slots[next].key)) & map->mask;
    if (distance >= ((next - hole) & map->mask)) {
      map->slots[hole] = map->slots[next];
      hole = next;
    }
  }
  map->slots[hole].value = 0;
  map->count--;
  return value;
}

void ul_idmap_clear(ul_idmap *map) {
  if (map->slots)
    memset(map->slots, 0, (map->mask + 1) * sizeof(*map->slots));
  map->count = 0;
}

void ul_idmap_release(ul_idmap *map) {
  free(map->slots);
  map->slots = NULL;
  map->count = 0;
  map->mask = 0;
}

int ul_idmap_copy(ul_idmap *to, const ul_idmap *from) {
  *to = *from;
  if (!from->slots)
    return 1;
  to->slots = malloc((from->mask + 1) * sizeof(*from->slots));
  if (!to->slots) {
    to->count = to->mask = 0;
    return 0;
  }
  memcpy(to->slots, from->slots, (from->mask + 1) * sizeof(*from->slots));
  return 1;
}
