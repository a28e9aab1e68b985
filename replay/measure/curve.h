/* SPDX-License-Identifier: MIT */
/* The curves over the recording, thinned to buckets of equal numbers of events. Each bucket keeps
 * minimum and maximum, so that no peak is lost. */
#ifndef UL_REPLAY_MEASURE_CURVE_H
#define UL_REPLAY_MEASURE_CURVE_H

#include "replay/engine.h"

typedef struct ul_curve_probe {
  uint64_t from, to, width; /* events looked at; events in a bucket */
  UL_VEC(ul_curve_point) points;
} ul_curve_probe;

/* points: how many buckets there may be, at least 1. */
ul_probe ul_curve_probe_init(ul_curve_probe *probe, uint64_t from, uint64_t to, uint32_t points);
void ul_curve_probe_release(ul_curve_probe *probe);

#endif
