/* SPDX-License-Identifier: MIT */
#include "replay/attempt.h"

#include <string.h>

#include "base/error.h"

/* What was cached before the recording began need not be there on a smaller device: the allocator
 * would have given it back to make room. */
static ul_status shrink_to_memory(ul_model *model, const ul_attempt_options *options,
                                  ul_error *err) {
  const ul_event event = {.kind = UL_EVENT_EMPTY_CACHE, .flags = UL_EVENT_INFERRED};
  ul_outcome outcome;

  if (!options->device_bytes ||
      ul_attempt_start_fits(options, ul_model_totals(model)->reserved_bytes))
    return UL_OK;
  return ul_model_apply(model, &event, NULL, &outcome, err);
}

static ul_status set_limit(ul_model *model, uint64_t bytes, ul_error *err) {
  const ul_event event = {
      .kind = UL_EVENT_SET_FRACTION, .bytes = bytes, .flags = UL_EVENT_INFERRED};
  ul_outcome outcome;

  return ul_model_apply(model, &event, NULL, &outcome, err);
}

int ul_attempt_start_fits(const ul_attempt_options *options, uint64_t reserved_bytes) {
  return !options->device_bytes ||
         (options->external_bytes <= options->device_bytes &&
          reserved_bytes <= options->device_bytes - options->external_bytes);
}

static ul_status prepare(ul_attempt *a, const ul_history *history,
                         const ul_attempt_options *options, ul_error *err) {
  ul_model_options model = {.size = sizeof(model)};

  model.torch = options->torch;
  model.settings = options->settings;
  model.variable = options->variable;
  model.device_bytes = options->device_bytes;
  model.external_bytes = options->external_bytes;
  model.address_policy = options->policy;
  UL_TRY(ul_model_create(&a->model, &model, err));
  UL_TRY(ul_initial_state_build(&a->initial, history, a->model, options->choices, err));
  UL_TRY(ul_model_load(a->model, &a->initial.state, err));
  if (options->limit_bytes)
    UL_TRY(set_limit(a->model, options->limit_bytes, err));
  if (options->mode == UL_ENGINE_WHAT_IF)
    UL_TRY(shrink_to_memory(a->model, options, err));
  a->start_reserved_bytes = ul_model_totals(a->model)->reserved_bytes;
  return UL_OK;
}

ul_status ul_attempt_run(ul_attempt *a, const ul_history *history,
                         const ul_attempt_options *options, ul_error *err) {
  const ul_recording *r = history->recording;
  ul_engine_options engine = {.mode = options->mode, .stop_after = options->stop_after};
  ul_probe probes[4];

  memset(a, 0, sizeof(*a));
  UL_TRY(prepare(a, history, options, err));
  ul_prover_init(&a->prover, history, &a->initial);
  probes[engine.probe_count++] = ul_peak_probe_init(&a->peak, options->from, options->to);
  probes[engine.probe_count++] = ul_calls_probe_init(&a->calls, r);
  if (options->curve_points)
    probes[engine.probe_count++] =
        ul_curve_probe_init(&a->curve, options->from, options->to, options->curve_points);
  if (options->probe)
    probes[engine.probe_count++] = *options->probe;
  engine.collects = options->limit_bytes != 0;
  engine.probes = probes;
  engine.prover = options->with_proof ? &a->prover : NULL;
  engine.progress = options->progress;
  engine.progress_arg = options->progress_arg;
  UL_TRY(ul_engine_run(a->model, history, &engine, err));
  a->at_end = *ul_model_totals(a->model);
  if (!a->peak.any)
    ul_peak_probe_take(&a->peak, 0, 0, &a->at_end);
  return UL_OK;
}

void ul_attempt_release(ul_attempt *a) {
  ul_model_destroy(a->model);
  a->model = NULL;
  ul_initial_state_release(&a->initial);
  ul_curve_probe_release(&a->curve);
  ul_calls_probe_release(&a->calls);
}

static uint64_t reached(const ul_proof *proof) {
  return proof->first_difference.kind == UL_DIFFERENCE_NONE ? UL_NO_EVENT
                                                            : proof->first_difference.event;
}

int ul_attempt_is_better(const ul_attempt *a, const ul_attempt *b) {
  const ul_proof *x = &a->prover.proof, *y = &b->prover.proof;

  if (x->holds != y->holds)
    return x->holds;
  if (reached(x) != reached(y))
    return reached(x) > reached(y);
  return x->exact + x->assisted + x->segments_exact + x->final_blocks_exact >
         y->exact + y->assisted + y->segments_exact + y->final_blocks_exact;
}
