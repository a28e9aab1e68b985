/* SPDX-License-Identifier: MIT */
/* Interned strings: equal bytes get equal ids, from 1. Strings stay where they are until release,
 * so pointers to them may be kept. Bytes may hold NULs; every string is also NUL-terminated. */
#ifndef UL_BASE_STRTAB_H
#define UL_BASE_STRTAB_H

#include <stddef.h>
#include <stdint.h>

typedef struct ul_strtab ul_strtab;

ul_strtab *ul_strtab_create(void); /* NULL without memory */
void ul_strtab_free(ul_strtab *table);

/* The id of these bytes, adding them if new; 0 without memory. */
uint32_t ul_strtab_intern(ul_strtab *table, const char *bytes, size_t size);

/* The id of these bytes, or 0 if they were never interned. */
uint32_t ul_strtab_find(const ul_strtab *table, const char *bytes, size_t size);

/* The string of an id; "" for 0 or an unknown id. */
const char *ul_strtab_get(const ul_strtab *table, uint32_t id, size_t *size);

size_t ul_strtab_count(const ul_strtab *table);
size_t ul_strtab_bytes(const ul_strtab *table); /* memory it holds */

#endif
