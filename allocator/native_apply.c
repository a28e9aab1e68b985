/* SPDX-License-Identifier: MIT */
/* What each event does, the careful way, which knows everything (allocator-spec 3.1 - 3.11, 4.1,
 * 5.1). The short way of model_native.c serves nearly all requests and frees before this is asked.
 */
#include <string.h>

#include "allocator/native_fast.h"
#include "base/error.h"

void ul_native_reject(ul_outcome *outcome, const char *reason) {
  outcome->result = UL_OUTCOME_REJECTED;
  outcome->reason = reason;
}

static uint32_t block_of(const native *n, uint64_t handle) {
  return handle < n->block_of.count ? n->block_of.items[handle] : 0;
}

/* The block that the program holds under this handle; 0 and a refusal if there is none. */
static uint32_t live_block(const native *n, uint64_t handle, ul_outcome *outcome,
                           const char *otherwise) {
  const uint32_t block = block_of(n, handle);

  if (block && n->blocks.items[block].flags & BLOCK_ALLOCATED)
    return block;
  ul_native_reject(outcome, otherwise);
  return 0;
}

static void tell_block(const native *n, uint32_t block, ul_outcome *outcome) {
  outcome->address = n->blocks.items[block].address;
  outcome->block_bytes = n->blocks.items[block].bytes;
}

/* ---- events, which return 0 without memory ---- */

static int apply_free(native *n, const ul_event *event, ul_outcome *outcome) {
  const uint32_t block =
      live_block(n, event->handle, outcome, "a free of an allocation that is not live");

  if (!block)
    return 1;
  tell_block(n, block, outcome);
  return ul_native_free(n, block);
}

static int apply_complete(native *n, const ul_event *event, ul_outcome *outcome) {
  const uint32_t block = block_of(n, event->handle);

  if (!block || !(n->blocks.items[block].flags & BLOCK_PENDING))
    return 1; /* freed at once, or waited for already */
  tell_block(n, block, outcome);
  return ul_native_complete(n, block);
}

static int apply_stream_use(native *n, const ul_event *event, ul_outcome *outcome) {
  const uint32_t block =
      live_block(n, event->handle, outcome, "a stream use of an allocation that is not live");
  native_block *b = &n->blocks.items[block];

  if (!block || n->lanes.items[b->lane].stream == event->stream)
    return 1;
  b->uses = 1;
  return ul_waits_use(&n->waits, ul_native_key(n, block), event->stream,
                      ul_pools_suspended(&n->registry));
}

static int apply_sync(native *n, const ul_event *event, ul_outcome *outcome) {
  (void)outcome;
  ul_waits_sync(&n->waits, event->stream);
  return 1;
}

static int apply_empty_cache(native *n, const ul_event *event, ul_outcome *outcome) {
  (void)outcome;
  return ul_native_flush(n, n->profile->flush_of_pool ? event->pool : 0, &n->error);
}

static int apply_external(native *n, const ul_event *event, ul_outcome *outcome) {
  (void)outcome;
  n->device.external_bytes = event->bytes;
  return 1;
}

static int apply_device_bytes(native *n, const ul_event *event, ul_outcome *outcome) {
  (void)outcome;
  n->device.capacity_bytes = event->bytes;
  return 1;
}

static int apply_fraction(native *n, const ul_event *event, ul_outcome *outcome) {
  (void)outcome;
  n->limit_bytes = event->bytes;
  ul_native_settings_changed(n);
  return 1;
}

static int apply_nothing(native *n, const ul_event *event, ul_outcome *outcome) {
  (void)n, (void)event, (void)outcome;
  return 1;
}

static int apply_settings(native *n, const ul_event *event, ul_outcome *outcome) {
  (void)n, (void)event;
  ul_native_reject(outcome, "settings come as a string of their own");
  return 1;
}

/* ---- private pools ---- */

