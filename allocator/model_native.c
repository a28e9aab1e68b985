/* SPDX-License-Identifier: MIT */
/* PyTorch's native caching allocator: the table of the backend's operations.
 *
 * Requests and frees go one of two ways. The short way (native_short.c) knows the default rules and
 * expandable segments; whatever else is going on sets a bit in native.careful, and then the careful
 * way is taken (native_apply.c), which knows everything. */
#include "allocator/native_fast.h"
#include "base/error.h"

static ul_status native_apply(void *state, const ul_event *event, const ul_grants *grants,
                              ul_outcome *outcome, ul_error *err) {
  native *n = state;
  native_step step;

  n->events++;
  step = n->careful ? STEP_ELSEWHERE : n->short_way->apply(n, event, outcome);
  if (step == STEP_NOMEM)
    return ul_fail_nomem(err, "the allocator model");
  return step == STEP_DONE ? UL_OK : ul_native_apply(n, event, grants, outcome, err);
}

static ul_status apply_carefully(native *n, const ul_event *event, ul_placement *placement,
                                 ul_error *err) {
  ul_outcome outcome;

  UL_TRY(ul_native_apply(n, event, NULL, &outcome, err));
  placement->address = outcome.address;
  placement->block_bytes = outcome.block_bytes;
  placement->result = outcome.result;
  return UL_OK;
}

static ul_status run(native *n, const ul_event *events, size_t count, ul_placement *placements,
                     size_t *done, ul_error *err) {
  size_t at = 0, applied;
  native_step step;

  for (*done = 0; at < count; *done = ++at) {
    step = STEP_ELSEWHERE;
    if (!n->careful) {
      step = n->short_way->run(n, events + at, count - at, placements + at, &applied);
      n->events += applied;
      *done = at += applied;
    }
    if (step == STEP_NOMEM)
      return ul_fail_nomem(err, "the allocator model");
    if (at == count)
      return UL_OK;
    n->events++;
    UL_TRY(apply_carefully(n, &events[at], &placements[at], err));
  }
  return UL_OK;
}

static ul_status native_apply_batch(void *state, const ul_event *events, size_t count,
                                    ul_placement *placements, size_t *done, ul_error *err) {
  ul_placement unseen[64];
  size_t step, some;

  if (placements)
    return run(state, events, count, placements, done, err);
  for (*done = 0; *done < count; *done += some) {
    ul_status status;
    step = count - *done < 64 ? count - *done : 64;
    status = run(state, events + *done, step, unseen, &some, err);
    if (status != UL_OK) {
      *done += some;
      return status;
    }
  }
  return UL_OK;
}

static uint64_t native_fraction_limit(const void *state, double fraction) {
  const native *n = state;

  return ul_fraction_limit(
      n->profile, n->profile->fraction_of_property ? n->property_bytes : n->device.capacity_bytes,
      fraction);
}

static uint64_t native_round(const void *state, uint64_t requested_bytes) {
  const native *n = state;
  return ul_round_request(requested_bytes, &n->settings, n->profile);
}

static uint64_t native_unsplit_limit(const void *state, int is_small, uint64_t rounded_bytes) {
  const native *n = state;
  return ul_unsplit_limit(&n->settings, is_small, rounded_bytes);
}

static ul_status native_configure(void *state, const char *settings, ul_error *err) {
  native *n = state;
  const ul_status status = ul_settings_apply(&n->settings, settings, n->profile, err);

  ul_native_settings_changed(n); /* what stands before an error is in force */
  ul_native_recount(n);
  return status;
}

static const ul_profile *native_profile(const void *state) {
  return ((const native *)state)->profile;
}

static int native_oom(const void *state, ul_oom_facts *out) {
  const native *n = state;

  *out = n->facts;
  return n->oom_event && n->oom_event == n->events;
}

static ul_status native_record_history(void *state, int enabled, uint64_t max_entries,
                                       ul_error *err) {
  native *n = state;

  if (!n->profile->history_of_old_blocks && !ul_native_keep_objects(n))
    return ul_fail_nomem(err, "the history");
  UL_TRY(ul_history_record(&n->history, enabled, max_entries, err));
  if (n->history.enabled)
    n->careful |= CAREFUL_HISTORY;
  else
    n->careful &= ~(uint32_t)CAREFUL_HISTORY;
  return UL_OK;
}

static size_t native_history(const void *state, ul_history_entry *out, size_t capacity) {
  return ul_history_list(&((const native *)state)->history, out, capacity);
}

/* The sizes of active blocks: what the entry of a snapshot tells. */
static ul_status native_note_snapshot(void *state, ul_error *err) {
  native *n = state;
  const uint64_t active = ul_native_allocated_bytes(n) + n->waiting[UL_SLOT_ALL].bytes;

  return ul_native_note(n, UL_ACTION_SNAPSHOT, 0, active, 0) ? UL_OK
                                                             : ul_fail_nomem(err, "the history");
}

const ul_model_ops ul_model_native = {
    .name = "native",
    .summary = "PyTorch's caching allocator, with or without expandable segments",
    .create = ul_native_create,
    .destroy = ul_native_destroy,
    .load = ul_native_load,
    .apply = native_apply,
    .clone = ul_native_clone,
    .apply_batch = native_apply_batch,
    .configure = native_configure,
    .profile = native_profile,
    .oom = native_oom,
    .record_history = native_record_history,
    .history = native_history,
    .note_snapshot = native_note_snapshot,
    .pool_reserved = ul_native_pool_reserved,
    .totals = ul_native_totals,
    .stats = ul_native_stats,
    .reset_peak = ul_native_reset_peak,
    .reset_accumulated = ul_native_reset_accumulated,
    .visit = ul_native_visit,
    .check = ul_native_check,
    .round = native_round,
    .fraction_limit = native_fraction_limit,
    .unsplit_limit = native_unsplit_limit,
    .asker = ul_native_asker,
};
