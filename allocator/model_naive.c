/* SPDX-License-Identifier: MIT */
/* The naive twin as a backend: what each event does, and its table of operations (naive.h). */
#include <stdlib.h>
#include <string.h>

#include "allocator/naive.h"
#include "allocator/sizing.h"
#include "base/error.h"

/* ---- events ---- */

static void answer_pools(naive *n, ul_outcome *o, ul_pools_answer answer) {
  if (answer == UL_POOLS_NOMEM)
    n->nomem = 1;
  else if (answer == UL_POOLS_BROKEN)
    n->broken = n->pools.reason;
  else if (answer == UL_POOLS_REFUSED)
    ul_naive_reject(o, n->pools.reason);
}

static void free_event(naive *n, const ul_event *e, ul_outcome *o) {
  naive_place p;

  if (!ul_naive_find_handle(n, e->handle, &p) || ul_naive_at(n, p)->is != NAIVE_ALLOCATED) {
    ul_naive_reject(o, "a free of an allocation that is not live");
    return;
  }
  o->address = ul_naive_at(n, p)->address;
  o->block_bytes = ul_naive_at(n, p)->bytes;
  ul_naive_free(n, p);
}

static void complete(naive *n, const ul_event *e, ul_outcome *o) {
  naive_place p;

  if (!ul_naive_find_handle(n, e->handle, &p) || ul_naive_at(n, p)->is != NAIVE_PENDING)
    return; /* freed at once, or waited for already */
  o->address = ul_naive_at(n, p)->address;
  o->block_bytes = ul_naive_at(n, p)->bytes;
  ul_waits_complete(&n->waits, ul_naive_at(n, p)->key);
  ul_naive_free_block(n, p);
}

static void stream_use(naive *n, const ul_event *e, ul_outcome *o) {
  naive_place p;

  if (!ul_naive_find_handle(n, e->handle, &p) || ul_naive_at(n, p)->is != NAIVE_ALLOCATED)
    ul_naive_reject(o, "a stream use of an allocation that is not live");
  else if (ul_naive_segment(n, p)->stream != e->stream &&
           !ul_waits_use(&n->waits, ul_naive_at(n, p)->key, e->stream,
                         ul_pools_suspended(&n->pools)))
    n->nomem = 1;
}

static void empty_cache(naive *n, const ul_event *e, ul_outcome *o) {
  const char *reason;

  ul_naive_flush(n, n->profile->flush_of_pool ? e->pool : 0, &reason);
  if (reason)
    ul_naive_reject(o, reason);
}

/* Every event but the requests; 0 if the kind is none of them. */
static int small_step(naive *n, const ul_event *e, ul_outcome *o) {
  switch ((ul_event_kind)e->kind) {
  case UL_EVENT_FREE:
    free_event(n, e, o);
    return 1;
  case UL_EVENT_COMPLETE:
    complete(n, e, o);
    return 1;
  case UL_EVENT_STREAM_USE:
    stream_use(n, e, o);
    return 1;
  case UL_EVENT_SYNC:
    ul_waits_sync(&n->waits, e->stream);
    return 1;
  case UL_EVENT_EMPTY_CACHE:
    empty_cache(n, e, o);
    return 1;
  case UL_EVENT_SET_FRACTION:
    n->limit = e->bytes;
    return 1;
  case UL_EVENT_EXTERNAL_BYTES:
    n->device.external_bytes = e->bytes;
    return 1;
  case UL_EVENT_DEVICE_BYTES:
    n->device.capacity_bytes = e->bytes;
    return 1;
  default:
    return 0;
  }
}

