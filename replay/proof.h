/* SPDX-License-Identifier: MIT */
/* Compares what a model decides with what was recorded: every placement, every driver call, the
 * final state. Only compares; nothing flows back. */
#ifndef UL_REPLAY_PROOF_H
#define UL_REPLAY_PROOF_H

#include "replay/history.h"

typedef struct ul_prover {
  const ul_history *history;
  const ul_initial_state *initial;
  ul_proof proof;
  size_t next_assisted; /* into initial->assisted */
  int differs;          /* proof.first_difference is one of model and recording */
} ul_prover;

/* The recorded driver calls of one step, in order. */
typedef struct ul_call_list {
  const ul_driver_call *calls;
  size_t count;
} ul_call_list;

void ul_prover_init(ul_prover *prover, const ul_history *history, const ul_initial_state *initial);

/* An ALLOC event: address, result and driver calls. pool_inferred: its pool came from its address.
 */
void ul_prover_alloc(ul_prover *prover, uint64_t number, const ul_event *event,
                     const ul_outcome *outcome, ul_call_list recorded, int pool_inferred);

/* A concluded release of cached memory, just before event `number`. */
void ul_prover_release(ul_prover *prover, uint64_t number, const ul_outcome *outcome,
                       ul_call_list recorded);

/* Any other event that the model could make no sense of. */
void ul_prover_rejected(ul_prover *prover, uint64_t number, const ul_outcome *outcome);

/* Recorded driver calls that no step of the program explains. */
void ul_prover_unexplained(ul_prover *prover, ul_call_list recorded);

/* The state after the last event; closes the proof. */
ul_status ul_prover_final(ul_prover *prover, ul_model *model, ul_error *err);

#endif
