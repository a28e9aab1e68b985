/* SPDX-License-Identifier: MIT */
#include "base/idmap.h"

#include <stdlib.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

Test(idmap, an_empty_map_holds_nothing) {
  ul_idmap map = UL_IDMAP_INIT;

  cr_expect(eq(u32, ul_idmap_get(&map, 0), 0));
  cr_expect(eq(u32, ul_idmap_remove(&map, 7), 0));
  ul_idmap_clear(&map);
  ul_idmap_release(&map);
}

Test(idmap, the_key_zero_is_a_key) {
  ul_idmap map = UL_IDMAP_INIT;

  cr_assert(ul_idmap_set(&map, 0, 5));
  cr_expect(eq(u32, ul_idmap_get(&map, 0), 5));
  cr_assert(ul_idmap_set(&map, 0, 6));
  cr_expect(eq(u32, ul_idmap_remove(&map, 0), 6));
  cr_expect(eq(u32, ul_idmap_get(&map, 0), 0));
  cr_expect(eq(sz, map.count, 0));
  ul_idmap_release(&map);
}

/* Against an array indexed by a small key, with keys that look like block addresses. */
Test(idmap, agrees_with_an_array_over_long_runs) {
  enum { KEYS = 600, STEPS = 200000 };
  static uint32_t truth[KEYS];
  ul_idmap map = UL_IDMAP_INIT, copy = UL_IDMAP_INIT;
  uint64_t random = 12345, key;
  size_t live = 0;
  uint32_t i, k, value;

  for (i = 0; i < STEPS; i++) {
    random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
    k = (uint32_t)(random >> 33) % KEYS;
    key = UINT64_C(0x7f0000000000) + (uint64_t)k * 512;
    value = (uint32_t)(random >> 40) | 1;
    if (random & 1 << 20) {
      live += truth[k] == 0;
      truth[k] = value;
      cr_assert(ul_idmap_set(&map, key, value));
    } else {
      live -= truth[k] != 0;
      cr_assert(eq(u32, ul_idmap_remove(&map, key), truth[k]));
      truth[k] = 0;
    }
    cr_assert(eq(sz, map.count, live));
  }
  cr_assert(ul_idmap_copy(&copy, &map));
  for (k = 0; k < KEYS; k++) {
    key = UINT64_C(0x7f0000000000) + (uint64_t)k * 512;
    cr_assert(eq(u32, ul_idmap_get(&map, key), truth[k]));
    cr_assert(eq(u32, ul_idmap_get(&copy, key), truth[k]));
  }
  ul_idmap_clear(&map);
  cr_expect(eq(sz, map.count, 0));
  cr_expect(eq(u32, ul_idmap_get(&map, UINT64_C(0x7f0000000000)), 0));
  cr_expect(eq(sz, copy.count, live), "a copy is its own");
  ul_idmap_release(&map);
  ul_idmap_release(&copy);
}
