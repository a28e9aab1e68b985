/* SPDX-License-Identifier: MIT */
/* uint64_t -> uint32_t map for addresses: linear probing, deletion by backward shift (no
 * tombstones, so long alloc/free runs do not decay). The value 0 means "absent". The key 0 is
 * allowed. */
#ifndef UL_BASE_IDMAP_H
#define UL_BASE_IDMAP_H

#include <stddef.h>
#include <stdint.h>

typedef struct ul_idmap {
  struct ul_idmap_slot *slots;
  size_t count;
  size_t mask;         /* slot count - 1; 0 while empty */
  uint64_t multiplier; /* of the hash: odd, from where the table lies, so no file can aim at it */
} ul_idmap;

#define UL_IDMAP_INIT \
  { NULL, 0, 0, 0 }

/* The value of key, or 0. */
uint32_t ul_idmap_get(const ul_idmap *map, uint64_t key);

/* Sets key to value (not 0). Returns 0 if there is no memory; the map is then unchanged. */
int ul_idmap_set(ul_idmap *map, uint64_t key, uint32_t value);

/* Removes key; returns its value, or 0 if it was absent. */
uint32_t ul_idmap_remove(ul_idmap *map, uint64_t key);

/* Empties the map but keeps its storage. */
void ul_idmap_clear(ul_idmap *map);

/* Frees the storage; the map is empty and usable again. */
void ul_idmap_release(ul_idmap *map);

/* Copies *from into the empty *to. Returns 0 if there is no memory. */
int ul_idmap_copy(ul_idmap *to, const ul_idmap *from);

#endif
