/* SPDX-License-Identifier: MIT */
/* Filling in a ul_error. No allocation happens on the error path. */
#ifndef UL_BASE_ERROR_H
#define UL_BASE_ERROR_H

#include "ullage/error.h"

/* Writes status, offset and the formatted sentence into *err (may be NULL) and returns status. */
ul_status ul_fail(ul_error *err, ul_status status, uint64_t offset, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* ul_fail for memory of this machine: "not enough memory for <what>". */
ul_status ul_fail_nomem(ul_error *err, const char *what);

/* Puts "<prefix>: " before the message. For the one layer that knows the path. */
void ul_error_prefix(ul_error *err, const char *prefix);

/* Forwards a failure. The only control-flow macro. */
#define UL_TRY(expression)                   \
  do {                                       \
    ul_status ul_try_status_ = (expression); \
    if (ul_try_status_ != UL_OK)             \
      return ul_try_status_;                 \
  } while (0)

#endif
