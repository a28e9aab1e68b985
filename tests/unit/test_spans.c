/* SPDX-License-Identifier: MIT */
/* Spans against a plain bitmap of 512 cells, on random insertions and removals. */
#include <string.h>

#include <criterion/criterion.h>

#include "base/spans.h"

enum { CELLS = 4096, STEPS = 40000 };

static uint64_t seed = 42;

static uint64_t next_random(uint64_t limit) {
  seed ^= seed << 13;
  seed ^= seed >> 7;
  seed ^= seed << 17;
  return seed % limit;
}

/* owner[cell]: the value of the span that covers it, 0 none */
static uint32_t owner[CELLS];

static uint32_t first_owner_from(uint64_t cell) {
  while (cell < CELLS && !owner[cell])
    cell++;
  return cell < CELLS ? owner[cell] : 0;
}

Test(spans, agree_with_a_bitmap) {
  ul_spans spans = {0}, copy;
  ul_span_at at;
  ul_span *s;
  uint32_t value = 0;

  for (int step = 0; step < STEPS; step++) {
    uint64_t cell = next_random(CELLS), length = 1 + next_random(3), i;
    s = ul_spans_above(&spans, cell * 512, &at);
    cr_assert_eq(s ? s->value : 0, first_owner_from(cell), "step %d", step);
    if (s && s->address <= cell * 512) {
      for (i = 0; i < CELLS; i++)
        owner[i] = owner[i] == s->value ? 0 : owner[i];
      ul_spans_remove(&spans, at);
    } else if (cell + length <= CELLS && (!s || s->address >= (cell + length) * 512)) {
      const ul_span fresh = {cell * 512, length * 512, ++value};
      for (i = cell; i < cell + length; i++)
        owner[i] = value;
      cr_assert(ul_spans_insert(&spans, fresh));
    }
  }
  cr_assert(ul_spans_copy(&copy, &spans));
  ul_spans_release(&spans);
  {
    uint64_t cell = 0;
    size_t count = 0;
    for (s = ul_spans_first(&copy, &at); s; s = ul_spans_next(&copy, &at), count++) {
      while (!owner[cell])
        cell++;
      cr_assert(s->address == cell * 512 && s->value == owner[cell]);
      cell += s->bytes / 512;
    }
    cr_assert_eq(count, copy.count);
  }
  ul_spans_release(&copy);
}

/* The very end of the address space is a place like any other. */
Test(spans, reach_to_the_last_byte) {
  ul_spans spans = {0};
  ul_span_at at;
  const ul_span last = {UINT64_MAX - 511, 512, 1};

  cr_assert(ul_spans_insert(&spans, last));
  cr_assert_not_null(ul_spans_above(&spans, UINT64_MAX, &at));
  cr_assert_not_null(ul_spans_above(&spans, 0, &at));
  ul_spans_release(&spans);
}
