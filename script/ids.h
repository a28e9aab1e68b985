/* SPDX-License-Identifier: MIT */
/* What the ids of a script name: allocations, on whatever device, and which of them did so when a
 * checkpoint was taken. Ids are the script's own numbers; handles are those of a device's model. */
#ifndef UL_SCRIPT_IDS_H
#define UL_SCRIPT_IDS_H

#include <stddef.h>
#include <stdint.h>

#include "base/idmap.h"
#include "base/vec.h"
#include "ullage/error.h"
#include "ullage/state.h"

typedef struct ul_script_id {
  uint64_t id;
  uint32_t handle; /* 0: the slot is empty */
  uint32_t device;
} ul_script_id;

typedef struct ul_script_checkpoint {
  uint64_t number;
  uint32_t pool, device;
  UL_VEC(ul_script_id) held; /* on the device at that time */
} ul_script_checkpoint;

typedef struct ul_script_ids {
  ul_idmap slot_of; /* id -> slot + 1 */
  UL_VEC(ul_script_id) slots;
  UL_VEC(uint32_t) empty;                   /* slots to use again */
  UL_VEC(ul_script_checkpoint) checkpoints; /* in order of number */
  uint64_t kept;                            /* ids in all of them */
} ul_script_ids;

void ul_script_ids_release(ul_script_ids *ids);

/* The allocation that id names, or NULL; lives until the next change. */
const ul_script_id *ul_script_ids_find(const ul_script_ids *ids, uint64_t id);

/* id, which names nothing, names an allocation from now on. 0 without memory; nothing changed. */
int ul_script_ids_add(ul_script_ids *ids, uint64_t id, uint32_t device, uint32_t handle);

/* id names nothing any more. */
void ul_script_ids_remove(ul_script_ids *ids, uint64_t id);

/* Keeps what ids name on device, as number; replaces an earlier one. UL_E_LIMIT where that would be
 * too many ids in all checkpoints together. */
ul_status ul_script_ids_keep(ul_script_ids *ids, uint64_t number, uint32_t pool, uint32_t device,
                             ul_error *err) UL_MUST_USE;

/* The checkpoint, or NULL. */
const ul_script_checkpoint *ul_script_ids_kept(const ul_script_ids *ids, uint64_t number);

/* The device is in state again, as restored from checkpoint: ids name what is allocated now, under
 * the handles that it had then. 0 without memory. */
int ul_script_ids_restore(ul_script_ids *ids, const ul_script_checkpoint *checkpoint,
                          const ul_state *state);

#endif
