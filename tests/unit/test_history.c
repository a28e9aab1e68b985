/* SPDX-License-Identifier: MIT */
/* The time before a recording: a model lives through random events and writes them down as PyTorch
 * would; the first part of the tape is thrown away; what is left must be proved all the same. Here
 * the model is the truth and the conclusions are under test. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "base/vec.h"
#include "replay/attempt.h"
#include "replay/tail_choices.h"

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)

enum { EMPTY_CACHE_STACK = 1000000, HANDLES = 4096 };

struct tape {
  ul_model *model;
  UL_VEC(ul_event) events;
  UL_VEC(uint64_t) addresses;
  UL_VEC(uint8_t) actions;
  uint64_t handles;
  uint8_t used[HANDLES];
  uint64_t address[HANDLES], bytes[HANDLES];
};

static uint64_t seed = 7;

static uint64_t next_random(uint64_t limit) {
  seed ^= seed << 13;
  seed ^= seed >> 7;
  seed ^= seed << 17;
  return seed % limit;
}

static void write_entry(struct tape *t, uint8_t action, ul_event event, uint64_t address) {
  cr_assert(UL_VEC_PUSH(&t->events, event) && UL_VEC_PUSH(&t->addresses, address) &&
            UL_VEC_PUSH(&t->actions, action));
}

static void write_calls(struct tape *t, const ul_outcome *outcome, uint32_t stack) {
  for (uint32_t i = 0; i < outcome->call_count; i++) {
    const ul_driver_call *c = &outcome->calls[i];
    const ul_event event = {.bytes = c->bytes, .stream = c->stream, .stack = stack};
    write_entry(t, c->kind, event, c->address);
  }
}

static ul_outcome apply(struct tape *t, const ul_event *event) {
  ul_outcome outcome;
  ul_error err = {0};

  cr_assert_eq(ul_model_apply(t->model, event, NULL, &outcome, &err), UL_OK, "%s", err.message);
  cr_assert_neq(outcome.result, UL_OUTCOME_REJECTED, "%s", outcome.reason);
  return outcome;
}

/* Returns the handle, 0 if the device is full. */
static uint64_t allocate(struct tape *t, uint64_t bytes, uint32_t stream) {
  const uint64_t handle = ++t->handles;
  ul_event event = {.kind = UL_EVENT_ALLOC, .handle = handle, .bytes = bytes, .stream = stream};
  ul_outcome outcome;

  cr_assert_lt(handle, (uint64_t)HANDLES);
  event.stack = (uint32_t)handle;
  outcome = apply(t, &event);
  write_calls(t, &outcome, event.stack);
  if (outcome.result == UL_OUTCOME_OOM) {
    event.flags = UL_EVENT_OOM;
    event.bytes = outcome.block_bytes;
    write_entry(t, UL_ACTION_OOM, event, 12345);
    return 0;
  }
  t->address[handle] = outcome.address;
  t->bytes[handle] = bytes;
  write_entry(t, UL_ACTION_ALLOC, event, outcome.address);
  return handle;
}

static void use(struct tape *t, uint64_t handle) {
  const ul_event event = {.kind = UL_EVENT_STREAM_USE, .handle = handle, .stream = 9};
  apply(t, &event);
  t->used[handle] = 1;
}

static void complete(struct tape *t, uint64_t handle) {
  const ul_event event = {.kind = UL_EVENT_COMPLETE, .handle = handle, .bytes = t->bytes[handle]};
  apply(t, &event);
  write_entry(t, UL_ACTION_FREE_COMPLETED, event, t->address[handle]);
}

static void release(struct tape *t, uint64_t handle) {
  ul_event event = {.kind = UL_EVENT_FREE, .handle = handle, .bytes = t->bytes[handle]};
  apply(t, &event);
  if (t->used[handle])
    event.flags = UL_EVENT_DEFERRED;
  write_entry(t, UL_ACTION_FREE_REQUESTED, event, t->address[handle]);
  if (!t->used[handle])
    complete(t, handle);
}

static void empty_cache(struct tape *t) {
  const ul_event event = {.kind = UL_EVENT_EMPTY_CACHE};
  ul_outcome outcome = apply(t, &event);
  write_calls(t, &outcome, EMPTY_CACHE_STACK);
}

