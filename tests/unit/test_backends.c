/* SPDX-License-Identifier: MIT */
/* The backends without caches of blocks: direct and async. What is served where, and the texts, are
 * what the compiled libraries gave with PYTORCH_NO_CUDA_MEMORY_CACHING=1 and with
 * backend:cudaMallocAsync on a driver that hands out multiples of 2 MiB; what the pool keeps is
 * arithmetic. */
#include <string.h>

#include <criterion/criterion.h>

#include "ullage/model.h"

#define MIB (UINT64_C(1) << 20)

static ul_model *create(const char *backend, const char *settings, uint64_t device_bytes) {
  ul_model_options o = {.size = sizeof(o), .backend = backend, .settings = settings};
  ul_model *model;
  ul_error err;

  o.device_bytes = device_bytes;
  o.address_policy = UL_ADDRESS_FIRST_FIT;
  o.checked = 1;
  o.every_call = 1;
  cr_assert_eq(ul_model_create(&model, &o, &err), UL_OK, "%s", err.message);
  return model;
}

static ul_outcome apply(ul_model *model, ul_event_kind kind, uint64_t handle, uint64_t bytes) {
  ul_event event = {.kind = (uint8_t)kind, .handle = handle, .bytes = bytes};
  ul_outcome outcome;
  ul_error err;

  cr_assert_eq(ul_model_apply(model, &event, NULL, &outcome, &err), UL_OK, "%s", err.message);
  return outcome;
}

static ul_outcome alloc(ul_model *model, uint64_t handle, uint64_t bytes) {
  return apply(model, UL_EVENT_ALLOC, handle, bytes);
}

static uint64_t stat(const ul_model *model, const char *name) {
  ul_stat stats[256];
  size_t count = ul_model_stats(model, stats, 256), i;

  for (i = 0; i < count && strcmp(stats[i].name, name) != 0; i++)
    ;
  cr_assert_lt(i, count, "%s", name);
  return stats[i].value;
}

Test(backends, direct_asks_the_driver_for_every_request) {
  ul_model *model = create("direct", NULL, 1024 * MIB);
  char text[64];
  ul_outcome o;

  o = alloc(model, 1, 700);
  cr_expect_eq(o.result, UL_OUTCOME_SERVED);
  cr_expect_eq(o.call_count, 1u);
  cr_expect_eq(o.calls[0].kind, UL_DRIVER_SEGMENT_ALLOC);
  cr_expect_eq(o.calls[0].bytes, 700u); /* unrounded */
  o = alloc(model, 2, 3000000);
  cr_expect_eq(o.address, 2 * MIB);
  o = apply(model, UL_EVENT_FREE, 1, 0);
  cr_expect_eq(o.call_count, 1u);
  cr_expect_eq(o.calls[0].kind, UL_DRIVER_SEGMENT_FREE);
  cr_expect_eq(o.calls[0].bytes, 2 * MIB);
  o = alloc(model, 3, 800); /* nothing is cached */
  cr_expect_eq(o.address, 0u);
  cr_expect_eq(o.call_count, 1u);
  apply(model, UL_EVENT_SET_FRACTION, 0, 10 * MIB); /* obeyed by the caching allocator only */
  cr_expect_eq(alloc(model, 4, 900 * MIB).result, UL_OUTCOME_SERVED);
  o = alloc(model, 5, 200 * MIB);
  cr_expect_eq(o.result, UL_OUTCOME_OOM);
  cr_expect_eq(o.calls[0].kind, UL_DRIVER_ALLOC_REFUSED);
  cr_expect(o.preempted); /* nobody observes it */
  ul_model_message(model, text, sizeof(text));
  cr_expect_str_eq(text, "CUDA error: out of memory");
  cr_expect_eq(ul_model_totals(model)->reserved_bytes, (2 + 4 + 900) * MIB);
  cr_expect_eq(ul_model_totals(model)->live_bytes, 800 + 3000000 + 900 * MIB);
  cr_expect_eq(stat(model, "reserved_bytes.all.current"), 0u); /* PyTorch counts none of it */
  apply(model, UL_EVENT_EMPTY_CACHE, 0, 0);
  cr_expect_eq(stat(model, "num_sync_all_streams"), 1u);
  cr_expect_not(ul_model_is_approximate(model));
  ul_model_destroy(model);
}

