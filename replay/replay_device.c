/* SPDX-License-Identifier: MIT */
#include "replay/replay_device.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/strtab.h"
#include "replay/attempt.h"
#include "replay/measure/holders.h"
#include "replay/measure/known_stats.h"
#include "replay/tail_choices.h"

enum { RULE_SETS = 16, ROUNDS_PER_BLOCK = 4, MOST_EVENTS = 20000000 };

struct ul_device_replay {
  const ul_source *source;
  const ul_recording *recording;
  ul_history *history;
  ul_attempt kept;         /* the as-recorded run that proves most */
  ul_tail_choices choices; /* that the kept run needed */
  uint64_t limit_bytes;    /* memory fraction that the kept run needed; 0: none */
  ul_attempt state_run;    /* of the last ul_device_replay_state */
  ul_device_result result;
  ul_strtab *strings; /* everything the result points to and that is not static */
  UL_VEC(const char *) alike;
  UL_VEC(ul_refuted) refuted;
  UL_VEC(ul_replay_stat) stats;
  UL_VEC(ul_warning) warnings;
  ul_holders holders;
  const char *settings;            /* as recorded */
  uint64_t window_from, window_to; /* events that are reported */
  const ul_replay_options *options;
  ul_error *err;
};

static const char *keep(ul_device_replay *d, const char *text) {
  return ul_strtab_get(d->strings, ul_strtab_intern(d->strings, text, strlen(text)), NULL);
}

