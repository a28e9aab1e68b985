/* SPDX-License-Identifier: MIT */
/* The allocator's own history (torch.cuda.memory._record_memory_history): a ring of entries, kept
 * as each release keeps it. Models that record nothing pay one comparison an entry.
 *
 * In 2.0 every block carries the uses of its memory that were recorded, lowest address first: it
 * writes about frees of a block, and about the return of its segment, if there are any, also while
 * recording is off, and with the request of the first of them. Blocks name their uses by a chain;
 * 0 is the empty one, and in all other releases every chain is.
 */
#ifndef UL_ALLOCATOR_HISTORY_H
#define UL_ALLOCATOR_HISTORY_H

#include <stddef.h>
#include <stdint.h>

#include "allocator/profile.h"
#include "base/vec.h"
#include "ullage/model.h"

/* One use of memory that was recorded (2.0). */
typedef struct ul_history_use {
  uint64_t address, bytes; /* as requested */
  uint32_t next;           /* position + 1; 0: none */
} ul_history_use;

typedef struct ul_history {
  const ul_profile *profile;
  int enabled;
  uint64_t limit; /* entries, while recording */
  size_t next;    /* the oldest, once the ring is full */
  UL_VEC(ul_history_entry) ring;
  UL_VEC(ul_history_use) uses;
  uint32_t unused; /* chain of entries of uses that are free */
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

/* ---- chains of 2.0; chain is the block's own, updated in place ---- */

/* Memory of rounded bytes at address is handed out. Returns 0 without memory. */
int ul_history_begin_use(ul_history *history, uint32_t *chain, uint64_t address, uint64_t rounded,
                         uint64_t requested);

/* The front of a block was cut off: what it has begins at address. */
void ul_history_cut(ul_history *history, uint32_t *chain, uint64_t address);

/* Blocks join: what the higher one has follows what the lower one has. */
void ul_history_join(ul_history *history, uint32_t *lower, uint32_t higher);

/* The block is gone. */
void ul_history_drop(ul_history *history, uint32_t chain);

/* An entry about the end of a block's use, or the return of its segment: bytes as they are written
 * where there are no chains. Returns 0 without memory. */
int ul_history_note_end(ul_history *history, ul_action action, uint64_t address, uint64_t bytes,
                        uint32_t stream, uint32_t chain);

#endif
