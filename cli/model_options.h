/* SPDX-License-Identifier: MIT */
/* --torch and --conf: what they mean, and what their user should be told on standard error. */
#ifndef UL_CLI_MODEL_OPTIONS_H
#define UL_CLI_MODEL_OPTIONS_H

#include "ullage/model.h"

#include "cli/opt.h"

/* The settings of --conf, and the environment variable that they stand for. */
typedef struct ul_conf {
  const char *text; /* NULL: not given */
  ul_settings_variable variable;
} ul_conf;

/* Checks --torch, and says how it is modelled where that is not obvious. 0 or an exit code. */
int ul_check_torch(const char *command, const ul_settings *settings);

/* Takes --conf apart: SETTINGS, or NAME=SETTINGS with the name of a variable. Says what the release
 * ignores or takes otherwise than it looks. 0 or an exit code. */
int ul_read_conf(ul_conf *out, const char *command, const ul_settings *settings);

#endif
