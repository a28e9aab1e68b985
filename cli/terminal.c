/* SPDX-License-Identifier: MIT */
#include "cli/terminal.h"

#include <inttypes.h>
#include <langinfo.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { WIDEST = 140, FIRST_MS = 500, EVERY_MS = 100, BAR = 24 };

static unsigned columns_of(int fd) {
  struct winsize size;
  const char *text = getenv("COLUMNS");
  long columns = text ? strtol(text, NULL, 10) : 0;

  if (columns <= 0 && isatty(fd) && ioctl(fd, TIOCGWINSZ, &size) == 0)
    columns = size.ws_col;
  if (columns <= 0)
    return 0;
  return columns > WIDEST ? WIDEST : (unsigned)columns;
}

static int wants_colour(int fd) {
  const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

  return isatty(fd) && !(no && *no) && term && strcmp(term, "dumb") != 0;
}

ul_report_options ul_terminal_report_options(const ul_settings *settings, const ul_out *out) {
  ul_report_options options = {.size = sizeof(options)};

  options.columns = columns_of(out->fd);
  options.colour = wants_colour(out->fd);
  options.unicode = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
  options.exact_bytes = settings->bytes;
  options.verbosity = settings->verbosity;
  options.stack_style = settings->stack;
  if (ul_opt_given(settings, "top"))
    options.top = settings->top ? settings->top : UINT_MAX;
  if (settings->json && !ul_opt_given(settings, "stack"))
    options.stack_style = UL_STACK_FULL;
  return options;
}

static int64_t elapsed_ms(const struct timespec *since) {
  struct timespec now;

  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)(now.tv_sec - since->tv_sec) * 1000 + (now.tv_nsec - since->tv_nsec) / 1000000;
}

void ul_bar_begin(ul_bar *bar, const char *label, const ul_settings *settings) {
  memset(bar, 0, sizeof(*bar));
  bar->label = label;
  bar->enabled = !settings->no_progress && settings->verbosity >= 0 && isatty(STDERR_FILENO);
  clock_gettime(CLOCK_MONOTONIC, &bar->start);
}

int ul_bar_progress(uint64_t done, uint64_t total, void *arg) {
  ul_bar *bar = arg;
  int64_t now;
  int filled;

  if (!bar->enabled)
    return 0;
  now = elapsed_ms(&bar->start);
  if (now < FIRST_MS || (bar->drawn && now - bar->last_ms < EVERY_MS))
    return 0;
  bar->drawn = 1;
  bar->last_ms = now;
  if (!total || done > total) {
    fprintf(stderr, "\r%s %" PRIu64 " MiB\033[K", bar->label, done >> 20);
    return 0;
  }
  filled = (int)((double)done / (double)total * BAR);
  fprintf(stderr, "\r%s [%.*s%*s] %3d %%\033[K", bar->label, filled, "########################",
          BAR - filled, "", (int)((double)done / (double)total * 100));
  return 0;
}

void ul_bar_end(ul_bar *bar) {
  if (bar->drawn)
    fputs("\r\033[K", stderr);
  bar->drawn = 0;
  bar->enabled = 0;
}
