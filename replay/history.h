/* SPDX-License-Identifier: MIT */
/* What a recording says beyond its entries: the state before the first of them, the program's
 * steps that left no entry of their own, and where the recording contradicts itself. Computed once
 * per device; independent of the release that is tried. */
#ifndef UL_REPLAY_HISTORY_H
#define UL_REPLAY_HISTORY_H

#include <stddef.h>
#include <stdint.h>

#include "allocator/model.h"
#include "base/vec.h"
#include "ullage/replay.h"
#include "ullage/source.h"

#define UL_NO_EVENT UINT64_MAX

/* A block that lived before the recording began. */
typedef struct ul_old_block {
  uint64_t address;
  uint64_t bytes; /* 0: not recorded, to be concluded */
  uint64_t requested_bytes;
  uint64_t handle;
  uint64_t free_event;  /* UL_NO_EVENT: lives to the end */
  uint64_t first_event; /* the entry that names it; UL_NO_EVENT: none */
  uint64_t hint_event;  /* the entry whose address decided the size; UL_NO_EVENT: none */
  uint32_t stack;
  uint8_t state;
  uint8_t gone; /* undone: allocated by an entry after all */
} ul_old_block;

/* Memory reserved before the recording began: a cudaMalloc segment or a mapped piece. */
typedef struct ul_old_segment {
  uint64_t address;
  uint64_t bytes;
  uint32_t stream, pool, stack, registration;
  uint8_t is_small, is_expandable;
  uint64_t range_address; /* expandable: lowest address its range is known to reach down to */
} ul_old_segment;

/* A step of the program that was concluded, to be applied before event `before`. */
typedef struct ul_inferred {
  uint64_t before;
  ul_event event;
} ul_inferred;

/* An allocation whose private pool was concluded from its address. */
typedef struct ul_pool_override {
  uint64_t event;
  uint32_t pool;
} ul_pool_override;

typedef struct ul_history {
  const ul_source *source;
  const ul_recording *recording;
  uint64_t *alloc_of, *free_of;    /* by handle: event numbers, UL_NO_EVENT none */
  UL_VEC(ul_old_segment) segments; /* in address order, pieces of a range apart */
  UL_VEC(ul_old_block) blocks;     /* in address order */
  UL_VEC(ul_inferred) inferred;    /* in order */
  UL_VEC(ul_pool_override) pools;  /* in order of event */
  ul_difference contradiction;     /* the one that explains most; kind NONE: there is none */
  int contradiction_rank;          /* ul_contradiction_rank of it */
  uint64_t contradiction_count;
  uint64_t unknown_frees;
  ul_interval limit; /* memory fraction in bytes that collected segments tell; max 0: none */
  uint64_t ambiguous_flushes; /* releases that may be empty_cache or a flush inside malloc */
  int starts_empty;
  int complete;          /* starts empty and no entry is missing */
  int any_expandable;    /* expandable memory somewhere in the recording */
  int any_private_pools; /* a pool other than (0, 0) somewhere in it */
} ul_history;

ul_status ul_history_build(ul_history **out, const ul_source *source, const ul_recording *recording,
                           ul_error *err);
void ul_history_free(ul_history *history);

/* A remainder concluded for an old block that no address settles, and the entry that tells. */
typedef struct ul_tail_choice {
  uint64_t address; /* of the block */
  uint64_t tail;
  uint64_t event;
} ul_tail_choice;

typedef UL_VEC(ul_tail_choice) ul_tail_choices;

/* The state before event 0 under one model's rounding rules: sizes of old blocks are concluded,
 * what lies between blocks is free. The arrays are the caller's to free(). *ambiguous counts
 * blocks whose size other entries do not settle. */
typedef struct ul_initial_state {
  ul_state state;
  uint64_t ambiguous;
  UL_VEC(ul_segment) segments;
  UL_VEC(ul_block) blocks;
  UL_VEC(uint64_t) assisted; /* events whose own address decided a size, ascending */
} ul_initial_state;

ul_status ul_initial_state_build(ul_initial_state *out, const ul_history *history,
                                 const ul_model *model, const ul_tail_choices *choices,
                                 ul_error *err);
void ul_initial_state_release(ul_initial_state *initial);

/* Parts of ul_history_build, one file each. */
ul_status ul_history_undo(ul_history *history, ul_error *err);
ul_status ul_history_infer(ul_history *history, ul_error *err);

/* One changed entry contradicts several others. Of all contradictions found, the first of the
 * highest rank is nearest to what was changed. */
typedef enum ul_contradiction_rank {
  UL_RANK_NONE,
  UL_RANK_START,   /* something of the time before the recording cannot be */
  UL_RANK_REQUEST, /* entries of one allocation disagree about its size */
  UL_RANK_UNDO,    /* an entry does not fit what comes after it; found from the end */
} ul_contradiction_rank;

/* The memory fraction, which no file records, as far as the segments tell that a request gave back
 * before it grew: with garbage collection on, that happened above a threshold of it. */
void ul_history_infer_limit(ul_history *history);

/* Records a contradiction of the recording with itself. */
void ul_history_contradiction(ul_history *history, ul_contradiction_rank rank, uint64_t event,
                              const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
