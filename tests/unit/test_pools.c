/* SPDX-License-Identifier: MIT */
/* Private pools and routings. Every expectation was seen on the release's own library. */
#include <criterion/criterion.h>

#include "allocator/pools.h"
#include "ullage/event.h"

static ul_pools make(const char *torch) {
  const ul_profile *profile;
  ul_pools pools;

  cr_assert_eq(ul_profile_find(&profile, torch, NULL, NULL), UL_OK);
  ul_pools_init(&pools, profile);
  return pools;
}

Test(pools, of_two_routings_of_a_stream_the_release_decides_which_serves) {
  static const struct {
    const char *torch;
    uint32_t both, after_two_ended;
  } rows[] = {{"1.13", 2, 0}, {"2.0", 2, 0},  {"2.4", 1, 1},
              {"2.9", 1, 1},  {"2.10", 2, 1}, {"2.15", 2, 1}};

  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    ul_pools p = make(rows[i].torch);
    cr_assert_eq(ul_pools_begin(&p, 1, 0, 0), UL_POOLS_DONE);
    cr_assert_eq(ul_pools_begin(&p, 2, 0, 0), UL_POOLS_DONE);
    cr_expect_eq(ul_pools_route(&p, 0), rows[i].both, "%s", rows[i].torch);
    cr_assert_eq(ul_pools_end(&p, 2, 0, 0), UL_POOLS_DONE);
    cr_expect_eq(ul_pools_route(&p, 0), rows[i].after_two_ended, "%s", rows[i].torch);
    cr_assert_eq(ul_pools_end(&p, 1, 0, 0), UL_POOLS_DONE);
    cr_expect_eq(ul_pools_route(&p, 0), 0);
    ul_pools_release(&p);
  }
}

Test(pools, a_routing_takes_the_streams_of_its_release) {
  static const struct {
    const char *torch;
    uint32_t asked, other_stream;
  } rows[] = {{"2.0", 3, 1}, {"2.1", 3, 0}, {"2.4", 3, 0}, {"2.4", UL_STREAM_ALL, 1}};

  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    ul_pools p = make(rows[i].torch);
    cr_assert_eq(ul_pools_begin(&p, 1, rows[i].asked, 0), UL_POOLS_DONE);
    cr_expect_eq(ul_pools_route(&p, 3), 1);
    cr_expect_eq(ul_pools_route(&p, 5), rows[i].other_stream, "%s", rows[i].torch);
    ul_pools_release(&p);
  }
}

Test(pools, a_stream_has_one_routing_where_streams_are_routed) {
  ul_pools p = make("2.1");

  cr_assert_eq(ul_pools_begin(&p, 1, 0, 0), UL_POOLS_DONE);
  cr_expect_eq(ul_pools_begin(&p, 2, 0, 0), UL_POOLS_REFUSED);
  cr_expect_eq(ul_pools_route(&p, 0), 1);
  cr_expect_eq(ul_pools_end(&p, 2, 0, 0), UL_POOLS_DONE); /* the id does not matter */
  cr_expect_eq(ul_pools_route(&p, 0), 0);
  cr_expect(ul_pools_suspended(&p)); /* the failed begin stays counted, on 1.13.1 - 2.2.2 */
  ul_pools_release(&p);
}

Test(pools, a_second_routing_to_one_pool_is_refused_and_leaves_a_use) {
  ul_pools p = make("2.9");

  cr_assert_eq(ul_pools_begin(&p, 1, 0, 0), UL_POOLS_DONE);
  cr_expect_eq(ul_pools_begin(&p, 1, 0, 0), UL_POOLS_REFUSED);
  cr_assert_eq(ul_pools_end(&p, 1, 0, 0), UL_POOLS_DONE);
  cr_expect_eq(ul_pools_end(&p, 1, 0, 0), UL_POOLS_REFUSED);
  cr_expect(!ul_pools_suspended(&p));
  cr_assert_eq(ul_pools_drop(&p, 1), UL_POOLS_DONE);
  cr_expect_eq(ul_pools_find(&p, 1)->uses, 1);
  cr_expect(!ul_pools_find(&p, 1)->freeable);
  ul_pools_release(&p);
}

Test(pools, a_released_pool_takes_no_routing_until_it_is_gone) {
  ul_pools p = make("2.6");

  cr_expect_eq(ul_pools_drop(&p, 1), UL_POOLS_REFUSED);
  cr_assert_eq(ul_pools_begin(&p, 1, 0, 0), UL_POOLS_DONE);
  cr_assert_eq(ul_pools_end(&p, 1, 0, 0), UL_POOLS_DONE);
  cr_assert_eq(ul_pools_drop(&p, 1), UL_POOLS_DONE);
  cr_expect(ul_pools_find(&p, 1)->freeable);
  cr_expect_eq(ul_pools_begin(&p, 1, 0, 0), UL_POOLS_REFUSED);
  cr_expect_eq(ul_pools_route(&p, 0), 0);
  ul_pools_destroy(&p, ul_pools_find(&p, 1));
  cr_expect_eq(ul_pools_begin(&p, 1, 0, 0), UL_POOLS_DONE);
  cr_expect_eq(ul_pools_find(&p, 1)->uses, 1);
  ul_pools_release(&p);
}

