/* SPDX-License-Identifier: MIT */
/* No caching: every request is a cudaMalloc of its own and every free a cudaFree, as under
 * PYTORCH_NO_CUDA_MEMORY_CACHING=1 (docs/backends.md). PyTorch then counts no bytes, records
 * nothing and obeys neither settings nor a memory fraction. */
#include "allocator/plain.h"
#include "allocator/sizing.h"

/* The device's own answer, before an address is sought. */
static int admit(ul_plain *p, uint64_t requested_bytes, uint64_t bytes) {
  (void)requested_bytes;
  if (p->capacity_bytes && bytes > ul_plain_free_bytes(p))
    return 0;
  p->totals.reserved_bytes += bytes;
  return 1;
}

static void released(ul_plain *p) {
  p->totals.reserved_bytes = p->totals.active_bytes;
}

/* Nothing is cached, yet the streams are waited for, and that alone is counted. */
static void empty_cache(ul_plain *p) {
  p->statistics.counters[UL_STAT_NUM_SYNC_ALL_STREAMS]++;
}

static const ul_plain_rules rules = {
    .oom = UL_OOM_OF_DRIVER,
    .quantum = UL_SEGMENT_QUANTUM,
    .admit = admit,
    .released = released,
    .empty_cache = empty_cache,
    .lists_calls = 1,
};

static ul_status create(void **state, const ul_model_options *options, ul_error *err) {
  return ul_plain_create((ul_plain **)state, options, &rules, 1, err);
}

const ul_model_ops ul_model_direct = {
    .name = "direct",
    .summary = "no caching: a cudaMalloc for every request, as under "
               "PYTORCH_NO_CUDA_MEMORY_CACHING=1",
    .create = create,
    UL_PLAIN_OPERATIONS,
};
