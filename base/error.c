/* SPDX-License-Identifier: MIT */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ullage/report.h"

ul_status ul_fail(ul_error *err, ul_status status, uint64_t offset, const char *format, ...) {
  va_list args;

  if (err) {
    err->status = status;
    err->offset = offset;
    va_start(args, format);
    vsnprintf(err->message, sizeof(err->message), format, args);
    va_end(args);
    ul_clean_text(err->message); /* names and values of a file may be in it */
  }
  return status;
}

ul_status ul_fail_nomem(ul_error *err, const char *what) {
  return ul_fail(err, UL_E_NOMEM, 0, "not enough memory for %s", what);
}

void ul_error_prefix(ul_error *err, const char *prefix) {
  char old[UL_ERROR_MESSAGE_BYTES];

  if (!err)
    return;
  memcpy(old, err->message, sizeof(old));
  old[sizeof(old) - 1] = '\0';
  /* A long path must not push the reason out of the sentence: at most half is the prefix. */
  snprintf(err->message, sizeof(err->message), "%.*s: %.*s", UL_ERROR_MESSAGE_BYTES / 2, prefix,
           UL_ERROR_MESSAGE_BYTES / 2 - 4, old);
}

int ul_status_exit_code(ul_status status) {
  switch ((int)status / 10) {
  case 0:
    return 0;
  case 1:
    return 2;
  case 2:
    return 3;
  default:
    return 4;
  }
}
