/* SPDX-License-Identifier: MIT */
/* Events that no program makes: every field of them may hold anything. Each is applied, refused as
 * an event, or breaks the modelled allocator in so many words; the state stays whole and usable,
 * and both models say the same. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include <criterion/criterion.h>

#include "ullage/model.h"
#include "ullage/models.h"

enum { SEEDS = 150, EVENTS = 250 };

static uint64_t next(uint64_t *seed) {
  *seed ^= *seed << 13;
  *seed ^= *seed >> 7;
  *seed ^= *seed << 17;
  return *seed;
}

static uint64_t pick(uint64_t *seed, const uint64_t *values, size_t count) {
  return values[next(seed) % count];
}

#define PICK(seed, ...)                         \
  pick((seed), (const uint64_t[]){__VA_ARGS__}, \
       sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

static uint64_t any_bytes(uint64_t *seed) {
  return PICK(seed, 0, 1, 511, 512, 513, 1 << 20, (1 << 20) + 1, 3 << 20, 10 << 20, 50 << 20,
              UINT64_C(1) << 40, UINT64_C(1) << 60, UINT64_C(1) << 63, UINT64_MAX, UINT64_MAX - 511,
              UINT64_MAX - (2 << 20), UINT64_MAX - (2 << 20) - 1, next(seed) % (30 << 20),
              next(seed));
}

static ul_event any_event(uint64_t *seed, uint32_t *handle) {
  ul_event e = {0};

  e.kind = (uint8_t)PICK(seed, UL_EVENT_ALLOC, UL_EVENT_ALLOC, UL_EVENT_ALLOC, UL_EVENT_FREE,
                         UL_EVENT_FREE, next(seed) % UL_EVENT_KIND_COUNT,
                         next(seed) % UL_EVENT_KIND_COUNT, next(seed) % 256);
  e.flags = (uint8_t)PICK(seed, 0, 0, 0, next(seed) % 256);
  e.stream = (uint32_t)PICK(seed, 0, 0, 1, 2, UINT32_MAX, UINT32_MAX - 1, next(seed));
  e.pool = (uint32_t)PICK(seed, 0, 0, 0, 1, 2, UINT32_MAX, next(seed));
  e.bytes = any_bytes(seed);
  e.time_ns =
      PICK(seed, 0, 512, 513, 2 << 20, UINT64_MAX, UINT64_MAX - 511, UINT64_C(1) << 44, next(seed));
  e.handle = PICK(seed, *handle, *handle, 0, UINT32_MAX, UINT64_MAX, next(seed),
                  *handle ? next(seed) % *handle : 0);
  if (e.kind == UL_EVENT_ALLOC && next(seed) % 4)
    e.handle = ++*handle;
  if (e.kind == UL_EVENT_FREE && *handle)
    e.handle = 1 + next(seed) % *handle;
  return e;
}

static void any_options(ul_model_options *o, uint64_t *seed) {
  static const char *const settings[] = {NULL,
                                         "",
                                         "expandable_segments:True",
                                         "max_split_size_mb:21",
                                         "garbage_collection_threshold:0.5",
                                         "roundup_power2_divisions:4"};
  const char *text = settings[next(seed) % 6];
  size_t releases = 0;

  while (ul_release_at(releases))
    releases++;
  o->size = sizeof(*o);
  o->torch = ul_release_at(next(seed) % releases)->name;
  o->settings = text && strstr(text, "expand") && strcmp(o->torch, "2.1") < 0 ? NULL : text;
  o->device_bytes = PICK(seed, 0, 1, 2 << 20, 64 << 20, UINT64_C(1) << 34, (UINT64_C(1) << 60) - 1,
                         next(seed) >> 4);
  o->external_bytes = PICK(seed, 0, 0, 0, 1, UINT64_MAX, next(seed));
  o->address_policy = (ul_address_policy)PICK(seed, UL_ADDRESS_FIRST_FIT, UL_ADDRESS_RISING,
                                              UL_ADDRESS_RISING_APART);
  o->stream_events = (ul_stream_events)(next(seed) % 3);
  o->every_call = 1;
  o->checked = 1;
}

typedef struct pair {
  ul_model *one, *other;
} pair;

static int apply_to_both(const pair *p, const ul_event *e, uint64_t seed, size_t number) {
  ul_outcome one, other;
  ul_error err = {0};
  ul_status status = ul_model_apply(p->one, e, NULL, &one, &err), second;

  cr_assert(status == UL_OK || status == UL_E_INVALID || status == UL_E_UNSUPPORTED,
            "seed %" PRIu64 ", event %zu, kind %u, handle %" PRIu64 ", stream %u, pool %u, bytes "
            "%" PRIu64 ", flags %u: %s",
            seed, number, (unsigned)e->kind, e->handle, e->stream, e->pool, e->bytes, e->flags,
            err.message);
  if (!p->other)
    return status == UL_OK && one.result != UL_OUTCOME_BROKEN;
  second = ul_model_apply(p->other, e, NULL, &other, &err);
  cr_assert_eq(status, second, "seed %" PRIu64 ", event %zu, kind %u: %s", seed, number,
               (unsigned)e->kind, err.message);
  if (status != UL_OK)
    return 0;
  cr_assert_eq(one.result, other.result, "seed %" PRIu64 ", event %zu, kind %u: %s / %s", seed,
               number, (unsigned)e->kind, one.reason ? one.reason : "",
               other.reason ? other.reason : "");
  if (one.result == UL_OUTCOME_SERVED)
    cr_assert_eq(one.address, other.address, "seed %" PRIu64 ", event %zu", seed, number);
  return one.result != UL_OUTCOME_BROKEN;
}

static void live(const char *first, const char *second, uint64_t number) {
  uint64_t seed = UINT64_C(0x9e3779b97f4a7c15) * (number + 1);
  ul_model_options o = {0};
  uint32_t handle = 0;
  pair p = {NULL, NULL};
  ul_error err = {0};
  size_t i;

  any_options(&o, &seed);
  o.backend = first;
  cr_assert_eq(ul_model_create(&p.one, &o, &err), UL_OK, "%s", err.message);
  o.backend = second;
  if (second)
    cr_assert_eq(ul_model_create(&p.other, &o, &err), UL_OK, "%s", err.message);
  for (i = 0; i < EVENTS; i++) {
    const ul_event e = any_event(&seed, &handle);
    if (!apply_to_both(&p, &e, number, i))
      break;
  }
  ul_model_destroy(p.one);
  ul_model_destroy(p.other);
}

Test(hostile_events, are_the_same_to_both_models) {
  for (uint64_t i = 0; i < SEEDS; i++)
    live("native", "naive", i);
}

Test(hostile_events, leave_the_other_backends_whole) {
  for (uint64_t i = 0; i < SEEDS; i++) {
    live("direct", NULL, i);
    live("async", NULL, i);
  }
}

Test(hostile_events, options_out_of_range_are_errors) {
  ul_model_options o = {.size = sizeof(o)};
  ul_model *model;
  ul_error err = {0};

  o.address_policy = (ul_address_policy)77;
  cr_expect_eq(ul_model_create(&model, &o, &err), UL_E_INVALID, "%s", err.message);
  o.address_policy = UL_ADDRESS_FIRST_FIT;
  o.stream_events = (ul_stream_events)77;
  cr_expect_eq(ul_model_create(&model, &o, &err), UL_E_INVALID, "%s", err.message);
  o.stream_events = UL_STREAM_EVENTS_AT_ONCE;
  o.variable = (ul_settings_variable)77;
  cr_expect_eq(ul_model_create(&model, &o, &err), UL_E_INVALID, "%s", err.message);
  o.variable = UL_SETTINGS_CUDA;
  o.device_bytes = UINT64_C(1) << 60;
  cr_expect_eq(ul_model_create(&model, &o, &err), UL_E_INVALID, "%s", err.message);
  o.device_bytes = 0;
  o.torch = "nonsense";
  cr_expect_eq(ul_model_create(&model, &o, &err), UL_E_SETTING, "%s", err.message);
}

Test(hostile_events, null_arguments_are_errors) {
  ul_event e = {.kind = UL_EVENT_ALLOC, .handle = 1, .bytes = 1};
  ul_model_options o = {.size = sizeof(o)};
  ul_model *model = NULL, *copy;
  ul_outcome outcome;
  ul_state state;
  ul_error err;

  cr_expect_eq(ul_model_create(NULL, &o, &err), UL_E_INVALID);
  cr_assert_eq(ul_model_create(&model, NULL, NULL), UL_OK);
  cr_expect_eq(ul_model_apply(NULL, &e, NULL, &outcome, &err), UL_E_INVALID);
  cr_expect_eq(ul_model_apply(model, NULL, NULL, &outcome, &err), UL_E_INVALID);
  cr_expect_eq(ul_model_apply(model, &e, NULL, NULL, &err), UL_E_INVALID);
  cr_expect_eq(ul_model_apply_batch(model, NULL, 1, NULL, NULL, &err), UL_E_INVALID);
  cr_expect_eq(ul_model_apply_batch(model, NULL, 0, NULL, NULL, &err), UL_OK);
  cr_expect_eq(ul_model_load(model, NULL, &err), UL_E_INVALID);
  cr_expect_eq(ul_model_clone(NULL, model, &err), UL_E_INVALID);
  cr_expect_eq(ul_model_clone(&copy, NULL, &err), UL_E_INVALID);
  cr_expect_eq(ul_model_state(NULL, &state, &err), UL_E_INVALID);
  cr_expect_eq(ul_model_state(model, NULL, &err), UL_E_INVALID);
  cr_expect_eq(ul_model_snapshot(NULL, &state, &err), UL_E_INVALID);
  cr_expect_eq(ul_model_check(NULL, &err), UL_E_INVALID);
  cr_expect_eq(ul_model_configure(NULL, "", &err), UL_E_INVALID);
  cr_expect_eq(ul_model_configure(model, NULL, &err), UL_OK);
  cr_expect_eq(ul_model_record_history(NULL, 1, 1, &err), UL_E_INVALID);
  cr_expect_eq(ul_model_record_history(model, 1, UINT64_MAX, &err), UL_OK);
  cr_expect_eq(ul_model_history(NULL, NULL, 5), 0);
  cr_expect_eq(ul_model_stats(NULL, NULL, 5), 0);
  cr_expect_eq(ul_model_message(NULL, NULL, 0), 0);
  cr_expect_str_empty(ul_model_raises(NULL, "x"));
  cr_expect_str_empty(ul_model_raises(model, NULL));
  cr_expect_null(ul_model_totals(NULL));
  ul_model_reset_peak(NULL);
  ul_model_reset_accumulated(NULL);
  cr_expect_eq(ul_model_fraction_limit(model, (double)NAN), ul_model_fraction_limit(model, 0));
  ul_model_destroy(NULL);
  cr_expect_eq(ul_model_apply(model, &e, NULL, &outcome, &err), UL_OK);
  cr_expect_eq(outcome.result, UL_OUTCOME_SERVED);
  ul_model_destroy(model);
}
