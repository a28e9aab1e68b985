/* SPDX-License-Identifier: MIT */
#include "replay/replay_device.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "replay/device_state.h"

const char *ul_device_keep(ul_device_replay *d, const char *text) {
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
  warning.text = ul_device_keep(d, text);
  return UL_VEC_PUSH(&d->warnings, warning) ? UL_OK : ul_fail_nomem(d->err, "the replay");
}

/* The settings of the recording, or what its memory shows where it has none. */
static const char *recorded_settings(const ul_device_replay *d) {
  const ul_source_info *info = ul_source_get_info(d->source);

  if (info->settings)
    return info->settings;
  return d->history->any_expandable ? "expandable_segments:True" : "";
}

ul_attempt_options ul_device_as_recorded(const ul_device_replay *d, const char *torch) {
  ul_attempt_options o = {.torch = torch, .settings = d->settings, .stop_after = UL_NO_EVENT};

  o.mode = UL_ENGINE_AS_RECORDED;
  o.with_proof = 1;
  o.choices = &d->choices;
  o.limit_bytes = d->limit_bytes;
  o.from = d->window_from;
  o.to = d->window_to;
  return o;
}

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
  ul_attempt_options options = ul_device_as_recorded(d, d->result.torch);
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
  UL_TRY(ul_device_choose_release(d));
  fill_result(d);
  UL_TRY(ul_device_measure(d));
  UL_TRY(ul_device_what_if(d));
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
  ul_attempt_options options = ul_device_as_recorded(d, d->result.torch);

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
