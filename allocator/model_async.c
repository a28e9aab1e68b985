/* SPDX-License-Identifier: MIT */
/* backend:cudaMallocAsync: the CUDA driver's stream-ordered pool, as far as its documentation goes
 * (docs/backends.md). PyTorch keeps all memory in the pool until empty_cache; how the driver cuts
 * and joins it is not public, so it is taken to lose nothing: reserved memory is a lower bound.
 * Releases differ in nothing but the text of the exception. */
#include "allocator/plain.h"
#include "allocator/sizing.h"
#include "base/units.h"

/* The limit of PyTorch counts what programs asked for; the pool grows by what it lacks. */
static int admit(ul_plain *p, uint64_t requested_bytes, uint64_t bytes) {
  const uint64_t wanted = ul_round_up(p->totals.active_bytes + bytes, UL_SEGMENT_QUANTUM);

  if (p->limit_bytes < p->totals.requested_bytes ||
      requested_bytes > p->limit_bytes - p->totals.requested_bytes)
    return 0;
  if (wanted <= p->totals.reserved_bytes)
    return 1;
  if (p->capacity_bytes && wanted - p->totals.reserved_bytes > ul_plain_free_bytes(p))
    return 0;
  p->totals.reserved_bytes = wanted;
  return 1;
}

/* cudaMemPoolTrimTo(pool, 0) */
static void empty_cache(ul_plain *p) {
  p->totals.reserved_bytes = ul_round_up(p->totals.active_bytes, UL_SEGMENT_QUANTUM);
}

static const ul_plain_rules rules = {
    .oom = UL_OOM_OF_POOL,
    .quantum = UL_MIN_BLOCK_BYTES,
    .admit = admit,
    .empty_cache = empty_cache,
    .has_limit = 1,
    .counts = 1,
};

static ul_status create(void **state, const ul_model_options *options, ul_error *err) {
  ul_plain *p;
  ul_status status = ul_plain_create(&p, options, &rules, 0, err);

  if (status != UL_OK)
    return status;
  p->settings.async = 1;
  *state = p;
  return UL_OK;
}

const ul_model_ops ul_model_async = {
    .name = "async",
    .summary = "backend:cudaMallocAsync: the CUDA driver's own pool, after its documentation",
    .approximate = 1,
    .create = create,
    UL_PLAIN_OPERATIONS,
};