static int pool_step(naive *n, const ul_event *e, ul_outcome *o) {
  ul_pools *pools = &n->pools;

  switch ((ul_event_kind)e->kind) {
  case UL_EVENT_POOL_BEGIN:
  case UL_EVENT_CAPTURE_BEGIN:
    answer_pools(n, o,
                 ul_pools_begin(pools, e->pool, e->stream, e->kind == UL_EVENT_CAPTURE_BEGIN));
    return 1;
  case UL_EVENT_POOL_END:
  case UL_EVENT_CAPTURE_END:
    answer_pools(n, o, ul_pools_end(pools, e->pool, e->stream, e->kind == UL_EVENT_CAPTURE_END));
    return 1;
  case UL_EVENT_POOL_RELEASE:
    answer_pools(n, o, ul_pools_drop(pools, e->pool));
    return 1;
  case UL_EVENT_POOL_CREATE:
  case UL_EVENT_POOL_CUSTOM:
    answer_pools(n, o, ul_pools_create(pools, e->pool, e->kind == UL_EVENT_POOL_CUSTOM));
    return 1;
  case UL_EVENT_POOL_USE_ON_OOM:
    answer_pools(n, o, ul_pools_register(pools, e->pool, UL_POOL_ON_OOM));
    return 1;
  case UL_EVENT_POOL_NOT_ON_OOM:
    answer_pools(n, o, ul_pools_register(pools, e->pool, UL_POOL_NOT_ON_OOM));
    return 1;
  case UL_EVENT_POOL_NO_SPLIT:
    answer_pools(n, o, ul_pools_register(pools, e->pool, UL_POOL_NO_SPLIT));
    return 1;
  case UL_EVENT_POOL_CHECKPOINT:
    ul_naive_checkpoint(n, e, o);
    return 1;
  case UL_EVENT_POOL_RESTORE:
    ul_naive_restore(n, e, o);
    return 1;
  default:
    return 0;
  }
}

static void step(naive *n, const ul_event *e, ul_outcome *o) {
  switch ((ul_event_kind)e->kind) {
  case UL_EVENT_ALLOC:
    ul_naive_alloc(n, e, o);
    return;
  case UL_EVENT_ALLOC_AT:
    ul_naive_alloc_at(n, e, o);
    return;
  case UL_EVENT_OBSERVED:
  case UL_EVENT_MARK:
    return;
  default:
    if (e->kind >= UL_EVENT_KIND_COUNT)
      ul_naive_reject(o, "an event kind that does not exist");
    else if (e->kind == UL_EVENT_SET_CONF)
      ul_naive_reject(o, "settings come as a string of their own");
    else if (!small_step(n, e, o) && !pool_step(n, e, o))
      ul_naive_reject(o, "an event that this model does not know");
  }
}

static ul_status naive_apply(void *state, const ul_event *event, const ul_grants *grants,
                             ul_outcome *outcome, ul_error *err) {
  naive *n = state;

  memset(outcome, 0, sizeof(*outcome));
  n->calls.count = 0;
  n->last_was_oom = 0;
  n->error = NULL;
  if (!n->broken) {
    n->device.grants = grants;
    n->device.grant = 0;
    n->outcome = outcome;
    step(n, event, outcome);
    n->outcome = NULL;
    n->device.grants = NULL;
  }
  if (n->nomem)
    return ul_fail_nomem(err, "the naive model");
  if (n->error)
    ul_naive_reject(outcome, n->error);
  if (n->broken) {
    outcome->result = UL_OUTCOME_BROKEN;
    outcome->reason = n->broken;
  }
  ul_naive_count_totals(n);
  outcome->calls = n->calls.items;
  outcome->call_count = (uint32_t)n->calls.count;
  return UL_OK;
}

/* ---- the table's other operations ---- */

static ul_status naive_create(void **state, const ul_model_options *options, ul_error *err) {
  naive *n = calloc(1, sizeof(*n));
  const ul_settings_given given = ul_settings_of(options);
  ul_status status;

  if (!n)
    return ul_fail_nomem(err, "the naive model");
  ul_device_init(&n->device, options);
  n->limit = UINT64_MAX;
  n->every_call = options->every_call;
  n->property_bytes = options->device_bytes;
  status = ul_profile_find(&n->profile, options->torch, NULL, err);
  if (status == UL_OK)
    status = ul_settings_start(&n->settings, &given, n->profile, err);
  if (status != UL_OK) {
    ul_naive_destroy(n);
    return status;
  }
  ul_pools_init(&n->pools, n->profile);
  ul_waits_init(&n->waits, options->stream_events, n->profile);
  ul_history_init(&n->history, n->profile);
  n->max_split_shown = n->settings.max_split_bytes;
  if (n->settings.fraction < 1.0)
    n->limit = ul_fraction_limit(n->profile, options->device_bytes, n->settings.fraction);
  *state = n;
  return UL_OK;
}

