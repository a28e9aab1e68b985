/* SPDX-License-Identifier: MIT */
/* Random lives of an allocator: every kind of event, in a mixture that a profile chooses, mostly as
 * a program would make them and sometimes not. The same profile and seed make the same life as long
 * as the allocator answers the same. */
#ifndef UL_TESTS_SUPPORT_RANDOM_LIFE_H
#define UL_TESTS_SUPPORT_RANDOM_LIFE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "ullage/model.h"

/* What a life may do beyond requests, frees, uses of streams, empty_cache. */
enum {
  LIFE_STREAMS = 1u << 0,     /* several streams, blocks used on others */
  LIFE_POOLS = 1u << 1,       /* private pools and routing */
  LIFE_CAPTURES = 1u << 2,    /* graph captures */
  LIFE_TRAITS = 1u << 3,      /* use_on_oom, no_split, allocators of their own */
  LIFE_TOGGLES = 1u << 4,     /* settings at run time */
  LIFE_FRACTION = 1u << 5,    /* limits of the process */
  LIFE_EXTERNAL = 1u << 6,    /* memory of others, another size of the device */
  LIFE_HISTORY = 1u << 7,     /* recording, in rings of many sizes */
  LIFE_ADDRESS = 1u << 8,     /* allocateWithAddress */
  LIFE_CHECKPOINTS = 1u << 9, /* of pools */
  LIFE_ABSURD = 1u << 10,     /* sizes near 2^64, names of nothing */
  LIFE_CROWD = 1u << 11,      /* thousands of blocks of many sizes */
};

typedef struct life_profile {
  const char *name;
  const char *settings;
  uint64_t device_mib; /* 0: unlimited */
  unsigned first;      /* release that knows all of it, major * 100 + minor */
  ul_stream_events stream_events;
  unsigned may; /* LIFE_* */
} life_profile;

extern const life_profile life_profiles[];
extern const size_t life_profile_count;

typedef enum life_kind {
  LIFE_EVENT,
  LIFE_CONFIGURE,
  LIFE_RECORD,   /* number entries; 0: off */
  LIFE_SNAPSHOT, /* which the history notes */
  LIFE_RESET_PEAK,
  LIFE_RESET_ACCUMULATED,
} life_kind;

typedef struct life_step {
  life_kind kind;
  ul_event event;
  double fraction;      /* SET_FRACTION: its bytes are the model's to tell */
  const char *settings; /* CONFIGURE; static storage */
  uint64_t number;
} life_step;

enum { LIFE_FEW = 256, LIFE_HANDLES = 4096, LIFE_FREED = 64, LIFE_POOLS_KNOWN = 5 };

typedef struct life {
  const life_profile *profile;
  uint64_t seed;
  uint64_t last_handle, last_address;
  uint64_t live[LIFE_HANDLES]; /* handles; fewer than LIFE_FEW without LIFE_CROWD */
  size_t live_count;
  uint64_t freed[LIFE_FREED]; /* handles that may wait for a COMPLETE; the first freed_count */
  size_t freed_count;
  uint64_t sizes[8]; /* that come again and again, so that ties decide */
  int uses[LIFE_POOLS_KNOWN], begun[LIFE_POOLS_KNOWN], captured[LIFE_POOLS_KNOWN];
  uint64_t checkpoints;
  int growing;
} life;

void life_begin(life *life, const life_profile *profile, uint64_t seed);
life_step life_next(life *life);
/* What the allocator answered to the last step. state is read after a restore: what is live. */
void life_learn(life *life, const life_step *step, const ul_outcome *outcome);
void life_learn_state(life *life, const ul_state *state);

/* The head and the lines of a script (docs/script.md); comments where it has no word for a step. */
void life_write_head(FILE *out, const life_profile *profile, const char *torch);
void life_write_step(FILE *out, const life_step *step);

#endif
