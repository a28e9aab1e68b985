/* SPDX-License-Identifier: MIT */
#include "allocator/pools.h"

#include <string.h>

#include "ullage/event.h"

void ul_pools_init(ul_pools *pools, const ul_profile *profile) {
  memset(pools, 0, sizeof(*pools));
  pools->profile = profile;
}

void ul_pools_release(ul_pools *pools) {
  UL_VEC_RELEASE(&pools->pools);
  UL_VEC_RELEASE(&pools->routings);
  ul_idmap_release(&pools->index);
  ul_hash_order_release(&pools->freeable);
  ul_hash_order_release(&pools->on_oom);
}

int ul_pools_copy(ul_pools *to, const ul_pools *from) {
  size_t i;

  *to = *from;
  memset(&to->pools, 0, sizeof(to->pools));
  memset(&to->routings, 0, sizeof(to->routings));
  memset(&to->index, 0, sizeof(to->index));
  memset(&to->freeable, 0, sizeof(to->freeable));
  memset(&to->on_oom, 0, sizeof(to->on_oom));
  if (!UL_VEC_RESERVE(&to->pools, from->pools.count) ||
      !UL_VEC_RESERVE(&to->routings, from->routings.count) ||
      !ul_idmap_copy(&to->index, &from->index) ||
      !ul_hash_order_copy(&to->freeable, &from->freeable) ||
      !ul_hash_order_copy(&to->on_oom, &from->on_oom)) {
    ul_pools_release(to);
    return 0;
  }
  for (i = 0; i < from->pools.count; i++)
    to->pools.items[to->pools.count++] = from->pools.items[i];
  for (i = 0; i < from->routings.count; i++)
    to->routings.items[to->routings.count++] = from->routings.items[i];
  return 1;
}

ul_pool *ul_pools_find(const ul_pools *pools, uint32_t id) {
  const uint32_t position = pools->pools.count ? ul_idmap_get(&pools->index, id) : 0;

  return position ? &pools->pools.items[position - 1] : NULL;
}

/* An entry for an id that may be new; it need not exist yet. */
static ul_pool *entry_of(ul_pools *pools, uint32_t id) {
  const ul_pool fresh = {.id = id};
  ul_pool *pool = ul_pools_find(pools, id);

  if (pool)
    return pool;
  if (!UL_VEC_PUSH(&pools->pools, fresh))
    return NULL;
  if (!ul_idmap_set(&pools->index, id, (uint32_t)pools->pools.count)) {
    pools->pools.count--;
    return NULL;
  }
  return &pools->pools.items[pools->pools.count - 1];
}

ul_pool *ul_pools_mention(ul_pools *pools, uint32_t id) {
  ul_pool *pool = entry_of(pools, id);

  if (pool && !pool->exists) {
    pool->exists = 1;
    pool->uses = 1;
  }
  return pool;
}

static ul_pools_answer refuse(ul_pools *pools, const char *reason) {
  pools->reason = reason;
  return UL_POOLS_REFUSED;
}

/* One use more for a pool that exists, a first one for one that does not. */
static ul_pools_answer take_use(ul_pools *pools, uint32_t id) {
  ul_pool *pool = entry_of(pools, id);

  if (!pool)
    return UL_POOLS_NOMEM;
  if (!pool->exists) {
    pool->exists = 1;
    pool->uses = 1;
    return UL_POOLS_DONE;
  }
  if (pool->uses <= 0)
    return refuse(pools, "the pool was released and still waits for a flush");
  pool->uses++;
  return UL_POOLS_DONE;
}

ul_pools_answer ul_pools_create(ul_pools *pools, uint32_t id, int custom) {
  ul_pool *pool = ul_pools_find(pools, id);
  const int exists = pool && pool->exists;
  ul_pools_answer answer;

  if (custom ? !pools->profile->custom_pools : !pools->profile->memory_pools)
    return refuse(pools, "this release has no memory pools of the program's own");
  if (custom && exists)
    return refuse(pools, "the pool exists already, without that allocator");
  answer = take_use(pools, id);
  pool = ul_pools_find(pools, id);
  if (pool && !exists)
    pool->custom = custom != 0;
  return answer;
}

/* The routing that an id or, in releases that route streams, a stream names. */
static ul_routing *routing_of(ul_pools *pools, uint32_t id, uint32_t stream) {
  const int by_stream = pools->profile->routing == UL_ROUTING_STREAM;
  size_t i;

  for (i = 0; i < pools->routings.count; i++) {
    if (by_stream ? pools->routings.items[i].stream == stream : pools->routings.items[i].pool == id)
      return &pools->routings.items[i];
  }
  return NULL;
}

/* The stream that a release routes when it is asked for this one: captures take every stream, 2.1
 * to 2.3 know single streams only. */
static uint32_t routed_stream(const ul_pools *pools, uint32_t stream) {
  if (pools->profile->routing == UL_ROUTING_CAPTURE)
    return UL_STREAM_ALL;
  if (pools->profile->routing == UL_ROUTING_STREAM && stream == UL_STREAM_ALL)
    return 0;
  return stream;
}

/* Through 2.2 the count of routings is raised, and lowered, before anything is looked at, and an
 * error does not take that back; the use of the pool is taken before the error is noticed in every
 * release. */
