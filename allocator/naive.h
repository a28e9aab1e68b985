/* SPDX-License-Identifier: MIT */
/* The native allocator once more, written for clarity: no index, no running sums of memory, every
 * question answered by looking at all blocks. O(n) and slow; its only purpose is to disagree with
 * the native backend wherever one of the two is wrong (tests/unit/test_twins.c), so the two share
 * no code but the small parts that know no blocks: pools, waits, history, sizing, settings, device.
 * Rules: docs/model.md.
 *
 * Errors. Steps return nothing where they can only fail for lack of this machine's memory or by the
 * an error that the real library raises on its way; they then set nomem, error or broken, and the
 * event ends so. */
#ifndef UL_ALLOCATOR_NAIVE_H
#define UL_ALLOCATOR_NAIVE_H

#include <stddef.h>
#include <stdint.h>

#include "allocator/device.h"
#include "allocator/history.h"
#include "allocator/model.h"
#include "allocator/pools.h"
#include "allocator/profile.h"
#include "allocator/settings.h"
#include "allocator/statistics.h"
#include "allocator/waits.h"
#include "base/vec.h"

typedef enum naive_condition {
  NAIVE_FREE,
  NAIVE_ALLOCATED,
  NAIVE_PENDING, /* the program let it go; other streams may still use it */
  NAIVE_UNMAPPED,
} naive_condition;

typedef struct naive_block {
  uint64_t address, bytes;
  uint64_t requested; /* of its last use: stays when it becomes free */
  uint64_t number;    /* of the block object, in order of creation */
  uint64_t key;       /* of this use among the waits; 0 while free */
  uint64_t handle;    /* of the events; 0 while free */
  uint64_t age_base;  /* searches of its pool when it last became free, 0 before; through 2.2 the
                         searches since then */
  uint32_t stack;
  uint32_t chain; /* history of 2.0 */
  naive_condition is;
} naive_block;

/* A cudaMalloc segment or a reserved range; its blocks in address order. */
typedef struct naive_segment {
  uint64_t address, bytes;
  uint64_t order; /* of creation, from 0 */
  uint64_t unit;  /* of mapping: that of the time of its creation */
  uint32_t pool, stream, stack;
  int small, expandable;
  UL_VEC(naive_block) blocks;
} naive_segment;

/* Where a block is; valid until blocks come or go. */
typedef struct naive_place {
  size_t segment, block;
} naive_place;

typedef UL_VEC(naive_place) naive_places;

/* What one malloc asks for, once its size is rounded and its pool is known. */
typedef struct naive_request {
  uint64_t bytes, rounded, segment_bytes;
  uint64_t handle;
  uint32_t pool, stream, stack;
  uint16_t device; /* of the event: texts name it */
  int small;
  int expandable; /* the option is on, and counts for this pool */
} naive_request;

/* How often one pool was searched, while garbage collection was on. */
typedef struct naive_searches {
  uint32_t pool;
  int small;
  uint64_t count;
} naive_searches;

/* Reserved bytes of one private pool: all, small, large. */
typedef struct naive_reserved {
  uint32_t pool;
  ul_stat_values values[UL_SLOT_COUNT];
} naive_reserved;

/* A kept state of a pool: one row for each block of its segments. */
typedef struct naive_kept {
  uint64_t address, bytes;
  uint64_t segment; /* address of the first block of its neighbours */
  uint64_t handle;
  uint32_t stack;
  int allocated;
} naive_kept;

typedef struct naive_checkpoint {
  uint64_t name;
  uint32_t pool;
  UL_VEC(naive_kept) blocks;
} naive_checkpoint;

typedef struct naive {
  const ul_profile *profile;
  ul_settings settings;
  ul_device device;
  ul_pools pools;
  ul_waits waits;
  ul_history history;
  ul_statistics statistics;
  UL_VEC(naive_segment) segments;
  UL_VEC(naive_searches) searches;
  UL_VEC(naive_reserved) reserved;
  UL_VEC(naive_checkpoint) checkpoints;
  UL_VEC(ul_driver_call) calls;
  UL_VEC(ul_segment) shown_segments;
  UL_VEC(ul_block) shown_blocks;
  uint64_t next_number, next_order, next_key;
  uint64_t limit;           /* of reserved memory; UINT64_MAX: none */
  uint64_t property_bytes;  /* the device's total, as it was at the start */
  uint64_t max_split_shown; /* a statistic: the setting at the start */
  uint64_t oom_rejections;
  ul_oom_facts facts;
  int last_was_oom;
  int every_call;
  ul_totals totals;
  ul_outcome *outcome; /* of the event being applied */
  int nomem;
  const char *error;  /* that the real library raises in the midst of the event */
  const char *broken; /* why the real library is inconsistent from here on */
} naive;

/* ---- naive_blocks.c: segments, blocks and their order ---- */

