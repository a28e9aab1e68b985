/* SPDX-License-Identifier: MIT */
/* The lines of a script, one after the other, out of a sliding window of its bytes. */
#ifndef UL_SCRIPT_LINE_H
#define UL_SCRIPT_LINE_H

#include <stdint.h>

#include "parsers/bytes_in.h"
#include "ullage/error.h"

enum { UL_SCRIPT_LINE_BYTES = 64 * 1024 };

typedef struct ul_script_lines {
  ul_bytes *bytes;                     /* the caller's */
  const char *name;                    /* of the script */
  uint64_t number;                     /* of the line in text, from 1 */
  char text[UL_SCRIPT_LINE_BYTES + 1]; /* without blanks around it; NUL-terminated */
} ul_script_lines;

/* The next line, empty ones included. *more is 0 at the end. */
ul_status ul_script_next_line(ul_script_lines *lines, int *more, ul_error *err) UL_MUST_USE;

/* "NAME:LINE: " and the formatted rest; returns status. */
ul_status ul_script_fail(ul_error *err, const ul_script_lines *lines, ul_status status,
                         const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Puts "NAME:LINE: " before the message. */
void ul_script_locate(ul_error *err, const ul_script_lines *lines);

#endif
