/* SPDX-License-Identifier: MIT */
/* What somebody probably meant to type. */
#ifndef ULLAGE_NEAREST_H
#define ULLAGE_NEAREST_H

#include <stddef.h>

#include "ullage/api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The candidate that takes the fewest edits from word, if they are few for its length; NULL if none
 * is near. next returns candidates until NULL; *index starts at 0. */
UL_API const char *ul_nearest(const char *word, const char *(*next)(size_t *index, void *arg),
                              void *arg);

#ifdef __cplusplus
}
#endif
#endif
