/* SPDX-License-Identifier: MIT */
/* What somebody probably meant to type. */
#ifndef UL_CLI_NEAREST_H
#define UL_CLI_NEAREST_H

#include <stddef.h>

/* The candidate that takes the fewest edits from word, if they are few for its length; NULL if none
 * is near. next returns candidates until NULL; *index starts at 0. */
const char *ul_nearest(const char *word, const char *(*next)(size_t *index, void *arg), void *arg);

#endif
