/* SPDX-License-Identifier: MIT */
/* What the terminal can show, and a progress bar on it. */
#ifndef UL_CLI_TERMINAL_H
#define UL_CLI_TERMINAL_H

#include <stdint.h>
#include <time.h>

#include "ullage/report.h"

#include "cli/opt.h"
#include "cli/out.h"

/* Report options that fit the output and the settings. */
ul_report_options ul_terminal_report_options(const ul_settings *settings, const ul_out *out);

typedef struct ul_bar {
  const char *label;
  int enabled, drawn;
  struct timespec start;
  int64_t last_ms;
} ul_bar;

void ul_bar_begin(ul_bar *bar, const char *label, const ul_settings *settings);
/* A ul_progress; arg is the ul_bar. Draws on standard error, and not in the first half second. */
int ul_bar_progress(uint64_t done, uint64_t total, void *arg);
void ul_bar_end(ul_bar *bar);

#endif