naive_block *ul_naive_at(const naive *n, naive_place p);
naive_segment *ul_naive_segment(const naive *n, naive_place p);
uint64_t ul_naive_unit(const naive *n, int small); /* of new expandable segments */
int ul_naive_slot(int small);                      /* of the statistics */
/* All free blocks of one pool, stream and kind, in set order; the caller releases the list. */
naive_places ul_naive_free_blocks(naive *n, uint32_t pool, uint32_t stream, int small);
/* Moves *stream to the first from there on that has a segment; 0: there is none. */
int ul_naive_next_stream(const naive *n, uint64_t *stream);
/* Opens a place before index for a block of a new number. */
naive_block *ul_naive_insert(naive *n, naive_segment *s, size_t index);
/* The block joins neighbours of its own condition and stays the object. Its new index. */
size_t ul_naive_merge(naive *n, naive_segment *s, size_t index);
size_t ul_naive_add_segment(naive *n, const naive_request *r, uint64_t address, uint64_t bytes,
                            int expandable);
void ul_naive_drop_segment(naive *n, size_t index);
void ul_naive_enter_free(naive *n, const naive_segment *s, naive_block *b); /* its age begins */
uint64_t *ul_naive_searches(naive *n, uint32_t pool, int small);
void ul_naive_count_search(naive *n, const naive_request *r);
uint64_t ul_naive_age(const naive *n, const naive_segment *s, const naive_block *b);
uint64_t ul_naive_total(const naive *n); /* reserved bytes */
int ul_naive_find_handle(const naive *n, uint64_t handle, naive_place *out);
int ul_naive_find_key(const naive *n, uint64_t key, naive_place *out);

/* ---- naive_figures.c: statistics, history, driver calls ---- */

void ul_naive_up(naive *n, ul_stat_array array, int small, uint64_t by);
void ul_naive_down(naive *n, ul_stat_array array, int small, uint64_t by);
void ul_naive_reserve(naive *n, const naive_segment *s, uint64_t bytes);
void ul_naive_unreserve(naive *n, const naive_segment *s, uint64_t bytes);
void ul_naive_count(naive *n, ul_stat_counter counter);
void ul_naive_note(naive *n, ul_action action, uint64_t address, uint64_t bytes, uint32_t stream);
/* Of the end of a use of the block, or the return of its segment. */
void ul_naive_note_end(naive *n, ul_action action, const naive_segment *s, const naive_block *b);
void ul_naive_call(naive *n, int kind, uint64_t address, uint64_t bytes, uint32_t stream);
size_t ul_naive_stats(const void *state, ul_stat *out, size_t capacity);
int ul_naive_pool_reserved(const void *state, size_t index, uint32_t *pool, uint64_t values[12]);
void ul_naive_reset_peak(void *state);
void ul_naive_reset_accumulated(void *state);
void ul_naive_count_totals(naive *n);

/* ---- naive_driver.c: asking for memory ---- */

/* Whether the search counts and garbage is collected. */
int ul_naive_collects(const naive *n);
/* One attempt; retry: after a full flush. *out is the block, in nobody's hands yet. */
ul_device_answer ul_naive_ask(naive *n, const naive_request *r, int retry, naive_place *out);
uint64_t ul_naive_range_bytes(const naive *n, int small);

/* ---- naive_release.c: giving memory back ---- */

/* 1 if something was released that may serve the request. */
int ul_naive_release_oversize(naive *n, const naive_request *r);
/* Everything cached (pool 0) or that of one private pool; *reason: an error, and nothing was
 * released. */
void ul_naive_flush(naive *n, uint32_t pool, const char **reason);
void ul_naive_collect(naive *n);

/* ---- naive_alloc.c ---- */

/* Best fit, one candidate. 1 if *out serves the request. */
int ul_naive_find(naive *n, const naive_request *r, naive_place *out);
/* The block leaves the cache for the program: cut to size where the rules say so. */
void ul_naive_hand_out(naive *n, const naive_request *r, naive_place p, int split,
                       naive_place *out);
void ul_naive_alloc(naive *n, const ul_event *e, ul_outcome *o);
void ul_naive_alloc_at(naive *n, const ul_event *e, ul_outcome *o);

/* ---- naive_free.c ---- */

void ul_naive_free(naive *n, naive_place p); /* the program lets go */
void ul_naive_free_done(naive *n);           /* the blocks that waits.done names become free */
void ul_naive_free_block(naive *n, naive_place p);
void ul_naive_poll(naive *n); /* nothing while suspended */

/* ---- naive_checkpoint.c ---- */

void ul_naive_checkpoint(naive *n, const ul_event *e, ul_outcome *o);
void ul_naive_restore(naive *n, const ul_event *e, ul_outcome *o);

/* ---- naive_state.c ---- */

ul_status ul_naive_visit(void *state, ul_state *out, ul_error *err);
ul_status ul_naive_check(const void *state, ul_error *err);
ul_status ul_naive_clone(void **out, const void *state, ul_error *err);
void ul_naive_destroy(void *state);

/* The event makes no sense here, or the real library raises an error. */
void ul_naive_reject(ul_outcome *o, const char *reason);

#endif