static void start(struct tape *t, const char *settings, uint64_t device_bytes) {
  ul_model_options o = {.size = sizeof(o), .torch = "2.9"};
  ul_error err = {0};

  memset(t, 0, sizeof(*t));
  o.settings = settings;
  o.device_bytes = device_bytes;
  cr_assert_eq(ul_model_create(&t->model, &o, &err), UL_OK, "%s", err.message);
}

static void stop(struct tape *t) {
  ul_model_destroy(t->model);
  UL_VEC_RELEASE(&t->events);
  UL_VEC_RELEASE(&t->addresses);
  UL_VEC_RELEASE(&t->actions);
}

/* The tape from entry `first` on, as a recording; its arrays belong to the tape. */
static ul_recording cut(struct tape *t, size_t first) {
  ul_recording r = {.count = t->events.count - first, .handle_count = t->handles, .has_trace = 1};
  unsigned char known[HANDLES] = {0};
  ul_error err = {0};

  for (size_t i = first; i < t->events.count; i++) {
    ul_event *e = &t->events.items[i];
    e->flags &= (uint8_t)~UL_EVENT_BEFORE_RECORDING;
    if (e->kind == UL_EVENT_ALLOC)
      known[e->handle] = 1;
    else if (e->handle && !known[e->handle])
      e->flags |= UL_EVENT_BEFORE_RECORDING;
    r.action_counts[t->actions.items[i]]++;
  }
  r.events = t->events.items + first;
  r.addresses = t->addresses.items + first;
  r.actions = t->actions.items + first;
  cr_assert_eq(ul_model_state(t->model, &r.final_state, &err), UL_OK);
  return r;
}

/* Replays it, learning remainders as the product does. */
static ul_proof prove(const ul_recording *r, const char *settings, size_t *rounds) {
  ul_tail_choices choices = {NULL, 0, 0};
  ul_attempt_options options = {.torch = "2.9", .with_proof = 1, .stop_after = UL_NO_EVENT};
  ul_history *history;
  ul_attempt attempt;
  ul_proof proof;
  ul_error err = {0};
  int learnt = 1;

  options.settings = settings;
  options.choices = &choices;
  cr_assert_eq(ul_history_build(&history, NULL, r, &err), UL_OK, "%s", err.message);
  for (*rounds = 0; learnt == 1 && *rounds < 50; ++*rounds) {
    cr_assert_eq(ul_attempt_run(&attempt, history, &options, &err), UL_OK, "%s", err.message);
    cr_assert_eq(ul_model_check(attempt.model, &err), UL_OK, "%s", err.message);
    proof = attempt.prover.proof;
    learnt = ul_tail_choices_learn(&choices, history, &attempt);
    ul_attempt_release(&attempt);
  }
  UL_VEC_RELEASE(&choices);
  ul_history_free(history);
  return proof;
}

static uint64_t random_bytes(void) {
  switch (next_random(4)) {
  case 0:
    return 1 + next_random(4000);
  case 1:
    return 1 + next_random(MIB);
  case 2:
    return MIB + 1 + next_random(9 * MIB);
  default:
    return 10 * MIB + next_random(30 * MIB);
  }
}

static void live(struct tape *t, unsigned steps, int with_streams) {
  uint64_t alive[HANDLES], pending[HANDLES];
  size_t alive_count = 0, pending_count = 0, at;

  for (unsigned i = 0; i < steps; i++) {
    uint64_t dice = next_random(100), handle;
    if (dice < 2) {
      while (pending_count) /* empty_cache waits for them */
        complete(t, pending[--pending_count]);
      empty_cache(t);
    } else if (dice < 55 || !alive_count) {
      if (pending_count && next_random(2))
        complete(t, pending[--pending_count]);
      handle = allocate(t, random_bytes(), with_streams ? (uint32_t)next_random(2) : 0);
      if (handle)
        alive[alive_count++] = handle;
    } else {
      at = next_random(alive_count);
      handle = alive[at];
      alive[at] = alive[--alive_count];
      if (with_streams && next_random(4) == 0)
        use(t, handle);
      release(t, handle);
      if (t->used[handle])
        pending[pending_count++] = handle;
    }
  }
}

