/* SPDX-License-Identifier: MIT */
/* Blocks that wait for other streams. The expectations about captures were seen on the releases'
 * own libraries (docs/model.md); the rest follows from events of a stream passing in order. */
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "allocator/waits.h"
#include "ullage/event.h"

static ul_waits make(const char *torch, ul_stream_events mode) {
  const ul_profile *profile;
  ul_waits waits;

  cr_assert_eq(ul_profile_find(&profile, torch, NULL, NULL), UL_OK);
  ul_waits_init(&waits, mode, profile);
  return waits;
}

/* What a poll makes free, as "1,2". */
static const char *listed(const ul_waits *w) {
  static char text[128];
  size_t used = 0;

  text[0] = '\0';
  for (size_t i = 0; i < w->done.count; i++)
    used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%u", i ? "," : "",
                             (unsigned)w->done.items[i]);
  return text;
}

static const char *poll(ul_waits *w) {
  cr_assert(ul_waits_poll(w));
  return listed(w);
}

static void use_and_free(ul_waits *w, uint64_t key, uint32_t stream) {
  cr_assert(ul_waits_use(w, key, stream, 0));
  cr_assert(ul_waits_free(w, key, NULL, 0, 0));
}

Test(waits, an_event_passes_when_the_mode_says_so) {
  ul_waits now = make("2.9", UL_STREAM_EVENTS_AT_ONCE),
           sync = make("2.9", UL_STREAM_EVENTS_ON_SYNC);

  use_and_free(&now, 5, 1);
  cr_expect(ul_waits_ready(&now));
  cr_expect_str_eq(poll(&now), "5");
  cr_expect(!ul_waits_ready(&now));
  use_and_free(&sync, 5, 1);
  cr_expect(!ul_waits_ready(&sync));
  cr_expect_str_eq(poll(&sync), "");
  ul_waits_sync(&sync, 2);
  cr_expect_str_eq(poll(&sync), "");
  ul_waits_sync(&sync, 1);
  cr_expect(ul_waits_ready(&sync));
  cr_expect_str_eq(poll(&sync), "5");
  cr_expect(!ul_waits_has(&sync, 5));
  ul_waits_release(&now);
  ul_waits_release(&sync);
}

Test(waits, work_after_the_sync_is_not_waited_for) {
  ul_waits w = make("2.9", UL_STREAM_EVENTS_ON_SYNC);

  use_and_free(&w, 1, 1);
  use_and_free(&w, 2, 1);
  ul_waits_sync(&w, UL_STREAM_ALL);
  use_and_free(&w, 3, 1);
  cr_expect_str_eq(poll(&w), "1,2");
  cr_expect_str_eq(poll(&w), "");
  cr_expect_eq(w.waiting, 1);
  ul_waits_release(&w);
}

Test(waits, each_stream_that_used_a_block_must_pass) {
  ul_waits w = make("2.9", UL_STREAM_EVENTS_ON_SYNC);

  cr_assert(ul_waits_use(&w, 1, 7, 0));
  cr_assert(ul_waits_use(&w, 1, 3, 0));
  cr_assert(ul_waits_use(&w, 1, 7, 0)); /* a set */
  cr_assert(ul_waits_free(&w, 1, NULL, 0, 0));
  ul_waits_sync(&w, 7);
  cr_expect_str_eq(poll(&w), "");
  ul_waits_sync(&w, 3);
  cr_expect_str_eq(poll(&w), "1");
  ul_waits_release(&w);
}

/* Orders seen on the libraries of 2.1.2, 2.9.1 and 2.15.0. */
Test(waits, streams_are_polled_in_the_order_of_a_hash_table) {
  ul_waits w = make("2.9", UL_STREAM_EVENTS_AT_ONCE);

  use_and_free(&w, 1, 9);
  use_and_free(&w, 2, 4);
  use_and_free(&w, 3, 9);
  cr_expect_str_eq(poll(&w), "1,3,2");
  for (uint32_t stream = 9; stream; stream--)
    use_and_free(&w, stream, stream);
  cr_expect_str_eq(poll(&w), "2,7,3,8,4,9,5,1,6");
  ul_waits_release(&w);
}

Test(waits, a_recording_completes_blocks_by_name_in_any_order) {
  ul_waits w = make("2.9", UL_STREAM_EVENTS_RECORDED);

  for (uint64_t key = 1; key <= 1000; key++) {
    use_and_free(&w, key, (uint32_t)(1 + key % 3));
    if (key % 2)
      continue;
    cr_assert(ul_waits_complete(&w, key));
    cr_assert(!ul_waits_complete(&w, key));
  }
  cr_expect_eq(w.waiting, 500);
  for (size_t i = 0; i < w.lines.count; i++) /* what went is not kept for ever */
    cr_expect_leq(w.lines.items[i].events.count, 500u);
  cr_expect_str_eq(poll(&w), "");
  cr_assert(ul_waits_wait(&w, UL_WAITS_EVERY_POOL));
  cr_expect_eq(w.done.count, 500u);
  cr_expect_eq(w.waiting, 0);
  ul_waits_release(&w);
}

