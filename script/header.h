/* SPDX-License-Identifier: MIT */
/* What a script says of the device and the settings it is for: "# env NAME=VALUE ..." lines before
 * its first event. */
#ifndef UL_SCRIPT_HEADER_H
#define UL_SCRIPT_HEADER_H

#include <stdint.h>

#include "script/line.h"
#include "ullage/model.h"

#define UL_SCRIPT_DEVICE_BYTES (UINT64_C(80) << 30)      /* where nothing says otherwise */
#define UL_SCRIPT_MOST_BYTES   ((UINT64_C(1) << 60) - 1) /* no device has more */
enum { UL_SCRIPT_DEVICES = 64 };                         /* at most */
enum { UL_SCRIPT_VARIABLES = UL_SETTINGS_ANY + 1 };

typedef struct ul_script_header {
  uint64_t device_bytes;
  uint64_t devices; /* 0: as many as the script names */
  ul_stream_events stream_events;
  ul_address_policy address_policy;
  char *settings[UL_SCRIPT_VARIABLES]; /* by variable, owned; NULL: not set */
  uint64_t settings_line[UL_SCRIPT_VARIABLES];
} ul_script_header;

void ul_script_header_init(ul_script_header *header);
void ul_script_header_release(ul_script_header *header);

/* Reads a comment line; most say nothing. closed: an event was read already. */
ul_status ul_script_header_read(ul_script_header *header, const ul_script_lines *lines, int closed,
                                ul_error *err) UL_MUST_USE;

#endif
