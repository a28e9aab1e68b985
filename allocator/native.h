/* SPDX-License-Identifier: MIT */
/* PyTorch's native caching allocator: its state and the steps that its files share. The rules are
 * numbered in docs/model.md. Indices instead of pointers, so that a copy is a clone; index 0 is
 * "none" everywhere.
 *
 * Which index holds which block is ours to choose: where PyTorch makes a new object for the front
 * of a split, here the front keeps the index and the rest takes a new one; where a freed block
 * absorbs the one before it, here that one's index stays. What belongs to PyTorch's object (its
 * number, its stale requested size) is moved along. So the first index of a segment never changes,
 * and links to the left of a block need no repair. */
#ifndef UL_ALLOCATOR_NATIVE_H
#define UL_ALLOCATOR_NATIVE_H

#include <stddef.h>
#include <stdint.h>

#include "allocator/device.h"
#include "allocator/free_set.h"
#include "allocator/history.h"
#include "allocator/model.h"
#include "allocator/pools.h"
#include "allocator/profile.h"
#include "allocator/settings.h"
#include "allocator/statistics.h"
#include "allocator/waits.h"
#include "base/idmap.h"
#include "base/vec.h"

enum {
  BLOCK_ALLOCATED = 1u << 0, /* the program holds it */
  BLOCK_PENDING = 1u << 1,   /* freed, but other streams may still use it */
  BLOCK_UNMAPPED = 1u << 2,  /* address space of an expandable segment */
  BLOCK_DEAD = 1u << 3,      /* index waits for reuse; index 0 is dead for ever */
  BLOCK_NOT_FREE = BLOCK_ALLOCATED | BLOCK_PENDING | BLOCK_UNMAPPED | BLOCK_DEAD,
  BLOCK_SMALL = 1u << 4, /* of its segment: small pool */
  BLOCK_EXPANDABLE = 1u << 5,
  BLOCK_OF_SEGMENT = BLOCK_SMALL | BLOCK_EXPANDABLE,
  BLOCK_TAIL = 1u << 6, /* allocated, and larger than its rounded request */
};

enum { NO_BLOCK = 1 }; /* of handle 0 */

/* A piece of a segment: one cache line. Blocks of a segment tile it in prev/next order. A block
 * with none of BLOCK_NOT_FREE is free and in its lane's free set. */
typedef struct native_block {
  uint64_t address;
  uint64_t bytes;
  uint64_t tie; /* order among equal sizes */
  uint64_t requested_bytes;
  uint32_t prev, next;
  uint32_t segment;
  uint32_t lane;
  uint32_t handle;
  uint32_t stack;
  uint32_t gc_base; /* searches of its pool when it became free */
  uint16_t uses;    /* streams other than its own that used it since it was handed out */
  uint16_t flags;   /* no char: a store to one would make the compiler load everything anew */
} native_block;

_Static_assert(sizeof(native_block) == 64, "a block is one cache line");

enum { UNIT_SHIFT = 20 }; /* units are whole MiB: 2, 20, large_segment_size_mb */

/* What else belongs to PyTorch's object of a block, where a release or its history needs it
 * (CAREFUL_OBJECTS); by the block's index. */
typedef struct native_object {
  uint64_t number;   /* of creation, from 0 (2.11) */
  uint64_t identity; /* among those that ul_waits knows; 0: it knows nothing of this one */
  uint32_t chain;    /* history of 2.0 */
} native_object;

/* A cudaMalloc segment, or the whole reserved range of an expandable one. */
typedef struct native_segment {
  uint64_t address;
  uint64_t bytes;
  uint64_t unit;        /* of mapping: that of the time of its creation */
  uint64_t per_unit;    /* 2^64 / MiB of the unit, rounded up: divides by multiplying */
  uint64_t tie_base;    /* ties of its blocks are this plus their offset */
  uint32_t first_block; /* the one without prev */
  uint32_t lane;
  uint32_t stack;
  uint32_t registration; /* creation number, from 0 */
  uint8_t expandable;
  uint8_t alive;
} native_segment;

/* The free memory of one pool and stream: where a request looks. Its size is a power of two, for
 * its place is computed at every event. */
typedef struct native_lane {
  uint32_t pool; /* index */
  uint32_t pool_id;
  uint32_t stream;
  uint8_t small;
  uint8_t held;       /* its pool forbids release */
  uint8_t has_ranges; /* expandable memory was ever here */
  ul_free_set free;
  ul_free_set unmapped; /* by address alone */
  uint8_t unused[256 - 2 * sizeof(ul_free_set) - 16];
} native_lane;

_Static_assert(sizeof(native_lane) == 256, "a power of two");

