/* SPDX-License-Identifier: MIT */
/* What PyTorch raises where a model rejects an event (tables/refusals.def). */
#ifndef UL_ALLOCATOR_REFUSALS_H
#define UL_ALLOCATOR_REFUSALS_H

#include "allocator/profile.h"

/* "" where the release raises nothing. Static storage. */
const char *ul_refusal_text(const ul_profile *profile, const char *reason);

#endif
