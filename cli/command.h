/* SPDX-License-Identifier: MIT */
/* The commands. One file each; a command returns the program's exit code. */
#ifndef UL_CLI_COMMAND_H
#define UL_CLI_COMMAND_H

#include <stddef.h>

#include "cli/opt.h"
#include "cli/out.h"

typedef struct ul_command {
  const char *name;
  unsigned bit; /* UL_CMD_* */
  const char *summary;
  const char *operands;
  int (*run)(const ul_settings *settings, ul_out *out);
} ul_command;

/* Row n, or NULL past the last. */
const ul_command *ul_command_at(size_t index);
const ul_command *ul_command_find(const char *name);
/* Two lines on stderr about a command that does not exist. Returns 2. */
int ul_command_unknown(const char *word);

int ul_cmd_replay(const ul_settings *settings, ul_out *out);
int ul_cmd_script(const ul_settings *settings, ul_out *out);
int ul_cmd_models(const ul_settings *settings, ul_out *out);
int ul_cmd_info(const ul_settings *settings, ul_out *out);
int ul_cmd_version(const ul_settings *settings, ul_out *out);
int ul_cmd_help(const ul_settings *settings, ul_out *out);

/* Help on one command, or on all of them (NULL). */
void ul_help_text(ul_out *out, const ul_command *command);

#endif