Test(waits, a_key_may_come_back) {
  ul_waits w = make("2.9", UL_STREAM_EVENTS_ON_SYNC);

  use_and_free(&w, 1, 1);
  cr_assert(ul_waits_complete(&w, 1));
  use_and_free(&w, 1, 2);
  ul_waits_sync(&w, 1); /* the old event is over, the new one is not */
  cr_expect_str_eq(poll(&w), "");
  ul_waits_sync(&w, 2);
  cr_expect_str_eq(poll(&w), "1");
  ul_waits_release(&w);
}

Test(waits, deferred_blocks_lose_captured_uses_from_2_4_on) {
  static const struct {
    const char *torch, *first_poll;
  } rows[] = {{"2.0", ""}, {"2.2", ""}, {"2.4", "1,3"}, {"2.15", "1,3"}};

  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    ul_waits w = make(rows[i].torch, UL_STREAM_EVENTS_ON_SYNC);
    cr_assert(ul_waits_use(&w, 3, 1, 0));
    cr_assert(ul_waits_use(&w, 2, 1, 0));
    cr_assert(ul_waits_use(&w, 1, 1, 1)); /* captured only */
    cr_assert(ul_waits_free(&w, 1, NULL, 0, 1));
    cr_assert(ul_waits_free(&w, 2, NULL, 0, 1)); /* used before only */
    cr_assert(ul_waits_use(&w, 3, 1, 1));        /* before and captured, the same stream */
    cr_assert(ul_waits_free(&w, 3, NULL, 0, 1));
    ul_waits_sync(&w, UL_STREAM_ALL); /* nothing is recorded yet */
    cr_expect(ul_waits_ready(&w));
    cr_expect_str_eq(poll(&w), rows[i].first_poll, "%s", rows[i].torch);
    ul_waits_sync(&w, UL_STREAM_ALL);
    cr_expect_eq(strlen(poll(&w)), strlen(rows[i].first_poll) ? 1u : 5u, "%s", rows[i].torch);
    ul_waits_release(&w);
  }
}

Test(waits, a_wait_for_one_pool_leaves_the_others_but_their_streams_have_passed) {
  ul_waits w = make("2.9", UL_STREAM_EVENTS_ON_SYNC);

  cr_assert(ul_waits_use(&w, 1, 1, 0) && ul_waits_free(&w, 1, NULL, 0, 0));
  cr_assert(ul_waits_use(&w, 2, 1, 0) && ul_waits_free(&w, 2, NULL, 6, 0));
  cr_assert(ul_waits_use(&w, 3, 1, 0) && ul_waits_free(&w, 3, NULL, 0, 0));
  cr_expect(ul_waits_pool_waits(&w, 6));
  cr_expect(!ul_waits_pool_waits(&w, 5));
  cr_assert(ul_waits_wait(&w, 6));
  cr_expect_str_eq(listed(&w), "2");
  cr_expect_str_eq(poll(&w), "1"); /* recorded before the event that was waited for */
  cr_expect_str_eq(poll(&w), "");
  ul_waits_release(&w);
}

Test(waits, a_copy_goes_its_own_way) {
  ul_waits w = make("2.9", UL_STREAM_EVENTS_ON_SYNC), copy;

  use_and_free(&w, 1, 1);
  cr_assert(ul_waits_use(&w, 2, 1, 1) && ul_waits_free(&w, 2, NULL, 0, 1));
  cr_assert(ul_waits_copy(&copy, &w));
  ul_waits_sync(&copy, 1);
  cr_expect_str_eq(poll(&copy), "2,1");
  cr_expect_str_eq(poll(&w), "2");
  cr_expect_eq(w.waiting, 1);
  ul_waits_release(&copy);
  ul_waits_release(&w);
}

Test(waits, blocks_of_unknown_streams_pass_when_all_do) {
  ul_waits w = make("2.9", UL_STREAM_EVENTS_ON_SYNC);

  cr_assert(ul_waits_hold(&w, 4, 0));
  ul_waits_sync(&w, 1);
  cr_expect_str_eq(poll(&w), "");
  ul_waits_sync(&w, UL_STREAM_ALL);
  cr_expect_str_eq(poll(&w), "4");
  ul_waits_release(&w);
}
