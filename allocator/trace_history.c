/* SPDX-License-Identifier: MIT */
#include "allocator/history.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"

void ul_history_init(ul_history *history, const ul_profile *profile) {
  memset(history, 0, sizeof(*history));
  history->profile = profile;
  history->limit = 1;
}

void ul_history_release(ul_history *history) {
  UL_VEC_RELEASE(&history->ring);
  UL_VEC_RELEASE(&history->uses);
}

int ul_history_copy(ul_history *to, const ul_history *from) {
  *to = *from;
  memset(&to->ring, 0, sizeof(to->ring));
  memset(&to->uses, 0, sizeof(to->uses));
  if (!UL_VEC_RESERVE(&to->ring, from->ring.count) ||
      !UL_VEC_RESERVE(&to->uses, from->uses.count)) {
    ul_history_release(to);
    return 0;
  }
  to->ring.count = from->ring.count;
  if (from->ring.count)
    memcpy(to->ring.items, from->ring.items, from->ring.count * sizeof(ul_history_entry));
  to->uses.count = from->uses.count;
  if (from->uses.count)
    memcpy(to->uses.items, from->uses.items, from->uses.count * sizeof(ul_history_use));
  return 1;
}

static void clear(ul_history *history) {
  history->ring.count = 0;
  history->next = 0;
}

ul_status ul_history_record(ul_history *history, int enabled, uint64_t max_entries, ul_error *err) {
  if (!history->profile->history)
    return UL_OK;
  if (!enabled || history->profile->history_starts_anew)
    clear(history);
  if (!max_entries)
    max_entries = 1;
  if (history->next && history->next >= max_entries)
    return ul_fail(err, UL_E_STATE, 0,
                   "a full history of %zu entries cannot go on with %" PRIu64
                   ": PyTorch writes past its end; switch recording off first",
                   history->ring.count, max_entries);
  history->enabled = enabled != 0;
  history->limit = max_entries;
  return UL_OK;
}

int ul_history_append(ul_history *history, const ul_history_entry *entry) {
  if (history->ring.count < history->limit)
    return UL_VEC_PUSH(&history->ring, *entry);
  history->ring.items[history->next] = *entry;
  history->next = history->next + 1 == history->limit ? 0 : history->next + 1;
  return 1;
}

size_t ul_history_list(const ul_history *history, ul_history_entry *out, size_t capacity) {
  const size_t count = history->ring.count;
  size_t i;

  for (i = 0; i < count && i < capacity; i++)
    out[i] = history->ring.items[(history->next + i) % count];
  return count;
}

/* ---- chains of 2.0 ---- */

static void drop_first(ul_history *history, uint32_t *chain) {
  ul_history_use *use = &history->uses.items[*chain - 1];
  const uint32_t first = *chain;

  *chain = use->next;
  use->next = history->unused;
  history->unused = first;
}

void ul_history_cut(ul_history *history, uint32_t *chain, uint64_t address) {
  while (history->enabled && *chain && history->uses.items[*chain - 1].address < address)
    drop_first(history, chain);
}

void ul_history_drop(ul_history *history, uint32_t chain) {
  while (chain)
    drop_first(history, &chain);
}

int ul_history_begin_use(ul_history *history, uint32_t *chain, uint64_t address, uint64_t rounded,
                         uint64_t requested) {
  ul_history_use use = {address, requested, 0};
  uint32_t first;

  if (history->profile->history_of_old_blocks || !history->enabled)
    return 1;
  ul_history_cut(history, chain, address + rounded);
  use.next = *chain;
  first = history->unused;
  if (first) {
    history->unused = history->uses.items[first - 1].next;
    history->uses.items[first - 1] = use;
  } else {
    if (!UL_VEC_PUSH(&history->uses, use))
      return 0;
    first = (uint32_t)history->uses.count;
  }
  *chain = first;
  return 1;
}

void ul_history_join(ul_history *history, uint32_t *lower, uint32_t higher) {
  uint32_t *link = lower;

  while (*link)
    link = &history->uses.items[*link - 1].next;
  *link = higher;
}

int ul_history_note_end(ul_history *history, ul_action action, uint64_t address, uint64_t bytes,
                        uint32_t stream, uint32_t chain) {
  ul_history_entry entry = {address, bytes, stream, (uint8_t)action};

  if (history->profile->history_of_old_blocks)
    return ul_history_note(history, action, address, bytes, stream);
  if (!chain)
    return 1;
  if (action != UL_ACTION_SEGMENT_FREE)
    entry.bytes = history->uses.items[chain - 1].bytes;
  return ul_history_append(history, &entry);
}
