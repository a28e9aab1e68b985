/* SPDX-License-Identifier: MIT */
/* A replay without proof: another release, other settings, another memory. */
#include <string.h>

#include "base/error.h"
#include "replay/device_state.h"

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
  w->approximate = ul_model_is_approximate(attempt->model);
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

ul_status ul_device_what_if(ul_device_replay *d) {
  const ul_replay_options *o = d->options;
  ul_attempt_options options = ul_device_as_recorded(d, d->result.torch);
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
  if (o->settings) {
    options.settings = ul_device_keep(d, o->settings);
    options.variable = o->settings_variable;
  }
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
