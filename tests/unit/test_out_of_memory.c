/* SPDX-License-Identifier: MIT */
/* Every request for memory that reading a snapshot makes fails once: the reader says so, gives
 * everything back and leaves nothing behind. The linker sends malloc, calloc and realloc here. */
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "ullage/source.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);

static int counting;
static size_t requests, failing; /* which request fails, from 1; 0 none */

static int refused(void) {
  return counting && ++requests == failing;
}

void *__wrap_malloc(size_t size) {
  return refused() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
  return refused() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size) {
  return refused() ? NULL : __real_realloc(memory, size);
}

static ul_status open_failing(const char *path, size_t which, ul_error *err) {
  ul_source *source = NULL;
  ul_status status;

  memset(err, 0, sizeof(*err));
  requests = 0;
  failing = which;
  counting = 1;
  status = ul_source_open(&source, path, NULL, err);
  counting = 0;
  cr_assert(eq(int, status == UL_OK, source != NULL));
  ul_source_close(source);
  return status;
}

static void fail_each(const char *path) {
  size_t which, served = 0;
  ul_status status;
  ul_error err;

  cr_assert(eq(int, open_failing(path, 0, &err), UL_OK), "%s", err.message);
  cr_assert(gt(sz, requests, 30));
  for (which = 1;; which++) {
    status = open_failing(path, which, &err);
    if (requests < which)
      break;
    if (status == UL_OK) {
      served++; /* giving room back may fail unnoticed */
      continue;
    }
    cr_assert(eq(int, status, UL_E_NOMEM), "request %zu: %s", which, err.message);
    cr_assert(strstr(err.message, "not enough memory") != NULL, "%s", err.message);
  }
  cr_expect(le(sz, served, 2));
}

Test(out_of_memory, reading_a_pickle) {
  fail_each(UL_TEST_DATA "/snapshots/tiny_p4.pickle");
  fail_each(UL_TEST_DATA "/snapshots/tiny_p0.pickle");
  fail_each(UL_TEST_DATA "/snapshots/history_113.pickle");
}

Test(out_of_memory, through_a_carrier) {
  fail_each(UL_TEST_DATA "/../fuzz/corpus/snapshot/gzip");
  fail_each(UL_TEST_DATA "/../fuzz/corpus/snapshot/zstd");
}
