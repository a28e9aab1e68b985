/* SPDX-License-Identifier: MIT */
/* What one line of a script led to on one device, and the ways to write it down. */
#ifndef UL_SCRIPT_ANSWER_H
#define UL_SCRIPT_ANSWER_H

#include <stddef.h>
#include <stdint.h>

#include "script/command.h"
#include "ullage/error.h"
#include "ullage/model.h"
#include "ullage/script.h"

typedef enum ul_answer_result {
  UL_ANSWER_DONE,    /* nothing was to be placed */
  UL_ANSWER_SERVED,  /* address and bytes are set */
  UL_ANSWER_EMPTY,   /* a request of no bytes: PyTorch gives a null pointer */
  UL_ANSWER_OOM,     /* message may be set */
  UL_ANSWER_ERROR,   /* another exception; message says why */
  UL_ANSWER_MISSING, /* the release has no such call; message says which */
  UL_ANSWER_BROKEN,  /* the real allocator itself would break; message says how */
} ul_answer_result;

/* Pointers belong to the runner and the model, until the next line. */
typedef struct ul_answer {
  const ul_script_command *command;
  const ul_model *model;
  uint64_t event; /* number of the line among those that are events, from 1 */
  uint64_t line;
  uint16_t device;
  uint16_t seen_from; /* the device that the lines are about */
  uint16_t release;   /* major * 100 + minor */
  ul_answer_result result;
  uint64_t address, bytes;
  const ul_driver_call *calls;
  uint32_t call_count;
  int observed; /* out-of-memory observers were told: */
  uint64_t segment_bytes, limit_bytes, free_bytes;
  const char *message; /* or NULL */
  int shows_stats;
  const ul_state *state;           /* of a snapshot, or NULL */
  const ul_history_entry *history; /* entries not shown before, or NULL */
  size_t history_count;
  int shows_used;
  uint64_t used_bytes;
} ul_answer;

/* One way of writing. state is its own. */
typedef struct ul_printer_ops {
  ul_status (*create)(void **state, const ul_script_options *options, ul_error *err);
  void (*answer)(void *state, const ul_answer *answer);
  /* Whether everything was taken so far. */
  int (*failed)(const void *state);
  /* complete: the script was read to its end. */
  ul_status (*finish)(void *state, const ul_script_result *result, int complete, ul_error *err);
  void (*destroy)(void *state);
} ul_printer_ops;

extern const ul_printer_ops ul_printer_text; /* docs/script.md */
extern const ul_printer_ops ul_printer_json; /* docs/schema/script.schema.json */

/* Lines show addresses from the start of the device that they are about; that of device d lies at
 * the base of the pretend runtime (tests/oracle) and d times the stride. */
#define UL_SCRIPT_BASE   UINT64_C(0x7f4000000000)
#define UL_SCRIPT_STRIDE (UINT64_C(1) << 46)

/* Whether the two are mapped or unmapped units that lie side by side: shown as one. */
int ul_answer_joins(const ul_driver_call *first, uint64_t first_bytes, const ul_driver_call *next);

/* "segment_alloc", "segment_alloc_refused" ... */
const char *ul_answer_call_name(const ul_driver_call *call);

#endif
