/* SPDX-License-Identifier: MIT */
/* Blocks that the program has freed while other streams may still use them. Each use by another
 * stream (record_stream) needs an event of its own, recorded on that stream when the block is
 * freed; events of one stream pass in order. While graphs are captured (or, in older releases,
 * requests are routed) nothing is recorded and freed blocks are deferred.
 *
 * Blocks are named by keys: any number that is the block's own from its first use until it is
 * free. Streams are taken in the order of the real library's hash tables, which follows from their
 * handles: stream k is taken to have the handle 2^28 + 256 k on device 0, the default stream 0.
 * Programs that use one stream pay one comparison an event. */
#ifndef UL_ALLOCATOR_WAITS_H
#define UL_ALLOCATOR_WAITS_H

#include <stddef.h>
#include <stdint.h>

#include "allocator/hash_order.h"
#include "allocator/profile.h"
#include "base/idmap.h"
#include "base/vec.h"
#include "ullage/model.h"

/* One stream that used a block. Records and uses are chained by position + 1; 0 ends a chain. */
typedef struct ul_wait_use {
  uint32_t stream;
  uint32_t next;
  uint8_t captured; /* noted while suspended */
} ul_wait_use;

/* A stream noted while suspended for a block object whose own use is over: it needs no event either
 * when the object, used again, is deferred. Chained as uses are. */
typedef struct ul_wait_mark {
  uint32_t stream;
  uint32_t next;
} ul_wait_mark;

typedef struct ul_wait_block {
  uint64_t key;
  uint64_t object; /* 0: no marks are kept of it */
  uint64_t ticket; /* of this stay in the list: entries of events that name another are stale */
  uint32_t pool;
  uint32_t first_use; /* the first noted first; free records are chained through it */
  uint32_t events;    /* that have not passed */
} ul_wait_block;

typedef struct ul_wait_event {
  uint64_t tick; /* of all streams' records: events with smaller ones were recorded earlier */
  uint64_t ticket;
  uint32_t block;
} ul_wait_event;

/* The events of one stream, in the order of recording. */
typedef struct ul_wait_line {
  uint32_t stream;
  uint64_t passed; /* the stream has passed events up to this tick */
  size_t first;    /* those before it are gone */
  size_t stale;    /* behind first, of blocks that were completed by name */
  UL_VEC(ul_wait_event) events;
} ul_wait_line;

typedef struct ul_waits {
  const ul_profile *profile;
  ul_stream_events mode;
  int ready;       /* a poll may find something */
  size_t waiting;  /* blocks with events that have not passed, and deferred ones */
  uint64_t tick;   /* of the last event recorded */
  uint64_t passed; /* every stream has passed events up to this tick */
  uint64_t ticket;
  UL_VEC(ul_wait_block) blocks;
  UL_VEC(ul_wait_use) uses;
  UL_VEC(ul_wait_line) lines; /* ascending streams */
  ul_hash_order order;        /* of the lines that have events, by handle */
  UL_VEC(uint32_t) deferred;  /* blocks, first freed first */
  UL_VEC(uint64_t) done;      /* keys: what the last poll or wait made free, in order */
  ul_idmap index;             /* key -> block + 1 */
  uint64_t last_object;       /* that was numbered here */
  UL_VEC(ul_wait_mark) marks;
  ul_idmap marked;               /* object -> its first mark + 1 */
  uint32_t free_mark;            /* chain of unused marks */
  uint32_t free_block, free_use; /* chains of unused records, position + 1 */
} ul_waits;

/* The profile is static and outlives the list. */
void ul_waits_init(ul_waits *waits, ul_stream_events mode, const ul_profile *profile);
void ul_waits_release(ul_waits *waits);
/* Copies *from into *to, which is overwritten. Returns 0 without memory. */
int ul_waits_copy(ul_waits *to, const ul_waits *from);

/* All that return int return 0 without memory. */

/* record_stream by a stream other than the block's own. Uses are a set. */
int ul_waits_use(ul_waits *waits, uint64_t key, uint32_t stream, int suspended);

/* The program frees a block that has uses; pool is where it belongs. *object numbers PyTorch's
 * object of the block, which outlives this use of it; where it is 0 and has to be told from others
 * from now on, it is given a number. NULL: nothing is known of objects. */
int ul_waits_free(ul_waits *waits, uint64_t key, uint64_t *object, uint32_t pool, int suspended);

/* The object is no more. */
void ul_waits_forget_object(ul_waits *waits, uint64_t object);

/* A block that was freed before the model began, on streams nobody knows. */
int ul_waits_hold(ul_waits *waits, uint64_t key, uint32_t pool);

/* The environment says that the block's streams have passed its events, deferred or not. Returns 1
 * if it waited; the caller frees it. */
int ul_waits_complete(ul_waits *waits, uint64_t key);

/* The program waited for stream (UL_STREAM_ALL: all): what was recorded so far has passed. The
 * blocks become free at the next poll. */
void ul_waits_sync(ul_waits *waits, uint32_t stream);

/* Giving back units of an expandable segment makes the driver wait for its stream. */
void ul_waits_unmapped(ul_waits *waits, uint32_t stream);

/* The allocator looks, as at the start of a request: deferred blocks get their events, and each
 * stream's passed events go, up to its first that has not passed. waits->done tells what is free
 * now. Not while suspended. */
int ul_waits_poll(ul_waits *waits);

/* Whether ul_waits_poll may find anything. */
static inline int ul_waits_ready(const ul_waits *waits) {
  return waits->ready;
}

/* Deferred blocks get their events now; waits->done tells what is free. */
int ul_waits_settle(ul_waits *waits);

#define UL_WAITS_EVERY_POOL UINT32_MAX

/* The allocator waits for all events, or those of one pool's blocks. waits->done tells what is free
 * now. Not while suspended. */
int ul_waits_wait(ul_waits *waits, uint32_t pool);

/* Whether the block has uses or waits. */
int ul_waits_has(const ul_waits *waits, uint64_t key);

/* Whether it waits for events that are recorded; uses and deferred blocks have none. */
int ul_waits_has_events(const ul_waits *waits, uint64_t key);

/* Whether any block of pool waits for events or is deferred. */
int ul_waits_pool_waits(const ul_waits *waits, uint32_t pool);

#endif