Test(backends, async_keeps_what_was_freed) {
  ul_model *model = create(NULL, "backend:cudaMallocAsync", 1024 * MIB);
  const ul_totals *t = ul_model_totals(model);

  cr_expect(ul_model_is_approximate(model));
  alloc(model, 1, 300 * MIB);
  alloc(model, 2, 300 * MIB);
  apply(model, UL_EVENT_FREE, 1, 0);
  cr_expect_eq(t->reserved_bytes, 600 * MIB);
  cr_expect_eq(t->releasable_bytes, 300 * MIB);
  cr_expect_eq(alloc(model, 3, 100 * MIB).call_count, 0u);
  cr_expect_eq(t->reserved_bytes, 600 * MIB);
  cr_expect_eq(stat(model, "allocated_bytes.all.current"), 400 * MIB);
  cr_expect_eq(stat(model, "reserved_bytes.all.current"), 600 * MIB);
  cr_expect_eq(stat(model, "allocated_bytes.all.peak"), 600 * MIB);
  apply(model, UL_EVENT_EMPTY_CACHE, 0, 0);
  cr_expect_eq(t->reserved_bytes, 400 * MIB);
  cr_expect_eq(stat(model, "reserved_bytes.all.peak"), 600 * MIB);
  cr_expect_eq(alloc(model, 4, 625 * MIB).result, UL_OUTCOME_OOM);
  cr_expect_eq(alloc(model, 4, 624 * MIB).result, UL_OUTCOME_SERVED);
  ul_model_destroy(model);
}

/* The fraction of cudaMallocAsync counts requested bytes: 700 + 3000000 + 533870000 fit into half
 * of 1 GiB, 536870912, and 213 more would not. */
Test(backends, async_limits_what_programs_asked_for) {
  ul_model *model = create("async", NULL, 1024 * MIB);
  char text[512];

  apply(model, UL_EVENT_SET_FRACTION, 0, ul_model_fraction_limit(model, 0.5));
  alloc(model, 1, 700);
  alloc(model, 2, 3000000);
  cr_expect_eq(alloc(model, 3, 533870000).result, UL_OUTCOME_SERVED);
  cr_expect_eq(alloc(model, 4, 213).result, UL_OUTCOME_OOM);
  cr_expect_eq(alloc(model, 4, 212).result, UL_OUTCOME_SERVED);
  cr_expect_eq(ul_model_fraction_limit(model, 1.0), 1024 * MIB);
  apply(model, UL_EVENT_EXTERNAL_BYTES, 0, 100 * MIB);
  cr_expect_eq(alloc(model, 5, 600000000).result, UL_OUTCOME_OOM);
  ul_model_message(model, text, sizeof(text));
  cr_expect_str_eq(text, "Allocation on device 0 would exceed allowed memory. (out of memory)\n"
                         "Currently allocated     : 512.00 MiB\n"
                         "Requested               : 572.20 MiB\n"
                         "Device limit            : 1024.00 MiB\n"
                         "Free (according to CUDA): 410.00 MiB\n"
                         "PyTorch limit (set by user-supplied memory fraction)\n"
                         "                        : 512.00 MiB");
  ul_model_destroy(model);
}

/* 2.3 - 2.9 write the device's index as a character, so that the text ends at device 0. */
Test(backends, async_text_is_cut_off_by_some_releases) {
  ul_model_options o = {.size = sizeof(o), .torch = "2.9", .backend = "async"};
  ul_model *model;
  char text[512];

  o.device_bytes = MIB;
  cr_assert_eq(ul_model_create(&model, &o, NULL), UL_OK);
  cr_expect_eq(alloc(model, 1, 2 * MIB).result, UL_OUTCOME_OOM);
  ul_model_message(model, text, sizeof(text));
  cr_expect_str_eq(text, "Allocation on device ");
  ul_model_destroy(model);
}

/* PyTorch reads nothing else at the start, and all of it when settings are made at run time. */
Test(backends, async_reads_no_other_key_at_the_start) {
  ul_model *model = create(NULL, "backend:cudaMallocAsync,nonsense:1", 0), *copy;
  ul_model_options o = {.size = sizeof(o), .settings = "nonsense:1,backend:native"};
  ul_error err;

  cr_expect_eq(ul_model_configure(model, "max_split_size_mb:32", &err), UL_E_SETTING);
  cr_expect(strstr(err.message, "nonsense"), "%s", err.message);
  cr_assert_eq(ul_model_clone(&copy, model, &err), UL_OK);
  ul_model_destroy(model);
  cr_expect_eq(ul_model_configure(copy, "max_split_size_mb:32", &err), UL_E_SETTING);
  ul_model_destroy(copy);
  model = create(NULL, "backend:cudaMallocAsync,max_split_size_mb:64", 0);
  cr_expect_eq(ul_model_configure(model, "nonsense:1", &err), UL_E_SETTING);
  cr_expect_eq(ul_model_configure(model, "max_split_size_mb:32", &err), UL_OK);
  cr_expect_eq(ul_model_configure(model, "backend:native", &err), UL_E_SETTING);
  ul_model_destroy(model);
  cr_expect_eq(ul_model_create(&model, &o, &err), UL_E_SETTING);
  o.settings = "backend:cudaMallocAsync";
  o.backend = "direct";
  cr_expect_eq(ul_model_create(&model, &o, &err), UL_E_SETTING);
  cr_expect(strstr(err.message, "the backend direct was asked for"), "%s", err.message);
  o.torch = "1.13"; /* before that key */
  o.backend = NULL;
  cr_expect_eq(ul_model_create(&model, &o, &err), UL_E_SETTING);
  o.torch = NULL; /* another build's variable */
  o.variable = UL_SETTINGS_HIP;
  cr_expect_eq(ul_model_create(&model, &o, &err), UL_OK);
  cr_expect_not(ul_model_is_approximate(model));
  ul_model_destroy(model);
}

