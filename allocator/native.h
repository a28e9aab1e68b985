/* SPDX-License-Identifier: MIT */
/* PyTorch's native caching allocator: its state and the steps that its files share. The rules are
 * numbered in docs/model.md. Indices instead of pointers, so that a copy is a clone; index 0 is
 * "none" everywhere. */
#ifndef UL_ALLOCATOR_NATIVE_H
#define UL_ALLOCATOR_NATIVE_H

#include <stddef.h>
#include <stdint.h>

#include "allocator/device.h"
#include "allocator/free_set.h"
#include "allocator/model.h"
#include "allocator/profile.h"
#include "allocator/settings.h"
#include "allocator/statistics.h"
#include "base/idmap.h"
#include "base/vec.h"

enum {
  BLOCK_ALLOCATED = 1u << 0, /* the program holds it */
  BLOCK_PENDING = 1u << 1,   /* freed, but other streams may still use it */
  BLOCK_UNMAPPED = 1u << 2,  /* address space of an expandable segment */
  BLOCK_DEAD = 1u << 3,      /* index waits for reuse */
};

/* A piece of a segment. Blocks of a segment tile it in prev/next order. A block that is neither
 * allocated, pending, unmapped nor dead is free and in its lane's free set. */
typedef struct native_block {
  uint64_t address;
  uint64_t bytes;
  uint64_t tie; /* order among equal sizes */
  uint64_t requested_bytes;
  uint32_t prev, next;
  uint32_t segment;
  uint32_t handle;
  uint32_t stack;
  uint32_t gc_base; /* free: searches of its pool when it became so. Pending: its place in line */
  uint16_t uses;    /* streams other than its own that used it since it was handed out */
  uint8_t flags;
} native_block;

/* A cudaMalloc segment, or the whole reserved range of an expandable one. */
typedef struct native_segment {
  uint64_t address;
  uint64_t bytes;
  uint64_t tie_base;    /* ties of its blocks are this plus their offset */
  uint32_t first_block; /* the one without prev; kept current */
  uint32_t lane;
  uint32_t stack;
  uint32_t registration; /* creation number */
  uint8_t expandable;
  uint8_t alive;
} native_segment;

/* The free memory of one pool and stream: where a request looks. */
typedef struct native_lane {
  uint32_t pool;
  uint32_t stream;
  uint8_t small;
  ul_free_set free;
  ul_free_set unmapped; /* by address alone */
} native_lane;

typedef struct native_pool {
  uint32_t id;
  uint8_t freeable;          /* private, and nobody will allocate from it again */
  uint32_t searches[2];      /* large, small: counted while garbage collection is on */
  UL_VEC(uint32_t) lanes[2]; /* large, small: in order of stream */
} native_pool;

typedef struct native {
  const ul_profile *profile;
  ul_settings settings;
  ul_device device;
  UL_VEC(native_block) blocks; /* [0] unused */
  UL_VEC(native_segment) segments;
  UL_VEC(native_lane) lanes;
  UL_VEC(native_pool) pools; /* [0] the default pool */
  ul_idmap pool_index;       /* pool id -> index into pools + 1 */
  ul_idmap lane_index;       /* pool index, stream and size class -> lane */
  uint32_t last_lane[2];     /* large, small: the one asked for last */
  uint32_t dead_block;       /* chain of dead blocks through next */
  uint32_t dead_segment;     /* chain of dead segments through first_block */
  UL_VEC(uint32_t) block_of; /* handle -> block */
  UL_VEC(uint32_t) pending;  /* blocks that wait, oldest first; 0: completed meanwhile */
  size_t pending_gone;       /* of them 0 */
  UL_VEC(uint32_t) scratch;
  UL_VEC(ul_driver_call) calls; /* of the event being applied */
  uint64_t limit_bytes;         /* of reserved memory: the memory fraction; UINT64_MAX none */
  uint64_t block_number;        /* creation numbers given so far (2.12) */
  uint64_t segment_ties;        /* tie space used so far (2.13 on) */
  uint32_t segment_number;
  uint64_t events;
  ul_totals totals;
  ul_statistics statistics;
  UL_VEC(ul_segment) shown_segments; /* what the last visit handed out */
  UL_VEC(ul_block) shown_blocks;
} native;

/* native_blocks.c: blocks, lanes and segments. All that can fail return 0 without memory. */
uint32_t ul_native_block_new(native *n);
void ul_native_block_delete(native *n, uint32_t block);
void ul_native_block_number(native *n,
                            uint32_t block); /* the next creation number, where it counts */
void ul_native_block_retie(native *n, uint32_t block); /* after its address changed */
uint32_t ul_native_lane_of(native *n, uint32_t pool, uint32_t stream, int small);
uint32_t ul_native_pool_of(native *n, uint32_t pool); /* index + 1 */
uint32_t ul_native_segment_new(native *n, uint64_t address, uint64_t bytes, uint32_t lane,
                               int expandable);
void ul_native_segment_delete(native *n, uint32_t segment);
int ul_native_put_free(native *n, uint32_t block);
void ul_native_take_free(native *n, uint32_t block);
void ul_native_take_found(native *n, uint32_t block,
                          ul_free_at at); /* where ul_native_find saw it */
int ul_native_put_unmapped(native *n, uint32_t block);
void ul_native_take_unmapped(native *n, uint32_t block);
int ul_native_is_free(const native_block *block); /* mapped and in a free set */
int ul_native_log_call(native *n, int kind, uint64_t address, uint64_t bytes, uint32_t stream);
int ul_native_slot(const native *n, const native_block *block); /* statistics slot of its pool */
void ul_native_recount(native *n); /* totals of free memory, after a pool changed its nature */

/* native_free.c */
int ul_native_merge(native *n, uint32_t block, uint32_t neighbour); /* 1 merged, 0 not allowed */
int ul_native_free_block(native *n, uint32_t block);
int ul_native_add_pending(native *n, uint32_t block);
void ul_native_drop_pending(native *n, uint32_t block);
int ul_native_complete_all(native *n);
int ul_native_return_segment(native *n, uint32_t block);
int ul_native_release_cached(native *n, uint32_t only_pool);
int ul_native_release_available(native *n, uint32_t lane, uint64_t rounded, int *released);

/* native_collect.c */
int ul_native_collects(const native *n); /* is garbage collection on? */
int ul_native_collect(native *n);

/* native_expandable.c */
ul_device_answer ul_native_map(native *n, uint32_t lane, uint64_t rounded, uint32_t *block);
int ul_native_unmap(native *n, uint32_t block);
uint32_t ul_native_growing_block(const native *n, uint32_t pool, uint32_t stream, int small,
                                 uint64_t rounded); /* free block a mapping would extend; 0 none */
uint64_t ul_native_unit(const native *n, const native_lane *lane);
uint64_t ul_native_whole_units(const native *n, const native_block *block);
uint32_t ul_native_range_new(native *n, uint32_t lane, uint64_t address, uint64_t bytes);
uint64_t ul_native_range_bytes(const native *n, const native_lane *lane);

/* native_state.c, native_check.c */
ul_status ul_native_load(void *state, const ul_state *from, ul_error *err);
ul_status ul_native_visit(void *state, ul_state *out, ul_error *err);
ul_status ul_native_check(const void *state, ul_error *err);
ul_status ul_native_asker(const void *state, const ul_event *event, ul_asker_view *out,
                          ul_error *err);

/* model_native.c */
uint32_t ul_native_find(const native *n, uint32_t lane, uint64_t rounded, ul_free_at *at);

#endif
