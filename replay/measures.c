/* SPDX-License-Identifier: MIT */
/* What a second look at the kept run tells: statistics, the instant of the peak, and what hangs on
 * addresses that nobody recorded. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "replay/device_state.h"
#include "replay/measure/known_stats.h"

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
  ul_attempt_options options = ul_device_as_recorded(d, d->result.torch);
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
    ul_attempt_options options = ul_device_as_recorded(d, d->result.torch);
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

ul_status ul_device_measure(ul_device_replay *d) {
  UL_TRY(measure_stats(d));
  UL_TRY(look_at_peak(d));
  /* without a new segment there is no base to invent */
  if (d->result.segment_allocs + d->result.segment_maps && !d->options->skip_free_mode)
    UL_TRY(run_free_mode(d));
  return UL_OK;
}
