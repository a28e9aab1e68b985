/* SPDX-License-Identifier: MIT */
/* The fast model against its naive twin on random events: same answers, same driver calls, same
 * sums, same blocks; all invariants of the fast one after each step. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#include "ullage/model.h"

#define MIB ((uint64_t)1 << 20)

enum { HANDLES = 160, STEPS = 2500, COMPARE_STATES_EVERY = 25 };

struct life {
  char settings[72];
  uint64_t device_mib;  /* 0 unlimited */
  int first_release;    /* index into releases */
  int fraction_percent; /* 0 none */
};

static const char *const releases[] = {"1.13", "2.1", "2.4", "2.9", "2.11", "2.12", "2.13", "2.15"};
enum { RELEASES = sizeof(releases) / sizeof(releases[0]) };

static struct life lives[] = {
    {"", 0, 0, 0},
    {"", 900, 0, 0},
    {"max_split_size_mb:30", 1200, 0, 0},
    {"roundup_power2_divisions:4", 0, 0, 0},
    {"garbage_collection_threshold:0.5", 1500, 0, 80},
    {"garbage_collection_threshold:0.6,max_split_size_mb:40", 1500, 0, 70},
    {"per_process_memory_fraction:0.6,garbage_collection_threshold:0.5", 1500, 4, 0},
    {"expandable_segments:True", 0, 1, 0},
    {"expandable_segments:True", 800, 1, 0},
    {"expandable_segments:True,max_split_size_mb:30", 1000, 3, 0},
};

static uint64_t seed;

static uint64_t next_random(uint64_t limit) {
  seed ^= seed << 13;
  seed ^= seed >> 7;
  seed ^= seed << 17;
  return seed % limit;
}

static ul_model *create(const char *backend, const char *torch, const struct life *l) {
  ul_model_options o = {.size = sizeof(o), .address_policy = UL_ADDRESS_FIRST_FIT};
  ul_model *model;
  ul_error err = {0};

  o.backend = backend;
  o.torch = torch;
  o.settings = l->settings;
  o.device_bytes = l->device_mib * MIB;
  cr_assert_eq(ul_model_create(&model, &o, &err), UL_OK, "%s", err.message);
  return model;
}

static void compare_states(ul_model *a, ul_model *b, const char *where, int step) {
  ul_state x, y;
  ul_error err = {0};

  cr_assert_eq(ul_model_state(a, &x, &err), UL_OK);
  cr_assert_eq(ul_model_state(b, &y, &err), UL_OK);
  cr_assert_eq(x.segment_count, y.segment_count, "%s step %d", where, step);
  for (uint32_t i = 0; i < x.segment_count; i++) {
    const ul_segment *s = &x.segments[i], *t = &y.segments[i];
    cr_assert(s->address == t->address && s->bytes == t->bytes && s->stream == t->stream &&
                  s->pool == t->pool && s->block_count == t->block_count,
              "%s step %d: segment %u", where, step, i);
    for (uint32_t j = 0; j < s->block_count; j++) {
      const ul_block *p = &x.blocks[s->first_block + j], *q = &y.blocks[t->first_block + j];
      cr_assert(p->address == q->address && p->bytes == q->bytes && p->state == q->state &&
                    (p->state == UL_BLOCK_INACTIVE || p->requested_bytes == q->requested_bytes),
                "%s step %d: block at 0x%" PRIx64, where, step, p->address);
    }
  }
}

static uint64_t random_bytes(void) {
  static const uint64_t limits[] = {3000, MIB, 4 * MIB, 12 * MIB, 70 * MIB};
  /* a few sizes come again and again, so that ties decide */
  return next_random(3) ? 1 + next_random(limits[next_random(5)])
                        : (1 + next_random(4)) * limits[next_random(5)];
}

static ul_event random_event(const unsigned char *live) {
  const uint64_t handle = 1 + next_random(HANDLES), dice = next_random(100);
  ul_event e = {.handle = handle};

  if (dice < 2) {
    e.kind = UL_EVENT_EMPTY_CACHE;
    e.handle = 0;
  } else if (dice == 2) {
    e.kind = UL_EVENT_POOL_RELEASE;
    e.handle = 0;
    e.pool = 2;
  } else if (!live[handle]) {
    e.kind = UL_EVENT_ALLOC;
    e.bytes = random_bytes();
    e.stream = (uint32_t)next_random(4) / 3;
    e.pool = (uint32_t)next_random(6) / 4;
  } else if (dice < 15 && live[handle] == 1) {
    e.kind = UL_EVENT_STREAM_USE;
    e.stream = (uint32_t)next_random(2);
  } else {
    e.kind = live[handle] == 1 ? UL_EVENT_FREE : UL_EVENT_COMPLETE;
  }
  return e;
}

static void live_twice(const struct life *l, const char *torch) {
  ul_model *fast = create("native", torch, l), *naive = create("naive", torch, l);
  unsigned char live[HANDLES + 1] = {0};
  char where[128];
  ul_error err = {0};

  snprintf(where, sizeof(where), "'%s' on %s, %" PRIu64 " MiB", l->settings, torch, l->device_mib);
  for (int step = -1; step < STEPS; step++) {
    ul_event e = random_event(live);
    ul_outcome a, b;
    if (step < 0) {
      if (!l->fraction_percent)
        continue;
      e = (ul_event){.kind = UL_EVENT_SET_FRACTION,
                     .bytes = l->device_mib * MIB * (unsigned)l->fraction_percent / 100};
    }
    cr_assert_eq(ul_model_apply(fast, &e, NULL, &a, &err), UL_OK, "%s", err.message);
    cr_assert_eq(ul_model_apply(naive, &e, NULL, &b, &err), UL_OK, "%s", err.message);
    cr_assert_eq(a.result, b.result, "%s step %d: result %d, naive %d", where, step, a.result,
                 b.result);
    cr_assert_eq(a.address, b.address, "%s step %d: address", where, step);
    cr_assert_eq(a.block_bytes, b.block_bytes, "%s step %d: size", where, step);
    cr_assert_eq(a.call_count, b.call_count, "%s step %d: calls", where, step);
    for (uint32_t i = 0; i < a.call_count; i++)
      cr_assert(a.calls[i].kind == b.calls[i].kind && a.calls[i].address == b.calls[i].address &&
                    a.calls[i].bytes == b.calls[i].bytes,
                "%s step %d: call %u", where, step, i);
    cr_assert_eq(memcmp(ul_model_totals(fast), ul_model_totals(naive), sizeof(ul_totals)), 0,
                 "%s step %d: totals", where, step);
    cr_assert_eq(ul_model_check(fast, &err), UL_OK, "%s step %d: %s", where, step, err.message);
    if (step % COMPARE_STATES_EVERY == 0)
      compare_states(fast, naive, where, step);
    if (e.kind == UL_EVENT_ALLOC)
      live[e.handle] = a.result == UL_OUTCOME_SERVED;
    else if (e.kind == UL_EVENT_FREE)
      live[e.handle] = 2;
    else if (e.kind == UL_EVENT_COMPLETE)
      live[e.handle] = 0;
  }
  ul_model_destroy(fast);
  ul_model_destroy(naive);
}

ParameterizedTestParameters(twins, agree_on_random_lives) {
  return cr_make_param_array(struct life, lives, sizeof(lives) / sizeof(lives[0]));
}

ParameterizedTest(struct life *l, twins, agree_on_random_lives, .timeout = 240) {
  for (int i = l->first_release; i < RELEASES; i++) {
    seed = 1000 + (uint64_t)i * 77 + l->device_mib + strlen(l->settings);
    live_twice(l, releases[i]);
  }
}
