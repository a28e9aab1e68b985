/* SPDX-License-Identifier: MIT */
/* Where a result goes: standard output, or a file that appears whole or not at all. */
#ifndef UL_CLI_OUT_H
#define UL_CLI_OUT_H

#include <stddef.h>

#include "cli/opt.h"

typedef struct ul_out {
  int fd;
  const char *path; /* NULL: standard output */
  char *target;     /* what path leads to */
  char *temporary;  /* beside it; NULL where the target is written in place */
  int force;
  int error;  /* errno of the first failure */
  int closed; /* the reader went away: nothing more is wanted */
} ul_out;

/* Opens what settings say. Returns 0, or the exit code after a message on stderr. */
int ul_out_open(ul_out *out, const char *command, const ul_settings *settings);

/* A ul_write; arg is the ul_out. */
int ul_out_write(const void *bytes, size_t size, void *arg);

void ul_out_printf(ul_out *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A JSON string of printable text, quotes included. */
void ul_out_json_string(ul_out *out, const char *text);

/* Ends the output: a file appears if keep is set, and is forgotten otherwise. Returns code, or 4
 * after a message if the output could not be written. A reader that went away is no failure. */
int ul_out_finish(ul_out *out, int keep, int code);

#endif
