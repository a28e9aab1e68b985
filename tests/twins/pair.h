/* SPDX-License-Identifier: MIT */
/* The fast model, its naive twin and a second fast model that takes events in batches, in step. */
#ifndef UL_TESTS_TWINS_PAIR_H
#define UL_TESTS_TWINS_PAIR_H

#include <stddef.h>
#include <stdint.h>

#include "tests/support/random_life.h"
#include "ullage/model.h"

enum { PAIR_TEXT = 512, PAIR_BATCH = 64 };

/* Events that the second fast model has not taken yet, and what the naive one did. */
typedef struct pair_batch {
  ul_event events[PAIR_BATCH];
  ul_placement wanted[PAIR_BATCH];
  size_t count, size; /* taken when there are size of them */
} pair_batch;

typedef struct pair {
  ul_model *fast, *naive, *batched;
  pair_batch batch;
  const life_profile *profile; /* set before pair_begin, as is torch */
  const char *torch;
  uint64_t seed;
  size_t comparisons;
  char difference[PAIR_TEXT]; /* what differs; "" nothing so far */
  int over;                   /* the life cannot go on */
} pair;

/* One clear sentence, and exit 2. */
void pair_die(const char *what, const char *why);

/* New models. seed chooses where memory lies and how large batches are. */
void pair_begin(pair *p, uint64_t seed);
void pair_end(pair *p);

/* All take the step; answers, sums and texts are compared. *answer is the naive one's. */
void pair_step(pair *p, const life_step *step, ul_outcome *answer);

/* Compares states, statistics and histories; now and then copies take the models' place. */
void pair_compare(pair *p);

#endif