/* The blocks of a pool; who uses it and what it may do is in native.registry. */
typedef struct native_pool {
  uint32_t id;
  uint8_t uncounted;         /* loaded: nobody knows how often the driver was asked for it */
  uint8_t reserves;          /* reserved memory was ever counted in: statistics of 2.13 */
  uint32_t searches[2];      /* large, small: counted while garbage collection is on */
  UL_VEC(uint32_t) lanes[2]; /* large, small: in order of stream */
  ul_stat_values reserved[UL_SLOT_COUNT];
} native_pool;

/* Four statistics that move together, of one kind of pool: allocation, allocated_bytes,
 * inactive_split, inactive_split_bytes. One change, one largest. PyTorch's fourth figure,
 * allocated, is current + freed since the last reset. */
typedef int64_t native_four __attribute__((vector_size(32), aligned(32)));

/* Two cache lines: a vector across a line's end is slow to read back. That of all memory has peaks
 * alone, for the rest is the sum of small and large: ul_native_tally_of. */
typedef struct native_tally {
  _Alignas(64) native_four current;
  native_four peak, freed;
  int64_t requested, requested_peak, requested_freed; /* requested_bytes: of active blocks */
} native_tally;

/* Blocks that wait for other streams: by these active differs from allocation. */
typedef struct native_waiting {
  uint64_t count, bytes;
  uint64_t peak_count, peak_bytes;         /* of active while there were any */
  uint64_t count_at_reset, bytes_at_reset; /* when freed was last set to 0 */
  uint64_t count_at_load, bytes_at_load;   /* in a loaded state */
} native_waiting;

/* Reasons why a request cannot take the short way. */
enum {
  CAREFUL_COLLECTS = 1u << 0,  /* garbage collection counts searches */
  CAREFUL_MAX_SPLIT = 1u << 1, /* a block that fits may be refused */
  CAREFUL_LOADED = 1u << 2,    /* some loaded block says to hold more than it is */
  CAREFUL_WAITING = 1u << 3,   /* some block waits for other streams */
  CAREFUL_HISTORY = 1u << 4,   /* entries are recorded */
  CAREFUL_OBJECTS = 1u << 5,   /* native.objects is kept */
  CAREFUL_ROUTED = 1u << 6,    /* requests are routed to pools, or events suspended */
  CAREFUL_POOLS = 1u << 7,     /* some pool does not split, or has an allocator of its own */
  CAREFUL_BROKEN = 1u << 8,    /* native.broken is set */
  CAREFUL_SEARCHED = 1u << 9,  /* some pool's search count is not 0 */
};

/* What one malloc asks for, once its size is rounded and its pool is known. */
typedef struct native_request {
  uint64_t bytes, rounded, segment_bytes;
  uint64_t handle;
  uint32_t pool, stream, stack; /* pool: id */
  uint32_t lane;
  uint16_t device; /* of the event: texts name it */
  int small;
  int expandable;   /* the option is on, and counts for this pool */
  int pool_refused; /* the allocator of the pool's own did */
} native_request;

/* A kept state of a pool: one row for each block of its segments. */
typedef struct native_kept {
  uint64_t address, bytes;
  uint64_t segment; /* address */
  uint32_t handle, stack;
  int allocated;
} native_kept;

typedef struct native_checkpoint {
  uint64_t name;
  uint32_t pool;
  UL_VEC(native_kept) blocks;
} native_checkpoint;

