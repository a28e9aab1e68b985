/* SPDX-License-Identifier: MIT */
/* The private pools of one device and the routings that send requests to them: who uses a pool,
 * whether its memory may be released, where a request on a stream goes. Knows no blocks. Rules by
 * release: tables/rules.def; evidence: docs/model.md.
 *
 * Pools are named by the ids of events (interned id pairs); 0 is the default pool, which is no
 * entry here. Programs without pools and routings pay one comparison of a count. */
#ifndef UL_ALLOCATOR_POOLS_H
#define UL_ALLOCATOR_POOLS_H

#include <stddef.h>
#include <stdint.h>

#include "allocator/hash_order.h"
#include "allocator/profile.h"
#include "base/idmap.h"
#include "base/vec.h"

typedef struct ul_pool {
  uint32_t id;
  int32_t uses;                /* at 0 it is freeable; below, it was released too often */
  uint32_t driver_allocations; /* segments, and successful growths of expandable ones */
  uint8_t exists;              /* 0: destroyed, or only registered for something */
  uint8_t freeable;            /* nobody uses it; a flush releases its memory */
  uint8_t on_oom;              /* serves requests that nothing else could (use_on_oom) */
  uint8_t no_split;            /* hands out whole segments */
  uint8_t custom;              /* has an allocator of its own */
} ul_pool;

typedef struct ul_routing {
  uint32_t pool;
  uint32_t stream; /* UL_STREAM_ALL: every one */
} ul_routing;

typedef struct ul_pools {
  const ul_profile *profile;
  UL_VEC(ul_pool) pools;       /* in order of first mention */
  ul_idmap index;              /* id -> position + 1 */
  UL_VEC(ul_routing) routings; /* first begun first */
  uint32_t underway;      /* routings as the release counts them; failed ones may stay counted */
  uint32_t capturing;     /* pool of the capture that the driver knows: it is asked through 2.0
                             and from 2.13 on */
  uint32_t captures;      /* graphs being captured: a count of its own, whatever is routed */
  ul_hash_order freeable; /* ids; the order of flushes */
  ul_hash_order on_oom;   /* ids; the order in which they are tried */
  const char *reason;     /* of the last refusal; static storage */
} ul_pools;

typedef enum ul_pools_answer {
  UL_POOLS_DONE,
  UL_POOLS_REFUSED, /* the real library raises an error and goes on; reason says why */
  UL_POOLS_BROKEN,  /* it raises one and is inconsistent from there on */
  UL_POOLS_NOMEM,   /* of this machine; nothing has changed */
} ul_pools_answer;

/* The profile is static and outlives the registry. */
void ul_pools_init(ul_pools *pools, const ul_profile *profile);
void ul_pools_release(ul_pools *pools);
/* Copies *from into *to, which is overwritten. Returns 0 without memory. */
int ul_pools_copy(ul_pools *to, const ul_pools *from);

/* The pool, also one that is destroyed; NULL if its id was never mentioned. The pointer lives until
 * the next mention of a new id. */
ul_pool *ul_pools_find(const ul_pools *pools, uint32_t id);

/* The pool for a request that names it itself, as recordings do: it comes to be with one use if it
 * does not exist. NULL without memory. */
ul_pool *ul_pools_mention(ul_pools *pools, uint32_t id);

/* createOrIncrefPool: one use more. Refused where the pool was released and still has memory.
 * custom: the pool has an allocator of its own; refused where it exists already. */
ul_pools_answer ul_pools_create(ul_pools *pools, uint32_t id, int custom);

/* beginAllocateToPool and its forerunners; captures: a graph capture is under way meanwhile. */
ul_pools_answer ul_pools_begin(ul_pools *pools, uint32_t id, uint32_t stream, int captures);

/* endAllocateToPool. Releases 2.1 and 2.2 end by stream, all others by id. captures: a capture ends
 * just before; from 2.13 on it is an error if there is none, and the routing stays. */
ul_pools_answer ul_pools_end(ul_pools *pools, uint32_t id, uint32_t stream, int captures);

/* releasePool: one use less. Refused where there is none, but counted all the same. */
ul_pools_answer ul_pools_drop(ul_pools *pools, uint32_t id);

/* The program registers a trait of a pool, whether it exists or not, or takes one back. */
typedef enum ul_pool_trait { UL_POOL_ON_OOM, UL_POOL_NOT_ON_OOM, UL_POOL_NO_SPLIT } ul_pool_trait;
ul_pools_answer ul_pools_register(ul_pools *pools, uint32_t id, ul_pool_trait trait);

/* The next pool, of those that nobody uses or of those that serve others, in the order in which the
 * real library walks them; *at is 0 at first and moves. 0: no other. Pools must not come or go
 * meanwhile. */
uint32_t ul_pools_next_freeable(const ul_pools *pools, size_t *at);
uint32_t ul_pools_next_on_oom(const ul_pools *pools, size_t *at);

/* A flush found nothing of the pool at the driver any more: it is gone, with its count of uses. */
void ul_pools_destroy(ul_pools *pools, ul_pool *pool);

/* The slow half of ul_pools_route. */
uint32_t ul_pools_search_route(const ul_pools *pools, uint32_t stream);

/* The pool that a request on stream is sent to, 0 the default one. Pools that a flush destroyed
 * while they were routed are still named: see ul_pools_find()->exists. */
static inline uint32_t ul_pools_route(const ul_pools *pools, uint32_t stream) {
  return pools->routings.count ? ul_pools_search_route(pools, stream) : 0;
}

/* Whether events of other streams wait and flushes are off: any routing through 2.12, captures
 * only from 2.13 on. */
static inline int ul_pools_suspended(const ul_pools *pools) {
  return pools->profile->routing_suspends ? pools->underway != 0
                                          : pools->captures && pools->capturing;
}

#endif
