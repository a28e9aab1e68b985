/* SPDX-License-Identifier: MIT */
/* The text of PyTorch's out-of-memory exceptions, release by release (allocator-findings 4). */
#ifndef UL_ALLOCATOR_OOM_TEXT_H
#define UL_ALLOCATOR_OOM_TEXT_H

#include <stddef.h>

#include "allocator/model.h"
#include "allocator/profile.h"

/* Fills at most capacity bytes, zero included; returns the length of the whole text. */
size_t ul_oom_text(char *out, size_t capacity, const ul_profile *profile,
                   const ul_oom_facts *facts);

#endif
