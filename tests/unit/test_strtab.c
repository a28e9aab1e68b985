/* SPDX-License-Identifier: MIT */
#include "base/strtab.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

Test(strtab, equal_bytes_are_one_string) {
  ul_strtab *table = ul_strtab_create();
  size_t size;
  uint32_t a, b;

  cr_assert(table != NULL);
  a = ul_strtab_intern(table, "frames", 6);
  b = ul_strtab_intern(table, "frame", 5);
  cr_expect(eq(u32, a, 1));
  cr_expect(eq(u32, b, 2));
  cr_expect(eq(u32, ul_strtab_intern(table, "frames", 6), a));
  cr_expect(eq(u32, ul_strtab_find(table, "frames", 6), a));
  cr_expect(eq(u32, ul_strtab_find(table, "framesX", 7), 0));
  cr_expect(eq(str, (char *)ul_strtab_get(table, b, &size), (char *)"frame"));
  cr_expect(eq(sz, size, 5));
  cr_expect(eq(sz, ul_strtab_count(table), 2));
  ul_strtab_free(table);
}

Test(strtab, empty_strings_nul_bytes_and_unknown_ids) {
  ul_strtab *table = ul_strtab_create();
  size_t size = 9;
  uint32_t empty, nul;

  cr_expect(eq(u32, ul_strtab_find(table, "", 0), 0));
  empty = ul_strtab_intern(table, "", 0);
  nul = ul_strtab_intern(table, "a\0b", 3);
  cr_expect(empty && nul && empty != nul);
  cr_expect(eq(u32, ul_strtab_intern(table, "a", 1), nul + 1), "a NUL does not end a string");
  cr_expect(memcmp(ul_strtab_get(table, nul, &size), "a\0b", 4) == 0);
  cr_expect(eq(sz, size, 3));
  cr_expect(eq(str, (char *)ul_strtab_get(table, 0, &size), (char *)""));
  cr_expect(eq(sz, size, 0));
  cr_expect(eq(str, (char *)ul_strtab_get(table, 99, NULL), (char *)""));
  ul_strtab_free(table);
  ul_strtab_free(NULL);
}

Test(strtab, pointers_stay_while_it_grows) {
  enum { STRINGS = 20000 };
  ul_strtab *table = ul_strtab_create();
  const char *first;
  char text[32], *large = calloc(1, 200000);
  uint32_t i;
  size_t size;

  cr_assert(eq(u32, ul_strtab_intern(table, "first", 5), 1));
  first = ul_strtab_get(table, 1, NULL);
  for (i = 0; i < STRINGS; i++) {
    snprintf(text, sizeof(text), "string %u", i);
    cr_assert(eq(u32, ul_strtab_intern(table, text, strlen(text)), i + 2));
  }
  cr_assert(ne(u32, ul_strtab_intern(table, large, 200000), 0)); /* larger than a chunk */
  for (i = 0; i < STRINGS; i++) {
    snprintf(text, sizeof(text), "string %u", i);
    cr_assert(eq(u32, ul_strtab_find(table, text, strlen(text)), i + 2));
    cr_assert(eq(str, (char *)ul_strtab_get(table, i + 2, &size), text));
  }
  cr_expect(eq(ptr, (void *)first, (void *)ul_strtab_get(table, 1, NULL)));
  cr_expect(eq(str, (char *)first, (char *)"first"));
  cr_expect(ul_strtab_bytes(table) > 200000 + STRINGS * 8);
  ul_strtab_free(table);
  free(large);
}
