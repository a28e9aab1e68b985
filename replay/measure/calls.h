/* SPDX-License-Identifier: MIT */
/* Counts what was asked of the driver, and the requests that failed. */
#ifndef UL_REPLAY_MEASURE_CALLS_H
#define UL_REPLAY_MEASURE_CALLS_H

#include "replay/engine.h"

typedef struct ul_calls_probe {
  const ul_recording *recording;
  uint64_t by_kind[UL_ACTION_COUNT];
  uint64_t total, retries, rejected, oom_count;
  uint64_t unexpected_ooms; /* refused here, served in the recording */
  UL_VEC(ul_oom) ooms;      /* the first few */
} ul_calls_probe;

ul_probe ul_calls_probe_init(ul_calls_probe *probe, const ul_recording *recording);
void ul_calls_probe_release(ul_calls_probe *probe);

#endif