typedef struct native {
  /* What every request and free touches. */
  UL_VEC(native_block) blocks; /* [0] and [NO_BLOCK] dead for ever */
  UL_VEC(uint32_t) block_of;   /* handle -> block; [0] NO_BLOCK, so that no request takes it */
  UL_VEC(native_lane) lanes;   /* [0] unused */
  uint32_t last_lane[2];       /* large, small: the one asked for last */
  uint32_t dead_block;         /* chain of dead blocks through next */
  uint32_t careful;            /* CAREFUL_* */
  uint64_t unsplit_limit[2];   /* large, small: the largest remainder that stays with its block */
  uint8_t plain_rounding;      /* to 512 bytes and nothing else */
  uint8_t numbers_blocks;      /* the tie is the number of the block object (2.12) */
  const struct native_short_way *short_way;
  uint64_t block_number;   /* creation numbers given so far (2.11, 2.12) */
  uint64_t whole_bytes[2]; /* free and pinned by no block: releasable, held by its pool */
  uint64_t tail_bytes;     /* of allocated blocks, past their rounded requests */
  uint64_t events;
  native_tally tallies[UL_SLOT_COUNT];
  native_waiting waiting[UL_SLOT_COUNT];
  uint64_t waiting_requested;
  uint64_t excess_requested; /* of loaded blocks that say to hold more than they are */

  const ul_profile *profile;
  ul_settings settings;
  ul_device device;
  UL_VEC(native_segment) segments;
  UL_VEC(native_pool) pools; /* [0] the default pool */
  ul_idmap pool_index;       /* pool id -> index into pools + 1 */
  ul_idmap lane_index;       /* pool index, stream and size class -> lane */
  uint32_t unit_lanes;       /* lanes whose free set has an index by units */
  uint32_t dead_segment;     /* chain of dead segments through first_block */
  ul_pools registry;         /* of private pools and routings */
  ul_waits waits;            /* of blocks, under the keys of ul_native_key */
  ul_history history;
  UL_VEC(native_object) objects; /* by index of block; see CAREFUL_OBJECTS */
  UL_VEC(native_checkpoint) checkpoints;
  UL_VEC(uint32_t) scratch;
  UL_VEC(ul_driver_call) calls; /* of the event being applied */
  uint64_t limit_bytes;         /* of reserved memory: the memory fraction; UINT64_MAX none */
  uint64_t property_bytes;      /* the device's total, as it was at the start */
  uint64_t max_split_shown;     /* a statistic: the setting at the start */
  uint64_t oom_rejections;
  ul_oom_facts facts;
  uint64_t oom_event; /* number of the event that the facts are of; 0: none */
  int every_call;
  const char *error;     /* that the real library raises in the midst of the event */
  const char *broken;    /* why the real library is inconsistent from here on */
  uint64_t segment_ties; /* tie space used so far (2.13 on) */
  uint32_t segment_number;
  uint64_t reserved_bytes;
  uint64_t segment_count;
  ul_statistics statistics;                 /* those that no tally keeps */
  int64_t allocated_base[UL_SLOT_COUNT][5]; /* tally's current and requested, when last reset */
  ul_totals totals;                         /* as last shown */
  UL_VEC(ul_segment) shown_segments;        /* what the last visit handed out */
  UL_VEC(ul_block) shown_blocks;
} native;

struct native_joined; /* native_fast.h */

/* All steps that can fail return 0 without memory. What the real library itself raises or breaks at
 * is in native.error and native.broken, and the event ends. */

/* native_blocks.c: blocks, lanes and segments. */
uint32_t ul_native_grow_blocks(native *n); /* a new index when none is dead */
int ul_native_keep_dead_block(native *n);
uint32_t ul_native_lane_of(native *n, uint32_t pool, uint32_t stream, int small);
uint32_t ul_native_pool_of(native *n, uint32_t pool); /* index + 1 */
uint32_t ul_native_segment_new(native *n, uint64_t address, uint64_t bytes, uint32_t lane,
                               int expandable);
void ul_native_segment_delete(native *n, uint32_t segment);
/* The block that fills a new segment, in no set. */
uint32_t ul_native_first_block(native *n, uint32_t segment);
int ul_native_put_unmapped(native *n, uint32_t block);
void ul_native_take_unmapped(native *n, uint32_t block);
int ul_native_make_room_for(native *n, uint64_t handle); /* in block_of */
void ul_native_recount(native *n); /* sums of free memory, after a pool changed its nature */
void ul_native_settings_changed(native *n); /* what is derived from settings and limit */
void ul_native_pools_changed(native *n);    /* what is derived from the registry */

/* native_objects.c: the objects behind blocks, where they carry more than a tie. */
int ul_native_keep_objects(native *n); /* from now on */
int ul_native_object_new(native *n, uint32_t block);
/* Cut at bytes: the front, or the rest, is a new object; the other keeps its own. Returns the rest,
 * in no set. */
uint32_t ul_native_cut_front(native *n, uint32_t block, uint64_t bytes);
uint32_t ul_native_cut_rest(native *n, uint32_t block, uint64_t bytes);
/* What ul_native_join_free does, with the objects. */
void ul_native_join_careful(native *n, uint32_t block, struct native_joined *out);
/* prev, or next, is about to join block, which stays the object. */
void ul_native_join_objects(native *n, uint32_t block, uint32_t neighbour);
void ul_native_drop_object(native *n, uint32_t block);

/* native_apply.c: one event, the careful way. */
ul_status ul_native_apply(native *n, const ul_event *event, const ul_grants *grants,
                          ul_outcome *outcome, ul_error *err);
void ul_native_reject(ul_outcome *outcome, const char *reason);

/* native_short.h: the short way, for the processor at hand. */
typedef enum native_step {
  STEP_DONE,
  STEP_ELSEWHERE, /* for the careful way; nothing has happened */
  STEP_NOMEM,
} native_step;

typedef struct native_short_way {
  native_step (*apply)(native *n, const ul_event *event, ul_outcome *outcome);
  /* *applied counts the events that went this way, from the first on; the next one did not. */
  native_step (*run)(native *n, const ul_event *events, size_t count, ul_placement *placements,
                     size_t *applied);
} native_short_way;

