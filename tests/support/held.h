/* SPDX-License-Identifier: MIT */
/* Memory of one test, given back when it ends: TestSuite(name, .fini = release_held). */
#ifndef UL_TESTS_SUPPORT_HELD_H
#define UL_TESTS_SUPPORT_HELD_H

#include <stdlib.h>

#include <criterion/criterion.h>

enum { HELD_MAX = 256 };
static void *held[HELD_MAX];
static size_t held_count;

static inline void *hold(size_t size) {
  void *memory = calloc(1, size ? size : 1);

  cr_assert(memory != NULL && held_count < HELD_MAX);
  held[held_count++] = memory;
  return memory;
}

static inline void release_held(void) {
  while (held_count)
    free(held[--held_count]);
}

#endif