static ul_status naive_configure(void *state, const char *settings, ul_error *err) {
  naive *n = state;
  const ul_status status = ul_settings_apply(&n->settings, settings, n->profile, err);

  ul_naive_count_totals(n); /* some are as the settings are; they changed in spite of an error */
  return status;
}

static ul_status naive_load(void *state, const ul_state *from, ul_error *err) {
  (void)state, (void)from;
  return ul_fail(err, UL_E_UNSUPPORTED, 0, "the naive model starts empty only");
}

static const ul_profile *naive_profile(const void *state) {
  return ((const naive *)state)->profile;
}

static int naive_oom(const void *state, ul_oom_facts *out) {
  const naive *n = state;

  *out = n->facts;
  return n->last_was_oom;
}

static ul_status naive_record_history(void *state, int enabled, uint64_t max_entries,
                                      ul_error *err) {
  return ul_history_record(&((naive *)state)->history, enabled, max_entries, err);
}

static size_t naive_history(const void *state, ul_history_entry *out, size_t capacity) {
  return ul_history_list(&((const naive *)state)->history, out, capacity);
}

/* The sizes of active blocks: what the entry of a snapshot tells. */
static ul_status naive_note_snapshot(void *state, ul_error *err) {
  naive *n = state;

  ul_naive_note(n, UL_ACTION_SNAPSHOT, 0, n->totals.active_bytes, 0);
  return n->nomem ? ul_fail_nomem(err, "the naive model") : UL_OK;
}

static ul_status naive_asker(const void *state, const ul_event *event, ul_asker_view *out,
                             ul_error *err) {
  (void)state, (void)event, (void)out;
  return ul_fail(err, UL_E_UNSUPPORTED, 0, "the naive model has no asker's view");
}

static const ul_totals *naive_totals(const void *state) {
  return &((const naive *)state)->totals;
}

static uint64_t naive_round(const void *state, uint64_t requested_bytes) {
  const naive *n = state;

  return ul_round_request(requested_bytes, &n->settings, n->profile);
}

static uint64_t naive_fraction_limit(const void *state, double fraction) {
  const naive *n = state;

  return ul_fraction_limit(
      n->profile, n->profile->fraction_of_property ? n->property_bytes : n->device.capacity_bytes,
      fraction);
}

static uint64_t naive_unsplit_limit(const void *state, int is_small, uint64_t rounded_bytes) {
  const naive *n = state;

  return ul_unsplit_limit(&n->settings, is_small, rounded_bytes);
}

const ul_model_ops ul_model_naive = {
    .name = "naive",
    .summary = "the native rules written for clarity; slow, a twin for tests",
    .create = naive_create,
    .destroy = ul_naive_destroy,
    .load = naive_load,
    .apply = naive_apply,
    .configure = naive_configure,
    .profile = naive_profile,
    .oom = naive_oom,
    .record_history = naive_record_history,
    .history = naive_history,
    .note_snapshot = naive_note_snapshot,
    .pool_reserved = ul_naive_pool_reserved,
    .clone = ul_naive_clone,
    .totals = naive_totals,
    .stats = ul_naive_stats,
    .reset_peak = ul_naive_reset_peak,
    .reset_accumulated = ul_naive_reset_accumulated,
    .visit = ul_naive_visit,
    .check = ul_naive_check,
    .round = naive_round,
    .fraction_limit = naive_fraction_limit,
    .unsplit_limit = naive_unsplit_limit,
    .asker = naive_asker,
};