Test(pools, one_release_too_many_breaks_the_library) {
  ul_pools p = make("2.15");

  cr_assert_eq(ul_pools_create(&p, 7, 0), UL_POOLS_DONE);
  cr_assert_eq(ul_pools_drop(&p, 7), UL_POOLS_DONE);
  cr_expect_eq(ul_pools_drop(&p, 7), UL_POOLS_REFUSED);
  ul_pools_release(&p);
}

Test(pools, captures_alone_suspend_from_2_13_on) {
  static const struct {
    const char *torch;
    int plain;
  } rows[] = {{"2.0", 1}, {"2.4", 1}, {"2.12", 1}, {"2.13", 0}, {"2.15", 0}};

  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    ul_pools p = make(rows[i].torch);
    cr_assert_eq(ul_pools_begin(&p, 1, 0, 0), UL_POOLS_DONE);
    cr_expect_eq(ul_pools_suspended(&p), rows[i].plain, "%s", rows[i].torch);
    cr_assert_eq(ul_pools_begin(&p, 2, 0, 1), UL_POOLS_DONE);
    cr_expect(ul_pools_suspended(&p));
    cr_assert_eq(ul_pools_end(&p, 2, 0, 1), UL_POOLS_DONE);
    cr_expect_eq(ul_pools_suspended(&p), rows[i].plain, "%s", rows[i].torch);
    ul_pools_release(&p);
  }
}

Test(pools, traits_exist_from_their_release_on) {
  static const struct {
    const char *torch;
    int create, on_oom, no_split;
  } rows[] = {{"2.5", 0, 0, 0}, {"2.6", 1, 0, 0}, {"2.8", 1, 1, 0}, {"2.10", 1, 1, 1}};

  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    ul_pools p = make(rows[i].torch);
    cr_expect_eq(ul_pools_create(&p, 1, 0) == UL_POOLS_DONE, rows[i].create, "%s", rows[i].torch);
    cr_expect_eq(ul_pools_register(&p, 9, UL_POOL_ON_OOM) == UL_POOLS_DONE, rows[i].on_oom, "%s",
                 rows[i].torch);
    cr_expect_eq(ul_pools_register(&p, 9, UL_POOL_NO_SPLIT) == UL_POOLS_DONE, rows[i].no_split,
                 "%s", rows[i].torch);
    ul_pools_release(&p);
  }
}

Test(pools, a_copy_is_independent) {
  ul_pools p = make("2.9"), copy;

  cr_assert_eq(ul_pools_begin(&p, 1, 0, 0), UL_POOLS_DONE);
  cr_assert(ul_pools_copy(&copy, &p));
  cr_assert_eq(ul_pools_end(&copy, 1, 0, 0), UL_POOLS_DONE);
  cr_expect_eq(ul_pools_route(&p, 0), 1);
  cr_expect_eq(ul_pools_route(&copy, 0), 0);
  ul_pools_release(&copy);
  ul_pools_release(&p);
}

/* Orders seen on the library of 2.9.1: five pools released in any order and flushed, and nineteen.
 */
Test(pools, are_flushed_in_the_order_of_a_hash_table) {
  static const uint32_t five[] = {5, 2, 4, 1, 3};
  static const uint32_t nineteen[] = {13, 5, 18, 10, 2,  15, 7, 12, 4, 17,
                                      9,  1, 14, 6,  19, 11, 3, 16, 8};
  static const uint32_t apart[] = {13, 3000, 7, 12, 100}, ids[] = {100, 7, 3000, 12, 13};
  ul_pools p = make("2.9"), q = make("2.9");
  size_t at = 0, i;

  for (uint32_t id = 1; id <= 19; id++) {
    cr_assert_eq(ul_pools_create(&p, id, 0), UL_POOLS_DONE);
    cr_assert_eq(ul_pools_drop(&p, id), UL_POOLS_DONE);
    if (id == 5) {
      for (i = 0; i < 5; i++)
        cr_expect_eq(ul_pools_next_freeable(&p, &at), five[i]);
      cr_expect_eq(ul_pools_next_freeable(&p, &at), 0u);
    }
  }
  for (i = 0, at = 0; i < 19; i++)
    cr_expect_eq(ul_pools_next_freeable(&p, &at), nineteen[i]);
  for (i = 0; i < 5; i++)
    cr_assert_eq(ul_pools_register(&q, ids[i], UL_POOL_ON_OOM), UL_POOLS_DONE);
  for (i = 0, at = 0; i < 5; i++)
    cr_expect_eq(ul_pools_next_on_oom(&q, &at), apart[i]);
  ul_pools_release(&p);
  ul_pools_release(&q);
}
