/* SPDX-License-Identifier: MIT */
/* One run of a recording under one release and one string of settings, with everything that is
 * measured on the way. */
#ifndef UL_REPLAY_ATTEMPT_H
#define UL_REPLAY_ATTEMPT_H

#include "replay/engine.h"
#include "replay/measure/calls.h"
#include "replay/measure/curve.h"
#include "replay/measure/peak.h"

typedef struct ul_attempt_options {
  const char *torch;
  const char *settings;
  ul_settings_variable variable;
  ul_engine_mode mode;
  ul_address_policy policy;
  uint64_t device_bytes, external_bytes;
  uint32_t curve_points; /* 0: no curve */
  uint64_t from, to;     /* events that peaks and curve look at */
  int with_proof;
  uint64_t stop_after;            /* UL_NO_EVENT: to the end */
  const ul_probe *probe;          /* one more; may be NULL */
  const ul_tail_choices *choices; /* may be NULL */
  uint64_t limit_bytes;           /* memory fraction in bytes; 0: none */
  ul_progress *progress;
  void *progress_arg;
} ul_attempt_options;

typedef struct ul_attempt {
  ul_model *model; /* after the run */
  ul_initial_state initial;
  ul_prover prover;
  ul_peak_probe peak;
  ul_curve_probe curve;
  ul_calls_probe calls;
  uint64_t start_reserved_bytes;
  ul_totals at_end;
} ul_attempt;

/* Runs it. *attempt needs no initialisation; release it whatever is returned. */
ul_status ul_attempt_run(ul_attempt *attempt, const ul_history *history,
                         const ul_attempt_options *options, ul_error *err);
void ul_attempt_release(ul_attempt *attempt);

/* Whether so much can be reserved before the first event at all. */
int ul_attempt_start_fits(const ul_attempt_options *options, uint64_t reserved_bytes);

/* 1 if a proves more than b: it holds, or it differs later, or fewer placements differ. */
int ul_attempt_is_better(const ul_attempt *a, const ul_attempt *b);

#endif
