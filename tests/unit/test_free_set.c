/* SPDX-License-Identifier: MIT */
/* The ordered set against a plain sorted array, on random operations. */
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "allocator/free_set_fast.h"

enum { STEPS = 20000, LIMIT = 3000 };

struct plain {
  ul_free_entry entries[LIMIT];
  size_t count;
};

static uint64_t state = 88172645463325252u;

static uint64_t next_random(void) {
  state ^= state << 13;
  state ^= state >> 7;
  return state ^= state << 17;
}

static size_t plain_lower_bound(const struct plain *p, uint64_t bytes, uint64_t tie) {
  size_t i = 0;
  while (i < p->count &&
         (p->entries[i].bytes < bytes || (p->entries[i].bytes == bytes && p->entries[i].tie < tie)))
    i++;
  return i;
}

static void plain_insert(struct plain *p, ul_free_entry entry) {
  size_t at = plain_lower_bound(p, entry.bytes, entry.tie);
  memmove(&p->entries[at + 1], &p->entries[at], (p->count++ - at) * sizeof(entry));
  p->entries[at] = entry;
}

static void plain_remove(struct plain *p, size_t at) {
  memmove(&p->entries[at], &p->entries[at + 1], (--p->count - at) * sizeof(p->entries[0]));
}

static void compare_walks(ul_free_set *set, const struct plain *p) {
  ul_free_at at;
  ul_free_entry e = ul_free_set_first(set, &at);
  size_t i;

  for (i = 0; i < p->count; i++, e = ul_free_set_next(set, &at))
    cr_assert(e.block == p->entries[i].block, "forward, position %zu", i);
  cr_assert_eq(e.block, 0u);
  e = ul_free_set_last(set, &at);
  for (i = p->count; i-- > 0; e = ul_free_set_previous(set, &at))
    cr_assert(e.block == p->entries[i].block, "backward, position %zu", i);
  cr_assert_eq(e.block, 0u);
}

static void agree(ul_free_index index, unsigned sizes) {
  static struct plain p;
  ul_free_set set, copy;
  uint32_t step;

  p.count = 0;
  ul_free_set_init(&set, index);
  for (step = 1; step <= STEPS; step++) {
    const int grow = p.count < LIMIT - 1 && next_random() % 100 < (step % 8000 < 4000 ? 60u : 40u);
    if (grow) {
      ul_free_entry entry = {512 * (1 + next_random() % sizes), step, step};
      cr_assert(ul_free_set_insert(&set, entry));
      plain_insert(&p, entry);
    } else if (p.count) {
      size_t victim = next_random() % p.count;
      cr_assert(ul_free_set_remove(&set, p.entries[victim].bytes, p.entries[victim].tie));
      plain_remove(&p, victim);
    }
    {
      uint64_t bytes = 512 * (next_random() % (sizes + 20));
      size_t want = plain_lower_bound(&p, bytes, 0);
      const ul_free_entry got = ul_free_set_lower_bound(&set, bytes, NULL);
      cr_assert_eq(got.block, want < p.count ? p.entries[want].block : 0, "step %u", step);
    }
    if (p.count && step % 3 == 0) { /* the best fit, taken out and put back */
      uint64_t bytes = 512 * (1 + next_random() % sizes);
      size_t want = plain_lower_bound(&p, bytes, 0);
      const uint32_t block = ul_free_take_fit(&set, bytes);
      cr_assert_eq(block, want < p.count ? p.entries[want].block : 0, "step %u", step);
      if (block)
        cr_assert(ul_free_put(&set, p.entries[want]));
    }
    cr_assert_eq(set.count, p.count);
    if (step % 1000 == 0)
      compare_walks(&set, &p);
  }
  cr_assert(ul_free_set_copy(&copy, &set));
  cr_assert_not(ul_free_set_remove(&set, 512, UINT64_MAX), "an entry that is not there");
  ul_free_set_release(&set);
  compare_walks(&copy, &p);
  ul_free_set_release(&copy);
}

Test(free_set, directory_agrees_with_a_sorted_array) {
  agree(UL_FREE_DIRECTORY, 400);   /* sizes recur */
  agree(UL_FREE_DIRECTORY, 7);     /* hundreds of blocks of one size */
  agree(UL_FREE_DIRECTORY, 60000); /* nearly all sizes differ: leaves split and are cleaned */
}

Test(free_set, units_agree_with_a_sorted_array) {
  agree(UL_FREE_BY_UNITS, 400);
  agree(UL_FREE_BY_UNITS, 7);
  agree(UL_FREE_BY_UNITS, 4076);
}

static void add(ul_free_set *set, struct plain *p, uint64_t bytes) {
  const ul_free_entry entry = {bytes, bytes, (uint32_t)bytes};

  cr_assert(ul_free_set_insert(set, entry));
  plain_insert(p, entry);
}

/* A full leaf drops the sizes that nothing has any more, its largest among them, and a size that
 * came to it belongs to the next leaf, which is full as well. */
Test(free_set, finds_room_when_a_leaf_and_its_neighbour_are_full) {
  static struct plain p;
  ul_free_set set;
  uint64_t bytes;
  size_t i;

  ul_free_set_init(&set, UL_FREE_DIRECTORY);
  for (bytes = 10; bytes <= 650; bytes += 10) /* 65 sizes: two leaves, up to 320 and from 330 on */
    add(&set, &p, bytes);
  for (bytes = 651; bytes <= 681; bytes++)
    add(&set, &p, bytes);
  for (bytes = 101; bytes <= 135; bytes++) { /* 32 sizes that are no tens */
    if (bytes % 10)
      add(&set, &p, bytes);
  }
  for (i = p.count; i-- > 0;) {
    if (p.entries[i].bytes > 10 && p.entries[i].bytes <= 320) {
      cr_assert(ul_free_set_remove(&set, p.entries[i].bytes, p.entries[i].tie));
      plain_remove(&p, i);
    }
  }
  for (bytes = 315; bytes < 320; bytes++)
    add(&set, &p, bytes);
  compare_walks(&set, &p);
  ul_free_set_release(&set);
}
