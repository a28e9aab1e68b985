/* SPDX-License-Identifier: MIT */
/* How a call says that it failed. Every function that can fail returns a ul_status and fills the
 * caller's ul_error, which may be NULL. On failure out-parameters are left as they were.
 * A modelled CUDA out-of-memory is a result, never an error; running out of this machine's memory
 * is UL_E_NOMEM. */
#ifndef ULLAGE_ERROR_H
#define ULLAGE_ERROR_H

#include <stdint.h>

#include "ullage/api.h"

/* Values are stable; the tens digit is the family. */
typedef enum ul_status {
  UL_OK = 0,
  /* 10-19: the caller asked for something impossible */
  UL_E_INVALID = 10, /* an argument is out of its range, or a handle is NULL */
  UL_E_STATE = 11,   /* the call does not fit the object's state */
  UL_E_SETTING = 12, /* unknown release, setting or size */
  /* 20-29: the input */
  UL_E_OPEN = 20,      /* cannot be opened or read */
  UL_E_FORMAT = 21,    /* not a format this program reads */
  UL_E_MALFORMED = 22, /* breaks the rules of its format, or ends too early */
  UL_E_REFUSED = 23,   /* would have to call or import something; never done */
  UL_E_LIMIT = 24,     /* needs more memory or nesting than the reader grants to such a file */
  /* 30-39: this machine */
  UL_E_NOMEM = 30,
  UL_E_OUTPUT = 31,
  /* 40-49: not built, not modelled */
  UL_E_UNSUPPORTED = 40,
} ul_status;

#define UL_ERROR_MESSAGE_BYTES 1024

typedef struct ul_error {
  ul_status status;
  uint64_t offset; /* byte offset in the uncompressed input; 0 when it has none */
  char message[UL_ERROR_MESSAGE_BYTES]; /* one finished sentence, always NUL-terminated */
} ul_error;

#ifdef __cplusplus
extern "C" {
#endif

/* The exit code a command line program gives for a status (docs/man/ullage.1): 0, 2, 3 or 4. */
UL_API int ul_status_exit_code(ul_status status);

#ifdef __cplusplus
}
#endif
#endif
