/* SPDX-License-Identifier: MIT */
/* Where every reserved byte is: the running sums of a replay against a count over the segments and
 * blocks of that instant, made here from the definitions alone (design: live, rounding, tail,
 * pending, releasable, held, pinned). All recordings here have default rounding: up to 512. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#include "base/vec.h"
#include "ullage/ullage.h"

#define MIB ((uint64_t)1 << 20)

enum { INSTANTS = 60 };

struct recording {
  char path[128];
};

static struct recording recordings[] = {
    {UL_TRACES "/attention_peak_tiny_full.pickle"},
    {UL_TRACES "/lm_fp32_128.pickle.zst"},
    {UL_TRACES "/lm_fwdbwd_ctx100_full.pickle.zst"},
    {UL_TEST_DATA "/golden/torch2.9.1_gpt_expandable.pickle.gz"},
    {UL_TEST_DATA "/golden/torch2.9.1_multistream_lag.pickle.gz"},
    {UL_TEST_DATA "/golden/torch2.9.1_multistream_lag_expandable.pickle.gz"},
    {UL_TEST_DATA "/golden/torch2.9.1_pool_graph.pickle.gz"},
    {UL_TEST_DATA "/golden/torch2.9.1_empty_cache.pickle.gz"},
    {UL_TEST_DATA "/golden/torch2.9.1_oom_retry_expandable.pickle.gz"},
};

struct seen {
  UL_VEC(ul_totals) totals; /* after the last step of each event number */
};

static int remember(const ul_event *event, uint64_t number, const ul_outcome *outcome,
                    const ul_totals *totals, void *arg) {
  struct seen *seen = arg;

  (void)event, (void)outcome;
  while (seen->totals.count <= number) {
    if (!UL_VEC_PUSH(&seen->totals, *totals))
      return 1;
  }
  seen->totals.items[number] = *totals;
  return 0;
}

/* Whole units of a mapped run inside one of its free blocks: runs begin at a unit. */
static uint64_t whole_units(const ul_segment *s, const ul_block *b) {
  const uint64_t unit = s->is_small ? 2 * MIB : 20 * MIB;
  const uint64_t start = b->address - s->address, end = start + b->bytes;
  const uint64_t first = (start + unit - 1) / unit * unit, last = end / unit * unit;

  return last > first ? last - first : 0;
}

static ul_lost count_from_state(const ul_state *state) {
  ul_lost l = {0};

  for (uint32_t i = 0; i < state->segment_count; i++) {
    const ul_segment *s = &state->segments[i];
    l.reserved_bytes += s->bytes;
    for (uint32_t j = 0; j < s->block_count; j++) {
      const ul_block *b = &state->blocks[s->first_block + j];
      const uint64_t rounded = (b->requested_bytes + 511) / 512 * 512;
      uint64_t back;
      if (b->state == UL_BLOCK_ACTIVE_ALLOCATED) {
        l.live_bytes += b->requested_bytes;
        l.rounding_bytes += rounded - b->requested_bytes;
        l.tail_bytes += b->bytes - rounded;
      } else if (b->state == UL_BLOCK_ACTIVE_PENDING_FREE) {
        l.pending_bytes += b->bytes;
      } else {
        back = s->is_expandable ? whole_units(s, b) : s->block_count == 1 ? b->bytes : 0;
        *(s->pool ? &l.held_bytes : &l.releasable_bytes) += back;
        l.pinned_bytes += b->bytes - back;
      }
    }
  }
  return l;
}

static void compare(const char *path, uint64_t event, const ul_lost *l, const ul_totals *t) {
  cr_assert_eq(l->reserved_bytes, t->reserved_bytes, "%s event %" PRIu64, path, event);
  cr_assert_eq(l->live_bytes, t->live_bytes, "%s event %" PRIu64 ": live", path, event);
  cr_assert_eq(l->rounding_bytes, t->live_rounded_bytes - t->live_bytes,
               "%s event %" PRIu64 ": rounding", path, event);
  cr_assert_eq(l->tail_bytes, t->allocated_bytes - t->live_rounded_bytes,
               "%s event %" PRIu64 ": tail", path, event);
  cr_assert_eq(l->pending_bytes, t->active_bytes - t->allocated_bytes,
               "%s event %" PRIu64 ": pending", path, event);
  cr_assert_eq(l->releasable_bytes, t->releasable_bytes, "%s event %" PRIu64 ": releasable", path,
               event);
  cr_assert_eq(l->held_bytes, t->held_bytes, "%s event %" PRIu64 ": held", path, event);
  cr_assert_eq(l->pinned_bytes,
               t->reserved_bytes - t->active_bytes - t->releasable_bytes - t->held_bytes,
               "%s event %" PRIu64 ": pinned", path, event);
}

ParameterizedTestParameters(lost_bytes, sums_are_counts) {
  return cr_make_param_array(struct recording, recordings,
                             sizeof(recordings) / sizeof(recordings[0]));
}

ParameterizedTest(struct recording *r, lost_bytes, sums_are_counts, .timeout = 200) {
  struct seen seen = {{NULL, 0, 0}};
  ul_replay_options options = {.size = sizeof(options), .observer = remember, .has_device = 1};
  ul_source *source;
  ul_replay *replay;
  const ul_device_result *d;
  ul_error err = {0};
  uint64_t step, event;

  options.observer_arg = &seen;
  cr_assert_eq(ul_source_open(&source, r->path, NULL, &err), UL_OK, "%s", err.message);
  cr_assert_eq(ul_replay_run(&replay, source, &options, &err), UL_OK, "%s", err.message);
  d = ul_replay_device(replay, 0);
  step = d->entries / INSTANTS + 1;
  for (event = 0; event < d->entries; event += step) {
    ul_state state;
    ul_lost counted;
    cr_assert_eq(ul_replay_state_at(replay, 0, event, &state, &err), UL_OK, "%s", err.message);
    counted = count_from_state(&state);
    compare(r->path, event, &counted, &seen.totals.items[event]);
  }
  { /* the instant that the report tells of */
    ul_state state;
    ul_lost counted;
    cr_assert_eq(ul_replay_state_at(replay, 0, d->peak.event, &state, &err), UL_OK);
    counted = count_from_state(&state);
    counted.event = d->lost_at_peak.event;
    cr_assert_eq(memcmp(&counted, &d->lost_at_peak, sizeof(counted)), 0, "%s: at the peak",
                 r->path);
  }
  UL_VEC_RELEASE(&seen.totals);
  ul_replay_free(replay);
  ul_source_close(source);
}
