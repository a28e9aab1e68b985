/* SPDX-License-Identifier: MIT */
/* Sizes of old blocks that no address tells, learnt from what the recorded allocator did not do:
 * a free block behind an old one that was passed over must have been too small, so the old block
 * keeps a remainder. */
#ifndef UL_REPLAY_TAIL_CHOICES_H
#define UL_REPLAY_TAIL_CHOICES_H

#include "replay/attempt.h"

/* Looks at an attempt's first difference. Returns 1 if another remainder explains it and was added
 * to *choices, 0 if not, -1 without memory. */
int ul_tail_choices_learn(ul_tail_choices *choices, const ul_history *history,
                          const ul_attempt *attempt);

#endif
