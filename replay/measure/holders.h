/* SPDX-License-Identifier: MIT */
/* Who holds the memory at one instant: live blocks added up by allocation stack. Attribution is
 * lazy: only the state at that instant is looked at, never every event. */
#ifndef UL_REPLAY_MEASURE_HOLDERS_H
#define UL_REPLAY_MEASURE_HOLDERS_H

#include "replay/history.h"

typedef struct ul_holders {
  UL_VEC(ul_holder) holders; /* by bytes, largest first */
  uint64_t live_without_stack_bytes;
} ul_holders;

/* *out must be zero; release with UL_VEC_RELEASE(&out->holders). */
ul_status ul_holders_of(ul_holders *out, const ul_history *history, const ul_state *state,
                        ul_error *err);

#endif