extern const native_short_way ul_native_short_plain, ul_native_short_avx2;

/* native_find.c: best fit, one candidate only (allocator-spec 3.2), taken out. 0 if the driver must
 * be asked. expandable: the option is on for this request. */
uint32_t ul_native_take_candidate(native *n, native_lane *lane, uint64_t rounded, int expandable);

/* native_alloc.c */
int ul_native_alloc(native *n, const ul_event *event, ul_outcome *outcome);
int ul_native_alloc_at(native *n, const ul_event *event, ul_outcome *outcome);
/* The candidate of the request, taken out of the cache; 0: none. */
uint32_t ul_native_find(native *n, const native_request *request);
/* Gives a block that is in no set to the program. */
int ul_native_hand_out(native *n, const native_request *request, uint32_t block, int split);

/* native_free.c */
uint64_t ul_native_key(const native *n, uint32_t block); /* among the waits */
int ul_native_free(native *n, uint32_t block);           /* the program lets go */
int ul_native_complete(native *n, uint32_t block);       /* the environment says so */
int ul_native_free_done(native *n); /* the blocks that waits.done names become free */
int ul_native_poll(native *n);      /* nothing while suspended */
void ul_native_count_waiting(native *n, uint32_t block); /* a block that waits from now on */
void ul_native_note_active_peak(native *n, int slot);
uint64_t ul_native_live_request(const native_block *block);
uint64_t ul_native_live_rounded(const native *n, const native_block *block);

/* native_release.c: memory goes back to the driver. */
void ul_native_less_driver_memory(native *n, const native_lane *lane); /* its pool */
int ul_native_return_segment(native *n, uint32_t block);
/* Everything cached (pool 0) or that of one private pool; *reason: an error, and nothing was
 * released. */
int ul_native_flush(native *n, uint32_t pool, const char **reason);
/* Under max_split_size; *released: something that may serve the request. */
int ul_native_release_oversize(native *n, const native_request *request, int *released);

/* native_grow.c: new memory for a request that the cache cannot serve; *block is in no set. The
 * request may become another pool's. */
ul_device_answer ul_native_grow(native *n, native_request *request, uint32_t *block,
                                ul_outcome *outcome);

/* native_collect.c */
int ul_native_collects(const native *n); /* is garbage collection on? */
int ul_native_collect(native *n);

/* native_expandable.c */
ul_device_answer ul_native_map(native *n, const native_request *request, uint32_t *block);
int ul_native_unmap(native *n, uint32_t block);
uint32_t ul_native_growing_block(native *n, uint32_t pool, uint32_t stream, int small,
                                 uint64_t rounded);  /* free block a mapping would extend; 0 none */
uint64_t ul_native_unit(const native *n, int small); /* of new segments */
uint64_t ul_native_range_bytes(const native *n, int small);
void ul_native_forget_range(native *n, uint32_t segment); /* all of it is unmapped */

/* native_checkpoint.c */
int ul_native_checkpoint(native *n, const ul_event *event, ul_outcome *outcome);
int ul_native_restore(native *n, const ul_event *event, ul_outcome *outcome);

/* native_life.c */
ul_status ul_native_create(void **state, const ul_model_options *options, ul_error *err);
ul_status ul_native_clone(void **out, const void *state, ul_error *err);
void ul_native_destroy(void *state);

/* native_state.c, native_check.c, native_statistics.c */
ul_status ul_native_load(void *state, const ul_state *from, ul_error *err);
ul_status ul_native_visit(void *state, ul_state *out, ul_error *err);
ul_status ul_native_check(const void *state, ul_error *err);
ul_status ul_native_asker(const void *state, const ul_event *event, ul_asker_view *out,
                          ul_error *err);
const ul_totals *ul_native_totals(const void *state);
size_t ul_native_stats(const void *state, ul_stat *out, size_t capacity);
void ul_native_reset_peak(void *state);
void ul_native_reset_accumulated(void *state);
void ul_native_statistics(const native *n, ul_statistics *out); /* all of them */
void ul_native_tally_of(const native *n, int slot, native_tally *out);
void ul_native_reserve(native *n, uint32_t lane, uint64_t bytes);
void ul_native_unreserve(native *n, uint32_t lane, uint64_t bytes);
int ul_native_note(native *n, ul_action action, uint64_t address, uint64_t bytes, uint32_t stream);
/* Of the end of a use of the block, or the return of its segment. */
int ul_native_note_end(native *n, ul_action action, uint32_t block);
int ul_native_call(native *n, int kind, uint64_t address, uint64_t bytes, uint32_t stream);
int ul_native_pool_reserved(const void *state, size_t index, uint32_t *pool, uint64_t values[12]);

#endif
