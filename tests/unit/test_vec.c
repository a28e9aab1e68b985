/* SPDX-License-Identifier: MIT */
#include "base/vec.h"

#include <stdint.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

typedef UL_VEC(uint64_t) numbers;

Test(vec, push_keeps_what_was_there) {
  numbers vec = {0};
  uint64_t i;

  for (i = 0; i < 100000; i++)
    cr_assert(eq(int, UL_VEC_PUSH(&vec, i * i), 1));
  cr_assert(eq(sz, vec.count, 100000));
  cr_assert(vec.capacity >= vec.count && vec.capacity < 2 * vec.count);
  for (i = 0; i < 100000; i++)
    cr_assert(eq(u64, vec.items[i], i * i));
  UL_VEC_RELEASE(&vec);
  cr_expect(eq(ptr, vec.items, NULL));
  cr_expect(eq(sz, vec.capacity, 0));
}

Test(vec, reserve_makes_room_once) {
  numbers vec = {0};
  uint64_t *items;

  cr_assert(eq(int, UL_VEC_RESERVE(&vec, 1000), 1));
  items = vec.items;
  vec.count = 990;
  cr_assert(eq(int, UL_VEC_RESERVE(&vec, 10), 1));
  cr_expect(eq(ptr, vec.items, items));
  cr_assert(eq(int, UL_VEC_RESERVE(&vec, 2000), 1));
  cr_expect(vec.capacity >= 2990);
  UL_VEC_RELEASE(&vec);
}

Test(vec, sizes_beyond_memory_fail_and_change_nothing) {
  numbers vec = {0};
  void *items;
  size_t capacity;

  cr_assert(eq(int, UL_VEC_PUSH(&vec, 7), 1));
  items = vec.items;
  capacity = vec.capacity;
  cr_expect(not(ul_vec_grow((void **)&vec.items, &vec.capacity, SIZE_MAX, sizeof(uint64_t))));
  cr_expect(not(ul_vec_grow((void **)&vec.items, &vec.capacity, SIZE_MAX / 8, sizeof(uint64_t))));
  cr_expect(eq(ptr, vec.items, items));
  cr_expect(eq(sz, vec.capacity, capacity));
  cr_expect(eq(u64, vec.items[0], 7));
  UL_VEC_RELEASE(&vec);
}
