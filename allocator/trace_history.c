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
}

int ul_history_copy(ul_history *to, const ul_history *from) {
  *to = *from;
  memset(&to->ring, 0, sizeof(to->ring));
  if (!UL_VEC_RESERVE(&to->ring, from->ring.count))
    return 0;
  to->ring.count = from->ring.count;
  if (from->ring.count)
    memcpy(to->ring.items, from->ring.items, from->ring.count * sizeof(ul_history_entry));
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
