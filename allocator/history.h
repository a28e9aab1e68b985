/* SPDX-License-Identifier: MIT */
/* The allocator's own history (torch.cuda.memory._record_memory_history): a ring of entries, kept
 * as each release keeps it. Models that record nothing pay one comparison an entry.
 *
 * 2.0 knows the frees of a block only if it was handed out while recording, and the return of a
 * segment only if such a block was in it. Its blocks carry a mark for that: 1 + the highest address
 * at which memory of theirs was handed out, 0 for none. Later releases need no marks. */
#ifndef UL_ALLOCATOR_HISTORY_H
#define UL_ALLOCATOR_HISTORY_H

#include <stddef.h>
#include <stdint.h>

#include "allocator/profile.h"
#include "base/vec.h"
#include "ullage/model.h"

typedef struct ul_history {
  const ul_profile *profile;
  int enabled;
  uint64_t limit; /* entries, while recording */
  size_t next;    /* the oldest, once the ring is full */
  UL_VEC(ul_history_entry) ring;
} ul_history;

/* The profile is static and outlives the history. */
void ul_history_init(ul_history *history, const ul_profile *profile);
void ul_history_release(ul_history *history);
/* Copies *from into *to, which is overwritten. Returns 0 without memory. */
int ul_history_copy(ul_history *to, const ul_history *from);

/* Switches recording on or off. 1.13 records nothing. UL_E_STATE where the real library would write
 * past its ring from here on: the limit falls below what a full ring has begun to overwrite. */
ul_status ul_history_record(ul_history *history, int enabled, uint64_t max_entries, ul_error *err);

/* Fills up to capacity entries, oldest first; returns how many there are. */
size_t ul_history_list(const ul_history *history, ul_history_entry *out, size_t capacity);

/* The slow half of ul_history_note. */
int ul_history_append(ul_history *history, const ul_history_entry *entry);

/* Returns 0 without memory. */
static inline int ul_history_note(ul_history *history, ul_action action, uint64_t address,
                                  uint64_t bytes, uint32_t stream) {
  if (__builtin_expect(history->enabled, 0)) {
    const ul_history_entry entry = {address, bytes, stream, (uint8_t)action};
    return ul_history_append(history, &entry);
  }
  return 1;
}

/* ---- marks of 2.0 ---- */

/* Whether entries about the frees of a block with this mark, or the return of its segment, are
 * written. */
static inline int ul_history_knows(const ul_history *history, uint64_t mark) {
  return history->profile->history_of_old_blocks || mark;
}

/* The mark of a block that is handed out at address and had mark before. */
static inline uint64_t ul_history_mark(const ul_history *history, uint64_t address, uint64_t mark) {
  return history->enabled && address + 1 > mark ? address + 1 : mark;
}

/* Of two blocks that join. */
static inline uint64_t ul_history_mark_of_both(uint64_t a, uint64_t b) {
  return a > b ? a : b;
}

/* Of the rest, from address on, of a block whose front was cut off. */
static inline uint64_t ul_history_mark_of_rest(uint64_t mark, uint64_t address) {
  return mark > address ? mark : 0;
}

#endif