static ul_status warn(ul_device_replay *d, uint64_t count, uint64_t first, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static ul_status warn(ul_device_replay *d, uint64_t count, uint64_t first, const char *format,
                      ...) {
  char text[320];
  ul_warning warning = {NULL, count, first};
  va_list args;

  va_start(args, format);
  vsnprintf(text, sizeof(text), format, args);
  va_end(args);
  warning.text = keep(d, text);
  return UL_VEC_PUSH(&d->warnings, warning) ? UL_OK : ul_fail_nomem(d->err, "the replay");
}

/* The settings of the recording, or what its memory shows where it has none. */
static const char *recorded_settings(const ul_device_replay *d) {
  const ul_source_info *info = ul_source_get_info(d->source);

  if (info->settings)
    return info->settings;
  return d->history->any_expandable ? "expandable_segments:True" : "";
}

static ul_attempt_options as_recorded(const ul_device_replay *d, const char *torch) {
  ul_attempt_options o = {.torch = torch, .settings = d->settings, .stop_after = UL_NO_EVENT};

  o.mode = UL_ENGINE_AS_RECORDED;
  o.with_proof = 1;
  o.choices = &d->choices;
  o.limit_bytes = d->limit_bytes;
  o.from = d->window_from;
  o.to = d->window_to;
  return o;
}

/* ---- which release ---- */

static size_t candidate_sets(ul_device_replay *d, ul_rule_set *sets, ul_status *status) {
  const ul_source_info *info = ul_source_get_info(d->source);
  const ul_rule_relevance relevance = {
      d->history->any_expandable || strstr(d->settings, "expandable_segments:True") != NULL,
      d->history->any_private_pools, strstr(d->settings, "roundup_power2_divisions") != NULL};
  size_t count;

  *status = UL_OK;
  if (d->options->torch) {
    sets[0].count = 1;
    *status = ul_release_name(&sets[0].releases[0], d->options->torch, NULL, d->err);
    return 1;
  }
  count = ul_rule_sets(info->releases.oldest, info->releases.newest, &relevance, sets, RULE_SETS);
  if (!count) /* keys of a release before the oldest profile: its rules are the nearest */
    count = ul_rule_sets(0, 0, &relevance, sets, 1);
  return count;
}

static const char *newest(const ul_rule_set *set) {
  return set->releases[set->count - 1];
}

static ul_status note_alike(ul_device_replay *d, const ul_rule_set *set, size_t but) {
  size_t i;

  for (i = 0; i < set->count; i++) {
    if (i != but && !UL_VEC_PUSH(&d->alike, set->releases[i]))
      return ul_fail_nomem(d->err, "the replay");
  }
  return UL_OK;
}

static ul_status note_refuted(ul_device_replay *d, const ul_rule_set *set, uint64_t event) {
  size_t i;

  for (i = 0; i < set->count; i++) {
    const ul_refuted refuted = {set->releases[i], event};
    if (!UL_VEC_PUSH(&d->refuted, refuted))
      return ul_fail_nomem(d->err, "the replay");
  }
  return UL_OK;
}

/* Runs a rule set again as long as its first difference tells a remainder of an old block. */
static ul_status run_and_learn(ul_device_replay *d, ul_attempt *attempt,
                               const ul_attempt_options *options, ul_tail_choices *choices) {
  ul_status status = ul_attempt_run(attempt, d->history, options, d->err);
  uint64_t rounds = attempt->initial.ambiguous * ROUNDS_PER_BLOCK;
  const uint64_t most = MOST_EVENTS / (d->recording->count + 1);
  int learnt;

  if (rounds > most)
    rounds = most;
  while (status == UL_OK && rounds-- > 0) {
    learnt = ul_tail_choices_learn(choices, d->history, attempt);
    if (!learnt)
      break;
    ul_attempt_release(attempt);
    if (learnt < 0)
      return ul_fail_nomem(d->err, "the replay");
    status = ul_attempt_run(attempt, d->history, options, d->err);
  }
  return status;
}

/* Tries without a memory fraction first, then with the one that collected segments tell. */
static ul_status run_with_limits(ul_device_replay *d, ul_attempt *attempt,
                                 ul_attempt_options *options, ul_tail_choices *choices) {
  const ul_interval *limit = &d->history->limit;
  ul_tail_choices others = {NULL, 0, 0};
  ul_attempt_options limited = *options;
  ul_attempt second;
  ul_status status;

  UL_TRY(run_and_learn(d, attempt, options, choices));
  if (attempt->prover.proof.holds || !limit->max)
    return UL_OK;
  limited.limit_bytes = limit->min + (limit->max - limit->min) / 2;
  limited.choices = &others;
  status = run_and_learn(d, &second, &limited, &others);
  if (status == UL_OK && ul_attempt_is_better(&second, attempt)) {
    ul_attempt_release(attempt);
    UL_VEC_RELEASE(choices);
    *attempt = second;
    *choices = others;
    options->limit_bytes = limited.limit_bytes;
    return UL_OK;
  }
  ul_attempt_release(&second);
  UL_VEC_RELEASE(&others);
  return status;
}

/* Replays every rule set and keeps the one that proves most; of equals the older one, since its
 * releases are the more common. */
static ul_status choose_release(ul_device_replay *d) {
  ul_rule_set sets[RULE_SETS];
  ul_proof proofs[RULE_SETS];
  ul_status status;
  size_t count = candidate_sets(d, sets, &status), best = 0, i;

  UL_TRY(status);
  for (i = 0; i < count; i++) {
    ul_attempt_options options = as_recorded(d, newest(&sets[i]));
    ul_tail_choices choices = {NULL, 0, 0};
    ul_attempt attempt;
    options.curve_points = d->options->curve_points;
    options.progress = d->options->progress;
    options.progress_arg = d->options->progress_arg;
    options.choices = &choices;
    status = run_with_limits(d, &attempt, &options, &choices);
    if (status != UL_OK) {
      UL_VEC_RELEASE(&choices);
      ul_attempt_release(&attempt);
      return status;
    }
    proofs[i] = attempt.prover.proof;
    if (!i || ul_attempt_is_better(&attempt, &d->kept)) {
      ul_attempt_release(&d->kept);
      UL_VEC_RELEASE(&d->choices);
      d->kept = attempt;
      d->choices = choices;
      d->limit_bytes = options.limit_bytes;
      best = i;
    } else {
      UL_VEC_RELEASE(&choices);
      ul_attempt_release(&attempt);
    }
  }
  d->result.torch = newest(&sets[best]);
  for (i = 0; i < count; i++) {
    if (i == best || proofs[i].holds || !d->recording->has_trace)
      UL_TRY(note_alike(d, &sets[i], i == best ? sets[i].count - 1 : sets[i].count));
    else
      UL_TRY(note_refuted(d, &sets[i], proofs[i].first_difference.event));
  }
  if (d->options->torch)
    d->result.why = "the release was given";
  else if (!d->recording->has_trace)
    d->result.why = "nothing in the file tells releases apart";
  else if (count == 1)
    d->result.why = "all releases that write such a file have the same rules here";
  else if (d->kept.prover.proof.holds)
    d->result.why = "proves every placement";
  else
    d->result.why = d->kept.prover.proof.exact + d->kept.prover.proof.assisted
                        ? "proves most of the rule sets that the file's keys allow"
                        : "no rule set that the file's keys allow proves anything";
  return UL_OK;
}

/* ---- what was measured ---- */

/* How much of a model's statistics the recording stands behind. */
enum trust { TRUST_NONE, TRUST_CURRENTS, TRUST_RECORDING };

static ul_status add_stats(ul_device_replay *d, const ul_model *model, enum trust trust) {
  size_t count = ul_model_stats(model, NULL, 0), i;
  ul_stat *values = malloc((count + 1) * sizeof(*values));
  ul_status status = UL_OK;

  if (!values)
    return ul_fail_nomem(d->err, "the statistics");
  ul_model_stats(model, values, count);
  for (i = 0; i < count && status == UL_OK; i++) {
    ul_replay_stat stat = {values[i].name, values[i].value,
                           ul_stat_is_known(values[i].name, d->history)};
    if (trust == TRUST_NONE || (trust == TRUST_CURRENTS && !strstr(stat.name, ".current")))
      stat.known = 0;
    if (!stat.known)
      stat.value = 0;
    if (!UL_VEC_PUSH(&d->stats, stat))
      status = ul_fail_nomem(d->err, "the statistics");
  }
  free(values);
  return status;
}

/* PyTorch's statistics: from the replay if it is proved, else what the final state alone says. */
static ul_status measure_stats(ul_device_replay *d) {
  ul_model_options options = {.size = sizeof(options)};
  ul_model *model;
  ul_status status;

  if (!d->recording->has_trace || d->kept.prover.proof.holds)
    return add_stats(d, d->kept.model, d->recording->has_trace ? TRUST_RECORDING : TRUST_CURRENTS);
  options.torch = d->result.torch;
  options.settings = d->settings;
  UL_TRY(ul_model_create(&model, &options, d->err));
  status = ul_model_load(model, &d->recording->final_state, d->err);
  if (status == UL_OK)
    status = add_stats(d, model, TRUST_CURRENTS);
  else if (status == UL_E_INVALID) /* a state that cannot be: it says nothing */
    status = add_stats(d, d->kept.model, TRUST_NONE);
  ul_model_destroy(model);
  return status;
}

/* Watches for the request at the peak: the asker's view exists where it made reserved grow. */
struct asker_probe {
  uint64_t peak_event, reserved_before;
  ul_asker asker;
  int found;
};

static ul_status asker_before(void *arg, uint64_t number, const ul_event *event, ul_model *model,
                              ul_error *err) {
  struct asker_probe *p = arg;
  ul_asker_view view;

  if (number != p->peak_event || event->kind != UL_EVENT_ALLOC)
    return UL_OK;
  p->reserved_before = ul_model_totals(model)->reserved_bytes;
  UL_TRY(ul_model_asker(model, event, &view, err));
  p->asker.event = number;
  p->asker.requested_bytes = event->bytes;
  p->asker.rounded_bytes = view.rounded_bytes;
  p->asker.pool_bound_bytes = view.pool_bound_bytes;
  p->asker.stream_bound_bytes = view.stream_bound_bytes;
  p->asker.rule_bound_bytes = view.rule_bound_bytes;
  p->asker.extended_bytes = view.extended_bytes;
  p->asker.soft_bytes = view.soft_bytes;
  p->asker.hard_bytes = view.hard_bytes;
  return UL_OK;
}

static ul_status asker_after(void *arg, uint64_t number, const ul_event *event,
                             const ul_outcome *outcome, ul_model *model, ul_error *err) {
  struct asker_probe *p = arg;

  (void)model, (void)err;
  if (number == p->peak_event && event->kind == UL_EVENT_ALLOC)
    p->found = outcome->call_count > 0 || outcome->result == UL_OUTCOME_OOM;
  return UL_OK;
}

/* A second run, up to the peak only: what did the request see, and who is there. Where reserved
 * never grew the first event is no more the peak than any other: then holders are looked for where
 * most was allocated. */
static ul_status look_at_peak(ul_device_replay *d) {
  const int grew =
      d->result.peak.event > d->window_from ||
      (!d->window_from && d->result.peak.reserved_bytes > d->kept.start_reserved_bytes);
  struct asker_probe asker = {.peak_event = d->result.peak.event};
  const ul_probe probe = {asker_before, asker_after, &asker};
  ul_attempt_options options = as_recorded(d, d->result.torch);
  ul_attempt attempt;
  ul_state state;
  ul_status status;

  d->result.holders_event = grew ? d->result.peak.event : d->result.peak.max_allocated_event;
  options.with_proof = 0;
  options.stop_after = d->result.holders_event;
  options.probe = &probe;
  status = ul_attempt_run(&attempt, d->history, &options, d->err);
  if (status == UL_OK)
    status = ul_model_state(attempt.model, &state, d->err);
  if (status == UL_OK)
    status = ul_holders_of(&d->holders, d->history, &state, d->err);
  d->result.has_asker = asker.found;
  d->result.asker_at_peak = asker.asker;
  ul_attempt_release(&attempt);
  return status;
}

static void include(ul_interval *interval, uint64_t value) {
  if (value < interval->min)
    interval->min = value;
  if (value > interval->max)
    interval->max = value;
}

/* The same requests with segment bases that nobody recorded: what depends on addresses shows. */
static ul_status run_free_mode(ul_device_replay *d) {
  static const ul_address_policy policies[] = {UL_ADDRESS_RISING, UL_ADDRESS_FIRST_FIT};
  size_t i;

  for (i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
    ul_attempt_options options = as_recorded(d, d->result.torch);
    ul_attempt attempt;
    ul_status status;
    options.mode = UL_ENGINE_FREE;
    options.with_proof = 0;
    options.policy = policies[i];
    status = ul_attempt_run(&attempt, d->history, &options, d->err);
    if (status == UL_OK) {
      include(&d->result.free_mode_reserved_peak, attempt.peak.peak.reserved_bytes);
      include(&d->result.free_mode_allocated_peak, attempt.peak.peak.max_allocated_bytes);
    }
    ul_attempt_release(&attempt);
    UL_TRY(status);
  }
  return UL_OK;
}

/* ---- what if ---- */

static void fill_what_if(ul_what_if *w, const ul_attempt *attempt,
                         const ul_attempt_options *options) {
  w->start_reserved_bytes = attempt->start_reserved_bytes;
  w->fits = attempt->calls.unexpected_ooms == 0 &&
            ul_attempt_start_fits(options, attempt->start_reserved_bytes);
  w->peak = attempt->peak.peak;
  w->lost_at_peak = ul_lost_of(&attempt->peak.at_peak, w->peak.event);
  w->segment_count_at_peak = attempt->peak.at_peak.segment_count;
  w->driver_calls = attempt->calls.total;
  w->retries = attempt->calls.retries;
  w->oom_count = attempt->calls.oom_count;
  if (attempt->calls.ooms.count)
    w->first_oom = attempt->calls.ooms.items[0];
  w->first_oom.device_free_known = 0;
  w->first_oom.device_free_bytes = 0;
  w->rejected_events = attempt->calls.rejected;
}

/* The release of the proof, or one with the same rules for this recording: no other answer. */
static int is_proved_release(const ul_device_replay *d, const char *torch) {
  size_t i;

  for (i = 0; i < d->alike.count; i++) {
    if (strcmp(d->alike.items[i], torch) == 0)
      return 1;
  }
  return strcmp(d->result.torch, torch) == 0;
}

static ul_status run_what_if(ul_device_replay *d) {
  const ul_replay_options *o = d->options;
  ul_attempt_options options = as_recorded(d, d->result.torch);
  ul_what_if *w = &d->result.what_if;
  ul_attempt attempt;
  ul_status status;

  if (o->what_if_torch)
    UL_TRY(ul_release_name(&options.torch, o->what_if_torch, NULL, d->err));
  if ((!o->settings || strcmp(o->settings, d->settings) == 0) && !o->memory_bytes &&
      !o->external_bytes && is_proved_release(d, options.torch))
    return UL_OK;
  options.mode = UL_ENGINE_WHAT_IF;
  options.with_proof = 0;
  options.device_bytes = o->memory_bytes;
  options.external_bytes = o->external_bytes;
  if (o->settings)
    options.settings = keep(d, o->settings);
  status = ul_attempt_run(&attempt, d->history, &options, d->err);
  if (status == UL_OK) {
    d->result.has_what_if = 1;
    w->torch = options.torch;
    w->settings = options.settings;
    w->memory_bytes = o->memory_bytes;
    w->external_bytes = o->external_bytes;
    fill_what_if(w, &attempt, &options);
  }
  ul_attempt_release(&attempt);
  return status;
}

/* ---- the user's observer ---- */

struct observer_probe {
  ul_observer *observer;
  void *arg;
};

static ul_status observe(void *arg, uint64_t number, const ul_event *event,
                         const ul_outcome *outcome, ul_model *model, ul_error *err) {
  const struct observer_probe *p = arg;

  if (p->observer(event, number, outcome, ul_model_totals(model), p->arg))
    return ul_fail(err, UL_E_STATE, 0, "the observer stopped the replay at event %" PRIu64, number);
  return UL_OK;
}

static ul_status run_observer(ul_device_replay *d) {
  struct observer_probe observer = {d->options->observer, d->options->observer_arg};
  const ul_probe probe = {NULL, observe, &observer};
  ul_attempt_options options = as_recorded(d, d->result.torch);
  ul_attempt attempt;
  ul_status status;

  if (!d->options->observer)
    return UL_OK;
  options.with_proof = 0;
  options.probe = &probe;
  status = ul_attempt_run(&attempt, d->history, &options, d->err);
  ul_attempt_release(&attempt);
  return status;
}

/* ---- putting it together ---- */

static ul_status add_warnings(ul_device_replay *d) {
  const ul_source_info *info = ul_source_get_info(d->source);
  const ul_proof *proof = &d->kept.prover.proof;

  if (!d->recording->has_trace)
    UL_TRY(warn(d, 1, 0, "no history was recorded: only the state at the end is known"));
  if (!info->settings && d->recording->has_trace)
    UL_TRY(warn(d, 1, 0, "the file does not record the allocator's settings: %s assumed",
                *d->settings ? d->settings : "defaults"));
  if (proof->inferred_empty_cache)
    UL_TRY(warn(d, proof->inferred_empty_cache, 0,
                "empty_cache leaves no entry: concluded from the segments it gave back"));
  if (proof->inferred_stream_use)
    UL_TRY(warn(d, proof->inferred_stream_use, 0,
                "record_stream leaves no entry: concluded from frees that completed later"));
  if (proof->inferred_pool)
    UL_TRY(warn(d, proof->inferred_pool, 0,
                "private pools of allocations are not recorded: concluded from their addresses"));
  if (d->limit_bytes)
    UL_TRY(warn(d, 1, 0,
                "the memory fraction is not recorded: concluded from collected segments to lie "
                "between %" PRIu64 " and %" PRIu64 " bytes",
                d->history->limit.min, d->history->limit.max));
  if (proof->ambiguous_blocks)
    UL_TRY(warn(d, proof->ambiguous_blocks, 0,
                "blocks older than the recording have a size that no entry settles"));
  if (d->history->ambiguous_flushes)
    UL_TRY(warn(d, d->history->ambiguous_flushes, 0,
                "releases without stacks may be empty_cache or a retry; taken as empty_cache"));
  return UL_OK;
}

static void fill_result(ul_device_replay *d) {
  ul_device_result *r = &d->result;
  const ul_attempt *a = &d->kept;

  r->device = d->recording->device;
  r->entries = d->recording->count;
  r->has_trace = d->recording->has_trace;
  r->starts_empty = d->recording->has_trace && d->history->starts_empty;
  r->history_complete = d->recording->has_trace && d->history->complete;
  r->settings = d->settings;
  r->proof = a->prover.proof;
  r->peak = a->peak.peak;
  r->lost_at_peak = ul_lost_of(&a->peak.at_peak, r->peak.event);
  r->lost_at_end = ul_lost_of(&a->at_end, d->recording->count ? d->recording->count - 1 : 0);
  r->free_mode_reserved_peak.min = r->free_mode_reserved_peak.max = r->peak.reserved_bytes;
  r->free_mode_allocated_peak.min = r->free_mode_allocated_peak.max = r->peak.max_allocated_bytes;
  r->driver_calls = a->calls.total;
  r->segment_allocs = a->calls.by_kind[UL_ACTION_SEGMENT_ALLOC];
  r->segment_frees = a->calls.by_kind[UL_ACTION_SEGMENT_FREE];
  r->segment_maps = a->calls.by_kind[UL_ACTION_SEGMENT_MAP];
  r->segment_unmaps = a->calls.by_kind[UL_ACTION_SEGMENT_UNMAP];
  r->alloc_retries = a->calls.retries;
  r->oom_count = a->calls.oom_count;
  r->ooms = a->calls.ooms.items;
  r->curve = a->curve.points.items;
  r->curve_count = a->curve.points.count;
}

/* The result borrows from vectors that no longer move. */
static void bind_result(ul_device_replay *d) {
  ul_device_result *r = &d->result;

  r->alike = d->alike.items;
  r->alike_count = d->alike.count;
  r->refuted = d->refuted.items;
  r->refuted_count = d->refuted.count;
  r->stats = d->stats.items;
  r->stat_count = d->stats.count;
  r->holders = d->holders.holders.items;
  r->holder_total = d->holders.holders.count;
  r->holder_count = r->holder_total;
  if (d->options->top && r->holder_count > d->options->top)
    r->holder_count = d->options->top;
  r->live_without_stack_bytes = d->holders.live_without_stack_bytes;
  r->warnings = d->warnings.items;
  r->warning_count = d->warnings.count;
}

/* Steps concluded after the last entry belong to the end: they only release. */
static ul_status set_window(ul_device_replay *d) {
  const ul_replay_options *o = d->options;
  const uint64_t last = d->recording->count ? d->recording->count - 1 : 0;

  char to[24] = "the end";

  d->window_to = last;
  if (!o->has_window)
    return UL_OK;
  if (o->to_event != UINT64_MAX)
    snprintf(to, sizeof(to), "%" PRIu64, o->to_event);
  if (!d->recording->has_trace)
    return ul_fail(d->err, UL_E_INVALID, 0, "device %u has no recorded events to choose from",
                   (unsigned)d->recording->device);
  if (o->from_event > o->to_event || o->from_event > last)
    return ul_fail(d->err, UL_E_INVALID, 0,
                   "no event of device %u lies from %" PRIu64
                   " to %s: its events are 0 to %" PRIu64,
                   (unsigned)d->recording->device, o->from_event, to, last);
  d->window_from = o->from_event;
  d->window_to = o->to_event < last ? o->to_event : last;
  d->result.has_window = 1;
  d->result.window_from = d->window_from;
  d->result.window_to = d->window_to;
  return UL_OK;
}

static ul_status run(ul_device_replay *d) {
  UL_TRY(set_window(d));
  UL_TRY(ul_history_build(&d->history, d->source, d->recording, d->err));
  d->settings = recorded_settings(d);
  UL_TRY(choose_release(d));
  fill_result(d);
  UL_TRY(measure_stats(d));
  UL_TRY(look_at_peak(d));
  /* without a new segment there is no base to invent */
  if (d->result.segment_allocs + d->result.segment_maps && !d->options->skip_free_mode)
    UL_TRY(run_free_mode(d));
  UL_TRY(run_what_if(d));
  UL_TRY(run_observer(d));
  UL_TRY(add_warnings(d));
  bind_result(d);
  return UL_OK;
}

ul_status ul_device_replay_run(ul_device_replay **out, const ul_source *source,
                               const ul_recording *recording, const ul_replay_options *options,
                               ul_error *err) {
  ul_device_replay *d = calloc(1, sizeof(*d));
  ul_status status;

  if (!d)
    return ul_fail_nomem(err, "the replay");
  d->source = source;
  d->recording = recording;
  d->options = options;
  d->err = err;
  d->strings = ul_strtab_create();
  status = d->strings ? run(d) : ul_fail_nomem(err, "the replay");
  d->err = NULL;
  d->options = NULL;
  if (status != UL_OK) {
    ul_device_replay_free(d);
    return status;
  }
  *out = d;
  return UL_OK;
}

void ul_device_replay_free(ul_device_replay *d) {
  if (!d)
    return;
  ul_attempt_release(&d->kept);
  ul_attempt_release(&d->state_run);
  ul_history_free(d->history);
  UL_VEC_RELEASE(&d->choices);
  UL_VEC_RELEASE(&d->alike);
  UL_VEC_RELEASE(&d->refuted);
  UL_VEC_RELEASE(&d->stats);
  UL_VEC_RELEASE(&d->warnings);
  UL_VEC_RELEASE(&d->holders.holders);
  ul_strtab_free(d->strings);
  free(d);
}

const ul_device_result *ul_device_replay_result(const ul_device_replay *device) {
  return &device->result;
}

ul_status ul_device_replay_state(ul_device_replay *d, int started, uint64_t event, ul_state *out,
                                 ul_error *err) {
  ul_attempt_options options = as_recorded(d, d->result.torch);

  if (!started) {
    *out = d->kept.initial.state;
    return UL_OK;
  }
  options.with_proof = 0;
  options.stop_after = event;
  ul_attempt_release(&d->state_run);
  UL_TRY(ul_attempt_run(&d->state_run, d->history, &options, err));
  return ul_model_state(d->state_run.model, out, err);
}
