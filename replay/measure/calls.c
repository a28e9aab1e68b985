/* SPDX-License-Identifier: MIT */
#include "replay/measure/calls.h"

#include <string.h>

#include "base/error.h"

/* Later refusals are only counted: a run that does not fit fails at every step. */
enum { KEPT_OOMS = 100 };

static ul_status after(void *arg, uint64_t number, const ul_event *event, const ul_outcome *outcome,
                       ul_model *model, ul_error *err) {
  ul_calls_probe *c = arg;
  uint32_t i;

  (void)model;
  for (i = 0; i < outcome->call_count; i++)
    c->by_kind[outcome->calls[i].kind]++;
  c->total += outcome->call_count;
  c->retries += outcome->retries;
  c->rejected += outcome->result == UL_OUTCOME_REJECTED;
  if (outcome->result == UL_OUTCOME_OOM) {
    const int recorded = (event->flags & UL_EVENT_OOM) != 0;
    const ul_oom oom = {number, outcome->block_bytes,
                        recorded ? c->recording->addresses[number] : 0, recorded};
    c->oom_count++;
    c->unexpected_ooms += !recorded;
    if (c->ooms.count < KEPT_OOMS && !UL_VEC_PUSH(&c->ooms, oom))
      return ul_fail_nomem(err, "the replay");
  }
  return UL_OK;
}

ul_probe ul_calls_probe_init(ul_calls_probe *probe, const ul_recording *recording) {
  const ul_probe out = {NULL, after, probe};

  memset(probe, 0, sizeof(*probe));
  probe->recording = recording;
  return out;
}

void ul_calls_probe_release(ul_calls_probe *probe) {
  UL_VEC_RELEASE(&probe->ooms);
}
