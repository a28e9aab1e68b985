/* SPDX-License-Identifier: MIT */
/* Which of PyTorch's statistics a recording determines (docs/model.md has the table). */
#ifndef UL_REPLAY_MEASURE_KNOWN_STATS_H
#define UL_REPLAY_MEASURE_KNOWN_STATS_H

#include "replay/history.h"

/* 1 if the replay's value for this key is the one torch.cuda.memory_stats() had. */
int ul_stat_is_known(const char *name, const ul_history *history);

#endif