static void live_and_prove(const char *settings, uint64_t device_bytes, int with_streams) {
  for (int life = 0; life < 12; life++) {
    static struct tape t;
    size_t rounds;
    start(&t, settings, device_bytes);
    live(&t, 700, with_streams);
    for (int piece = 0; piece < 6; piece++) {
      size_t first = piece ? next_random(t.events.count - 2) : 0;
      ul_recording r = cut(&t, first);
      ul_proof proof = prove(&r, settings, &rounds);
      cr_assert(proof.holds, "'%s', life %d, from entry %zu of %zu: %s (%" PRIu64 " ambiguous)",
                settings, life, first, t.events.count, proof.first_difference.text,
                proof.ambiguous_blocks);
      if (!first)
        cr_assert_eq(proof.assisted, 0u);
    }
    stop(&t);
  }
}

Test(history, any_rest_of_a_recording_is_proved, .timeout = 200) {
  live_and_prove("", 0, 0);
  live_and_prove("", 0, 1);
  live_and_prove("expandable_segments:True", 0, 0);
  live_and_prove("expandable_segments:True", 0, 1);
  live_and_prove("max_split_size_mb:25", 0, 0);
}

Test(history, out_of_memory_is_replayed, .timeout = 200) {
  live_and_prove("", 700 * MIB, 0);
  live_and_prove("expandable_segments:True", 600 * MIB, 0);
}

/* A, 4 MiB, keeps a remainder of 512 KiB: it took a free block of 4.5 MiB whole. B behind it, 5
 * MiB, is freed. The recording begins: a request of 5.25 MiB does not fit B's place and goes to a
 * new segment, where a plain reading of the state (A is 4 MiB, 5.5 MiB are free) would put it
 * behind A. */
Test(history, a_block_passed_over_tells_a_remainder) {
  static struct tape t;
  uint64_t first, a, b, c;
  size_t rounds, begin;
  ul_recording r;
  ul_proof proof;

  start(&t, "", 0);
  first = allocate(&t, 4 * MIB + 512 * KIB, 0);
  b = allocate(&t, 5 * MIB, 0);
  c = allocate(&t, 9 * MIB, 0);
  release(&t, first);
  a = allocate(&t, 4 * MIB, 0);
  release(&t, b);
  begin = t.events.count;
  allocate(&t, 5 * MIB + 256 * KIB, 0);
  release(&t, a);
  release(&t, c);
  r = cut(&t, begin);
  proof = prove(&r, "", &rounds);
  cr_expect(proof.holds, "%s", proof.first_difference.text);
  cr_expect_eq(rounds, 2u, "the first run differs, the second knows why");
  cr_expect_eq(proof.assisted, 1u);
  /* larger remainders of A fit as well; and C may or may not have one before its 1.5 MiB of room */
  cr_expect_eq(proof.ambiguous_blocks, 2u, "%" PRIu64, proof.ambiguous_blocks);
  stop(&t);
}

/* The address of the block behind tells the remainder itself. */
Test(history, a_block_behind_tells_a_remainder) {
  static struct tape t;
  uint64_t first, a, b;
  size_t rounds, begin;
  ul_recording r;
  ul_proof proof;

  start(&t, "", 0);
  first = allocate(&t, 4 * MIB + 512 * KIB, 0);
  b = allocate(&t, 5 * MIB, 0);
  allocate(&t, 9 * MIB, 0);
  release(&t, first);
  a = allocate(&t, 4 * MIB, 0);
  release(&t, b);
  begin = t.events.count;
  allocate(&t, 3 * MIB, 0);
  release(&t, a);
  r = cut(&t, begin);
  proof = prove(&r, "", &rounds);
  cr_expect(proof.holds, "%s", proof.first_difference.text);
  cr_expect_eq(rounds, 1u);
  cr_expect_eq(proof.assisted, 1u);
  cr_expect_eq(proof.exact, 0u);
  cr_expect_eq(proof.ambiguous_blocks, 0u, "%" PRIu64, proof.ambiguous_blocks);
  stop(&t);
}
