/* SPDX-License-Identifier: MIT */
/* The highest point of every curve, and where the reserved bytes are at that instant and at the
 * end. */
#ifndef UL_REPLAY_MEASURE_PEAK_H
#define UL_REPLAY_MEASURE_PEAK_H

#include "replay/engine.h"

typedef struct ul_peak_probe {
  ul_peak peak;
  ul_totals at_peak; /* totals after peak.event */
  uint64_t segment_count_at_peak;
  uint64_t from, to;             /* events looked at */
  uint64_t first_reserved_bytes; /* after the first of them */
  int any;
} ul_peak_probe;

/* Watches events from ... to of a run. */
ul_probe ul_peak_probe_init(ul_peak_probe *probe, uint64_t from, uint64_t to);

/* The seven classes that reserved splits into, from a model's sums. */
ul_lost ul_lost_of(const ul_totals *totals, uint64_t event);

/* Takes the totals of a state without events as the peak. */
void ul_peak_probe_take(ul_peak_probe *probe, uint64_t event, uint64_t time_ns,
                        const ul_totals *totals);

#endif
