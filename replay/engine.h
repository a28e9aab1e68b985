/* SPDX-License-Identifier: MIT */
/* Feeds a recording to a model, event by event, and shows each step to probes. */
#ifndef UL_REPLAY_ENGINE_H
#define UL_REPLAY_ENGINE_H

#include "replay/history.h"
#include "replay/proof.h"

typedef enum ul_engine_mode {
  UL_ENGINE_AS_RECORDED, /* the driver answers as recorded: segment bases and refusals */
  UL_ENGINE_FREE,        /* recorded refusals, invented bases */
  UL_ENGINE_WHAT_IF,     /* a driver of its own: nothing is taken from the recorded one */
} ul_engine_mode;

/* Something that watches. before may be NULL; both return UL_OK to go on. The event is as fed to
 * the model; inferred ones carry the number of the event they come before. */
typedef struct ul_probe {
  ul_status (*before)(void *arg, uint64_t number, const ul_event *event, ul_model *model,
                      ul_error *err);
  ul_status (*after)(void *arg, uint64_t number, const ul_event *event, const ul_outcome *outcome,
                     ul_model *model, ul_error *err);
  void *arg;
} ul_probe;

typedef struct ul_engine_options {
  ul_engine_mode mode;
  uint64_t stop_after; /* event number; UL_NO_EVENT: to the end */
  int collects;        /* releases before a request are garbage collection, not refusals */
  ul_prover *prover;   /* AS_RECORDED only; may be NULL */
  const ul_probe *probes;
  size_t probe_count;
  ul_progress *progress; /* may be NULL */
  void *progress_arg;
} ul_engine_options;

/* The model must hold the initial state. */
ul_status ul_engine_run(ul_model *model, const ul_history *history,
                        const ul_engine_options *options, ul_error *err);

#endif
