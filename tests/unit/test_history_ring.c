/* SPDX-License-Identifier: MIT */
/* The allocator's own history. Expectations: what the releases' libraries keep of entries 1, 2, 3
 * ... when recording is switched as the comment says (docs/model.md). */
#include <stdio.h>

#include <criterion/criterion.h>

#include "allocator/history.h"

static ul_history make(const char *torch) {
  const ul_profile *profile;
  ul_history history;

  cr_assert_eq(ul_profile_find(&profile, torch, NULL, NULL), UL_OK);
  ul_history_init(&history, profile);
  return history;
}

static void note(ul_history *h, uint64_t first, uint64_t last) {
  for (; first <= last; first++)
    cr_assert(ul_history_note(h, UL_ACTION_ALLOC, first, 512, 0));
}

static const char *listed(const ul_history *h) {
  static char text[128];
  ul_history_entry entries[32];
  size_t count = ul_history_list(h, entries, 32), used = 0;

  text[0] = '\0';
  cr_assert_leq(count, 32u);
  for (size_t i = 0; i < count; i++)
    used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%u", i ? "," : "",
                             (unsigned)entries[i].address);
  return text;
}

static void record(ul_history *h, int enabled, uint64_t max) {
  ul_error err = {0};

  cr_assert_eq(ul_history_record(h, enabled, max, &err), UL_OK, "%s", err.message);
}

Test(history_ring, keeps_the_last_entries) {
  ul_history h = make("2.9");

  note(&h, 1, 3);
  cr_expect_str_eq(listed(&h), ""); /* nothing before it is switched on */
  record(&h, 1, 3);
  note(&h, 4, 5);
  cr_expect_str_eq(listed(&h), "4,5");
  note(&h, 6, 11);
  cr_expect_str_eq(listed(&h), "9,10,11");
  ul_history_release(&h);
}

Test(history_ring, none_is_one) {
  ul_history h = make("2.1");

  record(&h, 1, 0);
  note(&h, 1, 5);
  cr_expect_str_eq(listed(&h), "5");
  ul_history_release(&h);
}

Test(history_ring, switching_on_again_clears_it_through_2_3_and_off_always) {
  static const struct {
    const char *torch, *again;
  } rows[] = {{"2.0", "2"}, {"2.2", "2"}, {"2.4", "1,2"}, {"2.15", "1,2"}};

  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    ul_history h = make(rows[i].torch);
    record(&h, 1, 10);
    note(&h, 1, 1);
    record(&h, 1, 10);
    note(&h, 2, 2);
    cr_expect_str_eq(listed(&h), rows[i].again, "%s", rows[i].torch);
    record(&h, 0, 10);
    note(&h, 3, 3);
    cr_expect_str_eq(listed(&h), "");
    ul_history_release(&h);
  }
}

Test(history_ring, a_raised_limit_goes_on_behind_what_is_kept) {
  ul_history h = make("2.4"); /* 6 entries with a limit of 3, then 4 with 5 */

  record(&h, 1, 3);
  note(&h, 1, 6);
  record(&h, 1, 5);
  note(&h, 7, 10);
  cr_expect_str_eq(listed(&h), "6,7,8,9,10");
  ul_history_release(&h);
}

Test(history_ring, a_lowered_limit_keeps_stale_entries_or_breaks) {
  ul_history h = make("2.4"), broken = make("2.9");
  ul_error err = {0};

  record(&h, 1, 5); /* 6 entries with a limit of 5, then 5 with 3 */
  note(&h, 1, 6);
  record(&h, 1, 3);
  note(&h, 7, 11);
  cr_expect_str_eq(listed(&h), "9,10,11,4,5");
  record(&broken, 1, 5); /* 8 entries with a limit of 5: the next one is written at 3 */
  note(&broken, 1, 8);
  cr_expect_eq(ul_history_record(&broken, 1, 3, &err), UL_E_STATE);
  cr_expect_str_eq(listed(&broken), "4,5,6,7,8");
  ul_history_release(&h);
  ul_history_release(&broken);
}

Test(history_ring, the_oldest_release_records_nothing) {
  ul_history h = make("1.13");

  record(&h, 1, 5);
  note(&h, 1, 8);
  cr_expect_str_eq(listed(&h), "");
  ul_history_release(&h);
}

/* The last entry's bytes. */
static uint64_t last_bytes(const ul_history *h) {
  ul_history_entry entries[32];
  const size_t count = ul_history_list(h, entries, 32);

  return count ? entries[count - 1].bytes : 0;
}

/* 2.0.1: an end of use is written if the block's memory was handed out while recording, now or
 * then, with the request of the lowest such use; a cut takes uses of what was cut off along. */
Test(history_ring, chains_tell_what_2_0_knows) {
  ul_history h = make("2.0");
  uint32_t low = 0, high = 0;

  cr_assert(ul_history_begin_use(&h, &low, 4096, 512, 100)); /* not recording */
  cr_expect_eq(low, 0u);
  record(&h, 1, 5);
  cr_assert(ul_history_begin_use(&h, &low, 4096, 512, 100));
  cr_assert(ul_history_begin_use(&h, &high, 8192, 512, 200));
  ul_history_join(&h, &low, high);
  record(&h, 0, 5);
  cr_assert(ul_history_note_end(&h, UL_ACTION_FREE_REQUESTED, 4096, 1, 0, low));
  cr_expect_eq(last_bytes(&h), 100u);
  cr_assert(ul_history_note_end(&h, UL_ACTION_FREE_REQUESTED, 4096, 3, 0, 0)); /* none */
  cr_expect_eq(last_bytes(&h), 100u);
  cr_assert(ul_history_note_end(&h, UL_ACTION_SEGMENT_FREE, 4096, 2, 0, low));
  cr_expect_eq(last_bytes(&h), 2u);
  ul_history_cut(&h, &low, 8192); /* not while recording is off */
  cr_assert(ul_history_note_end(&h, UL_ACTION_FREE_COMPLETED, 4096, 1, 0, low));
  cr_expect_eq(last_bytes(&h), 100u);
  record(&h, 1, 5);
  ul_history_cut(&h, &low, 8192);
  cr_assert(ul_history_note_end(&h, UL_ACTION_FREE_COMPLETED, 4096, 1, 0, low));
  cr_expect_eq(last_bytes(&h), 200u);
  ul_history_drop(&h, low);
  ul_history_release(&h);
}
