/* SPDX-License-Identifier: MIT */
/* One line of a script, read: which command it is and its arguments. */
#ifndef UL_SCRIPT_COMMAND_H
#define UL_SCRIPT_COMMAND_H

#include <stdint.h>

#include "script/line.h"

typedef enum ul_script_kind {
  UL_SCRIPT_ALLOC,
  UL_SCRIPT_ALLOC_AT,
  UL_SCRIPT_FREE,
  UL_SCRIPT_STREAM_USE,
  UL_SCRIPT_SYNC,
  UL_SCRIPT_EMPTY_CACHE,
  UL_SCRIPT_FRACTION,
  UL_SCRIPT_EXTERNAL,
  UL_SCRIPT_TOTAL,
  UL_SCRIPT_POOL_BEGIN,
  UL_SCRIPT_POOL_END,
  UL_SCRIPT_CAPTURE_BEGIN,
  UL_SCRIPT_CAPTURE_END,
  UL_SCRIPT_POOL_RELEASE,
  UL_SCRIPT_POOL_CREATE,
  UL_SCRIPT_POOL_USE_ON_OOM,
  UL_SCRIPT_POOL_NOT_ON_OOM,
  UL_SCRIPT_POOL_NO_SPLIT,
  UL_SCRIPT_POOL_CUSTOM,
  UL_SCRIPT_CHECKPOINT,
  UL_SCRIPT_RESTORE,
  UL_SCRIPT_DEVICE,
  UL_SCRIPT_CONFIGURE,
  UL_SCRIPT_HISTORY_ON,
  UL_SCRIPT_HISTORY_OFF,
  UL_SCRIPT_RESET_PEAK,
  UL_SCRIPT_RESET_ACCUMULATED,
  UL_SCRIPT_SHOW_STATS,
  UL_SCRIPT_SHOW_SNAPSHOT,
  UL_SCRIPT_SHOW_TRACE,
  UL_SCRIPT_SHOW_USED,
} ul_script_kind;

typedef struct ul_script_command {
  ul_script_kind kind;
  const char *word; /* its name, for messages and documents; static storage */
  uint64_t id;
  uint64_t bytes;   /* of a request, of others, of the device; the address of ALLOC_AT is below */
  uint64_t address; /* ALLOC_AT */
  uint64_t number;  /* entries of the history, a checkpoint, a device, or: */
#define UL_SCRIPT_NO_NUMBER UINT64_MAX
  double fraction;
  uint32_t pool;    /* 0: none given */
  uint32_t stream;  /* UL_STREAM_ALL: none given */
  const char *text; /* CONFIGURE: the settings, in the line */
} ul_script_command;

/* Reads the line in lines, which is neither empty nor a comment. */
ul_status ul_script_parse(ul_script_command *out, const ul_script_lines *lines,
                          ul_error *err) UL_MUST_USE;

#endif
