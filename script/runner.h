/* SPDX-License-Identifier: MIT */
/* One run of a script: the devices it speaks of, and what one of its lines asks of them. */
#ifndef UL_SCRIPT_RUNNER_H
#define UL_SCRIPT_RUNNER_H

#include <stdint.h>

#include "base/vec.h"
#include "script/answer.h"
#include "script/command.h"
#include "script/header.h"
#include "script/ids.h"
#include "script/line.h"
#include "ullage/model.h"
#include "ullage/script.h"

enum { UL_SCRIPT_MESSAGE_BYTES = 4096 };

typedef struct ul_script_device {
  ul_model *model; /* NULL: the script has not come to it */
  uint32_t last_handle;
  size_t shown_entries; /* of its history */
} ul_script_device;

typedef struct ul_runner {
  const ul_script_options *options;
  ul_script_lines lines;
  ul_script_header header;
  ul_script_result result;
  const ul_printer_ops *printer;
  void *printer_state;
  uint16_t release;
  const char *release_name; /* "2.9" */
  ul_script_device devices[UL_SCRIPT_DEVICES];
  ul_script_ids ids;
  unsigned current;        /* device */
  uint64_t device_bytes;   /* of each */
  uint64_t external_bytes; /* others hold on each */
  int opened;              /* every device that the head counts is there */
  int warned;              /* of the settings in the head */
  int configured;          /* conf changed the settings of all devices */
  int records_history;     /* on all devices, a ring of: */
  uint64_t history_entries;
  UL_VEC(ul_history_entry) history; /* of one device, while it is shown */
  ul_state state;                   /* the same */
  char message[UL_SCRIPT_MESSAGE_BYTES];
} ul_runner;

/* Makes the models of the current device and of those that the head counts, if they are not there.
 * On failure the line is the one that is to blame. */
ul_status ul_runner_open(ul_runner *runner, ul_error *err) UL_MUST_USE;

/* Does what the command says and prints the answers. */
ul_status ul_runner_step(ul_runner *runner, const ul_script_command *command,
                         ul_error *err) UL_MUST_USE;

void ul_runner_release(ul_runner *runner);

#endif