ul_pools_answer ul_pools_begin(ul_pools *pools, uint32_t id, uint32_t stream, int captures) {
  ul_routing routing = {id, routed_stream(pools, stream)};
  const uint32_t early = pools->profile->routing != UL_ROUTING_LIST;
  ul_pools_answer answer;

  if (!UL_VEC_RESERVE(&pools->routings, 1))
    return UL_POOLS_NOMEM;
  answer = take_use(pools, id);
  if (answer == UL_POOLS_NOMEM)
    return answer;
  pools->underway += early;
  if (answer != UL_POOLS_DONE)
    return answer;
  if (routing_of(pools, id, routing.stream))
    return refuse(pools, pools->profile->routing == UL_ROUTING_STREAM
                             ? "the stream is routed to a pool already"
                             : "requests are routed to this pool already");
  pools->routings.items[pools->routings.count++] = routing;
  pools->underway += 1 - early;
  if (captures || pools->profile->routing == UL_ROUTING_CAPTURE)
    pools->capturing = id;
  pools->captures += captures != 0;
  return UL_POOLS_DONE;
}

ul_pools_answer ul_pools_end(ul_pools *pools, uint32_t id, uint32_t stream, int captures) {
  ul_routing *routing = routing_of(pools, id, routed_stream(pools, stream));
  const uint32_t early = pools->profile->routing != UL_ROUTING_LIST;

  if ((captures || early) && pools->profile->capture_ends_first)
    pools->capturing = 0;
  if (captures && !pools->captures && !pools->profile->routing_suspends)
    return refuse(pools, "no graph is being captured");
  pools->captures -= captures && pools->captures;
  pools->underway -= early; /* below 0, too, which counts as any other number */
  if (!routing)
    return refuse(pools, "no requests are routed to this pool");
  if (captures || early)
    pools->capturing = 0;
  pools->underway -= 1 - early;
  pools->routings.count--;
  memmove(routing, routing + 1,
          (size_t)(&pools->routings.items[pools->routings.count] - routing) * sizeof(*routing));
  return UL_POOLS_DONE;
}

ul_pools_answer ul_pools_drop(ul_pools *pools, uint32_t id) {
  ul_pool *pool = ul_pools_find(pools, id);

  if (!pool || !pool->exists)
    return refuse(pools, "a release of a pool that does not exist");
  if (--pool->uses < 0)
    return refuse(pools, "a pool was released more often than it was used");
  if (!pool->uses) {
    pool->no_split &= !pools->profile->no_split_ends;
    if (!ul_hash_order_add(&pools->freeable, id))
      return UL_POOLS_NOMEM;
    pool->freeable = 1;
  }
  return UL_POOLS_DONE;
}

static int has_trait(const ul_profile *profile, ul_pool_trait trait) {
  switch (trait) {
  case UL_POOL_ON_OOM:
    return profile->use_on_oom != UL_ON_OOM_NEVER;
  case UL_POOL_NOT_ON_OOM:
    return profile->on_oom_ends;
  default:
    return profile->no_split;
  }
}

ul_pools_answer ul_pools_register(ul_pools *pools, uint32_t id, ul_pool_trait trait) {
  ul_pool *pool;

  if (!has_trait(pools->profile, trait))
    return refuse(pools, "this release has no such pools");
  pool = entry_of(pools, id);
  if (!pool)
    return UL_POOLS_NOMEM;
  if (trait == UL_POOL_NO_SPLIT) {
    pool->no_split = 1;
    return UL_POOLS_DONE;
  }
  if (trait == UL_POOL_NOT_ON_OOM)
    ul_hash_order_remove(&pools->on_oom, id);
  else if (!ul_hash_order_add(&pools->on_oom, id))
    return UL_POOLS_NOMEM;
  pool->on_oom = trait == UL_POOL_ON_OOM;
  return UL_POOLS_DONE;
}

void ul_pools_destroy(ul_pools *pools, ul_pool *pool) {
  ul_hash_order_remove(&pools->freeable, pool->id);
  pool->exists = 0;
  pool->freeable = 0;
  pool->custom = 0;
  pool->uses = 0;
}

uint32_t ul_pools_next_freeable(const ul_pools *pools, size_t *at) {
  uint64_t id = 0;

  return ul_hash_order_next(&pools->freeable, at, &id) ? (uint32_t)id : 0;
}

uint32_t ul_pools_next_on_oom(const ul_pools *pools, size_t *at) {
  uint64_t id = 0;

  return ul_hash_order_next(&pools->on_oom, at, &id) ? (uint32_t)id : 0;
}

uint32_t ul_pools_search_route(const ul_pools *pools, uint32_t stream) {
  const ul_profile *rules = pools->profile;
  const size_t count = pools->routings.count;
  size_t i;

  /* Through 2.2 only the count says whether anything is routed, and ends that failed lower it. */
  if (rules->routing != UL_ROUTING_LIST && !pools->underway)
    return 0;
  if (rules->routing == UL_ROUTING_CAPTURE)
    return pools->capturing;
  for (i = 0; i < count; i++) {
    const ul_routing *r = &pools->routings.items[rules->last_routing_wins ? count - 1 - i : i];
    if (r->stream == UL_STREAM_ALL || r->stream == stream)
      return r->pool;
  }
  return 0;
}
