/* SPDX-License-Identifier: MIT */
#include "base/strtab.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/vec.h"

enum { CHUNK_BYTES = 64 * 1024 };

struct chunk {
  struct chunk *next;
  char bytes[];
};

struct entry {
  const char *bytes;
  uint32_t size;
  uint32_t hash;
};

struct ul_strtab {
  struct chunk *chunks;
  char *free_at;
  size_t free_bytes, held_bytes;
  UL_VEC(struct entry) entries; /* entries.items[id - 1] */
  uint32_t *slots;              /* ids; 0 free */
  size_t mask;
};

ul_strtab *ul_strtab_create(void) {
  return calloc(1, sizeof(ul_strtab));
}

void ul_strtab_free(ul_strtab *table) {
  struct chunk *chunk, *next;

  if (!table)
    return;
  for (chunk = table->chunks; chunk; chunk = next) {
    next = chunk->next;
    free(chunk);
  }
  UL_VEC_RELEASE(&table->entries);
  free(table->slots);
  free(table);
}

static size_t find_slot(const ul_strtab *table, const char *bytes, size_t size, uint32_t hash) {
  size_t i = hash & table->mask;

  while (table->slots[i]) {
    const struct entry *e = &table->entries.items[table->slots[i] - 1];
    if (e->hash == hash && e->size == size && memcmp(e->bytes, bytes, size) == 0)
      break;
    i = (i + 1) & table->mask;
  }
  return i;
}

static int grow_slots(ul_strtab *table) {
  size_t mask = table->slots ? table->mask * 2 + 1 : 255;
  uint32_t *slots = calloc(mask + 1, sizeof(*slots));
  size_t i, at;

  if (!slots)
    return 0;
  for (i = 0; i < table->entries.count; i++) {
    at = table->entries.items[i].hash & mask;
    while (slots[at])
      at = (at + 1) & mask;
    slots[at] = (uint32_t)(i + 1);
  }
  free(table->slots);
  table->slots = slots;
  table->mask = mask;
  return 1;
}

static char *take(ul_strtab *table, size_t size) {
  struct chunk *chunk;
  size_t bytes = size > CHUNK_BYTES ? size : CHUNK_BYTES;
  char *at;

  if (size > table->free_bytes) {
    if (bytes > SIZE_MAX - sizeof(*chunk))
      return NULL;
    chunk = malloc(sizeof(*chunk) + bytes);
    if (!chunk)
      return NULL;
    chunk->next = table->chunks;
    table->chunks = chunk;
    table->free_at = chunk->bytes;
    table->free_bytes = bytes;
    table->held_bytes += bytes;
  }
  at = table->free_at;
  table->free_at += size;
  table->free_bytes -= size;
  return at;
}

uint32_t ul_strtab_intern(ul_strtab *table, const char *bytes, size_t size) {
  uint32_t hash = (uint32_t)XXH3_64bits(bytes, size);
  struct entry entry;
  char *copy;
  size_t slot;

  if (size >= UINT32_MAX || table->entries.count >= UINT32_MAX - 1)
    return 0;
  if (!table->slots || table->entries.count + 1 > (table->mask + 1) / 4 * 3) {
    if (!grow_slots(table))
      return 0;
  }
  slot = find_slot(table, bytes, size, hash);
  if (table->slots[slot])
    return table->slots[slot];
  copy = take(table, size + 1);
  if (!copy)
    return 0;
  memcpy(copy, bytes, size);
  copy[size] = '\0';
  entry.bytes = copy;
  entry.size = (uint32_t)size;
  entry.hash = hash;
  if (!UL_VEC_PUSH(&table->entries, entry))
    return 0;
  table->slots[slot] = (uint32_t)table->entries.count;
  return table->slots[slot];
}

uint32_t ul_strtab_find(const ul_strtab *table, const char *bytes, size_t size) {
  if (!table->slots)
    return 0;
  return table->slots[find_slot(table, bytes, size, (uint32_t)XXH3_64bits(bytes, size))];
}

const char *ul_strtab_get(const ul_strtab *table, uint32_t id, size_t *size) {
  if (!id || id > table->entries.count) {
    if (size)
      *size = 0;
    return "";
  }
  if (size)
    *size = table->entries.items[id - 1].size;
  return table->entries.items[id - 1].bytes;
}

size_t ul_strtab_count(const ul_strtab *table) {
  return table->entries.count;
}

size_t ul_strtab_bytes(const ul_strtab *table) {
  return table->held_bytes + table->entries.capacity * sizeof(struct entry) +
         (table->slots ? (table->mask + 1) * sizeof(*table->slots) : 0);
}
