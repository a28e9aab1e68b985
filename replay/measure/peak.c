/* SPDX-License-Identifier: MIT */
#include "replay/measure/peak.h"

#include <string.h>

ul_lost ul_lost_of(const ul_totals *t, uint64_t event) {
  ul_lost lost = {.event = event};

  lost.reserved_bytes = t->reserved_bytes;
  lost.live_bytes = t->live_bytes;
  lost.rounding_bytes = t->live_rounded_bytes - t->live_bytes;
  lost.tail_bytes = t->allocated_bytes - t->live_rounded_bytes;
  lost.pending_bytes = t->active_bytes - t->allocated_bytes;
  lost.releasable_bytes = t->releasable_bytes;
  lost.held_bytes = t->held_bytes;
  lost.pinned_bytes = t->reserved_bytes - t->active_bytes - t->releasable_bytes - t->held_bytes;
  return lost;
}

static void raise(uint64_t value, uint64_t event, int first, uint64_t *max, uint64_t *max_event) {
  if (first || value > *max) {
    *max = value;
    *max_event = event;
  }
}

void ul_peak_probe_take(ul_peak_probe *probe, uint64_t event, uint64_t time_ns,
                        const ul_totals *totals) {
  ul_peak *p = &probe->peak;
  const int first = !probe->any;

  if (first)
    probe->first_reserved_bytes = totals->reserved_bytes;
  if (first || totals->reserved_bytes > p->reserved_bytes) {
    p->event = event;
    p->time_ns = time_ns;
    p->reserved_bytes = totals->reserved_bytes;
    p->allocated_bytes = totals->allocated_bytes;
    p->active_bytes = totals->active_bytes;
    p->requested_bytes = totals->requested_bytes;
    probe->at_peak = *totals;
  }
  raise(totals->allocated_bytes, event, first, &p->max_allocated_bytes, &p->max_allocated_event);
  raise(totals->active_bytes, event, first, &p->max_active_bytes, &p->max_active_event);
  raise(totals->live_bytes, event, first, &p->max_live_bytes, &p->max_live_event);
  probe->any = 1;
}

static ul_status after(void *arg, uint64_t number, const ul_event *event, const ul_outcome *outcome,
                       ul_model *model, ul_error *err) {
  const ul_peak_probe *probe = arg;

  (void)outcome, (void)err;
  if (number < probe->from || number > probe->to)
    return UL_OK;
  ul_peak_probe_take(arg, number, event->time_ns, ul_model_totals(model));
  return UL_OK;
}

ul_probe ul_peak_probe_init(ul_peak_probe *probe, uint64_t from, uint64_t to) {
  const ul_probe out = {NULL, after, probe};

  memset(probe, 0, sizeof(*probe));
  probe->from = from;
  probe->to = to;
  return out;
}
