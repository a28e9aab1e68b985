/* SPDX-License-Identifier: MIT */
#include "replay/measure/holders.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/idmap.h"

static int by_bytes(const void *a, const void *b) {
  const ul_holder *x = a, *y = b;
  if (x->bytes != y->bytes)
    return x->bytes > y->bytes ? -1 : 1;
  return x->stack < y->stack ? -1 : x->stack > y->stack;
}

static uint64_t first_event_of(const ul_history *h, const ul_block *b) {
  return b->handle && b->handle <= h->recording->handle_count ? h->alloc_of[b->handle]
                                                              : UL_NO_EVENT;
}

ul_status ul_holders_of(ul_holders *out, const ul_history *history, const ul_state *state,
                        ul_error *err) {
  ul_idmap index = UL_IDMAP_INIT;
  ul_status status = UL_OK;
  uint32_t i, at;

  for (i = 0; i < state->block_count && status == UL_OK; i++) {
    const ul_block *b = &state->blocks[i];
    const uint64_t event = first_event_of(history, b);
    ul_holder *holder;
    if (b->state != UL_BLOCK_ACTIVE_ALLOCATED)
      continue;
    if (!b->stack)
      out->live_without_stack_bytes += b->bytes;
    at = ul_idmap_get(&index, b->stack);
    if (!at) {
      const ul_holder fresh = {b->stack, 0, 0, 0, event};
      if (!UL_VEC_PUSH(&out->holders, fresh) ||
          !ul_idmap_set(&index, b->stack, (uint32_t)out->holders.count)) {
        status = ul_fail_nomem(err, "the replay");
        break;
      }
      at = (uint32_t)out->holders.count;
    }
    holder = &out->holders.items[at - 1];
    holder->bytes += b->bytes;
    holder->requested_bytes += b->requested_bytes;
    holder->block_count++;
    if (event == UL_NO_EVENT || (holder->first_event != UL_NO_EVENT && event < holder->first_event))
      holder->first_event = event;
  }
  ul_idmap_release(&index);
  if (status == UL_OK && out->holders.count)
    qsort(out->holders.items, out->holders.count, sizeof(ul_holder), by_bytes);
  return status;
}