static ul_pools_answer ask_registry(ul_pools *pools, const ul_event *e) {
  switch ((ul_event_kind)e->kind) {
  case UL_EVENT_POOL_BEGIN:
  case UL_EVENT_CAPTURE_BEGIN:
    return ul_pools_begin(pools, e->pool, e->stream, e->kind == UL_EVENT_CAPTURE_BEGIN);
  case UL_EVENT_POOL_END:
  case UL_EVENT_CAPTURE_END:
    return ul_pools_end(pools, e->pool, e->stream, e->kind == UL_EVENT_CAPTURE_END);
  case UL_EVENT_POOL_CREATE:
  case UL_EVENT_POOL_CUSTOM:
    return ul_pools_create(pools, e->pool, e->kind == UL_EVENT_POOL_CUSTOM);
  case UL_EVENT_POOL_USE_ON_OOM:
    return ul_pools_register(pools, e->pool, UL_POOL_ON_OOM);
  case UL_EVENT_POOL_NOT_ON_OOM:
    return ul_pools_register(pools, e->pool, UL_POOL_NOT_ON_OOM);
  case UL_EVENT_POOL_NO_SPLIT:
    return ul_pools_register(pools, e->pool, UL_POOL_NO_SPLIT);
  default: /* UL_EVENT_POOL_RELEASE */
    return ul_pools_drop(pools, e->pool);
  }
}

static int apply_pool(native *n, const ul_event *event, ul_outcome *outcome) {
  const ul_pools_answer answer = ask_registry(&n->registry, event);

  (void)outcome;
  if (answer == UL_POOLS_REFUSED)
    n->error = n->registry.reason;
  else if (answer == UL_POOLS_BROKEN)
    n->broken = n->registry.reason;
  ul_native_pools_changed(n);
  return answer != UL_POOLS_NOMEM;
}

static int (*const appliers[UL_EVENT_KIND_COUNT])(native *, const ul_event *, ul_outcome *) = {
    [UL_EVENT_OBSERVED] = apply_nothing,
    [UL_EVENT_ALLOC] = ul_native_alloc,
    [UL_EVENT_FREE] = apply_free,
    [UL_EVENT_COMPLETE] = apply_complete,
    [UL_EVENT_STREAM_USE] = apply_stream_use,
    [UL_EVENT_SYNC] = apply_sync,
    [UL_EVENT_EMPTY_CACHE] = apply_empty_cache,
    [UL_EVENT_POOL_BEGIN] = apply_pool,
    [UL_EVENT_POOL_END] = apply_pool,
    [UL_EVENT_POOL_RELEASE] = apply_pool,
    [UL_EVENT_CAPTURE_BEGIN] = apply_pool,
    [UL_EVENT_CAPTURE_END] = apply_pool,
    [UL_EVENT_SET_CONF] = apply_settings,
    [UL_EVENT_SET_FRACTION] = apply_fraction,
    [UL_EVENT_EXTERNAL_BYTES] = apply_external,
    [UL_EVENT_MARK] = apply_nothing,
    [UL_EVENT_POOL_CREATE] = apply_pool,
    [UL_EVENT_POOL_USE_ON_OOM] = apply_pool,
    [UL_EVENT_POOL_NOT_ON_OOM] = apply_pool,
    [UL_EVENT_POOL_NO_SPLIT] = apply_pool,
    [UL_EVENT_POOL_CUSTOM] = apply_pool,
    [UL_EVENT_ALLOC_AT] = ul_native_alloc_at,
    [UL_EVENT_POOL_CHECKPOINT] = ul_native_checkpoint,
    [UL_EVENT_POOL_RESTORE] = ul_native_restore,
    [UL_EVENT_DEVICE_BYTES] = apply_device_bytes,
};

static int apply_unbroken(native *n, const ul_event *event, const ul_grants *grants,
                          ul_outcome *outcome) {
  int done;

  n->error = NULL;
  n->device.grants = grants;
  n->device.grant = 0;
  done = appliers[event->kind](n, event, outcome);
  n->device.grants = NULL;
  if (n->error)
    ul_native_reject(outcome, n->error);
  return done;
}

ul_status ul_native_apply(native *n, const ul_event *event, const ul_grants *grants,
                          ul_outcome *outcome, ul_error *err) {
  memset(outcome, 0, sizeof(*outcome));
  n->calls.count = 0;
  if (event->kind >= UL_EVENT_KIND_COUNT || !appliers[event->kind])
    ul_native_reject(outcome, "an event kind that does not exist");
  else if (!n->broken && !apply_unbroken(n, event, grants, outcome))
    return ul_fail_nomem(err, "the allocator model");
  if (n->broken) {
    n->careful |= CAREFUL_BROKEN;
    outcome->result = UL_OUTCOME_BROKEN;
    outcome->reason = n->broken;
  }
  outcome->calls = n->calls.items;
  outcome->call_count = (uint32_t)n->calls.count;
  return UL_OK;
}