static void refuses_nonsense(const char *backend) {
  ul_model *model = create(backend, NULL, 0), *copy;
  ul_state state;
  ul_error err;

  cr_expect_eq(alloc(model, 1, 0).result, UL_OUTCOME_DONE); /* a null pointer */
  cr_expect_eq(alloc(model, 1, 5 * MIB).result, UL_OUTCOME_SERVED);
  cr_expect_eq(alloc(model, 1, 5 * MIB).result, UL_OUTCOME_REJECTED);
  cr_expect_eq(alloc(model, 2, UINT64_MAX).result, UL_OUTCOME_OOM);
  cr_expect_eq(alloc(model, 2, UINT64_C(1) << 63).result, UL_OUTCOME_OOM);
  cr_expect_eq(apply(model, UL_EVENT_FREE, 3, 0).result, UL_OUTCOME_REJECTED);
  cr_expect_eq(apply(model, UL_EVENT_STREAM_USE, 3, 0).result, UL_OUTCOME_REJECTED);
  cr_expect_eq(apply(model, UL_EVENT_ALLOC_AT, 4, 512).result, UL_OUTCOME_REJECTED);
  cr_expect_eq(apply(model, (ul_event_kind)200, 4, 512).result, UL_OUTCOME_REJECTED);
  alloc(model, 2, 1 * MIB);
  alloc(model, 3, 3 * MIB);
  cr_assert_eq(ul_model_clone(&copy, model, &err), UL_OK);
  apply(model, UL_EVENT_FREE, 1, 0);
  apply(model, UL_EVENT_FREE, 2, 0);
  cr_expect_eq(apply(model, UL_EVENT_FREE, 2, 0).result, UL_OUTCOME_REJECTED);
  cr_assert_eq(ul_model_state(model, &state, &err), UL_OK);
  cr_assert_eq(state.segment_count, 1u);
  cr_expect_eq(state.blocks[0].handle, 3u);
  cr_expect_eq(state.blocks[0].requested_bytes, 3 * MIB);
  cr_assert_eq(ul_model_state(copy, &state, &err), UL_OK);
  cr_expect_eq(state.segment_count, 3u);
  ul_model_destroy(model);
  cr_expect_eq(apply(copy, UL_EVENT_FREE, 1, 0).result, UL_OUTCOME_DONE);
  ul_model_destroy(copy);
}

Test(backends, direct_refuses_nonsense) {
  refuses_nonsense("direct");
}

Test(backends, async_refuses_nonsense) {
  refuses_nonsense("async");
}

/* What a program holds goes on; what another allocator had cached does not. */
Test(backends, start_from_a_state) {
  const ul_block blocks[] = {
      {.bytes = 3 * MIB, .requested_bytes = 3 * MIB - 8, .handle = 7, .state = 1},
      {.address = 3 * MIB, .bytes = 15 * MIB},
      {.address = 18 * MIB, .bytes = 1 * MIB, .state = 1}, /* two that no event names */
      {.address = 19 * MIB, .bytes = 1 * MIB, .state = 1},
  };
  const ul_segment segment = {.bytes = 20 * MIB, .block_count = 4};
  const ul_state state = {&segment, blocks, 1, 4};
  ul_model *model = create("direct", NULL, 8 * MIB);
  ul_error err;

  cr_assert_eq(ul_model_load(model, &state, &err), UL_OK, "%s", err.message);
  cr_expect_eq(ul_model_totals(model)->reserved_bytes, 8 * MIB);
  cr_expect_eq(ul_model_totals(model)->live_bytes, 5 * MIB - 8);
  cr_expect_eq(apply(model, UL_EVENT_FREE, 7, 0).result, UL_OUTCOME_DONE);
  ul_model_destroy(model);
  model = create("async", NULL, 2 * MIB);
  cr_expect_eq(ul_model_load(model, &state, &err), UL_E_INVALID);
  ul_model_destroy(model);
}
