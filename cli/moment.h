/* SPDX-License-Identifier: MIT */
/* A moment of a recording as it is typed: "1200" an event, "12.5ms" a time since the first entry,
 * "@NAME" a mark, "@step:3" the profiler's step 3. */
#ifndef UL_CLI_MOMENT_H
#define UL_CLI_MOMENT_H

#include <stddef.h>
#include <stdint.h>

#include "ullage/source.h"

/* The event of a moment: where it begins (for --from) or ends (for --to). Returns 0, or -1 with a
 * finished phrase in why[size]. */
int ul_moment_find(uint64_t *event, const ul_source *source, const ul_recording *recording,
                   const char *text, int want_end, char *why, size_t size);

#endif
