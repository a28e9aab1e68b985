/* SPDX-License-Identifier: MIT */
#include "replay/measure/curve.h"

#include <string.h>

#include "base/error.h"

static void widen(uint64_t value, uint64_t *min, uint64_t *max) {
  if (value < *min)
    *min = value;
  if (value > *max)
    *max = value;
}

static ul_status after(void *arg, uint64_t number, const ul_event *event, const ul_outcome *outcome,
                       ul_model *model, ul_error *err) {
  ul_curve_probe *c = arg;
  const ul_totals *t = ul_model_totals(model);
  ul_curve_point *p = c->points.count ? &c->points.items[c->points.count - 1] : NULL;

  (void)outcome;
  if (number < c->from || number > c->to)
    return UL_OK;
  if (!p || (number - c->from) / c->width != (p->first_event - c->from) / c->width) {
    const ul_curve_point fresh = {
        number,          number,          event->time_ns,     t->reserved_bytes,  t->reserved_bytes,
        t->active_bytes, t->active_bytes, t->allocated_bytes, t->allocated_bytes, t->live_bytes,
        t->live_bytes};
    return UL_VEC_PUSH(&c->points, fresh) ? UL_OK : ul_fail_nomem(err, "the curve");
  }
  p->last_event = number;
  widen(t->reserved_bytes, &p->reserved_min, &p->reserved_max);
  widen(t->active_bytes, &p->active_min, &p->active_max);
  widen(t->allocated_bytes, &p->allocated_min, &p->allocated_max);
  widen(t->live_bytes, &p->live_min, &p->live_max);
  return UL_OK;
}

ul_probe ul_curve_probe_init(ul_curve_probe *probe, uint64_t from, uint64_t to, uint32_t points) {
  const ul_probe out = {NULL, after, probe};
  const uint64_t events = to - from + 1;

  memset(probe, 0, sizeof(*probe));
  probe->from = from;
  probe->to = to;
  probe->width = events / points + (events % points != 0);
  return out;
}

void ul_curve_probe_release(ul_curve_probe *probe) {
  UL_VEC_RELEASE(&probe->points);
}
